--
i, I = P:dim "i"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {}, dtype = "f64" })
x2 = P:input("x2", { domain = {i}, shape = {2}, dtype = "f64" })
x3 = P:input("x3", { domain = {i}, shape = {}, dtype = "i64" })
z4 = P:tensor { domain = {i}, shape = {}, dtype = "f64", name = "z4" }
z5 = P:tensor { domain = {i}, shape = {2, 3}, dtype = "f64", name = "z5" }
v6 = x3[tempo.max(0, tempo.min(i + 1 - w, I - 1))]
v8 = z5[i - 1]
v9 = (v8 + v6:to "f64" * 0.1):tanh()
z4[{ i = 0 }] = ((x2):sum()):tanh()
z4:otherwise(((v9):sum()):tanh())
z5[{ i = 0 }] = (((v6):to "f64" + tempo.zeros({2, 3}, { dtype = "f64" }))):tanh()
z5:otherwise((v9):tanh())
v11 = (z5 + z4)
P:stop(i, v11:sum():gt(1))
v13 = z5:sum()
v14 = tempo.grad(v13, { z5 })[1]
v15 = tempo.grad(v13, { x2 })[1]
v16 = tempo.grad(v13, { z4 })[1]
v17 = tempo.grad((v16 * v16):sum(), { x1 })[1]
P:sink({ v15 }, function(a, p) HEAR("s18", a, p) end)
case = { outputs = { v14 = v14, v15 = v15, v16 = v16, v17 = v17, v15 = v15,
  bounds = w:value() + I:value() }, cycles = true,
  ends = { i = I:value() },
  options = { passes = { cse = false } },
  inputs = { { "x1", { "I" }, {}, "f64" }, { "x2", { "I" }, {2}, "f64" },
    { "x3", { "I" }, {}, "i64" } },
  bounds = { { I = 3, w = 0 } },
}

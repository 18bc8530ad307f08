-- TEMPO_POISON=1 TEMPO_SPILL=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {3}, dtype = "f64" })
v6 = P:input("v6", { domain = {j}, shape = {}, dtype = "i64" })
z10 = P:tensor { domain = {i, j}, shape = {2}, dtype = "f64", name = "z10" }
v11 = P:input("v11", { domain = {i, j}, shape = {2}, dtype = "f64" })
v12 = P:input("v12", { domain = {i, j}, shape = {2}, dtype = "f64" })
z10[{ j = J - 1 }] = (((v6):to "f64" + tempo.zeros({2}, { dtype = "f64" }))):tanh()
z10:when(j:lt(J - 2), (v11):tanh())
z10:otherwise((v12):tanh())
v14 = z10:max(0)
v15 = (x1 * v14)
P:stop(i, v15:sum():lt(0))
v20 = P:input("v20", { domain = {i, j}, shape = {2}, dtype = "f64" })
P:sink({ v20 }, function(a, p) HEAR("s22", a, p) end)
case = { outputs = { bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x1", { "I" }, {3}, "f64" }, { "v6", { "J" }, {}, "i64" },
    { "v11", { "I", "J" }, {2}, "f64" }, { "v12", { "I", "J" }, {2}, "f64" },
    { "v20", { "I", "J" }, {2}, "f64" } },
  bounds = { { I = 0, J = 1, w = 0 } },
}

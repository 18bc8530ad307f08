-- TICKS=1
i, I = P:dim "i"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {}, dtype = "f64" })
x3 = P:input("x3", { domain = {i}, shape = {}, dtype = "i64" })
z4 = P:tensor { domain = {i}, shape = {2, 3}, dtype = "i64", name = "z4" }
v6 = P:input("v6", { domain = {i}, shape = {2, 3}, dtype = "i64" })
v8 = P:input("v8", { domain = {i}, shape = {2, 3}, dtype = "i64" })
z4[{ i = 0 }] = ((x3 + tempo.zeros({2, 3}, { dtype = "i64" }))) % 1000
z4[1] = ((((x1):detach():gt(0)):to "i64" + tempo.zeros({2, 3}, { dtype = "i64" }))) % 1000
z4:when(i:lt(I - 2), (v8) % 1000)
z4:otherwise((v6) % 1000)
z10 = P:tensor { domain = {i}, shape = {3}, dtype = "f64", name = "z10" }
v11 = P:input("v11", { domain = {i}, shape = {2, 3}, dtype = "i64" })
v13 = tempo.minimum(z4, v11)
local_ = z10[{ i = i - 1 }]
z10[0] = ((((v13):to "f64"):sum() + tempo.zeros({3}, { dtype = "f64" }))):tanh()
z10[1] = (((x3):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh()
z10:otherwise((z10[{ i = i - 1 }]):tanh())
z16 = P:tensor { domain = {i}, shape = {3}, dtype = "f64", name = "z16" }
v17 = z16[tempo.max(i - 1, 0)]
v19 = P:input("v19", { domain = {i}, shape = {3}, dtype = "f64" })
z16[{ [i] = i + 1 }] = (v19):tanh()
z16:otherwise((z10):tanh())
P:stop(i, v17:sum():gt(0.2))
case = { outputs = { bounds = w:value() + I:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { fold = false, dce = false } },
  inputs = { { "x1", { "I" }, {}, "f64" }, { "x3", { "I" }, {}, "i64" },
    { "v6", { "I" }, {2, 3}, "i64" }, { "v8", { "I" }, {2, 3}, "i64" },
    { "v11", { "I" }, {2, 3}, "i64" }, { "v19", { "I" }, {3}, "f64" } },
  bounds = { { I = 3, w = 0 } },
}

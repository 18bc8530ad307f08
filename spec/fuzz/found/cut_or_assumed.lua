-- TEMPO_POISON=1
i, I = P:dim "i"
w = P:bound "w"
v3 = P:input("v3", { domain = {i}, shape = {}, dtype = "i64" })
v4 = v3[tempo.max(0, tempo.min(i + 1 - w, I - 1))]
v9 = (v4 + tempo.arange({2}, { dtype = "i64" }))
v12 = P:input("v12", { domain = {i}, shape = {2}, dtype = "i64" })
z13 = P:tensor { domain = {i}, shape = {3}, dtype = "f64", name = "z13" }
z13:when(i:lt(2), ((((v9):to "f64"):sum() + tempo.zeros({3}, { dtype = "f64" }))):tanh())
z13:when(i:ge(w), ((((v9):to "f64"):sum() + tempo.zeros({3}, { dtype = "f64" }))):tanh())
z13:otherwise(((((v12):to "f64"):sum() + tempo.zeros({3}, { dtype = "f64" }))):tanh())
P:stop(i, z13:sum():lt(-0.3))
case = { outputs = { bounds = w:value() + I:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = 'none' },
  inputs = { { "v3", { "I" }, {}, "i64" }, { "v12", { "I" }, {2}, "i64" } },
  bounds = { { I = 2, w = 1 } },
}

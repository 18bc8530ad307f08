-- TICKS=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x3 = P:input("x3", { domain = {i}, shape = {}, dtype = "i64" })
w4 = P:param("w4",
  { along = {i}, domain = {}, shape = {3}, dtype = "f64",
  init = (((x3[{ i = 0 .. I }]:sum(0)):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh() })
v8 = w4[{ i = tempo.max(i - 1, 0) }]
w4:update((v8):tanh())
z9 = P:tensor { domain = {i, j}, shape = {2}, dtype = "f64", name = "z9" }
x12 = P:input("x12", { domain = {}, shape = {2}, dtype = "f64" })
v13 = P:input("v13", { domain = {i}, shape = {2}, dtype = "f64" })
z9[{ j = J - 1 }] = (((w4):sum() + tempo.zeros({2}, { dtype = "f64" }))):tanh()
z9[{ j = J - 2 }] = (((w4):sum() + tempo.zeros({2}, { dtype = "f64" }))):tanh()
z9:otherwise((v13):tanh())
v23 = (z9 * x12)
v34 = (v23 * v23 + 0.5):log()
v48 = (1 / (v34 * v34 + 1))
case = { outputs = { v48 = v48, bounds = w:value() + I:value() + J:value() },
  options = { passes = { cse = false } },
  inputs = { { "x3", { "I" }, {}, "i64" }, { "x12", {  }, {2}, "f64" },
    { "v13", { "I" }, {2}, "f64" } },
  bounds = { { I = 2, J = 4, w = 1 }, { I = 1, J = 1, w = 1 }, { I = 5, J = 2, w = 1 },
    { I = 0, J = 1, w = 2 }, { I = 4, J = 5, w = 2 } },
}

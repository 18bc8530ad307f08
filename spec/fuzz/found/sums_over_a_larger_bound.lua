-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=2 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j}, shape = {2}, dtype = "f64" })
x2 = P:input("x2", { domain = {i}, shape = {3}, dtype = "f64" })
x6 = P:input("x6", { domain = {}, shape = {}, dtype = "f64" })
w7 = P:param("w7",
  { along = {j}, domain = {}, shape = {3}, dtype = "f64",
  init = ((x6 + tempo.zeros({3}, { dtype = "f64" }))):tanh() })
v10 = w7[{ j = tempo.max(j - 1, 0) }]
v11 = w7[tempo.floordiv(j, 2)]
w7:update((w7 - tempo.grad((v11 * v11):sum(), { w7 })[1] * 0.1):tanh())
P:stop(i, x2:sum():lt(-0.3))
v13 = (v10:sin() + v10):sum()
v15 = tempo.grad(v13, { x1 })[1]
case = { outputs = { v15 = v15, v13 = v13, v10 = v10, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { vectorize = false } },
  inputs = { { "x1", { "I", "J" }, {2}, "f64" }, { "x2", { "I" }, {3}, "f64" },
    { "x6", {  }, {}, "f64" } },
  bounds = { { I = 2, J = 3, w = 3 } },
}

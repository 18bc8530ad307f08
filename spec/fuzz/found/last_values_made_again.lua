-- TEMPO_POISON=1 TICKS=1 TEMPO_TILE=4
i, I = P:dim "i"
w = P:bound "w"
x4 = P:input("x4", { domain = {}, shape = {}, dtype = "f64" })
w5 = P:param("w5",
  { along = {i}, domain = {}, shape = {3}, dtype = "f64",
  init = ((x4 + tempo.zeros({3}, { dtype = "f64" }))):tanh() })
v7 = (w5 * w5 + w5)
w5:update((w5 - tempo.grad((v7 * v7):sum(), { w5 })[1] * 0.1):tanh())
P:stop(i, v7:sum():lt(-0.3))
v10 = (v7 * v7):sum()
case = { outputs = { v10 = v10, bounds = w:value() + I:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { cse = false } },
  inputs = { { "x4", {  }, {}, "f64" } },
  bounds = { { I = 3, w = 1 }, { I = 1, w = 2 }, { I = 2, w = 3 }, { I = 0, w = 2 },
    { I = 4, w = 3 } },
}

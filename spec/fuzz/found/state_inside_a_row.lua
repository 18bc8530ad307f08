-- TEMPO_POISON=1 TICKS=1 TEMPO_TILE=3
i, I = P:dim "i"
w = P:bound "w"
x8 = P:input("x8", { domain = {}, shape = {}, dtype = "f64" })
w9 = P:param("w9",
  { along = {i}, domain = {}, shape = {3}, dtype = "f64",
  init = ((x8 + tempo.zeros({3}, { dtype = "f64" }))):tanh() })
v10 = w9[i]
v14 = w9[tempo.max(i - 1, 0)]
w9:update((v10):tanh())
case = { outputs = { v14 = v14, bounds = w:value() + I:value() },
  options = { passes = { vectorize = false } },
  inputs = { { "x8", {  }, {}, "f64" } },
  bounds = { { I = 4, w = 3 }, { I = 1, w = 0 }, { I = 2, w = 3 }, { I = 0, w = 3 },
    { I = 4, w = 2 } },
}

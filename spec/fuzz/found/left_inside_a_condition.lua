-- TICKS=1
i, I = P:dim "i"
w = P:bound "w"
v5 = tempo.uniform({}, { domain = {i}, name = "u4", dtype = "f64" })
v6 = P:input("v6", { domain = {i}, shape = {2, 3}, dtype = "f64" })
v8 = tempo.uniform({3}, { domain = {i}, name = "u7", dtype = "f64" })
w9 = P:param("w9",
  { along = {i}, domain = {}, shape = {2, 3}, dtype = "f64",
  init = ((v5[{ i = 0 .. I }]:sum(0) + tempo.zeros({2, 3}, { dtype = "f64" }))):tanh() })
v11 = w9[{ i = tempo.max(i - 1, 0) }]
w9:update((w9 - tempo.grad((v11 * v11):sum(), { w9 })[1] * 0.1):tanh())
z12 = P:tensor { domain = {i}, shape = {}, dtype = "i64", name = "z12" }
z12:when(tempo.mod(i, 2):eq(1), ((((v6):detach():gt(0)):to "i64"):sum()) % 1000)
z12:otherwise(((((w9):detach():gt(0)):to "i64"):sum()) % 1000)
P:stop(i, v8:sum():gt(1))
case = { outputs = { z12 = z12, bounds = w:value() + I:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { vectorize = false } },
  inputs = { { "v6", { "I" }, {2, 3}, "f64" } },
  bounds = { { I = 2, w = 1 } },
}

-- TEMPO_POISON=1 TEMPO_BLOCK=2 TEMPO_TILE=3 TEMPO_AGAIN=1 TEMPO_FORWARD=0 TEMPO_APART=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {2, 3}, dtype = "f64" })
x2 = P:input("x2", { domain = {i}, shape = {}, dtype = "i64" })
v4 = (x1 + x2:to "f64" * 0.1):tanh()
v5 = v4:select(0, 0)
w6 = P:param("w6",
  { along = {j}, domain = {k}, shape = {2}, dtype = "f64",
  init = (((x2[{ i = 0 .. I }]:sum(0)):to "f64" + tempo.zeros({2}, { dtype = "f64" }))):tanh() })
v7 = w6[{ j = tempo.floordiv(j, 2), k = 0 }]
v8 = (v5 * v4)
v10 = -v7
w6:update((w6 - tempo.grad((v10 * v10):sum(), { w6 })[1] * 0.1):tanh())
v12 = v10[tempo.min(j + 3, J - 1)]
v13 = ((v8[0 .. I]):softmax(0) * (v8[0 .. I])):sum(0)
v14 = (v12 * v12):sum()
v15 = tempo.grad(v14, { v13 })[1]
v16 = tempo.grad(v14, { x1 })[1]
case = { outputs = { v14 = v14, v15 = v15, v16 = v16, v5 = v5, v16 = v16,
  bounds = w:value() + I:value() + J:value() + K:value() }, cycles = true,
  options = { passes = { fold = false, dce = false, rows = false, algebra = false,
    evolve = false } },
  inputs = { { "x1", { "I" }, {2, 3}, "f64" }, { "x2", { "I" }, {}, "i64" } },
  bounds = { { I = 3, J = 4, K = 3, w = 1 }, { I = 1, J = 1, K = 1, w = 3 },
    { I = 3, J = 2, K = 5, w = 1 }, { I = 3, J = 0, K = 3, w = 1 },
    { I = 6, J = 5, K = 4, w = 1 } },
}

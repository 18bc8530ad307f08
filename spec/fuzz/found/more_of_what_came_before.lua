-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=2 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j, k}, shape = {}, dtype = "f64" })
x2 = P:input("x2", { domain = {i, k}, shape = {}, dtype = "i64" })
v5 = (x1 + x2:to "f64" * 0.1):tanh()
v9 = v5[{ i = tempo.max(0, tempo.min(i + 1 - w, I - 1)), j = tempo.floordiv(j, 2) }]
P:stop(i, v5:gt(1))
case = { outputs = { v9 = v9, x2 = x2, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = 'none' },
  inputs = { { "x1", { "I", "J", "K" }, {}, "f64" }, { "x2", { "I", "K" }, {}, "i64" } },
  bounds = { { I = 2, J = 2, K = 3, w = 3 }, { I = 1, J = 1, K = 1, w = 1 },
    { I = 2, J = 1, K = 4, w = 3 }, { I = 1, J = 0, K = 3, w = 1 },
    { I = 4, J = 5, K = 5, w = 2 } },
}

-- TEMPO_POISON=1 TICKS=1 TEMPO_TILE=4 TEMPO_AGAIN=1
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, k}, shape = {2, 3}, dtype = "f32" })
v5 = P:input("v5", { domain = {i, k}, shape = {}, dtype = "i64" })
x8 = P:input("x8", { domain = {k}, shape = {}, dtype = "f32" })
P:stop(i, x1:sum():gt(1))
P:stop(k, x8:gt(1))
case = { outputs = { v5 = v5, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { i = I:value(), k = K:value() },
  options = { passes = 'none' },
  inputs = { { "x1", { "I", "K" }, {2, 3}, "f32" }, { "v5", { "I", "K" }, {}, "i64" },
    { "x8", { "K" }, {}, "f32" } },
  bounds = { { I = 2, J = 4, K = 2, w = 2 }, { I = 1, J = 1, K = 1, w = 3 },
    { I = 2, J = 4, K = 2, w = 3 }, { I = 3, J = 0, K = 3, w = 2 },
    { I = 5, J = 5, K = 4, w = 1 } },
}

-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=2 TEMPO_TILE=5 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j, k}, shape = {2, 3}, dtype = "f32" })
x2 = P:input("x2", { domain = {i, k}, shape = {}, dtype = "f32" })
x3 = P:input("x3", { domain = {j, k}, shape = {}, dtype = "i64" })
P:stop(j, x1:sum():lt(0))
P:stop(k, x2:lt(-0.3))
case = { outputs = { x3 = x3, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { j = J:value(), k = K:value() },
  options = { passes = { tile = false } },
  inputs = { { "x1", { "I", "J", "K" }, {2, 3}, "f32" }, { "x2", { "I", "K" }, {}, "f32" },
    { "x3", { "J", "K" }, {}, "i64" } },
  bounds = { { I = 2, J = 2, K = 3, w = 1 } },
}

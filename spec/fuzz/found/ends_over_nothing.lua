-- TEMPO_POISON=1 TEMPO_BLOCK=1
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j}, shape = {}, dtype = "f32" })
x2 = P:input("x2", { domain = {j, k}, shape = {}, dtype = "f32" })
P:stop(i, x1:gt(1))
P:stop(j, x2:lt(0))
case = { outputs = { x1 = x1, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { i = I:value(), j = J:value() },
  options = { passes = { tile = false } },
  inputs = { { "x1", { "I", "J" }, {}, "f32" }, { "x2", { "J", "K" }, {}, "f32" } },
  bounds = { { I = 1, J = 1, K = 0, w = 0 } },
}

-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=3
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "f64" })
P:stop(j, j:ge(w))
v5 = tempo.arange({4}):index_select(0, (k + w - 1):value())
P:stop(i, x2:lt(0))
P:stop(k, k:ge(w))
case = { outputs = { v5 = v5, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { j = J:value(), i = I:value(), k = K:value() },
  options = { passes = { vectorize = false } },
  inputs = { { "x2", { "I", "J" }, {}, "f64" } },
  bounds = { { I = 1, J = 3, K = 2, w = 1 } },
}

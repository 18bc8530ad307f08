-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=1
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, k}, shape = {3}, dtype = "f64" })
P:stop(i, i:ge(w))
v6 = x1[{ i = I - 1, k = tempo.floordiv(k, 2) }]
v8 = v6:cumsum(0)
v10 = v8:softmax(0)
P:stop(k, v10:sum():gt(1))
v15 = (v8 * v8):sum()
v16 = tempo.grad(v15, { x1 })[1]
case = { outputs = { v15 = v15, v16 = v16, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { i = I:value(), k = K:value() },
  options = { passes = { vectorize = false } },
  inputs = { { "x1", { "I", "K" }, {3}, "f64" } },
  bounds = { { I = 4, J = 3, K = 4, w = 3 } },
}

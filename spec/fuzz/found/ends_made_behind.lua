-- TEMPO_POISON=1 TICKS=1 TEMPO_TILE=5 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j}, shape = {}, dtype = "f64" })
x2 = P:input("x2", { domain = {i, k}, shape = {}, dtype = "i64" })
P:stop(j, x1:lt(0))
v4 = (x2 + x2)
v5 = (3 - v4)
v6 = (v5[{ tempo.max(0, i - 1) .. i + 1, tempo.min(j, K - 1) }]):argmin(0)
z7 = P:tensor { domain = {i, j}, shape = {3}, dtype = "f64", name = "z7" }
v8 = z7[{ tempo.min(i * 2, I - 1), tempo.floordiv(j, 2) }]
v9 = (v4 % (v5:abs() + 1))
z7[{ j = 0 }] = (((v9[{ k = 0 .. K }]:sum(0)):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh(
  )
z7:when(tempo.mod(j, 2):eq(0), (v8):tanh())
z7:otherwise((v8):tanh())
P:stop(k, k:eq(1))
case = { outputs = { z7 = z7, v5 = v5, v9 = v9, v6 = v6,
  bounds = w:value() + I:value() + J:value() + K:value() }, cycles = true,
  ends = { j = J:value(), k = K:value() },
  options = { passes = 'none' },
  inputs = { { "x1", { "I", "J" }, {}, "f64" }, { "x2", { "I", "K" }, {}, "i64" } },
  bounds = { { I = 2, J = 4, K = 2, w = 0 }, { I = 1, J = 1, K = 1, w = 1 },
    { I = 2, J = 2, K = 5, w = 2 }, { I = 3, J = 0, K = 3, w = 3 },
    { I = 6, J = 4, K = 4, w = 3 } },
}

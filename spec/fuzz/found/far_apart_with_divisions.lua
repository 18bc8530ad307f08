-- TEMPO_POISON=1 TEMPO_SPILL=1 TEMPO_BLOCK=2 TEMPO_TILE=3 TEMPO_AGAIN=1 TEMPO_FORWARD=0 LIMIT=1
-- #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {}, dtype = "f64" })
x2 = P:input("x2", { domain = {j, k}, shape = {}, dtype = "f64" })
z9 = P:tensor { domain = {j, k}, shape = {3}, dtype = "f64", name = "z9" }
v12 = (z9[{ j = tempo.floordiv(j, 2) .. j + 1, k = k + 1 }]):max(0)
z9[{ k = K - 1 }] = ((x2 + tempo.zeros({3}, { dtype = "f64" }))):tanh()
z9:otherwise((v12):tanh())
z13 = P:tensor { domain = {i, j}, shape = {2, 3}, dtype = "i64", name = "z13" }
v16 = ((z13[{ i = tempo.floordiv(i, 2) * 2 .. tempo.min(tempo.floordiv(i, 2) * 2 + 2, I) }]):sum(
  0) % 1000)
v17 = (z9 + v16:to "f64" * 0.1):tanh()
z13[{ j = 0 }] = ((((x1):detach():gt(0)):to "i64" + tempo.zeros({2, 3}, { dtype = "i64" }))) % 1000
z13[{ [j] = j + 1 }] = (v16) % 1000
v22 = ((v17[{ tempo.mod(i, 3), 0 .. J, tempo.mod(k, 2) }]):cumsum(0) * 0.3):sin():sum(0)
v24 = v22:sum()
v25 = tempo.grad(v24, { x2 })[1]
v26 = tempo.grad(v24, { x2 })[1]
v27 = tempo.grad((v26 * v26):sum(), { x2 })[1]
case = { outputs = { v25 = v25, v26 = v26, v27 = v27, v25 = v25,
  bounds = w:value() + I:value() + J:value() + K:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x1", { "I" }, {}, "f64" }, { "x2", { "J", "K" }, {}, "f64" } },
  bounds = { { I = 3, J = 3, K = 4, w = 0 } },
}

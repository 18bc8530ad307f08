-- TEMPO_POISON=1 TEMPO_ISL_BUDGET=8000 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
z5 = P:tensor { domain = {j}, shape = {}, dtype = "f64", name = "z5" }
x6 = P:input("x6", { domain = {j}, shape = {}, dtype = "f64" })
z5:when(j:lt(2), (x6):tanh())
z5:otherwise((x6):tanh())
x11 = P:input("x11", { domain = {k}, shape = {}, dtype = "f64" })
z12 = P:tensor { domain = {i, k}, shape = {}, dtype = "f64", name = "z12" }
z13 = P:tensor { domain = {i, k}, shape = {3}, dtype = "f64", name = "z13" }
v14 = (z13[{ i + 1 .. tempo.min(i + 3, I), tempo.min(k + i, K - 1) }]):sum(0) * 0.5
v16 = (v14[{ k = 0 .. k }]):sum(0) * 0.5
v17 = (z13[{ i = i + 1 .. I, k = tempo.max(k - 2, 0) }]):sum(0) * 0.5
v18 = ((z12[{ i + 1 .. tempo.min(i + 2, I), tempo.min(1, K - 1) }]) * (
  z12[{ i + 1 .. tempo.min(i + 2, I), tempo.min(1, K - 1) }])):sin():sum(0)
z12[{ i = I - 1 }] = (x11):tanh()
z12:otherwise(((v16):sum()):tanh())
z13[{ i = I - 1 }] = ((x11 + tempo.zeros({3}, { dtype = "f64" }))):tanh()
z13:when(tempo.mod(i, 2):eq(0), ((v18 + tempo.zeros({3}, { dtype = "f64" }))):tanh())
z13:otherwise((v17):tanh())
v20 = (z5 - z12)
z22 = P:tensor { domain = {i, k}, shape = {2, 3}, dtype = "f64", name = "z22" }
z22:when(k:ge(w), (((z13):sum() + tempo.zeros({2, 3}, { dtype = "f64" }))):tanh())
z22:when(k:lt(2), (((z13):sum() + tempo.zeros({2, 3}, { dtype = "f64" }))):tanh())
z22:otherwise(((x11 + tempo.zeros({2, 3}, { dtype = "f64" }))):tanh())
v23 = v20:sum()
v24 = tempo.grad(v23, { x6 })[1]
v25 = tempo.grad(v23, { x11 })[1]
v26 = tempo.grad(v23, { x6 })[1]
case = { outputs = { v23 = v23, v24 = v24, v25 = v25, v26 = v26, v26 = v26, v23 = v23, z22 = z22,
  bounds = w:value() + I:value() + J:value() + K:value() }, options = { precise = true },
  inputs = { { "x6", { "J" }, {}, "f64" }, { "x11", { "K" }, {}, "f64" } },
  bounds = { { I = 3, J = 3, K = 2, w = 2 }, { I = 1, J = 1, K = 1, w = 1 },
    { I = 1, J = 5, K = 4, w = 1 }, { I = 0, J = 2, K = 2, w = 2 },
    { I = 5, J = 4, K = 4, w = 0 } },
  smooth = { loss = "v23", { "x6", "v24" }, { "x11", "v25" }, { "x6", "v26" } },
}

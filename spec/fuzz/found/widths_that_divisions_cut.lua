-- TEMPO_POISON=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {}, dtype = "f64" })
x3 = P:input("x3", { domain = {i, j}, shape = {}, dtype = "i64" })
v4 = ((x3[{ i, tempo.floordiv(j, 2) .. j + 1 }]):sum(0) % 1000)
v5 = x1[tempo.min(i + 1, I - 1)]
v6 = (v5 + tempo.arange({2}, { dtype = "f64" }))
v7 = x1:tanh()
v8 = v4[{ tempo.floordiv(i, 2), tempo.floordiv(j, 2) }]
z9 = P:tensor { domain = {i, j}, shape = {2}, dtype = "i64", name = "z9" }
v11 = ((z9[{ i = tempo.max(0, i - 2) .. i, j = tempo.max(0, tempo.min(j + 1 - w, J - 1)) }]):sum(
  0) % 1000)
z9[{ i = 0 }] = ((x3[{ i = 0 .. I }]:sum(0) + tempo.zeros({2}, { dtype = "i64" }))) % 1000
z9:when(i:lt(I - 2), (v11) % 1000)
z9:otherwise((v11) % 1000)
P:stop(i, v7:lt(-0.3))
case = { outputs = { v8 = v8, v6 = v6, z9 = z9, x3 = x3,
  bounds = w:value() + I:value() + J:value() }, cycles = true,
  ends = { i = I:value() },
  options = { passes = { dce = false, algebra = false, vectorize = false } },
  inputs = { { "x1", { "I" }, {}, "f64" }, { "x3", { "I", "J" }, {}, "i64" } },
  bounds = { { I = 4, J = 2, w = 3 }, { I = 1, J = 1, w = 0 }, { I = 2, J = 5, w = 1 },
    { I = 1, J = 0, w = 3 }, { I = 5, J = 6, w = 1 } },
}

-- TEMPO_POISON=1 TEMPO_SPILL=1 TICKS=1 TEMPO_BLOCK=3 TEMPO_TILE=4 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
z4 = P:tensor { domain = {i, j}, shape = {2}, dtype = "i64", name = "z4" }
v6 = z4[{ i = tempo.max(i - 2, 0), j = j + 1 }]
v7 = z4[{ i = tempo.min(i + 2, I - 1), j = j + 1 }]
v8 = P:input("v8", { domain = {i}, shape = {2}, dtype = "f64" })
z4[{ j = J - 1 }] = (((v8):detach():gt(0)):to "i64") % 1000
z4:when(tempo.mod(j, 2):eq(0), (v7) % 1000)
z4:otherwise((v6) % 1000)
P:stop(i, v8:sum():gt(0.2))
z10 = P:tensor { domain = {j}, shape = {3}, dtype = "f64", name = "z10" }
v16 = P:input("v16", { domain = {j}, shape = {}, dtype = "f64" })
z10[{ j = 0 }] =
  ((((z4[{ i = 0 .. I }]:sum(0)):to "f64"):sum() + tempo.zeros({3}, { dtype = "f64" }))):tanh()
z10:otherwise(((v16 + tempo.zeros({3}, { dtype = "f64" }))):tanh())
x18 = P:input("x18", { domain = {j}, shape = {}, dtype = "f64" })
w19 = P:param("w19",
  { along = {j}, domain = {}, shape = {2, 3}, dtype = "f64",
  init = (((z10[{ j = 0 .. J }]:sum(0)):sum() + tempo.zeros({2, 3}, { dtype = "f64" }))):tanh() })
v21 = w19
w19:update((w19 - tempo.grad((v21 * v21):sum(), { w19 })[1] * 0.1):tanh())
v25 = (v21 * v21):sum()
v26 = tempo.grad(v25, { x18 })[1]
case = { outputs = { v26 = v26, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { algebra = false } },
  inputs = { { "v8", { "I" }, {2}, "f64" }, { "v16", { "J" }, {}, "f64" },
    { "x18", { "J" }, {}, "f64" } },
  bounds = { { I = 2, J = 4, w = 1 } },
}

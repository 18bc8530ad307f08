-- TICKS=1 TEMPO_TILE=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j}, shape = {2, 3}, dtype = "f64" })
P:stop(i, i:ge(w))
v6 = (J - j):value()
w8 = P:param("w8",
  { along = {i}, domain = {j}, shape = {3}, dtype = "f64",
  init = (((v6):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh() })
v9 = w8[{ i = 0, j = 0 }]
v10 = w8[{ tempo.max(i - 1, 0), tempo.floordiv(j, 2) }]
w8:update((v10):tanh())
P:stop(j, j:eq(1))
v13 = (v10 * v10):sum()
v15 = tempo.grad(v13, { x1 }, { leaf = true })[1]
v16 = tempo.grad(v13, { v15 }, { leaf = true })[1]
case = { outputs = { v16 = v16, v15 = v15, v9 = v9, w8 = w8,
  bounds = w:value() + I:value() + J:value() }, cycles = true,
  ends = { i = I:value(), j = J:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x1", { "I", "J" }, {2, 3}, "f64" } },
  bounds = { { I = 2, J = 3, w = 3 }, { I = 1, J = 1, w = 1 }, { I = 3, J = 4, w = 0 },
    { I = 0, J = 3, w = 0 }, { I = 4, J = 4, w = 2 } },
}

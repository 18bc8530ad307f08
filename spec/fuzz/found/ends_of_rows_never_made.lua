-- TEMPO_POISON=1 TICKS=1 TEMPO_TILE=2
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x3 = P:input("x3", { domain = {i}, shape = {}, dtype = "i64" })
z4 = P:tensor { domain = {i, j}, shape = {3}, dtype = "f64", name = "z4" }
z4:when(j:eq(J - 1), (((x3):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh())
z4:when(tempo.mod(j, 2):eq(1), (((x3):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh())
z4:otherwise((((x3):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh())
P:stop(i, z4:sum():gt(0.2))
P:stop(j, j:ge(w))
v12 = P:input("v12", { domain = {i, j}, shape = {3}, dtype = "f64" })
case = { outputs = { v12 = v12, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value(), j = J:value() },
  options = { passes = 'none' },
  inputs = { { "x3", { "I" }, {}, "i64" }, { "v12", { "I", "J" }, {3}, "f64" } },
  bounds = { { I = 1, J = 4, w = 2 } },
}

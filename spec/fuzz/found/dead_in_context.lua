-- TICKS=1 TEMPO_POISON=1 TEMPO_BLOCK=2
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "i64" })
z3 = P:tensor { domain = {i, j}, shape = {3}, dtype = "f64", name = "z3" }
v4 = z3[{ i = i + 1 }]
v6 = z3[{ i = i + 1 }]
v7 = (v4 * v6)
v8 = (v6 + x2:to "f64" * 0.1):tanh()
x9 = P:input("x9", { domain = {j}, shape = {}, dtype = "f64" })
z3[{ i = I - 1 }] = ((x9 + tempo.zeros({3}, { dtype = "f64" }))):tanh()
z3:when(i:gt(w), (v8):tanh())
z3:otherwise((v7):tanh())
z10 = P:tensor { domain = {i}, shape = {3}, dtype = "i64", name = "z10" }
v12 = z10[{ i = tempo.min(i + 1, I - 1) }]
z10[{ [i] = i - 1 }] = (v12) % 1000
z10:otherwise((((z3[{ j = 0 .. J }]:sum(0)):detach():gt(0)):to "i64") % 1000)
v13 = (z3 * z3):sum()
case = { outputs = { v13 = v13, v12 = v12, bounds = w:value() + I:value() + J:value() },
  options = { passes = 'none' },
  inputs = { { "x2", { "I", "J" }, {}, "i64" }, { "x9", { "J" }, {}, "f64" } },
  bounds = { { I = 3, J = 4, w = 2 } },
}

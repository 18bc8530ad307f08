-- TICKS=1 TEMPO_POISON=1 TEMPO_BLOCK=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {j}, shape = {}, dtype = "f64" })
z3 = P:tensor { domain = {i, j}, shape = {2}, dtype = "f64", name = "z3" }
v4 = P:input("v4", { domain = {i, j}, shape = {}, dtype = "f64" })
v5 = z3[{ 0, tempo.min(j, J - 1) }]
z3[{ i = 0 }] = ((v4 + tempo.zeros({2}, { dtype = "f64" }))):tanh()
z3[{ i = 1 }] = ((v4 + tempo.zeros({2}, { dtype = "f64" }))):tanh()
z3:otherwise((v5):tanh())
v7 = x1[{ j = tempo.min(j + 1, J - 1) }]
case = { outputs = { z3 = z3, v7 = v7, bounds = w:value() + I:value() + J:value() },
  options = { precise = true },
  inputs = { { "x1", { "J" }, {}, "f64" }, { "v4", { "I", "J" }, {}, "f64" } },
  bounds = { { I = 4, J = 2, w = 2 }, { I = 1, J = 1, w = 3 }, { I = 4, J = 5, w = 1 },
    { I = 0, J = 2, w = 3 }, { I = 6, J = 6, w = 3 } },
}

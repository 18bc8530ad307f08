-- TEMPO_POISON=1 TEMPO_BLOCK=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i}, shape = {}, dtype = "f64" })
x3 = P:input("x3", { domain = {j}, shape = {}, dtype = "i64" })
v5 = tempo.floordiv(x3, 4)
v6 = v5[{ j = tempo.max(0, tempo.min(j + 0 - w, J - 1)) }]
v7 = (x2 + v5:to "f64" * 0.1):tanh()
v8 = P:input("v8", { domain = {}, shape = {}, dtype = "i64" })
v9 = ((v6[j + 1 .. J]):sum(0) % 1000)
v10 = (v7 + v8:to "f64" * 0.1):tanh()
v13 = (v7 + v9:to "f64" * 0.1):tanh()
v14 = (1 / (v13 * v13 + 1))
v16 = v10[{ i = tempo.min(i + 1, I - 1), j = tempo.min(j + 2, J - 1) }]
z33 = P:tensor { domain = {i, j}, shape = {3}, dtype = "f64", name = "z33" }
v34 = z33[{ i = tempo.min(i + 2, I - 1) }]
v37 = (v34 * 1.5 - 0.25)
z33[{ [j] = j + 1 }] = (v37):tanh()
z33:otherwise(((v14 + tempo.zeros({3}, { dtype = "f64" }))):tanh())
v47 = z33:sum()
case = { outputs = { v47 = v47, v9 = v9, v16 = v16, bounds = w:value() + I:value() + J:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x2", { "I" }, {}, "f64" }, { "x3", { "J" }, {}, "i64" },
    { "v8", {  }, {}, "i64" } },
  bounds = { { I = 3, J = 4, w = 2 } },
}

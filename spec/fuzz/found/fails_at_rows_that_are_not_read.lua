-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=1 TEMPO_AGAIN=1 TEMPO_FORWARD=0
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, j}, shape = {2}, dtype = "f64" })
x3 = P:input("x3", { domain = {j}, shape = {}, dtype = "i64" })
P:stop(i, x2:sum():gt(1))
v5 = tempo.arange({4}):index_select(0, (i + w - 1):value())
z6 = P:tensor { domain = {j}, shape = {3}, dtype = "f64", name = "z6" }
z7 = P:tensor { domain = {j}, shape = {}, dtype = "f64", name = "z7" }
v8 = z7
v9 = (v8 + x3:to "f64" * 0.1):tanh()
v11 = z7[{ j }]
z6[{ [j] = j + 1 }] = ((v9 + tempo.zeros({3}, { dtype = "f64" }))):tanh()
z6:otherwise((((v5[{ i = 0 .. I }]:sum(0)):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh())
z7[{ [j] = j + 1 }] = (v11):tanh()
z7:otherwise(((x3):to "f64"):tanh())
case = { outputs = { z7 = z7, v9 = v9, v8 = v8, z6 = z6,
  bounds = w:value() + I:value() + J:value() }, cycles = true,
  ends = { i = I:value() },
  options = { passes = { tile = false } },
  inputs = { { "x2", { "I", "J" }, {2}, "f64" }, { "x3", { "J" }, {}, "i64" } },
  bounds = { { I = 5, J = 6, w = 3 } },
}

-- TEMPO_POISON=1 TEMPO_BLOCK=3 TEMPO_TILE=4 TEMPO_AGAIN=1 TEMPO_TURN=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {j}, shape = {2}, dtype = "f32" })
x3 = P:input("x3", { domain = {j}, shape = {}, dtype = "i64" })
z4 = P:tensor { domain = {j}, shape = {3}, dtype = "f32", name = "z4" }
z4:when(j:ge(w), (((x3):to "f32" + tempo.zeros({3}, { dtype = "f32" }))):tanh())
z4:when(tempo.mod(j, 2):eq(1), (((x3):to "f32" + tempo.zeros({3}, { dtype = "f32" }))):tanh())
z4:otherwise((((x3):to "f32" + tempo.zeros({3}, { dtype = "f32" }))):tanh())
z5 = P:tensor { domain = {i, j}, shape = {3}, dtype = "i64", name = "z5" }
v8 = ((z5[{ i = i - 1, j = j + 1 .. J }]):sum(0) % 1000)
v9 = ((v8[{ j = tempo.max(0, j - 2) .. j + 1 }]):sum(0) % 1000)
z5[{ i = 0 }] = (((z4):detach():gt(0)):to "i64") % 1000
z5:when(i:gt(w), (v9) % 1000)
z5:otherwise((v8) % 1000)
z10 = P:tensor { domain = {j}, shape = {2, 3}, dtype = "f32", name = "z10" }
v12 = z10[j - 1]
z10[0] = ((((z5[{ i = 0 .. I }]:sum(0)):to "f32"):sum() + tempo.zeros({2, 3},
  { dtype = "f32" }))):tanh()
z10[{ j = 1 }] = (((x2):sum() + tempo.zeros({2, 3}, { dtype = "f32" }))):tanh()
z10:otherwise((v12):tanh())
v14 = (z4 * z10 + z4)
v15 = (v14 + x3:to "f32" * 0.1):tanh()
v16 = v15:sum()
case = { outputs = { v16 = v16, bounds = w:value() + I:value() + J:value() },
  options = { passes = { hold = false, turn = false } },
  inputs = { { "x2", { "J" }, {2}, "f32" }, { "x3", { "J" }, {}, "i64" } },
  bounds = { { I = 2, J = 3, w = 3 }, { I = 5, J = 3, w = 2 } },
}

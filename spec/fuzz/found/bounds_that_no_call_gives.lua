-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=2 TEMPO_TILE=5 TEMPO_AGAIN=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, j}, shape = {2, 3}, dtype = "f32" })
x3 = P:input("x3", { domain = {i}, shape = {}, dtype = "i64" })
z4 = P:tensor { domain = {j}, shape = {}, dtype = "f32", name = "z4" }
v9 = P:input("v9", { domain = {j}, shape = {}, dtype = "f32" })
z4[{ j = J - 1 }] = ((x2[{ i = 0 .. I }]:sum(0)[{ j = 0 .. J }]:sum(0)):sum()):tanh()
z4[J - 2] = ((x3[{ i = 0 .. I }]:sum(0)):to "f32"):tanh()
z4:otherwise((v9):tanh())
z15 = P:tensor { domain = {j}, shape = {}, dtype = "f32", name = "z15" }
v18 = z15[tempo.max(j - 1, 0)]
v20 = P:input("v20", { domain = {j}, shape = {3}, dtype = "f32" })
z15[{ [j] = j + 1 }] = ((v20):sum()):tanh()
z15:otherwise((z4):tanh())
v21 = v18:sum()
v22 = tempo.grad(v21, { x2 })[1]
case = { outputs = { v22 = v22, bounds = w:value() + I:value() + J:value() },
  options = { passes = { vectorize = false, tile = false, fuse = false } },
  inputs = { { "x2", { "I", "J" }, {2, 3}, "f32" }, { "x3", { "I" }, {}, "i64" },
    { "v9", { "J" }, {}, "f32" }, { "v20", { "J" }, {3}, "f32" } },
  bounds = { { I = 0, J = 0, w = 0 }, { I = 2, J = 3, w = 0 } },
}

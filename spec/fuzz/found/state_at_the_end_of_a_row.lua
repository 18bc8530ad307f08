-- TEMPO_POISON=1 TEMPO_SPILL=1 TICKS=1 TEMPO_BLOCK=2 TEMPO_TILE=5 TEMPO_AGAIN=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {j}, shape = {}, dtype = "f64" })
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "f64" })
x3 = P:input("x3", { domain = {i, j}, shape = {}, dtype = "i64" })
z4 = P:tensor { domain = {i, j}, shape = {}, dtype = "f64", name = "z4" }
v6 = z4[{ i = i - 1, j = tempo.floordiv(j, 2) }]
v8 = (v6 + tempo.arange({2}, { dtype = "f64" }))
z4[{ i = 0 }] = ((x3):to "f64"):tanh()
z4:otherwise(((v8):sum()):tanh())
z10 = P:tensor { domain = {i}, shape = {2, 3}, dtype = "i64", name = "z10" }
v12 = (-z4:abs()):exp()
v13 = tempo.minimum(z4, v12)
local_ = z10[{ i = i - 1 }]
z10[0] = ((((v13[{ i = 0 .. I }]:sum(0)[{ j = 0 .. J }]:sum(0)):detach():gt(
  0)):to "i64" + tempo.zeros({2, 3}, { dtype = "i64" }))) % 1000
z10:otherwise((z10[{ i = i - 1 }]) % 1000)
v14 = ((v12[{ tempo.max(i - 3, 0), 0 .. j }]):tanh()):prod(0)
v15 = (v14 + z10:to "f64" * 0.1):tanh()
v19 = (v12:sin() + v12):sum()
v20 = tempo.grad(v19, { x2 })[1]
v21 = tempo.grad(v19, { x1 })[1]
case = { outputs = { v20 = v20, v15 = v15, v13 = v13, v21 = v21,
  bounds = w:value() + I:value() + J:value() },
  options = { passes = { fold = false, dce = false } },
  inputs = { { "x1", { "J" }, {}, "f64" }, { "x2", { "I", "J" }, {}, "f64" },
    { "x3", { "I", "J" }, {}, "i64" } },
  bounds = { { I = 3, J = 3, w = 3 }, { I = 1, J = 1, w = 0 }, { I = 4, J = 1, w = 1 },
    { I = 1, J = 0, w = 1 }, { I = 6, J = 6, w = 3 } },
  smooth = { loss = "v19", { "x2", "v20" }, { "x1", "v21" } },
}

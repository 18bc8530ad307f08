-- TEMPO_POISON=1 TEMPO_BLOCK=3 TEMPO_TILE=4 TEMPO_AGAIN=1
i, I = P:dim "i"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {}, dtype = "f32" })
x2 = P:input("x2", { domain = {i}, shape = {}, dtype = "i64" })
v3 = (x2 + tempo.arange({3}, { dtype = "i64" }))
z6 = P:tensor { domain = {i}, shape = {3}, dtype = "f32", name = "z6" }
v7 = z6[i + 1]
v8 = (1 / (x1 * x1 + 1))
z6[I - 1] = ((v8 + tempo.zeros({3}, { dtype = "f32" }))):tanh()
z6:when(i:gt(w), (v7):tanh())
z6:otherwise((v7):tanh())
v12 = (v3[{ i = 0 .. i + 1 }]):max(0)
v15 = (z6:sin() + z6):sum()
v16 = tempo.grad(v15, { x1 }, { leaf = true })[1]
case = { outputs = { v16 = v16, v12 = v12, bounds = w:value() + I:value() },
  options = { passes = { vectorize = false } },
  inputs = { { "x1", { "I" }, {}, "f32" }, { "x2", { "I" }, {}, "i64" } },
  bounds = { { I = 5, w = 0 } },
}

-- TICKS=1
i, I = P:dim "i"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {3}, dtype = "f64" })
x2 = P:input("x2", { domain = {i}, shape = {}, dtype = "i64" })
z3 = P:tensor { domain = {i}, shape = {}, dtype = "f64", name = "z3" }
v4 = z3[{ i = tempo.max(i - 1, 0) }]
v5 = z3[{ i = tempo.max(i - 1, 0) }]
v6 = (v5 * z3)
v7 = (v4 + tempo.arange({2}, { dtype = "f64" }))
z3[{ [i] = i + 1 }] = (v6):tanh()
z3:otherwise(((x1):sum()):tanh())
z8 = P:tensor { domain = {i}, shape = {2}, dtype = "i64", name = "z8" }
v10 = z8[i + 1]
z8[I - 1] = ((x2[{ i = 0 .. I }]:sum(0) + tempo.zeros({2}, { dtype = "i64" }))) % 1000
z8[I - 2] = (((v7[{ i = 0 .. I }]:sum(0)):detach():gt(0)):to "i64") % 1000
z8:otherwise((v10) % 1000)
z13 = P:tensor { domain = {i}, shape = {}, dtype = "f64", name = "z13" }
z13:when(i:ge(w), (((z8):to "f64"):sum()):tanh())
z13:when(i:eq(I - 1), ((v7):sum()):tanh())
z13:otherwise(((x2):to "f64"):tanh())
case = { outputs = { z13 = z13, v7 = v7, x2 = x2, bounds = w:value() + I:value() },
  options = { passes = 'none' },
  inputs = { { "x1", { "I" }, {3}, "f64" }, { "x2", { "I" }, {}, "i64" } },
  bounds = { { I = 3, w = 1 }, { I = 1, w = 1 }, { I = 2, w = 1 }, { I = 0, w = 2 },
    { I = 6, w = 3 } },
}

-- TICKS=1 TEMPO_BLOCK=1 TEMPO_TURN=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
h1 = P:tensor { domain = {i, j}, shape = {3, 5}, dtype = "f32" }
x2 = P:input("x2", { domain = {j}, shape = {}, dtype = "i64" })
x3 = P:input("x3", { domain = {}, shape = {}, dtype = "i64" })
h1[{ j = 0 }] = tempo.zeros({3, 5}, { dtype = "f32" })
h1:otherwise(
  tempo.where((x2:to "f32" + 0.25):eq(tempo.arange({3}, { dtype = "i64" })):reshape {3, 1}:lnot(),
  h1[{ j = j - 1 }], h1[{ j = j - 1 }]:max() * x3:to "f32"))
y4 = h1[{ j = tempo.max(j - 3, 0) }] * 2
y5 = h1:select(0, 1) + 1
y6 = h1:sum()
x8 = P:input("x8", { domain = {i}, shape = {2}, dtype = "f64" })
h7 = P:tensor { domain = {i, j}, shape = {2}, dtype = "f64" }
x9 = P:input("x9", { domain = {i, j}, shape = {}, dtype = "i64" })
x10 = P:input("x10", { domain = {}, shape = {}, dtype = "f64" })
x11 = P:input("x11", { domain = {i, j}, shape = {}, dtype = "i64" })
h7[{ j = J - 1 }] = x8
h7:otherwise(tempo.where(x11:gt(2), h7[{ j = tempo.min(j + 2, J - 1) }],
  tempo.where(tempo.arange({2}):ne(x9:to "f32" * 0.5), (h7[{ j = j + 1 }] * 0.5), x10)))
y12 = h7
y13 = h7[{ j = J - 1 }]:sum()
y14 = h7:select(0, 1) + 1
l15 = (h7[{ j = J - 1 }] * h7[{ j = 0 }]):sum()
g16 = tempo.grad(l15, { h7 }, { leaf = false })[1]
case = { outputs = { y4 = y4, y5 = y5, y6 = y6, y12 = y12, y13 = y13, y14 = y14, g16 = g16,
  bounds = w:value() + I:value() + J:value() }, options = { passes = { vectorize = false } },
  inputs = { { "x2", { "J" }, {}, "i64" }, { "x3", {  }, {}, "i64" }, { "x8", { "I" }, {2}, "f64" },
    { "x9", { "I", "J" }, {}, "i64" }, { "x10", {  }, {}, "f64" },
    { "x11", { "I", "J" }, {}, "i64" } },
  bounds = { { I = 1, J = 4, w = 0 } },
}

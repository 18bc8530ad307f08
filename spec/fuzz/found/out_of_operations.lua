-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j}, shape = {2}, dtype = "f64" })
v4 = P:input("v4", { domain = {i}, shape = {2}, dtype = "i64" })
z6 = P:tensor { domain = {j}, shape = {}, dtype = "i64", name = "z6" }
v7 = z6[j + 1]
v9 = (v7:to "f64" * 0.1)
z6[{ j = J - 1 }] = ((((x1[{ i = 0 .. I }]:sum(0)):detach():gt(0)):to "i64"):sum()) % 1000
z6:when(j:lt(J - 2), (((v9):detach():gt(0)):to "i64") % 1000)
z6:otherwise((((v9):detach():gt(0)):to "i64") % 1000)
z10 = P:tensor { domain = {i, j}, shape = {2, 3}, dtype = "i64", name = "z10" }
v11 = z10[{ i, tempo.mod(j, 2) }]
v12 = z10[{ i = tempo.max(i - 1, 0), j = J - 1 }]
v13 = ((z10[{ i = tempo.max(i - 1, 0), j = 0 .. J }]):sum(0) % 1000)
z10[{ [i] = i + 1 }] = (v13) % 1000
z10:otherwise((((v4):sum() + tempo.zeros({2, 3}, { dtype = "i64" }))) % 1000)
P:sink({ v12 }, function(a, p) HEAR("s14", a, p) end, { over = {i} })
case = { outputs = { z6 = z6, v11 = v11, bounds = w:value() + I:value() + J:value() },
  options = { passes = { fold = false, dce = false } },
  inputs = { { "x1", { "I", "J" }, {2}, "f64" }, { "v4", { "I" }, {2}, "i64" } },
  bounds = { { I = 2, J = 3, w = 2 } },
}

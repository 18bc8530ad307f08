-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=3 TEMPO_TILE=4 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x3 = P:input("x3", { domain = {j}, shape = {}, dtype = "i64" })
v4 = x3[{ j = tempo.max(0, tempo.min(j + 2 - w, J - 1)) }]
v5 = (v4:to "f64" * 0.1)
P:stop(j, v5:lt(-0.3))
z7 = P:tensor { domain = {i, j}, shape = {}, dtype = "f64", name = "z7" }
v8 = z7[{ i - 1, tempo.max(j - 2, 0) }]
v9 = (v8 + x3:to "f64" * 0.1):tanh()
z7[{ i = 0 }] = (v5):tanh()
z7:otherwise((v9):tanh())
P:stop(i, z7:gt(1))
v11 = v5:sum()
v12 = tempo.grad(v11, { v5 })[1]
case = { outputs = { v12 = v12, z7 = z7, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { j = J:value(), i = I:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x3", { "J" }, {}, "i64" } },
  bounds = { { I = 2, J = 3, w = 3 } },
}

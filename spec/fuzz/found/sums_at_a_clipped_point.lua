-- WIDE=1 THREADS=2 TEMPO_SHARE=0 TEMPO_AGAIN=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {j}, shape = {}, dtype = "f32" })
v11 = x1[tempo.min(j + i, J - 1)]
v13 = (v11 * v11):sum()
v15 = tempo.grad(v13, { x1 })[1]
case = { outputs = { v15 = v15, bounds = w:value() + I:value() + J:value() },
  options = { passes = 'none' },
  inputs = { { "x1", { "J" }, {}, "f32" } },
  bounds = { { I = 0, J = 0, w = 0 } },
}

-- THREADS=3 TEMPO_SHARE=0 TEMPO_TILE=4 TEMPO_AGAIN=1 TEMPO_TURN=1 #long
i, I = P:dim "i"
w = P:bound "w"
x2 = P:input("x2", { domain = {i}, shape = {3}, dtype = "f64" })
x3 = P:input("x3", { domain = {i}, shape = {}, dtype = "i64" })
z5 = P:tensor { domain = {i}, shape = {3}, dtype = "i64", name = "z5" }
v8 = z5[{ i = tempo.min(i + 1, I - 1) }]
v9 = (3 - v8)
z5[{ [i] = i - 1 }] = (v9) % 1000
z5:otherwise(((x3 + tempo.zeros({3}, { dtype = "i64" }))) % 1000)
v10 = v9[I - 1]
w11 = P:param("w11",
  { along = {i}, domain = {}, shape = {}, dtype = "f64", init = (((v10):to "f64"):sum()):tanh() })
v12 = w11[{ i = tempo.floordiv(i, 2) }]
v13 = -v12
w11:update((w11 - tempo.grad((v13 * v13):sum(), { w11 })[1] * 0.1):tanh())
v21 = (v13:sin() + v13):sum()
v22 = tempo.grad(v21, { x2 })[1]
v23 = tempo.grad(v21, { v13 })[1]
v24 = tempo.grad(v21, { v21 })[1]
case = { outputs = { v21 = v21, v22 = v22, v23 = v23, v24 = v24, v21 = v21,
  bounds = w:value() + I:value() }, cycles = true,
  options = { passes = { cse = false, incremental = false } },
  inputs = { { "x2", { "I" }, {3}, "f64" }, { "x3", { "I" }, {}, "i64" } },
  bounds = { { I = 3, w = 1 }, { I = 1, w = 0 }, { I = 4, w = 3 }, { I = 0, w = 2 },
    { I = 5, w = 2 } },
}

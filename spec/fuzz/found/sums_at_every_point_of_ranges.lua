-- WIDE=1 THREADS=4 TEMPO_SHARE=0 TEMPO_TILE=3 TEMPO_AGAIN=1 TEMPO_FORWARD=0
i, I = P:dim "i"
w = P:bound "w"
x2 = P:input("x2", { domain = {i}, shape = {}, dtype = "f32" })
v6 = ((x2[tempo.floordiv(i, 2) .. i + 1]) * (x2[tempo.floordiv(i, 2) .. i + 1])):sin():sum(0)
v8 = v6[tempo.min(i + 2, I - 1)]
v18 = v8:sum()
v20 = tempo.grad(v18, { x2 }, { leaf = true })[1]
case = { outputs = { v20 = v20, bounds = w:value() + I:value() },
  options = { passes = 'none' },
  inputs = { { "x2", { "I" }, {}, "f32" } },
  bounds = { { I = 0, w = 0 } },
}

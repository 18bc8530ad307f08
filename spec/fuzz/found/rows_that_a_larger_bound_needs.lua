-- TEMPO_POISON=1 TEMPO_SPILL=1 TICKS=1 TEMPO_BLOCK=3 TEMPO_TILE=5
i, I = P:dim "i"
w = P:bound "w"
v5 = P:input("v5", { domain = {i}, shape = {3}, dtype = "f32" })
z7 = P:tensor { domain = {i}, shape = {}, dtype = "f32", name = "z7" }
v9 = z7[tempo.max(i - 1, 0)]
v10 = -v9
v12 = z7[{ i = tempo.floordiv(i, 2) }]
z7[0] = ((v5):sum()):tanh()
z7[{ [i] = i + 1 }] = (v12):tanh()
v13 = v10:sum()
case = { outputs = { v13 = v13, bounds = w:value() + I:value() },
  options = { passes = { cse = false } },
  inputs = { { "v5", { "I" }, {3}, "f32" } },
  bounds = { { I = 3, w = 2 }, { I = 1, w = 2 }, { I = 2, w = 2 }, { I = 0, w = 0 },
    { I = 4, w = 3 } },
}

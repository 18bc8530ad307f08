-- TEMPO_POISON=1 TEMPO_BLOCK=3 TEMPO_TILE=4
i, I = P:dim "i"
w = P:bound "w"
x3 = P:input("x3", { domain = {i}, shape = {}, dtype = "i64" })
v4 = x3[{ i = tempo.min(i + i, I - 1) }]
v6 = v4:ne(3)
v8 = P:input("v8", { domain = {i}, shape = {2, 3}, dtype = "f32" })
v10 = tempo.where(v6, v8, v8)
P:stop(i, v10:sum():lt(0))
case = { outputs = { bounds = w:value() + I:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { vectorize = false } },
  inputs = { { "x3", { "I" }, {}, "i64" }, { "v8", { "I" }, {2, 3}, "f32" } },
  bounds = { { I = 0, w = 0 } },
}

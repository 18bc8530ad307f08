-- TEMPO_POISON=1 TEMPO_BLOCK=3 TEMPO_TILE=2
i, I = P:dim "i"
w = P:bound "w"
x2 = P:input("x2", { domain = {i}, shape = {3}, dtype = "f32" })
v4 = P:input("v4", { domain = {i}, shape = {}, dtype = "i64" })
v5 = x2[{ i = tempo.min(i + i, I - 1) }]
v7 = (v5 + v4:to "f32" * 0.1):tanh()
z10 = P:tensor { domain = {i}, shape = {}, dtype = "f32", name = "z10" }
v11 = z10[{ i }]
v12 = P:input("v12", { domain = {i}, shape = {}, dtype = "f32" })
z10[0] = ((v7):sum()):tanh()
z10[{ [i] = i + 1 }] = (v12):tanh()
P:stop(i, v11:gt(1))
v15 = v11:sum()
v16 = tempo.grad(v15, { x2 })[1]
P:sink({ v16 }, function(a, p) HEAR("s18", a, p) end)
case = { outputs = { bounds = w:value() + I:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { precise = true },
  inputs = { { "x2", { "I" }, {3}, "f32" }, { "v4", { "I" }, {}, "i64" },
    { "v12", { "I" }, {}, "f32" } },
  bounds = { { I = 2, w = 0 } },
}

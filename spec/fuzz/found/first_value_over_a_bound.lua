-- TEMPO_POISON=1 TEMPO_SPILL=1 TICKS=1 TEMPO_TILE=2
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {j}, shape = {3}, dtype = "f32" })
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "f32" })
w4 = P:param("w4",
  { along = {i}, domain = {}, shape = {3}, dtype = "f32",
  init = (x1[{ j = 0 .. J }]:sum(0)):tanh() })
v5 = (w4 + w4)
v6 = w4[{ tempo.max(i - 1, 0) }]
w4:update((w4 - tempo.grad((v6 * v6):sum(), { w4 })[1] * 0.1):tanh())
P:stop(i, v5:sum():gt(0.2))
v9 = P:input("v9", { domain = {j}, shape = {}, dtype = "f32" })
v10 = tempo.grad(v9, { x2 })[1]
case = { outputs = { v10 = v10, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x1", { "J" }, {3}, "f32" }, { "x2", { "I", "J" }, {}, "f32" },
    { "v9", { "J" }, {}, "f32" } },
  bounds = { { I = 3, J = 4, w = 0 }, { I = 1, J = 1, w = 1 }, { I = 2, J = 4, w = 3 },
    { I = 3, J = 0, w = 3 }, { I = 4, J = 4, w = 1 } },
}

-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=2 TEMPO_TILE=4
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {j}, shape = {3}, dtype = "f32" })
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "f32" })
v5 = tempo.uniform({2, 3}, { domain = {i}, name = "u4", dtype = "f32" })
P:stop(j, x1:sum():gt(0.2))
v7 = (v5 * v5 + v5)
P:stop(i, v7:sum():lt(0))
v9 = (v5 * x2 + v5)
v11 = (v9:sin() + v9):sum()
v13 = tempo.grad(v11, { v9 })[1]
case = { outputs = { v13 = v13, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { j = J:value(), i = I:value() },
  options = { passes = { tile = false } },
  inputs = { { "x1", { "J" }, {3}, "f32" }, { "x2", { "I", "J" }, {}, "f32" } },
  bounds = { { I = 4, J = 2, w = 3 }, { I = 1, J = 1, w = 0 }, { I = 5, J = 2, w = 0 },
    { I = 1, J = 0, w = 3 }, { I = 5, J = 6, w = 1 } },
}

-- TEMPO_POISON=1 TEMPO_BLOCK=2 TEMPO_TILE=3
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j}, shape = {2, 3}, dtype = "f32" })
z13 = P:input("z13", { domain = {i}, shape = {3}, dtype = "f32" })
v16 = z13[{ i = 0 }]
P:stop(i, x1:sum():lt(0))
v20 = (v16:sin() + v16):sum()
case = { outputs = { v20 = v20, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x1", { "I", "J" }, {2, 3}, "f32" }, { "z13", { "I" }, {3}, "f32" } },
  bounds = { { I = 1, J = 0, w = 0 } },
}

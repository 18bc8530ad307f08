-- TICKS=1 TEMPO_BLOCK=3 TEMPO_TILE=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "f32" })
x3 = P:input("x3", { domain = {i, j}, shape = {}, dtype = "i64" })
P:stop(i, x2:gt(0.2))
P:stop(j, j:ge(w))
v17 = P:input("v17", { domain = {i}, shape = {}, dtype = "f32" })
case = { outputs = { v17 = v17, x3 = x3, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value(), j = J:value() },
  options = { passes = { cse = false } },
  inputs = { { "x2", { "I", "J" }, {}, "f32" }, { "x3", { "I", "J" }, {}, "i64" },
    { "v17", { "I" }, {}, "f32" } },
  bounds = { { I = 3, J = 3, w = 1 } },
}

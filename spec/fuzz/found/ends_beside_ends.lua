-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=3
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x2 = P:input("x2", { domain = {j}, shape = {2, 3}, dtype = "f32" })
x3 = P:input("x3", { domain = {j, k}, shape = {}, dtype = "i64" })
z4 = P:tensor { domain = {i, j, k}, shape = {}, dtype = "f32", name = "z4" }
z4:when(i:eq(I - 1), ((x3):to "f32"):tanh())
z4:when(i:ge(w), ((x3):to "f32"):tanh())
z4:otherwise(((x3):to "f32"):tanh())
v9 = (x2 / (z4 * z4 + 1))
x10 = P:input("x10", { domain = {i, k}, shape = {}, dtype = "f32" })
P:stop(j, v9:sum():gt(0.2))
P:stop(k, x10:gt(0.2))
v15 = P:input("v15", { domain = {j}, shape = {}, dtype = "f32" })
case = { outputs = { v15 = v15, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { j = J:value(), k = K:value() },
  options = { passes = 'none' },
  inputs = { { "x2", { "J" }, {2, 3}, "f32" }, { "x3", { "J", "K" }, {}, "i64" },
    { "x10", { "I", "K" }, {}, "f32" }, { "v15", { "J" }, {}, "f32" } },
  bounds = { { I = 4, J = 6, K = 6, w = 1 } },
}

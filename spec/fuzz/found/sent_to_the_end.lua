-- TEMPO_POISON=1 TEMPO_SPILL=1 TICKS=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {}, dtype = "f64" })
v5 = P:input("v5", { domain = {i, j}, shape = {}, dtype = "f64" })
v7 = v5[{ i = I - 1 }]
P:stop(i, x1:lt(0))
v9 = v7:sum()
v10 = tempo.grad(v9, { v5 })[1]
case = { outputs = { v10 = v10, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { tile = false } },
  inputs = { { "x1", { "I" }, {}, "f64" }, { "v5", { "I", "J" }, {}, "f64" } },
  bounds = { { I = 2, J = 1, w = 1 } },
}

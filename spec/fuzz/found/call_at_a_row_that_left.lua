-- TICKS=1 TEMPO_BLOCK=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
v4 = P:input("v4", { domain = {i, j}, shape = {}, dtype = "f64" })
v5 = P:input("v5", { domain = {i, j}, shape = {}, dtype = "i64" })
P:stop(i, v4:gt(0.2))
P:sink({ v5 }, function(a, p) HEAR("s7", a, p) end, { over = {j} })
case = { outputs = { bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { algebra = false } },
  inputs = { { "v4", { "I", "J" }, {}, "f64" }, { "v5", { "I", "J" }, {}, "i64" } },
  bounds = { { I = 2, J = 2, w = 0 } },
}

-- TEMPO_POISON=1 TEMPO_SPILL=1 TICKS=1 TEMPO_BLOCK=2
i, I = P:dim "i"
w = P:bound "w"
x1 = P:input("x1", { domain = {i}, shape = {3}, dtype = "f64" })
v3 = x1[tempo.max(0, tempo.min(i + 0 - w, I - 1))]
P:stop(i, v3:sum():gt(1))
case = { outputs = { v3 = v3, bounds = w:value() + I:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x1", { "I" }, {3}, "f64" } },
  bounds = { { I = 0, w = 0 } },
}

-- TICKS=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
v5 = P:input("v5", { domain = {i}, shape = {2}, dtype = "i64" })
v6 = (v5 - v5)
case = { outputs = { v6 = v6, bounds = w:value() + I:value() + J:value() },
  options = { passes = 'none' },
  inputs = { { "v5", { "I" }, {2}, "i64" } },
  bounds = { { I = 1, J = 1, w = 1 } },
}

-- TEMPO_POISON=1 TICKS=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x2 = P:input("x2", { domain = {i}, shape = {3}, dtype = "f64" })
x3 = P:input("x3", { domain = {k}, shape = {}, dtype = "i64" })
v4 = (x2 + x3:to "f64" * 0.1):tanh()
v6 = v4:sin()
v10 = (v6[{ i = tempo.floordiv(i, 2) .. i + 1 }]):mean(0)
v15 = (v10:sin() + v10):sum()
v16 = P:input("v16", { domain = {i, k}, shape = {}, dtype = "f64" })
v17 = tempo.grad(v15, { x2 })[1]
case = { outputs = { v16 = v16, v17 = v17, bounds = w:value() + I:value() + J:value() + K:value() },
  options = { passes = { cse = false, incremental = false } },
  inputs = { { "x2", { "I" }, {3}, "f64" }, { "x3", { "K" }, {}, "i64" },
    { "v16", { "I", "K" }, {}, "f64" } },
  bounds = { { I = 3, J = 1, K = 3, w = 1 } },
  smooth = { loss = "v15", { "x2", "v17" } },
}

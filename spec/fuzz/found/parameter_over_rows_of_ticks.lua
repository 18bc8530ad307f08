-- TEMPO_POISON=1 TICKS=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x2 = P:input("x2", { domain = {j, k}, shape = {3}, dtype = "f64" })
x3 = P:input("x3", { domain = {i, j, k}, shape = {}, dtype = "i64" })
x16 = P:input("x16", { domain = {}, shape = {}, dtype = "f64" })
w17 = P:param("w17",
  { along = {i, j}, domain = {}, shape = {2, 3}, dtype = "f64",
  init = ((x16 + tempo.zeros({2, 3}, { dtype = "f64" }))):tanh() })
v18 = w17[{ i, j }]
v19 = w17
w17:update((v19):tanh())
case = { outputs = { x2 = x2, x3 = x3, v18 = v18,
  bounds = w:value() + I:value() + J:value() + K:value() }, options = { precise = true },
  inputs = { { "x2", { "J", "K" }, {3}, "f64" }, { "x3", { "I", "J", "K" }, {}, "i64" },
    { "x16", {  }, {}, "f64" } },
  bounds = { { I = 3, J = 3, K = 3, w = 1 } },
}

-- TICKS=1 TEMPO_POISON=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
v4 = P:input("v4", { domain = {j}, shape = {2, 3}, dtype = "f32" })
w9 = P:param("w9",
  { along = {i}, domain = {j}, shape = {}, dtype = "f32", init = ((v4):sum()):tanh() })
v12 = v4:mT()
v13 = (w9[{ i, tempo.max(0, j - 1) .. j + 1 }]):sum(0) * 0.5
v14 = v13:detach()
w9:update((v14):tanh())
v15 = (v13 * v13):sum()
case = { outputs = { v15 = v15, v12 = v12, bounds = w:value() + I:value() + J:value() },
  options = { precise = true },
  inputs = { { "v4", { "J" }, {2, 3}, "f32" } },
  bounds = { { I = 3, J = 2, w = 1 } },
}

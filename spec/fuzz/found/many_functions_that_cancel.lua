-- WIDE=1 TEMPO_POISON=1 TEMPO_TILE=5 TEMPO_AGAIN=1 TEMPO_TURN=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "i64" })
v4 = x2[{ i = I - 1 - i }]
z6 = P:tensor { domain = {j}, shape = {}, dtype = "f32", name = "z6" }
v7 = z6[j - 1]
v8 = z6[{ tempo.floordiv(j, 2) }]
x9 = P:input("x9", { domain = {j}, shape = {}, dtype = "f32" })
z6[{ j = 0 }] = (x9):tanh()
z6:when(j:lt(J - 2), (v7):tanh())
z6:otherwise((v8):tanh())
v12 = (z6 + v4:to "f32" * 0.1):tanh()
w18 = P:param("w18",
  { along = {i}, domain = {}, shape = {}, dtype = "f32",
  init = (v12[{ i = 0 .. I }]:sum(0)[{ j = 0 .. J }]:sum(0)):tanh() })
v21 = P:input("v21", { domain = {i}, shape = {}, dtype = "f32" })
w18:update((v21):tanh())
case = { outputs = { w18 = w18, bounds = w:value() + I:value() + J:value() },
  options = { passes = { num_neg = false, matmul_right = false } },
  inputs = { { "x2", { "I", "J" }, {}, "i64" }, { "x9", { "J" }, {}, "f32" },
    { "v21", { "I" }, {}, "f32" } },
  bounds = { { I = 0, J = 0, w = 0 } },
}

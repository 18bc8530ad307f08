-- TEMPO_POISON=1 TEMPO_BLOCK=1
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x2 = P:input("x2", { domain = {j}, shape = {}, dtype = "i64" })
z3 = P:tensor { domain = {k}, shape = {}, dtype = "f32", name = "z3" }
z4 = P:tensor { domain = {k}, shape = {2, 3}, dtype = "f32", name = "z4" }
v5 = P:input("v5", { domain = {j}, shape = {}, dtype = "f32" })
v7 = z4[k - 2]
z3[0] = ((x2[{ j = 0 .. J }]:sum(0)):to "f32"):tanh()
z3[1] = ((x2[{ j = 0 .. J }]:sum(0)):to "f32"):tanh()
z3:when(tempo.mod(k, 2):eq(0), ((v7):sum()):tanh())
z3:otherwise(((v7):sum()):tanh())
z4[0] = ((v5[{ j = 0 .. J }]:sum(0) + tempo.zeros({2, 3}, { dtype = "f32" }))):tanh()
z4[{ k = 1 }] =
  (((x2[{ j = 0 .. J }]:sum(0)):to "f32" + tempo.zeros({2, 3}, { dtype = "f32" }))):tanh()
z4:when(k:lt(K - 2), (v7):tanh())
z4:otherwise((v7):tanh())
P:stop(k, z3:gt(1))
case = { outputs = { bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { k = K:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x2", { "J" }, {}, "i64" }, { "v5", { "J" }, {}, "f32" } },
  bounds = { { I = 0, J = 0, K = 3, w = 0 } },
}

-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=2
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x2 = P:input("x2", { domain = {j, k}, shape = {}, dtype = "i64" })
w3 = P:param("w3",
  { along = {i}, domain = {j, k}, shape = {}, dtype = "f32", init = ((x2):to "f32"):tanh() })
v4 = (1 / (w3 * w3 + 1))
w3:update((w3 - tempo.grad((v4 * v4):sum(), { w3 })[1] * 0.1):tanh())
z10 = P:tensor { domain = {i}, shape = {3}, dtype = "f32", name = "z10" }
v11 = z10[tempo.max(i - 1, 0)]
z10[0] = ((v4[{ j = 0 .. J }]:sum(0)[{ k = 0 .. K }]:sum(0) + tempo.zeros({3},
  { dtype = "f32" }))):tanh()
z10[{ [i] = i + 1 }] = (v11):tanh()
z16 = P:tensor { domain = {i, j, k}, shape = {}, dtype = "f32", name = "z16" }
v17 = P:input("v17", { domain = {j, k}, shape = {}, dtype = "f32" })
z16[{ j = 0 }] = ((v11):sum()):tanh()
z16:otherwise((v17):tanh())
P:stop(j, j:ge(w))
case = { outputs = { z16 = z16, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { j = J:value() },
  options = { passes = { fold = false, dce = false } },
  inputs = { { "x2", { "J", "K" }, {}, "i64" }, { "v17", { "J", "K" }, {}, "f32" } },
  bounds = { { I = 4, J = 4, K = 3, w = 1 } },
}

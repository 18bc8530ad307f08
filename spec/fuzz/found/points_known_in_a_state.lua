-- TICKS=1 TEMPO_BLOCK=2 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j, k}, shape = {2, 3}, dtype = "f64" })
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "i64" })
z3 = P:tensor { domain = {j, k}, shape = {3}, dtype = "f64", name = "z3" }
v5 = z3[{ j = j - 1 }]
z3[{ k = 0 }] = (((x2[{ i = 0 .. I }]:sum(0)):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh(
  )
z3[{ j = 0 }] = (z3[{ k = k - 1, j = 0 }]):tanh()
z3:otherwise((v5):tanh())
v7 = tempo.cat({ z3:slice(0, 1, 3), z3:slice(0, 0, 1) }, 0)
P:stop(i, x1:sum():lt(0))
case = { outputs = { x1 = x1, v7 = v7, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { cse = false } },
  inputs = { { "x1", { "I", "J", "K" }, {2, 3}, "f64" }, { "x2", { "I", "J" }, {}, "i64" } },
  bounds = { { I = 2, J = 4, K = 2, w = 2 } },
}

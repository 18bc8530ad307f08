-- CC=clang NATIVE=1 TEMPO_CFLAGS=-O0 TICKS=1 TEMPO_BLOCK=3 TEMPO_TILE=5 LIMIT=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, k}, shape = {2, 3}, dtype = "f64" })
z3 = P:tensor { domain = {j, k}, shape = {3}, dtype = "f64", name = "z3" }
x7 = P:input("x7", { domain = {}, shape = {3}, dtype = "f64" })
v8 = ((z3[{ k = tempo.max(0, k - 1 - w) .. k }]):matmul(x7)):tanh():sum()
z3[{ j = 0, k = 0 }] = (x7):tanh()
z3[{ k = 0 }] = (z3[{ j = j - 1, k = 0 .. K }]:mean(0)):tanh()
z3:otherwise(((v8 + tempo.zeros({3}, { dtype = "f64" }))):tanh())
z15 = P:tensor { domain = {j}, shape = {2}, dtype = "i64", name = "z15" }
v16 = z15[j - 1]
v17 = (1 / (z3 * z3 + 1))
z15[{ j = 0 }] =
  (((((x7):detach():gt(0)):to "i64"):sum() + tempo.zeros({2}, { dtype = "i64" }))) % 1000
z15:otherwise((v16) % 1000)
v18 = (v17:sin() + v17):sum()
v19 = tempo.grad(v18, { x1 })[1]
v20 = tempo.grad(v18, { x7 })[1]
case = { outputs = { v18 = v18, v19 = v19, v20 = v20, v18 = v18, z15 = z15, z15 = z15, v17 = v17,
  bounds = w:value() + I:value() + J:value() + K:value() },
  options = { passes = { cse = false, incremental = false, evolve = false, turn = false } },
  inputs = { { "x1", { "I", "K" }, {2, 3}, "f64" }, { "x7", {  }, {3}, "f64" } },
  bounds = { { I = 4, J = 3, K = 2, w = 0 }, { I = 1, J = 1, K = 1, w = 1 },
    { I = 5, J = 2, K = 4, w = 0 }, { I = 2, J = 0, K = 1, w = 2 },
    { I = 5, J = 6, K = 5, w = 2 } },
  smooth = { loss = "v18", { "x1", "v19" }, { "x7", "v20" } },
}

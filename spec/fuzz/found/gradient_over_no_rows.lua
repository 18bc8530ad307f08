-- TEMPO_POISON=1 TEMPO_BLOCK=3 TEMPO_TILE=4
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j}, shape = {}, dtype = "f64" })
z3 = P:tensor { domain = {i}, shape = {3}, dtype = "f64", name = "z3" }
v5 = P:input("v5", { domain = {i}, shape = {3}, dtype = "f64" })
x6 = P:input("x6", { domain = {}, shape = {}, dtype = "f64" })
z3[0] = ((x6 + tempo.zeros({3}, { dtype = "f64" }))):tanh()
z3:otherwise((v5):tanh())
v9 = (z3 * 1.5 - 0.25)
P:stop(i, x1:lt(-0.3))
v12 = (v9 * v9):sum()
v15 = tempo.grad(v12, { x6 })[1]
case = { outputs = { v15 = v15, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x1", { "I", "J" }, {}, "f64" }, { "v5", { "I" }, {3}, "f64" },
    { "x6", {  }, {}, "f64" } },
  bounds = { { I = 1, J = 0, w = 0 } },
}

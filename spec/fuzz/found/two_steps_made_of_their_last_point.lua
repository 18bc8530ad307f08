-- TEMPO_POISON=1
i, I = P:dim "i"
x2 = P:input("x2", { domain = {i}, shape = {}, dtype = "i64" })
z3 = P:tensor { domain = {i}, shape = {3}, dtype = "f64", name = "z3" }
v7 = z3[I - 1]:flip(0)
z3[{ i = I - 1 }] =
  (((x2[{ i = 0 .. I }]:sum(0)):to "f64" + tempo.zeros({3}, { dtype = "f64" }))):tanh()
x10 = P:input("x10", { domain = {}, shape = {}, dtype = "f64" })
z3[I - 2] = ((x10 + tempo.zeros({3}, { dtype = "f64" }))):tanh()
z3:otherwise((v7):tanh())
v12 = z3[0]:sum() + v7:sum()
case = { outputs = { v12 = v12, bounds = I:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x2", { "I" }, {}, "i64" }, { "x10", {  }, {}, "f64" } },
  bounds = { { I = 1 }, { I = 2 }, { I = 3 }, { I = 5 } },
}

-- TEMPO_POISON=1
-- A sum over j at points of i and j: isl's outline of its points has to be bounded along both dims
-- that stand for j.
i, I = P:dim "i"
j, J = P:dim "j"
v6 = P:input("v6", { domain = {i, j}, shape = {}, dtype = "f64" })
v7 = (v6[{ j = tempo.floordiv(j, 2) * 2 .. tempo.min(tempo.floordiv(j, 2) * 2 + 2, J) }]):sum(
  0) * 0.5
v9 = v7[{ i, tempo.min(i, J - 1) }]
case = { outputs = { v9 = v9, bounds = I:value() + J:value() },
  options = { passes = { algebra = false } },
  inputs = { { "v6", { "I", "J" }, {}, "f64" } },
  bounds = { { I = 0, J = 0 }, { I = 3, J = 5 }, { I = 7, J = 4 } },
}

-- TICKS=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i}, shape = {}, dtype = "f64" })
z4 = P:tensor { domain = {j}, shape = {}, dtype = "i64", name = "z4" }
v5 = z4[{ j = tempo.max(j - 1, 0) }]
v6 = z4[tempo.max(j - 1, 0)]
v7 = ((z4[tempo.max(0, j - 1 - w) .. j + 1]):sum(0) % 1000)
x8 = P:input("x8", { domain = {}, shape = {}, dtype = "f64" })
z4[0] = (((x8):detach():gt(0)):to "i64") % 1000
z4[{ [j] = j + 1 }] = (v5) % 1000
v10 = (x8 + v6:to "f64" * 0.1):tanh()
v12 = (v10 + tempo.arange({2}, { dtype = "f64" }))
v13 = P:call(function(a) return ANSWER(a) end, { x2 },
  { { domain = {i}, shape = {}, dtype = "f64" } })
v19 = (v12 * v10)
z25 = P:tensor { domain = {i, j}, shape = {2}, dtype = "f64", name = "z25" }
v30 = z25[{ i, j - 1 }]
z25[{ j = 0 }] = (((v7):to "f64" + tempo.zeros({2}, { dtype = "f64" }))):tanh()
z25:otherwise((v30):tanh())
v39 = z25[{ i, J - 1 }]
v41 = tempo.uniform({3}, { domain = {i, j}, name = "u40", dtype = "f64" })
P:stop(i, v39:sum():gt(0.2))
P:stop(j, v19:sum():lt(-0.3))
v44 = (v19:sin() + v19):sum()
v45 = tempo.grad(v44, { v39 })[1]
v46 = tempo.grad(v44, { v41 })[1]
v47 = tempo.grad(v44, { x8 })[1]
case = { outputs = { v44 = v44, v45 = v45, v46 = v46, v47 = v47, v10 = v10, v13 = v13,
  bounds = w:value() + I:value() + J:value() }, cycles = true,
  ends = { i = I:value(), j = J:value() },
  options = { passes = { vectorize = false } },
  inputs = { { "x2", { "I" }, {}, "f64" }, { "x8", {  }, {}, "f64" } },
  bounds = { { I = 4, J = 3, w = 3 }, { I = 1, J = 1, w = 3 }, { I = 4, J = 2, w = 2 },
    { I = 0, J = 1, w = 0 }, { I = 4, J = 6, w = 2 } },
}

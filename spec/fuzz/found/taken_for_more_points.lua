-- TEMPO_POISON=1 TEMPO_TILE=4 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x3 = P:input("x3", { domain = {}, shape = {}, dtype = "f64" })
w4 = P:param("w4",
  { along = {i}, domain = {}, shape = {2}, dtype = "f64",
  init = ((x3 + tempo.zeros({2}, { dtype = "f64" }))):tanh() })
v6 = (w4[{ tempo.max(0, i - 2) .. i + 1 }]):sum(0) * 0.5
x7 = P:input("x7", { domain = {}, shape = {2}, dtype = "f64" })
v8 = (((w4[tempo.max(0, i - 3) .. i + 1]):matmul(x7)):softmax(0)):matmul(
  w4[tempo.max(0, i - 3) .. i + 1])
w4:update((v6):tanh())
z9 = P:tensor { domain = {i, j}, shape = {2, 3}, dtype = "f64", name = "z9" }
v10 = z9[{ i = i - 1, j = tempo.max(j - 1, 0) }]
x11 = P:input("x11", { domain = {}, shape = {2}, dtype = "f64" })
v12 = (((v8[{ i = tempo.max(0, i - w + 1) .. i + 1 }]):matmul(x11)):softmax(0)):matmul(
  v8[{ i = tempo.max(0, i - w + 1) .. i + 1 }])
z9[{ j = 0 }] = (((v8):sum() + tempo.zeros({2, 3}, { dtype = "f64" }))):tanh()
z9[{ i = 0 }] = (z9[{ j = j - 1, i = I - 1 }]):tanh()
z9:otherwise((v10):tanh())
v15 = v12[{ i = tempo.min(i * 2, I - 1) }]
v16 = (x11 * v15)
v18 = v16[tempo.max(0, tempo.min(i + 1 - w, I - 1))]
v23 = z9[{ i = tempo.floordiv(i, 3) * 3, j = tempo.floordiv(j, 2) }]
v24 = v16:select(0, tempo.mod(i * 2 + 1, 2))
v25 = v24[tempo.max(i - 2, 0)]
v29 = (v18 / (v16 * v16 + 1))
x32 = P:input("x32", { domain = {}, shape = {2, 3}, dtype = "f64" })
v33 = v29:matmul(x32)
v40 = (v25:sin() + v25):sum()
v41 = tempo.grad(v40, { x11 })[1]
v42 = tempo.grad((v41 * v41):sum(), { x11 })[1]
v43 = P:input("v43", { domain = {}, shape = {2}, dtype = "f64" })
P:sink({ v33 }, function(a, p) HEAR("s44", a, p) end, { over = {i} })
case = { outputs = { v40 = v40, v42 = v42, v43 = v43, v41 = v41, v23 = v23,
  bounds = w:value() + I:value() + J:value() }, options = { passes = { algebra = false } },
  inputs = { { "x3", {  }, {}, "f64" }, { "x7", {  }, {2}, "f64" }, { "x11", {  }, {2}, "f64" },
    { "x32", {  }, {2, 3}, "f64" }, { "v43", {  }, {2}, "f64" } },
  bounds = { { I = 4, J = 2, w = 1 } },
}

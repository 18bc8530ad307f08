-- #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
p = P:bound "p"
h2 = P:tensor { domain = {j}, shape = {3}, dtype = "f64" }
h3 = P:tensor { domain = {i, j}, shape = {3}, dtype = "f64" }
x5 = P:input("x5", { domain = {j}, shape = {3, 3}, dtype = "f64" })
q6 = h3:matmul(x5)
x11 = P:input("x11", { domain = {}, shape = {5, 3}, dtype = "f64" })
ks13 = tempo.cat({ x11, h3[{ j = 0 .. j }] }, 0)
y15 = (((h3) + ks13:mT():matmul(ks13):matmul(q6))):tanh()
x16 = P:input("x16", { domain = {j}, shape = {3}, dtype = "f64" })
h2:when(j:lt(p), x16)
h2:when(j:eq(w), x16)
h2:otherwise((y15[{ i = I - 1, j = j - 1 }] * 0.7):tanh())
h3[{ i = 0 }] = h2
h3:otherwise(y15[{ i = i - 1 }])
o21 = y15[{ j = J - 1, i = I - 1 }]
case = { outputs = { o21 = o21, bounds = w:value() + I:value() + J:value() + p:value() },
  inputs = { { "x5", { "J" }, {3, 3}, "f64", 0.1667 }, { "x11", {  }, {5, 3}, "f64" }, { "x16", { "J" }, {3}, "f64" } },
  bounds = { { I = 1, J = 4, p = 2, w = 4 }, { I = 1, J = 2, p = 4, w = 0 }, { I = 4, J = 7, p = 1, w = 1 }, { I = 2, J = 7, p = 5, w = 4 }, { I = 4, J = 22, p = 17, w = 4 } },
}

--
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
p = P:bound "p"
x1 = P:input("x1", { domain = {i}, shape = {2}, dtype = "f64" })
x2 = P:input("x2", { domain = {i,j}, shape = {2}, dtype = "f64" })
v6 = (x1 + x2)
h7 = P:tensor { domain = {i, j}, shape = {2}, dtype = "f64" }
h7:when(j:ge(J - p), v6)
h7:otherwise((h7[{ j = j + 1, i = 0 .. tempo.min(i + j + 1, I) }]:sum(0) * 0.4 + v6):tanh())
o_ = h7[{ i = I - 1, j = 0 }]
loss = (o_ * o_):sum()
g = tempo.grad(loss, { x2 })[1]
case = { outputs = { b = w:value() + p:value() + I:value() + J:value(), o = h7[{ i = I - 1, j = 0 }], g = g, loss = loss }, smooth = { loss = "loss", { "x2", "g" } }, inputs = { { "x1", { "I" }, {2}, "f64", 0.5 }, { "x2", { "I","J" }, {2}, "f64", 0.5 } }, bounds = { { I = 1, J = 1, p = 1, w = 0 }, { I = 2, J = 3, p = 2, w = 3 }, { I = 4, J = 2, p = 2, w = 3 }, { I = 5, J = 5, p = 0, w = 2 }, { I = 3, J = 7, p = 6, w = 1 }, { I = 7, J = 3, p = 5, w = 0 }, { I = 1, J = 5, p = 4, w = 3 }, { I = 6, J = 1, p = 3, w = 3 }, { I = 9, J = 4, p = 4, w = 2 }, { I = 4, J = 12, p = 6, w = 0 }, { I = 5, J = 6, p = 4, w = 2 }, { I = 0, J = 2, p = 3, w = 2 } } }

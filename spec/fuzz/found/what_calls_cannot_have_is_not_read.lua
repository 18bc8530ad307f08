-- TEMPO_SHARE=0 TEMPO_FORWARD=0 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
x2 = P:input("x2", { domain = {i, j, k}, shape = {}, dtype = "f64" })
z4 = P:tensor { domain = {i, j, k}, shape = {}, dtype = "f64", name = "z4" }
v6 = (z4[{ i = tempo.min(i * 2, I - 1), j = j + 1, k = k + 1 .. K }]):softmax(0):sum(0)
z4[{ j = J - 1 }] = x2:tanh()
z4:otherwise((v6):tanh())
v8 = (z4[{ i = tempo.floordiv(i, 2), j = 0 .. j + 1, k = tempo.min(i, K - 1) }]):sum(0)
case = { outputs = { v8 = v8 },
  options = {},
  inputs = { { "x2", { "I", "J", "K" }, {}, "f64" } },
  bounds = { { I = 3, J = 4, K = 2 }, { I = 1, J = 1, K = 1 }, { I = 4, J = 3, K = 1 } },
}

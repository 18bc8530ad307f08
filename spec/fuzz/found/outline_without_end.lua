-- TEMPO_TILE=1
j, J = P:dim "j"
k, K = P:dim "k"
w3 = P:input("w3", { domain = {j, k}, shape = {2, 3}, dtype = "f64" })
v5 = (w3 / (w3 * w3 + 1))
v9 = v5[{ j = tempo.min(k, J - 1), k = tempo.min(k + k, K - 1) }]
case = { outputs = { v9 = v9 },
  options = { precise = true },
  inputs = { { "w3", { "J", "K" }, {2, 3}, "f64" } },
  bounds = { { J = 0, K = 0 }, { J = 3, K = 4 }, { J = 2, K = 7 }, { J = 5, K = 3 } },
}

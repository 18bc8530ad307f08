-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=3 TEMPO_TILE=4 #long
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, j, k}, shape = {}, dtype = "f64" })
P:stop(i, x2:lt(-0.3))
v11 = P:input("v11", { domain = {i, j, k}, shape = {2}, dtype = "f64" })
x19 = P:input("x19", { domain = {}, shape = {2, 3}, dtype = "f64" })
v20 = v11:matmul(x19)
v21 = v20:sum()
v22 = tempo.grad(v21, { x19 }, { leaf = true })[1]
case = { outputs = { v22 = v22, v21 = v21, bounds = w:value() + I:value() + J:value() + K:value() },
  cycles = true,
  ends = { i = I:value() },
  options = { passes = { vectorize = false } },
  inputs = { { "x2", { "I", "J", "K" }, {}, "f64" }, { "v11", { "I", "J", "K" }, {2}, "f64" },
    { "x19", {  }, {2, 3}, "f64" } },
  bounds = { { I = 6, J = 3, K = 6, w = 1 } },
}

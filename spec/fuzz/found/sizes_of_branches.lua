-- TEMPO_POISON=1 TEMPO_BLOCK=1 #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
P:stop(j, j:ge(w))
v9 = tempo.uniform({3}, { domain = {i, j}, name = "u8", dtype = "f64" })
v21 = P:input("v21", { domain = {j}, shape = {2, 3}, dtype = "i64" })
x27 = P:input("x27", { domain = {}, shape = {3}, dtype = "f64" })
v28 = (((v9[{ i .. tempo.min(i + w, I), tempo.min(j + 1, J - 1) }]):matmul(x27)):softmax(0)):matmul(
  v9[{ i .. tempo.min(i + w, I), tempo.min(j + 1, J - 1) }])
v31 = (v28 + v21:to "f64" * 0.1):tanh()
v33 = P:input("v33", { domain = {i}, shape = {3}, dtype = "f64" })
P:stop(i, v33:sum():lt(0))
case = { outputs = { v31 = v31, bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { j = J:value(), i = I:value() },
  options = { passes = { tile = false } },
  inputs = { { "v21", { "J" }, {2, 3}, "i64" }, { "x27", {  }, {3}, "f64" },
    { "v33", { "I" }, {3}, "f64" } },
  bounds = { { I = 3, J = 1, w = 0 } },
}

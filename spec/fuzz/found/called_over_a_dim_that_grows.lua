-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j}, shape = {}, dtype = "f64" })
v3 = ((x1[{ i = tempo.mod(i, 2), j = j .. J }]):softmax(0) * (
  x1[{ i = tempo.mod(i, 2), j = j .. J }])):sum(0)
v4 = (v3 + tempo.arange({3}, { dtype = "f64" }))
v5 = P:call(function(a) return ANSWER(a) end, { v4 },
  { { domain = {i, j}, shape = {3}, dtype = "f64" } }, { over = {i} })
v7 = P:input("v7", { domain = {i}, shape = {2}, dtype = "i64" })
case = { outputs = { v7 = v7, v5 = v5, bounds = w:value() + I:value() + J:value() },
  options = { passes = { fold = false, dce = false } },
  inputs = { { "x1", { "I", "J" }, {}, "f64" }, { "v7", { "I" }, {2}, "i64" } },
  bounds = { { I = 3, J = 4, w = 0 }, { I = 1, J = 1, w = 1 }, { I = 2, J = 5, w = 2 },
    { I = 0, J = 3, w = 1 }, { I = 6, J = 6, w = 3 } },
}

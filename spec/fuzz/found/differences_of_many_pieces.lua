-- TEMPO_POISON=1 TEMPO_TILE=5
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, k}, shape = {3}, dtype = "f32" })
x3 = P:input("x3", { domain = {i}, shape = {}, dtype = "i64" })
v6 = x3[{ i = tempo.min(i + 3, I - 1) }]
x11 = P:input("x11", { domain = {}, shape = {3}, dtype = "f32" })
v14 = v6[tempo.min(i * 2, I - 1)]
z17 = P:tensor { domain = {i, j}, shape = {2, 3}, dtype = "f32", name = "z17" }
v20 = z17[{ i = tempo.min(i * 2, I - 1) }]
z17[{ [j] = j + 1 }] = (v20):tanh()
z17:otherwise((((v14):to "f32" + tempo.zeros({2, 3}, { dtype = "f32" }))):tanh())
v22 = tempo.cat({ z17:slice(0, 1, 2), z17:slice(0, 0, 1) }, 0)
v24 = v22[{ i = tempo.max(i - 1, 0), j = tempo.min(k, J - 1) }]
v25 = P:call(function(a) return ANSWER(a) end, { v24 },
  { { domain = {i, k}, shape = {2, 3}, dtype = "f32" } })
v28 = (j):value()
v31 = (v28:to "f32" * 0.1)
v33 = (v31 * v31):sum()
v34 = tempo.grad(v33, { x2 })[1]
v35 = tempo.grad(v33, { x11 })[1]
v36 = tempo.grad(v33, { v25 })[1]
case = { outputs = { v33 = v33, v34 = v34, v35 = v35, v36 = v36, v24 = v24, v35 = v35,
  bounds = w:value() + I:value() + J:value() + K:value() },
  options = { passes = { algebra = false } },
  inputs = { { "x2", { "I", "K" }, {3}, "f32" }, { "x3", { "I" }, {}, "i64" },
    { "x11", {  }, {3}, "f32" } },
  bounds = { { I = 4, J = 2, K = 4, w = 0 }, { I = 6, J = 6, K = 4, w = 3 } },
}
-- It took 10 s, nearly all of it for what is kept of one array.
local f = P:compile { outputs = case.outputs, tier = "interpreter" }
assert(not f:explain "schedule":find "to [2-9] of %d+ questions", "too hard for isl")

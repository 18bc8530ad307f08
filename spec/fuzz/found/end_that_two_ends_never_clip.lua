-- TEMPO_POISON=1 TEMPO_SPILL=1 TEMPO_BLOCK=1 TEMPO_AGAIN=1 TEMPO_TURN=1 TEMPO_FORWARD=0 LIMIT=1
-- #long
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {i, j}, shape = {}, dtype = "f64" })
v6 = P:call(function(a) return ANSWER(a) end, { x1 },
  { { domain = {i, j}, shape = {}, dtype = "f64" } })
v8 = v6[{ i = tempo.max(0, tempo.min(i + 1 - w, I - 1)), j = tempo.min(j + 3, J - 1) }]
v9 = tempo.arange({4}):index_select(0, (j + w - 1):value())
P:stop(i, v8:lt(-0.3))
P:stop(j, j:eq(1))
v12 = (v8:sin() + v8):sum()
v13 = tempo.grad(v12, { x1 })[1]
case = { outputs = { v13 = v13, v9 = v9, v12 = v12, v12 = v12,
  bounds = w:value() + I:value() + J:value() }, cycles = true,
  ends = { i = I:value(), j = J:value() },
  options = { precise = true },
  inputs = { { "x1", { "I", "J" }, {}, "f64" } },
  bounds = { { I = 2, J = 3, w = 3 } },
}

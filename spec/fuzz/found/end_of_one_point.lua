-- TEMPO_BLOCK=3
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i}, shape = {}, dtype = "f64" })
v4 = tempo.arange({4}):index_select(0, (i + w - 1):value())
z5 = P:tensor { domain = {i}, shape = {}, dtype = "f64", name = "z5" }
z5:when(i:lt(2), ((v4):to "f64"):tanh())
z5:when(tempo.mod(i, 2):eq(1), ((v4):to "f64"):tanh())
z5:otherwise((x2):tanh())
z13 = P:input("z13", { domain = {i, j}, shape = {}, dtype = "i64" })
v24 = (z5 + z13:to "f64" * 0.1):tanh()
P:stop(j, v24:lt(-0.3))
case = { outputs = { bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { j = J:value() },
  options = { passes = { fold = false, dce = false } },
  inputs = { { "x2", { "I" }, {}, "f64" }, { "z13", { "I", "J" }, {}, "i64" } },
  bounds = { { I = 4, J = 1, w = 2 } },
}

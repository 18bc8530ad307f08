--
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x1 = P:input("x1", { domain = {j}, shape = {2}, dtype = "f64" })
P:stop(j, x1:sum():lt(0))
z6 = P:input("z6", { domain = {i, j}, shape = {2, 3}, dtype = "f64" })
v7 = z6[{ i = tempo.max(i - 1, 0), j = 0 }]
P:stop(i, v7:sum():lt(-0.3))
case = { outputs = { bounds = w:value() + I:value() + J:value() },
  cycles = true,
  ends = { j = J:value(), i = I:value() },
  options = { precise = true },
  inputs = { { "x1", { "J" }, {2}, "f64" }, { "z6", { "I", "J" }, {2, 3}, "f64" } },
  bounds = { { I = 1, J = 0, w = 0 } },
}

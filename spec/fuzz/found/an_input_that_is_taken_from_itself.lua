-- TEMPO_POISON=1 TICKS=1 TEMPO_BLOCK=3 TEMPO_TILE=5
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "i64" })
v3 = (x2 - x2)
x9 = P:input("x9", { domain = {}, shape = {}, dtype = "f64" })
v10 = (x9 + v3:to "f64" * 0.1):tanh()
case = { outputs = { v10 = v10, bounds = w:value() + I:value() + J:value() },
  options = { passes = { fold = false, dce = false } },
  inputs = { { "x2", { "I", "J" }, {}, "i64" }, { "x9", {  }, {}, "f64" } },
  bounds = { { I = 1, J = 1, w = 1 } },
}

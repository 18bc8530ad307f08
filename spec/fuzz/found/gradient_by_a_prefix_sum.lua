-- THREADS=2 TEMPO_SHARE=0 TEMPO_AGAIN=1 TEMPO_TURN=1 TEMPO_FORWARD=0
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {j}, shape = {}, dtype = "f64" })
v4 = ((x2[0 .. j]) * (x2[0 .. j])):sin():sum(0)
v9 = v4:sum()
v12 = tempo.grad(v9, { v9 })[1]
case = { outputs = { v12 = v12, bounds = w:value() + I:value() + J:value() },
  options = { passes = { fold = false, dce = false } },
  inputs = { { "x2", { "J" }, {}, "f64" } },
  bounds = { { I = 0, J = 2, w = 0 } },
}

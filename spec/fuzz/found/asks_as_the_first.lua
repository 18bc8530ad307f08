-- THREADS=2 TEMPO_SHARE=0
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i, j}, shape = {}, dtype = "f64" })
v10 = ((x2[{ i = i .. I, j = tempo.mod(j, 3) }]) * (x2[{ i = i .. I, j = tempo.mod(j, 3) }])):sin(
  ):sum(0)
v13 = ((v10[{ 0 .. I, tempo.min(j + 3, J - 1) }]):softmax(0) * (
  v10[{ 0 .. I, tempo.min(j + 3, J - 1) }])):sum(0)
v14 = (v13:sin() + v13):sum()
v16 = tempo.grad(v14, { x2 })[1]
case = { outputs = { v16 = v16, bounds = w:value() + I:value() + J:value() },
  options = { passes = { cse = false, incremental = false } },
  inputs = { { "x2", { "I", "J" }, {}, "f64" } },
  bounds = { { I = 0, J = 0, w = 0 } },
  smooth = { loss = "v14", { "x2", "v16" } },
}

-- TEMPO_POISON=1 TICKS=1 TEMPO_AGAIN=1 TEMPO_TURN=1
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x3 = P:input("x3", { domain = {j}, shape = {}, dtype = "i64" })
v4 = ((x3[tempo.max(0, j - w) .. j + 1]):sum(0) % 1000)
v6 = ((x3[{ 0 .. tempo.min(i + 1, J) }]):sum(0) % 1000)
v7 = (v6 + tempo.arange({2}, { dtype = "i64" }))
case = { outputs = { v4 = v4, v7 = v7, bounds = w:value() + I:value() + J:value() },
  options = { passes = { tile = false } },
  inputs = { { "x3", { "J" }, {}, "i64" } },
  bounds = { { I = 3, J = 3, w = 1 }, { I = 1, J = 1, w = 2 }, { I = 5, J = 4, w = 1 },
    { I = 1, J = 0, w = 3 }, { I = 4, J = 5, w = 3 } },
}

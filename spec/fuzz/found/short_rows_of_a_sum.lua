-- NATIVE=1 TEMPO_CFLAGS=-O3
i, I = P:dim "i"
j, J = P:dim "j"
w = P:bound "w"
x2 = P:input("x2", { domain = {i}, shape = {5, 5, 2}, dtype = "f64" })
h1 = P:tensor { domain = {i, j}, shape = {5, 5, 2}, dtype = "f64" }
h1[{ j = 0 }] = x2
h1:otherwise(
  tempo.cat({ h1[{ j = j - 1 }]:slice(0, (1) + 1, 5), h1[{ j = j - 1 }]:slice(0, 4, 5):neg(),
  h1[{ j = j - 1 }]:slice(0, 0, 1) }, 0))
y3 = h1:sum()
case = { outputs = { y3 = y3, bounds = w:value() + I:value() + J:value() },
  options = { passes = { rows = false, hold = false, evolve = false, again = false,
    fuse = false } },
  inputs = { { "x2", { "I" }, {5, 5, 2}, "f64" } },
  bounds = { { I = 1, J = 2, w = 0 } },
}

-- TEMPO_POISON=1
tempo = require "tempo"
local check = require "spec.fuzz.check"
HEAR, ANSWER = check.hear, check.answer
P = tempo.program { seed = 1 }
i, I = P:dim "i"
j, J = P:dim "j"
k, K = P:dim "k"
w = P:bound "w"
z3 = P:input("z3", { domain = {i, k}, shape = {3}, dtype = "f64" })
z9 = P:tensor { domain = {i, j}, shape = {}, dtype = "f64", name = "z9" }
v11 = (z9[{ i + 2, tempo.max(0, j - w) .. j + 1 }]):logsumexp(0)
z9[{ i = I - 1 }] = ((z3[{ i = 0 .. I }]:sum(0)[{ k = 0 .. K }]:sum(0)):sum()):tanh()
x13 = P:input("x13", { domain = {j}, shape = {}, dtype = "f64" })
z9[{ i = I - 2 }] = (x13):tanh()
z9:otherwise((v11):tanh())
v14 = (z9[{ tempo.max(0, i - 1) .. i + 1, tempo.min(j + j, J - 1) }]):sum(0) * 0.5
v24 = (v14 * v14):sum()
v26 = tempo.grad(v24, { x13 })[1]
local case = { P = P, outputs = { v26 = v26, bounds = w:value() + I:value() + J:value() + K:value() },
  options = { passes = { tile = false } },
  inputs = { { "z3", { "I", "K" }, {3}, "f64" }, { "x13", { "J" }, {}, "f64" } },
  bounds = { { I = 3, J = 4, K = 2, w = 2 } },
  smooth = { loss = "v24", { "x13", "v26" } },
}
if ... == "case" then return case end
check.report(case)

-- A gradient through the update it makes.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local w = P:tensor { domain = { t }, name = "w" }
local loss = (w * x):square()
w[0] = 1
w[t] = w[t - 1] - 0.1 * tempo.grad(loss, { w })[1][t - 1] -- here
P:compile { outputs = { w = w } }

-- A tensor without a name has that of its variable.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local net = { hidden = (x * 2):tanh() }
local later = net.hidden[t + 1] -- here
P:compile { outputs = { y = later } }

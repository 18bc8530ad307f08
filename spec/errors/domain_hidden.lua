-- A read behind operators without names.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local y = ((x[t + 1] * 2):exp() + 1):log() -- here
P:compile { outputs = { y = y:tanh() } }

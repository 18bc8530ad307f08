-- An update that needs the next value.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local w = P:param("w", { along = { t }, init = 1 })
w[t + 1] = w[t + 1] * 0.5 -- here
P:compile { outputs = { w = w } }

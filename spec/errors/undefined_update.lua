-- A parameter updated twice.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local w = P:param("w", { along = { t }, init = 0 })
w[t + 1] = w + x
w[t + 1] = w - x -- here

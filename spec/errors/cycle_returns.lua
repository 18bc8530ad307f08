-- Learning from returns of its own future.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
local w = P:param("w", { along = { t }, init = 0 })
local y = w * x -- here
w[t + 1] = w + y[t .. T]:sum(0)
P:compile { outputs = { y = y } }

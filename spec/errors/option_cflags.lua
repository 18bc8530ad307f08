-- A flag that breaks what `reproducible` promises.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
P:compile { outputs = { y = x * 2 }, reproducible = true, cflags = "-O2 -ffast-math" }  -- here

-- A parameter larger than memory.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local w = P:param("w", { along = { t }, shape = { 2 ^ 45 }, init = 0 }) -- here
local y = w:slice(0, 0, 2):sum()
P:compile { outputs = { y = y }, tier = "interpreter" }({}, { T = 3 })

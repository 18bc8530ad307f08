-- All points at once, too many of them.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = tempo.full({ 2 ^ 20 }, 2, { domain = { t } }) * t
local y = x[0 .. T] -- here
P:compile { outputs = { y = y }, tier = "interpreter" }({}, { T = 2 ^ 25 })

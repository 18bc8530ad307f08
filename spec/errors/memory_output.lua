-- An output larger than memory.
local tempo = require "tempo"
local P = tempo.program()
local _, T = P:dim "t"
local y = tempo.zeros { T, 2 ^ 40 }
local f = P:compile { outputs = { y = y + 0 }, tier = "interpreter" } -- here
f({}, { T = 2 ^ 20 })

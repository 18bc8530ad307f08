-- A misspelled bound.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local s, S = P:dim("s", "steps")
local f = P:compile { outputs = { y = s:value() * S } }
f({}, { step = 2 }) -- here

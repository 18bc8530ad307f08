-- The error says what a call needs of its bounds, in the fewest words.
local tempo = require "tempo"
local P = tempo.program()
local i, t, T = P:dim "i", P:dim("t", "T")
local x = P:input("x", { domain = { i, t } })
local y = x[{ t = T - 1 }] + i:value() -- here
local f = P:compile { outputs = { y = y } }
f({ x = tempo.array({}, "f32", { 2, 0 }) }, { I = 2, T = 0 })

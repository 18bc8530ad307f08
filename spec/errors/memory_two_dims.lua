-- A table over two dims that are too long.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local i, I = P:dim "i"
local d = P:tensor { domain = { t, i } }
d[t] = (t:value() * i):to "f32" -- here
P:compile { outputs = { d = d }, tier = "interpreter" }({}, { T = 2 ^ 25, I = 2 ^ 25 })
print(I)

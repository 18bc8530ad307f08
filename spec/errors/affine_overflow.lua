-- A coefficient beyond 64 bits.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
print((t * 2 ^ 62) * 4) -- here

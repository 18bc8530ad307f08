-- The length of a dim.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
for k = 0, #t - 1 do print(k) end -- here

-- A ragged table.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local a = tempo.array { { 1, 2 }, { 3 } } -- here
print(a)

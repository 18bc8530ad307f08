-- A dim called as another.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local u = P:dim "t" -- here
print(u)

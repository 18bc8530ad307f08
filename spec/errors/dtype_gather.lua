-- A float as an index.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local x = P:input("x", { shape = { 3 } })
print(x:gather(0, tempo.zeros { 2 })) -- here

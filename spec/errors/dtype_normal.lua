-- Normal integers.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
print(tempo.normal({ 3 }, { dtype = "i32" })) -- here

-- A key of another integer type.
local tempo = require "tempo"
local P = tempo.program()
local k = P:input("k", { dtype = "i32" })
print(tempo.uniform({ 3 }, { key = k })) -- here

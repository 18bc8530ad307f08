-- Options for what takes none.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local k = P:constant(5, { dtype = "i64" }) -- here
print(k)

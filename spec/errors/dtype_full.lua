-- A number that the dtype does not hold.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local y = tempo.full({ 3 }, 300, { dtype = "u8" }) -- here
print(P:compile { outputs = { y = y } }().y)

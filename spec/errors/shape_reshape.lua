-- Elements that do not fit.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local x = P:input("x", { shape = { 4, 3 } })
print(x:reshape { 5, -1 }) -- here

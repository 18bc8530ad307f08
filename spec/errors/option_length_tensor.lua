-- The length of a tensor.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
for k = 0, #x - 1 do print(k) end -- here

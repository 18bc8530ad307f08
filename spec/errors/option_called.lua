-- Lua takes the second line as a call of what the first ends in. 5.4 only: LuaJIT cannot parse it.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 2 } })
local y = x:square() -- here
(x * x):backward()
print(y)

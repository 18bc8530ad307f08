-- A misspelled option of a method.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local x = P:input("x", { shape = { 3 } })
local y = x:sum(0, { keepdims = true }) -- here
print(y)

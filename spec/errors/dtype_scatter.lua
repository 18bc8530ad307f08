-- A fraction added to integers.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 3 }, dtype = "i64" })
local y = x:scatter_add(0, { 0, 2 }, 0.5) -- here
print(y)

-- A fraction put into integers.
local tempo = require "tempo"
local P = tempo.program()
P:input("x", { shape = { 3 }, dtype = "i32" }):put(0, 1, 0.5) -- here

-- A float says where something is put.
local tempo = require "tempo"
local P = tempo.program()
local x, k = P:input("x", { shape = { 3 } }), P:input "k"
x:put(0, k, 1) -- here

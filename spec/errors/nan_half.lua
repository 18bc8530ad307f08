-- 60000 + 60000 is more than f16 holds.
local tempo = require "tempo"
local P = tempo.program()
local x = P:input("x", { shape = { 2 }, dtype = "f16" })
local y = x + x -- here
P:compile { outputs = { y = y }, check = "nan" } { x = { 1, 60000 } }

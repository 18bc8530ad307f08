-- A right side with a dim of its own.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local i = P:dim "i"
local x = P:input("x", { domain = { t, i } })
local h = P:tensor { domain = { t }, name = "h" }
h[t] = x * 2 -- here

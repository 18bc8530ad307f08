-- A branch of another shape.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })
local h = P:tensor { domain = { t }, shape = { 4 }, name = "h" }
h[t] = x -- here

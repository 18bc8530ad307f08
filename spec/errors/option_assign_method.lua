-- A dim called like a method.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local h = P:tensor { domain = { t } }
h.sum = x -- here

-- A branch of another dtype.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local h = P:tensor { domain = { t }, dtype = "i64" }
h[t] = x -- here

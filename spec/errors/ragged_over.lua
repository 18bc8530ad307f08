-- Prefixes of unequal length have no place in one array for all t.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
P:sink({ x[0 .. t + 1] }, print, { over = { t } }) -- here

-- A dot for the colon in a condition.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t } }
h:when(t.eq(3), 0) -- here

-- A left side that is no dim.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t } }
h[t * 2] = 1 -- here

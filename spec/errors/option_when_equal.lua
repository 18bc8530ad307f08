-- The same in a branch.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t } }
h:when(t == 0, 1) -- here

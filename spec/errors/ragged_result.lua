-- Nor have results.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
P:source(print, { domain = { t }, shape = { t + 1 } }, { over = { t } }) -- here

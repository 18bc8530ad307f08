-- Outputs beside the options, not in a table of their own.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
P:compile { x = x } -- here

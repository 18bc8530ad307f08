-- A source that returns a string.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local y = P:source(function() return "1.5 m" end, { domain = { t } }) -- here
P:compile { outputs = { y = y } }({}, { T = 2 })

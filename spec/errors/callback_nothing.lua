-- A source that returns nothing.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local y = P:source(function() end, { domain = { t } }) -- here
P:compile { outputs = { y = y } }({}, { T = 2 })

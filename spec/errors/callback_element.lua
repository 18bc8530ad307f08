-- A callback that gives a table with a number out of range.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:source(function() return { 0, 256 } end, -- here
  { domain = { t }, shape = { 2 }, dtype = "u8" })
P:compile { outputs = { x = x } }({}, { T = 3 })

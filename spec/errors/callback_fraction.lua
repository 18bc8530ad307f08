-- A callback that gives a fraction for an integer.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:source(function(point) return point.t / 2 end, -- here
  { domain = { t }, dtype = "i64" })
P:compile { outputs = { x = x } }({}, { T = 3 })

-- A number where the spec has a shape.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local y = P:source(function(point) return point.t end, { domain = { t }, shape = { 2 } }) -- here
P:compile { outputs = { y = y } }({}, { T = 2 })

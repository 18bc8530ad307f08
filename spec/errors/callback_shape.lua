-- A result of another shape.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })

local y = P:call(function() return { 1, 2 } end, { x }, -- here
  { { domain = { t }, shape = { 3 } } })
P:compile { outputs = { y = y } }({ x = { { 1, 2, 3 } } }, { T = 1 })

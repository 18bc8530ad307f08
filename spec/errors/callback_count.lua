-- One result for two specs.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t }, shape = { 3 } })

local a, b = P:call(function(v) return v[1] end, { x }, -- here
  { { domain = { t }, shape = { 3 } }, { domain = { t } } })
local f = P:compile { outputs = { a = a, b = b } }
f({ x = { { 1, 2, 3 } } }, { T = 1 })

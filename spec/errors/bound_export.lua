-- Exported code is for given bounds.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { x = x * 2 } }
f:export "out/agent" -- here

-- The reference evaluator has no plan that could be written as C.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { x = x * 2 }, tier = "reference" }
f:export("out/agent", { T = 3 }) -- here

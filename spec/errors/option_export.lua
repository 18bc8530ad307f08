-- The files' name is that of a struct and of functions in C.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { x = x * 2 } }
f:export("out/my agent", { T = 3 }) -- here

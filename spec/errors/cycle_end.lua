-- The condition that ends a dim by data needs the end.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })
local n = T:value():to("f32"):name "n"
P:stop(t, x:ge(n)) -- here
P:compile { outputs = { x = x * 2 } }

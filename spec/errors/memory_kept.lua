-- States kept between two loops: 8 TiB of them.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local h = P:tensor { domain = { t }, shape = { 1024 } } -- here
h[0] = tempo.ones { 1024 }
h[t] = h[t - 1] * 0.5
local y = h[T - 1 - t]:sum()[0 .. T]:sum(0)
P:compile { outputs = { y = y }, tier = "interpreter" }({}, { T = 2 ^ 31 })

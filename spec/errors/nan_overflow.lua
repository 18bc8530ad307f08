-- A recurrence that grows beyond f32.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local h = P:tensor { domain = { t }, shape = { 2 }, name = "h" }
h[0] = tempo.ones { 2 }
h[t] = h[t - 1] * 1e10 -- here
P:compile { outputs = { h = h }, check = "nan" } ({}, { T = 10 })

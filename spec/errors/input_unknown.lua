-- A misspelled input.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
local x = P:input("observation", { domain = { t } })
local f = P:compile { outputs = { y = x * 2 } }
f({ obervation = { 1, 2 } }, { T = 2 }) -- here

--- Prefix sums: a program is recorded once and runs for any length.
local tempo = require "tempo"

local P = tempo.program()
local t, T = P:dim "t"                      -- an index t = 0 .. T-1, and its bound T
local x = P:input("x", { domain = { t } })  -- one number for each t

local sum = x[0 .. t + 1]:sum(0)            -- x[0] + ... + x[t], for each t
local all = x[0 .. T]:sum(0)                -- x[0] + ... + x[T-1], once

local f = P:compile { outputs = { sum = sum, all = all } }
local out = f({ x = { 3, 1, 4, 1, 5 } }, { T = 5 })
print(out.sum, out.all)
out = f({ x = { 2, 7 } }, { T = 2 })
print(out.sum, out.all)

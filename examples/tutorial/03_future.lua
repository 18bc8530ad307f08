--- Looking at the future: the discounted return of every step, written twice.
local tempo = require "tempo"

local P = tempo.program()
local t, T = P:dim "t"
local r = P:input("r", { domain = { t } })
local gamma = 0.5

-- As a recurrence that runs backwards: the last step first.
local G = P:tensor { domain = { t } }
G[T - 1] = r
G[t] = r[t] + gamma * G[t + 1]

-- As a sum over r[t .. T], each reward discounted by its distance.
local k = tempo.arange { T - t }            -- 0, 1, .. T-t-1: a shape that depends on t
local sum = (r[t .. T] * gamma ^ k):sum(0)

local f = P:compile { outputs = { G = G, sum = sum } }
local out = f({ r = { 0, 0, 0, 8 } }, { T = 4 })
print(out.G)
print(out.sum)

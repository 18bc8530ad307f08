--- Two dims: the program of one sequence is the program of a batch of them.
local tempo = require "tempo"

local P = tempo.program()
local b, B = P:dim "b"                      -- sequences
local t, T = P:dim "t"                      -- steps
local x = P:input("x", { domain = { b, t }, shape = { 2 } })
local weight = P:input("weight", { shape = { 2 } })

local h = P:tensor { domain = { b, t } }
h[{ t = 0 }] = x:dot(weight)                -- for every b
h[{ b, t }] = 0.5 * h[{ t = t - 1 }] + x:dot(weight)

local f = P:compile { outputs = { h = h, last = h[{ t = T - 1 }],
  mean = h[{ b = 0 .. B }]:mean(0) } }
local x1, x2 = { { 1, 0 }, { 0, 0 }, { 0, 0 } }, { { 0, 4 }, { 0, 4 }, { 0, 4 } }
local out = f({ x = { x1, x2 }, weight = { 1, 1 } }, { B = 2, T = 3 })
print(out.h)
print("last of each", out.last)
print("mean of both", out.mean)

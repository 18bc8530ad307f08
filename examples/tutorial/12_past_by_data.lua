--- Reading the past by data: pointers and replay. The range says what is kept, the data what is
--- read.
local tempo = require "tempo"

-- A tree, one node a step, each with a pointer to an earlier one: its depth is its parent's and one
-- more.
local P = tempo.program { seed = 1 }
local t = P:dim "t"
local parent = P:input("parent", { domain = { t }, dtype = "i64" })
local depth = P:tensor { domain = { t }, dtype = "i64", first = 0, name = "depth" }
depth[t] = depth[0 .. t]:select(0, parent) + 1
local f = P:compile { outputs = { depth = depth } }
print(f({ parent = { 0, 0, 0, 1, 3, 4 } }, { T = 6 }).depth)

-- A walk, and at each step the mean of four states drawn from those before it: all of them, or the
-- last 100.
local function replay(window)
  local Q = tempo.program { seed = 1 }
  local s, S = Q:dim "s"
  local at = Q:tensor { domain = { s }, first = tempo.zeros { 2 }, name = "at" }
  at[s] = 0.9 * at[s - 1] + tempo.normal({ 2 }, { domain = { s }, name = "step" })
  local from = window and tempo.max(0, s - window + 1) or 0
  local past = at[from .. s + 1]
  local k = tempo.randint({ 4 }, 0, past:shape()[1]:value(), { domain = { s }, name = "k" })
  local drawn = past:index_select(0, k)     -- four rows
  return Q:compile { outputs = { mean = drawn:mean(0)[0 .. S]:mean(0) } }
end

local all, last = replay(), replay(100)
for line in (all:explain "storage" .. last:explain "storage"):gmatch "temp [ar][^\n]+" do
  print(line) end
for _, n in ipairs { 1000, 100000 } do print(n, all:memory { S = n }, last:memory { S = n }) end

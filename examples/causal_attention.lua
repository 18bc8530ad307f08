-- Prints how far causal attention is from the same in plain Lua: 5e-8, equal. At t the query looks
-- at the keys up to t: a shape that depends on t, and no mask.
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { seed = 0, steps = 12, width = 4 })
local d = opt.width
local P = tempo.program { seed = opt.seed }
local t = P:dim("t", "T")
local q = P:input("q", { domain = { t }, shape = { d } })
local k = P:input("k", { domain = { t }, shape = { d } })
local v = P:input("v", { domain = { t }, shape = { d } })

local scores = k[0 .. t + 1]:matmul(q) / math.sqrt(d)       -- shape {t+1}
local out = scores:softmax(0):matmul(v[0 .. t + 1])         -- shape {d}

local f = P:compile { outputs = { out = out } }

math.randomseed(opt.seed)
local function rows()
  local r = {}
  for n = 1, opt.steps do
    r[n] = {}
    for j = 1, d do r[n][j] = math.random() * 2 - 1 end
  end
  return r
end
local Q, K, V = rows(), rows(), rows()
local got = f({ q = Q, k = K, v = V }, { T = opt.steps }).out:totable()

local worst = 0
for n = 1, opt.steps do
  local weights, total = {}, 0
  for m = 1, n do
    local s = 0
    for j = 1, d do s = s + Q[n][j] * K[m][j] end
    weights[m] = math.exp(s / math.sqrt(d))
    total = total + weights[m]
  end
  for j = 1, d do
    local want = 0
    for m = 1, n do want = want + weights[m] / total * V[m][j] end
    worst = math.max(worst, math.abs(want - got[n][j]))
  end
end
print(string.format("T = %d: largest difference from plain Lua %.1e: %s",
  opt.steps, worst, worst < 1e-5 and "equal" or "WRONG"))

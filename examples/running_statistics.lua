-- Prints statistics of all numbers so far, each written as a reduction over a prefix, and the work
-- of a step: 20 elements for any length, because a recurrence runs; 12015 for 3000 without that
-- pass.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })

local past = x[0 .. t + 1]
local outputs = {
  mean = past:mean(0),
  deviation = past:std(0, { correction = 0 }),
  highest = past:max(0),
  recent = x[tempo.max(0, t - 2) .. t + 1]:max(0),           -- of the last three
  soft = (past:softmax(0) * past):sum(0),                    -- weighed by exp(x)
  ahead = x[t .. T]:sum(0),
}

local f = P:compile { outputs = outputs, tier = "interpreter" }
local out = f({ x = { 3, 1, 4, 1, 5, 9, 2, 6 } }, { T = 8 })
for _, name in ipairs { "mean", "deviation", "highest", "recent", "soft", "ahead" } do
  local cells = {}
  for k, v in ipairs(out[name]:totable()) do cells[k] = ("%.4g"):format(v) end
  print(("%-10s"):format(name), table.concat(cells, " "))
end

local function work(g, n)
  local elements = g:explain("work", { T = n }):match "^%s*([%d,]+)"
  -- 0: the reference tier has no plan
  return elements and tonumber((elements:gsub(",", ""))) or 0
end
local without = P:compile { outputs = outputs, tier = "interpreter",
  passes = { incremental = false } }
print "elements a step, with the pass and without"
for _, n in ipairs { 100, 1000, 3000 } do
  print(("T = %5d  %3.0f %6.0f"):format(n, work(f, n) / n, work(without, n) / n))
end

-- Prints the sums of all numbers up to each, and from each on, as ranges and as recurrences: the
-- two agree, and one compilation serves any length.
local tempo = require "tempo"
local P = tempo.program()
local t, T = P:dim "t"
local x = P:input("x", { domain = { t } })

local prefix = x[0 .. t + 1]:sum(0)                         -- x[0] + .. + x[t]
-- x[t] + .. + x[T-1]: looks at the future
local suffix = x[t .. T]:sum(0)

local forward = P:tensor { domain = { t } }                 -- the same, step by step
forward[t] = tempo.prev(forward, t, 0) + x
local backward = P:tensor { domain = { t } }
backward[T - 1] = x
backward[t] = backward[t + 1] + x

local f = P:compile { outputs = { prefix = prefix, suffix = suffix, forward = forward,
  backward = backward } }

for _, row in ipairs { { 3, 1, 4, 1, 5 }, { 2, 7, 1, 8, 2, 8, 1, 8 } } do
  local out = f({ x = row }, { T = #row })
  print("x        ", table.concat(row, " "))
  for _, name in ipairs { "prefix", "forward", "suffix", "backward" } do
    local cells = {}
    for k, v in ipairs(out[name]:totable()) do cells[k] = string.format("%g", v) end
    print(string.format("%-9s", name), table.concat(cells, " "))
  end
end

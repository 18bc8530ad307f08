-- What the plan interpreter adds to the work: nanoseconds an operator in a tight recurrence, and what a batch written as a dim (a program
-- per instance) costs beside the same batch written by hand as an axis.
--   lua5.4 bench/interpreter.lua
-- Times are the processor's; the best of several, in turn.
local tempo = require "tempo"
local nn, optim, dist = tempo.nn, tempo.optim, tempo.dist

local function seconds(f, inputs, bounds)
  local t0 = os.clock()
  local out = f(inputs, bounds)
  return os.clock() - t0, out
end

-- ---- an operator ---------------------------------------------------------------------------------------------------
-- Twelve operators a step, none of which can be left out, on so few numbers that the work is nothing.
local OPS = 12
local function recurrence(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local h, v = P:tensor { domain = { t }, shape = { n } }, nil
  local x = P:input("x", { shape = { n } })
  h[0] = tempo.zeros { n }
  v = h[t - 1]
  for k = 1, OPS / 2 do v = (v * (0.9 - k / 100)):maximum(x * k) end
  h[t] = v
  return P:compile { outputs = { y = h[T - 1] } }
end

-- The same where each operator is a region of its own: a sum over the axis after every elementwise one.
local function regions(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local h = P:tensor { domain = { t }, shape = { n } }
  local x = P:input("x", { shape = { n } })
  h[0] = tempo.zeros { n }
  local v = h[t - 1]
  for k = 1, OPS / 2 do v = (v * (0.1 / k) + x:select(0, 0)):sum(0, { keepdim = true }) + x end
  h[t] = v
  return P:compile { outputs = { y = h[T - 1] } }
end

-- Operators are counted in the graph that is compiled, per step.
local function operators(f)
  local n = 0
  for _ in f:explain("graph"):gmatch "\n[^\n]-%(t:T%)[^\n]*" do n = n + 1 end
  return n
end

return operators, recurrence, regions, seconds, nn, optim, dist

-- Prints the formula that each of several loops becomes, and that 100000 steps then take about as
-- much work as 15. The first is from the paper on tensor evolution (arXiv 2502.03402): y = 0; 15
-- times { x = x + a; y = y + x[1, :] } leaves y + 15 x[1, :] + 15 (15 + 1) / 2 a[1, :].
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { steps = 15 })

local function state(P, t, name, first, step, dtype)
  local x = P:tensor { name = name, domain = { t }, first = first, dtype = dtype }
  x[t] = step(x[t - 1])
  return x
end

local loops = {}

loops[1] = { "the loop of the paper", function(P, t)
  local a = P:constant { { 1, 2, 3 }, { 4, 5, 6 } }
  local x = state(P, t, "x", tempo.zeros { 2, 3 }, function(x) return x + a end)
  return state(P, t, "y", tempo.zeros { 3 }, function(y) return y + x:select(0, 1) end)
end }

loops[2] = { "sums of sums, integers modulo 2^64", function(P, t)
  local x = state(P, t, "x", 7, function(x) return x + 3 end, "i64")
  local y = state(P, t, "y", 1, function(y) return y + x * t end, "i64")
  return state(P, t, "z", 0, function(z) return z - y end, "i64")
end }

loops[3] = { "interest and savings", function(P, t)
  return state(P, t, "account", 1000, function(x) return 1.0025 * x + 50 end)
end }

loops[4] = { "gradient descent with momentum on a constant slope", function(P, t)
  local g = P:constant { 1, -2, 0.5 }
  local v = state(P, t, "v", tempo.zeros { 3 }, function(v) return 0.9 * v + g end)
  return state(P, t, "w", tempo.ones { 3 }, function(w) return w - 0.01 * v end)
end }

loops[5] = { "Fibonacci numbers by a matrix", function(P, t)
  local step = P:constant({ { 1, 1 }, { 1, 0 } }):to "i64"
  return state(P, t, "f", P:constant({ 1, 0 }):to "i64", function(f) return step:matmul(f) end,
    "i64")
end }

local function work(f, steps) return f:explain("work", { T = steps + 1 }):match "^%s*([%d,]+)" end

for _, loop in ipairs(loops) do
  print(loop[1])
  local made = {}
  for _, on in ipairs { true, false } do
    local P = tempo.program()
    local t, T = P:dim "t"
    made[on] = P:compile { outputs = { y = loop[2](P, t)[T - 1] }, passes = { evolve = on } }
  end
  for line in made[true]:explain("evolution"):gmatch "[^\n]+" do
    print("  " .. line:gsub("^.-:%d+: ", ""))
  end
  local y = made[true]({}, { T = opt.steps + 1 }).y
  print(("  after %d steps: %s"):format(opt.steps, tostring(y)))
  for _, steps in ipairs { opt.steps, 100000 } do
    local few, many = work(made[true], steps), work(made[false], steps)
    print(("  elements made for %d steps: %s, one by one %s"):format(steps, few, many))
  end
end

-- Sums of one term at each point as values, and branches' values read where they are stored:
-- numbers stay, memory goes.
local tempo = require "tempo"
local helper = require "spec.helper"

local function rnn(read)
  return function(passes, tier)
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 4 }, dtype = "f64" })
    local w = P:input("w", { shape = { 4, 4 }, dtype = "f64" })
    local h = P:tensor { domain = { t }, shape = { 4 }, dtype = "f64" }
    h[{ t = 0 }] = x
    h[t + 1] = (h[t]:matmul(w) + x):tanh()
    local loss = read(h, t, T, x)
    local g = tempo.grad(loss, { w, x })
    return P:compile { outputs = { gw = g[1], gx = g[2], h = h[{ t = T - 1 }] }, passes = passes,
      tier = tier }
  end
end

local patterns = {
  ["its last point"] = function(h, _, T) return h[{ t = T - 1 }]:square():sum() end,
  ["every point"] = function(h) return h:square():sum() end,
  ["every point, twice"] = function(h, t) return (h * h[t] + h:sin()):sum() end,
  ["a point before"] = function(h, t) return (h[tempo.max(t - 1, 0)] * h):sum() end,
  ["from the end"] = function(h, t, T)
    return (h[T - 1 - t] * h * (t + 1):value():to "f64"):sum()
  end,
  ["two points"] = function(h, _, T) return (h[{ t = 0 }] * h[{ t = T - 1 }]):sum() end,
  ["every other"] = function(h, t) return (h[t:floordiv(2)] * h):sum() end,
  ["a prefix"] = function(h, t) return (h[0 .. t + 1]:sum(0) * h):sum() end,
  ["a window"] = function(h, t, T) return h[t .. tempo.min(t + 3, T)]:prod(0):sum() end,
}

local function numbers(f, T)
  local x, w = {}, {}
  for k = 1, T do x[k] = { 0.1 * k, -0.2, 0.3 / k, 0.4 } end
  for k = 1, 4 do w[k] = { 0.3, 0.1 * k, -0.2, 0.5 / k } end
  local out = f({ x = x, w = w }, { T = T })
  return { out.gw:totable(), out.gx:totable(), out.h:totable() }
end

describe("the pass algebra", function()
  for name, read in pairs(patterns) do
    it("leaves gradients what they are: " .. name, function()
      local make = rnn(read)
      local with, without, reference = make(), make { algebra = false }, make(nil, "reference")
      for T = 1, 7 do
        local want = numbers(reference, T)
        helper.same(want, numbers(with, T), 1e-12)
        helper.same(want, numbers(without, T), 1e-12)
      end
    end)
  end

  it("keeps of a recurrence what its gradient needs, and once", function()
    local f = rnn(patterns["its last point"])()
    local T1, T2 = 1000, 3000
    assert.equal(4 * 8 * (T2 - T1), f:memory { T = T2 } - f:memory { T = T1 })
    assert.is_nil(f:explain("schedule"):find("grad of tensor%S* = 0"))
  end)

  it("makes no statement that clears what is written once", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local y = x:exp()
    local loss = y[T - 1 - t] * x
    local f = P:compile { outputs = { g = tempo.grad(loss, { x })[1] } }
    assert.is_nil(f:explain("schedule"):find("+=", 1, true))
    local out = f({ x = { 0, 1, 2 } }, { T = 3 }).g:totable()
    for k = 0, 2 do assert.near(math.exp(2 - k) + (2 - k) * math.exp(k), out[k + 1], 1e-5) end
  end)

  it("goes on in two dims, with branches over both", function()
    local function make(passes, tier)
      local P = tempo.program()
      local i = P:dim "i"
      local t = P:dim "t"
      local x = P:input("x", { domain = { i, t }, dtype = "f64" })
      local h = P:tensor { domain = { i, t }, dtype = "f64" }
      h[{ i = 0, t = 0 }] = x
      h[{ t = 0 }] = h[i - 1] * 0.5 + x
      h[t + 1] = (h[t] * x):sin()
      local loss = h * h[{ i = tempo.max(i - 2, 0) }]
      return P:compile { outputs = { g = tempo.grad(loss, { x })[1] }, passes = passes,
        tier = tier }
    end
    local with, without, reference = make(), make "none", make(nil, "reference")
    for I = 1, 4 do
      for T = 1, 4 do
        local x = {}
        for a = 1, I do
          x[a] = {}
          for b = 1, T do x[a][b] = math.cos(a * 3 + b) end
        end
        local want = reference({ x = x }, { I = I, T = T }).g:totable()
        helper.same(want, with({ x = x }, { I = I, T = T }).g:totable(), 1e-12)
        helper.same(want, without({ x = x }, { I = I, T = T }).g:totable(), 1e-12)
      end
    end
  end)
end)

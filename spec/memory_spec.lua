-- Memory: what is predicted is what is used.
local tempo = require "tempo"
local helper = require "spec.helper"
local support = require "spec.support"

local KiB, MiB = 1024, 1024 * 1024

-- Runs `body` in a process of its own with TEMPO_POISON, where f:peak() is the end of the highest bytes that regions came to use.
local function poisoned(body) return helper.script(body, nil, "export TEMPO_POISON=1; ") end

local header = [[
local tempo = require "tempo"
local P = tempo.program { seed = 1 }
local t, T = P:dim "t"
local b, B = P:dim "b"
local x = P:input("x", { domain = {t}, shape = {5} })
local function show(outputs, bounds)
  local f = P:compile { outputs = outputs }
  for _, n in ipairs { 1, 2, 7, 150 } do
    bounds.T = n
    local rows = {}
    for k = 1, n do rows[k] = { 1, k % 3, k % 5, 0.5, -1 } end
    f({ x = tempo.array(rows, "f32") }, bounds)
    print(f:memory(bounds) == f:peak() and "same" or ("%d: %d predicted, %d used"):format(n, f:memory(bounds), f:peak()))
  end
end
]]

local programs = {
  { "a recurrence read in both directions", "local h = P:tensor { domain = {t}, shape = {5} }\nh[0] = x\nh[t] = h[t-1] * 0.9 + x\n" ..
    "show({ y = h[t .. T]:sum(0) + h[0 .. t+1]:max(0) }, {})" },
  { "sort over a growing range", "show({ y = x[0 .. t+1]:sort(0):sum(0) }, {})" },
  { "scatters, gathers, reshapes of what is not dense, numbers of dims",
    "local k = (x[{ t = T-1-t }]:abs() * 2):floor():to 'i64':clamp(0, 4)\nlocal s = tempo.zeros({5}, { domain = {t} }):scatter_add(0, k, x)\n" ..
    "local m = tempo.outer(s, x[T-1-t]):mT():reshape({25})\nshow({ m = m + t:value(), v = tempo.uniform({7}, { domain = {t, b}, name = 'u' }) * b:value() }, { B = 3 })" },
  { "halves", "local h = x:to 'f16'\nlocal w = tempo.ones({5, 5}, { dtype = 'f16' })\nlocal g = P:tensor { domain = {t}, shape = {5}, dtype = 'f16' }\n" ..
    "g[0] = h\ng[t] = (g[t-1]:matmul(w) * 0.1 + h):cumsum(0)\nshow({ g = g[T-1-t] }, {})" },
  { "convolution", "local w = tempo.ones({2, 1, 3})\nlocal y = x:reshape({1, 1, 5}):conv1d(w)\nlocal z = y[T-1-t]:tanh()\n" ..
    "show({ g = tempo.grad((z * z):sum(), { x })[1] }, {})" },
  { "backpropagation through time", "local w = P:param('w', { shape = {5, 5}, init = tempo.ones({5, 5}) })\nlocal h = P:tensor { domain = {t}, shape = {5} }\n" ..
    "h[0] = x\nh[t] = (h[t-1]:matmul(w) * 0.1 + x):tanh()\nshow({ g = tempo.grad(h:square():sum(), { w })[1] }, {})" },
}

describe("memory that is predicted", function()
  for _, p in ipairs(programs) do
    it("is used to the byte: " .. p[1], function()
      assert.equal("same\nsame\nsame\nsame\n", poisoned(header .. p[2]))
    end)
  end

  it("is what a run allocates", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 4 } })
    local f = P:compile { outputs = { y = (x * 2)[T - 1 - t] } }
    for _, n in ipairs { 0, 1, 10, 100 } do
      f({ x = support.array(support.fill({ n, 4 }, function() return 1 end), "f32", { n, 4 }) }, { T = n })
      assert.equal(f:memory { T = n }, f:peak())
      assert.equal((n * 16 + 63) - (n * 16 + 63) % 64, f:peak())
    end
  end)

  it("is what the process grows by, pages that nothing wrote left out", function()
    local function resident()
      local file = io.open "/proc/self/statm"
      if not file then return end
      local pages = file:read "*a":match "%d+ (%d+)"
      file:close()
      return pages * 4 * KiB
    end
    if not resident() then return end
    local P = tempo.program()
    local t, T = P:dim "t"
    local i, _ = P:dim "i"
    local n = P:bound "n"
    local h = (t:value() * tempo.ones({ 1024 }, { domain = { t, i } })):tanh()
    local y = tempo.where(i:lt(n), h[{ t = T - 1 - t }], 1):sum()[{ t = 0 .. T }]:sum(0)
    local f = P:compile { outputs = { y = y } }
    local before = resident()
    f({}, { T = 16 * KiB, I = 1, n = 1 })
    local grown, predicted = resident() - before, f:memory { T = 16 * KiB, I = 1, n = 1 }
    assert.is_true(predicted >= 64 * MiB)
    assert.is_true(math.abs(grown - predicted) <= predicted / 20 + 2 * MiB, ("grew by %d of %d"):format(grown, predicted))
  end)
end)

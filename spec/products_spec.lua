-- Products of several matrices (src/opt/products.c): the order is what takes fewest multiplications for the bounds that the call gives.
-- Work is counted and compared with a search through all orders in plain Lua, values with the reference evaluator.
local tempo = require "tempo"
local helper = require "spec.helper"

-- Elements and multiplications of a run.
local function work(f, bounds) return tonumber((f:explain("work", bounds):match("^%s*([%d,]+)"):gsub(",", ""))) end

-- Q K' V, each of T rows of 8.
local function attention(options)
  local P = tempo.program()
  local t, T = P:dim "t"
  local rows = {}
  for k, name in ipairs { "q", "k", "v" } do rows[k] = P:input(name, { domain = {t}, shape = {8} })[tempo.range(0, T)] end
  options.outputs = { y = rows[1]:matmul(rows[2]:mT()):matmul(rows[3]) }
  return P:compile(options)
end

-- Numbers without a rule.
local function values(n, seed)
  local v = {}
  for k = 1, n do v[k] = (k * 7919 + seed * 104729) % 7 - 3 end
  return v
end

local function size_of(e, bounds)
  if type(e) == "number" then return e end
  return bounds[tostring(e)]
end

-- Fewest multiplications of a product whose i-th factor has d[i - 1] rows and d[i] columns, at over[i] points.
local function fewest(d, over)
  local n, least, points = #d, {}, {}
  for i = 1, n do
    least[i], points[i] = { [i] = 0 }, {}
    local most = 1
    for j = i, n do
      most = math.max(most, over[j])
      points[i][j] = most
    end
  end
  for width = 1, n - 1 do
    for i = 1, n - width do
      local j = i + width
      least[i][j] = math.huge
      for k = i, j - 1 do least[i][j] = math.min(least[i][j], least[i][k] + least[k + 1][j] + points[i][j] * d[i - 1] * d[k] * d[j]) end
    end
  end
  return least[1][n]
end

-- A random product: its tensor, and for bounds its inputs, the fewest multiplications, how many elements it has, and
-- how many multiplications are too few to matter.
local function random_product(seed)
  local state = seed * 7919 + 13
  local function pick(n)
    state = (state * 1103515245 + 12345) % 2147483648
    return math.floor(state / 65536) % n + 1
  end
  local P = tempo.program()
  local t, T = P:dim "t"
  local pool = { 1, 2, 5, 48, P:bound "A", P:bound "B", P:bound "C", T }
  local n = 2 + pick(4)
  local case = { P = P, extents = {}, over = {}, inputs = {}, n = n, bounds = {} }
  for i = 0, n do case.extents[i] = pool[pick(#pool)] end
  local x = {}
  for i = 1, n do
    case.over[i] = pick(3) == 1
    x[i] = P:input("x" .. i, { domain = case.over[i] and {t} or {}, shape = { case.extents[i - 1], case.extents[i] }, dtype = "i64" })
  end
  local function tree(i, j)
    if i == j then return x[i] end
    local k = i - 1 + pick(j - i)
    return tree(i, k):matmul(tree(k + 1, j))
  end
  case.y = tree(1, n)
  case.all = pool[5]:value() + pool[6]:value() + pool[7]:value() + T:value()
  function case.with(bounds)
    local made, d, over = {}, {}, {}
    for i = 0, n do d[i] = size_of(case.extents[i], bounds) end
    for i = 1, n do
      over[i] = case.over[i] and bounds.T or 1
      local shape = case.over[i] and { bounds.T, d[i - 1], d[i] } or { d[i - 1], d[i] }
      made["x" .. i] = tempo.array(values(over[i] * d[i - 1] * d[i], i), "i64", shape)
    end
    local points = 1
    for i = 1, n do points = math.max(points, over[i]) end
    return made, fewest(d, over), d[0] * d[n] * points, 4096 * points
  end
  return case
end

local function compiled(case, options)
  options.outputs = { y = case.y, all = case.all }
  return case.P:compile(options)
end

describe("products of several matrices", function()
  it("go by the bounds: Q (K' V) from 8 rows on", function()
    local f, g = attention {}, attention { passes = { products = false } }
    for _, T in ipairs { 1, 3, 7, 8, 9, 100, 1000 } do
      local left, right, copy = 2 * T * T * 8, 2 * T * 64, T * 8
      assert.equal(left, work(g, { T = T }))
      assert.equal(left <= right and left + copy or right, work(f, { T = T }))
    end
    assert.is_true(f:memory { T = 10000 } < 1000)
    assert.is_true(f:explain "rules" ~= g:explain "rules")
    assert.truthy(f:explain "rules":find("products: y: a product of 3 matrices", 1, true))
  end)

  it("have the reference's values, on each side of the choice", function()
    helper.each(function(tier)
      local f, g = attention { tier = tier }, attention { tier = "reference" }
      for _, T in ipairs { 0, 1, 5, 8, 40 } do
        local x = {}
        for k, name in ipairs { "q", "k", "v" } do x[name] = tempo.array(values(T * 8, k), "f32", { T, 8 }) end
        assert.same(g(x, { T = T }).y:totable(), f(x, { T = T }).y:totable())          -- sums of small integers
      end
    end)
  end)

  it("are made before a loop that has enough points for it", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x, h = P:input("x", { domain = {t}, shape = { 1, 64 } }), P:tensor { domain = {t}, shape = { 1, 64 } }
    local a, b = P:input("a", { shape = { 64, 64 } }), P:input("b", { shape = { 64, 64 } })
    h[0] = x
    h[t] = h[t - 1]:matmul(a):matmul(b) + x
    local f, g = P:compile { outputs = { h = h } }, P:compile { outputs = { h = h }, passes = { products = false } }
    assert.is_true(work(f, { T = 1000 }) < 0.6 * work(g, { T = 1000 }))
    assert.is_true(work(f, { T = 20 }) < 1.02 * work(g, { T = 20 }))
  end)

  it("stay as they are written where floats may not be rounded otherwise", function()
    assert.equal(2 * 100 * 100 * 8, work(attention { precise = true }, { T = 100 }))
  end)

  it("are 0 along nothing, whatever NaN there is elsewhere", function()
    local P = tempo.program()
    local n, m = P:bound "n", P:bound "m"
    local x, y, z = P:input("x", { shape = { m, 4 } }), P:input("y", { shape = { 4, n } }), P:input("z", { shape = { n, 4 } })
    local f = P:compile { outputs = { a = x:matmul(y):matmul(z) } }
    local nan = tempo.array({ { 0 / 0, 0 / 0, 0 / 0, 0 / 0 } })
    local out = f({ x = nan, y = tempo.array({}, "f32", { 4, 0 }), z = tempo.array({}, "f32", { 0, 4 }) }, { n = 0, m = 1 })
    assert.same({ { 0, 0, 0, 0 } }, out.a:totable())
  end)

  it("in any number, with dims and without: the reference's values, little more than the least work", function()
    for seed = 1, 60 do
      local case = random_product(seed)
      local f, g, h = compiled(case, {}), compiled(case, { passes = { products = false } }), compiled(case, { tier = "reference" })
      for k = 1, 3 do
        local bounds = ({ { A = 3, B = 17, C = 0, T = 4 }, { A = 11, B = 2, C = 5, T = 1 }, { A = 1, B = 7, C = 30, T = 9 } })[k]
        local x, least, elements, little = case.with(bounds)
        if k < 3 then assert.same(h(x, bounds).y:totable(), f(x, bounds).y:totable(), "seed " .. seed) end
        local mine, written = work(f, bounds), work(g, bounds)
        assert.is_true(mine <= written + elements, "seed " .. seed)
        if least > 0 then assert.is_true(mine <= 1.5 * least + 2 * elements + little, "seed " .. seed) end
      end
    end
  end)
end)

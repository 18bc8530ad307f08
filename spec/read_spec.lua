-- docs/language.md, section 2: reading a recurrent tensor elsewhere in time, against plain Lua
-- loops.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same, fill = helper.fails, helper.same, helper.fill

local N = 6

local function sum(x, lo, hi)
  local s = 0
  for k = lo, hi - 1 do s = s + x[k + 1] end
  return s
end

local function rows(f)
  return fill({ N }, f)
end

local function names(dims)
  local t = {}
  for k, d in ipairs(dims) do t[k] = tostring(d) end
  return table.concat(t, ",")
end

local function shape(x)
  local t = {}
  for k, e in ipairs(x:shape()) do t[k] = tostring(e) end
  return table.concat(t, ",")
end

describe("reading one dim", function()
  local P, t, T, x, inputs, bounds, data

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
    x = P:input("x", { domain = { t } })
    data = { 3, 1, 4, 1, 5, 9 }
    inputs, bounds = { x = data }, { T = N }
  end)

  local function value(y) return helper.value(P, y, inputs, bounds) end

  it("at its basis", function()
    same(data, value(x))
    same(data, value(x[t]))
    same(data, value(x[{}]))
  end)

  it("at a point", function()
    same(rows(function(k)
      return data[math.min(k + 2, N - 1) + 1]
    end), value(x[tempo.min(t + 2, T - 1)]))
    same(rows(function(k) return data[math.max(k - 1, 0) + 1] end), value(x[tempo.max(t - 1, 0)]))
    same(rows(function(k) return data[math.floor(k / 2) + 1] end), value(x[tempo.floordiv(t, 2)]))
    same(rows(function(k) return data[k % 2 + 1] end), value(x[tempo.mod(t, 2)]))
    same(rows(function(k) return data[N - k] end), value(x[T - 1 - t]))
    assert.equal("t", names(x[tempo.floordiv(t, 2)]:domain()))
  end)

  it("at a constant point", function()
    assert.equal(3, value(x[0]))
    assert.equal(9, value(x[T - 1]))
    assert.equal(3, value(x[{ t = 0 }]))
    assert.equal(9, value(x[{ t = T - 1 }]))
    assert.equal(9, value(x[{ [t] = T - 1 }]))
    assert.equal(3, value(x[{ 0 }]))
    assert.equal(3, value(x:at { t = 0 }))
    assert.equal("", names(x[0]:domain()))
    assert.equal("", names(x[T - 1]:domain()))
  end)

  it("over a range that moves", function()
    same(rows(function(k) return sum(data, 0, k + 1) end), value(x[0 .. t + 1]:sum(0)))
    same(rows(function(k) return sum(data, k, N) end), value(x[t .. T]:sum(0)))
    same(rows(function(k) return sum(data, math.max(0, k - 2), k + 1) / math.min(k + 1, 3) end),
      value(x[tempo.max(0, t - 2) .. t + 1]:mean(0)))
    assert.equal("t + 1", shape(x[0 .. t + 1]))
    assert.equal("t", names(x[0 .. t + 1]:domain()))
  end)

  it("over a window with a bound of its own", function()
    local w = P:bound "w"
    bounds.w = 3
    local y = x[tempo.max(0, t - w + 1) .. t + 1]:sum(0)
    same(rows(function(k) return sum(data, math.max(0, k - 2), k + 1) end), value(y))
  end)

  it("over a constant range", function()
    same(data, value(x[0 .. T]))
    same({ 3, 1, 4 }, value(x[tempo.range(0, 3)]))
    same({ 3, 1, 4 }, value(x[{ t = tempo.range(0, 3) }]))
    assert.equal("T", shape(x[0 .. T]))
    assert.equal("3", shape(x[tempo.range(0, 3)]))
    assert.equal("", names(x[0 .. T]:domain()))
  end)

  it("over an empty range reads nothing", function()
    same(rows(function(k) return sum(data, 0, k) end), value(x[0 .. t]:sum(0)))
    local empty = x[tempo.range(3, 3)]
    assert.equal(0, value(empty:sum(0)))
    assert.equal(1, value(empty:prod(0)))
    assert.equal(-math.huge, value(empty:max(0)))
    assert.equal(math.huge, value(empty:min(0)))
    local mean = value(empty:mean(0))
    assert.truthy(mean ~= mean)
    assert.equal(0, value(x[tempo.range(4, 2)]:sum(0)))
  end)

  it("again: reads compose", function()
    local y = x[tempo.max(t - 1, 0)]
    same(rows(function(k) return data[math.max(k - 2, 0) + 1] end), value(y[tempo.max(t - 1, 0)]))
    assert.equal(1, value(y[2]))
    local prefix = x[0 .. t + 1]
    assert.equal("max(1, t)", shape(prefix[tempo.max(t, 1) - 1]))
    assert.equal(8, value(prefix[2]:sum(0)))
  end)

  it("keeps the spatial shape behind the range", function()
    local v = P:input("v", { domain = { t }, shape = { 2 } })
    inputs.v = fill({ N, 2 }, function(k, j) return 10 * k + j end)
    same({ { 0, 1 }, { 10, 11 } }, value(v[tempo.range(0, 2)]))
    assert.equal("t + 1,2", shape(v[0 .. t + 1]))
  end)
end)

describe("reading several dims", function()
  local P, i, I, t, T, x, inputs, bounds
  local function cell(a, b) return 10 * a + b end

  before_each(function()
    P = tempo.program()
    i, I = P:dim "i"
    t, T = P:dim "t"
    x = P:input("x", { domain = { i, t } })
    inputs, bounds = { x = fill({ 3, 4 }, cell) }, { I = 3, T = 4 }
  end)

  local function value(y) return helper.value(P, y, inputs, bounds) end

  it("a single index belongs to the dim that occurs in it", function()
    same(fill({ 3, 4 }, function(a, b)
      return cell(a, math.max(b - 1, 0))
    end), value(x[tempo.max(t - 1, 0)]))
    same(fill({ 3 }, function(a) return cell(a, 3) end), value(x[T - 1]))
    same(fill({ 4 }, function(b) return cell(2, b) end), value(x[I - 1]))
    same(fill({ 3, 4 }, function(a, b) return cell(a, b) end), value(x[0 .. T]))
    fails(function() return x[0] end, "domain", "i, t")
    fails(function() return x[tempo.min(i, t)] end, "domain", "i, t")
    fails(function() return x[tempo.range(0, 2)] end, "domain", "i, t")
  end)

  it("by name", function()
    same(fill({ 3 }, function(a) return cell(a, 0) end), value(x[{ t = 0 }]))
    same(fill({ 4 }, function(b) return cell(1, b) end), value(x[{ i = 1 }]))
    same(fill({ 4 }, function(b) return cell(1, b) end), value(x[{ [i] = 1 }]))
    same(fill({ 4 }, function(b) return cell(1, b) end), value(x:at { i = 1 }))
    assert.equal(12, value(x[{ t = 2, i = 1 }]))
  end)

  it("by position", function()
    assert.equal(12, value(x[{ 1, 2 }]))
    same(fill({ 4 }, function(b) return cell(1, b) end), value(x[{ 1, t }]))
    fails(function() return x[{ 1 }] end, "domain", "i, t")
    fails(function() return x[{ 1, 2, 3 }] end, "domain", "i, t")
    fails(function() return x[{ 1, t = 2 }] end, "option", "mixes")
    fails(function() return x[{ [2] = 1 }] end, "option", "holes")
    fails(function() return x[{ s = 1 }] end, "domain", "no dim 's'", "i, t")
    fails(function() return x[{ T = 1 }] end, "option", "'T' is a bound", "'t'")
  end)

  it("one dim by another has the domain of what occurs", function()
    same({ 0, 11, 22 }, value(x[{ t = i }]))
    assert.equal("i", names(x[{ t = i }]:domain()))
    assert.equal("i,t",
      names(x[{ t = t, i = tempo.min(t, I - 1) }][{ t = tempo.min(t, i) }]:domain()))
  end)

  it("ranges prepend in domain order", function()
    assert.equal("I,T", shape(x[{ t = 0 .. T, i = 0 .. I }]))
    same(fill({ 3, 4 }, cell), value(x[{ t = 0 .. T, i = 0 .. I }]))
    same(fill({ 4, 3 }, function(b, a) return cell(a, b) end), value(x[{ i = 0 .. I }]))
    assert.equal("T,I", shape(x[{ i = 0 .. I }][0 .. T]))
    same(fill({ 4, 3 }, function(b, a) return cell(a, math.max(b - 1, 0)) end),
      value(x[{ i = 0 .. I, t = tempo.max(t - 1, 0) }]))
  end)

  it("index_select chooses a time by data", function()
    local k = P:input("k", { dtype = "i64" })
    inputs.k = 2
    same({ 2, 12, 22 }, value(x[0 .. T]:index_select(0, k)))
  end)

  it("a range over a dim of the shape is ragged", function()
    fails(function()
      return x[{ i = 0 .. i + 1 }][{ i = 0 .. I }]
    end, "ragged", "reduce or pad first")
  end)
end)

describe("domains", function()
  it("are sets in the order of P:dim", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t = P:dim "t"
    local x, y = P:input("x", { domain = { i } }), P:input("y", { domain = { t } })
    assert.equal("i,t", names((y + x):domain()))
    assert.equal("i,t", names(P:tensor({ domain = { t, i } }):domain()))
    assert.equal("i,t", names(P:tensor({ domain = { y, x } }):domain()))
    assert.equal("i,t", names(P:tensor({ domain = (x + y):domain() }):domain()))
    fails(function() return (P:input("z", { domain = { t, i } })) end, "option", "order of P:dim")
    assert.equal(P, x:program())
    assert.equal(P, t:program())
    same({ { 11, 21 }, { 12, 22 } },
      helper.value(P, x + y, { x = { 1, 2 }, y = { 10, 20 } }, { I = 2, T = 2 }))
  end)
end)

describe("peek", function()
  it("evaluates one point without compiling", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local h = P:tensor { domain = { t } }
    h[0] = 0
    h[t] = h[t - 1] + x[t]
    assert.equal(7,
      h:peek({ inputs = { x = { 1, 2, 5 } }, bounds = { T = 3 }, at = { t = 2 } }):item())
    assert.equal(8,
      x[0 .. T]:sum(0):peek({ inputs = { x = { 1, 2, 5 } }, bounds = { T = 3 } }):item())
    fails(function()
      return (h:peek { inputs = { x = { 1 } }, bounds = { T = 1 } })
    end, "option", "'t'")
    fails(function() return (h:peek { inputs = { x = { 1 } }, at = { t = 0 } }) end, "bound", "'T'")
    fails(function() return (h:peek { bounds = { T = 1 }, at = { t = 0 } }) end, "input", "'x'")
  end)
end)

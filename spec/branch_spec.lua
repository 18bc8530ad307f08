-- docs/language.md, section 3: branches, shifts, conditions, and where a value exists.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same, fill = helper.fails, helper.same, helper.fill

describe("branches", function()
  local P, t, T, x, h, inputs, bounds
  local data = { 1, 2, 3, 4, 5 }

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
    x = P:input("x", { domain = { t } })
    h = P:tensor { domain = { t } }
    inputs, bounds = { x = data }, { T = 5 }
  end)

  local function value(y) return helper.value(P, y or h, inputs, bounds) end

  it("at a point and the rest", function()
    h[0] = 10
    h[t] = h[t - 1] + x[t]
    same({ 10, 12, 15, 19, 24 }, value())
  end)

  it("backwards from the end", function()
    h[T - 1] = x[T - 1]
    h[t] = h[t + 1] * 2 + x[t]
    local want = { 0, 0, 0, 0, 5 }
    for k = 4, 1, -1 do want[k] = want[k + 1] * 2 + data[k] end
    same(want, value())
  end)

  it("with otherwise", function()
    h[0] = 1
    assert.equal(h, h:otherwise(h[t - 1] * 2))
    same({ 1, 2, 4, 8, 16 }, value())
  end)

  it("with two lags", function()
    h[0] = 1
    h[1] = 1
    h[t] = h[t - 1] + h[t - 2]
    same({ 1, 1, 2, 3, 5 }, value())
  end)

  it("as a shift forwards", function()
    h[0] = 0
    h[t + 1] = h[t] + x[t]                      -- h at t is h + x at t - 1
    same({ 0, 1, 3, 6, 10 }, value())
  end)

  it("as a shift by two and backwards", function()
    h[t + 2] = x * 10
    h[t] = -1
    same({ -1, -1, 10, 20, 30 }, value())
    local b = P:tensor { domain = { t } }
    -- b at t is x at t + 1, for the t with t + 1 in the domain
    b[t - 1] = x[t]
    b:otherwise(0)
    same({ 2, 3, 4, 5, 0 }, value(b))
  end)

  it("with a condition", function()
    h:when(t:lt(2), x * 100)
    h:when(t:mod(2):eq(0):land(t:gt(2)), 0)
    h[t] = x
    same({ 100, 200, 3, 4, 0 }, value())
  end)

  it("at a constant point replace the dim", function()
    h[2] = x[t] * 10 + t                        -- x at 2, and t is 2
    h[t] = 0
    same({ 0, 0, 32, 0, 0 }, value())
  end)

  it("beyond the bound match nowhere", function()
    h[9] = -1
    h[t] = x
    same(data, value())
  end)

  it("take numbers, arrays, tables, index expressions and literals", function()
    local v = P:tensor { domain = { t }, shape = { 2 } }
    v[0] = 7
    v[1] = tempo.array { 1, 2 }
    v[2] = { 3, 4 }
    v[3] = tempo.ones { 2 }
    v[t] = t
    same({ { 7, 7 }, { 1, 2 }, { 3, 4 }, { 1, 1 }, { 4, 4 } }, value(v))
  end)

  it("fill a tensor of bool with a boolean, as numbers fill others", function()
    local done = P:tensor { domain = { t }, shape = { 2 }, dtype = "bool" }
    done[0] = true
    done[t] = done[t - 1]:lnot()
    local first = P:tensor { domain = { t }, shape = { 2 }, first = true, dtype = "bool" }
    first[t] = tempo.prev(first, t, false)
    same({ { true, true }, { false, false } }, helper.value(P, done, inputs, { T = 2 }))
    same({ { true, true }, { true, true }, { false, false } },
      helper.value(P, tempo.prev(done, t, true), inputs, { T = 3 }))
    same({ { true, true }, { true, true } }, helper.value(P, first, inputs, { T = 2 }))
    fails(function() h[0] = true end, "dtype", ':to("f32")')
  end)

  it("convert nothing but numbers", function()
    fails(function() h[0] = tempo.array({ 1 }, "f64") end, "dtype", "f64")
    fails(function() h[0] = tempo.zeros { 3 } end, "shape")
    local n = P:tensor { domain = { t }, dtype = "i64" }
    fails(function() n[0] = 0.5 end, "dtype", "0.5")
    fails(function() n[0] = x[0] end, "dtype", ':to("i64")')
    n[t] = x:to "i64"
    same(data, value(n))
  end)

  it("over several dims", function()
    local i = P:dim "i"
    local d = P:tensor { domain = { i, t } }
    d[{ t = 0, i = 0 }] = 1
    d[{ i = 0 }] = 1
    d[{ t = 0 }] = 1
    d[{ t, i }] = d[{ i = i - 1 }] + d[{ t = t - 1 }]
    same({ { 1, 1, 1 }, { 1, 2, 3 }, { 1, 3, 6 }, { 1, 4, 10 }, { 1, 5, 15 } },
      helper.value(P, d, {}, { I = 3, T = 5 }))     -- t was made first, so it is the outer one
  end)
end)

describe("wrong branches", function()
  local P, t, x, h, declared

  before_each(function()
    P = tempo.program()
    t = P:dim "t"
    x = P:input("x", { domain = { t } })
    declared = debug.getinfo(1, "l").currentline + 1
    h = P:tensor { domain = { t } }
  end)

  it("left sides that are no points", function()
    fails(function() h[0 .. t] = 1 end, "option", "h:when(")
    fails(function() h[2 * t] = 1 end, "option", "h:when(")
    fails(function() h[tempo.floordiv(t, 2)] = 1 end, "option", "h:when(")
    fails(function() h.foo = 1 end, "option", "foo")
    fails(function() h.detahc = 1 end, "option", "detach")
    fails(function() h.sum = 1 end, "option", "sum")
    fails(function() x[0] = 1 end, "option", "P:tensor")
    fails(function() h:when(x:gt(0), 1) end, "option", "tempo.where")
    fails(function() h:when(t, 1) end, "option", "condition")
  end)

  it("undefined points", function()
    h[0] = 0
    local message = fails(function()
      P:compile { outputs = { h = h } }
    end, "undefined", "'h' has no branch at t = 1 with T = 2")
    assert.equal(declared, helper.line(message))
  end)

  it("branches that can never be first", function()
    h[t] = 1
    fails(function()
      h[0] = 0
      P:compile { outputs = { h = h } }
    end, "undefined")
  end)

  it("cycles", function()
    h[t] = h[t] + 1
    fails(function() P:compile { outputs = { h = h } } end, "cycle")
  end)

  it("reads outside of the domain", function()
    fails(function()
      P:compile { outputs = { y = x[t + 1] } }
    end, "domain", "(x[t + 1]), outside 0 .. T-1", "at t = 1 with T = 2")
    fails(function() P:compile { outputs = { y = x[-1] } } end, "domain")
    local f = P:compile { outputs = { y = x[tempo.range(2, 9)] }, tier = "reference" }
    fails(function() f({ x = { 1, 2, 3 } }, { T = 3 }) end, "domain", "T >= 9")
  end)

  it("dims that the tensor lacks", function()
    local i = P:dim "i"
    local y = P:input("y", { domain = { i } })
    fails(function() h[t] = y end, "domain", "'i'")
  end)
end)

describe("where a value exists", function()
  it("is where something needs it", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local h = P:tensor { domain = { t } }
    h[0] = 1
    h[t] = h[t - 1] * 0.5 + x[t]
    same({ 1, 2.5, 4.25 }, helper.value(P, h, { x = { 9, 2, 3 } }, { T = 3 }))
  end)

  it("T = 0 is legal", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 2 } })
    for _, tier in ipairs(helper.tiers) do
      local f = P:compile { outputs = { y = x * 2 }, tier = tier }
      assert.same({ 0, 2 }, f({ x = {} }, { T = 0 }).y:shape())
    end
    local f = P:compile { outputs = { y = x[0] } }
    fails(function() f({ x = {} }, { T = 0 }) end, "domain")
  end)
end)

describe("loose literals", function()
  it("belong to no program until they meet one", function()
    local z = tempo.zeros { 2 } + 1
    assert.same({ 2 }, z:shape())
    assert.equal("f32", z:dtype())
    for n = 1, 2 do
      local P = tempo.program()
      local t = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 2 } })
      same({ { n + 1, n + 1 } }, helper.value(P, x + z, { x = { { n, n } } }, { T = 1 }))
      same({ 1, 1 }, helper.value(P, z, {}, {}))
    end
  end)

  it("are one draw for a program", function()
    local P = tempo.program { seed = 3 }
    local u = tempo.uniform { 4 }
    same({ 0, 0, 0, 0 }, helper.value(P, u - u, {}, {}))
    local out = helper.run(P, { a = u, b = u * 2 }, {}, {})
    same(fill({ 4 }, function(k) return 2 * out.a[k + 1] end), out.b)
    local v = tempo.uniform { 4 }
    out = helper.run(P, { a = u, b = v }, {}, {})
    assert.is_false(out.a[1] == out.b[1] and out.a[2] == out.b[2])
  end)

  it("with a domain or a symbolic shape have a program at once", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    assert.equal(P, tempo.zeros({ 2 }, { domain = { t } }):program())
    assert.equal(P, tempo.zeros({ T }):program())
    assert.is_nil(tempo.zeros({ 2 }):program())
    fails(function() return tempo.zeros({ 2 })[0] end, "domain")
  end)

  it("raise where they are wrong", function()
    fails(function() return (tempo.zeros({ 2 }, { dtpe = "f32" })) end, "option", "dtpe", "dtype")
    fails(function() return (tempo.zeros { 2 } + tempo.zeros { 3 }) end, "shape")
    fails(function() return (tempo.zeros "3") end, "option", "{3, T}")
  end)

  it("do not follow a table that changes", function()
    local s = { 2 }
    local z = tempo.zeros(s)
    s[1] = 3
    assert.same({ 2 }, z:shape())
  end)
end)

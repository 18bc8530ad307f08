-- docs/language.md, section 4: dtypes, promotion, integers, NaN, what is checked when.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same, each = helper.fails, helper.same, helper.tiers

local order = { "bool", "u8", "i32", "i64", "f32", "f64" }

local function is_float(d) return d == "f32" or d == "f64" end

describe("the dtype of", function()
  local P, x

  before_each(function()
    P, x = tempo.program(), {}
    for _, d in ipairs(order) do x[d] = P:input(d, { dtype = d }) end
  end)

  it("two tensors is the greater, bool counting as i64", function()
    for i, a in ipairs(order) do
      for j, b in ipairs(order) do
        local want = order[math.max(i, j)]
        assert.equal(want == "bool" and "i64" or want, (x[a] + x[b]):dtype())
        assert.equal(want == "f64" and "f64" or "f32", (x[a] / x[b]):dtype())
        assert.equal("bool", x[a]:lt(x[b]):dtype())
      end
    end
  end)

  it("a tensor and a weak number is the tensor's, f32 for a fraction and integers", function()
    local t = P:dim "t"
    for _, d in ipairs(order) do
      local own = d == "bool" and "i64" or d
      assert.equal(own, (x[d] + 1):dtype())
      assert.equal(own, (1 - x[d]):dtype())
      assert.equal(own, (x[d] * t):dtype())
      assert.equal(is_float(d) and d or "f32", (x[d] + 0.5):dtype())
    end
  end)

  it("a reduction of integers", function()
    for _, d in ipairs(order) do
      assert.equal(is_float(d) and d or "i64", x[d]:sum():dtype())
      assert.equal(is_float(d) and d or "i64", x[d]:prod():dtype())
      assert.equal(is_float(d) and d or "f32", x[d]:mean():dtype())
      assert.equal(d, x[d]:max():dtype())
    end
  end)
end)

describe("integers", function()
  it("wrap", function()
    local P = tempo.program()
    local i, u = P:input("i", { dtype = "i32" }), P:input("u", { dtype = "u8" })
    local out = helper.run(P,
      { up = i + 1, neg = -(i + 1), mul = (i + 1) * (i + 1), quot = (i + 1):floordiv(-1), u = u + 1,
      v = -u }, { i = 2147483647, u = 255 })
    assert.same({ up = -2147483648, neg = -2147483648, mul = 0, quot = -2147483648, u = 0, v = 1 },
      out)
  end)

  it("divide rounding down, and not by 0", function()
    local P = tempo.program()
    local a, b = P:input("a", { dtype = "i64" }), P:input("b", { dtype = "i64" })
    local out = { q = a:floordiv(b), r = a % b }
    assert.same({ q = -4, r = 1 }, helper.run(P, out, { a = -7, b = 2 }))
    assert.same({ q = -4, r = -1 }, helper.run(P, out, { a = 7, b = -2 }))
    for _, tier in ipairs(each) do
      for _, y in pairs(out) do
        local f = P:compile { outputs = { y = y }, tier = tier }
        fails(function() f { a = 1, b = 0 } end, "input")
        assert.has_no.errors(function() f { a = 1, b = 1 } end)
      end
    end
  end)

  it("come from floats truncated, saturated, 0 for NaN", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 5 } })
    local out = helper.run(P, { i = x:to "i32", u = x:to "u8" },
      { x = { 3.9, -3.9, 1e20, -1e20, 0 / 0 } })
    assert.same({ i = { 3, -3, 2147483647, -2147483648, 0 }, u = { 3, 0, 255, 0, 0 } }, out)
  end)

  it("have no largest or smallest of an empty range, prefix or the whole of time", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x, b = P:input("x", { domain = { t }, dtype = "i32" }),
      P:input("b", { domain = { t }, dtype = "bool" })
    for _, tier in ipairs(each) do
      for _, y in ipairs { x[0 .. t]:max(0), x[0 .. t]:min(0), x[0 .. t]:argmax(0) } do
        local f = P:compile { outputs = { y = y }, tier = tier }
        fails(function() f({ x = { 1, 2 } }, { T = 2 }) end, "input", "empty range")
      end
      local whole = P:compile { outputs = { y = x[0 .. T]:max(0) }, tier = tier }
      fails(function() whole({ x = {} }, { T = 0 }) end, "input", "empty range")
      same(3, whole({ x = { 1, 3, 2 } }, { T = 3 }).y)
    end
    same({ false, true, true },
      helper.value(P, b[0 .. t]:any(0), { b = { true, false, false } }, { T = 3 }))
    same({ 3, 3, 2 }, helper.value(P, x[t .. T]:max(0), { x = { 1, 3, 2 } }, { T = 3 }))
  end)
end)

describe("NaN", function()
  it("goes through max and min, last in sort, and compares false but for ne", function()
    local P = tempo.program()
    local nan = 0 / 0
    local x = P:input("x", { shape = { 3 } })
    local values = x:sort()
    local out = helper.run(P,
      { max = x:max(), min = x:min(), up = x:maximum(1.5), down = x:minimum(1.5), sorted = values,
      lt = x:lt(1.5), ge = x:ge(1.5), eq = x:eq(x), ne = x:ne(x) }, { x = { 1, nan, 2 } })
    same({ nan, nan }, { out.max, out.min })
    same({ 1.5, nan, 2 }, out.up)
    same({ 1, nan, 1.5 }, out.down)
    same({ 1, 2, nan }, out.sorted)
    same({ true, false, false }, out.lt)
    same({ false, false, true }, out.ge)
    same({ true, false, true }, out.eq)
    same({ false, true, false }, out.ne)
  end)
end)

-- Equal terms are the worst for an accumulation in f32: 2 * 10^5 of them lose more than 10^-4.
describe("a long sum in f32", function()
  local n = 200000
  local function near(want, got, what)
    for _, v in ipairs(type(got) == "table" and got or { got }) do
      assert.is_true(math.abs(v / want - 1) < 2e-7, what .. ": " .. v)
    end
  end

  local function constant(P, dims, shape)                       -- 0.1, made by a loop
    local t = dims[#dims]
    local x = P:tensor { domain = dims, shape = shape }
    x[{ [t] = 0 }] = 0.1
    x:otherwise(x[{ [t] = t - 1 }] * 1)
    return x
  end

  it("of single numbers and of small tensors is rounded once", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x, y = constant(P, { t }, {}), constant(P, { t }, { 3 })
    local m = constant(P, { t }, { 2, 3 })
    local f = P:compile { outputs = { x = x[0 .. T]:sum(0), y = y[0 .. T]:sum(0),
      m = m[0 .. T]:sum { 0, 1 }, mean = y[0 .. T]:mean(0) } }
    local out = f({}, { T = n })
    near(n * 0.1, out.x:item(), "x")
    near(n * 0.1, out.y:totable(), "y")
    near(n * 0.2, out.m:totable(), "m")
    near(0.1, out.mean:totable(), "mean")
  end)

  it("inside another dim, and in a gradient, is as well", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local w = P:param("w", { along = { i }, shape = { 2 }, init = tempo.ones { 2 } })
    local x = constant(P, { i, t }, { 2 })
    local s = x[{ t = 0 .. T }]:sum(0)
    w:update(w * 1)
    local f = P:compile { outputs = { s = s, g = tempo.grad((w * x):sum(), { w })[1] } }
    local out = f({}, { I = 2, T = n })
    for k = 0, 1 do
      near(n * 0.1, out.s[k]:totable(), "s")
      near(n * 0.1, out.g[k]:totable(), "g")
    end
  end)
end)

describe("extents", function()
  it("that are not equal canonically are compared at the call", function()
    local P = tempo.program()
    local K, B = P:bound "K", P:bound "B"
    local a, b = P:input("a", { shape = { K, 2 } }), P:input("b", { shape = { B, 2 } })
    for _, tier in ipairs(each) do
      local f = P:compile { outputs = { y = a + b }, tier = tier }
      same({ { 2, 4 } }, f({ a = { { 1, 2 } }, b = { { 1, 2 } } }, { K = 1, B = 1 }).y)
      fails(function()
        f({ a = { { 1, 2 } }, b = { { 1, 2 }, { 3, 4 } } }, { K = 1, B = 2 })
      end, "shape")
    end
  end)

  it("of -1 are the exact quotient, also of nothing", function()
    local P = tempo.program()
    local K = P:bound "K"
    local a = P:input("a", { shape = { K, 4 } })
    local y = { flat = a:reshape { -1 }, pairs = a:reshape { -1, 2 }, back = a:reshape { K, -1 } }
    local rows = { { 1, 2, 3, 4 } }
    assert.same({ flat = { 1, 2, 3, 4 }, pairs = { { 1, 2 }, { 3, 4 } }, back = rows },
      helper.run(P, y, { a = rows }, { K = 1 }))
    assert.same({ flat = {}, pairs = {}, back = {} }, helper.run(P, y, { a = {} }, { K = 0 }))
  end)
end)

describe("a sort", function()
  -- Each kind of numbers: few of them, as many as go by insertion and one more, many alike, and
  -- far from each other.
  local state, big = 11, 9007199254740992
  local function rng()
    state = (state * 16807) % 2147483647
    return state / 2147483647
  end
  local kinds = {
    f64 = { { 0 / 0, -0.0, 0, 1 / 0, -1 / 0, 1.5, -2 }, function() return rng() - 0.5 end,
            function() return (rng() - 0.5) * 2 ^ math.floor(rng() * 600 - 300) end },
    f32 = { { 0 / 0, -0.0, 0, 1 / 0, -1 / 0, 0.25 }, function()
      return math.floor(rng() * 4096) / 4096
    end },
    i64 = { { -big, big, 0, -1, 1 }, function() return math.floor(rng() * 1000) - 500 end,
            function() return math.floor((rng() - 0.5) * 2 ^ math.floor(rng() * 52)) end },
    u8 = { { 0, 255, 7 }, function() return math.floor(rng() * 256) end },
  }
  -- Stable, NaN last either way, by places (from 0).
  local function places(x, down)
    local at = {}
    for i = 1, #x do at[i] = i end
    local function before(p, q)
      local a, b = x[p], x[q]
      if (a ~= a) ~= (b ~= b) then return b ~= b end
      if a ~= a or a == b then return p < q end
      if down then return a > b end
      return a < b
    end
    table.sort(at, before)
    for i = 1, #x do at[i] = at[i] - 1 end
    return at
  end
  for dtype, kind in pairs(kinds) do
    it("is stable, of " .. dtype, function()
      for _, n in ipairs { 1, 2, 16, 17, 33, 300, 5000 } do
        for k, draw in ipairs(kind) do
          local x = {}
          for i = 1, n do
            x[i] = k == 1 and draw[math.floor(rng() * #draw) + 1] or k > 1 and draw()
          end
          for _, down in ipairs { false, true } do
            local P = tempo.program()
            local v, at = P:input("x", { shape = { n }, dtype = dtype }):sort(0, down)
            local out = P:compile { outputs = { v = v, at = at },
              tier = "interpreter" } { x = tempo.array(x, dtype) }
            local want = places(x, down)
            assert.same(want, out.at:totable(), ("%d numbers of kind %d"):format(n, k))
            local got = out.v:totable()
            for i = 1, n do
              local w = x[want[i] + 1]
              assert.is_true(got[i] == w or (w ~= w and got[i] ~= got[i]))
            end
          end
        end
      end
    end)
  end
end)

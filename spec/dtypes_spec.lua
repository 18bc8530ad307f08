-- docs/language.md, section 4: every pair of dtypes under every operator, at the edges of what they
-- hold, on every tier, against plain Lua (spec/numbers.lua). Bit for bit: arithmetic, comparisons
-- and casts in every dtype, and sums of integers. `pow` and sums of floats within a stated error.
local tempo = require "tempo"
local helper = require "spec.helper"
local num = require "spec.numbers"
local I, order, is_float = num.I, num.order, num.is_float
local inf, nan = math.huge, 0 / 0

-- arrays and values
-- ---------------------------------------------------------------------------------------------------------

local function ints(t)
  for i, v in ipairs(t) do t[i] = I(v) end
  return t
end

local function floats(d, extra)
  local t = { 0.0, -0.0, 1.0, -1.5, 0.1, 3.0, -7.0, 257.0, 2051.0, inf, -inf, nan }
  for _, v in ipairs(extra) do t[#t + 1] = v end
  for i, v in ipairs(t) do t[i] = num.round(v, d) end
  return t
end

-- The edges: limits, subnormals, what the next narrower dtype cannot hold.
local edges = {
  bool = { false, true },
  u8 = ints { 0, 1, 2, 7, 128, 255 },
  i32 = ints { 0, 1, -1, 7, -7, 300, 65536, 2147483647, -2147483648 },
  i64 = { I(0), I(1), I(-1), I(7), I(-7), I(4294967296), I(9007199254740991) + 2, num.max,
    num.min },
  f16 = floats("f16", { 65504, -65504, 2 ^ -24, -2 ^ -14, 2 ^ -15 }),
  bf16 = floats("bf16", { 0x1.fep127, -0x1.fep127, 2 ^ -133, -2 ^ -126, 1e20 }),
  f32 = floats("f32",
    { 0x1.fffffep127, -0x1.fffffep127, 2 ^ -149, 1e10, 2147483648, 65519, 65520, 1 + 2 ^ -11,
    1 + 2 ^ -8 }),
  f64 = floats("f64",
    { 1e308, -1e308, 5e-324, 2 ^ 63, 1e10 + 0.5, 1 + 2 ^ -11 + 2 ^ -40, 1 + 2 ^ -8 - 2 ^ -40,
    1e39 }),
}

local function zero(d) return d == "bool" and false or is_float(d) and 0.0 or I(0) end

local function array(values, d, shape)
  if #values == 0 then return tempo.array({}, d, shape or { 0 }) end
  local t = {}
  if d == "i64" then
    for i, v in ipairs(values) do t[i] = num.bytes(v) end
    return tempo.array(table.concat(t), d, shape or { #values })
  end
  for i, v in ipairs(values) do
    if type(v) == "boolean" then t[i] = v else t[i] = tonumber(v) end
  end
  local a = tempo.array(t, d)
  return shape and tempo.array(a:data(), d, shape) or a
end

local function values(a)
  local d = a:dtype()
  local t = #a:shape() == 0 and { d == "i64" and a:int64() or a:item() }
    or (d == "i64" and a:int64() or a:totable())
  if d == "u8" or d == "i32" then
    for i, v in ipairs(t) do t[i] = I(v) end
  end
  return t
end

local function same(a, b)
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  return a == b and (type(a) ~= "number" or a ~= 0 or 1 / a == 1 / b)
end

local precision = { f16 = 2 ^ -10, bf16 = 2 ^ -7, f32 = 2 ^ -22, f64 = 2 ^ -51 }

-- Within `ulps` units of the last place of dtype d; 0: the same bits, any NaN being any other.
local function near(a, b, d, ulps)
  if same(a, b) then return true end
  if ulps == 0 or type(a) ~= "number" or type(b) ~= "number" or a ~= a or b ~= b then
    return false end
  return math.abs(a - b) <= ulps * (precision[d] or 0) * math.max(math.abs(a), math.abs(b), 2 ^ -14)
end

-- Outputs y[k] must be want[k] = { dtype, values[, ulps] } on every tier.
local function check(P, y, want, inputs, bounds)
  for _, tier in ipairs(helper.tiers) do
    local out = P:compile { outputs = y, tier = tier }(inputs, bounds)
    for k, w in pairs(want) do
      local got = values(out[k])
      if out[k]:dtype() ~= w[1] then
        error(("%s of %s gives %s, not %s"):format(k, tier, out[k]:dtype(), w[1]), 2)
      end
      if #got ~= #w[2] then
        error(("%s of %s has %d values, not %d"):format(k, tier, #got, #w[2]), 2)
      end
      for i, v in ipairs(w[2]) do
        if not near(got[i], v, w[1], w[3] or 0) then
          error(("%s of %s: value %d is %s, not %s%s"):format(k, tier, i, tostring(got[i]),
            tostring(v), w.from and " from " .. w.from[i] or ""), 2)
        end
      end
    end
  end
end

-- every pair
-- ------------------------------------------------------------------------------------------------------------------

local apply = {
  add = function(x, y) return x + y end, sub = function(x, y) return x - y end,
    mul = function(x, y) return x * y end,
  div = function(x, y) return x / y end, mod = function(x, y) return x % y end,
    pow = function(x, y) return x ^ y end,
  floordiv = function(x, y) return x:floordiv(y) end,
    minimum = function(x, y) return x:minimum(y) end,
  maximum = function(x, y) return x:maximum(y) end,
}
for op in pairs(num.comparisons) do apply[op] = function(x, y) return x[op](x, y) end end

-- Gives the right operands of operator `op`: integers are not divided by 0, and their exponents are
-- small and not negative.
local function right(op, a, b)
  local whole = not is_float(num.promote(a, b))
  local t = {}
  for _, v in ipairs(edges[b]) do
    local i = whole and (b == "bool" and (v and I(1) or I(0)) or v)
    local fits = not whole or (op ~= "mod" and op ~= "floordiv" and op ~= "pow")
      or (op == "pow" and i >= I(0) and i <= I(128)) or (op ~= "pow" and i ~= I(0))
    if fits then t[#t + 1] = v end
  end
  return t
end

describe("two tensors of", function()
  for _, a in ipairs(order) do
    for _, b in ipairs(order) do
      it(a .. " and " .. b, function()
        local P = tempo.program()
        local y, want, inputs = {}, {}, {}
        for op, f in pairs(apply) do
          local xs, ys, vs, from, out = {}, {}, {}, {}, nil
          for _, u in ipairs(edges[a]) do
            for _, v in ipairs(right(op, a, b)) do
              xs[#xs + 1], ys[#ys + 1] = u, v
              vs[#xs], out = num.binary(op, u, a, v, b)
              from[#xs] = tostring(u) .. ", " .. tostring(v)
            end
          end
          local m, n = op .. "_a", op .. "_b"
          inputs[m], inputs[n] = array(xs, a), array(ys, b)
          y[op] = f(P:input(m, { shape = { #xs }, dtype = a }),
            P:input(n, { shape = { #ys }, dtype = b }))
          want[op] = { out, vs, op == "pow" and 4 or 0, from = from }
        end
        check(P, y, want, inputs)
      end)
    end
  end

  it("each dtype in where, and in a matrix product", function()
    for _, a in ipairs(order) do
      for _, b in ipairs(order) do
        local P = tempo.program()
        local one, two = edges[a], edges[b]
        local c, xs, ys, chosen = {}, {}, {}, {}
        local d = num.promote(a, b)
        for i = 1, #one + #two do
          c[i], xs[i], ys[i] = i % 3 ~= 0, one[(i - 1) % #one + 1], two[(i - 1) % #two + 1]
          if c[i] then chosen[i] = num.cast(xs[i], a, d) else chosen[i] = num.cast(ys[i], b, d) end
        end
        local m = num.dtypes("mul", a, b)
        local u, v, product = {}, {}, {}
        for i = 1, 6 do
          u[i], v[i] = num.cast(I(i % 4), "i64", a), num.cast(I((i * 5) % 7), "i64", b)
        end
        for i = 0, 1 do
          for j = 0, 1 do
            local s = I(0)
            for k = 0, 2 do
              s = s + num.cast(u[i * 3 + k + 1], a, "i64") * num.cast(v[k * 2 + j + 1], b, "i64")
            end
            product[#product + 1] = num.cast(s, "i64", m)
          end
        end
        local shape = { shape = { #c }, dtype = "bool" }
        local y = {
          where = tempo.where(P:input("c", shape), P:input("x", { shape = { #c }, dtype = a }),
            P:input("y", { shape = { #c }, dtype = b })),
          matmul = P:input("u", { shape = { 6 }, dtype = a }):reshape { 2, 3 }
            :matmul(P:input("v", { shape = { 6 }, dtype = b }):reshape { 3, 2 }):reshape { 4 },
        }
        check(P, y, { where = { d, chosen }, matmul = { m, product } },
          { c = array(c, "bool"), x = array(xs, a), y = array(ys, b), u = array(u, a),
            v = array(v, b) })
      end
    end
  end)
end)

-- one tensor
-- --------------------------------------------------------------------------------------------------------------------

describe("one tensor of", function()
  for _, d in ipairs(order) do
    it(d .. " converts to each dtype", function()
      local P = tempo.program()
      local x, y, want, from = P:input("x", { shape = { #edges[d] }, dtype = d }), {}, {}, {}
      for i, v in ipairs(edges[d]) do from[i] = tostring(v) end
      for _, to in ipairs(order) do
        local vs = {}
        for i, v in ipairs(edges[d]) do vs[i] = num.cast(v, d, to) end
        y[to], want[to] = x:to(to), { to, vs, from = from }
      end
      check(P, y, want, { x = array(edges[d], d) })
    end)

    it(d .. " folds: integers in i64, floats in their dtype, rounded once", function()
      local P = tempo.program()
      local xs, n = {}, 5
      for i = 1, n do xs[i] = num.cast(({ 3, 100, 2, 101, 5 })[i], "f64", d) end
      local whole = not is_float(d)
      local acc = whole and "i64" or d
      local function value(v) if whole then return num.cast(v, d, "i64") end return v end
      local sum, prod, cumsum, cumprod, max, min, at, low = whole and I(0) or 0,
        whole and I(1) or 1, {}, {}, 1, 1, 0, 0
      for i = 1, n do
        sum, prod = sum + value(xs[i]), prod * value(xs[i])
        cumsum[i], cumprod[i] = num.cast(sum, whole and "i64" or "f64", acc),
          num.cast(prod, whole and "i64" or "f64", acc)
        if value(xs[i]) > value(xs[max]) then max, at = i, i - 1 end
        if value(xs[i]) < value(xs[min]) then min, low = i, i - 1 end
      end
      local mean = num.round(tonumber(sum) / n, whole and "f32" or d == "f64" and "f64" or "f32")
      local x = P:input("x", { shape = { n }, dtype = d })
      local m = whole and "f32" or d
      check(P, { sum = x:sum(), prod = x:prod(), mean = x:mean(), max = x:max(), min = x:min(),
        cumsum = x:cumsum(), cumprod = x:cumprod(),
        argmax = x:argmax(), argmin = x:argmin(), any = x:any(), all = x:all() }, {
        sum = { acc, { num.cast(sum, whole and "i64" or "f64", acc) } },
          prod = { acc, { num.cast(prod, whole and "i64" or "f64", acc) } },
        mean = { m, { num.round(mean, m) } }, max = { d, { xs[max] } }, min = { d, { xs[min] } },
        cumsum = { acc, cumsum }, cumprod = { acc, cumprod }, argmax = { "i64", { I(at) } },
          argmin = { "i64", { I(low) } },
        any = { "bool", { true } }, all = { "bool", { true } },
      }, { x = array(xs, d) })
    end)

    it(d .. " with numbers and dims keeps its dtype, but f32 for a fraction and integers",
      function()
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { dtype = d })
      local own, wide = d == "bool" and "i64" or d, is_float(d) and d or "f32"
      for _, y in ipairs { x + 1, 1 - x, x * t, x:maximum(t), T - x, x % 3, x:floordiv(2), x ^ 2,
        x ^ 3, t + x } do assert.equal(own, y:dtype()) end
      for _, y in ipairs { x + 0.5, 1.5 * x, x / 2, 1 / x, x:minimum(0.5), x:mean(), x / t } do
        assert.equal(wide, y:dtype())
      end
      for _, y in ipairs { x:lt(1), x:eq(0.5), x:ne(t) } do assert.equal("bool", y:dtype()) end
      assert.equal(own, (-(x + 0)):dtype())
      assert.equal(wide, x:exp():dtype())
      for _, y in ipairs { x:sin(), x:softmax(), x:logsumexp(), x:var(), x:norm() } do
        assert.equal(wide, y:dtype())
      end
      if d ~= "bool" then
        assert.has_error(function() return x:land(x) end)
        assert.has_error(function() return x:lnot() end)
      end
    end)
  end

  it("u8 or i32 and a whole number it lacks wraps it in arithmetic, but not as a limit or in a comparison", function()
    local P = tempo.program()
    local u, i = P:input("u", { shape = { 2 }, dtype = "u8" }),
      P:input("i", { shape = { 2 }, dtype = "i32" })
    local us, is = { I(5), I(250) }, { I(5), I(-2147483648) }
    local function u8(...) return { "u8", ints { ... } } end
    check(P, {
      plus = u + 300, minus = u + -1, from = 3 - u, times = u * -1,
        where = tempo.where(u:gt(9), u, -1), div = u:floordiv(258), low = u:minimum(300),
      clamp = u:clamp(-1, 300), lt = u:lt(300), eq = u:eq(-1), i = i + 4294967297, less = i - 1,
        top = i:maximum(-1e10), ge = i:ge(-1e10),
    }, {
      plus = u8(49, 38), minus = u8(4, 249), from = u8(254, 9), times = u8(251, 6),
        where = u8(255, 250), div = u8(2, 125), low = u8(5, 250),
      clamp = u8(5, 250), lt = { "bool", { true, true } }, eq = { "bool", { false, false } },
        i = { "i32", ints { 6, -2147483647 } },
      less = { "i32", ints { 4, 2147483647 } }, top = { "i32", is },
        ge = { "bool", { true, true } },
    }, { u = array(us, "u8"), i = array(is, "i32") })
  end)

  it("i64 and an integer that no double is", function()
    if jit then return end                                 -- there every number is a double
    local P = tempo.program()
    local x = P:input("x", { shape = { 1 }, dtype = "i64" })
    local odd = I(9007199254740992) + 1
    check(P, { plus = x + odd, eq = x:eq(odd),
      full = tempo.full({ 1 }, odd, { dtype = "i64" }) + 0 * x, last = x:maximum(num.max - 1) },
      { plus = { "i64", { odd + odd } }, eq = { "bool", { true } }, full = { "i64", { odd } },
        last = { "i64", { num.max - 1 } } },
      { x = array({ odd }, "i64") })
  end)

  it("a range sums in more than its own dtype", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    for _, d in ipairs { "f16", "bf16", "f32" } do
      local x = P:input(d, { domain = { t }, dtype = d })
      local ones = {}
      for i = 1, 1000 do ones[i] = 1 end
      local want = num.round(1000, d)
      for _, tier in ipairs(helper.tiers) do
        local y = { all = x[0 .. T]:sum(0), prefix = x[0 .. t + 1]:sum(0),
          mean = x[0 .. T]:mean(0) }
        local out = P:compile { outputs = y, tier = tier }({ [d] = ones }, { T = 1000 })
        assert.same({ want, want, 1, d },
          { out.all:item(), out.prefix[999], out.mean:item(), out.prefix:dtype() })
      end
    end
  end)

  it("sums what it scatters in more than its own dtype", function()
    for _, d in ipairs { "f16", "bf16", "f32" } do
      local P = tempo.program()
      local n = 600
      local k = P:input("k", { shape = { n }, dtype = "i64" })
      local src = P:input("src", { shape = { n }, dtype = d })
      local base = P:input("base", { shape = { 3, 2 }, dtype = d })
      local table_ = P:input("table", { shape = { 3, 2 }, dtype = d })
      local at, v = {}, {}
      for i = 1, n do at[i], v[i] = i % 2, 1 end
      local loss = table_:index_select(0, k):sum()
      local y = { scatter = base:select(1, 0):scatter_add(0, k, src),
        grad = tempo.grad(loss, { table_ })[1] }
      local zeros = { { 0, 0 }, { 0, 0 }, { 0, 0 } }
      for _, tier in ipairs(helper.tiers) do
        local out = P:compile { outputs = y, tier = tier } { k = at, src = v, base = zeros,
          table = zeros }
        assert.same({ { 300, 300, 0 }, { { 300, 300 }, { 300, 300 }, { 0, 0 } }, d },
          { out.scatter:totable(), out.grad:totable(), out.grad:dtype() })
      end
    end
  end)

  -- To 24 bits, ties to even.
  local function to_f32(v)
    local step, big = 1, 1.5 * 2 ^ 52
    while math.abs(v) >= 2 ^ 24 * step do step = step * 2 end
    while v ~= 0 and math.abs(v) < 2 ^ 23 * step do step = step / 2 end
    return (v / step + big - big) * step
  end
  local PLACES, round = 60, {
    f32 = to_f32,
    f64 = function(v) return v end,
    i32 = function(v) return (v + 2 ^ 31) % 2 ^ 32 - 2 ^ 31 end,
  }
  -- Which place number i of n hits.
  local ways = {
    ["all places once"] = function(i) return (i * 7 + 3) % PLACES end,
    ["all places backwards"] = function(i) return (9 - i) % PLACES end,
    ["some places again and again"] = function(i) return (i * 8) % PLACES end,
    ["places that follow no rule"] = function(i) return i * i * 31 % 59 end,
    ["all but one place by a rule"] = function(i) return i == 50 and 7 or i % PLACES end,
    ["one place"] = function() return 5 end,
  }
  local function matrix(n, cell)
    local m = {}
    for r = 1, n do m[r] = { cell(r - 1, 0), cell(r - 1, 1), cell(r - 1, 2) } end
    return m
  end
  local function column(m, c)
    local v = {}
    for r, row in ipairs(m) do v[r] = row[c] end
    return v
  end
  local function added(base, k, v, d, place)
    local sum = matrix(#base, function(r, c) return base[r + 1][c + 1] end)
    for r, row in ipairs(v) do
      for c, x in ipairs(row) do sum[place(k[r])][c] = sum[place(k[r])][c] + x end
    end
    return matrix(#base, function(r, c) return round[d](sum[r + 1][c + 1]) end)
  end

  for name, way in pairs(ways) do
    it("sums what hits " .. name, function()
      for _, case in ipairs { { "f32", 1 }, { "f32", 44 }, { "f32", 130 }, { "f64", 130 },
        { "i32", 130 } } do
        local d, n = table.unpack(case)
        local whole, k = d == "i32" and math.floor or round[d], {}
        for i = 1, n do k[i] = way(i - 1) end
        local base = matrix(PLACES, function(r, c)
          return r % 11 == 0 and 0 or r % 7 == c and 2 ^ 30 or 1
        end)
        local v = matrix(n, function(r, c)
          return r % 9 == 0 and 2 ^ 24 or whole((r - 20) * 0.3 + c)
        end)
        local P = tempo.program()
        local b, x = P:input("b", { shape = { PLACES, 3 }, dtype = d }),
          P:input("v", { shape = { n, 3 }, dtype = d })
        local i = P:input("k", { shape = { n }, dtype = "i64" })
        local wide = i:unsqueeze(1):expand(-1, 3)
        local y = {
          rows = b:scatter_add(0, wide, x),
          columns = b:permute(1, 0):scatter_add(1, wide:permute(1, 0), x:permute(1, 0)):permute(1,
            0),
          line = b:select(1, 0):scatter_add(0, i, x:select(1, 0)),
          turned = b:flip(0):scatter_add(0, wide, x):flip(0),
        }
        if d ~= "i32" then y.grad = tempo.grad((b:index_select(0, i) * x):sum(), { b })[1] end
        local rows = added(base, k, v, d, function(j) return j + 1 end)
        local grad = y.grad
          and added(matrix(PLACES, function() return 0 end), k, v, d, function(j) return j + 1 end)
        local turned = added(base, k, v, d, function(j) return PLACES - j end)
        for _, tier in ipairs(helper.tiers) do
          local out = P:compile { outputs = y, tier = tier } { b = base, v = v, k = k }
          assert.same({ rows, rows, column(rows, 1), turned },
            { out.rows:totable(), out.columns:totable(), out.line:totable(), out.turned:totable() },
              tier .. d .. n)
          assert.same(grad, out.grad and out.grad:totable(), tier .. d .. n)
        end
      end
    end)
  end
end)

-- nothing
-- -----------------------------------------------------------------------------------------------------------------------

describe("of nothing, in", function()
  local function expected(d)
    local whole = not is_float(d)
    local acc, wide = whole and "i64" or d, whole and "f32" or d
    return {
      sum = { acc, whole and I(0) or 0 }, prod = { acc, whole and I(1) or 1 },
        any = { "bool", false }, all = { "bool", true },
      mean = { wide, nan }, var = { wide, nan }, logsumexp = { wide, -inf },
    }, whole
  end

  local function check_all(d, x, inputs, bounds, count)
    local P = x:program()
    local want, whole = expected(d)
    local y, w = {}, {}
    for op, e in pairs(want) do
      local vs = {}
      for i = 1, count do vs[i] = e[2] end
      y[op], w[op] = x[op](x, 0), { e[1], vs }
    end
    if not whole then
      local vs, ws = {}, {}
      for i = 1, count do vs[i], ws[i] = -inf, inf end
      y.max, w.max, y.min, w.min = x:max(0), { d, vs }, x:min(0), { d, ws }
    elseif d == "bool" then
      local vs, ws = {}, {}
      for i = 1, count do vs[i], ws[i] = false, true end
      y.max, w.max, y.min, w.min = x:max(0), { d, vs }, x:min(0), { d, ws }
    end
    check(P, y, w, inputs, bounds)
    local fails = { argmax = x:argmax(0), argmin = x:argmin(0) }
    if whole and d ~= "bool" then fails.max, fails.min = x:max(0), x:min(0) end
    for op, z in pairs(fails) do
      for _, tier in ipairs(helper.tiers) do
        local f = P:compile { outputs = { z = z }, tier = tier }
        helper.fails(function() f(inputs, bounds) end, "input", op .. " of an empty range")
      end
    end
  end

  for _, d in ipairs(order) do
    it(d .. ": a range", function()
      local P = tempo.program()
      local t = P:dim "t"
      local x = P:input("x", { domain = { t }, dtype = d })
      check_all(d, x[0 .. t], { x = array({ zero(d) }, d) }, { T = 1 }, 1)
    end)

    it(d .. ": an axis", function()
      local P = tempo.program()
      local K = P:bound "K"
      local x = P:input("x", { shape = { K, 3 }, dtype = d })
      check_all(d, x, { x = array({}, d, { 0, 3 }) }, { K = 0 }, 3)
    end)
  end
end)

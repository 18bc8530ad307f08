-- docs/language.md, sections 1 to 4 and 10, sentence by sentence: each program on the reference
-- evaluator, on the interpreter and on it without passes, against the same in plain Lua. The other
-- specs of a section go deeper; this one follows the text.
local tempo = require "tempo"
local helper = require "spec.helper"
local floordiv, mod, min, max, range = tempo.floordiv, tempo.mod, tempo.min, tempo.max, tempo.range
local inf, nan = math.huge, 0 / 0

local here = debug.getinfo(1, "S").short_src

local function list(n, f)
  local r = {}
  for k = 0, n - 1 do r[k + 1] = f(k) end
  return r
end

local function grid(n, m, f)
  return list(n, function(a) return list(m, function(b) return f(a, b) end) end)
end

local function value(P, y, inputs, bounds)
  return helper.run(P, { y = y }, inputs or {}, bounds or {}).y
end
local function gives(want, P, y, inputs, bounds)
  helper.same(want, value(P, y, inputs, bounds), 1e-5)
end
local function compile(P, y, tier) return P:compile { outputs = { y = y }, tier = tier } end

local function words(xs)
  local r = {}
  for k, x in ipairs(xs) do r[k] = tostring(x) end
  return table.concat(r, ",")
end
local function domain(x) return words(x:domain()) end
local function shape(x) return words(x:shape()) end

-- f fails with an error of this class, at a line of this file, that has the texts.
local function is(class, f, ...)
  local ok, e = pcall(f)
  if ok then error("no error of class " .. class, 2) end
  if type(e) ~= "table" then error("not an error object: " .. tostring(e), 2) end
  if e.code ~= class or not e.text:find(class, 1, true) then
    error(("class %s, not %s: %s"):format(e.code, class, e.text), 2)
  end
  if e.where.file ~= here then error("not in the script: " .. e.text, 2) end
  for _, text in ipairs { ... } do
    if not e.text:find(text, 1, true) then error(("no %q in: %s"):format(text, e.text), 2) end
  end
  return e
end

local source = {}
for line in io.lines("spec/language_spec.lua") do source[#source + 1] = line end

-- The same; the line to be blamed ends in a mark.
local function blames(class, f, ...)
  local e = is(class, f, ...)
  if not source[e.where.line]:find("-- here", 1, true) then
    error("blames the line of: " .. source[e.where.line], 2)
  end
end

local P, i, I, t, T

before_each(function()
  P = tempo.program()
  i, I = P:dim "i"
  t, T = P:dim "t"
end)

local function series(name) return P:input(name or "x", { domain = { t } }) end
local function declared(shape_) return P:tensor { domain = { t }, shape = shape_ } end

describe("section 1", function()
  it("bounds are given by name at every call; missing, unknown, unneeded or wrong ones are errors",
    function()
    P:bound "w"
    local f = compile(P, series() + 1)
    is("bound", function() f({ x = { 1 } }, {}) end, "'T'")
    is("bound", function() f { x = { 1 } } end, "'T'")
    is("bound", function() f({ x = { 1 } }, { T = 1, I = 2 }) end, "'I'", "not needed")
    is("bound", function() f({ x = { 1 } }, { T = 1, w = 2 }) end, "'w'", "not needed")
    is("bound", function() f({ x = { 1 } }, { T = 1, Q = 2 }) end, "'Q'")
    is("bound", function() f({ x = { 1 } }, { t = 1 }) end, "'T'")
    for _, bad in ipairs { -1, 1.5, "1", nan, 2 ^ 63 } do
      is("bound", function() f({ x = { 1 } }, { T = bad }) end, "'T'")
    end
    is("input", function() f({ x = { 1 } }, { T = 2 }) end, "'x'")
    is("input", function() f({ x = { 1, 2, 3 } }, { T = 2 }) end, "'x'")
    helper.same({ 2, 3 }, f({ x = { 1, 2 } }, { T = 2.0 }).y:totable(), 1e-9)
    helper.same({}, f({ x = {} }, { T = 0 }).y:totable(), 1e-9)
  end)

  it("a bound without a dim is a size, a value and a part of indices", function()
    local w = P:bound "w"
    gives(6, P, P:input("v", { shape = { w } }):sum(0) * 0 + w, { v = list(6, math.abs) },
      { w = 6 })
    gives({ { { 1, 1 } }, { { 1, 1 } } }, P, tempo.ones({ w, 2 }, { domain = { t } }), {},
      { T = 2, w = 1 })
    assert.equal(2 ^ 40, compile(P, w:value())({}, { w = 2 ^ 40 }).y:item())
  end)

  it("index expressions are built by + - * // % min max and unary minus", function()
    local x, n = series(), 7
    local X = list(n, function(k) return k * k end)
    for _, c in ipairs {
      { floordiv(t + T, 3), function(k) return math.floor((k + n) / 3) end },
      { floordiv(T - 1 - t, 2), function(k) return math.floor((n - 1 - k) / 2) end },
      { mod(-t, 7), function(k) return -k % 7 end },
      { mod(t * 3 + 2, 5), function(k) return (3 * k + 2) % 5 end },
      { min(t, 3, T - 1 - t), function(k) return math.min(k, 3, n - 1 - k) end },
      { max(t - 3, 0, 3 - t), function(k) return math.max(k - 3, 0, 3 - k) end },
      { floordiv(floordiv(t, 2), 2), function(k) return math.floor(k / 4) end },
      { mod(mod(t, 4) + floordiv(t, 2), 3), function(k)
        return (k % 4 + math.floor(k / 2)) % 3
      end },
      { max(min(3 * t - 4, T - 1), 0), function(k)
        return math.max(math.min(3 * k - 4, n - 1), 0)
      end },
      { floordiv(t - 1, 2) + 1, function(k) return math.floor((k - 1) / 2) + 1 end },
      { t:floordiv(3) * 3 + t:mod(3), function(k) return k end },
    } do
      gives(list(n, function(k) return X[c[2](k) + 1] end), P, x[c[1]], { x = X }, { T = n })
    end
    gives(X[4], P, x[floordiv(T, 2)], { x = X }, { T = n })
  end)

  it("a tensor in tempo.min or tempo.max is an error that names the method and x:max()", function()
    local x = series()
    is("option", function() local _ = min(t, x) end, "minimum", "x:max()")
    is("option", function() local _ = max(x, 0) end, "maximum", "x:max()")
    is("option", function() local _ = min(t:lt(3), t) end)
  end)

  it("a product of dims or bounds is a size, not an index", function()
    local x = series()
    gives(list(6, function() return 6 end), P, tempo.full({ I * T }, 6), {}, { T = 3, I = 2 })
    gives({ { { 1, 2 }, { 3, 4 } } }, P, P:input("v", { shape = { I * T, 2 } }):reshape { I, T, 2 },
      { v = { { 1, 2 }, { 3, 4 } } }, { T = 2, I = 1 })
    gives({ 0, 1, 4 }, P, (t * t):value(), {}, { T = 3 })
    gives({ 0, 1, 2 }, P, tempo.where((I * T):gt(3), t, 0), {}, { I = 2, T = 3 })
    for _, f in ipairs {
      function() return x[I * T] end, function() return x[0 .. I * T] end,
        function() return x[range(0, I * T)] end,
      function() return x[t * i] end,
    } do
      is("affine", function() local _ = f() end, "not affine")
    end
  end)

  it("/, ^ and non-integral numbers point to t:value(); divisors are positive integers", function()
    is("affine", function() return t / 2 end, "t:value()")
    is("affine", function() return 2 / t end, "t:value()")
    is("affine", function() return t ^ 2 end, "t:value()")
    is("affine", function() return t + 0.5 end, "t:value()")
    is("affine", function() return series()[1.5] end)
    is("affine", function() local _ = floordiv(t, -2) end)
    is("affine", function() local _ = mod(t, 0) end)
    is("affine", function() local _ = floordiv(t, i) end, "t:value()")
    is("affine", function() local _ = floordiv(t, 1.5) end)
  end)

  it("conditions come from methods, stand in branches, in where, and as bool tensors", function()
    local n, m = 5, 4
    for _, c in ipairs {
      { t:eq(3), function(_, b) return b == 3 end },
      { t:ne(i), function(a, b) return a ~= b end },
      { t:lt(i + 1), function(a, b) return b < a + 1 end },
      { t:le(2 * i - 1), function(a, b) return b <= 2 * a - 1 end },
      { t:gt(T - 3), function(_, b) return b > n - 3 end },
      { t:ge(I), function(_, b) return b >= m end },
      { t:eq(1):land(i:gt(1)):lor(t:eq(3)), function(a, b) return b == 1 and a > 1 or b == 3 end },
      { t:eq(1):lor(i:gt(1)):lnot(), function(a, b) return not (b == 1 or a > 1) end },
      { mod(t, 2):eq(mod(i, 2)), function(a, b) return a % 2 == b % 2 end },
      { max(floordiv(t, 2), i):ge(2), function(a, b)
        return math.max(math.floor(b / 2), a) >= 2
      end },
    } do
      local h, all = P:tensor { domain = { i, t } }, tempo.ones({}, { domain = { i, t } })
      h:when(c[1], 1)
      h:otherwise(0)
      local want = grid(m, n, function(a, b) return c[2](a, b) and 1 or 0 end)
      local out = helper.run(P, { h = h, w = tempo.where(c[1], all, 0), b = all * c[1] }, {},
        { T = n, I = m })
      for _, got in pairs(out) do helper.same(want, got, 1e-9) end
    end
    gives({ true, false, true }, P, t:eq(1):value():lnot(), {}, { T = 3 })
    gives({ true, true, false }, P, t:lt(2):lor(series():lt(2)), { x = { 1, 2, 3 } }, { T = 3 })
  end)

  it("where a tensor is wanted an index expression is its value; compared with a tensor a dim is its value", function()
    local x, k = series(), P:input("k", { domain = { t }, dtype = "i32" })
    assert.equal("i32,f32,i64,f32,f32",
      words { (k + t):dtype(), (t + x):dtype(), (t:value() + 1):dtype(), (k / t):dtype(),
      (k + 0.5):dtype() })
    local X = { x = { 1, 1, 3 }, k = { 0, 0, 0 } }
    for _, c in ipairs {
      { x:eq(t), { false, true, false } }, { t:eq(x), { false, true, false } },
        { t:lt(x), { true, false, true } },
      { x:gt(t), { true, false, true } }, { T:ge(x), { true, true, true } },
        { (t + 1):ne(x), { false, true, false } },
      { x ^ t, { 1, 1, 9 } }, { (1 - t):value(), { 1, 0, -1 } },
        { tempo.maximum(t, x * 0), { 0, 1, 2 } }, { tempo.sqrt(t * t), { 0, 1, 2 } },
      { tempo.full({ 2 }, t), { { 0, 0 }, { 1, 1 }, { 2, 2 } } },
        { x:clamp(0, T - 1), { 1, 1, 2 } }, { T, 3 }, { t:eq(1), { false, true, false } },
    } do
      gives(c[2], P, c[1], X, { T = 3 })
    end
    local h = P:tensor { domain = { t }, dtype = "i64" }
    h[0] = T
    h[t] = h[t - 1] * t
    gives({ 4, 4, 8, 24 }, P, h, {}, { T = 4 })
  end)

  it("each of Lua's traps is answered by what to write", function()
    local x, h = series(), declared()
    for _, f in ipairs {
      function() return x[2 .. 5] end, function() return x[{ t = 2 .. 5 }] end,
        function() return x[{ 2 .. 5 }] end, function() h[2 .. 5] = 1 end,
    } do
      is("option", function() local _ = f() end, "tempo.range(2, 5)")
    end
    is("option", function() return x[10 .. 12] end, "tempo.range(10, 12)")
    is("option", function() return t < T end, "t:lt(T)")
    if not jit then is("option", function() return t <= 3 end, "t:le(3)") end
    if not jit then is("option", function() return #t end, "upper") end
    is("option", function() return t .. "a" end)
    is("option", function() return 0 .. t .. T end)
    is("option", function() return x .. t end)
    is("option", function() P:tensor { domain = { P:dim "u" } } end, "'U'")
    assert.is_true(t + 1 == 1 + t)
    assert.is_false(t == 3)
  end)

  it("== is never a condition", function()
    local x, h = series(), declared()
    is("option", function() h:when(t == 0, x) end, "t:eq(k)")
    is("option", function() local _ = tempo.where(t == 0, x, 1) end, "t:eq(k)")
    is("option", function() local _ = x:gt(0):land(t == 0) end, "t:eq(k)")
    is("option", function() local _ = t:gt(0):lor(t == T) end, "t:eq(k)")
  end)
end)

describe("section 2", function()
  it("every range has every reduction, empty ones too", function()
    local x, w, n = series(), P:bound "w", 6
    local X = list(n, function(k) return (k * k) % 11 + 1 end)
    local reduce = {
      sum = function(v) local s = 0 for _, q in ipairs(v) do s = s + q end return s end,
      prod = function(v) local s = 1 for _, q in ipairs(v) do s = s * q end return s end,
      max = function(v) local s = -inf for _, q in ipairs(v) do s = math.max(s, q) end return s end,
      min = function(v) local s = inf for _, q in ipairs(v) do s = math.min(s, q) end return s end,
      mean = function(v) local s = 0 for _, q in ipairs(v) do s = s + q end return s / #v end,
      logsumexp = function(v)
        local s = 0 for _, q in ipairs(v) do s = s + math.exp(q) end return math.log(s)
      end,
    }
    for _, c in ipairs {
      { 0 .. t, function(k) return 0, k end },
      { t + 1 .. T, function(k) return k + 1, n end },
      { max(0, t - w + 1) .. t + 1, function(k) return math.max(0, k - 2), k + 1 end },
      { max(t - 1, 0) .. min(t + 2, T), function(k)
        return math.max(k - 1, 0), math.min(k + 2, n)
      end },
      { 2 * floordiv(t, 2) .. min(2 * floordiv(t, 2) + 2, T), function(k)
        return k - k % 2, math.min(k - k % 2 + 2, n)
      end },
      { T - 1 - t .. T, function(k) return n - 1 - k, n end },
      { t .. 3, function(k) return k, 3 end },
      { min(t, 3) .. max(t, 3), function(k) return math.min(k, 3), math.max(k, 3) end },
      { t .. min(2 * t, T), function(k) return k, math.min(2 * k, n) end },
      { t .. t, function(k) return k, k end },
    } do
      local outs, want = { all = x[c[1]]:sum() + w }, {}
      for name, f in pairs(reduce) do
        outs[name] = x[c[1]][name](x[c[1]], 0)
        want[name] = list(n, function(k)
          local lo, hi = c[2](k)
          local v = {}
          for q = lo, hi - 1 do v[#v + 1] = X[q + 1] end
          return f(v)
        end)
      end
      local out = helper.run(P, outs, { x = X }, { T = n, w = 3 })
      for name in pairs(reduce) do
        helper.same(want[name], out[name], 1e-5, tostring(c[1]) .. " " .. name)
      end
    end
    gives({ false, false, true }, P, x:gt(1)[0 .. t]:any(0), { x = { 1, 2, 0 } }, { T = 3 })
    gives({ true, false, false }, P, x:gt(1)[0 .. t]:all(0), { x = { 1, 2, 0 } }, { T = 3 })
  end)

  it("a read has the dims of its indices and those it does not name, nothing else", function()
    local x = P:input("x", { domain = { i, t } })
    for _, c in ipairs {
      { x[{ i = t }], "t" }, { x[{ i = t, t = i }], "i,t" }, { x[{ 0, 0 }], "" },
        { x[{ i, 0 }], "i" }, { x[{ 0 .. I, t + 1 }], "t", "I" },
      { x[{ i = 0 .. I, t = 0 .. t + 1 }], "t", "I,t + 1" },
        { x[{ t = 0 .. T }][{ i = 0 .. I }], "", "I,T" },
      { x[{ i = 0 .. I }][{ t = 0 .. T }], "", "T,I" },
        { x[{ i = 0 .. I, t = 0 .. i + 1 }], "i", "I,i + 1" },
        { x[{ t = 0 .. i + 1 }], "i", "i + 1" },
      { x[{ [t] = i }], "i" }, { x:at { t = 0 }, "i" }, { x[{}], "i,t" },
    } do
      assert.equal(c[2], domain(c[1]))
      assert.equal(c[3] or "", shape(c[1]))
    end
    local X = grid(3, 3, function(a, b) return 10 * a + b end)
    local b = { I = 3, T = 3 }
    gives(grid(3, 3, function(a, k) return 10 * k + a end), P, x[{ i = t, t = i }], { x = X }, b)
    gives(list(3, function(k) return 11 * k end), P, x[{ i = t }], { x = X }, b)
    gives({ 0, 21, 63 }, P, x[{ t = 0 .. i + 1 }]:sum(0), { x = X }, b)
    gives({ 30, 63, 99 }, P, x[{ i = 0 .. I, t = 0 .. i + 1 }]:sum(), { x = X }, b)
    gives(grid(3, 3, function(a, k)
      local s = 0
      for q = math.min(a, k), math.max(a, k) do s = s + 10 * a + q end
      return s
    end), P, x[{ t = min(i, t) .. max(i, t) + 1 }]:sum(0), { x = X }, b)
  end)

  it("a single index belongs to one dim; tables are positions or names, without holes", function()
    local x, z = P:input("x", { domain = { i, t } }), P:input("z", { shape = { 2 } })
    for _, index in ipairs { 0, min(i, t), range(0, 2), P:bound "w", { 0 }, { 0, 0, 0 },
      { q = 0 } } do
      is("domain", function() local _ = x[index] end, "i, t")
    end
    for _, index in ipairs { { 0, t = 1 }, { 0, nil, 1 }, { [2] = 0 }, { [T] = 0 }, { [t + 1] = 0 },
      { [t] = 0, t = 1 }, true } do
      is("option", function() local _ = x[index] end)
    end
    is("affine", function() local _ = x[z] end, "index_select")
    is("domain", function() local _ = z[0] end, "'z'")
    is("option", function() x:at() end)
  end)

  it("indexing substitutes in the shape; a range over a dim of the shape is ragged", function()
    local x = series()
    local y = x[0 .. t + 1]
    assert.equal("max(1, t)", shape(y[max(t - 1, 0)]))
    assert.equal("T", shape(y[T - 1]))
    assert.equal("1", shape(y[0]))
    assert.equal("min(4, t + 1)", shape(x[max(0, t - 3) .. t + 1]))
    local X = { x = { 1, 2, 3, 4 } }
    gives({ 1, 1, 3, 6 }, P, y[max(t - 1, 0)]:sum(0), X, { T = 4 })
    gives({ 10, 6, 3, 1 }, P, y[T - 1 - t]:sum(0), X, { T = 4 })
    gives({ 1, 2, 3 }, P, y[2], X, { T = 4 })
    for _, r in ipairs { 0 .. T, 0 .. t, range(0, 3) } do
      is("ragged", function() local _ = y[r] end, "reduce or pad")
    end
    is("ragged", function() compile(P, y) end)
    is("ragged", function() P:input("q", { domain = { t }, shape = { t + 1 } }) end, "'q'")
    local z = P:input("z", { domain = { i, t } })
    gives({ 5, 12 }, P, z[{ t = 0 .. t + 1 }][{ i = 0 .. I }]:sum { 0, 1 },
      { z = { { 1, 2 }, { 4, 5 } } }, { I = 2, T = 2 })
  end)

  it("index_select is how data chooses a time", function()
    local x, k = P:input("x", { domain = { t }, shape = { 2 } }),
      P:input("k", { domain = { t }, dtype = "i64" })
    local X = { { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } }
    local y = x[0 .. t + 1]:index_select(0, k:unsqueeze(0))
    gives({ { { 1, 2 } }, { { 1, 2 } }, { { 5, 6 } }, { { 3, 4 } } }, P, y,
      { x = X, k = { 0, 0, 2, 1 } }, { T = 4 })
    is("input", function() compile(P, y)({ x = X, k = { 1, 0, 0, 0 } }, { T = 4 }) end, "t = 0")
    gives({ { 3, 3 }, { 3, 3 }, { 0, 0 } }, P, tempo.grad(y:sum() * (t + 1), { x })[1],
      { x = { { 5, 5 }, { 6, 6 }, { 7, 7 } }, k = { 0, 0, 1 } }, { T = 3 })
  end)

  it("a domain is a set in the order of P:dim; entries are dims or tensors", function()
    local x, w, s = P:input("x", { domain = { t } }), P:input("w", { domain = { i } }), P:input "s"
    for _, d in ipairs { { x, w }, { t, i }, { w, t }, { x, s, i }, (x * w):domain() } do
      assert.equal("i,t", domain(P:tensor { domain = d }))
    end
    assert.equal("i,t", domain(x + i))
    assert.equal("i,t", domain(tempo.stack({ x, w }, 0)))
    assert.equal("t", domain(x + T))
    assert.equal(P, (x + 1):program())
    is("option", function() P:input("q", { domain = { t, i } }) end, "'i' before 't'")
    is("option", function() P:call(print, { x }, { { domain = { t, i } } }) end)
    is("domain", function() P:call(print, { x }, { { domain = { i } } }) end, "'x'")
    local out = compile(P, (x * w):unsqueeze(0) + tempo.zeros { 3 })(
      { x = { 1, 2 }, w = { 1, 10, 100 } }, { I = 3, T = 2 }).y
    assert.equal("3,2,3", words(out:shape()))
    helper.same(list(3, function(a)
      return grid(2, 3, function(b) return (b + 1) * 10 ^ a end)
    end), out:totable(), 1e-9)
  end)
end)

describe("section 3", function()
  it("values are needed only where something reads them", function()
    local x = series()
    local y, d = x[t - 1] * 2, x[t + 1] - x
    local h, g = declared(), declared()
    h[0] = 100
    h[t] = y
    g:when(t:lt(T - 1), d)
    g:otherwise(0)
    for n = 0, 3 do
      local X = { x = list(n, function(k) return 2 ^ k end) }
      gives(list(n, function(k) return k == 0 and 100 or 2 ^ k end), P, h, X, { T = n })
      gives(list(n, function(k) return k < n - 1 and 2 ^ k or 0 end), P, g, X, { T = n })
      gives(list(n, function(k)
        return k < n - 1 and 2 or 0
      end), P, tempo.grad(h, { x })[1], X, { T = n })
      gives(list(n, function(k)
        return (k > 0 and 1 or 0) - (k < n - 1 and 1 or 0)
      end), P, tempo.grad(g, { x })[1], X, { T = n })
    end
    gives(2, P, y[1], { x = { 1, 2, 3 } }, { T = 3 })
    gives({ 2, 2, 4 }, P, y[max(t, 1)], { x = { 1, 2, 3 } }, { T = 3 })
    gives(3, P, d[0 .. T - 1]:sum(0), { x = { 1, 2, 4 } }, { T = 3 })
    is("domain", function() compile(P, tempo.where(t:ge(1), y, 0)) end, "t = 0")
    local two = declared()
    two[0] = 0
    two[t] = y[t - 1]
    is("domain", function() compile(P, two) end, "t = -1")
  end)

  it("what is legal for no bounds but 0 and 1 is refused when compiling, else checked at the call",
    function()
    local x, w = series(), P:bound "w"
    for _, e in ipairs { t + 1, t - 1, -1, T, 2 * t, T - t, t + w, t - w, T + w, 0 .. T + 1,
      t .. t + 2, range(-1, 2) } do
      is("domain", function() compile(P, x[e]) end, "'x'", "T = 2")
    end
    for _, c in ipairs {
      { x[range(2, 9)]:sum(0), { T = 9 }, 42, { T = 8 }, "T >= 9" },
        { x[3], { T = 4 }, 4, { T = 3 }, "T >= 4" }, { x[0], { T = 1 }, 1, { T = 0 }, "T >= 1" },
      { x[T - 1], { T = 1 }, 1, { T = 0 } }, { x[T - 3], { T = 3 }, 1, { T = 2 } },
        { x[w], { T = 2, w = 1 }, 2, { T = 2, w = 2 } },
      { x[0 .. w], { T = 2, w = 2 }, { 1, 2 }, { T = 2, w = 3 } },
        { x[T - w], { T = 2, w = 1 }, 2, { T = 2, w = 0 } },
      { x[w - t], { T = 3, w = 2 }, { 3, 2, 1 }, { T = 3, w = 3 } },
        { x[{ t = i }], { T = 3, I = 3 }, { 1, 2, 3 }, { T = 2, I = 3 } },
      { x[{ t = 2 * i + 1 }], { T = 4, I = 2 }, { 2, 4 }, { T = 4, I = 3 } },
      { x[{ t = i .. i + w }]:sum(0), { T = 2, I = 3, w = 0 }, { 0, 0, 0 },
        { T = 3, I = 3, w = 2 } },
    } do
      local function count(b) return { x = list(b.T, function(k) return k + 1 end) } end
      for _, tier in ipairs { "reference", "interpreter" } do
        local f = compile(P, c[1], tier)
        helper.same(c[3], f(count(c[2]), c[2]).y:totable(), 1e-9)
        is("domain", function() f(count(c[4]), c[4]) end, "'x'", c[5] or "needs")
      end
    end
  end)

  it("T = 0 is legal; reads of constant points are errors at the call", function()
    local x, v = series(), P:input("v", { domain = { t }, shape = { 3 } })
    local h, g = declared(), P:tensor { domain = { i } }
    h[0] = x[0]
    h[t] = h[t - 1] + x[T - 1]
    g[0] = x[0]
    g[i] = g[i - 1] + 1
    local out = helper.run(P,
      { v = v * 2, s = x[0 .. T]:sum(0), p = x[0 .. t + 1]:sum(0), h = h, g = g },
      { x = {}, v = {} }, { T = 0, I = 0 })
    helper.same({ v = {}, s = 0, p = {}, h = {}, g = {} }, out, 1e-9)
    is("domain", function() compile(P, g)({ x = {} }, { T = 0, I = 1 }) end, "'x'")
    gives({ 1, 3, 5 }, P, h, { x = { 1, 5, 2 } }, { T = 3 })
  end)

  it("left sides are dims, shifts and points; anything else is when", function()
    local x, w, X = series(), P:bound "w", { x = { 1, 2, 3, 4, 5 } }
    local function branches(f)
      local h = declared()
      f(h)
      return h
    end
    for _, c in ipairs {
      { { -2, -2, 1, 2, 3 }, function(h) h[t + 2] = x h[t] = -2 end },
      { { 3, 4, 5, 0, 0 }, function(h) h[t - 2] = x h[t] = 0 end },
      { { 1, 2, -2, -1, 5 }, function(h)
        h[min(3, T - 1)] = -1 h[floordiv(T, 2)] = -2 h[t] = x
      end },
      { { 0, 0, 5, 0, 40 }, function(h) h[T - 1] = t * 10 h[2] = x[t] + x[t - 1] h[t] = 0 end },
      { { 1, 2, 3, 4, 5 }, function(h) h[9] = -1 h[t] = x end },
      { { 7, 2, 3, 4, 5 }, function(h) h[{ [t] = 0 }] = 7 h[{ t }] = x end },
      { { 0, 0, 0, 0, 0 }, function(h) h[t + 9] = x h:otherwise(0) end },
    } do
      gives(c[1], P, branches(c[2]), X, { T = 5 })
    end
    local h = branches(function(h) h[w] = -7 h[t] = x end)
    gives({ 1, -7, 3 }, P, h, { x = { 1, 2, 3 } }, { T = 3, w = 1 })
    gives({ 1, 2, 3 }, P, h, { x = { 1, 2, 3 } }, { T = 3, w = 3 })
    for _, e in ipairs { 2 * t, floordiv(t, 2), min(t, 3), -t, t + w, i, 0 .. T, range(0, 3) } do
      is("option", function() declared()[e] = 1 end, ":when(")
    end
    is("option", function() h:when(x:gt(0), 1) end, "tempo.where")
    is("option", function() x[0] = 1 end)
  end)

  it("branches are tried in order; one that can never be first is an error that names the earlier one", function()
    local x = series()
    for _, f in ipairs {
      function(h) h[t] = 1 h[0] = 2 end, function(h)
        h[0] = 1 h[0] = 2 h[t] = 3
      end, function(h) h:otherwise(1) h[t] = 3 end,
      function(h)
        h:when(t:lt(3), 1) h[2] = 5 h[t] = 3
      end, function(h) h[0] = 1 h[t + 1] = x h[t] = 3 end, function(h) h[t] = 1 h[t + 1] = 3 end,
      function(h) h:when(t:lt(0), 1) h[t] = 3 end, function(h) h[-1] = 1 h[t] = 3 end,
    } do
      is("undefined", function() local h = declared() f(h) compile(P, h) end, "can never be first")
    end
    local h = declared()
    h[0] = 1
    h[T - 1] = 2
    h[t] = 3
    for n, want in ipairs { { 1 }, { 1, 2 }, { 1, 3, 2 } } do gives(want, P, h, {}, { T = n }) end
  end)

  it("a declared tensor is defined at every point, whatever reads it; cycles are told", function()
    for _, f in ipairs { function(h) h[0] = 1 end, function() end,
      function(h) h:when(t:gt(2), 1) end } do
      is("undefined", function() local h = declared() f(h) compile(P, h[0]) end)
    end
    local some = declared()
    some:when(t:lt(3), t)
    gives({ 0, 1, 2 }, P, some, {}, { T = 3 })
    is("undefined", function() compile(P, some[0])({}, { T = 4 }) end, "T <= 3")
    for _, f in ipairs {
      function(h) h[t] = h[t] + 1 end, function(h)
        h[0] = h[T - 1] h[t] = h[t - 1]
      end, function(h) h[t] = h[0 .. t + 1]:sum(0) end,
      function(h) h[t] = h[floordiv(t, 2)] end,
    } do
      is("cycle", function() local h = declared() f(h) compile(P, h) end)
    end
    local w, h = P:bound "w", declared()
    h:when(t:lt(w), 1)
    h[t] = h[t - w] + 1
    for n, want in ipairs { { 1, 2, 3, 4, 5 }, { 1, 1, 2, 2, 3 }, { 1, 1, 1, 2, 2 } } do
      gives(want, P, h, {}, { T = 5, w = n })
    end
    is("cycle", function() compile(P, h)({}, { T = 5, w = 0 }) end)
  end)

  it("recurrences in several dims run in an order that their reads allow", function()
    local n, m, r = 3, 4, math.sin
    local x = P:input("x", { domain = { i, t } })
    local X = grid(n, m, function(a, b) return r(5 * a + b) end)
    local function at(W, a, b) return W[a + 1][b + 1] end
    -- the branches, f(W, X, a, b), the order in which b runs
    for _, c in ipairs {
      { function(h)
          h[{ 0, T - 1 }] = x
          h[{ t = T - 1 }] = h[{ i = i - 1 }] + x
          h[{ i = 0 }] = h[{ t = t + 1 }] * 2 + x
          h[{ i, t }] = h[{ t = t + 1 }] + h[{ i = i - 1 }] * x
        end, function(W, Y, a, b)
          local v = at(Y, a, b)
          if a == 0 and b == m - 1 then return v end
          if b == m - 1 then return at(W, a - 1, b) + v end
          return a == 0 and at(W, a, b + 1) * 2 + v or at(W, a, b + 1) + at(W, a - 1, b) * v
        end, true },
      { function(h)
          h[{ 0, 0 }] = x
          h[{ t = 0 }] = h[{ i - 1, T - 1 }] * 0.5 + x
          h[{ i, t }] = h[{ t = t - 1 }] * 0.5 + x
        end, function(W, Y, a, b)
          if b > 0 then return at(W, a, b - 1) * 0.5 + at(Y, a, b) end
          return a > 0 and at(W, a - 1, m - 1) * 0.5 + at(Y, a, b) or at(Y, a, b)
        end },
      { function(h)
          h[{ i = 0 }] = x
          h[{ i, t }] = h[{ i - 1, max(t - 1, 0) }] * x + h[{ i - 1, min(t + 1, T - 1) }]
        end, function(W, Y, a, b)
          return a == 0 and at(Y, a, b)
            or at(W, a - 1, math.max(b - 1, 0)) * at(Y, a, b) + at(W, a - 1, math.min(b + 1, m - 1))
        end },
      { function(h)
          h[{ 0, 0 }] = x
          h[{ t = 0 }] = h[{ i = i - 1, t = 0 .. T }]:sum(0)
          h[{ i = 0 }] = h[{ t = 0 .. t }]:sum(0) * x
          h[{ i, t }] = h[{ t = t - 1 }] + h[{ i = i - 1 }]
        end, function(W, Y, a, b)
          local s = 0
          if a == 0 and b == 0 then return at(Y, 0, 0) end
          if b == 0 then for q = 0, m - 1 do s = s + at(W, a - 1, q) end return s end
          if a == 0 then for q = 0, b - 1 do s = s + at(W, 0, q) end return s * at(Y, a, b) end
          return at(W, a, b - 1) + at(W, a - 1, b)
        end },
    } do
      local function loop(Y)
        local W = grid(n, m, function() return 0 end)
        for a = 0, n - 1 do
          for k = 0, m - 1 do
            local b = c[3] and m - 1 - k or k
            W[a + 1][b + 1] = c[2](W, Y, a, b)
          end
        end
        return W
      end
      local h = P:tensor { domain = { i, t } }
      c[1](h)
      local out = helper.run(P, { h = h, g = tempo.grad(h[{ I - 1, 1 }], { x })[1] }, { x = X },
        { I = n, T = m })
      helper.same(loop(X), out.h, 1e-5)
      helper.same(helper.differences(function(Y) return loop(Y)[n][2] end, X), out.g, 1e-4)
      helper.same({}, value(P, h, { x = {} }, { I = 0, T = m }), 1e-9)
    end
  end)

  it("takes tensors, arrays and numbers as right sides, of the very shape and dtype", function()
    local x, h = series(), declared { 2 }
    h[0] = tempo.array { 1, 2 }
    h[1] = { 3, 4 }
    h[2] = 7
    h[t] = tempo.stack({ x, t }, 0)
    gives({ { 1, 2 }, { 3, 4 }, { 7, 7 }, { 4, 3 } }, P, h, { x = { 1, 2, 3, 4 } }, { T = 4 })
    local other = declared { 2 }
    is("shape", function() other[0] = tempo.zeros { 3 } end)
    is("dtype", function() other[0] = tempo.array({ 1, 2 }, "f64") end, ":to")
    is("dtype", function() other[0] = t:lt(3) end)
    is("domain", function() other[0] = P:input("z", { domain = { i }, shape = { 2 } }) end, "'i'")
    for _, bad in ipairs { "a", print, 0 .. t } do is("option", function() other[0] = bad end) end
    local g = declared { t + 1 }
    g[0] = tempo.ones { 1 }
    g[t] = tempo.cat({ g[t - 1], x:unsqueeze(0) }, 0)
    gives({ 1, 3, 6 }, P, g:sum(0), { x = { 1, 2, 3 } }, { T = 3 })
    local k = declared { min(3, t + 1) }
    k:when(t:lt(3), x[0 .. t + 1])
    k:otherwise(x[t - 2 .. t + 1])
    gives({ 1, 3, 6, 9 }, P, k:sum(0), { x = { 1, 2, 3, 4 } }, { T = 4 })
  end)
end)

describe("section 4", function()
  it("integers wrap, // and % floor, by 0 they fail where they are needed", function()
    local a, b = P:input("a", { dtype = "i32", shape = { 3 } }),
      P:input("b", { dtype = "i32", shape = { 3 } })
    gives({ -2147483648, 0, -2 }, P, a + b,
      { a = { 2147483647, 5, 2147483647 }, b = { 1, -5, 2147483647 } })
    gives({ -2, 1, -1 }, P, floordiv(a, b), { a = { -7, 7, -1 }, b = { 4, 4, 5 } })
    gives({ 1, -1, -2 }, P, a % b, { a = { -7, 7, -7 }, b = { 4, -4, -5 } })
    local k, h = P:input("k", { domain = { t }, dtype = "i64" }),
      P:tensor { domain = { t }, dtype = "i64" }
    h[0] = 0
    h[t] = floordiv(tempo.full({}, 10, { dtype = "i64" }), k)
    gives({ 0, 5, 3 }, P, h, { k = { 0, 2, 3 } }, { T = 3 })
    for _, tier in ipairs { "reference", "interpreter" } do
      is("input", function() compile(P, h, tier)({ k = { 1, 2, 0 } }, { T = 3 }) end, "t = 2")
    end
  end)

  it("float to int truncates and saturates, NaN gives 0; NaN propagates, comparisons with it are false but ne", function()
    local x, X = P:input("x", { shape = { 6 } }), { x = { 1.9, -1.9, nan, inf, -inf, 3e9 } }
    gives({ 1, -1, 0, 2147483647, -2147483648, 2147483647 }, P, x:to "i32", X)
    gives({ 1, 0, 0, 255, 0, 255 }, P, x:to "u8", X)
    gives(nan, P, x:max(), X)
    gives(nan, P, x:min(), X)
    gives({ 2, 2, nan, inf, 2, 3e9 }, P, tempo.maximum(x, 2), X)
    gives({ true, true, false, true, true, true }, P, x:eq(x), X)
    gives({ false, false, true, false, false, false }, P, x:ne(x), X)
    gives({ -inf, -1.9, 1.9, 3e9, inf, nan }, P, (x:sort(0)), X)
    local y = series "y"
    gives({ 1, nan, nan }, P, y[0 .. t + 1]:max(0), { y = { 1, nan, 3 } }, { T = 3 })
    gives({ nan, nan, 3 }, P, y[t .. T]:min(0), { y = { 1, nan, 3 } }, { T = 3 })
  end)

  it("an array has the declared dtype; tables and numbers convert", function()
    local f = compile(P, series() * 2)
    is("input", function() f({ x = tempo.array({ 1, 2 }, "f64") }, { T = 2 }) end, "f32", "f64")
    helper.same({ 2, 4 }, f({ x = { 1, 2 } }, { T = 2 }).y:totable(), 1e-9)
    assert.equal(3, compile(P, P:input "s" + 1)({ s = 2 }).y:item())
    assert.is_false(compile(P, P:input("b", { dtype = "bool" }):lnot())({ b = true }).y:item())
  end)

  it("only a literal 1 broadcasts; other extents are equal canonically, or compared at the call",
    function()
    local x, w, c = series(), P:bound "w", P:input("c", { shape = { 3 } })
    local C = { 1, 2, 3 }
    gives({ { 2, 3, 4 }, { 6, 7, 8 } }, P, x[t .. t + 1] + c, { x = { 1, 5 }, c = C }, { T = 2 })
    local X = { x = { 1, 2, 3, 4 } }
    for _, e in ipairs {
      { x[0 .. min(t + 1, T)], x[0 .. t + 1], { 1, 5, 14, 30 } },
        { x[0 .. 2 * floordiv(t, 2) + mod(t, 2) + 1], x[0 .. t + 1], { 1, 5, 14, 30 } },
      { x[max(t - w + 1, 0) .. t + 1], x[0 .. min(w, t + 1)], { 1, 5, 8, 11 }, 2 },
        { x[t .. T], x[0 .. T - t], { 30, 20, 11, 4 } },
      { x[floordiv(t, 2) .. t], tempo.ones { floordiv(t + 1, 2) }, { 0, 1, 2, 5 } },
    } do
      gives(e[3], P, (e[1] * e[2]):sum(0), X, { T = 4, w = e[4] })
    end
    for _, bad in ipairs { tempo.zeros { 2 }, x[0 .. t + 1] } do
      is("shape", function() return c + bad end, "(3)")
    end
    is("shape", function() return x[0 .. t + 1] * x[t .. T] end)
  end)

  it("passes drop no check of sizes", function()
    local w, x, c = P:bound "w", series(), P:input("c", { shape = { 3 } })
    for _, e in ipairs {
      { x[0 .. T] + c, { x = { 1 }, c = { 1, 2, 3 } }, { T = 1 } },
        { tempo.ones { w } * tempo.ones { 3 }, {}, { w = 1 } },
      { (tempo.ones({ w + t }, { domain = { t } }) * tempo.ones { t + 3 }):sum(0), {},
        { T = 4, w = 2 } },
      { c * tempo.ones { w }, { c = { 1, 2, 3 } }, { w = 2 } },
    } do
      for _, passes in ipairs { "all", "none" } do
        for _, tier in ipairs { "reference", "interpreter" } do
          is("shape", function()
            P:compile { outputs = { y = e[1] }, tier = tier, passes = passes } (e[2], e[3])
          end)
        end
      end
    end
  end)

  it("one -1 in reshape is the exact quotient", function()
    local a = P:input("a", { shape = { T, 4 } })
    assert.equal("2*T,2", shape(a:reshape { -1, 2 }))
    assert.equal("T,2,2", shape(a:reshape { T, 2, -1 }))
    for _, bad in ipairs { { -1, -1 }, { -1, 3 } } do is("shape", function() a:reshape(bad) end) end
    gives({ { 1, 2 }, { 3, 4 } }, P, a:reshape { -1, 2 }, { a = { { 1, 2, 3, 4 } } }, { T = 1 })
  end)
end)

describe("section 10", function()
  it("an error found at compile names the branch or the read", function()
    local x = series()
    blames("domain", function()
      local y = x * 2
      local z = y[t - 1] -- here
      compile(P, z + 1)
    end, "t = -1")
    blames("domain", function()
      local h = declared()
      h[0] = 1
      h[t] = h[t - 1] +
        x[t + 1] -- here
      compile(P, h)
    end, "'x'")
    blames("undefined", function()
      local h = P:tensor { domain = { t }, name = "hh" } -- here
      h:when(t:gt(2), 1)
      compile(P, h * 1)
    end, "'hh'", "t = 0")
    blames("undefined", function()
      local h = P:tensor { domain = { t }, name = "hh" }
      h[t] = 1
      h[3] = 2 -- here
      compile(P, h)
    end, "'hh'")
    blames("cycle", function()
      local a, b = P:tensor { domain = { t }, name = "aa" },
        P:tensor { domain = { t }, name = "bb" }
      a[t] = b + 1 -- here
      b[t] = a * 2 -- here
      compile(P, a)
    end, "aa", "bb")
  end)

  it("an error found at the call names the read or the operator at fault", function()
    local x = series()
    blames("domain", function()
      local y =
        x[5] -- here
      compile(P, y)({ x = { 1 } }, { T = 1 })
    end, "'x'", "T >= 6")
    blames("shape", function()
      local y = x[0 .. T] + P:input("c", { shape = { P:bound "w" } }) -- here
      compile(P, y)({ x = { 1 }, c = { 1, 2 } }, { T = 1, w = 2 })
    end, "T = 1", "w = 2")
    blames("input", function()
      local y = x[0 .. T]:index_select(0, P:input("k", { shape = { 1 }, dtype = "i64" })) -- here
      compile(P, y)({ x = { 1 }, k = { 5 } }, { T = 1 })
    end, "5")
  end)

  it("an unknown option or name has the nearest", function()
    local x = series()
    for _, e in ipairs {
      { "outputs", function() P:compile { output = { y = x } } end }, { "tier", function()
        P:compile { outputs = { y = x }, tire = "auto" }
      end },
      { "reference", function() P:compile { outputs = { y = x }, tier = "referense" } end },
      { "evolve", function() P:compile { outputs = { y = x }, passes = { evolv = false } } end },
      { "shape", function() P:input("q", { shap = { 1 } }) end }, { "f32", function()
        P:input("q", { dtype = "float32" })
      end },
      { "zeros", function() local _ = tempo.zeroes end },
        { "input", function() local _ = P.inputs end }, { "sum", function() local _ = x.summ end },
    } do
      is("option", e[2], ("'%s'"):format(e[1]))
    end
  end)

  it("after any error the process and every other object stay usable", function()
    local x, h = series(), P:tensor { domain = { t }, name = "h" }
    h[0] = 1
    is("undefined", function() compile(P, h) end)
    is("shape", function() h[t] = { 1, 2 } end)
    is("dtype", function() h[t] = x:to "i32" end)
    is("option", function() h[t] = "a" end)
    is("domain", function() compile(P, x[t + 1]) end)
    is("option", function() P:dim "t" end)
    h[t] = h[t - 1] + x
    local f = compile(P, h)
    is("input", function() f({ x = { 1 } }, { T = 3 }) end)
    is("bound", function() f({ x = { 1 } }, {}) end)
    helper.same({ 1, 3, 6 }, f({ x = { 9, 2, 3 } }, { T = 3 }).y:totable(), 1e-9)
    gives({ 1, 3, 6 }, P, h, { x = { 9, 2, 3 } }, { T = 3 })
  end)
end)

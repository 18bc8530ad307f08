-- Loops of a plan that become one, and rows of them that go over tiles: what the plan says, and
-- that numbers stay what they are.
local tempo = require "tempo"

local function count(text, word)
  local n = 0
  for _ in text:gmatch(word) do n = n + 1 end
  return n
end

-- Both ways to compile outputs of inputs x and y; data from a fixed seed.
local function both(shape, make, options)
  local fs = {}
  for k = 1, 2 do
    local P = tempo.program()
    local x, y = P:input("x", { shape = shape }), P:input("y", { shape = shape })
    fs[k] = P:compile { outputs = make(x, y, P), passes = { fuse = k == 1 },
      check = options and options.check }
  end
  return fs[1], fs[2]
end

local function data(shape)
  local f = tempo.program { seed = 11 }:compile {
    outputs = { x = tempo.normal(shape), y = tempo.uniform(shape) + 0.5 } }
  return f {}
end

-- Numbers of a nested table in order.
local function flat(t, to)
  to = to or {}
  for _, v in ipairs(t) do
    if type(v) == "table" then flat(v, to) else to[#to + 1] = v end
  end
  return to
end

local function same_bits(a, b)
  for name, x in pairs(a) do
    local u, v = flat(x:totable()), flat(b[name]:totable())
    assert.are.equal(#u, #v)
    for i = 1, #u do
      assert(u[i] == v[i] or (u[i] ~= u[i] and v[i] ~= v[i]), name .. " differs at " .. i)
    end
  end
end

describe("loops over the same points", function()
  it("are one, values used twice and comparisons included", function()
    local fused, apart = both({ 40, 30 }, function(x, y)
      local a = x * y + 0.5
      local b = tempo.where(a:gt(x), a * a - x, a)
      return { z = (b - a) * b + a:tanh(), b = b }
    end)
    assert.are.equal(1, count(fused:explain "plan", "\nloop "))
    assert.is_true(count(apart:explain "plan", "\nloop ") > 3)
    local d = data { 40, 30 }
    same_bits(fused(d), apart(d))
  end)

  it("take part in the fold that reads them", function()
    local fused, apart = both({ 64, 50 }, function(x, y)
      return { s = ((x - y) * (x - y)):sum(1) }
    end)
    local text = fused:explain "plan"
    assert.are.equal(1, count(text, "\nloop "))
    assert.is_truthy(text:find("sum a1 = 0 for 50 [sub:f32(i0,i1) mul:f32(m0,m0)]", 1, true))
    local d = data { 64, 50 }
    local a, b = fused(d).s:totable(), apart(d).s:totable()
    for i = 1, #a do assert(math.abs(a[i] - b[i]) <= 1e-5 * math.abs(b[i])) end
    assert.is_true(fused:memory {} < apart:memory {})
  end)

  it("stay apart where one reads what the other makes elsewhere", function()
    local fused, apart = both({ 33 }, function(x, y)
      local a = x * y
      return { z = a + a:flip(0) }
    end)
    assert.is_true(count(fused:explain "plan", "\nloop ") >= 2)
    local d = data { 33 }
    same_bits(fused(d), apart(d))
  end)

  it("stay apart where each is looked at, and say whose NaN it is", function()
    local fused = both({ 4 }, function(x, y)
      return { z = (x - x) / (y - y) + x }
    end, { check = "nan" })
    local ok, why =
      pcall(fused, { x = tempo.array({ 1, 2, 3, 4 }, "f32"),
      y = tempo.array({ 1, 2, 3, 4 }, "f32") })
    assert.is_false(ok)
    assert.is_truthy(tostring(why):find("nan: ", 1, true))
  end)

  it("keep recurrences", function()
    local function make(fuse)
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 7 } })
      local h, c = P:tensor { domain = { t }, shape = { 7 } },
        P:tensor { domain = { t }, shape = { 7 } }
      h[0], c[0] = x[0], x[0] * 2
      c[t] = c[t - 1] * 0.5 + h[t - 1]
      h[t] = (c * x):tanh() + h[t - 1]
      return P:compile { outputs = { h = h, last = c[T - 1] }, passes = { fuse = fuse } }
    end
    local x = tempo.program():compile { outputs = { x = tempo.normal { 20, 7 } } } {}.x
    same_bits(make(true)({ x = x }, { T = 20 }), make(false)({ x = x }, { T = 20 }))
  end)
end)

describe("rows of loops", function()
  it("go over tiles that stay in the cache", function()
    local fused, apart = both({ 512, 256 }, function(x)
      return { p = x:softmax(-1), n = x:layer_norm { 256 } }
    end)
    local text = fused:explain "plan"
    assert.is_truthy(text:find "for tile%d* = 0 .. 16 step 1")
    assert.is_true(fused:memory {} * 1.5 < apart:memory {})
    local d = data { 512, 256 }
    local a, b = fused(d), apart(d)
    for name in pairs(a) do
      local u, v = flat(a[name]:totable()), flat(b[name]:totable())
      for i = 1, #u do assert(math.abs(u[i] - v[i]) <= 2e-6 * (1 + math.abs(v[i])), name) end
    end
  end)

  it("have a rest where the extent has no factor near a tile", function()
    local fused, apart = both({ 509, 256 }, function(x, y)
      return { p = (x * y):max(1, { keepdim = true }) - x }
    end)
    assert.is_truthy(fused:explain("plan"):find("min(32, ", 1, true))
    local d = data { 509, 256 }
    same_bits(fused(d), apart(d))
  end)

  it("leave lines of neighbours whole", function()
    local fused = both({ 4096, 64 }, function(x) return { p = x:softmax(0) } end)
    assert.is_nil(fused:explain("plan"):find "for tile")
  end)

  it("store to so many places and no more", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 3 } })
    local outputs = {}
    for k = 1, 150 do
      local h = P:tensor { domain = { t }, shape = { 3 }, name = "h" .. k }
      h[0] = tempo.zeros { 3 }
      h[t] = h[t - 1] + x * k
      outputs["y" .. k] = h[T - 1]
    end
    local out = P:compile { outputs = outputs,
      tier = "interpreter" }({ x = tempo.array({ { 9, 9, 9 }, { 1, 2, 3 }, { 1, 0, 1 } }, "f32") },
      { T = 3 })
    for k = 1, 150 do assert.same({ 2 * k, 2 * k, 4 * k }, out["y" .. k]:totable()) end
  end)
end)

-- Ranges that are no box: the plan's loop over one is an axis of its only leaf.
describe("a loop around one leaf", function()
  local function loops(f) return select(2, f:explain "plan":gsub("%f[%w]for [%w]+ = ", "")) end
  local function numbers(n)
    local x = {}
    for k = 1, n do x[k] = (k * k * 7) % 23 - 11 end
    return x
  end

  it("folds a window whose width the call gives", function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local w = P:bound "w"
    local x = P:input("x", { domain = { t }, dtype = "i64" })
    local window = x[tempo.max(0, t - w + 1) .. t + 1]
    for name, fold in pairs { sum = function(a, b) return a + b end,
      prod = function(a, b) return a * b end } do
      local f = P:compile { outputs = { y = window[name](window, 0) }, tier = "interpreter" }
      local before = P:compile { outputs = { y = window[name](window, 0) }, tier = "interpreter",
        passes = { fuse = false } }
      assert.equal(loops(before) - 1, loops(f))
      for _, b in ipairs { { T = 0, w = 3 }, { T = 1, w = 1 }, { T = 9, w = 4 }, { T = 9, w = 1 },
        { T = 5, w = 40 } } do
        local row, want = numbers(b.T), {}
        for k = 1, b.T do
          want[k] = row[k]
          for j = math.max(1, k - b.w + 1), k - 1 do want[k] = fold(want[k], row[j]) end
        end
        assert.same(want, f({ x = tempo.array(row, "i64") }, b).y:totable())
      end
    end
  end)

  it("goes over a triangle of elements of their own", function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local s = P:dim("s", "S")
    local x = P:input("x", { domain = { t } })
    local out = (x * x[{ t = s }]):floor()[{ s = 0 .. t + 1 }]
    local f = P:compile { outputs = { sums = out:sum(0), most = out:max(0) }, tier = "interpreter" }
    local row, sums, most = numbers(7), {}, {}
    for k = 1, 7 do
      sums[k], most[k] = 0, -math.huge
      for j = 1, k do
        sums[k] = sums[k] + row[k] * row[j]
        most[k] = math.max(most[k], row[k] * row[j])
      end
    end
    local got = f({ x = row }, { T = 7, S = 7 })
    assert.same(sums, got.sums:totable())
    assert.same(most, got.most:totable())
  end)
end)

describe("what is put together only to be read", function()
  local N = 40

  -- One step of heat on a torus, or between cold walls, as loops in Lua.
  local function stepped(u, wall)
    local v = {}
    for i = 1, N do
      v[i] = {}
      for k = 1, N do
        local function at(a, b)
          if wall and (a < 1 or a > N or b < 1 or b > N) then return 0 end
          return u[(a - 1) % N + 1][(b - 1) % N + 1]
        end
        v[i][k] = u[i][k] + 0.125 * (at(i - 1, k) + at(i + 1, k) + at(i, k - 1) + at(i,
          k + 1) - 4 * u[i][k])
      end
    end
    return v
  end

  local function heat(around, passes, all)
    local P = tempo.program()
    local t, T = P:dim "t"
    local u0 = P:input("u0", { shape = { N, N }, dtype = "f64" })
    local u = P:tensor { domain = { t }, shape = { N, N }, dtype = "f64" }
    u[0] = u0
    local v = u[t - 1]
    local up, down, left, right = around(v)
    u[t] = v + 0.125 * (up + down + left + right - 4 * v)
    return P:compile { outputs = { u = all and u or u[T - 1] }, passes = passes }
  end

  local function rolled(v) return v:roll(1, 0), v:roll(-1, 0), v:roll(1, 1), v:roll(-1, 1) end
  local function walled(v)
    local r, c = v:pad({ 0, 0, 1, 1 }), v:pad({ 1, 1 })
    return r:slice(0, 0, N), r:slice(0, 2, N + 2), c:slice(1, 0, N), c:slice(1, 2, N + 2)
  end

  local function against(f, wall)
    local u = {}
    for i = 1, N do
      u[i] = {}
      for k = 1, N do u[i][k] = (i * 37 + k * 101) % 17 end
    end
    local got = f({ u0 = tempo.array(u, "f64") }, { T = 6 }).u:totable()
    if #got == 6 then got = got[6] end
    for _ = 1, 5 do u = stepped(u, wall) end
    for i = 1, N do
      for k = 1, N do assert(math.abs(u[i][k] - got[i][k]) < 1e-12, i .. ", " .. k) end
    end
  end

  it("is read where it comes from: a stencil on a torus is nine loops and no copy", function()
    local f = heat(rolled)
    local body = f:explain "plan":match "for t1 .-\n}"
    assert.are.equal(9, count(body, "\n  loop "))
    assert.are.equal(9, count(body, "mul:f64[^\n]*mul:f64"))
    against(f, false)
    against(heat(rolled, { fuse = false }), false)
  end)

  it("also where it is numbers", function()
    local f = heat(walled, nil, true)
    assert.is_nil(f:explain "plan":match "for t1 .-\n}":find "for %d+ out b%d+{[^}]*} in b",
      "a copy is left")
    against(f, true)
    against(heat(walled), true)
  end)

  it("keeps its bits, whatever is put together how", function()
    local seed = 7
    local function draw(n)
      seed = (seed * 1103515245 + 12345) % 2147483648
      return math.floor(seed / 65536) % n
    end
    local function expression(x, y, depth)
      if depth == 0 then return draw(2) == 0 and x or y end
      local a, axis = expression(x, y, depth - 1), draw(2)
      local which, n = draw(6), draw(9) - 4
      if which == 0 then return a:roll(n, axis) end
      if which == 1 then
        return a:pad(axis == 0 and { 0, 0, 2, 3 } or { 2, 3 }, n):slice(axis,
          n + 4 > 5 and 5 or n + 4, N + (n + 4 > 5 and 5 or n + 4))
      end
      if which == 2 then
        return tempo.cat({ a:slice(axis, 0, 9), (a * 2):slice(axis, 5, 5 + N - 9) }, axis)
      end
      if which == 3 then return a:slice(axis, n + 4, n + 5):expand(N, N) end
      if which == 4 then return a:flip(axis) + expression(x, y, depth - 1) end
      return a * expression(x, y, depth - 1) + a:roll(1, axis)
    end
    for _ = 1, 40 do
      local at = seed
      local ones, apart = both({ N, N }, function(x, y)
        seed = at
        local z = expression(x, y, 4)
        z = z + x * 0.5
        return { z = z, s = z:sum(1), g = tempo.grad((z * y):sum(), x) }
      end)
      local d = data { N, N }
      local a, b = ones(d), apart(d)
      same_bits({ z = a.z }, { z = b.z })
      for _, name in ipairs { "s", "g" } do
        local u, v = flat(a[name]:totable()), flat(b[name]:totable())
        for i = 1, #u do
          assert(math.abs(u[i] - v[i]) <= 1e-4 * (1 + math.abs(v[i])) or v[i] ~= v[i]
            or math.abs(v[i]) == math.huge, name)
        end
      end
    end
  end)

  it("turn the axis along which a window goes round its ring", function()
    local function sums(n, tick)
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 2 } })
      local h = P:tensor { domain = { t }, shape = { 2 } }
      h[T - 1] = x[tempo.max(0, t - 3) .. tempo.max(0, t - 1)]:mT():sum(1)
      h:otherwise(x)
      local f = P:compile { outputs = { h = h }, tick = tick and t or nil }
      local rows = {}
      for k = 1, n do rows[k] = { k, 10 * k } end
      if not tick then return f({ x = rows }, { T = n }).h[n - 1]:totable() end
      f:start({}, { T = n })
      local done, out
      for k = 1, n do done, out = f:step { x = rows[k] } end
      assert.is_true(done)
      return out.h:totable()
    end
    for n = 2, 12 do
      local s = 0
      for k = math.max(0, n - 4), n - 3 do s = s + k + 1 end
      assert.same({ s, 10 * s }, sums(n, true))
      assert.same({ s, 10 * s }, sums(n, false))
    end
  end)

  -- x[t] and a fifth of the sum of the `last` before: some are kept on a ring
  local function recurrent(n, last, make)
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local h = P:tensor { domain = { t } }
    h[0] = x
    local before = last > 1 and h[tempo.max(0, t - last) .. t]:sum(0) or h[t - 1]
    h[t] = before * 0.2 + x
    local rows, want = {}, {}
    for k = 1, n do
      rows[k] = k * 7 % 11 / 4 - 1
      local s = 0
      for j = math.max(1, k - last), k - 1 do s = s + want[j] end
      want[k] = s * 0.2 + rows[k]
    end
    local f = P:compile { outputs = { y = make(h, t, T, P) }, tier = "interpreter" }
    return f({ x = rows }, { T = n }).y:totable(), want
  end

  local function near(want, got)
    assert(math.abs(want - got) <= 1e-4 * (1 + math.abs(want)), want .. " is not " .. got)
  end

  it("read a ring along each axis of the reader", function()
    local got, h = recurrent(11, 4, function(h, t, T)
      local w = h[tempo.max(0, t - 2) .. tempo.min(t + 3, T)]
      return w:outer(w):unsqueeze(2):prod(1):max(0)
    end)
    for t = 1, 11 do
      local most = -math.huge
      for a = math.max(1, t - 2), math.min(t + 2, 11) do
        local p = 1
        for b = math.max(1, t - 2), math.min(t + 2, 11) do p = p * h[a] * h[b] end
        most = math.max(most, p)
      end
      near(most, got[t][1])
    end
  end)

  it("read a ring from where the piece of a stencil begins", function()
    local M = 400
    local got, h = recurrent(2 * M + 7, 1, function(h, t, _, P)
      local padded = h[t - (M - 1) .. t + 1]:pad { 1, 1 }
      local y = P:tensor { domain = { t }, shape = { M + 1 } }
      y:when(t:ge(M - 1), padded:slice(0, 1) * 2 - padded:slice(0, 0, M + 1))
      y:otherwise(tempo.zeros { M + 1 })
      return y
    end)
    for t = M, 2 * M + 7 do
      for e = 0, M do
        near((e < M and h[t - M + 1 + e] or 0) * 2 - (e > 0 and h[t - M + e] or 0), got[t][e + 1])
      end
    end
  end)
end)

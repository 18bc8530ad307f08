-- f16 and bf16 (docs/language.md, section 4) in everything that is not a plain operator on two
-- tensors: composites against the same program in f64, gradients, state, callbacks, random numbers,
-- optimisers; and that the tiers agree.
local tempo = require "tempo"
local helper = require "spec.helper"
local unpack = table.unpack or unpack       -- luacheck: globals unpack
local num = require "spec.numbers"

local ulp = { f16 = 2 ^ -10, bf16 = 2 ^ -7 }
local function each(f)
  for _, d in ipairs { "f16", "bf16" } do f(d, ulp[d]) end
end

local function flat(v, out)
  out = out or {}
  if type(v) ~= "table" then
    out[#out + 1] = v
  else
    for _, x in ipairs(v) do flat(x, out) end
  end
  return out
end

-- Every number of got within `ulps` of want, relative to it, at least to `least`.
local function near(got, want, unit, ulps, least, what)
  got, want = flat(helper.plain(got)), flat(helper.plain(want))
  assert.equal(#want, #got)
  for i, w in ipairs(want) do
    local ok = got[i] == w or (w ~= w and got[i] ~= got[i])
      or math.abs(got[i] - w) <= ulps * unit * math.max(math.abs(w), least)
    if not ok then error(("%s: value %d is %.9g, not %.9g"):format(what, i, got[i], w), 2) end
  end
end

-- Composites round once: they compute in f32. Each: f(x), ulps of the value, ulps of the gradient
-- (which is rounded at each of its own steps).
local composites = {
  softmax = { function(x) return x:softmax(-1) end, 1, 8 },
    log_softmax = { function(x) return x:log_softmax(-1) end, 1, 8 },
  logsumexp = { function(x) return x:logsumexp(1) end, 1, 8 },
    mean = { function(x) return x:mean() end, 1, 2 },
  sum = { function(x) return x:sum(0) end, 1, 1 },
  var = { function(x) return x:var(1) end, 1, 8 }, std = { function(x) return x:std(0) end, 1, 8 },
    norm = { function(x) return x:norm(1) end, 1, 8 },
  prod = { function(x) return x:prod(1) end, 1, 24 },
    max = { function(x) return x:max(1) end, 0, 0 }, min = { function(x) return x:min() end, 0, 0 },
  cumsum = { function(x) return x:cumsum(1) end, 1, 1 },
    cumprod = { function(x) return x:cumprod(1) end, 1, 24 },
  discounted = { function(x) return x:discounted_cumsum(0.9, 1) end, 1, 2 },
  gelu = { function(x) return x:gelu() end, 1, 8 },
    silu = { function(x) return x:silu() end, 1, 8 },
    elu = { function(x) return x:elu() end, 1, 8 },
  softplus = { function(x) return x:softplus() end, 1, 8 },
    relu = { function(x) return x:relu() end, 0, 0 },
  leaky = { function(x) return x:leaky_relu() end, 1, 2 },
  layer_norm = { function(x) return x:layer_norm() end, 1, 24 },
    rms_norm = { function(x) return x:rms_norm() end, 1, 24 },
  sort = { function(x) return (x:sort(1)) end, 0, 0 },
    topk = { function(x) return (x:topk(2, 1)) end, 0, 0 },
  gather = { function(x)
    return x:gather(1, tempo.array({ { 0, 2 }, { 1, 1 }, { 3, 0 } }, "i64"))
  end, 0, 1 },
  index_select = { function(x)
    return x:index_select(0, tempo.array({ 2, 0, 2, 2 }, "i64"))
  end, 0, 1 },
  clamp = { function(x)
    return x:clamp(-0.5, 0.75)
  end, 0, 0 }, pad = { function(x) return x:pad { 1, 2 } end, 0, 0 },
  flip = { function(x) return x:flip(1) end, 0, 0 },
  roll = { function(x) return x:roll(1, 0) end, 0, 0 },
    tril = { function(x) return x:tril() end, 0, 0 },
  matmul = { function(x) return x:matmul(x:mT()) end, 1, 3 }, einsum = { function(x)
    return tempo.einsum("ij,kj->ik", x, x)
  end, 1, 3 },
  mse = { function(x) return x:mse_loss(x * 0.5) end, 2, 8 },
    exp = { function(x) return x:exp() end, 1, 3 },
    tanh = { function(x) return x:tanh() end, 1, 8 },
  sin = { function(x) return x:sin() end, 1, 3 },
    sqrt = { function(x) return x:abs():sqrt() end, 1, 4 },
    erf = { function(x) return x:erf() end, 1, 8 },
  log2 = { function(x) return (x:abs() + 1):log2() end, 2, 8 },
}

describe("a 16-bit float", function()
  for name, c in pairs(composites) do
    it("in " .. name .. ", with its gradient", function()
      each(function(d, unit)
        local r, rows = helper.rng(7), {}
        for i = 1, 3 do
          rows[i] = {}
          for j = 1, 4 do rows[i][j] = num.round(r() * 1.5, d) end
        end
        local out = {}
        for _, dtype in ipairs { d, "f64" } do
          local P = tempo.program()
          local x = P:input("x", { shape = { 3, 4 }, dtype = dtype })
          local y = c[1](x)
          local grad = tempo.grad(y:sum(), { x })[1]
          assert.equal(dtype, y:dtype())
          assert.equal(dtype, grad:dtype())
          for _, tier in ipairs(helper.tiers) do
            out[dtype .. tier] = P:compile { outputs = { y = y, grad = grad },
              tier = tier } { x = rows }
          end
        end
        for _, tier in ipairs(helper.tiers) do
          near(out[d .. tier].y, out.f64reference.y, unit, c[2], 2 ^ -4,
            ("%s of %s on %s"):format(name, d, tier))
          near(out[d .. tier].grad, out.f64reference.grad, unit, c[3], 1,
            ("gradient of %s of %s on %s"):format(name, d, tier))
        end
      end)
    end)
  end

  it("in recurrences rounds at each step, alike in both tiers", function()
    each(function(d)
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 3 }, dtype = d })
      local h = P:tensor { domain = { t }, shape = { 3 }, dtype = d }
      h[0] = x
      h[t] = h[t - 1] * 0.9 + x[t]
      local loss = (h[T - 1] * h[T - 1]):sum()
      local g = tempo.grad(loss, { x })[1]
      local rows, want = helper.numbers({ 20, 3 }, helper.rng(3)), {}
      local out
      for _, tier in ipairs(helper.tiers) do
        local now = P:compile { outputs = { h = h, g = g }, tier = tier }({ x = rows }, { T = 20 })
        assert.equal(d, now.g:dtype())
        if out then
          assert.same({ out.h:totable(), out.g:totable() }, { now.h:totable(), now.g:totable() })
        end
        out = now
      end
      local factor = num.round(0.9, d)
      for j = 1, 3 do want[j] = num.round(rows[1][j], d) end
      for i = 2, 20 do
        for j = 1, 3 do
          want[j] = num.round(num.round(want[j] * factor, d) + num.round(rows[i][j], d), d)
        end
      end
      assert.same(want, out.h:totable()[20])
    end)
  end)

  it("goes through callbacks, constants, parameters and state", function()
    each(function(d)
      for _, tier in ipairs(helper.tiers) do
        local P = tempo.program()
        local i, N = P:dim "i"
        local seen = {}
        local w = P:param("w",
          { along = { i }, shape = { 2 }, dtype = d, init = tempo.array({ 1, 0.1 }, d) })
        local y = P:call(function(a)
          seen[#seen + 1] = { a[1]:dtype(), a[1]:get(1) }
          return { a[1]:get(0) + 1, 1 / 3 }
        end, { w }, { { shape = { 2 }, dtype = d, domain = { i } } })
        w:update(w + y * tempo.array({ 1, 2 }, d))
        local f = P:compile { outputs = { y = y, last = w[N - 1] }, tier = tier }
        local out = f({}, { I = 3 })
        local third, b = num.round(1 / 3, d), num.round(0.1, d)
        assert.same({ d, b }, seen[1])
        for _ = 1, 3 do b = num.round(b + num.round(third * 2, d), d) end
        assert.same({ 15, b }, f:params().w:totable())
        assert.equal(d, f:params().w:dtype())
        assert.same({ 2, third }, out.y:totable()[1])
        assert.equal(d, out.last:dtype())
        f:load_params { w = tempo.array({ 4, 4 }, d) }
        assert.same({ 5, third }, f({}, { I = 1 }).y:totable()[1])
        helper.fails(function() f:load_params { w = tempo.array({ 4, 4 }, "f32") } end, "dtype")
      end
    end)
  end)

  it("trains by Adam: moments in f32, the update rounded once", function()
    each(function(d)
      local losses = {}
      for _, dtype in ipairs { d, "f32" } do
        local P = tempo.program()
        local i = P:dim "i"
        local w = P:param("w",
          { along = { i }, shape = { 4 }, dtype = dtype,
          init = tempo.zeros({ 4 }, { dtype = dtype }) })
        local loss = (w - tempo.array({ 1, -2, 0.5, 3 }, dtype)):square():sum()
        tempo.optim.Adam({ w }, { lr = 0.05 }):step(loss)
        local f = P:compile { outputs = { loss = loss } }
        local out = f({}, { I = 120 }).loss
        losses[dtype] = out[119]
        for name, a in pairs(f:params()) do
          assert.equal(name == "w" and dtype or name:find "steps" and "f64" or "f32", a:dtype())
        end
      end
      assert.is_true(losses[d] < 0.1 and math.abs(losses[d] - losses.f32) < 0.1)
    end)
  end)

  it("is what the other 16-bit float is not: together they are f32, and a branch converts neither",
    function()
    local P = tempo.program()
    local t = P:dim "t"
    local a, b = P:input("a", { dtype = "f16" }), P:input("b", { dtype = "bf16" })
    assert.equal("f32", (a + b):dtype())
    assert.equal("f32", tempo.where(a:lt(b), a, b):dtype())
    helper.same(1 + 2 ^ -10 + 2 ^ 30, helper.value(P, a + b, { a = 1 + 2 ^ -10, b = 2 ^ 30 }))
    local h = P:tensor { domain = { t }, dtype = "f16" }
    helper.fails(function() h[0] = b end, "dtype", "bf16")
    helper.fails(function()
      P:compile { outputs = { a = a } } { a = tempo.array(1, "f32") }
    end, "dtype")
  end)

  it("is drawn below 1", function()
    each(function(d)
      local P = tempo.program()
      local u = tempo.uniform({ 20000 }, { dtype = d, name = "u" })
      local n = tempo.normal({ 2000 }, { dtype = d, name = "n" })
      local out = helper.run(P,
        { most = u:max(), least = u:min(), mean = u:to("f32"):mean(), n = n:to("f32"):std() }, {})
      assert.equal(1 - (d == "f16" and 2 ^ -11 or 2 ^ -8), out.most)
      assert.equal(0, out.least)
      helper.same({ 0.5, 1 }, { out.mean, out.n }, 0.03)
    end)
  end)
end)

describe("NaN in", function()
  for _, d in ipairs { "f16", "bf16", "f32", "f64" } do
    it(d .. " wins in max and min, is last in sort both ways, and is found by argmax", function()
      local nan = 0 / 0
      local P = tempo.program()
      local x = P:input("x", { shape = { 5 }, dtype = d })
      local up, upi = x:sort()
      local down, downi = x:sort(0, { descending = true })
      local out = helper.run(P,
        { max = x:max(), min = x:min(), at = x:argmax(), low = x:argmin(), up = up, upi = upi,
        down = down, downi = downi,
        any = x:any(), cummax = x:maximum(0), lt = x:lt(0), ne = x:ne(x),
          where = tempo.where(x:ne(x), 0, x) }, { x = { 2, nan, -1, math.huge, nan } })
      helper.same({ nan, nan, 1, 1, true }, { out.max, out.min, out.at, out.low, out.any })
      helper.same({ -1, 2, math.huge, nan, nan }, out.up)
      helper.same({ math.huge, 2, -1, nan, nan }, out.down)
      helper.same({ { 2, 0, 3, 1, 4 }, { 3, 0, 2, 1, 4 } }, { out.upi, out.downi })
      helper.same({ 2, nan, 0, math.huge, nan }, out.cummax)
      helper.same({ { false, false, true, false, false }, { false, true, false, false, true } },
        { out.lt, out.ne })
      helper.same({ 2, 0, -1, math.huge, 0 }, out.where)
    end)
  end
end)

-- ---- run-time errors name the point ----

describe("an error while running names the point, at", function()
  local rows = {}
  for k = 1, 6 do rows[k] = { k, k + 1, k + 2 } end

  local function point(build, divisors, text, where)
    for _, tier in ipairs(helper.tiers) do
      local P = tempo.program()
      local t, T = P:dim "t"
      local a = P:input("a", { domain = { t }, dtype = "i64", shape = { 3 } })
      local b = P:input("b", { domain = { t }, dtype = "i64", shape = { 3 } })
      local f = P:compile { outputs = { y = build(P, a, b, t, T) }, tier = tier }
      helper.fails(function()
        f({ a = rows, b = divisors }, { T = 6 })
      end, "input", where or "at t = 4", text)
    end
  end

  local function with(v)
    local t = helper.fill({ 6, 3 }, function() return 2 end)
    t[5][3] = v
    return t
  end

  it("a division by 0, in a batch and in a recurrence", function()
    point(function(_, a, b) return (a + 1):floordiv(b) + 2 end, with(0), "integer division by zero")
    point(function(_, a, b) return a % (b - 1) end, with(1), "integer division by zero")
    point(function(P, a, b, t)
      local h = P:tensor { domain = { t }, dtype = "i64", shape = { 3 } }
      h[0] = a
      h[t] = (h[t - 1] + a):floordiv(b) + h[t - 1]
      return h
    end, with(0), "integer division by zero")
  end)

  it("a division by 0 under sums, windows, shifts and matrix products", function()
    local text = "integer division by zero"
    point(function(_, a, b, _, T) return a:floordiv(b)[0 .. T]:sum(0) end, with(0), text)
    point(function(_, a, b, t)
      return a:floordiv(b)[tempo.max(0, t - 2) .. t + 1]:max(0)
    end, with(0), text)
    point(function(_, a, b)
      return (a % b):matmul(tempo.ones({ 3, 2 }, { dtype = "i64" }))
    end, with(0), text)
    point(function(P, a, b, t, T)
      local h = P:tensor { domain = { t }, dtype = "i64", shape = { 3 } }
      h[0] = a
      h[t] = (a % b)[t - 1] + 1
      return h[0 .. T]:sum(0)
    end, with(0), text)
  end)

  it("a negative exponent, an index outside, arg max of nothing", function()
    point(function(_, a, b) return a ^ b end, with(-1), "negative exponent")
    point(function(_, a, b)
      return a:index_select(0, b:select(0, 2))
    end, with(3), "index 3 is outside 0 .. 2")
    point(function(_, a, b) return a:gather(0, b) end, with(7), "index 7 is outside 0 .. 2")
    point(function(_, a, b)
      return a:scatter_add(0, b, a)
    end, with(-1), "index -1 is outside 0 .. 2")
    point(function(_, a, _, t)
      return a[0 .. t]:argmax(0)
    end, with(2), "argmax of an empty range", "at t = 0")
    point(function(_, a, _, t, T)
      return a[t + 1 .. T]:max(0)
    end, with(2), "max of an empty range", "at t = 5")
  end)

  it("two dims", function()
    for _, tier in ipairs(helper.tiers) do
      local P = tempo.program()
      local b, t = P:dim "b", P:dim "t"
      local x = P:input("x", { domain = { b, t }, dtype = "i32" })
      local y = P:input("y", { domain = { t }, dtype = "i32" })
      local f = P:compile { outputs = { q = (x * 2):floordiv(x + y) }, tier = tier }
      local v = helper.fill({ 3, 5 }, function() return 1 end)
      v[3][2] = -7
      helper.fails(function()
        f({ x = v, y = { 7, 7, 7, 7, 7 } }, { B = 3, T = 5 })
      end, "at b = 2, t = 1: integer division by zero")
    end
  end)
end)

-- ---- axes ----

describe("sixteen axes", function()
  local shape = {}
  for i = 1, 15 do shape[i] = i == 3 and 2 or 1 end

  it("are as many as an array has: more is an error when the program is made", function()
    local P = tempo.program()
    local t = P:dim "t"
    local i, N = P:dim "i"
    local x = P:input("x", { domain = { t }, shape = shape })
    helper.fails(function()
      P:input("y", { domain = { t, i }, shape = shape })
    end, "shape", "17 axes")
    local y = x * (i:value():to "f32" + 1)
    for _, tier in ipairs(helper.tiers) do
      helper.fails(function()
        P:compile { outputs = { y = y }, tier = tier }
      end, "shape", "'y'", "17 axes")
      -- inside a program a value may have more dims than an array
      local f = P:compile { outputs = { s = y[{ i = 0 .. N }]:sum(0) }, tier = tier }
      local out = f(
        { x = tempo.array(string.rep(string.char(0, 0, 128, 63), 6), "f32", { 3, unpack(shape) }) },
        { T = 3, I = 2 }).s
      assert.equal(16, #out:shape())
      assert.same({ 3, 3, 3, 3, 3, 3 }, flat(out:totable()))
    end
  end)
end)

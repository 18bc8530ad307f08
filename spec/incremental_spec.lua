-- The pass incremental: reductions over ranges that grow, shrink or slide are recurrences. Numbers
-- are held to plain Lua, to the reference tier and to the same program without the pass; work is
-- counted.
local tempo = require "tempo"

local work = require("spec.helper").work

-- Numbers with signs and sizes of all kinds, always the same.
local function sample(n, seed)
  local v, s = {}, seed or 7
  for k = 1, n do
    s = (s * 16807) % 2147483647
    v[k] = (s % 2001 - 1000) / 64
  end
  return v
end

local ranges = {
  grows = function(x, t) return x[0 .. t + 1] end,
  ["grows behind"] = function(x, t) return x[0 .. t] end,
  ["grows ahead"] = function(x, t, T) return x[0 .. tempo.min(t + 3, T)] end,
  ["grows from 2"] = function(x, t, T) return x[tempo.min(2, T) .. t + 1] end,
  ["grows two behind"] = function(x, t) return x[0 .. tempo.max(t - 2, 0)] end,
  shrinks = function(x, t, T) return x[t .. T] end,
  ["shrinks behind"] = function(x, t, T) return x[tempo.max(0, t - 2) .. T] end,
  ["shrinks to T - 1"] = function(x, t, T) return x[t .. T - 1] end,
  ["shrinks two ahead"] = function(x, t, T) return x[tempo.min(t + 2, T) .. T] end,
  ["slides to t"] = function(x, t) return x[tempo.max(0, t - 4) .. t + 1] end,
  ["slides before t"] = function(x, t) return x[tempo.max(0, t - 7) .. tempo.max(0, t - 1)] end,
  ["slides from t"] = function(x, t, T) return x[t .. tempo.min(t + 8, T)] end,
  ["slides after t"] = function(x, t, T) return x[tempo.min(t + 2, T) .. tempo.min(t + 13, T)] end,
  ["slides around t"] = function(x, t, T) return x[tempo.max(0, t - 3) .. tempo.min(t + 4, T)] end,
  ["slides by two"] = function(x, t) return x[tempo.max(0, t - 1) .. t + 1] end,
}

-- lo, hi of these, t and T given.
local ends = {
  grows = function(t) return 0, t + 1 end,
  ["grows behind"] = function(t) return 0, t end,
  ["grows ahead"] = function(t, T) return 0, math.min(t + 3, T) end,
  ["grows from 2"] = function(t, T) return math.min(2, T), t + 1 end,
  ["grows two behind"] = function(t) return 0, math.max(t - 2, 0) end,
  shrinks = function(t, T) return t, T end,
  ["shrinks behind"] = function(t, T) return math.max(0, t - 2), T end,
  ["shrinks to T - 1"] = function(t, T) return t, T - 1 end,
  ["shrinks two ahead"] = function(t, T) return math.min(t + 2, T), T end,
  ["slides to t"] = function(t) return math.max(0, t - 4), t + 1 end,
  ["slides before t"] = function(t) return math.max(0, t - 7), math.max(0, t - 1) end,
  ["slides from t"] = function(t, T) return t, math.min(t + 8, T) end,
  ["slides after t"] = function(t, T) return math.min(t + 2, T), math.min(t + 13, T) end,
  ["slides around t"] = function(t, T) return math.max(0, t - 3), math.min(t + 4, T) end,
  ["slides by two"] = function(t) return math.max(0, t - 1), t + 1 end,
}

local folds = {
  sum = { 0, function(a, b) return a + b end },
  prod = { 1, function(a, b) return a * b end },
  max = { -math.huge, function(a, b) return (a ~= a or a > b) and a or b end },
  min = { math.huge, function(a, b) return (a ~= a or a < b) and a or b end },
}

local function folded(of, v, lo, hi)
  local y = folds[of][1]
  for k = lo, hi - 1 do
    local b = v[k + 1]
    y = (b ~= b or y ~= y) and 0 / 0 or folds[of][2](y, b)
  end
  return y
end

local function flat(v, to)
  for _, e in ipairs(v) do
    if type(e) == "table" then flat(e, to) else to[#to + 1] = e end
  end
  return to
end

local function close(want, got, rel, what)
  if want ~= want then assert.is_true(got ~= got, what) return end
  if want == got then return end
  assert.is_true(math.abs(want - got) <= rel * math.max(math.abs(want), 1),
    ("%s: %.9g for %.9g"):format(what, got, want))
end

describe("incremental", function()
  for name, range in pairs(ranges) do
    for of in pairs(folds) do
      it(of .. " of what " .. name .. " is what plain Lua makes of it", function()
        local P = tempo.program()
        local t, T = P:dim "t"
        local x = P:input("x", { domain = { t }, dtype = "f64" })
        local f = P:compile { outputs = { y = range(x, t, T)[of](range(x, t, T), 0) },
          tier = "interpreter" }
        for _, n in ipairs { 0, 1, 2, 3, 9 } do
          local v = sample(n)
          local y = f({ x = tempo.array(v, "f64", { n }) }, { T = n }).y
          for k = 0, n - 1 do
            local lo, hi = ends[name](k, n)
            close(folded(of, v, lo, hi), y:get(k), 1e-12,
              of .. " " .. name .. " " .. k .. " of " .. n)
          end
        end
      end)
    end

    if not name:find "slides" then it("work for what " .. name .. " is linear", function()
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t } })
      local r = range(x, t, T)
      local outputs = { s = r:sum(0), m = r:max(0), p = r:square():mean(0), a = r:gt(2):any(0) }
      local f = P:compile { outputs = outputs, tier = "interpreter" }
      local g = P:compile { outputs = outputs, tier = "interpreter",
        passes = { incremental = false } }
      assert.is_true(work(f, { T = 2000 }) < 4.2 * work(f, { T = 500 }))
      assert.is_true(work(g, { T = 2000 }) > 12 * work(g, { T = 500 }))
      assert.is_true(f:memory { T = 4000 } <= g:memory { T = 4000 })
    end) end
  end

  it("derivatives are sums of those whose ranges hold the point, in linear work", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x, w = P:input("x", { domain = { t }, dtype = "f64" }),
      P:input("w", { domain = { t }, dtype = "f64" })
    -- d/dx[p] of sum_t w[t] y[t]: y the prefix sum, the suffix sum of squares, and mean((x -
    -- mean)^2) n of the prefix, in f32
    local z = x:to "f32"
    local r = z[0 .. t + 1]
    local outputs = {
      a = tempo.grad(w * x[0 .. t + 1]:sum(0), { x })[1],
      b = tempo.grad(w * x[t .. T]:square():sum(0), { x })[1],
      c = tempo.grad(w:to "f32" * (r - r:mean(0):detach()):square():sum(0), { x })[1],
    }
    local f = P:compile { outputs = outputs, tier = "interpreter" }
    for _, n in ipairs { 1, 2, 7, 30 } do
      local v, u = sample(n), sample(n, 5)
      local got = f({ x = v, w = u }, { T = n })
      for p = 1, n do
        local a, b, c, mean = 0, 0, 0, 0
        for k = p, n do a = a + u[k] end
        for k = 1, p do b = b + 2 * v[p] * u[k] end
        for k = 1, n do
          mean = mean + v[k]
          if k >= p then c = c + 2 * u[k] * (v[p] - mean / k) end
        end
        close(a, got.a:get(p - 1), 1e-12, "prefix " .. p)
        close(b, got.b:get(p - 1), 1e-12, "suffix " .. p)
        close(c, got.c:get(p - 1), 1e-5, "deviation " .. p)
      end
    end
    for name, y in pairs(outputs) do
      if name ~= "c" then
        local g = P:compile { outputs = { y = y }, tier = "interpreter" }
        assert.is_true(work(g, { T = 4000 }) < 4.2 * work(g, { T = 1000 }), name)
      end
    end
  end)

  -- Deviations and exponentials, their derivatives: against the reference, and counted.
  local function statistics()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x, v = P:input("x", { domain = { t } }), P:input("v", { domain = { t }, shape = { 2 } })
    local r, q = x[0 .. t + 1], x[t .. T]
    local weighed = (r:softmax(0):unsqueeze(1) * v[0 .. t + 1]):sum(0)
    local outputs = {
      var = r:var(0), std = q:std(0), all = q:var(0, { correction = 0 }), lse = r:logsumexp(0),
        lse_ahead = q:logsumexp(0), weighed = weighed,
      norm = r:norm(0), around = (q - x):square():sum(0),
    }
    outputs.dvar = tempo.grad(outputs.all * x:detach(), { x })[1]
    outputs.dlse = tempo.grad(outputs.lse * x:detach(), { x })[1]
    outputs.dv = tempo.grad((weighed * v:detach()):sum(), { v })[1]
    return P, outputs
  end

  it("variances, logsumexp and softmax-weighted sums are what the reference says, NaN and infinities too", function()
    local P, outputs = statistics()
    local f, g = P:compile { outputs = outputs, tier = "interpreter" },
      P:compile { outputs = outputs, tier = "reference" }
    local inf, nan = math.huge, 0 / 0
    local plain = sample(17)
    local far = {}
    for k, a in ipairs(plain) do far[k] = 30000 + a end
    local kinds = { {}, { 3 }, plain, far, { 1, 2, nan, 4 }, { -inf, -inf, 1, 2 }, { 1, inf, 2 },
      { -inf, 5, -inf, 90, -90 } }
    for j, a in ipairs(kinds) do
      local n = #a
      local arrays = { x = tempo.array(a, "f32", { n }),
        v = tempo.array(sample(2 * n, 3), "f32", { n, 2 }) }
      local got, want = f(arrays, { T = n }), g(arrays, { T = n })
      for name in pairs(outputs) do
        -- a mean that is rounded to f32 first is all the reference has, far from 0
        local rel = a == far and name:find "var" and 1e-2 or 1e-4
        local said = flat(want[name]:totable(), {})
        for k, y in ipairs(flat(got[name]:totable(), {})) do
          close(said[k], y, rel, name .. " " .. k .. " of " .. j)
        end
      end
    end
  end)

  it("work for variances, logsumexp and softmax-weighted sums is linear", function()
    local P, outputs = statistics()
    for name, y in pairs(outputs) do
      local f = P:compile { outputs = { y = y }, tier = "interpreter" }
      assert.is_true(work(f, { T = 4000 }) < 4.2 * work(f, { T = 1000 }), name)
    end
  end)

  it("derivatives of variances in f64 are as near as those without the pass, far from 0 too, in linear work", function()
    local n = 400
    local u = sample(n, 5)
    local seen = { grows = function(p) return p, n, 1 end,
      shrinks = function(p) return 1, p, n end }
    for name, bounds in pairs(seen) do
      local P = tempo.program()
      local t, T = P:dim "t"
      local x, w = P:input("x", { domain = { t }, dtype = "f64" }),
        P:input("w", { domain = { t }, dtype = "f64" })
      local r = name == "grows" and x[0 .. t + 1] or x[t .. T]
      local d = tempo.grad(r:var(0, { correction = 0 }) * w, { x })[1]
      local f = P:compile { outputs = { d = d }, tier = "interpreter" }
      for _, far in ipairs { 0, 1e8 } do
        local v, shifted = sample(n), {}
        for k, a in ipairs(v) do shifted[k] = a + far end       -- exactly: a is a few 64ths
        local got = f({ x = tempo.array(shifted, "f64"), w = tempo.array(u, "f64") }, { T = n }).d
        for p = 1, n, 7 do
          local lo, hi, from = bounds(p)
          local want, size, weights = 0, 0, 0
          for k = lo, hi do
            local sum, count = 0, math.abs(k - from) + 1
            for j = math.min(k, from), math.max(k, from) do sum = sum + v[j] end
            local term = 2 * u[k] / count * (v[p] - sum / count)
            want, size, weights = want + term, size + math.abs(term),
              weights + 2 * math.abs(u[k]) / count
          end
          -- a mean is as near as numbers of its size are to each other
          local near = 1e-13 * size + 1e-14 + 4e-16 * far * weights
          assert.is_true(math.abs(got:get(p - 1) - want) <= near, name .. " " .. far .. " " .. p)
        end
      end
      assert.is_true(work(f, { T = 4000 }) < 4.3 * work(f, { T = 1000 }), name)
    end
  end)

  it("derivatives of softmax-weighted sums by what the weights are of lose little far from 0",
    function()
    local function derivative(of, dtype, tier)
      local P = tempo.program()
      local t, T = P:dim "t"
      local v = P:input("v", { domain = { t }, shape = { 3 }, dtype = dtype })
      local q = P:input("q", { domain = {}, shape = { 3 }, dtype = dtype })
      local r = ({ grows = v[0 .. t + 1], shrinks = v[t .. T],
        slides = v[tempo.max(0, t - 2) .. t + 1] })[of]
      local y = r:matmul(q):softmax(0):matmul(r)
      return P:compile { outputs = { by = tempo.grad(y:sum(), { q })[1] }, tier = tier }
    end
    local function inputs(dtype)
      local a = sample(900)
      for k, y in ipairs(a) do a[k] = 400 + math.floor(y * 64) / 256 end
      return { v = tempo.array(a, dtype, { 300, 3 }),
        q = tempo.array({ 0.25, -0.125, 0.5 }, dtype, { 3 }) }
    end
    for _, of in ipairs { "grows", "shrinks", "slides" } do
      local got = derivative(of, "f32", "interpreter")(inputs "f32", { T = 300 }).by
      local want = derivative(of, "f64", "reference")(inputs "f64", { T = 300 }).by
      for k = 0, 2 do
        assert.is_true(math.abs(got:get(k) - want:get(k)) < 0.005 * math.abs(want:get(k)),
          of .. " " .. k)
      end
    end
  end)

  it("derivatives of histories, second derivatives: the reference's, and linear work", function()
    for _, dtype in ipairs { "f32", "f64" } do
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 3 }, dtype = dtype })
      local h, q = x[0 .. t + 1], x[t .. T]
      local outer = h:mT():matmul(h)
      local outputs = {
        einsum = tempo.einsum("ti,tj->ij", h, h),
        history = tempo.grad(outer:square():sum(), { x })[1],
        ahead = tempo.grad(tempo.einsum("ti,tj->ij", q, q):sin():sum(), { x })[1],
      }
      local function twice(y)
        local g = tempo.grad(y * y, { x })[1]
        return tempo.grad((g * g):sum(), { x })[1]
      end
      outputs.squares = twice(h:square():sum())
      local f, g = P:compile { outputs = outputs, tier = "interpreter" },
        P:compile { outputs = outputs, tier = "reference" }
      for _, n in ipairs { 1, 2, 3, 17 } do
        local a = { x = tempo.array(sample(3 * n), dtype, { n, 3 }) }
        local got, want = f(a, { T = n }), g(a, { T = n })
        for name in pairs(outputs) do
          local said, size = flat(want[name]:totable(), {}), 1
          for _, y in ipairs(said) do size = math.max(size, math.abs(y)) end
          local made, rel = flat(got[name]:totable(), {}), dtype == "f32" and 1e-5 or 1e-13
          for k, y in ipairs(made) do
            close(said[k] / size, y / size, rel, name .. " " .. k .. " of " .. n)
          end
        end
      end
      for name, y in pairs(outputs) do
        local one = P:compile { outputs = { y = y }, tier = "interpreter" }
        assert.is_true(work(one, { T = 4000 }) < 4.3 * work(one, { T = 1000 }),
          name .. " " .. dtype)
      end
    end
  end)

  it("statistics over the range and axes of its rows are the reference's, and linear work",
    function()
    local inf, nan = math.huge, 0 / 0
    -- one of nothing but -inf, the others far below 0: exp(0 - largest) would be infinite
    local columns = {}
    for k = 1, 36 do columns[k] = k % 3 == 1 and -inf or -3000 + k / 8 end
    for _, dtype in ipairs { "f32", "f64" } do
      local P = tempo.program()
      local t, T = P:dim "t"
      local w = P:bound "w"
      local x = P:input("x", { domain = { t }, shape = { 3 }, dtype = dtype })
      local outputs = {}
      local some = { grows = x[0 .. t + 1], before = x[0 .. t], shrinks = x[t .. T],
        slides = x[tempo.max(0, t - 4) .. t + 1], rings = x[tempo.max(0, t - w + 1) .. t + 1] }
      for name, r in pairs(some) do
        outputs[name .. "_lse"] = r:logsumexp { 0, 1 }
        outputs[name .. "_var"] = r:var({ 0, 1 }, { correction = 0 })
        outputs[name .. "_std"] = r:std({ 0, 1 }, { keepdim = true })
        outputs[name .. "_soft"] = (r - r:max { 0, 1 }):exp():sum { 0, 1 }
      end
      local f, g = P:compile { outputs = outputs, tier = "interpreter" },
        P:compile { outputs = outputs, tier = "reference" }
      local odd = sample(36)
      odd[7], odd[20] = nan, inf
      for _, v in ipairs { sample(3), sample(6), sample(36), columns, odd } do
        local n = math.floor(#v / 3)
        for _, width in ipairs { 3, 20 } do
          local a = { x = tempo.array(v, dtype, { n, 3 }) }
          local got, want = f(a, { T = n, w = width }), g(a, { T = n, w = width })
          for name in pairs(outputs) do
            local said = flat(want[name]:totable(), {})
            for k, y in ipairs(flat(got[name]:totable(), {})) do
              close(said[k], y, dtype == "f32" and 3e-4 or 1e-10, name .. " " .. k .. " of " .. n)
            end
          end
        end
      end
      assert.is_true(work(f, { T = 4000, w = 64 }) < 4.3 * work(f, { T = 1000, w = 64 }))
      assert.is_true(work(f, { T = 4000, w = 512 }) < 1.1 * work(f, { T = 4000, w = 64 }))
    end
  end)

  it("windows go over blocks, round the rings that these lie on: what is kept does not grow",
    function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local z, outputs = x:tanh(), {}
    for _, w in ipairs { 2, 7, 64, 100 } do
      outputs["p" .. w] = z[tempo.max(0, t - w + 1) .. t + 1]:sum(0)
      outputs["m" .. w] = z[tempo.max(0, t - w + 1) .. t + 1]:max(0)
    end
    local ahead = { n = z[t .. tempo.min(t + 50, T)]:sum(0),
      l = z[t .. tempo.min(t + 5, T)]:min(0) }
    for _, some in ipairs { outputs, ahead } do
      local f = P:compile { outputs = some, tier = "interpreter" }
      local g = P:compile { outputs = some, tier = "interpreter",
        passes = { incremental = false, tile = false } }
      assert.equal(f:memory { T = 1e5 }, f:memory { T = 1e6 })
      assert.is_true(work(f, { T = 1e5 }) < 26 * 1e5 * 8)
      for _, n in ipairs { 1, 63, 4097, 9000 } do
        local v = { x = tempo.array(sample(n), "f32", { n }) }
        local got, want = f(v, { T = n }), g(v, { T = n })
        for name in pairs(some) do
          for k = 0, n - 1 do
            close(want[name]:get(k), got[name]:get(k), 2e-5, name .. " " .. k .. " of " .. n)
          end
        end
      end
    end
  end)

  it("precise leaves an infinite factor inside the sum, where it makes NaN of 0", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x, h = P:input("x", { domain = { t }, shape = {} }),
      P:input("h", { domain = { t }, shape = {} })
    local y = (x[0 .. t + 1] * h):sum(0)
    local function last(options)
      options.outputs = { y = y[T - 1] }
      return P:compile(options)({ x = { 1, 0, 2 }, h = { 1, 1, math.huge } }, { T = 3 }).y:item()
    end
    for _, options in ipairs { { tier = "reference" }, { tier = "interpreter", precise = true },
                               { tier = "interpreter", passes = { incremental = false } } } do
      local got = last(options)
      assert.is_true(got ~= got)
    end
    assert.equal(math.huge, last { tier = "interpreter" })
  end)

  it("precise leaves sums of floats in their order, and nothing else", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local function grows(y)
      local f = P:compile { outputs = { y = y }, tier = "interpreter", precise = true }
      return work(f, { T = 4000 }) > 12 * work(f, { T = 1000 })
    end
    assert.is_true(grows(x[t .. T]:sum(0)))
    assert.is_true(grows(x[0 .. t + 1]:prod(0)))
    assert.is_false(grows(x[t .. T]:max(0)))
    assert.is_false(grows(x:to("i64")[t .. T]:sum(0)))
  end)

  it("goes on from a state, and in steps, as what runs at once", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local outputs = { s = x[0 .. t + 1]:sum(0), m = x[0 .. t + 1]:max(0),
      v = x[0 .. t + 1]:square():mean(0) }
    local f, v = P:compile { outputs = outputs, tick = t, tier = "interpreter" }, sample(12)
    local whole = f({ x = v }, { T = 12 })
    f:start({}, { T = 12 })
    local state
    for k = 0, 11 do
      if k == 5 then state = f:state() end
      local _, out = f:step { x = v[k + 1] }
      for name in pairs(outputs) do assert.equal(whole[name]:get(k), out[name]:item()) end
    end
    f:load_state(state)
    for k = 5, 11 do assert.equal(whole.s:get(k), select(2, f:step { x = v[k + 1] }).s:item()) end
    assert.is_true(f:memory { T = 4000 } < 1000)
  end)

  it("NaN and infinities go where they go without the pass", function()
    local nan, inf = 0 / 0, math.huge
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local outputs = {}
    for name, range in pairs(ranges) do
      for of in pairs(folds) do
        outputs[of .. name:gsub("%A", "")] = range(x, t, T)[of](range(x, t, T), 0)
      end
    end
    local f = P:compile { outputs = outputs, tier = "interpreter" }
    local g = P:compile { outputs = outputs, tier = "reference" }
    for _, v in ipairs { { 1, nan, 2, 3 }, { 1, inf, 2, -inf, 3 }, { inf, inf, 0, 1 },
      { -inf, 0, nan }, { 0, -0.0, 1e30, 1e30, 1e-30 } } do
      local a, b = f({ x = v }, { T = #v }), g({ x = v }, { T = #v })
      for name in pairs(outputs) do
        for k = 0, #v - 1 do close(b[name]:get(k), a[name]:get(k), 1e-6, name .. " " .. k) end
      end
    end
  end)

  for _, dtype in ipairs { "i64", "i32", "u8", "bool" } do
    it("whole numbers and bools are equal bit for bit: " .. dtype
      .. (dtype == "i32" and " #long" or ""), function()
      local P = tempo.program()
      local t, T = P:dim "t"
      local b, B = P:dim "b"
      local x = P:input("x", { domain = { t, b }, shape = { 2 }, dtype = dtype })
      local outputs = {}
      for name, range in pairs(ranges) do
        local read = function(over) return range(over, t, T) end
        local id = name:gsub("%A", "")
        outputs["sum" .. id], outputs["all" .. id], outputs["any" .. id] = read(x):sum(0),
          read(x):ne(0):all(0), read(x):sum(1):gt(3):any(0)
        if dtype ~= "bool" then outputs["prod" .. id] = read(x * 3):prod { 0, 1 } end
      end
      outputs.max = x[0 .. t + 1]:max(0)
      outputs.both = x[{ t = t .. T, b = 0 .. B }]:sum { 0, 1 }
      local v, n, m = {}, 23, 3
      for k, r in ipairs(sample(n * m * 2)) do
        v[k] = dtype == "bool" and r > 0 or dtype ~= "bool" and math.floor(math.abs(r) * 8) % 251
      end
      local arrays, bounds = { x = tempo.array(v, dtype, { n, m, 2 }) }, { T = n, B = m }
      local want = P:compile({ outputs = outputs, tier = "reference" })(arrays, bounds)
      local got = P:compile({ outputs = outputs, tier = "interpreter" })(arrays, bounds)
      -- all of their digits
      for name in pairs(outputs) do
        assert.equal(tostring(want[name]), tostring(got[name]), name)
      end
      assert.is_truthy(b)
    end)
  end

  it("what is reduced may be made of the range, and weighed by what is outside of it", function()
    local P = tempo.program()
    local b = P:dim "b"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { b, t }, shape = { 3 } })
    local w = P:input("w", { domain = { t } })
    local r, q = x[{ t = 0 .. t + 1 }], x[{ t = t .. T }]
    local outputs = {
      a = (r:exp() * 0.1 + 1):sum(0), b = (q * w):sum(0),
        c = (q * w[t .. T]:unsqueeze(1)):mean { 0, 1 },
      d = (w * r:square() / (w * w + 1)):sum(0), e = r:norm(0), f = r:sum(1):max(0),
        g = (-(q * x)):sum(0), h = r:tanh():prod(0),
      i = r:mT():sum(1), k = q:square():sum { 0, 1 }:sqrt(), l = tempo.where(r:gt(0), r, 0):sum(0),
    }
    local f, g = P:compile { outputs = outputs, tier = "interpreter" },
      P:compile { outputs = outputs, tier = "reference" }
    local bounds = { B = 2, T = 19 }
    local arrays = { x = tempo.array(sample(2 * 19 * 3), "f32", { 2, 19, 3 }), w = sample(19, 3) }
    local got, want = f(arrays, bounds), g(arrays, bounds)
    for name in pairs(outputs) do
      local a, c = got[name]:totable(), want[name]:totable()
      local function both(u, v)
        if type(u) == "table" then
          for k in ipairs(u) do both(u[k], v[k]) end else close(v, u, 2e-5, name) end
      end
      both(a, c)
    end
  end)
end)

-- Windows of which only the call says how wide they are: up to a few rows are gone through, more
-- lie on a ring.
describe("windows of a bound's width", function()
  local function past(x, t, w) return x[tempo.max(0, t - w + 1) .. t + 1] end
  local made = {
    ["to t"] = { past, function(t, _, w) return t - w + 1, t + 1 end },
    ["before t"] = { function(x, t, w)
      return x[tempo.max(0, t - w) .. t]
    end, function(t, _, w) return t - w, t end },
    ["from t"] = { function(x, t, w, T)
      return x[t .. tempo.min(t + w, T)]
    end, function(t, _, w) return t, t + w end },
    ["after t"] = { function(x, t, w, T)
      return x[tempo.min(t + 1, T) .. tempo.min(t + w + 1, T)]
    end, function(t, _, w) return t + 1, t + w + 1 end },
    ["around t"] = { function(x, t, w, T) return x[tempo.max(0, t - w) .. tempo.min(t + w, T)] end,
      function(t, _, w) return t - w, t + w end },
    ["and five"] = { function(x, t, w, T) return x[tempo.max(0, t - w) .. tempo.min(t + 5, T)] end,
      function(t, _, w) return t - w, t + 5 end },
    ["twice as far behind"] = { function(x, t, w, T)
      return x[tempo.max(0, t - 2 * w) .. tempo.min(t + w, T)]
    end, function(t, _, w) return t - 2 * w, t + w end },
    ["of half that"] = { function(x, t, w)
      return x[tempo.max(0, t - tempo.floordiv(w, 2)) .. t + 1]
    end, function(t, _, w) return t - math.floor(w / 2), t + 1 end },
  }
  local WIDTHS = { 0, 1, 2, 3, 15, 16, 17, 18, 19, 20, 33, 41, 64, 200 }

  local function program(name, ofs)
    local P = tempo.program()
    local t, T = P:dim "t"
    local w = P:bound "w"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local outputs = {}
    for _, of in ipairs(ofs) do
      outputs[of] = made[name][1](x, t, w, T)[of](made[name][1](x, t, w, T), 0)
    end
    return P, outputs
  end

  for name in pairs(made) do
    it(name .. ": sum, prod, max and min are what plain Lua makes of them", function()
      local P, outputs = program(name, { "sum", "prod", "max", "min" })
      for _, tier in ipairs { "interpreter", name:find "[do] t$" and "native" } do
        local f = P:compile { outputs = outputs, tier = tier }
        for _, n in ipairs { 0, 1, 2, 17, 90 } do
          local v = sample(n)
          for _, width in ipairs(WIDTHS) do
            local got = f({ x = tempo.array(v, "f64", { n }) }, { T = n, w = width })
            for t = 0, n - 1 do
              local lo, hi = made[name][2](t, n, width)
              for of in pairs(outputs) do
                local want = folded(of, v, math.max(0, lo), math.min(n, hi))
                close(want, got[of]:get(t), 1e-11,
                  ("%s %s %d of %d, %d wide"):format(of, name, t, n, width))
              end
            end
          end
        end
        local many, few = f:memory { T = 1e6, w = 100 }, f:memory { T = 1e5, w = 100 }
        if name:find "^[toba]%a+ t$" and name ~= "around t" then assert.equal(few, many) end
      end
    end)

    it(name .. ": work grows with the length, whatever the width", function()
      for _, of in ipairs { "sum", "max" } do
        local P, outputs = program(name, { of })
        local f = P:compile { outputs = outputs, tier = "interpreter" }
        local short = work(f, { T = 2000, w = 100 })
        assert.is_true(short < 2000 * 64, name .. short)
        assert.is_true(work(f, { T = 8000, w = 100 }) < 4.2 * short)
        assert.is_true(work(f, { T = 8000, w = 1000 }) < 1.1 * work(f, { T = 8000, w = 100 }))
      end
    end)
  end

  it("rows of a batch, of elements, of a dim's width, of integers and bools, means and derivatives are the reference's", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local b, k = P:dim "b", P:dim("k", "K")
    local w = P:bound "w"
    local x = P:input("x", { domain = { t, b }, shape = { 3 } })
    local n = P:input("n", { domain = { t }, dtype = "i64" })
    local r = x[{ t = tempo.max(0, t - w + 1) .. t + 1 }]
    local z = P:tensor { domain = { t, b }, shape = { 3 } }
    z[{ t = 0 }] = x
    z[{ t = t }] = (0.5 * z[{ t = t - 1 }] + x):tanh()
    local y = P:tensor { domain = { t } }
    y:when(t:ge(w + 20), (n + 0.5)[t - w - 20 .. t + 1]:sum(0))
    y:otherwise(0)
    local ahead = x[{ t = t .. tempo.min(t + w, T) }]
    local outputs = {
      mean = r:mean(0), rows = r:sum { 0, 1 }, weighed = (r:exp() * x):sum(0), off = (r - x):sum(0),
      ahead = z[{ t = t .. tempo.min(t + w, T) }]:max(0),
        carried = z[{ t = tempo.max(0, t - w + 1) .. t + 1 }]:sum(0),
      ints = past(n, t, w):sum(0), most = past(n * 3, t, w):max(0),
        any = past(n:gt(7), t, w):any(0), all = past(n:lt(7), t, w):all(0),
      dim = past(n, t, k):sum(0), late = y,
      dx = tempo.grad((r:square():sum(0) * x:detach()):sum(), { x })[1],
        dahead = tempo.grad((ahead:mean(0) * x:detach()):sum(), { x })[1],
      dmax = tempo.grad((r:max(0) * x:detach()):sum(), { x })[1],
    }
    local f, g = P:compile { outputs = outputs, tier = "interpreter" },
      P:compile { outputs = outputs, tier = "reference" }
    for _, length in ipairs { 1, 30 } do
      local whole = {}
      for i, v in ipairs(sample(length, 3)) do whole[i] = math.floor(v) end
      local arrays = { x = tempo.array(sample(2 * length * 3), "f32", { length, 2, 3 }),
        n = tempo.array(whole, "i64", { length }) }
      for _, width in ipairs { 1, 2, 17, 22, 40 } do
        local bounds = { T = length, B = 2, K = 21, w = width }
        local got, want = f(arrays, bounds), g(arrays, bounds)
        for name in pairs(outputs) do
          local said = flat(want[name]:totable(), {})
          for i, v in ipairs(flat(got[name]:totable(), {})) do
            if type(v) == "boolean" then
              assert.equal(said[i], v) else close(said[i], v, 2e-5, name .. i .. " " .. width) end
          end
        end
      end
    end
    assert.is_truthy(b)
  end)

  it("what is made of the window itself is left as it is, forwards and backwards", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local w = P:bound "w"
    local x = P:input("x", { domain = { t } })
    local y, z = P:tensor { domain = { t } }, P:tensor { domain = { t } }
    y[T - 1] = x
    y[t] = x + y[t + 1 .. tempo.min(t + w + 2, T)]:min(0)
    z[0] = x
    z[t] = x + z[tempo.max(0, t - w - 1) .. t]:max(0)
    local f = P:compile { outputs = { y = y, z = z }, tier = "interpreter" }
    local v = sample(50)
    for _, width in ipairs { 0, 3, 30 } do
      local got = f({ x = v }, { T = 50, w = width })
      local a, c = {}, {}
      for k = 50, 1, -1 do
        a[k] = v[k] + (k < 50 and folded("min", a, k, math.min(k + width + 1, 50)) or 0)
      end
      for k = 1, 50 do
        c[k] = v[k] + (k > 1 and folded("max", c, math.max(0, k - width - 2), k - 1) or 0)
      end
      for k = 1, 50 do
        close(a[k], got.y:get(k - 1), 1e-5, "y " .. k) close(c[k], got.z:get(k - 1), 1e-5,
          "z " .. k)
      end
    end
  end)

  it("NaN and infinities leave with their rows", function()
    local P, outputs = program("to t", { "sum", "max" })
    local f = P:compile { outputs = outputs, tier = "interpreter" }
    local v = sample(70)
    v[3], v[30] = 0 / 0, math.huge
    local got = f({ x = tempo.array(v, "f64", { 70 }) }, { T = 70, w = 20 })
    for t = 0, 69 do
      for of in pairs(outputs) do
        close(folded(of, v, math.max(0, t - 19), t + 1), got[of]:get(t), 1e-12, of .. t)
      end
    end
  end)

  it("in steps, and from a state, as at once; precise leaves sums in their order", function()
    local P = tempo.program()
    local t = P:dim "t"
    local w = P:bound "w"
    local x = P:input("x", { domain = { t } })
    local outputs = { s = past(x, t, w):sum(0), m = past(x, t, w):max(0) }
    local f, v = P:compile { outputs = outputs, tick = t, tier = "interpreter" }, sample(60)
    for _, width in ipairs { 3, 19 } do
      local bounds = { T = 60, w = width }
      local whole = f({ x = v }, bounds)
      f:start({}, bounds)
      local state
      for k = 0, 59 do
        if k == 33 then state = f:state() end
        local _, out = f:step { x = v[k + 1] }
        for name in pairs(outputs) do assert.equal(whole[name]:get(k), out[name]:item()) end
      end
      f:load_state(state)
      for k = 33, 59 do
        assert.equal(whole.s:get(k), select(2, f:step { x = v[k + 1] }).s:item())
      end
    end
    assert.is_true(f:memory { T = 1e5, w = 100 } < 6000)
    local g = P:compile { outputs = { s = outputs.s }, tier = "interpreter", precise = true }
    assert.is_true(work(g, { T = 4000, w = 400 }) > 8 * work(g, { T = 4000, w = 40 }))
  end)
end)

-- Aggregates that carry several numbers: a largest one and its place, a mean and squares around it,
-- a maximum and exponentials below it.
describe("places and statistics", function()
  local made = {
    prefix = function(x, t) return x[0 .. t + 1] end,
    suffix = function(x, t, T) return x[t .. T] end,
    ["three ahead"] = function(x, t, T) return x[0 .. tempo.min(t + 3, T)] end,
    ["of five"] = function(x, t) return x[tempo.max(0, t - 4) .. t + 1] end,
    ["of seven around"] = function(x, t, T)
      return x[tempo.max(0, t - 3) .. tempo.min(t + 4, T)]
    end,
    past = function(x, t, _, w) return x[tempo.max(0, t - w + 1) .. t + 1] end,
    ahead = function(x, t, T, w) return x[t .. tempo.min(t + w, T)] end,
    around = function(x, t, T, w) return x[tempo.max(0, t - w) .. tempo.min(t + w, T)] end,
  }
  local told = { past = true, ahead = true, around = true }       -- by the call

  local function program(name)
    local P = tempo.program()
    local t, T = P:dim "t"
    local w = told[name] and P:bound "w"
    local x, v = P:input("x", { domain = { t } }), P:input("v", { domain = { t }, shape = { 2 } })
    local q, u = made[name](x, t, T, w), made[name](v, t, T, w)
    local outputs = {
      most = q:argmax(0), least = q:argmin(0), each = u:argmax(0),
        kept = (u * 2):argmax(0, { keepdim = true }),
      whole = q:to "i64":argmax(0), first = q:gt(3):argmax(0),
      var = q:var(0), std = u:std(0, { correction = 0 }), lse = q:logsumexp(0), norm = q:norm(0),
      soft = (q:softmax(0):unsqueeze(1) * u):sum(0),
    }
    local derivatives = {
      dstd = tempo.grad(outputs.std * v:detach(), { v })[1],
        dlse = tempo.grad(outputs.lse * x:detach(), { x })[1],
      dsoft = tempo.grad((outputs.soft * v:detach()):sum(), { v })[1],
    }
    return P, outputs, derivatives
  end

  local function arrays_of(a, n)
    return { x = tempo.array(a, "f32", { n }), v = tempo.array(sample(2 * n, 3), "f32", { n, 2 }) }
  end

  local function same(want, got, rel, what)
    local said = flat(want:totable(), {})
    for k, y in ipairs(flat(got:totable(), {})) do close(said[k], y, rel, what .. " " .. k) end
  end

  local function ties(n)
    local v = {}
    for k = 1, n do v[k] = (k * 7) % 5 - 2 end
    return v
  end

  local compiled = {}
  for name in pairs(made) do
    -- "of seven around" is the same with a number
    local tag = name == "around" and " #long" or ""
    it(name .. ": what the reference says, ties, NaN and infinities too; derivatives" .. tag,
      function()
      local P, outputs, derivatives = program(name)
      local inf, nan = math.huge, 0 / 0
      local odd = ties(40)
      for k, a in pairs { [3] = nan, [4] = nan, [11] = inf, [12] = -inf, [13] = -inf, [20] = -90,
        [39] = inf, [40] = -inf } do odd[k] = a end
      local run = { f = {}, g = {} }
      for tier, to in pairs { interpreter = "f", reference = "g" } do
        run[to].values, run[to].derivatives = P:compile { outputs = outputs, tier = tier },
          P:compile { outputs = derivatives, tier = tier }
      end
      compiled[name] = run.f
      for _, a in ipairs { sample(1), sample(29), odd } do
        local n, arrays = #a, arrays_of(a, #a)
        for _, width in ipairs(told[name] and { 1, 17, 60 } or { false }) do
          local bounds = { T = n, w = width or nil }
          local got, want = run.f.values(arrays, bounds), run.g.values(arrays, bounds)
          for of in pairs(outputs) do
            same(want[of], got[of], 2e-4, ("%s of %s of %d, %s"):format(of, name, n, width))
          end
          if a ~= odd then
            got, want = run.f.derivatives(arrays, bounds), run.g.derivatives(arrays, bounds)
            for of in pairs(derivatives) do
              same(want[of], got[of], 2e-4, ("%s of %s of %d, %s"):format(of, name, n, width))
            end
          end
        end
      end
    end)

    it(name .. ": linear work" .. tag, function()
      for of, f in pairs(compiled[name]) do
        local function count(n, w) return work(f, { T = n, w = told[name] and w or nil }) end
        local long = count(4000, 50)
        assert.is_true(long < 4.3 * count(1000, 50), name)
        if of == "values" and told[name] then
          assert.is_true(count(4000, 250) < 1.2 * long, name)
        end
      end
    end)
  end

  it("of what lies before t, which may be nothing: what the reference says there, linear work behind", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x, v = P:input("x", { domain = { t } }), P:input("v", { domain = { t }, shape = { 2 } })
    local q, u = x[0 .. t], v[0 .. t]
    local outputs = { lse = q:logsumexp(0), soft = (q:softmax(0):unsqueeze(1) * u):sum(0),
      norm = q:norm(0), mean = u:mean(0) }
    outputs.off = (q - q:mean(0)):square():sum(0)
    outputs.dsoft = tempo.grad((outputs.soft * v:detach()):sum(), { v })[1]
    outputs.dx = tempo.grad((q:softmax(0) * q):sum(0) * x:detach(), { x })[1]
    local f, g = P:compile { outputs = outputs, tier = "interpreter" },
      P:compile { outputs = outputs, tier = "reference" }
    for _, n in ipairs { 0, 1, 2, 30 } do
      local arrays = arrays_of(sample(n), n)
      local got, want = f(arrays, { T = n }), g(arrays, { T = n })
      for of in pairs(outputs) do same(want[of], got[of], 2e-4, of .. " of " .. n) end
    end
    for of, y in pairs(outputs) do
      local h = P:compile { outputs = { y = y }, tier = "interpreter" }
      assert.is_true(work(h, { T = 4000 }) < 4.2 * work(h, { T = 1000 }), of)
    end
  end)

  it("products of rows are carried: histories, cross terms, suffixes of what is made of them",
    function()
    local P = tempo.program()
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local x, z = P:input("x", { domain = { b, t }, shape = { 3 } }),
      P:input("z", { domain = { t }, shape = { 2 } })
    local r, q = x[{ t = 0 .. t + 1 }], z[0 .. t + 1]
    local outputs = {
      history = r:mT():matmul(r), cross = r:mT():matmul(q),
        ahead = x[{ t = t .. T }]:tanh():mT():matmul(z[t .. T]),
      mean = r:mT():matmul(r)[{ b = 0 .. B }]:sum(0) / 2,
        derivative = tempo.grad((r:mT():matmul(q) * 0.5):sum(), { z })[1],
    }
    local f, g = P:compile { outputs = outputs, tier = "interpreter" },
      P:compile { outputs = outputs, tier = "reference" }
    for _, n in ipairs { 1, 2, 19 } do
      local arrays = { x = tempo.array(sample(6 * n), "f32", { 2, n, 3 }),
        z = tempo.array(sample(2 * n, 5), "f32", { n, 2 }) }
      local got, want = f(arrays, { B = 2, T = n }), g(arrays, { B = 2, T = n })
      for name in pairs(outputs) do same(want[name], got[name], 2e-5, name .. " of " .. n) end
    end
    for _, name in ipairs { "history", "cross", "ahead", "mean" } do
      local function count(n, precise)
        return work(P:compile { outputs = { y = outputs[name] }, tier = "interpreter",
          precise = precise }, { B = 2, T = n })
      end
      assert.is_true(count(4000) < 4.2 * count(1000), name)
      assert.is_true(count(4000, true) > 12 * count(1000, true), name)
    end
    assert.is_truthy(b)
  end)

  -- Rows weighed by one number each, however that is written.
  local weighing = {
    summed = function(q, u) return (q:softmax(0):unsqueeze(1) * u):sum(0) end,
    matmul = function(q, u) return q:softmax(0):matmul(u) end,
    turned = function(q, u) return u:mT():matmul(q:softmax(0)) end,
    row = function(q, u) return q:unsqueeze(0):matmul(u):reshape(2) end,
  }
  local function weights_over(name, of)
    local range = made[name]
    local P = tempo.program()
    local t, T = P:dim "t"
    local w = told[name] and P:bound "w"
    local x, v = P:input("x", { domain = { t } }), P:input("v", { domain = { t }, shape = { 2 } })
    local y = weighing[of](range(x, t, T, w), range(v, t, T, w))
    local loss = (y * v:detach()):sum()
    local outputs = { y = y, dx = tempo.grad(loss, { x })[1], dv = tempo.grad(loss, { v })[1] }
    local f, g = P:compile { outputs = outputs, tier = "interpreter" },
      P:compile { outputs = outputs, tier = "reference" }
    for _, n in ipairs { 0, 1, 2, 30 } do
      local arrays, bounds = arrays_of(sample(n), n), { T = n, w = w and 18 or nil }
      local got, want = f(arrays, bounds), g(arrays, bounds)
      for k in pairs(outputs) do
        same(want[k], got[k], 4e-4, ("%s of %s, %s of %d"):format(k, of, name, n))
      end
    end
    for k, z in pairs((name == "prefix" or name == "suffix") and outputs or {}) do
      local h = P:compile { outputs = { z = z }, tier = "interpreter" }
      assert.is_true(work(h, { T = 4000 }) < 4.2 * work(h, { T = 1000 }), name .. " " .. k)
    end
  end
  for of in pairs(weighing) do
    for _, sides in ipairs { "to one side", "around t" } do
      local tag = sides == "around t" and of ~= "summed" and " #long" or ""
      it(("weights and rows %s, %s, and their derivatives: what the reference says, in linear work%s"):format(sides, of, tag), function()
        for name in pairs(made) do
          if (name:find "around" ~= nil) == (sides == "around t") then weights_over(name, of) end
        end
      end)
    end
  end

  it("no row has no largest; places in steps are those at once", function()
    local P = tempo.program()
    local t = P:dim "t"
    local w = P:bound "w"
    local x = P:input("x", { domain = { t } })
    local past = x[tempo.max(0, t - w + 1) .. t + 1]
    local outputs = { most = past:argmax(0), before = x[0 .. t + 1]:argmin(0),
      lse = past:logsumexp(0) }
    local f, v = P:compile { outputs = outputs, tick = t, tier = "interpreter" }, sample(40)
    assert.error_matches(function() f({ x = v }, { T = 40, w = 0 }) end, "argmax of an empty range")
    for _, width in ipairs { 3, 18 } do
      local whole = f({ x = v }, { T = 40, w = width })
      f:start({}, { T = 40, w = width })
      for k = 0, 39 do
        local _, out = f:step { x = v[k + 1] }
        for name in pairs(outputs) do assert.equal(whole[name]:get(k), out[name]:item()) end
      end
    end
  end)
end)

-- Rows weighed by what moves with the range: by being the largest, by the product of the others.
describe("moving weights", function()
  local written = {
    max = function(r) return r:max(0) end,
    min = function(r) return r:square():min(0) end,
    prod = function(r) return r:prod(0) end,
  }
  local over = {
    prefix = function(x, t) return x[0 .. t + 1] end,
      suffix = function(x, t, T) return x[t .. T] end,
    behind = function(x, t) return x[0 .. t] end, ["of five"] = function(x, t)
      return x[tempo.max(0, t - 4) .. t + 1]
    end,
  }

  local function program(of, range, shape, dtype)
    local P = tempo.program()
    local t, T = P:dim "t"
    local function input(name)
      return P:input(name, { domain = { t }, shape = shape, dtype = dtype })
    end
    local x, u = input "x", input "u"
    local y = written[of](over[range](x, t, T))
    return P, { y = y, dx = tempo.grad(#shape > 0 and (y * u):sum() or y * u, x) }
  end

  for of in pairs(written) do
    for range in pairs(over) do
      it(of .. " of a range, " .. range
        .. ", and its derivatives are what the reference says: ties, zeros, no rows", function()
        for _, how in ipairs { { {}, "f64", 1e-11 }, { { 2 }, "f32", 2e-4 } } do
          local shape, dtype, rel = how[1], how[2], how[3]
          local P, outputs = program(of, range, shape, dtype)
          local f, g = P:compile { outputs = outputs, tier = "interpreter" },
            P:compile { outputs = outputs, tier = "reference" }
          local ties = {}
          for k = 1, 24 do ties[k] = ((k * 7) % 5 - 2) / 2 end
          for _, v in ipairs { {}, { 0.5, -2 }, ties, sample(60) } do
            local size = #shape > 0 and { math.floor(#v / 2), 2 } or { #v }
            for k = 1, #v do v[k] = v[k] / 2 end
            local arrays = { x = tempo.array(v, dtype, size),
              u = tempo.array(sample(#v, 5), dtype, size) }
            local got, want = f(arrays, { T = size[1] }), g(arrays, { T = size[1] })
            for name in pairs(outputs) do
              local said = flat(want[name]:totable(), {})
              for k, y in ipairs(flat(got[name]:totable(), {})) do
                close(said[k], y, rel, name .. " " .. k .. " of " .. #v)
              end
            end
          end
        end
      end)
    end

    it(of .. " and its derivatives take linear work", function()
      for _, range in ipairs { "prefix", "suffix" } do
        local P, outputs = program(of, range, {}, "f32")
        for name, y in pairs(outputs) do
          local f = P:compile { outputs = { y = y }, tier = "interpreter" }
          assert.is_true(work(f, { T = 4000 }) < 4.2 * work(f, { T = 1000 }), range .. " " .. name)
        end
      end
    end)
  end

  it("the largest passes all of it to its first place, a NaN nothing; products go by zeros",
    function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x, u = P:input("x", { domain = { t } }), P:input("u", { domain = { t } })
    local r, q = x[0 .. t + 1], x[t .. T]
    local outputs = { most = tempo.grad(r:max(0) * u, x), least = tempo.grad(q:min(0) * u, x),
      prod = tempo.grad(r:prod(0) * u, x) }
    local f = P:compile { outputs = outputs, tier = "interpreter" }
    local function made(v) return f({ x = v, u = { 1, 2, 4, 8, 16, 32 } }, { T = 6 }) end
    local y = made { 1, 3, 3, 2, 0, 0 }
    assert.same({ 1, 62, 0, 0, 0, 0 }, y.most:totable())
    assert.same({ 0, 0, 0, 0, 31, 32 }, y.least:totable())
    assert.same({ 1 + 6 + 36 + 144, 2 + 12 + 48, 12 + 48, 72, 288, 0 }, y.prod:totable())
    assert.same({ 1, 2, 0, 0, 0, 0 }, made { 1, 3, 0 / 0, 4, 5, 6 }.most:totable())
  end)
end)

-- Windows that pick or multiply pass their derivative on to rows: against loops that look at every
-- window.
describe("derivatives of windows", function()
  local function past(x, t, w) return x[tempo.max(0, t - w + 1) .. t + 1] end
  local made = {
    ["to t"] = { past, function(t, _, w) return t - w + 1, t + 1 end },
    ["before t"] = { function(x, t, w)
      return x[tempo.max(0, t - w) .. t]
    end, function(t, _, w) return t - w, t end },
    ["from t"] = { function(x, t, w, T)
      return x[t .. tempo.min(t + w, T)]
    end, function(t, _, w) return t, t + w end },
    ["around t"] = { function(x, t, w, T) return x[tempo.max(0, t - w) .. tempo.min(t + w, T)] end,
      function(t, _, w) return t - w, t + w end },
    ["of all rows"] = { function(x, t, w)
      return x[t - w + 1 .. t + 1]
    end, function(t, _, w) return t - w + 1, t + 1 end,
      function(t, w) return t:ge(w - 1) end, function(t, _, w) return t >= w - 1 end },
    ["of all rows ahead"] = { function(x, t, w) return x[t .. t + w] end,
      function(t, _, w) return t, t + w end,
      function(t, w, T) return t:le(T - w) end, function(t, n, w) return t <= n - w end },
    ["at every third t"] = { past, function(t, _, w) return t - w + 1, t + 1 end,
      function(t) return tempo.mod(t, 3):eq(1) end, function(t) return t % 3 == 1 end },
    ["after t"] = { function(x, t, w, T)
      return x[tempo.min(t + 2, T) .. tempo.min(t + w + 2, T)]
    end, function(t, _, w) return t + 2, t + w + 2 end },
    ["what lies behind"] = { function(x, t) return x[0 .. t] end, function(t) return 0, t end },
    ["what lies up to three ahead"] = { function(x, t, _, T)
      return x[0 .. tempo.min(t + 3, T)]
    end, function(t) return 0, t + 3 end },
    ["what lies from three behind on"] = { function(x, t, _, T)
      return x[tempo.max(0, t - 3) .. T]
    end, function(t, n) return t - 3, n end },
    ["what lies behind at times"] = { function(x, t) return x[0 .. t] end,
      function(t) return 0, t end,
      function(t) return tempo.mod(t, 4):eq(2) end, function(t) return t % 4 == 2 end },
    ["what lies ahead at times"] = { function(x, t, _, T)
      return x[tempo.max(0, t - 2) .. T]
    end, function(t, n) return t - 2, n end,
      function(t) return tempo.mod(t, 4):eq(2) end, function(t) return t % 4 == 2 end },
    ["what lies two behind"] = { function(x, t)
      return x[0 .. tempo.max(t - 2, 0)]
    end, function(t) return 0, t - 2 end },
    ["what lies ahead"] = { function(x, t, _, T) return x[t + 1 .. T] end,
      function(t, n) return t + 1, n end },
  }

  -- The place of the first largest (or smallest) among rows lo .. hi - 1; nil: there is none, or it
  -- is a NaN.
  local function picked(of, x, lo, hi)
    local best
    for q = lo, hi - 1 do
      local a, b = x[q + 1], best and x[best + 1]
      if not best or (b == b
        and (a ~= a or (of == "max" and a > b) or (of == "min" and a < b))) then best = q end
    end
    return best and x[best + 1] == x[best + 1] and best or nil
  end

  local function multiplied(x, lo, hi, but)
    local y = 1
    for q = lo, hi - 1 do y = q == but and y or y * x[q + 1] end
    return y
  end

  -- The derivative of the sum of u[t] y[t].
  local function looked(of, x, u, name, w)
    local n, d = #x, {}
    for p = 1, n do d[p] = 0 end
    for t = 0, n - 1 do
      local lo, hi = made[name][2](t, n, w)
      lo, hi = math.max(lo, 0), math.min(hi, n)
      if made[name][4] and not made[name][4](t, n, w) then hi = lo end
      local best = of ~= "prod" and picked(of, x, lo, hi)
      if best then d[best + 1] = d[best + 1] + u[t + 1] end
      for p = lo, of == "prod" and hi - 1 or -1 do
        d[p + 1] = d[p + 1] + u[t + 1] * multiplied(x, lo, hi, p)
      end
    end
    return d
  end

  local function program(name, of, width)
    local P = tempo.program()
    local t, T = P:dim "t"
    local w = width or P:bound "w"
    local x, u = P:input("x", { domain = { t }, dtype = "f64" }),
      P:input("u", { domain = { t }, dtype = "f64" })
    local y = made[name][1](x, t, w, T)[of](made[name][1](x, t, w, T), 0)
    if made[name][3] then
      local some = P:tensor { domain = { t }, dtype = "f64" }
      some:when(made[name][3](t, w, T), y)
      some:otherwise(0)
      y = some
    end
    return P, tempo.grad(y * u, x), width or w
  end

  local nan = 0 / 0
  local kinds = {
    plain = function(k, r) return r / 8 + (k % 5) / 16 end,
    ties = function(k) return (k * 7) % 5 - 2 end,
    odd = function(k, r)
      return k % 11 == 3 and nan or k % 7 == 2 and 0 or r > 0 and 1.5 or -0.5
    end,
  }
  local function prefixes(name) return name:find "lies" end

  -- Conditions on t compile for long; the same windows without them and the least condition are
  -- always tried.
  local conditional = { ["of all rows"] = true, ["of all rows ahead"] = true,
    ["at every third t"] = true }

  -- Functions of a name, a fold and a width that are compiled already.
  local compiled = {}
  local function function_of(name, of, width)
    local key = ("%s %s %s"):format(name, of, tostring(width))
    if not compiled[key] then
      local P, dx = program(name, of, width)
      compiled[key] = P:compile { outputs = { dx = dx }, tier = "interpreter" }
    end
    return compiled[key]
  end

  for name in pairs(made) do
    for _, of in ipairs { "max", "min", "prod" } do
      local mirrored = of == "min"                                    -- max, turned round
      local widths = name == "to t" and { 1, 2, 9, 20, false } or { 9, 20, false }
      local tag = (mirrored or conditional[name] and (of ~= "max" or name ~= "of all rows"))
        and " #long" or ""
      it(("%s: %s passes its derivative on as a loop over all windows does"):format(name, of)
        .. tag, function()
        for _, width in ipairs(prefixes(name) and { 1 } or widths) do
          local f = function_of(name, of, width)
          for kind, make in pairs(kinds) do
            for _, n in ipairs { 0, 1, 2, 50 } do
              local x, u = sample(n), sample(n, 5)
              for k = 1, n do x[k] = make(k, x[k] / 16) end
              for _, w in ipairs(width and { width } or { 1, 16, 17, 18, 33, 90 }) do
                local bounds = { T = n, w = not width and w or nil }
                local got = f({ x = tempo.array(x, "f64", { n }),
                  u = tempo.array(u, "f64", { n }) }, bounds).dx
                local want = looked(of, x, u, name, w)
                for p = 1, n do
                  close(want[p], got:get(p - 1), 1e-11,
                    ("%s %s %s %d of %d, %d wide"):format(of, name, kind, p, n, w))
                end
              end
            end
          end
        end
      end)
    end

    it(name .. ": linear work, whatever the width" .. (conditional[name] and " #long" or ""),
      function()
      for _, of in ipairs { "max", "prod" } do
        local fixed = function_of(name, of, prefixes(name) and 1 or 20)
        assert.is_true(work(fixed, { T = 4000 }) < 4000 * 90, of)
      end
    end)

    if not prefixes(name) then it(name .. ": linear work of 300 rows #long", function()
      for _, of in ipairs { "max", "prod" } do
        assert.is_true(work(function_of(name, of, 300), { T = 4000 }) < 4000 * 90, of)
      end
    end) end
  end

  it("of rows in several axes, in batches, masked, twice, beside other reads and in native code: what the reference says", function()
    local P = tempo.program()
    local b = P:dim "b"
    local t, T = P:dim "t"
    local k = P:dim("k", "K")
    local w = P:bound "w"
    local x, v = P:input("x", { domain = { b, t }, shape = { 3 } }),
      P:input("v", { domain = { b, t }, shape = { 3 } })
    local n = P:input("n", { domain = { t }, dtype = "f64" })
    local function window(z, rows) return z[{ t = tempo.max(0, t - rows + 1) .. t + 1 }] end
    local r, q, s = window(x, 12), window(x, w), x[{ t = t .. T }]
    local function grad(y) return tempo.grad(y, x) end
    local outputs = {
      axes = grad(r:max { 0, 1 } * v:sum()),
        kept = grad((q:min({ 0, 1 }, { keepdim = true }) * v:detach()):sum()),
      rest = grad(s:max { 0, 1 } * v:sum()), rows = grad((r:max(0) * v):sum()),
        prod = grad((r:prod(0) * v):sum()), all = grad(q:prod { 0, 1 } * v:sum()),
      relu = grad((q:relu():sum(0) * v):sum()),
        where = grad((tempo.where(s:gt(0), s:square(), 0):sum(0) * v):sum()),
        over = grad((q:relu():max(0) * v):sum()),
      beside = grad(((q:max(0) + x:square()) * v):sum()),
        twice = tempo.grad((grad((r:square():max(0) * v):sum()) * v:detach()):sum(), x),
      dim = tempo.grad(n[tempo.max(0, t - k) .. t + 1]:max(0) * k:value(), n),
        of = tempo.grad(n[tempo.max(0, t - k) .. t + 1]:prod(0) * k:value(), n),
    }
    local function some(...)
      local part = {}
      for _, name in ipairs { ... } do part[name] = outputs[name] end
      return part
    end
    local g = P:compile { outputs = outputs, tier = "reference" }
    for _, part in ipairs { { "interpreter", some("axes", "kept", "rest", "rows", "all", "dim") },
        { "interpreter", some("relu", "where", "over", "beside", "twice", "of", "prod") },
        { "native", some("axes", "kept", "where", "of") } } do
      local f = P:compile { outputs = part[2], tier = part[1] }
      for _, length in ipairs { 1, 23 } do
        local a = sample(2 * length * 3)
        for i = 1, #a do a[i] = i % 4 == 0 and 0.5 or a[i] / 8 end
        local shape = { 2, length, 3 }
        local arrays = { x = tempo.array(a, "f32", shape),
          v = tempo.array(sample(#a, 3), "f32", shape),
          n = tempo.array(sample(length), "f64", { length }) }
        for _, width in ipairs { 1, 18 } do
          local bounds = { B = 2, T = length, K = 20, w = width }
          local got, want = f(arrays, bounds), g(arrays, bounds)
          for name in pairs(part[2]) do
            local said = flat(want[name]:totable(), {})
            for i, y in ipairs(flat(got[name]:totable(), {})) do
              close(said[i], y, 1e-4, ("%s %d of %d, %d wide"):format(name, i, length, width))
            end
          end
        end
      end
      local function count(length) return work(f, { B = 1, T = length, K = 2, w = 40 }) end
      assert.is_true(count(4000) < 4.3 * count(1000), part[1])
    end
    assert.is_truthy(b)
  end)

  it("where a window is of what its own derivative changes, nothing waits for what comes later",
    function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local z = P:tensor { domain = { t } }
    z[0] = x
    z[t] = x + 0.5 * z[tempo.max(0, t - 12) .. t]:max(0)
    local dx = tempo.grad(z[0 .. T]:sum(0), x)
    local f = P:compile { outputs = { dx = dx }, tier = "interpreter" }
    local v = sample(40)
    local got = f({ x = v }, { T = 40 }).dx
    local c, d = {}, {}
    for k = 1, 40 do
      c[k] = v[k] + (k > 1 and 0.5 * folded("max", c, math.max(0, k - 13), k - 1) or 0)
    end
    for k = 40, 1, -1 do
      d[k] = (d[k] or 0) + 1
      local best = k > 1 and picked("max", c, math.max(0, k - 13), k - 1)
      if best then d[best + 1] = (d[best + 1] or 0) + 0.5 * d[k] end
    end
    for k = 1, 40 do close(d[k], got:get(k - 1), 1e-5, "dx " .. k) end
  end)
end)

-- Weights that are powers of how far a row is, as returns are written in books.
describe("discounted sums", function()
  local function count(n) return tempo.arange({ n }, { dtype = "f64" }) end
  local function later(v, w, t, T)
    local y = 0
    for p = t, T - 1 do y = y + w ^ (p - t) * v[p + 1] end
    return y
  end
  local written = {
    ["from t on"] = { function(x, t, T, w)
      return (x[t .. T] * w ^ count(T - t)):sum(0)
    end, later },
    ["from t on, of rows"] = { function(x, t, T, w)
        local rows = tempo.stack({ x, 2 * x }, 0)
        return (rows[t .. T] * (w ^ count(T - t)):unsqueeze(-1)):sum(0):sum(-1) / 3
      end, later },
    ["in f32"] = { function(x, t, T, w)
      return (x[t .. T] * w ^ tempo.arange(T - t)):sum(0)
    end, later },
    ["as where a scan ends"] = { function(x, t, T, w)
      return x[t .. T]:discounted_cumsum(w):select(0, 0)
    end, later },
  }

  local function program(name, w)
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local y = written[name][1](x, t, T, w)
    local outputs = { y = y, dx = tempo.grad(y[tempo.range(0, T)]:square():sum(0), x) }
    return function(options)
      options.outputs = outputs
      return P:compile(options)
    end
  end

  for name, of in pairs(written) do
    for _, w in ipairs { 0.5, 0.99, 1, 1.5 } do
      it(("%s by %g are the loop's, and so are their derivatives"):format(name, w), function()
        local made = program(name, w)
        local f, g = made { tier = "interpreter" }, made { tier = "reference" }
        for _, n in ipairs { 1, 2, 3, 40 } do
          local v = sample(n)
          local y, r = f({ x = tempo.array(v, "f64", { n }) }, { T = n }),
            g({ x = tempo.array(v, "f64", { n }) }, { T = n })
          for t = 0, n - 1 do
            close(of[2](v, w, t, n), y.y:get(t), name == "in f32" and 1e-5 or 1e-11,
              name .. " " .. t .. " of " .. n)
            close(r.dx:get(t), y.dx:get(t), name == "in f32" and 1e-5 or 1e-10,
              "derivative of " .. name)
          end
        end
      end)
    end

    it(name .. " take linear work", function()
      local f = program(name, 0.99) { tier = "interpreter" }
      local least, most = work(f, { T = 500 }), work(f, { T = 2000 })
      assert.is_true(most < 4.2 * least, least .. " " .. most)
    end)
  end

  it("are right where the first weight is below all numbers", function()
    local n = 50000
    local f = program("from t on", 0.9) { tier = "interpreter" }
    local y = f({ x = tempo.array(1, "f64", { n }) }, { T = n }).y
    for _, t in ipairs { 0, 10000, n - 10, n - 1 } do
      close((1 - 0.9 ^ (n - t)) / (1 - 0.9), y:get(t), 1e-12, "at " .. t)
    end
  end)
end)

describe("the row in which a scan ends", function()
  local min = tempo.min
  local written = {
    ["where a sum of all ends"] = function(x, t) return x[0 .. t + 1]:cumsum(0):select(0, t) end,
    ["where one of a window ends"] = function(x, t, T)
      local w = min(t + 5, T)
      return x[t .. w]:cumsum(0):select(0, w - t - 1)
    end,
    ["where a window fades"] = function(x, t, T)
      return x[t .. min(t + 5, T)]:discounted_cumsum(0.9):select(0, 0)
    end,
  }
  local f64s = { f32 = 1e-5, f64 = 1e-12, i64 = 0 }
  for name, make in pairs(written) do
    for dtype, rel in pairs(f64s) do
      if dtype ~= "i64" or not name:find "fades" then
        it(name .. ", " .. dtype .. ": what the reference says, derivatives too, in linear work",
        function()
        local P = tempo.program()
        local t, T = P:dim "t"
        local x = P:input("x", { domain = { t }, dtype = dtype })
        local y = make(x, t, T)
        local outputs = { y = y, dx = dtype ~= "i64"
          and tempo.grad(y[tempo.range(0, T)]:square():sum(0), x) or nil }
        local f, g = P:compile { outputs = outputs, tier = "interpreter" },
          P:compile { outputs = outputs, tier = "reference" }
        for _, n in ipairs { 1, 2, 3, 9, 30 } do
          local v = sample(n, n)
          if dtype == "i64" then for k = 1, n do v[k] = math.floor(v[k]) end end
          local a = { x = tempo.array(v, dtype, { n }) }
          local got, want = f(a, { T = n }), g(a, { T = n })
          for out in pairs(outputs) do
            -- sums may cancel: held to the largest
            local most = 0
            for k = 0, n - 1 do most = math.max(most, math.abs(want[out]:get(k))) end
            for k = 0, n - 1 do
              assert.is_true(math.abs(got[out]:get(k) - want[out]:get(k)) <= rel * most,
                name .. " " .. out .. " " .. k .. " of " .. n)
            end
          end
        end
        local least, most = work(f, { T = 500 }), work(f, { T = 2000 })
        assert.is_true(most < 4.2 * least, least .. " " .. most)
        local precise = P:compile { outputs = { y = y }, precise = true, tier = "interpreter" }
        local reorders = y:dtype():find "^f" ~= nil and not name:find "window"
        assert.equal(reorders, work(precise, { T = 2000 }) > 8 * work(precise, { T = 500 }))
      end) end
    end
  end
end)

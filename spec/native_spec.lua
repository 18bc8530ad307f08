-- Tier "native": what a plan's C computes, against the reference and bit for bit against the
-- interpreter; steps, states, ends, errors and cancelling in it; what is built, kept and shared.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, fill = helper.fails, helper.fill

local function wave(...)
  local s = 0
  for k, v in ipairs { ... } do s = s * 7 + v * k end
  return math.sin(s)
end

-- Every bit of two nested tables, also the sign of a zero; NaN is NaN.
local function same_bits(a, b, where)
  if type(a) ~= "table" then
    assert(a == b and (a ~= 0 or 1 / a == 1 / b) or (a ~= a and b ~= b),
      ("%s: %s, not %s"):format(where, tostring(b), tostring(a)))
    return
  end
  assert.equal(#a, #b, where)
  for k = 1, #a do same_bits(a[k], b[k], where .. "." .. k) end
end

-- Compiles what make(P) gives on all tiers. Gives native's function and a function of inputs and
-- bounds that runs all, native as the interpreter, both near the reference, and gives native's
-- arrays.
local function on_all(make, options)
  options = options or {}
  local fs = {}
  for _, tier in ipairs { "reference", "interpreter", "native" } do
    local P = tempo.program { seed = 5 }
    local outputs, tick = make(P)
    fs[tier] = P:compile { outputs = outputs, tick = tick, tier = tier, check = options.check,
      passes = options.passes }
  end
  return fs.native, function(inputs, bounds)
    local outs = {}
    for tier, f in pairs(fs) do outs[tier] = f(inputs, bounds) end
    for name, a in pairs(outs.interpreter) do
      local want, got = a:totable(), outs.native[name]:totable()
      same_bits({ want }, { got }, name)
      helper.same(outs.reference[name]:totable(), got, options.tol or 1e-4)
    end
    local code = fs.native:explain "code"
    assert.truthy(code:find("not compiled", 1, true) == nil
      or code:find("nothing of this plan", 1, true), code)
    return outs.native
  end
end

-- The same of one call.
local function agree(make, inputs, bounds, options)
  local f, run = on_all(make, options)
  return f, run(inputs, bounds)
end

local function count(text, word)
  local n = 0
  for _ in text:gmatch(word) do n = n + 1 end
  return n
end

-- Dtypes that go the same way: `make test` tries the first two.
local function dtypes(...)
  return os.getenv "TEST_SHORT" and { (...), (select(2, ...)) } or { ... }
end

-- The code's functions of leaves, and the leaves that it calls of the host.
local function functions(f) return count(f:explain "code", "\nTP_ONCE int l%d+%(") end
local function host_calls(f) return count(f:explain "code", "h%->leaf") end

describe("native code computes what the interpreter does", function()
  it("of scalars that a loop carries in locals", function()
    agree(function(P)
      local t, T = P:dim "t"
      local x, y, z = P:tensor { domain = { t } }, P:tensor { domain = { t } },
        P:tensor { domain = { t } }
      x[0], y[0], z[0] = 1, 1, 1
      x[t] = x[t - 1] + 0.05 * (y[t - 1] - x[t - 1])
      y[t] = y[t - 1] + 0.005 * (x[t - 1] * (28 - z[t - 1]) - y[t - 1])
      z[t] = z[t - 1] + 0.005 * (x[t - 1] * y[t - 1] - z[t - 1] * 2.6667)
      return { x = x[T - 1], y = y[T - 1], z = z[T - 1], all = x }
    end, {}, { T = 300 })
  end)

  it("of small vectors, of two lags, backwards in time", function()
    agree(function(P)
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 3 } })
      local h, back = P:tensor { domain = { t }, shape = { 3 } },
        P:tensor { domain = { t }, shape = { 3 } }
      local fib = P:tensor { domain = { t }, dtype = "i64" }
      h[0] = x[0]
      h[t] = (h[t - 1] * 0.9 + x):tanh()
      fib[0], fib[1] = 0, 1
      fib[t] = fib[t - 1] + fib[t - 2]
      back[T - 1] = x
      back[t] = x * h + back[t + 1] * 0.5
      return { h = h, fib = fib[T - 1], back = back[0], last = h[T - 1] }
    end, { x = fill({ 40, 3 }, wave) }, { T = 40 })
  end)

  it("of batches of small matrix products, of axes and of dims", function()
    for _, d in ipairs { "f32", "f64", "i32" } do
      for k, m in ipairs { { 3, 5, 4 }, { 16, 16, 16 }, { 2, 2, 2 }, { 1, 20, 3 }, { 7, 16, 2 } } do
        if k > 2 and d ~= "f32" then break end
        local function make(P)
          local b, B = P:dim "b"
          local t, T = P:dim "t"
          local x = P:input("x", { domain = { b }, shape = { 2, 9, m[1], m[2] }, dtype = d })
          local w, v = P:input("w", { domain = { b }, shape = { 2, 9, m[2], m[3] }, dtype = d }),
            P:input("v", { shape = { 9, m[2], m[3] }, dtype = d })
          local y = P:tensor { domain = { t, b }, shape = { 2, 9, m[1], m[3] }, dtype = d }
          y[{ t = 0 }] = x:matmul(v)
          local turned = w:transpose(-1, -2):transpose(2, 3)
          y:otherwise(y[t - 1] + x:matmul(w) - x:slice(1, 0, 1):matmul(turned))
          return { y = y[T - 1], s = y[{ t = T - 1, b = tempo.range(0, B) }]:sum(0) }
        end
        local inputs, float = {}, d ~= "i32"
        for name, s in pairs { x = { 4, 2, 9, m[1], m[2] }, w = { 4, 2, 9, m[2], m[3] },
          v = { 9, m[2], m[3] } } do
          inputs[name] = tempo.array(fill(s, function(...)
            return float and wave(...) or math.floor(50 * wave(...))
          end), d)
        end
        agree(make, inputs, { B = 4, T = 3 })
      end
    end
  end)

  it("of small matrix products in a loop", function()
    for _, n in ipairs { 2, 3, 16, 20 } do
      agree(function(P)
        local t, T = P:dim "t"
        local w, v = P:input("w", { shape = { n, n } }),
          P:input("v", { domain = { t }, shape = { n, n }, dtype = "i64" })
        local x, m = P:tensor { domain = { t }, shape = { n } },
          P:tensor { domain = { t }, shape = { n, n } }
        local s = P:tensor { domain = { t }, shape = { n, n }, dtype = "i64" }
        x[0], m[0], s[0] = tempo.ones { n }, w, v
        x[t] = x[t - 1]:matmul(w) + w:matmul(x[t - 1]) * 0.5
        m[t] = (m[t - 1]:matmul(w) + w:matmul(m[t - 1]:mT())) * 0.5
        s[t] = s[t - 1]:matmul(v) % 1000
        return { x = x, m = m[T - 1], s = s[T - 1] }
      end, { w = fill({ n, n }, function(a, b) return wave(a, b) / n end),
             v = fill({ 5, n, n }, function(...) return math.floor(9 * wave(...)) end) }, { T = 5 })
    end
  end)

  it("of folds of extents that the call gives, also of one and of none", function()
    for _, d in ipairs(dtypes("f32", "f16", "f64")) do
      local sizes = d == "f32" and { 0, 1, 2, 31, 33, 1100 } or { 1, 33, 1100 }
      local function make(P)
        local A, B = P:bound "A", P:bound "B"
        local x = P:input("x", { shape = { A, B, 3 }, dtype = d })
        local t = x:permute { 2, 1, 0 }
        return { a = x:sum(0), b = x:sum(1), c = x:sum(2), ab = x:sum { 0, 1 }, bc = x:sum { 1, 2 },
          ac = x:sum { 0, 2 }, all = (x * 1.5):sum(),
          turned = (t * t):sum { 0, 1 }, crossed = (t + 0.25):sum { 0, 2 },
            prod = (x * 0.01 + 1):prod(0), most = t:max(2, { keepdim = true }) }
      end
      local fs = {}
      for _, tier in ipairs { "interpreter", "native" } do
        local P = tempo.program()
        fs[tier] = P:compile { outputs = make(P), tier = tier }
      end
      for _, a in ipairs(sizes) do
        for _, b in ipairs(sizes) do
          if a * b < 40000 then
            local x = a * b == 0 and tempo.array({}, d, { a, b, 3 })
              or tempo.array(fill({ a, b, 3 }, wave), d)
            local want, got = fs.interpreter({ x = x }, { A = a, B = b }),
              fs.native({ x = x }, { A = a, B = b })
            for name, v in pairs(want) do
              same_bits({ v:totable() }, { got[name]:totable() },
                ("%s %s %d x %d"):format(name, d, a, b))
            end
          end
        end
      end
    end
  end)

  it("of products of every layout, added up as the kernels do", function()
    local layouts = { { 1, 1, 17 }, { 1, 4, 2 }, { 1, 17, 16 }, { 2, 3, 15 }, { 2, 9, 80 },
      { 3, 1, 64 }, { 3, 9, 17 }, { 5, 3, 33 }, { 5, 9, 16 },
      { 5, 17, 40 }, { 3, 4, 130 }, { 2, 19, 64 }, { 33, 3, 38 } }
    for _, d in ipairs { "f32", "f64" } do
      local inputs = {}
      local function array(shape, ...)
        inputs[#inputs + 1] = { tempo.array(fill({ 2, (table.unpack or unpack)(shape) }, wave), d), shape }       -- luacheck: globals unpack
        return #inputs
      end
      for _, l in ipairs(layouts) do
        local m, n, k = l[1], l[2], l[3]
        l.of = { array { m, k }, array { k, n }, array { k, m }, array { n, k } }
      end
      local given = {}
      for i, x in ipairs(inputs) do given["x" .. i] = x[1] end
      agree(function(P)
        local t, T = P:dim "t"
        local v, outputs = {}, {}
        for i, x in ipairs(inputs) do
          v[i] = P:input("x" .. i, { domain = { t }, shape = x[2], dtype = d })
        end
        for i, l in ipairs(layouts) do
          local a, b, at, bt = v[l.of[1]], v[l.of[2]], v[l.of[3]]:mT(), v[l.of[4]]:mT()
          local s = P:tensor { domain = { t }, shape = { l[1], l[2] }, dtype = d }
          s[0] = a[0]:matmul(b[0])
          s[t] = s[t - 1] * 0.5 + a:matmul(bt) + at:matmul(b) + at:matmul(bt)
          outputs["s" .. i] = s[T - 1]
        end
        return outputs
      end, given, { T = 2 }, { tol = 1e-3 })
    end
  end)

  it("of a tiny matrix by a batch of them, on either side, turned or not, more of them than terms that are looked at", function()
    local calls, N = {}, 200
    for _, l in ipairs { { 4, 4, 4 }, { 2, 4, 8 }, { 8, 1, 3 }, { 1, 8, 8 }, { 9, 4, 4 } } do
      local m, n, k = l[1], l[2], l[3]
      for _, d in ipairs((m == 4 or m == 9) and dtypes("f32", "i64", "f64") or { "f32" }) do
        local function array(shape)
          return tempo.array(fill(shape, function(i) return d == "i64" and i % 7 or wave(i) end), d)
        end
        local f = agree(function(P)
          local t, T = P:dim "t"
          local a, at = P:input("a", { shape = { m, k }, dtype = d }),
            P:input("at", { shape = { k, m }, dtype = d }):mT()
          local b, bt = P:input("b", { shape = { N, k, n }, dtype = d }),
            P:input("bt", { shape = { N, n, k }, dtype = d }):mT()
          local s = P:tensor { domain = { t }, shape = { N, m, n }, dtype = d }
          s[0] = a:matmul(b)
          s[t] = s[t - 1] + a:matmul(b * t:value():to(d)) + at:matmul(bt) - a:matmul(bt)
          return { s = s[T - 1] }
        end, { a = array { m, k }, at = array { k, m }, b = array { N, k, n },
          bt = array { N, n, k } }, { T = 3 }, { tol = 1e-4 })
        calls[m .. d] = host_calls(f)
      end
    end
    assert.is_true(calls["9f32"] > calls["4f32"])
  end)

  it("of what two statements of a loop add to, an iteration apart", function()
    for _, algebra in ipairs { true, false } do
      local _, run = on_all(function(P)
        local t, N = P:dim("t", "N")
        local x = P:input("x", { domain = { t }, shape = { 4 }, dtype = "f64" })
        local w = P:input("w", { shape = { 4, 4 }, dtype = "f64" })
        local h = P:tensor { domain = { t }, shape = { 4 }, dtype = "f64" }
        h[0] = x
        h[t + 1] = (h[t]:matmul(w) + x):tanh()
        local g = tempo.grad((h[N - 1 - t] * h * (t + 1):value():to "f64"):sum(), { w, x })
        return { gw = g[1], gx = g[2] }
      end, { tol = 1e-9, passes = { algebra = algebra } })
      for T = 1, 5 do
        run({ x = fill({ T, 4 }, wave), w = fill({ 4, 4 }, wave) }, { N = T })
      end
    end
  end)

  it("of a recurrence over two dims", function()
    agree(function(P)
      local p, M = P:dim("p", "M")
      local q, N = P:dim("q", "N")
      local a, b = P:input("a", { domain = { p }, dtype = "i64" }),
        P:input("b", { domain = { q }, dtype = "i64" })
      local d = P:tensor { domain = { p, q }, dtype = "i64" }
      d[{ p = 0 }], d[{ q = 0 }] = q:value(), p:value()
      d:otherwise((d[{ p - 1, q }] + 1):minimum(d[{ p, q - 1 }] + 1):minimum(
        d[{ p - 1, q - 1 }] + a:ne(b)))
      return { d = d, distance = d[{ M - 1, N - 1 }] }
    end, { a = fill({ 30 }, function(k) return k * k % 5 end),
      b = fill({ 23 }, function(k) return k * 3 % 7 end) }, { M = 30, N = 23 })
  end)

  -- Time warping: what the branches share is made by each, the borders are recurrences, and NaN
  -- goes where it must.
  it("of a recurrence over two dims whose borders are recurrences, rows in lanes", function()
    local nan = 0 / 0
    for _, d in ipairs { "f32", "f64" } do
      local _, run = on_all(function(P)
        local p, M = P:dim("p", "M")
        local q, N = P:dim("q", "N")
        local a, b = P:input("a", { domain = { p }, dtype = d }),
          P:input("b", { domain = { q }, dtype = d })
        local x = P:tensor { domain = { p, q }, dtype = d }
        local c = (a - b):abs()
        x[{ p = 0, q = 0 }] = c[{ p = 0, q = 0 }]
        x[{ p = 0 }] = c + x[{ q = q - 1 }]
        x[{ q = 0 }] = c + x[{ p = p - 1 }]
        x:otherwise(c + x[{ p = p - 1 }]:minimum(x[{ q = q - 1 }])
          :minimum(x[{ p = p - 1, q = q - 1 }]))
        return { x = x[{ M - 1, N - 1 }] }
      end)
      for _, n in ipairs { { 1, 1 }, { 1, 5 }, { 5, 1 }, { 2, 2 }, { 16, 17 }, { 17, 16 },
        { 40, 33 }, { 33, 50 } } do
        run({ a = fill({ n[1] }, function(k) return k == 38 and nan or wave(k) end),
              b = fill({ n[2] }, function(k) return wave(k * k) end) }, { M = n[1], N = n[2] })
      end
    end
  end)

  it("of chains of the lesser and the greater, with NaN and both zeros", function()
    agree(function(P)
      local x, y, z = P:input("x", { shape = { 1000 } }), P:input("y", { shape = { 1000 } }),
        P:input("z", { shape = { 1000 } })
      return { a = x:minimum(y):minimum(z) + 0, b = x:maximum(y):minimum(z):clamp(-0.5, 0.5) * 2 }
    end, { x = fill({ 1000 }, wave),
      y = fill({ 1000 }, function(k) return k % 11 == 0 and 0 / 0 or wave(3 * k) end),
           z = fill({ 1000 }, function(k) return k % 7 == 0 and -0.0 or wave(k * k) end) })
  end)

  -- Costs: numbers of rows and columns, and one for each cell.
  it("of rows of such a recurrence in lanes, however many", function()
    local function compared(d, last, costs)
      local fs = {}
      for _, tier in ipairs { "interpreter", "native" } do
        local P = tempo.program()
        local p, M = P:dim("p", "M")
        local q, N = P:dim("q", "N")
        local a, b = P:input("a", { domain = { p }, dtype = d }),
          P:input("b", { domain = { q }, dtype = d })
        local h = P:tensor { domain = { p, q }, dtype = d }
        h[{ p = 0 }] = q:value():to(d) * 2
        h[{ q = 0 }] = p:value():to(d) * 3
        local same = h[{ p - 1, q - 1 }] + tempo.where(a:eq(b), 3, -2)
        local cost = costs and P:input("c", { domain = { p, q }, dtype = d }) or 1
        h:otherwise((h[{ p - 1, q }] - a + cost):maximum(h[{ p, q - 1 }] - cost + b):maximum(
          same):maximum(0) % 100)
        fs[tier] = P:compile { outputs = { y = last and h[{ M - 1, N - 1 }] or h }, tier = tier }
      end
      assert.truthy(fs.native:explain "code":find("rows of %d+ in lanes"))
      for _, m in ipairs { 1, 2, 8, 16, 17, 18, 33, 50 } do
        for _, n in ipairs { 1, 2, 9, 16, 17, 33, 64 } do
          local inputs = { a = tempo.array(fill({ m }, function(k) return k * k % 5 end), d),
            b = tempo.array(fill({ n }, function(k) return k * k * k % 5 end), d) }
          inputs.c = costs and tempo.array(fill({ m, n }, function(k, l)
            return (3 * k + 5 * l * l) % 7
          end), d) or nil
          local bounds = { M = m, N = n }
          same_bits({ fs.interpreter(inputs, bounds).y:totable() },
            { fs.native(inputs, bounds).y:totable() }, ("%s %d x %d"):format(d, m, n))
        end
      end
    end
    for _, d in ipairs { "i32", "f64" } do
      for _, last in ipairs { true, false } do
        compared(d, last, false)
        compared(d, last, true)
      end
    end
  end)

  it("of every dtype, rounded where it rounds", function()
    for _, d in ipairs { "f16", "bf16", "f32", "f64", "i32", "i64", "u8" } do
      local float = d:find "f" ~= nil
      agree(function(P)
        local t = P:dim "t"
        local x, y = P:input("x", { domain = { t }, shape = { 5, 7 }, dtype = d }),
          P:input("y", { domain = { t }, shape = { 7 }, dtype = d })
        local s = P:tensor { domain = { t }, shape = { 7 }, dtype = d }
        s[0] = y[0]
        s[t] = float and (s[t - 1] * 0.75 + y):maximum(-y) or s[t - 1] * 3 + y
        local z = x * y + s
        local more = float and (x / (y:abs() + 1)):exp():log1p() or x:floordiv(3) % 5
        return { z = z, s = s, more = more, some = tempo.where(z:gt(y), x, s),
          sum = z:to "f64":sum(0), most = x:max(1), least = (x - y):min(0),
        t = z * t:value():to(d) }
      end, { x = tempo.array(fill({ 6, 5, 7 },
        function(...) return float and wave(...) or math.floor(60 + 50 * wave(...)) end), d),
             y = tempo.array(fill({ 6, 7 }, function(...)
               return float and wave(3, ...) or math.floor(60 + 50 * wave(3, ...))
             end), d) }, { T = 6 },
         { tol = d:find "16" and 0.1 or 1e-4 })
    end
  end)

  it("of long chains", function()
    for _, n in ipairs { 64, 1056 } do
      agree(function(P)
        local t, T = P:dim "t"
        local y, z = P:input("y", { shape = { n } }), P:tensor { domain = { t }, shape = { n } }
        z[0] = y
        local x = z[t - 1]
        local a = x * y + 0.5
        local b = (a * a - x):maximum(a)
        z[t] = (((b - a) * 0.25 + y) / ((b:abs() + 1):sqrt() + a * a) - x):clamp(-1, 1)
        return { z = z[T - 1], s = z[T - 1]:sum() }
      end, { y = tempo.array(fill({ n }, wave)) }, { T = 4 })
    end
  end)

  it("of chains that turn what they read or write, over tiles of any size", function()
    for _, d in ipairs(dtypes("f32", "u8", "f16", "i64")) do
      local float = d:find "f" ~= nil
      local function number(r, c)
        return float and 0.1 + math.abs(wave(r, c)) or (r * 7 + c * 3) % 11
      end
      local _, run = on_all(function(P)
        local n, m = P:bound "n", P:bound "m"
        local x = P:input("x", { shape = { n, m }, dtype = d })
        local y = P:input("y", { shape = { m, n }, dtype = d })
        local turned = x:transpose(0, 1)
        return { sum = turned * 3 + y, both = (x * x + 1):transpose(0, 1) + y:maximum(turned),
          odd = float and (turned + y):sin() or turned % 5 + y, less = turned:lt(y),
          place = turned + y * P:bound "k":value():to(d), back = (y + turned):transpose(0, 1) * x,
          part = (turned:slice(0, 0, m) + y):flip(1) }
      end, { tol = d == "f16" and 0.02 or 1e-4 })
      for _, size in ipairs { { 1, 1 }, { 16, 64 }, { 17, 65 }, { 65, 17 }, { 130, 3 },
        { 2, 200 } } do
        local n, m = size[1], size[2]
        run({ x = tempo.array(fill({ n, m }, number), d),
          y = tempo.array(fill({ m, n }, number), d) }, { n = n, m = m, k = 3 })
      end
    end
  end)

  it("of recurrences along the inner dim, whose inputs and outputs are turned", function()
    for _, d in ipairs { "f32", "f64" } do
      local _, run = on_all(function(P)
        local b = P:dim "b"
        local t, T = P:dim "t"
        local x = P:input("x", { domain = { b, t }, dtype = d })
        local k = P:input("k", { domain = { b, t }, dtype = "i32" })
        local last = P:input("last", { domain = { b, t }, dtype = "bool" })
        local y, z = P:tensor { domain = { b, t }, dtype = d },
          P:tensor { domain = { b, t }, dtype = "i32" }
        local more = x * 0.99 + tempo.where(last, 0, x * x)
        y[{ t = T - 1 }] = more
        y[{ b = b, t = t }] = more + tempo.where(last, 0, y[t + 1]) * 0.9
        z[{ t = T - 1 }] = k
        z[{ b = b, t = t }] = z[t + 1] * 3 + k
        return { y = y, z = z, top = (y * 2):tanh() }
      end)
      for _, size in ipairs { { 1, 1 }, { 1, 200 }, { 16, 64 }, { 33, 65 }, { 250, 1 }, { 129, 70 },
        { 530, 2 } } do
        run({ x = tempo.array(fill(size, wave), d),
              k = tempo.array(fill(size, function(r, c) return (r * 5 + c) % 9 end), "i32"),
              last = fill(size, function(r, c) return (r + c * 3) % 17 == 0 end) },
          { B = size[1], T = size[2] })
      end
    end
  end)

  it("of folds along any axes, however long", function()
    for _, shape in ipairs { { 3, 5 }, { 40, 3 }, { 3, 1500 }, { 700, 70 } } do
      agree(function(P)
        local t, T = P:dim "t"
        local x = P:input("x", { domain = { t }, shape = shape })
        local y, e = x:softmax(-1), (x * 3):exp()
        return { e = e[T - 1], down = e:sum(0), product = (x * x + 1):log1p():prod(0),
          first = x:sum(0), last = x:sum(1), all = (x * x):sum(), most = x:max(0),
            prod = (x * 0.01 + 1):prod(1), y = y[T - 1],
          time = x[0 .. T]:sum(0), any = x:gt(0.9999):any() }
      end, { x = fill({ 3, shape[1], shape[2] }, wave) }, { T = 3 })
    end
  end)

  it("of many short rows, 16 of them side by side", function()
    local function rows_of(n, d, known)
      local _, run = on_all(function(P)
        local y = P:input("x", { shape = { known or P:bound "R", n }, dtype = d })
        local e = (y * 0.5):exp() + y
        return { chain = e:sum(1), plain = y:sum(1), kept = e,
          mean = (e * y):mean(1, { keepdim = true }) - y,
          grad = tempo.grad(e:sum(1):square():sum(), y) }
      end, { tol = d == "f16" and 2e-2 })
      for _, rows in ipairs(known and { known } or { 0, 1, 16, 37 }) do
        local shape = { rows, n }
        local x = rows == 0 and tempo.array({}, d, shape) or tempo.array(fill(shape, wave), d)
        run({ x = x }, not known and { R = rows } or {})
      end
    end
    for _, n in ipairs { 7, 8, 13, 16, 17 } do
      rows_of(n, "f32", 9)
      rows_of(n, "f32", false)
    end
    rows_of(13, "f32", 48)
    rows_of(13, "f16", 9)
    rows_of(13, "f16", false)
  end)

  it("of what most operands take no branch for, also where some do", function()
    local odd = { 1e30, -4e7, 0, 1 / 0, -3.5, 0 / 0 }
    for _, d in ipairs(dtypes("f32", "f16", "f64")) do
      for nth, shape in ipairs { { 3, 300 }, { 2, 5 }, { 40, 70 }, { 3, 1100 } } do
        if nth > 1 and d ~= "f32" then break end
        for _, far in ipairs { false, true } do
          local most = d == "f16" and 0.01 or 1e-4
          local function number(r, c)
            local k = (r * 31 + c * 7) % 60
            return far and odd[k + 1] or 0.1 + math.abs(wave(r, c))
          end
          local function divisor(r, c)
            return far and c % 9 == 4 and 0 or 0.2 + math.abs(wave(c, r))
          end
          agree(function(P)
            local t, T = P:dim "t"
            local x, y = P:input("x", { shape = shape, dtype = d }),
              P:input("y", { shape = shape, dtype = d })
            local z = P:tensor { domain = { t }, shape = shape, dtype = d }
            z[0] = x
            z[t] = (z[t - 1] + y):sin()
            return { z = z[T - 1], t = x:tan() + y:cos(), p = x:pow(y), m = x % y,
              q = x:floordiv(y), most = (x * y):sin():max(-1), down = (x * y):cos():max(0),
              sum = (x * y):sin():sum(0) }
          end, { x = tempo.array(fill(shape, number), d),
            y = tempo.array(fill(shape, divisor), d) }, { T = 4 }, { tol = most })
        end
      end
    end
  end)

  it("of i64 divided by a number, near zero or far from it", function()
    local by, far = { 3, 10, 1000003, 2 ^ 31 - 1, 2 ^ 44 + 1, 2 ^ 45 - 1, 6, 7 },
      { 2 ^ 45, 2 ^ 45 + 1, 2 ^ 53 }
    for _, some in ipairs { {}, far } do
      local x = { 0, 1, -1, 2 ^ 44, -2 ^ 44 }
      for _, y in ipairs(by) do
        for k = -40, 40 do
          local v = y * k + (k % 3 - 1)
          if math.abs(v) < 2 ^ 45 then x[#x + 1] = v end
        end
      end
      for k, v in ipairs(some) do x[k * 97], x[k * 97 + 1] = v, -v end
      agree(function(P)
        local t = P:dim "t"
        local v, outputs = P:input("x", { domain = { t }, dtype = "i64" }), {}
        for k, y in ipairs(by) do outputs["m" .. k], outputs["d" .. k] = v % y, v:floordiv(y) end
        return outputs
      end, { x = tempo.array(x, "i64") }, { T = #x })
    end
  end)

  it("of sums that a loop carries, of gradients and parameters", function()
    agree(function(P)
      local i = P:dim "i"
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 4 } })
      local w = P:param("w", { along = { i }, shape = { 4 }, init = { 0.1, 0.2, 0.3, 0.4 } })
      local h = P:tensor { domain = { i, t } }
      h[{ t = 0 }] = (w * x):sum()
      h:otherwise((h[t - 1] * 0.8 + (w * x):sum()):tanh())
      local loss = ((h - 0.3) ^ 2)[{ t = 0 .. T }]:mean(0)
      tempo.optim.Adam({ w }, { lr = 0.05 }):step(loss)
      return { loss = loss }
    end, { x = fill({ 12, 4 }, wave) }, { I = 8, T = 12 })
  end)

  it("of programs of many statements, in many functions", function()
    local f = agree(function(P)
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 20 } })
      local h = {}
      for k = 1, 60 do
        h[k] = P:tensor { domain = { t }, shape = { 20 } }
        h[k][0] = x[0] * k
      end
      for k = 1, 60 do h[k][t] = (h[k][t - 1] * 0.5 + h[k % 60 + 1][t - 1] * 0.25 + x):tanh() end
      return { y = h[1][T - 1], z = h[60] }
    end, { x = fill({ 9, 20 }, wave) }, { T = 9 })
    assert.is_true(count(f:explain "code", "\nstatic int f%d+") > 1)
  end)

  it("of leaves that do the same, once", function()
    local function make(n)
      return function(P)
        local t, T = P:dim "t"
        local b = P:dim "b"
        local out = {}
        for k = 1, n do
          local h = P:tensor { domain = { b, t }, shape = { 20 } }
          local kept = tempo.bernoulli({}, k / (n + 1),
            { domain = { b }, name = "p" .. k }):to "f32"
          h[{ t = 0 }] = tempo.uniform({ 20 }, { domain = { b }, name = "n" .. k }) * kept
          h[t] = (h[t - 1] * 0.5 + k):tanh():softmax(0)
          out["h" .. k] = h[T - 1]:sort(0)
        end
        return out
      end
    end
    local two, many = agree(make(2), {}, { T = 7, B = 19 }), agree(make(12), {}, { T = 7, B = 19 })
    assert.is_true(functions(two) > 0)
    assert.is_true(functions(many) >= functions(two))
    assert.is_true(#many:explain "code" < 5 * #two:explain "code")
  end)

  it("of leaves that differ in numbers and draws, once", function()
    local function make(n, factor, shape)
      return function(P)
        local t, T = P:dim "t"
        local out, h = {}, {}
        for k = 1, n do
          h[k] = P:tensor { domain = { t }, shape = { shape } }
          h[k][0] = k / n
        end
        for k = 1, n do
          local kept = tempo.bernoulli({ shape }, k / (n + 1),
            { domain = { t }, name = "n" .. k }):to "f32"
          h[k][t] = ((h[k][t - 1] * (factor or 0.1 * k) + h[k % n + 1][t - 1] * 0.375):sin():exp(
            ) + k / 7):sort(0) * kept
          out["h" .. k] = h[k][T - 1]
        end
        return out
      end
    end
    local function compiled(...) return (agree(make(...), {}, { T = 6 })) end
    local two, many, same, few = compiled(2, nil, 200), compiled(40, nil, 200),
      compiled(40, 0.25, 200), compiled(40, nil, 20)
    assert.is_true(functions(two) > 0)
    for _, f in ipairs { many, same, few } do
      assert.is_true(functions(f) > 0 and functions(f) <= functions(two) + 2)
    end
  end)

  it("and says at which of them a value is missing", function()
    local function said(tier, which, at)
      local P = tempo.program()
      local b = P:dim "b"
      local t, T = P:dim "t"
      local out, inputs = {}, {}
      for k = 1, 3 do
        local x, h = P:input("x" .. k, { domain = { b }, dtype = "i64" }),
          P:tensor { domain = { b, t }, dtype = "i64" }
        h[{ t = 0 }] = 7000
        h[t] = h[t - 1]:floordiv(x) + 1
        out["h" .. k] = h[T - 1]
        inputs["x" .. k] = tempo.array(fill({ 9 }, function(i)
          return k == which and i == at and 0 or 3
        end), "i64")
      end
      return fails(function()
        P:compile { outputs = out, tier = tier }(inputs, { T = 4, B = 9 })
      end, "input", "h")
    end
    for k = 1, 3 do
      local native = said("native", k, 2 * k)
      assert.equal(said("interpreter", k, 2 * k), native)
      assert.truthy(native:find("b = " .. 2 * k, 1, true), native)
    end
  end)

  it("of draws, over dims, of coordinates that are expressions, of none", function()
    agree(function(P)
      local t, T = P:dim "t"
      local b = P:dim "b"
      local function over(...) return { domain = { ... }, name = "n" .. select("#", ...) } end
      local function typed(d, name) return { domain = { b, t }, dtype = d, name = name } end
      local h = P:tensor { domain = { b, t }, shape = { 2, 3 } }
      h[{ t = 0 }] = 0
      h[t] = h[t - 1] * 0.5 + tempo.uniform({ 2, 3 }, over(b, t)) + tempo.normal({ 3 },
        { domain = { t }, name = "m" })
      return {
        h = h, one = tempo.normal({}, over(t)) * 2, last = h[T - 1],
          back = tempo.uniform({ 2 }, { domain = { t }, name = "r" })[T - 1 - t] * 1,
        d = tempo.uniform({ 4 }, typed("f64", "d")) + h:to "f64":sum(),
          e = tempo.normal({ 2 }, typed("f64", "e")) * h:to "f64":sum(),
        k = tempo.randint({ 3 }, -5, 12, { domain = { b, t }, name = "k" }) + 1,
          p = tempo.bernoulli({ 3 }, 0.3, { domain = { b, t }, name = "p" }):to "i32",
      }
    end, {}, { T = 21, B = 19 })
  end)

  it("of draws at one point an iteration, made for the next ones at once, forwards and backwards, under a condition", function()
    local _, run = on_all(function(P)
      local i = P:dim "i"
      local t, T = P:dim "t"
      local function over(...) return { domain = { ... }, name = "n" .. select("#", ...) } end
      local h, g = P:tensor { domain = { i, t } }, P:tensor { domain = { i, t }, shape = { 2 } }
      h[{ t = 0 }] = 0
      h:otherwise(h[{ i, t - 1 }] * 0.5 + tempo.uniform({}, over(i, t)))
      g[{ t = T - 1 }] = 1
      g:otherwise(g[{ i, t + 1 }] * 0.5 + tempo.normal({ 2 }, { domain = { t }, name = "m" }) + h)
      local k = P:tensor { domain = { t }, dtype = "i64" }
      k[0] = 1
      k:when((t % 3):eq(0), k[t - 1] + tempo.randint({}, 0, 9, over(t)))
      k:otherwise(k[t - 1] * 2 % 101)
      return { h = h, g = g[{ t = 0 }], k = k[T - 1] }
    end)
    for _, n in ipairs { 1, 16, 17, 50 } do
      run({}, { T = n, I = 3 })
    end
  end)

  it("of draws under keys: over dims, that some dims do not move, on rings, of a point an iteration, of many numbers", function()
    local _, run = on_all(function(P)
      local b = P:dim "b"
      local t, T = P:dim "t"
      local k = P:input("k", { domain = { b, t }, dtype = "i64" })
      local function under(key, name, dtype) return { key = key, name = name, dtype = dtype } end
      local s, w = P:tensor { domain = { b, t }, dtype = "i64" },
        P:tensor { domain = { t }, dtype = "i64" }
      s[{ t = 0 }] = b
      s:otherwise(s[{ b, t - 1 }] + tempo.randint({}, -3, 4, under(s[{ b, t - 1 }] * 3, "s")))
      w[0] = 1
      w:otherwise(tempo.randint({}, 0, 1000, under(w[t - 1], "w")) + w[t - 1] % 7)
      local h = P:tensor { domain = { b, t }, shape = { 2 } }
      h[{ t = T - 1 }] = 0
      h:otherwise(h[{ b, t + 1 }] * 0.5 + tempo.normal({ 2 },
        under(k + w, "h")) + tempo.uniform({ 2 }, under(w * 2, "g")))
      return {
        s = s, w = w, h = h,
          far = tempo.normal({}, under(s[{ t = tempo.max(0, t - 5) }], "far")) + s:to "f32",
        d = tempo.uniform({ 3 }, under(k[{ b = 0 }], "d", "f64")),
          same = tempo.normal({ 2 }, { domain = { b }, key = w + 1, name = "same" }) * 2,
        i = tempo.uniform({}, under(b * 100 - t, "i")),
          ii = tempo.uniform({ 2 }, under(t * b, "ii", "f16")),
        half = tempo.normal({ 2 }, under(k, "half", "bf16")),
        p = tempo.randperm({ 9 }, under(k, "p")), long = tempo.uniform({ 33 }, under(w, "long")),
          c = tempo.bernoulli({ 2 }, 0.4, under(k - t, "c")):to "i32",
      }
    end)
    for _, n in ipairs { 1, 16, 70 } do
      run({ k = tempo.array(fill({ 3, n }, function(b, t)
        return (t * 7919 + b) % 11 - 5
      end), "i64") }, { T = n, B = 3 })
    end
  end)

  it("of windows that wrap on their rings", function()
    local function back(x, t, n) return x[{ t = tempo.max(0, t - n) }] end
    for _, case in ipairs { { {}, 64, 1, 8200 }, { { 128 }, 3, 2, 64, 200 }, { { 128 }, 64, 200 },
      { { 3, 40 }, 1, 130 } } do
      local shape, w = case[1], case[2]
      local f, run = on_all(function(P)
        local t = P:dim "t"
        local v = P:input("x", { domain = { t }, shape = shape })
        local past, y = v[tempo.max(0, t - w + 1) .. t + 1], v * 2 + 1
        return { most = past:max(0), all = past:sum(0),
          far = (back(y, t, w) - back(y, t, 2 * w)):exp() * y }
      end)
      for k = 3, #case do
        local T, x = case[k], {}
        for i = 0, T - 1 do x[i + 1] = fill(shape, function(...) return wave(i, ...) end) end
        run({ x = tempo.array(x) }, { T = T })
        assert.is_true(w == 1 or count(f:explain "plan", "wrap %d") > 0)
      end
    end
  end)

  it("of places of the largest and the least, at ties, of NaN, of any dtype", function()
    local x, nan = {}, 0 / 0
    for k = 1, 40 do
      x[k] = { { wave(k, 1), k % 3, k % 5 == 0 and nan or 1 },
        { k % 7 == 0 and nan or k % 2, 1, k % 7 == 0 and nan or 0 } }
    end
    agree(function(P)
      local t, T = P:dim "t"
      local a, h = P:input("x", { domain = { t }, shape = { 2, 3 } }),
        P:tensor { domain = { t }, shape = { 2, 3 } }
      h[0] = a[0]
      h[t] = h[t - 1] * 0.25 + a
      local i = (h * 3):to "i32"
      local o = { kept = (h + a):argmax(1, { keepdim = true }), first = (a - h[t]):argmin(0),
        whole = a:argmax(), last = h[T - 1] }
      for _, d in ipairs { "u8", "i64", "bool", "f64" } do
        o[d] = i:to(d):argmax(-1) + h:argmax() * 0
      end
      return o
    end, { x = x }, { T = 40 })
  end)

  it("of picks by data, until one is wrong, and says which", function()
    local function make(P)
      local t, T = P:dim "t"
      local x, k = P:input("x", { domain = { t }, shape = { 2, 3 } }),
        P:input("k", { domain = { t }, shape = { 2, 1 }, dtype = "i64" })
      local h = P:tensor { domain = { t }, shape = { 2, 1 } }
      h[0] = x:gather(1, k)[0]
      h[t] = h[t - 1] * 0.5 + (x + 1):gather(1, k)
      return { h = h, last = h[T - 1] }
    end
    local x, k = fill({ 17, 2, 3 }, wave), fill({ 17, 2, 1 }, function(i, j)
      return (i * 5 + j * 2) % 3
    end)
    agree(make, { x = x, k = tempo.array(k, "i64") }, { T = 17 })
    k[12][2][1] = 3
    local said = {}
    for _, tier in ipairs { "interpreter", "native" } do
      local P = tempo.program()
      said[tier] = tostring(
        select(2, pcall(P:compile { outputs = make(P), tier = tier },
        { x = x, k = tempo.array(k, "i64") }, { T = 17 })))
    end
    assert.equal(said.interpreter, said.native)
    assert.truthy(said.native:find("index 3 is outside 0 .. 2", 1, true), said.native)
  end)

  it("of rows picked and put by data, inside a tensor and outside", function()
    local pairs_of_rows = { { 1, 1 }, { 0, 4 }, { 3, 2 }, { 4, 4 }, { 2, 0 }, { 5, 1 }, { 0, 0 },
      { 1, 5 } }
    local inputs = { at = tempo.array({ 2, 0, 5, 9, 2, 1, 6, 3 }, "i64"),
      two = tempo.array(pairs_of_rows, "i64") }
    local function make(P)
      local t, T = P:dim "t"
      local at = P:input("at", { domain = { t }, shape = {}, dtype = "i64" })
      local two = P:input("two", { domain = { t }, shape = { 2 }, dtype = "i64" })
      local h, v = P:tensor { domain = { t }, shape = { 7, 3, 2 } },
        P:tensor { domain = { t }, shape = { 6 } }
      h[0], v[0] = tempo.arange({ 42 }):reshape { 7, 3, 2 }, tempo.arange { 6 }
      local rows = h[t - 1]:index_select(0, two)
      local column = h[t - 1]:permute(1, 0, 2):index_select(1, two:slice(0, 0, 1):squeeze(0))
      local here = tempo.arange({ 7 }, { dtype = "i64" }):eq(at):reshape { 7, 1, 1 }
      h[t] = tempo.where(here, (rows:sum(0) * 0.25 + column):unsqueeze(0), h[t - 1])
      v[t] = tempo.where(tempo.arange({ 6 }, { dtype = "i64" }):eq(at),
        v[t - 1]:gather(0, two):sum() * 0.5, v[t - 1])
      return { h = h[T - 1], v = v[T - 1] }
    end
    local f = agree(make, inputs, { T = 8 }, { tol = 1e-5 })
    local code = f:explain "code"
    local loop = code:match "for %(int64_t s.-\n  if %(h%->entry"
    -- nothing in the loop is a call unless an index is wrong
    assert.equal(count(loop, "h%->leaf"), count(loop, "%(wrong, 0%)"), code)
    inputs.two:set(7, 4, 1)
    for _, tier in ipairs { "reference", "interpreter", "native" } do
      local P = tempo.program()
      local g = P:compile { outputs = make(P), tier = tier }
      fails(function() g(inputs, { T = 8 }) end, "at t = 4: index 7 is outside 0 .. ")
    end
  end)

  it("of numbers added where data says, if each place is hit once at most", function()
    for _, d in ipairs(dtypes("f32", "i64", "f64", "u8")) do
      local x = tempo.array(fill({ 6, 4, 3 }, function(...)
        return math.floor(90 * math.abs(wave(...)))
      end), d)
      local function make(P)
        local t, T = P:dim "t"
        local k = P:input("k", { domain = { t }, shape = { 4, 1 }, dtype = "i64" })
        local y = P:input("x", { domain = { t }, shape = { 4, 3 }, dtype = d })
        local h = P:tensor { domain = { t }, shape = { 4, 3 }, dtype = d }
        h[0] = y
        h[t] = (h[t - 1] + y):scatter_add(1, k, y:slice(1, 1, 2))
        local across = y:scatter_add(0, k:reshape { 1, 4 }:slice(1, 0, 3), h:slice(0, 1, 2))
        local out = { h = h, last = across[T - 1],
          single = y:flatten():scatter_add(0, k:select(0, 0), y:select(0, 3):slice(0, 2, 3)) }
        if d:find "f" then
          out.picked = tempo.grad((y * y):log_softmax(1):gather(1, k):sum()[0 .. T]:sum(), y)
        end
        return out
      end
      local k = fill({ 6, 4, 1 }, function(t, r) return (t * 5 + r * r) % 3 end)
      local inputs = { x = x, k = tempo.array(k, "i64") }
      agree(make, inputs, { T = 6 }, { tol = 1e-4 })
      k[4][3][1] = 3
      inputs.k = tempo.array(k, "i64")
      for _, tier in ipairs { "reference", "interpreter", "native" } do
        local P = tempo.program()
        local g = P:compile { outputs = { h = make(P).h }, tier = tier }
        fails(function() g(inputs, { T = 6 }) end, "at t = 3: index 3 is outside 0 .. 2")
      end
    end
  end)

  it("of as many picks as there are, with extents of the call, and places hit again by numbers that are added as they are", function()
    for _, d in ipairs(dtypes("f32", "i64", "f64", "u8")) do
      local n = 300
      local function make(P)
        local t, T = P:dim "t"
        local i = P:dim "i"
        local k = P:input("k", { domain = { t }, dtype = "i64" })
        local x = P:input("x", { domain = { t }, shape = { 3 }, dtype = d })
        local all, index = x[0 .. T], k[0 .. T]
        local h = P:tensor { domain = { i }, shape = { n, 3 }, dtype = d }
        h[0] = all
        h[i] = h[i - 1]:index_select(0, (index + i:value()) % n) + 1
        local one = (index % 3):unsqueeze(1)
        local column = h[i]:gather(1, one)
        return {
          rows = h, column = column, single = h[i]:select(1, 0):index_select(0, index),
          into = h[i]:scatter_add(1, one, column),
            again = h[i]:scatter_add(0, index:floordiv(2):unsqueeze(1):expand { n, 3 }, all),
          same = h[i]:scatter_add(0, index:slice(0, 0, 1):unsqueeze(1):expand { n, 3 }, all),
        }
      end
      local k = fill({ n }, function(t) return t * 7 % n end)
      local x = tempo.array(fill({ n, 3 }, function(...)
        return math.floor(90 * math.abs(wave(...))) + (d:find "f" and 0.3 or 0)
      end), d)
      agree(make, { x = x, k = tempo.array(k, "i64") }, { T = n, I = 4 }, { tol = 1e-3 })
    end
  end)

  it("of f32 that hit a place again, summed in f64 and rounded once, as the interpreter sums them",
    function()
    for _, n in ipairs { 2, 3, 8, 9 } do
      local function make(P)
        local t, T = P:dim "t"
        local k = P:input("k", { domain = { t }, shape = { n }, dtype = "i64" })
        local x = P:input("x", { domain = { t }, shape = { n, 3 } })
        local rows, line = P:tensor { domain = { t }, shape = { 5, 3 } },
          P:tensor { domain = { t }, shape = { 5 } }
        rows[0] = tempo.zeros { 5, 3 }
        rows[t] = rows[t - 1]:scatter_add(0, k:unsqueeze(1):expand { n, 3 }, x)
        line[0] = tempo.ones { 5 }
        line[t] = line[t - 1]:scatter_add(0, k, x:select(1, 1))
        local w = P:input("w", { shape = { 5, 3 } })
        local loss = (w:index_select(0, k) * x):sum()[0 .. T]:sum()
        return { rows = rows, line = line[T - 1],
          across = x:scatter_add(1, (k % 3):unsqueeze(1):expand { n, 3 }, x),
          g = tempo.grad(loss, w) }
      end
      local inputs = { w = fill({ 5, 3 }, wave), x = fill({ 9, n, 3 }, function(t, i, j)
        return wave(t, i, j) * 10 ^ ((t + 2 * i + j) % 9 - 4)
      end), k = tempo.array(
      fill({ 9, n }, function(t, i) return (t * i + math.floor(t / 2)) % 5 end), "i64") }
      local f = agree(make, inputs, { T = 9 }, { tol = 1e-3 })
      -- what the places of `line` come to, of numbers of which f32 loses most
      local all = {}
      for i = 1, 5 do all[i] = 1 end
      for t = 1, 8 do
        local sum = {}
        for i = 1, n do
          local at = inputs.k:get(t, i - 1) + 1
          sum[at] = (sum[at] or all[at]) + tempo.array({ inputs.x[t + 1][i][2] }):get(0)
        end
        for at, s in pairs(sum) do all[at] = tempo.array({ s }):get(0) end
      end
      local got = f(inputs, { T = 9 }).line
      for i = 1, 5 do assert.equal(all[i], got:get(i - 1)) end
    end
  end)

  it("of extents that the call says are the same", function()
    agree(function(P)
      local t, T = P:dim "t"
      local x, z = P:input("x", { domain = { t }, shape = { 3 } })[0 .. T],
        P:input("z", { shape = { 5, 3 } })
      local wide = x:select(1, 0):unsqueeze(1):expand { 5, 4 }
      return { wide = wide * 1, sum = (x:expand { 5, 3 } * z):sum(0), both = tempo.cat({ x, z }, 1),
        grad = tempo.grad((x:expand { 5, 3 } * z):sum(), x) }
    end, { x = fill({ 5, 3 }, wave), z = fill({ 5, 3 }, wave) }, { T = 5 })
  end)

  it("of environments whose source is known, and of what they are not asked", function()
    local function make(P, wrong)
      local t, T = P:dim "t"
      local b = P:dim "b"
      local env = tempo.rl.env(P, "CartPole-v1", { domain = { b, t }, time = t })
      local action = (env.obs:sum():sin() * 1000):abs():to "i64" % 2
      env:step(wrong and action + (t:value():eq(40)):to "i64" * 5 or action)
      return { obs = env.obs, next = env.next_obs[T - 1], reward = env.reward,
        done = env.terminated, cut = env.truncated }
    end
    agree(make, {}, { T = 60, B = 5 })
    local said = {}
    for _, tier in ipairs { "interpreter", "native" } do
      local P = tempo.program { seed = 5 }
      said[tier] = tostring(
        select(2, pcall(P:compile { outputs = make(P, true), tier = tier }, {}, { T = 60, B = 5 })))
    end
    assert.equal(said.interpreter, said.native)
    assert.truthy(said.native:find("is outside 0 .. 1", 1, true), said.native)
  end)

  it("of no points at all", function()
    agree(function(P)
      local t = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 3 } })
      return { y = x * 2, s = x:sum() }
    end, { x = tempo.array({}, "f32", { 0, 3 }) }, { T = 0 })
  end)
end)

describe("native code ends", function()
  it("where data says so", function()
    for _, start in ipairs { 1, 3, 900 } do
      local _, out = agree(function(P)
        local t, T = P:dim "t"
        local n = P:tensor { domain = { t }, dtype = "i64" }
        n[0] = P:constant(tempo.array(start, "i64"))
        n[t] = tempo.where((n[t - 1] % 2):eq(0), n[t - 1]:floordiv(2), n[t - 1] * 3 + 1)
        P:stop(t, n:le(1))
        return { n = n, steps = T:value(), all = n[0 .. T]:sum(0) }
      end, {}, { T = 200 })
      assert.equal(({ [1] = 1, [3] = 8, [900] = 55 })[start], out.steps:item())
    end
  end)

  it("for rows of a batch", function()
    agree(function(P)
      local b = P:dim "b"
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { b } })
      local y = P:tensor { domain = { b, t } }
      y[{ t = 0 }] = x
      y:otherwise(y[t - 1] * 1.5)
      P:stop(t, y:gt(10))
      return { y = y, total = y[{ t = 0 .. T }]:sum(0) }
    end, { x = { 1, 20, 3, 0.1 } }, { B = 4, T = 9 })
  end)

  it("at the first point without a value", function()
    local function message(tier, divisor)
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 2, 3 }, dtype = "i64" })
      local h = P:tensor { domain = { t }, shape = { 2, 3 }, dtype = "i64" }
      h[0] = x[0]
      h[t] = (h[t - 1] + 100):floordiv(x)
      local f = P:compile { outputs = { h = h, last = h[T - 1] }, tier = tier }
      local v = fill({ 5, 2, 3 }, function(a, b, c)
        return a == 3 and b == 1 and c == 0 and divisor or 3
      end)
      local text = fails(function() f({ x = v }, { T = 5 }) end, "input", "h")
      -- and f stays usable
      assert.equal(3,
        f({ x = fill({ 1, 2, 3 }, function() return 3 end) }, { T = 1 }).h:get(0, 1, 1))
      return text
    end
    assert.equal(message("interpreter", 0), message("native", 0))
    assert.truthy(message("native", 0):find("at t = 3: integer division by zero", 1, true))
  end)

  it("at the least of no integers", function()
    local function message(tier)
      local P = tempo.program()
      local t = P:dim "t"
      local x = P:input("x", { domain = { t }, dtype = "i64" })
      local f = P:compile { outputs = { y = x[tempo.max(0, t - 2) .. t]:min(0) }, tier = tier }
      return fails(function() f({ x = { 1, 2, 3 } }, { T = 3 }) end, "input", "empty range")
    end
    assert.equal(message "interpreter", message "native")
  end)

  it("where a callback fails, or cancels", function()
    local f
    local function make(tier, what)
      local P = tempo.program()
      local t, T = P:dim "t"
      local x, y = P:tensor { domain = { t } }, P:tensor { domain = { t }, shape = { 40 } }
      x[0] = 1
      x[t] = x[t - 1] * 1.01 + 1
      local early = tempo.range(0, 3)
      y[0] = tempo.zeros { 40 }
      y[t] = y[t - 1] + P:call(function(a, p)
        if p.t == 7 then return what(a) end
        return a[1]
      end, { x }, { { domain = { t } } })
      f = P:compile { outputs = { x = x, y = y[T - 1], early = x[{ t = early }] }, tier = tier }
      return f
    end
    local why = {}
    local ok, e = pcall(make("native", function() error(why, 0) end), {}, { T = 20 })
    assert.is_false(ok)
    assert.equal(why, e)
    for _, tier in ipairs { "interpreter", "native" } do
      local out = make(tier, function(a)
        f:cancel()
        return a[1]
      end)({}, { T = 20 })
      assert.is_true(out.cancelled)
      assert.is_nil(out.x)
      assert.is_nil(out.y)
    end
  end)

  it("at the first NaN, when it is looked for", function()
    local function message(tier)
      local P = tempo.program()
      local t = P:dim "t"
      local x = P:input("x", { domain = { t } })
      local h = P:tensor { domain = { t } }
      h[0] = x[0]
      h[t] = (x - h[t - 1]):log()
      local f = P:compile { outputs = { h = h }, tier = tier, check = "nan" }
      return fails(function() f({ x = { 1, 2, 0, 1 } }, { T = 4 }) end, "nan", "t = ")
    end
    assert.equal(message "interpreter", message "native")
  end)
end)

describe("native code in steps", function()
  local function learner(P)
    local i = P:dim "i"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { i, t }, shape = { 3 } })
    local w = P:param("w", { along = { i }, shape = { 3 }, init = { 0.5, -0.25, 1 } })
    local h = P:tensor { domain = { i, t }, shape = { 3 } }
    h[{ t = 0 }] = x * w
    h:otherwise((h[t - 1] * 0.5 + x * w):tanh())
    local loss = (h * h)[{ t = 0 .. T }]:sum(0):mean()
    tempo.optim.SGD({ w }, { lr = 0.1 }):step(loss)
    return { y = h:sum(), loss = loss }, { i, t }
  end
  local I, T = 4, 5
  local X = fill({ I, T, 3 }, wave)

  local function compiled(tier)
    local P = tempo.program()
    local outputs, tick = learner(P)
    return P:compile { outputs = outputs, tick = tick, tier = tier }
  end

  -- n steps from k on, with a budget in ms or none; the numbers of all outputs.
  local function steps(f, from, n, budget)
    local seen = {}
    for k = from, from + n - 1 do
      local _, out = f:step({ x = X[math.floor(k / T) + 1][k % T + 1] },
        budget and { budget_ms = budget } or nil)
      for _, name in ipairs { "y", "loss" } do
        if out[name] then seen[#seen + 1] = out[name]:item() end
      end
    end
    return seen
  end

  it("gives the numbers of a run, with budgets and without", function()
    local run = compiled "interpreter"
    run:start({}, { I = I, T = T })
    local want = steps(run, 0, I * T)
    local f = compiled "native"
    for _, budget in ipairs { false, 0, 1e6 } do
      f:start({}, { I = I, T = T })
      same_bits(want, steps(f, 0, I * T, budget), "steps")
      same_bits(run:params().w:totable(), f:params().w:totable(), "w")
    end
    same_bits(run({ x = X }, { I = I, T = T }).y:totable(),
      f({ x = X }, { I = I, T = T }).y:totable(), "y")
  end)

  -- A loop that waits for what is behind, and has nothing of it, is no part of a run that leaves
  -- something.
  it("waits for what a budget left before it goes over it, with ends of rows and an end of those",
    function()
    local function ended(tier, which)
      local P = tempo.program()
      local i, all_i = P:dim "i"
      local b, B = P:dim "b"
      local t, all_t = P:dim "t"
      local y = P:input("y", { domain = { i, b, t }, dtype = "f64" })
      local z = (y * 0.3):sin()
      P:stop(t, z:gt(0.3))
      local s = z[{ t = 0 .. all_t }]:sum(0)
      local rows = s[{ b = 0 .. B }]:sum(0)
      if which == 2 then rows = rows + z[{ t = all_t - 1 }][{ b = 0 .. B }]:sum(0) end
      P:stop(i, rows:gt(1.9))
      local later = P:tensor { domain = { i }, shape = {}, dtype = "f64" }
      later[0] = rows
      later:otherwise(later[i - 1] * 0.5 + rows)
      local before = s[{ i = tempo.max(i - 1, 0) }] * y
      local all = s[{ i = 0 .. all_i }]:sum(0)
      local outputs = which == 1 and { later = later[all_i - 1], all = all, y = y * 2 }
        or { later = later[all_i - 1], sum = rows[{ i = 0 .. all_i }]:sum(0), before = before }
      return P:compile { outputs = outputs, tick = { i, t }, tier = tier }
    end
    local function text_of(v)
      if type(v) ~= "table" then return ("%.12g"):format(v + 0) end
      local list = {}
      for k, x in ipairs(v) do list[k] = text_of(x) end
      return "{" .. table.concat(list, ",") .. "}"
    end
    local function seen_in_steps(f, y, bounds, lengths, budget)
      local seen, done = {}, false
      f:start({}, bounds)
      for i, row in ipairs(lengths) do
        for t = 1, math.max((table.unpack or unpack)(row)) do      -- luacheck: globals unpack
          local out
          local here = {}
          for b = 1, bounds.B do here[b] = y[i][b][t] end
          done, out = f:step({ y = tempo.array(here, "f64") },
            budget and { budget_ms = budget } or nil)
          out.late_ms = nil
          for name, v in pairs(out) do
            seen[#seen + 1] = ("%s at %d, %d: %s"):format(name, i, t,
              text_of(#v:shape() == 0 and v:item() or v:totable()))
          end
        end
      end
      assert.is_true(done)
      table.sort(seen)
      return table.concat(seen, "\n")
    end
    for which = 1, 2 do
      local reference, interpreter, native = ended("reference", which), ended("interpreter", which),
        ended("native", which)
      for _, bounds in ipairs { { B = 2, I = 5, T = 1 }, { B = 3, I = 4, T = 4 },
        { B = 1, I = 3, T = 2 } } do
        local y = fill({ bounds.I, bounds.B, bounds.T }, function(...) return 2 * wave(...) end)
        local lengths = reference({ y = tempo.array(y, "f64") }, bounds).T:totable()
        for _, budget in ipairs { false, 0, 0.001 } do
          local want = seen_in_steps(interpreter, y, bounds, lengths, budget)
          assert.equal(want, seen_in_steps(reference, y, bounds, lengths, budget))
          assert.equal(want, seen_in_steps(native, y, bounds, lengths, budget))
        end
      end
    end
  end)

  it("takes states of the other tier, and gives its own", function()
    local whole = compiled "native"
    whole:start({}, { I = I, T = T })
    local want = steps(whole, 0, I * T)
    for _, pair in ipairs { { "native", "interpreter" }, { "interpreter", "native" },
      { "native", "native" } } do
      for at = 1, I * T - 1, 3 do
        for _, budget in ipairs { false, 0 } do
          local a, b = compiled(pair[1]), compiled(pair[2])
          a:start({}, { I = I, T = T })
          local seen = steps(a, 0, at, budget)
          b:load_state(a:state())
          for _, v in ipairs(steps(b, at, I * T - at)) do seen[#seen + 1] = v end
          same_bits(want, seen, ("%s to %s at %d"):format(pair[1], pair[2], at))
        end
      end
    end
  end)

  it("runs under a limit of memory, by the interpreter where rows lie in a file", function()
    local function make(tier, memory)
      local P = tempo.program()
      local t, N = P:dim("t", "N")
      local x = P:tensor { domain = { t }, shape = { 256 } }
      x[0] = tempo.ones { 256 }
      x[t] = x[t - 1] * 1.001
      local back = P:tensor { domain = { t }, shape = { 256 } }
      back[N - 1] = x
      back[t] = back[t + 1] * 0.5 + x
      return P:compile { outputs = { y = back[0] }, tier = tier, memory = memory }
    end
    local want = make("interpreter")({}, { N = 2000 }).y:totable()
    same_bits(want, make("native")({}, { N = 2000 }).y:totable(), "no limit")
    same_bits(want, make("native", "1MiB")({}, { N = 2000 }).y:totable(), "1 MiB")
  end)
end)

describe("native code is built", function()
  local text = [[
    local tempo = require "tempo"
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:tensor { domain = { t } }
    x[0] = 1
    x[t] = x[t - 1] * 0.5 + 1
    local f = P:compile { outputs = { y = x[T - 1] }, tier = "native" }
    print(f({}, { T = 4 }).y:item(), P:compile { outputs = { z = x[T - 2] }, tier = "native" }({}, { T = 4 }).z:item())
    print(f:explain "code")
  ]]
  local folder

  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir -p " .. folder))
  end)
  after_each(function() os.execute("chmod -R u+w " .. folder .. " && rm -rf " .. folder) end)

  local function run(settings) return helper.script(text, nil, settings) end
  local function files(pattern)
    local p = assert(io.popen("find " .. folder .. " -name '" .. pattern .. "' | wc -l"))
    local n = tonumber(p:read "*a")
    p:close()
    return n
  end

  it("once, in a folder of the user's alone", function()
    local cc = folder .. "/mycc"
    local file = assert(io.open(cc, "w"))
    file:write("#!/bin/sh\necho x >> " .. folder .. "/built\nexec cc \"$@\"\n")
    file:close()
    assert(os.execute("chmod +x " .. cc))
    local settings = ("export TEMPO_CACHE=%s/a/cache CC=%s; "):format(folder, cc)
    for _ = 1, 3 do assert.truthy(run(settings):find("^1.875\t1.75\n"), run(settings)) end
    local built = assert(io.open(folder .. "/built"))
    assert.equal("x\nx\n", built:read "*a")
    built:close()
    assert.equal(2, files "*.so")
    assert.equal(2, files "*.c")
    assert.equal(4, files "?*.?*")
    local p = assert(io.popen(("stat -c %%a %s/a/cache"):format(folder)))
    assert.equal("700\n", p:read "*a")
    p:close()
    run(settings .. "export TEMPO_CFLAGS=-O1; ")
    assert.equal(4, files "*.so")
  end)

  it("with the flags that one asks for, which explain shows", function()
    local said, got = {}, {}
    for k, flags in ipairs { "", "-O0", "-O3 -march=native", "-O0 " } do
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:tensor { domain = { t } }
      x[0] = 0.3
      x[t] = (x[t - 1] * 3.1):sin() + 0.1
      local f = P:compile { outputs = { x = x[T - 1] }, tier = "native",
        cflags = flags ~= "" and flags or nil }
      got[k], said[k] = f({}, { T = 200 }).x:item(), f:explain "code"
      assert.truthy(
        said[k]:find("/%* [^\n]*cc[^\n]* %-O2 %-ftree%-vectorize %-march=native [^\n]*"
        .. flags:gsub("%-", "%%-") .. " %*/"), said[k])
    end
    for k = 2, 4 do
      assert.equal(got[1], got[k])
      assert.not_equal(said[1]:match "^[^\n]+", said[k]:match "^[^\n]+")
    end
  end)

  it("with loops in vectors, however many calls stand before them", function()
    local p = assert(io.popen "cc -v 2>&1")
    local gcc = p:read "*a":find("gcc version", 1, true)
    p:close()
    if not gcc then return pending "only GCC says what it made of loops" end
    local function vectors(calls)
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:tensor { domain = { t }, shape = { 1000 }, dtype = "i32" }
      x[0] = tempo.arange { 1000 }:to "i32"
      local y = x[t - 1]
      for k = 1, calls do y = y:sort(0) * (2 * k + 1) end
      x[t] = y + (y * 0.5):sqrt():to "i32"
      local said = folder .. "/loops" .. calls
      local f = P:compile { outputs = { x = x[T - 1] }, tier = "native",
        cflags = "-fopt-info-vec-optimized=" .. said }
      f({}, { T = 2 })
      local file = assert(io.open(said))
      local n = count(file:read "*a", "loop vectorized")
      file:close()
      return n
    end
    assert.equal(100 * vectors(1), vectors(100))
  end)

  it("by many processes at once", function()
    local script = folder .. "/one.lua"
    local file = assert(io.open(script, "w"))
    file:write(text)
    file:close()
    local out = helper.script(([[
      local all = {}
      for k = 1, 4 do all[k] = assert(io.popen(arg[-1] .. " %s 2>&1")) end
      for k = 1, 4 do io.write(all[k]:read "*a") end]]):format(script), nil, ("export TEMPO_CACHE=%s/cache; "):format(folder))
    assert.equal(4, count(out, "1.875\t1.75\n"), out)
    assert.equal(2, files "*.so")
    assert.equal(5, files "?*.?*")
  end)

  it("elsewhere, for the moment, where the folder cannot be written or is not the user's alone",
    function()
    for _, spoil in ipairs { "touch %s/cache", "mkdir %s/cache && chmod 777 %s/cache" } do
      assert(os.execute((spoil:gsub("%%s", folder))))
      local out = run(("export TEMPO_CACHE=%s/cache; "):format(folder))
      assert.truthy(out:find "^1.875\t1.75\n", out)
      assert.truthy(out:find("tp_part_0", 1, true))
      assert.equal(0, files "*.so")
      os.execute("rm -rf " .. folder .. "/cache")
    end
    assert.truthy(run("export TEMPO_CACHE=none; "):find "^1.875\t1.75\n")
  end)

  it("or not, and the interpreter runs the plan and says so once", function()
    for _, cc in ipairs { "/nonexistent/cc", "false" } do
      local out = run(("export TEMPO_CACHE=%s CC=%s; "):format(folder, cc))
      assert.truthy(out:find("1.875\t1.75\n", 1, true), out)
      assert.equal(1, count(out, "no native code"))
      assert.truthy(out:find("'" .. cc .. "' failed", 1, true), out)
      assert.truthy(out:find("not compiled: the interpreter runs the plan", 1, true))
    end
  end)

  it("anew where what is kept is damaged", function()
    local settings = ("export TEMPO_CACHE=%s/cache; "):format(folder)
    run(settings)
    for _, damage in ipairs {
      ": > $f", "truncate -s 5000 $f", "truncate -s -1 $f", "truncate -s -4096 $f",
      "printf X | dd of=$f bs=1 seek=4200 conv=notrunc 2>/dev/null", "echo more >> $f",
    } do
      os.execute(("for f in %s/cache/*.so; do %s; done"):format(folder, damage))
      assert.truthy(run(settings):find "^1.875\t1.75\n", damage)
      assert.equal(2, files "*.so")
    end
  end)

  -- The cache drops its oldest files beyond 256 MiB: these are sparse.
  it("and removes nothing but what it made", function()
    local cache, hex = folder .. "/cache", ("0123456789abcdef"):rep(2)
    assert(os.execute(("mkdir -m 700 %s && touch %s/.tempo"):format(cache, cache)))
    local others = { "data.npz", "lib.so", hex:sub(2) .. ".so", hex .. "0.c", hex .. ".npy",
      hex .. ".so.old", hex .. ".a.b.c", hex .. ".1.so.bak" }
    local ours = { hex .. ".so", hex .. ".c", hex .. ".12.3.so" }
    for k, name in ipairs(others) do
      assert(os.execute(("truncate -s 300M %s/%s && touch -d '2001-01-%02d' %s/%s"):format(cache,
        name, k, cache, name)))
    end
    for k, name in ipairs(ours) do
      assert(os.execute(("truncate -s 300M %s/%s && touch -d '2002-01-%02d' %s/%s"):format(cache,
        name, k, cache, name)))
    end
    assert.truthy(run(("export TEMPO_CACHE=%s; "):format(cache)):find "^1.875\t1.75\n")
    for _, name in ipairs(others) do assert.equal(1, files(name), name) end
    for _, name in ipairs(ours) do assert.equal(0, files(name), name) end
  end)

  it("in no folder that holds files of others", function()
    for _, name in ipairs { "notes.txt", ".profile", ("a"):rep(32) .. ".csv" } do
      local cache = folder .. "/data"
      assert(os.execute(("mkdir -m 700 %s && echo mine > %s/%s"):format(cache, cache, name)))
      local out = run(("export TEMPO_CACHE=%s; "):format(cache))
      assert.truthy(out:find("1.875\t1.75\n", 1, true), out)
      assert.truthy(out:find("tp_part_0", 1, true))
      assert.equal(1,
        count(out, "native code is not kept: '" .. cache:gsub("%-", "%%-")
        .. "' holds files of others"), out)
      local p = assert(io.popen(("ls -A %s; cat %s/%s"):format(cache, cache, name)))
      assert.equal(name .. "\nmine\n", p:read "*a")
      p:close()
      assert(os.execute("rm -rf " .. cache))
    end
    -- One that tempo made stays its own, whatever comes to lie there.
    local cache = folder .. "/made"
    run(("export TEMPO_CACHE=%s; "):format(cache))
    assert(os.execute(("echo mine > %s/notes.txt && rm %s/*.so"):format(cache, cache)))
    assert.truthy(run(("export TEMPO_CACHE=%s; "):format(cache)):find "^1.875\t1.75\n")
    assert.equal(2, files "*.so")
    assert.equal(1, files "notes.txt")
  end)

  it("within a limit of time, and the interpreter runs the plan where the compiler does not end",
    function()
    local cc = folder .. "/slow"
    for _, hangs in ipairs { "sleep 1000", "exec >/dev/null 2>&1; sleep 1000",
      "while :; do :; done" } do
      local file = assert(io.open(cc, "w"))
      file:write("#!/bin/sh\necho $$ >> " .. folder .. "/pids\n" .. hangs .. "\n")
      file:close()
      assert(os.execute("chmod +x " .. cc))
      local out = run(("export TEMPO_CACHE=%s/cache TEMPO_NATIVE_LIMIT=0.2 CC=%s; "):format(folder,
        cc))
      assert.truthy(out:find("1.875\t1.75\n", 1, true), out)
      assert.equal(1,
        count(out, "no native code: '" .. cc:gsub("%-", "%%-")
        .. "' has not ended within the limit"), out)
      assert.equal(0, files "*.c")
      -- Nothing of it is left running, though its parent may not have asked for it yet.
      local left = "sleep 0.2; for p in $(cat %s/pids); do grep -qs '^State:.[^ZX]' /proc/$p/status && exit 1; done; exit 0"
      assert.truthy(os.execute(left:format(folder)))
    end
  end)

  it("goes over tiles of an axis whose extent the call gives", function()
    local f, on = on_all(function(P)
      local N = P:bound "N"
      local v = P:input("x", { shape = { N, 40 } })
      local e = v:softmax(-1)
      return { last = e, first = v:softmax(0), norm = v:layer_norm { 40 }, twice = (e * e):sum(-1) }
    end)
    for _, n in ipairs { 1, 3, 64, 65, 130 } do
      on({ x = fill({ n, 40 }, function(i, k) return math.sin(i * 7 + k * 3) end) }, { N = n })
      assert.is_truthy(f:explain "plan":match "for tile")
    end
  end)
end)

describe("where data repeats an index", function()
  -- Programs over n: parameters that all points share, and rows that name few places.
  local script = [[
local tempo = require "tempo"
local N = 67
local programs = {
  cross_entropy = function(a, v, th) return tempo.grad(th:cross_entropy(a), th) end,
  log_prob = function(a, v, th) return tempo.grad(tempo.dist.Categorical { logits = th }:log_prob(a), th) end,
  nll_loss = function(a, v, th) return tempo.grad(th:nll_loss(a) * v, th) end,
  scatter_add = function(a, v, th, N) return tempo.zeros { 4 }:scatter_add(0, a:reshape { 1 }, v:reshape { 1 })[0 .. N]:sum(0) end,
  gather = function(a, v, th) return tempo.grad(th:gather(0, a:reshape { 1 }) * v, th) end,
  gathers = function(a, v, th) return tempo.grad((th:gather(0, (a + tempo.arange({ 9 }, { dtype = "i64" }) * a) % 4) * v):sum(), th) end,
  columns = function(a, v, th, N)
    local k = (tempo.arange({ 15 }, { dtype = "i64" }):reshape { 5, 3 } * (a + 1)) % 4
    return tempo.zeros { 4, 3 }:scatter_add(0, k, tempo.ones { 5, 3 } * v * 0.3)[0 .. N]:sum(0):reshape { 12 }
  end,
  select = function(a, v, th) return tempo.grad(th:select(0, a) * v, th) end,
  rows = function(a, v, th) return tempo.grad((th:reshape { 4, 1 } * tempo.ones { 4, 3 }):index_select(0, a):sum() * v, th) end,
  some_rows = function(a, v, th) return tempo.grad((th:reshape { 2, 2 }:index_select(0, (a * tempo.arange({ 5 }, { dtype = "i64" })) % 2)):sum() * v, th) end,
  all = function(a, v, th, N) return tempo.zeros { 4 }:scatter_add(0, a[0 .. N], v[0 .. N]) end,
  picked = function(a, v, th, N) return tempo.grad((th:index_select(0, a[0 .. N]) * v[0 .. N]):sum(), th) end,
}
local names = {}
for name in pairs(programs) do names[#names + 1] = name end
table.sort(names)
-- Runs each name, in programs of their own or, with TOGETHER, in one, and gives its results.
local function run(only, options)
  local P = tempo.program()
  local n, bound = P:dim "n"
  local a, v = P:input("a", { domain = { n }, dtype = "i64" }), P:input("v", { domain = { n } })
  local th = P:param("th", { shape = { 4 }, init = { 0.1, 0.2, 0.3, -1 } })
  options.outputs = { a = a, v = v }
  for _, name in ipairs(only) do options.outputs[name] = programs[name](a, v, th, bound) end
  local f, places, values, texts = P:compile(options), {}, {}, {}
  for k = 1, N do places[k], values[k] = (k * 7 + k % 3) % 4, k % 5 + 1 end
  local out = f({ a = places, v = values }, { N = N })
  for _, name in ipairs(only) do texts[name] = table.concat(out[name]:totable(), " ") end
  return texts
end
local function all(options)
  if os.getenv "TOGETHER" then return run(names, options) end
  local texts = {}
  for _, name in ipairs(names) do texts[name] = run({ name }, options)[name] end
  return texts
end
local want, ref = all { tier = "interpreter" }, all { tier = "reference" }
local others = { all { tier = "native" }, all { tier = "native", threads = 2 },
  all { tier = "interpreter", threads = 3 } }
for _, name in ipairs(names) do
  local same, near, number = true, true, ref[name]:gmatch "%S+"
  for _, texts in ipairs(others) do same = same and texts[name] == want[name] end
  for x in want[name]:gmatch "%S+" do near = near and math.abs(x - number()) < 1e-3 end
  print(name, same, near)
end
]]

  for _, cc in ipairs { "gcc", "clang" } do
    for _, level in ipairs { "-O0", "-O1", "-O2", "-O3" } do
      local tag = (level == "-O1" or level == "-O2") and " #long" or ""
      it(("each addition counts: %s %s"):format(cc, level) .. tag, function()
        local ok = os.execute(cc .. " --version >/dev/null 2>&1")
        if ok ~= true and ok ~= 0 then return end
        local said = helper.script(script, nil, ("export TEMPO_SHARE=0 CC=%s TEMPO_CFLAGS=%s%s; ")
          :format(cc, level, tag == "" and " TOGETHER=1" or ""))
        local n = 0
        for _ in said:gmatch "true\ttrue\n" do n = n + 1 end
        assert(n == 12 and not said:find("false", 1, true), said)
      end)
    end
  end
end)

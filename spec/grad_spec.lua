-- Gradients through reads in time, against central differences of plain loops, closed forms and
-- identities.
local tempo = require "tempo"
local helper = require "spec.helper"

local min, max, floor = math.min, math.max, math.floor
local f64 = { dtype = "f64" }

local patterns = require "spec.patterns"

-- softmax over the range (or, at a point, over the two elements) times a weight that depends on
-- position and time.
local function weigh(r, t)
  local n = r:shape()[1]
  local phase = tempo.arange({ n }, f64) * 1.3 + t:value():to "f64" * 0.7
  if #r:shape() == 1 then return (r:softmax(0) * phase:sin()):sum() end
  return (r:softmax(0) * (phase:unsqueeze(1) + tempo.array({ 0, 1 }, "f64")):sin()):sum()
end

-- rows: pairs of numbers; a point's pair is softmaxed itself
local function weighed(rows, t, point)
  local columns = point and { rows[1] } or { {}, {} }
  if not point then
    for k, row in ipairs(rows) do columns[1][k], columns[2][k] = row[1], row[2] end
  end
  local loss = 0
  for c, column in ipairs(columns) do
    local z = 0
    for _, v in ipairs(column) do z = z + math.exp(v) end
    for k, v in ipairs(column) do
      loss = loss + math.exp(v) / z * math.sin((k - 1) * 1.3 + t * 0.7 + (c - 1))
    end
  end
  return loss
end

local function plain_loss(p, x, T, w)
  local loss = 0
  for t = 0, T - 1 do
    local rows = {}
    local lo = p[3](t, T, w)
    for u = lo, p[4] and p[4](t, T, w) - 1 or lo do rows[#rows + 1] = x[u + 1] end
    loss = loss + weighed(rows, t, not p[4])
  end
  return loss
end

local function bounds_of(p)
  local all = {}
  for _, T in ipairs { 1, 2, 3, 5, 8 } do
    if T >= (p.from or 1) then
      for _, w in ipairs(p.window and { 0, 1, 3, 6 } or { 0 }) do
        all[#all + 1] = { T = T, w = p.window and w or nil }
      end
    end
  end
  return all
end

local function total(v)
  if type(v) == "number" then return v end
  local s = 0
  for k = 1, #v do s = s + total(v[k]) end
  return s
end

describe("the gradient of softmax(read) * weight", function()
  for _, p in ipairs(patterns) do
    it("through " .. p[1] .. " is the difference quotient's", function()
      local P = tempo.program()
      local t, T = P:dim "t"
      local w = p.window and P:bound "w"
      local x = P:input("x", { domain = { t }, shape = { 2 }, dtype = "f64" })
      local loss = weigh(p[2](x, t, T, w), t)
      local g = tempo.grad(loss, { x })[1]
      assert.same({ 2 }, g:shape())
      local f = helper.compile(P, { loss = loss, g = g })
      for _, b in ipairs(bounds_of(p)) do
        local v = helper.numbers({ b.T, 2 }, helper.rng(b.T + 31 * (b.w or 0)))
        local out = f({ x = tempo.array(v, "f64") }, b)
        helper.same(plain_loss(p, v, b.T, b.w), total(helper.plain(out.loss)), 1e-12, "loss")
        helper.same(helper.differences(function(y)
          return plain_loss(p, y, b.T, b.w)
        end, v), out.g:totable(), 1e-8, "gradient")
      end
    end)
  end

  -- z is a recurrence over x: what readers send back goes through its own reads too.
  local function states(v)
    local z = {}
    for k, row in ipairs(v) do
      z[k] = {}
      for c = 1, 2 do z[k][c] = k == 1 and 2 * row[c] or z[k - 1][c] * 0.5 + helper.tanh(row[c]) end
    end
    return z
  end
  for _, p in ipairs(patterns) do
    it("of a declared tensor through " .. p[1] .. " is the difference quotient's", function()
      local P = tempo.program()
      local t, T = P:dim "t"
      local w = p.window and P:bound "w"
      local x = P:input("x", { domain = { t }, shape = { 2 }, dtype = "f64" })
      local z = P:tensor { domain = { t }, shape = { 2 }, dtype = "f64" }
      z[0] = x * 2
      z[t] = z[t - 1] * 0.5 + x:tanh()
      local g = tempo.grad(weigh(p[2](z, t, T, w), t), { x, z })
      local f = helper.compile(P, { x = g[1], z = g[2] })
      for _, b in ipairs(bounds_of(p)) do
        local v = helper.numbers({ b.T, 2 }, helper.rng(b.T + 7 * (b.w or 0)))
        local out = f({ x = tempo.array(v, "f64") }, b)
        local want = helper.differences(function(y)
          return plain_loss(p, states(y), b.T, b.w)
        end, v)
        helper.same(want, out.x:totable(), 1e-8, "dx")
        local dz = out.z:totable()
        for k = 1, b.T do                              -- dx is dz times the local derivative
          for c = 1, 2 do dz[k][c] = dz[k][c] * (k == 1 and 2 or 1 - helper.tanh(v[k][c]) ^ 2) end
        end
        helper.same(want, dz, 1e-8, "dz")
      end
    end)
  end

  it("of one tensor read by six patterns at once is their sum", function()
    local six = { 2, 4, 12, 14, 18, 10 }
    for _, declared in ipairs { false, true } do
      local P = tempo.program()
      local t, T = P:dim "t"
      local w = P:bound "w"
      local x = P:input("x", { domain = { t }, shape = { 2 }, dtype = "f64" })
      local z = x
      if declared then
        z = P:tensor { domain = { t }, shape = { 2 }, dtype = "f64" }
        z[0] = x * 2
        z[t] = z[t - 1] * 0.5 + x:tanh()
      end
      local loss = 0
      for _, k in ipairs(six) do loss = loss + weigh(patterns[k][2](z, t, T, w), t) * k end
      local f = helper.compile(P, { g = tempo.grad(loss, { x })[1] })
      for _, b in ipairs { { T = 1, w = 3 }, { T = 2, w = 3 }, { T = 7, w = 3 }, { T = 7, w = 1 },
        { T = 4, w = 9 } } do
        local v = helper.numbers({ b.T, 2 }, helper.rng(b.T))
        local want = helper.differences(function(y)
          local s = 0
          for _, k in ipairs(six) do
            s = s + plain_loss(patterns[k], declared and states(y) or y, b.T, b.w) * k
          end
          return s
        end, v)
        helper.same(want, f({ x = tempo.array(v, "f64") }, b).g:totable(), 1e-8)
      end
    end
  end)

  it("at three paces in one loop is the reference's: isl's coalescing of such points adds some",
    function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 2, 3 }, dtype = "f64" })
    local y = P:input("y", { domain = { t }, shape = { 2, 3 }, dtype = "f64" })
    local wave = (t:value():to "f64" + tempo.arange({ 3 }, f64)):sin()
    local function loss(v) return (v * wave):sum() end
    local z = P:tensor { domain = { t }, shape = { 2, 3 }, dtype = "f64" }
    z:when(t:eq(0), x:select(0, 1) - y)
    z:when((t % 3):eq(1), (x[t - 1]:select(0, 1) - y) * 2)
    z:otherwise(z[t - 1] * 0.5 + x[t - 1]:select(0, 1) - y[t - 1])
    local d, outputs = x:select(0, 1) - y, {}
    for k, v in ipairs { d[t:floordiv(2)], d[tempo.min(2 * t, T - 1)], z } do
      local g = tempo.grad(loss(v), { x, y })
      outputs["x" .. k], outputs["y" .. k] = g[1], g[2]
    end
    local f, r = helper.compile(P, outputs), helper.rng(1)
    for n = 1, 7 do
      f({ x = helper.random(r, { n, 2, 3 }), y = helper.random(r, { n, 2, 3 }) }, { T = n })
    end
  end)

  it("of a tensor that reads ranges of itself", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local c = P:input("c", { domain = { t }, dtype = "f64" })
    local z = P:tensor { domain = { t }, dtype = "f64" }
    z[0] = x
    z[t] = x + (z[0 .. t]:softmax(0) * z[0 .. t]):sum() * 0.5 + (
      z[tempo.max(0, t - 2) .. t] * 0.25):sin():sum(0)
    local f = helper.compile(P, { g = tempo.grad(z * c, { x })[1] })
    for _, n in ipairs { 1, 2, 3, 7 } do
      local r = helper.rng(n)
      local v, k = helper.numbers({ n }, r), helper.numbers({ n }, r)
      local want = helper.differences(function(y)
        local s, loss = {}, 0
        for i = 1, n do
          local e, sum, win = 0, 0, 0
          for j = 1, i - 1 do e, sum = e + math.exp(s[j]), sum + math.exp(s[j]) * s[j] end
          for j = max(1, i - 2), i - 1 do win = win + math.sin(s[j] * 0.25) end
          s[i] = y[i] + (i > 1 and sum / e * 0.5 or 0) + win
          loss = loss + s[i] * k[i]
        end
        return loss
      end, v)
      helper.same(want,
        f({ x = tempo.array(v, "f64"), c = tempo.array(k, "f64") }, { T = n }).g:totable(), 1e-8)
    end
  end)
end)

describe("the gradient over two dims", function()
  -- Each read gives a list of the points that it reads at (b, t), row major, as the positions of
  -- the flattened softmax.
  local function box(b0, b1, t0, t1)
    local list = {}
    for b = b0, b1 - 1 do
      for t = t0, t1 - 1 do list[#list + 1] = { b, t } end
    end
    return list
  end
  local reads = {
    { "x[{b = 0 .. B, t = max(t-1, 0)}]", function(x, b, B, t)
      return x[{ b = 0 .. B, t = tempo.max(t - 1, 0) }]
    end, function(_, B, t) return box(0, B, max(t - 1, 0), max(t - 1, 0) + 1) end },
    { "x[{b, 0 .. t+1}]", function(x, b, _, t)
      return x[{ b, 0 .. t + 1 }]
    end, function(b, _, t) return box(b, b + 1, 0, t + 1) end },
    { "x[{0 .. b+1, t .. T}]", function(x, b, _, t, T) return x[{ 0 .. b + 1, t .. T }] end,
      function(b, _, t, T) return box(0, b + 1, t, T) end },
    { "x[{[t] = max(0, t-w+1) .. t+1}]", function(x, _, _, t, _, w)
      return x[{ [t] = tempo.max(0, t - w + 1) .. t + 1 }]
    end, function(b, _, t, _, w) return box(b, b + 1, max(0, t - w + 1), t + 1) end,
    window = true },
    { "x[{0, t}]", function(x, _, _, t) return x[{ 0, t }] end, function(_, _, t)
      return box(0, 1, t, t + 1)
    end },
    { "x[{b = B-1, t = T-1}]", function(x, _, B, _, T) return x[{ b = B - 1, t = T - 1 }] end,
      function(_, B, _, T) return box(B - 1, B, T - 1, T) end },
    { "x transposed", function(x, b, B, t, T)
      return x[{ tempo.min(t, B - 1), tempo.min(b, T - 1) }]
    end, function(b, B, t, T)
    return box(min(t, B - 1), min(t, B - 1) + 1, min(b, T - 1), min(b, T - 1) + 1) end },
    { "x[{b//2 .. b+1, t//2 .. t+1}]", function(x, b, _, t)
      return x[{ b:floordiv(2) .. b + 1, t:floordiv(2) .. t + 1 }]
    end, function(b, _, t) return box(floor(b / 2), b + 1, floor(t / 2), t + 1) end },
    { "x[{min(b+t, B-1), t}]", function(x, b, B, t) return x[{ tempo.min(b + t, B - 1), t }] end,
      function(b, B, t) return box(min(b + t, B - 1), min(b + t, B - 1) + 1, t, t + 1) end },
  }

  local function loss_of(r, y, B, T, w)
    local loss = 0
    for b = 0, B - 1 do
      for t = 0, T - 1 do
        local z, list = 0, r[3](b, B, t, T, w)
        for k, q in ipairs(list) do z = z + math.exp(y[q[1] + 1][q[2] + 1] * math.cos(k)) end
        for k, q in ipairs(list) do
          loss = loss + math.exp(y[q[1] + 1][q[2] + 1] * math.cos(k)) / (z + 1) * math.sin(
            (k - 1) * 1.3 + t * 0.7 + b * 0.3)
        end
      end
    end
    return loss
  end

  for _, r in ipairs(reads) do
    for _, declared in ipairs { false, true } do
      it((declared and "of a declared tensor through " or "through ") .. r[1]
        .. " is the difference quotient's", function()
        local P = tempo.program()
        local b, B = P:dim "b"
        local t, T = P:dim "t"
        local w = r.window and P:bound "w"
        local x = P:input("x", { domain = { b, t }, dtype = "f64" })
        local z = x
        if declared then
          z = P:tensor { domain = { b, t }, dtype = "f64" }
          z[{ t = 0 }] = x
          z[{ b = 0 }] = z[{ t = t - 1 }] * 0.5 + x:sin()
          z[{ b, t }] = z[{ t = t - 1 }] * 0.5 + z[{ b - 1, t - 1 }] * 0.3 + x:sin()
        end
        local read = r[2](z, b, B, t, T, w)
        local n, rank = 1, #read:shape()
        for _, e in ipairs(read:shape()) do n = n * e end
        if rank == 0 then read = read:unsqueeze(0) else read = read:reshape { n } end
        local k = tempo.arange({ n }, f64)
        local e = (read * (k + 1):cos()):exp()
        local weight = (k * 1.3 + t:value():to "f64" * 0.7 + b:value():to "f64" * 0.3):sin()
        local loss = (e / (e:sum() + 1) * weight):sum()
        local f = helper.compile(P, { loss = loss, g = tempo.grad(loss, { x })[1] })

        local function states(y)
          if not declared then return y end
          local s = {}
          for i = 1, #y do
            s[i] = {}
            for j = 1, #y[1] do
              s[i][j] = j == 1 and y[i][j]
                or s[i][j - 1] * 0.5 + math.sin(y[i][j]) + (i > 1 and s[i - 1][j - 1] * 0.3 or 0)
            end
          end
          return s
        end
        for _, c in ipairs { { 1, 1 }, { 1, 4 }, { 3, 1 }, { 2, 3 }, { 3, 2 }, { 3, 5 } } do
          for _, width in ipairs(r.window and { 1, 2, 9 } or { 0 }) do
            local v = helper.numbers(c, helper.rng(c[1] * 10 + c[2]))
            local out = f({ x = tempo.array(v, "f64") },
              { B = c[1], T = c[2], w = r.window and width or nil })
            helper.same(loss_of(r, states(v), c[1], c[2], width), total(helper.plain(out.loss)),
              1e-12, "loss")
            helper.same(helper.differences(function(y)
              return loss_of(r, states(y), c[1], c[2], width)
            end, v), out.g:totable(), 1e-8, "gradient")
          end
        end
      end)
    end
  end

  it("sums over the dims that a tensor lacks", function()
    local P = tempo.program()
    local b = P:dim "b"
    local t = P:dim "t"
    local x = P:input("x", { domain = { b, t }, shape = { 2 }, dtype = "f64" })
    local u = P:input("u", { domain = { b }, dtype = "f64" })
    local v = P:input("v", { domain = { t }, shape = { 2 }, dtype = "f64" })
    local w = P:input("w", f64)
    local g = tempo.grad((x * u * v * w):sum(), { u, v, w, x })
    local f = helper.compile(P, { u = g[1], v = g[2], w = g[3], x = g[4] })
    local r = helper.rng(5)
    local nb, n = 3, 4
    local X, U, V, W = helper.numbers({ nb, n, 2 }, r), helper.numbers({ nb }, r),
      helper.numbers({ n, 2 }, r), 0.7
    local want = { u = { 0, 0, 0 }, v = helper.fill({ n, 2 }, function() return 0 end),
      x = helper.fill({ nb, n, 2 }, function() return 0 end) }
    local dw = 0
    for i = 1, nb do
      for j = 1, n do
        for c = 1, 2 do
          want.u[i] = want.u[i] + X[i][j][c] * V[j][c] * W
          want.v[j][c] = want.v[j][c] + X[i][j][c] * U[i] * W
          want.x[i][j][c] = U[i] * V[j][c] * W
          dw = dw + X[i][j][c] * U[i] * V[j][c]
        end
      end
    end
    local out = f({ x = tempo.array(X, "f64"), u = tempo.array(U, "f64"), v = tempo.array(V, "f64"),
      w = W }, { B = nb, T = n })
    helper.same(want.u, out.u:totable(), 1e-12)
    helper.same(want.v, out.v:totable(), 1e-12)
    helper.same(want.x, out.x:totable(), 1e-12)
    helper.same(dw, out.w:item(), 1e-12)
  end)
end)

describe("the gradient through branches, conditions and data", function()
  local function check(build, plain, lengths, k)
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local d = k and P:input("k", { domain = { t }, dtype = "i64" })
    local loss = build(P, x, t, T, d)
    local g = tempo.grad(loss, { x })[1]
    local f = helper.compile(P, { loss = loss, g = g })
    for _, n in ipairs(lengths) do
      local r = helper.rng(n)
      local v, keys = helper.numbers({ n }, r), helper.fill({ n }, function() return r(n) end)
      local out = f({ x = tempo.array(v, "f64"), k = k and tempo.array(keys, "i64") or nil },
        { T = n })
      helper.same(plain(v, n, keys), total(helper.plain(out.loss)), 1e-12, "loss")
      helper.same(helper.differences(function(y) return plain(y, n, keys) end, v), out.g:totable(),
        1e-8, "gradient")
    end
  end

  it("follows the branch that was first", function()
    check(function(P, x, t, T)
      local y = P:tensor { domain = { t }, dtype = "f64" }
      y:when(t:lt(2), x * x)
      y:when((t % 2):eq(0):land(t:lt(6)), x[t - 1] * x[t - 2] * x)
      y[T - 1] = x[0] * x
      y:otherwise((x + x[t - 1]):sin())
      return y * (t:value() + 1)
    end, function(v, n)
      local s = 0
      for i = 0, n - 1 do
        local y
        if i < 2 then y = v[i + 1] ^ 2
        elseif i % 2 == 0 and i < 6 then y = v[i] * v[i - 1] * v[i + 1]
        elseif i == n - 1 then y = v[1] * v[i + 1]
        else y = math.sin(v[i + 1] + v[i]) end
        s = s + y * (i + 1)
      end
      return s
    end, { 1, 2, 3, 4, 8, 9 })
  end)

  it("goes through a shifted branch", function()
    check(function(P, x, t)
      local y = P:tensor { domain = { t }, dtype = "f64" }
      y[t + 1] = y * x + x
      y[0] = x[0] * 3
      return y:square()
    end, function(v, n)
      local y, s = v[1] * 3, 0
      for i = 1, n do
        s = s + y * y
        y = y * v[i] + v[i]
      end
      return s
    end, { 1, 2, 6 })
  end)

  it("goes to the rows that data chose", function()
    check(function(_, x, t, T, k)
      return x[0 .. T]:index_select(0, k):sin() * (t:value() + 1)
    end, function(v, n, keys)
      local s = 0
      for i = 1, n do s = s + math.sin(v[keys[i] + 1]) * i end
      return s
    end, { 1, 3, 8 }, true)
  end)

  it("goes through prod, logsumexp, cumsum and max over ranges", function()
    check(function(_, x, t, T)
      local r = x[0 .. t + 1]
      return r:prod(0) + r:logsumexp(0) * 2 + r:max(0) * 3 + x[t
        .. T]:min(0) * 5 + (r:cumsum(0) * r):sum() + r:mean(0):square()
    end, function(v, n)
      local s = 0
      for i = 1, n do
        local p, e, m, l, c, cc = 1, 0, -math.huge, math.huge, 0, 0
        for j = 1, i do
          p, e, m, c = p * v[j], e + math.exp(v[j]), max(m, v[j]), c + v[j]
          cc = cc + c * v[j]
        end
        for j = i, n do l = min(l, v[j]) end
        s = s + p + math.log(e) * 2 + m * 3 + l * 5 + cc + (c / i) ^ 2
      end
      return s
    end, { 1, 2, 6 })
  end)

  it("of a product with zeros in it is finite and right", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local f = helper.compile(P, { g = tempo.grad(x[0 .. T]:prod(0), { x })[1] })
    helper.same({ 0, 6, 0 }, f({ x = { 2, 0, 3 } }, { T = 3 }).g:totable(), 0)
    helper.same({ 0, 0, 0 }, f({ x = { 0, 0, 3 } }, { T = 3 }).g:totable(), 0)
  end)

  it("stops at detach", function()
    check(function(_, x, t)
      return x * x[0 .. t + 1]:sum(0):detach()
    end, function(v, n, keys)
      -- differences would see what detach hides: the weights are those of the first call
      keys.sums = keys.sums or (function()
        local c, all = 0, {}
        for i = 1, n do c = c + v[i]; all[i] = c end
        return all
      end)()
      local s = 0
      for i = 1, n do s = s + v[i] * keys.sums[i] end
      return s
    end, { 1, 2, 5 })
  end)
end)

describe("ties", function()
  setup(helper.quiet)
  teardown(helper.loud)
  it("of several axes go to the first element in row-major order; of NaN nobody has the gradient",
    function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 2, 3, 2 }, dtype = "f64" })
    local w = P:input("w", { shape = { 3 }, dtype = "f64" })
    local g = tempo.grad((x:max { 0, 2 } * w):sum(), { x })[1]
    local nan = 0 / 0
    local out = helper.run(P, { g = g },
      { x = { { { 1, 5 }, { 2, 2 }, { 0, nan } }, { { 5, 5 }, { 2, 1 }, { 7, 7 } } },
      w = { 3, 4, 5 } }, {}, { tol = 0 })
    helper.same({ { { 0, 3 }, { 4, 0 }, { 0, 0 } }, { { 0, 0 }, { 0, 0 }, { 0, 0 } } }, out.g, 0,
      "g")
  end)
  it("of reductions go to the first index, of maximum and minimum to the first operand; kinks have slope 0", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local y = P:input("y", { domain = { t }, dtype = "f64" })
    local function both(loss, names, o)
      local g = tempo.grad(loss, { x, y })
      o[names .. "x"], o[names .. "y"] = g[1], g[2]
    end
    local o = {}
    both(x[0 .. T]:max(0), "max", o)
    both(x[0 .. T]:min(0), "min", o)
    both(tempo.maximum(x, y), "maximum", o)
    both(tempo.minimum(y, x), "minimum", o)
    both(x:abs(), "abs", o)
    both(x:relu(), "relu", o)
    both(x:clamp(0, 1), "clamp", o)
    both((x * 0)[0 .. T]:std(0), "std", o)
    both((x * 0)[0 .. T]:norm(0), "norm", o)
    local f = helper.compile(P, o)
    local out = f({ x = { 0, 1, 1, 0 }, y = { 0, 1, 0, 1 } }, { T = 4 })
    local function is(k, want) helper.same(want, out[k]:totable(), 0, k) end
    is("maxx", { 0, 1, 0, 0 })
    is("minx", { 1, 0, 0, 0 })
    is("maximumx", { 1, 1, 1, 0 })
    is("maximumy", { 0, 0, 0, 1 })
    is("minimumy", { 1, 1, 1, 0 })
    is("minimumx", { 0, 0, 0, 1 })
    is("absx", { 0, 1, 1, 0 })
    is("relux", { 0, 1, 1, 0 })
    is("clampx", { 0, 0, 0, 0 })
    is("stdx", { 0, 0, 0, 0 })
    is("normx", { 0, 0, 0, 0 })
    is("maxy", { 0, 0, 0, 0 })
  end)
end)

describe("second derivatives", function()
  it("of prefix sums have the closed form", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local c = P:input("c", { domain = { t }, dtype = "f64" })
    local s = x[0 .. t + 1]:sum(0)
    local g = tempo.grad(s * s * s, { x })[1]
    local h = tempo.grad(g * c, { x })[1]
    local third = tempo.grad(h * c, { x })[1]
    local f = helper.compile(P, { g = g, h = h, third = third })
    for _, n in ipairs { 1, 2, 6 } do
      local r = helper.rng(n)
      local v, k = helper.numbers({ n }, r), helper.numbers({ n }, r)
      local sums, G, H, K = {}, {}, {}, {}
      for i = 1, n do sums[i] = (sums[i - 1] or 0) + v[i] end
      local function prefix(list, j)
        local a = 0
        for i = 1, j do a = a + list[i] end
        return a
      end
      for u = 1, n do
        G[u], H[u], K[u] = 0, 0, 0
        for i = u, n do
          local cs = prefix(k, i)
          G[u], H[u], K[u] = G[u] + 3 * sums[i] ^ 2, H[u] + 6 * sums[i] * cs, K[u] + 6 * cs * cs
        end
      end
      local out = f({ x = tempo.array(v, "f64"), c = tempo.array(k, "f64") }, { T = n })
      helper.same(G, out.g:totable(), 1e-12)
      helper.same(H, out.h:totable(), 1e-12)
      helper.same(K, out.third:totable(), 1e-12)
    end
  end)

  it("through a recurrence are differences of the first", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local c = P:input("c", { domain = { t }, dtype = "f64" })
    local h = P:tensor { domain = { t }, dtype = "f64" }
    h[0] = x:sin()
    h[t] = (h[t - 1] * x + 0.5):sin()
    local g = tempo.grad(h[t .. T]:sum(0):square() + h, { x })[1]
    local g2 = tempo.grad(g * c, { x })[1]
    local f = helper.compile(P, { g = g, g2 = g2 })
    local function loss(y)
      local s, n = {}, #y
      for i = 1, n do s[i] = i == 1 and math.sin(y[1]) or math.sin(s[i - 1] * y[i] + 0.5) end
      local l, suffix = 0, 0
      for i = n, 1, -1 do
        suffix = suffix + s[i]
        l = l + suffix ^ 2 + s[i]
      end
      return l
    end
    for _, n in ipairs { 1, 2, 5 } do
      local r = helper.rng(n)
      local v, k = helper.numbers({ n }, r), helper.numbers({ n }, r)
      local out = f({ x = tempo.array(v, "f64"), c = tempo.array(k, "f64") }, { T = n })
      helper.same(helper.differences(loss, v), out.g:totable(), 1e-7)
      local want = helper.differences(function(y)
        local d, s = f.reference({ x = tempo.array(y, "f64"), c = tempo.array(k, "f64") },
          { T = n }).g:totable(), 0
        for i = 1, n do s = s + d[i] * k[i] end
        return s
      end, v)
      helper.same(want, out.g2:totable(), 1e-7)
    end
  end)

  it("of a step of gradient descent through a detached and an attached gradient differ", function()
    local P = tempo.program()
    local w = P:input("w", f64)
    local g = tempo.grad(w ^ 4, { w })[1]
    local through = tempo.grad((w - g * 0.1):square(), { w })[1]
    local first = tempo.grad((w - g:detach() * 0.1):square(), { w })[1]
    local out = helper.run(P, { a = through, b = first }, { w = 0.5 }, {})
    local step = 0.5 - 0.4 * 0.125
    helper.same(2 * step * (1 - 1.2 * 0.25), out.a, 1e-12)
    helper.same(2 * step, out.b, 1e-12)
  end)
end)

describe("what is differentiated", function()
  setup(helper.quiet)
  teardown(helper.loud)
  it("is 0, with domain, shape and dtype, where no loss needs it", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 2 }, dtype = "f32" })
    local y = P:input("y", { domain = { t }, dtype = "f64" })
    local loss = x[3]:sum() * 2
    local g = tempo.grad(loss, { x, y })
    assert.equal("f32", g[1]:dtype())
    assert.equal("f64", g[2]:dtype())
    assert.same({ 2 }, g[1]:shape())
    local f = helper.compile(P, { x = g[1], y = g[2], n = T:value() })
    local out = f({ x = helper.random(helper.rng(1), { 5, 2 }, "f32"), y = { 1, 2, 3, 4, 5 } },
      { T = 5 })
    helper.same({ { 0, 0 }, { 0, 0 }, { 0, 0 }, { 2, 2 }, { 0, 0 } }, out.x:totable(), 0)
    helper.same({ 0, 0, 0, 0, 0 }, out.y:totable(), 0)
  end)

  it("is the program as compiled, whatever the order of the lines", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local y = P:tensor { domain = { t }, dtype = "f64" }
    local g = tempo.grad(y * 3, { x })[1]
    local h = x:grad()
    y:otherwise(x * x)
    local a, b = y * 5, y[0] * 7
    a:backward()
    b:backward()
    local f = helper.compile(P, { g = g, h = h })
    local out = f({ x = { 1, 2, 3 } }, { T = 3 })
    helper.same({ 6, 12, 18 }, out.g:totable(), 1e-14)
    helper.same({ 10 + 14, 20, 30 }, out.h:totable(), 1e-14)
  end)

  it("leaves a parameter's own update out", function()
    local P = tempo.program()
    local i = P:dim "i"
    local w = P:param("w", { along = { i }, init = 2, dtype = "f64" })
    w[i + 1] = w * 3
    local g = tempo.grad(w * w, { w })[1]
    helper.same({ 4, 12, 36, 108 }, helper.run(P, { g = g }, {}, { I = 4 }).g, 0)
  end)

  it("a gradient that needs itself is a cycle, with what to write", function()
    local P = tempo.program()
    local i = P:dim "i"
    local w = P:tensor { domain = { i }, dtype = "f64", name = "w" }
    local loss = (w - 3):square()
    w[0] = 1
    w[i + 1] = w - tempo.grad(loss, { w })[1] * 0.1
    for _, tier in ipairs { "reference", "interpreter" } do
      helper.fails(function() return P:compile { outputs = { w = w }, tier = tier } end,
        "grad_spec.lua:", "cycle", "w", "parameter", "detach")
    end
  end)

  it("goes through many recurrences that wait for each other", function()
    local N, T0 = 20, 5
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local h = {}
    for k = 1, N do h[k] = P:tensor { domain = { t }, dtype = "f64" } end
    for k = 1, N do
      h[k][0] = 0
      h[k][t] = ((k == 1 and h[N][t - 1] + x or h[k - 1]) + h[k][t - 1]):tanh()
    end
    local g = tempo.grad(h[1][0 .. T]:sum(0), { x })[1]
    local function loss(v)
      local last, sum = {}, 0
      for k = 1, N do last[k] = 0 end
      for s = 2, T0 do
        local now = {}
        for k = 1, N do
          now[k] = helper.tanh((k == 1 and last[N] + v[s] or now[k - 1]) + last[k])
        end
        last, sum = now, sum + now[1]
      end
      return sum
    end
    local x0, want, step = { 0.3, -0.2, 0.5, 0.1, -0.4 }, {}, 1e-5
    for s = 1, T0 do
      local at = x0[s]
      x0[s] = at + step
      local above = loss(x0)
      x0[s] = at - step
      want[s] = (above - loss(x0)) / (2 * step)
      x0[s] = at
    end
    helper.same(want, helper.run(P, { g = g }, { x = x0 }, { T = T0 }).g, 1e-7)
  end)

  it("must be a float", function()
    local P = tempo.program()
    local t = P:dim "t"
    local k = P:input("k", { domain = { t }, dtype = "i64" })
    local x = P:input("x", { domain = { t } })
    helper.fails(function()
      P:compile { outputs = { g = tempo.grad(x, { k })[1] } }
    end, "grad_spec.lua:", "dtype")
  end)
end)

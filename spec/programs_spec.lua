-- Whole programs, each held to a source of its own: plain loops, closed forms, or arrays that
-- make_programs.py computed.
local tempo = require "tempo"
local helper = require "spec.helper"
local fixtures = dofile "spec/fixtures/programs.lua"

local lengths = { 0, 1, 2, 3, 7, 20 }

local function each(bounds, f)
  for _, n in ipairs(bounds) do f(n) end
end

describe("prefix and suffix", function()
  it("sums, means and extrema are those of plain loops", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 2 }, dtype = "f64" })
    local f = helper.compile(P, {
      prefix = x[0 .. t + 1]:sum(0), suffix = x[t .. T]:sum(0), mean = x[t .. T]:mean(0),
      top = x[0 .. t + 1]:max(0), low = x[t .. T]:min(0),
    })
    each(lengths, function(n)
      local v = helper.numbers({ n, 2 }, helper.rng(n))
      local out = f({ x = helper.array(v, "f64", { n, 2 }) }, { T = n })
      local want = { prefix = {}, suffix = {}, mean = {}, top = {}, low = {} }
      for i = 1, n do
        for _, w in pairs(want) do w[i] = {} end
        for c = 1, 2 do
          local pre, suf, top, low = 0, 0, -math.huge, math.huge
          for j = 1, i do pre, top = pre + v[j][c], math.max(top, v[j][c]) end
          for j = i, n do suf, low = suf + v[j][c], math.min(low, v[j][c]) end
          want.prefix[i][c], want.suffix[i][c], want.mean[i][c] = pre, suf, suf / (n - i + 1)
          want.top[i][c], want.low[i][c] = top, low
        end
      end
      for k, w in pairs(want) do helper.same(w, out[k]:totable(), 1e-12, k) end
      assert.same({ n, 2 }, out.prefix:shape())
    end)
  end)

  it("sums of integers and of bools are exact i64", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "i32" })
    local even = (x % 2):eq(0)
    local f = helper.compile(P,
      { p = x[0 .. t + 1]:sum(0), s = x[t .. T]:sum(0), even = even[0 .. t + 1]:sum(0),
      a = x[0 .. T]:argmax(0) })
    each({ 1, 2, 9 }, function(n)
      local v, p, s, e = {}, {}, {}, {}
      for i = 1, n do v[i] = 2000000000 - 3 * i end
      for i = 1, n do
        p[i] = (p[i - 1] or 0) + v[i]
        e[i] = (e[i - 1] or 0) + (v[i] % 2 == 0 and 1 or 0)
        s[i] = 0
        for j = i, n do s[i] = s[i] + v[j] end
      end
      local out = f({ x = tempo.array(v, "i32") }, { T = n })
      assert.equal("i64", out.p:dtype())
      helper.same(p, out.p:totable(), 0)
      helper.same(s, out.s:totable(), 0)
      helper.same(e, out.even:totable(), 0)
      assert.equal(0, out.a:item())
    end)
  end)
end)

describe("a two-lag recurrence", function()
  it("is the loop", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local h = P:tensor { domain = { t }, dtype = "f64" }
    h[0] = x
    h[1] = x + h[0]
    h[t] = h[t - 1] * 0.5 - h[t - 2] * 0.75 + x
    local f = helper.compile(P, { h = h })
    each(lengths, function(n)
      local v, want = helper.numbers({ n }, helper.rng(n + 1)), {}
      for i = 1, n do
        want[i] = i == 1 and v[1] or i == 2 and v[2] + want[1]
          or want[i - 1] * 0.5 - want[i - 2] * 0.75 + v[i]
      end
      helper.same(want, f({ x = helper.array(v, "f64", { n }) }, { T = n }).h:totable(), 1e-12)
    end)
  end)

  it("of integers is Fibonacci's", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local h = P:tensor { domain = { t }, dtype = "i64" }
    h[0] = 0
    h[1] = 1
    h[t] = h[t - 1] + h[t - 2]
    local f = helper.compile(P, { h = h, last = h[T - 1] })
    local out = f({}, { T = 79 })
    helper.same({ 55, 8944394323791464, 8944394323791464 },
      { out.h:get(10), out.h:get(78), out.last:item() }, 0)
    assert.equal(0, f({}, { T = 1 }).last:item())
    helper.fails(function() f({}, { T = 0 }) end, "domain")
  end)

  it("needs no point of itself that nothing asks for", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local h = P:tensor { domain = { t }, dtype = "f64" }
    h[0] = x
    h[1] = x
    h:otherwise(h[t - 2] + x)
    local f = helper.compile(P, { last = h[T - 1] })
    assert.equal(9, f({ x = { 1, 2, 3, 4, 5 } }, { T = 5 }).last:item())
    assert.equal(6, f({ x = { 1, 2, 3, 4 } }, { T = 4 }).last:item())
  end)
end)

describe("edit distance", function()
  local P = tempo.program()
  local i, I = P:dim "i"
  local j, J = P:dim "j"
  local a = P:input("a", { domain = { i }, dtype = "i64" })
  local b = P:input("b", { domain = { j }, dtype = "i64" })
  local d = P:tensor { domain = { i, j }, dtype = "i64" }
  local other = a:ne(b):to "i64"
  d[{ 0, j }] = j:value()
  d[{ i, 0 }] = i:value()
  d[{ i, j }] = tempo.minimum(tempo.minimum(d[{ i = i - 1 }] + 1, d[{ j = j - 1 }] + 1),
    d[{ i - 1, j - 1 }] + other)
  local f = helper.compile(P, { d = d, distance = d[{ I - 1, J - 1 }] })

  local function distance(s, u)
    local row = {}
    for n = 0, #u do row[n] = n end
    for m = 1, #s do
      local corner = row[0]
      row[0] = m
      for n = 1, #u do
        local best = math.min(row[n] + 1, row[n - 1] + 1,
          corner + (s:byte(m) == u:byte(n) and 0 or 1))
        corner, row[n] = row[n], best
      end
    end
    return row[#u]
  end

  local function codes(s)
    local v = { 0 }
    for k = 1, #s do v[k + 1] = s:byte(k) end
    return tempo.array(v, "i64")
  end

  it("is that of words", function()
    for _, w in ipairs { { "kitten", "sitting", 3 }, { "", "", 0 }, { "", "abc", 3 },
      { "abc", "", 3 }, { "a", "b", 1 },
                         { "sunday", "saturday", 3 }, { "intention", "execution", 5 },
                           { "same", "same", 0 } } do
      local out = f({ a = codes(w[1]), b = codes(w[2]) }, { I = #w[1] + 1, J = #w[2] + 1 })
      assert.equal(w[3], out.distance:item())
      assert.equal(w[3], distance(w[1], w[2]))
      assert.equal(distance(w[1]:sub(1, 2), w[2]:sub(1, 1)),
        out.d:get(math.min(2, #w[1]), math.min(1, #w[2])))
    end
  end)
end)

describe("an RNN trained through time", function()
  local function program(dtype)
    local P = tempo.program()
    local b = P:dim "b"
    local t = P:dim "t"
    local x = P:input("x", { domain = { b, t }, shape = { 3 }, dtype = dtype })
    local y = P:input("y", { domain = { b, t }, shape = { 2 }, dtype = dtype })
    local w = P:input("w", { shape = { 3, 4 }, dtype = dtype })
    local u = P:input("u", { shape = { 4, 4 }, dtype = dtype })
    local c = P:input("b", { shape = { 4 }, dtype = dtype })
    local o = P:input("o", { shape = { 4, 2 }, dtype = dtype })
    local h = P:tensor { domain = { b, t }, shape = { 4 }, dtype = dtype }
    h[{ t = 0 }] = (x:matmul(w) + c):tanh()
    h[{ b, t }] = (x:matmul(w) + h[{ t = t - 1 }]:matmul(u) + c):tanh()
    local loss = (h:matmul(o) - y):square():sum()
    local g = tempo.grad(loss, { w, u, c, o })
    return P, { h = h, loss = loss, w = g[1], u = g[2], b = g[3], o = g[4] }
  end

  for _, dtype in ipairs { "f64", "f32" } do
    it("has NumPy's states and gradients in " .. dtype, function()
      local P, outputs = program(dtype)
      local f = helper.compile(P, outputs, { tol = dtype == "f32" and 1e-3 or nil })
      local tol = dtype == "f64" and 1e-11 or 2e-4
      for _, case in ipairs(fixtures.rnn) do
        local inputs = {}
        for _, k in ipairs { "x", "y", "w", "u", "b", "o" } do
          inputs[k] = tempo.array(case[k], dtype)
        end
        local out = f(inputs, { B = case.B, T = case.T })
        helper.same(case.h, out.h:totable(), tol, "h")
        local sum = 0
        for k = 0, case.B - 1 do
          for n = 0, case.T - 1 do sum = sum + out.loss:get(k, n) end
        end
        helper.same(case.loss, sum, tol, "loss")
        for k, g in pairs(case.grad) do helper.same(g, out[k]:totable(), tol, "d" .. k) end
      end
    end)
  end

  it("has gradient 0 where there is no time, and no batch", function()
    local P, outputs = program "f64"
    local f = helper.compile(P, outputs)
    local case = fixtures.rnn[1]
    for _, n in ipairs { { 0, 3 }, { 2, 0 }, { 0, 0 } } do
      local B, T = n[1], n[2]
      local inputs = { x = helper.array({}, "f64", { B, T, 3 }),
        y = helper.array({}, "f64", { B, T, 2 }) }
      for _, k in ipairs { "w", "u", "b", "o" } do inputs[k] = tempo.array(case[k], "f64") end
      local out = f(inputs, { B = B, T = T })
      helper.same(helper.fill({ 4, 4 }, function() return 0 end), out.u:totable(), 0)
      helper.same(helper.fill({ 4, 2 }, function() return 0 end), out.o:totable(), 0)
    end
  end)

  it("learns: parameters along i, the whole of time inside", function()
    local P = tempo.program()
    local i = P:dim "i"
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { b, t }, dtype = "f64" })
    local w = P:param("w", { along = { i }, init = 0.3, dtype = "f64" })
    local u = P:param("u", { along = { i }, init = -0.2, dtype = "f64" })
    local h = P:tensor { domain = { i, b, t }, dtype = "f64" }
    h[{ t = 0 }] = (x * w):tanh()
    h[{ i, b, t }] = (x * w + h[{ t = t - 1 }] * u):tanh()
    local target = x[{ t = T - 1 }] - x[{ t = 0 }]
    local loss = (h[{ t = T - 1 }] - target):square()[{ b = 0 .. B }]:mean(0)
    local g = tempo.grad(loss, { w, u })
    w[i + 1] = w - g[1] * 0.5
    u[i + 1] = u - g[2] * 0.5
    local f = helper.compile(P, { loss = loss, w = w, u = u })

    each({ 1, 2, 5 }, function(n)
      local nb, iterations = 3, 6
      local v = helper.numbers({ nb, n }, helper.rng(40 + n))
      local W, U, want = 0.3, -0.2, { loss = {}, w = {}, u = {} }
      for k = 1, iterations do
        local l, dw, du = 0, 0, 0
        for m = 1, nb do
          local hs = { [0] = 0 }
          for s = 1, n do hs[s] = helper.tanh(v[m][s] * W + hs[s - 1] * U) end
          local e = hs[n] - (v[m][n] - v[m][1])
          l = l + e * e / nb
          local dh = 2 * e / nb
          for s = n, 1, -1 do
            local da = dh * (1 - hs[s] * hs[s])
            dw, du, dh = dw + da * v[m][s], du + da * hs[s - 1], da * U
          end
        end
        want.loss[k], want.w[k], want.u[k] = l, W, U
        W, U = W - dw * 0.5, U - du * 0.5
      end
      local out = f({ x = tempo.array(v, "f64") }, { I = iterations, B = nb, T = n })
      for k, seq in pairs(want) do helper.same(seq, out[k]:totable(), 1e-11, k) end
      helper.same(W, f.fn:params().w:item(), 1e-11)
      helper.same(U, f.reference:params().u:item(), 1e-11)
    end)
  end)
end)

describe("a sliding window", function()
  local function means(v, n, w)
    local want = {}
    for i = 1, n do
      local s, c = 0, 0
      for j = math.max(1, i - w + 1), i do s, c = s + v[j], c + 1 end
      want[i] = s / c
    end
    return want
  end

  it("of constant width has the loop's means", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local f = helper.compile(P, { m = x[tempo.max(0, t - 3) .. t + 1]:mean(0) })
    each({ 0, 1, 3, 4, 5, 23 }, function(n)
      local v = helper.numbers({ n }, helper.rng(n))
      helper.same(means(v, n, 4), f({ x = helper.array(v, "f64", { n }) }, { T = n }).m:totable(),
        1e-12)
    end)
  end)

  it("may have a bound as its width, and look ahead", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local w = P:bound "w"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local y = x * 2
    local f = helper.compile(P,
      { m = y[tempo.max(0, t - w + 1) .. t + 1]:mean(0),
      ahead = y[t .. tempo.min(t + w, T)]:max(0) })
    for _, c in ipairs { { 0, 1 }, { 1, 1 }, { 1, 5 }, { 4, 5 }, { 5, 5 }, { 6, 5 }, { 17, 3 },
      { 17, 1 }, { 9, 100 } } do
      local n, width = c[1], c[2]
      local v = helper.numbers({ n }, helper.rng(n))
      local out = f({ x = helper.array(v, "f64", { n }) }, { T = n, w = width })
      local y2, top = {}, {}
      for k = 1, n do y2[k] = v[k] * 2 end
      for k = 1, n do
        top[k] = -math.huge
        for m = k, math.min(k + width - 1, n) do top[k] = math.max(top[k], y2[m]) end
      end
      helper.same(means(y2, n, width), out.m:totable(), 1e-12)
      helper.same(top, out.ahead:totable(), 1e-12)
    end
  end)

  it("of width 0 is empty: mean NaN, sum 0, max -inf", function()
    local P = tempo.program()
    local t = P:dim "t"
    local w = P:bound "w"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local r = x[tempo.max(0, t - w + 1) .. t + 1]
    local f = helper.compile(P,
      { m = r:mean(0), s = r:sum(0), p = r:prod(0), x = r:max(0), l = r:logsumexp(0),
      any = r:gt(0):any(0), all = r:gt(0):all(0) })
    local nan = 0 / 0
    local out = f({ x = { 1, 2 } }, { T = 2, w = 0 })
    helper.same({ nan, nan }, out.m:totable(), 1e-9)
    helper.same({ 0, 0 }, out.s:totable(), 1e-9)
    helper.same({ 1, 1 }, out.p:totable(), 1e-9)
    helper.same({ -math.huge, -math.huge }, out.x:totable(), 1e-9)
    helper.same({ -math.huge, -math.huge }, out.l:totable(), 1e-9)
    helper.same({ { false, false }, { true, true } }, { out.any:totable(), out.all:totable() },
      1e-9)
  end)
end)

describe("causal attention", function()
  local function program(dtype)
    local P = tempo.program()
    local t = P:dim "t"
    local q = P:input("q", { domain = { t }, shape = { 4 }, dtype = dtype })
    local k = P:input("k", { domain = { t }, shape = { 4 }, dtype = dtype })
    local v = P:input("v", { domain = { t }, shape = { 4 }, dtype = dtype })
    local c = P:input("c", { domain = { t }, shape = { 4 }, dtype = dtype })
    local a = (k[0 .. t + 1]:matmul(q) / 2):softmax(0)
    local out = a:matmul(v[0 .. t + 1])
    return P, { q = q, k = k, v = v, c = c }, out
  end

  it("has NumPy's values and gradients", function()
    local P, x, out = program "f64"
    local g = tempo.grad((out * x.c):sum(), { x.q, x.k, x.v })
    local f = helper.compile(P, { out = out, q = g[1], k = g[2], v = g[3] })
    for _, case in ipairs(fixtures.attention) do
      local inputs = {}
      for _, n in ipairs { "q", "k", "v", "c" } do inputs[n] = tempo.array(case[n], "f64") end
      local o = f(inputs, { T = case.T })
      helper.same(case.out, o.out:totable(), 1e-12)
      for n, w in pairs(case.grad) do helper.same(w, o[n]:totable(), 1e-11, "d" .. n) end
    end
    assert.same({ 0, 4 },
      f({ q = helper.array({}, "f64", { 0, 4 }), k = helper.array({}, "f64", { 0, 4 }),
      v = helper.array({}, "f64", { 0, 4 }),
                              c = helper.array({}, "f64", { 0, 4 }) }, { T = 0 }).out:shape())
  end)

  it("may have keys and values that are made as it goes", function()
    local P, x, _ = program "f32"
    -- a state that attends to its own past
    local t = P:tensor { domain = x.q:domain(), shape = { 4 } }
    local d = x.q:domain()[1]
    t[0] = x.q
    local past = t[0 .. d]
    t[d] = ((past:matmul(x.q)):softmax(0)):matmul(past) * 0.5 + x.v
    local f = helper.compile(P, { s = t })
    each({ 1, 2, 6 }, function(n)
      local r = helper.rng(n)
      local q, v = helper.numbers({ n, 4 }, r), helper.numbers({ n, 4 }, r)
      local want = { q[1] }
      for i = 2, n do
        local e, z = {}, 0
        for j = 1, i - 1 do
          local dot = 0
          for m = 1, 4 do dot = dot + want[j][m] * q[i][m] end
          e[j] = math.exp(dot)
          z = z + e[j]
        end
        want[i] = {}
        for m = 1, 4 do
          local s = 0
          for j = 1, i - 1 do s = s + e[j] / z * want[j][m] end
          want[i][m] = s * 0.5 + v[i][m]
        end
      end
      local out = f({ q = tempo.array(q), v = tempo.array(v) }, { T = n })
      helper.same(want, out.s:totable(), 1e-5)
    end)
  end)
end)

describe("SGD over iterations as a recurrence", function()
  local lr, a = 0.3, { 1.5, 0.5 }
  local c, w0 = { 2, -1 }, { 5, 7 }
  local function closed(k, m)
    return c[m] + (1 - lr * a[m]) ^ k * (w0[m] - c[m])
  end

  local function check(P, w, loss)
    local f = helper.compile(P, { w = w, loss = loss })
    each({ 0, 1, 2, 25 }, function(n)
      local out = f({ a = a, c = c }, { I = n })
      local want, losses = {}, {}
      for k = 1, n do
        want[k] = { closed(k - 1, 1), closed(k - 1, 2) }
        losses[k] = 0
        for m = 1, 2 do losses[k] = losses[k] + 0.5 * a[m] * (want[k][m] - c[m]) ^ 2 end
      end
      helper.same(want, out.w:totable(), 1e-12)
      helper.same(losses, out.loss:totable(), 1e-12)
    end)
    return f
  end

  local function inputs()
    local P = tempo.program()
    local i = P:dim "i"
    return P, i, P:input("a", { shape = { 2 }, dtype = "f64" }),
      P:input("c", { shape = { 2 }, dtype = "f64" })
  end

  it("with a parameter has the closed form, and the value after the last point", function()
    local P, i, pa, pc = inputs()
    local w = P:param("w", { along = { i }, init = tempo.array(w0, "f64") })
    local loss = (pa * (w - pc):square()):sum() * 0.5
    w[i + 1] = w - tempo.grad(loss, { w })[1] * lr
    local f = check(P, w, loss)
    each({ 0, 1, 9 }, function(n)
      f({ a = a, c = c }, { I = n })
      helper.same({ closed(n, 1), closed(n, 2) }, f.fn:params().w:totable(), 1e-12)
      helper.same({ closed(n, 1), closed(n, 2) }, f.reference:params().w:totable(), 1e-12)
    end)
  end)

  it("with a declared tensor and detach does too", function()
    local P, i, pa, pc = inputs()
    local w = P:tensor { domain = { i }, shape = { 2 }, dtype = "f64" }
    local loss = (pa * (w - pc):square()):sum() * 0.5
    w[0] = tempo.array(w0, "f64")
    w[i + 1] = (w - tempo.grad(loss, { w })[1] * lr):detach()
    check(P, w, loss)
  end)

  it("with momentum is the loop, and its parameters go on where they were", function()
    local P, i, pa, pc = inputs()
    local w = P:param("w", { along = { i }, init = tempo.array(w0, "f64") })
    local m = P:param("m", { along = { i }, shape = { 2 }, init = 0, dtype = "f64" })
    local loss = (pa * (w - pc):square()):sum() * 0.5
    local next_m = m * 0.9 + tempo.grad(loss, { w })[1]
    m:update(next_m)
    w:update(w - next_m * 0.05)
    local f = helper.compile(P, { w = w })
    local function loop(n)
      local v, mo = { w0[1], w0[2] }, { 0, 0 }
      for _ = 1, n do
        for k = 1, 2 do
          mo[k] = mo[k] * 0.9 + a[k] * (v[k] - c[k])
          v[k] = v[k] - mo[k] * 0.05
        end
      end
      return { w = v, m = mo }
    end
    local function params(fn, n)
      local p = fn:params()
      helper.same(loop(n).w, p.w:totable(), 1e-12)
      helper.same(loop(n).m, p.m:totable(), 1e-12)
      return p
    end
    f({ a = a, c = c }, { I = 4 })
    for _, fn in ipairs { f.fn, f.reference } do
      fn:load_params(params(fn, 4))
      fn({ a = a, c = c }, { I = 3 })
      params(fn, 7)
    end
  end)

  it("goes from point to point in lexicographic order along two dims", function()
    local P = tempo.program()
    local i = P:dim "i"
    local k = P:dim "k"
    local w = P:param("w", { along = { i, k }, init = 1, dtype = "f64" })
    w:update(w * 2 + k:value() + i:value() * 10)
    local f = helper.compile(P, { w = w })
    for _, n in ipairs { { 3, 4 }, { 1, 1 }, { 3, 1 }, { 1, 3 }, { 2, 2 } } do
      local want, v = {}, 1
      for x = 1, n[1] do
        want[x] = {}
        for y = 1, n[2] do
          want[x][y] = v
          v = v * 2 + (y - 1) + (x - 1) * 10
        end
      end
      local out = f({}, { I = n[1], K = n[2] })
      helper.same(want, out.w:totable(), 0)
      assert.equal(v, f.fn:params().w:item())
      assert.equal(v, f.reference:params().w:item())
    end
  end)
end)

describe("forward and backward recurrences in one program", function()
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, dtype = "f64" })
  local function declare() return P:tensor { domain = { t }, dtype = "f64" } end
  local f, b, g, k = declare(), declare(), declare(), declare()
  f[0] = x
  f[t] = f[t - 1] * 0.5 + x
  b[T - 1] = x * 2
  b[t] = b[t + 1] * 0.25 + x
  k[T - 1] = f                                         -- back again over what went forward
  k[t] = k[t + 1] * 0.75 + f
  g[0] = k + b
  g[t] = g[t - 1] * 0.5 + k * b                        -- and forward once more
  local fn = helper.compile(P, { f = f, b = b, k = k, g = g })

  it("have the loops' values", function()
    each(lengths, function(n)
      local v = helper.numbers({ n }, helper.rng(n))
      local F, B, K, G = {}, {}, {}, {}
      for i = 1, n do F[i] = i == 1 and v[1] or F[i - 1] * 0.5 + v[i] end
      for i = n, 1, -1 do
        B[i] = i == n and v[n] * 2 or B[i + 1] * 0.25 + v[i]
        K[i] = i == n and F[n] or K[i + 1] * 0.75 + F[i]
      end
      for i = 1, n do G[i] = i == 1 and K[1] + B[1] or G[i - 1] * 0.5 + K[i] * B[i] end
      local out = fn({ x = helper.array(v, "f64", { n }) }, { T = n })
      for name, want in pairs { f = F, b = B, k = K, g = G } do
        helper.same(want, out[name]:totable(), 1e-12, name)
      end
    end)
  end)

  it("may carry from one iteration's end to the next one's start", function()
    local Q = tempo.program()
    local i = Q:dim "i"
    local s, N = Q:dim "s"
    local a = Q:tensor { domain = { i, s }, dtype = "f64" }
    local d = Q:tensor { domain = { i, s }, dtype = "f64" }
    a[{ 0, 0 }] = 1
    a[{ i, 0 }] = d[{ i - 1, 0 }]
    a[{ i, s }] = a[{ s = s - 1 }] * 0.5 + 1
    d[{ s = N - 1 }] = a
    d[{ i, s }] = d[{ s = s + 1 }] * 0.25 + a
    local h = helper.compile(Q, { a = a, d = d })
    for _, n in ipairs { { 0, 0 }, { 0, 3 }, { 3, 0 }, { 1, 1 }, { 3, 1 }, { 1, 4 }, { 4, 5 } } do
      local A, D = {}, {}
      for m = 1, n[1] do
        A[m], D[m] = {}, {}
        for y = 1, n[2] do
          A[m][y] = y > 1 and A[m][y - 1] * 0.5 + 1 or m > 1 and D[m - 1][1] or 1
        end
        for y = n[2], 1, -1 do D[m][y] = y == n[2] and A[m][y] or D[m][y + 1] * 0.25 + A[m][y] end
      end
      local out = h({}, { I = n[1], S = n[2] })
      helper.same(A, out.a:totable(), 1e-12)
      helper.same(D, out.d:totable(), 1e-12)
    end
  end)
end)

describe("a bidirectional RNN", function()
  it("has NumPy's outputs and gradients", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local function input(name, shape, domain)
      return P:input(name, { domain = domain, shape = shape, dtype = "f64" })
    end
    local x, c = input("x", { 2 }, { t }), input("c", { 6 }, { t })
    local w, u, v, z = input("w", { 2, 3 }), input("u", { 3, 3 }), input("v", { 2, 3 }),
      input("z", { 3, 3 })
    local f = P:tensor { domain = { t }, shape = { 3 }, dtype = "f64" }
    local b = P:tensor { domain = { t }, shape = { 3 }, dtype = "f64" }
    f[0] = x:matmul(w):tanh()
    f[t] = (x:matmul(w) + f[t - 1]:matmul(u)):tanh()
    b[T - 1] = x:matmul(v):tanh()
    b[t] = (x:matmul(v) + b[t + 1]:matmul(z)):tanh()
    local out = tempo.cat({ f, b }, 0)
    local g = tempo.grad((out * c):sum(), { w, u, v, z })
    local fn = helper.compile(P, { out = out, w = g[1], u = g[2], v = g[3], z = g[4] })
    for _, case in ipairs(fixtures.birnn) do
      local inputs = {}
      for _, k in ipairs { "x", "c", "w", "u", "v", "z" } do
        inputs[k] = tempo.array(case[k], "f64")
      end
      local o = fn(inputs, { T = case.T })
      helper.same(case.out, o.out:totable(), 1e-12)
      for k, want in pairs(case.grad) do helper.same(want, o[k]:totable(), 1e-11, "d" .. k) end
    end
  end)
end)

describe("nested iteration, batch and time", function()
  -- An agent's skeleton: a rollout over time for each of a batch, its state carried over from the
  -- iteration before, returns to the end, one update.
  it("is the loop nest", function()
    local P = tempo.program()
    local i = P:dim "i"
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { i, b, t }, shape = { 2 }, dtype = "f64" })
    local w = P:param("w", { along = { i }, init = tempo.array({ 0.5, -0.25 }, "f64") })
    local s = P:tensor { domain = { i, b, t }, shape = { 2 }, dtype = "f64" }
    s[{ i = 0, t = 0 }] = x
    s[{ t = 0 }] = s[{ i = i - 1, t = T - 1 }] * 0.5 + x
    s[{ i, b, t }] = (s[{ t = t - 1 }] * w + x):tanh()
    local reward = (s:detach() * w):sum()
    local ret = reward[{ t = t .. T }]:sum(0)
    local loss = (ret * s[{ t = t }]:sum():detach()):tanh()[{ b = 0 .. B, t = 0 .. T }]:mean()
    local g = tempo.grad(loss, { w })[1]
    w[i + 1] = w + g * 0.3
    local f = helper.compile(P, { s = s, ret = ret, loss = loss, w = w })

    for _, n in ipairs { { 1, 1, 1 }, { 2, 1, 3 }, { 3, 2, 1 }, { 4, 3, 5 }, { 0, 2, 2 } } do
      local I, nb, N = n[1], n[2], n[3]
      local v = helper.numbers({ I, nb, N, 2 }, helper.rng(I * 7 + N))
      local W, want = { 0.5, -0.25 }, { s = {}, ret = {}, loss = {}, w = {} }
      for k = 1, I do
        local st, rt, l, dw = {}, {}, 0, { 0, 0 }
        for m = 1, nb do
          st[m], rt[m] = {}, {}
          for q = 1, N do
            st[m][q] = {}
            for e = 1, 2 do
              local xv = v[k][m][q][e]
              if q > 1 then st[m][q][e] = helper.tanh(st[m][q - 1][e] * W[e] + xv)
              elseif k > 1 then st[m][q][e] = want.s[k - 1][m][N][e] * 0.5 + xv
              else st[m][q][e] = xv end
            end
          end
          local acc = { 0, 0 }                         -- d ret / d w: states are detached
          for q = N, 1, -1 do
            local sum = 0
            for e = 1, 2 do acc[e] = acc[e] + st[m][q][e]; sum = sum + st[m][q][e] end
            rt[m][q] = (rt[m][q + 1] or 0) + st[m][q][1] * W[1] + st[m][q][2] * W[2]
            local y = helper.tanh(rt[m][q] * sum)
            l = l + y / (nb * N)
            for e = 1, 2 do dw[e] = dw[e] + (1 - y * y) * sum * acc[e] / (nb * N) end
          end
        end
        want.s[k], want.ret[k], want.loss[k], want.w[k] = st, rt, l, { W[1], W[2] }
        W = { W[1] + 0.3 * dw[1], W[2] + 0.3 * dw[2] }
      end
      local out = f({ x = helper.array(v, "f64", { I, nb, N, 2 }) }, { I = I, B = nb, T = N })
      for k, seq in pairs(want) do helper.same(seq, out[k]:totable(), 1e-11, k) end
    end
  end)

  it("keeps one state for every point of a parameter's domain", function()
    local P = tempo.program()
    local l = P:dim "l"
    local i = P:dim "i"
    local x = P:input("x", { domain = { l }, dtype = "f64" })
    local w = P:param("w", { along = { i }, domain = { l }, init = x, dtype = "f64" })
    local loss = (w - l:value()):square()
    w:update(w - tempo.grad(loss, { w })[1] * 0.25)
    local f = helper.compile(P, { w = w })
    local out = f({ x = { 4, 5, 6 } }, { L = 3, I = 3 })
    local want = {}
    for k = 1, 3 do
      want[k] = {}
      for n = 1, 3 do want[k][n] = (k - 1) + 0.5 ^ (n - 1) * (3 + k - (k - 1)) end
    end
    helper.same(want, out.w:totable(), 1e-12)
    helper.same({ 0.5, 1.5, 2.5 }, f.fn:params().w:totable(), 1e-12)
  end)
end)

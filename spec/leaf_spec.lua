-- Gradients that end at the tensors asked about, tempo.grad(loss, x, { leaf = true }): against
-- plain loops, closed forms, differences and PyTorch.
local tempo = require "tempo"
local helper = require "spec.helper"
local f64, leaf = { dtype = "f64" }, { leaf = true }

-- f and its first three derivatives, of one number.
local function f0(w) return w ^ 4 / 4 - w ^ 2 + 0.3 * w end
local function f1(w) return w ^ 3 - 2 * w + 0.3 end
local function f2(w) return 3 * w ^ 2 - 2 end

local function declared(P, domain, shape, dtype)
  return P:tensor { domain = domain, shape = shape or {}, dtype = dtype or "f64" }
end

describe("an optimiser's step inside a recurrence", function()
  local function descent(w0, K, lr)                      -- the states, and d w[K-1] / d w[k]
    local w, d = { w0 }, {}
    for k = 2, K do w[k] = w[k - 1] - lr * f1(w[k - 1]) end
    d[K] = 1
    for k = K - 1, 1, -1 do d[k] = d[k + 1] * (1 - lr * f2(w[k])) end
    return w, d
  end

  it("is differentiated in turn: the last state by all earlier ones", function()
    local P = tempo.program()
    local k, K = P:dim "k"
    local w0 = P:input("w0", f64)
    local w = declared(P, { k })
    w[0] = w0
    w[k] = (w - 0.05 * tempo.grad(f0(w), w, leaf))[k - 1]
    local g = tempo.grad(w[K - 1], { w, w0 })
    local f = helper.compile(P, { w = w, g = g[1], first = tempo.grad(w[K - 1], w)[0], g0 = g[2] })
    for _, n in ipairs { 1, 2, 3, 9 } do
      local want, d = descent(0.4, n, 0.05)
      local out = f({ w0 = 0.4 }, { K = n })
      helper.same(want, out.w:totable(), 1e-14)
      helper.same(d, out.g:totable(), 1e-13)
      helper.same(d[1], out.first:item(), 1e-13)
      helper.same(d[1], out.g0:item(), 1e-13)
    end
  end)

  it("is the same written forwards, with the read as the leaf, in a branch of its own, and with backward()", function()
    for form = 1, 4 do
      local P = tempo.program()
      local k, K = P:dim "k"
      local w0 = P:input("w0", f64)
      local w = declared(P, { k })
      w[0] = w0
      if form == 1 then
        w[k + 1] = w - 0.05 * tempo.grad(f0(w), w, leaf)
      elseif form == 2 then
        local before = w[k - 1]
        w[k] = before - 0.05 * tempo.grad(f0(before), before, leaf)
      elseif form == 3 then
        w[1] = (w - 0.05 * tempo.grad(f0(w), w, leaf))[0]
        w:when(k:gt(1), (w - 0.05 * tempo.grad(f0(w), { w }, leaf)[1])[k - 1])
      else
        w:otherwise((w - 0.05 * tempo.grad(f0(w), w, leaf))[k - 1])
        w[K - 1]:backward()
      end
      local g = form == 4 and w:grad() or tempo.grad(w[K - 1], w)
      local want, d = descent(-0.7, 6, 0.05)
      local out = helper.compile(P, { w = w, g = g })({ w0 = -0.7 }, { K = 6 })
      helper.same(want, out.w:totable(), 1e-14, "form " .. form)
      helper.same(d, out.g:totable(), 1e-13, "form " .. form)
    end
  end)

  it("may be Newton's: a leaf gradient of a leaf gradient", function()
    local P = tempo.program()
    local k, K = P:dim "k"
    local w0 = P:input("w0", f64)
    local w = declared(P, { k })
    local g = tempo.grad(f0(w), w, leaf)
    local h = tempo.grad(g, w, leaf)
    w[0] = w0
    w[k] = (w - g / h)[k - 1]
    local f = helper.compile(P, { w = w, d = tempo.grad(w[K - 1], w0) })
    local function newton(x, n)
      for _ = 2, n do x = x - f1(x) / f2(x) end
      return x
    end
    for _, n in ipairs { 1, 2, 5 } do
      local out = f({ w0 = 1.9 }, { K = n })
      helper.same(newton(1.9, n), out.w:totable()[n], 1e-13)
      helper.same((newton(1.9 + 1e-6, n) - newton(1.9 - 1e-6, n)) / 2e-6, out.d:item(), 1e-8)
    end
  end)

  it("of vectors, with momentum, with rows that differ: differences in the first weights and in the step size", function()
    local P = tempo.program()
    local b, B = P:dim "b"
    local k, K = P:dim "k"
    local x, y = P:input("x", { domain = { b }, shape = { 2 }, dtype = "f64" }),
      P:input("y", { domain = { b }, dtype = "f64" })
    local w0, lr = P:input("w0", { shape = { 2 }, dtype = "f64" }), P:input("lr", f64)
    local w, v = declared(P, { k }, { 2 }), declared(P, { k }, { 2 })
    -- over (b, k): the gradient by w sums over b
    local rows = ((w * x):sum():tanh() - y):square()
    w[0], v[0] = w0, tempo.zeros({ 2 }, f64)
    v[k + 1] = 0.5 * v + tempo.grad(rows, w, leaf)
    w[k + 1] = w - lr * v[k + 1]
    local last = rows[{ k = K - 1 }][0 .. B]:sum(0)
    local g = tempo.grad(last, { w0, lr })
    local f = helper.compile(P, { last = last, w = g[1], lr = g[2] })

    local X, Y = helper.numbers({ 4, 2 }, helper.rng(3)), helper.numbers({ 4 }, helper.rng(4))
    local function plain(p, n)
      local a, m = { p[1], p[2] }, { 0, 0 }
      local loss
      for _ = 1, n do
        local d = { 0, 0 }
        loss = 0
        for r = 1, 4 do
          local z = helper.tanh(a[1] * X[r][1] + a[2] * X[r][2])
          loss = loss + (z - Y[r]) ^ 2
          for c = 1, 2 do d[c] = d[c] + 2 * (z - Y[r]) * (1 - z * z) * X[r][c] end
        end
        for c = 1, 2 do
          m[c] = 0.5 * m[c] + d[c]
          a[c] = a[c] - p[3] * m[c]
        end
      end
      return loss
    end
    for _, n in ipairs { 1, 2, 5 } do
      local p = { 0.3, -0.8, 0.2 }
      local out = f({ x = X, y = Y, w0 = { p[1], p[2] }, lr = p[3] }, { B = 4, K = n })
      local want = helper.differences(function(q) return plain(q, n) end, p, 1e-6)
      helper.same(plain(p, n), out.last:item(), 1e-13)
      helper.same({ want[1], want[2] }, out.w:totable(), 1e-8)
      helper.same(want[3], out.lr:item(), 1e-8)
    end
  end)

  it("inside an outer loop whose parameters learn from where the inner one ends", function()
    local P = tempo.program()
    local i = P:dim "i"
    local m, M = P:dim "m"
    local k, K = P:dim "k"
    local target = P:input("target", { domain = { i, m }, dtype = "f64" })
    local theta = P:param("theta", { along = { i }, init = 0.5, dtype = "f64" })
    local w = declared(P, { i, m, k })
    local inner = (w - target):square() * (1 + w:square())
    w[{ k = 0 }] = theta
    w:otherwise((w - 0.05 * tempo.grad(inner, w, leaf))[{ i, m, k - 1 }])
    local outer = inner[{ k = K - 1 }][{ m = 0 .. M }]:mean(0)
    local g = tempo.grad(outer, theta)
    theta:update((theta - 0.2 * g):detach())
    local f = helper.compile(P, { theta = theta, g = g, outer = outer })

    local goals, p, want = helper.numbers({ 4, 3 }, helper.rng(8)), 0.5,
      { theta = {}, g = {}, outer = {} }
    local function after(x, row)
      local sum = 0
      for _, c in ipairs(row) do
        local a = x
        for _ = 2, 5 do a = a - 0.05 * (2 * (a - c) * (1 + a * a) + (a - c) ^ 2 * 2 * a) end
        sum = sum + (a - c) ^ 2 * (1 + a * a) / 3
      end
      return sum
    end
    for n = 1, 4 do
      local d = (after(p + 1e-5, goals[n]) - after(p - 1e-5, goals[n])) / 2e-5
      want.theta[n], want.g[n], want.outer[n] = p, d, after(p, goals[n])
      p = p - 0.2 * d
    end
    local out = f({ target = goals }, { I = 4, M = 3, K = 5 })
    for name in pairs(want) do helper.same(want[name], out[name]:totable(), 1e-8, name) end
  end)

  it("goes on tick by tick", function()
    for _, tier in ipairs { "reference", "interpreter" } do
      local P = tempo.program()
      local k = P:dim "k"
      local x = P:input("x", { domain = { k }, dtype = "f64" })
      local w = declared(P, { k })
      local miss = (w * x - 1):square()
      w[0] = 0.25
      w[k] = (w - 0.1 * tempo.grad(miss, w, leaf))[k - 1]
      local f = P:compile { outputs = { w = w }, tier = tier, tick = k }
      f:start({}, { K = 6 })
      local want, xs = 0.25, { 1, 0.5, -1, 2, 1.5, 0.1 }
      for n = 1, 6 do
        local done, out = f:step { x = xs[n] }
        helper.same(want, out.w:item(), 1e-14)
        assert.equal(n == 6, done)
        want = want - 0.1 * 2 * (want * xs[n] - 1) * xs[n]
      end
    end
  end)
end)

describe("a leaf", function()
  it("keeps nothing of its definition, in a list for all of the list", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 2 }, dtype = "f64" })
    local y = x * 3
    local loss = (x * x * y):sum()                         -- 3 x^3
    local whole, kept = tempo.grad(loss, { x, y }), tempo.grad(loss, { x, y }, leaf)
    local one = tempo.grad(loss, x, leaf)                  -- y is no leaf of this one
    local out = helper.run(P, { a = whole[1], b = whole[2], c = kept[1], d = kept[2], e = one,
      f = tempo.grad(loss, x, { leaf = false }) }, { x = { 2, -1 } }, {})
    helper.same({ 36, 9 }, out.a, 1e-14)
    helper.same({ 4, 1 }, out.b, 1e-14)
    helper.same({ 24, 6 }, out.c, 1e-14)                        -- 2 x y
    helper.same({ 4, 1 }, out.d, 1e-14)
    helper.same({ 36, 9 }, out.e, 1e-14)
    helper.same({ 36, 9 }, out.f, 1e-14)
  end)

  it("is one at each of its points: a state by what reads it, not by later states", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local h = declared(P, { t })
    h[0] = x
    h[t] = 0.5 * h[t - 1] * h[t - 1] + x
    local w = P:bound "w"
    local function cases(loss, how) return tempo.grad(loss, h, how) end
    local prefix, window, suffix, last, point = h[0 .. t + 1]:mean(0):square(),
      h[tempo.max(0, t - w + 1) .. t + 1]:prod(0),
      h[t .. T]:sum(0):square(), h[T - 1]:square(), h[tempo.min(t + 1, T - 1)] * h
    local f = helper.compile(P,
      { h = h, prefix = cases(prefix, leaf), window = cases(window, leaf),
      suffix = cases(suffix, leaf),
      last = cases(last, leaf), point = cases(point, leaf), through = cases(last) })
    for _, n in ipairs { 1, 2, 5 } do
      local X, H = helper.numbers({ n }, helper.rng(n)), {}
      for k = 1, n do H[k] = X[k] + (k > 1 and 0.5 * H[k - 1] ^ 2 or 0) end
      local out = f({ x = X }, { T = n, w = 2 })
      helper.same(H, out.h:totable(), 1e-14)
      -- of h as given, whatever it was made from
      local function by(loss)
        return helper.differences(function(v)
          local sum = 0
          for k = 1, n do sum = sum + loss(v, k) end
          return sum
        end, H)
      end
      local function sum(v, lo, hi)
        local s = 0
        for k = lo, hi do s = s + v[k] end
        return s
      end
      helper.same(by(function(v, k) return (sum(v, 1, k) / k) ^ 2 end), out.prefix:totable(), 1e-8)
      helper.same(by(function(v, k)
        return v[k] * (k > 1 and v[k - 1] or 1)
      end), out.window:totable(), 1e-8)
      helper.same(by(function(v, k) return sum(v, k, n) ^ 2 end), out.suffix:totable(), 1e-8)
      helper.same(by(function(v, k) return k == n and v[n] ^ 2 or 0 end), out.last:totable(), 1e-8)
      helper.same(by(function(v, k)
        return v[math.min(k + 1, n)] * v[k]
      end), out.point:totable(), 1e-8)
      local d, through = 2 * H[n], {}
      for k = n, 1, -1 do
        through[k] = d
        d = d * (k > 1 and H[k - 1] or 0)
      end
      helper.same(through, out.through:totable(), 1e-13)
    end
  end)

  it("of several dims, read along one and whole along another", function()
    local P = tempo.program()
    local a, A = P:dim "a"
    local t = P:dim "t"
    local x = P:input("x", { domain = { a, t }, shape = { 2 }, dtype = "f64" })
    local h = declared(P, { a, t }, { 2 })
    h[{ t = 0 }] = x
    h:otherwise(x * h[{ a, t - 1 }])
    local mixed = h[{ a = 0 .. A }]:mean(0)                -- over t alone
    local g = tempo.grad((mixed * mixed):sum(), h, leaf)
    local out = helper.compile(P, { h = h, g = g })(
      { x = helper.random(helper.rng(5), { 3, 4, 2 }) }, { A = 3, T = 4 })
    local H, want = out.h:totable(), {}
    for n = 1, 3 do
      want[n] = {}
      for k = 1, 4 do
        want[n][k] = {}
        for c = 1, 2 do want[n][k][c] = 2 * (H[1][k][c] + H[2][k][c] + H[3][k][c]) / 9 end
      end
    end
    helper.same(want, out.g:totable(), 1e-13)
  end)

  it("may be the loss, a parameter, something the loss does not read, and of a row's own end",
    function()
    local P = tempo.program()
    local b = P:dim "b"
    local t, T = P:dim "t"
    local x, stop = P:input("x", { domain = { b, t }, dtype = "f64" }),
      P:input("stop", { domain = { b }, dtype = "i64" })
    P:stop(t, t:value():ge(stop))
    local h = declared(P, { b, t }):name "h"
    h[{ t = 0 }] = x
    h:otherwise(h[{ b, t - 1 }] * 2 + x)
    local p = P:param("p", { along = { b }, init = 3, dtype = "f64" })
    p:update(p * 2)
    local loss = (h * h)[{ t = 0 .. T }]:sum(0) * p
    local g = tempo.grad(loss, { h, p, x }, leaf)
    local warn, told = tempo.warn, {}
    tempo.warn = function(text) told[text:match "option: (.*)"] = true end
    local f = helper.compile(P,
      { h = g[1], p = g[2], x = g[3], own = tempo.grad(h, h, leaf), none = tempo.grad(p, h, leaf) })
    tempo.warn = warn
    assert.same({
      ["'loss' does not contain 'x', or only behind a detach, a comparison, another leaf or an index: the gradient by it is 0"] = true,
      ["'p' does not contain 'h', or only behind a detach, a comparison or an index: the gradient by it is 0"] = true,
    }, told)
    local out = f({ x = { { 1, 2, 3 }, { 4, 5, 6 } }, stop = { 0, 1 } }, { B = 2, T = 3 })
    helper.same({ { 6, 0 }, { 2 * 4 * 6, 2 * 13 * 6 } }, out.h:totable(), 1e-13)
    helper.same({ 1, 16 + 169 }, out.p:totable(), 1e-13)
    helper.same({ { 0, 0 }, { 0, 0 } }, out.x:totable(), 0)     -- everything goes through h
    helper.same({ { 1, 0 }, { 1, 1 } }, out.own:totable(), 0)
    helper.same({ { 0, 0 }, { 0, 0 } }, out.none:totable(), 0)
  end)

  it("is asked for by an option that is checked", function()
    local P = tempo.program()
    local x = P:input("x", f64)
    helper.fails(function()
      tempo.grad(x * x, x, { leef = true })
    end, "leaf_spec.lua:", "option", "did you mean 'leaf'?")
    helper.fails(function()
      tempo.grad(x * x, x, { leaf = 1 })
    end, "leaf_spec.lua:", "option", "expected true or false, got a number")
    helper.fails(function()
      tempo.grad(x * x, x, true)
    end, "leaf_spec.lua:", "option", "table of options")
  end)

  it("does not help a step that needs what comes later: the loss of all steps is in its gradient",
    function()
    local P = tempo.program()
    local k = P:dim "k"
    local w = declared(P, { k })
    w[0] = 1
    w[k] = (w - 0.1 * tempo.grad(w[0 .. k + 1]:sum(0):square(), w, leaf))[k - 1]
    for _, tier in ipairs { "reference", "interpreter" } do
      helper.fails(function()
        return P:compile { outputs = { w = w }, tier = tier }
      end, "leaf_spec.lua:", "cycle")
    end
  end)
end)

describe("MAML", function()
  it("is PyTorch's, through all steps and first-order", function()
    local want, lua = dofile "spec/fixtures/maml.lua", require "spec.helper".lua
    for _, tier in ipairs { "reference", "interpreter" } do
      for kind, flag in pairs { second = "", first = "--first" } do
        local folder = os.tmpname()
        os.remove(folder)
        assert.equal("",
          lua(table.concat(
          { "examples/maml_sinusoid.lua --from spec/fixtures/maml.npz --dtype f64 --quiet",
          want.args, flag,
          "--tier", tier, "--out", folder }, " ")))
        local rows, params = { before = {}, after = {} }, tempo.load(folder .. "/params.npz")
        for before, after in io.open(folder
          .. "/metrics.csv"):read "*a":gmatch "\n%d+,([^,]+),([^\n]+)" do
          table.insert(rows.before, tonumber(before))
          table.insert(rows.after, tonumber(after))
        end
        os.execute("rm -rf " .. folder)
        for name, w in pairs(want[kind]) do
          helper.same(w, rows[name] or params[name]:totable(), rows[name] and 1e-8 or 1e-12,
            kind .. " " .. name)
        end
      end
    end
  end)
end)

-- One compilation serves every length: each program is compiled once and run at 137 of them, its
-- numbers compared with plain Lua's. That nothing was compiled again is seen in what explain
-- counts: queries of isl, and the spaces without which nothing is asked of it.
local tempo = require "tempo"
local helper = require "spec.helper"

local LENGTHS = 137
local r = helper.rng(7)

-- Tells what was made; which tier runs it may change meanwhile.
local function told(f) return (f:explain():gsub("^tier [^,]*", "")) end

-- Runs f at every length, and nothing of what was made of the program may change.
local function run_all(f, first, run)
  local counts, plan = told(f), f:explain "plan"
  assert.truthy(counts:find "%d+ isl queries %(%d+ spaces%)")
  for n = first, first + LENGTHS - 1 do run(n) end
  assert.equal(counts, told(f))
  assert.equal(plan, f:explain "plan")
end

local function numbers(n, shape)
  local rows = {}
  for k = 1, n do rows[k] = helper.numbers(shape, r) end
  return rows
end

-- An output without a point is an empty array, and so is its table.
local function same(array, want, tol, where) helper.same(want, array:totable(), tol, where) end

describe("one compilation, 137 lengths:", function()
  it("prefix, suffix and window sums, from no point on", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local w = P:bound "w"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local f = P:compile { outputs = {
      prefix = x[0 .. t + 1]:sum(0), suffix = x[t .. T]:sum(0),
        window = x[tempo.max(0, t - w + 1) .. t + 1]:mean(0),
      later = x[tempo.min(t + 2, T - 1)],
    } }
    local all = numbers(LENGTHS, {})
    run_all(f, 0, function(n)
      local width, xs, want = 1 + n % 9, {}, { prefix = {}, suffix = {}, window = {}, later = {} }
      for k = 1, n do xs[k] = all[k] end
      local sum = 0
      for k = 1, n do
        sum = sum + xs[k]
        local part, from = 0, math.max(1, k - width + 1)
        for j = from, k do part = part + xs[j] end
        want.prefix[k], want.window[k], want.later[k] = sum, part / (k - from + 1),
          xs[math.min(k + 2, n)]
      end
      sum = 0
      for k = n, 1, -1 do
        sum = sum + xs[k]
        want.suffix[k] = sum
      end
      local out = f({ x = helper.array(xs, "f64", { n }) }, { T = n, w = width })
      for name, v in pairs(want) do same(out[name], v, 1e-12, name .. " at " .. n) end
    end)
  end)

  it("a recurrent net in blocks, forwards and back through time", function()
    local D, H = 3, 2
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { D }, dtype = "f64" })
    local w, u = P:input("w", { shape = { D, H }, dtype = "f64" }),
      P:input("u", { shape = { H, H }, dtype = "f64" })
    local h = P:tensor { domain = { t }, shape = { H }, dtype = "f64" }
    h[0] = x:matmul(w):tanh()
    h[t] = (x:matmul(w) + h[t - 1]:matmul(u)):tanh()
    local loss = h:square():sum()[0 .. T]:sum(0)
    local g = tempo.grad(loss, { w, u })
    local f = P:compile { outputs = { loss = loss, gw = g[1], gu = g[2] } }
    local xs, wv, uv = numbers(LENGTHS, { D }), helper.numbers({ D, H }, r),
      helper.numbers({ H, H }, r)

    local function forwards(n)
      local hs, sum = { [0] = { 0, 0 } }, 0
      for k = 1, n do
        hs[k] = {}
        for j = 1, H do
          local a = 0
          for d = 1, D do a = a + xs[k][d] * wv[d][j] end
          for d = 1, H do a = a + hs[k - 1][d] * uv[d][j] end
          hs[k][j] = helper.tanh(a)
          sum = sum + hs[k][j] ^ 2
        end
      end
      return hs, sum
    end

    local function backwards(n, hs)
      local gw, gu, carry = helper.fill({ D, H }, function() return 0 end),
        helper.fill({ H, H }, function() return 0 end), { 0, 0 }
      for k = n, 1, -1 do
        local da, before = {}, { 0, 0 }
        for j = 1, H do da[j] = (2 * hs[k][j] + carry[j]) * (1 - hs[k][j] ^ 2) end
        for j = 1, H do
          for d = 1, D do gw[d][j] = gw[d][j] + xs[k][d] * da[j] end
          for d = 1, H do
            gu[d][j] = gu[d][j] + hs[k - 1][d] * da[j]
            before[d] = before[d] + uv[d][j] * da[j]
          end
        end
        carry = before
      end
      return gw, gu
    end

    run_all(f, 1, function(n)
      local rows = {}
      for k = 1, n do rows[k] = xs[k] end
      local out = f({ x = tempo.array(rows, "f64"), w = wv, u = uv }, { T = n })
      local hs, sum = forwards(n)
      local gw, gu = backwards(n, hs)
      helper.same(sum, out.loss:item(), 1e-11, "loss at " .. n)
      same(out.gw, gw, 1e-10, "gw at " .. n)
      same(out.gu, gu, 1e-10, "gu at " .. n)
    end)
  end)

  it("edit distance: two lengths", function()
    local P = tempo.program()
    local p, A = P:dim("p", "A")
    local q, B = P:dim("q", "B")
    local a = P:input("a", { domain = { p }, dtype = "i64" })
    local b = P:input("b", { domain = { q }, dtype = "i64" })
    local d = P:tensor { domain = { p, q }, dtype = "i64" }
    local differ = a:ne(b):to "i64"
    d:when(p:eq(0):land(q:eq(0)), differ)
    d:when(p:eq(0), tempo.minimum(d[{ q = q - 1 }] + 1, q:value() + differ))
    d:when(q:eq(0), tempo.minimum(d[{ p = p - 1 }] + 1, p:value() + differ))
    d:otherwise(tempo.minimum(tempo.minimum(d[{ p = p - 1 }], d[{ q = q - 1 }]) + 1,
      d[{ p = p - 1, q = q - 1 }] + differ))
    local f = P:compile { outputs = { d = d[{ p = A - 1, q = B - 1 }] } }
    local letters = {}
    for k = 1, 2 * LENGTHS do letters[k] = r(4) end
    run_all(f, 1, function(n)
      local m, xs, ys, row = n * 53 % LENGTHS + 1, {}, {}, {}
      for k = 1, n do xs[k] = letters[k] end
      for k = 1, m do ys[k] = letters[2 * LENGTHS + 1 - k] end
      for j = 0, m do row[j] = j end
      for k = 1, n do
        local corner = row[0]
        row[0] = k
        for j = 1, m do
          local cost = corner + (xs[k] == ys[j] and 0 or 1)
          corner = row[j]
          row[j] = math.min(row[j] + 1, row[j - 1] + 1, cost)
        end
      end
      assert.equal(row[m], f({ a = xs, b = ys }, { A = n, B = m }).d:item())
    end)
  end)

  it("training with n-step returns: iterations, a batch, steps and a window", function()
    local P = tempo.program()
    local i = P:dim "i"
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local n = P:bound "n"
    local x = P:input("x", { domain = { b, t }, dtype = "f64" })
    local w = P:param("w", { along = { i }, dtype = "f64", init = 0.5 })
    local y = w * x
    local G = y[{ t = t .. tempo.min(t + n, T) }]:discounted_cumsum(0.9):select(0, 0)
    local loss = (y - G:detach() * 0.5):square() / (B * T):value():to "f64"
    tempo.optim.SGD({ w }, { lr = 0.1 }):step(loss)
    local f = P:compile { outputs = { loss = loss[{ b = 0 .. B, t = 0 .. T }]:sum() } }
    local all = numbers(5, { LENGTHS })
    run_all(f, 1, function(length)
      local bounds = { I = 1 + length % 4, B = 1 + length % 5, T = length, n = 1 + length % 7 }
      local xs, want, v = {}, {}, 0.5
      for row = 1, bounds.B do
        xs[row] = {}
        for k = 1, length do xs[row][k] = all[row][k] end
      end
      for it = 1, bounds.I do
        local sum, slope = 0, 0
        for row = 1, bounds.B do
          for k = 1, length do
            local g = 0
            for j = math.min(k + bounds.n, length + 1) - 1, k, -1 do
              g = v * xs[row][j] + 0.9 * g
            end
            local e = v * xs[row][k] - 0.5 * g
            sum, slope = sum + e * e, slope + 2 * e * xs[row][k]
          end
        end
        want[it] = sum / (bounds.B * length)
        v = v - 0.1 * slope / (bounds.B * length)
      end
      local out = f({ x = tempo.array(xs, "f64") }, bounds)
      same(out.loss, want, 1e-10, "loss at " .. length)
      helper.same(v, f:params().w:item(), 1e-10, "w at " .. length)
    end)
  end)

  it("layers as a dim: as many as asked for", function()
    local P = tempo.program()
    local l, L = P:dim "l"
    local x = P:input("x", { dtype = "f64", shape = { 2 } })
    local w = P:input("w", { domain = { l }, dtype = "f64", shape = { 2, 2 } })
    local h = P:tensor { domain = { l }, dtype = "f64", shape = { 2 } }
    h[0] = x
    h[l + 1] = h:matmul(w):tanh()
    local loss = h[L - 1]:matmul(w[L - 1]):sum()
    local f = P:compile { outputs = { loss = loss, g = tempo.grad(loss, { w })[1] } }
    local ws, start = numbers(LENGTHS, { 2, 2 }), helper.numbers({ 2 }, r)
    run_all(f, 1, function(n)
      local hs, rows, sum, grad = { start }, {}, 0, {}
      for k = 1, n do
        rows[k], hs[k + 1] = ws[k], {}
        for j = 1, 2 do
          local a = hs[k][1] * ws[k][1][j] + hs[k][2] * ws[k][2][j]
          hs[k + 1][j] = k < n and helper.tanh(a) or a
          sum = sum + (k == n and a or 0)
        end
      end
      local da = { 1, 1 }
      for k = n, 1, -1 do
        local before = {}
        grad[k] = { {}, {} }
        for d = 1, 2 do
          for j = 1, 2 do grad[k][d][j] = hs[k][d] * da[j] end
          before[d] = (ws[k][d][1] * da[1] + ws[k][d][2] * da[2]) * (1 - hs[k][d] ^ 2)
        end
        da = before
      end
      local out = f({ x = start, w = tempo.array(rows, "f64") }, { L = n })
      helper.same(sum, out.loss:item(), 1e-11, "loss of " .. n)
      same(out.g, grad, 1e-10, "gradient of " .. n)
    end)
  end)

  it("an end that data decides: every length below one bound", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local last = P:input("last", { dtype = "i64" })
    P:stop(t, t:value():eq(last))
    local h = P:tensor { domain = { t }, dtype = "f64" }
    h[0] = 1
    h[t] = h[t - 1] * 0.9 + t:value()
    local f = P:compile { outputs = { h = h, total = h[0 .. T]:sum(0) } }
    run_all(f, 0, function(n)
      local want, sum = {}, 0
      for k = 1, n + 1 do
        want[k] = k == 1 and 1 or want[k - 1] * 0.9 + k - 1
        sum = sum + want[k]
      end
      local out = f({ last = n }, { T = 200 })
      assert.equal(n + 1, out.T:item())
      same(out.h, want, 1e-12, "h to " .. n)
      helper.same(sum, out.total:item(), 1e-12, "total to " .. n)
    end)
  end)
end)

-- Ends by data: P:stop. The reference evaluator asks done point by point; every program here also
-- runs on the interpreter, with and without passes, and both are held to plain loops, to closed
-- forms, or to the same program without a stop, run for as long as was reached.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails = helper.fails

local tiers = { { tier = "reference" }, { tier = "interpreter" },
  { tier = "interpreter", passes = "none" } }

-- fn(options of compile) for every way to run.
local function each_tier(fn)
  for _, tier in ipairs(tiers) do fn(tier) end
end

local function compile(P, tier, outputs)
  return P:compile { outputs = outputs, tier = tier.tier, passes = tier.passes }
end

-- x doubles from 1 and stops at `limit`: 1 2 4 8 ..
local function doubling(limit)
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:tensor { domain = { t }, dtype = "f64", name = "x" }
  x[0] = 1
  x[t] = x[t - 1] * 2
  P:stop(t, x:ge(limit))
  return P, t, T, x
end

describe("an end by data", function()
  it("is at the first point, at a later one, or nowhere", function()
    for _, case in ipairs { { 1, { 1 } }, { 2, { 1, 2 } }, { 20, { 1, 2, 4, 8, 16, 32 } },
      { 1e9, { 1, 2, 4, 8, 16, 32, 64, 128 } } } do
      local P, _, T, x = doubling(case[1])
      local out = helper.run(P, { x = x, n = T:value() }, {}, { T = 8 })
      assert.same(case[2], out.x)
      assert.equal(#case[2], out.T)
      assert.equal(#case[2], out.n)
    end
  end)

  it("takes the last point for a whole one, whatever reads it", function()
    local P, t, T, x = doubling(20)
    local before, back = P:tensor { domain = { t }, dtype = "f64" },
      P:tensor { domain = { t }, dtype = "f64" }
    before[0] = -1
    before[t] = x[t - 1]
    back[T - 1] = x
    back[t] = x + 10 * back[t + 1]
    local out = helper.run(P, {
      z = x * 3, v = (x + before) / 2, before = before, back = back,
      ahead = x[tempo.min(t + 3, T - 1)], last = x[T - 1], sum = x[0 .. T]:sum(0),
        suffix = x[t .. T]:sum(0), prefix = x[0 .. t + 1]:sum(0),
      top = x[0 .. T]:max(0), mean = x[0 .. T]:mean(0), all = x[0 .. T], half = x[t:floordiv(2)],
        mid = x[T:floordiv(2)], square = (T * T):value(),
    }, {}, { T = 100 })
    helper.same({ 3, 6, 12, 24, 48, 96 }, out.z, 1e-9)
    helper.same({ -1, 1, 2, 4, 8, 16 }, out.before, 1e-9)
    helper.same({ 0, 1.5, 3, 6, 12, 24 }, out.v, 1e-9)
    helper.same({ 8, 16, 32, 32, 32, 32 }, out.ahead, 1e-9)
    helper.same({ 63, 62, 60, 56, 48, 32 }, out.suffix, 1e-9)
    helper.same({ 1, 3, 7, 15, 31, 63 }, out.prefix, 1e-9)
    helper.same({ 3368421, 336842, 33684, 3368, 336, 32 }, out.back, 1e-9)
    helper.same({ 1, 1, 2, 2, 4, 4 }, out.half, 1e-9)
    helper.same({ 1, 2, 4, 8, 16, 32 }, out.all, 1e-9)
    assert.same({ 32, 63, 32, 63 / 6, 8, 36, 6 },
      { out.last, out.sum, out.top, out.mean, out.mid, out.square, out.T })
  end)

  it("stands where a bound stands in shapes, conditions and values", function()
    local P, t, T, x = doubling(20)
    local out = helper.run(P, {
      ones = tempo.ones { T, 2 }, flip = x[0 .. T]:flip(0), left = (T - t):value(),
        second = t:lt(T - 2):value(), soft = (x[0 .. T] / 8):softmax(0):sum(),
      outer = x[0 .. T]:outer(x[0 .. T]), attend = (x[t .. T] * x):sum(),
        rank = x[0 .. T]:argmax(0),
      padded = tempo.cat({ x[0 .. T], tempo.zeros({ 2 }, { dtype = "f64" }) }, 0),
      cut = x[0 .. T]:slice(0, 1, T - 1),
    }, {}, { T = 9 })
    assert.same({ { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 } }, out.ones)
    assert.same({ 32, 16, 8, 4, 2, 1 }, out.flip)
    assert.same({ 6, 5, 4, 3, 2, 1 }, out.left)
    assert.same({ true, true, true, true, false, false }, out.second)
    assert.is_true(math.abs(out.soft - 1) < 1e-12)
    assert.same({ 6, 6 }, { #out.outer, #out.outer[6] })
    assert.same({ 63, 124, 240, 448, 768, 1024 }, out.attend)
    assert.equal(5, out.rank)
    assert.same({ 1, 2, 4, 8, 16, 32, 0, 0 }, out.padded)
    assert.same({ 2, 4, 8, 16 }, out.cut)
  end)

  it("asks nothing where the call gives 0, and gives back 0", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local calls = 0
    local x = P:source(function() calls = calls + 1 return 0 end, { domain = { t } })
    P:stop(t, x:gt(0))
    each_tier(function(tier)
      local f = compile(P, tier, { x = x, sum = x[0 .. T]:sum(0) })
      local out = f({}, { T = 0 })
      assert.same({ 0 }, out.x:shape())
      assert.same({ 0, 0, 0 }, { out.sum:item(), out.T:item(), calls })
    end)
    local y = x[0 .. T]:sum(0)
    local z = x[0]
    each_tier(function(tier)
      local f = compile(P, tier, { y = y, z = z })
      fails(function() f({}, { T = 0 }) end, "domain", "T")
      assert.equal(0, f({}, { T = 2 }).z:item())
    end)
  end)

  it("draws, asks and calls exactly as often as there are points", function()
    for _, n in ipairs { 1, 2, 5 } do
      each_tier(function(tier)
        local P = tempo.program()
        local t = P:dim "t"
        local asked, seen, told = {}, {}, {}
        local s = P:source(function(p)
          asked[#asked + 1] = p.t return p.t
        end, { domain = { t }, dtype = "i64" })
        local u = tempo.uniform({}, { domain = { t }, name = "u" })
        local r = P:call(function(a, p)
          seen[#seen + 1] = p.t return a[1]
        end, { u }, { { domain = { t } } })
        P:sink({ r + s }, function(_, p) told[#told + 1] = p.t end)
        P:stop(t, s:ge(n - 1))
        local out = compile(P, tier, { r = r, u = u })({}, { T = 9 })
        local want = {}
        for i = 1, n do want[i] = i - 1 end
        assert.same(want, asked)
        assert.same(want, seen)
        assert.same(want, told)
        assert.same({ n }, out.r:shape())
        helper.same(out.u:totable(), out.r:totable(), 1e-9)
      end)
    end
  end)

  it("gives random tensors the numbers that they have without it", function()
    local function program(stop)
      local P = tempo.program()
      local t, T = P:dim "t"
      local u = tempo.normal({ 2 }, { domain = { t }, name = "u" })
      if stop then P:stop(t, u:sum():gt(2.5)) end
      return P, { u = u, m = u[0 .. T]:mean(0) }
    end
    local P, o = program(true)
    local out = helper.run(P, o, {}, { T = 200 })
    local Q, q = program(false)
    local same = helper.run(Q, q, {}, { T = out.T })
    assert.is_true(out.T > 1 and out.T < 200)
    helper.same(same.u, out.u, 1e-12)
    helper.same(same.m, out.m, 1e-6)
  end)

  it("takes a condition on indices, a bound, and what a callback says", function()
    local P = tempo.program()
    local t = P:dim "t"
    local n = P:bound "n"
    P:stop(t, t:ge(n))
    assert.same({ 0, 1, 2, 3 }, helper.run(P, { x = t:value() * 1 }, {}, { T = 9, n = 3 }).x)
    assert.same({ 0 }, helper.run(P, { x = t:value() * 1 }, {}, { T = 9, n = 0 }).x)
  end)

  it("reads inputs as far as it gets; they are laid out for the bound given", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "i64" })
    P:stop(t, x:eq(0))
    local f = helper.compile(P,
      { x = x * 1, sum = x[0 .. T]:sum(0), w = x[tempo.max(0, t - 1) .. t + 1]:sum(0) })
    local out = f({ x = { 3, 1, 4, 0, 5, 9 } }, { T = 6 })
    assert.same({ 3, 1, 4, 0 }, out.x:totable())
    assert.same({ 3, 4, 5, 4 }, out.w:totable())
    assert.equal(8, out.sum:item())
    helper.fails(function() f.fn({ x = { 3, 1, 4, 0 } }, { T = 6 }) end, "shape")
  end)

  it("is looked for by peek", function()
    local _, _, T, x = doubling(20)
    local at = function(k) return x:peek { bounds = { T = 100 }, at = { t = k } }:item() end
    assert.same({ 1, 8, 32 }, { at(0), at(3), at(5) })
    assert.equal(63, x[0 .. T]:sum(0):peek { bounds = { T = 100 } }:item())
    assert.equal(6, T:value():peek { bounds = { T = 100 } }:item())
    fails(function() at(6) end, "domain", "'t' has ended")
    fails(function() x:peek { bounds = { T = 3 }, at = { t = 3 } } end, "domain")
  end)
end)

describe("an end inside other dims", function()
  it("is another for each point of them", function()
    local P = tempo.program()
    local i, I = P:dim "i"
    local t, T = P:dim "t"
    local x = P:tensor { domain = { i, t }, dtype = "f64" }
    x[{ t = 0 }] = i:value():to "f64"
    x:otherwise(x[t - 1] + 1)
    P:stop(t, x:ge(2 * i:value() + 1))
    local s, last = x[0 .. T]:sum(0), x[T - 1]
    local total = P:tensor { domain = { i }, dtype = "f64" }
    total[0] = s
    total[i] = total[i - 1] + s
    local before = P:tensor { domain = { i }, dtype = "f64" }
    before[0] = -1
    before[i] = last[i - 1]
    local out = helper.run(P,
      { x = x, s = s, last = last, total = total, before = before, n = T:value() * 10,
      of = total[I - 1] }, {}, { I = 4, T = 20 })
    assert.same({ 2, 3, 4, 5 }, out.T)
    assert.same({ 20, 30, 40, 50 }, out.n)
    assert.same({ { 0, 1, 0, 0, 0 }, { 1, 2, 3, 0, 0 }, { 2, 3, 4, 5, 0 }, { 3, 4, 5, 6, 7 } },
      out.x)
    assert.same({ 1, 6, 14, 25 }, out.s)
    assert.same({ 1, 7, 21, 46 }, out.total)
    assert.same({ 1, 3, 5, 7 }, out.last)
    assert.same({ -1, 1, 3, 5 }, out.before)
    assert.equal(46, out.of)
  end)

  it("lets a parameter go from one episode to the next, calls in order", function()
    each_tier(function(tier)
      local P = tempo.program()
      local i = P:dim "i"
      local t, T = P:dim "t"
      local log = {}
      local w = P:param("w", { along = { i }, init = 1, dtype = "f64" })
      local x = P:call(function(a, p)
        log[#log + 1] = p.i .. "," .. p.t return a[1]:item() * (p.t + 1)
      end, { w }, { { domain = { i, t }, dtype = "f64" } })
      P:sink({ x }, function(_, p) log[#log + 1] = "s" .. p.i .. "," .. p.t end)
      P:stop(t, x:ge(6))
      w:update(x[0 .. T]:sum(0) / 4)
      local f = compile(P, tier, { x = x, w = w })
      local out = f({}, { I = 3, T = 50 })
      helper.same({ 1, 21 / 4, 63 / 16 }, out.w:totable(), 1e-9)
      assert.same({ 6, 2, 2 }, out.T:totable())
      helper.same(189 / 64, f:params().w:item(), 1e-9)
      local calls, sinks = {}, {}
      for _, k in ipairs(log) do
        if k:sub(1, 1) == "s" then sinks[#sinks + 1] = k:sub(2) else calls[#calls + 1] = k end
      end
      assert.same({ "0,0", "0,1", "0,2", "0,3", "0,4", "0,5", "1,0", "1,1", "2,0", "2,1" }, calls)
      assert.same(calls, sinks)
    end)
  end)

  it("lets a parameter go along it: the next point comes after the reached end", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local w = P:param("w", { along = { i, t }, init = 1, dtype = "f64" })
    w:update(w * 2)
    P:stop(t, w:ge(4):land(w:ge(i:value() * 16)))
    local f = helper.compile(P, { w = w, n = w[0 .. T]:sum(0) })
    local out = f({}, { I = 4, T = 20 })
    assert.same({ { 1, 2, 4 }, { 8, 16, 0 }, { 32, 0, 0 }, { 64, 0, 0 } }, out.w:totable())
    assert.same({ 3, 2, 1, 1 }, out.T:totable())
    assert.equal(128, f.fn:params().w:item())
    assert.same({ { 1, 2 }, { 4, 8 }, { 16, 32 }, { 64, 0 } }, f({}, { I = 4, T = 2 }).w:totable())
    assert.equal(128, f.fn:params().w:item())
    f({}, { I = 4, T = 0 })
    assert.equal(1, f.fn:params().w:item())
    f({}, { I = 0, T = 4 })
    assert.equal(1, f.fn:params().w:item())
  end)

  it("may be in one dim, and the others' as well", function()
    local P = tempo.program()
    local i, I = P:dim "i"
    local t, T = P:dim "t"
    local x = P:tensor { domain = { i, t }, dtype = "f64" }
    x[{ t = 0 }] = i:value():to "f64"
    x:otherwise(x[t - 1] + 1)
    P:stop(t, x:ge(3))
    local s = x[0 .. T]:sum(0)
    P:stop(i, s:lt(6))
    local out = helper.run(P,
      { x = x, s = s, all = s[0 .. I]:sum(0), n = T:value()[0 .. I]:sum(0) }, {},
      { I = 10, T = 10 })
    assert.same({ { 0, 1, 2, 3 }, { 1, 2, 3, 0 }, { 2, 3, 0, 0 } }, out.x)
    assert.same({ 6, 6, 5 }, out.s)
    assert.same({ 4, 3, 2 }, out.T)
    assert.same({ 3, 17, 9 }, { out.I, out.all, out.n })
  end)

  it("needs no episode that is not there", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local x = P:tensor { domain = { i, t } }
    x[{ t = 0 }] = 1
    x:otherwise(x[t - 1] + 1)
    P:stop(t, x:ge(3))
    local out = helper.compile(P, { x = x, s = x[0 .. T]:sum(0) })({}, { I = 0, T = 5 })
    assert.same({ { 0, 0 }, { 0 }, { 0 } }, { out.x:shape(), out.s:shape(), out.T:shape() })
  end)
end)

describe("an end for each row of a batch", function()
  -- x counts from 1; row b stops at lim[b].
  local function batch(P)
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local lim = P:input("lim", { domain = { b }, dtype = "f64" })
    local x = P:tensor { domain = { b, t }, dtype = "f64", name = "x" }
    x[{ t = 0 }] = 1
    x:otherwise(x[t - 1] + 1)
    P:stop(t, x:ge(lim))
    return b, B, t, T, x, lim
  end

  it("leaves zeros beyond each row, and sums as far as each goes", function()
    local P = tempo.program()
    local _, B, t, T, x = batch(P)
    local s = x[0 .. T]:sum(0)
    local out = helper.run(P, {
      x = x, s = s, total = s[0 .. B]:sum(0), suffix = x[t .. T]:sum(0), last = x[T - 1],
        first = x[{ t = 0 }], prefix = x[0 .. t + 1]:sum(0), y = x * x,
      longest = T:value()[0 .. B]:max(0), mean = x[0 .. T]:mean(0),
    }, { lim = { 3, 1, 5, 99 } }, { B = 4, T = 6 })
    assert.same({ { 1, 2, 3, 0, 0, 0 }, { 1, 0, 0, 0, 0, 0 }, { 1, 2, 3, 4, 5, 0 },
      { 1, 2, 3, 4, 5, 6 } }, out.x)
    assert.same({ { 1, 4, 9, 0, 0, 0 }, { 1, 0, 0, 0, 0, 0 }, { 1, 4, 9, 16, 25, 0 },
      { 1, 4, 9, 16, 25, 36 } }, out.y)
    assert.same({ { 6, 5, 3, 0, 0, 0 }, { 1, 0, 0, 0, 0, 0 }, { 15, 14, 12, 9, 5, 0 },
      { 21, 20, 18, 15, 11, 6 } }, out.suffix)
    assert.same({ 3, 1, 5, 6 }, out.T)
    assert.same({ 6, 1, 15, 21 }, out.s)
    assert.same({ 3, 1, 5, 6 }, out.last)
    assert.same({ 1, 1, 1, 1 }, out.first)
    assert.same({ 2, 1, 3, 3.5 }, out.mean)
    assert.same({ 43, 6 }, { out.total, out.longest })
  end)

  it("has the greatest length reached, not the one given", function()
    local P = tempo.program()
    local _, _, _, _, x = batch(P)
    local f = helper.compile(P, { x = x })
    assert.same({ 2, 4 }, f({ lim = { 2, 4 } }, { B = 2, T = 50 }).x:shape())
    assert.same({ 0, 0 }, f({ lim = {} }, { B = 0, T = 50 }).x:shape())
    assert.same({ 2, 0 }, f({ lim = { 2, 4 } }, { B = 2, T = 0 }).x:shape())
  end)

  it("goes on to the greatest end in what lacks the batch", function()
    each_tier(function(tier)
      local P = tempo.program()
      local _, _, t, _, x = batch(P)
      local asked, told = 0, 0
      local noise = P:source(function(p)
        asked = asked + 1 return p.t * 100
      end, { domain = { t }, dtype = "f64" })
      local step = tempo.uniform({}, { domain = { t }, name = "u" })
      P:sink({ step }, function() told = told + 1 end)
      local out = compile(P, tier, { y = x + noise, noise = noise, v = t:value() * 2 })(
        { lim = { 3, 1 } }, { B = 2, T = 6 })
      assert.same({ { 1, 102, 203 }, { 1, 0, 0 } }, out.y:totable())
      assert.same({ 0, 100, 200 }, out.noise:totable())
      assert.same({ 0, 2, 4 }, out.v:totable())
      assert.same({ 3, 3 }, { asked, told })
    end)
  end)

  it("calls once for all rows while one goes on: ended rows are zero, their results nobody's",
    function()
    each_tier(function(tier)
      local P = tempo.program()
      local b, _, t, T, x = batch(P)
      local log = {}
      local y = P:call(function(a, p)
        log[#log + 1] = p.t .. ":" .. table.concat(helper.map(a[1]:totable(), math.floor), " ")
        local r = a[1]:totable()
        for k = 1, #r do r[k] = r[k] == 0 and 1e300 or r[k] * 10 end
        return r
      end, { x }, { { domain = { b, t }, dtype = "f64" } }, { over = { b } })
      local out = compile(P, tier, { y = y, s = y[0 .. T]:sum(0), z = y / 10 })(
        { lim = { 3, 1, 4 } }, { B = 3, T = 9 })
      assert.same({ "0:1 1 1", "1:2 0 2", "2:3 0 3", "3:0 0 4" }, log)
      assert.same({ { 10, 20, 30, 0 }, { 10, 0, 0, 0 }, { 10, 20, 30, 40 } }, out.y:totable())
      assert.same({ 60, 10, 100 }, out.s:totable())
    end)
  end)

  it("is found out by the callback that gets the rows", function()
    each_tier(function(tier)
      local P = tempo.program()
      local b, B = P:dim "b"
      local t, T = P:dim "t"
      local calls = 0
      local state = P:tensor { domain = { b, t }, shape = { 2 } }
      state[{ t = 0 }] = tempo.array { 0, 0 }
      local nxt, done = P:call(function(a)
        calls = calls + 1
        local s, d = a[1]:totable(), {}
        for k = 1, #s do s[k] = { s[k][1] + 1, k } d[k] = s[k][1] >= k end
        return s, d
      end, { state },
        { { domain = { b, t }, shape = { 2 } }, { domain = { b, t }, dtype = "bool" } },
        { over = { b } })
      state:otherwise(nxt[t - 1])
      P:stop(t, done)
      local out = compile(P, tier,
        { s = state, n = (state:sum())[0 .. T]:sum(0), all = state[T - 1][0 .. B]:sum(0) })({},
        { B = 3, T = 10 })
      assert.same({ 1, 2, 3 }, out.T:totable())
      assert.same({ { { 0, 0 }, { 0, 0 }, { 0, 0 } }, { { 0, 0 }, { 1, 2 }, { 0, 0 } },
        { { 0, 0 }, { 1, 3 }, { 2, 3 } } }, out.s:totable())
      assert.same({ 0, 3, 4 + 5 }, out.n:totable())
      assert.same({ 3, 5 }, out.all:totable())
      assert.equal(3, calls)
    end)
  end)

  it("keeps a call of each row to its own points", function()
    each_tier(function(tier)
      local P = tempo.program()
      local b, _, t, _, x = batch(P)
      local log = {}
      local y = P:call(function(a, p)
        log[#log + 1] = p.b .. "," .. p.t return a[1]
      end, { x }, { { domain = { b, t }, dtype = "f64" } })
      compile(P, tier, { y = y })({ lim = { 2, 1, 3 } }, { B = 3, T = 9 })
      assert.same({ "0,0", "0,1", "1,0", "2,0", "2,1", "2,2" }, log)
    end)
  end)

  it("calls over what lacks a dim of the end while one of its rows goes on", function()
    each_tier(function(tier)
      local P = tempo.program()
      local b, _ = P:dim "b"
      local c, _ = P:dim "c"
      local t, T = P:dim "t"
      local lim = P:input("lim", { domain = { b, c }, dtype = "i64" })
      local x = P:tensor { domain = { b, c, t }, dtype = "i64" }
      x[{ t = 0 }] = 1
      x:otherwise(x[t - 1] + 1)
      P:stop(t, x:ge(lim))
      local v = P:tensor { domain = { b, t }, dtype = "i64" }
      v[{ t = 0 }] = b:value()
      v:otherwise(v[t - 1] + 10)
      local rows, points, last = {}, {}, {}
      local y = P:call(function(a, p)
        rows[#rows + 1] = p.t .. ":" .. table.concat(a[1]:totable(), " ")
        local r = a[1]:totable()
        for k = 1, #r do r[k] = r[k] == 0 and 7 or r[k] end
        return r
      end, { v }, { { domain = { b, t }, dtype = "i64" } }, { over = { b } })
      P:sink({ v }, function(_, p) points[#points + 1] = p.b .. "," .. p.t end)
      P:sink({ x[T - 1], T:value() }, function(a)
        last[#last + 1] = { a[1]:totable(), a[2]:totable() }
      end, { over = { b, c } })
      local out = compile(P, tier, { y = y, s = y[0 .. T]:sum(0) })(
        { lim = { { 1, 3 }, { 2, 2 }, { 1, 1 } } }, { B = 3, C = 2, T = 9 })
      assert.same({ "0:0 1 2", "1:10 11 0", "2:20 0 0" }, rows)
      assert.same({ "0,0", "0,1", "0,2", "1,0", "1,1", "2,0" }, points)
      assert.same({ { { { 1, 3 }, { 2, 2 }, { 1, 1 } }, { { 1, 3 }, { 2, 2 }, { 1, 1 } } } }, last)
      assert.same({ { 7, 10, 20 }, { 1, 11, 0 }, { 2, 0, 0 } }, out.y:totable())
      assert.same({ { 7, 37 }, { 12, 12 }, { 2, 2 } }, out.s:totable())
    end)
  end)

  it("raises nothing for what is not there", function()
    local P = tempo.program()
    local b, _, t, T, x = batch(P)
    local left = P:input("left", { domain = { b, t }, dtype = "i64" })
    local table_ = P:constant(tempo.array { 10, 20, 30 })
    local out = helper.run(P,
      { q = tempo.full({}, 12, { dtype = "i64" }):floordiv(left), g = table_:index_select(0, left),
      n = (x[0 .. T]:sum(0)) },
      { lim = { 2, 1 }, left = { { 1, 2, 0 }, { 2, 0, 99 } } }, { B = 2, T = 3 })
    assert.same({ { 12, 6 }, { 6, 0 } }, out.q)
    assert.same({ { 20, 30 }, { 30, 0 } }, out.g)
  end)

  it("may be in seeds and rows at once", function()
    local P = tempo.program()
    local s, N = P:dim("s", "N")
    local _, B, _, T, x = batch(P)
    local y = x * (s:value() + 1)
    local sum = y[0 .. T]:sum(0)
    local outputs = { y = y, sum = sum, each = sum[{ b = 0 .. B }]:sum(0),
      all = sum[{ s = 0 .. N, b = 0 .. B }]:sum() }
    local out = helper.run(P, outputs, { lim = { 2, 3 } }, { N = 2, B = 2, T = 9 })
    assert.same({ { { 1, 2, 0 }, { 1, 2, 3 } }, { { 2, 4, 0 }, { 2, 4, 6 } } }, out.y)
    assert.same({ { 3, 6 }, { 6, 12 } }, out.sum)
    assert.same({ 9, 18 }, out.each)
    assert.equal(27, out.all)
  end)
end)

describe("gradients through ends", function()
  -- build(P, inputs) gives the loss (f64) and the tensors asked about, by the names of the inputs;
  -- differences in every element on the interpreter.
  local function check(build, values, bounds)
    local P = tempo.program()
    local loss, asked, others = build(P)
    local names, wrt = {}, {}
    for k, x in pairs(asked) do names[#names + 1], wrt[#wrt + 1] = k, x end
    local outputs = { loss = loss }
    for i, g in ipairs(tempo.grad(loss, wrt)) do outputs["d" .. names[i]] = g end
    for k, v in pairs(others or {}) do outputs[k] = v end
    local f = helper.compile(P, outputs, { tol = 1e-9 })
    local out = f(values, bounds)
    local plain = P:compile { outputs = { loss = loss } }
    for _, k in ipairs(names) do
      local given = values[k]
      local cell = type(given) == "table" and given or { given }
      local want = helper.differences(function()
        if cell ~= given then values[k] = cell[1] end
        return plain(values, bounds).loss:item()
      end, cell, 1e-6)
      local got, reached = out["d" .. k]:totable(), out.T
      if type(got) ~= "table" then got = { got } end
      -- what lies beyond the end has no part in anything
      local function cut(g, w)
        if type(w) ~= "table" then return end
        for j = #g + 1, #w do
          local function zero(v) if type(v) == "table" then
            for _, e in ipairs(v) do zero(e) end else assert.is_true(math.abs(v) < 1e-8) end end
          zero(w[j])
          w[j] = nil
        end
        for j = 1, #g do cut(g[j], w[j]) end
      end
      cut(got, want)
      helper.same(want, got, 2e-5, k)
      assert.is_truthy(reached)
    end
    return out
  end

  local function near(x, v) return (x - v):abs():lt(1e-3) end

  it("are those of the program as it went: a sum, a last value, windows", function()
    local out = check(function(P)
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, dtype = "f64" })
      local w = P:input("w", { dtype = "f64" })
      local h = P:tensor { domain = { t }, dtype = "f64" }
      h[0] = x
      h[t] = (h[t - 1] * w + x):tanh()
      P:stop(t, t:ge(4):value():land(h:lt(10)))
      local last, all = h[T - 1], (h * h)[0 .. T]:sum(0)
      local windows = ((h[tempo.max(0, t - 2) .. t + 1]:softmax(0)) * 2):max(0)
      return last * last + all + windows[0 .. T]:sum(0) + (x[t .. T]:logsumexp(0) * h)[0
        .. T]:sum(0), { x = x, w = w }
    end, { x = { .3, -.7, .9, .2, -.4, 5, 6, 7 }, w = .8 }, { T = 8 })
    assert.equal(5, out.T:item())
    assert.same({ 5 }, out.dx:shape())
  end)

  it("go backwards from the end that was reached", function()
    check(function(P)
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, dtype = "f64" })
      local back = P:tensor { domain = { t }, dtype = "f64" }
      back[T - 1] = x * x
      back[t] = x * .9 + back[t + 1]:sin()
      P:stop(t, near(x, 7))
      return (back * x)[0 .. T]:sum(0) + back[0], { x = x }
    end, { x = { .3, -.7, .9, 7, -.4, 5 } }, { T = 6 })
  end)

  it("are each row's own in a batch, and summed in what rows share", function()
    local out = check(function(P)
      local b, B = P:dim "b"
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { b, t }, shape = { 2 }, dtype = "f64" })
      local W = P:input("W", { shape = { 2, 2 }, dtype = "f64" })
      local lim = P:input("lim", { domain = { b }, dtype = "f64" })
      local h = P:tensor { domain = { b, t }, shape = { 2 }, dtype = "f64" }
      h[{ t = 0 }] = x:matmul(W)
      h:otherwise((h[t - 1] + x):matmul(W):tanh())
      P:stop(t, t:value():to "f64":ge(lim))
      local row = (h * h):sum()[0 .. T]:sum(0) + h[T - 1]:prod()
      local adv = (x:sum())[t .. T]:sum(0) * (h:sum())
      return (row + adv[0 .. T]:sum(0))[0 .. B]:sum(0), { x = x, W = W }, { h = h }
    end, { x = helper.numbers({ 3, 5, 2 }, helper.rng(4)), W = { { .4, -.3 }, { .2, .6 } },
      lim = { 1, 0, 3 } }, { B = 3, T = 5 })
    assert.same({ 2, 1, 4 }, out.T:totable())
    assert.same({ 3, 4, 2 }, out.dx:shape())
  end)

  it("are taken twice", function()
    check(function(P)
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, dtype = "f64" })
      local w = P:input("w", { dtype = "f64" })
      local h = P:tensor { domain = { t }, dtype = "f64" }
      h[0] = x * w
      h[t] = h[t - 1] * w + x:sin()
      P:stop(t, near(x, 7))
      local g = tempo.grad((h * h)[0 .. T]:sum(0), { w })[1]
      return g * g, { w = w, x = x }
    end, { x = { .3, -.7, 7, .1 }, w = .8 }, { T = 4 })
  end)

  it("reach a shared tensor over time from every row that goes on", function()
    local out = check(function(P)
      local b, B = P:dim "b"
      local t, T = P:dim "t"
      local u = P:input("u", { domain = { t }, dtype = "f64" })
      local lim = P:input("lim", { domain = { b }, dtype = "f64" })
      local h = P:tensor { domain = { b, t }, dtype = "f64" }
      h[{ t = 0 }] = u * lim
      h:otherwise(h[t - 1] * u + lim)
      P:stop(t, t:value():to "f64":ge(lim))
      return h[0 .. T]:sum(0)[0 .. B]:sum(0), { u = u }
    end, { u = { .3, .5, .7, .9 }, lim = { 1, 0, 2 } }, { B = 3, T = 4 })
    assert.same({ 3 }, out.du:shape())
  end)

  it("train a parameter over episodes of their own lengths, as a plain loop does", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local w = P:param("w", { along = { i }, init = .5, dtype = "f64" })
    local x = P:tensor { domain = { i, t }, dtype = "f64" }
    x[{ t = 0 }] = 1
    x:otherwise(x[t - 1] * w + 1)
    P:stop(t, x:ge(2.5))
    local err = x - 4
    local loss = (err * err)[0 .. T]:sum(0)
    w:update((w - .01 * tempo.grad(loss, { w })[1]):detach())
    local f = helper.compile(P, { loss = loss, w = w }, { tol = 1e-9 })
    local out = f({}, { I = 8, T = 30 })
    local v, ws, losses, lens = .5, {}, {}, {}
    for k = 1, 8 do
      local s, ds, total, grad, n = 1, 0, 0, 0, 0
      for step = 1, 30 do
        if step > 1 then s, ds = s * v + 1, ds * v + s end
        total, grad, n = total + (s - 4) ^ 2, grad + 2 * (s - 4) * ds, step
        if s >= 2.5 then break end
      end
      ws[k], losses[k], lens[k] = v, total, n
      v = v - .01 * grad
    end
    helper.same(ws, out.w:totable(), 1e-9)
    helper.same(losses, out.loss:totable(), 1e-9)
    assert.same(lens, out.T:totable())
    assert.is_true(lens[1] > lens[8])
    helper.same(v, f.fn:params().w:item(), 1e-9)
  end)
end)

describe("mistakes with ends", function()
  local P, b, B, t, T, x
  before_each(function()
    P = tempo.program()
    b, B = P:dim "b"
    t, T = P:dim "t"
    x = P:tensor { domain = { b, t }, name = "x" }
    x[{ t = 0 }] = 1
    x:otherwise(x[t - 1] + 1)
  end)

  local function stop() P:stop(t, x:ge(3)) end
  local function refused(y, ...)
    for _, tier in ipairs(helper.tiers) do
      fails(function() P:compile { outputs = { y = y }, tier = tier } end, ...)
    end
  end

  it("are told where they are made", function()
    local n = P:bound "n"
    fails(function() P:stop(t, x) end, "dtype", "bool")
    fails(function() P:stop(t, (x + tempo.zeros { 3 }):ge(2)) end, "shape", "scalar")
    fails(function() P:stop(t, b:ge(2)) end, "domain", "'t'")
    fails(function() P:stop(T, x:ge(2)) end, "option", "P:stop(t, done)")
    fails(function() P:stop(n, x:ge(2)) end, "option")
    stop()
    local line = debug.getinfo(1, "l").currentline + 1
    assert.equal(line, helper.line(fails(function() P:stop(t, x:ge(4)) end, "option", "already")))
    fails(function() P:input("q", { shape = { T } }) end, "shape", "known only while running")
    fails(function() P:sink({ x }, function() end, { over = { t } }) end, "option", "over")
    fails(function() return x[{ b = 0 .. B }] end, "ragged", "reduce over 't' first")
    fails(function() return x[{ b = 0 .. B, t = 0 .. T }] end, "ragged")
    fails(function() return x[0 .. T][0 .. B] end, "ragged")
    fails(function() return x[0 .. T][tempo.max(b - 1, 0)] end, "ragged")
    fails(function() return x[0 .. T] + tempo.ones { 5 } end, "shape")
    local h = P:tensor { domain = { t }, name = "h" }
    fails(function() h[T - 1] = 1 end, "domain", "'h'", "'T'")
    refused(x[t + 1], "domain", "T = 2", "ends by data")
    refused(x[{ t = tempo.range(0, 5) }], "domain", "any number from 1 on")
    refused(x[{ t = 5 }], "domain", "t = 5")
    refused(x[{ b = tempo.max(b - 1, 0) }], "domain", "a number of its own")
    refused(x[{ b = 0 }], "domain", "a number of its own")
    assert.equal(3,
      helper.compile(P, { y = x[{ b = 0, t = 0 }] + 2 })({}, { B = 1, T = 4 }).y:item())
  end)

  it("are told by P:stop where something before it does not allow it", function()
    local y = x[0 .. T]
    local _ = x[{ b = 0 .. B }]
    fails(stop, "ragged")
    -- nothing is left of it
    assert.same({ { 1, 2 } }, helper.run(P, { x = x }, {}, { B = 1, T = 2 }).x)
    assert.same({ 1, 2 }, helper.compile(P, { y = y })({}, { B = 1, T = 2 }).y:totable()[1])
  end)

  it("are told of a domain that grows", function()
    local v = T:value()
    assert.equal(0, #v:domain())
    stop()
    assert.equal(1, #v:domain())
    assert.same({ 3, 3 }, helper.run(P, { v = v }, {}, { B = 2, T = 9 }).v)
  end)

  it("are cycles where what ends it needs the end", function()
    P:stop(t, x[0 .. T]:sum(0):ge(4):land(x:ge(2)))
    refused(x, "cycle", "ends by data")
  end)

  it("may stand on a sum, kept in a wider dtype, of what is read at t//2", function()
    local Q = tempo.program()
    local i, I = Q:dim "i"
    local s, N = Q:dim("s", "N")
    local y = Q:input("y", { domain = { i, s } })
    local v = y[{ i = 0 .. I, s = s:floordiv(2) }]:sum(0)
    Q:stop(s, v:ge(3))
    local out = helper.run(Q, { v = v, n = N:value() }, { y = { { 0, 1, 2, 9 }, { 0, 1, 2, 9 } } },
      { I = 2, N = 4 })
    assert.same({ { 0, 0, 2, 2 }, 4 }, { out.v, out.n })
    out = helper.run(Q, { v = v, n = N:value() }, { y = { { 0, 3, 2, 9, 9 }, { 0, 1, 2, 9, 9 } } },
      { I = 2, N = 5 })
    assert.same({ { 0, 0, 4 }, 3 }, { out.v, out.n })
  end)

  it("are cycles where it reads its own value", function()
    P:stop(t, x:ge(T:value():to "f32"))
    refused(x, "cycle", "'T'")
  end)

  it("may read the end of an earlier point", function()
    local Q = tempo.program()
    local i = Q:dim "i"
    local s, N = Q:dim("s", "N")
    local before = Q:tensor { domain = { i }, dtype = "i64" }
    Q:stop(s, (s + 1):value():ge(before))
    before[0] = 1
    before[i] = N:value()[i - 1] + 2                        -- N has domain (i) now
    assert.same({ 1, 3, 5, 7 }, helper.run(Q, { n = before * 1 }, {}, { I = 4, N = 50 }).n)
    assert.same({ 1, 3, 4, 4 },
      helper.run(Q, { n = before * 1, v = s:value() + 0 * before }, {}, { I = 4, N = 4 }).N)
  end)

  it("give a window's end to the call", function()
    stop()
    local p = P:bound "p"
    local f = helper.compile(P, { y = x[tempo.min(p, T) - 1] })
    assert.same({ 2 }, f({}, { B = 1, T = 9, p = 2 }).y:totable())
    assert.same({ 3 }, f({}, { B = 1, T = 9, p = 20 }).y:totable())
    fails(function() f({}, { B = 1, T = 9, p = 0 }) end, "domain", "p >= 1")
  end)

  it("keep names apart", function()
    stop()
    for _, tier in ipairs(helper.tiers) do
      fails(function() P:compile { outputs = { T = x }, tier = tier } end, "option", "'T'")
    end
    local w = P:param("w", { along = { t }, init = 0 })
    w:update(w + 1)
    refused(w, "domain", "'w'", "domain = {b}")
  end)
end)

-- docs/language.md, section 7: start and step, budgets, states, checkpoints, cancel.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same = helper.fails, helper.same

local each, plain = helper.each, helper.plain

-- Steps through: values(k) gives those of the k-th step. All results, as plain tables.
local function steps(f, values, opts)
  local all, k = {}, 0
  repeat
    local done, out = f:step(values and values(k), opts)
    k = k + 1
    all[k] = {}
    for name, a in pairs(out) do all[k][name] = plain(a) end
  until done
  return all
end

local function accumulator()
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 3 } })
  local h = P:tensor { domain = { t }, shape = { 3 } }
  h[0] = tempo.zeros { 3 }
  h[t] = (h[t-1] * 0.9 + x[t]):tanh()
  return P, t, T, x, h
end

local rows = {}
for k = 1, 6 do rows[k] = { k, k / 2, -1 } end

describe("steps", function()
  it("give a run's numbers, tick by tick, with the tick left out or given", function()
    each(function(tier)
      for _, given in ipairs { true, false } do
        local P, t, _, _, h = accumulator()
        local f = P:compile { outputs = { h = h, twice = h * 2 }, tier = tier,
          tick = given and t or nil }
        local want = f({ x = rows }, { T = 6 })
        f:start({}, { T = 6 })
        local got = steps(f, function(k) return { x = rows[k+1] } end)
        assert.equal(6, #got)
        for k = 0, 5 do
          assert.same(want.h[k]:totable(), got[k+1].h)
          assert.same(want.twice[k]:totable(), got[k+1].twice)
        end
      end
    end)
  end)

  it("give an output that looks at the future whole at the end, and what waits for no tick with the first", function()
    each(function(tier)
      local P, t, T, x, h = accumulator()
      local w = P:input("w", { shape = { 2 } })
      local outputs = { h = h, ret = x:sum()[t .. T]:sum(0), next = x[tempo.min(t + 1, T - 1)],
        w2 = w * 2, total = x[0 .. T]:sum(0) }
      local f = P:compile { outputs = outputs, tick = t, tier = tier }
      local want = f({ x = rows, w = { 1, 2 } }, { T = 6 })
      f:start({ w = { 1, 2 } }, { T = 6 })
      for k = 0, 5 do
        local done, out = f:step { x = rows[k+1] }
        assert.equal(k == 5, done)
        assert.same(want.h[k]:totable(), out.h:totable())
        -- no tick has a part in it
        if k == 0 then assert.same({ 2, 4 }, out.w2:totable()) else assert.is_nil(out.w2) end
        for _, name in ipairs { "ret", "next", "total" } do
          if done then assert.same(want[name]:totable(), out[name]:totable()) else assert.is_nil(
            out[name]) end
        end
      end
    end)
  end)

  it("leave the last value of a parameter whose rows are what ticks", function()
    each(function(tier)
      local P = tempo.program()
      local i = P:dim "i"
      local j = P:dim "j"
      local x = P:input("x", { domain = { j } })
      local w = P:param("w", { along = { i }, domain = { j }, init = 1 })
      w:update(w + x)
      local f = P:compile { outputs = { x = x }, tick = j, tier = tier }
      for n = 1, 3 do
        f:start({}, { I = n, J = 3 })
        for k = 1, 3 do f:step { x = 10 * k } end
        assert.same({ 1 + 10 * n, 1 + 20 * n, 1 + 30 * n }, f:params().w:totable())
      end
    end)
  end)

  it("go through several dims in the order of P:dim, a training loop inside", function()
    each(function(tier)
      local P = tempo.program()
      local i = P:dim "i"
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { i, t } })
      local w = P:param("w", { along = { i }, init = 0.5 })
      local y = w * x
      local loss = ((y - 1) ^ 2)[{ t = 0 .. T }]:sum(0)
      local seen = {}
      P:sink({ loss }, function(a, p) seen[#seen+1] = { p.i, a[1]:item() } end)
      tempo.optim.SGD({ w }, { lr = 0.01 }):step(loss)
      local f = P:compile { outputs = { y = y, loss = loss }, tick = { t, i }, tier = tier }
      local X = { { 1, 2, 3 }, { 4, 5, 6 }, { 1, 1, 1 } }
      local want = f({ x = X }, { I = 3, T = 3 })
      local last, all, params = f:params().w:item(), seen, {}
      seen = {}
      f:start(nil, { I = 3, T = 3 })
      for a = 0, 2 do
        for b = 0, 2 do
          assert.equal(a, #seen)                -- the sink runs with the last tick of its iteration
          local done, out = f:step { x = X[a+1][b+1] }
          assert.equal(want.y:get(a, b), out.y:item())
          assert.equal(a == 2 and b == 2, done)
          params[#params+1] = f:params().w:item()
          if b == 2 then
            assert.equal(want.loss:get(a), out.loss:item()) else assert.is_nil(out.loss) end
        end
      end
      assert.same(all, seen)
      assert.equal(0.5, params[1])
      assert.equal(0.5, params[2])
      assert.is_true(params[3] ~= 0.5 and params[3] == params[4] and params[5] == params[3]
        and params[6] ~= params[5])
      assert.equal(last, params[9])
    end)
  end)

  it("run other dims inside a tick, wherever they stand", function()
    each(function(tier)
      local P = tempo.program()
      local b = P:dim "b"
      local t = P:dim "t"
      local k, K = P:dim "k"
      local x = P:input("x", { domain = { b, t }, shape = { 2 } })
      local s = P:tensor { domain = { b, t }, shape = { 2 } }
      s[{ t = 0 }] = x
      s:otherwise(s[t-1] + x)
      local z = P:tensor { domain = { b, t, k } }                 -- a recurrence inside each tick
      z[{ k = 0 }] = s:sum()
      z:otherwise(z[k-1] * 0.5 + 1)
      local f = P:compile { outputs = { s = s, z = z, last = z[{ k = K - 1 }] }, tick = t,
        tier = tier }
      local X = {}
      for bb = 1, 3 do
        X[bb] = {}
        for tt = 1, 4 do X[bb][tt] = { bb, tt } end
      end
      local want = f({ x = X }, { B = 3, T = 4, K = 3 })
      f:start({}, { B = 3, T = 4, K = 3 })
      local got = steps(f, function(n) return { x = { X[1][n+1], X[2][n+1], X[3][n+1] } } end)
      for n = 0, 3 do
        for bb = 0, 2 do
          assert.same(want.s[bb][n]:totable(), got[n+1].s[bb+1])
          assert.same(want.z[bb][n]:totable(), got[n+1].z[bb+1])
          assert.equal(want.last:get(bb, n), got[n+1].last[bb+1])
        end
      end
    end)
  end)

  it("keep callbacks in their tick: sources, calls with over, sinks", function()
    each(function(tier)
      local P = tempo.program()
      local t = P:dim "t"
      local b = P:dim "b"
      local log = {}
      local u = P:source(function(p)
        log[#log+1] = "source " .. p.t; return p.t + 1
      end, { domain = { t } })
      local x = P:input("x", { domain = { t, b } })
      local y = P:call(function(a, p)
        log[#log+1] = "call " .. p.t
        local out = {}
        for n = 0, #a[1] - 1 do out[n+1] = a[1][n] * 10 end
        return out
      end, { x + u }, { { domain = { t, b } } }, { over = { b } })
      P:sink({ y[{ b = 0 }] }, function(_, p) log[#log+1] = "sink " .. p.t end)
      local f = P:compile { outputs = { y = y }, tick = t, tier = tier }
      f:start({}, { T = 3, B = 2 })
      for n = 0, 2 do
        local _, out = f:step { x = { 1, 2 } }
        assert.same({ 10 * (n + 2), 10 * (n + 3) }, out.y:totable())
        assert.same({ "source " .. n, "call " .. n, "sink " .. n }, log)
        log = {}
      end
    end)
  end)

  it("go on without end", function()
    each(function(tier)
      local P, _, _, _, h = accumulator()
      local f = P:compile { outputs = { h = h }, tier = tier }
      local want = f({ x = rows }, { T = 6 })
      f:start({}, { T = math.huge })
      for k = 0, 5 do
        local done, out = f:step { x = rows[k+1] }
        assert.is_false(done)
        assert.same(want.h[k]:totable(), out.h:totable())
      end
    end)
    each(function(tier)
      local f
      local P = tempo.program()
      local t = P:dim "t"
      local s = P:tensor { domain = { t } }
      local seen
      s[0] = 1
      s[t] = s[t-1] + 1
      P:sink({ s }, function(a, p)
        seen = a[1]:item()
        if p.t == 6 then f:cancel() end
      end)
      f = P:compile { tier = tier }
      assert.is_true(f({}, { T = math.huge }).cancelled)
      assert.equal(7, seen)
    end)
    local P, t, T, x = accumulator()
    local f = P:compile { outputs = { ret = x:sum()[t .. T]:sum(0) }, tick = t }
    fails(function() f:start({}, { T = math.huge }) end, "bound", "math.huge")
  end)

  it("refuse to go through all of an endless dim between two ticks", function()
    local P, t, T, x = accumulator()
    local h = P:tensor { domain = { t } }
    h[0] = 1
    h[t] = (h[t - 1] * 0.5):cos()
    for _, sum in ipairs { h[T - 1], h[0 .. T]:sum(0), t:value():to "f32":sin()[0 .. T]:sum(0) } do
      for _, tier in ipairs { "interpreter", "native" } do
        local f = P:compile { outputs = { y = x * sum }, tick = t, tier = tier }
        fails(function()
          f:start({}, { T = math.huge })
        end, "bound", "goes through all of 't' between two ticks")
      end
    end
  end)

  it("learn without end at some points only", function()
    local P = tempo.program()
    local t = P:dim "t"
    local w = P:param("w", { along = { t }, init = 1 })
    tempo.optim.Adam({ w }, { lr = 0.1 }):step(w * w, { when = t:eq(3) })
    each(function(tier)
      local f = P:compile { outputs = { y = w * 1 }, tick = t, tier = tier }
      f:start({}, { T = math.huge })
      for k = 0, 9 do
        local _, out = f:step()
        same(k > 3 and 0.9 or 1, out.y:item())
      end
    end)
  end)

  it("learn without end: the memory stays", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local w = P:param("w", { along = { t }, init = 1 })
    tempo.optim.SGD({ w }, { lr = 0.1 }):step((w * x - 1) ^ 2)
    each(function(tier)
      local f = P:compile { outputs = { y = w * x }, tick = t, tier = tier }
      f:start({}, { T = math.huge })
      local v = 1
      for _ = 1, 20 do
        local _, out = f:step { x = 1 }
        same(v, out.y:item())
        v = v - 0.2 * (v - 1)
        same(v, f:params().w:item())
      end
    end)
  end)

  it("gives new values of large parameters when they are asked for", function()
    -- a power of two, so that plain arithmetic gives the same bits; the second behind by an
    -- iteration
    local n = 5000
    local P = tempo.program()
    local i = P:dim "i"
    local x = P:input("x", { domain = { i } })
    local w = P:param("w", { along = { i }, shape = { n }, init = 1 })
    local v = P:param("v", { along = { i }, shape = { n }, init = 2 })
    tempo.optim.SGD({ w, v }, { lr = 0.25 }):step(((w - x):square() + (v - x):square()):sum())
    local y = w:slice(0, 0, 1) + v[tempo.max(i - 1, 0)]:slice(0, 0, 1)
    each(function(tier)
      local f = P:compile { outputs = { y = y }, tick = i, tier = tier }
      for _, budget in ipairs { false, 0 } do
        f:start({}, { I = math.huge })
        local want = { w = 1, v = 2 }
        for k = 1, 12 do
          f:step({ x = k }, budget and { budget_ms = budget } or nil)
          for name, a in pairs(want) do want[name] = a - 0.5 * (a - k) end
          if k % 5 == 0 then
            local state = f:state()
            f:step { x = -1 }
            f:load_state(state)
          end
          local seen = k % 3 == 0 and not budget and f:params() or {}
          for name, a in pairs(seen) do
            local all = a:totable()
            assert.same({ want[name], want[name] }, { all[1], all[n] })
          end
        end
        f:step { x = 0 }                          -- no budget: all that waits
        for name, a in pairs(f:params()) do assert.equal(want[name] / 2, a:totable()[n]) end
      end
    end)
  end)

  it("show outputs without elements too", function()
    for _, tier in ipairs { "reference", "interpreter", "native" } do
      local P = tempo.program()
      local b, t = P:dims "b t"
      local x = P:input("x", { domain = { b }, shape = { 2 } })
      local y = P:tensor { domain = { t, b }, shape = { 2 }, first = x, along = t }
      y:otherwise(y[{ t = t - 1 }] * x)
      local f = P:compile { outputs = { y = y, s = y[{ b = 0 .. b:upper() }]:sum(0) }, tick = t,
        tier = tier }
      f:start({ x = tempo.array(0, "f32", { 0, 2 }) }, { B = 0, T = 2 })
      for k = 1, 2 do
        local done, out = f:step {}
        assert.equal(k == 2, done)
        assert.same({ 0, 2 }, out.y:shape(), tier)
        assert.same({ 0, 0 }, out.s:totable())
      end
    end
  end)

  it("of no ticks are one that is done", function()
    each(function(tier)
      local P, t, T, x, h = accumulator()
      local f = P:compile { outputs = { h = h, s = x[0 .. T]:sum(0) }, tick = t, tier = tier }
      f:start({}, { T = 0 })
      local done, out = f:step { x = rows[1] }
      assert.is_true(done)
      assert.same({ 0, 0, 0 }, out.s:totable())
    end)
  end)

  it("stop where a dim ends by data", function()
    each(function(tier)
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t } })
      local s = P:tensor { domain = { t } }
      s[0] = x
      s[t] = s[t-1] + x
      P:stop(t, s:gt(10))
      local seen = 0
      P:sink({ s }, function() seen = seen + 1 end)
      local f = P:compile { outputs = { s = s, total = s[0 .. T]:sum(0), n = T:value() }, tick = t,
        tier = tier }
      local xs = { 1, 2, 3, 5, 7, 9, 11, 13 }
      local want = f({ x = xs }, { T = 8 })
      assert.same({ 1, 3, 6, 11 }, want.s:totable())
      for n = 0, 3 do
        seen = 0
        f:start({}, { T = 8 })
        local all, state = {}, nil
        repeat
          if #all == n then f:load_state(f:state()) end
          if #all == 2 then state = f:state() end
          local done, out = f:step({ x = xs[#all+1] }, { budget_ms = 0 })
          all[#all+1] = out.s:item()
          if done then
            assert.equal(21, out.total:item())
            assert.equal(4, out.n:item())
            assert.equal(4, out.T:item())
          end
        until done
        assert.same({ 1, 3, 6, 11 }, all)
        assert.equal(4, seen)
        assert.same(want.s:totable(), f({ x = xs }, { T = 8 }, { state = state }).s:totable())
      end
    end)
  end)

  it("go through rows that end, inside another dim", function()
    each(function(tier)
      local P = tempo.program()
      local i = P:dim "i"
      local t = P:dim "t"
      local b = P:dim "b"
      local x = P:input("x", { domain = { i, t, b } })
      local s = P:tensor { domain = { i, t, b } }
      s[{ t = 0 }] = x
      s:otherwise(s[t-1] + x)
      P:stop(t, s:ge(3))
      local f = P:compile { outputs = { s = s }, tick = { i, t }, tier = tier }
      local X = {
        { { 1, 2 }, { 1, 2 }, { 1, 2 }, { 1, 1 }, { 1, 1 } },             -- rows of 3 and 2 points
        { { 3, 4 }, { 1, 1 }, { 1, 1 }, { 1, 1 }, { 1, 1 } },             -- 1 and 1
        { { 0, 0 }, { 0, 3 }, { 0, 3 }, { 0, 1 }, { 0, 1 } },             -- 5 and 2
      }
      local want = f({ x = X }, { I = 3, T = 5, B = 2 }).s:totable()
      f:start({}, { I = 3, T = 5, B = 2 })
      local ticks = { { 1, 1 }, { 1, 2 }, { 1, 3 }, { 2, 1 }, { 3, 1 }, { 3, 2 }, { 3, 3 },
        { 3, 4 }, { 3, 5 } }
      for k, at in ipairs(ticks) do
        local done, out = f:step { x = X[at[1]][at[2]] }
        assert.same(want[at[1]][at[2]], out.s:totable())
        assert.equal(k == #ticks, done)
      end
    end)
  end)

  it("go through iterations whose rows end inside, in arrays as long as was reached", function()
    each(function(tier)
      local P = tempo.program()
      local i = P:dim "i"
      local b, B = P:dim "b"
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { i, b, t }, dtype = "f64" })
      local w = P:param("w", { along = { i }, shape = {}, dtype = "f64", init = 0 })
      local s = P:tensor { domain = { i, b, t }, dtype = "f64" }
      s[{ t = 0 }] = x + w
      s:otherwise(s[t-1] + x)
      P:stop(t, s:ge(3))
      local last = s[T-1]
      w:update(w + last[{ b = 0 .. B }]:max(0) / 8)
      local f = P:compile { outputs = { s = s, last = last, w = w }, tick = i, tier = tier }
      local X = {
        -- rows of 3 and 2 points: w is 1/2 after it
        { { 1, 1, 1, 1 }, { 2, 2, 2, 2 } },
        { { 0, 1, 1, 1 }, { 3, 1, 1, 1 } },               -- 4 and 1
        { { 0, 0, 0, 0 }, { 5, 1, 1, 1 } },               -- never and 1
      }
      local bounds = { I = 3, B = 2, T = 4 }
      local want = f({ x = X }, bounds)
      assert.same({ { 3, 2 }, { 4, 1 }, { 4, 1 } }, want.T:totable())
      for pause = 0, 2 do
        f:start({}, bounds)
        for k = 1, 3 do
          if k - 1 == pause then f:load_state(f:state()) end
          local done, out = f:step { x = X[k] }
          assert.equal(k == 3, done)
          for _, name in ipairs { "last", "w", "T" } do
            assert.same(plain(want[name][k - 1]), plain(out[name]), tier .. " " .. name)
          end
          local most = math.max(want.T:get(k - 1, 0), want.T:get(k - 1, 1))
          assert.same({ 2, most }, out.s:shape())
          for row = 0, 1 do
            for q = 0, most - 1 do assert.equal(want.s:get(k - 1, row, q), out.s:get(row, q)) end
          end
        end
      end
    end)
  end)

  it("leave plain calls alone, and start anew", function()
    each(function(tier)
      local P, t, _, _, h = accumulator()
      local f = P:compile { outputs = { h = h }, tick = t, tier = tier }
      local want = f({ x = rows }, { T = 6 })
      f:start({}, { T = 6 })
      f:step { x = rows[1] }
      assert.same(want.h:totable(), f({ x = rows }, { T = 6 }).h:totable())
      local _, out = f:step { x = rows[2] }
      assert.same(want.h[1]:totable(), out.h:totable())
      f:start({}, { T = 6 })
      _, out = f:step { x = rows[1] }
      assert.same(want.h[0]:totable(), out.h:totable())
    end)
  end)

  it("refuse a tick that dependences forbid and say what to add", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { i, t } })
    local w = P:param("w", { along = { i }, init = 0.5 })
    local y = w * x
    tempo.optim.SGD({ w }, { lr = 0.01 }):step((y ^ 2)[{ t = 0 .. T }]:sum(0))
    each(function(tier)
      fails(function()
        P:compile { outputs = { y = y }, tick = t, tier = tier }
      end, "option", "tick = {t}", "'i'", "tick = {i, t}")
    end)
  end)

  it("say what is wrong with them", function()
    each(function(tier)
      local P, t, _, _, h = accumulator()
      local w = P:input("w", { shape = { 3 } })
      local f = P:compile { outputs = { h = h * w }, tick = t, tier = tier }
      fails(function() f:step { x = rows[1] } end, "option", "start")
      fails(function() f:start({}, { T = 2 }) end, "input", "'w'")
      fails(function() f:start({ w = { 1, 1, 1 } }, {}) end, "bound", "'T'")
      f:start({ w = { 1, 1, 1 } }, { T = 2 })
      fails(function() f:step {} end, "input", "'x'")
      fails(function() f:step { x = rows[1], y = 1 } end, "input", "'y'")
      fails(function() f:step { x = rows[1], w = 1 } end, "input", "'w'")
      fails(function() f:step { x = { 1, 2 } } end, "shape")
      fails(function() f:step({ x = rows[1] }, { budget_ms = "x" }) end, "option", "budget_ms")
      fails(function() f:step({ x = rows[1] }, { budget = 1 }) end, "option", "budget_ms")
      assert.is_false((f:step { x = rows[1] }))                   -- none of these cost a tick
      assert.is_true((f:step { x = rows[2] }))
      fails(function() f:step { x = rows[1] } end, "option", "start")
    end)
    local P = tempo.program()
    local i, t = P:dim "i", P:dim "t"
    local x = P:input("x", { domain = { i, t } })
    fails(function()
      P:compile({ outputs = { x = x } }):start({}, { I = 1, T = 1 })
    end, "option", "tick")
    fails(function() P:compile { outputs = { x = x }, tick = {} } end, "option", "tick")
    fails(function() P:compile { outputs = { x = x }, tick = P:dim "k" } end, "option", "'k'")
    fails(function()
      P:compile({ outputs = { x = x }, tick = { i, t } })({ x = { { 1 } } },
        { I = 1, T = math.huge })
    end, "bound", "math.huge")
  end)
end)

-- An actor whose parameters lag by `lag` iterations, and a learner with a recurrence, a loss over
-- time and Adam. log gets what runs. If the loss is an output it goes with the last tick of its
-- iteration, so learning cannot fall behind.
local function agent(lag, log, shows)
  local P = tempo.program { seed = 3 }
  local i = P:dim "i"
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { i, t }, shape = { 4 } })
  local w1 = P:param("w1",
    { along = { i }, init = tempo.normal({ 4, 8 }, { name = "a" }), shape = { 4, 8 } })
  local w2 = P:param("w2",
    { along = { i }, init = tempo.normal({ 8 }, { name = "b" }), shape = { 8 } })
  local function delayed(w, shape)
    local old = P:tensor { domain = { i }, shape = shape }
    for q = 0, lag - 1 do old[q] = w[0] end
    old[i] = w[i-lag]
    return old
  end
  local function net(a, b)
    local h = P:tensor { domain = { i, t }, shape = { 8 } }
    h[{ t = 0 }] = tempo.zeros { 8 }
    h:otherwise((x:matmul(a) + h[t-1] * 0.5):tanh())
    return (h * b):sum()
  end
  local y = net(delayed(w1, { 4, 8 }), delayed(w2, { 8 })) + tempo.normal({},
    { domain = { i, t }, name = "n" })
  local ret = P:tensor { domain = { i, t } }
  ret[{ t = T - 1 }] = y
  ret:otherwise(y + 0.9 * ret[t+1])
  local loss = ((net(w1, w2) - ret:detach()) ^ 2)[{ t = 0 .. T }]:mean(0)
  P:sink({ y }, function(_, p) log[#log+1] = ("act %d %d"):format(p.i, p.t) end)
  P:sink({ loss }, function(a, p) log[#log+1] = ("learn %d %s"):format(p.i, a[1]:item()) end)
  tempo.optim.Adam({ w1, w2 }, { lr = 0.01 }):step(loss)
  return P, { y = y, loss = shows and loss or nil }, { i, t }
end

local function count(log, word)
  local n = 0
  for _, s in ipairs(log) do n = n + (s:find("^" .. word) and 1 or 0) end
  return n
end

describe("budgets", function()
  local I, T = 6, 5
  local X = helper.fill({ I, T, 4 }, function(a, b, c) return math.sin(a * 7 + b * 3 + c) end)

  local function through(f, log, budget)
    local lag = 0
    f:start({}, { I = I, T = T })
    local all = { y = {}, loss = {}, params = {} }
    for a = 1, I do
      for b = 1, T do
        local done, out = f:step({ x = X[a][b] }, budget and { budget_ms = budget(a, b) } or nil)
        all.y[#all.y+1] = out.y:item()
        assert.equal(budget ~= nil and budget(a, b) ~= nil,
          type(out.late_ms) == "number" and out.late_ms >= 0)
        assert.equal(a == I and b == T, done)
        if b == T then all.loss[a] = out.loss and out.loss:item() else assert.is_nil(out.loss) end
        if b == T and not done then lag = math.max(lag, a - count(log, "learn")) end
      end
    end
    for name, w in pairs(f:params()) do all.params[name] = w:totable() end
    return all, lag
  end

  it("never change a number, and let learning fall behind as far as the actor allows", function()
    each(function(tier)
      for lag = 1, 3 do
        local log = {}
        local P, outputs, tick = agent(lag, log, true)
        local showing, shown = P:compile { outputs = outputs, tick = tick, tier = tier }, {}
        local losses = showing({ x = X }, { I = I, T = T }).loss:totable()
        for _, budget in ipairs { false, 0, 1e6 } do
          for k = #log, 1, -1 do log[k] = nil end
          local all, behind = through(showing, log, budget and function() return budget end or nil)
          assert.same(losses, all.loss)
          -- the sink itself may wait, where the loss may not
          assert.is_true(
            behind <= (budget == 0 and (tier == "reference" and I - 1 or lag + 1) or 0))
          assert.same(shown.params or all.params, all.params)
          shown = all
        end
        P, outputs, tick = agent(lag, log)
        local f = P:compile { outputs = outputs, tick = tick, tier = tier }
        local run = f({ x = X }, { I = I, T = T })
        local learned = {}
        for _, s in ipairs(log) do if s:find "^learn" then learned[#learned+1] = s end end
        local function check(budget)
          for k = #log, 1, -1 do log[k] = nil end
          local all, behind = through(f, log, budget)
          for k, y in ipairs(all.y) do
            assert.equal(run.y:get(math.floor((k - 1) / T), (k - 1) % T), y)
          end
          local n = 0
          for _, s in ipairs(log) do
            if s:find "^learn" then
              n = n + 1
              assert.equal(learned[n], s)
            end
          end
          assert.equal(I, n)
          assert.equal(I * T, count(log, "act"))
          return all.params, behind
        end
        local params, behind = check(nil)
        assert.equal(0, behind)
        local again
        again, behind = check(function() return 0 end)
        assert.same(params, again)
        -- so many iterations had acted and not learned; the reference leaves what no output asks
        -- for until the end
        assert.equal(tier == "reference" and I - 1 or lag + 1, behind)
        again, behind = check(function() return 1e6 end)
        assert.same(params, again)
        assert.equal(0, behind)
        for seed = 1, 8 do
          again = check(function(a, b)
            local r = (a * 131 + b * 71 + seed * 37) % 10
            return r > 6 and 0 or r > 1 and r / 100 or nil
          end)
          assert.same(params, again)
        end
      end
    end)
  end)

  -- Iteration i acts with the weight of i - lag until y exceeds the input `most`.
  local function episodes(lag, log, tier)
    local P = tempo.program()
    local most = P:input("most", { dtype = "f64" })
    local i = P:dim "i"
    local t, N = P:dim "t"
    local x = P:input("x", { domain = { i, t }, shape = { 4 }, dtype = "f64" })
    local w = P:param("w",
      { along = { i }, shape = { 4 }, init = tempo.full({ 4 }, 0.1, { dtype = "f64" }),
      dtype = "f64" })
    local y = (w[tempo.max(i - lag, 0)] * x):sum()
    P:stop(t, y:gt(most))
    local loss = ((w * x):sum() - 1):square()[{ t = 0 .. N }]:sum(0)
    P:sink({ loss }, function(_, p) log[#log+1] = "learn " .. p.i end)
    tempo.optim.Adam({ w }, { lr = 0.05 }):step(loss)
    return P:compile { outputs = { y = y }, tick = { i, t }, tier = tier }
  end

  it("let learning fall behind where episodes end by data", function()
    each(function(tier)
      for lag = 1, 3 do
        local log = {}
        local f, g = episodes(lag, log, tier), episodes(lag, log, tier)
        for _, most in ipairs { 99, 0.2, 0.05, -0.1 } do
          for k = #log, 1, -1 do log[k] = nil end
          local want = f({ x = tempo.array(X, "f64"), most = most }, { I = I, T = T })
          local params = f:params().w:totable()
          for _, budget in ipairs { 0, 1e6, 0.01 } do
            for k = #log, 1, -1 do log[k] = nil end
            f:start({ most = most }, { I = I, T = T })
            local behind, done = 0, false
            for a = 1, I do
              for b = 1, want.T:get(a - 1) do
                assert.is_false(done)
                local out
                done, out = f:step({ x = X[a][b] }, { budget_ms = budget })
                assert.equal(want.y:get(a - 1, b - 1), out.y:item())
                if b == 2 and not done then
                  g:load_state(f:state())
                  f, g = g, f
                end
              end
              if not done then behind = math.max(behind, a - #log) end
            end
            assert.is_true(done)
            assert.same(params, f:params().w:totable())
            assert.equal(I, #log)
            if tier == "interpreter" and budget ~= 0.01 then
              assert.equal(budget == 0 and lag or 0, behind)
            end
          end
        end
      end
    end)
  end)

  -- The weight is another at each tick; tick (i, t) acts with that of t - lag, in its own
  -- iteration.
  local function at_each_tick(lag, ends, log, tier)
    local P = tempo.program()
    local i = P:dim "i"
    local t = P:dim "t"
    local x = P:input("x", { domain = { i, t }, shape = { 4 }, dtype = "f64" })
    local w = P:param("w",
      { along = { i, t }, shape = { 4 }, init = tempo.full({ 4 }, 0.1, { dtype = "f64" }),
      dtype = "f64" })
    local y = (w[{ t = tempo.max(t - lag, 0) }] * x):sum()
    if ends then P:stop(t, y:gt(P:input("most", { dtype = "f64" }))) end
    local loss = ((w * x):sum() - 1):square()
    P:sink({ loss }, function(_, p) log[#log+1] = p.i * T + p.t end)
    tempo.optim.Adam({ w }, { lr = 0.05 }):step(loss)
    return P:compile { outputs = { y = y }, tick = { i, t }, tier = tier }
  end

  it("let updates at each tick of two dims fall behind inside an iteration", function()
    each(function(tier)
      for lag = 1, 3 do
        local log = {}
        local f, g = at_each_tick(lag, false, log, tier), at_each_tick(lag, false, log, tier)
        for _, most in ipairs { false, 0.2, 0.05 } do
          if most == 0.2 then
            f, g = at_each_tick(lag, true, log, tier), at_each_tick(lag, true, log, tier)
          end
          for k = #log, 1, -1 do log[k] = nil end
          local want = f({ x = tempo.array(X, "f64"), most = most or nil }, { I = I, T = T })
          local params, order = f:params().w:totable(), { (table.unpack or unpack)(log) }          -- luacheck: globals unpack
          for _, budget in ipairs { 0, 1e6, 0.01 } do
            for k = #log, 1, -1 do log[k] = nil end
            f:start({ most = most or nil }, { I = I, T = T })
            local n = 0
            for a = 1, I do
              for b = 1, most and want.T:get(a - 1) or T do
                local done, out = f:step({ x = X[a][b] }, { budget_ms = budget })
                n = n + 1
                assert.equal(want.y:get(a - 1, b - 1), out.y:item())
                if tier == "interpreter" and budget == 1e6 then assert.equal(n, #log) end
                if tier == "interpreter" and budget == 0 and not most and not done then
                  assert.equal(math.min(b, lag + 1), n - #log)
                end
                if (a + b) % 3 == 0 and not done then
                  g:load_state(f:state())
                  f, g = g, f
                end
              end
            end
            assert.same(order, log)
            assert.same(params, f:params().w:totable())
          end
        end
      end
    end)
  end)

  it("act first, then do what was left, oldest first", function()
    local log = {}
    local P, outputs, tick = agent(1, log)
    local f = P:compile { outputs = outputs, tick = tick }
    f:start({}, { I = I, T = T })
    for b = 1, T do f:step({ x = X[1][b] }, { budget_ms = 0 }) end
    assert.equal(0, count(log, "learn"))
    f:step({ x = X[2][1] }, { budget_ms = 0 })      -- nothing of the first iteration is needed yet
    assert.equal(0, count(log, "learn"))
    f:step({ x = X[2][2] }, { budget_ms = 1e6 })
    assert.equal(1, count(log, "learn"))
    assert.equal("act 1 1", log[#log])              -- after what was older
    for b = 3, T do f:step({ x = X[2][b] }, { budget_ms = 0 }) end
    f:step({ x = X[3][1] }, { budget_ms = 0 })
    assert.equal(1, count(log, "learn"))
    f:step { x = X[3][2] }                          -- no budget: all of it
    assert.equal(2, count(log, "learn"))
  end)

  it("work in a program of one dim, and without end", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 2 } })
    local w = P:param("w", { along = { t }, init = tempo.ones { 2 }, shape = { 2 } })
    local actor = P:param("actor", { along = { t }, init = tempo.ones { 2 }, shape = { 2 } })
    actor:update(w)
    local loss = ((w * x):sum() - 1) ^ 2
    local seen = {}
    P:sink({ loss }, function(_, p) seen[#seen+1] = p.t end)
    tempo.optim.SGD({ w }, { lr = 0.1 }):step(loss)
    local f = P:compile { outputs = { y = (actor * x):sum() }, tick = t }
    local want = {}
    f:start({}, { T = math.huge })
    for k = 1, 12 do
      local _, out = f:step { x = { k / 10, 1 } }
      want[k] = out.y:item()
      assert.equal(k, #seen)
    end
    seen = {}
    f:start({}, { T = math.huge })
    for k = 1, 12 do
      local _, out = f:step({ x = { k / 10, 1 } }, { budget_ms = 0 })
      assert.equal(want[k], out.y:item())
      assert.equal(math.max(0, k - 2), #seen)
    end
  end)
end)

describe("states", function()
  local I, T = 4, 3
  local X = helper.fill({ I, T, 4 }, function(a, b, c) return math.sin(a * 7 + b * 3 + c) end)

  local function compiled(tier, log)
    local P, outputs, tick = agent(1, log or {}, true)
    return P:compile { outputs = outputs, tick = tick, tier = tier }
  end

  -- From step `from` (0-based) on: everything a step gives.
  local function rest(f, from)
    local all = {}
    for n = from, I * T - 1 do
      local done, out = f:step { x = X[math.floor(n / T) + 1][n % T + 1] }
      all[#all+1] = { out.y:item(), done, plain(out.loss) or false }
    end
    for name, w in pairs(f:params()) do all[name] = w:totable() end
    return all
  end

  local function begin(f, n, budget)
    f:start({}, { I = I, T = T })
    for k = 0, n - 1 do
      f:step({ x = X[math.floor(k / T) + 1][k % T + 1] }, budget and { budget_ms = budget } or nil)
    end
  end

  it("go on to the same numbers, in another recording, with work left behind", function()
    each(function(tier)
      local f, g = compiled(tier), compiled(tier)
      for n = 0, I * T - 1 do
        for _, budget in ipairs { false, 0 } do
          begin(f, n, budget)
          local s = f:state()
          assert.truthy(tostring(s):find "^tempo.State<%d+ bytes>$")
          local want = rest(f, n)
          begin(g, 1)
          assert.equal(g, g:load_state(s))
          assert.same(want, rest(g, n))
          assert.equal(g, g:load_state(s))                        -- a state is not used up
          assert.same(want, rest(g, n))
          assert.same(want, rest(f:load_state(s), n))
        end
      end
    end)
  end)

  it("go on in a call, with whole arrays", function()
    each(function(tier)
      local log = {}
      local f = compiled(tier, log, true)
      local want = f({ x = X }, { I = I, T = T })
      local params, all = f:params(), #log
      local g = compiled(tier, nil, true)
      for _, n in ipairs { 0, 2, 3, 7, 11 } do
        begin(f, n, n == 7 and 0 or nil)
        local s, before = f:state(), #log
        local out = f({ x = X }, { I = I, T = T }, { state = s })
        -- what was given out before is in the state
        assert.same(want.y:totable(), out.y:totable())
        assert.same(want.loss:totable(), out.loss:totable())
        if n == 0 then assert.equal(before + all, #log) end
        g({ x = X }, { I = I, T = T }, { state = s })
        for name, w in pairs(params) do assert.same(w:totable(), g:params()[name]:totable()) end
      end
    end)
  end)

  it("of a run that is over hold its results", function()
    each(function(tier)
      local f, g = compiled(tier, nil, true), compiled(tier, nil, true)
      local want = f({ x = X }, { I = I, T = T })
      begin(f, I * T)
      g:load_state(f:state())
      fails(function() g:step { x = X[1][1] } end, "option", "start")
      assert.same(f:params().w1:totable(), g:params().w1:totable())
      assert.same(want.loss:totable(),
        g({ x = X }, { I = I, T = T }, { state = f:state() }).loss:totable())
    end)
  end)

  it("take inputs that do not tick along", function()
    each(function(tier)
      local P, t, _, x, h = accumulator()
      local w = P:input("w", { shape = { 3 } })
      local f = P:compile { outputs = { h = h * w + x }, tick = t, tier = tier }
      local want = f({ x = rows, w = { 1, 2, 3 } }, { T = 6 })
      f:start({ w = tempo.array { 1, 2, 3 } }, { T = 6 })
      f:step { x = rows[1] }
      local s = f:state()
      assert.same(want.h:totable(), f({ x = rows }, { T = 6 }, { state = s }).h:totable())
      f:load_state(s)
      local _, out = f:step { x = rows[2] }
      assert.same(want.h[1]:totable(), out.h:totable())
    end)
  end)

  it("go on for longer where no read mentions the bound", function()
    each(function(tier)
      local function training()
        local P = tempo.program()
        local i = P:dim "i"
        local t, T_ = P:dim "t"
        local x = P:input("x", { domain = { i, t } })
        local w = P:param("w", { along = { i }, init = 0.5 })
        local loss = ((w * x - 1) ^ 2)[{ t = 0 .. T_ }]:sum(0)
        tempo.optim.SGD({ w }, { lr = 0.01, momentum = 0.9 }):step(loss)
        return P:compile { outputs = { y = w * x, loss = loss }, tick = { i, t }, tier = tier }
      end
      local long = { { 1, 2, 3 }, { 4, 5, 6 }, { 1, 1, 1 }, { 2, 0, 2 }, { 3, 3, 1 } }
      local f, g, h = training(), training(), training()
      local want = f({ x = long }, { I = 5, T = 3 })
      local w = f:params().w:item()
      for n = 0, 8 do
        g:start({}, { I = 3, T = 3 })
        for k = 0, n - 1 do g:step { x = long[math.floor(k / 3) + 1][k % 3 + 1] } end
        local s = g:state()
        local out = f({ x = long }, { I = 5, T = 3 }, { state = s })
        assert.same(want.y:totable(), out.y:totable())
        assert.same(want.loss:totable(), out.loss:totable())
        h({ x = long }, { I = 5, T = 3 }, { state = s })
        assert.equal(w, h:params().w:item())
        fails(function()
          h({ x = { { 1, 2, 3 } } }, { I = 1, T = 3 }, { state = s })
        end, "bound", "'I'")
        fails(function()
          h({ x = helper.fill({ 3, 4 }, function() return 1 end) }, { I = 3, T = 4 }, { state = s })
        end, "bound", "'T'")
      end
    end)
  end)

  it("leave last values to the larger bound, which they may mention", function()
    each(function(tier)
      local function compile()
        local P = tempo.program()
        local i = P:dim "i"
        local w = P:param("w", { along = { i }, init = 1, dtype = "f64" })
        local v = P:param("v", { along = { i }, init = 1, dtype = "f64" })
        w:update(w * 2)
        v:update(v + i)
        return P:compile { outputs = { y = P:input("x", { domain = { i }, dtype = "f64" }) + 1 },
          tick = i, tier = tier }
      end
      local f, g = compile(), compile()
      for n = 0, 2 do
        g:start({}, { I = 3 })
        for k = 1, n do g:step { x = k } end
        f({ x = { 1, 2, 3, 4, 5 } }, { I = 5 }, { state = g:state() })
        assert.same({ 32, 11 }, { f:params().w:item(), f:params().v:item() })
      end
    end)
  end)

  it("belong to one program", function()
    each(function(tier)
      local f = compiled(tier)
      begin(f, 2)
      local s = f:state()
      local log = {}
      local P, outputs, tick = agent(2, log, true)
      local g = P:compile { outputs = outputs, tick = tick, tier = tier }
      fails(function() g:load_state(s) end, "option", "another program")
      fails(function()
        g({ x = X }, { I = I, T = T }, { state = s })
      end, "option", "another program")
      fails(function()
        compiled(tier == "reference" and "interpreter" or "reference"):load_state(s)
      end, "option", "another program")
      fails(function() f:load_state(3) end, "option", "tempo.State")
      fails(function() compiled(tier):state() end, "option", "start")
    end)
  end)

  it("are taken between ticks", function()
    each(function(tier)
      local f, how
      local P = tempo.program()
      local t = P:dim "t"
      local u = P:source(function() how() return 1 end, { domain = { t } })
      f = P:compile { outputs = { u = u }, tick = t, tier = tier }
      how = function() f:state() end
      f:start({}, { T = 2 })
      fails(function() f:step() end, "option", "between ticks")
      how = function() f:save("/dev/null") end
      f:start({}, { T = 2 })
      fails(function() f:step() end, "option", "between ticks")
    end)
  end)
end)

describe("checkpoints", function()
  local path = os.tmpname()
  local lua = rawget(_G, "jit") and "luajit" or "lua5.4"
  after_each(function() os.remove(path) end)

  local function bytes()
    local f = assert(io.open(path, "rb"))
    local s = f:read "*a"
    f:close()
    return s
  end

  local function write(s)
    local f = assert(io.open(path, "wb"))
    f:write(s)
    f:close()
  end

  it("keep a state in a file; a broken one is an error and nothing is lost", function()
    each(function(tier)
      local P, t, _, _, h = accumulator()
      local f = P:compile { outputs = { h = h }, tick = t, tier = tier }
      local want = f({ x = rows }, { T = 6 })
      f:start({}, { T = 6 })
      f:step { x = rows[1] }
      assert.is_true(f:save(path))
      local whole = bytes()
      f:step { x = rows[2] }
      local function refused(s)
        write(s)
        fails(function() f:load(path) end, "file")
      end
      for n = 0, #whole - 1 do refused(whole:sub(1, n)) end
      for n = 1, #whole do
        local flipped = whole:sub(1, n - 1) .. string.char((whole:byte(n) + 1) % 256)
          .. whole:sub(n + 1)
        if n > 16 and n <= 24 then                                 -- the program's hash
          write(flipped)
          fails(function() f:load(path) end, "option", "another program")
        else
          refused(flipped)
        end
      end
      refused(whole .. "x")
      os.remove(path)
      fails(function() f:load(path) end, "file", path)
      local _, out = f:step { x = rows[3] }
      assert.same(want.h[2]:totable(), out.h:totable())
      write(whole)
      assert.equal(f, f:load(path))
      _, out = f:step { x = rows[2] }
      assert.same(want.h[1]:totable(), out.h:totable())
    end)
  end)

  local child = [[
    local tempo = require "tempo"
    local path, mode = ...
    local P = tempo.program { seed = 7 }
    local i = P:dim "i"
    local t, T = P:dim "t"
    local w = P:param("w", { along = { i }, init = tempo.normal({ 16, 16 }, { name = "w" }), shape = { 16, 16 } })
    local x = tempo.normal({ 16 }, { domain = { i, t }, name = "x" })
    local h = P:tensor { domain = { i, t }, shape = { 16 } }
    h[{ t = 0 }] = x
    h:otherwise((h[t-1]:matmul(w) + x):tanh())
    local loss = (h:sum() ^ 2)[{ t = 0 .. T }]:mean(0)
    tempo.optim.Adam({ w }, { lr = 0.01 }):step(loss)
    local f = P:compile { outputs = { y = h:sum(), loss = loss }, tick = { i, t } }
    local bounds = { I = 300, T = 8 }
    if mode == "whole" then
      local out = f({}, bounds)
      io.write(tostring(out.loss[bounds.I - 1]), tostring(f:params().w), "\n")
      return
    end
    if mode == "from" then f:load(path) elseif not (mode == "again" and pcall(f.load, f, path)) then f:start({}, bounds) end
    local n, done, out = 0
    repeat
      done, out = f:step(nil, n % 3 == 0 and { budget_ms = 0 } or nil)
      n = n + 1
      if not done and n % 5 == 0 then assert(f:save(path)) end
    until done or mode == "begin" and n == 10
    if done then io.write(out.loss:item(), tostring(f:params().w), "\n") end
  ]]

  local paths = ("LUA_PATH='%s' LUA_PATH_5_4='%s' LUA_CPATH='%s' LUA_CPATH_5_4='%s'"):format(
    package.path, package.path, package.cpath, package.cpath)

  -- The child in a process of its own: what it printed. before: shell commands; how: what runs it;
  -- from: its checkpoint, else path.
  local function run(mode, how, before, from)
    local name = os.tmpname()
    local f = assert(io.open(name, "w"))
    f:write(child)
    f:close()
    local p = assert(
      io.popen(("%s export %s; %s %s %s %s %s 2>/dev/null"):format(before or "", paths, how or "",
      lua, name, from or path, mode)))
    local s = p:read "*a"
    p:close()
    os.remove(name)
    return s
  end

  it("survive kill -9 at any moment", function()
    local want = run "whole"
    assert.is_true(#want > 100)
    for k = 1, 2 do
      os.remove(path)
      -- killed again and again, at another moment each time
      for round = 1, 3 do
        run(round == 1 and "new" or "again",
          ("timeout -s KILL 0.%d"):format(35 + (k * 37 + round * 23) % 60))
      end
      assert.equal(want, run "again")
    end
    -- what has a name is whole, and one may die before it gets its last
    local left = io.popen("ls " .. path .. ".*.tmp 2>/dev/null")
    for name in left:lines() do
      assert.equal(want, run("from", nil, nil, name))
      os.remove(name)
    end
    left:close()
  end)

  it("go on in a script of another name", function()
    os.remove(path)
    assert.equal("", run "begin")
    assert.equal(run "whole", run "from")
  end)

  it("leave the old file where the new one does not fit", function()
    local P, t, _, _, h = accumulator()
    local big = tempo.ones { 4096 }
    local f = P:compile { outputs = { h = h, big = (big * h:sum()) }, tick = t }
    f:start({}, { T = 6 })
    f:step { x = rows[1] }
    fails(function() f:save "/dev/full" end, "file: /dev/full: ")
    write "old"
    run("new", nil, "trap '' XFSZ; ulimit -f 1;")
    assert.equal("old", bytes())
    local p = io.popen("ls " .. path .. ".*.tmp 2>/dev/null")
    assert.equal("", p:read "*a")
    p:close()
  end)
end)

describe("callbacks", function()
  local function program(fn)
    local P = tempo.program()
    local t, T = P:dim "t"
    local u = P:source(fn, { domain = { t } })
    local s = P:tensor { domain = { t } }
    s[0] = u
    s[t] = s[t-1] + u
    return P, t, T, s, u
  end

  it("that raise end the run and leave f usable", function()
    each(function(tier)
      local bad = { code = 7 }
      local limit = 2
      local P, t, _, s = program(function(p) if p.t == limit then error(bad) end; return p.t end)
      local f = P:compile { outputs = { s = s }, tick = t, tier = tier }
      local ok, e = pcall(f, {}, { T = 5 })
      assert.is_false(ok)
      assert.equal(bad, e)
      f:start({}, { T = 5 })
      f:step()
      f:step()
      ok, e = pcall(f.step, f)
      assert.is_false(ok)
      assert.equal(bad, e)
      fails(function() f:step() end, "option", "start")
      limit = 100
      assert.same({ 0, 1, 3, 6, 10 }, f({}, { T = 5 }).s:totable())
      f:start({}, { T = 5 })
      assert.equal(10, steps(f)[5].s)
    end)
  end)

  it("that call f again are told so", function()
    each(function(tier)
      local f, how
      local P, t, _, s = program(function() how() return 1 end)
      f = P:compile { outputs = { s = s }, tick = t, tier = tier }
      for _, fn in ipairs {
        function() f({}, { T = 1 }) end, function() f:start({}, { T = 1 }) end,
          function() f:step() end,
      } do
        how = fn
        fails(function() f({}, { T = 2 }) end, "already running")
        f:start({}, { T = 2 })
        fails(function() f:step() end, "already running")
      end
      how = function() end
      assert.same({ 1, 2 }, f({}, { T = 2 }).s:totable())
    end)
  end)

  it("may cancel: complete outputs and a mark", function()
    each(function(tier)
      local f
      local stop = 3
      local P, t, T, s, u = program(function(p) if p.t == stop then f:cancel() end return p.t end)
      local before = P:input("a", { shape = { 2 } }) * 2
      f = P:compile { outputs = { s = s, total = u[0 .. T]:sum(0), before = before }, tick = t,
        tier = tier }
      local out = f({ a = { 1, 2 } }, { T = 6 })
      assert.is_true(out.cancelled)
      assert.is_nil(out.s)
      assert.is_nil(out.total)
      f:start({ a = { 1, 2 } }, { T = 6 })
      local got = steps(f)
      assert.equal(4, #got)
      assert.equal(3, got[3].s)
      assert.is_nil(got[3].cancelled)
      assert.is_true(got[4].cancelled)
      assert.is_nil(got[4].total)
      fails(function() f:step() end, "option", "start")
      stop = 100
      out = f({ a = { 1, 2 } }, { T = 6 })
      assert.is_nil(out.cancelled)
      assert.equal(15, out.total:item())
    end)
    local P, t, _, s = program(function() return 1 end)
    fails(function() P:compile({ outputs = { s = s }, tick = t }):cancel() end, "option", "cancel")
  end)
end)

-- One iteration of learning is one tick; its K updates are regions in a loop.
local function learner()
  local P = tempo.program { seed = 2 }
  local i, k, t = P:dims "i k t"
  local w = P:param("w", { along = { i, k }, shape = { 4, 4 }, init = 0.1 })
  local x = tempo.normal({ 3, 4 }, { domain = { i, t }, name = "x" })
  local loss = ((x:matmul(w) - x):square()):mean()
  local seen = {}
  P:sink({ loss[{ t = 0 .. t:upper() }]:mean() }, function(a, p)
    seen[#seen + 1] = { p.i, p.k, a[1]:item() }
  end)
  tempo.optim.SGD({ w }, { lr = 0.05 }):step(loss)
  return P, i, w, seen
end

describe("f:work", function()
  it("goes on inside a tick, region by region, with a run's numbers", function()
    for _, tier in ipairs { "interpreter", "auto" } do
      local P, i, w, seen = learner()
      local f = P:compile { outputs = { w = w[{ k = 0 }] }, tick = i, tier = tier }
      local bounds = { I = 4, K = 6, T = 3 }
      f({}, bounds)
      local want, whole = f:params().w:totable(), {}
      for k = #seen, 1, -1 do whole[k], seen[k] = seen[k], nil end

      assert.is_true(f:work())                              -- no run goes on
      f:start({}, bounds)
      local calls, inside = 0, 0
      while not f:work { budget_ms = 0 } do calls = calls + 1 end
      for tick = 1, 3 do
        f:step({}, { budget_ms = 0 })
        while not f:work { budget_ms = 0 } do
          calls = calls + 1
          if #seen > 6 * (tick - 1) and #seen < 6 * tick then inside = inside + 1 end
        end
        assert.is_true(f:work { budget_ms = 0 } and f:work())
        assert.is_true(#seen >= 6 * tick)
      end
      f:step()
      assert.same(whole, seen)
      assert.same(want, f:params().w:totable())
      assert.is_true(calls >= 3 * 6 * 2, tostring(calls))   -- an update is several regions
      assert.is_true(inside >= 3 * 5, tostring(inside))     -- it stopped between updates
    end
  end)

  it("leaves a state that goes on alike, wherever it stopped", function()
    local P, i, w, seen = learner()
    local f = P:compile { outputs = { w = w[{ k = 0 }] }, tick = i, tier = "interpreter" }
    f({}, { I = 3, K = 5, T = 2 })
    local want, whole = f:params().w:totable(), #seen
    for stop = 0, 40, 4 do
      for k = #seen, 1, -1 do seen[k] = nil end
      f:start({}, { I = 3, K = 5, T = 2 })
      f:step({}, { budget_ms = 0 })
      for _ = 1, stop do f:work { budget_ms = 0 } end
      f:load_state(f:state())
      repeat until f:step()
      assert.same(want, f:params().w:totable())
      assert.equal(whole, #seen)
    end
  end)

  it("leaves native code between iterations, with a run's numbers and a state that goes on", function()
    -- ahead: what a tick shows needs its updates, or does not, so that they are left for later
    for _, ahead in ipairs { false, true } do
      local P = tempo.program { seed = 2 }
      local i, k, n = P:dims "i k n"
      local w = P:param("w", { along = { i, k }, shape = { 8, 8 }, init = 0.1 })
      local x = tempo.normal({ 8 }, { domain = { i, k, n }, name = "x" })
      local y = x:matmul(w):tanh()
      tempo.optim.Adam({ w }, { lr = 0.05 }):step((y - x):square()[{ n = 0 .. n:upper() }]:mean())
      local shown = P:input("v", { domain = { i } }) * 2
      if not ahead then shown = shown + w:at { k = k:upper() - 1 }:select(0, 0):sum() end
      local f = P:compile { outputs = { shown = shown }, tick = i, tier = "native" }
      local bounds, v = { I = 6, K = 60, N = 32 }, { 1, 2, 3, 4, 5, 6 }
      local shown_want = f({ v = v }, bounds).shown:totable()
      local want = f:params().w:totable()
      for _, budget in ipairs { 0.05, 0.3 } do
        for _, saves in ipairs { false, true } do
          f:start({}, bounds)
          local calls, tick, done, out = 0, 0, false
          repeat
            if f:work { budget_ms = budget } or ahead and calls % 7 == 0 then
              tick = tick + 1
              done, out = f:step({ v = v[tick] }, { budget_ms = budget })
              helper.same(shown_want[tick], out.shown:totable(), 0)
            end
            calls = calls + 1
            if saves and calls % 5 == 0 and not done then f:load_state(f:state()) end
          until done
          assert.equal(6, tick)
          assert.same(want, f:params().w:totable())
        end
      end
    end
  end)

  it("ends the run where a callback fails, and makes no garbage", function()
    local P = tempo.program()
    local i, k = P:dims "i k"
    local y = P:tensor { domain = { i, k }, first = tempo.zeros {}, along = k }
    y:otherwise(y[{ k = k - 1 }] * 0.5 + 1)
    local broken = false
    P:sink({ y }, function(_, p) if broken and p.k == 3 then error("no such tree", 0) end end)
    local f = P:compile { tick = i, tier = "interpreter" }
    f:start({}, { I = math.huge, K = 5 })
    local options = { budget_ms = 0 }
    f:step({}, options)
    repeat until f:work(options)
    collectgarbage()
    collectgarbage("stop")
    local before = collectgarbage "count"
    for _ = 1, 200 do f:work(options) end
    local grown = collectgarbage "count" - before
    collectgarbage("restart")
    assert.is_true(grown < 1, tostring(grown))
    f:step({}, options)
    broken = true
    local ok, e
    repeat ok, e = pcall(f.work, f, options) until not ok or e
    assert.equal("no such tree", e)
    assert.is_true(f:work())
    helper.fails(function() f:work { budget = 1 } end, "option", "did you mean 'budget_ms'")
  end)
end)

-- Outputs that leave a run in steps with the last tick inside their point: they have only the outer
-- of several tick dims. Against plain loops, in both tiers.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails = helper.fails

local function X(i, t) return 10 * i + t + 1 end           -- what is fed at a tick
local function sum(i, T)
  local s = 0
  for t = 0, T - 1 do s = s + X(i, t) end
  return s
end

-- Everything that the steps give, by output: { point = value }, and what came with done. Two of
-- three steps write into the table of the one before.
local function through(f, at, feed)
  local seen, done, n, out = {}, false, 0, nil
  while not done do
    local now = at()
    n = n + 1
    done, out = f:step(feed and { x = feed(now) } or nil, n % 3 ~= 1 and { into = out } or nil)
    for name, v in pairs(out) do
      seen[name] = seen[name] or {}
      table.insert(seen[name], { at = now, value = helper.plain(v) })
    end
  end
  return seen
end

-- Points of the tick dims in order, from number `n` on.
local function counter(bounds, n)
  n = (n or 0) - 1
  return function()
    n = n + 1
    local at, left = {}, n
    for k = #bounds, 1, -1 do
      at[k] = left % bounds[k]
      left = math.floor(left / bounds[k])
    end
    return at
  end
end

describe("an output with the outer tick dims", function()
  local P, i, I, b, t, T, x
  local function each(f)                                   -- a program of its own for each tier
    helper.each(function(tier)
      P = tempo.program()
      i, I = P:dim "i"
      b = P:dim "b"
      t, T = P:dim "t"
      x = P:input("x", { domain = { i, t } })
      f(tier)
    end)
  end

  it("is shown at its point with the last tick inside it, as a run gives it", function()
    each(function(tier)
      local h = P:tensor { domain = { i, t } }
      h[{ t = 0 }] = x
      h:otherwise(h[t - 1] + x)
      local w = P:param("w", { along = { i }, init = 1 })
      w:update(w + h[{ t = T - 1 }])
      local outputs = { h = h, sum = x[{ t = 0 .. T }]:sum(0), w = w,
        rows = (x * (b:value() + 1))[{ t = T - 1 }],
        whole = x[{ i = 0 .. I, t = 0 .. T }]:sum(), over = x[{ i = I - 1 }],
          late = h[{ i = tempo.min(i + 1, I - 1), t = T - 1 }] }
      local f = P:compile { outputs = outputs, tick = { i, t }, tier = tier }
      assert.truthy(
        f:explain():find(
        "steps go through i, t; at each tick: h; with the last tick of each i: rows, sum, w", 1,
        true) or tier == "reference")
      local bounds = { I = 3, B = 2, T = 4 }
      local run = f({ x = helper.fill({ 3, 4 }, X) }, bounds)
      f:start({}, bounds)
      local seen = through(f, counter { 3, 4 }, function(at) return X(at[1], at[2]) end)
      local total = 1
      for k = 0, 2 do
        local at = { k, 3 }
        assert.same({ at = at, value = sum(k, 4) }, seen.sum[k + 1])
        assert.same({ at = at, value = total }, seen.w[k + 1])
        assert.same({ at = at, value = { X(k, 3), 2 * X(k, 3) } }, seen.rows[k + 1])
        total = total + sum(k, 4)
      end
      assert.equal(12, #seen.h)
      for _, name in ipairs { "sum", "w", "rows" } do
        assert.equal(3, #seen[name])
        for k = 0, 2 do assert.same(helper.plain(run[name])[k + 1], seen[name][k + 1].value) end
      end
      -- the others come once, whole: of no point, of inner dims only, and what waits for later
      -- ticks
      for _, name in ipairs { "whole", "over", "late" } do
        assert.same({ { at = { 2, 3 }, value = helper.plain(run[name]) } }, seen[name])
      end
      assert.same({ sum(1, 4), sum(2, 4), sum(2, 4) }, run.late:totable())
    end)
  end)

  it("of three tick dims goes with the last tick of one, or of two", function()
    each(function(tier)
      local k = P:dim "k"                                  -- i, b, t, k: all but b tick
      local y = x + 100 * k:value()
      local inner = y[{ k = 0 .. k:upper() }]:sum(0)
      local f = P:compile { outputs = { inner = inner,
        outer = inner[{ t = 0 .. T }]:sum(0) * (b:value() + 1), y = y }, tick = { i, t, k },
        tier = tier }
      -- x comes at (i, t), so it is an input of the whole run: it lacks a tick dim
      f:start({ x = helper.fill({ 2, 3 }, X) }, { I = 2, B = 2, T = 3, K = 2 })
      local seen = through(f, counter { 2, 3, 2 })
      assert.equal(12, #seen.y)
      for a = 0, 1 do
        local all = 0
        for c = 0, 2 do
          local want = 2 * X(a, c) + 100
          assert.same({ at = { a, c, 1 }, value = want }, seen.inner[a * 3 + c + 1])
          all = all + want
        end
        assert.same({ at = { a, 2, 1 }, value = { all, 2 * all } }, seen.outer[a + 1])
      end
      assert.equal(6, #seen.inner)
      assert.equal(2, #seen.outer)
    end)
  end)

  it("goes on from a state at any tick, and in a call from there", function()
    each(function(tier)
      local s = P:tensor { domain = { i } }                -- carries over i
      s[0] = x[{ t = 0 .. T }]:sum(0)
      s:otherwise(s[i - 1] + x[{ t = 0 .. T }]:sum(0))
      local f = P:compile { outputs = { s = s }, tick = { i, t }, tier = tier }
      local bounds, all = { I = 3, T = 2 }, helper.fill({ 3, 2 }, X)
      local run = f({ x = all }, bounds).s:totable()
      assert.same({ sum(0, 2), sum(0, 2) + sum(1, 2), sum(0, 2) + sum(1, 2) + sum(2, 2) }, run)
      for n = 0, 5 do
        for _, budget in ipairs { false, 0 } do
          f:start({}, bounds)
          local at = counter { 3, 2 }
          for _ = 1, n do
            local now = at()
            f:step({ x = X(now[1], now[2]) }, budget and { budget_ms = budget } or nil)
          end
          local state = f:state()
          for _, v in ipairs(through(f, counter({ 3, 2 }, n),
            function(now) return X(now[1], now[2]) end).s) do
            assert.same({ v.at[1], 1 }, v.at)
            assert.equal(run[v.at[1] + 1], v.value)
          end
          assert.same(run, f({ x = all }, bounds, { state = state }).s:totable())
        end
      end
    end)
  end)

  it("needs no end of the first tick dim", function()
    each(function(tier)
      local f = P:compile { outputs = { sum = x[{ t = 0 .. T }]:sum(0) }, tick = { i, t },
        tier = tier }
      f:start({}, { I = math.huge, T = 2 })
      for a = 0, 4 do
        assert.is_nil(select(2, f:step { x = X(a, 0) }).sum)
        assert.equal(sum(a, 2), select(2, f:step { x = X(a, 1) }).sum:item())
      end
      local whole = P:compile { outputs = { t = (x[{ i = 0 }] * 1) }, tick = { i, t }, tier = tier }
      -- it lacks i, so nothing of it is kept over i
      whole:start({}, { I = math.huge, T = 2 })
    end)
  end)

  it("comes whole with done where there is no tick", function()
    each(function(tier)
      local f = P:compile { outputs = { sum = x[{ t = 0 .. T }]:sum(0),
        w = i:value() + 0 * T:value() }, tick = { i, t }, tier = tier }
      f:start({}, { I = 3, T = 0 })
      local done, out = f:step()
      assert.is_true(done)
      assert.same({ 0, 0, 0 }, out.sum:totable())
      assert.same({ 0, 1, 2 }, out.w:totable())
      f:start({}, { I = 0, T = 2 })
      done, out = f:step()
      assert.is_true(done)
      assert.same({ 0 }, out.sum:shape())
    end)
  end)

  it("is dropped by a cancel, like all that goes point by point", function()
    each(function(tier)
      local f
      P:sink({ x }, function(_, p) if p.i == 1 and p.t == 1 then f:cancel() end end)
      f = P:compile { outputs = { sum = x[{ t = 0 .. T }]:sum(0) }, tick = { i, t }, tier = tier }
      local out = f({ x = helper.fill({ 3, 2 }, X) }, { I = 3, T = 2 })
      assert.is_true(out.cancelled)
      assert.is_nil(out.sum)
      f:start({}, { I = 3, T = 2 })
      f:step { x = 1 }
      assert.equal(3, select(2, f:step { x = 2 }).sum:item())
      f:step { x = 3 }
      local done, last = f:step { x = 4 }
      assert.is_true(done and last.cancelled)
    end)
  end)

  it("goes with the last tick of a dim that ends by data: the greatest end of the rows", function()
    each(function(tier)
      local Q = tempo.program()
      local j = Q:dim "j"
      local c, C = Q:dim "c"
      local u, U = Q:dim "u"
      local len = Q:input("len", { domain = { j, c } })
      Q:stop(u, u:value():to "f32":ge(len - 1))
      local y = Q:input("y", { domain = { j, c } }) + u:value()
      local s = y[{ u = 0 .. U }]:sum(0)                   -- over (j, c)
      local f = Q:compile { outputs = { y = y, s = s, all = s[{ c = 0 .. C }]:sum(0),
        n = U:value() }, tick = { j, u }, tier = tier }
      local lens, base = { { 2, 3 }, { 1, 1 }, { 4, 2 } }, { { 1, 2 }, { 3, 4 }, { 5, 6 } }
      local given = { len = lens, y = base }
      local run = f(given, { J = 3, C = 2, U = 5 })
      f:start(given, { J = 3, C = 2, U = 5 })
      for a = 1, 3 do
        local longest, want, all = math.max(lens[a][1], lens[a][2]), {}, 0
        for r = 1, 2 do
          want[r] = 0
          for q = 0, lens[a][r] - 1 do want[r] = want[r] + base[a][r] + q end
          all = all + want[r]
        end
        for q = 0, longest - 1 do
          local done, out = f:step()
          assert.equal(a == 3 and q == longest - 1, done)
          assert.same({ q < lens[a][1] and base[a][1] + q or 0,
            q < lens[a][2] and base[a][2] + q or 0 }, out.y:totable())
          if q == longest - 1 then
            assert.same(want, out.s:totable())
            assert.equal(all, out.all:item())
            assert.same(lens[a], out.n:totable())
          else
            assert.is_nil(out.s)
            assert.is_nil(out.all)
          end
        end
        assert.same(want, run.s[a - 1]:totable())
      end
    end)
  end)

  it("of rows that leave the outer dim is zero for them", function()
    each(function(tier)
      local Q = tempo.program()
      local c = Q:dim "c"
      local j = Q:dim "j"
      local u, U = Q:dim "u"
      local len = Q:input("len", { domain = { c } })
      Q:stop(j, j:value():to "f32":ge(len - 1))
      local y = Q:input("y", { domain = { c, j, u } })
      local f = Q:compile { outputs = { s = y[{ u = 0 .. U }]:sum(0) }, tick = { j, u },
        tier = tier }
      f:start({ len = { 1, 3 } }, { C = 2, J = 4, U = 2 })
      for a = 0, 2 do
        local done, out = f:step { y = { 1, 2 } }
        assert.is_false(done)
        assert.is_nil(out.s)
        done, out = f:step { y = { 3, 4 } }
        assert.equal(a == 2, done)
        assert.same({ a == 0 and 4 or 0, 6 }, out.s:totable())
      end
    end)
  end)

  it("is no reason to refuse a tick: an inner dim alone is whole at the end", function()
    each(function(tier)
      local f = P:compile { outputs = { over = x[{ i = 0 .. I }]:sum(0) }, tick = { i, t },
        tier = tier }
      f:start({}, { I = 2, T = 2 })
      for n = 0, 2 do assert.is_nil(select(2, f:step { x = n }).over) end
      local done, out = f:step { x = 3 }
      assert.is_true(done)
      assert.same({ 2, 4 }, out.over:totable())
      fails(function() f:step { x = 4 } end, "option", "no run is going on")
    end)
  end)
end)

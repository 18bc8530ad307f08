-- A recurrence whose distance is a bound closes a cycle for some bounds only: compiling is legal,
-- and a call with these bounds is refused.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, each_tier = helper.fails, helper.each

describe("a cycle for some bounds only", function()
  local P, t, T, p, h
  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
    p = P:bound "p"
    h = P:tensor { domain = { t }, name = "h" }
  end)

  it("is refused by the call that gives them", function()
    each_tier(function(tier)
      P = tempo.program()
      t, T = P:dim "t"
      p = P:bound "p"
      h = P:tensor { domain = { t }, name = "h" }
      local x = P:input("x", { domain = { t } })
      h:when(t:lt(p), x)
      local line = debug.getinfo(1, "l").currentline + 1
      h[t] = h[t - p] + x
      local f = P:compile { outputs = { h = h }, tier = tier }
      local function run(n, by)
        return f({ x = { 1, 2, 3, 4, 5, n > 5 and 6 or nil } }, { T = n, p = by }).h:totable()
      end
      assert.same({ 1, 3, 6, 10, 15 }, run(5, 1))
      assert.same({ 1, 2, 4, 6, 9, 12 }, run(6, 2))
      assert.same({ 1, 2, 3, 4, 5 }, run(5, 9))
      local message = fails(function() run(5, 0) end, "cycle", "'h'", "p >= 1")
      assert.equal(line, helper.line(message))
      assert.same({ 1, 3, 6, 10, 15 }, run(5, 1))
      assert.same({}, f({ x = {} }, { T = 0, p = 0 }).h:totable())
    end)
  end)

  it("is refused in steps too, and by a call of what runs in steps", function()
    each_tier(function(tier)
      P = tempo.program()
      t, T = P:dim "t"
      p = P:bound "p"
      h = P:tensor { domain = { t }, name = "h" }
      local x = P:input("x", { domain = { t } })
      h:when(t:lt(p), x)
      h[t] = h[t - p] + x
      for _, tick in ipairs { true, false } do
        local f = P:compile { outputs = { h = h }, tier = tier, tick = tick and t or nil }
        fails(function() f({ x = { 1, 2 } }, { T = 2, p = 0 }) end, "cycle", "'h'", "p >= 1")
        fails(function() f:start({}, { T = 2, p = 0 }) end, "cycle", "'h'", "p >= 1")
        f:start({}, { T = 3, p = 2 })
        local seen = {}
        for k = 1, 3 do
          local _, out = f:step { x = k }
          seen[k] = out.h:item()
        end
        assert.same({ 1, 2, 4 }, seen)
      end
    end)
  end)

  -- At I = w + 1 only the last tick needs later ones; else the tick before does, so that nothing is
  -- whole at its tick.
  it("is none of the program's where only the ticks would close it", function()
    each_tier(function(tier)
      P = tempo.program()
      local i, I = P:dim "i"
      local w = P:bound "w"
      local a, z = P:input("a", { domain = { i } }), P:tensor { domain = { i } }
      z:when(i:lt(w), a)
      z[I - 2] = a[0 .. I]:sum(0)
      z:otherwise(a * 10)
      local f = P:compile { outputs = { z = z }, tier = tier, tick = i }
      for _, bound in ipairs { 0, 1, 4 } do
        f:start({}, { I = 4, w = bound })
        local done, out
        for k = 1, 4 do done, out = f:step { a = k } end
        assert.is_true(done)
        local want = { 10, 20, 10, 40 }
        for k = 1, bound do want[k] = k end
        assert.same(want, out.z:totable())
        assert.same(want, f({ a = { 1, 2, 3, 4 } }, { I = 4, w = bound }).z:totable())
      end
    end)
  end)

  it("may be one where a bound has one value, beside recurrences that are none", function()
    local i, I = P:dim "i"
    local a, b = P:tensor { domain = { t }, name = "a" }, P:tensor { domain = { t, i }, name = "b" }
    a[T - 1] = 1
    a:otherwise(b[{ i = I - 1, t = t + 1 }] + a[t + 1])
    b[{ i = 0 }] = a[0 .. t + 1]:sum(0)
    b:otherwise(a[T - 1] * i:value())
    each_tier(function(tier)
      local f = P:compile { outputs = { a = a, b = b }, tier = tier }
      local out = f({}, { T = 4, I = 3 })
      assert.same({ 7, 5, 3, 1 }, out.a:totable())
      assert.same({ { 7, 1, 2 }, { 12, 1, 2 }, { 15, 1, 2 }, { 16, 1, 2 } }, out.b:totable())
      assert.same({ { 1 } }, f({}, { T = 1, I = 1 }).b:totable())
      fails(function() f({}, { T = 2, I = 1 }) end, "cycle", "I")
    end)
  end)

  it("may be told by a window's end", function()
    h[0] = 1
    h[t] = h[tempo.max(0, t - 3) .. t - p + 1]:sum(0) + 1
    local f = P:compile { outputs = { h = h } }
    assert.same({ 1, 2, 4, 8, 15 }, f({}, { T = 5, p = 1 }).h:totable())
    assert.same({ 1, 1, 2, 3, 4 }, f({}, { T = 5, p = 2 }).h:totable())
    fails(function() f({}, { T = 5, p = 0 }) end, "cycle", "'h'")
  end)

  it("is no cycle on either side of it", function()
    local q = P:bound "q"
    h:when((t - p + q):lt(0), 1)
    h:when((t - p + q):ge(T), 2)
    h[t] = h[t - p + q] + 1
    each_tier(function(tier)
      local f = P:compile { outputs = { h = h }, tier = tier }
      assert.same({ 1, 1, 2, 2, 3 }, f({}, { T = 5, p = 2, q = 0 }).h:totable())
      assert.same({ 6, 5, 4, 3, 2 }, f({}, { T = 5, p = 1, q = 2 }).h:totable())
      fails(function() f({}, { T = 5, p = 1, q = 1 }) end, "cycle", "'h'")
    end)
  end)

  it("is an error when compiling where only bounds of 0 and 1 are left", function()
    h[t] = h[t] * 2
    fails(function() P:compile { outputs = { h = h } } end, "cycle: 'h' at t = 0 needs itself")
  end)
end)

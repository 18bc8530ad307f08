-- docs/language.md, section 6: parameters, their values after a run, loading them.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same = helper.fails, helper.same

local each = helper.each

describe("a parameter", function()
  local P, i

  before_each(function()
    P = tempo.program()
    i = P:dim("i", "N")
  end)

  it("evolves along a dim", function()
    local w = P:param("w", { along = { i }, shape = { 2 }, init = 1 })
    w[i + 1] = w * 2
    each(function(tier)
      local f = P:compile { outputs = { w = w }, tier = tier }
      same({ { 1, 1 }, { 2, 2 }, { 4, 4 } }, f({}, { N = 3 }).w)
      same({ 8, 8 }, f:params().w)              -- needed after the last point too
      same({ { 1, 1 } }, f({}, { N = 1 }).w)
      same({ 2, 2 }, f:params().w)
    end)
  end)

  it("is updated by w:update, and carried without one", function()
    local w = P:param("w", { along = { i }, init = tempo.array(5) })
    local c = P:param("c", { along = { i }, shape = { 1 }, init = { 7 } })
    assert.equal(w, w:update(w - 1))
    each(function(tier)
      local f = P:compile { outputs = { y = w + c:sum() }, tier = tier }
      same({ 12, 11, 10 }, f({}, { N = 3 }).y)
      same(2, f:params().w)
      same({ 7 }, f:params().c)
    end)
  end)

  it("loads first values", function()
    local w = P:param("w", { along = { i }, shape = { 2 }, init = 0 })
    w[i + 1] = w + 1
    each(function(tier)
      local f = P:compile { outputs = { w = w }, tier = tier }
      assert.same({}, f:params())
      local a = tempo.array { 10, 20 }
      assert.equal(f, f:load_params { w = a })
      a:set(99, 0)                              -- it is borrowed
      same({ 99, 20 }, f:params().w)
      a:set(10, 0)
      same({ { 10, 20 }, { 11, 21 } }, f({}, { N = 2 }).w)
      same({ 12, 22 }, f:params().w)
      f:load_params(f:params())
      same({ { 12, 22 } }, f({}, { N = 1 }).w)
      f:load_params { w = { 1, 2 } }
      same({ { 1, 2 } }, f({}, { N = 1 }).w)
    end)
  end)

  it("checks what is loaded", function()
    local w = P:param("w", { along = { i }, shape = { 2 }, init = 0 })
    local f = P:compile { outputs = { w = w } }
    fails(function() f:load_params { v = { 1, 2 } } end, "option", "'v'")
    fails(function() f:load_params { w = { 1, 2, 3 } } end, "shape", "'w'")
    fails(function() f:load_params { w = 1 } end, "shape", "'w'")
    fails(function() f:load_params { w = tempo.array({ 1, 2 }, "f64") } end, "dtype", "'w'")
    fails(function() f:load_params(1) end, "option")
    fails(function() f:load_params { { 1, 2 } } end, "option", "by name")
    same({ { 0, 0 } }, f({}, { N = 1 }).w)
  end)

  it("loads all or nothing", function()
    local out = {}
    for _, name in ipairs { "a", "b", "c", "d" } do
      out[name] = P:param(name, { along = { i }, shape = { 2 }, init = 0 })
    end
    local f = P:compile { outputs = out }
    for _, wrong in ipairs { "a", "b", "c", "d" } do
      local t = { a = { 1, 2 }, b = { 1, 2 }, c = { 1, 2 }, d = { 1, 2 } }
      t[wrong] = { 1, 2, 3 }
      fails(function() f:load_params(t) end, "shape", "'" .. wrong .. "'")
      assert.same({}, f:params())
    end
    for _, v in pairs(f({}, { N = 1 })) do same({ { 0, 0 } }, v) end
  end)

  it("is one for each point of domain", function()
    local l = P:dim "l"
    local w = P:param("w", { along = { i }, domain = { l }, init = l * 10 })
    w:update(w + 1)
    assert.equal("i", tostring(w:along()[1]))
    assert.equal(2, #w:domain())
    each(function(tier)
      local f = P:compile { outputs = { w = w }, tier = tier }
      same({ { 0, 10 }, { 1, 11 }, { 2, 12 } }, f({}, { N = 3, L = 2 }).w)
      same({ 3, 13 }, f:params().w)
      f:load_params { w = { 5, 6 } }
      same({ { 5, 6 } }, f({}, { N = 1, L = 2 }).w)
    end)
  end)

  it("without along is a constant of the run", function()
    local w = P:param("w", { shape = { 2 }, init = { 1, 2 } })
    local x = P:input("x", { domain = { i } })
    each(function(tier)
      local f = P:compile { outputs = { y = w * x }, tier = tier }
      same({ { 2, 4 } }, f({ x = { 2 } }, { N = 1 }).y)
      same({ 1, 2 }, f:params().w)
    end)
    assert.same({}, w:along())
    fails(function() w:update(w) end, "option", "along")
  end)

  it("along two dims goes on lexicographically", function()
    local k = P:dim "k"
    local w = P:param("w", { along = { i, k }, init = 0 })
    w:update(w + 1)
    each(function(tier)
      local f = P:compile { outputs = { w = w }, tier = tier }
      same({ { 0, 1, 2 }, { 3, 4, 5 } }, f({}, { N = 2, K = 3 }).w)
      same(6, f:params().w)
    end)
    fails(function() w[i + 1] = w end, "option", "w:update(e)")
  end)

  it("takes shape and dtype of init", function()
    local w = P:param("w", { init = tempo.array({ 1, 2, 3 }, "f64") })
    assert.equal("f64", w:dtype())
    assert.same({ 3 }, w:shape())
    assert.equal("w", w:name())
  end)

  it("is checked when it is recorded", function()
    fails(function() P:param "w" end, "option", "init")
    fails(function() P:param("w", { alon = { i }, init = 0 }) end, "option", "along")
    fails(function() P:param("w", { along = { i }, domain = { i }, init = 0 }) end, "option", "'i'")
    fails(function() P:param("w", { shape = { 2 }, init = { 1, 2, 3 } }) end, "shape")
    fails(function() P:param("w", { along = { i }, init = i }) end, "domain")
    local w = P:param("w", { along = { i }, init = 0 })
    fails(function() P:param("w", { init = 0 }) end, "'w'")
    fails(function() w[0] = 1 end, "option", "init")
    fails(function() w[i + 2] = 1 end, "option", "update")
    fails(function() w:update(tempo.zeros { 3 }) end, "shape")
    w:update(w + 1)
    fails(function() w:update(w) end, "'w'")
    fails(function() return (P:input("x"):update(1)) end, "option", "P:param")
    fails(function() w:otherwise(1) end, "option", "update")
  end)
end)

describe("gradients", function()
  it("of a list and of one tensor", function()
    local P = tempo.program()
    local x, y = P:input("x", { shape = { 2 } }), P:input("y", { shape = { 2 } })
    local loss = (x * x * y):sum()
    local g = tempo.grad(loss, { x, y })
    local inputs = { x = { 1, 2 }, y = { 3, 4 } }
    local out = helper.run(P, { gx = g[1], gy = g[2], one = tempo.grad(loss, x) }, inputs, {})
    same({ 6, 16 }, out.gx)
    same({ 1, 4 }, out.gy)
    same({ 6, 16 }, out.one)
    fails(function()
      return (tempo.grad(loss, { P:input("n", { dtype = "i64" }) }))
    end, "dtype", "i64")
    fails(function() return (tempo.grad(1, 2)) end, "option")
  end)

  it("by backward and grad", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 2 } })
    local loss = (x * x):sum()
    assert.equal(loss, loss:backward())
    same({ 2, 4 }, helper.value(P, x:grad(), { x = { 1, 2 } }, {}))
  end)

  it("come out as copies and go in as they are", function()
    local P = tempo.program()
    local i = P:dim "i"
    local w = P:param("w", { along = { i }, shape = { 2 }, init = { 1, 2 } })
    w:update(w * 2)
    each(function(tier)
      local f = P:compile { outputs = { w = w }, tier = tier }
      f({}, { I = 1 })
      local p = f:params()
      p.w:set(9, 0)
      assert.same({ 2, 4 }, f:params().w:totable())
      f:load_params(p)
      p.w:set(7, 0)
      assert.same({ { 7, 4 } }, f({}, { I = 1 }).w:totable())
      assert.same({ 7, 4 }, p.w:totable())
    end)
  end)

  it("train along a dim", function()
    local P = tempo.program()
    local i = P:dim("i", "N")
    local w = P:param("w", { along = { i }, shape = {}, init = 0 })
    local loss = (w - 3) * (w - 3)
    w[i + 1] = (w - 0.25 * tempo.grad(loss, w)):detach()
    each(function(tier)
      local f = P:compile { outputs = { loss = loss }, tier = tier }
      local want, v = {}, 0
      for k = 1, 5 do
        want[k] = (v - 3) ^ 2
        v = v - 0.25 * 2 * (v - 3)
      end
      same(want, f({}, { N = 5 }).loss)
      same(v, f:params().w)
    end)
  end)

  it("are updated by what is the same at each point, between ticks too", function()
    each(function(tier)
      local P = tempo.program()
      local i = P:dim("i", "N")
      local x = P:input("x", { domain = { i } })
      local w = P:param("w", { along = { i }, init = x[{ i = 0 .. i:upper() }]:sum(0) })
      w:update(P:input("v", {}) * 2)
      local f = P:compile { outputs = { y = x * 2 }, tier = tier, tick = i }
      f:start({ v = 3 }, { N = 3 })
      for k = 1, 3 do
        local _, out = f:step { x = k }
        same(k * 2, out.y)
      end
      same(6, f:params().w)
    end)
  end)
end)

-- A run that ends before its last point leaves these values, asserted on all tiers.
describe("parameters are the newest there are", function()
  -- w counts points, u is read by nothing, e has a formula, c does not evolve, k is a constant; m
  -- hangs on what comes.
  local function program(fn)
    local P = tempo.program()
    local i = P:dim "i"
    local x = P:input("x", { domain = { i } })
    local p = {}
    for name, init in pairs { w = 0, u = -1, e = 1, c = 7, m = 0 } do
      p[name] = P:param(name, { along = { i }, shape = { 2 }, init = init })
    end
    P:param("k", { shape = { 2 }, init = { 3, 4 } })
    p.w:update(p.w + 1)
    p.u:update(x:expand { 2 })
    p.e:update(p.e * 2)
    p.m:update(p.m * 0.5 + x)
    if fn then P:sink({ p.m, x }, fn) end
    return P, i, { y = p.m * 1 + p.w * 0 }
  end

  local function values(f)
    local t = {}
    for name, a in pairs(f:params()) do t[name] = a:totable()[2] end
    return t
  end

  -- After n points.
  local function after(n)
    local m = 0
    for k = 1, n do m = m * 0.5 + k end
    return { w = n, u = n > 0 and n or -1, e = 2 ^ n, c = 7, m = m, k = 4 }
  end

  -- An early end at point n: each is the value at n or at n + 1.
  local function near(n, got)
    for name, v in pairs(after(n)) do
      if got[name] ~= v then assert.equal(after(n + 1)[name], got[name], name) end
    end
  end

  local xs = { 1, 2, 3, 4, 5, 6 }

  it("between ticks, whether anything of a tick needs them or not", function()
    each(function(tier)
      local P, i, out = program()
      local f = P:compile { outputs = out, tick = i, tier = tier }
      f:start({}, { I = 6 })
      for k = 1, 6 do
        f:step { x = k }
        assert.same(after(k), values(f))
      end
    end)
  end)

  it("after a cancel or an error in a callback, of a call, a step and a call that goes on",
    function()
    each(function(tier)
      for _, how in ipairs { "cancel", "error" } do
        for _, tick in ipairs { true, false } do
          local f, stop
          local P, i, out = program(function(_, point)
            if point.i ~= stop then return end
            if how == "error" then error({}) end
            f:cancel()
          end)
          f = P:compile { outputs = out, tick = tick and i or nil, tier = tier }
          stop = 3
          pcall(f, { x = xs }, { I = 6 })
          near(3, values(f))
          stop = nil
          f({ x = { 1, 2 } }, { I = 2 })
          assert.same(after(2), values(f))
          stop = 0
          pcall(f, { x = xs }, { I = 6 })
          for name, v in pairs(values(f)) do
            assert.is_true(v == after(0)[name] or v == after(1)[name], name)
          end
          stop = 4
          f:start({}, { I = 6 })
          for k = 1, 4 do f:step { x = k } end
          assert.same(after(4), values(f))
          local state = f:state()
          pcall(f.step, f, { x = 5 })
          near(4, values(f))
          local path = os.tmpname()
          assert.is_true(f:save(path))                    -- the state of a run that is over
          local was = values(f)
          f:load(path)
          os.remove(path)
          assert.same(was, values(f))
          fails(function() f:step { x = 1 } end, "option", "start")
          stop = 5
          f({ x = { 1 } }, { I = 1 })
          pcall(f, { x = xs }, { I = 6 }, { state = state })
          near(5, values(f))
          stop = nil
          f({ x = xs }, { I = 6 }, { state = state })
          assert.same(after(6), values(f))
        end
      end
    end)
  end)

  it("whichever came last: a step, a call, what was loaded, a state, another start", function()
    each(function(tier)
      local P, i, out = program()
      local f = P:compile { outputs = out, tick = i, tier = tier }
      f:start({}, { I = 6 })
      for k = 1, 3 do f:step { x = k } end
      local state = f:state()
      f({ x = { 1, 2, 3, 4, 5 } }, { I = 5 })
      assert.same(after(5), values(f))
      f:step { x = 4 }
      assert.same(after(4), values(f))
      f({ x = xs }, { I = 6 }, { state = state })
      assert.same(after(6), values(f))
      f:load_state(state)
      assert.same(after(3), values(f))
      f:load_params { w = { 10, 20 } }
      local want = after(3)
      want.w = 20
      assert.same(want, values(f))
      f:step { x = 4 }
      assert.same(after(4), values(f))
      f:start({}, { I = 6 })
      assert.same(after(4), values(f))          -- it has made none yet
      f:step { x = 1 }
      assert.equal(21, values(f).w)
    end)
  end)

  it("of one program run by another as it trains", function()
    each(function(tier)
      local P = tempo.program()
      local t, b = P:dim "t", P:dim "b"
      local f, best
      local w = P:param("w", { along = { t }, domain = { b }, init = b:value():to "f32" })
      w:update(w + 1)
      P:sink({ w[{ b = 0 .. b:upper() }]:sum(0) }, function(a, p)
        if p.t == 5 then best = a[1]:item() f:cancel() end
      end)
      f = P:compile { tier = tier }
      assert.is_true(f({}, { T = 100, B = 3 }).cancelled)
      assert.equal(3 * 5 + 3, best)
      local got = f:params().w:totable()
      for k = 1, 3 do assert.is_true(got[k] == 5 + k - 1 or got[k] == 6 + k - 1) end
    end)
  end)
end)

describe("a state after a call", function()
  it("is that of a run that is over, in programs without ticks, too", function()
    each(function(tier)
      for _, tick in ipairs { true, false } do
        local f, stop
        local P = tempo.program()
        local i, b = P:dim "i", P:dim "b"
        local w = P:param("w", { along = { i }, domain = { b }, init = b:value():to "f32" })
        local k = P:param("k", { shape = { 2 }, init = { 5, 6 } })
        w:update(w + k:sum() - 10)
        P:sink({ w[{ b = 0 }] }, function(_, point)
          if point.i == stop then error({}) end
        end)
        f = P:compile { tier = tier, tick = tick and i or nil }
        fails(function() f:state() end, "option", "no state")
        fails(function() f({}, { I = -1, B = 2 }) end, "bound")
        fails(function() f:state() end, "option", "no state")
        f:load_params { k = { 5, 7 } }
        stop = 3
        assert.is_false((pcall(f, {}, { I = 6, B = 2 })))
        local was = f:params().w:totable()
        local path = os.tmpname()
        assert.is_true(f:save(path))
        local g = P:compile { tier = tier, tick = tick and i or nil }
        g:load(path)
        os.remove(path)
        assert.same(was, g:params().w:totable())
        same({ 5, 7 }, g:params().k)
        fails(function() g:step {} end, "option")
        assert.same(was, (g:load_state(g:state()) or g):params().w:totable())
        stop = nil
        f({}, { I = 2, B = 3 })
        g:load_state(f:state())
        same({ 4, 5, 6 }, g:params().w)
      end
    end)
  end)
end)

describe("a run that calls nobody and ends early", function()
  -- w goes from place to place of a table, until there is none; m hangs on it.
  local function program(init)
    local P = tempo.program()
    local i = P:dim "i"
    local w = P:param("w", { along = { i }, shape = { 3 }, init = init or 0 })
    local m = P:param("m", { along = { i }, shape = { 3 }, init = 0 })
    local k = P:param("k", { shape = { 4 }, init = tempo.array { 1, 1, 1, 1 } })
    local at = w:max(0):to "i64"
    local next = w + k:index_select(0, at:reshape { 1 }):expand { 3 }
    w:update(next)
    local mean = m * 0.5 + next
    m:update(mean)
    return P, i, { y = (next + mean):sum() }
  end

  it("by an error leaves the newest values", function()
    each(function(tier)
      local P, _, out = program()
      local f = P:compile { outputs = out, tier = tier }
      f({}, { I = 2 })
      assert.same({ 2, 2, 2 }, f:params().w:totable())
      fails(function() f({}, { I = 100 }) end, "input", "index")
      assert.same({ 4, 4, 4 }, f:params().w:totable())
      local m, want = f:params().m:totable()[1], { 0 }
      for n = 1, 5 do want[n + 1] = want[n] * 0.5 + n end
      assert.is_true(m == want[4] or m == want[5] or m == want[6])
      assert.same({ 1, 1, 1, 1 }, f:params().k:totable())
      f({}, { I = 0 })
      assert.same({ 0, 0, 0 }, f:params().w:totable())
    end)
  end)

  it("at its first point leaves first values, or those from before", function()
    each(function(tier)
      local P, _, out = program(7)
      local f = P:compile { outputs = out, tier = tier }
      fails(function() f({}, { I = 3 }) end, "input", "index")
      local w = f:params().w
      if w then assert.same({ 7, 7, 7 }, w:totable()) end
      f:load_params { w = { 9, 9, 9 } }
      fails(function() f({}, { I = 3 }) end, "input", "index")
      assert.same({ 9, 9, 9 }, f:params().w:totable())
    end)
  end)

  it("with check leaves the newest values", function()
    each(function(tier)
      local P = tempo.program()
      local i = P:dim "i"
      local w = P:param("w", { along = { i }, shape = { 2 }, init = 3 })
      local m = P:param("m", { along = { i }, shape = { 2 }, init = 1 })
      local x = P:input("x", { domain = { i } })
      w:update(w + (x - w):sqrt() * 0 - 1)      -- NaN at the point at which x is below w
      m:update(m * 2 + w * 0)
      local f = P:compile { outputs = { y = w + m }, tier = tier, check = "nan" }
      local ok, e = pcall(f, { x = { 9, 9, 0, 9 } }, { I = 4 })
      assert.is_false(ok)
      assert.truthy(tostring(e):find("at i = 2", 1, true), tostring(e))
      assert.same({ 1, 1 }, f:params().w:totable())
      local got = f:params().m:totable()[1]
      assert.is_true(got == 4 or got == 8)
    end)
  end)
end)

describe("what is loaded", function()
  local function training()
    local P = tempo.program()
    local i = P:dim "i"
    local net = tempo.nn.MLP(P, { 2, 3, 1 }, { along = { i }, name = "net" })
    local other = tempo.nn.Linear(P, 2, 1, { along = { i }, name = "other" })
    local x = tempo.uniform({ 4, 2 }, { domain = { i }, name = "x" })
    tempo.optim.Adam({ net, other }, { lr = 0.1, name = "adam" }):step(
      (net(x) + other(x)):square():sum())
    return P, net, other
  end

  local function names(t)
    local v = {}
    for name in pairs(t) do v[#v + 1] = name end
    table.sort(v)
    return v
  end

  it("of a net alone goes from a training program into an inference program", function()
    each(function(tier)
      local P, net, other = training()
      local f = P:compile { tier = tier, outputs = { w = other.weight } }
      f({}, { I = 3 })
      local of = names(f:params { of = net })
      local want = {}
      for path in net:named_parameters() do want[#want + 1] = path end
      table.sort(want)
      assert.same(want, of)
      assert.same({ "other.bias", "other.weight" }, names(f:params { of = other }))
      assert.same({ "other.weight" }, names(f:params { of = other.weight }))
      assert.equal(#want + 2, #names(f:params { of = { net, { other } } }))

      local Q = tempo.program()
      local same_net = tempo.nn.MLP(Q, { 2, 3, 1 }, { name = "net" })
      local x = Q:input("x", { shape = { 1, 2 } })
      local g = Q:compile { outputs = { y = same_net(x) }, tier = tier }
      assert.equal(g, g:load_params(f:params { of = net }))
      local y = g({ x = { { 1, 2 } } }, {}).y:item()
      fails(function() g:load_params(f:params()) end, "option", "strict = false")
      local missing, left = g:load_params(f:params(), { strict = false })
      assert.same({}, missing)
      assert.equal(#names(f:params()) - #want, #left)
      assert.same({ "adam.m.net.", true }, { left[1]:sub(1, 11), left[1] < left[2] })
      assert.equal(y, g({ x = { { 1, 2 } } }, {}).y:item())
      missing, left = g:load_params({ [want[1]] = f:params()[want[1]], what = 1 },
        { strict = false })
      assert.same({ "what" }, left)
      assert.equal(#want - 1, #missing)
    end)
  end)

  it("is refused with words where it is no such thing", function()
    local P, net = training()
    local f = P:compile { outputs = { w = net:parameters()[1] } }
    fails(function() f:params { off = net } end, "option", "of")
    fails(function() f:params { of = 3 } end, "option", "expected a module")
    fails(function() f:load_params({}, { strict = 1 }) end, "option", "true or false")
    fails(function() f:load_params({}, { strickt = true }) end, "option", "strict")
  end)

  -- A constant, one along i, an evolving one, one made of draws; each of them is read at each
  -- point.
  local function program()
    local P = tempo.program()
    local i = P:dim "i"
    local k = P:param("k", { shape = { 3 }, init = tempo.uniform({ 3 }, { name = "draw" }) })
    local c = P:param("c", { along = { i }, shape = { 3 }, init = tempo.array { 1, 2, 3 } })
    local w = P:param("w", { along = { i }, shape = { 3 }, init = 0 })
    local x = P:input("x", { domain = { i } })
    w:update(w * 0.5 + c[0] + k * x)
    return P, i, { y = (w + k * x + c):sum() }
  end

  it("for a constant is never copied, read or handed out: calls, steps, states, threads", function()
    each(function(tier)
      for _, threads in ipairs { 1, 2 } do
        local P, i, out = program()
        local f = P:compile { outputs = out, tick = i, tier = tier, threads = threads }
        local g = P:compile { outputs = out, tier = tier, threads = threads }
        local k, c, w = tempo.array { 10, 20, 30 }, tempo.array { 4, 5, 6 }, tempo.array { 7, 8, 9 }
        local x = { x = { 1, 2, 3 } }
        local function kept()
          same({ 10, 20, 30 }, k)
          same({ 4, 5, 6 }, c)
          same({ 7, 8, 9 }, w)
        end
        f:load_params { k = k, c = c, w = w }
        g:load_params { k = k, c = c, w = w }
        local want = f(x, { I = 3 }).y:totable()
        assert.same(want, g(x, { I = 3 }).y:totable())
        assert.equal(60 + 15 + 24, want[1])
        kept()
        f:start({}, { I = 3 })
        f:step { x = 1 }
        local state = f:state()
        f:params().w:set(99, 0)
        assert.equal(want[2], select(2, f:step { x = 2 }).y:item())
        f:load_state(state)
        assert.equal(want[2], select(2, f:step { x = 2 }).y:item())
        assert.equal(want[3], f(x, { I = 3 }, { state = state }).y:totable()[3])
        kept()
        f:load_params { k = k, c = c, w = w }
        for _, h in ipairs { f, g } do
          h(x, { I = 3 })
          h:params().k:set(11, 0)
          h:params().c:set(0, 0)
          assert.equal(11, k:get(0))            -- they are the loaded arrays
          assert.equal(0, c:get(0))
          assert.equal(want[1] + 1 - 4, h(x, { I = 3 }).y:totable()[1])
          k:set(10, 0)
          c:set(4, 0)
          kept()
        end
      end
    end)
  end)

  it("or a constant of the program stays what it was, whatever the script does with its copies",
    function()
    each(function(tier)
      local P, _, out = program()
      local f = P:compile { outputs = out, tier = tier }
      local y = f({ x = { 1 } }, { I = 1 }).y:item()
      f:params().c:set(100, 0)
      f:params().k:set(100, 0)
      same({ 1, 2, 3 }, f:params().c)
      assert.equal(y, f({ x = { 1 } }, { I = 1 }).y:item())
      f:load_params { c = { 0, 0, 0 } }
      assert.equal(y - 6, f({ x = { 1 } }, { I = 1 }).y:item())
    end)
  end)

  it("beyond an end is zero in the run's output alone", function()
    each(function(tier)
      local P = tempo.program()
      local t, b = P:dim "t", P:dim "b"
      local k = P:param("k", { domain = { t }, init = 1 })
      local y = P:tensor { domain = { b, t } }
      y[{ t = 0 }] = k
      y:otherwise(y[t - 1] + k)
      P:stop(t, y:ge(3))
      local f = P:compile { outputs = { y = y }, tier = tier }
      local a = tempo.array { 1, 2, 3, 4, 5 }
      f:load_params { k = a }
      f({}, { T = 5, B = 1 })
      same({ 1, 2, 3, 4, 5 }, a)
    end)
  end)

  it("is not copied where it is a constant, and twice where it evolves", function()
    local function growth(param)
      return tonumber((helper.script([[
        local tempo = require "tempo"
        local n = 8 * 1024 * 1024
        local a = tempo.program():compile { outputs = { a = tempo.zeros { n } }, tier = "interpreter" } ({}, {}).a
        local P = tempo.program()
        local i = P:dim "i"
        local x = P:input("x", { domain = { i } })
        local function most()
          local file = io.open "/proc/self/status"
          local kb = file and file:read "*a":match "VmHWM:%s+(%d+)"
          if file then file:close() end
          return (kb or 0) / 1024
        end
        local w = P:param("w", ]] .. param .. [[)
        local f = P:compile { outputs = { y = (w * x):max(0) }, tier = "interpreter" }
        local before = most()
        f:load_params { w = a }
        f({ x = { 1, 2 } }, { I = 2 })
        assert(f:params().w)
        print(("%.0f"):format(most() - before))
      ]])))
    end
    assert.is_true(growth "{ shape = { n }, init = 1 }" < 16)
    -- The state, the last value, and a copy that f:params() gives: 32 MiB each.
    assert.is_true(
      growth "{ along = { i }, shape = { n }, init = 1 })\n w:update(w * 0.5 + x" < 104)
  end)

  it("is borrowed and counted", function()
    for _, tier in ipairs { "interpreter", "native" } do
      local P = tempo.program()
      local i = P:dim "i"
      local k = P:param("k", { shape = { 1000 }, init = 0 })
      local w = P:param("w", { along = { i }, shape = { 500 }, init = 0 })
      w:update(w + k:sum())
      local f = P:compile { outputs = { y = w:sum() }, tier = tier }
      local none = f:memory { I = 2 }
      local a = tempo.array(string.rep("\0\0\0\0", 1000), "f32", { 1000 })
      f:load_params { k = a }
      assert.equal(none + 4000, f:memory { I = 2 })
      a:set(1, 0)
      assert.same({ 0, 500 }, f({}, { I = 2 }).y:totable())
      f:load_params { w = tempo.array(string.rep("\0\0\0\0", 500), "f32", { 500 }) }
      assert.equal(none + 6000, f:memory { I = 2 })
      f({}, { I = 2 })
      assert.equal(f:memory { I = 2 }, f:peak())
      a = nil                                   -- luacheck: ignore
      collectgarbage()
      assert.same({ 0, 500 }, f({}, { I = 2 }).y:totable())
    end
  end)
end)

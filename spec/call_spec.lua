-- docs/language.md, section 7: calls, bounds, inputs, callbacks.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same, fill = helper.fails, helper.same, helper.fill

local each = helper.each

describe("a call", function()
  local P, t, T, x

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
    x = P:input("x", { domain = { t }, shape = { 2 } })
  end)

  it("takes arrays, tables and numbers, for any bound", function()
    local s = P:input "s"
    each(function(tier)
      local f = P:compile { outputs = { y = x * s }, tier = tier }
      for n = 1, 3 do
        local rows = fill({ n, 2 }, function(a, b) return a + b end)
        local want = fill({ n, 2 }, function(a, b) return 3 * (a + b) end)
        same(want, f({ x = tempo.array(rows), s = 3 }, { T = n }).y)
        same(want, f({ x = rows, s = tempo.array(3) }, { T = n }).y)
      end
    end)
  end)

  it("gives fresh arrays and changes no input", function()
    local a = tempo.array { { 1, 2 } }
    each(function(tier)
      local f = P:compile { outputs = { x = x, y = x + 1 }, tier = tier }
      local one, two = f({ x = a }, { T = 1 }), f({ x = a }, { T = 1 })
      one.x:set(9, 0, 0)
      one.y:set(9, 0, 0)
      assert.same({ { 1, 2 } }, a:totable())
      assert.same({ { 1, 2 } }, two.x:totable())
      assert.same({ { 2, 3 } }, two.y:totable())
    end)
  end)

  it("has outputs that are numbers, literals and index expressions", function()
    local out = helper.run(P,
      { n = 3, z = tempo.zeros { 2 }, t = t, b = true, a = tempo.array { 1 } }, {}, { T = 2 })
    assert.same({ n = 3, z = { 0, 0 }, t = { 0, 1 }, b = true, a = { 1 } }, out)
  end)

  it("checks the inputs", function()
    local f = P:compile { outputs = { y = x } }
    local row = { { 1, 2 } }
    P:input "temperature"
    fails(function() f({}, { T = 1 }) end, "input", "'x' is missing")
    fails(function() f(nil, { T = 1 }) end, "input", "'x' is missing")
    fails(function()
      f({ x = row, temperatur = 1 }, { T = 1 })
    end, "input", "'temperatur'", "'temperature'")
    fails(function()
      f({ x = tempo.array(row, "f64") }, { T = 1 })
    end, "input", "f64", "f32", "dtype")
    fails(function() f({ x = row }, { T = 2 }) end, "2")
    fails(function() f({ x = { { 1, 2, 3 } } }, { T = 1 }) end, "3")
    fails(function() f({ x = "a" }, { T = 1 }) end, "input")
    fails(function() f({ x = { { 1, "a" } } }, { T = 1 }) end, "'x'", "x")
    fails(function() f(1, { T = 1 }) end, "input")
    fails(function() f({ row }, { T = 1 }) end, "input", "by name")
    assert.same(row, f({ x = row }, { T = 1 }).y:totable())
  end)

  it("ignores an input that nothing needs", function()
    P:input("u", { shape = { 3 } })
    local f = P:compile { outputs = { y = x } }
    assert.same({ { 1, 2 } }, f({ x = { { 1, 2 } }, u = { 1 } }, { T = 1 }).y:totable())
    assert.same({ { 1, 2 } }, f({ x = { { 1, 2 } } }, { T = 1 }).y:totable())
  end)

  it("checks the bounds", function()
    local _, S = P:dim "s"
    local f = P:compile { outputs = { y = x } }
    local rows = { x = { { 1, 2 } } }
    fails(function() f(rows) end, "bound", "'T' is missing")
    fails(function() f(rows, {}) end, "bound", "'T' is missing")
    fails(function() f(rows, { T = 1, S = 1 }) end, "bound", "'S' is not needed")
    fails(function() f(rows, { T = 1, U = 1 }) end, "bound", "unknown bound 'U'")
    fails(function() f(rows, { t = 1 }) end, "bound", "'T'")
    fails(function() f(rows, { T = -1 }) end, "bound", "negative")
    fails(function() f(rows, { T = 1.5 }) end, "bound", "1.5")
    fails(function() f(rows, { T = "1" }) end, "bound", "string")
    fails(function() f(rows, { T = math.huge }) end, "bound")
    fails(function() f(rows, 1) end, "bound")
    fails(function() f(rows, { 1 }) end, "bound", "by name")
    assert.equal("S", tostring(S))
    assert.same({ 4 }, P:compile({ outputs = { y = tempo.zeros { T } } })({}, { T = 4 }).y:shape())
  end)

  it("has a seed", function()
    local u = tempo.uniform({}, { domain = { t } })
    each(function(tier)
      local f = P:compile { outputs = { u = u }, tier = tier }
      local a, b = f({}, { T = 4 }).u:totable(), f({}, { T = 4 }, { seed = 7 }).u:totable()
      assert.same(a, f({}, { T = 4 }).u:totable())
      assert.same(b, f({}, { T = 4 }, { seed = 7 }).u:totable())
      assert.is_false(a[1] == b[1] and a[2] == b[2])
      fails(function() f({}, { T = 4 }, { sed = 7 }) end, "option", "seed")
    end)
    assert.equal(0, P:seed())
    assert.equal(5, tempo.program({ seed = 5 }):seed())
  end)

  it("can be freed", function()
    local f = P:compile { outputs = { y = x } }
    assert.truthy(tostring(f):find("tempo.Function", 1, true))
    f:free()
    f:free()
    fails(function() f({ x = { { 1, 2 } } }, { T = 1 }) end, "option", "freed")
    fails(function() f:explain() end, "option", "freed")
  end)

  it("is not touched by later changes of the program", function()
    local h = P:tensor { domain = { t } }
    h[0] = 1
    local f = P:compile { outputs = { y = x } }
    h[t] = 2
    assert.same({ { 1, 2 } }, f({ x = { { 1, 2 } } }, { T = 1 }).y:totable())
  end)

  -- (the sanitizers' build looks at what lies behind the bounds that it knew)
  it("goes on while dims are made between its calls and by its callbacks", function()
    each(function(tier)
      local Q = tempo.program()
      local s, S = Q:dim "s"
      local more = 0
      local function grow()
        for _ = 1, 12 do more = more + 1 Q:dim("d" .. more) end
      end
      local u = Q:source(function(p) grow() return p.s end, { domain = { s }, shape = {} })
      local sum = Q:tensor { domain = { s } }
      sum[0] = u
      sum[s] = sum[s-1] + u
      Q:stop(s, sum:ge(5))
      local f = Q:compile { outputs = { sum = sum, n = u[0 .. S]:sum(0) }, tier = tier }
      grow()
      for _ = 1, 2 do
        local out = f({}, { S = 10 })
        assert.same({ { 0, 1, 3, 6 }, 6 }, { out.sum:totable(), out.n:item() })
        grow()
        f:start({}, { S = 10 })
        grow()
        local done, o, state
        repeat
          done, o = f:step()
          state = state or f:state()
        until done
        assert.same({ 6, 4 }, { o.n:item(), o.S:item() })
        grow()
        assert.equal(6, f({}, { S = 10 }, { state = state }).n:item())
      end
    end)
  end)

  it("explains itself", function()
    local f = P:compile { outputs = { y = x + 1 } }
    assert.truthy(f:explain("graph"):find('= input {str "x"} : (t) f32 [2] @ ', 1, true))
    assert.truthy(f:explain():find("\nruns\n  once               y\n", 1, true))
    assert.equal("if T >= 1 {\n  y[0 .. T] = add(x[0 .. T])",
      f:explain("schedule"):match "^(.-) +%-%-")
    assert.equal("input x (t: T); f32[2], 8*T bytes\noutput y (t: T); f32[2], 8*T bytes\n",
      f:explain "storage")
  end)
end)

describe("a step into the table of an earlier one", function()
  -- y decays, z sums it, total comes with the last tick of each i
  local function compile(tier)
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { i, t }, shape = { 3 } })
    local s = P:input("s", { domain = { i, t } })
    local y = P:tensor { domain = { i, t }, shape = { 3 } }
    y[{ t = 0 }] = x
    y:otherwise(y[t - 1] * 0.5 + x * s)
    return P:compile { outputs = { y = y, z = y:sum(), total = y[{ t = 0 .. T }]:sum() },
      tick = { i, t }, tier = tier }
  end
  local function x(n) return tempo.array { n, n + 1, 2 * n } end

  it("gives what a step gives, in the same arrays", function()
    each(function(tier)
      local f, g = compile(tier), compile(tier)
      f:start({}, { I = 3, T = 4 })
      g:start({}, { I = 3, T = 4 })
      local out, y, total
      for n = 1, 12 do
        local values = { x = x(n), s = n % 2 }
        local done, want = f:step(values)
        local over, got = g:step(values, { into = out, budget_ms = n % 5 == 0 and 1000 or nil })
        if out then assert.equal(out, got) end
        out = got
        assert.equal(done, over)
        assert.equal(n % 5 == 0, got.late_ms ~= nil)
        got.late_ms = nil
        for name, a in pairs(want) do assert.same(helper.plain(a), helper.plain(got[name])) end
        for name in pairs(got) do assert.truthy(want[name]) end
        assert.equal(n % 4 == 0, got.total ~= nil)
        y, total = y or got.y, total or got.total
        assert.equal(y, got.y)
        if got.total then assert.equal(total, got.total) end
      end
    end)
  end)

  it("makes no garbage", function()
    -- old traces would grow side traces, which are garbage too
    if jit then jit.off() jit.flush() end
    each(function(tier)
      local f = compile(tier)
      f:start({}, { I = 200, T = 10 })
      local values, _, out = { x = x(1), s = 2 }, nil, nil
      local options = {}
      local function go(n)
        for _ = 1, n do _, out = f:step(values, options) end
      end
      go(30)
      options.into = out
      go(30)
      collectgarbage()
      collectgarbage "stop"
      local before = collectgarbage "count"
      go(1000)
      local made = collectgarbage "count" - before
      collectgarbage "restart"
      assert.equal(0, made)
    end)
    if jit then jit.on() end
  end)

  it("leaves a row alone that the script has taken, and an array of another shape", function()
    each(function(tier)
      local f = compile(tier)
      f:start({}, { I = 1, T = 4 })
      local _, out = f:step({ x = x(1), s = 0 })
      local m = tempo.array { { 1, 2 }, { 3, 4 } }
      out.z = m[0]
      f:step({ x = x(4), s = 1 }, { into = out })
      assert.same({ 1, 2 }, m[0]:totable())
      assert.same({ 4.5, 6, 9 }, out.y:totable())
      assert.equal(19.5, out.z:item())
      local again = { y = m[1], z = out.z }
      f:step({ x = x(0), s = 0 }, { into = again })
      assert.same({ { 1, 2 }, { 3, 4 } }, m:totable())
      assert.same({ 2.25, 3, 4.5 }, again.y:totable())
    end)
  end)

  it("takes an array that it writes as a value of this step", function()
    each(function(tier)
      local f = compile(tier)
      f:start({}, { I = 1, T = 5 })
      local _, out = f:step({ x = x(1), s = 0 })
      for _ = 1, 3 do f:step({ x = out.y, s = 1 }, { into = out }) end
      assert.same({ 3.375, 6.75, 6.75 }, out.y:totable())
    end)
  end)

  it("says what is no such table, and goes on", function()
    each(function(tier)
      local f = compile(tier)
      f:start({}, { I = 1, T = 4 })
      local v = { x = x(1), s = 0 }
      local _, out = f:step(v)
      fails(function() f:step(v, { into = 3 }) end, "option",
        "into: expected the table that an earlier step returned, got a number")
      fails(function()
        f:step(v, { into = { y = 3 } })
      end, "option", "into: 'y': expected the array of an earlier step, got a number")
      fails(function() f:step({ x = { 1 }, s = 0 }, { into = out }) end, "shape", "x")
      f:step(v, { into = out })
      assert.same({ 0.5, 1, 1 }, out.y:totable())
    end)
  end)
end)

-- In the standalone interpreter that runs this spec: their handlers of SIGINT set a hook.
describe("a run that Ctrl-C interrupts", function()
  local lua = (
    "env LUA_PATH='%s' LUA_PATH_5_4='%s' LUA_CPATH='%s' LUA_CPATH_5_4='%s' timeout -s KILL 60 ")
    :format(package.path, package.path, package.cpath, package.cpath)
      .. (jit and "luajit" or "lua5.4")
  local script = [[
    local tempo = require "tempo"
    local P = tempo.program()
    local t = P:dim "t"
    local k, K = P:dim "k"
    local y = P:tensor { domain = { t, k }, dtype = "f64" }
    y[{ k = 0 }] = 0.1
    y:otherwise(y[k - 1] * 3.7 * (1 - y[k - 1]))
    local calls = 0
    local seen = P:call(function(args) calls = calls + 1 debug.sethook(function() end, "", 1000000) return args[1] end,
      { y[{ k = K - 1 }] }, { { domain = { t }, dtype = "f64" } })
    local f = P:compile { outputs = { y = seen }, tick = t, tier = "TIER", threads = THREADS }
    local function kill()
      local p = io.popen "echo $PPID"
      local pid = p:read "*n"
      p:close()
      os.execute("(sleep 0.3; kill -INT " .. pid .. ") &")
    end
    local ways = {
      call = function() f({}, { T = 3, K = LONG }) end,
      step = function() f:start({}, { T = 3, K = LONG }) f:step() end,
      coroutine = function() assert(coroutine.resume(coroutine.create(function() f({}, { T = 3, K = LONG }) end))) end,
      peek = function() y:peek { bounds = { T = 1, K = 2000000 }, at = { t = 0, k = 1999999 } } end,
    }
    local Q = tempo.program()
    local q = Q:dim "q"
    local w = Q:param("w", { along = { q }, shape = { 2 }, init = 0.1 })
    local c = Q:param("c", { shape = { 2 }, init = 3.7 })
    w:update(w * c * (1 - w))
    local g = Q:compile { outputs = { w = w[{ q = q:upper() - 1 }] }, tier = "TIER", threads = THREADS }
    ways.params = function() g({}, { Q = LONG }) end
    assert(#f({}, { T = 3, K = 3 }).y == 3 and calls == 3)
    debug.sethook()
    kill()
    local ok, why = pcall(ways.WAY)
    print(ok, (tostring(why):gsub("^.*: ", "")))
    for _ = 1, 1000 do calls = calls * 1 end
    local done, out
    f:start({}, { T = 3, K = 3 })
    repeat done, out = f:step() until done
    print(out.y, f({}, { T = 3, K = 3 }).y)
    local p = g:params()
    if p.w then print(p.w:get(0) ~= p.c:get(0) and p.w:get(0) == p.w:get(1) and p.w:get(0) > 0 and p.w:get(0) < 1) end
  ]]

  local function run(way, tier, long, threads)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write((script:gsub("%u+",
      { WAY = way, TIER = tier, LONG = long, THREADS = threads or 1 })))
    file:close()
    local p = assert(io.popen("TEMPO_SHARE=0 " .. lua .. " " .. path .. " 2>&1"))
    local text = p:read "*a"
    p:close()
    os.remove(path)
    return text
  end

  local ended = "false\tinterrupted!\n0.8218107000000002\t[0.8218107 0.8218107 0.8218107]\n"

  it("ends, raises what the host's hook raises, and leaves the function as it was", function()
    assert.equal(ended, run("call", "interpreter", "1e15"))
    assert.equal(ended, run("call", "native", "1e15"))
    assert.equal(ended, run("call", "native", "1e15", 2))
    assert.equal(ended, run("call", "auto", "1e15"))
    assert.equal(ended, run("call", "reference", "1e6"))
  end)

  it("is a step, in a coroutine, or looks at one point", function()
    assert.equal(ended, run("step", "interpreter", "1e15"))
    assert.equal(ended, run("step", "native", "1e15"))
    assert.equal(ended, run("step", "reference", "1e6"))
    assert.equal(ended, run("coroutine", "native", "1e15"))
    assert.equal(ended, run("peek", "native", "1e15"))
  end)

  -- The reference goes from the last point down to the first before it makes any.
  it("leaves the newest values of parameters, where no callback looks at them", function()
    assert.equal(ended .. "true\n", run("params", "interpreter", "1e15"))
    assert.equal(ended .. "true\n", run("params", "native", "1e15"))
  end)

  it("goes on where a hook that is set meanwhile does not raise", function()
    local P = tempo.program()
    local t = P:dim "t"
    local y = P:call(function(_, at)
      debug.sethook(function() end, "", 1) return at.t
    end, {}, { { domain = { t } } })
    each(function(tier)
      assert.same({ 0, 1, 2 },
        P:compile { outputs = { y = y * 1 }, tier = tier } ({}, { T = 3 }).y:totable())
      debug.sethook()
    end)
  end)
end)

describe("a compilation that Ctrl-C interrupts", function()
  local script = [[
    local tempo = require "tempo"
    tempo.warn = function() end
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local last = x
    for _ = 1, MANY do
      local before, h = last, P:tensor { domain = { t } }
      h[{ t = 0 }] = before
      h:otherwise((h[t - 1] * 0.5 + before):tanh())
      last = h
    end
    local p = io.popen "echo $PPID"
    os.execute("(sleep 0.5; kill -INT " .. p:read "*n" .. ") &")
    p:close()
    local function compile() return P:compile { outputs = { y = last }, tier = "TIER" } end
    local ok, why = WAY(compile)
    print(ok, (tostring(why):gsub("^.*: ", "")))
    print(P:compile { outputs = { y = x * 2 }, tier = "interpreter" } ({ x = { 1, 2 } }, { T = 2 }).y)
  ]]
  local ended = "false\tinterrupted!\n[2. 4.]\n"

  local function run(many, tier, way, settings)
    local words = { MANY = many, TIER = tier, WAY = way or "pcall", PPID = "PPID", INT = "INT" }
    return helper.script(script:gsub("%u%u%u+", words), nil, settings)
  end

  it("ends between passes and between questions to isl, and leaves the program as it was",
    function()
    for _, tier in ipairs { "reference", "interpreter" } do
      assert.equal(ended, run(4000, tier))
    end
    assert.equal(ended,
      run(4000, "interpreter", "(function(f) return coroutine.resume(coroutine.create(f)) end)"))
  end)

  it("ends while the compiler is awaited, and leaves no file and no child", function()
    local folder = os.tmpname()
    os.remove(folder)
    local cc = folder .. "/cc"
    -- of this test alone: others run beside it
    local nap = "77." .. folder:gsub(".", string.byte)
    os.execute(("mkdir -p %s/cache; printf '#!/bin/sh\nsleep %s\n' >%s; chmod +x %s"):format(folder,
      nap, cc, cc))
    assert.equal(ended,
      run(1, "native", nil, ("export TEMPO_CACHE=%s/cache CC=%s; "):format(folder, cc)))
    local left = io.popen(("ls %s/cache; LD_PRELOAD= ps ax | grep '[s]leep %s'"):format(folder,
      nap))
    assert.equal("", left:read "*a")
    left:close()
    os.execute("rm -rf " .. folder)
  end)
end)

describe("a callback", function()
  it("gets arrays and the point, in order, once", function()
    each(function(tier)
      local P = tempo.program()
      local t = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 2 } })
      local points, seen = {}, {}
      local y, n = P:call(function(arrays, point)
        points[#points + 1] = point.t
        seen[#seen + 1] = arrays[1]:totable()
        return { arrays[1][0] + arrays[1][1] }, point.t * 10
      end, { x }, { { domain = { t }, shape = { 1 } }, { domain = { t }, dtype = "i64" } })
      local f = P:compile { outputs = { y = y, n = n, z = y * 2 }, tier = tier }
      local out = f({ x = { { 1, 2 }, { 3, 4 } } }, { T = 2 })
      same({ { 3 }, { 7 } }, out.y)
      same({ { 6 }, { 14 } }, out.z)
      assert.same({ 0, 10 }, out.n:totable())
      assert.same({ 0, 1 }, points)
      assert.same({ { 1, 2 }, { 3, 4 } }, seen)
    end)
  end)

  it("takes arrays, tables and numbers as results, and checks them", function()
    local P = tempo.program()
    local t = P:dim "t"
    local result
    local line = debug.getinfo(1, "l").currentline + 1
    local y = P:source(function() return result end, { domain = { t }, shape = { 2 } })
    each(function(tier)
      local f = P:compile { outputs = { y = y }, tier = tier }
      local function wrong(r, ...)
        result = r
        local message = fails(function() f({}, { T = 1 }) end, "callback", ...)
        assert.equal(line, helper.line(message))
      end
      result = tempo.array { 5, 6 }
      same({ { 5, 6 }, { 5, 6 } }, f({}, { T = 2 }).y)
      result = { 7, 8 }
      same({ { 7, 8 } }, f({}, { T = 1 }).y)
      wrong(3, "scalar")
      wrong({ 1, 2, 3 }, "{3}", "{2}")
      wrong({ 1, "a" }, "string")
      wrong({ { 1, 2 } }, "{1, 2}")
      wrong(tempo.array({ 1, 2 }, "f64"), "f64", "f32")
      wrong(nil, "nothing")
      wrong("a", "string")
    end)
    local a, b = P:source(function() return 1 end, { { domain = { t } }, { domain = { t } } })
    fails(function()
      P:compile { outputs = { a = a, b = b } }({}, { T = 1 })
    end, "callback", "1 value for 2 specs")
  end)

  it("lends its arrays", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 2, 2 } })
    local kept, row, clone
    P:sink({ x }, function(arrays)
      kept, row, clone = arrays[1], arrays[1][0], arrays[1]:clone()
      fails(function() arrays[1]:set(1, 0, 0) end, "callback", "clone")
    end)
    each(function(tier)
      P:compile { tier = tier } ({ x = { { { 1, 2 }, { 3, 4 } } } }, { T = 1 })
      fails(function() return kept[0] end, "callback", "clone")
      fails(function() return row[0] end, "callback", "clone")
      assert.equal("tempo.Array (freed)", tostring(kept))
      assert.same({ { 1, 2 }, { 3, 4 } }, clone:totable())
    end)
  end)

  it("passes on errors with their own value", function()
    local P = tempo.program()
    local t = P:dim "t"
    local what = { code = 42 }
    local throw = true
    local y = P:source(function(point)
      if throw and point.t == 1 then error(what) end
      return point.t
    end, { domain = { t } })
    each(function(tier)
      local f = P:compile { outputs = { y = y }, tier = tier }
      throw = true
      local ok, got = pcall(f, {}, { T = 3 })
      assert.is_false(ok)
      assert.equal(what, got)
      throw = false
      same({ 0, 1, 2 }, f({}, { T = 3 }).y)         -- still usable
    end)
    local z = P:source(function() error "boom" end, { domain = { t } })
    fails(function() P:compile { outputs = { z = z } }({}, { T = 1 }) end, "call_spec.lua", "boom")
  end)

  it("gets the whole of a dim in over", function()
    each(function(tier)
      local P = tempo.program()
      local b = P:dim "b"
      local t = P:dim "t"
      local x = P:input("x", { domain = { b, t } })
      local points = {}
      local y = P:call(function(arrays, point)
        points[#points + 1] = point
        local r = {}
        for i, v in arrays[1]:rows() do r[i + 1] = v * 2 end
        return r
      end, { x }, { { domain = { b, t } } }, { over = { b } })
      local f = P:compile { outputs = { y = y }, tier = tier }
      same({ { 2, 4 }, { 6, 8 }, { 10, 12 } },
        f({ x = { { 1, 2 }, { 3, 4 }, { 5, 6 } } }, { B = 3, T = 2 }).y)
      assert.same({ { t = 0 }, { t = 1 } }, points)
    end)
  end)

  it("interleaves with what it feeds", function()
    each(function(tier)
      local P = tempo.program()
      local t = P:dim "t"
      local s = P:tensor { domain = { t } }
      local log = {}
      local x = P:source(function(point)
        log[#log + 1] = "source" .. point.t return 1
      end, { domain = { t } })
      s[0] = x
      s[t] = s[t - 1] + x
      P:sink({ s }, function(arrays, point)
        log[#log + 1] = "sink" .. point.t .. "=" .. arrays[1]:item()
      end)
      P:compile { tier = tier } ({}, { T = 3 })
      local at = {}
      for k, v in ipairs(log) do at[v:gsub("%.0$", "")] = k end
      assert.equal(6, #log)
      assert.truthy(at["source0"] < at["sink0=1"] and at["sink0=1"] < at["sink1=2"])
      assert.truthy(at["source1"] < at["sink1=2"] and at["sink1=2"] < at["sink2=3"])
    end)
  end)

  it("without inputs gets an empty sequence of arrays and the point, a source the point alone",
    function()
    local P = tempo.program()
    local b, t = P:dim "b", (P:dim "t")
    local domain = { b, t }
    local function arguments(...) return select("#", ...) end
    local function check(arrays, point)
      assert.equal("table", type(arrays))
      assert.is_nil(next(arrays))
      return 10 * (point.b or 7) + point.t
    end
    local outputs = {
      number = P:call(function(...)
        check(...) return arguments(...)
      end, {}, { { domain = domain } }),
      point = P:call(check, {}, { { domain = domain } }),
      table = P:call(setmetatable({}, { __call = function(_, ...) return check(...) end }), {},
        { { domain = domain } }),
      over = P:call(function(arrays, point)
        assert.is_nil(point.b)
        return { check(arrays, point), check(arrays, point) + 1 }
      end, {}, { { domain = domain } }, { over = { b } }),
      source = P:source(arguments, { domain = domain }),
      coord = P:source(function(point) return 10 * point.b + point.t end, { domain = domain }),
    }
    local points = { { 0, 1, 2 }, { 10, 11, 12 } }
    local want = { number = fill({ 2, 3 }, function() return 2 end),
      source = fill({ 2, 3 }, function() return 1 end),
      point = points, table = points, coord = points, over = { { 70, 71, 72 }, { 71, 72, 73 } } }
    assert.equal(12, outputs.point:peek { bounds = { B = 2, T = 3 }, at = { b = 1, t = 2 } }:item())
    each(function(tier)
      local out = P:compile { outputs = outputs, tier = tier } ({}, { B = 2, T = 3 })
      for name, rows in pairs(want) do same(rows, out[name]) end
    end)
  end)

  it("may record, collect and run other functions, but not its own", function()
    local P = tempo.program()
    local t = P:dim "t"
    local f, inner
    local y = P:source(function(point)
      collectgarbage()
      local Q = tempo.program()
      local q = Q:compile { outputs = { q = tempo.ones { 2 }:sum() } } ({}, {}).q:item()
      P:input("later" .. point.t)
      inner = select(2, pcall(f, {}, { T = 1 }))
      return q + point.t
    end, { domain = { t } })
    each(function(tier)
      f = P:compile { outputs = { y = y }, tier = tier }
      pcall(f, {}, { T = 1 })
      assert.truthy(tostring(inner):find("running", 1, true))
    end)
  end)

  it("cannot yield, and says so", function()
    local P = tempo.program()
    local t = P:dim "t"
    local line = debug.getinfo(1, "l").currentline + 1
    P:sink({ P:input("x", { domain = { t } }) }, function() coroutine.yield(1) end)
    local f = P:compile {}
    local message = fails(function()
      local co = coroutine.create(function() f({ x = { 1 } }, { T = 1 }) end)
      local _, why = coroutine.resume(co)
      error(why, 0)
    end, "callback", "yields")
    assert.equal(line, helper.line(message))
  end)

  it("over no rows is not called", function()
    local P = tempo.program()
    local b = P:dim "b"
    local t = P:dim "t"
    local x = P:input("x", { domain = { b, t } })
    local calls = 0
    local function count(arrays)
      calls = calls + 1
      return arrays[1]
    end
    local y = P:call(count, { x }, { { domain = { b, t } } }, { over = { b } })
    each(function(tier)
      local f = P:compile { outputs = { y = y }, tier = tier }
      calls = 0
      assert.same({}, f({ x = {} }, { B = 0, T = 2 }).y:totable())
      assert.same({ {}, {} }, f({ x = { {}, {} } }, { B = 2, T = 0 }).y:totable())
      assert.equal(0, calls)
    end)
  end)

  it("gives its arrays back at once, whatever the collector does", function()
    local P = tempo.program()
    local t = P:dim "t"
    P:sink({ tempo.full({ 250000 }, t:value():to "f32") }, function() end)
    local f = P:compile { tier = "interpreter" }
    local function resident()
      local file = assert(io.open "/proc/self/status")
      local text = file:read "*a"
      file:close()
      return tonumber(text:match "VmRSS:%s+(%d+)")
    end
    f({}, { T = 2 })
    collectgarbage "stop"
    local before = resident()
    f({}, { T = 200 })
    local grown = resident() - before
    collectgarbage "restart"
    assert.is_true(grown < 50000, grown .. " KiB")
  end)

  it("is checked when it is recorded", function()
    local P = tempo.program()
    local t = P:dim "t"
    local u = P:dim "u"
    local x = P:input("x", { domain = { t } })
    local function f() end
    fails(function() P:call(1, { x }, { {} }) end, "option", "function")
    fails(function() P:call(f, x, { {} }) end, "option", "{a, b}")
    fails(function() P:call(f, { x }, {}) end, "option", "P:sink")
    fails(function() P:call(f, { x }, { { domian = { t } } }) end, "option", "domain")
    fails(function() P:call(f, { x }, { { domain = { t } }, {} }) end, "domain", "same domain")
    fails(function() P:call(f, { x }, { { domain = { u } } }) end, "domain")
    fails(function()
      P:call(f, { x }, { { domain = { t } } }, { over = { u } })
    end, "domain", "'u'")
    fails(function() P:sink(f, { x }) end, "option")
  end)
end)

-- Tier "auto": a run begins in the interpreter and goes on in native code, between calls, ticks and
-- iterations, with the same bits; what becomes of the compiler beside it.
local helper = require "spec.helper"

local source = [[
  local tempo = require "tempo"
  local programs = {}
  function programs.lorenz(P)
    local t, T = P:dim "t"
    local x, y, z = P:tensor { domain = { t } }, P:tensor { domain = { t } }, P:tensor { domain = { t } }
    x[0], y[0], z[0] = 1, 1, 1
    x[t] = x[t - 1] + 0.05 * (y[t - 1] - x[t - 1])
    y[t] = y[t - 1] + 0.005 * (x[t - 1] * (28 - z[t - 1]) - y[t - 1])
    z[t] = z[t - 1] + 0.005 * (x[t - 1] * y[t - 1] - z[t - 1] * 2.6667)
    return { x = x[T - 1], y = y[T - 1], mean = z[0 .. T]:mean(0) }
  end
  function programs.backward(P)
    local t, T = P:dim "t"
    local x, back = P:tensor { domain = { t }, shape = { 3 } }, P:tensor { domain = { t }, shape = { 3 } }
    x[0] = { 0.1, 0.2, 0.3 }
    x[t] = (x[t - 1] * 3.9) * (1 - x[t - 1])
    back[T - 1] = x
    back[t] = x * 0.25 + (back[t + 1] * x):sin()
    return { back = back[0], x = x[T - 1] }
  end
  function programs.grid(P)
    local p, M = P:dim("p", "T")
    local q, N = P:dim("q", "N")
    local d = P:tensor { domain = { p, q } }
    d[{ p = 0 }], d[{ q = 0 }] = q:value():to "f32", p:value():to "f32"
    d:otherwise((d[{ p - 1, q }] + 1.25):minimum(d[{ p, q - 1 }] + 1.5):minimum(d[{ p - 1, q - 1 }] + (p:value() % 3):to "f32"))
    return { d = d }
  end
  function programs.learner(P)
    local i = P:dim("i", "T")
    local t, T = P:dim("t", "N")
    local w = P:param("w", { along = { i }, shape = { 3 }, init = { 0.5, -0.25, 1 } })
    local x = tempo.normal({ 3 }, { domain = { i, t }, name = "x" })
    local h = P:tensor { domain = { i, t }, shape = { 3 } }
    h[{ t = 0 }] = x * w
    h:otherwise((h[t - 1] * 0.5 + x * w):tanh())
    local loss = (h * h)[{ t = 0 .. T }]:sum(0):mean()
    tempo.optim.Adam({ w }, { lr = 0.1 }):step(loss)
    return { loss = loss, h = h[{ t = T - 1 }] }
  end
  local function compiled(name, tier, tick)
    local P = tempo.program { seed = 3 }
    return P:compile { outputs = programs[name](P), tier = tier }
  end
  local function bits(v)
    if type(v) == "number" then return ("%a"):format(v) end
    local s = {}
    for k, x in ipairs(v) do s[k] = bits(x) end
    return "{" .. table.concat(s, ",") .. "}"
  end
  local function text(out)
    local s = {}
    for _, k in ipairs { "x", "y", "mean", "back", "d", "loss", "h" } do s[#s + 1] = out[k] and k .. bits(out[k]:totable()) end
    return table.concat(s, " ")
  end
  local function tier(f) return f:explain():match "^tier auto %((.-)%)" end
  local until_time = os.time() + 120
  local function late() assert(os.time() < until_time, "native code does not come") return true end
]]

describe("tier auto", function()
  local folder
  before_each(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir -p " .. folder .. "/cache"))
    assert(os.execute("chmod 700 " .. folder .. "/cache"))
  end)
  after_each(function() os.execute("rm -rf " .. folder) end)

  local function run(body, settings)
    return helper.script(source .. body, nil,
      ("export TEMPO_CACHE=%s/cache; %s"):format(folder, settings or ""))
  end
  local function listed()
    local p = assert(io.popen("ls " .. folder .. "/cache"))
    local names = p:read "*a"
    p:close()
    return names
  end
  local function compiler(text)
    local file = assert(io.open(folder .. "/cc", "w"))
    file:write("#!/bin/sh\n" .. text .. "\n")
    file:close()
    assert(os.execute("chmod +x " .. folder .. "/cc"))
    return ("export CC=%s/cc TEMPO_NATIVE_AFTER=0; "):format(folder)
  end
  -- Until what is in the cache is this, or nothing more comes.
  local function wait_for(pattern)
    for _ = 1, 300 do
      if listed():find(pattern) then return true end
      os.execute "sleep 0.1"
    end
  end

  it("goes on in native code between calls, with the same bits", function()
    for _, name in ipairs { "lorenz", "backward", "grid", "learner" } do
      local out = run(([[
        local f, g, bounds = compiled(%q, "auto"), compiled(%q, "interpreter"), { T = 60, N = %q ~= "lorenz" and %q ~= "backward" and 40 or nil }
        local want = text(g({}, bounds))
        repeat assert(text(f({}, bounds)) == want, "before") until tier(f) == "native code" or not late()
        assert(text(f({}, bounds)) == want, "after")
        assert(f:explain "code":find("tp_part_0", 1, true))
        print "fine"]]):format(name, name, name, name), "export TEMPO_NATIVE_AFTER=0; ")
      assert.equal("fine\n", out)
    end
  end)

  it("goes on in native code in the midst of a call", function()
    local out = run([[
      local f, T = compiled("lorenz", "auto"), 30000000
      local got = text(f({}, { T = T }))
      assert(tier(f) == "native code", "it has not come while the call ran")
      local most = 0
      for calls in f:profile(100):gmatch "%%%s+(%d+)%s" do most = math.max(most, tonumber(calls)) end
      assert(most > 0 and most < T, "all of it was interpreted")
      assert(text(compiled("lorenz", "native")({}, { T = T })) == got)
      print "fine"]], "export TEMPO_NATIVE_AFTER=0.2 TEMPO_MEMORY=none; ")
    assert.equal("fine\n", out)
  end)

  it("at any iteration", function()
    for _, name in ipairs { "lorenz", "backward", "grid", "learner" } do
      for _, late in ipairs { 1, 2, 7, 38 } do
        local out = run(([[
          local bounds = { T = 50, N = %q ~= "lorenz" and %q ~= "backward" and 40 or nil }
          assert(text(compiled(%q, "native")({}, bounds)) == text(compiled(%q, "interpreter")({}, bounds)))
          print "fine"]]):format(name, name, name, name), ("export TEMPO_LATE=%d; "):format(late))
        assert.equal("fine\n", out)
      end
    end
  end)

  it("goes on in native code between ticks, and states go on in another tier", function()
    local out = run([[
      local function stepped(tier)
        local P = tempo.program()
        local t, T = P:dim "t"
        local x = P:input("x", { domain = { t } })
        local h = P:tensor { domain = { t }, shape = { 40 } }
        h[0] = tempo.ones { 40 }
        h[t] = (h[t - 1] * 0.9 + x):tanh()
        return P:compile { outputs = { y = h:sum() }, tick = t, tier = tier }
      end
      local f, g, N = stepped "auto", stepped "interpreter", 100000000
      f:start({}, { T = N })
      g:start({}, { T = N })
      local n = 0
      local function both(budget)
        n = n + 1
        local _, a = f:step({ x = n % 7 }, budget)
        local _, b = g:step({ x = n % 7 }, budget)
        assert(bits(a.y:item()) == bits(b.y:item()), n)
      end
      repeat both(n % 5 == 0 and { budget_ms = 0 } or nil) until tier(f) == "native code" or not late()
      for _ = 1, 10 do both() end
      local h = stepped "interpreter"
      h:load_state(f:state())
      g:load_state(f:state())
      for _ = 1, 5 do
        n = n + 1
        local _, a = h:step { x = n % 7 }
        local _, b = f:step { x = n % 7 }
        assert(bits(a.y:item()) == bits(b.y:item()))
      end
      print "fine"]], "export TEMPO_NATIVE_AFTER=0; ")
    assert.equal("fine\n", out)
  end)

  it("takes what the cache has, and no compiler then", function()
    local body = [[
      local f = compiled("lorenz", "auto")
      repeat f({}, { T = 1000 }) until tier(f) == "native code" or not late()
      print "fine"]]
    assert.equal("fine\n", run(body, "export TEMPO_NATIVE_AFTER=0; "))
    assert.equal("fine\n", run(body, "export TEMPO_NATIVE_AFTER=100000; "))
  end)

  it("asks nothing of short programs", function()
    local settings = compiler("echo x > " .. folder
      .. "/asked; exec cc \"$@\""):gsub("TEMPO_NATIVE_AFTER=0", "")
    assert.equal("interpreter\n", run([[
      local f = compiled("lorenz", "auto")
      for _ = 1, 10 do f({}, { T = 100 }) end
      print(tier(f))]], settings))
    assert.is_nil(io.open(folder .. "/asked"))
    assert.equal("", listed())
  end)

  it("stays in the interpreter without a compiler, and says why where it is asked", function()
    for _, case in ipairs { { "exit 1", "cc' failed" },
      { "echo 'x.c:1: error: no such thing' >&2; exit 1", "error: no such thing" } } do
      local out = run([[
        local f = compiled("lorenz", "auto")
        local want = text(f({}, { T = 100 }))
        repeat assert(text(f({}, { T = 100 })) == want) until f:explain():find "no native code" or not late()
        print(tier(f), f:explain():match "no native code[^\n]*")]], compiler(case[1]))
      assert.truthy(out:find("^interpreter\tno native code: '"), out)
      assert.truthy(out:find(case[2], 1, true), out)
      assert.equal("", listed())
    end
    local out = run([[
      local f = compiled("lorenz", "auto")
      for _ = 1, 3 do f({}, { T = 100 }) end
      print(f:explain():match "no native code[^\n]*")]], "export TEMPO_NATIVE_AFTER=0 TEMPO_CACHE=none; ")
    assert.truthy(out:find("no folder for it", 1, true), out)
  end)

  it("stops a compiler that does not end, and says so where it is asked", function()
    local out = run([[
      local f = compiled("lorenz", "auto")
      local want = text(f({}, { T = 100 }))
      repeat assert(text(f({}, { T = 100 })) == want) until f:explain():find "no native code" or not late()
      print(tier(f), f:explain():match "no native code[^\n]*")]], compiler "sleep 1000" .. "export TEMPO_NATIVE_LIMIT=0.2; ")
    assert.truthy(out:find("^interpreter\tno native code: '"), out)
    assert.truthy(out:find("has not ended within the limit", 1, true), out)
    assert.equal("", listed())
  end)

  it("compiles again what is damaged in the cache, and keeps nothing in a folder of others",
    function()
    local body = [[
      local f = compiled("lorenz", "auto")
      local want = text(f({}, { T = 100 }))
      repeat assert(text(f({}, { T = 100 })) == want) until f:explain():find "no native code" or tier(f) == "native code" or not late()
      print(tier(f), f:explain():match "no native code[^\n]*")]]
    local settings = "export TEMPO_NATIVE_AFTER=0; "
    assert.equal("native code\tnil\n", run(body, settings))
    assert(os.execute(("for f in %s/cache/*.so; do truncate -s 5000 $f; done"):format(folder)))
    assert.equal("native code\tnil\n", run(body, settings))
    assert(os.execute(
      ("rm -rf %s/cache && mkdir -m 700 %s/cache && echo mine > %s/cache/notes"):format(folder,
      folder, folder)))
    local out = run(body, settings)
    assert.truthy(out:find("^interpreter\tno native code: '.-' holds files of others"), out)
    assert.equal("notes\n", listed())
  end)

  it("leaves to the compiler what it has begun when the process ends, and nothing else", function()
    local body = [[
      local f = compiled("lorenz", "auto")
      f({}, { T = 10 })
      f({}, { T = 10 })
      if ... then os.exit(0, true) end
      print(tier(f))
      io.stdout:close()]]
    assert.equal("interpreter\n", run(body, compiler "sleep 1; exec cc \"$@\""))
    assert.truthy(listed():find "^%x+%.%d+%.%d+%.c\n$", listed())
    assert.is_true(wait_for "^(%x+)%.c\n%1%.so\n$", listed())
    assert(os.execute(("rm %s/cache/*"):format(folder)))
    assert.equal("interpreter\n", run(body, compiler "sleep 1; exit 1"))
    assert.is_true(wait_for "^$", listed())
  end)

  it("leaves no child behind that nobody waits for", function()
    local out = run([[
      for k = 1, 3 do
        local f = compiled("lorenz", "auto")
        for _ = 1, 2 do f({}, { T = 10 }) end
        f = nil
        collectgarbage()
        collectgarbage()
      end
      os.execute "sleep 1"
      local g = compiled("grid", "auto")
      for _ = 1, 2 do g({}, { T = 3, N = 3 }) end
      g = nil
      collectgarbage()
      collectgarbage()
      os.execute "sleep 1"
      compiled("grid", "auto")
      local pid = io.open "/proc/self/stat":read "n"
      local p = io.popen("env -u LD_PRELOAD ps -o stat= --ppid " .. pid)
      local states = p:read "*a"
      p:close()
      print(states:find "Z" and states or "none")]], compiler "exit 1")
    assert.equal("none\n", out)
  end)
end)

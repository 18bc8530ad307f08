-- compile { async = true }: another thread compiles, the script goes on.
local tempo = require "tempo"
local helper = require "spec.helper"

-- h[t] = h[t - 1] / 2 + x[t], and more of them, each over the one before.
local function chain(P, n)
  local t = P:dim "t"
  local y = P:input("x", { domain = { t } })
  for _ = 1, n do
    local h, before = P:tensor { domain = { t } }, y
    h[0] = before
    h:otherwise(h[t - 1] / 2 + before)
    y = h
  end
  return y, t
end

describe("compile { async = true }", function()
  it("gives the function that compile gives, while the script records on", function()
    helper.each(function(tier)
      local P = tempo.program()
      local y, t = chain(P, 40)
      local want = P:compile { outputs = { y = y }, tier = tier }
      local f = P:compile { outputs = { y = y }, tier = tier, async = true }
      local z = y
      for _ = 1, 200 do z = (z + t):tanh() end
      local g = P:compile { outputs = { z = z }, tier = tier, async = true }
      local call = { { x = { 1, 2, 3 } }, { T = 3 } }
      assert.same(want(call[1], call[2]).y:totable(), f(call[1], call[2]).y:totable())
      assert.equal(want:explain "graph", f:explain "graph")
      assert.equal(want:explain "schedule", f:explain "schedule")
      assert.equal(3, #g(call[1], call[2]).z:totable())
      f:load_state(want:start(call[1], call[2]):state())
    end)
  end)

  it("is ready when nothing would wait", function()
    local P = tempo.program()
    local f = P:compile { outputs = { y = chain(P, 40) }, async = true }
    assert.truthy(tostring(f):find "^tempo.Function")
    while not f:ready() do end
    assert.is_true(f:ready())
    assert.truthy(tostring(f):find "^tempo.Function<")
    assert.is_true(P:compile { outputs = { y = P:bound "N":value() } }:ready())
  end)

  it("raises what compiling fails with where the function is used, each time", function()
    local P = tempo.program()
    local t = P:dim "t"
    local h = P:tensor { domain = { t } }
    h:otherwise(h[t + 1] + h[t - 1])
    local _, want = pcall(P.compile, P, { outputs = { h = h } })
    assert.truthy(tostring(want):find("cycle: 'h' at t = 0 needs itself", 1, true))
    local f = P:compile { outputs = { h = h }, async = true }
    for _ = 1, 2 do
      for _, use in ipairs { function() f({}, { T = 3 }) end, function() f:explain() end,
        function() f:start({}, { T = 3 }) end } do
        local ok, why = pcall(use)
        assert.is_false(ok)
        assert.equal(tostring(want), tostring(why))
      end
    end
    assert.is_true(f:ready())
    f:free()
    assert.is_false(pcall(f.ready, f))
    local ok, why = pcall(P.compile, P, { outputs = { h = h }, async = true, passes = "cez" })
    assert.is_false(ok)
    assert.truthy(tostring(why):find("unknown pass 'cez'", 1, true))
    assert.is_false(pcall(P.compile, P, { outputs = { h = h }, async = 1 }))
  end)

  it("warns where the function is used", function()
    local told, warn = {}, tempo.warn
    tempo.warn = function(text) told[#told + 1] = text end
    local P = tempo.program()
    local x, y = P:input "x", P:input "y"
    local f = P:compile { outputs = { g = tempo.grad(x * x, { y })[1] }, async = true }
    assert.equal(0, #told)
    f({}, {})
    f({}, {})
    tempo.warn = warn
    assert.equal(1, #told)
    assert.truthy(told[1]:find("does not contain 'y'", 1, true))
  end)

  it("is ended by free and by the collector, whatever it is doing", function()
    local P = tempo.program()
    local y = chain(P, 1000)
    for k = 1, 4 do
      local f = P:compile { outputs = { y = y }, async = true }
      if k % 2 == 0 then f:free() end
      f = nil -- luacheck: ignore
      collectgarbage()
      collectgarbage()
    end
  end)

  it("waits until a hook raises, and goes on", function()
    local out = helper.script [[
      local tempo = require "tempo"
      tempo.warn = false
      local P = tempo.program()
      local t = P:dim "t"
      local y = P:input("x", { domain = { t } })
      for _ = 1, 3000 do
        local h, before = P:tensor { domain = { t } }, y
        h[0] = before
        h:otherwise((h[t - 1] * 0.5 + before):tanh())
        y = h
      end
      local f = P:compile { outputs = { y = y }, tier = "interpreter", async = true }
      local p = io.popen "echo $PPID"
      os.execute("(sleep 0.2; kill -INT " .. p:read "*n" .. ") &")
      p:close()
      local ok, why = pcall(f.explain, f, "passes")
      print(ok, (tostring(why):gsub("^.*: ", "")))
      f:free()
      local g = P:compile { outputs = { y = P:input("z", { domain = { t } }) * 2 }, async = true }
      print(g({ z = { 1, 2 } }, { T = 2 }).y) ]]
    assert.equal("false\tinterrupted!\n[2. 4.]\n", out)
  end)
end)

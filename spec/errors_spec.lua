-- docs/language.md, section 10: every error has the script's line, its class's word, and what to
-- write instead.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails = helper.fails

local function here() return debug.getinfo(2, "l").currentline end

describe("an error", function()
  local P, t, x

  before_each(function()
    P = tempo.program()
    t = P:dim "t"
    x = P:input("x", { domain = { t }, shape = { 3 } })
  end)

  it("while recording has the line that runs", function()
    local line
    local message = fails(function()
      line = here() + 1
      return x + tempo.zeros { 4 }
    end, "shape", "3", "4")
    assert.equal(line, helper.line(message))
  end)

  it("while compiling has the line of the read", function()
    local line = here() + 1
    local y = x[t + 1]
    local message = fails(function() P:compile { outputs = { y = y } } end, "domain", "'x'")
    assert.equal(line, helper.line(message))
  end)

  it("is of the first class that applies", function()
    local h = P:tensor { domain = { t }, shape = { 3 }, name = "h" }
    h[t] = h[t] + h[t - 1] + x[t + 1]
    for _, tier in ipairs(helper.tiers) do
      fails(function()
        P:compile { outputs = { h = h }, tier = tier }
      end, "cycle: 'h' at t = 0 needs itself")
    end
    local g = P:tensor { domain = { t }, shape = { 3 }, name = "g" }
    g[t + 1] = x[t + 2]
    fails(function() P:compile { outputs = { g = g } } end, "undefined: 'g' has no branch at t = 0")
    g:otherwise(0)
    fails(function() P:compile { outputs = { g = g } } end, "domain: 'x'")
  end)

  it("calls a parameter by its own name", function()
    local w = P:param("w", { along = { t }, init = 1 })
    w[t + 1] = w[t + 1]
    fails(function() P:compile { outputs = { y = w } } end, "cycle", "'w'")
  end)

  it("while compiling has the line of the branch", function()
    local h = P:tensor { domain = { t }, shape = { 3 } }
    h:when(t:ge(1), 0)
    h:when(t:lt(1), 0)
    local line = here() + 1
    h[3] = 1
    local message = fails(function() P:compile { outputs = { h = h } } end, "undefined")
    assert.equal(line, helper.line(message))
  end)

  it("at a call has the line of the read, or of the call", function()
    local line = here() + 1
    local f = P:compile { outputs = { y = x[2] } }
    local message = fails(function() f({ x = { { 1, 2, 3 } } }, { T = 1 }) end, "domain", "T >= 3")
    assert.equal(line, helper.line(message))
    message = fails(function()
      line = here() + 1
      f({ x = { { 1, 2, 3 } } }, { S = 1 })
    end, "bound", "'S'")
    assert.equal(line, helper.line(message))
  end)

  it("names the nearest option, method and function", function()
    fails(function() P:input("y", { shap = {} }) end, "option", "'shap'", "'shape'")
    fails(function() P:compile { output = {} } end, "option", "'output'", "'outputs'")
    fails(function()
      P:compile { outputs = { x = x }, tier = "referense" }
    end, "option", "'reference'")
    fails(function() return (x:summ()) end, "option", "'summ'", "'sum'")
    fails(function()
      return (x:sum(0, { keepdims = true }))
    end, "option", "'keepdims'", "'keepdim'")
    fails(function() return (P:inputt "y") end, "option", "'input'")
    fails(function() return (tempo.zeroes { 3 }) end, "option", "'zeroes'", "'zeros'")
    fails(function() tempo.program { sed = 1 } end, "option", "'seed'")
    fails(function() P:input("y", { dtype = "float32" }) end, "option", "float32", "f32")
    fails(function() P:env_reset("CartPol-v1", x) end, "option", "CartPole-v1")
    fails(function()
      P:input("y", { axes = {} })
    end, "option: input has no 'axes'; there is 'domain', 'dtype' and 'shape'")
    fails(function() tempo.program { SEED = 1 } end, "'seed'")
    local f = P:compile { outputs = { x = x } }
    fails(function() f({ x = {} }, { B = 0 }) end, "bound: unknown bound 'B'; there is 'T'")
    fails(function() f({ obs = {} }, { T = 0 }) end, "input: unknown input 'obs'; there is 'x'")
    fails(function() f({ x = {} }, { T = 0 }, { sed = 0 }) end, "'seed'")
    fails(function() f:explain "plam" end, "'plan'")
    fails(function() tempo.optim.SGD({}, { r = 1 }) end, "'lr'")
    fails(function() return tempo.optim.sgd end, "'SGD'")
    fails(function() return tempo.nn.liner end, "'Linear'")
    fails(function() return tempo.dist.Categorial end, "'Categorical'")
    fails(function() return tempo.rl.gea end, "'gae'")
    fails(function() return tempo.optm end, "'optim'")
  end)

  it("of the environment names the setting or the value", function()
    local text = [[
      local P = require "tempo".program()
      P:compile { outputs = { x = P:input "x" } } ]]
    local out = helper.script(text, nil, "export TEMPO_TIER=fast; ")
    assert.truthy(
      out:find(":2: option: TEMPO_TIER is 'fast'; it may be auto, reference, interpreter or native",
      1, true), out)
    out = helper.script(text, nil, "export TEMPO_DUMP=cse,nosuch; ")
    assert.truthy(
      out:find(":2: option: TEMPO_DUMP has 'nosuch'; there is record, again, build, schedule, ", 1,
      true), out)
    out = helper.script(text, nil, "export TEMPO_PASSES=csee=false; ")
    assert.truthy(out:find(":2: option: unknown pass 'csee'; did you mean 'cse'?", 1, true), out)
  end)

  it("of an assignment says that there is none", function()
    fails(function() P.dims = 1 end, "option", "tempo.Program")
    fails(function() t.name = 1 end, "option", "tempo.Index")
    fails(function() (0 .. t).lo = 1 end, "option", "tempo.Range")
    local f = P:compile { outputs = { x = x } }
    fails(function() f.outputs = 1 end, "option", "tempo.Function")
  end)

  it("counts arguments", function()
    fails(function() return (x:matmul()) end, "option", "'matmul'")
    fails(function() return (x:exp(1, 2)) end, "option", "'exp'")
    fails(function() return (x:sum "a") end, "option", "'sum'")
    fails(function() return x + print end, "option", "'add'")
    fails(function() return x + nil end, "option", "'add'")
    fails(function() return (x:sum(0, { keepdim = 1 })) end, "option", "keepdim")
    fails(function() return (x:clamp("1", 2)) end, "option", "clamp")
    fails(function() return (x:reshape { 1.5 }) end, "affine", "1.5")
  end)

  it("of mixed programs is an option", function()
    local Q = tempo.program()
    local s = Q:dim "s"
    local y = Q:input("y", { domain = { s } })
    fails(function() return x + y end, "option", "two programs")
    fails(function() return x[s] end, "option", "program")
    fails(function() return (P:compile { outputs = { y = y } }) end, "option", "program")
    fails(function() return (P:tensor { domain = { s } }) end, "option", "program")
    local h = P:tensor { domain = { t } }
    fails(function() h[t] = y end, "option", "program")
  end)

  it("of a dtype says how to convert", function()
    fails(function() return (x:land(x)) end, "dtype")
    fails(function() return (x:gather(0, x)) end, "dtype")
  end)

  it("leaves everything usable", function()
    pcall(function() return x + tempo.zeros { 4 } end)
    pcall(function() return P:compile { outputs = { y = x[t + 1] } } end)
    local y = helper.value(P, x * 2, { x = { { 1, 2, 3 } } }, { T = 1 })
    assert.same({ { 2, 4, 6 } }, y)
  end)

  it("about what is not there yet", function()
    fails(function() P:compile { outputs = { x = x } }:explain "grap" end, "option", "graph")
    fails(function() P:compile {} end, "option", "outputs")
  end)

  it("what a device lacks is told by tempo.devices and by compile", function()
    local seen = {}
    for _, d in ipairs(tempo.devices()) do
      seen[d.device] = true
      if d.missing then
        assert.is_nil(d.missing:find "\n")
        fails(function()
          P:compile { outputs = { x = x }, device = d.device }
        end, "device", d.missing)
      end
    end
    assert.same({ cpu = true, cuda = true, opencl = true }, seen)
    assert.same("cpu", tempo.devices()[1].device)
  end)
end)

describe("an error object", function()
  local P = tempo.program()
  local t = P:dim "t"
  local x = P:input("x", { domain = { t } })
  local line = here() + 1
  local y = x[t + 1]
  local _, e = pcall(P.compile, P, { outputs = { y = y } })
  local text = tostring(e)

  it("has a code, a place, a message and notes", function()
    assert.equal("domain", e.code)
    assert.equal(line, e.where.line)
    assert.truthy(e.where.file:find "errors_spec%.lua$")
    assert.equal(e.where.file .. ":" .. line, tostring(e.where))
    assert.equal(1, e.message:find "domain: 'x' is read")
    assert.equal(2, #e.notes)
    assert.truthy(e.notes[2]:find("tempo.min(t + 1, T - 1)", 1, true))
    assert.equal(("%s:%d: %s\n%s\n%s"):format(e.where.file, line, e.message, e.notes[1],
      e.notes[2]), text)
  end)

  it("stands for its text", function()
    assert.equal(text, e.text)
    assert.equal("so: " .. text, "so: " .. e)
    assert.equal(text .. "!", e .. "!")
    assert.equal(text:find "read", (e:find "read"))
    assert.equal("domain", e:match "%d: (%l+)")
    assert.equal(text:upper(), e:upper())
    assert.equal(text, ("%s"):format(tostring(e)))
    if not jit then assert.equal(#text, #e) end
    assert.is_nil(e.nothing)
    assert.matches("domain", e)
    assert.error_matches(function() P:compile { outputs = { y = y } } end, "domain: 'x'")
  end)

  it("is raised on as it is", function()
    local again = select(2, pcall(error, e, 0))
    assert.equal(e, again)
    local f = P:compile {
      outputs = { z = P:call(function() error(e) end, { x }, { { domain = { t } } }) } }
    assert.equal(e, select(2, pcall(f, { x = { 1 } }, { T = 1 })))
  end)

  it("comes from the libraries too", function()
    local at = here() + 1
    local _, mistake = pcall(function() return tempo.nn.Linear(P, 2, 1, { bia = true }) end)
    assert.equal("option", mistake.code)
    assert.equal(at, mistake.where.line)
    assert.truthy(mistake:find("did you mean 'bias'", 1, true))
  end)

  it("of a method that is made of others names that method, and leaves the next one alone",
    function()
    local m = P:input("in a body", { shape = { 2, 3 } })
    for _ = 1, 2 do
      local at = here() + 1
      local _, mistake = pcall(function() return m:softmax(2) end)
      assert.equal(at, mistake.where.line)
      assert.truthy(mistake:find("shape: 'softmax': axis 2 of a tensor with 2 axes", 1, true),
        tostring(mistake))
    end
    assert.same({ 2, 3 }, m:softmax(1):shape())
  end)

  it("says where bodies in Lua are missing, when one is called", function()
    local out = helper.script [[
      local tempo = require "tempo"
      package.path = ""
      print(pcall(tempo.sum, { 1, 2 }))
      print(pcall(tempo.softmax, { 1, 2 }))]]
    assert.truthy(out:find "^true", out)
    assert.truthy(out:find("option: the library tempo.methods is nowhere on package.path", 1, true),
      out)
  end)

  it("is what the standalone interpreter prints", function()
    local out = helper.script 'local P = require "tempo".program()\nP:compile { output = {} }'
    assert.truthy(out:find(":2: option: compile has no 'output'; did you mean 'outputs'?", 1, true),
      out)
  end)
end)

describe("tempo.warn", function()
  local function draw(seen)
    local was = tempo.warn
    tempo.warn = seen
    local ok, e = pcall(function()
      local P = tempo.program()
      local t = P:dim "t"
      return P:input("x", { domain = { t } }) + tempo.uniform {}
    end)
    tempo.warn = was
    return ok, e
  end

  it("gets every warning with its line", function()
    local got = {}
    assert.truthy(draw(function(text) got[#got + 1] = text end))
    assert.equal(1, #got)
    assert.truthy(got[1]:find "errors_spec%.lua:%d+: a random tensor")
  end)

  it("may be silent, or an error", function()
    assert.truthy(draw(false))
    local ok, e = draw(error)
    assert.falsy(ok)
    assert.truthy(tostring(e):find("a random tensor", 1, true))
  end)

  it("tells of a gradient that nothing needs, on stderr", function()
    local out = helper.script [[
      local tempo = require "tempo"
      local P = tempo.program()
      local i = P:dim "i"
      local w = P:param("w", { along = { i }, init = 1 })
      local g = tempo.grad(w * w, { w })[1]
      P:compile { outputs = { w = w } }
      assert(g) ]]
    assert.truthy(out:find "^tempo: warning: [^\n]*:5: ", out)
    assert.truthy(out:find("'w'", 1, true))
  end)
end)

describe("text of a tensor", function()
  it("says dtype, domain, shape, name and line", function()
    local P = tempo.program()
    local t = P:dim "t"
    local line = here() + 1
    local h = P:tensor { domain = { t }, shape = { 4, 3 }, name = "h" }
    local text = tostring(h)
    assert.truthy(text:find('tempo.Tensor<f32 (t:T) [4, 3]> "h" at ', 1, true), text)
    assert.truthy(text:find("errors_spec.lua:" .. line, 1, true), text)
    assert.equal("h", h:name())
    assert.equal(h, h:name "g")
    assert.equal("g", h:name())
    assert.equal("x", P:input("x"):name())
    assert.truthy(tostring(P:input("y")):find("tempo.Tensor<f32 () []>", 1, true))
    assert.truthy(tostring(tempo.zeros { 2 }):find("tempo.Tensor<f32 () [2]>", 1, true))
    assert.truthy(tostring(P):find("tempo.Program", 1, true))
  end)
end)

describe("the module", function()
  it("has a version and prints nothing", function()
    assert.truthy(tempo._VERSION:match "^tempo %d")
    assert.equal("", helper.script 'require "tempo"')
  end)

  it("adds no globals", function()
    assert.equal("", helper.script [[
      local before = {}
      for k in pairs(_G) do before[k] = true end
      require "tempo"
      for k in pairs(_G) do if not before[k] then print(k) end end ]])
  end)

  it("warns once of a loop that unrolls", function()
    local out = helper.script([[
      local tempo = require "tempo"
      local P = tempo.program()
      local x = P:input "x"
      local y = x
      for _ = 1, 3 do
        for _ = 1, 6000 do y = y + x end
      end
      P:compile { outputs = { x = x }, tier = "reference" } ]])
    assert.truthy(out:find("did you mean a dim?", 1, true), out)
    assert.truthy(out:find(":6:", 1, true), out)
    local _, n = out:gsub("did you mean a dim", "")
    assert.equal(1, n)
  end)

  it("warns once of a draw without a domain", function()
    local out = helper.script([[
      local tempo = require "tempo"
      local P = tempo.program()
      local t = P:dim "t"
      local x = P:input("x", { domain = {t} })
      local u = tempo.uniform {}
      local y = x + u
      local z = x * u
      local _ = x + tempo.uniform({}, { domain = {t} }) ]])
    assert.truthy(out:find(":5: a random", 1, true), out)
    local _, n = out:gsub("a random", "")
    assert.equal(1, n)
  end)
end)

describe("states", function()
  it("are independent, and programs are collected", function()
    for _ = 1, 50 do
      local P = tempo.program()
      local t = P:dim "t"
      local x = P:input("x", { domain = { t } })
      assert.equal(x:domain()[1], (x[tempo.max(t - 1, 0)] + 1):domain()[1])
      collectgarbage "step"
    end
    collectgarbage()
    collectgarbage()
    local kept = (function()
      local P = tempo.program()
      return P:dim "t"
    end)()
    collectgarbage()
    collectgarbage()
    assert.equal("t + 1", tostring(kept + 1))   -- a handle keeps its program
    assert.equal("tempo.Program<0 nodes, 0 inputs, 0 parameters>", tostring(kept:program()))
  end)
end)

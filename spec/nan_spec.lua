-- check = "nan": the first NaN or infinity that is made of finite operands ends the run and says
-- where.
local tempo = require "tempo"
local helper = require "spec.helper"

local huge, nan = math.huge, 0 / 0
local tiers = { "reference", "interpreter" }

local function line() return debug.getinfo(2, "l").currentline end

local function seq(n, f)
  local r = {}
  for k = 1, n do r[k] = f(k - 1) end
  return r
end

-- make(P) gives outputs, and the line that is to blame. Both tiers are to say `want`: "'y' at
-- t = 2: log('x' = 0) is -inf", or each its own.
local function stops(make, inputs, bounds, want)
  for _, tier in ipairs(tiers) do
    local P = tempo.program { seed = 1 }
    local outputs, at = make(P)
    local f = P:compile { outputs = outputs, tier = tier, check = "nan" }
    local ok, e = pcall(f, inputs, bounds)
    assert.is_false(ok, tier .. " ran to its end")
    assert.equal("nan", e.code)
    assert.equal("nan: " .. (type(want) == "table" and want[tier] or want), e.message)
    assert.equal(at, e.where.line)
    assert.truthy(e.where.file:find "nan_spec.lua")
  end
end

-- Runs to its end on both tiers, with the numbers that it has without a check.
local function passes(make, inputs, bounds)
  local all = {}
  for _, tier in ipairs(tiers) do
    for _, check in ipairs { "none", "nan" } do
      local P = tempo.program { seed = 1 }
      all[#all + 1] = P:compile { outputs = (make(P)), tier = tier, check = check } (inputs, bounds)
      for k, a in pairs(all[1]) do
        local why = helper.differ_arrays(a, all[#all][k], nil,
          ("'%s' on %s, check = %s"):format(k, tier, check))
        if why then error(why, 2) end
      end
    end
  end
  return all[1]
end

local function input(P, name, domain, shape, dtype)
  return P:input(name, { domain = domain, shape = shape, dtype = dtype })
end

describe("check = \"nan\" names the operator, its point, its element and what it was made of",
  function()
  it("elementwise", function()
    stops(function(P)
      local t = P:dim "t"
      local x = input(P, "x", { t })
      local y, at = x:log() * 2, line()
      return { y = y }, at
    end, { x = { 1, 2, 0, 0 } }, { T = 4 }, "this log at t = 2: log('x' = 0) is -inf")
    stops(function(P)
      local t = P:dim "t"
      local y, at = 1 / input(P, "x", { t }, { 2 }), line()
      return { y = y }, at
    end, { x = { { 1, 2 }, { 1, 0 }, { 0, 0 } } }, { T = 3 },
      "'y' at t = 1: element [1]: div(1, 'x' = 0) is inf")
    stops(function(P)
      local y, at = input(P, "a", {}, { 2, 1 }) % input(P, "b", {}, { 3 }), line()
      return { y = y }, at
    end, { a = { { 1 }, { 5 } }, b = { 1, 2, 0 } }, {},
      "'y': element [0, 2]: mod('a' = 1, 'b' = 0) is nan")
    stops(function(P)
      local y, at = input(P, "x", {}, { 2 }):pow(0.5), line()
      return { y = y }, at
    end, { x = { 4, -4 } }, {}, "'y': element [1]: pow('x' = -4, 0.5) is nan")
  end)

  it("in a recurrence, by the name of the tensor whose branch it makes", function()
    stops(function(P)
      local t = P:dim "t"
      local h = P:tensor { domain = { t }, name = "h" }
      h[0] = 2
      h[t] = h[t - 1] * h[t - 1]
      local at = line() - 1
      return { h = h }, at
    end, {}, { T = 10 }, "'h' at t = 7: mul(1.8446744e+19, 1.8446744e+19) is inf")
  end)

  it("over dims that no loop goes along", function()
    local x = seq(3, function(b)
      return seq(2, function(t)
        return { { 1, 1, b == 2 and t == 0 and 0 or 1 }, { 1, b == 1 and t == 1 and 0 or 1, 1 } }
      end)
    end)
    stops(function(P)
      local b = P:dim "b"
      local t, T = P:dim "t"
      local y, at = input(P, "x", { b, t }, { 2, 3 }):log():name "y", line()
      return { y = y[{ t = 0 .. T }]:sum(0) }, at
    end, { x = x }, { B = 3, T = 2 }, "'y' at b = 1, t = 1: element [1, 1]: log('x' = 0) is -inf")
  end)

  it("in blocks, at the very point", function()
    local x = seq(150, function(t)
      return seq(4, function(i)
        return seq(8, function() return t == 133 and i == 2 and -1 or 1 end)
      end)
    end)
    stops(function(P)
      local t = P:dim "t"
      local w = P:param("w", { shape = { 8, 8 }, init = 0.125 })
      local v, xs = input(P, "v", { t }, { 4, 8 }), input(P, "x", { t }, { 4, 8 })
      local h = P:tensor { domain = { t }, shape = { 4, 8 } }
      h[0] = v
      h[t] = (h[t - 1]:matmul(w) + v:matmul(w)):tanh()
      local r, at = xs:matmul(w):sqrt(), line()
      return { y = (h + r):sum() }, at
    end, { v = seq(150,
      function()
        return seq(4, function() return seq(8, function() return 1 end) end)
      end), x = x }, { T = 150 }, "this sqrt at t = 133: element [2, 0]: sqrt(-1) is nan")
  end)

  it("discarded sides of a where count", function()
    stops(function(P)
      local t = P:dim "t"
      local x = input(P, "x", { t })
      local y, at = tempo.where(x:gt(0), x:log(), 0), line()
      return { y = y }, at
    end, { x = { 1, 0 } }, { T = 2 }, "this log at t = 1: log('x' = 0) is -inf")
  end)

  it("reductions, products of matrices, convolutions, scans", function()
    stops(function(P)
      local y, at = input(P, "x", {}, { 2, 2 }):sum(0), line()
      return { y = y }, at
    end, { x = { { 1e38, 1e38 }, { 2e38, 3e38 } } }, {},
      "'y': element [1]: sum('x' = [1e+38, 1e+38, 2e+38, 3e+38]) is inf")
    stops(function(P)
      local y, at = input(P, "x", {}, { 12 }):prod(), line()
      return { y = y }, at
    end, { x = seq(12, function(k) return k == 3 and 2 or 1e4 end) }, {},
      "'y': prod('x' = [10000, 10000, 10000, 2, 10000, 10000, 10000, 10000, ...]) is inf")
    stops(function(P)
      local a, b = input(P, "a", {}, { 2, 2 }), input(P, "b", {}, { 2, 2 })
      local y, at = a:matmul(b), line()
      return { y = y }, at
    end, { a = { { 1, 1 }, { 1e30, 2 } }, b = { { 1, 1e30 }, { 0, 0 } } }, {},
      "'y': element [1, 1]: matmul('a' = [1, 1, 1e+30, 2], 'b' = [1, 1e+30, 0, 0]) is inf")
    stops(function(P)
      local x, w = input(P, "x", {}, { 1, 1, 6 }), input(P, "w", {}, { 2, 1, 2 })
      local y, at = x:conv1d(w, { stride = 2, padding = 1 }) + 0, line()
      return { y = y }, at
    end, { x = { { { 1e38, 1, 1, 2e38, 2e38, 1 } } }, w = { { { 0, 0 } }, { { 1, 1 } } } }, {},
      "this conv: element [0, 0, 1, 2]: conv([1e+38, 1, 1, 2e+38, 2e+38, 1], [0, 0, 1, 1]) is inf")
    stops(function(P)
      local y, at = input(P, "x", {}, { 2, 4 }):discounted_cumsum(2, 1), line()
      return { y = y }, at
    end, { x = { { 1, 1, 1, 1 }, { 1e38, 1, 1e38, 1e38 } } }, {},
      "'y': element [1, 0]: cumsum('x' = [1, 1, 1, 1, 1e+38, 1, 1e+38, 1e+38]) is inf")
    stops(function(P)
      local y, at = input(P, "x", {}, { 3 }):cumprod(0), line()
      return { y = y }, at
    end, { x = { 1e30, 1e30, 1 } }, {}, "'y': element [1]: cumprod('x' = [1e+30, 1e+30, 1]) is inf")
  end)

  it("what is added up by data", function()
    stops(function(P)
      local k = P:constant(tempo.array({ { 1, 0 }, { 0, 1 }, { 1, 1 } }, "i64"))
      local y, at = tempo.zeros({ 2, 2 }):scatter_add(0, k, input(P, "x", {}, { 3, 2 })), line()
      return { y = y }, at
    end, { x = { { 3e38, 1 }, { 1, 3e38 }, { 1, 3e38 } } }, {},
      "'y': element [1, 1]: scatter_add([0, 0, 0, 0], [1, 0, 0, 1, 1, 1], 'x' = [3e+38, 1, 1, 3e+38, 1, 3e+38]) is inf")
    stops(function(P)
      local x = input(P, "x", {}, { 3, 2 })
      local y, at = x:index_select(0, P:constant(tempo.array({ 1, 1, 0 }, "i64"))), line()
      return { g = tempo.grad((y * 2e38):sum(), x) }, at
    end, { x = { { 1, 1 }, { 1, 1 }, { 1, 1 } } }, {},
      "'g': element [1, 0]: index_add([0, 0, 0, 0, 0, 0], [1, 1, 0], [2e+38, 2e+38, 2e+38, 2e+38, 2e+38, 2e+38]) is inf")
  end)

  it("sums over time, which the interpreter carries in f64 and rounds", function()
    stops(function(P)
      local t, T = P:dim "t"
      local x = input(P, "x", { t })
      local y, at = x[0 .. T]:sum(0), line()
      return { y = y }, at
    end, { x = { 1e38, 2e38, 3e38 } }, { T = 3 },
      { reference = "'y': sum([1e+38, 2e+38, 3e+38]) is inf",
        interpreter = "'y': to('y' = 5.9999999095834635e+38, f32) is inf" })
    -- added up in place: a gradient over a prefix
    stops(function(P)
      local t = P:dim "t"
      local x, at = P:input("x", { domain = { t }, shape = { 2 } }), line()
      return { g = tempo.grad(x[0 .. t + 1]:sum(0) * input(P, "c", { t }, { 2 }), x) }, at
    end, { x = seq(5, function() return { 1, 1 } end),
      c = seq(5, function(t) return { t > 1 and 2e38 or 1, 1 } end) }, { T = 5 },
      { reference = "'g' at t = 0: element [0]: sum(1, 1, 2e+38, 2e+38, 2e+38) is inf",
        interpreter =
          "'g' at t = 0: element [0]: sum(2e+38, [2e+38, 1, 2e+38, 1, 2e+38, 1, 2e+38, 1]) is inf" })
  end)

  it("halves and doubles, and where one becomes the other", function()
    for d, text in pairs { f16 = "mul('x' = 300, 300) is inf",
      f64 = "mul('x' = 1e+160, 1e+160) is inf", bf16 = "mul('x' = 1.7014118e+38, 300) is inf" } do
      stops(function(P)
        local x = input(P, "x", {}, { 2 }, d)
        local y, at = x * (d == "f64" and 1e160 or 300), line()
        return { y = y }, at
      end, { x = tempo.array({ 1, d == "f64" and 1e160 or d == "bf16" and 2 ^ 127 or 300 }, d) },
        {}, "'y': element [1]: " .. text)
    end
    stops(function(P)
      local y, at = input(P, "x", {}, { 2 }, "f64"):to "f32", line()
      return { y = y }, at
    end, { x = { 1e38, -1e39 } }, {}, "'y': element [1]: to('x' = -1e+39, f32) is -inf")
    stops(function(P)
      local y, at = input(P, "x", {}, { 4 }, "f16"):sum(), line()
      return { y = y }, at
    end, { x = { 60000, 60000, 1, 1 } }, {}, "'y': sum('x' = [60000, 60000, 1, 1]) is inf")
  end)

  it("a gradient on the line of what is differentiated", function()
    stops(function(P)
      local t = P:dim "t"
      local x = input(P, "x", { t })
      local y, at = x:sqrt(), line()
      return { g = tempo.grad(y, x) }, at
    end, { x = { 1, 0, 2 } }, { T = 3 }, "'g' at t = 1: div(0.5, 0) is inf")
  end)

  it("updates of parameters", function()
    stops(function(P)
      local i = P:dim "i"
      local w = P:param("w", { along = { i }, init = 1 })
      w:update(w * 1e10)
      return { w = w }, line() - 1
    end, {}, { I = 7 }, "what becomes 'w' at i = 3: mul('w' = 1e+30, 1e+10) is inf")
  end)

  it("environments", function()
    stops(function(P)
      local y, at = P:env_obs("CartPole-v1", input(P, "s", {}, { 5 }, "f64")) * 1, line()
      return { y = y }, at
    end, { s = { 1, 1e300, 0, 0, 0 } }, {},
      "this env_obs: element [1]: env_obs('s' = [1, 1e+300, 0, 0, 0]) is inf")
  end)

  it("a variance of one element", function()
    stops(function(P)
      local t = P:dim "t"
      local v, at = input(P, "x", { t })[0 .. t]:var(0), line()
      return { v = v }, at
    end, { x = { 1, 2, 3 } }, { T = 3 }, "'v' at t = 1: div(0, 0) is nan")
  end)
end)

describe("check = \"nan\" lets pass", function()
  it("what comes in as NaN or infinity and what is made of it", function()
    local out = passes(function(P)
      local t = P:dim "t"
      local x = input(P, "x", { t }, { 2 })
      local y = P:call(function(a)
        return { a[1]:get(0) * nan, huge }
      end, { x }, { { domain = { t }, shape = { 2 } } })
      local z = P:source(function() return { nan, 1 } end, { domain = { t }, shape = { 2 } })
      local lit = x:clamp(0, 1) - tempo.where(x:gt(0), 0, huge)
      return { x = x * 2 + 1, y = y * y, z = z - z, lit = lit, sum = x:sum(),
        m = x:unsqueeze(0):matmul(x) }
    end, { x = { { 1, huge }, { 1, nan } } }, { T = 2 })
    assert.equal(huge, out.x:get(0, 1))
  end)

  it("empty ranges: max, mean, var and logsumexp of nothing", function()
    local out = passes(function(P)
      local t = P:dim "t"
      local x = input(P, "x", { t })
      local r = x[0 .. t]
      return { max = r:max(0), min = r:min(0), mean = r:mean(0), var = r:var(0, { correction = 0 }),
        lse = r:logsumexp(0), sum = r:sum(0), none = tempo.ones({ 0 }):mean() + t:value() }
    end, { x = { 1, 2 } }, { T = 2 })
    assert.equal(-huge, out.max:get(0))
    assert.is_true(out.mean:get(0) ~= out.mean:get(0) and out.var:get(0) ~= out.var:get(0)
      and out.none:get(0) ~= out.none:get(0))
    assert.equal(-huge, out.lse:get(0))
  end)

  it("masks of -inf", function()
    local out = passes(function(P)
      local x = input(P, "x", {}, { 4 })
      local none = tempo.where(x:gt(9), x, -huge)
      return { s = tempo.where(x:gt(0), x, -huge):softmax(0), l = none:logsumexp(0),
        m = none:log_softmax(0) }
    end, { x = { 1, 2, -1, 0 } }, {})
    helper.same({ 1 / (1 + math.exp(1)), math.exp(1) / (1 + math.exp(1)), 0, 0 },
      helper.plain(out.s), 1e-6)
  end)

  it("rows that have ended, whatever would come of them", function()
    passes(function(P)
      local b = P:dim "b"
      local t, T = P:dim "t"
      local h = P:tensor { domain = { b, t } }
      h[{ t = 0 }] = (b:value() + 1):to "f32"
      h:otherwise(h[{ b, t - 1 }] * 1e6)
      P:stop(t, h:gt(1e20))
      local all = { t = 0 .. T }
      return { h = h, s = (h * 1e10)[all]:sum(0), e = (h:log() * 3)[all]:mean(0),
        last = 1 / h[{ t = T - 1 }], x = input(P, "x", { b, t })[all]:sum(0) }
    end, { x = seq(3, function() return seq(30, function(t) return t > 5 and 3e38 or 1 end) end) },
      { B = 3, T = 30 })
  end)

  it("rows that have ended, which a sum from each point on reads", function()
    local out = helper.script([=[
      local tempo = require "tempo"
      local P = tempo.program()
      local b = P:dim "b"
      local t, T = P:dim "t"
      local n = P:input("n", { domain = { b }, shape = { 4 } })
      local h = P:tensor { domain = { b, t }, shape = { 4 } }
      h[{ t = 0 }] = n
      h:otherwise(h[t - 1] - 1)
      P:stop(t, h:sum():le(4))
      local rest = (h * P:param("w", { shape = { 4 }, init = 1 })):sum()[{ t = t .. T }]
      local f = P:compile { outputs = { s = rest:sum(0) }, check = "nan" }
      local out = f({ n = { { 3, 3, 3, 3 }, { 1, 1, 1, 1 }, { 2, 2, 2, 2 } } }, { B = 3, T = 9 })
      for b = 0, 2 do print(("%g"):format(out.s:get(b, 0))) end]=],
      nil, "export TEMPO_TIER=interpreter TEMPO_POISON=1; ")
    assert.equal("24\n4\n12\n", out)
  end)

  it("library functions of large numbers whose results are finite", function()
    local vals = { -1000, -100, -20, -1, -0.5, -1e-3, 0, 1e-3, 0.5, 1, 20, 100, 1000 }
    local methods = { "neg", "abs", "expm1", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "relu",
      "leaky_relu", "elu", "gelu", "silu",
                      "softplus", "square", "softmax", "log_softmax", "cumsum", "logsumexp", "mean",
                        "var", "std", "norm", "sum", "max",
                      "layer_norm", "rms_norm" }
    local axis = { softmax = 0, log_softmax = 0, cumsum = 0 }
    local function finite(t)
      if type(t) == "table" then
        for _, v in ipairs(t) do
          if not finite(v) then return false end
        end
        return true
      end
      return t == t and t ~= huge and t ~= -huge
    end
    local n = 0
    for _, m in ipairs(methods) do
      local P = tempo.program()
      local x = input(P, "x", {}, { #vals })
      local y = x[m](x, axis[m])
      local outputs = { y = y, g = tempo.grad(y:sum(), x) }
      local out = P:compile { outputs = outputs, tier = "reference" } { x = vals }
      if finite(helper.plain(out.y)) and finite(helper.plain(out.g)) then
        n = n + 1
        for _, tier in ipairs(tiers) do
          P:compile { outputs = outputs, tier = tier, check = "nan" } { x = vals }
        end
      end
    end
    assert.is_true(n >= #methods - 2)
  end)
end)

describe("check", function()
  local function quotient(options)
    local P = tempo.program()
    local t = P:dim "t"
    options.outputs = { y = 1 / P:input("x", { domain = { t } }),
      s = P:source(function(p) return p.t end, { domain = { t } }) }
    return P:compile(options)
  end

  it("is \"nan\" or \"none\"", function()
    for _, bad in ipairs { "NaN", "", "all", 1, true } do
      local ok, e = pcall(quotient, { check = bad })
      assert.is_false(ok)
      assert.equal("option", e.code)
      assert.truthy(e.message:find "check")
    end
    assert.equal(huge, quotient { check = "none" } ({ x = { 0 } }, { T = 1 }).y:get(0))
    assert.equal(huge, quotient {} ({ x = { 0 } }, { T = 1 }).y:get(0))
  end)

  it("comes from the environment, whatever the script says", function()
    local text = [[
      local tempo = require "tempo"
      local P = tempo.program()
      local x = P:input("x", {})
      local f = P:compile { outputs = { y = 1 / x }, check = CHECK }
      print(select(2, pcall(f, { x = 0 })))]]
    assert.truthy(helper.script(text:gsub("CHECK", "nil"), nil,
      "export TEMPO_CHECK=nan; "):find ":4: nan: 'y': div%(1, 'x' = 0%) is inf\n$")
    assert.truthy(helper.script(text:gsub("CHECK", '"nan"'), nil,
      "export TEMPO_CHECK=none; "):find "^table")
    assert.truthy(helper.script(text:gsub("CHECK", "nil"), nil,
      "export TEMPO_CHECK=nam; "):find "option: TEMPO_CHECK is 'nam'; did you mean 'nan'%?")
  end)

  it("leaves everything usable: the function, others, the process", function()
    for _, tier in ipairs(tiers) do
      local f = quotient { check = "nan", tier = tier }
      assert.is_false((pcall(f, { x = { 1, 0 } }, { T = 2 })))
      helper.same({ 1, 0.5 }, helper.plain(f({ x = { 1, 2 } }, { T = 2 }).y), 1e-9)
    end
  end)

  it("ends a step, with the point of its tick", function()
    for _, tier in ipairs(tiers) do
      local P = tempo.program()
      local i = P:dim "i"
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { i, t } })
      local h = P:tensor { domain = { i, t }, name = "h" }
      h[{ t = 0 }] = x
      h:otherwise(h[{ i, t - 1 }] / x)
      local f = P:compile { outputs = { s = h[{ t = 0 .. T }]:sum(0) }, tick = i, tier = tier,
        check = "nan" }
      f:start({}, { I = 5, T = 3 })
      for _ = 1, 2 do f:step { x = { 1, 2, 4 } } end
      local ok, e = pcall(f.step, f, { x = { 1, 0, 4 } })
      assert.is_false(ok)
      assert.equal("nan: 'h' at i = 2, t = 1: div(1, 'x' = 0) is inf", e.message)
      f:start({}, { I = 1, T = 3 })
      local done, out = f:step { x = { 1, 2, 4 } }
      assert.is_true(done)
      helper.same(1 + 0.5 + 0.125, out.s:item(), 1e-9)
    end
  end)

  it("says in explain what is looked at, and its plan reads as one", function()
    local f = quotient { check = "nan", tier = "interpreter" }
    assert.truthy(
      f:explain():find "\n1 of them are looked at for NaN and infinity, each by itself\n")
    assert.truthy(f:explain "plan":find 'at%(t = t%d+%) of [^{}]* checked "y"')
    assert.is_nil(quotient { tier = "interpreter" }:explain "plan":find "checked")
  end)
end)

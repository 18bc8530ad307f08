-- Dims that nothing carries become leading extents of each operator's call, two of them as well as
-- one: the plan has no loop over their points, forwards or in the gradient, and the numbers are the
-- reference's.
local tempo = require "tempo"
local helper = require "spec.helper"
local recipes = require "spec.grad_rows"

local load_text = loadstring or load            -- luacheck: globals loadstring

-- The functions that are not differentiable, by name.
local others = {
  compare = { "a:eq(b)", "a:lt(b):land(a:gt(0)):lor(b:ne(1)):lnot()" }, sign = { "a:sign()" },
  floor = { "a:floor() + a:ceil() + a:round()" },
  argmax = { "a:argmax(1)", "a:argmin(0)", "a:argmax()" },
    any = { "a:gt(0):any(1)", "a:gt(b):all()" },
  one_hot = { "k:one_hot(4)" }, argsort = { "a:argsort(1)", "k:sort(1)" },
    integers = { "(a * 4):to 'i64':floordiv(2)", "k % 2 + k * 3" },
  uniform = { "tempo.uniform({ 2, 3 }, { domain = a:domain(), name = 'u' })" },
  normal = { "tempo.normal({ 2 }, { domain = a:domain(), name = 'n' })" },
  randint = { "tempo.randint({ 2 }, 0, 5, { domain = a:domain(), name = 'r' })" },
  randperm = { "tempo.randperm({ 3 }, { domain = a:domain(), name = 'p' })" },
  bernoulli = { "tempo.bernoulli({ 2 }, { p = 0.3, domain = a:domain(), name = 'b' })" },
  dropout = { "a:dropout { p = 0.5, name = 'd' }" }, arange = { "a + tempo.arange { 3 }" },
    value = { "a + s:value() * 10 + u:value()" },
  halves = { "a:to 'f16':matmul(b:to 'f16':mT())", "a:to 'bf16':sum(0)" },
    where = { "tempo.where(a:gt(0), a, b)" },
}

local function record(text, gradient, shared)
  local P = tempo.program()
  local s, u = P:dim "s", P:dim "u"
  local function input(name, dtype, domain)
    return P:input(name, { domain = domain, shape = { 2, 3 }, dtype = dtype })
  end
  local a, b = input("a", "f64", { s, u }), input("b", "f64", { s, u })
  local k = input("k", "i64", shared and {} or { s, u })
  local y = assert(load_text("local tempo, a, b, k, s, u = ...; return " .. text))(tempo, a, b, k,
    s, u)
  if not gradient then return P, { y = y } end
  local g = tempo.grad((y * y):sum(), { a, b })
  return P, { a = g[1], b = g[2] }
end

local r = helper.rng(3)
local bounds = { S = 2, U = 3 }
local inputs = { a = helper.numbers({ 2, 3, 2, 3 }, r), b = helper.numbers({ 2, 3, 2, 3 }, r) }
local place = 0
-- below 2, and so that a row of three adds up to less than 3
local function index()
  place = place + 1
  return place % 3 == 0 and 0 or r(2)
end
local k = { helper.numbers({ 2, 3, 2, 3 }, index), helper.numbers({ 2, 3 }, index) }

local function hold(name, text, gradient, shared)
  local P, outputs = record(text, gradient, shared)
  local what = ("%s, %s%s%s"):format(name, text, gradient and ", gradient" or "",
    shared and ", k for all" or "")
  local f = P:compile { outputs = outputs }
  for loop in f:explain "plan":gmatch "\n *(for [^\n]*)" do
    assert(loop:find("//", 1, true), ("%s: %s"):format(what, loop))      -- over blocks, not points
  end
  local want = P:compile { outputs = outputs, tier = "reference" }
  inputs.k = k[shared and 2 or 1]
  local got, ref = f(inputs, bounds), want(inputs, bounds)
  for key, x in pairs(ref) do
    local d = helper.differ_arrays(x, got[key], nil, what)
    if d then error(d, 0) end
  end
end

describe("two dims that nothing carries lead the call of", function()
  setup(helper.quiet)
  teardown(helper.loud)
  for name, recipe in pairs(recipes) do
    it(name, function()
      for _, text in ipairs(recipe.list) do
        for _, shared in ipairs { false, true } do
          hold(name, text, false, shared)
          hold(name, text, true, shared)
        end
      end
    end)
  end

  for name, list in pairs(others) do
    it(name, function()
      for _, text in ipairs(list) do hold(name, text, false, false) end
    end)
  end

  it("environments", function()
    local P = tempo.program { seed = 2 }
    local s, b, t, T = P:dim "s", P:dim "b", P:dim "t"
    local env = tempo.rl.env(P, "CartPole-v1", { domain = { s, b, t }, time = t })
    env:step((env.obs:select(0, 2):gt(0)):to "i64")
    local outputs = { obs = env.next_obs[{ t = T - 1 }], sum = env.reward[{ t = 0 .. T }]:sum(0) }
    local f = P:compile { outputs = outputs }
    for dim in f:explain "plan":gmatch "\n *for [^\n]* of (%w+)" do assert.equal("t", dim) end
    local out = f({}, { S = 2, B = 3, T = 20 })
    local ref = P:compile { outputs = outputs, tier = "reference" } ({}, { S = 2, B = 3, T = 20 })
    for key, x in pairs(ref) do assert.is_nil(helper.differ_arrays(x, out[key], nil, key)) end
  end)
end)

describe("a batch as a dim lies in memory as it would as an axis", function()
  it("where a loop goes along a later dim", function()
    local P = tempo.program()
    local b, t, T = P:dim "b", P:dim "t"
    local x = P:input("x", { domain = { b }, shape = { 3 } })
    local h = P:tensor { domain = { b, t }, shape = { 3 } }
    h[{ t = 0 }] = x
    h[t + 1] = h:tanh() + h[{ t = 0 }]
    local g = P:tensor { domain = { b, t }, shape = { 3 } }
    g[{ t = T - 1 }] = h
    g:otherwise(g[{ t = t + 1 }] * h)
    local f = P:compile { outputs = { g = g[{ t = 0 }] } }
    assert.truthy(f:explain("plan"):find('"tensor@[^\n]* %[%w+, T%]%[3%] order 1 0 '))
  end)
end)

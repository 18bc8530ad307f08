-- A view may begin elsewhere at each point: x:select(1, i % 3). A consumer of many points in one
-- call, or with them as an axis, must follow it there, in steps of one size or by going point by
-- point: each view under its consumers, against the reference and, where callbacks look, against
-- plain Lua.
local tempo = require "tempo"
local helper = require "spec.helper"

local load_text = loadstring or load            -- luacheck: globals loadstring
local unpack = table.unpack or unpack           -- luacheck: globals unpack

-- Views of x, (i:I, j:J) [4, 3]: a matrix or a row at each point. Bounds are at most 3.
local views = {
  "x:select(1, tempo.mod(i, 3))", "x:select(0, i)", "x:select(0, I - 1 - i)",
  "x:select(1, tempo.min(i + j, 2))", "x:select(0, tempo.floordiv(i, 2) + j)",
  "x:mT():select(0, tempo.mod(i * 2 + 1, 3))", "x:slice(0, i, i + 2)",
  "x:slice(0, tempo.mod(i + j, 3), tempo.mod(i + j, 3) + 2):flip(1)",
  "x:select(0, 3 - j):select(0, tempo.mod(i, 3)):unsqueeze(0)",
  "x[{ i = tempo.floordiv(i, 2) }]:select(0, tempo.mod(i, 4))",
  "x[{ i = I - 1 - i }]:slice(1, tempo.min(i, 1), tempo.min(i, 1) + 2):reshape({ 8 })",
  "x:flatten():slice(0, i * 3, i * 3 + 3)",
    "x:select(0, tempo.mod(i, 2)):unsqueeze(0):expand({ 2, 3 })",
  "x[{ j = 0 .. j + 1 }]:select(1, tempo.mod(i, 4)):sum(0)",
    "x[{ j = 0 .. j + 1 }]:select(2, i):sum(0)",
}

local consumers = {
  "y", "y * 2 - y:tanh()", "y:sum(0)", "y:max(0)", "y:argmax(0)", "y:softmax(0)", "y:cumsum(0)",
  "y:discounted_cumsum(0.5, 0)", "(y:sort(0))", "y:argsort(0)",
    "y:unsqueeze(-1):matmul(y:unsqueeze(-2))",
  "y:index_select(0, k)", "y:gather(0, y:argsort(0))",
  "tempo.zeros({ 8 }, { dtype = 'f64' }):scatter_add(0, y:flatten():argsort(), y:flatten())",
  "tempo.cat({ y, y + 1 }, 0)", "tempo.stack({ y, y }, 0)", "y:pad({ 1, 0 })", "y:roll(1, 0)",
  "y:reshape({ 1, 1, -1 }):conv1d(c, nil, 1, 1)", "y:to 'f16':sum()", "tempo.where(y:gt(0), y, -y)",
  "y:flip(0)", "y:var(0)", "y:to 'i64':one_hot(20)", "y[{ i = 0 .. I }]:sum(0)",
  "y[{ i = 0 .. i + 1 }]:sum(0)", "y[{ i = i .. I, j = 0 .. J }]:max()",
    "y[{ i = tempo.max(i - 1, 0) }] + y",
  "y[{ i = tempo.max(0, i - 1) .. i + 1 }]:softmax(0):sum(0)",
    "y[{ i = 0 .. I }]:cumsum(0)[{ j = 0 }]",
  "y[{ i = 0 .. I }]:index_select(0, k)", "carry(y)", "back(y)", "call(y, {})", "call(y, { i })",
  "call(y, { j })", "call(y, { i, j })", "y:unsqueeze(-1):matmul(W)",
    "W:mT():matmul(y:unsqueeze(-2))",
}

local function record(view)
  local P = tempo.program()
  local i, I = P:dim "i"
  local j, J = P:dim "j"
  local env = { tempo = tempo, i = i, I = I, j = j, J = J }
  env.x = P:input("x", { domain = { i, j }, shape = { 4, 3 }, dtype = "f64" })
  env.k = P:constant(tempo.array({ 0 }, "i64"))
  env.c = P:constant(tempo.array({ { { 2, -1 } } }, "f64"))
  env.W = P:constant(tempo.array({ { 1.5, -2 } }, "f64"))
  function env.carry(y)
    local h = P:tensor { domain = { i, j }, shape = y:shape(), dtype = "f64" }
    h[{ i = 0 }] = y
    h[{ i = i, j = j }] = h[{ i = i - 1 }] * 0.5 + y
    return h
  end
  function env.back(y)
    local h = P:tensor { domain = { i, j }, shape = y:shape(), dtype = "f64" }
    h[{ i = I - 1 }] = y:tanh()
    h[{ i = i, j = j }] = (h[{ i = i + 1 }] * y):sin()
    return h
  end
  function env.call(y, over)
    local function triple(a) return helper.map(a[1]:totable(), function(v) return v * 3 end) end
    return P:call(triple, { y }, { { domain = { i, j }, shape = y:shape(), dtype = "f64" } },
      { over = over })
  end
  local names, values = {}, {}
  for name, v in pairs(env) do names[#names + 1], values[#values + 1] = name, v end
  local function value(text, y)
    return assert(
      load_text(("local y, %s = ...; return %s"):format(table.concat(names, ", "), text)))(y,
      unpack(values))
  end
  env.y = value(view)
  return P, env, function(consumer) return value(consumer, env.y) end
end

local r = helper.rng(11)
local bounds = { { I = 3, J = 2 }, { I = 1, J = 1 }, { I = 2, J = 2 } }
local inputs = {}
for k, b in ipairs(bounds) do inputs[k] = { x = helper.numbers({ b.I, b.J, 4, 3 }, r) } end

-- Some consumers in one program.
local function hold(view, some)
  local P, env, value = record(view)
  local outputs = {}
  for _, text in ipairs(some) do
    local z = value(text)
    outputs[text] = z
    if z:dtype() == "f64" then
      outputs["gradient of " .. text] = tempo.grad((z * z):sum(), env.x)
    end
  end
  local f = helper.compile(P, outputs)
  for k, b in ipairs(bounds) do f(inputs[k], b) end
end

describe("what goes along", function()
  for n, view in ipairs(views) do                -- a third of them each; FULL=1: all
    it(view .. " follows it", function()
      local some = {}
      for k, text in ipairs(consumers) do
        if (k + n) % 3 == 0 or os.getenv "FULL" then some[#some + 1] = text end
      end
      hold(view, some)
    end)
  end
end)

describe("a callback over dims sees the same as point by point:", function()
  local function hear(view, over)
    local P, env = record(view)
    local rows = {}
    local names = {}
    for _, d in ipairs(over) do names[#names + 1] = env[d] end
    P:sink({ env.y }, function(a, p)
      local v = a[1]:totable()
      for i = p.i or 0, p.i or #v - 1 do                       -- dims of over lead
        local row = p.i and v or v[i + 1]
        for j = p.j or 0, p.j or #row - 1 do rows[i .. "," .. j] = p.j and row or row[j + 1] end
      end
    end, { over = names })
    return P, rows
  end

  for _, view in ipairs(views) do
    it(view, function()
      for _, tier in ipairs { "reference", "interpreter" } do
        local P, want = hear(view, {})
        P:compile { tier = tier }(inputs[1], bounds[1])
        for _, over in ipairs { { "i" }, { "j" }, { "i", "j" } } do
          local Q, rows = hear(view, over)
          Q:compile { tier = tier }(inputs[1], bounds[1])
          assert.same(want, rows)
        end
      end
    end)
  end

  it("plain numbers", function()
    for _, tier in ipairs { "reference", "interpreter" } do
      local P = tempo.program()
      local i = P:dim "i"
      local x = P:input("x", { domain = { i }, shape = { 3 } })
      local heard
      P:sink({ x:select(0, tempo.mod(i, 3)), x:select(0, 2 - i) }, function(a)
        heard = { a[1]:totable(), a[2]:totable() }
      end, { over = { i } })
      P:compile { tier = tier }({ x = { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } } }, { I = 3 })
      assert.same({ { 1, 5, 9 }, { 3, 5, 7 } }, heard)
    end
  end)
end)

it("a view that moves in steps of one size leads its call", function()
  local P = tempo.program()
  local i, I = P:dim "i"
  local x = P:input("x", { domain = { i }, shape = { 4 } })
  local f = P:compile { outputs = { y = x:select(0, i):exp(), z = x:select(0, I - 1 - i) * 2 } }
  assert.is_nil(f:explain("plan"):find("for ", 1, true) and f:explain("plan"):find("\n *for "))
  local out = f({ x = { { 0, 1, 2, 3 }, { 4, 0, 5, 6 }, { 7, 8, 0, 9 } } }, { I = 3 })
  assert.same({ 1, 1, 1 }, out.y:totable())
  assert.same({ 4, 0, 14 }, out.z:totable())
end)

-- Products of what `cat` makes of ranges and given arrays read it part by part. Against plain Lua.
local tempo = require "tempo"
local helper = require "spec.helper"

local D = 4
local function dot(a, b)
  local s = 0
  for i = 1, D do s = s + a[i] * b[i] end
  return s
end

-- Attention of q over rows `seen`: keys as they are, values twice these.
local function attention(q, seen)
  local w, sum, y = {}, 0, {}
  for j, row in ipairs(seen) do
    w[j] = math.exp(dot(q, row))
    sum = sum + w[j]
  end
  for i = 1, D do
    y[i] = 0
    for j, row in ipairs(seen) do y[i] = y[i] + w[j] / sum * 2 * row[i] end
  end
  return y
end

-- rows(P, given, x, t): what is seen at t; which(given, x, t): the same in plain Lua.
local function check(rows, which, options)
  for _, precise in ipairs { false, true } do
    for _, tier in ipairs { "reference", "interpreter", "native" } do
      for _, size in ipairs { { 3, 5 }, { 0, 4 }, { 40, 1 } } do
        local P = tempo.program { dtype = "f64" }
        local t = P:dim "t"
        local given = P:input("given", { shape = { P:bound "p", D } })
        local x = P:input("x", { domain = { t }, shape = { D } })
        local k = rows(P, given, x, t)
        local v = rows(P, given * 2, x * 2, t)
        local y = k:matmul(x):softmax(0):matmul(v)
        local f = P:compile { outputs = { y = y }, tier = tier, precise = precise }
        local next = helper.rng(size[1] + 1)
        local g, a = helper.random(next, { size[1], D }), helper.random(next, { size[2], D })
        local out = f({ given = g, x = a }, { p = size[1], T = size[2] }).y:totable()
        local gs, xs = g:totable(), a:totable()
        for j = 1, size[2] do
          helper.same(attention(xs[j], which(gs, xs, j)), out[j], 1e-12)
        end
        local told = f:explain "rules"
        if tier ~= "reference" and not options then
          assert.is_truthy(told:find("cat(a, b) @ x => cat(a @ x, b @ x)", 1, true))
          assert.equal(not precise, told:find("x @ cat(a, b) => x @ a + x @ b", 1, true) ~= nil)
        end
      end
    end
  end
end

local function joined(...)
  local all = {}
  for _, list in ipairs { ... } do
    for _, row in ipairs(list) do all[#all + 1] = row end
  end
  return all
end

local function upto(rows, n)
  local some = {}
  for j = 1, n do some[j] = rows[j] end
  return some
end

describe("a product of what is put together at each point", function()
  it("reads a given array and a growing range", function()
    check(function(_, given, x, t) return tempo.cat({ given, x[0 .. t + 1] }, 0) end,
      function(given, xs, j) return joined(given, upto(xs, j)) end)
  end)

  it("reads a range with a row behind it, and three parts", function()
    check(function(_, given, x, t)
      return tempo.cat({ x[0 .. t], x:unsqueeze(0), given }, 0)
    end, function(given, xs, j) return joined(upto(xs, j), given) end)
  end)

  it("reads parts through views and elementwise operators", function()
    check(function(_, given, x, t)
      local kv = tempo.cat({ given, x[0 .. t + 1] }, 0):reshape { -1, 2, D / 2 }
      return (kv:permute(1, 0, 2) * 0.5 + kv:permute(1, 0, 2) * 0.5):permute(1, 0, 2)
        :reshape { -1, D }
    end, function(given, xs, j) return joined(given, upto(xs, j)) end, true)
  end)

  it("has the gradients of the whole", function()
    local P = tempo.program { dtype = "f64" }
    local t, T = P:dim "t"
    local given = P:input("given", { shape = { 2, D } })
    local x = P:input("x", { domain = { t }, shape = { D } })
    local seen = tempo.cat({ given, x[0 .. t + 1] }, 0)
    local loss = (seen:matmul(x):softmax(0):matmul(seen) * tempo.arange { D }):sum()
    local g = tempo.grad(loss, { given, x })
    local total = loss[0 .. T]:sum(0)
    local next = helper.rng(3)
    local a, b = helper.numbers({ 2, D }, next), helper.numbers({ 3, D }, next)
    local f = P:compile { outputs = { y = total, g = g[1], h = g[2] }, tier = "interpreter" }
    local function run(given_now, x_now)
      return f({ given = given_now, x = x_now }, { T = 3 })
    end
    local out = run(a, b)
    helper.same(helper.differences(function(v) return run(v, b).y:item() end, a),
      out.g:totable(), 1e-6)
    helper.same(helper.differences(function(v) return run(a, v).y:item() end, b),
      out.h:totable(), 1e-6)
  end)
end)

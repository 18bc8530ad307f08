-- Blocks: in a loop that something carries, what nothing carries runs over a block of iterations in one call.
local tempo = require "tempo"
local helper = require "spec.helper"

local function rnn()
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 3 } })
  local w, u, v = P:input("w", { shape = { 3, 4 } }), P:input("u", { shape = { 4, 4 } }), P:input("v", { shape = { 4, 2 } })
  local h = P:tensor { domain = { t }, shape = { 4 }, name = "h" }
  h[0] = tempo.zeros { 4 }
  h[t] = (x:matmul(w) + h[t - 1]:matmul(u)):tanh()
  local y = h:matmul(v):name "y"
  local total = (y * y):sum()[0 .. T]:sum(0)
  local g = tempo.grad(total, { w, u, v })
  return P, { y = y, total = total, gw = g[1], gu = g[2], gv = g[3] }
end

local function inputs(n)
  local function rows(a, b, scale) return helper.fill({ a, b }, function(i, j) return math.sin(i * 7 + j * 3 + a) * scale end) end
  return { x = tempo.array(rows(n, 3, 1), "f32", { n, 3 }), w = rows(3, 4, 0.5), u = rows(4, 4, 0.5), v = rows(4, 2, 1) }
end

describe("a loop in blocks", function()
  it("gives the same numbers at every length", function()
    local P, outputs = rnn()
    local cut, plain = P:compile { outputs = outputs }, P:compile { outputs = outputs, passes = { tile = false } }
    local reference = P:compile { outputs = outputs, tier = "reference" }
    for _, n in ipairs { 0, 1, 2, 63, 64, 65, 127, 128, 129, 300 } do
      local a, b, c = cut(inputs(n), { T = n }), plain(inputs(n), { T = n }), reference(inputs(n), { T = n })
      for name in pairs(outputs) do
        helper.same(c[name]:totable(), a[name], 1e-4)
        helper.same(c[name]:totable(), b[name], 1e-4)
      end
    end
  end)

  it("multiplies matrices where each point has a row", function()
    local P, outputs = rnn()
    local f = P:compile { outputs = outputs }
    local schedule = f:explain "schedule"
    assert.truthy(schedule:find("y[max(0, 64*tb) .. min(T, 64*tb + 64)] = matmul", 1, true), schedule)
    assert.truthy(schedule:find("for tb = [^\n]- in blocks of 64 {\n%s+for t = "), schedule)
    assert.falsy(P:compile { outputs = outputs, passes = { tile = false } }:explain("schedule"):find "64%*")
    assert.falsy(P:compile { outputs = outputs, precise = true }:explain("schedule"):find "64%*")
  end)

  it("keeps a block of what lies between", function()
    local P, outputs = rnn()
    local f = P:compile { outputs = outputs }
    local function per_step(a, b) return (f:memory { T = b } - f:memory { T = a }) / (b - a) end
    assert.equal(per_step(640, 1280), per_step(1280, 6400))
    assert.truthy(f:explain("storage"):find "t: min%(64, T%)")
    local plain = P:compile { outputs = outputs, passes = { tile = false } }
    assert.truthy(f:memory { T = 6400 } - plain:memory { T = 6400 } < 64 * 64 * 4)
  end)

  it("leaves a training loop and what an effect waits for as they are", function()
    local P = tempo.program()
    local i = P:dim "i"
    local x = P:input("x", { domain = { i }, shape = { 8, 3 } })
    local w = P:param("w", { along = { i }, shape = { 3, 1 }, init = 0.1 })
    local loss = x:matmul(w):square():mean():name "loss"
    tempo.optim.SGD({ w }, { lr = 0.1 }):step(loss)
    local seen = {}
    local y = x:matmul(tempo.ones { 3, 2 }):sum():name "y"
    P:sink({ y, loss }, function(_, point) seen[#seen + 1] = point.i end)
    local f = P:compile { outputs = { loss = loss } }
    assert.falsy(f:explain("schedule"):find "64%*")
    f({ x = helper.fill({ 3, 8, 3 }, function(a, b, c) return a + b * c end) }, { I = 3 })
    assert.same({ 0, 1, 2 }, seen)
  end)
end)

-- Blocks: in a loop that something carries, what nothing carries runs over a block of iterations in
-- one call.
local tempo = require "tempo"
local helper = require "spec.helper"

local function rnn()
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 3 } })
  local w, u, v = P:input("w", { shape = { 3, 4 } }), P:input("u", { shape = { 4, 4 } }),
    P:input("v", { shape = { 4, 2 } })
  local h = P:tensor { domain = { t }, shape = { 4 }, name = "h" }
  h[0] = tempo.zeros { 4 }
  h[t] = (x:matmul(w) + h[t - 1]:matmul(u)):tanh()
  local y = h:matmul(v):name "y"
  local total = (y * y):sum()[0 .. T]:sum(0)
  local g = tempo.grad(total, { w, u, v })
  return P, { y = y, total = total, gw = g[1], gu = g[2], gv = g[3] }
end

local function inputs(n)
  local function rows(a, b, scale)
    return helper.fill({ a, b }, function(i, j) return math.sin(i * 7 + j * 3 + a) * scale end)
  end
  return { x = tempo.array(rows(n, 3, 1), "f32", { n, 3 }), w = rows(3, 4, 0.5),
    u = rows(4, 4, 0.5), v = rows(4, 2, 1) }
end

describe("a loop in blocks", function()
  it("gives the same numbers at every length", function()
    local P, outputs = rnn()
    local cut, plain = P:compile { outputs = outputs },
      P:compile { outputs = outputs, passes = { tile = false } }
    local reference = P:compile { outputs = outputs, tier = "reference" }
    for _, n in ipairs { 0, 1, 2, 63, 64, 65, 127, 128, 129, 300 } do
      local a, b, c = cut(inputs(n), { T = n }), plain(inputs(n), { T = n }),
        reference(inputs(n), { T = n })
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
    assert.truthy(schedule:find("y[max(0, 64*tb) .. min(T, 64*tb + 64)] = matmul", 1, true),
      schedule)
    assert.truthy(schedule:find("for tb = [^\n]- in blocks of 64 {\n%s+for t = "), schedule)
    assert.falsy(P:compile { outputs = outputs,
      passes = { tile = false } }:explain("schedule"):find "64%*")
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

  it("goes without where what it keeps is too hard to say, as n-step returns with a net inside a training loop", function()
    local P = tempo.program()
    local i, b, t, T = P:dim "i", P:dim "b", P:dim "t"
    local n = P:bound "n"
    local net = tempo.nn.MLP(P, { 64, 16, 2 }, { name = "net", activation = "tanh", along = { i } })
    local s = P:tensor { domain = { i, b, t }, shape = { 64 } }
    local pi = tempo.dist.Categorical { logits = net(s) }
    local action = pi:sample { name = "a", domain = { i, b, t } }
    s[{ t = 0 }] = tempo.normal({ 64 }, { domain = { i, b }, name = "start" })
    s[t + 1] = s * 0.9 + action:to "f32"
    local G = s:mean()[{ t = t .. tempo.min(t + n, T) }]:discounted_cumsum(0.9):select(0, 0)
    tempo.optim.SGD(net:parameters(), { lr = 0.1 }):step(-pi:log_prob(action) * G:detach())
    local f = P:compile { outputs = { w = net:parameters()[1] } }
    local few, many = f:memory { I = 2, B = 4, T = 400, n = 3 },
      f:memory { I = 9, B = 4, T = 400, n = 3 }
    assert.is_true(many - few <= 7 * 64 * 16 * 4 + 64,
      ("%d bytes more for 7 more iterations"):format(many - few))
    assert.falsy(f:explain "storage":find "too hard")
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

  -- gradient descent over all rows of a data set
  local function full_batch(passes, tier)
    local P = tempo.program()
    local i = P:dim "i"
    local n, N = P:dim "n"
    local x, y = P:input("x", { domain = { n }, shape = { 3 } }),
      P:input("y", { domain = { n }, shape = { 1 } })
    local net = tempo.nn.MLP(P, { 3, 64, 64, 1 },
      { along = { i }, activation = "tanh", name = "net" })
    local loss = ((net(x) - y):square():sum() / N)[{ n = 0 .. N }]:sum()
    tempo.optim.SGD(net:parameters(), { lr = 0.1 }):step(loss)
    return P:compile { outputs = { loss = loss }, passes = passes, tier = tier }
  end

  it("is made of a dim that nothing carries, for what would be kept for all of it", function()
    local cut, whole, reference = full_batch(), full_batch { tile = false },
      full_batch(nil, "reference")
    assert.equal(cut:memory { I = 3, N = 1e4 }, cut:memory { I = 3, N = 1e7 })
    assert.truthy(whole:memory { I = 3, N = 1e4 } > 4 * cut:memory { I = 3, N = 1e4 })
    for _, N in ipairs { 1, 2, 255, 256, 257, 700 } do
      local data = { x = tempo.array(helper.fill({ N, 3 }, function(a, b)
        return math.sin(a * 5 + b)
      end), "f32"),
                     y = tempo.array(helper.fill({ N, 1 }, function(a) return math.cos(a) end),
                       "f32") }
      local want = reference(data, { I = 3, N = N }).loss
      helper.same(want:totable(), cut(data, { I = 3, N = N }).loss, 1e-5)
      helper.same(want:totable(), whole(data, { I = 3, N = N }).loss, 1e-5)
    end
    assert.equal(0,
      cut({ x = tempo.array({}, "f32", { 0, 3 }), y = tempo.array({}, "f32", { 0, 1 }) },
      { I = 3, N = 0 }).loss[2])
  end)

  it("holds windows over blocks in rings", function()
    local function filter(passes, tier)
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 5 } })
      local y = (x:tanh() + 1):exp()
      local z = y[tempo.max(t - 7, 0) .. t + 1]:mean(0):square() + y
      return P:compile { outputs = { m = z[{ t = 0 .. T }]:mean(0), last = z[{ t = T - 1 }] },
        passes = passes, tier = tier }
    end
    local cut, reference = filter(), filter(nil, "reference")
    assert.equal(cut:memory { T = 1e5 }, cut:memory { T = 1e6 })
    for _, T in ipairs { 1, 2, 7, 8, 9, 1000, 5000 } do
      local x = tempo.array(helper.fill({ T, 5 }, function(a, b)
        return math.sin(a * 5 + b)
      end), "f32")
      local want, got = reference({ x = x }, { T = T }), cut({ x = x }, { T = T })
      helper.same(want.m:totable(), got.m, 1e-5)
      helper.same(want.last:totable(), got.last, 1e-5)
    end
  end)

  it("is made for what one operator hands on to the next of a cluster, too", function()
    local function each(make, passes, tier)
      local P = tempo.program { seed = 2 }
      local t, T = P:dim "t"
      return P:compile { outputs = { y = make(P, t, T) }, passes = passes, tier = tier }
    end
    local programs = {
      noise = function(_, t)
        return tempo.normal({ 32, 32 }, { domain = { t }, name = "n" }):sum()
      end,
      picked = function(P, t, T)
        local k = P:input("k", { domain = { t }, dtype = "i64" })
        local rows = tempo.arange(600):reshape { 20, 30 }:index_select(0, k:unsqueeze(0)):squeeze(0)
        return (rows * 0.01):sin():sum()[{ t = 0 .. T }]:sum(0)
      end,
    }
    for name, make in pairs(programs) do
      local cut, whole, reference = each(make), each(make, { tile = false }),
        each(make, nil, "reference")
      local function room(f, T) return f:memory { T = T } - (name == "noise" and 4 * T or 0) end
      assert.is_true(room(cut, 1e6) < 4e6, name)
      assert.is_true(room(cut, 1e6) - room(cut, 1e5) < 64, name)
      assert.is_true(room(whole, 1e4) > 1e4 * 30 * 4, name)
      for _, T in ipairs { 0, 1, 63, 64, 65, 3000 } do
        local k = {}
        for i = 1, T do k[i] = (i * 7) % 20 end
        local given = name == "picked" and { k = tempo.array(k, "i64", { T }) } or {}
        local want = reference(given, { T = T }).y
        helper.same(want.totable and want:totable() or want, cut(given, { T = T }).y, 1e-4)
        helper.same(want.totable and want:totable() or want, whole(given, { T = T }).y, 1e-4)
      end
    end
  end)
end)

-- Scores of attention and what follows from them: at each point a product over a range that follows
-- it.
describe("products over ranges that follow the loop", function()
  local D = 3
  local function attend(q, k, v, range)
    return (k[range]:matmul(q) / 2):softmax(0):matmul(v[range])
  end
  local function three(over) return over("q", { D }), over("k", { D }), over("v", { D }) end
  local programs = {
    ["what lies before"] = { 7, function(over, t)
      local q, k, v = three(over)
      return attend(q, k, v, tempo.range(0, t + 1)), { q, k, v }
    end },
    ["what lies behind"] = { 7, function(over, t, T)
      local q, k, v = three(over)
      return attend(q, k, v, tempo.range(t, T)), { q, k, v }
    end },
    ["keys of a recurrence"] = { 7, function(over, t, _, P)
      local q, k, v = three(over)
      local h = P:tensor { domain = { t }, shape = { D } }
      h[0] = k
      h[t] = (0.5 * h[t - 1] + k):tanh()
      return attend(q, h, v, tempo.range(0, t + 1)), { q, k, v }
    end },
    ["heads"] = { 7, function(over, t)
      local q, k, v = over("q", { 2, D }), over("k", { 2, D }), over("v", { 2, D })
      local function past(x) return x[tempo.range(0, t + 1)]:transpose(0, 1) end
      local scores = past(k):matmul((q / 2):unsqueeze(-1)):squeeze(-1)
      return scores:softmax(-1):unsqueeze(1):matmul(past(v)):squeeze(1), { q, k, v }
    end },
    ["itself"] = { 0, function(over, t, _, P)
      local q = over("q", { D })
      local h = P:tensor { domain = { t }, shape = { D } }
      h[0] = q
      h[t] = q + attend(q, h, h, tempo.range(0, t))
      return h, {}
    end },
  }
  local function compile(make, with)
    local P = tempo.program()
    local t, T = P:dim "t"
    local shapes = {}
    local y, of = make(function(name, shape)
      shapes[name] = shape
      return P:input(name, { domain = { t }, shape = shape })
    end, t, T, P)
    with.outputs = { y = y }
    local loss = y[tempo.range(0, T)]:square():sum()
    for i, x in ipairs(of) do with.outputs["g" .. i] = tempo.grad(loss, x) end
    return P:compile(with), shapes
  end
  local function rows(shapes, T)
    local given, r = {}, helper.rng(7)
    for _, name in ipairs { "q", "k", "v" } do
      local shape = shapes[name]
      if shape then given[name] = helper.random(r, { T, shape[1], shape[2] }, "f32") end
    end
    return given
  end

  for name, program in pairs(programs) do
    it("are products of blocks: " .. name, function()
      local count, make = program[1], program[2]
      local f, shapes = compile(make, { tier = "interpreter" })
      local ways = {
        reference = compile(make, { tier = "reference" }),
          native = compile(make, { tier = "native" }),
        plain = compile(make, { tier = "interpreter", passes = { tile = false } }),
        apart = compile(make, { tier = "interpreter", passes = { fuse = false } }),
      }
      assert.equal(count, select(2, f:explain "plan":gsub("op matmul[^\n]- over t", "")))
      assert.falsy(ways.plain:explain "plan":find("op matmul[^\n]- over t"))
      -- one head after the other
      assert.equal(name == "heads", f:explain "plan":find("for strip = 0 .. 2", 1, true) ~= nil)
      for _, T in ipairs { 0, 1, 2, 31, 32, 33, 70 } do
        local given = rows(shapes, T)
        local got = f(given, { T = T })
        for way, g in pairs(ways) do
          for k, want in pairs(g(given, { T = T })) do
            if way == "native" then assert.same(want:totable(), got[k]:totable())
            else helper.same(want:totable(), got[k], 1e-4) end
          end
        end
      end
    end)
  end
end)

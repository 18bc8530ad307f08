-- rl.replay against plain Lua: which points it draws, sums of n steps, priorities and their
-- weights, what it keeps.
local tempo = require "tempo"
local helper = require "spec.helper"
local rl, same = tempo.rl, helper.same

-- A program with a memory of x = 10 t + b, rewards and ends of the inputs; `options` are those of
-- rl.replay. Outputs are 0 before the first draw at t = n.
local function program(options, update)
  local P = tempo.program { seed = 7 }
  local t, b = P:dim "t", (P:dim "b")
  local n = options.n or 1
  local x = t:value() * 10 + b:value()
  local function input(name, dtype) return P:input(name, { domain = { t, b }, dtype = dtype }) end
  local set = { x = x, reward = input "reward", terminated = input("terminated", "bool"),
    truncated = input("truncated", "bool"), next_obs = x:to "f32":reshape { 1 } + 0.5 }
  options.over = { b }
  local memory = rl.replay(t, options)
  local batch = memory:draw(set)
  if update then memory:update(update(batch), { when = t:ge(n):land((t % 2):eq(0)) }) end
  local outputs = {}
  for name, value in pairs(batch) do
    local bool = value:dtype() == "bool"
    if bool then value = value:to "i64" end
    local out = P:tensor { domain = { t }, shape = value:shape(), dtype = value:dtype() }
    out:when(t:ge(n), value)
    out:otherwise(0)
    outputs[name] = out
  end
  return P, outputs
end

local function inputs(T, B)
  local next = helper.rng(5)
  local data = { reward = {}, terminated = {}, truncated = {} }
  for s = 1, T do
    data.reward[s], data.terminated[s], data.truncated[s] = {}, {}, {}
    for k = 1, B do
      data.reward[s][k] = math.floor(next() * 100) / 8
      data.terminated[s][k], data.truncated[s][k] = next() < 0.15, next() < 0.15
    end
  end
  return data
end

-- The first steps that may be drawn at t, and the last.
local function eligible(t, window, n) return math.max(0, t - window), t - n end

-- Holds the batches of `out` to the data: each row is a point of the window, its n steps are those
-- of the data.
local function holds(out, data, T, batch, window, n, gamma)
  local count = {}
  for t = n, T - 1 do
    local lo, hi = eligible(t, window, n)
    for j = 1, batch do
      local id = out.x[t + 1][j]
      local s, b = math.floor(id / 10), id % 10
      assert.is_true(s >= lo and s <= hi, ("%d is drawn at %d"):format(s, t))
      local reward, last, scale = 0, nil, 1
      for u = s, s + n - 1 do
        last = u
        reward, scale = reward + scale * data.reward[u + 1][b + 1], scale * gamma
        if data.terminated[u + 1][b + 1] or data.truncated[u + 1][b + 1] then break end
      end
      same(reward, out.reward[t + 1][j])
      if out.discount then same(scale, out.discount[t + 1][j]) end
      assert.equal(last * 10 + b + 0.5, out.next_obs[t + 1][j][1])
      for _, key in ipairs { "terminated", "truncated" } do
        assert.equal(data[key][last + 1][b + 1] and 1 or 0, out[key][t + 1][j])
      end
      if t == T - 1 then count[id] = (count[id] or 0) + 1 end
    end
  end
  return count
end

describe("replay", function()
  it("draws all points of the window and of `over` alike, none else", function()
    local P, outputs = program { window = 5, batch = 600 }
    local data = inputs(9, 3)
    local out = helper.run(P, outputs, data, { T = 9, B = 3 })
    local count = holds(out, data, 9, 600, 5, 1, 1)
    local points = 0
    for _, c in pairs(count) do
      points = points + 1
      assert.is_true(math.abs(c - 40) < 5 * math.sqrt(40))
    end
    assert.equal(15, points)
    same(1, out.weight[9][1])
    assert.is_nil(out.discount)
  end)

  it("has a window whose width the call gives", function()
    local P = tempo.program()
    local t, w = P:dim "t", P:bound "W"
    local batch = rl.replay(t, { window = w, batch = 100, n = 2 }):draw {
      x = t:value(), reward = t:value():to "f32", terminated = t:eq(-1):value(),
    }
    local x = P:tensor { domain = { t }, shape = { 100 }, dtype = "i64" }
    x:when(t:ge(2), batch.x)
    x:otherwise(0)
    local f = helper.compile(P, { x = x })
    for _, width in ipairs { 3, 6 } do
      local out, seen, points = f({}, { T = 12, W = width }).x[11]:totable(), {}, 0
      for _, s in ipairs(out) do
        if not seen[s] then seen[s], points = true, points + 1 end
        assert.is_true(s >= 11 - width and s <= 9)
      end
      assert.equal(width - 1, points)
    end
  end)

  it("sums n steps up to an episode's end; ends are of the last, else of the first", function()
    local P, outputs = program { window = 6, batch = 60, n = 3, gamma = 0.5 }
    local data = inputs(15, 2)
    local out = helper.run(P, outputs, data, { T = 15, B = 2 })
    local count, points = holds(out, data, 15, 60, 6, 3, 0.5), 0
    for _ in pairs(count) do points = points + 1 end
    assert.equal(8, points)                     -- of the last 6 steps 4 have three behind them
  end)

  -- The priorities in plain Lua: those at each t, in the order of the memory's places.
  local function priorities(out, T, B, window, n, alpha, error_of)
    local of, greatest, list = {}, 1, {}
    for t = 0, T - 1 do
      local lo, hi = eligible(t, window, n)
      if hi >= 0 then
        for b = 0, B - 1 do of[hi * 10 + b] = greatest end
      end
      list[t] = {}
      for place = 0, window - 1 do
        for b = 0, B - 1 do
          local s = lo + (place - lo) % window
          local id = s * 10 + b
          list[t][#list[t] + 1] = { id = id, p = s >= lo and s <= hi and of[id] or 0 }
        end
      end
      if t >= n and t % 2 == 0 then
        local later = greatest
        for _, id in ipairs(out.x[t + 1]) do
          local p = (error_of(id) + 1e-6) ^ alpha
          of[id], later = p, math.max(later, p)
        end
        greatest = later
      end
    end
    return list
  end

  -- Row j of a batch is a point of the j-th of as many equal parts of the sum; weights are those of
  -- the probabilities.
  local function proportional(out, list, n, T, batch)
    for t = n, T - 1 do
      local at, sum, least = {}, 0, math.huge
      for _, e in ipairs(list[t]) do
        at[e.id] = { sum, sum + e.p, e.p }
        sum = sum + e.p
      end
      for j = 1, batch do least = math.min(least, at[out.x[t + 1][j]][3]) end
      for j = 1, batch do
        local e = at[out.x[t + 1][j]]
        local lo, hi = (j - 1) / batch * sum, j / batch * sum
        assert.is_true(e[1] < hi * (1 + 1e-12) and e[2] > lo * (1 - 1e-12))
        same((e[3] / least) ^ -0.5, out.weight[t + 1][j])
      end
    end
  end

  local function error_of(id) return (id * 7919 % 13) / 4 end
  local function error_in(batch)
    return ((batch.x * 7919) % 13):to "f32" / 4
  end

  it("draws by priority: the greatest for new points, errors for those that were drawn", function()
    for _, n in ipairs { 1, 2 } do
      local options = { window = 4, batch = 5, n = n, priority = 0.75, beta = 0.5 }
      local P, outputs = program(options, error_in)
      local data = inputs(14, 3)
      local out = helper.run(P, outputs, data, { T = 14, B = 3 }, { tol = 1e-5 })
      holds(out, data, 14, 5, 4, n, 1)
      proportional(out, priorities(out, 14, 3, 4, n, 0.75, error_of), n, 14, 5)
    end
  end)

  it("goes down a tree of several levels, and keeps its sums", function()
    local options = { window = 150, batch = 16, n = 3, priority = 0.6, beta = 0.5 }
    local P, outputs = program(options, error_in)
    local T, data = 500, inputs(500, 2)
    local out = {}
    local f = P:compile { outputs = outputs, tier = "interpreter" }
    for name, a in pairs(f(data, { T = T, B = 2 })) do
      out[name] = a:totable()
    end
    holds(out, data, T, 16, 150, 3, 1)
    proportional(out, priorities(out, T, 2, 150, 3, 0.6, error_of), 3, T, 16)
  end)

  it("draws across several dims of the iterations before", function()
    local P = tempo.program()
    local i, t, b = P:dims "i t b"
    local memory = rl.replay(i, { window = 3, batch = 400, over = { b, t }, priority = 0.5 })
    local batch = memory:draw { x = i:value() * 100 + t:value() * 10 + b:value() }
    memory:update(batch.x:to "f32" * 0 + 2)
    local x = P:tensor { domain = { i }, shape = { 400 }, dtype = "i64" }
    x:when(i:ge(1), batch.x)
    x:otherwise(0)
    local out, seen, points = helper.value(P, x, {}, { I = 7, T = 2, B = 3 }), {}, 0
    for _, id in ipairs(out[7]) do
      if not seen[id] then seen[id], points = true, points + 1 end
      assert.is_true(id >= 300 and id < 600 and id % 100 < 20 and id % 10 < 3)
    end
    assert.equal(3 * 2 * 3, points)
  end)

  it("keeps the window, and a draw costs what it draws", function()
    local function measured(window, priority)
      local P = tempo.program()
      local t, b = P:dim "t", (P:dim "b")
      local w = P:param("w", { along = { t }, init = 0.5 })
      local x = tempo.normal({ 2 }, { domain = { t, b }, name = "x" }) + w
      local memory = rl.replay(t, { window = window, batch = 4, over = { b }, priority = priority })
      local batch = memory:draw { x = x }
      local td = (w * batch.x - 1):sum(-1)
      local when = (t % 4):eq(0):land(t:ge(8))
      memory:update(td, { when = when })
      tempo.optim.SGD(w, { lr = 0.01 }):step((td:square() * batch.weight):sum(), { when = when })
      local f = P:compile { outputs = { w = w[t:upper() - 1] } }
      local function work(T) return helper.work(f, { T = T, B = 8 }) end
      return f:memory { T = 100000, B = 8 }, work(40000) - work(20000)
    end
    for _, priority in ipairs { false, 0.6 } do
      local few, steps = measured(1000, priority or nil)
      local many, same_steps = measured(4000, priority or nil)
      -- points of f32; priorities and their sums in f64
      local row, more = 8 * 2 * 4 + (priority and 8 * 8 + 8 or 0), many - few
      assert.is_true(more >= 3000 * row and more < 3100 * row, tostring(more / 3000))
      assert.is_true(same_steps < 1.4 * steps, ("%d, %d"):format(steps, same_steps))
    end
  end)

  it("says what is wrong", function()
    local P = tempo.program()
    local t, b = P:dim "t", (P:dim "b")
    local x, y = (t + b):value():to "f32", t:value():to "f32"
    local function fails(o, set, ...)
      helper.fails(function()
        o.window, o.batch = o.window or 8, o.batch or 2
        rl.replay(t, o):draw(set)
      end, ...)
    end
    helper.fails(function() return (rl.replay(t, { window = 8 })) end, "option", "batch is missing")
    helper.fails(function() return (rl.replay(P, { window = 8, batch = 2 })) end, "option", "dim")
    fails({ batch = 0.5 }, { x = x }, "option", "batch")
    fails({ window = 2, n = 3 }, { x = x }, "option", "window of 2")
    fails({ window = t:upper(), priority = 0.5 }, { x = x }, "option", "window is a number")
    fails({ over = { b } }, { x = x, y = y }, "domain", "'y'", "'b'")
    fails({ over = { t } }, { x = x }, "option", "beside 't'")
    fails({ n = 2 }, { reward = x }, "option", "terminated")
    fails({ gamma = 0.9 }, { discount = x }, "option", "'discount'")
    fails({}, {}, "option", "empty")
    local memory = rl.replay(t, { window = 8, batch = 2 })
    helper.fails(function() memory:update(x) end, "option", "after replay:draw")
    memory:draw { x = y }
    helper.fails(function() memory:draw { x = y } end, "option", "twice")
    helper.fails(function() memory:update(y) end, "shape", "0 axes")
  end)

  it("has nothing to draw before the first step is over", function()
    for _, priority in ipairs { false, 0.5 } do
      local P = tempo.program()
      local t = P:dim "t"
      local memory = rl.replay(t, { window = 8, batch = 2, priority = priority or nil })
      local batch = memory:draw { x = t:value() }
      memory:update(batch.weight)
      local f = P:compile { outputs = { x = batch.x } }
      helper.fails(function() f({}, { T = 4 }) end, "input", "no point yet' at t = 0")
    end
  end)
end)

-- Memories of agents against recurrences in plain Lua: acting, carrying on, bootstrapping, learning
-- along rows, minibatches of rows, the window of what was seen last.
local tempo = require "tempo"
local helper = require "spec.helper"
local rl, nn = tempo.rl, tempo.nn
local same = helper.same

-- An agent whose memory is h' = a h + x, a a parameter along {i, k}, and a window of 3. Actions are
-- inputs.
local function agent(carry)
  local P = tempo.program { seed = 6 }
  local i, k, b, t = P:dim("i", "I"), P:dim("k", "K"), P:dim("b", "B"), P:dim("t", "T")
  local env = rl.env(P, "CartPole-v1",
    { domain = { i, b, t }, time = t, carry = carry and i or nil })
  local a = P:param("a", { along = { i, k }, shape = {}, init = 0.5 })
  a:update((a * 0.9):detach())
  local memory = rl.memory(function(x, h) return a * h + x end, env, { shape = { 4 } })
  local window = rl.window(P, 3, env)
  local h = memory(env.obs)
  local seen, mask = window(env.obs)
  local next_seen, next_mask = window:next(env.next_obs)
  local seen_again, mask_again = window:segments(env.obs)
  env:step(P:input("action", { domain = { i, b, t }, dtype = "i64" }))
  return P, memory, env,
    { h = h, next = memory:next(env.next_obs), along = memory:segments(env.obs),
    first = memory:first(), last = memory:at { [t] = t:upper() - 1 }, a = a,
    frozen = memory:at { [k] = k:upper() - 1 }:segments(env.obs),
    obs = env.obs, next_obs = env.next_obs, done = env.done, begins = env.begins, seen = seen,
    mask = mask, next_seen = next_seen, next_mask = next_mask, seen_again = seen_again,
      mask_again = mask_again }
end

local function seen_next(a, h, x)
  local y = {}
  for j = 1, 4 do y[j] = a * h[j] + x[j] end
  return y
end

local zero = { 0, 0, 0, 0 }

describe("a memory", function()
  local I, K, B, T = 3, 2, 2, 14
  local actions = helper.fill({ I, B, T }, function(i, b, t)
    return (b == 0 or (i + t) % 5 == 0) and 1 or 0
  end)

  it("follows episodes and iterations, bootstraps, and is replayed with the weights of each update",
    function()
    for _, carry in ipairs { false, true } do
      local P, _, _, outputs = agent(carry)
      local out = helper.run(P, outputs, { action = actions }, { I = I, K = K, B = B, T = T },
        { tol = 1e-6 })
      local ends, over = 0, 0
      for b = 1, B do
        local h, window = zero, {}
        for i = 1, I do
          local begins = not carry or i == 1 or out.done[i - 1][b][T]
          if begins then h, window = zero, {} else over = over + 1 end
          same(h, out.first[i][b])
          local rows = {}
          for k = 1, K do rows[k] = h end
          for t = 1, T do
            assert.equal(begins, out.begins[i][b][t])
            if begins then h, window = zero, {} end
            local x = out.obs[i][b][t]
            h = seen_next(out.a[i][1], h, x)
            same(h, out.h[i][b][t])
            same(seen_next(out.a[i][1], h, out.next_obs[i][b][t]), out.next[i][b][t])
            for k = 1, K do
              rows[k] = seen_next(out.a[i][k], begins and zero or rows[k], x)
              same(rows[k], out.along[i][k][b][t])
            end
            same(rows[K], out.frozen[i][b][t])
            window[#window + 1] = x
            for n = 1, 3 do
              local was = window[#window - 3 + n]
              assert.equal(was ~= nil, out.mask[i][b][t][n])
              same(was or zero, out.seen[i][b][t][n], 0)
              was = n == 3 and out.next_obs[i][b][t] or window[#window - 2 + n]
              assert.equal(was ~= nil, out.next_mask[i][b][t][n])
              same(was or zero, out.next_seen[i][b][t][n], 0)
            end
            begins = out.done[i][b][t]
            if begins then ends = ends + 1 end
          end
          same(h, out.last[i][b])
        end
      end
      same(out.seen, out.seen_again, 0)
      assert.same(out.mask, out.mask_again)
      assert.is_true(ends >= 3 and (over > 0) == carry)
    end
  end)

  it("of an LSTM has two parts; rows of a minibatch bring their own begins and first", function()
    local P = tempo.program { seed = 6 }
    local i, b, t = P:dim("i", "I"), P:dim("b", "B"), P:dim("t", "T")
    local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
    local cell = nn.LSTMCell(P, 4, 3, { along = { i } })
    local memory = rl.memory(cell, env)
    local h, c = memory(env.obs)
    env:step(P:input("action", { domain = { i, b, t }, dtype = "i64" }))
    local h0, c0 = memory:first()
    -- rows: environments 1, 0, 1
    local rows = tempo.array({ 1, 0, 1 }, "i64")
    local function take(x) return x[{ [b] = tempo.range(0, b:upper()) }]:index_select(0, rows) end
    local again, cells = memory:segments(take(env.obs),
      { begins = take(env.begins), first = { take(h0), take(c0) } })
    local loss = (again * again):sum() + memory:segments(env.obs):sum()
    local g = tempo.grad(loss, { cell.weight_hh })[1]
    local out = helper.run(P, { h = h, c = c, again = again, cells = cells, begins = env.begins,
      next = select(2, memory:next(env.next_obs)), g = g }, { action = actions },
        { I = I, B = B, T = T })
    for n = 1, I do
      for s = 1, T do
        for k, row in ipairs { 2, 1, 2 } do
          same(out.h[n][row][s], out.again[n][s][k])
          same(out.c[n][row][s], out.cells[n][s][k])
        end
      end
    end
    assert.equal(12, #out.g[1])
  end)

  it("learns along rows with the gradient of finite differences", function()
    local P = tempo.program { dtype = "f64" }
    local i, b, t = P:dim("i", "I"), P:dim("b", "B"), P:dim("t", "T")
    local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
    local a = P:param("a", { along = { i }, shape = {}, init = 0 })
    local memory = rl.memory(function(x, h) return a * h + x end, env, { shape = { 4 } })
    local h = memory(env.obs:to "f64")
    env:step(P:input("action", { domain = { i, b, t }, dtype = "i64" }))
    local loss = (h * h):sum()
    local again = memory:segments(env.obs:to "f64")
    local g = tempo.grad(loss, { a })[1]
    local g_again = tempo.grad((again * again):sum(), { a })[1]
    local first = memory:first()
    local f = P:compile { outputs = { obs = env.obs, begins = env.begins, first = first, g = g,
      g_again = g_again } }
    f:load_params { a = 0.7 }
    local out = f({ action = actions }, { I = I, B = B, T = T })
    for n = 1, I do
      -- of iteration n alone: what it began with is given
      local function value(x)
        local sum = 0
        for k = 0, B - 1 do
          local s = out.first[n - 1][k]:totable()
          for step = 0, T - 1 do
            if out.begins[n - 1][k][step] then s = zero end
            s = seen_next(x, s, out.obs[n - 1][k][step]:totable())
            for j = 1, 4 do sum = sum + s[j] * s[j] end
          end
        end
        return sum
      end
      local want = (value(0.7 + 1e-5) - value(0.7 - 1e-5)) / 2e-5
      same(want, out.g[n - 1], 1e-6)
      same(want, out.g_again[n - 1], 1e-6)
    end
  end)

  it("says what is wrong", function()
    local P = tempo.program()
    local i, k, t = P:dim("i", "I"), P:dim("k", "K"), P:dim("t", "T")
    local env = rl.env(P, "CartPole-v1", { domain = { i, t }, time = t, carry = i })
    local cell = nn.GRUCell(P, 4, 3, { along = { i, k } })
    local memory = rl.memory(cell, env)
    helper.fails(function() memory:next(env.obs) end, "option", "has seen nothing yet")
    helper.fails(function() memory:segments(env.obs) end, "option", "has seen nothing yet")
    memory(env.obs)
    helper.fails(function() memory(env.next_obs) end, "option", "memory:next(x)")
    helper.fails(function() memory:segments(tempo.zeros { 4 }) end, "domain", "'t'")
    local rows = P:input("rows", { domain = { i, t }, shape = { 5, 4 } })
    local begins = P:input("begins", { domain = { i, t }, shape = { 5 }, dtype = "bool" })
    helper.fails(function()
      memory:segments(rows, { begins = begins })
    end, "option", "first = batch.first")
    helper.fails(function()
      memory:segments(rows, { begin = begins })
    end, "option", "did you mean 'begins'")
    helper.fails(function() rl.memory(cell, P) end, "option", "expected")
    helper.fails(function() rl.memory(3, env) end, "option", "a module or a function")
    helper.fails(function()
      rl.memory(function(x) return x end, env)
    end, "option", "{ shape = {64} }")
    helper.fails(function()
      rl.memory(cell, env, { shpe = {} })
    end, "option", "did you mean 'shape'")
    helper.fails(function() rl.window(P, 0, env) end, "option", "an integer, 1 or more")
    local two = rl.memory(function(x, h) return h + x, h end, env, { shape = { 4 } })
    helper.fails(function() two(env.obs) end, "option", "a state of 1 tensors and gives 2")
  end)
end)

describe("minibatches over dims", function()
  local I, E, M, B, T = 2, 3, 4, 4, 6
  local function program()
    local P = tempo.program { seed = 8 }
    return P, P:dim("i", "I"), P:dim("e", "E"), P:dim("m", "M"), P:dim("b", "B"), (P:dim("t", "T"))
  end

  it("are equal shares of the points, each once an epoch, drawn anew for every point of the other dims", function()
    local P, i, e, m, b, t = program()
    local number = b:value() * 100 + t:value()
    local function over(x) return x + 0 * (i:value() + b:value() + t:value()) end
    local set = { x = over(number):to "f32":unsqueeze(0), y = over(number + 1000) }
    local batch = tempo.data.batches(P, set, { over = { b, t }, epoch = e, step = m, count = M })
    local plain =
      tempo.data.batches(P, set, { over = { b, t }, step = m, count = M, shuffle = false })
    local bounds = { I = I, E = E, M = M, B = B, T = T }
    local out = helper.run(P, { x = batch.x, y = batch.y, plain = plain.y }, {}, bounds)
    local orders = {}
    for j = 1, I do
      for n = 1, E do
        local seen, order = {}, {}
        for k = 1, M do
          assert.equal(B * T / M, #out.y[j][n][k])
          for row, y in ipairs(out.y[j][n][k]) do
            assert.equal(y - 1000, out.x[j][n][k][row][1])
            order[#order + 1], seen[y] = y, true
          end
        end
        for s = 0, B * T - 1 do assert.is_true(seen[1000 + math.floor(s / T) * 100 + s % T]) end
        orders[table.concat(order, " ")] = true
      end
      for s = 0, B * T - 1 do
        assert.equal(1000 + math.floor(s / T) * 100 + s % T,
          out.plain[j][math.floor(s / (B * T / M)) + 1][s % (B * T / M) + 1])
      end
    end
    local different = 0
    for _ in pairs(orders) do different = different + 1 end
    assert.equal(I * E, different)
    local f = P:compile { outputs = batch }
    helper.fails(function()
      f({}, { I = 1, E = 1, M = 4, B = 2, T = 5 })
    end, "shape", "B*T = 10, 4*((B*T)//4) = 8")
    helper.fails(function() f({}, { I = 1, E = 1, M = 5, B = 4, T = 5 }) end, "domain", "M <= 4")
  end)

  it("of whole rows have one order for all of t, and a memory goes on from each row's own state",
    function()
    local P, i, e, m, b, t = program()
    local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
    local cell = nn.GRUCell(P, 4, 3, { along = { i, e, m } })
    local memory = rl.memory(cell, env)
    local h = memory(env.obs)
    env:step(P:input("action", { domain = { i, b, t }, dtype = "i64" }))
    local set = { obs = env.obs, begins = env.begins, first = memory:first(),
      b = b:value() + 0 * env.reward:to "i64", h = h }
    local batch =
      tempo.data.batches(P, set, { over = { b }, epoch = e, step = m, count = 2, whole = { t } })
    local again = memory:segments(batch.obs, { begins = batch.begins, first = batch.first })
    local actions = helper.fill({ I, B, T }, function(_, k) return k % 2 end)
    local out = helper.run(P,
      { obs = env.obs, b = batch.b, rows = batch.obs, again = again, h = batch.h },
      { action = actions }, { I = I, E = E, M = 2, B = B, T = T })
    local orders = {}
    for j = 1, I do
      for n = 1, E do
        local order, seen = {}, {}
        for k = 1, 2 do
          for row = 1, B / 2 do
            local at = out.b[j][n][k][1][row]
            order[#order + 1], seen[at] = at, true
            for s = 1, T do
              assert.equal(at, out.b[j][n][k][s][row])
              same(out.obs[j][at + 1][s], out.rows[j][n][k][s][row], 0)
              -- nothing has been learnt
              same(out.h[j][n][k][s][row], out.again[j][n][k][s][row])
            end
          end
        end
        for at = 0, B - 1 do assert.is_true(seen[at]) end
        orders[table.concat(order, " ")] = true
      end
    end
    assert.is_true(next(orders, (next(orders))) ~= nil)
  end)

  it("say what is wrong", function()
    local P, i, e, m, b, t = program()
    local x = P:input("x", { domain = { i, b, t } })
    local function refused(o, ...)
      local set = o.set or { x = x }
      o.set = nil
      o.step = m
      local words = { ... }
      helper.fails(function() tempo.data.batches(P, set, o) end, (table.unpack or unpack)(words))   -- luacheck: globals unpack
    end
    refused({ over = { b, t }, count = m:upper() }, "option", "count: expected an integer")
    refused({ over = { b, t } }, "option", "count is missing")
    refused({ over = { b, t }, count = 2, size = 3 }, "option", "size = 32")
    refused({ count = 2 }, "option", "size is missing")
    refused({ over = { b, e }, count = 2 }, "domain", "'x' does not vary over 'e'")
    refused({ over = { b, t }, count = 2, whole = 3 }, "option", "whole: expected a dim")
    refused({ over = { b }, count = 2, set = { x = { 1, 2 } } }, "domain",
      "'x' does not vary over 'b'")
  end)
end)

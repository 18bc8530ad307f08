-- tempo.rl: CartPole as a recurrence, returns against brute force in plain Lua, the value at a
-- truncation.
local tempo = require "tempo"
local helper = require "spec.helper"
local rl = require "tempo.rl"
local same = helper.same

-- ---- the environment ----------------------------------------------------------------------------

-- One step of Gymnasium's CartPole-v1, in plain Lua.
local function physics(s, action)
  local x, v, theta, omega = s[1], s[2], s[3], s[4]
  local force = action == 1 and 10 or -10
  local c, sn = math.cos(theta), math.sin(theta)
  local temp = (force + 0.05 * omega * omega * sn) / 1.1
  local alpha = (9.8 * sn - c * temp) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
  local acc = temp - 0.05 * alpha * c / 1.1
  local n = { x + 0.02 * v, v + 0.02 * acc, theta + 0.02 * omega, omega + 0.02 * alpha, s[5] + 1 }
  local limit = 12 * 2 * math.pi / 360
  return n, math.abs(n[1]) > 2.4 or math.abs(n[3]) > limit, n[5] >= 500
end

local function outputs(env)
  return { state = env.state, obs = env.obs, next_obs = env.next_obs, reward = env.reward,
    terminated = env.terminated, truncated = env.truncated, done = env.done }
end

describe("CartPole", function()
  it("takes the steps of the physics, resets itself, and shows the observation before the reset",
    function()
    local P = tempo.program { seed = 11 }
    local b, t = P:dim("b", "B"), (P:dim("t", "T"))
    local env = rl.env(P, "CartPole-v1", { domain = { b, t }, time = t })
    local action = P:input("action", { domain = { b, t }, dtype = "i64" })
    local reward, terminated, truncated, next_obs = env:step(action)
    assert.equal(env.reward, reward)
    assert.equal(env.terminated, terminated)
    assert.equal(env.truncated, truncated)
    assert.equal(env.next_obs, next_obs)
    local B, T, actions = 4, 120, {}
    for k = 1, B do
      actions[k] = {}
      for s = 1, T do actions[k][s] = (k == 1 and 1) or (k == 2 and 0) or (s * k) % 2 end
    end
    local out = helper.run(P, outputs(env), { action = actions }, { B = B, T = T }, { tol = 1e-12 })
    local ends = 0
    for k = 1, B do
      for s = 1, T do
        local state = out.state[k][s]
        for j = 1, 4 do
          same(state[j], out.obs[k][s][j], 1e-6)
          if s == 1 then assert.is_true(math.abs(state[j]) <= 0.05) end
        end
        if s == 1 then assert.equal(0, state[5]) end
        local n, terminated_, truncated_ = physics(state, actions[k][s])
        assert.equal(terminated_, out.terminated[k][s])
        assert.equal(truncated_, out.truncated[k][s])
        assert.equal(terminated_ or truncated_, out.done[k][s])
        assert.equal(1, out.reward[k][s])
        for j = 1, 4 do same(n[j], out.next_obs[k][s][j], 1e-6) end
        if s < T then
          local later = out.state[k][s + 1]
          if out.done[k][s] then
            ends = ends + 1
            assert.equal(0, later[5])
            for j = 1, 4 do assert.is_true(math.abs(later[j]) <= 0.05) end
          else
            same(n, later, 1e-12)
          end
        end
      end
    end
    assert.is_true(ends > 20)
    assert.are_not.same(out.state[1][1], out.state[2][1])
  end)

  it("is truncated at 500 steps, which is no termination", function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local env = rl.env(P, "CartPole-v1", { domain = { t }, time = t })
    local o = env.obs
    local function s(k) return o:select(0, k) end
    env:step((s(2) + 0.5 * s(3) + 0.05 * s(0) + 0.1 * s(1)):gt(0):to "i64")
    local out = helper.run(P, outputs(env), {}, { T = 502 }, { tol = 1e-9 })
    for k = 1, 502 do
      assert.is_false(out.terminated[k])
      assert.equal(k == 500, out.truncated[k])
    end
    assert.equal(499, out.state[500][5])
    assert.equal(0, out.state[501][5])
    assert.are_not.same(out.next_obs[500], out.obs[501])
  end)

  it("starts anew at t = 0, or goes on from the iteration before with carry", function()
    local function states(carry)
      local P = tempo.program { seed = 4 }
      local i, t = P:dim("i", "I"), (P:dim("t", "T"))
      local env = rl.env(P, "CartPole-v1",
        { domain = { i, t }, time = t, carry = carry and i or nil })
      env:step(P:constant(tempo.array(1, "i64")) + 0 * t:value())
      return helper.value(P, env.state, {}, { I = 3, T = 4 })
    end
    local fresh, carried = states(false), states(true)
    for k = 1, 3 do assert.equal(0, fresh[k][1][5]) end
    same(fresh[1], carried[1], 0)
    for k = 2, 3 do
      same((physics(carried[k - 1][4], 1)), carried[k][1], 1e-12)
      assert.equal(4 * (k - 1), carried[k][1][5])
    end
  end)

  it("says what is wrong", function()
    local P = tempo.program()
    local b, t = P:dim("b", "B"), (P:dim("t", "T"))
    helper.fails(function() local _ = rl.env(P, "CartPole-v2", { domain = { t }, time = t }) end,
      "option", "'CartPole-v1'")
    helper.fails(function()
      local _ = rl.env(P, "CartPole-v1", { domain = { b } })
    end, "option", "time")
    helper.fails(function()
      local _ = rl.env(P, "CartPole-v1", { domain = { b }, time = t })
    end, "domain", "'t'")
    local env = rl.env(P, "CartPole-v1", { domain = { t }, time = t })
    env:step(P:constant(tempo.array(1, "i64")))
    helper.fails(function() env:step(P:constant(tempo.array(1, "i64"))) end, "option", "twice")
    helper.fails(function() local _ = rl.n_step(env, { gamma = 1 }) end, "option", "n")
    helper.fails(function() local _ = rl.n_step(env, { gamma = 1, n = 0 }) end, "option", "n is 0")
    helper.fails(function()
      local _ = rl.n_step(env, { gamma = 1, n = 1.5 })
    end, "option", "n is 1.5")
    helper.fails(function()
      local _ = rl.env("CartPole-v1", { domain = { t }, time = t })
    end, "option", "program")
  end)
end)

describe("an environment's tensors", function()
  it("may be read before the step, and are what the step gives", function()
    local P = tempo.program { seed = 4 }
    local b, t = P:dim("b", "B"), (P:dim("t", "T"))
    local env = rl.env(P, "CartPole-v1", { domain = { b, t }, time = t })
    local before = outputs(env)
    local advantage = rl.gae(env, { value = env.obs:sum(), next_value = env.next_obs:sum() })
    local action = tempo.where(env.obs:select(0, 2):gt(0), 1, 0):to "i64"
    local reward, terminated, truncated, next_obs = env:step(action)
    assert.same({ before.reward, before.terminated, before.truncated, before.next_obs },
      { reward, terminated, truncated, next_obs })
    assert.equal(before.done, env.done)
    before.advantage = advantage
    local out = helper.run(P, before, {}, { B = 2, T = 60 })

    local Q = tempo.program { seed = 4 }
    local c, s = Q:dim("b", "B"), (Q:dim("t", "T"))
    local other = rl.env(Q, "CartPole-v1", { domain = { c, s }, time = s })
    other:step(tempo.where(other.obs:select(0, 2):gt(0), 1, 0):to "i64")
    local after = outputs(other)
    after.advantage = rl.gae(other, { value = other.obs:sum(), next_value = other.next_obs:sum() })
    assert.same(helper.run(Q, after, {}, { B = 2, T = 60 }), out)
  end)

  it("say where episodes begin: at the first point, and after done, over `carry` too", function()
    for _, carry in ipairs { false, true } do
      local P = tempo.program { seed = 5 }
      local i, b, t = P:dim("i", "I"), P:dim("b", "B"), (P:dim("t", "T"))
      local env = rl.env(P, "CartPole-v1",
        { domain = { i, b, t }, time = t, carry = carry and i or nil })
      local begins = env.begins
      env:step(begins:to "i64" * 0 + 1)
      local out = helper.run(P, { begins = begins, done = env.done, state = env.state }, {},
        { I = 4, B = 2, T = 24 })
      local ends, over = 0, 0
      for j = 1, 4 do
        for k = 1, 2 do
          for s = 1, 24 do
            local before = out.done[j][k][s - 1]
            if s == 1 then before = not (carry and j > 1) or out.done[j - 1][k][24] end
            assert.equal(before, out.begins[j][k][s])
            assert.equal(before, out.state[j][k][s][5] == 0)
            if before and s > 1 then ends = ends + 1 end
            if s == 1 and not before then over = over + 1 end
          end
        end
      end
      assert.is_true(ends > 4 and (over > 0) == carry)
    end
  end)

  it("are undefined without a step, and say so", function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local env = rl.env(P, "CartPole-v1", { domain = { t }, time = t })
    helper.fails(function() P:compile { outputs = { d = env.done } } end, "undefined", "'env.done'")
  end)
end)

describe("the frame of environments", function()
  -- A walker with a table as its state, which ends at 2 and is cut after five steps: what rl.trace
  -- makes of a game.
  local frame = require "tempo.rl.frame"
  local function walker(P, o)
    return frame.env("walker", P, o, {
      start = function(domain, name)
        return { x = tempo.randint({}, 0, 2, { domain = domain, name = name }),
          n = P:constant(tempo.array(0, "i64")) }
      end,
      observe = function(s) return tempo.stack { s.x, s.n } end,
      legal = function(s) return tempo.stack { s.x:gt(0), s.x:ge(0) } end,
      step = function(env, action)
        local after = { x = env.state.x + 2 * action - 1, n = env.state.n + 1 }
        local terminated, truncated = after.x:ge(2), after.n:ge(5)
        return frame.reset(env, after, terminated:lor(truncated)), tempo.stack { after.x, after.n },
          after.x:to "f32", terminated, truncated
      end,
    })
  end

  it("gives a script's own steps the same tensors, resets and carrying on", function()
    for _, carry in ipairs { false, true } do
      local P = tempo.program { seed = 3 }
      local i, t = P:dim("i", "I"), (P:dim("t", "T"))
      local env = walker(P, { domain = { i, t }, time = t, carry = carry and i or nil })
      local action = P:input("action", { domain = { i, t }, dtype = "i64" })
      local early = { env.begins, env.done, env.next_obs }
      assert.equal("i64", early[3]:dtype())
      env:step(action)
      local actions = helper.fill({ 3, 12 }, function(j, s)
        return (j + s * s) % 3 == 0 and 0 or 1
      end)
      local out = helper.run(P,
        { obs = env.obs, next_obs = env.next_obs, reward = env.reward, done = env.done,
        begins = env.begins, legal = env.legal }, { action = actions }, { I = 3, T = 12 })
      for j = 1, 3 do
        local x, n
        if carry and j > 1 and not out.done[j - 1][12] then
          x, n = out.next_obs[j - 1][12][1], out.next_obs[j - 1][12][2]
        end
        for s = 1, 12 do
          assert.equal(x == nil, out.begins[j][s])
          x, n = x or out.obs[j][s][1], n or 0
          assert.same({ x, n }, out.obs[j][s])
          assert.same({ x > 0, x >= 0 }, out.legal[j][s])
          x, n = x + 2 * actions[j][s] - 1, n + 1
          assert.same({ x, n }, out.next_obs[j][s])
          assert.equal(x, out.reward[j][s])
          assert.equal(x >= 2 or n >= 5, out.done[j][s])
          if out.done[j][s] then x, n = nil, nil end
        end
      end
    end
  end)
end)

describe("arguments of another kind", function()
  local P = tempo.program()
  local b, t, T = P:dim("b", "B"), P:dim("t", "T")
  local r, flag = P:input("r", { domain = { t } }), P:input("f", { domain = { t }, dtype = "bool" })
  local traj = { reward = r, terminated = flag, truncated = flag, time = t }
  local function without(key, v)
    local copy = { reward = r, terminated = flag, truncated = flag, time = t }
    copy[key] = v
    return copy
  end

  it("are refused with their class and place by tempo.rl", function()
    local function env(o) return function() rl.env(P, "CartPole-v1", o) end end
    helper.fails(env { domain = { t }, time = 3 }, "option",
      "time: expected a dim, got the number 3")
    helper.fails(env { domain = { t }, time = T }, "option", "time: expected a dim, got T")
    helper.fails(env { domain = { 3 }, time = t }, "option",
      "domain: expected a dim, got the number 3")
    helper.fails(env { domain = { t }, time = t, carry = "b" }, "option",
      "carry: expected a dim, got the string 'b'")
    helper.fails(env { domain = { t }, time = t, carry = b }, "domain", "'b' of carry")
    helper.fails(env { domain = { t }, time = t, name = {} }, "option",
      "name: expected a string, got a table")
    helper.fails(function()
      rl.env(P, {}, { domain = { t }, time = t })
    end, "option", "unknown environment")
    for _, name in ipairs { "monte_carlo", "n_step", "td", "gae", "episode_return", "episodes" } do
      local f = rl[name]
      local function refused(what, ...)
        local given, o = ...
        helper.fails(function()
          f(given, name ~= "episode_return" and o or nil)
        end, "option", "rl." .. name, what)
      end
      refused("the trajectory", 3, {})
      refused("reward", without "reward", {})
      refused("reward", without("reward", 3), {})
      refused("terminated", without("terminated", {}), {})
      refused("truncated", without("truncated", 1), {})
      refused("time", without("time", "t"), {})
      if name == "episodes" then refused("over", traj, { 3 })
      elseif name ~= "episode_return" then refused("options", traj, 3) end
    end
    local o = { value = r, next_value = r }
    helper.fails(function()
      rl.gae(traj, { value = 1, next_value = r })
    end, "option", "value: expected a tensor")
    helper.fails(function()
      rl.td(traj, { next_value = "x" })
    end, "option", "next_value: expected a tensor")
    helper.fails(function() o.name = 3 rl.gae(traj, o) end, "option", "name: expected a string")
    helper.fails(function()
      rl.n_step(traj, { n = "3" })
    end, "option", "n: expected a number or a bound")
  end)

  it("are refused by tempo.nn.init", function()
    local init = tempo.nn.init
    for _, name in ipairs { "zeros", "ones", "uniform", "normal", "xavier_uniform", "xavier_normal",
      "kaiming_uniform", "kaiming_normal", "orthogonal" } do
      helper.fails(function() init[name](3, { 3, 3 }) end, "option", "nn.init." .. name,
        "expected the program first")
      helper.fails(function() init[name](P, 3) end, "option", "nn.init." .. name, "the shape")
      helper.fails(function()
        init[name](P, { 3, 3 }, 3)
      end, "option", "nn.init." .. name, "a table of options")
      helper.fails(function()
        init[name](P, { 3, 3 }, { name = 3 })
      end, "option", "name: expected a string")
      helper.fails(function()
        init[name](P, { 3, 3 }, { dtype = 3 })
      end, "option", "dtype: expected a string")
      helper.fails(function()
        init[name](P, { 3, 3 }, { domain = 3 })
      end, "option", "domain: expected a dim")
      helper.fails(function() init[name](P, { "a", {} }) end, "option")
    end
    helper.fails(function()
      init.uniform(P, { 3 }, { low = "a" })
    end, "option", "low: expected a number")
    helper.fails(function()
      init.normal(P, { 3 }, { std = {} })
    end, "option", "std: expected a number")
    helper.fails(function()
      init.xavier(P, { 3, 3 }, { gain = "a" })
    end, "option", "gain: expected a number")
    helper.fails(function() init.fans(3) end, "option", "the shape")
    helper.fails(function() init.fans { "a", 3 } end, "option", "an extent")
    helper.fails(function() init.gain("leaky_relu", "x") end, "option", "slope: expected a number")
    helper.fails(function() init.gain(3) end, "option", "'3'")
    helper.fails(function() init.make(3, "zeros", { 3 }, {}) end, "option", "program")
  end)

  it("are refused by tempo.data", function()
    local data = tempo.data
    local function batches(set, o) return function() data.batches(P, set, o) end end
    local set = { x = tempo.array { 1, 2, 3 } }
    helper.fails(batches(3, { step = t, size = 1 }), "option", "the set: expected a table")
    helper.fails(batches({ tempo.array { 1 } }, { step = t, size = 1 }), "option",
      "name of the set: expected a string")
    helper.fails(batches({ x = print }, { step = t, size = 1 }), "option", "got a function")
    helper.fails(batches(set, { step = "t", size = 1 }), "option",
      "step: expected a dim, got the string 't'")
    helper.fails(batches(set, { step = t, size = "1" }), "option",
      "size: expected an integer, 1 or more")
    helper.fails(batches(set, { step = t, size = 0 }), "option",
      "size: expected an integer, 1 or more, got the number 0")
    helper.fails(batches(set, { step = t, size = 1.5 }), "option", "size: expected an integer")
    helper.fails(batches(set, { step = t, size = 1, epoch = 3 }), "option", "epoch: expected a dim")
    helper.fails(batches(set, { step = t, size = 1, shuffle = 1 }), "option",
      "shuffle: expected a boolean")
    helper.fails(batches(set, { step = t, size = 1, name = 1 }), "option",
      "name: expected a string")
    helper.fails(function() data.csv {} end, "option", "the path: expected a string")
  end)
end)

-- ---- returns ------------------------------------------------------------------------------------

local gamma, lambda = 0.9, 0.8

-- Brute force, straight from the definitions. d: { r, te, tr, v (of obs), nv (of next_obs) },
-- 1-based.
local function after(d, u) return d.te[u] and 0 or d.nv[u] end
local function brute(d, T, n)
  local G = {}
  for t = 1, T do
    local g, k = 0, 0
    while true do
      local u = t + k
      g = g + gamma ^ k * d.r[u]
      if d.te[u] or d.tr[u] or k == n - 1 or u == T then
        g = g + gamma ^ (k + 1) * after(d, u)
        break
      end
      k = k + 1
    end
    G[t] = g
  end
  return G
end
local function brute_gae(d, T)
  local A, later = {}, 0
  for t = T, 1, -1 do
    local delta = d.r[t] + gamma * after(d, t) - d.v[t]
    later = delta + ((d.te[t] or d.tr[t]) and 0 or gamma * lambda * later)
    A[t] = later
  end
  return A
end

local function trajectory(P, t)
  local function input(name, dtype)
    return P:input(name, { domain = { t }, dtype = dtype or "f64" })
  end
  return { reward = input "r", terminated = input("te", "bool"), truncated = input("tr", "bool"),
    time = t }, input "v", input "nv"
end

local function data(T, seed)
  local r = helper.rng(seed)
  local d = { r = {}, te = {}, tr = {}, v = {}, nv = {} }
  for k = 1, T do
    d.r[k], d.v[k], d.nv[k] = r(), 5 * r(), 5 * r()
    local what = r(6)
    d.te[k], d.tr[k] = what == 0 or what == 2, what == 1 or what == 2   -- 2: both at once
  end
  return d
end

describe("returns", function()
  it("of Monte Carlo, TD and GAE are those of the definitions", function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local traj, v, nv = trajectory(P, t)
    local advantage,
      target = rl.gae(traj, { gamma = gamma, lambda = lambda, value = v, next_value = nv })
    local outs = { mc = rl.monte_carlo(traj, { gamma = gamma, next_value = nv }),
      advantage = advantage, target = target, plain = rl.monte_carlo(traj, { gamma = gamma }),
      td = rl.td(traj, { gamma = gamma, next_value = nv }) }
    for T = 1, 12 do
      local d = data(T, T)
      local out = helper.run(P, outs, d, { T = T }, { tol = 1e-10 })
      same(brute(d, T, math.huge), out.mc, 1e-10)
      same(brute(d, T, 1), out.td, 1e-10)
      same(brute_gae(d, T), out.advantage, 1e-10)
      for k = 1, T do same(out.advantage[k] + d.v[k], out.target[k], 1e-10) end
      local zero = { r = d.r, te = d.te, tr = d.tr, nv = {} }
      for k = 1, T do zero.nv[k] = 0 end
      same(brute(zero, T, math.huge), out.plain, 1e-10)
    end
  end)

  it("of n steps are those of the definition, n a number or a bound", function()
    for _, n in ipairs { 1, 2, 3, 5, 100 } do
      local P = tempo.program()
      local t = P:dim("t", "T")
      local traj, _, nv = trajectory(P, t)
      local G = rl.n_step(traj, { gamma = gamma, n = n, next_value = nv })
      local both = { G = G, plain = rl.n_step(traj, { gamma = gamma, n = n }) }
      for _, T in ipairs { 1, 2, 7, 12 } do
        local d = data(T, 10 * n + T)
        local out = helper.run(P, both, d, { T = T }, { tol = 1e-10 })
        same(brute(d, T, n), out.G, 1e-10)
        for k = 1, T do d.nv[k] = 0 end
        same(brute(d, T, n), out.plain, 1e-10)
      end
    end
    local P = tempo.program()
    local t = P:dim("t", "T")
    local n = P:bound "n"
    local traj, _, nv = trajectory(P, t)
    local G = rl.n_step(traj, { gamma = gamma, n = n, next_value = nv })
    for _, m in ipairs { 1, 2, 4, 9, 50 } do
      local d = data(9, m)
      same(brute(d, 9, m), helper.value(P, G, d, { T = 9, n = m }, { tol = 1e-10 }), 1e-10)
    end
  end)

  -- The field's most repeated bug: to treat a truncation as an end worth nothing is off by gamma *
  -- V, and to go on with what follows in the recording reads another episode.
  it("bootstrap from the observation before the reset at a truncation", function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local traj, v, nv = trajectory(P, t)
    local no, yes = { false, false, false }, { false, true, false }
    local values = { r = { 1, 1, 1 }, v = { 7, 8, -100 }, nv = { 8, 10, 3 } }
    local function run(te, tr)
      local out = helper.run(P, {
        mc = rl.monte_carlo(traj, { gamma = gamma, next_value = nv }),
        two = rl.n_step(traj, { gamma = gamma, n = 2, next_value = nv }),
        td = rl.td(traj, { gamma = gamma, next_value = nv }),
        target = select(2, rl.gae(traj, { gamma = gamma, lambda = 1, value = v, next_value = nv })),
      }, { r = values.r, te = te, tr = tr, v = values.v, nv = values.nv }, { T = 3 })
      return out
    end
    local cut, over = run(no, yes), run(yes, no)
    for _, name in ipairs { "mc", "two", "td", "target" } do
      same(1 + gamma * 10, cut[name][2])                    -- not 1, and nothing of step 3
      same(1, over[name][2])
      same(gamma * 10, cut[name][2] - over[name][2])        -- what the bug is off by
    end
    same(1 + gamma * (1 + gamma * 10), cut.mc[1])
    same(1 + gamma * (1 + gamma * 10), cut.two[1])
    same(cut.mc[3], over.mc[3])
    same(run(yes, yes).mc, over.mc)                         -- both at once: a termination
  end)

  it("are targets: no gradient goes through them", function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local traj, v, nv = trajectory(P, t)
    local w = P:param("w", { init = 1, dtype = "f64" })
    traj.reward = traj.reward * w               -- a reward may be learnt too
    local loss = rl.monte_carlo(traj, { gamma = gamma, next_value = nv * w })
      + rl.n_step(traj, { gamma = gamma, n = 2, next_value = nv * w }) + rl.td(traj,
        { next_value = nv * w })
      + rl.gae(traj, { gamma = gamma, value = v * w, next_value = nv * w })
    same(0, helper.value(P, tempo.grad(loss + 0 * w, { w })[1], data(5, 1), { T = 5 }))
  end)

  it("are those of the definitions in every environment and iteration, carried on or not",
    function()
    local horizon = 25
    for _, carry in ipairs { false, true } do
      local P = tempo.program { seed = 21 }
      local i, b, t = P:dim("i", "I"), P:dim("b", "B"), (P:dim("t", "T"))
      local env = rl.env(P, "CartPole-v1",
        { domain = { i, b, t }, time = t, carry = carry and i or nil })
      local w = P:param("w", { along = { i }, shape = { 4 }, init = 0.1 })
      local v = (env.obs * w):sum()
      env:step(tempo.randint({}, 0, 2, { domain = { i, b, t }, name = "action" }))
      local nv = (env.next_obs * w):sum()
      local with = { gamma = gamma, lambda = lambda, value = v, next_value = nv }
      local advantage, target = rl.gae(env, with)
      w:update(w + 0.1 * tempo.grad((v - target):square(), { w })[1]:clamp(-1, 1))
      local shown = { r = env.reward, te = env.terminated, tr = env.truncated, v = v, nv = nv,
        advantage = advantage,
        mc = rl.monte_carlo(env, { gamma = gamma, next_value = nv }), obs = env.obs,
          next_obs = env.next_obs }
      for _, n in ipairs { 1, 4, 100 } do
        shown["n" .. n] = rl.n_step(env, { gamma = gamma, n = n, next_value = nv })
      end
      for _, T in ipairs { 1, 2, horizon } do
        local out = helper.run(P, shown, {}, { I = 3, B = 2, T = T })
        for j = 1, 3 do
          for k = 1, 2 do
            local d = {}
            for name, x in pairs(out) do d[name] = x[j][k] end
            same(brute(d, T, math.huge), d.mc)
            same(brute_gae(d, T), d.advantage)
            for _, n in ipairs { 1, 4, 100 } do same(brute(d, T, n), d["n" .. n]) end
            if carry and j > 1 and not (out.te[j - 1][k][T] or out.tr[j - 1][k][T]) then
              same(out.next_obs[j - 1][k][T], d.obs[1], 0)
            end
          end
        end
      end
    end
  end)

  it("sum up episodes for the log", function()
    local P = tempo.program()
    local b, t = P:dim("b", "B"), (P:dim("t", "T"))
    local r = P:input("r", { domain = { b, t } })
    local te = P:input("te", { domain = { b, t }, dtype = "bool" })
    local tr = P:input("tr", { domain = { b, t }, dtype = "bool" })
    local traj = { reward = r, terminated = te, truncated = tr, time = t }
    local sum, number, running = rl.episodes(traj, { b, t })
    local x, o = true, false
    local out = helper.run(P,
      { score = rl.episode_return(traj), sum = sum, number = number, running = running }, {
      r = { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } },
      te = { { o, x, o, o }, { o, o, o, x } }, tr = { { o, o, x, o }, { o, o, o, o } },
    }, { B = 2, T = 4 })
    same({ { 1, 3, 3, 4 }, { 5, 11, 18, 26 } }, out.score)
    same(3 + 3 + 26, out.sum)
    same(3, out.number)
    same((4 + 26) / 2, out.running)
  end)
end)

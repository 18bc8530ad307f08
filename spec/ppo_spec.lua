-- Losses of tempo.rl against PyTorch (spec/fixtures/make_ppo.py), running statistics against plain
-- Lua.
local tempo = require "tempo"
local helper = require "spec.helper"
local rl, dist, optim = tempo.rl, tempo.dist, tempo.optim
local same = helper.same

local N, OBS, HIDDEN, ACTIONS = 12, 4, 6, 3

-- As in the fixture's script.
local function known(k, shape, scale)
  local i = 0
  local f = helper.fill(shape, function()
    i = i + 1
    local v = ((i * 7919 + k * 104729) * 48271) % 65537 / 65537
    return scale and scale * (2 * v - 1) or v
  end)
  return f
end

local function flat(x, out)
  out = out or {}
  if type(x) ~= "table" then out[#out + 1] = x end
  for _, v in ipairs(type(x) == "table" and x or {}) do flat(v, out) end
  return out
end

describe("PPO's loss", function()
  for _, case in ipairs(dofile "spec/fixtures/ppo.lua") do
    it("and its gradients are PyTorch's: " .. case.name, function()
      local P = tempo.program { dtype = "f64" }
      local function given(k, shape, scale)
        return P:constant(tempo.array(known(k, shape, scale), "f64"))
      end
      local function weight(name, k, shape, scale)
        return P:param(name,
          { shape = shape, init = tempo.array(known(k, shape, scale or 1), "f64") })
      end
      local x = given(1, { N, OBS }, 2)
      local w = { w1 = weight("w1", 2, { HIDDEN, OBS }), w2 = weight("w2", 3, { ACTIONS, HIDDEN }),
        v1 = weight("v1", 4, { HIDDEN, OBS }), v2 = weight("v2", 5, { 1, HIDDEN }),
        log_std = weight("log_std", 6, { ACTIONS }, 0.5) }
      local out = x:matmul(w.w1:mT()):tanh():matmul(w.w2:mT())
      local log_prob, entropy
      if case.continuous then
        local pi = dist.Normal(out, w.log_std:exp():expand { N, ACTIONS })
        log_prob, entropy = pi:log_prob(given(7, { N, ACTIONS }, 2)):sum(1), pi:entropy():sum(1)
      else
        local pi = dist.Categorical { logits = out }
        log_prob = pi:log_prob((given(7, { N }) * ACTIONS):floor():to "i64")
        entropy = pi:entropy()
      end
      local advantage = given(9, { N }, 2)
      local o = { log_ratio = log_prob - (log_prob:detach() + given(8, { N }, 0.5)),
        entropy = entropy,
        advantage = case.norm_adv and advantage:normalized() or advantage,
          old_value = given(11, { N }, 2),
        value = x:matmul(w.v1:mT()):tanh():matmul(w.v2:mT()):squeeze(-1),
          target = given(10, { N }, 3) }
      for key, v in pairs(case.options) do o[key] = v end
      local loss, shown = rl.ppo_loss(o)
      shown.loss = loss
      for name in pairs(case.grads) do shown["d " .. name] = tempo.grad(loss, { w[name] })[1] end
      local got = helper.run(P, shown, {}, {})
      for _, name in ipairs { "loss", "policy", "value", "entropy", "kl", "clip_fraction" } do
        same(case[name], got[name], 1e-7, name)
      end
      for name, want in pairs(case.grads) do same(want, flat(got["d " .. name]), 1e-7, name) end
    end)
  end

  it("is a mean over the dims in `over` too, and leaves out what is not given", function()
    local P = tempo.program()
    local b, t = P:dim("b", "B"), P:dim("t", "T")
    local r, a = P:input("r", { domain = { b, t } }), P:input("a", { domain = { b, t } })
    local loss, stats = rl.ppo_loss { log_ratio = r, advantage = a, over = { b, t } }
    assert.is_nil(stats.value)
    assert.is_nil(stats.entropy)
    local inputs = { r = { { 0.1, -0.5, 0.3 }, { 0, 0.05, -0.1 } },
      a = { { 1, -1, 2 }, { 3, -2, 1 } } }
    local out = helper.run(P, { loss = loss, kl = stats.kl, far = stats.clip_fraction }, inputs,
      { B = 2, T = 3 })
    local sum, kl = 0, 0
    for k, row in ipairs(inputs.r) do
      for s, v in ipairs(row) do
        local ratio, adv = math.exp(v), inputs.a[k][s]
        sum = sum - math.min(ratio * adv, math.max(0.8, math.min(1.2, ratio)) * adv) / 6
        kl = kl + (ratio - 1 - v) / 6
      end
    end
    same(sum, out.loss)
    same(kl, out.kl)
    same(2 / 6, out.far)
  end)

  it("says what is wrong", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 3 } })
    helper.fails(function()
      rl.ppo_loss { advantage = x }
    end, "option", "log_ratio: expected a tensor")
    helper.fails(function()
      rl.ppo_loss { log_ratio = x, advantage = x, value = x }
    end, "option", "go together")
    helper.fails(function()
      rl.ppo_loss { log_ratio = x, advantage = x, value = x, target = x, value_clip = 1 }
    end, "option", "value_clip needs old_value")
    helper.fails(function()
      rl.ppo_loss { log_ratio = x, advantages = x }
    end, "option", "did you mean 'advantage'")
    helper.fails(function() rl.kl(3) end, "option", "log_ratio: expected a tensor")
    helper.fails(function() rl.normalize(P, x, {}) end, "option", "along is missing")
  end)
end)

describe("running statistics", function()
  local I, B, T = 4, 3, 5

  it("are those of all that was seen before an iteration, and are kept with the parameters",
    function()
    local P = tempo.program { dtype = "f64" }
    local s, i, b, t = P:dim("s", "S"), P:dim("i", "I"), P:dim("b", "B"), P:dim("t", "T")
    local x = P:input("x", { domain = { s, i, b, t }, shape = { 2 }, dtype = "f64" })
    local scale = rl.normalize(P, x, { along = { i }, domain = { s }, name = "scale", clip = 1.5 })
    local X = helper.fill({ 2, I, B, T, 2 }, function(...)
      local v = 3
      for k = 1, 5 do v = v + math.sin(k * 7 * (select(k, ...) + 1)) end
      return v
    end)
    local out = helper.run(P, { y = scale(x), mean = scale.mean, var = scale.var }, { x = X },
      { S = 2, I = I, B = B, T = T }, { tol = 1e-12 })
    for k = 1, 2 do
      local list = { {}, {} }
      for j = 1, I do
        for c = 1, 2 do
          local mean, var, n = 0, 0, #list[c]
          for _, v in ipairs(list[c]) do mean = mean + v / n end
          for _, v in ipairs(list[c]) do var = var + (v - mean) ^ 2 / n end
          if n == 0 then var = 1 end
          same(mean, out.mean[k][j][c], 1e-12)
          same(var, out.var[k][j][c], 1e-12)
          for row = 1, B do
            for step = 1, T do
              local v = X[k][j][row][step][c]
              local y = (v - mean) / math.sqrt(var + 1e-8)
              same(math.max(-1.5, math.min(1.5, y)), out.y[k][j][row][step][c], 1e-10)
            end
          end
        end
        for row = 1, B do
          for step = 1, T do
            for c = 1, 2 do table.insert(list[c], X[k][j][row][step][c]) end
          end
        end
      end
    end
    local f = P:compile { outputs = { y = scale(x) } }
    f({ x = X }, { S = 2, I = I, B = B, T = T })
    assert.same({ I * B * T, I * B * T }, f:params()["scale.count"]:totable())
  end)

  it("of returns scale rewards and keep their sign", function()
    local P = tempo.program { seed = 2 }
    local i, b, t = P:dim("i", "I"), P:dim("b", "B"), P:dim("t", "T")
    local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
    env:step(P:input("action", { domain = { i, b, t }, dtype = "i64" }))
    local R = rl.running_return(env, { gamma = 0.9 })
    local scale = rl.normalize(P, R, { along = { i }, center = false })
    local actions = helper.fill({ I, B, 7 }, function(_, k) return k % 2 end)
    local out = helper.run(P,
      { R = R, y = scale(env.reward), var = scale.var, begins = env.begins },
      { action = actions }, { I = I, B = B, T = 7 })
    for k = 1, B do
      local sum = 0
      for j = 1, I do
        for step = 1, 7 do
          sum = 1 + (out.begins[j][k][step] and 0 or 0.9 * sum)
          same(sum, out.R[j][k][step])
          same(1 / math.sqrt(out.var[j] + 1e-8), out.y[j][k][step])
        end
      end
    end
  end)
end)

describe("TD(lambda)", function()
  it("is the mixture of the definition", function()
    local P = tempo.program { dtype = "f64" }
    local t = P:dim("t", "T")
    local function input(name, dtype)
      return P:input(name, { domain = { t }, dtype = dtype or "f64" })
    end
    local traj = { reward = input "r", terminated = input("te", "bool"),
      truncated = input("tr", "bool"), time = t }
    local v, nv = input "v", input "nv"
    local advantage,
      target = rl.td_lambda(traj, { gamma = 0.9, lambda = 0.8, value = v, next_value = nv })
    local none, alone = rl.td_lambda(traj, { gamma = 0.9, lambda = 0, next_value = nv })
    assert.is_nil(none)
    local o, x = false, true
    local d = { r = { 1, 2, 3, 4, 5, 6 }, te = { o, o, x, o, o, o }, tr = { o, x, o, o, o, o },
      v = { 1, 1, 1, 1, 1, 1 }, nv = { 10, 20, 30, 40, 50, 60 } }
    local out = helper.run(P, { advantage = advantage, target = target, alone = alone,
      td = rl.td(traj, { gamma = 0.9, next_value = nv }) }, d, { T = 6 })
    local later
    for s = 6, 1, -1 do
      local after = d.te[s] and 0 or d.nv[s]
      local go_on = s < 6 and not d.te[s] and not d.tr[s]
      later = d.r[s] + 0.9 * (go_on and 0.2 * after + 0.8 * later or after)
      same(later, out.target[s])
      same(later - 1, out.advantage[s])
    end
    same(out.td, out.alone)
    helper.fails(function() rl.td_lambda(traj, {}) end, "option", "next_value is missing")
  end)
end)

describe("optimisers", function()
  it("and norms of gradients take modules, parameters and lists of them", function()
    local P = tempo.program { seed = 1 }
    local i = P:dim("i", "I")
    local net = tempo.nn.MLP(P, { 2, 3, 1 }, { along = { i }, name = "net" })
    local w = P:param("w", { along = { i }, shape = {}, init = 1 })
    local loss = (net(P:constant { 1, 2 }):sum() * w):square()
    local all = net:parameters()
    all[#all + 1] = w
    local want = optim.grad_norm(tempo.grad(loss, all))
    local shown = { want = want, mixed = optim.grad_norm({ net, w }, loss),
      listed = optim.grad_norm({ { net }, { w } }, loss),
      module = optim.grad_norm(net, loss),
        own = optim.grad_norm(tempo.grad(loss, net:parameters())),
      one = optim.grad_norm(w, loss), single = tempo.grad(loss, { w })[1]:abs() }
    optim.SGD({ { net }, w }, { lr = 0.1 }):step(loss)
    local out = helper.run(P, shown, {}, { I = 2 })
    same(out.want, out.mixed)
    same(out.want, out.listed)
    same(out.own, out.module)
    same(out.single, out.one)
    local f = P:compile { outputs = { want = want } }
    f({}, { I = 2 })
    local some = f:params { of = { { net[0] }, w } }
    assert.same({ true, true, true },
      { some["net.0.weight"] ~= nil, some["net.0.bias"] ~= nil, some.w ~= nil })
    assert.is_nil(some["net.1.weight"])
    helper.fails(function() optim.grad_norm(net) end, "option", "the loss")
  end)
end)

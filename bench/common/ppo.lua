--- PPO on CartPole as PureJaxRL has it, whole: 128 steps of each environment with the weights as
--- they are, then 4 epochs of 4 shuffled minibatches, again and again. bench/peers/native_peer.py
--- has the same in JAX.
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl

local STEPS, EPOCHS, PARTS = 128, 4, 4
local GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2

-- updates: how often all of it is done. Gives a function that does it and gives the mean length of
-- episodes in the last five, and how many steps of an environment that takes.
return function(envs, updates, tier)
  local n = envs * STEPS
  local P = tempo.program { seed = 1 }
  local i, I = P:dim "i"
  local e = P:dim "e"
  local m = P:dim "m"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local function net(name, out, gain)
    return nn.MLP(P, { 4, 64, 64, out },
      { name = name, along = { i, e, m }, activation = "tanh", init = "orthogonal",
      gain = math.sqrt(2), out_gain = gain })
  end
  local policy, critic = net("policy", 2, 0.01), net("critic", 1, 1)

  local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
  local actor, judge = policy:at { e = 0, m = 0 }, critic:at { e = 0, m = 0 }
  local acts = dist.Categorical { logits = actor(env.obs) }
  local action = acts:sample { name = "action" }
  env:step(action)
  local value, goes_on = judge(env.obs):squeeze(-1), env.done:lnot():to "f32"
  local after = judge(env.next_obs[{ t = T - 1 }]):squeeze(-1)
  local advantage = P:tensor { domain = { i, b, t } }
  advantage[{ t = T - 1 }] = env.reward + GAMMA * after * goes_on - value
  advantage:otherwise(
    env.reward + GAMMA * value[t + 1] * goes_on - value + GAMMA * LAMBDA * goes_on * advantage[t + 1])

  local order = tempo.randperm({ n }, { domain = { i, e }, name = "order" })
  local at = order:narrow(0, m * (n // PARTS), n // PARTS)
  local function batch(x)
    local all = x:detach()[{ b = 0 .. B, t = 0 .. T }]
    return all:flatten(0, 1):index_select(0, at)
  end
  local obs, old_value, gain = batch(env.obs), batch(value), batch(advantage)
  local target = gain + old_value
  local now = dist.Categorical { logits = policy(obs) }
  local ratio = (now:log_prob(batch(action)) - batch(acts:log_prob(action))):exp()
  gain = (gain - gain:mean()) / (gain:std { unbiased = false } + 1e-8)
  local v = critic(obs):squeeze(-1)
  local near = old_value + (v - old_value):clamp(-CLIP, CLIP)
  local miss = (v - target):square():maximum((near - target):square()):mean() * 0.5
  local won = (ratio * gain):minimum(ratio:clamp(1 - CLIP, 1 + CLIP) * gain):mean()
  local all = policy:parameters()
  for _, w in ipairs(critic:parameters()) do all[#all + 1] = w end
  optim.Adam(all, { lr = 2.5e-4 * (1 - i:value() / I:value()), clip_norm = 0.5, eps = 1e-5 })
    :step(0.5 * miss - won - 0.01 * now:entropy():mean())

  local ends = env.done:to "f32"[{ b = 0 .. B, t = 0 .. T }]:sum()
  local score = n / ends:maximum(1)
  local f = P:compile { outputs = { score = score[{ i = I - 5 .. I }]:mean() }, tier = tier }
  return function()
    return f({}, { I = updates, E = EPOCHS, M = PARTS, B = envs, T = STEPS }).score:item()
  end, updates * n
end

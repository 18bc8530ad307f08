-- A population of PPO agents on CartPole, trained at once along a dim: each seed s has its own
-- weights, environments, draws, learning rate and entropy coefficient. At the end it says which did
-- best.
--     lua5.4 examples/rl/population.lua [--seed 0] [--seeds 8] [--iterations 200] [--out DIR]
--                                       [--quiet]
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local opt = require "tempo.cli" (arg, { seed = 0, seeds = 8, iterations = 200, envs = 8,
  steps = 32, epochs = 10, gamma = 0.98, lambda = 0.8, out = "out/population", quiet = false })

local P = tempo.program { seed = opt.seed }
local s, i, e, m, b, t = P:dims "s i e m b t"
local function net(outputs, gain)
  return nn.MLP(P, { 4, 64, 64, outputs },
    { along = { i, e, m }, domain = { s },                         -- one for each member
      init = "orthogonal", gain = math.sqrt(2), out_gain = gain })
end
local actor, critic = net(2, 0.01), net(1, 1)

-- Hyper-parameters are tensors over s.
local lr = 10 ^ (-2 - 2 * tempo.uniform({}, { domain = { s }, name = "lr" }))       -- 1e-2 .. 1e-4
local entropy_coef = 0.02 * tempo.uniform({}, { domain = { s }, name = "entropy" })

local env = rl.env(P, "CartPole-v1", { domain = { s, i, b, t }, time = t, carry = i })
local old_actor, old_critic = actor:at { e = 0, m = 0 }, critic:at { e = 0, m = 0 }
local old = dist.Categorical { logits = old_actor(env.obs) }
local action = old:sample { name = "action" }
env:step(action)
local advantage, target = rl.gae(env, { gamma = opt.gamma, lambda = opt.lambda,
  value = old_critic(env.obs):squeeze(-1), next_value = old_critic(env.next_obs):squeeze(-1) })

local batch = tempo.data.batches(P, { obs = env.obs, action = action, target = target,
  log_prob = old:log_prob(action):detach(), advantage = advantage },
  { over = { b, t }, epoch = e, step = m, count = 4 })
local new = dist.Categorical { logits = actor(batch.obs) }
local loss = rl.ppo_loss {
  log_ratio = new:log_prob(batch.action) - batch.log_prob,
  advantage = batch.advantage:normalized(), value = critic(batch.obs):squeeze(-1),
  target = batch.target, entropy = new:entropy(), entropy_coef = entropy_coef }
optim.Adam({ actor, critic }, { lr = lr, clip_norm = 0.5, eps = 1e-5 }):step(loss)

-- The mean return of each member in the last tenth of the iterations.
local I, B, T = i:upper(), b:upper(), t:upper()
local function total(x) return x[{ i = I - I // 10 .. I, b = 0 .. B, t = 0 .. T }]:sum() end
local done = env.done:to "f32"
local score = total(rl.episode_return(env) * done) / total(done):maximum(1)
P:sink({ lr, entropy_coef, score }, function(arrays, point)
  print(("member %d  lr %.5f  entropy %.4f  return %.1f"):format(point.s, arrays[1]:item(),
    arrays[2]:item(), arrays[3]:item()))
end)
rl.train(P, env, { keep = { actor, critic }, out = opt.out, quiet = opt.quiet,
  bounds = { S = opt.seeds, I = opt.iterations, E = opt.epochs, M = 4, B = opt.envs,
    T = opt.steps } })

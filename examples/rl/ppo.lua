-- Proximal policy optimisation (Schulman et al. 2017) on CartPole: 20 to 500 in 100,000 steps.
--     lua5.4 examples/rl/ppo.lua [--seed 0] [--iterations 400] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local opt = require "tempo.cli" (arg, { seed = 0, iterations = 400, envs = 8, steps = 32,
  epochs = 10, lr = 1e-3, gamma = 0.98, lambda = 0.8, out = "out/ppo", quiet = false })

local P = tempo.program { seed = opt.seed }
-- iteration, epoch, minibatch, environment, time
local i, e, m, b, t = P:dims "i e m b t"
local function net(outputs, gain)
  return nn.MLP(P, { 4, 64, 64, outputs },
    { along = { i, e, m }, init = "orthogonal", gain = math.sqrt(2), out_gain = gain })
end
local actor, critic = net(2, 0.01), net(1, 1)

-- Acting, with the weights that the iteration begins with.
local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
local old_actor, old_critic = actor:at { e = 0, m = 0 }, critic:at { e = 0, m = 0 }
local old = dist.Categorical { logits = old_actor(env.obs) }
local action = old:sample { name = "action" }
env:step(action)
local value = old_critic(env.obs):squeeze(-1):detach()
local next_value = old_critic(env.next_obs):squeeze(-1)
local advantage, target = rl.gae(env,
  { gamma = opt.gamma, lambda = opt.lambda, value = value, next_value = next_value })

-- Learning, a minibatch at a time.
local batch = tempo.data.batches(P, { obs = env.obs, action = action, value = value,
  log_prob = old:log_prob(action):detach(), advantage = advantage, target = target },
  { over = { b, t }, epoch = e, step = m, count = 4 })
local new = dist.Categorical { logits = actor(batch.obs) }
local loss, stats = rl.ppo_loss {
  log_ratio = new:log_prob(batch.action) - batch.log_prob,
  advantage = batch.advantage:normalized(),
  value = critic(batch.obs):squeeze(-1), target = batch.target,
  old_value = batch.value, value_clip = 0.2,                       -- value clipping
  entropy = new:entropy(), entropy_coef = 0.01,                    -- entropy
}
local lr = opt.lr * (1 - i:value() / i:upper():value())
optim.Adam({ actor, critic }, { lr = lr, clip_norm = 0.5, eps = 1e-5 }):step(loss)
P:stop(e, stats.kl[{ i, e, m:upper() - 1 }]:gt(0.03))                -- KL stop

rl.train(P, env, { log = stats, keep = { actor, critic }, out = opt.out, quiet = opt.quiet,
  bounds = { I = opt.iterations, E = opt.epochs, M = 4, B = opt.envs, T = opt.steps } })

-- PPO with continuous actions on Pendulum: -1200 to -165 in 60 iterations of 4,096 steps.
-- Observations and rewards are brought to one size by running statistics, as in the 37 details of
-- PPO (Huang et al. 2022).
--     lua5.4 examples/rl/ppo_continuous.lua [--seed 0] [--iterations 60] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local opt = require "tempo.cli" (arg, { seed = 0, iterations = 60, envs = 16, steps = 256,
  epochs = 10, lr = 5e-4, gamma = 0.95, lambda = 0.95, out = "out/ppo_continuous",
  quiet = false })

local P = tempo.program { seed = opt.seed }
-- iteration, epoch, minibatch, environment, time
local i, e, m, b, t = P:dims "i e m b t"
local along = { i, e, m }
local function net(outputs, gain)
  return nn.MLP(P, { 3, 64, 64, outputs },
    { along = along, init = "orthogonal", gain = math.sqrt(2), out_gain = gain })
end
local actor, critic = net(1, 0.01), net(1, 1)
local log_std = P:param("log_std", { along = along, shape = { 1 }, init = 0 })

-- Acting, with the weights that the iteration begins with.
local env = rl.env(P, "Pendulum-v1", { domain = { i, b, t }, time = t, carry = i })
local scale = rl.normalize(P, env.obs, { along = { i } })
local obs, next_obs = scale(env.obs), scale(env.next_obs)
local first = { e = 0, m = 0 }
local old = dist.Normal(actor:at(first)(obs), log_std:at(first):exp())
local action = old:sample { name = "action", domain = { i, b, t } }
env:step(action)
local returns = rl.running_return(env, { gamma = opt.gamma })
local reward = rl.normalize(P, returns, { along = { i }, center = false })(env.reward)
local steps = { reward = reward, terminated = env.terminated, truncated = env.truncated, time = t }
local advantage, target = rl.gae(steps, { gamma = opt.gamma, lambda = opt.lambda,
  value = critic:at(first)(obs):squeeze(-1),
  next_value = critic:at(first)(next_obs):squeeze(-1) })

-- Learning, a minibatch at a time.
local batch = tempo.data.batches(P, { obs = obs, action = action, advantage = advantage,
  log_prob = old:log_prob(action):sum(-1):detach(), target = target },
  { over = { b, t }, epoch = e, step = m, count = 16 })
local new = dist.Normal(actor(batch.obs), log_std:exp())
local loss, stats = rl.ppo_loss {
  log_ratio = new:log_prob(batch.action):sum(-1) - batch.log_prob,
  advantage = batch.advantage:normalized(),
  value = critic(batch.obs):squeeze(-1), target = batch.target,
}
local lr = opt.lr * (1 - i:value() / i:upper():value())
optim.Adam({ actor, critic, log_std }, { lr = lr, clip_norm = 0.5, eps = 1e-5 }):step(loss)
P:stop(e, stats.kl[{ i, e, m:upper() - 1 }]:gt(0.03))                -- KL stop

local function without_noise(e, net, _, norm) return net(norm(e.obs)) end
rl.train(P, env, { log = stats, keep = { actor, critic, scale }, out = opt.out, quiet = opt.quiet,
  evaluate = { every = 20, episodes = 50, policy = without_noise },
  bounds = { I = opt.iterations, E = opt.epochs, M = 16, B = opt.envs, T = opt.steps } })

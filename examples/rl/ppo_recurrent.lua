-- PPO with a memory on CartPole without velocities: where the cart and the pole are, not how fast.
-- 20 to 500 in 150,000 steps.
--     lua5.4 examples/rl/ppo_recurrent.lua [--seed 0] [--iterations 600] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local opt = require "tempo.cli" (arg, { seed = 0, iterations = 600, envs = 8, steps = 32,
  epochs = 10, lr = 1e-3, gamma = 0.98, lambda = 0.8, out = "out/ppo_recurrent", quiet = false })

local P = tempo.program { seed = opt.seed }
-- iteration, epoch, minibatch, environment, time
local i, e, m, b, t = P:dims "i e m b t"
local along = { i, e, m }
local function net(outputs, gain)
  return nn.MLP(P, { 64, 64, outputs },
    { along = along, init = "orthogonal", gain = math.sqrt(2), out_gain = gain })
end
local cell, actor, critic = nn.GRUCell(P, 2, 64, { along = along }), net(2, 0.01), net(1, 1)

-- Acting, with the weights that the iteration begins with. The memory is empty where an episode
-- begins and goes on over iterations.
local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
local function seen(obs)                            -- of about one size
  return tempo.stack { 2 * obs:select(0, 0), 20 * obs:select(0, 2) }
end
local memory = rl.memory(cell, env)
local h = memory(seen(env.obs))
local old_actor, old_critic = actor:at { e = 0, m = 0 }, critic:at { e = 0, m = 0 }
local old = dist.Categorical { logits = old_actor(h) }
local action = old:sample { name = "action" }
env:step(action)
local advantage, target = rl.gae(env, { gamma = opt.gamma, lambda = opt.lambda,
  value = old_critic(h):squeeze(-1),
  next_value = old_critic(memory:next(seen(env.next_obs))):squeeze(-1) })
local all = advantage[{ b = 0 .. b:upper(), t = 0 .. t:upper() }]
advantage = (advantage - all:mean()) / (all:std() + 1e-8)

-- Learning: minibatches of whole rows, along which the memory is built up again.
local batch = tempo.data.batches(P, { obs = seen(env.obs), begins = env.begins,
  first = memory:first(), action = action, log_prob = old:log_prob(action):detach(),
  advantage = advantage, target = target },
  { over = { b }, whole = { t }, epoch = e, step = m, count = 4 })
local again = memory:segments(batch.obs, { begins = batch.begins, first = batch.first })
local new = dist.Categorical { logits = actor(again) }
local loss, stats = rl.ppo_loss { over = { t },
  log_ratio = new:log_prob(batch.action) - batch.log_prob, advantage = batch.advantage,
  value = critic(again):squeeze(-1), target = batch.target, entropy = new:entropy() }
local lr = opt.lr * (1 - i:value() / i:upper():value())
optim.Adam({ memory, actor, critic }, { lr = lr, clip_norm = 0.5, eps = 1e-5 }):step(loss)

rl.train(P, env, { log = stats, keep = { memory, actor, critic }, out = opt.out,
  quiet = opt.quiet,
  bounds = { I = opt.iterations, E = opt.epochs, M = 4, B = opt.envs, T = opt.steps } })

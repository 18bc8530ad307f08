-- PPO that attends to the last 8 observations, on CartPole without velocities: 20 to 500 within
-- 300,000 steps. A window is data, so minibatches are of steps, not of rows.
--     lua5.4 examples/rl/ppo_attention.lua [--seed 0] [--iterations 300] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local opt = require "tempo.cli" (arg, { seed = 0, iterations = 300, envs = 32, steps = 32,
  epochs = 10, last = 8, width = 32, lr = 5e-4, gamma = 0.98, lambda = 0.8,
  out = "out/ppo_attention", quiet = false })

local P = tempo.program { seed = opt.seed }
-- iteration, epoch, minibatch, environment, time
local i, e, m, b, t = P:dims "i e m b t"
local along = { i, e, m }

-- The newest observation asks, all of the window answer: one head (Vaswani et al. 2017, eq. 1).
local Net = nn.class "Net"
local function new_net(outputs, gain)
  local self, d = Net:create(P, { along = along }), opt.width
  self.embed = nn.Linear(P, 2, d, { along = along })
  self.query, self.key = nn.Linear(P, d, d, { along = along }),
    nn.Linear(P, d, d, { along = along })
  self.answer = nn.Linear(P, d, d, { along = along })
  self:param("place", { opt.last, d }, { init = "normal", gain = 0.5 })
  self.head = nn.MLP(P, { d, 64, outputs },
    { along = along, init = "orthogonal", gain = math.sqrt(2), out_gain = gain })
  return self
end
function Net:forward(seen, mask)
  local x = self.embed(seen) + self.place                           -- (last, width)
  local newest = x:select(-2, opt.last - 1)
  local scores = (self.key(x) * self.query(newest):unsqueeze(-2)):sum(-1) / math.sqrt(opt.width)
  local weights = tempo.where(mask, scores, -1e9):softmax(-1)
  return self.head(newest + (self.answer(x) * weights:unsqueeze(-1)):sum(-2))
end
local actor, critic = new_net(2, 0.01), new_net(1, 1)

local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
local function visible(obs)                         -- of about one size
  return tempo.stack { 2 * obs:select(0, 0), 20 * obs:select(0, 2) }
end
local window = rl.window(P, opt.last, env)
local seen, mask = window(visible(env.obs))
local old_actor, old_critic = actor:at { e = 0, m = 0 }, critic:at { e = 0, m = 0 }
local old = dist.Categorical { logits = old_actor(seen, mask) }
local action = old:sample { name = "action" }
env:step(action)
local advantage, target = rl.gae(env, { gamma = opt.gamma, lambda = opt.lambda,
  value = old_critic(seen, mask):squeeze(-1),
  next_value = old_critic(window:next(visible(env.next_obs))):squeeze(-1) })

local batch = tempo.data.batches(P, { seen = seen, mask = mask, action = action,
  log_prob = old:log_prob(action):detach(), advantage = advantage, target = target },
  { over = { b, t }, epoch = e, step = m, count = 4 })
local new = dist.Categorical { logits = actor(batch.seen, batch.mask) }
local loss, stats = rl.ppo_loss {
  log_ratio = new:log_prob(batch.action) - batch.log_prob,
  advantage = batch.advantage:normalized(),
  value = critic(batch.seen, batch.mask):squeeze(-1), target = batch.target,
  entropy = new:entropy(), entropy_coef = 0 }
local lr = opt.lr * (1 - i:value() / i:upper():value())
optim.Adam({ actor, critic }, { lr = lr, clip_norm = 0.5, eps = 1e-5 }):step(loss)
P:stop(e, stats.kl[{ i, e, m:upper() - 1 }]:gt(0.02))

rl.train(P, env, { log = stats, keep = { actor, critic }, out = opt.out, quiet = opt.quiet,
  bounds = { I = opt.iterations, E = opt.epochs, M = 4, B = opt.envs, T = opt.steps } })

-- DQN on CartPole (Mnih et al. 2015) with four improvements, each a line or an option to delete.
--
--     lua5.4 examples/rl/dqn.lua [--seed 0] [--iterations 40] [--out DIR] [--quiet]
--
-- At each step all environments act once; from `warmup` on every `every`-th step learns from a
-- batch of the replay memory, towards a copy of the network that is `copy` steps old at most.
local tempo = require "tempo"
local nn, optim, rl = tempo.nn, tempo.optim, tempo.rl
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 40, steps = 1000, envs = 8, window = 2000, batch = 128, warmup = 200,
  every = 4, copy = 100, explore = 1500, solved = 475, lr = 1e-3, gamma = 0.99, hidden = 64,
  out = "out/dqn", quiet = false, tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local t, b = P:dim "t", (P:dim "b")
local env = rl.env(P, "CartPole-v1", { domain = { t, b }, time = t })

-- Q(s, .) in tenths, so that it is near 1; observations of about one size.
local scale = P:constant { 0.5, 0.5, 5, 0.5 }
local Q = nn.class "Q"
function Q:forward(obs)
  local h = self.trunk(obs * scale):relu()
  local q = self.advantage(h)
  q = self.value(h) + q - q:mean(-1, { keepdim = true })                    -- dueling
  return q
end
local net = Q:create(P, { along = { t }, name = "q" })
net.trunk = nn.MLP(P, { 4, opt.hidden, opt.hidden }, { along = { t }, activation = "relu" })
net.advantage = nn.Linear(P, opt.hidden, 2, { along = { t } })
net.value = nn.Linear(P, opt.hidden, 1, { along = { t } })
local target = net:target { every = opt.copy }

-- Acting: the better action, or with probability epsilon any. Environments differ in epsilon.
local epsilon = (1 - t:value():to "f32" / opt.explore)
  :maximum(tempo.pow(0.4, 1 + b:value():to "f32"))
local explores = tempo.uniform({}, { domain = { t, b }, name = "explores" }):lt(epsilon)
local any = tempo.randint({}, 0, 2, { domain = { t, b }, name = "any" })
local action = tempo.where(explores, any, net(env.obs):argmax(-1))
env:step(action)

-- Learning.
local memory = rl.replay(t, {
  window = opt.window, batch = opt.batch, over = { b }, gamma = opt.gamma,
  n = 3,                                                                    -- n-step
  priority = 0.6,                                                           -- prioritised
})
local batch = memory:draw {
  obs = env.obs, action = action, reward = 0.1 * env.reward, terminated = env.terminated,
  done = env.done, next_obs = env.next_obs,
}
local function of(q, a) return q:gather(-1, a:unsqueeze(-1)):squeeze(-1) end
local after = target(batch.next_obs)
local chooser = net                                                         -- double; else target
local best = chooser(batch.next_obs):argmax(-1)
local follows = tempo.where(batch.terminated, 0, of(after, best))
local wanted = (batch.reward + batch.discount * follows):detach()
local taken = of(net(batch.obs), batch.action)
local loss = (taken:smooth_l1_loss(wanted, { reduction = "none" }) * batch.weight):mean()
local learns = { when = (t % opt.every):eq(0):land(t:ge(opt.warmup)) }
memory:update(taken - wanted, learns)
optim.Adam(net, { lr = opt.lr, clip_norm = 10 }):step(loss, learns)

rl.train(P, env, { keep = { net }, out = opt.out, quiet = opt.quiet, every = opt.steps,
  stop = { at = opt.solved, window = 1 },
  bounds = { T = opt.steps * opt.iterations, B = opt.envs }, tier = opt.tier })

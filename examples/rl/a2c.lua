-- Advantage actor-critic, synchronous (Mnih et al. 2016) on CartPole: 20 to 500 in 500,000 steps.
--     lua5.4 examples/rl/a2c.lua [--seed 0] [--iterations 4000] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local opt = require "tempo.cli" (arg, { seed = 0, iterations = 4000, envs = 16, steps = 8,
  lr = 1e-3, gamma = 0.99, entropy = 0.0, out = "out/a2c", quiet = false })

local P = tempo.program { seed = opt.seed }
local i, b, t = P:dims "i b t"                      -- iteration, environment, time
local function net(outputs, gain)
  return nn.MLP(P, { 4, 64, 64, outputs },
    { along = { i }, init = "orthogonal", gain = math.sqrt(2), out_gain = gain })
end
local actor, critic = net(2, 0.01), net(1, 1)

-- A few steps of each environment, going on where the iteration before left it.
local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
local pi = dist.Categorical { logits = actor(env.obs) }
local action = pi:sample { name = "action" }
env:step(action)

-- R = r + gamma r' + ... + gamma^n V: as far as the steps go (lambda = 1).
local value = critic(env.obs):squeeze(-1)
local advantage, R = rl.gae(env, { gamma = opt.gamma, lambda = 1, value = value,
  next_value = critic(env.next_obs):squeeze(-1) })

local n = (b:upper() * t:upper()):value()
local policy_loss = -pi:log_prob(action) * advantage - opt.entropy * pi:entropy()
local value_loss = 0.5 * (R - value):square()
local lr = opt.lr * (1 - i:value() / i:upper():value())
optim.Adam(actor, { lr = lr, eps = 1e-5, clip_norm = 0.5 }):step(policy_loss / n)
optim.Adam(critic, { lr = lr, eps = 1e-5 }):step(value_loss / n)

rl.train(P, env, { keep = { actor, critic }, out = opt.out, quiet = opt.quiet,
  log = { entropy = pi:entropy(), value_loss = value_loss },
  bounds = { I = opt.iterations, B = opt.envs, T = opt.steps } })

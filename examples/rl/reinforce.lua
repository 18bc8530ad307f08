-- REINFORCE (Williams 1992) on CartPole: 20 to 500 in 200 iterations of 16 whole episodes.
--     lua5.4 examples/rl/reinforce.lua [--seed 0] [--iterations 200] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local opt = require "tempo.cli" (arg, { seed = 0, iterations = 200, envs = 16, lr = 0.01,
  gamma = 0.99, out = "out/reinforce", quiet = false })

local P = tempo.program { seed = opt.seed }
local i, b, t = P:dims "i b t"                      -- iteration, environment, time
local policy = nn.MLP(P, { 4, 64, 2 }, { along = { i } })

-- One episode of each environment: t ends where it is done.
local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t })
local pi = dist.Categorical { logits = policy(env.obs) }
local action = pi:sample { name = "action" }
env:step(action)
P:stop(t, env.done)

-- Returns, and how much better they are than the mean of all steps of the iteration.
local G = rl.monte_carlo(env, { gamma = opt.gamma })
local function total(x) return x[{ t = 0 .. t:upper() }]:sum(0)[{ b = 0 .. b:upper() }]:sum(0) end
local steps = total(G * 0 + 1)
local mean = total(G) / steps
local deviation = (total((G - mean):square()) / steps):sqrt()
local advantage = (G - mean) / (deviation + 1e-8)

-- The gradient of log pi(a|s) times what it has led to.
local loss = -pi:log_prob(action) * advantage / steps
local lr = opt.lr * (1 - i:value() / i:upper():value())
optim.Adam(policy, { lr = lr }):step(loss)

rl.train(P, env, { keep = policy, out = opt.out, quiet = opt.quiet,
  bounds = { I = opt.iterations, B = opt.envs, T = 500 } })

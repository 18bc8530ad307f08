-- IMPALA on CartPole (Espeholt et al. 2018): actors act with parameters that are `lag` iterations
-- old, as they would in processes of their own; V-trace corrects for that.
--
--     lua5.4 examples/rl/impala.lua [--seed 0] [--lag 4] [--iterations 40] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, rl, dist = tempo.nn, tempo.optim, tempo.rl, tempo.dist
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 40, steps = 100, envs = 32, unroll = 20, lag = 4, hidden = 64, lr = 2e-3,
  gamma = 0.99, entropy = 0.01, solved = 475, out = "out/impala", quiet = false, tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local i = P:dim "i"                                         -- learner's iteration
local t, b = P:dim "t", (P:dim "b")                         -- step of an unroll, actor
local env = rl.env(P, "CartPole-v1", { domain = { i, t, b }, time = t, carry = i })
local function network(name, nout)
  return nn.MLP(P, { 4, opt.hidden, opt.hidden, nout }, { along = { i }, name = name })
end
local policy, critic = network("policy", 2), network("critic", 1)
local scale = P:constant { 0.5, 0.5, 5, 0.5 }               -- observations of about one size
local function act(net, obs) return dist.Categorical { logits = net(obs * scale) } end
local function value(obs) return 100 * critic(obs * scale):squeeze(-1) end

-- Actors: mu is the policy of `lag` iterations before.
local mu = act(policy:at { i = tempo.max(i - opt.lag, 0) }, env.obs)
local action = mu:sample { name = "action" }
env:step(action)

-- The learner: V-trace targets, policy gradient, entropy.
local pi, v = act(policy, env.obs), value(env.obs)
local log_pi = pi:log_prob(action)
local advantage, target = rl.vtrace(env, {
  gamma = opt.gamma, value = v, next_value = value(env.next_obs),
  log_ratio = log_pi - mu:log_prob(action),
})
local loss = -0.01 * advantage * log_pi + 0.5 * (0.01 * (v - target)):square()
  - opt.entropy * pi:entropy()
optim.Adam({ policy, critic }, { lr = opt.lr, clip_norm = 1 })
  :step(loss / (opt.envs * opt.unroll))

rl.train(P, env, { keep = { policy, critic }, out = opt.out, quiet = opt.quiet, every = opt.steps,
  stop = { at = opt.solved, window = 1 },
  bounds = { I = opt.steps * opt.iterations, T = opt.unroll, B = opt.envs }, tier = opt.tier })

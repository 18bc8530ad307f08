-- Self-play: Pong against a copy of oneself, made anew every `every` iterations (Bansal et al.
-- 2018, "Emergent Complexity via Multi-Agent Competition", with the latest opponent alone).
-- Advantage actor-critic. The returns that are shown are those against a player who moves at
-- random, whom the last `rivals` tables have.
--
--     lua5.4 examples/rl/self_play.lua [--seed 0] [--iterations 12] [--out DIR] [--quiet]
package.path = (arg and arg[0] or ""):gsub("[^/]*$", "") .. "?.lua;" .. package.path
local tempo = require "tempo"
local nn, optim, rl, dist = tempo.nn, tempo.optim, tempo.rl, tempo.dist
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 12, steps = 100, envs = 64, rivals = 16, unroll = 32, every = 100,
  hidden = 64, lr = 1e-3, gamma = 0.99, lambda = 0.95, entropy = 0.01, solved = 0.75,
  out = "out/self_play", quiet = false, tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local i = P:dim "i"                                         -- iteration
local t, b = P:dim "t", (P:dim "b")                         -- step, table
local domain = { i, t, b }
local env = require "pong" (P, { domain = domain, time = t, carry = i })
local function network(name, nout)
  return nn.MLP(P, { 6, opt.hidden, opt.hidden, nout }, { along = { i }, name = name })
end
local policy, critic = network("policy", 3), network("critic", 1)
local opponent = policy:target { every = opt.every }

-- Both players act; some opponents at random.
local pi = dist.Categorical { logits = policy(env.obs) }
local action = pi:sample { name = "left" }
local other = dist.Categorical({ logits = opponent(env.other) }):sample { name = "right" }
local rival = b:ge(opt.envs - opt.rivals)
local any = tempo.randint({}, 0, 3, { domain = domain, name = "any" })
env:step(action, tempo.where(rival, any, other))

-- Learning from the left side.
local v = critic(env.obs):squeeze(-1)
local advantage, target = rl.gae(env, {
  gamma = opt.gamma, lambda = opt.lambda, value = v, next_value = critic(env.next_obs):squeeze(-1),
})
local loss = -advantage * pi:log_prob(action) + 0.5 * (v - target):square()
  - opt.entropy * pi:entropy()
optim.Adam({ policy, critic }, { lr = opt.lr, clip_norm = 0.5 })
  :step(loss / (opt.envs * opt.unroll))

-- Shows the episodes against the players who move at random.
local against = setmetatable({ done = env.done:land(rival:value()) }, { __index = env })
rl.train(P, against, { keep = { policy, critic }, out = opt.out, quiet = opt.quiet,
  every = opt.steps,
  stop = { at = opt.solved, window = 1 },
  bounds = { I = opt.steps * opt.iterations, T = opt.unroll, B = opt.envs }, tier = opt.tier })

-- Soft actor-critic on Pendulum (Haarnoja et al. 2018, "Soft Actor-Critic Algorithms and
-- Applications"): two critics, a squashed normal as policy, its temperature learned.
--
--     lua5.4 examples/rl/sac.lua [--seed 0] [--iterations 10] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, rl, dist = tempo.nn, tempo.optim, tempo.rl, tempo.dist
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 10, steps = 500, envs = 4, window = 5000, batch = 256, warmup = 100,
  hidden = 64, lr = 1e-3, gamma = 0.99, tau = 0.005, out = "out/sac", quiet = false,
  tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local t, b = P:dim "t", (P:dim "b")
local env = rl.env(P, "Pendulum-v1", { domain = { t, b }, time = t })
local function network(name, nin, nout)
  return nn.MLP(P, { nin, opt.hidden, opt.hidden, nout },
    { along = { t }, name = name, activation = "relu" })
end
local actor, q1, q2 = network("actor", 3, 2), network("q1", 4, 1), network("q2", 4, 1)
local target1, target2 = q1:target { tau = opt.tau }, q2:target { tau = opt.tau }
local log_alpha = P:param("log_alpha", { along = { t }, init = 0 })
local alpha = log_alpha:exp()

local function policy(obs)
  local y = actor(obs)
  return dist.TanhNormal(y:slice(-1, 0, 1), y:slice(-1, 1, 2):clamp(-5, 2):exp())
end
local function least(f, g, obs, a)
  local x = tempo.cat({ obs, a }, -1)
  return f(x):minimum(g(x)):squeeze(-1)
end

-- Acting.
local action = policy(env.obs):sample { name = "act" }
env:step(2 * action)

-- Learning: r + gamma (min Q'(s', a') - alpha log pi(a' | s')) for the critics,
local batch = rl.replay(t, { window = opt.window, batch = opt.batch, over = { b } }):draw {
  obs = env.obs, action = action, reward = 0.1 * env.reward, terminated = env.terminated,
  next_obs = env.next_obs,
}
local after = policy(batch.next_obs)
local next_action = after:sample { name = "next" }
local follows = least(target1, target2, batch.next_obs, next_action)
  - alpha * after:log_prob(next_action):squeeze(-1)
local wanted = batch.reward + opt.gamma * tempo.where(batch.terminated, 0, follows)
local x = tempo.cat({ batch.obs, batch.action }, -1)
local q_loss = (q1(x):squeeze(-1) - wanted:detach()):square():mean()
  + (q2(x):squeeze(-1) - wanted:detach()):square():mean()

-- alpha log pi(a | s) - min Q(s, a) for the actor, and an entropy of -1 for the temperature.
local pi = policy(batch.obs)
local a = pi:rsample { name = "learn" }
local log_pi = pi:log_prob(a):squeeze(-1)
local actor_loss = (alpha:detach() * log_pi - least(q1, q2, batch.obs, a)):mean()
local alpha_loss = -log_alpha * (log_pi:mean() - 1):detach()

local learns = { when = t:ge(opt.warmup) }
optim.Adam({ q1, q2 }, { lr = opt.lr }):step(q_loss, learns)
optim.Adam(actor, { lr = opt.lr }):step(actor_loss, learns)
optim.Adam(log_alpha, { lr = opt.lr }):step(alpha_loss, learns)

local function without_noise(e, net) return 2 * net(e.obs):slice(-1, 0, 1):tanh() end
rl.train(P, env, { keep = { actor, q1, q2 }, out = opt.out, quiet = opt.quiet, every = opt.steps,
  evaluate = { every = 2500, episodes = 50, policy = without_noise },
  bounds = { T = opt.steps * opt.iterations, B = opt.envs }, tier = opt.tier })

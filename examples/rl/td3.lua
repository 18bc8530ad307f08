-- TD3 on Pendulum (Fujimoto et al. 2018): the less of two critics, noise on the target's action, a
-- policy that learns at every second step only.
--
--     lua5.4 examples/rl/td3.lua [--seed 0] [--iterations 10] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, rl = tempo.nn, tempo.optim, tempo.rl
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 10, steps = 500, envs = 4, window = 5000, batch = 256, warmup = 250,
  hidden = 64, lr = 1e-3, gamma = 0.99, tau = 0.005, explore = 0.1, smooth = 0.2, clip = 0.5,
  out = "out/td3", quiet = false, tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local t, b = P:dim "t", (P:dim "b")
local env = rl.env(P, "Pendulum-v1", { domain = { t, b }, time = t })
local function network(name, nin)
  return nn.MLP(P, { nin, opt.hidden, opt.hidden, 1 },
    { along = { t }, name = name, activation = "relu" })
end
local actor, q1, q2 = network("actor", 3), network("q1", 4), network("q2", 4)
local function target(net) return net:target { tau = opt.tau } end
local actor_target, target1, target2 = target(actor), target(q1), target(q2)

local function noise(shape, domain, name, size)
  return size * tempo.normal(shape, { domain = domain, name = name })
end
local function value(q, obs, a) return q(tempo.cat({ obs, a }, -1)):squeeze(-1) end

-- Acting: any action until the critics learn, then the policy's with noise.
local any = tempo.uniform({ 1 }, { domain = { t, b }, name = "any" }) * 2 - 1
local chosen = actor(env.obs):tanh() + noise({ 1 }, { t, b }, "explore", opt.explore)
local action = tempo.where(t:lt(opt.warmup), any, chosen:clamp(-1, 1))
env:step(2 * action)

-- Learning: both critics towards r + gamma min Q'(s', a'), a' near the target policy's action,
local batch = rl.replay(t, { window = opt.window, batch = opt.batch, over = { b } }):draw {
  obs = env.obs, action = action, reward = 0.1 * env.reward, terminated = env.terminated,
  next_obs = env.next_obs,
}
local near = noise({ opt.batch, 1 }, { t }, "smooth", opt.smooth):clamp(-opt.clip, opt.clip)
local next_action = (actor_target(batch.next_obs):tanh() + near):clamp(-1, 1)
local follows = value(target1, batch.next_obs, next_action)
  :minimum(value(target2, batch.next_obs, next_action))
local wanted = batch.reward + opt.gamma * tempo.where(batch.terminated, 0, follows)
local q_loss = (value(q1, batch.obs, batch.action) - wanted:detach()):square():mean()
  + (value(q2, batch.obs, batch.action) - wanted:detach()):square():mean()
-- and the policy towards the action that the first critic likes best.
local actor_loss = -value(q1, batch.obs, actor(batch.obs):tanh()):mean()

local learns = t:ge(opt.warmup)
optim.Adam({ q1, q2 }, { lr = opt.lr }):step(q_loss, { when = learns })
optim.Adam(actor, { lr = opt.lr }):step(actor_loss, { when = learns:land((t % 2):eq(0)) })

local function without_noise(e, net) return 2 * net(e.obs):tanh() end
rl.train(P, env, { keep = { actor, q1, q2 }, out = opt.out, quiet = opt.quiet, every = opt.steps,
  evaluate = { every = 2500, episodes = 50, policy = without_noise },
  bounds = { T = opt.steps * opt.iterations, B = opt.envs }, tier = opt.tier })

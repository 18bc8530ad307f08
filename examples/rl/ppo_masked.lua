-- PPO where some actions are illegal: noughts and crosses against an opponent who plays at random,
-- an environment in C that says which cells are free. The mean reward rises from 0 to 0.9.
--     cc -shared -fPIC -O2 -Iinclude examples/c/envs/tictactoe.c -o tictactoe.so
--     lua5.4 examples/rl/ppo_masked.lua [--library ./tictactoe.so] [--seed 0] [--iterations 200]
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local opt = require "tempo.cli" (arg, { library = "./tictactoe.so", seed = 0, iterations = 200,
  envs = 64, steps = 32, epochs = 4, lr = 2e-3, out = "out/ppo_masked", quiet = false })
local id = rl.load_env(opt.library)[1]

local P = tempo.program { seed = opt.seed }
local i, e, m, b, t = P:dims "i e m b t"
local function net(outputs, gain)
  return nn.MLP(P, { 18, 64, 64, outputs },
    { along = { i, e, m }, init = "orthogonal", gain = math.sqrt(2), out_gain = gain })
end
local actor, critic = net(9, 0.01), net(1, 1)

-- The mask goes to the distribution, when acting and when learning.
local env = rl.env(P, id, { domain = { i, b, t }, time = t, carry = i })
local old_actor, old_critic = actor:at { e = 0, m = 0 }, critic:at { e = 0, m = 0 }
local old = dist.Categorical { logits = old_actor(env.obs), mask = env.legal }
local action = old:sample { name = "action" }
env:step(action)
local value = old_critic(env.obs):squeeze(-1):detach()
local next_value = old_critic(env.next_obs):squeeze(-1)
local advantage, target = rl.gae(env,
  { gamma = 1.0, lambda = 0.9, value = value, next_value = next_value })

local batch = tempo.data.batches(P, { obs = env.obs, legal = env.legal, action = action,
  log_prob = old:log_prob(action):detach(), advantage = advantage, target = target },
  { over = { b, t }, epoch = e, step = m, count = 4 })
local new = dist.Categorical { logits = actor(batch.obs), mask = batch.legal }
local loss, stats = rl.ppo_loss {
  log_ratio = new:log_prob(batch.action) - batch.log_prob,
  advantage = batch.advantage:normalized(),
  value = critic(batch.obs):squeeze(-1), target = batch.target,
  entropy = new:entropy(), entropy_coef = 0.01,
}
optim.Adam({ actor, critic }, { lr = opt.lr, clip_norm = 0.5 }):step(loss)

rl.train(P, env, { log = stats, keep = { actor, critic }, out = opt.out, quiet = opt.quiet,
  bounds = { I = opt.iterations, E = opt.epochs, M = 4, B = opt.envs, T = opt.steps } })

-- Prints the return of PPO (Schulman et al. 2017) on CartPole rising from 16 to 500 in 400
-- iterations. In each iteration i the weights act (k = 0), then K updates k look at the same steps
-- again. Parameters go along {i, k}: from update to update, and from the last of one iteration to
-- the first of the next.
--     lua5.4 examples/ppo_cartpole.lua [--seed 0] [--iterations 400] [--epochs 20] [--envs 8]
--     [--steps 32]
--                                      [--out DIR] [--quiet] [--explain schedule]
--
-- Environments carry on from iteration to iteration, so that steps may be fewer than an episode
-- has.
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local logger = require "tempo.logger"
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 400, epochs = 20, envs = 8, steps = 32, lr = 0.001, gamma = 0.98,
    lambda = 0.8, clip = 0.2,
  entropy = 0, hidden = 64, out = "out/ppo_cartpole", quiet = false, explain = "", tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local i, I = P:dim "i"                                      -- iteration
local k = P:dim "k"                                         -- update within it
local b, B = P:dim "b"                                      -- environment
local t, T = P:dim "t"                                      -- time

local function net(name, nout, out_gain)
  return nn.MLP(P, { 4, opt.hidden, opt.hidden, nout },
    { name = name, along = { i, k }, activation = "tanh",
    init = "orthogonal", gain = math.sqrt(2), out_gain = out_gain })
end
local policy, critic = net("policy", 2, 0.01), net("critic", 1, 1)

-- Acting, over (i, b, t), with the weights that the iteration begins with.
local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
local actor, judge = policy:at { k = 0 }, critic:at { k = 0 }
local old = dist.Categorical { logits = actor(env.obs) }
local action = old:sample { name = "action" }
env:step(action)
local old_log_prob = old:log_prob(action):detach()
local advantage, target = rl.gae(env, { gamma = opt.gamma, lambda = opt.lambda,
  value = judge(env.obs):squeeze(-1), next_value = judge(env.next_obs):squeeze(-1) })

-- (B, T): of mean 0 and variance 1 in every iteration
local all = advantage[{ b = 0 .. B, t = 0 .. T }]
local mean = all:mean()
advantage = (advantage - mean) / ((all - mean):square():mean():sqrt() + 1e-8)

-- Learning, over (i, k, b, t), with the weights of update k.
local new = dist.Categorical { logits = policy(env.obs) }
local ratio = (new:log_prob(action) - old_log_prob):exp()
local gain = (ratio * advantage):minimum(ratio:clamp(1 - opt.clip, 1 + opt.clip) * advantage)
local miss = (critic(env.obs):squeeze(-1) - target):square()
local n = (B * T):value()
local lr = opt.lr * (1 - i:value() / I:value())
optim.Adam(policy, { lr = lr, clip_norm = 0.5, eps = 1e-5 }):step(
  -(gain + opt.entropy * new:entropy()) / n)
-- its own: long gradients here would shorten those above
optim.Adam(critic, { lr = lr }):step(miss / n)

-- Progress: the mean return of the episodes that ended in the iteration. One that began before it
-- counts from where the iteration began, so the number of its steps is added, which the
-- environment's state knows (axis 4).
local length = env.state:select(0, 4):to "f32" + 1          -- reward is 1 at every step
local done = env.done:to "f32"
local function total(x) return x[{ b = 0 .. B, t = 0 .. T }]:sum() end
local log = logger.csv(opt.out .. "/metrics.csv",
  { "iteration", "return", "steps_per_second", "seconds" })
local start, last, score, history = nil, nil, 0, {}
P:sink({ total(length * done), total(done) }, function(arrays, point)
  local ended = arrays[2]:item()
  if ended > 0 then score = arrays[1]:item() / ended end    -- none: the score before stands
  local now = logger.clock()
  local speed = opt.envs * opt.steps / math.max(now - last, 1e-9)
  history[#history + 1], last = score, now
  log:row { point.i, score, speed, now - start }
  if not opt.quiet then
    print(string.format("iteration %3d  return %6.1f  episodes %4d  %9.0f steps/s  %6.1f s",
      point.i, score, ended, speed, now - start))
    io.stdout:flush()
  end
end)

local f = P:compile { tier = opt.tier }
if opt.explain ~= "" then
  print(f:explain(opt.explain))
  os.exit(0)
end
start = logger.clock()
last = start
f({}, { I = opt.iterations, K = opt.epochs, B = opt.envs, T = opt.steps })
log:close()

local sum, rows = 0, math.min(20, #history)
for j = #history - rows + 1, #history do sum = sum + history[j] end
print(string.format("seed %d: mean return of the last %d of %d iterations %.1f, %.1f s",
  opt.seed, rows, #history, sum / math.max(rows, 1), logger.clock() - start))

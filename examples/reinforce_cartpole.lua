-- Prints the return of REINFORCE on CartPole rising from 22 to 500 in 300 iterations. Rollouts,
-- returns, gradients and Adam are one program of recurrences over iteration, batch and t.
--
--     lua5.4 examples/reinforce_cartpole.lua [--seed 0] [--iterations 300] [--envs 32] [--steps
--     500] [--nstep 0]
--                                            [--out DIR] [--checkpoint DIR] [--quiet] [--explain
--                                            schedule]
--
-- With --nstep n the gradient at t needs rewards up to t+n-1 only: n-step returns take the place of
-- Monte Carlo ones, and `--explain schedule` shows learning start before the episode ends.
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local logger = require "tempo.logger"
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 300, envs = 32, steps = 500, nstep = 0, lr = 0.01, gamma = 0.99,
    hidden = 64,
  out = "out/reinforce_cartpole", checkpoint = "", quiet = false, explain = "", tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local i, I = P:dim "i"                                      -- iteration
local b, B = P:dim "b"                                      -- environment
local t, T = P:dim "t"                                      -- time

-- Acting: the weights of iteration i, at every step of every environment.
local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t })
local sizes = { along = { i }, init = "orthogonal", gain = math.sqrt(2) }
local function net(name, nout, gain)
  return nn.MLP(P, { 4, opt.hidden, opt.hidden, nout },
    { name = name, activation = "tanh", along = sizes.along, init = sizes.init, gain = sizes.gain,
      out_gain = gain })
end
local policy, critic = net("policy", 2, 0.01), net("critic", 1, 1)
local pi = dist.Categorical { logits = policy(env.obs) }
local action = pi:sample { name = "action", domain = { i, b, t } }
env:step(action)

-- Returns, and how much better they are than expected. At a cut the value of what would have
-- followed stands in.
local value = critic(env.obs):squeeze(-1)
local next_value = critic(env.next_obs):squeeze(-1)
local G = opt.nstep == 0
  and rl.monte_carlo(env, { gamma = opt.gamma, next_value = next_value })
  or rl.n_step(env, { gamma = opt.gamma, next_value = next_value, n = opt.nstep })
local advantage = (G - value):detach()

-- Learning: grad log pi(a|s) * advantage, and the critic towards the returns; the step size falls
-- to 0.
local scale = 1 / (B * T):value():to("f32")
local loss = (0.5 * (G - value):square() - pi:log_prob(action) * advantage) * scale
local lr = opt.lr * (1 - i:value() / I:value())
optim.Adam({ policy, critic }, { lr = lr }):step(loss)

-- Progress, as it happens.
local log = logger.csv(opt.out .. "/metrics.csv",
  { "iteration", "return", "steps_per_second", "seconds" })
local folder = logger.mkdir(opt.checkpoint ~= "" and opt.checkpoint or opt.out .. "/checkpoint")
local start, last, history = nil, nil, {}
local sum, number, running = rl.episodes(env, { b, t })
P:sink({ sum, number, running }, function(arrays, point)
  local ended = arrays[2]:item()
  local score = ended > 0 and arrays[1]:item() / ended or arrays[3]:item()
  local now = logger.clock()
  local speed = opt.envs * opt.steps / math.max(now - last, 1e-9)
  history[#history + 1] = score
  last = now
  log:row { point.i, score, speed, now - start }
  if not opt.quiet then
    print(string.format("iteration %3d  return %6.1f  episodes %4d  %9.0f steps/s  %6.1f s",
      point.i, score, ended, speed, now - start))
    io.stdout:flush()
  end
end)

local before = logger.clock()
local f = P:compile { tier = opt.tier }
if opt.explain ~= "" then
  print(f:explain(opt.explain))
  os.exit(0)
end
if not opt.quiet then print(string.format("compiled in %.2f s", logger.clock() - before)) end
start = logger.clock()
last = start
f({}, { I = opt.iterations, B = opt.envs, T = opt.steps })
log:close()

f:save(folder .. "/params.npz", { portable = true })        -- for examples/play_cartpole.lua

local tail, n = 0, math.min(20, #history)
for k = #history - n + 1, #history do tail = tail + history[k] end
print(string.format(
  "seed %d: mean return of the last %d of %d iterations %.1f, %.1f s; checkpoint in %s",
  opt.seed, n, #history, tail / math.max(n, 1), logger.clock() - start, folder))

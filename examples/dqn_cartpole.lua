--- DQN on CartPole (Mnih et al. 2015): a replay memory, a target network, and an update every fourth step.
--
--   lua5.4 examples/dqn_cartpole.lua [--seed 0] [--steps 12000] [--envs 8] [--window 2000] [--out DIR] [--quiet]
--
-- One dim, t: at each step every environment acts once. The replay memory is a range of the past, of which random rows are
-- read: `obs[lo .. t+1]:index_select(0, k)`. From `warmup` on every `--every`-th step updates the weights; elsewhere they,
-- Adam's moments and its count stand still, and no batch is read. The targets come from a copy that is `--copy` steps old at most.
local tempo = require "tempo"
local nn, optim, rl = tempo.nn, tempo.optim, tempo.rl
local logger = require "tempo.logger"

local opt = require "tempo.cli" (arg, {
  seed = 0, steps = 12000, envs = 8, window = 2000, batch = 16, warmup = 200, every = 4, copy = 200, explore = 2000,
  lr = 1e-3, gamma = 0.99, hidden = 64, out = "out/dqn_cartpole", quiet = false, tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local t, T = P:dim "t"                                      -- a step of every environment
local b, B = P:dim "b"                                      -- environment
local env = rl.env(P, "CartPole-v1", { domain = { t, b }, time = t })
local net = nn.MLP(P, { 4, opt.hidden, opt.hidden, 2 }, { along = { t }, name = "q", activation = "relu" })
local target = net:target { every = opt.copy }

-- Acting: mostly the better action, sometimes any.
local q = net(env.obs)
local epsilon = (1 - t:value():to "f32" / opt.explore):clamp(0.05, 1)
local any = tempo.randint({}, 0, 2, { domain = { t, b }, name = "any" })
local explores = tempo.uniform({}, { domain = { t, b }, name = "explores" }):lt(epsilon)
local action = tempo.where(explores, any, q:argmax(-1))
local reward, terminated, _, next_obs = env:step(action)

-- Replay: rows of the last steps of the same environment.
local lo = tempo.max(0, t + 1 - opt.window)
local k = tempo.randint({ opt.batch }, 0, (t + 1 - lo):value(), { domain = { t, b }, name = "replay" })
local function replay(x) return x[{ t = lo .. t + 1 }]:index_select(0, k) end

-- Learning: Q(s, a) towards r + gamma Q'(s', a'), Q' the copy, a' what Q would do (double DQN); nothing follows an end.
local function of(values, a) return values:gather(-1, a:unsqueeze(-1)):squeeze(-1) end
local after = replay(next_obs)
local wanted = replay(reward) + opt.gamma * tempo.where(replay(terminated), 0, of(target(after), net(after):argmax(-1)))
local taken = of(net(replay(env.obs)), replay(action))
local loss = taken:smooth_l1_loss(wanted:detach()) / B:value():to "f32"
optim.Adam(net, { lr = opt.lr, clip_norm = 10, name = "adam" })
  :step(loss, { when = (t % opt.every):eq(0):land(t:ge(opt.warmup)) })

-- Progress: the mean return of the episodes that ended in the last `report` steps.
local score, ended = rl.episode_return(env), env.done:to "f32"
local log = logger.csv(opt.out .. "/metrics.csv", { "step", "return", "episodes" })
local sum, count, report, last = 0, 0, 500, 0
P:sink({ (score * ended)[{ b = 0 .. B }]:sum(), ended[{ b = 0 .. B }]:sum() }, function(arrays, point)
  sum, count = sum + arrays[1]:item(), count + arrays[2]:item()
  if (point.t + 1) % report ~= 0 then return end
  last = sum / math.max(count, 1)
  log:row { point.t + 1, last, count }
  if not opt.quiet then
    print(string.format("step %5d  mean return %6.1f of %4d episodes", point.t + 1, last, count))
    io.stdout:flush()
  end
  sum, count = 0, 0
end)

local before = logger.clock()
local f = P:compile { tier = opt.tier }
if not opt.quiet then print(string.format("compiled in %.2f s", logger.clock() - before)) end
local start = logger.clock()
f({}, { T = opt.steps, B = opt.envs })
log:close()
print(string.format("mean return of the last %d steps %.1f; %.0f steps of %d environments a second", report, last,
  opt.steps / (logger.clock() - start), opt.envs))

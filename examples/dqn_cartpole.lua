-- Prints the return of DQN on CartPole (Mnih et al. 2015) rising from 19 to 475, which is solved,
-- in seconds.
--     lua5.4 examples/dqn_cartpole.lua [--seed 0] [--iterations 40] [--steps 1000] [--envs 8]
--     [--out DIR] [--quiet]
--
-- One dim, t: at each step every environment acts once; an iteration is `--steps` of them. The
-- replay memory is a range of the past, of which random rows are read: `x[lo .. t +
-- 1]:index_select(0, k)`. From `warmup` on every `--every`-th step updates the weights; at the
-- others they, Adam's moments and its count stand still, and no batch is read. Targets come from
-- weights that are `--copy` steps old at most.
local tempo = require "tempo"
local nn, optim, rl = tempo.nn, tempo.optim, tempo.rl
local logger = require "tempo.logger"
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 40, steps = 1000, envs = 8, window = 2000, batch = 16, warmup = 200,
    every = 4, copy = 100,
  explore = 1500, solved = 475, lr = 1e-3, gamma = 0.99, hidden = 64, out = "out/dqn_cartpole",
    quiet = false,
  tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local t = P:dim "t"                                         -- a step of every environment
local b, B = P:dim "b"                                      -- environment
local env = rl.env(P, "CartPole-v1", { domain = { t, b }, time = t })
local net = nn.MLP(P, { 4, opt.hidden, opt.hidden, 2 },
  { along = { t }, name = "q", activation = "relu" })
local target = net:target { every = opt.copy }
local scale = P:constant { 0.5, 0.5, 5, 0.5 }               -- observations of about the same size

-- Acting: the better action, or any. The last environment is the least curious one; the others keep
-- the memory diverse.
local epsilon = (1 - t:value():to "f32" / opt.explore):maximum(
  tempo.pow(0.4, 1 + b:value():to "f32"))
local explores = tempo.uniform({}, { domain = { t, b }, name = "explores" }):lt(epsilon)
local any = tempo.randint({}, 0, 2, { domain = { t, b }, name = "any" })
local action = tempo.where(explores, any, net(env.obs * scale):argmax(-1))
local reward, terminated, _, next_obs = env:step(action)

-- Replay: rows of the last steps of the same environment.
local lo = tempo.max(0, t + 1 - opt.window)
local k = tempo.randint({ opt.batch }, 0, (t + 1 - lo):value(),
  { domain = { t, b }, name = "replay" })
local function replay(x) return x[{ t = lo .. t + 1 }]:index_select(0, k) end

-- Learning: Q(s, a) towards r + gamma Q'(s', a'): Q' the copy, a' what Q would do (double DQN);
-- nothing follows an end.
local function of(q, a) return q:gather(-1, a:unsqueeze(-1)):squeeze(-1) end
local after = replay(next_obs) * scale
local follows = of(target(after), net(after):argmax(-1))
-- Q is 10 at most
local wanted = 0.1 * replay(reward) + opt.gamma * tempo.where(replay(terminated), 0, follows)
local taken = of(net(replay(env.obs) * scale), replay(action))
local loss = taken:smooth_l1_loss(wanted:detach()) / B:value():to "f32"
optim.Adam(net, { lr = opt.lr, clip_norm = 10, name = "adam" })
  :step(loss, { when = (t % opt.every):eq(0):land(t:ge(opt.warmup)) })

-- Progress: the mean return of the least curious environment's episodes that ended in the last two
-- iterations.
local function late(x)
  return x:at { b = B - 1, t = tempo.max(0, t + 1 - 2 * opt.steps) .. t + 1 }:sum(0)
end
local episodes = late(env.done:to "f32")
local recent = late(rl.episode_return(env) * env.done:to "f32") / episodes:maximum(1)

local log = logger.csv(opt.out .. "/metrics.csv", { "iteration", "return", "episodes", "seconds" })
local f, start, last
P:sink({ recent, episodes }, function(arrays, point)
  local i, rest = math.floor(point.t / opt.steps), (point.t + 1) % opt.steps
  if rest ~= 0 then return end
  last = { i, arrays[1]:item(), arrays[2]:item(), logger.clock() - start }
  log:row(last)
  if not opt.quiet then
    print(("iteration %3d  return %6.1f of %3d episodes  %6.1f s"):format(i, last[2], last[3],
      last[4]))
    io.stdout:flush()
  end
  if last[2] >= opt.solved then f:cancel() end
end)

start = logger.clock()
f = P:compile { tier = opt.tier }
if not opt.quiet then print(("compiled in %.2f s"):format(logger.clock() - start)) end
start = logger.clock()
local ok, e = pcall(f, {}, { T = opt.iterations * opt.steps, B = opt.envs })
log:close()
-- also when it is solved early, or after Ctrl-C
local params = f:params { of = net }
if next(params) then tempo.save(opt.out .. "/params.npz", params) end
if not ok then error(e, 0) end
print(("seed %d: mean return %.1f after %d iterations of %d steps of %d environments, %.1f s")
  :format(opt.seed, last[2], last[1] + 1, opt.steps, opt.envs, last[4]))

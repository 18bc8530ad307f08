-- Pong in plain Lua learns by itself: rl.trace makes 128 copies of the game below an environment,
-- PPO learns in it, and the policy then plays the very same functions, in plain Lua.
--     lua5.4 examples/rl/trace_pong.lua [--seed 0] [--iterations 150] [--games 20]
--                                       [--out DIR] [--quiet]
-- Prints the mean reward of a step while learning, then how many rallies against the computer were
-- won before and after. luajit runs it too.
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local logger = require "tempo.logger"
local opt = require "tempo.cli" (arg, { seed = 0, iterations = 150, epochs = 6, envs = 128,
  steps = 64, lr = 5e-3, gamma = 0.99, lambda = 0.95, clip = 0.2, entropy = 0.003, games = 20,
  out = "out/trace_pong", quiet = false, tier = "auto" })

-- ---- the game: nothing here knows of tempo ------------------------------------------------------
local pong = {}

function pong.reset(g)
  g.x, g.y = 0.5, 0.5
  g.vx = math.random() < 0.5 and 0.02 or -0.02
  g.vy = (math.random() - 0.5) * 0.03
  g.left, g.right = 0.5, 0.5
end

function pong.step(g, action)                               -- 0: up, 1: stay, 2: down
  g.right = math.max(0.1, math.min(0.9, g.right + 0.03 * (action - 1)))
  if g.y > g.left + 0.02 then g.left = g.left + 0.012       -- the computer follows the ball
  elseif g.y < g.left - 0.02 then g.left = g.left - 0.012 end
  g.x, g.y = g.x + g.vx, g.y + g.vy
  if g.y < 0 then g.y, g.vy = -g.y, -g.vy
  elseif g.y > 1 then g.y, g.vy = 2 - g.y, -g.vy end
  if g.x > 1 then
    if math.abs(g.y - g.right) >= 0.1 then return -1, true end
    -- the paddle's edge turns the ball
    g.x, g.vx, g.vy = 2 - g.x, -g.vx * 1.02, g.vy + 0.1 * (g.y - g.right)
  elseif g.x < 0 then
    if math.abs(g.y - g.left) >= 0.1 then return 1, true end
    g.x, g.vx = -g.x, -g.vx
  end
  return 0, false
end

function pong.observe(g)
  return g.x - 0.5, g.y - 0.5, g.vx * 30, g.vy * 30, g.left - 0.5, g.right - 0.5
end

-- ---- learning -----------------------------------------------------------------------------------
local P = tempo.program { seed = opt.seed }
-- iteration, update in it, time, copy of the game
local i, u, t, b = P:dims "i u t b"
local T, B = t:upper(), b:upper()

local function net(name, nout, out_gain)
  return nn.MLP(P, { 6, 32, 32, nout }, { name = name, along = { i, u }, activation = "tanh",
    init = "orthogonal", gain = math.sqrt(2), out_gain = out_gain })
end
local policy, critic = net("policy", 3, 0.01), net("critic", 1, 1)

local env = rl.trace(P, pong, { domain = { i, t, b }, time = t, carry = i, actions = 3,
  max_steps = 500 })
local actor, judge = policy:at { u = 0 }, critic:at { u = 0 }
local old = dist.Categorical { logits = actor(env.obs) }
local action = old:sample { name = "action" }
env:step(action)
local old_log_prob = old:log_prob(action):detach()
local advantage, target = rl.gae(env, { gamma = opt.gamma, lambda = opt.lambda,
  value = judge(env.obs):squeeze(-1), next_value = judge(env.next_obs):squeeze(-1) })
local all = advantage[{ t = 0 .. T, b = 0 .. B }]
local mean = all:mean()
advantage = (advantage - mean) / ((all - mean):square():mean():sqrt() + 1e-8)

local new = dist.Categorical { logits = policy(env.obs) }
local ratio = (new:log_prob(action) - old_log_prob):exp()
local gain = (ratio * advantage):minimum(ratio:clamp(1 - opt.clip, 1 + opt.clip) * advantage)
local miss = (critic(env.obs):squeeze(-1) - target):square()
local lr = opt.lr * (1 - i:value() / i:upper():value())
local loss = (0.5 * miss - gain - opt.entropy * new:entropy()) / (T * B):value()
optim.Adam({ policy, critic }, { lr = lr }):step(loss)

local log = logger.csv(opt.out .. "/metrics.csv", { "iteration", "reward", "seconds" })
local start = logger.clock()
P:sink({ env.reward[{ t = 0 .. T, b = 0 .. B }]:mean() }, function(arrays, point)
  log:row { point.i, arrays[1]:item(), logger.clock() - start }
  if not opt.quiet and point.i % 20 == 0 then
    print(("iteration %3d  reward a step %+.4f  %5.1f s"):format(point.i, arrays[1]:item(),
      logger.clock() - start))
  end
end)

local f = P:compile { tier = opt.tier }
local function layers(params)
  local list = {}
  for k = 1, 3 do
    local function array(name) return params["policy." .. k - 1 .. "." .. name]:totable() end
    list[k] = { w = array "weight", b = array "bias" }
  end
  return list
end
f({}, { I = 1, U = 1, T = opt.steps, B = opt.envs })
local before = layers(f:params())
start = logger.clock()
f({}, { I = opt.iterations, U = opt.epochs, T = opt.steps, B = opt.envs })
local seconds = logger.clock() - start
log:close()

-- ---- playing, in plain Lua ----------------------------------------------------------------------
local function tanh(x) return 1 - 2 / (math.exp(2 * x) + 1) end

-- The action that the policy finds likeliest.
local function act(net_, ...)
  local x = { ... }
  for k, layer in ipairs(net_) do
    local y = {}
    for row, weights in ipairs(layer.w) do
      local sum = layer.b[row]
      for column, w in ipairs(weights) do sum = sum + w * x[column] end
      y[row] = k < #net_ and tanh(sum) or sum
    end
    x = y
  end
  local best = 1
  for k = 2, #x do
    if x[k] > x[best] then best = k end
  end
  return best - 1
end

-- Rallies won and lost; one that takes 5,000 steps is neither.
local function play(net_)
  local won, lost, g = 0, 0, {}
  math.randomseed(opt.seed + 1)
  for _ = 1, opt.games do
    pong.reset(g)
    for _ = 1, 5000 do
      local reward, done = pong.step(g, act(net_, pong.observe(g)))
      if done then
        if reward > 0 then won = won + 1 else lost = lost + 1 end
        break
      end
    end
  end
  return won, lost
end

local won0, lost0 = play(before)
local won, lost = play(layers(f:params()))
local said = "seed %d: %d steps in %.1f s; in plain Lua %d of %d rallies won and %d lost, "
  .. "before learning %d and %d"
print(said:format(opt.seed, opt.iterations * opt.steps * opt.envs, seconds, won, opt.games, lost,
  won0, lost0))

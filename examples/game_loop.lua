-- Prints how far a game's characters stay from a light, 1.18 at first and 0.04 after 200 windows of
-- 32 frames, and how many frames were late. They learn while the game runs, at 60 frames a second:
-- each frame is a tick; actions come out at once, from parameters one iteration old, and the rest
-- of its time goes into learning.
--
--     lua5.4 examples/game_loop.lua [--seed 0] [--iterations 200] [--frames 32] [--characters 50]
--                                   [--budget 12] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim, dist = tempo.nn, tempo.optim, tempo.dist
local logger = require "tempo.logger"
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 200, frames = 32, characters = 50, budget = 12,
  lr = 0.01, gamma = 0.9, hidden = 64, out = "out/game_loop", quiet = false,
})

-- The program
local P = tempo.program { seed = opt.seed }
-- iteration: a window of frames, then an update
local i = P:dim "i"
local t, T = P:dim "t"                                      -- frame
local b, B = P:dim "b"                                      -- character
local obs = P:input("obs", { domain = { i, t, b }, shape = { 4 } })
local reward = P:input("reward", { domain = { i, t, b } })  -- for the action before
local function net(name, nout, gain)
  return nn.MLP(P, { 4, opt.hidden, opt.hidden, nout },
    { name = name, activation = "tanh", along = { i }, init = "orthogonal", out_gain = gain })
end
local policy, critic = net("policy", 5, 0.01), net("critic", 1, 1)

local actor = policy:at { [i] = tempo.max(i - 1, 0) }       -- one iteration old
local action = dist.Categorical { logits = actor(obs) }:sample { name = "action",
  domain = { i, t, b } }

local G = P:tensor { domain = { i, t, b } }                 -- returns: rewards come a frame later
G[{ t = T - 1 }] = 0
G:otherwise(reward[t + 1] + opt.gamma * G[t + 1])
local value = critic(obs):squeeze(-1)
local pi = dist.Categorical { logits = policy(obs) }
local loss = 0.5 * (G - value):square() - pi:log_prob(action) * (G - value):detach(
  ) - 0.01 * pi:entropy()
optim.Adam({ policy, critic }, { lr = opt.lr }):step(loss * (1 / (B * T):value():to "f32"))

local learned = 0
P:sink({ loss[{ t = 0 .. T, b = 0 .. B }]:mean() }, function() learned = learned + 1 end)
local f = P:compile { outputs = { action = action }, tick = { i, t } }

-- The game: everybody runs after a light that goes round.
local N = opt.characters
local x, y, last, angle = {}, {}, {}, 0
local function rand(k) return math.sin(k * 12.9898 + opt.seed * 78.233) end
for c = 1, N do x[c], y[c] = rand(c), rand(c + 1000) end
local moves = { [0] = { 0, 0 }, { 1, 0 }, { -1, 0 }, { 0, 1 }, { 0, -1 } }

local function look()
  local o, r, tx, ty = {}, {}, 0.8 * math.cos(angle), 0.8 * math.sin(angle)
  for c = 1, N do
    local dx, dy = tx - x[c], ty - y[c]
    local d = math.sqrt(dx * dx + dy * dy)
    o[c] = { dx, dy, tx, ty }
    r[c] = last[c] and 10 * (last[c] - d) or 0
    last[c] = d
  end
  return o, r
end

local function act(chosen)
  angle = angle + 0.02
  for c = 1, N do
    local m = moves[chosen[c - 1]]
    x[c] = math.max(-1, math.min(1, x[c] + 0.06 * m[1]))
    y[c] = math.max(-1, math.min(1, y[c] + 0.06 * m[2]))
  end
end

-- The loop
local log = logger.csv(opt.out .. "/metrics.csv",
  { "iteration", "distance", "late_frames", "behind" })
f:start({}, { I = math.huge, T = opt.frames, B = N })
local first, recent, late = nil, {}, 0
for window = 0, opt.iterations - 1 do
  local distance, before = 0, late
  for _ = 1, opt.frames do
    local o, r = look()
    local _, out = f:step({ obs = o, reward = r }, { budget_ms = opt.budget })
    if out.late_ms > 16.7 - opt.budget then late = late + 1 end
    act(out.action)
    for c = 1, N do distance = distance + last[c] / (N * opt.frames) end
  end
  first = first or distance
  recent[#recent + 1] = distance
  log:row { window, distance, late - before, window + 1 - learned }
  if not opt.quiet then
    print(("window %3d  distance %.3f  late frames %d  windows not learned yet %d")
      :format(window, distance, late - before, window + 1 - learned))
  end
end
log:close()

local sum, n = 0, math.min(20, #recent)
for k = #recent - n + 1, #recent do sum = sum + recent[k] end
print(("distance to the light %.3f, after %d windows %.3f; %d of %d frames late")
  :format(first, opt.iterations, sum / n, late, opt.iterations * opt.frames))

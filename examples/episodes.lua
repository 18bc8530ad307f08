-- Prints how many walkers come home: 12 % at first, all after 6 iterations. REINFORCE on a walk
-- whose rules are written in Lua; every walker has its own last step, and an iteration ends with
-- the last of them.
--
--     lua5.4 examples/episodes.lua [--seed 0] [--iterations 60] [--walkers 32] [--steps 100] [--out
--     DIR] [--quiet]
--
-- A walker starts at 0. At 5 it is home (+1), at -5 it has fallen (-1), each step costs 0.02; one
-- step in eight goes the other way.
local tempo = require "tempo"
local nn, optim, dist = tempo.nn, tempo.optim, tempo.dist
local logger = require "tempo.logger"
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 60, walkers = 32, steps = 100, lr = 0.02, gamma = 0.98,
    out = "out/episodes", quiet = false,
  tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local i = P:dim "i"                                         -- iteration
local b, B = P:dim "b"                                      -- walker
-- step; T is given as the most there may be
local t, T = P:dim "t"

-- Acting. Rows of walkers that have stopped are zero, and nothing reads the answers for them.
local function walk(arrays)
  local place, action, slip = arrays[1]:totable(), arrays[2]:totable(), arrays[3]:totable()
  local reward, done = {}, {}
  for k = 1, #place do
    local right = (action[k] == 1) ~= (slip[k] < 0.125)
    place[k] = place[k] + (right and 1 or -1)
    done[k] = math.abs(place[k]) >= 5
    reward[k] = (done[k] and (place[k] > 0 and 1 or -1) or 0) - 0.02
  end
  return place, reward, done
end

local place = P:tensor { domain = { i, b, t }, first = 0, along = t, name = "place" }
local policy = nn.MLP(P, { 1, 16, 2 }, { name = "policy", activation = "tanh", along = { i } })
local pi = dist.Categorical { logits = policy((place * 0.2):unsqueeze(-1)) }
local action = pi:sample { name = "action", domain = { i, b, t } }
local slip = tempo.uniform({}, { domain = { i, b, t }, name = "slip" })
local like = { domain = { i, b, t } }
local ends = { domain = { i, b, t }, dtype = "bool" }
local after, reward,
  done = P:call(walk, { place, action, slip }, { like, like, ends }, { over = { b } })
place:otherwise(after[t - 1])
P:stop(t, done)

-- Learning: what came of a step, up to the walker's own end, against what comes of the first steps
-- on average.
local G = P:tensor { domain = { i, b, t }, name = "G" }
G[{ t = T - 1 }] = reward
G:otherwise(reward + opt.gamma * G[t + 1])
local score = G[{ t = 0 }][0 .. B]:mean(0)
local loss = -pi:log_prob(action) * (G - score):detach() / B:value():to "f32"
optim.Adam(policy:parameters(), { lr = opt.lr }):step(loss)

-- Progress: how many came home, and how long they took.
local home = reward[T - 1]:gt(0):to("f32")[0 .. B]:mean(0)
local length = T:value():to("f32")[0 .. B]:mean(0)
local log = logger.csv(opt.out .. "/metrics.csv", { "iteration", "score", "home", "length" })
P:sink({ score, home, length }, function(arrays, point)
  local row = { point.i, arrays[1]:item(), arrays[2]:item(), arrays[3]:item() }
  log:row(row)
  if opt.quiet then return end
  print(("iteration %3d  score %6.3f  home %3.0f %%  steps %5.1f"):format(row[1], row[2],
    100 * row[3], row[4]))
end)

local f = P:compile { outputs = { home = home, length = length }, tier = opt.tier }
local out = f({}, { I = opt.iterations, B = opt.walkers, T = opt.steps })
log:close()
local last = out.T:shape()[1] - 1
print(("steps of the first walkers in the last iteration: %s"):format(tostring(out.T[last])))
print(("home: %.0f %% at first, %.0f %% at last; %.1f and %.1f steps"):format(
  100 * out.home[0], 100 * out.home[last], out.length[0], out.length[last]))

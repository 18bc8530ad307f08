-- A population of seeds, each with its own learning rate, of which the worse half dies at every
-- rung (successive halving, Jamieson and Talwalkar 2016) and gives its memory back.
--
--     lua5.4 examples/rl/population_pruning.lua [--seed 0] [--members 16] [--iterations 60]
--         [--out DIR] [--quiet]
--
-- One program, compiled once, trains any number of members: their number is a bound. Between two
-- calls the script keeps the rows of the better half and calls again with half the bound.
local tempo = require "tempo"
local nn, optim, rl, dist = tempo.nn, tempo.optim, tempo.rl, tempo.dist
local logger = require "tempo.logger"
local opt = require "tempo.cli" (arg, {
  seed = 0, members = 16, iterations = 60, envs = 16, steps = 64, hidden = 32, gamma = 0.99,
  lambda = 0.95, entropy = 0.01, out = "out/population_pruning", quiet = false, tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local s, i, t, b = P:dims "s i t b"                         -- member, iteration, step, environment
local env = rl.env(P, "CartPole-v1", { domain = { s, i, t, b }, time = t, carry = i })
local function network(name, nout)
  return nn.MLP(P, { 4, opt.hidden, opt.hidden, nout },
    { along = { i }, domain = { s }, name = name })
end
local policy, critic = network("policy", 2), network("critic", 1)
local scale = P:constant { 0.5, 0.5, 5, 0.5 }
local function value(obs) return 100 * critic(obs * scale):squeeze(-1) end

local pi = dist.Categorical { logits = policy(env.obs * scale) }
local action = pi:sample { name = "action" }
env:step(action)
local v = value(env.obs)
local advantage, target = rl.gae(env, {
  gamma = opt.gamma, lambda = opt.lambda, value = v, next_value = value(env.next_obs),
})
local loss = -0.01 * advantage * pi:log_prob(action) + 0.5 * (0.01 * (v - target)):square()
  - opt.entropy * pi:entropy()
local rate = P:input("lr", { domain = { s } })
optim.Adam({ policy, critic }, { lr = rate, clip_norm = 1, name = "adam" })
  :step(loss / (opt.envs * opt.steps))

-- How long poles stand in the last quarter of a rung: steps to an end.
local I, T, B = i:upper(), t:upper(), b:upper()
local ends = env.done:to "f32":at({ t = 0 .. T, b = 0 .. B }):sum()
  :at({ i = I - I:floordiv(4) - 1 .. I }):sum(0)
local f = P:compile { outputs = { ends = ends }, tier = opt.tier }

-- The rows `keep` of what every member has one of.
local function rows(a, keep)
  local out = {}
  for k, row in ipairs(keep) do out[k] = a[row]:totable() end
  return tempo.array(out, a:dtype())
end

local lr, first = {}, {}
for k = 1, opt.members do lr[k] = 10 ^ (-4 + 3 * (k - 1) / (opt.members - 1)) end
local log = logger.csv(opt.out .. "/metrics.csv", { "rung", "members", "bytes", "best", "lr" })
for rung = 0, math.huge do
  local n = #lr
  local bounds = { S = n, I = opt.iterations, T = opt.steps, B = opt.envs }
  f:load_params(first)
  local out = f({ lr = lr }, bounds, { seed = opt.seed + rung })
  local score, keep = {}, {}
  for k = 0, n - 1 do
    local steps = opt.envs * opt.steps * (math.floor(opt.iterations / 4) + 1)
    keep[k + 1], score[k] = k, steps / math.max(1, out.ends[k])
  end
  table.sort(keep, function(a, c) return score[a] > score[c] end)
  log:row { rung, n, f:memory(bounds), score[keep[1]], lr[keep[1] + 1] }
  if not opt.quiet or n == 1 then
    print(("rung %d: %2d members in %7.1f KiB; the best, with lr %.4f, stands for %5.1f steps")
      :format(rung, n, f:memory(bounds) / 1024, lr[keep[1] + 1], score[keep[1]]))
  end
  if n == 1 then break end
  local half, old = {}, lr
  for k = 1, math.floor(n / 2) do half[k] = keep[k] end
  lr, first = {}, {}
  for k, row in ipairs(half) do lr[k] = old[row + 1] end
  for name, a in pairs(f:params()) do first[name] = name:find "steps" and a or rows(a, half) end
end
log:close()

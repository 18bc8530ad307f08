-- Evolution strategies on CartPole (Salimans et al. 2017): each member of a population plays one
-- episode with its own noise on the parameters; these move towards the noise of the better ones.
--
--     lua5.4 examples/rl/evolution_strategies.lua [--seed 0] [--iterations 150] [--out DIR]
--         [--quiet]
--
-- Members come in pairs with opposite noise, and only the order of their returns counts. An
-- iteration ends with the last episode.
local tempo = require "tempo"
local nn, optim, rl, logger = tempo.nn, tempo.optim, tempo.rl, tempo.logger
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 150, members = 64, hidden = 16, sigma = 0.1, lr = 0.03, solved = 475,
  out = "out/evolution_strategies", quiet = false, tier = "auto",
})

local P = tempo.program { seed = opt.seed }
local i = P:dim "i"                                         -- generation
local m, M = P:dim "m"                                      -- member
local t, T = P:dim "t"                                      -- step of its episode
local net = nn.MLP(P, { 4, opt.hidden, 2 }, { along = { i }, name = "policy" })

-- The noise of a member's parameters: a pair has one key.
local sign = 1 - 2 * (m % 2):value():to "f32"
local key = (i * opt.members + m:floordiv(2)):value()
local noise, count = {}, 0
local member = net:mapped(function(w)
  count = count + 1
  noise[w] = sign * tempo.normal(w:shape(),
    { domain = { i, m }, key = key, name = "noise" .. count })
  return w + opt.sigma * noise[w]
end)

-- One episode each.
local env = rl.env(P, "CartPole-v1", { domain = { i, m, t }, time = t })
env:step(member(env.obs):argmax(-1))
P:stop(t, env.done)
local score = env.reward[0 .. T]:sum(0)

-- Ranks from -1/2 to 1/2; the gradient is the noise weighed by them.
local scores = score[{ m = 0 .. M }]
local ranks = scores:argsort():argsort():to "f32" / (opt.members - 1) - 0.5
local rank = ranks:select(0, m)
local loss = 0
for _, w in ipairs(net:parameters()) do
  local towards = (rank * noise[w]):at({ m = tempo.range(0, M) }):sum(0) / (opt.members * opt.sigma)
  loss = loss - (w * towards:detach()):sum()
end
optim.Adam(net, { lr = opt.lr }):step(loss)

local log = logger.csv(opt.out .. "/metrics.csv", { "iteration", "return", "best", "seconds" })
local f, last
local start = logger.clock()
P:sink({ scores:mean(), scores:max() }, function(arrays, point)
  last = { point.i, arrays[1]:item(), arrays[2]:item(), logger.clock() - start }
  log:row(last)
  if not opt.quiet then
    print(("generation %3d  return %6.1f  best %4.0f  %5.1f s"):format(last[1], last[2], last[3],
      last[4]))
  end
  if last[2] >= opt.solved then f:cancel() end
end)
f = P:compile { tier = opt.tier }
f({}, { I = opt.iterations, M = opt.members, T = 500 })
log:close()
tempo.save(opt.out .. "/params.npz", f:params { of = net })
print(("seed %d: return %.1f after %d generations, %.1f s")
  :format(opt.seed, last[2], last[1] + 1, logger.clock() - start))

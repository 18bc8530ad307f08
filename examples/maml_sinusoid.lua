-- Prints the loss on a new sinusoid before and after five steps of gradient descent: they do not
-- help at first, and bring 2.9 to 0.4 from the first weights that MAML (Finn et al. 2017) finds.
--
--     lua5.4 examples/maml_sinusoid.lua [--seed 0] [--iterations 300] [--updates 5] [--tasks 16]
--     [--first]
--                                       [--out DIR] [--quiet]
--
-- The steps are a recurrence over k that holds a gradient: `leaf = true` ends it at the weights of
-- the same k. The outer gradient goes through all of them; --first detaches them (first-order
-- MAML). --from FILE.npz takes tasks and first weights, for comparison with PyTorch.
local tempo = require "tempo"
local nn, optim = tempo.nn, tempo.optim
local opt = require "tempo.cli" (arg, {
  seed = 0, iterations = 300, updates = 5, tasks = 16, points = 10, hidden = 40, lr = 0.003,
    step = 0.02,
  first = false, from = "", dtype = "f32", tier = "auto", out = "", quiet = false,
})
local P = tempo.program { seed = opt.seed }
local i = P:dim "i"                                         -- outer iterations
local m, M = P:dim "m"                                      -- tasks
-- steps within a task, and where they led to
local k, K = P:dim "k"

-- A task is y = amplitude sin(x - phase), seen at some points to learn from and judged at others.
local given = opt.from ~= "" and tempo.load(opt.from)
local function draw(name, shape, lo, hi)
  if given then return P:input(name, { domain = { i, m }, shape = shape, dtype = opt.dtype }) end
  return lo + (hi - lo) * tempo.uniform(shape,
    { domain = { i, m }, name = name, dtype = opt.dtype })
end
local amplitude, phase = draw("amplitude", {}, 0.1, 5), draw("phase", {}, 0, math.pi)
local function sample(name)
  local x = draw(name, { opt.points, 1 }, -5, 5)
  return x, amplitude * (x - phase):sin()
end
local x, y = sample "x"
local xq, yq = sample "xq"

-- The first weights, and those of each task at each step.
local first = nn.MLP(P, { 1, opt.hidden, opt.hidden, 1 },
  { along = { i }, name = "net", dtype = opt.dtype })
local w = {}
local net = first:mapped(function(p)
  local own = P:tensor { domain = { i, m, k }, shape = p:shape(), dtype = p:dtype() }
  own[{ k = 0 }] = p
  w[#w + 1] = own
  return own
end)

local gradients = tempo.grad(net(x):mse_loss(y), w, { leaf = true })
for n, g in ipairs(gradients) do
  if opt.first then g = g:detach() end
  w[n]:otherwise((w[n] - opt.step * g)[{ i, m, k - 1 }])
end

local loss = net(xq):mse_loss(yq)
optim.Adam(first, { lr = opt.lr, name = "adam" }):step(
  loss[{ k = K - 1 }] / M:value():to(opt.dtype))

local mean = loss[{ m = 0 .. M }]:mean(0)
local log = require "tempo.logger".csv(opt.out ~= "" and opt.out .. "/metrics.csv",
  { "iteration", "before", "after" })
local before, after, seen = 0, 0, 0
P:sink({ mean[{ k = 0 }], mean[{ k = K - 1 }] }, function(v, point)
  log:row { point.i, v[1]:item(), v[2]:item() }
  before, after, seen = before + v[1]:item(), after + v[2]:item(), seen + 1
  if seen < 20 then return end
  if not opt.quiet then
    print(string.format("iteration %4d  loss before the steps %.4f, after them %.4f",
      point.i, before / seen, after / seen))
  end
  before, after, seen = 0, 0, 0
end)

local f = P:compile { tier = opt.tier }
local inputs = {}
if given then
  local weights = {}
  for name, a in pairs(given) do
    if name:find "^net%." then weights[name] = a else inputs[name] = a end
  end
  f:load_params(weights)
end
f(inputs, { I = opt.iterations, M = opt.tasks, K = opt.updates + 1 })
log:close()
if opt.out ~= "" then tempo.save(opt.out .. "/params.npz", f:params()) end

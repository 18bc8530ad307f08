-- Examples for the entries that the comments of lua/tempo document: "<library> <entry>" -> code. `fields`: libraries that
-- are fields of `tempo`.
local libraries = {}

--- Runs before every example of this page.
libraries.prelude = [[
tempo = require "tempo"
nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
P = tempo.program()
t, T = P:dim "t"
x = P:constant { -1, 0, 2 }
traj = { time = t, reward = t:value():to "f32", terminated = t:eq(2):value() }
function show(x, bounds) print(P:compile { outputs = { x = x } }({}, bounds or {}).x) end
]]

libraries.fields = { nn = true, optim = true, dist = true, rl = true, logger = true, data = true, viz = true }

local init = {}
for name, code in pairs {
  fans = "print(nn.init.fans { 3, 4 })",
  gain = 'print(nn.init.gain "linear", nn.init.gain("leaky_relu", 0))',
  orthogonal = 'local q = nn.init.orthogonal(P, { 2, 3 }, { name = "a" })\nshow(q:matmul(q:mT()):round():abs())',
} do init["tempo.nn.init " .. name] = code end

local examples = {
  ["tempo.nn class"] = [[
local Scale = nn.class "Scale"
function Scale:forward(x) return self.factor * x end
local net = Scale:create(P, { name = "scale" })
net:param("factor", {}, { init = 3 })
print(net)
show(net(P:constant { 1, 2 }))]],
  ["tempo.nn Module:at"] = [[
local net = nn.Linear(P, 1, 1, { along = { t }, init = "ones", name = "net" })
net.weight:update(net.weight + 1)
net.bias:update(net.bias)
local one = P:constant { 1 }
show(net(one):squeeze(0), { T = 3 })
show(net:at { t = 0 } (one), { T = 3 })]],
  ["tempo.nn Linear"] = 'show(nn.Linear(P, 3, 2, { init = "ones", bias_init = 0.5 })(x))',
  ["tempo.nn MLP"] = 'print(nn.MLP(P, { 3, 8, 2 }, { activation = "relu" })(x):shape()[1])',
  ["tempo.nn Sequential"] = 'show(nn.Sequential(P, { nn.Linear(P, 3, 2, { init = "ones" }), "square", function(y) return y:sum() end })(x))',
  ["tempo.nn Embedding"] = 'local e = nn.Embedding(P, 3, 2, { init = P:constant { { 0, 1 }, { 2, 3 }, { 4, 5 } } })\nshow(e(P:constant(tempo.array(2, "i64"))))',
  ["tempo.nn Module:mapped"] = [[
local net = nn.Linear(P, 1, 1, { init = "ones", bias = false })
local loss = net(P:constant { 3 }):square():sum()
local ahead = net:mapped(function(w) return w - 0.125 * tempo.grad(loss, w) end)
show(ahead(P:constant { 3 }))]],
  ["tempo.nn BatchNorm"] = "show(nn.BatchNorm(P, 1)(x:unsqueeze(1)):squeeze(1))",
  ["tempo.nn Flatten"] = "print(#nn.Flatten(P)(tempo.ones { 2, 3, 4 }):shape())",
  ["tempo.nn RNNCell"] = [[
local cell = nn.RNNCell(P, 1, 2, { init = "zeros", bias = false })
local h = P:tensor { domain = { t }, shape = { 2 } }
h[0] = 1
h[t] = cell(tempo.zeros { 1 }, h[t - 1])
show(h, { T = 2 })]],

  ["tempo.optim Optimizer:step"] = [[
local w = P:param("w", { along = { t }, init = 8 })
optim.SGD(w, { lr = 0.25 }):step(w:square(), { when = (t % 3):eq(0) })          -- w - 0.25 * 2 w
show(w, { T = 7 })]],
  ["tempo.optim early_stopping"] = [[
local score = P:input("score", { domain = { t } })
local stop = optim.early_stopping(t, score, { patience = 2 })
local f = P:compile { outputs = { best = stop.best, at = stop.best_at } }
local out = f({ score = { 5, 3, 4, 3.5, 1, 0 } }, { T = 6 })
print(out.best, out.at)]],
  ["tempo.optim SGD"] = 'local w = P:param("w", { along = { t }, init = 1 })\noptim.SGD(w, { lr = 0.5, momentum = 0.5 }):step(w)\nshow(w, { T = 4 })',
  ["tempo.optim Adam"] = 'local w = P:param("w", { along = { t }, init = 1 })\noptim.Adam(w, { lr = 0.125, eps = 0 }):step(w * 3)    -- the first steps are lr\nshow(w, { T = 3 })',
  ["tempo.optim AdamW"] = 'local w = P:param("w", { along = { t }, init = 1 })\noptim.AdamW(w, { lr = 0.5, weight_decay = 0.5 }):step(w * 0)\nshow(w, { T = 3 })',
  ["tempo.optim RMSProp"] = 'local w = P:param("w", { along = { t }, init = 1 })\noptim.RMSProp(w, { lr = 0.5, alpha = 0.75 }):step(w:square())\nshow(w, { T = 3 })',


  ["tempo.rl episodes"] = [[
local sum, number = rl.episodes(traj, { t })
show(sum / number, { T = 4 })]],

  ["tempo.logger clock"] = "print(tempo.logger.clock() > 0)",
  ["tempo.logger mkdir"] = "local path = os.tmpname()\nos.remove(path)\nprint(tempo.logger.mkdir(path) == path)\nos.remove(path)",
  ["tempo.logger csv"] = [[
local path = os.tmpname()
local log = tempo.logger.csv(path, { "iteration", "loss" })
log:row { 1, 1 / 3 }
log:line { "2", "none" }
log:close()
for line in io.lines(path) do print(line) end
os.remove(path)]],
  ["tempo.logger jsonl"] = [[
local path = os.tmpname()
local log = tempo.logger.jsonl(path, { "iteration", "loss" })
log:row { 1, 1 / 4 }
log:close()
print(io.open(path):read "a")
os.remove(path)]],
  ["tempo.logger json"] = 'print(tempo.logger.json { name = "a", sizes = { 4, 64 }, loss = 0 / 0 })',
  ["tempo.logger tensorboard"] = [[
local folder = os.tmpname()
os.remove(folder)
local log = tempo.logger.tensorboard(folder .. "/events.out.tfevents.1", { "iteration", "loss" })
log:row { 1, 1 / 4 }
log:close()
print(#io.open(folder .. "/events.out.tfevents.1", "rb"):read "a")]],
  ["tempo.data batches"] = [[
local step = P:dim("step", "steps")
local set = { x = tempo.array { { 0, 0 }, { 1, 10 }, { 2, 20 }, { 3, 30 } }, y = tempo.array { 0, 1, 2, 3 } }
local batch = tempo.data.batches(P, set, { step = step, size = 2, shuffle = false })
show(batch.y, { steps = 2 })]],
  ["tempo.data csv"] = [[
local path = os.tmpname()
local file = io.open(path, "w")
file:write("iteration,loss\n0,0.5\n1,none\n")
file:close()
local columns, names = tempo.data.csv(path)
print(names[2], columns.loss)
os.remove(path)]],
  ["tempo.viz spark"] = 'print(tempo.viz.spark { 1, 4, 9, 16, 25, 16, 9, 4, 1 })',
  ["tempo.viz plot"] = 'local y = {}\nfor k = 1, 100 do y[k] = math.sin(k / 16) end\nprint(tempo.viz.plot(y, { width = 40, height = 5, title = "sin" }))',
  ["tempo.viz svg"] = [[
local svg = tempo.viz.svg({ { name = "a", y = { 1, 4, 9 }, lo = { 0, 3, 8 }, hi = { 2, 5, 10 } } }, { x = "steps" })
print(svg:match "<svg[^>]+>")]],
  ["tempo.viz csv"] = [[
local path = os.tmpname()
local log = tempo.logger.csv(path, { "iteration", "loss" })
for k = 1, 20 do log:row { k, 1 / k } end
log:close()
print(tempo.viz.csv(path))
os.remove(path)]],
  ["tempo.cli cli"] = [[
local opt = require "tempo.cli" ({ "--seed", "3", "--quiet" }, { seed = 0, iterations = 10, quiet = false })
print(opt.seed, opt.iterations, opt.quiet)]],
}
for method in ("keep restore"):gmatch "%a+" do
  examples["tempo.optim EarlyStopping:" .. method] = [[
local net = nn.Linear(P, 1, 1, { along = { t }, name = "net", init = "zeros", bias = false })
net.weight:update(net.weight + 1)
local stop = optim.early_stopping(t, (net.weight:sum() - 2):abs(), { patience = 2 })
local f = P:compile { outputs = { best = stop:keep(net).weight:sum() } }
print(f({}, { T = 9 }).best)
print(stop:restore(f:params())["net.weight"])]]
end
for method in ("line row close"):gmatch "%a+" do examples["tempo.logger Rows:" .. method] = examples["tempo.logger csv"] end
for name, code in pairs(init) do examples[name] = code end

-- One example for several entries of a library.
local function share(library, names, code)
  for name in names:gmatch "%S+" do examples[library .. " " .. name] = code end
end

share("tempo.nn", "Tanh ReLU Sigmoid GELU SiLU ELU LeakyReLU Softplus Identity", [[
for name in ("Tanh ReLU Sigmoid GELU SiLU ELU LeakyReLU Softplus Identity"):gmatch "%a+" do
  local layer = nn[name]
  show(layer(P)(x:select(0, 0)))
end]])

share("tempo.nn", "Module:create Module:param Module:buffer Module:register Module:add", [[
local net = nn.class "Net":create(P, { name = "critic", along = { t } })
local n = net:buffer("n", {}, { init = 0 })
n:update(n + net:param("gain", { 2 }, { init = 1 }):sum())
net:register("w", P:param("shared", { along = { t }, init = 2 }))
net:add("head", nn.Linear(P, 3, 2))
print(net, net.head, net.gain:name(), net.w:name(), #net:parameters())
show(net.n, { T = 3 })]])

share("tempo.nn", "Module:parameters Module:named_parameters", [[
local net = nn.MLP(P, { 4, 8, 2 })
print(#net:parameters())
for path in net:named_parameters() do print(path) end]])

share("tempo.nn", "Module:next Module:target", [[
local net = nn.Linear(P, 1, 1, { along = { t }, init = "zeros", bias = false })
net.weight:update(net.weight + 1)
show(net:next().weight:sum(), { T = 3 })
show(net:target { every = 3 }.weight:sum(), { T = 8 })
show(net:target { tau = 0.5 }.weight:sum(), { T = 5 })]])

share("tempo.nn", "LayerNorm RMSNorm", [[
show(nn.LayerNorm(P, 3)(x))
show(nn.RMSNorm(P, 3)(x))]])

share("tempo.nn", "MaxPool2d AvgPool2d", [[
local image = tempo.arange(8):reshape { 1, 2, 4 }
show(nn.MaxPool2d(P, 2)(image))
show(nn.AvgPool2d(P, 2)(image))]])

share("tempo.nn", "Dropout Module:eval", [[
show(nn.Dropout(P, 0)(x))
show(nn.Dropout(P, 0.5):eval()(x))]])

share("tempo.nn", "LSTMCell GRUCell", [[
local options = { init = "zeros", bias = false }
local h, c = nn.LSTMCell(P, 1, 2, options)(tempo.zeros { 1 }, tempo.zeros { 2 }, tempo.ones { 2 })
show(c)
show(nn.GRUCell(P, 1, 2, options)(tempo.zeros { 1 }, tempo.ones { 2 }))]])

share("tempo.nn", "Conv1d Conv2d ConvTranspose2d", [[
show(nn.Conv1d(P, 1, 1, 3, { padding = "same", init = "ones" })(x:unsqueeze(0)))
show(nn.Conv2d(P, 1, 1, 2, { stride = 2, init = "ones" })(tempo.ones { 1, 2, 4 }))
show(nn.ConvTranspose2d(P, 1, 1, 2, { stride = 2, init = "ones" })(tempo.ones { 1, 1, 1 }))]])

share("tempo.nn.init", "uniform normal xavier_uniform xavier_normal kaiming_uniform kaiming_normal", [[
for name in ("uniform normal xavier_uniform xavier_normal kaiming_uniform kaiming_normal"):gmatch "%S+" do
  local first = nn.init[name]
  show((first(P, { 40, 60 }, { name = name }):std() * 10):round() / 10)
end]])

share("tempo.nn.init", "make zeros ones", [[
print(nn.init.make(P, "zeros", { 2 }, {}), nn.init.zeros(P, { 2 }))
show(nn.init.ones(P, { 2 }))]])

share("tempo.optim", "grad_norm clip_grad_norm", [[
local w = P:param("w", { along = { t }, init = 8 })
local clipped, norm = optim.clip_grad_norm(tempo.grad(w:square(), { w }), 4)
show(clipped[1], { T = 1 })
show(norm - optim.grad_norm(tempo.grad(w:square(), { w })), { T = 1 })]])

share("tempo.dist", "Categorical Categorical:sample Categorical:log_prob Categorical:entropy", [[
local d = dist.Categorical { probs = P:constant { 0.25, 0.75, 0 } }
show(d.mode)
show(d:sample({ domain = { t }, name = "a" }):lt(2), { T = 5 })
show(d:log_prob(P:constant(tempo.array(1, "i64"))):exp())
show(d:entropy())]])

share("tempo.dist", "Normal Normal:rsample Normal:sample Normal:log_prob Normal:entropy", [[
local d = dist.Normal(P:constant { 0, 10 }, 1)
show((d:rsample { name = "a" } - d.mean):abs():lt(6))
show((d:sample { name = "b" } - d.mean):abs():lt(6))
show(d:log_prob(d.mean):exp())
show(d:entropy())]])

share("tempo.rl", "envs env Env:step", [[
for name, e in pairs(rl.envs) do print(name, e.actions, e.max_steps) end
local env = rl.env(P, "CartPole-v1", { domain = { t }, time = t })
local reward = env:step(env.obs:select(0, 2):gt(0):to "i64")          -- to where the pole leans
show(reward[0 .. T]:sum(0), { T = 20 })]])

examples["tempo.nn into"] = [[
local net = nn.Linear(P, 2, 1, { along = { t }, name = "net", init = "ones", bias = false })
local f = P:compile { outputs = { y = net(x:narrow(0, 0, 2)) } }
f({}, { T = 1 })
local Q = tempo.program()
local g = Q:compile { outputs = { y = nn.into(Q, net)(Q:constant { 3, 4 }) } }
g:load_params(f:params { of = net })
print(g({}, {}).y)]]
examples["tempo.rl train"] = [[
local i, t = P:dims "i u"
local env = rl.env(P, "CartPole-v1", { domain = { i, t }, time = t, carry = i })
local policy = nn.Linear(P, 4, 2, { along = { i }, name = "policy" })
local pi = dist.Categorical { logits = policy(env.obs) }
local action = pi:sample { name = "action" }
env:step(action)
local gain = pi:log_prob(action) * rl.monte_carlo(env)
optim.Adam(policy, { lr = 0.01 }):step(-gain)
local f, history = rl.train(P, env, { bounds = { I = 5, U = 100 }, quiet = true })
print(#history, history[5].steps, f:params()["policy.bias"]:shape()[1])]]
share("tempo.rl", "monte_carlo n_step td gae episode_return", [[
show(rl.monte_carlo(traj, { gamma = 0.5 }), { T = 5 })
show(rl.n_step(traj, { n = 2, gamma = 0.5 }), { T = 5 })
local v = traj.reward * 0 + 10
show(rl.td(traj, { gamma = 0.5, next_value = v }), { T = 5 })
show(rl.gae(traj, { gamma = 0.5, lambda = 0, value = v, next_value = v }), { T = 5 })
show(rl.episode_return(traj), { T = 5 })]])

libraries.examples = examples
return libraries

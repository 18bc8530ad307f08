-- Examples for the entries that the comments of lua/tempo document: "<library> <entry>" -> code.
-- `fields`: libraries that are fields of `tempo`.
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

libraries.fields = { nn = true, optim = true, dist = true, rl = true, llm = true, logger = true, data = true,
  viz = true }

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
  ["tempo.nn Sequential"] =
    'show(nn.Sequential(P, { nn.Linear(P, 3, 2, { init = "ones" }), "square", function(y) return y:sum() end })(x))',
  ["tempo.nn Embedding"] =
    'local e = nn.Embedding(P, 3, 2, { init = P:constant { { 0, 1 }, { 2, 3 }, { 4, 5 } } })\nshow(e(P:constant(tempo.array(2, "i64"))))',
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
  ["tempo.optim SGD"] =
    'local w = P:param("w", { along = { t }, init = 1 })\noptim.SGD(w, { lr = 0.5, momentum = 0.5 }):step(w)\nshow(w, { T = 4 })',
  ["tempo.optim Adam"] =
    'local w = P:param("w", { along = { t }, init = 1 })\noptim.Adam(w, { lr = 0.125, eps = 0 }):step(w * 3)    -- the first steps are lr\nshow(w, { T = 3 })',
  ["tempo.optim AdamW"] =
    'local w = P:param("w", { along = { t }, init = 1 })\noptim.AdamW(w, { lr = 0.5, weight_decay = 0.5 }):step(w * 0)\nshow(w, { T = 3 })',
  ["tempo.optim RMSProp"] =
    'local w = P:param("w", { along = { t }, init = 1 })\noptim.RMSProp(w, { lr = 0.5, alpha = 0.75 }):step(w:square())\nshow(w, { T = 3 })',


  ["tempo.rl episodes"] = [[
local sum, number = rl.episodes(traj, { t })
show(sum / number, { T = 4 })]],

  ["tempo.logger clock"] = "print(tempo.logger.clock() > 0)",
  ["tempo.logger mkdir"] =
    "local path = os.tmpname()\nos.remove(path)\nprint(tempo.logger.mkdir(path) == path)\nos.remove(path)",
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
  ["tempo.logger json"] =
    'print(tempo.logger.json { name = "a", sizes = { 4, 64 }, loss = 0 / 0 })',
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
  ["tempo.viz plot"] =
    'local y = {}\nfor k = 1, 100 do y[k] = math.sin(k / 16) end\nprint(tempo.viz.plot(y, { width = 40, height = 5, title = "sin" }))',
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
for method in ("line row close"):gmatch "%a+" do
  examples["tempo.logger Rows:" .. method] = examples["tempo.logger csv"]
end
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

share("tempo.dist", "Bernoulli Bernoulli:sample Bernoulli:log_prob Bernoulli:entropy", [[
local d = dist.Bernoulli { probs = P:constant { 0, 0.25, 1 } }
show(d.mode)
show(d:log_prob(P:constant { 0, 1, 1 }):exp())
show(d:sample { name = "a" }:select(0, 2))
show(d:entropy():select(0, 1))]])

share("tempo.dist", "MultiCategorical MultiCategorical:sample MultiCategorical:log_prob MultiCategorical:entropy", [[
local d = dist.MultiCategorical { logits = P:constant { 0, 0, 3, 0, 0 }, sizes = { 3, 2 } }
show(d.mode)
show(d:sample { name = "a" }:ge(0):all())
show(d:log_prob(P:constant(tempo.array({ 2, 0 }, "i64"))):exp())
show(d:entropy())]])

share("tempo.dist", "TanhNormal TanhNormal:rsample TanhNormal:sample TanhNormal:log_prob", [[
local d = dist.TanhNormal(P:constant { 0, 1 }, 0.5)
local y = d:rsample { name = "y" }
show(y:abs():lt(1))
show((d:log_prob(y) - d:log_prob(y * 1)):abs():lt(1e-3))               -- of y it knows what was drawn
show(d:sample { name = "z" }:abs():lt(1))
show(d.mode)]])

share("tempo.dist", "Beta Beta:sample Beta:log_prob Beta:entropy", [[
local d = dist.Beta(P:constant { 1, 2 }, 3)
show(d.mean)
show(d:sample { name = "x" }:lt(1))
show(d:log_prob(P:constant { 0, 0.5 }):exp())
show(d:entropy())]])

share("tempo.dist", "kl Distribution:kl Distribution:sum", [[
local p, q = dist.Normal(P:constant { 0, 1 }, 1), dist.Normal(P:constant { 0, 3 }, 1)
show(dist.kl(p, q))
show(p:sum():kl(q:sum()))
show(p:sum():log_prob(p.mean))]])

share("tempo.rl", "envs env Env:step", [[
local e = rl.envs["CartPole-v1"]
print(e.actions, e.max_steps, e.observation[1])
local env = rl.env(P, "CartPole-v1", { domain = { t }, time = t })
local reward = env:step(env.obs:select(0, 2):gt(0):to "i64")          -- to where the pole leans
show(reward[0 .. T]:sum(0), { T = 20 })]])

share("tempo.rl", "memory window Memory:next Memory:at Memory:first Memory:segments", [[
local env = rl.env(P, "CartPole-v1", { domain = { t }, time = t })
local steps = rl.memory(function(x, h) return h + 1 end, env, { shape = {} })    -- its state counts
local n = steps(env.obs)
env:step(env.obs:select(0, 2):gt(0):to "i64")
show(n, { T = 4 })
show(steps:at { t = 2 }, { T = 4 })
show(steps:next(env.next_obs), { T = 4 })
show(steps:segments(env.obs), { T = 4 })
local window = rl.window(P, 3, env)
show(select(2, window(env.obs)), { T = 4 })
]])
share("tempo.rl", "ppo_loss kl", [[
local log_ratio = tempo.zeros { 4 } + P:constant { 0, 0.1, -0.1, 0.5 }
local loss, stats = rl.ppo_loss { log_ratio = log_ratio, advantage = P:constant { 1, 1, -1, 2 } }
show(loss)
show(stats.clip_fraction)
show(rl.kl(log_ratio))]])
share("tempo.rl", "normalize running_return", [[
local i = P:dim("i", "I")
local env = rl.env(P, "CartPole-v1", { domain = { i, t }, time = t, carry = i })
env:step(env.obs:select(0, 2):gt(0):to "i64")
local sum = rl.running_return(env, { gamma = 0.5 })
show(sum, { I = 1, T = 4 })
local scale = rl.normalize(P, sum, { along = { i }, center = false })
show(scale.count, { I = 3, T = 4 })]])
share("tempo.rl", "replay Replay:draw Replay:update", [[
local memory = rl.replay(t, { window = 100, batch = 4, n = 2, gamma = 0.5, priority = 0.6 })
local batch = memory:draw { time = t:value(), reward = traj.reward, terminated = traj.terminated }
memory:update(batch.reward)
local late = P:tensor { domain = { t }, shape = { 4 } }     -- two steps lie behind from t = 2 on
late:when(t:ge(2), batch.reward - batch.time:to "f32")      -- 0.5 (s + 1), or 0 from the end at 2 on
late:otherwise(-1)
show(late:min(), { T = 6 })
show(late:max(), { T = 6 })]])

share("tempo.rl", "vtrace retrace", [[
local v, ratio = traj.reward * 0 + 10, traj.reward * 0 + math.log(0.5)
local o = { gamma = 0.5, value = v, next_value = v, log_ratio = ratio }
for _, f in ipairs { rl.vtrace, rl.retrace } do
  local advantage, target = f(traj, o)
  show(advantage, { T = 5 })
  show(target, { T = 5 })
end]])

share("tempo.rl", "add_env", [[
rl.add_env("Corridor", { state = 1, actions = 2, max_steps = 6,
  reset = function(s) s[1] = 0 end,
  step = function(s, action)
    s[1] = s[1] + (action == 1 and 1 or -1)
    return s[1] >= 3 and 1 or 0, math.abs(s[1]) >= 3
  end })
local env = rl.env(P, "Corridor", { domain = { t }, time = t })
env:step(P:constant(tempo.array(1, "i64")))
show(env.obs[0 .. T], { T = 5 })]])
share("tempo.rl", "load_env", [[
local ok, e = pcall(rl.load_env, "./corridor.so")            -- built of examples/c/envs/corridor.c, or not
print(ok, not ok and e.code)]])

examples["tempo.rl trace"] = [[
local game = {}
function game.reset(g) g.x = math.random(3) end
function game.step(g, action)
  g.x = g.x + action
  if g.x > 6 then return 1, true end
  return 0, false
end
function game.observe(g) return g.x end
local env = rl.trace(P, game, { domain = { t }, time = t, actions = 2 })
env:step(tempo.where(env.obs:sum():lt(5), 1, 0):to "i64")
show(env.obs:sum(), { T = 6 })]]

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
share("tempo.rl", "monte_carlo n_step td td_lambda gae episode_return", [[
show(rl.monte_carlo(traj, { gamma = 0.5 }), { T = 5 })
show(rl.n_step(traj, { n = 2, gamma = 0.5 }), { T = 5 })
local v = traj.reward * 0 + 10
show(rl.td(traj, { gamma = 0.5, next_value = v }), { T = 5 })
show(select(2, rl.td_lambda(traj, { gamma = 0.5, lambda = 0.5, next_value = v })), { T = 5 })
show(rl.gae(traj, { gamma = 0.5, lambda = 0, value = v, next_value = v }), { T = 5 })
show(rl.episode_return(traj), { T = 5 })]])

share("tempo.llm", "load Model:logits Model:embed Model:generate", [[
local m = tempo.llm.load "spec/fixtures/llm/llama"          -- random weights, 64 tokens
print(m, m:logits { 3, 17, 42 }:shape()[1], m:embed { 3, 17, 42 }:shape()[2])
local ids, info = m:generate({ 3, 17, 42 }, { max_tokens = 4, logprobs = true })
print(#ids, info.reason, #info.logprobs)
local batch = m:generate({ { 3, 17, 42 }, { 5 } },
  { max_tokens = 4, temperature = 0.8, top_p = 0.9, seed = 1 })
print(#batch, #batch[2])]])
share("tempo.llm", "Model:record Model:inputs", [[
local m = tempo.llm.load "spec/fixtures/llm/llama"
local u, U = P:dim "u"
local id = P:tensor { domain = { u }, dtype = "i64" }
local _, logits = m:record(P, id, u)
id[0] = P:constant(tempo.array(5, "i64"))
id[u] = logits:argmax(-1)[u - 1]
local f = P:compile { outputs = { id = id } }
print(f(m:inputs {}, { U = 4, L = m.config.layers }).id[0], #m:generate({ 5 }, { max_tokens = 3 }))]])
examples["tempo.llm model"] = [[
local arrays, settings = {}, { model_type = "llama", hidden_size = 8, num_hidden_layers = 1,
  num_attention_heads = 2, intermediate_size = 16, vocab_size = 10, tie_word_embeddings = true }
local function put(name, ...)
  arrays["model." .. name .. ".weight"] = tempo.array(0.1, "f32", { ... })
end
put("embed_tokens", 10, 8)
put("norm", 8)
for name, shape in pairs { ["self_attn.q_proj"] = { 8, 8 }, ["self_attn.k_proj"] = { 8, 8 },
  ["self_attn.v_proj"] = { 8, 8 }, ["self_attn.o_proj"] = { 8, 8 }, ["mlp.gate_proj"] = { 16, 8 },
  ["mlp.up_proj"] = { 16, 8 }, ["mlp.down_proj"] = { 8, 16 }, input_layernorm = { 8 },
  post_attention_layernorm = { 8 } } do
  put("layers.0." .. name, (table.unpack or unpack)(shape))
end
print(tempo.llm.model(settings, arrays))]]
share("tempo.llm", "engine Engine:submit Engine:step Engine:cancel", [[
local e = tempo.llm.engine(tempo.llm.load "spec/fixtures/llm/llama", { slots = 2 })
local a = e:submit { prompt = { 3, 17, 42 }, max_tokens = 4 }
local b = e:submit { prompt = { 5 }, max_tokens = 20 }
e:step()
e:cancel(b)
repeat local left = e:step() until left == 0
print(a.reason, #a.ids, b.reason)]])
share("tempo.llm", "tokenizer Tokenizer:encode Tokenizer:decode Tokenizer:piece "
  .. "Tokenizer:is_eos Tokenizer:stream Tokenizer:chat", [[
local tok = tempo.llm.tokenizer "spec/fixtures/tokenizers/gpt2.json"
local ids = tok:encode "Say hello."
print(tok:decode(ids), tok:piece(ids[1]), tok:is_eos(ids[1]))
local next = tok:stream()
print(next(ids[1]) .. next(ids[2]))
print((pcall(tok.chat, tok, { { role = "user", content = "Say hello." } })))]])
share("tempo.llm", "server Server:port Server:step Server:close", [[
local m = tempo.llm.load "spec/fixtures/llm/llama"
m.tokenizer = tempo.llm.tokenizer "spec/fixtures/tokenizers/gpt2.json"
local server = tempo.llm.server(m, { port = 0 })
print(server:port() > 0, server:step(0))
server:close()]])
examples["tempo.llm serve"] = [[
print((pcall(tempo.llm.serve, tempo.llm.load "spec/fixtures/llm/llama")))     -- without a tokenizer]]

libraries.examples = examples
return libraries

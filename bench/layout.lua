-- Times places and moves of data: each side in a process of its own, pinned to the same one core,
-- in turn.
--   inplace-row, -where, -scatter   a part of a carried state of a million floats changes at each
--   of 1,000 steps;
--                                   JAX: at[].set, at[].add
--   adam-copies                     what Adam has to move over what its loop moves
--   layout-bt                       generalised advantages over (t, b) against (b, t)
--   reduce-worst                    3 over the slowest against the fastest of sum, max, mean along
--   each axis and dim
--   pool-vs-best, cnn-vs-best       max-pool and its gradient; a small convolutional net trained,
--   max-pool in it;
--                                   the better of JAX and PyTorch
--   ppo-vs-jax                      PPO's minibatch updates, 4 and 2,048 environments
--   reinforce-plan-vs-jax           the REINFORCE example
--   gather-vs-numpy                 65,536 rows of 4
--   replay-flat                     32 frames picked from a window of 100 against one of 100,000
--   window-vs-jax                   decoding with attention to the last 256 tokens
--   dense-memory                    4 MB over what summing noise over 100,000 points keeps
--   moe-sparse                      two of 16 experts against all of them
--   lua5.4 bench/layout.lua [--rows inplace-row,layout-bt] [--rounds 3]
-- Needs a python3 with JAX and NumPy on the PATH; without it the rows against them are left out,
-- which fails. Times are of the wall, the best of all.
local tempo = require "tempo"
local nn, optim, rl = tempo.nn, tempo.optim, tempo.rl

-- ---- our programs: each gives a function that does the work n times and gives a number of its result, and n
local ours = {}

-- Runs a program without inputs.
local function once(make, bounds)
  local P = tempo.program { seed = 3 }
  return P:compile { outputs = { y = make(P) }, tier = "interpreter" } ({}, bounds or {}).y
end

local SIDE, STEPS = 1000, 1000
local function changing(change, cells)
  return function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local h = P:tensor { domain = { t }, shape = cells }
    h[0] = tempo.zeros(cells)
    h[t] = change(h[t - 1], t, P:input("v", { shape = { SIDE } }))
    local f = P:compile { outputs = { s = h[T - 1]:sum() } }
    local inputs = { v = once(function() return tempo.ones { SIDE } end) }
    return function(n) return f(inputs, { T = n + 1 }).s:item() end, STEPS, true
  end
end

ours["inplace-row"] = changing(function(h, t, v)
  local k = t % SIDE
  return tempo.cat({ h:slice(0, 0, k), (v * t:value()):reshape { 1, SIDE },
    h:slice(0, k + 1, SIDE) }, 0)
end, { SIDE, SIDE })
ours["inplace-where"] = changing(function(h, t, v)
  local k = t:value() * 7919 % (SIDE * SIDE)
  return tempo.where(tempo.arange { SIDE * SIDE }:eq(k), v:select(0, 0) * t:value(), h)
end, { SIDE * SIDE })
ours["inplace-scatter"] = changing(function(h, t, v)
  local k = ((t:value() + tempo.arange({ SIDE }, { dtype = "i64" })) * 7919) % (SIDE * SIDE)
  return h:scatter_add(0, k, v * t:value())
end, { SIDE * SIDE })

-- Advantages of 2,048 environments over 128 steps, the dims in the order of their names.
local function gae(order)
  return function()
    local P = tempo.program()
    local d = {}
    for name in order:gmatch "." do d[name] = P:dim(name) end
    local domain = order == "bt" and { d.b, d.t } or { d.t, d.b }
    local x = {}
    for _, name in ipairs { "reward", "value", "next_value" } do
      x[name] = P:input(name, { domain = domain })
    end
    x.terminated = P:input("terminated", { domain = domain, dtype = "bool" })
    x.time = d.t
    local advantage =
      rl.gae(x, { gamma = 0.99, lambda = 0.95, value = x.value, next_value = x.next_value })
    local f = P:compile { outputs = { a = advantage } }
    local B, T = 2048, 128
    local inputs = {}
    local function noise(make) return once(function(Q)
      local e = {}
      for name in order:gmatch "." do e[#e + 1] = Q:dim(name) end
      return make(tempo.uniform({}, { domain = e, name = "n" }))
    end, { B = B, T = T }) end
    for _, name in ipairs { "reward", "value", "next_value" } do
      inputs[name] = noise(function(u) return u end)
    end
    inputs.terminated = noise(function(u) return u:lt(0.02) end)
    local y
    local function run(n)
      for _ = 1, n do y = f(inputs, { B = B, T = T }).a end
      return y:get(0, 0)
    end
    return run, 20
  end
end
ours["gae-tb"], ours["gae-bt"] = gae "tb", gae "bt"

local function conv_net(P, along)
  local function conv(name, from, to)
    return nn.Conv2d(P, from, to, 3, { name = name, along = along, padding = 1 })
  end
  return nn.Sequential(P, { conv("c1", 1, 16), nn.ReLU(P), nn.MaxPool2d(P, 2),
    conv("c2", 16, 32), nn.ReLU(P), nn.MaxPool2d(P, 2), nn.Flatten(P),
    nn.Linear(P, 32 * 49, 10, { name = "out", along = along }) })
end

function ours.cnn()
  local P = tempo.program { seed = 1 }
  local i, I = P:dim "i"
  local net = conv_net(P, { i })
  local x, y = P:input("x", { shape = { 64, 1, 28, 28 } }),
    P:input("y", { shape = { 64 }, dtype = "i64" })
  local loss = net(x):cross_entropy(y)
  optim.SGD(net:parameters(), { lr = 0.01 }):step(loss)
  local f = P:compile { outputs = { loss = loss[I - 1] } }
  local inputs = { x = once(function() return tempo.uniform({ 64, 1, 28, 28 }, { name = "x" }) end),
    y = once(function() return tempo.arange({ 64 }, { dtype = "i64" }) % 10 end) }
  return function(n) return f(inputs, { I = n }).loss:item() end, 20
end

-- Forwards and backwards: each pool of 2 x 2 loses a fifth of its largest.
function ours.pool()
  local P = tempo.program()
  local i, I = P:dim "i"
  local v = P:tensor { domain = { i }, shape = { 64, 16, 28, 28 } }
  v[0] = P:input("x", { shape = { 64, 16, 28, 28 } })
  local w = v[i - 1]
  v[i] = w - 0.1 * tempo.grad(w:max_pool2d(2):square():sum(), { w }, { leaf = true })[1]
  local f = P:compile { outputs = { y = v[I - 1]:mean() } }
  local sight = once(function()
    local at = tempo.arange({ 64 * 16 * 28 * 28 }, { dtype = "i64" }) * 7919 % 10007
    return (at:to "f32" / 10007):reshape { 64, 16, 28, 28 }
  end)
  return function(n) return f({ x = sight }, { I = n + 1 }).y:item() end, 20
end

-- 4 epochs of 4 shuffled minibatches over what was seen: the parameters go along {e, m}.
function ours.ppo(envs)
  local n = envs * 128
  local P = tempo.program { seed = 1 }
  local r, R = P:dim "r"                                -- again and again
  local e = P:dim "e"
  local m = P:dim "m"
  local function mlp(name, out)
    return nn.MLP(P, { 4, 64, 64, out }, { name = name, along = { r, e, m }, activation = "tanh" })
  end
  local policy, critic = mlp("policy", 2), mlp("critic", 1)
  local obs = P:input("obs", { shape = { n, 4 } })
  local action = P:input("action", { shape = { n }, dtype = "i64" })
  local function column(name) return P:input(name, { shape = { n } }) end
  local old, advantage, target = column "old", column "advantage", column "target"
  local order = tempo.randperm({ n }, { domain = { r, e }, name = "order" })
  local at = order:narrow(0, m * (n // 4), n // 4)
  local function batch(x) return x:index_select(0, at) end
  local o, adv = batch(obs), batch(advantage)
  adv = (adv - adv:mean()) / (adv:std() + 1e-8)
  local log_prob = tempo.dist.Categorical { logits = policy(o) }:log_prob(batch(action))
  local ratio = (log_prob - batch(old)):exp()
  local gain = (ratio * adv):minimum(ratio:clamp(0.8, 1.2) * adv):mean()
  local loss = (critic(o):squeeze(-1) - batch(target)):square():mean() * 0.5 - gain
  local all = policy:parameters()
  for _, w in ipairs(critic:parameters()) do all[#all + 1] = w end
  optim.Adam(all, { lr = 3e-4, clip_norm = 0.5 }):step(loss)
  local f = P:compile { outputs = { loss = loss[{ r = R - 1, e = 3, m = 3 }] } }
  local function noise(shape, make) return once(function()
    local u = tempo.uniform(shape, { name = "n" })
    return make and make(u) or u
  end) end
  local inputs = { obs = noise { n, 4 }, old = noise({ n }, function(u) return -0.5 - u * 0.4 end),
    advantage = noise { n }, target = noise { n },
      action = noise({ n }, function(u) return u:gt(0.5):to "i64" end) }
  return function(times)
    return f(inputs, { R = times, E = 4, M = 4 }).loss:item()
  end, envs > 100 and 2 or 40
end

function ours.gather()
  local P = tempo.program()
  local x, k = P:input("x", { shape = { 65536, 4 } }),
    P:input("k", { shape = { 65536 }, dtype = "i64" })
  local f = P:compile { outputs = { y = x:index_select(0, k) } }
  local inputs = { x = once(function() return tempo.uniform({ 65536, 4 }, { name = "x" }) end),
    k = once(function() return tempo.arange({ 65536 }, { dtype = "i64" }) * 40503 % 65536 end) }
  local y
  return function(n)
    for _ = 1, n do y = f(inputs).y end
    return y:get(0, 0)
  end, 100
end

-- Takes the greatest of 32 frames that are picked from the last w, n times at each of the last
-- 8 points.
function ours.replay(w)
  local P = tempo.program { seed = 1 }
  local t = P:dim "t"
  local i, I = P:dim "i"
  local j, J = P:dim "j"
  local frame = P:tensor { domain = { t }, shape = { 84, 84 }, dtype = "u8" }
  frame[0] = tempo.zeros({ 84, 84 }, { dtype = "u8" })
  frame[t] = frame[t - 1] + 1
  local k = tempo.randint({ 32 }, 0, w, { domain = { i, j }, name = "k" })
  local y = frame[{ t = i .. i + w }]:index_select(0, k):max()
  local f = P:compile { outputs = { y = y[{ i = 0 .. I, j = 0 .. J }]:max() } }
  return function(n) return f({}, { I = 8, J = n, T = w + 7 }).y:item() end, 1000
end

function ours.window()
  local width, batch = 512, 4
  local P = tempo.program()
  local t, T = P:dim "t"
  local w = P:bound "w"
  local inputs = {}
  local function weights(name, shape)
    inputs[name] = once(function() return tempo.normal(shape, { name = name }) / width ^ 0.5 end)
    return P:input(name, { shape = shape })
  end
  local x = P:tensor { domain = { t }, shape = { batch, width } }
  local h = x
  for l = 0, 1 do
    local m = {}
    for j = 0, 3 do m[j] = weights(("w%d%d"):format(l, j), { width, width }) end
    local q, k, v = h:matmul(m[0]), h:matmul(m[1]), h:matmul(m[2])
    local past = tempo.range(tempo.max(0, t - w + 1), t + 1)
    local scores = tempo.einsum("bd,tbd->bt", q, k[past]) / math.sqrt(width)
    h = h + tempo.einsum("bt,tbd->bd", scores:softmax(-1), v[past]):matmul(m[3]):tanh()
  end
  x[0] = weights("x", { batch, width }) * width ^ 0.5
  x[t + 1] = h / h:square():mean(-1, { keepdim = true }):sqrt()
  local f = P:compile { outputs = { total = x[T - 1]:sum() } }
  return function(n) return f(inputs, { T = n, w = 256 }).total:item() end, 1024
end

-- Top 2 of 16 experts for each of 2,048 tokens; all: by the weights of all 16, most of them 0.
local function moe(all)
  return function()
    local experts, d, hidden = 16, 64, 128
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { d } })
    local router = P:input("router", { shape = { d, experts } })
    local up = P:input("up", { shape = { experts, d, hidden } })
    local down = P:input("down", { shape = { experts, hidden, d } })
    local value, index = x:matmul(router):topk(2, 0)
    local y
    local gate = value:softmax(0)
    if all then
      local h = tempo.einsum("d,edh->eh", x, up):relu()
      local weight = (index:one_hot(experts):to "f32" * gate:unsqueeze(-1)):sum(0)
      y = tempo.einsum("eh,ehd->ed", h, down):mul(weight:unsqueeze(-1)):sum(0)
    else
      local h = tempo.einsum("d,kdh->kh", x, up:index_select(0, index)):relu()
      y = tempo.einsum("kh,khd->kd", h, down:index_select(0, index)):mul(gate:unsqueeze(-1)):sum(0)
    end
    local f = P:compile { outputs = { y = y } }
    local function noise(...)
      local shape = { ... }
      return once(function() return tempo.uniform(shape, { name = "n" }) - 0.5 end)
    end
    local inputs = { x = noise(2048, d), router = noise(d, experts), up = noise(experts, d, hidden),
      down = noise(experts, hidden, d) }
    local out
    return function(n)
      for _ = 1, n do out = f(inputs, { T = 2048 }).y end
      return out:get(0, 0)
    end, 3
  end
end
ours["moe-sparse"], ours["moe-all"] = moe(false), moe(true)

-- One reduction: `where` is an axis of a matrix of 2048 x 2048, or a dim of two of that length.
function ours.reduce(what, where)
  local P = tempo.program()
  local n = 2048
  local x
  if tonumber(where) then
    x = P:input("x", { shape = { n, n } })
    x = x[what](x, tonumber(where))
  else
    local a, b = P:dim "a", P:dim "b"
    x = P:input("x", { domain = { a, b } })
    local d = where == "a" and a or b
    local all = x[{ [d] = 0 .. d:upper() }]
    x = all[what](all, 0)
  end
  local f = P:compile { outputs = { y = x } }
  local inputs = { x = once(function() return tempo.uniform({ n, n }, { name = "x" }) end) }
  local y
  return function(times)
    for _ = 1, times do y = f(inputs, tonumber(where) and {} or { A = n, B = n }).y end
    return y:get(0)
  end, 5
end

-- Seconds that ours runs before it is measured, as JAX's first call compiles: by then tier `auto`
-- has gone over to native code.
local WARM = 3

-- Nanoseconds of one, what begins and ends a call left out unless all of it counts, the best of
-- five; and the number.
if arg[1] == "--run" then
  local run, n, all = ours[arg[2]](tonumber(arg[3]) or arg[3], arg[4])
  local best, least, y = math.huge, math.huge, nil
  local begun = tempo.clock()
  repeat run(n) until tempo.clock() - begun > WARM
  for _ = 1, 5 do
    local a = tempo.clock()
    run(1)
    local b = tempo.clock()
    y = run(n)
    best, least = math.min(best, tempo.clock() - b), math.min(least, b - a)
  end
  print(("%.6g %.9g"):format((all and best / n or (best - least) / (n - 1)) * 1e9, y))
  os.exit()
end

-- ---- all of them --------------------------------------------------------------------------------
local sides = require "bench.common.sides"
local opt = require "tempo.cli"(arg, { rows = "", rounds = 3, iterations = 30 },
  "lua5.4 bench/layout.lua")
local python = sides.python "jax, numpy"
local failed = not python and "no python3 with JAX and NumPy is there: its rows are left out" or nil

local wanted = sides.rows(opt.rows)
local function mine(what)
  return ("%s%s bench/layout.lua --run %s"):format(sides.PIN, arg[-1], what)
end
local function peer(what)
  return ("%s%s bench/peers/layout_peer.py %s 2>/dev/null"):format(sides.PIN, python, what)
end

local function ratio(name, a, b, unit, value)
  print(("RATIO %s %.3g (%.4g vs %.4g %s)"):format(name, value or b / a, a, b, unit))
  io.stdout:flush()
end

-- `near`: how far the two numbers may be apart, as a part of them; nil: each draws its own.
local function against(name, what, near, scale, unit)
  if not wanted(name) or not python then return end
  local best, said = sides.turns(opt.rounds, { mine(what), peer(what) })
  local same = not near or math.abs(said[1] - said[2]) <= near * math.abs(said[2])
  assert(same, ("%s: %.9g here, %.9g there"):format(name, said[1], said[2]))
  ratio(name, best[1] * scale, best[2] * scale, unit)
end

local function two(name, what, than)
  if not wanted(name) then return end
  local best, said = sides.turns(opt.rounds, { mine(what), mine(than) })
  return best, said
end

against("inplace-row", "inplace-row", 1e-3, 1e-3, "us a step, of 1,000 with their begin and end")
against("inplace-where", "inplace-where", 1e-3, 1e-3,
  "us a step, of 1,000 with their begin and end")
against("inplace-scatter", "inplace-scatter", 1e-3, 1e-3,
  "us a step, of 1,000 with their begin and end")

-- Windows of the parameter's length in the plan's loop along i: Adam reads w, m, v, g and writes w,
-- m, v.
if wanted "adam-copies" then
  local n, moved = 1234567, 0
  local P = tempo.program()
  local i = P:dim "i"
  local w = P:param("w", { along = { i }, shape = { n }, init = tempo.zeros { n } })
  optim.Adam({ w }, { lr = 1e-3 }):step((w * P:input("g", { shape = { n } })):sum())
  local plan = P:compile { outputs = { first = w:slice(0, 0, 1) } }:explain "plan"
  local loop = plan:match "\n  for [^\n]* of i {\n(.-)\n  }\n"
  for line in assert(loop, "no loop along i"):gmatch "[^\n]+" do
    local long = line:find(" for " .. n, 1, true) or line:find(" for tile", 1, true)
      or line:find("box " .. n, 1, true)
    for _ in (long and line or ""):gmatch "b%d+{[^}]-[1-9]%d*}" do moved = moved + 1 end
  end
  assert(moved >= 7, "the plan reads otherwise than this bench takes it")
  ratio("adam-copies", moved, 7, "windows of the parameter's length a step")
end

local best = two("layout-bt", "gae-bt", "gae-tb")
if best then ratio("layout-bt", best[1] / 1e6, best[2] / 1e6, "ms over (b, t) vs over (t, b)") end

if wanted "reduce-worst" then
  local commands, names = {}, {}
  for _, what in ipairs { "sum", "max", "mean" } do
    for _, where in ipairs { "0", "1", "a", "b" } do
      commands[#commands + 1], names[#names + 1] = mine(("reduce %s %s"):format(what, where)),
        what .. " " .. where
    end
  end
  local times, least, most = sides.turns(opt.rounds, commands), 1, 1
  for k, ns in ipairs(times) do
    print(("%-16s %.2f ms"):format("reduce " .. names[k], ns / 1e6))
    if ns < times[least] then least = k end
    if ns > times[most] then most = k end
  end
  local said = ("ms, %s vs %s, of which 3 times is even"):format(names[most], names[least])
  ratio("reduce-worst", times[most] / 1e6, times[least] / 1e6, said, 3 * times[least] / times[most])
end

-- Against the better of JAX and PyTorch; a row without one of them is no pass.
local torch = sides.python "torch, numpy"
local function against_best(name, what, near)
  if not wanted(name) or not python then return end
  if not torch then
    failed = failed or "no python3 with PyTorch is there: it was no peer of " .. name
    print(("%-16s PyTorch is missing"):format(name))
  end
  local commands = { mine(what), peer(what) }
  if torch then
    commands[3] = ("%s%s bench/peers/layout_peer.py %s-torch 2>/dev/null")
      :format(sides.PIN, torch, what)
  end
  local times, said = sides.turns(opt.rounds, commands)
  for k = 2, near and #commands or 0 do
    local same = math.abs(said[1] - said[k]) <= near * math.abs(said[k])
    assert(same, ("%s: %.9g here, %.9g there"):format(name, said[1], said[k]))
  end
  local ms, other, third = times[1] / 1e6, times[2] / 1e6, torch and times[3] / 1e6
  print(("%-16s %.2f ms, JAX %.2f, PyTorch %s"):format(name, ms, other,
    third and ("%.2f"):format(third) or "?"))
  ratio(name, ms, math.min(other, third or math.huge), "ms a step")
end
against_best("pool-vs-best", "pool", 1e-3)
against_best("cnn-vs-best", "cnn")

if wanted "ppo-vs-jax" and python then
  local worst, said
  for _, envs in ipairs { 4, 2048 } do
    local t = sides.turns(opt.rounds, { mine("ppo " .. envs), peer("ppo " .. envs) })
    print(("%-16s %d environments: %.3g (%.2f vs %.2f ms)"):format("ppo", envs, t[2] / t[1],
      t[1] / 1e6, t[2] / 1e6))
    if not worst or t[2] / t[1] < worst then worst, said = t[2] / t[1], t end
  end
  ratio("ppo-vs-jax", said[1] / 1e6, said[2] / 1e6, "ms, the worse of both")
end

if wanted "reinforce-plan-vs-jax" and python then
  local tier, a, b = os.getenv "TEMPO_TIER" or "native", math.huge, math.huge
  for _ = 1, opt.rounds do
    local theirs = sides.output(("%s%s bench/peers/native_peer.py reinforce %d 32 2>/dev/null")
      :format(sides.PIN, python, opt.iterations))
    a = math.min(a, sides.cartpole(tier, opt.iterations, 32))
    b = math.min(b, tonumber((theirs:match "%S+")))
  end
  ratio("reinforce-plan-vs-jax", a, b, "ns a step of an environment")
end

against("gather-vs-numpy", "gather", nil, 1e-6, "ms")
best = two("replay-flat", "replay 100000", "replay 100")
if best then
  ratio("replay-flat", best[1] / 1e3, best[2] / 1e3, "us: a step of a window of 100,000 vs of 100")
end
against("window-vs-jax", "window", nil, 1e-3, "us a token")

if wanted "dense-memory" then
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = tempo.normal({ 64, 64 }, { domain = { t } }):sum()
  local f = P:compile { outputs = { s = x[0 .. T]:sum() } }
  ratio("dense-memory", f:memory { T = 100000 } / 1e6, 4, "MB")
end

best = two("moe-sparse", "moe-sparse", "moe-all")
if best then ratio("moe-sparse", best[1] / 1e6, best[2] / 1e6, "ms: two experts vs all") end
if failed then error(failed) end

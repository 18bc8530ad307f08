-- Peak memory against JAX and PyTorch: what the process grows by over what it has before the run,
-- each in a process of its own; the better peer counts. Ours stores what is needed later and no
-- more; none of these programs says what.
--   lua5.4 bench/memory.lua        (needs a python3 with JAX or PyTorch, and NumPy; fails where
--   neither is there)
-- rl            REINFORCE with n-step returns on observations of 3 x 64 x 64, or of other sizes with
-- 256 environments, where a side may hold 2 GiB
-- montecarlo    the same with returns to the end of the episode: every observation is needed until
-- then
-- bptt          an LSTM trained through time
-- causal        decoding with attention over all earlier tokens; no cache in our script
-- windowed      and over the last ones only
local tempo = require "tempo"
local HIDDEN, ACTIONS, IN, CELL, GAMMA, LR = 64, 4, 64, 128, 0.99, 0.01
local MOST = 2 * 2 ^ 30

-- ---- our programs: a function, its inputs, the bounds of the run and a number of its outputs ----
local ours = {}

local function normal(shape, name)
  return tempo.program():compile { outputs = { v = tempo.normal(shape, { name = name }) } }({},
    {}).v
end

local function reinforce(n, envs, steps, side)
  side = side or 64
  local OBS = 3 * side * side
  local P = tempo.program { seed = 1 }
  local i = P:dim "i"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local policy = tempo.nn.MLP(P, { OBS, HIDDEN, ACTIONS },
    { name = "policy", activation = "tanh", along = { i } })
  local scene, moves = P:input("scene", { shape = { 8, OBS } }),
    P:input("moves", { shape = { ACTIONS, 8 } })
  local inputs = { scene = normal({ 8, OBS }, "scene"), moves = normal({ ACTIONS, 8 }, "moves") }
  local s = P:tensor { domain = { i, b, t }, shape = { 8 } }
  local obs = s:matmul(scene):tanh():reshape { 3, side, side }
  local pi = tempo.dist.Categorical { logits = policy(obs:flatten()) }
  local action = pi:sample { name = "action", domain = { i, b, t } }
  s[{ t = 0 }] = tempo.normal({ 8 }, { domain = { i, b }, name = "start" })
  s[t + 1] = s * 0.9 + moves:index_select(0, action:reshape { 1 }):reshape { 8 }
  local reward = -s:square():mean()
  local bounds = { I = 2, B = envs, T = steps }
  local G
  if n then
    bounds.n = n
    G = reward[{ t = t .. tempo.min(t + P:bound "n", T) }]:discounted_cumsum(GAMMA):select(0, 0)
  else
    G = P:tensor { domain = { i, b, t } }
    G[{ t = T - 1 }] = reward
    G:otherwise(reward + GAMMA * G[t + 1])
  end
  local loss = -(pi:log_prob(action) * G:detach()) / (B * T):value():to "f32"
  tempo.optim.SGD(policy:parameters(), { lr = LR }):step(loss)
  local score = reward[{ b = 0 .. B, t = 0 .. T }]:mean()
  return P:compile { outputs = { score = score } }, inputs, bounds,
    function(out) return out.score:get(1) end
end

function ours.rl(_, envs, steps, n, side) return reinforce(n, envs, steps, side) end
function ours.montecarlo(_, envs, steps) return reinforce(nil, envs, steps) end

function ours.bptt(load, batch, steps)
  local P = tempo.program()
  local i = P:dim "i"
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { batch, IN } })
  local y = P:input("y", { domain = { t }, shape = { batch, 1 } })
  local w = {}
  for k, shape in ipairs { { IN, 4 * CELL }, { CELL, 4 * CELL }, { 4 * CELL }, { CELL, 1 },
    { 1 } } do
    w[k] = P:param("w" .. k, { along = { i }, shape = shape, init = load("w" .. k - 1) })
  end
  local h = P:tensor { domain = { i, t }, shape = { batch, CELL } }
  local c = P:tensor { domain = { i, t }, shape = { batch, CELL } }
  local function cell(h0, c0)
    local g = (x:matmul(w[1]) + h0:matmul(w[2]) + w[3]):chunk(4, 1)
    local c1 = g[2]:sigmoid() * c0 + g[1]:sigmoid() * g[3]:tanh()
    return g[4]:sigmoid() * c1:tanh(), c1
  end
  h[{ t = 0 }], c[{ t = 0 }] = cell(tempo.zeros { batch, CELL }, tempo.zeros { batch, CELL })
  local h1, c1 = cell(h[{ t = t - 1 }], c[{ t = t - 1 }])
  h:otherwise(h1)
  c:otherwise(c1)
  local loss = (h:matmul(w[4]) + w[5] - y):square():mean() / T:value():to "f32"
  tempo.optim.SGD(w, { lr = LR }):step(loss)
  local total = loss[{ t = 0 .. T }]:sum()
  local f = P:compile { outputs = { loss = total } }
  return f, { x = load "x", y = load "y" }, { I = 2, T = steps },
    function(out) return out.loss:get(0) end
end

local function decode(load, batch, steps, layers, width, window)
  local P = tempo.program()
  local t, T = P:dim "t"
  local start = P:input("x", { shape = { batch, width } })
  local inputs, bounds, from = { x = load "x" }, { T = steps }, 0
  if window then
    bounds.w = window
    from = tempo.max(0, t - P:bound "w" + 1)
  end
  local x = P:tensor { domain = { t }, shape = { batch, width } }
  local h = x
  for l = 0, layers - 1 do
    local w = {}
    for j = 0, 3 do
      local name = ("w%d%d"):format(l, j)
      w[j], inputs[name] = P:input(name, { shape = { width, width } }), load(name)
    end
    local q, k, v = h:matmul(w[0]), h:matmul(w[1]), h:matmul(w[2])
    local past = tempo.range(from, t + 1)
    local scores = tempo.einsum("bd,tbd->bt", q, k[past]) / math.sqrt(width)
    h = h + tempo.einsum("bt,tbd->bd", scores:softmax(-1), v[past]):matmul(w[3]):tanh()
  end
  h = h / h:square():mean(-1, { keepdim = true }):sqrt()
  x[0] = start
  x[t + 1] = h
  local f = P:compile { outputs = { total = h[T - 1]:sum() } }
  return f, inputs, bounds, function(out) return out.total:item() end
end
ours.causal, ours.windowed = decode, decode

-- ---- one run ------------------------------------------------------------------------------------
local function status(key)
  for line in io.lines "/proc/self/status" do
    local kb = line:match("^" .. key .. ":%s*(%d+)")
    if kb then return tonumber(kb) * 1024 end
  end
end

-- Makes the memory that any process keeps once it has multiplied matrices.
local function warm_up()
  local P = tempo.program()
  local x = P:input("x", { shape = { 256, 256 } })
  P:compile { outputs = { y = x:matmul(x) } }({ x = normal({ 256, 256 }, "x") }, {})
end

-- Prints the growth, what f:memory said, and the number.
local function run(name, folder, ...)
  local f, inputs, bounds, number = ours[name](function(x)
    return tempo.load(folder .. "/" .. x .. ".npy")
  end, ...)
  warm_up()
  collectgarbage()
  assert(io.open("/proc/self/clear_refs", "w")):write("5"):close()
  local before = status "VmRSS"
  local out = f(inputs, bounds)
  print(("%d %d %.9g"):format(status "VmHWM" - before, f:memory(bounds), number(out)))
end

if arg[1] == "--run" then
  local sizes = {}
  for k = 4, #arg do sizes[#sizes + 1] = tonumber(arg[k]) end
  run(arg[2], arg[3], table.unpack(sizes))
  os.exit()
end

local opt = require "tempo.cli"(arg, { rows = "" }, "lua5.4 bench/memory.lua")
local wanted = require "bench.common.sides".rows(opt.rows)

-- ---- all of them --------------------------------------------------------------------------------
local rows = {
  { "rl", "memory-rl-vs-best", "16 256 16" },
  { "rl", "memory-rl-64", "256 64 2 64" },
  { "rl", "memory-rl-128", "256 64 2 128" },
  { "rl", "memory-rl-256", "256 16 2 256" },
  { "montecarlo", "memory-rl-montecarlo-vs-best", "16 256" },
  { "bptt", "memory-bptt-vs-best", "32 512", same = true },
  { "causal", "memory-decode-vs-best", "4 1024 2 512", same = true },
  { "windowed", "memory-decode-windowed-vs-best", "4 1024 2 512 256", same = true },
}
local ENV = "env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE OPENBLAS_NUM_THREADS=1 "

local function lines(command)
  local pipe = assert(io.popen(ENV .. command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local peers, python = {}, nil
for _, module in ipairs { "jax", "torch" } do
  local exe = require "bench.common.sides".python(module .. ", numpy")
  python = python or exe
  if exe then peers[#peers + 1] = { name = module,
    command = exe .. " bench/peers/memory_peer.py " .. module }
  else print(module .. " is not there: its side is left out") end
end
if #peers == 0 then error "neither JAX nor PyTorch is there: nothing to compare with" end

local MB, ran = 2 ^ 20, 0
for k = #rows, 1, -1 do
  if not wanted(rows[k][2]) then table.remove(rows, k) end
end
for _, row in ipairs(rows) do
  local name, ratio, sizes = row[1], row[2], row[3]
  local folder = os.tmpname()
  os.remove(folder)
  os.execute("mkdir -p " .. folder)
  if row.same then
    lines(("%s bench/peers/memory_peer.py arrays %s %s %s"):format(python, name, folder, sizes))
  end
  local grew, said,
    number = lines(("%s bench/memory.lua --run %s %s %s"):format(arg[-1], name, folder, sizes))
    :match "(%d+) (%d+) (%S+)"
  assert(grew, "ours did not run: " .. name)
  print(("%-10s %-16s ours %7.1f MB (f:memory %.1f)"):format(name, sizes, grew / MB, said / MB))
  local best, who
  local limited = name == "rl" and select(2, sizes:gsub("%d+", "")) > 3
  assert(not limited or tonumber(grew) < MOST, "ours took more than 2 GiB")
  for _, peer in ipairs(peers) do
    local bytes, theirs = lines(("%s %s %s"):format(peer.command, name, sizes)):match "(%d+) (%S+)"
    if bytes then
      print(("%-27s %5s %7.1f MB"):format("", peer.name, bytes / MB))
      if not best or tonumber(bytes) < best then best, who = tonumber(bytes), peer.name end
      local a, b = tonumber(number), tonumber(theirs)
      local near = not row.same or math.abs(a - b) <= 1e-3 * math.max(1, math.abs(b))
      assert(near, ("%s computes %g, %s %g"):format(name, a, peer.name, b))
    else
      print(("%-27s %5s did not run%s"):format("", peer.name, limited and " in 2 GiB" or ""))
    end
  end
  os.execute("rm -r " .. folder)
  if best then
    ran = ran + 1
    print(("RATIO %s %.2f (%.1f vs %.1f %s MB)"):format(ratio, best / grew, grew / MB, best / MB,
      who))
  end
end
if ran == 0 then error "no peer ran" end

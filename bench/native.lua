-- Times native code, each side in a process of its own, pinned to the same one core, in turn:
--   scalar-vs-c, policy-vs-c, dp-vs-c        a recurrence of one number, a 16-wide MLP, edit
--   distance, by hand in C
--   small-matmul-vs-c, gemm-worst            batches of small products in C, the worst of 2 to 16;
--   OpenBLAS's products
--   lstm-vs-best, gru-vs-jax, hmm-vs-jax     forward and backward; the LSTM also in PyTorch, eager
--   and compiled
--   scan-carries, scan-update, scan-small    carries of 40 scalars with the gradient, of 4 MB, of 3
--   x 3 f64, in JAX
--   ode-vs-jax, dp-vs-jax, reinforce-vs-jax  Lorenz in scalars, edit distance by diagonals,
--   CartPole in one jit
--   ppo-vs-jax                               CartPole as PureJaxRL has it, 4 and 2,048 environments
--   reinforce-memory-vs-jax                  the largest memory of the whole process, 32 and 256
--   environments
--   time-to-native-cold, -cached, -auto      REINFORCE from the process's begin to its first
--   iteration's end
--   chain-, norm-, softmax-bandwidth         16 Mi floats, as a part of the bandwidth that C has in
--   the same run
--   threads                                  two threads over one: the least of LSTM and CartPole,
--   not pinned
-- and each of ours by the interpreter in the same turns.
--   lua5.4 bench/native.lua [--rows scalar,ode] [--rounds 3] [--iterations 30]
-- Needs cc, and a python3 with JAX and PyTorch, which bench/setup makes; rows whose peer is not
-- there are left out, which fails.
local tempo = require "tempo"
local tier = os.getenv "TEMPO_TIER" or "native"

-- ---- our programs: each gives a function that does the work once and gives a number of its result
local ours = {}

function ours.scalar(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:tensor { domain = { t } }
  x[0] = 0.5
  x[t] = 3.7 * x[t - 1] * (1 - x[t - 1])
  local f = P:compile { outputs = { x = x[T - 1] }, tier = tier }
  return function() return f({}, { T = n }).x:item() end, n
end

function ours.ode(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local x, y, z = P:tensor { domain = { t } }, P:tensor { domain = { t } },
    P:tensor { domain = { t } }
  x[0], y[0], z[0] = 1, 1, 1
  x[t] = x[t - 1] + 0.05 * (y[t - 1] - x[t - 1])
  y[t] = y[t - 1] + 0.005 * (x[t - 1] * (28 - z[t - 1]) - y[t - 1])
  z[t] = z[t - 1] + 0.005 * (x[t - 1] * y[t - 1] - z[t - 1] * 2.6667)
  local f = P:compile { outputs = { x = x[T - 1], y = y[T - 1], z = z[T - 1] }, tier = tier }
  return function() return f({}, { T = n }).x:item() end, n
end

function ours.dp(n)
  local P = tempo.program()
  local p, M = P:dim("p", "M")
  local q, N = P:dim("q", "N")
  local a, b = P:input("a", { domain = { p }, dtype = "i32" }),
    P:input("b", { domain = { q }, dtype = "i32" })
  local d = P:tensor { domain = { p, q }, dtype = "i32" }
  d[{ p = 0 }] = q:value():to "i32"
  d[{ q = 0 }] = p:value():to "i32"
  d:otherwise((d[{ p - 1, q }] + 1):minimum(d[{ p, q - 1 }] + 1):minimum(
    d[{ p - 1, q - 1 }] + a:ne(b)))
  local f = P:compile { outputs = { d = d[{ M - 1, N - 1 }] }, tier = tier }
  local A, B = {}, {}
  for k = 0, n - 1 do A[k + 1], B[k + 1] = k * k % 7, k * k % 11 % 5 end
  A, B = tempo.array(A, "i32"), tempo.array(B, "i32")
  return function() return f({ a = A, b = B }, { M = n, N = n }).d:item() end, n * n
end

function ours.policy(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local sizes, inputs, w = { { 4, 16 }, { 16 }, { 16, 16 }, { 16 }, { 16, 4 }, { 4 } }, {}, {}
  for k, s in ipairs(sizes) do
    local v, i = {}, 0
    local function number()
      i = i + 1
      return math.sin(i * 7.3 + k - 1) * 0.3
    end
    for r = 1, s[1] do
      v[r] = s[2] and {} or number()
      for c = 1, s[2] or 0 do v[r][c] = number() end
    end
    w[k], inputs["w" .. k] = P:input("w" .. k, { shape = s }), tempo.array(v)
  end
  local x = P:tensor { domain = { t }, shape = { 4 } }
  local h = ((x:matmul(w[1]) + w[2]):tanh():matmul(w[3]) + w[4]):tanh():matmul(w[5]) + w[6]
  x[0] = tempo.ones { 4 }
  x[t] = x[t - 1] * 0.9 + h[t - 1]
  local f = P:compile { outputs = { x = x[T - 1] }, tier = tier }
  return function() return f(inputs, { T = n }).x:get(0) end, n
end

-- The same done to its own result again and again: memory is warm, and what begins and ends a call
-- weighs little.
local STREAMED = 20
local function streaming(shape, make)
  return function()
    local P, Q = tempo.program(), tempo.program { seed = 1 }
    local t, T = P:dim "t"
    local y, z = P:input("y", { shape = shape }), P:tensor { domain = { t }, shape = shape }
    z[0] = y
    z[t] = make(z[t - 1], y)
    local f = P:compile { outputs = { s = z[T - 1]:abs():max() }, tier = tier }
    local inputs = Q:compile { outputs = { y = tempo.uniform(shape) }, tier = "interpreter" } {}
    local function run(n) return f(inputs, { T = n }).s:item() end
    return function() return run(STREAMED + 1) end, STREAMED
  end
end

ours.chain = streaming({ 1 << 24 }, function(x, y)
  local a = x * y + 0.5
  local b = a * a - x
  local c = (b - a) * 0.25 + y
  local d = c:maximum(a) * b
  local e = (d:abs() + 1):sqrt()
  local g = (d / e - c) * a
  return ((g + e) * (g - e) + b * c):clamp(-1, 1)
end)
ours.norm = streaming({ 1 << 14, 1 << 10 }, function(x) return x:layer_norm { 1024 } end)
ours.softmax = streaming({ 1 << 14, 1 << 10 }, function(x) return x:softmax(-1) end)

for name, make in pairs(require "bench.common.scans") do ours[name] = make end

-- As many updates as take JAX some seconds.
function ours.ppo(envs) return require "bench.common.ppo"(envs, envs > 100 and 6 or 100, tier) end

-- MB of 2^20 bytes that this process had at most, with the REINFORCE example in it.
if arg[1] == "--peak" then
  rawset(_G, "arg", { "--quiet", table.unpack(arg, 2) })
  dofile "examples/reinforce_cartpole.lua"
  print(("%.6g 0"):format(io.open "/proc/self/status":read "*a":match "VmHWM:%s*(%d+)" / 1024))
  os.exit()
end

-- Nanoseconds of one by the wall, the best of five, and the number.
if arg[1] == "--run" then
  local run, n = ours[arg[2]](tonumber(arg[3]))
  local best, y = math.huge, run()
  for _ = 1, 5 do
    local from = tempo.clock()
    y = run()
    best = math.min(best, tempo.clock() - from)
  end
  print(("%.6g %.9g"):format(best * 1e9 / n, y))
  os.exit()
end

-- ---- all of them --------------------------------------------------------------------------------
local opt = require "tempo.cli"(arg, { rows = "", rounds = 3, iterations = 30 },
  "lua5.4 bench/native.lua")

local sides = require "bench.common.sides"
local output, PIN, python, torch = sides.output, sides.PIN, sides.python "jax", sides.python "torch"
local folder = os.tmpname()
os.remove(folder)
assert(os.execute("mkdir -p " .. folder))
local peer = folder .. "/peer"
local CC = "cc -O3 -march=native -ffp-contract=off -fno-math-errno -o %s bench/peers/native_peer.c -lm"
assert(os.execute(CC:format(peer)), "cc did not compile the peer")

local function turns(commands, most) return sides.turns(opt.rounds, commands, most) end

local wanted = sides.rows(opt.rows)
local function mine(name, n, how)
  return ("%senv TEMPO_TIER=%s %s bench/native.lua --run %s %d"):format(PIN, how, arg[-1], name, n)
end
local function in_jax(name, n)
  return ("%s%s bench/peers/native_peer.py %s %s 2>/dev/null"):format(PIN, python, name, n)
end
local function in_c(name, n) return ("%s%s %s %d"):format(PIN, peer, name, n) end

local function close_to(a, b, what)
  assert(math.abs(a - b) <= 1e-4 * math.abs(b), ("%s: %g here, %g there"):format(what, a, b))
end

-- close: what both compute is the same; else it is chaotic. as: what the ratio is called. others:
-- more peers, of which the best counts.
local function against(name, n, command, of, close, as, others)
  local ways = { mine(name, n, "native"), mine(name, n, "interpreter"), command,
    table.unpack(others or {}) }
  local best, said = turns(ways)
  local least = math.min(table.unpack(best, 3))
  for k = 3, close and #said or 2 do close_to(said[1], said[k], name) end
  print(("RATIO %s %.2f (%.2f vs %.2f ns)"):format(as or name .. "-vs-" .. of, least / best[1],
    best[1], least))
  print(("%-12s by the interpreter %.2f ns"):format(name, best[2]))
  for k = 3, others and #best or 2 do
    print(("%-12s peer %d %.2f ns"):format(name, k - 2, best[k]))
  end
end

local function small_products()
  local worst
  for _, n in ipairs { 2, 4, 8, 16 } do
    local best, said = turns { mine("matmul", n, "native"), in_c("matmul", n) }
    close_to(said[1], said[2], "matmul")
    local ratio = best[2] / best[1]
    print(("%-12s %2d x %-2d %.2f (%.1f vs %.1f ns)"):format("matmul", n, n, ratio, best[1],
      best[2]))
    if not worst or ratio < worst[1] then worst = { ratio, n, best[1], best[2] } end
  end
  print(("RATIO small-matmul-vs-c %.2f (%.1f vs %.1f ns, of %d)"):format(worst[1], worst[3],
    worst[4], worst[2]))
end

-- bench/products.c: m, n, k, GFLOP/s of ours and of OpenBLAS, ours over theirs.
local function products()
  local build =
    "cc -O2 -D_GNU_SOURCE -Isrc -Iinclude bench/products.c build/libtempo.a %s -o %s/products"
  assert(os.execute(build:format("-lisl -lgmp -lz -lm -ldl -lpthread", folder)),
    "cc did not compile bench/products.c")
  local worst
  for _ = 1, opt.rounds do
    local least
    local row = "\n *(%d+) +(%d+) +(%d+) (%a%a) +([%d.]+) +([%d.]+) +([%d.]+)"
    for m, n, k, lies, a, b, ratio in output(PIN .. folder .. "/products"):gmatch(row) do
      if not least or tonumber(ratio) < least[1] then
        least = { tonumber(ratio), a, b, ("%s x %s x %s %s"):format(m, k, n, lies) }
      end
    end
    if not worst or least[1] > worst[1] then worst = least end
  end
  print(("RATIO gemm-worst %.2f (%s vs %s GFLOP/s, %s)"):format(table.unpack(worst)))
end

if wanted "scalar" then against("scalar", 10000000, in_c("scalar", 10000000), "c") end
if wanted "policy" then against("policy", 100000, in_c("policy", 100000), "c") end
if wanted "dp" then against("dp", 2000, in_c("dp", 2000), "c", true) end
if wanted "ode" and python then against("ode", 1000000, in_jax("ode", 1000000), "jax") end
if wanted "dp" and python then against("dp", 2000, in_jax("dp", 2000), "jax", true) end

if wanted "matmul" then small_products() end
if wanted "gemm" then products() end
if wanted "lstm" and python then
  local in_torch = {}
  for k, how in ipairs(torch and { "eager", "compiled" } or {}) do
    in_torch[k] = ("%s%s bench/peers/native_torch.py %s 512 2>/dev/null"):format(PIN, torch, how)
  end
  against("lstm", 512, in_jax("lstm", 512), "jax", true, "lstm-vs-best", in_torch)
end
for _, row in ipairs {
  { "gru", 512, "gru-vs-jax" }, { "hmm", 1000, "hmm-vs-jax" },
  { "carries", 2000, "scan-carries" }, { "update", 20000, "scan-update" },
    { "small", 100000, "scan-small" },
} do
  if wanted(row[1]) and python then
    against(row[1], row[2], in_jax(row[1], row[2]), "jax", true, row[3])
  end
end

for _, row in ipairs { { "chain", 3 }, { "norm", 2 }, { "softmax", 2 } } do
  if wanted(row[1]) then
    local bytes = row[2] * 4 * (1 << 24)
    local best = turns { mine(row[1], 0, "native") }
    local most = turns({ in_c("stream", 1 << 24) }, true)
    local rate = bytes / best[1]
    print(("RATIO %s-bandwidth %.2f (%.1f vs %.1f GB/s)"):format(row[1], rate / most[1], rate,
      most[1]))
  end
end

local function cartpole(how, envs) return sides.cartpole(how, opt.iterations, envs) end

if wanted "reinforce" and python then
  for _, envs in ipairs { 32, 256 } do
    local a, b, c = math.huge, math.huge, math.huge
    for _ = 1, opt.rounds do
      a, c = math.min(a, cartpole("native", envs)), math.min(c, cartpole("interpreter", envs))
      b = math.min(b,
        tonumber((output(in_jax("reinforce", opt.iterations .. " " .. envs)):match "%S+")))
    end
    print(("RATIO reinforce-%d-vs-jax %.2f (%.0f vs %.0f ns a step of an environment)"):format(envs,
      b / a, a, b))
    print(("%-12s by the interpreter %.0f ns"):format("reinforce", c))
  end
end

-- The lesser of both numbers of environments; scores of few updates are noise.
if wanted "ppo" and python then
  local least
  for _, row in ipairs { { 4, 100 }, { 2048, 6 } } do
    local envs, updates = row[1], row[2]
    local best, said = turns { mine("ppo", envs, "native"), in_jax("ppo", envs .. " " .. updates) }
    print(("RATIO ppo-%d-vs-jax %.2f (%.0f vs %.0f ns a step of an environment; episodes of %.0f and %.0f steps)")
      :format(envs, best[2] / best[1], best[1], best[2], said[1], said[2]))
    least = math.min(least or math.huge, best[2] / best[1])
  end
  print(("RATIO ppo-vs-jax %.2f (the least of both)"):format(least))
end

if wanted "memory" and python then
  for _, envs in ipairs { 32, 256 } do
    local us = "%senv TEMPO_TIER=native %s bench/native.lua --peak --iterations 10 --envs %d --out %s"
    local best = turns({ us:format(PIN, arg[-1], envs, folder),
      in_jax("peak-reinforce", "10 " .. envs) }, true)
    local name = envs == 256 and "reinforce-memory-vs-jax" or "reinforce-32-memory-vs-jax"
    print(("RATIO %s %.2f (%.0f vs %.0f MB)"):format(name, best[2] / best[1], best[1], best[2]))
  end
end

-- Seconds by the wall from the begin of the example's process to its end, one iteration, with that
-- cache of code.
local function to_end(how, cache)
  local command =
    "%senv TEMPO_TIER=%s XDG_CACHE_HOME=%s %s examples/reinforce_cartpole.lua --iterations 1 --out %s"
  local from = tempo.clock()
  output(command:format(PIN, how, cache, arg[-1], folder))
  return tempo.clock() - from
end

if wanted "start" then
  local cold, cached, auto, plain = math.huge, math.huge, math.huge, math.huge
  for k = 1, opt.rounds do
    local cache = folder .. "/cache" .. k
    auto = math.min(auto, to_end("auto", cache))
    cold = math.min(cold, to_end("native", cache))
    cached = math.min(cached, to_end("native", cache))
    plain = math.min(plain, to_end("interpreter", cache))
  end
  print(("RATIO time-to-native-cold %.2f (%.2f vs %.2f s, at most)"):format(4 / cold, cold, 4))
  print(("RATIO time-to-native-cached %.2f (%.3f vs %.3f s, the interpreter's and 0.2)")
    :format((plain + 0.2) / cached, cached, plain + 0.2))
  print(("RATIO time-to-native-auto %.2f (%.2f vs %.2f s, at most)"):format(0.6 / auto, auto, 0.6))
end

-- One thread and two, each where it likes: the best of many turns, as what else runs here disturbs
-- two more than one.
if wanted "threads" then
  local least
  local function ratio(name, one, two, unit)
    print(("RATIO threads-%s %.2f (%.1f vs %.1f %s)"):format(name, one / two, two, one, unit))
    least = math.min(least or math.huge, one / two)
  end
  local command = ("%%senv TEMPO_TIER=native %s bench/native.lua --run lstm 512"):format(arg[-1])
  local best = turns { command:format(sides.threads(1)), command:format(sides.threads(2)) }
  ratio("lstm", best[1] / 1000, best[2] / 1000, "us a step")
  local a, b = math.huge, math.huge
  for _ = 1, opt.rounds do
    a = math.min(a, sides.cartpole("native", opt.iterations, 256, sides.threads(1)))
    b = math.min(b, sides.cartpole("native", opt.iterations, 256, sides.threads(2)))
  end
  ratio("reinforce", a, b, "ns a step of an environment")
  print(("RATIO threads %.2f (the least of both)"):format(least))
end
os.execute("rm -r " .. folder)
if not python then
  error "no python3 with JAX is there: its rows are left out; bench/setup makes one"
end
if wanted "lstm" and not torch then
  error "no python3 with PyTorch is there: it was no peer of the LSTM"
end

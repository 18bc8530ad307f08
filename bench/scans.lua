-- Recurrences that others say as scans, and attention as its formula: each side in a process of its own, pinned to the
-- same one core, in turn.
--   scan-memcpy         h[t] = a[t] h[t-1] + b[t] of 64 channels, 1,000,000 steps, against NumPy's copy of as much data
--   scan-vs-jax         the same against the better of lax.associative_scan and lax.scan
--   scan-grad-vs-jax    its gradient by a and b
--   ssm-vs-jax          a selective state-space model (1,024 channels of 16 states, 4,096 steps) and its gradient
--   ssm-memory          what both processes grow by meanwhile
--   attention-vs-best   causal attention (8 heads of 64, 4,096 tokens) and its gradient against the better of PyTorch's
--                       scaled_dot_product_attention and JAX's dot_product_attention
--   attention-memory    what these processes grow by meanwhile
--   lua5.4 bench/scans.lua [--rows ssm-vs-jax,ssm-memory] [--rounds 3]
-- Needs a python3 with JAX, NumPy and, for attention, PyTorch on the PATH. Times are of the wall, the best of all; the
-- first run is not timed.
local tempo = require "tempo"
local TIER = "native"                                        -- as the peers, compiled before they are timed

-- ---- our programs: a compiled function and its inputs ---------------------------------------------------------------
local ours = {}

-- The same numbers on both sides: k * step % 1009, scaled, of places k in the order of memory.
local function numbers(shape, step, lo, hi)
  local n = 1
  for _, m in ipairs(shape) do n = n * m end
  local k = tempo.arange(n, { dtype = "i64" })
  local y = ((k * step % 1009):to "f64" * ((hi - lo) / 1009) + lo):to "f32":reshape(shape)
  return tempo.program():compile { outputs = { y = y }, tier = "interpreter" }({}, {}).y
end

local function gradients(loss, of)
  local outputs = {}
  for name, x in pairs(of) do outputs[name] = tempo.grad(loss, x) end
  return outputs
end

local function scan(T, graded)
  local C, P = 64, tempo.program()
  local t, bound = P:dim "t"
  local a, b = P:input("a", { domain = { t }, shape = { C } }), P:input("b", { domain = { t }, shape = { C } })
  local h = P:tensor { domain = { t }, shape = { C } }
  h[0] = b[0]
  h[t] = a * h[t - 1] + b
  local outputs = graded and gradients(h[tempo.range(0, bound)]:square():sum(), { y = a, b = b }) or { y = h }
  return P:compile { outputs = outputs, tier = TIER },
    { a = numbers({ T, C }, 7, 0.5, 1), b = numbers({ T, C }, 11, -1, 1) }
end

function ours.scan(T) return scan(T, false) end
ours["scan-grad"] = function(T) return scan(T, true) end

function ours.ssm(T)
  local D, N, P = 1024, 16, tempo.program()
  local t, bound = P:dim "t"
  local function over(name, n) return P:input(name, { domain = { t }, shape = { n } }) end
  local u, dt, B, C, A = over("u", D), over("dt", D), over("B", N), over("C", N), P:input("A", { shape = { D, N } })
  local h = P:tensor { domain = { t }, shape = { D, N } }
  local step = (dt * u):unsqueeze(-1) * B
  h[0] = step[0]
  h[t] = (dt:unsqueeze(-1) * A):exp() * h[t - 1] + step
  local loss = (h * C):sum(-1)[tempo.range(0, bound)]:square():sum()
  return P:compile { outputs = gradients(loss, { y = u, dt = dt, B = B, C = C, A = A }), tier = TIER },
    { u = numbers({ T, D }, 7, -1, 1), dt = numbers({ T, D }, 11, 0.01, 0.1), B = numbers({ T, N }, 13, -1, 1),
      C = numbers({ T, N }, 17, -1, 1), A = numbers({ D, N }, 19, -1, -0.1) }
end

function ours.attention(T)
  local H, D, P = 8, 64, tempo.program()
  local t, bound = P:dim "t"
  local function over(name) return P:input(name, { domain = { t }, shape = { H, D } }) end
  local q, k, v = over "q", over "k", over "v"
  local function past(x) return x[tempo.range(0, t + 1)]:transpose(0, 1) end
  local scores = past(k):matmul(q:unsqueeze(-1)):squeeze(-1) / 8
  local out = scores:softmax(-1):unsqueeze(1):matmul(past(v)):squeeze(1)
  local loss = out[tempo.range(0, bound)]:square():sum()
  return P:compile { outputs = gradients(loss, { y = q, k = k, v = v }), tier = TIER },
    { q = numbers({ T, H, D }, 7, -1, 1), k = numbers({ T, H, D }, 11, -1, 1), v = numbers({ T, H, D }, 13, -1, 1) }
end

-- ---- one side -------------------------------------------------------------------------------------------------------
local function mib(what)
  for line in io.lines "/proc/self/status" do
    local kib = line:match(what .. ":%s*(%d+)")
    if kib then return tonumber(kib) / 1024 end
  end
end

-- Milliseconds of the best run, or MiB by which they made the process grow; and what stands at some places of y.
if arg[1] == "one" then
  local what, T, of = arg[2], tonumber(arg[3]), arg[4]
  local f, inputs = ours[what](T)
  local before, best, y = mib "VmRSS", math.huge
  for _ = 1, of == "memory" and 1 or 5 do
    collectgarbage()
    collectgarbage()
    local from = tempo.logger.clock()
    y = f(inputs, { T = T }).y
    best = math.min(best, tempo.logger.clock() - from)
  end
  local sum = 0
  for _, place in ipairs { 0, 1, math.floor(T / 2) } do
    local row = y[place]
    while type(row) ~= "number" do row = row[0] end
    sum = sum + row
  end
  print(("%.6g %.9g"):format(of == "memory" and mib "VmHWM" - before or best * 1e3, sum))
  return
end

-- ---- both -----------------------------------------------------------------------------------------------------------
local sides = dofile "bench/common/sides.lua"
local opt = require "tempo.cli"(arg, { rows = "", rounds = 3, tokens = 4096 }, "lua5.4 bench/scans.lua")
local python = assert(sides.python "jax, numpy", "no python3 with JAX and NumPy is there")

local function wanted(name) return opt.rows == "" or ("," .. opt.rows .. ","):find("," .. name .. ",", 1, true) end

local function row(name, what, peers, T, of, unit)
  if not wanted(name) then return end
  local commands = { ("%s%s bench/scans.lua one %s %d %s"):format(sides.PIN, arg[-1], what, T, of) }
  for _, peer in ipairs(peers) do
    commands[#commands + 1] = ("%s%s bench/scans_peer.py %s %d %s 2>/dev/null"):format(sides.PIN, python, peer, T, of)
  end
  local best, said = sides.turns(opt.rounds, commands)
  local least = math.huge
  for k = 2, #commands do
    least = math.min(least, best[k])
    local near = said[k] == 0 or math.abs(said[1] - said[k]) <= 1e-3 * math.abs(said[k])
    assert(near, ("%s: %.9g here, %.9g there"):format(name, said[1], said[k]))
  end
  print(("RATIO %s %.3g (%.4g vs %.4g %s)"):format(name, least / best[1], best[1], least, unit))
  io.stdout:flush()
end

local both = { "scan", "associative" }
row("scan-memcpy", "scan", { "copy" }, 1000000, "time", "ms")
row("scan-vs-jax", "scan", both, 1000000, "time", "ms")
row("scan-grad-vs-jax", "scan-grad", { "scan-grad", "associative-grad" }, 1000000, "time", "ms")
row("ssm-vs-jax", "ssm", { "ssm" }, 4096, "time", "ms")
row("ssm-memory", "ssm", { "ssm" }, 4096, "memory", "MiB")
local attentions = { "attention", "sdpa" }
row("attention-vs-best", "attention", attentions, opt.tokens, "time", "ms")
row("attention-memory", "attention", attentions, opt.tokens, "memory", "MiB")

-- Recurrences that others say as scans, and attention as its formula: each side in processes of its
-- own, pinned to the same one core, in turn.
--   scan-memcpy         h[t] = a[t] h[t-1] + b[t] of 64 channels, 1,000,000 steps, against NumPy's
--   copy of as much data
--   scan-vs-jax         the same, and its gradient by a and b (scan-grad-vs-jax), each against the
--   better of lax.scan
--                       and lax.associative_scan
--   ssm-vs-best         a selective state-space model (1,024 channels of 16 states, 4,096 steps)
--   and its gradient,
--                       against the best of JAX and PyTorch, eager and compiled
--   ssm-memory          what these processes grow by meanwhile
--   attention-vs-best   causal attention (8 heads of 64, 4,096 tokens) and its gradient against the
--   better of PyTorch's
--                       scaled_dot_product_attention and JAX's dot_product_attention
--   attention-memory    what these processes grow by meanwhile
--   attention-linear    2.2 over what ours grows by for 8,192 tokens against 4,096
--   lua5.4 bench/scans.lua [--rows ssm,attention-memory] [--rounds 2]
-- Needs a python3 with NumPy, JAX and PyTorch on the PATH, which bench/setup makes; a row without
-- one of its peers is left out, which fails. Times are of the wall, the best of five runs and all
-- rounds.
local tempo = require "tempo"
-- as the peers, compiled before they are timed
local TIER = "native"

-- ---- our programs: a compiled function and its inputs, made when asked for ----------------------
local ours = {}

-- The same numbers on both sides: k * step % 1009, scaled, of places k in the order of memory.
-- Nothing else is made of their size, which would lie ready for what is measured.
local function numbers(shape, step, lo, hi)
  local k, stride = tempo.zeros({}, { dtype = "i64" }), 1
  for axis = #shape, 1, -1 do
    local along = {}
    for i = 1, #shape do along[i] = i == axis and shape[i] or 1 end
    k, stride = k + tempo.arange(shape[axis], { dtype = "i64" }):reshape(along) * stride,
      stride * shape[axis]
  end
  local y = ((k * step % 1009):to "f64" * ((hi - lo) / 1009) + lo):to "f32"
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
  local a, b = P:input("a", { domain = { t }, shape = { C } }),
    P:input("b", { domain = { t }, shape = { C } })
  local h = P:tensor { domain = { t }, shape = { C } }
  h[0] = b[0]
  h[t] = a * h[t - 1] + b
  local outputs = graded and gradients(h[tempo.range(0, bound)]:square():sum(), { y = a, b = b })
    or { y = h }
  return P:compile { outputs = outputs, tier = TIER },
    function() return { a = numbers({ T, C }, 7, 0.5, 1), b = numbers({ T, C }, 11, -1, 1) } end
end

function ours.scan(T) return scan(T, false) end
ours["scan-grad"] = function(T) return scan(T, true) end

function ours.ssm(T)
  local D, N, P = 1024, 16, tempo.program()
  local t, bound = P:dim "t"
  local function over(name, n) return P:input(name, { domain = { t }, shape = { n } }) end
  local u, dt, B, C, A = over("u", D), over("dt", D), over("B", N), over("C", N),
    P:input("A", { shape = { D, N } })
  local h = P:tensor { domain = { t }, shape = { D, N } }
  local step = (dt * u):unsqueeze(-1) * B
  h[0] = step[0]
  h[t] = (dt:unsqueeze(-1) * A):exp() * h[t - 1] + step
  local loss = (h * C):sum(-1)[tempo.range(0, bound)]:square():sum()
  return P:compile { outputs = gradients(loss, { y = u, dt = dt, B = B, C = C, A = A }),
    tier = TIER }, function()
      return { u = numbers({ T, D }, 7, -1, 1), dt = numbers({ T, D }, 11, 0.01, 0.1),
        B = numbers({ T, N }, 13, -1, 1), C = numbers({ T, N }, 17, -1, 1),
          A = numbers({ D, N }, 19, -1, -0.1) }
    end
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
    function()
      local shape = { T, H, D }
      return { q = numbers(shape, 7, -1, 1), k = numbers(shape, 11, -1, 1),
        v = numbers(shape, 13, -1, 1) }
    end
end

-- ---- one side -----------------------------------------------------------------------------------
local function mib(what)
  for line in io.lines "/proc/self/status" do
    local kib = line:match(what .. ":%s*(%d+)")
    if kib then return tonumber(kib) / 1024 end
  end
end

-- MiB that the first run makes the process grow by, inputs left out, milliseconds of the best, what
-- stands at some places of its results.
if arg[1] == "one" then
  local what, T = arg[2], tonumber(arg[3])
  local f, make = ours[what](T)
  local before = mib "VmRSS"
  local inputs, best, memory = make(), math.huge, nil
  for _, x in pairs(inputs) do
    local bytes = 4
    for _, n in ipairs(x:shape()) do bytes = bytes * n end
    before = before + bytes / (1 << 20)
  end
  collectgarbage()
  collectgarbage()
  local peak = assert(io.open("/proc/self/clear_refs", "w"))
  peak:write "5"                                             -- the peak is what the process has now
  peak:close()
  local of = {}
  for _ = 1, 5 do
    -- free for the next run, as the peers' is
    of.y = nil
    collectgarbage()
    collectgarbage()
    local from = tempo.logger.clock()
    of.y = f(inputs, { T = T })
    best = math.min(best, tempo.logger.clock() - from)
    memory = memory or mib "VmHWM" - before
  end
  local sum = 0
  for _, x in pairs(of.y) do
    for _, place in ipairs { 0, 1, T // 2 } do
      local row = x[place % x:shape()[1]]
      while type(row) ~= "number" do row = row[0] end
      sum = sum + row
    end
  end
  print(("%.6g %.6g %.9g"):format(memory, best * 1e3, sum))
  return
end

-- ---- both ---------------------------------------------------------------------------------------
local sides = require "bench.common.sides"
local opt = require "tempo.cli"(arg, { rows = "", rounds = 2 }, "lua5.4 bench/scans.lua")
local wanted = sides.rows(opt.rows)
local pythons = { peer = sides.python "jax, numpy", torch = sides.python "torch, numpy" }
local LEFT_OUT = "%s is left out: no python3 with %s is there; bench/setup makes one"
local failed

local function mine(what, T)
  return ("%s%s bench/scans.lua one %s %d"):format(sides.PIN, arg[-1], what, T)
end

-- Measures `what` on each side: least milliseconds, their results, least MiB; ours first.
local function measured(name, what, peers, T)
  local commands = { mine(what, T) }
  for _, peer in ipairs(peers) do
    local side, row = peer:match "(%l+) (%S+)"
    if not pythons[side] then
      failed = LEFT_OUT:format(name, side == "torch" and "PyTorch" or "JAX and NumPy")
      print(failed)
      return
    end
    local command = "%s%s bench/peers/scans_%s.py %s %d 2>/dev/null"
    commands[#commands + 1] = command:format(sides.PIN, pythons[side], side, row, T)
  end
  return sides.turns(opt.rounds, commands)
end

local function ratio(name, values, peers, unit)
  local least = math.min(table.unpack(values, 2))
  print(("RATIO %s %.3g (%.4g vs %.4g %s)"):format(name, least / values[1], values[1], least, unit))
  for k, peer in ipairs(peers) do
    print(("%-20s %-18s %8.4g %s, %.3g of ours"):format(name, peer, values[k + 1], unit,
      values[k + 1] / values[1]))
  end
  io.stdout:flush()
end

local function against(name, memory, what, peers, T)
  if not (wanted(name) or memory and wanted(memory)) then return end
  local ms, said, mb = measured(name, what, peers, T)
  if not ms then return end
  for k = 2, #said do
    local near = said[k] == 0 or math.abs(said[1] - said[k]) <= 1e-3 * math.abs(said[k])
    assert(near, ("%s: %.9g here, %.9g there (%s)"):format(name, said[1], said[k], peers[k - 1]))
  end
  if wanted(name) then ratio(name, ms, peers, "ms") end
  if memory and wanted(memory) then ratio(memory, mb, peers, "MiB") end
end

against("scan-memcpy", nil, "scan", { "peer copy" }, 1000000)
against("scan-vs-jax", nil, "scan", { "peer scan", "peer associative" }, 1000000)
against("scan-grad-vs-jax", nil, "scan-grad", { "peer scan-grad", "peer associative-grad" },
  1000000)
against("ssm-vs-best", "ssm-memory", "ssm", { "peer ssm", "torch ssm-eager", "torch ssm-compiled" },
  4096)
against("attention-vs-best", "attention-memory", "attention", { "peer attention", "torch sdpa" },
  4096)
if wanted "attention-linear" then
  local _, _, mb = sides.turns(1, { mine("attention", 8192), mine("attention", 4096) })
  print(("RATIO attention-linear %.3g (%.2f vs 2.2 times the memory for twice the length)")
    :format(2.2 / (mb[1] / mb[2]), mb[1] / mb[2]))
end
if failed then error(failed) end

-- Prints that training through 20000 steps takes 118 MiB, or 5 MiB under a limit of 16: what does
-- not fit goes to a file as the loop forward leaves it, and comes back ahead of the loop backward.
-- The loss falls to 0.1.
--
--     lua5.4 examples/long_sequence.lua [--seed 0] [--iterations 12] [--steps 20000] [--memory
--     16MiB] [--quiet]
local tempo = require "tempo"
local nn, optim = tempo.nn, tempo.optim
local opt = require "tempo.cli" (arg,
  { seed = 0, iterations = 12, steps = 20000, batch = 16, hidden = 32, memory = "16MiB", out = "",
    quiet = false })
local P = tempo.program { seed = opt.seed }
local i = P:dim("i", "I")
local t, T = P:dim "t"

local x = tempo.normal({ opt.batch, 1 }, { domain = { i, t }, name = "noise" })
local target = P:tensor { domain = { i, t }, shape = { opt.batch, 1 } }
target:otherwise(tempo.prev(target, t, 0) * 0.9 + x * 0.3)

local cell = nn.RNNCell(P, 1, opt.hidden, { along = { i }, name = "rnn" })
local head = nn.Linear(P, opt.hidden, 1, { along = { i }, name = "head" })
local h = P:tensor { domain = { i, t }, shape = { opt.batch, opt.hidden }, name = "state" }
h:otherwise(cell(x, tempo.prev(h, t, 0)))

local loss = (head(h) - target):square():mean()[{ t = 0 .. T }]:mean()
optim.Adam({ cell, head }, { lr = 0.02, clip_norm = 1 }):step(loss)

local log = require "tempo.logger".csv(opt.out ~= "" and opt.out .. "/metrics.csv",
  { "iteration", "loss" })
P:sink({ loss }, function(arrays, point)
  log:row { point.i, arrays[1]:item() }
  if not opt.quiet then print(("iteration %2d  loss %.4f"):format(point.i, arrays[1]:item())) end
end)

local function mib(bytes)
  return bytes and ("%.1f MiB"):format(bytes / 2 ^ 20) or "what is not known here"
end

-- the most that this process has had in memory, on Linux
local function resident()
  local file = io.open "/proc/self/status"
  local kib = file and tonumber(file:read "*a":match "VmHWM:%s*(%d+)")
  return mib(kib and kib * 1024)
end

local bounds = { I = opt.iterations, T = opt.steps }
local free = P:compile { outputs = { loss = loss } }
local f = P:compile { outputs = { loss = loss }, memory = opt.memory }
print(("%d steps: %s without a limit, %s of %s with it")
  :format(opt.steps, mib(free:memory(bounds)), mib(f:memory(bounds)), opt.memory))
if not opt.quiet then print(f:explain("memory", bounds):match "in a file.*" or "") end

local row = f({}, bounds).loss:totable()
log:close()
if #row > 0 then
  print(("loss %.4f -> %.4f; the process had %s in memory"):format(row[1], row[#row], resident()))
end

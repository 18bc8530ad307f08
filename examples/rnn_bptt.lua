-- Prints the loss falling from 0.35 to 0.0002 in 200 iterations: an RNN learns to repeat a random
-- bit that it saw `lag` steps ago. Gradients go through all T steps; weights are a recurrence over
-- i, the state over t.
--
--     lua5.4 examples/rnn_bptt.lua [--seed 0] [--iterations 200] [--steps 20] [--out DIR] [--quiet]
local tempo = require "tempo"
local nn, optim = tempo.nn, tempo.optim
local opt = require "tempo.cli" (arg,
  { seed = 0, iterations = 200, steps = 20, batch = 32, hidden = 16, out = "", quiet = false })
local lag = 2
local P = tempo.program { seed = opt.seed }
local i = P:dim("i", "I")
local t, T = P:dim "t"

local x = tempo.bernoulli({ opt.batch, 1 }, 0.5,
  { domain = { i, t }, name = "bits" }) + P:constant(0)
local target = P:tensor { domain = { i, t }, shape = { opt.batch, 1 } }
target[{ i, t + lag }] = x                                  -- a shift: target at t is x at t - lag
target:otherwise(0.5)                                       -- nothing to repeat yet

local cell = nn.RNNCell(P, 1, opt.hidden, { along = { i }, name = "rnn" })
local head = nn.Linear(P, opt.hidden, 1, { along = { i }, name = "head" })
local h = P:tensor { domain = { i, t }, shape = { opt.batch, opt.hidden } }
h:otherwise(cell(x, tempo.prev(h, t, 0)))                   -- h at t - 1, 0 before the first

local loss = (head(h) - target):square():mean()
optim.Adam({ cell, head }, { lr = 0.01, clip_norm = 1 }):step(loss / T:value())

local mean = loss[{ t = 0 .. T }]:mean()
local log = require "tempo.logger".csv(opt.out ~= "" and opt.out .. "/metrics.csv",
  { "iteration", "loss" })
P:sink({ mean }, function(arrays, point)
  log:row { point.i, arrays[1]:item() }
  if not opt.quiet and point.i % 20 == 0 then
    print(string.format("iteration %3d  loss %.4f", point.i, arrays[1]:item()))
  end
end)

local out = P:compile { outputs = { loss = mean } }({}, { I = opt.iterations, T = opt.steps })
log:close()
local row = out.loss:totable()
if #row > 0 then
  print(string.format("loss %.4f -> %.4f (guessing 0.5 gives 0.25)", row[1], row[#row]))
end

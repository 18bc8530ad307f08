-- Prints w coming to 2, -3, 0.5 by gradient descent, a recurrence: w[i+1] = w[i] - lr * gradient.
--
--     lua5.4 examples/sgd_recurrence.lua [--seed 0] [--iterations 100] [--out DIR] [--quiet]
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { seed = 0, iterations = 100, out = "", quiet = false })

local P = tempo.program { seed = opt.seed }
local i = P:dim("i", "I")
local truth = P:constant { 2, -3, 0.5 }
-- The data: drawn once, so a constant of the run (a parameter that goes along nothing).
local x = P:param("x", { shape = { 64, 3 }, init = tempo.normal { 64, 3 } })
local y = P:param("y", { shape = { 64 }, init = x:matmul(truth) + 0.01 * tempo.normal { 64 } })

local w = P:param("w", { along = { i }, shape = { 3 }, init = 0 })
local loss = (x:matmul(w) - y):square():mean()
local gradient = tempo.grad(loss, { w })[1]
w[i + 1] = (w - 0.1 * gradient):detach()

local f = P:compile { outputs = { loss = loss, w = w } }
local out = f({}, { I = opt.iterations })
local losses, ws = out.loss:totable(), out.w:totable()
local log = require "tempo.logger".csv(opt.out ~= "" and opt.out .. "/metrics.csv",
  { "iteration", "loss" })
for k = 1, #losses do
  log:row { k - 1, losses[k] }
  if not opt.quiet and (k - 1) % 20 == 0 then
    print(string.format("i = %3d  loss %.6f  w = %.3f %.3f %.3f", k - 1, losses[k], ws[k][1],
      ws[k][2], ws[k][3]))
  end
end
log:close()
local last = f:params().w:totable()                         -- the value after the last update
print(string.format("w = %.3f %.3f %.3f (made with 2 -3 0.5)", last[1], last[2], last[3]))

-- Prints a and c of h[t] = a h[t-1] + c x[t] as they come to 0.8 and 0.5, which made the data, in 6
-- iterations. Each draws B fresh series and makes K updates on them: iteration, update, batch,
-- time, nested.
--
--     lua5.4 examples/nested_training.lua [--seed 0] [--iterations 20] [--updates 5] [--out DIR]
--     [--quiet]
local tempo = require "tempo"
local opt = require "tempo.cli" (arg,
  { seed = 0, iterations = 20, updates = 5, batch = 8, steps = 16, out = "", quiet = false })
local P = tempo.program { seed = opt.seed }
local i, k, b, t = P:dims "i k b t"
local K, B, T = k:upper(), b:upper(), t:upper()

-- Data of iteration i, the same for all its updates.
local x = tempo.normal({}, { domain = { i, b, t }, name = "x" }) + P:constant(0)
local y = P:tensor { domain = { i, b, t } }
y:otherwise(0.8 * tempo.prev(y, t, 0) + 0.5 * x)

-- The model; its parameters go from update to update, and from the last of one iteration to the
-- first of the next.
local a = P:param("a", { along = { i, k }, init = 0 })
local c = P:param("c", { along = { i, k }, init = 0 })
local h = P:tensor { domain = { i, k, b, t } }
h:otherwise(a * tempo.prev(h, t, 0) + c * x)

local loss = (h - y):square()
tempo.optim.SGD({ a, c }, { lr = 0.1, momentum = 0.5 }):step(loss / (B * T):value())

local mean = loss[{ b = 0 .. B, t = 0 .. T }]:mean()
local log = require "tempo.logger".csv(opt.out ~= "" and opt.out .. "/metrics.csv",
  { "iteration", "before", "after", "a", "c" })
P:sink({ mean[{ k = 0 }], mean[{ k = K - 1 }], a[{ k = K - 1 }], c[{ k = K - 1 }] },
  function(v, point)
  log:row { point.i, v[1]:item(), v[2]:item(), v[3]:item(), v[4]:item() }
  if not opt.quiet then
    print(string.format(
      "iteration %2d  loss before %.6f, at the last update %.6f  a = %.4f  c = %.4f",
      point.i, v[1]:item(), v[2]:item(), v[3]:item(), v[4]:item()))
  end
end)

local f = P:compile {}
f({}, { I = opt.iterations, K = opt.updates, B = opt.batch, T = opt.steps })
log:close()
local w = f:params()
print(string.format("a = %.4f, c = %.4f (made with 0.8 and 0.5)", w.a:item(), w.c:item()))

-- Prints the accuracy of a small convolutional net, which rises from 0.27 to 1 in 400 iterations.
-- It tells four noisy strokes apart (|, -, /, \) in images of 16 x 16, which the program draws, a
-- batch an iteration.
--
--     lua5.4 examples/conv_shapes.lua [--seed 0] [--iterations 400] [--batch 64] [--out DIR]
--     [--quiet]
local tempo = require "tempo"
local nn = tempo.nn
local opt = require "tempo.cli" (arg,
  { seed = 0, iterations = 400, batch = 64, noise = 0.4, out = "", quiet = false })
local P = tempo.program { seed = opt.seed }
local i = P:dim("i", "I")
local N, S, LENGTH = opt.batch, 16, 7

-- Images: the stroke goes from (row, column) by `down` and `right`; a pixel is lit if it is one of
-- LENGTH on it.
local drawn = { domain = { i } }
local class = tempo.randint({ N }, 0, 4, drawn)
local row, column = tempo.randint({ N, 1, 1 }, 5, 11, drawn),
  tempo.randint({ N, 1, 1 }, 5, 11, drawn)
local kind = class:reshape { N, 1, 1 }
local y = tempo.arange({ S }, { dtype = "i64" }):reshape { S, 1 } - row
local x = tempo.arange({ S }, { dtype = "i64" }) - column
local far = tempo.maximum(x:abs(), y:abs()):le((LENGTH - 1) / 2)
local sloping = tempo.where(kind:eq(2), x:eq(y), x:eq(-y))
local on = tempo.where(kind:eq(0), x:eq(0), tempo.where(kind:eq(1), y:eq(0), sloping))
local image = on:land(far):to "f32" + opt.noise * tempo.normal({ N, S, S }, drawn)

local net = nn.Sequential(P, {
  nn.Conv2d(P, 1, 8, 5, { padding = "same", along = { i } }), nn.BatchNorm(P, 8, { along = { i } }),
    "relu",
  nn.MaxPool2d(P, 2),
  nn.Conv2d(P, 8, 16, 3, { padding = "same", along = { i } }), "relu", nn.MaxPool2d(P, 2),
  nn.Flatten(P), nn.Linear(P, 16 * 4 * 4, 4, { along = { i } }),
})
local scores = net(image:unsqueeze(1))
local loss = scores:cross_entropy(class)
tempo.optim.Adam(net:parameters(), { lr = 0.005 }):step(loss)

local right = scores:argmax(1):eq(class):to "f32":mean()
local log = require "tempo.logger".csv(opt.out ~= "" and opt.out .. "/metrics.csv",
  { "iteration", "loss", "accuracy" })
local last = 0
P:sink({ loss, right }, function(v, point)
  log:row { point.i, v[1]:item(), v[2]:item() }
  if point.i >= opt.iterations - 20 then
    last = last + v[2]:item() / math.min(20, opt.iterations)
  end
  if not opt.quiet and point.i % 40 == 0 then
    print(string.format("iteration %3d  loss %.3f  accuracy %.2f", point.i, v[1]:item(),
      v[2]:item()))
  end
end)

local f = P:compile {}
local start = os.clock()
f({}, { I = opt.iterations })
log:close()
print(string.format("seed %d: accuracy of the last 20 of %d iterations %.3f", opt.seed,
  opt.iterations, last))
if not opt.quiet then
  print(string.format("%.0f images/s", opt.iterations * N / (os.clock() - start)))
end

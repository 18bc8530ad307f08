-- Prints the loss of training that stops and goes on, in four ways, each line with a number of its
-- batch:
--     lua5.4 examples/going_on.lua --iterations 60 --stop 40 --checkpoint run.state --params
--     run.npz
--     lua5.4 examples/going_on.lua --iterations 100 --checkpoint run.state    the whole state: 40
--     .. 99
--     lua5.4 examples/going_on.lua --params run.npz --seed 1                  parameters, own draws
--     lua5.4 examples/going_on.lua --params run.npz                           the first batches
--     again!
--
-- A state holds the point that was reached: draws go on, the bound may be larger, numbers are those
-- of one run. Parameters start again at i = 0, with whatever is written in i (a schedule of lr);
-- random numbers are keyed by seed and point, so without a new `seed =` the same batches come
-- again.
local tempo = require "tempo"
local opt = require "tempo.cli" (arg,
  { seed = 0, iterations = 60, stop = 0, batch = 16, tier = "auto",
  checkpoint = "", params = "", out = "", quiet = false })
local P = tempo.program()
local i = P:dim "i"
local net = tempo.nn.MLP(P, { 1, 16, 1 }, { along = { i }, name = "net" })
local x = tempo.uniform({ opt.batch, 1 }, { domain = { i }, name = "x" }) * 6 - 3
local noise = tempo.normal({ opt.batch, 1 }, { domain = { i }, name = "noise" }) * 0.05
local loss = net(x):mse_loss(x:sin() + noise)
tempo.optim.Adam(net, { lr = 0.02, name = "adam" }):step(loss)

local log = require "tempo.logger".csv(opt.out ~= "" and opt.out .. "/metrics.csv",
  { "iteration", "loss", "drawn" })
P:sink({ loss, x }, function(arrays, point)
  log:row { point.i, arrays[1]:item(), arrays[2]:get(0, 0) }
  if not opt.quiet and point.i % 20 == 0 then
    print(string.format("iteration %3d  loss %.4f  first of the batch %+.4f",
      point.i, arrays[1]:item(), arrays[2]:get(0, 0)))
  end
end)
local f = P:compile { tick = i, tier = opt.tier }

local function exists(path)
  local file = path ~= "" and io.open(path, "rb")
  if file then file:close() end
  return file and true or false
end

-- Ctrl-C is an error in the sink: parameters are the newest there are all the same. The state of a
-- run that has ended early is over and goes on no more, so the checkpoint is what was saved between
-- ticks.
local function train()
  if exists(opt.checkpoint) then
    -- parameters, moments, the point, the seed
    f:load(opt.checkpoint)
    f({}, { I = opt.iterations }, { state = f:state() })
    return
  end
  if exists(opt.params) then f:load_params(opt.params) end
  f:start({}, { I = opt.iterations }, { seed = opt.seed })
  local done, taken = false, 0
  while not done and (opt.stop == 0 or taken < opt.stop) do
    done = f:step()
    taken = taken + 1
  end
  if opt.checkpoint ~= "" and not done then f:save(opt.checkpoint) end
end

local ok, e = pcall(train)
-- none before i = 0
if opt.params ~= "" and next(f:params()) then f:save(opt.params, { portable = true }) end
log:close()
if not ok then error(e, 0) end

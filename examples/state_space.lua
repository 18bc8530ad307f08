-- Prints the loss falling from 0.26 to 0.0015 in 150 iterations: a selective state-space model (the
-- recurrence of Mamba) says the last number that was marked. How its states decay, what goes in and
-- what is read follow from the input at t, so it is no convolution but a recurrence, and is written
-- as one. States are kept for the gradient, not decays.
--
--     lua5.4 examples/state_space.lua [--seed 0] [--iterations 150] [--steps 24] [--quiet]
local tempo = require "tempo"
local nn, optim = tempo.nn, tempo.optim
local opt = require "tempo.cli" (arg,
  { seed = 0, iterations = 150, steps = 24, batch = 32, width = 16, states = 8, quiet = false })
local P = tempo.program { seed = opt.seed }
local i = P:dim("i", "I")
local t, T = P:dim "t"

-- Numbers, of which one in six is marked, and the last marked one.
local number = tempo.uniform({ opt.batch }, { domain = { i, t }, name = "numbers" }) * 2 - 1
local marked = tempo.bernoulli({ opt.batch }, 1 / 6, { domain = { i, t }, name = "marks" })
local wanted = P:tensor { domain = { i, t }, shape = { opt.batch }, name = "wanted" }
wanted:otherwise(tempo.where(marked:gt(0), number, tempo.prev(wanted, t, 0)))

local function linear(n, m, name) return nn.Linear(P, n, m, { along = { i }, name = name }) end
local enter, time = linear(2, opt.width, "enter"), linear(opt.width, opt.width, "time")
local into, from = linear(opt.width, opt.states, "into"), linear(opt.width, opt.states, "from")
local leave = linear(opt.width, 1, "leave")
local rates = P:param("rates",
  { along = { i }, shape = { opt.width, opt.states },
    init = tempo.zeros { opt.width, opt.states } })

local x = enter(tempo.stack({ number, marked }, -1)):silu()                     -- (batch, width)
-- how much time passes
local dt = time(x):softplus()
-- (batch, width, states)
local decay = (dt:unsqueeze(-1) * -rates:exp()):exp()
local input = (dt * x):unsqueeze(-1) * into(x):unsqueeze(1)
local h = P:tensor { domain = { i, t }, shape = { opt.batch, opt.width, opt.states }, name = "h" }
h[{ t = 0 }] = input
h:otherwise(decay * h[{ i, t - 1 }] + input)
local said = leave((h * from(x):unsqueeze(1)):sum(-1)):squeeze(-1)

local loss = (said - wanted):square():mean()
optim.Adam({ enter, time, into, from, leave, rates },
  { lr = 0.01, clip_norm = 1 }):step(loss / T:value())

local mean = loss[{ t = 0 .. T }]:mean()
P:sink({ mean }, function(arrays, point)
  if not opt.quiet and point.i % 25 == 0 then
    print(string.format("iteration %3d  loss %.4f", point.i, arrays[1]:item()))
  end
end)

local f = P:compile { outputs = { loss = mean } }
local row = f({}, { I = opt.iterations, T = opt.steps }).loss:totable()
if #row > 0 then
  print(string.format("loss %.4f -> %.4f (saying 0 gives 0.33)", row[1], row[#row]))
end

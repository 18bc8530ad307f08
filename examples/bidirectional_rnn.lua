-- Prints two losses for the sum of both neighbours: one state that runs forwards stays at 0.08, one
-- that runs forwards and one backwards, both read at t, fall from 0.16 to 0.0004 in 150 iterations.
--
--     lua5.4 examples/bidirectional_rnn.lua [--seed 0] [--iterations 150] [--steps 12] [--out DIR]
--     [--quiet]
local tempo = require "tempo"
local nn, optim = tempo.nn, tempo.optim
local opt = require "tempo.cli" (arg,
  { seed = 0, iterations = 150, steps = 12, batch = 16, hidden = 8, out = "", quiet = false })

local P = tempo.program { seed = opt.seed }
local i = P:dim("i", "I")
local t, T = P:dim "t"
local n, H = opt.batch, opt.hidden

local x = tempo.uniform({ n, 1 }, { domain = { i, t }, name = "x" }) - P:constant(0.5)
local target = P:tensor { domain = { i, t }, shape = { n, 1 } }
target[{ t = 0 }] = x[{ i, 1 }]
target[{ t = T - 1 }] = x[{ i, T - 2 }]
target:otherwise(x[{ i, t - 1 }] + x[{ i, t + 1 }])

local function run(both)
  local name = both and "both" or "one"
  local with = { along = { i }, name = name .. ".forwards" }
  local cell = nn.RNNCell(P, 1, H, with)
  local h = P:tensor { domain = { i, t }, shape = { n, H } }
  h:otherwise(cell(x, tempo.prev(h, t, 0)))
  local learnt, state = { cell }, h
  if both then
    local back = nn.RNNCell(P, 1, H, { along = { i }, name = name .. ".backwards" })
    local g = P:tensor { domain = { i, t }, shape = { n, H } }
    g[{ t = T - 1 }] = back(x, tempo.zeros { n, H })
    g:otherwise(back(x, g[{ i, t + 1 }]))
    state = tempo.cat({ h, g }, 1)
    learnt[2] = back
  end
  local head = nn.Linear(P, both and 2 * H or H, 1, { along = { i }, name = name .. ".head" })
  learnt[#learnt + 1] = head
  local loss = (head(state) - target):square():mean()
  optim.Adam(learnt, { lr = 0.02 }):step(loss / T:value())
  return loss[{ t = 0 .. T }]:mean()
end

local f = P:compile { outputs = { one = run(false), both = run(true) } }
local out = f({}, { I = opt.iterations, T = opt.steps })
local one, both = out.one:totable(), out.both:totable()
local log = require "tempo.logger".csv(opt.out ~= "" and opt.out .. "/metrics.csv",
  { "iteration", "forwards", "both" })
for k = 1, #one do
  log:row { k - 1, one[k], both[k] }
  if not opt.quiet and (k - 1) % 25 == 0 then
    print(string.format("i = %3d  forwards only %.4f  both ways %.4f", k - 1, one[k], both[k]))
  end
end
log:close()
if #one > 0 then
  print(string.format("last: forwards only %.4f, both ways %.4f", one[#one], both[#both]))
end

-- Prints how long the policy of examples/reinforce_cartpole.lua balances the pole, and draws it
-- (--show).
--     lua5.4 examples/play_cartpole.lua [--checkpoint DIR] [--episodes 5] [--seed 1] [--show 0]
--     [--delay 0] [--quiet]
--
-- --show k draws every k-th step of the first episode, --delay waits so many seconds between two
-- drawings.
local tempo = require "tempo"
local nn, dist, rl = tempo.nn, tempo.dist, tempo.rl
local logger = require "tempo.logger"
local opt = require "tempo.cli" (arg, {
  checkpoint = "out/reinforce_cartpole/checkpoint", episodes = 5, seed = 1, show = 50, delay = 0,
    steps = 500,
  quiet = false, tier = "auto",
})

-- The arrays say how large the layers are.
local there, saved = pcall(tempo.load, opt.checkpoint .. "/params.npz")
local sizes = {}
for k = 0, 99 do
  local weight = there and saved["policy." .. k .. ".weight"]
  if not weight then break end
  sizes[k + 1], sizes[k + 2] = weight:shape()[2], weight:shape()[1]
end
if #sizes == 0 then
  io.stderr:write("no policy in ", opt.checkpoint, ": run examples/reinforce_cartpole.lua first\n")
  os.exit(1)
end

local P = tempo.program()
local e, t = P:dims "e t"                                   -- episode, step
local env = rl.env(P, "CartPole-v1", { domain = { e, t }, time = t })
-- no along: it stays
local policy = nn.MLP(P, sizes, { name = "policy", activation = "tanh", init = "zeros" })
env:step(dist.Categorical({ logits = policy(env.obs) }).mode)
local f = P:compile { outputs = { obs = env.obs, reward = env.reward, done = env.done },
  tier = opt.tier }
f:load_params(saved, { strict = false })                    -- without the critic and the moments
local out = f({}, { E = opt.episodes, T = opt.steps }, { seed = opt.seed })

local obs, reward, done = out.obs:totable(), out.reward:totable(), out.done:totable()
local function draw(o, step)
  local width = 49
  local line = {}
  for k = 1, width do line[k] = "_" end
  local cart = math.floor((o[1] + 2.4) / 4.8 * (width - 1) + 0.5) + 1
  for k = math.max(cart - 2, 1), math.min(cart + 2, width) do line[k] = "=" end
  local tip = math.max(1, math.min(width, math.floor(cart + math.sin(o[3]) * 20 + 0.5)))
  local mid = math.max(1, math.min(width, math.floor(cart + math.sin(o[3]) * 10 + 0.5)))
  print(string.rep(" ", tip - 1) .. "o")
  print(string.rep(" ", mid - 1) .. "|")
  print(table.concat(line)
    .. string.format("  step %3d  x %+.2f  angle %+5.1f deg", step, o[1], math.deg(o[3])))
  if opt.delay > 0 then
    local wake = logger.clock() + opt.delay
    while logger.clock() < wake do end
  end
end

local total = 0
for k = 1, opt.episodes do
  local sum, steps = 0, 0
  for s = 1, opt.steps do
    if k == 1 and opt.show > 0 and not opt.quiet and (s - 1) % opt.show == 0 then
      draw(obs[k][s], s - 1) end
    sum, steps = sum + reward[k][s], s
    if done[k][s] then break end
  end
  total = total + sum
  print(string.format("episode %d: return %d after %d steps", k, sum, steps))
end
print(string.format("mean return %.1f", total / math.max(opt.episodes, 1)))

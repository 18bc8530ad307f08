-- REINFORCE with a critic on CartPole over sizes: environments, steps, layers, width. Nanoseconds
-- of the processor a step of an environment, and the largest memory of the process, each side in a
-- process of its own on one core, in turn, against the same in JAX, jitted as a whole. Rows whose
-- iteration takes more than --most thousand million operations are left out, and say so.
--   lua5.4 bench/sweep.lua [--most 120] [--iterations 3]
local tempo = require "tempo"

local function ours(iterations, envs, steps, layers, width)
  local P = tempo.program { seed = 1 }
  local i, I = P:dim "i"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local env = tempo.rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t })
  local function net(name, nout, gain)
    local sizes = { 4 }
    for _ = 1, layers do sizes[#sizes + 1] = width end
    sizes[#sizes + 1] = nout
    return tempo.nn.MLP(P, sizes, { name = name, activation = "tanh", along = { i },
      init = "orthogonal", gain = math.sqrt(2), out_gain = gain })
  end
  local policy, critic = net("policy", 2, 0.01), net("critic", 1, 1)
  local pi = tempo.dist.Categorical { logits = policy(env.obs) }
  local action = pi:sample { name = "action", domain = { i, b, t } }
  env:step(action)
  local value, next_value = critic(env.obs):squeeze(-1), critic(env.next_obs):squeeze(-1)
  local G = tempo.rl.monte_carlo(env, { gamma = 0.99, next_value = next_value })
  local loss = (0.5 * (G - value):square() - pi:log_prob(action) * (G - value):detach())
    * (1 / (B * T):value():to "f32")
  tempo.optim.Adam({ policy, critic }, { lr = 0.01 * (1 - i:value() / I:value()) }):step(loss)
  local score = env.reward[{ i = I - 1, b = 0 .. B, t = 0 .. T }]:sum()
  local f = P:compile { outputs = { score = score }, tier = "native", threads = 1 }
  local bounds, best = { I = iterations, B = envs, T = steps }, math.huge
  f({}, bounds)
  for _ = 1, 2 do
    local from = os.clock()
    f({}, bounds)
    best = math.min(best, os.clock() - from)
  end
  print(("%.6g %.6g"):format(best * 1e9 / (iterations * envs * steps),
    io.open "/proc/self/status":read "*a":match "VmHWM:%s*(%d+)" / 1024))
end

if arg[1] == "--run" then
  local sizes = {}
  for k = 2, #arg do sizes[k - 1] = math.tointeger(arg[k]) end
  ours(table.unpack(sizes))
  os.exit()
end

local opt = require "tempo.cli"(arg, { most = 120, iterations = 3 }, "lua5.4 bench/sweep.lua")
local sides = require "bench.common.sides"
local python = sides.python "jax"
if not python then
  print "left out: no python with JAX (bench/setup)"
  os.exit(2)
end

local least = math.huge
for _, envs in ipairs { 64, 256, 1024 } do
  for _, steps in ipairs { 250, 1000 } do
    for _, layers in ipairs { 2, 8 } do
      for _, width in ipairs { 64, 256 } do
        local sizes = ("%d %d %d %d"):format(envs, steps, layers, width)
        local work = envs * steps * 2 * layers * width ^ 2 * 6 / 1e9
        if work > opt.most then
          print(("%-18s left out: %.0f thousand million operations an iteration"):format(sizes, work))
        else
          local best, peak = sides.turns(1, {
            ("%s%s bench/sweep.lua --run %d %s"):format(sides.PIN, arg[-1], opt.iterations, sizes),
            ("%s%s bench/peers/native_peer.py sweep %d %s 2>/dev/null"):format(sides.PIN, python,
              opt.iterations, sizes) })
          print(("%-18s %.2f (%.0f vs %.0f ns)  memory %.1f (%.0f vs %.0f MB)"):format(sizes,
            best[2] / best[1], best[1], best[2], peak[2] / peak[1], peak[1], peak[2]))
          io.stdout:flush()
          least = math.min(least, best[2] / best[1])
        end
      end
    end
  end
end
print(("RATIO sweep-vs-jax %.2f (the least of the rows)"):format(least))

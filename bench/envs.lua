-- Steps of environments: ours in C against Gymnasium's vector of environments (in one process) and
-- EnvPool (one thread), where it is there, with the same actions, and environments in Lua by what
-- they have been promised (1 M steps/s by lists, 10 M by pointers). One core, each side in a process
-- of its own, in turn.
--
--   lua5.4 bench/envs.lua [--rows a,b] [--rounds 3]
--   LUA bench/envs.lua run ID ENVS STEPS        a side of ours: nanoseconds a step, the mean reward
--   LUA bench/envs.lua walk KIND ENVS STEPS     an environment in Lua: lists, pointers
--
-- Needs a python3 with gymnasium, minatar and NumPy; without it the rows against them are left out,
-- which fails.
package.path = "bench/?.lua;" .. package.path
local tempo = require "tempo"

-- Nanoseconds a step of one environment, with actions that go round; observations are made, and
-- summed up.
local function measure(id, envs, steps)
  local P = tempo.program { seed = 1 }
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local env = tempo.rl.env(P, id, { domain = { b, t }, time = t })
  local actions = tempo.rl.envs[id].actions
  local action = type(actions) == "number" and t:value() % actions or tempo.full(actions, 0.5)
  env:step(action + (type(actions) == "number" and 0 * b:value() or 0))
  local seen = env.next_obs:sum()
  local f = P:compile { tier = "native", outputs = {
    reward = env.reward[{ b = tempo.range(0, B), t = tempo.range(0, T) }]:mean(),
    seen = seen[{ b = tempo.range(0, B), t = tempo.range(0, T) }]:mean() } }
  f({}, { B = envs, T = 64 })
  local began = os.clock()
  local out = f({}, { B = envs, T = steps })
  return (os.clock() - began) / envs / steps * 1e9, out.reward:item()
end

local function walk(kind)
  local base = kind == "pointers" and 0 or 1
  tempo.rl.add_env("Walk", { state = 2, actions = 2, reset_uniforms = 2, max_steps = 200,
    pointers = kind == "pointers" or nil,
    reset = function(s, u) s[base], s[base + 1] = u[base] - 0.5, u[base + 1] - 0.5 end,
    step = function(s, action)
      local x, v = s[base], s[base + 1]
      v = v + (action == 1 and 0.1 or -0.1) - 0.01 * x
      x = x + 0.1 * v
      s[base], s[base + 1] = x, v
      return 1, x > 3 or x < -3
    end })
  return "Walk"
end

if arg[1] == "run" or arg[1] == "walk" then
  local id = arg[1] == "walk" and walk(arg[2]) or arg[2]
  print(("%.3f %.4g"):format(measure(id, tonumber(arg[3]), tonumber(arg[4]))))
  return
end

local sides = require "common.sides"
local rows, rounds, k = "", 3, 1
while arg[k] do
  if arg[k] == "--rows" then rows = arg[k + 1] end
  if arg[k] == "--rounds" then rounds = tonumber(arg[k + 1]) end
  k = k + 2
end
local wanted = sides.rows(rows)
local python = sides.python "gymnasium, minatar, numpy"
local luas = { lua54 = arg[-1], luajit = sides.output "command -v luajit":match "%S+" }
local ENVS = 64

local function mega(ns) return 1e3 / ns end
local failed = not python
  and "no python3 with gymnasium, minatar and NumPy is there: its rows are left out" or nil
for _, row in ipairs { { "cartpole", "CartPole-v1" }, { "acrobot", "Acrobot-v1" },
  { "pendulum", "Pendulum-v1" }, { "mountaincar", "MountainCar-v0" },
  { "asterix", "MinAtar/Asterix-v1" }, { "breakout", "MinAtar/Breakout-v1" },
  { "freeway", "MinAtar/Freeway-v1" }, { "seaquest", "MinAtar/Seaquest-v1" },
  { "invaders", "MinAtar/SpaceInvaders-v1" } } do
  local name, id = "env-" .. row[1], row[2]
  if wanted(name) and python then
    local best = sides.turns(rounds, {
      ours = ("%s%s bench/envs.lua run %s %d 4000"):format(sides.PIN, arg[-1], id, ENVS),
      peer = ("%s%s bench/peers/envs_peer.py %s %d 200 2>/dev/null"):format(sides.PIN, python, id,
        ENVS) })
    print(("RATIO %s %.1f (%.3g vs %.3g M steps/s)"):format(name, best.peer / best.ours,
      mega(best.ours), mega(best.peer)))
  end
end

local pool = sides.python "envpool, gymnasium, numpy"
for _, row in ipairs { { "cartpole", "CartPole-v1" }, { "acrobot", "Acrobot-v1" },
  { "pendulum", "Pendulum-v1" }, { "mountaincar", "MountainCar-v0" } } do
  local name, id = ("env-%s-vs-envpool"):format(row[1]), row[2]
  if wanted(name) and pool then
    local best = sides.turns(rounds, {
      ours = ("%s%s bench/envs.lua run %s %d 4000"):format(sides.PIN, arg[-1], id, ENVS),
      peer = ("%s%s bench/peers/envs_peer.py %s %d 4000 envpool 2>/dev/null"):format(sides.PIN, pool,
        id, ENVS) })
    print(("RATIO %s %.1f (%.3g vs %.3g M steps/s)"):format(name, best.peer / best.ours,
      mega(best.ours), mega(best.peer)))
  end
end

local tree = "env LUA_PATH='lua/?.lua;lua/?/init.lua;;' LUA_CPATH='build/5.1/?.so;;' "
for _, row in ipairs { { "lists-5.4", "lua54", "lists", 1 },
  { "lists-luajit", "luajit", "lists", 1 }, { "pointers", "luajit", "pointers", 10 } } do
  local name, lua, kind, promised = "lua-" .. row[1], luas[row[2]], row[3], row[4]
  if wanted(name) and lua then
    local paths = row[2] == "luajit" and tree or ""
    local best = sides.turns(rounds, {
      ours = ("%s%s%s bench/envs.lua walk %s 1024 %d"):format(sides.PIN, paths, lua, kind,
        promised * 200) })
    local ours = mega(best.ours)
    print(("RATIO %s %.2f (%.3g vs %d M steps/s)"):format(name, ours / promised, ours, promised))
  end
end
if failed then error(failed, 0) end

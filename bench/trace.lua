-- A traced game: steps a second of 2,048 copies of Pong (spec/games/pong.lua) on one core, against
-- the game itself in a loop of plain Lua under LuaJIT, and against the same game written in JAX in
-- f32, its default, and in f64. Ours has the state in f64 and plays as Lua does. The agent follows
-- the ball everywhere.
--   lua5.4 bench/trace.lua [STEPS]      (needs luajit and JAX; ends non-zero where one cannot run)
package.path = "./?.lua;" .. package.path
local tempo = require "tempo"
local sides = require "bench.common.sides"

local COPIES, STEPS = 2048, tonumber(arg[1]) or 500

local function ours()
  local game = require "spec.games.pong"
  local P = tempo.program { seed = 1 }
  local t, T = P:dim "t"
  local b, B = P:dim "b"
  local env = tempo.rl.trace(P, game, { domain = { t, b }, time = t, actions = game.actions })
  local y, right = env.obs:select(0, 1), env.obs:select(0, 5)
  env:step(tempo.where(y:gt(right), 2, 0):to "i64")
  local total = env.reward[{ t = tempo.range(0, T), b = tempo.range(0, B) }]:sum()
  local f = P:compile { outputs = { total = total }, tier = "native", threads = 1 }
  f({}, { T = 10, B = COPIES })
  local best, mean = math.huge, nil
  for seed = 1, 5 do
    local start = os.clock()
    mean = f({}, { T = STEPS, B = COPIES }, { seed = seed }).total:item() / (COPIES * STEPS)
    best = math.min(best, os.clock() - start)
  end
  return COPIES * STEPS / best, mean, env.spec
end

-- The loop that a user writes without tempo: over the copies, each reset when it ends.
local loop = [[
local game = require "spec.games.pong"
local COPIES, STEPS = %d, %d
math.randomseed(1)
local games = {}
for k = 1, COPIES do games[k] = {} game.reset(games[k]) end
local function run()
  local total = 0
  for _ = 1, STEPS do
    for k = 1, COPIES do
      local g = games[k]
      local _, y, _, _, _, right = game.observe(g)
      local reward, done = game.step(g, y > right and 2 or 0)
      total = total + reward
      if done then game.reset(g) end
    end
  end
  return total
end
run()
local best, mean = 1e9, 0
for _ = 1, 5 do
  local start = os.clock()
  mean = run() / (COPIES * STEPS)
  best = math.min(best, os.clock() - start)
end
print(COPIES * STEPS / best, mean)
]]

local function command(what)
  local pipe = assert(io.popen(what))
  local text = pipe:read "*a"
  pipe:close()
  local speed, mean = text:match "(%S+)%s+(%S+)"
  return assert(tonumber(speed), what .. " did not run"), tonumber(mean)
end

local function plain()
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(loop:format(COPIES, STEPS))
  file:close()
  local speed, mean = command("LUA_PATH='./?.lua;;' luajit " .. path)
  os.remove(path)
  return speed, mean
end

local speed, mean, spec = ours()
print(("traced Pong: %d paths through step, %.1f M steps/s, mean reward %.5f"):format(
  spec.paths.step, speed / 1e6, mean))

local function jax(dtype)
  return function()
    local python = assert(sides.python "jax", "no python3 with JAX is there")
    return command(("%s%s bench/peers/trace_peer.py %d %d %s 2>/dev/null"):format(sides.PIN,
      python, COPIES, STEPS, dtype))
  end
end

for _, peer in ipairs { { "luajit", plain }, { "jax", jax "f32" }, { "jax-f64", jax "f64" } } do
  local theirs, reward = peer[2]()
  assert(math.abs(reward - mean) < 0.002,
    ("%s plays another game: mean reward %.5f"):format(peer[1], reward))
  print(("RATIO trace-vs-%s %.2f (%.1f vs %.1f M steps/s)"):format(peer[1], speed / theirs,
    speed / 1e6, theirs / 1e6))
end

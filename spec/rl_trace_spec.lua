-- rl.trace: recorded games against the games themselves, played in plain Lua with the same draws.
local tempo = require "tempo"
local helper = require "spec.helper"
local rl = require "tempo.rl"

local unpack = table.unpack or unpack       -- luacheck: globals unpack
local names = { "pong", "shooter", "grid", "lander", "breakout" }

-- LuaJIT's compiled code does not see that a local variable of a game's file was changed from outside.
if jit then jit.off() end

-- What is not exact: sin, cos, exp, atan of the libraries differ in the last places.
local tolerance = { lander = 1e-12 }

-- ---- the same game in plain Lua ------------------------------------------------------------------------------------

-- math.random of numbers that were drawn already; `u` is a list, taken from `from` on.
local function dealer(u, from)
  return function(lo, hi)
    from = from + 1
    if lo == nil then return u[from] end
    if hi == nil then lo, hi = 1, lo end
    return math.floor(u[from] * (hi - lo + 1)) + lo
  end
end

-- f(...) with math.random as `random`, also where the game's file holds it in a local variable.
local real = math.random
local function dealing(game, random, f, ...)
  local was = {}
  for _, key in ipairs { "reset", "step", "observe" } do
    for k = 1, 60 do
      local name, v = debug.getupvalue(game[key], k)
      if not name then break end
      local inner = type(v) == "function" and debug.getinfo(v, "S").what == "Lua" and v or nil
      for _, at in ipairs { game[key], inner } do
        for j = 1, 60 do
          local n, w = debug.getupvalue(at, j)
          if not n then break end
          if w == real then
            was[#was + 1] = { at, j }
            debug.setupvalue(at, j, random)
          end
        end
      end
    end
  end
  math.random = random                      -- luacheck: ignore
  local out = { pcall(f, ...) }
  math.random = real                        -- luacheck: ignore
  for _, w in ipairs(was) do debug.setupvalue(w[1], w[2], real) end
  assert(out[1], out[2])
  return unpack(out, 2, 8)
end

local function observed(game, g)
  local list = { game.observe(g) }
  if type(list[1]) == "table" then list = list[1] end
  for k, v in ipairs(list) do
    if type(v) == "boolean" then list[k] = v and 1 or 0 end
  end
  return list
end

-- Fields of a state by their paths, "enemies.1.x".
local function flat(t, prefix, out)
  out = out or {}
  for k, v in pairs(t) do
    local path = prefix and prefix .. "." .. tostring(k) or tostring(k)
    if type(v) == "table" then flat(v, path, out) else out[path] = v end
  end
  return out
end

local function play(name, out, b, T, actions, tol, max_steps)
  local game = require("spec.games." .. name)
  local reset_draws = out.start_draws and out.start_draws[b] or {}
  local g, from, steps = {}, 0, 0
  dealing(game, dealer(reset_draws, 0), game.reset, g)
  local ends = 0
  for t = 1, T do
    local u = out.draws and out.draws[b][t] or {}
    for path, v in pairs(flat(g)) do
      local got = out.state[path][b][t]
      if tol == 0 and got ~= v or tol > 0 and helper.differ(v, got, tol, path) then
        error(("%s: copy %d, step %d: %s is %s, not %s"):format(name, b, t, path, tostring(got), tostring(v)), 0)
      end
    end
    helper.same(observed(game, g), out.obs[b][t], 1e-6)
    local a = actions[b][t]
    local reward, terminated, truncated = dealing(game, dealer(u, 0), game.step, g,
      unpack(type(a) == "table" and a or { a }))
    steps = steps + 1
    truncated = truncated or steps == max_steps
    helper.same(reward, out.reward[b][t], 1e-6)
    assert.equal(terminated or false, out.terminated[b][t])
    assert.equal(truncated, out.truncated[b][t])
    helper.same(observed(game, g), out.next_obs[b][t], 1e-6)
    if terminated or truncated then
      ends, steps, g = ends + 1, 0, {}
      from = out.draws and #u - #reset_draws or 0
      dealing(game, dealer(u, from), game.reset, g)
    end
  end
  return ends
end

-- B copies over T steps in this tier against plain Lua. Returns how many episodes ended.
local function compare(name, B, T, tier)
  local game = require("spec.games." .. name)
  local P = tempo.program { seed = 5 }
  local b, t = (P:dim("b", "B")), (P:dim("t", "T"))
  local env = rl.trace(P, game, { domain = { b, t }, time = t, actions = game.actions, max_steps = game.max_steps })
  local shape = type(game.actions) == "table" and game.actions or {}
  local action = P:input("action", { domain = { b, t }, shape = shape, dtype = #shape > 0 and "f32" or "i64" })
  env:step(action)
  local outputs = { obs = env.obs, next_obs = env.next_obs, reward = env.reward, terminated = env.terminated,
    truncated = env.truncated, draws = env.draws, start_draws = env.start_draws }
  for key, x in pairs(env.state) do outputs["state " .. key] = x end
  local next, actions = helper.rng(3), {}
  for k = 1, B do
    actions[k] = {}
    for s = 1, T do
      actions[k][s] = #shape == 0 and next(game.actions) or { next(1000) / 512 - 0.5, next(1000) / 256 - 2 }
    end
  end
  local got = P:compile { outputs = outputs, tier = tier }({ action = actions }, { B = B, T = T })
  local out = { state = {} }
  for key, x in pairs(got) do
    local path = key:match "^state %d+ (.*)$"
    if path then out.state[path] = x:totable() else out[key] = x:totable() end
  end
  local ends = 0
  for k = 1, B do ends = ends + play(name, out, k, T, actions, tolerance[name] or 0, game.max_steps) end
  return ends
end

describe("a recorded game", function()
  for _, name in ipairs(names) do
    it(name .. " takes the steps that plain Lua takes", function()
      assert.is_true(compare(name, 2, 300, "interpreter") > 1)
      compare(name, 1, 20, "reference")
    end)
    it(name .. " does so for 10,000 steps on every tier #long", function()
      for _, tier in ipairs { "native", "interpreter" } do assert.is_true(compare(name, 20, 500, tier) > 20) end
      compare(name, 4, 100, "reference")
    end)
  end
end)

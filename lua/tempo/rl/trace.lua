-- rl.trace: a game in plain Lua as an environment.
local util = require "tempo.util"
local frame = require "tempo.rl.frame"

local rl = {}

local function whole(v)
  return type(v) == "number" and v >= 1 and v == math.floor(v) and v < math.huge
end

-- Shape and dtype of an action, and the names and bounds of what step gets.
local function actions_of(o)
  local a = o.actions
  if whole(a) then return { {}, "i64" }, { { 0, a - 1 } } end
  local count = type(a) == "table" and 1 or nil
  if count then
    util.sequence("rl.trace: actions", a, "{ 2 }")
    for _, n in ipairs(a) do count = whole(n) and count and count * n end
  end
  if not count then
    util.fail("option", "rl.trace: actions: expected how many there are, or a shape of numbers "
      .. "such as { 2 }; got %s",
      a == nil and "nothing" or type(a) == "number" and tostring(a) or "a " .. type(a))
  end
  local components = {}
  for k = 1, count do components[k] = {} end
  return { a, "f32" }, components
end

local function check_game(game)
  if type(game) ~= "table" then
    util.fail("option", "rl.trace: expected a game, a table with the functions reset, step and "
      .. "observe; got a %s",
      type(game))
  end
  for _, name in ipairs { "reset", "step", "observe" } do
    if type(game[name]) ~= "function" then
      util.fail("option", "rl.trace: the game has no function '%s'", name)
    end
  end
end

local function check_action(env, action)
  local shape, dtype = env.spec.action[1], env.spec.action[2]
  if not util.is_tensor(action) then
    util.fail("option", "env:step: expected the action, a tensor, got a %s", type(action))
  end
  local got = action:shape()
  if table.concat(got, ",") ~= table.concat(shape, ",") then
    util.fail("shape", "env:step: the action has shape {%s}, not {%s}", table.concat(got, ", "),
      table.concat(shape, ", "))
  end
  if dtype == "i64" and not action:dtype():find "^[iu]" then
    util.fail("dtype", "env:step: the action is %s: one of %d actions is an i64", action:dtype(),
      env.spec.actions)
  end
end

---@class tempo.rl.TraceOptions
---@field domain tempo.Dims
---@field time tempo.Index
---@field actions integer|integer[]
---@field carry tempo.Index?
---@field max_steps integer?
---@field paths integer?
---@field name string?

---@class tempo.rl.Game
---@field reset function
---@field step function
---@field observe function

--- A game in plain Lua, recorded once and run as one copy for every point of `domain` but `time`;
--- what it gives is that of `rl.env`. A game is a table of functions on a table g of numbers,
--- booleans and tables of them:
---   reset(g)            makes the state of a first step in an empty table
---   step(g, action)     returns reward, terminated (a boolean) and, if it likes, truncated
---   observe(g)          returns the numbers that an agent sees, or a list of them
--- `actions` is how many actions there are, 0 to actions - 1, or a shape: step gets one number a
--- component then. `max_steps` ends an episode by the clock. math.random draws; `paths` is how
--- many ways through one function are followed at most.
---@param P tempo.Program
---@param game tempo.rl.Game
---@param o tempo.rl.TraceOptions
---@return tempo.rl.Env
function rl.trace(P, game, o)
  util.program("rl.trace", P)
  check_game(game)
  o = util.options("rl.trace", o, frame.options .. "max_steps actions paths")
  local action, components = actions_of(o)
  util.expect_options("rl.trace", "count", o, "max_steps paths")
  local recorder = require "tempo.rl.trace.recorder".new(o.paths or 10000)
  local nodes = {}
  for k, c in ipairs(components) do
    nodes[k] = recorder.graph:leaf("action", tostring(k), "number", c[1], c[2], c[1] ~= nil)
  end
  local got = recorder:record(game, nodes)
  local kind = require "tempo.rl.trace.environment"(P, got, o)
  kind.spec = { observation = { #got.observe }, actions = whole(o.actions) and o.actions or nil,
    action = action, max_steps = o.max_steps, draws = got.draws, paths = got.paths }
  local step = kind.step
  function kind.step(env, a)
    check_action(env, a)
    return step(env, a)
  end
  local env = frame.env("rl.trace", P, o, kind)
  env.start_draws = kind.start_draws
  return env
end

return rl

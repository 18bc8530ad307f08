-- Environments as recurrences: rl.env, rl.envs, and those that scripts and libraries add.
local tempo = require "tempo"
local util = require "tempo.util"
local frame = require "tempo.rl.frame"
local games = require "tempo.rl.game"

local rl = {}

--- Facts about each environment by its id, those that hosts, libraries (rl.load_env) and scripts
--- (rl.add_env) have added included: observation, a shape; actions, their number or the shape of
--- one; masked, if some may be illegal; max_steps, if there is a limit; uniforms, how many random
--- numbers a step takes, reset_uniforms of a reset. docs/environments.md describes ours.
rl.envs = {}

local module = getmetatable(tempo)
local envs = rl.envs

-- The facts about one, which may have numbers behind its id; nil: there is none.
local function facts(id)
  local game = not envs[id] and games.find(id)
  if not envs[id] then envs[id] = game and game.facts or module.environment(id) end
  return envs[id]
end

-- Completes rl.envs when it is read: one may be added at any time, and LuaJIT's `pairs` asks no
-- metatable.
local function complete_envs()
  for _, names in ipairs { module.environment(), games.names() } do
    for _, id in ipairs(names) do facts(id) end
  end
  return envs
end

--- Opens a library of environments (C, built against include/tempo_env.h), adds all that it has,
--- and returns their ids. The library stays until the process ends; loading it again gives the
--- same ids.
---@param path string
---@return string[]
function rl.load_env(path)
  util.expect("rl.load_env: the path", "string", path)
  return module.load_env(path)
end

--- Adds an environment of Lua functions, which rl.env knows by its name from then on:
---   state         how many numbers a state has (f64)
---   observation   the shape of one; without it the state is what is seen
---   actions       their number (an action is 0 .. n-1), or the shape of one
---   uniforms, reset_uniforms    random numbers of [0, 1) that a step takes (0), a reset (0)
---   max_steps     truncates an episode after so many steps
---   reset(s, u)   writes a state into s
---   step(s, action, u)    changes s; returns reward, terminated and, if it likes, truncated
---   observe(s, obs)       writes what is seen of s
--- s, u, obs and an action with a shape are lists, from 1, which are lent for the call. A
--- function's results depend on nothing else, so use u and not math.random. `pointers = true`,
--- under LuaJIT only: they are pointers, from 0, to f64 (obs, and actions with a shape: f32), and
--- step is compiled into the loop over all games: about ten times as fast. `batch = true`:
--- functions for n games at once, on all their numbers, a game after the other (of u those of a
--- step, then of a reset; of s with max_steps the number of steps last, which is not theirs):
---   reset(k, s, u)   writes the state of game k, from 0
---   step(n, s, action, u, reward, terminated, truncated)
---                    changes s; writes numbers, and booleans (pointers: 1)
---   observe(n, s, obs)
---@param name string
---@param game table
---@return string name
function rl.add_env(name, game) return games.add(name, game) end

-- An observation in its shape, and which actions are legal, if that stands behind it.
local function seen(spec, obs)
  local n = 1
  for _, extent in ipairs(spec.observation) do n = n * extent end
  local legal = spec.masked and obs:narrow(0, n, spec.actions):gt(0.5)
  if legal then obs = obs:narrow(0, 0, n) end
  return #spec.observation > 1 and obs:reshape(spec.observation) or obs, legal
end

-- How frame.env runs one in C.
local function compiled(P, id, spec)
  return {
    spec = spec,
    start = function(domain, name)
      local with = { dtype = "f64", domain = domain, name = name }
      return P:env_reset(id, tempo.uniform({ spec.reset_uniforms }, with))
    end,
    observe = function(state) return (seen(spec, P:env_obs(id, state))) end,
    legal = spec.masked and function(state)
      return (select(2, seen(spec, P:env_obs(id, state))))
    end,
    step = function(env, action)
      local with = { dtype = "f64", domain = env.domain, name = env.name .. ".reset" }
      local next, next_obs, reward, terminated, truncated =
        P:env_step(id, env.state, action, tempo.uniform({ spec.uniforms }, with))
      next_obs, env.next_legal = seen(spec, next_obs)
      return next, next_obs, reward, terminated, truncated
    end,
  }
end

--- An environment for every point of `domain` but `time`, along which it evolves:
---   local env = rl.env(P, "CartPole-v1", { domain = {i, b, t}, time = t })
---   env.obs                                     the observation at t, before the action
---   env:step(action)                            defines the state at t+1
---   env.reward .terminated .truncated .done     of the step at t; they may be read before env:step
---   is called
---   env.next_obs                                the observation after the step, before any reset
---   env.begins                                  bool: an episode's first point
---   env.legal, .next_legal                      bool: the actions that may be taken before and after
---   the step, if the environment masks some
--- At t = 0 an episode starts; with `carry = i` only where i = 0 too, and elsewhere the last step
--- of i-1 is continued.
---@param P tempo.Program
---@param id string "CartPole-v1"
---@param o { domain: tempo.Dims, time: tempo.Index, name?: string, carry?: tempo.Index }
---@return tempo.rl.Env
function rl.env(P, id, o)
  util.program("rl.env", P)
  o = util.options("rl.env", o, frame.options)
  local spec = type(id) == "string" and facts(id)
  if not spec then
    local _, hint = util.nearest(tostring(id), complete_envs())
    util.fail("option", "unknown environment '%s'%s", tostring(id), hint)
  end
  local env = frame.env("rl.env", P, o, games.kind(P, id, o) or compiled(P, id, spec))
  env.id = id
  return env
end

rl.complete_envs = complete_envs
return rl

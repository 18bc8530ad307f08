-- Environments as recurrences: rl.env, rl.envs, and what every environment of tempo.rl gives.
local tempo = require "tempo"
local util = require "tempo.util"

local rl = {}

--- Facts about each environment by its id, those that hosts, libraries (rl.load_env) and scripts (rl.add_env) have
--- added included: observation, a shape; actions, their number or the shape of one; max_steps, if there is a limit;
--- uniforms, how many random numbers a step takes, reset_uniforms of a reset. docs/environments.md describes ours.
rl.envs = {}

local module = getmetatable(tempo)
local games = require "tempo.rl.game"
local envs = rl.envs

-- The facts about one, which may have numbers behind its id; nil: there is none.
local function facts(id)
  local game = not envs[id] and games.find(id)
  if not envs[id] then envs[id] = game and game.facts or module.environment(id) end
  return envs[id]
end

-- Completes rl.envs when it is read: one may be added at any time, and LuaJIT's `pairs` asks no metatable.
local function complete_envs()
  for _, names in ipairs { module.environment(), games.names() } do
    for _, id in ipairs(names) do facts(id) end
  end
  return envs
end

--- Opens a library of environments (C, built against include/tempo_env.h), adds all that it has, and returns their
--- ids. What is loaded lasts until the process ends; loading it again gives the same ids.
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
---   uniforms, reset_uniforms    how many random numbers of [0, 1) a step takes (0), a reset (0)
---   max_steps     truncates an episode after so many steps
---   reset(s, u)   writes a state into s
---   step(s, action, u)    changes s; returns reward, terminated and, if it likes, truncated
---   observe(s, obs)       writes what is seen of s
--- s, u, obs and an action with a shape are lists, from 1, which are lent for the call. A function's results depend on
--- nothing else, so use u and not math.random. `pointers = true`, under LuaJIT only: they are pointers, from 0, to f64
--- (obs, and actions with a shape: f32), and step is compiled into the loop over all games: about ten times as fast.
--- `batch = true`: functions for n games at once, on all their numbers, a game after the other (of u those of a step,
--- then of a reset; of s with max_steps the number of steps last, which is not theirs):
---   reset(k, s, u)   writes the state of game k, from 0
---   step(n, s, action, u, reward, terminated, truncated)    changes s; writes numbers, and booleans (pointers: 1)
---   observe(n, s, obs)
---@param name string
---@param game table
---@return string name
function rl.add_env(name, game) return games.add(name, game) end

---@class tempo.rl.Env: tempo.rl.Trajectory
---@field obs tempo.Tensor
---@field next_obs tempo.Tensor
---@field done tempo.Tensor bool
---@field state tempo.Tensor
local Env = {}

-- The results of a step. A script may read one before the step: it is declared then, and the step defines it.
local given = {
  reward = function() return {}, "f32" end,
  terminated = function() return {}, "bool" end,
  truncated = function() return {}, "bool" end,
  done = function() return {}, "bool" end,
  next_obs = function(spec) return spec.observation, "f32" end,
}

local function env_index(env, key)
  if Env[key] or not given[key] then return Env[key] end
  local shape, dtype = given[key](env.spec)
  local x = env.program:tensor { domain = env.domain, shape = shape, dtype = dtype, name = env.name .. "." .. key }
  env[key] = x
  return x
end

-- Gives `key` its value: that of the tensor which was declared for it, or the place itself.
local function give(env, key, x)
  local declared = rawget(env, key)
  if declared then declared:otherwise(x) else env[key] = x end
end

-- An observation in its shape.
local function seen(spec, obs) return #spec.observation > 1 and obs:reshape(spec.observation) or obs end

--- An environment for every point of `domain` but `time`, along which it evolves:
---   local env = rl.env(P, "CartPole-v1", { domain = {i, b, t}, time = t })
---   env.obs                                     the observation at t, before the action
---   env:step(action)                            defines the state at t+1
---   env.reward .terminated .truncated .done     of the step at t; they may be read before env:step is called
---   env.next_obs                                the observation after the step, before any reset
--- At t = 0 an episode starts; with `carry = i` only where i = 0 too, and elsewhere the last step of i-1 is continued.
---@param P tempo.Program
---@param id string "CartPole-v1"
---@param o { domain: tempo.Dims, time: tempo.Index, name?: string, carry?: tempo.Index }
---@return tempo.rl.Env
function rl.env(P, id, o)
  util.program("rl.env", P)
  o = util.options("rl.env", o, "domain time name carry")
  local spec = type(id) == "string" and facts(id)
  if not spec then
    local _, hint = util.nearest(tostring(id), complete_envs())
    util.fail("option", "unknown environment '%s'%s", tostring(id), hint)
  end
  if not o.time then util.fail("option", "rl.env: time is missing; write { domain = {b, t}, time = t }") end
  util.expect_options("rl.env", "dim", o, "time carry")
  util.expect_options("rl.env", "string", o, "name")
  local domain, rest, has = util.domain("rl.env: domain", o.domain), {}, {}
  for _, d in ipairs(domain) do
    has[d] = true
    if d ~= o.time then rest[#rest + 1] = d end
  end
  for _, key in ipairs { "time", "carry" } do
    local d = o[key]
    if d and not has[d] then util.fail("domain", "rl.env: the dim '%s' of %s is not in the domain", d:name(), key) end
  end
  local name = o.name and util.take(P, o.name) or util.fresh(P, "env")
  local game = spec.game
  local over = game and games.over(domain, o.time, o.carry)
  local u = tempo.uniform({ game and spec.uniforms or spec.reset_uniforms },
    { dtype = "f64", domain = #rest > 0 and rest or nil, name = name .. ".start" })
  local start, first
  if game then start, first = games.first(P, game, rest, over, u) else start = P:env_reset(id, u) end
  local state = P:tensor { domain = domain, shape = start:shape(), dtype = "f64" }
  state:name(name .. ".state")
  local obs = game and P:tensor { domain = domain, shape = first:shape(), dtype = "f32" } or P:env_obs(id, state)
  return setmetatable({
    program = P, id = id, name = name, spec = spec, domain = domain, time = o.time, carry = o.carry, over = over,
    start = start, first = first, state = state, seen = obs, obs = seen(spec, obs),
  }, { __index = env_index })
end

-- Makes x begin as `first` and go on as what a step gives after it.
local function go_on(env, x, first, next)
  local t, i = env.time, env.carry
  if i then
    x[{ [t] = 0, [i] = 0 }] = first:at { [i] = 0 }
    x[{ [t] = 0 }] = next:at { [i] = i - 1, [t] = t:upper() - 1 }
  else
    x[{ [t] = 0 }] = first
  end
  x:otherwise(next:at { [t] = t - 1 })
end

--- Takes the action at every point, once; gives reward, terminated, truncated and next_obs.
---@param action tempo.Tensor i64
---@return tempo.Tensor reward
---@return tempo.Tensor terminated
---@return tempo.Tensor truncated
---@return tempo.Tensor next_obs
function Env:step(action)
  util.expect("env:step: the environment", "table", self)
  if self.stepped then util.fail("option", "rl.env: '%s' was stepped twice", self.name) end
  local P, game, state = self.program, self.spec.game, self.state
  local u = tempo.uniform({ self.spec.uniforms }, { dtype = "f64", domain = self.domain, name = self.name .. ".reset" })
  local next, next_obs, reward, terminated, truncated, after
  if game then
    next, next_obs, reward, terminated, truncated, after =
      games.step(P, game, self.domain, self.over, state, action, u)
    go_on(self, self.seen, self.first, after)
  else
    next, next_obs, reward, terminated, truncated = P:env_step(self.id, state, action, u)
  end
  go_on(self, state, self.start, next)
  self.stepped = true
  give(self, "reward", reward)
  give(self, "terminated", terminated)
  give(self, "truncated", truncated)
  give(self, "next_obs", seen(self.spec, next_obs))
  give(self, "done", terminated:lor(truncated))
  return self.reward, self.terminated, self.truncated, self.next_obs
end

rl.complete_envs = complete_envs
return rl

-- Environments as recurrences: rl.env, rl.envs, and what every environment of tempo.rl gives.
local tempo = require "tempo"
local util = require "tempo.util"

local rl = {}

--- Facts about each environment by its id, those that hosts, libraries (rl.load_env) and scripts (rl.lua_env) have
--- added included: observation, a shape; actions, their number or the shape of one; max_steps, if there is a limit;
--- uniforms, how many random numbers a step takes, reset_uniforms of a reset. docs/environments.md describes ours.
rl.envs = {}

local module = getmetatable(tempo)
local envs = rl.envs

-- The facts about one, which may have numbers behind its id; nil: there is none.
local function facts(id)
  if not envs[id] then envs[id] = module.environment(id) end
  return envs[id]
end

-- Completes rl.envs when it is read: one may be added at any time, and LuaJIT's `pairs` asks no metatable.
local function complete_envs()
  for _, id in ipairs(module.environment()) do facts(id) end
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
  local start = P:env_reset(id, tempo.uniform({ spec.reset_uniforms },
    { dtype = "f64", domain = #rest > 0 and rest or nil, name = name .. ".start" }))
  local state = P:tensor { domain = domain, shape = start:shape(), dtype = "f64" }
  state:name(name .. ".state")
  return setmetatable({
    program = P, id = id, name = name, spec = spec, domain = domain, time = o.time, carry = o.carry,
    start = start, state = state, obs = seen(spec, P:env_obs(id, state)),
  }, { __index = env_index })
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
  local P, t, state = self.program, self.time, self.state
  local u = tempo.uniform({ self.spec.uniforms }, { dtype = "f64", domain = self.domain, name = self.name .. ".reset" })
  local next, next_obs, reward, terminated, truncated = P:env_step(self.id, state, action, u)
  local i = self.carry
  if i then
    state[{ [t] = 0, [i] = 0 }] = self.start:at { [i] = 0 }
    state[{ [t] = 0 }] = next:at { [i] = i - 1, [t] = t:upper() - 1 }
  else
    state[{ [t] = 0 }] = self.start
  end
  state:otherwise(next:at { [t] = t - 1 })
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

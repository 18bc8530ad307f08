-- Environments as recurrences: rl.env, rl.envs, and what every environment of tempo.rl gives.
local tempo = require "tempo"
local util = require "tempo.util"
local frame = require "tempo.rl.frame"

local rl = {}

--- Facts about each environment by its id, those that a C host has registered included.
rl.envs = { ["CartPole-v1"] = { uniforms = 4, observation = { 4 }, actions = 2, max_steps = 500 } }

-- Completes rl.envs when it is read: a host may register one at any time, and LuaJIT's `pairs` asks no metatable.
local envs = rl.envs
local function complete_envs()
  local environment = getmetatable(tempo).environment
  for _, id in ipairs(environment()) do
    local uniforms, observation, actions = environment(id)
    envs[id] = envs[id]
      or { uniforms = uniforms, observation = { observation }, actions = actions > 0 and actions or nil }
  end
  return envs
end

--- An environment for every point of `domain` but `time`, along which it evolves:
---   local env = rl.env(P, "CartPole-v1", { domain = {i, b, t}, time = t })
---   env.obs                                     the observation at t, before the action
---   env:step(action)                            defines the state at t+1
---   env.reward .terminated .truncated .done     of the step at t; they may be read before env:step is called
---   env.next_obs                                the observation after the step, before any reset
---   env.begins                                  bool: an episode's first point
--- At t = 0 an episode starts; with `carry = i` only where i = 0 too, and elsewhere the last step of i-1 is continued.
---@param P tempo.Program
---@param id string "CartPole-v1"
---@param o { domain: tempo.Dims, time: tempo.Index, name?: string, carry?: tempo.Index }
---@return tempo.rl.Env
function rl.env(P, id, o)
  util.program("rl.env", P)
  o = util.options("rl.env", o, frame.options)
  local spec = type(id) == "string" and complete_envs()[id]
  if not spec then
    local _, hint = util.nearest(tostring(id), envs)
    util.fail("option", "unknown environment '%s'%s", tostring(id), hint)
  end
  local env = frame.env("rl.env", P, o, {
    spec = spec,
    start = function(domain, name)
      return P:env_reset(id, tempo.uniform({ spec.uniforms }, { dtype = "f64", domain = domain, name = name }))
    end,
    observe = function(state) return P:env_obs(id, state) end,
    step = function(self, action)
      local with = { dtype = "f64", domain = self.domain, name = self.name .. ".reset" }
      return P:env_step(id, self.state, action, tempo.uniform({ spec.uniforms }, with))
    end,
  })
  env.id = id
  return env
end

rl.complete_envs = complete_envs
return rl

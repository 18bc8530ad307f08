-- The frame of an environment: its state as a recurrence over time, its results before the step
-- that defines them, the episodes' first points. rl.env and rl.trace fill it.
local tempo = require "tempo"
local util = require "tempo.util"

local frame = {}

---@class tempo.rl.Env: tempo.rl.Trajectory
---@field obs tempo.Tensor before the action
---@field next_obs tempo.Tensor after the step, before any reset
---@field done tempo.Tensor bool: terminated or truncated
---@field begins tempo.Tensor bool: an episode's first point
---@field legal tempo.Tensor? bool: the actions that may be taken, where the environment masks some
---@field next_legal tempo.Tensor? the same of next_obs
---@field state tempo.Tensor|table
local Env = {}

-- f(x, its parts of the states a and b, key) of each tensor of a state, which is a tensor or a
-- table of them. In an order that is always the same, so that one script records one graph.
local function each(f, state, a, b)
  if type(state) ~= "table" then return f(state, a, b) end
  local out, keys = {}, {}
  for key in pairs(state) do keys[#keys + 1] = key end
  table.sort(keys, function(x, y) return tostring(x) < tostring(y) end)
  for _, key in ipairs(keys) do out[key] = f(state[key], a and a[key], b and b[key], key) end
  return out
end

local function declare(env, key, shape, dtype)
  local name = env.name .. "." .. key
  return env.program:tensor { domain = env.domain, shape = shape, dtype = dtype, name = name }
end

local function flag(env, v) return env.program:constant(tempo.array(v, "bool")) end

-- x[t] = after[t-1]; at t = 0 it is `first`, with carry at the first iteration only and
-- after[i-1, T-1] in the others, through which no gradient goes: it has been learnt from.
function frame.follow(env, x, first, after)
  local t, i = env.time, env.carry
  if i then
    x[{ [t] = 0, [i] = 0 }] = util.dimset(first)[i] and first:at { [i] = 0 } or first
    x[{ [t] = 0 }] = after:at { [i] = i - 1, [t] = t:upper() - 1 }:detach()
  else
    x[{ [t] = 0 }] = first
  end
  x:otherwise(after:at { [t] = t - 1 })
  return x
end

-- A script may read these before the step: tensors declared then, which the step defines.
local given = {
  reward = function(env) return declare(env, "reward", {}, "f32") end,
  terminated = function(env) return declare(env, "terminated", {}, "bool") end,
  truncated = function(env) return declare(env, "truncated", {}, "bool") end,
  done = function(env) return declare(env, "done", {}, "bool") end,
  next_obs = function(env) return declare(env, "next_obs", env.obs:shape(), env.obs:dtype()) end,
  begins = function(env)
    return frame.follow(env, declare(env, "begins", {}, "bool"), flag(env, true), env.done)
  end,
}

local function env_index(env, key)
  if Env[key] or not given[key] then return Env[key] end
  local x = given[key](env)
  env[key] = x
  return x
end

-- Gives `key` its value: that of the tensor which was declared for it, or the place itself.
local function give(env, key, x)
  local declared = rawget(env, key)
  if declared then declared:otherwise(x) else env[key] = x end
end

-- The options that all environments have, for util.options.
frame.options = "domain time name carry "

-- The dims of `domain` without time. Checks o.
local function dims_of(what, o)
  if not o.time then
    util.fail("option", "%s: time is missing; write { domain = {b, t}, time = t }", what)
  end
  util.expect_options(what, "dim", o, "time carry")
  util.expect_options(what, "string", o, "name")
  local domain, rest, has = util.domain(what .. ": domain", o.domain), {}, {}
  for _, d in ipairs(domain) do
    has[d] = true
    if d ~= o.time then rest[#rest + 1] = d end
  end
  for _, key in ipairs { "time", "carry" } do
    local d = o[key]
    if d and not has[d] then
      util.fail("domain", "%s: the dim '%s' of %s is not in the domain", what, d:name(), key)
    end
  end
  return domain, rest
end

-- An environment for every point of o.domain but o.time, along which it evolves; at t = 0 an
-- episode starts, with o.carry = i only where i = 0 too. `what` is the function's name in errors;
-- o has been checked to have no options but frame.options and the caller's own. kind:
--   start(domain, name)   the state in which an episode starts, drawn over these dims (nil: none):
--                         a tensor, or a table of tensors by name
--   observe(state)        obs
--   legal(state)          which actions may be taken (absent: all)
--   step(env, action)     from env.parts the state after it, in which an episode that is done has
--                         started anew (frame.reset), next_obs, reward, terminated, truncated (nil:
--                         never)
--   spec                  facts, for the script
function frame.env(what, P, o, kind)
  local domain, rest = dims_of(what, o)
  local name = o.name and util.take(P, o.name) or util.fresh(P, "env")
  local env = setmetatable({ program = P, name = name, spec = kind.spec, domain = domain,
    time = o.time, carry = o.carry, kind = kind }, { __index = env_index })
  env.start = kind.start(#rest > 0 and rest or nil, name .. ".start")
  env.parts = each(function(x, _, _, key)
    return declare(env, key and "state." .. tostring(key) or "state", x:shape(), x:dtype())
  end, env.start)
  env.state = env.parts                                      -- what scripts see of it
  env.obs = kind.observe(env.parts)
  env.legal = kind.legal and kind.legal(env.parts)
  return env
end

-- The state after a step, where an episode that is done starts anew.
function frame.reset(env, after, done)
  local start = env.kind.start(env.domain, env.name .. ".reset")
  return each(function(x, first) return tempo.where(done, first, x) end, after, start)
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
  local after, next_obs, reward, terminated, truncated = self.kind.step(self, action)
  self.stepped = true
  each(function(x, first, new) frame.follow(self, x, first, new) end, self.parts, self.start, after)
  truncated = truncated or flag(self, false)
  give(self, "reward", reward)
  give(self, "terminated", terminated)
  give(self, "truncated", truncated)
  give(self, "next_obs", next_obs)
  give(self, "done", terminated:lor(truncated))
  return self.reward, self.terminated, self.truncated, self.next_obs
end

return frame

--- tempo.rl: environments as recurrences, and returns written in the language.
---
--- A *trajectory* is an environment that was stepped, or a table with
---   reward       at (.., t), of the step taken at t
---   terminated   bool: the step ended the episode for good; nothing follows, its value is 0
---   truncated    bool: the step ended the episode by the clock; what would have followed has a value
---   time         the dim t
--- Environments reset themselves, so t+1 after an end is another episode. At a truncation a return goes on with the
--- value of `next_obs`, the observation *before* the reset (Pardo et al. 2018, "Time limits in reinforcement learning").
local tempo = require "tempo"
local util = require "tempo.util"

---@class tempo.rl.Trajectory
---@field reward tempo.Tensor
---@field terminated tempo.Tensor bool
---@field truncated tempo.Tensor? bool
---@field time tempo.Index

---@class tempo.rl
local rl = {}

-- ---- environments --------------------------------------------------------------------------------------------------

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
  local spec = type(id) == "string" and complete_envs()[id]
  if not spec then
    local _, hint = util.nearest(tostring(id), envs)
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
  local start = P:env_reset(id, tempo.uniform({ spec.uniforms },
    { dtype = "f64", domain = #rest > 0 and rest or nil, name = name .. ".start" }))
  local state = P:tensor { domain = domain, shape = start:shape(), dtype = "f64" }
  state:name(name .. ".state")
  return setmetatable({
    program = P, id = id, name = name, spec = spec, domain = domain, time = o.time, carry = o.carry,
    start = start, state = state, obs = P:env_obs(id, state),
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
  give(self, "next_obs", next_obs)
  give(self, "done", terminated:lor(truncated))
  return self.reward, self.terminated, self.truncated, self.next_obs
end

-- ---- returns: targets, so all of them are detached -----------------------------------------------------------------

-- Checks the trajectory and the options of the function `what`, which knows those named. Returns the options.
local function arguments(what, traj, o, known)
  util.expect(what .. ": the trajectory, a table with reward, terminated, truncated and time", "table", traj)
  for _, key in ipairs { "reward", "terminated" } do
    util.expect(what .. ": " .. key .. " of the trajectory", "tensor", traj[key])
  end
  util.expect_options(what .. ": the trajectory", "tensor", traj, "truncated done")
  util.expect(what .. ": time of the trajectory", "dim", traj.time)
  o = util.options(what, o, known)
  util.numbers(what, o, "gamma lambda")
  util.expect_options(what, "string", o, "name")
  util.expect_options(what, "extent", o, "n")
  return util.expect_options(what, "tensor", o, "value next_value")
end

-- done, and what an episode's end is worth at t: 0 at a termination, else the value of next_obs (0 without values).
local function ends(traj, o)
  local terminated = traj.terminated
  local done = traj.done or (traj.truncated and terminated:lor(traj.truncated)) or terminated
  local after = o.next_value and tempo.where(terminated, 0, o.next_value:detach())
  return done, after
end

-- x[T-1] = last, x[t] = rest(x[t+1]).
local function backward(t, name, last, rest)
  local x = last:program():tensor { domain = last:domain(), shape = last:shape(), dtype = last:dtype() }
  if name then x:name(name) end
  x[{ [t] = t:upper() - 1 }] = last
  x:otherwise(rest(x:at { [t] = t + 1 }))
  return x:detach()
end

--- Monte Carlo returns (Sutton and Barto, section 5 and eq. 3.9), from the end backwards:
---     G[t] = r[t] + gamma * ( 0               if terminated[t]
---                             V(next_obs[t])  if truncated[t], or t = T-1, where the recording is cut
---                             G[t+1]          otherwise )
--- next_value is V of next_obs; without it V = 0, which is biased wherever an episode is cut. gamma (1).
---@param traj tempo.rl.Trajectory
---@param o? { gamma?: number, next_value?: tempo.Tensor, name?: string }
---@return tempo.Tensor
function rl.monte_carlo(traj, o)
  o = arguments("rl.monte_carlo", traj, o, "gamma next_value name")
  local gamma, r = o.gamma or 1, traj.reward
  local done, after = ends(traj, o)
  local last = after and r + gamma * after or r + 0
  return backward(traj.time, o.name, last, function(later)
    return r + gamma * tempo.where(done, after or 0, later)
  end)
end

--- n-step returns (Sutton and Barto, eq. 7.1), from a window, so that G[t] is known at t+n-1. With m = min(n, T-t) rewards
--- in the window, c[k] = prod over j < k of (1 - done[t+j]):
---     G[t] = sum over k < m of  gamma^k c[k] ( r[t+k] + gamma done[t+k] V[t+k] )   an end in the window cuts the sum
---          + gamma^m c[m] V[t+m-1]                                                 none: go on with the last value
--- where V[u] = 0 if terminated[u], else the value of next_obs[u]; n >= 1.
---@param traj tempo.rl.Trajectory
---@param o { n: tempo.Number, gamma?: number, next_value?: tempo.Tensor, name?: string }
---@return tempo.Tensor
function rl.n_step(traj, o)
  o = arguments("rl.n_step", traj, o, "gamma n next_value name")
  local gamma, t, n = o.gamma or 1, traj.time, o.n
  if n == nil then util.fail("option", "rl.n_step: n is missing") end
  if type(n) == "number" and (n < 1 or n ~= math.floor(n)) then
    util.fail("option", "rl.n_step: n is %g; it must be an integer, 1 or more", n)
  end
  local done, after = ends(traj, o)
  local hi = tempo.min(t + n, t:upper())
  local function window(x, lo, to) return x:at { [t] = tempo.range(lo, to) } end

  local worth = traj.reward                                 -- a reward, and what its end is worth
  if after then worth = worth + gamma * tempo.where(done, after, 0) end
  local on = tempo.where(done, 0, tempo.full({}, gamma, { dtype = worth:dtype() }))      -- gamma (1 - done)
  -- gamma^k c[k] for k = 1 .. m-1 is the running product of `on` from t
  local g = worth + (window(on, t, hi - 1):cumprod(0) * window(worth, t + 1, hi)):sum(0)
  if after then
    g = g + window(on, t, hi):prod(0) * after:at { [t] = hi - 1 }
  end
  if o.name then g:name(o.name) end
  return g:detach()
end

--- The target of TD(0): r + gamma V(next_obs), 0 for V after a termination. Sutton and Barto, eq. 6.2.
---@param traj tempo.rl.Trajectory
---@param o { next_value: tempo.Tensor, gamma?: number }
---@return tempo.Tensor
function rl.td(traj, o)
  o = arguments("rl.td", traj, o, "gamma next_value")
  if not o.next_value then util.fail("option", "rl.td: next_value is missing") end
  local _, after = ends(traj, o)
  return (traj.reward + (o.gamma or 1) * after):detach()
end

--- Generalised advantages (Schulman et al. 2016, eq. 16), from the end backwards:
---     d[t] = r[t] + gamma V(next_obs[t]) - V(obs[t]),   A[t] = d[t] + gamma lambda (0 if done[t], else A[t+1])
---@param traj tempo.rl.Trajectory
---@param o { value: tempo.Tensor, next_value: tempo.Tensor, gamma?: number, lambda?: number, name?: string }
---@return tempo.Tensor A
---@return tempo.Tensor A + V, the target of the value
function rl.gae(traj, o)
  o = arguments("rl.gae", traj, o, "gamma lambda value next_value name")
  if not (o.value and o.next_value) then util.fail("option", "rl.gae: value and next_value are needed") end
  local gamma, lambda, value = o.gamma or 1, o.lambda or 0.95, o.value:detach()
  local done, after = ends(traj, o)
  local d = traj.reward + gamma * after - value
  local a = backward(traj.time, o.name, d, function(later)
    return d + gamma * lambda * tempo.where(done, 0, later)
  end)
  return a, a + value
end

-- ---- for logs ------------------------------------------------------------------------------------------------------

--- The sum of rewards since the episode began, this step included: where done holds, the episode's return. With `carry`
--- an episode that began in the iteration before counts from t = 0.
---@param traj tempo.rl.Trajectory
---@return tempo.Tensor
function rl.episode_return(traj)
  arguments("rl.episode_return", traj, nil, "")
  local t, r = traj.time, traj.reward
  local done = ends(traj, {})
  local sum = r:program():tensor { domain = r:domain(), shape = r:shape(), dtype = r:dtype() }
  sum[{ [t] = 0 }] = r
  sum:otherwise(r + tempo.where(done:at { [t] = t - 1 }, 0, sum:at { [t] = t - 1 }))
  return sum
end

--- Adds up the returns of episodes that ended (terminated or truncated) over the dims in `over`, which has time, and
--- counts these episodes: their mean return is sum / number.
---@param traj tempo.rl.Trajectory
---@param over tempo.Index[]
---@return tempo.Tensor the sum of returns
---@return tempo.Tensor their number
---@return tempo.Tensor the mean return so far at the last step, for when none ended
function rl.episodes(traj, over)
  arguments("rl.episodes", traj, nil, "")
  for _, d in ipairs(util.sequence("rl.episodes", over, "{ b, t }")) do util.expect("rl.episodes: over", "dim", d) end
  local t, score = traj.time, rl.episode_return(traj)
  local done = ends(traj, {}):to(score:dtype())
  local all, others = {}, {}
  for _, d in ipairs(over) do
    all[d] = tempo.range(0, d:upper())
    if d ~= t then others[d] = all[d] end
  end
  local last = score:at { [t] = t:upper() - 1 }
  if next(others) then last = last:at(others) end
  return (done * score):at(all):sum(), done:at(all):sum(), last:mean()
end

rl.envs = nil
local missing = getmetatable(util.library("rl", rl))
local unknown = missing.__index
function missing.__index(lib, key) return key == "envs" and complete_envs() or unknown(lib, key) end
return rl

-- Losses of policies, running statistics.
local tempo = require "tempo"
local util = require "tempo.util"
local nn = require "tempo.nn"
local frame = require "tempo.rl.frame"

local rl = {}

-- The mean over the axes of x and over the dims in `over`.
local function averaged(x, over)
  if #x:shape() > 0 then x = x:mean() end
  local has, ranges = util.dimset(x), {}
  for _, d in ipairs(over) do
    if has[d] then ranges[d] = tempo.range(0, d:upper()) end
  end
  return next(ranges) and x:at(ranges):mean() or x
end

--- How far a policy has moved, from samples of the old one: the mean of (r - 1) - log r, where
--- r = new / old (Schulman 2020, "Approximating KL divergence", k3; never negative). It has no
--- gradient.
---@param log_ratio tempo.Tensor the new log probability of what was done minus the old one
---@param o? { over?: tempo.Dims } dims whose points are examples too
---@return tempo.Tensor
function rl.kl(log_ratio, o)
  o = util.options("rl.kl", o, "over")
  local r = util.expect("rl.kl: log_ratio", "tensor", log_ratio):detach()
  return averaged(r:expm1() - r, util.domain("rl.kl: over", o.over))
end

-- The squared miss of the value; with value_clip the larger of that and the miss of a value that
-- has moved by at most so much.
local function misses(o)
  local miss = (o.value - o.target:detach()):square()
  if not o.value_clip then return miss end
  if not o.old_value then util.fail("option", "rl.ppo_loss: value_clip needs old_value") end
  local old = o.old_value:detach()
  local near = old + (o.value - old):clamp(-o.value_clip, o.value_clip)
  return miss:maximum((near - o.target:detach()):square())
end

local tensors = "log_ratio advantage value target old_value entropy"

--- The loss of PPO (Schulman et al. 2017, eqs. 7 and 9), a mean over the axes of what is given and
--- over the dims in `over`. With r = exp(log_ratio):
---   policy = -min(r A, clamp(r, 1 - clip, 1 + clip) A)
---   value  = (V - target)^2 / 2;  value_clip: the larger of that and that of a V which has moved
---            from old_value by value_clip at most
---   loss   = policy + value_coef value - entropy_coef entropy
--- Without value or entropy these parts are 0. No gradient goes to advantage, target and old_value.
---@param o { log_ratio: tempo.Tensor, advantage: tempo.Tensor, value?: tempo.Tensor, target?: tempo.Tensor, old_value?: tempo.Tensor, entropy?: tempo.Tensor, clip?: number, value_clip?: number, value_coef?: number, entropy_coef?: number, over?: tempo.Dims }
---@return tempo.Tensor loss
---@return table<string, tempo.Tensor> policy, value, entropy, kl, clip_fraction: for logs
function rl.ppo_loss(o)
  local what = "rl.ppo_loss"
  o = util.options(what, util.expect(what, "table", o), tensors
    .. " clip value_clip value_coef entropy_coef over")
  util.expect_options(what, "tensor", o, tensors)
  util.numbers(what, o, "clip value_clip value_coef entropy_coef")
  util.expect(what .. ": log_ratio", "tensor", o.log_ratio)
  util.expect(what .. ": advantage", "tensor", o.advantage)
  if (o.value == nil) ~= (o.target == nil) then
    util.fail("option", "%s: value and target go together", what)
  end
  local over = util.domain(what .. ": over", o.over)
  local clip, ratio, advantage = o.clip or 0.2, o.log_ratio:exp(), o.advantage:detach()
  local gain = (ratio * advantage):minimum(ratio:clamp(1 - clip, 1 + clip) * advantage)
  local loss = -averaged(gain, over)
  local stats = { policy = loss:detach(), kl = rl.kl(o.log_ratio, { over = over }),
    clip_fraction = averaged((ratio:detach() - 1):abs():gt(clip):to(ratio:dtype()), over) }
  if o.value then
    local value = 0.5 * averaged(misses(o), over)
    loss, stats.value = loss + (o.value_coef or 0.5) * value, value:detach()
  end
  if o.entropy then
    local entropy = averaged(o.entropy, over)
    loss, stats.entropy = loss - (o.entropy_coef or 0.01) * entropy, entropy:detach()
  end
  return loss, stats
end

-- ---- running statistics ----------------------------------------------------------------------

--- The discounted sum of rewards since the episode began, going on over `carry`, for the scale of
--- rewards: R[t] = r[t] + gamma (0 if an episode begins at t, else R[t-1]).
---@param env tempo.rl.Env
---@param o? { gamma?: number }
---@return tempo.Tensor
function rl.running_return(env, o)
  util.expect("rl.running_return: the environment", "table", env)
  util.expect("rl.running_return: begins of the environment", "tensor", env.begins)
  o = util.options("rl.running_return", o, "gamma")
  util.numbers("rl.running_return", o, "gamma")
  local before = env.reward:program():tensor { domain = env.domain, shape = {},
    dtype = env.reward:dtype() }
  local sum = env.reward + (o.gamma or 1) * before
  frame.follow(env, before, tempo.zeros({}, { dtype = sum:dtype() }), tempo.where(env.done, 0, sum))
  return sum:detach()
end

---@class tempo.rl.Normalize: tempo.nn.Module
---@field mean tempo.Tensor
---@field var tempo.Tensor
---@field count tempo.Tensor
local Normalize = nn.class "Normalize"

-- The mean of x over all dims that the state lacks, and their number of points.
local function mean_over(x, state)
  local has, ranges, n = util.dimset(state), {}, 1
  for _, d in ipairs(x:domain()) do
    if not has[d] then
      ranges[d] = tempo.range(0, d:upper())
      n = n * d:upper()
    end
  end
  if n == 1 then return x, 1 end
  local all, axes = x:at(ranges), {}
  for k = 0, #all:shape() - #x:shape() - 1 do axes[#axes + 1] = k end
  return all:mean(axes), type(n) == "number" and n or n:value():to(x:dtype())
end

--- Mean and deviation of x so far, to bring inputs or rewards to one size: a module with the states
--- mean, var and count along {i}, kept with the parameters.
---   local scale = rl.normalize(P, env.obs, { along = {i} })
---   local obs = scale(env.obs)              (x - mean) / sqrt(var + eps), within +-clip (10)
--- At i they are those of all points of x before i (at first 0 and 1), so what was seen in an
--- iteration stays as it was seen. Each point takes in the mean over all dims of x that it lacks
--- (Chan et al. 1979); domain = {s} beside along for one of each. With center = false the mean
--- stays where it is: for rewards, whose sign counts,
---   local scale = rl.normalize(P, rl.running_return(env, { gamma = 0.99 }),
---     { along = {i}, center = false })
---   local reward = scale(env.reward)
---@param P tempo.Program
---@param x tempo.Tensor
---@param o { along: tempo.Dims, domain?: tempo.Dims, name?: string, clip?: number, eps?: number, center?: boolean }
---@return tempo.rl.Normalize
function rl.normalize(P, x, o)
  local what = "rl.normalize"
  util.program(what, P)
  util.expect(what .. ": x", "tensor", x)
  o = util.options(what, o, "along domain name clip eps center")
  util.numbers(what, o, "clip eps")
  util.expect_options(what, "boolean", o, "center")
  if #util.list(o.along) == 0 then
    util.fail("option", "%s: along is missing: the dim along which statistics move, { i }", what)
  end
  x = x:detach()
  local self = Normalize:create(P, { along = o.along, domain = o.domain, dtype = x:dtype(),
    name = o.name })
  self.clip, self.eps, self.center = o.clip or 10, o.eps or 1e-8, o.center ~= false
  self:buffer("mean", x:shape(), { init = 0 })
  self:buffer("var", x:shape(), { init = 1 })
  self:buffer("count", {}, { init = 0 })
  local mean, n = mean_over(x, self.mean)
  local var = mean_over((x - mean):square(), self.mean)
  local total, delta = self.count + n, mean - self.mean
  local old = self.count / total
  self.mean:update((self.mean + delta * (1 - old)):detach())
  self.var:update((self.var * old + var * (1 - old) + delta:square() * old * (1 - old)):detach())
  self.count:update(total:detach())
  return self
end

function Normalize:forward(x)
  local y = self.center and x - self.mean or x
  return (y / (self.var + self.eps):sqrt()):clamp(-self.clip, self.clip)
end

return rl

--- tempo.dist: distributions, after torch.distributions. Samples are detached; a draw has exactly the domain it is
--- given, by default that of the distribution's own tensors.
local tempo = require "tempo"
local util = require "tempo.util"

---@class tempo.dist
local dist = {}

local function draw_options(what, o, domain)
  o = util.options(what, o, "name domain key")
  local d = o.domain or domain
  return { name = o.name, domain = #d > 0 and d or nil, key = o.key }
end

-- ---- Categorical ---------------------------------------------------------------------------------------------------
---@class tempo.dist.Categorical
---@field logits tempo.Tensor normalised
---@field probs tempo.Tensor
---@field mode tempo.Tensor i64
local categorical = {}
-- Made when first asked for: a script that only samples records nothing else.
local lazy = {
  logits = function(self) return self.scores:log_softmax(-1) end,          -- normalised, as torch's
  probs = function(self) return self.scores:softmax(-1) end,
  scores = function(self) return self.probs:log() end,                   -- for draws: 0 is never drawn
  mode = function(self) return self.scores:argmax(-1) end,
}
local Categorical = {
  __index = function(self, key)
    if categorical[key] then return categorical[key] end
    local made = lazy[key] and lazy[key](self)
    rawset(self, key, made)
    return made
  end,
}

-- As torch clamps probabilities before it takes logarithms: those of 0 stay finite and have the gradient 0.
local epsilon = { f16 = 2 ^ -10, bf16 = 2 ^ -7, f32 = 2 ^ -23, f64 = 2 ^ -52 }

--- Of logits or probs over the last axis. Fields: logits (normalised), probs, mode.
---@param o { logits?: tempo.Tensor, probs?: tempo.Tensor } one of them
---@return tempo.dist.Categorical
function dist.Categorical(o)
  o = util.options("dist.Categorical", o, "logits probs")
  if (o.logits == nil) == (o.probs == nil) then
    util.fail("option", "dist.Categorical: give either logits or probs")
  end
  local scores = o.logits
  if not util.is_tensor(scores or o.probs) then
    util.fail("option", "dist.Categorical: logits and probs are tensors, got a %s", type(scores or o.probs))
  end
  if scores then return setmetatable({ scores = scores }, Categorical) end
  local p = o.probs / o.probs:sum(-1, { keepdim = true })
  local eps = epsilon[p:dtype()]
  return setmetatable({ probs = p, logits = p:clamp(eps, 1 - eps):log() }, Categorical)
end

--- A category by the Gumbel-max trick: argmax(logits - log(-log u)). One of logit -inf is never drawn.
---@param o? { name?: string, domain?: tempo.Dims, key?: tempo.Operand }
---@return tempo.Tensor i64
function categorical:sample(o)
  local scores = self.scores:detach()
  local with = draw_options("Categorical:sample", o, scores:domain())
  local u = tempo.uniform(scores:shape(), with)
  return (scores - (-u:log()):log()):argmax(-1)
end

--- The logarithm of the probability of category a.
---@param a tempo.Tensor i64
---@return tempo.Tensor
function categorical:log_prob(a)
  return self.logits:gather(-1, a:unsqueeze(-1)):squeeze(-1)
end

--- -sum p log p, in which 0 log 0 = 0.
---@return tempo.Tensor
function categorical:entropy()
  return -(self.probs * self.logits:maximum(-1e30)):sum(-1)
end

-- ---- Normal --------------------------------------------------------------------------------------------------------
---@class tempo.dist.Normal
local normal = {}
local Normal = { __index = normal }
local half_log_2pi = 0.5 * math.log(2 * math.pi)

--- Elementwise. Fields: mean, std.
---@param mean tempo.Tensor|number
---@param std tempo.Tensor|number
---@return tempo.dist.Normal
function dist.Normal(mean, std)
  if not (util.is_tensor(mean) or util.is_tensor(std)) then
    util.fail("option", "dist.Normal: mean or std must be a tensor")
  end
  return setmetatable({ mean = mean, std = std }, Normal)
end

local function log_std(self)
  return type(self.std) == "number" and math.log(self.std) or self.std:log()
end

--- mean + std z, through which gradients go.
---@param o? { name?: string, domain?: tempo.Dims, key?: tempo.Operand }
---@return tempo.Tensor
function normal:rsample(o)
  local both = self.mean + self.std
  local with = draw_options("Normal:sample", o, both:domain())
  with.dtype = both:dtype()
  return self.mean + self.std * tempo.normal(both:shape(), with)
end

--- rsample, detached.
---@param o? { name?: string, domain?: tempo.Dims, key?: tempo.Operand }
---@return tempo.Tensor
function normal:sample(o) return self:rsample(o):detach() end

--- The logarithm of the density at x, elementwise.
---@param x tempo.Tensor
---@return tempo.Tensor
function normal:log_prob(x)
  local z = (x - self.mean) / self.std
  return -0.5 * z * z - log_std(self) - half_log_2pi
end

--- log(std) + (1 + log(2 pi)) / 2, elementwise.
---@return tempo.Tensor
function normal:entropy()
  local e = log_std(self) + (0.5 + half_log_2pi)
  if type(e) == "number" then return tempo.full(self.mean:shape(), e, { dtype = self.mean:dtype() }) end
  return e
end

return util.library("dist", dist)

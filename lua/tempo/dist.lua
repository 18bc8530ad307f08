--- tempo.dist: distributions, after torch.distributions. Samples are detached; a draw has exactly
--- the domain it is given, by default that of the distribution's own tensors. All have sample,
--- log_prob and mode; rsample (gradients go through it), entropy, mean and kl where there is a
--- formula.
local tempo = require "tempo"
local util = require "tempo.util"

local unpack = table.unpack or unpack       -- luacheck: globals unpack
local where = tempo.where

---@class tempo.dist
local dist = {}

-- ---- the common part ----------------------------------------------------------------------------
---@class tempo.dist.Distribution
---@field mode tempo.Tensor the likeliest value
---@field mean tempo.Tensor
local Distribution = {}

-- A class of distributions: its methods; fields that are made when first asked for, so that a
-- script that only samples records nothing else; what it lacks, and what to write instead.
local function class(name, methods, fields, lacks)
  for key, f in pairs(Distribution) do methods[key] = methods[key] or f end
  local meta = { methods = methods, _type = name }
  function meta.__index(self, key)
    if methods[key] then return methods[key] end
    if lacks and lacks[key] then
      util.fail("option", "dist.%s has no %s: %s", name, key, lacks[key])
    end
    local made = fields[key] and fields[key](self)
    rawset(self, key, made)
    return made
  end
  return meta
end

local function type_of(d)
  local meta = type(d) == "table" and getmetatable(d)
  return meta and meta.methods and meta._type
end

--- The divergence of p from q, E_p[log p - log q]: one number for each that log_prob gives. Both
--- are of one class.
---@param p tempo.dist.Distribution
---@param q tempo.dist.Distribution
---@return tempo.Tensor
function dist.kl(p, q)
  local a, b = type_of(p), type_of(q)
  if not a or a ~= b then
    util.fail("option", "dist.kl: expected two distributions of one class, got %s and %s",
      a and "dist." .. a or type(p), b and "dist." .. b or type(q))
  end
  return p:_kl(q)
end

--- dist.kl(self, q).
---@param q tempo.dist.Distribution
---@return tempo.Tensor
function Distribution:kl(q) return dist.kl(self, q) end

local joint = {}
local Joint

--- The joint distribution of what lies along an axis: log_prob, entropy and kl are summed over it;
--- all else is as it was.
---@param axis? integer|integer[] of log_prob (the last)
---@return tempo.dist.Distribution
function Distribution:sum(axis)
  return setmetatable({ parts = self, axis = axis or -1 }, Joint)
end

local function draw_options(what, o, domain)
  o = util.options(what, o, "name domain key")
  local d = o.domain or domain
  return { name = o.name, domain = #d > 0 and d or nil, key = o.key }
end

-- Options of one of several draws.
local function part(o, suffix)
  local name = o.name and o.name .. "." .. suffix
  return { name = name, domain = o.domain, key = o.key, dtype = o.dtype }
end

-- As torch clamps probabilities before it takes logarithms: those of 0 stay finite and have the
-- gradient 0.
local epsilon = { f16 = 2 ^ -10, bf16 = 2 ^ -7, f32 = 2 ^ -23, f64 = 2 ^ -52 }

-- Checks logits or probs, one of them. Returns o.
local function logits_or_probs(what, o, known)
  if util.is_tensor(o) then
    util.fail("option", "%s: options go by name: %s { logits = x }, or { probs = x }", what, what)
  end
  o = util.options(what, o, "logits probs " .. known)
  if (o.logits == nil) == (o.probs == nil) then
    util.fail("option", "%s: give either logits or probs", what)
  end
  local given = o.logits or o.probs
  if not util.is_tensor(given) then
    util.fail("option", "%s: logits and probs are tensors, got a %s", what, type(given))
  end
  return util.expect_options(what, "tensor", o, "mask")
end

local function logarithm(p)
  local eps = epsilon[p:dtype()]
  return p:clamp(eps, 1 - eps):log()
end

-- ---- Categorical --------------------------------------------------------------------------------
---@class tempo.dist.Categorical: tempo.dist.Distribution
---@field logits tempo.Tensor normalised
---@field probs tempo.Tensor
---@field mode tempo.Tensor i64
local categorical = {}

-- The logit of a category that the mask forbids: its probability is 0, and 0 times it is 0, which
-- -inf would not be.
local function forbidden(dtype) return dtype == "f16" and -65504 or -1e30 end

--- A category by logits or probs over the last axis. Its probability is 0 where `mask` (bool, as
--- logits or broadcast to them) is false: never drawn, no part of entropy or gradients. If nothing
--- is allowed, all are equal. Fields: logits (normalised), probs, mode.
---@param o { logits?: tempo.Tensor, probs?: tempo.Tensor, mask?: tempo.Tensor } logits or probs
---@return tempo.dist.Categorical
function dist.Categorical(o)
  o = logits_or_probs("dist.Categorical", o, "mask")
  local mask = o.mask
  if o.logits then
    local scores = mask and where(mask, o.logits, forbidden(o.logits:dtype())) or o.logits
    return setmetatable({ scores = scores }, categorical.meta)
  end
  local p = mask and where(mask, o.probs, 0) or o.probs
  p = p / p:sum(-1, { keepdim = true })
  return setmetatable({ probs = p, logits = logarithm(p) }, categorical.meta)
end

--- A category by the Gumbel-max trick: argmax(logits - log(-log u)). One of logit -inf is never
--- drawn.
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

-- Normalised logits without infinities, which 0 times would make NaN.
local function finite(self) return self.logits:maximum(forbidden(self.logits:dtype())) end

--- -sum p log p, in which 0 log 0 = 0.
---@return tempo.Tensor
function categorical:entropy() return -(self.probs * finite(self)):sum(-1) end

function categorical:_kl(q) return (self.probs * (finite(self) - finite(q))):sum(-1) end

categorical.meta = class("Categorical", categorical, {
  logits = function(self) return self.scores:log_softmax(-1) end,          -- normalised, as torch's
  probs = function(self) return self.scores:softmax(-1) end,
  -- for draws: 0 is never drawn
  scores = function(self) return self.probs:log() end,
  mode = function(self) return self.scores:argmax(-1) end,
}, { mean = "categories have none", rsample = "categories have no gradient; weigh by log_prob" })

-- ---- MultiCategorical ---------------------------------------------------------------------------
---@class tempo.dist.MultiCategorical: tempo.dist.Distribution
---@field parts tempo.dist.Categorical[]
---@field mode tempo.Tensor i64
local multi = {}

--- Several independent categories at once, of `sizes` categories each, whose logits (or probs, and
--- mask) lie one after the other on the last axis. A value has a category of each part on its last
--- axis; log_prob, entropy and kl are those of all parts together. Fields: parts (a list of
--- Categorical), mode.
---@param o { sizes: integer[], logits?: tempo.Tensor, probs?: tempo.Tensor, mask?: tempo.Tensor }
---@return tempo.dist.MultiCategorical
function dist.MultiCategorical(o)
  local what = "dist.MultiCategorical"
  o = logits_or_probs(what, o, "mask sizes")
  local parts, at, all = {}, 0, 0
  for _, n in ipairs(util.sequence(what .. ": sizes", o.sizes, "{ 3, 2 }")) do
    all = all + util.expect(what .. ": sizes", "count", n)
  end
  local shape = (o.logits or o.probs):shape()
  local last = shape[#shape]
  if all == 0 or type(last) == "number" and last ~= all then
    util.fail("shape", "%s: sizes make %d, the last axis has %s", what, all, tostring(last))
  end
  for k, n in ipairs(o.sizes) do
    local function cut(x) return x and x:slice(-1, at, at + n) end
    parts[k] = dist.Categorical { logits = cut(o.logits), probs = cut(o.probs), mask = cut(o.mask) }
    at = at + n
  end
  return setmetatable({ parts = parts }, multi.meta)
end

--- A category of each part.
---@param o? { name?: string, domain?: tempo.Dims, key?: tempo.Operand }
---@return tempo.Tensor i64
function multi:sample(o)
  o = util.options("MultiCategorical:sample", o, "name domain key")
  local a = {}
  for k, d in ipairs(self.parts) do a[k] = d:sample(part(o, k)) end
  return tempo.stack(a, -1)
end

local function total(parts, f)
  local sum = f(parts[1], 1)
  for k = 2, #parts do sum = sum + f(parts[k], k) end
  return sum
end

--- The logarithm of the probability of these categories together.
---@param a tempo.Tensor i64
---@return tempo.Tensor
function multi:log_prob(a)
  return total(self.parts, function(d, k) return d:log_prob(a:select(-1, k - 1)) end)
end

--- The sum of the parts' entropies.
---@return tempo.Tensor
function multi:entropy() return total(self.parts, function(d) return d:entropy() end) end

function multi:_kl(q)
  if #q.parts ~= #self.parts then
    util.fail("shape", "dist.kl: %d categories at once, and %d", #self.parts, #q.parts)
  end
  return total(self.parts, function(d, k) return d:_kl(q.parts[k]) end)
end

multi.meta = class("MultiCategorical", multi, {
  mode = function(self)
    local a = {}
    for k, d in ipairs(self.parts) do a[k] = d.mode end
    return tempo.stack(a, -1)
  end,
}, { mean = "categories have none", rsample = "categories have no gradient; weigh by log_prob" })

-- ---- Bernoulli ----------------------------------------------------------------------------------
---@class tempo.dist.Bernoulli: tempo.dist.Distribution
---@field logits tempo.Tensor log(p / (1 - p))
---@field probs tempo.Tensor
local bernoulli = {}

--- Elementwise: 1 with probability p, else 0, in the dtype of logits or probs. Fields: logits,
--- probs, mean, mode.
---@param o { logits?: tempo.Tensor, probs?: tempo.Tensor } one of them
---@return tempo.dist.Bernoulli
function dist.Bernoulli(o)
  o = logits_or_probs("dist.Bernoulli", o, "")
  return setmetatable({ logits = o.logits, probs = o.probs }, bernoulli.meta)
end

--- 0 or 1.
---@param o? { name?: string, domain?: tempo.Dims, key?: tempo.Operand }
---@return tempo.Tensor
function bernoulli:sample(o)
  local p = self.probs:detach()
  local with = draw_options("Bernoulli:sample", o, p:domain())
  with.dtype = p:dtype()
  return tempo.uniform(p:shape(), with):lt(p):to(p:dtype())
end

--- The logarithm of the probability of x, which is 0 or 1 (or a bool).
---@param x tempo.Tensor
---@return tempo.Tensor
function bernoulli:log_prob(x)
  return x:to(self.logits:dtype()) * self.logits - self.logits:softplus()
end

--- -p log p - (1 - p) log(1 - p).
---@return tempo.Tensor
function bernoulli:entropy()
  local l, p = self.logits, self.logits:sigmoid()
  return p * (-l):softplus() + (1 - p) * l:softplus()
end

function bernoulli:_kl(q)
  local l, m, p = self.logits, q.logits, self.logits:sigmoid()
  return p * ((-m):softplus() - (-l):softplus()) + (1 - p) * (m:softplus() - l:softplus())
end

bernoulli.meta = class("Bernoulli", bernoulli, {
  logits = function(self) return logarithm(self.probs) - logarithm(1 - self.probs) end,
  probs = function(self) return self.logits:sigmoid() end,
  mean = function(self) return self.probs end,
  mode = function(self) return self.probs:gt(0.5):to(self.probs:dtype()) end,
}, { rsample = "0 and 1 have no gradient; weigh by log_prob" })

-- ---- Normal -------------------------------------------------------------------------------------
---@class tempo.dist.Normal: tempo.dist.Distribution
---@field std tempo.Tensor
local normal = {}
local half_log_2pi = 0.5 * math.log(2 * math.pi)

local function normal_of(what, meta, mean, std)
  if not (util.is_tensor(mean) or util.is_tensor(std)) then
    util.fail("option", "%s: mean or std must be a tensor", what)
  end
  return setmetatable({ mean = mean, std = std }, meta)
end

--- Elementwise. Fields: mean, std, mode.
---@param mean tempo.Tensor|number
---@param std tempo.Tensor|number
---@return tempo.dist.Normal
function dist.Normal(mean, std) return normal_of("dist.Normal", normal.meta, mean, std) end

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
  if type(e) ~= "number" then return e end
  return tempo.full(self.mean:shape(), e, { dtype = self.mean:dtype() })
end

function normal:_kl(q)
  local z, ratio = (self.mean - q.mean) / q.std, self.std / q.std
  return 0.5 * (z * z + ratio * ratio - 1) + (log_std(q) - log_std(self))
end

normal.meta = class("Normal", normal, { mode = function(self) return self.mean end })

-- ---- TanhNormal ---------------------------------------------------------------------------------
---@class tempo.dist.TanhNormal: tempo.dist.Distribution
---@field base tempo.dist.Normal
local squashed = {}

--- Elementwise: tanh(x) of a normal x, in -1 .. 1 (Haarnoja et al. 2018, appendix C). Fields: base,
--- the normal; mode, tanh(mean), the median, which acts where nothing is drawn.
---@param mean tempo.Tensor|number
---@param std tempo.Tensor|number
---@return tempo.dist.TanhNormal
function dist.TanhNormal(mean, std)
  local base = normal_of("dist.TanhNormal", normal.meta, mean, std)
  return setmetatable({ base = base, drawn = {} }, squashed.meta)
end

-- tanh(x), which log_prob then knows the x of: near -1 and 1 the inverse of tanh has few digits.
local function squash(self, x, detached)
  local y = x:tanh()
  y = detached and y:detach() or y
  self.drawn[y] = detached and x:detach() or x
  return y
end

--- tanh(mean + std z), through which gradients go.
---@param o? { name?: string, domain?: tempo.Dims, key?: tempo.Operand }
---@return tempo.Tensor
function squashed:rsample(o) return squash(self, self.base:rsample(o)) end

--- rsample, detached.
---@param o? { name?: string, domain?: tempo.Dims, key?: tempo.Operand }
---@return tempo.Tensor
function squashed:sample(o) return squash(self, self.base:rsample(o), true) end

--- The logarithm of the density at y = tanh(x), elementwise: log N(x) - 2 (log 2 - x - softplus(-2
--- x)). For a tensor that this distribution drew, x is the one that was drawn; for any other, the
--- inverse of the nearest y inside (-1, 1).
---@param y tempo.Tensor
---@return tempo.Tensor
function squashed:log_prob(y)
  local x = self.drawn[y]
  if not x then
    local most = 1 - epsilon[y:dtype()] / 2
    local inside = y:clamp(-most, most)
    x = 0.5 * (inside:log1p() - (-inside):log1p())
  end
  return self.base:log_prob(x) - 2 * (math.log(2) - x - (-2 * x):softplus())
end

function squashed:_kl(q) return self.base:_kl(q.base) end

squashed.meta = class("TanhNormal", squashed, {
  mode = function(self) return (self.base.mean + 0 * self.base.std):tanh() end,
}, {
  entropy = "there is no formula; -d:log_prob(d:rsample()) estimates it",
  mean = "there is no formula; mode is tanh(mean)",
})

-- ---- Beta ---------------------------------------------------------------------------------------
---@class tempo.dist.Beta: tempo.dist.Distribution
---@field alpha tempo.Tensor
---@field beta tempo.Tensor
local beta = {}

--- Elementwise, on 0 .. 1, with density x^(alpha - 1) (1 - x)^(beta - 1) / B(alpha, beta). Fields:
--- alpha, beta, mean, mode.
---@param alpha tempo.Tensor|number above 0
---@param b tempo.Tensor|number above 0
---@return tempo.dist.Beta
function dist.Beta(alpha, b)
  if not (util.is_tensor(alpha) or util.is_tensor(b)) then
    util.fail("option", "dist.Beta: alpha or beta must be a tensor")
  end
  local none = (alpha + b) * 0                              -- both get one shape and one domain
  return setmetatable({ alpha = alpha + none, beta = b + none }, beta.meta)
end

-- Stirling's series at y = x + 8, where five terms leave 1e-12, and the recurrence back to x > 0.
-- In f64: what a density needs of it are small differences of large numbers.
local function lgamma(x)
  local shifted, y = x, x + 8
  for k = 1, 7 do shifted = shifted * (x + k) end
  local r = 1 / y
  local s = r * r
  return (y - 0.5) * y:log() - y + half_log_2pi - shifted:log()
    + r * (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188))))
end

-- Its derivative.
local function digamma(x)
  local y, sum = x + 8, 1 / x
  for k = 1, 7 do sum = sum + 1 / (x + k) end
  local s = 1 / (y * y)
  return y:log() - 0.5 / y - sum
    - s * (1 / 12 - s * (1 / 120 - s * (1 / 252 - s * (1 / 240 - s / 132))))
end

local function wide(self) return self.alpha:to "f64", self.beta:to "f64" end
local function log_beta(a, b) return lgamma(a) + lgamma(b) - lgamma(a + b) end

local tries = 8

-- The logarithm of a draw of Gamma(a): Gamma(a + 1) by Marsaglia and Tsang 2000, times u^(1 / a).
local function log_gamma_draw(a, o)
  local many = { tries, unpack(a:shape()) }
  local z, u = tempo.normal(many, part(o, "z")), tempo.uniform(many, part(o, "u"))
  local d = a + 2 / 3
  local v = 1 + z * (9 * d):rsqrt()
  v = v * v * v
  local log_v = v:maximum(1e-30):log()
  local taken = v:gt(0):land(u:log():lt(0.5 * z * z + d * (1 - v + log_v)))
  local first = log_v:gather(0, taken:to("i64"):argmax(0):unsqueeze(0)):squeeze(0)
  return d:log() + first + tempo.uniform(a:shape(), part(o, "power")):maximum(2 ^ -25):log() / a
end

--- A draw of Gamma(alpha) over the sum of it and one of Gamma(beta). Each is the first that
--- Marsaglia and Tsang's test takes of 8, without a loop; it takes none with a probability below
--- 4e-11, and the first of them stands.
---@param o? { name?: string, domain?: tempo.Dims, key?: tempo.Operand }
---@return tempo.Tensor
function beta:sample(o)
  local a, b = self.alpha:detach(), self.beta:detach()
  local with = draw_options("Beta:sample", o, a:domain())
  with.dtype = a:dtype()
  local x = log_gamma_draw(a, part(with, "alpha")) - log_gamma_draw(b, part(with, "beta"))
  return x:sigmoid():clamp(1e-30, 1 - epsilon[a:dtype()] / 2):detach()
end

--- The logarithm of the density at x, elementwise; at 0 and 1 that of the nearest x inside.
---@param x tempo.Tensor
---@return tempo.Tensor
function beta:log_prob(x)
  local a, b = wide(self)
  local inside = x:clamp(1e-30, 1 - epsilon[x:dtype()] / 2):to "f64"
  local lp = (a - 1) * inside:log() + (b - 1) * (-inside):log1p() - log_beta(a, b)
  return lp:to(self.alpha:dtype())
end

--- log B(a, b) - (a - 1) psi(a) - (b - 1) psi(b) + (a + b - 2) psi(a + b).
---@return tempo.Tensor
function beta:entropy()
  local a, b = wide(self)
  local h = log_beta(a, b) - (a - 1) * digamma(a) - (b - 1) * digamma(b)
    + (a + b - 2) * digamma(a + b)
  return h:to(self.alpha:dtype())
end

function beta:_kl(q)
  local a, b = wide(self)
  local c, d = wide(q)
  local k = log_beta(c, d) - log_beta(a, b) + (a - c) * digamma(a) + (b - d) * digamma(b)
    + (c - a + d - b) * digamma(a + b)
  return k:to(self.alpha:dtype())
end

beta.meta = class("Beta", beta, {
  mean = function(self) return self.alpha / (self.alpha + self.beta) end,
  mode = function(self)                     -- at an end where the density has no maximum inside
    local a, b = self.alpha, self.beta
    local inside = a:gt(1):land(b:gt(1))
    local ends = 0.5 + 0.5 * (a - b):sign()
    return where(inside, (a - 1) / where(inside, a + b - 2, 1), ends)
  end,
}, { rsample = "it has no gradient here; weigh by log_prob" })

-- ---- joint --------------------------------------------------------------------------------------

function joint:log_prob(x) return self.parts:log_prob(x):sum(self.axis) end
function joint:entropy() return self.parts:entropy():sum(self.axis) end
function joint:sample(o) return self.parts:sample(o) end
function joint:rsample(o) return self.parts:rsample(o) end
function joint:_kl(q) return dist.kl(self.parts, q.parts):sum(self.axis) end

Joint = class("Joint", joint, {})
local own = Joint.__index
function Joint.__index(self, key)
  local made = own(self, key)
  if made == nil then return self.parts[key] end
  return made
end

return util.library("dist", dist)

--- tempo.optim: optimisers. opt:step(loss) takes the gradients of this loss alone and gives every parameter, and the
--- optimiser's own moments, their value at the next point of `along`. Formulas are those of torch.optim.
---
---   local opt = tempo.optim.Adam(net:parameters(), { lr = 1e-3 })
---   opt:step(loss)
---
--- Options common to all: lr (a number or a tensor: a schedule is an expression in i), weight_decay, clip_norm (the
--- global norm of the gradients is brought down to it), name (the path of the moments).
--- The moments are parameters too, "<name>.m.<parameter>", with the along, domain, shape and dtype of theirs: f:params()
--- has them, and f:load_params() goes on where they stood. Beside f16 and bf16 moments are f32, where 0.999 is not 1;
--- the step is computed in f32 and rounded once.
local tempo = require "tempo"
local util = require "tempo.util"

---@alias tempo.optim.Params tempo.Tensor|tempo.nn.Module|(tempo.Tensor|tempo.nn.Module)[]

---@class tempo.optim
local optim = {}

local one_step = getmetatable(tempo).step  -- a loss that reaches none of the parameters is an error

local function half(d) return d == "f16" or d == "bf16" end
local function wide(x) return half(x:dtype()) and x:to "f32" or x end

-- ---- gradients -----------------------------------------------------------------------------------------------------

-- The sum over the dims `over` (a set, none missing) of x's domain and over all its axes.
local function total(x, over)
  x = x:sum()
  for _, d in ipairs(x:domain()) do
    if over[d] then x = x:at { [d] = tempo.range(0, d:upper()) }:sum(0) end
  end
  return x
end

-- Dims of the gradients that are one model's parts (layers), not many models (seeds): those the loss does not have.
local function parts(grads, loss)
  local has, over = loss and util.dimset(loss), {}
  for _, g in ipairs(grads) do
    for _, d in ipairs(g:domain()) do
      if has and not has[d] then over[d] = true end
    end
  end
  return over
end

--- The square root of the sum of squares of all gradients. With `loss`, dims that it lacks (layers) are summed over
--- too; without, every point has a norm of its own.
---@param grads tempo.Tensor[]
---@param loss? tempo.Tensor
---@return tempo.Tensor
function optim.grad_norm(grads, loss)
  local over, sum = parts(grads, loss), nil
  for _, g in ipairs(grads) do
    local s = total(wide(g):square(), over)
    sum = sum and sum + s or s
  end
  return sum:sqrt()
end

--- Gradients times min(1, max / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_; and the norm before it.
---@param grads tempo.Tensor[]
---@param max number
---@param loss? tempo.Tensor
---@return tempo.Tensor[] clipped
---@return tempo.Tensor the norm before
function optim.clip_grad_norm(grads, max, loss)
  local norm = optim.grad_norm(grads, loss)
  local scale = (max / (norm + 1e-6)):minimum(1)
  local out = {}
  for k, g in ipairs(grads) do out[k] = (g * scale):to(g:dtype()) end
  return out, norm
end

-- ---- the common part -----------------------------------------------------------------------------------------------
---@class tempo.optim.Optimizer
local Optimizer = {}
Optimizer.__index = Optimizer

local function class(name)
  local c = setmetatable({ _type = name }, { __index = Optimizer })
  c.__index = c
  return c
end

local common = "lr weight_decay clip_norm name "
local numbers = "lr weight_decay clip_norm momentum eps alpha"

-- Parameters, modules or a mixed list of both, as one list of parameters.
local function flat(self, params)
  local out, seen = {}, {}
  local function add(p)
    if type(p) == "table" and rawget(p, "_children") then
      for _, w in ipairs(p:parameters()) do add(w) end
    elseif not util.is_tensor(p) then
      util.fail("option", "optim.%s: expected parameters, got a %s", self._type, type(p))
    elseif #p:along() == 0 then
      util.fail("option", "optim.%s: %s does not evolve: make it with P:param and along = {i}", self._type,
        p:name() and "'" .. p:name() .. "'" or tostring(p))
    elseif seen[p:name()] then
      util.fail("option", "optim.%s: parameter '%s' is listed twice", self._type, p:name())
    else
      seen[p:name()], out[#out + 1] = true, p
    end
  end
  if type(params) == "table" and not rawget(params, "_children") then
    for _, p in ipairs(util.sequence("optim." .. self._type, params, "net:parameters()")) do add(p) end
  elseif params ~= nil then
    add(params)
  end
  if #out == 0 then
    util.fail("option", "optim.%s: no parameters; pass a list such as net:parameters()", self._type)
  end
  return out
end

--- For optimisers of your own: takes the common options, checks the rest against `known`, flattens the parameters.
---@param params tempo.optim.Params
---@param o table
---@param known string names of the options of its own, with spaces between
---@return tempo.optim.Optimizer
---@protected
function Optimizer:create(params, o, known)
  o = util.options("optim." .. self._type, o, common .. known)
  if o.lr == nil then util.fail("option", "optim.%s: lr is missing", self._type) end
  util.numbers("optim." .. self._type, o, numbers)
  params = flat(self, params)
  local P = params[1]:program()
  local opt = setmetatable({ params = params, program = P, lr = o.lr, weight_decay = o.weight_decay or 0,
    clip_norm = o.clip_norm, name = o.name and util.take(P, o.name) or util.fresh(P, self._type:lower()) }, self)
  opt.state = {}
  return opt
end

-- The domain of w that is not its along.
local function beside(w)
  local along, out = {}, {}
  for _, d in ipairs(w:along()) do along[d] = true end
  for _, d in ipairs(w:domain()) do
    if not along[d] then out[#out + 1] = d end
  end
  return #out > 0 and out or nil
end

--- A state like parameter w, 0 at first.
---@param key string
---@param w tempo.Tensor a parameter
---@return tempo.Tensor
---@protected
function Optimizer:moment(key, w)
  return self.program:param(self.name .. "." .. key .. "." .. w:name(),
    { along = w:along(), domain = beside(w), shape = w:shape(), dtype = half(w:dtype()) and "f32" or w:dtype(),
      init = 0 })
end

-- How many steps were taken, this one included: f64, one for all parameters of one along. A state rather than the
-- index, so that loaded moments go on with the bias correction they had.
--- How many steps were taken, this one included: f64, one for all parameters of one along.
---@param w tempo.Tensor a parameter
---@return tempo.Tensor
---@protected
function Optimizer:count(w)
  self.counts = self.counts or {}
  local along = w:along()
  local key = self.name .. ".steps"
  for _, d in ipairs(along) do key = key .. "." .. d:name() end
  if not self.counts[key] then
    local n = self.program:param(key, { along = along, shape = {}, dtype = "f64", init = 0 })
    self.counts[key] = n + 1
    n:update(self.counts[key])
  end
  return self.counts[key]
end

--- Records the update of all parameters; a loss that reaches none of them is an error when compiling. Returns their gradients (clipped, if they are) and, with clip_norm, the norm.
---@param loss tempo.Tensor
---@param o? {}
---@return tempo.Tensor[] gradients
---@return tempo.Tensor? the norm before clipping
function Optimizer:step(loss, o)
  util.options("optim." .. self._type .. ":step", o, "")
  if not util.is_tensor(loss) then
    util.fail("option", "optim.%s: step takes the loss, a tensor, not a %s", self._type, type(loss))
  end
  if self.stepped then util.fail("option", "optim.%s: step was called twice; make a second optimiser", self._type) end
  self.stepped = true
  local grads, norm = one_step(tempo.grad(loss, self.params)), nil
  if self.clip_norm then grads, norm = optim.clip_grad_norm(grads, self.clip_norm, loss) end
  for k, w in ipairs(self.params) do
    w:update(self:rule(w, wide(grads[k])):to(w:dtype()):detach())
  end
  return grads, norm
end

-- L2 regularisation as torch's: part of the gradient.
--- g + weight_decay * w: L2 regularisation as torch has it.
---@param w tempo.Tensor
---@param g tempo.Tensor
---@return tempo.Tensor
---@protected
function Optimizer:decayed(w, g)
  if self.weight_decay ~= 0 then return g + self.weight_decay * wide(w) end
  return g
end

-- m at this step, written as its next value.
local function keep(m, e)
  m:update(e:to(m:dtype()):detach())
  return e
end

-- ---- rules ---------------------------------------------------------------------------------------------------------
local SGD = class "SGD"
--- w - lr g; with momentum b = momentum b + g and w - lr b (nesterov: w - lr (g + momentum b)).
---@param params tempo.optim.Params
---@param o? { lr?: number|tempo.Tensor, weight_decay?: number, clip_norm?: number, name?: string, momentum?: number, nesterov?: boolean }
---@return tempo.optim.Optimizer
function optim.SGD(params, o)
  local self = SGD:create(params, o, "momentum nesterov")
  self.momentum, self.nesterov = o.momentum or 0, o.nesterov or false
  if self.nesterov and self.momentum == 0 then util.fail("option", "optim.SGD: nesterov needs a momentum") end
  return self
end
function SGD:rule(w, g)
  g = self:decayed(w, g)
  if self.momentum ~= 0 then
    local b = self:moment("b", w)
    local next = keep(b, self.momentum * b + g)
    g = self.nesterov and g + self.momentum * next or next
  end
  return w - self.lr * g
end

-- The options, with an lr.
local function defaults(o, lr)
  if o ~= nil and type(o) ~= "table" then return o end
  local with = { lr = lr }
  for k, v in pairs(o or {}) do with[k] = v end
  return with
end

-- m / (1 - b1^n) / (sqrt(v / (1 - b2^n)) + eps); the corrections in f64: 1 - 0.999 has few digits in f32.
local function adam_direction(self, w, g)
  local b1, b2 = self.betas[1], self.betas[2]
  local m, v, n = self:moment("m", w), self:moment("v", w), self:count(w)
  local m1 = keep(m, b1 * m + (1 - b1) * g)
  local v1 = keep(v, b2 * v + (1 - b2) * g:square())
  local c1 = (1 - tempo.pow(b1, n)):to(m:dtype())
  local c2 = (1 - tempo.pow(b2, n)):sqrt():to(m:dtype())
  return m1 / c1 / (v1:sqrt() / c2 + self.eps)
end

local function adam(self, params, o, decay)
  local with = defaults(o, 1e-3)
  self = self:create(params, with, "betas eps")
  self.betas, self.eps = with.betas or { 0.9, 0.999 }, with.eps or 1e-8
  if type(self.betas) ~= "table" or #self.betas ~= 2 then
    util.fail("option", "optim.%s: betas is a pair such as { 0.9, 0.999 }", self._type)
  end
  util.numbers("optim." .. self._type, { beta1 = self.betas[1], beta2 = self.betas[2] }, "beta1 beta2")
  self.weight_decay = with.weight_decay or decay
  return self
end

local Adam = class "Adam"
--- Kingma and Ba 2015. Options: lr (0.001), betas ({0.9, 0.999}), eps (1e-8).
---@param params tempo.optim.Params
---@param o? { lr?: number|tempo.Tensor, weight_decay?: number, clip_norm?: number, name?: string, betas?: number[], eps?: number }
---@return tempo.optim.Optimizer
function optim.Adam(params, o) return adam(Adam, params, o, 0) end
function Adam:rule(w, g)
  return w - self.lr * adam_direction(self, w, self:decayed(w, g))
end

local AdamW = class "AdamW"
--- Loshchilov and Hutter 2019: the decay (0.01) acts on the parameter, not through the moments. Options: Adam's.
---@param params tempo.optim.Params
---@param o? { lr?: number|tempo.Tensor, weight_decay?: number, clip_norm?: number, name?: string, betas?: number[], eps?: number }
---@return tempo.optim.Optimizer
function optim.AdamW(params, o) return adam(AdamW, params, o, 0.01) end
function AdamW:rule(w, g)
  local kept = self.weight_decay ~= 0 and wide(w) - self.lr * self.weight_decay * wide(w) or w
  return kept - self.lr * adam_direction(self, w, g)
end

local RMSProp = class "RMSProp"
--- v = alpha v + (1 - alpha) g^2;  w - lr g / (sqrt(v) + eps). Options: lr (0.01), alpha (0.99), eps (1e-8), momentum.
---@param params tempo.optim.Params
---@param o? { lr?: number|tempo.Tensor, weight_decay?: number, clip_norm?: number, name?: string, alpha?: number, eps?: number, momentum?: number }
---@return tempo.optim.Optimizer
function optim.RMSProp(params, o)
  local with = defaults(o, 1e-2)
  local self = RMSProp:create(params, with, "alpha eps momentum")
  self.alpha, self.eps, self.momentum = with.alpha or 0.99, with.eps or 1e-8, with.momentum or 0
  return self
end
function RMSProp:rule(w, g)
  g = self:decayed(w, g)
  local v = self:moment("v", w)
  local v1 = keep(v, self.alpha * v + (1 - self.alpha) * g:square())
  local direction = g / (v1:sqrt() + self.eps)
  if self.momentum ~= 0 then
    local b = self:moment("b", w)
    direction = keep(b, self.momentum * b + direction)
  end
  return w - self.lr * direction
end

return util.library("optim", optim)

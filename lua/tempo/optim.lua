--- tempo.optim: optimisers, with the formulas of torch.optim. opt:step(loss) gives every parameter
--- its value at the next point of `along`.
---   local opt = tempo.optim.Adam(net, { lr = 1e-3 })      a parameter, a module, or a list of
---   these: { encoder, decoder }
---   opt:step(loss)
--- All have the options lr (a number or a tensor: a schedule is an expression in i), weight_decay,
--- clip_norm (the global norm of the gradients is brought down to it) and name (the path of the
--- moments). Moments are parameters too, "<name>.m.<parameter>", which f:params() and
--- f:load_params() have. Those of f16 and bf16 are f32; the step is computed in f32 and rounded
--- once.
local tempo = require "tempo"
local util = require "tempo.util"

---@alias tempo.optim.Params tempo.Tensor|tempo.nn.Module|(tempo.Tensor|tempo.nn.Module|table)[]

---@class tempo.optim
local optim = {}

local may_miss = getmetatable(tempo).may_miss  -- branches that no point takes are no error
local one_step = getmetatable(tempo).step  -- a loss that reaches none of the parameters is an error

local function half(d) return d == "f16" or d == "bf16" end
local function wide(x) return half(x:dtype()) and x:to "f32" or x end

-- ---- gradients ----------------------------------------------------------------------------------

-- The sum over the dims `over` (a set, none missing) of x's domain and over all its axes.
local function total(x, over)
  x = x:sum()
  for _, d in ipairs(x:domain()) do
    if over[d] then x = x:at { [d] = tempo.range(0, d:upper()) }:sum(0) end
  end
  return x
end

-- Dims of the gradients that are one model's parts (layers), not many models (seeds): those the
-- loss does not have.
local function parts(grads, loss)
  local has, over = loss and util.dimset(loss), {}
  for _, g in ipairs(grads) do
    for _, d in ipairs(g:domain()) do
      if has and not has[d] then over[d] = true end
    end
  end
  return over
end

-- Modules, parameters and lists of them as gradients of the loss; gradients as they are.
local function gradients(what, x, loss)
  local list, are_params = {}, false
  local function add(e)
    if type(e) == "table" then
      are_params = are_params or rawget(e, "_children") ~= nil
      for _, w in ipairs(rawget(e, "_children") and e:parameters() or e) do add(w) end
    elseif util.is_tensor(e) then
      list[#list + 1], are_params = e, are_params or #e:along() > 0
    else
      util.fail("option", "%s: expected gradients, parameters or modules, got a %s", what, type(e))
    end
  end
  add(x)
  if #list == 0 then util.fail("option", "%s: no gradients", what) end
  if not are_params then return list end
  if not loss then util.fail("option", "%s: of parameters it needs the loss", what) end
  return tempo.grad(loss, list)
end

--- The square root of the sum of squares of all gradients, or of those of the loss by all
--- parameters of modules, parameters and lists of them. With `loss`, dims that it lacks (layers)
--- are summed too; without, every point has a norm of its own.
---@param grads tempo.Tensor[]|tempo.optim.Params
---@param loss? tempo.Tensor
---@return tempo.Tensor
function optim.grad_norm(grads, loss)
  grads = gradients("optim.grad_norm", grads, loss)
  local over, sum = parts(grads, loss), nil
  for _, g in ipairs(grads) do
    local s = total(wide(g):square(), over)
    sum = sum and sum + s or s
  end
  return sum:sqrt()
end

--- Gradients times min(1, max / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_.
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

-- ---- the common part ----------------------------------------------------------------------------
---@class tempo.optim.Optimizer
local Optimizer = {}
Optimizer.__index = Optimizer
setmetatable(Optimizer, util.answers("an optimiser",
  "zero_grad state_dict load_state_dict minimize apply_updates"))

local function class(name)
  local c = setmetatable({ _type = name }, { __index = Optimizer })
  c.__index = c
  return c
end

local common = "lr weight_decay clip_norm name "
local numbers = "lr weight_decay clip_norm momentum eps alpha"

-- Parameters, modules or a list of both, lists in it included, as one list of parameters.
local function flat(self, params)
  local out, seen = {}, {}
  local function add(p)
    if type(p) == "table" then
      for _, w in ipairs(rawget(p, "_children") and p:parameters() or p) do add(w) end
    elseif not util.is_tensor(p) then
      util.fail("option", "optim.%s: expected parameters, got a %s", self._type, type(p))
    elseif #p:along() == 0 then
      util.fail("option", "optim.%s: %s does not evolve: make it with P:param and along = {i}",
        self._type, p:name() and "'" .. p:name() .. "'" or tostring(p))
    elseif seen[p:name()] then
      util.fail("option", "optim.%s: parameter '%s' is listed twice", self._type, p:name())
    else
      seen[p:name()], out[#out + 1] = true, p
    end
  end
  if type(params) == "table" and not rawget(params, "_children") then
    util.sequence("optim." .. self._type, params, "net:parameters()")
  end
  if params ~= nil then add(params) end
  if #out == 0 then
    util.fail("option", "optim.%s: no parameters; pass a list such as net:parameters()", self._type)
  end
  return out
end

--- For optimisers of your own: takes the common options, checks the rest against `known`, flattens
--- the parameters.
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
  local opt = setmetatable({ params = params, program = P, lr = o.lr,
    weight_decay = o.weight_decay or 0,
    clip_norm = o.clip_norm, name = o.name and util.take(P, o.name)
      or util.fresh(P, self._type:lower()) }, self)
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
    { along = w:along(), domain = beside(w), shape = w:shape(),
      dtype = half(w:dtype()) and "f32" or w:dtype(), init = 0 })
end

--- Gives state p its next value, where the step is taken; elsewhere it stands still. Returns e.
---@param p tempo.Tensor a parameter
---@param e tempo.Tensor
---@return tempo.Tensor
---@protected
function Optimizer:keep(p, e)
  local new = e:to(p:dtype()):detach()
  if self.when then
    local next = may_miss(self.program:tensor { domain = { p }, shape = p:shape(),
      dtype = p:dtype() })
    next:when(self.when, new)
    next:otherwise(p:detach())
    new = next
  end
  p:update(new)
  return e
end

-- How many steps were taken, this one included: f64, one for all parameters of one along. A state
-- rather than the index, so that loaded moments go on with the bias correction they had, and those
-- of a step with `when` too.
--- How many steps were taken, this one included: f64, one for all parameters of one along.
---@param w tempo.Tensor a parameter
---@return tempo.Tensor
---@protected
function Optimizer:count(w)
  self.counts = self.counts or {}
  local along, beyond = w:along(), {}
  local key, has = self.name .. ".steps", {}
  for _, d in ipairs(along) do
    key, has[d] = key .. "." .. d:name(), true
  end
  for _, d in ipairs(self.when and self.when:value():domain() or {}) do
    if not has[d] then beyond[#beyond + 1] = d end
  end
  if not self.counts[key] then
    local n = self.program:param(key,
      { along = along, domain = #beyond > 0 and beyond or nil, shape = {},
      dtype = "f64", init = 0 })
    self.counts[key] = self:keep(n, n + 1)
  end
  return self.counts[key]
end

-- The condition of a step: on indices, of dims that all parameters have.
local function condition(self, c)
  local what = "optim." .. self._type .. ": when"
  if util.is_tensor(c) then
    util.fail("option",
      "%s is a condition on indices, such as i:mod(4):eq(0), not a tensor; by data: "
      .. "step on a loss that is 0 there, loss * wanted:to \"f32\"", what)
  elseif type(c) ~= "userdata" or getmetatable(c) ~= getmetatable(self.params[1]:along()[1])
    or c:value():dtype() ~= "bool" then
    util.fail("option", "%s is a condition on indices, such as i:mod(4):eq(0), not %s", what,
      type(c) == "userdata" and tostring(c) or "a " .. type(c))
  end
  for _, w in ipairs(self.params) do
    local has = util.dimset(w)
    for _, d in ipairs(c:value():domain()) do
      if not has[d] then
        util.fail("domain", "%s mentions the dim '%s', which parameter '%s' does not have", what,
          d:name(), w:name())
      end
    end
  end
  return c
end

-- The loss where c holds; it is not needed elsewhere. One that lacks a dim of c belongs to no such
-- point.
local function restricted(loss, c)
  local has = util.dimset(loss)
  for _, d in ipairs(c:value():domain()) do
    if not has[d] then return loss end
  end
  local at = may_miss(loss:program():tensor { domain = { loss }, shape = loss:shape(),
    dtype = loss:dtype() })
  at:when(c, loss)
  at:otherwise(0)
  return at
end

--- Records the update of all parameters; a loss that reaches none of them is an error when
--- compiling. With when = c, a condition on indices, only where c holds: elsewhere parameters,
--- moments and counts stand still, the loss is not needed and the gradients are 0.
---@param loss tempo.Tensor
---@param o? { when?: tempo.Index }
---@return tempo.Tensor[] the gradients, clipped if they are
---@return tempo.Tensor? the norm before, with clip_norm
function Optimizer:step(loss, o)
  o = util.options("step of optim." .. self._type, o, "when")
  if not util.is_tensor(loss) then
    util.fail("option", "optim.%s: step takes the loss, a tensor, not a %s", self._type, type(loss))
  end
  if self.stepped then
    util.fail("option", "optim.%s: step was called twice; make a second optimiser", self._type)
  end
  if o.when ~= nil then
    self.when = condition(self, o.when)
    loss = restricted(loss, self.when)
  end
  self.stepped = true
  local grads, norm = one_step(tempo.grad(loss, self.params)), nil
  if self.clip_norm then grads, norm = optim.clip_grad_norm(grads, self.clip_norm, loss) end
  for k, w in ipairs(self.params) do self:keep(w, self:rule(w, wide(grads[k]))) end
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

-- ---- rules --------------------------------------------------------------------------------------
local SGD = class "SGD"
--- w - lr g; with momentum b = momentum b + g and w - lr b (nesterov: w - lr (g + momentum b)).
---@param params tempo.optim.Params
---@param o? { lr?: number|tempo.Tensor, weight_decay?: number, clip_norm?: number, name?: string, momentum?: number, nesterov?: boolean }
---@return tempo.optim.Optimizer
function optim.SGD(params, o)
  local self = SGD:create(params, o, "momentum nesterov")
  self.momentum, self.nesterov = o.momentum or 0, o.nesterov or false
  if self.nesterov and self.momentum == 0 then
    util.fail("option", "optim.SGD: nesterov needs a momentum")
  end
  return self
end
function SGD:rule(w, g)
  g = self:decayed(w, g)
  if self.momentum ~= 0 then
    local b = self:moment("b", w)
    local next = self:keep(b, self.momentum * b + g)
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

-- m / (1 - b1^n) / (sqrt(v / (1 - b2^n)) + eps); the corrections in f64: 1 - 0.999 has few digits
-- in f32.
local function adam_direction(self, w, g)
  local b1, b2 = self.betas[1], self.betas[2]
  local m, v, n = self:moment("m", w), self:moment("v", w), self:count(w)
  local m1 = self:keep(m, b1 * m + (1 - b1) * g)
  local v1 = self:keep(v, b2 * v + (1 - b2) * g:square())
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
  util.numbers("optim." .. self._type, { beta1 = self.betas[1], beta2 = self.betas[2] },
    "beta1 beta2")
  self.weight_decay = with.weight_decay or decay
  return self
end

local Adam = class "Adam"
--- Kingma and Ba 2015. lr (0.001), betas ({0.9, 0.999}), eps (1e-8).
---@param params tempo.optim.Params
---@param o? { lr?: number|tempo.Tensor, weight_decay?: number, clip_norm?: number, name?: string, betas?: number[], eps?: number }
---@return tempo.optim.Optimizer
function optim.Adam(params, o) return adam(Adam, params, o, 0) end
function Adam:rule(w, g)
  return w - self.lr * adam_direction(self, w, self:decayed(w, g))
end

local AdamW = class "AdamW"
--- Loshchilov and Hutter 2019: as Adam, but the decay (0.01) acts on the parameter itself.
---@param params tempo.optim.Params
---@param o? { lr?: number|tempo.Tensor, weight_decay?: number, clip_norm?: number, name?: string, betas?: number[], eps?: number }
---@return tempo.optim.Optimizer
function optim.AdamW(params, o) return adam(AdamW, params, o, 0.01) end
function AdamW:rule(w, g)
  local kept = self.weight_decay ~= 0 and wide(w) - self.lr * self.weight_decay * wide(w) or w
  return kept - self.lr * adam_direction(self, w, g)
end

local RMSProp = class "RMSProp"
--- v = alpha v + (1 - alpha) g^2;  w - lr g / (sqrt(v) + eps). lr (0.01), alpha (0.99), eps (1e-8),
--- momentum (0).
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
  local v1 = self:keep(v, self.alpha * v + (1 - self.alpha) * g:square())
  local direction = g / (v1:sqrt() + self.eps)
  if self.momentum ~= 0 then
    local b = self:moment("b", w)
    direction = self:keep(b, self.momentum * b + direction)
  end
  return w - self.lr * direction
end

-- ---- stopping early -----------------------------------------------------------------------------

---@class tempo.optim.EarlyStopping
---@field done tempo.Tensor bool: the last point
---@field improved tempo.Tensor bool: better than all before
---@field best tempo.Tensor the best so far
---@field best_at tempo.Tensor i64: where that was (-1: nowhere yet)
---@field wait tempo.Tensor i64: points since then
local EarlyStopping = {}
EarlyStopping.__index = EarlyStopping

-- x at t-1, `first` at t = 0.
local function earlier(t, like, dtype, first)
  local x = like:program():tensor { domain = { like }, shape = like:shape(), dtype = dtype }
  x[{ [t] = 0 }] = first
  return x, function(e) x:otherwise(e:at { [t] = t - 1 }) end
end

--- Ends dim t (P:stop) when `metric` has not become better for `patience` points, or at the bound
--- given at the call. A metric with further dims (seeds) ends each of their points alone.
---   patience   points without improvement until it stops (3; 0 is 1)
---   min_delta  what counts as better: by more than this (0)
---   mode       "min": less is better, or "max" ("min")
---   threshold  stops at once where the metric is as good as this
--- The patience-th point without improvement is the last (as Keras counts). A NaN is never better.
--- Fields, over t: done, improved (bool), best, best_at and wait (i64: where the best was, -1
--- nowhere yet; points since then).
---@param t tempo.Index the dim that ends
---@param metric tempo.Tensor a scalar over t
---@param o? { patience?: integer, min_delta?: number, mode?: string, threshold?: number }
---@return tempo.optim.EarlyStopping
function optim.early_stopping(t, metric, o)
  local what = "optim.early_stopping"
  o = util.options(what, o, "patience min_delta mode threshold")
  if not util.is_tensor(metric) or #metric:shape() > 0 or not util.dimset(metric)[t]
    or not metric:dtype():find "f" then
    util.fail("option", "%s takes a dim and a scalar float tensor over it: early_stopping(i, loss)",
      what)
  end
  local patience, delta, mode = o.patience or 3, o.min_delta or 0, o.mode or "min"
  if type(patience) ~= "number" or patience < 0 or patience ~= math.floor(patience) then
    util.fail("option", "%s: patience is %s; it must be an integer, 0 or more", what,
      tostring(patience))
  end
  if mode ~= "min" and mode ~= "max" then
    util.fail("option", "%s: mode is '%s'; it must be 'min' or 'max'", what, tostring(mode))
  end
  local P, less = metric:program(), mode == "min"
  local m = metric:detach()
  local was, is = earlier(t, metric, m:dtype(), less and math.huge or -math.huge)
  local improved = less and m:lt(was - delta) or not less and m:gt(was + delta)
  local best = tempo.where(improved, m, was)
  is(best)
  local wait_was, wait_is = earlier(t, metric, "i64", 0)
  local wait = tempo.where(improved, 0, wait_was + 1)
  wait_is(wait)
  local at_was, at_is = earlier(t, metric, "i64", -1)
  local best_at = tempo.where(improved, t:value(), at_was)
  at_is(best_at)
  local done = wait:ge(math.max(patience, 1))
  if o.threshold ~= nil then
    done = done:lor(less and m:le(o.threshold) or not less and m:ge(o.threshold))
  end
  P:stop(t, done)
  return setmetatable({ time = t, done = done, improved = improved, best = best, best_at = best_at,
    wait = wait, paths = {} }, EarlyStopping)
end

--- A module that holds, at each t, the parameters that net had at best_at. They are states,
--- "<path>.best" in f:params(). A net that evolves along further dims is read at a point of them
--- first: keep(net:at{...}).
---@param net tempo.nn.Module
---@return tempo.nn.Module
function EarlyStopping:keep(net)
  local t = self.time
  return net:mapped(function(p, path)
    local along = p:along()
    if #along == 0 then return p end
    if #along > 1 or along[1] ~= t then
      util.fail("domain",
        "keep: '%s' does not evolve along '%s' alone: which of its values at a point is to be kept?",
        path, t:name())
    end
    local kept = p:program():param(path .. ".best",
      { along = { t }, domain = beside(p), shape = p:shape(), dtype = p:dtype(), init = 0 })
    local now = p:program():tensor { domain = { p }, shape = p:shape(), dtype = p:dtype() }
    now[{ [t] = 0 }] = p
    now:otherwise(tempo.where(self.improved, p, kept))
    kept:update(now:detach())
    self.paths[path] = path .. ".best"
    return now:detach()
  end)
end

--- The best values among those that f:params() gives after the run, by the parameters' own paths,
--- for f:load_params.
---@param params table<string, tempo.Array>
---@return table<string, tempo.Array>
function EarlyStopping:restore(params)
  local out = {}
  for path, best in pairs(self.paths) do out[path] = params[best] end
  return out
end

return util.library("optim", optim)

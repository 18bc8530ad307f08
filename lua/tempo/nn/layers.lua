-- Layers, convolutions and pooling: PyTorch's names, shapes of weights and defaults.
local tempo = require "tempo"
local util = require "tempo.util"
local nn = require "tempo.nn.module"
local shared = require "tempo.nn.shared"

local common, check, as_torch = shared.common, shared.check, shared.as_torch
local activation, is_module = shared.activation, shared.is_module
local unpack = table.unpack or unpack       -- luacheck: globals unpack

---@class tempo.nn.Linear: tempo.nn.Module
---@field weight tempo.Tensor (nout, nin)
---@field bias tempo.Tensor? (nout)
local Linear = nn.class "Linear"
--- y = x W^T + b, (..., nin) to (..., nout). Without init weight and bias are uniform in
--- +-gain/sqrt(nin); with one the bias is 0.
---@param P tempo.Program
---@param nin integer
---@param nout integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number, bias?: boolean, bias_init?: tempo.nn.Init }
---@return tempo.nn.Linear
function nn.Linear(P, nin, nout, o)
  check("nn.Linear", P, nin, nout)
  o = util.options("nn.Linear", o, common .. "init gain bias bias_init")
  util.numbers("nn.Linear", o, "gain")
  local self = Linear:create(P, o)
  self.nin, self.nout = nin, nout
  local default = as_torch(nin, o)
  self:param("weight", { nout, nin }, o.init ~= nil and { init = o.init, gain = o.gain } or default)
  if o.bias ~= false then
    local b = o.bias_init
    if b == nil and o.init ~= nil then b = 0 end
    self:param("bias", { nout }, b ~= nil and { init = b } or default)
  end
  return self
end
function Linear:forward(x)
  local y = tempo.matmul(x, self.weight:mT())
  if self.bias then y = y + self.bias end
  return y
end

---@class tempo.nn.MLP: tempo.nn.Module
local MLP = nn.class "MLP"
--- Linear layers of the given sizes with an activation ("tanh") between them, and out_activation
--- (none) at the end; gain is of hidden layers, out_gain of the last (the same).
---@param P tempo.Program
---@param sizes integer[]
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, activation?: string|function, out_activation?: string|function, init?: tempo.nn.Init, gain?: number, out_gain?: number, bias?: boolean, bias_init?: tempo.nn.Init }
---@return tempo.nn.MLP
function nn.MLP(P, sizes, o)
  o = util.options("nn.MLP", o,
    common .. "activation out_activation init gain out_gain bias bias_init")
  util.numbers("nn.MLP", o, "gain out_gain")
  if type(sizes) ~= "table" or #util.sequence("nn.MLP", sizes, "{ 4, 64, 2 }") < 2 then
    util.fail("option", "nn.MLP: expected the layers' sizes, such as { 4, 64, 2 }")
  end
  check("nn.MLP", P, unpack(sizes))
  local self = MLP:create(P, o)
  self.n = #sizes - 1
  self.activation = activation(o.activation or "tanh", "nn.MLP")
  self.out_activation = activation(o.out_activation, "nn.MLP")
  for k = 1, self.n do
    local last = k == self.n
    self:add(k - 1, nn.Linear(P, sizes[k], sizes[k + 1], {
      along = o.along, domain = o.domain, dtype = o.dtype, name = self.name .. "." .. (k - 1),
      init = o.init, gain = last and o.out_gain or o.gain, bias = o.bias, bias_init = o.bias_init,
    }))
  end
  return self
end
function MLP:forward(x)
  for k = 0, self.n - 1 do
    x = self[k](x)
    x = (k < self.n - 1 and self.activation or self.out_activation)(x)
  end
  return x
end

---@class tempo.nn.Sequential: tempo.nn.Module
local Sequential = nn.class "Sequential"
--- Modules, functions and names of methods, one after the other.
---@param P tempo.Program
---@param list (tempo.nn.Module|string|function)[]
---@param o? { name?: string }
---@return tempo.nn.Sequential
function nn.Sequential(P, list, o)
  local like = "{ a, \"relu\", b }"
  if is_module(list) then
    util.fail("option", "nn.Sequential: expected a list such as %s, got a module", like)
  end
  util.sequence("nn.Sequential", list, like)
  o = util.options("nn.Sequential", o, "name")
  local self = Sequential:create(P, o)
  self.steps = {}
  for k, m in ipairs(list) do
    if is_module(m) then self:add(k - 1, m)
    else self.steps[k] = activation(m, "nn.Sequential") end
  end
  self.n = #list
  return self
end
function Sequential:forward(x)
  for k = 1, self.n do x = (self[k - 1] or self.steps[k])(x) end
  return x
end

local Activation = nn.class "Activation"
function Activation:forward(x) return self.f(x) end
for class, method in pairs {
  Tanh = "tanh", ReLU = "relu", Sigmoid = "sigmoid", GELU = "gelu", SiLU = "silu", ELU = "elu",
  LeakyReLU = "leaky_relu", Softplus = "softplus", Identity = "identity",
} do
  --- nn.Tanh(P) and kin: for Sequential; "tanh" does the same.
  nn[class] = function(P)
    local self = Activation:create(P, { name = class })
    self.f = activation(method)
    return self
  end
end

---@class tempo.nn.Embedding: tempo.nn.Module
---@field weight tempo.Tensor (num, dim)
local Embedding = nn.class "Embedding"
--- Rows of a table by i64 index, (...) to (..., dim); init is "normal" unless given.
---@param P tempo.Program
---@param num integer
---@param dim integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number }
---@return tempo.nn.Embedding
function nn.Embedding(P, num, dim, o)
  check("nn.Embedding", P, num, dim)
  o = util.options("nn.Embedding", o, common .. "init gain")
  util.numbers("nn.Embedding", o, "gain")
  local self = Embedding:create(P, o)
  self.num, self.dim = num, dim
  self:param("weight", { num, dim }, { init = o.init or "normal", gain = o.gain })
  return self
end
function Embedding:forward(k)
  local shape = k:shape()
  if #shape <= 1 then return self.weight:index_select(0, k) end
  shape[#shape + 1] = self.dim
  return self.weight:index_select(0, k:reshape { -1 }):reshape(shape)
end

---@class tempo.nn.LayerNorm: tempo.nn.Module
---@field weight tempo.Tensor?
---@field bias tempo.Tensor?
local LayerNorm = nn.class "LayerNorm"
--- The method `layer_norm` over the last axes with weight and bias, unless affine or bias is false.
---@param P tempo.Program
---@param shape integer|integer[] that of the last axes
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, eps?: number, affine?: boolean, bias?: boolean }
---@return tempo.nn.LayerNorm
function nn.LayerNorm(P, shape, o)
  o = util.options("nn.LayerNorm", o, common .. "eps affine bias")
  util.numbers("nn.LayerNorm", o, "eps")
  local self = LayerNorm:create(P, o)
  shape = util.list(shape)
  self.eps, self.shape = o.eps or 1e-5, shape
  if o.affine ~= false then
    self:param("weight", shape, { init = 1 })
    if o.bias ~= false then self:param("bias", shape, { init = 0 }) end
  end
  return self
end
function LayerNorm:forward(x)
  return x:layer_norm(self.shape, { weight = self.weight, bias = self.bias, eps = self.eps })
end

local RMSNorm = nn.class "RMSNorm"
--- The method `rms_norm` over the last axes with a weight, unless affine is false.
---@param P tempo.Program
---@param shape integer|integer[] that of the last axes
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, eps?: number, affine?: boolean }
---@return tempo.nn.Module
function nn.RMSNorm(P, shape, o)
  o = util.options("nn.RMSNorm", o, common .. "eps affine")
  util.numbers("nn.RMSNorm", o, "eps")
  local self = RMSNorm:create(P, o)
  self.eps, self.shape = o.eps, util.list(shape)
  if o.affine ~= false then self:param("weight", self.shape, { init = 1 }) end
  return self
end
function RMSNorm:forward(x)
  return x:rms_norm(self.shape, { weight = self.weight, eps = self.eps })
end

local BatchNorm = nn.class "BatchNorm"
--- The method `batch_norm`: each channel (axis 1) by the statistics of the batch; running ones,
--- which net:eval() uses, are states along the parameters' dims, which the first call moves by
--- momentum (0.1) towards the mean over all points of x that they lack.
---@param P tempo.Program
---@param features integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, eps?: number, momentum?: number, affine?: boolean }
---@return tempo.nn.Module
function nn.BatchNorm(P, features, o)
  check("nn.BatchNorm", P, features)
  o = util.options("nn.BatchNorm", o, common .. "eps momentum affine")
  util.numbers("nn.BatchNorm", o, "eps momentum")
  local self = BatchNorm:create(P, o)
  self.features, self.eps, self.momentum = features, o.eps or 1e-5, o.momentum or 0.1
  if o.affine ~= false then
    self:param("weight", { features }, { init = 1 })
    self:param("bias", { features }, { init = 0 })
  end
  self._moved = { mean = self:buffer("running_mean", { features }, { init = 0 }),
    var = self:buffer("running_var", { features }, { init = 1 }), done = #self._along == 0 }
  return self
end
nn.BatchNorm1d, nn.BatchNorm2d = nn.BatchNorm, nn.BatchNorm

-- state := (1 - momentum) state + momentum v, v averaged over the dims that the state lacks.
local function follow(self, state, v)
  local has = util.dimset(state)
  for _, d in ipairs(v:domain()) do
    if not has[d] then v = v[{ [d] = tempo.range(0, d:upper()) }]:mean(0) end
  end
  state:update((state * (1 - self.momentum) + v * self.momentum):detach())
end

function BatchNorm:forward(x)
  local affine = { weight = self.weight, bias = self.bias, training = self.training,
    eps = self.eps }
  if not self.training then return x:batch_norm(self.running_mean, self.running_var, affine) end
  -- the states themselves, whatever view self is
  local moved = self._moved
  if not moved.done then
    moved.done = true
    local axes = { 0 }
    for k = 2, #x:shape() - 1 do axes[k] = k end
    follow(self, moved.mean, x:mean(axes))
    follow(self, moved.var, x:var(axes))
  end
  return x:batch_norm(affine)
end

local Dropout = nn.class "Dropout"
--- Zero with probability p (0.5) while training, else x / (1 - p). Options: key, of its draws.
---@param P tempo.Program
---@param p? number
---@param o? { key?: tempo.Operand, name?: string }
---@return tempo.nn.Module
function nn.Dropout(P, p, o)
  o = util.options("nn.Dropout", o, "name key")
  util.numbers("nn.Dropout", { p = p }, "p")
  local self = Dropout:create(P, o)
  self.p, self.key = p or 0.5, o.key
  return self
end
function Dropout:forward(x) return x:dropout(self.p, self.training, { key = self.key }) end

-- ---- convolution and pooling: sizes, strides and paddings are numbers or one for each spatial
-- axis
local function each(what, v, d)
  if type(v) == "number" then
    local t = {}
    for k = 1, d do t[k] = v end
    return t
  end
  if type(v) ~= "table" or #v ~= d then
    util.fail("option", "%s: the kernel's size is a number or a table of %d", what, d)
  end
  return v
end

-- Windows of weight (a, b, ...), first values as PyTorch's: by b times the size of a window.
local function convolution(class, method, d, transposed)
  function class:forward(x) return x[method](x, self.weight, self.bias, self.options) end
  return function(P, nin, nout, size, o)
    local what = "nn." .. class._type
    check(what, P, nin, nout)
    o = util.options(what, o,
      common .. "stride padding output_padding dilation groups bias init gain bias_init")
    util.numbers(what, o, "groups gain")
    size = each(what, size, d)
    local self, groups = class:create(P, o), o.groups or 1
    local a, b = transposed and nin or nout, transposed and nout or nin
    if nin % groups ~= 0 or nout % groups ~= 0 then
      util.fail("option", "%s: %d and %d channels are not in %d equal groups", what, nin, nout,
        groups)
    end
    self.nin, self.nout = nin, nout
    self.options = { stride = o.stride, padding = o.padding, dilation = o.dilation,
      groups = o.groups, output_padding = o.output_padding }
    local shape, fan_in = { a, math.floor(b / groups) }, math.floor(b / groups)
    for k = 1, d do
      shape[k + 2] = size[k]
      fan_in = fan_in * size[k]
    end
    local default = as_torch(fan_in, o)
    self:param("weight", shape, o.init ~= nil and { init = o.init, gain = o.gain } or default)
    if o.bias ~= false then
      local first = o.bias_init
      if first == nil and o.init ~= nil then first = 0 end
      self:param("bias", { nout }, first ~= nil and { init = first } or default)
    end
    return self
  end
end

local Conv1d = nn.class "Conv1d"
--- The method `conv1d` with a weight (nout, nin / groups, size).
---@param P tempo.Program
---@param nin integer
---@param nout integer
---@param size integer|integer[]
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, stride?: integer|integer[], padding?: integer|integer[]|string, dilation?: integer|integer[], groups?: integer, bias?: boolean, init?: tempo.nn.Init, gain?: number, bias_init?: tempo.nn.Init }
---@return tempo.nn.Module
nn.Conv1d = convolution(Conv1d, "conv1d", 1)

local Conv2d = nn.class "Conv2d"
--- The method `conv2d` with a weight (nout, nin / groups, h, w); size is one number or { h, w }.
---@param P tempo.Program
---@param nin integer
---@param nout integer
---@param size integer|integer[]
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, stride?: integer|integer[], padding?: integer|integer[]|string, dilation?: integer|integer[], groups?: integer, bias?: boolean, init?: tempo.nn.Init, gain?: number, bias_init?: tempo.nn.Init }
---@return tempo.nn.Module
nn.Conv2d = convolution(Conv2d, "conv2d", 2)

local ConvTranspose2d = nn.class "ConvTranspose2d"
--- The method `conv_transpose2d` with a weight (nin, nout / groups, h, w).
---@param P tempo.Program
---@param nin integer
---@param nout integer
---@param size integer|integer[]
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, output_padding?: integer|integer[], stride?: integer|integer[], padding?: integer|integer[]|string, dilation?: integer|integer[], groups?: integer, bias?: boolean, init?: tempo.nn.Init, gain?: number, bias_init?: tempo.nn.Init }
---@return tempo.nn.Module
nn.ConvTranspose2d = convolution(ConvTranspose2d, "conv_transpose2d", 2, true)

local function pool(class, method, known)
  function class:forward(x) return x[method](x, self.size, self.options) end
  return function(P, size, o)
    local self = class:create(P, { name = class._type })
    self.size, self.options = size, util.options("nn." .. class._type, o, known)
    return self
  end
end

local MaxPool2d = nn.class "MaxPool2d"
--- The method `max_pool2d`.
---@param P tempo.Program
---@param size integer|integer[]
---@param o? { stride?: integer|integer[], padding?: integer|integer[], dilation?: integer|integer[], ceil_mode?: boolean }
---@return tempo.nn.Module
nn.MaxPool2d = pool(MaxPool2d, "max_pool2d", "stride padding dilation ceil_mode")

local AvgPool2d = nn.class "AvgPool2d"
--- The method `avg_pool2d`.
---@param P tempo.Program
---@param size integer|integer[]
---@param o? { stride?: integer|integer[], padding?: integer|integer[], ceil_mode?: boolean, count_include_pad?: boolean, divisor_override?: integer }
---@return tempo.nn.Module
nn.AvgPool2d = pool(AvgPool2d, "avg_pool2d",
  "stride padding ceil_mode count_include_pad divisor_override")

local Flatten = nn.class "Flatten"
--- Axes first (1) .. last made one.
---@param P tempo.Program
---@param first? integer
---@param last? integer
---@return tempo.nn.Module
function nn.Flatten(P, first, last)
  local self = Flatten:create(P, { name = "Flatten" })
  self.first, self.last = first or 1, last
  return self
end
function Flatten:forward(x) return x:flatten(self.first, self.last) end

return nn

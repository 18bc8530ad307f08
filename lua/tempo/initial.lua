--- tempo.nn.init: first values of parameters.
---
--- An `init =` of a layer is a name of this table, a value, or a function (P, shape, o) that gives
--- an expression. o.name names its draw, so that numbers depend on the seed and this name alone;
--- o.domain and o.dtype are the parameter's. A weight of shape (out, in, ...) has fan_in = in *
--- rest and fan_out = out * rest. Each function takes the options that its text names, and gain
--- (1).
local tempo = require "tempo"
local util = require "tempo.util"

---@alias tempo.nn.Init string|tempo.Operand|fun(P: tempo.Program, shape: tempo.Extent[], o: table): tempo.Operand
---@class tempo.nn.init
local init = {}

-- Checks an initialiser's arguments; it takes the options of all and those in `numbers`. Returns
-- the options.
local function options(what, P, shape, o, numbers)
  what = "nn.init." .. what
  util.program(what, P)
  util.sequence(what .. ": the shape", shape, "{ 4, 3 }")
  o = util.options(what, o, "name domain dtype " .. numbers)
  util.numbers(what, o, numbers)
  util.domain(what .. ": domain", o.domain)
  return util.expect_options(what, "string", o, "name dtype")
end

local function literal(o)
  local domain = util.list(o.domain)
  return { name = o.name, dtype = o.dtype, domain = #domain > 0 and domain or nil }
end

--- The expression of an `init =`.
---@param P tempo.Program
---@param what tempo.nn.Init?
---@param shape tempo.Extent[]
---@param o table as for an initialiser
---@return tempo.Operand
function init.make(P, what, shape, o)
  if what == nil then what = 0 end
  util.program("nn.init.make", P)
  if type(what) == "string" then
    local f = what ~= "make" and what ~= "gain" and what ~= "fans" and rawget(init, what)
    if not f then
      local near = util.nearest(what, init)
      util.fail("option", "unknown init '%s'%s", what,
        near and "; did you mean '" .. near .. "'?" or "")
    end
    what = f
  end
  if type(what) == "function" then return what(P, shape, o) end
  return what
end

--- Fan in and fan out of a shape (out, in, ...).
---@param shape integer[]
---@return integer fan in
---@return integer fan out
function init.fans(shape)
  for _, extent in ipairs(util.sequence("nn.init.fans: the shape", shape, "{ 4, 3 }")) do
    util.expect("nn.init.fans: an extent", "number", extent)
  end
  if #shape < 2 then util.fail("shape", "fan in and fan out need a shape of two axes or more") end
  local rest = 1
  for k = 3, #shape do rest = rest * shape[k] end
  return shape[2] * rest, shape[1] * rest
end

local gains = { linear = 1, identity = 1, sigmoid = 1, tanh = 5 / 3, relu = math.sqrt(2),
  selu = 3 / 4 }
--- torch.nn.init.calculate_gain.
---@param nonlinearity string "linear", "identity", "sigmoid", "tanh", "relu", "leaky_relu" or "selu"
---@param slope? number of leaky_relu (0.01)
---@return number
function init.gain(nonlinearity, slope)
  util.expect_options("nn.init.gain", "number", { slope = slope }, "slope")
  if nonlinearity == "leaky_relu" then return math.sqrt(2 / (1 + (slope or 0.01) ^ 2)) end
  return gains[nonlinearity]
    or util.fail("option", "no gain known for '%s'", tostring(nonlinearity))
end

--- All 0.
---@param P tempo.Program
---@param shape integer[]
---@param o? { name?: string, domain?: tempo.Dims, dtype?: tempo.Dtype }
---@return tempo.Tensor
function init.zeros(P, shape, o)
  o = options("zeros", P, shape, o, "")
  return tempo.zeros(shape, { dtype = o.dtype })
end
--- All 1.
---@param P tempo.Program
---@param shape integer[]
---@param o? { name?: string, domain?: tempo.Dims, dtype?: tempo.Dtype }
---@return tempo.Tensor
function init.ones(P, shape, o)
  o = options("ones", P, shape, o, "")
  return tempo.ones(shape, { dtype = o.dtype })
end

--- Uniform in [low, high), or in +-bound; [0, 1) without either.
---@param P tempo.Program
---@param shape integer[]
---@param o? { name?: string, domain?: tempo.Dims, dtype?: tempo.Dtype, low?: number, high?: number, bound?: number }
---@return tempo.Tensor
function init.uniform(P, shape, o)
  o = options("uniform", P, shape, o, "low high bound")
  local low, high = o.low or (o.bound and -o.bound) or 0, o.high or o.bound or 1
  local u = tempo.uniform(shape, literal(o))
  if low == 0 and high == 1 then return u end
  return u * (high - low) + low
end

--- Normal with o.mean and o.std (or o.gain).
---@param P tempo.Program
---@param shape integer[]
---@param o? { name?: string, domain?: tempo.Dims, dtype?: tempo.Dtype, mean?: number, std?: number, gain?: number }
---@return tempo.Tensor
function init.normal(P, shape, o)
  o = options("normal", P, shape, o, "mean std gain")
  local z = tempo.normal(shape, literal(o))
  local std, mean = o.std or o.gain or 1, o.mean or 0
  if std ~= 1 then z = z * std end
  if mean ~= 0 then z = z + mean end
  return z
end

local function scaled(o, extra)
  local out = { name = o.name, domain = o.domain, dtype = o.dtype }
  for k, v in pairs(extra) do out[k] = v end
  return out
end

--- Glorot and Bengio 2010: variance gain^2 * 2 / (fan_in + fan_out).
---@param P tempo.Program
---@param shape integer[]
---@param o? { name?: string, domain?: tempo.Dims, dtype?: tempo.Dtype, gain?: number }
---@return tempo.Tensor
function init.xavier_uniform(P, shape, o)
  o = options("xavier_uniform", P, shape, o, "gain")
  local fin, fout = init.fans(shape)
  return init.uniform(P, shape, scaled(o, { bound = (o.gain or 1) * math.sqrt(6 / (fin + fout)) }))
end
--- The same variance, normal. `glorot_uniform`, `glorot_normal` are the same; `xavier`, `glorot`
--- the uniform one.
---@param P tempo.Program
---@param shape integer[]
---@param o? { name?: string, domain?: tempo.Dims, dtype?: tempo.Dtype, gain?: number }
---@return tempo.Tensor
function init.xavier_normal(P, shape, o)
  o = options("xavier_normal", P, shape, o, "gain")
  local fin, fout = init.fans(shape)
  return init.normal(P, shape, scaled(o, { std = (o.gain or 1) * math.sqrt(2 / (fin + fout)) }))
end
init.xavier, init.glorot = init.xavier_uniform, init.xavier_uniform
init.glorot_uniform, init.glorot_normal = init.xavier_uniform, init.xavier_normal

--- He et al. 2015: variance gain^2 / fan_in; the gain is relu's unless given.
---@param P tempo.Program
---@param shape integer[]
---@param o? { name?: string, domain?: tempo.Dims, dtype?: tempo.Dtype, gain?: number }
---@return tempo.Tensor
function init.kaiming_uniform(P, shape, o)
  o = options("kaiming_uniform", P, shape, o, "gain")
  return init.uniform(P, shape,
    scaled(o, { bound = (o.gain or math.sqrt(2)) * math.sqrt(3 / (init.fans(shape))) }))
end
--- The same variance, normal. `kaiming`, `he` are the uniform one.
---@param P tempo.Program
---@param shape integer[]
---@param o? { name?: string, domain?: tempo.Dims, dtype?: tempo.Dtype, gain?: number }
---@return tempo.Tensor
function init.kaiming_normal(P, shape, o)
  o = options("kaiming_normal", P, shape, o, "gain")
  return init.normal(P, shape,
    scaled(o, { std = (o.gain or math.sqrt(2)) / math.sqrt((init.fans(shape))) }))
end
init.kaiming, init.he = init.kaiming_uniform, init.kaiming_uniform

local function orthonormalise(arrays) return arrays[1]:orthonormal() end

--- Orthonormal rows or columns, whichever are fewer, times gain; axes after the first count as one.
--- A callback makes a Gaussian draw orthonormal when the program runs: 0.6 ms for 64 x 64.
---@param P tempo.Program
---@param shape integer[]
---@param o? { name?: string, domain?: tempo.Dims, dtype?: tempo.Dtype, gain?: number }
---@return tempo.Tensor
function init.orthogonal(P, shape, o)
  o = options("orthogonal", P, shape, o, "gain")
  local columns = init.fans(shape)                          -- all axes but the first
  local normal = util.lift(P, tempo.normal({ shape[1], columns }, literal(o)))
  local q = P:call(orthonormalise, { normal },
    { { shape = { shape[1], columns }, dtype = normal:dtype(), domain = normal:domain() } })
  if #shape > 2 then q = q:reshape(shape) end
  if o.gain and o.gain ~= 1 then q = q * o.gain end
  return q
end

return util.library("nn.init", init)

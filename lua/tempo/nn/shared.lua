-- What constructors of layers and cells share: options, sizes, first values, activations.
local tempo = require "tempo"
local util = require "tempo.util"

local shared = {}

--- Options that each layer has.
shared.common = "along domain dtype name "

--- A module holds its submodules in `_children`.
function shared.is_module(x) return type(x) == "table" and rawget(x, "_children") ~= nil end

-- P first, then sizes that are integers above 0.
function shared.check(what, P, ...)
  util.program(what, P)
  for k = 1, select("#", ...) do
    local n = select(k, ...)
    if type(n) ~= "number" or n < 1 or n ~= math.floor(n) then
      util.fail("option", "%s: size %d is %s; it must be an integer, 1 or more", what, k,
        tostring(n))
    end
  end
end

-- PyTorch's first values, times gain.
function shared.as_torch(fan_in, o)
  return { init = "uniform", bound = (o.gain or 1) / math.sqrt(fan_in) }
end

local activations = { identity = true }
for name in ("tanh relu sigmoid gelu silu elu leaky_relu softplus"):gmatch "%S+" do
  activations[name] = true end

-- A name is that of a method of tensors, or "identity".
function shared.activation(a, what)
  if a == nil or a == false or a == "identity" then return function(x) return x end end
  if type(a) == "string" then
    if not rawget(tempo, a) then
      local near = util.nearest(a, activations)
      util.fail("option", "%s: unknown activation '%s'%s", what, a,
        near and "; did you mean '" .. near .. "'?" or "")
    end
    return function(x) return x[a](x) end
  end
  if type(a) == "function" or type(a) == "table" then return a end
  util.fail("option", "%s: activation is a method's name or a function, not a %s", what, type(a))
end

return shared

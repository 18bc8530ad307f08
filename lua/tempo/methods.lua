-- Methods that are made of other methods: the bodies of those rows of src/graph/methods.def that say `lua`. A body is given
-- its arguments in the order of the signature, options last, checked and converted: tensors of one program, tables of axes
-- and of extents (integers or index expressions). Its errors name the method that the script called, at the script's line.
local tempo = require "tempo"
local util = require "tempo.util"

local core = getmetatable(tempo)              -- rows of kind p, and the functions of src/lua/composed.c
local where, wrong = tempo.where, util.wrong

local methods = {}
for _, part in ipairs { "einsum", "conv" } do
  for name, body in pairs(require("tempo.methods." .. part)) do methods[name] = body end
end

local function is_float(dtype) return dtype:find "f%d" ~= nil end
local function rank_of(x) return #x:shape() end

-- f16, bf16 and integers are computed in f32 and rounded once, at the end.
local function wide(x) return x:to(x:dtype() == "f64" and "f64" or "f32") end
local function float_of(x) return is_float(x:dtype()) and x:dtype() or "f32" end

local function rounded(f)
  return function(x, ...) return f(wide(x), ...):to(float_of(x)) end
end

-- The number of elements along these axes (none: all).
local function count(x, axis)
  local n, shape = 1, x:shape()
  if axis and #axis > 0 then
    for _, a in ipairs(axis) do n = n * shape[a % #shape + 1] end
  else
    for _, extent in ipairs(shape) do n = n * extent end
  end
  return n
end

-- ---- elementwise ---------------------------------------------------------------------------------------------------

function methods.square(x) return x * x end
function methods.reciprocal(x) return 1 / x:to(float_of(x)) end
function methods.log2(x) return (x:to("f64"):log() / math.log(2)):to(float_of(x)) end    -- in f64 log(8) / log(2) is 3

-- The limit stands first: it has the gradient where x is equal to it. NaN stays.
function methods.clamp(x, lo, hi)
  if not (lo or hi) then wrong("option", "a limit is missing: x:clamp(lo, hi), x:clamp(nil, hi)") end
  if lo then x = tempo.maximum(lo, x) end
  return hi and tempo.minimum(hi, x) or x
end

function methods.relu(x) return tempo.maximum(0, x) end

methods.leaky_relu = rounded(function(x, slope) return where(x:gt(0), x, x * (slope or 0.01)) end)

-- The side that is not taken sees min(x, 0), so that it cannot overflow into the gradient.
methods.elu = rounded(function(x, alpha)
  return where(x:gt(0), x, x:minimum(0):expm1() * (alpha or 1))
end)

-- x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
methods.gelu = rounded(function(x, approximate)
  local p
  if approximate == nil or approximate == "none" then
    p = (x * math.sqrt(0.5)):erf()
  elseif approximate == "tanh" then
    p = ((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)):tanh()
  else
    wrong("option", 'approximate is "none" or "tanh", not "%s"', approximate)
  end
  return x * 0.5 * (p + 1)
end)

methods.silu = rounded(function(x) return x * x:sigmoid() end)

-- p + log1p(exp(n)) with p = x, n = -x for x >= 0, else p = 0, n = x: every derivative is right at 0 too.
methods.softplus = rounded(function(x, beta, threshold)
  beta = beta or 1
  local z = beta == 1 and x or x * beta
  local up = z:ge(0)
  local y = where(up, z, 0) + where(up, -z, z):exp():log1p()
  return where(z:gt(threshold or 20), x, beta == 1 and y or y / beta)
end)

-- ---- reductions ----------------------------------------------------------------------------------------------------

local function truth(x) return x:dtype() == "bool" and x or x:ne(0) end
function methods.any(x, axis, keepdim) return truth(x):max(axis, { keepdim = keepdim }) end
function methods.all(x, axis, keepdim) return truth(x):min(axis, { keepdim = keepdim }) end

-- x ^ power with the gradient 0 where x is 0.
local function rooted(x, power)
  local zero = x:eq(0)
  local safe = where(zero, 1, x)
  return where(zero, 0, power == 0.5 and safe:sqrt() or safe:pow(power))
end

-- sum((x - mean)^2) / max(0, n - correction): NaN where that is 0 / 0
local function variance(x, axis, keepdim, correction, unbiased)
  if unbiased ~= nil then correction = unbiased and 1 or 0 end
  local d = x - x:mean(axis, { keepdim = true })
  local n = core.quotient(tempo.max(0, count(x, axis) - (correction or 1)), 1)    -- a plain number if it is one
  return (d * d):sum(axis, { keepdim = keepdim }) / n
end
methods.var = rounded(variance)
methods.std = rounded(function(...) return rooted(variance(...), 0.5) end)

local function exponent(p)
  if p == nil or p == "fro" then return 2 end
  if type(p) == "string" then wrong("option", 'p is a number, not "%s"', p) end
  if type(p) == "table" and #p ~= 1 then wrong("option", "p is a number, not a table") end
  return type(p) == "table" and p[1] or p
end

local function is_axis(p, rank)
  return type(p) == "table" and (#p ~= 1 or p[1] >= -rank and p[1] < rank)
end

-- norm(p, axis), norm(axis, { p = }), or norm(axis) if x has that axis.
methods.norm = rounded(function(x, p, axis, keepdim, named)
  local keep = { keepdim = keepdim }
  if not axis and (named or is_axis(p, rank_of(x))) then axis, p = p, nil end
  p = exponent(named or p)
  if p == 2 then return rooted((x * x):sum(axis, keep), 0.5) end
  if p == 0 then return x:ne(0):to(x:dtype()):sum(axis, keep) end
  x = x:abs()
  if p == math.huge then return x:max(axis, keep) end
  if p == -math.huge then return x:min(axis, keep) end
  if p == 1 then return x:sum(axis, keep) end
  return rooted(rooted(x, p):sum(axis, keep), 1 / p)
end)

-- A maximum that only makes a formula stable has no gradient.
local function top(x, axis) return x:max(axis, { keepdim = true }):detach() end
local function log_sum_exp(x, axis) return x:exp():sum(axis, { keepdim = true }):log() end

methods.logsumexp = rounded(function(x, axis, keepdim)
  local t = top(x, axis)
  t = where(t:abs():lt(math.huge), t, 0)                 -- inf - inf must not arise
  local y = log_sum_exp(x - t, axis) + t
  return keepdim and y or y:squeeze(axis)
end)

methods.softmax = rounded(function(x, axis)
  local e = (x - top(x, axis)):exp()
  return e / e:sum(axis, { keepdim = true })
end)

local function log_softmax(x, axis)
  local z = x - top(x, axis)
  return z - log_sum_exp(z, axis)
end
methods.log_softmax = rounded(log_softmax)

-- ---- products of vectors -------------------------------------------------------------------------------------------

local function vectors(x, y)
  if rank_of(x) ~= 1 or rank_of(y) ~= 1 then
    wrong("shape", "takes two vectors, not tensors with %d and %d axes", rank_of(x), rank_of(y))
  end
end

function methods.dot(x, y)
  vectors(x, y)
  return x:matmul(y)
end

function methods.outer(x, y)
  vectors(x, y)
  return x:unsqueeze(1) * y
end

-- ---- movement ------------------------------------------------------------------------------------------------------

function methods.flatten(x, start, stop)
  local shape, joined = x:shape(), {}
  if #shape == 0 then return x:unsqueeze(0) end
  local from, to = core.axis(#shape, start or 0), core.axis(#shape, stop or -1)
  if from > to then wrong("shape", "axis %d comes after axis %d", from, to) end
  for axis, extent in ipairs(shape) do
    if axis - 1 > from and axis - 1 <= to then joined[#joined] = joined[#joined] * extent
    else joined[#joined + 1] = extent end
  end
  return x:reshape(joined)
end

function methods.transpose(x, a, b)
  local order, rank = {}, rank_of(x)
  a, b = core.axis(rank, a), core.axis(rank, b)
  for axis = 0, rank - 1 do order[axis + 1] = axis == a and b or axis == b and a or axis end
  return x:permute(order)
end

function methods.mT(x)
  if rank_of(x) < 2 then wrong("shape", "a matrix has two axes, not %d", rank_of(x)) end
  return methods.transpose(x, -2, -1)
end

local function parts(x, axis, sizes)
  local list, lo = {}, 0
  for i, size in ipairs(sizes) do
    list[i] = core.part(x, axis, lo, size)
    lo = lo + size
  end
  return list
end

-- Parts of `size` and a smaller last one; an axis of 0 has one part.
local function equal_parts(x, axis, extent, size)
  local sizes = {}
  repeat
    sizes[#sizes + 1] = math.min(size, extent)
    extent = extent - size
  until extent <= 0
  return parts(x, axis, sizes)
end

function methods.split(x, sizes, axis)
  axis = core.axis(rank_of(x), axis or 0)
  local extent, size, sum = x:shape()[axis + 1], sizes[1], 0
  if #sizes == 1 and type(size) == "number" and type(extent) == "number" then
    if size < 1 then wrong("option", "parts of %d", size) end
    return equal_parts(x, axis, extent, size)
  end
  for _, each in ipairs(sizes) do sum = sum + each end
  if not core.equal(sum, extent) then
    wrong("shape", "sizes that sum to %s of an axis of %s", tostring(sum), tostring(extent))
  end
  return parts(x, axis, sizes)
end

function methods.chunk(x, chunks, axis)
  axis = core.axis(rank_of(x), axis or 0)
  local extent, sizes = x:shape()[axis + 1], {}
  if chunks < 1 or chunks > 65536 then wrong("option", "%d parts", chunks) end
  if type(extent) == "number" then
    return equal_parts(x, axis, extent, math.max(1, math.ceil(extent / chunks)))
  end
  local each = core.quotient(extent, chunks)
  if not each then wrong("shape", "an axis of %s is no multiple of %d", tostring(extent), chunks) end
  for i = 1, chunks do sizes[i] = each end
  return parts(x, axis, sizes)
end

-- What is negative cuts.
local function cut(extent) return type(extent) == "number" and extent < 0 and -extent or 0 end

function methods.pad(x, pad, value, mode)
  local rank = rank_of(x)
  if mode and mode ~= "constant" then wrong("option", 'mode is "constant", not "%s"', mode) end
  if #pad % 2 == 1 or #pad > 2 * rank then
    wrong("shape", "%d numbers for a tensor with %d axes: two for each, the last axis first", #pad, rank)
  end
  for i = 2, #pad, 2 do
    local axis, lo, hi = rank - i / 2, pad[i - 1], pad[i]
    local before, after = cut(lo), cut(hi)
    x = core.part(x, axis, before, x:shape()[axis + 1] - (before + after))
    x = core.pad_axis(x, axis, before > 0 and 0 or lo, after > 0 and 0 or hi, value or 0)
  end
  return x
end

-- Element i comes from (i - shift) mod n: two slices where n is known, else by index.
local function rolled(x, axis, shift)
  local n = x:shape()[axis + 1]
  if type(n) ~= "number" then
    return x:index_select(axis, (tempo.arange({ n }, { dtype = "i64" }) + (0 - shift)) % n)
  end
  local s = n > 0 and shift % n or 0
  if s == 0 then return x end
  return tempo.cat({ core.part(x, axis, n - s, s), core.part(x, axis, 0, n - s) }, axis)
end

function methods.roll(x, shifts, axes)
  if not axes then return rolled(x:reshape { count(x) }, 0, shifts[1]):reshape(x:shape()) end
  if #shifts ~= #axes then wrong("option", "%d shifts for %d axes", #shifts, #axes) end
  for i, axis in ipairs(axes) do x = rolled(x, core.axis(rank_of(x), axis), shifts[i]) end
  return x
end

function methods.stack(tensors, axis)
  local first, dtype, list = tensors[1], nil, {}
  if not first then wrong("option", "a table of at least one tensor is wanted") end
  for _, x in ipairs(tensors) do dtype = core.promote(dtype or x:dtype(), x:dtype()) end
  axis = core.axis(rank_of(first) + 1, axis or 0)
  for i, x in ipairs(tensors) do
    if rank_of(x) ~= rank_of(first) then
      wrong("shape", "tensors with %d and %d axes", rank_of(first), rank_of(x))
    end
    for k, extent in ipairs(x:shape()) do
      if not core.equal(first:shape()[k], extent) then wrong("shape", "sizes of axis %d differ", k - 1) end
    end
    list[i] = x:to(dtype):unsqueeze(axis)
  end
  return tempo.cat(list, axis)
end

-- ---- by data -------------------------------------------------------------------------------------------------------

local function is_index(dtype) return dtype == "i64" or dtype == "i32" or dtype == "u8" end
local function is_extent(n) return type(n) == "number" or getmetatable(n).__name == "tempo.Index" end

function methods.one_hot(x, classes)
  if not is_index(x:dtype()) or not is_extent(classes) then
    wrong("dtype", "takes integers and the number of classes")
  end
  return x:to("i64"):unsqueeze(-1):eq(tempo.arange({ classes }, { dtype = "i64" })):to "i64"
end

function methods.topk(x, k, axis, largest)
  if not is_extent(k) then wrong("option", "k is an integer or an index expression") end
  axis = core.axis(rank_of(x), axis or -1)
  local values, indices = x:sort(axis, largest ~= false)
  return core.part(values, axis, 0, k), core.part(indices, axis, 0, k)
end

-- ---- normalisation -------------------------------------------------------------------------------------------------

-- The last axes of x, whose extents are given (nil: only the last).
local function last_axes(x, given)
  local shape, axes = x:shape(), {}
  local n = given and #given or 1
  if n < 1 or n > #shape then wrong("shape", "over %d of %d axes", n, #shape) end
  for i = 1, n do
    local axis = #shape - n + i - 1
    axes[i] = axis
    if given and not core.equal(given[i], shape[axis + 1]) then
      wrong("shape", "axis %d is %s, not %s", axis, tostring(shape[axis + 1]), tostring(given[i]))
    end
  end
  return axes
end

local function power(x, axes) return (x * x):mean(axes, { keepdim = true }) end

local function scaled(x, var, eps, weight, bias)
  local y = x * (var + eps):rsqrt()
  if weight then y = y * weight end
  return bias and y + bias or y
end

methods.layer_norm = rounded(function(x, shape, weight, bias, eps)
  local axes = last_axes(x, shape)
  local d = x - x:mean(axes, { keepdim = true })
  return scaled(d, power(d, axes), eps or 1e-5, weight, bias)
end)

-- eps is by default the machine epsilon of what is computed in.
methods.rms_norm = rounded(function(x, shape, weight, eps)
  return scaled(x, power(x, last_axes(x, shape)), eps or (x:dtype() == "f64" and 2 ^ -52 or 2 ^ -23), weight)
end)

-- v, one number for each channel, against x's axis 1.
local function per_channel(x, v, what)
  local channels = x:shape()[2]
  if not v then return end
  if rank_of(v) ~= 1 or not core.equal(v:shape()[1], channels) then
    wrong("shape", "%s must have shape (%s): one for each channel", what, tostring(channels))
  end
  v = v:to(x:dtype())
  for _ = 3, rank_of(x) do v = v:unsqueeze(-1) end
  return v
end

methods.batch_norm = rounded(function(x, mean, var, weight, bias, training, _, eps)
  local rank, axes = rank_of(x), { 0 }
  if rank < 2 then wrong("shape", "x has %d axes, must have a batch and channels", rank) end
  for axis = 2, rank - 1 do axes[axis] = axis end
  mean, var = per_channel(x, mean, "running_mean"), per_channel(x, var, "running_var")
  weight, bias = per_channel(x, weight, "weight"), per_channel(x, bias, "bias")
  if not training and not (mean and var) then
    wrong("option", "running_mean and running_var are needed; or training = true, which takes the batch's")
  end
  local d = x - (training and x:mean(axes, { keepdim = true }) or mean)
  return scaled(d, training and power(d, axes) or var, eps or 1e-5, weight, bias)
end)

function methods.dropout(x, p, training, name)
  p = p or 0.5
  x = x:to(float_of(x))
  if not (p >= 0 and p <= 1) then wrong("option", "the probability is %g, not in [0, 1]", p) end
  if p == 0 or training == false then return x end
  local kept = tempo.bernoulli(x:shape(), 1 - p, { dtype = "bool", domain = x:domain(), name = name })
  return where(kept, p < 1 and x * (1 / (1 - p)) or x, 0)
end

-- ---- losses --------------------------------------------------------------------------------------------------------

-- x and the target as they are computed with, and the dtype of the loss.
local function operands(x, target)
  local a, b = core.beside(x, target)
  local dtype = core.promote(a:dtype(), b:dtype())
  local computed = dtype == "f64" and "f64" or "f32"
  return a:to(computed), b:to(computed), is_float(dtype) and dtype or "f32"
end

local function reduced(y, how)
  if how == "none" then return y end
  if how == "sum" then return y:sum() end
  if how == nil or how == "mean" then return y:mean() end
  wrong("option", 'reduction is "mean", "sum" or "none", not "%s"', how)
end

function methods.mse_loss(x, target, reduction)
  local a, b, dtype = operands(x, target)
  local e = a - b
  return reduced(e * e, reduction):to(dtype)
end

function methods.smooth_l1_loss(x, target, reduction, beta)
  local a, b, dtype = operands(x, target)
  local e = a - b
  local y = e:abs()
  beta = beta or 1
  if beta > 0 then y = where(y:lt(beta), e * e * (0.5 / beta), y + -0.5 * beta) end
  return reduced(y, reduction):to(dtype)
end

-- log x, -100 at least; 0 and below see a constant, so that no 0 * inf arises in the gradient.
local function safe_log(x)
  local none = x:le(0)
  return where(none, -100, where(none, 1, x):log():maximum(-100))
end

function methods.binary_cross_entropy(x, target, weight, reduction)
  local a, b, dtype = operands(x, target)
  local y = -(b * safe_log(a) + (1 - b) * safe_log(1 - a))
  return reduced(weight and y * weight or y, reduction):to(dtype)
end

-- t log t - t x, where 0 log 0 is 0
function methods.kl_div(x, target, reduction, log_target)
  local a, b, dtype = operands(x, target)
  local y = log_target and b:exp() * (b - a) or b * where(b:eq(0), 1, b):log() - b * a
  if reduction ~= "batchmean" then return reduced(y, reduction):to(dtype) end
  if rank_of(a) == 0 then wrong("shape", "a scalar has no batch axis") end
  return (y:sum() / a:shape()[1]):to(dtype)
end

-- ---- negative log likelihood ---------------------------------------------------------------------------------------

-- x's shape without the axis (nil: whole)
local function shape_without(x, axis)
  local shape = x:shape()
  if axis then table.remove(shape, axis + 1) end
  return shape
end

local function is_shaped(x, shape)
  if rank_of(x) ~= #shape then return false end
  for k, extent in ipairs(x:shape()) do
    if not core.equal(extent, shape[k]) then return false end
  end
  return true
end

local function type_text(dtype, shape)                    -- "f32 (8, 10)"
  for k, extent in ipairs(shape) do shape[k] = tostring(extent) end
  return ("%s (%s)"):format(dtype, table.concat(shape, ", "))
end

-- Indices have x's shape without the classes; probabilities (`shares`) have x's.
local function check_target(x, target, axis, shares)
  local float = is_float(target:dtype())
  if float and shares and is_shaped(target, x:shape()) then return end
  if not float and is_shaped(target, shape_without(x, axis)) then return end
  local whole = type_text(x:dtype(), x:shape())
  wrong(float and not shares and "dtype" or "shape",
    "target %s is %s beside %s, %s: it holds class indices, %s%s", core.called(target),
    type_text(target:dtype(), target:shape()), core.called(x), whole, type_text("i64", shape_without(x, axis)),
    shares and ", or probabilities, " .. whole or "")
end

-- The weight of each class, in x's shape.
local function spread(weight, x, axis)
  local classes = x:shape()[axis + 1]
  if rank_of(weight) ~= 1 or not core.equal(weight:shape()[1], classes) then
    wrong("shape", "weight has one number for each class, of which there are %s", tostring(classes))
  end
  for _ = axis + 2, rank_of(x) do weight = weight:unsqueeze(-1) end
  return weight:to(x:dtype()):expand(x:shape())
end

local function picked(x, axis, index) return x:gather(axis, index:unsqueeze(axis)):squeeze(axis) end

-- lp: log probabilities. smooth: the share of the loss that is blurred over all classes.
local function by_index(lp, target, weight, axis, reduction, ignored, smooth)
  local keep = target:ne(ignored or -100)
  local index = where(keep, target, 0)
  local y, w = -picked(lp, axis, index), weight and picked(weight, axis, index)
  if w then y = y * w end
  if smooth > 0 then
    local blur = -(weight and lp * weight or lp):sum(axis) / lp:shape()[axis + 1]
    y = y * (1 - smooth) + blur * smooth
  end
  y = where(keep, y, 0)
  if reduction and reduction ~= "mean" then return reduced(y, reduction) end
  return y:sum() / (w and where(keep, w, 0) or keep:to(lp:dtype())):sum()
end

local function by_probability(lp, target, weight, axis, reduction, smooth)
  local t = target:to(lp:dtype())
  if smooth > 0 then t = t * (1 - smooth) + smooth / tempo.full({}, lp:shape()[axis + 1], { dtype = lp:dtype() }) end
  local y = lp * t
  return reduced(-(weight and y * weight or y):sum(axis), reduction)
end

-- The axis of the classes, x in f32 at least, indices as i64, the weight in x's shape.
local function classes(x, target, weight, shares)
  if rank_of(x) == 0 then wrong("shape", "a scalar has no axis of classes") end
  local axis, lp = rank_of(x) == 1 and 0 or 1, wide(x)
  if not is_float(target:dtype()) then target = target:to "i64" end
  check_target(x, target, axis, shares)
  return axis, lp, target, weight and spread(weight, lp, axis)
end

function methods.cross_entropy(x, target, weight, reduction, ignored, smooth)
  local axis, lp, t, w = classes(x, target, weight, true)
  lp, smooth = log_softmax(lp, axis), smooth or 0
  local y
  if is_float(t:dtype()) then y = by_probability(lp, t, w, axis, reduction, smooth)
  else y = by_index(lp, t, w, axis, reduction, ignored, smooth) end
  return y:to(float_of(x))
end

function methods.nll_loss(x, target, weight, reduction, ignored)
  local axis, lp, t, w = classes(x, target, weight, false)
  return by_index(lp, t, w, axis, reduction, ignored, 0):to(float_of(x))
end

return methods

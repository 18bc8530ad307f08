-- Methods that are made of other methods: bodies of the rows of src/graph/methods/methods.def that
-- say `lua`. A body gets its arguments in the order of the signature, options last, checked and
-- converted: tensors of one program, tables of axes and of extents (integers or index expressions).
-- Its errors name the method that the script called, at the script's line.
local tempo = require "tempo"
local check = require "tempo.util".check

-- Rows of kind p, and the functions of src/lua/composed.c.
local core = getmetatable(tempo)
local where = tempo.where

local methods = {}
for _, part in ipairs { "einsum", "conv", "loss" } do
  for name, body in pairs(require("tempo.methods." .. part)) do methods[name] = body end
end

local types = require "tempo.methods.types"
local rank_of, extent_of, is_float = types.rank_of, types.extent_of, types.is_float
local is_shaped, type_text = types.is_shaped, types.type_text
local wide, float_of = types.wide, types.float_of
local function is_number(n) return type(n) == "number" end
local function is_extent(n) return is_number(n) or getmetatable(n).__name == "tempo.Index" end

local function rounded(f)
  return function(x, ...) return f(wide(x), ...):to(float_of(x)) end
end

local function is_whole(x) return not is_float(x:dtype()) and x:dtype() ~= "bool" end

-- ---- creation ----

local function check_vector(shape, name)
  check(#shape == 1, "shape", "the shape has one axis, as in %s {n}, not %d", name, #shape)
end

local function with_name(x, name) return name and x:name(name) or x end

function methods.eye(shape, dtype, domain, name)
  local n, m, options = shape[1], shape[#shape], { domain = domain }
  check(#shape == 1 or #shape == 2, "shape", "the shape is {n} or {n, m}")
  local row, column = core.iota({ n, m }, 0, options), core.iota({ n, m }, 1, options)
  return with_name(row:eq(column):to(dtype), name)
end

-- first + step * i, computed in f64, or in i64 for integers.
local function ramp(shape, first, step, computed, dtype, domain, name)
  local i = core.iota(shape, 0, { domain = domain }):to(computed)
  return with_name((i * step + first):to(dtype), name)
end

function methods.arange(shape, first, step, dtype, domain, name)
  check_vector(shape, "arange")
  first, step = first or 0, step or 1
  check(is_float(dtype) or first % 1 == 0 and step % 1 == 0, "dtype",
    "integers start and step by integers")
  if first == 0 and step == 1 then
    return core.iota(shape, 0, { dtype = dtype, domain = domain, name = name })
  end
  return ramp(shape, first, step, is_float(dtype) and "f64" or "i64", dtype, domain, name)
end

function methods.linspace(shape, first, last, dtype, domain, name)
  check_vector(shape, "linspace")
  local gaps = tempo.full({}, core.plain(tempo.max(shape[1] - 1, 1)), { dtype = "f64" })
  return ramp(shape, first, (last - first) / gaps, "f64", dtype, domain, name)
end

-- A limit as an i64 scalar.
local function limit(x)
  if is_extent(x) then return tempo.full({}, x, { dtype = "i64" }) end
  check(rank_of(x) == 0 and is_whole(x), "dtype",
    "a limit is an integer, an index expression or an i64 scalar tensor")
  return x:to "i64"
end

function methods.randint(shape, lo, hi, dtype, domain, name, key)
  local options = { dtype = dtype, domain = domain, name = name, key = key }
  if hi == nil then lo, hi = 0, lo end
  if is_number(lo) and is_number(hi) then return core.integers(shape, lo, hi, options) end
  local from = limit(lo)
  local width = (limit(hi) - from):maximum(0)              -- by 0: an error at run time
  options.dtype = "i64"
  local drawn = (core.integers(shape, 0, options) % width)
    :name((name or "randint") .. ", which has no number to draw")
  return (drawn + from):to(dtype or "i64")
end

function methods.randperm(shape, dtype, domain, name, key)
  check_vector(shape, "randperm")
  local u = tempo.uniform(shape, { dtype = "f64", domain = domain, name = name, key = key })
  return u:argsort(0):to(dtype or "i64")
end

-- ---- elementwise ----

function methods.square(x) return x ^ 2 end
function methods.reciprocal(x) return 1 / x:to(float_of(x)) end
function methods.relu(x) return tempo.maximum(0, x) end

-- In f64, where log(8) / log(2) is 3.
function methods.log2(x) return (x:to("f64"):log() / math.log(2)):to(float_of(x)) end

-- The limit stands first, so that it gets the gradient if x is equal to it. NaN stays.
function methods.clamp(x, lo, hi)
  check(lo or hi, "option", "a limit is missing: x:clamp(lo, hi), x:clamp(nil, hi)")
  x = lo and tempo.maximum(lo, x) or x
  return hi and tempo.minimum(hi, x) or x
end

methods.leaky_relu = rounded(function(x, slope)
  return where(x:gt(0), x, x * (slope or 0.01))
end)

-- The side that is not taken sees min(x, 0), so that it cannot overflow into the gradient.
methods.elu = rounded(function(x, alpha)
  return where(x:gt(0), x, x:minimum(0):expm1() * (alpha or 1))
end)

-- x/2 (1 + erf(x / sqrt 2)), or x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
methods.gelu = rounded(function(x, how)
  local tanh, none, p = how == "tanh", not how or how == "none"
  check(tanh or none, "option", 'approximate is "none" or "tanh", not "%s"', how)
  if tanh then p = ((x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)):tanh()
  else p = (x * math.sqrt(0.5)):erf() end
  return x * 0.5 * (p + 1)
end)

methods.silu = rounded(function(x) return x * x:sigmoid() end)

-- p + log1p(exp(n)) with p = x, n = -x for x >= 0, else p = 0, n = x: every derivative is right at
-- 0 too.
methods.softplus = rounded(function(x, beta, threshold)
  local scaled = beta and beta ~= 1
  local z = scaled and x * beta or x
  local up = z:ge(0)
  local y = where(up, z, 0) + where(up, -z, z):exp():log1p()
  return where(z:gt(threshold or 20), x, scaled and y / beta or y)
end)

-- ---- reductions ----

local function truth(x) return x:dtype() == "bool" and x or x:ne(0) end
function methods.any(x, axis, keepdim) return truth(x):max(axis, { keepdim = keepdim }) end
function methods.all(x, axis, keepdim) return truth(x):min(axis, { keepdim = keepdim }) end

-- x ^ power with the gradient 0 where x is 0.
local function rooted(x, power)
  local zero = x:eq(0)
  local safe = where(zero, 1, x)
  return where(zero, 0, power == 0.5 and safe:sqrt() or safe ^ power)
end

-- sum((x - mean)^2) / max(0, n - correction): NaN where that is 0 / 0
local function variance(x, axis, keepdim, correction, unbiased)
  if unbiased ~= nil then correction = unbiased and 1 or 0 end
  local mean, n = x:mean(axis, { keepdim = true }), 1
  local kept = mean:shape()
  for i, extent in ipairs(x:shape()) do n = extent == kept[i] and n or n * extent end
  n = core.plain(tempo.max(0, n - (correction or 1)))
  return ((x - mean) ^ 2):sum(axis, { keepdim = keepdim }) / n
end
methods.var = rounded(variance)
methods.std = rounded(function(...) return rooted(variance(...), 0.5) end)

local function exponent(p)
  if p == nil or p == "fro" then return 2 end
  check(type(p) ~= "string", "option", 'p is a number, not "%s"', p)
  check(type(p) ~= "table" or #p == 1, "option", "p is a number, not a table")
  return type(p) == "table" and p[1] or p
end

-- norm(p, axis), norm(axis, { p = }), or norm(axis) if x has that axis.
methods.norm = rounded(function(x, p, axis, keepdim, named)
  local keep, rank, axes = { keepdim = keepdim }, rank_of(x), type(p) == "table" and p or nil
  local are_axes = axes and (#axes ~= 1 or axes[1] >= -rank and axes[1] < rank)
  if not axis and (named or are_axes) then axis, p = axes, nil end
  p = exponent(named or p)
  if p == 2 then return rooted((x ^ 2):sum(axis, keep), 0.5) end
  if p == 0 then return x:ne(0):to(x:dtype()):sum(axis, keep) end
  x = x:abs()
  if p == 1 then return x:sum(axis, keep) end
  if p == math.huge then return x:max(axis, keep) end
  if p == -math.huge then return x:min(axis, keep) end
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

-- ---- movement ----

local function check_vectors(x, y)
  local n, m = rank_of(x), rank_of(y)
  check(n == 1 and m == 1, "shape", "takes two vectors, not tensors with %d and %d axes", n, m)
end

function methods.dot(x, y)
  check_vectors(x, y)
  return x:matmul(y)
end

function methods.outer(x, y)
  check_vectors(x, y)
  return x:unsqueeze(1) * y
end

function methods.flatten(x, start, stop)
  local rank, shape = rank_of(x), {}
  if rank == 0 then return x:unsqueeze(0) end
  local from, to = core.axis(rank, start or 0), core.axis(rank, stop or -1)
  check(from <= to, "shape", "axis %d comes after axis %d", from, to)
  for i, extent in ipairs(x:shape()) do
    if i - 1 > from and i - 1 <= to then shape[#shape] = shape[#shape] * extent
    else shape[#shape + 1] = extent end
  end
  return x:reshape(shape)
end

function methods.transpose(x, a, b)
  local order, rank = {}, rank_of(x)
  a, b = core.axis(rank, a), core.axis(rank, b)
  for axis = 0, rank - 1 do order[axis + 1] = axis == a and b or axis == b and a or axis end
  return x:permute(order)
end

local function check_matrix(x)
  check(rank_of(x) >= 2, "shape", "a matrix has two axes, not %d", rank_of(x))
end

function methods.mT(x)
  check_matrix(x)
  return methods.transpose(x, -2, -1)
end

-- Column - row of the last two axes.
local function off_diagonal(x)
  check_matrix(x)
  local rank = rank_of(x)
  local square = { extent_of(x, rank - 2), extent_of(x, rank - 1) }
  return core.iota(square, 1) - core.iota(square, 0)
end

local function only_where(c, x)
  local zero = 0
  if x:dtype() == "bool" then zero = false end
  return where(c, x, zero)
end

function methods.tril(x, diagonal) return only_where(off_diagonal(x):le(diagonal or 0), x) end
function methods.triu(x, diagonal) return only_where(off_diagonal(x):ge(diagonal or 0), x) end

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
  local extent, size, sum = extent_of(x, axis), sizes[1], 0
  if #sizes == 1 and is_number(size) and is_number(extent) then
    check(size >= 1, "option", "parts of %d", size)
    return equal_parts(x, axis, extent, size)
  end
  for _, each in ipairs(sizes) do sum = sum + each end
  check(core.equal(sum, extent), "shape", "sizes that sum to %s of an axis of %s", sum, extent)
  return parts(x, axis, sizes)
end

function methods.chunk(x, chunks, axis)
  axis = core.axis(rank_of(x), axis or 0)
  local extent, sizes = extent_of(x, axis), {}
  check(chunks >= 1 and chunks <= 65536, "option", "%d parts", chunks)
  if is_number(extent) then
    return equal_parts(x, axis, extent, math.max(1, math.ceil(extent / chunks)))
  end
  local each = core.quotient(extent, chunks)
  check(each, "shape", "an axis of %s is no multiple of %d", extent, chunks)
  for i = 1, chunks do sizes[i] = each end
  return parts(x, axis, sizes)
end

-- A negative extent cuts.
local function cut(extent) return is_number(extent) and extent < 0 and -extent or 0 end

function methods.pad(x, pad, value, mode)
  local n, rank = #pad, rank_of(x)
  check(not mode or mode == "constant", "option", 'mode is "constant", not "%s"', mode)
  check(n % 2 == 0 and n <= 2 * rank, "shape",
    "%d numbers for a tensor with %d axes: two for each, the last axis first", n, rank)
  for i = 2, n, 2 do
    local axis, lo, hi = rank - i / 2, pad[i - 1], pad[i]
    local before, after = cut(lo), cut(hi)
    x = core.part(x, axis, before, extent_of(x, axis) - (before + after))
    x = core.pad_axis(x, axis, before > 0 and 0 or lo, after > 0 and 0 or hi, value or 0)
  end
  return x
end

-- Element i comes from (i - shift) mod n: two slices where n is known, else by index.
local function rolled(x, axis, shift)
  local n = extent_of(x, axis)
  if not is_number(n) then
    return x:index_select(axis, (core.iota({ n }, 0) + (0 - shift)) % n)
  end
  local s = n > 0 and shift % n or 0
  if s == 0 then return x end
  return core.concat({ core.part(x, axis, n - s, s), core.part(x, axis, 0, n - s) }, axis)
end

function methods.roll(x, shifts, axes)
  if not axes then return rolled(x:reshape { -1 }, 0, shifts[1]):reshape(x:shape()) end
  check(#shifts == #axes, "option", "%d shifts for %d axes", #shifts, #axes)
  for i, axis in ipairs(axes) do x = rolled(x, core.axis(rank_of(x), axis), shifts[i]) end
  return x
end

local function same_dtypes(tensors)
  check(tensors[1], "option", "a table of at least one tensor is wanted")
  local dtype, list = tensors[1]:dtype(), {}
  for _, x in ipairs(tensors) do dtype = core.promote(dtype, x:dtype()) end
  for i, x in ipairs(tensors) do list[i] = x:to(dtype) end
  return list, rank_of(list[1])
end

function methods.cat(tensors, axis)
  local list, rank = same_dtypes(tensors)
  return core.concat(list, core.axis(rank, axis or 0))
end

function methods.stack(tensors, axis)
  local list, rank = same_dtypes(tensors)
  local shape = list[1]:shape()
  axis = core.axis(rank + 1, axis or 0)
  for i, x in ipairs(list) do
    check(rank_of(x) == rank, "shape", "tensors with %d and %d axes", rank, rank_of(x))
    for k, extent in ipairs(x:shape()) do
      check(core.equal(shape[k], extent), "shape", "sizes of axis %d differ", k - 1)
    end
    list[i] = x:unsqueeze(axis)
  end
  return core.concat(list, axis)
end

-- ---- indices ----

local function check_extent(x, what)
  check(x == nil or is_extent(x), "option",
    "%s is an integer or an index expression; to choose by data use narrow or index_select", what)
end

-- Ends never wrap: a negative one would silently give nothing.
local function check_end(x)
  check(not is_number(x) or x >= 0, "domain", "%d: indices count from 0 and do not wrap", x)
end

function methods.slice(x, axis, lo, hi, step)
  axis, step = core.axis(rank_of(x), axis), step or 1
  check_extent(lo, "lo")
  check_extent(hi, "hi")
  check(step >= 1, "option", "step %d; to reverse use flip", step)
  lo, hi = lo or 0, hi or extent_of(x, axis)
  check_end(lo)
  check_end(hi)
  local from, to = lo, hi
  if step > 1 then from, to = 0, tempo.floordiv(hi - lo + (step - 1), step) end
  return core.part(x, axis, lo, core.between(x, from, to), step)
end

-- An index by data, as an i64 scalar; nil for a number or an index expression.
local function by_data(index)
  if is_extent(index) then return check_end(index) end
  check(rank_of(index) == 0 and is_whole(index), "dtype",
    "an index is an integer, an index expression or an i64 scalar tensor")
  return index:to "i64"
end

function methods.select(x, axis, index)
  axis = core.axis(rank_of(x), axis)
  local i = by_data(index)
  return i and x:index_select(axis, i) or core.part(x, axis, index, 1):squeeze(axis)
end

function methods.narrow(x, axis, start, length)
  axis = core.axis(rank_of(x), axis)
  check_extent(length, "length")
  check_end(length)
  local i = by_data(start)
  if i then return x:index_select(axis, core.iota({ length }, 0) + i) end
  return core.part(x, axis, start, length)
end

-- ---- by data ----

-- The index, which must be one of an axis of n: what select takes of n copies of it. Messages call
-- these "put".
local function checked(index, axis, rank, n)
  local copies = {}
  for k = 1, rank do copies[k] = k == axis + 1 and n or 1 end
  local i = by_data(index) or tempo.full({}, index, { dtype = "i64" })
  return i:expand(copies):name "put":select(axis, index):name "put":unsqueeze(axis)
end

-- A scalar fills the row.
function methods.put(x, axis, index, value)
  axis = core.axis(rank_of(x), axis)
  local at, row, own = x:shape(), x:shape(), x:dtype()
  at[axis + 1] = 1
  table.remove(row, axis + 1)
  value = core.element(x, value)
  if rank_of(value) == 0 then value = value:expand(row) end
  local fits = is_shaped(value, row)
  if not fits or value:dtype() ~= own then
    check(false, fits and "dtype" or "shape", "the value is %s; %s has %s at an index of axis %d%s",
      type_text(value:dtype(), value:shape()), core.called(x), type_text(own, row), axis,
      fits and (': convert it, :to "%s"'):format(own) or "")
  end
  local i = checked(index, axis, #at, extent_of(x, axis))
  return core.put_at(x, axis, i:expand(at), value:unsqueeze(axis))
end

function methods.one_hot(x, classes)
  check(is_whole(x) and is_extent(classes), "dtype", "takes integers and the number of classes")
  return x:to("i64"):unsqueeze(-1):eq(core.iota({ classes }, 0)):to "i64"
end

function methods.topk(x, k, axis, largest)
  check(is_extent(k), "option", "k is an integer or an index expression")
  axis = core.axis(rank_of(x), axis or -1)
  local n = extent_of(x, axis)
  check(not is_number(k) or k >= 0 and (not is_number(n) or k <= n), "domain",
    "k = %s, and axis %d has %s elements", k, axis, n)
  local values, indices = x:sort(axis, largest ~= false)
  return core.part(values, axis, 0, k), core.part(indices, axis, 0, k)
end

-- ---- normalisation ----

-- The last axes of x, whose extents are given (nil: only the last).
local function last_axes(x, given)
  local rank, axes = rank_of(x), {}
  given = given or { extent_of(x, rank - 1) }
  check(#given >= 1 and #given <= rank, "shape", "over %d of %d axes", #given, rank)
  for i, extent in ipairs(given) do
    axes[i] = rank - #given + i - 1
    local own = extent_of(x, axes[i])
    check(core.equal(extent, own), "shape", "axis %d is %s, not %s", axes[i], own, extent)
  end
  return axes
end

local function power(x, axes) return (x ^ 2):mean(axes, { keepdim = true }) end

local function scaled(x, var, eps, weight, bias)
  local y = x * (var + eps):rsqrt()
  y = weight and y * weight or y
  return bias and y + bias or y
end

methods.layer_norm = rounded(function(x, shape, weight, bias, eps)
  local axes = last_axes(x, shape)
  local d = x - x:mean(axes, { keepdim = true })
  return scaled(d, power(d, axes), eps or 1e-5, weight, bias)
end)

-- The default of eps is the machine epsilon of the dtype that is computed in.
methods.rms_norm = rounded(function(x, shape, weight, eps)
  eps = eps or x:dtype() == "f64" and 2 ^ -52 or 2 ^ -23
  return scaled(x, power(x, last_axes(x, shape)), eps, weight)
end)

methods.normalized = rounded(function(x, axis, eps)
  local std = x:std(axis, { keepdim = true })
  return (x - x:mean(axis, { keepdim = true })) / (std + (eps or 1e-8))
end)

-- v, one number for each channel, against x's axis 1.
local function per_channel(x, v, what)
  if not v then return end
  local channels = extent_of(x, 1)
  check(rank_of(v) == 1 and core.equal(extent_of(v, 0), channels), "shape",
    "%s must have shape (%s): one for each channel", what, channels)
  v = v:to(x:dtype())
  for _ = 3, rank_of(x) do v = v:unsqueeze(-1) end
  return v
end

methods.batch_norm = rounded(function(x, mean, var, weight, bias, training, _, eps)
  local rank, axes = rank_of(x), { 0 }
  check(rank >= 2, "shape", "x has %d axes, must have a batch and channels", rank)
  for axis = 2, rank - 1 do axes[axis] = axis end
  mean, var = per_channel(x, mean, "running_mean"), per_channel(x, var, "running_var")
  weight, bias = per_channel(x, weight, "weight"), per_channel(x, bias, "bias")
  check(training or mean and var, "option",
    "running_mean and running_var are needed; or training = true, which takes the batch's")
  local d = x - (training and x:mean(axes, { keepdim = true }) or mean)
  return scaled(d, training and power(d, axes) or var, eps or 1e-5, weight, bias)
end)

function methods.dropout(x, p, training, name, key)
  p = p or 0.5
  x = x:to(float_of(x))
  check(p >= 0 and p <= 1, "option", "the probability is %g, not in [0, 1]", p)
  if p == 0 or training == false then return x end
  local options = { dtype = "bool", domain = x:domain(), name = name, key = key }
  local kept = tempo.bernoulli(x:shape(), 1 - p, options)
  return where(kept, p < 1 and x * (1 / (1 - p)) or x, 0)
end

return methods

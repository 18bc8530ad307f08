-- Convolution and pooling. Spatial axes are the last ones; before them channels, before these
-- perhaps a batch. A window is, for each spatial axis, its size, the stride from one to the next,
-- the dilation between its elements and the padding before (lo) and behind (hi) the axis.
local tempo = require "tempo"
local check = require "tempo.util".check

local core = getmetatable(tempo)

-- A number for each of d spatial axes, of one for all of them or of a table.
local function numbers(given, what, d, least)
  check(type(given) == "table", "option", "%s is an integer or a table of %d", what, d)
  local n, out = #given, {}
  check(n == 1 or n == d, "option", "%s is a number or a table of %d, not of %d", what, d, n)
  for i = 1, d do
    local v = given[n == 1 and 1 or i]
    check(v >= least and v < 2 ^ 24, "option", "%s is %d; it must be at least %d", what, v, least)
    out[i] = v
  end
  return out
end

-- Elements from the first to the last of a window.
local function reach(w, i) return (w.size[i] - 1) * w.dilation[i] + 1 end

local function windows(w, i, extent, more)
  return tempo.floordiv(extent + (w.lo[i] + w.hi[i] + more) - reach(w, i), w.stride[i]) + 1
end

local function check_fits(w, i, extent)
  local all, needed = extent + (w.lo[i] + w.hi[i]), reach(w, i)
  local room = core.plain(all - needed)
  check(type(room) ~= "number" or room >= 0, "shape",
    "the window reaches over %s elements, spatial axis %d has %s with its padding: there is no "
    .. "place for it (pad more, or make it smaller)", needed, i - 1, all)
end

-- With a batch of one where x has none; is it so?
local function batched(x, d)
  local rank, alone = #x:shape(), #x:shape() == d + 1
  check(alone or rank == d + 2, "shape", "x has %d axes, must have %d (channels and space) or %d "
    .. "(a batch before them)", rank, d + 1, d + 2)
  return alone and x:unsqueeze(0) or x, alone
end

-- ---- convolution ----

-- The arguments of all convolutions. Integers stay; 16-bit floats are computed in f32 and rounded
-- once.
local function call(d, x, weight, bias, stride, dilation, groups)
  check(groups >= 1, "option", "groups is %d; it must be at least 1", groups)
  local c, shape = { d = d, groups = groups }, weight:shape()
  check(#shape == d + 2, "shape",
    "weight has %d axes, must have %d: channels of both sides and its size", #shape, d + 2)
  c.dtype = core.promote(x:dtype(), weight:dtype())
  if bias then c.dtype = core.promote(c.dtype, bias:dtype()) end
  if c.dtype == "bool" then c.dtype = "i64" end
  local computed = c.dtype:find "f16" and "f32" or c.dtype
  c.x, c.alone = batched(x:to(computed), d)
  c.weight, c.bias = weight:to(computed), bias and bias:to(computed)
  c.window = { size = { shape[3], shape[4] }, stride = numbers(stride or { 1 }, "stride", d, 1),
    dilation = numbers(dilation or { 1 }, "dilation", d, 1) }
  return c
end

local function check_channels(c, wanted)
  local channels = c.x:shape()[2]
  check(core.equal(channels, wanted), "shape",
    "x has %s channels, the weight with groups = %d wants %s", channels, c.groups, wanted)
end

-- "same" pads so that as many come out as go in, the odd one behind.
local function set_padding(w, padding, d)
  local same, word = padding == "same", type(padding) == "string"
  check(not word or same or padding == "valid", "option",
    'padding is a number, a table of numbers, "same" or "valid", not "%s"', padding)
  w.lo = numbers(word and { 0 } or padding, "padding", d, 0)
  w.hi = { w.lo[1], w.lo[2] }
  for i = 1, same and d or 0 do
    local all = core.plain(reach(w, i) - 1)
    check(w.stride[i] == 1, "option", 'padding = "same" is for stride 1')
    check(type(all) == "number", "option", 'padding = "same" is for a weight whose size is known')
    w.lo[i] = math.floor(all / 2)
    w.hi[i] = all - w.lo[i]
  end
end

local function grouped(x, axis, groups, what)
  local shape = x:shape()
  local channels = shape[axis + 1]
  shape[axis + 1] = core.quotient(channels, groups)
  check(shape[axis + 1], "shape", "%s: %s channels are not in %d equal groups", what, channels,
    groups)
  table.insert(shape, axis + 1, groups)
  return x:reshape(shape)
end

-- The operator of x and the weight, whose results lie along axis `out`, for spatial axes of these
-- extents: groups joined, bias added, a batch of one gone.
local function convolved(c, operator, out, space)
  local x, weight = grouped(c.x, 1, c.groups, "x"), grouped(c.weight, 0, c.groups, "weight")
  local batch, each, w = x:shape()[1], weight:shape()[out + 1], c.window
  local shape = { batch, c.groups, each, space[1], space[2] }
  local y = operator(x, weight, w.stride, w.dilation, w.lo, shape)
  y = y:reshape { batch, c.groups * each, space[1], space[2] }
  if c.bias then
    local bias, channels = c.bias, y:shape()[2]
    local fits = #bias:shape() == 1 and core.equal(bias:shape()[1], channels)
    check(fits, "shape", "bias must have shape (%s)", channels)
    for _ = 1, c.d do bias = bias:unsqueeze(-1) end
    y = y + bias
  end
  return (c.alone and y:squeeze(0) or y):to(c.dtype)
end

local function conv(d)
  return function(x, weight, bias, stride, padding, dilation, groups)
    local c, space = call(d, x, weight, bias, stride, dilation, groups or 1), {}
    set_padding(c.window, padding or { 0 }, d)
    check_channels(c, c.weight:shape()[2] * c.groups)
    for i = 1, d do
      local extent = c.x:shape()[2 + i]
      check_fits(c.window, i, extent)
      space[i] = windows(c.window, i, extent, 0)
    end
    return convolved(c, core.conv, 1, space)
  end
end

-- (extent - 1) stride - 2 padding + reach + output_padding
local function conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation)
  local c, space = call(2, x, weight, bias, stride, dilation, groups or 1), {}
  local w = c.window
  w.lo = numbers(padding or { 0 }, "padding", 2, 0)
  local more = numbers(output_padding or { 0 }, "output_padding", 2, 0)
  check_channels(c, c.weight:shape()[1])
  for i = 1, 2 do
    check(more[i] < math.max(w.stride[i], w.dilation[i]), "option",
      "output_padding is %d; it must be less than the stride or the dilation", more[i])
    space[i] = (c.x:shape()[2 + i] - 1) * w.stride[i] + reach(w, i) + (more[i] - 2 * w.lo[i])
  end
  return convolved(c, core.conv_data, 2, space)
end

-- ---- pooling: windows as two more axes, reduced ----

local function pool(x, kernel_size, stride, padding, dilation, ceil)
  local p = {}
  p.x, p.alone = batched(x, 2)
  local size = numbers(kernel_size, "kernel_size", 2, 1)
  p.size, p.stride = size, numbers(stride or size, "stride", 2, 1)
  p.dilation = numbers(dilation or { 1 }, "dilation", 2, 1)
  p.lo = numbers(padding or { 0 }, "padding", 2, 0)
  p.hi, p.n, p.space = p.lo, {}, { p.x:shape()[3], p.x:shape()[4] }
  for i, extent in ipairs(p.space) do
    local lo, step = p.lo[i], p.stride[i]
    check(2 * lo <= size[i], "option", "padding is %d; it must be at most half of kernel_size", lo)
    check_fits(p, i, extent)
    p.n[i] = windows(p, i, extent, ceil and step - 1 or 0)
    -- a last window may reach beyond the padding if it begins before it
    if ceil then p.n[i] = tempo.min(p.n[i], tempo.floordiv(extent + (lo - 1), step) + 1) end
  end
  return p
end

-- [N, C, H, W] => [N, C, H', h, W', w]
local function unfolded(p, x, ceil, fill)
  for i = 1, 2 do
    x = core.pad_axis(x, 2 * i, p.lo[i], p.hi[i] + (ceil and p.stride[i] - 1 or 0), fill)
    x = core.unfold(x, 2 * i, p.n[i], p.size[i], p.stride[i], p.dilation[i])
  end
  return x
end

local function max_pool2d(x, kernel_size, stride, padding, dilation, ceil)
  local p = pool(x, kernel_size, stride, padding, dilation, ceil)
  local y = unfolded(p, p.x, ceil, -math.huge):max { 3, 5 }
  return p.alone and y:squeeze(0) or y
end

-- How many elements of axis i the windows see: [n, 1 ..]. With padding counted, that of ceil_mode's
-- last window is not.
local function seen(p, i, padding_counts, dtype)
  local pad = padding_counts and p.lo[i] or 0
  local first = core.iota({ p.n[i] }, 0) * p.stride[i] + (0 - p.lo[i])
  local last = tempo.minimum(first + p.size[i], p.space[i] + pad)
  local n = (last - first:maximum(0 - pad)):to(dtype)
  return i == 1 and n:unsqueeze(-1) or n
end

local function avg_pool2d(x, kernel_size, stride, padding, ceil, count_include_pad, divisor)
  local p, dtype = pool(x, kernel_size, stride, padding, nil, ceil), x:dtype()
  check(divisor ~= 0, "option", "divisor_override is 0")
  local y = unfolded(p, p.x:to(dtype == "f64" and "f64" or "f32"), ceil, 0):sum { 3, 5 }
  local padding_counts = count_include_pad ~= false
  if divisor or not ceil and (padding_counts or p.lo[1] + p.lo[2] == 0) then
    y = y / (divisor or p.size[1] * p.size[2])
  else
    for i = 1, 2 do y = y / seen(p, i, padding_counts, y:dtype()) end
  end
  return (p.alone and y:squeeze(0) or y):to(dtype:find "f%d" and dtype or "f32")
end

return { conv1d = conv(1), conv2d = conv(2), conv_transpose2d = conv_transpose2d,
  max_pool2d = max_pool2d, avg_pool2d = avg_pool2d }

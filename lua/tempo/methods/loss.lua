-- Losses: a number, or one for each element or row, of what was computed and a target.
local tempo = require "tempo"
local check = require "tempo.util".check
local types = require "tempo.methods.types"

local core = getmetatable(tempo)
local where = tempo.where
local rank_of, extent_of, is_float = types.rank_of, types.extent_of, types.is_float
local is_shaped, type_text = types.is_shaped, types.type_text
local wide, float_of = types.wide, types.float_of

local losses = {}

local function reduced(y, how)
  check(not how or how == "mean" or how == "sum" or how == "none", "option",
    'reduction is "mean", "sum" or "none", not "%s"', how)
  return how == "none" and y or how == "sum" and y:sum() or y:mean()
end

-- A loss of x and a target, of which a number takes the other's dtype, by that of each element.
local function loss(each, reduce)
  return function(x, target, reduction, ...)
    x, target = core.beside(x, target)
    local dtype = core.promote(x:dtype(), target:dtype())
    local computed = dtype == "f64" and "f64" or "f32"
    local y = each(x:to(computed), target:to(computed), ...)
    return (reduce or reduced)(y, reduction):to(is_float(dtype) and dtype or "f32")
  end
end

losses.mse_loss = loss(function(x, t) return (x - t) ^ 2 end)

losses.smooth_l1_loss = loss(function(x, t, beta)
  local e = x - t
  local y = e:abs()
  beta = beta or 1
  return beta > 0 and where(y:lt(beta), e ^ 2 * (0.5 / beta), y + -0.5 * beta) or y
end)

-- log x, -100 at least; 0 and below see a constant, so that no 0 * inf arises in the gradient.
local function safe_log(x)
  local none = x:le(0)
  return where(none, -100, where(none, 1, x):log():maximum(-100))
end

local cross_entropy_of_two = loss(function(x, t, weight)
  local y = -(t * safe_log(x) + (1 - t) * safe_log(1 - x))
  return weight and y * weight or y
end)
function losses.binary_cross_entropy(x, target, weight, reduction)
  return cross_entropy_of_two(x, target, reduction, weight)
end

-- t log t - t x, where 0 log 0 is 0
losses.kl_div = loss(function(x, t, log_target)
  return log_target and t:exp() * (t - x) or t * where(t:eq(0), 1, t):log() - t * x
end, function(y, reduction)
  if reduction ~= "batchmean" then return reduced(y, reduction) end
  check(rank_of(y) > 0, "shape", "a scalar has no batch axis")
  return y:sum() / extent_of(y, 0)
end)

-- ---- negative log likelihood ----

-- Indices have x's shape without the classes; probabilities (`shares`) have x's.
local function check_target(x, target, axis, shares)
  local float, whole, rows = is_float(target:dtype()), x:shape(), x:shape()
  table.remove(rows, axis + 1)
  if (shares or not float) and is_shaped(target, float and whole or rows) then return end
  whole = type_text(x:dtype(), whole)
  check(false, float and not shares and "dtype" or "shape",
    "target %s is %s beside %s, %s: it holds class indices, %s%s", core.called(target),
    type_text(target:dtype(), target:shape()), core.called(x), whole, type_text("i64", rows),
    shares and ", or probabilities, " .. whole or "")
end

-- The weight of each class, in x's shape.
local function spread(weight, x, axis)
  local classes = extent_of(x, axis)
  check(rank_of(weight) == 1 and core.equal(extent_of(weight, 0), classes), "shape",
    "weight has one number for each class, of which there are %s", classes)
  for _ = axis + 2, rank_of(x) do weight = weight:unsqueeze(-1) end
  return weight:to(x:dtype()):expand(x:shape())
end

local function picked(x, axis, index) return x:gather(axis, index:unsqueeze(axis)):squeeze(axis) end

-- log_softmax(x) at the index of each row, and all of it: rows are picked of x, so that no more
-- than these are made, and the gradient adds to as many.
local function log_softmax_at(x, axis, index)
  local keep = { keepdim = true }
  local top = x:max(axis, keep):detach()
  local sum = (x - top):exp():sum(axis, keep):log()
  return picked(x, axis, index) - top:squeeze(axis) - sum:squeeze(axis), x - top - sum
end

-- log_at: makes log probabilities of x. smooth: the share of the loss that is blurred over all
-- classes.
local function by_index(log_at, x, target, weight, axis, reduction, ignored, smooth)
  local keep = target:ne(ignored or -100)
  local index = where(keep, target, 0)
  local at, lp = log_at(x, axis, index)
  local y, w = -at, weight and picked(weight, axis, index)
  y = w and y * w or y
  if smooth > 0 then
    local blur = -(weight and lp * weight or lp):sum(axis) / extent_of(lp, axis)
    y = y * (1 - smooth) + blur * smooth
  end
  y = where(keep, y, 0)
  if reduction and reduction ~= "mean" then return reduced(y, reduction) end
  return y:sum() / (w and where(keep, w, 0) or keep:to(lp:dtype())):sum()
end

local function by_probability(lp, target, weight, axis, reduction, smooth)
  local t = target:to(lp:dtype())
  if smooth > 0 then
    local classes = tempo.full({}, extent_of(lp, axis), { dtype = lp:dtype() })
    t = t * (1 - smooth) + smooth / classes
  end
  local y = lp * t
  return reduced(-(weight and y * weight or y):sum(axis), reduction)
end

local function likelihood(shares, log_of, log_at)
  return function(x, target, weight, reduction, ignored, smooth)
    check(rank_of(x) > 0, "shape", "a scalar has no axis of classes")
    local axis, lp, float = rank_of(x) == 1 and 0 or 1, wide(x), is_float(target:dtype())
    if not float then target = target:to "i64" end
    check_target(x, target, axis, shares)
    weight, smooth = weight and spread(weight, lp, axis), smooth or 0
    local y
    if float then
      y = by_probability(log_of(lp, axis), target, weight, axis, reduction, smooth)
    else y = by_index(log_at, lp, target, weight, axis, reduction, ignored, smooth) end
    return y:to(float_of(x))
  end
end
losses.cross_entropy = likelihood(true, function(x, axis) return x:log_softmax(axis) end,
  log_softmax_at)
losses.nll_loss = likelihood(false, function(lp) return lp end,
  function(lp, axis, index) return picked(lp, axis, index), lp end)

return losses

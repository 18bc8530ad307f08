--- tempo.associative_scan: all prefixes of an operator that is associative.
---
--- Along an axis it combines pairs, then pairs of pairs (Blelloch 1990, "Prefix sums and their
--- applications"): about 2 n applications to single elements, by 2 log2(n) operators on many, so
--- that none waits for its neighbour. Along a dim it is a recurrence, y[t] = fn(y[t-1], x[t]),
--- which the compiler may change.
local tempo = require "tempo"
local util = require "tempo.util"

local WHAT = "associative_scan"

-- The tensors of x as a list, and the function that makes x's form of such a list.
local function taken_apart(x, what)
  if util.is_tensor(x) then return { x }, function(v) return v[1] end end
  if type(x) ~= "table" then
    util.fail("option", "%s: %s: expected a tensor or a table of tensors, got a %s", WHAT, what,
      type(x))
  end
  local keys, list = {}, {}
  for key in pairs(x) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  for k, key in ipairs(keys) do
    if not util.is_tensor(x[key]) then
      util.fail("option", "%s: %s: expected a tensor as '%s', got a %s", WHAT, what, tostring(key),
        type(x[key]))
    end
    list[k] = x[key]
  end
  if #list == 0 then util.fail("option", "%s: %s: a table without tensors", WHAT, what) end
  return list, function(v)
    local form = {}
    for k, key in ipairs(keys) do form[key] = v[k] end
    return form
  end, keys
end

local function extents(x)
  local text = {}
  for k, extent in ipairs(x:shape()) do text[k] = tostring(extent) end
  return "(" .. table.concat(text, ", ") .. ")"
end

-- fn on lists; x: the scanned value.
local function on_lists(fn, form, x, count)
  return function(a, b)
    local y, _, keys = taken_apart(fn(form(a), form(b)), "what the function gives")
    if #y ~= count then
      util.fail("option", "%s: the function gives %d tensors of %d that it takes: expected as many",
        WHAT, #y, count)
    end
    for k, v in ipairs(y) do
      local key = keys and tostring(keys[k])
      if key and not util.is_tensor(x) and x[keys[k]] == nil then
        util.fail("option", "%s: the function gives '%s', which is none of those that it takes",
          WHAT, key)
      end
      local as = key and (" as '%s'"):format(key) or ""
      if extents(v) ~= extents(a[k]) then
        util.fail("shape", "%s: what the function gives%s has the shape %s, what it takes %s",
          WHAT, as, extents(v), extents(a[k]))
      end
      if v:dtype() ~= a[k]:dtype() then
        util.fail("dtype", "%s: what the function gives%s is %s, what it takes %s", WHAT, as,
          v:dtype(), a[k]:dtype())
      end
    end
    return y
  end
end

local function each(v, f)
  local y = {}
  for k, x in ipairs(v) do y[k] = f(x, k) end
  return y
end

-- ---- along an axis ------------------------------------------------------------------------------

local function place(axis, rank)
  if type(axis) ~= "number" or axis ~= math.floor(axis) or axis < -rank or axis >= rank then
    util.fail("shape", "%s: axis %s of a tensor with %d axes", WHAT, tostring(axis), rank)
  end
  return axis < 0 and axis + rank or axis
end

local function length(list, axis)
  local n
  for _, x in ipairs(list) do
    local extent = x:shape()[axis + 1]
    if type(extent) ~= "number" then
      util.fail("shape", "%s: axis %d has %s elements, which only the call knows; "
        .. "scan along the dim itself: { dim = t }", WHAT, axis, tostring(extent))
    end
    if n and n ~= extent then
      util.fail("shape", "%s: axis %d has %d elements here, %d there", WHAT, axis, n, extent)
    end
    n = extent
  end
  return n
end

-- even[0], odd[0], even[1], ..; of even ones there may be one more.
local function woven(even, odd, axis, n)
  local pairs_of, shape = math.floor(n / 2), odd:shape()
  shape[axis + 1] = 2 * pairs_of
  local both = tempo.stack({ even:slice(axis, 0, pairs_of), odd }, axis + 1):reshape(shape)
  return n % 2 == 0 and both or tempo.cat({ both, even:slice(axis, pairs_of, pairs_of + 1) }, axis)
end

local function prefixes(combine, v, axis, n)
  if n < 2 then return v end
  local function picked(list, lo, hi, step)
    return each(list, function(x) return x:slice(axis, lo, hi, step) end)
  end
  local half = math.floor(n / 2)
  local odd = prefixes(combine, combine(picked(v, 0, 2 * half, 2), picked(v, 1, n, 2)), axis, half)
  local first, behind = picked(v, 0, 1), math.floor((n - 1) / 2)
  local even = first
  if behind > 0 then
    local later = combine(picked(odd, 0, behind), picked(v, 2, n, 2))
    even = each(first, function(x, k) return tempo.cat({ x, later[k] }, axis) end)
  end
  return each(even, function(x, k) return woven(x, odd[k], axis, n) end)
end

local function along_axis(combine, v, axis, reverse)
  axis = place(axis, #v[1]:shape())
  local n = length(v, axis)
  local function turned(list)
    return reverse and each(list, function(x) return x:flip(axis) end) or list
  end
  return turned(prefixes(combine, turned(v), axis, n))
end

-- ---- along a dim --------------------------------------------------------------------------------

local function varies(v, t)
  for _, x in ipairs(v) do
    if util.dimset(x)[t] then return true end
  end
  return false
end

local function along_dim(combine, v, t, reverse)
  if not varies(v, t) then
    util.fail("domain", "%s: no tensor varies with %s", WHAT, tostring(t))
  end
  local P = v[1]:program()
  local y = each(v, function(x)
    return P:tensor { domain = v, shape = x:shape(), dtype = x:dtype() }
  end)
  local function at(list, point) return each(list, function(x) return x:at { [t] = point } end) end
  local first, before = 0, t - 1
  if reverse then first, before = t:upper() - 1, t + 1 end
  local later = combine(at(y, before), v)
  for k, x in ipairs(y) do
    x[{ [t] = first }] = v[k]
    x[{ [t] = t }] = later[k]
  end
  return y
end

--- All prefixes of x under fn: y[0] = x[0], y[k] = fn(y[k-1], x[k]). fn has to be associative:
--- fn(fn(a, b), c) = fn(a, fn(b, c)).
return function(fn, x, o)
  o = util.options(WHAT, o, "axis dim reverse")
  if type(fn) ~= "function" then
    util.fail("option", "%s: expected a function first, got a %s", WHAT, type(fn))
  end
  local v, form = taken_apart(x, "#2")
  local combine = on_lists(fn, form, x, #v)
  if o.dim == nil then return form(along_axis(combine, v, o.axis or 0, o.reverse)) end
  if o.axis ~= nil then util.fail("option", "%s: axis or dim, not both", WHAT) end
  return form(along_dim(combine, v, o.dim, o.reverse))
end

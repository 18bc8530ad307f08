--- tempo.viz: curves as text, for terminals and logs, and as SVG.
local util = require "tempo.util"

---@class tempo.viz
local viz = {}

local bars = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

local function numbers(what, values)
  if type(values) == "userdata" then values = values:totable() end
  if type(values) ~= "table" then
    util.fail("option", "%s: expected a sequence of numbers or an array, got a %s", what,
      type(values))
  end
  for k, v in ipairs(values) do
    if type(v) ~= "number" then
      util.fail("option", "%s: expected a number at [%d], got a %s", what, k, type(v))
    end
  end
  return values
end

local function finite(v) return v == v and v ~= math.huge and v ~= -math.huge end

-- The mean of the finite values of each of at most `width` stretches of equal length; NaN where
-- there are none.
local function buckets(values, width)
  local n = math.min(#values, width)
  local out = {}
  for k = 1, n do
    local sum, count = 0, 0
    for j = math.floor((k - 1) * #values / n) + 1, math.floor(k * #values / n) do
      if finite(values[j]) then sum, count = sum + values[j], count + 1 end
    end
    out[k] = sum / count
  end
  return out
end

local function limits(values)
  local lo, hi
  for _, v in ipairs(values) do
    if finite(v) then lo, hi = math.min(lo or v, v), math.max(hi or v, v) end
  end
  return lo or 0, hi or 0
end

-- Which of n steps from lo to hi, 1 .. n; of no range the middle one.
local function level(v, lo, hi, n)
  if hi == lo then return math.floor((n + 1) / 2) end
  return math.min(n, 1 + math.floor((v - lo) / (hi - lo) * n))
end

--- A line of bars, one for each value or for the mean of each stretch; a space where there is none
--- (NaN).
---@param values number[]|tempo.Array
---@param o? { width?: integer }
---@return string
function viz.spark(values, o)
  o = util.options("viz.spark", o, "width")
  local out = buckets(numbers("viz.spark", values), o.width or 60)
  local lo, hi = limits(out)
  for k, v in ipairs(out) do out[k] = finite(v) and bars[level(v, lo, hi, #bars)] or " " end
  return table.concat(out)
end

local function label(v) return ("%10s"):format(("%.4g"):format(v)) end

--- A curve over 0 .. n-1: `height` lines with the greatest and the least value beside them, an axis
--- below.
---@param values number[]|tempo.Array
---@param o? { width?: integer, height?: integer, title?: string }
---@return string
function viz.plot(values, o)
  o = util.options("viz.plot", o, "width height title")
  values = numbers("viz.plot", values)
  local height, points = o.height or 10, buckets(values, o.width or 60)
  local lo, hi = limits(points)
  local lines = { o.title }
  for row = height, 1, -1 do
    local cells = {}
    for k, v in ipairs(points) do
      cells[k] = finite(v) and level(v, lo, hi, height) == row and "*" or " "
    end
    local edge = row == height and label(hi) or row == 1 and label(lo) or (" "):rep(10)
    lines[#lines + 1] = (edge .. " |" .. table.concat(cells)):gsub(" +$", "")
  end
  local last = tostring(math.max(#values - 1, 0))
  lines[#lines + 1] = (" "):rep(11) .. "+" .. ("-"):rep(#points)
  lines[#lines + 1] = (" "):rep(12) .. "0" .. (" "):rep(math.max(#points - #last - 1, 1)) .. last
  return table.concat(lines, "\n")
end

--- The columns of a file of numbers, a line of bars each, with its first, least, greatest and last
--- value.
---@param path string
---@param o? { columns?: string[], width?: integer }
---@return string
function viz.csv(path, o)
  o = util.options("viz.csv", o, "columns width")
  if o.columns then util.sequence("viz.csv: columns", o.columns, '{ "return" }') end
  local columns, names = require "tempo.data".csv(path)
  local lines, wide = {}, 0
  for _, name in ipairs(o.columns or names) do
    if not columns[name] then
      local near = util.nearest(name, columns)
      local hint = near and "; did you mean '" .. near .. "'?" or ""
      util.fail("option", "viz.csv: '%s' has no column '%s'%s", path, name, hint)
    end
    wide = math.max(wide, #name)
  end
  for _, name in ipairs(o.columns or names) do
    local values = columns[name]:totable()
    local lo, hi = limits(values)
    local bar = viz.spark(values, { width = o.width or 40 })
    lines[#lines + 1] = ("%-" .. wide .. "s %s  first %.4g, least %.4g, greatest %.4g, last %.4g")
      :format(name, bar, values[1] or 0 / 0, lo, hi, values[#values] or 0 / 0)
  end
  return table.concat(lines, "\n")
end

viz.svg = require "tempo.viz.svg".svg
return util.library("viz", viz)

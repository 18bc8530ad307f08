--- tempo.viz: curves as text, for terminals and logs, and as SVG.
local util = require "tempo.util"

---@class tempo.viz
local viz = {}

local bars = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

local function numbers(what, values)
  if type(values) == "userdata" then values = values:totable() end
  if type(values) ~= "table" then
    util.fail("option", "%s: expected a sequence of numbers or an array, got a %s", what, type(values))
  end
  for k, v in ipairs(values) do
    if type(v) ~= "number" then util.fail("option", "%s: expected a number at [%d], got a %s", what, k, type(v)) end
  end
  return values
end

local function finite(v) return v == v and v ~= math.huge and v ~= -math.huge end

-- The mean of the finite values of each of at most `width` stretches of equal length; NaN where there are none.
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

--- A line of bars, one for each value or for the mean of each stretch; a space where there is none (NaN).
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

--- A curve over 0 .. n-1: `height` lines with the greatest and the least value beside them, an axis below.
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
    for k, v in ipairs(points) do cells[k] = finite(v) and level(v, lo, hi, height) == row and "*" or " " end
    local edge = row == height and label(hi) or row == 1 and label(lo) or (" "):rep(10)
    lines[#lines + 1] = (edge .. " |" .. table.concat(cells)):gsub(" +$", "")
  end
  local last = tostring(math.max(#values - 1, 0))
  lines[#lines + 1] = (" "):rep(11) .. "+" .. ("-"):rep(#points)
  lines[#lines + 1] = (" "):rep(12) .. "0" .. (" "):rep(math.max(#points - #last - 1, 1)) .. last
  return table.concat(lines, "\n")
end

--- The columns of a file of numbers, a line of bars each, with its first, least, greatest and last value.
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

-- ---- SVG ------------------------------------------------------------------------------------------------------------

local colours = { "#1b6ca8", "#d1495b", "#2e8b57", "#b8860b", "#6a4c93", "#444444" }
local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
local function escaped(s) return (tostring(s):gsub('[&<>"]', escapes)) end

-- Round numbers from lo to hi, about n of them: their first and the step between them.
local function ticks(lo, hi, n)
  local raw = math.max(hi - lo, 1e-300) / n
  local power = 10 ^ math.floor(math.log(raw) / math.log(10))
  local step = 10 * power
  for _, k in ipairs { 5, 2, 1 } do
    if k * power >= raw then step = k * power end
  end
  return math.ceil(lo / step - 1e-9) * step, step
end

local function thousands(v)
  for _, unit in ipairs { { 1e9, "G" }, { 1e6, "M" }, { 1e4, "k" } } do
    if math.abs(v) >= unit[1] then return ("%.4g%s"):format(v / (unit[1] == 1e4 and 1e3 or unit[1]), unit[2]) end
  end
  return ("%.4g"):format(v)
end

-- The finite points of a curve, at most one for each half pixel: means of stretches, as { x =, y =, lo =, hi = }.
local function points_of(curve, width)
  local points, y = {}, numbers("viz.svg: y", curve.y)
  local n = math.min(#y, 2 * width)
  for k = 1, n do
    local p, count = { x = 0, y = 0, lo = 0, hi = 0 }, 0
    for j = math.floor((k - 1) * #y / n) + 1, math.floor(k * #y / n) do
      if finite(y[j]) then
        count = count + 1
        p.x, p.y = p.x + (curve.x and curve.x[j] or j - 1), p.y + y[j]
        p.lo, p.hi = p.lo + (curve.lo and curve.lo[j] or y[j]), p.hi + (curve.hi and curve.hi[j] or y[j])
      end
    end
    if count > 0 then
      for key, v in pairs(p) do p[key] = v / count end
      points[#points + 1] = p
    end
  end
  return points
end

--- Curves as an SVG picture. A curve has y, and may have x (0, 1, ..), lo and hi (a band around it) and a name (then
--- there is a legend). Values that are not finite are left out.
---@param curves { y: number[], x?: number[], lo?: number[], hi?: number[], name?: string }[]
---@param o? { width?: integer, height?: integer, title?: string, x?: string, y?: string }
---@return string
function viz.svg(curves, o)
  o = util.options("viz.svg", o, "width height title x y")
  util.sequence("viz.svg: curves", curves, "{ { y = { 1, 2 } } }")
  local width, height, left, right, bottom = o.width or 640, o.height or 320, 56, 16, 44
  local top = o.title and 32 or 14
  local drawn, xs, ys = {}, {}, {}
  for k, curve in ipairs(curves) do
    drawn[k] = points_of(util.expect("viz.svg: a curve", "table", curve), width)
    for _, p in ipairs(drawn[k]) do
      xs[#xs + 1] = p.x
      ys[#ys + 1], ys[#ys + 2] = p.lo, p.hi
    end
  end
  local x0, x1 = limits(xs)
  local y0, y1 = limits(ys)
  if x1 == x0 then x1 = x0 + 1 end
  if y1 == y0 then y0, y1 = y0 - 0.5, y1 + 0.5 end
  local function at_x(v) return left + (v - x0) / (x1 - x0) * (width - left - right) end
  local function at_y(v) return height - bottom - (v - y0) / (y1 - y0) * (height - bottom - top) end
  local out = {}
  local function put(...) out[#out + 1] = string.format(...) end
  put('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">', width,
    height)
  put('<rect width="%d" height="%d" fill="white"/>', width, height)
  local first, step = ticks(y0, y1, 5)
  for v = first, y1 + step * 1e-9, step do
    put('<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>', left, at_y(v),
      width - right, left - 6, at_y(v) + 4, thousands(v))
  end
  first, step = ticks(x0, x1, 6)
  for v = first, x1 + step * 1e-9, step do
    put('<path d="M%.1f %dv4" stroke="#888"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>', at_x(v),
      height - bottom, at_x(v), height - bottom + 16, thousands(v))
  end
  put('<path d="M%d %dH%d" stroke="#888"/>', left, height - bottom, width - right)
  if o.title then put('<text x="%d" y="20" font-size="14">%s</text>', left, escaped(o.title)) end
  if o.x then
    put('<text x="%d" y="%d" text-anchor="end">%s</text>', width - right, height - 8, escaped(o.x))
  end
  if o.y then put('<text x="12" y="%d" transform="rotate(-90 12 %d)" text-anchor="end">%s</text>', top, top,
    escaped(o.y)) end
  local legend = 0
  for k, points in ipairs(drawn) do
    local colour = colours[(k - 1) % #colours + 1]
    local line, band, back = {}, {}, {}
    for j, p in ipairs(points) do
      line[j] = ("%.1f,%.1f"):format(at_x(p.x), at_y(p.y))
      band[j], back[#points - j + 1] = ("%.1f,%.1f"):format(at_x(p.x), at_y(p.hi)),
        ("%.1f,%.1f"):format(at_x(p.x), at_y(p.lo))
    end
    if curves[k].lo or curves[k].hi then
      put('<polygon fill="%s" fill-opacity="0.18" points="%s %s"/>', colour, table.concat(band, " "),
        table.concat(back, " "))
    end
    put('<polyline fill="none" stroke-width="1.5" stroke-linejoin="round" stroke="%s" points="%s"/>', colour,
      table.concat(line, " "))
    if curves[k].name then
      legend = legend + 1
      put('<path d="M%d %dh14" stroke-width="2" stroke="%s"/><text x="%d" y="%d">%s</text>', left + 8,
        top + 14 * legend - 6, colour, left + 26, top + 14 * legend - 2, escaped(curves[k].name))
    end
  end
  put "</svg>"
  return table.concat(out, "\n") .. "\n"
end

return util.library("viz", viz)

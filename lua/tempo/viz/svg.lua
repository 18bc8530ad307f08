-- Curves as an SVG picture.
local util = require "tempo.util"

local viz = {}

local colours = { "#1b6ca8", "#d1495b", "#2e8b57", "#b8860b", "#6a4c93", "#444444" }
local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
local function escaped(s) return (tostring(s):gsub('[&<>"]', escapes)) end
local function finite(v) return v == v and math.abs(v) ~= math.huge end

-- ---- data ---------------------------------------------------------------------------------------

-- The finite points of a curve, at most `most`: means of stretches, as { x =, y =, lo =, hi = }.
local function points_of(curve, most)
  local y = util.sequence("viz.svg: y", curve.y, "{ 1, 2 }")
  local points, n = {}, math.min(#y, most)
  for k = 1, n do
    local p, count = { x = 0, y = 0, lo = 0, hi = 0 }, 0
    for j = math.floor((k - 1) * #y / n) + 1, math.floor(k * #y / n) do
      local v = util.expect("viz.svg: y", "number", y[j])
      if finite(v) then
        count = count + 1
        p.x, p.y = p.x + (curve.x and curve.x[j] or j - 1), p.y + v
        p.lo = p.lo + (curve.lo and curve.lo[j] or v)
        p.hi = p.hi + (curve.hi and curve.hi[j] or v)
      end
    end
    if count > 0 then
      for key, v in pairs(p) do p[key] = v / count end
      points[#points + 1] = p
    end
  end
  return points
end

-- The least and the greatest of what the points have under these two names, never equal.
local function limits(drawn, low, high)
  local lo, hi
  for _, points in ipairs(drawn) do
    for _, p in ipairs(points) do
      lo, hi = math.min(lo or p[low], p[low]), math.max(hi or p[high], p[high])
    end
  end
  lo, hi = lo or 0, hi or 0
  if lo == hi then return lo - 0.5, hi + 0.5 end
  return lo, hi
end

-- Round numbers from lo to hi, about n of them: their first and the step between them.
local function ticks(lo, hi, n)
  local raw = (hi - lo) / n
  local power = 10 ^ math.floor(math.log(raw) / math.log(10))
  local step = 10 * power
  for _, k in ipairs { 5, 2, 1 } do
    if k * power >= raw then step = k * power end
  end
  return math.ceil(lo / step - 1e-9) * step, step
end

local function label(v)
  if math.abs(v) < 1e4 then return ("%.4g"):format(v + 0) end
  local power, unit = 1e3, "k"
  if math.abs(v) >= 1e9 then power, unit = 1e9, "G" elseif math.abs(v) >= 1e6 then
    power, unit = 1e6, "M"
  end
  return ("%.4g%s"):format(v / power, unit)
end

-- ---- picture ------------------------------------------------------------------------------------

local Picture = {}
Picture.__index = Picture

function Picture:put(...) self.out[#self.out + 1] = string.format(...) end

function Picture:axes(o)
  local left, right, top, bottom = self.left, self.right, self.top, self.bottom
  local first, step = ticks(self.y0, self.y1, 5)
  for v = first, self.y1 + step * 1e-9, step do
    local y = self.at_y(v)
    self:put('<path d="M%d %.1fH%d" stroke="#ddd"/>', left, y, right)
    self:put('<text x="%d" y="%.1f" text-anchor="end">%s</text>', left - 6, y + 4, label(v))
  end
  first, step = ticks(self.x0, self.x1, 6)
  for v = first, self.x1 + step * 1e-9, step do
    local x = self.at_x(v)
    self:put('<path d="M%.1f %dv4" stroke="#888"/>', x, bottom)
    self:put('<text x="%.1f" y="%d" text-anchor="middle">%s</text>', x, bottom + 16, label(v))
  end
  self:put('<path d="M%d %dH%d" stroke="#888"/>', left, bottom, right)
  if o.title then self:put('<text x="%d" y="20" font-size="14">%s</text>', left,
    escaped(o.title)) end
  if o.x then
    self:put('<text x="%d" y="%d" text-anchor="end">%s</text>', right, bottom + 36, escaped(o.x))
  end
  if o.y then
    self:put('<text x="12" y="%d" transform="rotate(-90 12 %d)" text-anchor="end">%s</text>', top,
      top, escaped(o.y))
  end
end

-- Points as "x,y x,y ..", by the name of their height; backwards where `step` is -1.
function Picture:path(points, name, step)
  local out = {}
  for k = step > 0 and 1 or #points, step > 0 and #points or 1, step do
    out[#out + 1] = ("%.1f,%.1f"):format(self.at_x(points[k].x), self.at_y(points[k][name]))
  end
  return table.concat(out, " ")
end

function Picture:curve(curve, points, colour)
  if curve.lo or curve.hi then
    self:put('<polygon fill="%s" fill-opacity="0.18" points="%s %s"/>', colour,
      self:path(points, "hi", 1), self:path(points, "lo", -1))
  end
  self:put('<polyline fill="none" stroke-width="1.5" stroke-linejoin="round" stroke="%s" '
    .. 'points="%s"/>', colour, self:path(points, "y", 1))
  if not curve.name then return end
  self.names = self.names + 1
  local x, y = self.left + 8, self.top + 14 * self.names
  self:put('<path d="M%d %dh14" stroke-width="2" stroke="%s"/>', x, y - 6, colour)
  self:put('<text x="%d" y="%d">%s</text>', x + 18, y - 2, escaped(curve.name))
end

--- Curves as an SVG picture. A curve has y, and may have x (0, 1, ..), lo and hi (a band around it)
--- and a name (then there is a legend). Values that are not finite are left out.
---@param curves { y: number[], x?: number[], lo?: number[], hi?: number[], name?: string }[]
---@param o? { width?: integer, height?: integer, title?: string, x?: string, y?: string }
---@return string
function viz.svg(curves, o)
  o = util.options("viz.svg", o, "width height title x y")
  util.sequence("viz.svg: curves", curves, "{ { y = { 1, 2 } } }")
  local width, height, drawn = o.width or 640, o.height or 320, {}
  for k, curve in ipairs(curves) do
    drawn[k] = points_of(util.expect("viz.svg: a curve", "table", curve), 2 * width)
  end
  local p = setmetatable({ out = {}, names = 0, left = 56, right = width - 16,
    top = o.title and 32 or 14, bottom = height - 44 }, Picture)
  p.x0, p.x1 = limits(drawn, "x", "x")
  p.y0, p.y1 = limits(drawn, "lo", "hi")
  function p.at_x(v) return p.left + (v - p.x0) / (p.x1 - p.x0) * (p.right - p.left) end
  function p.at_y(v) return p.bottom - (v - p.y0) / (p.y1 - p.y0) * (p.bottom - p.top) end
  p:put('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" '
    .. 'font-size="12">', width, height)
  p:put('<rect width="%d" height="%d" fill="white"/>', width, height)
  p:axes(o)
  for k, points in ipairs(drawn) do
    p:curve(curves[k], points, colours[(k - 1) % #colours + 1])
  end
  p:put "</svg>"
  return table.concat(p.out, "\n") .. "\n"
end

return viz

-- Runs as one picture, for `tempo plot`: of runs that lie in one folder the mean and a band.
local tempo = require "tempo"
local data = require "tempo.data"
local util = require "tempo.util"

local plot = {}

local function column(columns, path, name)
  if not columns[name] then
    local near = util.nearest(name, columns)
    util.fail("option", "'%s' has no column '%s'%s", path, name,
      near and "; did you mean '" .. near .. "'?" or "")
  end
  return columns[name]:totable()
end

-- { x, y } of a run without what is not finite.
local function run_of(folder, name, along)
  local path = folder:gsub("/+$", "") .. "/metrics.csv"
  local columns = data.csv(path)
  local xs, ys, x, y = column(columns, path, along), column(columns, path, name), {}, {}
  for k, v in ipairs(ys) do
    if v == v and math.abs(v) ~= math.huge then x[#x + 1], y[#y + 1] = xs[k], v end
  end
  return { x = x, y = y }
end

-- The value of a run at x: of its last row up to there; nil outside.
local function at(run, x)
  if #run.x == 0 or x < run.x[1] or x > run.x[#run.x] then return nil end
  local lo, hi = 1, #run.x
  while lo < hi do
    local mid = math.ceil((lo + hi) / 2)
    if run.x[mid] <= x then lo = mid else hi = mid - 1 end
  end
  return run.y[lo]
end

-- The mean of runs, and one standard deviation around it.
local function mean_of(runs, name)
  if #runs == 1 then return { name = name, x = runs[1].x, y = runs[1].y } end
  local lo, hi = math.huge, -math.huge
  for _, run in ipairs(runs) do
    if #run.x > 0 then lo, hi = math.min(lo, run.x[1]), math.max(hi, run.x[#run.x]) end
  end
  local curve = { name = ("%s (%d runs)"):format(name, #runs), x = {}, y = {}, lo = {}, hi = {} }
  if lo > hi then return curve end
  for k = 0, 200 do
    local x, n, sum, squares = lo + (hi - lo) * k / 200, 0, 0, 0
    for _, run in ipairs(runs) do
      local v = at(run, x)
      if v then n, sum, squares = n + 1, sum + v, squares + v * v end
    end
    if n > 0 then
      local m = sum / n
      local deviation = math.sqrt(math.max(squares / n - m * m, 0))
      local j = #curve.x + 1
      curve.x[j], curve.y[j], curve.lo[j], curve.hi[j] = x, m, m - deviation, m + deviation
    end
  end
  return curve
end

--- The picture of the runs in these folders, as SVG; o: column ("return"), x ("steps"), title.
function plot.svg(folders, o)
  local groups, order = {}, {}
  for _, folder in ipairs(folders) do
    local name = folder:gsub("/+$", "")
    local parent = name:match "^(.*)/[^/]*$" or "."
    if not groups[parent] then groups[parent], order[#order + 1] = { name = name }, parent end
    local group = groups[parent]
    group[#group + 1] = run_of(folder, o.column or "return", o.x or "steps")
  end
  local curves = {}
  for k, parent in ipairs(order) do
    local group = groups[parent]
    local name = #group == 1 and group.name or parent
    curves[k] = mean_of(group, name:match "[^/]*$")
  end
  return tempo.viz.svg(curves, { x = o.x or "steps", y = o.column or "return", title = o.title })
end

return plot

-- Finds and joins the differences between two runs of a game that stand at one place.
--
-- All that the rest of a run depends on is reached from the state, from the live registers of the
-- game's functions that are being called, and from their closures. Two runs that are built alike
-- there (the same tables in the same places, the same texts and functions) and differ in numbers
-- and booleans only become one run, with where(c, a, b) where they differ. A place is
--   { frame, register, step, step, .. }
-- frame: 1 is the innermost function of the game, 0 the state; register as debug.getlocal counts,
-- 0: the function; a step: { key = } of a table, { upvalue = } of a closure, { meta = true }.
local code = require "tempo.rl.trace.code"
local symbols = require "tempo.rl.trace.symbols"

local merge = {}

-- they are replaced while a game is recorded
local type, next, rawget, rawset, rawequal, tostring = type, next, rawget, rawset, rawequal,
  tostring
local ipairs, getmetatable = ipairs, debug.getmetatable
local getinfo, getlocal, setlocal = debug.getinfo, debug.getlocal, debug.setlocal
local getupvalue, setupvalue, select = debug.getupvalue, debug.setupvalue, select
local sort, concat, math_type = table.sort, table.concat, rawget(math, "type") or type
local id_of, kind_of = symbols.id_of, symbols.kind_of

--- How many of the game's functions are being called.
function merge.depth()
  local n, level = 0, 2
  while true do
    local info = getinfo(level, "S")
    if not info then return n end
    if info.source == code.mark then n = n + 1 end
    level = level + 1
  end
end

--- The game's functions that are being called, innermost first: { line =, flow =, range = }.
function merge.frames()
  local list, level = {}, 2
  while true do
    local info = getinfo(level, "Sl")
    if not info then return list end
    if info.source == code.mark then
      local site = code.sites[info.currentline] or {}
      list[#list + 1] = { line = info.currentline, flow = site.flow, range = site.range }
    end
    level = level + 1
  end
end

--- Gathers all that is compared at this place, where the innermost function is in front of a range:
--- { state =, ids = (numbers of closures), [k] = { line =, order = registers, [register] = value }
--- }; nil where a function has no ranges.
function merge.look(self)
  local all, level = { state = self.given[1], ids = self.ids }, 2
  while true do
    local info = getinfo(level, "Slf")
    if not info then return all end
    if info.source == code.mark then
      local site = code.sites[info.currentline]
      if not (site and site.flow) then return nil end
      local frame = { line = info.currentline, order = { 0 }, [0] = info.func }
      local function add(k, v)
        frame[k], frame.order[#frame.order + 1] = v, k
      end
      for _, reg in ipairs(site.flow:registers(site.range, #all > 0)) do
        local name, v = getlocal(level, reg + 1)
        if not name then return nil end
        add(reg + 1, v)
      end
      local k = 1
      while true do
        local name, v = getlocal(level, -k)
        if not name then break end
        add(-k, v)
        k = k + 1
      end
      all[#all + 1] = frame
    end
    level = level + 1
  end
end

-- ---- comparing ----------------------------------------------------------------------------------

local differ

-- Numbers or booleans: a place for where(c, a, b), unless they are equal.
local function differ_values(self, a, b, place)
  local i, j = id_of(a), id_of(b)
  if i and i == j then return true end
  if not i and not j and a == b then
    if math_type(a) ~= math_type(b) then return false end
    if a ~= 0 or 1 / a == 1 / b then return true end
  end
  self.list[#self.list + 1] = { place = place, a = i or self.graph:const(a),
    b = j or self.graph:const(b), plain = not (i and j) }
  return true
end

local function differ_tables(self, a, b, place)
  if not differ(self, getmetatable(a), getmetatable(b), { up = place, meta = true }) then
    return false
  end
  for k, v in next, a do
    local w = rawget(b, k)
    if rawequal(w, nil) or not differ(self, v, w, { up = place, key = k }) then return false end
  end
  for k in next, b do
    if rawequal(rawget(a, k), nil) then return false end
  end
  return true
end

-- One closure, which was made before the runs parted; so which variables it shares with whom was
-- decided then.
local function differ_closures(self, f, g, place)
  local n, k = self.ids[1][f], 1
  if not n or n > self.closures or n ~= self.ids[2][g] then return false end
  while true do
    local name, v = getupvalue(f, k)
    if not name then return true end
    if not differ(self, v, (select(2, getupvalue(g, k))), { up = place, upvalue = k }) then
      return false
    end
    k = k + 1
  end
end

function differ(self, a, b, place)
  local kind = kind_of(a)
  if kind ~= kind_of(b) then return false end
  if kind == "number" or kind == "boolean" then return differ_values(self, a, b, place) end
  if rawequal(a, b) then return true end
  if kind ~= "table" and kind ~= "function" or self.known(a) or self.known(b) then return false end
  if self.left[a] or self.right[b] then return self.left[a] == b and self.right[b] == a end
  self.left[a], self.right[b] = b, a
  if kind == "function" then return differ_closures(self, a, b, place) end
  return differ_tables(self, a, b, place)
end

-- The place as a list of steps, and a text to order places by.
local function spelled(place)
  local steps, text = {}, {}
  while place do
    table.insert(steps, 1, place)
    table.insert(text, 1, tostring(place.key or place.upvalue or place.register or "m"))
    place = place.up
  end
  return steps, steps[1].frame .. " " .. concat(text, "\1")
end

--- The places at which two runs differ, in an order that is the same in every process: { { steps
--- =, a =, b = (nodes), plain = (is one of them a number of Lua's?) }, .. }; nil where they are not
--- built alike. known(v): is it from outside? closures: how many there were when the runs parted.
function merge.differ(graph, known, closures, one, two)
  if #one ~= #two then return nil end
  local self = { graph = graph, known = known, list = {}, left = {}, right = {},
    closures = closures, ids = { one.ids, two.ids } }
  if not differ(self, one.state, two.state, { frame = 0, register = 0 }) then return nil end
  for k, frame in ipairs(one) do
    if frame.line ~= two[k].line or #frame.order ~= #two[k].order then return nil end
    for _, r in ipairs(frame.order) do
      if not differ(self, frame[r], two[k][r], { frame = k, register = r }) then return nil end
    end
  end
  for _, d in ipairs(self.list) do d.steps, d.text = spelled(d.place) end
  sort(self.list, function(x, y) return x.text < y.text end)
  return self.list
end

-- ---- changing -----------------------------------------------------------------------------------

local function stepped(v, step)
  if step.meta then return getmetatable(v) end
  if step.upvalue then return (select(2, getupvalue(v, step.upvalue))) end
  return rawget(v, step.key)
end

--- Puts values into their places: { { steps =, value = }, .. }.
function merge.put(self, list)
  local levels, level = {}, 2
  while true do
    local info = getinfo(level, "S")
    if not info then break end
    if info.source == code.mark then levels[#levels + 1] = level end
    level = level + 1
  end
  for _, set in ipairs(list) do
    local steps, v = set.steps, self.given[1]
    local root, last = steps[1], steps[#steps]
    local at = levels[root.frame]
    if #steps == 1 then setlocal(at, root.register, set.value) else
      if root.frame > 0 then
        if root.register == 0 then v = getinfo(at, "f").func
        else v = select(2, getlocal(at, root.register)) end
      end
      for k = 2, #steps - 1 do v = stepped(v, steps[k]) end
      if last.upvalue then setupvalue(v, last.upvalue, set.value)
      else rawset(v, last.key, set.value) end
    end
  end
end

return merge

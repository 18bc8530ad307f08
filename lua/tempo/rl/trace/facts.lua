-- The facts on one path: the answers given so far and what follows from them. Comparisons with
-- NaN are false both ways, so "not a < b" says "b <= a" only of what is known to be no NaN.
local facts = {}
facts.__index = facts

local floor, ceil, huge = math.floor, math.ceil, math.huge
local min, max, pairs = math.min, math.max, pairs

function facts.new(graph) return setmetatable({ graph = graph, known = {}, ranges = {} }, facts) end

-- lo .. hi of a number, open where lo_open, hi_open; `out` are numbers that it is not. nil: it may
-- be NaN.
local function range_of(self, id)
  return self.ranges[id] or self.graph.ranges[id]
end

-- The range of a number that is no NaN, to be changed.
local function own_range(self, id)
  local r = self.ranges[id]
  if not r then
    local given = self.graph.ranges[id] or { lo = -huge, hi = huge }
    r = { lo = given.lo, hi = given.hi, whole = given.whole, out = {} }
    self.ranges[id] = r
  end
  return r
end

local function tighten(r)
  if not r.whole then return end
  if r.lo_open then r.lo, r.lo_open = floor(r.lo) + 1, nil end
  if r.hi_open then r.hi, r.hi_open = ceil(r.hi) - 1, nil end
  r.lo, r.hi = ceil(r.lo), floor(r.hi)
  while r.out[r.lo] and r.lo <= r.hi do r.lo = r.lo + 1 end
  while r.out[r.hi] and r.lo <= r.hi do r.hi = r.hi - 1 end
end

local function at_most(self, id, k, open)
  local r = own_range(self, id)
  if k < r.hi or k == r.hi and open then r.hi, r.hi_open = k, open end
  tighten(r)
end

local function at_least(self, id, k, open)
  local r = own_range(self, id)
  if k > r.lo or k == r.lo and open then r.lo, r.lo_open = k, open end
  tighten(r)
end

-- Does every number of p lie below every number of q (lt), or not above (le)? true, false, or nil:
-- that depends.
local function ordered(op, p, q)
  local touch = p.hi == q.lo and (op == "le" or p.hi_open or q.lo_open)
  if p.hi < q.lo or touch then return true end
  local meet = p.lo == q.hi and (op == "lt" or p.lo_open or q.hi_open)
  if p.lo > q.hi or meet then return false end
end

local function equal(p, q)
  if p.hi < q.lo or q.hi < p.lo then return false end
  if p.hi == q.lo and (p.hi_open or q.lo_open) then return false end
  if q.hi == p.lo and (q.hi_open or p.lo_open) then return false end
  if p.lo == p.hi and q.lo == q.hi then return true end
  if p.lo == p.hi and q.out and q.out[p.lo] then return false end
  if q.lo == q.hi and p.out and p.out[q.lo] then return false end
end

local function implied(self, c)
  local v = self.known[c]
  if v ~= nil then return v end
  local n = self.graph.nodes[c]
  local op, a, b = n[1], n[2], n[3]
  if op == "const" then return a end
  if op == "lnot" then
    v = implied(self, a)
    if v ~= nil then return not v end
  elseif op == "land" or op == "lor" then
    local x, y = implied(self, a), implied(self, b)
    local stop = op == "lor"
    if x == stop or y == stop then return stop end
    if x ~= nil and y ~= nil then return not stop end
  elseif op == "where" then
    v = implied(self, a)
    if v ~= nil then return implied(self, v and b or n[4]) end
  elseif self.graph.kinds[a] == "number" then
    local p, q = range_of(self, a), range_of(self, b)
    if p and q then
      if op == "eq" then return equal(p, q) end
      return ordered(op, p, q)
    end
  end
end

--- Tells what the condition is on this path: true, false, or nil where the path says nothing.
facts.implied = implied

-- A comparison with a constant narrows a range.
local function narrow(self, op, a, b, holds)
  local graph = self.graph
  local x, y = graph:value(a), graph:value(b)
  local id, k = x and b or a, x or y
  if not k or k ~= k then return end
  if not holds and not range_of(self, id) then return end           -- it may be NaN
  if op == "eq" then
    if holds then
      at_least(self, id, k)
      at_most(self, id, k)
    else
      own_range(self, id).out[k] = true
      tighten(own_range(self, id))
    end
  elseif (x == nil) == holds then
    at_most(self, id, k, holds == (op == "lt") or nil)
  else
    at_least(self, id, k, holds == (op == "lt") or nil)
  end
end

local function learn(self, c, holds)
  if self.known[c] ~= nil then return end
  self.known[c] = holds
  local graph = self.graph
  local n = graph.nodes[c]
  local op, a, b = n[1], n[2], n[3]
  if op == "lnot" then return learn(self, a, not holds) end
  if op == "land" or op == "lor" then
    if holds == (op == "land") then
      learn(self, a, holds)
      learn(self, b, holds)
    end
    return
  end
  if not graph.is_logic(op) or graph.kinds[a] == "boolean" then return end
  narrow(self, op, a, b, holds)
  if graph:value(a) or graph:value(b) then return end
  local function set(o, x, y, v) self.known[graph:compare(o, x, y)] = v end
  if not holds then
    if op ~= "eq" and range_of(self, a) and range_of(self, b) then
      set(op == "lt" and "le" or "lt", b, a, true)
    end
    return
  end
  own_range(self, a)
  own_range(self, b)
  if op == "eq" then
    for _, o in ipairs { "lt", "le" } do
      set(o, a, b, o == "le")
      set(o, b, a, o == "le")
    end
  else
    set("lt", b, a, false)
    if op == "lt" then
      set("le", a, b, true)
      set("le", b, a, false)
      set("eq", a, b, false)
    end
  end
end

--- Notes an answer and what follows from it.
facts.learn = learn


-- ---- paths that meet ----------------------------------------------------------------------------

-- Numbers of one range or the other; nil where one of them may be NaN.
local function hull(p, q)
  if not (p and q) then return nil end
  local r = { lo = min(p.lo, q.lo), hi = max(p.hi, q.hi), whole = p.whole and q.whole,
    out = {} }
  local function open(side, bound)
    return (p[side] ~= bound or p[side .. "_open"]) and (q[side] ~= bound or q[side .. "_open"])
      or nil
  end
  r.lo_open, r.hi_open = open("lo", r.lo), open("hi", r.hi)
  for k in pairs(p.out or {}) do
    if q.out and q.out[k] then r.out[k] = true end
  end
  return r
end

--- Keeps the facts that hold on both paths.
function facts.both(a, b)
  local self = facts.new(a.graph)
  for c, v in pairs(a.known) do
    if b.known[c] == v then self.known[c] = v end
  end
  for id, r in pairs(a.ranges) do
    if b.ranges[id] then self.ranges[id] = hull(r, b.ranges[id]) end
  end
  return self
end

--- The number `id` is x of the path a, or y of the path b.
function facts:hull(id, a, x, b, y)
  if self.graph.kinds[id] ~= "number" or self.graph:value(id) or self.ranges[id] then return end
  local r = hull(range_of(a, x), range_of(b, y))
  if r and r.lo ~= r.lo then r = nil end
  self.ranges[id] = r
end

--- The same facts, to be learned from here on.
function facts.copy(a)
  local self = facts.new(a.graph)
  for c, v in pairs(a.known) do self.known[c] = v end
  for id, r in pairs(a.ranges) do
    local q = { out = {} }
    for k, v in pairs(r) do q[k] = v end
    q.out = {}
    for k in pairs(r.out or {}) do q.out[k] = true end
    self.ranges[id] = q
  end
  return self
end

return facts

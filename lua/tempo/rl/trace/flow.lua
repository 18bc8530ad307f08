-- Where the ways through a function meet, and which registers are read from there on.
--
-- A function is cut into ranges of instructions without a jump into them or out of their midst; a
-- copy (code.lua) has a line of its own for each. The ways that part in a range meet in its
-- nearest postdominator: the first range that all of them go through. A register is live where
-- some way from there reads it before it is written; what a dead one holds decides nothing.
--
-- An instruction: { reads = {registers}, above = r (reads all from r on), writes = {registers},
-- kills = r (writes all from r on), to = {{ pc, register that this jump writes }, ..} (absent: pc
-- + 1; {}: returns), call =, open = (the number of its results is not known) }.
local flow = {}
flow.__index = flow

--- n registers, or arguments, from the first on.
function flow.span(from, n)
  local list = {}
  for k = 1, n do list[k] = from + k - 1 end
  return list
end

--- Pcs that begin a range: the k-th instruction's jumps, and what follows a jump or a call.
function flow.starts(code, starts)
  for pc = 1, #code do
    local i = code[pc]
    if i.to or i.call then starts[pc + 1] = true end
    for _, jump in ipairs(i.to or {}) do starts[jump[1]] = true end
  end
end

--- code: instructions; of[pc]: the range of each, from 1; base: the line in front of the first
--- range's; captured: set of registers that closures hold; size: how many registers there are.
function flow.new(code, of, base, captured, size)
  return setmetatable({ code = code, of = of, base = base, captured = captured, size = size }, flow)
end

-- The first and last pc of each range, and the ranges that come after it; n + 1 is the return.
local function cut(self)
  local code, of = self.code, self.of
  local n = of[#code]
  self.first, self.last, self.next = {}, {}, {}
  for pc = #code, 1, -1 do
    self.first[of[pc]] = pc
    self.last[of[pc]] = self.last[of[pc]] or pc
  end
  for r = 1, n do
    local pc, list = self.last[r], {}
    for k, jump in ipairs(code[pc].to or { { pc + 1 } }) do list[k] = of[jump[1]] or n + 1 end
    if #list == 0 then list[1] = n + 1 end
    self.next[r] = list
  end
  return n
end

-- Ranges in the order in which a walk against the jumps, from the return, leaves them.
local function left_last(self, n)
  local before, order, seen = {}, {}, {}
  for r = 1, n + 1 do before[r] = {} end
  for r = 1, n do
    for _, s in ipairs(self.next[r]) do before[s][#before[s] + 1] = r end
  end
  local function visit(r)
    seen[r] = true
    for _, q in ipairs(before[r]) do
      if not seen[q] then visit(q) end
    end
    order[#order + 1] = r
  end
  visit(n + 1)
  return order
end

-- Nearest postdominators: Cooper, Harvey and Kennedy's walk up to the common one, until nothing
-- changes. A range that never returns has none.
local function meets(self, n)
  local order, place, after = left_last(self, n), {}, { [n + 1] = n + 1 }
  for k, r in ipairs(order) do place[r] = k end
  local changed = true
  while changed do
    changed = false
    for k = #order - 1, 1, -1 do
      local r, new = order[k], nil
      for _, s in ipairs(self.next[r]) do
        local a = after[s] and s
        while a and new and a ~= new do
          if place[a] < place[new] then a = after[a] else new = after[new] end
        end
        new = new or a
      end
      if new and after[r] ~= new then after[r], changed = new, true end
    end
  end
  after[n + 1] = nil
  self.after = after
end

local function read(i, set, size)
  for _, r in ipairs(i.reads or {}) do set[r] = true end
  if i.above then
    for r = i.above, size - 1 do set[r] = true end
  end
end

-- Registers live in front of a range, from those in front of the ranges that follow.
local function before_range(self, r, live)
  local code, set = self.code, {}
  for pc = self.last[r], self.first[r], -1 do
    local i = code[pc]
    for _, jump in ipairs(pc == self.last[r] and (i.to or { { pc + 1 } }) or {}) do
      for reg in pairs(live[self.of[jump[1]]] or {}) do
        if reg ~= jump[2] then set[reg] = true end
      end
    end
    for _, reg in ipairs(i.writes or {}) do set[reg] = nil end
    if i.kills then
      for reg = i.kills, self.size - 1 do set[reg] = nil end
    end
    read(i, set, self.size)
  end
  return set
end

local function count(set)
  local n = 0
  for _ in pairs(set) do n = n + 1 end
  return n
end

-- Sets grow from none, so equal sizes are equal sets.
local function lives(self, n)
  local live, changed = {}, true
  for r = 1, n do live[r] = {} end
  while changed do
    changed = false
    for r = n, 1, -1 do
      local set = before_range(self, r, live)
      changed = changed or count(set) ~= count(live[r])
      live[r] = set
    end
  end
  self.live = live
end

local function analyse(self)
  if self.live then return end
  local n = cut(self)
  meets(self, n)
  lives(self, n)
end

--- The range in which the ways out of r meet; nil: only in the caller. One that begins with an
--- unknown number of results, which is no place to look at registers, is passed over.
function flow:meet(r)
  analyse(self)
  r = self.after[r]
  while r and self.first[r] and self.code[self.first[r] - 1]
    and self.code[self.first[r] - 1].open do
    r = self.after[r]
  end
  return self.first[r] and r
end

--- Registers that matter in front of a range, in order; with `within`, those that matter at any
--- place in it.
function flow:registers(r, within)
  analyse(self)
  local set, list = {}, {}
  for _, regs in ipairs { self.captured, self.live[r] } do
    for reg in pairs(regs) do set[reg] = true end
  end
  if within then
    for _, s in ipairs(self.next[r]) do
      for reg in pairs(self.live[s] or {}) do set[reg] = true end
    end
    for pc = self.first[r], self.last[r] do read(self.code[pc], set, self.size) end
  end
  for reg = 0, self.size - 1 do
    if set[reg] then list[#list + 1] = reg end
  end
  return list
end

return flow

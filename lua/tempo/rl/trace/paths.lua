-- The ways through a game's function, as few runs as can be.
--
-- A function runs from its beginning each time, led by a script: the answers to its questions, in
-- order. A question that the script does not answer is answered "yes"; when the run comes to the
-- place where the ways out of the question meet (flow.lua), it is left, and the next run answers
-- "no". At the meeting the two are compared (merge.lua). Built alike, they go on as one run, whose
-- values are where(c, yes, no), and the script notes what to put where: n questions one after the
-- other take n + 1 runs.
--
--   if a then x = 1 end; if b then y = 2 end      =>      run 1: a; run 2: not a, x = where(a, 1,
--   x), b; run 3: not a, x = .., not b, y = where(b, 2, y)
--
-- This is right because a run has no memory but what is compared: at one instruction of the same
-- calls, with equal live registers, tables and closures, Lua goes on equally. Where the two are not
-- built alike, the next meeting is tried, at last the end of the function, whose results are joined
-- alike. A number of Lua's that becomes a traced one may be refused later (as an index, say): then
-- the meeting at which that came about is not used.
local facts = require "tempo.rl.trace.facts"
local merge = require "tempo.rl.trace.merge"
local symbols = require "tempo.rl.trace.symbols"

local paths = {}

local pairs, ipairs, error, type = pairs, ipairs, error, type           -- they are replaced

--- The error by which a run is left.
paths.left = setmetatable({}, { __tostring = function() return "rl.trace: a run is left" end })

-- ---- draws --------------------------------------------------------------------------------------

-- How many numbers a run has drawn: { plus =, after = nil or { c =, yes =, no = (such counts),
-- longest = } }.
local none = { plus = 0 }

local function longest(d) return d.plus + (d.after and d.after.longest or 0) end

local function drawn(self, after, n)
  if not after then
    return self.graph:leaf("draw", self.what .. " " .. n, "number", 0, 1)
  end
  local id = after[n]
  if not id then
    local yes, no = after.yes, after.no
    id = self.graph:where(after.c, drawn(self, yes.after, yes.plus + n),
      drawn(self, no.after, no.plus + n))
    after[n] = id
  end
  return id
end

--- The node of the next number that is drawn.
function paths.draw(self)
  local d = self.drawn
  self.drawn = { plus = d.plus + 1, after = d.after }
  return drawn(self, d.after, d.plus + 1)
end

local function merged_draws(c, yes, no)
  if yes.plus == no.plus and yes.after == no.after then return no end
  return { plus = 0, after = { c = c, yes = yes, no = no, longest = math.max(longest(yes),
    longest(no)) } }
end

-- ---- questions ----------------------------------------------------------------------------------

local function key_of(p, line) return p.line .. " " .. line end

-- The nearest meeting of the ways out of a question that may be used; nil: the function's end.
local function meeting(self, p)
  for k, frame in ipairs(p.frames) do
    local r = frame.range
    while r do
      r = frame.flow:meet(r)
      local line = r and frame.flow.base + r
      if line and not self.banned[key_of(p, line)] then
        return { depth = #p.frames - k + 1, line = line }
      end
    end
  end
end

local function wait(self, p, n)
  local line = p.join and p.join.line
  if line then self.waits[line] = (self.waits[line] or 0) + n end
end

local function pop(self)
  local p = table.remove(self.pending)
  wait(self, p, -1)
  return p
end

local function cut(list, n)
  for k = #list, n + 1, -1 do list[k] = nil end
end

-- Leaves the run.
local function leave(self)
  self.stopped = true
  error(paths.left, 0)
end
paths.leave = leave

local function answer_no(self, p)
  cut(self.script, p.at)
  self.script[p.at] = { c = p.c, answer = false }
end

-- The k-th open question is asked anew, with a later meeting.
local function later(self, k)
  local p = self.pending[k]
  while #self.pending > k do pop(self) end
  wait(self, p, -1)
  self.banned[key_of(p, p.join.line)] = true
  cut(self.script, p.at)
  self.script[p.at].answer, p.yes, p.join = true, nil, meeting(self, p)
  wait(self, p, 1)
end

--- A new question's answer.
local function open(self, c)
  local p = { c = c, at = self.at + 1, frames = merge.frames(), closures = self.closures }
  p.line = p.frames[1] and p.frames[1].line or 0
  p.join = meeting(self, p)
  wait(self, p, 1)
  self.pending[#self.pending + 1] = p
  self.script[p.at] = { c = c, answer = true }
  if #self.pending >= self.limit then self.too_many() end
end

--- Answers whether the condition holds on this path.
function paths.ask(self, c)
  local v = self.facts:implied(c)
  if v ~= nil then return v end
  self.at = self.at + 1
  local entry = self.script[self.at]
  if self.default ~= nil then
    self.noted()
    entry = { c = c, answer = self.default }
    if self.at >= self.limit then self.too_many() end
  elseif not entry then
    self.at = self.at - 1
    self.noted()
    open(self, c)
    self.at = self.at + 1
    entry = self.script[self.at]
  elseif entry.c ~= c then
    self.refuse("'%s' asks something else when it runs again: the order of `pairs` over keys that "
      .. "are tables, or something outside that changes", self.what)
  end
  self.facts:learn(c, entry.answer)
  return entry.answer
end

-- ---- meetings -----------------------------------------------------------------------------------

local function install(self, join)
  merge.put(self, join.list)
  self.facts, self.drawn = facts.copy(join.facts), join.drawn
end

-- Makes one row of the script of both runs; nil where they are not built alike.
local function joined(self, p, now)
  local yes = p.yes
  local list = merge.differ(self.graph, self.is_known, p.closures, yes.look, now)
  if not list then return nil end
  local at = p.join
  local join = { depth = at.depth, line = at.line, key = key_of(p, at.line), list = list,
    facts = facts.both(yes.facts, self.facts), drawn = merged_draws(p.c, yes.drawn, self.drawn) }
  for _, d in ipairs(list) do
    local id = self.graph:where(p.c, d.a, d.b)
    join.facts:hull(id, yes.facts, d.a, self.facts, d.b)
    d.value = symbols.wrap(id)
    if d.plain then
      self.made[id] = self.made[id] or {}
      self.made[id][join.key] = true
    end
  end
  return join
end

-- The innermost open question has its meeting here.
local function meet(self, p)
  local now = not self.outside:changed(true) and merge.look(self) or nil
  if not now then
    later(self, #self.pending)
    leave(self)
  end
  if not p.yes then
    p.yes = { look = now, facts = self.facts, drawn = self.drawn }
    answer_no(self, p)
    leave(self)
  end
  local join = joined(self, p, now)
  if not join then
    later(self, #self.pending)
    leave(self)
  end
  self.script[#self.script + 1] = join
  self.at = #self.script
  pop(self)
  install(self, join)
end

--- A run is in front of this line of a copy.
function paths.arrive(self, line)
  local row = self.script[self.at + 1]
  if not (row and row.line == line or self.waits[line]) or self.default ~= nil then return end
  local depth = merge.depth()
  while row and row.line == line and row.depth == depth do
    self.at = self.at + 1
    install(self, row)
    row = self.script[self.at + 1]
  end
  if self.at < #self.script then return end
  for k = #self.pending, 1, -1 do
    local p = self.pending[k]
    if p.join and p.join.line == line and p.join.depth == depth then
      if k < #self.pending then              -- a question inside is open beyond this place
        later(self, k)
        leave(self)
      end
      meet(self, p)
    end
  end
end

local function ban(self, keys)
  local any = false
  for key in pairs(keys) do
    any = any or not self.banned[key]
    self.banned[key] = true
  end
  self.anew = any
  return any
end

--- A run is refused, perhaps because runs were joined that Lua would not join: a number of Lua's
--- became the traced one `id`, or two answers came together that cannot. Bans the meetings that did
--- it, and tells whether there are any: then the function is followed anew. doubt: the error, for
--- the case that no other follows.
function paths.excuse(self, doubt, id)
  if self.default ~= nil then return false end
  self.doubt = self.doubt or doubt
  local found, all, seen = {}, {}, {}
  local function visit(k)
    if seen[k] then return end
    seen[k] = true
    for key in pairs(self.made[k] or {}) do found[key] = true end
    local node = self.graph.nodes[k]
    if node[1] == "const" or type(node[2]) == "string" then return end
    for j = 2, #node do visit(node[j]) end
  end
  if id then visit(id) end
  for _, row in ipairs(self.script) do
    if row.key then all[row.key] = true end
  end
  return ban(self, found) or ban(self, all)
end

-- ---- the end ------------------------------------------------------------------------------------

-- The results of a run that came to its end, joined with those of the questions that are open till
-- then; nil: one of them has to be followed further.
local function ended(self, out)
  while #self.pending > 0 do
    local p = self.pending[#self.pending]
    if p.join then
      later(self, #self.pending)
      return nil
    end
    if not p.yes then
      p.yes = out
      answer_no(self, p)
      return nil
    end
    for k = 1, #out do out[k] = self.graph:where(p.c, p.yes[k], out[k]) end
    pop(self)
  end
  return out
end

local function begin(self)
  self.script, self.pending, self.waits, self.made, self.anew = {}, {}, {}, {}, false
  self.paths[self.what], self.places = 0, {}
end

--- Runs the function until all ways are followed: run() returns the list of nodes that it made, or
--- nil where it was left. The paths on which every answer is "no" or "yes" go first, to see whether
--- they come to an end: where the end of a loop depends on traced numbers, one of them does not.
function paths.explore(self, run)
  self.banned, self.doubt = {}, nil
  begin(self)
  for _, answer in ipairs { false, true } do
    self.default = answer
    run()
  end
  self.default = nil
  begin(self)
  while true do
    local out = run()
    self.drew(longest(self.drawn))
    if self.anew then begin(self)
    elseif out then out = ended(self, out) end
    if out then return out end
  end
end

--- For a run's beginning.
function paths.start(self)
  self.at, self.drawn, self.stopped = 0, none, false
  self.closures, self.ids, self.making = 0, {}, nil
  self.facts = facts.new(self.graph)
end

return paths

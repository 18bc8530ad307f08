-- The values that a game's functions reach besides arguments: upvalues, globals, tables in them.
-- While a game is recorded, functions there are replaced in place (Lua's own that would not know
-- traced numbers, the game's own that must be watched), and every other value is remembered, so
-- that a change is found and taken back.
local code = require "tempo.rl.trace.code"

local outside = {}
outside.__index = outside

local jit = rawget(_G, "jit")
local type, next, pairs, rawget, rawset, rawequal = type, next, pairs, rawget, rawset, rawequal
local remove, upvalueid = table.remove, rawget(debug, "upvalueid")
local getfenv = getfenv                         -- luacheck: globals getfenv
local getupvalue, setupvalue, getmetatable = debug.getupvalue, debug.setupvalue, debug.getmetatable

--- replaced: function -> what stands for it. is_ours(f): is it a function of tempo's, which
--- nothing looks into?
function outside.new(replaced, is_ours)
  local self = setmetatable({ copies = {}, seen = {}, swaps = {}, tables = {}, cells = {},
    is_ours = is_ours, environments = {} }, outside)
  for f, g in pairs(replaced) do self.copies[f] = g end
  for _, name in ipairs { "string", "debug", "bit", "bit32", "ffi", "jit", "utf8", "package" } do
    local lib = package.loaded[name]
    if lib then self.seen[lib] = true end
  end
  self.seen[_G] = true                           -- names in it are looked up one by one
  return self
end

local function swap(self, t, k, v)
  self.swaps[#self.swaps + 1] = { t, k, rawget(t, k) }
  rawset(t, k, v)
end

-- Looks into a value; what is to stand in its place.
local function visit(self, v)
  if type(v) == "function" then return self:watched(v) end
  if type(v) == "table" then self:walk(v) end
  return v
end

--- Looks into a table and what it holds.
function outside:walk(t)
  if self.seen[t] then return end
  self.seen[t] = true
  local found = {}
  for k, v in next, t do
    local w = visit(self, v)
    if not rawequal(v, w) then found[#found + 1] = { k, w } end
  end
  for _, pair in ipairs(found) do swap(self, t, pair[1], pair[2]) end
  visit(self, getmetatable(t))
  self.tables[#self.tables + 1] = t
end

-- The globals that a function mentions; a sandbox finds some by its metatable.
local function globals(self, env, names)
  visit(self, getmetatable(env))
  for name in pairs(names) do
    local v = env[name]
    if v ~= nil and v ~= env then
      local w = visit(self, v)
      if not rawequal(v, w) then swap(self, env, name, w) end
    end
  end
  if not self.environments[env] then
    self.environments[env] = true
    self.tables[#self.tables + 1] = env
  end
end

--- The function that is to be called for `f`: what replaces it, or a copy that can be watched.
function outside:watched(f)
  local copy = self.copies[f]
  if copy then return copy end
  self.copies[f] = f
  if self.is_ours(f) or debug.getinfo(f, "S").what == "C" then return f end
  local made, names = code.copy(f)
  if not made then return f end
  self.copies[f], self.copies[made] = made, made
  local k = 1
  while true do
    local name, v = getupvalue(f, k)
    if not name then break end
    if name == "_ENV" and type(v) == "table" and not jit then
      globals(self, v, names)
    else
      local w = visit(self, v)
      if not rawequal(v, w) then
        self.swaps[#self.swaps + 1] = { f, k, v, upvalue = true }
        setupvalue(f, k, w)
      end
      self.cells[#self.cells + 1] = { f = f, k = k, name = name, id = upvalueid(f, k) }
    end
    k = k + 1
  end
  if jit then globals(self, getfenv(f), names) end
  return made
end

--- Is it a function that was looked into?
function outside:knows(f) return self.copies[f] ~= nil end

--- Remembers all values as they are now.
function outside:remember()
  local seen = {}
  for k = #self.cells, 1, -1 do
    local c = self.cells[k]
    if seen[c.id] then remove(self.cells, k) end
    seen[c.id] = true
    c.value = select(2, getupvalue(c.f, c.k))
  end
  self.held = {}
  for _, t in ipairs(self.tables) do
    local copy = {}
    for k, v in next, t do copy[k] = v end
    self.held[t] = copy
  end
end

local function idle() end
local function differs(a, b) return not rawequal(a, b) and (a == a or b == b) end

--- Tells what has changed since then, as a text; nil: nothing. It has its old value again, unless
--- this only looks.
function outside:changed(look)
  local what
  local put, set = look and idle or setupvalue, look and idle or rawset
  for _, c in ipairs(self.cells) do
    local _, v = getupvalue(c.f, c.k)
    if differs(v, c.value) then
      what = what or ("the variable '%s'"):format(c.name)
      put(c.f, c.k, c.value)
    end
  end
  for t, copy in next, self.held do
    for k, v in next, t do
      if differs(v, copy[k]) then
        what = what or ("'%s' of a table outside the state"):format(tostring(k))
        if t == _G then what = ("the global '%s'"):format(tostring(k)) end
        set(t, k, copy[k])
      end
    end
    for k, v in next, copy do
      if rawget(t, k) == nil then
        what = what or ("'%s' of a table outside the state"):format(tostring(k))
        set(t, k, v)
      end
    end
  end
  return what
end

--- Puts everything back that was replaced.
function outside:restore()
  for k = #self.swaps, 1, -1 do
    local s = self.swaps[k]
    if s.upvalue then setupvalue(s[1], s[2], s[3]) else rawset(s[1], s[2], s[3]) end
  end
  self.swaps = {}
end

return outside

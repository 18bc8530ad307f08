-- Functions of Lua's that would not know traced values, or that do what a recorded game may not.
local symbols = require "tempo.rl.trace.symbols"

local builtins = {}

local unpack = table.unpack or unpack       -- luacheck: globals unpack
local type, pcall, assert, select = type, pcall, assert, select       -- they are replaced
local error = error
local id_of, kind_of = symbols.id_of, symbols.kind_of

local function refused(name, why)
  return function() symbols.recorder().refuse("'%s' while the game is recorded: %s", name, why) end
end

local function forced(v)
  if kind_of(v) == "boolean" and id_of(v) then return symbols.recorder().ask(id_of(v)) end
  return v
end

local plain = { type = type, tonumber = tonumber, rawequal = rawequal, rawget = rawget,
  rawset = rawset }

local function key_checked(name)
  return function(t, k, ...)
    if id_of(k) then symbols.recorder().refuse_value(k, symbols.index_text) end
    return plain[name](t, k, ...)
  end
end

local replaced = {
  type = kind_of,
  tonumber = function(v, ...)
    if id_of(v) and kind_of(v) == "number" then return v end
    return plain.tonumber(v, ...)
  end,
  rawequal = function(a, b)
    if id_of(a) or id_of(b) then return symbols.equal(a, b) end
    return plain.rawequal(a, b)
  end,
  rawget = key_checked "rawget", rawset = key_checked "rawset",
}

function replaced.assert(v, ...)
  return assert(forced(v), ...)
end

-- A call that may fail: what it catches must not be a refusal of ours, nor an error that only
-- recording makes.
function replaced.pcall(f, ...)
  local self = symbols.recorder()
  local all = { n = 0 }
  local function keep(...) all = { n = select("#", ...), ... } end
  keep(pcall(f, ...))
  if self.stopped then error(all[2], 0) end
  if not all[1] then
    self.refuse("pcall caught an error while the game is recorded: %s",
      (tostring(all[2]):gsub("^[^:]*:%d+: ", "")))
  end
  return unpack(all, 1, all.n)
end
function replaced.xpcall(f, _, ...) return replaced.pcall(f, ...) end

local once = "it would happen once, now, and never when the game is played by the program"
local forbidden = { print = once, load = once, loadstring = once, loadfile = once, dofile = once,
  setfenv = once, collectgarbage = once }
local libraries = {
  io = once, os = once,
  coroutine = "a function that rests between two steps has no value that can be kept; "
    .. "keep a number in the state",
}

--- Function of Lua's -> what stands for it while a game is recorded.
function builtins.replacements()
  local map = symbols.replaced()
  for name, f in pairs(replaced) do map[_G[name]] = name:find "pcall" and f or symbols.quiet(f) end
  for name, why in pairs(forbidden) do
    if _G[name] then map[_G[name]] = refused(name, why) end
  end
  local love = rawget(_G, "love")
  for lib, functions in pairs(love or {}) do
    for name, f in pairs(type(functions) == "table" and functions or {}) do
      if type(f) == "function" then map[f] = refused(("love.%s.%s"):format(lib, name), once) end
    end
  end
  if love and love.math then map[love.math.random] = map[math.random] end
  for lib, why in pairs(libraries) do
    for name, f in pairs(_G[lib]) do
      if type(f) == "function" then map[f] = refused(lib .. "." .. name, why) end
    end
  end
  map[table.sort] = refused("table.sort",
    "its order depends on data; compare and swap fields in a loop")
  map[math.randomseed] = refused("math.randomseed", "the program's seed decides")
  return map
end

return builtins

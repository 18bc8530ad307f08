--- Functions for all libraries: errors that blame the script's line, tables of options, names.
local tempo = require "tempo"

local util = {}

local raise = getmetatable(tempo).fail
--- Raises an error of class `word` with the position of the first frame that is no library of ours.
function util.fail(word, fmt, ...)
  raise(word, string.format(fmt, ...))
end

--- The same with a position of the script's.
function util.fail_at(file, line, word, fmt, ...)
  raise(word, string.format(fmt, ...), file, line)
end

local wrong = getmetatable(tempo).wrong
--- In the body of a method: raises "word: 'method': ..." unless `ok`.
function util.check(ok, word, fmt, ...)
  if not ok then wrong(word, string.format(fmt, ...)) end
end

--- The name of `names` (a set) nearest to `word`, or nil when none is near; then the hint behind an
--- unknown name in a message: the nearest, or all of few.
util.nearest = getmetatable(tempo).nearest

--- The text of a file, or its first `most` bytes; nil and a message where it cannot be read.
function util.read(path, most)
  local file, message = io.open(path, "rb")
  if not file then return nil, message end
  local text
  text, message = file:read(most or "*a")
  file:close()
  return text, message
end

local sets = {}
--- Checks that `o` (a table or nil) has only keys named in `known`, a string of words. Returns `o`
--- or an empty table.
function util.options(what, o, known)
  if o == nil then return {} end
  if type(o) ~= "table" then
    util.fail("option", "%s: expected a table of options, got %s", what,
      type(o) == "userdata" and tostring(o) or "a " .. type(o))
  end
  local set = sets[known]
  if not set then
    set = {}
    for word in known:gmatch "%S+" do set[word] = true end
    sets[known] = set
  end
  for key in pairs(o) do
    if not set[key] then
      local near = type(key) == "string" and util.nearest(key, set)
      local takes = known:gsub("%s+", " "):match "^(.-) ?$"
      util.fail("option", "unknown option '%s' of %s%s", tostring(key), what,
        near and "; did you mean '" .. near .. "'?"
          or "; it takes " .. (takes ~= "" and takes or "none"))
    end
  end
  return o
end

--- Checks that those options of `o` that `names` lists are numbers, or tensors and index
--- expressions.
function util.numbers(what, o, names)
  for name in names:gmatch "%S+" do
    local v = o[name]
    if v ~= nil and type(v) ~= "number" and type(v) ~= "userdata" then
      util.fail("option", "%s: %s: expected a number, got a %s", what, name, type(v))
    end
  end
end

local function is_userdata(name)
  return function(v)
    local class = type(v) == "userdata" and getmetatable(v)
    return type(class) == "table" and class.__name == name
  end
end

local is_index, is_tensor, is_array = is_userdata "tempo.Index", is_userdata "tempo.Tensor",
  is_userdata "tempo.Array"
local is = {
  dim = function(v) return is_index(v) and pcall(v.upper, v) end,
  tensor = is_tensor,
  extent = function(v) return type(v) == "number" or is_index(v) end,
  operand = function(v)
    return type(v) == "number" or type(v) == "table" or is_tensor(v) or is_array(v)
  end,
  -- 1 and more: 0 examples or no rows are never meant
  count = function(v)
    return type(v) == "number" and v >= 1 and v == math.floor(v) and v < math.huge
  end,
}
local said = {
  extent = "a number or a bound", operand = "a tensor, an array or a number",
    count = "an integer, 1 or more",
}

-- "3", "'x'", "a table": what stands where something else is wanted.
local function describe(v)
  if type(v) == "number" then return ("the number %g"):format(v) end
  if type(v) == "string" then return ("the string '%s'"):format(v) end
  if type(v) == "userdata" then return (tostring(v)) end
  return v == nil and "nothing" or "a " .. type(v)
end

--- Checks that `v` is of `kind`: a type of Lua's, or "dim", "extent", "tensor", "operand", "count".
--- Returns it.
function util.expect(what, kind, v)
  if type(v) == kind or (is[kind] and is[kind](v)) then return v end
  util.fail("option", "%s: expected %s, got %s", what, said[kind] or "a " .. kind, describe(v))
end

--- The same for those options of `o` that `names` lists and `o` has.
function util.expect_options(what, kind, o, names)
  for name in names:gmatch "%S+" do
    if o[name] ~= nil then util.expect(what .. ": " .. name, kind, o[name]) end
  end
  return o
end

--- Checks that `x` is a dim, a list of dims and tensors, or nil. Returns a list.
function util.domain(what, x)
  x = util.sequence(what, util.list(x), "{ b, t }")
  for _, d in ipairs(x) do
    if not is_tensor(d) then util.expect(what, "dim", d) end
  end
  return x
end

--- Checks that `t` is a list: no other keys, no holes. Returns it.
function util.sequence(what, t, like)
  if type(t) ~= "table" then
    util.fail("option", "%s: expected a list such as %s, got a %s", what, like, type(t))
  end
  local count = 0
  for key in pairs(t) do
    count = count + 1
    if type(key) ~= "number" then
      util.fail("option",
        "%s: expected a list such as %s, got the key '%s' in it: options have a table of their own",
        what, like, tostring(key))
    end
  end
  if count ~= #t then
    util.fail("option",
      "%s: expected a list such as %s, got one with holes (is a variable's name misspelled?)",
      what, like)
  end
  return t
end

-- f, except that arguments which it would ignore are an error.
local function strict(name, f)
  local u = debug.getinfo(f, "u")
  if u.isvararg then return f end
  return function(...)
    for k = u.nparams + 1, select("#", ...) do
      local extra = select(k, ...)
      if extra ~= nil then
        util.fail("option", "%s takes %d argument%s, got a %s as #%d", name, u.nparams,
          u.nparams == 1 and "" or "s", type(extra), k)
      end
    end
    return f(...)
  end
end

--- The library as scripts get it: functions take no more arguments than they have; a name it lacks
--- is an error with the nearest.
function util.library(name, lib)
  local made = {}                                           -- an alias stays the same function
  for key, f in pairs(lib) do
    if type(f) == "function" then
      made[f] = made[f] or strict(name .. "." .. key, f)
      lib[key] = made[f]
    end
  end
  return setmetatable(lib, { __index = function(_, key)
    if type(key) ~= "string" then return nil end
    local near, foreign = util.nearest(key, lib), require "tempo.foreign"
    local ours = near ~= key:gsub("_$", "") and foreign[key]
    ours = ours or near and "did you mean '" .. near .. "'?"
    util.fail("option", "tempo.%s has no '%s'%s", name, key, ours and "; " .. ours or "")
  end })
end

--- The metatable of a class whose objects answer these names of PyTorch, JAX and NumPy; others are
--- nil.
function util.answers(what, names)
  local set = {}
  for name in names:gmatch "%S+" do set[name] = true end
  return { __index = function(_, key)
    if not set[key] then return nil end
    util.fail("option", "%s has no '%s'; %s", what, key, require "tempo.foreign"[key])
  end }
end

--- A dim, a list or nil becomes a list.
function util.list(x)
  if x == nil then return {} end
  if type(x) == "table" then return x end
  return { x }
end

util.is_tensor, util.is_array = is_tensor, is_array

--- The tensor of P that a literal, an array or a number becomes.
util.lift = getmetatable(tempo).lift

--- Refuses whatever is not a program where one comes first.
function util.program(what, P)
  if type(P) == "userdata" and tostring(P):find "^tempo%.Program" then return P end
  util.fail("option", "%s: expected the program first, got %s", what,
    type(P) == "userdata" and tostring(P) or "a " .. type(P))
end

local taken = setmetatable({}, { __mode = "k" })
--- Notes that the script has given `name` to something of P. Returns the name, and whether it was
--- given before.
function util.take(P, name)
  taken[P] = taken[P] or {}
  local before = taken[P][name]
  taken[P][name] = true
  return name, before
end

--- `stem`, then `stem1`, `stem2` ... : the first that nothing of P has, neither from here nor from
--- the script.
function util.fresh(P, stem)
  local names, name, n = taken[P] or {}, stem, 0
  while names[name] do
    n = n + 1
    name = stem .. n
  end
  return util.take(P, name)
end

--- The dims of a tensor as a set, keyed by the dim (equal index expressions are one object).
function util.dimset(x)
  local set = {}
  for _, d in ipairs(x:domain()) do set[d] = true end
  return set
end

return util

--- What the libraries share: errors that blame the script's line, tables of options, names.
local tempo = require "tempo"

local util = {}

local raise = getmetatable(tempo).fail
--- Raises an error of class `word` with the position of the first frame that is no library of ours.
function util.fail(word, fmt, ...)
  raise(word, string.format(fmt, ...))
end

-- Edits between two words; two letters exchanged count as one, capitals do not count.
local function distance(a, b)
  a, b = a:lower(), b:lower()
  local before, row = {}, {}
  for j = 0, #b do row[j] = j end
  for i = 1, #a do
    local new = { [0] = i }
    for j = 1, #b do
      local cost = a:byte(i) == b:byte(j) and 0 or 1
      new[j] = math.min(row[j] + 1, new[j - 1] + 1, row[j - 1] + cost)
      if i > 1 and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
        new[j] = math.min(new[j], before[j - 2] + 1)
      end
    end
    before, row = row, new
  end
  return row[#b]
end

--- The name of `names` (a set) nearest to `word`, or nil when none is near.
function util.nearest(word, names)
  local best, found = math.floor(math.max(#word, 3) / 3) + 1, nil
  local sorted = {}
  for name in pairs(names) do sorted[#sorted + 1] = name end
  table.sort(sorted)
  for _, name in ipairs(sorted) do
    local d = distance(word, name)
    if d < best then best, found = d, name end
  end
  return found
end

local sets = {}
--- Checks that `o` (a table or nil) has only keys named in `known`, a string of words. Returns `o` or an empty table.
function util.options(what, o, known)
  if o == nil then return {} end
  if type(o) ~= "table" then util.fail("option", "%s: expected a table of options, got a %s", what, type(o)) end
  local set = sets[known]
  if not set then
    set = {}
    for word in known:gmatch "%S+" do set[word] = true end
    sets[known] = set
  end
  for key in pairs(o) do
    if not set[key] then
      local near = type(key) == "string" and util.nearest(key, set)
      util.fail("option", "unknown option '%s' of %s%s", tostring(key), what,
        near and "; did you mean '" .. near .. "'?" or "; it takes " .. known:gsub("%s+", " "):match "^(.-) ?$")
    end
  end
  return o
end

--- The library as scripts get it: a name it lacks is an error with the nearest.
function util.library(name, lib)
  return setmetatable(lib, { __index = function(_, key)
    if type(key) ~= "string" then return nil end
    local near = util.nearest(key, lib)
    util.fail("option", "tempo.%s has no '%s'%s", name, key, near and "; did you mean '" .. near .. "'?" or "")
  end })
end

--- A dim, a list or nil becomes a list.
function util.list(x)
  if x == nil then return {} end
  if type(x) == "table" then return x end
  return { x }
end

function util.is_tensor(x) return type(x) == "userdata" and tostring(x):find "^tempo%.Tensor" ~= nil end

--- Refuses whatever is not a program where one comes first.
function util.program(what, P)
  if type(P) == "userdata" and tostring(P):find "^tempo%.Program" then return P end
  util.fail("option", "%s: expected the program first, got %s", what,
    type(P) == "userdata" and tostring(P) or "a " .. type(P))
end

local taken = setmetatable({}, { __mode = "k" })
--- Notes that the script has given `name` to something of P. Returns the name, and whether it was given before.
function util.take(P, name)
  taken[P] = taken[P] or {}
  local before = taken[P][name]
  taken[P][name] = true
  return name, before
end

--- `stem`, then `stem1`, `stem2` ... : the first that nothing of P has, neither from here nor from the script.
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

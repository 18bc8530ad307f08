-- The values of chat templates: lists, mappings and texts, and what methods, tests and filters make
-- of them. Lists are tables with the metatable List, none is core.null, what is undefined is nil.
local tempo = require "tempo"
local util = require "tempo.util"

local null = getmetatable(tempo).null
local unpack = table.unpack or unpack                   -- luacheck: globals unpack
local List = {}
local LENGTH = 2 ^ 26

local function refuse(...) util.fail("file", "chat template: %s", string.format(...)) end


local function list(t) return setmetatable(t, List) end
local function is_list(v) return getmetatable(v) == List end
local function is_map(v) return type(v) == "table" and not is_list(v) and v ~= null end

local function truth(v)
  if is_list(v) then return #v > 0 end
  if is_map(v) then return next(v) ~= nil end
  return v ~= nil and v ~= false and v ~= null and v ~= "" and v ~= 0
end

local function text(v)
  if v == nil then return "" end
  if v == null then return "None" end
  if type(v) == "boolean" then return v and "True" or "False" end
  if type(v) == "number" and v == math.floor(v) then return ("%d"):format(v) end
  if type(v) == "table" then refuse("a list or mapping is shown") end
  return tostring(v)
end

local function whole(s)
  if #s > LENGTH then refuse("a text of more than %d bytes", LENGTH) end
  return s
end

local function characters(s)
  local out = list {}
  for c in s:gmatch "[%z\1-\127\192-\255][\128-\191]*" do out[#out + 1] = c end
  return out
end

local function items_of(v)
  if type(v) == "string" then return characters(v) end
  if is_list(v) then return v end
  if not is_map(v) then refuse("a %s is no list", v == nil and "missing value" or type(v)) end
  local keys = list {}
  for key in pairs(v) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function length(v) return #items_of(v) end

local function contains(v, x)
  if type(v) == "string" then return v:find(text(x), 1, true) ~= nil end
  if is_map(v) then return v[x] ~= nil end
  for _, y in ipairs(items_of(v)) do
    if x == y then return true end
  end
  return false
end

local function strip(s, set, left, right)
  set = set and "[" .. set:gsub("%W", "%%%0") .. "]" or "%s"
  if left then s = s:gsub("^" .. set .. "+", "") end
  if not right then return s end
  local n = #s
  while n > 0 and s:sub(n, n):find(set) do n = n - 1 end
  return s:sub(1, n)
end

local function replaced(s, from, to)
  return whole((s:gsub(from:gsub("%W", "%%%0"), (to:gsub("%%", "%%%%")))))
end

local function split(s, sep)
  local out, from = list {}, 1
  if not sep then
    for word in s:gmatch "%S+" do out[#out + 1] = word end
    return out
  end
  if sep == "" then refuse("split by nothing") end
  while true do
    local a, b = s:find(sep, from, true)
    out[#out + 1] = s:sub(from, (a or 0) - 1)
    if not a then return out end
    from = b + 1
  end
end

local function joined(v, sep)
  local out = {}
  for k, x in ipairs(items_of(v)) do out[k] = text(x) end
  return whole(table.concat(out, sep or ""))
end

local function slice(v, from, to, step)
  local all, out, n = items_of(v), list {}, length(v)
  step = step or 1
  if step == 0 then refuse("a slice with step 0") end
  local low, high = step > 0 and 0 or -1, step > 0 and n or n - 1
  local function place(k, otherwise)
    if k == nil or k == null then return otherwise end
    return math.max(low, math.min(high, k < 0 and k + n or k))
  end
  for k = place(from, step > 0 and 0 or n - 1), place(to, step > 0 and n or -1)
    - (step > 0 and 1 or -1), step do
    out[#out + 1] = all[k + 1]
  end
  return type(v) == "string" and table.concat(out) or out
end

local strings = {
  strip = function(s, set) return strip(s, set, true, true) end,
  lstrip = function(s, set) return strip(s, set, true, false) end,
  rstrip = function(s, set) return strip(s, set, false, true) end,
  upper = string.upper, lower = string.lower, split = split, replace = replaced,
  join = function(s, v) return joined(v, s) end,
  startswith = function(s, with) return s:sub(1, #with) == with end,
  endswith = function(s, with) return with == "" or s:sub(-#with) == with end,
}

local maps = {
  items = function(m)
    local out = list {}
    for k, key in ipairs(items_of(m)) do out[k] = list { key, m[key] } end
    return out
  end,
  get = function(m, key, otherwise)
    if m[key] == nil then return otherwise == nil and null or otherwise end
    return m[key]
  end,
  keys = items_of,
}

-- v[key] and v.key: an element, else a method with v in it.
local function index(v, key)
  if v == nil or v == null then refuse("'%s' of what is not there", text(key)) end
  if type(key) == "number" and (is_list(v) or type(v) == "string") then
    local all = items_of(v)
    return all[(key < 0 and key + #all or key) + 1]
  end
  if is_map(v) and v[key] ~= nil then return v[key] end
  local method = type(v) == "string" and strings[key] or is_map(v) and maps[key]
  return method and function(args) return method(v, unpack(args, 1, args.n)) end or nil
end

local tests = {
  defined = function(v) return v ~= nil end,
  undefined = function(v) return v == nil end,
  none = function(v) return v == null end,
  string = function(v) return type(v) == "string" end,
  number = function(v) return type(v) == "number" end,
  boolean = function(v) return type(v) == "boolean" end,
  ["true"] = function(v) return v == true end,
  ["false"] = function(v) return v == false end,
  mapping = is_map,
  iterable = function(v) return type(v) == "string" or (type(v) == "table" and v ~= null) end,
  sequence = function(v) return type(v) == "string" or is_list(v) end,
  equalto = function(v, x) return v == x end,
  even = function(v) return v % 2 == 0 end,
  odd = function(v) return v % 2 == 1 end,
  ["in"] = function(v, x) return contains(x, v) end,
}
tests.eq, tests["=="] = tests.equalto, tests.equalto

local function chosen(v, key, test, x, want)
  local out = list {}
  for _, m in ipairs(items_of(v)) do
    local field, f = index(m, key), test and tests[test]
    if test and not f then refuse("the test '%s' is not known", test) end
    local holds
    if f then holds = f(field, x) else holds = truth(field) end
    if holds == want then out[#out + 1] = m end
  end
  return out
end

local filters = {
  trim = strings.strip, upper = string.upper, lower = string.lower, replace = replaced,
  length = length, count = length, join = joined, string = text,
  list = function(v) return slice(items_of(v)) end,
  reverse = function(v) return slice(v, nil, nil, -1) end,
  first = function(v) return items_of(v)[1] end,
  last = function(v) return items_of(v)[length(v)] end,
  int = function(v) return math.floor(tonumber(v) or 0) end,
  safe = function(v) return v end,
  items = maps.items,
  capitalize = function(s) return s:sub(1, 1):upper() .. s:sub(2):lower() end,
  default = function(v, otherwise, falsy)
    if v == nil or (falsy and not truth(v)) then return otherwise == nil and "" or otherwise end
    return v
  end,
  selectattr = function(v, key, test, x) return chosen(v, key, test, x, true) end,
  rejectattr = function(v, key, test, x) return chosen(v, key, test, x, false) end,
}
filters.d = filters.default

return {
  null = null, most = LENGTH, refuse = refuse, list = list, is_list = is_list, is_map = is_map,
  truth = truth, text = text, whole = whole, items_of = items_of, length = length,
  contains = contains, strip = strip, slice = slice, index = index, tests = tests,
  filters = filters,
}

-- A game's state as a list: which fields a table has, tables in it included, and tables of the
-- same build with other values. Numbers and booleans are the values; texts, functions and
-- metatables stay as they are on every path.
local shape = {}

local type, next, getmetatable, sort = type, next, debug.getmetatable, table.sort

-- Numbers before texts, each in its order: the same in every run.
local function before(a, b)
  if type(a) == type(b) then return a < b end
  return type(a) == "number"
end

local function keys_of(t, path, refuse)
  local keys = {}
  for k in next, t do
    if type(k) ~= "string" and type(k) ~= "number" then
      refuse("makes a state with a %s as a key%s; texts and numbers may be keys", type(k),
        path ~= "" and " of '" .. path .. "'" or "")
    end
    keys[#keys + 1] = k
  end
  sort(keys, before)
  return keys
end

-- The text of a metatable: one from outside is itself, one that the game makes on the way is what
-- it holds from outside.
local function meta_text(meta, path, known, refuse)
  if meta == nil or known(meta) then return tostring(meta) end
  local list = {}
  for _, k in ipairs(keys_of(meta, path, refuse)) do
    local v = meta[k]
    if type(v) == "table" or type(v) == "function" then
      if not known(v) then
        refuse("makes '%s' of the metatable of '%s' on the way: write it outside of the functions",
          tostring(k), path)
      end
    end
    list[#list + 1] = tostring(k) .. " = " .. tostring(v)
  end
  return table.concat(list, ", ")
end

--- Describes a state. kind_of(v) is "number" or "boolean" for what may vary; known(v) says of a
--- function or table that it is from outside, so that it is the same one on every path. Returns
--- { values =, paths =, kinds =, tree =, text = }; two states are built alike when their texts are
--- equal.
function shape.of(state, kind_of, known, refuse)
  local self = { values = {}, paths = {}, kinds = {} }
  local text, seen = {}, {}
  local function visit(t, path)
    local at = { meta = getmetatable(t) }
    seen[t] = path == "" and "the state" or path
    text[#text + 1] = path .. ": " .. meta_text(at.meta, path, known, refuse)
    for _, k in ipairs(keys_of(t, path, refuse)) do
      local v = t[k]
      local kind, name = kind_of(v), path == "" and tostring(k) or path .. "." .. tostring(k)
      if kind == "number" or kind == "boolean" then
        local n = #self.values + 1
        self.values[n], self.paths[n], self.kinds[n] = v, name, kind
        at[#at + 1] = { key = k, place = n }
        text[#text + 1] = name .. ": a " .. kind
      elseif kind == "function" and not known(v) then
        refuse("keeps a function in '%s' that it makes on the way: write it outside of the "
          .. "functions", name)
      elseif kind == "table" and seen[v] then
        at[#at + 1] = { key = k, same = v }
        text[#text + 1] = name .. ": '" .. seen[v] .. "' again"
      elseif kind == "table" and not known(v) then
        at[#at + 1] = { key = k, table = visit(v, name), of = v }
      else
        at[#at + 1] = { key = k, constant = v }
        text[#text + 1] = name .. ": " .. (kind == "string" and ("%q"):format(v) or tostring(v))
      end
    end
    at.of = t
    return at
  end
  self.tree = visit(state, "")
  self.text = text
  return self
end

--- nil, or how two descriptions differ first.
function shape.differ(a, b)
  for k = 1, math.max(#a.text, #b.text) do
    if a.text[k] ~= b.text[k] then return a.text[k] or "nothing", b.text[k] or "nothing" end
  end
end

--- A state of this build with values[n] at the n-th place.
function shape.build(self, values)
  local made = {}
  local function build(at)
    local t = {}
    made[at.of] = t
    for _, f in ipairs(at) do
      if f.place then t[f.key] = values[f.place]
      elseif f.table then t[f.key] = build(f.table)
      elseif f.same then t[f.key] = made[f.same]
      else t[f.key] = f.constant end
    end
    return setmetatable(t, at.meta)
  end
  return build(self.tree)
end

return shape

-- lua/tempo/meta/tempo.lua: what lua-language-server needs to complete and check scripts. The libraries annotate
-- themselves; this is the compiled module.
local rows = require "docs.rows"
local library = require "docs.library"

local annotations = {}

-- Words after a tag stay on its line.
local function words(s)
  return s and s ~= "" and " " .. s:gsub("\n", " ") or ""
end

local function doc(out, text)
  for line in (text .. "\n"):gmatch "(.-)\n" do out[#out + 1] = "---" .. line:gsub("^(.)", " %1") .. "\n" end
end

local function literal(options)
  local list = {}
  for k, o in ipairs(options) do list[k] = ("%s?: %s"):format(o.name, o.kind) end
  return "{ " .. table.concat(list, ", ") .. " }"
end

-- A function under `head`; args are { name = "x?", kind =, text = }; overload is a line of its own.
local function declare(out, head, text, args, options, returns, overload)
  local names = {}
  doc(out, text)
  out[#out + 1] = overload
  for _, a in ipairs(args) do
    out[#out + 1] = ("---@param %s %s%s\n"):format(a.name, a.kind, words(a.text))
    names[#names + 1] = a.name:gsub("%?$", "")
  end
  if options and #options > 0 then
    out[#out + 1] = ("---@param options%s %s\n"):format(options.required and "" or "?", literal(options))
    names[#names + 1] = "options"
  end
  for _, r in ipairs(returns) do out[#out + 1] = ("---@return %s%s\n"):format(r[1], r[2] and " # " .. r[2] or "") end
  out[#out + 1] = ("function %s(%s) end\n\n"):format(head, table.concat(names, ", "))
end

-- ---- rows of methods.def -------------------------------------------------------------------------------------------

local function row_args(m, first)
  local list = {}
  for k = first, #m.positional do
    local a = m.positional[k]
    local name = a.letter == "V" and "..." or a.name
    list[#list + 1] = { name = name .. (a.optional and "?" or ""), kind = rows.letters[a.letter][1], text = "" }
  end
  return list
end

-- Options by name; with `all`, arguments that may be left out too.
local function row_options(m, all)
  local list, seen = {}, {}
  for _, group in ipairs { all and m.positional or {}, m.options } do
    for _, o in ipairs(group) do
      if o.optional and not seen[o.name] then list[#list + 1] = { name = o.name, kind = rows.letters[o.letter][1] } end
      seen[o.name] = true
    end
  end
  return list
end

local function row_returns(entry)
  local list = {}
  for k, r in ipairs(entry.returns or { "tempo.Tensor" }) do list[k] = { r } end
  return list
end

-- With a table of names in the place of the first argument that may be left out.
local function row_overload(m, first, self, returns)
  local args = { self }
  for k = first, #m.positional do
    local a = m.positional[k]
    if a.letter == "V" then return nil end
    if not a.optional then args[#args + 1] = a.name .. ": " .. rows.letters[a.letter][1] end
  end
  local all = row_options(m, true)
  if #all == 0 then return nil end
  local given = {}
  for k, r in ipairs(returns) do given[k] = r[1] end
  args[#args + 1] = "options: " .. literal(all)
  return ("---@overload fun(%s): %s\n"):format(table.concat(args, ", "), table.concat(given, ", "))
end

local function operators(out, root, source, where)
  for _, m in ipairs(rows.methods(root)) do
    local returns = row_returns(source.methods.rows[m.name] or error("no row '" .. m.name .. "'", 0))
    local index_only = m.name == "min" or m.name == "max"
    if where == "tempo.Tensor" and m.kinds:find "m" then
      local overload = row_overload(m, 2, "self: tempo.Tensor", returns)
      declare(out, "Tensor:" .. m.name, m.doc, row_args(m, 2), row_options(m), returns, overload)
    elseif where == "tempo" and not index_only and not source.overridden[m.name] then
      declare(out, "tempo." .. m.name, m.doc, row_args(m, 1), row_options(m), returns, row_overload(m, 1, nil, returns))
    end
  end
end

-- ---- docs/source/api.lua -------------------------------------------------------------------------------------------

-- The local variable that stands for a class in the file.
local function variable(class)
  return (class.class:gsub("^tempo%.", ""))
end

local function open(out, class)
  if class.derived then
    doc(out, class.derived[2])
    out[#out + 1] = ("---@class %s: %s\n"):format(class.derived[1], class.class)
    out[#out + 1] = ("---@field [tempo.Key] %s\n\n"):format(class.derived[3])
  end
  local title = class.text:gsub("\n.*", "")
  doc(out, (title:gsub("%[([^]]*)%]%b()", "%1")))
  out[#out + 1] = "---@class " .. class.class .. "\n"
  for _, op in ipairs(class.operators or {}) do out[#out + 1] = "---@operator " .. op .. "\n" end
  if class.call then
    out[#out + 1] = "---@overload fun" .. class.call .. "\n"
  end
  if class.index then out[#out + 1] = ("---@field [tempo.Key] %s\n"):format(class.index) end
end

local function members(out, class)
  local sep = class.dot and "." or ":"
  for _, e in ipairs(class.entries) do
    if not e.form then declare(out, variable(class) .. sep .. e.name, e.text, e.args, e.options, e.returns) end
  end
end

local function dtypes(root)
  local list = {}
  for k, d in ipairs(rows.read(root .. "src/base/dtypes.def", "D")) do list[k] = '"' .. d[2] .. '"' end
  return table.concat(list, "|")
end

--- The file's text.
function annotations.file(root, source)
  local out = { "---@meta tempo\n-- Written by `make docs`; change methods.def, dtypes.def or docs/source.\n\n" }
  out[#out + 1] = "---@alias tempo.Dtype " .. dtypes(root) .. "\n"
  for _, a in ipairs(source.api.aliases) do out[#out + 1] = ("--- %s\n---@alias %s %s\n"):format(a[3], a[1], a[2]) end
  out[#out + 1] = "\n"
  for _, class in ipairs(source.api.classes) do
    open(out, class)
    if class.class == "tempo" then
      for _, lib in ipairs(library.all(root)) do
        local field = lib.name:match "^tempo%.(%w+)$"
        if source.libraries.fields[field] then out[#out + 1] = ("---@field %s %s\n"):format(field, lib.name) end
      end
      out[#out + 1] = "---@field _VERSION string\n"
    end
    out[#out + 1] = ("local %s = {}\n\n"):format(variable(class))
    members(out, class)
    operators(out, root, source, class.class)
  end
  out[#out + 1] = "return tempo\n"
  return table.concat(out)
end

return annotations

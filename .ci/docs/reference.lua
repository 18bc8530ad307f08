-- The pages of docs/reference, out of methods.def and the other .def files, docs/source and the libraries' comments.
-- `source` has a field for each file of docs/source.
local blocks = require "docs.blocks"
local rows = require "docs.rows"
local library = require "docs.library"

local unpack = table.unpack or unpack       -- luacheck: globals unpack
local reference = {}

local page = {}
page.__index = page

function page:add(text, ...)
  self[#self + 1] = select("#", ...) > 0 and text:format(...) or text
end

--- "- head: text", unless there is none.
function page:bullet(head, text)
  if text then self:add("- %s: %s\n", head, (text:gsub("%.$", ""))) end
end

function page:prelude(code) self:add("\nEach example runs after\n\n```lua\n%s```\n\n", code) end

--- An entry's `example` and `fails`, run.
function page:examples(where, prelude, entry)
  assert(entry.example, where .. " has no example")
  for _, kind in ipairs { "example", "fails" } do
    if entry[kind] then self:add("\n" .. blocks.show(entry[kind], "script.lua", prelude, kind == "fails")) end
  end
  self:add "\n"
end

local function new_page(source, name)
  return setmetatable({ source.pages.note, source.pages[name] }, page)
end

local function join(list, f)
  local out = {}
  for k, v in ipairs(list) do out[k] = f(v) end
  return table.concat(out, ", ")
end

--- "a, b[, c][, { d = }]" of positional arguments and options.
local function parameters(positional, options)
  local text, open = "", 0
  for _, a in ipairs(positional) do
    local sep = text ~= "" and ", " or ""
    text = text .. (a.optional and "[" or "") .. sep .. a.name
    open = open + (a.optional and 1 or 0)
  end
  text = text .. ("]"):rep(open)
  if #options == 0 then return text end
  local names = join(options, function(o) return o.name .. " =" end)
  return ("%s[%s{ %s }]"):format(text, text ~= "" and ", " or "", names)
end

-- `integer | string`, text
local function typed(kind, text)
  return "`" .. kind:gsub("|", " | ") .. "`" .. (text and text ~= "" and ", " .. text or "")
end

local function plain(name) return (name:gsub("%?$", "")) end

-- ---- operators -----------------------------------------------------------------------------------------------------

local function group_of(source, heading)
  local word = heading:match "^%a+"
  return source.methods.groups[word] or error("docs/source/methods.lua knows no group '" .. heading .. "'", 0), word
end

-- "x:sum(..)" and "tempo.sum(x, ..)"
local function forms(m)
  local text = ("`tempo.%s(%s)`"):format(m.name, parameters(m.positional, m.options))
  if not m.kinds:find "m" then return text end
  local method = ("`%s:%s(%s)`"):format(m.positional[1].name, m.name,
    parameters({ unpack(m.positional, 2) }, m.options))
  if m.name == "min" or m.name == "max" then return method end
  return method .. " · " .. text
end

-- What may be left out has words in docs/source/methods.lua, its row's own or those of all; the rest its kind says.
local function words_of(source, m, a)
  local all = source.methods.words[a.name] or error("docs/source/methods.lua has no words for '" .. a.name .. "'", 0)
  local own = source.methods.rows[m.name].words
  return own and own[a.name] or all
end

local function operands(out, source, m)
  local seen = {}
  for _, a in ipairs(m.positional) do
    local kind = rows.letters[a.letter][2]
    if a.optional then
      out:bullet("`" .. a.name .. "`", kind .. ": " .. words_of(source, m, a))
    elseif not ("TU"):find(a.letter) then
      out:bullet("`" .. a.name .. "`", kind)
    end
    seen[a.name] = true
  end
  for _, o in ipairs(m.kinds == "c" and {} or m.options) do            -- those of creation are their group's
    if not seen[o.name] then out:bullet(("`%s =`"):format(o.name), words_of(source, m, o)) end
  end
end

local function facts(out, m, entry)
  local list = { "shape *" .. m.shape .. "*", "dtype *" .. m.dtype .. "*" }
  if m.kinds ~= "c" then list[3] = m.differentiable and "gradient *yes*" or "gradient *0*" end
  if m.ulp > 0 then list[#list + 1] = ("tolerance %d ulp"):format(m.ulp) end
  out:add("- %s\n", table.concat(list, ", "))
  out:bullet("gradient", entry.gradient)
  out:bullet("errors", entry.errors)
end

local function operator(out, source, m)
  local entry = source.methods.rows[m.name]
  if not entry then error("docs/source/methods.lua has no row '" .. m.name .. "'", 0) end
  out:add("### %s\n\n%s\n\n%s\n\n", m.name, forms(m), m.doc)
  operands(out, source, m)
  facts(out, m, entry)
  out:examples(m.name, source.methods.prelude, entry)
end

--- docs/reference/operators.md
function reference.operators(root, source)
  local out, last = new_page(source, "operators"), nil
  out:prelude(source.methods.prelude)
  for _, m in ipairs(rows.methods(root)) do
    local group, word = group_of(source, m.group)
    if word ~= last then out:add("## %s\n\n%s\n\n", group[1], group[2]) end
    last = word
    operator(out, source, m)
  end
  return table.concat(out)
end

-- ---- the API -------------------------------------------------------------------------------------------------------

local function api_form(class, e)
  if e.form then return e.form end
  local args = {}
  for k, a in ipairs(e.args or {}) do args[k] = { name = plain(a.name), optional = a.name ~= plain(a.name) } end
  return class.receiver .. (class.dot and "." or ":") .. e.name .. "(" .. parameters(args, e.options or {}) .. ")"
end

local function api_entry(out, source, class, e)
  out:add("### `%s`\n\n%s\n\n", api_form(class, e), e.text)
  for _, a in ipairs(e.args or {}) do out:bullet("`" .. plain(a.name) .. "`", typed(a.kind, a.text)) end
  for _, o in ipairs(e.options or {}) do out:bullet("`" .. o.name .. " =`", typed(o.kind, o.text)) end
  if #e.returns > 0 then
    out:bullet("gives", join(e.returns, function(r) return typed(r[1]) .. (r[2] and " (" .. r[2] .. ")" or "") end))
  end
  out:bullet("errors", e.errors)
  out:examples(class.class .. " " .. e.name, source.api.prelude, e)
end

--- docs/reference/api.md
function reference.api(_, source)
  local out = new_page(source, "api")
  out:prelude(source.api.prelude)
  for _, class in ipairs(source.api.classes) do
    out:add("## %s\n\n%s\n\n", class.title, class.text)
    for _, e in ipairs(class.entries) do api_entry(out, source, class, e) end
  end
  return table.concat(out)
end

-- ---- libraries -----------------------------------------------------------------------------------------------------

local function library_entry(out, source, lib, e)
  out:add("### `%s`\n\n%s\n\n", e.form, e.text)
  for _, p in ipairs(e.params) do out:bullet("`" .. plain(p.name) .. "`", typed(p.kind, p.text)) end
  if #e.returns > 0 then
    out:bullet("gives", join(e.returns, function(r)
      return typed(r.kind) .. (r.text ~= "" and " (" .. r.text .. ")" or "")
    end))
  end
  local key = lib.name .. " " .. e.key
  out:examples(key, source.libraries.prelude, { example = source.libraries.examples[key] })
end

--- docs/reference/libraries.md
function reference.libraries(root, source)
  local out = new_page(source, "libraries")
  out:prelude(source.libraries.prelude)
  for _, lib in ipairs(library.all(root)) do
    out:add("## %s\n\n%s\n\n", lib.name, lib.text)
    for _, e in ipairs(lib.entries) do library_entry(out, source, lib, e) end
  end
  return table.concat(out)
end

-- ---- settings, passes, errors, dtypes, C ---------------------------------------------------------------------------

-- include/tempo.h: its first comment as prose, and its declarations.
local function c_interface(root)
  local text = blocks.read(root .. "include/tempo.h")
  local head = text:match "^/%* (.-) %*/":gsub("\n %* ?", "\n")
  local body = text:match "(typedef struct tempo_program.-)\n+#ifndef TEMPO_CDEF\n#ifdef __cplusplus\n}"
  return head, (body:gsub("TP_API ", ""))
end

--- docs/reference/settings.md
function reference.settings(root, source)
  local out = new_page(source, "settings")
  for _, s in ipairs(rows.read(root .. "src/base/settings.def", "S")) do out:add("| `%s` | %s |\n", s[1], s[2]) end
  out:add(source.pages.passes)
  for _, p in ipairs(rows.read(root .. "src/rt/passes.def", "P")) do
    out:add("| `%s` | %s | %s |\n", p[2], p[5]:find "^ON" and "yes" or "no", p[6])
  end
  out:add(source.pages.rules)
  local class = { EXACT = "none", SIGN = "sign of a zero", REASSOC = "rounding" }
  for _, r in ipairs(rows.read(root .. "src/opt/rules/rules.def", "R")) do
    out:add("| `%s` | `%s` | `%s` | %s |\n", r[1], r[3], r[4], class[r[2]])
  end
  out:add(source.pages.errors)
  for _, e in ipairs(rows.read(root .. "src/base/errs.def", "E")) do
    out:add("| `%s` | %s |\n", e[2], source.errors[e[2]] or error("docs/source/errors.lua lacks '" .. e[2] .. "'", 0))
  end
  out:add(source.pages.dtypes)
  for _, d in ipairs(rows.read(root .. "src/base/dtypes.def", "D")) do
    out:add("| `%s` | %s | `%s` |\n", d[2], d[4], d[3])
  end
  out:add(source.pages.c, c_interface(root))
  return table.concat(out)
end

-- ---- the index of names --------------------------------------------------------------------------------------------

-- GitHub's anchor of a heading.
local function anchor(heading)
  return (heading:lower():gsub("[^%w%- _]", ""):gsub(" ", "-"))
end

local function links(out, title, file, list)
  out:add("**%s** %s\n\n", title, join(list, function(e)
    return ("[%s](%s.md#%s)"):format(e[1], file, anchor(e[2]))
  end))
end

--- docs/reference/README.md
function reference.index(root, source)
  local out = new_page(source, "index")
  for _, class in ipairs(source.api.classes) do
    local list = {}
    for k, e in ipairs(class.entries) do list[k] = { e.form and "f(...)" or e.name, api_form(class, e) } end
    if #list > 0 then links(out, class.title, "api", list) end
  end
  local groups, last = {}, nil
  for _, m in ipairs(rows.methods(root)) do
    local group, word = group_of(source, m.group)
    if word ~= last then groups[#groups + 1] = { group[1] } end
    last = word
    table.insert(groups[#groups], { m.name, m.name })
  end
  for _, g in ipairs(groups) do links(out, g[1], "operators", { unpack(g, 2) }) end
  for _, lib in ipairs(library.all(root)) do
    local list = {}
    for k, e in ipairs(lib.entries) do list[k] = { e.key, e.form } end
    links(out, lib.name, "libraries", list)
  end
  return (table.concat(out):gsub("\n\n$", "\n"))
end

return reference

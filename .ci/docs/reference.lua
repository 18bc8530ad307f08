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

function page:prelude(code) self:add("\nEach example runs after\n\n```lua\n%s```\n\n", code) end

local function new_page(source, name)
  return setmetatable({ source.pages.note, source.pages[name] }, page)
end

local function join(list, sep, f)
  local out = {}
  for k, v in ipairs(list) do out[k] = f and f(v) or v end
  return table.concat(out, sep)
end

--- "a, b[, c, d, { e, f }]" of positional arguments and options. All behind the first that may be left out may be too.
local function parameters(positional, options)
  local needed, rest = {}, {}
  for _, a in ipairs(positional) do table.insert(#rest == 0 and not a.optional and needed or rest, a.name) end
  if #options > 0 then
    local names = join(options, ", ", function(o) return o.name end)
    rest[#rest + 1] = "{ " .. names .. " }"
  end
  local tail = table.concat(rest, ", ")
  if tail ~= "" then tail = "[" .. (#needed > 0 and ", " or "") .. tail .. "]" end
  return table.concat(needed, ", ") .. tail
end

-- Types without "tempo.", as code.
local function typed(kind)
  return "`" .. kind:gsub("tempo%.", ""):gsub(" ?| ?", " | ") .. "`"
end

local function plain(name) return (name:gsub("%?$", "")) end

-- For a cell of a table.
local function cell(text) return (text:gsub("|", "\\|"):gsub("\n", " ")) end

-- Examples as one block: those of one line first, then the others with empty lines between them;
-- one that several entries have stands once. `forms` says whose it is; `seen`, whose it was further up the page.
local function code_of(examples, forms, seen)
  local out, long = {}, {}
  for _, code in ipairs(examples) do
    if not seen[code] then
      table.insert(code:find "\n" and long or out, code)
      seen[code] = forms[code]
    end
  end
  if #out + #long == 0 then return ("Example: that of `%s`.\n\n"):format(seen[examples[1]]) end
  for _, code in ipairs(long) do out[#out + 1] = (#out > 0 and "\n" or "") .. code end
  return "```lua\n" .. table.concat(out, "\n") .. "\n```\n\n"
end

-- An entry's `example` and `fails`, run, with what they print.
local function examples_of(list, where, prelude, entry)
  assert(entry.example, where .. " has no example")
  for _, kind in ipairs { "example", "fails" } do
    if entry[kind] then
      list[#list + 1] = blocks.annotated(entry[kind], "script.lua", prelude, kind == "fails")
    end
  end
  return list
end

-- ---- operators -----------------------------------------------------------------------------------------------------

local function group_of(source, heading)
  local word = heading:match "^%a+"
  return source.methods.groups[word] or error("docs/source/methods.lua knows no group '" .. heading .. "'", 0), word
end

-- "x:sum(..)", of what is no method "tempo.cat(..)". Options of creation are their group's.
local function form_of(m)
  local options = m.kinds == "c" and {} or m.options
  local left = {}
  for _, o in ipairs(options) do
    local given = false
    for _, a in ipairs(m.positional) do given = given or a.name == o.name end
    if not given then left[#left + 1] = o end
  end
  if not m.kinds:find "m" then return ("tempo.%s(%s)"):format(m.name, parameters(m.positional, left)) end
  return ("%s:%s(%s)"):format(m.positional[1].name, m.name, parameters({ unpack(m.positional, 2) }, left))
end

-- An optional argument has words in docs/source/methods.lua, its row's own or those of all; its kind says the rest.
local function words_of(source, m, a)
  local all = source.methods.words[a.name] or error("docs/source/methods.lua has no words for '" .. a.name .. "'", 0)
  local own = source.methods.rows[m.name].words
  return own and own[a.name] or all
end

-- Collects what a group's rows say of one thing, most frequent first: { text, rows = names }.
local function opinions()
  local list = {}
  function list.say(name, text)
    for k = 1, #list do
      if list[k].text == text then
        table.insert(list[k].rows, name)
        return
      end
    end
    list[#list + 1] = { text = text, rows = { name } }
  end
  function list.first()
    local best = list[1]
    for k = 2, #list do
      if #list[k].rows > #best.rows then best = list[k] end
    end
    return best
  end
  return list
end

-- The arguments of a group, each once: what is said of them, and of which rows something else.
local function arguments(out, source, list)
  local order, by = {}, {}
  local function say(m, a, text)
    if not by[a.name] then by[a.name], order[#order + 1] = opinions(), a.name end
    by[a.name].say(m.name, text)
  end
  for _, m in ipairs(list) do
    local seen = {}
    for _, a in ipairs(m.positional) do
      local kind = rows.letters[a.letter][2]
      if a.optional then
        say(m, a, kind .. ": " .. words_of(source, m, a))
      elseif not ("TU"):find(a.letter) then
        say(m, a, kind)
      end
      seen[a.name] = true
    end
    for _, o in ipairs(m.kinds == "c" and {} or m.options) do
      if not seen[o.name] then say(m, o, words_of(source, m, o)) end
    end
  end
  local texts, heads = {}, {}
  for _, name in ipairs(order) do
    local of = by[name]
    local first = of.first()
    local text = first.text
    for _, said in ipairs(of) do
      local kind = text:match "^[^:]*: "
      local short = kind and said.text:sub(1, #kind) == kind and said.text:sub(#kind + 1) or said.text
      if said ~= first then text = text .. "; of " .. join(said.rows, ", ") .. ": " .. short end
    end
    if not heads[text] then heads[text], texts[#texts + 1] = {}, text end
    table.insert(heads[text], "`" .. name .. "`")
  end
  for _, text in ipairs(texts) do out:add("- %s: %s\n", join(heads[text], ", "), text) end
  if #order > 0 then out:add "\n" end
end

-- A column of the table of a group, unless most of its rows say the same. Then that is said once, and by the others in
-- their text.
local function column(heading, say, list, fixed, columns, notes)
  local all = opinions()
  for _, m in ipairs(list) do all.say(m.name, say(m)) end
  local first = all.first()
  if #all > 1 and #first.rows * 3 < #list * 2 then
    columns[#columns + 1] = { heading, say }
    return
  end
  if first.text ~= "" then fixed[#fixed + 1] = heading .. " *" .. first.text .. "*" end
  for _, said in ipairs(all) do
    for _, name in ipairs(said ~= first and said.rows or {}) do
      notes[name] = (notes[name] or "") .. "; " .. heading .. " *" .. said.text .. "*"
    end
  end
end

local function group_table(out, source, list)
  local fixed, columns, notes = {}, {}, {}
  column("shape", function(m) return m.shape end, list, fixed, columns, notes)
  column("dtype", function(m) return m.dtype end, list, fixed, columns, notes)
  if list[1].kinds ~= "c" then
    column("gradient", function(m)
      return source.methods.rows[m.name].gradient or m.differentiable and "yes" or "0"
    end, list, fixed, columns, notes)
  end
  column("ulp", function(m) return tostring(m.ulp) end, list, fixed, columns, notes)
  if #fixed > 0 then out:add("Unless a row says otherwise: %s.\n\n", table.concat(fixed, ", ")) end
  out:add("| | |%s\n| --- | --- |%s\n", join(columns, "", function(c) return " " .. c[1] .. " |" end),
    (" --- |"):rep(#columns))
  for _, m in ipairs(list) do
    local text = m.doc:gsub("%.$", "") .. (notes[m.name] or "")
    local errors = source.methods.rows[m.name].errors
    if errors then text = text .. ". Errors: " .. errors end
    out:add("| `%s` | %s |%s\n", cell(form_of(m)), cell(text), join(columns, "", function(c)
      return " " .. cell(c[2](m)) .. " |"
    end))
  end
  out:add "\n"
end

-- The rows of methods.def by group: { title, text, rows }.
local function groups_of(root, source)
  local groups, last = {}, nil
  for _, m in ipairs(rows.methods(root)) do
    if not source.methods.rows[m.name] then error("docs/source/methods.lua has no row '" .. m.name .. "'", 0) end
    local group, word = group_of(source, m.group)
    if word ~= last then groups[#groups + 1] = { group[1], group[2], {} } end
    last = word
    table.insert(groups[#groups][3], m)
  end
  return groups
end

--- docs/reference/operators.md
function reference.operators(root, source)
  local out = new_page(source, "operators")
  out:prelude(source.methods.prelude)
  for _, g in ipairs(groups_of(root, source)) do
    out:add("## %s\n\n%s", g[1], g[2] ~= "" and g[2] .. "\n\n" or "")
    group_table(out, source, g[3])
    arguments(out, source, g[3])
    local examples, forms = {}, {}
    for _, m in ipairs(g[3]) do
      examples_of(examples, m.name, source.methods.prelude, source.methods.rows[m.name])
    end
    for _, code in ipairs(examples) do forms[code] = g[1] end
    out:add(code_of(examples, forms, {}))
  end
  return (table.concat(out):gsub("\n\n$", "\n"))
end

-- ---- entries of the API and of libraries ---------------------------------------------------------------------------
-- { form, text, args = { { name, kind, text } }, returns = { { kind, text } }, errors, examples }

local function gives(e)
  return join(e.returns, ", ", function(r)
    return typed(r[1]) .. (r[2] and r[2] ~= "" and " (" .. r[2] .. ")" or "")
  end)
end

local obvious = { integer = true, string = true, number = true, boolean = true }

-- Neighbours of one kind about which nothing is said share an item, and those of Lua's own types have none.
local function args_of(e)
  local list, last = {}, nil
  for _, a in ipairs(e.args) do
    if a[3] == "" and obvious[a[2]] then
      last = nil
    elseif last and a[3] == "" and last[3] == "" and last[2] == a[2] then
      last[1] = last[1] .. "`, `" .. a[1]
    else
      last = { a[1], a[2], a[3], as = a.as }
      list[#list + 1] = last
    end
  end
  return list
end

local function arg_text(a)
  local kind = a.as and "as of " .. a.as or typed(a[2])
  return ("`%s`: %s%s"):format(a[1], kind, a[3] ~= "" and ", " .. a[3] or "")
end

-- The words of an entry on one line.
local function short_text(e, common)
  local text = e.text:gsub("%.$", "")
  for _, a in ipairs(args_of(e)) do
    local said = arg_text(a):gsub("%.$", "")
    if not (common and common[said]) then text = text .. "; " .. said end
  end
  if e.errors then text = text .. ". Errors: " .. e.errors:gsub("%.$", "") end
  return text
end

local function is_short(e)
  return not e.text:find "\n\n" and not e.text:find "```" and #short_text(e) + #gives(e) <= 260
end

local MANY = 6             -- more options than these have a table, and no names in the heading

local function long_entry(out, e)
  out:add("### `%s`\n\n%s\n\n", e.form, e.text)
  local args = args_of(e)
  if #args > MANY then out:add "| option | type | |\n| --- | --- | --- |\n" end
  for _, a in ipairs(args) do
    if #args > MANY then
      out:add("| `%s` | %s | %s |\n", a[1], cell(typed(a[2])), cell(a[3]))
    else
      out:add("- %s\n", (arg_text(a):gsub("%.$", "")))
    end
  end
  if #args > MANY then out:add "\n" end
  if #e.returns > 0 then out:add("- gives %s\n", gives(e)) end
  if e.errors then out:add("- errors: %s\n", (e.errors:gsub("%.$", ""))) end
  local forms = {}
  for _, code in ipairs(e.examples) do forms[code] = e.form end
  out:add("\n" .. code_of(e.examples, forms, out.seen))
end

-- Short entries first, in one table with one block of examples; the others under headings.
local function entries(out, list)
  local short, long, examples, forms, all = {}, {}, {}, {}, opinions()
  out.seen = out.seen or {}
  for _, e in ipairs(list) do table.insert(is_short(e) and short or long, e) end
  if #short == 1 then short, long = {}, list end
  for _, e in ipairs(short) do
    if not e.clear then all.say(e.form, gives(e)) end
    for _, code in ipairs(e.examples) do
      examples[#examples + 1], forms[code] = code, forms[code] or e.form
    end
  end
  local common = opinions()
  for _, e in ipairs(short) do
    for _, a in ipairs(args_of(e)) do
      if a[1] ~= "o" then common.say(e.form, (arg_text(a):gsub("%.$", ""))) end
    end
  end
  for _, said in ipairs(common) do
    if #said.rows > 2 then common[said.text] = true end
  end
  if #short > 0 then
    local usual = all.first()
    local same = usual and usual.text ~= "" and #usual.rows > 1 and #usual.rows * 2 >= #short
    local facts = {}
    if same then facts[1] = "they give " .. usual.text end
    for _, said in ipairs(common) do
      if common[said.text] then facts[#facts + 1] = said.text end
    end
    if #facts > 0 then out:add("Unless a row says otherwise %s.\n\n", table.concat(facts, "; ")) end
    local lines = {}                    -- neighbours of which the same is said share one
    for _, e in ipairs(short) do
      local text, given, last = short_text(e, common), gives(e), lines[#lines]
      if not e.clear and not (same and given == usual.text) then
        text = text .. (given ~= "" and "; gives " .. given or same and "; gives nothing" or "")
      end
      if last and last[2] == text then
        last[1] = last[1] .. "`, `" .. e.form
      else
        lines[#lines + 1] = { e.form, text }
      end
    end
    out:add "| | |\n| --- | --- |\n"
    for _, row in ipairs(lines) do out:add("| `%s` | %s |\n", cell(row[1]), cell(row[2])) end
    out:add("\n" .. code_of(examples, forms, out.seen))
  end
  for _, e in ipairs(long) do long_entry(out, e) end
end

local function api_form(class, e)
  if e.form then return e.form end
  local args, options = {}, e.options or {}
  if #options > MANY then options = { { name = "..." } } end
  for k, a in ipairs(e.args or {}) do args[k] = { name = plain(a.name), optional = a.name ~= plain(a.name) } end
  return class.receiver .. (class.dot and "." or ":") .. e.name .. "(" .. parameters(args, options) .. ")"
end

--- docs/reference/api.md
function reference.api(_, source)
  local out = new_page(source, "api")
  for _, a in ipairs(source.api.aliases) do
    out:add("| `%s` | %s | %s |\n", a[1]:gsub("tempo%.", ""), cell(typed(a[2])), a[3])
  end
  out:prelude(source.api.prelude)
  for _, class in ipairs(source.api.classes) do
    out:add("## %s\n\n%s\n\n", class.title, class.text)
    local list = {}
    for k, e in ipairs(class.entries) do
      local args = {}
      for _, of in ipairs { e.args or {}, e.options or {} } do
        for _, a in ipairs(of) do args[#args + 1] = { plain(a.name), a.kind, a.text } end
      end
      list[k] = { form = api_form(class, e), text = e.text, args = args, returns = e.returns, errors = e.errors,
        examples = examples_of({}, class.class .. " " .. e.name, source.api.prelude, e) }
    end
    entries(out, list)
  end
  return (table.concat(out):gsub("\n\n$", "\n"))
end

-- ---- libraries -----------------------------------------------------------------------------------------------------

local explained = {
  ["tempo.nn"] = " along domain dtype name init gain bias bias_init stride padding dilation groups "
    .. "output_padding ceil_mode count_include_pad divisor_override eps ",
  ["tempo.nn.init"] = " domain dtype name gain low high bound mean std ",
  ["tempo.optim"] = " lr weight_decay clip_norm name params betas eps alpha momentum nesterov ",
  ["tempo.rl"] = " traj ",
}

-- A table of options: neighbours of one type share it, and those that the library's head explains are left out.
local function fields_of(lib, kind)
  local inside = kind:match "^{ (.*) }$"
  if not inside then return kind end
  local list, last = {}, nil
  for name, of in inside:gsub(", ([%w_]+%??): ", "\n%1: "):gmatch "([%w_]+%??): ([^\n]*)" do
    local common = (explained[lib.name] or ""):find(" " .. plain(name) .. " ", 1, true)
    if not common and last and last.of == of then
      last.names = last.names .. ", " .. name
    elseif not common then
      last = { names = name, of = of }
      list[#list + 1] = last
    end
  end
  return "{ " .. join(list, "; ", function(l) return l.names .. ": " .. l.of end) .. " }"
end

-- Entries of one receiver stand together: functions of the library, then methods of each class.
local function by_receiver(list)
  local groups, of = {}, {}
  for _, e in ipairs(list) do
    local receiver = e.form:match "^([%w_]+):" or ""
    if not of[receiver] then
      of[receiver] = {}
      groups[#groups + 1] = of[receiver]
    end
    table.insert(of[receiver], e)
  end
  return groups
end

--- docs/reference/libraries.md
function reference.libraries(root, source)
  local out = new_page(source, "libraries")
  out:prelude(source.libraries.prelude)
  for _, lib in ipairs(library.all(root)) do
    out:add("## %s\n\n%s\n\n", lib.name, lib.text)
    local list, said = {}, {}
    for k, e in ipairs(lib.entries) do
      local args, returns, key = {}, {}, lib.name .. " " .. e.key
      for _, p in ipairs(e.params) do
        local kind = fields_of(lib, p.kind)
        local head = "`" .. e.form:match "^[%w_.:]+" .. "`"
        local known = p.name == "P" and p.text == ""
          or (explained[lib.name] or ""):find(" " .. plain(p.name) .. " ", 1, true)
        if not known and not kind:find "^{ *}$" then
          args[#args + 1] = { plain(p.name), kind, p.text, as = #kind > 50 and said[kind] }
          said[kind] = said[kind] or head
        end
      end
      local clear = e.value           -- it gives nothing, or is a constructor, which gives its class
      for i, r in ipairs(e.returns) do
        clear = clear or r.kind == "tempo." .. e.form:match "^[%w_.]+"
        if not clear then returns[i] = { r.kind, r.text } end
      end
      list[k] = { form = e.form, text = e.text, args = args, returns = returns, clear = clear,
        examples = examples_of({}, key, source.libraries.prelude, { example = source.libraries.examples[key] }) }
    end
    for _, group in ipairs(by_receiver(list)) do entries(out, group) end
  end
  return (table.concat(out):gsub("\n\n$", "\n"))
end

-- ---- settings, passes, errors, dtypes, C ---------------------------------------------------------------------------

--- docs/reference/settings.md
function reference.settings(root, source)
  local out = new_page(source, "settings")
  for _, s in ipairs(rows.read(root .. "src/base/settings.def", "S")) do out:add("| `%s` | %s |\n", s[1], s[2]) end
  out:add(source.pages.passes)
  for _, p in ipairs(rows.read(root .. "src/rt/passes.def", "P")) do
    out:add("| `%s` | %s | %s |\n", p[2], p[5]:find "^ON" and "yes" or "no", p[6])
  end
  out:add(source.pages.rules)
  local class = { EXACT = "", SIGN = "sign of a zero", REASSOC = "rounding" }
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
  out:add(source.pages.c)
  return table.concat(out)
end

-- ---- the index of names --------------------------------------------------------------------------------------------

-- GitHub's anchor of a heading.
local function anchor(heading)
  return (heading:lower():gsub("[^%w%- _]", ""):gsub(" ", "-"))
end

local function names(out, title, file, list)
  out:add("| [%s](%s.md#%s) | %s |\n", title, file, anchor(title), table.concat(list, ", "))
end

--- docs/reference/README.md
function reference.index(root, source)
  local out = new_page(source, "index")
  for _, class in ipairs(source.api.classes) do
    local list = {}
    for k, e in ipairs(class.entries) do list[k] = e.form and "f(...)" or e.name end
    if #list > 0 then names(out, class.title, "api", list) end
  end
  for _, g in ipairs(groups_of(root, source)) do
    local list = {}
    for k, m in ipairs(g[3]) do list[k] = m.name end
    names(out, g[1], "operators", list)
  end
  for _, lib in ipairs(library.all(root)) do
    local list = {}
    for k, e in ipairs(lib.entries) do list[k] = e.key end
    names(out, lib.name, "libraries", list)
  end
  return table.concat(out)
end

return reference

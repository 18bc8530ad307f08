-- The libraries' doc comments: what stands behind `---` before a function of an exported table or annotated class.
--
--   --- One sentence and more. Lines that begin with two spaces are code.
--   ---@param P tempo.Program the program
--   ---@return tempo.nn.Module
--   function nn.Linear(P, nin, nout, o)
--
-- A local table after `---@class tempo.x.Name` exports its methods; a `---@field name fun(...): T text` is an entry
-- too. A layer's or optimiser's constructor says what its forward or its rule does; `---@protected` is for classes
-- of the library itself.
local blocks = require "docs.blocks"

local library = {}

--- File, name, and how its functions are written; its rooms, files of the folder with its name.
local files = {
  { "nn", "tempo.nn", "nn", [[
    module
    layers
    cells
  ]] },
  { "initial", "tempo.nn.init", "init" }, { "optim", "tempo.optim", "optim" },
  { "dist", "tempo.dist", "dist" },
  { "rl", "tempo.rl", "rl", [[
    env
    frame
    losses
    memory
    replay
    returns
    trace
    train
  ]] },
  { "llm", "tempo.llm", "llm", [[
    engine
    serve
    tokenizer
  ]] },
  { "logger", "tempo.logger", "logger" },
  { "data", "tempo.data", "data" }, { "viz", "tempo.viz", "viz", "svg" },
  { "cli", "tempo.cli", "cli" },
}
local own = { forward = true, rule = true, __index = true }

--- The type at the start of `s`, and the rest: up to a space outside brackets that follows no `:`, `|` or `,`
-- (`fun(): T, T`).
function library.split_type(s)
  local depth, k = 0, 1
  while k <= #s do
    local c = s:sub(k, k)
    if c:find "[%(%[{<]" then depth = depth + 1 elseif c:find "[%)%]}>]" then depth = depth - 1 end
    if c == " " and depth == 0 and not s:sub(1, k):find "[:|,] $" then return s:sub(1, k - 1), s:sub(k + 1) end
    k = k + 1
  end
  return s, ""
end

-- Markdown of a comment's lines: indented ones as code.
local function prose(lines)
  local out, code = {}, false
  for _, line in ipairs(lines) do
    local inside = line:find "^  " ~= nil or (code and line == "")
    if inside ~= code then out[#out + 1] = inside and "\n```text" or "```\n" end
    out[#out + 1], code = inside and line:gsub("^  ", "") or line, inside
  end
  if code then out[#out + 1] = "```" end
  local text = table.concat(out, "\n"):gsub("\n+```\n", "\n```\n"):gsub("\n\n+", "\n\n")
  return text:match "^%s*(.-)%s*$"
end

local function annotation(entry, line)
  local tag, rest = line:match "^@(%w+)%s*(.*)"
  if tag == "param" then
    local name, more = rest:match "^(%S+)%s+(.*)"
    local kind, text = library.split_type(more)
    entry.params[#entry.params + 1] = { name = name, kind = kind, text = text }
  elseif tag == "return" then
    local kind, text = library.split_type(rest)
    local name = text:match "^[%a_]+$"
    entry.returns[#entry.returns + 1] = { kind = kind, text = name and "" or (text:gsub("^# ?", "")) }
  elseif tag == "protected" then
    entry.hidden = true
  elseif tag == "class" then
    entry.class = rest:match "^%S+":gsub(":$", "")
  elseif tag == "field" then
    local name, more = rest:match "^(%S+)%s+(.*)"
    local kind, text = library.split_type(more)
    if kind:find "^fun%(" then entry.fields[#entry.fields + 1] = { name = name, kind = kind, text = text } end
  end
end

local function comment(lines)
  local entry, text = { params = {}, returns = {}, fields = {} }, {}
  for _, line in ipairs(lines) do
    if line:find "^@" then annotation(entry, line) else text[#text + 1] = line end
  end
  entry.text = prose(text)
  return entry
end

-- "nn.Linear(P, nin[, o])": names of parameters are those of the annotations. A table has none.
local function form(head, entry)
  if entry.value then return head end
  local text, open = "", 0
  for _, p in ipairs(entry.params) do
    local name = p.name:gsub("%?$", "")
    local sep = text ~= "" and ", " or ""
    if p.name:find "%?$" then
      text, open = text .. "[" .. sep .. name, open + 1
    else
      text = text .. sep .. name
    end
  end
  return head .. "(" .. text .. ("]"):rep(open) .. ")"
end

-- `fun(a: T, b?: T): R` as an entry.
local function field_entry(stem, f)
  local inside, returns = f.kind:match "^fun(%b()):%s*(.*)$"
  local entry = { params = {}, returns = { { kind = returns, text = "" } }, text = f.text, key = f.name }
  for word in inside:sub(2, -2):gmatch "[^,]+" do
    local name, kind = word:match "^%s*([%w_]+%??):%s*(.-)%s*$"
    entry.params[#entry.params + 1] = { name = name, kind = kind, text = "" }
  end
  entry.form = form(stem .. "." .. f.name, entry)
  return entry
end

-- Tells what a line of Lua declares: its table, "." or ":", its key; whether that is no function.
local function declared(line)
  local receiver, sep, key = line:match "^function ([%w_]+)([.:])([%w_]+)%("
  if receiver then return receiver, sep, key, false end
  local value
  receiver, key, value = line:match "^([%w_]+)%.([%w_]+) = (.)"
  return receiver, ".", key, value == "{"
end

local parser = {}
parser.__index = parser

function parser:entry(entry, head, key)
  if #entry.text == 0 then
    self.undocumented[#self.undocumented + 1] = ("lua/tempo/%s.lua:%d: %s"):format(self.file, self.at, head)
  end
  entry.key, entry.form = key, form(head, entry)
  if entry.hidden then self.hidden[key] = true else self.entries[#self.entries + 1] = entry end
end

function parser:declaration(entry, line, commented)
  local receiver, sep, key, value = declared(line)
  local class = self.classes[receiver]
  if not receiver or not (class or receiver == self.stem) or own[key] or key:find "^_" then return end
  if not commented and not line:find "^function" then return end           -- an alias, a field
  entry.value = value
  local head = (class and class:match "[^.]+$" or receiver) .. sep .. key
  self:entry(entry, head, class and head or key)
end

-- A line that is no doc comment, and the comment before it.
function parser:line(line, pending)
  local entry = comment(pending)
  local made = line:match "^local ([%w_]+) = "
  if not self.text and #pending > 0 then
    self.text = entry.text:gsub("^" .. self.name:gsub("%p", "%%%0") .. ": ", ""):gsub("^%l", string.upper)
  elseif made and entry.class and made ~= self.stem then
    self.classes[made] = entry.class
  elseif line:find "^return function" then
    self:entry(entry, 'require "' .. self.name .. '" ', self.stem)
  else
    self:declaration(entry, line, #pending > 0)
  end
  for _, f in ipairs(entry.fields) do self.entries[#self.entries + 1] = field_entry(made or self.stem, f) end
end

function parser:read(root, file)
  local pending = {}
  self.file, self.at = file, 0
  for line in (blocks.read(root .. "lua/tempo/" .. file .. ".lua") .. "\n"):gmatch "(.-)\n" do
    self.at = self.at + 1
    local words = line:match "^%-%-%- ?(.*)"
    if words then
      pending[#pending + 1] = words
    else
      self:line(line, pending)
      pending = {}
    end
  end
end

local function parse(root, file, name, stem, rooms)
  local self = setmetatable({ name = name, stem = stem, entries = {}, undocumented = {}, classes = {},
    hidden = {} }, parser)
  self:read(root, file)
  for room in (rooms or ""):gmatch "%S+" do self:read(root, file .. "/" .. room) end
  return self
end

--- { name =, text =, entries =, undocumented =, classes =, hidden = } for each library; an entry has key, form, text,
-- params and returns.
function library.all(root)
  local list = {}
  for k, f in ipairs(files) do list[k] = parse(root, f[1], f[2], f[3], f[4]) end
  return list
end

return library

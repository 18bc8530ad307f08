--- tempo.logger: writes rows of numbers into files as they come, so that a killed run leaves all
--- rows so far.
local tempo = require "tempo"
local util = require "tempo.util"

---@class tempo.logger
local logger = {}

--- Seconds of a clock that never goes back.
logger.clock = tempo.clock

local make_folder = getmetatable(tempo).mkdir

--- Makes a folder and those above it.
---@param path string
---@return string the path
function logger.mkdir(path)
  make_folder(path)
  return path
end

---@class tempo.logger.Rows
local Rows = {}
Rows.__index = Rows

-- A writer of rows of these columns into the file at `path`, begun with `head`. A path that is
-- false writes nothing.
local function writer(path, columns, format, head)
  local self = setmetatable({ columns = columns, path = path or nil, format = format }, Rows)
  if not path then return self end
  local folder = path:match "^(.*)/[^/]*$"
  if folder and folder ~= "" then logger.mkdir(folder) end
  local file, message = io.open(path, "wb")
  if not file then util.fail("file", "cannot write '%s': %s", path, message) end
  self.file = file
  if head ~= "" then self:write(head) end
  return self
end

--- Writes text as it is.
---@param text string
---@protected
function Rows:write(text)
  if not self.file then return end
  local ok, message = self.file:write(text)
  if ok then ok, message = self.file:flush() end
  if not ok then util.fail("file", "cannot write '%s': %s", self.path, message) end
end

--- Writes a row.
---@param values any[] one for each column
function Rows:row(values)
  if self.file then self:write(self.format(values, self.columns)) end
end

--- Writes cells as they are, with commas between them.
---@param cells string[]
function Rows:line(cells) self:write(table.concat(cells, ",") .. "\n") end

--- Closes the file.
function Rows:close()
  if self.file then self.file:close() end
  self.file = nil
end

-- Integral numbers as integers, others with so many digits.
local function text(v, digits)
  if type(v) ~= "number" then return tostring(v) end
  if v ~= v then return "nan" end
  if v == math.floor(v) and math.abs(v) < 1e15 then return string.format("%d", v) end
  return string.format("%." .. digits .. "g", v)
end

--- A file with a line of names, for rows: integral numbers as integers, others with 9 digits. A
--- path that is false writes nothing.
---@param path string|false
---@param columns string[]
---@return tempo.logger.Rows
function logger.csv(path, columns)
  return writer(path, columns, function(values)
    local cells = {}
    for k = 1, #columns do cells[k] = text(values[k], 9) end
    return table.concat(cells, ",") .. "\n"
  end, table.concat(columns, ",") .. "\n")
end

local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

local function quoted(s)
  return '"' .. s:gsub('[%c"\\]', function(c) return escapes[c] or ("\\u%04x"):format(c:byte()) end)
    .. '"'
end

--- A value as JSON: lists, tables (their keys in order), strings, numbers with 17 digits, booleans;
--- NaN and infinities are null.
---@param v any
---@return string
function logger.json(v)
  if type(v) == "string" then return quoted(v) end
  if type(v) == "number" then
    return v == v and math.abs(v) ~= math.huge and text(v, 17) or "null"
  end
  if type(v) ~= "table" then return type(v) == "boolean" and tostring(v) or "null" end
  local parts, keys = {}, {}
  if #v > 0 then
    for k, e in ipairs(v) do parts[k] = logger.json(e) end
    return "[" .. table.concat(parts, ",") .. "]"
  end
  for key in pairs(v) do keys[#keys + 1] = tostring(key) end
  table.sort(keys)
  for k, key in ipairs(keys) do parts[k] = quoted(key) .. ":" .. logger.json(v[key]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

--- A file of lines that are JSON objects, for rows: numbers with 17 digits, null for NaN.
---@param path string|false
---@param columns string[]
---@return tempo.logger.Rows
function logger.jsonl(path, columns)
  return writer(path, columns, function(values)
    local cells = {}
    for k, name in ipairs(columns) do cells[k] = quoted(name) .. ":" .. logger.json(values[k]) end
    return "{" .. table.concat(cells, ",") .. "}\n"
  end, "")
end

--- A file of TensorBoard events, for rows of numbers: the first column is the step, each of the
--- others a curve. Its folder is what `tensorboard --logdir` takes; the file's name must contain
--- "tfevents".
---@param path string|false
---@param columns string[]
---@return tempo.logger.Rows
function logger.tensorboard(path, columns)
  local events = require "tempo.logger.events"
  return writer(path, columns, function(values) return events.scalars(os.time(), columns,
    values) end,
    events.version(os.time()))
end

return util.library("logger", logger)

--- tempo.logger: writes rows of numbers into files as they come, so that a killed run leaves all rows so far.
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

---@class tempo.logger.CSV
local CSV = {}
CSV.__index = CSV

--- A file with a line of names, for rows. A path that is false writes nothing.
---@param path string|false
---@param columns string[]
---@return tempo.logger.CSV
function logger.csv(path, columns)
  if not path then return setmetatable({ columns = columns }, CSV) end
  local folder = path:match "^(.*)/[^/]*$"
  if folder then logger.mkdir(folder) end
  local file, message = io.open(path, "w")
  if not file then util.fail("file", "cannot write '%s': %s", path, message) end
  local self = setmetatable({ file = file, path = path, columns = columns }, CSV)
  self:line(columns)
  return self
end

--- Writes cells as they are.
---@param cells string[]
function CSV:line(cells)
  if not self.file then return end
  local ok, message = self.file:write(table.concat(cells, ","), "\n")
  if ok then ok, message = self.file:flush() end
  if not ok then util.fail("file", "cannot write '%s': %s", self.path, message) end
end

local function text(v)
  if type(v) ~= "number" then return tostring(v) end
  if v == math.floor(v) and math.abs(v) < 1e15 then return string.format("%d", v) end
  return string.format("%.9g", v)
end

--- Writes numbers: integral ones as integers, others with 9 digits.
---@param values any[] one for each column
function CSV:row(values)
  local cells = {}
  for k = 1, #self.columns do cells[k] = text(values[k]) end
  self:line(cells)
end

--- Closes the file.
function CSV:close()
  if self.file then self.file:close() end
end

return util.library("logger", logger)

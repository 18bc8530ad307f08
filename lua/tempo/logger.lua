--- tempo.logger: rows of numbers into files, written as they come, so that a run that is killed leaves what it had.
local tempo = require "tempo"
local util = require "tempo.util"

local logger = {}

--- Seconds of a clock that never goes back.
logger.clock = tempo.clock

--- Makes a folder and those above it.
function logger.mkdir(path)
  if package.config:sub(1, 1) == "\\" then os.execute('mkdir "' .. path:gsub("/", "\\") .. '" 2>nul')
  else os.execute("mkdir -p '" .. path:gsub("'", "'\\''") .. "'") end
  return path
end

local CSV = {}
CSV.__index = CSV

--- local log = logger.csv("out/metrics.csv", { "iteration", "return" }); log:row { 1, 0.5 }; log:close()
function logger.csv(path, columns)
  local folder = path:match "^(.*)/[^/]*$"
  if folder then logger.mkdir(folder) end
  local file, message = io.open(path, "w")
  if not file then util.fail("file", "cannot write '%s': %s", path, message) end
  file:write(table.concat(columns, ","), "\n")
  return setmetatable({ file = file, columns = columns }, CSV)
end

local function text(v)
  if type(v) ~= "number" then return tostring(v) end
  if v == math.floor(v) and math.abs(v) < 1e15 then return string.format("%d", v) end
  return string.format("%.9g", v)
end

function CSV:row(values)
  local cells = {}
  for k = 1, #self.columns do cells[k] = text(values[k]) end
  self.file:write(table.concat(cells, ","), "\n")
  self.file:flush()
end

function CSV:close() self.file:close() end

return logger

--- tempo.logger: rows of numbers into files, written as they come, so that a run that is killed leaves what it had.
local tempo = require "tempo"
local util = require "tempo.util"

local logger = {}

--- Seconds, for differences: of the wall where the machine tells finer than a second, else of the processor.
logger.clock = rawget(tempo, "clock") or os.clock
local ok, ffi = pcall(require, "ffi")
if logger.clock == os.clock and ok and ffi.os ~= "Windows" then
  if pcall(ffi.cdef, "typedef struct { long s, us; } tempo_timeval; int gettimeofday(tempo_timeval *, void *);") then
    local now = ffi.new "tempo_timeval"
    logger.clock = function()
      ffi.C.gettimeofday(now, nil)
      return tonumber(now.s) + tonumber(now.us) * 1e-6
    end
  end
end

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

-- The folder of a run: rows in three kinds of files, the configuration, the curve; and lines on the
-- terminal.
local tempo = require "tempo"
local util = require "tempo.util"
local logger = require "tempo.logger"

local record = {}

local function first_line(command)
  local pipe = io.popen and io.popen(command .. " 2>/dev/null")
  local line = pipe and pipe:read "*l"
  if pipe then pipe:close() end
  return line
end

local function quoted(path) return "'" .. path:gsub("'", "'\\''") .. "'" end

--- Is this what Lua's interpreter raises at Ctrl-C?
function record.is_interrupt(e) return tostring(e):find "interrupted!$" ~= nil end

--- Writes a file whole or not at all.
function record.write(path, text)
  local file, message = io.open(path .. ".new", "wb")
  local ok = file
  if ok then
    ok, message = file:write(text)
    local closed, why = file:close()
    if ok and not closed then ok, message = nil, why end
  end
  if ok then ok, message = os.rename(path .. ".new", path) end
  if not ok then
    os.remove(path .. ".new")
    util.fail("file", "cannot write '%s': %s", path, message)
  end
end

--- Returns what identifies a run: `options` and where it ran.
function record.configuration(options)
  local script = type(arg) == "table" and arg[0]
  local words = {}
  for k = 0, type(arg) == "table" and #arg or -1 do words[#words + 1] = tostring(arg[k]) end
  local folder = script and script:match "^(.*)/[^/]*$" or "."
  options.tempo, options.lua = tempo._VERSION, jit and jit.version or _VERSION
  options.command, options.folder = #words > 0 and words or nil, os.getenv "PWD"
  options.git = first_line("git -C " .. quoted(folder)
    .. " describe --always --dirty --abbrev=40 --exclude '*'")
  options.date = os.date "!%Y-%m-%dT%H:%M:%SZ"
  return logger.json(options) .. "\n"
end

-- ---- files --------------------------------------------------------------------------------------

local Folder = {}
Folder.__index = Folder

-- Calls f; what it fails with is told once on stderr and noted: a full disk costs files, not the
-- run.
function Folder:try(f, ...)
  local ok, e = pcall(f, ...)
  if ok then return true end
  -- Ctrl-C struck here: writes it all the same, then ends
  if record.is_interrupt(e) then
    pcall(f, ...)
    error(e, 0)
  end
  if not self.failed then
    io.stderr:write("tempo: ", tostring(e),
      "\nthe run goes on without the files that cannot be written\n")
  end
  self.failed = self.failed or tostring(e)
end

local kinds = { { "csv", "metrics.csv" }, { "jsonl", "metrics.jsonl" },
  { "tensorboard", "events.out.tfevents.0.tempo" } }

--- The folder at `path` (false: none) for rows of these columns, with those of `history` in it
--- already. An earlier run's files stay until these rows are in the new ones.
function record.folder(path, columns, history)
  local self = setmetatable({ path = path, columns = columns, files = {} }, Folder)
  if not path then return self end
  logger.mkdir(path)
  for k, kind in ipairs(kinds) do
    self.files[k] = logger[kind[1]](path .. "/" .. kind[2] .. ".new", columns)
  end
  for _, row in ipairs(history) do self:row(row) end
  for k, kind in pairs(kinds) do
    local name = path .. "/" .. kind[2]
    if self.files[k] then
      self.files[k].path = name
      self:try(function()
        local ok, message = os.rename(name .. ".new", name)
        if not ok then util.fail("file", "cannot write '%s': %s", name, message) end
      end)
    end
  end
  return self
end

function Folder:row(row)
  local values = {}
  for k, name in ipairs(self.columns) do
    values[k] = row[name]
    if values[k] == nil then values[k] = 0 / 0 end
  end
  for k, file in pairs(self.files) do
    if not self:try(file.row, file, values) then self.files[k] = nil end
  end
end

function Folder:write(name, text)
  return self.path and self:try(record.write, self.path .. "/" .. name, text)
end

function Folder:save(name, arrays)
  if self.path and next(arrays) then self:try(tempo.save, self.path .. "/" .. name, arrays) end
end

--- Closes the files, draws the curve.
function Folder:close(history)
  for _, file in pairs(self.files) do file:close() end
  if not self.path or #history == 0 then return end
  local function curve(name)
    local x, y = {}, {}
    for k, row in ipairs(history) do x[k], y[k] = row.steps, row[name] or 0 / 0 end
    return { name = name, x = x, y = y }
  end
  local curves = { curve "return" }
  if history[#history].evaluation then curves[2] = curve "evaluation" end
  self:write("curve.svg", tempo.viz.svg(curves, { x = "steps", y = "return" }))
end

-- ---- the terminal -------------------------------------------------------------------------------

local Progress = {}
Progress.__index = Progress

local function duration(s)
  if s < 100 then return ("%.1f s"):format(s) end
  if s < 6000 then return ("%d:%02d"):format(math.floor(s / 60), math.floor(s % 60)) end
  return ("%d:%02d h"):format(math.floor(s / 3600), math.floor(s / 60) % 60)
end

--- Lines about a run of `total` iterations (math.huge: unknown). On a terminal one line, written
--- over; else a line for each twentieth of the run and every ten seconds.
function record.progress(total, quiet)
  local terminal = not quiet and os.execute "test -t 1"
  return setmetatable({ total = total, quiet = quiet, terminal = terminal == true or terminal == 0,
    shown = -1 / 0,
    width = 0, part = math.max(1, math.ceil(math.min(total, 1e9) / 20)), next = 0 }, Progress)
end

local function described(row, total, evaluation)
  local of = total < math.huge and "/" .. total or ""
  local text = ("iteration %d%s  return %.1f  episodes %d  steps %d  %.0f steps/s  %s")
    :format(row.iteration, of, row["return"], row.episodes, row.steps, row.steps_per_second,
      duration(row.seconds))
  return evaluation and text .. ("  evaluation %.1f"):format(evaluation) or text
end

--- Shows a row if it is time to.
function Progress:row(row)
  if self.quiet then return end
  if row.evaluation == row.evaluation then self.evaluation = row.evaluation end
  local now, text = logger.clock(), described(row, self.total, self.evaluation)
  self.last = text
  if self.terminal then
    if now - self.shown < 0.1 then return end
    local left = self.total - row.iteration - 1
    if left < math.huge then
      text = text .. ", " .. duration(row.seconds / (row.iteration + 1) * left) .. " to go"
    end
    io.stdout:write("\r", text, (" "):rep(self.width - #text))
    self.width, self.shown = #text, now
  elseif row.iteration >= self.next or now - self.shown >= 10 then
    io.stdout:write(text, "\n")
    self.next = (math.floor(row.iteration / self.part) + 1) * self.part
    self.shown, self.last = now, nil
  end
  io.stdout:flush()
end

--- The last row, if it was not shown, and a line of its own.
function Progress:close(text)
  if self.quiet then return end
  if self.terminal and self.last then
    io.stdout:write("\r", self.last, (" "):rep(self.width - #self.last), "\n")
  elseif self.last then
    io.stdout:write(self.last, "\n")
  end
  if text then io.stdout:write(text, "\n") end
  io.stdout:flush()
end

return record

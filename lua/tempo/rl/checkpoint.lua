-- Checkpoints of a run: the function's state in a file, and beside it one that says which, written
-- last and renamed into place, so that whenever a run is killed the two belong together.
local util = require "tempo.util"
local logger = require "tempo.logger"
local record = require "tempo.rl.record"

local checkpoint = {}

-- A flat object of logger.json: numbers, null (NaN), strings without escapes, lists of numbers.
local function object(line)
  local t = {}
  for key, value in line:gmatch '"([^"]*)":(%b[])' do
    t[key] = {}
    for v in value:gmatch "[^%[%],]+" do t[key][#t[key] + 1] = tonumber(v) or 0 / 0 end
  end
  for key, value in line:gsub("%b[]", ""):gmatch '"([^"]*)":("?[^,}]*)' do
    if value ~= "" then t[key] = value:match '^"(.*)"$' or tonumber(value) or 0 / 0 end
  end
  return t
end

-- The bounds as text: a run goes on with those it began with.
local function described(bounds)
  local names = {}
  for name in pairs(bounds) do names[#names + 1] = name end
  table.sort(names)
  for k, name in ipairs(names) do names[k] = ("%s=%.0f"):format(name, bounds[name]) end
  return table.concat(names, " ")
end

--- Saves f and the numbers in `now`. Returns the name of the state's file; `before` is that of the
--- checkpoint before.
function checkpoint.save(folder, f, now, bounds, before)
  local name = ("checkpoint.%d.state"):format(now.iteration)
  f:save(folder .. "/" .. name)
  now.state, now.bounds = name, described(bounds)
  record.write(folder .. "/checkpoint.json", logger.json(now) .. "\n")
  if before and before ~= name then os.remove(folder .. "/" .. before) end
  return name
end

--- Returns what the checkpoint in the folder says, and the rows before it; nil where there is none.
function checkpoint.find(folder, bounds)
  local text = util.read(folder .. "/checkpoint.json")
  if not text then return nil end
  local now, history, last = object(text), {}, -1
  if now.bounds ~= described(bounds) then
    util.fail("bound",
      "rl.train: the checkpoint in '%s' was made with %s, not %s; resume = false begins anew",
      folder,
      now.bounds, described(bounds))
  end
  for line in (util.read(folder .. "/metrics.jsonl") or ""):gmatch "[^\n]+" do
    local row = object(line)
    if line:find "}$" and row.iteration < now.iteration and row.iteration > last then
      history[#history + 1], last = row, row.iteration
    end
  end
  return now, history
end

--- Removes the checkpoint: the run is over.
function checkpoint.remove(folder, state)
  os.remove(folder .. "/checkpoint.json")
  if state then os.remove(folder .. "/" .. state) end
end

return checkpoint

-- Launches and copies on a device for one iteration of the examples that train: counts, and what keeps them up.
--   make bench-gpu ARGS="DEVICE"      (opencl; pocl builds the kernels for minutes)
local device = arg and arg[1] or "opencl"
local tempo = require "tempo"

local iterations = 3
local examples = {
  { "reinforce_cartpole", "--envs", "8", "--steps", "20" },
  { "ppo_cartpole", "--envs", "8", "--steps", "20" },
}

local why = "no such device"
for _, d in ipairs(tempo.devices()) do
  if d.device == device then why = d.missing end
end
if why then print("left out: " .. device .. ": " .. why) return end

-- What explain says at the end of a run.
local function explained(example)
  local file = assert(io.open("examples/" .. example[1] .. ".lua"))
  local text = file:read "*a"
  file:close()
  text = text:gsub("P:compile {", ("P:compile { device = %q,"):format(device))
    :gsub("\nlog:close%(%)", '\nEXPLAINED = f:explain "kernels"\nlog:close()')
  local given = { [0] = example[1], "--iterations", tostring(iterations), "--quiet", "--out", os.tmpname() .. ".d",
    table.unpack(example, 2) }
  local env = setmetatable({ arg = given, print = function() end }, { __index = _G })
  assert(load(text, "@examples/" .. example[1] .. ".lua", "t", env))()
  return env.EXPLAINED
end

for _, example in ipairs(examples) do
  local text = explained(example)
  local all, loops, rows = 0, 0, 0
  for line in text:gmatch "[^\n]+" do
    local n = tonumber(line:match ", (%d+) launches" or 0) // iterations
    if line:find "^l%w+_" then
      all = all + n
      if line:find "^loop" then loops = loops + n end
      if line:find "by rows" then rows = rows + n end
    end
  end
  local launches, copies, bytes = text:match "(%d+) launches, (%d+) copies of (%d+) bytes"
  print(("%s: %d launches an iteration, %d of loops, %d of these by rows"):format(example[1], all, loops, rows))
  print(("  all of %d iterations: %s launches, %s copies of %s bytes"):format(iterations, launches, copies, bytes))
  print("  " .. (text:match "on the host: [^\n]*" or "all leaves on the device"))
end

-- Prints what NVRTC gives kernels on an H100: "NAME REGISTERS SHARED SPILLED" for each kernel of
-- the texts that TEMPO_DUMP=kernels put into a
-- file.   luajit bench/gpu_needs.lua FILE
local device = require "spec.gpu.device"
if not device.nvrtc then
  io.stderr:write(device.why, "\n")
  os.exit(1)
end
local file = assert(io.open(arg[1]))
local all, begins, at = file:read "*a", {}, 1
file:close()
while true do                                          -- each module begins with the dialect
  local from = all:find("/* One text, two compilers", at, true)
  if not from then break end
  begins[#begins + 1], at = from, from + 1
end
for k, from in ipairs(begins) do
  local log = device.needs(all:sub(from, (begins[k + 1] or 0) - 1))
  for name, rest in log:gmatch "Compiling entry function '([%w_]+)'(.-Used [^\n]*)" do
    local registers, shared, spilled = rest:match "Used (%d+) registers",
      rest:match "(%d+) bytes smem" or 0, rest:match "(%d+) bytes spill stores" or 0
    print(("%s %s %s %s"):format(name, registers, shared, spilled))
  end
end

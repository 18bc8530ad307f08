-- Operators whose kernels choose a way by their sizes, on both devices against the processor, bit
-- by bit: sorts, sums by index, products of few rows, weights in blocks. The emulated device finds
-- threads that race; without a barrier they do.
local helper = require "spec.helper"

local function run(device, program, sizes, emulator)
  local words = device == "cuda" and helper.cuda() or ""
  return helper.lua(("spec/gpu_sizes.lua %s %s %s 2>&1"):format(program, device, sizes),
    ("TEMPO_DEVICE= TEMPO_KERNELS=leaves TEMPO_EMU=%s %s"):format(emulator or "", words))
end

local devices = {}
if helper.cuda() then devices[1] = "cuda" end
if helper.device == "opencl" and not helper.without_device "sizes on OpenCL" then
  devices[#devices + 1] = "opencl"
end

for _, device in ipairs(devices) do
  describe("on " .. device .. ", with the processor's bits:", function()
    local function agrees(program, sizes)
      local said = run(device, program, sizes):gsub("%d+ warnings? generated%.\n", "")
      assert.equal("all on the device\n", said)
    end
    it("rows are sorted, and summed up by index, part by part beyond a block's memory", function()
      agrees("sorts", "0 1 31 32 33 1023 1025 4097")
    end)
    it("weights in blocks are multiplied where they lie, in 8 bits or as they are", function()
      agrees("blocks", "1 2 3 9")
      agrees("exact", "1 4 9")
      agrees("long_blocks", "1 5")
    end)
    it("few rows are multiplied by lanes, or by columns in blocks of terms", function()
      for _, k in ipairs { 16, 129, 1025 } do agrees("thin_f32_" .. k, "1 3 15") end
      if device == "opencl" then return end
      for _, dtype in ipairs { "f64", "f16", "bf16" } do
        agrees(("thin_%s_600"):format(dtype), "1 5")
      end
    end)
  end)
end

if helper.cuda() and helper.device ~= "cuda" then
  it("threads of a long sort and of weights in blocks meet where they must", function()
    for program, sizes in pairs { sorts = "1500", long_blocks = "4" } do
      local races = 0
      for k = 1, 5 do
        local said = run("cuda", program, sizes, "deaf=" .. k)
        if said:find("race", 1, true) then races = races + 1 end
      end
      assert.is_true(races > 2, program)
    end
  end)
end

-- tempo.llm on a device against the processor: a small model in 16 bits and in blocks, a prompt and
-- tokens that follow it.
local helper = require "spec.helper"

local function run(format, device, more)
  local out = helper.lua(("spec/gpu_llm.lua %s 2>&1"):format(format),
    ("TEMPO_DEVICE=%s %s"):format(device, more or ""))
  local lines, probabilities = {}, {}
  for line in out:gsub("%d+ warnings? generated%.\n", ""):gmatch "[^\n]+" do
    lines[#lines + 1] = line
  end
  for k = 2, 5 do probabilities[k - 1] = assert(tonumber(lines[k]), out) end
  return lines[1], probabilities, out
end

local function agrees(format, device, more)
  local want, wanted = run(format, "")
  local got, list, out = run(format, device, more)
  assert.equal(want, got)
  for k, v in ipairs(wanted) do assert.near(v, list[k], 1e-5) end
  return out
end

describe("a language model on a device", function()
  it("in 16 bits, by OpenCL", function()
    if helper.without_device "tempo.llm on a device" then return end
    agrees("bf16", helper.device)
  end)
  it("in blocks, on CUDA: a token is one launch, and nothing of it is made by the host #long",
    function()
    if not helper.cuda() then return end
    local out = agrees("q4_k", "cuda", helper.cuda())
    assert.falsy(out:find "on the host")
    assert.truthy(out:find "3 launches, %d+ copies")
  end)
end)

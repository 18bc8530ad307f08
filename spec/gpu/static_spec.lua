-- What kernels take of a card that need not be here: the limits of `make gpu-static`, for examples
-- that compile soon.
local helper = require "spec.helper"
local device = require "spec.gpu.device"
if not device.nvrtc or not device.cuda then
  describe("what kernels take of a card", function()
    it("is left out: " .. (device.cuda_why or device.why), function() end)
  end)
  return
end

describe("what kernels take of a card", function()
  it("keeps to the limits: no spills, enough threads at once", function()
    local said = helper.lua ".ci/gpu/static.lua causal_attention sliding_mean; echo status $?"
    assert.truthy(said:find "| `causal_attention` | %d+ | %d+, %d+ | 0, 0 |", said)
    assert.truthy(said:find "| `sliding_mean` | %d+ | %d+, %d+ | 0, 0 |", said)
    assert.truthy(said:find "status 0%s*$", said)
  end)
end)

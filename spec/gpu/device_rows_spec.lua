-- NVRTC's code for the prelude gives the CPU's bits: PTX, written in C by ptx.lua, on watched
-- memory.
local device = require "spec.gpu.device"
local cuda, ffi = device.cuda, device.ffi

if not device.nvrtc or not cuda then
  describe("kernels of CUDA", function()
    it("are left out: " .. (device.cuda_why or device.why), function() end)
  end)
  print("left out: kernels of CUDA: " .. (device.cuda_why or device.why))
  return
end
local rows = require "spec.gpu.rows"

describe("kernels of CUDA have the CPU's bits", function()
  local host, module
  setup(function()
    device.open()
    host = rows.host()
    module = assert(device.module((device.ptx(rows.text, device.arch()))))
  end)
  for _, kernel in ipairs(rows.kernels) do
    it("of " .. kernel.name, function()
      rows.compare(host, kernel, function(k, x, y, bytes, out, n)
        local px, py, o = device.given(x, bytes), device.given(y, bytes),
          device.take(ffi.sizeof(out))
        assert.equal(0,
          device.launch(device.kernel(module, k.name), k.few and 4 or 16, 64, { px, py, o, n }))
        local status = cuda.cuMemcpyDtoH_v2(out, o, ffi.sizeof(out))
        assert.equal("", device.found())
        assert.equal(0, status)
        for _, p in ipairs { px, py, o } do assert.equal(0, cuda.cuMemFree_v2(p)) end
      end)
    end)
  end
end)

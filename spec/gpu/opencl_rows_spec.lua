-- The prelude as OpenCL C gives the CPU's bits: the texts of device_rows_spec on pocl, or any
-- device that is here.
local device = require "spec.gpu.device"
local ffi = device.ffi
local ok, why = device.open_cl()

if not ok then
  describe("kernels of OpenCL", function() it("are left out: " .. (why), function() end) end)
  print("left out: kernels of OpenCL: " .. (why))
  return
end
local rows = require "spec.gpu.rows"

describe("kernels of OpenCL have the CPU's bits", function()
  local host, program
  setup(function()
    host = rows.host()
    program = device.cl_program(rows.text)
  end)
  for _, kernel in ipairs(rows.kernels) do
    it("of " .. kernel.name, function()
      rows.compare(host, kernel, function(k, x, y, bytes, out, n)
        local px, py, o = device.cl_given(x, bytes), device.cl_given(y, bytes),
          device.cl_given(out, ffi.sizeof(out))
        device.cl_launch(program, k.name, k.few and 4 or 16, 64, { px, py, o, n })
        device.cl_read(o, out, ffi.sizeof(out))
        device.cl_drop { px, py, o }
      end)
    end)
  end
end)

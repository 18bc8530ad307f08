-- Rows sorted by a block in its memory, on the emulated device, which finds threads that race: stable, NaN last, both zeros equal.
local helper = require "spec.helper"

if not io.open("build/gpu/libcuda.so.1") then
  print "left out: sorts on the emulated device: make gpu-emulator builds it"
  return
end

describe("sorts on the emulated device", function()
  it("are those of the processor: extents that are known, that a call gives, that a block's memory does not hold", function()
    local said = helper.script([=[
      local tempo = require "tempo"
      local helper = require "spec.helper"
      for _, dtype in ipairs { "f32", "i64" } do
        local P = tempo.program()
        local t, T = P:dim "t"
        local x = P:input("x", { shape = { 3, 100 }, dtype = dtype })
        local y = P:input("y", { domain = { t }, dtype = dtype })
        local out = {}
        out.up, out.up_at = x:sort(1)
        out.down, out.down_at = x:sort(1, true)
        out.given, out.given_at = y[0 .. T]:sort(0)
        local r = helper.rng(5)
        local function number()
          local v = r(40) - 20
          if dtype == "i64" then return v end
          return v == 7 and 0 / 0 or v == 0 and (r(2) == 0 and -0.0 or 0.0) or v / 4
        end
        local cpu, device = P:compile { outputs = out }, P:compile { outputs = out, device = "cuda" }
        for _, n in ipairs { 5, 200, 1024, 1030 } do
          local inputs = { x = helper.array(helper.numbers({ 3, 100 }, number), dtype, { 3, 100 }),
            y = helper.array(helper.numbers({ n }, number), dtype, { n }) }
          local want, got = cpu(inputs, { T = n }), device(inputs, { T = n })
          for name in pairs(out) do
            local d = helper.differ(helper.plain(want[name]), helper.plain(got[name]), 0, name)
            if d then print(dtype, n, d) end
          end
        end
        print(device:explain "kernels":match "(%d+) launches, %d+ copies")
      end]=], nil, "export TEMPO_KERNELS=leaves TEMPO_CUDA=$PWD/build/gpu/libcuda.so.1; ")
    assert.equal("12\n12\n", said)
  end)
end)

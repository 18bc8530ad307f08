-- Rows sorted by a block in its memory, and sums by index over sorted indices, on the emulated
-- device, which finds threads that race: stable, NaN
-- last, both zeros equal; sums in the order of the row.
local helper = require "spec.helper"

if not helper.cuda() then
  print "left out: sorts on the emulated device: make gpu-emulator builds it"
  return
end

describe("sorts and sums by index on the emulated device", function()
  it("are those of the processor, whether or not a block's memory holds the row", function()
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
        local rows = P:input("rows", { shape = { 100 }, dtype = "i64" })
        local places = P:input("places", { shape = { 100, 6 }, dtype = "i64" })
        local at = P:input("at", { domain = { t }, dtype = "i64" })
        local base = P:input("base", { shape = { 9, 6 }, dtype = dtype })
        local z = P:input("z", { shape = { 100, 6 }, dtype = dtype })
        out.added = base:scatter_add(0, places, z)
        out.over_t = tempo.zeros({ 50 }, { dtype = dtype }):scatter_add(0, at[0 .. T], y[0 .. T])
        if dtype == "f32" then
          out.grad = tempo.grad((base:index_select(0, rows) * z):sum(), { base })[1]
        end
        local r = helper.rng(5)
        local function number()
          local v = r(40) - 20
          if dtype == "i64" then return v end
          return v == 7 and 0 / 0 or v == 0 and (r(2) == 0 and -0.0 or 0.0) or v / 4
        end
        local cpu = P:compile { outputs = out }
        local device = P:compile { outputs = out, device = "cuda" }
        local function array(of, shape, as)
          return helper.array(helper.numbers(shape, of), as or dtype, shape)
        end
        local inputs
        for _, n in ipairs { 5, 200, 1024, 1030 } do
          local function any() return dtype == "i64" and r(9) or r() end
          local function few() return r(5) end
          inputs = { x = array(number, { 3, 100 }), y = array(number, { n }),
            z = array(any, { 100, 6 }), base = array(few, { 9, 6 }) }
          for name, of in pairs { rows = { 9, 100 }, places = { 9, 100, 6 }, at = { 50, n } } do
            local most = table.remove(of, 1)
            inputs[name] = array(function() return r(most) end, of, "i64")
          end
          local want, got = cpu(inputs, { T = n }), device(inputs, { T = n })
          for name in pairs(out) do
            local d = helper.differ(helper.plain(want[name]), helper.plain(got[name]), 0, name)
            if d then print(dtype, n, d) end
          end
        end
        local wrong = { places = tempo.array(9, "i64", { 100, 6 }) }
        for name, v in pairs(inputs) do wrong[name] = wrong[name] or v end
        local _, want = pcall(cpu, wrong, { T = 1030 })
        local _, got = pcall(device, wrong, { T = 1030 })
        print(tostring(want) == tostring(got), (tostring(got):match "index 9 is outside 0 .. 8"))
        print(device:explain "kernels":match "(%d+) launches, %d+ copies")
      end]=], nil, "export TEMPO_KERNELS=leaves " .. helper.cuda() .. "; ")
    assert.equal(("true\tindex 9 is outside 0 .. 8\n%d\n"):rep(2):format(40, 30), said)
  end)
end)

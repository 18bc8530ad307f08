-- Programs of which nothing has to stay on the host (whole.lua): ends by data, first values that
-- were loaded, NaN that is looked for, products of many terms in the host's order. Results, errors
-- and states are the interpreter's, to the bit; on the tests' own libcuda, whose watch finds
-- threads that read each other, and on OpenCL.
local helper = require "spec.helper"

local devices = helper.devices "programs that run whole on a device"

-- Its lines about results; launches, copies; what runs where.
local function run(device, program, words)
  local out = helper.lua(("spec/gpu/whole.lua %s %s 2>&1"):format(device, program), nil,
    ("export NONE= %s %s; "):format(devices[device] or "", words or ""))
  assert.falsy(out:find("race,", 1, true), out)
  local launches, copies = out:match "counts\t(%d+)\t(%d+)"
  local kernels = out:match "kernels\t([^\n]*)"
  return out:gsub("counts\t[^\n]*\n", ""):gsub("kernels\t[^\n]*\n", ""), tonumber(launches),
    tonumber(copies), kernels
end

-- only: the device, if it is not each. What the interpreter says, and what runs where on CUDA.
local function same(program, words, only)
  local want, where = run("-", program), ""
  assert.truthy(want:find "\t" and not want:find "^lua", want)
  for device in pairs(devices) do
    if device == (only or device) then
      local got, _, _, kernels = run(device, program, words)
      assert.equal(want, got)
      if device == "cuda" then where = kernels end
    end
  end
  return want, where
end

describe("on a device, ends by data", function()
  it("are found by kernels: rows that end by themselves, at once, never; no rows, no steps",
    function()
    same "walks"
    same "once"
    same "never"
  end)

  it("end loops that are launched in pieces", function()
    same("walks", "TEMPO_KERNELS=all TEMPO_PIECE=3", "cuda")
    same("never", "TEMPO_KERNELS=apart TEMPO_PIECE=1", "cuda")
    same("once", "TEMPO_KERNELS=leaves", "cuda")
    same("once", "TEMPO_KERNELS=apart TEMPO_PIECE=1", "opencl")
  end)

  it("are known where a fault is told", function()
    assert.truthy(same "fails":find("floordiv at b = 1, t = 1: integer division by zero", 1, true))
  end)

  it("go with a state to the processor and back", function() same "states" end)

  it("cost an iteration two launches and no copy, with a first value that was loaded", function()
    same "looked 5"
    if not devices.cuda then return end
    local _, few, copied = run("cuda", "looked 5")
    local _, many, later = run("cuda", "looked 6")
    assert.same({ 2, 0 }, { many - few, later - copied })
  end)
end)

describe("on a device, check = \"nan\"", function()
  local said_of = { [0] = "mul('p' = ", "log(", "sum(", "sum(", "matmul(", "mul('p' = " }
  for wrong, what in pairs(said_of) do
    it("names the operator, the point and the numbers of " .. what .. " ..)", function()
      local said, where = same("nan " .. wrong)
      assert.truthy(said:find(what, 1, true), said)
      assert.falsy(where:find("on the host", 1, true), where)
    end)
  end
end)

describe("on a device, points that share an element", function()
  it("leave it the value of the last", function() same "held" same("held", "TEMPO_KERNELS=all") end)
end)

describe("on a device, reproducible products", function()
  it("of more than 128 terms have the host's bits", function() same "products" end)
end)

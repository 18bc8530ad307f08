-- How many kernels a program launches, and that their threads meet where they must and nowhere
-- else: on the tests' own libcuda, whose watch calls a race by name.
local helper = require "spec.helper"
local device = require "spec.gpu.device"
if not device.nvrtc or not device.cuda then
  describe("launches", function()
    it("are left out: " .. (device.cuda_why or device.why), function() end)
  end)
  return
end

-- Results by name, lists of texts of numbers; what runs where; all that was said.
local function run(program, rows, steps, more, emulator)
  local words = ("TEMPO_CUDA=%s TEMPO_DEVICE= TEMPO_PIECE=1000000 TEMPO_EMU=%s "):format(
    device.emulator, emulator or "")
  local out = helper.lua(("spec/gpu_rows.lua %s %d %d %s"):format(program, rows, steps, more or ""),
    words)
  local got = {}
  for name, line in out:gmatch "(%w+) ([^\n]+)" do
    local list = {}
    for v in line:gmatch "%S+" do list[#list + 1] = v end
    if name ~= "kernels" then got[name] = list end
  end
  return got, out:match "kernels ([^\n]*)" or "", out
end

local function launches(text) return tonumber(text:match "(%d+) launches, %d+ copies") end

-- Values of the interpreter and of the device.
local function both(program, rows, steps, more)
  local got, text, out = run("cuda " .. program, rows, steps, more)
  assert.falsy(out:find "race", out)
  return run("- " .. program, rows, steps, more), got, text
end

describe("kernels of a program", function()
  it("are two in an iteration of small leaves, before and after the host looks at the loss",
    function()
    local want, got, few = both("adam", 70, 9)
    assert.same(want, got)
    local _, _, many = both("adam", 70, 19)
    assert.equal(20, launches(many) - launches(few))
  end)

  it("sum up over rows in a place for each block, which a second kernel joins", function()
    local want, got, text = both("sums", 70, 9)
    assert.same(want.up, got.up) -- integers
    for _, name in ipairs { "loss", "grad" } do
      for k, v in ipairs(want[name]) do
        assert.near(tonumber(v), tonumber(got[name][k]), math.abs(tonumber(v)) * 1e-6)
      end
    end
    assert.equal(2, select(2, text:gsub("64 blocks by rows", "")))
    assert.equal(2, select(2, text:gsub("sums of loop", "")))
    assert.equal(4, launches(text))
    want, got, text = both("sums", 70, 9, "precise")
    assert.same(want, got)
    assert.falsy(text:find "sums of loop")
  end)

  it("meet where threads read each other: without one of these barriers the watch finds a race",
    function()
    local want, got = both("crossing", 1, 3)
    assert.same(want, got)
    local races = 0
    for n = 1, 18 do
      local _, _, out = run("cuda crossing", 1, 3, "", "deaf=" .. n)
      if out:find("race", 1, true) then races = races + 1 end
    end
    assert.equal(8, races)
  end)
end)

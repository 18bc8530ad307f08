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

-- What TEMPO_KERNELS says: "apart" joins no kernels.
local kernels = ""
local function choose(value) kernels = value end

-- Results by name, lists of texts of numbers; what runs where; all that was said.
local function run(program, rows, steps, more, emulator)
  local words = ("TEMPO_CUDA=%s TEMPO_DEVICE= TEMPO_PIECE=1000000 TEMPO_EMU=%s TEMPO_KERNELS=%s ")
    :format(device.emulator, emulator or "", kernels)
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
local function both(program, rows, steps, more, emulator)
  local got, text, out = run("cuda " .. program, rows, steps, more, emulator)
  assert.falsy(out:find "race", out)
  return run("- " .. program, rows, steps, more), got, text
end

local function same(want, got, names, tolerance)
  for _, name in ipairs(names) do
    for k, v in ipairs(want[name]) do
      assert.near(tonumber(v), tonumber(got[name][k]), math.abs(tonumber(v)) * tolerance)
    end
  end
end

-- How many of the first n barriers (deaf), or meetings of all blocks (apart), the watch misses.
local function missed(kind, n, program, rows, steps, more)
  local races = 0
  for k = 1, n do
    local _, _, out = run("cuda " .. program, rows, steps, more, ("%s=%d"):format(kind, k))
    if out:find("race", 1, true) then races = races + 1 end
  end
  return races
end

describe("kernels of a program", function()
  after_each(function() choose "" end)

  it("are two in an iteration of small leaves, before and after the host looks at the loss",
    function()
    local want, got, few = both("adam", 70, 9)
    assert.same(want, got)
    local _, _, many = both("adam", 70, 19)
    assert.equal(20, launches(many) - launches(few))
  end)

  it("are two in an iteration of many updates of large leaves, however many these are", function()
    local count = {}
    for _, updates in ipairs { 3, 7 } do
      local want, got, few = both("epochs", 3000, 4, "- " .. updates)
      same(want, got, { "loss" }, 1e-5) -- sums of 3,000 products
      local _, _, many = both("epochs", 3000, 5, "- " .. updates)
      count[#count + 1] = launches(many) - launches(few)
    end
    assert.same({ 2, 2 }, count)
  end)

  it("sum up over rows in a place for each block, which a second kernel joins", function()
    choose "apart"
    local want, got, text = both("sums", 70, 9)
    assert.same(want.up, got.up) -- integers
    same(want, got, { "loss", "grad" }, 1e-6)
    assert.equal(2, select(2, text:gsub("64 blocks by rows", "")))
    assert.equal(2, select(2, text:gsub("sums of loop", "")))
    assert.equal(4, launches(text))
    want, got, text = both("sums", 70, 9, "precise")
    assert.same(want, got)
    assert.falsy(text:find "sums of loop")
  end)

  it("are one where they follow each other: its blocks meet, and no host waits between", function()
    local want, got, text = both("sums", 70, 9)
    assert.same(want.up, got.up)
    same(want, got, { "loss", "grad" }, 1e-6)
    assert.equal(1, launches(text))
    for _, words in ipairs { "seed=3", "units=1", "units=33" } do
      local _, again = both("sums", 70, 9, "", words)
      assert.same(want.up, again.up)
      same(want, again, { "loss", "grad" }, 1e-6)
    end
    want, got, text = both("crossing", 1, 3)
    assert.same(want, got)
    assert.equal(1, launches(text))
  end)

  it("tell a fault in one of their parts, the first by the plan's order", function()
    local want, got = both("fails", 6, 8)
    assert.is_table(want.error)
    assert.same(want, got)
  end)

  it("meet where threads read each other: without one of these barriers the watch finds a race",
    function()
    choose "apart"
    local want, got = both("crossing", 1, 3)
    assert.same(want, got)
    assert.equal(9, missed("deaf", 18, "crossing", 1, 3))
  end)

  it("have four neighbours a thread where windows begin at multiples of four", function()
    for program, some in pairs { fours = true, odd = false } do
      local want, got = both(program, 5, 4)
      assert.same(want, got)
      choose "leaves"
      want, got = both(program, 5, 4)
      assert.same(want, got)
      choose ""
      local text = helper.lua(("spec/gpu_rows.lua cuda %s 5 4"):format(program),
        ("TEMPO_CUDA=%s TEMPO_DEVICE= TEMPO_DUMP=kernels TEMPO_CACHE= TEMPO_KERNELS=leaves ")
          :format(device.emulator))
      for _, d in ipairs { "bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64" } do
        assert.equal(some, text:find("= *(GLOBAL const tp_four_" .. d, 1, true) ~= nil, d)
        assert.equal(some, text:find("*(GLOBAL tp_four_" .. d .. " *)&", 1, true) ~= nil, d)
      end
    end
  end)

  it("meet in all blocks where parts read each other: without one meeting there is a race",
    function()
    -- between others only one block has points
    assert.equal(7, missed("apart", 10, "epochs", 3000, 2, "- 2"))
    assert.equal(4, missed("apart", 5, "sums", 70, 9))
  end)
end)

-- Loops by rows: each block of a device has a share of the batch for the whole loop. They give the
-- interpreter's bits.
local helper = require "spec.helper"

local why = helper.without_device "loops by rows on devices"
if why then
  describe("loops by rows", function() pending(why) end)
  return
end

local function run(device, program, rows, steps, environment)
  local out = helper.lua(("spec/gpu_rows.lua %s %s %d %d"):format(device, program, rows, steps),
    environment)
  local lines = {}
  for line in out:gmatch "[^\n]+" do
    if not line:find "^kernels " then lines[#lines + 1] = line end
  end
  table.sort(lines)
  return table.concat(lines, "\n"), out:match "kernels ([^\n]*)" or ""
end

-- Is it equal? Gives what runs where, with TEMPO_KERNELS=all.
local function kernels(program, rows, steps, environment)
  local got, text = run(helper.device, program, rows, steps,
    "TEMPO_KERNELS=all " .. (environment or ""))
  assert.equal(run("-", program, rows, steps), got)
  return text
end

describe("loops by rows", function()
  it("have a block for each row, with memory of its own for what it makes on the way", function()
    local text = kernels("forwards", 5, 7)
    assert.truthy(text:find("loop %d+%.%.%d+, 1 launches, [^;]*5 blocks by rows"), text)
    assert.truthy(text:find "; 2 launches, ", text)
  end)
  it("share more rows than there are blocks, in pieces over tiles", function()
    local text = kernels("forwards", 37, 130, "TEMPO_PIECE=2")
    assert.truthy(text:find("loop %d+%.%.%d+, 2 launches, [^;]* blocks by rows"), text)
  end)
  it("fold long rows by the threads of one block", function()
    local text = kernels("folds", 5, 7)
    assert.truthy(text:find "5 blocks by rows", text)
  end)
  it("go backwards", function()
    local text = kernels("backwards", 5, 9, "TEMPO_PIECE=1")
    assert.truthy(text:find "5 blocks by rows", text)
  end)
  it("are none for one row, or where a step needs all rows of the step before", function()
    assert.falsy(kernels("forwards", 1, 7):find "by rows")
    assert.falsy(kernels("together", 5, 7):find "by rows")
  end)
  it("tell the fault that is first", function()
    local text = run(helper.device, "fails", 5, 7, "TEMPO_KERNELS=all")
    assert.truthy(text:find("b = 3, t = 4: index 3 is outside 0 .. 2", 1, true), text)
  end)
end)

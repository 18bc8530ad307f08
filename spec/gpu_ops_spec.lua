-- Operators along axes as kernels: a device gives the interpreter's bits, or stays within the
-- tolerance of products.
local helper = require "spec.helper"

local why = helper.without_device "operators on devices"
if why then
  describe("kernels of operators", function() pending(why) end)
  return
end

-- By output: its numbers. Also what runs where.
local function run(device, kernels, what)
  local out = helper.lua(("spec/gpu_ops.lua %s %s"):format(device, what),
    "TEMPO_KERNELS=" .. kernels)
  local got = {}
  for name, line in out:gmatch "([^\n ]+) ([^\n]+)" do
    got[name] = {}
    for word in line:gmatch "%S+" do table.insert(got[name], word) end
  end
  return got, out
end

local function compare(what, kernels, tol)
  local want, text = run("-", kernels, what)
  local got, out = run(helper.device, kernels, what)
  assert.truthy(next(want), text)
  assert.truthy(got.kernels, out)
  local host = table.concat(got.kernels, " "):match "on the host: ([^;]*)" or ""
  assert.equal("", (host:gsub("%d+ this constant,? ?", "")))
  for name, list in pairs(want) do
    assert.equal(#list, #(got[name] or {}), name .. ": " .. out)
    for i, word in ipairs(list) do
      local other, d = got[name][i], tol and tol[name:match "_([^_]+)$"]
      local near = other == word or d and math.abs(word - other) <= d * (1 + math.abs(word))
      if not near then error(("%s at %d: %s, not %s"):format(name, i, other, word)) end
    end
  end
end

local loose = { f32 = 2e-6, f64 = 4e-15, f16 = 4e-3, bf16 = 3e-2 }
describe("kernels of operators", function()
  for what, tol in pairs {
    ["scans f32 f64 bf16 i32"] = false, ["sorts f32 i32"] = false, ["sums f32 f64 f16"] = false,
    ["folds f32 i32"] = false, ["moves f32"] = loose, ["products f32 f64 bf16"] = loose,
  } do
    it("by themselves: " .. what, function() compare(what, "leaves", tol) end)
  end
  it("in loops", function() compare("sums f16", "all") end)
  it("end runs as the host does", function()
    local _, out = run(helper.device, "leaves", "faults")
    assert.truthy(out:find("'sums' at t = 0: index 9 is outside 0 .. 3", 1, true), out)
  end)
end)

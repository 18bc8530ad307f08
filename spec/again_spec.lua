-- Two compilations of one program have the same plan, whatever was recorded and compiled in
-- between, so a state of one goes on in the other.
local helper = require "spec.helper"
local generate = require "spec.fuzz.generate"

local function plan(case, tick)
  return case.P:compile({ outputs = case.outputs, tier = "interpreter",
    tick = tick }):explain "plan"
end

-- The first dim of the first output that has one.
local function tick_of(case)
  local names = {}
  for name in pairs(case.outputs) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local dim = case.outputs[name]:domain()[1]
    if dim then return { dim } end
  end
end

describe("a program compiled again", function()
  setup(helper.quiet)
  teardown(helper.loud)

  for _, name in ipairs { "states_that_pass", "last_row_begun" } do
    it("has the same plan, with other bounds and symbols before it: " .. name, function()
      local case = generate.load(select(2, generate.found(name)))
      local tick = tick_of(case)
      local want, steps = plan(case), plan(case, tick)
      case.P:compile { outputs = case.outputs, tier = "interpreter", passes = "none" }
      for k = 1, 6 do case.P:bound("unused" .. k) end
      assert.equal(want, plan(case))
      assert.equal(steps, plan(case, tick))
    end)
  end
end)

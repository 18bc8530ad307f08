-- Rules of src/opt/rules.def off at random: rules(seed) gives the text of an option, half of them off, or one in eight.
local S = require "spec.support"

local names
local function read()
  names = {}
  for line in io.lines "src/opt/rules.def" do names[#names + 1] = line:match "^R%(([%w_]+)," end
  assert(#names > 50)
  return names
end

return function(seed)
  local r, off = S.rng(seed), {}
  local one_in = r(2) == 0 and 2 or 8
  for _, name in ipairs(names or read()) do
    if r(one_in) == 0 then off[#off + 1] = name .. " = false" end
  end
  return "passes = { " .. table.concat(off, ", ") .. " }"
end

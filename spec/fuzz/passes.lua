-- Passes off at random: passes(seed) gives the text of an option, each pass that may be left out with one chance in four.
local S = require "spec.support"

local names
local function read()
  names = {}
  for line in io.lines "src/rt/passes.def" do names[#names + 1] = line:match "^P%([%w_]+,%s*\"([%w_]+)\".-%sON," end
  assert(#names > 10)
  return names
end

return function(seed)
  local r, off = S.rng(seed), {}
  for _, name in ipairs(names or read()) do
    if r(4) == 0 then off[#off + 1] = name .. " = false" end
  end
  return "passes = { " .. table.concat(off, ", ") .. " }"
end

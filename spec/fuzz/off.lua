-- Passes and rules off at random, by the lists of the sources: off.passes(seed) and off.rules(seed)
-- give the text of an option.
local helper = require "spec.helper"

local function reader(path, pattern, least)
  local names
  return function()
    if names then return names end
    names = {}
    for line in io.lines(path) do names[#names + 1] = line:match(pattern) end
    assert(#names > least)
    return names
  end
end
-- that may be left out
local passes = reader("src/rt/passes.def", "^P%([%w_]+,%s*\"([%w_]+)\".-%sON[ ,]", 10)
local rules = reader("src/opt/rules/rules.def", "^R%(([%w_]+),", 20)

local function text_of(names, r, one_in)
  local off = {}
  for _, name in ipairs(names) do
    if r(one_in) == 0 then off[#off + 1] = name .. " = false" end
  end
  return "passes = { " .. table.concat(off, ", ") .. " }"
end

local off = {}
function off.passes(seed) return text_of(passes(), helper.rng(seed), 4) end

function off.rules(seed)
  local r = helper.rng(seed)
  return text_of(rules(), r, r(2) == 0 and 2 or 8)
end
return off

-- The rows of methods.def, read from its text: name, kinds, sig, shape, dtype, grad ("D" or "N"), ulp, doc. A list that is also keyed by name.
local file = assert(io.open "src/graph/methods.def")
local text = file:read "*a"
file:close()

local str = '"([^"]*)",%s*'
local row = "\nM%(" .. str .. str .. str .. "([%w_]+),%s*" .. str .. str .. "([DN]),%s*([%d.]+),%s*\"(.-)\"%)\n"

local rows = {}
local from = 1
while true do
  local first, last, name, kinds, sig, _, shape, dtype, grad, ulp, doc = text:find(row, from)
  if not first then break end
  rows[#rows + 1] = { name = name, kinds = kinds, sig = sig, shape = shape, dtype = dtype, grad = grad, ulp = tonumber(ulp), doc = (doc:gsub('"%s*"', "")) }
  rows[name] = rows[#rows]
  from = last                                  -- the line feed belongs to the next row too
end
local _, n = text:gsub("\nM%(", "")
assert(n == #rows, "a row of methods.def has another form")
return rows

-- The rows of methods.def, read from its text: name, kinds, sig, shape, dtype, grad ("D" or "N"),
-- ulp, doc. A list that is also keyed by name.
package.path = ".ci/?.lua;" .. package.path
local rows = require "docs.rows".methods ""
for _, row in ipairs(rows) do
  row.grad = row.differentiable and "D" or "N"
  rows[row.name] = row
end
return rows

-- `lua5.4 .ci/tuning.lua`: the constants of src/base/tuning.def: what each is, and what was measured.
package.path = (debug.getinfo(1, "S").source:match "^@(.*)tuning%.lua$" or ".ci/") .. "?.lua;" .. package.path
local group
for _, row in ipairs(require "docs.rows".read("src/base/tuning.def", "T")) do
  if row.group ~= group then print((group and "\n" or "") .. row.group) end
  group = row.group
  local measured = row[4] or "chosen"
  print(("  %-16s %8d  %s\n  %26s(%s)"):format(row[1], load("return " .. row[2])(), row[3], "", measured))
end

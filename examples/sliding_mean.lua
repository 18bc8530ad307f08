-- Prints the mean of the last 1, 3 and 100 of ten numbers: one compilation for every window, a
-- bound, and every length.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim("t", "T")
local w = P:bound "w"
local x = P:input("x", { domain = { t } })
local mean = x[tempo.max(0, t - w + 1) .. t + 1]:mean(0)

local f = P:compile { outputs = { mean = mean } }

local row = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }
for _, width in ipairs { 1, 3, 100 } do
  local cells = {}
  for k, v in ipairs(f({ x = row }, { T = #row, w = width }).mean:totable()) do
    cells[k] = string.format("%.4g", v)
  end
  print(string.format("w = %3d:", width), table.concat(cells, " "))
end

--- Windows: a shape that grows, then stays, and a bound that is no dimension.
local tempo = require "tempo"

local P = tempo.program()
local t = P:dim "t"
local w = P:bound "w"                       -- the window's width, given at the call
local x = P:input("x", { domain = { t } })

local window = x[tempo.max(0, t - w + 1) .. t + 1]
print("shape", window:shape()[1])

local f = P:compile { outputs = { mean = window:mean(0), largest = window:max(0) } }
for width = 1, 3 do
  local out = f({ x = { 1, 5, 2, 8, 3 } }, { T = 5, w = width })
  print(width, out.mean, out.largest)
end

-- More dims than a domain may have.
local tempo = require "tempo"
local P = tempo.program()
local x
for k = 1, 32 do
  local d = P:dim("d" .. k)
  x = x and x + d:value() or d:value() -- here
end
P:compile { outputs = { x = x } }

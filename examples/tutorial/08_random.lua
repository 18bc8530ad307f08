--- Randomness: the same numbers every time, whatever else the program does.
local tempo = require "tempo"

local function walk(seed, noise)
  local P = tempo.program { seed = seed }
  local t = P:dim "t"
  local other = noise and tempo.normal({}, { domain = { t }, name = "other" })
  local step = tempo.bernoulli({}, { domain = { t }, name = "step" }) * 2 - 1
  local at = P:tensor { domain = { t }, first = 0 }
  at[t] = at[t - 1] + step
  return P:compile { outputs = { at = at, other = other or nil } }
end

print(walk(1)({}, { T = 12 }).at)
print(walk(1, true)({}, { T = 12 }).at)                 -- another draw beside it changes nothing
print(walk(1)({}, { T = 6 }).at)                        -- nor does the length
print(walk(1)({}, { T = 12 }, { seed = 2 }).at)         -- another seed does

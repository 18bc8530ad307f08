--- examples/rl/ppo.lua's program until the last rows have a mean return of 475: prints what it
--- reached.
--     lua5.4 bench/common/to_475.lua SEED
local tempo = require "tempo"
local rl = tempo.rl
local train, seed = rl.train, arg[1]
local reached
function rl.train(P, env, o)
  o.stop, o.out = { at = 475, window = 10 }, nil
  local _, history = train(P, env, o)
  local sum, n = 0, 0
  for k = math.max(1, #history - 9), #history do sum, n = sum + history[k]["return"], n + 1 end
  reached = sum / n
  return _, history
end
rawset(_G, "arg",
  { [0] = "examples/rl/ppo.lua", "--seed", seed, "--iterations", "1000", "--quiet" })
dofile "examples/rl/ppo.lua"
print("reached " .. reached)

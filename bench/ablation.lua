-- What each pass is worth: REINFORCE, PPO's minibatch updates and a hidden Markov model, each with all passes and with
-- one of them left out, in processes of their own, pinned to the same one core, in turn; tier native.
--   ablation-<program>-<pass>   the time without the pass over that with all
--   lua5.4 bench/ablation.lua [--programs hmm,ppo] [--passes fuse,tile] [--rounds 3]
-- Times are of the wall, the best of all. A program that is not compiled without a pass is said to be.
package.path = "./?.lua;" .. package.path
local tempo = require "tempo"
local known = { programs = "reinforce,ppo,hmm", passes = "", rounds = 3 }
local opt = require "tempo.cli"(arg, known, "lua5.4 bench/ablation.lua")
local sides = require "bench.common.sides"

local function run(what) return ("%s %s"):format(arg[-1], what) end

-- Nanoseconds, with these passes.
local programs = {
  reinforce = function(passes)
    return sides.cartpole("native TEMPO_PASSES=" .. passes, 6, 32)
  end,
}
local function printed(what)
  return function(passes)
    local command = "%senv TEMPO_TIER=native TEMPO_PASSES=%s %s 2>/dev/null"
    local text = sides.output(command:format(sides.PIN, passes, run(what)))
    return tonumber(text:match "(%S+) %S+%s*$")
  end
end
programs.ppo = printed "bench/layout.lua --run ppo 4"
programs.hmm = printed "bench/native.lua --run hmm 20000"

-- Those that `passes =` switches.
local function switched()
  local P, names = tempo.program(), {}
  local text = P:compile { outputs = { x = P:constant(1) }, tier = "interpreter" }:explain "passes"
  for name in text:gmatch "(%l+) +on " do names[#names + 1] = name end
  return names
end

local passes = switched()
if opt.passes ~= "" then
  passes = {}
  for name in opt.passes:gmatch "[^,]+" do passes[#passes + 1] = name end
end

for program in opt.programs:gmatch "[^,]+" do
  local measure, all, without = programs[program], math.huge, {}
  for _ = 1, opt.rounds do
    all = math.min(all, measure "all")
    for _, name in ipairs(passes) do
      local ok, t = pcall(measure, name .. "=false")
      if ok and t then without[name] = math.min(without[name] or t, t) end
    end
  end
  for _, name in ipairs(passes) do
    if without[name] then
      local line = "RATIO ablation-%s-%s %.3g (%.4g vs %.4g ns)"
      print(line:format(program, name, without[name] / all, without[name], all))
    else
      print(("ablation-%s-%s is not compiled without"):format(program, name))
    end
  end
end

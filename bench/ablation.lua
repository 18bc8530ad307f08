-- Measures the worth of each pass: REINFORCE, PPO's minibatch updates and a hidden Markov model,
-- with all passes and with one of them left out, in processes of their own, pinned to the same one
-- core, in turn; tier native.
--   ablation-<program>-<pass>   the time without the pass over that with all; 1 where both have the
--   same plan, which
--                               is said and takes no time
--   lua5.4 bench/ablation.lua [--rows ablation-hmm,ablation-ppo-fuse] [--rounds 2]
-- Times are of the wall, the best of all. A program that is not compiled without a pass is said to
-- be, and what a program computes is the same with and without.
local tempo = require "tempo"
local sides = require "bench.common.sides"
local opt = require "tempo.cli"(arg, { rows = "", rounds = 2 }, "lua5.4 bench/ablation.lua")
local wanted = sides.rows(opt.rows)

-- Each, with what is set before it: nanoseconds, and a number of its result where there is one.
-- brief: as little of it as has the same plan.
local programs, brief = {}, {}
function programs.reinforce(set) return sides.cartpole("native " .. set, 6, 32) end
local reinforce = " examples/reinforce_cartpole.lua --iterations 1 --envs 32 --out "
function brief.reinforce(folder) return arg[-1] .. reinforce .. folder end

local function printing(what, n, few)
  local command = "%senv TEMPO_TIER=native %s %s " .. what .. " " .. n .. " 2>/dev/null"
  local function run(set)
    local t, said = sides.output(command:format(sides.PIN, set, arg[-1])):match "(%S+) (%S+)%s*$"
    return tonumber(t), tonumber(said)
  end
  return run, function() return arg[-1] .. " " .. what .. " " .. few end
end
programs.ppo, brief.ppo = printing("bench/layout.lua --run ppo", 4, 1)
programs.hmm, brief.hmm = printing("bench/native.lua --run hmm", 20000, 10)

-- The plans that a program makes; nil: it is not compiled.
local function plans(program, set)
  local text
  sides.with_folder(function(folder)
    local command =
      "env TEMPO_TIER=interpreter TEMPO_DUMP=plan %s %s 2>&1 >/dev/null && echo compiled"
    text = sides.output(command:format(set, brief[program](folder)))
  end)
  return text:match "^(.*)compiled\n$"
end

-- Those that `passes =` switches.
local function switched()
  local P, names = tempo.program(), {}
  local text = P:compile { outputs = { x = P:constant(1) }, tier = "interpreter" }:explain "passes"
  for name in text:gmatch "(%l+) +on " do names[#names + 1] = name end
  return names
end

local function without(pass) return "TEMPO_PASSES=" .. pass .. "=false" end

for _, program in ipairs { "reinforce", "ppo", "hmm" } do
  local whole, rows = nil, {}
  for _, pass in ipairs(switched()) do
    local name = ("ablation-%s-%s"):format(program, pass)
    if wanted(name) then
      whole = whole or assert(plans(program, ""), program .. " is not compiled")
      local plan = plans(program, without(pass))
      if not plan then
        print(name .. " is not compiled without")
      elseif plan == whole then
        print(("RATIO %s 1 (the same plan)"):format(name))
      else
        rows[#rows + 1] = { name = name, set = without(pass), best = math.huge }
      end
      io.stdout:flush()
    end
  end
  local all = math.huge
  for _ = 1, opt.rounds do
    for _, row in ipairs(rows) do
      local t, number = programs[program] ""
      all = math.min(all, t)
      local less, said = programs[program](row.set)
      row.best = math.min(row.best, less)
      assert(not number or math.abs(said - number) <= 1e-3 * math.abs(number),
        row.name .. ": another number")
    end
  end
  for _, row in ipairs(rows) do
    print(("RATIO %s %.3g (%.4g vs %.4g ns)"):format(row.name, row.best / all, row.best, all))
  end
end

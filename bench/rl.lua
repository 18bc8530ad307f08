-- Wall seconds from the start of a process to a return of 475 on CartPole-v1, compiling included:
-- PPO as examples/rl/ppo.lua has it, against PureJaxRL's (whole updates in one jit, here in calls
-- of ten) and CleanRL's (PyTorch, Gymnasium's vector of environments), each with the settings that
-- it ships with. Each side stops once the last 20 episodes that ended have a mean return of 475.
-- Cold: with an empty cache; warm: what an earlier process compiled is there (JAX too). The median
-- of the seeds; one core each, in turn.
--
--   lua5.4 bench/rl.lua [--seeds 3] [--torch yes|no]
local sides = dofile "bench/common/sides.lua"
local opt = require "tempo.cli"(arg, { seeds = 3, torch = "yes" }, "lua5.4 bench/rl.lua")

local python = sides.python "jax,torch,gymnasium"
if not python then
  print "left out: no python with jax, torch and gymnasium (bench/setup, then pip install gymnasium)"
  os.exit(2)
end

-- Seconds of the command, which prints the mean return it reached last.
local function seconds(command)
  local clock = require "tempo.logger".clock
  local from = clock()
  local text = sides.output(sides.PIN .. command .. " 2>&1")
  local took = clock() - from
  local reached = tonumber(text:match "reached ([%d.]+)")
  if not reached or reached < 475 then error(command .. " did not reach 475:\n" .. text) end
  return took
end

local function median(command)
  local all = {}
  for seed = 1, opt.seeds do all[seed] = seconds(command:gsub("SEED", seed)) end
  table.sort(all)
  return all[(#all + 1) // 2]
end

sides.with_folder(function(folder)
  local ours = ("env TEMPO_CACHE=%s %s bench/common/to_475.lua SEED"):format("%s", arg[-1])
  local jax = ("env JAX_COMPILATION_CACHE_DIR=%s JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0 "
    .. "%s bench/peers/rl_peer.py jax SEED"):format("%s", python)
  local function row(name, a, b)
    print(("RATIO %s %.1f (%.2f vs %.2f s)"):format(name, b / a, a, b))
    io.stdout:flush()
  end
  local cold = {}
  for k, command in ipairs { ours, jax } do
    local all = {}
    for seed = 1, opt.seeds do
      local own = ("%s/%d-%d"):format(folder, k, seed)
      all[seed] = seconds(command:format(own):gsub("SEED", seed))
    end
    table.sort(all)
    cold[k] = all[(#all + 1) // 2]
  end
  row("to-475-cold", cold[1], cold[2])
  local warm = median(ours:format(folder .. "/1-1"))
  row("to-475-warm", warm, median(jax:format(folder .. "/2-1")))
  if opt.torch == "yes" then
    local theirs = median(python .. " bench/peers/rl_peer.py torch SEED")
    row("to-475-cold-vs-cleanrl", cold[1], theirs)
    row("to-475-warm-vs-cleanrl", warm, theirs)
  end
end)

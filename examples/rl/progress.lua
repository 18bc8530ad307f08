-- For the examples of this folder: compiles the program, runs it, and writes the mean return of the
-- episodes that ended in each stretch, one line a stretch and a row of metrics.csv.
local tempo = require "tempo"
local rl, logger = tempo.rl, require "tempo.logger"

-- The sum of rewards since each episode began, also where it began in the iteration before.
local function score(env)
  if not env.carry then return rl.episode_return(env) end
  local i, t, r = env.carry, env.time, env.reward
  local sum = env.program:tensor { domain = env.domain, shape = {} }
  local before = tempo.where(env.done, 0, sum)
  sum[{ [i] = 0, [t] = 0 }] = r:at { [i] = 0, [t] = 0 }
  sum[{ [t] = 0 }] = r:at { [t] = 0 } + before:at { [i] = i - 1, [t] = t:upper() - 1 }
  sum:otherwise(r + before:at { [t] = t - 1 })
  return sum
end

-- o: along (the dim whose points make a stretch), steps of a stretch, iterations (how many), over
-- (all other dims), bounds of these by name, only (a condition on the environments that count),
-- solved (a return at which the run may end), keep (modules whose parameters are saved), what
-- tempo.cli gave: out, quiet, tier, seed. Returns the last return.
return function(P, env, o)
  local along = o.along
  local function late(x)
    for _, d in ipairs(o.over) do x = x:at({ [d] = tempo.range(0, d:upper()) }):sum(0) end
    local from = tempo.max(0, along + 1 - o.steps)
    return x:at({ [along] = tempo.range(from, along + 1) }):sum(0)
  end
  local done = env.done:to "f32"
  if o.only then done = done * o.only:value() end
  local episodes, returns = late(done), late(score(env) * done)
  local log = logger.csv(o.out .. "/metrics.csv", { "step", "return", "episodes", "seconds" })
  local f, start, last
  P:sink({ returns, episodes }, function(arrays, point)
    local step, n = point[along:name()] + 1, arrays[2]:item()
    if step % o.steps ~= 0 then return end
    last = arrays[1]:item() / math.max(1, n)
    log:row { step, last, n, logger.clock() - start }
    if not o.quiet then
      print(("step %7d  return %8.2f of %4d episodes  %6.1f s"):format(step, last, n,
        logger.clock() - start))
      io.stdout:flush()
    end
    if n > 0 and o.solved and last >= o.solved then f:cancel() end
  end)
  start = logger.clock()
  f = P:compile { tier = o.tier }
  local bounds = { [along:upper():name()] = o.steps * o.iterations }
  for name, n in pairs(o.bounds) do bounds[name] = n end
  local ok, e = pcall(f, {}, bounds)
  log:close()
  if not ok then error(e, 0) end
  tempo.save(o.out .. "/params.npz", f:params { of = o.keep })
  print(("seed %d: return %.2f, %.1f s"):format(o.seed, last or 0, logger.clock() - start))
  return last
end

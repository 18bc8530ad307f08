-- For the examples of this folder: compiles the program, runs it, and writes the mean return of the
-- episodes that ended in each stretch of steps, one line a stretch and a row of metrics.csv.
local tempo = require "tempo"
local rl, logger = tempo.rl, require "tempo.logger"

-- Sums x over the dims in `over`.
local function total(x, over)
  for _, d in ipairs(over) do x = x:at({ [d] = tempo.range(0, d:upper()) }):sum(0) end
  return x
end

-- o: time, over (environments), steps of a stretch, iterations (how many of them), bounds, solved (a
-- return at which the run may end), keep (modules whose parameters are saved), and what tempo.cli
-- gave: out, quiet, tier, seed. Returns the last mean return.
return function(P, env, o)
  local t = o.time
  local done = env.done:to "f32"
  local function late(x)
    return total(x, o.over):at({ [t] = tempo.range(tempo.max(0, t + 1 - o.steps), t + 1) }):sum(0)
  end
  local episodes, returns = late(done), late(rl.episode_return(env) * done)
  local log = logger.csv(o.out .. "/metrics.csv", { "step", "return", "episodes", "seconds" })
  local f, start, last
  P:sink({ returns, episodes }, function(arrays, point)
    if (point.t + 1) % o.steps ~= 0 then return end
    local n = arrays[2]:item()
    last = arrays[1]:item() / math.max(1, n)
    log:row { point.t + 1, last, n, logger.clock() - start }
    if not o.quiet then
      print(("step %7d  return %8.1f of %4d episodes  %6.1f s"):format(point.t + 1, last, n,
        logger.clock() - start))
      io.stdout:flush()
    end
    if n > 0 and o.solved and last >= o.solved then f:cancel() end
  end)
  start = logger.clock()
  f = P:compile { tier = o.tier }
  local bounds = { [t:upper():name()] = o.steps * o.iterations }
  for _, d in ipairs(o.over) do bounds[d:upper():name()] = o.envs end
  local ok, e = pcall(f, {}, bounds)
  log:close()
  if not ok then error(e, 0) end
  tempo.save(o.out .. "/params.npz", f:params { of = o.keep })
  print(("seed %d: return %.1f, %.1f s"):format(o.seed, last or 0, logger.clock() - start))
  return last
end

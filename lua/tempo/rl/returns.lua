-- Returns and advantages, written in the language. They are targets, so all of them are detached.
local tempo = require "tempo"
local util = require "tempo.util"

local rl = {}

-- Checks the trajectory and the options of the function `what`, which knows those named. Returns
-- the options.
local function arguments(what, traj, o, known)
  util.expect(what .. ": the trajectory, a table with reward, terminated, truncated and time",
    "table", traj)
  for _, key in ipairs { "reward", "terminated" } do
    util.expect(what .. ": " .. key .. " of the trajectory", "tensor", traj[key])
  end
  util.expect_options(what .. ": the trajectory", "tensor", traj, "truncated done")
  util.expect(what .. ": time of the trajectory", "dim", traj.time)
  o = util.options(what, o, known)
  util.numbers(what, o, "gamma lambda rho_clip c_clip")
  util.expect_options(what, "string", o, "name")
  util.expect_options(what, "extent", o, "n")
  return util.expect_options(what, "tensor", o, "value next_value log_ratio")
end

-- Checks that the options have those named.
local function needs(what, o, names)
  for name in names:gmatch "%S+" do
    if o[name] == nil then util.fail("option", "%s: %s is missing", what, name) end
  end
end

-- done, and what an episode's end is worth at t: 0 at a termination, else the value of next_obs (0
-- without values).
local function ends(traj, o)
  local terminated = traj.terminated
  local done = traj.done or (traj.truncated and terminated:lor(traj.truncated)) or terminated
  local after = o.next_value and tempo.where(terminated, 0, o.next_value:detach())
  return done, after
end

-- x[T-1] = last, x[t] = rest(x[t+1]).
local function backward(t, name, last, rest)
  local x = last:program():tensor { domain = last:domain(), shape = last:shape(),
    dtype = last:dtype() }
  if name then x:name(name) end
  x[{ [t] = t:upper() - 1 }] = last
  x:otherwise(rest(x:at { [t] = t + 1 }))
  return x:detach()
end

--- Monte Carlo returns (Sutton and Barto, section 5 and eq. 3.9), from the end backwards:
---     G[t] = r[t] + gamma * ( 0               if terminated[t]
---                             V(next_obs[t])  if truncated[t], or t = T-1, where the recording is
---                             cut
---                             G[t+1]          otherwise )
--- next_value is V of next_obs; without it V = 0, which is biased wherever an episode is cut. gamma
--- (1).
---@param traj tempo.rl.Trajectory
---@param o? { gamma?: number, next_value?: tempo.Tensor, name?: string }
---@return tempo.Tensor
function rl.monte_carlo(traj, o)
  o = arguments("rl.monte_carlo", traj, o, "gamma next_value name")
  local gamma, r = o.gamma or 1, traj.reward
  local done, after = ends(traj, o)
  local last = after and r + gamma * after or r + 0
  return backward(traj.time, o.name, last, function(later)
    return r + gamma * tempo.where(done, after or 0, later)
  end)
end

--- n-step returns (Sutton and Barto, eq. 7.1), from a window, so that G[t] is known at t+n-1. With
--- m = min(n, T-t) rewards in the window, c[k] = prod over j < k of (1 - done[t+j]):
---     G[t] = sum over k < m of  gamma^k c[k] ( r[t+k] + gamma done[t+k] V[t+k] )   an end in the
---     window cuts the sum
---          + gamma^m c[m] V[t+m-1]                                                 none: go on
---          with the last value
--- where V[u] = 0 if terminated[u], else the value of next_obs[u]; n >= 1.
---@param traj tempo.rl.Trajectory
---@param o { n: tempo.Number, gamma?: number, next_value?: tempo.Tensor, name?: string }
---@return tempo.Tensor
function rl.n_step(traj, o)
  o = arguments("rl.n_step", traj, o, "gamma n next_value name")
  local gamma, t, n = o.gamma or 1, traj.time, o.n
  needs("rl.n_step", o, "n")
  if type(n) == "number" and (n < 1 or n ~= math.floor(n)) then
    util.fail("option", "rl.n_step: n is %g; it must be an integer, 1 or more", n)
  end
  local done, after = ends(traj, o)
  local hi = tempo.min(t + n, t:upper())
  local function window(x, lo, to) return x:at { [t] = tempo.range(lo, to) } end

  local worth = traj.reward                                 -- a reward, and what its end is worth
  if after then worth = worth + gamma * tempo.where(done, after, 0) end
  -- gamma (1 - done)
  local on = tempo.where(done, 0, tempo.full({}, gamma, { dtype = worth:dtype() }))
  -- gamma^k c[k] for k = 1 .. m-1 is the running product of `on` from t
  local g = worth + (window(on, t, hi - 1):cumprod(0) * window(worth, t + 1, hi)):sum(0)
  if after then
    g = g + window(on, t, hi):prod(0) * after:at { [t] = hi - 1 }
  end
  if o.name then g:name(o.name) end
  return g:detach()
end

--- The target of TD(0): r + gamma V(next_obs), 0 for V after a termination. Sutton and Barto, eq.
--- 6.2.
---@param traj tempo.rl.Trajectory
---@param o { next_value: tempo.Tensor, gamma?: number }
---@return tempo.Tensor
function rl.td(traj, o)
  o = arguments("rl.td", traj, o, "gamma next_value")
  needs("rl.td", o, "next_value")
  local _, after = ends(traj, o)
  return (traj.reward + (o.gamma or 1) * after):detach()
end

--- TD(lambda) returns (Sutton and Barto, section 12.1), from the end backwards:
---     G[t] = r[t] + gamma * ( 0                                            if terminated[t]
---                             V(next_obs[t])               if truncated[t], or t = T-1
---                             (1 - lambda) V(next_obs[t]) + lambda G[t+1]           otherwise )
---@param traj tempo.rl.Trajectory
---@param o { next_value: tempo.Tensor, value?: tempo.Tensor, gamma?: number, lambda?: number, name?: string }
---@return tempo.Tensor? G - V, the advantage, where value is given
---@return tempo.Tensor G, the target of the value
function rl.td_lambda(traj, o)
  o = arguments("rl.td_lambda", traj, o, "gamma lambda value next_value name")
  needs("rl.td_lambda", o, "next_value")
  local gamma, lambda, r = o.gamma or 1, o.lambda or 0.95, traj.reward
  local done, after = ends(traj, o)
  local g = backward(traj.time, o.name, r + gamma * after, function(later)
    return r + gamma * tempo.where(done, after, (1 - lambda) * after + lambda * later)
  end)
  return o.value and g - o.value:detach(), g
end

--- Generalised advantages (Schulman et al. 2016, eq. 16), from the end backwards:
---     d[t] = r[t] + gamma V(next_obs[t]) - V(obs[t]),   A[t] = d[t] + gamma lambda (0 if done[t],
---     else A[t+1])
---@param traj tempo.rl.Trajectory
---@param o { value: tempo.Tensor, next_value: tempo.Tensor, gamma?: number, lambda?: number, name?: string }
---@return tempo.Tensor A
---@return tempo.Tensor A + V, the target of the value
function rl.gae(traj, o)
  o = arguments("rl.gae", traj, o, "gamma lambda value next_value name")
  needs("rl.gae", o, "value next_value")
  local gamma, lambda, value = o.gamma or 1, o.lambda or 0.95, o.value:detach()
  local done, after = ends(traj, o)
  local d = traj.reward + gamma * after - value
  local a = backward(traj.time, o.name, d, function(later)
    return d + gamma * lambda * tempo.where(done, 0, later)
  end)
  return a, a + value
end

-- ---- of another policy's steps ------------------------------------------------------------------

-- min(clip, pi(a) / mu(a)).
local function clipped(o, clip) return o.log_ratio:detach():exp():minimum(clip or 1) end

--- V-trace (Espeholt et al. 2018, eq. 1): values of pi from steps that mu took, log_ratio[t] =
--- log pi(a[t]) - log mu(a[t]). With rho[t] = min(rho_clip, pi / mu), c[t] = lambda min(c_clip,
--- pi / mu), both clips 1 and lambda 1 unless given:
---     d[t] = rho[t] ( r[t] + gamma V(next_obs[t]) - V(obs[t]) )
---     v[t] = V(obs[t]) + d[t] + gamma c[t] (0 if done[t] or t = T-1, else v[t+1] - V(obs[t+1]))
--- where V is 0 after a termination.
---@param traj tempo.rl.Trajectory
---@param o { value: tempo.Tensor, next_value: tempo.Tensor, log_ratio: tempo.Tensor, gamma?: number, lambda?: number, rho_clip?: number, c_clip?: number, name?: string }
---@return tempo.Tensor rho[t] (r[t] + gamma v[t+1] - V(obs[t])), the weight of log pi's gradient
---@return tempo.Tensor v, the target of the value
function rl.vtrace(traj, o)
  o = arguments("rl.vtrace", traj, o,
    "gamma lambda value next_value log_ratio rho_clip c_clip name")
  needs("rl.vtrace", o, "value next_value log_ratio")
  local gamma, t, value = o.gamma or 1, traj.time, o.value:detach()
  local done, after = ends(traj, o)
  local rho, c = clipped(o, o.rho_clip), (o.lambda or 1) * clipped(o, o.c_clip)
  local error = traj.reward + gamma * after - value
  local a = backward(t, o.name, rho * error, function(later)        -- v[t] - V(obs[t])
    return rho * error + gamma * c * tempo.where(done, 0, later)
  end)
  local beyond = backward(t, nil, 0 * a, function() return a:at { [t] = t + 1 } end)
  return rho * (error + gamma * tempo.where(done, 0, beyond)), value + a
end

--- Retrace (Munos et al. 2016, eq. 4): action values of pi from steps that mu took. value is
--- Q(obs[t], a[t]), next_value the mean of Q(next_obs[t], .) under pi, log_ratio as above. With
--- c[t] = lambda min(1, pi / mu), lambda 1 unless given:
---     A[t] = r[t] + gamma next_value[t] - value[t]
---            + gamma (0 if done[t] or t = T-1, else c[t+1] A[t+1])
--- where next_value is 0 after a termination.
---@param traj tempo.rl.Trajectory
---@param o { value: tempo.Tensor, next_value: tempo.Tensor, log_ratio: tempo.Tensor, gamma?: number, lambda?: number, name?: string }
---@return tempo.Tensor A
---@return tempo.Tensor value + A, the target of Q
function rl.retrace(traj, o)
  o = arguments("rl.retrace", traj, o, "gamma lambda value next_value log_ratio name")
  needs("rl.retrace", o, "value next_value log_ratio")
  local gamma, t, value = o.gamma or 1, traj.time, o.value:detach()
  local done, after = ends(traj, o)
  local c, error = (o.lambda or 1) * clipped(o, 1), traj.reward + gamma * after - value
  local a = backward(t, o.name, error, function(later)
    return error + gamma * tempo.where(done, 0, c:at { [t] = t + 1 } * later)
  end)
  return a, value + a
end

-- ---- for logs -----------------------------------------------------------------------------------

--- The sum of rewards since the episode began, this step included: where done holds, the episode's
--- return. If the environment is carried on (`carry`), an episode that began in an iteration
--- before counts whole.
---@param traj tempo.rl.Trajectory
---@return tempo.Tensor
function rl.episode_return(traj)
  arguments("rl.episode_return", traj, nil, "")
  local t, r = traj.time, traj.reward
  local done = ends(traj, {})
  local sum = r:program():tensor { domain = r:domain(), shape = r:shape(), dtype = r:dtype() }
  local function after(at) return r + tempo.where(done:at(at), 0, sum:at(at)) end
  local i = traj.carry
  if i then
    sum[{ [t] = 0, [i] = 0 }] = r
    sum[{ [t] = 0 }] = after { [i] = i - 1, [t] = t:upper() - 1 }
  else
    sum[{ [t] = 0 }] = r
  end
  sum:otherwise(after { [t] = t - 1 })
  return sum
end

--- Adds up the returns of episodes that ended (terminated or truncated) over the dims in `over`,
--- which has time, and counts these episodes: their mean return is sum / number.
---@param traj tempo.rl.Trajectory
---@param over tempo.Index[]
---@return tempo.Tensor the sum of returns
---@return tempo.Tensor their number
---@return tempo.Tensor the mean return so far at the last step, for when none ended
function rl.episodes(traj, over)
  arguments("rl.episodes", traj, nil, "")
  for _, d in ipairs(util.sequence("rl.episodes", over, "{ b, t }")) do
    util.expect("rl.episodes: over", "dim", d)
  end
  local t, score = traj.time, rl.episode_return(traj)
  local done = ends(traj, {}):to(score:dtype())
  local all, others = {}, {}
  for _, d in ipairs(over) do
    all[d] = tempo.range(0, d:upper())
    if d ~= t then others[d] = all[d] end
  end
  local last = score:at { [t] = t:upper() - 1 }
  if next(others) then last = last:at(others) end
  return (done * score):at(all):sum(), done:at(all):sum(), last:mean()
end

return rl

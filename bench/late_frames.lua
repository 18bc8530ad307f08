-- Frames that come late, of a game at 60 frames a second with 50 characters that learn: each step
-- has 12 of 16 ms, so learning runs behind the actor; without a budget it runs when its data is
-- there. 4 epochs over a window of 32 frames, nets of 128 x 128. Then a learner whose whole
-- iteration is one tick: f:work has
-- 4 ms of each frame, and none may take a millisecond more; without it a frame takes an iteration.
--   lua5.4 bench/late_frames.lua [windows]
local tempo = require "tempo"
local nn, optim, dist = tempo.nn, tempo.optim, tempo.dist
local windows, frames, characters, ms = tonumber(arg[1]) or 12, 32, 50, 12

local P = tempo.program { seed = 1 }
local i = P:dim "i"
local k = P:dim "k"                                         -- epochs inside an iteration
local t, T = P:dim "t"
local b, B = P:dim "b"
local obs = P:input("obs", { domain = { i, t, b }, shape = { 16 } })
local reward = P:input("reward", { domain = { i, t, b } })
local function net(name, nout)
  return nn.MLP(P, { 16, 128, 128, nout },
    { name = name, activation = "tanh", along = { i, k }, init = "orthogonal" })
end
local policy, critic = net("policy", 8), net("critic", 1)
local actor = policy:at { [i] = tempo.max(i - 1, 0), [k] = 0 }
local action = dist.Categorical { logits = actor(obs) }:sample { name = "action",
  domain = { i, t, b } }
local G = P:tensor { domain = { i, t, b } }
G[{ t = T - 1 }] = 0
G:otherwise(reward[t + 1] + 0.95 * G[t + 1])
local value = critic(obs):squeeze(-1)
local loss = 0.5 * (G - value):square()
  - dist.Categorical { logits = policy(obs) }:log_prob(action) * (G - value):detach()
local params = policy:parameters()
for _, w in ipairs(critic:parameters()) do params[#params + 1] = w end
optim.Adam(params, { lr = 1e-3 }):step(loss * (1 / (B * T):value():to "f32"))
local f = P:compile { outputs = { action = action }, tick = { i, t } }

local function random(...)
  local x = 1
  local function fill(n, ...)
    if not n then
      x = x * 16807 % 2147483647
      return x / 2147483647 - 0.5
    end
    local r = {}
    for q = 1, n do r[q] = fill(...) end
    return r
  end
  return tempo.array(fill(...))
end
local values = { obs = random(characters, 16), reward = random(characters) }

-- Late frames, all frames, and the longest one, in ms.
local function play(budget)
  f:start({}, { I = math.huge, K = 4, T = frames, B = characters })
  local late, most = 0, 0
  for n = 1, windows * frames do
    -- processor time: others' is no frame of ours
    local t0 = os.clock()
    f:step(values, budget)
    local took = (os.clock() - t0) * 1e3
    if n > 3 * frames then                                  -- warm
      late = late + (took > 1000 / 60 and 1 or 0)
      most = math.max(most, took)
    end
  end
  return late, most
end

local n = (windows - 3) * frames
local ours, ours_most = play { budget_ms = ms }
local peer, peer_most = play()
print(("longest frame %.1f ms with the budget, %.1f ms without; %d frames"):format(ours_most,
  peer_most, n))
print(("RATIO late_frames %.2f (%d vs %d late frames of %d)"):format((peer + 1) / (ours + 1), ours,
  peer, n))

-- ---- a tick that is an iteration: acting in 64 copies, then 20 updates --------------------------
local Q = tempo.program { seed = 1 }
local rl = tempo.rl
local j, u, e, s = Q:dims "j u e s"                         -- iteration, update, copy, step
local function mlp(name, nout)
  return nn.MLP(Q, { 4, 64, 64, nout },
    { name = name, along = { j, u }, activation = "tanh", init = "orthogonal" })
end
local pi, judge = mlp("pi", 2), mlp("judge", 1)
local env = rl.env(Q, "CartPole-v1", { domain = { j, e, s }, time = s, carry = j })
local acts = dist.Categorical { logits = pi:at { u = 0 }(env.obs) }:sample { name = "acts" }
env:step(acts)
local now, after = judge:at { u = 0 }(env.obs):squeeze(-1),
  judge:at { u = 0 }(env.next_obs):squeeze(-1)
local gain, aim = rl.gae(env, { gamma = 0.98, lambda = 0.9, value = now, next_value = after })
local miss = (judge(env.obs):squeeze(-1) - aim):square()
  - dist.Categorical { logits = pi(env.obs) }:log_prob(acts) * gain
optim.Adam({ pi, judge }, { lr = 1e-3 }):step(miss / (e:upper() * s:upper()):value())
local iterations = 0
Q:sink({ rl.episodes(env, { e, s }) }, function() iterations = iterations + 1 end)
local g = Q:compile { tick = j }

-- Frames over 4 + 1 ms, all frames, and the longest one, in ms.
local function learn(works)
  local options, step = { budget_ms = 4 }, works and { budget_ms = 0 } or { budget_ms = 4 }
  g:start({}, { J = math.huge, U = 20, E = 64, S = 128 })
  iterations = 0
  local over, count, most = 0, 0, 0
  while iterations < windows / 3 do
    local t0 = os.clock()
    if not works or g:work(options) then g:step(nil, step) end
    local took = (os.clock() - t0) * 1e3
    count, over, most = count + 1, over + (took > 5 and 1 or 0), math.max(most, took)
  end
  return over, count, most
end

local whole, whole_frames, whole_most = learn(false)
local inside, frames_inside, inside_most = learn(true)
print(("longest frame %.1f ms with f:work, %.1f ms without; %d and %d frames for %d iterations"):format(inside_most,
  whole_most, frames_inside, whole_frames, iterations))
print(("RATIO late_inside %.2f (%.4f vs %.4f of frames late)"):format(
  (whole + 1) / whole_frames / ((inside + 1) / frames_inside), inside / frames_inside,
    whole / whole_frames))

--- GAE and PPO's loss: advantages from the end of a rollout backwards, and a loss with a clipped
--- ratio.
local tempo = require "tempo"

local P = tempo.program()
local b, B = P:dim "b"                      -- environments
local t, T = P:dim "t"                      -- steps
local function input(name, dtype) return P:input(name, { domain = { b, t }, dtype = dtype }) end
local reward, value, next_value, done = input "reward", input "value", input "next_value",
  input("done", "bool")
local gamma, lambda, clip = 0.5, 0.5, 0.2

-- d[t] = r[t] + gamma V(next) - V,   A[t] = d[t] + gamma lambda A[t+1], stopped where an episode
-- ends.
local on = 1 - done
local d = reward + gamma * on * next_value - value
local A = P:tensor { domain = { b, t } }
A[{ t = T - 1 }] = d
A:otherwise(d + gamma * lambda * on * A[{ t = t + 1 }])

-- Four actions' scores are all the policy here; in a real one they come out of a network.
local scores = P:param("scores", { shape = { 4 }, init = 0 })
local action = P:input("action", { domain = { b, t }, dtype = "i64" })
local old_log_prob = input "old_log_prob"
local log_prob = scores:log_softmax(0):select(0, action)
local ratio = (log_prob - old_log_prob):exp()
local advantage = A:detach()
local gain = (ratio * advantage):minimum(ratio:clamp(1 - clip, 1 + clip) * advantage)
local loss = -gain / (B * T):value()        -- its sum over b and t is the mean

local f = P:compile { outputs = { A = A, ratio = ratio, gradient = tempo.grad(loss, scores) } }
-- the old policy: as now, but for one action that has become likelier
local q = math.log(0.25)
local out = f({
  reward = { { 0, 0, 1 }, { 1, 1, 1 } }, done = { { false, false, true }, { false, true, false } },
  value = { { 0, 0, 0 }, { 1, 1, 1 } }, next_value = { { 0, 0, 0 }, { 1, 1, 1 } },
  action = { { 0, 1, 2 }, { 3, 3, 3 } }, old_log_prob = { { q, q, -2 }, { q, q, q } },
}, { B = 2, T = 3 })
print("advantages", out.A)
print("ratios", out.ratio)
print("gradient", out.gradient)

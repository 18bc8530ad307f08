--- Each thread of two_states.c runs this: a policy learns to bring the host's own "Homing-v0" to
--- rest at 0. `seed` and `iterations` are arguments of the chunk; it gives the mean reward of each
--- iteration back.
local seed, iterations = ...
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl

local P = tempo.program { seed = seed }
local i = P:dim "i"                                         -- iteration
local b, B = P:dim "b"                                      -- environment
local t, T = P:dim "t"                                      -- time

local env = rl.env(P, "Homing-v0", { domain = { i, b, t }, time = t })
local policy = nn.MLP(P, { 2, 16, 3 }, { name = "policy", activation = "tanh", along = { i } })
local pi = dist.Categorical { logits = policy(env.obs) }
local action = pi:sample { name = "action", domain = { i, b, t } }
env:step(action)
local G = rl.monte_carlo(env, { gamma = 0.9 })
local advantage = (G - G[{ b = 0 .. B }]:mean(0)):detach()  -- better than the others at this time
local loss = -pi:log_prob(action) * advantage * (1 / (B * T):value():to "f32")
optim.Adam(policy:parameters(), { lr = 0.03 }):step(loss)

local mean = env.reward[{ b = 0 .. B, t = 0 .. T }]:mean()
local f = P:compile { outputs = { reward = mean } }
return f({}, { I = iterations, B = 64, T = 40 }).reward:totable()

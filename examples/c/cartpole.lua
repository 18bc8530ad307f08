--- The two programs of cartpole.c as text: `lua5.4 examples/c/cartpole.lua train` prints
--- cartpole_train.sdg, `play` prints cartpole_play.sdg. Both have the parameters policy.*, so what
--- one has learnt the other plays.
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl

local what = ...
local P = tempo.program { seed = 0 }

local function policy(along)
  return nn.MLP(P, { 4, 64, 64, 2 }, { name = "policy", activation = "tanh", along = along })
end

-- REINFORCE with a critic, as ../reinforce_cartpole.lua
if what == "train" then
  local i, I = P:dim "i"                                    -- iteration
  local b, B = P:dim "b"                                    -- environment
  local t, T = P:dim "t"                                    -- time
  local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t })
  local actor = policy { i }
  local critic =
    nn.MLP(P, { 4, 64, 64, 1 }, { name = "critic", activation = "tanh", along = { i } })
  local pi = dist.Categorical { logits = actor(env.obs) }
  local action = pi:sample { name = "action", domain = { i, b, t } }
  env:step(action)
  local value, next_value = critic(env.obs):squeeze(-1), critic(env.next_obs):squeeze(-1)
  local G = rl.monte_carlo(env, { gamma = 0.99, next_value = next_value })
  local loss = 0.5 * (G - value):square() - pi:log_prob(action) * (G - value):detach()
  local params = actor:parameters()
  for _, w in ipairs(critic:parameters()) do params[#params + 1] = w end
  local rate = 0.01 * (1 - i:value() / I:value())
  optim.Adam(params, { lr = rate }):step(loss * (1 / (B * T):value():to "f32"))
  local sum, number, running = rl.episodes(env, { b, t })
  -- the host's callback "report"
  P:sink({ sum:name "report", number, running }, function() end)
  io.write(P:compile {} :explain "graph")
-- one episode, tick by tick, with the likelier action
elseif what == "play" then
  local t = P:dim "t"
  local env = rl.env(P, "CartPole-v1", { domain = { t }, time = t })
  local action = policy()(env.obs):argmax(0)
  env:step(action)
  local f = P:compile { tick = t,
    outputs = { obs = env.obs, action = action, reward = env.reward, done = env.done } }
  io.write(f:explain "graph")
else
  error "train or play?"
end

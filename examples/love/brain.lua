-- The learner: PPO on 32 copies of CartPole. One iteration is one tick, which goes on for a few
-- milliseconds of each frame; a second function acts for the game with the newest parameters.
local tempo = require "tempo"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl

local brain = { returns = {}, iteration = 0 }

local function mlp(P, name, outputs, along)
  return nn.MLP(P, { 4, 32, 32, outputs }, { name = name, along = along, activation = "tanh",
    init = "orthogonal", gain = math.sqrt(2), out_gain = name == "policy" and 0.01 or 1 })
end

local function learner(seed)
  local P = tempo.program { seed = seed }
  local i, k, b, t = P:dims "i k b t"               -- iteration, update, copy, time
  local policy, critic = mlp(P, "policy", 2, { i, k }), mlp(P, "critic", 1, { i, k })
  local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
  local actor, judge = policy:at { k = 0 }, critic:at { k = 0 }
  local old = dist.Categorical { logits = actor(env.obs) }
  local action = old:sample { name = "action" }
  env:step(action)
  local advantage, target = rl.gae(env, { gamma = 0.98, lambda = 0.8,
    value = judge(env.obs):squeeze(-1), next_value = judge(env.next_obs):squeeze(-1) })
  local new = dist.Categorical { logits = policy(env.obs) }
  local ratio = (new:log_prob(action) - old:log_prob(action):detach()):exp()
  local gain = (ratio * advantage):minimum(ratio:clamp(0.8, 1.2) * advantage)
  local miss = (critic(env.obs):squeeze(-1) - target):square()
  local n = (b:upper() * t:upper()):value()
  optim.Adam({ policy, critic }, { lr = 1e-3, clip_norm = 0.5 }):step((0.1 * miss - gain) / n)
  local sum, count = rl.episodes(env, { b, t })
  P:sink({ tempo.stack({ sum, count }, 0) }, function(arrays)
    local a = arrays[1]
    local ended = a:get(1)
    brain.iteration = brain.iteration + 1
    brain.returns[brain.iteration] = ended > 0 and a:get(0) / ended
      or brain.returns[brain.iteration - 1] or 0
  end)
  return P:compile { tick = i }, policy
end

function brain.load(path, seed)
  brain.path = path
  brain.f, brain.policy = learner(seed)
  local P = tempo.program()
  local obs = P:input("obs", { shape = { 4 } })
  local policy = nn.into(P, brain.policy)
  brain.act = P:compile { outputs = { action = policy(obs):argmax(-1) }, tier = "interpreter" }
  local there, params = pcall(tempo.load, path)
  if there then
    brain.f:load_params(params, { strict = false })
    brain.act:load_params(params, { strict = false })
  end
  brain.f:start({}, { I = math.huge, K = 10, B = 32, T = 64 })
end

local budget, step = { budget_ms = 4 }, { budget_ms = 0 }

-- Some milliseconds of learning. Between two iterations the game gets the new parameters.
function brain.learn(ms)
  budget.budget_ms = ms
  if not brain.f:work(budget) then return end
  if brain.iteration > 0 then
    brain.act:load_params(brain.f:params { of = brain.policy }, { strict = false })
  end
  brain.f:step(nil, step)
end

local seen = { obs = tempo.array { 0, 0, 0, 0 } }
function brain.action(x, v, angle, spin)
  local o = seen.obs
  o:set(x, 0):set(v, 1):set(angle, 2):set(spin, 3)
  return brain.act(seen, {}).action:item()
end

function brain.save()
  if brain.iteration == 0 then return end
  brain.f:work()                                    -- parameters of one iteration, not of two
  tempo.save(brain.path, brain.f:params())
end

return brain

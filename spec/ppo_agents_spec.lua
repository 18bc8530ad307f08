-- PPO in all combinations of memory, masks, populations and kinds of actions: the compiler's passes
-- change nothing, masked actions are never taken, members of a population are their own, and each
-- agent learns. Memories take seconds to compile, so most of this is #long; spec/rl_memory_spec.lua
-- holds memories and minibatches to plain Lua.
local tempo = require "tempo"
local helper = require "spec.helper"
local frame = require "tempo.rl.frame"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl

-- A line of five places. A step goes left or right (continuous: to the side of the action's sign),
-- not beyond the places (which mask says), and ends at place 4 with reward 1; after eight steps it
-- is cut. Without its place in sight, an agent with a memory sees where the episode began and its
-- own steps.
local function line(P, o, continuous)
  return frame.env("line", P, o, {
    start = function(domain, name)
      local x = tempo.randint({}, 0, 3, { domain = domain, name = name })
      return { x = x, n = P:constant(tempo.array(0, "i64")) + 0 * x }
    end,
    observe = function(s) return tempo.stack({ s.x, s.n }):to "f32" / 4 end,
    legal = function(s) return tempo.stack { s.x:gt(0), s.x:ge(0) } end,
    step = function(env, action)
      local right = continuous and action:select(-1, 0):gt(0):to "i64" or action
      local s = env.parts
      local after = { x = (s.x + 2 * right - 1):clamp(0, 4), n = s.n + 1 }
      local terminated = after.x:ge(4)
      local done = terminated:lor(after.n:ge(8))
      return frame.reset(env, after, done), tempo.stack({ after.x, after.n }):to "f32" / 4,
        terminated:to "f32", terminated, after.n:ge(8)
    end,
  })
end

local function policy(kind, x, legal, std)
  if kind == "continuous" then return dist.Normal(x, std) end
  return dist.Categorical { logits = legal and tempo.where(legal, x, -1e9) or x }
end

local function agent(o, lr)
  local P = tempo.program { seed = 3 }
  local s, i, e, m, b, t = P:dims "s i e m b t"
  local along, domain = { i, e, m }, o.population and { s } or nil
  local continuous = o.action == "continuous"
  local outputs = continuous and 1 or 2
  local with = { along = along, domain = domain }
  local width = o.memory and 6 or 2
  local actor, critic = nn.MLP(P, { width, 8, outputs }, with), nn.MLP(P, { width, 8, 1 }, with)
  local log_std = P:param("log_std", { along = along, domain = domain, shape = { 1 }, init = 0 })
  local env = line(P,
    { domain = o.population and { s, i, b, t } or { i, b, t }, time = t, carry = i }, continuous)
  local set, now, next, memory, legal = { obs = env.obs }, env.obs, env.next_obs, nil, nil
  if o.memory then
    memory = rl.memory(nn.GRUCell(P, 2, 6, with), env)
    now, next = memory(env.obs), memory:next(env.next_obs)
    set.first, set.begins = memory:first(), env.begins
  end
  if o.mask then legal, set.legal = env.legal, env.legal end
  local first = { e = 0, m = 0 }
  local judge = critic:at(first)
  local old = policy(o.action, actor:at(first)(now), legal, log_std:at(first):exp())
  local function log_prob(pi, a)
    local l = pi:log_prob(a)
    return continuous and l:sum(-1) or l
  end
  set.action = old:sample { name = "action", domain = env.domain }
  env:step(set.action)
  set.log_prob = log_prob(old, set.action):detach()
  set.advantage,
    set.target = rl.gae(env, { gamma = 0.9, lambda = 0.9, value = judge(now):squeeze(-1),
    next_value = judge(next):squeeze(-1) })
  local batch =
    tempo.data.batches(P, set,
    { over = o.memory and { b } or { b, t }, whole = o.memory and { t } or nil,
    epoch = e, step = m, count = 2 })
  local x = memory and memory:segments(batch.obs, { begins = batch.begins, first = batch.first })
    or batch.obs
  local new = policy(o.action, actor(x), batch.legal, log_std:exp())
  local loss, stats = rl.ppo_loss { over = { t },
    log_ratio = log_prob(new, batch.action) - batch.log_prob,
    advantage = batch.advantage:normalized(0), value = critic(x):squeeze(-1), target = batch.target,
    entropy = continuous and new:entropy():sum(-1) or new:entropy() }
  local modules = { actor, critic, memory }
  if continuous then modules[#modules + 1] = log_std end
  optim.Adam(modules, { lr = lr }):step(loss)
  local sum, number = rl.episodes(env, { b, t })
  return P, { score = sum / number:maximum(1), loss = loss, kl = stats.kl, action = set.action,
    legal = env.legal, weight = actor[0].weight }
end

local combinations = {}
for _, action in ipairs { "discrete", "continuous" } do
  for _, memory in ipairs { false, true } do
    for _, population in ipairs { false, true } do
      for _, mask in ipairs(action == "discrete" and { false, true } or { false }) do
        local name = action .. (memory and ", memory" or "")
          .. (population and ", population" or "")
          .. (mask and ", mask" or "")
        local few = memory and mask and not population or not memory
          and (population and mask or action == "continuous"
          and not population)
        combinations[#combinations + 1] = { name = name, long = few and "" or "#long ",
          action = action, memory = memory, population = population, mask = mask }
      end
    end
  end
end

-- f of the numbers of a nested table, with those of others at their places.
local function each(f, a, b)
  if type(a) ~= "table" then return f(a, b) end
  for k, v in ipairs(a) do each(f, v, b and b[k]) end
end

describe("PPO", function()
  for _, o in ipairs(combinations) do
    it(o.long .. "says the same with and without passes: " .. o.name, function()
      local P, outputs = agent(o, 0.01)
      local bounds = { S = o.population and 2 or nil, I = 2, E = 2, M = 2, B = 4, T = 5 }
      local function run(passes)
        local got = P:compile({ outputs = outputs, tier = "interpreter", passes = passes })({},
          bounds)
        for name, v in pairs(got) do got[name] = v:totable() end
        return got
      end
      local out = run()
      local plain = (o.long ~= "" or not o.memory) and run "none" or out
      for name, v in pairs(plain) do helper.same(v, out[name], 1e-4, name) end
      local taken = 0
      if o.mask then
        local members = o.population and out.action or { out.action }
        for k, member in ipairs(members) do
          local legal = o.population and out.legal[k] or out.legal
          for j, rows in ipairs(member) do
            for n, row in ipairs(rows) do
              for step, a in ipairs(row) do
                assert.is_true(legal[j][n][step][a + 1])
                if not legal[j][n][step][1] then taken = taken + 1 end
              end
            end
          end
        end
        assert.is_true(taken > 0)
      end
      if o.population then                                  -- members differ, and each has learnt
        assert.are_not.same(out.weight[1], out.weight[2])
        assert.are_not.same(out.action[1], out.action[2])
        for k = 1, 2 do assert.are_not.same(out.weight[k][1][1][1], out.weight[k][2][2][2]) end
      end
      each(function(v) assert.is_true(v == v and v > -1e-6) end, out.kl)
    end)

    it("#long learns: " .. o.name, function()
      local P, outputs = agent(o, 0.02)
      local f = P:compile { outputs = { score = outputs.score } }
      local out = f({},
        { S = o.population and 3 or nil, I = 40, E = 4, M = 2, B = 16, T = 16 }).score:totable()
      for _, scores in ipairs(o.population and out or { out }) do
        local late = 0
        for k = 31, 40 do late = late + scores[k] / 10 end
        assert.is_true(late > 0.97, ("%s: %.3f"):format(o.name, late))
      end
    end)
  end
end)

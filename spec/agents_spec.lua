-- Whole agents on small bounds, every tier against the reference and against plain Lua: an
-- environment written in Lua, PPO with inner updates, a recurrent policy trained through time,
-- populations and ensembles as a dim.
local tempo = require "tempo"
local helper = require "spec.helper"
local nn, optim, dist, rl = tempo.nn, tempo.optim, tempo.dist, tempo.rl
local same = helper.same

local function max_difference(a, b)
  if type(a) ~= "table" then return math.abs(a - b) end
  local m = 0
  assert.equal(#a, #b)
  for k = 1, #a do m = math.max(m, max_difference(a[k], b[k])) end
  return m
end

-- ---- an environment of the script's own ---------------------------------------------------------

-- A corridor: start at 0, one step left or right; 3 ends it with reward 1, -3 with 0, and six steps
-- cut it.
local function corridor(x, n, action)
  x, n = x + (action == 1 and 1 or -1), n + 1
  return { x, n }, x >= 3 and 1 or 0, math.abs(x) >= 3, n >= 6
end

local function one(state, action)
  local next_obs, r, te, tr = corridor(state[1], state[2], action)
  return next_obs, (te or tr) and { 0, 0 } or next_obs, r, te, tr
end

local function batch(arrays)
  local states, actions, out = arrays[1]:totable(), arrays[2]:totable(), { {}, {}, {}, {}, {} }
  for k = 1, #states do
    for j, v in ipairs { one(states[k], actions[k]) } do out[j][k] = v end
  end
  return out[1], out[2], out[3], out[4], out[5]
end

local function learner(over)
  local P = tempo.program { seed = 5 }
  local i = P:dim "i"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local d, calls = { i, b, t }, { n = 0 }
  local state = P:tensor { domain = d, shape = { 2 } }
  local policy = nn.MLP(P, { 2, 8, 2 }, { along = { i }, name = "policy" })
  local critic = nn.MLP(P, { 2, 8, 1 }, { along = { i }, name = "critic" })
  local pi = dist.Categorical { logits = policy(state) }
  local action = pi:sample { name = "action" }
  local function step(arrays, point)
    calls.n = calls.n + 1
    assert(point.i and point.t and (point.b == nil) == over)
    if over then return batch(arrays) end
    return one(arrays[1]:totable(), arrays[2]:item())
  end
  local next_obs, next, r, te, tr = P:call(step, { state, action }, {
    { domain = d, shape = { 2 } }, { domain = d, shape = { 2 } }, { domain = d },
    { domain = d, dtype = "bool" }, { domain = d, dtype = "bool" },
  }, { over = over and { b } or nil })
  state[{ t = 0 }] = tempo.zeros { 2 }
  state:otherwise(next[{ i, b, t - 1 }])
  local traj = { reward = r, terminated = te, truncated = tr, time = t }
  local v, nv = critic(state):squeeze(-1), critic(next_obs):squeeze(-1)
  local advantage, target = rl.gae(traj, { gamma = 0.9, lambda = 0.8, value = v, next_value = nv })
  local loss = ((v - target):square() - pi:log_prob(action) * advantage) / (B * T):value()
  optim.Adam({ policy, critic }, { lr = 0.02 }):step(loss)
  local sum, number = rl.episodes(traj, { b, t })
  return P, { state = state, action = action, r = r, te = te, tr = tr, v = v, nv = nv,
    advantage = advantage,
    G = rl.n_step(traj, { gamma = 0.9, n = 3, next_value = nv }), score = sum / number:maximum(1) },
      calls
end

describe("an environment in Lua", function()
  it("is called once a point, or once for all of `over`, and gives the same agent", function()
    local I, B, T = 3, 4, 9
    local first
    for _, over in ipairs { false, true } do
      local P, outputs, calls = learner(over)
      local out = helper.run(P, outputs, {}, { I = I, B = B, T = T })
      assert.equal(3 * I * T * (over and 1 or B), calls.n)             -- three ways
      if first then
        for name, v in pairs(first) do
          if name ~= "te" and name ~= "tr" then
            assert.is_true(max_difference(v, out[name]) < 1e-5)
          end
        end
      end
      first = first or out
    end
    local ends = 0
    for i = 1, I do
      for b = 1, B do
        local s, A, G = { 0, 0 }, 0, {}
        local row = function(name) return first[name][i][b] end
        for t = 1, T do
          same(s, row "state"[t], 0)
          local r, te, tr
          s, r, te, tr = corridor(s[1], s[2], row "action"[t])
          assert.same({ r, te, tr }, { row "r"[t], row "te"[t], row "tr"[t] })
          if te or tr then s, ends = { 0, 0 }, ends + 1 end
        end
        for t = T, 1, -1 do
          local done = row "te"[t] or row "tr"[t]
          local after = row "te"[t] and 0 or row "nv"[t]
          A = row "r"[t] + 0.9 * after - row "v"[t] + (done and 0 or 0.9 * 0.8 * A)
          same(A, row "advantage"[t])
          local g, u = 0, t
          while true do
            g = g + 0.9 ^ (u - t) * row "r"[u]
            if row "te"[u] or row "tr"[u] or u == t + 2 or u == T then break end
            u = u + 1
          end
          G[t] = g + 0.9 ^ (u - t + 1) * (row "te"[u] and 0 or row "nv"[u])
        end
        same(G, row "G")
      end
    end
    assert.is_true(ends > I * B)
  end)

  it("is learnt", function()
    local P, outputs = learner(true)
    local score = P:compile { outputs = { score = outputs.score } }({},
      { I = 40, B = 16, T = 20 }).score:totable()
    assert.is_true(score[1] < 0.5 and score[40] > 0.95, ("%s -> %s"):format(score[1], score[40]))
  end)
end)

-- ---- PPO ----------------------------------------------------------------------------------------

-- With `inner`, parameters along {i, k} and the clipped ratio; without, one step of the plain
-- policy gradient.
local function ppo(inner, carry, tier)
  local P = tempo.program { seed = 9 }
  local i, k, b, t = P:dim("i", "I"), P:dim("k", "K"), P:dim("b", "B"), P:dim("t", "T")
  local o = { along = inner and { i, k } or { i }, activation = "tanh" }
  local function net(name, n) return nn.MLP(P, { 4, 6, n }, { name = name, along = o.along }) end
  local policy, critic = net("policy", 2), net("critic", 1)
  local actor, judge = policy, critic
  if inner then actor, judge = policy:at { k = 0 }, critic:at { k = 0 } end
  local env = rl.env(P, "CartPole-v1",
    { domain = { i, b, t }, time = t, carry = carry and i or nil, name = "cart" })
  local old = dist.Categorical { logits = actor(env.obs) }
  local action = old:sample { name = "action" }
  env:step(action)
  local advantage, target = rl.gae(env, { gamma = 0.99, value = judge(env.obs):squeeze(-1),
    next_value = judge(env.next_obs):squeeze(-1) })
  local new = inner and dist.Categorical { logits = policy(env.obs) } or old
  local gain = new:log_prob(action) * advantage
  local ratio
  if inner then
    ratio = (new:log_prob(action) - old:log_prob(action):detach()):exp()
    gain = (ratio * advantage):minimum(ratio:clamp(0.8, 1.2) * advantage)
  end
  local loss = ((critic(env.obs):squeeze(-1) - target):square() - gain) / (
    b:upper() * t:upper()):value()
  optim.Adam({ policy, critic }, { lr = 0.02, clip_norm = 0.5 }):step(loss)
  local w = policy[0].weight
  return P:compile { tier = tier,
    outputs = { ratio = ratio, w = w, state = env.state, advantage = advantage } }
end

describe("PPO", function()
  it("gives the same numbers in each tier", function()
    for _, carry in ipairs { false, true } do
      local bounds = { I = 2, K = 3, B = 2, T = 12 }
      local a, b = ppo(true, carry, "reference")({}, bounds),
        ppo(true, carry, "interpreter")({}, bounds)
      for name, v in pairs(a) do same(v:totable(), b[name], 1e-4) end
      local moved = 0
      for i = 1, 2 do
        -- k = 0: the weights that acted
        for j, row in ipairs(b.ratio:totable()[i][1]) do
          for _, v in ipairs(row) do same(1, v) end
          moved = math.max(moved, math.abs(b.ratio:totable()[i][3][j][1] - 1))
        end
      end
      assert.is_true(moved > 1e-3)
      -- weights of update 0 are those after the update K-1 of the iteration before: nothing is lost
      -- between them
      local w = b.w:totable()
      assert.is_true(max_difference(w[1][3], w[2][1]) > 1e-4)
    end
  end)

  it("with one update an iteration is the policy gradient", function()
    local bounds = { I = 4, B = 2, T = 20 }
    local plain = ppo(false, true)
    local want = plain({}, bounds)
    bounds.K = 1
    local inner = ppo(true, true)
    local got = inner({}, bounds)
    same(want.state:totable(), got.state, 1e-4)
    same(want.advantage:totable(), got.advantage, 1e-3)
    local p, q = plain:params(), inner:params()
    for name, v in pairs(p) do
      local other = q[name] or q[(name:gsub("%.steps%.i$", ".steps.i.k"))]
      same(v:totable(), other, 1e-3)
    end
  end)
end)

-- ---- a policy with a memory ---------------------------------------------------------------------

describe("a recurrent policy", function()
  -- h goes through t and is 0 where an episode begins; the loss looks at every step; f64 for finite
  -- differences.
  local function build(tier)
    local P = tempo.program { seed = 2 }
    local b, t = P:dim("b", "B"), P:dim("t", "T")
    local n = 3
    local x = P:input("x", { domain = { b, t }, shape = { 2 }, dtype = "f64" })
    local done = P:input("done", { domain = { b, t }, dtype = "bool" })
    local a = P:input("a", { domain = { b, t }, dtype = "i64" })
    local cell = nn.GRUCell(P, 2, n, { name = "gru", dtype = "f64" })
    local head = nn.Linear(P, n, 2, { name = "head", dtype = "f64" })
    local h = P:tensor { domain = { b, t }, shape = { n }, dtype = "f64" }
    h[{ t = 0 }] = cell(x, tempo.zeros({ n }, { dtype = "f64" }))
    h:otherwise(cell(x, tempo.where(done[{ b, t - 1 }], 0, h[{ b, t - 1 }])))
    local loss = -dist.Categorical({ logits = head(h) }):log_prob(a)
    local params, outputs = {}, { loss = loss, h = h }
    for _, m in ipairs { cell, head } do
      for name, w in m:named_parameters() do
        params[#params + 1], outputs["d " .. name] = { name, w }, false
      end
    end
    for _, e in ipairs(params) do outputs["d " .. e[1]] = tempo.grad(loss, { e[2] })[1] end
    return P:compile { outputs = outputs, tier = tier }
  end

  local o, d = false, true
  local inputs = {
    x = helper.fill({ 2, 5, 2 }, function(b, t, k) return math.sin(3 * b + 2 * t + k) end),
    done = { { o, d, o, o, o }, { o, o, o, d, d } }, a = { { 0, 1, 1, 0, 1 }, { 1, 0, 0, 1, 0 } },
  }
  local bounds = { B = 2, T = 5 }

  it("forgets at an episode's end and has the gradient of finite differences", function()
    local f, ref = build "interpreter", build "reference"
    f(inputs, bounds)
    local weights = f:params()
    ref:load_params(weights)
    local out, other = f(inputs, bounds), ref(inputs, bounds)
    for name, v in pairs(other) do same(v:totable(), out[name], 1e-9) end
    local function loss()
      local sum = 0
      for _, row in ipairs(f(inputs, bounds).loss:totable()) do
        for _, v in ipairs(row) do sum = sum + v end
      end
      return sum
    end
    for name, w in pairs(weights) do
      local table_, eps = w:totable(), 1e-5
      local want = out["d " .. name]:totable()
      local function check(t, g, k)
        local old, value = t[k], {}
        for s = 1, 2 do
          t[k] = old + (s == 1 and eps or -eps)
          f:load_params { [name] = tempo.array(table_, "f64") }
          value[s] = loss()
        end
        t[k] = old
        f:load_params { [name] = tempo.array(table_, "f64") }
        same((value[1] - value[2]) / (2 * eps), g[k], 1e-7)
      end
      for _, k in ipairs { 1, #table_ } do
        if type(table_[k]) == "table" then
          check(table_[k], want[k], #table_[k]) else check(table_, want, k) end
      end
    end
    -- the step after an end depends on its own input alone
    local alone = f({ x = { { inputs.x[1][3] } }, done = { { o } }, a = { { 0 } } },
      { B = 1, T = 1 })
    same(alone.h:totable()[1][1], out.h:totable()[1][3], 1e-12)
  end)

  -- the action wanted is the bit of the step before
  it("learns what needs a memory", function()
    local P = tempo.program { seed = 1 }
    local i, b, t = P:dim("i", "I"), P:dim("b", "B"), P:dim("t", "T")
    local bit = tempo.bernoulli({ 1 }, 0.5, { domain = { i, b, t }, name = "bits" }) + P:constant(0)
    local cell = nn.GRUCell(P, 1, 8, { name = "gru", along = { i } })
    local head = nn.Linear(P, 8, 2, { name = "head", along = { i } })
    local h = P:tensor { domain = { i, b, t }, shape = { 8 } }
    h[{ t = 0 }] = cell(bit, tempo.zeros { 8 })
    h:otherwise(cell(bit, h[{ i, b, t - 1 }]))
    local want = P:tensor { domain = { i, b, t } }
    want[{ i, b, t + 1 }] = bit:squeeze(0)
    want:otherwise(0)
    local pi = dist.Categorical { logits = head(h) }
    local a = pi:sample { name = "a" }
    local reward = a:eq(want:to "i64"):to "f32"
    optim.Adam({ cell, head }, { lr = 0.03 }):step(
      -pi:log_prob(a) * (reward - 0.5) / (b:upper() * t:upper()):value())
    local mean = reward[{ b = 0 .. b:upper(), t = 0 .. t:upper() }]:mean()
    local out = P:compile { outputs = { mean = mean } }({},
      { I = 100, B = 16, T = 10 }).mean:totable()
    assert.is_true(out[1] < 0.7 and out[100] > 0.95, ("%s -> %s"):format(out[1], out[100]))
  end)
end)

-- ---- many at once -------------------------------------------------------------------------------

describe("a dim of seeds", function()
  it("evolves: a gradient from a population's scores", function()
    local P = tempo.program { seed = 7 }
    local s, i, p = P:dim("s", "S"), P:dim("i", "I"), P:dim("p", "N")
    local sigma, lr = 0.1, 0.01
    local target = P:constant { 1, -1, 0.5 }
    local w = P:param("w", { along = { i }, domain = { s }, shape = { 3 },
      init = tempo.normal({ 3 }, { domain = { s }, name = "w0" }) })
    local eps = tempo.normal({ 3 }, { domain = { s, i, p }, name = "eps" }) + P:constant(0)
    local score = -((w + sigma * eps - target):square()):sum()
    local N = p:upper()
    local all = score[{ p = 0 .. N }]
    local rank = (score - all:mean()) / ((all - all:mean()):square():mean():sqrt() + 1e-6)
    w:update(w + lr / sigma * (eps * rank)[{ p = 0 .. N }]:mean(0))
    local out = helper.run(P, { w = w, eps = eps, score = score }, {}, { S = 3, I = 5, N = 6 },
      { tol = 1e-4 })
    for k = 1, 3 do
      for j = 1, 4 do
        local e, f, mean, var = out.eps[k][j], out.score[k][j], 0, 0
        for m = 1, 6 do
          local v = 0
          for c = 1, 3 do v = v - (out.w[k][j][c] + sigma * e[m][c] - ({ 1, -1, 0.5 })[c]) ^ 2 end
          same(v, f[m])
          mean = mean + v / 6
        end
        for m = 1, 6 do var = var + (f[m] - mean) ^ 2 / 6 end
        for c = 1, 3 do
          local g = 0
          for m = 1, 6 do g = g + e[m][c] * (f[m] - mean) / (math.sqrt(var) + 1e-6) / 6 end
          same(out.w[k][j][c] + lr / sigma * g, out.w[k][j + 1][c], 1e-4)
        end
      end
    end
    local long = P:compile { outputs = { w = w } }({}, { S = 4, I = 120, N = 24 }).w:totable()
    for k = 1, 4 do same({ 1, -1, 0.5 }, long[k][120], 0.1) end
  end)

  it("selects: the best of a population is the next parent", function()
    local P = tempo.program { seed = 7 }
    local i, p = P:dim("i", "I"), P:dim("p", "N")
    local w = P:param("w", { along = { i }, shape = { 2 }, init = 0 })
    local child = w + 0.2 * tempo.normal({ 2 }, { domain = { i, p }, name = "mutation" })
    local score = -(child - P:constant { 1, 2 }):square():sum()
    local all = p:upper()
    local best = score[{ p = 0 .. all }]:argmax(0)
    w:update(child[{ p = 0 .. all }]:index_select(0, best))
    local out = helper.run(P, { w = w, child = child, best = best }, {}, { I = 4, N = 5 })
    for j = 1, 3 do same(out.child[j][out.best[j] + 1], out.w[j + 1], 0) end
    local f = P:compile {outputs = { best = best } }
    f({}, { I = 40, N = 16 })
    same({ 1, 2 }, f:params().w, 0.2)
  end)

  it("trains networks at once as it trains them one by one", function()
    local function build(many, tier)
      local P = tempo.program { seed = 3 }
      local s = many and P:dim("s", "S") or nil
      local i, b = P:dim("i", "I"), P:dim("b", "B")
      local x = tempo.normal({ 3 }, { domain = { i, b }, name = "x" })
      local y = (x * P:constant { 1, -2, 0.5 }):sum():tanh()
      local net = nn.MLP(P, { 3, 5, 1 },
        { name = "net", along = { i }, domain = s and { s }, init = "orthogonal" })
      local loss = (net(x):squeeze(-1) - y):square() / b:upper():value()
      local _, norm = optim.Adam(net, { lr = 0.01, clip_norm = 0.1 }):step(loss)
      return P:compile { tier = tier,
        outputs = { loss = loss[{ b = 0 .. b:upper() }]:sum(0), norm = norm } }
    end
    local all = build(true)
    all({}, { S = 3, I = 0, B = 5 })                        -- no step: what they begin with
    local first = all:params()
    local out = all({}, { S = 3, I = 4, B = 5 })
    local ref = build(true, "reference")({}, { S = 3, I = 4, B = 5 })
    same(ref.loss:totable(), out.loss)
    for k = 0, 2 do
      local f, own = build(false), {}
      for name, v in pairs(first) do if name:match "^net" then own[name] = v[k]:clone() end end
      f:load_params(own)
      local alone = f({}, { I = 4, B = 5 })
      same(alone.loss:totable(), out.loss[k]:totable())
      same(alone.norm:totable(), out.norm[k]:totable())
    end
  end)
end)

-- A recorded game in the frame of an environment.
local tempo = require "tempo"
local emit = require "tempo.rl.trace.emit"

-- the field that counts an episode's steps, where max_steps ends it
local clock = "(steps)"

-- The action, looked for among all of them: one that is not there ends the run.
local function among(P, action, count)
  local all = {}
  for k = 1, count do all[k] = k - 1 end
  return P:constant(tempo.array(all, "i64")):select(0, action)
end

-- kind, as frame.env takes it.
return function(P, got, o)
  local g, model, n = got.graph, got.model, #got.fields
  local function constant(v) return P:constant(tempo.array(v, "bool")) end
  local keys, taken = {}, {}
  for k, path in ipairs(model.paths) do            -- ["a.b"] beside b of a
    keys[k] = taken[path] and path .. "#" .. k or path
    taken[path] = true
  end

  -- x as a tensor of the kind that the k-th field has, over these dims.
  local function full(x, domain, dtype)
    local zero = tempo.zeros({}, { domain = domain, dtype = dtype or "f64" })
    if type(x) == "number" then return zero + x end
    return x:dtype() == "bool" and x:lor(tempo.zeros({}, { domain = domain, dtype = "bool" })) or x
  end

  local ns, nr = got.draws.step or 0, got.draws.reset or 0

  local function draws(count, domain, name)
    if count == 0 then return nil end
    return tempo.uniform({ count }, { dtype = "f64", domain = domain, name = name })
  end

  -- The k-th draw of a function, whose numbers begin at `from` of u.
  local function drawn(u, name, from) return u:select(0, tonumber(name:match "%d+$") - 1 + from) end

  -- The state that reset makes of the numbers u, from `from` on.
  local function reset(u, from, domain)
    local function leaf(_, name) return drawn(u, name, from) end
    local tensor, start = emit.new(g, leaf, constant), {}
    for k, id in ipairs(got.reset) do start[keys[k]] = full(tensor(id), domain) end
    if o.max_steps then start[clock] = tempo.zeros({}, { domain = domain, dtype = "i32" }) end
    return start
  end

  local function state_of(state)
    return function(op, name)
      if op == "state" then return state[keys[tonumber(name:match "^%d+")]] end
    end
  end

  local function observed(state)
    local tensor, list = emit.new(g, state_of(state), constant), {}
    for k, id in ipairs(got.observe) do
      local x = tensor(id)
      list[k] = type(x) == "number" and tempo.full({}, x, { dtype = "f32" }) or x:to "f32"
    end
    return tempo.stack(list, 0)
  end

  local kind = {}

  function kind.start(domain, name)
    kind.start_draws = draws(nr, domain, name)
    return reset(kind.start_draws, 0, domain)
  end

  kind.observe = observed

  function kind.step(env, action)
    local state, components = env.state, {}
    action = action:detach()                     -- no gradient goes through a game
    if env.spec.actions then action = among(P, action, env.spec.actions) end
    env.action = action                          -- messages call it by this name
    local x = action:to "f64"
    if #action:shape() == 0 then components[1] = x
    else
      local flat = x:flatten()
      for k = 1, flat:shape()[1] do components[k] = flat:select(0, k - 1) end
    end
    local u, field = draws(ns + nr, env.domain, env.name .. ".draws"), state_of(state)
    env.draws = u
    local tensor = emit.new(g, function(op, name)
      if op == "draw" then return drawn(u, name, 0) end
      if op == "action" then return components[tonumber(name)] end
      return field(op, name)
    end, constant)
    local after = {}
    for k = 1, n do after[keys[k]] = full(tensor(got.step[k]), env.domain) end
    local reward = full(tensor(got.step[n + 1]), env.domain):to "f32"
    local terminated = full(tensor(got.step[n + 2]), env.domain)
    local truncated = full(tensor(got.step[n + 3]), env.domain)
    if o.max_steps then
      after[clock] = state[clock] + 1
      truncated = truncated:lor(after[clock]:ge(o.max_steps))
    end
    local next_obs, done = observed(after), terminated:lor(truncated)
    local first = reset(u, ns, env.domain)
    for key, v in pairs(after) do after[key] = tempo.where(done, first[key], v) end
    return after, next_obs, reward, terminated, truncated
  end

  return kind
end

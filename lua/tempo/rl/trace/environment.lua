-- What a recorded game does in the frame of an environment.
local tempo = require "tempo"
local emit = require "tempo.rl.trace.emit"

local clock = "steps"                  -- the field that counts an episode's steps, where max_steps ends it

-- kind, as frame.env takes it.
return function(P, got, o)
  local g, model, n = got.graph, got.model, #got.fields
  local function constant(v) return P:constant(tempo.array(v, "bool")) end
  local keys, places = {}, {}
  for k, path in ipairs(model.paths) do
    keys[k] = k .. " " .. path
    places[keys[k]] = k
  end

  -- x as a tensor of the kind that the k-th field has, over these dims.
  local function full(x, domain, dtype)
    local zero = tempo.zeros({}, { domain = domain, dtype = dtype or "f64" })
    if type(x) == "number" then return zero + x end
    if x:dtype() == "bool" then return x:lor(tempo.zeros({}, { domain = domain, dtype = "bool" })) end
    return x
  end

  local function draws(count, domain, name)
    local u = count > 0 and tempo.uniform({ count }, { dtype = "f64", domain = domain, name = name })
    return function(name_) return u:select(0, tonumber(name_:match "%d+$") - 1) end
  end

  local function state_of(state)
    return function(op, name)
      if op == "state" then return state[keys[places[name]]] end
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
    local draw, start = draws(got.draws.reset or 0, domain, name), {}
    local tensor = emit.new(g, function(_, k) return draw(k) end, constant)
    for k, id in ipairs(got.reset) do start[keys[k]] = full(tensor(id), domain) end
    if o.max_steps then start[clock] = tempo.zeros({}, { domain = domain, dtype = "i32" }) end
    return start
  end

  kind.observe = observed

  function kind.step(env, action)
    local state, components = env.state, {}
    local x = action:to "f64"
    if #action:shape() == 0 then components[1] = x
    else
      local flat = x:flatten()
      for k = 1, flat:shape()[1] do components[k] = flat:select(0, k - 1) end
    end
    local draw, field = draws(got.draws.step or 0, env.domain, env.name .. ".step"), state_of(state)
    local tensor = emit.new(g, function(op, name)
      if op == "draw" then return draw(name) end
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
    local next_obs = observed(after)
    local frame = require "tempo.rl.frame"
    return frame.reset(env, after, terminated:lor(truncated)), next_obs, reward, terminated, truncated
  end

  return kind
end

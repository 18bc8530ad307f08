-- Environments in Lua: rl.add_env, and how rl.env runs one, by a callback for many games at once.
local tempo = require "tempo"
local util = require "tempo.util"

local game_room, games = {}, {}
local jit = rawget(_G, "jit")
local unpack = table.unpack or rawget(_G, "unpack")

-- rl.add_env (env.lua).
function game_room.add(name, game)
  util.expect("rl.add_env: the name", "string", name)
  local g = {}
  util.options("rl.add_env", game, "state observation actions uniforms reset_uniforms max_steps "
    .. "reset step observe pointers batch")
  for key, v in pairs(game or {}) do g[key] = v end
  util.expect_options("rl.add_env", "function", g, "reset step observe")
  util.expect_options("rl.add_env", "boolean", g, "pointers batch")
  local function count(key, least, default)
    local n = g[key] == nil and default or g[key]
    if type(n) ~= "number" or n < least or n ~= math.floor(n) then
      util.fail("option", "rl.add_env: %s is %s; it must be an integer, %d or more", key,
        tostring(n), least)
    end
    g[key] = n
  end
  local function shape(key, v)
    local n = 1
    for k = 1, #v do
      if type(v[k]) ~= "number" or v[k] < 1 or v[k] ~= math.floor(v[k]) then
        util.fail("option", "rl.add_env: %s: extent %s must be an integer, 1 or more", key,
          tostring(v[k]))
      end
      n = n * v[k]
    end
    return #v > 0 and n or util.fail("option", "rl.add_env: %s has no extents", key)
  end
  if not (g.reset and g.step) then
    util.fail("option", "rl.add_env: reset and step must both be there")
  end
  count("state", 1)
  count("uniforms", 0, 0)
  count("reset_uniforms", 0, 0)
  if g.max_steps ~= nil then count("max_steps", 1) end
  if g.observation ~= nil and not g.observe then
    util.fail("option", "rl.add_env: observe is missing")
  elseif g.observe and g.observation == nil then
    util.fail("option", "rl.add_env: observation, its shape, is missing")
  end
  if type(g.actions) == "table" then
    g.wide = shape("actions", g.actions)
  else
    count("actions", 1)
  end
  g.observation = g.observation or { g.state }
  util.expect("rl.add_env: observation", "table", g.observation)
  g.nobs = shape("observation", g.observation)
  g.name = name
  if g.pointers and not jit then
    util.fail("option", "rl.add_env: pointers needs LuaJIT; leave it out for lists")
  end
  if games[name] or getmetatable(tempo).environment(name) then
    util.fail("option", "there is an environment '%s' already", name)
  end
  games[name] = g
  return name
end

-- ---- many games ----
-- Numbers of game k lie at k * width, in lists or behind pointers. A state has the number of steps
-- behind it.

-- Moves a game's numbers out of a list of all, and back.
local function take(to, from, at, n)
  for j = 1, n do to[j] = from[at + j] end
  return to
end
local function put(to, at, from, n, g, what)
  for j = 1, n do to[at + j] = from[j] end
  if from[n + 1] == nil then return end
  util.fail("callback", "environment '%s': %s has %d numbers, and element %d was written", g.name,
    what, n, n + 1)
end

-- From functions of one game those of n, as with `batch`.
local functions = {}

function functions.lists(g)
  local width, wide, nu, nobs = g.width, g.wide, g.reset_uniforms + g.uniforms, g.nobs
  local s, a, v, w, seen = {}, {}, {}, {}, {}
  local step, reset, look = g.step, g.reset, g.observe
  return {
    reset = function(k, S, U)
      reset(s, take(w, U, k * nu + g.uniforms, g.reset_uniforms))
      put(S, k * width, s, g.state, g, "a state")
    end,
    step = function(n, S, A, U, R, E, C)
      for k = 0, n - 1 do
        take(s, S, k * width, g.state)
        local action = wide and take(a, A, k * wide, wide) or A[k + 1]
        local r, e, c = step(s, action, take(v, U, k * nu, g.uniforms))
        put(S, k * width, s, g.state, g, "a state")
        R[k + 1], E[k + 1], C[k + 1] = r, e or false, c or false
      end
    end,
    observe = function(n, S, O)
      for k = 0, n - 1 do
        take(s, S, k * width, g.state)
        if look then look(s, seen) end
        put(O, k * nobs, look and seen or s, nobs, g, "an observation")
      end
    end,
  }
end

function functions.pointers(g)
  local width, wide, nu, nobs = g.width, g.wide, g.reset_uniforms + g.uniforms, g.nobs
  local step, reset, look = g.step, g.reset, g.observe
  return {
    reset = function(k, S, U) reset(S + k * width, U + (k * nu + g.uniforms)) end,
    step = function(n, S, A, U, R, E, C)
      for k = 0, n - 1 do
        local r, e, c = step(S + k * width, wide and A + k * wide or tonumber(A[k]), U + k * nu)
        R[k], E[k], C[k] = r, e and 1 or 0, c and 1 or 0
      end
    end,
    observe = function(n, S, O)
      for k = 0, n - 1 do
        if look then look(S + k * width, O + k * nobs)
        else for j = 0, nobs - 1 do O[k * nobs + j] = S[k * width + j] end end
      end
    end,
  }
end

-- Is game k at its end, by its step or by the clock? Counts the step.
local ends = {
  lists = function(g, k, S, E, C)
    if g.max_steps then
      local at = (k + 1) * g.width
      S[at] = S[at] + 1
      if S[at] >= g.max_steps then C[k + 1] = true end
    end
    return E[k + 1] or C[k + 1]
  end,
  pointers = function(g, k, S, E, C)
    if g.max_steps then
      local at = (k + 1) * g.width - 1
      S[at] = S[at] + 1
      if S[at] >= g.max_steps then C[k] = 1 end
    end
    return E[k] ~= 0 or C[k] ~= 0
  end,
}

-- Arrays of n games that results are written into, and what stands for their numbers: lists or
-- pointers.
local function rooms(g, lead, n)
  local kind = g.pointers and "pointers" or "lists"
  local function array(dtype, ...)
    local shape = { unpack(lead) }
    for _, x in ipairs { ... } do shape[#shape + 1] = x end
    return tempo.array(dtype == "bool" and false or 0, dtype, shape)
  end
  local r = { state = array("f64", g.width), next_obs = array("f32", g.nobs),
    obs = array("f32", g.nobs), reward = array "f32", terminated = array "bool",
    truncated = array "bool", n = n, at = {}, lent = { {}, {}, {} } }
  for key, a in pairs(r) do
    if type(a) == "userdata" then r.at[key] = kind == "pointers" and a:pointer() or a:copy_to() end
  end
  return r
end

-- The numbers of an array that the callback was lent.
local function numbers_of(g, a, list) return g.pointers and a:pointer() or a:copy_to(list) end

-- By key of a room: what lies there, in the words of errors.
local made = { state = "an element of the state", obs = "an element of the observation",
  next_obs = "an element of the observation", reward = "the reward, step's first result,",
  terminated = "step's second result", truncated = "step's third result" }

-- The array of a key with the numbers of its list; what is none is named.
local function filled(g, r, key)
  local list, n = r.at[key], 1
  for _, extent in ipairs(r[key]:shape()) do n = n * extent end
  for k = 1, n do
    local is = type(list[k])
    if is ~= "number" and not (is == "boolean" and r[key]:dtype() == "bool") then
      util.fail("callback", "environment '%s': %s is %s, and must be a number%s", g.name, made[key],
        is, r[key]:dtype() == "bool" and " or a boolean" or "")
    end
  end
  return r[key]:copy_from(list)
end

local function give(g, r, keys)
  local out = {}
  for k, key in ipairs(keys) do out[k] = g.pointers and r[key] or filled(g, r, key) end
  return unpack(out)
end

local function copy(g, from, to, n)
  for k = g.pointers and 0 or 1, g.pointers and n - 1 or n do to[k] = from[k] end
end

-- The two callbacks of a game: the first state of n games, and a step of them.
local function callbacks(g)
  local kind = g.pointers and "pointers" or "lists"
  local f = functions[kind](g)
  if g.batch then
    f = { reset = g.reset, step = g.step, observe = g.observe or f.observe }
  end
  local over = ends[kind]
  local kept = {}
  local function room(a)
    local lead = a:shape()
    lead[#lead] = nil
    local n = 1
    for _, x in ipairs(lead) do n = n * x end
    if not kept[n] then kept[n] = rooms(g, lead, n) end
    return kept[n]
  end
  local last = g.pointers and -1 or 0
  local function start(arrays)
    local r = room(arrays[1])
    local at, u = r.at, numbers_of(g, arrays[1], r.lent[1])
    for k = 0, r.n - 1 do
      f.reset(k, at.state, u)
      if g.max_steps then at.state[(k + 1) * g.width + last] = 0 end
    end
    f.observe(r.n, at.state, at.obs)
    return give(g, r, { "state", "obs" })
  end
  local function step(arrays)
    local r = room(arrays[1])
    local at, n = r.at, r.n
    local was, action = numbers_of(g, arrays[1], r.lent[1]), arrays[2]
    action = numbers_of(g, action, r.lent[2])
    local u = numbers_of(g, arrays[3], r.lent[3])
    local S, E, C = at.state, at.terminated, at.truncated
    copy(g, was, S, n * g.width)
    if g.batch then
      local no = false
      if g.pointers then no = 0 end
      for k = last + 1, last + n do E[k], C[k] = no, no end
    end
    f.step(n, S, action, u, at.reward, E, C)
    f.observe(n, S, at.next_obs)
    local any = false
    for k = 0, n - 1 do
      if over(g, k, S, E, C) then
        any = true
        f.reset(k, S, u)
        if g.max_steps then S[(k + 1) * g.width + last] = 0 end
      end
    end
    if any then f.observe(n, S, at.obs) else copy(g, at.next_obs, at.obs, n * g.nobs) end
    return give(g, r, { "state", "next_obs", "reward", "terminated", "truncated", "obs" })
  end
  return start, step
end

-- ---- in a program ----

-- The game of that name; nil: there is none. Its facts are those of rl.envs.
function game_room.find(name)
  local g = games[name]
  if g and not g.facts then
    g.width = g.state + (g.max_steps and 1 or 0)
    g.start, g.run = callbacks(g)
    g.facts = { observation = g.observation, actions = g.actions, max_steps = g.max_steps,
      uniforms = g.uniforms + g.reset_uniforms, reset_uniforms = g.reset_uniforms, game = g }
  end
  return g
end

function game_room.names()
  local names = {}
  for name in pairs(games) do names[#names + 1] = name end
  return names
end

-- The dims that a call has all of: the domain's last but time and the one that is carried on.
local function over_of(o)
  local domain = util.domain("rl.env: domain", o.domain)
  for k = #domain, 1, -1 do
    if domain[k] ~= o.time and domain[k] ~= o.carry then return { domain[k] } end
  end
end

-- How frame.env (frame.lua) runs one: its state is numbers and what is seen of them, which come of
-- one call. nil: there is no such game.
function game_room.kind(P, id, o)
  local g = game_room.find(id)
  if not g then return nil end
  local over
  local function drawn(domain, name)
    return tempo.uniform({ g.facts.uniforms }, { dtype = "f64", domain = domain, name = name })
  end
  local function shown(obs)
    return #g.observation > 1 and obs:reshape(g.observation) or obs
  end
  return {
    spec = g.facts,
    start = function(domain, name)
      over = over_of(o)
      local numbers, obs = P:call(g.start, { drawn(domain, name) }, {
        { domain = domain, shape = { g.width }, dtype = "f64" },
        { domain = domain, shape = { g.nobs } },
      }, { over = over })
      return { numbers = numbers, obs = obs }
    end,
    observe = function(state) return shown(state.obs) end,
    step = function(env, action)
      local d = env.domain
      local u = drawn(d, env.name .. ".reset")
      local numbers, next_obs, reward, terminated, truncated, obs =
        P:call(g.run, { env.state.numbers, action, u }, {
          { domain = d, shape = { g.width }, dtype = "f64" },
          { domain = d, shape = { g.nobs } },
          { domain = d },
          { domain = d, dtype = "bool" },
          { domain = d, dtype = "bool" },
          { domain = d, shape = { g.nobs } },
        }, { over = over })
      return { numbers = numbers, obs = obs }, shown(next_obs), reward, terminated, truncated
    end,
  }
end

return game_room

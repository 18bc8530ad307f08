-- Memories of agents: states that follow an environment's episodes, for acting, bootstrapping and
-- learning; the window of what was seen last.
local tempo = require "tempo"
local util = require "tempo.util"
local nn = require "tempo.nn"
local frame = require "tempo.rl.frame"

local rl = {}
local unpack = table.unpack or unpack                       -- luacheck: globals unpack

-- _env      the environment that is followed
-- _cell     function or module of (x, state ...), which gives the state after x
-- _like     { shape, dtype } of each part of a state (dtype nil: the program's); from the shape and
--           dtype of what is seen
-- _show     of the state's parts, what a script gets
-- _point    where parameters are read (memory:at)
-- _acting   x, before and after: the parts of the states around each step, once the memory has been
--           called; one table for all views of a memory
---@class tempo.rl.Memory: tempo.nn.Module
local Memory = nn.class "Memory"

local function same(...) return ... end

local function create(what, P, env, cell, like, show)
  util.program(what, P)
  if type(env) ~= "table" or not (env.obs and env.time and env.domain) then
    util.fail("option", "%s: expected an environment, got %s", what, tostring(env))
  end
  local self = Memory:create(P)
  if type(cell) == "table" then self.cell = cell end          -- its parameters are the memory's
  self._env, self._cell, self._like, self._acting = env, cell, like, {}
  self._show = show or same
  return self
end

-- x at the part of `point` whose dims x has.
local function at(x, point)
  local part, any = {}, false
  for _, d in ipairs(x:domain()) do
    local e = point[d]
    if e == nil then e = point[d:name()] end
    if e ~= nil then part[d], any = e, true end
  end
  return any and x:at(part) or x
end

-- The parts of the state after x.
local function after(self, x, state)
  local parts = { self._cell(x, unpack(state)) }
  if #parts ~= #state then
    util.fail("option", "'%s': the cell takes a state of %d tensors and gives %d", self.name,
      #state, #parts)
  end
  for k, part in ipairs(parts) do parts[k] = at(part, self._point or {}) end
  return parts
end

-- The parts where the agent acts: weights are those with which the iteration begins, so dims that
-- the environment lacks (updates within the iteration) are at their first point.
local function acting(self, x, state)
  local has, parts = {}, after(self, x, state)
  for _, d in ipairs(self._env.domain) do has[d] = true end
  for k, part in ipairs(parts) do
    local point = {}
    for _, d in ipairs(part:domain()) do point[d] = not has[d] and 0 or nil end
    parts[k] = at(part, point)
  end
  return parts
end

-- make(shape, dtype, k) of each part of a state of `lead` rows that sees x.
local function each_part(self, x, lead, make)
  local parts, own = {}, x:shape()
  for _ = 1, #lead do table.remove(own, 1) end
  for k, like in ipairs(self._like(own, x:dtype())) do
    local shape = { unpack(lead) }
    for _, n in ipairs(like.shape) do shape[#shape + 1] = n end
    parts[k] = make(shape, like.dtype, k)
  end
  return parts
end

local function declare(self, x, lead, domain)
  return each_part(self, x, lead, function(shape, dtype, k)
    return self.program:tensor { domain = domain, shape = shape, dtype = dtype,
      name = self.name .. (k > 1 and "." .. k or "") }
  end)
end

local function zeros(self, x, lead)
  return each_part(self, x, lead, function(shape, dtype)
    return tempo.zeros(shape, { dtype = dtype })
  end)
end

function Memory:forward(x)
  local env, now = self._env, self._acting
  util.expect(self.name .. ": x", "tensor", x)
  if now.x and now.x ~= x then
    util.fail("option", "'%s' has seen something else already: a memory is called once, with all "
      .. "that a step sees; write memory:next(x) for the state after next_obs and "
      .. "memory:segments(x) to learn", self.name)
  elseif not now.x then
    now.x, now.before = x, declare(self, x, {}, env.domain)
    now.after = acting(self, x, now.before)
    local zero = zeros(self, x, {})
    for k, h in ipairs(now.before) do
      frame.follow(env, h, zero[k], tempo.where(env.done, 0, now.after[k]))
    end
  end
  return self._show(unpack(now.after))
end

local function has_acted(self, what)
  if not self._acting.x then
    util.fail("option", "%s: '%s' has seen nothing yet: call it first, memory(env.obs)", what,
      self.name)
  end
  return self._acting
end

--- The state if x were seen next, in the same episode: for the value of next_obs.
---@param x tempo.Tensor
---@return tempo.Tensor ... as the cell gives it
function Memory:next(x)
  return self._show(unpack(acting(self, x, has_acted(self, "next").after)))
end

--- The state before the first step of each iteration, without gradient: `first` of segments.
---@return tempo.Tensor ...
function Memory:first()
  local out = {}
  for k, h in ipairs(has_acted(self, "first").before) do
    out[k] = h:at { [self._env.time] = 0 }:detach()
  end
  return unpack(out)
end

--- The state at a point of the environment's dims; or, at one of other dims, the same memory with
--- its parameters read there: memory:at{ k = 0 }.
---@param point tempo.Key
---@return tempo.Tensor|tempo.rl.Memory ...
function Memory:at(point)
  util.expect("memory:at", "table", point)
  local known = {}
  for _, d in ipairs(self._env.domain) do known[d], known[d:name()] = true, true end
  for key in pairs(point) do
    if not known[key] and type(key) ~= "number" then
      local view = {}
      for k, v in pairs(self) do view[k] = v end
      view._point = point
      return setmetatable(view, getmetatable(self))
    end
  end
  local out = {}
  for k, h in ipairs(has_acted(self, "at").after) do out[k] = h:at(point) end
  return self._show(unpack(out))
end

-- The state before the first step of rows x.
local function first_of(self, x, given, lead)
  if given ~= nil then return util.list(given) end
  if not self._env.carry then return zeros(self, x, lead) end
  if #lead > 0 then
    util.fail("option", "segments: the rows of a minibatch go on from the state before their first "
      .. "step: put memory:first() into the set and write first = batch.first")
  end
  return { self:first() }
end

--- States along whole rows x over time, for learning, with the parameters of where they are read:
--- nothing where an episode begins, elsewhere what the step before left.
---   begins   where episodes begin (the environment's)
---   first    the state before the first step: a tensor, or a list of the cell's (its own)
--- Minibatches hand in theirs: rows are leading axes of x, begins and first.
---@param x tempo.Tensor
---@param o? { begins?: tempo.Tensor, first?: tempo.Tensor|tempo.Tensor[] }
---@return tempo.Tensor ...
function Memory:segments(x, o)
  o = util.options("segments", o, "begins first")
  local env, t = self._env, self._env.time
  util.expect("segments: x", "tensor", x)
  if not util.dimset(x)[t] then
    util.fail("domain", "segments: x has no '%s': rows are whole in time", t:name())
  end
  local begins = util.expect("segments: begins", "tensor", o.begins or env.begins)
  local lead = begins:shape()
  local first = first_of(self, x, o.first, lead)
  local function fresh(h)                                  -- nothing where an episode begins
    local starts = begins
    for _ = #lead + 1, #h:shape() do starts = starts:unsqueeze(-1) end
    return tempo.where(starts, 0, h)
  end
  local domain = { x }
  local function over(y)
    if #y:domain() > 0 then domain[#domain + 1] = y end
  end
  for k, h in ipairs(first) do first[k] = fresh(h) end
  for k, y in ipairs(after(self, x, first)) do
    over(first[k])
    over(y)
  end
  local before = declare(self, x, lead, domain)
  local states = after(self, x, before)
  for k, h in ipairs(before) do
    h[{ [t] = 0 }] = first[k]
    h:otherwise(fresh(states[k]:at { [t] = t - 1 }))
  end
  return self._show(unpack(states))
end

-- ---- kinds -----------------------------------------------------------------------------------

local function shapes_of(cell, o)
  local shape, n = o.shape, type(cell) == "table" and rawget(cell, "hidden")
  if not shape and n then
    shape = {}
    for k = 1, rawget(cell, "states") or 1 do shape[k] = { n } end
  elseif not shape then
    util.fail("option", "rl.memory: the shape of the state is missing: { shape = {64} }, or a list "
      .. "of shapes for a state of several tensors")
  end
  if type(shape[1]) ~= "table" then shape = { shape } end
  return shape
end

--- A memory of what an agent sees, a state that follows the environment:
---   local memory = rl.memory(nn.GRUCell(P, 4, 32, { along = {i, k} }), env)
---   local h = memory(env.obs)                 the state after env.obs: what the policy looks at
---   local h = memory:next(env.next_obs)       the state if next_obs were seen next, for its value
---   local h = memory:segments(env.obs)        states along whole rows with the weights of update k
--- It is 0 before an episode's first step and goes on over iterations where the environment
--- carries. A cell is a module or a function of (x, state) that gives the next state; of (x, h, c),
--- which gives both, for an LSTM. Acting weights are those of the iteration's beginning. Options:
--- shape of the state, where the cell is none of tempo.nn ({ {64}, {64} } for a state of two
--- tensors), dtype.
---@param cell tempo.nn.Module|function
---@param env tempo.rl.Env
---@param o? { shape?: tempo.Extent[]|tempo.Extent[][], dtype?: tempo.Dtype }
---@return tempo.rl.Memory
function rl.memory(cell, env, o)
  if type(cell) ~= "function" and type(cell) ~= "table" then
    util.fail("option", "rl.memory: the cell is a module or a function, not a %s", type(cell))
  end
  o = util.options("rl.memory", o, "shape dtype")
  local shapes, parts = shapes_of(cell, o), {}
  local dtype = o.dtype or type(cell) == "table" and rawget(cell, "_dtype") or nil
  for k, shape in ipairs(shapes) do parts[k] = { shape = shape, dtype = dtype } end
  return create("rl.memory", type(env) == "table" and env.program, env, cell,
    function() return parts end)
end

--- The last n that were seen in the same episode, for attention over them:
---   local window = rl.window(P, 8, env)
---   local seen, mask = window(env.obs)         (8, 4), the newest last; (8) bool: of this episode
---   local scores = tempo.where(mask, keys(seen):matmul(query(env.obs)), -1e9)
---   local y = scores:softmax(-1):matmul(values(seen))
--- It is a memory: next, at and segments give the two as well, first gives its state.
---@param P tempo.Program
---@param n integer
---@param env tempo.rl.Env
---@return tempo.rl.Memory
function rl.window(P, n, env)
  util.expect("rl.window: n", "count", n)
  local function shift(x, seen, count)
    local axis = #count:shape()
    return tempo.cat({ seen:slice(axis, 1, n), x:unsqueeze(axis) }, axis), (count + 1):minimum(n)
  end
  local function like(shape, dtype)
    return { { shape = { n, unpack(shape) }, dtype = dtype }, { shape = {}, dtype = "i64" } }
  end
  return create("rl.window", P, env, shift, like, function(seen, count)
    return seen, (count:unsqueeze(-1) + tempo.arange { n }):ge(n)
  end)
end

return rl

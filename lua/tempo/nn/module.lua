-- Modules: what holds named parameters and submodules; views of a module at other points or in
-- another program; target networks.
local util = require "tempo.util"
local init = require "tempo.initial"
local is_module = require("tempo.nn.shared").is_module

local nn = {}

---@class tempo.nn.Module
---@field name string path of the module
---@field program tempo.Program
---@overload fun(...: any): any
local Module = {}
Module.__index = Module
Module.__call = function(self, ...) return self:forward(...) end
Module.__tostring = function(self) return string.format("nn.%s %q", self._type, self.name) end
nn.Module = Module
setmetatable(Module, util.answers("a module", "train zero_grad state_dict load_state_dict cuda cpu "
  .. "children modules named_modules requires_grad_ register_parameter register_buffer add_module"))

local function evolves(x) return util.is_tensor(x) and #x:along() > 0 end

local function is_list(x) return type(x) == "table" and getmetatable(x) == nil end

-- A module or parameter that a script assigns is adopted: self.fc = nn.Linear(...) is
-- self:add("fc", ...). A plain table is searched only when parameters are listed, so that
-- self.layers = {} may be filled later; a table whose name begins with '_' is not.
function Module:__newindex(key, value)
  if is_module(value) then self:add(key, value)
  elseif evolves(value) then self:register(key, value)
  else
    if is_list(value) and tostring(key):sub(1, 1) ~= "_" then
      self._children[#self._children + 1] = key
    end
    rawset(self, key, value)
  end
end

--- A new class, for which the script writes Net:forward(x); its constructor begins with
--- Net:create(P, options).
---@param name string
---@param base? tempo.nn.Module the class it extends (Module)
---@return tempo.nn.Module
function nn.class(name, base)
  base = base or Module
  local class = setmetatable({}, { __index = base })
  class.__index = class
  class.__newindex = base.__newindex
  class.__call = base.__call
  class.__tostring = base.__tostring
  class._type = name
  return class
end
Module._type = "Module"

--- A module of this class, without parameters yet.
---@param P tempo.Program
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string }
---@return tempo.nn.Module
function Module:create(P, o)
  local what = "nn." .. self._type
  util.program(what, P)
  if o ~= nil and type(o) ~= "table" then
    util.fail("option", "%s: expected a table of options, got a %s", what, type(o))
  end
  o = o or {}
  return setmetatable({
    program = P, name = o.name and util.take(P, o.name) or util.fresh(P, self._type:lower()),
    _along = util.list(o.along), _domain = util.list(o.domain), _dtype = o.dtype,
    _params = {}, _states = {}, _children = {}, training = true,
  }, self)
end

-- A key that is free: no method, no field of the module, no other parameter or submodule.
local function free(self, key)
  if rawget(self, key) ~= nil or rawget(Module, key) ~= nil then
    util.fail("option", "'%s' has a field '%s' already; call the new one something else", self.name,
      tostring(key))
  end
  return key
end

local function new_param(self, key, shape, o)
  free(self, key)
  local P, path = self.program, self.name .. "." .. key
  if select(2, util.take(P, "parameter " .. path)) then
    util.fail("option", "there is a parameter '%s' already; give this nn.%s another name", path,
      self._type)
  end
  local along, domain = util.list(o.along or self._along), util.list(o.domain or self._domain)
  local dtype = o.dtype or self._dtype
  return P:param(path, {
    along = #along > 0 and along or nil, domain = #domain > 0 and domain or nil, shape = shape,
      dtype = dtype,
    init = init.make(P, o.init, shape,
      { name = path .. ".init", domain = domain, dtype = dtype, gain = o.gain, bound = o.bound }),
  }), path
end

--- Makes the parameter "<module>.<key>" as self[key].
---@param key string|integer
---@param shape tempo.Extent[]
---@param o? { init?: tempo.nn.Init, gain?: number, bound?: number, along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype }
---@return tempo.Tensor
function Module:param(key, shape, o)
  o = util.options("param '" .. tostring(key) .. "'", o, "init gain bound along domain dtype")
  return self:register(key, new_param(self, key, shape, o))
end

--- A state as Module:param makes it, saved with the parameters but not among net:parameters(), so
--- no optimiser's.
---@param key string
---@param shape tempo.Extent[]
---@param o? { init?: tempo.nn.Init, along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype }
---@return tempo.Tensor
function Module:buffer(key, shape, o)
  o = util.options("buffer '" .. tostring(key) .. "'", o, "init along domain dtype")
  local p = new_param(self, key, shape, o)
  self._states[#self._states + 1] = key
  rawset(self, key, p)
  return p
end

--- Adopts a parameter made elsewhere as self[key].
---@param key string|integer
---@param p tempo.Tensor
---@param path? string its path, if it is not `<module>.<key>`
---@return tempo.Tensor
function Module:register(key, p, path)
  if not util.is_tensor(p) then
    util.fail("option", "'%s' of '%s' is no parameter", tostring(key), self.name)
  end
  self._params[#self._params + 1] = { key = free(self, key), path = path or p:name() }
  rawset(self, key, p)
  return p
end

--- Adopts a submodule; self[key] = module is the same.
---@param key string|integer
---@param module tempo.nn.Module
---@return tempo.nn.Module
function Module:add(key, module)
  if not is_module(module) then
    util.fail("option", "'%s' of '%s' is no module", tostring(key), self.name)
  end
  self._children[#self._children + 1] = free(self, key)
  rawset(self, key, module)
  return module
end

-- Keys of a list: numbers in order, then names. Lists of data have none of interest.
local function keys_of(list)
  local keys, first = {}, type(list[1])
  if first == "number" or first == "boolean" then return keys end
  for key in pairs(list) do
    if type(key) == "number" or type(key) == "string" then keys[#keys + 1] = key end
  end
  table.sort(keys, function(a, b)
    if type(a) == type(b) then return a < b end
    return type(a) == "number"
  end)
  return keys
end

-- { path, parameter } once for each path: a module that stands in two places counts once. x: a
-- module, a parameter or a list of them, lists in it included.
local function collect(x, out, seen)
  local function take(path, p)
    if seen[path] then return end
    seen[path] = true
    out[#out + 1] = { path, p }
  end
  if evolves(x) then take(x:name(), x) end
  if not (is_module(x) or is_list(x)) or seen[x] then return out end
  seen[x] = true
  for _, e in ipairs(is_module(x) and x._params or {}) do take(e.path, x[e.key]) end
  for _, key in ipairs(is_module(x) and x._children or keys_of(x)) do collect(x[key], out, seen) end
  return out
end

--- All parameters, its own first, then those of submodules, in the order in which they were made.
---@return tempo.Tensor[]
function Module:parameters()
  local out = {}
  for k, e in ipairs(collect(self, {}, {})) do out[k] = e[2] end
  return out
end

--- Iterates over paths and parameters.
---@return fun(): string?, tempo.Tensor?
function Module:named_parameters()
  local all, k = collect(self, {}, {}), 0
  return function()
    k = k + 1
    if all[k] then return all[k][1], all[k][2] end
  end
end

-- The part of an index that concerns the dims p has; nil: nothing does.
local function index_of(p, at)
  if at[1] ~= nil then return at end                       -- by position: all dims
  local part, any = {}, false
  for _, d in ipairs(p:domain()) do
    local e = at[d]
    if e == nil then e = at[d:name()] end
    if e ~= nil then part[d], any = e, true end
  end
  return any and part or nil
end

local function same(p) return p end

-- A copy of a module, or of a list of modules and parameters: change.param(p, path) and
-- change.state(p) return the copies of a parameter and of a buffer; change.training (nil: as it
-- was) says whether the copy trains. With change.views a tensor in a list goes to change.param too:
-- it may be a parameter read elsewhere. A value in two places (change.made) is copied once.
local function copied(x, change)
  if evolves(x) or (change.views and util.is_tensor(x)) then return change.param(x, x:name()) end
  if not (is_module(x) or is_list(x)) then return x end
  local v = change.made[x]
  if v then return v end
  v = {}
  change.made[x] = v
  for key, value in pairs(x) do v[key] = value end
  for _, key in ipairs(is_module(x) and x._children or keys_of(x)) do
    v[key] = copied(x[key], change)
  end
  if not is_module(x) then return v end
  for _, e in ipairs(x._params) do v[e.key] = change.param(x[e.key], e.path) end
  for _, key in ipairs(x._states) do v[key] = (change.state or same)(x[key]) end
  if change.training ~= nil then v.training = change.training end
  v.program = change.program or v.program
  return setmetatable(v, getmetatable(x))
end

local function view(self, at)
  local function read(p)
    local part = index_of(p, at)
    return part and p:at(part) or p
  end
  return copied(self, { param = read, state = read, views = true, made = {} })
end

--- The same module, its parameters included, that does not train: no dropout, running statistics.
---@return tempo.nn.Module
function Module:eval()
  return copied(self, { param = same, training = false, made = {} })
end

--- The same module with its parameters read at these points; those without these dims stay as they
--- are.
---@param at tempo.Key
---@return tempo.nn.Module
function Module:at(at)
  if type(at) ~= "table" then at = { at } end
  local has = {}
  for _, e in ipairs(collect(self, {}, {})) do
    for _, d in ipairs(e[2]:domain()) do has[d], has[d:name()] = true, true end
  end
  for key in pairs(at) do
    if type(key) ~= "number" and not has[key] then
      util.fail("domain", "no parameter of '%s' has the dim '%s'", self.name, tostring(key))
    end
  end
  return view(self, at)
end

--- The same module with the values that its parameters take at the next point: w:next().
---   local after = net:next()(x)          by now the step of this point has changed the parameters
--- Running statistics are those of the next point too. A parameter that nothing updates is an
--- error.
---@return tempo.nn.Module
function Module:next()
  local any = false
  local function taken(p)
    any = any or evolves(p)
    return evolves(p) and p:next() or p
  end
  local v = copied(self, { param = taken, state = taken, made = {} })
  if not any then
    util.fail("option", "next: no parameter of '%s' evolves: make it with along = {i}, and ask the "
      .. "module itself, not net:at{...}", self.name)
  end
  return v
end

--- The same module with what f(p, path) gives in the place of each parameter p, once for each path;
--- buffers stay.
---@param f fun(p: tempo.Tensor, path: string): tempo.Tensor
---@return tempo.nn.Module
function Module:mapped(f)
  local made = {}
  return copied(self, { made = {}, param = function(p, path)
    made[path] = made[path] or f(p, path)
    return made[path]
  end })
end

--- Modules in another program, where their parameters are constants of the run, with the paths they
--- have here and 0 until something is loaded: g:load_params(f:params{ of = net }). They do not
--- train. A parameter with further dims (`domain`: seeds) gets in P the dims that `dims` gives for
--- them.
---@param P tempo.Program the other program
---@param x any a module, or a list of modules
---@param dims? table<tempo.Index, tempo.Index>
---@return any x, in P
function nn.into(P, x, dims)
  util.program("nn.into", P)
  local made = {}
  local function beside(p, path)
    local along, domain = {}, {}
    for _, d in ipairs(p:along()) do along[d] = true end
    for _, d in ipairs(p:domain()) do
      if not along[d] then
        domain[#domain + 1] = dims and dims[d] or util.fail("domain",
          "nn.into: '%s' has the dim '%s', for which there is no dim of the other program", path,
          d:name())
      end
    end
    return #domain > 0 and domain or nil
  end
  local function constant(p, path)
    made[path] = made[path] or P:param(path,
      { domain = beside(p, path), shape = p:shape(), dtype = p:dtype(), init = 0 })
    return made[path]
  end
  return copied(x, { param = constant, state = function(p) return constant(p, p:name()) end,
    program = P, training = false, made = {} })
end

-- ---- target networks ----------------------------------------------------------------------------

local function declared_like(p, dtype, path)
  return p:program():tensor { domain = { p }, shape = p:shape(), dtype = dtype,
    name = path .. ".target" }
end

-- w at k - k % n, where it evolves along k: carried from k to k, so that one copy is kept and not
-- the last n.
local function snapshot(n)
  return function(w, path)
    local along = w:along()
    if #along == 0 or n == 1 then return w:detach() end
    if #along > 1 then
      util.fail("domain",
        "target: every = %d of which? '%s' evolves along %s and %s: write net:at{...}", n, path,
        along[1]:name(), along[2]:name())
    end
    local k, p = along[1], declared_like(w, w:dtype(), path)
    p:when((k % n):eq(0), w:detach())
    p:otherwise(p:at { [k] = k - 1 })
    return p:detach()
  end
end

-- p at the point before and where it is that: dim j of `along` has moved, those inside it were at
-- their last (which may be one of that very point, so it is taken first).
local function before(p, along, j)
  local moved = along[j]:ge(1)
  for k = #along, j + 1, -1 do
    p, moved = p:at { [along[k]] = along[k]:upper() - 1 }, moved:land(along[k]:eq(0))
  end
  return p:at { [along[j]] = along[j] - 1 }, moved
end

-- p[0] = w[0], p[k+1] = (1 - a) p[k] + a w[k+1] along the dims of w; beside f16 and bf16 in f32,
-- where 0.995 is not 1.
local function follower(a)
  return function(w, path)
    local along, dtype = w:along(), w:dtype()
    if #along == 0 then return w:detach() end
    local now = ((dtype == "f16" or dtype == "bf16") and w:to "f32" or w):detach()
    local p = declared_like(w, now:dtype(), path)
    for j = #along, 1, -1 do
      local was, moved = before(p, along, j)
      p:when(moved, (1 - a) * was + a * now)
    end
    p:otherwise(now)
    return p:to(dtype):detach()
  end
end

--- A module that follows this one, for the targets of learning; no gradient flows through it, and
--- it does not train.
---   every = n   its parameters are net's at k - k % n, where k is the dim along which they evolve:
---   a copy, every n points
---   tau = a     p[0] = w[0], p[k+1] = (1 - a) p[k] + a w[k+1]: a moving average (a number, or a
---   tensor: at the new point)
--- Buffers (running statistics) are net's: with `every` of the same point, with `tau` of now. A
--- moving average is no parameter: f:save keeps it, f:load_params begins it anew.
---@param o { every?: integer, tau?: tempo.Operand }
---@return tempo.nn.Module
function Module:target(o)
  o = util.options("target", o, "every tau")
  local n, a = o.every, o.tau
  if (n == nil) == (a == nil) then
    util.fail("option", "target takes every = n or tau = a, one of them")
  end
  if n ~= nil and (type(n) ~= "number" or n < 1 or n ~= math.floor(n)) then
    util.fail("option", "target: every is %s; it must be an integer, 1 or more", tostring(n))
  end
  if a ~= nil and not util.is_tensor(a) and not (type(a) == "number" and a >= 0 and a <= 1) then
    util.fail("option", "target: tau is %s; it must be a number from 0 to 1, or a tensor",
      tostring(a))
  end
  local made, follow, any = {}, n and snapshot(n) or follower(a), false
  local function param(p, path)
    any = any or evolves(p)
    -- one for a module that stands in two places
    made[path] = made[path] or follow(p, path)
    return made[path]
  end
  local function state(p) return n and follow(p, p:name()) or p:detach() end
  local v = copied(self, { param = param, state = state, training = false, made = {} })
  if not any then
    util.fail("option", "target: no parameter of '%s' evolves: make it with along = {k}%s",
      self.name, #collect(self, {}, {}) > 0 and ", and ask the module itself, not net:at{...}"
      or "")
  end
  return v
end

function Module:forward()
  util.fail("option", "nn.%s has no forward", self._type)
end

return nn

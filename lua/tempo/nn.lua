--- tempo.nn: modules. A module holds named parameters and submodules, alone and in lists
--- (self.layers = { a, b }, or {} and filled later); calling it records its forward pass. A
--- constructor takes the program first and a table of options last, of which all have
---   along   the dims along which the parameters evolve ({i}); none: constants of the run
---   domain  further dims: one such state for each of their points (layers, seeds)
---   name    path of the module; its parameters are "<name>.weight" ...; a fresh one if left out
---   dtype   (the program's)
--- Layers with weights have init (see tempo.nn.init), gain, bias (true: there is one) and
--- bias_init, too; norms have no init and gain, cells no bias_init, Embedding no bias. Options of a
--- method of the same name are those of the method. Shapes of weights and defaults are PyTorch's.
local tempo = require "tempo"
local util = require "tempo.util"
local init = require "tempo.initial"

local unpack = table.unpack or unpack       -- luacheck: globals unpack
---@class tempo.nn
---@field init tempo.nn.init
---@field Tanh fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field ReLU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field Sigmoid fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field GELU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field SiLU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field ELU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field LeakyReLU fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field Softplus fun(P: tempo.Program): tempo.nn.Module The activation of this name as a module.
---@field Identity fun(P: tempo.Program): tempo.nn.Module The identity as a module.
local nn = { init = init }

-- ---- Module -------------------------------------------------------------------------------------
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

local function is_module(x) return type(x) == "table" and rawget(x, "_children") ~= nil end
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

-- ---- layers -------------------------------------------------------------------------------------
local common = "along domain dtype name "

-- P first, then sizes that are integers above 0.
local function check(what, P, ...)
  util.program(what, P)
  for k = 1, select("#", ...) do
    local n = select(k, ...)
    if type(n) ~= "number" or n < 1 or n ~= math.floor(n) then
      util.fail("option", "%s: size %d is %s; it must be an integer, 1 or more", what, k,
        tostring(n))
    end
  end
end

-- PyTorch's first values, times gain.
local function as_torch(fan_in, o)
  return { init = "uniform", bound = (o.gain or 1) / math.sqrt(fan_in) }
end

---@class tempo.nn.Linear: tempo.nn.Module
---@field weight tempo.Tensor (nout, nin)
---@field bias tempo.Tensor? (nout)
local Linear = nn.class "Linear"
--- y = x W^T + b, (..., nin) to (..., nout). Without init weight and bias are uniform in
--- +-gain/sqrt(nin); with one the bias is 0.
---@param P tempo.Program
---@param nin integer
---@param nout integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number, bias?: boolean, bias_init?: tempo.nn.Init }
---@return tempo.nn.Linear
function nn.Linear(P, nin, nout, o)
  check("nn.Linear", P, nin, nout)
  o = util.options("nn.Linear", o, common .. "init gain bias bias_init")
  util.numbers("nn.Linear", o, "gain")
  local self = Linear:create(P, o)
  self.nin, self.nout = nin, nout
  local default = as_torch(nin, o)
  self:param("weight", { nout, nin }, o.init ~= nil and { init = o.init, gain = o.gain } or default)
  if o.bias ~= false then
    local b = o.bias_init
    if b == nil and o.init ~= nil then b = 0 end
    self:param("bias", { nout }, b ~= nil and { init = b } or default)
  end
  return self
end
function Linear:forward(x)
  local y = tempo.matmul(x, self.weight:mT())
  if self.bias then y = y + self.bias end
  return y
end

local activations = { identity = true }
for name in ("tanh relu sigmoid gelu silu elu leaky_relu softplus"):gmatch "%S+" do
  activations[name] = true end

-- A name is that of a method of tensors, or "identity".
local function activation(a, what)
  if a == nil or a == false or a == "identity" then return function(x) return x end end
  if type(a) == "string" then
    if not rawget(tempo, a) then
      local near = util.nearest(a, activations)
      util.fail("option", "%s: unknown activation '%s'%s", what, a,
        near and "; did you mean '" .. near .. "'?" or "")
    end
    return function(x) return x[a](x) end
  end
  if type(a) == "function" or type(a) == "table" then return a end
  util.fail("option", "%s: activation is a method's name or a function, not a %s", what, type(a))
end

---@class tempo.nn.MLP: tempo.nn.Module
local MLP = nn.class "MLP"
--- Linear layers of the given sizes with an activation ("tanh") between them, and out_activation
--- (none) at the end; gain is of hidden layers, out_gain of the last (the same).
---@param P tempo.Program
---@param sizes integer[]
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, activation?: string|function, out_activation?: string|function, init?: tempo.nn.Init, gain?: number, out_gain?: number, bias?: boolean, bias_init?: tempo.nn.Init }
---@return tempo.nn.MLP
function nn.MLP(P, sizes, o)
  o = util.options("nn.MLP", o,
    common .. "activation out_activation init gain out_gain bias bias_init")
  util.numbers("nn.MLP", o, "gain out_gain")
  if type(sizes) ~= "table" or #util.sequence("nn.MLP", sizes, "{ 4, 64, 2 }") < 2 then
    util.fail("option", "nn.MLP: expected the layers' sizes, such as { 4, 64, 2 }")
  end
  check("nn.MLP", P, unpack(sizes))
  local self = MLP:create(P, o)
  self.n = #sizes - 1
  self.activation = activation(o.activation or "tanh", "nn.MLP")
  self.out_activation = activation(o.out_activation, "nn.MLP")
  for k = 1, self.n do
    local last = k == self.n
    self:add(k - 1, nn.Linear(P, sizes[k], sizes[k + 1], {
      along = o.along, domain = o.domain, dtype = o.dtype, name = self.name .. "." .. (k - 1),
      init = o.init, gain = last and o.out_gain or o.gain, bias = o.bias, bias_init = o.bias_init,
    }))
  end
  return self
end
function MLP:forward(x)
  for k = 0, self.n - 1 do
    x = self[k](x)
    x = (k < self.n - 1 and self.activation or self.out_activation)(x)
  end
  return x
end

---@class tempo.nn.Sequential: tempo.nn.Module
local Sequential = nn.class "Sequential"
--- Modules, functions and names of methods, one after the other.
---@param P tempo.Program
---@param list (tempo.nn.Module|string|function)[]
---@param o? { name?: string }
---@return tempo.nn.Sequential
function nn.Sequential(P, list, o)
  local like = "{ a, \"relu\", b }"
  if is_module(list) then
    util.fail("option", "nn.Sequential: expected a list such as %s, got a module", like)
  end
  util.sequence("nn.Sequential", list, like)
  o = util.options("nn.Sequential", o, "name")
  local self = Sequential:create(P, o)
  self.steps = {}
  for k, m in ipairs(list) do
    if is_module(m) then self:add(k - 1, m)
    else self.steps[k] = activation(m, "nn.Sequential") end
  end
  self.n = #list
  return self
end
function Sequential:forward(x)
  for k = 1, self.n do x = (self[k - 1] or self.steps[k])(x) end
  return x
end

local Activation = nn.class "Activation"
function Activation:forward(x) return self.f(x) end
for class, method in pairs {
  Tanh = "tanh", ReLU = "relu", Sigmoid = "sigmoid", GELU = "gelu", SiLU = "silu", ELU = "elu",
  LeakyReLU = "leaky_relu", Softplus = "softplus", Identity = "identity",
} do
  --- nn.Tanh(P) and kin: for Sequential; "tanh" does the same.
  nn[class] = function(P)
    local self = Activation:create(P, { name = class })
    self.f = activation(method)
    return self
  end
end

---@class tempo.nn.Embedding: tempo.nn.Module
---@field weight tempo.Tensor (num, dim)
local Embedding = nn.class "Embedding"
--- Rows of a table by i64 index, (...) to (..., dim); init is "normal" unless given.
---@param P tempo.Program
---@param num integer
---@param dim integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number }
---@return tempo.nn.Embedding
function nn.Embedding(P, num, dim, o)
  check("nn.Embedding", P, num, dim)
  o = util.options("nn.Embedding", o, common .. "init gain")
  util.numbers("nn.Embedding", o, "gain")
  local self = Embedding:create(P, o)
  self.num, self.dim = num, dim
  self:param("weight", { num, dim }, { init = o.init or "normal", gain = o.gain })
  return self
end
function Embedding:forward(k)
  local shape = k:shape()
  if #shape <= 1 then return self.weight:index_select(0, k) end
  shape[#shape + 1] = self.dim
  return self.weight:index_select(0, k:reshape { -1 }):reshape(shape)
end

---@class tempo.nn.LayerNorm: tempo.nn.Module
---@field weight tempo.Tensor?
---@field bias tempo.Tensor?
local LayerNorm = nn.class "LayerNorm"
--- The method `layer_norm` over the last axes with weight and bias, unless affine or bias is false.
---@param P tempo.Program
---@param shape integer|integer[] that of the last axes
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, eps?: number, affine?: boolean, bias?: boolean }
---@return tempo.nn.LayerNorm
function nn.LayerNorm(P, shape, o)
  o = util.options("nn.LayerNorm", o, common .. "eps affine bias")
  util.numbers("nn.LayerNorm", o, "eps")
  local self = LayerNorm:create(P, o)
  shape = util.list(shape)
  self.eps, self.shape = o.eps or 1e-5, shape
  if o.affine ~= false then
    self:param("weight", shape, { init = 1 })
    if o.bias ~= false then self:param("bias", shape, { init = 0 }) end
  end
  return self
end
function LayerNorm:forward(x)
  return x:layer_norm(self.shape, { weight = self.weight, bias = self.bias, eps = self.eps })
end

local RMSNorm = nn.class "RMSNorm"
--- The method `rms_norm` over the last axes with a weight, unless affine is false.
---@param P tempo.Program
---@param shape integer|integer[] that of the last axes
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, eps?: number, affine?: boolean }
---@return tempo.nn.Module
function nn.RMSNorm(P, shape, o)
  o = util.options("nn.RMSNorm", o, common .. "eps affine")
  util.numbers("nn.RMSNorm", o, "eps")
  local self = RMSNorm:create(P, o)
  self.eps, self.shape = o.eps, util.list(shape)
  if o.affine ~= false then self:param("weight", self.shape, { init = 1 }) end
  return self
end
function RMSNorm:forward(x)
  return x:rms_norm(self.shape, { weight = self.weight, eps = self.eps })
end

local BatchNorm = nn.class "BatchNorm"
--- The method `batch_norm`: each channel (axis 1) by the statistics of the batch; running ones,
--- which net:eval() uses, are states along the parameters' dims, which the first call moves by
--- momentum (0.1) towards the mean over all points of x that they lack.
---@param P tempo.Program
---@param features integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, eps?: number, momentum?: number, affine?: boolean }
---@return tempo.nn.Module
function nn.BatchNorm(P, features, o)
  check("nn.BatchNorm", P, features)
  o = util.options("nn.BatchNorm", o, common .. "eps momentum affine")
  util.numbers("nn.BatchNorm", o, "eps momentum")
  local self = BatchNorm:create(P, o)
  self.features, self.eps, self.momentum = features, o.eps or 1e-5, o.momentum or 0.1
  if o.affine ~= false then
    self:param("weight", { features }, { init = 1 })
    self:param("bias", { features }, { init = 0 })
  end
  self._moved = { mean = self:buffer("running_mean", { features }, { init = 0 }),
    var = self:buffer("running_var", { features }, { init = 1 }), done = #self._along == 0 }
  return self
end
nn.BatchNorm1d, nn.BatchNorm2d = nn.BatchNorm, nn.BatchNorm

-- state := (1 - momentum) state + momentum v, v averaged over the dims that the state lacks.
local function follow(self, state, v)
  local has = util.dimset(state)
  for _, d in ipairs(v:domain()) do
    if not has[d] then v = v[{ [d] = tempo.range(0, d:upper()) }]:mean(0) end
  end
  state:update((state * (1 - self.momentum) + v * self.momentum):detach())
end

function BatchNorm:forward(x)
  local affine = { weight = self.weight, bias = self.bias, training = self.training,
    eps = self.eps }
  if not self.training then return x:batch_norm(self.running_mean, self.running_var, affine) end
  -- the states themselves, whatever view self is
  local moved = self._moved
  if not moved.done then
    moved.done = true
    local axes = { 0 }
    for k = 2, #x:shape() - 1 do axes[k] = k end
    follow(self, moved.mean, x:mean(axes))
    follow(self, moved.var, x:var(axes))
  end
  return x:batch_norm(affine)
end

local Dropout = nn.class "Dropout"
--- Zero with probability p (0.5) while training, else x / (1 - p). Options: key, of its draws.
---@param P tempo.Program
---@param p? number
---@param o? { key?: tempo.Operand, name?: string }
---@return tempo.nn.Module
function nn.Dropout(P, p, o)
  o = util.options("nn.Dropout", o, "name key")
  util.numbers("nn.Dropout", { p = p }, "p")
  local self = Dropout:create(P, o)
  self.p, self.key = p or 0.5, o.key
  return self
end
function Dropout:forward(x) return x:dropout(self.p, self.training, { key = self.key }) end

-- ---- convolution and pooling: sizes, strides and paddings are numbers or one for each spatial
-- axis
local function each(what, v, d)
  if type(v) == "number" then
    local t = {}
    for k = 1, d do t[k] = v end
    return t
  end
  if type(v) ~= "table" or #v ~= d then
    util.fail("option", "%s: the kernel's size is a number or a table of %d", what, d)
  end
  return v
end

-- Windows of weight (a, b, ...), first values as PyTorch's: by b times the size of a window.
local function convolution(class, method, d, transposed)
  function class:forward(x) return x[method](x, self.weight, self.bias, self.options) end
  return function(P, nin, nout, size, o)
    local what = "nn." .. class._type
    check(what, P, nin, nout)
    o = util.options(what, o,
      common .. "stride padding output_padding dilation groups bias init gain bias_init")
    util.numbers(what, o, "groups gain")
    size = each(what, size, d)
    local self, groups = class:create(P, o), o.groups or 1
    local a, b = transposed and nin or nout, transposed and nout or nin
    if nin % groups ~= 0 or nout % groups ~= 0 then
      util.fail("option", "%s: %d and %d channels are not in %d equal groups", what, nin, nout,
        groups)
    end
    self.nin, self.nout = nin, nout
    self.options = { stride = o.stride, padding = o.padding, dilation = o.dilation,
      groups = o.groups, output_padding = o.output_padding }
    local shape, fan_in = { a, math.floor(b / groups) }, math.floor(b / groups)
    for k = 1, d do
      shape[k + 2] = size[k]
      fan_in = fan_in * size[k]
    end
    local default = as_torch(fan_in, o)
    self:param("weight", shape, o.init ~= nil and { init = o.init, gain = o.gain } or default)
    if o.bias ~= false then
      local first = o.bias_init
      if first == nil and o.init ~= nil then first = 0 end
      self:param("bias", { nout }, first ~= nil and { init = first } or default)
    end
    return self
  end
end

local Conv1d = nn.class "Conv1d"
--- The method `conv1d` with a weight (nout, nin / groups, size).
---@param P tempo.Program
---@param nin integer
---@param nout integer
---@param size integer|integer[]
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, stride?: integer|integer[], padding?: integer|integer[]|string, dilation?: integer|integer[], groups?: integer, bias?: boolean, init?: tempo.nn.Init, gain?: number, bias_init?: tempo.nn.Init }
---@return tempo.nn.Module
nn.Conv1d = convolution(Conv1d, "conv1d", 1)

local Conv2d = nn.class "Conv2d"
--- The method `conv2d` with a weight (nout, nin / groups, h, w); size is one number or { h, w }.
---@param P tempo.Program
---@param nin integer
---@param nout integer
---@param size integer|integer[]
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, stride?: integer|integer[], padding?: integer|integer[]|string, dilation?: integer|integer[], groups?: integer, bias?: boolean, init?: tempo.nn.Init, gain?: number, bias_init?: tempo.nn.Init }
---@return tempo.nn.Module
nn.Conv2d = convolution(Conv2d, "conv2d", 2)

local ConvTranspose2d = nn.class "ConvTranspose2d"
--- The method `conv_transpose2d` with a weight (nin, nout / groups, h, w).
---@param P tempo.Program
---@param nin integer
---@param nout integer
---@param size integer|integer[]
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, output_padding?: integer|integer[], stride?: integer|integer[], padding?: integer|integer[]|string, dilation?: integer|integer[], groups?: integer, bias?: boolean, init?: tempo.nn.Init, gain?: number, bias_init?: tempo.nn.Init }
---@return tempo.nn.Module
nn.ConvTranspose2d = convolution(ConvTranspose2d, "conv_transpose2d", 2, true)

local function pool(class, method, known)
  function class:forward(x) return x[method](x, self.size, self.options) end
  return function(P, size, o)
    local self = class:create(P, { name = class._type })
    self.size, self.options = size, util.options("nn." .. class._type, o, known)
    return self
  end
end

local MaxPool2d = nn.class "MaxPool2d"
--- The method `max_pool2d`.
---@param P tempo.Program
---@param size integer|integer[]
---@param o? { stride?: integer|integer[], padding?: integer|integer[], dilation?: integer|integer[], ceil_mode?: boolean }
---@return tempo.nn.Module
nn.MaxPool2d = pool(MaxPool2d, "max_pool2d", "stride padding dilation ceil_mode")

local AvgPool2d = nn.class "AvgPool2d"
--- The method `avg_pool2d`.
---@param P tempo.Program
---@param size integer|integer[]
---@param o? { stride?: integer|integer[], padding?: integer|integer[], ceil_mode?: boolean, count_include_pad?: boolean, divisor_override?: integer }
---@return tempo.nn.Module
nn.AvgPool2d = pool(AvgPool2d, "avg_pool2d",
  "stride padding ceil_mode count_include_pad divisor_override")

local Flatten = nn.class "Flatten"
--- Axes first (1) .. last made one.
---@param P tempo.Program
---@param first? integer
---@param last? integer
---@return tempo.nn.Module
function nn.Flatten(P, first, last)
  local self = Flatten:create(P, { name = "Flatten" })
  self.first, self.last = first or 1, last
  return self
end
function Flatten:forward(x) return x:flatten(self.first, self.last) end

-- ---- recurrent cells: the equations and names of torch.nn ---------------------------------------
local function cell(class, gates, states)
  return function(P, nin, hidden, o)
    check("nn." .. class._type, P, nin, hidden)
    o = util.options("nn." .. class._type, o, common .. "bias init gain activation")
    util.numbers("nn." .. class._type, o, "gain")
    local self = class:create(P, o)
    self.nin, self.hidden, self.states = nin, hidden, states or 1
    self.activation = activation(o.activation or "tanh", "nn." .. class._type)
    local default = as_torch(hidden, o)
    local weight = o.init ~= nil and { init = o.init, gain = o.gain } or default
    self:param("weight_ih", { gates * hidden, nin }, weight)
    self:param("weight_hh", { gates * hidden, hidden }, weight)
    if o.bias ~= false then
      self:param("bias_ih", { gates * hidden }, default)
      self:param("bias_hh", { gates * hidden }, default)
    end
    return self
  end
end

local function affine(x, w, b)
  local y = tempo.matmul(x, w:mT())
  if b then y = y + b end
  return y
end

local function gate(y, k, hidden) return y:slice(-1, k * hidden, (k + 1) * hidden) end

---@class tempo.nn.RNNCell: tempo.nn.Module
---@field weight_ih tempo.Tensor
---@field weight_hh tempo.Tensor
---@field bias_ih tempo.Tensor?
---@field bias_hh tempo.Tensor?
local RNNCell = nn.class "RNNCell"
--- h' = tanh(W_ih x + b_ih + W_hh h + b_hh):  h[t] = cell(x[t], h[t-1])
---@param P tempo.Program
---@param nin integer
---@param hidden integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number, bias?: boolean, activation?: string|function }
---@return tempo.nn.RNNCell
nn.RNNCell = cell(RNNCell, 1)
function RNNCell:forward(x, h)
  return self.activation(affine(x, self.weight_ih, self.bias_ih) + affine(h, self.weight_hh,
    self.bias_hh))
end

---@class tempo.nn.LSTMCell: tempo.nn.Module
---@field weight_ih tempo.Tensor
---@field weight_hh tempo.Tensor
---@field bias_ih tempo.Tensor?
---@field bias_hh tempo.Tensor?
local LSTMCell = nn.class "LSTMCell"
--- i, f, g, o = W_ih x + b_ih + W_hh h + b_hh;  c' = sigmoid(f) c + sigmoid(i) tanh(g);  h' =
--- sigmoid(o) tanh(c'): h[t], c[t] = cell(x[t], h[t-1], c[t-1])
---@param P tempo.Program
---@param nin integer
---@param hidden integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number, bias?: boolean, activation?: string|function }
---@return tempo.nn.LSTMCell
nn.LSTMCell = cell(LSTMCell, 4, 2)
function LSTMCell:forward(x, h, c)
  local y, n = affine(x, self.weight_ih, self.bias_ih) + affine(h, self.weight_hh, self.bias_hh),
    self.hidden
  local i, f, g, o = gate(y, 0, n), gate(y, 1, n), gate(y, 2, n), gate(y, 3, n)
  local c1 = f:sigmoid() * c + i:sigmoid() * self.activation(g)
  return o:sigmoid() * self.activation(c1), c1
end

---@class tempo.nn.GRUCell: tempo.nn.Module
---@field weight_ih tempo.Tensor
---@field weight_hh tempo.Tensor
---@field bias_ih tempo.Tensor?
---@field bias_hh tempo.Tensor?
local GRUCell = nn.class "GRUCell"
--- r, z = sigmoid(W_i x + b_i + W_h h + b_h);  n = tanh(W_in x + b_in + r (W_hn h + b_hn));  h' =
--- (1 - z) n + z h
---@param P tempo.Program
---@param nin integer
---@param hidden integer
---@param o? { along?: tempo.Dims, domain?: tempo.Dims, dtype?: tempo.Dtype, name?: string, init?: tempo.nn.Init, gain?: number, bias?: boolean, activation?: string|function }
---@return tempo.nn.GRUCell
nn.GRUCell = cell(GRUCell, 3)
function GRUCell:forward(x, h)
  local a, b, n = affine(x, self.weight_ih, self.bias_ih), affine(h, self.weight_hh, self.bias_hh),
    self.hidden
  local r = (gate(a, 0, n) + gate(b, 0, n)):sigmoid()
  local z = (gate(a, 1, n) + gate(b, 1, n)):sigmoid()
  local new = self.activation(gate(a, 2, n) + r * gate(b, 2, n))
  return (1 - z) * new + z * h
end

return util.library("nn", nn)

-- Traced numbers and booleans: what a game's function holds while it is recorded. Operators make
-- nodes of the graph; a comparison of numbers is answered at once, as the path says. Under LuaJIT
-- they are cdata, because Lua 5.1 asks no metamethod for `number < table`; under Lua 5.4 tables.
local symbols = {}

-- A C type has one metatable as long as the process lives: where a host loads the libraries anew,
-- this is the module it had.
local loaded = debug.getregistry()
if loaded["tempo.rl.trace.symbols"] then return loaded["tempo.rl.trace.symbols"] end
loaded["tempo.rl.trace.symbols"] = symbols

local jit = rawget(_G, "jit")
local type, getmetatable, setmetatable, select = type, getmetatable, setmetatable, select
local real = {}
for name, f in pairs(math) do real[name] = f end

local meta = {}
-- the recorder that is at work: graph, ask(id), refuse(text, ...)
local current

local id_of, wrap
if jit then
  local ffi = require "ffi"
  ffi.cdef "typedef struct { int tempo_node; } tempo_traced;"
  local make
  function wrap(id) return make(id) end
  function id_of(v) return type(v) == "cdata" and ffi.istype(make, v) and v.tempo_node or nil end
  function symbols.ready() make = ffi.metatype("tempo_traced", meta) end
else
  function wrap(id) return setmetatable({ tempo_node = id }, meta) end
  function id_of(v)
    return type(v) == "table" and getmetatable(v) == meta and v.tempo_node or nil
  end
  function symbols.ready() end
end

--- The node of a traced value, or nil.
symbols.id_of = id_of

--- The value that stands for a node: Lua's own where the node is a constant.
function symbols.wrap(id)
  local v = current.graph:value(id)
  if v ~= nil then return v end
  return wrap(id)
end

--- Makes `recorder` the one at work; nil: none is.
function symbols.use(recorder) current = recorder end

--- The one at work.
function symbols.recorder() return current end

local function kind_of(v)
  local id = id_of(v)
  return id and current.graph.kinds[id] or type(v)
end
symbols.kind_of = kind_of

-- The node of what stands where a number is wanted.
local function number(v, what)
  local kind = kind_of(v)
  if kind == "number" then return id_of(v) or current.graph:const(v) end
  if kind == "string" then
    current.refuse("the string '%s' %s: write the number", v, what)
  end
  current.refuse("a %s %s", kind, what)
end

local function arithmetic(op)
  return function(a, b)
    local what = "in arithmetic with a traced number"
    return symbols.wrap(current.graph:number(op, number(a, what), number(b, what)))
  end
end

-- x // y is floor(x / y), and under LuaJIT x % y is x - floor(x / y) * y, as the machines
-- themselves say.
local function quotient(a, b)
  local g, what = current.graph, "in arithmetic with a traced number"
  return g:number("floor", g:number("div", number(a, what), number(b, what)))
end

for _, op in ipairs { "add", "sub", "mul", "div", "pow" } do meta["__" .. op] = arithmetic(op) end
meta.__mod = not jit and arithmetic "mod" or function(a, b)
  local g = current.graph
  local q = quotient(a, b)
  return symbols.wrap(g:number("sub", number(a, ""), g:number("mul", q, number(b, ""))))
end
function meta.__idiv(a, b) return symbols.wrap(quotient(a, b)) end
function meta.__unm(a)
  return symbols.wrap(current.graph:number("unm", number(a, "under a minus")))
end

local function ask(op, a, b)
  local what = "is compared with a traced number"
  return current.ask(current.graph:compare(op, number(a, what), number(b, what)))
end
function meta.__lt(a, b) return ask("lt", a, b) end
function meta.__le(a, b) return ask("le", a, b) end

--- a == b where at least one of them is traced: as the path says; two of different kinds are never
--- equal.
function symbols.equal(a, b)
  local kind = kind_of(a)
  if kind ~= kind_of(b) then return false end
  local g = current.graph
  return current.ask(g:compare("eq", id_of(a) or g:const(a), id_of(b) or g:const(b)))
end
meta.__eq = symbols.equal

local function refused(text)
  return function(v, w) current.refuse_value(id_of(v) and v or w, text) end
end
meta.__concat = refused "`..` of a traced %s: it has a value only while the game is played"
meta.__tostring = refused "a traced %s has no text: it has a value only while the game is played"
meta.__index = refused "attempt to index a %s"
meta.__newindex = meta.__index
meta.__call = refused "attempt to call a %s"
meta.__len = refused "attempt to get the length of a %s"
for _, op in ipairs { "band", "bor", "bxor", "shl", "shr", "bnot" } do
  meta["__" .. op] = refused "bits of a traced %s: write %% and math.floor"
end

--- The error for a traced value as a key.
symbols.index_text = "a traced %s as a table's index: write a loop over the keys that compares, "
  .. "for k = 1, #t do if k == i then ... end end"

-- ---- math ---------------------------------------------------------------------------------------

local traced = {}

local function any(...)
  for k = 1, select("#", ...) do
    if id_of((select(k, ...))) then return true end
  end
end

-- math.NAME for traced numbers by `made(graph, id, ...)`; of plain numbers it is Lua's own.
local function define(name, made)
  traced[name] = function(...)
    if not any(...) then return real[name](...) end
    local n = select("#", ...)
    local what, ids = "is an argument of math." .. name, {}
    for k = 1, n do ids[k] = number((select(k, ...)), what) end
    return symbols.wrap(made(current.graph, ids[1], ids[2], ids, n))
  end
end

for _, op in ipairs { "floor", "ceil", "abs", "sqrt", "exp", "sin", "cos", "tan", "asin", "acos",
    "sinh", "cosh", "tanh" } do
  if real[op] then define(op, function(g, x) return g:number(op, x) end) end
end

function traced.log(x, base)
  if not any(x, base) then return real.log(x, base) end
  local g = current.graph
  local y = g:number("log", number(x, "is an argument of math.log"))
  if base ~= nil then
    y = g:number("div", y, g:number("log", number(base, "is an argument of math.log")))
  end
  return symbols.wrap(y)
end
if real.log10 then
  define("log10", function(g, x)
    return g:number("div", g:number("log", x), g:const(real.log(10)))
  end)
end
define("deg", function(g, x) return g:number("mul", x, g:const(180 / real.pi)) end)
define("rad", function(g, x) return g:number("mul", x, g:const(real.pi / 180)) end)
if real.pow then define("pow", function(g, x, y) return g:number("pow", x, y) end) end

-- The first of equals stays, as in Lua's own loop; an argument NaN is passed over.
local function extreme(less)
  return function(g, _, _, ids, n)
    local best = ids[1]
    for k = 2, n do
      local a, b = best, ids[k]
      if less then a, b = b, a end
      best = g:where(g:compare("lt", a, b), ids[k], best)
    end
    return best
  end
end
define("max", extreme(false))
define("min", extreme(true))

local function negative(g, x) return g:compare("lt", x, g:const(0)) end
local function toward_zero(g, x)
  return g:where(negative(g, x), g:number("ceil", x), g:number("floor", x))
end

define("fmod", function(g, x, y)
  local m = g:number("mod", g:number("abs", x), g:number("abs", y))
  return g:where(negative(g, x), g:number("unm", m), m)
end)

function traced.modf(x)
  if not any(x) then return real.modf(x) end
  local g = current.graph
  local id = number(x, "is an argument of math.modf")
  local whole = toward_zero(g, id)
  return symbols.wrap(whole), symbols.wrap(g:number("sub", id, whole))
end

-- math.atan(y, x) of 5.4, math.atan2 of LuaJIT.
local function atan2(g, y, x)
  local pi, zero = real.pi, g:const(0)
  local base = g:number("atan", g:number("div", y, x))
  local below, above = g:number("sub", base, g:const(pi)), g:number("add", base, g:const(pi))
  local turned = g:where(negative(g, y), below, above)
  local up = g:where(g:compare("eq", y, zero), zero, g:const(pi / 2))
  local upright = g:where(negative(g, y), g:const(-pi / 2), up)
  return g:where(g:compare("eq", x, zero), upright, g:where(negative(g, x), turned, base))
end
define("atan", function(g, y, x)
  return not jit and x and atan2(g, y, x) or g:number("atan", y)
end)
if jit then define("atan2", atan2) end

local function whole_id(id)
  local r = current.graph.ranges[id]
  local op = current.graph.nodes[id][1]
  return r and r.whole or op == "floor" or op == "ceil"
end

-- 5.4: a float with an integral value becomes an integer, others nil. Which it is must be known
-- here.
if real.tointeger then
  function traced.tointeger(x)
    local id = id_of(x)
    if not id then return real.tointeger(x) end
    if whole_id(id) then return x end
    local g = current.graph
    return current.ask(g:compare("eq", id, g:number("floor", id))) and x or nil
  end
  function traced.type(x)
    if kind_of(x) ~= "number" then return real.type(x) end
    if not id_of(x) then return real.type(x) end
    current.refuse("math.type of a traced number: whether it is an integer or a float is not "
      .. "recorded")
  end
  function traced.ult(a, b)
    if not any(a, b) then return real.ult(a, b) end
    current.refuse "math.ult of a traced number"
  end
end
for _, name in ipairs { "frexp", "ldexp" } do
  if real[name] then
    traced[name] = function(...)
      if any(...) then current.refuse("math.%s of a traced number", name) end
      return real[name](...)
    end
  end
end

-- The k-th call on a path takes the k-th number u of the step: random() is u, random(lo, hi) is
-- floor(u * (hi - lo + 1)) + lo.
function traced.random(lo, hi)
  local u = wrap(current.draw())
  if lo == nil then return u end
  if hi == nil then lo, hi = 1, lo end
  local what = "is an argument of math.random"
  number(lo, what)
  number(hi, what)
  local n = hi - lo + 1
  if type(lo) ~= "number" or type(hi) ~= "number" then return traced.floor(u * n) + lo end
  if n < 1 or lo ~= real.floor(lo) or hi ~= real.floor(hi) then
    current.refuse("math.random(%s, %s): an empty interval, or none of integers", tostring(lo),
      tostring(hi))
  end
  local whole = traced.floor(u * n)
  if not id_of(whole) then return whole + lo end
  current.graph.ranges[id_of(whole)] = { lo = 0, hi = n - 1, whole = true }
  return whole + lo
end

-- f without the recorder's hook, which is for the game's own lines.
local function back(...)
  if current.watching then current.watch() end
  return ...
end
function symbols.quiet(f)
  return function(...)
    debug.sethook()
    return back(f(...))
  end
end
for name, f in pairs(meta) do meta[name] = symbols.quiet(f) end
symbols.ready()

--- Functions of Lua's and those that stand for them while a game is recorded, by Lua's.
function symbols.replaced()
  local map = {}
  for name, f in pairs(traced) do map[real[name]] = symbols.quiet(f) end
  return map
end

return symbols

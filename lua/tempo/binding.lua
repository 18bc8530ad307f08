-- The part of the binding that takes values apart, words errors or calls other functions; src/lua
-- has the rest. The module calls this function with itself, with functions that are known only here
-- (`core` of src/lua/module.c) and with the metatables of handles. It returns two functions: one
-- makes an error's object, one finds the names of variables.
-- While a program runs, only rows of arrays come here.
local next, getmetatable, setmetatable, debug_metatable = next, getmetatable, setmetatable,
  debug.getmetatable
local getinfo, getlocal, getupvalue = debug.getinfo, debug.getlocal, debug.getupvalue

return function(tempo, core, classes)
local Program, Index, Range, Tensor, Loose, Array,
  Function = (table.unpack or rawget(_G, "unpack"))(classes, 1, 7)
local define, describe, options, combine = core.define, core.describe, core.options, core.combine
local hidden = getmetatable(tempo)

local function fail(word, fmt, ...) hidden.fail(word, fmt:format(...)) end

local function is_tensor(v)
  local class = getmetatable(v)
  return rawequal(class, Tensor) or rawequal(class, Loose)
end

-- ---- errors -------------------------------------------------------------------------------------
-- A table { code, message, where = { file, line }, notes = { ... }, text } that acts as its text in
-- tostring, print, .., the standalone interpreters, and every method of strings (e:find "cycle"). A
-- function that insists on a string is given tostring(e).
local Error = { __name = "tempo.Error" }

local function text_of(v)
  if rawequal(getmetatable(v), Error) then return rawget(v, "text") end
  return v
end

Error.__tostring = text_of
function Error.__concat(a, b) return text_of(a) .. text_of(b) end
function Error:__len() return #text_of(self) end
function Error:__index(key)
  local strings = getmetatable("").__index
  local method = type(strings) == "table" and rawget(strings, key)
  if type(method) ~= "function" then return nil end
  return function(e, ...) return method(text_of(e), ...) end
end

local function new_error(code, message, notes, file, line)
  local e = { code = code, message = message, notes = {}, text = message }
  if file then
    e.where = setmetatable({ file = file, line = line, text = file .. ":" .. line }, Error)
    e.text = e.where.text .. ": " .. message
  end
  if notes ~= "" then e.text = e.text .. "\n" .. notes end
  for note in notes:gmatch "[^\n]+" do e.notes[#e.notes + 1] = note end
  return setmetatable(e, Error)
end

-- ---- the module ---------------------------------------------------------------------------------
local libraries = {}
for name in ("nn optim dist rl llm data logger viz associative_scan"):gmatch "%S+" do
  libraries[name] = true
end

-- A library is read when a script first asks for it.
function hidden.__index(_, name)
  if type(name) ~= "string" then return nil end
  if not libraries[name] then
    local names = {}
    for _, set in ipairs { libraries, tempo } do
      for key in next, set do names[key] = true end
    end
    core.unknown("tempo", name, names)
  end
  local library = core.require(name)
  rawset(tempo, name, library)
  return library
end

-- tempo.shape(x) is x:shape(). grad and program are other things in tempo.
for name in ("shape dtype domain name at backward peek"):gmatch "%a+" do
  define(tempo, name, 0, function(x, ...)
    local array = rawequal(getmetatable(x), Array) and (name == "shape" or name == "dtype")
    if not is_tensor(x) and not array then
      fail("option", "bad argument #1 to '%s': expected a tensor, got %s", name, describe(x))
    end
    return x[name](x, ...)
  end)
end

-- ---- index expressions --------------------------------------------------------------------------
local function is_index(v) return rawequal(getmetatable(v), Index) end

-- With one of these as the other operand an index expression is a value.
local function is_value(v)
  return is_tensor(v) or rawequal(getmetatable(v), Array) or type(v) == "table"
end

local function written(v)
  if type(v) == "number" or is_index(v) then return tostring(v) end
  return describe(v)
end

-- As it stands before a method's colon: t, (t + 1).
local function called(v)
  local s = written(v)
  if not is_index(v) or s:find "^[%w_]+$" or s:find "^[%w_]+:upper%(%)$" then return s end
  return "(" .. s .. ")"
end

local function check_integral(op, v)
  if type(v) == "number" and (v ~= math.floor(v) or v < -2^63 or v >= 2^63) then
    fail("affine",
      "'%s' with %g: index expressions are made of integers; for arithmetic on values write t:value()", op,
      v)
  end
end

local function binary(op, method)
  return function(a, b)
    if is_value(a) or is_value(b) then return core.operator(method, a, b) end
    check_integral(op, a)
    check_integral(op, b)
    return combine(method, op, a, b)
  end
end

local divide, modulo = binary("//", "floordiv"), binary("%", "mod")
Index.__add, Index.__sub, Index.__mul = binary("+", "add"), binary("-", "sub"), binary("*", "mul")
Index.__idiv, Index.__mod = divide, modulo
function Index.__unm(a) return combine("sub", "-", 0, a) end
define(Index, "floordiv", 2, divide)
define(Index, "mod", 2, modulo)
for name in ("eq ne lt le gt ge"):gmatch "%a+" do define(Index, name, 2, binary(name, name)) end

for name, takes in pairs { land = 2, lor = 2, lnot = 1 } do
  define(Index, name, takes, function(...)
    local a, b = ...
    if is_value(a) or is_value(b) then return core.operator(name, ...) end
    return combine(name, name, a, b)
  end)
end

local function no_index(op, method, also)
  return function(a, b)
    if is_value(a) or is_value(b) then return core.operator(method, a, b) end
    local function value(v) return is_index(v) and called(v) .. ":value()" or written(v) end
    fail("affine", "'%s' gives no index expression: for arithmetic on values write %s %s %s%s", op,
      value(a), op, value(b), also)
  end
end
Index.__div = no_index("/", "div", "; the integer quotient is tempo.floordiv(t, k)")
Index.__pow = no_index("^", "pow", "")

function Index.__len(t)
  fail("option", "'#%s': an index expression has no length; a dim's bound is t:upper()", written(t))
end

-- Lua turns a > b into b < a: `left` is known where only one of the two is a handle.
local function compared(left, op)
  local turned, method = op:gsub("<", ">"), op == "<" and "lt" or "le"
  return left and op or turned, left and method or method:gsub("l", "g")
end

for name, op in pairs { __lt = "<", __le = "<=" } do
  Index[name] = function(a, b)
    local left = is_index(a)
    local shown, method = compared(left, op)
    if not left then a, b = b, a end
    fail("option", "'%s %s %s' gives a Lua boolean at once and no condition: write %s:%s(%s)",
      written(a), shown, written(b), called(a), method, written(b))
  end

  Tensor[name] = function(a, b)
    local left = is_tensor(a)
    local shown, method = compared(left, op)
    local other = left and b or a
    other = type(other) == "number" and tostring(other) or "b"
    fail("option", "'a %s %s' gives a Lua boolean at once and no tensor: write a:%s(%s)", shown,
      other, method, other)
  end
end

-- Without a ';', a line that begins with '(' calls what the line before it ends in.
for what, class in pairs { ["a tensor"] = Tensor, ["an index expression"] = Index,
  ["an array"] = Array } do
  class.__call = function()
    fail("option", "%s is called like a function: if the next line begins with '(', end this one "
      .. "with ';'", what)
  end
end

-- ---- ranges -------------------------------------------------------------------------------------
local function range(a, b)
  check_integral("range", a)
  check_integral("range", b)
  return core.range(a, b)
end

function Index.__concat(a, b)
  for _, v in ipairs { a, b } do
    if rawequal(getmetatable(v), Range) then
      fail("option", "'..' of a range: a range has two ends, write lo .. hi once")
    end
    if type(v) == "string" then
      fail("option",
        "'..' of an index expression and the string \"%s\": '..' makes a range; for text write "
        .. "tostring(t)", v)
    end
    if is_tensor(v) then
      fail("option",
        "'..' of a tensor: the ends of a range are index expressions; to choose by data write "
        .. "x[lo .. hi]:index_select(0, k)")
    end
  end
  return range(a, b)
end
Range.__concat = Index.__concat

define(tempo, "range", 0, function(...)
  local n = select("#", ...)
  if n ~= 2 then
    fail("option", "tempo.range(lo, hi) takes the two ends, got %d argument%s; a range has no step",
      n, n == 1 and "" or "s")
  end
  return range(...)
end)

for name in ("add sub mul div unm idiv mod pow lt le len"):gmatch "%a+" do
  Range["__" .. name] = function()
    fail("option",
      "a range takes no arithmetic, no comparison and no '#': write (lo + k) .. (hi + k)")
  end
end

-- ---- min, max, // and % of index expressions and of numbers -------------------------------------
for name, method in pairs { min = "minimum", max = "maximum" } do
  define(tempo, name, 0, function(...)
    local best
    if select("#", ...) == 0 then
      fail("option", "tempo.%s takes index expressions and numbers", name)
    end
    for k = 1, select("#", ...) do
      local v = select(k, ...)
      if is_value(v) then
        fail("option",
          "tempo.%s takes index expressions and numbers; of two tensors write tempo.%s(a, b), along an "
          .. "axis x:max() or x:min()", name, method)
      end
      check_integral(name, v)
      if type(v) ~= "number" and not is_index(v) then
        fail("option", "%s: expected an integer or an index expression, got %s", name, describe(v))
      end
      if k == 1 then best = v
      elseif is_index(best) or is_index(v) then best = combine(name, name, best, v)
      else best = math[name](best, v) end
    end
    return best
  end)
end

for method, f in pairs { floordiv = divide, mod = modulo } do
  define(tempo, method, 2, function(a, b)
    if type(a) == "number" and type(b) == "number" then return core.quotient(method, a, b) end
    if is_index(a) or is_index(b) then return f(a, b) end
    return core.operator(method, a, b)
  end)
end

-- ---- weights in blocks: of arrays at once -------------------------------------------------------
local function is_array(v) return rawequal(getmetatable(v), Array) end
define(tempo, "dequantize", 2, function(x, format)
  if is_array(x) then return x:dequantize(format) end
  return core.operator("dequantize", x, format)
end)
define(tempo, "quantize", 2, function(a, format)
  if not is_array(a) then fail("option", "quantize: expected an array, got %s", describe(a)) end
  return a:quantize(format)
end)

-- ---- operators of tensors; arrays take the arithmetic beside a tensor ---------------------------
local function is_object(v)
  return type(v) == "userdata" and not rawequal(getmetatable(v), Array)
end

for name, method in pairs { add = "add", sub = "sub", mul = "mul", div = "div", mod = "mod",
  pow = "pow", idiv = "floordiv", unm = "neg" } do
  local function apply(a, b)
    if is_object(a) or is_object(b) then
      if name == "unm" then return core.operator(method, a) end
      return core.operator(method, a, b)
    end
    fail("option",
      "arithmetic of host arrays: P:constant(a) is a tensor, tempo.%s(...):peek{} computes one at once, "
      .. "a:totable() gives numbers", method)
  end
  for _, class in ipairs { Tensor, Loose, Array } do class["__" .. name] = apply end
end

function Tensor.__len()
  fail("option", "'#': a recurrent tensor has no length; write x:shape()[1], or the bound T")
end

function Tensor.__concat(a, b)
  for _, v in ipairs { a, b } do
    if type(v) == "string" then
      fail("option", "'..' of a tensor and the string \"%s\": for text write tostring(x)", v)
    end
  end
  fail("option",
    "'..' of a tensor: the ends of a range are index expressions; to choose by data write "
    .. "x[lo .. hi]:index_select(0, k); to join write tempo.cat({a, b}, 0)")
end

for name in ("lt le len concat"):gmatch "%a+" do Loose["__" .. name] = Tensor["__" .. name] end

define(Tensor, "peek", 2, function(x, o)
  options(o, "peek", { "inputs", "bounds", "at", "seed" })
  o = o or {}
  return core.peek(x, o.inputs, o.bounds, o.at, o.seed)
end)

-- ---- arrays -------------------------------------------------------------------------------------
function Array.__newindex()
  fail("option", "a[i] = v: to change an element write a:set(v, i, ...)")
end

define(Array, "rows", 1, function(a)
  local n = core.shape(a, "rows")[1] or fail("shape", "a scalar array has no rows; write a:item()")
  return function(b, k)
    if rawequal(b, a) and k >= -1 and k + 1 < n then return k + 1, a[k + 1] end
  end, a, -1
end)

-- A typed pointer to the first element.
local pointers = { f32 = "float *", f64 = "double *", i64 = "int64_t *", i32 = "int32_t *",
  bool = "uint8_t *", u8 = "uint8_t *" }
define(Array, "pointer", 1, function(a)
  if not jit then
    fail("option", "pointer: needs LuaJIT; a:copy_to(list) and a:copy_from(list) move all elements")
  end
  local ffi = require "ffi"
  return ffi.cast(pointers[a:dtype()] or "uint16_t *", a:data())
end)

-- i64 as integers whatever their size: LuaJIT's are cdata.
define(Array, "int64", 1, function(a)
  local shape = core.shape(a, "int64")
  if a:dtype() ~= "i64" then fail("dtype", "int64: the array is %s", a:dtype()) end
  if not jit then return a:totable() end
  local ffi = require "ffi"
  local p, k = ffi.cast("int64_t *", a:data()), -1
  local function nest(axis)
    if axis > #shape then
      k = k + 1
      return p[k]
    end
    local t = {}
    for i = 1, shape[axis] do t[i] = nest(axis + 1) end
    return t
  end
  return nest(1)
end)

-- ---- several dims, first values, the point before -----------------------------------------------
define(Program, "dims", 2, function(P, names)
  if type(names) ~= "string" or not names:find "%S" then
    fail("option", "dims: expected names with spaces between, P:dims \"s i t\"; got %s",
      type(names) == "string" and "none" or describe(names))
  end
  local dims = {}
  for name in names:gmatch "%S+" do dims[#dims + 1] = (P:dim(name)) end
  return (table.unpack or rawget(_G, "unpack"))(dims)
end)

-- The first value v as a tensor of P, of this dtype if it is a table. A number, a boolean or an
-- index expression stays: it fills its place, and takes the dtype of it.
local function strong(P, what, v, dtype)
  if type(v) == "number" or type(v) == "boolean" then return v end
  if is_index(v) and v:value():dtype() ~= "bool" then return v end
  if type(v) == "table" and dtype then v = tempo.array(v, dtype) end
  return hidden.lift(P, v, what)
end

-- The options of a tensor with this first value, whose shape and dtype are those that are left out.
local function spec_of(o, first)
  local spec = { domain = o.domain, along = o.along, shape = o.shape, dtype = o.dtype,
    name = o.name, init = first }
  if type(first) == "boolean" then spec.dtype = o.dtype or "bool"
  elseif is_tensor(first) then
    spec.shape, spec.dtype = spec.shape or first:shape(), spec.dtype or first:dtype()
  end
  return spec
end

define(Program, "param", 3, function(P, name, o)
  options(o, "param", { "along", "domain", "shape", "init", "dtype" })
  if o == nil or o.init == nil then return core.param(P, name, o) end
  return core.param(P, name, spec_of(o, strong(P, "init", o.init, o.dtype)))
end)

define(Program, "constant", 2, function(P, v)
  local kind = type(v)
  if kind == "number" then v = tempo.full({}, v)
  elseif kind ~= "boolean" and kind ~= "table" and not rawequal(getmetatable(v), Array) then
    fail("option", "constant: expected an array, a nested table or a number, got %s", describe(v))
  end
  return hidden.lift(P, v, "constant")
end)

local function dims_text(x)
  local names = {}
  for k, d in ipairs(x:domain()) do names[k] = d:name() end
  return #names > 0 and "(" .. table.concat(names, ", ") .. ")" or "none"
end

-- P:tensor{ domain =, first = e, along = t }: as e, which it is at the first point of t.
define(Program, "tensor", 2, function(P, o)
  options(o, "tensor", { "domain", "shape", "dtype", "name", "first", "along" })
  if o == nil or o.first == nil then
    if o and o.along ~= nil then
      fail("option", "tensor: along says where the first value stands, and first = is missing")
    end
    return core.declare(P, o)
  end
  local first, along = strong(P, "first", o.first, o.dtype), o.along
  local x = core.declare(P, spec_of(o, first))
  if type(along) == "table" and #along == 1 then along = along[1] end
  local dims = x:domain()
  if along == nil and #dims == 1 then along = dims[1] end
  if along == nil then
    fail("option",
      "tensor: the first value stands at the first point of one dim; the dims are %s%s",
      dims_text(x), #dims > 0 and ": write along = " .. dims[#dims]:name() or "")
  end
  if not is_index(along) and type(along) ~= "string" then
    fail("option", "tensor: along is a dim of the domain, got %s", describe(along))
  end
  x[{ [along] = 0 }] = first
  return x
end)

-- tempo.prev(x, t, first[, n]): x at t - n, where there is such a point, else first.
define(tempo, "prev", 4, function(x, t, first, n)
  if is_index(x) then x = x:value() end
  if not is_tensor(x) then fail("option", "prev: expected a tensor first, got %s", describe(x)) end
  if not is_index(t) then
    fail("option", "prev: expected a dim of the tensor, prev(x, t, first); got %s", describe(t))
  end
  local has = false
  for _, d in ipairs(x:domain()) do has = has or d == t end
  if not has then
    fail("domain", "prev: %s is no dim of the tensor, whose dims are %s", written(t), dims_text(x))
  end
  if n == nil then n = 1 end
  if type(n) ~= "number" or n < 1 or n % 1 ~= 0 or n == math.huge then
    fail("option", "prev: how many points back is an integer, 1 or more; got %s", written(n))
  end
  if first == nil then
    fail("option", "prev: the value where there is no point before is missing: prev(x, %s, 0)",
      t:name())
  end
  local P = x:program()
  first = strong(P, "first", first, x:dtype())
  local was = core.declare(P, { domain = is_tensor(first) and { x, first } or { x },
    shape = x:shape(), dtype = x:dtype() })
  hidden.may_miss(was):when(t:lt(n), first)
  return was:otherwise(x:at { [t] = t - n })
end)

-- ---- the outside world in the graph -------------------------------------------------------------
local function check_function(what, f)
  local class = debug_metatable(f)
  if type(f) ~= "function" and not (type(class) == "table" and rawget(class, "__call")) then
    fail("option", "%s: expected a function, got %s", what, describe(f))
  end
end

-- P:call(fn, {a, b}, {spec, ...}[, {over =}]). The core calls a function without inputs with the
-- point alone.
define(Program, "call", 5, function(P, f, inputs, specs, o)
  check_function("call", f)
  local g = f
  if type(inputs) == "table" and next(inputs) == nil then
    g = function(point) return f({}, point) end
  end
  return core.record(P, "call", g, inputs, specs, o)
end)

-- P:source(fn, spec[, {over =}]); spec may be a sequence of specs.
define(Program, "source", 4, function(P, f, spec, o)
  check_function("source", f)
  if type(spec) == "table" and rawget(spec, 1) == nil then spec = { spec } end
  return core.record(P, "source", f, nil, spec, o)
end)

-- P:sink({a, b}, fn[, {over =}])
define(Program, "sink", 4, function(P, inputs, f, o)
  check_function("sink", f)
  if type(inputs) == "table" and next(inputs) == nil then
    fail("option", "sink: the table of tensors is empty: {a, b} are what fn is given")
  end
  core.record(P, "sink", f, inputs, nil, o)
end)

-- ---- P:compile{ outputs =, tier =, passes =, ... } ----------------------------------------------
-- By name: a table's own order varies, and lifting a random literal gives it its ordinal.
local function sorted_outputs(outputs)
  local names, values = {}, {}
  if outputs ~= nil and type(outputs) ~= "table" then
    fail("option", "outputs: expected a table by name, {h = h}; got %s", describe(outputs))
  end
  for name in next, outputs or {} do
    if type(name) ~= "string" then
      fail("option", "outputs go by name, { h = h }; got %s as a key", describe(name))
    end
    names[#names + 1] = name
  end
  table.sort(names)
  for k, name in ipairs(names) do values[k] = outputs[name] end
  return names, values
end

-- { evolve = false, cse = true } => "cse=true,evolve=false"
local function passes_text(passes)
  if type(passes) ~= "table" then return passes end
  local list = {}
  for name, on in next, passes do
    if type(name) ~= "string" or type(on) ~= "boolean" then
      fail("option", "passes: expected \"none\" or a table like {evolve = false}")
    end
    list[#list + 1] = name .. "=" .. tostring(on)
  end
  table.sort(list)
  return table.concat(list, ",")
end

-- Bytes become a text, which C reads.
local function check_numbers(o)
  local bytes, n = o.memory, o.threads
  if type(n) == "number" and not (n >= 1 and n <= 4096) then
    fail("option", "threads: expected 1 to 4096, got %s", written(n))
  end
  if type(bytes) == "number" and bytes >= 1 and bytes < 2^62 then o.memory = ("%.0f"):format(bytes)
  elseif bytes ~= nil and type(bytes) ~= "string" then
    fail("option", "memory: expected a number of bytes, or a text like \"2GiB\"; got %s",
      written(bytes))
  end
end

define(Program, "compile", 2, function(P, o)
  if is_tensor(o) then
    fail("option", "compile takes a table of options: P:compile { outputs = { y = y } }")
  end
  for name, v in next, type(o) == "table" and o or {} do
    if is_tensor(v) then
      fail("option", "compile: outputs have a table of their own: "
        .. "P:compile { outputs = { %s = ... } }", type(name) == "string" and name or "y")
    end
  end
  options(o, "compile",
    { "outputs", "device", "tier", "threads", "memory", "passes", "precise", "reproducible",
    "cflags", "check", "tick", "async" })
  local own = {}
  for name, v in next, o or {} do own[name] = v end
  check_numbers(own)
  local names, values = sorted_outputs(own.outputs)
  return core.compile(P, names, values, own, passes_text(own.passes))
end)

-- ---- parameters of functions --------------------------------------------------------------------
-- The paths of a module, a parameter or a list of them, as a set. All that was seen is in it too,
-- for modules that hold each other.
local function put_paths(of, set)
  if is_tensor(of) then set[of:name() or of] = true end
  if type(of) ~= "table" or set[of] then return end
  set[of] = true
  local own = rawget(of, "_params")
  for _, parameter in next, type(own) == "table" and own or {} do set[parameter.path] = true end
  for _, v in next, of do put_paths(v, set) end
end

define(Function, "params", 2, function(f, o)
  local set, values = {}, {}
  local names = core.parameters(f, "params")
  options(o, "params", { "of" })
  local of = o and o.of
  if of ~= nil and type(of) ~= "table" and not is_tensor(of) then
    fail("option", "of of params: expected a module, a parameter or a list of them, got %s",
      describe(of))
  end
  put_paths(of, set)
  for k, name in ipairs(names) do
    if of == nil or set[name] then values[name] = core.parameter(f, k) end
  end
  return values
end)

-- The sorted keys of a table that another lacks.
local function lacking(set, other)
  local names = {}
  for name in next, set do
    if type(name) == "string" and other[name] == nil then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

-- The table of the file that f:save(path, { portable = true }) wrote.
local function parameters_of(path)
  local ok, t = pcall(tempo.load, path)
  if ok then return t end
  if not t:find "no NumPy file" then error(t, 0) end
  fail("file", "%s holds no parameters by name: f:save(path, { portable = true }) writes such a file",
    path)
end

-- All or nothing: finds mistakes before it replaces the first.
define(Function, "load_params", 3, function(f, t, o)
  local at, arrays = {}, {}
  for k, name in ipairs(core.parameters(f, "load_params")) do at[name] = k end
  if type(t) == "string" then t = parameters_of(t) end
  if type(t) ~= "table" then
    fail("option", "load_params takes a table by name, as f:params() gives, or the path of such a "
      .. "file; got %s", describe(t))
  end
  options(o, "load_params", { "strict" })
  local strict = o and o.strict
  if strict == nil then strict = true end
  if type(strict) ~= "boolean" then
    fail("option", "strict of load_params: expected true or false, got %s", describe(strict))
  end
  for name, v in next, t do
    if type(name) ~= "string" then
      fail("option", "load_params: parameters go by name, got %s as a key", describe(name))
    elseif at[name] then
      arrays[at[name]] = core.fit(f, at[name], v)
    elseif strict then
      fail("option",
        "load_params: the function has no parameter '%s'%s; f:params{ of = net } gives those of a net "
        .. "alone, and load_params(t, { strict = false }) leaves out what the function lacks", name,
        select(2, hidden.nearest(name, at)))
    end
  end
  for k, a in next, arrays do core.load(f, k, a) end
  if strict then return f end
  return lacking(at, t), lacking(t, at)
end)

-- ---- files of parameters ------------------------------------------------------------------------
define(Function, "save", 3, function(f, path, o)
  options(o, "save", { "portable" })
  local portable = o and o.portable
  if portable ~= nil and type(portable) ~= "boolean" then
    fail("option", "portable of save: expected true or false, got %s", describe(portable))
  end
  if not portable then return core.save(f, path) end
  local values = f:params()
  if next(values) == nil then
    fail("option", "save: there are no values of parameters yet; run the function first")
  end
  return tempo.save(path, values)
end)

-- ---- variables of unnamed tensors ---------------------------------------------------------------
-- Messages call a tensor without a name by the script's local, upvalue, field or global that holds
-- it. The script's frames are looked through, the innermost first, for locals, then for upvalues,
-- then the globals. A local names a tensor only in the function whose lines made it: a helper's
-- parameter is another name for it. If several fields of a table hold it, or results of its
-- operator, the first name in order is taken, because a table's own order differs from run to run.
local libdir = getinfo(1, "S").source:match "^.*/"

local function field_name(t, key)
  if type(key) == "string" then return t ~= "" and t .. "." .. key or key end
  if type(key) == "number" and key % 1 == 0 then return ("%s[%d]"):format(t, key) end
end

local function name_variables(program)
  local found, aliases, fields, round = {}, {}, 4096, 0

  local function unnamed(v)
    if rawequal(getmetatable(v), Tensor) then return core.unnamed(v, program) end
  end

  local function give(id, v, name)
    local f = found[id]
    if not f or f.round == round and name < f.name then
      found[id] = { round = round, name = name, tensor = v }
    end
  end

  local function name_fields(t, name, depth)
    if rawequal(t, tempo) then return end
    for key, v in next, t do
      if fields <= 0 then return end
      fields = fields - 1
      local id = unnamed(v)
      local path = (id or depth > 0 and type(v) == "table") and field_name(name, key)
      if path and id then give(id, v, path)
      elseif path then name_fields(v, path, depth - 1) end
    end
  end

  local function name_value(name, v, frame, upvalue)
    round = round + 1
    local id, file, line = unnamed(v)
    if not id then
      if type(v) == "table" then name_fields(v, name, 1) end
      return
    end
    local here = file == frame.short_src
    if upvalue then here = here and not aliases[id]
    elseif frame.what ~= "main" then
      here = here and line >= frame.linedefined and line <= frame.lastlinedefined
    end
    if here then give(id, v, name) elseif not upvalue then aliases[id] = true end
  end

  for _, upvalues in ipairs { false, true } do
    local level, frame = 2, getinfo(2, "Sf")
    while frame do
      local k, name, v = 0, frame.what ~= "C" and frame.source:sub(1, #libdir) ~= libdir
      while name do
        k = k + 1
        if upvalues then name, v = getupvalue(frame.func, k) else name, v = getlocal(level, k) end
        if name and name:sub(1, 1) ~= "(" and name ~= "_" and name ~= "_ENV" then
          name_value(name, v, frame, upvalues)
        end
      end
      level = level + 1
      frame = getinfo(level, "Sf")
    end
  end
  round = round + 1
  name_fields(_G, "", 0)
  for _, f in next, found do core.name(f.tensor, f.name) end
end

return new_error, name_variables
end

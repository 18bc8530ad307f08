-- What the reference says of everything that is no row of methods.def: the module's functions and
-- the methods of userdata. A spec compares the names with those in the live metatables, both ways;
-- options with the `known[]` tables of src/lua.
--
-- A class: title, class, receiver (what the reference writes before `:`), text, entries; and for
-- the annotations its operators, `call`, `index` (the type of x[i]) and `derived`, a class of its
-- own for editors: name, words, type of x[i] (any: assignments take more than reads give). An
-- entry: name; args and returns as { name, type, text } and { type, text }; options as { name,
-- type, text }; text; errors; example; fails (an example of an error); form (what is written where
-- it is no method).
local function arg(name, kind, text) return { name = name, kind = kind, text = text } end
local api = {}

-- Examples that several entries share.
local shown = {}
shown.save = [[
local path = os.tmpname()
tempo.save(path, { a = tempo.array { 1, 2 }, b = tempo.array { 3 } })
print(tempo.load(path).b)
os.remove(path)]]
shown.open = [[
local path = os.tmpname() .. ".gguf"
local w = tempo.array({ { 1, 2 }, { 3, 4 } })
tempo.save(path, { w = w, b = tempo.array(0.5, "f32", { 1, 32 }) },
  { meta = { author = "me" }, formats = { b = "q8_0" } })
local f = tempo.open(path)
print(f.w, f:meta "author", f.none)
for _, name in ipairs(f:names()) do print(name, f[name]:dtype(), (select(2, f:stored(name)))) end
f:close()
os.remove(path)]]
shown.range = [[
print(tempo.range(2, 5), 0 .. t + 1, tempo.min(t + 10, T - 1), tempo.max(0, t - 2))
print(tempo.floordiv(t, 2), tempo.floordiv(-7, 2), tempo.mod(t, 2), tempo.mod(-7, 2))]]
shown.dim = [[
local b, batch = P:dim("b", "batch")
local i, j = P:dims "i j"
print(b, batch, i, j:upper())]]
shown.param = [[
local w = P:param("w", { along = { t }, init = 1 })
w:update(w * 2)
local f = P:compile { outputs = { w = w } }
print(f({}, { T = 4 }).w, f:params().w)
f:load_params { w = tempo.array(10) }
print(f({}, { T = 3 }).w)]]
shown.source = [[
local squares = P:source(function(point) return point.t * point.t end, { domain = { t } })
P:sink({ squares }, function(arrays, point) print(point.t, arrays[1]) end)
P:compile {} ({}, { T = 3 })]]
shown.env_reset = [[
local half = tempo.full({ 4 }, 0.5, { dtype = "f64" })
local s = P:env_reset("CartPole-v1", half)
print(P:env_obs("CartPole-v1", s):peek {})
local action = P:constant(tempo.array(1, "i64"))
local next, obs, reward = P:env_step("CartPole-v1", s, action, half)
print(reward:peek {}, next:select(0, 4):peek {})]]
shown.upper = [[print(t:name(), (t + 1):name(), t:upper() == T, t:program() == P)]]
shown.eq = [[
print(t:eq(3), t:ne(3), t:lt(3))
print(t:le(3), t:gt(3), t:ge(3))]]
shown.floordiv = [[print(t:floordiv(2), t:mod(2))]]
shown.land = [[
local c = t:ge(2)
print(c:land(t:lt(5)), c:lor(t:eq(0)), c:lnot())
print(c:name(), c:program() == P, c:value():dtype())]]
shown.otherwise = [[
local h = P:tensor { domain = { t } }
h:when((t % 2):eq(0), 1)
h:otherwise(0)
print(P:compile { outputs = { h = h } }({}, { T = 4 }).h)]]
shown.backward = [[
x:square():backward()
print(P:compile { outputs = { g = x:grad() } }({ x = { 1, 2 } }, { T = 2 }).g)]]
shown.shape = [[print(x[0 .. t + 1]:shape()[1], x:dtype(), x:domain()[1] == t, x:program() == P)]]
shown.start = [[
local s = P:tensor { domain = { t } }
s[0] = x
s[t] = s[t-1] + x
local f = P:compile { outputs = { s = s }, tick = t }
f:start({}, { T = math.huge })
local done, out = f:step { x = 1 }
print(done, out.s)
f:step({ x = 2 }, { into = out, budget_ms = 1 })
print(out.s)]]
shown.state = [[
local s = P:tensor { domain = { t } }
s[0] = x
s[t] = s[t-1] + x
local f = P:compile { outputs = { s = s }, tick = t }
f:start({}, { T = 3 })
f:step { x = 1 }
local here, path = f:state(), os.tmpname()
f:save(path)
f:step { x = 2 }
print(select(2, f:load_state(here):step { x = 5 }).s)
print(f({ x = { 1, 2, 3 } }, { T = 3 }, { state = here }).s)
print(select(2, f:load(path):step { x = 7 }).s)
os.remove(path)]]
shown.explain = [[
local f = P:compile { outputs = { y = x[0 .. t + 1]:max(0) } }
print(f:explain "storage")
print(f:simulate { T = 5 })]]
shown.memory = [[
local y = x * 2
local f = P:compile { outputs = { y = y[T - 1 - t] } }
print(f:memory { T = 1000 })
f({ x = { 1, 2 } }, { T = 2 })
print(f:peak(), #f:profile(5) > 0)]]
shown.ready = [[
local f = P:compile { outputs = { y = t:value() * 2 }, async = true }
print(f({}, { T = 3 }).y, f:ready())
f:free()
print(f)]]
shown.shape_2 = [[
local a = tempo.array({ { 1, 2 }, { 3, 4 } }, "i64")
a:set(7, 1, 0)
print(a:get(1, 0), #a:shape(), a:dtype(), a:totable()[2][1], a:int64()[1][2] == 2, type(a:data()))]]
shown.lists = [[
local a = tempo.array { { 1, 2 }, { 3, 4 } }
local list = a:copy_to()
list[4] = 5
print(#list, a:copy_from(list))
if jit then a:pointer()[0] = 1 end]]
shown.clone = [[
local a = tempo.array { 1, 2 }
local b = a:clone():set(9, 0)
a:free()
print(a, b)]]

shown.rows = [[
local a, b = tempo.array { 1, 2 }, tempo.array { 3, 4 }
local r = tempo.rows { a, b }
local w = P:input("w", { domain = { t }, shape = { 2 } })
print(#r, r[1], r:dtype(), #r:shape(), P:compile { outputs = { y = w * 2 } }({ w = r }, { T = 2 }).y)
r:free()]]
shown.quantize = [[
local w = tempo.array(0, "f32", { 3, 64 })
for i = 0, 63 do w:set(i - 32, 1, i) end
local q = tempo.quantize(w, "q4_0")
print(q:shape()[2], q:dtype(), tempo.dequantize(q, "q4_0"):get(1, 0), q:dequantize("q4_0"):shape()[2])
print(#w:quantize("q8_0"))]]

--- Runs before every example of these classes.
api.prelude = [[
tempo = require "tempo"
P = tempo.program()
t, T = P:dim "t"
x = P:input("x", { domain = { t } })
]]

api.aliases = {
  { "tempo.Tier", '"auto"|"reference"|"interpreter"|"native"', "what executes a compiled program" },
  { "tempo.Dims", "(tempo.Index|tempo.Tensor)[]", "dims, or tensors that stand for theirs" },
  { "tempo.Extent", "integer|tempo.Index",
    "an integer, a dim, a bound or an expression of them; a product of bounds is fine" },
  { "tempo.Number", "integer|tempo.Index", "part of an index" },
  { "tempo.Operand", "tempo.Tensor|tempo.Index|tempo.Condition|tempo.Array|number|boolean",
    "what may stand where a tensor is wanted" },
  { "tempo.Data", "tempo.Array|tempo.Rows|table|number|boolean",
    "host data: an array, rows, a nested table or a number" },
  { "tempo.Spec", "{ domain?: tempo.Dims, shape?: tempo.Extent[], dtype?: tempo.Dtype }",
    "a result of a callback" },
  { "tempo.Key", "integer|tempo.Index|tempo.Range|table",
    "a point, a range, or a table of them by position, name or dim" },
}

api.classes = {
  { title = "The module", class = "tempo", receiver = "tempo", dot = true,
    text = "`require \"tempo\"` has no side effect and prints nothing. Operators are also functions on it ([operators](operators.md)), and so are the methods `shape dtype domain name at backward peek` of tensors; libraries load on first use.",
    entries = {
      { name = "program", args = {},
        options = { arg("seed", "integer", "of random numbers (0); a call may give another"),
        arg("dtype", "tempo.Dtype", "of all that names none (\"f32\")") },
        returns = { { "tempo.Program" } },
        text = "A new, empty program. Its dtype is that of inputs, tensors, parameters, modules, "
          .. "nested tables, fractions on their own, and literals (but random integers) that "
          .. "meet it. Quotients and means of integers stay f32, as does what environments give.",
        example = 'print(tempo.program { seed = 7 })\nprint(tempo.program { dtype = "f64" }:input "x")', fails = "tempo.program { sed = 7 }" },
      { name = "grad",
        args = { arg("loss", "tempo.Tensor", "floats"),
        arg("x", "tempo.Tensor|tempo.Tensor[]", "") },
        options = { arg("leaf", "boolean", "(false)") },
        returns = { { "tempo.Tensor|tempo.Tensor[]",
          "as many, each with the domain, shape and dtype of its tensor" } },
        text = "The gradient of the loss, summed over all its points and elements, at each point "
          .. "of x's domain: a tensor like any other, which may be differentiated again. It sees "
          .. "the whole program as it is compiled. It is 0 where no loss needs x; compiling "
          .. "warns if none does.\n\nWith `leaf = true` nothing is followed through the "
          .. "definition of x: a state counts as given at each point, as a parameter does, so "
          .. "that an optimiser's step can stand inside a recurrence "
          .. "(`examples/maml_sinusoid.lua`).",
        errors = "`cycle` where the gradient runs through the update of a state that is no "
          .. "parameter and no leaf.",
        example = [[
local dx = tempo.grad(x[0 .. t + 1]:sum(0):square(), x)
print(P:compile { outputs = { dx = dx } }({ x = { 1, 2, 3 } }, { T = 3 }).dx)

local w = P:tensor { domain = { t } }                 -- gradient descent on w^2 from w = 1
w[0] = 1
w[t] = (w - 0.25 * tempo.grad(w * w, w, { leaf = true }))[t - 1]
local by_first = tempo.grad(w[T - 1], w)[0]
print(P:compile { outputs = { w = w, d = by_first } }({}, { T = 3 }).d)]] },
      { name = "array", args = { arg("data", "tempo.Data|string", "a string is bytes"),
          arg("dtype?", "tempo.Dtype", "(f32; bool for booleans; an array's own)"),
            arg("shape?", "integer[]", "for bytes, and to reshape") },
        returns = { { "tempo.Array" } },
          text = "A copy in the host's memory. A number with a shape fills it.",
        errors = "`dtype` for a number that an integer cannot hold.",
        example = 'print(tempo.array({ { 1, 2 }, { 3, 4 } }, "i64"))\nprint(tempo.array(0, "f32", { 3 }))', fails = "tempo.array { { 1, 2 }, { 3 } }" },
      { name = "rows", args = { arg("arrays", "tempo.Array[]", "of one dtype and shape") },
        returns = { { "tempo.Rows" } },
        text = "The arrays as one, along a leading axis, without a copy: an input takes it in the "
          .. "place of an array. A program that reads a long input (256 elements a point, or a "
          .. "size that bounds say) one place of its first dim at a time reads each array where "
          .. "it lies: `f:explain \"plan\"` says `by rows`. Other inputs are made one array at "
          .. "the call, and so are those of devices.",
        errors = "`dtype` and `shape` where an array differs from the first, or there is none.",
        example = shown.rows, fails = "tempo.rows { tempo.array { 1 }, tempo.array { 1, 2 } }" },
      { name = "save",
        args = { arg("path", "string", ""),
          arg("arrays", "tempo.Array|table<string, tempo.Array>", "by name; for .npy an array") },
        options = { arg("meta", "table", "metadata, of .safetensors (strings) and .gguf"),
          arg("format", "string", "of these: of all matrices of floats whose rows can have it"),
          arg("formats", "table", "of these: by name") },
        returns = { { "true" } },
        text = "Writes what the extension says, .npz, .npy, .safetensors or .gguf (another: .npy "
          .. "for an array, else .npz), whole or not at all. A format is a dtype, or in GGUF "
          .. "`q8_0`, `q4_0`, `q4_1`, `q5_0`, `q4_k`, `q5_k` or `q6_k`, whose blocks are made of "
          .. "floats, while u8 is taken for the blocks' bytes, as `f:stored` gives them. GGUF's "
          .. "shapes are turned as `tempo.open` does. Its metadata are strings, booleans, lists of "
          .. "one of them, and numbers: u32 where they can (i32 in lists), f32 for fractions; "
          .. "`{ f32 = 10000 }` names the type.",
        errors = "`dtype`, `shape` for what the kind of file cannot hold.",
        example = shown.save },
      { name = "open", args = { arg("path", "string", "a file, a folder, an index") },
        returns = { { "tempo.Weights" } },
        text = "Opens [a file of weights](#files-of-weights): safetensors, GGUF (2, 3; of several "
          .. "parts the first one's name), .npz or .npy. A folder has a "
          .. "`*.safetensors.index.json`, which may be given itself, a `model.safetensors`, or one "
          .. "file of weights.",
        errors = "`file` says path, mistake and place.",
        example = shown.open, fails = 'tempo.open "none.gguf"' },
      { name = "load", args = { arg("path", "string", "") },
        returns = { { "any", "the array, or a table of arrays by name" } },
        text = "Reads a .npy or .npz file.", example = shown.save },
      { name = "quantize",
        args = { arg("a", "tempo.Array", "floats"), arg("format", "string", "") },
        returns = { { "tempo.Array", "bytes" } }, text = "`a:quantize(format)`.",
        example = shown.quantize },
      { name = "dequantize", row = true,
        args = { arg("x", "tempo.Operand", "bytes"), arg("format", "string", "") },
        returns = { { "tempo.Array|tempo.Tensor", "f32, of an array an array" } },
        text = "The numbers of blocks along the last axis, as the method of both.",
        example = shown.quantize },
      { name = "range", args = { arg("lo", "tempo.Number", ""), arg("hi", "tempo.Number", "") },
        returns = { { "tempo.Range" } },
        text = "`lo .. hi`, half open, where both are numbers: `2 .. 5` is the string \"25\" in Lua.",
        errors = "`affine` for a product of dims or bounds, or a fraction.",
        example = shown.range,
        fails = 'print(x[2 .. 5])' },
      { name = "min", args = { arg("...", "tempo.Number", "") }, returns = { { "tempo.Index" } },
        text = "The least or the greatest of index expressions and numbers; of tensors see "
          .. "`tempo.minimum`, `x:min(axis)`, `tempo.maximum`, `x:max(axis)`.",
        example = shown.range },
      { name = "max", args = { arg("...", "tempo.Number", "") }, returns = { { "tempo.Index" } },
        text = "The least or the greatest of index expressions and numbers; of tensors see "
          .. "`tempo.minimum`, `x:min(axis)`, `tempo.maximum`, `x:max(axis)`.",
        example = shown.range },
      { name = "floordiv", row = true,
        args = { arg("a", "tempo.Operand", ""), arg("b", "tempo.Operand", "") },
        returns = { { "any", "as its operands" } },
        text = "a // b and a % b, with the sign of b, of tensors, numbers, and index expressions "
          .. "by an integer > 0; also where LuaJIT lacks `//`.",
        example = shown.range },
      { name = "mod", row = true,
        args = { arg("a", "tempo.Operand", ""), arg("b", "tempo.Operand", "") },
        returns = { { "any", "as its operands" } },
        text = "a // b and a % b, with the sign of b, of tensors, numbers, and index expressions "
          .. "by an integer > 0; also where LuaJIT lacks `//`.",
        example = shown.range },
      { name = "prev",
        args = { arg("x", "tempo.Operand", "may be declared and not defined yet"),
        arg("t", "tempo.Index", "a dim of it"),
        arg("first", "tempo.Operand|table", "the value before"),
        arg("n?", "integer", "points back (1)") }, returns = { { "tempo.Tensor" } },
        text = "x at t - n where t >= n, and `first` before. Gradients go to both.",
        example = [[
local y = P:tensor { domain = { t } }
y[t] = 0.5 * tempo.prev(y, t, 0) + x
local out = P:compile { outputs = { y = y, change = x - tempo.prev(x, t, x) } }({ x = { 4, 4, 6 } }, { T = 3 })
print(out.y, out.change)]] },
      { name = "associative_scan",
        args = { arg("fn", "fun(a: any, b: any): any",
        "of two values in the form of x, many at once"),
          arg("x", "tempo.Tensor|table", "a tensor, or tensors that are scanned together") },
        options = { arg("axis", "integer", "(0), its extent a number"),
          arg("dim", "tempo.Index", "in place of an axis"),
          arg("reverse", "boolean", "from the end (false)") },
        returns = { { "any", "in the form of x, as large" } },
        text = "All prefixes of x under fn: y[0] = x[0], y[k] = fn(y[k-1], x[k]). Along an axis "
          .. "it takes 2 log2(n) applications of fn to slices, and fn must be associative, which "
          .. "is not checked; along a dim it is the recurrence.",
        example = [[
local a, b = P:constant { 0.5, 0.5, 2 }, P:constant { 1, 1, 1 }
local y = tempo.associative_scan(function(f, g)            -- h[k] = a[k] h[k-1] + b[k]: functions of h, composed
  return { a = f.a * g.a, b = f.b * g.a + g.b }
end, { a = a, b = b })
print(P:compile { outputs = { h = y.b } } ({}, {}).h)]] },
      { name = "warn", args = { arg("text", "string", "with the script's place") }, returns = {},
        text = "Tempo's warnings go through it, a line on stderr each; a script may put its own "
          .. "function here, `error`, or `false` for silence. It is called for a loop that "
          .. "records more than 10,000 nodes, a random tensor without a domain inside a larger "
          .. "one, a reduction of a scalar, a gradient by what the loss does not contain, a "
          .. "parameter's gradient that nothing needs.",
        example = "local was = tempo.warn\ntempo.warn = function(text) print(\"heard: \" .. text) end\ntempo.warn \"script.lua:1: look\"\ntempo.warn = was" },
      { name = "clock", args = {}, returns = { { "number", "seconds" } },
        text = "A clock that never goes back, for durations.",
        example = "local start = tempo.clock()\nprint(tempo.clock() >= start)" },
      { name = "devices", args = {},
        returns = { { "table[]", "`{ device =, name =, memory =, missing = }` each" } },
        text = "What `P:compile { device = }` may name, the CPU first, and a row for each kind "
          .. "of device that is not there: `missing` says why, and which library of which "
          .. "version is wanted.",
        example = "print(tempo.devices()[1].device)" },
    },
  },

  { title = "Programs", class = "tempo.Program", receiver = "P",
    text = "A program records. Nothing is computed until a compiled function is called.",
    entries = {
      { name = "dim",
        args = { arg("name", "string", "letters, digits and _"),
        arg("bound?", "string", "its name (`name:upper()`)") },
        returns = { { "tempo.Index", "0 .. bound - 1" }, { "tempo.Index", "the bound" } },
        text = "A dim and its bound, an integer >= 0 that every call gives by name. The order of `P:dim` is the order of "
          .. "axes in arrays.",
        example = shown.dim },
      { name = "dims", args = { arg("names", "string", "with spaces between") },
        returns = { { "tempo.Index", "one for each name, in this order" } },
        text = "Several dims, without their bounds: `t:upper()`.",
        example = shown.dim },
      { name = "bound", args = { arg("name", "string", "") }, returns = { { "tempo.Index" } },
        text = "A bound without a dim: a window, a horizon. Every call gives it by name.",
        example = [[
local w = P:bound "w"
local mean = x[tempo.max(0, t - w + 1) .. t + 1]:mean(0)
print(P:compile { outputs = { m = mean } }({ x = { 1, 2, 3, 4 } }, { T = 4, w = 2 }).m)]] },
      { name = "stop",
        args = { arg("dim", "tempo.Index", ""),
        arg("done", "tempo.Operand", "a bool scalar over that dim and any others") }, returns = {},
        text = "Ends the dim by data: at each point of the other dims of `done` it runs to the "
          .. "first point at which `done` holds, that one included, or to the bound given at the "
          .. "call. The bound then is the length reached. [Ends by "
          .. "data](../language.md#ends-by-data) has the rules.",
        errors = "`domain` for a read that an end may leave; `ragged` for rows of unequal ends "
          .. "side by side; `cycle` for a `done` that needs the end itself.",
        example = [[
local x = P:tensor { domain = { t } }
x[0] = 1
x[t] = x[t-1] * 2
P:stop(t, x:ge(20))
local out = P:compile { outputs = { x = x, sum = x[0 .. T]:sum(0) } }({}, { T = 100 })
print(out.x, out.sum, out.T)]] },
      { name = "input", args = { arg("name", "string", "") },
        options = { arg("domain", "tempo.Dims", "in the order of `P:dim` (none)"),
          arg("shape", "tempo.Extent[]", "({})"), arg("dtype", "tempo.Dtype", "(the program's)") },
        returns = { { "tempo.Tensor" } },
        text = "A tensor whose values the call gives: an array of shape (bounds of the domain.., shape..), a nested table, "
          .. "or a number for a scalar.",
        example = [[
local y = P:input("y", { domain = { t }, shape = { 2 } })
print(P:compile { outputs = { s = y:sum() } }({ y = { { 1, 2 }, { 3, 4 } } }, { T = 2 }).s)]] },
      { name = "tensor", args = {},
        options = { arg("domain", "tempo.Dims", "(none)"), arg("shape", "tempo.Extent[]", "({})"),
        arg("dtype", "tempo.Dtype", "(the program's)"), arg("name", "string", "for messages"),
          arg("first", "tempo.Operand|table",
            "its value at the first point, of this shape and dtype"),
            arg("along", "tempo.Index", "of which dim, if it has several") },
        returns = { { "tempo.Declared", "a tensor that may be assigned to" } },
        text = "A tensor that is defined by branches, `h[0] = a`, `h[t] = f(h[t-1])`; the first "
          .. "that matches counts ([branches](../language.md#branches)).",
        example = [[
local fib = P:tensor { domain = { t }, dtype = "i64" }
fib[0] = 0
fib[1] = 1
fib[t] = fib[t - 1] + fib[t - 2]
print(P:compile { outputs = { fib = fib } }({}, { T = 10 }).fib)]] },
      { name = "param", args = { arg("name", "string", "its path in `f:params()`") },
        options = { arg("init", "tempo.Operand|table",
          "a number, an array or an expression without the dims of `along`; it must be given"),
          arg("along", "tempo.Dims", "(none: a constant of the run)"),
          arg("domain", "tempo.Dims", "one such state for each of their points (none)"),
            arg("shape", "tempo.Extent[]", "(init's, else {})"),
          arg("dtype", "tempo.Dtype", "(init's, else the program's)") },
        returns = { { "tempo.Declared", "a tensor that may be assigned to" } },
        text = "A state that evolves along dims: first `init`, or what `f:load_params` gave, then what `w:update(e)` says; "
          .. "without an update it stays. Gradients take it as given at each point.",
        example = shown.param },
      { name = "constant", args = { arg("data", "tempo.Data", "") },
        returns = { { "tempo.Tensor" } },
        text = "A tensor with these values at every point. Arrays and numbers mix with tensors by "
          .. "themselves. A large array is copied once, however often it comes; an array of a file "
          .. "is not copied.",
        example = 'print(P:constant { { 1, 2 }, { 3, 4 } })' },
      { name = "call",
        args = { arg("fn", "fun(arrays: tempo.Array[], point: table<string, integer>): ...", ""),
          arg("inputs", "tempo.Operand[]", ""),
            arg("specs", "tempo.Spec[]",
            "one for each result, of one domain, which contains the inputs'") },
        options = { arg("over", "tempo.Dims",
          "dims that lead the shape of every array instead of being in the point: one call for all of them; no extent may vary with one") },
        returns = { { "tempo.Tensor", "one for each spec" } },
        text = "A Lua function as an operator, called once at every point, in lexicographic "
          .. "order of the dims, if anything reads a result. It returns an array, nested table "
          .. "or number for each spec, and may not yield. Its arrays are read only and valid "
          .. "until it returns (`:clone()` keeps one). An error inside ends the run and reaches "
          .. "the caller as it is. Gradient: 0.",
        example = [[
local y = P:call(function(arrays, point) return arrays[1]:item() * 10 + point.t end, { x }, { { domain = { t } } })
print(P:compile { outputs = { y = y } }({ x = { 1, 2 } }, { T = 2 }).y)]] },
      { name = "source",
        args = { arg("fn", "fun(point: table<string, integer>): ...", ""),
        arg("spec", "tempo.Spec|tempo.Spec[]", "one, or several") },
        options = { arg("over", "tempo.Dims", "as for `P:call`") },
          returns = { { "tempo.Tensor" } }, text = "`P:call` without inputs.",
        example = shown.source },
      { name = "sink",
        args = { arg("inputs", "tempo.Operand[]", ""),
        arg("fn", "fun(arrays: tempo.Array[], point: table<string, integer>)", "") },
        options = { arg("over", "tempo.Dims", "as for `P:call`") }, returns = {},
        text = "`P:call` without results, at every point of the union of the inputs' domains, always needed: a program "
          .. "with a sink needs no outputs.",
        example = shown.source },
      { name = "compile", args = {}, options = {
          arg("outputs", "table<string, tempo.Operand>",
            "by name; may be left out where there is a sink"),
          arg("tier", "tempo.Tier",
            "`\"reference\"` evaluates by demand, slow and obviously right; `\"interpreter\"` runs the plan; "
          .. "`\"native\"` compiles it with `$CC` or `cc`; `\"auto\"` (the default) begins in the interpreter and "
          .. "goes over to native code after a second, or at once where the cache has it"),
          arg("passes", '"none"|table<string, boolean>',
            "by name, rules too: `{ cse = false, mul_one = false }` (all on)"),
            arg("precise", "boolean", "no pass that reassociates floats (false)"),
          arg("reproducible", "boolean",
            "the same bits on every processor, compiler, level of optimisation and number of "
          .. "threads, and where exported (false); flags such as `-ffast-math` are an error"),
          arg("cflags", "string", "for the compiler of native code, behind ours: `\"-O1\"`"),
          arg("device", "string",
            "`\"cpu\"`, `\"cuda\"`, `\"opencl\"`, of several of a kind also `\"opencl:1\"`, the second (cpu); `tempo.devices()` says which are there"), arg("threads", "integer", "1 to 4096 (`OMP_NUM_THREADS`, else 1); every bit is the same for any number"), arg("memory", "number|string", "a limit: bytes, `\"2GiB\"`, `\"512MiB\"`, `\"1.5GB\"`; `\"none\"`: not even the machine's"), arg("check", '"nan"|"none"', "the first NaN or infinity made of finite operands ends the run with the error "
          .. "`nan`: the tensor, its point, the element, the line and the operands (none)"),
          arg("tick", "tempo.Index|tempo.Index[]", "the dims of `f:step`"),
          arg("async", "boolean",
            "another thread compiles, and the first use of the function waits for it (false)") },
        returns = { { "tempo.Function" } },
        text = "Checks, differentiates, schedules and plans the program for all bounds. Later "
          .. "changes of P do not touch the function.\n\nUnder a limit of `memory` blocks of "
          .. "rows become shorter, then what is not used for long goes to a nameless file in "
          .. "`TMPDIR` (else `/var/tmp`; not a tmpfs), whose space is taken first. A call that "
          .. "takes more than the limit, than the machine, its container (cgroup), `RLIMIT_AS` "
          .. "or `RLIMIT_DATA` leave, is refused before its first step, with the tensors that "
          .. "need most and bounds that would do. A dim that ends by data counts one step for "
          .. "what is kept inside. Inputs, outputs and states do not count; the reference tier "
          .. "keeps to no limit.\n\n`reproducible` fuses nothing; where products dominate a run "
          .. "takes twice as long. It does not cover callbacks, the reference tier, NaN's "
          .. "payloads and, in exported code, gradients of a convolution's weights.\n\n`check` "
          .. "looks at every operator that is computed, also at the side of a `where` that is not "
          .. "taken, but at nothing beyond the end of a row. It takes NaN and infinity that come in "
          .. "(inputs, parameters, callbacks, literals) for meant. Where several operators fail, a "
          .. "tier names the one that it comes to first. Only a function that is checked too goes on "
          .. "from its states.\n\nSums in shorter blocks, and sums in place under `check`, may "
          .. "differ in the last digit.",
        errors = "those of the whole program, with the line at fault and a witness point; "
          .. "`device`.",
        example = [[
local h = P:tensor { domain = { t } }
h[0] = x
h[t] = (h[t-1] + x):tanh()
local f = P:compile { outputs = { g = tempo.grad(h, x) }, memory = "1MiB" }
print(f, f:memory { T = 1000 } < 2^20)]],
        fails = [[P:compile { outputs = { y = x[t + 1] } }]] },
      { name = "seed", args = {}, returns = { { "integer" } },
        text = "What `tempo.program` was given.",
        example = "print(tempo.program({ seed = 7 }):seed())" },
      { name = "env_reset", args = { arg("id", "string", ""), arg("u", "tempo.Operand", "f64") },
        returns = { { "tempo.Tensor", "the state, f64" } },
        text = "An environment's first state from uniform numbers; "
          .. "[tempo.rl](libraries.md#temporl) is the comfortable way.",
        example = shown.env_reset },
      { name = "env_obs", args = { arg("id", "string", ""), arg("state", "tempo.Operand", "") },
        returns = { { "tempo.Tensor", "f32" } }, text = "The observation of a state.",
        example = shown.env_reset },
      { name = "env_step",
        args = { arg("id", "string", ""), arg("state", "tempo.Operand", ""),
        arg("action", "tempo.Operand", "i64"), arg("u", "tempo.Operand", "f64, for a reset") },
        returns = { { "tempo.Tensor", "the next state, of a new episode after an end" },
          { "tempo.Tensor", "the observation before that" }, { "tempo.Tensor", "the reward" },
          { "tempo.Tensor", "terminated" }, { "tempo.Tensor", "truncated" } },
        text = "One step. Gradient: 0. See `rl.env`.",
        example = shown.env_reset },
    },
  },

  { title = "Dims, bounds and index expressions", class = "tempo.Index", receiver = "t",
    text = "Made of dims, bounds and integers with `+ - *` (by an integer), `//` and `%` (by a positive integer), unary `-`, `tempo.min`, `tempo.max`. Equal ones are the same object, so `==` "
      .. "is identity and no condition. A product of dims or bounds is a size, good in shapes and `:value()`, refused as an index (`affine`). Where a tensor is wanted it is its value, with the weak dtype of a number.",
    operators = { "add(tempo.Number): tempo.Index", "sub(tempo.Number): tempo.Index",
      "mul(tempo.Number): tempo.Index", "idiv(integer): tempo.Index", "mod(integer): tempo.Index",
      "unm: tempo.Index", "concat(tempo.Number): tempo.Range" },
    entries = {
      { name = "value", args = {},
        returns = { { "tempo.Tensor", "an i64 scalar, whose domain is the expression's dims" } },
        text = "Its value as a tensor, for other arithmetic.",
        example = "print(P:compile { outputs = { y = t:value() / 2 } }({}, { T = 4 }).y)",
          fails = "print(t / 2)" },
      { name = "upper", args = {}, returns = { { "tempo.Index" } }, text = "A dim's bound.",
        example = shown.upper },
      { name = "name", args = {}, returns = { { "string" } }, text = "Its text.",
        example = shown.upper },
      { name = "program", args = {}, returns = { { "tempo.Program" } },
        text = "The program it belongs to.", example = shown.upper },
      { name = "eq", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } },
        text = "The comparison with k; with a tensor a bool tensor.",
        example = shown.eq, fails = "print(t < T)" },
      { name = "ne", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } },
        text = "The comparison with k; with a tensor a bool tensor.",
        example = shown.eq },
      { name = "lt", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } },
        text = "The comparison with k; with a tensor a bool tensor.",
        example = shown.eq },
      { name = "le", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } },
        text = "The comparison with k; with a tensor a bool tensor.",
        example = shown.eq },
      { name = "gt", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } },
        text = "The comparison with k; with a tensor a bool tensor.",
        example = shown.eq },
      { name = "ge", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } },
        text = "The comparison with k; with a tensor a bool tensor.",
        example = shown.eq },
      { name = "floordiv", args = { arg("k", "integer", "> 0") }, returns = { { "tempo.Index" } },
        text = "t // k.", example = shown.floordiv },
      { name = "mod", args = { arg("k", "integer", "> 0") }, returns = { { "tempo.Index" } },
        text = "t % k.", example = shown.floordiv },
    },
  },

  { title = "Conditions", class = "tempo.Condition", receiver = "c",
    text = "What `t:eq(k)` and such give: for `h:when(c, e)`; where a tensor is wanted, a bool scalar.",
    entries = {
      { name = "land", args = { arg("d", "tempo.Condition|boolean", "") },
        returns = { { "tempo.Condition" } }, text = "Both hold.", example = shown.land },
      { name = "lor", args = { arg("d", "tempo.Condition|boolean", "") },
        returns = { { "tempo.Condition" } }, text = "One of them holds.", example = shown.land },
      { name = "lnot", args = {}, returns = { { "tempo.Condition" } }, text = "It does not hold.",
        example = shown.land },
      { name = "value", args = {}, returns = { { "tempo.Tensor", "a bool scalar" } },
        text = "As a tensor.", example = shown.land },
      { name = "name", args = {}, returns = { { "string" } }, text = "Its text.",
        example = shown.land },
      { name = "program", args = {}, returns = { { "tempo.Program" } },
        text = "The program it belongs to.", example = shown.land },
    },
  },

  { title = "Ranges", class = "tempo.Range", receiver = "r",
    text = "`lo .. hi` and `tempo.range(lo, hi)`: half open, only to index with. A range takes no arithmetic, no comparison and no `#` (`option`).", entries = {} },

  { title = "Tensors", class = "tempo.Tensor", receiver = "x",
    text = [[
An expression with a domain (its dims), a spatial shape and a dtype. [Operators](operators.md) are its methods. A string is a method's name; any other key is an index in time:

| read | means | spatial shape | domain |
| --- | --- | --- | --- |
| `x[t-1]`, `x[t//2]`, `x[tempo.min(t+10, T-1)]` | a point | same | same |
| `x[0]`, `x[T-1]`, `x[{t = 0}]` | a constant point | same | loses t |
| `x[0 .. t+1]`, `x[t .. T]` | a range | prepends an extent | keeps t |
| `x[0 .. T]` | a constant range | prepends an extent | loses t |
| `x[{b = 0 .. B, t = t-1}]`, `x[{0, i, t+1}]` | several dims, by name or by position | prepended in domain order | as above |

A read that leaves the domain is the error `domain`, at compilation or, where it depends on bounds, at the call; a range over a dim that the shape depends on is `ragged`.]],
    operators = { "add(tempo.Operand): tempo.Tensor", "sub(tempo.Operand): tempo.Tensor",
      "mul(tempo.Operand): tempo.Tensor", "div(tempo.Operand): tempo.Tensor",
      "mod(tempo.Operand): tempo.Tensor", "pow(tempo.Operand): tempo.Tensor",
        "idiv(tempo.Operand): tempo.Tensor", "unm: tempo.Tensor" },
    index = "tempo.Tensor",
    derived = { "tempo.Declared",
      "A tensor that may be assigned to at its points: what `P:tensor` and `P:param` give.",
      "any" },
    entries = {
      { name = "at", args = { arg("key", "table", "also by dims, `{[t] = 0}`") },
        returns = { { "tempo.Tensor" } }, text = "`x[{..}]` as a method.",
        example = [[print(P:compile { outputs = { last = x:at { t = T - 1 } } }({ x = { 1, 2, 3 } }, { T = 3 }).last)]],
        fails = [[x:at { b = 0 }]] },
      { name = "otherwise", args = { arg("e", "tempo.Operand|table", "") }, returns = {},
        text = "The branch for the points that no earlier one has.", example = shown.otherwise },
      { name = "when",
        args = { arg("c", "tempo.Condition", "for data use `tempo.where`"),
        arg("e", "tempo.Operand|table", "") }, returns = {},
        text = "The branch for the points where c holds.",
        example = shown.otherwise },
      { name = "update", args = { arg("e", "tempo.Operand", "") }, returns = {},
        text = "A parameter's value at the next point of `along`, at most once; along one dim `w[i+1] = e` is the same.",
        example = shown.param },
      { name = "next", args = {}, returns = { { "tempo.Tensor" } },
        text = "The value that a parameter takes at the next point of `along`, which `update` is "
          .. "given before or after this line; at the last point too. So a second loss sees the "
          .. "parameters after the step. A gradient by w goes through what `update` was given, "
          .. "which optimisers detach; one by `w:next()` stops there.",
        example = [[
local w = P:param("w", { along = { t }, init = 1 })
local change = w:next() - w
w:update(w * 2)
print(P:compile { outputs = { change = change } }({}, { T = 3 }).change)]] },
      { name = "backward", args = {}, returns = { { "tempo.Tensor", "itself" } },
        text = "Marks a loss for `x:grad()`.", example = shown.backward },
      { name = "grad", args = {}, returns = { { "tempo.Tensor" } },
        text = "The gradient of the sum of all marked losses, wherever in the script.",
        example = shown.backward },
      { name = "peek", args = {},
        options = { arg("inputs", "table<string, tempo.Data>", ""),
        arg("bounds", "table<string, integer>", ""),
        arg("at", "table<string, integer>", "the point"), arg("seed", "integer", "") },
        returns = { { "tempo.Array" } },
          text = "The value at one point, on demand, without compiling: for debugging. Inputs and bounds that the "
          .. "value does not mention may be left out.",
        example = [[print(x[0 .. t + 1]:sum(0):peek { inputs = { x = { 1, 2, 3 } }, bounds = { T = 3 }, at = { t = 1 } })]] },
      { name = "name", args = { arg("s?", "string", "") },
        returns = { { "string|tempo.Tensor|nil", "itself when given" } },
        text = "Its name for messages, asked or given.",
          example = 'print((P:constant(1) + t):name "shifted")' },
      { name = "shape", args = {}, returns = { { "tempo.Extent[]" } }, text = "The spatial shape.",
        example = shown.shape },
      { name = "dtype", args = {}, returns = { { "tempo.Dtype" } }, text = "The dtype.",
        example = shown.shape },
      { name = "domain", args = {}, returns = { { "tempo.Index[]" } },
        text = "Its dims, in the order of `P:dim`.", example = shown.shape },
      { name = "along", args = {}, returns = { { "tempo.Index[]" } },
        text = "The dims a parameter evolves over; {} of others.",
        example = 'print(P:param("w", { along = { t }, init = 0 }):along()[1])' },
      { name = "program", args = {}, returns = { { "tempo.Program?" } },
        text = "Its program; nil of a literal that has met none.", example = shown.shape },
    },
  },

  { title = "Compiled functions", class = "tempo.Function", receiver = "f",
    text = "What `P:compile` gives.",
    call = "(inputs?: table<string, tempo.Data>, bounds?: table<string, integer>, options?: table): table<string, tempo.Array>",
    entries = {
      { name = "__call", form = "f(inputs, bounds[, { ... }])",
        args = { arg("inputs", "table<string, tempo.Data>",
        "by name; arrays are borrowed for the run, not copied"),
          arg("bounds", "table<string, integer>", "all that are needed, by name") },
        options = { arg("seed", "integer", "in place of the program's"),
          arg("state", "tempo.State", "goes on from there") },
        returns = { { "table<string, tempo.Array>",
          "a fresh array for each output, of shape (bounds of its domain.., shape..); after `f:cancel()` those that are complete, and `cancelled = true`" } },
        text = "Runs the program.",
        example = [[
local f = P:compile { outputs = { y = x * 2 } }
print(f({ x = { 1, 2, 3 } }, { T = 3 }).y)
print(f({ x = { 1 } }, { T = 1 }).y)]],
        fails = [[P:compile { outputs = { y = x * 2 } }({ x = { 1, 2 } }, {})]] },
      { name = "start",
        args = { arg("inputs", "table<string, tempo.Data>",
        "without the tick dims; kept for the run"),
        arg("bounds", "table<string, integer>", "of the first tick dim `math.huge` too") },
        options = { arg("seed", "integer", "in place of the program's") },
          returns = { { "tempo.Function", "itself" } },
        text = "Begins a run that `f:step` goes through. With one dim `tick` may be left out of `P:compile`. Calls of f in "
          .. "between do not disturb it.",
        errors = "`bound` for `math.huge` where something is kept over the whole of the dim, or "
          .. "goes through all of it between two ticks.",
        example = shown.start },
      { name = "step",
        args = { arg("values?", "table<string, tempo.Data>",
        "the inputs with the tick dims, without these") },
        options = { arg("budget_ms", "number",
          "this tick's outputs, whatever they take, then work for later ticks while time is left; no number changes"),
          arg("into", "table",
            "what an earlier step returned: its arrays are written into and it is returned again, without garbage"),
          arg("whole", "boolean",
            "Ctrl-C waits for the end of the tick, unless it falls into a callback, so that a state can be saved (false)") },
        returns = { { "boolean", "the last tick" },
          { "table", "by name the outputs at this tick, as arrays (`out.loss:item()` is a number); `cancelled`; with a budget `late_ms`, by how much it was overrun" } },
        text = "Goes to the next point of the tick dims; [steps](../language.md#steps) say where "
          .. "outputs without all of these are. A wrong value costs no tick; any other error "
          .. "ends the run.",
        example = shown.start },
      { name = "work", args = {},
        options = { arg("budget_ms", "number",
        "how long, at least one region; without it until nothing waits") },
        returns = { { "boolean", "true when nothing waits for the next step" } },
        text = "Spends time between two steps on work that budgets have left, also inside a tick and before the first one, and allocates nothing. "
          .. "No number changes.",
        errors = "those of callbacks; after an error the run is over",
        example = [[
local y = (x * 2):square()
local f = P:compile { outputs = { y = y }, tick = t }
f:start({}, { T = 3 })
local done, out = f:step({ x = 1 }, { budget_ms = 0 })
while not f:work { budget_ms = 1 } do end
print(out.y, f:work())]] },
      { name = "state", args = {}, returns = { { "tempo.State" } },
        text = "The state between ticks, in memory: position, bounds, inputs without the tick "
          .. "dims, buffers, complete outputs and parameters. Not from a callback.",
        example = shown.state },
      { name = "load_state",
        args = { arg("s", "tempo.State", "of this program, recorded and compiled alike") },
        returns = { { "tempo.Function", "itself" } },
        text = "Goes on from a state, as `state =` of a call does; "
          .. "[states](../language.md#steps) say when the bound may be larger.",
        example = shown.state },
      { name = "save", args = { arg("path", "string", "") },
        options = { arg("portable", "boolean", "parameters and moments alone, by path (false)") },
        returns = { { "true" } },
        text = "Writes the state to a file, whole or not at all. After a step that was cancelled or failed it is that of a "
          .. "run that is over. A portable file is an .npz of `f:params()`: `f:load_params(path)` of a changed program takes it.",
        example = shown.state },
      { name = "load", args = { arg("path", "string", "") },
        returns = { { "tempo.Function", "itself" } },
        text = "Goes on from a state in a file; after an error the function is as it was.",
        example = shown.state },
      { name = "cancel", args = {}, returns = {},
        text = "From a callback: ends the run, which gives the outputs that are complete.",
        example = [[
local f
P:sink({ t:value() }, function(a) if a[1]:item() == 2 then f:cancel() end end)
f = P:compile {}
print(f({}, { T = math.huge }).cancelled)]] },
      { name = "params",
        args = { arg("options?", "{ of?: any }",
        "`of`: a module, a parameter, or a list of them: these alone") },
        returns = { { "table<string, tempo.Array>" } },
        text = "Copies of the newest parameters by path, at any time: between ticks, after a "
          .. "run, a cancel, an error or Ctrl-C. Constants that were loaded are the loaded "
          .. "arrays themselves.",
        example = shown.param },
      { name = "load_params",
        args = { arg("params", "table<string, tempo.Data>|string",
        "any of them, by path, or a portable file"),
        arg("options?", "{ strict?: boolean }",
        "`false` leaves out paths that the function lacks (true)") },
        returns = { { "tempo.Function|string[]",
          "itself; unless strict the paths that were missing" },
          { "string[]?", "and those left over" } },
        text = "First values for runs to come, which begin at the first point again, with the "
          .. "same random numbers and schedules: give them another `seed =`, or go on from the "
          .. "whole state (`examples/going_on.lua` does both). Arrays are borrowed: runs see "
          .. "what the script writes into them. `g:load_params(f:params { of = net })` takes a "
          .. "net into another program.",
        example = shown.param },
      { name = "explain",
        args = { arg("section?",
        '"graph"|"schedule"|"storage"|"memory"|"work"|"plan"|"threads"|"kernels"|"code"|"passes"|"rules"|"evolution"|"dot"', ""),
          arg("bounds?", "table<string, integer>", "for sizes in bytes") },
            returns = { { "string" } },
        text = "Tells what tempo has made of the program. [Reading explain](../reading-explain.md) "
          .. "shows the sections and how to read them. Without a section it gives a summary, and "
          .. "says what was not fused and why.",
        example = shown.explain },
      { name = "memory", args = { arg("bounds", "table<string, integer>", "") },
        returns = { { "integer?", "nil in the reference tier" } },
        text = "Bytes that a run takes, before running: tensors that are kept, loaded "
          .. "parameters, and the working memory of operators; without inputs, outputs, "
          .. "constants, what callbacks are given and return, and blocks of the size of a cache.",
        example = shown.memory },
      { name = "peak", args = {}, returns = { { "integer?", "nil in the reference tier" } },
        text = "Bytes that the last run took.", example = shown.memory },
      { name = "simulate", args = { arg("bounds", "table<string, integer>", "") },
        returns = { { "true?", "nil where the tier has no schedule or a dim ends by data" } },
        text = "To find bugs of ours: goes through the schedule without data and fails (`cycle`) "
          .. "unless every statement runs once at each point, everything is made before it is "
          .. "read, and no slot is given away too early.",
        example = shown.explain },
      { name = "profile", args = { arg("rows?", "integer", "to show (20)") },
        options = { arg("trace", "string",
          "a file for the plan with its times, as JSON for Perfetto"),
          arg("inside", "boolean", "from the next run on") }, returns = { { "string" } },
        text = "The time of all runs so far by region of the plan, the dearest first: "
          .. "milliseconds, share, runs, GB and operations a second, the script's line, tensor "
          .. "and operators; one line says what a core of this machine does. The clock is always "
          .. "on; it samples. Native code has a line for each of its parts; `inside` builds them "
          .. "again, with clocks in their leaves and the same bits.",
        example = shown.memory },
      { name = "export",
        args = { arg("path", "string", "\"dir/agent\", a name that C takes"),
        arg("bounds?", "table<string, integer>", "") }, returns = {},
        text = "Writes the function for these bounds as C99 that needs libm alone: `agent.c`, "
          .. "`agent.h`, `agent.weights` with the newest parameters, and `agent_main.c`, which "
          .. "shows their use ([export](../export.md)). With `tick` it goes in steps. After an "
          .. "error all files are as they were.",
        example = [[
local f = P:compile { outputs = { y = x[0 .. t + 1]:sum(0) }, tier = "interpreter" }
local path = os.tmpname()
f:export(path, { T = 8 })
print(io.open(path .. ".c"):read "l" ~= nil)
for _, rest in ipairs { "", ".h", ".c", ".weights", "_main.c" } do os.remove(path .. rest) end]] },
      { name = "ready", args = {}, returns = { { "boolean" } },
        text = "False while another thread compiles (`async = true`). Any use waits, raises what "
          .. "compiling failed with and tells its warnings. Ctrl-C ends the wait but not the "
          .. "compilation, which `f:free()` ends.",
        example = shown.ready },
      { name = "free", args = {}, returns = {},
        text = "Gives its memory back; any use after is an error. Not from its own callback.",
        example = shown.ready },
    },
  },

  { title = "States", class = "tempo.State", receiver = "s",
    text = "What `f:state()` gives: a run between two ticks. It has no methods.", entries = {} },

  { title = "Files of weights", class = "tempo.Weights", receiver = "f",
    text = "What `tempo.open` gives: arrays by name, `f[name]`, nil where there is none. Files are "
      .. "mapped: opening reads what describes the arrays, an array's elements are read when they "
      .. "are used, and stay in the system's cache. So arrays are read only (`a:clone()` is not; a "
      .. "write by way of `a:pointer()` or `a:data()` ends the process), and keep the map when "
      .. "`f` is closed. Copied are packed members of an .npz, arrays in "
      .. "Fortran's order or big endian, bools, and what does not lie at a multiple of its size. "
      .. "Checksums in an .npz are looked at where a member is copied. "
      .. "Blocks (`q8_0`, `q4_0`, `q4_1`, `q5_0`, `q4_k`, `q5_k`, `q6_k`) come as a new f32 array; "
      .. "GGUF's shapes are turned to (out, in). An array stored as what is no dtype of ours (i8, "
      .. "f8_e4m3, other blocks) is the error `dtype` when it is asked for. A .npy's array is "
      .. "called as the file. Names of the methods below are theirs: `f:arrays().meta` is an array "
      .. "of that name.\n\nA file that was changed in place is the error `file` when the next "
      .. "array is asked for. One that is cut while it is mapped ends the process (SIGBUS) where "
      .. "an array's missing part is read: replace files, as `tempo.save` does, in place of "
      .. "cutting them.",
    index = "tempo.Array?",
    entries = {
      { name = "arrays", args = {}, returns = { { "table<string, tempo.Array>" } },
        text = "All arrays, for `pairs`. Each is made when it is reached; under LuaJIT all at once.",
        example = shown.open },
      { name = "names", args = {}, returns = { { "string[]" } }, text = "In the order of the file.",
        example = shown.open },
      { name = "meta", args = { arg("key?", "string", "one value; nil where there is none") },
        returns = { { "any" } },
        text = "The metadata by key: numbers, booleans, strings, sequences of them. A model in "
          .. "several files has the first one's.", example = shown.open },
      { name = "stored", args = { arg("name", "string", "") },
        returns = { { "tempo.Array?", "a view" }, { "string?", "the format" },
          { "integer[]?", "the shape" } },
        text = "The array as it is stored. A kind that is no dtype of ours comes as u8, with the "
          .. "bytes of a row as last axis; the shape is that of its elements.",
        example = shown.open },
      { name = "close", args = {}, returns = {},
        text = "Gives the map back when its last array goes.", example = shown.open },
    },
  },

  { title = "Arrays", class = "tempo.Array", receiver = "a",
    text = "Dense, row major, of any dtype. `a[i]` counts from 0: a view of a row, or a number of a vector; out of range is the error `input`, so `ipairs` cannot skip row 0. "
      .. "`#a` is the first extent; printing is NumPy's.",
    index = "tempo.Array|number|boolean",
    entries = {
      { name = "shape", args = {}, returns = { { "integer[]" } }, text = "The extents.",
        example = shown.shape_2 },
      { name = "dtype", args = {}, returns = { { "tempo.Dtype" } }, text = "The dtype.",
        example = shown.shape_2 },
      { name = "totable", args = {}, returns = { { "any", "a table, a number or a boolean" } },
        text = "Nested tables of numbers or booleans from 1; a scalar's value.",
        errors = "under LuaJIT `input` for an i64 beyond 2^53.",
        example = shown.shape_2 },
      { name = "item", args = {}, returns = { { "number|boolean" } }, text = "The one element.",
        example = 'print(tempo.array(5, "i64"):item())', fails = "tempo.array({ 1, 2 }):item()" },
      { name = "clone", args = {}, returns = { { "tempo.Array" } },
        text = "A copy: keeps what a callback was lent.", example = shown.clone },
      { name = "orthonormal", args = {}, returns = { { "tempo.Array" } },
        text = "A matrix of floats with its rows made orthonormal, or its columns where they are "
          .. "fewer (modified Gram-Schmidt in f64, twice).",
            example = "print(tempo.array({ { 3, 4 }, { 1, 0 } }):orthonormal())" },
      { name = "quantize",
        args = { arg("format", "string",
          "`q8_0 q4_0 q4_1 q5_0` (blocks of 32 numbers), `q4_k q5_k q6_k` (of 256)") },
        returns = { { "tempo.Array", "u8" } },
        text = "Its floats in blocks along the last axis, as GGUF files hold weights, byte for byte "
          .. "what llama.cpp's reference makes of them.",
        errors = "`shape` where the axis is no multiple of a block.",
        example = shown.quantize, fails = 'tempo.array({ 1, 2 }):quantize "q8_0"' },
      { name = "dequantize", args = { arg("format", "string", "") },
        returns = { { "tempo.Array", "f32" } },
        text = "The numbers that its bytes hold in blocks along the last axis.",
        example = shown.quantize, fails = 'tempo.array({ 1, 2 }, "u8"):dequantize "q8_0"' },
      { name = "rows", args = {}, returns = { { "fun(): integer?, tempo.Array|number|boolean" } },
        text = "Iterates over index (from 0) and row.",
        example = "for i, row in tempo.array({ { 1, 2 }, { 3, 4 } }):rows() do print(i, row) end" },
      { name = "get", args = { arg("...", "integer", "one for each axis") },
        returns = { { "number|boolean" } }, text = "An element.",
        example = shown.shape_2, fails = "tempo.array({ 1, 2 }):get(2)" },
      { name = "set",
        args = { arg("v", "number|boolean", ""), arg("...", "integer", "one for each axis") },
        returns = { { "tempo.Array", "itself" } },
        text = "Changes an element; not of an array that a callback was lent, or of a file's.",
        example = shown.shape_2 },
      { name = "copy_to", args = { arg("list?", "table", "a new one unless given") },
        returns = { { "table", "the list" } },
        text = "Puts all elements into a list, row by row, from 1.", example = shown.lists },
      { name = "copy_from", args = { arg("list", "table", "") },
        returns = { { "tempo.Array", "itself" } },
        text = "Takes all elements from a list, row by row; not of an array that a callback was lent, or of a file's.", example = shown.lists },
      { name = "pointer", args = {},
        returns = { { "any", "`float *` and so on; of f16 and bf16 `uint16_t *`" } },
        text = "LuaJIT only: a pointer to the elements, row by row, from 0. The array must live as long as it is used.",
        example = shown.lists },
      { name = "save", args = { arg("path", "string", "") }, returns = { { "true" } },
        text = "Writes a .npy file, whole or not at all.",
        example = [[
local path = os.tmpname()
tempo.array({ 1, 2 }):save(path)
print(tempo.load(path))
os.remove(path)]] },
      { name = "data", args = {}, returns = { { "lightuserdata" } },
        text = "The address of the elements, for LuaJIT's `ffi.cast`. A [device](../gpu.md) copies the array in each call "
          .. "from then on, as it may change without a word; so after `pointer` and `int64`.", example = shown.shape_2 },
      { name = "int64", args = {}, returns = { { "table|integer" } },
        text = "As `totable` with exact 64-bit integers (LuaJIT: cdata).",
        example = shown.shape_2 },
      { name = "free", args = {}, returns = {}, text = "Gives its memory back.",
        example = shown.clone },
    },
  },

  { title = "Rows", class = "tempo.Rows", receiver = "r",
    text = "What `tempo.rows` gives. `#r` is the number of arrays, `r[i]` the array itself, "
      .. "from 0; `tempo.array(r)` copies all into one.",
    index = "tempo.Array",
    entries = {
      { name = "shape", args = {}, returns = { { "integer[]" } },
        text = "The number of arrays, then their shape.", example = shown.rows },
      { name = "dtype", args = {}, returns = { { "tempo.Dtype" } },
        text = "The dtype of the arrays.", example = shown.rows },
      { name = "free", args = {}, returns = {}, text = "Lets go of the arrays.",
        example = shown.rows },
    },
  },
}

return api

-- What the reference says of everything that is no row of methods.def: the module's functions and the methods of userdata.
-- A spec compares the names with those in the live metatables, both ways; options with the `known[]` tables of src/lua.
--
-- A class: title, class, receiver (what the reference writes before `:`), text, entries; and for the annotations its operators, `call`,
-- `index` (the type of x[i]) and `derived`, a class of its own for editors: name, words, type of x[i] (any: assignments take more than reads give).
-- An entry: name; args and returns as { name, type, text } and { type, text }; options as { name, type, text }; text; errors; example;
-- fails (an example of an error); form (what is written where it is no method).
local function arg(name, kind, text) return { name = name, kind = kind, text = text } end
local spec = "{ domain?: tempo.Dims, shape?: tempo.Extent[], dtype?: tempo.Dtype }"
local api = {}

--- Runs before every example of these classes.
api.prelude = [[
tempo = require "tempo"
P = tempo.program()
t, T = P:dim "t"
x = P:input("x", { domain = { t } })
]]

api.aliases = {
  { "tempo.Tier", '"auto"|"reference"|"interpreter"|"native"', "What executes a compiled program." },
  { "tempo.Dims", "(tempo.Index|tempo.Tensor)[]", "A domain: dims, or tensors that stand for theirs." },
  { "tempo.Extent", "integer|tempo.Index", "An extent: an integer, a dim, a bound or an expression of them; a product of bounds is fine." },
  { "tempo.Number", "integer|tempo.Index", "An integer or an index expression." },
  { "tempo.Operand", "tempo.Tensor|tempo.Index|tempo.Condition|tempo.Array|number|boolean", "What may stand where a tensor is wanted." },
  { "tempo.Data", "tempo.Array|table|number|boolean", "Host data: an array, a nested table or a number." },
  { "tempo.Key", "integer|tempo.Index|tempo.Range|table", "An index in time: a point, a range, or a table of them by position, name or dim." },
}

api.classes = {
  { title = "The module", class = "tempo", receiver = "tempo", dot = true,
    text = "`require \"tempo\"` has no side effect and prints nothing. Operators are also functions on it ([operators](operators.md)), and so are the methods `shape dtype domain name at backward peek` of tensors; libraries load on first use.",
    entries = {
      { name = "program", args = {}, options = { arg("seed", "integer", "of random numbers (0); a call may give another"), arg("dtype", "tempo.Dtype", "of all that names none (\"f32\")") }, returns = { { "tempo.Program" } },
        text = "A new, empty program. Its dtype is that of inputs, tensors, parameters, modules, nested tables, fractions on "
          .. "their own, and of creation but for random integers, when a literal meets the program. A quotient or a mean "
          .. "of integers stays f32, and so does what environments give.",
        example = 'print(tempo.program { seed = 7 })\nprint(tempo.program { dtype = "f64" }:input "x")', fails = "tempo.program { sed = 7 }" },
      { name = "grad", args = { arg("loss", "tempo.Tensor", "floats"), arg("x", "tempo.Tensor|tempo.Tensor[]", "") },
        options = { arg("leaf", "boolean", "(false)") },
        returns = { { "tempo.Tensor|tempo.Tensor[]", "as many, each with the domain, shape and dtype of its tensor" } },
        text = "The gradient of the loss, summed over all its points and elements, at each point of x's domain; a tensor "
          .. "like any other, that may be differentiated again. It sees the whole program as it is compiled, whatever "
          .. "the order of the lines. It is 0 where no loss needs x; compiling warns if none does.\n\nWith `leaf = true` "
          .. "nothing is followed through the definition of x: a state counts as given at each point, as a parameter "
          .. "does. So an optimiser's step can stand inside a recurrence and be differentiated in turn "
          .. "(`examples/maml_sinusoid.lua`).",
        errors = "`dtype` for tensors that are no floats; `cycle` where the gradient runs through the update of a state that "
          .. "is no parameter and no leaf.",
        example = [[
local dx = tempo.grad(x[0 .. t + 1]:sum(0):square(), x)
print(P:compile { outputs = { dx = dx } }({ x = { 1, 2, 3 } }, { T = 3 }).dx)

local w = P:tensor { domain = { t } }                 -- gradient descent on w^2 from w = 1
w[0] = 1
w[t] = (w - 0.25 * tempo.grad(w * w, w, { leaf = true }))[t - 1]
local by_first = tempo.grad(w[T - 1], w)[0]
print(P:compile { outputs = { w = w, d = by_first } }({}, { T = 3 }).d)]] },
      { name = "array", args = { arg("data", "tempo.Data|string", "a string is bytes"),
          arg("dtype?", "tempo.Dtype", "(f32; bool for booleans; an array's own)"), arg("shape?", "integer[]", "for bytes, and to reshape") },
        returns = { { "tempo.Array" } }, text = "A copy in the host's memory. A number with a shape fills it.",
        errors = "`shape` for ragged tables and bytes that do not fill it; `dtype` for what an integer cannot hold; "
          .. "`option`.",
        example = 'print(tempo.array({ { 1, 2 }, { 3, 4 } }, "i64"))\nprint(tempo.array(0, "f32", { 3 }))', fails = "tempo.array { { 1, 2 }, { 3 } }" },
      { name = "save", args = { arg("path", "string", ""), arg("arrays", "tempo.Array|table<string, tempo.Array>", "an array: .npy; by name: .npz") },
        returns = { { "true" } }, text = "Writes a NumPy file, whole or not at all.", errors = "`option`; `file` if it cannot be written.",
        example = [[
local path = os.tmpname()
tempo.save(path, { a = tempo.array { 1, 2 }, b = tempo.array { 3 } })
print(tempo.load(path).b)
os.remove(path)]] },
      { name = "load", args = { arg("path", "string", "") }, returns = { { "any", "the array, or a table of arrays by name" } },
        text = "Reads a .npy or .npz file.", errors = "`file` for one that is not there, broken or of another dtype.", example = [[
local path = os.tmpname()
tempo.save(path, { a = tempo.array { 1, 2 }, b = tempo.array { 3 } })
print(tempo.load(path).b)
os.remove(path)]] },
      { name = "range", args = { arg("lo", "tempo.Number", ""), arg("hi", "tempo.Number", "") }, returns = { { "tempo.Range" } },
        text = "`lo .. hi`, half open, where both are numbers: `2 .. 5` is the string \"25\" in Lua.",
        errors = "`affine` for a product of dims or bounds, or a fraction.",
        example = "print(tempo.range(2, 5), 0 .. t + 1)",
        fails = 'print(x[2 .. 5])' },
      { name = "min", args = { arg("...", "tempo.Number", "") }, returns = { { "tempo.Index" } },
        text = "The least, of index expressions and numbers. Of tensors it is `tempo.minimum(a, b)` or `x:min(axis)`.", errors = "`option` for tensors.",
        example = "print(tempo.min(t + 10, T - 1))" },
      { name = "max", args = { arg("...", "tempo.Number", "") }, returns = { { "tempo.Index" } },
        text = "The greatest, of index expressions and numbers. Of tensors it is `tempo.maximum(a, b)` or `x:max(axis)`.", errors = "`option` for tensors.",
        example = "print(tempo.max(0, t - 2))", fails = "tempo.max(tempo.ones { 2 }, 0)" },
      { name = "floordiv", row = true, args = { arg("a", "tempo.Operand", ""), arg("b", "tempo.Operand", "of an index expression: an integer > 0") },
        returns = { { "any", "an index expression, a number or a tensor, as its operands" } },
        text = "a // b of index expressions, numbers and tensors, also where LuaJIT's syntax lacks `//`.", errors = "`affine` else.",
        example = "print(tempo.floordiv(t, 2), tempo.floordiv(-7, 2))" },
      { name = "mod", row = true, args = { arg("a", "tempo.Operand", ""), arg("b", "tempo.Operand", "of an index expression: an integer > 0") },
        returns = { { "any", "an index expression, a number or a tensor, as its operands" } }, text = "a % b, with the sign of b.", errors = "`affine` else.",
        example = "print(tempo.mod(t, 2), tempo.mod(-7, 2))" },
      { name = "prev", args = { arg("x", "tempo.Operand", "may be declared and not defined yet"), arg("t", "tempo.Index", "a dim of it"), arg("first", "tempo.Operand|table", "the value before"), arg("n?", "integer", "points back (1)") },
        returns = { { "tempo.Tensor" } },
        text = "x at t - n where t >= n, and `first` before: a tensor p with `p:when(t:lt(n), first)` and "
          .. "`p:otherwise(x[t-n])`. Gradients go to x and to `first`.",
        errors = "`domain` for a dim that x lacks; `option` for an n that is no integer above 0; `shape`, `dtype` for a "
          .. "`first` that is not as x.",
        example = [[
local y = P:tensor { domain = { t } }
y[t] = 0.5 * tempo.prev(y, t, 0) + x
local out = P:compile { outputs = { y = y, change = x - tempo.prev(x, t, x) } }({ x = { 4, 4, 6 } }, { T = 3 })
print(out.y, out.change)]],
        fails = 'print(tempo.prev(x, t, 0, 0))' },
      { name = "associative_scan", args = { arg("fn", "fun(a: any, b: any): any", "of two values in the form of x, many at once"),
          arg("x", "tempo.Tensor|table", "a tensor, or tensors that are scanned together") },
        options = { arg("axis", "integer", "(0), its extent a number"), arg("dim", "tempo.Index", "in place of an axis"), arg("reverse", "boolean", "from the end (false)") },
        returns = { { "any", "in the form of x, as large" } },
        text = "All prefixes of x under fn: y[0] = x[0], y[k] = fn(y[k-1], x[k]). Along an axis it takes 2 log2(n) "
          .. "applications of fn to slices, and fn must be associative, which is not checked; along a dim it is the "
          .. "recurrence.",
        errors = "`option`; `shape`, `dtype` for an axis that is not there or as long as only the call knows, and for a "
          .. "function that gives other shapes or dtypes than it takes; `domain` for a dim that x lacks.",
        example = [[
local a, b = P:constant { 0.5, 0.5, 2 }, P:constant { 1, 1, 1 }
local y = tempo.associative_scan(function(f, g)            -- h[k] = a[k] h[k-1] + b[k]: functions of h, composed
  return { a = f.a * g.a, b = f.b * g.a + g.b }
end, { a = a, b = b })
print(P:compile { outputs = { h = y.b } } ({}, {}).h)]],
        fails = 'tempo.associative_scan(function(a, b) return a + b end, P:input("x", { domain = { t } })[0 .. T])' },
      { name = "warn", args = { arg("text", "string", "with the script's place") }, returns = {},
        text = "Tempo's warnings go through it, a line on stderr each. A script may put its own function here, `error`, or "
          .. "`false` for silence. Heard are: a loop that records more than 10,000 nodes, a random tensor without a "
          .. "domain inside a larger one, a reduction of a scalar, and at compilation a gradient by what the loss does "
          .. "not contain and a parameter's gradient that nothing needs.",
        example = "local was = tempo.warn\ntempo.warn = function(text) print(\"heard: \" .. text) end\ntempo.warn \"script.lua:1: look\"\ntempo.warn = was" },
      { name = "clock", args = {}, returns = { { "number", "seconds" } }, text = "A clock that never goes back, for durations.",
        example = "local start = tempo.clock()\nprint(tempo.clock() >= start)" },
      { name = "devices", args = {}, returns = { { "table[]", "`{ device =, name =, memory =, missing = }` each" } },
        text = "What `P:compile { device = }` may name, the CPU first: `device`, the `name` and bytes of `memory` where they are known, and `missing`, one line that says why it cannot be used. "
          .. "Each kind of device has a row, also where there is none of it: `missing` says which library of which version is wanted.",
        example = "print(tempo.devices()[1].device)" },
    },
  },

  { title = "Programs", class = "tempo.Program", receiver = "P",
    text = "A program records. Nothing is computed until a compiled function is called.",
    entries = {
      { name = "dim", args = { arg("name", "string", "letters, digits and _"), arg("bound?", "string", "its name (`name:upper()`)") },
        returns = { { "tempo.Index", "0 .. bound - 1" }, { "tempo.Index", "the bound" } },
        text = "A dim and its bound, an integer >= 0 that every call gives by name. The order of `P:dim` is the order of "
          .. "axes in arrays.",
        errors = "`option` for a name that is taken.", example = 'local b, B = P:dim("b", "batch")\nprint(b, B)' },
      { name = "dims", args = { arg("names", "string", "with spaces between") }, returns = { { "tempo.Index", "one for each name, in this order" } },
        text = "Several dims, without their bounds: `t:upper()`.", errors = "`option` for a name that is taken or is no name.",
        example = 'local i, b = P:dims "i b"\nprint(i, b, b:upper())', fails = 'P:dims "i, b"' },
      { name = "bound", args = { arg("name", "string", "") }, returns = { { "tempo.Index" } },
        text = "A bound without a dim: a window, a horizon. Every call gives it by name.",
        example = [[
local w = P:bound "w"
local mean = x[tempo.max(0, t - w + 1) .. t + 1]:mean(0)
print(P:compile { outputs = { m = mean } }({ x = { 1, 2, 3, 4 } }, { T = 4, w = 2 }).m)]] },
      { name = "stop", args = { arg("dim", "tempo.Index", ""), arg("done", "tempo.Operand", "a bool scalar over that dim and any others") }, returns = {},
        text = "Ends the dim by data: at each point of the other dims of `done` it runs to the first point at which `done` "
          .. "holds, that one included, or to the bound given at the call. The bound then is the length reached; what "
          .. "mentions it has the other dims of `done` and waits for the end. Outputs over the dim have the greatest "
          .. "length reached, zeros beyond a row's own end, and the output of the bound's name holds the lengths. See "
          .. "[ends by data](../language.md#ends-by-data).",
        errors = "`option` for a second stop of a dim, or one that a callback's `over` names; `dtype`, `shape`, `domain` for "
          .. "another `done`; `cycle` where it needs the end itself; `domain` for a read that an end may leave; `ragged` "
          .. "for rows of unequal ends side by side.",
        example = [[
local x = P:tensor { domain = { t } }
x[0] = 1
x[t] = x[t-1] * 2
P:stop(t, x:ge(20))
local out = P:compile { outputs = { x = x, sum = x[0 .. T]:sum(0) } }({}, { T = 100 })
print(out.x, out.sum, out.T)]],
        fails = [[
P:stop(t, x:gt(1))
P:compile { outputs = { y = x[t + 1] } }]] },
      { name = "input", args = { arg("name", "string", "") },
        options = { arg("domain", "tempo.Dims", "in the order of `P:dim` (none)"), arg("shape", "tempo.Extent[]", "({})"), arg("dtype", "tempo.Dtype", "(the program's)") },
        returns = { { "tempo.Tensor" } },
        text = "A tensor whose values the call gives: an array of shape (bounds of the domain.., shape..), a nested table, "
          .. "or a number for a scalar.",
        errors = "`option` for a second input of that name or dims out of order; at the call `input` for a wrong dtype, "
          .. "`shape`.",
        example = [[
local y = P:input("y", { domain = { t }, shape = { 2 } })
print(P:compile { outputs = { s = y:sum() } }({ y = { { 1, 2 }, { 3, 4 } } }, { T = 2 }).s)]],
        fails = [[
local y = P:input("y", { domain = { t }, shape = { 2 } })
P:compile { outputs = { s = y:sum() } }({ y = { { 1, 2 } } }, { T = 2 })]] },
      { name = "tensor", args = {}, options = { arg("domain", "tempo.Dims", "(none)"), arg("shape", "tempo.Extent[]", "({})"), arg("dtype", "tempo.Dtype", "(the program's)"), arg("name", "string", "for messages"),
          arg("first", "tempo.Operand|table", "its value at the first point, of this shape and dtype"), arg("along", "tempo.Index", "of which dim, if it has several") },
        returns = { { "tempo.Declared", "a tensor that may be assigned to" } },
        text = "A tensor that is defined by branches, `h[0] = a`, `h[t] = f(h[t-1])`, of which the first that matches "
          .. "counts.",
        errors = "`undefined` for a needed point without a branch and for a branch that can never be first; `cycle` for a "
          .. "value that needs itself; `dtype`, `shape` for a right side that differs from the declaration.",
        example = [[
local fib = P:tensor { domain = { t }, dtype = "i64" }
fib[0] = 0
fib[1] = 1
fib[t] = fib[t - 1] + fib[t - 2]
print(P:compile { outputs = { fib = fib } }({}, { T = 10 }).fib)]],
        fails = 'local h = P:tensor { domain = { t } }\nh[t] = h[t - 1] + 1\nP:compile { outputs = { h = h } }' },
      { name = "param", args = { arg("name", "string", "its path in `f:params()`") },
        options = { arg("init", "tempo.Operand|table", "a number, an array or an expression"), arg("along", "tempo.Dims", "(none: a constant of the run)"),
          arg("domain", "tempo.Dims", "one such state for each of their points (none)"), arg("shape", "tempo.Extent[]", "(init's, else {})"),
          arg("dtype", "tempo.Dtype", "(init's, else the program's)") },
        returns = { { "tempo.Declared", "a tensor that may be assigned to" } },
        text = "A state that evolves along dims: first `init`, or what `f:load_params` gave, then what `w:update(e)` says; "
          .. "without an update it stays. Gradients take it as given at each point.",
        errors = "`option` without an init; `domain` for an init that varies over `along`.",
        example = [[
local w = P:param("w", { along = { t }, init = 1 })
w:update(w * 2)
local f = P:compile { outputs = { w = w } }
print(f({}, { T = 4 }).w)
print(f:params().w)]] },
      { name = "constant", args = { arg("data", "tempo.Data", "") }, returns = { { "tempo.Tensor" } },
        text = "A tensor with these values at every point. Arrays and numbers mix with tensors by themselves.",
        example = 'print(P:constant { { 1, 2 }, { 3, 4 } })' },
      { name = "call", args = { arg("fn", "fun(arrays: tempo.Array[], point: table<string, integer>): ...", ""),
          arg("inputs", "tempo.Operand[]", ""), arg("specs", spec .. "[]", "one for each result, of one domain, which contains the inputs'") },
        options = { arg("over", "tempo.Dims", "dims that lead the shape of every array instead of being in the point: one call for all of them") },
        returns = { { "tempo.Tensor", "one for each spec" } },
        text = "A Lua function as an operator, called once at every point, in lexicographic order of the dims, if anything "
          .. "reads a result. It returns an array, nested table or number for each spec. Its arrays are read only and "
          .. "valid until it returns (`:clone()` keeps one). Gradient: 0.",
        errors = "`callback` for results of another number, shape or dtype, and for a function that yields; one raised "
          .. "inside ends the run and reaches the caller as it is; `ragged` for an extent that varies with a dim in "
          .. "`over`.",
        example = [[
local y = P:call(function(arrays, point) return arrays[1]:item() * 10 + point.t end, { x }, { { domain = { t } } })
print(P:compile { outputs = { y = y } }({ x = { 1, 2 } }, { T = 2 }).y)]],
        fails = [[
local y = P:call(function() return { 1, 2 } end, { x }, { { domain = { t } } })
P:compile { outputs = { y = y } }({ x = { 1 } }, { T = 1 })]] },
      { name = "source", args = { arg("fn", "fun(point: table<string, integer>): ...", ""), arg("spec", spec .. "|" .. spec .. "[]", "one, or several") },
        options = { arg("over", "tempo.Dims", "as for `P:call`") }, returns = { { "tempo.Tensor" } }, text = "`P:call` without inputs.", errors = "as `P:call`.",
        example = [[
local squares = P:source(function(point) return point.t * point.t end, { domain = { t } })
print(P:compile { outputs = { s = squares[0 .. T]:sum(0) } }({}, { T = 4 }).s)]] },
      { name = "sink", args = { arg("inputs", "tempo.Operand[]", ""), arg("fn", "fun(arrays: tempo.Array[], point: table<string, integer>)", "") },
        options = { arg("over", "tempo.Dims", "as for `P:call`") }, returns = {},
        text = "`P:call` without results, at every point of the union of the inputs' domains, always needed: a program "
          .. "with a sink needs no outputs.", errors = "as `P:call`.",
        example = [[
P:sink({ x[0 .. t + 1]:sum(0) }, function(arrays, point) print(point.t, arrays[1]) end)
P:compile {} ({ x = { 1, 2, 3 } }, { T = 3 })]] },
      { name = "compile", args = {}, options = {
          arg("outputs", "table<string, tempo.Operand>", "by name; may be left out where there is a sink"),
          arg("tier", "tempo.Tier", "\"reference\" evaluates by demand, slow and obviously right; \"interpreter\" runs the plan; \"native\" "
          .. "compiles it with `$CC` or `cc`; \"auto\" (the default) begins in the interpreter and goes over to native "
          .. "code after a second, or at once where the cache has it"),
          arg("passes", '"none"|table<string, boolean>', "by name, rules too: `{ cse = false, mul_one = false }` (all on)"), arg("precise", "boolean", "no pass that reassociates floats (false)"),
          arg("reproducible", "boolean", "the same bits on every processor, compiler, level of optimisation and number of threads, and where "
          .. "exported (false)"),
          arg("cflags", "string", "for the compiler of native code, behind ours: `\"-O1\"`"),
          arg("device", "string", "`\"cpu\"`, `\"cuda\"`, `\"opencl\"` (cpu); `tempo.devices()` says which are there"), arg("threads", "integer", "1 to 4096 (`OMP_NUM_THREADS`, else 1); every bit is the same for any number"), arg("memory", "number|string", "a limit: bytes, `\"2GiB\"`, `\"512MiB\"`, `\"1.5GB\"`; `\"none\"`: not even the machine's"), arg("check", '"nan"|"none"', "the first NaN or infinity made of finite operands ends the run (none)"),
          arg("tick", "tempo.Index|tempo.Index[]", "the dims of `f:step`"),
          arg("async", "boolean", "another thread compiles, and the first use of the function waits for it (false)") },
        returns = { { "tempo.Function" } },
        text = "Checks, differentiates, schedules and plans the program for all bounds. Later changes of P do not touch "
          .. "the function.\n\n**Memory.** A call takes its outputs and what `f:memory` says. One that takes more than "
          .. "the machine has, its container (cgroup) allows or `RLIMIT_AS` and `RLIMIT_DATA` leave is refused before "
          .. "its first step, with the tensors that need most and bounds that would do; a dim that ends by data counts "
          .. "one step for what is kept inside. Under a limit blocks of rows are made shorter first (sums in blocks may "
          .. "differ in the last digit), then what is not used for long lies in a nameless file in `TMPDIR` (else "
          .. "`/var/tmp`; not a tmpfs), whose space is taken first: a full disk is the error `file`. Not counted are "
          .. "inputs, outputs and states. The reference tier keeps to no limit.\n\n**Reproducible.** Nothing is fused, "
          .. "sums have one order, products of matrices are ours: half as fast where products dominate. Left out are "
          .. "callbacks, the reference tier, NaN's payloads and, in exported code, gradients of a convolution's weights. "
          .. "Flags such as `-ffast-math` are an error.\n\n**NaN.** The error `nan` names the tensor, its point, the "
          .. "element, the script's line and the operands. Every operator that is computed is looked at, the side of a "
          .. "`where` that is not taken too, but not what lies beyond the end of a row. NaN and infinity that come in "
          .. "(inputs, parameters, callbacks, literals) are taken as meant. Where several operators fail, each tier "
          .. "names the one that it comes to first. Operators run one by one; sums in place may differ in the last "
          .. "digit; a state goes on only in a function that is checked too.",
        errors = "whatever is wrong with the program, with the line of the read or branch at fault and a witness point: "
          .. "`domain`, `cycle`, `undefined`, `ragged`, `affine`, `shape`; `option`; `device`.",
        example = [[
local h = P:tensor { domain = { t } }
h[0] = x
h[t] = (h[t-1] + x):tanh()
local f = P:compile { outputs = { g = tempo.grad(h, x) }, memory = "1MiB" }
print(f, f:memory { T = 1000 } < 2^20)]],
        fails = [[P:compile { outputs = { y = x[t + 1] } }]] },
      { name = "seed", args = {}, returns = { { "integer" } }, text = "What `tempo.program` was given.", example = "print(tempo.program({ seed = 7 }):seed())" },
      { name = "env_reset", args = { arg("id", "string", ""), arg("u", "tempo.Operand", "f64") }, returns = { { "tempo.Tensor", "the state, f64" } },
        text = "An environment's first state from uniform numbers. [tempo.rl](libraries.md#temporl) is the comfortable way "
          .. "to all three.", errors = "`option` for an unknown environment, `shape`, `dtype`.",
        example = 'print(P:env_reset("CartPole-v1", tempo.full({ 4 }, 0.5, { dtype = "f64" })):peek {})' },
      { name = "env_obs", args = { arg("id", "string", ""), arg("state", "tempo.Operand", "") }, returns = { { "tempo.Tensor", "f32" } }, text = "The observation of a state.",
        errors = "as `P:env_reset`.",
        example = 'local s = P:env_reset("CartPole-v1", tempo.full({ 4 }, 1, { dtype = "f64" }))\nprint(P:env_obs("CartPole-v1", s):peek {})' },
      { name = "env_step", args = { arg("id", "string", ""), arg("state", "tempo.Operand", ""), arg("action", "tempo.Operand", "i64"), arg("u", "tempo.Operand", "f64, for a reset") },
        returns = { { "tempo.Tensor", "the next state, of a new episode after an end" }, { "tempo.Tensor", "the observation before that" }, { "tempo.Tensor", "the reward" },
          { "tempo.Tensor", "terminated" }, { "tempo.Tensor", "truncated" } },
        text = "One step. Gradient: 0.", errors = "as `P:env_reset`; `input` at the run for an action that does not exist.",
        example = [[
local half = tempo.full({ 4 }, 0.5, { dtype = "f64" })
local s = P:env_reset("CartPole-v1", half)
local action = P:constant(tempo.array(1, "i64"))
local next, obs, reward = P:env_step("CartPole-v1", s, action, half)
print(reward:peek {}, next:select(0, 4):peek {})]] },
    },
  },

  { title = "Dims, bounds and index expressions", class = "tempo.Index", receiver = "t",
    text = "Made of dims, bounds and integers with `+ - *` (by an integer), `//` and `%` (by a positive integer), unary `-`, `tempo.min`, `tempo.max`. Equal ones are the same object, so `==` "
      .. "is identity and no condition. A product of dims or bounds is a size, good in shapes and `:value()`, refused as an index (`affine`). Where a tensor is wanted it is its value, with the weak dtype of a number.",
    operators = { "add(tempo.Number): tempo.Index", "sub(tempo.Number): tempo.Index", "mul(tempo.Number): tempo.Index", "idiv(integer): tempo.Index", "mod(integer): tempo.Index",
      "unm: tempo.Index", "concat(tempo.Number): tempo.Range" },
    entries = {
      { name = "value", args = {}, returns = { { "tempo.Tensor", "an i64 scalar, whose domain is the expression's dims" } }, text = "Its value as a tensor, for other arithmetic.",
        example = "print(P:compile { outputs = { y = t:value() / 2 } }({}, { T = 4 }).y)", fails = "print(t / 2)" },
      { name = "upper", args = {}, returns = { { "tempo.Index" } }, text = "A dim's bound.", errors = "`option` for an expression that is no dim.", example = "print(t:upper() == T)" },
      { name = "name", args = {}, returns = { { "string" } }, text = "Its text.", example = "print(t:name(), (t + 1):name())" },
      { name = "program", args = {}, returns = { { "tempo.Program" } }, text = "The program it belongs to.", example = "print(t:program() == P)" },
      { name = "eq", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "t = k. With a tensor: a bool tensor.", example = "print(t:eq(3))", fails = "print(t < T)" },
      { name = "ne", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "t ≠ k.", example = "print(t:ne(3))" },
      { name = "lt", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "t < k.", example = "print(t:lt(3))" },
      { name = "le", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "t <= k.", example = "print(t:le(3))" },
      { name = "gt", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "t > k.", example = "print(t:gt(3))" },
      { name = "ge", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "t >= k.", example = "print(t:ge(3))" },
      { name = "floordiv", args = { arg("k", "integer", "> 0") }, returns = { { "tempo.Index" } }, text = "t // k.", errors = "`affine` else.",
        example = "print(t:floordiv(2))" },
      { name = "mod", args = { arg("k", "integer", "> 0") }, returns = { { "tempo.Index" } }, text = "t % k.", errors = "`affine` else.", example = "print(t:mod(2))" },
    },
  },

  { title = "Conditions", class = "tempo.Condition", receiver = "c",
    text = "What `t:eq(k)` and such give: for `h:when(c, e)`; where a tensor is wanted, a bool scalar.",
    entries = {
      { name = "land", args = { arg("d", "tempo.Condition|boolean", "") }, returns = { { "tempo.Condition" } }, text = "Both hold.", example = "print(t:ge(2):land(t:lt(5)))" },
      { name = "lor", args = { arg("d", "tempo.Condition|boolean", "") }, returns = { { "tempo.Condition" } }, text = "One of them holds.", example = "print(t:lt(2):lor(t:ge(5)))" },
      { name = "lnot", args = {}, returns = { { "tempo.Condition" } }, text = "It does not hold.", example = "print(t:lt(2):lnot())" },
      { name = "value", args = {}, returns = { { "tempo.Tensor", "a bool scalar" } }, text = "As a tensor.", example = "print(P:compile { outputs = { y = t:lt(2):value() } }({}, { T = 3 }).y)" },
      { name = "name", args = {}, returns = { { "string" } }, text = "Its text.", example = "print(t:lt(2):name())" },
      { name = "program", args = {}, returns = { { "tempo.Program" } }, text = "The program it belongs to.", example = "print(t:lt(2):program() == P)" },
    },
  },

  { title = "Ranges", class = "tempo.Range", receiver = "r", text = "`lo .. hi` and `tempo.range(lo, hi)`: half open, only to index with. A range takes no arithmetic, no comparison and no `#` (`option`).", entries = {} },

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

Errors: `domain` where a needed read leaves the domain, when compiling, or at the call where it depends on bounds; `ragged` for a range over a dim that the shape depends on; `affine`. A declared tensor is defined by
assignment, `h[0] = e`, `h[t] = e`, `h[t + 1] = e`.]],
    operators = { "add(tempo.Operand): tempo.Tensor", "sub(tempo.Operand): tempo.Tensor", "mul(tempo.Operand): tempo.Tensor", "div(tempo.Operand): tempo.Tensor",
      "mod(tempo.Operand): tempo.Tensor", "pow(tempo.Operand): tempo.Tensor", "idiv(tempo.Operand): tempo.Tensor", "unm: tempo.Tensor" },
    index = "tempo.Tensor",
    derived = { "tempo.Declared", "A tensor that may be assigned to at its points: what `P:tensor` and `P:param` give.", "any" },
    entries = {
      { name = "at", args = { arg("key", "table", "also by dims, `{[t] = 0}`") }, returns = { { "tempo.Tensor" } }, text = "`x[{..}]` as a method.", errors = "as indexing.",
        example = [[print(P:compile { outputs = { last = x:at { t = T - 1 } } }({ x = { 1, 2, 3 } }, { T = 3 }).last)]],
        fails = [[x:at { b = 0 }]] },
      { name = "otherwise", args = { arg("e", "tempo.Operand|table", "") }, returns = {}, text = "The branch for the points that no earlier one has.",
        errors = "`dtype`, `shape` where e differs from the declaration; `undefined` when compiling if it can never be "
          .. "first.",
        example = [[
local h = P:tensor { domain = { t } }
h:when((t % 2):eq(0), 1)
h:otherwise(0)
print(P:compile { outputs = { h = h } }({}, { T = 4 }).h)]] },
      { name = "when", args = { arg("c", "tempo.Condition", "for data use `tempo.where`"), arg("e", "tempo.Operand|table", "") }, returns = {},
        text = "The branch for the points where c holds.", errors = "`option` for a tensor as a condition; else as `otherwise`.",
        example = [[
local h = P:tensor { domain = { t } }
h:when((t % 2):eq(0), 1)
h:otherwise(0)
print(P:compile { outputs = { h = h } }({}, { T = 4 }).h)]] },
      { name = "update", args = { arg("e", "tempo.Operand", "") }, returns = {}, text = "A parameter's value at the next point of `along`, at most once; along one dim `w[i+1] = e` is the same.",
        errors = "`option` for a second one and for other tensors; `dtype`, `shape`.",
        example = [[
local w = P:param("w", { along = { t }, init = 0 })
w:update(w + 3)
print(P:compile { outputs = { w = w } }({}, { T = 3 }).w)]] },
      { name = "next", args = {}, returns = { { "tempo.Tensor" } },
        text = "The value that a parameter takes at the next point of `along`: what `update` is given, before this line or "
          .. "after it, at the last point too. A second loss at the same point so sees the parameters after the step. A "
          .. "gradient by w goes through what `update` was given, which optimisers detach; one by `w:next()` stops there. "
          .. "Of a net: `net:next()`.",
        errors = "`option` for what is no parameter or does not evolve; `undefined` for what nothing updates.",
        example = [[
local w = P:param("w", { along = { t }, init = 1 })
local change = w:next() - w
w:update(w * 2)
print(P:compile { outputs = { change = change } }({}, { T = 3 }).change)]] },
      { name = "backward", args = {}, returns = { { "tempo.Tensor", "itself" } }, text = "Marks a loss for `x:grad()`.", errors = "`dtype` unless float.",
        example = [[
x:square():backward()
print(P:compile { outputs = { g = x:grad() } }({ x = { 1, 2 } }, { T = 2 }).g)]] },
      { name = "grad", args = {}, returns = { { "tempo.Tensor" } }, text = "The gradient of the sum of all marked losses, wherever in the script.",
        errors = "`dtype` unless float.",
        example = [[
x:square():backward()
print(P:compile { outputs = { g = x:grad() } }({ x = { 1, 2 } }, { T = 2 }).g)]] },
      { name = "peek", args = {}, options = { arg("inputs", "table<string, tempo.Data>", ""), arg("bounds", "table<string, integer>", ""), arg("at", "table<string, integer>", "the point"), arg("seed", "integer", "") },
        returns = { { "tempo.Array" } }, text = "The value at one point, on demand, without compiling: for debugging. What the value does not mention may "
          .. "be left out.",
        errors = "`option` for a point that lacks a dim; `bound`, `input`; `domain` for a point outside.",
        example = [[print(x[0 .. t + 1]:sum(0):peek { inputs = { x = { 1, 2, 3 } }, bounds = { T = 3 }, at = { t = 1 } })]] },
      { name = "name", args = { arg("s?", "string", "") }, returns = { { "string|tempo.Tensor|nil", "itself when given" } },
        text = "Its name for messages, asked or given.", example = 'print((P:constant(1) + t):name "shifted")' },
      { name = "shape", args = {}, returns = { { "tempo.Extent[]" } }, text = "The spatial shape.",
        example = [[print(x[0 .. t + 1]:shape()[1])]] },
      { name = "dtype", args = {}, returns = { { "tempo.Dtype" } }, text = "The dtype.", example = "print(t:value():dtype())" },
      { name = "domain", args = {}, returns = { { "tempo.Index[]" } }, text = "Its dims, in the order of `P:dim`.", example = "print(t:value():domain()[1] == t)" },
      { name = "along", args = {}, returns = { { "tempo.Index[]" } }, text = "The dims a parameter evolves over; {} of others.",
        example = 'print(P:param("w", { along = { t }, init = 0 }):along()[1])' },
      { name = "program", args = {}, returns = { { "tempo.Program?" } }, text = "Its program; nil of a literal that has met none.",
        example = "print(t:value():program() == P, tempo.zeros({ 3 }):program())" },
    },
  },

  { title = "Compiled functions", class = "tempo.Function", receiver = "f", text = "What `P:compile` gives.",
    call = "(inputs?: table<string, tempo.Data>, bounds?: table<string, integer>, options?: table): table<string, tempo.Array>",
    entries = {
      { name = "__call", form = "f(inputs, bounds[, { ... }])", args = { arg("inputs", "table<string, tempo.Data>", "by name; arrays are borrowed for the run, not copied"),
          arg("bounds", "table<string, integer>", "all that are needed, by name") },
        options = { arg("seed", "integer", "in place of the program's"), arg("state", "tempo.State", "goes on from there") },
        returns = { { "table<string, tempo.Array>", "a fresh array for each output, of shape (bounds of its domain.., shape..); after `f:cancel()` those that are complete, and `cancelled = true`" } },
        text = "Runs the program.", errors = "`input`, `bound` for what is missing, unknown or not needed; `shape`; `domain` where it depends on the "
          .. "bounds; `callback`; `memory`, `file` under a limit; `nan`.",
        example = [[
local f = P:compile { outputs = { y = x * 2 } }
print(f({ x = { 1, 2, 3 } }, { T = 3 }).y)
print(f({ x = { 1 } }, { T = 1 }).y)]],
        fails = [[P:compile { outputs = { y = x * 2 } }({ x = { 1, 2 } }, {})]] },
      { name = "start", args = { arg("inputs", "table<string, tempo.Data>", "without the tick dims; kept for the run"), arg("bounds", "table<string, integer>", "of the first tick dim `math.huge` too") },
        options = { arg("seed", "integer", "in place of the program's") }, returns = { { "tempo.Function", "itself" } },
        text = "Begins a run that `f:step` goes through. With one dim `tick` may be left out of `P:compile`. Calls of f in "
          .. "between do not disturb it.",
        errors = "as a call; `option` without tick dims; `bound` for `math.huge` where something is kept over the whole of "
          .. "it, or goes through all of it between two ticks.",
        example = [[
local s = P:tensor { domain = { t } }
s[0] = x
s[t] = s[t-1] + x
local f = P:compile { outputs = { s = s }, tick = t }
f:start({}, { T = math.huge })
local done, out = f:step { x = 1 }
print(done, out.s)
f:step({ x = 2 }, { into = out, budget_ms = 1 })
print(out.s)]] },
      { name = "step", args = { arg("values?", "table<string, tempo.Data>", "the inputs with the tick dims, without these") },
        options = { arg("budget_ms", "number", "this tick's outputs, whatever they take, then work for later ticks while time is left; no number changes"),
          arg("into", "table", "what an earlier step returned: its arrays are written into and it is returned again, without garbage") },
        returns = { { "boolean", "the last tick" }, { "table", "by name the outputs at this tick, as arrays (`out.loss:item()` is a number); `cancelled`; with a budget `late_ms`, by how much it was overrun" } },
        text = "Goes to the next point of the tick dims. See [steps](../language.md#steps), where outputs without all of "
          .. "the tick dims are.",
        errors = "`option` where no run is going on; `input`, `shape`, `dtype` for the values, which cost no tick; any other "
          .. "ends the run.",
        example = [[
local s = P:tensor { domain = { t } }
s[0] = x
s[t] = s[t-1] + x
local f = P:compile { outputs = { s = s }, tick = t }
f:start({}, { T = math.huge })
local done, out = f:step { x = 1 }
print(done, out.s)
f:step({ x = 2 }, { into = out, budget_ms = 1 })
print(out.s)]] },
      { name = "state", args = {}, returns = { { "tempo.State" } }, text = "Between ticks: position, bounds, inputs without the tick dims, buffers, complete outputs and parameters, "
          .. "in memory.",
        errors = "`option` where nothing was started, and from a callback.",
        example = [[
local s = P:tensor { domain = { t } }
s[0] = x
s[t] = s[t-1] + x
local f = P:compile { outputs = { s = s }, tick = t }
f:start({}, { T = 3 })
f:step { x = 1 }
local here, path = f:state(), os.tmpname()
f:save(path)
f:step { x = 2 }
f:load_state(here)
print(select(2, f:step { x = 5 }).s)
print(f({ x = { 1, 2, 3 } }, { T = 3 }, { state = here }).s)
f:load(path)
print(select(2, f:step { x = 7 }).s)
os.remove(path)]] },
      { name = "load_state", args = { arg("s", "tempo.State", "of this program, recorded and compiled alike") }, returns = { { "tempo.Function", "itself" } },
        text = "Goes on from a state, as `state =` of a call does. The bound of the first tick dim may be larger where it "
          .. "could be `math.huge`.", errors = "`option` for a state of another program.",
        example = [[
local s = P:tensor { domain = { t } }
s[0] = x
s[t] = s[t-1] + x
local f = P:compile { outputs = { s = s }, tick = t }
f:start({}, { T = 3 })
f:step { x = 1 }
local here, path = f:state(), os.tmpname()
f:save(path)
f:step { x = 2 }
f:load_state(here)
print(select(2, f:step { x = 5 }).s)
print(f({ x = { 1, 2, 3 } }, { T = 3 }, { state = here }).s)
f:load(path)
print(select(2, f:step { x = 7 }).s)
os.remove(path)]] },
      { name = "save", args = { arg("path", "string", "") }, options = { arg("portable", "boolean", "parameters and moments alone, by path (false)") }, returns = { { "true" } }, text = "Writes the state to a file, whole or not at all. After a step that was cancelled or failed it is that of a "
          .. "run that is over. A portable file is an .npz of `f:params()`: `f:load_params(path)` of a changed program takes it.",
        errors = "as `state`; `file` if it cannot be written.",
        example = [[
local s = P:tensor { domain = { t } }
s[0] = x
s[t] = s[t-1] + x
local f = P:compile { outputs = { s = s }, tick = t }
f:start({}, { T = 3 })
f:step { x = 1 }
local here, path = f:state(), os.tmpname()
f:save(path)
f:step { x = 2 }
f:load_state(here)
print(select(2, f:step { x = 5 }).s)
print(f({ x = { 1, 2, 3 } }, { T = 3 }, { state = here }).s)
f:load(path)
print(select(2, f:step { x = 7 }).s)
os.remove(path)]] },
      { name = "load", args = { arg("path", "string", "") }, returns = { { "tempo.Function", "itself" } }, text = "Goes on from a state in a file; after an error the function is as it was.",
        errors = "`file` for one that is not there or broken; `option` for a state of another program.",
        example = [[
local s = P:tensor { domain = { t } }
s[0] = x
s[t] = s[t-1] + x
local f = P:compile { outputs = { s = s }, tick = t }
f:start({}, { T = 3 })
f:step { x = 1 }
local here, path = f:state(), os.tmpname()
f:save(path)
f:step { x = 2 }
f:load_state(here)
print(select(2, f:step { x = 5 }).s)
print(f({ x = { 1, 2, 3 } }, { T = 3 }, { state = here }).s)
f:load(path)
print(select(2, f:step { x = 7 }).s)
os.remove(path)]] },
      { name = "cancel", args = {}, returns = {}, text = "From a callback: ends the run, which gives the outputs that are complete.", errors = "`option` where nothing runs.",
        example = [[
local f
P:sink({ t:value() }, function(a) if a[1]:item() == 2 then f:cancel() end end)
f = P:compile {}
print(f({}, { T = math.huge }).cancelled)]] },
      { name = "params", args = { arg("options?", "{ of?: any }", "`of`: a module, a parameter, or a list of them: these alone") }, returns = { { "table<string, tempo.Array>" } },
        text = "Copies of the newest parameters there are, by path: between ticks, after a run, a cancel, an error or "
          .. "Ctrl-C, or as loaded (constants that were loaded are the loaded arrays themselves).",
        example = [[
local w = P:param("w", { along = { t }, init = 1 })
w:update(w + 1)
local f = P:compile { outputs = { w = w } }
f({}, { T = 5 })
print(f:params().w)
f:load_params { w = tempo.array(10) }
print(f({}, { T = 3 }).w)]] },
      { name = "load_params", args = { arg("params", "table<string, tempo.Data>|string", "any of them, by path, or a portable file"), arg("options?", "{ strict?: boolean }", "`false` leaves out paths that the function lacks (true)") },
        returns = { { "tempo.Function|string[]", "itself; unless strict the paths that were missing" }, { "string[]?", "and those left over" } },
        text = "First values for runs to come, which begin at the first point again, with the same random numbers and "
          .. "schedules: give them another `seed =`, or go on from the whole state (`f:save`, `f:state`) instead; "
          .. "`examples/going_on.lua` does both. Arrays are borrowed: runs see what the script writes into them. "
          .. "`g:load_params(f:params{ of = net })` takes a net into another program.", errors = "`option` for an unknown path, with the nearest; `shape`, `dtype`; `file`.",
        example = [[
local w = P:param("w", { along = { t }, init = 1 })
w:update(w + 1)
local f = P:compile { outputs = { w = w } }
f({}, { T = 5 })
print(f:params().w)
f:load_params { w = tempo.array(10) }
print(f({}, { T = 3 }).w)]] },
      { name = "explain", args = { arg("section?", '"graph"|"schedule"|"storage"|"memory"|"work"|"plan"|"threads"|"code"|"passes"|"rules"|"evolution"|"dot"', ""),
          arg("bounds?", "table<string, integer>", "for sizes in bytes") }, returns = { { "string" } },
        text = "What was made of the program ([how to read it](../reading-explain.md)): `graph`, differentiated, as text "
          .. "that C reads; `schedule`, its loops; `storage`, what is kept of each tensor and which read decided it; "
          .. "`memory`, what is in use at each step of the plan; `work`, how often each region runs, most first; `plan`, "
          .. "every region and buffer; `threads`, what they share and why not more; `code`, the C that was compiled; "
          .. "`passes`, `rules`, what each did; `dot` for Graphviz. Without one, a summary with what was not fused and "
          .. "why.", errors = "`option` for an unknown section, with the nearest.",
        example = [[
local f = P:compile { outputs = { y = x[0 .. t + 1]:max(0) } }
print(f:explain "storage")]] },
      { name = "memory", args = { arg("bounds", "table<string, integer>", "") }, returns = { { "integer?", "nil in the reference tier" } },
        text = "Bytes that a run takes, before running: every tensor that is kept, loaded parameters, and the working "
          .. "memory of operators. Not counted are inputs, outputs, constants, what callbacks are given and return, and "
          .. "blocks of the size of a cache.", errors = "`bound`.",
        example = [[
local y = x * 2
local f = P:compile { outputs = { y = y[T - 1 - t] } }
print(f:memory { T = 1000 })
f({ x = { 1, 2 } }, { T = 2 })
print(f:peak())]] },
      { name = "peak", args = {}, returns = { { "integer?", "nil in the reference tier" } }, text = "Bytes that the last run took.",
        example = [[
local y = x * 2
local f = P:compile { outputs = { y = y[T - 1 - t] } }
print(f:memory { T = 1000 })
f({ x = { 1, 2 } }, { T = 2 })
print(f:peak())]] },
      { name = "simulate", args = { arg("bounds", "table<string, integer>", "") },
        returns = { { "true?", "nil where the tier has no schedule or a dim ends by data" } },
        text = "Goes through the schedule without data and fails unless every statement runs once at each point, "
          .. "everything is made before it is read, and no slot is given away too early. To find bugs of ours.", errors = "`bound`; `cycle` for what is wrong.",
        example = [[
local f = P:compile { outputs = { y = x[0 .. t + 1]:max(0) } }
print(f:simulate { T = 5 })]] },
      { name = "profile", args = { arg("rows?", "integer", "to show (20)") },
        options = { arg("trace", "string", "a file for the plan with its times, as JSON for Perfetto"),
          arg("inside", "boolean", "from the next run on") }, returns = { { "string" } },
        text = "Where the time of all runs so far went: for each region of the plan, the dearest first, milliseconds, "
          .. "share, runs, GB and operations a second (of elementwise operators, sums and matrix products), the script's "
          .. "line, tensor and operators. One line says what a core of this machine does. The clock is always on; it "
          .. "samples. Native code has a line for each of its parts; with `inside` a second build of them, of the same "
          .. "bits, has clocks in its leaves too.",
        errors = "`option` for a negative number of rows, a trace of the reference tier, and `inside` from a callback; "
          .. "`file`.",
        example = [[
local f = P:compile { outputs = { y = x * 2 } }
f({ x = { 1, 2 } }, { T = 2 })
print(#f:profile(5) > 0)]] },
      { name = "export", args = { arg("path", "string", "\"dir/agent\", a name that C takes"), arg("bounds?", "table<string, integer>", "") }, returns = {},
        text = "Writes the function for these bounds as C99 that needs libm alone: `agent.c`, `agent.h`, `agent.weights` "
          .. "with the newest parameters, and `agent_main.c`, which shows their use ([export](../export.md)). With "
          .. "`tick` it goes in steps.",
        errors = "`option` for a name or a program that cannot be exported, `device` for an operator or tier that cannot, "
          .. "`bound`, `shape`, `file`; all files are then as they were.",
        example = 'local f = P:compile { outputs = { y = x[0 .. t + 1]:sum(0) }, tier = "interpreter" }\nlocal path = os.tmpname()\nf:export(path, { T = 8 })\nfor line in io.lines(path .. ".h") do\n  if line:find "_run" then print((line:gsub(path:match "[^/]*$", "agent"))) end\nend\nfor _, rest in ipairs { "", ".h", ".c", ".weights", "_main.c" } do os.remove(path .. rest) end' },
      { name = "ready", args = {}, returns = { { "boolean" } }, text = "False while another thread compiles (`async = true`), and any use would wait. Use raises what compiling "
          .. "failed with and tells its warnings. Ctrl-C ends the wait but not the compilation, which `f:free()` ends.",
        errors = "`option` after `f:free()`.",
        example = "local f = P:compile { outputs = { y = t:value() * 2 }, async = true }\nprint(f({}, { T = 3 }).y, f:ready())" },
      { name = "free", args = {}, returns = {}, text = "Gives its memory back; any use after is an error. `__gc` and `__close` do the same.", errors = "`option` from its own callback.",
        example = "local f = P:compile { outputs = { y = t:value() } }\nf:free()\nprint(f)" },
    },
  },

  { title = "States", class = "tempo.State", receiver = "s", text = "What `f:state()` gives: a run between two ticks. It has no methods.", entries = {} },

  { title = "Arrays", class = "tempo.Array", receiver = "a",
    text = "Dense, row major, of any dtype. `a[i]` counts from 0: a view of a row, or a number of a vector; out of range is the error `input`, so `ipairs` cannot skip row 0. "
      .. "`#a` is the first extent; printing is NumPy's.",
    index = "tempo.Array|number|boolean",
    entries = {
      { name = "shape", args = {}, returns = { { "integer[]" } }, text = "The extents.", example = "print(#tempo.array({ { 1, 2 } }):shape())" },
      { name = "dtype", args = {}, returns = { { "tempo.Dtype" } }, text = "The dtype.", example = "print(tempo.array({ true }):dtype())" },
      { name = "totable", args = {}, returns = { { "any", "a table, a number or a boolean" } }, text = "Nested tables of numbers or booleans from 1; a scalar's value.",
        errors = "under LuaJIT `input` for an i64 beyond 2^53.", example = [[print(tempo.array({ { 1, 2 }, { 3, 4 } }):totable()[2][1])]] },
      { name = "item", args = {}, returns = { { "number|boolean" } }, text = "The one element.", errors = "`shape` for more or fewer.", example = 'print(tempo.array(5, "i64"):item())', fails = "tempo.array({ 1, 2 }):item()" },
      { name = "clone", args = {}, returns = { { "tempo.Array" } }, text = "A copy: keeps what a callback was lent.", example = "local a = tempo.array { 1, 2 }\nlocal b = a:clone():set(9, 0)\nprint(a, b)" },
      { name = "orthonormal", args = {}, returns = { { "tempo.Array" } }, text = "Of a matrix of floats: its rows made orthonormal, or its columns where they are fewer (modified "
          .. "Gram-Schmidt in f64, twice).",
        errors = "`shape` for anything else.", example = "print(tempo.array({ { 3, 4 }, { 1, 0 } }):orthonormal())" },
      { name = "rows", args = {}, returns = { { "fun(): integer?, tempo.Array|number|boolean" } }, text = "Iterates over index (from 0) and row.", errors = "`shape` for a scalar.",
        example = "for i, row in tempo.array({ { 1, 2 }, { 3, 4 } }):rows() do print(i, row) end" },
      { name = "get", args = { arg("...", "integer", "one for each axis") }, returns = { { "number|boolean" } }, text = "An element.", errors = "`shape` for another number of indices, `input` out of range.",
        example = 'print(tempo.array({ { 1, 2 }, { 3, 4 } }, "i64"):get(1, 0))', fails = "tempo.array({ 1, 2 }):get(2)" },
      { name = "set", args = { arg("v", "number|boolean", ""), arg("...", "integer", "one for each axis") }, returns = { { "tempo.Array", "itself" } }, text = "Changes an element.",
        errors = "as `get`; `dtype`; `callback` for an array lent to one.", example = "print(tempo.array({ 1, 2 }):set(7, 1))" },
      { name = "save", args = { arg("path", "string", "") }, returns = { { "true" } }, text = "Writes a .npy file, whole or not at all.", errors = "`file`.",
        example = 'local path = os.tmpname()\nprint(tempo.array({ 1, 2 }):save(path))\nprint(tempo.load(path))\nos.remove(path)' },
      { name = "data", args = {}, returns = { { "lightuserdata" } }, text = "The address of the elements, for LuaJIT's `ffi.cast`.", example = "print(type(tempo.array({ 1 }):data()))" },
      { name = "int64", args = {}, returns = { { "table|integer" } }, text = "As `totable` with exact 64-bit integers (LuaJIT: cdata).", errors = "`dtype` unless i64.",
        example = 'print(tempo.array({ 1, 2 }, "i64"):int64()[2] == 2)' },
      { name = "free", args = {}, returns = {}, text = "Gives its memory back.", example = "local a = tempo.array { 1 }\na:free()\nprint(a)" },
    },
  },
}

return api

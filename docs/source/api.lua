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
      { name = "program", args = {}, options = { arg("seed", "integer", "of random numbers (0); a call may replace it") }, returns = { { "tempo.Program" } },
        text = "A new, empty program.", example = "print(tempo.program { seed = 7 })", fails = "tempo.program { sed = 7 }" },
      { name = "grad", args = { arg("loss", "tempo.Tensor", "a float tensor"), arg("x", "tempo.Tensor|tempo.Tensor[]", "one tensor, or a sequence of them") },
        options = { arg("leaf", "boolean", "each x counts as given at each of its points, as a parameter does (false)") },
        returns = { { "tempo.Tensor|tempo.Tensor[]", "as many, each with the domain, shape and dtype of its tensor" } },
        text = "The derivative of the loss, summed over all its points and elements, by x at each point of x's domain. It differentiates the program as it is compiled, whatever the order of "
          .. "the lines, and is an expression like any other: differentiate it again, or `:detach()` it. 0 where no loss needs x; compiling warns if the loss does not contain x.\n\n"
          .. "With `leaf = true` nothing is followed through the definition of any x: a state is differentiated by what reads it, not by later states. So an optimiser's step can stand inside a "
          .. "recurrence and be differentiated in turn (`examples/maml_sinusoid.lua`).",
        errors = "`dtype` for tensors that are no floats; `cycle` where the gradient runs through the update of a state that is no parameter and no leaf.",
        example = [[
local x = P:input("x", { domain = { t } })
local dx = tempo.grad(x[0 .. t + 1]:sum(0):square(), x)
print(P:compile { outputs = { dx = dx } }({ x = { 1, 2, 3 } }, { T = 3 }).dx)

local w = P:tensor { domain = { t } }                 -- gradient descent on w^2 from w = 1
w[0] = 1
w[t] = (w - 0.25 * tempo.grad(w * w, w, { leaf = true }))[t - 1]
local by_first = tempo.grad(w[T - 1], w)[0]
print(P:compile { outputs = { w = w, d = by_first } }({}, { T = 3 }).d)]] },
      { name = "array", args = { arg("data", "tempo.Data|string", "a number, a nested table, a string of bytes or an array"),
          arg("dtype?", "tempo.Dtype", "f32, or bool for booleans, or the array's own"), arg("shape?", "integer[]", "for bytes, and to reshape") },
        returns = { { "tempo.Array" } }, text = "A host array: a copy. A number with a shape fills it.",
        errors = "`shape` for ragged tables and for bytes that do not fill the shape; `dtype` for fractions, NaN and numbers out of range where it is an integer; `option` for an unknown dtype.",
        example = 'print(tempo.array({ { 1, 2 }, { 3, 4 } }, "i64"))\nprint(tempo.array(0, "f32", { 3 }))', fails = "tempo.array { { 1, 2 }, { 3 } }" },
      { name = "save", args = { arg("path", "string", "of the file, which is replaced as a whole"), arg("arrays", "tempo.Array|table<string, tempo.Array>", "an array: .npy; arrays by name: .npz") },
        returns = { { "true" } }, text = "Writes a NumPy file, as a whole or not at all.", errors = "`option` for anything but arrays; `file` if it cannot be written.",
        example = 'local path = os.tmpname()\nprint(tempo.save(path, { a = tempo.array { 1, 2 }, b = tempo.array { 3 } }))\nprint(tempo.load(path).b)\nos.remove(path)' },
      { name = "load", args = { arg("path", "string", "a .npy or .npz file") }, returns = { { "any", "the array, or a table of arrays by name" } },
        text = "An array, or arrays by name, from a NumPy file.", errors = "`file` for one that is not there, broken or of a dtype that is not ours.", example = 'print(pcall(tempo.load, "/none.npy"))' },
      { name = "range", args = { arg("lo", "tempo.Number", "the first"), arg("hi", "tempo.Number", "after the last") }, returns = { { "tempo.Range" } },
        text = "The range lo .. hi, half open. `lo .. hi` is the same where either end is symbolic; `2 .. 5` is the string \"25\" in Lua.",
        errors = "`affine` for an end that is a product of dims or bounds, or no integer.",
        example = "print(tempo.range(2, 5), 0 .. t + 1)",
        fails = 'local x = P:input("x", { domain = { t } })\nprint(x[2 .. 5])' },
      { name = "min", args = { arg("...", "tempo.Number", "index expressions and numbers") }, returns = { { "tempo.Index" } },
        text = "The smallest, as an index expression (a number of numbers). Of tensors: `tempo.minimum(a, b)`, `x:min(axis)`.", errors = "`option` for tensors.",
        example = "print(tempo.min(t + 10, T - 1))" },
      { name = "max", args = { arg("...", "tempo.Number", "index expressions and numbers") }, returns = { { "tempo.Index" } },
        text = "The largest, as an index expression (a number of numbers). Of tensors: `tempo.maximum(a, b)`, `x:max(axis)`.", errors = "`option` for tensors.",
        example = "print(tempo.max(0, t - 2))", fails = "tempo.max(tempo.ones { 2 }, 0)" },
      { name = "floordiv", row = true, args = { arg("a", "tempo.Operand", ""), arg("b", "tempo.Operand", "of an index expression: a positive integer") },
        returns = { { "any", "an index expression, a number or a tensor, as its operands" } },
        text = "a // b, for index expressions, numbers and tensors; LuaJIT's syntax has no `//`.", errors = "`affine` for an index expression by another, or by 0.",
        example = "print(tempo.floordiv(t, 2), tempo.floordiv(-7, 2))" },
      { name = "mod", row = true, args = { arg("a", "tempo.Operand", ""), arg("b", "tempo.Operand", "of an index expression: a positive integer") },
        returns = { { "any", "an index expression, a number or a tensor, as its operands" } }, text = "a % b, with the sign of b.", errors = "`affine` for an index expression by another, or by 0.",
        example = "print(tempo.mod(t, 2), tempo.mod(-7, 2))" },
      { name = "associative_scan", args = { arg("fn", "fun(a: any, b: any): any", "of two values in the form of x, many of them at once; gives a third; associative"),
          arg("x", "tempo.Tensor|table", "a tensor, or a table of tensors that are scanned together") },
        options = { arg("axis", "integer", "the axis that is scanned (0); its extent is a number"), arg("dim", "tempo.Index", "the dim that is scanned, in place of an axis"), arg("reverse", "boolean", "from the end (false)") },
        returns = { { "any", "in the form of x, as large" } },
        text = "All prefixes of x under fn: y[0] = x[0], y[k] = fn(y[k-1], x[k]). Along an axis pairs are combined, then pairs of pairs, 2 log2(n) applications to slices; along a dim it is the recurrence. "
          .. "That fn is associative is not looked at: along an axis the result is some other number where it is not.",
        errors = "`option` for what is no function, no tensor, or gives other tensors than it takes; `shape` for an axis that is not there, or as long as only the call knows, and `shape` or `dtype` where the function gives another one than it takes; `domain` for a dim that x lacks.",
        example = [[
local a, b = P:constant { 0.5, 0.5, 2 }, P:constant { 1, 1, 1 }
local y = tempo.associative_scan(function(f, g)            -- h[k] = a[k] h[k-1] + b[k]: functions of h, composed
  return { a = f.a * g.a, b = f.b * g.a + g.b }
end, { a = a, b = b })
print(P:compile { outputs = { h = y.b } } ({}, {}).h)]],
        fails = 'tempo.associative_scan(function(a, b) return a + b end, P:input("x", { domain = { t } })[0 .. T])' },
      { name = "warn", args = { arg("text", "string", "the warning, with the script's place") }, returns = {},
        text = "What tempo warns through: a line on stderr. A script may put its own function here, `error`, or `false` for silence. It is told of a loop that records more than 10,000 nodes, of "
          .. "a random tensor without a domain inside a larger one, of a reduction without an axis of a scalar at each point (it reduces nothing), and when compiling of a gradient by what the loss does not contain (it is 0) "
          .. "and of a parameter's gradient that nothing needs.",
        example = "local was = tempo.warn\ntempo.warn = function(text) print(\"heard: \" .. text) end\ntempo.warn \"script.lua:1: look\"\ntempo.warn = was" },
      { name = "clock", args = {}, returns = { { "number", "seconds" } }, text = "A clock that never goes back: for rates and durations, not for the time of day.",
        example = "local start = tempo.clock()\nprint(tempo.clock() >= start)" },
    },
  },

  { title = "Programs", class = "tempo.Program", receiver = "P",
    text = "A program records. Nothing is computed until a compiled function is called.",
    entries = {
      { name = "dim", args = { arg("name", "string", "letters, digits and _"), arg("bound?", "string", "the bound's name: `name:upper()` unless given") },
        returns = { { "tempo.Index", "the dim's index, 0 .. bound - 1" }, { "tempo.Index", "its bound" } },
        text = "A temporal dimension. Its bound is an integer >= 0, given by name at every call and never taken from arrays. The order of `P:dim` is the order of axes in arrays.",
        errors = "`option` for a name that is taken.", example = 'local b, B = P:dim("b", "batch")\nprint(b, B)' },
      { name = "bound", args = { arg("name", "string", "") }, returns = { { "tempo.Index" } },
        text = "A bound without a dim: a window, a horizon, the length of a prompt. Given and checked at the call like a dim's.",
        example = [[
local w = P:bound "w"
local x = P:input("x", { domain = { t } })
local f = P:compile { outputs = { m = x[tempo.max(0, t - w + 1) .. t + 1]:mean(0) } }
print(f({ x = { 1, 2, 3, 4 } }, { T = 4, w = 2 }).m)]] },
      { name = "stop", args = { arg("dim", "tempo.Index", "the dim that ends"), arg("done", "tempo.Operand", "bool, at each point of that dim and of any others") }, returns = {},
        text = "The dim ends by data: at each point of the other dims of `done` it runs to the first point at which `done` holds, that one included, or to the bound given at the call. "
          .. "The bound then is what was reached, known while running; what mentions it has the other dims of `done` in its domain and waits for the end. Outputs over the dim have the greatest length "
          .. "reached, zeros beyond a row's own end, and the output of the bound's name holds the lengths: an array over the other dims, a number if there are none.",
        errors = "`option` for a second stop of a dim, or one that a callback's `over` names; `dtype`, `shape`, `domain` for a `done` that is no bool scalar over the dim; `cycle` where it needs the end itself; "
          .. "`domain` for a read that an end may leave (any number from 1 on, whatever was given); `ragged` for rows of unequal ends side by side.",
        example = [[
local x = P:tensor { domain = { t } }
x[0] = 1
x[t] = x[t-1] * 2
P:stop(t, x:ge(20))
local out = P:compile { outputs = { x = x, sum = x[0 .. T]:sum(0) } }({}, { T = 100 })
print(out.x, out.sum, out.T)]],
        fails = 'local x = P:input("x", { domain = { t } })\nP:stop(t, x:gt(1))\nP:compile { outputs = { y = x[t + 1] } }' },
      { name = "input", args = { arg("name", "string", "the key in the table of inputs at the call") },
        options = { arg("domain", "tempo.Dims", "dims in the order of `P:dim` (none)"), arg("shape", "tempo.Extent[]", "the spatial shape ({})"), arg("dtype", "tempo.Dtype", "(\"f32\")") },
        returns = { { "tempo.Tensor" } },
        text = "A tensor whose values are given at the call: an array of shape (bounds of the domain.., shape..), a nested table, or a number for a scalar.",
        errors = "`option` for a second input of that name or dims out of order; at the call `input` for a wrong dtype, `shape` for a wrong shape.",
        example = 'local x = P:input("x", { domain = { t }, shape = { 2 } })\nprint(P:compile { outputs = { s = x:sum() } }({ x = { { 1, 2 }, { 3, 4 } } }, { T = 2 }).s)',
        fails = 'local x = P:input("x", { domain = { t }, shape = { 2 } })\nP:compile { outputs = { s = x:sum() } }({ x = { { 1, 2 } } }, { T = 2 })' },
      { name = "tensor", args = {}, options = { arg("domain", "tempo.Dims", "(none)"), arg("shape", "tempo.Extent[]", "({})"), arg("dtype", "tempo.Dtype", "(\"f32\")"), arg("name", "string", "for messages and explain") },
        returns = { { "tempo.Declared", "a tensor that may be assigned to" } },
        text = "A tensor that is declared first and defined by branches, so that it may refer to itself at other points: `h[0] = a`, `h[t] = f(h[t-1])`. "
          .. "Branches are tried in the order written, the first that matches wins.",
        errors = "`undefined` for a needed point without a branch and for a branch that can never be first; `cycle` for a value that needs itself; `dtype`, `shape` for a right side that differs "
          .. "from the declaration (branches never convert).",
        example = [[
local fib = P:tensor { domain = { t }, dtype = "i64" }
fib[0] = 0
fib[1] = 1
fib[t] = fib[t - 1] + fib[t - 2]
print(P:compile { outputs = { fib = fib } }({}, { T = 10 }).fib)]],
        fails = 'local h = P:tensor { domain = { t } }\nh[t] = h[t - 1] + 1\nP:compile { outputs = { h = h } }' },
      { name = "param", args = { arg("name", "string", "its path, as `f:params()` gives it") },
        options = { arg("init", "tempo.Operand|table", "its first value: a number, an array or an expression"), arg("along", "tempo.Dims", "the dims it evolves over (none: a constant of the run)"),
          arg("domain", "tempo.Dims", "dims for each of whose points there is one such state (layers, seeds)"), arg("shape", "tempo.Extent[]", "(that of an array or tensor given as init, else {})"),
          arg("dtype", "tempo.Dtype", "(that of an array or tensor given as init, else f32)") },
        returns = { { "tempo.Declared", "a tensor that may be assigned to" } },
        text = "A state that evolves along dims, in lexicographic order: its first value is init, or what `f:load_params` gave (which starts a run at the first point again, random draws included: see there); `w:update(e)` says the next; without one it is carried. "
          .. "A leaf of gradients at each point: its own update is never differentiated through.",
        errors = "`option` without an init; `domain` for an init that varies over `along`.",
        example = [[
local w = P:param("w", { along = { t }, init = 1 })
w:update(w * 2)
local f = P:compile { outputs = { w = w } }
print(f({}, { T = 4 }).w)
print(f:params().w)]] },
      { name = "constant", args = { arg("data", "tempo.Data", "copied") }, returns = { { "tempo.Tensor" } },
        text = "A tensor with these values at every point. Arrays and numbers mix with tensors by themselves; this is for where none is near.",
        example = 'print(P:constant { { 1, 2 }, { 3, 4 } })' },
      { name = "call", args = { arg("fn", "fun(arrays: tempo.Array[], point: table<string, integer>): ...", "gets the inputs' arrays at a point (none: an empty table), and the point"),
          arg("inputs", "tempo.Operand[]", "tensors"), arg("specs", spec .. "[]", "one for each result, all of one domain, which contains the inputs'") },
        options = { arg("over", "tempo.Dims", "dims that are not in the point and lead the shape of every array: one call for all of them") },
        returns = { { "tempo.Tensor", "one for each spec" } },
        text = "A Lua function as an operator: called exactly once at every point, in lexicographic order of the dims, if anything reads a result. It returns as many arrays, nested tables or "
          .. "numbers as there are specs. Arrays are valid until it returns (`:clone()` keeps one) and read only. Gradient: 0.",
        errors = "`callback` for results of another number, shape or dtype, and for a function that yields; an error raised inside ends the run and reaches the caller as it is; `ragged` for an extent that varies with a dim in `over`.",
        example = [[
local x = P:input("x", { domain = { t } })
local y = P:call(function(arrays, point) return arrays[1]:item() * 10 + point.t end, { x }, { { domain = { t } } })
print(P:compile { outputs = { y = y } }({ x = { 1, 2 } }, { T = 2 }).y)]],
        fails = [[
local x = P:input("x", { domain = { t } })
local y = P:call(function() return { 1, 2 } end, { x }, { { domain = { t } } })
P:compile { outputs = { y = y } }({ x = { 1 } }, { T = 1 })]] },
      { name = "source", args = { arg("fn", "fun(point: table<string, integer>): ...", "gives the values at a point"), arg("spec", spec .. "|" .. spec .. "[]", "of the result, or of several") },
        options = { arg("over", "tempo.Dims", "as for `P:call`") }, returns = { { "tempo.Tensor" } }, text = "A callback without inputs that gets the point alone.", errors = "as `P:call`.",
        example = [[
local x = P:source(function(point) return point.t * point.t end, { domain = { t } })
print(P:compile { outputs = { sum = x[0 .. T]:sum(0) } }({}, { T = 4 }).sum)]] },
      { name = "sink", args = { arg("inputs", "tempo.Operand[]", "tensors"), arg("fn", "fun(arrays: tempo.Array[], point: table<string, integer>)", "called at every point of the union of their domains") },
        options = { arg("over", "tempo.Dims", "as for `P:call`") }, returns = {},
        text = "A callback without results, always needed: a program with a sink needs no outputs. It runs inside the loop it belongs to, so progress shows as it happens.", errors = "as `P:call`.",
        example = [[
local x = P:input("x", { domain = { t } })
P:sink({ x[0 .. t + 1]:sum(0) }, function(arrays, point) print(point.t, arrays[1]) end)
P:compile {} ({ x = { 1, 2, 3 } }, { T = 3 })]] },
      { name = "compile", args = {}, options = {
          arg("outputs", "table<string, tempo.Operand>", "tensors by name; may be left out when there is a sink"),
          arg("tier", "tempo.Tier", "what executes: \"reference\" evaluates by demand and is slow and obviously right, \"interpreter\" runs the plan, \"native\" compiles it with `$CC` or `cc` (the interpreter runs it where there is none); \"auto\", the default, begins in the interpreter and goes over to native code when a second of running has paid for a compiler beside it, at once where the cache has it"),
          arg("passes", '"none"|table<string, boolean>', "\"none\", or passes and rules by name: `{ cse = false, mul_one = false }` (all on)"), arg("precise", "boolean", "no pass that reassociates floats (false)"),
          arg("reproducible", "boolean", "the same bits on every processor, by every compiler at any level, with any number of threads (false)"),
          arg("cflags", "string", "flags for the compiler of native code, behind those of this version (`f:explain \"code\"` shows them all): `\"-O1\"`"),
          arg("device", "string", "(\"cpu\")"), arg("threads", "integer", "1 to 4096, that share what is large enough (what `OMP_NUM_THREADS` says, else 1); every bit is the same for any number"), arg("memory", "number|string", "a limit for what `f:memory` counts: bytes, `\"2GiB\"`, `\"512MiB\"`, `\"1.5GB\"`; or `\"none\"`: not even the machine's"), arg("check", '"nan"|"none"', "`\"nan\"`: the first NaN or infinity that is made of finite operands ends the run (none)"),
          arg("tick", "tempo.Index|tempo.Index[]", "the dims of `f:step`"),
          arg("async", "boolean", "returns at once: another thread compiles, and the first use of the function waits for it (false)") },
        returns = { { "tempo.Function" } },
        text = "Checks, differentiates, schedules and plans the program for all bounds. Later changes of P do not touch the function; a program may be compiled many times.\n\n"
          .. "A call that takes more memory than there is is refused before its first step, with the bytes that it needs, the tensors that need most of them and bounds that would do. There is what the machine "
          .. "has, what the groups (cgroup) of its container allow, or what `RLIMIT_AS` and `RLIMIT_DATA` leave to the process, whichever is least; swap and what others use do not count. A call takes its outputs and what `f:memory` says; "
          .. "inputs are there already. Bounds count as given, but a dim that ends by data (`P:stop`) counts one step for what is kept inside: its bound may be a capacity, of which only what is reached is ever touched. "
          .. "The reference tier counts a value for each point that the outputs need, as far as that is known. `memory = \"none\"`, or `TEMPO_MEMORY` in the environment, starts such a call all the same: it may be right where a "
          .. "tensor is long and only a part of it is ever made.\n\n"
          .. "With `reproducible = true` a program computes the same bits on every processor with IEEE floats, in the interpreter, in native code and where it is exported: nothing is fused, sums have one order, products of matrices are ours "
          .. "and never a library's; where products dominate it is half as fast. Flags in `cflags` or `TEMPO_CFLAGS` that would break this, `-ffast-math` and the like, are an error. Not part of it: what callbacks compute, the reference tier, NaN's payloads, "
          .. "and, in exported code, gradients of a convolution's weights, which are summed in another order there.\n\n"
          .. "With `check = \"nan\"`, or `TEMPO_CHECK=nan` in the environment, a run ends with an error of class `nan` at the first NaN or infinity that an operator makes of finite operands, and says which tensor it "
          .. "is, its point, the element, the script's line (of a gradient, the line of what is differentiated) and the operands. Every operator that is computed is looked at, the side of a `where` that is not taken too. "
          .. "NaN and infinity that come in (inputs, loaded parameters, results of callbacks, literals such as `math.huge`) are taken as meant, and so is whatever is made of them; max, mean, var and logsumexp of nothing "
          .. "have no operand. What lies beyond the end of a row (`P:stop`) is nobody's business. Both tiers meet the points of an operator in lexicographic order; where several operators fail in a run, each tier names the "
          .. "one that it comes to first. The interpreter carries sums over time in f64 where it can: such a sum fails where it is rounded. No number changes but the last digit of what is added up in place "
          .. "(gradients of matrix products over time); a checked function runs operators one by one, and a state goes on only in one that is checked too. Without a check nothing is looked at.\n\n"
          .. "Under a limit of memory each call keeps to it or is refused before its first step, with the bytes that it needs, the tensors that need them and bounds that would do. Blocks of rows are made "
          .. "shorter first, as far as the bounds ask for it (`explain(\"storage\", bounds)` says so; sums in blocks may differ in the last digit; not where steps share the plan); where that is not enough, what is not used for "
          .. "long lies in a temporary file without a name, in `TMPDIR` (else `/var/tmp`): it leaves memory as loops go on and comes back ahead of them; the file changes no number. The space of the file is taken first, "
          .. "so a full disk is the error `file` before the first step. `TMPDIR` should be on a disk: a tmpfs is memory. Inputs and outputs are not counted, a state and `f:state()` neither; with a budget "
          .. "a step under a limit that needs the file leaves no work behind. The reference tier plans nothing and keeps to no limit.",
        errors = "whatever is wrong with the program: `domain`, `cycle`, `undefined`, `ragged`, `affine`, `shape` with the line of the read or branch at fault and a witness point; `option`; `device`.",
        example = 'local x = P:input("x", { domain = { t }, shape = { 1024 } })\nlocal h = P:tensor { domain = { t }, shape = { 1024 } }\nh[0] = x\nh[t] = (h[t-1] + x):tanh()\n'
          .. 'local g = tempo.grad(h:sum(), { x })[1]\nlocal f = P:compile { outputs = { g = g:sum() }, memory = "1MiB" }\nprint(f, f:memory { T = 1000 } < 2^20)',
        fails = 'local x = P:input("x", { domain = { t } })\nP:compile { outputs = { y = x[t + 1] } }' },
      { name = "seed", args = {}, returns = { { "integer" } }, text = "The seed given to `tempo.program`.", example = "print(tempo.program({ seed = 7 }):seed())" },
      { name = "env_reset", args = { arg("id", "string", "an environment, \"CartPole-v1\""), arg("u", "tempo.Operand", "f64 uniforms") }, returns = { { "tempo.Tensor", "the state, f64" } },
        text = "A native environment's first state from uniform numbers. `tempo.rl.env` is the comfortable way to all three.", errors = "`option` for an unknown environment, `shape`, `dtype`.",
        example = 'print(P:env_reset("CartPole-v1", tempo.full({ 4 }, 0.5, { dtype = "f64" })):peek {})' },
      { name = "env_obs", args = { arg("id", "string", ""), arg("state", "tempo.Operand", "") }, returns = { { "tempo.Tensor", "f32" } }, text = "What is observed of a state.",
        errors = "as `P:env_reset`.",
        example = 'local s = P:env_reset("CartPole-v1", tempo.full({ 4 }, 1, { dtype = "f64" }))\nprint(P:env_obs("CartPole-v1", s):peek {})' },
      { name = "env_step", args = { arg("id", "string", ""), arg("state", "tempo.Operand", ""), arg("action", "tempo.Operand", "i64"), arg("u", "tempo.Operand", "f64 uniforms for a reset") },
        returns = { { "tempo.Tensor", "the next state, reset if the episode ended" }, { "tempo.Tensor", "the observation before any reset" }, { "tempo.Tensor", "the reward" },
          { "tempo.Tensor", "terminated, bool" }, { "tempo.Tensor", "truncated, bool" } },
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
    text = "Built from dims, bounds and integers with `+ - *` (by an integer), `//` and `%` (by a positive integer), unary `-`, `tempo.min`, `tempo.max`. Equal expressions are the same object, so `==` "
      .. "is identity and never a condition. A product of dims or bounds is a size: good in shapes and `:value()`, refused as an index (`affine`). Where a tensor is wanted, an index expression is "
      .. "its value, with the weak dtype of a number. `lo .. hi` makes a range where either end is symbolic.",
    operators = { "add(tempo.Number): tempo.Index", "sub(tempo.Number): tempo.Index", "mul(tempo.Number): tempo.Index", "idiv(integer): tempo.Index", "mod(integer): tempo.Index",
      "unm: tempo.Index", "concat(tempo.Number): tempo.Range" },
    entries = {
      { name = "value", args = {}, returns = { { "tempo.Tensor", "an i64 scalar, whose domain is the expression's dims" } }, text = "The value as a tensor: for arithmetic that index expressions do not have.",
        example = "print(P:compile { outputs = { y = t:value() / 2 } }({}, { T = 4 }).y)", fails = "print(t / 2)" },
      { name = "upper", args = {}, returns = { { "tempo.Index" } }, text = "A dim's bound.", errors = "`option` for an expression that is no dim.", example = "print(t:upper() == T)" },
      { name = "name", args = {}, returns = { { "string" } }, text = "Its text.", example = "print(t:name(), (t + 1):name())" },
      { name = "program", args = {}, returns = { { "tempo.Program" } }, text = "The program it belongs to.", example = "print(t:program() == P)" },
      { name = "eq", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "The condition t = k. With a tensor: a bool tensor.", example = "print(t:eq(3))", fails = "print(t < T)" },
      { name = "ne", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "The condition t ≠ k.", example = "print(t:ne(3))" },
      { name = "lt", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "The condition t < k.", example = "print(t:lt(3))" },
      { name = "le", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "The condition t <= k.", example = "print(t:le(3))" },
      { name = "gt", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "The condition t > k.", example = "print(t:gt(3))" },
      { name = "ge", args = { arg("k", "tempo.Number", "") }, returns = { { "tempo.Condition" } }, text = "The condition t >= k.", example = "print(t:ge(3))" },
      { name = "floordiv", args = { arg("k", "integer", "> 0") }, returns = { { "tempo.Index" } }, text = "t // k, where the syntax lacks it.", errors = "`affine` for anything but a positive integer.",
        example = "print(t:floordiv(2))" },
      { name = "mod", args = { arg("k", "integer", "> 0") }, returns = { { "tempo.Index" } }, text = "t % k.", errors = "`affine` for anything but a positive integer.", example = "print(t:mod(2))" },
    },
  },

  { title = "Conditions", class = "tempo.Condition", receiver = "c",
    text = "What `t:eq(k)` and its kin give: for `h:when(c, e)`; where a tensor is wanted, a bool tensor.",
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
A recurrent tensor: an expression with a domain (a set of dims), a spatial shape and a dtype. [Operators](operators.md) are its methods. A key that is a string is a method's name; any other is an index in time:

| read | means | spatial shape | domain |
| --- | --- | --- | --- |
| `x[t-1]`, `x[t//2]`, `x[tempo.min(t+10, T-1)]` | a point | same | same |
| `x[0]`, `x[T-1]`, `x[{t = 0}]` | a constant point | same | loses t |
| `x[0 .. t+1]`, `x[t .. T]` | a range | prepends an extent | keeps t |
| `x[0 .. T]` | a constant range | prepends an extent | loses t |
| `x[{b = 0 .. B, t = t-1}]`, `x[{0, i, t+1}]` | several dims, by name or by position | prepended in domain order | as above |

Errors: `domain` where a needed read leaves the domain, with a witness, when compiling, or at the call where it depends on bounds; `ragged` for a range over a dim that the shape depends on; `affine`; `option` for a
string as an index. A declared tensor is defined by assignment, `h[0] = e`, `h[t] = e`, `h[t + 1] = e`.]],
    operators = { "add(tempo.Operand): tempo.Tensor", "sub(tempo.Operand): tempo.Tensor", "mul(tempo.Operand): tempo.Tensor", "div(tempo.Operand): tempo.Tensor",
      "mod(tempo.Operand): tempo.Tensor", "pow(tempo.Operand): tempo.Tensor", "idiv(tempo.Operand): tempo.Tensor", "unm: tempo.Tensor" },
    index = "tempo.Tensor",
    derived = { "tempo.Declared", "A tensor that may be assigned to at its points: what `P:tensor` and `P:param` give.", "any" },
    entries = {
      { name = "at", args = { arg("key", "table", "as in `x[{..}]`; a dim itself may be a key, `{[t] = 0}`") }, returns = { { "tempo.Tensor" } }, text = "`x[{..}]` as a method.", errors = "as indexing.",
        example = [[
local x = P:input("x", { domain = { t } })
print(P:compile { outputs = { last = x:at { t = T - 1 } } }({ x = { 1, 2, 3 } }, { T = 3 }).last)]],
        fails = 'local x = P:input("x", { domain = { t } })\nprint(x:at { b = 0 })' },
      { name = "otherwise", args = { arg("e", "tempo.Operand|table", "") }, returns = {}, text = "The branch for all points that no earlier one matches: `h[t] = e` for code that gets its dims as arguments.",
        errors = "`dtype`, `shape` where e differs from the declaration; `undefined` when compiling if it can never be first.",
        example = 'local h = P:tensor { domain = { t } }\nh[0] = 1\nh:otherwise(h[t - 1] * 2)\nprint(P:compile { outputs = { h = h } }({}, { T = 4 }).h)' },
      { name = "when", args = { arg("c", "tempo.Condition", "on indices; for data use `tempo.where`"), arg("e", "tempo.Operand|table", "") }, returns = {},
        text = "The branch for the points where c holds.", errors = "`option` for a tensor as a condition; else as `otherwise`.",
        example = 'local h = P:tensor { domain = { t } }\nh:when((t % 2):eq(0), 1)\nh:otherwise(0)\nprint(P:compile { outputs = { h = h } }({}, { T = 4 }).h)' },
      { name = "update", args = { arg("e", "tempo.Operand", "") }, returns = {}, text = "A parameter's value at the next point of `along`, at most once. `w[i+1] = e` is the same along one dim.",
        errors = "`option` for a second update and for tensors that are no parameters; `dtype`, `shape`.",
        example = 'local w = P:param("w", { along = { t }, init = 0 })\nw:update(w + 3)\nlocal f = P:compile { outputs = { w = w } }\nprint(f({}, { T = 3 }).w)' },
      { name = "backward", args = {}, returns = { { "tempo.Tensor", "itself" } }, text = "Marks a loss: `x:grad()` is the gradient of the sum of all losses so marked.", errors = "`dtype` for a tensor that is no float.",
        example = 'local x = P:input("x", { domain = { t } })\nx:square():backward()\nprint(P:compile { outputs = { g = x:grad() } }({ x = { 1, 2 } }, { T = 2 }).g)' },
      { name = "grad", args = {}, returns = { { "tempo.Tensor" } }, text = "The gradient by x of all losses marked with `backward`, wherever in the script: `tempo.grad` names its loss instead.",
        errors = "`dtype` for a tensor that is no float.",
        example = 'local x = P:input("x", { shape = { 2 } })\nlocal g = x:grad()\nlocal loss = (x * x * x):backward()\nprint(P:compile { outputs = { g = g } }({ x = { 1, 2 } }).g)' },
      { name = "peek", args = {}, options = { arg("inputs", "table<string, tempo.Data>", ""), arg("bounds", "table<string, integer>", ""), arg("at", "table<string, integer>", "the point, by names of dims"), arg("seed", "integer", "") },
        returns = { { "tempo.Array" } }, text = "The value at one point, on demand and without compiling: for debugging. Inputs and bounds that the value does not mention may be left out.",
        errors = "`option` for a point that lacks a dim; `bound`, `input`; `domain` for a point outside.",
        example = 'local x = P:input("x", { domain = { t } })\nprint((x[0 .. t + 1]:sum(0)):peek { inputs = { x = { 1, 2, 3 } }, bounds = { T = 3 }, at = { t = 1 } })' },
      { name = "name", args = { arg("s?", "string", "") }, returns = { { "string|tempo.Tensor|nil", "its name; itself when named" } },
        text = "Names it for messages and explain, or asks for the name.", example = 'print((P:constant(1) + t):name "shifted")' },
      { name = "shape", args = {}, returns = { { "tempo.Extent[]" } }, text = "The spatial shape: integers and index expressions.",
        example = 'local x = P:input("x", { domain = { t }, shape = { 3 } })\nlocal shape = x[0 .. t + 1]:shape()\nprint(shape[1], shape[2])' },
      { name = "dtype", args = {}, returns = { { "tempo.Dtype" } }, text = "The dtype.", example = "print(t:value():dtype())" },
      { name = "domain", args = {}, returns = { { "tempo.Index[]" } }, text = "The dims, in the order of `P:dim`: what `domain =` takes.", example = "print(t:value():domain()[1] == t)" },
      { name = "along", args = {}, returns = { { "tempo.Index[]" } }, text = "The dims a parameter evolves over; {} for any other tensor.",
        example = 'print(P:param("w", { along = { t }, init = 0 }):along()[1])' },
      { name = "program", args = {}, returns = { { "tempo.Program?" } }, text = "The program; nil of a loose literal, which belongs to none until it meets one.",
        example = "print(t:value():program() == P, tempo.zeros({ 3 }):program())" },
    },
  },

  { title = "Compiled functions", class = "tempo.Function", receiver = "f", text = "What `P:compile` gives.",
    call = "(inputs?: table<string, tempo.Data>, bounds?: table<string, integer>, options?: table): table<string, tempo.Array>",
    entries = {
      { name = "__call", form = "f(inputs, bounds[, { ... }])", args = { arg("inputs", "table<string, tempo.Data>", "arrays (borrowed for the run, not copied), nested tables or numbers, by name"),
          arg("bounds", "table<string, integer>", "every bound that is needed, by name") },
        options = { arg("seed", "integer", "replaces the program's"), arg("state", "tempo.State", "goes on from there: only the ticks that are left are run") },
        returns = { { "table<string, tempo.Array>", "a fresh array for each output, of shape (bounds of its domain.., shape..); after `f:cancel()` only those that were complete, and `cancelled = true`" } },
        text = "Runs the program.", errors = "`input` for a missing or unknown input; `bound` for a missing, unknown or unneeded bound; `shape`; `domain` where legality depends on the bounds; `callback`; `memory`, and `file` under a limit; `nan` where it is checked.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal f = P:compile { outputs = { y = x * 2 } }\nprint(f({ x = { 1, 2, 3 } }, { T = 3 }).y)\nprint(f({ x = { 1 } }, { T = 1 }).y)',
        fails = 'local x = P:input("x", { domain = { t } })\nP:compile { outputs = { y = x * 2 } }({ x = { 1, 2 } }, {})' },
      { name = "start", args = { arg("inputs", "table<string, tempo.Data>", "those without the tick dims; kept while the run lasts"), arg("bounds", "table<string, integer>", "the bound of the first tick dim may be `math.huge`") },
        options = { arg("seed", "integer", "replaces the program's") }, returns = { { "tempo.Function", "itself" } },
        text = "Begins a run that `f:step` goes through, tick by tick. In a program with one dim `tick` may be left out of `P:compile`. A run equals start and steps. Calls of f in between do not disturb it.",
        errors = "as a call; `option` without tick dims; `bound` for `math.huge` where something is kept over the whole of it, or goes through all of it between two ticks.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal f = P:compile { outputs = { y = x * 2 }, tick = t }\nf:start({}, { T = 2 })\nprint(select(2, f:step { x = 3 }).y)' },
      { name = "step", args = { arg("values?", "table<string, tempo.Data>", "the inputs with the tick dims, at this tick: without these dims") },
        options = { arg("budget_ms", "number", "this tick's outputs are computed whatever it takes; then what later ticks need, oldest first, while time is left"),
          arg("into", "table", "what an earlier step returned: it is returned again, and its arrays are written into, without garbage or a request for memory; an array of another shape, or one of which the script "
            .. "holds rows, is replaced by a fresh one") },
        returns = { { "boolean", "was it the last tick" }, { "table", "for each output with the tick dims its value here, without them; for one with only the outer of several tick dims its value at that point, with the last tick "
          .. "inside it; any other, or one that is complete only later, comes once as an array: with the first tick if no tick has a part in it, else with the last. Where dims end by data, done comes with the tick after "
          .. "which no row goes on, the part of a row that has ended is zero, and further dims are as long as the rows of this tick have reached; with a budget `late_ms`, by how much it was overrun; `cancelled`" } },
        text = "Goes to the next point of the tick dims. With budgets, work that nothing needs for two rows of a tick dim (learning whose parameters an actor reads one iteration old, or one tick) runs behind; no number changes.",
        errors = "`option` where no run is going on; `input`, `shape`, `dtype` for the values, which cost no tick; any other error ends the run.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal s = P:tensor { domain = { t } }\ns[0] = x\ns[t] = s[t-1] + x\nlocal f = P:compile { outputs = { s = s }, tick = t }\nf:start({}, { T = math.huge })\n'
          .. 'for k = 1, 3 do\n  local done, out = f:step({ x = k }, { budget_ms = 1 })\n  print(done, out.s)\nend\nlocal _, out = f:step({ x = 4 })\nf:step({ x = 5 }, { into = out })\nprint(out.s)' },
      { name = "state", args = {}, returns = { { "tempo.State" } }, text = "Between ticks: position, bounds, inputs without the tick dims, live buffers, outputs and parameters, in memory.",
        errors = "`option` where nothing was started, and from a callback.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal s = P:tensor { domain = { t } }\ns[0] = x\ns[t] = s[t-1] + x\nlocal f = P:compile { outputs = { s = s }, tick = t }\nf:start({}, { T = 3 })\nf:step { x = 1 }\n'
          .. 'local here = f:state()\nf:step { x = 2 }\nf:load_state(here)\nprint(select(2, f:step { x = 5 }).s)\nprint(f({ x = { 1, 2, 3 } }, { T = 3 }, { state = here }).s)' },
      { name = "load_state", args = { arg("s", "tempo.State", "of this program: recording and compiling the same gives the same") }, returns = { { "tempo.Function", "itself" } },
        text = "Goes on from a state. In a call, `state =` does, and may give a larger bound of the first tick dim where it could be `math.huge`.", errors = "`option` for a state of another program.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal f = P:compile { outputs = { y = x + 1 }, tick = t }\nf:start({}, { T = 2 })\nf:step { x = 1 }\nlocal g = P:compile { outputs = { y = x + 1 }, tick = t }\ng:load_state(f:state())\nprint(select(2, g:step { x = 7 }).y)' },
      { name = "save", args = { arg("path", "string", "") }, returns = { { "true" } }, text = "Writes the state to a file, which is replaced as a whole or not at all. After a step that was cancelled or failed, the state of a run that is over, with its parameters.",
        errors = "as `state`; `file` if it cannot be written.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal f = P:compile { outputs = { y = x + 1 }, tick = t }\nlocal path = os.tmpname()\nf:start({}, { T = 2 })\nf:step { x = 1 }\nprint(f:save(path))\nf:load(path)\nprint(select(2, f:step { x = 7 }).y)\nos.remove(path)' },
      { name = "load", args = { arg("path", "string", "") }, returns = { { "tempo.Function", "itself" } }, text = "Goes on from a state in a file: with `f:step`, or with a call, `f(inputs, bounds, { state = f:state() })`, which may give a larger bound of the first tick dim where it could be `math.huge`. After an error the function is as it was.",
        errors = "`file` for one that is not there or broken; `option` for a state of another program.",
        example = 'local f = P:compile { outputs = { y = t:value() }, tick = t }\nprint(pcall(f.load, f, "no such file"))' },
      { name = "cancel", args = {}, returns = {}, text = "From a callback: ends the run. It gives the outputs that are complete and `cancelled = true`.", errors = "`option` where nothing runs.",
        example = 'local f\nP:sink({ t:value() }, function(a) if a[1]:item() == 2 then f:cancel() end end)\nf = P:compile {}\nprint(f({}, { T = math.huge }).cancelled)' },
      { name = "params", args = { arg("options?", "{ of?: any }", "of: a module, a parameter, or a list of them: these alone") }, returns = { { "table<string, tempo.Array>" } },
        text = "The newest parameters there are, by path: between ticks, after a run, a cancel, an error or Ctrl-C, or as loaded. Copies, but for constants that were loaded, which are the loaded arrays themselves. A run that ended early leaves of each the newest value that was computed whole.",
        example = 'local w = P:param("w", { along = { t }, init = 1 })\nw:update(w + 1)\nlocal f = P:compile { outputs = { w = w } }\nf({}, { T = 5 })\nprint(f:params().w)' },
      { name = "load_params", args = { arg("params", "table<string, tempo.Data>", "by path, as `f:params()` gives them; any of them"), arg("options?", "{ strict?: boolean }", "strict = false leaves out paths that the function lacks (true)") },
        returns = { { "tempo.Function|string[]", "itself; with strict = false the paths that were missing" }, { "string[]?", "with strict = false the paths left over" } },
        text = "First values for runs to come. Arrays are borrowed: runs see what the script writes into them later. A net goes from the program that trained it into another by "
          .. "`g:load_params(f:params{ of = net })`. A run with them starts again at the first point: random numbers, which are keyed by seed and point, are those of the run before, and what is written in the "
          .. "index of `along` (a schedule of lr) begins anew. To go on, give it another `seed =`, or go on from the whole state (`f:save`, `f:load`, `f:state`), which has the point, the draws to come and everything kept, "
          .. "with a larger bound if need be: `examples/going_on.lua` does both.", errors = "`option` for an unknown path, with the nearest; `shape`, `dtype`.",
        example = 'local w = P:param("w", { along = { t }, init = 1 })\nw:update(w + 1)\nlocal f = P:compile { outputs = { w = w } }\nf:load_params { w = tempo.array(10) }\nprint(f({}, { T = 3 }).w)' },
      { name = "explain", args = { arg("section?", '"graph"|"schedule"|"storage"|"memory"|"work"|"plan"|"threads"|"code"|"passes"|"rules"|"evolution"|"dot"', "a summary if left out"),
          arg("bounds?", "table<string, integer>", "for sizes in bytes, and memory over time") }, returns = { { "string" } },
        text = "What was made of the program: `graph` the program itself, differentiated, as text that C reads (`tempo_program_parse`), the same on every tier; `schedule` its loops; `storage` what is kept of each tensor (point, ring, block, dense or fused) and which read decided it; "
          .. "`memory` what is in use at each step of the plan, and the largest at the peak; `work` how often each region runs and how many elements it goes through, most first; `plan` every region and buffer; `threads` which of them threads share, along what, and what the first runs alone, and why; `code` what executes: the same, and with `tier = \"native\"` the C that was compiled and where it lies; `passes` what each did; `dot` the graph for Graphviz. Without one: what runs in which loops, what is kept, what was not fused and why. `docs/reading-explain.md` reads all of it on a program.", errors = "`option` for an unknown section, with the nearest.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal f = P:compile { outputs = { y = x[0 .. t + 1]:max(0) } }\nprint(f:explain "storage")\nprint(f:explain("memory", { T = 100 }))' },
      { name = "memory", args = { arg("bounds", "table<string, integer>", "") }, returns = { { "integer?", "bytes; nil where the tier does not know" } },
        text = "Bytes that a run with these bounds takes, before running: every tensor that is kept and the working memory of operators. Loaded parameters are in it. Inputs, outputs, what callbacks are "
          .. "given and return, and constants are the script's and not in it; nor are blocks of the size of a cache that an elementwise chain works in. Under a limit, with what is mapped of a file at a time; "
          .. "more than the limit where a call would be refused.", errors = "`bound`.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal y = x * 2\nlocal f = P:compile { outputs = { y = y[T - 1 - t] } }\nprint(f:memory { T = 1000 })' },
      { name = "peak", args = {}, returns = { { "integer?", "bytes; nil where the tier does not know" } }, text = "Bytes that the last run took: what `f:memory` had said. Memory that it did not write to costs no pages.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal y = x * 2\nlocal f = P:compile { outputs = { y = y[T - 1 - t] } }\nf({ x = { 1, 2 } }, { T = 2 })\nprint(f:peak())' },
      { name = "simulate", args = { arg("bounds", "table<string, integer>", "") },
        returns = { { "true?", "nil where the tier has no schedule or a dim ends by data" } },
        text = "Goes through the schedule point by point without data, and fails unless every statement runs once at each of its points, everything is made before it is read, and no slot is given away while what it holds is "
          .. "still to be read. To find bugs of ours; it takes a while where bounds are not small.", errors = "`bound`, what a call with these bounds is told, and `cycle` for what is wrong.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal f = P:compile { outputs = { y = x[0 .. t + 1]:max(0) } }\nprint(f:simulate { T = 5 })' },
      { name = "profile", args = { arg("rows?", "integer", "how many regions to name (20)") },
        options = { arg("trace", "string", "a file: the plan with its times goes there, as JSON for Perfetto and chrome://tracing"),
          arg("inside", "boolean", "from the next run on native code has clocks inside of its parts, or, with `false`, none") }, returns = { { "string" } },
        text = "Where the time of all runs so far went, or after `f:start` of its steps: for each region of the plan, the dearest first, milliseconds, its share, how often it ran, how many GB of its operands and results and how many "
          .. "operations it goes through a second (those of elementwise operators, sums and matrix products; of others none are counted), the script's line, the tensor and the operators in it. One line says what a core of this machine does, measured when first asked: "
          .. "memory read and written, and products. The clock is always on: the first executions of a region are timed, then about one in 64, of which the longest is left out, and what the thread waited for a processor. The reference tier has none; native code has a line for each of its parts, "
          .. "without the regions that it calls, which have their own. After `f:profile(0, { inside = true })` what runs is a second build of the parts, made then, in which leaves that are written out have clocks too, and loops of nothing but "
          .. "leaves of a few points one for all; it computes the same bits, and takes some nanoseconds more for each. `f:profile(20, { trace = \"run.json\" })` also writes the file: the plan's tree, in which each region, loop and compiled part is as long as it took in all runs so far, with the tensor, the script's line, "
          .. "how often it ran, and the bytes and operations of one execution.",
        errors = "`option` for a negative number of rows, for a trace of the reference tier, and for `inside` from a callback; `file` where it cannot be written: what was there before stays.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal f = P:compile { outputs = { y = x * 2 } }\nf({ x = { 1, 2 } }, { T = 2 })\nprint(#f:profile(5) > 0)' },
      { name = "export", args = { arg("path", "string", 'a folder, and a name that C takes: "dir/agent"'), arg("bounds?", "table<string, integer>", "those that the function needs") }, returns = {},
        text = "Writes the function for these bounds as C99 that needs libm and nothing else: `agent.c`, `agent.h`, `agent.weights` with the newest parameters, and `agent_main.c`, which shows how they are used. "
          .. "It allocates nothing, all that it writes is in one struct or in the caller's arrays, and it has the numbers of the program; `docs/export.md` says more. With `tick` it goes in steps, as `f:start` and `f:step`.",
        errors = "`option` for a name or a program that cannot be exported, `device` for an operator or tier that cannot, `bound`, `shape`, `file`. Then all of the files are as they were.",
        example = 'local x = P:input("x", { domain = { t } })\nlocal f = P:compile { outputs = { y = x[0 .. t + 1]:sum(0) }, tier = "interpreter" }\nlocal path = os.tmpname()\nf:export(path, { T = 8 })\nfor line in io.lines(path .. ".h") do\n  if line:find "_run" then print((line:gsub(path:match "[^/]*$", "agent"))) end\nend\nfor _, rest in ipairs { "", ".h", ".c", ".weights", "_main.c" } do os.remove(path .. rest) end' },
      { name = "ready", args = {}, returns = { { "boolean" } }, text = "False while another thread compiles the function (`async = true`): then a call, or any other use, would wait. What compiling fails with is raised by every use, not by `ready`; "
          .. "so are warnings told with the first use. A hook (Ctrl-C) that raises ends the wait, and compiling goes on; `f:free()` ends it.",
        errors = "`option` where the function has been freed.",
        example = "local f = P:compile { outputs = { y = t:value() * 2 }, async = true }\nprint(f({}, { T = 3 }).y, f:ready())" },
      { name = "free", args = {}, returns = {}, text = "Gives its memory back now; any use after is an error. `__gc` and `__close` do the same.", errors = "`option` from its own callback.",
        example = "local f = P:compile { outputs = { y = t:value() } }\nf:free()\nprint(f)" },
    },
  },

  { title = "States", class = "tempo.State", receiver = "s", text = "What `f:state()` gives: a run between two ticks. It has no methods.", entries = {} },

  { title = "Arrays", class = "tempo.Array", receiver = "a",
    text = "Host arrays: dense, row major, of any dtype. `a[i]` counts from 0: a view of a row, or a number of a vector; out of range is an error (`input`), so `ipairs` cannot skip row 0. "
      .. "`#a` is the first extent. Printing is NumPy's. Their bytes are charged to Lua's collector.",
    index = "tempo.Array|number|boolean",
    entries = {
      { name = "shape", args = {}, returns = { { "integer[]" } }, text = "The extents.", example = "print(#tempo.array({ { 1, 2 } }):shape())" },
      { name = "dtype", args = {}, returns = { { "tempo.Dtype" } }, text = "The dtype.", example = "print(tempo.array({ true }):dtype())" },
      { name = "totable", args = {}, returns = { { "any", "a table, a number or a boolean" } }, text = "Nested tables of plain numbers or booleans, 1-based; a scalar's value.",
        errors = "under LuaJIT `input` for an i64 beyond 2^53: see `a:int64()`.", example = "print(tempo.array({ { 1, 2 }, { 3, 4 } }):totable()[2][1] == 3)" },
      { name = "item", args = {}, returns = { { "number|boolean" } }, text = "The one element.", errors = "`shape` for more or fewer.", example = 'print(tempo.array(5, "i64"):item())', fails = "tempo.array({ 1, 2 }):item()" },
      { name = "clone", args = {}, returns = { { "tempo.Array" } }, text = "A copy of its own: keeps what a callback was lent.", example = "local a = tempo.array { 1, 2 }\nlocal b = a:clone():set(9, 0)\nprint(a, b)" },
      { name = "orthonormal", args = {}, returns = { { "tempo.Array" } }, text = "Of a matrix of floats: its rows made orthonormal where they are no more than its columns, else its columns; computed in f64. Modified Gram-Schmidt, each vector twice (Giraud and Langou 2005).",
        errors = "`shape` for anything else.", example = "print(tempo.array({ { 3, 4 }, { 1, 0 } }):orthonormal())", fails = "tempo.array({ 1, 2 }):orthonormal()" },
      { name = "rows", args = {}, returns = { { "fun(): integer?, tempo.Array|number|boolean" } }, text = "Iterates over index (from 0) and row.", errors = "`shape` for a scalar.",
        example = "for i, row in tempo.array({ { 1, 2 }, { 3, 4 } }):rows() do print(i, row) end" },
      { name = "get", args = { arg("...", "integer", "one index for each axis") }, returns = { { "number|boolean" } }, text = "An element.", errors = "`shape` for another number of indices, `input` out of range.",
        example = 'print(tempo.array({ { 1, 2 }, { 3, 4 } }, "i64"):get(1, 0))', fails = "tempo.array({ 1, 2 }):get(2)" },
      { name = "set", args = { arg("v", "number|boolean", ""), arg("...", "integer", "one index for each axis") }, returns = { { "tempo.Array", "itself" } }, text = "Changes an element.",
        errors = "as `get`; `dtype` as `tempo.array`; `callback` for an array lent to one.", example = "print(tempo.array({ 1, 2 }):set(7, 1))" },
      { name = "save", args = { arg("path", "string", "a .npy file") }, returns = { { "true" } }, text = "Writes a NumPy file, as a whole or not at all.", errors = "`file` if it cannot be written.",
        example = 'local path = os.tmpname()\nprint(tempo.array({ 1, 2 }):save(path))\nprint(tempo.load(path))\nos.remove(path)' },
      { name = "data", args = {}, returns = { { "lightuserdata" } }, text = "The address of the elements, for LuaJIT's `ffi.cast`; valid as long as the array.", example = "print(type(tempo.array({ 1 }):data()))" },
      { name = "int64", args = {}, returns = { { "table|integer" } }, text = "As `totable` with exact 64-bit integers: under LuaJIT cdata.", errors = "`dtype` unless i64.",
        example = 'print(tempo.array({ 1, 2 }, "i64"):int64()[2] == 2)' },
      { name = "free", args = {}, returns = {}, text = "Gives its memory back now. `__gc` and `__close` do the same.", example = "local a = tempo.array { 1 }\na:free()\nprint(a)" },
    },
  },
}

return api

---@meta tempo
-- Written by `make docs`; change methods.def, dtypes.def or docs/source.

---@alias tempo.Dtype "bool"|"u8"|"i32"|"i64"|"f16"|"bf16"|"f32"|"f64"
--- what executes a compiled program
---@alias tempo.Tier "auto"|"reference"|"interpreter"|"native"
--- dims, or tensors that stand for theirs
---@alias tempo.Dims (tempo.Index|tempo.Tensor)[]
--- an integer, a dim, a bound or an expression of them; a product of bounds is fine
---@alias tempo.Extent integer|tempo.Index
--- part of an index
---@alias tempo.Number integer|tempo.Index
--- what may stand where a tensor is wanted
---@alias tempo.Operand tempo.Tensor|tempo.Index|tempo.Condition|tempo.Array|number|boolean
--- host data: an array, rows, a nested table or a number
---@alias tempo.Data tempo.Array|tempo.Rows|table|number|boolean
--- a result of a callback
---@alias tempo.Spec { domain?: tempo.Dims, shape?: tempo.Extent[], dtype?: tempo.Dtype }
--- a point, a range, or a table of them by position, name or dim
---@alias tempo.Key integer|tempo.Index|tempo.Range|table

--- `require "tempo"` has no side effect and prints nothing. Operators are also functions on it (operators), and so are the methods `shape dtype domain name at backward peek` of tensors; libraries load on first use.
---@class tempo
---@field nn tempo.nn
---@field optim tempo.optim
---@field dist tempo.dist
---@field rl tempo.rl
---@field llm tempo.llm
---@field logger tempo.logger
---@field data tempo.data
---@field viz tempo.viz
---@field _VERSION string
local tempo = {}

--- A new, empty program. Its dtype is that of inputs, tensors, parameters, modules, nested tables, fractions on their own, and literals (but random integers) that meet it. Quotients and means of integers stay f32, as does what environments give.
---@param options? { seed?: integer, dtype?: tempo.Dtype }
---@return tempo.Program
function tempo.program(options) end

--- The gradient of the loss, summed over all its points and elements, at each point of x's domain: a tensor like any other, which may be differentiated again. It sees the whole program as it is compiled. It is 0 where no loss needs x; compiling warns if none does.
---
--- With `leaf = true` nothing is followed through the definition of x: a state counts as given at each point, as a parameter does, so that an optimiser's step can stand inside a recurrence (`examples/maml_sinusoid.lua`).
---@param loss tempo.Tensor floats
---@param x tempo.Tensor|tempo.Tensor[]
---@param options? { leaf?: boolean }
---@return tempo.Tensor|tempo.Tensor[] # as many, each with the domain, shape and dtype of its tensor
function tempo.grad(loss, x, options) end

--- A copy in the host's memory. A number with a shape fills it.
---@param data tempo.Data|string a string is bytes
---@param dtype? tempo.Dtype (f32; bool for booleans; an array's own)
---@param shape? integer[] for bytes, and to reshape
---@return tempo.Array
function tempo.array(data, dtype, shape) end

--- The arrays as one, along a leading axis, without a copy: an input takes it in the place of an array. A program that reads a long input (256 elements a point, or a size that bounds say) one place of its first dim at a time reads each array where it lies: `f:explain "plan"` says `by rows`. Other inputs are made one array at the call, and so are those of devices.
---@param arrays tempo.Array[] of one dtype and shape
---@return tempo.Rows
function tempo.rows(arrays) end

--- Writes what the extension says, .npz, .npy, .safetensors or .gguf (another: .npy for an array, else .npz), whole or not at all. A format is a dtype, or in GGUF `q8_0`, `q4_0`, `q4_1`, `q5_0`, `q4_k`, `q5_k` or `q6_k`, whose blocks are made of floats, while u8 is taken for the blocks' bytes, as `f:stored` gives them. GGUF's shapes are turned as `tempo.open` does. Its metadata are strings, booleans, lists of one of them, and numbers: u32 where they can (i32 in lists), f32 for fractions; `{ f32 = 10000 }` names the type.
---@param path string
---@param arrays tempo.Array|table<string, tempo.Array> by name; for .npy an array
---@param options? { meta?: table, format?: string, formats?: table }
---@return true
function tempo.save(path, arrays, options) end

--- Opens [a file of weights](#files-of-weights): safetensors, GGUF (2, 3; of several parts the first one's name), .npz or .npy. A folder has a `*.safetensors.index.json`, which may be given itself, a `model.safetensors`, or one file of weights.
---@param path string a file, a folder, an index
---@return tempo.Weights
function tempo.open(path) end

--- Reads a .npy or .npz file.
---@param path string
---@return any # the array, or a table of arrays by name
function tempo.load(path) end

--- `a:quantize(format)`.
---@param a tempo.Array floats
---@param format string
---@return tempo.Array # bytes
function tempo.quantize(a, format) end

--- The numbers of blocks along the last axis, as the method of both.
---@param x tempo.Operand bytes
---@param format string
---@return tempo.Array|tempo.Tensor # f32, of an array an array
function tempo.dequantize(x, format) end

--- `lo .. hi`, half open, where both are numbers: `2 .. 5` is the string "25" in Lua.
---@param lo tempo.Number
---@param hi tempo.Number
---@return tempo.Range
function tempo.range(lo, hi) end

--- The least or the greatest of index expressions and numbers; of tensors see `tempo.minimum`, `x:min(axis)`, `tempo.maximum`, `x:max(axis)`.
---@param ... tempo.Number
---@return tempo.Index
function tempo.min(...) end

--- The least or the greatest of index expressions and numbers; of tensors see `tempo.minimum`, `x:min(axis)`, `tempo.maximum`, `x:max(axis)`.
---@param ... tempo.Number
---@return tempo.Index
function tempo.max(...) end

--- a // b and a % b, with the sign of b, of tensors, numbers, and index expressions by an integer > 0; also where LuaJIT lacks `//`.
---@param a tempo.Operand
---@param b tempo.Operand
---@return any # as its operands
function tempo.floordiv(a, b) end

--- a // b and a % b, with the sign of b, of tensors, numbers, and index expressions by an integer > 0; also where LuaJIT lacks `//`.
---@param a tempo.Operand
---@param b tempo.Operand
---@return any # as its operands
function tempo.mod(a, b) end

--- x at t - n where t >= n, and `first` before. Gradients go to both.
---@param x tempo.Operand may be declared and not defined yet
---@param t tempo.Index a dim of it
---@param first tempo.Operand|table the value before
---@param n? integer points back (1)
---@return tempo.Tensor
function tempo.prev(x, t, first, n) end

--- All prefixes of x under fn: y[0] = x[0], y[k] = fn(y[k-1], x[k]). Along an axis it takes 2 log2(n) applications of fn to slices, and fn must be associative, which is not checked; along a dim it is the recurrence.
---@param fn fun(a: any, b: any): any of two values in the form of x, many at once
---@param x tempo.Tensor|table a tensor, or tensors that are scanned together
---@param options? { axis?: integer, dim?: tempo.Index, reverse?: boolean }
---@return any # in the form of x, as large
function tempo.associative_scan(fn, x, options) end

--- Tempo's warnings go through it, a line on stderr each; a script may put its own function here, `error`, or `false` for silence. It is called for a loop that records more than 10,000 nodes, a random tensor without a domain inside a larger one, a reduction of a scalar, a gradient by what the loss does not contain, a parameter's gradient that nothing needs.
---@param text string with the script's place
function tempo.warn(text) end

--- A clock that never goes back, for durations.
---@return number # seconds
function tempo.clock() end

--- What `P:compile { device = }` may name, the CPU first, and a row for each kind of device that is not there: `missing` says why, and which library of which version is wanted.
---@return table[] # `{ device =, name =, memory =, missing = }` each
function tempo.devices() end

--- A tensor of zeros.
---@overload fun(shape: tempo.Extent|tempo.Extent[], options: { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }
---@return tempo.Tensor
function tempo.zeros(shape, options) end

--- A tensor of ones.
---@overload fun(shape: tempo.Extent|tempo.Extent[], options: { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }
---@return tempo.Tensor
function tempo.ones(shape, options) end

--- A tensor filled with a number or a scalar tensor.
---@overload fun(shape: tempo.Extent|tempo.Extent[], value: tempo.Operand, options: { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param value tempo.Operand
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }
---@return tempo.Tensor
function tempo.full(shape, value, options) end

--- Ones on the diagonal: eye {n} or eye {n, m}.
---@overload fun(shape: tempo.Extent|tempo.Extent[], options: { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }
---@return tempo.Tensor
function tempo.eye(shape, options) end

--- start, start + step, ...: n values for arange {n}; from 0 by 1.
---@overload fun(shape: tempo.Extent|tempo.Extent[], options: { start?: number, step?: number, dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param start? number
---@param step? number
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }
---@return tempo.Tensor
function tempo.arange(shape, start, step, options) end

--- n values from start to stop, both included, for linspace({n}, start, stop).
---@overload fun(shape: tempo.Extent|tempo.Extent[], start: number, stop: number, options: { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param start number
---@param stop number
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string }
---@return tempo.Tensor
function tempo.linspace(shape, start, stop, options) end

--- Random numbers, uniform in [0, 1).
---@overload fun(shape: tempo.Extent|tempo.Extent[], options: { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }
---@return tempo.Tensor
function tempo.uniform(shape, options) end

--- Random numbers of the standard normal distribution.
---@overload fun(shape: tempo.Extent|tempo.Extent[], options: { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }
---@return tempo.Tensor
function tempo.normal(shape, options) end

--- 1 with probability p (0.5), else 0; p is a number or a tensor.
---@overload fun(shape: tempo.Extent|tempo.Extent[], options: { p?: tempo.Operand, dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param p? tempo.Operand
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }
---@return tempo.Tensor
function tempo.bernoulli(shape, p, options) end

--- Random integers in [lo, hi), or in [0, lo) without hi; i64. Limits may be i64 scalar tensors.
---@overload fun(shape: tempo.Extent|tempo.Extent[], lo: integer|tempo.Index|tempo.Tensor, options: { hi?: integer|tempo.Index|tempo.Tensor, dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param lo integer|tempo.Index|tempo.Tensor
---@param hi? integer|tempo.Index|tempo.Tensor
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }
---@return tempo.Tensor
function tempo.randint(shape, lo, hi, options) end

--- A random permutation of 0 .. n-1 for randperm {n}; i64.
---@overload fun(shape: tempo.Extent|tempo.Extent[], options: { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }): tempo.Tensor
---@param shape tempo.Extent|tempo.Extent[]
---@param options? { dtype?: tempo.Dtype, domain?: (tempo.Index|tempo.Tensor)[], name?: string, key?: tempo.Operand }
---@return tempo.Tensor
function tempo.randperm(shape, options) end

--- x + y.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.add(x, y) end

--- x - y.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.sub(x, y) end

--- x * y.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.mul(x, y) end

--- x / y; integers give f32.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.div(x, y) end

--- x ^ y; integers want an exponent >= 0.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.pow(x, y) end

--- The smaller of x and y, element by element; NaN wins.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.minimum(x, y) end

--- The larger of x and y, element by element; NaN wins.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.maximum(x, y) end

--- -x.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.neg(x) end

--- The absolute value.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.abs(x) end

--- -1, 0 or 1.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.sign(x) end

--- e to the x.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.exp(x) end

--- exp(x) - 1, exact for small x.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.expm1(x) end

--- The natural logarithm.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.log(x) end

--- log(1 + x), exact for small x.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.log1p(x) end

--- The logarithm to base 2.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.log2(x) end

--- The square root.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.sqrt(x) end

--- 1 / sqrt(x).
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.rsqrt(x) end

--- x * x.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.square(x) end

--- 1 / x.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.reciprocal(x) end

--- The sine.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.sin(x) end

--- The cosine.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.cos(x) end

--- The tangent.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.tan(x) end

--- The hyperbolic tangent.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.tanh(x) end

--- 1 / (1 + exp(-x)).
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.sigmoid(x) end

--- The error function.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.erf(x) end

--- Rounds down.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.floor(x) end

--- Rounds up.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.ceil(x) end

--- Rounds to the nearest integer, half to even.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.round(x) end

--- x limited to lo .. hi; either may be left out. Gradient 0 at the limits.
---@overload fun(x: tempo.Operand, options: { lo?: tempo.Operand, hi?: tempo.Operand }): tempo.Tensor
---@param x tempo.Operand
---@param lo? tempo.Operand
---@param hi? tempo.Operand
---@return tempo.Tensor
function tempo.clamp(x, lo, hi) end

--- x == y.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.eq(x, y) end

--- x ~= y; true for NaN.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.ne(x, y) end

--- x < y.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.lt(x, y) end

--- x <= y.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.le(x, y) end

--- x > y.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.gt(x, y) end

--- x >= y.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.ge(x, y) end

--- Both are true.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.land(x, y) end

--- One of them is true.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.lor(x, y) end

--- It is false.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.lnot(x) end

--- a where c holds, else b; both sides are needed everywhere. A choice of two numbers takes the dtype that it meets, as numbers do.
---@param c tempo.Operand
---@param a tempo.Operand
---@param b tempo.Operand
---@return tempo.Tensor
function tempo.where(c, a, b) end

--- The sum; of bool, u8 and i32 in i64.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function tempo.sum(x, axis, options) end

--- The product; of bool, u8 and i32 in i64.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function tempo.prod(x, axis, options) end

--- The mean; of integers in f32; NaN of nothing.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function tempo.mean(x, axis, options) end

--- Is one of them true (or not 0)?
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function tempo.any(x, axis, options) end

--- Are all of them true (or not 0)?
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function tempo.all(x, axis, options) end

--- The index of the largest, i64, the first at ties. Over several axes: row major.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function tempo.argmax(x, axis, options) end

--- The index of the smallest, i64, the first at ties. Over several axes: row major.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function tempo.argmin(x, axis, options) end

--- The variance, divided by n - correction (1).
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean, correction?: integer, unbiased?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean, correction?: integer, unbiased?: boolean }
---@return tempo.Tensor
function tempo.var(x, axis, options) end

--- The standard deviation, of n - correction (1). Gradient 0 at 0.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean, correction?: integer, unbiased?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean, correction?: integer, unbiased?: boolean }
---@return tempo.Tensor
function tempo.std(x, axis, options) end

--- The p-norm (2; p may be math.huge): norm(axis) if x has that axis (norm(1) of a matrix is not its 1-norm), norm(axis, { p = }), norm { p = }, norm(p, axis). Gradient 0 at 0.
---@overload fun(x: tempo.Operand, options: { p?: number|integer[]|string, axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param p? number|integer[]|string
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean, p?: number|integer[]|string }
---@return tempo.Tensor
function tempo.norm(x, p, axis, options) end

--- log(sum(exp(x))), stable; -inf of nothing.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function tempo.logsumexp(x, axis, options) end

--- exp(x) / sum(exp(x)) over an axis or several (all of them).
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[] }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@return tempo.Tensor
function tempo.softmax(x, axis) end

--- The logarithm of softmax, stable.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[] }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@return tempo.Tensor
function tempo.log_softmax(x, axis) end

--- Running sums along an axis.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[] }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@return tempo.Tensor
function tempo.cumsum(x, axis) end

--- Running products along an axis.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[] }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@return tempo.Tensor
function tempo.cumprod(x, axis) end

--- Discounted returns: y[i] = x[i] + gamma * y[i+1] along an axis (0), the last first.
---@overload fun(x: tempo.Operand, gamma: number, options: { axis?: integer|integer[] }): tempo.Tensor
---@param x tempo.Operand
---@param gamma number
---@param axis? integer|integer[]
---@return tempo.Tensor
function tempo.discounted_cumsum(x, gamma, axis) end

--- The matrix product; leading axes broadcast, vectors are rows on the left and columns on the right.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.matmul(x, y) end

--- The inner product of two vectors.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.dot(x, y) end

--- The outer product of two vectors.
---@param x tempo.Operand
---@param y tempo.Operand
---@return tempo.Tensor
function tempo.outer(x, y) end

--- Sums of products by letters: einsum("bij,bjk->bik", x, y); with ... for further axes; a letter twice is the diagonal.
---@param equation string
---@param ... tempo.Operand
---@return tempo.Tensor
function tempo.einsum(equation, ...) end

--- The same elements in another shape; one -1 is the exact quotient.
---@param x tempo.Operand
---@param shape tempo.Extent|tempo.Extent[]
---@return tempo.Tensor
function tempo.reshape(x, shape) end

--- Axes start .. stop (both included; all of them) made one.
---@overload fun(x: tempo.Operand, options: { start?: integer, stop?: integer }): tempo.Tensor
---@param x tempo.Operand
---@param start? integer
---@param stop? integer
---@return tempo.Tensor
function tempo.flatten(x, start, stop) end

--- Axes in another order: axis i of the result is axes[i].
---@param x tempo.Operand
---@param axes integer|integer[]
---@return tempo.Tensor
function tempo.permute(x, axes) end

--- Axes a and b exchanged.
---@param x tempo.Operand
---@param a integer
---@param b integer
---@return tempo.Tensor
function tempo.transpose(x, a, b) end

--- The last two axes exchanged.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.mT(x) end

--- Axes of 1 and missing ones repeated; -1 keeps an extent.
---@param x tempo.Operand
---@param shape tempo.Extent|tempo.Extent[]
---@return tempo.Tensor
function tempo.expand(x, shape) end

--- Without the axes of extent 1 (of those named).
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[] }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@return tempo.Tensor
function tempo.squeeze(x, axis) end

--- With a new axis of extent 1.
---@param x tempo.Operand
---@param axis integer
---@return tempo.Tensor
function tempo.unsqueeze(x, axis) end

--- A sequence of parts of this size (the last may be smaller), or of these sizes.
---@overload fun(x: tempo.Operand, size: tempo.Extent|tempo.Extent[], options: { axis?: integer }): tempo.Tensor[]
---@param x tempo.Operand
---@param size tempo.Extent|tempo.Extent[]
---@param axis? integer
---@return tempo.Tensor[]
function tempo.split(x, size, axis) end

--- A sequence of at most so many parts of equal size (the last may be smaller).
---@overload fun(x: tempo.Operand, chunks: integer, options: { axis?: integer }): tempo.Tensor[]
---@param x tempo.Operand
---@param chunks integer
---@param axis? integer
---@return tempo.Tensor[]
function tempo.chunk(x, chunks, axis) end

--- Before and after the last axis, then before and after the one before it, ...: pad {1, 1}.
---@overload fun(x: tempo.Operand, pad: tempo.Extent|tempo.Extent[], options: { value?: number, mode?: string }): tempo.Tensor
---@param x tempo.Operand
---@param pad tempo.Extent|tempo.Extent[]
---@param value? number
---@param options? { mode?: string }
---@return tempo.Tensor
function tempo.pad(x, pad, value, options) end

--- Axes reversed.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[] }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@return tempo.Tensor
function tempo.flip(x, axis) end

--- Elements moved along axes, those that fall off come in again; without axis over all of them flat.
---@overload fun(x: tempo.Operand, shift: integer|integer[], options: { axis?: integer|integer[] }): tempo.Tensor
---@param x tempo.Operand
---@param shift integer|integer[]
---@param axis? integer|integer[]
---@return tempo.Tensor
function tempo.roll(x, shift, axis) end

--- Elements lo .. hi of an axis, by step.
---@overload fun(x: tempo.Operand, axis: integer, options: { lo?: integer|tempo.Index|tempo.Tensor, hi?: integer|tempo.Index|tempo.Tensor, step?: integer }): tempo.Tensor
---@param x tempo.Operand
---@param axis integer
---@param lo? integer|tempo.Index|tempo.Tensor
---@param hi? integer|tempo.Index|tempo.Tensor
---@param step? integer
---@return tempo.Tensor
function tempo.slice(x, axis, lo, hi, step) end

--- Element index of an axis, which goes.
---@param x tempo.Operand
---@param axis integer
---@param index integer|tempo.Index|tempo.Tensor
---@return tempo.Tensor
function tempo.select(x, axis, index) end

--- length elements of an axis from start, which may be an i64 scalar tensor.
---@param x tempo.Operand
---@param axis integer
---@param start integer|tempo.Index|tempo.Tensor
---@param length integer|tempo.Index|tempo.Tensor
---@return tempo.Tensor
function tempo.narrow(x, axis, start, length) end

--- Tensors one after the other along an axis (0).
---@overload fun(tensors: tempo.Operand[], options: { axis?: integer }): tempo.Tensor
---@param tensors tempo.Operand[]
---@param axis? integer
---@return tempo.Tensor
function tempo.cat(tensors, axis) end

--- Tensors of one shape along a new axis (0).
---@overload fun(tensors: tempo.Operand[], options: { axis?: integer }): tempo.Tensor
---@param tensors tempo.Operand[]
---@param axis? integer
---@return tempo.Tensor
function tempo.stack(tensors, axis) end

--- The last two axes with 0 above a diagonal (the main one).
---@overload fun(x: tempo.Operand, options: { diagonal?: integer }): tempo.Tensor
---@param x tempo.Operand
---@param diagonal? integer
---@return tempo.Tensor
function tempo.tril(x, diagonal) end

--- The last two axes with 0 below a diagonal (the main one).
---@overload fun(x: tempo.Operand, options: { diagonal?: integer }): tempo.Tensor
---@param x tempo.Operand
---@param diagonal? integer
---@return tempo.Tensor
function tempo.triu(x, diagonal) end

--- y[i][j] = x[index[i][j]][j] for axis 0, and so on.
---@param x tempo.Operand
---@param axis integer
---@param index tempo.Operand
---@return tempo.Tensor
function tempo.gather(x, axis, index) end

--- x with src[i][j] added at [index[i][j]][j] for axis 0, and so on.
---@param x tempo.Operand
---@param axis integer
---@param index tempo.Operand
---@param src tempo.Operand
---@return tempo.Tensor
function tempo.scatter_add(x, axis, index, src) end

--- The elements of an axis with these indices; a scalar index drops the axis.
---@param x tempo.Operand
---@param axis integer
---@param index tempo.Operand
---@return tempo.Tensor
function tempo.index_select(x, axis, index) end

--- x with value at this index of an axis; a row of a carried state costs a row.
---@param x tempo.Operand
---@param axis integer
---@param index integer|tempo.Index|tempo.Tensor
---@param value tempo.Operand
---@return tempo.Tensor
function tempo.put(x, axis, index, value) end

--- A last axis of this extent with 1 at x, else 0; i64.
---@param x tempo.Operand
---@param classes integer|tempo.Index|tempo.Tensor
---@return tempo.Tensor
function tempo.one_hot(x, classes) end

--- Sorted values along an axis (the last) and their indices; stable, NaN last.
---@overload fun(x: tempo.Operand, options: { axis?: integer, descending?: boolean, stable?: boolean }): tempo.Tensor, tempo.Tensor
---@param x tempo.Operand
---@param axis? integer
---@param descending? boolean
---@param stable? boolean
---@return tempo.Tensor
---@return tempo.Tensor
function tempo.sort(x, axis, descending, stable) end

--- The indices that sort x along an axis (the last).
---@overload fun(x: tempo.Operand, options: { axis?: integer, descending?: boolean, stable?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer
---@param descending? boolean
---@param stable? boolean
---@return tempo.Tensor
function tempo.argsort(x, axis, descending, stable) end

--- The k largest values along an axis (the last) and their indices, largest first.
---@overload fun(x: tempo.Operand, k: integer|tempo.Index|tempo.Tensor, options: { axis?: integer, largest?: boolean, sorted?: boolean }): tempo.Tensor, tempo.Tensor
---@param x tempo.Operand
---@param k integer|tempo.Index|tempo.Tensor
---@param axis? integer
---@param largest? boolean
---@param sorted? boolean
---@return tempo.Tensor
---@return tempo.Tensor
function tempo.topk(x, k, axis, largest, sorted) end

--- max(x, 0).
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.relu(x) end

--- x where it is positive, else negative_slope (0.01) * x.
---@overload fun(x: tempo.Operand, options: { negative_slope?: number }): tempo.Tensor
---@param x tempo.Operand
---@param negative_slope? number
---@return tempo.Tensor
function tempo.leaky_relu(x, negative_slope) end

--- x where it is positive, else alpha (1) * (exp(x) - 1).
---@overload fun(x: tempo.Operand, options: { alpha?: number }): tempo.Tensor
---@param x tempo.Operand
---@param alpha? number
---@return tempo.Tensor
function tempo.elu(x, alpha) end

--- x * P(N(0, 1) <= x); approximate = "tanh" for the formula with tanh.
---@overload fun(x: tempo.Operand, options: { approximate?: string }): tempo.Tensor
---@param x tempo.Operand
---@param options? { approximate?: string }
---@return tempo.Tensor
function tempo.gelu(x, options) end

--- x * sigmoid(x).
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.silu(x) end

--- log(1 + exp(beta * x)) / beta, stable; x where beta * x exceeds threshold (20).
---@overload fun(x: tempo.Operand, options: { beta?: number, threshold?: number }): tempo.Tensor
---@param x tempo.Operand
---@param beta? number
---@param threshold? number
---@return tempo.Tensor
function tempo.softplus(x, beta, threshold) end

--- Sums of windows of x (N, C, L) times weight (O, C / groups, k); padding is a number, "same" or "valid".
---@overload fun(x: tempo.Operand, weight: tempo.Operand, options: { bias?: tempo.Operand, stride?: number|integer[]|string, padding?: number|integer[]|string, dilation?: number|integer[]|string, groups?: integer }): tempo.Tensor
---@param x tempo.Operand
---@param weight tempo.Operand
---@param bias? tempo.Operand
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param dilation? number|integer[]|string
---@param groups? integer
---@return tempo.Tensor
function tempo.conv1d(x, weight, bias, stride, padding, dilation, groups) end

--- Sums of windows of x (N, C, H, W) times weight (O, C / groups, h, w); padding is a number, one for each axis, "same" or "valid".
---@overload fun(x: tempo.Operand, weight: tempo.Operand, options: { bias?: tempo.Operand, stride?: number|integer[]|string, padding?: number|integer[]|string, dilation?: number|integer[]|string, groups?: integer }): tempo.Tensor
---@param x tempo.Operand
---@param weight tempo.Operand
---@param bias? tempo.Operand
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param dilation? number|integer[]|string
---@param groups? integer
---@return tempo.Tensor
function tempo.conv2d(x, weight, bias, stride, padding, dilation, groups) end

--- The gradient of conv2d as an operation: x (N, C, H, W) spread by weight (C, O / groups, h, w).
---@overload fun(x: tempo.Operand, weight: tempo.Operand, options: { bias?: tempo.Operand, stride?: number|integer[]|string, padding?: number|integer[]|string, output_padding?: number|integer[]|string, groups?: integer, dilation?: number|integer[]|string }): tempo.Tensor
---@param x tempo.Operand
---@param weight tempo.Operand
---@param bias? tempo.Operand
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param output_padding? number|integer[]|string
---@param groups? integer
---@param dilation? number|integer[]|string
---@return tempo.Tensor
function tempo.conv_transpose2d(x, weight, bias, stride, padding, output_padding, groups, dilation) end

--- The largest of each window of kernel_size, stride (kernel_size) apart; padding is -inf. Ties: the first gets the gradient.
---@overload fun(x: tempo.Operand, kernel_size: number|integer[]|string, options: { stride?: number|integer[]|string, padding?: number|integer[]|string, dilation?: number|integer[]|string, ceil_mode?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param kernel_size number|integer[]|string
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param dilation? number|integer[]|string
---@param ceil_mode? boolean
---@return tempo.Tensor
function tempo.max_pool2d(x, kernel_size, stride, padding, dilation, ceil_mode) end

--- The mean of each window of kernel_size, stride (kernel_size) apart; zeros of the padding count unless count_include_pad = false.
---@overload fun(x: tempo.Operand, kernel_size: number|integer[]|string, options: { stride?: number|integer[]|string, padding?: number|integer[]|string, ceil_mode?: boolean, count_include_pad?: boolean, divisor_override?: integer }): tempo.Tensor
---@param x tempo.Operand
---@param kernel_size number|integer[]|string
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param ceil_mode? boolean
---@param count_include_pad? boolean
---@param divisor_override? integer
---@return tempo.Tensor
function tempo.avg_pool2d(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) end

--- Zero mean and unit variance over the last axes, whose shape is given (the last one), then scale and shift.
---@overload fun(x: tempo.Operand, options: { shape?: tempo.Extent|tempo.Extent[], weight?: tempo.Operand, bias?: tempo.Operand, eps?: number }): tempo.Tensor
---@param x tempo.Operand
---@param shape? tempo.Extent|tempo.Extent[]
---@param weight? tempo.Operand
---@param bias? tempo.Operand
---@param eps? number
---@return tempo.Tensor
function tempo.layer_norm(x, shape, weight, bias, eps) end

--- x / sqrt(mean(x * x) + eps) over the last axes, then scale.
---@overload fun(x: tempo.Operand, options: { shape?: tempo.Extent|tempo.Extent[], weight?: tempo.Operand, eps?: number }): tempo.Tensor
---@param x tempo.Operand
---@param shape? tempo.Extent|tempo.Extent[]
---@param weight? tempo.Operand
---@param eps? number
---@return tempo.Tensor
function tempo.rms_norm(x, shape, weight, eps) end

--- (x - mean) / (std + eps): mean 0 and deviation 1 over an axis or several (all of them); eps 1e-8.
---@overload fun(x: tempo.Operand, options: { axis?: integer|integer[], eps?: number }): tempo.Tensor
---@param x tempo.Operand
---@param axis? integer|integer[]
---@param options? { eps?: number }
---@return tempo.Tensor
function tempo.normalized(x, axis, options) end

--- Each channel (axis 1) of zero mean and unit variance: by the running statistics, or with training by the batch's; these are nn.BatchNorm's to keep, with momentum.
---@overload fun(x: tempo.Operand, options: { running_mean?: tempo.Operand, running_var?: tempo.Operand, weight?: tempo.Operand, bias?: tempo.Operand, training?: boolean, momentum?: number, eps?: number }): tempo.Tensor
---@param x tempo.Operand
---@param running_mean? tempo.Operand
---@param running_var? tempo.Operand
---@param weight? tempo.Operand
---@param bias? tempo.Operand
---@param training? boolean
---@param momentum? number
---@param eps? number
---@return tempo.Tensor
function tempo.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps) end

--- Zero with probability p (0.5), else x / (1 - p); drawn at every point of x, or by a key.
---@overload fun(x: tempo.Operand, options: { p?: number, training?: boolean, name?: string, key?: tempo.Operand }): tempo.Tensor
---@param x tempo.Operand
---@param p? number
---@param training? boolean
---@param options? { name?: string, key?: tempo.Operand }
---@return tempo.Tensor
function tempo.dropout(x, p, training, options) end

--- The mean of (x - target)^2.
---@overload fun(x: tempo.Operand, target: tempo.Operand, options: { reduction?: string }): tempo.Tensor
---@param x tempo.Operand
---@param target tempo.Operand
---@param options? { reduction?: string }
---@return tempo.Tensor
function tempo.mse_loss(x, target, options) end

--- The mean of d^2 / (2 beta) where |d| < beta (1), else |d| - beta / 2, d = x - target.
---@overload fun(x: tempo.Operand, target: tempo.Operand, options: { reduction?: string, beta?: number }): tempo.Tensor
---@param x tempo.Operand
---@param target tempo.Operand
---@param options? { reduction?: string, beta?: number }
---@return tempo.Tensor
function tempo.smooth_l1_loss(x, target, options) end

--- Negative log likelihood of softmax(x): classes along axis 1 (0 of a vector); target holds class indices, where ignore_index (-100) counts for nothing, or probabilities in x's shape.
---@overload fun(x: tempo.Operand, target: tempo.Operand, options: { weight?: tempo.Operand, reduction?: string, ignore_index?: integer, label_smoothing?: number }): tempo.Tensor
---@param x tempo.Operand
---@param target tempo.Operand
---@param weight? tempo.Operand
---@param options? { reduction?: string, ignore_index?: integer, label_smoothing?: number }
---@return tempo.Tensor
function tempo.cross_entropy(x, target, weight, options) end

--- Negative log likelihood of log probabilities x; target holds class indices, where ignore_index (-100) counts for nothing.
---@overload fun(x: tempo.Operand, target: tempo.Operand, options: { weight?: tempo.Operand, reduction?: string, ignore_index?: integer }): tempo.Tensor
---@param x tempo.Operand
---@param target tempo.Operand
---@param weight? tempo.Operand
---@param options? { reduction?: string, ignore_index?: integer }
---@return tempo.Tensor
function tempo.nll_loss(x, target, weight, options) end

--- -(target log x + (1 - target) log(1 - x)), logarithms not below -100. No x is refused: the logarithm of 0 and less is -100.
---@overload fun(x: tempo.Operand, target: tempo.Operand, options: { weight?: tempo.Operand, reduction?: string }): tempo.Tensor
---@param x tempo.Operand
---@param target tempo.Operand
---@param weight? tempo.Operand
---@param options? { reduction?: string }
---@return tempo.Tensor
function tempo.binary_cross_entropy(x, target, weight, options) end

--- target (log target - x) for log probabilities x; reduction may also be "batchmean".
---@overload fun(x: tempo.Operand, target: tempo.Operand, options: { reduction?: string, log_target?: boolean }): tempo.Tensor
---@param x tempo.Operand
---@param target tempo.Operand
---@param options? { reduction?: string, log_target?: boolean }
---@return tempo.Tensor
function tempo.kl_div(x, target, options) end

--- Converted to a dtype: floats to integers truncate and saturate, NaN gives 0.
---@param x tempo.Operand
---@param dtype tempo.Dtype
---@return tempo.Tensor
function tempo.to(x, dtype) end

--- The same value, through which no gradient goes.
---@param x tempo.Operand
---@return tempo.Tensor
function tempo.detach(x) end

--- A program records. Nothing is computed until a compiled function is called.
---@class tempo.Program
local Program = {}

--- A dim and its bound, an integer >= 0 that every call gives by name. The order of `P:dim` is the order of axes in arrays.
---@param name string letters, digits and _
---@param bound? string its name (`name:upper()`)
---@return tempo.Index # 0 .. bound - 1
---@return tempo.Index # the bound
function Program:dim(name, bound) end

--- Several dims, without their bounds: `t:upper()`.
---@param names string with spaces between
---@return tempo.Index # one for each name, in this order
function Program:dims(names) end

--- A bound without a dim: a window, a horizon. Every call gives it by name.
---@param name string
---@return tempo.Index
function Program:bound(name) end

--- Ends the dim by data: at each point of the other dims of `done` it runs to the first point at which `done` holds, that one included, or to the bound given at the call. The bound then is the length reached. [Ends by data](../language.md#ends-by-data) has the rules.
---@param dim tempo.Index
---@param done tempo.Operand a bool scalar over that dim and any others
function Program:stop(dim, done) end

--- A tensor whose values the call gives: an array of shape (bounds of the domain.., shape..), a nested table, or a number for a scalar.
---@param name string
---@param options? { domain?: tempo.Dims, shape?: tempo.Extent[], dtype?: tempo.Dtype }
---@return tempo.Tensor
function Program:input(name, options) end

--- A tensor that is defined by branches, `h[0] = a`, `h[t] = f(h[t-1])`; the first that matches counts ([branches](../language.md#branches)).
---@param options? { domain?: tempo.Dims, shape?: tempo.Extent[], dtype?: tempo.Dtype, name?: string, first?: tempo.Operand|table, along?: tempo.Index }
---@return tempo.Declared # a tensor that may be assigned to
function Program:tensor(options) end

--- A state that evolves along dims: first `init`, or what `f:load_params` gave, then what `w:update(e)` says; without an update it stays. Gradients take it as given at each point.
---@param name string its path in `f:params()`
---@param options? { init?: tempo.Operand|table, along?: tempo.Dims, domain?: tempo.Dims, shape?: tempo.Extent[], dtype?: tempo.Dtype }
---@return tempo.Declared # a tensor that may be assigned to
function Program:param(name, options) end

--- A tensor with these values at every point. Arrays and numbers mix with tensors by themselves. A large array is copied once, however often it comes; an array of a file is not copied.
---@param data tempo.Data
---@return tempo.Tensor
function Program:constant(data) end

--- A Lua function as an operator, called once at every point, in lexicographic order of the dims, if anything reads a result. It returns an array, nested table or number for each spec, and may not yield. Its arrays are read only and valid until it returns (`:clone()` keeps one). An error inside ends the run and reaches the caller as it is. Gradient: 0.
---@param fn fun(arrays: tempo.Array[], point: table<string, integer>): ...
---@param inputs tempo.Operand[]
---@param specs tempo.Spec[] one for each result, of one domain, which contains the inputs'
---@param options? { over?: tempo.Dims }
---@return tempo.Tensor # one for each spec
function Program:call(fn, inputs, specs, options) end

--- `P:call` without inputs.
---@param fn fun(point: table<string, integer>): ...
---@param spec tempo.Spec|tempo.Spec[] one, or several
---@param options? { over?: tempo.Dims }
---@return tempo.Tensor
function Program:source(fn, spec, options) end

--- `P:call` without results, at every point of the union of the inputs' domains, always needed: a program with a sink needs no outputs.
---@param inputs tempo.Operand[]
---@param fn fun(arrays: tempo.Array[], point: table<string, integer>)
---@param options? { over?: tempo.Dims }
function Program:sink(inputs, fn, options) end

--- Checks, differentiates, schedules and plans the program for all bounds. Later changes of P do not touch the function.
---
--- Under a limit of `memory` blocks of rows become shorter, then what is not used for long goes to a nameless file in `TMPDIR` (else `/var/tmp`; not a tmpfs), whose space is taken first. A call that takes more than the limit, than the machine, its container (cgroup), `RLIMIT_AS` or `RLIMIT_DATA` leave, is refused before its first step, with the tensors that need most and bounds that would do. A dim that ends by data counts one step for what is kept inside. Inputs, outputs and states do not count; the reference tier keeps to no limit.
---
--- `reproducible` fuses nothing; where products dominate a run takes twice as long. It does not cover callbacks, the reference tier, NaN's payloads and, in exported code, gradients of a convolution's weights.
---
--- `check` looks at every operator that is computed, also at the side of a `where` that is not taken, but at nothing beyond the end of a row. It takes NaN and infinity that come in (inputs, parameters, callbacks, literals) for meant. Where several operators fail, a tier names the one that it comes to first. Only a function that is checked too goes on from its states.
---
--- Sums in shorter blocks, and sums in place under `check`, may differ in the last digit.
---@param options? { outputs?: table<string, tempo.Operand>, tier?: tempo.Tier, passes?: "none"|table<string, boolean>, precise?: boolean, reproducible?: boolean, cflags?: string, device?: string, threads?: integer, memory?: number|string, check?: "nan"|"none", tick?: tempo.Index|tempo.Index[], async?: boolean }
---@return tempo.Function
function Program:compile(options) end

--- What `tempo.program` was given.
---@return integer
function Program:seed() end

--- An environment's first state from uniform numbers; [tempo.rl](libraries.md#temporl) is the comfortable way.
---@param id string
---@param u tempo.Operand f64
---@return tempo.Tensor # the state, f64
function Program:env_reset(id, u) end

--- The observation of a state.
---@param id string
---@param state tempo.Operand
---@return tempo.Tensor # f32
function Program:env_obs(id, state) end

--- One step. Gradient: 0. See `rl.env`.
---@param id string
---@param state tempo.Operand
---@param action tempo.Operand i64
---@param u tempo.Operand f64, for a reset
---@return tempo.Tensor # the next state, of a new episode after an end
---@return tempo.Tensor # the observation before that
---@return tempo.Tensor # the reward
---@return tempo.Tensor # terminated
---@return tempo.Tensor # truncated
function Program:env_step(id, state, action, u) end

--- Made of dims, bounds and integers with `+ - *` (by an integer), `//` and `%` (by a positive integer), unary `-`, `tempo.min`, `tempo.max`. Equal ones are the same object, so `==` is identity and no condition. A product of dims or bounds is a size, good in shapes and `:value()`, refused as an index (`affine`). Where a tensor is wanted it is its value, with the weak dtype of a number.
---@class tempo.Index
---@operator add(tempo.Number): tempo.Index
---@operator sub(tempo.Number): tempo.Index
---@operator mul(tempo.Number): tempo.Index
---@operator idiv(integer): tempo.Index
---@operator mod(integer): tempo.Index
---@operator unm: tempo.Index
---@operator concat(tempo.Number): tempo.Range
local Index = {}

--- Its value as a tensor, for other arithmetic.
---@return tempo.Tensor # an i64 scalar, whose domain is the expression's dims
function Index:value() end

--- A dim's bound.
---@return tempo.Index
function Index:upper() end

--- Its text.
---@return string
function Index:name() end

--- The program it belongs to.
---@return tempo.Program
function Index:program() end

--- The comparison with k; with a tensor a bool tensor.
---@param k tempo.Number
---@return tempo.Condition
function Index:eq(k) end

--- The comparison with k; with a tensor a bool tensor.
---@param k tempo.Number
---@return tempo.Condition
function Index:ne(k) end

--- The comparison with k; with a tensor a bool tensor.
---@param k tempo.Number
---@return tempo.Condition
function Index:lt(k) end

--- The comparison with k; with a tensor a bool tensor.
---@param k tempo.Number
---@return tempo.Condition
function Index:le(k) end

--- The comparison with k; with a tensor a bool tensor.
---@param k tempo.Number
---@return tempo.Condition
function Index:gt(k) end

--- The comparison with k; with a tensor a bool tensor.
---@param k tempo.Number
---@return tempo.Condition
function Index:ge(k) end

--- t // k.
---@param k integer > 0
---@return tempo.Index
function Index:floordiv(k) end

--- t % k.
---@param k integer > 0
---@return tempo.Index
function Index:mod(k) end

--- What `t:eq(k)` and such give: for `h:when(c, e)`; where a tensor is wanted, a bool scalar.
---@class tempo.Condition
local Condition = {}

--- Both hold.
---@param d tempo.Condition|boolean
---@return tempo.Condition
function Condition:land(d) end

--- One of them holds.
---@param d tempo.Condition|boolean
---@return tempo.Condition
function Condition:lor(d) end

--- It does not hold.
---@return tempo.Condition
function Condition:lnot() end

--- As a tensor.
---@return tempo.Tensor # a bool scalar
function Condition:value() end

--- Its text.
---@return string
function Condition:name() end

--- The program it belongs to.
---@return tempo.Program
function Condition:program() end

--- `lo .. hi` and `tempo.range(lo, hi)`: half open, only to index with. A range takes no arithmetic, no comparison and no `#` (`option`).
---@class tempo.Range
local Range = {}

--- A tensor that may be assigned to at its points: what `P:tensor` and `P:param` give.
---@class tempo.Declared: tempo.Tensor
---@field [tempo.Key] any

--- An expression with a domain (its dims), a spatial shape and a dtype. Operators are its methods. A string is a method's name; any other key is an index in time:
---@class tempo.Tensor
---@operator add(tempo.Operand): tempo.Tensor
---@operator sub(tempo.Operand): tempo.Tensor
---@operator mul(tempo.Operand): tempo.Tensor
---@operator div(tempo.Operand): tempo.Tensor
---@operator mod(tempo.Operand): tempo.Tensor
---@operator pow(tempo.Operand): tempo.Tensor
---@operator idiv(tempo.Operand): tempo.Tensor
---@operator unm: tempo.Tensor
---@field [tempo.Key] tempo.Tensor
local Tensor = {}

--- `x[{..}]` as a method.
---@param key table also by dims, `{[t] = 0}`
---@return tempo.Tensor
function Tensor:at(key) end

--- The branch for the points that no earlier one has.
---@param e tempo.Operand|table
function Tensor:otherwise(e) end

--- The branch for the points where c holds.
---@param c tempo.Condition for data use `tempo.where`
---@param e tempo.Operand|table
function Tensor:when(c, e) end

--- A parameter's value at the next point of `along`, at most once; along one dim `w[i+1] = e` is the same.
---@param e tempo.Operand
function Tensor:update(e) end

--- The value that a parameter takes at the next point of `along`, which `update` is given before or after this line; at the last point too. So a second loss sees the parameters after the step. A gradient by w goes through what `update` was given, which optimisers detach; one by `w:next()` stops there.
---@return tempo.Tensor
function Tensor:next() end

--- Marks a loss for `x:grad()`.
---@return tempo.Tensor # itself
function Tensor:backward() end

--- The gradient of the sum of all marked losses, wherever in the script.
---@return tempo.Tensor
function Tensor:grad() end

--- The value at one point, on demand, without compiling: for debugging. Inputs and bounds that the value does not mention may be left out.
---@param options? { inputs?: table<string, tempo.Data>, bounds?: table<string, integer>, at?: table<string, integer>, seed?: integer }
---@return tempo.Array
function Tensor:peek(options) end

--- Its name for messages, asked or given.
---@param s? string
---@return string|tempo.Tensor|nil # itself when given
function Tensor:name(s) end

--- The spatial shape.
---@return tempo.Extent[]
function Tensor:shape() end

--- The dtype.
---@return tempo.Dtype
function Tensor:dtype() end

--- Its dims, in the order of `P:dim`.
---@return tempo.Index[]
function Tensor:domain() end

--- The dims a parameter evolves over; {} of others.
---@return tempo.Index[]
function Tensor:along() end

--- Its program; nil of a literal that has met none.
---@return tempo.Program?
function Tensor:program() end

--- x + y.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:add(y) end

--- x - y.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:sub(y) end

--- x * y.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:mul(y) end

--- x / y; integers give f32.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:div(y) end

--- x ^ y; integers want an exponent >= 0.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:pow(y) end

--- x % y, with the sign of y.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:mod(y) end

--- x // y, rounded down.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:floordiv(y) end

--- The smaller of x and y, element by element; NaN wins.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:minimum(y) end

--- The larger of x and y, element by element; NaN wins.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:maximum(y) end

--- -x.
---@return tempo.Tensor
function Tensor:neg() end

--- The absolute value.
---@return tempo.Tensor
function Tensor:abs() end

--- -1, 0 or 1.
---@return tempo.Tensor
function Tensor:sign() end

--- e to the x.
---@return tempo.Tensor
function Tensor:exp() end

--- exp(x) - 1, exact for small x.
---@return tempo.Tensor
function Tensor:expm1() end

--- The natural logarithm.
---@return tempo.Tensor
function Tensor:log() end

--- log(1 + x), exact for small x.
---@return tempo.Tensor
function Tensor:log1p() end

--- The logarithm to base 2.
---@return tempo.Tensor
function Tensor:log2() end

--- The square root.
---@return tempo.Tensor
function Tensor:sqrt() end

--- 1 / sqrt(x).
---@return tempo.Tensor
function Tensor:rsqrt() end

--- x * x.
---@return tempo.Tensor
function Tensor:square() end

--- 1 / x.
---@return tempo.Tensor
function Tensor:reciprocal() end

--- The sine.
---@return tempo.Tensor
function Tensor:sin() end

--- The cosine.
---@return tempo.Tensor
function Tensor:cos() end

--- The tangent.
---@return tempo.Tensor
function Tensor:tan() end

--- The hyperbolic tangent.
---@return tempo.Tensor
function Tensor:tanh() end

--- 1 / (1 + exp(-x)).
---@return tempo.Tensor
function Tensor:sigmoid() end

--- The error function.
---@return tempo.Tensor
function Tensor:erf() end

--- Rounds down.
---@return tempo.Tensor
function Tensor:floor() end

--- Rounds up.
---@return tempo.Tensor
function Tensor:ceil() end

--- Rounds to the nearest integer, half to even.
---@return tempo.Tensor
function Tensor:round() end

--- x limited to lo .. hi; either may be left out. Gradient 0 at the limits.
---@overload fun(self: tempo.Tensor, options: { lo?: tempo.Operand, hi?: tempo.Operand }): tempo.Tensor
---@param lo? tempo.Operand
---@param hi? tempo.Operand
---@return tempo.Tensor
function Tensor:clamp(lo, hi) end

--- x == y.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:eq(y) end

--- x ~= y; true for NaN.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:ne(y) end

--- x < y.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:lt(y) end

--- x <= y.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:le(y) end

--- x > y.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:gt(y) end

--- x >= y.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:ge(y) end

--- Both are true.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:land(y) end

--- One of them is true.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:lor(y) end

--- It is false.
---@return tempo.Tensor
function Tensor:lnot() end

--- The sum; of bool, u8 and i32 in i64.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:sum(axis, options) end

--- The product; of bool, u8 and i32 in i64.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:prod(axis, options) end

--- The mean; of integers in f32; NaN of nothing.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:mean(axis, options) end

--- The largest value (the value only). Ties: the first gets the gradient.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:max(axis, options) end

--- The smallest value (the value only). Ties: the first gets the gradient.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:min(axis, options) end

--- Is one of them true (or not 0)?
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:any(axis, options) end

--- Are all of them true (or not 0)?
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:all(axis, options) end

--- The index of the largest, i64, the first at ties. Over several axes: row major.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:argmax(axis, options) end

--- The index of the smallest, i64, the first at ties. Over several axes: row major.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:argmin(axis, options) end

--- The variance, divided by n - correction (1).
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean, correction?: integer, unbiased?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean, correction?: integer, unbiased?: boolean }
---@return tempo.Tensor
function Tensor:var(axis, options) end

--- The standard deviation, of n - correction (1). Gradient 0 at 0.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean, correction?: integer, unbiased?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean, correction?: integer, unbiased?: boolean }
---@return tempo.Tensor
function Tensor:std(axis, options) end

--- The p-norm (2; p may be math.huge): norm(axis) if x has that axis (norm(1) of a matrix is not its 1-norm), norm(axis, { p = }), norm { p = }, norm(p, axis). Gradient 0 at 0.
---@overload fun(self: tempo.Tensor, options: { p?: number|integer[]|string, axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param p? number|integer[]|string
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean, p?: number|integer[]|string }
---@return tempo.Tensor
function Tensor:norm(p, axis, options) end

--- log(sum(exp(x))), stable; -inf of nothing.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], keepdim?: boolean }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { keepdim?: boolean }
---@return tempo.Tensor
function Tensor:logsumexp(axis, options) end

--- exp(x) / sum(exp(x)) over an axis or several (all of them).
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[] }): tempo.Tensor
---@param axis? integer|integer[]
---@return tempo.Tensor
function Tensor:softmax(axis) end

--- The logarithm of softmax, stable.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[] }): tempo.Tensor
---@param axis? integer|integer[]
---@return tempo.Tensor
function Tensor:log_softmax(axis) end

--- Running sums along an axis.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[] }): tempo.Tensor
---@param axis? integer|integer[]
---@return tempo.Tensor
function Tensor:cumsum(axis) end

--- Running products along an axis.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[] }): tempo.Tensor
---@param axis? integer|integer[]
---@return tempo.Tensor
function Tensor:cumprod(axis) end

--- Discounted returns: y[i] = x[i] + gamma * y[i+1] along an axis (0), the last first.
---@overload fun(self: tempo.Tensor, gamma: number, options: { axis?: integer|integer[] }): tempo.Tensor
---@param gamma number
---@param axis? integer|integer[]
---@return tempo.Tensor
function Tensor:discounted_cumsum(gamma, axis) end

--- The matrix product; leading axes broadcast, vectors are rows on the left and columns on the right.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:matmul(y) end

--- The inner product of two vectors.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:dot(y) end

--- The outer product of two vectors.
---@param y tempo.Operand
---@return tempo.Tensor
function Tensor:outer(y) end

--- The same elements in another shape; one -1 is the exact quotient.
---@param shape tempo.Extent|tempo.Extent[]
---@return tempo.Tensor
function Tensor:reshape(shape) end

--- Axes start .. stop (both included; all of them) made one.
---@overload fun(self: tempo.Tensor, options: { start?: integer, stop?: integer }): tempo.Tensor
---@param start? integer
---@param stop? integer
---@return tempo.Tensor
function Tensor:flatten(start, stop) end

--- Axes in another order: axis i of the result is axes[i].
---@param axes integer|integer[]
---@return tempo.Tensor
function Tensor:permute(axes) end

--- Axes a and b exchanged.
---@param a integer
---@param b integer
---@return tempo.Tensor
function Tensor:transpose(a, b) end

--- The last two axes exchanged.
---@return tempo.Tensor
function Tensor:mT() end

--- Axes of 1 and missing ones repeated; -1 keeps an extent.
---@param shape tempo.Extent|tempo.Extent[]
---@return tempo.Tensor
function Tensor:expand(shape) end

--- Without the axes of extent 1 (of those named).
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[] }): tempo.Tensor
---@param axis? integer|integer[]
---@return tempo.Tensor
function Tensor:squeeze(axis) end

--- With a new axis of extent 1.
---@param axis integer
---@return tempo.Tensor
function Tensor:unsqueeze(axis) end

--- A sequence of parts of this size (the last may be smaller), or of these sizes.
---@overload fun(self: tempo.Tensor, size: tempo.Extent|tempo.Extent[], options: { axis?: integer }): tempo.Tensor[]
---@param size tempo.Extent|tempo.Extent[]
---@param axis? integer
---@return tempo.Tensor[]
function Tensor:split(size, axis) end

--- A sequence of at most so many parts of equal size (the last may be smaller).
---@overload fun(self: tempo.Tensor, chunks: integer, options: { axis?: integer }): tempo.Tensor[]
---@param chunks integer
---@param axis? integer
---@return tempo.Tensor[]
function Tensor:chunk(chunks, axis) end

--- Before and after the last axis, then before and after the one before it, ...: pad {1, 1}.
---@overload fun(self: tempo.Tensor, pad: tempo.Extent|tempo.Extent[], options: { value?: number, mode?: string }): tempo.Tensor
---@param pad tempo.Extent|tempo.Extent[]
---@param value? number
---@param options? { mode?: string }
---@return tempo.Tensor
function Tensor:pad(pad, value, options) end

--- Axes reversed.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[] }): tempo.Tensor
---@param axis? integer|integer[]
---@return tempo.Tensor
function Tensor:flip(axis) end

--- Elements moved along axes, those that fall off come in again; without axis over all of them flat.
---@overload fun(self: tempo.Tensor, shift: integer|integer[], options: { axis?: integer|integer[] }): tempo.Tensor
---@param shift integer|integer[]
---@param axis? integer|integer[]
---@return tempo.Tensor
function Tensor:roll(shift, axis) end

--- Elements lo .. hi of an axis, by step.
---@overload fun(self: tempo.Tensor, axis: integer, options: { lo?: integer|tempo.Index|tempo.Tensor, hi?: integer|tempo.Index|tempo.Tensor, step?: integer }): tempo.Tensor
---@param axis integer
---@param lo? integer|tempo.Index|tempo.Tensor
---@param hi? integer|tempo.Index|tempo.Tensor
---@param step? integer
---@return tempo.Tensor
function Tensor:slice(axis, lo, hi, step) end

--- Element index of an axis, which goes.
---@param axis integer
---@param index integer|tempo.Index|tempo.Tensor
---@return tempo.Tensor
function Tensor:select(axis, index) end

--- length elements of an axis from start, which may be an i64 scalar tensor.
---@param axis integer
---@param start integer|tempo.Index|tempo.Tensor
---@param length integer|tempo.Index|tempo.Tensor
---@return tempo.Tensor
function Tensor:narrow(axis, start, length) end

--- The last two axes with 0 above a diagonal (the main one).
---@overload fun(self: tempo.Tensor, options: { diagonal?: integer }): tempo.Tensor
---@param diagonal? integer
---@return tempo.Tensor
function Tensor:tril(diagonal) end

--- The last two axes with 0 below a diagonal (the main one).
---@overload fun(self: tempo.Tensor, options: { diagonal?: integer }): tempo.Tensor
---@param diagonal? integer
---@return tempo.Tensor
function Tensor:triu(diagonal) end

--- y[i][j] = x[index[i][j]][j] for axis 0, and so on.
---@param axis integer
---@param index tempo.Operand
---@return tempo.Tensor
function Tensor:gather(axis, index) end

--- x with src[i][j] added at [index[i][j]][j] for axis 0, and so on.
---@param axis integer
---@param index tempo.Operand
---@param src tempo.Operand
---@return tempo.Tensor
function Tensor:scatter_add(axis, index, src) end

--- The elements of an axis with these indices; a scalar index drops the axis.
---@param axis integer
---@param index tempo.Operand
---@return tempo.Tensor
function Tensor:index_select(axis, index) end

--- x with value at this index of an axis; a row of a carried state costs a row.
---@param axis integer
---@param index integer|tempo.Index|tempo.Tensor
---@param value tempo.Operand
---@return tempo.Tensor
function Tensor:put(axis, index, value) end

--- A last axis of this extent with 1 at x, else 0; i64.
---@param classes integer|tempo.Index|tempo.Tensor
---@return tempo.Tensor
function Tensor:one_hot(classes) end

--- Sorted values along an axis (the last) and their indices; stable, NaN last.
---@overload fun(self: tempo.Tensor, options: { axis?: integer, descending?: boolean, stable?: boolean }): tempo.Tensor, tempo.Tensor
---@param axis? integer
---@param descending? boolean
---@param stable? boolean
---@return tempo.Tensor
---@return tempo.Tensor
function Tensor:sort(axis, descending, stable) end

--- The indices that sort x along an axis (the last).
---@overload fun(self: tempo.Tensor, options: { axis?: integer, descending?: boolean, stable?: boolean }): tempo.Tensor
---@param axis? integer
---@param descending? boolean
---@param stable? boolean
---@return tempo.Tensor
function Tensor:argsort(axis, descending, stable) end

--- The k largest values along an axis (the last) and their indices, largest first.
---@overload fun(self: tempo.Tensor, k: integer|tempo.Index|tempo.Tensor, options: { axis?: integer, largest?: boolean, sorted?: boolean }): tempo.Tensor, tempo.Tensor
---@param k integer|tempo.Index|tempo.Tensor
---@param axis? integer
---@param largest? boolean
---@param sorted? boolean
---@return tempo.Tensor
---@return tempo.Tensor
function Tensor:topk(k, axis, largest, sorted) end

--- max(x, 0).
---@return tempo.Tensor
function Tensor:relu() end

--- x where it is positive, else negative_slope (0.01) * x.
---@overload fun(self: tempo.Tensor, options: { negative_slope?: number }): tempo.Tensor
---@param negative_slope? number
---@return tempo.Tensor
function Tensor:leaky_relu(negative_slope) end

--- x where it is positive, else alpha (1) * (exp(x) - 1).
---@overload fun(self: tempo.Tensor, options: { alpha?: number }): tempo.Tensor
---@param alpha? number
---@return tempo.Tensor
function Tensor:elu(alpha) end

--- x * P(N(0, 1) <= x); approximate = "tanh" for the formula with tanh.
---@overload fun(self: tempo.Tensor, options: { approximate?: string }): tempo.Tensor
---@param options? { approximate?: string }
---@return tempo.Tensor
function Tensor:gelu(options) end

--- x * sigmoid(x).
---@return tempo.Tensor
function Tensor:silu() end

--- log(1 + exp(beta * x)) / beta, stable; x where beta * x exceeds threshold (20).
---@overload fun(self: tempo.Tensor, options: { beta?: number, threshold?: number }): tempo.Tensor
---@param beta? number
---@param threshold? number
---@return tempo.Tensor
function Tensor:softplus(beta, threshold) end

--- Sums of windows of x (N, C, L) times weight (O, C / groups, k); padding is a number, "same" or "valid".
---@overload fun(self: tempo.Tensor, weight: tempo.Operand, options: { bias?: tempo.Operand, stride?: number|integer[]|string, padding?: number|integer[]|string, dilation?: number|integer[]|string, groups?: integer }): tempo.Tensor
---@param weight tempo.Operand
---@param bias? tempo.Operand
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param dilation? number|integer[]|string
---@param groups? integer
---@return tempo.Tensor
function Tensor:conv1d(weight, bias, stride, padding, dilation, groups) end

--- Sums of windows of x (N, C, H, W) times weight (O, C / groups, h, w); padding is a number, one for each axis, "same" or "valid".
---@overload fun(self: tempo.Tensor, weight: tempo.Operand, options: { bias?: tempo.Operand, stride?: number|integer[]|string, padding?: number|integer[]|string, dilation?: number|integer[]|string, groups?: integer }): tempo.Tensor
---@param weight tempo.Operand
---@param bias? tempo.Operand
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param dilation? number|integer[]|string
---@param groups? integer
---@return tempo.Tensor
function Tensor:conv2d(weight, bias, stride, padding, dilation, groups) end

--- The gradient of conv2d as an operation: x (N, C, H, W) spread by weight (C, O / groups, h, w).
---@overload fun(self: tempo.Tensor, weight: tempo.Operand, options: { bias?: tempo.Operand, stride?: number|integer[]|string, padding?: number|integer[]|string, output_padding?: number|integer[]|string, groups?: integer, dilation?: number|integer[]|string }): tempo.Tensor
---@param weight tempo.Operand
---@param bias? tempo.Operand
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param output_padding? number|integer[]|string
---@param groups? integer
---@param dilation? number|integer[]|string
---@return tempo.Tensor
function Tensor:conv_transpose2d(weight, bias, stride, padding, output_padding, groups, dilation) end

--- The largest of each window of kernel_size, stride (kernel_size) apart; padding is -inf. Ties: the first gets the gradient.
---@overload fun(self: tempo.Tensor, kernel_size: number|integer[]|string, options: { stride?: number|integer[]|string, padding?: number|integer[]|string, dilation?: number|integer[]|string, ceil_mode?: boolean }): tempo.Tensor
---@param kernel_size number|integer[]|string
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param dilation? number|integer[]|string
---@param ceil_mode? boolean
---@return tempo.Tensor
function Tensor:max_pool2d(kernel_size, stride, padding, dilation, ceil_mode) end

--- The mean of each window of kernel_size, stride (kernel_size) apart; zeros of the padding count unless count_include_pad = false.
---@overload fun(self: tempo.Tensor, kernel_size: number|integer[]|string, options: { stride?: number|integer[]|string, padding?: number|integer[]|string, ceil_mode?: boolean, count_include_pad?: boolean, divisor_override?: integer }): tempo.Tensor
---@param kernel_size number|integer[]|string
---@param stride? number|integer[]|string
---@param padding? number|integer[]|string
---@param ceil_mode? boolean
---@param count_include_pad? boolean
---@param divisor_override? integer
---@return tempo.Tensor
function Tensor:avg_pool2d(kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override) end

--- Zero mean and unit variance over the last axes, whose shape is given (the last one), then scale and shift.
---@overload fun(self: tempo.Tensor, options: { shape?: tempo.Extent|tempo.Extent[], weight?: tempo.Operand, bias?: tempo.Operand, eps?: number }): tempo.Tensor
---@param shape? tempo.Extent|tempo.Extent[]
---@param weight? tempo.Operand
---@param bias? tempo.Operand
---@param eps? number
---@return tempo.Tensor
function Tensor:layer_norm(shape, weight, bias, eps) end

--- x / sqrt(mean(x * x) + eps) over the last axes, then scale.
---@overload fun(self: tempo.Tensor, options: { shape?: tempo.Extent|tempo.Extent[], weight?: tempo.Operand, eps?: number }): tempo.Tensor
---@param shape? tempo.Extent|tempo.Extent[]
---@param weight? tempo.Operand
---@param eps? number
---@return tempo.Tensor
function Tensor:rms_norm(shape, weight, eps) end

--- (x - mean) / (std + eps): mean 0 and deviation 1 over an axis or several (all of them); eps 1e-8.
---@overload fun(self: tempo.Tensor, options: { axis?: integer|integer[], eps?: number }): tempo.Tensor
---@param axis? integer|integer[]
---@param options? { eps?: number }
---@return tempo.Tensor
function Tensor:normalized(axis, options) end

--- Each channel (axis 1) of zero mean and unit variance: by the running statistics, or with training by the batch's; these are nn.BatchNorm's to keep, with momentum.
---@overload fun(self: tempo.Tensor, options: { running_mean?: tempo.Operand, running_var?: tempo.Operand, weight?: tempo.Operand, bias?: tempo.Operand, training?: boolean, momentum?: number, eps?: number }): tempo.Tensor
---@param running_mean? tempo.Operand
---@param running_var? tempo.Operand
---@param weight? tempo.Operand
---@param bias? tempo.Operand
---@param training? boolean
---@param momentum? number
---@param eps? number
---@return tempo.Tensor
function Tensor:batch_norm(running_mean, running_var, weight, bias, training, momentum, eps) end

--- Zero with probability p (0.5), else x / (1 - p); drawn at every point of x, or by a key.
---@overload fun(self: tempo.Tensor, options: { p?: number, training?: boolean, name?: string, key?: tempo.Operand }): tempo.Tensor
---@param p? number
---@param training? boolean
---@param options? { name?: string, key?: tempo.Operand }
---@return tempo.Tensor
function Tensor:dropout(p, training, options) end

--- The mean of (x - target)^2.
---@overload fun(self: tempo.Tensor, target: tempo.Operand, options: { reduction?: string }): tempo.Tensor
---@param target tempo.Operand
---@param options? { reduction?: string }
---@return tempo.Tensor
function Tensor:mse_loss(target, options) end

--- The mean of d^2 / (2 beta) where |d| < beta (1), else |d| - beta / 2, d = x - target.
---@overload fun(self: tempo.Tensor, target: tempo.Operand, options: { reduction?: string, beta?: number }): tempo.Tensor
---@param target tempo.Operand
---@param options? { reduction?: string, beta?: number }
---@return tempo.Tensor
function Tensor:smooth_l1_loss(target, options) end

--- Negative log likelihood of softmax(x): classes along axis 1 (0 of a vector); target holds class indices, where ignore_index (-100) counts for nothing, or probabilities in x's shape.
---@overload fun(self: tempo.Tensor, target: tempo.Operand, options: { weight?: tempo.Operand, reduction?: string, ignore_index?: integer, label_smoothing?: number }): tempo.Tensor
---@param target tempo.Operand
---@param weight? tempo.Operand
---@param options? { reduction?: string, ignore_index?: integer, label_smoothing?: number }
---@return tempo.Tensor
function Tensor:cross_entropy(target, weight, options) end

--- Negative log likelihood of log probabilities x; target holds class indices, where ignore_index (-100) counts for nothing.
---@overload fun(self: tempo.Tensor, target: tempo.Operand, options: { weight?: tempo.Operand, reduction?: string, ignore_index?: integer }): tempo.Tensor
---@param target tempo.Operand
---@param weight? tempo.Operand
---@param options? { reduction?: string, ignore_index?: integer }
---@return tempo.Tensor
function Tensor:nll_loss(target, weight, options) end

--- -(target log x + (1 - target) log(1 - x)), logarithms not below -100. No x is refused: the logarithm of 0 and less is -100.
---@overload fun(self: tempo.Tensor, target: tempo.Operand, options: { weight?: tempo.Operand, reduction?: string }): tempo.Tensor
---@param target tempo.Operand
---@param weight? tempo.Operand
---@param options? { reduction?: string }
---@return tempo.Tensor
function Tensor:binary_cross_entropy(target, weight, options) end

--- target (log target - x) for log probabilities x; reduction may also be "batchmean".
---@overload fun(self: tempo.Tensor, target: tempo.Operand, options: { reduction?: string, log_target?: boolean }): tempo.Tensor
---@param target tempo.Operand
---@param options? { reduction?: string, log_target?: boolean }
---@return tempo.Tensor
function Tensor:kl_div(target, options) end

--- Converted to a dtype: floats to integers truncate and saturate, NaN gives 0.
---@param dtype tempo.Dtype
---@return tempo.Tensor
function Tensor:to(dtype) end

--- The numbers that u8 holds in blocks along its last axis, as GGUF files do: q8_0, q4_0, q4_1, q5_0, q4_k, q5_k or q6_k. Products read blocks as they are stored.
---@param format string
---@return tempo.Tensor
function Tensor:dequantize(format) end

--- The same value, through which no gradient goes.
---@return tempo.Tensor
function Tensor:detach() end

--- What `P:compile` gives.
---@class tempo.Function
---@overload fun(inputs?: table<string, tempo.Data>, bounds?: table<string, integer>, options?: table): table<string, tempo.Array>
local Function = {}

--- Begins a run that `f:step` goes through. With one dim `tick` may be left out of `P:compile`. Calls of f in between do not disturb it.
---@param inputs table<string, tempo.Data> without the tick dims; kept for the run
---@param bounds table<string, integer> of the first tick dim `math.huge` too
---@param options? { seed?: integer }
---@return tempo.Function # itself
function Function:start(inputs, bounds, options) end

--- Goes to the next point of the tick dims; [steps](../language.md#steps) say where outputs without all of these are. A wrong value costs no tick; any other error ends the run.
---@param values? table<string, tempo.Data> the inputs with the tick dims, without these
---@param options? { budget_ms?: number, into?: table, whole?: boolean }
---@return boolean # the last tick
---@return table # by name the outputs at this tick, as arrays (`out.loss:item()` is a number); `cancelled`; with a budget `late_ms`, by how much it was overrun
function Function:step(values, options) end

--- Spends time between two steps on work that budgets have left, also inside a tick and before the first one, and allocates nothing. No number changes.
---@param options? { budget_ms?: number }
---@return boolean # true when nothing waits for the next step
function Function:work(options) end

--- The state between ticks, in memory: position, bounds, inputs without the tick dims, buffers, complete outputs and parameters. Not from a callback.
---@return tempo.State
function Function:state() end

--- Goes on from a state, as `state =` of a call does; [states](../language.md#steps) say when the bound may be larger.
---@param s tempo.State of this program, recorded and compiled alike
---@return tempo.Function # itself
function Function:load_state(s) end

--- Writes the state to a file, whole or not at all. After a step that was cancelled or failed it is that of a run that is over. A portable file is an .npz of `f:params()`: `f:load_params(path)` of a changed program takes it.
---@param path string
---@param options? { portable?: boolean }
---@return true
function Function:save(path, options) end

--- Goes on from a state in a file; after an error the function is as it was.
---@param path string
---@return tempo.Function # itself
function Function:load(path) end

--- From a callback: ends the run, which gives the outputs that are complete.
function Function:cancel() end

--- Copies of the newest parameters by path, at any time: between ticks, after a run, a cancel, an error or Ctrl-C. Constants that were loaded are the loaded arrays themselves.
---@param options? { of?: any } `of`: a module, a parameter, or a list of them: these alone
---@return table<string, tempo.Array>
function Function:params(options) end

--- First values for runs to come, which begin at the first point again, with the same random numbers and schedules: give them another `seed =`, or go on from the whole state (`examples/going_on.lua` does both). Arrays are borrowed: runs see what the script writes into them. `g:load_params(f:params { of = net })` takes a net into another program.
---@param params table<string, tempo.Data>|string any of them, by path, or a portable file
---@param options? { strict?: boolean } `false` leaves out paths that the function lacks (true)
---@return tempo.Function|string[] # itself; unless strict the paths that were missing
---@return string[]? # and those left over
function Function:load_params(params, options) end

--- Tells what tempo has made of the program. [Reading explain](../reading-explain.md) shows the sections and how to read them. Without a section it gives a summary, and says what was not fused and why.
---@param section? "graph"|"schedule"|"storage"|"memory"|"work"|"plan"|"threads"|"kernels"|"code"|"passes"|"rules"|"evolution"|"dot"
---@param bounds? table<string, integer> for sizes in bytes
---@return string
function Function:explain(section, bounds) end

--- Bytes that a run takes, before running: tensors that are kept, loaded parameters, and the working memory of operators; without inputs, outputs, constants, what callbacks are given and return, and blocks of the size of a cache.
---@param bounds table<string, integer>
---@return integer? # nil in the reference tier
function Function:memory(bounds) end

--- Bytes that the last run took.
---@return integer? # nil in the reference tier
function Function:peak() end

--- To find bugs of ours: goes through the schedule without data and fails (`cycle`) unless every statement runs once at each point, everything is made before it is read, and no slot is given away too early.
---@param bounds table<string, integer>
---@return true? # nil where the tier has no schedule or a dim ends by data
function Function:simulate(bounds) end

--- The time of all runs so far by region of the plan, the dearest first: milliseconds, share, runs, GB and operations a second, the script's line, tensor and operators; one line says what a core of this machine does. The clock is always on; it samples. Native code has a line for each of its parts; `inside` builds them again, with clocks in their leaves and the same bits.
---@param rows? integer to show (20)
---@param options? { trace?: string, inside?: boolean }
---@return string
function Function:profile(rows, options) end

--- Writes the function for these bounds as C99 that needs libm alone: `agent.c`, `agent.h`, `agent.weights` with the newest parameters, and `agent_main.c`, which shows their use ([export](../export.md)). With `tick` it goes in steps. After an error all files are as they were.
---@param path string "dir/agent", a name that C takes
---@param bounds? table<string, integer>
function Function:export(path, bounds) end

--- False while another thread compiles (`async = true`). Any use waits, raises what compiling failed with and tells its warnings. Ctrl-C ends the wait but not the compilation, which `f:free()` ends.
---@return boolean
function Function:ready() end

--- Gives its memory back; any use after is an error. Not from its own callback.
function Function:free() end

--- What `f:state()` gives: a run between two ticks. It has no methods.
---@class tempo.State
local State = {}

--- What `tempo.open` gives: arrays by name, `f[name]`, nil where there is none. Files are mapped: opening reads what describes the arrays, an array's elements are read when they are used, and stay in the system's cache. So arrays are read only (`a:clone()` is not; a write by way of `a:pointer()` or `a:data()` ends the process), and keep the map when `f` is closed. Copied are packed members of an .npz, arrays in Fortran's order or big endian, bools, and what does not lie at a multiple of its size. Checksums in an .npz are looked at where a member is copied. Blocks (`q8_0`, `q4_0`, `q4_1`, `q5_0`, `q4_k`, `q5_k`, `q6_k`) come as a new f32 array; GGUF's shapes are turned to (out, in). An array stored as what is no dtype of ours (i8, f8_e4m3, other blocks) is the error `dtype` when it is asked for. A .npy's array is called as the file. Names of the methods below are theirs: `f:arrays().meta` is an array of that name.
---@class tempo.Weights
---@field [tempo.Key] tempo.Array?
local Weights = {}

--- All arrays, for `pairs`. Each is made when it is reached; under LuaJIT all at once.
---@return table<string, tempo.Array>
function Weights:arrays() end

--- In the order of the file.
---@return string[]
function Weights:names() end

--- The metadata by key: numbers, booleans, strings, sequences of them. A model in several files has the first one's.
---@param key? string one value; nil where there is none
---@return any
function Weights:meta(key) end

--- The array as it is stored. A kind that is no dtype of ours comes as u8, with the bytes of a row as last axis; the shape is that of its elements.
---@param name string
---@return tempo.Array? # a view
---@return string? # the format
---@return integer[]? # the shape
function Weights:stored(name) end

--- Gives the map back when its last array goes.
function Weights:close() end

--- Dense, row major, of any dtype. `a[i]` counts from 0: a view of a row, or a number of a vector; out of range is the error `input`, so `ipairs` cannot skip row 0. `#a` is the first extent; printing is NumPy's.
---@class tempo.Array
---@field [tempo.Key] tempo.Array|number|boolean
local Array = {}

--- The extents.
---@return integer[]
function Array:shape() end

--- The dtype.
---@return tempo.Dtype
function Array:dtype() end

--- Nested tables of numbers or booleans from 1; a scalar's value.
---@return any # a table, a number or a boolean
function Array:totable() end

--- The one element.
---@return number|boolean
function Array:item() end

--- A copy: keeps what a callback was lent.
---@return tempo.Array
function Array:clone() end

--- A matrix of floats with its rows made orthonormal, or its columns where they are fewer (modified Gram-Schmidt in f64, twice).
---@return tempo.Array
function Array:orthonormal() end

--- Its floats in blocks along the last axis, as GGUF files hold weights, byte for byte what llama.cpp's reference makes of them.
---@param format string `q8_0 q4_0 q4_1 q5_0` (blocks of 32 numbers), `q4_k q5_k q6_k` (of 256)
---@return tempo.Array # u8
function Array:quantize(format) end

--- The numbers that its bytes hold in blocks along the last axis.
---@param format string
---@return tempo.Array # f32
function Array:dequantize(format) end

--- Iterates over index (from 0) and row.
---@return fun(): integer?, tempo.Array|number|boolean
function Array:rows() end

--- An element.
---@param ... integer one for each axis
---@return number|boolean
function Array:get(...) end

--- Changes an element; not of an array that a callback was lent, or of a file's.
---@param v number|boolean
---@param ... integer one for each axis
---@return tempo.Array # itself
function Array:set(v, ...) end

--- Puts all elements into a list, row by row, from 1.
---@param list? table a new one unless given
---@return table # the list
function Array:copy_to(list) end

--- Takes all elements from a list, row by row; not of an array that a callback was lent, or of a file's.
---@param list table
---@return tempo.Array # itself
function Array:copy_from(list) end

--- LuaJIT only: a pointer to the elements, row by row, from 0. The array must live as long as it is used.
---@return any # `float *` and so on; of f16 and bf16 `uint16_t *`
function Array:pointer() end

--- Writes a .npy file, whole or not at all.
---@param path string
---@return true
function Array:save(path) end

--- The address of the elements, for LuaJIT's `ffi.cast`. A [device](../gpu.md) copies the array in each call from then on, as it may change without a word; so after `pointer` and `int64`.
---@return lightuserdata
function Array:data() end

--- As `totable` with exact 64-bit integers (LuaJIT: cdata).
---@return table|integer
function Array:int64() end

--- Gives its memory back.
function Array:free() end

--- What `tempo.rows` gives. `#r` is the number of arrays, `r[i]` the array itself, from 0; `tempo.array(r)` copies all into one.
---@class tempo.Rows
---@field [tempo.Key] tempo.Array
local Rows = {}

--- The number of arrays, then their shape.
---@return integer[]
function Rows:shape() end

--- The dtype of the arrays.
---@return tempo.Dtype
function Rows:dtype() end

--- Lets go of the arrays.
function Rows:free() end

return tempo

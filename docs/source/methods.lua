-- What the reference says of the rows of src/graph/methods/methods.def beyond their own line: facts that a whole group shares,
-- options, results that are not one tensor, and an example for each row. A spec refuses a row without an example and an
-- entry without a row.
local methods = {}

--- Runs before every example of this page.
methods.prelude = [[
tempo = require "tempo"
P = tempo.program()
function show(x) print(P:compile { outputs = { x = x } }({}, {}).x) end
]]

--- By the first word of a group's heading in methods.def: a title and the facts that hold unless a row says otherwise.
methods.groups = {
  creation = { "Creation",
    "Extents are integers, bounds and dims: `{T, 3}`. Options of all: `dtype =`; `domain =`, a sequence of dims or of tensors that stand for theirs (none); `name =`, of a random one also its "
    .. "stream of numbers; of a random one `key =`, an i64 scalar whose value takes the place of the point: points of one key draw the same, and it stands on the key's dims too. They have no operands that could have a gradient. Errors: `shape` for a negative extent, `option` for an unknown dtype or a second random tensor of one name. The formulas of "
    .. "the random ones are in [random.md](../random.md)." },
  arithmetic = { "Arithmetic",
    "Operators `+ - * / % ^ //` and unary `-` are these methods. Integers wrap. Errors: `shape` where extents do not broadcast." },
  comparisons = { "Comparison and logic",
    "Both sides of a comparison are promoted first; a number that the tensor's dtype does not have makes it wider instead of wrapping. `land lor lnot` take bool. Errors: `shape`, and `dtype` for "
    .. "logic on numbers. Lua's own `<`, `<=` raise, `==` is identity." },
  reductions = { "Reductions and scans",
    "Axes count from 0, negative ones from the end; without an axis all *spatial* axes, never a temporal dim. "
    .. "Of nothing: sum 0, prod 1, any false, all true, max -inf and min +inf of floats, logsumexp -inf, mean and var NaN. Errors: `shape` for an axis that x lacks or that is named twice; "
    .. "`input` at the run for max, min of integers and argmax, argmin of nothing." },
  contraction = { "Contraction", "f16 and bf16 accumulate in f32. A vector is a row on the left, a column on the right. Errors: `shape` where inner sizes differ." },
  movement = { "Movement",
    "Gradients are moved back; where one element stands in several places (`expand`), summed. Most of these are views and cost nothing. "
    .. "Errors: `shape` for axes that do not exist and sizes that do not fit; `domain` for constant indices below 0, which never wrap." },
  by = { "By data", "Indices are i64 (other integers convert) and are checked at the run: one out of range is the error `input`. The gradient goes to the elements that were taken; 0 for indices." },
  activations = { "Activations", "Computed in f32 at least and rounded once." },
  convolution = { "Convolution and pooling", "Names, shapes and defaults are PyTorch's. Errors: `shape`." },
  normalisation = { "Normalisation and dropout", "Errors: `shape` where the given shape is not x's last axes." },
  losses = { "Losses",
    "They reduce *spatial* axes only: over time write `loss[0 .. T]:sum(0)`, or nothing, for a gradient sums a loss over all its points anyway. Errors: `option` for an unknown reduction, `shape`." },
  types = { "Types", "" },
}

--- What arguments that may be left out mean, and their defaults; `words` of a row says it of that row.
methods.words = {
  dtype = "the dtype of the result", domain = "the dims over which it varies: a sequence of dims, or of tensors that stand for theirs",
  key = "an i64 scalar whose value takes the place of the point's coordinates: points of one key draw the same; the draw stands on its dims too",
  name = "names it; of a random tensor also its stream of numbers, which must be its own", keepdim = "reduced axes stay, with extent 1",
  axis = "which (all)", p = "the probability (0.5)", correction = "what is subtracted from the count (1)",
  unbiased = "`true` is correction 1, `false` 0", lo = "the first element (0)", hi = "after the last element (the extent)", value = "what is put there (0)",
  mode = "only `\"constant\"`", diagonal = "which diagonal (0): above the main one where positive", descending = "largest first", stable = "sorting is always stable", largest = "`false`: the smallest",
  sorted = "results are always sorted", negative_slope = "the factor below 0 (0.01)", alpha = "the factor below 0 (1)", beta = "sharpness (1)",
  approximate = "`\"none\"` or `\"tanh\"`", threshold = "above it the identity (20)", weight = "multiplies: one number for each element, channel or class (1)", bias = "is added (0)",
  eps = "is added to the variance (1e-5)", training = "`false`: what holds after training", reduction = "`\"mean\"`, `\"sum\"` or `\"none\"`", ignore_index = "targets of this class count nothing (-100)",
  label_smoothing = "share of the target spread over all classes (0)", log_target = "the target holds log probabilities", start = "the first (0)", stop = "the last (-1)",
  stride = "the distance between windows (1)", padding = "elements added at both ends of each spatial axis (0)", dilation = "the distance between the elements of a window (1)",
  groups = "channels are cut into so many groups (1), each with weights of its own", output_padding = "elements added at the far end of the result (0)", ceil_mode = "`true`: windows that reach over the end count",
  count_include_pad = "`false`: padding does not count", divisor_override = "divides instead of the number of elements", momentum = "the share of the new in running statistics (0.1)",
  running_mean = "what is subtracted, one number for each channel", running_var = "what it is divided by, squared",
  step = "the distance (1)", shape = "the last axes (the last one)",
}

--- By name: example; fails, an example of an error; words, of arguments, in place of those above; returns, types for the annotations; gradient and errors, what is special about them.
methods.rows = {
  zeros = { example = "show(tempo.zeros { 2, 3 })" },
  ones = { example = 'show(tempo.ones({ 3 }, { dtype = "i64" }))' },
  full = { example = "show(tempo.full({ 2 }, 7))", errors = "`shape` for a value that is no scalar" },
  eye = { example = "show(tempo.eye { 2, 3 })" },
  arange = { example = "show(tempo.arange { 4 })\nshow(tempo.arange({ 3 }, 10, 5))" },
  linspace = { example = "show(tempo.linspace({ 5 }, 0, 1))" },
  uniform = { example = "local u = tempo.uniform({ 1000 })\nshow((u:mean() * 10):round())\nlocal k = P:constant(tempo.array(-3, \"i64\"))\nshow(tempo.uniform({ 2 }, { key = k, name = \"u\" }))",
    fails = "show(tempo.uniform({ 2 }, { key = P:constant({ 1, 2 }) }))", errors = "`dtype`, `shape` for a key that is no i64 scalar" },
  normal = { example = "show(tempo.normal({ 1000 }):abs():lt(2):sum():gt(900))", errors = "as `uniform`" },
  bernoulli = { example = "show(tempo.bernoulli({ 3 }, 1))", errors = "as `uniform`; `option` for a probability outside [0, 1]" },
  randint = { words = { hi = "after the last; without it `lo` is, and 0 is the first" }, example = "show(tempo.randint({ 5 }, 7, 8))" },
  randperm = { example = "show(tempo.randperm({ 5 }):sort())" },

  add = { example = "show(P:constant({ 1, 2 }) + 10)", fails = "show(P:constant({ 1, 2 }) + P:constant({ 1, 2, 3 }))" },
  sub = { example = "show(1 - P:constant({ 1, 2 }))" },
  mul = { example = "show(P:constant({ { 1 }, { 2 } }) * P:constant({ 3, 4 }))" },
  div = { example = 'show(tempo.arange({ 3 }, { dtype = "i64" }) / 2)' },
  pow = { example = "show(P:constant({ 1, 2, 3 }) ^ 2)", errors = "`dtype` for a negative power of integers" },
  mod = { example = "show(P:constant({ -1, 4, 7 }) % 3)", gradient = "1 for x; -(x // y) for y", errors = "`input` at the run for integers by 0" },
  floordiv = { example = "show(P:constant({ -1, 4, 7 }):floordiv(3))", errors = "`input` at the run for integers by 0" },
  minimum = { example = "show(P:constant({ 1, 5 }):minimum(3))", gradient = "to the smaller; at ties to the first operand" },
  maximum = { example = "show(P:constant({ 1, 5 }):maximum(3))", gradient = "to the larger; at ties to the first operand" },
  neg = { example = "show(-P:constant({ 1, -2 }))" },
  abs = { example = "show(P:constant({ 1, -2 }):abs())", gradient = "sign(x), 0 at 0" },
  sign = { example = "show(P:constant({ 3, 0, -2 }):sign())" },
  exp = { example = "show(P:constant({ 0, 1 }):exp())" },
  expm1 = { example = "show(P:constant({ 0, 1 }):expm1())" },
  log = { example = "show(P:constant({ 1, 10 }):log())" },
  log1p = { example = "show(P:constant({ 0, 9 }):log1p())" },
  log2 = { example = "show(P:constant({ 1, 8 }):log2())" },
  sqrt = { example = "show(P:constant({ 4, 9 }):sqrt())" },
  rsqrt = { example = "show(P:constant({ 4, 16 }):rsqrt())" },
  square = { example = "show(P:constant({ 3, -4 }):square())" },
  reciprocal = { example = "show(P:constant({ 2, 4 }):reciprocal())" },
  sin = { example = "show(P:constant({ 0, math.pi / 2 }):sin())" },
  cos = { example = "show(P:constant({ 0, math.pi }):cos())" },
  tan = { example = "show(P:constant({ 0, math.pi / 4 }):tan())" },
  tanh = { example = "show(P:constant({ 0, 1 }):tanh())" },
  sigmoid = { example = "show(P:constant({ 0, 1 }):sigmoid())" },
  erf = { example = "show(P:constant({ 0, 1 }):erf())" },
  floor = { example = "show(P:constant({ 1.5, -1.5 }):floor())" },
  ceil = { example = "show(P:constant({ 1.5, -1.5 }):ceil())" },
  round = { example = "show(P:constant({ 0.5, 1.5, 2.6 }):round())" },
  clamp = { words = { lo = "the least (none)", hi = "the greatest (none)" }, example = "show(P:constant({ -2, 0.5, 2 }):clamp(-1, 1))", gradient = "1 strictly inside, else 0", errors = "`option` without a limit" },

  eq = { example = "show(P:constant({ 1, 2, 3 }):eq(2))" },
  ne = { example = "show(P:constant({ 1, 2, 3 }):ne(2))" },
  lt = { example = "show(P:constant({ 1, 2, 3 }):lt(2))", fails = "show(P:constant({ 1, 2, 3 }) < P:constant({ 2, 2, 2 }))" },
  le = { example = "show(P:constant({ 1, 2, 3 }):le(2))" },
  gt = { example = "show(P:constant({ 1, 2, 3 }):gt(2))" },
  ge = { example = "show(P:constant({ 1, 2, 3 }):ge(2))" },
  land = { example = "local x = P:constant({ 1, 2, 3 })\nshow(x:gt(1):land(x:lt(3)))", fails = "show(P:constant({ 1, 0 }):land(P:constant({ 1, 1 })))" },
  lor = { example = "local x = P:constant({ 1, 2, 3 })\nshow(x:lt(2):lor(x:gt(2)))" },
  lnot = { example = "show(P:constant({ 1, 2, 3 }):eq(2):lnot())" },
  where = { example = "local x = P:constant({ -1, 2 })\nshow(tempo.where(x:gt(0), x, 0))", gradient = "to the side that was taken" },

  sum = { example = "local x = P:constant({ { 1, 2 }, { 3, 4 } })\nshow(x:sum(0))\nshow(x:sum())",
    fails = "show(P:constant({ 1, 2 }):sum(1))" },
  prod = { example = "show(P:constant({ 2, 3, 4 }):prod())", gradient = "right for zeros too" },
  mean = { example = "show(P:constant({ { 1, 2 }, { 3, 4 } }):mean(1))" },
  max = { example = "show(P:constant({ { 1, 5 }, { 3, 4 } }):max(1))", gradient = "all of it to the first of the largest" },
  min = { example = "show(P:constant({ { 1, 5 }, { 3, 4 } }):min(1, { keepdim = true }))", gradient = "all of it to the first of the smallest" },
  any = { example = "show(P:constant({ { 0, 1 }, { 0, 0 } }):any(1))" },
  all = { example = "show(P:constant({ { 0, 1 }, { 1, 1 } }):all(1))" },
  argmax = { example = "show(P:constant({ { 1, 5, 5 }, { 6, 3, 4 } }):argmax(1))" },
  argmin = { example = "show(P:constant({ { 1, 5, 1 }, { 6, 3, 4 } }):argmin(1))" },
  var = { example = "show(P:constant({ 1, 2, 3, 4 }):var())\nshow(P:constant({ 1, 2, 3, 4 }):var(0, { correction = 0 }))" },
  std = { example = "show(P:constant({ 1, 3 }):std(0, { unbiased = false }))" },
  norm = { words = { p = "the power (2)" }, example = "show(P:constant({ 3, -4 }):norm())\nshow(P:constant({ 3, -4 }):norm(math.huge))", gradient = "0 at 0" },
  logsumexp = { example = "show(P:constant({ 1000, 1000 }):logsumexp(0))" },
  softmax = { example = "show(P:constant({ 1, 2, 3 }):softmax(-1))" },
  log_softmax = { example = "show(P:constant({ 1, 2, 3 }):log_softmax(-1))" },
  cumsum = { words = { axis = "may be left out of a vector" }, example = "show(P:constant({ 1, 2, 3 }):cumsum(0))" },
  cumprod = { words = { axis = "may be left out of a vector" }, example = "show(P:constant({ 1, 2, 3 }):cumprod(0))" },
  discounted_cumsum = { words = { axis = "which (0)" }, example = "show(P:constant({ 1, 1, 1 }):discounted_cumsum(0.5))" },

  matmul = { example = "local a, b = P:constant({ { 1, 2 }, { 3, 4 } }), P:constant({ 5, 6 })\nshow(a:matmul(b))",
    fails = "local a = P:constant({ { 1, 2, 3 }, { 3, 4, 5 } })\nshow(a:matmul(a))" },
  dot = { example = "show(P:constant({ 1, 2 }):dot(P:constant({ 3, 4 })))" },
  outer = { example = "show(P:constant({ 1, 2 }):outer(P:constant({ 3, 4 })))" },
  einsum = { example = 'local a = P:constant({ { 1, 2 }, { 3, 4 } })\nshow(tempo.einsum("ij->ji", a))\nshow(tempo.einsum("ij,ij->", a, a))', errors = "`option` for an equation that cannot be read, `shape` where one letter has two extents" },

  reshape = { example = "show(tempo.arange({ 6 }):reshape { 2, -1 })", fails = "show(P:constant({ 1, 2, 3 }):reshape { 2, 2 })" },
  flatten = { example = "show(P:constant({ { 1, 2 }, { 3, 4 } }):flatten())" },
  permute = { example = "show(P:constant({ { 1, 2, 3 } }):permute { 1, 0 })" },
  transpose = { example = "show(P:constant({ { 1, 2, 3 } }):transpose(0, 1))" },
  mT = { example = "show(P:constant({ { 1, 2 }, { 3, 4 } }):mT())" },
  expand = { example = "show(P:constant({ { 1 }, { 2 } }):expand { 2, 3 })" },
  squeeze = { words = { axis = "which (all of extent 1)" }, example = "print(P:constant({ { { 1, 2 } } }):squeeze(0):shape()[1])" },
  unsqueeze = { example = "show(P:constant({ 1, 2 }):unsqueeze(-1))" },
  split = { words = { axis = "which (0)" }, example = "for _, part in ipairs(P:constant({ 1, 2, 3 }):split(2)) do show(part) end", returns = { "tempo.Tensor[]" } },
  chunk = { words = { axis = "which (0)" }, example = "for _, part in ipairs(P:constant({ 1, 2, 3, 4 }):chunk(2)) do show(part) end", returns = { "tempo.Tensor[]" } },
  pad = { example = "show(P:constant({ 1, 2 }):pad({ 1, 2 }, 9))" },
  flip = { example = "show(P:constant({ { 1, 2 }, { 3, 4 } }):flip(0))" },
  roll = { example = "show(P:constant({ 1, 2, 3 }):roll(1))" },
  slice = { example = "show(P:constant({ 1, 2, 3, 4 }):slice(0, 1, 4, 2))",
    fails = "show(P:constant({ 1, 2, 3 }):slice(0, -1))" },
  select = { example = "show(P:constant({ { 1, 2 }, { 3, 4 } }):select(0, 1))",
    errors = "an index expression is judged when compiling, as reads in time are (`domain`); a tensor at the run (`input`)" },
  narrow = { example = "show(P:constant({ 1, 2, 3, 4 }):narrow(0, 1, 2))",
    errors = "an index expression is judged when compiling (`domain`); a tensor at the run (`input`)" },
  cat = { words = { axis = "which (0)" }, example = "show(tempo.cat({ P:constant({ 1, 2 }), P:constant({ 3 }) }, 0))" },
  stack = { words = { axis = "which (0)" }, example = "show(tempo.stack({ P:constant({ 1, 2 }), P:constant({ 3, 4 }) }, 1))" },
  tril = { example = "show(tempo.ones({ 3, 3 }):tril())" },
  triu = { example = "show(tempo.ones({ 3, 3 }):triu(1))" },

  gather = { example = 'local k = P:constant(tempo.array({ { 1 }, { 0 } }, "i64"))\nshow(P:constant({ { 1, 2 }, { 3, 4 } }):gather(1, k))' },
  scatter_add = { example = 'local k = P:constant(tempo.array({ 0, 0, 2 }, "i64"))\nshow(tempo.zeros({ 3 }):scatter_add(0, k, P:constant({ 1, 2, 3 })))' },
  index_select = { example = 'show(P:constant({ { 1, 2 }, { 3, 4 } }):index_select(0, P:constant(tempo.array({ 1, 1, 0 }, "i64"))))', fails = 'show(P:constant({ 1, 2 }):index_select(0, P:constant(tempo.array({ 2 }, "i64"))))' },
  one_hot = { example = 'show(P:constant(tempo.array({ 0, 2 }, "i64")):one_hot(3))' },
  sort = { words = { axis = "which (the last)" }, example = "local v, k = P:constant({ 3, 1, 2 }):sort()\nshow(v)\nshow(k)", returns = { "tempo.Tensor", "tempo.Tensor" } },
  argsort = { words = { axis = "which (the last)" }, example = "show(P:constant({ 3, 1, 2 }):argsort())" },
  topk = { words = { axis = "which (the last)" }, example = "local v, k = P:constant({ 3, 1, 2 }):topk(2)\nshow(v)\nshow(k)", returns = { "tempo.Tensor", "tempo.Tensor" } },

  relu = { example = "show(P:constant({ -1, 2 }):relu())" },
  leaky_relu = { example = "show(P:constant({ -1, 2 }):leaky_relu(0.1))" },
  elu = { example = "show(P:constant({ -1, 2 }):elu())" },
  gelu = { example = "show(P:constant({ -1, 2 }):gelu())" },
  silu = { example = "show(P:constant({ -1, 2 }):silu())" },
  softplus = { example = "show(P:constant({ -1, 0, 30 }):softplus())" },

  conv1d = { example = "local x = P:constant { { { 1, 2, 3, 4 } } }                          -- (1, 1, 4)\nshow(x:conv1d(P:constant { { { 1, 1 } } }))\nshow(x:conv1d(P:constant { { { 1, 0, -1 } } }, { padding = \"same\" }))" },
  conv2d = { example = "local x = P:constant { { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } } } }\nshow(x:conv2d(P:constant { { { { 1, 0 }, { 0, 1 } } } }))",
    fails = "local x = P:constant { { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } } } }\nshow(x:conv2d(P:constant { { { 1 } } }))" },
  conv_transpose2d = { example = "show(P:constant({ { { { 1, 2 } } } }):conv_transpose2d(P:constant { { { { 1, 10 } } } }, { stride = 2 }))" },
  max_pool2d = { words = { stride = "the distance between windows (the kernel's size)" }, example = "local x = P:constant { { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } } } }\nshow(x:max_pool2d(2, 1))",
    fails = "local x = P:constant { { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } } } }\nshow(x:max_pool2d(4))" },
  avg_pool2d = { words = { stride = "the distance between windows (the kernel's size)" }, example = "local x = P:constant { { { { 1, 2, 3 }, { 4, 5, 6 }, { 7, 8, 9 } } } }\nshow(x:avg_pool2d(3))" },

  batch_norm = { example = "show(P:constant({ { 1, 3 }, { 3, 5 } }):batch_norm(P:constant { 2, 4 }, P:constant { 1, 1 }))\nshow((P:constant({ { 1, 3 }, { 3, 5 } }):batch_norm { training = true }):round())",
    fails = "show(P:constant({ { 1, 3 }, { 3, 5 } }):batch_norm())" },
  layer_norm = { example = "show(P:constant({ { 1, 2, 3 }, { 2, 4, 6 } }):layer_norm { 3 })" },
  rms_norm = { words = { eps = "is added to the mean square (the dtype's epsilon)" }, example = "show(P:constant({ 3, 4 }):rms_norm())" },
  dropout = { example = "show(tempo.ones({ 4 }):dropout(0.5, false))", gradient = "1 / (1 - p) where kept", errors = "`option` for a probability outside [0, 1]" },

  mse_loss = { example = "show(P:constant({ 1, 2 }):mse_loss(P:constant({ 1, 4 })))", fails = 'show(P:constant({ 1 }):mse_loss(P:constant({ 1 }), { reduction = "avg" }))' },
  smooth_l1_loss = { words = { beta = "where the square ends (1)" }, example = "show(P:constant({ 1, 2 }):smooth_l1_loss(P:constant({ 1.5, 5 })))" },
  cross_entropy = { example = 'show(P:constant({ { 2, 0 }, { 0, 1 } }):cross_entropy(P:constant(tempo.array({ 0, 1 }, "i64"))))', errors = "`dtype` for a target that is neither i64 nor of x's shape; `input` at the run for a class that x lacks" },
  nll_loss = { example = 'local p = P:constant({ { 2, 0 }, { 0, 1 } }):log_softmax(1)\nshow(p:nll_loss(P:constant(tempo.array({ 0, 1 }, "i64"))))', errors = "as `cross_entropy`" },
  binary_cross_entropy = { example = "show(P:constant({ 0.9, 0.2 }):binary_cross_entropy(P:constant({ 1, 0 })))" },
  kl_div = { example = 'show(P:constant({ 0.5, 0.5 }):log():kl_div(P:constant({ 0.9, 0.1 }), { reduction = "sum" }))' },

  to = { example = 'show(P:constant({ 1.7, -1.7 }):to "i32")', gradient = "converted back; 0 where either side is no float" },
  detach = { example = "local x = P:constant({ 3 })\nshow((x * x:detach()):sum():detach())" },
}

return methods

-- What the reference says of the rows of src/graph/methods/methods.def beyond their own line: facts
-- that a whole group shares, options, results that are not one tensor, and an example for each row.
-- A spec refuses a row without an example and an entry without a row.
local methods = {}

--- Runs before every example of this page.
methods.prelude = [[
tempo = require "tempo"
P = tempo.program()
x, v, m = P:constant { -1.5, 0.5, 2 }, P:constant { 1, 2, 3 }, P:constant { { 1, 2 }, { 3, 4 } }
function show(x) print(P:compile { outputs = { x = x } }({}, {}).x) end
]]

--- By the first word of a group's heading in methods.def: a title and the facts that hold unless a
--- row says otherwise.
methods.groups = {
  creation = { "Creation",
    "Extents are integers, bounds and dims: `{T, 3}`. Options of all: `dtype`; `domain`, the dims over which it varies (none); `name`, of a random one also its stream of numbers; of a random one "
    .. "`key`, an i64 scalar whose value takes the place of the point: points of one key draw the same, and it stands on the key's dims too. "
    .. "Errors: `shape` for a negative extent, `option` for an unknown dtype or a second random tensor of one name. The formulas of the random ones are in [random.md](../random.md)." },
  arithmetic = { "Arithmetic",
    "Operators `+ - * / % ^ //` and unary `-` are these methods. Integers wrap. Errors: `shape` where extents do not broadcast." },
  comparisons = { "Comparison and logic",
    "Both sides of a comparison are promoted first; a number that the tensor's dtype does not have makes it wider instead of wrapping. `land lor lnot` take bool. Errors: `shape`, and `dtype` for "
    .. "logic on numbers. Lua's own `<`, `<=` raise, `==` is identity." },
  reductions = { "Reductions and scans",
    "Axes count from 0, negative ones from the end; without an axis all *spatial* axes, never a temporal dim. "
    .. "Of nothing: sum 0, prod 1, any false, all true, max -inf and min +inf of floats, logsumexp -inf, mean and var NaN. Errors: `shape` for an axis that x lacks or that is named twice; "
    .. "`input` at the run for max, min of integers and argmax, argmin of nothing." },
  contraction =
    { "Contraction",
    "f16 and bf16 accumulate in f32. A vector is a row on the left, a column on the right. Errors: `shape` where inner sizes differ." },
  movement = { "Movement",
    "Gradients are moved back; where one element stands in several places (`expand`), summed. Most of these are views and cost nothing. "
    .. "Errors: `shape` for axes that do not exist and sizes that do not fit; `domain` for constant indices below 0, which never wrap." },
  by = { "By data",
    "Indices are i64 (other integers convert) and are checked at the run: one out of range is the error `input`. The gradient goes to the elements that were taken; 0 for indices." },
  activations = { "Activations", "Computed in f32 at least and rounded once." },
  convolution =
    { "Convolution and pooling", "Names, shapes and defaults are PyTorch's. Errors: `shape`." },
  normalisation = { "Normalisation and dropout",
    "Errors: `shape` where the given shape is not x's last axes." },
  losses = { "Losses",
    "They reduce *spatial* axes only: over time write `loss[0 .. T]:sum(0)`, or nothing, for a gradient sums a loss over all its points anyway. Errors: `option` for an unknown reduction, `shape`." },
  types = { "Types", "" },
}

--- What arguments that may be left out mean, and their defaults; `words` of a row says it of that
--- row.
methods.words = {
  dtype = "the dtype of the result",
    domain = "the dims over which it varies: a sequence of dims, or of tensors that stand for theirs",
  key = "an i64 scalar whose value takes the place of the point's coordinates: points of one key draw the same; the draw stands on its dims too",
  name = "names it; of a random tensor also its stream of numbers, which must be its own",
    keepdim = "reduced axes stay, with extent 1",
  axis = "which (all)", p = "the probability (0.5)",
    correction = "what is subtracted from the count (1)",
  unbiased = "`true` is correction 1, `false` 0", lo = "the first element (0)",
    hi = "after the last element (the extent)", value = "what is put there (0)",
  mode = "only `\"constant\"`", diagonal = "which diagonal (0): above the main one where positive",
    descending = "largest first", stable = "sorting is always stable",
    largest = "`false`: the smallest",
  sorted = "results are always sorted", negative_slope = "the factor below 0 (0.01)",
    alpha = "the factor below 0 (1)", beta = "sharpness (1)",
  approximate = "`\"none\"` or `\"tanh\"`", threshold = "above it the identity (20)",
    weight = "multiplies: one number for each element, channel or class (1)", bias = "is added (0)",
  eps = "is added to the variance (1e-5)", training = "`false`: what holds after training",
    reduction = "`\"mean\"`, `\"sum\"` or `\"none\"`",
    ignore_index = "targets of this class count nothing (-100)",
  label_smoothing = "share of the target spread over all classes (0)",
    log_target = "the target holds log probabilities", start = "the first (0)",
    stop = "the last (-1)",
  stride = "the distance between windows (1)",
    padding = "elements added at both ends of each spatial axis (0)",
    dilation = "the distance between the elements of a window (1)",
  groups = "channels are cut into so many groups (1), each with weights of its own",
    output_padding = "elements added at the far end of the result (0)",
    ceil_mode = "`true`: windows that reach over the end count",
  count_include_pad = "`false`: padding does not count",
    divisor_override = "divides instead of the number of elements",
    momentum = "the share of the new in running statistics (0.1)",
  running_mean = "what is subtracted, one number for each channel",
    running_var = "what it is divided by, squared",
  step = "the distance (1)", shape = "the last axes (the last one)",
}

--- By name: example; fails, an example of an error; words, of arguments, in place of those above;
--- returns, types for the annotations; gradient and errors, what is special about them.
methods.rows = {
  zeros = { example = "show(tempo.zeros { 2, 3 })" },
  ones = { example = 'show(tempo.ones({ 3 }, { dtype = "i64" }))' },
  full = { example = "show(tempo.full({ 2 }, 7))",
    errors = "`shape` for a value that is no scalar" },
  eye = { example = "show(tempo.eye { 2, 3 })" },
  arange = { example = "show(tempo.arange { 4 })\nshow(tempo.arange({ 3 }, 10, 5))" },
  linspace = { example = "show(tempo.linspace({ 5 }, 0, 1))" },
  uniform = { example =
    "local u = tempo.uniform({ 1000 })\nshow((u:mean() * 10):round())\nlocal k = P:constant(tempo.array(-3, \"i64\"))\nshow(tempo.uniform({ 2 }, { key = k, name = \"u\" }))",
    fails = "show(tempo.uniform({ 2 }, { key = P:constant({ 1, 2 }) }))",
      errors = "`dtype`, `shape` for a key that is no i64 scalar" },
  normal = { example = "show(tempo.normal({ 1000 }):abs():lt(2):sum():gt(900))",
    errors = "as `uniform`" },
  bernoulli = { example = "show(tempo.bernoulli({ 3 }, 1))",
    errors = "as `uniform`; `option` for a probability outside [0, 1]" },
  randint = { words = { hi = "after the last; without it `lo` is, and 0 is the first" },
    example = "show(tempo.randint({ 5 }, 7, 8))" },
  randperm = { example = "show(tempo.randperm({ 5 }):sort())" },

  add = { example = "show(v + 10)", fails = "show(v + P:constant { 1, 2 })" },
  sub = { example = "show(1 - v)" },
  mul = { example = "show(P:constant({ { 1 }, { 2 } }) * P:constant({ 3, 4 }))" },
  div = { example = 'show(tempo.arange({ 3 }, { dtype = "i64" }) / 2)' },
  pow = { example = "show(v ^ 2)", errors = "`dtype` for a negative power of integers" },
  mod = { example = "show(x % 2)", gradient = "1 for x; -(x // y) for y",
    errors = "`input` at the run for integers by 0" },
  floordiv = { example = "show(x:floordiv(2))", errors = "`input` at the run for integers by 0" },
  minimum = { example = "show(x:minimum(1))",
    gradient = "to the smaller; at ties to the first operand" },
  maximum = { example = "show(x:maximum(1))",
    gradient = "to the larger; at ties to the first operand" },
  neg = { example = "show(-x)" },
  abs = { example = "show(x:abs())", gradient = "sign(x), 0 at 0" },
  sign = { example = "show(x:sign())" },
  exp = { example = "show(v:exp())" },
  expm1 = { example = "show(v:expm1())" },
  log = { example = "show(v:log())" },
  log1p = { example = "show(v:log1p())" },
  log2 = { example = "show(v:log2())" },
  sqrt = { example = "show(v:sqrt())" },
  rsqrt = { example = "show(v:rsqrt())" },
  square = { example = "show(x:square())" },
  reciprocal = { example = "show(v:reciprocal())" },
  sin = { example = "show(v:sin())" },
  cos = { example = "show(v:cos())" },
  tan = { example = "show(v:tan())" },
  tanh = { example = "show(v:tanh())" },
  sigmoid = { example = "show(v:sigmoid())" },
  erf = { example = "show(v:erf())" },
  floor = { example = "show(x:floor())" },
  ceil = { example = "show(x:ceil())" },
  round = { example = "show(x:round())" },
  clamp = { words = { lo = "the least (none)", hi = "the greatest (none)" },
    example = "show(x:clamp(-1, 1))", errors = "`option` without a limit" },

  eq = { example = "show(v:eq(2))" },
  ne = { example = "show(v:ne(2))" },
  lt = { example = "show(v:lt(2))", fails = "show(v < x)" },
  le = { example = "show(v:le(2))" },
  gt = { example = "show(v:gt(2))" },
  ge = { example = "show(v:ge(2))" },
  land = { example = "show(v:gt(1):land(v:lt(3)))", fails = "show(v:land(x))" },
  lor = { example = "show(v:lt(2):lor(v:gt(2)))" },
  lnot = { example = "show(v:eq(2):lnot())" },
  where = { example = "show(tempo.where(x:gt(0), x, 0))", gradient = "to the side that was taken" },

  sum = { example = "show(m:sum(0))\nshow(m:sum())",
    fails = "show(v:sum(1))" },
  prod = { example = "show(m:prod())" },
  mean = { example = "show(m:mean(1))" },
  max = { example = "show(m:max(1))" },
  min = { example = "show(m:min(1, { keepdim = true }))" },
  any = { example = "show(x:gt(1):any())" },
  all = { example = "show(x:gt(1):all())" },
  argmax = { example = "show(m:argmax(1))" },
  argmin = { example = "show(m:argmin(1))" },
  var = { example = "show(v:var())\nshow(v:var(0, { correction = 0 }))" },
  std = { example = "show(v:std(0, { unbiased = false }))" },
  norm = { words = { p = "the power (2)" },
    example = "show(P:constant({ 3, -4 }):norm())\nshow(P:constant({ 3, -4 }):norm(math.huge))" },
  logsumexp = { example = "show(v:logsumexp())" },
  softmax = { example = "show(v:softmax(-1))" },
  log_softmax = { example = "show(v:log_softmax(-1))" },
  cumsum = { words = { axis = "may be left out of a vector" }, example = "show(v:cumsum(0))" },
  cumprod = { words = { axis = "may be left out of a vector" }, example = "show(v:cumprod(0))" },
  discounted_cumsum = { words = { axis = "which (0)" },
    example = "show(v:discounted_cumsum(0.5))" },

  matmul = { example = "show(m:matmul(P:constant { 5, 6 }))",
    fails = "show(m:matmul(v))" },
  dot = { example = "show(v:dot(v))" },
  outer = { example = "show(P:constant({ 1, 2 }):outer(v))" },
  einsum = { example = 'show(tempo.einsum("ij->ji", m))\nshow(tempo.einsum("ij,ij->", m, m))',
    errors = "`option` for an equation that cannot be read, `shape` where one letter has two extents" },

  reshape = { example = "show(tempo.arange({ 6 }):reshape { 2, -1 })",
    fails = "show(v:reshape { 2, 2 })" },
  flatten = { example = "show(m:flatten())" },
  permute = { example = "show(m:permute { 1, 0 })" },
  transpose = { example = "show(m:transpose(0, 1))" },
  mT = { example = "show(m:mT())" },
  expand = { example = "show(v:expand { 2, 3 })" },
  squeeze = { words = { axis = "which (all of extent 1)" },
    example = "show(v:unsqueeze(0):squeeze(0))" },
  unsqueeze = { example = "show(v:unsqueeze(0))" },
  split = { words = { axis = "which (0)" },
    example = "for _, part in ipairs(v:split(2)) do show(part) end",
    returns = { "tempo.Tensor[]" } },
  chunk = { words = { axis = "which (0)" },
    example = "for _, part in ipairs(v:chunk(3)) do show(part) end",
    returns = { "tempo.Tensor[]" } },
  pad = { example = "show(v:pad({ 1, 2 }, 9))" },
  flip = { example = "show(m:flip(0))" },
  roll = { example = "show(v:roll(1))" },
  slice = { example = "show(v:slice(0, 0, 3, 2))",
    fails = "show(v:slice(0, -1))" },
  select = { example = "show(m:select(0, 1))",
    errors = "an index expression is judged when compiling, as reads in time are (`domain`); a tensor at the run (`input`)" },
  narrow = { example = "show(v:narrow(0, 1, 2))",
    errors = "an index expression is judged when compiling (`domain`); a tensor at the run (`input`)" },
  cat = { words = { axis = "which (0)" }, example = "show(tempo.cat({ v, x }))" },
  stack = { words = { axis = "which (0)" }, example = "show(tempo.stack({ v, x }))" },
  tril = { example = "show(tempo.ones({ 3, 3 }):tril())" },
  triu = { example = "show(tempo.ones({ 3, 3 }):triu(1))" },

  gather = { example = 'show(m:gather(1, P:constant(tempo.array({ { 1 }, { 0 } }, "i64"))))' },
  scatter_add =
    { example = 'show(v:scatter_add(0, P:constant(tempo.array({ 0, 0, 2 }, "i64")), v))' },
  index_select = { example = 'show(m:index_select(0, P:constant(tempo.array({ 1, 1 }, "i64"))))',
    fails = 'show(v:index_select(0, P:constant(tempo.array(3, "i64"))))' },
  put = { words =
    { value = "of x's dtype and of its shape without the axis; a scalar fills the place" },
    example = 'local k = P:constant(tempo.array(2, "i64"))\nshow(tempo.zeros({ 3, 2 }):put(0, k, { 7, 8 }))\nshow(tempo.zeros({ 3 }):put(0, 1, 5))',
    fails = 'show(tempo.zeros({ 3 }):put(0, P:constant(tempo.array(3, "i64")), 1))',
    errors = "an index expression is judged when compiling, as reads in time are (`domain`); a tensor at the run (`input`)" },
  one_hot = { example = 'show(P:constant(tempo.array({ 0, 2 }, "i64")):one_hot(3))' },
  sort = { words = { axis = "which (the last)" },
    example = "local v, k = x:sort { descending = true }\nshow(v)\nshow(k)",
    returns = { "tempo.Tensor", "tempo.Tensor" } },
  argsort = { words = { axis = "which (the last)" },
    example = "show(x:argsort { descending = true })" },
  topk = { words = { axis = "which (the last)" },
    example = "local v, k = x:topk(2)\nshow(v)\nshow(k)",
    returns = { "tempo.Tensor", "tempo.Tensor" } },

  relu = { example = "show(x:relu())" },
  leaky_relu = { example = "show(x:leaky_relu(0.1))" },
  elu = { example = "show(x:elu())" },
  gelu = { example = "show(x:gelu())" },
  silu = { example = "show(x:silu())" },
  softplus = { example = "show(x:softplus())" },

  conv1d = { example =
    "local s = v:reshape { 1, 1, 3 }\nshow(s:conv1d(P:constant { { { 1, 1 } } }))\nshow(s:conv1d(s, { padding = \"same\" }))" },
  conv2d = { example = "show(tempo.ones({ 1, 1, 3, 3 }):conv2d(m:reshape { 1, 1, 2, 2 }))",
    fails = "show(tempo.ones({ 1, 1, 3, 3 }):conv2d(m))" },
  conv_transpose2d =
    { example = "show(P:constant({ { { { 1, 2 } } } }):conv_transpose2d(P:constant { { { { 1, 10 } } } }, { stride = 2 }))" },
  max_pool2d = { words = { stride = "the distance between windows (the kernel's size)" },
    example = "show(tempo.arange({ 9 }):reshape({ 1, 1, 3, 3 }):max_pool2d(2, 1))",
    fails = "show(tempo.ones({ 1, 1, 3, 3 }):max_pool2d(4))" },
  avg_pool2d = { words = { stride = "the distance between windows (the kernel's size)" },
    example = "show(tempo.arange({ 9 }):reshape({ 1, 1, 3, 3 }):avg_pool2d(3))" },

  batch_norm = {
    example = "show(m:batch_norm(P:constant { 2, 3 }, P:constant { 1, 1 }))\nshow(m:batch_norm { training = true })",
    fails = "show(m:batch_norm())" },
  layer_norm = { example = "show(m:layer_norm())" },
  rms_norm = { words = { eps = "is added to the mean square (the dtype's epsilon)" },
    example = "show(v:rms_norm())" },
  normalized = { words = { eps = "is added to the deviation (1e-8)" },
    example = "show(m:normalized(1))" },
  dropout = { example = "show(v:dropout(0.5, false))", gradient = "1 / (1 - p) where kept",
    errors = "`option` for a probability outside [0, 1]" },

  mse_loss = { example = "show(x:mse_loss(v))",
    fails = 'show(x:mse_loss(v, { reduction = "avg" }))' },
  smooth_l1_loss = { words = { beta = "where the square ends (1)" },
    example = "show(x:smooth_l1_loss(v))" },
  cross_entropy = { example = 'show(m:cross_entropy(P:constant(tempo.array({ 0, 1 }, "i64"))))',
    errors = "`dtype` for a target that is neither i64 nor of x's shape; `input` at the run for a class that x lacks" },
  nll_loss = { example =
    'show(m:log_softmax(1):nll_loss(P:constant(tempo.array({ 0, 1 }, "i64"))))',
    errors = "as `cross_entropy`" },
  binary_cross_entropy =
    { example = "show(P:constant({ 0.9, 0.2 }):binary_cross_entropy(P:constant({ 1, 0 })))" },
  kl_div = { example =
    'show(P:constant({ 0.5, 0.5 }):log():kl_div(P:constant({ 0.9, 0.1 }), { reduction = "sum" }))' },

  dequantize = { gradient = "none",
    errors = "`dtype` of other than u8, `shape` where the axis is no "
      .. "multiple of a block, `option` for an unknown format",
    example = 'local w = tempo.array(3, "f32", { 2, 32 }):quantize "q8_0"\n'
      .. 'show(P:constant(w):dequantize("q8_0"):sum(1))' },
  to = { example = "show(x:to \"i32\")",
    gradient = "converted back; 0 where either side is no float" },
  detach = { example = "show((v * v:detach()):sum():detach())" },
}

return methods

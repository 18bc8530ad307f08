-- The functions that each differentiable row of methods.def is tried with: expressions in a and b
-- (f64, of shape {2, 3}) and k (i64 indices of shape {2, 3} below 2). Rows of one or two tensors,
-- and reductions, say it by their signature; the others are listed. first: the first recipe works
-- also on ranges, where a and b are {n, 2, 3} and n is dynamic. filled: it has no finite value of
-- nothing.
local rows = require "spec.rows"

local positive = { log = true, log2 = true, sqrt = true, rsqrt = true }
local filled = {}
for name in ([[mean max min var std norm logsumexp layer_norm mse_loss smooth_l1_loss cross_entropy nll_loss binary_cross_entropy
  kl_div]]):gmatch "%S+" do
  filled[name] = true
end

local listed = {
  full = { "tempo.full({ 2, 2 }, a:sum(), { dtype = 'f64' })" },
  div = { "a:div(b * b + 0.5)", "a / (b + 3)", "(a + 3) / b:select(0, 1):square():add(1)",
    "1 / (a * a + 1)" },
  pow = { "(a * a + 0.5):pow(b)", "a ^ 2", "a ^ 3", "(a * a + 0.5) ^ -1.5", "1.5 ^ a" },
  mod = { "a:mod(b * b + 0.7)", "(a + 4) % 1.5" },
  log1p = { "(a * a):log1p()" },
  tan = { "(a * 0.5):tan()" },
  reciprocal = { "(a * a + 0.5):reciprocal()" },
  clamp = { "a:clamp(-0.5, 0.6)", "a:clamp(-0.3)", "a:clamp(nil, 0.2)", "a:clamp(b - 0.5, b + 0.1)",
    "a:clamp(b:select(0, 0) - 0.2, 0.9)" },
  where = { "tempo.where(a:gt(b), a * b, b:sin())", "tempo.where(k:eq(0), a, 2)",
    "tempo.where(a:lt(0), a:select(0, 1), b)" },
  discounted_cumsum = { "a:discounted_cumsum(0.7)", "a:discounted_cumsum(0.5, 1)" },
  cumsum = { "a:cumsum(0)", "a:cumsum(1)", "a:cumsum(-1) * b:cumsum(0)" },
  cumprod = { "a:cumprod(0)", "a:cumprod(1)", "(a * b):cumprod(-1)" },
  softmax = { "a:softmax(0)", "a:softmax()", "a:softmax(1) * b" },
  log_softmax = { "a:log_softmax(0)", "a:log_softmax()", "a:log_softmax(-1) * b" },
  var = { "a:var(0, { correction = 0 })", "a:var()", "a:var(1, { keepdim = true })" },
  std = { "a:std(0, { correction = 0 })", "a:std()", "(a * b):std(1, { unbiased = false })" },
  norm = { "a:norm(0)", "a:norm(nil, { p = 1 })", "a:norm(1, { p = 3 })",
    "a:norm(1, { p = math.huge, keepdim = true })", "a:norm { 0, 1 }" },
  matmul = { "a:mT():matmul(b)", "a:matmul(b:select(0, 1))", "a:select(0, 0):matmul(b:mT())",
    "tempo.stack({ a, b }):matmul(b:mT())" },
  dot = { "a:flatten():dot(b:flatten())", "a:select(0, 1):dot(a:select(0, 0))" },
  outer = { "a:select(0, 0):outer(b:select(0, 1))", "a:select(1, 0):outer(a:select(0, 0))" },
  einsum = {
    'tempo.einsum("ij,ij->j", a, b)', 'tempo.einsum("ij,kj->ik", a, b)',
      'tempo.einsum("ij,ij,ij->", a, b, a)', 'tempo.einsum("ij->ji", a)' },
  reshape = { "a:reshape { 3, 2 }", "a:reshape { -1 } * b:reshape { 6 }" },
  flatten = { "a:flatten()", "a:unsqueeze(1):flatten(0, 1)" },
  permute = { "a:permute { 1, 0 }" },
  transpose = { "a:transpose(0, 1)", "a:transpose(-1, -2):sin()" },
  mT = { "a:mT()" },
  expand = { "a:unsqueeze(0):expand { 2, 2, 3 }", "a:select(1, 0):expand { 3, 2 }",
    "a:slice(0, 0, 1):expand { 2, -1 } * b" },
  squeeze = { "a:slice(0, 1, 2):squeeze(0)", "a:unsqueeze(1):squeeze()" },
  unsqueeze = { "a:unsqueeze(1) * b", "a:unsqueeze(-1)" },
  split = { "tempo.cat(a:split(2, 1), 1)",
    "(function(p) return p[1] * 2 + p[2]:mul(p[3]) end)(a:split({ 1, 1, 1 }, 1))" },
  chunk = { "(function(p) return p[1] * p[2]:select(1, 0):unsqueeze(1) end)(a:chunk(2, 1))" },
  pad = { "a:pad({ 1, 2 }, 0.5)", "a:pad { 0, 1, 2, 0 }" },
  flip = { "a:flip(1)", "a:flip { 0, 1 } * b", "a:flip()" },
  roll = { "a:roll(1, 1)", "a:roll({ 1, -1 }, { 0, 1 })", "a:roll(2)" },
  slice = { "a:slice(1, 0, 3, 2)", "a:slice(0, 1)", "a:slice(1, nil, 2) * b:slice(1, 1, 3)" },
  select = { "a:select(1, 2)", "a:select(0, k:select(0, 1):select(0, 2))" },
  narrow = { "a:narrow(1, 1, 2)", "a:narrow(1, k:select(0, 0):select(0, 0), 2)" },
  cat = { "tempo.cat({ a, b }, 1)", "tempo.cat { a, a * b, b }" },
  stack = { "tempo.stack({ a, b }, 1)", "tempo.stack({ a, a:sin() }, -1)" },
  tril = { "a:tril()", "(a * b):tril(-1)" },
  triu = { "a:triu()", "a:triu(1) * b" },
  gather = { "a:gather(0, k)", "a:gather(1, k)",
    "a:gather(1, k:slice(1, 0, 2)) * b:slice(1, 0, 2)" },
  scatter_add = { "a:scatter_add(0, k, b)", "a:scatter_add(1, k, b * a)",
    "a:scatter_add(1, k:slice(1, 0, 1), b)" },
  index_select = { "a:index_select(0, k:select(1, 0))", "a:index_select(1, k:select(0, 1))",
    "a:index_select(1, k:select(0, 0):sum())" },
  put = { "a:put(0, k:select(0, 0):select(0, 0), b:select(0, 1))",
    "a:put(1, 2, b:select(1, 0) * 2)", "a:put(1, 0, 0.5):put(1, k:sum() % 3, a:select(1, 2)) * b" },
  sort = { "(a:sort(1))", "(a:sort(0, { descending = true })) * b", "(a:sort())" },
  topk = { "(a:topk(2, 1))", "(a:topk(1, 0, { largest = false }))" },
  leaky_relu = { "a:leaky_relu(0.3)", "a:leaky_relu()" },
  elu = { "a:elu()", "a:elu(0.4)" },
  gelu = { "a:gelu()", 'a:gelu { approximate = "tanh" }' },
  softplus = { "a:softplus()", "a:softplus(3, 2)" },
  layer_norm = { "a:layer_norm()", "a:layer_norm({ 3 }, b:select(0, 0), b:select(0, 1))",
    "a:layer_norm { 2, 3 }" },
  rms_norm = { "a:rms_norm()", "a:rms_norm({ 3 }, b:select(0, 0))",
    "a:rms_norm({ 2, 3 }, { eps = 0.1 })" },
  normalized = { "a:normalized(1) * b", "a:normalized { eps = 0.1 }" },
  dropout = { "a:dropout { p = 0.3, training = false }" },
  batch_norm = { "a:batch_norm(nil, nil, b:select(0, 0), b:select(0, 1), true)",
    "a:batch_norm(b:select(0, 0), b:select(0, 1):exp())" },
  conv1d = { "a:unsqueeze(0):conv1d(b:unsqueeze(0), nil, 1, 1)",
    "a:unsqueeze(1):conv1d(b:slice(1, 0, 2):unsqueeze(1), b:select(1, 2), { stride = 2, padding = 1 })" },
  conv2d = { "a:reshape({ 1, 1, 2, 3 }):conv2d(b:reshape { 1, 1, 2, 3 }, nil, 1, 1)" },
  conv_transpose2d =
    { "a:reshape({ 1, 1, 2, 3 }):conv_transpose2d(b:reshape { 1, 1, 2, 3 }, nil, 2)" },
  max_pool2d = { "a:reshape({ 1, 1, 2, 3 }):max_pool2d(2, 1)" },
  avg_pool2d = { "a:reshape({ 1, 1, 2, 3 }):avg_pool2d({ 2, 2 }, 1, 1)" },
  mse_loss = { "a:mse_loss(b)", 'a:mse_loss(b, { reduction = "none" })' },
  smooth_l1_loss =
    { "a:smooth_l1_loss(b)", 'a:smooth_l1_loss(b, { beta = 0.4, reduction = "sum" })' },
  cross_entropy = { "a:cross_entropy(b:softmax(1))", "a:cross_entropy(k:select(1, 0))",
    "a:cross_entropy(k:select(1, 1), b:select(0, 0):exp())",
    'a:cross_entropy(k:select(1, 0), { label_smoothing = 0.2, reduction = "none" })',
    "a:cross_entropy(k:select(1, 0), { ignore_index = 1, reduction = 'sum' })" },
  nll_loss = { "a:nll_loss(k:select(1, 0))",
    "a:nll_loss(k:select(1, 1), b:select(0, 0):exp(), { reduction = 'sum' })" },
  binary_cross_entropy = { "a:sigmoid():binary_cross_entropy(b:sigmoid())",
    "a:sigmoid():binary_cross_entropy(b:sigmoid(), a:exp())" },
  kl_div = { "a:kl_div(b:exp())", 'a:kl_div(b, { log_target = true, reduction = "sum" })',
    'a:kl_div(b:exp(), { reduction = "batchmean" })' },
  to = { 'a:to "f64"' },
}

-- Recipes that need the extents they are given.
local static = {}
for name in ([[full matmul dot outer einsum reshape flatten permute expand squeeze split chunk narrow gather scatter_add index_select topk tril triu
  cross_entropy nll_loss batch_norm conv1d conv2d conv_transpose2d max_pool2d avg_pool2d slice select where pad dropout put]]):gmatch "%S+" do
  static[name] = true
end

local function by_signature(row)
  local name, sig = row.name, row.sig
  if sig:find "^x:T axis:A%? | keepdim:B" then
    local of = name == "prod" and "(a + 0.3)" or "a"
    return { ("%s:%s(0)"):format(of, name), ("%s:%s()"):format(of, name),
      ("(%s * b):%s(-1, { keepdim = true })"):format(of, name) }
  end
  if sig:find "^x:[TU] y:[TU]" then
    return { ("a:%s(b)"):format(name), ("a:select(0, 1):%s(b)"):format(name) }
  end
  return { (positive[name] and "(a * a + 0.5):%s()" or "a:%s()"):format(name) }
end

local recipes = {}
for _, row in ipairs(rows) do
  if row.grad == "D" then
    local list = listed[row.name] or by_signature(row)
    recipes[row.name] = { list = list, first = not static[row.name],
      filled = filled[row.name] or false }
  end
end
return recipes

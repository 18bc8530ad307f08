-- The closed list of docs/language.md, section 9: every name a script may call on tensors, in its groups.
local function words(text)
  local list = {}
  for w in text:gmatch "%S+" do list[#list + 1] = w end
  return list
end

return {
  creation = words "zeros ones full eye arange linspace uniform normal bernoulli randint randperm",
  elementwise = words [[add sub mul div pow mod floordiv neg abs sign exp expm1 log log1p log2 sqrt rsqrt square reciprocal sin cos tan tanh
    sigmoid erf floor ceil round clamp minimum maximum]],
  logic = words "eq ne lt le gt ge land lor lnot where",
  reduction = words [[sum mean prod max min any all argmax argmin var std norm logsumexp softmax log_softmax cumsum cumprod
    discounted_cumsum]],
  contraction = words "matmul dot outer einsum",
  movement = words [[reshape flatten permute transpose mT expand squeeze unsqueeze split chunk pad flip roll slice select narrow cat stack
    tril triu]],
  pick = words "gather scatter_add index_select put one_hot sort argsort topk",
  activation = words "relu leaky_relu elu gelu silu softplus",
  window = words "conv1d conv2d conv_transpose2d max_pool2d avg_pool2d",
  normalisation = words "layer_norm rms_norm batch_norm dropout",
  loss = words "mse_loss smooth_l1_loss cross_entropy nll_loss binary_cross_entropy kl_div",
  type = words "to detach",
  -- methods of the handle, which are no operators
  handle = words "backward grad at name shape dtype domain program peek",
  -- functions on tempo that take no operator's row; min and max are of index expressions there
  index = words "min max floordiv mod range",
}

--- Mixtral (Jiang et al. 2024): Llama with a choice of a few experts for each token and layer.
local llama = require "tempo.llm.models.llama"
local linear = require "tempo.llm.net".linear

local mixtral = { weights = llama.weights, forward = llama.forward }

--- `%e` is the expert; files of llama.cpp have the experts of a layer as one array.
local experts = "model.layers.%d.block_sparse_moe.experts.%e."
mixtral.ffn_weights = {
  { "router", "model.layers.%d.block_sparse_moe.gate.weight", "blk.%d.ffn_gate_inp.weight" },
  { "gate", experts .. "w1.weight", "blk.%d.ffn_gate_exps.weight" },
  { "up", experts .. "w3.weight", "blk.%d.ffn_up_exps.weight" },
  { "down", experts .. "w2.weight", "blk.%d.ffn_down_exps.weight" },
}

--- The sum of the chosen experts' SwiGLU, weighted by a softmax over the chosen alone. Only their
--- weights are read.
function mixtral.ffn(net, w, h)
  local c = net.c
  local scores, chosen = linear(h, w.router):topk(c.experts_used)
  local x = h:reshape { 1, 1, c.width }:expand { c.experts_used, 1, c.width }
  local function each(y, name) return linear(y, net:rows_of(name, chosen)) end
  local y = each(each(x, "gate"):silu() * each(x, "up"), "down")
  return (y:reshape { c.experts_used, c.width } * scores:softmax(-1):unsqueeze(-1)):sum(0)
end

return mixtral

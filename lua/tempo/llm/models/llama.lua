--- Llama (Touvron et al. 2023) and its kin: Llama 2 and 3, Mistral (a window), Qwen 2 (biases of q,
--- k, v).
local linear = require "tempo.llm.net".linear

local llama = {}

--- Weights: ours, and the names in files of Hugging Face and of llama.cpp. `%d` is the layer; `?`:
--- may be missing.
llama.weights = {
  { "embed", "model.embed_tokens.weight", "token_embd.weight" },
  { "norm", "model.norm.weight", "output_norm.weight" },
  { "output?", "lm_head.weight", "output.weight" },
  { "attention_norm", "model.layers.%d.input_layernorm.weight", "blk.%d.attn_norm.weight" },
  { "q", "model.layers.%d.self_attn.q_proj.weight", "blk.%d.attn_q.weight" },
  { "k", "model.layers.%d.self_attn.k_proj.weight", "blk.%d.attn_k.weight" },
  { "v", "model.layers.%d.self_attn.v_proj.weight", "blk.%d.attn_v.weight" },
  { "q_bias?", "model.layers.%d.self_attn.q_proj.bias", "blk.%d.attn_q.bias" },
  { "k_bias?", "model.layers.%d.self_attn.k_proj.bias", "blk.%d.attn_k.bias" },
  { "v_bias?", "model.layers.%d.self_attn.v_proj.bias", "blk.%d.attn_v.bias" },
  { "o", "model.layers.%d.self_attn.o_proj.weight", "blk.%d.attn_output.weight" },
  { "o_bias?", "model.layers.%d.self_attn.o_proj.bias", "blk.%d.attn_output.bias" },
  { "ffn_norm", "model.layers.%d.post_attention_layernorm.weight", "blk.%d.ffn_norm.weight" },
}
llama.ffn_weights = {
  { "gate", "model.layers.%d.mlp.gate_proj.weight", "blk.%d.ffn_gate.weight" },
  { "gate_bias?", "model.layers.%d.mlp.gate_proj.bias", "blk.%d.ffn_gate.bias" },
  { "up", "model.layers.%d.mlp.up_proj.weight", "blk.%d.ffn_up.weight" },
  { "up_bias?", "model.layers.%d.mlp.up_proj.bias", "blk.%d.ffn_up.bias" },
  { "down", "model.layers.%d.mlp.down_proj.weight", "blk.%d.ffn_down.weight" },
  { "down_bias?", "model.layers.%d.mlp.down_proj.bias", "blk.%d.ffn_down.bias" },
}

--- Shazeer's SwiGLU (2020).
function llama.ffn(_, w, h)
  local gate, up = linear(h, w.gate, w.gate_bias), linear(h, w.up, w.up_bias)
  return linear(gate:silu() * up, w.down, w.down_bias)
end

--- Hidden states after the last norm, and logits, of the tokens `id` (an i64 scalar on the net's
--- rows).
function llama.forward(net, id)
  local c, w, l = net.c, net.w, net.l
  local function norm(x, scale) return x:rms_norm({ c.width }, scale, c.eps) end

  local x = net:stream()
  x[{ l = 0 }] = net:row("embed", id)

  local h = norm(x, w.attention_norm)
  local q = net:rotate(linear(h, w.q, w.q_bias):reshape { c.heads, c.head })
  local k = net:rotate(linear(h, w.k, w.k_bias):reshape { c.kv_heads, c.head })
  local v = linear(h, w.v, w.v_bias):reshape { c.kv_heads, c.head }
  local y = x + linear(net:attention(q, k, v), w.o, w.o_bias)
  y = y + c.model.ffn(net, w, norm(y, w.ffn_norm))
  x[l + 1] = y

  local last = norm(y[{ l = net.L - 1 }], w.norm)
  return last, linear(last, w.output or w.embed)
end

return llama

--- GPT-2 (Radford et al. 2019).
local linear = require "tempo.llm.net".linear

local gpt2 = {}

--- Weights: ours, and the names in files of Hugging Face and of llama.cpp. The former have matrices
--- as (in, out): `'`.
gpt2.weights = {
  { "embed", "transformer.wte.weight", "token_embd.weight" },
  { "places", "transformer.wpe.weight", "position_embd.weight" },
  { "norm", "transformer.ln_f.weight", "output_norm.weight" },
  { "norm_bias", "transformer.ln_f.bias", "output_norm.bias" },
  { "output?", "lm_head.weight", "output.weight" },
  { "attention_norm", "transformer.h.%d.ln_1.weight", "blk.%d.attn_norm.weight" },
  { "attention_norm_bias", "transformer.h.%d.ln_1.bias", "blk.%d.attn_norm.bias" },
  { "qkv'", "transformer.h.%d.attn.c_attn.weight", "blk.%d.attn_qkv.weight" },
  { "qkv_bias", "transformer.h.%d.attn.c_attn.bias", "blk.%d.attn_qkv.bias" },
  { "o'", "transformer.h.%d.attn.c_proj.weight", "blk.%d.attn_output.weight" },
  { "o_bias", "transformer.h.%d.attn.c_proj.bias", "blk.%d.attn_output.bias" },
  { "ffn_norm", "transformer.h.%d.ln_2.weight", "blk.%d.ffn_norm.weight" },
  { "ffn_norm_bias", "transformer.h.%d.ln_2.bias", "blk.%d.ffn_norm.bias" },
  { "up'", "transformer.h.%d.mlp.c_fc.weight", "blk.%d.ffn_up.weight" },
  { "up_bias", "transformer.h.%d.mlp.c_fc.bias", "blk.%d.ffn_up.bias" },
  { "down'", "transformer.h.%d.mlp.c_proj.weight", "blk.%d.ffn_down.weight" },
  { "down_bias", "transformer.h.%d.mlp.c_proj.bias", "blk.%d.ffn_down.bias" },
}
gpt2.ffn_weights = {}

--- Hidden states after the last norm, and logits, of the tokens `id` (an i64 scalar on the net's
--- rows).
function gpt2.forward(net, id)
  local c, w, l = net.c, net.w, net.l
  local function norm(x, name)
    return x:layer_norm({ c.width }, w[name], w[name .. "_bias"], c.eps)
  end
  local function heads(x) return x:reshape { c.heads, c.head } end

  local x = net:stream()
  x[{ l = 0 }] = net:row("embed", id) + net:row("places", net.position)

  local qkv = linear(norm(x, "attention_norm"), w.qkv, w.qkv_bias):chunk(3, -1)
  local y = x + linear(net:attention(heads(qkv[1]), heads(qkv[2]), heads(qkv[3])), w.o, w.o_bias)
  local up = linear(norm(y, "ffn_norm"), w.up, w.up_bias):gelu { approximate = c.gelu or "tanh" }
  y = y + linear(up, w.down, w.down_bias)
  x[l + 1] = y

  local last = norm(y[{ l = net.L - 1 }], "norm")
  return last, linear(last, w.output or w.embed)
end

return gpt2

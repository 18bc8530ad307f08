-- A small language model's text on the device that TEMPO_DEVICE says, for spec/gpu/decode_spec.lua.
-- arg: the format of its matrices. Prints ids, their log probabilities, and what ran where.
local tempo = require "tempo"
local helper = require "spec.helper"
local format, width, words = arg[1], 256, 64
local r, arrays = helper.rng(3), {}

local function add(name, rows, columns)
  local shape = { rows, columns }
  local a = helper.array(helper.numbers(shape, function()
    return columns and (r() - 0.5) * 0.3 or 1 + r() * 0.1
  end), "f32", shape)
  if columns and format:find "^q" then a = { tempo.quantize(a, format), format }
  elseif columns then a = tempo.array(a, format) end
  arrays[name] = a
end
add("model.embed_tokens.weight", words, width)
add("model.norm.weight", width)
for _, name in ipairs { "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
    "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj" } do
  local few = name:find "[kv]_proj"
  add("model.layers.0." .. name .. ".weight", few and width / 2 or width, width)
end
add("model.layers.0.input_layernorm.weight", width)
add("model.layers.0.post_attention_layernorm.weight", width)
local m = tempo.llm.model({ model_type = "llama", hidden_size = width, num_hidden_layers = 1,
  num_attention_heads = 4, num_key_value_heads = 2, intermediate_size = width, vocab_size = words,
  max_position_embeddings = 512, rms_norm_eps = 1e-5, hidden_act = "silu",
  tie_word_embeddings = true, rope_parameters = { rope_type = "default", rope_theta = 10000 } },
  arrays)
m.config.eos = {}
local ids, info = m:generate({ 1, 5, 9, 60, 17 }, { max_tokens = 4, logprobs = true })
print(table.concat(ids, " "))
for _, v in ipairs(info.logprobs) do print(("%.9g"):format(v)) end
print(os.getenv "TEMPO_DEVICE" ~= "" and m._compiled["next k v logits"]:explain "kernels" or "")

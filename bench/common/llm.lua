--- Models of bench/llm.lua: weights of the true shapes, in memory.
local tempo = require "tempo"
local Net = require "tempo.llm.net"
local config = require "tempo.llm.config"
local llama = require "tempo.llm.models.llama"
local core = getmetatable(tempo)

local models = {}

--- Shapes of Llama 3.2 1B, with so many layers, and a window if one is given.
function models.settings(layers, window)
  return { model_type = window and "mistral" or "llama", hidden_size = 2048, num_hidden_layers = layers,
    num_attention_heads = 32, num_key_value_heads = 8, head_dim = 64, intermediate_size = 8192, vocab_size = 128256,
    max_position_embeddings = 131072, rms_norm_eps = 1e-5, tie_word_embeddings = true, sliding_window = window,
    rope_parameters = { rope_type = "default", rope_theta = 500000 } }
end

-- Each layer has arrays of its own, as a file has.
local function arrays(s, make)
  local D, kv, F = s.hidden_size, s.num_key_value_heads * s.head_dim, s.intermediate_size
  local out = { ["model.embed_tokens.weight"] = make { s.vocab_size, D },
    ["model.norm.weight"] = tempo.array(1, "f32", { D }) }
  for l = 0, s.num_hidden_layers - 1 do
    local p = ("model.layers.%d."):format(l)
    for name, shape in pairs { ["self_attn.q_proj"] = { D, D }, ["self_attn.k_proj"] = { kv, D },
      ["self_attn.v_proj"] = { kv, D }, ["self_attn.o_proj"] = { D, D },
      ["mlp.gate_proj"] = { F, D }, ["mlp.up_proj"] = { F, D }, ["mlp.down_proj"] = { D, F } } do
      out[p .. name .. ".weight"] = make(shape)
    end
    for _, name in ipairs { "input_layernorm", "post_attention_layernorm" } do
      out[p .. name .. ".weight"] = tempo.array(1, "f32", { D })
    end
  end
  return out
end

--- A model with random weights of a dtype (q8, q4: in blocks), and their bytes.
function models.random(settings, dtype)
  local bytes, made, format = 0, 0, ({ q8 = "q8_0", q4 = "q4_0" })[dtype]
  local function make(shape)
    local P = tempo.program()
    local x = (tempo.uniform(shape, { name = "w" .. made }) - 0.5) * 0.06
    made = made + 1
    local to = format and "f32" or dtype
    if to ~= "f32" then x = x:to(to) end
    local a = P:compile { outputs = { x = x + P:constant(tempo.array(0, to)) } }({}, {}).x
    if format then a = tempo.quantize(a, format) end
    bytes = bytes + a:shape()[1] * a:shape()[2] * (format and 1 or dtype == "f32" and 4 or 2)
    return format and { a, format } or a
  end
  return tempo.llm.model(settings, arrays(settings, make)), bytes
end

--- The same model as a GGUF file, which llama.cpp reads too.
function models.gguf(path, layers, dtype)
  local s, named, made = models.settings(layers), {}, 0
  local format = ({ q8 = "q8_0", q4 = "q4_0" })[dtype]
  local hf = arrays(s, function(shape)
    made = made + 1
    local P = tempo.program()
    local x = (tempo.uniform(shape, { name = "w" .. made }) - 0.5) * 0.06
    local to = format and "f32" or dtype
    if to ~= "f32" then x = x:to(to) end
    return P:compile { outputs = { x = x + P:constant(tempo.array(0, to)) } }({}, {}).x
  end)
  for _, list in ipairs { llama.weights, llama.ffn_weights } do
    for _, row in ipairs(list) do
      for l = 0, row[2]:find "%%d" and layers - 1 or 0 do named[row[3]:format(l)] = hf[row[2]:format(l)] end
    end
  end
  local function f32(v) return { f32 = v } end
  local function u32(v) return { u32 = v } end
  local meta = { ["general.architecture"] = "llama", ["tokenizer.ggml.model"] = "no_vocab" }
  for key, v in pairs { embedding_length = u32(s.hidden_size), block_count = u32(layers),
    vocab_size = u32(s.vocab_size), context_length = u32(s.max_position_embeddings),
    ["attention.head_count"] = u32(s.num_attention_heads),
    ["attention.head_count_kv"] = u32(s.num_key_value_heads),
    ["attention.key_length"] = u32(s.head_dim), ["attention.value_length"] = u32(s.head_dim),
    feed_forward_length = u32(s.intermediate_size), ["rope.dimension_count"] = u32(s.head_dim),
    ["rope.freq_base"] = f32(500000), ["attention.layer_norm_rms_epsilon"] = f32(1e-5) } do
    meta["llama." .. key] = v
  end
  tempo.save(path, named, { meta = meta, format = format })
end

--- Training: { vocabulary, width, layers, heads, kv_heads, ffn, batch, length }, weights and tokens
--- by a formula. Gives a function of the number of iterations that gives their losses.
function models.trained(s)
  local c = config.from_json(core.json_encode { model_type = "llama", hidden_size = s.width,
    num_hidden_layers = s.layers, num_attention_heads = s.heads, num_key_value_heads = s.kv_heads,
    intermediate_size = s.ffn, vocab_size = s.vocabulary, rms_norm_eps = 1e-5,
    tie_word_embeddings = true })
  c.model = llama
  local P = tempo.program()
  local i, b, t = P:dims "i b t"
  local net = Net.new(P, c, { rows = { i, b, t }, time = t })
  local D, F, kv = s.width, s.ffn, s.kv_heads * s.width / s.heads
  local shapes = { q = { D, D }, k = { kv, D }, v = { kv, D }, o = { D, D }, gate = { F, D },
    up = { F, D }, down = { D, F } }
  local list, inputs = {}, { data = s.data }
  -- 0.1 (k * step % 1009 / 1009 - 0.5) at element k
  local function weight(name, shape, step, domain)
    local n, full = 1, { s.layers }
    for k, e in ipairs(shape) do n, full[k + 1] = n * e, e end
    if domain then n = n * s.layers else table.remove(full, 1) end
    local init = 1
    if step then
      local x = ((tempo.arange({ n }, { dtype = "i64" }) * step % 1009):to "f64" / 1009 - 0.5) * 0.1
      init = tempo.program():compile { outputs = { x = x:to "f32":reshape(full) }, tier = "interpreter" }({}, {}).x
      if domain then
        local own = P:input(name .. "_0", { domain = { net.l }, shape = shape })
        inputs[name .. "_0"] = init
        init = own
      end
    end
    local w = P:param(name, { along = { i }, domain = domain and { net.l } or nil, shape = shape, init = init })
    net:weight(name, w)
    list[#list + 1] = w
  end
  weight("embed", { s.vocabulary, D }, 7)
  weight("norm", { D })
  weight("attention_norm", { D }, nil, true)
  weight("ffn_norm", { D }, nil, true)
  for k, name in ipairs { "q", "k", "v", "o", "gate", "up", "down" } do weight(name, shapes[name], 11 + 2 * k, true) end
  local data = P:input("data", { shape = { s.tokens }, dtype = "i64" })
  local start = tempo.mod((i:value() * s.batch + b:value()) * 37, s.tokens - s.length - 1) + t:value()
  local _, logits = llama.forward(net, data:select(0, start))
  local loss = logits:cross_entropy(data:select(0, start + 1))[{ b = 0 .. b:upper(), t = 0 .. t:upper() }]:mean()
  tempo.optim.Adam(list, { lr = 1e-3, eps = 1e-4 }):step(loss)
  local f = P:compile { outputs = { loss = loss } }
  return function(n)
    return f(inputs, { I = n, B = s.batch, T = s.length, L = s.layers }).loss:totable()
  end
end

return models

--- tempo.llm.config: what a model is, from config.json of Hugging Face or the metadata of a GGUF
--- file.
local tempo = require "tempo"
local util = require "tempo.util"

local config = {}
local core = getmetatable(tempo)
local null = core.null

local function refuse(...) util.fail("file", ...) end

-- t[key] as a number in (0, 2^31), `default` where it is missing.
local function number(t, key, default)
  local v = t[key]
  if v == nil or v == null then v = default end
  if type(v) ~= "number" or not (v > 0 and v < 2 ^ 31) then
    refuse("the model's configuration has %s for '%s'", v == nil and "nothing" or tostring(v), key)
  end
  return v
end

local function whole(t, key, default)
  local v = number(t, key, default)
  if v ~= math.floor(v) then
    refuse("the model's configuration has %s for '%s', which is no integer", v, key)
  end
  return v
end

local function given(v) return v ~= nil and v ~= null and v or nil end

-- The frequencies of rotary positions, as Llama 3.1 scales them: long waves are slower by `factor`,
-- short ones stay.
local function llama3(f, s)
  local factor, original = number(s, "factor"), number(s, "original_max_position_embeddings")
  local low, high = number(s, "low_freq_factor", 1), number(s, "high_freq_factor", 4)
  local turns = original * f / (2 * math.pi)
  local smooth = math.max(0, math.min(1, (turns - low) / (high - low)))
  return (1 - smooth) * f / factor + smooth * f
end

local scalings = {
  default = function(f) return f end,
  linear = function(f, s) return f / number(s, "factor") end,
  llama3 = llama3,
}

local function frequencies(head, theta, s)
  if type(s) ~= "table" then refuse("the settings of rotary positions are no object") end
  if head > 2 ^ 16 then refuse("heads of %d components are not known", head) end
  local kind = given(s.rope_type) or given(s.type) or "default"
  local scaling = scalings[kind]
  if not scaling then
    refuse("this scaling of rotary positions is not known: '%s'", tostring(kind))
  end
  local out = {}
  for k = 0, head / 2 - 1 do out[k + 1] = scaling(theta ^ (-2 * k / head), s) end
  return out
end

local function check(c)
  if c.heads % c.kv_heads ~= 0 then
    refuse("%d heads are no multiple of %d key and value heads", c.heads, c.kv_heads)
  end
  if c.head % 2 ~= 0 then refuse("heads of %d components have no halves to turn", c.head) end
  if c.experts and c.experts_used > c.experts then
    refuse("%d of %d experts cannot be used", c.experts_used, c.experts)
  end
  return c
end

-- A number or a list of numbers as a list.
local function ids(v)
  if type(v) == "table" then return v end
  return type(v) == "number" and { v } or {}
end

-- ---- config.json -------------------------------------------------------------------------------

local families = { llama = "llama", mistral = "llama", qwen2 = "llama", mixtral = "mixtral",
  gpt2 = "gpt2" }

local gelus = { gelu_new = "tanh", gelu_pytorch_tanh = "tanh", gelu_fast = "tanh", gelu = "none" }

local function gpt2(t)
  local width, heads = whole(t, "n_embd"), whole(t, "n_head")
  local act = given(t.activation_function) or "gelu_new"
  if not gelus[act] then
    refuse("the activation '%s' is not known for this family", tostring(act))
  end
  if t.scale_attn_weights == false or t.scale_attn_by_inverse_layer_idx == true then
    refuse("scores of attention that are scaled otherwise are not known for this family")
  end
  return { width = width, layers = whole(t, "n_layer"), heads = heads, kv_heads = heads,
    head = width / heads, eps = number(t, "layer_norm_epsilon", 1e-5),
    max_length = whole(t, "n_positions", 1024), gelu = gelus[act] }
end

-- How far attention looks back: a window in all layers or in none.
local function window(t, layers)
  local w = given(t.sliding_window)
  if t.model_type == "mistral" and t.sliding_window == nil then return 4096 end
  if not w or t.model_type == "llama" then return nil end
  if t.model_type == "qwen2" then
    if t.use_sliding_window ~= true then return nil end
    local full = math.min(layers, t.max_window_layers == 0 and 0
      or whole(t, "max_window_layers", 28))
    if full > 0 and full < layers then
      refuse("a window in the layers from %d on alone is not known (max_window_layers)", full)
    end
    if full > 0 then return nil end
  end
  return whole(t, "sliding_window")
end

local function llama(t)
  local width, heads = whole(t, "hidden_size"), whole(t, "num_attention_heads")
  local scaling = given(t.rope_parameters) or given(t.rope_scaling) or {}
  local c = { width = width, layers = whole(t, "num_hidden_layers"), heads = heads,
    kv_heads = whole(t, "num_key_value_heads", heads), head = whole(t, "head_dim", width / heads),
    eps = number(t, "rms_norm_eps", 1e-6), max_length = whole(t, "max_position_embeddings", 2048) }
  local theta = type(scaling) == "table" and given(scaling.rope_theta) or t.rope_theta
  c.frequencies = frequencies(c.head, number({ rope_theta = theta }, "rope_theta", 10000), scaling)
  c.window = window(t, c.layers)
  if t.model_type == "mixtral" then
    c.experts, c.experts_used = whole(t, "num_local_experts", 8), whole(t, "num_experts_per_tok", 2)
  end
  local act = given(t.hidden_act) or "silu"
  if act ~= "silu" then
    refuse("the activation '%s' is not known for this family", tostring(act))
  end
  return c
end

--- The configuration in the text of a config.json.
function config.from_json(text)
  local t = core.json_decode(text, "config.json")
  if type(t) ~= "table" then refuse("config.json is no object") end
  local family = families[t.model_type or ""]
  if not family then
    refuse("models of type '%s' are not known; llama, mistral, qwen2, mixtral and gpt2 are",
      tostring(t.model_type))
  end
  local c = family == "gpt2" and gpt2(t) or llama(t)
  c.type, c.family, c.vocabulary = t.model_type, family, whole(t, "vocab_size")
  c.bos, c.eos = ids(t.bos_token_id)[1], ids(t.eos_token_id)
  c.tied = t.tie_word_embeddings == true or (family == "gpt2" and t.tie_word_embeddings ~= false)
  c.names = 2
  for key, v in pairs(t) do                         -- under the names of the file too
    if type(key) == "string" and key:find "_" and c[key] == nil then c[key] = given(v) end
  end
  return check(c)
end

-- ---- GGUF --------------------------------------------------------------------------------------

-- Divides the frequencies, as Llama 3.1 and later do.
local function divide(c, factors)
  if not factors or not c.frequencies then return end
  if #factors ~= #c.frequencies then
    refuse("rope_freqs.weight has %d factors for %d frequencies", #factors, #c.frequencies)
  end
  for k = 1, #c.frequencies do c.frequencies[k] = c.frequencies[k] / factors[k - 1] end
end

--- The configuration in the metadata of a GGUF file, as tempo.open gives it.
function config.from_gguf(from)
  local meta = setmetatable({}, { __index = function(_, key) return from:meta(key) end })
  local arch, embed = meta["general.architecture"], from:stored "token_embd.weight"
  local family = families[arch or ""]
  if not family then refuse("GGUF models of architecture '%s' are not known", tostring(arch)) end
  local t = setmetatable({}, { __index = function(_, key) return meta[arch .. "." .. key] end })
  local width, heads = whole(t, "embedding_length"), whole(t, "attention.head_count")
  local eps = given(t["attention.layer_norm_epsilon"]) or 1e-5
  local c = { type = arch, family = family, names = 3, width = width, heads = heads,
    layers = whole(t, "block_count"), kv_heads = whole(t, "attention.head_count_kv", heads),
    head = whole(t, "attention.key_length", width / heads),
    max_length = whole(t, "context_length", 2048),
    eps = number(t, "attention.layer_norm_rms_epsilon", eps) }
  if family ~= "gpt2" then
    local s = { type = t["rope.scaling.type"], factor = t["rope.scaling.factor"] }
    if s.type == "none" then s.type = "default" end
    c.frequencies = frequencies(c.head, number(t, "rope.freq_base", 10000), s)
  end
  if given(t["expert_count"]) and t["expert_count"] > 0 then
    c.family, c.experts = "mixtral", whole(t, "expert_count")
    c.experts_used = whole(t, "expert_used_count", 2)
  end
  if given(t["attention.sliding_window"]) and t["attention.sliding_window"] > 0 then
    c.window = whole(t, "attention.sliding_window")
  end
  c.paired = arch == "llama"        -- llama.cpp turns neighbours: rows of q and k are so ordered
  divide(c, from["rope_freqs.weight"])
  c.vocabulary = embed and embed:shape()[1] or whole(t, "vocab_size")
  c.bos, c.eos = meta["tokenizer.ggml.bos_token_id"], ids(meta["tokenizer.ggml.eos_token_id"])
  local eot = meta["tokenizer.ggml.eot_token_id"]
  if eot and eot ~= c.eos[1] then c.eos[#c.eos + 1] = eot end
  return check(c)
end

return config

-- Trains a small Llama on a text, saves it as Hugging Face would, loads it again and lets it write.
--     lua5.4 examples/llm/train_tiny.lua [--text docs/tutorial.md] [--iterations 1000] [--out DIR]
local tempo = require "tempo"
local Net = require "tempo.llm.net"
local config = require "tempo.llm.config"
local llama = require "tempo.llm.models.llama"
local core = getmetatable(tempo)
local opt = require "tempo.cli" (arg, { seed = 0, text = "", iterations = 1000,
  batch = 12, length = 96, width = 128, layers = 4, heads = 4, lr = 3e-3, out = "out/train_tiny",
  prompt = "The ", tokens = 200, quiet = false })

-- Bytes are tokens, and 256 begins a text.
local page = (arg[0]:match "^(.*)examples/" or "./") .. "docs/tutorial.md"
local file = assert(io.open(opt.text ~= "" and opt.text or page, "rb"))
local text = file:read "*a"
file:close()
local VOCABULARY, BOS = 257, 256

local settings = { model_type = "llama", architectures = { "LlamaForCausalLM" },
  hidden_size = opt.width, num_hidden_layers = opt.layers,
  num_attention_heads = opt.heads, num_key_value_heads = opt.heads / 2,
  intermediate_size = math.floor(opt.width * 8 / 3 / 16) * 16, vocab_size = VOCABULARY,
  max_position_embeddings = 4 * opt.length, rms_norm_eps = 1e-5, hidden_act = "silu",
  tie_word_embeddings = true, rope_parameters = { rope_type = "default", rope_theta = 10000 },
  bos_token_id = BOS, eos_token_id = BOS }
local c = config.from_json(core.json_encode(settings))
c.model = llama

-- ---- the program -------------------------------------------------------------------------------
local P = tempo.program { seed = opt.seed }
local i, I = P:dim("i", "I")                            -- iteration
local b, B = P:dim("b", "B")
local t, T = P:dim("t", "T")
local net = Net.new(P, c, { rows = { i, b, t }, time = t })

local F, D, kv = settings.intermediate_size, c.width, c.kv_heads * c.head
local shapes = { embed = { VOCABULARY, D }, norm = { D }, attention_norm = { D }, ffn_norm = { D },
  q = { D, D }, k = { kv, D }, v = { kv, D }, o = { D, D }, gate = { F, D }, up = { F, D },
  down = { D, F } }
local function first(name, domain)
  if name:find "norm" then return 1 end
  local last = name == "o" or name == "down"            -- these add to the stream, once a layer
  return (last and 0.02 / math.sqrt(2 * opt.layers) or 0.02)
    * tempo.normal(shapes[name], { name = name .. ".init", domain = domain })
end
local files, parameters = {}, {}
for _, list in ipairs { llama.weights, llama.ffn_weights } do
  for _, row in ipairs(list) do
    local name = row[1]
    if shapes[name] then
      local domain = row[2]:find("%d", 1, true) and { net.l } or nil
      local w = P:param(name, { along = { i }, domain = domain, shape = shapes[name],
        init = first(name, domain) })
      net:weight(name, w)
      files[name], parameters[#parameters + 1] = row[2], w
    end
  end
end

local bytes = P:constant(tempo.array(tempo.array(text, "u8"), "i64"))
local start = tempo.randint({}, 0, #text - opt.length, { domain = { i, b }, name = "start" })
local at = start + t:value()
local _, logits = llama.forward(net, bytes:select(0, at))
local loss = logits:cross_entropy(bytes:select(0, at + 1))[{ b = 0 .. B, t = 0 .. T }]:mean()
local progress = (i:value() + 1) / I:value()
local rate = opt.lr * tempo.minimum(1, (i:value() + 1) / 20) * (1 - 0.9 * progress)
tempo.optim.Adam(parameters, { lr = rate, betas = { 0.9, 0.95 } }):step(loss)
local f = P:compile { outputs = { loss = loss }, tick = i }

-- ---- training ----------------------------------------------------------------------------------
core.mkdir(opt.out)
local log = require "tempo.logger".csv(opt.out .. "/metrics.csv",
  { "iteration", "loss", "seconds" })
local began, before, last = tempo.clock(), nil, nil
f:start({}, { I = opt.iterations, B = opt.batch, T = opt.length, L = opt.layers })
for k = 1, opt.iterations do
  local _, out = f:step {}
  last = out.loss:item()
  before = before or last
  log:row { k - 1, last, tempo.clock() - began }
  if not opt.quiet and (k % 20 == 0 or k == 1) then
    print(("iteration %4d  loss %.3f  %.1f s"):format(k, last, tempo.clock() - began))
  end
end
log:close()

-- ---- saving ------------------------------------------------------------------------------------
local arrays, params = {}, f:params()
for name, pattern in pairs(files) do
  if pattern:find("%d", 1, true) then
    for k = 0, opt.layers - 1 do arrays[pattern:format(k)] = params[name][k] end
  else
    arrays[pattern] = params[name]
  end
end
local function write(name, value)
  local to = assert(io.open(opt.out .. "/" .. name, "wb"))
  to:write(core.json_encode(value))
  to:close()
end

-- Byte-level BPE without merges: a byte is a token, written as the letter that GPT-2 has for it.
local function letter(byte)
  local plain = (byte > 32 and byte < 127) or (byte > 160 and byte ~= 173)
  if not plain then byte = 256 + (byte < 33 and byte or byte == 173 and 67 or byte - 94) end
  if byte < 128 then return string.char(byte) end
  return string.char(192 + math.floor(byte / 64), 128 + byte % 64)
end
local letters = {}
for byte = 0, 255 do letters[letter(byte)] = byte end
write("tokenizer.json", { version = "1.0", model = { type = "BPE", vocab = letters, merges = {} },
  added_tokens = { { id = BOS, content = "<|begin|>", special = true } },
  pre_tokenizer = { type = "ByteLevel", add_prefix_space = false, use_regex = true },
  decoder = { type = "ByteLevel" } })
write("tokenizer_config.json", { bos_token = "<|begin|>", eos_token = "<|begin|>" })
write("config.json", settings)
tempo.save(opt.out .. "/model.safetensors", arrays)

-- ---- writing -----------------------------------------------------------------------------------
local m = tempo.llm.load(opt.out)
local ids = m.tokenizer:encode(opt.prompt)
local said = m:generate(ids,
  { max_tokens = opt.tokens, temperature = 0.7, top_p = 0.95, seed = opt.seed })
print(opt.prompt .. m.tokenizer:decode(said))
print(("loss %.3f to %.3f in %d iterations; saved in %s")
  :format(before, last, opt.iterations, opt.out))

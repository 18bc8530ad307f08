-- The server of tempo.llm with 1, 8 and 32 clients at once, each with a stream of its own: requests
-- a second, time to the first token, and the processor's time against that of the engine alone,
-- with the same requests and no server. A Llama of random weights; the clients are a process of
-- their own.
--   lua5.4 bench/serve.lua [--width 512] [--layers 8] [--prompt 64] [--tokens 32]
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { width = 512, layers = 8, prompt = 64, tokens = 32,
  slots = 16, vocabulary = 8192, rounds = 3 })
local llm = tempo.llm

local function normal(shape, name)
  local v = tempo.normal(shape, { name = name }) * 0.02
  return tempo.program():compile { outputs = { v = v } }({}, {}).v
end

local function model()
  local width, heads, inner = opt.width, opt.width // 64, 3 * opt.width
  local kv = math.max(heads // 4, 1)
  local arrays = { ["model.embed_tokens.weight"] = normal({ opt.vocabulary, width }, "e"),
    ["model.norm.weight"] = normal({ width }, "n") }
  for k = 0, opt.layers - 1 do
    for name, shape in pairs {
      ["self_attn.q_proj"] = { width, width }, ["self_attn.k_proj"] = { kv * 64, width },
      ["self_attn.v_proj"] = { kv * 64, width }, ["self_attn.o_proj"] = { width, width },
      ["mlp.gate_proj"] = { inner, width }, ["mlp.up_proj"] = { inner, width },
      ["mlp.down_proj"] = { width, inner }, input_layernorm = { width },
      post_attention_layernorm = { width } } do
      arrays[("model.layers.%d.%s.weight"):format(k, name)] = normal(shape, name .. k)
    end
  end
  local tokenizer = {}
  function tokenizer.encode(_, text) return { text:byte(1, -1) } end
  function tokenizer.piece(_, id) return (" t%d"):format(id) end
  function tokenizer.is_eos() return false end
  return llm.model({ model_type = "llama", hidden_size = width, intermediate_size = inner,
    num_hidden_layers = opt.layers, num_attention_heads = heads, num_key_value_heads = kv,
    vocab_size = opt.vocabulary, max_position_embeddings = 2048, rms_norm_eps = 1e-5,
    rope_theta = 10000, tie_word_embeddings = true }, arrays, { tokenizer = tokenizer })
end

local function prompt(k) return ("%03d "):format(k) .. ("x"):rep(opt.prompt - 4) end

local function request(k)
  local body = ('{"prompt":"%s","max_tokens":%d,"temperature":0,"stream":true}'):format(prompt(k),
    opt.tokens)
  return ("POST /v1/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" ..
    "Content-Length: %d\r\n\r\n%s"):format(#body, body)
end

local function exists(path)
  local f = io.open(path)
  if f then f:close() end
  return f ~= nil
end

-- Measures n clients: seconds to the first and the last token of each, and their texts; then our
-- processor time.
local function served(server, n)
  local file, out = os.tmpname(), os.tmpname()
  os.remove(out)
  local f = assert(io.open(file, "wb"))
  f:write "return {\n"
  for k = 1, n do f:write(("{ send = %q },\n"):format(request(k))) end
  f:write "}\n"
  f:close()
  os.execute(("luajit spec/http_clients.lua %d %s %s &"):format(server:port(), file, out))
  local start = os.clock()
  while not exists(out) do server:step(0.01) end
  local time, got = os.clock() - start, dofile(out)
  os.remove(file)
  os.remove(out)
  return got, time
end

local function alone(m, n)
  local e, start = llm.engine(m, { slots = opt.slots }), os.clock()
  for k = 1, n do
    e:submit { prompt = prompt(k), max_tokens = opt.tokens, on_token = function() end }
  end
  while e:step() > 0 do end
  return os.clock() - start
end

local function sorted(list, n)
  local v = {}
  for k = 1, n do v[k] = list[k] end
  table.sort(v)
  return v
end

local m = model()
local server = llm.server(m, { port = 0, slots = opt.slots })
for _, n in ipairs { 1, 8, 32 } do
  alone(m, n)
  served(server, n)
  local best, first, ours, engine = math.huge, nil, math.huge, math.huge
  for _ = 1, opt.rounds do
    local got, time = served(server, n)
    local last, firsts = sorted(got.last, n)[n], sorted(got.first, n)
    if last < best then best, first = last, firsts end
    ours, engine = math.min(ours, time), math.min(engine, alone(m, n))
    for k = 1, n do assert(got[k]:find "%[DONE%]", "a stream broke off") end
  end
  print(("%2d clients: %5.1f requests/s, %6.1f tokens/s"):format(n, n / best,
    n * opt.tokens / best) .. (", first token after %.0f ms (half), %.0f ms (all)"):format(
    first[math.ceil(n / 2)] * 1e3, first[n] * 1e3))
  print(("RATIO serve-%d %.2f (%.2f vs %.2f ms a token)"):format(n, engine / ours,
    ours / n / opt.tokens * 1e3, engine / n / opt.tokens * 1e3))
end
server:close()

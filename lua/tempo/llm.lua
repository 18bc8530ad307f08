--- tempo.llm: language models from files: logits, generated texts, batches whose rows come and go.
---
---   local m = tempo.llm.load "Llama-3.2-1B"          -- a folder of Hugging Face, or a .gguf
---   print(m:generate("Once upon a time", { max_tokens = 40 }))
local tempo = require "tempo"
local util = require "tempo.util"
local config = require "tempo.llm.config"
local weights = require "tempo.llm.weights"
local Net = require "tempo.llm.net"
local core = getmetatable(tempo)

--- How a model is opened.
---@class tempo.llm.Settings
---@field dtype? tempo.Dtype "f32", "bf16", "f16": of the weights (as they are); with "bf16" products
---round the other side to it, too
---@field max_length? integer positions of a text (what the model was made for)
---@field precise? boolean products take f32 on the other side, whatever the weights are
---@field threads? integer
---@field tokenizer? tempo.llm.Tokenizer of llm.model

--- How a text is generated.
---@class tempo.llm.Options
---@field max_tokens? integer how many at most (64)
---@field temperature? number (0: the likeliest token)
---@field top_k? integer only the likeliest k
---@field top_p? number the fewest likeliest with this share
---@field min_p? number those with this share of the likeliest one's
---@field repetition_penalty? number of tokens that the text has (1: none)
---@field seed? integer|integer[] (0)
---@field stop? string|string[] the text ends before these
---@field on_token? (fun(id: integer, text: string, request: tempo.llm.Request): boolean?)
---@field logprobs? boolean whether they are wanted (true; of an engine's request false)

---@class tempo.llm
local llm = {}

--- A model, as tempo.llm.load gives it.
---@class tempo.llm.Model
---@field config table what it is: width, layers, heads, kv_heads, head, vocabulary .., and what
---config.json says under its own names
---@field tokenizer tempo.llm.Tokenizer? nil where the files have none
local Model = {}
Model.__index = Model
Model.__tostring = function(m)
  local c = m.config
  return ("tempo.llm.Model<%s, %d layers of %d, %d tokens>"):format(c.type, c.layers, c.width,
    c.vocabulary)
end

-- ---- loading -----------------------------------------------------------------------------------

-- The end-of-text ids of generation_config.json count too.
local function generation(c, text)
  local t = text and core.json_decode(text, "generation_config.json")
  local eos = type(t) == "table" and t.eos_token_id
  for _, id in ipairs(type(eos) == "table" and eos or { eos }) do
    if type(id) == "number" then c.eos[#c.eos + 1] = id end
  end
end

-- The configuration that belongs to what was opened.
local function configured(path, from)
  if from:meta "general.architecture" then return config.from_gguf(from) end
  local folder = path
  local text = util.read(path .. "/config.json")
  if not text then
    folder = path:match "^(.*)/[^/]*$" or "."
    text = util.read(folder .. "/config.json")
  end
  if not text then util.fail("file", "'%s' has no config.json beside its arrays", path) end
  local c = config.from_json(text)
  generation(c, util.read(folder .. "/generation_config.json"))
  return c
end

local function made(c, from, o)
  c.model = require("tempo.llm.models." .. c.family)
  local m = setmetatable({ config = c, _from = from, _compiled = {} }, Model)
  m._precise, m._threads = o.precise, o.threads
  m._rounds = o.dtype == "bf16" and not o.precise
  m.max_length = o.max_length or c.max_length
  if c.family == "gpt2" then m.max_length = math.min(m.max_length, c.max_length) end
  m._weights = weights.read(from, c, o)
  return m
end

--- Opens a model: a folder of Hugging Face (config.json, *.safetensors, tokenizer.json), a file of
--- it, or a GGUF file. Weights stay in the file and are read where they lie. Option dtype: "f32",
--- "bf16", "f16" converts those that have another while loading, and with "bf16" products of
--- weights take bf16 on the other side too, as PyTorch and llama.cpp do; max_length: how many
--- positions a text may have (what the model was made for); precise: products take f32 beside
--- quantised weights, not int8, and beside bf16; threads.
---@param path string
---@param o? tempo.llm.Settings
---@return tempo.llm.Model
function llm.load(path, o)
  o = util.options("llm.load", o, "dtype max_length precise threads")
  util.expect("llm.load", "string", path)
  util.expect_options("llm.load", "count", o, "max_length threads")
  if o.dtype and not ({ f32 = true, bf16 = true, f16 = true })[o.dtype] then
    util.fail("dtype", "llm.load: weights can be f32, bf16 or f16, not '%s'", tostring(o.dtype))
  end
  local from = tempo.open(path)
  local m = made(configured(path, from), from, o)
  local kind = from:meta "tokenizer.ggml.model"
  if not from:meta "general.architecture" or (kind and kind ~= "no_vocab") then
    m.tokenizer = require "tempo.llm.tokenizer".beside(path)
  end
  return m
end

-- Arrays in memory as tempo.open would give them; an entry { blocks, format } has its elements in
-- blocks.
local function held(arrays)
  local function stored(_, name)
    local a = arrays[name]
    if type(a) == "table" then return a[1], a[2] end
    return a
  end
  return setmetatable({ stored = stored }, { __index = function(_, name)
    local a = arrays[name]
    return type(a) == "table" and tempo.dequantize(a[1], a[2]) or a
  end })
end

--- A model of arrays in memory: `settings` is what config.json says, as a table; `arrays` has them
--- under the names of Hugging Face's files.
---@param settings table
---@param arrays table<string, tempo.Array>
---@param o? tempo.llm.Settings
---@return tempo.llm.Model
function llm.model(settings, arrays, o)
  o = util.options("llm.model", o, "dtype max_length precise threads tokenizer")
  local m = made(config.from_json(core.json_encode(settings)), held(arrays), o)
  m.tokenizer = o.tokenizer
  return m
end

--- Opens a tokenizer: a folder with tokenizer.json or tokenizer.model, such a file, a tiktoken
--- file, or a GGUF file. Options pattern and special are for tiktoken files.
---@param path string
---@param o? { pattern?: string, special?: table<string, integer> }
---@return tempo.llm.Tokenizer
function llm.tokenizer(path, o) return require "tempo.llm.tokenizer".open(path, o) end

-- ---- programs ----------------------------------------------------------------------------------

--- Compiles a program of the model, once: `rows` is the name of the dim of its tokens. Returns a
--- function that takes inputs and bounds.
function Model:_program(kind, outputs)
  local key = kind .. " " .. outputs
  local f = self._compiled[key]
  if not f then
    local P = tempo.program()
    local d = P:dim(kind == "next" and "b" or kind == "chunk" and "n" or "t")
    local net = Net.new(P, self.config,
      { rows = { d }, time = kind ~= "next" and d or nil, past = kind ~= "text",
        rounds = self._rounds })
    weights.declare(net, self._weights)
    local id = P:input("id", { domain = { d }, dtype = "i64" })
    local hidden, logits = self.config.model.forward(net, id)
    local all = { hidden = hidden, logits = logits, k = net.k, v = net.v }
    if kind == "chunk" then all.logits = logits[{ [d] = d:upper() - 1 }] end
    local wanted = {}
    for name in outputs:gmatch "%S+" do wanted[name] = all[name] end
    f = P:compile { outputs = wanted, precise = self._precise, threads = self._threads }
    self._compiled[key] = f
  end
  local L = self.config.layers
  return function(inputs, bounds)
    bounds.L = L
    return f(weights.inputs(self._weights, inputs), bounds)
  end
end

--- Records the model in a program of the script's: hidden states after the last norm, and logits,
--- of the tokens `id`, an i64 scalar whose dims are positions t and, if there are more, rows beside
--- each other. Layers are a further dim l: a call needs the bound L = m.config.layers, and
--- m:inputs.
---@param P tempo.Program
---@param id tempo.Tensor
---@param t tempo.Index
---@return tempo.Tensor hidden
---@return tempo.Tensor logits
function Model:record(P, id, t)
  util.program("record", P)
  util.expect("record: id", "tensor", id)
  util.expect("record: t", "dim", t)
  local net = Net.new(P, self.config, { rows = id:domain(), time = t, rounds = self._rounds })
  weights.declare(net, self._weights)
  return self.config.model.forward(net, id)
end

--- Adds the weights to a table of inputs, for a program in which the model was recorded.
---@param inputs table
---@return table inputs
function Model:inputs(inputs) return weights.inputs(self._weights, inputs) end

-- A list or an array of ids, checked; `most`: how many there may be, nil: any number.
local function checked(m, what, ids, most)
  if type(ids) == "userdata" and util.is_array(ids) then
    if #ids:shape() ~= 1 then util.fail("shape", "%s: expected ids of one axis", what) end
    ids = ids:totable()
  end
  util.sequence(what, ids, "{ 1, 15, 2 }")
  if #ids == 0 then util.fail("shape", "%s: no tokens", what) end
  if most and #ids > most then
    util.fail("shape", "%s: %d tokens, and the model takes %d", what, #ids, most)
  end
  for k, id in ipairs(ids) do
    if type(id) ~= "number" or id ~= math.floor(id) or id < 0 or id >= m.config.vocabulary then
      util.fail("input", "%s: token %d is %s, and there are the tokens 0 .. %d", what, k,
        tostring(id), m.config.vocabulary - 1)
    end
  end
  return ids
end
Model._checked = checked

--- Logits of all positions, (n, vocabulary), f32: row k is what may follow the first k + 1 tokens.
---@param ids integer[]|tempo.Array
---@return tempo.Array
function Model:logits(ids)
  ids = checked(self, "logits", ids, self.max_length)
  return self:_program("text", "logits")({ id = ids }, { T = #ids }).logits
end

--- Hidden states of all positions after the last norm, (n, width), f32.
---@param ids integer[]|tempo.Array
---@return tempo.Array
function Model:embed(ids)
  ids = checked(self, "embed", ids, self.max_length)
  return self:_program("text", "hidden")({ id = ids }, { T = #ids }).hidden
end

-- Does this token end a text?
function Model:_ends(id)
  for _, eos in ipairs(self.config.eos) do
    if id == eos then return true end
  end
  return self.tokenizer ~= nil and self.tokenizer:is_eos(id)
end

-- ---- generating --------------------------------------------------------------------------------

-- One prompt, or a list of them? Returns a list, and whether it was a batch.
local function prompts(prompt)
  if prompt == nil then util.fail("option", "generate: expected a prompt, a text or ids") end
  if type(prompt) ~= "table" or type(prompt[1]) == "number" then return { prompt }, false end
  if #prompt == 0 then util.fail("shape", "generate: no tokens") end
  return util.sequence("generate", prompt, '{ "a text", "another" }'), true
end

--- Goes on with a text. A prompt is a string, a list of ids, or a list of either, which is a batch.
--- Returns the text (ids, for a prompt of ids) without prompt, EOS and stop string, and a table of
--- ids, logprobs (of the chosen ids, in the softmax of the logits as they are; logprobs = false
--- spares them) and reason ("eos", "stop" or "length"); for a batch, a list of each.
---
--- With temperature 0 the likeliest token is next, the one with the lowest id among equals; else
--- one is drawn: after repetition_penalty (tokens of the prompt count), temperature, top_k, top_p
--- and min_p, in this order. A draw depends on the seed (for a batch, one or a list) and the
--- position alone. on_token(id, text, request) is called with each token and the text that it
--- completes; request.index counts the batch; if it returns false, its request ends.
---@param prompt string|integer[]|(string|integer[])[]
---@param o? tempo.llm.Options seed may be a list, one for each of a batch
---@return string|integer[]|(string|integer[])[] result
---@return { ids: integer[], logprobs?: number[], reason: string } info for a batch a list
function Model:generate(prompt, o)
  o = util.options("generate", o,
    "max_tokens temperature top_k top_p min_p repetition_penalty seed stop on_token logprobs")
  local list, batch = prompts(prompt)
  if type(o.seed) == "table" and #o.seed ~= #list then
    util.fail("option", "generate: seed: expected one for each prompt, %d, got %d", #list, #o.seed)
  end
  local e, requests = llm.engine(self, { slots = math.min(#list, 16) }), {}
  for k, p in ipairs(list) do
    local own = { prompt = p, index = k }
    for key, v in pairs(o) do own[key] = v end
    own.logprobs = o.logprobs ~= false
    if type(o.seed) == "table" then own.seed = o.seed[k] end
    requests[k] = e:submit(own)
  end
  repeat
    local left = e:step()
    for _, r in ipairs(requests) do
      if r.reason == "error" then error(r.error, 0) end
    end
  until left == 0
  local results, infos = {}, {}
  for k, r in ipairs(requests) do
    results[k] = type(list[k]) == "string" and r.text or r.ids
    infos[k] = { ids = r.ids, logprobs = r.logprobs, reason = r.reason }
  end
  if batch then return results, infos end
  return results[1], infos[1]
end

--- An engine, for requests that come and go: see Engine:submit and Engine:step.
---@param m tempo.llm.Model
---@param o? { slots?: integer, chunk?: integer }
---@return tempo.llm.Engine
function llm.engine(m, o) return require "tempo.llm.engine".new(m, o) end

--- A server for clients of OpenAI's API, which listens from now on. It answers in `server:step()`,
--- between whose calls a script may do other work. Options: host ("127.0.0.1"), port (8080; 0: a
--- free one), slots (16: texts that grow at once), queue (128: requests that wait), name (of the
--- model), key (which clients must send), chunk (128: tokens of a prompt a step); body (2^20 bytes
--- of a request), connections (256), idle (30 seconds without a request), stalled (30 seconds) and
--- unsent (2^18 bytes) that a client may leave of a stream.
---@param m tempo.llm.Model with a tokenizer
---@param o? table
---@return tempo.llm.Server
function llm.server(m, o)
  if type(m) ~= "table" then
    util.fail("option", "llm.server: expected a model, as llm.load gives it")
  end
  return require "tempo.llm.serve".open(m, o)
end

--- Serves the model until Ctrl-C, with the options of llm.server.
---@param m tempo.llm.Model
---@param o? table
function llm.serve(m, o) llm.server(m, o):run() end

return util.library("llm", llm)

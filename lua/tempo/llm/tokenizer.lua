--- tempo.llm.tokenizer: texts to ids and back, as the files of a model say; chats by their
--- templates (jinja.lua). The work on texts is C (src/text).
local tempo = require "tempo"
local util = require "tempo.util"

local core = getmetatable(tempo)
local tokenizer = {}

---@class tempo.llm.Tokenizer
---@field size integer how many ids there are: they are 0 .. size - 1
---@field bos integer? the id with which texts begin; nil: none
---@field eos integer? the id with which texts end; nil: none
---@field add_bos boolean whether the files say that a prompt begins with bos
local Tokenizer = {}
Tokenizer.__index = Tokenizer

-- ---- files --------------------------------------------------------------------------------------

-- Tells the kind of file by its first bytes; nil: none of ours.
local function kind_of(path)
  local head = util.read(path, 256)
  if not head or head == "" then return nil end
  if head:sub(1, 4) == "GGUF" then return "gguf" end
  if head:find "^%s*{" then return "json" end
  if head:find "^[%w+/=]+ %d+\r?\n" then return "tiktoken" end
  return head:sub(1, 1) == "\n" and "sentencepiece" or nil
end

local names = { "tokenizer.json", "tokenizer.model", "tokenizer.tiktoken", "cl100k_base.tiktoken",
  "o200k_base.tiktoken", "qwen.tiktoken" }

local function file_in(folder)
  for _, name in ipairs(names) do
    local path = folder .. "/" .. name
    if util.read(path, 1) then return path end
  end
end

-- The table in a file of JSON beside; {}: there is none.
local function settings_in(folder, name)
  local text = util.read(folder .. "/" .. name)
  local t = text and core.json_decode(text, folder .. "/" .. name)
  return type(t) == "table" and t or {}
end

-- ---- tiktoken -----------------------------------------------------------------------------------

local llama3 = [[(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}]]
  .. [[| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+]]
local capital, small = [[[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]], [[[\p{Ll}\p{Lm}\p{Lo}\p{M}]]
local word = [[[^\r\n\p{L}\p{N}]?%s]*%s]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|]]
  .. [[[^\r\n\p{L}\p{N}]?%s]+%s]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|]]

-- Encodings by name: the pattern, how many rows their files have, special tokens.
local encodings = {
  cl100k = {
    [['(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+]]
      .. [[|\s++$|\s*[\r\n]|\s+(?!\S)|\s]], 100256,
    { ["<|endoftext|>"] = 100257, ["<|fim_prefix|>"] = 100258, ["<|fim_middle|>"] = 100259,
      ["<|fim_suffix|>"] = 100260, ["<|endofprompt|>"] = 100276 } },
  o200k = { word:format(capital, small, capital, small)
      .. [[\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+]], 199998,
    { ["<|endoftext|>"] = 199999, ["<|endofprompt|>"] = 200018 } },
  r50k = { [['(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s]],
    50256, { ["<|endoftext|>"] = 50256 } },
  llama3 = { llama3, 128000, {} },
  qwen = { (llama3:gsub("{1,3}", "")), 151643,
    { ["<|endoftext|>"] = 151643, ["<|im_start|>"] = 151644, ["<|im_end|>"] = 151645 } },
}
do
  local tokens = { "begin_of_text", "end_of_text", "reserved_special_token_0",
    "reserved_special_token_1", "finetune_right_pad_id", "reserved_special_token_2",
    "start_header_id", "end_header_id", "eom_id", "eot_id", "python_tag" }
  for k = #tokens, 255 do tokens[k + 1] = "reserved_special_token_" .. k - 8 end
  for k, name in ipairs(tokens) do encodings.llama3[3]["<|" .. name .. "|>"] = 127999 + k end
end

-- The pattern and the special tokens of a tiktoken file.
local function encoding_of(path, o)
  local e = encodings[o.pattern]
  if o.pattern and not e then return o.pattern, o.special or {} end
  local _, rows = (e and "" or util.read(path)):gsub("\n", "")
  for _, other in pairs(encodings) do
    if not e and other[2] == rows then e = other end
  end
  if not e then
    util.fail("option", "llm.tokenizer: '%s' does not say how a text is cut into words: give "
      .. "{ pattern = 'cl100k' }, 'o200k', 'r50k', 'llama3', 'qwen' or a regular expression", path)
  end
  return e[1], o.special or e[3]
end

-- ---- what files beside say ----------------------------------------------------------------------

-- Tokens after which a model has nothing more to say, whatever the files call the end.
local ends = { "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>",
  "<|endoftext|>", "<|end_of_text|>", "</s>", "<｜end▁of▁sentence｜>" }

local function token_text(v)
  if type(v) == "table" then v = v.content end
  return type(v) == "string" and v or nil
end

-- A template: a text, or a list of { name =, template = } in which one is the default.
local function template_text(v)
  if type(v) ~= "table" then return type(v) == "string" and v or nil end
  for _, t in ipairs(v) do
    if type(t) == "table" and t.name == "default" then return token_text(t.template) end
  end
end

local function take_ids(self, v)
  for _, id in ipairs(type(v) == "table" and v or { v }) do
    if type(id) == "number" then
      self.eos = self.eos or id
      self._ends[id] = true
    end
  end
end

local function take_settings(self, folder)
  local c = settings_in(folder, "tokenizer_config.json")
  local bos, eos = token_text(c.bos_token), token_text(c.eos_token)
  self.bos = bos and self._core:find(bos) or self.bos
  self.eos = eos and self._core:find(eos) or self.eos
  if type(c.add_bos_token) == "boolean" then self.add_bos = c.add_bos_token end
  self._template = template_text(c.chat_template) or util.read(folder .. "/chat_template.jinja")
  take_ids(self, settings_in(folder, "generation_config.json").eos_token_id)
  take_ids(self, settings_in(folder, "config.json").eos_token_id)
end

-- ---- opening ------------------------------------------------------------------------------------

local function new(made, folder)
  local self = setmetatable(made:facts(), Tokenizer)
  self._core, self._ends, self._template = made, {}, self.chat_template
  take_ids(self, self.eot)
  self.chat_template, self.eot = nil, nil
  if folder then take_settings(self, folder) end
  for _, text in ipairs(ends) do
    local id = made:find(text)
    if id then self._ends[id] = true end
  end
  if self.eos then self._ends[self.eos] = true end
  self.add_bos = self.add_bos and self.bos ~= nil
  return self
end

local function open(path, file, o)
  local kind = kind_of(file)
  if not kind then
    util.fail("file", "llm.tokenizer: '%s' is no tokenizer.json, tiktoken file, SentencePiece "
      .. "model or GGUF file", file)
  end
  if kind ~= "tiktoken" and (o.pattern or o.special) then
    util.fail("option", "llm.tokenizer: pattern and special are for tiktoken files; '%s' has "
      .. "its own", file)
  end
  local pattern, special
  if kind == "tiktoken" then pattern, special = encoding_of(file, o) end
  local self = new(core.tokenizer(kind, file, pattern, special),
    kind ~= "gguf" and (file:match "^(.*)/[^/]*$" or "."))
  if kind == "tiktoken" then
    self.bos = self._core:find "<|begin_of_text|>"
    self.add_bos = self.bos ~= nil
    self.eos = self.eos or self._core:find "<|end_of_text|>" or self._core:find "<|endoftext|>"
  end
  self.path = path
  return self
end

--- Opens a tokenizer: a folder with tokenizer.json or tokenizer.model (and, if there,
--- tokenizer_config.json), or such a file, a tiktoken file, a GGUF file. Of a tiktoken file
--- `pattern` names how a text is cut into words ("cl100k", "o200k", "r50k", "llama3", "qwen", or a
--- regular expression), unless its number of rows tells; `special` has its special tokens by text.
---@param path string
---@param o? { pattern?: string, special?: table<string, integer> }
---@return tempo.llm.Tokenizer
function tokenizer.open(path, o)
  o = util.options("llm.tokenizer", o, "pattern special")
  util.expect("llm.tokenizer", "string", path)
  local file = kind_of(path) and path or file_in(path)
  if not file and not io.open(path, "rb") then
    util.fail("file", "llm.tokenizer: cannot open '%s'", path)
  end
  return open(path, file or path, o)
end

--- The tokenizer of a model's files: in the folder or beside the file; nil where there is none.
---@param path string
---@return tempo.llm.Tokenizer?
function tokenizer.beside(path)
  local file = kind_of(path) == "gguf" and path or file_in(path)
    or file_in(path:match "^(.*)/" or ".")
  return file and open(path, file, {})
end

-- ---- texts and ids ------------------------------------------------------------------------------

--- The ids of a text. With special = true special tokens that stand in the text are read as such,
--- else as text; with bos = true the id of bos comes first. Bytes that are no UTF-8 are kept where
--- the vocabulary has bytes.
---@param text string
---@param o? { special?: boolean, bos?: boolean }
---@return integer[]
function Tokenizer:encode(text, o)
  o = util.options("encode", o, "special bos")
  local ids = self._core:encode(text, o.special)
  if o.bos and self.bos then table.insert(ids, 1, self.bos) end
  return ids
end

--- The text of ids, a list or an array. With special = false special tokens leave no trace.
---@param ids integer[]|tempo.Array
---@param o? { special?: boolean }
---@return string
function Tokenizer:decode(ids, o)
  o = util.options("decode", o, "special")
  if type(ids) == "userdata" and util.is_array(ids) then ids = ids:totable() end
  return self._core:decode(ids, o.special ~= false, true)
end

--- The bytes that one id stands for inside a text.
---@param id integer
---@return string
function Tokenizer:piece(id) return self._core:piece(id) end

--- Whether a model says with this id that its text is over.
---@param id integer
---@return boolean
function Tokenizer:is_eos(id) return self._ends[id] == true end

-- How many bytes at the end of s begin a character of UTF-8 that is not whole.
local function unfinished(s)
  for back = 1, math.min(3, #s) do
    local byte = s:byte(-back)
    if byte < 0x80 then return 0 end
    if byte >= 0xC0 then
      local needs = byte >= 0xF0 and 4 or byte >= 0xE0 and 3 or 2
      return needs > back and back or 0
    end
  end
  return 0
end

--- A function that takes the ids of a text one by one and returns the text that each adds: of a
--- character whose bytes are not all there, nothing yet. Called without an id it returns the rest.
---@return fun(id?: integer): string
function Tokenizer:stream()
  local held = ""
  return function(id)
    local s = held .. (id and self._core:piece(id) or "")
    local n = id and unfinished(s) or 0
    held = s:sub(#s - n + 1)
    return s:sub(1, #s - n)
  end
end

-- ---- chats --------------------------------------------------------------------------------------

-- For vocabularies without a template, told by a token that they have.
local templates = {
  { "<|start_header_id|>", "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}"
    .. "<|end_header_id|>\n\n{{ m.content | trim }}<|eot_id|>{% endfor %}",
    "<|start_header_id|>assistant<|end_header_id|>\n\n" },
  { "<|im_start|>", "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n"
    .. "{% endfor %}", "<|im_start|>assistant\n" },
  { "[INST]", "{{ bos_token }}{% for m in messages %}{% if m.role == 'assistant' %}"
    .. "{{ m.content + eos_token }}{% else %}[INST] {{ m.content }} [/INST]{% endif %}{% endfor %}",
    "" },
}

-- The template, and the head of an answer for templates that do not write it when they are asked.
local function template_of(self)
  local own = self._template
  for _, t in ipairs(templates) do
    if own and own:find(t[1], 1, true) then
      return own, own:find("add_generation_prompt", 1, true) and "" or t[3]
    elseif not own and self._core:find(t[1]) then
      return t[2], t[3]
    end
  end
  if own then return own, "" end
  util.fail("option", "chat: this tokenizer has no chat template: write the text yourself")
end

-- Reads and runs a template; its own mistakes become errors of the file.
local function render(template, messages, bos, eos)
  local jinja = require "tempo.llm.jinja"
  local copy = jinja.list {}
  for k, m in ipairs(messages) do copy[k] = m end
  local ok, text = pcall(function()
    return jinja.compile(template) { messages = copy, bos_token = bos, eos_token = eos,
      add_generation_prompt = true, tools = core.null, documents = core.null }
  end)
  if ok then return text end
  if type(text) == "string" then
    util.fail("file", "chat template: %s", (text:gsub("^.-:%d+: ", "")))
  end
  error(text, 0)
end

--- The text that a model expects for a chat: the messages, then the head of the assistant's answer.
--- It holds bos and special tokens, so encode it with { special = true }. The files' template, a
--- program in Jinja, writes it; without one that of Llama 3, ChatML or Mistral does, by the
--- vocabulary.
---@param messages { role: string, content: string }[]
---@return string
function Tokenizer:chat(messages)
  local n = #util.sequence("chat", messages, '{ { role = "user", content = "Hello" } }')
  if n == 0 then util.fail("option", "chat: expected at least one message") end
  for k, m in ipairs(messages) do
    if type(m) ~= "table" or type(m.role) ~= "string" or type(m.content) ~= "string" then
      util.fail("option", "chat: message %d: expected { role = \"user\", content = \"...\" }", k)
    end
  end
  local bos, eos = self.bos and self:piece(self.bos) or "", self.eos and self:piece(self.eos) or ""
  local template, head = template_of(self)
  local text = render(template, messages, bos, eos)
  return (head == "" or text:sub(-#head) == head) and text or text .. head
end

function Tokenizer:__tostring()
  return ("tempo.llm.Tokenizer<%d ids> of %s"):format(self.size, self.path)
end

return tokenizer

-- tempo.llm.tokenizer against tokenizers, sentencepiece, tiktoken and jinja2
-- (fixtures/make_tokenizers.py), and against files that lie.
local tempo = require "tempo"
local tokenizer = require "tempo.llm.tokenizer"
local helper = require "spec.helper"
local fails = helper.fails
local core = getmetatable(tempo)
local unpack = table.unpack or unpack       -- luacheck: globals unpack

local FOLDER = "spec/fixtures/tokenizers/"

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local cases = core.json_decode(helper.read(FOLDER .. "cases.json"))

local function open(name, pattern)
  local special
  if pattern and pattern ~= core.null then special = cases.special else pattern = nil end
  return tokenizer.open(FOLDER .. name, { pattern = pattern, special = special })
end

-- A folder with the file as tokenizer.json, and others by name; f(folder).
local function with_folder(name, others, f)
  local folder = os.tmpname()
  os.remove(folder)
  core.mkdir(folder)
  write(folder .. "/tokenizer.json", helper.read(FOLDER .. name))
  for file, text in pairs(others) do write(folder .. "/" .. file, text) end
  local ok, err = pcall(f, folder)
  os.execute("rm -rf '" .. folder .. "'")
  if not ok then error(err, 0) end
end

local names = {}
for name in pairs(cases.files) do names[#names + 1] = name end
table.sort(names)

describe("a tokenizer gives the ids and texts of", function()
  for _, name in ipairs(names) do
    it(name, function()
      for _, c in ipairs(cases.files[name]) do
        local t = open(name, c.pattern)
        for k, row in ipairs(c.rows) do
          local ids = { unpack(row, 2) }
          local got = t:encode(cases.texts[row[1] + 1], { special = c.special })
          assert.same(ids, got)
          if c.texts ~= core.null then assert.equal(c.texts[k], t:decode(ids)) end
        end
      end
    end)
  end
end)

-- Those whose vocabularies have bytes.
local with_bytes = { "gpt2.json", "llama3.json", "falcon.json", "llama2.json",
  "llama3.gguf", "bpe.gguf", "bpe.model", "user.model", "small.tiktoken" }

-- Those that put a space behind each special token, as their libraries do.
local spaced = { ["llama2.json"] = true, ["bpe.gguf"] = true, ["bpe.model"] = true,
  ["user.model"] = true }

describe("a tokenizer", function()
  it("keeps bytes that are no UTF-8", function()
    local next = helper.rng(1)
    local parts = { "a", "é", "你", "😀", " ", "\n", "\255", "\195", "\228\189",
      "\240\159\152", "\128", "\237\160\128", "\192\175", "\0", "word", "<s>" }
    for _, name in ipairs(with_bytes) do
      local t = open(name, name == "small.tiktoken" and "llama3" or nil)
      for _ = 1, 60 do
        local s = {}
        for k = 1, next(12) do s[k] = parts[1 + next(#parts)] end
        local text = table.concat(s)
        assert.equal(text, t:decode(t:encode(text)))
        local ids = t:encode(text, { special = true })
        if not spaced[name] then assert.equal(text, t:decode(ids)) end
      end
    end
  end)

  it("reads special tokens where it is told to", function()
    local t = open "llama3.json"
    local text = "<|begin_of_text|>Hi<|eot_id|>"
    local hi = t:encode "Hi"
    assert.same({ 0, hi[1], hi[2], 4 }, t:encode(text, { special = true }))
    assert.equal("Hi", t:decode(t:encode(text, { special = true }), { special = false }))
    assert.is_true(#t:encode(text) > 6)
    for _, id in ipairs(t:encode(text)) do assert.is_true(id > 4) end
    assert.equal(text, t:decode(t:encode(text)))
    local ids = t:encode("Hi", { bos = true })
    assert.equal(t.bos, table.remove(ids, 1))
    assert.same(t:encode "Hi", ids)
  end)

  it("says what its file says", function()
    local t = open "llama3.json"
    assert.same({ 520, 0, true }, { t.size, t.bos, t.add_bos })
    assert.is_true(t:is_eos(4) and t:is_eos(1) and not t:is_eos(0) and not t:is_eos(99))
    local g = open "llama3.gguf"
    assert.same({ 520, 0, 1, true }, { g.size, g.bos, g.eos, g.add_bos })
    local s = open "bpe.model"
    assert.same({ 560, 1, 2, true }, { s.size, s.bos, s.eos, s.add_bos })
    assert.is_true(s:is_eos(2))
    local plain = open "gpt2.json"
    assert.is_nil(plain.bos)
    assert.is_false(plain.add_bos)
    assert.same(plain:encode "x", plain:encode("x", { bos = true }))
    assert.truthy(tostring(s):find("560 ids", 1, true))
  end)

  it("shows what is whole of a text that grows", function()
    for _, name in ipairs { "gpt2.json", "bpe.model" } do
      local t = open(name)
      local text = " né 你好 😀!"
      local shown, all = {}, {}
      local next = t:stream()
      for _, id in ipairs(t:encode(text)) do
        local s = next(id)
        assert.truthy(s == "" or not s:find "^[\128-\191]")
        shown[#shown + 1] = s
        all[#all + 1] = t:piece(id)
      end
      assert.equal(table.concat(all), table.concat(shown))
      assert.equal("", next())
    end
    local t = open "gpt2.json"
    local next = t:stream()
    local ids = t:encode "😀"
    for k = 1, #ids - 1 do assert.equal("", next(ids[k])) end
    assert.equal(("😀"):sub(1, -2), next())
  end)

  it("writes chats as the templates do", function()
    for _, c in ipairs(core.json_decode(helper.read(FOLDER .. "chats.json")).chats) do
      local name = c.bos == "<s>" and "llama2.json" or "llama3.json"
      local config = core.json_encode { chat_template = c.template, bos_token = c.bos,
        eos_token = { content = c.eos } }
      with_folder(name, { ["tokenizer_config.json"] = config }, function(folder)
        local t = tokenizer.open(folder)
        local text = t:chat(c.messages)
        assert.equal(c.text, text)
        local ids = t:encode(text, { special = true })
        if not spaced[name] then assert.equal(text, t:decode(ids)) end
      end)
    end
    local text = open "llama3.gguf":chat { { role = "user", content = "x" } }
    assert.equal("<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\nx<|eot_id|>"
      .. "<|start_header_id|>assistant<|end_header_id|>\n\n", text)
    assert.equal(text, open "llama3.json":chat { { role = "user", content = "x" } })
  end)

  it("takes what the files beside say", function()
    local others = {
      ["tokenizer_config.json"] = '{"bos_token": {"content": "<|begin_of_text|>"}, "eos_token": '
        .. '"<|end_of_text|>", "add_bos_token": false}',
      ["generation_config.json"] = '{"eos_token_id": [1, 7]}', ["config.json"] = "{}" }
    with_folder("llama3.json", others, function(folder)
      local beside = tokenizer.beside(folder .. "/model.safetensors")
      for _, t in ipairs { tokenizer.open(folder), tokenizer.beside(folder), beside,
        tokenizer.open(folder .. "/tokenizer.json") } do
        assert.same({ 0, 1, false }, { t.bos, t.eos, t.add_bos })
        assert.is_true(t:is_eos(1) and t:is_eos(7) and not t:is_eos(0))
      end
    end)
    assert.is_nil(tokenizer.beside "spec/fixtures")
    assert.equal(520, tokenizer.beside(FOLDER .. "llama3.gguf").size)
  end)

  it("takes long texts", function()
    local some = { "gpt2.json", "llama2.json", "unigram.json", "bpe.model", "llama3.gguf" }
    for _, name in ipairs(some) do
      local t = open(name)
      for _, s in ipairs { "a", " ", "\n", "1", "ab 1", "é" } do
        s = s:rep(1e5)
        local same = t:decode(t:encode(s)) == s
        assert.is_true(same or name == "unigram.json")
      end
    end
  end)
end)

describe("a tokenizer refuses", function()
  it("what is no id and no text", function()
    local t = open "gpt2.json"
    fails(function() t:decode { 480 } end, "option", "0 .. 479", "480")
    fails(function() t:decode { -1 } end, "option", "-1")
    fails(function() t:decode { 1.5 } end, "option", "1.5")
    fails(function() t:decode { 2 ^ 60 } end, "option", "0 .. 479")
    fails(function() t:piece "x" end, "option", "a string")
    fails(function() t:encode(1) end, "option", "a string", "a number")
    fails(function() t:encode("x", { specail = true }) end, "option", "special")
    fails(function() t:chat { { role = "user", content = "x" } } end, "option", "chat template")
    fails(function() open "llama3.json":chat {} end, "option", "message")
    fails(function() open "llama3.json":chat { { role = "user" } } end, "option", "content")
  end)

  it("files that are none", function()
    fails(function() tokenizer.open "spec/fixtures/no_such" end, "file", "no_such")
    fails(function() tokenizer.open "spec/fixtures" end, "file")
    fails(function() tokenizer.open "spec/fixtures/envs.csv" end, "file", "tokenizer.json")
    fails(function() tokenizer.open(FOLDER .. "cases.json") end, "file", "model")
    fails(function() tokenizer.open(FOLDER .. "small.tiktoken") end, "option", "pattern", "cl100k")
    local function with(name, pattern)
      return function() return (tokenizer.open(FOLDER .. name, { pattern = pattern })) end
    end
    fails(with("gpt2.json", "x"), "option", "tiktoken")
    fails(with("small.tiktoken", "("), "file", "pattern")
    fails(with("small.tiktoken", "[a&&b]"), "file", "&&")
  end)

  it("what tokenizer.json says that is not known", function()
    local function with(change, ...)
      local text = helper.read(FOLDER .. "gpt2.json")
      local j = core.json_decode(text)
      change(j)
      local path = os.tmpname()
      write(path, core.json_encode(j))
      fails(function() tokenizer.open(path) end, "file", ...)
      os.remove(path)
    end
    with(function(j) j.model.type = "WordPiece" end, "WordPiece")
    with(function(j) j.pre_tokenizer.type = "Magic" end, "Magic")
    with(function(j) j.normalizer = { type = "Precompiled" } end, "Precompiled")
    with(function(j) j.post_processor = { type = "Magic" } end, "Magic")
    with(function(j) j.model.vocab.a = 3000000 end, "far beyond")
    with(function(j) j.model.vocab.a = -1 end, "id")
    with(function(j) j.model.vocab.a = 40 end, "twice")
    with(function(j) j.model.merges[3] = "a" end, "merge 2")
    with(function(j) j.model.merges[3] = { "a", "\226\130\172" } end, "merge 2")
    with(function(j) j.model.end_of_word_suffix = "</w>" end, "suffix")
    with(function(j) j.added_tokens = { { id = 3, content = ("x"):rep(300) } } end, "300" and "256")
    with(function(j)
      j.pre_tokenizer = { type = "Split", pattern = { Regex = "(" }, behavior = "Isolated" }
    end, "pattern")
  end)

  it("a pattern without end", function()
    local t = tokenizer.open(FOLDER .. "small.tiktoken", { pattern = "(?:a|aa|b)+$|x" })
    fails(function() t:encode(("a"):rep(100) .. "x") end, "file", "too much work")
    assert.equal(1, #t:encode "x")
  end)

  it("or reads what has changed or is cut off, and lives", function()
    local next = helper.rng(7)
    local path = os.tmpname()
    for _, name in ipairs(names) do
      local whole = helper.read(FOLDER .. name)
      for k = 1, 60 do
        local s, at = whole, 1 + next(k % 3 == 0 and math.min(#whole, 600) or #whole)
        if k % 4 == 0 then s = s:sub(1, at)
        else s = s:sub(1, at - 1) .. string.char(next(256)) .. s:sub(at + 1) end
        write(path, s)
        local o = name == "small.tiktoken" and { pattern = "r50k" } or nil
        local ok, e = pcall(tokenizer.open, path, o)
        local function use()
          return e:decode(e:encode("Hello wörld 12 <s>\255 ", { special = true }))
        end
        if ok then pcall(use) else assert.truthy(e.code == "file" or e.code == "option") end
      end
    end
    os.remove(path)
  end)
end)

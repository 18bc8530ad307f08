-- tempo.llm on tiny checkpoints against transformers (spec/fixtures/make_llm.py), and against
-- itself: chunks, batches, rings and texts.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails = helper.fails
local llm, core = tempo.llm, getmetatable(tempo)
local fixture = dofile "spec/fixtures/llm.lua"
local ids, unpack = fixture.ids, table.unpack or unpack      -- luacheck: globals unpack
local families = { "llama", "mistral", "qwen2", "gpt2", "mixtral" }

-- Weights of the checkpoints are bf16, exactly: transformers has multiplied them in f32.
local exact = { precise = true }
local models = {}
local function model(name)
  models[name] = models[name] or llm.load("spec/fixtures/llm/" .. name, exact)
  models[name].config.eos = {}
  return models[name]
end

local function settings(name)
  return core.json_decode(helper.read("spec/fixtures/llm/" .. name .. "/config.json"))
end
local function arrays(name)
  local f, out = tempo.open("spec/fixtures/llm/" .. name), {}
  for key, a in pairs(f:arrays()) do out[key] = a:clone() end
  return out
end

local function close(want, got, tolerance)
  for k = 1, #want do
    assert.is_true(math.abs(want[k] - got[k]) <= tolerance,
      ("%d: %g, not %g"):format(k, got[k], want[k]))
  end
end

local function log_softmax(row)
  local most, sum, out = -math.huge, 0, {}
  for _, v in ipairs(row) do most = math.max(most, v) end
  for _, v in ipairs(row) do sum = sum + math.exp(v - most) end
  for k, v in ipairs(row) do out[k] = v - most - math.log(sum) end
  return out
end

-- Compares m with its own text, all positions at once: the greatest difference of log probability.
local function agrees(m, prompt, info)
  local all = { unpack(prompt) }
  for _, id in ipairs(info.ids) do all[#all + 1] = id end
  local logits = m:logits(all):totable()
  for k, id in ipairs(info.ids) do
    local want = log_softmax(logits[#prompt + k - 1])[id + 1]
    assert.is_true(math.abs(want - info.logprobs[k]) < 2e-5, "token " .. k)
  end
end

-- Ids stand for bytes: 0 .. 63 as the characters from "!" on, but for some.
local function letters(pieces)
  local tok = { size = 64 }
  function tok:piece(id)                                         -- luacheck: ignore self
    return pieces and pieces[id] or string.char(33 + id)
  end
  function tok:is_eos(id) return id == self.eos end
  function tok:encode(text)                                      -- luacheck: ignore self
    local out = {}
    for k = 1, #text do out[k] = text:byte(k) - 33 end
    return out
  end
  return tok
end

describe("a checkpoint of transformers:", function()
  for _, name in ipairs(families) do
    it(name, function()
      local m, want = model(name), fixture[name]
      local got = m:logits(ids):totable()
      for k = 1, #ids do close(want.logits[k], got[k], 1e-4) end
      close(want.hidden, m:embed(tempo.array(ids, "i64")):totable()[#ids], 1e-4)
      assert.are.same(want.greedy, (m:generate(ids, { max_tokens = #want.greedy })))
    end)
  end

  it("beside whose weights of bf16 activations are rounded", function()
    for _, name in ipairs { "llama", "mistral", "qwen2", "gpt2" } do
      local m, want = llm.load("spec/fixtures/llm/" .. name), fixture[name]
      local got = m:logits(ids):totable()[#ids]
      close(want.rounded, got, 1e-4)
      close(want.logits[#ids], got, 6e-2)
      assert.is_false(pcall(close, want.logits[#ids], got, 1e-2))
      local _, info = m:generate(ids, { max_tokens = 6, logprobs = true })
      agrees(m, ids, info)
    end
  end)

  it("in f32 and f16", function()
    for _, dtype in ipairs { "f32", "f16" } do
      local m = llm.load("spec/fixtures/llm/llama", { dtype = dtype })
      local near = dtype == "f32" and 1e-4 or 2e-2
      close(fixture.llama.logits[#ids], m:logits(ids):totable()[#ids], near)
    end
  end)

  it("with settings of older files", function()
    local t = settings "llama"
    t.rope_scaling, t.rope_theta = t.rope_parameters, t.rope_parameters.rope_theta
    t.rope_parameters = nil
    t.rope_scaling.type, t.rope_scaling.rope_type, t.rope_scaling.rope_theta = "llama3", nil, nil
    local a = arrays "llama"
    close(fixture.llama.logits[#ids], llm.model(t, a, exact):logits(ids):totable()[#ids], 1e-4)
    t.rope_scaling = { type = "yarn", factor = 2 }
    fails(function() llm.model(t, a) end, "file", "yarn")
    t.rope_scaling, t.model_type = nil, "bert"
    fails(function() llm.model(t, a) end, "file", "bert")
    t.model_type = "llama"
    a["model.layers.1.mlp.up_proj.weight"] = nil
    fails(function() llm.model(t, a) end, "file", "model.layers.1.mlp.up_proj.weight")
    t.num_key_value_heads = 3
    fails(function() llm.model(t, a) end, "file", "multiple")
  end)

  it("with biases of its feed-forward layers", function()
    local next, weights = helper.rng(8), {}
    local function add(name, shape)
      local n, list = shape[1] * (shape[2] or 1), {}
      for k = 1, n do list[k] = next() end
      weights[name] = tempo.array(tempo.array(list, "f32"), "f32", shape)
      return list
    end
    local one, zero = tempo.array({ 1, 1, 1, 1 }, "f32"), tempo.array(0, "f32", { 4, 4 })
    local embed = add("model.embed_tokens.weight", { 3, 4 })
    weights["model.norm.weight"] = one
    local p = "model.layers.0."
    for name in ("q k v o"):gmatch "%w" do
      weights[p .. "self_attn." .. name .. "_proj.weight"] = zero
    end
    for name in ("input post_attention"):gmatch "%S+" do
      weights[p .. name .. "_layernorm.weight"] = one
    end
    local w, bias = {}, {}
    for name, shape in pairs { gate = { 3, 4 }, up = { 3, 4 }, down = { 4, 3 } } do
      w[name] = add(p .. "mlp." .. name .. "_proj.weight", shape)
      bias[name] = add(p .. "mlp." .. name .. "_proj.bias", { shape[1] })
    end
    local function norm(x)
      local sum, out = 0, {}
      for _, v in ipairs(x) do sum = sum + v * v end
      for k, v in ipairs(x) do out[k] = v / math.sqrt(sum / #x + 1e-6) end
      return out
    end
    local function linear(name, x)
      local out = {}
      for i, b in ipairs(bias[name]) do
        for j, v in ipairs(x) do b = b + w[name][(i - 1) * #x + j] * v end
        out[i] = b
      end
      return out
    end
    local x = { unpack(embed, 5, 8) }
    local gate, up = linear("gate", norm(x)), linear("up", norm(x))
    for k, g in ipairs(gate) do up[k] = up[k] * g / (1 + math.exp(-g)) end
    for k, v in ipairs(linear("down", up)) do x[k] = x[k] + v end
    local m = llm.model({ model_type = "llama", hidden_size = 4, num_attention_heads = 2,
      num_hidden_layers = 1, vocab_size = 3, mlp_bias = true }, weights)
    close(norm(x), m:embed({ 1 }):totable()[1], 1e-5)
  end)

  it("with other activations and windows, or refuses it", function()
    local t, a = settings "gpt2", arrays "gpt2"
    t.activation_function = "gelu"
    local got = llm.model(t, a):embed(ids):totable()[#ids]
    close(fixture.gpt2.hidden, got, 1e-2)
    assert.are_not.same(fixture.gpt2.hidden[1], got[1])
    t.activation_function = "relu"
    fails(function() llm.model(t, a) end, "file", "relu")
    t.activation_function, t.scale_attn_by_inverse_layer_idx = nil, true
    fails(function() llm.model(t, a) end, "file", "scaled otherwise")
    t, a = settings "qwen2", arrays "qwen2"
    t.use_sliding_window, t.sliding_window, t.max_window_layers = true, 3, 0
    assert.are.equal(3, llm.model(t, a).config.window)
    t.max_window_layers = 28
    assert.is_nil(llm.model(t, a).config.window)
    t.max_window_layers = 1
    fails(function() llm.model(t, a) end, "file", "max_window_layers")
    t.use_sliding_window = nil
    assert.is_nil(llm.model(t, a).config.window)
  end)

  it("with odd settings, or refuses them", function()
    local t, a = settings "mistral", arrays "mistral"
    t.sliding_window, t.eos_token_id, t.hidden_act = 1e9, "x", core.null
    local m = llm.model(t, a)
    assert.are.equal(3, #(m:generate({ 1 }, { max_tokens = 3 })))
    t.rope_parameters = "x"
    fails(function() llm.model(t, a) end, "file", "no object")
    t.rope_parameters, t.head_dim = nil, 2e9
    fails(function() llm.model(t, a) end, "file", "2000000000 components")
  end)
end)

-- The checkpoint `name` as llama.cpp's converter would write it: its names, and of Llama rows of q
-- and k in its order.
local function gguf(name, path, format, formats)
  local c, a, named = settings(name), arrays(name), {}
  local arch, family = c.model_type, name == "gpt2" and "gpt2" or "llama"
  local page = require("tempo.llm.models." .. family)
  local function neighbours(w, heads)
    local rows, out = w:totable(), {}
    local head = #rows / heads
    for h = 0, heads - 1 do
      for i = 0, head / 2 - 1 do
        for s = 0, 1 do out[h * head + 2 * i + s + 1] = rows[h * head + s * head / 2 + i + 1] end
      end
    end
    return tempo.array(out)
  end
  local function turned(w)
    local rows, out = w:totable(), {}
    for j = 1, #rows[1] do
      out[j] = {}
      for i = 1, #rows do out[j][i] = rows[i][j] end
    end
    return tempo.array(out)
  end
  for _, list in ipairs { page.weights, page.ffn_weights } do
    for _, row in ipairs(list) do
      for l = 0, row[2]:find "%%d" and 1 or 0 do
        local w = a[row[2]:format(l)]
        if w then
          w = tempo.array(w, "f32")
          if row[1] == "q" and arch == "llama" then w = neighbours(w, 4) end
          if row[1] == "k" and arch == "llama" then w = neighbours(w, 2) end
          if row[1]:find "'" then w = turned(w) end
          named[row[3]:format(l)] = w
        end
      end
    end
  end
  local function f32(v) return { f32 = v } end
  -- files of a model alone say so or say nothing
  local meta = { ["general.architecture"] = arch,
    ["tokenizer.ggml.model"] = name == "qwen2" and "no_vocab" or nil }
  local own = { embedding_length = 32, block_count = 2, ["attention.head_count"] = 4,
    context_length = 64 }
  if name == "gpt2" then
    own["attention.layer_norm_epsilon"] = f32(1e-5)
  else
    own["attention.head_count_kv"], own["rope.freq_base"] = 2, f32(10000)
    own["attention.layer_norm_rms_epsilon"] = f32(1e-6)
  end
  for key, v in pairs(own) do meta[arch .. "." .. key] = v end
  if name == "llama" then                              -- what llama3's scaling divides by
    local factors, c0 = {}, require("tempo.llm.config").from_json(core.json_encode(c))
    for k, f in ipairs(c0.frequencies) do factors[k] = 10000 ^ (-2 * (k - 1) / 8) / f end
    named["rope_freqs.weight"] = tempo.array(factors)
  end
  tempo.save(path, named, { meta = meta, format = format, formats = formats })
end

describe("a GGUF file", function()
  local path = os.tmpname()
  os.remove(path)
  path = path .. ".gguf"
  after_each(function() os.remove(path) end)

  for _, name in ipairs { "llama", "qwen2", "gpt2" } do
    it("of " .. name .. " gives the checkpoint's numbers", function()
      gguf(name, path)
      close(fixture[name].logits[#ids], llm.load(path):logits(ids):totable()[#ids], 1e-4)
    end)
  end
end)

describe("weights in blocks", function()
  local path = os.tmpname()
  os.remove(path)
  path = path .. ".gguf"
  after_each(function() os.remove(path) end)

  for name, near in pairs { q8_0 = 0.4, q4_0 = 0.6, ["q4_0 and q8_0"] = 0.6 } do
    it("of " .. name .. " give what their numbers in f32 give", function()
      gguf("llama", path, name:match "%S+", name:find "and" and
        { ["blk.1.ffn_gate.weight"] = "q8_0", ["blk.0.attn_v.weight"] = "q8_0" } or nil)
      local want = llm.load(path, { dtype = "f32" }):logits(ids):totable()
      local exact = llm.load(path, { precise = true })
      local got = exact:logits(ids):totable()
      for k = 1, #ids do close(want[k], got[k], 1e-4) end
      local _, info = exact:generate(ids, { max_tokens = 6, logprobs = true })
      agrees(exact, ids, info)
      local rough = llm.load(path):logits(ids):totable()       -- int8 on the other side
      for k = 1, #ids do close(want[k], rough[k], near) end
    end)
  end
end)

describe("a text", function()
  it("is the same in chunks and at once", function()
    for _, name in ipairs(families) do
      local m = model(name)
      for _, chunk in ipairs { 1, 5, 128 } do
        local e = llm.engine(m, { chunk = chunk })
        local r = e:submit { prompt = ids, max_tokens = 12, logprobs = true }
        while e:step() > 0 do assert.is_nil(r.reason) end
        agrees(m, ids, r)
      end
    end
  end)

  it("goes beyond the first places, and around a window's ring", function()
    for _, name in ipairs { "llama", "mistral" } do
      local m = model(name)
      local _, info = m:generate(ids, { max_tokens = 100, logprobs = true })
      assert.are.equal(100, #info.ids)
      agrees(m, ids, info)
    end
  end)

  it("does not depend on its batch, slot and time", function()
    local m, prompts, alone = model "llama", {}, {}
    for k = 1, 16 do
      prompts[k] = {}
      for j = 1, 1 + (7 * k) % 13 do prompts[k][j] = (k * 11 + j * 5) % 64 end
    end
    local o = { max_tokens = 12, logprobs = true, temperature = 0.8, top_p = 0.9, seed = 3 }
    for k, p in ipairs(prompts) do alone[k] = select(2, m:generate(p, o)) end
    local texts, together = m:generate(prompts, o)
    local function same(got, want)
      assert.are.same(want.ids, got.ids)
      assert.are.equal("length", got.reason)
      close(want.logprobs, got.logprobs, 1e-5)
    end
    for k = 1, 16 do
      same(together[k], alone[k])
      assert.are.same(alone[k].ids, texts[k])
    end
    local e, requests = llm.engine(m, { slots = 3 }), {}
    for k = 16, 1, -1 do
      requests[k] = e:submit { prompt = prompts[k], max_tokens = 12, logprobs = true,
        temperature = 0.8, top_p = 0.9, seed = 3 }
      e:step()
    end
    while e:step() > 0 do assert.is_true(#e.active <= 3) end
    for k = 1, 16 do same(requests[k], alone[k]) end
  end)

  -- Products of fewer elements than these are loops, whose order is the compiler's.
  it("has the same bits in any batch", function()
    local t, a = settings "llama", {}
    t.hidden_size, t.intermediate_size, t.num_hidden_layers, t.head_dim = 256, 256, 1, 64
    for name, w in pairs(arrays "llama") do
      local shape, wide = w:shape(), { [16] = 128, [32] = 256, [48] = 256, [64] = 64 }
      for k, n in ipairs(shape) do shape[k] = wide[n] end
      local x = tempo.uniform(shape, { name = name }) - 0.5
      a[name] = tempo.program():compile { outputs = { x = x * (#shape > 1 and 0.2 or 2) } }({},
        {}).x
    end
    for _, dtype in ipairs { "f32", "bf16" } do
      local m, prompts = llm.model(t, a, { dtype = dtype }), {}
      for k = 1, 17 do prompts[k] = { k, (5 * k) % 64, k } end
      local o = { max_tokens = 4, logprobs = true }
      local _, together = m:generate(prompts, o)
      for k = 1, 17, 4 do assert.are.same(select(2, m:generate(prompts[k], o)), together[k]) end
    end
  end)

  it("ends at EOS, at its length, and where the model ends", function()
    local m, greedy = model "llama", fixture.llama.greedy
    m.config.eos = { greedy[4] }
    local got, info = m:generate(ids, { max_tokens = 8 })
    m.config.eos = {}
    assert.are.same({ unpack(greedy, 1, 3) }, got)
    assert.are.equal("eos", info.reason)
    local short = llm.load("spec/fixtures/llm/llama", { max_length = 14, precise = true })
    got, info = short:generate(ids, { max_tokens = 8 })
    assert.are.same({ unpack(greedy, 1, 2) }, got)
    assert.are.equal("length", info.reason)
    local long = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6 }
    got, info = short:generate(long)
    assert.are.same({ {}, "length" }, { got, info.reason })
    fails(function() short:logits(long) end, "shape", "takes 14")
    fails(function() short:embed(long) end, "shape", "takes 14")
  end)

  it("stops at a string across tokens, and is shown as it becomes sure", function()
    local m = model "llama"
    m.tokenizer = letters()
    local whole = m:generate("*2K", { max_tokens = 12 })
    local shown = {}
    local got, info = m:generate("*2K", { max_tokens = 12, stop = { "never", whole:sub(5, 7) },
      on_token = function(_, text) shown[#shown + 1] = text end })
    assert.are.equal(whole:sub(1, 4), got)
    assert.are.equal(4, #info.ids)
    assert.are.equal("stop", info.reason)
    assert.are.equal(whole:sub(1, 4), table.concat(shown))
    local function few(_, _, r) return #r.ids < r.index end
    local texts, infos = m:generate({ "*2K", "A" }, { max_tokens = 12, on_token = few })
    assert.are.equal(whole:sub(1, 1), texts[1])
    assert.are.same({ "stop", 2 }, { infos[2].reason, #infos[2].ids })
    m.tokenizer = nil
  end)

  it("holds back what is half a character", function()
    local m, greedy = model "llama", fixture.llama.greedy
    m.tokenizer = letters { [greedy[1]] = "\xe2\x82", [greedy[2]] = "\xac", [greedy[3]] = "\xc3" }
    local shown = {}
    local function show(_, s) shown[#shown + 1] = s end
    local text = m:generate(ids, { max_tokens = 3, on_token = show })
    assert.are.same({ "", "\xe2\x82\xac", "\xc3" }, shown)
    assert.are.same({ unpack(greedy, 1, 3) }, text)
    m.tokenizer = nil
  end)

  it("is refused where it cannot be", function()
    local m = model "llama"
    fails(function() m:generate "text" end, "option", "no tokenizer")
    fails(function() m:generate({ 1 }, { stop = "x" }) end, "option", "no tokenizer")
    fails(function() m:generate {} end, "shape", "no tokens")
    fails(function() m:generate { 1, 64 } end, "input", "token 2 is 64")
    fails(function() m:generate({ 1 }, { temprature = 1 }) end, "option", "temperature")
    fails(function() m:generate({ 1 }, { top_p = 2 }) end, "option", "top_p")
    fails(function() m:generate({ 1 }, { max_tokens = -1 }) end, "option", "max_tokens")
    fails(function() m:generate() end, "option", "expected a prompt")
    fails(function() m:generate({ { 1 }, { 2 } }, { seed = { 1 } }) end, "option", "2, got 1")
    assert.are.same({ 32, 32 }, { m.config.hidden_size, m.config.width })
    fails(function() m:logits(tempo.array({ { 1, 2 } }, "i64")) end, "shape", "one axis")
    local none, empty = m:generate({ 1 }, { max_tokens = 0 })
    assert.are.same({ {}, "length", {} }, { none, empty.reason, empty.logprobs })
    fails(function() llm.load("spec/fixtures/llm/llama", { dtype = "i64" }) end, "dtype", "i64")
    fails(function() llm.engine(m):submit() end, "option", "prompt")
    fails(function() llm.engine() end, "option", "a model")
    fails(function() llm.serve() end, "option", "a model")
    m.tokenizer = letters()
    fails(function() m:generate "" end, "shape", "empty prompt")
    m.tokenizer = nil
    local ok, e = pcall(m.generate, m, { 1 }, { on_token = function() error({ "mine" }) end })
    assert.are.same({ false, { "mine" } }, { ok, e })
    local three, info = m:generate({ 1 }, { max_tokens = 3 })
    assert.are.same({ 3, 3 }, { #three, #info.logprobs })
    assert.is_nil(select(2, m:generate({ 1 }, { max_tokens = 3, logprobs = false })).logprobs)
  end)
end)

describe("an engine", function()
  it("cancels, and keeps one request's error to itself", function()
    local m = model "llama"
    local e = llm.engine(m, { slots = 2 })
    local bad = e:submit { prompt = ids, max_tokens = 10, on_token = function() error "mine" end }
    local gone = e:submit { prompt = ids, max_tokens = 10 }
    local waits = e:submit { prompt = { 4 }, max_tokens = 10 }
    local good = e:submit { prompt = ids, max_tokens = 10, on_token = function(_, _, r)
      if #r.ids == 2 then e:cancel(gone) end
    end }
    e:cancel(waits)
    local steps = 0
    while e:step() > 0 do steps = steps + 1 end
    assert.are.same({ "error", "cancelled", "cancelled", "length" },
      { bad.reason, gone.reason, waits.reason, good.reason })
    assert.is_truthy(tostring(bad.error):find "mine")
    assert.are.same(fixture.llama.greedy, good.ids)
    assert.are.equal(0, #waits.ids)
    assert.is_true(#gone.ids < 10)
  end)

  -- Three turns, each of which repeats the text so far, in one engine and each in its own.
  it("takes over what a prompt shares with one before, whatever came between", function()
    for _, name in ipairs { "llama", "mistral" } do
      local m = model(name)
      local function turn(e, prompt)
        local r = e:submit { prompt = prompt, max_tokens = 6, logprobs = true }
        while e:step() > 0 do assert.is_nil(r.reason) end
        return r
      end
      local function new() return llm.engine(m, { slots = 2, chunk = 4 }) end
      local e, prompt, cached = new(), { unpack(ids) }, {}
      for n = 1, 12 do
        local r, alone = turn(e, prompt), turn(new(), prompt)
        assert.are.same(alone.ids, r.ids)
        assert.are.same(alone.logprobs, r.logprobs)
        assert.are.equal(0, alone.cached)
        cached[n] = r.cached
        for _, id in ipairs(r.ids) do prompt[#prompt + 1] = id end
        prompt[#prompt + 1] = n
      end
      local most = m.config.window and 64 or math.huge       -- a ring forgets
      for n = 2, 12 do
        local before = #ids + 7 * (n - 2)
        local wanted = before + 6 <= most and before - before % 4 or 0
        assert.are.equal(wanted, cached[n], name .. ", turn " .. n)
      end
      assert.are.equal(0, turn(e, { 9, 9, 9, 9, 9, 9 }).cached)
      assert.are.equal(4, turn(e, { 9, 9, 9, 9, 9, 8 }).cached)
      assert.are.equal(0, turn(e, { 9, 9, 9, 9 }).cached)    -- its logits are needed
    end
  end)
end)

describe("a choice", function()
  local function pick(logits, o, position, seen)
    return (core.llm_sample(tempo.array(logits), 0, o, position or 0, seen, false))
  end
  local function shares(logits, o, n)
    local count = {}
    for p = 1, n do
      local id = pick(logits, o, p)
      count[id] = (count[id] or 0) + 1 / n
    end
    return count
  end

  it("is the likeliest at temperature 0, the first among equals", function()
    assert.are.equal(1, pick({ 0, 3, 1, 3 }, {}))
    assert.are.equal(3, pick({ 0, 3, 1, 3 }, { repetition_penalty = 1.5 }, 0, { 1 }))
    assert.are.equal(2, pick({ -4, -2, -3 }, { repetition_penalty = 2 }, 0, { 1 }))
    assert.are.equal(1, pick({ 0 / 0, 1, -math.huge }, {}))
    assert.are.equal(1, pick({ 2, 3 }, { temperature = 1e-300 }))
    assert.are.equal(0, pick({ 0 / 0, 0 / 0 }, { temperature = 1 }))
  end)

  it("follows the softmax", function()
    local logits = { 0, math.log(2), math.log(5), -math.huge }
    local got = shares(logits, { temperature = 1, seed = 5 }, 4000)
    local function near(want)
      for id, p in ipairs(want) do assert.is_true(math.abs(got[id - 1] - p) < 0.03) end
    end
    near { 1 / 8, 2 / 8, 5 / 8 }
    assert.is_nil(got[3])
    got = shares(logits, { temperature = 0.5, seed = 5 }, 4000)
    near { 1 / 30, 4 / 30, 25 / 30 }
  end)

  it("keeps to top-k, top-p and min-p", function()
    local logits = {}
    for k = 1, 10 do logits[k] = math.log(k) end                       -- shares k / 55
    local function kept(o)
      o.temperature = 1
      local least = 99
      for id in pairs(shares(logits, o, 600)) do least = math.min(least, id) end
      return 10 - least
    end
    assert.are.equal(10, kept { seed = 1 })
    assert.are.equal(3, kept { top_k = 3 })
    assert.are.equal(2, kept { top_p = 19 / 55 - 1e-6 })
    assert.are.equal(3, kept { top_p = 19 / 55 + 1e-6 })
    assert.are.equal(1, kept { top_p = 0 })
    assert.are.equal(4, kept { min_p = 0.65 })
    assert.are.equal(2, kept { top_k = 4, top_p = 0.5 })               -- of 10 + 9 + 8 + 7
  end)

  it("is a function of seed and position, with any vocabulary", function()
    local logits, next = {}, helper.rng(3)
    for k = 1, 5000 do logits[k] = 5 * next() end
    local o = { temperature = 1.2, top_p = 0.8, seed = 11 }
    local first, differs = pick(logits, o, 7), false
    assert.are.equal(first, pick(logits, o, 7))
    for p = 8, 20 do differs = differs or pick(logits, o, p) ~= first end
    assert.is_true(differs)
    local id, logprob = core.llm_sample(tempo.array(logits), 0, o, 7, nil, true)
    assert.is_true(math.abs(log_softmax(logits)[id + 1] - logprob) < 1e-5)
  end)
end)

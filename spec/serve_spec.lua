-- The server of tempo.llm over an engine whose answers are known: forms of OpenAI's API, and 64
-- clients at once, of whom some stall, leave or send rubbish. Clients are a process of their own.
local tempo = require "tempo"
local fake = require "spec.fake_engine"
local serve = require "tempo.llm.serve"
local openai = require "tempo.llm.openai"
local core = getmetatable(tempo)
local encode, decode = core.json_encode, core.json_decode

local function exists(path)
  local f = io.open(path)
  if f then f:close() end
  return f ~= nil
end

-- Serves the cases of spec/http_clients.lua until each has ended; what each of them read.
local function run(cases, o, model)
  local engine = not model and fake.engine(16) or nil
  local given = { port = 0, engine = engine }
  for k, v in pairs(o or {}) do given[k] = v end
  local server = serve.open(model or fake.model, given)
  local file, out = os.tmpname(), os.tmpname()
  os.remove(out)
  local f = assert(io.open(file, "wb"))
  f:write "return {\n"
  for _, case in ipairs(cases) do
    f:write(("{ send = %q"):format(case.send))
    for _, key in ipairs { "sleep", "slow", "deaf", "leave" } do
      if case[key] then f:write((", %s = %g"):format(key, case[key])) end
    end
    f:write " },\n"
  end
  f:write "}\n"
  f:close()
  os.execute(("luajit spec/http_clients.lua %d %s %s &"):format(server:port(), file, out))
  local stop = tempo.clock() + 30
  while not exists(out) and tempo.clock() < stop do server:step(0.02) end
  local left = #server.jobs
  server:close()
  local got = dofile(out)
  os.remove(file)
  os.remove(out)
  return got, engine, left
end

local function ask(method, path, body, headers)
  return ("%s %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n%sContent-Length: %d\r\n\r\n%s")
    :format(method, path, headers or "", #body, body)
end

local function post(path, t) return { send = ask("POST", path, encode(t)) } end

-- Status and body of a reply, its chunks joined.
local function parsed(text)
  assert.is_string(text)
  local status, head, body = text:match "^HTTP/1%.1 (%d+)[^\r]*\r\n(.-)\r\n\r\n(.*)$"
  assert.is_truthy(status, text)
  if head:find "Transfer%-Encoding: chunked" then
    local parts, at = {}, 1
    while true do
      local n, from = body:match("^(%x+)\r\n()", at)
      n = assert(tonumber(n or "", 16), "the stream broke off")
      if n == 0 then break end
      parts[#parts + 1] = body:sub(from, from + n - 1)
      at = from + n + 2
    end
    body = table.concat(parts)
  end
  return tonumber(status), body, head
end

local function json(text, status)
  local got, body = parsed(text)
  assert.equal(status or 200, got, body)
  return decode(body)
end

-- The events of a stream, whose last is [DONE].
local function events(text)
  local status, body = parsed(text)
  assert.equal(200, status)
  local list = {}
  for data in body:gmatch "data: (.-)\n\n" do list[#list + 1] = data end
  assert.equal("[DONE]", table.remove(list))
  for k, data in ipairs(list) do list[k] = decode(data) end
  return list
end

local function text_of(reply, stream)
  if not stream then return json(reply).choices[1].text end
  local parts = {}
  for k, e in ipairs(events(reply)) do parts[k] = e.choices[1].text end
  return table.concat(parts)
end

local function refused(text, status, what, param)
  local e = json(text, status).error
  assert.is_truthy(e.message:find(what, 1, true), e.message)
  assert.equal(param or core.null, e.param)
end

describe("the server", function()
  it("answers in OpenAI's forms", function()
    local parts = { { type = "text", text = "h\195\169" }, { type = "text", text = "y" } }
    local user = { { role = "system", content = "s" }, { role = "user", content = parts } }
    local got = run {
      { send = ask("GET", "/health", "") },
      { send = ask("GET", "/v1/models", "") },
      post("/v1/completions", { prompt = "one two three", max_tokens = 100, model = "any" }),
      post("/v1/completions", { prompt = { 97, 98 }, max_tokens = 3, logprobs = 0 }),
      post("/v1/chat/completions", { messages = user, stop = "|s", logprobs = true }),
      post("/v1/completions", { prompt = "a b", max_tokens = 9, stream = true,
        stream_options = { include_usage = true } }),
      post("/v1/chat/completions", { messages = { { role = "user", content = "a b" } },
        stream = true, logprobs = true, temperature = 0 }),
      { send = ask("GET", "/v1/models/fake", "") },
    }
    assert.same({ status = "ok", running = 0, waiting = 0 }, json(got[1]))
    assert.equal("fake", json(got[2]).data[1].id)
    assert.equal("model", json(got[8]).object)

    local c = json(got[3])
    assert.equal("text_completion", c.object)
    assert.equal(fake.answer "one two three", c.choices[1].text)
    assert.equal("stop", c.choices[1].finish_reason)
    assert.equal(core.null, c.choices[1].logprobs)
    assert.same({ prompt_tokens = 13, completion_tokens = 15, total_tokens = 28,
      prompt_tokens_details = { cached_tokens = 0 } }, c.usage)
    assert.is_truthy(c.id:find "^cmpl%-" and c.created > 1e9 and c.model == "fake")

    c = json(got[4])
    assert.equal("length", c.choices[1].finish_reason)
    assert.equal(">ba", c.choices[1].text)
    local p = c.choices[1].logprobs
    assert.same({ ">", "b", "a" }, setmetatable(p.tokens, nil))
    assert.same({ -1, -2, -3 }, setmetatable(p.token_logprobs, nil))
    assert.same({ 0, 1, 2 }, setmetatable(p.text_offset, nil))

    c = json(got[5])
    assert.equal("chat.completion", c.object)
    assert.equal("assistant", c.choices[1].message.role)
    assert.equal(">y\239\191\189\239\191\189h:resu", c.choices[1].message.content)
    p = c.choices[1].logprobs.content
    assert.equal(10, #p)
    assert.same({ 169 }, setmetatable(p[3].bytes, nil))
    assert.equal("\239\191\189", p[3].token)
    assert.equal(0, #p[3].top_logprobs)

    local list = events(got[6])
    assert.equal(">b ", list[1].choices[1].text)
    assert.equal("a<", list[2].choices[1].text)
    assert.equal("stop", list[3].choices[1].finish_reason)
    assert.equal(0, #list[4].choices)
    assert.equal(8, list[4].usage.total_tokens)
    assert.equal(4, #list)

    list = events(got[7])
    assert.same({ role = "assistant", content = "" }, list[1].choices[1].delta)
    assert.equal("chat.completion.chunk", list[1].object)
    assert.equal(">b ", list[2].choices[1].delta.content)
    assert.equal(3, #list[2].choices[1].logprobs.content)
    assert.equal("a:resu<", list[3].choices[1].delta.content)
    assert.equal(core.null, list[3].choices[1].finish_reason)
    assert.same({}, list[4].choices[1].delta)
    assert.equal("stop", list[4].choices[1].finish_reason)
  end)

  it("says what is wrong", function()
    local function completion(t)
      t.prompt = t.prompt or "x"
      return post("/v1/completions", t)
    end
    local function chat(messages) return post("/v1/chat/completions", { messages = messages }) end
    local cases = {
      { { send = ask("POST", "/v1/completions", "{") }, 400, "no JSON" },
      { { send = ask("POST", "/v1/completions", "[1]") }, 400, "no object" },
      { { send = ask("POST", "/v1/completions", ('{"prompt":'):rep(5000)) }, 400, "no JSON" },
      { { send = ask("POST", "/v1/completions", '{"prompt":"\255\0"}') }, 400, "no JSON" },
      { { send = ask("POST", "/v1/completions", "") }, 400, "no JSON" },
      { { send = ask("POST", "/v1/completions", "{}") }, 400, "must be one string", "prompt" },
      { completion { prompt = { "a", "b" } }, 400, "must be one string", "prompt" },
      { completion { prompt = { 1, 2.5 } }, 400, "must be one string", "prompt" },
      { completion { prompt = { -1 } }, 400, "must be one string", "prompt" },
      { completion { n = 2 }, 400, "not supported", "n" },
      { completion { max_tokens = -1 }, 400, "an integer between 0", "max_tokens" },
      { completion { max_tokens = "many" }, 400, "an integer", "max_tokens" },
      { completion { temperature = -1 }, 400, "a number between", "temperature" },
      { completion { top_p = 1.5 }, 400, "a number between", "top_p" },
      { completion { logprobs = 3 }, 400, "between 0 and 0", "logprobs" },
      { completion { stop = { "a", 1 } }, 400, "a list of them", "stop" },
      { completion { stop = { x = "a" } }, 400, "a list of up to", "stop" },
      { completion { stream = "yes" }, 400, "true or false", "stream" },
      { completion { model = 3 }, 400, "a string", "model" },
      { completion { presence_penalty = 1 }, 400, "not supported", "presence_penalty" },
      { completion { prompt = ("x"):rep(5000) }, 400, "the model at most 5000", "prompt" },
      { completion { stop = ("x"):rep(257) }, 400, "1 to 256 bytes", "stop" },
      { chat {}, 400, "a list of messages", "messages" },
      { chat { { role = "tool", content = "x" } }, 400, "need a role", "messages" },
      { chat { { role = "user" } }, 400, "need a content", "messages" },
      { chat { { role = "user", content = { { type = "image_url" } } } }, 400, "type text",
        "messages" },
      { chat { 1, 2 }, 400, "need a role", "messages" },
      { { send = ask("GET", "/v1/none", "") }, 404, "there is no /v1/none" },
      { { send = ask("GET", "/v1/completions", "") }, 405, "GET is no method" },
      { { send = ask("DELETE", "/health", "") }, 405, "DELETE is no method" },
      { { send = ask("POST", "/v1/completions", ("x"):rep(2 ^ 20 + 1)) }, 413, "too large" },
    }
    local sent = {}
    for k, case in ipairs(cases) do sent[k] = case[1] end
    local got = run(sent)
    for k, case in ipairs(cases) do refused(got[k], case[2], case[3], case[4]) end
  end)

  it("serves 64 clients, whatever some of them do", function()
    local cases = {
      { send = ask("POST", "/v1/completions", '{"prompt":"endless","stream":true}'), deaf = 2 },
      { send = ask("POST", "/v1/completions", '{"prompt":"endless","stream":true}'), leave = 5000 },
      { send = "\255\254rubbish\r\n\r\n\0\1\2" },
      { send = "POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n{",
        deaf = 0.2 },
      { send = ask("POST", "/v1/completions", '{"prompt":"slow"}'), slow = 1 },
      { send = ask("POST", "/v1/completions", "\0\255{[[["):rep(3) },
    }
    for k = #cases + 1, 64 do
      local prompt = ("client %d says: "):format(k) .. ("word "):rep(k % 20)
      cases[k] = post("/v1/completions", { prompt = prompt, max_tokens = 500, stream = k % 2 == 0 })
      cases[k].prompt = prompt
    end
    local got, engine, left = run(cases, { stalled = 1, unsent = 20000 })
    for k = 7, 64 do
      assert.equal(fake.answer(cases[k].prompt), text_of(got[k], k % 2 == 0))
    end
    assert.equal(fake.answer "slow", json(got[5]).choices[1].text)
    assert.is_nil(got[3]:find "200 OK")
    assert.equal(2, engine.cancelled)
    assert.equal(0, left)
  end)

  it("serves a model: each text is what the model generates alone", function()
    local m = tempo.llm.load "spec/fixtures/llm/llama"
    m.tokenizer = setmetatable({ is_eos = function() return false end,
      encode = function(_, text)
        local ids = {}
        for k = 1, #text do ids[k] = text:byte(k) % 64 end
        return ids
      end,
      piece = function(_, id) return string.char(32 + id) end }, { __index = fake.model.tokenizer })
    local cases, want = {}, {}
    for k = 1, 12 do
      local prompt = ("prompt %d"):format(k):rep(1 + k % 3)
      local t = { prompt = prompt, max_tokens = 3 + k, seed = k, temperature = k % 2 }
      want[k] = m:generate(prompt, { max_tokens = 3 + k, seed = k, temperature = k % 2 })
      t.stream = k % 3 == 0
      cases[k] = post("/v1/completions", t)
    end
    local got = run(cases, { slots = 4, chunk = 16 }, m)
    for k = 1, 12 do
      assert.equal(want[k], text_of(got[k], k % 3 == 0))
    end
  end)

  it("refuses more than it can queue, and those without the key", function()
    local key = "Authorization: Bearer secret\r\n"
    local endless = '{"prompt":"endless","stream":true}'
    local got = run({
      { send = ask("POST", "/v1/completions", endless, key), deaf = 1 },
      { send = ask("POST", "/v1/completions", endless, key), deaf = 1, sleep = 0.1 },
      { send = ask("POST", "/v1/completions", endless, key), sleep = 0.2 },
      { send = ask("POST", "/v1/completions", endless) },
      { send = ask("GET", "/v1/models", "", "Authorization: Bearer wrong\r\n") },
      { send = ask("GET", "/health", "") },
    }, { key = "secret", slots = 1, queue = 1, unsent = 2 ^ 40 })
    refused(got[3], 429, "1 requests wait")
    refused(got[4], 401, "the key")
    refused(got[5], 401, "the key")
    assert.equal("ok", json(got[6]).status)
  end)

  it("ends what runs when it closes", function()
    local server = serve.open(fake.model, { port = 0, engine = fake.engine(16), unsent = 2 ^ 40 })
    local file, out = os.tmpname(), os.tmpname()
    os.remove(out)
    local f = assert(io.open(file, "wb"))
    for _, stream in ipairs { "true", "false" } do
      f:write(f:seek "cur" == 0 and "return {" or ",", ("{ send = %q }"):format(
        ask("POST", "/v1/completions", '{"prompt":"endless","stream":' .. stream .. "}")))
    end
    f:write "}"
    f:close()
    os.execute(("luajit spec/http_clients.lua %d %s %s &"):format(server:port(), file, out))
    local stop = tempo.clock() + 20
    while #server.jobs < 2 and tempo.clock() < stop do server:step(0.02) end
    server:step()
    server:close()
    while not exists(out) and tempo.clock() < stop do end
    local got = dofile(out)
    os.remove(file)
    os.remove(out)
    local _, body = parsed(got[1])
    assert.is_truthy(body:find '"message":"the server ends"')
    refused(got[2], 503, "the server ends")
  end)

  it("makes UTF-8 of anything", function()
    local clean, bad = openai.clean, "\239\191\189"
    for _, s in ipairs { "", "abc", "h\195\169", "\226\130\172", "\240\159\152\128",
      "\244\143\191\191" } do
      assert.equal(s, clean(s))
    end
    for s, want in pairs { ["\255"] = bad, ["a\195"] = "a" .. bad, ["\195a"] = bad .. "a",
        ["\226\130"] = bad, ["\226\130a"] = bad .. "a", ["\192\128"] = bad .. bad,
        ["\237\160\128"] = bad .. bad .. bad, ["\240\159\152"] = bad,
        ["\244\144\128\128"] = bad .. bad .. bad .. bad, ["\128"] = bad } do
      assert.equal(want, clean(s))
    end
  end)

  it("says what it needs", function()
    assert.error_matches(function() serve.open({}, {}) end, "no tokenizer")
    assert.error_matches(function() serve.open(fake.model, { prot = 1 }) end, "did you mean 'port'")
    assert.error_matches(function()
      serve.open(fake.model, { host = "256.0.0.1", port = 0, engine = {} })
    end, "file: cannot listen at 256.0.0.1")
    assert.error_matches(function() serve.open(fake.model, { port = 70000 }) end, "0 to 65535")
  end)
end)

--- The server of tempo.llm: an endpoint like OpenAI's over an engine, one step of all texts at a
--- time. Sockets belong to another thread (src/http), so a step keeps no client waiting and no
--- client a step.
local tempo = require "tempo"
local util = require "tempo.util"
local openai = require "tempo.llm.openai"
local core = getmetatable(tempo)

local serve = {}

---@class tempo.llm.Server
local Server = {}
Server.__index = Server

local function name_of(m, o)
  return o.name or m.name or "tempo"
end

-- The object that tempo.llm.server gives.
function serve.open(m, o)
  o = util.options("llm.serve", o,
    "host port slots queue name key body connections idle stalled unsent chunk engine")
  if not m.tokenizer then util.fail("option", "llm.serve: the model has no tokenizer") end
  util.expect_options("llm.serve", "count", o, "slots body connections unsent chunk")
  util.expect_options("llm.serve", "number", o, "queue idle stalled")
  util.expect_options("llm.serve", "string", o, "host name key")
  local port = util.expect("llm.serve: port", "number", o.port or 8080)
  if port ~= math.floor(port) or port < 0 or port > 65535 then
    util.fail("option", "llm.serve: port: expected 0 to 65535, got %g", port)
  end
  local s = setmetatable({ jobs = {}, made = 0, key = o.key, slots = o.slots or 16,
    queue = o.queue or 128, name = name_of(m, o), model = m, created = os.time() }, Server)
  s.engine = o.engine
    or require "tempo.llm.engine".new(m, { slots = s.slots, chunk = o.chunk })
  s.http = core.http_open(o.host or "127.0.0.1", port, o.body or 2 ^ 20,
    o.unsent or 2 ^ 18, o.connections or 256, o.idle or 30, o.stalled or 30)
  return s
end

--- The port, which `port = 0` leaves to the system.
function Server:port() return self.http:port() end

-- ---- replies ------------------------------------------------------------------------------------

local function send(request, status, value)
  request:reply(status, "application/json", core.json_encode(value))
end

local function refuse(request, e) send(request, e.status, { error = e.error }) end

-- ---- a job: a request that the engine works on --------------------------------------------------

-- The tokens since the last part of a stream, or all; nil: the request asks for none.
local function take_tokens(job)
  local run, tokens = job.run, {}
  if not job.logprobs then return nil end
  for k = job.told + 1, #run.ids do
    local piece = job.tokenizer:piece(run.ids[k])
    tokens[#tokens + 1] = { text = piece, logprob = run.logprobs[k], at = job.at }
    job.at = job.at + #piece
  end
  job.told = math.max(job.told, #run.ids)
  return tokens
end

local function finish(job)
  local run, request = job.run, job.request
  if run.reason == "cancelled" and request:gone() then return end
  if run.reason == "error" or run.reason == "cancelled" then
    local e = openai.error(run.reason == "error" and 500 or 503,
      tostring(run.error or "the server ends"))
    if not job.stream then return refuse(request, e) end
    request:write("data: " .. core.json_encode { error = e.error } .. "\n\n")
    return request:finish()
  end
  local usage = openai.usage(run.prompt_tokens, run.cached, #run.ids)
  if not job.stream then
    return send(request, 200,
      openai.whole(job.head, run.text, run.reason, take_tokens(job), usage))
  end
  local tokens = take_tokens(job)
  request:write(openai.part(job.head, { reason = run.reason,
    tokens = tokens and tokens[1] and tokens or nil }))
  if job.usage then request:write(openai.part(job.head, { usage = usage })) end
  request:write "data: [DONE]\n\n"
  request:finish()
end

-- Gives the request to the engine; raises what is sent in its place.
local function submit(s, kind, request, body)
  if #s.jobs >= s.slots + s.queue then
    error(openai.error(429, ("%d requests wait already"):format(s.queue)), 0)
  end
  local job = openai.read(kind, body, s.model.tokenizer)
  s.made = s.made + 1
  job.seed = job.seed or (os.time() * 7919 + s.made) % 2 ^ 31
  job.request, job.tokenizer, job.told, job.at = request, s.model.tokenizer, 0, 0
  job.head = { kind = kind, model = s.name, created = os.time(),
    id = ("%s-%x-%d"):format(kind == "chat" and "chatcmpl" or "cmpl", s.created, s.made) }
  local most = s.model.max_length or math.huge
  job.run = s.engine:submit {
    prompt = job.prompt, max_tokens = math.min(job.max_tokens or most, 2 ^ 31),
    temperature = job.temperature, top_p = job.top_p, top_k = job.top_k, min_p = job.min_p,
    seed = job.seed, stop = job.stop, repetition_penalty = job.repetition_penalty,
    logprobs = job.logprobs,
    on_token = job.stream and function(_, text)
      if text == "" then return end
      request:write(openai.part(job.head, { text = text, tokens = take_tokens(job) }))
    end or nil,
  }
  if job.run.prompt_tokens >= most then
    s.engine:cancel(job.run)
    error(openai.error(400, ("the prompt has %d tokens, the model at most %d")
      :format(job.run.prompt_tokens, most), kind == "chat" and "messages" or "prompt",
      "context_length_exceeded"), 0)
  end
  s.jobs[#s.jobs + 1] = job
  if not job.stream then return end
  request:begin "text/event-stream"
  if kind == "chat" then
    request:write(openai.part(job.head, { role = "assistant", text = "" }))
  end
end

-- ---- paths --------------------------------------------------------------------------------------

local function card(s)
  return { id = s.name, object = "model", created = s.created, owned_by = "tempo" }
end

local get, post = {}, {}

get["/health"] = function(s)
  local waits = math.max(#s.jobs - s.slots, 0)
  return { status = "ok", running = #s.jobs - waits, waiting = waits }
end
get["/v1/models"] = function(s) return { object = "list", data = { card(s) } } end
get["/v1/models/"] = card                                -- with the model's name behind
post["/v1/completions"] = function(s, request, body) submit(s, "text", request, body) end
post["/v1/chat/completions"] = function(s, request, body) submit(s, "chat", request, body) end

local function answer(s, request)
  local method, path, authorization, body = request:read()
  if method == "HEAD" then method = "GET" end
  if path ~= "/health" and s.key and authorization ~= "Bearer " .. s.key then
    error(openai.error(401, "the key is wrong or missing", nil, "invalid_api_key"), 0)
  end
  if path == "/v1/models/" .. s.name then path = "/v1/models/" end
  local does = (method == "GET" and get or method == "POST" and post or {})[path]
  if not does and (get[path] or post[path]) then
    error(openai.error(405, openai.clean(method) .. " is no method of " .. path), 0)
  end
  if not does then error(openai.error(404, "there is no " .. openai.clean(path)), 0) end
  local value = does(s, request, body)
  if value then send(request, 200, value) end
end

local function is_interrupt(e)
  return type(e) == "string" and e:find("interrupted!", 1, true) ~= nil
end

-- Codes of errors for which the client has nothing to be blamed.
local ours = { memory = 503, device = 503, callback = 500, nan = 500 }

local function take(s, request)
  local ok, e = pcall(answer, s, request)
  if ok then return end
  if is_interrupt(e) then error(e, 0) end
  if type(e) == "table" and e.status then return refuse(request, e) end
  local code = type(e) == "table" and e.code
  local status = code and (ours[code] or 400) or 500
  if status >= 500 then io.stderr:write("tempo: ", tostring(e), "\n") end
  refuse(request, openai.error(status, tostring(type(e) == "table" and e.message or e)))
end

-- ---- running ------------------------------------------------------------------------------------

--- Takes requests, for which it waits up to `seconds` while there is nothing else to do, and makes
--- one step of all texts. Returns how many requests are not finished.
---@param seconds? number
---@return integer
function Server:step(seconds)
  local request = self.http:next(#self.jobs > 0 and 0 or seconds or 0)
  while request do
    take(self, request)
    request = self.http:next(0)
  end
  if #self.jobs == 0 then return 0 end
  for _, job in ipairs(self.jobs) do
    if not job.run.reason and job.request:gone() then self.engine:cancel(job.run) end
  end
  self.engine:step()
  local rest = {}
  for _, job in ipairs(self.jobs) do
    if is_interrupt(job.run.error) then error(job.run.error, 0) end
    if job.run.reason then finish(job) else rest[#rest + 1] = job end
  end
  self.jobs = rest
  return #rest
end

--- Ends what runs, waits up to `linger` seconds until replies are sent, and closes all sockets.
---@param linger? number default 2
function Server:close(linger)
  for _, job in ipairs(self.jobs) do
    if not job.run.reason then self.engine:cancel(job.run) end
    job.run.reason = job.run.reason or "cancelled"
    finish(job)
  end
  self.jobs = {}
  self.http:close(linger or 2)
end

--- Runs until Ctrl-C, which it takes for its end, or an error, which it raises after closing.
---@protected
function Server:run()
  local ok, e = pcall(function()
    while true do self:step(0.1) end
  end)
  self:close()
  if not ok and not is_interrupt(e) then error(e, 0) end
end

return serve

-- The forms of OpenAI's API: what a request may ask for, and what replies look like. A request that
-- is refused raises { status, error }, which the server sends; nothing here knows the engine.
local tempo = require "tempo"
local core = getmetatable(tempo)

local openai = {}

-- ---- errors -------------------------------------------------------------------------------------

local types = { [401] = "authentication_error", [429] = "rate_limit_error", [500] = "server_error",
  [503] = "server_error" }

--- The table that is raised and sent.
function openai.error(status, message, param, code)
  return { status = status, error = { message = openai.clean(message), param = param or core.null,
    type = types[status] or "invalid_request_error", code = code or core.null } }
end

local function refuse(param, ...)
  error(openai.error(400, "'" .. param .. "' " .. string.format(...), param), 0)
end

-- ---- text: JSON is UTF-8, which an unfinished text need not be ----------------------------------

-- Bytes of the character whose first byte is b; nil: none begins so.
local function length(b)
  return b < 0x80 and 1 or b >= 0xC2 and b < 0xE0 and 2 or b >= 0xE0 and b < 0xF0 and 3
    or b >= 0xF0 and b < 0xF5 and 4 or nil
end

-- Is there a character of n bytes at k? Or else: how many bytes could begin one.
local function is_character(s, k, n)
  local a, b = s:byte(k, k + 1)
  local low = a == 0xE0 and 0xA0 or a == 0xF0 and 0x90 or 0x80
  local high = a == 0xED and 0x9F or a == 0xF4 and 0x8F or 0xBF
  if n == 1 then return true end
  if not b or b < low or b > high then return false, 1 end
  for i = 2, n - 1 do
    local c = s:byte(k + i)
    if not c or c < 0x80 or c > 0xBF then return false, i end
  end
  return true
end

--- The text with U+FFFD in place of what is no UTF-8.
function openai.clean(s)
  if not s:find "[\128-\255]" then return s end
  local out, k = {}, 1
  while k <= #s do
    local n = length(s:byte(k))
    local good, wrong = false, 1
    if n then good, wrong = is_character(s, k, n) end
    out[#out + 1] = good and s:sub(k, k + n - 1) or "\239\191\189"
    k = k + (good and n or wrong)
  end
  return table.concat(out)
end

-- ---- what a request asks for --------------------------------------------------------------------

local function given(v)
  if v == core.null then return nil end
  return v
end

local function number(t, name, low, high, whole)
  local v = given(t[name])
  if v == nil then return nil end
  if type(v) ~= "number" or v < low or v > high or whole and v ~= math.floor(v) then
    refuse(name, "must be %s between %g and %g", whole and "an integer" or "a number", low, high)
  end
  return v
end

local function boolean(t, name)
  local v = given(t[name])
  if v ~= nil and type(v) ~= "boolean" then refuse(name, "must be true or false") end
  return v or false
end

-- Refuses an option that has no effect here, unless it says what is done anyway.
local function unless(t, name, same)
  local v = given(t[name])
  local empty = type(v) == "table" and next(v) == nil
  if v ~= nil and v ~= same and not empty then refuse(name, "is not supported") end
end

local function is_list(v) return type(v) == "table" and (#v > 0 or next(v) == nil) end

local function stop_strings(t)
  local v = given(t.stop)
  if type(v) == "string" then v = { v } end
  if v == nil then return {} end
  if not is_list(v) or #v > 16 then refuse("stop", "must be a string or a list of up to 16") end
  for _, s in ipairs(v) do
    if type(s) ~= "string" or #s < 1 or #s > 256 then
      refuse("stop", "must be a string of 1 to 256 bytes, or a list of them")
    end
  end
  return v
end

local function sampling(t)
  local o = {
    temperature = number(t, "temperature", 0, 100) or 1, top_p = number(t, "top_p", 0, 1),
    top_k = number(t, "top_k", 0, 2 ^ 31, true), min_p = number(t, "min_p", 0, 1),
    repetition_penalty = number(t, "repetition_penalty", 1e-3, 1e3),
    seed = number(t, "seed", -2 ^ 53, 2 ^ 53, true), stop = stop_strings(t),
  }
  for name, same in pairs { n = 1, best_of = 1, echo = false, suffix = "", logit_bias = "",
      presence_penalty = 0, frequency_penalty = 0, tools = "", functions = "" } do
    unless(t, name, same)
  end
  return o
end

local function completion(t)
  local o = sampling(t)
  local p = given(t.prompt)
  if type(p) == "table" and #p == 1 and type(p[1]) ~= "number" then p = p[1] end
  local ids = is_list(p) and #p > 0
  for _, id in ipairs(ids and p or {}) do
    if type(id) ~= "number" or id ~= math.floor(id) or id < 0 then ids = false end
  end
  if type(p) ~= "string" and not ids then
    refuse("prompt", "must be one string or one list of token ids")
  end
  if ids then setmetatable(p, nil) end
  o.prompt = p
  o.max_tokens = number(t, "max_tokens", 0, 2 ^ 31, true) or 16
  o.logprobs = number(t, "logprobs", 0, 0, true) ~= nil
  return o
end

local roles = { system = "system", developer = "system", user = "user", assistant = "assistant" }

-- The text of a message, which may come in parts.
local function content(v)
  if type(v) == "string" then return v end
  if not is_list(v) then refuse("messages", "need a content that is text") end
  local parts = {}
  for k, part in ipairs(v) do
    local text = type(part) == "table" and part.type == "text" and part.text
    if type(text) ~= "string" then refuse("messages", "may have parts of the type text only") end
    parts[k] = text
  end
  return table.concat(parts)
end

local function chat(t, tokenizer)
  local o = sampling(t)
  local list = given(t.messages)
  if not is_list(list) or #list == 0 then refuse("messages", "must be a list of messages") end
  local messages = {}
  for k, message in ipairs(list) do
    local role = type(message) == "table" and roles[message.role]
    if not role then refuse("messages", "need a role: system, user or assistant") end
    messages[k] = { role = role, content = content(message.content) }
  end
  unless(t, "response_format", "")
  o.prompt = tokenizer:encode(tokenizer:chat(messages), { special = true })
  o.max_tokens = number(t, "max_completion_tokens", 1, 2 ^ 31, true)
    or number(t, "max_tokens", 1, 2 ^ 31, true)
  o.logprobs = boolean(t, "logprobs")
  number(t, "top_logprobs", 0, 0, true)
  return o
end

--- Reads what the body of a request asks for: settings of the engine, and besides `stream`, `usage`
--- (a stream ends with it).
function openai.read(kind, body, tokenizer)
  local ok, t = pcall(core.json_decode, body, "the body")
  if not ok or type(t) ~= "table" or #t > 0 then
    local why = ok and "it is no object" or tostring(type(t) == "table" and t.message or t)
    error(openai.error(400, "the body is no JSON: " .. why), 0)
  end
  local format = given(t.response_format)
  if type(format) == "table" and format.type == "text" then t.response_format = nil end
  if type(given(t.model) or "") ~= "string" then refuse("model", "must be a string") end
  local o = kind == "chat" and chat(t, tokenizer) or kind ~= "chat" and completion(t)
  o.stream = boolean(t, "stream")
  local options = given(t.stream_options)
  if options ~= nil and type(options) ~= "table" then
    refuse("stream_options", "must be an object")
  end
  o.usage = options and boolean(options, "include_usage") or false
  return o
end

-- ---- replies ------------------------------------------------------------------------------------

local function list(t) return setmetatable(t, core.json_list) end

local function bytes(s)
  local v = {}
  for k = 1, #s do v[k] = s:byte(k) end
  return list(v)
end

-- tokens: { { text =, logprob =, at = (bytes before it) }, ... }
local function logprobs(kind, tokens)
  if not tokens then return core.null end
  local entries, names, values, offsets, none = {}, {}, {}, {}, {}
  for k, token in ipairs(tokens) do
    local name = openai.clean(token.text)
    entries[k] = { token = name, logprob = token.logprob, bytes = bytes(token.text),
      top_logprobs = list {} }
    names[k], values[k], offsets[k], none[k] = name, token.logprob, token.at, core.null
  end
  if kind == "chat" then return { content = list(entries), refusal = core.null } end
  return { tokens = list(names), token_logprobs = list(values), text_offset = list(offsets),
    top_logprobs = list(none) }
end

--- Numbers of tokens; `cached` of the prompt's were read for a request before.
function openai.usage(prompt, cached, made)
  return { prompt_tokens = prompt, completion_tokens = made, total_tokens = prompt + made,
    prompt_tokens_details = { cached_tokens = cached } }
end

local reasons = { eos = "stop", stop = "stop", length = "length" }

-- head: { id =, kind =, model =, created = }
local function reply(head, object, choices)
  return { id = head.id, object = object, created = head.created, model = head.model,
    choices = list(choices), system_fingerprint = core.null }
end

--- A whole reply, as a table.
function openai.whole(head, text, reason, tokens, usage)
  text = openai.clean(text)
  local choice = { index = 0, finish_reason = reasons[reason] or "stop",
    logprobs = logprobs(head.kind, tokens) }
  if head.kind == "chat" then
    choice.message = { role = "assistant", content = text, refusal = core.null }
  else
    choice.text = text
  end
  local t = reply(head, head.kind == "chat" and "chat.completion" or "text_completion", { choice })
  t.usage = usage
  return t
end

--- A part of a stream, as the event's text. The first part of a chat has `role`; the last `reason`;
--- one with `usage` alone follows it.
function openai.part(head, p)
  local choice = { index = 0, logprobs = logprobs(head.kind, p.tokens),
    finish_reason = p.reason and (reasons[p.reason] or "stop") or core.null }
  local text = p.text and openai.clean(p.text)
  if head.kind == "chat" then choice.delta = { role = p.role, content = text }
  else choice.text = text or "" end
  local object = head.kind == "chat" and "chat.completion.chunk" or "text_completion"
  local t = reply(head, object, not p.usage and { choice } or {})
  t.usage = p.usage
  return "data: " .. core.json_encode(t) .. "\n\n"
end

return openai

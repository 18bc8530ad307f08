-- A tokenizer whose tokens are bytes, and an engine with the interface of tempo.llm.engine that
-- answers "<prompt>" backwards, a word a step, so that what each client must see is known.
local fake = {}

local tokenizer = {}
function tokenizer.encode(_, text) return { text:byte(1, -1) } end
function tokenizer.piece(_, id) return string.char(id) end
function tokenizer.chat(_, messages)
  local out = {}
  for k, m in ipairs(messages) do out[k] = m.role .. ":" .. m.content end
  return table.concat(out, "|")
end

fake.model = { tokenizer = tokenizer, max_length = 5000, name = "fake" }

function fake.answer(prompt) return ("<" .. prompt .. ">"):reverse() end

local Engine = {}
Engine.__index = Engine

function fake.engine(slots)
  return setmetatable({ slots = slots, list = {}, cancelled = 0, steps = 0 }, Engine)
end

function Engine:submit(o)
  local prompt = o.prompt
  if type(prompt) == "table" then
    local bytes = {}
    for k, id in ipairs(prompt) do bytes[k] = string.char(id % 256) end
    prompt = table.concat(bytes)
  end
  local text, stopped = fake.answer(prompt), false
  for _, stop in ipairs(o.stop or {}) do
    local at = text:find(stop, 1, true)
    if at then text, stopped = text:sub(1, at - 1), true end
  end
  local length = #text > o.max_tokens
  local r = { whole = text:sub(1, o.max_tokens), text = "", ids = {},
    prompt_tokens = #prompt, cached = 0,
    on_token = o.on_token, logprobs = o.logprobs and {} or nil,
    last = length and "length" or stopped and "stop" or "eos", endless = prompt == "endless" }
  if r.endless then r.whole, r.last = ("x"):rep(2000), nil end
  self.list[#self.list + 1] = r
  return r
end

function Engine:cancel(r)
  if not r.reason then r.reason, self.cancelled = "cancelled", self.cancelled + 1 end
end

local function advance(r)
  local from = r.endless and 1 or #r.text + 1
  local word = r.whole:match("^[^ ]* ?", from)
  if not r.endless then
    r.text = r.text .. word
    for k = 1, #word do
      r.ids[#r.ids + 1] = word:byte(k)
      if r.logprobs then r.logprobs[#r.ids] = -#r.ids end
    end
  end
  if r.on_token and r.on_token(0, word, r) == false then r.reason = "stop" end
  if r.last and #r.text == #r.whole then r.reason = r.reason or r.last end
end

function Engine:step()
  local rest = {}
  self.steps = self.steps + 1
  for k, r in ipairs(self.list) do
    if not r.reason and k <= self.slots then advance(r) end
    if not r.reason then rest[#rest + 1] = r end
  end
  self.list = rest
  return #rest
end

return fake

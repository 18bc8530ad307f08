--- tempo.llm.engine: continuous batching. Requests come at any time; each has keys and values of
--- its own, as many places for all. A step takes one chunk of one request's prompt, as matrices,
--- then one token of every request that has its prompt behind it, as a batch; who has finished
--- leaves room for the next of the queue.
---
--- Chunks begin at multiples of `chunk` of their own prompt, draws are keyed by seed and position,
--- and an element of a product does not depend on the rows beside it: so a text does not depend on
--- what else runs, or when. A prompt that begins like one that was read before (the next turn of a
--- chat) takes over its whole chunks.
local tempo = require "tempo"
local util = require "tempo.util"
local text = require "tempo.llm.text"

local core = getmetatable(tempo)
local engine = {}

---@class tempo.llm.Engine
local Engine = {}
Engine.__index = Engine

---@class tempo.llm.Request what Engine:submit gives
---@field ids integer[] what was generated, without EOS and stop string
---@field text string? the same as text, where the model has a tokenizer
---@field logprobs number[]? of the ids, where they were asked for
---@field reason string? nil while it runs; "eos", "stop", "length", "cancelled" or "error"
---@field error any what its on_token raised
---@field prompt_tokens integer
---@field cached integer how many of them were read for a request before

local PLACES = 64           -- places grow by these

local function rounded(n) return math.ceil(n / PLACES) * PLACES end

--- An engine of the model: at most `slots` requests run at once, prompts are taken `chunk` tokens
--- at a time.
---@param m tempo.llm.Model
---@param o? { slots?: integer, chunk?: integer }
---@return tempo.llm.Engine
function engine.new(m, o)
  if type(m) ~= "table" or not m.config then
    util.fail("option", "llm.engine: expected a model, as llm.load gives it")
  end
  o = util.options("llm.engine", o, "slots chunk")
  util.expect_options("llm.engine", "count", o, "slots chunk")
  local e = setmetatable({ model = m, slots = o.slots or 16, chunk = o.chunk or 128 }, Engine)
  e.queue, e.active, e.spare = {}, {}, {}
  e.places, e.most = PLACES, math.huge
  -- a ring: attention looks no further than a window, and a chunk must fit
  if m.config.window then e.most = rounded(math.max(m.config.window, e.chunk)) end
  return e
end

-- ---- requests ----------------------------------------------------------------------------------

local function between(what, o, name, low, high, whole)
  local v = o[name]
  if v == nil then return end
  if type(v) ~= "number" or not (v >= low and v <= high) or (whole and v ~= math.floor(v)) then
    util.fail("option", "%s: %s: expected %s from %g to %g, got %s", what, name,
      whole and "an integer" or "a number", low, high, tostring(v))
  end
end

local known = "prompt max_tokens temperature top_k top_p min_p repetition_penalty seed stop "
  .. "on_token logprobs index"

local function checked(m, o)
  local what = "generate"
  util.options(what, o, known)
  between(what, o, "max_tokens", 0, 2 ^ 31, true)
  between(what, o, "temperature", 0, 1e6)
  between(what, o, "top_k", 0, 2 ^ 31, true)
  between(what, o, "top_p", 0, 1)
  between(what, o, "min_p", 0, 1)
  between(what, o, "repetition_penalty", 1e-6, 1e6)
  between(what, o, "seed", -2 ^ 53, 2 ^ 53, true)
  if o.on_token ~= nil then util.expect(what .. ": on_token", "function", o.on_token) end
  local stop = type(o.stop) == "string" and { o.stop } or o.stop or {}
  for _, s in ipairs(util.sequence(what .. ": stop", stop, '{ "\\n", "END" }')) do
    if type(s) ~= "string" or s == "" then
      util.fail("option", "%s: stop: expected strings that are not empty", what)
    end
  end
  if #stop > 0 and not m.tokenizer then
    util.fail("option", "%s: stop: this model has no tokenizer", what)
  end
  return stop
end

-- The ids of a prompt.
local function prompt_ids(m, prompt)
  if type(prompt) ~= "string" then return m:_checked("prompt", prompt) end
  local tok = m.tokenizer
  if not tok then
    util.fail("option", "generate: this model has no tokenizer: give a list of ids")
  end
  local ids = tok:encode(prompt, { bos = tok.add_bos })
  if #ids == 0 then
    util.fail("shape", "generate: an empty prompt, and the model has no token to begin with")
  end
  return m:_checked("prompt", ids)
end

--- Adds a request: prompt (text or ids) and the options of Model:generate. It may be called at any
--- time between steps.
---@param o tempo.llm.Options with prompt: a text or ids
---@return tempo.llm.Request
function Engine:submit(o)
  local m = self.model
  o = o or {}
  local stop = checked(m, o)
  local prompt = prompt_ids(m, o.prompt)
  local r = { prompt = prompt, prompt_tokens = #prompt, ids = {}, done = 0, cached = 0,
    settings = o, logprobs = o.logprobs and {} or nil, index = o.index, on_token = o.on_token,
    max_tokens = o.max_tokens or 64 }
  if m.tokenizer then r.writer = text.writer(m.tokenizer, stop) end
  if o.repetition_penalty and o.repetition_penalty ~= 1 then
    r.seen, r.is_seen = {}, {}
    for _, id in ipairs(prompt) do self:_saw(r, id) end
  end
  if #prompt >= m.max_length or r.max_tokens == 0 then self:_finish(r, "length")
  else self.queue[#self.queue + 1] = r end
  return r
end

--- Notes that the request's text has the token.
---@protected
function Engine:_saw(r, id)
  if r.seen and not r.is_seen[id] then
    r.is_seen[id] = true
    r.seen[#r.seen + 1] = id
  end
end

--- Ends a request.
---@protected
function Engine:_finish(r, reason)
  r.reason = reason
  if r.writer then
    r.text = r.writer:finish()
    if reason == "stop" then                          -- tokens that lie in the stop string
      local n = r.writer:tokens()
      for k = #r.ids, n + 1, -1 do
        r.ids[k] = nil
        if r.logprobs then r.logprobs[k] = nil end
      end
    end
  end
  if r.k then
    local whole = r.done <= r.k:shape()[3]            -- no place was written again
    self.spare[#self.spare + 1] = { k = r.k, v = r.v, ids = r.prompt,
      read = whole and math.min(r.done, r.prompt_tokens) or 0 }
    r.k, r.v = nil, nil
  end
end

--- Ends a request before its time.
---@param r tempo.llm.Request
function Engine:cancel(r)
  if not r.reason then self:_finish(r, "cancelled") end
end

-- ---- places of keys and values -----------------------------------------------------------------

-- How many positions of the prompt are in the places of a finished request: whole chunks, since
-- bits depend on where a chunk begins, and not all, since the last one gives the logits.
local function shared(e, r, spare)
  local most, n = math.min(spare.read, r.prompt_tokens - 1), 0
  while n < most and r.prompt[n + 1] == spare.ids[n + 1] do n = n + 1 end
  return n - n % e.chunk
end

-- Arrays for a request that begins: those of the finished one that has the most of its prompt, of
-- the one that ended first if none has any.
local function place(e, r)
  local c, best = e.model.config, 1
  for k, spare in ipairs(e.spare) do
    local n = shared(e, r, spare)
    if n > r.done then best, r.done = k, n end
  end
  local spare = table.remove(e.spare, best)
  if not spare then
    local one = tempo.array(0, "f32", { c.layers, c.kv_heads, 1, c.head })
    spare = { k = one, v = one }
  end
  r.k, r.v, r.cached = spare.k, spare.v, r.done
  for _, name in ipairs { "k", "v" } do
    if r[name]:shape()[3] < e.places then r[name] = core.llm_grow(r[name], e.places) end
  end
end

-- Sees to it that there is a place for position n - 1.
local function reserve(e, n)
  if n <= e.places or e.places == e.most then return end
  e.places = math.min(e.most,
    rounded(math.max(n, math.min(e.places * 1.25, e.model.max_length))))
  for _, r in ipairs(e.active) do
    if r.k then r.k, r.v = core.llm_grow(r.k, e.places), core.llm_grow(r.v, e.places) end
  end
end

-- Keeps keys and values of n positions from r.done on, which are rows `row` and after.
local function keep(r, out, row, n)
  core.llm_keep(r.k, out.k, row, n, r.done)
  core.llm_keep(r.v, out.v, row, n, r.done)
  r.done = r.done + n
end

-- ---- steps -------------------------------------------------------------------------------------

-- Shows a token to its request's on_token.
local function tell(e, r, id, shown)
  if not r.on_token then return end
  local ok, answer = pcall(r.on_token, id, shown, r)
  if not ok then
    r.error = answer
    if not r.reason then e:_finish(r, "error") end
  elseif answer == false and not r.reason then
    e:_finish(r, "stop")
  end
end

-- Chooses the request's next token from a row of logits.
local function choose(e, r, logits, row)
  local m = e.model
  local id, logprob = core.llm_sample(logits, row, r.settings, r.done, r.seen, r.logprobs ~= nil)
  if m:_ends(id) then
    local rest = r.writer and r.writer:rest() or ""
    if rest ~= "" then tell(e, r, id, rest) end
    if not r.reason then e:_finish(r, "eos") end
    return
  end
  local n = #r.ids + 1
  r.ids[n] = id
  if r.logprobs then r.logprobs[n] = logprob end
  e:_saw(r, id)
  local shown, stopped = "", false
  if r.writer then shown, stopped = r.writer:write(id) end
  local full = n == r.max_tokens or r.prompt_tokens + n >= m.max_length
  if full and r.writer and not stopped then shown = shown .. r.writer:rest() end
  tell(e, r, id, shown)
  if r.reason then return end
  if stopped then e:_finish(r, "stop") elseif full then e:_finish(r, "length") end
end

-- One chunk of the request's prompt; the last one gives its first token.
local function read(e, r)
  local from, n = r.done, math.min(e.chunk, r.prompt_tokens - r.done)
  local last = from + n == r.prompt_tokens
  local ids = {}
  for k = 1, n do ids[k] = r.prompt[from + k] end
  reserve(e, from + n)
  local run = e.model:_program("chunk", last and "k v logits" or "k v")
  local out = run({ id = ids, start = from, past_k = r.k, past_v = r.v }, { N = n, C = e.places })
  keep(r, out, 0, n)
  if last then choose(e, r, out.logits, 0) end
end

-- One token of each of these requests.
local function advance(e, list)
  local ids, start, k, v, longest = {}, {}, {}, {}, 0
  for _, r in ipairs(list) do longest = math.max(longest, r.done + 1) end
  reserve(e, longest)
  for b, r in ipairs(list) do
    ids[b], start[b], k[b], v[b] = r.ids[#r.ids], r.done, r.k, r.v
  end
  local inputs = { id = ids, start = start, past_k = tempo.rows(k), past_v = tempo.rows(v) }
  local out = e.model:_program("next", "k v logits")(inputs, { B = #list, C = e.places })
  inputs.past_k:free()                                -- a device takes their memory for others
  inputs.past_v:free()
  for b, r in ipairs(list) do
    if not r.reason then                              -- an on_token may cancel others
      keep(r, out, b - 1, 1)
      choose(e, r, out.logits, b - 1)
    end
  end
  for _, a in pairs { out.k, out.v, out.logits } do a:free() end
end

local function unfinished(list)
  local out = {}
  for _, r in ipairs(list) do
    if not r.reason then out[#out + 1] = r end
  end
  return out
end

--- Advances all by one step. Returns how many requests are not finished.
---@return integer
function Engine:step()
  self.active, self.queue = unfinished(self.active), unfinished(self.queue)
  while #self.active < self.slots and self.queue[1] do
    local r = table.remove(self.queue, 1)
    place(self, r)
    self.active[#self.active + 1] = r
  end
  local decoding, reading = {}, nil
  for _, r in ipairs(self.active) do
    if r.done >= r.prompt_tokens then decoding[#decoding + 1] = r else reading = reading or r end
  end
  if reading then read(self, reading) end
  decoding = unfinished(decoding)                     -- an on_token may have cancelled some
  if #decoding > 0 then advance(self, decoding) end
  self.active, self.queue = unfinished(self.active), unfinished(self.queue)
  return #self.active + #self.queue
end

return engine

--- tempo.llm.net: what the models are made of. A net records one model in a program: its tokens
--- stand on the dims `rows`, its layers on the dim l, and what a token sees of those before it is
--- said here once.
---
---   time = t     a recurrence over positions: attention reads k[0 .. t+1], or a window of it
---   time = n     a chunk of one text: keys and values of positions before it are inputs,
---                k[0 .. n+1] the chunk's own
---   no time      one next token for each row, whose earlier keys and values are inputs
local tempo = require "tempo"

---@class tempo.llm.Net
local Net = {}
Net.__index = Net

--- A net in P. `o`: rows (the dims of a token), time, past (keys and values of earlier positions
--- are inputs), rounds (products round what they multiply weights of bf16 by to bf16). Layers are
--- dim l, so rows are dims that P has made before.
---@protected
function Net.new(P, config, o)
  local net = setmetatable({ P = P, c = config, rows = o.rows, time = o.time, past = o.past,
    rounds = o.rounds }, Net)
  net.l, net.L = P:dim("l", "L")
  net.stored, net.w = {}, {}
  net.position = net.time and net.time:value()
  if net.past then
    local over = not net.time and o.rows or nil
    net.start = P:input("start", { domain = over, dtype = "i64" })
    net.position = net.time and net.start + net.position or net.start
    net.capacity = P:bound "C"
  end
  return net
end

-- A tensor as it lies in the file, in f32. `format`: its elements lie in blocks.
local function widened(stored, format)
  if format then return stored:dequantize(format) end
  return stored:dtype() ~= "f32" and stored:to "f32" or stored
end

-- The same for net.linear, which takes matrices of bf16 as they lie where the net rounds.
local function multiplied(net, stored, format)
  local rounds = net.rounds and not format and stored:dtype() == "bf16" and #stored:shape() > 1
  return rounds and stored or widened(stored, format)
end

--- Makes a weight of an input: net.w[name], a vector in f32 or a matrix for net.linear. `here`: the
--- input has the weight of the layers where that holds, in another format; net.w[name] is a list
--- then.
---@protected
function Net:weight(name, stored, format, here)
  local w = multiplied(self, stored, format)
  if not here then
    self.stored[name], self.w[name] = { stored, format }, w
    return
  end
  local parts = self.w[name]
  if type(parts) ~= "table" then parts = { { w = parts } } end
  parts[#parts + 1] = { w = w, here = here }
  self.w[name] = parts
end

--- The row `k` (an i64 scalar) of a weight: the row alone is widened.
function Net:row(name, k)
  local stored = self.stored[name]
  return widened(stored[1]:select(0, k), stored[2])
end

--- The rows `k` (a vector) of a weight, for net.linear.
function Net:rows_of(name, k)
  local stored = self.stored[name]
  return multiplied(self, stored[1]:index_select(0, k), stored[2])
end

--- The residual stream: declared, one vector for each token and layer.
function Net:stream()
  local domain = { self.l }
  for k, d in ipairs(self.rows) do table.insert(domain, k, d) end
  return self.P:tensor { domain = domain, shape = { self.c.width }, name = "x" }
end

--- x W' + b, with W as files have it, (out, in). If W is bf16 here, x is rounded to it; products
--- of both are exact in f32, and added there. For a weight in several formats each product is made,
--- and the layer's own taken: both together are less to read than f32.
function Net.linear(x, w, b)
  local y
  for _, part in ipairs(type(w) == "table" and w or { { w = w } }) do
    local rounds = part.w:dtype() == "bf16"
    local left, right = rounds and x:to "bf16":to "f32" or x, part.w:to "f32"
    local product = left:matmul(right:transpose(-2, -1))
    y = y and tempo.where(part.here, product, y) or product
  end
  return b and y + b or y
end

-- cos and sin of position times each frequency, for a head's first half and again for its second.
local function angles(net)
  if not net.angles then
    local a = net.P:constant(tempo.array(net.c.frequencies)) * net.position
    net.angles = { a:cos(), a:sin() }
  end
  return net.angles[1], net.angles[2]
end

--- Rotary positions (Su et al. 2021) of x (heads, head): component i turns with i + head/2. Files
--- of GGUF may have rows of q and k so that it turns with its neighbour; then both are brought into
--- our order first.
function Net:rotate(x)
  local c = self.c
  local cos, sin = angles(self)
  if c.paired then x = x:reshape { -1, c.head / 2, 2 }:transpose(-2, -1):reshape { -1, c.head } end
  local h = x:chunk(2, -1)
  return tempo.cat({ h[1] * cos - h[2] * sin, h[2] * cos + h[1] * sin }, -1)
end

-- Scores of earlier positions, -inf where there is none to see, and their values. The place j of a
-- ring of C places holds the latest position before `start` that is j modulo C.
local function earlier(net, q)
  local c, C, over = net.c, net.capacity, { net.l }
  if not net.time then table.insert(over, 1, net.rows[1]) end
  local spec = { domain = over, shape = { c.kv_heads, C, c.head } }
  local k, v = net.P:input("past_k", spec), net.P:input("past_v", spec)
  local latest, place = net.start - 1, tempo.arange({ C }, { dtype = "i64" })
  local at = latest - tempo.mod(latest - place, C:value())
  local seen = at:ge(0)
  if c.window then seen = seen:land(at:gt(net.position - c.window)) end
  return tempo.where(seen, q:matmul(k:transpose(-2, -1)), -math.huge), v
end

--- Attention of q (heads, head) over the keys and values (kv_heads, head) of its position and those
--- before it; each key serves heads / kv_heads queries (Ainslie et al. 2023). Gives (heads * head).
function Net:attention(q, k, v)
  local c, t = self.c, self.time
  self.k, self.v = k, v
  q = (q * c.head ^ -0.5):reshape { c.kv_heads, c.heads / c.kv_heads, c.head }
  if t then
    local from = c.window and tempo.max(0, t - c.window + 1) or 0
    k, v = k[{ [t] = tempo.range(from, t + 1) }], v[{ [t] = tempo.range(from, t + 1) }]
  else
    k, v = k:unsqueeze(0), v:unsqueeze(0)
  end
  local scores, values = q:matmul(k:permute { 1, 2, 0 }), v:permute { 1, 0, 2 }
  if not self.past then return scores:softmax(-1):matmul(values):reshape { c.heads * c.head } end
  local before, past = earlier(self, q)
  local C, own = self.capacity, k:shape()[1]
  local p = tempo.cat({ before, scores }, -1):softmax(-1)
  -- a value of its own: the product after it takes all rows at once
  local y = self.P:tensor { domain = before:domain(), shape = { c.heads * c.head } }
  y:otherwise((p:slice(-1, 0, C):matmul(past) + p:slice(-1, C, C + own):matmul(values))
    :reshape { c.heads * c.head })
  return y
end

return Net

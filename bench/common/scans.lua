--- Programs of bench/native.lua that scan: each gives a function of n that does the work once and
--- gives a number of its result, and how many of what is counted that is.
--- bench/peers/native_peer.py has the same in JAX.
local tempo = require "tempo"
local tier = os.getenv "TEMPO_TIER" or "native"
local scans = {}

-- scale * sin(7.3 i + k) in f64, of i = 0, 1, ..
local function waves(shapes)
  local Q, outputs, inputs = tempo.program(), {}, {}
  for name, s in pairs(shapes) do
    local n = 1
    for _, v in ipairs(s.shape) do n = n * v end
    local wave = (tempo.arange({ n }, 0, 1, { dtype = "f64" }) * 7.3 + s.k):sin() * s.scale
    outputs[name] = wave:to(s.dtype or "f32"):reshape(s.shape)
  end
  local got = Q:compile { outputs = outputs, tier = "interpreter" } {}
  for name in pairs(shapes) do inputs[name] = got[name] end
  return inputs
end

local BATCH, HIDDEN, FEATURES = 32, 128, 128

-- Weights and inputs of a layer with so many gates.
local function layer(n, gates)
  local P = tempo.program()
  local t, T = P:dim "t"
  local width = gates * HIDDEN
  local inputs = waves { x = { shape = { n, BATCH, FEATURES }, k = 0, scale = 1 },
    wx = { shape = { FEATURES, width }, k = 1, scale = 0.1 },
      wh = { shape = { HIDDEN, width }, k = 2, scale = 0.1 } }
  local x = P:input("x", { domain = { t }, shape = { BATCH, FEATURES } })
  local wx, wh = P:input("wx", { shape = { FEATURES, width } }),
    P:input("wh", { shape = { HIDDEN, width } })
  local function gate(z, k) return z:slice(1, k * HIDDEN, (k + 1) * HIDDEN) end
  local function tensor() return P:tensor { domain = { t }, shape = { BATCH, HIDDEN } } end
  local function finish(h)
    local loss = (h * h)[{ t = tempo.range(0, T) }]:mean()
    local g = tempo.grad(loss, { wx, wh })
    local f = P:compile { outputs = { loss = loss, wx = g[1], wh = g[2] }, tier = tier }
    return function()
      local out = f(inputs, { T = n })
      return out.loss:item() + out.wx:get(3, 5) + out.wh:get(3, 5)
    end, n
  end
  return t, x, wx, wh, gate, tensor, finish
end

function scans.lstm(n)
  local t, x, wx, wh, gate, tensor, finish = layer(n, 4)
  local h, c = tensor(), tensor()
  local a = x:matmul(wx)
  local s = a + h[t - 1]:matmul(wh)
  local function cell(z) return gate(z, 0):sigmoid() * gate(z, 2):tanh() end
  c[0] = cell(a)
  h[0] = gate(a, 3):sigmoid() * c:tanh()
  c[t] = gate(s, 1):sigmoid() * c[t - 1] + cell(s)
  h[t] = gate(s, 3):sigmoid() * c:tanh()
  return finish(h)
end

function scans.gru(n)
  local t, x, wx, wh, gate, tensor, finish = layer(n, 3)
  local h = tensor()
  local a = x:matmul(wx)
  local b = h[t - 1]:matmul(wh)
  h[0] = (1 - gate(a, 1):sigmoid()) * gate(a, 2):tanh()
  local u = (gate(a, 1) + gate(b, 1)):sigmoid()
  h[t] = u * h[t - 1] + (1 - u) * (gate(a, 2) + (gate(a, 0) + gate(b, 0)):sigmoid() * gate(b,
    2)):tanh()
  return finish(h)
end

-- The forward recursion of a hidden Markov model of 32 states, and its gradient by the transitions.
function scans.hmm(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local inputs = waves { e = { shape = { n, 32 }, k = 0, scale = 1 },
    w = { shape = { 32, 32 }, k = 1, scale = 1 } }
  local e, w = P:input("e", { domain = { t }, shape = { 32 } }),
    P:input("w", { shape = { 32, 32 } })
  local a = P:tensor { domain = { t }, shape = { 32 } }
  local move = w:log_softmax(1)
  a[0] = e
  a[t] = (a[t - 1]:unsqueeze(1) + move):logsumexp(0) + e
  local loss = a[T - 1]:logsumexp(0) / n
  local f = P:compile { outputs = { loss = loss, g = tempo.grad(loss, w) }, tier = tier }
  return function()
    local out = f(inputs, { T = n })
    return out.loss:item() + out.g:get(3, 5)
  end, n
end

-- The gradient of a scan that carries 40 scalars.
function scans.carries(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local w, x = P:input("w", { shape = {} }), {}
  for k = 1, 40 do
    x[k] = P:tensor { domain = { t } }
    x[k][0] = k / 40
  end
  local sum
  for k = 1, 40 do
    x[k][t] = (x[k][t - 1] * 0.9 + x[k % 40 + 1][t - 1] * w):tanh()
    sum = sum and sum + x[k][T - 1] or x[k][T - 1]
  end
  local f = P:compile { outputs = { y = sum, g = tempo.grad(sum, w) }, tier = tier }
  return function()
    local out = f({ w = 0.3 }, { T = n })
    return out.y:item() + out.g:item()
  end, n
end

-- A row of 16 of a carry of 4 MB changes at each step, by what stands in another.
function scans.update(n)
  local rows = 1 << 16
  local P = tempo.program()
  local t, T = P:dim "t"
  local h = P:tensor { domain = { t }, shape = { rows, 16 } }
  h[0] = tempo.zeros { rows, 16 }
  local at = t:value() * 7 % rows
  local from = h[t - 1]:index_select(0, (at - 7):clamp(0, rows - 1):reshape { 1 }):squeeze(0)
  local here = tempo.arange({ rows }, { dtype = "i64" }):eq(at):unsqueeze(1)
  h[t] = tempo.where(here, (from * 0.5 + 1):unsqueeze(0), h[t - 1])
  local f = P:compile { outputs = { y = h[T - 1]:sum() }, tier = tier }
  return function() return f({}, { T = n }).y:item() end, n
end

-- A carry of 3 x 3 f64.
function scans.small(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local inputs = waves { w = { shape = { 3, 3 }, k = 1, scale = 0.3, dtype = "f64" } }
  local w = P:input("w", { shape = { 3, 3 }, dtype = "f64" })
  local m = P:tensor { domain = { t }, shape = { 3, 3 }, dtype = "f64" }
  m[0] = w
  m[t] = (m[t - 1]:matmul(w) + m[t - 1]):tanh() + w
  local f = P:compile { outputs = { y = m[T - 1]:sum() }, tier = tier }
  return function() return f(inputs, { T = n }).y:item() end, n
end

-- x = 0.5 x w + x of 256 matrices of n x n, 400 times.
function scans.matmul(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local shape = { 256, n, n }
  local inputs = waves { x = { shape = shape, k = 0, scale = 1 },
    w = { shape = shape, k = 1, scale = 0.1 } }
  local x, w = P:input("x", { shape = shape }), P:input("w", { shape = shape })
  local y = P:tensor { domain = { t }, shape = shape }
  y[0] = x
  y[t] = y[t - 1]:matmul(w) * 0.5 + x
  local f = P:compile { outputs = { y = y[T - 1]:sum() }, tier = tier }
  return function() return f(inputs, { T = 401 }).y:item() end, 400 * 256
end

return scans

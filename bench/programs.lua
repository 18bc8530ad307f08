-- Programs as users write them, against JAX: each side in a process of its own, pinned to the same
-- one core, in turn; tier native, compiled before it is timed, the processor's time of the best
-- call. Both results are compared, except where the programs draw numbers of their own.
--   program-<name>     JAX's time over ours
--   lua5.4 bench/programs.lua [--rows dtw,heat] [--rounds 3]
local tempo = require "tempo"
local tier = os.getenv "TEMPO_TIER" or "native"
local programs = {}

local function numbers(shape, seed, dtype, make)
  local n, t, x = 1, {}, seed
  for _, s in ipairs(shape) do n = n * s end
  for k = 1, n do
    x = (x * 1103515245 + 12345) % 2147483648
    t[k] = make and make(x) or (x / 2147483648 - 0.5)
  end
  return tempo.array(t, dtype or "f32", shape)
end
local function small(x) return (x / 2147483648 - 0.5) * 0.1 end
local function below(n) return function(x) return math.floor(x / 256) % n end end

-- Heat on 256 x 256, 500 steps.
function programs.heat()
  local P = tempo.program()
  local t, T = P:dim "t"
  local u0 = P:input("u0", { shape = { 256, 256 } })
  local u = P:tensor { domain = { t }, shape = { 256, 256 } }
  u[0] = u0
  local v = u[t - 1]
  u[t] = v + 0.1 * (v:roll(1, 0) + v:roll(-1, 0) + v:roll(1, 1) + v:roll(-1, 1) - 4 * v)
  local f = P:compile { outputs = { u = u[T - 1] }, tier = tier }
  local a = numbers({ 256, 256 }, 1)
  return function() return f({ u0 = a }, { T = 500 }).u:get(3, 5) end
end

-- Conway's game on 256 x 256, 300 steps.
function programs.life()
  local P = tempo.program()
  local t, T = P:dim "t"
  local u0 = P:input("u0", { shape = { 256, 256 }, dtype = "i32" })
  local u = P:tensor { domain = { t }, shape = { 256, 256 }, dtype = "i32" }
  u[0] = u0
  local v = u[t - 1]
  local r = v:roll(1, 0) + v + v:roll(-1, 0)
  local n = r:roll(1, 1) + r + r:roll(-1, 1) - v
  u[t] = (n:eq(3):lor(n:eq(2):land(v:eq(1)))):to "i32"
  local f = P:compile { outputs = { u = u[T - 1] }, tier = tier }
  local a = numbers({ 256, 256 }, 1, "i32", below(2))
  return function() return f({ u0 = a }, { T = 300 }).u:get(3, 5) end
end

-- 100,000 prices, 252 days; both draw their own numbers.
function programs.options()
  local P = tempo.program()
  local t, T = P:dim "t"
  local s = P:tensor { domain = { t }, shape = { 100000 } }
  s[0] = tempo.full({ 100000 }, 100)
  s[t] = s[t - 1] * (0.0001 + 0.01 * tempo.normal({ 100000 }, { domain = { t }, name = "z" })):exp()
  local f = P:compile { outputs = { y = (s[T - 1] - 100):relu():mean() }, tier = tier }
  return function() return f({}, { T = 252 }).y:item() end
end

-- 256 Kalman filters of 4 states and 2 observations, 1,000 steps.
function programs.kalman()
  local P = tempo.program()
  local t, T = P:dim "t"
  local N = 256
  local F, H = P:input("F", { shape = { 4, 4 } }), P:input("H", { shape = { 2, 4 } })
  local Q, R = P:input("Q", { shape = { 4, 4 } }), P:input("R", { shape = { 2, 2 } })
  local z = P:input("z", { domain = { t }, shape = { N, 2 } })
  local x = P:tensor { domain = { t }, shape = { N, 4 } }
  local C = P:tensor { domain = { t }, shape = { N, 4, 4 } }
  x[0] = tempo.zeros { N, 4 }
  C[0] = tempo.eye(4):unsqueeze(0):expand { N, 4, 4 }
  local xp = x[t - 1]:matmul(F:mT())
  local Cp = F:matmul(C[t - 1]):matmul(F:mT()) + Q
  local S = H:matmul(Cp):matmul(H:mT()) + R
  local first, second = S:select(1, 0), S:select(1, 1)
  local a, b, c, d = first:select(1, 0), first:select(1, 1), second:select(1, 0),
    second:select(1, 1)
  local det = a * d - b * c
  local inv = (tempo.stack({ tempo.stack({ d, -b }, 1), tempo.stack({ -c, a }, 1) },
    1)) / det:unsqueeze(1):unsqueeze(2)
  local K = Cp:matmul(H:mT()):matmul(inv)
  local e = z[t] - xp:matmul(H:mT())
  x[t] = xp + K:matmul(e:unsqueeze(2)):squeeze(2)
  C[t] = Cp - K:matmul(H):matmul(Cp)
  local f = P:compile { outputs = { x = x[T - 1] }, tier = tier }
  local Fm = tempo.array({ { 1, 0, 1, 0 },{ 0, 1, 0, 1 },{ 0, 0, 1, 0 },{ 0, 0, 0, 1 } }, "f32")
  local Hm = tempo.array({ { 1, 0, 0, 0 },{ 0, 1, 0, 0 } }, "f32")
  local Qm = tempo.array({ {.01,0,0,0},{0,.01,0,0},{0,0,.01,0},{0,0,0,.01} }, "f32")
  local Rm = tempo.array({ {.1,0},{0,.1} }, "f32")
  local zz = numbers({ 1000, N, 2 }, 7)
  return function()
    return f({ F = Fm, H = Hm, Q = Qm, R = Rm, z = zz }, { T = 1000 }).x:get(3, 1)
  end
end

-- 64 bodies, 500 steps.
function programs.nbody()
  local P = tempo.program()
  local t, T = P:dim "t"
  local N = 64
  local x0 = P:input("x0", { shape = { N, 3 } })
  local x, v = P:tensor { domain = { t }, shape = { N, 3 } },
    P:tensor { domain = { t }, shape = { N, 3 } }
  x[0], v[0] = x0, tempo.zeros { N, 3 }
  local q = x[t - 1]
  local d = q:unsqueeze(0) - q:unsqueeze(1)
  local r = (d:square():sum(2) + 0.01)
  local w = r:rsqrt() / r
  v[t] = v[t - 1] + 0.001 * (d * w:unsqueeze(2)):sum(1)
  x[t] = x[t - 1] + 0.001 * v[t]
  local f = P:compile { outputs = { x = x[T - 1] }, tier = tier }
  local a = numbers({ N, 3 }, 3)
  return function() return f({ x0 = a }, { T = 500 }).x:get(3, 1) end
end

-- 784-128-10, 200 steps of 64 rows by gradient descent.
function programs.mlp()
  local P = tempo.program()
  local t, T = P:dim "t"
  local X, Y = P:input("X", { shape = { 2000, 784 } }),
    P:input("Y", { shape = { 2000 }, dtype = "i64" })
  local w1, b1 = P:tensor { domain = { t }, shape = { 784, 128 } },
    P:tensor { domain = { t }, shape = { 128 } }
  local w2, b2 = P:tensor { domain = { t }, shape = { 128, 10 } },
    P:tensor { domain = { t }, shape = { 10 } }
  local W1, W2 = P:input("W1", { shape = { 784, 128 } }), P:input("W2", { shape = { 128, 10 } })
  w1[0], b1[0], w2[0], b2[0] = W1, tempo.zeros { 128 }, W2, tempo.zeros { 10 }
  local k = (tempo.arange({ 64 }, { dtype = "i64" }) + t:value() * 64) % 2000
  local x, y = X:index_select(0, k), Y:index_select(0, k)
  local h = (x:matmul(w1) + b1):relu()
  local loss = (h:matmul(w2) + b2):cross_entropy(y)
  local g = tempo.grad(loss, { w1, b1, w2, b2 }, { leaf = true })
  for n, w in ipairs { w1, b1, w2, b2 } do w[t] = w[t - 1] - 0.1 * g[n][t - 1] end
  local f = P:compile { outputs = { loss = loss[T - 1] }, tier = tier }
  local a, b = numbers({ 2000, 784 }, 5), numbers({ 2000 }, 9, "i64", below(10))
  local c, d = numbers({ 784, 128 }, 11, "f32", small), numbers({ 128, 10 }, 12, "f32", small)
  return function() return f({ X = a, Y = b, W1 = c, W2 = d }, { T = 200 }).loss:item() end
end

-- 64 states, 2,000 steps, and the way back.
function programs.viterbi()
  local P = tempo.program()
  local t, T = P:dim "t"
  local S = 64
  local A, e = P:input("A", { shape = { S, S } }), P:input("e", { domain = { t }, shape = { S } })
  local m = P:tensor { domain = { t }, shape = { S } }
  m[0] = e[0]
  m[t] = (m[t - 1]:unsqueeze(1) + A):max(0) + e[t]
  local from = (m[t - 1]:unsqueeze(1) + A):argmax(0)
  local path = P:tensor { domain = { t }, dtype = "i64" }
  path[T - 1] = m[T - 1]:argmax(0)
  path[t] = from[t + 1]:gather(0, path[t + 1]:unsqueeze(0)):squeeze(0)
  local f = P:compile { outputs = { path = path }, tier = tier }
  local a, b = numbers({ S, S }, 5), numbers({ 2000, S }, 6)
  return function()
    local o = f({ A = a, e = b }, { T = 2000 }).path
    return o:get(0) + o:get(7) * 100 + o:get(1000) * 10000
  end
end

-- 1,024 particles, 200 steps, systematic resampling; both draw their own numbers.
function programs.particle()
  local P = tempo.program()
  local t, T = P:dim "t"
  local N = 1024
  local z = P:input("z", { domain = { t } })
  local x = P:tensor { domain = { t }, shape = { N } }
  x[0] = tempo.normal({ N }, { name = "i" })
  local q = x[t - 1] * 0.9 + 0.3 * tempo.normal({ N }, { domain = { t }, name = "n" })
  local lw = -(q - z[t]):square() * 2
  local w = lw:softmax(0)
  local c = w:cumsum(0)
  local u = (tempo.arange({ N }):to "f32" + 0.5) / N
  local k = (c:unsqueeze(0):lt(u:unsqueeze(1))):to "i64":sum(1):minimum(N - 1)
  x[t] = q:index_select(0, k)
  local est = (w * q):sum()
  local f = P:compile { outputs = { est = est[1 .. T]:sum(0) }, tier = tier }
  local b = numbers({ 200 }, 6)
  return function() return f({ z = b }, { T = 200 }).est:item() end
end

-- An echo state network of 500, 2,000 steps.
function programs.esn()
  local P = tempo.program()
  local t, T = P:dim "t"
  local W, Win = P:input("W", { shape = { 500, 500 } }), P:input("Win", { shape = { 500, 3 } })
  local u = P:input("u", { domain = { t }, shape = { 3 } })
  local h = P:tensor { domain = { t }, shape = { 500 } }
  h[0] = tempo.zeros { 500 }
  h[t] = 0.7 * h[t - 1] + 0.3 * (W:matmul(h[t - 1]) + Win:matmul(u[t])):tanh()
  local f = P:compile { outputs = { h = h[T - 1] }, tier = tier }
  local a, b, c = numbers({ 500, 500 }, 5, "f32", small), numbers({ 2000, 3 }, 6),
    numbers({ 500, 3 }, 8)
  return function() return f({ W = a, u = b, Win = c }, { T = 2000 }).h:get(7) end
end

-- 10,000 states, 4 actions, 200 sweeps.
function programs.value()
  local P = tempo.program()
  local t, T = P:dim "t"
  local N = 10000
  local nxt, r = P:input("nxt", { shape = { 4 * N }, dtype = "i64" }),
    P:input("r", { shape = { 4, N } })
  local v = P:tensor { domain = { t }, shape = { N } }
  v[0] = tempo.zeros { N }
  v[t] = (r + 0.95 * v[t - 1]:index_select(0, nxt):reshape { 4, N }):max(0)
  local f = P:compile { outputs = { v = v[T - 1] }, tier = tier }
  local a, b = numbers({ 4 * N }, 5, "i64", below(N)), numbers({ 4, N }, 6)
  return function() return f({ nxt = a, r = b }, { T = 200 }).v:get(7) end
end

-- 20,000 points of 16, 32 centres, 20 rounds.
function programs.kmeans()
  local P = tempo.program()
  local t, T = P:dim "t"
  local X = P:input("X", { shape = { 20000, 16 } })
  local c = P:tensor { domain = { t }, shape = { 32, 16 } }
  c[0] = X:slice(0, 0, 32)
  local q = c[t - 1]
  local d = q:square():sum(1):unsqueeze(0) - 2 * X:matmul(q:mT())
  local k = d:argmin(1)
  local o = k:one_hot(32):to "f32"
  c[t] = o:mT():matmul(X) / o:sum(0):unsqueeze(1):maximum(1)
  local f = P:compile { outputs = { c = c[T - 1] }, tier = tier }
  local a = numbers({ 20000, 16 }, 5)
  return function() return f({ X = a }, { T = 21 }).c:get(3, 2) end
end

-- A block of width 128, 8 x 128 tokens, 10 steps of gradient descent.
function programs.transformer()
  local P = tempo.program()
  local i, I = P:dim "i"
  local B, L, D, H = 8, 128, 128, 4
  local x = P:input("x", { shape = { B, L, D } })
  local names, w, w0 = { "q", "k", "v", "o", "f1", "f2" }, {}, {}
  local shape = { q = { D, D }, k = { D, D }, v = { D, D }, o = { D, D }, f1 = { D, 4 * D },
    f2 = { 4 * D, D } }
  local ins = {}
  for n, k in ipairs(names) do
    w0[k] = P:input("w" .. k, { shape = shape[k] })
    w[k] = P:tensor { domain = { i }, shape = shape[k] }
    w[k][0] = w0[k]
    ins["w" .. k] = numbers(shape[k], n + 20, "f32", small)
  end
  local function heads(y) return y:reshape { B, L, H, D // H }:permute { 0, 2, 1, 3 } end
  local y = x:layer_norm { D }
  local q, k, v = heads(y:matmul(w.q)), heads(y:matmul(w.k)), heads(y:matmul(w.v))
  local s = q:matmul(k:mT()) / math.sqrt(D // H)
  local mask = tempo.ones({L, L}):tril()
  s = tempo.where(mask:gt(0), s, -1e9):softmax(3)
  local a = s:matmul(v):permute { 0, 2, 1, 3 }:reshape { B, L, D }
  local h = x + a:matmul(w.o)
  h = h + h:layer_norm { D }:matmul(w.f1):gelu():matmul(w.f2)
  local loss = (h - x:roll(1, 1)):square():mean()
  local list = {}
  for n, name in ipairs(names) do list[n] = w[name] end
  local g = tempo.grad(loss, list, { leaf = true })
  for n, name in ipairs(names) do w[name][i] = w[name][i - 1] - 0.01 * g[n][i - 1] end
  local f = P:compile { outputs = { loss = loss[I - 1] }, tier = tier }
  ins.x = numbers({ B, L, D }, 5)
  return function() return f(ins, { I = 10 }).loss:item() end
end

-- A GRU of 32, batch 16, 300 steps, with gradients.
function programs.gru()
  local P = tempo.program()
  local t, T = P:dim "t"
  local B, D, Hd = 16, 8, 32
  local x = P:input("x", { domain = { t }, shape = { B, D } })
  local W, U = P:input("W", { shape = { D, 3 * Hd } }), P:input("U", { shape = { Hd, 3 * Hd } })
  local b = P:input("b", { shape = { 3 * Hd } })
  local h = P:tensor { domain = { t }, shape = { B, Hd } }
  h[0] = tempo.zeros { B, Hd }
  local gx, gh = x[t]:matmul(W) + b, h[t - 1]:matmul(U)
  local z = (gx:slice(1,0,Hd) + gh:slice(1,0,Hd)):sigmoid()
  local r = (gx:slice(1,Hd,2*Hd) + gh:slice(1,Hd,2*Hd)):sigmoid()
  local n = (gx:slice(1,2*Hd,3*Hd) + r * gh:slice(1,2*Hd,3*Hd)):tanh()
  h[t] = (1 - z) * n + z * h[t - 1]
  local loss = h[T - 1]:square():sum()
  local g = tempo.grad(loss, { W, U, b })
  local f = P:compile { outputs = { loss = loss, g = g[2] }, tier = tier }
  local a = numbers({ 300, B, D }, 5)
  local w, u, bb = numbers({ D, 3 * Hd }, 6), numbers({ Hd, 3 * Hd }, 7), numbers({ 3 * Hd }, 8)
  return function() return f({ x = a, W = w, U = u, b = bb }, { T = 300 }).g:get(1, 2) end
end

-- Time warping of 1,000 x 1,000.
function programs.dtw()
  local P = tempo.program()
  local i, I = P:dim "i"
  local j, J = P:dim "j"
  local a, b = P:input("a", { domain = { i } }), P:input("b", { domain = { j } })
  local d = P:tensor { domain = {i, j} }
  local c = (a[i] - b[j]):abs()
  d[{ i = 0, j = 0 }] = c[{ i = 0, j = 0 }]
  d[{ i = 0 }] = c + d[{ j = j - 1 }]
  d[{ j = 0 }] = c + d[{ i = i - 1 }]
  d:otherwise(c + d[{ i = i - 1 }]:minimum(d[{ j = j - 1 }]):minimum(d[{ i = i - 1, j = j - 1 }]))
  local f = P:compile { outputs = { d = d[{ i = I - 1, j = J - 1 }] }, tier = tier }
  local x, y = numbers({ 1000 }, 5), numbers({ 1000 }, 6)
  return function() return f({ a = x, b = y }, { I = 1000, J = 1000 }).d:item() end
end

-- logsumexp, variance and a largest distance of 4,096 x 1,024.
function programs.stats()
  local P = tempo.program()
  local x = P:input("x", { shape = { 4096, 1024 } })
  local far = (x - x:mean(1, { keepdim = true })):abs():max(1)
  local f = P:compile { outputs = { a = x:logsumexp(1), b = x:var(0), c = far }, tier = tier }
  local a = numbers({ 4096, 1024 }, 5)
  return function()
    local o = f({ x = a }, {})
    return o.a:get(3) + o.b:get(4) + o.c:get(5)
  end
end

-- A table of 10,000 x 64, 500 steps of 64 rows by gradient descent.
function programs.embed()
  local P = tempo.program()
  local t, T = P:dim "t"
  local k = P:input("k", { domain = { t }, shape = { 64 }, dtype = "i64" })
  local e0 = P:input("e0", { shape = { 10000, 64 } })
  local e = P:tensor { domain = { t }, shape = { 10000, 64 } }
  e[0] = e0
  local loss = (e:index_select(0, k) - 0.3):square():sum()
  local g = tempo.grad(loss, { e }, { leaf = true })[1]
  e[t] = e[t - 1] - 0.01 * g[t - 1]
  local f = P:compile { outputs = { l = loss[T - 1] }, tier = tier }
  local a, b = numbers({ 500, 64 }, 5, "i64", below(10000)), numbers({ 10000, 64 }, 6)
  return function() return f({ k = a, e0 = b }, { T = 500 }).l:item() end
end

-- minGRU of 256, batch 8, 1,024 steps, with gradients.
function programs.mingru()
  local P = tempo.program()
  local t, T = P:dim "t"
  local B, D = 8, 256
  local x = P:input("x", { domain = { t }, shape = { B, D } })
  local Wz, Wh = P:input("Wz", { shape = { D, D } }), P:input("Wh", { shape = { D, D } })
  local z, c = x:matmul(Wz):sigmoid(), x:matmul(Wh)
  local h = P:tensor { domain = { t }, shape = { B, D } }
  h[0] = z * c
  h[t] = (1 - z) * h[t - 1] + z * c
  local loss = h:square()[0 .. T]:sum()
  local g = tempo.grad(loss, { Wz, Wh })
  local f = P:compile { outputs = { l = loss, a = g[1], b = g[2] }, tier = tier }
  local a, w, u = numbers({ 1024, B, D }, 5), numbers({ D, D }, 6, "f32", small),
    numbers({ D, D }, 7, "f32", small)
  return function() return f({ x = a, Wz = w, Wh = u }, { T = 1024 }).a:get(1, 2) end
end

-- Linear attention, 8 heads of 64, 1,024 tokens: a state of 64 x 64 for each.
function programs.linear()
  local P = tempo.program()
  local t = P:dim "t"
  local H, D = 8, 64
  local function input(name) return P:input(name, { domain = { t }, shape = { H, D } }) end
  local q, k, v = input "q", input "k", input "v"
  local s = P:tensor { domain = { t }, shape = { H, D, D } }
  local kv = k:unsqueeze(2) * v:unsqueeze(1)
  s[0] = kv
  s[t] = 0.99 * s[t - 1] + kv
  local y = q:unsqueeze(1):matmul(s):squeeze(1)
  local f = P:compile { outputs = { y = y }, tier = tier }
  local a, b, c = numbers({ 1024, H, D }, 5), numbers({ 1024, H, D }, 6), numbers({ 1024, H, D }, 7)
  return function() return f({ q = a, k = b, v = c }, { T = 1024 }).y:get(1000, 3, 5) end
end

-- Decoding 256 tokens, 4 layers of 256, 4 heads, 1,000 words: attention over all tokens before, no
-- cache by hand.
function programs.decode()
  local P = tempo.program()
  local t, T = P:dim "t"
  local D, H, V, L = 256, 4, 1000, 4
  local ins = {}
  local function weight(name, shape, seed)
    ins[name] = numbers(shape, seed, "f32", small)
    return P:input(name, { shape = shape })
  end
  local E = weight("E", { V, D }, 5)
  local k0 = P:input("k0", { dtype = "i64" })
  local token = P:tensor { domain = { t }, dtype = "i64" }
  token[0] = k0
  local h = E:index_select(0, token:unsqueeze(0)):squeeze(0)
  for l = 1, L do
    local y = h * (h:square():mean() + 1e-5):rsqrt()
    local function heads(name, n)
      return y:matmul(weight(name .. l, { D, D }, 10 * l + n)):reshape { H, D // H }
    end
    local q, k, v = heads("q", 0), heads("k", 1), heads("v", 2)
    local keys, values = k[0 .. t + 1], v[0 .. t + 1]              -- time, heads, width
    local p = ((keys * q):sum(2) / math.sqrt(D // H)):softmax(0)
    h = h + (p:unsqueeze(2) * values):sum(0):reshape { D }:matmul(
      weight("o" .. l, { D, D }, 10 * l + 3))
    y = h * (h:square():mean() + 1e-5):rsqrt()
    h = h + y:matmul(weight("a" .. l, { D, 4 * D }, 10 * l + 4)):silu()
      :matmul(weight("b" .. l, { 4 * D, D }, 10 * l + 5))
  end
  local logits = h:matmul(E:mT())
  token[t] = logits[t - 1]:argmax(0)
  local f = P:compile { outputs = { y = logits[T - 1] }, tier = tier }
  ins.k0 = 7
  return function() return f(ins, { T = 256 }).y:get(17) * 100 end
end

-- Optimal transport of 512 x 512 points by Sinkhorn's rounds, 100 of them, in logarithms.
function programs.sinkhorn()
  local P = tempo.program()
  local i, I = P:dim "i"
  local N = 512
  local x, y = P:input("x", { shape = { N, 2 } }), P:input("y", { shape = { N, 2 } })
  local c = (x:unsqueeze(1) - y:unsqueeze(0)):square():sum(2) * -10
  local u, v = P:tensor { domain = { i }, shape = { N } },
    P:tensor { domain = { i }, shape = { N } }
  u[0], v[0] = tempo.zeros { N }, tempo.zeros { N }
  u[i] = -(c + v[i - 1]:unsqueeze(0)):logsumexp(1)
  v[i] = -(c + u[i]:unsqueeze(1)):logsumexp(0)
  local f = P:compile { outputs = { u = u[I - 1] }, tier = tier }
  local a, b = numbers({ N, 2 }, 5), numbers({ N, 2 }, 6)
  return function() return f({ x = a, y = b }, { I = 100 }).u:get(9) end
end

-- A dense system of 512 by conjugate gradients, 30 rounds.
function programs.cg()
  local P = tempo.program()
  local i, I = P:dim "i"
  local N = 512
  local M, b = P:input("M", { shape = { N, N } }), P:input("b", { shape = { N } })
  local A = M:matmul(M:mT()) / N + tempo.eye(N)
  local function vector() return P:tensor { domain = { i }, shape = { N } } end
  local x, r, p = vector(), vector(), vector()
  x[0], r[0], p[0] = tempo.zeros { N }, b, b
  local q, w = p[i - 1], r[i - 1]
  local Aq = A:matmul(q)
  local rr = w:square():sum()
  local alpha = rr / (q * Aq):sum():maximum(1e-20)
  x[i] = x[i - 1] + alpha * q
  r[i] = w - alpha * Aq
  p[i] = r[i] + (r[i]:square():sum() / rr:maximum(1e-20)) * q
  local f = P:compile { outputs = { x = x[I - 1] }, tier = tier }
  local a, c = numbers({ N, N }, 5), numbers({ N }, 6)
  return function() return f({ M = a, b = c }, { I = 30 }).x:get(9) end
end

-- Q-learning of 64 walkers on a ring of 1,000 places, 3 moves, 2,000 steps: one table that all of
-- them change.
function programs.qlearn()
  local P = tempo.program()
  local t, T = P:dim "t"
  local W, N = 64, 1000
  local r = P:input("r", { shape = { N } })
  local s, q = P:tensor { domain = { t }, shape = { W }, dtype = "i64" },
    P:tensor { domain = { t }, shape = { N, 3 } }
  s[0], q[0] = tempo.arange({ W }, { dtype = "i64" }) * 15, tempo.zeros { N, 3 }
  local here = s[t - 1]
  local rows = q[t - 1]:index_select(0, here)
  local a = rows:argmax(1)
  s[t] = (here + a - 1 + (t:value() * 7 + tempo.arange({ W }, { dtype = "i64" })) % 3 - 1) % N
  local target = r:index_select(0, s[t]) + 0.9 * q[t - 1]:index_select(0, s[t]):max(1)
  local wrong = target - rows:gather(1, a:unsqueeze(1)):squeeze(1)
  q[t] = q[t - 1]:reshape { 3 * N }:scatter_add(0, here * 3 + a, 0.1 * wrong):reshape { N, 3 }
  local f = P:compile { outputs = { q = q[T - 1]:sum() }, tier = tier }
  local b = numbers({ N }, 6)
  return function() return f({ r = b }, { T = 2000 }).q:item() end
end

-- A neural field of 2-64-2 by Runge and Kutta, batch 64, 200 steps, and its gradient.
function programs.adjoint()
  local P = tempo.program()
  local t, T = P:dim "t"
  local x0 = P:input("x0", { shape = { 64, 2 } })
  local W, U = P:input("W", { shape = { 2, 64 } }), P:input("U", { shape = { 64, 2 } })
  local function field(x) return x:matmul(W):tanh():matmul(U) end
  local x = P:tensor { domain = { t }, shape = { 64, 2 } }
  x[0] = x0
  local y, d = x[t - 1], 0.05
  local a = field(y)
  local b = field(y + d / 2 * a)
  local c = field(y + d / 2 * b)
  local e = field(y + d * c)
  x[t] = y + d / 6 * (a + 2 * b + 2 * c + e)
  local loss = x[T - 1]:square():mean()
  local g = tempo.grad(loss, { W, U })
  local f = P:compile { outputs = { l = loss, w = g[1], u = g[2] }, tier = tier }
  local i, j, k = numbers({ 64, 2 }, 5), numbers({ 2, 64 }, 6), numbers({ 64, 2 }, 7)
  return function() return f({ x0 = i, W = j, U = k }, { T = 201 }).w:get(1, 2) * 100 end
end

-- Computes what traders look at, 100,000 prices of 8 papers: smoothed means, mean and deviation of
-- 20, extremes of 50.
function programs.prices()
  local P = tempo.program()
  local t = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 8 } })
  local function smooth(y, n)
    local e = P:tensor { domain = { t }, shape = { 8 } }
    e[0] = y
    e[t] = e[t - 1] + 2 / (n + 1) * (y - e[t - 1])
    return e
  end
  local macd = smooth(x, 12) - smooth(x, 26)
  local signal = macd - smooth(macd, 9)
  local w = x[tempo.max(0, t - 19) .. t + 1]
  local band = (x - w:mean(0)) / (w:std(0, { correction = 0 }) + 1e-3)
  local long = x[tempo.max(0, t - 49) .. t + 1]
  local k = (x - long:min(0)) / (long:max(0) - long:min(0) + 1e-3)
  local y = signal + band + k
  local f = P:compile { outputs = { y = y }, tier = tier }
  local a = numbers({ 100000, 8 }, 5)
  return function() return f({ x = a }, { T = 100000 }).y:get(90000, 3) end
end

-- Beam search: the 8 best of 500 words after each, a recurrent net of 64, 64 words.
function programs.beam()
  local P = tempo.program()
  local t, T = P:dim "t"
  local B, V, H = 8, 500, 64
  local E, W, U = P:input("E", { shape = { V, H } }), P:input("W", { shape = { H, H } }),
    P:input("U", { shape = { H, V } })
  local h, score = P:tensor { domain = { t }, shape = { B, H } },
    P:tensor { domain = { t }, shape = { B } }
  local word = P:tensor { domain = { t }, shape = { B }, dtype = "i64" }
  h[0], score[0] = tempo.zeros { B, H }, tempo.arange { B } * -1
  word[0] = tempo.zeros({ B }, { dtype = "i64" })
  local now = (h[t - 1]:matmul(W) + E:index_select(0, word[t - 1])):tanh()
  local all = score[t - 1]:unsqueeze(1) + now:matmul(U):log_softmax(1)
  local best, at = all:flatten():topk(B)
  score[t], word[t], h[t] = best, at % V, now:index_select(0, at // V)
  local f = P:compile { outputs = { w = word, s = score[T - 1]:sum() }, tier = tier }
  local a, b, c = numbers({ V, H }, 1), numbers({ H, H }, 2), numbers({ H, V }, 3)
  return function() return f({ E = a, W = b, U = c }, { T = 64 }).s:item() end
end

-- Words beside each other, 5 others drawn: a table of 20,000 x 32, read twice, 200 steps of 64.
function programs.words()
  local P = tempo.program()
  local i, I = P:dim "i"
  local V, D, B = 20000, 32, 64
  local first = P:input("first", { shape = { V, D } })
  local w = P:param("w", { along = { i }, shape = { V, D }, init = first })
  local mid = P:input("mid", { domain = { i }, shape = { B }, dtype = "i64" })
  local near = P:input("near", { domain = { i }, shape = { B * 6 }, dtype = "i64" })
  local dot = (w:index_select(0, mid):unsqueeze(1) * w:index_select(0, near):reshape { B, 6, D })
    :sum(2)
  local loss = (dot * P:constant { -1, 1, 1, 1, 1, 1 }):softplus():sum(1):mean()
  tempo.optim.SGD({ w }, { lr = 0.5 }):step(loss)
  local f = P:compile { outputs = { l = loss[I - 1] }, tier = tier }
  local a = numbers({ V, D }, 1)
  local b, c = numbers({ 200, B }, 3, "i64", below(V)), numbers({ 200, B * 6 }, 4, "i64", below(V))
  return function() return f({ first = a, mid = b, near = c }, { I = 200 }).l:item() end
end

-- Counts pairs of places in a table of 100 x 100: 256 of them in each of 2,000 steps.
function programs.visits()
  local P = tempo.program()
  local t, T = P:dim "t"
  local i = P:input("i", { domain = { t }, shape = { 256 }, dtype = "i64" })
  local j = P:input("j", { domain = { t }, shape = { 256 }, dtype = "i64" })
  local m = P:tensor { domain = { t }, shape = { 100, 100 } }
  m[0] = tempo.zeros { 100, 100 }
  local k = i * 100 + j
  m[t] = m[t - 1]:flatten():scatter_add(0, k, tempo.ones { 256 }):reshape { 100, 100 }
  local f = P:compile { outputs = { m = m[T - 1] }, tier = tier }
  local a, b = numbers({ 2000, 256 }, 1, "i64", below(100)),
    numbers({ 2000, 256 }, 2, "i64", below(100))
  return function() return f({ i = a, j = b }, { T = 2000 }).m:get(3, 5) end
end

-- Soft Q-learning of 32 walkers among 500 places, 6 moves, 2,000 steps.
function programs.softq()
  local P = tempo.program()
  local t, T = P:dim "t"
  local S, A, W = 500, 6, 32
  local to = P:input("to", { shape = { S * A }, dtype = "i64" })
  local r = P:input("r", { shape = { S * A } })
  local u = P:input("u", { domain = { t }, shape = { W } })
  local s, q = P:tensor { domain = { t }, shape = { W }, dtype = "i64" },
    P:tensor { domain = { t }, shape = { S, A } }
  s[0], q[0] = tempo.arange({ W }, { dtype = "i64" }), tempo.zeros { S, A }
  local now, flat = q[t - 1], q[t - 1]:flatten()
  local p = (now:index_select(0, s[t - 1]) / 0.1):softmax(1)
  local a = p:cumsum(1):lt(u:unsqueeze(1) + 0.5):to "i64":sum(1):minimum(A - 1)
  local k = s[t - 1] * A + a
  s[t] = to:index_select(0, k)
  local v = 0.1 * (now:index_select(0, s[t]) / 0.1):logsumexp(1)
  local wrong = r:index_select(0, k) + 0.95 * v - flat:index_select(0, k)
  q[t] = flat:scatter_add(0, k, 0.1 * wrong):reshape { S, A }
  local f = P:compile { outputs = { q = q[T - 1]:sum() }, tier = tier }
  local x, y, z = numbers({ S * A }, 1, "i64", below(S)), numbers({ S * A }, 2),
    numbers({ 2000, W }, 3)
  return function() return f({ to = x, r = y, u = z }, { T = 2000 }).q:item() end
end

-- Fourier's transform of 8 signals of 4,096 points by places: 12 stages of butterflies.
function programs.fft()
  local P = tempo.program()
  local s, S = P:dim "s"
  local n, B = 4096, 8
  local re, im = P:input("re", { shape = { B, n } }), P:input("im", { shape = { B, n } })
  local half = P:input("half", { domain = { s }, dtype = "i64" })
  local x, y = P:tensor { domain = { s }, shape = { B, n } },
    P:tensor { domain = { s }, shape = { B, n } }
  x[0], y[0] = re, im
  local k = tempo.arange({ n }, { dtype = "i64" })
  local j = k % (2 * half)
  local top = k // (2 * half) * half + j % half
  local bottom = top + n // 2
  local angle = j:to "f32" * -math.pi / half:to "f32"
  local c, d = angle:cos(), angle:sin()
  local a, b = x[s - 1]:index_select(1, bottom), y[s - 1]:index_select(1, bottom)
  x[s] = x[s - 1]:index_select(1, top) + c * a - d * b
  y[s] = y[s - 1]:index_select(1, top) + c * b + d * a
  local f = P:compile { outputs = { x = x[S - 1], y = y[S - 1] }, tier = tier }
  local h = { 1 }
  for q = 0, 11 do h[q + 2] = 1 << q end
  local u, v = numbers({ B, n }, 1), numbers({ B, n }, 2)
  h = tempo.array(h, "i64")
  return function() return f({ re = u, im = v, half = h }, { S = 13 }).x:get(3, 1001) end
end

-- The best local alignment of two texts of 600 letters.
function programs.align()
  local P = tempo.program()
  local i, I = P:dim "i"
  local j, J = P:dim "j"
  local a = P:input("a", { domain = { i }, dtype = "i64" })
  local b = P:input("b", { domain = { j }, dtype = "i64" })
  local h = P:tensor { domain = { i, j } }
  local s = tempo.where(a:eq(b), 2, -1):to "f32"
  h[{ i = 0 }], h[{ j = 0 }] = s:relu(), s:relu()
  h:otherwise((h[{ i = i - 1, j = j - 1 }] + s):maximum(h[{ i = i - 1 }] - 1)
    :maximum(h[{ j = j - 1 }] - 1):relu())
  local f = P:compile { outputs = { best = h[{ i = 0 .. I, j = 0 .. J }]:max() }, tier = tier }
  local x, y = numbers({ 600 }, 1, "i64", below(4)), numbers({ 600 }, 2, "i64", below(4))
  return function() return f({ a = x, b = y }, { I = 600, J = 600 }).best:item() end
end

-- Two layers over a graph of 2,000 nodes and 16,000 edges, 20 steps of gradient descent.
function programs.graph()
  local P = tempo.program()
  local i, I = P:dim "i"
  local n, E, D, H, C = 2000, 16000, 16, 32, 7
  local x = P:input("x", { shape = { n, D } })
  local from, to = P:input("from", { shape = { E }, dtype = "i64" }),
    P:input("to", { shape = { E }, dtype = "i64" })
  local y = P:input("y", { shape = { n }, dtype = "i64" })
  local w0, v0 = P:input("w0", { shape = { D, H } }), P:input("v0", { shape = { H, C } })
  local w = P:param("w", { along = { i }, shape = { D, H }, init = w0 })
  local v = P:param("v", { along = { i }, shape = { H, C }, init = v0 })
  local function gathered(h, d)
    return tempo.zeros { n, d }:scatter_add(0, to:unsqueeze(1):expand { E, d },
      h:index_select(0, from))
  end
  local loss = gathered(gathered(x:matmul(w), H):relu():matmul(v), C):cross_entropy(y)
  tempo.optim.SGD({ w, v }, { lr = 0.1 }):step(loss)
  local f = P:compile { outputs = { l = loss[I - 1] }, tier = tier }
  local ins = { x = numbers({ n, D }, 1), from = numbers({ E }, 2, "i64", below(n)),
    to = numbers({ E }, 3, "i64", below(n)), y = numbers({ n }, 4, "i64", below(C)),
    w0 = numbers({ D, H }, 5), v0 = numbers({ H, C }, 6) }
  return function() return f(ins, { I = 20 }).l:item() end
end

-- Where a hidden Markov model of 16 states was, 2,000 steps, there and back.
function programs.posterior()
  local P = tempo.program()
  local t, T = P:dim "t"
  local S = 16
  local A, e = P:input("A", { shape = { S, S } }), P:input("e", { domain = { t }, shape = { S } })
  local a, b = P:tensor { domain = { t }, shape = { S } },
    P:tensor { domain = { t }, shape = { S } }
  a[0], b[T - 1] = e, tempo.zeros { S }
  a[t] = e + (a[t - 1]:unsqueeze(1) + A):logsumexp(0)
  b[t] = (A + (b[t + 1] + e[t + 1]):unsqueeze(0)):logsumexp(1)
  local f = P:compile { outputs = { g = (a + b):softmax(0) }, tier = tier }
  local x, y = numbers({ S, S }, 1), numbers({ 2000, S }, 2)
  return function() return f({ A = x, e = y }, { T = 2000 }).g:get(1000, 3) end
end

-- The least number that each of 10,000 nodes of a graph sees, 4 edges each, 50 rounds.
function programs.labels()
  local P = tempo.program()
  local t, T = P:dim "t"
  local n = 10000
  local near = P:input("near", { shape = { n, 4 }, dtype = "i64" })
  local l = P:tensor { domain = { t }, shape = { n }, dtype = "i64" }
  l[0] = (tempo.arange({ n }, { dtype = "i64" }) * 7919) % n
  l[t] = l[t - 1]:minimum(l[t - 1]:index_select(0, near:flatten()):reshape { n, 4 }:min(1))
  local f = P:compile { outputs = { l = l[T - 1] }, tier = tier }
  local a = numbers({ n, 4 }, 1, "i64", below(n))
  return function() return f({ near = a }, { T = 51 }).l:get(17) end
end

-- ---- one side: milliseconds and what it computes ------------------------------------------------
if arg[1] == "one" then
  local run = programs[arg[2]]()
  local y, best, from = run(), math.huge, os.clock()
  repeat
    local start = os.clock()
    run()
    best = math.min(best, os.clock() - start)
  until os.clock() - from > 1
  print(("%.6g %.9g"):format(best * 1e3, y))
  return
end

-- ---- both ---------------------------------------------------------------------------------------
local sides = dofile "bench/common/sides.lua"
local opt = require "tempo.cli"(arg, { rows = "", rounds = 2 }, "lua5.4 bench/programs.lua")
local python = assert(sides.python "jax, numpy", "no python3 with JAX and NumPy is there")
local drawn = { options = true, particle = true }
local names = {}
for name in pairs(programs) do names[#names + 1] = name end
table.sort(names)
for _, name in ipairs(names) do
  if opt.rows == "" or ("," .. opt.rows .. ","):find("," .. name .. ",", 1, true) then
    local best, said = sides.turns(opt.rounds,
      { ("%s%s bench/programs.lua one %s"):format(sides.PIN, arg[-1], name),
      ("%s%s bench/peers/programs_peer.py %s 2>/dev/null"):format(sides.PIN, python, name) })
    local near = math.abs(said[1] - said[2]) <= 1e-3 * math.max(1, math.abs(said[2]))
    assert(near or drawn[name], ("%s: %.9g here, %.9g there"):format(name, said[1], said[2]))
    print(("RATIO program-%s %.3g (%.4g vs %.4g ms)"):format(name, best[2] / best[1], best[1],
      best[2]))
    io.stdout:flush()
  end
end

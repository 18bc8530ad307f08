-- Programs in which dims end by data: each a function that gives P, outputs, bounds,
-- inputs(bounds). For ends_spec, and to see how long they take to compile.
local tempo = require "tempo"
local helper = require "spec.helper"

local ended = {}

-- ---- 1: parameters along {i, e, m}, epochs e that end where the last minibatch has moved too far

-- `recur`: with an LSTM. Samples lie over {i, m, b, t}; the epoch after which old and new policy
-- differ too much is the last.
local function ppo(recur)
  local P = tempo.program { seed = 5 }
  local i = P:dim "i"
  local e, E = P:dim "e"
  local m, M = P:dim "m"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local along, D = { i, e, m }, 4
  local function weight(name, shape)
    return P:param(name,
      { along = along, shape = shape, init = tempo.normal(shape, { name = name }) * 0.3 })
  end
  local function at(w, first) return first and w[{ e = 0, m = 0 }] or w end
  local x = tempo.normal({ D }, { domain = { i, m, b, t }, name = "x" })
  local u = tempo.uniform({}, { domain = { i, m, b, t }, name = "u" })
  local wo = weight("wo", { D, 2 })
  local wi = weight("wi", { D, recur and 4 * D or D })
  local wh = recur and weight("wh", { D, 4 * D })
  local function logits(first)
    local z = x:matmul(at(wi, first))
    if not recur then return z:tanh():matmul(at(wo, first)):log_softmax(0) end
    local dom = first and { i, m, b, t } or { i, e, m, b, t }
    local h, c = P:tensor { domain = dom, shape = { D } }, P:tensor { domain = dom, shape = { D } }
    h[{ t = 0 }], c[{ t = 0 }] = tempo.zeros { D }, tempo.zeros { D }
    local g = z + h:matmul(at(wh, first))
    local gi, gf, gg, go = g:slice(0, 0, D):sigmoid(), g:slice(0, D, 2 * D):sigmoid(),
      g:slice(0, 2 * D, 3 * D):tanh(), g:slice(0, 3 * D, 4 * D):sigmoid()
    local cn = gf * c + gi * gg
    local hn = go * cn:tanh()
    h:otherwise(hn[t - 1])
    c:otherwise(cn[t - 1])
    return hn:matmul(at(wo, first)):log_softmax(0)
  end
  local old = logits(true):detach()
  local action = (u:lt(old:select(0, 1):exp())):to "i64"
  local reward = (x:sum() * (action * 2 - 1)):to "f32"
  local function prob(p) return p:gather(0, action:unsqueeze(0)):squeeze(0) end
  local before, now = prob(old), prob(logits(false))
  local ratio = (now - before):exp()
  local gain = (ratio * reward):minimum(ratio:clamp(0.8, 1.2) * reward)
  local loss = -gain[{ b = 0 .. B, t = 0 .. T }]:mean()
  tempo.optim.Adam(recur and { wi, wh, wo } or { wi, wo }, { lr = 0.05 }):step(loss)
  local kl = (before - now)[{ b = 0 .. B, t = 0 .. T }]:mean():name "kl"
  P:stop(e, kl[{ m = M - 1 }]:gt(0.02))
  return P, { loss = loss, kl = kl[{ e = E - 1, m = M - 1 }], epochs = E:value() * 1 },
    { I = 3, E = 6, M = 2, B = 3, T = 4 }
end
function ended.ppo() return ppo(false) end
function ended.ppo_lstm() return ppo(true) end

-- ---- 2: early stop ------------------------------------------------------------------------------

-- Evaluated every third step; ends when n evaluations in a row were not better.
function ended.early()
  local P = tempo.program { seed = 2 }
  local i, I = P:dim "i"
  local b, B = P:dim "b"
  local n = P:bound "n"
  local w = P:param("w",
    { along = { i }, shape = { 3 }, init = tempo.normal({ 3 }, { name = "w" }) })
  local x = tempo.normal({ 3 }, { domain = { i, b }, name = "x" })
  local y = x:sum() + tempo.normal({}, { domain = { i, b }, name = "noise" })
  tempo.optim.Adam({ w }, { lr = 0.2 }):step(((w * x):sum() - y):square()[{ b = 0 .. B }]:mean(0))
  local score =
    ((w - 1):square():sum() + tempo.uniform({}, { domain = { i }, name = "u" }) * 0.3):name "score"
  local best = P:tensor { domain = { i }, name = "best" }
  local bad = P:tensor { domain = { i }, dtype = "i64", name = "bad" }
  local asked = tempo.mod(i, 3):eq(2)
  best[0] = 1e9
  best:when(tempo.mod(i, 3):eq(0), tempo.minimum(best[i - 1], score[i - 1]))
  best:otherwise(best[i - 1])
  bad[0] = 0
  bad:when(asked, tempo.where(score:lt(best), tempo.full({}, 0, { dtype = "i64" }), bad[i - 1] + 1))
  bad:otherwise(bad[i - 1])
  P:stop(i, bad:ge(n:value()))
  return P, { score = score, bad = bad[I - 1], best = best[I - 1], w = w[I - 1] },
    { I = 60, B = 4, n = 2 }
end

-- ---- 3: decoding --------------------------------------------------------------------------------

-- Layers as a dim. window: nil (all), a number, or "W" (given at the call); rows: a batch, each
-- with an end of its own.
local function decode(window, rows)
  local P = tempo.program { seed = 1 }
  local D, V = 4, 8
  local b = rows and P:dim "b"
  local t = P:dim "t"
  local l, L = P:dim "l"
  local p = P:bound "p"
  local w = window == "W" and P:bound "W" or window
  local dims = rows and { b, t } or { t }
  local deep = rows and { b, t, l } or { t, l }
  local prompt = P:input("prompt", { domain = dims, dtype = "i64" })
  local emb = P:param("emb", { shape = { V, D }, init = tempo.normal({ V, D }, { name = "emb" }) })
  local function weight(name)
    local made = P:param(name,
      { domain = { l }, shape = { D, D },
      init = tempo.normal({ D, D }, { domain = { l }, name = name }) })
    return made
  end
  local wq, wk, wv = weight "wq", weight "wk", weight "wv"
  local tok = P:tensor { domain = dims, dtype = "i64", name = "tok" }
  local x = P:tensor { domain = deep, shape = { D }, name = "x" }
  x[{ l = 0 }] = emb:index_select(0, tok:unsqueeze(0)):squeeze(0)
  local q = x:matmul(wq):name "q"
  local k = x:matmul(wk):name "k"
  local v = x:matmul(wv):name "v"
  local from = w and tempo.max(0, t - w + 1) or 0
  local ks, vs = k[{ t = tempo.range(from, t + 1) }], v[{ t = tempo.range(from, t + 1) }]
  local att = (ks:matmul(q) * D ^ -0.5):softmax(0):matmul(vs):name "att"
  local y = (x + att):tanh():name "y"
  x:otherwise(y[{ l = l - 1 }])
  local logits = y[{ l = L - 1 }]:matmul(emb:mT()):name "logits"
  local gumbel = -(-tempo.uniform({ V }, { domain = dims, name = "g" }):log()):log()
  tok:when(t:lt(p), prompt)
  tok:otherwise((logits + 2 * gumbel):argmax(0)[{ t = t - 1 }])
  P:stop(t, tok:eq(0):land(t:ge(p - 1):value()))
  local bounds = { T = 24, L = 2, p = 3, B = rows and 4 or nil, W = window == "W" and 5 or nil }
  return P, { tok = tok }, bounds, function(n)
    local r = helper.rng(3)
    local shape = rows and { n.B, n.T } or { n.T }
    return { prompt = helper.array(helper.fill(shape, function() return r(V - 1) + 1 end), "i64",
      shape) }
  end
end
function ended.decode_all() return decode(nil, false) end
function ended.decode_window() return decode(4, false) end
function ended.decode_bound() return decode("W", false) end
function ended.decode_all_rows() return decode(nil, true) end
function ended.decode_window_rows() return decode(4, true) end
function ended.decode_bound_rows() return decode("W", true) end

-- ---- 4: replay ----------------------------------------------------------------------------------

-- An update every fourth step from a window of N steps. stop: false for the same without an end.
local function replay(stop)
  local P = tempo.program { seed = 4 }
  local t, T = P:dim "t"
  local N = P:bound "N"
  local w = P:param("w",
    { along = { t }, shape = { 2 }, init = tempo.normal({ 2 }, { name = "w" }) })
  local s = P:tensor { domain = { t }, shape = { 2 }, name = "s" }
  s[0] = tempo.ones { 2 }
  s[t] = (s[t - 1] * 0.9 + (w * s):detach()[t - 1]:tanh() * 0.1 + tempo.normal({ 2 },
    { domain = { t }, name = "e" }) * 0.1):tanh()
  local size = tempo.min(t + 1, N)
  local pick = (tempo.uniform({}, { domain = { t }, name = "pick" }) * size:value():to "f32"):floor(
    ):to "i64"
  local row = s[tempo.max(0, t + 1 - N) .. t + 1]:index_select(0, pick)
  local loss = ((w * row):sum() - 1):square()
  local new = P:tensor { domain = { t }, shape = { 2 }, name = "new" }
  new:when(tempo.mod(t, 4):eq(0), (w - 0.1 * tempo.grad(loss, { w })[1]):detach())
  new:otherwise(w)
  w:update(new)
  if stop then P:stop(t, s:sum():lt(-0.4)) end
  return P, { last = s[T - 1], w = w[T - 1] }, { T = 40, N = 6 }
end
function ended.replay() return replay(true) end
function ended.replay_without() return replay(false) end

-- ---- 5: ends inside ends ------------------------------------------------------------------------

-- A tagger over sentences of their own lengths, trained until it is good enough.
function ended.tagger()
  local P = tempo.program { seed = 6 }
  local i = P:dim "i"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local D = 3
  local along = { i }
  local function weight(name, shape)
    return P:param(name,
      { along = along, shape = shape, init = tempo.normal(shape, { name = name }) * 0.4 })
  end
  local wi, wh, wo = weight("wi", { D, D }), weight("wh", { D, D }), weight("wo", { D, 2 })
  local x = tempo.normal({ D }, { domain = { i, b, t }, name = "x" })
  P:stop(t, tempo.uniform({}, { domain = { i, b, t }, name = "end" }):lt(0.3))
  local h = P:tensor { domain = { i, b, t }, shape = { D }, name = "h" }
  h[{ t = 0 }] = x:matmul(wi):tanh()
  h:otherwise((x:matmul(wi) + h[t - 1]:matmul(wh)):tanh())
  local gold = x:sum():gt(0):to "i64"
  local nll = -h:matmul(wo):log_softmax(0):gather(0, gold:unsqueeze(0)):squeeze(0)
  local loss = nll[0 .. T]:sum(0)[{ b = 0 .. B }]:sum(0) / T:value()[{ b = 0 .. B }]:sum(0)
  tempo.optim.Adam({ wi, wh, wo }, { lr = 0.05 }):step(loss)
  P:stop(i, loss:lt(0.45))
  return P, { loss = loss, n = T:value() * 1 }, { I = 40, B = 3, T = 6 }
end

-- Rows of episodes inside iterations, of which there are as many as it takes; all three end.
function ended.three()
  local P = tempo.program { seed = 7 }
  local b, B = P:dim "b"
  local i, I = P:dim "i"
  local j, J = P:dim "j"
  local t, T = P:dim "t"
  local w = P:param("w", { along = { i }, domain = { b }, init = 0.5 })
  local s = P:tensor { domain = { b, i, j, t }, name = "s" }
  s[{ t = 0 }] = 1
  s:otherwise(s[t - 1] * 0.9 + w * tempo.normal({}, { domain = { b, i, j, t }, name = "n" }))
  P:stop(t, s:abs():lt(0.4))
  local G = P:tensor { domain = { b, i, j, t }, name = "G" }
  G[{ t = T - 1 }] = s
  G:otherwise(s + 0.9 * G[t + 1])
  local ret = (G * s)[0 .. T]:sum(0) / T:value()
  P:stop(j, ret:gt(1.5))
  local score = ret[0 .. J]:sum(0) / J:value()
  w:update((w - 0.05 * tempo.grad(score, { w })[1]:clamp(-1, 1)):detach())
  P:stop(i, score:lt(1))
  return P, { score = score, last = ret[J - 1], total = score[0 .. I]:sum(0)[0 .. B]:sum(0) },
    { B = 3, I = 5, J = 4, T = 6 }
end

-- ---- 6: values, gradients, reads from the end ---------------------------------------------------

function ended.rewards()
  local P = tempo.program { seed = 8 }
  local i, I = P:dim "i"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local w = P:input("w", { dtype = "f64" })
  local x = tempo.uniform({}, { domain = { i, b, t }, name = "x", dtype = "f64" })
  local h = P:tensor { domain = { i, b, t }, dtype = "f64", name = "h" }
  h[{ t = 0 }] = x
  h:otherwise((h[t - 1] * w + x):tanh())
  P:stop(t, x:gt(0.75))
  P:stop(i, T:value()[{ b = 0 .. B }]:max(0):le(3))
  local v = h * (t + 1):value()
  local nv = P:tensor { domain = { i, b, t }, dtype = "f64", name = "nv" }
  nv[{ t = T - 1 }] = 0
  nv:otherwise(v[t + 1])
  local delta = h + 0.9 * nv - v
  local A = P:tensor { domain = { i, b, t }, dtype = "f64", name = "A" }
  A[{ t = T - 1 }] = delta
  A:otherwise(delta + 0.8 * A[t + 1])
  local back = h[T - 1 - t]
  local loss = (A * back + h[t .. T]:sum(0) * v)[0 .. T]:sum(0)[{ b = 0 .. B }]:sum(0)[0
    .. I]:sum(0) + h[T - 1][{ b = 0 .. B }]:sum(0)[0 .. I]:sum(0)
  local g = tempo.grad(loss, { w })[1]
  return P, { A = A, back = back, last = h[T - 1],
    steps = (t:value() * (i + 1):value())[0 .. T]:sum(0), loss = loss, g = g,
    g2 = tempo.grad(g * g, { w })[1] }, { I = 6, B = 3, T = 7 }, function() return { w = 0.7 } end
end

-- ---- 7: steps -----------------------------------------------------------------------------------

-- A policy that acts at {i, t} and learns behind it; episodes end.
function ended.agent()
  local P = tempo.program { seed = 9 }
  local i = P:dim "i"
  local t, T = P:dim "t"
  local w = P:param("w", { along = { i }, shape = { 2 }, init = tempo.ones { 2 } })
  local actor = P:param("actor", { along = { i }, shape = { 2 }, init = tempo.ones { 2 } })
  actor:update(w)
  local x = P:input("x", { domain = { i, t }, shape = { 2 } })
  local act = (actor * x):sum()
  P:stop(t, x:sum():gt(1.5))
  local loss = ((w * x):sum() - 1):square()[0 .. T]:sum(0)
  tempo.optim.SGD({ w }, { lr = 0.05 }):step(loss)
  return P, { act = act, loss = loss }, { I = 6, T = 5 }, function(n)
    local r = helper.rng(11)
    return { x = helper.array(helper.numbers({ n.I, n.T, 2 }, r), "f32", { n.I, n.T, 2 }) }
  end
end

ended.names = { "ppo", "ppo_lstm", "early", "decode_all", "decode_window", "decode_bound",
  "decode_all_rows", "decode_window_rows", "decode_bound_rows",
                "replay", "replay_without", "tagger", "three", "rewards", "agent" }
return ended

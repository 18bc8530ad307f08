-- By hand: as decode_causal, with rings of w tokens as caches. A window is copied out of its ring,
-- so that attention multiplies rows that lie side by side. Tokens so far back in the prompt that no
-- window reaches them are computed all the same, as in most people's code; they could be left out
-- layer by layer.
local tempo = require "tempo"
local helper = require "spec.helper"

local D = 8
local P = tempo.program()
local t = P:dim "t"
local l, L = P:dim "l"
local p = P:bound "p"
local w = P:bound "w"
local prompt = P:input("prompt", { domain = { t }, dtype = "i64" })
local emb = P:param("emb", { shape = { 32, D }, init = tempo.uniform({ 32, D }, { name = "emb" }) })
local function weight(name)
  local made = P:param(name,
    { domain = { l }, shape = { D, D },
    init = tempo.uniform({ D, D }, { domain = { l }, name = name }) })
  -- a tail call has no line in LuaJIT
  return made
end
local wq, wk, wv = weight "wq", weight "wk", weight "wv"

local tok = P:tensor { domain = { t }, dtype = "i64", name = "tok" }
local x = P:tensor { domain = { t, l }, shape = { D }, name = "x" }
x[{ l = 0 }] = emb:index_select(0, tok:unsqueeze(0)):squeeze(0)
local q = x:matmul(wq):name "q"
local k = x:matmul(wk):name "k"
local v = x:matmul(wv):name "v"
local ks, vs = k[{ t = tempo.max(0, t - w + 1) .. t + 1 }],
  v[{ t = tempo.max(0, t - w + 1) .. t + 1 }]
local att = (ks:matmul(q) * D ^ -0.5):softmax(0):matmul(vs):name "att"
local y = (x + att):tanh():name "y"
x[{ t, l }] = y[{ l = l - 1 }]
local logits = y[{ l = L - 1 }]:matmul(emb:mT()):name "logits"
tok:when(t:lt(p), prompt)
tok:otherwise(logits:argmax(0)[t - 1])

local function inputs(b)
  local r = helper.rng(3)
  return { prompt = helper.array(helper.fill({ b.T }, function() return r(32) end), "i64",
    { b.T }) }
end
return P, { tok = tok }, inputs

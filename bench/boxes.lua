-- A small Llama over positions and layers: the logits of the last position against those of all,
-- and a prompt inside the dim of generated tokens against the same prompt as an input.
--   lua5.4 bench/boxes.lua [D T L]
local tempo = require "tempo"
local D, T0, LAYERS = tonumber(arg[1]) or 256, tonumber(arg[2]) or 512, tonumber(arg[3]) or 4
local V, HEADS, WIDE = 8 * D, 4, 2 * D

-- what: "all", "last", "inside" (the prompt has p of T positions, the rest is generated)
local function build(what, window)
  local P = tempo.program()
  local t, T = P:dim "t"
  local l, L = P:dim "l"
  local function weight(name, a, b) return P:input(name, { domain = { l }, shape = { a, b } }) end
  local emb = P:input("emb", { shape = { V, D } })
  local prompt = P:input("prompt", { domain = { t }, dtype = "i64" })
  local tok = what == "inside" and P:tensor { domain = { t }, dtype = "i64" } or prompt
  local x = P:tensor { domain = { t, l }, shape = { D } }
  x[{ l = 0 }] = emb:index_select(0, tok:unsqueeze(0)):squeeze(0)
  local function norm(v) return v * ((v * v):mean(-1, { keepdim = true }) + 1e-5):rsqrt() end
  local h = norm(x)
  local function heads(name) return h:matmul(weight(name, D, D)):reshape { HEADS, D // HEADS } end
  local q, k, v = heads "wq", heads "wk", heads "wv"
  local first = window and tempo.max(0, t - window + 1) or 0
  local ks = k[{ t = first .. t + 1 }]:permute(1, 0, 2)
  local vs = v[{ t = first .. t + 1 }]:permute(1, 0, 2)
  local scores = (ks:matmul(q:unsqueeze(-1)):squeeze(-1) * (D / HEADS) ^ -0.5):softmax(-1)
  local y = x + scores:unsqueeze(1):matmul(vs):reshape { D }:matmul(weight("wo", D, D))
  local g = norm(y)
  local inner = g:matmul(weight("w1", D, WIDE)):silu() * g:matmul(weight("w3", D, WIDE))
  local z = y + inner:matmul(weight("w2", WIDE, D))
  x[{ t, l }] = z[{ l = l - 1 }]
  local logits = norm(z[{ l = L - 1 }]):matmul(emb:mT())
  if what == "inside" then
    tok:when(t:lt(P:bound "p"), prompt)
    tok:otherwise(logits:argmax(0)[t - 1])
    return P:compile { outputs = { tok = tok }, tier = "native" }
  end
  logits = what == "all" and logits or logits[T - 1]
  return P:compile { outputs = { logits = logits }, tier = "native" }
end

local function inputs(T)
  local shapes = { wq = { D, D }, wk = { D, D }, wv = { D, D }, wo = { D, D }, w1 = { D, WIDE },
    w2 = { WIDE, D }, w3 = { D, WIDE } }
  local Q, out, ids = tempo.program(), {}, {}
  for name, s in pairs(shapes) do
    out[name] = tempo.normal({ LAYERS, s[1], s[2] }, { name = name }) * s[1] ^ -0.5
  end
  out.emb = tempo.normal({ V, D }, { name = "emb" })
  out = Q:compile { outputs = out } {}
  for i = 1, T do ids[i] = i * 7919 % V end
  local given = { prompt = tempo.array(ids, "i64", { T }) }
  for name in pairs(shapes) do given[name] = out[name] end
  given.emb = out.emb
  return given
end

local function ms(f, T, p)                               -- the best of several runs, processor time
  local given, best = inputs(T), math.huge
  for _ = 1, 5 do
    local t0 = os.clock()
    f(given, { T = T, L = LAYERS, p = p })
    best = math.min(best, os.clock() - t0)
  end
  return best * 1e3
end

for _, window in ipairs { false, T0 // 8, 2 * T0 } do
  local name = window and "-window-" .. window or ""
  local all, last = ms(build("all", window), T0), ms(build("last", window), T0)
  print(("RATIO boxes-last%s %.2f (%.2f ms vs %.2f ms all)"):format(name, all / last, last, all))
  local inside = ms(build("inside", window), T0 + 1, T0)
  print(("RATIO boxes-inside%s %.2f (%.2f ms vs %.2f ms apart)")
    :format(name, last / inside, inside, last))
end

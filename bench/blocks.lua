-- A recurrent net per instance, forwards and backwards: innermost loops cut in blocks against the
-- same program with `tile = false`.
--   lua5.4 bench/blocks.lua
local tempo = require "tempo"

local function build(D, H)
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { D } })
  local w, u = P:input("w", { shape = { D, H } }), P:input("u", { shape = { H, H } })
  local v = P:input("v", { shape = { H, 4 } })
  local h = P:tensor { domain = { t }, shape = { H } }
  h[0] = tempo.zeros { H }
  h[t] = (x:matmul(w) + h[t - 1]:matmul(u)):tanh()
  local total = h:matmul(v):square():sum()[0 .. T]:sum(0)
  local g = tempo.grad(total, { w, u, v })
  return P, { total = total, gw = g[1], gu = g[2], gv = g[3] }
end

local function small(...)
  local n = 1
  for _, k in ipairs { ... } do n = n * k end
  return tempo.array(("\0\0\0\60"):rep(n), "f32", { ... })
end

local function time(f, inputs, bounds)                 -- the best of several runs, ms
  local best = math.huge
  for _ = 1, 7 do
    local t0 = os.clock()
    f(inputs, bounds)
    best = math.min(best, os.clock() - t0)
  end
  return best * 1e3
end

for _, size in ipairs { { 16, 16 }, { 64, 64 }, { 64, 256 } } do
  local D, H, T = size[1], size[2], 500
  local P, outputs = build(D, H)
  local inputs = { x = small(T, D), w = small(D, H), u = small(H, H), v = small(H, 4) }
  local ours, peer = P:compile { outputs = outputs },
    P:compile { outputs = outputs, passes = { tile = false } }
  local a, b = time(ours, inputs, { T = T }), time(peer, inputs, { T = T })
  print(("RATIO rnn-blocks-%d %.2f (%.2f vs %.2f ms)"):format(H, b / a, a, b))
end

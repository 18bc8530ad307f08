-- Times a limit of memory: backpropagation through time with all activations in memory, and
-- with a quarter of that, where they go to a file and come back (the same numbers, bit for bit;
-- spec/memory_spec.lua).
--   make bench-spill
local tempo = require "tempo"

local function build(H, memory)
  local P = tempo.program { seed = 1 }
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 16, H } })
  local w = P:param("w",
    { shape = { H, H }, init = tempo.normal({ H, H }, { name = "w" }) * (0.5 / math.sqrt(H)) })
  local h = P:tensor { domain = { t }, shape = { 16, H } }
  h[0] = x
  h[t] = (h[t - 1]:matmul(w) + x):tanh()
  local g = tempo.grad(h:square():mean()[0 .. T]:sum(0), { w })[1]
  return P:compile { outputs = { g = g }, memory = memory }
end

local function now()                                   -- waiting for a file counts
  local pipe = io.popen "date +%s.%N"
  local s = tonumber(pipe:read "*a")
  pipe:close()
  return s
end

local function seconds(f, x, T)
  local began = now()
  f({ x = x }, { T = T })
  return now() - began
end

for _, size in ipairs { { 64, 16384 }, { 256, 4096 } } do
  local H, T = size[1], size[2]
  local x = tempo.array(("\0\0\0\60"):rep(T * 16 * H), "f32", { T, 16, H })
  local free = build(H)
  local full = free:memory { T = T }
  local limited = build(H, full // 4)
  local taken = limited:memory { T = T }
  print(("# %.0f MiB without a limit, %.1f with a quarter of that as one"):format(full / 2 ^ 20,
    taken / 2 ^ 20))
  local best, peer = math.huge, math.huge
  -- in turn: the machine is as busy for one as for the other
  for _ = 1, 5 do
    best = math.min(best, seconds(limited, x, T))
    peer = math.min(peer, seconds(free, x, T))
  end
  print(("RATIO spill-quarter-%d %.2f (%.3f vs %.3f s)"):format(H, peer / best, best, peer))
end

-- Times on a card, against JAX and PyTorch where python3 has them: seconds of one iteration more, as
-- the difference of a long run and a short one, so that what a call copies in and out does not
-- count. On a machine with a card; figures from an emulated device mean nothing.
--   make bench-cuda ARGS="DEVICE ROW"      (cuda, opencl; one row of the table below)
local tempo = require "tempo"
local only_device, only = arg[1] or "cuda", arg[2]

-- Programs over i: each gives its outputs, reduced to little, its inputs, and other bounds.
local programs = {}

-- A chain h of `shape`, each from the one before.
local function chain(shape, step)
  return function(P)
    local i, I = P:dim "i"
    local h = P:tensor { domain = { i }, shape = shape }
    local x = P:input("x", { shape = shape })
    h[0] = x
    h:otherwise(step(h[i - 1], x))
    return { s = h[I - 1]:sum() }, { x = tempo.array(0.01, "f32", shape) }
  end
end
programs.tiny = chain({ 64 }, function(h, x) return (h * 0.9 + x):tanh() end)
programs.softmax = chain({ 8192, 4096 }, function(h) return (h * 3):softmax(1) end)
programs.norm = chain({ 8192, 4096 }, function(h)
  local d = h - h:mean(1, { keepdim = true })
  return d / ((d * d):mean(1, { keepdim = true }) + 1e-5):sqrt()
end)
programs.product = chain({ 4096, 4096 }, function(h, x) return h:matmul(x) end)
programs.small_product = chain({ 64, 64 }, function(h, x) return h:matmul(x):tanh() end)

function programs.adam(P)
  local i = P:dim "i"
  local w = P:param("w", { along = { i }, shape = { 4096, 4096 }, init = 1 })
  tempo.optim.Adam({ w }, { lr = 1e-3 }):step((w * w):sum() * 0.5)
  return { w = w:next():sum() }, {}
end

local function timed(f, inputs, bounds, n)
  bounds.I = n
  local best = math.huge
  f(inputs, bounds)
  for _ = 1, 3 do
    local t = tempo.clock()
    f(inputs, bounds)
    best = math.min(best, tempo.clock() - t)
  end
  return best
end

local peers = {}
local pipe = io.popen "python3 bench/peers/cuda_peer.py 2>/dev/null"
for line in pipe:lines() do
  local who, row, seconds = line:match "^(%w+) (%S+) (%S+)$"
  if who then
    peers[row] = peers[row] or {}
    table.insert(peers[row], { who, tonumber(seconds) })
  end
end
pipe:close()

for _, row in ipairs {
  { "tiny", 1000, 101000 }, { "small_product", 1000, 51000 }, { "softmax", 5, 55 },
  { "norm", 5, 55 }, { "adam", 5, 55 }, { "product", 5, 25 },
} do
  local name, few, many = row[1], row[2], row[3]
  if not only or only == name then
    if os.getenv "TEMPO_BENCH_SHORT" then few, many = 2, 4 end
    local ok, why = pcall(function()
      local P = tempo.program()
      local outputs, inputs, bounds = programs[name](P)
      local f = P:compile { outputs = outputs, device = only_device }
      bounds = bounds or {}
      local each = (timed(f, inputs, bounds, many) - timed(f, inputs, bounds, few)) / (many - few)
      local text = ("%-14s %10.2f us"):format(name, each * 1e6)
      for _, p in ipairs(peers[name] or {}) do
        text = text .. ("   %s %.2f us"):format(p[1], p[2] * 1e6)
        print(("RATIO cuda-%s-vs-%s %.2f (%.2f vs %.2f us)"):format(name, p[1], p[2] / each,
          each * 1e6, p[2] * 1e6))
      end
      print(text)
    end)
    if not ok then print(name .. " failed: " .. tostring(why)) end
  end
end

-- Whole training on the card: steps of all environments in a second, of the last iteration but one.
for _, envs in ipairs(os.getenv "TEMPO_BENCH_SHORT" and { 4 } or { 32, 792, 4096 }) do
  if not only or only == "reinforce" then
    local run = io.popen(("TEMPO_DEVICE=%s lua5.4 examples/reinforce_cartpole.lua --iterations %d "
      .. "--steps %d --envs %d --out %s.d 2>&1"):format(only_device, envs > 32 and 6 or 20,
      os.getenv "TEMPO_BENCH_SHORT" and 20 or 500, envs, os.tmpname()))
    local text, last, speed = run:read "*a"
    run:close()
    for v in text:gmatch "(%d+) steps/s" do last, speed = speed, v end
    print(("reinforce %d environments: %s steps/s"):format(envs, last or text))
  end
end

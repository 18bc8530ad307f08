-- Layers as a dim: memory against what one would write by hand, and speed against the same network
-- unrolled.
--   lua5.4 bench/layers.lua
-- By hand: the weights and their two moments once, two activations a layer, a gradient of one
-- layer. f:memory is the arena's peak.
local tempo = require "tempo"
local ROWS, WIDTH = 32, 64

local function train(P, i, net, parameters)
  local x = P:input("x", { domain = { i }, shape = { ROWS, WIDTH } })
  local y = P:input("y", { domain = { i }, shape = { ROWS, WIDTH } })
  local loss = (net(x) - y):square():mean()
  tempo.optim.Adam(parameters, { lr = 0.01 }):step(loss)
  return P:compile { outputs = { loss = loss } }
end

local function by_dim()
  local P = tempo.program()
  local i, _, l, L = P:dim "i", nil, P:dim "l"
  local init = tempo.normal({ WIDTH, WIDTH }, { name = "n", domain = { l } }) * 0.1
  local w = P:param("w", { along = { i }, domain = { l }, shape = { WIDTH, WIDTH }, init = init })
  local h = P:tensor { domain = { i, l }, shape = { ROWS, WIDTH } }
  return train(P, i, function(x)
    h[{ l = 0 }] = x
    h[l + 1] = h:matmul(w):tanh() + h
    return h[{ l = L - 1 }]:matmul(w[{ l = L - 1 }]):tanh() + h[{ l = L - 1 }]
  end, { w })
end

local function unrolled(layers)
  local P = tempo.program()
  local i = P:dim "i"
  local w = {}
  for k = 1, layers do
    local init = tempo.normal({ WIDTH, WIDTH }, { name = "n" .. k }) * 0.1
    w[k] = P:param("w" .. k, { along = { i }, shape = { WIDTH, WIDTH }, init = init })
  end
  return train(P, i, function(h)
    for k = 1, layers do h = h:matmul(w[k]):tanh() + h end
    return h
  end, w)
end

local function seconds(f, inputs, bounds)
  local best = math.huge
  for _ = 1, 5 do
    local t0 = os.clock()
    f(inputs, bounds)
    best = math.min(best, os.clock() - t0)
  end
  return best
end

local STEPS, MB = 20, 2 ^ 20
local noise = tempo.program():dim "i"
local v = tempo.normal({ ROWS, WIDTH }, { domain = { noise }, name = "v" })
v = noise:program():compile { outputs = { v = v } }({}, { I = STEPS }).v
local dim = by_dim()
for _, layers in ipairs { 4, 64 } do
  local flat, bounds = unrolled(layers), { I = STEPS, L = layers }
  local hand = 4 * (layers * (3 * WIDTH * WIDTH + 2 * ROWS * WIDTH) + WIDTH * WIDTH)
  local ours, theirs = dim:memory(bounds), flat:memory { I = STEPS }
  print(("%2d layers: %.2f MB as a dim, %.2f MB unrolled"):format(layers, ours / MB, theirs / MB))
  print(("RATIO layers-memory-%d %.2f (%.2f vs %.2f hand MB)"):format(layers, hand / ours,
    ours / MB, hand / MB))
  local a = seconds(dim, { x = v, y = v }, bounds)
  local b = seconds(flat, { x = v, y = v }, { I = STEPS })
  local ms = 1e3 / STEPS
  print(("RATIO layers-speed-%d %.2f (%.3g vs %.3g unrolled ms a step)"):format(layers, b / a,
    a * ms, b * ms))
end

-- From a script to a runnable plan: layers as a dim, graphs of growing size, REINFORCE, layers
-- unrolled.
--   lua5.4 bench/compile.lua
-- Times are the processor's, of recording and P:compile; the best of several, in turn.
-- Plans that a cache has would not be compiled.
if os.getenv "TEMPO_CACHE" ~= "none" then
  os.exit(os.execute("TEMPO_CACHE=none " .. arg[-1] .. " " .. arg[0]))
end
local tempo = require "tempo"
tempo.warn = false                                     -- ten thousand nodes of one line are meant

local function best(n, programs)                       -- seconds of each, interleaved
  local t = {}
  for _ = 1, n do
    for k, p in ipairs(programs) do
      collectgarbage()
      local t0 = os.clock()
      p()
      t[k] = math.min(t[k] or math.huge, os.clock() - t0)
    end
  end
  return t
end

local function ratio(name, r, ours, peer, unit)
  print(("RATIO %s %.2f (%.4g vs %.4g %s)"):format(name, r, ours, peer, unit))
end

-- Residual layers over a dim: weights, gradients and Adam over (i, l).
local function by_dim()
  local P = tempo.program()
  local i, _, l, L = P:dim "i", nil, P:dim "l"
  local x = P:input("x", { domain = { i }, shape = { 8, 16 } })
  local y = P:input("y", { domain = { i }, shape = { 8, 16 } })
  local init = tempo.normal({ 16, 16 }, { name = "n", domain = { l } }) * 0.2
  local w = P:param("w", { along = { i }, domain = { l }, shape = { 16, 16 }, init = init })
  local h = P:tensor { domain = { i, l }, shape = { 8, 16 } }
  h[{ l = 0 }] = x
  h[l + 1] = h:matmul(w):tanh() + h
  local loss = (h[{ l = L - 1 }] - y):square():mean()
  tempo.optim.Adam({ w }, { lr = 0.1 }):step(loss)
  return P:compile { outputs = { loss = loss } }
end

-- The same unrolled in Lua: a node for each layer, so this one grows.
local function unrolled(layers)
  local P = tempo.program()
  local i = P:dim "i"
  local x = P:input("x", { domain = { i }, shape = { 8, 16 } })
  local y = P:input("y", { domain = { i }, shape = { 8, 16 } })
  local w, h = {}, x
  for k = 1, layers do
    local init = tempo.normal({ 16, 16 }, { name = "n" .. k }) * 0.2
    w[k] = P:param("w" .. k, { along = { i }, shape = { 16, 16 }, init = init })
    h = h:matmul(w[k]):tanh() + h
  end
  local loss = (h - y):square():mean()
  tempo.optim.Adam(w, { lr = 0.1 }):step(loss)
  return P:compile { outputs = { loss = loss } }
end

-- A recurrence with a body of about n nodes.
local function chain(n)
  local P = tempo.program()
  local t = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 16 } })
  local w = P:input("w", { shape = { 16, 16 } })
  local h = P:tensor { domain = { t }, shape = { 16 } }
  local v = h[t - 1] + x
  for _ = 1, math.floor(n / 6) - 1 do v = v:matmul(w):tanh() * 0.5 + v:sigmoid() * x end
  h[0] = tempo.zeros { 16 }
  h[t] = v
  return P:compile { outputs = { h = h } }
end

-- A recurrence of n tensors, each read by the next at the same point and by itself one before; with
-- the gradient.
local function carries(n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 4 } })
  local h = {}
  for k = 1, n do h[k] = P:tensor { domain = { t }, shape = { 4 } } end
  for k = 1, n do
    h[k][0] = tempo.zeros { 4 }
    h[k][t] = ((k == 1 and h[n][t - 1] + x or h[k - 1]) + h[k][t - 1]):tanh()
  end
  local loss = h[n]:square():mean()[0 .. T]:sum(0)
  return P:compile { outputs = { loss = loss, g = tempo.grad(loss, x) } }
end

-- One tensor with a constant for each of its first n points.
local function branches(n)
  local P = tempo.program()
  local t = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 4 } })
  local h = P:tensor { domain = { t }, shape = { 4 } }
  for k = 0, n - 1 do h[k] = tempo.ones { 4 } * k end
  h[t] = h[t - 1] + x
  return P:compile { outputs = { h = h } }
end

-- Layers of which each reads the one before in both directions; with all gradients.
local function bidirectional(layers)
  local P = tempo.program()
  local t, T = P:dim "t"
  local x, weights, D = P:input("x", { domain = { t }, shape = { 4, 8 } }), {}, 8
  local function times(v, rows)
    local w = P:input("w" .. #weights + 1, { shape = { rows, D } })
    weights[#weights + 1] = w
    return v:matmul(w)
  end
  local function gru(v, rows, first, before)
    local h = P:tensor { domain = { t }, shape = { 4, D } }
    local p = h[before]
    local z, r = (times(v, rows) + times(p, D)):sigmoid(), (times(v, rows) + times(p, D)):sigmoid()
    h[first] = tempo.zeros { 4, D }
    h[t] = (1 - z) * p + z * (times(v, rows) + times(r * p, D)):tanh()
    return h
  end
  local rows = D
  for _ = 1, layers do
    x = tempo.cat({ gru(x, rows, 0, t - 1), gru(x, rows, T - 1, t + 1) }, 1)
    rows = 2 * D
  end
  local outputs = { loss = x:square():mean()[0 .. T]:sum(0) }
  for k, g in ipairs(tempo.grad(outputs.loss, weights)) do outputs["g" .. k] = g end
  return P:compile { outputs = outputs }
end

-- Time for each of n, the fewest against the most.
local function series(name, make, sizes, runs)
  local made = {}
  for k, n in ipairs(sizes) do made[k] = function() make(n) end end
  local t = best(runs, made)
  for k, n in ipairs(sizes) do
    print(("%6d %s: %8.2f ms, %.2f each"):format(n, name, t[k] * 1e3, t[k] * 1e3 / n))
  end
  local few, many = t[1] * 1e3 / sizes[1], t[#t] * 1e3 / sizes[#t]
  ratio("compile-" .. name, few / many, few, many,
    ("ms each, %d and %d"):format(sizes[1], sizes[#sizes]))
end

-- One compilation serves any number of layers, so what depth may cost is the compilation before
-- each.
local function depth()
  local layers, inputs = { 4, 64 }, {}
  local data = tempo.array(("\0\0\0\60"):rep(8 * 16), "f32", { 1, 8, 16 })
  inputs.x, inputs.y = data, data
  local t = best(7, { by_dim, by_dim })
  local f = by_dim()
  for _, L in ipairs(layers) do assert(f(inputs, { I = 1, L = L }).loss:shape()[1] == 1) end
  ratio("compile-depth", t[1] / t[2], t[1] * 1e3, t[2] * 1e3, "ms, 4 and 64 layers as a dim")
  t = best(3, { function() unrolled(4) end, function() unrolled(64) end })
  print(("unrolled in Lua: %.0f ms for 4 layers, %.0f ms for 64 (%.1f and %.1f a layer)")
    :format(t[1] * 1e3, t[2] * 1e3, t[1] * 250, t[2] * 1e3 / 64))
end

local function linear()
  local sizes, made = { 100, 1000, 10000 }, {}
  for k, n in ipairs(sizes) do made[k] = function() chain(n) end end
  local t = best(5, made)
  for k, n in ipairs(sizes) do
    print(("%6d nodes: %8.2f ms, %.1f us a node"):format(n, t[k] * 1e3, t[k] * 1e6 / n))
  end
  local few, many = t[1] * 1e6 / sizes[1], t[3] * 1e6 / sizes[3]
  ratio("compile-linear", few / many, few, many, "us a node, 100 and 10000 nodes")
  ratio("compile-10000", 5 / t[3], t[3], 5, "s")
end

-- An example up to where it would print that it has compiled: what a user waits for.
local function example(name, seconds)
  local function script()
    local env = { print = function() end,
      arg = { "--explain", "passes", "--quiet", "--out", os.tmpname() .. ".d" } }
    env.os = setmetatable({ exit = function() error("compiled", 0) end }, { __index = os })
    local chunk =
      assert(loadfile("examples/" .. name .. "_cartpole.lua", "t",
      setmetatable(env, { __index = _G })))
    local _, why = pcall(chunk)
    assert(why == "compiled", why)
  end
  local t = best(5, { script })[1]
  ratio(name .. "-compile", seconds / t, t, seconds, "s")
end

-- Programs in which dims end by data, each in a process of its own: seconds, and by how many MB its
-- memory grows.
local function by_data(name)
  local text = ([[
    local function most() return tonumber(io.open "/proc/self/status":read "*a":match "VmHWM:%%s*(%%d+)") end
    local tempo, ended = require "tempo", require "spec.ended"
    tempo.warn = false
    local had, t0 = most(), os.clock()
    local P, outputs = ended.%s()
    P:compile { outputs = outputs, tier = "interpreter" }
    print(os.clock() - t0, (most() - had) / 1024)]]):format(name)
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
  local pipe = io.popen(("LUA_PATH_5_4='./?.lua;%s' lua5.4 %s"):format(package.path, path))
  local seconds, mb = pipe:read("*n", "*n")
  pipe:close()
  os.remove(path)
  return assert(seconds, name), mb
end

local ended = { "ppo", "ppo_lstm", "early", "decode_all_rows", "decode_window_rows",
  "decode_bound_rows", "replay", "tagger", "three", "rewards", "agent" }

local function ends()
  for _, name in ipairs(ended) do
    local seconds, mb = math.huge, nil
    for _ = 1, 3 do
      local s, m = by_data(name)
      seconds, mb = math.min(seconds, s), m
    end
    print(("%20s: %6.2f s, %4.0f MB"):format(name, seconds, mb))
    if name == "three" then
      ratio("compile-ends", 5 / seconds, seconds, 5, "s, ends inside ends, three deep in a batch")
      ratio("compile-ends-memory", 500 / mb, mb, 500, "MB, the same")
    end
  end
end

depth()
linear()
series("carries", carries, { 20, 40, 80, 160, 320, 640 }, 2)
series("branches", branches, { 50, 200, 400, 1000, 2000 }, 2)
series("bidirectional", bidirectional, { 1, 2, 4, 8 }, 2)
example("reinforce", 1)
example("ppo", 0.7)
ends()

-- Times the plan interpreter's own work: nanoseconds an operator in tight recurrences over a
-- few numbers, and a program written per instance, its batch a dim, beside the same program batched
-- by hand, its batch an axis.
--   lua5.4 bench/interpreter.lua [operators]         (operators: the first only)
-- Times are the processor's; the best of several, in turn.
local tempo = require "tempo"
local nn, optim, dist = tempo.nn, tempo.optim, tempo.dist

local function seconds(f, inputs, bounds)
  local t0 = os.clock()
  f(inputs, bounds)
  return os.clock() - t0
end

-- ---- an operator --------------------------------------------------------------------------------
-- A step is four times the same few operators, on four numbers; what does not fuse is a region of
-- its own.
local kinds = {
  { "tanh(v / 2 + x)", function(v, x) return (v * 0.5 + x):tanh() end },
  { "where(v > 0, x, v)", function(v, x) return tempo.where(v:gt(0), x, v) end },
  { "softmax", function(v, x) return v:softmax(0) + x end },
  { "sum", function(v, x) return v:sum(0, { keepdim = true }) * 0.1 + x end },
  { "argmax", function(v, x) return v:argmax(0):to "f32" * x end },
  { "matmul 4 x 4", function(v, _, w) return v:matmul(w) end },
  { "cat", function(v, x) return tempo.cat({ v:slice(0, 2, 4), v:slice(0, 0, 2) }, 0) + x end },
  { "pad", function(v, x) return v:slice(0, 0, 2):pad { 1, 1 } + x end },
  { "index_select", function(v, x, _, k) return v:index_select(0, k) + x end },
  { "gather", function(v, x, _, k) return v:gather(0, k) + x end },
  { "cumsum", function(v, x) return v:cumsum(0) + x end },
}

-- Operators of one step, as the graph has them: views and numbers are none.
local function operators(f)
  local n = 0
  for op in f:explain("graph"):gmatch "%%%d+ = (%w+)[^\n]-: %(t%)" do
    n = n + ((op == "merge" or op == "read" or op == "fill" or op == "slice" or op == "reshape")
      and 0 or 1)
  end
  return n
end

local function overhead()
  local STEPS, sum = 100000, 0
  local inputs = {
    x = tempo.array({ 0.1, 0.2, 0.3, 0.4 }, "f32"), k = tempo.array({ 1, 2, 3, 0 }, "i64"),
    w = tempo.array({ { 0.1, 0.2, 0, 0 }, { 0, 0.1, 0.2, 0 }, { 0, 0, 0.1, 0.2 },
      { 0.2, 0, 0, 0.1 } }, "f32"),
  }
  for _, kind in ipairs(kinds) do
    local P = tempo.program()
    local t, T = P:dim "t"
    local x, w = P:input("x", { shape = { 4 } }), P:input("w", { shape = { 4, 4 } })
    local k = P:input("k", { shape = { 4 }, dtype = "i64" })
    local h = P:tensor { domain = { t }, shape = { 4 } }
    local v = h[t - 1]
    for _ = 1, 4 do v = kind[2](v, x, w, k) end
    h[0] = tempo.ones { 4 }
    h[t] = v
    local f, best = P:compile { outputs = { y = h[T - 1] } }, math.huge
    for _ = 1, 5 do best = math.min(best, seconds(f, inputs, { T = STEPS })) end
    local ns = best / STEPS * 1e9 / operators(f)
    print(("%-20s %6.1f ns an operator"):format(kind[1], ns))
    sum = sum + ns
  end
  local mean = sum / #kinds
  print(("RATIO interpreter-op-ns %.2f (%.1f vs 150 ns)"):format(150 / mean, mean))
end

-- ---- a batch ------------------------------------------------------------------------------------
-- REINFORCE with a critic on cart and pole, written as tensors. batch: a number makes it an axis,
-- nil the dim b. drawn: random numbers are inputs.
local HIDDEN = 64

local function net(P, i, name, outputs)
  return nn.MLP(P, { 4, HIDDEN, HIDDEN, outputs },
    { name = name, activation = "tanh", along = { i } })
end

local function cart(s, action)                         -- CartPole-v1's dynamics along the last axis
  local x, v, angle, turn = s:select(-1, 0), s:select(-1, 1), s:select(-1, 2), s:select(-1, 3)
  local c, sn = angle:cos(), angle:sin()
  local push = (action:to "f32" * 20 - 10 + 0.05 * turn * turn * sn) / 1.1
  local spin = (9.8 * sn - c * push) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
  local speed = v + 0.02 * (push - 0.05 * spin * c / 1.1)
  local to = tempo.stack({ x + 0.02 * v, speed, angle + 0.02 * turn, turn + 0.02 * spin }, -1)
  return to, to:select(-1, 0):abs():gt(2.4):lor(to:select(-1, 2):abs():gt(12 * 2 * math.pi / 360))
end

local function reinforce(batch, drawn)
  local P = tempo.program { seed = 1 }
  local i = P:dim "i"
  local b, B
  if not batch then b, B = P:dim "b" end
  local t, T = P:dim "t"
  local function domain(...) return batch and { ... } or { (...), b, select(2, ...) } end
  local function shape(...) return batch and { batch, ... } or { ... } end
  local function draw(name, n, over)
    if drawn then return P:input(name, { domain = over, shape = shape(n) }) end
    return tempo.uniform(shape(n), { domain = over, name = name })
  end
  local policy, critic = net(P, i, "policy", 2), net(P, i, "critic", 1)
  local s = P:tensor { domain = domain(i, t), shape = shape(4) }
  local pi = dist.Categorical { logits = policy(s) }
  local action = (pi.scores:detach() - (-draw("action", 2, domain(i, t)):log()):log()):argmax(-1)
  local to, done = cart(s, action)
  s[{ t = 0 }] = draw("start", 4, domain(i)) * 0.1 - 0.05
  s[t + 1] = tempo.where(done:unsqueeze(-1), draw("fresh", 4, domain(i, t)) * 0.1 - 0.05, to)
  local alive, value = 1 - done:to "f32", critic(s):squeeze(-1)
  local G = P:tensor { domain = domain(i, t), shape = shape() }
  G[{ t = T - 1 }] = 1 + alive * value:detach()
  G:otherwise(1 + 0.99 * alive * G:at { t = t + 1 })
  G = G:detach()
  local loss = 0.5 * (G - value):square() - pi:log_prob(action) * (G - value):detach()
  loss = batch and loss:sum() / (T:value() * batch):to "f32" or loss / (B * T):value():to "f32"
  local params = policy:parameters()
  for _, w in ipairs(critic:parameters()) do params[#params + 1] = w end
  optim.Adam(params, { lr = 0.003 }):step(loss)
  local total = batch and loss[{ t = 0 .. T }]:sum(0) or loss[{ b = 0 .. B, t = 0 .. T }]:sum()
  return P:compile { outputs = { loss = total } }
end

-- Both compute the same: numbers in (0, 1) at each (i, b, t, k), laid out as each wants them.
local function check()
  local I, B, T = 3, 5, 7
  local function at(...)
    local x = 0
    for _, k in ipairs { ... } do x = x * 31 + k + 1 end
    return (math.sin(x) * 43758.5453) % 1 * 0.98 + 0.01
  end
  local function arrays(by_axis)
    local function nest(value, n, ...)                 -- nested tables of these extents
      local rest, rows = { ... }, {}
      for k = 0, n - 1 do
        rows[k + 1] = #rest == 0 and value(k) or nest(function(...) return value(k, ...) end, ...)
      end
      return rows
    end
    local function each(name, n)
      if by_axis then
        return nest(function(i, t, b, k) return at(name, i, b, t, k) end, I, T, B, n)
      end
      return nest(function(i, b, t, k) return at(name, i, b, t, k) end, I, B, T, n)
    end
    local start = nest(function(i, b, k) return at(3, i, b, 0, k) end, I, B, 4)
    return { action = each(1, 2), fresh = each(2, 4), start = start }
  end
  local dim = reinforce(nil, true)(arrays(false), { I = I, B = B, T = T }).loss
  local axis = reinforce(B, true)(arrays(true), { I = I, T = T }).loss
  for i = 0, I - 1 do
    assert(math.abs(dim:get(i) - axis:get(i)) <= 1e-4 * math.abs(axis:get(i)),
      ("iteration %d: the loss is %.7g with the batch as a dim, %.7g as an axis"):format(i,
        dim:get(i), axis:get(i)))
  end
end

local function batch()
  local ENVS, STEPS, ITERATIONS = 32, 500, 4
  check()
  local dim, axis, best = reinforce(), reinforce(ENVS), { math.huge, math.huge }
  local bounds = { { I = ITERATIONS, B = ENVS, T = STEPS }, { I = ITERATIONS, T = STEPS } }
  for _ = 1, 7 do
    for k, f in ipairs { dim, axis } do best[k] = math.min(best[k], seconds(f, {}, bounds[k])) end
  end
  local function speed(k) return ENVS * STEPS * ITERATIONS / best[k] end
  local ratio = best[2] / best[1]
  print(("RATIO batch-dim-vs-spatial %.2f (%.0f vs %.0f by-hand steps/s)"):format(ratio, speed(1),
    speed(2)))
end

overhead()
if arg[1] ~= "operators" then batch() end

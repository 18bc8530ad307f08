-- The demands on a schedule, seen from outside: when things happen, what is kept, what it costs in
-- memory.
local tempo = require "tempo"
local helper = require "spec.helper"

local KiB = 1024

local function interpreter(P, outputs)
  return P:compile { outputs = outputs, tier = "interpreter" }
end

-- A policy gradient over iterations and time with a callback for the world: `returns` makes the
-- return from the reward.
local function reinforce(returns, log)
  local P = tempo.program()
  local i = P:dim "i"
  local t, T = P:dim "t"
  local n = P:bound "n"
  local w = P:param("w", { along = { i }, shape = { 4 }, init = 0.1 })
  local o = P:tensor { domain = { i, t }, shape = { 4 } }
  local act = (o * w):sum():tanh()
  local nxt, r = P:call(function(a, p)
    if log then log[#log + 1] = ("step %d %d"):format(p.i, p.t) end
    local x = a[1]:item()
    return { x, x * 0.5, -x, 1 }, 1 - x * x
  end, { act }, { { domain = { i, t }, shape = { 4 } }, { domain = { i, t } } })
  o[{ t = 0 }] = tempo.ones { 4 }
  o[{ i, t }] = nxt[{ t = t - 1 }]:name "world"
  local ret = returns(r, t, T, n)
  local loss = act * ret:detach()
  local g = tempo.grad(loss, { w })[1]
  w[i + 1] = (w + g * 0.01):clamp(-2, 2)
  local mean = r[{ t = 0 .. T }]:mean(0)
  P:sink({ mean, g }, function(a, p)
    if log then log[#log + 1] = ("learned %d"):format(p.i) end
    assert(a[1]:item() == a[1]:item())
  end)
  return P, { w = w, loss = loss, ret = ret, g = g, mean = mean }
end

local function monte_carlo(r, t, T) return r[{ t = t .. T }]:sum(0) end
local function n_step(r, t, T, n) return r[{ t = t .. tempo.min(t + n, T) }]:sum(0) end

describe("training", function()
  it("needs memory that does not grow with iterations", function()
    for _, returns in ipairs { monte_carlo, n_step } do
      local P = reinforce(returns)
      local f = interpreter(P)
      local function memory(iterations, steps)
        return f:memory { I = iterations, T = steps, n = returns == n_step and 5 or nil }
      end
      local two = memory(2, 50)
      assert.is_true(two > 0)
      assert.equal(two, memory(3, 50))
      assert.equal(two, memory(100000, 50))
      assert.is_true(two < 50 * 4 * 16 + 8 * KiB)
      f({}, { I = 3, T = 50, n = returns == n_step and 5 or nil })
      assert.is_true(f:peak() <= two)
    end
  end)

  it("n-step returns keep a ring of n, not all of time", function()
    local P = reinforce(n_step)
    local f = interpreter(P)
    local at = function(T, n) return f:memory { I = 10, T = T, n = n } end
    assert.is_true(at(100000, 5) <= at(1000, 5) + KiB)
    assert.is_true(at(100000, 1000) > at(100000, 5))
  end)

  it("a sink's calls come between those of the iterations", function()
    for _, returns in ipairs { monte_carlo, n_step } do
      local log = {}
      local P = reinforce(returns, log)
      local f = interpreter(P)
      for _, b in ipairs { { 3, 4, 2 }, { 2, 1, 3 }, { 1, 5, 1 } } do
        for k = #log, 1, -1 do log[k] = nil end
        f({}, { I = b[1], T = b[2], n = returns == n_step and b[3] or nil })
        local want = {}
        for i = 0, b[1] - 1 do
          for t = 0, b[2] - 1 do want[#want + 1] = ("step %d %d"):format(i, t) end
          want[#want + 1] = ("learned %d"):format(i)
        end
        assert.same(want, log)
      end
    end
  end)

  it("agrees with the reference evaluator", function()
    for _, returns in ipairs { monte_carlo, n_step } do
      local P, outputs = reinforce(returns)
      local f = helper.compile(P, outputs)
      for _, b in ipairs { { 1, 1, 1 }, { 3, 1, 2 }, { 3, 6, 2 }, { 2, 3, 5 }, { 0, 3, 1 },
        { 2, 5, 0 } } do
        f({}, { I = b[1], T = b[2], n = returns == n_step and b[3] or nil })
      end
    end
  end)

  it("starts learning inside the episode with n-step returns, after it with Monte Carlo's",
    function()
    -- A call that needs a return tells when it could be computed at all.
    for _, returns in ipairs { monte_carlo, n_step } do
      local log = {}
      local P, outputs = reinforce(returns, log)
      P:sink({ outputs.ret }, function(_, p) log[#log + 1] = ("return %d %d"):format(p.i, p.t) end)
      local f = interpreter(P)
      f({}, { I = 1, T = 8, n = returns == n_step and 3 or nil })
      local last_step, first_return
      for k, line in ipairs(log) do
        if line == "step 0 7" then last_step = k end
        if line == "return 0 0" then first_return = k end
      end
      assert.equal(returns == n_step, first_return < last_step)
      if returns == n_step then                        -- at tick t + n - 1, for n given at the call
        local seen
        for _, line in ipairs(log) do
          if line:find "^step" then seen = line end
          local t = line:match "^return 0 (%d+)"
          if t and t + 2 < 8 then assert.equal(("step 0 %d"):format(t + 2), seen) end
        end
      end
    end
  end)

  it("shows its schedule", function()
    local P = reinforce(n_step)
    local text = interpreter(P):explain "schedule"
    -- lines indented more than the first loop over `loop`
    local function body_of(loop)
      local indent, lines = nil, {}
      for line in text:gmatch "[^\n]+" do
        local space = #line:match "^%s*"
        if not indent and line:find("for " .. loop .. "%d*%f[%W]") then indent = space
        elseif indent and space <= indent then break
        elseif indent then lines[#lines + 1] = line end
      end
      return indent and table.concat(lines, "\n")
    end
    assert.is_truthy(body_of "i", text)
    assert.is_truthy(body_of "t", text)
    assert.is_truthy(body_of "i":find "for t", text)
  end)
end)

describe("storage", function()
  it("of a two-lag recurrence is two or three slots", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 1024 } })
    local h = P:tensor { domain = { t }, shape = { 1024 }, name = "h" }
    h[0] = x
    h[1] = x
    h[t] = h[t - 1] * 0.5 - h[t - 2] * 0.25 + x
    local f = interpreter(P, { last = h[T - 1] })
    assert.is_true(f:memory { T = 10000 } <= 4 * 4 * KiB + KiB)
    local line
    for l in f:explain "storage":gmatch "[^\n]+" do
      if l:find "^temp h " then line = l end
    end
    assert.is_truthy(line, f:explain "storage")
    assert.is_truthy(line:find "%f[%d][23]%f[%D]", line)
  end)

  it("of backpropagation through time is a few weights, not T of them", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 256 } })
    local w = P:param("w", { shape = { 256, 256 }, init = tempo.eye { 256 } * 0.5 })
    local h = P:tensor { domain = { t }, shape = { 256 } }
    h[0] = x
    h[t] = (x + h[t - 1]:matmul(w)):tanh()
    local g = tempo.grad(h[T - 1]:sum(), { w })[1]
    local f = interpreter(P, { g = g })
    local weight, state = 256 * 256 * 4, 256 * 4
    local m = f:memory { T = 64 }
    assert.is_true(m < 6 * weight + 64 * 4 * state, ("%d bytes, a weight has %d"):format(m, weight))
    assert.is_true(f:memory { T = 128 } - m < 64 * 4 * state + KiB)
  end)

  it("of weights that learn through time is constant in T but for the states", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 256 } })
    local w = P:param("w", { along = { i }, shape = { 256, 256 }, init = tempo.eye { 256 } * 0.5 })
    local h = P:tensor { domain = { i, t }, shape = { 256 } }
    h[{ t = 0 }] = x
    h[{ i, t }] = (x + h[{ t = t - 1 }]:matmul(w)):tanh()
    local loss = h[{ t = 0 .. T }]:sum(0):sum()
    w[i + 1] = w - tempo.grad(loss, { w })[1] * 0.001
    local f = interpreter(P, { loss = loss })
    local weight, state = 256 * 256 * 4, 256 * 4
    local m = f:memory { I = 10, T = 64 }
    assert.equal(m, f:memory { I = 1000, T = 64 })
    assert.is_true(m < 7 * weight + 64 * 4 * state, ("%d bytes, a weight has %d"):format(m, weight))
  end)

  it("of a window is a ring of its width, of a prefix all of it", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local w = P:bound "w"
    local h = P:tensor { domain = { t }, shape = { 256 } }
    h[0] = tempo.ones { 256 }
    h[t] = h[t - 1]:sin() + t:value()
    local window = interpreter(P, { y = h[tempo.max(0, t - w + 1) .. t + 1]:max(0)[T - 1] })
    local a, b = window:memory { T = 10000, w = 10 }, window:memory { T = 20000, w = 10 }
    assert.equal(a, b)
    assert.is_true(a < 4 * 10 * KiB)
  end)
end)

describe("one compilation", function()
  it("serves many bounds, in any order", function()
    local P = tempo.program()
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local w = P:bound "w"
    local x = P:input("x", { domain = { b, t }, dtype = "f64" })
    local h = P:tensor { domain = { b, t }, dtype = "f64" }
    h[{ t = 0 }] = x
    h[{ b, t }] = h[{ t = t - 1 }] * 0.5 + x
    local s = h[{ t = tempo.max(0, t - w + 1) .. t + 1 }]:sum(0)
    local total = s[{ b = 0 .. B, t = 0 .. T }]:sum()
    local f = helper.compile(P, { s = s, total = total })
    local r = helper.rng(77)
    local function check(nb, n, width)
      local v = helper.numbers({ nb, n }, r)
      local want, sum = {}, 0
      for i = 1, nb do
        local hs = {}
        want[i] = {}
        for j = 1, n do
          hs[j] = (hs[j - 1] or 0) * 0.5 + v[i][j]
          local c = 0
          for k = math.max(1, j - width + 1), j do c = c + hs[k] end
          want[i][j], sum = c, sum + c
        end
      end
      local out = f({ x = helper.array(v, "f64", { nb, n }) }, { B = nb, T = n, w = width })
      helper.same(want, out.s:totable(), 1e-12)
      helper.same(sum, out.total:item(), 1e-12)
      assert.same({ nb, n }, out.s:shape())
    end
    for _, c in ipairs { { 3, 5, 2 }, { 1, 1, 1 }, { 0, 4, 2 }, { 4, 0, 2 }, { 2, 9, 30 },
      { 7, 2, 1 }, { 3, 5, 2 }, { 1, 40, 7 }, { 2, 3, 0 } } do
      check(c[1], c[2], c[3])
    end
    for _ = 1, 20 do check(r(5), r(12), r(8)) end
  end)

  it("is not touched by what is recorded later", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local y = P:tensor { domain = { t }, dtype = "f64" }
    y[0] = x
    y:otherwise(y[t - 1] + x)
    local outputs = { y = y, g = x:grad() }
    y:backward()
    local f = P:compile { outputs = outputs }
    local z = x * 7
    z:backward()
    outputs.z = z
    local g = P:compile { outputs = outputs }
    local inputs = { x = { 3, 4 } }
    for _ = 1, 2 do
      local a, b = f(inputs, { T = 2 }), g(inputs, { T = 2 })
      assert.is_nil(a.z)
      helper.same({ 3, 7 }, a.y:totable(), 1e-9)
      helper.same({ 2, 1 }, a.g:totable(), 1e-9)
      helper.same({ 9, 8 }, b.g:totable(), 1e-9)
      helper.same({ 21, 28 }, b.z:totable(), 1e-9)
    end
  end)
end)

describe("schedules of whole programs", function()
  local function declare(P, domain, dtype)
    return P:tensor { domain = domain, dtype = dtype or "f64" }
  end

  it("a two-lag recurrence in i with a full reduction over t", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local h = declare(P, { i, t })
    h[{ i = 0 }] = t:value():to "f64"
    h[{ i = 1 }] = (t:value() * 2):to "f64"
    h[{ i, t }] = h[{ i = i - 2 }] * 0.5 + h[{ i = i - 1, t = 0 .. T }]:mean(0)
    local f = helper.compile(P, { h = h })
    for _, n in ipairs { { 1, 1 }, { 2, 3 }, { 6, 1 }, { 6, 5 }, { 0, 2 } } do
      local want = {}
      for k = 1, n[1] do
        want[k] = {}
        for j = 1, n[2] do
          local mean = 0
          for q = 1, n[2] do mean = mean + (k > 2 and want[k - 1][q] or 0) / n[2] end
          want[k][j] = k == 1 and j - 1 or k == 2 and 2 * (j - 1) or want[k - 2][j] * 0.5 + mean
        end
      end
      helper.same(want, f({}, { I = n[1], T = n[2] }).h:totable(), 1e-12)
    end
  end)

  it("h forward, g backward, h of the next i from g at 0", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local h, g = declare(P, { i, t }), declare(P, { i, t })
    h[{ 0, 0 }] = 1
    h[{ t = 0 }] = g[{ i = i - 1, t = 0 }] * 0.5
    h[{ i, t }] = h[{ t = t - 1 }] + 1
    g[{ t = T - 1 }] = h
    g[{ i, t }] = g[{ t = t + 1 }] * 0.5 + h
    local f = helper.compile(P, { g = g })
    for _, n in ipairs { { 1, 1 }, { 4, 1 }, { 1, 4 }, { 4, 5 } } do
      local want, first = {}, nil
      for k = 1, n[1] do
        local H, G = {}, {}
        for j = 1, n[2] do H[j] = j > 1 and H[j - 1] + 1 or k == 1 and 1 or first * 0.5 end
        for j = n[2], 1, -1 do G[j] = j == n[2] and H[j] or G[j + 1] * 0.5 + H[j] end
        want[k], first = G, G[1]
      end
      helper.same(want, f({}, { I = n[1], T = n[2] }).g:totable(), 1e-12)
    end
  end)

  it("PPO's shape: epochs k inside iterations i over a rollout made with k = 0", function()
    local log = {}
    local P = tempo.program()
    local i = P:dim "i"
    local k = P:dim "k"
    local t, T = P:dim "t"
    local w = P:param("w", { along = { i, k }, init = 0.5, dtype = "f64" })
    local o = declare(P, { i, t })
    o[{ t = 0 }] = 1
    local rolled = (o * w[{ k = 0 }]):tanh()
    local nxt = P:call(function(a, p)
      log[#log + 1] = ("act %d %d"):format(p.i, p.t)
      return a[1]:item() * 0.5 + 0.25
    end, { rolled }, { { domain = { i, t }, dtype = "f64" } })
    o[{ i, t }] = nxt[{ t = t - 1 }]
    local loss = ((o * w):tanh() - rolled:detach() * 0.5 + w * 0.1):square()[{ t = 0 .. T }]:mean(0)
    local g = tempo.grad(loss, { w })[1]
    w:update(w - g * 0.5)
    P:sink({ loss }, function(_, p) log[#log + 1] = ("loss %d %d"):format(p.i, p.k) end)
    local f = helper.compile(P, { w = w, loss = loss })
    for _, n in ipairs { { 1, 1, 1 }, { 3, 2, 4 }, { 2, 3, 1 }, { 3, 1, 2 } } do
      local I, K, N = n[1], n[2], n[3]
      local W, want = 0.5, { w = {}, loss = {} }
      for a = 1, I do
        local os, roll = { 1 }, {}
        for s = 1, N do
          roll[s] = helper.tanh(os[s] * W)
          os[s + 1] = roll[s] * 0.5 + 0.25
        end
        want.w[a], want.loss[a] = {}, {}
        for b = 1, K do
          local l, d = 0, 0
          for s = 1, N do
            local y = helper.tanh(os[s] * W)
            local e = y - roll[s] * 0.5 + W * 0.1
            l, d = l + e * e / N, d + 2 * e * ((1 - y * y) * os[s] + 0.1) / N
          end
          want.w[a][b], want.loss[a][b] = W, l
          W = W - d * 0.5
        end
      end
      local out = f({}, { I = I, K = K, T = N })
      helper.same(want.w, out.w:totable(), 1e-11)
      helper.same(want.loss, out.loss:totable(), 1e-11)
    end
    for j = #log, 1, -1 do log[j] = nil end
    f.fn({}, { I = 2, K = 2, T = 2 })
    local at = {}
    for j, line in ipairs(log) do at[line] = j end
    assert.is_true(at["act 0 1"] < at["loss 0 1"] and at["loss 0 1"] < at["act 1 0"]
      and at["act 1 1"] < at["loss 1 1"])
  end)

  it("updates the weights of a layered network in place", function()
    local P = tempo.program()
    local i = P:dim "i"
    local l, L = P:dim "l"
    local w = P:param("w",
      { along = { i }, domain = { l }, shape = { 64, 64 }, init = tempo.eye { 64 } * 0.9 })
    local x = P:tensor { domain = { i, l }, shape = { 64 } }
    x[{ l = 0 }] = tempo.ones { 64 }
    x[{ i, l }] = (x[{ l = l - 1 }]:matmul(w[{ l = l - 1 }])):tanh()
    local loss = x[{ l = L - 1 }]:matmul(w[{ l = L - 1 }]):square():sum()
    w:update(w - tempo.grad(loss, { w })[1] * 0.01)
    local f = interpreter(P, { loss = loss })
    local all = 8 * 64 * 64 * 4
    local m = f:memory { I = 10, L = 8 }
    assert.equal(m, f:memory { I = 1000, L = 8 })
    -- the weights (one copy over i), their updates until the end reads the last, the first values,
    -- the gradients
    assert.truthy(f:explain "storage":find "temp w %(i: 1, l: L%)")
    assert.is_true(m < 2.75 * all, ("%d bytes, all weights have %d"):format(m, all))
    helper.compile(P, { loss = loss })({}, { I = 4, L = 3 })
  end)

  it("a target network is read ten iterations back", function()
    local P = tempo.program()
    local i = P:dim "i"
    local w = P:param("w", { along = { i }, init = 1, dtype = "f64" })
    local old = w[i:floordiv(10) * 10]
    w[i + 1] = w * 1.01 + old * 0.1
    local f = helper.compile(P, { w = w, old = old })
    local v, seq = 1, {}
    for k = 1, 35 do
      seq[k] = v
      v = v * 1.01 + seq[math.floor((k - 1) / 10) * 10 + 1] * 0.1
    end
    helper.same(seq, f({}, { I = 35 }).w:totable(), 1e-12)
    helper.same(v, f.fn:params().w:item(), 1e-12)
  end)

  it("of two dims that are as good the loop goes over the one that keeps less", function()
    for _, turned in ipairs { false, true } do
      local P = tempo.program()
      local i, I = P:dim "i"
      local t, T = P:dim "t"
      local h = P:tensor { domain = { i, t }, shape = { 64 } }
      -- five rows back along one, one back along the other
      local far, near = turned and t or i, turned and i or t
      h:when(far:lt(5):lor(near:eq(0)), tempo.ones { 64 })
      h:otherwise((h[{ [far] = far - 5 }] * 0.5 + h[{ [near] = near - 1 }] * 0.25):tanh())
      local outputs = { y = h[{ I - 1, T - 1 }] }
      local f = interpreter(P, outputs)
      local bytes = f:memory { I = 200, T = 200 }
      assert.is_true(bytes < 2.5 * 200 * 64 * 4,
        ("%d bytes, a row has %d"):format(bytes, 200 * 64 * 4))
      helper.compile(P, outputs)({}, { I = 7, T = 9 })
    end
  end)

  it("a dim that orders nothing is no outermost loop: seeds go along in each call, memory stays constant in iterations", function()
    local P = tempo.program()
    local s, N = P:dim "s"
    local i = P:dim "i"
    local k, K = P:dim "k"
    local w = P:param("w", { along = { i }, domain = { s }, shape = { 4 }, init = 0.5 })
    local u = P:tensor { domain = { s, i, k }, shape = { 4 } }
    u[{ k = 0 }] = w
    u[{ s, i, k }] = u[{ k = k - 1 }] * 0.9 + 0.01
    w:update(u[{ k = K - 1 }])
    local mean = w:sum()[{ s = 0 .. N }]:mean(0)
    local f = interpreter(P, { mean = mean })
    assert.equal(f:memory { S = 8, I = 10, K = 3 }, f:memory { S = 8, I = 1000, K = 3 })
    assert.falsy(f:explain "schedule":find "for s ")
    helper.compile(P, { mean = mean })({}, { S = 3, I = 4, K = 3 })
  end)

  it("edit distance goes row by row: memory of a row", function()
    local P = tempo.program()
    local i, I = P:dim "i"
    local j, J = P:dim "j"
    local a = P:input("a", { domain = { i }, dtype = "i64" })
    local b = P:input("b", { domain = { j }, dtype = "i64" })
    local d = declare(P, { i, j }, "i64")
    d[{ 0, j }] = j:value()
    d[{ i, 0 }] = i:value()
    d[{ i, j }] = tempo.minimum(tempo.minimum(d[{ i = i - 1 }] + 1, d[{ j = j - 1 }] + 1),
      d[{ i - 1, j - 1 }] + a:ne(b):to "i64")
    local f = interpreter(P, { d = d[{ I - 1, J - 1 }] })
    assert.is_true(f:memory { I = 4000, J = 4000 } < 4 * 4000 * 8)
  end)
end)

-- If no exact set of needed points is found one that is too large stands, and may read nothing
-- that is not there.
it("a larger set of points than the needed ones stays inside all domains", function()
  local P = tempo.program()
  local i, I = P:dim "i"
  local j, J = P:dim "j"
  local w = P:bound "w"
  local z = P:tensor { domain = { i, j }, dtype = "f64" }
  local above = z[{ i + 2, tempo.max(0, j - w) .. j + 1 }]:logsumexp(0)
  local x = P:input("x", { domain = { j }, dtype = "f64" })
  z[{ i = I - 1 }] = 1
  z[{ i = I - 2 }] = x:tanh()
  z:otherwise(above:tanh())
  local y = z[{ tempo.max(0, i - 1) .. i + 1, tempo.min(j + j, J - 1) }]:sum(0)
  local outputs = { g = tempo.grad((y * y):sum(), x) }
  local f, reference = interpreter(P, outputs), P:compile { outputs = outputs, tier = "reference" }
  for _, b in ipairs { { I = 1, J = 1, w = 1 }, { I = 2, J = 3, w = 0 },
    { I = 5, J = 4, w = 2 } } do
    local inputs = { x = helper.numbers({ b.J }, helper.rng(3)) }
    assert.is_true(f:simulate(b))
    helper.same(reference(inputs, b).g:totable(), f(inputs, b).g:totable(), 1e-9)
  end
end)

describe("a callback over two dims of which the inner one is nobody's", function()
  it("goes through it alone: what it shows is made in one call", function()
    local P = tempo.program { seed = 3 }
    local t, T = P:dim "t"
    local b = P:dim "b"
    local w = P:input("w", { shape = { 4, 4 } })
    local s = P:tensor { domain = { t, b }, shape = { 4 } }
    s[{ t = 0 }] = P:input("first", { domain = { b }, shape = { 4 } })
    local y = s:matmul(w):tanh()
    s[{ t = t + 1 }] = s * 0.5 + y
    local seen
    P:sink({ y:sum() }, function(a, p) seen[#seen + 1] = { p.t, p.b, a[1]:item() } end)
    local f = P:compile { outputs = { last = s[{ t = T - 1 }] }, tier = "interpreter" }
    assert.truthy(f:explain "schedule":find "tanh@%d+%[t, 0 %.%. B%] = matmul tanh")
    local inputs = { w = {}, first = {} }
    for i = 1, 4 do inputs.w[i] = { 0.1 * i, -0.2, 0.3, 0.05 * i } end
    for i = 1, 3 do inputs.first[i] = { i, -i, 0.5, 1 } end
    seen = {}
    f(inputs, { T = 5, B = 3 })
    local got = seen
    seen = {}
    P:compile { outputs = { last = s[{ t = T - 1 }] }, tier = "reference" }(inputs,
      { T = 5, B = 3 })
    assert.equal(15, #got)
    for n, x in ipairs(got) do
      assert.equal(math.floor((n - 1) / 3), x[1])
      assert.equal((n - 1) % 3, x[2])
      assert.is_true(math.abs(x[3] - seen[n][3]) < 1e-5)
    end
  end)
end)

describe("what runs at different speeds", function()
  -- w[i + 1] is made of the gradients at n * i .. n * i + n - 1, which read w[i].
  local function program(n)
    local P = tempo.program()
    local i = P:dim "i"
    local x = P:input("x", { domain = {i}, shape = {}, dtype = "f64" })
    local w = P:param("w", { along = {i}, shape = {}, dtype = "f64", init = 0.5 })
    local y = -w[{ i = tempo.floordiv(i, n) }]
    local loss = y * y * x
    w:update((w - tempo.grad(loss, { w })[1] * 0.1):tanh())
    return P, { y = y:sin() + y }
  end

  local function by_hand(n, x)
    local w, y = 0.5, {}
    local of = {}
    for i = 0, #x - 1 do
      of[i] = w
      local g = 0
      for k = n * i, math.min(n * i + n - 1, #x - 1) do g = g + 2 * w * x[k + 1] end
      w = w - 0.1 * g
      w = (math.exp(2 * w) - 1) / (math.exp(2 * w) + 1)
    end
    for i = 0, #x - 1 do
      local v = -of[math.floor(i / n)]
      y[i + 1] = math.sin(v) + v
    end
    return y
  end

  for _, n in ipairs { 2, 3, 5 } do
    it(("has an order, %d to 1, whatever passes have left"):format(n), function()
      local x = {}
      for k = 1, 23 do x[k] = math.cos(k) end
      local P, outputs = program(n)
      for _, options in ipairs { {}, { passes = { fold = false } }, { passes = "none" },
        { tier = "reference" } } do
        options.outputs, options.tier = outputs, options.tier or "interpreter"
        local f = P:compile(options)
        for _, T in ipairs { 0, 1, 2, 7, 23 } do
          local part = {}
          for k = 1, T do part[k] = x[k] end
          helper.same(by_hand(n, part), f({ x = tempo.array(part, "f64", { T }) }, { I = T }).y,
            1e-12)
        end
      end
    end)
  end
end)

describe("a recurrence of which no dim is legal alone", function()
  it("has loops that isl skews", function()
    local P = tempo.program()
    local i, I = P:dim "i"
    local j, J = P:dim "j"
    local x = P:input("x", { domain = { i, j }, dtype = "f64" })
    local h = P:tensor { domain = { i, j }, dtype = "f64" }
    for _, border in ipairs { i:lt(1), i:ge(I - 1), j:lt(1), j:ge(J - 2) } do h:when(border, x) end
    h:otherwise(x + 0.5 * h[{ i = i - 1, j = j + 2 }] + 0.25 * h[{ i = i + 1, j = j - 1 }])
    local f = interpreter(P, { h = h })
    for _, size in ipairs { { 1, 1 }, { 3, 4 }, { 5, 6 }, { 9, 17 } } do
      local rows, want, known = {}, {}, {}
      for a = 0, size[1] - 1 do
        rows[a + 1], want[a + 1] = {}, {}
        for b = 0, size[2] - 1 do rows[a + 1][b + 1] = math.sin(1 + 3 * a + b) end
      end
      local function value(a, b)
        local at = a * size[2] + b
        if not known[at] then
          known[at] = rows[a + 1][b + 1]
          if a > 0 and a < size[1] - 1 and b > 0 and b < size[2] - 2 then
            known[at] = known[at] + 0.5 * value(a - 1, b + 2) + 0.25 * value(a + 1, b - 1)
          end
        end
        return known[at]
      end
      for a = 0, size[1] - 1 do for b = 0, size[2] - 1 do want[a + 1][b + 1] = value(a, b) end end
      helper.same(want, f({ x = tempo.array(rows, "f64") }, { I = size[1], J = size[2] }).h, 1e-12)
    end
  end)
end)

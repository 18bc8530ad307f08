-- Storage: what is kept is what one would keep by hand, at several bounds, and numbers are the
-- reference's.
local tempo = require "tempo"
local helper = require "spec.helper"

local F32 = 4

-- The slots of every stored tensor's dims as explain has them: { ["grad of w"] = "i: 1, l: 1" }.
local function slots(f)
  local t = {}
  for name, dims in f:explain "storage":gmatch "temp ([^\n]-) %(([^\n]-)%);" do t[name] = dims end
  return t
end

-- A matrix a layer, residual; the optimiser's states are dims (i, l) too.
local function layers(optimiser)
  local P = tempo.program { seed = 3 }
  local i = P:dim "i"
  local l, L = P:dim "l"
  local x = P:input("x", { domain = { i }, shape = { 8, 16 } })
  local y = P:input("y", { domain = { i }, shape = { 8, 16 } })
  local init = tempo.normal({ 16, 16 }, { name = "n", domain = { l } }) * 0.2
  local w = P:param("w", { along = { i }, domain = { l }, shape = { 16, 16 }, init = init })
  local h = P:tensor { domain = { i, l }, shape = { 8, 16 } }
  h[{ l = 0 }] = x
  h[l + 1] = h:matmul(w):tanh() + h
  local loss = (h[{ l = L - 1 }] - y):square():mean()
  tempo.optim[optimiser]({ w }, { lr = 0.1 }):step(loss)
  return P, { loss = loss }
end

-- h[t] of 16 numbers; what of h the loss reads.
local function through_time(read, activation)
  activation = activation or "tanh"
  local P = tempo.program { seed = 4 }
  local i = P:dim "i"
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 16 } })
  local w = P:param("w",
    { along = { i }, shape = { 16, 16 }, init = tempo.normal({ 16, 16 }, { name = "w" }) * 0.1 })
  local h = P:tensor { domain = { i, t }, shape = { 16 } }
  h[{ t = 0 }] = tempo[activation](x:matmul(w))
  h:otherwise(tempo[activation](h[{ t = t - 1 }]:matmul(w) + x))
  local loss = read(h, t, T)
  tempo.optim.SGD({ w }, { lr = 0.1 }):step(loss)
  return P, { loss = loss }
end

local function same_as_reference(P, outputs, inputs, bounds)
  helper.run(P, outputs, inputs, bounds, { tol = 1e-4 })
end

describe("layers as a dim", function()
  local r = helper.rng(1)
  for optimiser, states in pairs { SGD = 1, Adam = 3 } do
    it("keep weights, states and activations once, with " .. optimiser, function()
      local P, outputs = layers(optimiser)
      local f = P:compile { outputs = outputs }
      local layer = F32 * (states * 16 * 16 + 2 * 8 * 16)
      assert.equal(layer * 60, f:memory { I = 50, L = 64 } - f:memory { I = 50, L = 4 })
      assert.is_true(f:memory { I = 50, L = 64 } < 64 * layer + 8 * 1024)
      assert.equal(f:memory { I = 50, L = 64 }, f:memory { I = 5000, L = 64 })
    end)

    it("compute what the reference does, with " .. optimiser, function()
      local P, outputs = layers(optimiser)
      local inputs = { x = helper.random(r, { 3, 8, 16 }, "f32"),
        y = helper.random(r, { 3, 8, 16 }, "f32") }
      for L = 1, 4 do same_as_reference(P, outputs, inputs, { I = 3, L = L }) end
    end)
  end

  it("have a gradient of one layer at a time, zeroed in the backward loop", function()
    local P, outputs = layers "SGD"
    local s = slots(P:compile { outputs = outputs })
    assert.equal("i: 1, l: 1", s["grad of w"])
    assert.equal("i: 1, l: L", s.w)
    for name, dims in pairs(s) do
      if name:find "^grad" then assert.falsy(dims:find "L", name .. " has " .. dims) end
    end
  end)

  it("take no loop in blocks where each layer has its own matrix", function()
    local P, outputs = layers "SGD"
    assert.is_nil(P:compile { outputs = outputs }:explain "schedule":find("//", 1, true))
  end)
end)

describe("backpropagation through time", function()
  local r = helper.rng(2)
  local losses = {
    ["of the last state"] = function(h, _, T) return h[{ t = T - 1 }]:square():sum() end,
    ["of every state"] = function(h, _, T) return h:square():sum()[{ t = 0 .. T }]:sum(0) end,
    ["of several points and a mean"] = function(h, _, T)
      return h[{ t = T - 1 }]:square():mean() + h[{ t = 0 }]:sum() + h[{ t = T:floordiv(2) }]:sum(
        ) + h[{ t = 0 .. T }]:mean(0):sum()
    end,
  }
  for name, read in pairs(losses) do
    it("keeps each state once and no gradient, of a loss " .. name, function()
      local P, outputs = through_time(read)
      local f = P:compile { outputs = outputs }
      assert.equal(F32 * 16 * 3000, f:memory { I = 2, T = 4000 } - f:memory { I = 2, T = 1000 })
      assert.equal(f:memory { I = 2, T = 1000 }, f:memory { I = 200, T = 1000 })
    end)

    it("computes what the reference does, of a loss " .. name, function()
      local P, outputs = through_time(read)
      for _, T in ipairs { 1, 2, 3, 9 } do
        same_as_reference(P, outputs, { x = helper.random(r, { T, 16 }, "f32") }, { I = 3, T = T })
      end
    end)
  end

  it("keeps of a relu what it gives, and not where it was 0", function()
    local P, outputs = through_time(losses["of the last state"], "relu")
    local f = P:compile { outputs = outputs }
    assert.equal(F32 * 16 * 3000, f:memory { I = 2, T = 4000 } - f:memory { I = 2, T = 1000 })
    same_as_reference(P, outputs, { x = helper.random(r, { 9, 16 }, "f32") }, { I = 3, T = 9 })
  end)
end)

describe("gradients of ranges", function()
  local D = 4
  local reads = {
    prefix = function(k, q, t) return k[0 .. t + 1]:matmul(q):softmax(0):matmul(k[0 .. t + 1]) end,
    suffix = function(k, q, t, T) return k[t .. T]:matmul(q):softmax(0):matmul(k[t .. T]) end,
    half = function(k, q, t)
      return k[t:floordiv(2) .. t + 1]:matmul(q):softmax(0):matmul(k[t:floordiv(2) .. t + 1])
    end,
    window = function(k, q, t)
      local past = tempo.range(tempo.max(0, t - 2), t + 1)
      return k[past]:matmul(q):softmax(0):matmul(k[past])
    end,
  }
  local function make(read)
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { D } })
    local w = P:input("w", { shape = { D, D } })
    local k = x:matmul(w)
    local g = tempo.grad(read(k, (x * 2):sin(), t, T):square():sum(), { x, w })
    return P, { x = g[1], w = g[2] }
  end

  for name, read in pairs(reads) do
    it("are the reference's: " .. name, function()
      local r = helper.rng(5)
      local P, outputs = make(read)
      for _, n in ipairs { 1, 2, 7 } do
        local inputs = { x = helper.random(r, { n, D }, "f32"),
          w = helper.random(r, { D, D }, "f32") }
        same_as_reference(P, outputs, inputs, { T = n })
      end
    end)
  end

  it("of attention are added up where they are made: no point keeps a row for each other point",
    function()
    for _, name in ipairs { "prefix", "suffix" } do
      local P, outputs = make(reads[name])
      local text = P:compile { outputs = outputs }:explain "storage"
      assert.is_nil(text:find("f32[T, 4]", 1, true), text)
    end
  end)
end)

describe("windows", function()
  local function decoder(window)
    local P = tempo.program()
    local t, T = P:dim "t"
    local n = P:bound "n"
    local x = P:tensor { domain = { t }, shape = { 16 } }
    local h = x
    for layer = 1, 3 do
      local w = P:input("w" .. layer, { shape = { 16, 16 } })
      local k, past = h:matmul(w), window and tempo.range(tempo.max(0, t - n + 1), t + 1)
        or tempo.range(0, t + 1)
      h = (k[past]:matmul(h):softmax(0):matmul(k[past]) + h):tanh()
    end
    x[0] = tempo.ones { 16 }
    x[t + 1] = h
    return P:compile { outputs = { y = h[T - 1] } }
  end

  it("keep a ring for each tensor, and one window at a time for all", function()
    local f = decoder(true)
    local function at(n) return f:memory { T = 10000, n = n } end
    local row = F32 * 16
    assert.equal(at(64), f:memory { T = 100, n = 64 })
    assert.is_true(at(1024) - at(64) <= 960 * (4 * row + 4 * F32))
  end)
end)

-- A part that a condition leaves out is not kept, and strides in a condition make no ring a whole
-- array.
describe("windows read under a condition", function()
  local max, min, range = tempo.max, tempo.min, tempo.range
  local ROW = 4 * F32

  -- A recurrence x, and h whose branches read it; { T, W, V } are the bounds, V only where a case
  -- reads it.
  local function program(case)
    local P = tempo.program()
    local t, T = P:dim "t"
    local W, V = P:bound "W", case.V and P:bound "V"
    local s = P:input("s", { domain = { t }, shape = { 4 } })
    local x = P:tensor { domain = { t }, shape = { 4 }, name = "x" }
    x[0] = s
    x:otherwise((x[t - 1] * 0.5 + s):tanh())
    if case.stop then P:stop(t, x:sum():gt(case.stop)) end
    local h = P:tensor { domain = { t }, shape = { 4 }, name = "h" }
    local function spread(window) return (window - x):abs():max(0) end
    local all = case[2](h, x, t, spread, W, T, V)
    if not all then h:otherwise(x) end
    return P, { y = (all or h)[range(0, T)]:sum(0) }
  end

  local function past(x, t, n) return x[range(max(0, t - n + 1), t + 1)] end
  -- A name, branches of h, and the points of x that one would keep by hand.
  local cases = {
    { "every fourth point", function(h, x, t, spread, W)
      h:when((t % 4):eq(0), spread(past(x, t, W)))
    end, function(W) return W end },
    { "every fourth point, summed", function(h, x, t, _, W)
      h:when((t % 4):eq(3), past(x, t, W):sum(0))
    end, function(W) return W end },
    { "with an end by data", function(h, x, t, spread, W)
      h:when((t % 4):eq(0), spread(past(x, t, W)))
    end, function(W) return W end, stop = 2.5 },
    { "from a bound on", function(h, x, t, spread, W)
      h:when((t % 4):eq(0):land(t:ge(W)), spread(x[range(t - W, t + 1)]))
    end, function(W) return W + 1 end },
    { "two strides", function(h, x, t, spread, W)
      h:when((t % 2):eq(0), spread(past(x, t, W)))
      h:when((t % 3):eq(0), spread(past(x, t, 2 * W)))
    end, function(W) return 2 * W end },
    { "where two strides are not", function(h, x, t, spread, W)
      h:when((t % 4):ne(0):land((t % 6):ne(0)), spread(past(x, t, W)))
    end, function(W) return W end },
    { "one point of it", function(h, x, t, _, W)
      h:when((t % 4):eq(0):land(t:ge(2 * W)), x[t - 2 * W])
    end, function(W) return 2 * W + 1 end },
    { "into the future", function(h, x, t, spread, W, T)
      h:when((t % 4):eq(0), spread(x[range(t, min(T, t + W))]))
    end, function(W) return W end },
    { "both ways", function(h, x, t, spread, W, T)
      h:when((t % 4):eq(0), spread(x[range(max(0, t - W), min(T, t + W))]))
    end, function(W) return 2 * W + 2 end },
    { "into the future, with an end by data", function(h, x, t, spread, W, T)
      h:when((t % 4):eq(0), spread(x[range(t, min(T, t + W))]))
    end, function(W) return W end, stop = 1.5 },
    { "both ways, with an end by data", function(h, x, t, spread, W, T)
      h:when((t % 4):eq(0), spread(x[range(max(0, t - W), min(T, t + W))]))
    end, function(W) return 2 * W + 2 end, stop = 1.5 },
    { "at each point into the future, with an end by data", function(_, x, t, spread, W, T)
      return spread(x[range(t, min(T, t + W))]) * x + x[range(t, min(T, t + W))]:sum(0)
    end, function(W) return 2 * W end, stop = 1.5 },
    { "a prefix, up to a bound", function(h, x, t, spread, W)
      h:when(t:lt(W), spread(x[range(0, t + 1)]))
    end, function(W) return W end },
    { "a prefix, up to a bound, with an end by data", function(h, x, t, spread, W)
      h:when(t:lt(W), spread(x[range(0, t + 1)]))
    end, function(W) return W end, stop = 1.5 },
    { "a prefix, then a window", function(h, x, t, _, W)
      h:when(t:lt(W), (x[range(0, t + 1)] - x):softmax(0):cumsum(0):max(0))
      h:when((t % 3):eq(0), (x[range(t - W, t + 1)] - x):softmax(0):cumsum(0):max(0))
    end, function(W) return 4 * W end },
    { "a suffix, from a bound on", function(h, x, t, spread, W, T)
      h:when(t:ge(T - W), spread(x[range(t, T)]))
    end, function(W) return W end },
    { "of a number", function(h, x, t, spread)
      h:when((t % 4):eq(0), spread(past(x, t, 7)))
    end, function() return 7 end, plain = true },
    { "the lesser of two bounds", function(h, x, t, spread, W, _, V)
      h:when((t % 4):eq(0), spread(past(x, t, min(W, V))))
    end, function(W, V) return math.min(W, V) end, V = true },
    { "the greater of two bounds", function(h, x, t, spread, W, _, V)
      h:when((t % 4):eq(0), spread(past(x, t, max(W, V))))
    end, function(W, V) return math.max(W, V) end, V = true },
    { "the sum of two bounds", function(h, x, t, spread, W, _, V)
      h:when((t % 4):eq(0), spread(x[range(max(0, t - W - V + 1), t - min(t, V) + 1)]))
    end, function(W, V) return W + V end, V = true },
    { "half a bound", function(h, x, t, spread, W)
      h:when((t % 4):eq(0), spread(past(x, t, tempo.floordiv(W, 2))))
    end, function(W) return math.floor(W / 2) end, least = 2 },
  }

  for _, case in ipairs(cases) do
    local function bounds(T, W, V)
      return { T = T, W = not case.plain and W or nil, V = case.V and V or nil }
    end

    it("keep what they reach: " .. case[1], function()
      local P, outputs = program(case)
      local f = P:compile { outputs = outputs, tier = "interpreter" }
      for W = 20, 60, 40 do
        local kept = case[3](W, 30)
        local least, more = f:memory(bounds(1000, W, 30)), f:memory(bounds(3000, W, 30))
        assert.equal(least, more)
        -- x, h beside it where it has to wait, copies of the windows
        assert.is_true(more <= ROW * 4 * (kept + 8), ("%d for %d points"):format(more, kept))
      end
    end)

    it("read what was written: " .. case[1], function()
      local P, outputs = program(case)
      local r = helper.rng(3)
      local function compile(tier) return P:compile { outputs = outputs, tier = tier } end
      local reference, others = compile "reference", { compile "interpreter", compile "native" }
      for _, T in ipairs { 1, 2, 6, 31 } do
        local x = { s = helper.random(r, { T, 4 }, "f32") }
        for W = case.least or 1, 11, 5 do
          local want = reference(x, bounds(T, W, 4)).y:totable()
          for _, f in ipairs(others) do helper.same(want, f(x, bounds(T, W, 4)).y) end
        end
      end
    end)
  end
end)

describe("windows of which rows are picked", function()
  -- Rows that data names, and rows that index expressions name, of the last n points of h.
  local function picked(batch)
    local P = tempo.program()
    local b = batch and P:dim "b"
    local t = P:dim "t"
    local n = P:bound "n"
    local dims = batch and { b, t } or { t }
    local x = P:input("x", { domain = dims, shape = { 2, 5 } })
    local k = P:input("k", { domain = dims, shape = { 3 }, dtype = "i64" })
    local h = P:tensor { domain = dims, shape = { 2, 5 }, name = "h" }
    h[{ t = 0 }] = x
    h:otherwise(h[{ t = t - 1 }] * 0.5 + x)
    local last = h[{ t = tempo.max(0, t - n + 1) .. t + 1 }]
    local size = tempo.min(t + 1, n)
    return P, {
      rows = last:index_select(0, k % size:value()),
        one = last:index_select(0, k:select(0, 1) % size:value()),
      first = last:select(0, 0), mid = last:select(0, tempo.floordiv(size, 2)),
        turned = last:slice(0, 0, 1):mT(),
    }
  end

  for name, batch in pairs { ["one row"] = false, ["rows of a batch"] = true } do
    it("are not copied: " .. name, function()
      local P, outputs = picked(batch)
      local f = P:compile { outputs = outputs }
      assert.is_nil(f:explain "storage":find "temp read")
      local function room(n)
        return f:memory(batch and { B = 4, T = 4000, n = n } or { T = 4000, n = n })
      end
      local row = F32 * 10 * (batch and 4 or 1)
      assert.is_true(room(1000) - room(10) <= 990 * row + 64)
      local r = helper.rng(5)
      for _, n in ipairs { 1, 2, 4, 20 } do
        for T = 0, 9, 3 do
          local lead = batch and { 3, T } or { T }
          local function shape(...)
            return { lead[1], lead[2] or ..., select(lead[2] and 1 or 2, ...) }
          end
          local k = tempo.array(helper.fill(shape(3), function()
            return math.floor(r() * 100)
          end), "i64", shape(3))
          helper.run(P, outputs, { x = helper.random(r, shape(2, 5), "f32"), k = k },
            batch and { B = 3, T = T, n = n } or { T = T, n = n })
        end
      end
    end)
  end
end)

describe("windows that are multiplied", function()
  -- Products with the last n points of h in every role: columns, sums, rows, a batch; and with
  -- another window of as many.
  local function multiplied(dtype, batch)
    local P = tempo.program()
    local b = batch and P:dim "b"
    local t = P:dim "t"
    local n = P:bound "n"
    local dims = batch and { b, t } or { t }
    local x = P:input("x", { domain = dims, shape = { 3, 8 }, dtype = dtype })
    local q = P:input("q", { shape = { 3, 8, 4 }, dtype = dtype })
    local each = P:input("each", { shape = { n, 8, 4 }, dtype = dtype })
    local h = P:tensor { domain = dims, shape = { 3, 8 }, dtype = dtype, name = "h" }
    local g = P:tensor { domain = dims, shape = { 3, 8 }, dtype = dtype, name = "g" }
    local last = h[{ t = tempo.max(0, t - n + 1) .. t + 1 }]
    local other = g[{ t = tempo.max(0, t - n + 1) .. t + 1 }]
    local size = tempo.min(t + 1, n)
    local function ends(y, axis) return y:select(axis, 0) + 2 * y:select(axis, size - 1) end
    local scores = tempo.einsum("rd,mrd->rm", x, last)
    local outputs = {
      columns = ends(scores, 1), sums = tempo.einsum("rm,mrd->rd", scores, last),
        rows = ends(tempo.einsum("mrd,rde->rme", last, q), 1),
      terms = tempo.einsum("mrd,rme->rde", last,
        scores:unsqueeze(-1) * q:select(1, 0):unsqueeze(1)),
      batch = ends(tempo.einsum("mrd,mde->mre", last, each:slice(0, 0, size)), 0),
    }
    local copied = { sums = tempo.einsum("mrd,mre->rde", last, other),
      rows = ends(tempo.einsum("mrd,msd->mrs", last, other), 0) }
    -- The next step waits for every product, and none of them ever is that large.
    local function after(all)
      local wait = 0
      for _, y in pairs(all) do wait = wait + y:max():gt(1e18):to(dtype) end
      return wait
    end
    h[{ t = 0 }], g[{ t = 0 }] = x, x * 2
    local part = dtype == "i64" and 1 or 0.5
    h:otherwise(x + (h:flip(0) * part + after(outputs))[{ t = t - 1 }])
    g:otherwise(x - (g * part + after(copied))[{ t = t - 1 }])
    return P, outputs, copied, last:sort(0):sum(0)
  end

  local function inputs(dtype, batch, T, n)
    local r = helper.rng(5)
    local function some(...)
      if dtype ~= "i64" then return helper.random(r, { ... }, dtype) end
      return tempo.array(helper.fill({ ... }, function()
        return math.floor(r() * 9) - 4
      end), dtype, { ... })
    end
    return { x = batch and some(2, T, 3, 8) or some(T, 3, 8), q = some(3, 8, 4),
      each = some(n, 8, 4) }, { T = T, n = n, B = batch and 2 or nil }
  end

  local function agree(P, outputs, dtype, batch)
    local f, tol = {}, dtype == "f16" and 1e-2 or 1e-4
    for _, tier in ipairs { "reference", "interpreter", "native" } do
      f[tier] = P:compile { outputs = outputs, tier = tier }
    end
    for _, n in ipairs { 1, 3, 20 } do
      for _, T in ipairs { 0, 1, 9 } do
        local given, bounds = inputs(dtype, batch, T, n)
        local want, got, native = f.reference(given, bounds), f.interpreter(given, bounds),
          f.native(given, bounds)
        for name, y in pairs(want) do
          helper.same(y:totable(), got[name], tol)
          helper.same(got[name]:totable(), native[name], 0)
        end
      end
    end
  end

  for _, dtype in ipairs { "f32", "f64", "f16", "i64" } do
    for name, batch in pairs { ["a row"] = false, ["a batch"] = true } do
      -- All dtypes go the same ways: both of f32, one of each other.
      local tag = dtype ~= "f32" and batch == (dtype ~= "i64") and " #long"
      it(("lie on their ring: %s, %s"):format(dtype, name) .. (tag or ""), function()
        local P, outputs, copied = multiplied(dtype, batch)
        local f = P:compile { outputs = outputs }
        assert.is_nil(f:explain "storage":find "temp read")
        assert.is_truthy(f:explain "plan":find("op matmul[^\n]+; wrap"))
        agree(P, outputs, dtype, batch)
        agree(P, copied, dtype, batch)
      end)
    end
  end

  it("need no more memory than their ring", function()
    local P, outputs = multiplied("f32")
    local f = P:compile { outputs = { sums = outputs.sums } }
    local row = 24 + 3 + 3 * 12                         -- h, scores, and three products' rows of 12
    assert.is_true(f:memory { T = 4000, n = 1000 } - f:memory { T = 4000,
      n = 10 } <= 990 * F32 * row + 256)
  end)

  it("are added up in the order of the whole where that is promised", function()
    local P, outputs, _, most = multiplied("f32")
    local function sums(whole, n)
      local f = P:compile { outputs = { sums = outputs.sums, whole = whole }, reproducible = true }
      assert.equal(whole ~= nil, f:explain "storage":find "temp read" ~= nil)
      return f(inputs("f32", false, 200, n)).sums:totable()
    end
    for _, n in ipairs { 7, 150 } do assert.same(sums(most, n), sums(nil, n)) end
  end)

  it("are copied where that is all a few numbers take", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local h = P:tensor { domain = { t }, shape = { 4 } }
    for k = 0, 3 do h[k] = tempo.ones { 4 } end
    local last = h[t - 4 .. t]
    h[t] = last:matmul(h[t - 1]):matmul(last) * 0.1
    assert.is_truthy(P:compile { outputs = { y = h[T - 1] } }:explain "storage":find "temp read")
  end)
end)

describe("an output from one point of a loop", function()
  it("keeps nothing of the others", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local l = P:dim "l"
    local c = P:tensor { domain = { t, l }, shape = { 8 } }
    c[{ t = 0 }] = tempo.ones { 8 }
    c[t + 1] = (c * 0.5 + l:value()):sin()
    local last = (c * 3):exp()[{ t = T - 1 }]
    local f = P:compile { outputs = { y = last } }
    assert.equal(f:memory { T = 10, L = 100 }, f:memory { T = 1000, L = 100 })
    for n = 1, 3 do helper.run(P, { y = last }, {}, { T = n, L = 3 }) end
  end)

  it("is a state's new value: unrolled parameters keep no second copy of Adam's moments", function()
    local P = tempo.program()
    local i = P:dim "i"
    local x = P:input("x", { domain = { i }, shape = { 32 } })
    local h, w = x, {}
    for k = 1, 10 do
      w[k] = P:param("w" .. k,
        { along = { i }, shape = { 32, 32 }, init = tempo.normal({ 32, 32 }, { name = "n" .. k }) })
      h = h:matmul(w[k]):tanh()
    end
    tempo.optim.Adam(w, { lr = 0.01 }):step(h:square():sum())
    local f = P:compile { outputs = { y = h:sum() } }
    assert.is_true(f:memory { I = 9 } < F32 * 32 * 32 * (3 * 10 + 9))
    helper.run(P, { y = h:sum() }, { x = helper.random(helper.rng(3), { 4, 32 }, "f32") },
      { I = 4 }, { tol = 1e-2 })
  end)
end)

describe("an optimiser's states", function()
  -- A program keeps a matrix, its moments, its gradient, and the target that follows it.
  local function program(rule, options, target)
    local P = tempo.program { seed = 5 }
    local i = P:dim "i"
    local x = P:input("x", { domain = { i }, shape = { 4, 128 } })
    local net = tempo.nn.Linear(P, 128, 128, { name = "net", along = { i } })
    local loss = net(x):square():mean()
    tempo.optim[rule](net, options):step(loss)
    return P, { loss = loss, q = target and net:target(target)(x):sum() or nil }
  end
  local MATRIX = F32 * 128 * 128
  local cases = {
    { "SGD", { lr = 0.1 }, 2 }, { "SGD", { lr = 0.1, momentum = 0.9 }, 3 },
    { "SGD", { lr = 0.1, momentum = 0.9, clip_norm = 1 }, 3 },
      { "SGD", { lr = 0.1, momentum = 0.9, nesterov = true }, 3 },
    { "RMSProp", { lr = 0.1, clip_norm = 1 }, 3 }, { "RMSProp", { lr = 0.1, momentum = 0.5 }, 4 },
    { "Adam", { lr = 0.1, clip_norm = 1 }, 4 }, { "AdamW", { lr = 0.1 }, 4 },
    { "SGD", { lr = 0.1, momentum = 0.9 }, 4, { tau = 0.1 } },
      { "Adam", { lr = 0.1, clip_norm = 1 }, 5, { tau = 0.1 } },
    { "Adam", { lr = 0.1 }, 5, { every = 3 } },
  }
  it("see a gradient as it lies: the product that makes it is made turned", function()
    local P = tempo.program { seed = 5 }
    local i = P:dim "i"
    local x, y = P:input("x", { domain = { i }, shape = { 4, 64 } }),
      P:input("y", { domain = { i }, shape = { 4, 48 } })
    local net = tempo.nn.Linear(P, 64, 48, { name = "net", along = { i } })
    tempo.optim.Adam(net, { lr = 0.1, clip_norm = 1 }):step((net(x):tanh() - y):square():mean())
    local outputs = { q = net(x):sum() }
    local plan = P:compile { outputs = outputs, tier = "interpreter" }:explain "plan"
    assert.truthy(
      plan:find "op matmul {what \"grad of net.weight\"} out b%d+{0; box 48, 64 by 64, 1}")
    for line in plan:gmatch "[^\n]+" do
      if line:find("loop over", 1, true) then
        assert.falsy(line:find("lead 1, 48", 1, true), line)
      end
    end
    local r = helper.rng(3)
    helper.run(P, outputs,
      { x = helper.random(r, { 5, 4, 64 }, "f32"), y = helper.random(r, { 5, 4, 48 }, "f32") },
      { I = 5 }, { tol = 1e-2 })
  end)

  for n, c in ipairs(cases) do
    it(("lie there once: %s, %d"):format(c[1], n), function()
      local P, outputs = program(c[1], c[2], c[4])
      local kept = P:compile { outputs = outputs }:memory { I = 9 }
      assert.is_true(kept < (c[3] + 0.5) * MATRIX,
        ("%d bytes, %.2f matrices"):format(kept, kept / MATRIX))
      helper.run(P, outputs, { x = helper.random(helper.rng(3), { 7, 4, 128 }, "f32") }, { I = 7 },
        { tol = 1e-2 })
    end)
  end
end)

-- h[t] made of h[t-1] by `step(h, k, v, t, n)`: k is an index below 6, v is of shape {1}, h of {n},
-- 6.
local function carried(step, n)
  n = n or 6
  local P = tempo.program()
  local t, T = P:dim "t"
  local k = P:input("k", { domain = { t }, dtype = "i64" })
  local v = P:input("v", { domain = { t }, shape = { 1 } })
  local h = P:tensor { domain = { t }, shape = { n }, name = "h" }
  h[0] = n == 6 and tempo.arange(6) * 0.25 or tempo.zeros { n }
  h[t] = step(h[t - 1], k, v, t, n)
  return P, { y = h[T - 1] }
end

describe("a state that changes in part", function()
  local inputs = {
    k = tempo.array({ 3, 0, 5, 3, 3, 1, 2 }, "i64"),
      v = tempo.array({ { 1 }, { -2 }, { 0.5 }, { 4 }, { 1 / 3 }, { 1e8 }, { 2 } }, "f32"),
  }
  local function both(P, outputs)
    for T = 1, 7 do
      local part = { k = tempo.array({ table.unpack(inputs.k:totable(), 1, T) }, "i64"),
        v = tempo.array({ table.unpack(inputs.v:totable(), 1, T) }, "f32") }
      helper.run(P, outputs, part, { T = T }, { tol = 1e-5 })
    end
  end

  local once = {
    ["a where"] = function(h, k, v) return tempo.where(tempo.arange(6):eq(k), v, h) end,
    ["a scatter"] = function(h, k, v) return h:scatter_add(0, k:unsqueeze(0), v) end,
    ["the same place twice"] = function(h, k, v)
      return h:scatter_add(0, tempo.stack({ k, k }, 0), tempo.cat({ v, v * 3 }, 0))
    end,
    ["an element between the others, t % 6"] = function(h, _, v, t)
      return tempo.cat({ h:slice(0, 0, t % 6), v, h:slice(0, t % 6 + 1, 6) }, 0)
    end,
    ["two elements between the others"] = function(h, _, v)
      return tempo.cat({ h:slice(0, 0, 1), v, h:slice(0, 2, 4), h:slice(0, 0, 1) + 1,
        h:slice(0, 5, 6) }, 0)
    end,
    ["its first and its last in each other's place"] = function(h)
      return tempo.cat({ h:slice(0, 5, 6), h:slice(0, 1, 5), h:slice(0, 0, 1) }, 0)
    end,
    ["its parts and one from elsewhere"] = function(h, _, _, t)
      return tempo.cat({ h:slice(0, 0, t % 6), h:slice(0, 0, 1), h:slice(0, t % 6 + 1, 6) }, 0)
    end,
    ["nothing but its parts"] = function(h)
      return tempo.cat({ h:slice(0, 0, 2), h:slice(0, 2, 6) }, 0)
    end,
    ["products of it"] = function(h, _, v)
      return (h:matmul(tempo.ones { 6, 6 } * 0.1) + h + v):tanh()
    end,
    ["products alone"] = function(h) return h:matmul(tempo.ones { 6, 6 } * 0.1) end,
    ["itself turned round, made before"] = function(h, _, v) return (h + v):flip(0) end,
  }
  for name, step in pairs(once) do
    it("lies there once: " .. name, function()
      local P, outputs = carried(step)
      assert.equal("t: 1", slots(P:compile { outputs = outputs }).h)
      both(P, outputs)
    end)
  end

  local function put(h, k, v, n)
    return tempo.where(tempo.arange({ n }, { dtype = "i64" }):eq(k), v, h)
  end
  local function among(h, k, v, n)
    return tempo.cat({ h:slice(0, 0, k), v, h:slice(0, k + 1, n) }, 0)
  end
  local rows = {
    ["a where of a where"] = function(h, k, v, _, n)
      return put(put(h, k, v, n), 5 - k, v * 2, n)
    end,
    ["a dozen of them"] = function(h, k, v, _, n)
      for i = 1, 12 do h = put(h, k * i % 6, v * i, n) end
      return h
    end,
    ["two that change places"] = function(h, k, _, t, n)
      local a, b = h:index_select(0, k:reshape { 1 }), h:select(0, t % 6)
      return put(put(h, k, b, n), t % 6, a, n)
    end,
    ["a scatter of a scatter"] = function(h, k, v)
      return h:scatter_add(0, k:unsqueeze(0), v):scatter_add(0, 5 - k:unsqueeze(0),
        v + h:select(0, 2))
    end,
    ["an element of an element between the others"] = function(h, _, v, t, n)
      return among(among(h, t % 6, v, n), (t + 2) % 6, h:slice(0, 0, 1), n)
    end,
    ["a where of an element between the others"] = function(h, k, v, t, n)
      return put(among(h, t % 6, v, n), k, h:max(), n)
    end,
    ["a scatter of what was made less"] = function(h, k, v)
      return (h * 0.5):scatter_add(0, k:unsqueeze(0), v)
    end,
    ["a where of what was made less"] = function(h, k, v, _, n) return put(h * 0.5, k, v, n) end,
    ["a where seen before the next one"] = function(h, k, v, t, n)
      local a = put(h, k, v, n)
      return put(a, t % 6, a:select(0, k) * 2 + 1, n)
    end,
    ["a where of an element of the one before"] = function(h, k, v, t, n)
      local a = put(h, k, v, n)
      return put(a, t % 6, a:select(0, 5), n)
    end,
    ["a stack's top two and what they make"] = function(h, k, v, _, n)
      local a = put(h, k, v, n)
      return put(a, (k + 1) % 6, a:select(0, k) + a:select(0, (k + 1) % 6), n)
    end,
    ["neighbours in order, one after the other"] = function(h, _, v, _, n)
      h = put(h, 0, v, n)
      for i = 0, 4 do
        local a, b = h:select(0, i), h:select(0, i + 1)
        h = put(put(h, i, tempo.minimum(a, b), n), i + 1, tempo.maximum(a, b), n)
      end
      return h
    end,
    ["two that change places, with a look between"] = function(h, k, v, t, n)
      local a, b = h:index_select(0, k:reshape { 1 }),
        h:index_select(0, t:value():reshape { 1 } % 6)
      local half = put(h, k, b + v, n)
      return put(half, t % 6, a + half:select(0, 3), n)
    end,
  }
  for name, step in pairs(rows) do
    it("lies there once, however many changes there are: " .. name, function()
      local P, outputs = carried(step)
      both(P, outputs)
      local n = 10000
      P, outputs = carried(step, n)
      local f = P:compile { outputs = { y = outputs.y:slice(0, 0, 1) } }
      assert.equal("t: 1", slots(f).h)
      assert.is_true(f:memory { T = 7 } < F32 * 1.5 * n)
    end)
  end

  local twice = {
    ["itself turned round"] = function(h) return h:flip(0) end,
    ["it and itself turned round"] = function(h, _, v) return (h:flip(0) + h * v):tanh() end,
    ["its halves in each other's place"] = function(h)
      return tempo.cat({ h:slice(0, 3, 6), h:slice(0, 0, 3) }, 0)
    end,
    ["itself, scattered into it"] = function(h, k)
      return h:scatter_add(0, tempo.cat({ k:unsqueeze(0), tempo.arange(5):to "i64" }, 0), h)
    end,
  }
  for name, step in pairs(twice) do
    it("lies there twice: " .. name, function()
      local P, outputs = carried(step)
      assert.equal("t: 2", slots(P:compile { outputs = outputs }).h)
      both(P, outputs)
    end)
  end
end)

-- Until its sum is there, a place holds the number of that sum: so these places hold such numbers,
-- as 2^-149 times a number has its bits.
describe("numbers added at places by data", function()
  local unit, n, many = 2 ^ -149, 40, 300
  for _, dtype in ipairs { "f32", "f64", "f16", "i64" } do
    it("may begin with any bits: " .. dtype, function()
      local one = ({ f32 = unit, f64 = unit, f16 = 2 ^ -24, i64 = 1 })[dtype]
      local base, want, at, more = { {}, {} }, { {}, {} }, {}, {}
      for row = 1, 2 do
        for k = 1, n do
          base[row][k] = (k + row) % 9 * one
          want[3 - row][k] = base[row][k]
        end
      end
      for k = 1, many do
        at[k], more[k] = k * 7 % n, k % 5 * one
        want[1][at[k] + 1] = want[1][at[k] + 1] + more[k]
      end
      local P = tempo.program()
      local x = P:input("x", { shape = { 2, n }, dtype = dtype }):flip(0)
      local k, v = P:input("k", { shape = { 1, many }, dtype = "i64" }),
        P:input("v", { shape = { 1, many }, dtype = dtype })
      local f = P:compile { outputs = { y = x:scatter_add(1, k, v) }, tier = "interpreter" }
      local y = f { x = tempo.array(base, dtype), k = tempo.array({ at }, "i64"),
        v = tempo.array({ more }, dtype) }.y
      assert.same(want, y:totable())
    end)
  end
end)

-- h, a state over (b, t) of shape {3, 4}, of which a choice changes a row or a column; k and v over
-- what a case says.
describe("a choice that changes a row of a state", function()
  local function program(choose, form)
    local P = tempo.program()
    local b = P:dim "b"
    local t, T = P:dim "t"
    local k = P:input("k", { domain = { b, t }, dtype = "i64" })
    local h = P:tensor { domain = { b, t }, shape = { 3, 4 }, name = "h" }
    local v = P:input("v", { domain = { t }, shape = { 3, 4 } })
    h[{ t = 0 }] = v[{ t = 0 }]
    h:otherwise(choose(h[{ t = t - 1 }], k, v, t, P))
    return P, { y = form == "all" and h or h[{ t = T - 1 }] }
  end
  local function run(P, outputs, passes)
    local r = helper.rng(7)
    for _, T in ipairs { 1, 2, 9 } do
      local k, v = {}, {}
      for i = 1, 2 do
        k[i] = {}
        for t = 1, T do k[i][t] = r(8) - 2 end
      end
      for t = 1, T do v[t] = helper.numbers({ 3, 4 }, r) end
      helper.run(P, outputs, { k = tempo.array(k, "i64"), v = tempo.array(v) }, { B = 2, T = T },
        { tol = 0, compile = { passes = passes } })
    end
  end
  local function rows(k, dtype)
    return tempo.arange({ 3 }, { dtype = dtype }):eq(k):reshape { 3, 1 }
  end

  local cases = {
    ["a row by a number of its own"] = function(h, k, v)
      return tempo.where(rows(k, "i64"), v:select(0, 0), h)
    end,
    ["numbers as floats"] = function(h, k, v) return tempo.where(rows(k), v:select(0, 1), h) end,
    ["the comparison the other way round"] = function(h, k, v)
      return tempo.where(k:eq(tempo.arange { 4 }), v:slice(1, 0, 1), h)
    end,
    ["only sometimes"] = function(h, k, v) return tempo.where(rows(k % 3):land(k:gt(0)), 7, h) end,
    ["bytes"] = function(h, k, v)
      return tempo.where(tempo.arange({ 4 }, { dtype = "u8" }):eq(k:to "u8"), v:slice(1, 0, 1), h)
    end,
  }
  for name, choose in pairs(cases) do
    it("writes it: " .. name, function()
      local P, outputs = program(choose)
      local f = P:compile { outputs = outputs, tier = "interpreter" }
      assert.truthy(f:explain "plan":find("op put", 1, true))
      assert.truthy(slots(f).h:find("t: 1", 1, true))
      run(P, outputs)
      assert.falsy(P:compile { outputs = outputs, tier = "interpreter",
        passes = { rows = false } }:explain "plan":find("op put", 1, true))
      run(P, outputs, { rows = false })
      run(program(choose, "all"))
    end)
  end

  local others = {
    ["two rows at a time"] = function(h, k, v)
      return tempo.where(rows(k):lor(rows(k + 1)), v, h)
    end,
    ["what is no state"] = function(h, k, v) return tempo.where(rows(k), v, v * 2) + h end,
    ["all rows from one on"] = function(h, k, v)
      return tempo.where(tempo.arange { 4 }:ge(k), v, h)
    end,
    ["more rows than the dtype has numbers"] = function(h, k, v)
      local many = tempo.arange({ 300 }, { dtype = "u8" }):eq(k:to "u8")
      return h + tempo.where(many, v:sum(), 0):sum() * 0
    end,
  }
  for name, choose in pairs(others) do
    it("goes over all of it: " .. name, function()
      local P, outputs = program(choose)
      assert.falsy(P:compile { outputs = outputs,
        tier = "interpreter" }:explain "plan":find("op put", 1, true))
      run(P, outputs)
    end)
  end
end)

-- Inputs and outputs over (b, t), t carried: in memory t lies inside.
describe("a recurrence over the inner dim of its arrays", function()
  local function program(o)
    local P = tempo.program()
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { b, t }, shape = o.shape, dtype = "f64" })
    local on = P:input("on", { domain = { b, t }, dtype = "bool" })
    local h = P:tensor { domain = { b, t }, shape = o.shape, dtype = "f64", name = "h" }
    if o.back then
      h[{ t = T - 1 }] = x
      h:otherwise(tempo.where(on, h[t + 1] * 0.5 + x, x))
    else
      h[{ t = 0 }] = x
      h:otherwise(tempo.where(on, h[t - 1] * 0.5 + x, x))
    end
    return P, { y = h, more = o.more and o.more(h, x, t, T, B) }
  end
  local function run(P, outputs, shape, tol)                -- elementwise: to the bit
    local r = helper.rng(11)
    for _, n in ipairs { { 1, 1 }, { 3, 2 }, { 2, 64 }, { 5, 65 }, { 2, 131 } } do
      local x, on = helper.numbers({ n[1], n[2], table.unpack(shape) }, r), {}
      for i = 1, n[1] do
        on[i] = {}
        for t = 1, n[2] do on[i][t] = r(4) > 0 end
      end
      helper.run(P, outputs, { x = tempo.array(x, "f64"), on = tempo.array(on, "bool") },
        { B = n[1], T = n[2] }, { tol = tol or 0 })
    end
  end

  for name, o in pairs { forwards = { shape = {} }, backwards = { shape = {}, back = true },
    ["of two numbers"] = { shape = { 2 } },
                         ["seen whole, too"] = { shape = {}, more = function(h, x, _, T)
                           return x[{ t = 0 .. T }]:mean(0) + h[{ t = T - 1 }]
                         end } } do
    it("goes by copies that lie as it does, a block long: " .. name, function()
      local P, outputs = program(o)
      local f = P:compile { outputs = outputs, tier = "interpreter" }
      local kept = slots(f)
      if not o.more then
        assert.equal("b: B, t: min(64, T)", kept.on)
        assert.equal("b: B, t: min(64, T)", kept.h)
        assert.equal(f:memory { B = 100, T = 1000 }, f:memory { B = 100, T = 10000 })
      end
      run(P, outputs, o.shape, o.more and 1e-12)
    end)
  end

  local as_they_are = {
    ["larger elements"] = { shape = { 8 } },
    ["what goes both ways"] = { shape = {}, more = function(h, _, t, T)
      local g = h:program():tensor { domain = h:domain(), dtype = "f64" }
      g[{ t = T - 1 }] = h
      g:otherwise(g[t + 1] + h)
      return g
    end },
  }
  for name, o in pairs(as_they_are) do
    it("leaves what would be kept whole as it lies: " .. name, function()
      local P, outputs = program(o)
      assert.is_nil(slots(P:compile { outputs = outputs, tier = "interpreter" }).x)
      run(P, outputs, o.shape)
    end)
  end

  -- Two floats and a bool a place, a block of them: strips are 2^18 bytes, an odd number of
  -- vectors.
  it("is gone through in strips of the outer dim", function()
    for _, tier in ipairs { "interpreter", "native" } do
      for _, back in ipairs { false, true } do
        local P, outputs = program { shape = {}, back = back }
        local f = P:compile { outputs = outputs, tier = tier }
        assert.is_truthy(f:explain("plan"):find("for strip = 0 .. (B + 239)//240 step 1", 1, true))
        assert.equal(f:memory { B = 240, T = 1000 }, f:memory { B = 10000, T = 1000 })
        for _, n in ipairs { { 239, 3 }, { 240, 64 }, { 241, 65 }, { 500, 140 } } do
          local B, T, x, on, want = n[1], n[2], {}, {}, {}
          for i = 1, B do
            x[i], on[i], want[i] = {}, {}, {}
            for t = 1, T do x[i][t], on[i][t] = i * 7 % 31 + t % 5, (i + t) % 6 > 0 end
            for k = 1, T do
              local t, before = back and T + 1 - k or k, want[i][back and T + 2 - k or k - 1]
              want[i][t] = before and on[i][t] and before * 0.5 + x[i][t] or x[i][t]
            end
          end
          local out = f({ x = tempo.array(x, "f64"), on = tempo.array(on, "bool") },
            { B = B, T = T })
          assert.same(want, out.y:totable())
        end
      end
    end
  end)

  it("stays a switch", function()
    local P, outputs = program { shape = {} }
    assert.is_nil(
      slots(P:compile { outputs = outputs, tier = "interpreter", passes = { layout = false } }).on)
  end)
end)

describe("a matrix that a recurrence multiplies by", function()
  -- Rows of h by w, whose numbers are small integers, so that no order of sums matters; and the
  -- last h, of plain loops.
  local function program(rows, seen)
    local P = tempo.program()
    local t, T = P:dim "t"
    local w = P:input("w", { shape = { 16, 16 }, dtype = "f64" }):name "w"
    local h = P:tensor { domain = { t }, shape = rows > 0 and { rows, 16 } or { 16 },
      dtype = "f64" }
    h[0] = rows > 0 and tempo.arange(rows * 16):to "f64":reshape { rows, 16 }
      or tempo.arange(16):to "f64"
    h[t] = seen(h[t - 1], w) % 7
    return P:compile { outputs = { y = h[T - 1] }, tier = "interpreter" }
  end
  local function by_hand(w, rows, turned, T)
    local h = {}
    for r = 1, math.max(rows, 1) do
      h[r] = {}
      for i = 1, 16 do h[r][i] = (r - 1) * 16 + i - 1 end
      for _ = 2, T do
        local n = {}
        for i = 1, 16 do
          n[i] = 0
          for k = 1, 16 do n[i] = n[i] + h[r][k] * (turned and w[i][k] or w[k][i]) end
          n[i] = n[i] % 7
        end
        h[r] = n
      end
    end
    return rows > 0 and h or h[1]
  end
  -- A case has so many rows, seen so: is it turned before the loop?
  local cases = {
    { 0, true, "x @ w:mT()", function(h, w) return h:matmul(w:mT()) end },
      { 0, true, "w @ x", function(h, w) return w:matmul(h) end },
    { 4, true, "rows @ w:mT()", function(h, w) return h:matmul(w:mT()) end },
      { 4, false, "rows @ w", function(h, w) return h:matmul(w) end },
    { 64, false, "many rows @ w:mT()", function(h, w) return h:matmul(w:mT()) end },
      { 0, false, "x @ w", function(h, w) return h:matmul(w) end },
    { 4, true, "(w @ rows:mT()):mT()", function(h, w) return w:matmul(h:mT()):mT() end },
  }
  for _, c in ipairs(cases) do
    it("is turned once where the product gains by that: " .. c[3], function()
      local f, w = program(c[1], c[4]), {}
      for i = 1, 16 do
        w[i] = {}
        for k = 1, 16 do w[i][k] = (i * 5 + k * 3 + i * k) % 4 end
      end
      local plan = f:explain "plan"
      local before, loop = plan:match "^(.-)\n *(for t%d* = .*)$"
      local copied =
        before:find("loop over | a0 = 0 for 16, a1 = 0 for 16 out b%d+{[^}]+} in b%d+{0; lead 1, 16}")
      assert.equal(c[2], copied ~= nil, plan)
      assert.is_nil(loop:find "a0 = 0 for 16, a1 = 0 for 16")
      local turned = c[3]:find("w:mT", 1, true) or c[3]:find("w @", 1, true)
      assert.same(by_hand(w, c[1], turned, 9),
        f({ w = tempo.array(w, "f64") }, { T = 9 }).y:totable())
    end)
  end
end)

describe("what is added to a part of a tensor", function()
  -- The gradient by x of sums of c * rows of x, over all points: rows(x, ..) says the rows,
  -- places(j, t) which elements (from 0) a point takes.
  local N = 12
  local cases = {
    ["a row of its own for each point"] = { function(x, j) return x:select(0, j) end,
      function(j) return { j } end, true },
    ["rows from the end"] = { function(x, j, _, J)
      return x:select(0, J - 1 - j)
    end, function(j, _, J) return { J - 1 - j } end, true },
    ["one row for all points"] = { function(x) return x:select(0, 3) end,
      function() return { 3 } end, true },
    ["every other two rows"] = { function(x, j)
      return x:narrow(0, 2 * j, 2)
    end, function(j) return { 2 * j, 2 * j + 1 } end, true },
    ["rows that overlap"] = { function(x, j) return x:narrow(0, j, 3) end,
      function(j) return { j, j + 1, j + 2 } end },
    ["rows that two dims name"] = { function(x, j, t) return x:select(0, j + t) end,
      function(j, t) return { j + t } end },
    ["half of a dim"] = { function(x, j)
      return x:select(0, j // 2)
    end, function(j) return { j // 2 } end },
    ["every third row"] = { function(x)
      return x:slice(0, 1, 11, 3)
    end, function() return { 1, 4, 7, 10 } end, true },
    ["rows that data names, some twice"] = { function(x, _, _, _, k)
      return x:index_select(0, k)
    end, function(j) return { j * j % N, (3 * j + 1) % N } end, true },
    ["elements that data names"] = { function(x, _, _, _, k)
      return x:gather(0, k:unsqueeze(1):expand { 2, 3 })
    end, function(j) return { j * j % N, (3 * j + 1) % N } end, true },
  }
  for name, c in pairs(cases) do
    it("costs what is added: " .. name, function()
      local P = tempo.program()
      local j, J = P:dim "j"
      local t, T = P:dim "t"
      local x, k = P:input("x", { shape = { N, 3 }, dtype = "f64" }),
        P:input("k", { domain = { j }, shape = { 2 }, dtype = "i64" })
      local loss = (
        (c[1](x, j, t, J, k) * (j:value() * 7 + t:value() + 1):to "f64"):sum())[{ j = 0 .. J,
        t = 0 .. T }]:sum { 0, 1 }
      for _, tier in ipairs { "interpreter", "native", "reference" } do
        local f = P:compile { outputs = { g = tempo.grad(loss, { x })[1] }, tier = tier }
        if c[3] and tier == "interpreter" then
          assert.is_nil(f:explain "plan":find("for t%d* = 0 .. T"), f:explain "plan")
        end
        local want, bounds, rows, ks = {}, { J = 5, T = 4 }, {}, {}
        for i = 1, N do want[i], rows[i] = { 0, 0, 0 }, { i, 2 * i, -i } end
        for a = 0, 4 do
          ks[a + 1] = { a * a % N, (3 * a + 1) % N }
          for b = 0, 3 do
            for _, at in ipairs(c[2](a, b, 5)) do
              for e = 1, 3 do want[at + 1][e] = want[at + 1][e] + a * 7 + b + 1 end
            end
          end
        end
        assert.same(want,
          f({ x = tempo.array(rows, "f64"), k = tempo.array(ks, "i64") }, bounds).g:totable())
      end
    end)
  end

  it("keeps no tensor for each point", function()
    local P = tempo.program()
    local j, J = P:dim "j"
    local k = P:input("k", { domain = { j }, dtype = "i64" })
    for _, row in ipairs { function(x) return x:select(0, k) end,
      function(x) return x:select(0, j) end } do
      local x = P:input("x" .. tostring(row):gsub("%W", ""), { shape = { 4096, 64 } })
      local f = P:compile {
        outputs = { g = tempo.grad(row(x):tanh():sum()[{ j = 0 .. J }]:sum(0), { x })[1] } }
      assert.is_true(f:memory { J = 4096 } < 4 * 4096 * 64 * 4, f:memory { J = 4096 })
    end
  end)
end)

describe("what is read at every n-th point", function()
  -- Follows a copy of itself that is n steps old at most; read: how the copy is said.
  local function program(read)
    local P = tempo.program()
    local k, K = P:dim "k"
    local w = P:tensor { domain = { k }, shape = { 4 }, dtype = "i64", name = "w" }
    w[0] = tempo.arange(4):to "i64"
    w[k + 1] = (w[k] * 3 + read(w, k, P) + 1) % 1009
    return P, { y = w[K - 1] }, k
  end

  -- The same in plain Lua: c says where the copy is from.
  local function by_hand(K, c)
    local w = { [0] = { 0, 1, 2, 3 } }
    for k = 0, K - 2 do
      w[k + 1] = {}
      for j = 1, 4 do w[k + 1][j] = (w[k][j] * 3 + w[c(k)][j] + 1) % 1009 end
    end
    return w[K - 1]
  end

  local cases = {
    { "w[k - k % n]", function(w, k) return w[k - k % 7] end, function(k) return k - k % 7 end,
      "held" },
    { "w[n * (k // n)]", function(w, k)
      return w[7 * tempo.floordiv(k, 7)]
    end, function(k) return k - k % 7 end, "held" },
    { "w[n * (k // n) or later]", function(w, k)
      return w[tempo.max(0, 7 * tempo.floordiv(k + 3, 7) - 3)]
    end, function(k) return math.max(0, k + 3 - (k + 3) % 7 - 3) end },
    { "steps of two", function(w, k) return w[k - k % 2] end, function(k) return k - k % 2 end },
    { "a copy by hand", function(w, k, P)
      local copy = P:tensor { domain = { k }, shape = { 4 }, dtype = "i64", name = "copy" }
      copy:when((k % 7):eq(0), w[k])
      copy:otherwise(copy[k - 1])
      return copy[k]
    end, function(k) return k - k % 7 end, "copy" },
  }
  for _, c in ipairs(cases) do
    it("is held in one place: " .. c[1], function()
      local P, outputs = program(c[2])
      local on = P:compile { outputs = outputs, tier = "interpreter" }
      local off = P:compile { outputs = outputs, tier = "interpreter", passes = { hold = false } }
      local reference = P:compile { outputs = outputs, tier = "reference" }
      if c[4] then assert.equal("k: 1", slots(on)[c[4]]) end
      for _, K in ipairs { 1, 2, 3, 7, 8, 9, 40 } do
        local want = by_hand(K, c[3])
        for _, f in ipairs { on, off, reference } do
          assert.same(want, f({}, { K = K }).y:totable())
        end
      end
    end)
  end

  it("takes memory and work that do not grow with n", function()
    local function memory(n)
      local P, outputs = program(function(w, k) return w[k - k % n] end)
      local f = P:compile { outputs = outputs, tier = "interpreter" }
      assert.truthy(f:explain "plan":find("if k1%%" .. n .. " == 0"))
      return f:memory { K = 10000 }
    end
    assert.equal(memory(5), memory(500))
  end)

  it("goes on from a state", function()
    local P, outputs, k = program(function(w, at) return w[at - at % 7] end)
    local path = os.tmpname()
    local function begun()
      local f = P:compile { outputs = outputs, tier = "interpreter", tick = k }
      f:start({}, { K = 40 })
      return f
    end
    local f = begun()
    for _ = 1, 18 do f:step() end
    f:save(path)
    local g = begun()
    g:load(path)
    local done, out
    repeat done, out = g:step() until done
    assert.same(by_hand(40, function(at) return at - at % 7 end), out.y:totable())
    os.remove(path)
  end)
end)

describe("what is elementwise of what is there anyway", function()
  -- A selective state-space model: at each step an outer product is the state's size, what it is
  -- made of is not.
  local D, N = 512, 16
  local function program()
    local P = tempo.program { seed = 5 }
    local t, T = P:dim "t"
    local u, dt = P:input("u", { domain = { t }, shape = { D } }),
      P:input("dt", { domain = { t }, shape = { D } })
    local B = P:input("B", { domain = { t }, shape = { N } })
    local A = P:input("A", { shape = { D, N } })
    local decay = (dt:unsqueeze(-1) * A):exp()
    local step = (dt * u):unsqueeze(-1) * B:unsqueeze(0)
    local h = P:tensor { domain = { t }, shape = { D, N }, name = "h" }
    h[0] = step[0]
    h[t] = decay * h[t - 1] + step
    local loss = h[tempo.range(0, T)]:sum(-1):square():sum()
    local gu, gdt = tempo.grad(loss, u), tempo.grad(loss, dt)
    return P, { gu = gu, gdt = gdt, loss = loss }
  end

  local function inputs(T)
    local function rows(n, f, count)
      local r = {}
      for k = 1, count or T do
        r[k] = {}
        for j = 1, n do r[k][j] = f(k, j) end
      end
      return r
    end
    return { u = rows(D, function(k, j) return math.sin(k * 3 + j) end),
      dt = rows(D, function(k, j) return 0.05 + 0.01 * ((k + j) % 5) end),
      B = rows(N, function(k, j)
        return math.cos(k + 2 * j)
      end), A = rows(N, function(_, j) return -j / N end, D) }
  end

  it("is made again, not kept along a recurrence and its gradient", function()
    local P, outputs = program()
    local on = P:compile { outputs = outputs, tier = "interpreter" }
    local off = P:compile { outputs = outputs, tier = "interpreter", passes = { again = false } }
    local whole = {}
    for name, dims in pairs(slots(on)) do
      if dims == "t: T"
        and on:explain "storage":find("temp " .. name .. " (t: T); f32[512, 16]", 1, true) then
        whole[#whole + 1] = name end
    end
    assert.same({ "h" }, whole)
    local function bytes(passes)
      -- channels would be gone through in strips
      passes.fuse = false
      return P:compile { outputs = outputs, tier = "interpreter",
        passes = passes }:memory { T = 100 }
    end
    assert.is_true(bytes { again = false } - bytes {} >= 99 * D * N * F32)
    local x = inputs(5)
    local a, b = on(x, { T = 5 }), off(x, { T = 5 })
    local c = P:compile { outputs = outputs, tier = "reference" } (x, { T = 5 })
    for name in pairs(outputs) do
      assert.same(b[name]:totable(), a[name]:totable())
      helper.same(c[name]:totable(), a[name], 1e-4)
    end
  end)
end)

-- Channels of a state-space model know nothing of each other but for sums over them: there and back
-- for some, then for the next.
describe("a recurrence and its gradient over channels", function()
  local N = 4
  -- D channels; nil: the call says how many.
  local function program(D)
    local P = tempo.program()
    local t, T = P:dim "t"
    local C = D or P:bound "C"
    local function over(name, n) return P:input(name, { domain = { t }, shape = { n } }) end
    local u, dt, B, A = over("u", C), over("dt", C), over("B", N),
      P:input("A", { shape = { C, N } })
    local h = P:tensor { domain = { t }, shape = { C, N }, name = "h" }
    local step = (dt * u):unsqueeze(-1) * B
    h[0] = step[0]
    h[t] = (dt:unsqueeze(-1) * A):exp() * h[t - 1] + step
    local y = h:square():sum(-1)
    local g = tempo.grad(y[tempo.range(0, T)]:square():sum(), { u, dt, B, A })
    return P, { u = g[1], dt = g[2], B = g[3], A = g[4], y = y, all = y:sum(-1) }
  end

  local function inputs(C, T)
    local function rows(n, m, f)
      local x = {}
      for k = 1, n do
        x[k] = {}
        for j = 1, m do x[k][j] = f(k, j) end
      end
      return tempo.array(x, "f32")
    end
    return { u = rows(T, C, function(k, j) return math.sin(k * 3 + j) end),
      dt = rows(T, C, function(k, j) return 0.05 + 0.01 * ((k + j) % 5) end),
      B = rows(T, N, function(k, j)
        return math.cos(k + 2 * j)
      end), A = rows(C, N, function(k, j) return -(j + k % 3) / N end) }
  end

  local summed = { B = true, all = true }
  for _, tier in ipairs { "interpreter", "native" } do
    for _, known in ipairs { true, false } do
      it(("goes there and back strip by strip, %s, %s channels"):format(tier,
        known and "known" or "given"), function()
        local C = 150
        local P, outputs = program(known and C or nil)
        local f = P:compile { outputs = outputs, tier = tier }
        local whole = P:compile { outputs = outputs, tier = tier, passes = { fuse = false } }
        local precise = P:compile { outputs = outputs, tier = tier, precise = true }
        assert.is_truthy(f:explain("plan"):find("for strip = 0", 1, true))
        -- its sums over channels are made in one go
        assert.is_nil(precise:explain("plan"):find("for strip = 0", 1, true))
        for _, at in ipairs(known and { { C, 1 }, { C, 7 } }
          or { { C, 7 }, { 16, 5 }, { 17, 2 }, { 1, 3 } }) do
          local bounds, x = { T = at[2] }, inputs(at[1], at[2])
          if not known then bounds.C = at[1] end
          local out, want, exact = f(x, bounds), whole(x, bounds), precise(x, bounds)
          for name in pairs(outputs) do
            if summed[name] then helper.same(want[name]:totable(), out[name], 1e-6)
            else assert.same(want[name]:totable(), out[name]:totable()) end
            helper.same(exact[name]:totable(), out[name], 1e-6)
          end
        end
        local bounds = { T = 1000, C = not known and C or nil }
        assert.is_true(f:memory(bounds) * 4 < whole:memory(bounds))
      end)
    end
  end
end)

-- All scores together are a square: their rows are made again on the way back from what is there,
-- one row at a time.
describe("causal attention and its gradient", function()
  local H, D = 2, 8
  local function program(window)
    local P = tempo.program()
    local t, T = P:dim "t"
    local function over(name) return P:input(name, { domain = { t }, shape = { H, D } }) end
    local q, k, v = over "q", over "k", over "v"
    local function past(x) return x[window(t, T)]:transpose(0, 1) end
    local scores = past(k):matmul(q:unsqueeze(-1)):squeeze(-1) / 8
    local out = scores:softmax(-1):unsqueeze(1):matmul(past(v)):squeeze(1)
    local loss = out[tempo.range(0, T)]:square():sum()
    local g = tempo.grad(loss, { q, k, v })
    return P, { loss = loss, q = g[1], k = g[2], v = g[3] }
  end
  local windows = {
    before = function(t) return tempo.range(0, t + 1) end,
    behind = function(t, T) return tempo.range(t, T) end,
    all = function(_, T) return tempo.range(0, T) end,
  }

  for name, window in pairs(windows) do
    it("keep no row for each point, over " .. name, function()
      local P, outputs = program(window)
      local f = P:compile { outputs = outputs, tier = "interpreter" }
      local kept = P:compile { outputs = outputs, tier = "interpreter", passes = { again = false } }
      assert.is_true(f:memory { T = 4096 } < 2.2 * f:memory { T = 2048 })
      assert.is_true(kept:memory { T = 4096 } > 3.5 * kept:memory { T = 2048 })
      local r = helper.rng(7)
      for _, T in ipairs { 1, 2, 9, 40 } do
        local x = {}
        for _, n in ipairs { "q", "k", "v" } do x[n] = helper.random(r, { T, H, D }, "f32") end
        local a, b = f(x, { T = T }),
          P:compile { outputs = outputs, tier = "reference" } (x, { T = T })
        for n in pairs(outputs) do helper.same(b[n]:totable(), a[n], 1e-4) end
      end
    end)
  end

  it("adds products of a column and a row where they are made", function()
    local P, outputs = program(windows.before)
    local plan = P:compile { outputs = outputs, tier = "interpreter" }:explain "plan"
    -- scores twice, values, gradients of both by row, by key and by value
    assert.equal(12, select(2, plan:gsub("op matmul", "")))
    -- of what the rows of a block share
    assert.equal(7, select(2, plan:gsub("op matmul[^\n]- over t", "")))
    assert.equal(2, select(2, plan:gsub("mul:f32%(i0,i1%)[^\n]-+=", "")))
  end)
end)

-- Matrices that data picks are multiplied where they lie; products, gradients and errors are those
-- of the copies.
describe("matrices that data picks", function()
  local r = helper.rng(5)
  local function compare(P, outputs, inputs, bounds, picks)
    local f = P:compile { outputs = outputs, tier = "interpreter" }
    local plan = f:explain "plan"
    assert.equal(picks or 0, select(2, plan:gsub("op index_select", "")))
    assert.truthy(plan:find("op matmul_at", 1, true))
    helper.run(P, outputs, inputs, bounds, { tol = 1e-4 })
  end
  local function indices(rows, n)
    local k = {}
    for i = 1, rows do k[i] = { i * i * 7 % n, (i * 5 + 1) % n } end
    return tempo.array(k, "i64")
  end

  it("are read where they lie, also for gradients", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x, k = P:input("x", { domain = { t }, shape = { 6 } }),
      P:input("k", { domain = { t }, shape = { 2 }, dtype = "i64" })
    local up, down = P:input("up", { shape = { 5, 6, 9 } }),
      P:input("down", { shape = { 5, 9, 6 } })
    local h = tempo.einsum("d,kdh->kh", x, up:index_select(0, k)):tanh()
    local y = tempo.einsum("kh,khd->kd", h, down:index_select(0, k)):sum(0)
    local loss = y[0 .. T]:square():sum()
    local g = tempo.grad(loss, { x, up, down })
    local inputs = { x = helper.numbers({ 40, 6 }, r), k = indices(40, 5),
      up = helper.numbers({ 5, 6, 9 }, r), down = helper.numbers({ 5, 9, 6 }, r) }
    compare(P, { y = y, gx = g[1], gu = g[2], gd = g[3] }, inputs, { T = 40 })
    compare(P, { y = y, gx = g[1], gu = g[2], gd = g[3] },
      { x = helper.numbers({ 1, 6 }, r), k = indices(1, 5), up = inputs.up,
      down = inputs.down }, { T = 1 })
  end)

  -- Rows of a point: one, a few, many; columns fewer than make a dot product, a last piece of 128
  -- rows; matrices that lie turned; of each point.
  for _, m in ipairs { 1, 3, 20 } do
    for _, dtype in ipairs { "f32", "f64", "i32" } do
      it(("have %d rows of %s"):format(m, dtype), function()
        local P = tempo.program()
        local t = P:dim "t"
        local x = P:input("x", { domain = { t }, shape = { 2, m, 19 }, dtype = dtype })
        local k, one = P:input("k", { domain = { t }, shape = { 2 }, dtype = "i64" }),
          P:input("one", { dtype = "i64" })
        local w, v = P:input("w", { shape = { 3, 19, 7 }, dtype = dtype }),
          P:input("v", { shape = { 3, 2, 19 }, dtype = dtype })
        local own = P:input("own", { domain = { t }, shape = { 3, 19, 2 }, dtype = dtype })
        local outputs = { plain = x:matmul(w:index_select(0, k)),
          turned = x:matmul(v:mT():index_select(0, k)),
          turned_later = x:matmul(v:index_select(0, k):mT()),
          own = x:matmul(own:index_select(0, k)),
            one = x:select(0, 0):matmul(w:index_select(0, one)),
          shared = x:slice(0, 0, 1):matmul(w:index_select(0, k)) }
        for _, T in ipairs { 1, 150 } do
          local function whole(shape)
            local a = helper.numbers(shape, r)
            return dtype == "i32" and helper.map(a, function(e) return math.floor(e * 10) end) or a
          end
          compare(P, outputs,
            { x = whole { T, 2, m, 19 }, k = indices(T, 3), one = 2, w = whole { 3, 19, 7 },
            v = whole { 3, 2, 19 },
            own = whole { T, 3, 19, 2 } }, { T = T })
        end
      end)
    end
  end

  it("stay a copy where somebody reads it", function()
    local P = tempo.program()
    local k, w = P:input("k", { shape = { 2 }, dtype = "i64" }),
      P:input("w", { shape = { 3, 4, 5 } })
    local x, picked = P:input("x", { shape = { 2, 1, 4 } }), w:index_select(0, k)
    compare(P, { y = x:matmul(picked), picked = picked },
      { k = tempo.array({ 2, 0 }, "i64"), w = helper.numbers({ 3, 4, 5 }, r),
        x = helper.numbers({ 2, 1, 4 }, r) }, {}, 1)
  end)

  it("are blamed on who picks one that is not there", function()
    local P = tempo.program()
    local t = P:dim "t"
    local k, w = P:input("k", { domain = { t }, shape = { 2 }, dtype = "i64" }),
      P:input("w", { shape = { 3, 4, 5 } })
    local picked = w:index_select(0, k)
    local line = debug.getinfo(1, "l").currentline - 1
    local y = P:input("x", { domain = { t }, shape = { 2, 1, 4 } }):matmul(picked)
    for _, tier in ipairs { "reference", "interpreter", "native" } do
      local f = P:compile { outputs = { y = y }, tier = tier }
      local ok, e =
        pcall(f, { k = tempo.array({ { 0, 1 }, { 2, 3 } }, "i64"),
        w = helper.numbers({ 3, 4, 5 }, r), x = helper.numbers({ 2, 2, 1, 4 }, r) }, { T = 2 })
      assert.is_false(ok)
      assert.truthy(
        e:find(("spec.lua:%d: input: 'picked' at t = 1: index 3 is outside 0 .. 2"):format(line), 1,
        true), tostring(e))
    end
  end)
end)

-- A cast or a scale does not vary along t, and is wider than what it is made of: a tile of it is
-- there at a time.
describe("what is wider than what it is made of", function()
  local N, B = 160, 16
  local function bf16(P) return P:input("W", { shape = { N, N }, dtype = "bf16" }) end
  local function u8(P, ...)
    return P:input("W", { shape = { ... }, dtype = "u8" }):to "f32" - 128
  end
  local function scale(P, ...) return P:input("scale", { shape = { ... } }) end
  -- A case: what each step makes of x; what is given; bytes that may be kept beside the state.
  local cases = {
    ["a cast"] = { function(P, x) return x:matmul(bf16(P):to "f32") end },
    ["a cast that is made for it"] = { function(P, x) return x:matmul(bf16(P)) end },
    ["a cast, turned"] = { function(P, x) return x:matmul(bf16(P):mT():to "f32") end },
    ["a cast, on the left"] = { function(P, x)
      return bf16(P):to "f32":matmul(x:unsqueeze(-1)):squeeze(-1)
    end },
    ["a cast, read twice"] = { function(P, x)
      local W = bf16(P):to "f32"
      return x:matmul(W):tanh():matmul(W:mT())
    end },
    ["a cast in a sum"] = { function(P, x)
      local W = bf16(P):to "f32"
      return x:matmul(W) + (W * x):sum(-1)
    end },
    ["matrices of a batch"] = { function(P, x)
      local W = P:input("W", { shape = { 2, N / 2, N / 2 }, dtype = "bf16" })
      return x:reshape(2, 1, N / 2):matmul(W:to "f32"):reshape(N)
    end, W = { 2, N / 2, N / 2 } },
    ["parts of the columns"] = { function(P, x)
      local W = P:input("W", { shape = { N, 3 * N }, dtype = "bf16" }):to "f32"
      local q, k, v = W:narrow(1, 0, N), W:narrow(1, N, N), W:slice(1, 2 * N, 3 * N)
      return x:matmul(q) * x:matmul(k):tanh() + x:matmul(v)
    end, W = { N, 3 * N } },
    ["parts of the rows, turned"] = { function(P, x)
      local W = P:input("W", { shape = { 2 * N, N }, dtype = "bf16" }):to "f32"
      return x:matmul(W:narrow(0, N, N):mT()):tanh():matmul(W:narrow(0, 0, N))
    end, W = { 2 * N, N } },
    ["matrices of one array"] = { function(P, x)
      local W = P:input("W", { shape = { 3, N, N }, dtype = "bf16" }):to "f32"
      return x:matmul(W:select(0, 1)):tanh():matmul(W:select(0, 2):mT()) + (W:select(0, 0) * x):sum(
        -1)
    end, W = { 3, N, N } },
    ["one matrix in a sum"] = { function(P, x)
      local W = P:input("W", { shape = { 2, N, N }, dtype = "bf16" }):to "f32"
      return (x * W:select(0, 1)):sum(-1)
    end, W = { 2, N, N } },
    ["parts of what is scaled"] = { function(P, x)
      return x:matmul((u8(P, N, 2 * N) * scale(P, N, 1)):narrow(1, N, N))
    end, W = { N, 2 * N }, scale = { N, 1 } },
    ["scales of rows"] = { function(P, x) return x:matmul(u8(P, N, N) * scale(P, N, 1)) end,
      scale = { N, 1 } },
    ["scales of columns"] = { function(P, x)
      return x:matmul(u8(P, N, N) * scale(P, N))
    end, scale = { N } },
    ["scales of blocks"] = { function(P, x)
      return x:matmul((u8(P, N, N / B, B) * scale(P, N, N / B, 1)):reshape(N, N))
    end, W = { N, N / B, B }, scale = { N, N / B, 1 } },
    ["scales of blocks, turned"] = { function(P, x)
      return x:matmul((u8(P, N, N / B, B) * scale(P, N, N / B, 1)):reshape(N, N):mT())
    end, W = { N, N / B, B }, scale = { N, N / B, 1 } },
  }

  local function program(case)
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:tensor { domain = { t }, shape = { N }, name = "x" }
    x[0] = tempo.ones { N }
    x[t + 1] = case[1](P, x):tanh()
    return P, { y = x[T - 1] }
  end

  local function inputs(case)
    local r = helper.rng(11)
    local W = helper.fill(case.W or { N, N }, function()
      return case.scale and math.floor((r() + 1) * 127) or r() / 2
    end)
    return { W = tempo.array(W, case.scale and "u8" or "bf16"),
      scale = case.scale and helper.fill(case.scale, function() return r() / 1000 end) }
  end

  for name, case in pairs(cases) do
    it("is read narrow by products: " .. name, function()
      local P, outputs = program(case)
      local x = inputs(case)
      local want = P:compile { outputs = outputs, tier = "reference" } (x, { T = 4 }).y:totable()
      for _, tier in ipairs { "interpreter", "native" } do
        local f = P:compile { outputs = outputs, tier = tier }
        helper.same(want, f(x, { T = 4 }).y)
        assert.is_true(f:memory { T = 100 } < N * N / 2 + 16 * N)
      end
    end)
  end

  it("is made of a layer at a time, by any number of threads", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local l, L = P:dim "l"
    local x = P:tensor { domain = { t }, shape = { N }, name = "x" }
    local h = P:tensor { domain = { t, l }, shape = { N }, name = "h" }
    local W = P:input("W", { domain = { l }, shape = { N, N }, dtype = "bf16" }):to "f32"
    h[{ t, 0 }] = x
    h[{ t, l + 1 }] = h:matmul(W):tanh()
    x[0] = tempo.ones { N }
    x[t + 1] = h[{ t, L - 1 }] * 0.5
    local outputs, bounds = { y = x[T - 1] }, { T = 5, L = 3 }
    local given = inputs { W = { 3, N, N } }
    helper.run(P, outputs, given, bounds)
    for _, tier in ipairs { "interpreter", "native" } do
      local function compile(threads)
        return P:compile { outputs = outputs, tier = tier, threads = threads }
      end
      local one, two = compile(1), compile(2)
      assert.same(one(given, bounds).y:totable(), two(given, bounds).y:totable())
      assert.is_true(one:memory { T = 5, L = 40 } < N * N / 2 + 16 * N)
    end
  end)

  it("is made of the slices that a layer reads", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local l, L = P:dim "l"
    local x = P:tensor { domain = { t }, shape = { N }, name = "x" }
    local h = P:tensor { domain = { t, l }, shape = { N }, name = "h" }
    local W = P:input("W", { domain = { l }, shape = { 2, N, N }, dtype = "bf16" }):to "f32"
    h[{ t, 0 }] = x:matmul(W[{ l = 0 }]:select(0, 1))
    h[{ t, l + 1 }] = h:matmul(W:select(0, 1)):tanh():matmul(
      W[{ l = l + 1 }]:select(0, 0):mT()):tanh()
    x[0] = tempo.ones { N }
    x[t + 1] = h[{ t, L - 1 }] * 0.5
    local outputs, bounds = { y = x[T - 1] }, { T = 3, L = 3 }
    local given = inputs { W = { 3, 2, N, N } }
    helper.run(P, outputs, given, bounds, { tol = 1e-4 })
    for _, tier in ipairs { "interpreter", "native" } do
      local f = P:compile { outputs = outputs, tier = tier }
      assert.is_true(f:memory { T = 5, L = 40 } < N * N / 2 + 16 * N)
    end
  end)

  it("is what it was when its operands have changed since", function()
    local P = tempo.program()
    local k, K = P:dim "k"
    local t, T = P:dim "t"
    local w = P:tensor { domain = { k }, shape = { N, N }, dtype = "bf16", name = "w" }
    w[0] = bf16(P)
    w:otherwise((w[k - 1]:to "f32" * 0.5):to "bf16")
    local x = P:tensor { domain = { k, t }, shape = { N }, name = "x" }
    x[{ t = 0 }] = tempo.ones { N }
    x[{ t = t + 1 }] = x:matmul(w:to "f32"):tanh()
    helper.run(P, { y = x[{ t = T - 1 }][tempo.range(0, K)] }, inputs {}, { K = 3, T = 3 },
      { tol = 1e-4 })
  end)
end)

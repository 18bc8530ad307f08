-- docs/language.md, sections 5 to 9, sentence by sentence where the other specs leave a gap. Every
-- program runs in both tiers, with passes and without, at small bounds, 0 and 1 included; expected
-- values are computed here, in plain Lua.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same = helper.fails, helper.same
local unpack = table.unpack or unpack       -- luacheck: globals unpack

local function holds(P, outputs, inputs, bounds, want, tol)
  for _, passes in ipairs { "all", "none" } do
    local got = helper.run(P, outputs, inputs, bounds, { tol = tol, compile = { passes = passes } })
    for name, w in pairs(want) do same(w, got[name], tol) end
  end
end

local function each_compiled(P, outputs, f)
  for _, tier in ipairs(helper.tiers) do
    for _, passes in ipairs { "all", "none" } do
      f(P:compile { outputs = outputs, tier = tier, passes = passes })
    end
  end
end

local function zeros(n)
  local z = {}
  for k = 1, n do z[k] = 0 end
  return z
end

describe("gradients (section 5)", function()
  setup(helper.quiet)
  teardown(helper.loud)
  local P, t, T, x

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
    x = P:input("x", { domain = { t } })
  end)

  local function grad(loss) return tempo.grad(loss, { x })[1] end

  it("are those of the loss summed over all its points, through every form of index", function()
    local c = t:value():to "f32" + 1
    local outputs = {
      prefix = grad(x[0 .. t + 1]:sum(0) * c), suffix = grad(x[t .. T]:sum(0) * c),
      window = grad(x[tempo.max(0, t - 2) .. t + 1]:sum(0) * c),
        low = grad(x[tempo.max(t - 2, 0)] * c),
      high = grad(x[tempo.min(t + 2, T - 1)] * c), half = grad(x[t:floordiv(2)] * x),
        cycle = grad(x[tempo.min(t:mod(3), T - 1)] * c),
      reversed = grad(x[T - 1 - t] * c), total = grad(x[0 .. T]:sum(0) ^ 2),
        mean = grad(x[0 .. t + 1]:mean(0)),
      greatest = grad(x[0 .. t + 1]:max(0) * c),
    }
    for n = 1, 5 do
      local X, want, sum = {}, {}, 0
      for s = 1, n do
        X[s] = s * 7 % 5 + 0.5
        sum = sum + X[s]
      end
      for name in pairs(outputs) do want[name] = zeros(n) end
      local function add(name, s, v) want[name][s + 1] = want[name][s + 1] + v end
      for u = 0, n - 1 do
        local best = 0
        for s = 0, u do
          add("prefix", s, u + 1)
          add("mean", s, 1 / (u + 1))
          if X[s + 1] > X[best + 1] then best = s end
        end
        for s = u, n - 1 do add("suffix", s, u + 1) end
        for s = math.max(0, u - 2), u do add("window", s, u + 1) end
        add("low", math.max(u - 2, 0), u + 1)
        add("high", math.min(u + 2, n - 1), u + 1)
        add("half", math.floor(u / 2), X[u + 1])
        add("half", u, X[math.floor(u / 2) + 1])
        add("cycle", math.min(u % 3, n - 1), u + 1)
        add("reversed", n - 1 - u, u + 1)
        add("total", u, 2 * sum)
        add("greatest", best, u + 1)
      end
      holds(P, outputs, { x = X }, { T = n }, want)
    end
  end)

  it("are those of the program as compiled, whatever the order of the lines; grad() counts the marked losses only", function()
    local all = x:grad()
    local one, two = x * 3, (x * x)[0 .. T]:sum(0)
    one:backward()
    tempo.backward(two)
    holds(P, { all = all, one = grad(one) }, { x = { 1, 2, 3 } }, { T = 3 },
      { all = { 5, 7, 9 }, one = { 3, 3, 3 } })
  end)

  it("are 0 where no loss needs the tensor, and have its domain, shape and dtype", function()
    local y = P:input("y", { domain = { t }, shape = { 2 }, dtype = "f64" })
    local g = tempo.grad(x[0] * 2, { x, y })
    assert.equal("f64", g[2]:dtype())
    assert.same({ 2 }, g[2]:shape())
    assert.equal(t, g[2]:domain()[1])
    for n = 1, 2 do
      local Y = helper.fill({ n, 2 }, function() return 1 end)
      holds(P, { x = g[1], y = g[2] }, { x = n == 1 and { 5 } or { 5, 6 }, y = Y }, { T = n },
        { x = n == 1 and { 2 } or { 2, 0 }, y = helper.fill({ n, 2 }, function() return 0 end) })
    end
  end)

  it("of any order go through a recurrence, and detach stops them", function()
    local a = P:input("a", { dtype = "f64" })
    local z = P:input("z", { domain = { t }, dtype = "f64" })
    local h = P:tensor { domain = { t }, dtype = "f64" }
    h[0] = z[0]
    h[t] = h[t - 1] * a + z[t]
    local loss = h[T - 1]
    local first = tempo.grad(loss, { a })[1]
    local second = tempo.grad(first, { a })[1]
    local outputs = { first = first, second = second, third = tempo.grad(second, { a })[1],
      stopped = tempo.grad(first:detach() * a, { a })[1],
        mixed = tempo.grad(tempo.grad(loss, { z })[1], { a })[1] }
    local A = 0.7
    for n = 1, 5 do
      local Z, want = {}, { first = 0, second = 0, third = 0, mixed = 0 }
      for s = 1, n do
        Z[s] = s * 0.3 - 0.5
        local p = n - s
        want.first = want.first + Z[s] * p * A ^ (p - 1)
        want.second = want.second + Z[s] * p * (p - 1) * A ^ (p - 2)
        want.third = want.third + Z[s] * p * (p - 1) * (p - 2) * A ^ (p - 3)
        want.mixed = want.mixed + p * A ^ (p - 1)
      end
      want.stopped = want.first
      holds(P, outputs, { a = A, z = Z }, { T = n }, want, 1e-9)
    end
  end)

  it("at ties go to the first index and the first operand; at kinks they are 0", function()
    local v, w = P:input("v", { shape = { 4 } }), P:input("w", { shape = { 4 } })
    local function by(loss, y) return tempo.grad(loss, { y or v })[1] end
    holds(P, { max = by(v:max()), min = by(v:min(0)), maximum = by(v:maximum(w)),
      other = by(v:maximum(w), w), minimum = by(v:minimum(w)),
        abs = by(v:abs()), relu = by(v:relu()), clamp = by(v:clamp(0, 2)),
          cumprod = by(v:cumprod(0)), norm = by((v * 0):norm()),
        sorted = by(v:sort() * tempo.arange { 4 }), topk = by((v:topk(2))) },
          { v = { 2, 0, 2, 0 }, w = { 2, 0, 1, 1 } }, nil,
      { max = { 1, 0, 0, 0 }, min = { 0, 1, 0, 0 }, maximum = { 1, 1, 1, 0 },
        other = { 0, 0, 0, 1 }, minimum = { 1, 1, 0, 1 },
        abs = { 1, 0, 1, 0 }, relu = { 1, 0, 1, 0 }, clamp = zeros(4), cumprod = { 1, 6, 0, 0 },
          norm = zeros(4), sorted = { 2, 0, 3, 1 },
        topk = { 1, 0, 1, 0 } })
  end)

  it("go through gathers by data, samples and branches, and not through callbacks", function()
    local k = P:input("k", { domain = { t }, dtype = "i64" })
    local h = P:tensor { domain = { t } }
    h:when(t:mod(2):eq(0), x * 3)
    h:otherwise(x * x)
    local call = P:call(function(a) return a[1]:item() * 2 end, { x }, { { domain = { t } } })
    holds(P, { chosen = grad(x[0 .. t + 1]:index_select(0, k) * (t:value() + 1)),
      branches = grad(h), call = grad(call * x) },
      { x = { 5, 6, 7, 8 }, k = { 0, 0, 2, 1 } }, { T = 4 },
      { chosen = { 3, 4, 3, 0 }, branches = { 3, 12, 3, 16 }, call = { 10, 12, 14, 16 } })
    local p = P:input("p", {})
    holds(P, { p = tempo.grad(tempo.bernoulli({}, p, { domain = { t }, name = "b" }) * x, { p })[1],
      x = x }, { p = 0.5, x = { 1, 2 } }, { T = 2 }, { p = 0 })
  end)

  it("take dims that the operand lacks together, at every bound", function()
    local Q = tempo.program()
    local b, B = Q:dim "b"
    local s, S = Q:dim "s"
    local y, w = Q:input("y", { domain = { b, s }, shape = { 2 } }),
      Q:input("w", { domain = { b } })
    local g = tempo.grad(y[{ s = 0 .. s + 1 }]:sum(0):sum() * w, { y, w })
    for nb = 0, 2 do
      for ns = 0, 3 do
        local Y = helper.fill({ nb, ns, 2 }, function(i, j, k) return i + j * 0.5 + k end)
        holds(Q, { y = g[1], w = g[2] },
          { y = Y, w = helper.fill({ nb }, function(i) return i + 2 end) }, { B = nb, S = ns }, {
          y = helper.fill({ nb, ns, 2 }, function(i, j) return (i + 2) * (ns - j) end),
          w = helper.fill({ nb }, function(i)
            local sum = 0
            for j = 0, ns - 1 do
              sum = sum + (ns - j) * (Y[i + 1][j + 1][1] + Y[i + 1][j + 1][2])
            end
            return sum
          end) })
      end
    end
    assert.equal(B, b:upper())
    assert.equal(S, s:upper())
  end)

  it("need floats, and say so", function()
    local n = P:input("n", { dtype = "i64" })
    fails(function() return (tempo.grad(x * n, { n })) end, "dtype", "i64")
    fails(function() return (tempo.grad(n * 2, { x })) end, "dtype", 'to("f32")')
    fails(function() return (n:grad()) end, "dtype")
    fails(function() tempo.backward(n) end, "dtype")
    fails(function() return (tempo.grad(x)) end, "option")
  end)
end)

describe("parameters (section 6)", function()
  setup(helper.quiet)
  teardown(helper.loud)
  local P, i

  before_each(function()
    P = tempo.program()
    i = P:dim "i"
  end)

  it("start from init and are carried, shifted or updated; params() has the values after the last point", function()
    for _, form in ipairs { "carried", "shift", "update" } do
      local Q = tempo.program()
      local j = Q:dim "j"
      local w = Q:param("w", { along = { j }, shape = { 2 }, init = { 1, 2 } })
      if form == "shift" then w[j + 1] = w * 2 elseif form == "update" then w:update(w * 2) end
      local m = form == "carried" and 1 or 2
      each_compiled(Q, { w = w }, function(f)
        for n = 0, 3 do
          same(helper.fill({ n, 2 }, function(a, b) return (b + 1) * m ^ a end), f({}, { J = n }).w)
          same({ m ^ n, 2 * m ^ n }, f:params().w)
        end
      end)
    end
  end)

  it("have the shape of a nested table given as init, the shape and dtype of an array", function()
    local a, b = P:param("a", { init = { { 1, 2, 3 } } }),
      P:param("b", { init = tempo.array({ 5, 6 }, "f64") })
    local c, d = P:param("c", { init = { 1, 2 }, dtype = "i64" }),
      P:param("d", { shape = { 2 }, init = 7 })
    assert.same({ 1, 3 }, a:shape())
    assert.equal("f64", b:dtype())
    assert.equal("i64", c:dtype())
    holds(P, { a = a, b = b, c = c, d = d }, {}, {},
      { a = { { 1, 2, 3 } }, b = { 5, 6 }, c = { 1, 2 }, d = { 7, 7 } })
    fails(function() P:param("e", { shape = { 3 }, init = { 1, 2 } }) end, "shape", "'e'")
  end)

  it("along two dims go from point to point in lexicographic order, empty rows too", function()
    local k = P:dim "k"
    local w = P:param("w", { along = { i, k }, init = 1 })
    w:update(w * 2)
    each_compiled(P, { w = w }, function(f)
      for n = 0, 3 do
        for m = 0, 3 do
          same(helper.fill({ n, m }, function(a, b) return 2 ^ (a * m + b) end),
            f({}, { I = n, K = m }).w)
          same(2 ^ (n * m), f:params().w)
        end
      end
    end)
    fails(function() w[k + 1] = w end, "option", "w:update(e)")
  end)

  it("beside a domain are one for each of its points, and load_params sets the first ones",
    function()
    local l = P:dim "l"
    local w = P:param("w", { along = { i }, domain = { l }, init = l:value():to "f32" + 1 })
    w:update(w * (l:value() + 2))
    for _, tier in ipairs(helper.tiers) do
      for n = 0, 2 do
        for m = 0, 2 do
          local f = P:compile { outputs = { w = w }, tier = tier }
          same(helper.fill({ n, m }, function(a, b)
            return (b + 1) * (b + 2) ^ a
          end), f({}, { I = n, L = m }).w)
          same(helper.fill({ m }, function(b) return (b + 1) * (b + 2) ^ n end), f:params().w)
          f:load_params { w = helper.fill({ m }, function() return 10 end) }
          same(helper.fill({ n, m }, function(a, b) return 10 * (b + 2) ^ a end),
            f({}, { I = n, L = m }).w)
        end
      end
    end
    fails(function()
      P:compile { outputs =
        { v = P:param("v", { along = { i }, domain = { l }, init = i:value():to "f32" }) } }
    end, "domain", "'v'", "'i'")
  end)

  it("are leaves: their own update is not differentiated through; a state that is none is an error with the cure", function()
    local x = P:input("x", { domain = { i } })
    local w = P:param("w", { along = { i }, init = 1 })
    local loss = w * x
    w:update(w - loss * 0.1)
    local g = tempo.grad(loss, { w, x })
    holds(P, { w = g[1], x = g[2] }, { x = { 1, 2, 3 } }, { I = 3 },
      { w = { 1, 2, 3 }, x = { 1, 0.9, 0.72 } })
    local v = P:tensor { domain = { i }, name = "v" }
    v[0] = 1
    v[i + 1] = v - tempo.grad(v * v, { v })[1] * 0.1
    fails(function() P:compile { outputs = { v = v } } end, "cycle",
      "gradient runs through the update of 'v': make it a parameter, take it with leaf = true, or detach (which drops terms)")
  end)

  it("follow SGD with momentum and Adam, by the one loss that step takes", function()
    local x = P:input("x", { domain = { i } })
    local X = { 1.5, 3, 2, 0 }
    local function trained(make, rule)
      local w, idle = P:param("w" .. rule, { along = { i }, init = 1 }),
        P:param("v" .. rule, { along = { i }, init = 1 })
      local loss = (w - x) ^ 2
      local other = w * 100
      other:backward()
      make { w, idle }:step(loss)
      return { w = w, idle = idle }
    end
    local S, A, w, v, m = {}, {}, 1, 0, 0
    for n = 1, 4 do
      S[n] = w
      local g = 2 * (w - X[n])
      m = n == 1 and g or 0.9 * m + g
      w = w - 0.1 * m
    end
    w, m = 1, 0
    for n = 1, 4 do
      A[n] = w
      local g = 2 * (w - X[n])
      m, v = 0.8 * m + 0.2 * g, 0.9 * v + 0.1 * g * g
      w = w - 0.1 * (m / (1 - 0.8 ^ n)) / (math.sqrt(v / (1 - 0.9 ^ n)) + 1e-6)
    end
    holds(P, trained(function(p)
      return tempo.optim.SGD(p, { lr = 0.1, momentum = 0.9 })
    end, "S"), { x = X }, { I = 4 }, { w = S, idle = { 1, 1, 1, 1 } })
    holds(P, trained(function(p)
      return tempo.optim.Adam(p, { lr = 0.1, betas = { 0.8, 0.9 }, eps = 1e-6 })
    end, "A"), { x = X }, { I = 4 }, { w = A, idle = { 1, 1, 1, 1 } })
  end)
end)

describe("running (section 7)", function()
  local P, t, T, x

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
    x = P:input("x", { domain = { t } })
  end)

  it("does not see what P becomes after it was compiled", function()
    local f, calls = P:compile { outputs = { y = x * 2 } }, 0
    P:dim "q"
    P:input("z", {})
    P:sink({ x }, function() calls = calls + 1 end)
    same({ 2, 4 }, f({ x = { 1, 2 } }, { T = 2 }).y)
    assert.equal(0, calls)
    assert.same({}, P:compile {}({ x = { 1, 2 } }, { T = 2 }))
    assert.equal(2, calls)
  end)

  it("gives fresh arrays, and borrows the inputs without keeping them", function()
    each_compiled(P, { y = x + 1, x = x }, function(f)
      local X = tempo.array { 1, 2 }
      local one = f({ x = X }, { T = 2 })
      local two = f({ x = X }, { T = 2 })
      one.y:set(99, 0)
      X:set(77, 0)
      same({ 2, 3 }, two.y)
      same({ 1, 2 }, two.x)
    end)
  end)

  it("ignores an input that nothing needs, whatever it holds", function()
    P:input("unused", { shape = { 2 } })
    same({ 1 }, P:compile { outputs = { x = x } }({ x = { 1 }, unused = "junk" }, { T = 1 }).x)
    fails(function()
      P:compile { outputs = { x = x } }({ x = { 1 }, unsued = 3 }, { T = 1 })
    end, "input", "'unsued'", "'unused'")
  end)

  it("calls back at every point in lexicographic order, and over all rows at once; over no rows not at all", function()
    local Q = tempo.program()
    local b, B = Q:dim "b"
    local s = Q:dim "s"
    local y, seen = Q:input("y", { domain = { b, s } }), {}
    local each, number = Q:call(function(a, p)
      seen[#seen + 1] = p.b .. "," .. p.s
      return a[1], p.b * 10 + p.s
    end, { y }, { { domain = { b, s } }, { domain = { b, s }, dtype = "i64" } })
    local rows = Q:call(function(a, p)
      assert.is_nil(p.b)
      seen[#seen + 1] = tostring(p.s)
      return a[1]
    end, { y }, { { domain = { b, s } } }, { over = { b } })
    assert.equal(B, b:upper())
    for nb = 0, 2 do
      for ns = 0, 2 do
        local Y, points, steps = helper.fill({ nb, ns }, function(i, j) return i * 10 + j end), {},
          {}
        for i = 0, nb - 1 do
          for j = 0, ns - 1 do points[#points + 1] = i .. "," .. j end
        end
        for j = 0, nb > 0 and ns - 1 or -1 do steps[#steps + 1] = tostring(j) end
        each_compiled(Q, { each = each, number = number }, function(f)
          seen = {}
          local out = f({ y = Y }, { B = nb, S = ns })
          same(Y, out.each)
          same(Y, out.number)
          assert.same(points, seen)
        end)
        each_compiled(Q, { rows = rows }, function(f)
          seen = {}
          same(Y, f({ y = Y }, { B = nb, S = ns }).rows)
          assert.same(steps, seen)
        end)
      end
    end
  end)

  it("calls once a point, whoever reads: all points, one, or none", function()
    local calls = 0
    local s = P:source(function(p)
      calls = calls + 1
      return p.t * 2
    end, { domain = { t } })
    local pair = { P:call(function() return 1, true end, {}, { {}, { dtype = "bool" } }) }
    each_compiled(P,
      { all = s, sum = s[0 .. T]:sum(0), last = s[T - 1], one = pair[1], truth = pair[2] },
      function(f)
      calls = 0
      local out = f({}, { T = 4 })
      assert.equal(4, calls)
      same(12, out.sum)
      same(6, out.last)
      same(1, out.one)
      same(true, out.truth)
    end)
    each_compiled(P, { last = s[T - 1] }, function(f)
      calls = 0
      f({}, { T = 4 })
      assert.equal(4, calls)
    end)
    each_compiled(P, { none = tempo.zeros {} }, function(f)
      calls = 0
      f {}
      assert.equal(0, calls)
    end)
  end)

  it("draws numbers that depend on seed, name, point and element alone", function()
    local u = tempo.uniform({ 3 }, { domain = { t }, name = "u" })
    local small = P:compile { outputs = { u = u } }({}, { T = 2 }, { seed = 5 }).u:totable()
    each_compiled(P, { u = u, more = x * 2 }, function(f)
      local large = f({ x = { 1, 2, 3 } }, { T = 3 }, { seed = 5 }).u:totable()
      assert.same(small, { large[1], large[2] })
      assert.are_not.same(small[1], large[2])
      assert.are_not.same(small[1], f({ x = { 1 } }, { T = 1 }, { seed = 6 }).u:totable()[1])
    end)
    local Q = tempo.program { seed = 5 }
    local r, R = Q:dim "t"
    Q:input("first", {})
    local again = tempo.uniform({ 3 }, { domain = { r }, name = "u" })
    assert.same(small, Q:compile { outputs = { u = again } }({}, { T = 2 }).u:totable())
    assert.equal(R, r:upper())
  end)

  it("lets the environment win over the script", function()
    local script = [[-e 'local tempo = require "tempo" local P = tempo.program()
      local f = P:compile { outputs = { y = P:constant(2) }, tier = "interpreter", threads = 1 } print(f:explain(), f:profile())']]
    assert.is_truthy(helper.lua(script, "TEMPO_TIER=reference"):find("tier reference", 1, true))
    assert.is_truthy(
      helper.lua(script, "TEMPO_TIER=refrence"):find("option: TEMPO_TIER is 'refrence'", 1, true))
    assert.is_truthy(helper.lua(script, "TEMPO_THREADS=2"):find("tier interpreter", 1, true))
    for _, n in ipairs { "x", "0", "2x", "99999999999999999999" } do
      assert.is_truthy(
        helper.lua(script, "TEMPO_THREADS=" .. n):find("option: TEMPO_THREADS is '" .. n .. "'", 1,
        true))
    end
  end)

  it("takes a loose literal into every program that it meets, as one tensor there", function()
    local one, u = tempo.full({ 2 }, 3), tempo.uniform { 2 }
    for _ = 1, 2 do
      local Q = tempo.program()
      local y = Q:input("y", { shape = { 2 } })
      holds(Q, { one = one, none = (y + u) - (y + u) }, { y = { 1, 2 } }, nil,
        { one = { 3, 3 }, none = { 0, 0 } })
    end
  end)

  it("profiles what a region moves and calculates, and the parts of native code", function()
    for _, tier in ipairs { "interpreter", "native" } do
      local Q = tempo.program()
      local i, I = Q:dim "i"
      local a, w = Q:input("a", { shape = { 64, 96 } }), Q:input("w", { shape = { 96, 80 } })
      local y = Q:tensor { domain = { i }, shape = { 64, 80 }, name = "y" }
      y[0] = 0
      y[i] = (y[i - 1] * 0.5 + (a * (i:value() + 1)):matmul(w)):tanh()
      local f = Q:compile { outputs = { y = y[I - 1] }, tier = tier }
      local function rows(m, n)
        local v = {}
        for r = 1, m do
          v[r] = {}
          for c = 1, n do v[r][c] = math.sin(r * 7 + c) end
        end
        return v
      end
      for _ = 1, 3 do f({ a = rows(64, 96), w = rows(96, 80) }, { I = 50 }) end
      local text = f:profile()
      local ms, calls, bytes,
        flops = text:match "\n +([%d.]+) +[%d.]+%% +(%d+) +[%d.]+ +([%d.]+) +([%d.]+)  %S+  '[^\n]*' matmul\n"
      assert.is_true(tonumber(calls) == 3 * 49 or tonumber(calls) == 3 * 50, text)
      local each = tonumber(ms) / 1e3 / tonumber(calls)
      local done = 2 * 64 * 96 * 80 / each / 1e9
      -- a digit behind the point is told
      assert.is_true(tonumber(flops) < 0.051 + 1.01 * done, text)
      local moved = 4 * (64 * 96 + 96 * 80 + 64 * 80) / (2 * 64 * 96 * 80)
      assert.is_true(math.abs(bytes - moved * flops) < 0.051 * (1 + moved), text)
      assert.equal(tier == "native", text:find("native code, part 0 of the plan", 1, true) ~= nil,
        text)
    end
  end)

  it("explains by section, profiles by region, and says what cannot be exported", function()
    local h = P:tensor { domain = { t }, name = "h" }
    h[0] = x[0]
    h[t] = (h[t - 1] * 0.5 + x):tanh()
    local f = P:compile { outputs = { h = h }, tier = "interpreter" }
    for section, text in pairs { graph = "tanh", schedule = "h[t] = mul add tanh(h[t - 1], x[t])",
      storage = "output h (t: T); f32, 4*T bytes",
        code = "tanh:f32", passes = "cse          on  " } do
      assert.is_true(f:explain(section):find(text, 1, true) ~= nil, f:explain(section))
    end
    fails(function() f:explain "cod" end, "option", "'code'")
    local X = {}
    for k = 1, 2000 do X[k] = k / 2000 end
    for _ = 1, 3 do f({ x = X }, { T = 2000 }) end
    local text = f:profile(1)
    local ms, share, calls = text:match "\n +([%d.]+) +([%d.]+)%% +(%d+) "
    assert.equal(3 * 1999, tonumber(calls))
    assert.is_true(tonumber(ms) > 0 and tonumber(share) > 50)
    assert.is_truthy(text:find("sections_spec.lua:", 1, true))
    assert.is_truthy(text:find("'h'", 1, true))
    local all, regions = f:profile():match "in (%d+) calls of (%d+) regions\n$"
    assert.is_true(tonumber(all) >= 6000 and tonumber(regions) >= 2)
    assert.is_truthy(text:find(("of %d more\n"):format(regions - 1), 1, true))
    assert.is_truthy(text:find("us/call     GB/s  GFLOP/s  line", 1, true))
    local bytes, flops = f:profile():match "\n +([%d.]+) +([%d.]+)  one core of this machine"
    assert.is_true(tonumber(bytes) > 0.05 and tonumber(flops) > 0.05, text)
    f:start({}, { T = 2 })
    f:step { x = 1 }
    f:step { x = 1 }
    assert.is_truthy(f:profile():find("%d+ calls of %d+ regions")
      and not f:profile():find(" " .. calls .. " "))
    assert.is_truthy(P:compile { outputs = { h = h },
      tier = "reference" }:profile():find "no profile")
    fails(function() f:profile(-1) end, "option", "profile")
    fails(function() f:export "out" end, "bound", "'T'")
    fails(function() f:export("a-b", { T = 3 }) end, "option", "export", "a-b")
    fails(function()
      P:compile { outputs = { h = h }, tier = "reference" }:export("out", { T = 3 })
    end, "device", "export", "reference")
    fails(function()
      P:compile { outputs = { h = h }, tier = "interpreter", check = "nan" }:export("out",
        { T = 3 })
    end, "option", "export", "check")
    fails(function() f:export("no such folder/out", { T = 3 }) end, "file")
  end)
end)

describe("names (section 9)", function()
  local P, x, v

  before_each(function()
    P = tempo.program()
    x, v = P:constant { { 1, 2, 3 }, { 4, 5, 6 } }, P:constant { 3, 1, 2, 5 }
  end)

  local function is(want, y)
    local a, b = P:compile { outputs = { y = y } } {}.y,
      P:compile { outputs = { y = y }, tier = "reference" } {}.y
    same(want, a)
    same(want, b)
  end

  local function shaped(want, y)
    assert.same(want, P:compile { outputs = { y = y } } {}.y:shape())
  end

  it("that every tensor has work as functions, on literals and arrays where that has a meaning",
    function()
    local t = P:dim "t"
    local y = tempo.name(P:input("y", { domain = { t }, shape = { 3 }, dtype = "f64" }), "why")
    assert.equal("why", tempo.name(y))
    assert.same({ 3 }, tempo.shape(y))
    assert.equal("f64", tempo.dtype(y))
    assert.equal(t, tempo.domain(y)[1])
    assert.same({}, tempo.domain(tempo.at(y, { 0 })))
    assert.same({ 2, 2 }, tempo.shape(tempo.zeros { 2, 2 }))
    assert.equal("i64", tempo.dtype(tempo.array({ 1 }, "i64")))
    same({ 2, 4 }, tempo.peek(P:constant { 1, 2 } * 2))
    fails(function() tempo.shape(3) end, "option", "shape", "a number")
    fails(function() tempo.domain(tempo.array { 1 }) end, "option", "domain")
  end)

  it("take axes as PyTorch's dims, options last", function()
    is(21, x:sum())
    is({ 5, 7, 9 }, x:sum(0))
    is({ 6, 15 }, x:sum(-1))
    is({ { 6 }, { 15 } }, x:sum(1, { keepdim = true }))
    is({ { 21 } }, x:sum { keepdim = true })
    is({ { 3 }, { 6 } }, x:max(1, { keepdim = true }))
    is(5, x:argmax())
    is({ 2.25, 2.25, 2.25 }, x:var(0, { correction = 0 }))
    is({ false, true }, x:gt(3):any(1))
    is({ { 1, 3, 6 }, { 4, 9, 15 } }, x:cumsum(1))
    is({ { 2.75, 3.5, 3 }, { 8, 8, 6 } }, x:discounted_cumsum(0.5, 1))
    is({ 1, 2, 5 }, v:slice(0, 1))
    is({ 3, 2 }, v:slice(0, 0, 4, 2))
    is({ 5, 3, 2, 1 }, (v:sort(0, { descending = true })))
    is({ 3, 0 }, select(2, v:topk(2)))
    is({ { 3, 3 }, { 1, 1 }, { 2, 2 }, { 5, 5 } }, tempo.stack({ v, v }, 1))
    is({ 7, 3, 1, 2, 5 }, v:pad({ 1, 0 }, 7))
    is({ 2, 1, 2, 2 }, v:clamp(nil, 2))
    is(39, v:mse_loss(v * 0, { reduction = "sum" }))
  end)

  it("that end in a list take it spread out too", function()
    is({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, x:reshape(3, 2))
    is({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, tempo.reshape(x, 3, -1))
    is({ { 1, 4 }, { 2, 5 }, { 3, 6 } }, x:permute(1, 0))
    shaped({ 2, 4 }, v:expand(2, -1))
    shaped({ 6 }, x:reshape(6))
    fails(function() x:reshape(3, "2") end, "option", "reshape")
    fails(function() tempo.zeros(2, 3) end, "option", "{ n, m }")
  end)

  it("that take indices take a table of integers, and nothing else converts silently", function()
    is({ { 3 }, { 4 } }, x:gather(1, { { 2 }, { 0 } }))
    is({ { 3, 1 }, { 6, 4 } }, x:index_select(1, { 2, 0 }))
    is({ 4, 0, 2 },
      tempo.zeros { 3 }:scatter_add(0, { 0, 2, 0 }, tempo.array { 1, 2, 3 }) + P:constant { 0, 0,
      0 })
    fails(function() x:index_select(1, { 0.5 }) end, "dtype", "i64")
    fails(function() x:cross_entropy { 0, 1 } end, "shape", "class indices, i64")
  end)

  it("of losses ignore the class -100 unless told otherwise", function()
    local target = tempo.array({ 0, -100 }, "i64")
    local logs = P:constant { { 1, 2 }, { 3, 5 } }:log_softmax(1)
    local first = math.log(1 + math.exp(1))
    is(first, P:constant { { 1, 2 }, { 3, 5 } }:cross_entropy(target))
    is({ first, 0 }, logs:nll_loss(target, { reduction = "none" }))
    is((first + math.log(1 + math.exp(2))) / 2, logs:nll_loss { 0, 0 })
    fails(function()
      P:compile { outputs = { y = logs:nll_loss(target, { ignore_index = -1 }) } } {}
    end, "input")
    local y = P:input("y", { shape = { 2, 2 } })
    local g = tempo.grad(y:cross_entropy(target), { y })[1]
    holds(P, { g = g }, { y = { { 0, 0 }, { 3, 5 } } }, nil, { g = { { -0.5, 0.5 }, { 0, 0 } } })
  end)
end)

describe("indices of space (section 9)", function()
  local P, t, T, x, k, X

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
    x, k = P:input("x", { domain = { t }, shape = { 5 } }),
      P:input("k", { domain = { t }, dtype = "i64" })
    X = helper.fill({ 4, 5 }, function(a, b) return a * 10 + b end)
  end)

  local function each_fails(y, inputs, bounds, ...)
    local words = { ... }
    for _, tier in ipairs(helper.tiers) do
      fails(function()
        P:compile { outputs = { y = y }, tier = tier }(inputs, bounds)
      end, unpack(words))
    end
  end

  it("that are index expressions are judged like reads in time", function()
    holds(P, { select = x:select(0, t), narrow = x:narrow(0, t, 2),
      slice = x:slice(0, 0, t + 1):sum(0) }, { x = X }, { T = 4 },
      { select = { 0, 11, 22, 33 }, narrow = { { 0, 1 }, { 11, 12 }, { 22, 23 }, { 33, 34 } },
        slice = { 0, 21, 63, 126 } })
    local more = helper.fill({ 6, 5 }, function() return 0 end)
    each_fails(x:select(0, t), { x = more }, { T = 6 }, "domain")
    each_fails(x:narrow(0, t, 2), { x = { more[1], more[2], more[3], more[4], more[5] } },
      { T = 5 }, "domain")
    each_fails(x:slice(0, t - 1, t), { x = X }, { T = 4 }, "domain")
    fails(function() x:select(0, -1) end, "domain", "do not wrap")
  end)

  it("that are data are checked at the run, with the point", function()
    holds(P, { select = x:select(0, k), narrow = x:narrow(0, k, 2) }, { x = X, k = { 3, 0, 1, 2 } },
      { T = 4 },
      { select = { 3, 10, 21, 32 }, narrow = { { 3, 4 }, { 10, 11 }, { 21, 22 }, { 32, 33 } } })
    each_fails(x:select(0, k), { x = X, k = { 4, 0, 5, 2 } }, { T = 4 }, "input", "t = 2")
    each_fails(x:select(0, k), { x = X, k = { 4, 0, -1, 2 } }, { T = 4 }, "input", "t = 2")
    each_fails(x:narrow(0, k, 2), { x = X, k = { 4, 0, 1, 2 } }, { T = 4 }, "input", "t = 0")
    each_fails(tempo.randint({ 2 }, k, k, { domain = { t } }), { k = { 0 } }, { T = 1 }, "input")
    each_fails(k:floordiv(k * 0), { k = { 1 } }, { T = 1 }, "input", "t = 0")
  end)

  it("of dynamic extents go through every kind of operator", function()
    local r = x[0 .. t + 1]
    holds(P, { cat = tempo.cat({ r:sum(-1), x:sum():unsqueeze(0) }, 0):sum(0),
      einsum = tempo.einsum("ij,j->i", r, x):sum(0),
        flat = r:reshape { -1 }:sum(0), topk = (r:flatten():topk(2)) }, { x = { X[1], X[2] } },
          { T = 2 },
      { cat = { 20, 130 }, einsum = { 30, 860 }, flat = { 10, 70 },
        topk = { { 4, 3 }, { 14, 13 } } })
    local none = x[0 .. t]
    holds(P, { max = none:sum(-1):max(0), mean = none:mean(), lse = none:sum(-1):logsumexp(0),
      soft = none:softmax(0):sum(), any = none:gt(0):any(),
        all = none:gt(0):all(), prod = none:prod(), norm = none:norm(2),
          cumsum = none:cumsum(0):sum(), sort = (none:sort(0)):sum(),
        mse = none:mse_loss(none), product = none:mT():matmul(none):sum(),
          cat = tempo.cat({ none, x:unsqueeze(0) }, 0):sum(), var = none:var() },
      { x = { X[1] } }, { T = 1 },
        { max = { -math.huge }, mean = { 0 / 0 }, lse = { -math.huge }, soft = { 0 },
        any = { false }, all = { true },
        prod = { 1 }, norm = { 0 }, cumsum = { 0 }, sort = { 0 }, mse = { 0 / 0 }, product = { 0 },
          cat = { 10 }, var = { 0 / 0 } })
  end)

  it("may be dims beside numbers and tensors", function()
    holds(P, { where = tempo.where(t:lt(2), x:sum(), -1), less = x:select(0, 0):gt(t),
      sum = t + x:select(0, 0), size = (T * T):value() },
      { x = X }, { T = 4 },
        { where = { 10, 60, -1, -1 }, less = { false, true, true, true }, sum = { 0, 11, 22, 33 },
        size = 16 })
  end)
end)

describe("libraries (section 9)", function()
  it("load on first use; one that is not there says so", function()
    for name in ("nn optim dist rl llm data logger viz"):gmatch "%a+" do
      assert.equal("table", type(tempo[name]), name)
    end
    fails(function() return (tempo.dta) end, "option", "'data'")
  end)

  it("make minibatches: every row once an epoch, another order in each, columns together",
    function()
    local P = tempo.program { seed = 3 }
    local e, k = P:dim "e", P:dim "k"
    local rows = helper.fill({ 10, 2 }, function(i, j) return i * (j == 0 and 1 or 10) end)
    local labels = tempo.array(helper.fill({ 10 }, function(i) return i end), "i64")
    local batch = tempo.data.batches(P, { x = tempo.array(rows), y = labels },
      { epoch = e, step = k, size = 5 })
    local out = helper.run(P, batch, {}, { E = 3, K = 2 })
    local orders = {}
    for a = 1, 3 do
      local seen, order = {}, {}
      for b = 1, 2 do
        for c = 1, 5 do
          local row = out.y[a][b][c]
          assert.is_nil(seen[row])
          seen[row] = true
          order[#order + 1] = row
          assert.same({ row, 10 * row }, out.x[a][b][c])
        end
      end
      orders[table.concat(order, " ")] = true
    end
    local n = 0
    for _ in pairs(orders) do n = n + 1 end
    assert.equal(3, n)
    fails(function() P:compile { outputs = batch }({}, { E = 1, K = 3 }) end, "domain", "K <= 2")
    local plain = tempo.data.batches(P, { x = rows and tempo.array(rows) },
      { step = k, size = 3, shuffle = false })
    same({ { rows[1], rows[2], rows[3] }, { rows[4], rows[5], rows[6] } },
      helper.run(P, plain, {}, { K = 2 }).x)
    fails(function()
      tempo.data.batches(P, { x = tempo.array(rows), y = tempo.array { 1 } },
        { step = k, size = 3 })
    end, "shape", "'y'")
    fails(function()
      tempo.data.batches(P, { x = tempo.array(rows) }, { stp = k, size = 3 })
    end, "option", "step")
  end)

  -- The orders in which the rows 0 .. 5 come at each point of `bounds`' dims but the last, the
  -- step's: as texts.
  local function orders(P, set, o, bounds)
    local found, list = {}, {}
    local function walk(rows, depth, order)
      if depth > 0 then
        for _, inner in ipairs(rows) do walk(inner, depth - 1, {}) end
        return
      end
      for _, batch in ipairs(rows) do
        for _, row in ipairs(batch) do order[#order + 1] = row end
      end
      list[#list + 1] = table.concat(order, " ")
      found[list[#list]] = true
      table.sort(order)
      assert.same({ 0, 1, 2, 3, 4, 5 }, order)
    end
    walk(helper.run(P, tempo.data.batches(P, set, o), {}, bounds).x,
      #tempo.data.batches(P, set, o).x:domain() - 1, {})
    return list, found
  end

  it("draw another order in each iteration, whether the set has its dim or the epoch says it",
    function()
    local function count(found)
      local n = 0
      for _ in pairs(found) do n = n + 1 end
      return n
    end
    local P = tempo.program { seed = 5 }
    local i, e, k = P:dim "i", P:dim "e", P:dim "k"
    local rows = tempo.array({ 0, 1, 2, 3, 4, 5 }, "i64")
    local moving = P:constant(rows) + (i:value() - i:value())
    local bounds = { I = 3, E = 2, K = 2 }
    local _, found = orders(P, { x = moving }, { epoch = e, step = k, size = 3 }, bounds)
    assert.equal(6, count(found))
    _, found = orders(P, { x = moving }, { step = k, size = 3 }, { I = 3, K = 2 })
    assert.equal(3, count(found))
    _, found = orders(P, { x = rows }, { epoch = { i, e }, step = k, size = 3 }, bounds)
    assert.equal(6, count(found))
    -- a column without the dim goes with one that has it
    local batch = tempo.data.batches(P, { x = moving, y = rows },
      { epoch = e, step = k, size = 3, name = "both" })
    local out = helper.run(P, batch, {}, bounds)
    assert.same(out.x, out.y)
  end)

  it("record a set in the order of its names, whatever pairs says", function()
    local function graph(names)
      local P = tempo.program { seed = 5 }
      local k, set = P:dim "k", {}
      for n, name in ipairs(names) do set[name] = tempo.array({ #name, n, 1 }, "i64") end
      for n, name in ipairs(names) do set[name]:set(0, 1); set[name]:set(n - n, 2) end
      return P:compile { outputs = tempo.data.batches(P, set,
        { step = k, size = 1 }) }:explain "graph"
    end
    local names, turned = {}, {}
    for n = 1, 12 do names[n] = ("x"):rep(n) end
    for n = 1, 12 do turned[n] = names[13 - n] end
    local function plain(text) return (text:gsub("sections_spec.lua:%d+", "")) end
    assert.equal(plain(graph(names)), plain(graph(turned)))
  end)

  it("read the numbers that the logger wrote, and draw them", function()
    local path = os.tmpname()
    local log = tempo.logger.csv(path, { "iteration", "loss" })
    for k = 1, 8 do log:row { k, k == 3 and "none" or 1 / k } end
    log:close()
    local columns, names = tempo.data.csv(path)
    assert.same({ "iteration", "loss" }, names)
    same({ 1, 0.5, 0 / 0, 0.25, 0.2, 1 / 6, 1 / 7, 0.125 }, columns.loss, 1e-8)
    assert.is_truthy(
      tempo.viz.csv(path):find("iteration ▁▂▃▄▅▆▇█  first 1, least 1, greatest 8, last 8", 1, true))
    fails(function() tempo.viz.csv(path, { columns = { "los" } }) end, "option", "'loss'")
    os.remove(path)
    fails(function() tempo.data.csv(path) end, "file")
    assert.equal("▁█ █", tempo.viz.spark { 0, 1, 0 / 0, 1 })
    assert.equal("", tempo.viz.spark {})
    assert.equal("         2 |  *\n           | *\n         0 |*\n           +---\n            0 2",
      tempo.viz.plot({ 0, 1, 2 }, { height = 3 }))
  end)
end)

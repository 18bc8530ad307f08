-- docs/language.md, "Short forms" and the parts of sections 1, 6 and 7 about them. Each form is
-- held against the long one: the same numbers on every tier, in steps and after a state.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same = helper.fails, helper.same

local tiers = { "reference", "interpreter", "native" }

-- build(P) gives outputs, a tick dim, inputs and bounds.
local function record(build, options)
  local P = tempo.program(options)
  return P, build(P)
end

local function plain(out)
  local t = {}
  for name, a in pairs(out) do
    if type(a) == "userdata" then t[name] = { a:dtype(), a:totable() } end
  end
  return t
end

-- At tick k each input has its row k.
local function step(f, inputs, k)
  local values = {}
  for name, a in pairs(inputs) do values[name] = a[k] end
  local done, out = f:step(values)
  return done, plain(out)
end

-- Lists the results of the ticks from k on.
local function steps(f, inputs, k)
  local list, done = {}, false
  while not done do
    done, list[#list + 1] = step(f, inputs, k)
    k = k + 1
  end
  return list
end

-- The short form is the long one: whole runs, steps, steps after a state; if `memory`, in bytes.
local function alike(short, long, options)
  local inputs, bounds = options.inputs or {}, options.bounds
  for _, tier in ipairs(tiers) do
    local got = {}
    for k, build in ipairs { short, long } do
      local P, outputs, tick = record(build, options.program)
      local function compiled() return P:compile { outputs = outputs, tick = tick, tier = tier } end
      local f = compiled()
      local all = plain(f(inputs, bounds))
      local each = steps(f:start({}, bounds), inputs, 0)
      f:start({}, bounds)
      for n = 0, 1 do step(f, inputs, n) end
      local rest = steps(compiled():load_state(f:state()), inputs, 2)
      for m, values in ipairs(rest) do assert.same(each[m + 2], values, tier) end
      assert.equal(#each, #rest + 2)
      steps(f, inputs, 2)
      got[k] = { all, each, plain(f:params()), tier ~= "reference" and f:memory(bounds) }
    end
    for part, what in ipairs { "a run", "steps", "parameters" } do
      assert.same(got[2][part], got[1][part], what .. " on tier " .. tier)
    end
    if options.memory then assert.equal(got[2][4], got[1][4], "bytes") end
  end
end

describe("P:dims", function()
  it("gives dims in the order written", function()
    local P = tempo.program()
    local s, i, t = P:dims "s i  t"
    assert.same({ "s", "i", "t" }, { s:name(), i:name(), t:name() })
    assert.equal("T", tostring(t:upper()))
    assert.same({ s, i, t }, P:input("x", { domain = { s, i, t } }):domain())
    assert.equal(1, select("#", P:dims "z"))
  end)

  it("refuses what is no string, no name or taken", function()
    local P = tempo.program()
    P:dim "t"
    fails(function() P:dims() end, "option", "dims", "got nothing")
    fails(function() P:dims { "s", "i" } end, "option", "got a table")
    fails(function() P:dims "  " end, "option", "got none")
    fails(function() P:dims "i, j" end, "option", "'i,' is no name")
    fails(function() P:dims "b t" end, "option", "there is a dim 't' already")
    fails(function() P:dims "k k" end, "option", "there is a dim 'k' already")
    fails(function() P:dims("u", "U") end, "option", "dims takes 1 argument")
  end)
end)

describe("P:tensor { first = }", function()
  local rows = tempo.array({ { 1, 2 }, { 3, 4 }, { 5, 6 }, { 7, 8 } }, "f64")

  it("is the declaration and the branch at the first point", function()
    local function by(declare)
      return function(P)
        local t = P:dim "t"
        local x = P:input("x", { domain = { t }, shape = { 2 }, dtype = "f64" })
        local h = declare(P, t, x)
        h[t] = h[t - 1] * 0.5 + x
        return { h = h, last = h[t:upper() - 1] }, t
      end
    end
    alike(by(function(P, t, x) return P:tensor { domain = { t }, first = x * 2, name = "h" } end),
      by(function(P, t, x)
        local h = P:tensor { domain = { t }, shape = { 2 }, dtype = "f64", name = "h" }
        h[0] = x * 2
        return h
      end), { inputs = { x = rows }, bounds = { T = 4 }, memory = true })
  end)

  it("stands where along says", function()
    local function by(declare)
      return function(P)
        local b, t = P:dims "b t"
        local h = declare(P, b, t)
        h:otherwise(h[{ t = t - 1 }] + b:value():to "f32")
        return { h = h }, t
      end
    end
    local function long(P, b, t)
      local h = P:tensor { domain = { b, t }, shape = { 3 } }
      h[{ t = 0 }] = tempo.full({ 3 }, 1.5)
      return h
    end
    for _, along in ipairs { "dim", "name", "list" } do
      alike(by(function(P, b, t)
        return P:tensor { domain = { b, t }, first = tempo.full({ 3 }, 1.5),
          along = along == "dim" and t or along == "name" and "t" or { t } }
      end), by(long), { bounds = { B = 2, T = 4 }, memory = true })
    end
  end)

  it("takes shape and dtype of tensors, arrays, tables and numbers", function()
    local P = tempo.program()
    local b, t = P:dims "b t"
    local function is(dtype, shape, o)
      o.domain = o.domain or { t }
      local x = P:tensor(o)
      assert.equal(dtype, x:dtype())
      assert.same(shape, x:shape())
      return x
    end
    is("f32", {}, { first = 1 })
    is("i64", {}, { first = 1, dtype = "i64" })
    is("f32", { 3 }, { first = 1, shape = { 3 } })
    is("i64", { 2 }, { first = tempo.array({ 1, 2 }, "i64") })
    is("f32", { 2 }, { first = { 1, 2 } })
    is("f64", { 2 }, { first = { 1, 2 }, dtype = "f64" })
    is("bool", {}, { first = false })
    is("bool", {}, { first = b:eq(0), domain = { b, t }, along = t })
    is("f32", {}, { first = t:upper() })
    is("f64", { 4 }, { first = tempo.zeros({ 4 }, { dtype = "f64" }) })
    local x = P:input("x", { domain = { b, t }, shape = { t:upper() } })
    is("f32", { t:upper() }, { domain = { x }, first = x, along = t })
  end)

  it("refuses what does not agree, or names no dim", function()
    local P = tempo.program()
    local b, t = P:dims "b t"
    local first = tempo.zeros { 3 }
    fails(function() P:tensor { domain = { t }, first = first, dtype = "f64" } end, "dtype", "f64")
    fails(function() P:tensor { domain = { t }, first = first, shape = { 4 } } end, "shape", "(4)")
    fails(function() P:tensor { domain = { t }, first = 0.5, dtype = "i64" } end, "dtype", "0.5")
    fails(function() P:tensor { domain = { b, t }, first = first } end, "option",
      "the dims are (b, t)")
    fails(function() P:tensor { first = first } end, "option", "the dims are none")
    fails(function() P:tensor { domain = { t }, first = first, along = b } end, "domain", "'b'")
    fails(function() P:tensor { domain = { t }, first = first, along = 0 } end, "option", "along")
    fails(function() P:tensor { domain = { t }, along = t } end, "option", "first =")
    fails(function() P:tensor { domain = { t }, frist = 0 } end, "option", "'first'")
    fails(function() P:tensor { domain = { t }, first = print } end, "option", "first")
    fails(function() P:tensor { domain = { t }, first = b:value() } end, "domain", "'b'")
  end)
end)

describe("tempo.prev", function()
  local rows = tempo.array({ 3, 1, 4, 1, 5 }, "f64")

  local function long(P, x, t, first, n)
    local p = P:tensor { domain = { x }, shape = x:shape(), dtype = x:dtype() }
    for k = 0, n - 1 do p[{ [t] = k }] = first end
    p:otherwise(x[{ [t] = t - n }])
    return p
  end
  local function short(_, x, t, first, n) return tempo.prev(x, t, first, n > 1 and n or nil) end

  local function by(prev)
    return function(P)
      local t = P:dim "t"
      local x = P:input("x", { domain = { t }, dtype = "f64" })
      local y = P:tensor { domain = { t }, dtype = "f64" }
      y[t] = prev(P, y, t, x * 0.5, 1) * 0.9 + x
      local z = prev(P, y, t, 7, 3)
      return { y = y, z = z, w = prev(P, z, t, tempo.array(-1, "f64"), 1) }, t
    end
  end

  it("is the tensor with two branches, in as many bytes", function()
    alike(by(short), by(long), { inputs = { x = rows }, bounds = { T = 5 }, memory = true })
  end)

  it("goes with a state in the place where the long form has it", function()
    local function state(declare)
      return function(P)
        local t = P:dim "t"
        local x = P:input("x", { domain = { t }, shape = { 8 } })
        local h = P:tensor { domain = { t }, shape = { 8 } }
        declare(P, h, t, x)
        return { s = h:sum() }, t
      end
    end
    alike(state(function(P, h, t, x) h[t] = (short(P, h, t, 0, 1) * 0.9):tanh() + x end),
      state(function(P, h, t, x) h[t] = (long(P, h, t, 0, 1) * 0.9):tanh() + x end),
      { inputs = { x = tempo.array(1, "f32", { 4, 8 }) }, bounds = { T = 4 }, memory = true })
  end)

  it("takes tables, index expressions, conditions and first values with further dims", function()
    local P = tempo.program()
    local b, t = P:dims "b t"
    local v = P:input("v", { domain = { t }, shape = { 2 } })
    local k = P:input("k", { domain = { b } })
    local out = helper.run(P, { table = tempo.prev(v, t, { 8, 9 }), index = tempo.prev(t, t, -1),
      done = tempo.prev(t:eq(1), t, false), far = tempo.prev(v:sum(), t, k, 2),
      late = tempo.prev(v:sum(), t, t + 10, 2) },
      { v = { { 1, 2 }, { 3, 4 }, { 5, 6 } }, k = { 50, 60 } }, { B = 2, T = 3 })
    same({ { 8, 9 }, { 1, 2 }, { 3, 4 } }, out.table)
    same({ -1, 0, 1 }, out.index)
    same({ false, false, true }, out.done)
    same({ { 50, 50, 3 }, { 60, 60, 3 } }, out.far)
    same({ 10, 11, 3 }, out.late)
  end)

  it("is read where there are no points of one kind, and with bounds below n", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local p = tempo.prev(x, t, 9, 3)
    local out = helper.run(P, { p = p }, { x = { 1, 2 } }, { T = 2 })
    same({ 9, 9 }, out.p)
    local f = P:compile { outputs = { q = tempo.prev(x, t, 9)[0], r = p[T - 1] } }
    out = f({ x = { 1, 2, 3, 4 } }, { T = 4 })
    same(9, out.q)
    same(1, out.r)
    same({}, P:compile { outputs = { p = p } }({ x = {} }, { T = 0 }).p)
  end)

  it("has the derivatives of its parts", function()
    local P = tempo.program { dtype = "f64" }
    local t, T = P:dim "t"
    local x, a = P:input("x", { domain = { t } }), P:input "a"
    local y = P:tensor { domain = { t } }
    y[t] = (tempo.prev(y, t, a) * 0.7 + x):sin() + 0.3 * tempo.prev(x, t, a * a, 2)
    local loss = (y * y)[0 .. T]:sum(0)
    local g = tempo.grad(loss, { x, a })
    local xs = { 0.3, -0.2, 0.9, 0.4 }
    for _, tier in ipairs(tiers) do
      local f = P:compile { outputs = { loss = loss, gx = g[1], ga = g[2] }, tier = tier }
      local function at(values, v)
        return f({ x = tempo.array(values, "f64"), a = v }, { T = 4 })
      end
      local out, e = at(xs, 0.8), 1e-6
      same((at(xs, 0.8 + e).loss:item() - at(xs, 0.8 - e).loss:item()) / (2 * e), out.ga, 1e-7)
      for k = 1, 4 do
        local hi, lo = { xs[1], xs[2], xs[3], xs[4] }, { xs[1], xs[2], xs[3], xs[4] }
        hi[k], lo[k] = hi[k] + e, lo[k] - e
        local want = (at(hi, 0.8).loss:item() - at(lo, 0.8).loss:item()) / (2 * e)
        same(want, out.gx:totable()[k], 1e-7)
      end
    end
  end)

  it("refuses dims that x lacks, n below 1, and first values of another kind", function()
    local P = tempo.program()
    local b, t = P:dims "b t"
    local x = P:input("x", { domain = { t }, shape = { 2 } })
    fails(function() tempo.prev(x, b, 0) end, "domain", "b is no dim", "(t)")
    fails(function() tempo.prev(x, t + 1, 0) end, "domain", "t + 1 is no dim")
    fails(function() tempo.prev(tempo.zeros { 2 }, t, 0) end, "domain", "none")
    fails(function() tempo.prev(x, "t", 0) end, "option", "expected a dim")
    fails(function() tempo.prev(3, t, 0) end, "option", "expected a tensor")
    fails(function() tempo.prev(x, t) end, "option", "prev(x, t, 0)")
    for _, n in ipairs { 0, -1, 1.5, math.huge, "2" } do
      fails(function() tempo.prev(x, t, 0, n) end, "option", "an integer, 1 or more")
    end
    fails(function() tempo.prev(x, t, 0, t) end, "option", "an integer, 1 or more; got t")
    fails(function() tempo.prev(x, t, tempo.zeros { 3 }) end, "shape", "(3)")
    fails(function() tempo.prev(x, t, tempo.zeros({ 2 }, { dtype = "f64" })) end, "dtype", "f64")
    fails(function() tempo.prev(t, t, 0.5) end, "dtype", "0.5")
  end)
end)

describe("tempo.program { dtype = }", function()
  it("is the dtype of all that names none", function()
    local P = tempo.program { dtype = "f64" }
    local t = P:dim "t"
    local function is(dtype, x) assert.equal(dtype, x:dtype()) end
    is("f64", P:input("x", { domain = { t } }))
    is("f64", P:tensor { domain = { t } })
    is("f64", P:tensor { domain = { t }, first = 0 })
    is("f64", P:param("a", { init = 1 }))
    is("f64", P:param("b", { init = { 1, 2 } }))
    is("f32", P:param("c", { init = tempo.array { 1, 2 } }))
    is("f64", P:constant(1))
    is("f64", P:constant { 1, 2 })
    is("bool", P:constant { true })
    is("f32", P:constant(tempo.array { 1 }))
    is("f64", P:source(function() return 1 end, { domain = { t } }))
    is("f32", P:input("y", { dtype = "f32" }))
    fails(function() tempo.program { dtype = "f65" } end, "option", "'f64'")
  end)

  it("is taken by loose literals when they meet the program", function()
    local P = tempo.program { dtype = "f64" }
    local zero = P:constant(0)
    local made = { zeros = { {} }, ones = { {} }, full = { {}, 3 }, eye = { { 2 } },
      arange = { { 3 } }, linspace = { { 3 }, 0, 1 }, uniform = { { 2 } }, normal = { { 2 } },
      bernoulli = { { 2 } },
      randint = { { 2 }, 0, 9 }, randperm = { { 3 } } }
    local outputs = {}
    for name, a in pairs(made) do outputs[name] = tempo[name](a[1], a[2], a[3]) end
    outputs.sum = outputs.normal * 2
    local out = P:compile { outputs = outputs }({})
    for name, a in pairs(out) do
      assert.equal((name == "randint" or name == "randperm") and "i64" or "f64", a:dtype(), name)
    end
    assert.equal(0.1, P:compile { outputs = { x = tempo.full({}, 0.1) } }({}).x:item())
    assert.equal("f32", (tempo.zeros({ 2 }, { dtype = "f32" })):dtype())
    local one = tempo.zeros { 2 }                            -- in each program its own
    assert.equal("f64", (one + zero):dtype())
    assert.equal("f32", (one + tempo.program():constant(0)):dtype())
  end)

  it("is that of modules, moments and distributions", function()
    local function losses(program, dtype)
      local P = tempo.program(program)
      local i = P:dim "i"
      local net = tempo.nn.MLP(P, { 2, 3, 1 }, { along = { i }, name = "net", dtype = dtype,
        init = "orthogonal" })
      local norm = tempo.nn.LayerNorm(P, 1, { along = { i }, name = "norm", dtype = dtype })
      local x = tempo.normal({ 4, 2 }, { domain = { i }, name = "x", dtype = dtype })
      local loss = (norm(net(x)) - net(x)):square():mean()
      tempo.optim.Adam({ net, norm }, { lr = 0.1 }):step(loss)
      local draw = tempo.dist.Categorical { logits = net(x):squeeze(-1) }:sample { name = "draw" }
      local noise = tempo.dist.Normal(net(x), 1):sample { name = "noise" }
      local f = P:compile { outputs = { loss = loss, noise = noise, draw = draw } }
      local out = f({}, { I = 3 })
      return plain(out), plain(f:params())
    end
    local out, params = losses { dtype = "f64" }
    for _, a in pairs(params) do assert.equal("f64", a[1]) end
    local long, long_params = losses(nil, "f64")
    out.draw, long.draw = nil, nil                           -- its uniform draw names no dtype
    assert.same(long, out)
    assert.same(long_params, params)
  end)

  it("leaves operators to their own rules", function()
    local P = tempo.program { dtype = "f64" }
    local t = P:dim "t"
    assert.equal("f32", (t:value() / 2):dtype())
    assert.equal("i64", (t:value() + 1):dtype())
    assert.equal("f32", (P:input("x", { dtype = "f32" }) * 0.1):dtype())
    assert.equal("f64", tempo.stack({ P:constant(1), 0.5 }, 0):dtype())
  end)

  it("gives the numbers of dtype = on each line", function()
    local function by(dtype)
      return function(P)
        local t = P:dim "t"
        local x = P:input("x", { domain = { t }, dtype = dtype })
        local h = P:tensor { domain = { t }, shape = { 2 }, dtype = dtype }
        h[0] = tempo.full({ 2 }, 0.1, { dtype = dtype })
        h[t] = h[t - 1] * x + tempo.uniform({ 2 }, { domain = { t }, name = "u", dtype = dtype })
        return { h = h }, t
      end
    end
    alike(by(nil), by "f64", { program = { dtype = "f64" }, bounds = { T = 4 }, memory = true,
      inputs = { x = tempo.array({ 0.1, 0.2, 0.3, 0.4 }, "f64") } })
  end)
end)

describe("w:next()", function()
  -- Gradient descent on (w - i)^2.
  local function by(after)
    return function(P)
      local i = P:dim "i"
      local w = P:param("w", { along = { i }, shape = { 2 }, init = { 1, -2 } })
      local early = after == "early" and w:next()
      local loss = (w - i):square():sum()
      local new = (w - 0.25 * tempo.grad(loss, w)):detach()
      w:update(new)
      local next = after == "long" and new or early or w:next()
      return { w = w, next = next, second = (next - i):square():sum() }, i
    end
  end

  it("is what update was given, before or after that line", function()
    alike(by "late", by "long", { bounds = { I = 4 }, memory = true })
    alike(by "early", by "long", { bounds = { I = 4 }, memory = true })
  end)

  it("is the value at the next point, at the last one too", function()
    local P = tempo.program()
    local i, k = P:dims "i k"
    local w = P:param("w", { along = { i, k }, init = 1 })
    local n = w:next()
    w:update(w * 2)
    for _, tier in ipairs(tiers) do
      local f = P:compile { outputs = { w = w, n = n }, tier = tier }
      local out = f({}, { I = 2, K = 2 })
      same({ { 1, 2 }, { 4, 8 } }, out.w)
      same({ { 2, 4 }, { 8, 16 } }, out.n)
      same(16, f:params().w)
    end
  end)

  it("follows w[i+1] = e, domains, and steps under a condition", function()
    local P = tempo.program { dtype = "f64" }
    local l, i = P:dims "l i"
    local w = P:param("w", { along = { i }, domain = { l }, init = l + 1 })
    local n = w:next()
    w[{ l, i + 1 }] = w * 3
    local v = P:param("v", { along = { i }, init = 1 })
    local c = P:param("c", { along = { i }, init = 1 })
    c:update(5)
    tempo.optim.SGD(v, { lr = 0.5 }):step(v * 2, { when = (i % 2):eq(0) })
    local out = helper.run(P, { w = w, n = n, v = v, vn = v:next(), cn = c:next() }, {},
      { L = 2, I = 3 })
    same({ { 3, 9, 27 }, { 6, 18, 54 } }, out.n)
    same({ 1, 0, 0 }, out.v)
    same({ 0, 0, -1 }, out.vn)
    same({ 5, 5, 5 }, out.cn)
  end)

  it("lets gradients through what update was given, and no further than optimisers do", function()
    local P = tempo.program { dtype = "f64" }
    local i, I = P:dim "i"
    local w = P:param("w", { along = { i }, init = 3 })
    local n = w:next()
    w:update(w * w * 0.25)
    local loss = n * n * n                                  -- (w^2 / 4)^3
    local by_w, by_n = tempo.grad(loss, w), tempo.grad(loss, n)
    local v = P:param("v", { along = { i }, init = 3 })
    tempo.optim.SGD(v, { lr = 0.1 }):step(v * v, { when = i:ge(1) })
    local warn = tempo.warn
    tempo.warn = false
    local f = P:compile { outputs = { by_w = by_w[0], by_n = by_n[0],
      none = tempo.grad(v:next() * v:next(), v)[0 .. I] } }
    tempo.warn = warn
    local out = f({}, { I = 2 })
    same(6 * 3 ^ 5 / 64, out.by_w)
    same(3 * 2.25 ^ 2, out.by_n)
    same({ 0, 0 }, out.none)
  end)

  it("of a module: a second loss at the same point sees the updated network", function()
    local function nets(long)
      return function(P)
        local i = P:dim "i"
        local net = tempo.nn.Sequential(P, {
          tempo.nn.Linear(P, 2, 3, { along = { i }, name = "net" }),
          tempo.nn.BatchNorm(P, 3, { along = { i }, name = "norm" }) })
        local x = tempo.normal({ 4, 2 }, { domain = { i }, name = "x" })
        local early = not long and net:next()
        local loss = net(x):square():mean() + net(x):mean()
        tempo.optim.SGD(net, { lr = 0.1 }):step(loss)
        local after = early or net:mapped(function(w) return w:next() end)
        local second = after(x):square():mean()
        return { loss = loss, second = second }, i
      end
    end
    alike(nets(false), nets(true), { bounds = { I = 4 } })

    local P = tempo.program()
    local i, I = P:dim "i"
    local net = tempo.nn.Linear(P, 1, 1, { along = { i }, name = "net" })
    local x = P:constant { { 2 } }
    local loss, second = net(x):square():sum(), net:next()(x):square():sum()
    tempo.optim.SGD(net, { lr = 0.05 }):step(loss)
    local out = helper.run(P, { loss = loss[{ i = tempo.range(1, 4) }],
      second = second[{ i = tempo.range(0, 3) }] }, {}, { I = 4 })
    same(out.loss, out.second)
    local norm = tempo.nn.BatchNorm(P, 1, { along = { i }, name = "norm" })
    norm(x)
    tempo.optim.SGD(norm, { lr = 0.1 }):step(norm(x):sum())
    out = helper.run(P, { a = norm:next().running_mean, b = norm.running_mean[I - 1] }, {},
      { I = 2 })
    same(out.a[1], out.b)                                   -- its statistics too
  end)

  it("is an error where nothing updates, naming the parameter", function()
    local P = tempo.program()
    local i = P:dim "i"
    local w = P:param("w", { along = { i }, init = 1 })
    local c = P:param("c", { init = 1 })
    local n = w:next()
    fails(function() P:compile { outputs = { n = n } } end, "undefined", "'w:next()'",
      "nothing updates the parameter 'w'")
    P:compile { outputs = { w = w } }                       -- which does not need it
    fails(function() c:next() end, "option", "'c' evolves along nothing")
    fails(function() n:next() end, "option", "only a parameter")
    fails(function() w:next(1) end, "option", "next takes no arguments")
    fails(function() tempo.nn.Linear(P, 1, 1):next() end, "option", "no parameter of 'linear'")
    w:update(w * 2)
    same({ 2, 4 }, P:compile { outputs = { n = n } }({}, { I = 2 }).n)
  end)
end)

describe("f:save(path, { portable = true })", function()
  local path = os.tmpname()
  after_each(function() os.remove(path) end)

  local function program(head, momentum)
    local P = tempo.program { dtype = "f64", seed = 3 }
    local i = P:dim "i"
    local body = tempo.nn.Linear(P, 2, 2, { along = { i }, name = "body" })
    local out = tempo.nn.Linear(P, 2, 1, { along = { i }, name = head })
    local x = tempo.normal({ 4, 2 }, { domain = { i }, name = "x" })
    local loss = out(body(x):tanh()):square():mean()
    tempo.optim.SGD({ body, out }, { lr = 0.1, momentum = momentum, name = "sgd" }):step(loss)
    return P, { loss = loss }, i
  end
  local function compiled(head, momentum, tier)
    local P, outputs, tick = program(head, momentum)
    return P:compile { outputs = outputs, tier = tier, tick = tick }
  end

  it("keeps parameters and moments by path, between ticks and after runs", function()
    for _, tier in ipairs(tiers) do
      local f = compiled("head", 0.9, tier)
      f:start({}, { I = 4 })
      f:step {}
      f:step {}
      f:save(path, { portable = true })
      assert.same(plain(f:params()), plain(tempo.load(path)))
      assert.is_truthy(tempo.load(path)["sgd.b.body.weight"])
      f({}, { I = 3 })
      local params = plain(f:params())
      f:save(path, { portable = true })
      assert.same(params, plain(tempo.load(path)))
      local g, h = compiled("head", 0.9, tier), compiled("head", 0.9, tier)
      assert.equal(g, g:load_params(path))
      h:load_params(f:params())
      assert.same(plain(h({}, { I = 3 })), plain(g({}, { I = 3 })))
    end
  end)

  it("goes into a changed program, with what is missing and left over as two lists", function()
    local f = compiled("head", 0.9)
    f({}, { I = 3 })
    f:save(path, { portable = true })
    local g = compiled("tail", 0)
    fails(function() g:load_params(path) end, "option", "no parameter '")
    local missing, over = g:load_params(path, { strict = false })
    assert.same({ "tail.bias", "tail.weight" }, missing)
    assert.same({ "head.bias", "head.weight", "sgd.b.body.bias", "sgd.b.body.weight",
      "sgd.b.head.bias", "sgd.b.head.weight" }, over)
    assert.same(plain(f:params())["body.weight"], plain(g:params())["body.weight"])
    g({}, { I = 0 })
    assert.same(plain(f:params())["body.weight"], plain(g:params())["body.weight"])
    f:save(path)                                            -- portable = false is the state
    f:save(path, { portable = false })
    f:load(path)
  end)

  it("says what is wrong with a file", function()
    local f = compiled("head", 0.9)
    fails(function() f:save(path, { portable = true }) end, "option", "no values of parameters yet")
    f:start({}, { I = 2 })
    f:step {}
    f:save(path, { portable = true })
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    for _, n in ipairs { 0, 1, 100, math.floor(#text / 2), #text - 1 } do
      local cut = assert(io.open(path, "wb"))
      cut:write(text:sub(1, n))
      cut:close()
      fails(function() f:load_params(path) end, "file", path)
    end
    f:save(path, { portable = true })
    fails(function() f:load(path) end, "file", "f:load_params")
    f:save(path)
    fails(function() f:load_params(path) end, "file", path .. " holds no parameters by name",
      "portable = true")
    tempo.save(path, tempo.array { 1 })
    fails(function() f:load_params(path) end, "option", "the path of such a file; got tempo.Array")
    tempo.save(path, { ["body.weight"] = tempo.array({ 1 }, "f64") })
    fails(function() f:load_params(path) end, "shape", "body.weight")
    fails(function() f:load_params "/no/such/file" end, "file", "/no/such/file")
    fails(function() f:save("/no/such/folder/file", { portable = true }) end, "file", "/no/such")
    if io.open "/dev/full" then
      fails(function() f:save("/dev/full", { portable = true }) end, "file", "/dev/full: ")
    end
    fails(function() f:save(path, { portabel = true }) end, "option", "'portable'")
    fails(function() f:save(path, { portable = 1 }) end, "option", "true or false")
    fails(function() f:save(nil, { portable = true }) end, "option", "string")
  end)

  it("keeps half floats, integers and nothing else", function()
    local P = tempo.program()
    local i = P:dim "i"
    local outputs = {}
    for _, dtype in ipairs { "f16", "bf16", "f32", "f64", "i64", "i32", "u8", "bool" } do
      local w = P:param(dtype, { along = { i }, shape = { 2 }, dtype = dtype,
        init = tempo.ones({ 2 }, { dtype = dtype }) })
      w:update(w)
      outputs[dtype] = w
    end
    local f = P:compile { outputs = outputs }
    f({}, { I = 2 })
    f:save(path, { portable = true })
    assert.same(plain(f:params()), plain(tempo.load(path)))
    f:load_params(path)
  end)
end)

describe("an error of a short form", function()
  it("has the script's file and line", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t } })
    for _, f in ipairs {
      function() P:dims "1" end,
      function() return P:tensor { domain = { t }, first = { 1, 2 }, shape = { 3 } } end,
      function() return tempo.prev(x, t, 0, 0) end,
      function() return tempo.prev(x, t, tempo.zeros { 3 }) end,
      function() return x:next() end,
      function() return tempo.program { dtype = "f99" } end,
    } do
      local ok, e = pcall(f)
      assert.is_false(ok)
      assert.is_truthy(tostring(e):find "^[^\n]*short_spec.lua:%d+: ", tostring(e))
    end
  end)
end)

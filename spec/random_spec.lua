-- Random numbers are those of docs/random.md, whatever runs the program.
local tempo = require "tempo"
local helper = require "spec.helper"
local num = require "spec.numbers"
local philox = require "spec.philox"

local uniform, uniform64, normal, randint = philox.uniform, philox.uniform64, philox.normal,
  philox.randint

describe("the specs' Philox", function()
  it("has Random123's known answers", function()
    assert.same({ 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 },
      philox.philox({ 0, 0, 0, 0 }, { 0, 0 }))
    local f = 0xffffffff
    assert.same({ 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd },
      philox.philox({ f, f, f, f }, { f, f }))
    assert.same({ 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 },
      philox.philox({ 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 }))
  end)
end)

describe("random numbers", function()
  it("are those of the documented layout", function()
    for _, seed in ipairs { 0, 1, 123456789012 } do
      local P = tempo.program { seed = seed }
      local b = P:dim "b"
      local t = P:dim "t"
      local u = tempo.uniform({ 2, 3 }, { domain = { b, t }, name = "noise" })
      local d = tempo.uniform({ 3 },
        { domain = { t }, dtype = "f64", name = "a name longer than eight bytes" })
      local n = tempo.normal({ 5 }, { domain = { b }, name = "n" })
      local h = tempo.uniform({ 64 }, { dtype = "f16", name = "h" })
      local bf = tempo.uniform({ 64 }, { dtype = "bf16", name = "bf" })
      local k = tempo.randint({ 4 }, -3, 1000, { domain = { t }, name = "eightchr" })
      local f = helper.compile(P, { u = u, d = d, n = n, k = k, h = h, bf = bf })
      local out = f({}, { B = 2, T = 3 })
      local want = { u = {}, d = {}, n = {}, k = {} }
      for i = 0, 1 do
        want.u[i + 1] = {}
        for j = 0, 2 do
          local word, e = philox.stream(seed, "noise", { i, j }), -1
          want.u[i + 1][j + 1] = helper.fill({ 2, 3 }, function()
            e = e + 1
            return uniform(word, e)
          end)
        end
        local word, e = philox.stream(seed, "n", { i }), -1
        want.n[i + 1] = helper.fill({ 5 }, function()
          e = e + 1
          return num.round(normal(word, e), "f32")
        end)
      end
      for j = 0, 2 do
        local wd, wk = philox.stream(seed, "a name longer than eight bytes", { j }),
          philox.stream(seed, "eightchr", { j })
        want.d[j + 1], want.k[j + 1] = {}, {}
        for e = 0, 2 do want.d[j + 1][e + 1] = uniform64(wd, e) end
        for e = 0, 3 do want.k[j + 1][e + 1] = randint(wk, e, -3, 1000) end
      end
      -- so many leading bits of a word, so that none rounds to 1
      for name, bits in pairs { h = 11, bf = 8 } do
        local word, got = philox.stream(seed, name, {}), out[name]:totable()
        for e = 0, 63 do
          assert.equal(math.floor(word(e) / 2 ^ (32 - bits)) / 2 ^ bits, got[e + 1])
        end
      end
      helper.same(want.u, out.u:totable(), 0, "uniform")
      helper.same(want.d, out.d:totable(), 0, "uniform f64")
      helper.same(want.n, out.n:totable(), 0, "normal")
      helper.same(want.k, out.k:totable(), 0, "randint")
    end
  end)

  it("of normal are the same bits on every tier, those of the formula, and near what libm says",
    function()
    local P = tempo.program { seed = 77 }
    local t = P:dim "t"
    local o = {}
    for _, d in ipairs { "f64", "f32", "f16", "bf16" } do
      o[d] = tempo.normal({ 37 }, { domain = { t }, dtype = d, name = "n" .. d })
    end
    o.short = tempo.normal({ 3 }, { domain = { t }, dtype = "f64", name = "short" })
    local out = helper.compile(P, o, { tol = 0 })({}, { T = 20 })
    for d, a in pairs(out) do
      local rows = a:totable()
      for j = 1, 20, 6 do
        local row, word = rows[j], philox.stream(77, d == "short" and d or "n" .. d, { j - 1 })
        for e, got in ipairs(row) do
          local want = normal(word, e - 1)
          assert.equal(num.round(want, a:dtype()), got)
          local u1, u2 = (math.floor(word(2 * e - 2) / 256) + 1) / 2 ^ 24,
            math.floor(word(2 * e - 1) / 256) / 2 ^ 24
          helper.same(math.sqrt(-2 * math.log(u1)) * math.cos(2 * math.pi * u2), want, 4e-15)
        end
      end
    end
  end)

  it("of unnamed ops go by their ordinal among the program's random ops", function()
    local P = tempo.program { seed = 3 }
    local t = P:dim "t"
    local a = tempo.uniform({}, { domain = { t } }) + 0
    local b = tempo.uniform({}, { domain = { t } }) * 1
    local out = helper.run(P, { a = a, b = b }, {}, { T = 2 })
    for j = 0, 1 do
      helper.same(uniform(philox.stream(3, 0, { j }), 0), out.a[j + 1], 0)
      helper.same(uniform(philox.stream(3, 1, { j }), 0), out.b[j + 1], 0)
    end
  end)

  it("do not depend on what draws nothing, on other outputs, or on what is needed of them",
    function()
    local function program(more)
      local P = tempo.program { seed = 9 }
      local t, T = P:dim "t"
      local o = {}
      if more then o.extra = (t:value() * 3):to "f32" + tempo.ones {} end
      local u = tempo.uniform({ 2 }, { domain = { t } }) + 0
      local v = tempo.normal({}, { domain = { t } }) + 0
      if more then
        o.u, o.sum = u, u[0 .. t + 1]:sum(0)
        o.v = v
        return helper.run(P, o, {}, { T = 5 })
      end
      o.last, o.v = u[T - 1], v
      return helper.run(P, o, {}, { T = 5 })
    end
    local a, b = program(true), program(false)
    assert.same(a.v, b.v)
    assert.same(a.u[5], b.last)
  end)

  it("do not depend on which dims are loops and which are extents", function()
    local function run(recurrent)
      local P = tempo.program { seed = 4 }
      local b = P:dim "b"
      local t = P:dim "t"
      local u = tempo.uniform({ 3 }, { domain = { b, t }, name = "u" })
      local h = P:tensor { domain = { b, t }, shape = { 3 } }
      if recurrent then
        h[{ t = 0 }] = u
        h[{ b, t }] = h[{ t = t - 1 }] * 0 + u
      else
        h:otherwise(u)
      end
      return helper.run(P, { h = h }, {}, { B = 3, T = 4 }).h
    end
    assert.same(run(false), run(true))
  end)

  it("change with the seed given at the call, and only with it", function()
    local P = tempo.program { seed = 4 }
    local t = P:dim "t"
    local u = tempo.uniform({ 2 }, { domain = { t }, name = "u" })
    local f = helper.compile(P, { u = u })
    local a, b, c = f({}, { T = 3 }), f({}, { T = 3 }, { seed = 5 }), f({}, { T = 3 }, { seed = 4 })
    local longer = f({}, { T = 9 })
    assert.same(a.u:totable(), c.u:totable())
    assert.same(a.u:totable()[3], longer.u:totable()[3])
    helper.same(uniform(philox.stream(5, "u", { 1 }), 0), b.u:get(1, 0), 0)
    assert.not_same(a.u:totable(), b.u:totable())
  end)

  it("of bernoulli are uniform numbers below p", function()
    local P = tempo.program { seed = 2 }
    local t = P:dim "t"
    local x = tempo.bernoulli({ 3 }, 0.3, { domain = { t }, name = "b" })
    local out = helper.run(P, { x = x }, {}, { T = 20 }).x
    for j = 0, 19 do
      local word = philox.stream(2, "b", { j })
      for e = 0, 2 do
        local want, got = uniform(word, e) < 0.3, out[j + 1][e + 1]
        assert.equal(want, got == true or got == 1)
      end
    end
  end)

  it("of randperm are the order of uniform numbers", function()
    local P = tempo.program { seed = 7 }
    local t = P:dim "t"
    local x = tempo.randperm({ 9 }, { domain = { t }, name = "p" })
    assert.equal("i64", x:dtype())
    local out = helper.run(P, { x = x }, {}, { T = 5 }).x
    for j = 0, 4 do
      local word, want = philox.stream(7, "p", { j }), {}
      for e = 0, 8 do want[e + 1] = e end
      table.sort(want, function(a, b) return uniform64(word, a) < uniform64(word, b) end)
      assert.same(want, out[j + 1])
    end
  end)

  it("of literals that meet their program as outputs go by the outputs' names, not by the order of a Lua table", function()
    local text = [[
      local tempo = require "tempo"
      local o = {}
      for k = 1, 12 do o["x" .. k] = tempo.uniform {} end
      local out = tempo.program():compile { outputs = o } ()
      local line = {}
      for k = 1, 12 do line[k] = out["x" .. k]:item() end
      print(table.concat(line, " "))]]
    local first = helper.script(text)
    assert.is_nil(first:find "error")
    for _ = 1, 3 do assert.equal(first, helper.script(text)) end
  end)

  it("of two ops of one name are an error", function()
    local P = tempo.program()
    local t = P:dim "t"
    helper.fails(function()
      local a = tempo.uniform({}, { domain = { t }, name = "u" }) + 0
      local b = tempo.uniform({}, { domain = { t }, name = "u" }) + 1
      return P:compile { outputs = { a = a, b = b } }
    end, "random_spec.lua:", "u")
  end)

  it("are drawn once: every reader sees the same number", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local u = tempo.uniform({ 2 }, { domain = { t } })
    local v = u + 0
    local out = helper.run(P, { zero = v - v[t], back = v[T - 1 - t], v = v }, {}, { T = 3 })
    assert.same({ { 0, 0 }, { 0, 0 }, { 0, 0 } },
      helper.map(out.zero, function(x) return x + 0 end))
    assert.same(out.v[1], out.back[3])
    assert.same(out.v[3], out.back[1])
  end)
end)

-- A key takes the place of the coordinates: the stream is that of the one coordinate k.
describe("draws under keys", function()
  local KEYS = { 0, 7, -1, 7, 2 ^ 40 + 3, -2 ^ 50 }
  local keys = tempo.array(KEYS, "i64")

  local function elements(n, word, number)
    local list = {}
    for e = 0, n - 1 do list[e + 1] = number(word, e) end
    return list
  end

  it("are those of the documented layout: of every kind, from any i64", function()
    for _, seed in ipairs { 0, 123456789012 } do
      local P = tempo.program { seed = seed }
      local t = P:dim "t"
      local k = P:input("k", { domain = { t }, dtype = "i64" })
      local function keyed(name, dtype) return { key = k, name = name, dtype = dtype } end
      local out = helper.run(P, {
        u = tempo.uniform({ 2 }, keyed "u"), one = tempo.uniform({}, keyed "one"),
          long = tempo.uniform({ 40 }, keyed "long"),
        d = tempo.uniform({ 3 }, keyed("d", "f64")), n = tempo.normal({ 3 }, keyed("n", "f64")),
        b = tempo.bernoulli({ 5 }, 0.3, keyed("b", "f32")),
          bt = tempo.bernoulli({ 5 }, tempo.full({}, 0.3), keyed("bt", "f32")),
        r = tempo.randint({ 3 }, -5, 1000, keyed "r"),
          rt = tempo.randint({ 3 }, k * 0 - 5, 1000, keyed "rt"),
        p = tempo.randperm({ 6 }, keyed "p"),
        drop = tempo.ones({ 6 }):dropout(0.25, { key = k, name = "drop" }),
      }, { k = keys }, { T = #KEYS })
      for j, key in ipairs(KEYS) do
        local function row(name, n, number)
          return elements(n, philox.stream(seed, name, { key }), number)
        end
        local function below(p, yes)
          return function(word, e) return uniform(word, e) < p and yes or 0 end
        end
        helper.same(row("u", 2, uniform), out.u[j], 0, "uniform")
        helper.same(row("one", 1, uniform)[1], out.one[j], 0, "a scalar")
        helper.same(row("long", 40, uniform), out.long[j], 0, "a long one")
        helper.same(row("d", 3, uniform64), out.d[j], 0, "uniform f64")
        helper.same(row("n", 3, normal), out.n[j], 0, "normal")
        local p = num.round(0.3, "f32")
        helper.same(row("b", 5, below(0.3, 1)), out.b[j], 0, "bernoulli")
        helper.same(row("bt", 5, below(p, 1)), out.bt[j], 0, "bernoulli of a tensor")
        helper.same(row("drop", 6, below(0.75, num.round(1 / 0.75, "f32"))), out.drop[j], 0,
          "dropout")
        helper.same(row("r", 3, function(word, e)
          return randint(word, e, -5, 1000)
        end), out.r[j], 0, "randint")
        local order, want = row("p", 6, uniform64), { 0, 1, 2, 3, 4, 5 }
        table.sort(want, function(x, y) return order[x + 1] < order[y + 1] end)
        helper.same(want, out.p[j], 0, "randperm")
      end
      assert.same(out.rt[2], out.rt[4])
      assert.not_same(out.rt[1], out.rt[2])
    end
  end)

  it("of a dim's own index are the plain draws of that dim; so are those of an index expression and of a number", function()
    local function run(keyed)
      local P = tempo.program { seed = 8 }
      local t = P:dim "t"
      local i = P:dim "i"
      local function o(name, key, domain)
        return keyed and { name = name, key = key } or { name = name, domain = domain }
      end
      return helper.run(P, {
        a = tempo.normal({ 3 }, o("a", t:value(), { t })),
          b = tempo.uniform({}, o("b", t, { t })) * 2,
        c = keyed and tempo.uniform({ 2 }, { name = "c", key = (i - 2) * 5 + t * t })
          or tempo.uniform({ 2 }, { name = "c", domain = { t } }),
        d = tempo.uniform({ 2 }, o("d", i + 0, { i })),
          n = tempo.uniform({ 2 }, keyed and { name = "n", key = -3 } or { name = "n" }),
        m = tempo.uniform({ 2 }, keyed and { name = "m", key = 0 }
          or { name = "m", domain = { t } }),
      }, {}, { T = 5, I = 3 })
    end
    local got, want = run(true), run(false)
    for _, name in ipairs { "a", "b", "d" } do helper.same(want[name], got[name], 0, name) end
    for t = 0, 4 do
      for i = 0, 2 do
        helper.same(elements(2, philox.stream(8, "c", { (i - 2) * 5 + t * t }), uniform),
          got.c[t + 1][i + 1], 0)
      end
    end
    helper.same(elements(2, philox.stream(8, "n", { -3 }), uniform), got.n, 0)
    helper.same(want.m[1], got.m, 0)
  end)

  it("stand on the dims of `domain =` and of the key, and points of one key draw the same",
    function()
    local P = tempo.program { seed = 8 }
    local t = P:dim "t"
    local i = P:dim "i"
    local k = P:input("k", { domain = { t }, dtype = "i64" })
    local wide = tempo.uniform({ 2 }, { domain = { i }, key = k })
    local constant = tempo.normal({}, { domain = { i }, key = 5 })
    assert.same({ t, i }, wide:domain())
    assert.same({ i }, (constant + 0):domain())
    assert.same({ t }, tempo.uniform({}, { key = k }):domain())
    assert.same({ t, i }, (tempo.ones({ 2 }) * i):dropout({ key = k }):domain())
    local out = helper.run(P, { wide = wide, constant = constant }, { k = keys },
      { T = #KEYS, I = 3 })
    for j = 1, #KEYS do
      assert.same(out.wide[j][1], out.wide[j][2])
      assert.same(out.wide[j][1], out.wide[j][3])
    end
    assert.same(out.wide[2], out.wide[4])
    assert.not_same(out.wide[1], out.wide[2])
    assert.same(out.constant[1], out.constant[3])
  end)

  -- s goes by what it draws under itself; w by draws under a key that it carries.
  local function carried(P, t)
    local s, w = P:tensor { domain = { t }, dtype = "i64" },
      P:tensor { domain = { t }, shape = { 2 } }
    s[0] = 3
    s[t] = tempo.randint({}, -50, 50, { key = s[t - 1], name = "s" }) - s[t - 1] * 2
    w[0] = 0
    w[t] = w[t - 1] * 0.5 + tempo.normal({ 2 }, { key = s[t - 1] + t, name = "w" })
    return s, w
  end

  it("take keys that a state carries, and say so in plain Lua", function()
    local P = tempo.program { seed = 6 }
    local t = P:dim "t"
    local s, w = carried(P, t)
    local out = helper.run(P, { s = s, w = w }, {}, { T = 20 })
    local key, sum = 3, { 0, 0 }
    for j = 1, 19 do
      local z = elements(2, philox.stream(6, "w", { key + j }), normal)
      for e = 1, 2 do
        sum[e] = num.round(num.round(sum[e] * 0.5, "f32") + num.round(z[e], "f32"), "f32")
      end
      key = randint(philox.stream(6, "s", { key }), 0, -50, 50) - key * 2
      assert.equal(key, out.s[j + 1])
      helper.same(out.w[j + 1], sum, 1e-6)
    end
  end)

  it("are the same in steps, and after a state", function()
    for _, tier in ipairs { "reference", "interpreter", "native" } do
      local P = tempo.program { seed = 6 }
      local t = P:dim "t"
      local s, w = carried(P, t)
      local k = P:input("k", { domain = { t }, dtype = "i64" })
      local f = P:compile { outputs = { s = s, w = w, u = tempo.uniform({ 2 }, { key = k }) },
        tick = t, tier = tier }
      local want = f({ k = keys }, { T = 6 })
      f:start({}, { T = 6 })
      for j = 0, 5 do
        if j == 3 then
          local state = f:state()
          f:start({}, { T = 6 })
          f:load_state(state)
        end
        local _, shown = f:step { k = KEYS[j + 1] }
        for name, a in pairs(want) do
          helper.same(helper.plain(a)[j + 1], helper.plain(shown[name]), 0, name)
        end
      end
    end
  end)

  it("have the gradient 0 through the key, and that of what they scale", function()
    local P = tempo.program { seed = 6 }
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local k = x:floor():to "i64"
    local z = tempo.normal({}, { key = k, dtype = "f64", name = "z" })
    local loss = (z * x + z)[0 .. T]:sum(0)
    local out = helper.run(P, { z = z, g = tempo.grad(loss, { x })[1] },
      { x = tempo.array({ 0.5, 7.25, -3.5 }, "f64") }, { T = 3 })
    helper.same(out.g, out.z, 0)
    for j, key in ipairs { 0, 7, -4 } do
      helper.same(normal(philox.stream(6, "z", { key }), 0), out.z[j], 0)
    end
  end)

  it("go on in loops of optimisers, under a key that ends by data, and where few points are needed",
    function()
    local P = tempo.program { seed = 6 }
    local i, I = P:dim "i"
    local t, T = P:dim "t"
    local w = P:param("w", { shape = { 2 }, along = { i }, init = tempo.zeros { 2 } })
    local k = P:input("k", { domain = { i }, dtype = "i64" })
    local x = tempo.normal({ 2 }, { key = k * 3 + t, name = "x" })
    local loss = ((x * (w + 1)):sum() - 1) ^ 2
    w:update(w - tempo.grad(loss, { w })[1] * 0.01)
    local last = tempo.uniform({}, { key = k + t, name = "last" })
    local out = helper.run(P,
      { x = x, w = w, last = last[T - 1], first = last[{ i = I - 1, t = 0 }] }, { k = keys },
      { I = 6, T = 3 })
    for a = 1, 6 do
      for b = 0, 2 do
        helper.same(elements(2, philox.stream(6, "x", { KEYS[a] * 3 + b }), function(word, e)
          return num.round(normal(word, e), "f32")
        end), out.x[a][b + 1], 0)
      end
      helper.same(uniform(philox.stream(6, "last", { KEYS[a] + 2 }), 0), out.last[a], 0)
    end
    helper.same(uniform(philox.stream(6, "last", { KEYS[6] }), 0), out.first, 0)

    P = tempo.program { seed = 6 }
    i = P:dim "i"
    t, T = P:dim "t"
    local s = P:tensor { domain = { i, t }, dtype = "i64" }
    s[{ t = 0 }] = i
    s[{ i, t }] = s[{ i, t - 1 }] + tempo.randint({}, 1, 4, { key = s[{ i, t - 1 }], name = "s" })
    P:stop(t, s:ge(9))
    local y = tempo.uniform({}, { key = s, name = "y" })
    out = helper.run(P, { s = s, n = y[0 .. T]:sum(0), last = y[T - 1] }, {}, { I = 3, T = 20 })
    for a = 0, 2 do
      local key, sum = a, 0
      for b = 1, #out.s[a + 1] do
        if key < 0 then break end
        assert.equal(key, out.s[a + 1][b])
        local u = uniform(philox.stream(6, "y", { key }), 0)
        sum = sum + u
        if key >= 9 then
          helper.same(u, out.last[a + 1], 0)
          key = -1
        else key = key + randint(philox.stream(6, "s", { key }), 0, 1, 4) end
      end
      helper.same(sum, out.n[a + 1], 1e-6)
    end
  end)

  it("are those of samples and of layers too", function()
    local P = tempo.program { seed = 6 }
    local t = P:dim "t"
    local k = P:input("k", { domain = { t }, dtype = "i64" })
    local dist, nn = require "tempo.dist", require "tempo.nn"
    local net = nn.Dropout(P, 0.5, { name = "drop", key = k })
    local logits = tempo.zeros { 3 } + k:to "f32" * 0
    local out = helper.run(P, {
      c = dist.Categorical({ logits = logits }):sample { key = k, name = "c" },
      n = dist.Normal(logits, 2):sample { key = k, name = "n" },
        r = dist.Normal(logits, 2):rsample { key = k, name = "n2" },
      d = net(logits + 1), e = net:eval()(logits + 1),
    }, { k = keys }, { T = #KEYS })
    for j, key in ipairs(KEYS) do
      helper.same(elements(3, philox.stream(6, "n", { key }), function(word, e)
        return num.round(normal(word, e), "f32") * 2
      end), out.n[j], 0)
      helper.same(elements(3, philox.stream(6, "n2", { key }), function(word, e)
        return num.round(normal(word, e), "f32") * 2
      end), out.r[j], 0)
      local u = elements(3, philox.stream(6, "c", { key }), uniform)
      local most = math.max(u[1], u[2], u[3])
      assert.equal(most, u[out.c[j] + 1])
      assert.same({ 1, 1, 1 }, out.e[j])
    end
    assert.same(out.d[2], out.d[4])
  end)

  it("do not know a text's slot in a batch, nor its neighbours", function()
    local slots = { { 5, 2 ^ 42, 0, 2 ^ 42 - 1 }, { 2 ^ 42 - 1, 5, 2 ^ 42, 1 } }
    for _, tier in ipairs { "reference", "interpreter", "native" } do
      local P = tempo.program { seed = 6 }
      local b, t = P:dims "b t"
      local request = P:input("request", { domain = { b }, dtype = "i64" })
      local key = request * 2 ^ 20 + t                   -- up to 2^62: no double has them all
      local f = P:compile { tier = tier, outputs = { u = tempo.uniform({ 3 }, { key = key }) } }
      local drawn = {}
      for k, requests in ipairs(slots) do
        local out = f({ request = tempo.array(requests, "i64") }, { B = 4, T = 3 })
        drawn[k] = {}
        for j, r in ipairs(requests) do drawn[k][r] = out.u[j - 1]:totable() end
      end
      for r, text in pairs(drawn[1]) do
        if r > 0 then assert.same(text, drawn[2][r]) end
        for e = 1, 3 do assert.not_equal(text[1][e], text[2][e]) end
      end
      assert.not_same(drawn[1][2 ^ 42], drawn[1][2 ^ 42 - 1])
    end
  end)

  it("need a name of their own, and warn of no missing domain", function()
    local P = tempo.program()
    local t = P:dim "t"
    local said, warned = tempo.warn, {}
    tempo.warn = function(text) warned[#warned + 1] = text end
    local _ = tempo.uniform({}, { key = 3 }) + t:value()
    tempo.warn = said
    assert.same({}, warned)
    helper.fails(function()
      return tempo.uniform({}, { key = t, name = "u" }) + tempo.uniform({},
        { key = t + 1, name = "u" })
    end, "option: ", "there is a random tensor 'u' already")
  end)

  it("take an i64 scalar of their own program", function()
    local P, Q = tempo.program(), tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 2 }, dtype = "i64" })
    helper.fails(function()
      local _ = tempo.uniform({}, { key = x })
    end, "shape: the key of a draw is an i64 scalar, not one of shape (2)")
    helper.fails(function() local _ = tempo.randint({}, 9, { key = x:select(0, 0):to "i32" }) end,
      "dtype: the key of a draw is an i64 scalar, not i32: convert")
    helper.fails(function()
      local _ = (x + 0.5):dropout { key = x:sum(0):to "f32" }
    end, "dtype: the key of a draw is an i64 scalar, not f32: convert")
    helper.fails(function()
      local _ = tempo.normal({}, { key = t:lt(2) })
    end, "dtype: the key of a draw is an i64 scalar, not bool")
    helper.fails(function()
      local _ = tempo.normal({}, { key = 0.5, domain = { t } })
    end, "dtype: 'normal': the key 0.5 is no integer")
    helper.fails(function()
      local _ = tempo.normal({}, { key = { 1, 2 }, domain = { t } })
    end, "the key of a draw is an i64 scalar")
    helper.fails(function()
      local _ = tempo.uniform({}, { key = Q:dim "t" + 0, domain = { t } })
    end, "option: ", "two programs")
    helper.fails(function()
      local _ = tempo.uniform({}, { key = "k", domain = { t } })
    end, "option: option 'key' of 'uniform'")
  end)
end)

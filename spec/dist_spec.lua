-- tempo.dist: log probabilities and entropies against closed forms, samples by their frequencies.
local tempo = require "tempo"
local helper = require "spec.helper"
local dist = require "tempo.dist"
local same = helper.same

describe("Categorical", function()
  local logits = { { 1, 2, 3 }, { 0, 0, 0 }, { -5, 5, -5 } }
  local function probs(row)
    local z, p = 0, {}
    for _, v in ipairs(row) do z = z + math.exp(v) end
    for k, v in ipairs(row) do p[k] = math.exp(v) / z end
    return p
  end

  it("has log_prob, entropy, probs and mode", function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local x = P:input("x", { domain = { t }, shape = { 3 } })
    local a = P:input("a", { domain = { t }, dtype = "i64" })
    local d = dist.Categorical { logits = x }
    local e = dist.Categorical { probs = x:exp() * 7 }
    local out = helper.run(P,
      { lp = d:log_prob(a), h = d:entropy(), p = d.probs, m = d.mode, l = d.logits,
      lq = e:log_prob(a) }, { x = logits, a = { 2, 1, 0 } }, { T = 3 })
    for k, row in ipairs(logits) do
      local p = probs(row)
      local h = 0
      for j = 1, 3 do
        h = h - p[j] * math.log(p[j])
        same(p[j], out.p[k][j])
        same(math.log(p[j]), out.l[k][j])
      end
      same(h, out.h[k])
      local a1 = ({ 3, 2, 1 })[k]
      same(math.log(p[a1]), out.lp[k])
      same(math.log(p[a1]), out.lq[k], 1e-4)
    end
    assert.same({ 2, 0, 1 }, out.m)
  end)

  it("takes a batch on leading axes", function()
    local P = tempo.program()
    local d = dist.Categorical { logits = P:constant(logits) }
    local a = P:constant(tempo.array({ 0, 1, 1 }, "i64"))
    local out = helper.run(P, { lp = d:log_prob(a), s = d:sample() }, {}, {})
    same({ math.log(probs(logits[1])[1]), -math.log(3), math.log(probs(logits[3])[2]) }, out.lp)
    assert.equal(3, #out.s)
  end)

  it("samples with its probabilities, i64, at every point of its domain", function()
    local n = 20000
    local P = tempo.program { seed = 5 }
    local t = P:dim("t", "T")
    local x = P:constant { 0, 1, -math.huge, 2 }
    local a = dist.Categorical({ logits = x }):sample { domain = { t }, name = "a" }
    assert.equal("i64", a:dtype())
    assert.same({ t }, a:domain())
    local out = helper.value(P, a, {}, { T = n })
    local count = { 0, 0, 0, 0 }
    for _, v in ipairs(out) do count[v + 1] = count[v + 1] + 1 end
    assert.equal(0, count[3])                   -- a masked category is never drawn
    local p = probs { 0, 1, -math.huge, 2 }
    for k = 1, 4 do
      assert.is_true(math.abs(count[k] / n - p[k]) < 5 * math.sqrt(p[k] * (1 - p[k]) / n + 1e-12))
    end
  end)

  it("stands masked categories: entropy and gradients are finite", function()
    local P = tempo.program()
    local x = P:constant { 0, -math.huge, 0 }
    local w = P:constant { 1, 1, 1 }
    local d = dist.Categorical { logits = x + w }
    local loss = d:entropy() + d:log_prob(P:constant(tempo.array(2, "i64")))
    local out = helper.run(P, { h = d:entropy(), g = tempo.grad(loss, { w })[1] }, {}, {})
    same(math.log(2), out.h)
    same({ -0.5, 0, 0.5 }, out.g)
  end)

  it("has the gradient of log softmax", function()
    local P = tempo.program()
    local x = P:constant { 1, 2, 3 }
    local d = dist.Categorical { logits = x }
    local p = probs { 1, 2, 3 }
    local g = tempo.grad(d:log_prob(P:constant(tempo.array(1, "i64"))), { x })[1]
    same({ -p[1], 1 - p[2], -p[3] }, helper.value(P, g, {}, {}))
    -- a sample has none
    local s = tempo.grad(d:sample({ name = "s" }):to "f32" * x:sum(), { x })[1]
    local out = helper.run(P, { s = s, a = d:sample { name = "s2" } }, {}, {})
    same(out.s[1], out.s[2])
  end)

  it("has finite gradients where a probability is 0", function()
    local P = tempo.program()
    local p = P:input("p", { shape = { 3 } })
    local d = tempo.dist.Categorical { probs = p }
    local g = tempo.grad(d:log_prob(P:constant(tempo.array(1, "i64"))) + d:entropy(), { p })
    local out = helper.run(P, { g = g[1], draw = d:sample { name = "d" } },
      { p = { 0, 0.25, 0.75 } })
    -- d/dp_k: [k = 1] / p_1 - 1 - log p_k - entropy, as the p_k sum to 1
    local entropy = 0.25 * math.log(4) + 0.75 * math.log(4 / 3)
    same({ 4 - 1 + math.log(4) - entropy, -1 + math.log(4 / 3) - entropy }, { out.g[2], out.g[3] })
    -- log 0 is that of the smallest probability there is
    assert.is_true(math.abs(out.g[1]) < 20)
    assert.is_true(out.draw == 1 or out.draw == 2)
  end)

  it("wants logits or probs", function()
    local x = tempo.program():constant { 1, 2 }
    helper.fails(function() local _ = dist.Categorical {} end, "option")
    helper.fails(function() local _ = dist.Categorical() end, "option")
    helper.fails(function()
      local _ = dist.Categorical { logits = { 1, 2 } }
    end, "option", "tensors")
    helper.fails(function() local _ = dist.Normal(nil, 2) end, "option", "tensor")
    helper.fails(function() local _ = dist.Categorical { logits = x, probs = x } end, "option")
    helper.fails(function() local _ = dist.Categorical { logit = x } end, "option", "'logits'")
    helper.fails(function() local _ = dist.Categorical(x) end, "option", "{ logits = x }")
    helper.fails(function() local _ = dist.Categorical({ logits = x }):sample(x) end, "option",
      "tempo.Tensor<f32 () [2]>")
  end)
end)

describe("Normal", function()
  setup(helper.quiet)
  teardown(helper.loud)
  it("has log_prob and entropy", function()
    local P = tempo.program()
    local mean, std = P:constant { 0, 1, -2 }, P:constant { 1, 0.5, 3 }
    local d, e = dist.Normal(mean, std), dist.Normal(mean, 2)
    local x = P:constant { 0.5, 0.5, 0.5 }
    local out = helper.run(P,
      { lp = d:log_prob(x), h = d:entropy(), lq = e:log_prob(x), hq = e:entropy() }, {}, {})
    local function lp(m, s)
      return -(0.5 - m) ^ 2 / (2 * s * s) - math.log(s) - 0.5 * math.log(2 * math.pi)
    end
    local function h(s) return 0.5 * math.log(2 * math.pi * math.exp(1) * s * s) end
    same({ lp(0, 1), lp(1, 0.5), lp(-2, 3) }, out.lp)
    same({ lp(0, 2), lp(1, 2), lp(-2, 2) }, out.lq)
    same({ h(1), h(0.5), h(3) }, out.h)
    same({ h(2), h(2), h(2) }, out.hq)
  end)

  it("samples; gradients go through rsample only", function()
    local n = 20000
    local P = tempo.program { seed = 2 }
    local t = P:dim("t", "T")
    local mean, std = P:param("mean", { init = 3 }), P:param("std", { init = 0.5 })
    local d = dist.Normal(mean, std)
    local s, r = d:sample { domain = { t }, name = "s" }, d:rsample { domain = { t }, name = "r" }
    local out = helper.run(P,
      { s = s, r = r, gs = tempo.grad(s, { mean })[1], gm = tempo.grad(r, { mean })[1],
      gd = tempo.grad(r, { std })[1] }, {}, { T = n }, { tol = 1e-3 })
    for _, row in ipairs { out.s, out.r } do
      local sum, squares = 0, 0
      for _, v in ipairs(row) do sum, squares = sum + v, squares + (v - 3) ^ 2 end
      assert.is_true(math.abs(sum / n - 3) < 0.02)
      assert.is_true(math.abs(math.sqrt(squares / n) - 0.5) < 0.02)
    end
    same(0, out.gs)
    same(n, out.gm, 1e-3)
    local z = 0
    for _, v in ipairs(out.r) do z = z + (v - 3) / 0.5 end
    same(z, out.gd, 1e-2)
  end)
end)

describe("distributions", function()
  local fixtures = require "spec.fixtures.dist"
  local make = { Bernoulli = function(l)
    return dist.Bernoulli { logits = l }
  end, Normal = dist.Normal, TanhNormal = dist.TanhNormal, Beta = dist.Beta }
  local unpack = table.unpack or unpack       -- luacheck: globals unpack
  local outputs, P, outs

  setup(function()
    helper.quiet()
    P, outputs = tempo.program { seed = 3 }, {}
    for _, row in ipairs(fixtures.rows) do
      local args, others = {}, {}
      for k, a in ipairs(row.args) do
        args[k], others[k] = P:constant(a), P:constant(row.others[k])
      end
      local p, q = make[row.name](unpack(args)), make[row.name](unpack(others))
      local lp, kl = p:log_prob(P:constant(row.x)), p:kl(q)
      local entropy = row.entropy and p:entropy()
      local grads = tempo.grad(lp + kl + (entropy or 0), args)
      outputs[row.name .. ".log_prob"], outputs[row.name .. ".kl"] = lp, kl
      outputs[row.name .. ".entropy"] = entropy
      for k, g in ipairs(grads) do outputs[row.name .. ".grad" .. k] = g end
      outputs[row.name .. ".joint"] = p:sum():log_prob(P:constant(row.x))
      outputs[row.name .. ".joint_kl"] = p:sum(0):kl(q:sum(0))
    end
    local c = fixtures.categorical
    local mask = P:constant(tempo.array({ { true, false, true }, { true, true, false } }, "bool"))
    local logits = P:constant(c.logits)
    local d = dist.Categorical { logits = logits, mask = mask }
    local e = dist.Categorical { probs = logits:exp(), mask = mask }
    local a = P:constant(tempo.array({ 2, 0 }, "i64"))
    outputs["masked.entropy"], outputs["masked.probs"] = d:entropy(), d.probs
    outputs["masked.mode"] = d.mode
    outputs["masked.grad"] = tempo.grad(d:entropy() + d:log_prob(a), { logits })[1]
    outputs["masked.of_probs"], outputs["masked.entropy_of_probs"] = e.probs, e:entropy()
    outputs["masked.kl"] = d:kl(d)
    outputs["masked.illegal"] = d:log_prob(P:constant(tempo.array({ 1, 2 }, "i64"))):exp()
    local full = dist.Categorical { logits = logits }
    outputs["categorical.kl"] = full:kl(dist.Categorical { logits = P:constant(c.others) })
    outputs["masked.kl_to_full"] = d:kl(full)
    local nothing = P:constant(tempo.array({ { false }, { false } }, "bool"))
    local none = dist.Categorical { logits = logits, mask = nothing }
    outputs["masked.none"] = none.probs
    outs = helper.run(P, outputs, {}, {}, { tol = 1e-4 })
  end)
  teardown(helper.loud)

  for _, row in ipairs(fixtures.rows) do
    it(row.name .. " is torch's: log_prob, entropy, divergence, gradients, sums", function()
      same(row.log_prob, outs[row.name .. ".log_prob"], 2e-5)
      if row.entropy then same(row.entropy, outs[row.name .. ".entropy"], 2e-5) end
      same(row.kl, outs[row.name .. ".kl"], 2e-5)
      for k, g in ipairs(row.grads) do same(g, outs[row.name .. ".grad" .. k], 1e-4) end
      local lp, kl = 0, 0
      for k = 1, #row.x do lp, kl = lp + row.log_prob[k], kl + row.kl[k] end
      same(lp, outs[row.name .. ".joint"], 2e-5)
      same(kl, outs[row.name .. ".joint_kl"], 2e-5)
    end)
  end

  it("Categorical has a mask: probability 0, finite entropy, gradients and divergence", function()
    local m = fixtures.categorical.masked
    same(m.entropy, outs["masked.entropy"], 2e-5)
    same(m.entropy, outs["masked.entropy_of_probs"], 2e-5)
    same(m.probs, outs["masked.probs"], 2e-5)
    same(m.probs, outs["masked.of_probs"], 2e-5)
    assert.equal(0, outs["masked.probs"][1][2])
    same(m.grad, outs["masked.grad"], 2e-5)
    same({ 0, 0 }, outs["masked.kl"])
    same({ 0, 0 }, outs["masked.illegal"], 0)
    assert.same({ 2, 1 }, outs["masked.mode"])
    same({ { 1 / 3, 1 / 3, 1 / 3 }, { 1 / 3, 1 / 3, 1 / 3 } }, outs["masked.none"])
    same(fixtures.categorical.kl, outs["categorical.kl"], 2e-5)
    local kl = {}           -- of the masked from the whole: -log of what the mask leaves
    for k, l in ipairs(fixtures.categorical.logits) do
      local z = math.exp(l[1]) + math.exp(l[2]) + math.exp(l[3])
      kl[k] = -math.log((z - math.exp(l[k == 1 and 2 or 3])) / z)
    end
    same(kl, outs["masked.kl_to_full"], 2e-5)
  end)

  it("MultiCategorical is several Categoricals at once, masks included", function()
    local Q = tempo.program { seed = 5 }
    local t = Q:dim "t"
    local logits = { 1, 2, 3, 0.5, -0.5, 4, 1, 0, 0 }
    local mask = { true, true, false, true, true, false, true, true, true }
    local x, other = Q:constant(logits), Q:constant { 0, 0, 0, 1, 1, 0, 0, 2, 1 }
    local sizes = { 3, 2, 4 }
    local m = Q:constant(tempo.array(mask, "bool"))
    local d = dist.MultiCategorical { logits = x, sizes = sizes, mask = m }
    local e = dist.MultiCategorical { logits = other, sizes = sizes, mask = m }
    local a = Q:constant(tempo.array({ 1, 0, 2 }, "i64"))
    local lp, h, kl, at = 0, 0, 0, 0
    for k, n in ipairs(sizes) do
      local function cut(y) return y:slice(-1, at, at + n) end
      local one = dist.Categorical { logits = cut(x), mask = cut(m) }
      lp, h = lp + one:log_prob(a:select(0, k - 1)), h + one:entropy()
      kl = kl + one:kl(dist.Categorical { logits = cut(other), mask = cut(m) })
      at = at + n
    end
    local out = helper.run(Q, { lp = d:log_prob(a), h = d:entropy(), kl = d:kl(e), lp1 = lp,
      h1 = h, kl1 = kl, mode = d.mode, s = d:sample { domain = { t }, name = "s" },
      g = tempo.grad(d:log_prob(a) + d:entropy(), { x })[1] }, {}, { T = 400 })
    same({ out.lp1, out.h1, out.kl1 }, { out.lp, out.h, out.kl })
    assert.same({ 1, 0, 1 }, out.mode)
    for _, k in ipairs { 3, 6 } do same(0, out.g[k], 0) end
    local count = { 0, 0, 0 }
    for _, s in ipairs(out.s) do
      assert.is_true(s[1] < 2 and s[2] < 2 and s[3] > 0)     -- what the mask allows
      for k = 1, 3 do count[k] = count[k] + (s[k] == out.mode[k] and 1 or 0) end
    end
    for k, l in ipairs { 1, 1, 1 } do
      local p = 1 / (1 + ({ math.exp(-l), math.exp(-1), 2 * math.exp(-l) })[k])
      assert.is_true(math.abs(count[k] / 400 - p) < 5 * math.sqrt(p * (1 - p) / 400))
    end
  end)

  it("TanhNormal knows its draws: densities where tanh rounds to 1; else the inverse", function()
    local Q = tempo.program { seed = 1 }
    local t = Q:dim "t"
    local tails = fixtures.tails
    local mean = Q:constant(tails.x)
    local d, e = dist.TanhNormal(mean, 1e-6), dist.TanhNormal(0, Q:constant { 10 })
    local y = d:sample { name = "y" }
    d.base.mean, d.base.std = 0 * mean, 10      -- the density of another normal at the draws
    local w = Q:param("w", { init = 0.25 })
    local r = dist.TanhNormal(w, w:exp())
    local z = r:rsample { domain = { t }, name = "z" }
    local ends = Q:constant { -1, 1 }
    local out = helper.run(Q, { y = y, lp = d:log_prob(y), ends = e:log_prob(ends), z = z,
      drawn = r:log_prob(z), seen = r:log_prob(z * 1),
        s = tempo.grad(r:sample { name = "s" }, { w })[1],
      g = tempo.grad(r:log_prob(z), { w })[1], mode = r.mode }, {}, { T = 500 }, { tol = 1e-3 })
    same(tails.log_prob, out.lp, 1e-4)
    for _, v in ipairs(out.y) do assert.is_true(math.abs(v) <= 1) end
    for _, v in ipairs(out.ends) do assert.is_true(v > 10 and v < 20) end
    same(out.drawn, out.seen, 2e-3)
    same(0, out.s, 0)
    same(helper.tanh(0.25), out.mode)
    -- log N(mean + std z) depends on w by -log std = -w alone; dx/dw = 1 + std z, d log(1 - y^2)/dx
    -- = -2 y
    local g = 0
    for _, v in ipairs(out.z) do
      local x = 0.5 * math.log((1 + v) / (1 - v))
      g = g - 1 + 2 * v * (1 + (x - 0.25))
    end
    same(g, out.g, 1e-2)
  end)

  it("Beta and Bernoulli draw with their probabilities", function()
    local n = 4000
    local Q = tempo.program { seed = 8 }
    local t = Q:dim "t"
    local a, b = {}, {}
    for k, q in ipairs(fixtures.quantiles) do a[k], b[k] = q[1], q[2] end
    local d = dist.Beta(Q:constant(a), Q:constant(b))
    local tiny = dist.Beta(Q:constant { 1e-3, 1e5 }, 1e-3)
    local coin = dist.Bernoulli { probs = Q:constant { 0, 0.25, 1 } }
    local function draws(of, name) return of:sample { domain = { t }, name = name } end
    local out = helper.run(Q, { x = draws(d, "x"), c = draws(coin, "c"), tiny = draws(tiny, "tiny"),
      mean = d.mean, mode = d.mode, lp = tiny:log_prob(tiny:sample { name = "u" }),
      coin = coin.mode, h = coin:entropy() }, {}, { T = n }, { tol = 1e-4 })
    for k, q in ipairs(fixtures.quantiles) do
      for j, p in ipairs { 0.1, 0.25, 0.5, 0.75, 0.9 } do
        local below = 0
        for _, x in ipairs(out.x) do below = below + (x[k] < q[3][j] and 1 or 0) end
        assert.is_true(math.abs(below / n - p) < 4.5 * math.sqrt(p * (1 - p) / n))
      end
    end
    same({ 0.3, 0.5, 2 / 7, 0.8 }, out.mean)
    same({ 0, 0.5, 0.2, 79 / 98 }, out.mode)
    local ones = 0
    for k, x in ipairs(out.c) do
      assert.is_true(x[1] == 0 and x[3] == 1)
      ones = ones + x[2]
      for _, v in ipairs(out.tiny[k]) do assert.is_true(v > 0 and v < 1) end
    end
    assert.is_true(math.abs(ones / n - 0.25) < 0.035)
    for _, v in ipairs(out.lp) do assert.is_true(v == v and math.abs(v) < math.huge) end
    assert.same({ 0, 0, 1 }, out.coin)
    same({ 0, 0.25 * math.log(4) + 0.75 * math.log(4 / 3), 0 }, out.h, 1e-4)
  end)

  it("say what they lack and what is wrong", function()
    local x = tempo.program():constant { 1, 2 }
    local c, n = dist.Categorical { logits = x }, dist.Normal(x, 1)
    helper.fails(function() return (dist.kl(c, n)) end, "option",
      "dist.Categorical and dist.Normal")
    helper.fails(function() return (n:kl(3)) end, "option", "dist.Normal and number")
    helper.fails(function() return (c:rsample()) end, "option", "log_prob")
    helper.fails(function() return (dist.TanhNormal(x, 1):entropy()) end, "option", "estimates")
    helper.fails(function()
      return (dist.MultiCategorical { logits = x, sizes = { 3 } })
    end, "shape", "3", "2")
    helper.fails(function() return (dist.MultiCategorical { logits = x }) end, "option", "sizes")
    helper.fails(function()
      return (dist.Categorical { logits = x, mask = { true } })
    end, "option", "mask")
    helper.fails(function() return (dist.Beta(1, 2)) end, "option", "tensor")
  end)
end)

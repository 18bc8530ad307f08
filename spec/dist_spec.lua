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
    local out = helper.run(P, { lp = d:log_prob(a), h = d:entropy(), p = d.probs, m = d.mode, l = d.logits,
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
    for k = 1, 4 do assert.is_true(math.abs(count[k] / n - p[k]) < 5 * math.sqrt(p[k] * (1 - p[k]) / n + 1e-12)) end
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
    local out = helper.run(P, { g = g[1], draw = d:sample { name = "d" } }, { p = { 0, 0.25, 0.75 } })
    local entropy = 0.25 * math.log(4) + 0.75 * math.log(4 / 3)     -- d/dp_k: [k = 1] / p_1 - 1 - log p_k - entropy, as the p_k sum to 1
    same({ 4 - 1 + math.log(4) - entropy, -1 + math.log(4 / 3) - entropy }, { out.g[2], out.g[3] })
    assert.is_true(math.abs(out.g[1]) < 20)                         -- log 0 is that of the smallest probability there is
    assert.is_true(out.draw == 1 or out.draw == 2)
  end)

  it("wants logits or probs", function()
    local x = tempo.program():constant { 1, 2 }
    helper.fails(function() local _ = dist.Categorical {} end, "option")
    helper.fails(function() local _ = dist.Categorical() end, "option")
    helper.fails(function() local _ = dist.Categorical { logits = { 1, 2 } } end, "option", "tensors")
    helper.fails(function() local _ = dist.Normal(nil, 2) end, "option", "tensor")
    helper.fails(function() local _ = dist.Categorical { logits = x, probs = x } end, "option")
    helper.fails(function() local _ = dist.Categorical { logit = x } end, "option", "'logits'")
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
    local out = helper.run(P, { lp = d:log_prob(x), h = d:entropy(), lq = e:log_prob(x), hq = e:entropy() }, {}, {})
    local function lp(m, s) return -(0.5 - m) ^ 2 / (2 * s * s) - math.log(s) - 0.5 * math.log(2 * math.pi) end
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
    local out = helper.run(P, { s = s, r = r, gs = tempo.grad(s, { mean })[1], gm = tempo.grad(r, { mean })[1],
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

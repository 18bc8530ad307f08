-- tempo.nn: layers against NumPy's numbers (spec/fixtures/make_nn.py), names, views, initialisers.
local tempo = require "tempo"
local helper = require "spec.helper"
local nn = require "tempo.nn"
local same = helper.same
local fixture = dofile "spec/fixtures/nn.lua"

local function paths(net)
  local out = {}
  for path in net:named_parameters() do out[#out + 1] = path end
  return out
end

-- Runs `build(P, t)` -> module, output in each tier with the fixture's weights loaded.
local function check(case, build)
  local want = fixture[case]
  for _, tier in ipairs(helper.tiers) do
    local P = tempo.program()
    local t = P:dim("t", "T")
    local x = P:input("x", { domain = { t }, shape = { fixture.B, fixture.D } })
    local f = P:compile { outputs = { y = build(P, t, x) }, tier = tier }
    local params = {}
    for key, value in pairs(want.params) do params["m." .. key] = value end
    f:load_params(params)
    same(want.y, f({ x = fixture.x }, { T = fixture.T }).y, 1e-5)
  end
end

describe("a layer gives NumPy's numbers:", function()
  local function zeros() return tempo.zeros { fixture.B, fixture.H } end
  local function state(P, t)
    return P:tensor { domain = { t }, shape = { fixture.B, fixture.H } }
  end

  for _, class in ipairs { "RNNCell", "GRUCell" } do
    it(class, function()
      check(class, function(P, t, x)
        local cell = nn[class](P, fixture.D, fixture.H, { name = "m" })
        local h = state(P, t)
        h[0] = cell(x, zeros())
        h[t] = cell(x, h[t - 1])
        return h
      end)
    end)
  end

  it("LSTMCell", function()
    check("LSTMCell", function(P, t, x)
      local cell = nn.LSTMCell(P, fixture.D, fixture.H, { name = "m" })
      local h, c = state(P, t), state(P, t)
      h[0], c[0] = cell(x, zeros(), zeros())
      local h1, c1 = cell(x, h[t - 1], c[t - 1])
      h[t], c[t] = h1, c1
      return h
    end)
  end)

  it("MLP", function()
    check("MLP", function(P, _, x)
      return nn.MLP(P, { fixture.D, 6, 2 }, { name = "m", activation = "tanh" })(x)
    end)
  end)

  it("LayerNorm", function()
    check("LayerNorm", function(P, _, x)
      return nn.LayerNorm(P, { fixture.D }, { name = "m" })(x)
    end)
  end)
end)

describe("a module", function()
  local P, i

  before_each(function()
    P = tempo.program()
    i = P:dim("i", "I")
  end)

  it("has named parameters in order", function()
    local net = nn.MLP(P, { 4, 8, 2 }, { name = "policy", along = { i } })
    assert.same({ "policy.0.weight", "policy.0.bias", "policy.1.weight", "policy.1.bias" },
      paths(net))
    local list = net:parameters()
    assert.equal(4, #list)
    assert.same({ 8, 4 }, list[1]:shape())
    assert.same({ 2 }, list[4]:shape())
    assert.equal("policy.0.weight", list[1]:name())
    assert.same({ i }, list[1]:along())
    assert.equal(list[3], net[1].weight)
  end)

  it("gets a fresh name of its own", function()
    local a, b = nn.Linear(P, 2, 2), nn.Linear(P, 2, 2)
    assert.same({ "linear.weight", "linear.bias" }, paths(a))
    assert.same({ "linear1.weight", "linear1.bias" }, paths(b))
    assert.same({ "linear.weight", "linear.bias" }, paths(nn.Linear(tempo.program(), 2, 2)))
  end)

  it("is read elsewhere as a whole", function()
    local k = P:dim("k", "K")
    local net = nn.MLP(P, { 2, 3, 1 }, { name = "net", along = { i, k }, init = "ones" })
    for _, w in ipairs(net:parameters()) do w:update(w * 2) end
    local x = P:constant { 1, 1 }
    local first, here = net:at { k = 0 }, net
    assert.same({ i }, first:parameters()[1]:domain())
    assert.same({ i }, net:at({ [k] = 0 }):parameters()[2]:domain())
    assert.equal(2, #here:parameters()[1]:domain())
    assert.same(paths(net), paths(first))
    local out = helper.run(P,
      { first = first[0].weight:sum(), here = here[0].weight:sum(), y = first(x) },
      {}, { I = 2, K = 3 })
    same({ 6, 48 }, out.first)
    same({ { 6, 12, 24 }, { 48, 96, 192 } }, out.here)
    helper.fails(function() local _ = net:at { q = 0 } end, "domain", "'q'")
  end)

  it("leaves parameters without the dim as they are in a view", function()
    local fixed = nn.Linear(P, 2, 2, { name = "fixed" })
    local net = nn.Sequential(P,
      { fixed, "tanh", nn.Linear(P, 2, 1, { name = "moving", along = { i } }) })
    local view = net:at { i = 0 }
    assert.equal(net[0].weight, view[0].weight)
    assert.same({}, view[2].weight:domain())
    assert.same({ "fixed.weight", "fixed.bias", "moving.weight", "moving.bias" }, paths(net))
  end)

  it("is one for each point of domain", function()
    local l = P:dim("l", "L")
    local net = nn.Linear(P, 2, 2, { name = "layer", domain = { l }, bias = false })
    local w = helper.run(P, { w = net.weight }, {}, { L = 3 }).w
    assert.equal(3, #w)
    assert.are_not.equal(w[1][1][1], w[2][1][1])
  end)

  it("can be a class of the script", function()
    local Gated = nn.class "Gated"
    local net = Gated:create(P, { name = "gated", along = { i } })
    net:add("inner", nn.Linear(P, 2, 2, { name = "gated.inner", along = { i }, init = "ones" }))
    net:param("gate", { 2 }, { init = 0.5 })
    function Gated:forward(x) return self.inner(x) * self.gate end
    assert.same({ "gated.gate", "gated.inner.weight", "gated.inner.bias" }, paths(net))
    same({ { 1.5, 1.5 } }, helper.value(P, net(P:constant { 1, 2 }) + 0 * i:value(), {}, { I = 1 }))
  end)

  it("adopts what the script assigns, once", function()
    local Net = nn.class "Net"
    function Net:forward(x)
      return self.head(self.body(x):relu()) + self.shift + self.again(x):sum()
    end
    local net = Net:create(P, { name = "net" })
    local body = nn.Linear(P, 2, 3, { name = "net.body", along = { i } })
    net.body = body
    net.head = nn.Linear(P, 3, 1, { name = "net.head", along = { i } })
    net.shift = P:param("net.shift", { along = { i }, shape = { 1 }, init = 0 })
    net.again = body                            -- the same layer in a second place
    net.note = "no parameter"
    assert.same({ "net.shift", "net.body.weight", "net.body.bias", "net.head.weight",
      "net.head.bias" }, paths(net))
    local view = net:at { i = 0 }
    assert.equal(5, #view:parameters())
    assert.same({}, view.head.weight:domain())
    assert.same({}, view.again.weight:domain())
    tempo.optim.SGD(net, { lr = 0.1 }):step(net(P:constant { 1, 2 }):sum())
    local first, last = {}, {}
    for _, tier in ipairs(helper.tiers) do
      local f = P:compile { outputs = { w = body.weight }, tier = tier }
      f({}, { I = 0 })
      first[#first + 1] = f:params()["net.shift"]:totable()
      f({}, { I = 1 })
      last[#last + 1] = f:params()["net.shift"]:totable()
    end
    same({ { 0 }, { 0 } }, first)
    same({ { -0.1 }, { -0.1 } }, last)
  end)

  it("adopts lists of modules and parameters, filled at once or later, nested or by name",
    function()
    local Net = nn.class "Net"
    local function linear(name)
      return nn.Linear(P, 1, 1, { name = name, along = { i }, init = "ones", bias = false })
    end
    local net = Net:create(P, { name = "net" })
    net.first = linear "first"
    net.layers = {}
    for k = 1, 2 do net.layers[k] = linear("layers." .. k) end
    net.heads = { value = linear "value",
      policy = { linear "policy.0", nn.Dropout(P, 0.5), linear "policy.1" } }
    net.scales = { P:param("scales.0", { along = { i }, init = 2 }) }
    net.sizes, net.rows, net.words = { 4, 8 }, { { 1, 2 }, { 3, 4 } }, { "first" }
    net._private = { linear "private" }
    net.last = linear "last"
    function Net:forward(x)
      for _, layer in ipairs(self.layers) do x = layer(x) end
      for _, layer in ipairs(self.heads.policy) do x = layer(x) end
      return self.last(self.heads.value(x)) * self.scales[1]
    end
    assert.same({ "first.weight", "layers.1.weight", "layers.2.weight", "policy.0.weight",
      "policy.1.weight", "value.weight", "scales.0", "last.weight" }, paths(net))
    local view = net:at { i = 0 }
    assert.same({}, view.layers[2].weight:domain())
    assert.same({}, view.heads.policy[1].weight:domain())
    assert.same({}, view.scales[1]:domain())
    assert.equal(net.sizes[2], view.sizes[2])
    assert.same({ i }, net.layers[2].weight:domain())      -- the module itself is as it was
    local eval = net:eval()
    assert.is_false(eval.heads.policy[2].training)
    assert.is_true(net.heads.policy[2].training)
    local x = P:constant { 1 }
    -- the gradient of 2 * the product of six ones
    tempo.optim.SGD({ net }, { lr = 0.25 }):step(eval(x):sum())
    local w = net:at { i = 1 }
    helper.quiet()                                          -- 'first' is not in the loss
    finally(helper.loud)
    same({ { 0.5 } }, helper.value(P, w.heads.policy[3].weight, {}, { I = 2 }))
    same(1.75, helper.value(P, w.scales[1], {}, { I = 2 }))
    same({ 1.75 * 0.5 ^ 6 }, helper.value(P, w:eval()(x), {}, { I = 2 }))
  end)

  it("in two places, or in itself, is walked once", function()
    local Net = nn.class "Net"
    local net, one = Net:create(P, { name = "net" }),
      nn.Linear(P, 1, 1, { name = "one", along = { i } })
    net.a, net.b = { one }, { one, { one } }
    net.info = { net = net }
    net.info.again = net.info
    assert.same({ "one.weight", "one.bias" }, paths(net))
    local view = net:at { i = 0 }
    assert.equal(view.a[1], view.b[2][1])
    assert.equal(view, view.info.net)
  end)

  it("can have other tensors in the place of its parameters", function()
    for _, tier in ipairs(helper.tiers) do
      local Q = tempo.program()
      local k, K = Q:dim "k"
      local net = nn.MLP(Q, { 1, 2, 1 }, { name = "net", init = "ones" })
      local x, seen = Q:constant { 0.5 }, {}
      local ahead = net:mapped(function(w, path)
        seen[#seen + 1] = path
        local own = Q:tensor { domain = { k }, shape = w:shape() }
        own[0] = w
        own:otherwise(own[k - 1] * 0.5)
        return own
      end)
      assert.same({ "net.0.weight", "net.0.bias", "net.1.weight", "net.1.bias" }, seen)
      local f = Q:compile { outputs = { y = ahead(x), last = ahead:at { k = K - 1 }(x),
        net = net(x) }, tier = tier }
      local out, want = f({}, { K = 3 }), {}
      local function tanh(v) return (math.exp(2 * v) - 1) / (math.exp(2 * v) + 1) end
      for n = 0, 2 do want[n + 1] = { 2 * 0.5 ^ n * tanh(0.5 * 0.5 ^ n) } end
      same(want, out.y)
      same(want[3], out.last)
      same(want[1], out.net)
    end
  end)

  it("gives fresh names that the script has not taken", function()
    nn.Linear(P, 2, 2, { name = "linear" })
    nn.Linear(P, 2, 2, { name = "linear2" })
    assert.equal("linear1", nn.Linear(P, 2, 2).name)
    assert.equal("linear3", nn.Linear(P, 2, 2).name)
    helper.fails(function()
      nn.Linear(P, 2, 2, { name = "linear" })
    end, "option", "'linear.weight' already", "nn.Linear")
  end)

  it("says what is wrong at the script's line", function()
    local net = nn.Module:create(P, { name = "net" })
    helper.fails(function() nn.Linear(2, 2) end, "option", "nn.Linear", "program")
    helper.fails(function() nn.MLP(P, 3) end, "option", "sizes")
    helper.fails(function() nn.Linear(P, 2) end, "option", "size 2")
    helper.fails(function() nn.GRUCell(P, 2, 2.5) end, "option", "2.5")
    helper.fails(function() nn.Linear(P, 2, 2)() end, "option", "'matmul'", "got nil")
    helper.fails(function() nn.Linear(P, 2, 2)(print) end, "option", "'matmul'", "a function")
    helper.fails(function()
      nn.GRUCell(P, 2, 2, { name = "g" })(tempo.ones { 2 })
    end, "option", "'matmul'")
    helper.fails(function() net:param("name", { 2 }) end, "option", "'name'")
    helper.fails(function() net:param("parameters", { 2 }) end, "option", "'parameters'")
    helper.fails(function() net:param("w", { 2 }, { inti = 1 }) end, "option", "'init'")
    helper.fails(function() net:add("x", 3) end, "option", "no module")
    helper.fails(function() net:register("x", 3) end, "option", "no parameter")
    net:param("w", { 2 })
    helper.fails(function() net:param("w", { 2 }) end, "option", "'w' already")
    assert.same({ "net.w" }, paths(net))
  end)

  it("scales PyTorch's first values by gain", function()
    local outputs = { w = nn.Linear(P, 100, 50, { name = "l", gain = 3 }).weight }
    local high = 0
    for _, row in ipairs(helper.run(P, outputs, {}, {}).w) do
      for _, v in ipairs(row) do high = math.max(high, math.abs(v)) end
    end
    assert.is_true(high <= 0.3 and high > 0.28)
  end)

  it("refuses an unknown option with the nearest and the script's line", function()
    helper.fails(function()
      local _ = nn.Linear(P, 2, 2, { gian = 2 })
    end, "option", "'gian'", "'gain'")
    helper.fails(function()
      local _ = nn.MLP(P, { 2, 2 }, { activaton = "tanh" })
    end, "option", "'activation'")
    helper.fails(function()
      local _ = nn.Linear(P, 2, 2, { init = "orthogonl" })
    end, "option", "'orthogonal'")
  end)
end)

describe("a target network", function()
  local lr, gamma = 0.1, 0.9
  -- w moves towards r + gamma * p, p what `follow` makes of w: plain numbers, as a semi-gradient
  -- takes them.
  local function plain(n, follow)
    local w, p, ws, ps = { [0] = 1 }, {}, {}, {}
    for k = 0, n - 1 do
      p[k] = follow(k, w, p)
      ws[k + 1], ps[k + 1] = w[k], p[k]
      w[k + 1] = w[k] - lr * 2 * (w[k] * 2 - (k % 3 + gamma * p[k] * 3)) * 2
    end
    return ws, ps
  end
  local function program(o, along, domain)
    local Q = tempo.program()
    local dims = {}
    for n, name in ipairs { "s", "k", "j" } do dims[n] = (Q:dim(name)) end
    local net = nn.Linear(Q, 1, 1,
      { name = "net", along = along and along(dims) or { dims[2] },
      domain = domain and { dims[1] } or nil, init = "ones", bias = false })
    local target = net:target(o)
    local reward = (dims[2]:value() % 3):to "f32"
    local goal = reward + gamma * target(tempo.full({ 1 }, 3)):sum()
    tempo.optim.SGD(net, { lr = lr }):step((net(tempo.full({ 1 }, 2)):sum() - goal):square())
    return Q, { w = net.weight:sum(), p = target.weight:sum() }, dims
  end

  it("is a copy of every n-th point, and no gradient goes through it", function()
    for _, every in ipairs { 1, 2, 5 } do
      local ws, ps = plain(11, function(k, w) return w[k - k % every] end)
      for _, tier in ipairs(helper.tiers) do
        local Q, outputs = program { every = every }
        local f = Q:compile { outputs = outputs, tier = tier }
        local out = f({}, { K = 11 })
        same(ws, out.w, 1e-4)
        same(ps, out.p, 1e-4)
        f({}, { K = 0 })
        same({ { 1 } }, f:params()["net.weight"])
      end
    end
  end)

  it("is a moving average: p[0] = w[0], p[k+1] = (1 - a) p[k] + a w[k+1]", function()
    for _, a in ipairs { 0, 0.25, 1 } do
      local ws, ps = plain(11, function(k, w, p)
        return k == 0 and w[0] or (1 - a) * p[k - 1] + a * w[k]
      end)
      for _, tier in ipairs(helper.tiers) do
        local Q, outputs = program { tau = a }
        local f = Q:compile { outputs = outputs, tier = tier }
        local out = f({}, { K = 11 })
        same(ws, out.w, 1e-4)
        same(ps, out.p, 1e-4)
        f({}, { K = 0 })
        same({ { 1 } }, f:params()["net.weight"])
        -- no parameter: loaded ones begin it anew
        assert.is_nil(f:params()["net.weight.target"])
        f:load_params { ["net.weight"] = { { 3 } } }
        same({ 3 }, f({}, { K = 1 }).p)
      end
    end
  end)

  it("of one net for each seed, and with a rate that falls", function()
    for _, tier in ipairs(helper.tiers) do
      local Q = tempo.program()
      local s, k = Q:dim "s", Q:dim "k"
      local net = nn.Linear(Q, 1, 1,
        { name = "net", along = { k }, domain = { s }, init = "ones", bias = false })
      net.weight:update(net.weight + (s:value() + 1) * 1.0)
      local out = Q:compile { outputs = { e = net:target { every = 2 }.weight:sum(),
        t = net:target { tau = 1 / (k:value() + 1):to "f32" }.weight:sum() }, tier = tier }({},
          { S = 2, K = 5 })
      same({ { 1, 1, 3, 3, 5 }, { 1, 1, 5, 5, 9 } }, out.e)
      -- the mean of what there was so far
      same({ { 1, 1.5, 2, 2.5, 3 }, { 1, 2, 3, 4, 5 } }, out.t)
    end
  end)

  it("moves with every update where these are of two dims", function()
    local a, n = 0.25, 12
    for _, tier in ipairs(helper.tiers) do
      local Q = tempo.program()
      local k, j = Q:dim "k", Q:dim "j"
      local w = Q:param("w", { along = { k, j }, init = 1 })
      w:update(w * 1.5 + j:value())
      local module = nn.class "One":create(Q, { name = "one" })
      module.w = w
      local p = module:target { tau = a }.w
      local out = Q:compile { outputs = { w = w, p = p }, tier = tier }({}, { K = 4, J = 3 })
      local x, y = 1, 1
      for q = 0, n - 1 do
        if q > 0 then
          x = x * 1.5 + (q - 1) % 3
          y = (1 - a) * y + a * x
        end
        same(x, out.w:get(math.floor(q / 3), q % 3), 1e-4)
        same(y, out.p:get(math.floor(q / 3), q % 3), 1e-4)
      end
      helper.fails(function()
        module:target { every = 2 }
      end, "domain", "'w' evolves along k and j", "net:at")
      local inner = module:at { j = 0 }                    -- what it is at the first of each k
      assert.same({ k }, inner.w:domain())
    end
  end)

  it("goes on tick by tick, from a state, and without end", function()
    local ws, ps = plain(10, function(k, w) return w[k - k % 4] end)
    local wt, pt = plain(10, function(k, w, p)
      return k == 0 and w[0] or 0.5 * p[k - 1] + 0.5 * w[k]
    end)
    for _, tier in ipairs(helper.tiers) do
      for _, form in ipairs { { { every = 4 }, ws, ps }, { { tau = 0.5 }, wt, pt } } do
        local Q, outputs, dims = program(form[1])
        local f = Q:compile { outputs = outputs, tick = dims[2], tier = tier }
        f:start({}, { K = math.huge })
        for k = 1, 10 do
          if k == 4 or k == 7 then f:load_state(f:state()) end
          local _, out = f:step()
          same(form[2][k], out.w, 1e-4)
          same(form[3][k], out.p, 1e-4)
        end
      end
    end
  end)

  it("keeps averages of halves in f32", function()
    for _, tier in ipairs(helper.tiers) do
      local Q = tempo.program()
      local k = Q:dim "k"
      local drift = nn.class "Drift":create(Q, { name = "drift" })
      drift.w = Q:param("w", { along = { k }, dtype = "bf16", init = tempo.array(0, "bf16") })
      drift.w:update(tempo.full({}, 1, { dtype = "bf16" }) + 0 * drift.w)
      local p = drift:target { tau = 0.001 }.w
      assert.equal("bf16", p:dtype())
      local out = Q:compile { outputs = { p = p }, tier = tier }({}, { K = 1001 })
      -- in bf16 it would not leave 0.25
      assert.is_true(math.abs(out.p:get(1000) - (1 - 0.999 ^ 1000)) < 0.004)
    end
  end)

  it("does not train, shares what stands in two places, and reads buffers", function()
    for _, tier in ipairs(helper.tiers) do
      local Q = tempo.program()
      local k = Q:dim "k"
      local Net = nn.class "Net"
      local net = Net:create(Q, { name = "net" })
      net.norm = nn.BatchNorm(Q, 1, { along = { k }, momentum = 0.5 })
      net.layers = { nn.Dropout(Q, 0.9), net.norm }
      function Net:forward(x) return self.layers[2](self.layers[1](x)) end
      local target = net:target { every = 2 }
      assert.equal(target.norm, target.layers[2])
      assert.is_false(target.norm.training)
      local x = Q:input("x", { domain = { k }, shape = { 2, 1 } })
      local out = Q:compile { outputs = { y = net.norm(x), e = target.norm.running_mean,
        t = net:target { tau = 0.5 }.norm.running_mean,
        z = target(x) },
          tier = tier }({ x = { { { 0 }, { 2 } }, { { 4 }, { 8 } }, { { 1 }, { 1 } } } }, { K = 3 })
      same({ { 0 }, { 0 }, { 3.25 } }, out.e)               -- means 1, 6: 0, 0.5, 3.25
      same({ { 0 }, { 0.5 }, { 3.25 } }, out.t)
      local var = ((1 + 2 * 1) / 2 + 8) / 2                 -- of variances 2 and 8
      local z = (1 - 3.25) / math.sqrt(var + 1e-5)
      same({ { { 0 / math.sqrt(1 + 1e-5) }, { 2 / math.sqrt(1 + 1e-5) } },
        { { 4 / math.sqrt(1 + 1e-5) }, { 8 / math.sqrt(1 + 1e-5) } },
        { { z }, { z } } }, out.z, 1e-4)
    end
  end)

  it("says what it takes", function()
    local Q = tempo.program()
    local k = Q:dim "k"
    local net, fixed = nn.Linear(Q, 1, 1, { along = { k } }), nn.Linear(Q, 1, 1, { name = "fixed" })
    helper.fails(function() net:target {} end, "option", "every = n or tau = a")
    helper.fails(function() net:target { every = 2, tau = 0.5 } end, "option", "one of them")
    helper.fails(function() net:target { every = 2.5 } end, "option", "every is 2.5")
    helper.fails(function() net:target { every = 0 } end, "option", "every is 0")
    helper.fails(function() net:target { tau = 1.5 } end, "option", "tau is 1.5")
    helper.fails(function() net:target { taw = 0.5 } end, "option", "did you mean 'tau'?")
    helper.fails(function()
      fixed:target { tau = 0.5 }
    end, "option", "no parameter of 'fixed' evolves")
    helper.fails(function() net:at { k = 0 }:target { tau = 0.5 } end, "option", "not net:at{...}")
  end)
end)

describe("an embedding", function()
  it("takes rows by index, of any shape, and has their gradient", function()
    local P = tempo.program()
    local e = nn.Embedding(P, 4, 2,
      { name = "e", init = tempo.array { { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 } } })
    local k = P:constant(tempo.array({ { 3, 0 }, { 1, 3 } }, "i64"))
    local one, two = e(k:select(0, 0):select(0, 0)), e(k)
    local loss = two:sum()
    local out = helper.run(P,
      { one = one, row = e(k:select(0, 1)), two = two, g = tempo.grad(loss, { e.weight })[1] },
      {}, {})
    same({ 6, 7 }, out.one)
    same({ { 2, 3 }, { 6, 7 } }, out.row)
    same({ { { 6, 7 }, { 0, 1 } }, { { 2, 3 }, { 6, 7 } } }, out.two)
    same({ { 1, 1 }, { 1, 1 }, { 0, 0 }, { 2, 2 } }, out.g)
  end)
end)

describe("an initialiser", function()
  local function sample(what, shape, o, seed)
    local P = tempo.program { seed = 3 }
    o = o or {}
    o.name = o.name or "w"
    local x = nn.init.make(P, what, shape, o)
    local options = seed and { call = { seed = seed } }
    return helper.value(P, x + P:constant(0), {}, {}, options)
  end

  local function moments(w)
    local n, sum, squares, low, high = 0, 0, 0, math.huge, -math.huge
    for _, row in ipairs(w) do
      for _, v in ipairs(row) do
        n, sum, squares = n + 1, sum + v, squares + v * v
        low, high = math.min(low, v), math.max(high, v)
      end
    end
    return sum / n, math.sqrt(squares / n - (sum / n) ^ 2), low, high
  end

  it("has the bounds and moments of its definition", function()
    local mean, std, low, high = moments(sample("uniform", { 100, 100 }, { bound = 0.5 }))
    assert.is_true(low >= -0.5 and high < 0.5 and math.abs(mean) < 0.01
      and math.abs(std - 0.5 / math.sqrt(3)) < 0.01)
    mean, std = moments(sample("normal", { 100, 100 }, { mean = 1, std = 2 }))
    assert.is_true(math.abs(mean - 1) < 0.1 and math.abs(std - 2) < 0.1)
    mean, std, low, high = moments(sample("xavier_uniform", { 60, 90 }, { gain = 2 }))
    local bound = 2 * math.sqrt(6 / 150)
    assert.is_true(low >= -bound and high <= bound and high > 0.95 * bound)
    assert.is_true(math.abs(mean) < 0.02 and math.abs(std - bound / math.sqrt(3)) < 0.01)
    mean, std = moments(sample("kaiming_normal", { 60, 90 }))
    assert.is_true(math.abs(mean) < 0.01 and math.abs(std - math.sqrt(2 / 90)) < 0.01)
    same({ { 1, 1 } }, sample("ones", { 1, 2 }))
    same({ { 0, 0 } }, sample("zeros", { 1, 2 }))
  end)

  it("orthogonal has orthonormal rows or columns, times the gain", function()
    for _, shape in ipairs { { 4, 4 }, { 3, 7 }, { 7, 3 }, { 1, 5 }, { 33, 33 } } do
      local w = sample("orthogonal", shape, { gain = 2 })
      assert.equal(shape[1], #w)
      assert.equal(shape[2], #w[1])
      local byrow = shape[1] <= shape[2]
      local n, m = math.min(shape[1], shape[2]), math.max(shape[1], shape[2])
      for a = 1, n do
        for b = 1, n do
          local dot = 0
          for k = 1, m do
            dot = dot + (byrow and w[a][k] * w[b][k] or not byrow and w[k][a] * w[k][b])
          end
          assert.is_true(math.abs(dot - (a == b and 4 or 0)) < 1e-5)
        end
      end
    end
  end)

  it("depends on the seed and on its name alone", function()
    local a = sample("orthogonal", { 3, 3 }, {}, 1)
    same(a, sample("orthogonal", { 3, 3 }, {}, 1), 0)
    assert.are_not.same(a, sample("orthogonal", { 3, 3 }, {}, 2))
    assert.are_not.same(a, sample("orthogonal", { 3, 3 }, { name = "v" }, 1))
  end)

  it("differs over domain", function()
    local P = tempo.program()
    local l = P:dim("l", "L")
    local w = P:param("w", { domain = { l }, shape = { 2, 2 },
      init = nn.init.orthogonal(P, { 2, 2 }, { name = "w", domain = { l } }) })
    local out = helper.value(P, w, {}, { L = 3 })
    assert.equal(3, #out)
    assert.are_not.same(out[1], out[2])
  end)

  it("knows PyTorch's gains", function()
    assert.equal(5 / 3, nn.init.gain "tanh")
    assert.equal(math.sqrt(2), nn.init.gain "relu")
    helper.fails(function() local _ = nn.init.gain "swish" end, "option")
    helper.fails(function() local _ = nn.init.xavier_uniform(tempo.program(), { 3 }) end, "shape")
  end)
end)

describe("layers over space", function()
  local function wave(shape, k)
    local n = 0
    return helper.fill(shape, function() n = n + 1; return math.sin(n * k) end)
  end

  it("are the methods with their parameters", function()
    local P = tempo.program()
    local x, s = P:input("x", { shape = { 2, 4, 6, 6 } }), P:input("s", { shape = { 2, 4, 9 } })
    local c1 = nn.Conv1d(P, 4, 6, 3, { groups = 2, padding = "same" })
    local c2 = nn.Conv2d(P, 4, 8, { 3, 2 }, { stride = 2, padding = 1 })
    local up = nn.ConvTranspose2d(P, 4, 6, 2, { stride = 2, groups = 2, bias = false })
    assert.same({ 6, 2, 3 }, c1.weight:shape())
    assert.same({ 8, 4, 3, 2 }, c2.weight:shape())
    assert.same({ 4, 3, 2, 2 }, up.weight:shape())
    assert.equal(1, #up:parameters())
    local net = nn.Sequential(P,
      { c2, "relu", nn.MaxPool2d(P, 2, { stride = 1 }), nn.AvgPool2d(P, { 2, 1 }), nn.Flatten(P) })
    local out = helper.run(P, {
      a = c1(s), a1 = s:conv1d(c1.weight, c1.bias, { groups = 2, padding = "same" }),
      b = net(x), b1 = x:conv2d(c2.weight, c2.bias,
        { stride = 2, padding = 1 }):relu():max_pool2d(2, 1):avg_pool2d({ 2, 1 }):flatten(1),
      c = up(x), c1 = x:conv_transpose2d(up.weight, { stride = 2, groups = 2 }),
        w = c2.weight:abs():max(),
    }, { x = wave({ 2, 4, 6, 6 }, 1), s = wave({ 2, 4, 9 }, 2) })
    same(out.a1, out.a)
    same(out.b1, out.b)
    same(out.c1, out.c)
    assert.is_true(out.w < 1 / math.sqrt(24) and out.w > 0.15)
    helper.fails(function() nn.Conv2d(P, 3, 4, 3, { groups = 2 }) end, "option", "groups")
    helper.fails(function() nn.Conv2d(P, 3, 4, { 3 }) end, "option", "a table of 2")
  end)

  it("RMSNorm and Dropout", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 2, 4 } })
    local norm, drop = nn.RMSNorm(P, 4), nn.Dropout(P, 0.25)
    local out = helper.run(P, { y = norm(x), d = drop(x), e = drop:eval()(x) },
      { x = wave({ 2, 4 }, 1) })
    for r = 1, 2 do
      local v, power = wave({ 2, 4 }, 1)[r], 0
      for k = 1, 4 do power = power + v[k] * v[k] / 4 end
      for k = 1, 4 do
        same(v[k] / math.sqrt(power), out.y[r][k], 1e-4)
        assert.is_true(out.d[r][k] == 0 or math.abs(out.d[r][k] - v[k] / 0.75) < 1e-5)
        same(v[k], out.e[r][k])
      end
    end
  end)

  it("BatchNorm has the batch's statistics while training, then the running ones", function()
    local P = tempo.program()
    local i, I = P:dim("i", "I")
    local x = P:input("x", { domain = { i }, shape = { 4, 2, 3 } })
    local bn = nn.BatchNorm(P, 2, { along = { i }, momentum = 0.25, name = "bn" })
    assert.equal(2, #bn:parameters())
    local test = bn:eval():at { i = I - 1 }
    local y, late = bn(x), test(x[I - 1])
    local f = P:compile { outputs = { y = y, late = late, mean = bn.running_mean,
      var = bn.running_var } }
    local xs = wave({ 3, 4, 2, 3 }, 1)
    local out = f({ x = xs }, { I = 3 })
    local mean, var = 0, 1
    for k = 1, 3 do
      same(mean, out.mean:totable()[k][2])
      same(var, out.var:totable()[k][2])
      local m, v = 0, 0
      for n = 1, 4 do for c = 1, 3 do m = m + xs[k][n][2][c] / 12 end end
      for n = 1, 4 do for c = 1, 3 do v = v + (xs[k][n][2][c] - m) ^ 2 end end
      same((xs[k][3][2][1] - m) / math.sqrt(v / 12 + 1e-5), out.y:totable()[k][3][2][1])
      if k == 3 then
        same((xs[k][3][2][1] - mean) / math.sqrt(var + 1e-5), out.late:totable()[3][2][1])
      end
      mean, var = 0.75 * mean + 0.25 * m, 0.75 * var + 0.25 * v / 11
    end
    same(mean, f:params()["bn.running_mean"]:totable()[2])
    same(var, f:params()["bn.running_var"]:totable()[2])
  end)
end)

-- Mistakes that Lua lets pass: each is an error or a warning with the script's line.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, each = helper.fails, helper.each
local nn, optim = tempo.nn, tempo.optim

describe("a table of options", function()
  local P, t, x, w, f, traj

  before_each(function()
    P = tempo.program()
    t = P:dim "t"
    x = P:input("x", { domain = { t }, shape = { 4 } })
    w = P:param("w", { along = { t }, init = 1 })
    f = P:compile { outputs = { y = x + 1 }, tick = t }
    traj = { reward = x:sum(), terminated = x:sum():gt(0), time = t }
  end)

  local ways = {
    ["tempo.program"] = function(o) tempo.program(o) end,
    ["tempo.grad"] = function(o) tempo.grad(x:sum(), x, o) end,
    ["tempo.zeros"] = function(o) tempo.zeros({ 3 }, o) end,
    ["tempo.uniform"] = function(o) tempo.uniform({ 3 }, o) end,
    ["P:input"] = function(o) P:input("y", o) end,
    ["P:tensor"] = function(o) P:tensor(o) end,
    ["P:param"] = function(o) o.init = 0 P:param("v", o) end,
    ["P:call"] = function(o) P:call(print, { x }, { { domain = { t } } }, o) end,
    ["P:call's spec"] = function(o) P:call(print, { x }, { o }) end,
    ["P:source"] = function(o) P:source(print, { domain = { t } }, o) end,
    ["P:source's spec"] = function(o) P:source(print, o) end,
    ["P:sink"] = function(o) P:sink({ x }, print, o) end,
    ["P:compile"] = function(o) P:compile(o) end,
    ["f(inputs, bounds, o)"] = function(o) f({ x = {} }, { T = 0 }, o) end,
    ["f:start"] = function(o) f:start({}, { T = 1 }, o) end,
    ["f:step"] = function(o) f:start({}, { T = 1 }):step({ x = { 1, 2, 3, 4 } }, o) end,
    ["x:peek"] = function(o) x:peek(o) end,
    ["at of peek"] = function(o) x:peek { at = o } end,
    ["x:sum"] = function(o) x:sum(0, o) end,
    ["x:dropout"] = function(o) x:dropout(0.5, o) end,
    ["x:mse_loss"] = function(o) x:mse_loss(x, o) end,
    ["nn.Linear"] = function(o) nn.Linear(P, 1, 1, o) end,
    ["nn.MLP"] = function(o) nn.MLP(P, { 1, 1 }, o) end,
    ["nn.Sequential"] = function(o) nn.Sequential(P, {}, o) end,
    ["nn.Embedding"] = function(o) nn.Embedding(P, 1, 1, o) end,
    ["nn.LayerNorm"] = function(o) nn.LayerNorm(P, 1, o) end,
    ["nn.RMSNorm"] = function(o) nn.RMSNorm(P, 1, o) end,
    ["nn.BatchNorm"] = function(o) nn.BatchNorm(P, 1, o) end,
    ["nn.Dropout"] = function(o) nn.Dropout(P, 0.5, o) end,
    ["nn.Conv1d"] = function(o) nn.Conv1d(P, 1, 1, 1, o) end,
    ["nn.Conv2d"] = function(o) nn.Conv2d(P, 1, 1, 1, o) end,
    ["nn.ConvTranspose2d"] = function(o) nn.ConvTranspose2d(P, 1, 1, 1, o) end,
    ["nn.MaxPool2d"] = function(o) nn.MaxPool2d(P, 2, o) end,
    ["nn.AvgPool2d"] = function(o) nn.AvgPool2d(P, 2, o) end,
    ["nn.RNNCell"] = function(o) nn.RNNCell(P, 1, 1, o) end,
    ["nn.LSTMCell"] = function(o) nn.LSTMCell(P, 1, 1, o) end,
    ["nn.GRUCell"] = function(o) nn.GRUCell(P, 1, 1, o) end,
    ["module:param"] = function(o) nn.Linear(P, 1, 1):param("v", { 1 }, o) end,
    ["module:buffer"] = function(o) nn.Linear(P, 1, 1):buffer("v", { 1 }, o) end,
    ["optim.SGD"] = function(o) o.lr = 1 optim.SGD({ w }, o) end,
    ["optim.Adam"] = function(o) optim.Adam({ w }, o) end,
    ["optim.AdamW"] = function(o) optim.AdamW({ w }, o) end,
    ["optim.RMSProp"] = function(o) optim.RMSProp({ w }, o) end,
    ["opt:step"] = function(o) optim.SGD({ w }, { lr = 1 }):step(w:square(), o) end,
    ["dist.Categorical"] = function(o) o.logits = x tempo.dist.Categorical(o) end,
    ["categorical:sample"] = function(o) tempo.dist.Categorical({ logits = x }):sample(o) end,
    ["dist.MultiCategorical"] = function(o)
      o.logits, o.sizes = x, { 4 } tempo.dist.MultiCategorical(o)
    end,
    ["multicategorical:sample"] = function(o)
      tempo.dist.MultiCategorical({ logits = x, sizes = { 4 } }):sample(o)
    end,
    ["dist.Bernoulli"] = function(o) o.logits = x tempo.dist.Bernoulli(o) end,
    ["bernoulli:sample"] = function(o) tempo.dist.Bernoulli({ logits = x }):sample(o) end,
    ["beta:sample"] = function(o) tempo.dist.Beta(x, 1):sample(o) end,
    ["tanhnormal:sample"] = function(o) tempo.dist.TanhNormal(x, 1):sample(o) end,
    ["normal:sample"] = function(o) tempo.dist.Normal(x, 1):sample(o) end,
    ["normal:rsample"] = function(o) tempo.dist.Normal(x, 1):rsample(o) end,
    ["rl.env"] = function(o) o.domain, o.time = { t }, t tempo.rl.env(P, "CartPole-v1", o) end,
    ["rl.monte_carlo"] = function(o) tempo.rl.monte_carlo(traj, o) end,
    ["rl.n_step"] = function(o) o.n = 1 tempo.rl.n_step(traj, o) end,
    ["rl.td"] = function(o) o.next_value = x:sum() tempo.rl.td(traj, o) end,
    ["rl.gae"] = function(o) o.value, o.next_value = x:sum(), x:sum() tempo.rl.gae(traj, o) end,
    ["rl.vtrace"] = function(o)
      o.value, o.next_value, o.log_ratio = x:sum(), x:sum(), x:sum()
      tempo.rl.vtrace(traj, o)
    end,
    ["rl.retrace"] = function(o)
      o.value, o.next_value, o.log_ratio = x:sum(), x:sum(), x:sum()
      tempo.rl.retrace(traj, o)
    end,
    ["rl.replay"] = function(o) o.window, o.batch = 4, 1 tempo.rl.replay(t, o) end,
    ["replay:update"] = function(o)
      local memory = tempo.rl.replay(t, { window = 4, batch = 1 })
      memory:draw { x = x }
      memory:update(x:slice(0, 0, 1), o)
    end,
    ["data.batches"] = function(o)
      o.step, o.size = t, 1 tempo.data.batches(P, { x = { 1 } }, o)
    end,
    ["viz.spark"] = function(o) tempo.viz.spark({ 1 }, o) end,
    ["viz.plot"] = function(o) tempo.viz.plot({ 1 }, o) end,
    ["viz.csv"] = function(o) tempo.viz.csv("none.csv", o) end,
  }
  for _, name in ipairs { "zeros", "ones", "uniform", "normal", "xavier_uniform", "xavier_normal",
    "kaiming_uniform", "kaiming_normal", "orthogonal" } do
    ways["nn.init." .. name] = function(o) nn.init[name](P, { 2, 2 }, o) end
  end

  for name, call in pairs(ways) do
    it("of " .. name .. " has no unknown keys", function()
      fails(function() call { no_such_option = 1 } end, "option", "no_such_option")
    end)
  end

  it("does not stand inside a list", function()
    fails(function() return (x:sum { 0, keepdim = true }) end, "option", "'keepdim'")
    fails(function() return (tempo.cat { x, x, axis = 0 }) end, "option", "'axis'")
    fails(function() return (tempo.grad(x:sum(), { x, leaf = true })) end, "option", "'leaf'")
    fails(function() return (x:split { 2, 2, axis = 0 }) end, "option", "'axis'")
    fails(function() return (P:call(print, { x, over = { t } }, { {} })) end, "option", "'over'")
    fails(function() return (P:call(print, { x }, { {}, over = { t } })) end, "option", "'over'")
    fails(function() return (tempo.array({ 1 }, "f32", { 1, name = "a" })) end, "option", "'name'")
    fails(function()
      return (nn.MLP(P, { 4, 2, activation = "relu" }))
    end, "option", "'activation'")
    fails(function() return (nn.Sequential(P, { "relu", name = "a" })) end, "option", "'name'")
    fails(function() return (optim.SGD({ w, lr = 0.1 }, { lr = 1 })) end, "option", "'lr'")
    fails(function() return (tempo.rl.episodes(traj, { t, name = "a" })) end, "option", "'name'")
    fails(function() return (x:sum { 0, nil, 0 }) end, "option", "holes")
  end)

  it("is none of what takes no options", function()
    fails(function()
      P:dim("u", "U", { name = 1 })
    end, "option", "dim takes 2 arguments, got a table as #3")
    fails(function() P:bound("u", {}) end, "option", "bound takes 1 argument")
    fails(function() P:stop(t, x:sum():gt(0), {}) end, "option", "stop takes 2 arguments")
    fails(function() P:constant(1, { dtype = "i64" }) end, "option", "constant takes 1 argument")
    fails(function() return (x:grad { leaf = true }) end, "option", "grad takes no arguments")
    fails(function() x:sum():backward(x) end, "option", "backward takes no arguments")
    fails(function() w:update(w, { when = t:eq(0) }) end, "option", "update takes 1 argument")
    fails(function()
      return (f({ x = {} }, { T = 0 }, {}, {}))
    end, "option", "a call takes 3 arguments")
    fails(function() f:load_params({}, { strikt = false }) end, "option", "'strict'")
    fails(function() f:save("x", { portabel = true }) end, "option", "'portable'")
    fails(function() return (tempo.load("x.npy", {})) end, "option", "load takes 1 argument")
    fails(function()
      tempo.save("x.npz", {}, { compress = true })
    end, "option", "NumPy's files has no 'compress'")
    fails(function()
      return (tempo.dist.Normal(x, 1, { name = "n" }))
    end, "option", "dist.Normal takes 2 arguments")
    fails(function()
      return (nn.LeakyReLU(P, 0.1))
    end, "option", "nn.LeakyReLU takes 1 argument, got a number as #2")
    fails(function() return (nn.Flatten(P, 1, 2, {})) end, "option", "nn.Flatten takes 3 arguments")
    fails(function() return (nn.Sequential(P, nn.Linear(P, 1, 1))) end, "option", "got a module")
  end)
end)

describe("a dot where a colon belongs", function()
  local P = tempo.program()
  local t = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 3 } })
  local loose, a = tempo.zeros { 3 }, tempo.array { 1 }

  it("is an error that shows the colon, whatever stands first", function()
    fails(function() return (x.sum(0)) end, "option", "x:sum(...)")
    fails(function() return (x.softmax(-1)) end, "option", "x:softmax(...)")
    fails(function() return (x.clamp(0, 1)) end, "option", "x:clamp(...)")
    fails(function() return (x.reshape { 3 }) end, "option", "x:reshape(...)")
    fails(function() return (x.tanh()) end, "option", "x:tanh(...)")
    fails(function() return (x.shape()) end, "option", "x:shape(...)")
    fails(function() return (x.matmul(x)) end, "option", "x:matmul(...)")
    fails(function() return (loose.sum(0)) end, "option", "x:sum(...)")
    fails(function() return (loose.sum(t)) end, "option", "x:sum(...)")
    fails(function() return (t.eq(3)) end, "option", "t:eq(...)")
    fails(function() return (t.mod(3)) end, "option", "t:mod(...)")
    fails(function() return (t.value()) end, "option", "t:value(...)")
    fails(function() return (a.get(0)) end, "option", "a:get(...)")
    fails(function() return (P.dim "u") end, "option", "P:dim(...)")
    fails(function() return (P.compile {}) end, "option", "P:compile(...)")
  end)

  it("is no error of functions, which take numbers", function()
    assert.equal(3, P:compile({ outputs = { y = tempo.sum(3) } })().y:item())
    assert.equal(0, P:compile({ outputs = { y = tempo.minimum(0, 1) } })().y:item())
    local message = fails(function() return (tempo.matmul(x)) end, "option",
      "bad argument #2 to 'matmul'")
    assert.falsy(message:find "colon")
  end)
end)

describe("a number that is no element", function()
  local wrong = { i64 = { 1.5, 0 / 0, math.huge, 2 ^ 63 },
    i32 = { 1.5, 0 / 0, 2 ^ 31, -2 ^ 31 - 1 }, u8 = { 0.5, 0 / 0, 256, -1 } }
  local right = { i64 = { -2 ^ 53, 2 ^ 53 }, i32 = { -2 ^ 31, 2 ^ 31 - 1 }, u8 = { 0, 255 } }

  for dtype, values in pairs(wrong) do
    for _, v in ipairs(values) do
      it(("such as %s of %s is refused wherever numbers come in"):format(tostring(v), dtype),
        function()
        local P = tempo.program()
        local t = P:dim "t"
        local x, s = P:input("x", { domain = { t }, dtype = dtype }),
          P:input("s", { dtype = dtype })
        local w = P:param("w", { dtype = dtype, shape = { 1 }, init = 0 })
        local c = P:source(function() return v end, { domain = { t }, dtype = dtype })
        local d = P:source(function() return { v } end,
          { domain = { t }, shape = { 1 }, dtype = dtype })
        fails(function() return (tempo.array({ 0, v }, dtype)) end, "dtype", "at [2]", dtype)
        fails(function() return (tempo.array({ { 0 }, { v } }, dtype)) end, "dtype", "at [2][1]")
        fails(function() return (tempo.array(v, dtype, { 2 })) end, "dtype", dtype)
        fails(function() tempo.array({ 0 }, dtype):set(v, 0) end, "dtype", dtype)
        fails(function() return (P:param("v", { dtype = dtype, init = v })) end, "dtype")
        fails(function() return (P:param("v", { dtype = dtype, init = { v } })) end, "dtype")
        fails(function() return (tempo.full({ 2 }, v, { dtype = dtype })) end, "dtype")
        fails(function()
          local h = P:tensor { domain = { t }, dtype = dtype }
          h[0] = v
        end, "dtype")
        each(function(tier)
          local f = P:compile { outputs = { x = x, s = s, w = w }, tier = tier }
          fails(function()
            return (f({ x = { 0, v }, s = 0 }, { T = 2 }))
          end, "input 'x'", "at [2]")
          fails(function() return (f({ x = { 0 }, s = v }, { T = 1 })) end, "input 's'")
          fails(function() f:load_params { w = { v } } end, "dtype", "parameter 'w'")
          fails(function()
            P:compile({ outputs = { c = c }, tier = tier })({}, { T = 1 })
          end, "callback at t = 0: result 1")
          fails(function()
            P:compile({ outputs = { d = d }, tier = tier })({}, { T = 1 })
          end, "callback at t = 0: result 1", "at [1]")
        end)
      end)
    end
  end

  it("leaves the limits and all whole numbers", function()
    for dtype, values in pairs(right) do
      assert.same(values, tempo.array(values, dtype):totable())
      local P = tempo.program()
      local x = P:input("x", { shape = { #values }, dtype = dtype })
      local h = P:param("h", { dtype = dtype, init = values[2] })
      local out = P:compile({ outputs = { x = x, h = h } })({ x = values })
      assert.same(values, out.x:totable())
      assert.equal(values[2], out.h:item())
    end
    assert.same({ true, true, false }, tempo.array({ 2, 0.5, 0 }, "bool"):totable())
    assert.same({ 1, 0 }, tempo.array({ true, false }, "i32"):totable())
  end)
end)

-- Collects what tempo.warn gets while f runs.
local function warned(f)
  local was, got = tempo.warn, {}
  tempo.warn = function(text) got[#got + 1] = text end
  local ok, e = pcall(f)
  tempo.warn = was
  if not ok then error(e, 0) end
  return got
end

-- One warning, which begins with the place in this file and contains the texts.
local function warns(f, ...)
  local got = warned(f)
  assert.equal(1, #got, table.concat(got, "\n"))
  assert.truthy(got[1]:find "^[^\n]*silent_spec%.lua:%d+: %l+: ", got[1])
  for _, text in ipairs { ... } do assert.truthy(got[1]:find(text, 1, true), got[1]) end
  return got[1]
end

describe("a reduction of a scalar at each point", function()
  local P = tempo.program()
  local t = P:dim("t", "T")
  local b, B = P:dim("b", "B")
  local x, y = P:input("x", { domain = { t } }), P:input("y", { domain = { t, b } })

  it("warns that it reduces no axis, and says what would reduce the dim", function()
    for _, name in ipairs { "mean", "sum", "prod", "max", "min", "any", "all", "argmax", "var",
      "std", "norm", "logsumexp", "softmax", "log_softmax" } do
      warns(function() return (x[name](x)) end, "shape: ",
        "reduces no axis; x[0 .. T]:" .. name .. "(0) reduces t")
      warns(function()
        return (tempo[name] and name ~= "max" and name ~= "min" and tempo[name](y) or y[name](y))
      end, "reduces no axis; y[{b = 0 .. B}]:" .. name .. "(0) reduces b")
    end
    assert.equal(2,
      x[0 .. t:upper()]:mean(0):peek { inputs = { x = { 1, 3 } }, bounds = { T = 2 } }:item())
  end)

  it("warns once for a line", function()
    warns(function()
      for _ = 1, 3 do assert.truthy(x:mean()) end
    end)
  end)

  it("warns of nothing else", function()
    assert.same({}, warned(function()
      local z = P:input("z", { domain = { t }, shape = { 3 } })
      return { z:mean(), z:sum(0):neg(), x[0 .. t:upper()]:mean(0), x[0 .. t + 1]:sum(),
        tempo.full({}, 2):mean(), P:input("n"):sum(), y[{ b = 0 .. B }]:sum() }
    end))
  end)

  it("may be what a library means, which is written for any shape", function()
    local w = P:param("w", { along = { t }, init = 1 })
    assert.same({}, warned(function()
      return (optim.SGD({ w }, { lr = 0.1, clip_norm = 1 }):step(w:square()))
    end))
  end)
end)

describe("a gradient by what the loss does not contain", function()
  local function program()
    local P = tempo.program()
    local t = P:dim "t"
    return P, t, P:input("x", { domain = { t } }), P:input("y", { domain = { t } })
  end

  it("is 0, with a warning of the line that asked", function()
    each(function(tier)
      local P, _, x, y = program()
      local loss = x:square()
      local g = tempo.grad(loss, { x, y })
      local got
      warns(function()
        got = P:compile({ outputs = { gx = g[1], gy = g[2], loss = loss }, tier = tier })(
          { x = { 1, 2 }, y = { 3, 4 } }, { T = 2 })
      end, "option: ", "'loss' does not contain 'y'", "the gradient by it is 0")
      helper.same({ 2, 4 }, got.gx)
      helper.same({ 0, 0 }, got.gy)
    end)
  end)

  it("is told of once for a line, with all names", function()
    local P, _, x, y = program()
    local z = P:input("z", { shape = { 2 } })
    local g = tempo.grad(x:square(), { y, z })
    warns(function()
      P:compile { outputs = { gy = g[1], gz = g[2] } }
    end, "'y', 'z'", "the gradient by them is 0")
  end)

  it("may stand behind what no gradient passes", function()
    local P, _, x, y = program()
    local g = tempo.grad(x * y:detach() + x:gt(y):to "f32", y)
    warns(function() P:compile { outputs = { g = g } } end, "'y'", "detach")
  end)

  it("is told of where no loss was marked", function()
    local P, _, x = program()
    local g = x:grad()
    warns(function()
      P:compile { outputs = { g = g } }
    end, "no loss was marked by loss:backward()", "'x'")
  end)

  it("is judged on the program as compiled", function()
    local P, t, x = program()
    local h = P:tensor { domain = { t } }
    local g = tempo.grad(h, x)
    h[t] = x * 3
    local got
    assert.same({}, warned(function()
      got = P:compile({ outputs = { g = g } })({ x = { 1, 2 } }, { T = 2 })
    end))
    helper.same({ 3, 3 }, got.g)
  end)

  it("changes no state's program", function()
    local P, _, x, y = program()
    local f
    warns(function() f = P:compile { outputs = { g = tempo.grad(x:square(), y) } } end)
    local Q, _, u, v = program()
    local f2
    warns(function()

      -- the same program some lines below
      f2 = Q:compile { outputs = { g = tempo.grad(u:square(), v) } }
    end)
    f:start({}, { T = 2 })
    f:step { y = 1, x = 1 }
    assert.truthy(f2:load_state(f:state()))
  end)
end)

describe("an optimiser", function()
  local function setting()
    local P = tempo.program()
    local i, I = P:dim "i"
    local v, w = P:param("v", { along = { i }, init = 1 }),
      P:param("w", { along = { i }, init = 1 })
    return P, i, I, v, w
  end

  it("whose parameters the loss does not reach is an error at the line of its step", function()
    for _, make in ipairs { optim.SGD, optim.Adam, optim.RMSProp } do
      local P, _, _, v, w = setting()
      local x = P:input "x"
      local message = fails(function()
        make({ v, w }, { lr = 0.1 }):step(x:square() + w:detach())
        P:compile { outputs = { w = w, v = v } }
      end, "option: ", "reaches none of the optimiser's parameters: 'v', 'w'", "detach")
      assert.equal(debug.getinfo(1, "l").currentline - 3, helper.line(message))
    end
  end)

  it("is warned of the parameters that are not reached", function()
    local P, _, I, v, w = setting()
    local got
    optim.SGD({ v, w }, { lr = 0.25 }):step(w:square())
    warns(function()
      got = P:compile({ outputs = { w = w[I - 1], v = v[I - 1] } })({}, { I = 2 })
    end, "does not contain 'v'")
    helper.same(0.5, got.w)
    helper.same(1, got.v)
  end)

  it("is judged with its own loss only", function()
    local P, _, _, v, w = setting()
    optim.SGD({ v }, { lr = 0.1 }):step(v:square())
    local message = fails(function()
      optim.SGD({ w }, { lr = 0.1 }):step(v:square() + 1)
      P:compile { outputs = { w = w, v = v } }
    end, "none of the optimiser's parameters: 'w'")
    assert.falsy(message:find "'v',")
  end)
end)

describe("where among numbers", function()
  local numbers = { { 0, -1e9 }, { 1, 300 }, { 0, 0.1 }, { -1, 0.5 } }
  local ops = { "add", "sub", "mul", "maximum", "minimum", "lt", "ge" }
  local dtypes = { "f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool" }

  it("takes the dtype that it meets, and gives what each number would", function()
    for _, d in ipairs(dtypes) do
      for _, n in ipairs(numbers) do
        local P = tempo.program()
        local t = P:dim "t"
        local x = P:input("x", { domain = { t }, dtype = d })
        local outputs, dtype = {}, {}
        for _, op in ipairs(ops) do
          local y = x[op](x, tempo.where(t:lt(1), n[1], n[2]))
          -- a fraction makes integers f32
          local z = n[2] % 1 ~= 0 and x:mul(n[2]):dtype() == "f32" and x:to "f32" or x
          outputs[op], outputs[op .. "1"], outputs[op .. "2"] = y, z[op](z, n[1]), z[op](z, n[2])
          dtype[op] = outputs[op .. "2"]:dtype()
          assert.equal(dtype[op], y:dtype(), d .. " " .. op)
        end
        local got = helper.run(P, outputs, { x = tempo.array({ 1, 1 }, d) }, { T = 2 }, { tol = 0 })
        for _, op in ipairs(ops) do
          local what = d .. " " .. op .. " " .. n[2]
          assert.equal(got[op .. "1"][1], got[op][1], what)
          assert.equal(got[op .. "2"][2], got[op][2], what)
        end
      end
    end
  end)

  it("does so in lists, branches, parameters and in another where", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, dtype = "f64" })
    local h = P:tensor { domain = { t }, dtype = "f16" }
    h[0] = tempo.where(t:eq(0), 0, -1e9)
    h[t] = tempo.where(t:eq(1), 0.1, tempo.where(t:eq(2), 5, t))
    local w = P:param("w", { along = { t }, init = tempo.where(T:gt(1), 2, 3) })
    w:update(tempo.where(t:eq(0), 7, 8))
    local both = tempo.stack { x, tempo.where(t:eq(0), 0, 0.1) }
    assert.equal("f64", both:dtype())
    assert.equal("f16", h:dtype())
    local out = helper.run(P, { h = h, w = w, both = both }, { x = { 1, 2, 3, 4 } }, { T = 4 })
    helper.same({ 0, 0.0999755859375, 5, 3 }, out.h)
    helper.same({ 2, 7, 8, 8 }, out.w)
    helper.same({ { 1, 0 }, { 2, 0.1 }, { 3, 0.1 }, { 4, 0.1 } }, out.both, 1e-15)
  end)

  it("is i64 or f32 alone, and a fraction is no integer", function()
    local P = tempo.program()
    local t = P:dim "t"
    assert.equal("i64", tempo.where(t:eq(0), 0, -1e9):dtype())
    assert.equal("f32", tempo.where(t:eq(0), 0, 0.5):dtype())
    local h = P:tensor { domain = { t }, dtype = "i32" }
    fails(function() h[t] = tempo.where(t:eq(0), 0, 0.5) end, "dtype", "0.5 is no integer")
    fails(function() h[t] = tempo.where(t:eq(0), 2 ^ 31, 0) end, "dtype", "2147483648 is outside")
    local n = P:input("n", { dtype = "i64", domain = { t } })
    assert.equal("f32", tempo.stack({ n, 0.5 }):dtype())
    local out = helper.value(P, tempo.stack { n, 0.5 }, { n = { 3 } }, { T = 1 })
    helper.same({ { 3, 0.5 } }, out)
  end)

  it("is loose where its condition is", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 3 }, dtype = "f16" })
    local causal = tempo.where(tempo.arange({ 3 }):lt(2), 0, -1e9)
    assert.equal("i64", causal:dtype())
    assert.equal("f16", (x + causal):dtype())
    local h = P:tensor { domain = { t }, shape = { 3 } }
    h[t] = causal
    helper.same({ { 0, 0, -1e9 } }, helper.value(P, h, {}, { T = 1 }))
  end)
end)

describe("a tensor without a name", function()
  local P, t, T, x

  before_each(function()
    P = tempo.program()
    t, T = P:dim("t", "T")
    x = P:input("x", { domain = { t } })
  end)

  -- The message of reading e at t + 1, which leaves the domain; the reader's own call is no output
  -- of that name.
  local function beyond(e)
    return (fails(function()
      P:compile { outputs = { out = e[t + 1] } }
    end, "domain"):match "^[^\n]*")
  end

  it("has that of its local, upvalue, field, element or global", function()
    local inner = x * 2
    local net = { state = x * 3, cell = { h = x * 4 } }
    local layers = { x * 5, { x * 6 } }
    rawset(_G, "a_global_of_the_spec", x * 7)
    assert.truthy(beyond(inner):find("'inner' is read at t = 2 (inner[t + 1])", 1, true))
    assert.truthy(beyond(net.state):find("'net.state'", 1, true))
    assert.truthy(beyond(net.cell.h):find("'net.cell.h'", 1, true))
    assert.truthy(beyond(layers[1]):find("'layers[1]'", 1, true))
    assert.truthy(beyond(layers[2][1]):find("'layers[2][1]'", 1, true))
    assert.truthy(beyond(_G.a_global_of_the_spec):find("'a_global_of_the_spec'", 1, true))
    rawset(_G, "a_global_of_the_spec", nil)
    local ok = (function() return (beyond(inner):find("'inner'", 1, true)) end)()
    assert.truthy(ok)
  end)

  it("has the name where it was made, not that of a helper's parameter", function()
    local function helper_of_mine(other)
      return (fails(function() P:compile { outputs = { out = other[t + 1] } } end, "domain"))
    end
    local mine = x * 2
    assert.truthy(helper_of_mine(mine):find("'mine'", 1, true))
    assert.truthy(helper_of_mine(x * 3):find("the mul of", 1, true))
  end)

  it("keeps the name that the script gives", function()
    local mine = (x * 2):name "given"
    assert.truthy(beyond(mine):find("'given'", 1, true))
    local h = P:tensor { domain = { t }, name = "declared" }
    h[0] = 1
    fails(function() P:compile { outputs = { y = h + 1 } } end, "'declared' has no branch")
  end)

  it("has it in mistakes of recording, cycles, undefined points and at run time", function()
    local y, h, n = x * 2, P:tensor { domain = { t } },
      P:input("n", { domain = { t }, dtype = "i64" })
    fails(function() y[0] = 1 end, "option", "'y'")
    fails(function() return (y[{ u = 0 }]) end, "domain", "'y' has no dim 'u'")
    h[0] = 1
    fails(function()
      P:compile { outputs = { out = h + 1 } }
    end, "'h' has no branch", "h:otherwise")
    local q = n:floordiv(n - 1)
    each(function(tier)
      local f = P:compile { outputs = { out = q + 1 }, tier = tier }
      fails(function() return (f({ n = { 2, 1 } }, { T = 2 })) end, "input", "'q' at t = 1")
    end)
    local a, b = P:tensor { domain = { t } }, P:tensor { domain = { t } }
    a[t] = b + 1
    b[t] = a + 1
    each(function(tier)
      fails(function()
        P:compile { outputs = { out = a * 2 }, tier = tier }
      end, "cycle", "'a'", "b[t]")
    end)
  end)

  it("leaves states and texts of programs as they are", function()
    local function make(first)
      local Q = tempo.program()
      local u = Q:dim "u"
      local z = Q:input("z", { domain = { u } })
      local one, other
      if first then one = z * 2 else other = z * 2 end
      return Q:compile { outputs = { y = (one or other) + 1 } }
    end
    local f, g = make(true), make(false)
    assert.equal(f:explain "graph":gsub("silent_spec.lua:%d+", ""),
      (g:explain "graph":gsub("silent_spec.lua:%d+", "")))
    f:start({}, { U = 2 })
    f:step { z = 1 }
    assert.truthy(g:load_state(f:state()))
    assert.truthy(T)
  end)
end)

describe("what a call needs of its bounds", function()
  local function lines(f)
    local out = {}
    for line in f:explain():gmatch "[^\n]+" do
      local cond = line:match "^needs (.*)$" or line:match "^      and (.*)$"
      if cond and not cond:find "bytes" then out[#out + 1] = cond end
    end
    return out
  end

  it("is told once by explain, however many reads need it, and not what another condition says",
    function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local i, I = P:dim("i", "I")
    local x, z = P:input("x", { domain = { t } }), P:input("z", { domain = { i } })
    each(function(tier)
      local y = x[4] + x[4]:exp() * x[2] + x[7] + z[I - 1] + z[3]
      assert.same({ "T >= 8", "I >= 4" },
        lines(P:compile { outputs = { y = y, again = x[7] }, tier = tier }))
      assert.same({ "T >= 5" }, lines(P:compile { outputs = { y = x[4] }, tier = tier }))
      assert.same({}, lines(P:compile { outputs = { y = x + 1 }, tier = tier }))
    end)
  end)

  it("is said in few words, and is what the reads need", function()
    local P = tempo.program()
    local i = P:dim("i", "I")
    local b, B = P:dim("b", "B")
    local t, T = P:dim("t", "T")
    local x = P:input("x", { domain = { i, b, t } })
    local y = x[{ t = T - 1 }] + x[{ b = B - 1 }][{ t = T - 1 }] * i:value()
    each(function(tier)
      local f = P:compile { outputs = { y = y }, tier = tier }
      for n = 0, 7 do
        local bounds = { I = n % 2, B = math.floor(n / 2) % 2, T = math.floor(n / 4) }
        -- no point of y, or every read inside
        local legal = bounds.I == 0 or bounds.B == 0 or bounds.T > 0
        local array = tempo.array(2, "f32", { bounds.I, bounds.B, bounds.T })
        local ok, e = pcall(f, { x = array }, bounds)
        assert.equal(legal, ok, tostring(e))
        if not ok then
          assert.truthy(e:find("it needs T >= 1 or I == 0 or B == 0", 1, true), tostring(e))
        end
      end
    end)
  end)
end)

describe("names of PyTorch, JAX and NumPy", function()
  local foreign = require "tempo.foreign"
  local P = tempo.program()
  local t = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 3 } })
  local a = tempo.array { 1, 2, 3 }

  it("are answered with ours", function()
    fails(function()
      local _ = tempo.randn { 3 }
    end, "option: tempo has no 'randn'; here it is tempo.normal {3}")
    fails(function() x:view(3) end,
      "option: tempo.Tensor has no 'view'; here it is x:reshape {2, 3}")
    fails(function() local _ = x.T end, "option: tempo.Tensor has no 'T'; here it is x:mT()")
    fails(function() P:manual_seed(1) end,
      "option: tempo.Program has no 'manual_seed'; here it is tempo.program { seed = 0 }")
    fails(function() a:numpy() end,
      "option: tempo.Array has no 'numpy'; here it is an array already")
    fails(function() x:reshap(3) end, "did you mean 'reshape'")
  end)

  it("norm takes an axis first, and p by name", function()
    local m = P:constant { { 3, -4 }, { 1, 1 } }
    assert.equal(tostring(m:norm(-1):peek {}), tostring(m:norm(1):peek {}))
    assert.same({ 4, 5 }, m:norm(0, { p = 1 }):peek {}:totable())
    assert.same({ 7, 2 }, m:norm(1, 1):peek {}:totable())
    assert.equal(9, m:norm { p = 1 }:peek {}:item())
  end)

  it("are answered as functions, methods, modules and optimisers", function()
    fails(function()
      return nn.CrossEntropyLoss
    end, "option: tempo.nn has no 'CrossEntropyLoss'; here it is x:cross_entropy(y)")
    fails(function() return nn.relu end,
      "option: tempo.nn has no 'relu'; here it is tempo.relu(...)")
    fails(function() return tempo.Linear end,
      "option: tempo has no 'Linear'; here it is tempo.nn.Linear")
    fails(function() x:where(x, x) end,
      "option: tempo.Tensor has no 'where'; here it is tempo.where(...)")
    fails(function() x:relu_() end,
      "here it is tempo.relu(...), assigned: nothing is changed in place")
    fails(function() x:masked_fill_(x, 0) end,
      "here it is tempo.where(mask, value, x), assigned: nothing is changed in place")
    fails(function() return nn.init.zeros_ end,
      "option: tempo.nn.init has no 'zeros_'; did you mean 'zeros'?")
    fails(function() return tempo.svd end,
      "option: tempo has no 'svd'; there are no decompositions of matrices yet")
    fails(function() return optim.lr_scheduler end,
      "option: tempo.optim has no 'lr_scheduler'; here it is a learning rate that is an expression")
    local net = nn.Linear(P, 3, 2, { along = { t } })
    fails(function() net:zero_grad() end,
      "option: a module has no 'zero_grad'; here it is nothing: each point has its own gradient")
    fails(function()
      optim.SGD(net, { lr = 1 }):zero_grad()
    end, "option: an optimiser has no 'zero_grad'; here it is nothing")
    assert.equal(nil, net.scale)
  end)

  it("of everyday use exist here or are answered", function()
    local names = {
      [tempo] = [[
        tensor as_tensor from_numpy array asarray zeros zeros_like ones ones_like empty empty_like full full_like arange
        range linspace logspace eye identity diag diagonal trace rand randn randint randperm rand_like randn_like
        bernoulli multinomial normal uniform manual_seed seed PRNGKey stack cat concat concatenate hstack vstack dstack
        column_stack split array_split chunk tile repeat repeat_interleave broadcast_to expand_dims squeeze unsqueeze
        reshape ravel flatten transpose swapaxes moveaxis permute flip fliplr flipud roll gather scatter take
        take_along_axis index_select masked_select masked_fill where nonzero argwhere sort argsort topk top_k unique
        bincount histogram searchsorted digitize bucketize median quantile percentile nanmean nansum sum prod mean std
        var min max amin amax argmax argmin all any cumsum cumprod cummax cummin logcumsumexp logsumexp logaddexp norm
        linalg matmul mm bmm mv dot inner outer tensordot einsum kron cross addmm lerp inverse inv solve cholesky qr
        svd eig eigh abs absolute sign exp exp2 expm1 log log2 log10 log1p sqrt rsqrt square power pow reciprocal sin
        cos tan arcsin arctan arctan2 atan2 sinh cosh tanh sigmoid softmax log_softmax relu gelu silu softplus erf ceil
        floor round trunc clip clamp maximum minimum fmax fmin add subtract multiply divide true_divide floor_divide
        remainder fmod mod negative equal not_equal greater greater_equal less less_equal allclose isclose array_equal
        isnan isinf isfinite nan_to_num logical_and logical_or logical_not logical_xor bitwise_and hypot deg2rad rad2deg
        diff gradient convolve meshgrid tril triu tril_indices pad unfold vmap scan fori_loop while_loop cond switch
        lax jit compile grad value_and_grad vjp jvp jacfwd jacrev hessian autograd stop_gradient no_grad checkpoint
        remat save load Tensor Parameter random nn functional optim distributions utils cuda device float32 float64
        int32 int64 bool_ pi inf nan newaxis fft complex real tree_map copy clone detach one_hot embedding conv1d conv2d
        conv3d dropout layer_norm batch_norm cosine_similarity std_mean dynamic_slice segment_sum ptp count_nonzero
        average pmap device_put block_until_ready make_jaxpr pure_callback einops rearrange shape ndim size]],
      [x] = [[
        view reshape size shape dim ndim numel T t mT dtype device type float double half long int bool to cpu cuda
        numpy tolist item detach clone copy contiguous requires_grad requires_grad_ grad backward is_leaf data add
        masked_fill masked_fill_ masked_select gather scatter scatter_ scatter_add scatter_add_ index_add index_put
        expand expand_as repeat unbind narrow select new_zeros new_ones type_as view_as eq isnan addmm lerp l1_loss
        mse_loss binary_cross_entropy_with_logits huber_loss kl_div block_until_ready astype get set append]],
      [nn] = [[
        Module Linear Identity Sequential ModuleList ModuleDict ParameterList Parameter Conv1d Conv2d Conv3d MaxPool1d
        MaxPool2d AvgPool2d AdaptiveAvgPool2d BatchNorm1d BatchNorm2d LayerNorm GroupNorm RMSNorm RNN LSTM GRU LSTMCell
        GRUCell Transformer TransformerEncoderLayer MultiheadAttention Embedding Dropout Dropout2d ReLU ReLU6 LeakyReLU
        PReLU ELU SELU GELU SiLU Swish Mish Softplus Sigmoid LogSigmoid Hardtanh Tanh Softmax LogSoftmax GLU Flatten
        Unflatten ZeroPad2d MSELoss L1Loss SmoothL1Loss HuberLoss CrossEntropyLoss NLLLoss BCELoss BCEWithLogitsLoss
        KLDivLoss CTCLoss DataParallel functional utils Dense Conv relu softmax initializers compact dot_product_attention
        attention_dropout]],
      [optim] = [[
        SGD Adam AdamW NAdam Adagrad Adadelta RMSprop LBFGS lr_scheduler StepLR CosineAnnealingLR ReduceLROnPlateau sgd
        adam adamw clip_by_global_norm apply_updates cosine_decay_schedule exponential_decay zero_grad clip_grad_norm_
        clip_grad_value_]],
    }
    for object, list in pairs(names) do
      for name in list:gmatch "%S+" do
        local ok, e = pcall(function() return object[name] end)
        local answered = ok or tostring(e):find "; %l[%w ]+ " or tostring(e):find "; did you mean"
        assert.equal(name ~= "attention_dropout", answered and true or false, name)
      end
    end
  end)

  it("are none of ours, and the names in the answers are", function()
    local function has(object, name) return (pcall(function() return assert(object[name]) end)) end
    for name, hint in pairs(foreign) do
      assert.is_false(has(x, name) or has(nn, name) or has(optim, name), name)
      for ours in hint:gmatch "tempo%.([%w_]+)" do assert.is_true(has(tempo, ours), hint) end
      for library, ours in hint:gmatch "tempo%.(%l+)%.([%w_]+)" do
        assert.is_true(has(tempo[library], ours), hint)
      end
      for ours in hint:gmatch "[xab]:([%w_]+)" do
        assert.is_true(has(x, ours) or has(a, ours), hint)
      end
      for ours in hint:gmatch "P:([%w_]+)" do assert.is_true(has(P, ours), hint) end
    end
  end)

  it("say what to write for arithmetic of host arrays, and take an array beside a tensor",
    function()
    for _, f in ipairs { function() local _ = a + 1 end, function() local _ = 2 * a end,
      function() local _ = -a end, function() local _ = a / a end } do
      fails(f, "option: arithmetic of host arrays: P:constant(a) is a tensor")
    end
    assert.same({ 3 }, (a + x):shape())
    assert.same({ 2, 3, 4 }, tempo.add(a, 1):peek {}:totable())
    assert.same({ 1, 1 }, tempo.ones { 2 }:peek {}:totable())
  end)

  it("x[t][0] reads time 0, which warns", function()
    local said, warn = {}, tempo.warn
    tempo.warn = function(text) said[#said + 1] = text end
    local y = x[0]
    local _, _, _ = x[t][0], x[t - 1][0], y
    tempo.warn = warn
    assert.equal(1, #said)
    assert.truthy(
      said[1]:find("x[t][0] reads 'x' at t = 0; an element of its shape is x:select(0, 0)", 1,
      true))
  end)
end)

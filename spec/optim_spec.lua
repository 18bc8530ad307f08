-- tempo.optim: ten steps of each against NumPy's (spec/fixtures/make_optim.py), clipping, moments as parameters.
local tempo = require "tempo"
local helper = require "spec.helper"
local optim = require "tempo.optim"
local same = helper.same
local cases = dofile "spec/fixtures/optim.lua"

local function loss_of(P, w)
  local c, target = P:constant { 0.5, 2.0, 0.1 }, P:constant { 0.3, 1.0, -1.0 }
  return (c * (w - target):square()):sum() + w:select(0, 0) * w:select(0, 1)
end

local function shown(o)
  local keys = {}
  for k in pairs(o) do keys[#keys + 1] = k end
  table.sort(keys)
  return table.concat(keys, " ")
end

describe("an optimiser takes NumPy's steps:", function()
  for _, case in ipairs(cases) do
    it(case[1] .. " with " .. shown(case[2]), function()
      for _, tier in ipairs(helper.tiers) do
        local P = tempo.program()
        local i = P:dim("i", "I")
        local w = P:param("w", { along = { i }, shape = { 3 }, init = tempo.array { 1, -2, 3 } })
        optim[case[1]]({ w }, case[2]):step(loss_of(P, w))
        local f = P:compile { outputs = { w = w }, tier = tier }
        local rows = f({}, { I = 10 }).w:totable()
        same({ 1, -2, 3 }, rows[1])
        for k = 2, 10 do same(case[3][k - 1], rows[k], 2e-5) end
        same(case[3][10], f:params().w, 2e-5)
      end
    end)
  end
end)

describe("an optimiser", function()
  it("steps from update to update when along has two dims", function()
    local want = cases[6][3]                    -- Adam
    for _, tier in ipairs(helper.tiers) do
      local P = tempo.program()
      local i, k = P:dim("i", "I"), (P:dim("k", "K"))
      local w = P:param("w", { along = { i, k }, shape = { 3 }, init = tempo.array { 1, -2, 3 } })
      optim.Adam({ w }, { lr = 0.1 }):step(loss_of(P, w))
      local f = P:compile { outputs = { w = w }, tier = tier }
      local rows = f({}, { I = 2, K = 5 }).w:totable()
      same(want[5], rows[2][1], 2e-5)           -- after five updates
      same(want[9], rows[2][5], 2e-5)
      same(want[10], f:params().w, 2e-5)
    end
  end)

  it("goes on from loaded parameters and moments where it stood", function()
    local want = cases[6][3]
    local P = tempo.program()
    local i = P:dim("i", "I")
    local w = P:param("w", { along = { i }, shape = { 3 }, init = tempo.array { 1, -2, 3 } })
    optim.Adam({ w }, { lr = 0.1 }):step(loss_of(P, w))
    local f = P:compile { outputs = { w = w } }
    f({}, { I = 4 })
    same(want[4], f:params().w, 2e-5)
    f:load_params(f:params())
    f({}, { I = 6 })
    same(want[10], f:params().w, 2e-5)
  end)

  it("takes a schedule as an expression in i", function()
    local P = tempo.program()
    local i, I = P:dim("i", "I")
    local w = P:param("w", { along = { i }, init = 0 })
    optim.SGD({ w }, { lr = 1 - i:value() / I:value() }):step(-w)
    same({ 0, 1, 1.75, 2.25 }, helper.value(P, w, {}, { I = 4 }))
  end)

  it("keeps its moments as parameters with the domain of theirs", function()
    local P = tempo.program()
    local i, l = P:dim("i", "I"), (P:dim("l", "L"))
    local w = P:param("w", { along = { i }, domain = { l }, shape = { 2 }, init = 1 })
    local c = P:constant { 1, -1 }
    optim.SGD({ w }, { lr = 0.5, momentum = 0.5 }):step((w * c):sum() * (l:value() + 1))
    for _, tier in ipairs(helper.tiers) do
      local f = P:compile { outputs = { w = w }, tier = tier }
      f({}, { I = 2, L = 3 })
      local p = f:params()
      same({ { 1.5, -1.5 }, { 3, -3 }, { 4.5, -4.5 } }, p["sgd.b.w"])
      same({ { 1 - 1.25, 1 + 1.25 }, { 1 - 2.5, 1 + 2.5 }, { 1 - 3.75, 1 + 3.75 } }, p.w)
    end
  end)

  it("takes the gradient of this loss alone", function()
    local P = tempo.program()
    local i = P:dim("i", "I")
    local w = P:param("w", { along = { i }, init = 1 });
    (100 * w):backward()
    optim.SGD({ w }, { lr = 0.1 }):step(w * 2)
    same({ 1, 0.8, 0.6 }, helper.value(P, w, {}, { I = 3 }))
  end)

  it("takes modules, parameters and lists of both", function()
    local P = tempo.program()
    local i = P:dim("i", "I")
    local nn = require "tempo.nn"
    local a, b = nn.Linear(P, 2, 1, { name = "a", along = { i } }), nn.Linear(P, 1, 1, { name = "b", along = { i } })
    local w = P:param("w", { along = { i }, init = 1 })
    assert.equal(2, #optim.SGD(a, { lr = 1 }).params)
    assert.equal(5, #optim.SGD({ a, w, b }, { lr = 1 }).params)
    assert.equal(1, #optim.Adam(w).params)
    helper.fails(function() optim.SGD({ a, a.weight }, { lr = 1 }) end, "option", "'a.weight'", "twice")
    helper.fails(function() optim.SGD({ w * 1 }, { lr = 1 }) end, "option", "along")
    helper.fails(function() optim.SGD({ 3 }, { lr = 1 }) end, "option", "number")
    helper.fails(function() optim.Adam(w, 0.1) end, "option", "optim.Adam", "number")
    helper.fails(function() optim.Adam(w, { betas = 0.9 }) end, "option", "betas")
    helper.fails(function() optim.Adam(w):step() end, "option", "loss")
  end)

  it("works beside another in one program, each with its own loss and rate", function()
    local P = tempo.program()
    local i = P:dim("i", "I")
    local a, b = P:param("a", { along = { i }, init = 1 }), P:param("b", { along = { i }, init = 2 })
    optim.SGD(a, { lr = 0.1, momentum = 0.5 }):step(a * b)                  -- b stands still for a's step
    optim.SGD(b, { lr = 0.01 * (i:value() + 1), momentum = 0.5 }):step(b * b)
    local out = helper.run(P, { a = a, b = b }, {}, { I = 6 })
    local x, y, m, n = 1, 2, 0, 0
    for k = 1, 6 do
      same(x, out.a[k])
      same(y, out.b[k])
      m, n = 0.5 * m + y, 0.5 * n + 2 * y
      x, y = x - 0.1 * m, y - 0.01 * k * n
    end
  end)

  it("says what is missing", function()
    local P = tempo.program()
    local w = P:param("w", { init = 1 })
    helper.fails(function() local _ = optim.SGD({}, { lr = 1 }) end, "option", "parameters")
    helper.fails(function() local _ = optim.SGD({ w }, {}) end, "option", "lr")
    helper.fails(function() local _ = optim.SGD({ w }, { lr = 1, momentun = 0.9 }) end, "option", "'momentum'")
    helper.fails(function() local _ = optim.Adam({ w }, { lr = 1 }):step(w * 1) end, "option", "'w'", "along")
  end)
end)

describe("clipping by the global norm", function()
  it("scales all gradients by one number, and only when they are too long", function()
    local P = tempo.program()
    local a, b = P:input("a", { shape = { 2 } }), P:input("b", { shape = { 1 } })
    local grads, norm = optim.clip_grad_norm({ a, b }, 2)
    local outputs = { a = grads[1], b = grads[2], norm = norm }
    local out = helper.run(P, outputs, { a = { 2, 3 }, b = { 6 } }, {})
    local k = 2 / (7 + 1e-6)
    same({ 2 * k, 3 * k }, out.a)
    same({ 6 * k }, out.b)
    same(7, out.norm)
    out = helper.run(P, outputs, { a = { 0.6, 0 }, b = { 0.8 } }, {})
    same({ 0.6, 0 }, out.a)
    same({ 0.8 }, out.b)
    out = helper.run(P, outputs, { a = { 0, 0 }, b = { 0 } }, {})
    same({ 0, 0 }, out.a)                       -- no NaN
  end)

  it("counts layers together and models apart", function()
    local P = tempo.program()
    local s, i, l = P:dim("s", "S"), (P:dim("i", "I")), (P:dim("l", "L"))
    local x = P:input("x", { domain = { s, l } })
    local w = P:param("w", { along = { i }, domain = { s, l }, init = 0 })
    local loss = (w * x)[{ l = 0 .. l:upper() }]:sum(0)             -- over (s, i)
    local opt = optim.SGD({ w }, { lr = 1, clip_norm = 1 })
    local _, norm = opt:step(loss)
    local out = helper.run(P, { norm = norm }, { x = { { 3, 4 }, { 0.3, 0.4 } } }, { S = 2, I = 1, L = 2 })
    same({ { 5 }, { 0.5 } }, out.norm)
    for _, tier in ipairs(helper.tiers) do
      local f = P:compile { outputs = { norm = norm }, tier = tier }
      f({ x = { { 3, 4 }, { 0.3, 0.4 } } }, { S = 2, I = 1, L = 2 })
      same({ { -0.6, -0.8 }, { -0.3, -0.4 } }, f:params().w)
    end
  end)
end)

-- tempo.optim: ten steps of each against NumPy's (spec/fixtures/make_optim.py), clipping, moments
-- as parameters.
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
    local a, b = nn.Linear(P, 2, 1, { name = "a", along = { i } }),
      nn.Linear(P, 1, 1, { name = "b", along = { i } })
    local w = P:param("w", { along = { i }, init = 1 })
    assert.equal(2, #optim.SGD(a, { lr = 1 }).params)
    assert.equal(5, #optim.SGD({ a, w, b }, { lr = 1 }).params)
    assert.equal(5, #optim.SGD({ a:parameters(), { w, { b } } }, { lr = 1 }).params)
    assert.equal(1, #optim.Adam(w).params)
    helper.fails(function()
      optim.SGD({ a, a.weight }, { lr = 1 })
    end, "option", "'a.weight'", "twice")
    helper.fails(function() optim.SGD({ w * 1 }, { lr = 1 }) end, "option", "along")
    helper.fails(function() optim.SGD({ 3 }, { lr = 1 }) end, "option", "number")
    helper.fails(function() optim.Adam(w, 0.1) end, "option", "optim.Adam", "number")
    helper.fails(function() optim.Adam(w, { betas = 0.9 }) end, "option", "betas")
    helper.fails(function() optim.Adam(w):step() end, "option", "loss")
  end)

  it("works beside another in one program, each with its own loss and rate", function()
    local P = tempo.program()
    local i = P:dim("i", "I")
    local a, b = P:param("a", { along = { i }, init = 1 }),
      P:param("b", { along = { i }, init = 2 })
    -- b stands still for a's step
    optim.SGD(a, { lr = 0.1, momentum = 0.5 }):step(a * b)
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
    helper.fails(function()
      local _ = optim.SGD({ w }, { lr = 1, momentun = 0.9 })
    end, "option", "'momentum'")
    helper.fails(function()
      local _ = optim.Adam({ w }, { lr = 1 }):step(w * 1)
    end, "option", "'w'", "along")
  end)
end)

-- w at each of n points when its k-th update (from 0) gives rows[k + 1] and happens where on(i)
-- holds.
local function standing(first, rows, n, on)
  local all, k = {}, 0
  for i = 0, n - 1 do
    all[i + 1] = k == 0 and first or rows[k]
    if on(i) then k = k + 1 end
  end
  return all, k == 0 and first or rows[k]
end

describe("a step with `when`", function()
  for _, case in ipairs(cases) do
    it("leaves all as it was where the condition does not hold: " .. case[1] .. " with "
      .. shown(case[2]), function()
      for _, tier in ipairs(helper.tiers) do
        local P = tempo.program()
        local i = P:dim("i", "I")
        local w = P:param("w", { along = { i }, shape = { 3 }, init = tempo.array { 1, -2, 3 } })
        local grads = optim[case[1]]({ w }, case[2]):step(loss_of(P, w), { when = (i % 3):ge(1) })
        local f = P:compile { outputs = { w = w, g = grads[1] }, tier = tier }
        for _, n in ipairs { 0, 1, 2, 7, 15 } do
          local want, last = standing({ 1, -2, 3 }, case[3], n, function(k) return k % 3 >= 1 end)
          local out = f({}, { I = n })
          if n > 0 then same(want, out.w, 2e-5) end
          same(last, f:params().w, 2e-5)
          for k = 0, n - 1, 3 do assert.same({ 0, 0, 0 }, out.g[k]:totable()) end
        end
      end
    end)
  end

  it("needs no loss elsewhere", function()
    for _, tier in ipairs(helper.tiers) do
      local function learn(o)
        local P = tempo.program()
        local i = P:dim("i", "I")
        local x = P:input("x", { domain = { i } })
        local w = P:param("w", { along = { i }, init = 1 })
        -- a window that the first two points do not have
        local loss = w * x[i - 2 .. i + 1]:sum(0)
        optim.SGD({ w }, { lr = 0.1 }):step(loss, o and o(i))
        return P:compile { outputs = { w = w }, tier = tier }
      end
      helper.fails(function() learn() end, "domain", "x[i - 2 .. i + 1]")
      local f = learn(function(i) return { when = i:ge(2) } end)
      same({ 1, 1, 1, 0.4, -0.5 }, f({ x = { 1, 2, 3, 4, 5 } }, { I = 5 }).w)
      same(-1.7, f:params().w)
      same({ 1 }, f({ x = { 1 } }, { I = 1 }).w)
    end
  end)

  it("counts only losses where the condition holds", function()
    for _, tier in ipairs(helper.tiers) do
      local P = tempo.program()
      local i = P:dim("i", "I")
      local w = P:param("w", { along = { i }, init = 1 })
      local late = w[tempo.max(i - 1, 0)]                   -- what acts at i is of the point before
      optim.SGD({ w }, { lr = 1 }):step(late * (i:value() + 1), { when = (i % 2):eq(0) })
      local f = P:compile { outputs = { w = w }, tier = tier }
      -- w[0] is read by the losses of 0 and 1, of which that of 0 counts; w[2] by that of 3, which
      -- does not
      same({ 1, 0, 0, 0, 0, 0 }, f({}, { I = 6 }).w)
    end
  end)

  it("takes a condition that holds always, or never: an option of the script may say so", function()
    local always = { function(i) return (i % 1):eq(0) end, function(i) return i:ge(0) end,
      function(i) return i:lt(9):lor(i:ge(2)) end }
    local never = { function(i) return i:lt(0) end, function(i) return (i % 4):eq(7) end }
    for _, tier in ipairs(helper.tiers) do
      for _, passes in ipairs { "none", "all" } do
        local function learn(when)
          local P = tempo.program()
          local i = P:dim("i", "I")
          local w = P:param("w", { along = { i }, init = 8 })
          optim.SGD({ w }, { lr = 0.25 }):step(w:square(), { when = when(i) })
          return P:compile { outputs = { w = w }, tier = tier,
            passes = passes == "none" and "none" or nil }({}, { I = 4 }).w
        end
        for _, when in ipairs(always) do assert.same({ 8, 4, 2, 1 }, learn(when):totable()) end
        for _, when in ipairs(never) do assert.same({ 8, 8, 8, 8 }, learn(when):totable()) end
      end
    end
  end)

  it("steps from point to point of two dims, on conditions on either", function()
    local want = cases[6][3]                                -- Adam
    for _, tier in ipairs(helper.tiers) do
      for form, on in ipairs { function(_, k) return k == 2 end, function(i) return i == 1 end,
        function(i, k) return (i + k) % 2 == 0 end } do
        local P = tempo.program()
        local i, k, K = P:dim("i", "I"), P:dim("k", "K")
        local w = P:param("w", { along = { i, k }, shape = { 3 }, init = tempo.array { 1, -2, 3 } })
        local when = form == 1 and k:eq(K - 1) or form == 2 and i:eq(1) or ((i + k) % 2):eq(0)
        optim.Adam({ w }, { lr = 0.1 }):step(loss_of(P, w), { when = when })
        local f = P:compile { outputs = { w = w }, tier = tier }
        local rows, last = standing({ 1, -2, 3 }, want, 9, function(n)
          return on(math.floor(n / 3), n % 3)
        end)
        local got = f({}, { I = 3, K = 3 }).w:totable()
        for n = 0, 8 do same(rows[n + 1], got[math.floor(n / 3) + 1][n % 3 + 1], 2e-5) end
        same(last, f:params().w, 2e-5)
      end
    end
  end)

  it("lets one model of several learn, each with its own count", function()
    local want = cases[6][3]
    for _, tier in ipairs(helper.tiers) do
      local P = tempo.program()
      local s, i = P:dim("s", "S"), (P:dim("i", "I"))
      local w = P:param("w",
        { along = { i }, domain = { s }, shape = { 3 }, init = tempo.array { 1, -2, 3 } })
      optim.Adam({ w }, { lr = 0.1, name = "adam" }):step(loss_of(P, w),
        { when = s:eq(1):land((i % 2):eq(0)) })
      local f = P:compile { outputs = { w = w }, tier = tier }
      local got = f({}, { S = 2, I = 6 }).w:totable()
      local rows = standing({ 1, -2, 3 }, want, 6, function(n) return n % 2 == 0 end)
      for n = 1, 6 do
        same({ 1, -2, 3 }, got[1][n])
        same(rows[n], got[2][n], 2e-5)
      end
      assert.same({ 0, 3 }, f:params()["adam.steps.i"]:totable())
    end
  end)

  it("clips by the norm of the steps that are taken", function()
    for _, tier in ipairs(helper.tiers) do
      local P = tempo.program()
      local i = P:dim("i", "I")
      local w = P:param("w", { along = { i }, init = tempo.array { 3, 4 } })
      local _, norm = optim.SGD({ w }, { lr = 1, clip_norm = 1 }):step(w:square():sum() / 2,
        { when = i:ge(1) })
      local f = P:compile { outputs = { w = w, norm = norm }, tier = tier }
      local out = f({}, { I = 4 })
      same({ { 3, 4 }, { 3, 4 }, { 2.4, 3.2 }, { 1.8, 2.4 } }, out.w)
      same({ 0, 5, 4, 3 }, out.norm)
    end
  end)

  it("goes on tick by tick, and from a state", function()
    local want = cases[6][3]
    for _, tier in ipairs(helper.tiers) do
      local P = tempo.program()
      local i = P:dim("i", "I")
      local w = P:param("w", { along = { i }, shape = { 3 }, init = tempo.array { 1, -2, 3 } })
      optim.Adam({ w }, { lr = 0.1 }):step(loss_of(P, w), { when = (i % 4):eq(0) })
      local f = P:compile { outputs = { w = w }, tick = i, tier = tier }
      local rows = standing({ 1, -2, 3 }, want, 12, function(n) return n % 4 == 0 end)
      f:start({}, { I = math.huge })
      for n = 1, 12 do
        if n == 6 then f:load_state(f:state()) end
        local _, out = f:step()
        same(rows[n], out.w, 2e-5)
      end
    end
  end)

  it("says what is no condition", function()
    local P = tempo.program()
    local i, t = P:dim "i", P:dim "t"
    local w = P:param("w", { along = { i }, init = 1 })
    local function step(c)
      return function() optim.SGD({ w }, { lr = 1 }):step(w * 1, { when = c }) end
    end
    helper.fails(step(i), "option",
      "optim.SGD: when is a condition on indices, such as i:mod(4):eq(0), not i")
    helper.fails(step(i:value():eq(0)), "option", "not a tensor")
    helper.fails(step(i == 0), "option", "not a boolean")
    helper.fails(step(4), "option", "not a number")
    helper.fails(step(t:eq(0)), "domain", "mentions the dim 't', which parameter 'w' does not have")
    helper.fails(function()
      optim.SGD({ w }, { lr = 1 }):step(w * 1, { wen = i:eq(0) })
    end, "option", "did you mean 'when'?")
  end)
end)

-- Early stopping on a list of numbers should do this: the points that are reached, and what is best
-- at each.
local function stops(list, o)
  local better = o.mode == "max" and function(a, b) return a > b + (o.min_delta or 0) end
    or function(a, b) return a < b - (o.min_delta or 0) end
  local r = { best = {}, at = {}, wait = {}, n = #list }
  local best, at, wait = o.mode == "max" and -math.huge or math.huge, -1, 0
  for k, v in ipairs(list) do
    if better(v, best) then best, at, wait = v, k - 1, 0 else wait = wait + 1 end
    r.best[k], r.at[k], r.wait[k] = best, at, wait
    local reached = o.threshold
      and (o.mode == "max" and v >= o.threshold or o.mode ~= "max" and v <= o.threshold)
    if wait >= math.max(o.patience or 3, 1) or reached then
      r.n = k
      break
    end
  end
  return r
end

describe("early stopping", function()
  local nan = 0 / 0
  local lists = { { 5, 4, 3, 2, 1, 0 }, { 5, 4, 4.5, 4.2, 4.1, 1 }, { 1, 2, 3, 4, 5, 6 },
    { nan, nan, 3, nan, 2, nan }, { nan, nan, nan, nan, 1, 1 },
    { 3, 3, 3, 3, 3, 3 }, { 5, 4.95, 4.9, 4.85, 4, 4 } }

  it("ends the dim after `patience` points without improvement", function()
    for _, tier in ipairs(helper.tiers) do
      for _, o in ipairs { {}, { patience = 1 }, { patience = 0 },
        { patience = 2, min_delta = 0.1 }, { mode = "max" },
          { mode = "max", patience = 2, threshold = 4.5 }, { threshold = 2.5 } } do
        local P = tempo.program()
        local i = P:dim("i", "I")
        local w = P:param("w", { along = { i }, init = 0 })
        w:update(w + 1)
        local metric = P:input("metric", { domain = { i } })
        local stop = optim.early_stopping(i, metric, o)
        local outputs = { best = stop.best, at = stop.best_at, wait = stop.wait,
          improved = stop.improved, done = stop.done }
        local f = P:compile { outputs = outputs, tier = tier }
        for _, list in ipairs(lists) do
          local want, out = stops(list, o), f({ metric = list }, { I = #list })
          assert.equal(want.n, out.I:item())
          same(want.n, f:params().w)                        -- the last point is a whole one
          for _, name in ipairs { "best", "at", "wait" } do
            local got = out[name]:totable()
            assert.equal(want.n, #got)
            for k = 1, want.n do same(want[name][k], got[k]) end
          end
          for k = 1, want.n do
            assert.equal(want.wait[k] == 0, out.improved:get(k - 1))
            assert.equal(k == want.n and want.n < #list, out.done:get(k - 1) and want.n < #list)
          end
        end
      end
    end
  end)

  it("keeps the parameters of the best point, and gives them back", function()
    for _, tier in ipairs(helper.tiers) do
      local P = tempo.program()
      local i = P:dim("i", "I")
      local net = require "tempo.nn".Linear(P, 1, 1,
        { along = { i }, name = "net", init = "zeros" })
      local x = P:input("x", { domain = { i } })
      net.weight:update(net.weight + 1)
      net.bias:update(net.bias - x)
      local stop = optim.early_stopping(i, x, { patience = 2 })
      local best = stop:keep(net)
      local f = P:compile { outputs = { w = best.weight, y = best(P:constant { 10 }),
        now = net(P:constant { 10 }) }, tier = tier }
      local out = f({ x = { 3, 2, 5, 1, 4, 4, 0 } }, { I = 7 })       -- ends at 5, best at 3
      same({ { { 0 } }, { { 1 } }, { { 1 } }, { { 3 } }, { { 3 } }, { { 3 } } }, out.w)
      same({ { 0 }, { 7 }, { 7 }, { 20 }, { 20 }, { 20 } }, out.y)
      same({ { 0 }, { 7 }, { 15 }, { 20 }, { 29 }, { 35 } }, out.now)
      local all = f:params()
      same({ { 6 } }, all["net.weight"])
      local kept = stop:restore(all)
      same({ { 3 } }, kept["net.weight"])
      same({ -10 }, kept["net.bias"])
      assert.equal(f, f:load_params(kept))
      same({ 20 }, f({ x = { 1 } }, { I = 1 }).now[0])
    end
  end)

  it("ends each seed of many by itself, in steps too", function()
    local rows = { { 3, 2, 2, 2, 2 }, { 1, 2, 3, 4, 5 }, { 9, 8, 7, 6, 5 } }
    for _, tier in ipairs(helper.tiers) do
      local P = tempo.program()
      local s, i = P:dim("s", "S"), (P:dim("i", "I"))
      local metric = P:input("metric", { domain = { s, i } })
      local w = P:param("w", { along = { i }, domain = { s }, init = 0 })
      w:update(w + 1)
      local stop = optim.early_stopping(i, metric, { patience = 2 })
      local f = P:compile { outputs = { best = stop.best }, tier = tier, tick = i }
      local out = f({ metric = rows }, { S = 3, I = 5 })
      assert.same({ 4, 3, 5 }, out.I:totable())
      same({ { 3, 2, 2, 2, 0 }, { 1, 1, 1, 0, 0 }, { 9, 8, 7, 6, 5 } }, out.best)
      same({ 4, 3, 5 }, f:params().w)
      f:start({}, { S = 3, I = 5 })
      for k = 1, 5 do
        local done, at = f:step { metric = { rows[1][k], rows[2][k], rows[3][k] } }
        assert.equal(k == 5, done)
        same({ out.best:get(0, k - 1), out.best:get(1, k - 1), out.best:get(2, k - 1) }, at.best)
      end
    end
  end)

  it("says what is wrong", function()
    local P = tempo.program()
    local i, k = P:dim "i", P:dim "k"
    local x, n = P:input("x", { domain = { i } }), P:input("n", { domain = { i }, dtype = "i64" })
    local function call(...)
      local args = { ... }
      return function() optim.early_stopping(args[1], args[2], args[3]) end
    end
    helper.fails(call(i, x, { patience = 1.5 }), "option", "patience is 1.5")
    helper.fails(call(i, x, { mode = "least" }), "option", "'min' or 'max'")
    helper.fails(call(i, x, { pacience = 2 }), "option", "did you mean 'patience'?")
    helper.fails(call(k, x), "option", "early_stopping(i, loss)")
    helper.fails(call(i, n), "option", "float")
    local net = require "tempo.nn".Linear(P, 1, 1, { along = { i, k } })
    local stop = optim.early_stopping(i, x)
    helper.fails(function() stop:keep(net) end, "domain", "does not evolve along 'i' alone")
    helper.fails(call(i, x), "stop")                          -- a dim ends once
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
    local out = helper.run(P, { norm = norm }, { x = { { 3, 4 }, { 0.3, 0.4 } } },
      { S = 2, I = 1, L = 2 })
    same({ { 5 }, { 0.5 } }, out.norm)
    for _, tier in ipairs(helper.tiers) do
      local f = P:compile { outputs = { norm = norm }, tier = tier }
      f({ x = { { 3, 4 }, { 0.3, 0.4 } } }, { S = 2, I = 1, L = 2 })
      same({ { -0.6, -0.8 }, { -0.3, -0.4 } }, f:params().w)
    end
  end)
end)

-- threads =: every bit is the same for any number of threads, on both compiled tiers;
-- what fails names the first point; runs are cancelled; forks; what is said about it.
local helper = require "spec.helper"

-- Programs by name: each gives outputs, inputs and bounds. With TEMPO_SHARE=0 all is shared that
-- may be; sizes are odd, so shares are not equal.
local programs = [[
  local tempo = require "tempo"
  tempo.warn = false
  local programs = {}
  local function wave(shape, dtype)
    local Q, n = tempo.program(), 1
    for _, v in ipairs(shape) do n = n * v end
    local y = (tempo.arange({ n }, 0, 1, { dtype = "f64" }) * 7.3):sin():to(dtype or "f32"):reshape(shape)
    return Q:compile { outputs = { y = y }, tier = "interpreter" }({}).y
  end

  function programs.elementwise(P)
    local x = P:input("x", { shape = { 37, 53 } })
    local y = (x * 2 + 1):sin():exp() - x
    return { y = y, rows = y:sum(1), columns = y:max(0), all = y:sum(), soft = x:softmax(-1), norm = x:layer_norm { 53 } }, { x = wave { 37, 53 } }
  end
  function programs.recurrence(P)
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 33, 20 } })
    local w = P:input("w", { shape = { 24, 24 } })
    local u = P:input("u", { shape = { 20, 24 } })
    local h = P:tensor { domain = { t }, shape = { 33, 24 } }
    h[0] = x[0]:matmul(u):tanh()
    h[t] = (h[t - 1]:matmul(w) + x:matmul(u)):tanh() * 0.9 + h[t - 1] * 0.1
    local loss = (h * h)[{ t = tempo.range(0, T) }]:mean()
    local g = tempo.grad(loss, { w, u })
    return { h = h, loss = loss, gw = g[1], gu = g[2] }, { x = wave { 9, 33, 20 }, w = wave { 24, 24 }, u = wave { 20, 24 } }, { T = 9 }
  end
  function programs.window(P)
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 33, 20 } })
    local h = P:tensor { domain = { t }, shape = { 33, 20 } }
    local last = h[tempo.max(0, t - 3) .. t + 1]
    local scores = tempo.einsum("bd,tbd->bt", x, last):softmax(-1)
    h[0] = x
    h[t + 1] = tempo.einsum("bt,tbd->bd", scores, last) * 0.5 + tempo.einsum("tbd,bde->tbe", last, x:unsqueeze(-1) * x:unsqueeze(1)):max(0) + x
    return { h = h }, { x = wave { 9, 33, 20 } }, { T = 9 }
  end
  function programs.batch(P)
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { b, t }, shape = { 6 } })
    local w = P:input("w", { shape = { 6, 6 } })
    local h = P:tensor { domain = { b, t }, shape = { 6 } }
    h[{ t = 0 }] = x
    h:otherwise((h[t - 1]:matmul(w) + x + tempo.normal({ 6 }, { domain = { b, t } })):sigmoid())
    local all = h[{ b = tempo.range(0, B), t = tempo.range(0, T) }]
    local prefix = x[{ t = tempo.range(0, t + 1) }]:sum(0)
    return { h = h, s = h:sum(), best = h:argmax(0), all = all:sum(), prefix = prefix, up = x:cumsum(0), sorted = (x:sort(0)) },
      { x = wave { 21, 8, 6 }, w = wave { 6, 6 } }, { B = 21, T = 8 }
  end
  function programs.products(P)
    local out, given = {}, {}
    for k, s in ipairs { { 64, 40, 33 }, { 5, 64, 70 }, { 3, 100, 31 }, { 130, 17, 2 }, { 1, 90, 200 } } do
      local a, b = P:input("a" .. k, { shape = { s[1], s[2] } }), P:input("b" .. k, { shape = { s[2], s[3] } })
      local c = P:input("c" .. k, { shape = { s[3], s[2] } })
      out["y" .. k], out["z" .. k] = a:matmul(b), a:matmul(c:permute { 1, 0 })
      given["a" .. k], given["b" .. k], given["c" .. k] = wave { s[1], s[2] }, wave { s[2], s[3] }, wave { s[3], s[2] }
    end
    return out, given
  end
  function programs.images(P)
    local b, B = P:dim "b"
    local x, w = P:input("x", { shape = { 5, 3, 19, 23 } }), P:input("w", { shape = { 4, 3, 3, 3 } })
    local k, d = P:input("k", { shape = { 3, 1, 3, 3 } }), P:input("d", { domain = { b }, shape = { 2, 3, 12, 12 } })
    local p = P:input("p", { shape = { 4, 3, 1, 1 } })
    local y, z, small = x:conv2d(w, nil, 1, 1), d:conv2d(w), d[{ b = 0 }]:conv2d(w, nil, 4)
    local point, groups = x:conv2d(p), x:conv2d(k, nil, 2, 0, 1, 3)
    local loss = y:tanh():sum() + (z * z)[{ b = tempo.range(0, B) }]:sum() + small:sum() + (groups * groups):sum()
    local g = tempo.grad(loss, { x, w, k })
    return { y = y, z = z, small = small, point = point, groups = groups, gx = g[1], gw = g[2], gk = g[3] },
      { x = wave { 5, 3, 19, 23 }, p = wave { 4, 3, 1, 1 }, w = wave { 4, 3, 3, 3 }, k = wave { 3, 1, 3, 3 }, d = wave { 7, 2, 3, 12, 12 } }, { B = 7 }
  end
  function programs.dtypes(P)
    local out, given = {}, {}
    for _, d in ipairs { "f64", "f16", "bf16", "i32", "i64", "u8", "bool" } do
      local x = P:input("x" .. d, { shape = { 19, 23 }, dtype = d })
      given["x" .. d] = wave({ 19, 23 }, d)
      out["m" .. d] = x:max(1)
      if d ~= "bool" then
        local y = x * 3 + x
        out["y" .. d], out["s" .. d], out["p" .. d] = y, y:sum(0), y:matmul(x:permute { 1, 0 })
      end
    end
    return out, given
  end
  function programs.changed_rows(P)
    local t, T = P:dim "t"
    local k = P:input("k", { domain = { t }, dtype = "i64" })
    local s = P:tensor { domain = { t }, shape = { 40, 30 } }
    s[0] = tempo.zeros { 40, 30 }
    s[t] = tempo.where(tempo.arange(40):eq(k):unsqueeze(1), (s[t - 1]:sum(0) * 0.5 + t:value():to "f32"):tanh(), s[t - 1])
    return { last = s[T - 1], picked = s[T - 1]:index_select(0, k[T - 1]) }, { k = tempo.array({ 3, 9, 3, 30, 39, 0 }, "i64") }, { T = 6 }
  end
  function programs.training(P)
    local i, I = P:dim "i"
    local b, B = P:dim "b"
    local x = tempo.normal({ 10 }, { domain = { i, b } })
    local net = tempo.nn.MLP(P, { 10, 24, 3 }, { name = "net", activation = "tanh", along = { i } })
    local loss = ((net(x) - x:slice(0, 0, 3)) ^ 2)[{ b = tempo.range(0, B) }]:mean()
    tempo.optim.Adam(net:parameters(), { lr = 0.01 }):step(loss)
    return { loss = loss }, {}, { I = 12, B = 50 }
  end
  function programs.cartpole(P)
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local w = P:input("w", { shape = { 4, 2 } })
    local env = require "tempo.rl".env(P, "CartPole-v1", { domain = { b, t }, time = t })
    env:step(env.obs:matmul(w):argmax(-1))
    return { r = env.reward, last = env.obs }, { w = wave { 4, 2 } }, { B = 37, T = 30 }
  end
  function programs.hits(P)
    local b = P:dim "b"
    local x = P:input("x", { domain = { b }, shape = { 30, 4 } })
    local k = P:input("k", { domain = { b }, shape = { 30 }, dtype = "i64" })
    local one, rows, K = (k % 4):unsqueeze(1), x:index_select(0, k), {}
    local picked = x:gather(1, one)
    for i = 1, 21 do
      K[i] = {}
      for j = 1, 30 do K[i][j] = i * j * j % 30 end
    end
    return {
      cells = x:scatter_add(1, one, picked), again = x:scatter_add(0, k:floordiv(3):unsqueeze(1):expand { 30, 4 }, x),
      grad = tempo.grad((rows * rows * rows):sum() + (picked * picked):sum(), x),
    }, { x = wave { 21, 30, 4 }, k = tempo.array(K, "i64") }, { B = 21 }
  end
  function programs.ends(P)
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local h = P:tensor { domain = { b, t }, shape = { 12 } }
    h[{ t = 0 }] = tempo.normal({ 12 }, { domain = { b } })
    h:otherwise((h[t - 1] * 1.3):sin() + 0.1)
    P:stop(t, h:sum():gt(4))
    local most = h[T - 1]
    return { most = most, s = most[{ b = tempo.range(0, B) }]:sum() }, {}, { B = 19, T = 30 }
  end

  local function bits(x)
    if type(x) == "table" then
      local all = {}
      for k, v in ipairs(x) do all[k] = bits(v) end
      return table.concat(all, " ")
    end
    if type(x) ~= "number" then return tostring(x) end
    return x ~= x and "nan" or x == 0 and (1 / x < 0 and "-0" or "0") or ("%.17g"):format(x)
  end
  -- By name of an output or parameter.
  local function run(make, threads, reproducible, tier)
    local P = tempo.program { seed = 3 }
    local outputs, inputs, bounds = make(P)
    local f = P:compile { outputs = outputs, tier = tier, threads = threads, reproducible = reproducible }
    local got = {}
    for round = 1, 2 do
      for name, a in pairs(f(inputs, bounds)) do got[name .. round] = bits(a:totable()) end
    end
    for name, a in pairs(f:params()) do got[name] = bits(a:totable()) end
    return got, f
  end
]]

local function script(text, settings)
  return helper.script(programs .. text, nil, settings and "export " .. settings .. "; ")
end

describe("threads", function()
  for _, tier in ipairs { "interpreter", "native" } do
    it("make the same bits, however many there are: " .. tier, function()
      local text = ([[
        local TIER = %q
        for name, make in pairs(programs) do
          for _, reproducible in ipairs { false, true } do
            local want, shared = run(make, 1, reproducible, TIER), false
            for _, n in ipairs { 2, 3, 7 } do
              local got, f = run(make, n, reproducible, TIER)
              for k, v in pairs(want) do
                if got[k] ~= v then print(name, k, n, reproducible) end
              end
              shared = shared or f:explain "threads":find("shared at the last bounds", 1, true)
            end
            if not shared then print(name, "is shared by nobody") end
          end
        end
        print "compared"]]):format(tier)
      assert.equal("compared\n", script(text, "TEMPO_SHARE=0"))
    end)
  end

  for _, tier in ipairs { "interpreter", "native" } do
    it("name the point that one thread names, and go on with the next call: " .. tier, function()
      local text = ([[
        local function fails(threads, check)
          local P = tempo.program()
          local t, T = P:dim "t"
          local k = P:input("k", { domain = { t }, shape = { 40 }, dtype = "i64" })
          local x = P:input("x", { shape = { 40, 30 } })
          local y = (x * x * (t:value():to "f32" + 1) + 0.1):tanh():index_select(0, k)
          local z = (y:log() + 1):sum(1)
          local f = P:compile { outputs = { z = z, d = tempo.arange(40) %% (k + 1) }, tier = %q, threads = threads, check = check }
          local all = {}
          local function try(rows)
            local ok, got = pcall(f, { k = tempo.array(rows, "i64"), x = wave { 40, 30 } }, { T = 3 })
            all[#all + 1] = ok and bits(got.z:totable()) or tostring(got)
          end
          local rows = {}
          for i = 1, 3 do
            rows[i] = {}
            for j = 1, 40 do rows[i][j] = j - 1 end
          end
          try(rows)
          rows[2][39], rows[3][2] = 40, 77
          try(rows)
          rows[2][39], rows[3][2], rows[2][8], rows[3][31] = 2, 5, -1, -1
          try(rows)
          rows[2][8], rows[3][31] = 3, 3
          try(rows)
          return all
        end
        for _, check in ipairs { "none", "nan" } do
          local want = fails(1, check)
          assert(want[2]:find("outside", 1, true) and want[3] ~= want[2] and want[1] ~= want[4], want[2])
          for _, n in ipairs { 2, 3, 7 } do
            local got = fails(n, check)
            for k, v in pairs(want) do
              if got[k] ~= v then print(n, k, got[k], v) end
            end
          end
        end
        print "compared"]]):format(tier)
      assert.equal("compared\n", script(text, "TEMPO_SHARE=0"))
    end)
  end

  it("name the index that one thread names first, of what is added where data says", function()
    local text = [[
      local function fails(tier, threads)
        local P = tempo.program()
        local b = P:dim "b"
        local x, k = P:input("x", { domain = { b }, shape = { 30, 4 } }), P:input("k", { domain = { b }, shape = { 30 }, dtype = "i64" })
        local f = P:compile { outputs = { y = (x + 1):scatter_add(1, k:unsqueeze(1), x:slice(1, 0, 1)) }, tier = tier, threads = threads }
        local all = {}
        for _, bad in ipairs { { { 30, 4 }, { 2, 5 } }, { { 30, 5 }, { 2, 5 } }, { { 39, 1 }, { 20, 3 }, { 1, 6 } } } do
          local rows = {}
          for i = 1, 40 do
            rows[i] = {}
            for j = 1, 30 do rows[i][j] = i * j % 4 end
          end
          for _, p in ipairs(bad) do rows[p[1] ] [p[2] ] = 10 * p[1] + p[2] end
          all[#all + 1] = tostring(select(2, pcall(f, { x = wave { 40, 30, 4 }, k = tempo.array(rows, "i64") }, { B = 40 })))
        end
        return all
      end
      for _, tier in ipairs { "interpreter", "native" } do
        local want = fails(tier, 1)
        for k, v in ipairs { "b = 1: index 25 ", "b = 1: index 25 ", "b = 0: index 16 " } do assert(want[k]:find(v, 1, true), want[k]) end
        for _, n in ipairs { 2, 3, 7 } do
          for k, v in ipairs(fails(tier, n)) do
            if v ~= want[k] then print(tier, n, v, want[k]) end
          end
        end
      end
      print "compared"]]
    assert.equal("compared\n", script(text, "TEMPO_SHARE=0"))
  end)

  it("name the action that one thread names first, of several environments", function()
    local text = [[
      local function fails(tier, threads)
        local P = tempo.program { seed = 1 }
        local b, B = P:dim "b"
        local t, T = P:dim "t"
        local a = P:input("a", { domain = { b, t }, dtype = "i64" })
        local env = require "tempo.rl".env(P, "CartPole-v1", { domain = { b, t }, time = t })
        env:step(a)
        local f = P:compile { outputs = { r = env.reward }, tier = tier, threads = threads }
        local all = {}
        for _, bad in ipairs { { { 30, 4 }, { 2, 5 } }, { { 30, 5 }, { 2, 5 } }, { { 39, 1 }, { 20, 3 }, { 1, 6 } } } do
          local rows = {}
          for i = 1, 40 do
            rows[i] = {}
            for j = 1, 8 do rows[i][j] = (i * j) % 2 end
          end
          for _, p in ipairs(bad) do rows[p[1] ] [p[2] ] = p[1] end
          all[#all + 1] = tostring(select(2, pcall(f, { a = tempo.array(rows, "i64") }, { B = 40, T = 8 })))
        end
        return all
      end
      for _, tier in ipairs { "interpreter", "native" } do
        local want = fails(tier, 1)
        for k, v in ipairs { "action 30", "action 2", "action 39" } do assert(want[k]:find(v, 1, true), want[k]) end
        for _, n in ipairs { 2, 3, 7 } do
          for k, v in ipairs(fails(tier, n)) do
            if v ~= want[k] then print(tier, n, v, want[k]) end
          end
        end
      end
      print "compared"]]
    assert.equal("compared\n", script(text, "TEMPO_SHARE=0"))
  end)

  it("are one unless somebody asks: an option, OMP_NUM_THREADS, or TEMPO_THREADS before both",
    function()
    local text = [[
      local P = tempo.program()
      local x = P:input("x", { shape = { 100, 1000 } })
      local function said(options)
        options.outputs, options.tier = { y = x:exp() }, "interpreter"
        return P:compile(options):explain "threads":match "^%d+ threads" or "1 thread"
      end
      print(said {}, said { threads = 3 }, said { threads = 1 })]]
    assert.equal("1 thread\t3 threads\t1 thread\n", script(text, "TEMPO_THREADS= OMP_NUM_THREADS="))
    assert.equal("4 threads\t3 threads\t1 thread\n",
      script(text, "TEMPO_THREADS= OMP_NUM_THREADS=4,2"))
    assert.equal("2 threads\t2 threads\t2 threads\n",
      script(text, "TEMPO_THREADS=2 OMP_NUM_THREADS=4"))
    assert.equal("1 thread\t3 threads\t1 thread\n",
      script(text, "TEMPO_THREADS= OMP_NUM_THREADS=many"))
  end)

  it("share what takes long enough, and say who does what", function()
    local text = [[
      local function holds(said, what)
        if not said:find(what, 1, true) then print("no " .. what .. " in " .. said) end
      end
      local P = tempo.program()
      local t, T = P:dim "t"
      local x = P:input("x", { shape = { 64, 3000 } })
      local k = P:input("k", { domain = { t }, shape = { 64 }, dtype = "i64" })
      local h = P:tensor { domain = { t }, shape = { 64, 3000 } }
      h[0] = x
      h[t] = (x + h[t - 1]:tanh()):index_select(0, k):exp():clamp(0, 1)
      local function compile(threads) return P:compile { outputs = { s = h[T - 1]:sum() }, tier = "interpreter", threads = threads } end
      local f = compile(2)
      holds(f:explain(), '2 threads share what explain "threads" says')
      holds(f:explain "threads", "no bounds yet")
      f({ x = wave { 64, 3000 }, k = wave({ 3, 64 }, "i64") }, { T = 3 })
      for _, what in ipairs { "cut along 64", "shared at the last bounds", "by the first thread: " } do holds(f:explain "threads", what) end
      holds(compile(1):explain "threads", "one thread runs everything: threads = 1")
      local Q = tempo.program()
      local b, B = Q:dim "b"
      local g = Q:compile { outputs = { z = Q:input("y", { domain = { b } }):exp() }, tier = "interpreter", threads = 2 }
      for _, row in ipairs { { 100, "too little work" }, { 1000000, "shared" }, { 100, "too little work" } } do
        g({ y = wave { row[1] } }, { B = row[1] })
        holds(g:explain "threads", row[2])
      end
      print "said"]]
    assert.equal("said\n", script(text, "TEMPO_THREADS= TEMPO_SHARE="))
  end)

  it("work in memory that f:memory counts", function()
    local text = [[
      local function bytes(threads)
        local P = tempo.program()
        local b = P:dim "b"
        local f = P:compile { outputs = { x = tempo.normal({ 3000 }, { domain = { b }, dtype = "f64" }) }, tier = "interpreter", threads = threads }
        f({}, { B = 50 })
        assert(f:memory { B = 50 } == f:peak())
        return f:peak()
      end
      print(bytes(2) > bytes(1))]]
    assert.equal("true\n", script(text, "TEMPO_THREADS= "))
  end)

  -- A callback ends the run while threads are at work around it; the next one goes on as if nothing
  -- had been.
  for _, tier in ipairs { "interpreter", "native" } do
    it("end when a callback fails or the run is cancelled: " .. tier, function()
      local text = ([[
        local P = tempo.program()
        local t, T = P:dim "t"
        local h = P:tensor { domain = { t }, shape = { 64, 100 } }
        local at = -1
        local seen = P:call(function(arrays, p)
          if p.t == at then error "enough" end
          return arrays[1]
        end, { h:sum() }, { { domain = { t } } })
        h[0] = tempo.normal { 64, 100 }
        h[t] = (h[t - 1] * 1.5 + seen[t - 1] * 1e-6):sin()
        local f = P:compile { outputs = { s = h:sum() }, tier = %q, threads = 3 }
        local want = tostring(f({}, { T = 20 }).s)
        for k = 0, 18, 3 do
          at = k
          local ok, e = pcall(f, {}, { T = 20 })
          assert(not ok and tostring(e):find "enough", tostring(e))
          at = -1
          assert(tostring(f({}, { T = 20 }).s) == want)
        end
        print "ended"]]):format(tier)
      assert.equal("ended\n", script(text, "TEMPO_SHARE=0"))
    end)
  end
end)

-- compile{ reproducible = true }: weights after many updates have the same bits whatever executes
-- the plan and with whatever flags it was compiled. The bits stand here, so that another machine is
-- asked too. export_spec.lua asks code that stands alone.
local helper = require "spec.helper"

-- The text that both programs share.
local hashes = [[
  local tempo = require "tempo"
  local function hash(h, a)
    for _, v in ipairs(a) do
      if type(v) == "table" then h = hash(h, v)
      else
        v = v == 0 and 0 or v
        local m, e = 0, 0
        if v ~= v or v == math.huge or v == -math.huge then m, e = 1, v ~= v and 0 or v > 0 and 1 or 2
        elseif v ~= 0 then
          m = v
          while math.abs(m) >= 1 do m, e = m / 2, e + 1 end
          while math.abs(m) < 0.5 do m, e = m * 2, e - 1 end
          m = m * 16777216
        end
        h = (h * 31 + (m % 1048573) * 7 + e % 4096) % 1048573
      end
    end
    return h
  end
  local function hash_params(h, f)
    local names, params = {}, f:params()
    for name in pairs(params) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do h = hash(h, { params[name]:totable() }) end
    return h
  end
  local how = REPRODUCIBLE
  local function compile(P, outputs) return P:compile { outputs = outputs, reproducible = how, threads = tonumber(os.getenv "N") } end
]]

-- Batches of dims and of axes, products of more than 128 terms, dot products, sums along all axes,
-- draws, every kind of elementwise function; prints a hash.
local text = hashes .. [[
  local P = tempo.program { seed = 11 }
  local i, I = P:dim "i"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local x = tempo.normal({ 150 }, { domain = { i, b, t } })
  local net = tempo.nn.MLP(P, { 150, 24, 3 }, { name = "net", activation = "tanh", along = { i } })
  local h = P:tensor { domain = { i, b, t }, shape = { 3 } }
  h[{ t = 0 }] = net(x)
  h:otherwise((h[t - 1] * 0.7 + net(x)):sin() + (x[{ i, b, t }]:slice(0, 0, 3) * 0.1):exp():log1p())
  local y = (x:sum() * 0.3):cos() + tempo.uniform({}, { domain = { i, b, t } })
  local all = h[{ b = tempo.range(0, B), t = tempo.range(0, T) }]
  local loss = ((h:sum() - y) ^ 2)[{ b = tempo.range(0, B), t = tempo.range(0, T) }]:mean() + all:softmax(-1):var() + all:sigmoid():pow(1.7):sum() * 1e-3
  tempo.optim.Adam(net:parameters(), { lr = 0.01 }):step(loss)
  local f = compile(P, { loss = loss })
  local out = f({}, { I = 40, B = 5, T = 7 })
  local k = hash(0, out.loss:totable())
  k = hash_params(k, f)

  local Q = tempo.program { seed = 5 }
  local j = Q:dim "j"
  local u = tempo.normal({ 2, 3, 9, 9 }, { domain = { j } })
  local w = Q:param("w", { along = { j }, shape = { 4, 3, 3, 3 }, init = tempo.normal { 4, 3, 3, 3 } })
  local v = Q:param("v", { along = { j }, shape = { 4 * 49, 300 }, init = tempo.uniform { 4 * 49, 300 } * 0.1 - 0.05 })
  local z = u:conv2d(w):tanh():reshape { 2, 4 * 49 }:matmul(v)
  local cost = ((z:gelu() - 1) ^ 2):mean() + z:to "f64":cumsum(1):abs():sum() * 1e-5 + z:to "f16":max()
  tempo.optim.SGD({ w, v }, { lr = 0.05 }):step(cost)
  local g = compile(Q, { cost = cost })
  k = hash(k, g({}, { J = 12 }).cost:totable())
  print(math.floor(hash_params(k, g)))
]]

local WANT = "720652\n"

-- REINFORCE with a critic on CartPole: prints a hash of the weights and Adam's moments after so
-- many updates, and of the last return.
local cartpole = hashes .. [[
  local nn, rl = tempo.nn, tempo.rl
  local P = tempo.program { seed = 3 }
  local i, I = P:dim "i"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t })
  local function net(name, n, gain)
    return nn.MLP(P, { 4, 16, n }, { name = name, activation = "tanh", along = { i }, init = "orthogonal", out_gain = gain })
  end
  local policy, critic = net("policy", 2, 0.01), net("critic", 1, 1)
  local pi = tempo.dist.Categorical { logits = policy(env.obs) }
  local action = pi:sample { name = "action", domain = { i, b, t } }
  env:step(action)
  local value = critic(env.obs):squeeze(-1)
  local G = rl.monte_carlo(env, { gamma = 0.99, next_value = critic(env.next_obs):squeeze(-1) })
  local loss = (0.5 * (G - value):square() - pi:log_prob(action) * (G - value):detach()) / (B * T):value():to "f32"
  local all = policy:parameters()
  for _, w in ipairs(critic:parameters()) do all[#all + 1] = w end
  tempo.optim.Adam(all, { lr = 0.003 }):step(loss)
  local f = compile(P, { G = G[{ i = I - 1, t = 0 }], n = env.done:to "f32"[{ b = 0 .. B, t = 0 .. T }]:sum() })
  local out = f({}, { I = UPDATES, B = 3, T = 40 })
  local params, n = 0, out.n:totable()
  for _ in pairs(f:params()) do params = params + 1 end
  local ended, at_last = 0, 0
  for k, v in ipairs(n) do
    ended = ended + v
    if k > #n - 100 then at_last = at_last + v end
  end
  print(math.floor(hash_params(hash(0, { out.G:totable() }), f)), params, math.floor(ended), math.floor(at_last))
]]

local function run(settings, how, of)
  return helper.script(((of or text):gsub("REPRODUCIBLE", how or "true")), nil, settings)
end
local is_gcc =
  os.execute "test $(readlink -f $(command -v cc)) = $(readlink -f $(command -v gcc))" == (jit and 0
  or true)
local function has(cc) return (os.execute(cc .. " --version >/dev/null 2>&1")) end

describe("a reproducible program has the same bits", function()
  it("by the interpreter, whatever the processor has", function()
    for _, isa in ipairs { "base", "avx2", "avx512" } do
      assert.equal(WANT, run(("export TEMPO_TIER=interpreter TEMPO_ISA=%s; "):format(isa)), isa)
    end
    assert.equal(WANT, run "export TEMPO_TIER=interpreter TEMPO_BLAS=none; ")
  end)

  -- Columns of a product for each row of a block, a matrix that lies along the summed axis, pads
  -- added to a slice.
  local shaped = hashes .. [[
    local P = tempo.program { seed = 3 }
    local t, T = P:dim "t"
    local x = tempo.normal({ 40 }, { domain = { t }, name = "x" })
    local w = tempo.normal({ 40, 40 }, { name = "w" })
    local v = P:param("v", { shape = { 6, 40 }, init = tempo.normal({ 6, 40 }, { name = "v" }) })
    local h = P:tensor { domain = { t }, shape = { 2, 40 } }
    h[0] = tempo.zeros { 2, 40 }
    h:otherwise((h[t - 1]:matmul(w:mT()) * 0.1 + x):tanh())
    local k = x:reshape { 1, 40 }:matmul(v:mT()):squeeze(0)
    local scores = (k[0 .. t + 1]:matmul(k:reshape { 6, 1 })):squeeze(-1)
    local y = scores:softmax(0):reshape { 1, -1 }:matmul(k[0 .. t + 1]):squeeze(0)
    local f = compile(P, { h = h[{ t = T - 1 }], y = y, g = tempo.grad(y:square():sum(), { v })[1] })
    local out = f({}, { T = 37 })
    print(("%d"):format(hash(hash(hash(0, out.h:totable()), out.y:totable()), out.g:totable())))
  ]]

  it("whatever the environment says of how loops are cut and what is turned", function()
    local want = run("export TEMPO_TIER=interpreter; ", "true", shaped)
    assert.truthy(want:find "^%d+\n$", want)
    for _, setting in ipairs { "BLOCK=3", "TURN=1", "APART=1", "TILE=3", "AGAIN=1", "FORWARD=1",
      "ISL_BUDGET=20000" } do
      assert.equal(want,
        run(("export TEMPO_TIER=interpreter TEMPO_%s; "):format(setting), "true", shaped), setting)
    end
  end)

  it("or no code at all, where $CC says that floats may come out otherwise", function()
    local said = run('export TEMPO_TIER=native CC="cc -O2 -ffast-math"; ', "true", shaped)
    assert.truthy(said:find("option: $CC has '-ffast-math', which makes floats come out otherwise",
      1, true), said)
  end)

  for _, cc in ipairs { "cc", "gcc", "clang" } do
    for _, level in ipairs { "-O0", "-O3" } do
      local tag = cc ~= "cc" and (cc == "gcc") == (level == "-O0") and " #long" or ""
      if has(cc) and not (cc == "cc" and is_gcc) then
        it(("in native code of %s %s"):format(cc, level) .. tag, function()
          assert.equal(WANT,
            run(("export TEMPO_TIER=native TEMPO_CACHE=none CC=%s TEMPO_CFLAGS=%s; "):format(cc,
            level)))
        end)
      end
    end
  end

  it("going over from one to the other, in one thread and in two", function()
    for n = 1, 2 do
      assert.equal(WANT,
        run(("export TEMPO_TIER=auto TEMPO_CACHE=none TEMPO_NATIVE_AFTER=0.01 TEMPO_LATE=%d N=%d OMP_NUM_THREADS=%d; "):format(n, n, n)), n)
    end
  end)

  -- An environment inside, actions drawn: one bit of difference, and soon another episode is
  -- played.
  local want = { [10000] = "546210\t25\t273\t0\n", [300] = "437415\t25\t264\t6\n" }
  local function trains(updates, settings)
    local got = run("export TEMPO_CACHE=none " .. settings .. "; ", "true",
      (cartpole:gsub("UPDATES", updates)))
    assert.equal(want[updates], got, settings)
  end

  for _, tier in ipairs { "interpreter", "native" } do
    it("as CartPole learns for 300 updates, in two threads: " .. tier, function()
      trains(300, ("TEMPO_TIER=%s TEMPO_SHARE=0 N=2"):format(tier))
    end)
  end

  it("as CartPole learns for 300 updates, going over to native code #long", function()
    trains(300, "TEMPO_TIER=auto TEMPO_NATIVE_AFTER=0.01 TEMPO_LATE=5")
  end)

  it("as CartPole learns for 10,000 updates, in every tier, of any compiler at any level #long",
    function()
    for _, isa in ipairs { "base", "avx512" } do
      trains(10000, "TEMPO_TIER=interpreter TEMPO_ISA=" .. isa)
    end
    for _, cc in ipairs { "gcc", "clang" } do
      for _, level in ipairs { "-O0", "-O3" } do
        if has(cc) then
          trains(10000, ("TEMPO_TIER=native CC=%s TEMPO_CFLAGS=%s"):format(cc, level))
        end
      end
    end
    trains(10000, "TEMPO_TIER=auto TEMPO_NATIVE_AFTER=0.01 TEMPO_LATE=5")
  end)

  it("which it has not without the option, where a processor fuses", function()
    local base, best = run("export TEMPO_TIER=interpreter TEMPO_ISA=base; ", "false"),
      run("export TEMPO_TIER=interpreter; ", "false")
    local f = io.open "/proc/cpuinfo"
    local fuses = f and f:read "*a":find "[ \t]fma[ \n]"
    if f then f:close() end
    assert.equal(not fuses, base == best)
  end)
end)

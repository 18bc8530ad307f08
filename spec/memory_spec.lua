-- Memory: what is predicted is what is used.
local tempo = require "tempo"
local helper = require "spec.helper"

local KiB, MiB = 1024, 1024 * 1024

-- Runs `body` in a process of its own with TEMPO_POISON, where f:peak() is the end of the highest
-- bytes that regions came to use.
local function poisoned(body) return helper.script(body, nil, "export TEMPO_POISON=1; ") end

local header = [[
local tempo = require "tempo"
local P = tempo.program { seed = 1 }
local t, T = P:dim "t"
local b, B = P:dim "b"
local x = P:input("x", { domain = {t}, shape = {5} })
local function show(outputs, bounds)
  local f = P:compile { outputs = outputs }
  for _, n in ipairs { 1, 2, 7, 150 } do
    bounds.T = n
    local rows = {}
    for k = 1, n do rows[k] = { 1, k % 3, k % 5, 0.5, -1 } end
    f({ x = tempo.array(rows, "f32") }, bounds)
    print(f:memory(bounds) == f:peak() and "same" or ("%d: %d predicted, %d used"):format(n, f:memory(bounds), f:peak()))
  end
end
]]

local programs = {
  { "a recurrence read in both directions",
    "local h = P:tensor { domain = {t}, shape = {5} }\nh[0] = x\nh[t] = h[t-1] * 0.9 + x\n" ..
    "show({ y = h[t .. T]:sum(0) + h[0 .. t+1]:max(0) }, {})" },
  { "sort over a growing range", "show({ y = x[0 .. t+1]:sort(0):sum(0) }, {})" },
  { "scatters, gathers, reshapes of what is not dense, numbers of dims",
    "local k = (x[{ t = T-1-t }]:abs() * 2):floor():to 'i64':clamp(0, 4)\nlocal s = tempo.zeros({5}, { domain = {t} }):scatter_add(0, k, x)\n" ..
    "local m = tempo.outer(s, x[T-1-t]):mT():reshape({25})\n" ..
    "show({ m = m + t:value(), v = tempo.uniform({7}, { domain = {t, b}, name = 'u' }) * b:value() }, { B = 3 })" },
  { "halves", "local h = x:to 'f16'\nlocal w = tempo.ones({5, 5}, { dtype = 'f16' })\nlocal g = P:tensor { domain = {t}, shape = {5}, dtype = 'f16' }\n" ..
    "g[0] = h\ng[t] = (g[t-1]:matmul(w) * 0.1 + h):cumsum(0)\nshow({ g = g[T-1-t] }, {})" },
  { "convolution",
    "local w = tempo.ones({2, 1, 3})\nlocal y = x:reshape({1, 1, 5}):conv1d(w)\nlocal z = y[T-1-t]:tanh()\n" ..
    "show({ g = tempo.grad((z * z):sum(), { x })[1] }, {})" },
  { "backpropagation through time",
    "local w = P:param('w', { shape = {5, 5}, init = tempo.ones({5, 5}) })\n" ..
    "local h = P:tensor { domain = {t}, shape = {5} }\n" ..
    "h[0] = x\nh[t] = (h[t-1]:matmul(w) * 0.1 + x):tanh()\nshow({ g = tempo.grad(h:square():sum(), { w })[1] }, {})" },
}

describe("memory that is predicted", function()
  for _, p in ipairs(programs) do
    it("is used to the byte: " .. p[1], function()
      assert.equal("same\nsame\nsame\nsame\n", poisoned(header .. p[2]))
    end)
  end

  it("is what a run allocates", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 4 } })
    local f = P:compile { outputs = { y = (x * 2)[T - 1 - t] } }
    for _, n in ipairs { 0, 1, 10, 100 } do
      f({ x = helper.array(helper.fill({ n, 4 }, function() return 1 end), "f32", { n, 4 }) },
        { T = n })
      assert.equal(f:memory { T = n }, f:peak())
      assert.equal((n * 16 + 63) - (n * 16 + 63) % 64, f:peak())
    end
  end)

  it("is what the process grows by, pages that nothing wrote left out", function()
    local function resident()
      local file = io.open "/proc/self/statm"
      if not file then return end
      local pages = file:read "*a":match "%d+ (%d+)"
      file:close()
      return pages * 4 * KiB
    end
    if not resident() then return end
    local P = tempo.program()
    local t, T = P:dim "t"
    local i, _ = P:dim "i"
    local n = P:bound "n"
    local h = (t:value() * tempo.ones({ 1024 }, { domain = { t, i } })):tanh()
    local y = tempo.where(i:lt(n), h[{ t = T - 1 - t }], 1):sum()[{ t = 0 .. T }]:sum(0)
    local f = P:compile { outputs = { y = y } }
    local before = resident()
    f({}, { T = 16 * KiB, I = 1, n = 1 })
    local grown, predicted = resident() - before, f:memory { T = 16 * KiB, I = 1, n = 1 }
    assert.is_true(predicted >= 64 * MiB)
    assert.is_true(math.abs(grown - predicted) <= predicted / 20 + 2 * MiB,
      ("grew by %d of %d"):format(grown, predicted))
  end)
end)

-- Programs that keep much for long; with bounds and inputs to run them with.
local function sines(n)
  local d = {}
  for k = 1, n do d[k] = math.sin(k) end
  return d
end

local function normal(shape, name, domain)
  return tempo.normal(shape, { domain = domain, name = name })
end

local big = {}

big["backpropagation through time, three iterations"] = function(options)
  local P = tempo.program { seed = 1 }
  local i = P:dim "i"
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 4, 64 } })
  local w = P:param("w",
    { along = { i }, shape = { 64, 64 }, init = normal({ 64, 64 }, "w") * 0.1 })
  local h = P:tensor { domain = { i, t }, shape = { 4, 64 } }
  h:name "state"
  h[{ t = 0 }] = x
  h:otherwise((h[{ i, t - 1 }]:matmul(w) + x):tanh())
  local loss = h:square():mean()[{ t = 0 .. T }]:sum(0)
  tempo.optim.SGD({ w }, { lr = 0.1 }):step(loss)
  options.outputs = { loss = loss }
  return P:compile(options), { I = 3, T = 600 },
    { x = tempo.array(sines(600 * 256), "f32", { 600, 4, 64 }) }
end

big["attention over a prefix, and its gradients"] = function(options)
  local P = tempo.program { seed = 1 }
  local t = P:dim "t"
  local e, w = normal({ 16 }, "e", { t }) + P:constant(0), {}
  for _, n in ipairs { "q", "k", "v", "o" } do
    w[#w + 1] = P:param(n, { shape = { 16, 16 }, init = normal({ 16, 16 }, n) * 0.3 })
  end
  local q, k, v = e:matmul(w[1]), e:matmul(w[2]), e:matmul(w[3])
  local a = (k[0 .. t + 1]:matmul(q) / 4):softmax(0)
  local y = a:unsqueeze(0):matmul(v[0 .. t + 1]):squeeze(0):matmul(w[4]):tanh()
  local g = tempo.grad((y - e):square():mean(), w)
  options.outputs = { y = y, q = g[1], k = g[2], v = g[3], o = g[4] }
  return P:compile(options), { T = 200 }, {}
end

big["REINFORCE over whole episodes of large observations"] = function(options)
  local P = tempo.program { seed = 3 }
  local i = P:dim "i"
  local t, T = P:dim "t"
  local d = sines(1024)
  local seen = P:source(function(p)
    d[1], d[2] = p.t / 100, p.i
    return d
  end, { domain = { i, t }, shape = { 1024 } })
  local w = P:param("w",
    { along = { i }, shape = { 1024, 4 }, init = normal({ 1024, 4 }, "w") * 0.01 })
  local logp = seen:matmul(w):log_softmax(0)
  local act = logp:exp():cumsum(0):lt(tempo.uniform({}, { domain = { i, t }, name = "act" })):sum(
    0):clamp(0, 3)
  local returns = (act:eq(2):to "f32" + seen:mean())[{ i, t .. T }]:discounted_cumsum(0.9):select(0,
    0)
  local loss = (
    -logp:gather(0, act:unsqueeze(0)):squeeze(0) * returns:detach())[{ t = 0 .. T }]:mean(0)
  tempo.optim.Adam({ w }, { lr = 0.01 }):step(loss)
  options.outputs = { loss = loss, act = act }
  return P:compile(options), { I = 3, T = 300 }, {}
end

big["two dims, rows of which end by data"] = function(options)
  local P = tempo.program { seed = 1 }
  local b = P:dim "b"
  local t, T = P:dim "t"
  local w = P:param("w", { shape = { 32, 32 }, init = normal({ 32, 32 }, "w") * 0.2 })
  local h = P:tensor { domain = { b, t }, shape = { 32 } }
  h[{ t = 0 }] = normal({ 32 }, "x", { b, t })
  h:otherwise((h[{ b, t - 1 }]:matmul(w) + normal({ 32 }, "y", { b, t })):tanh())
  P:stop(t, t:value():eq(700 + 90 * b:value()))
  local loss = h:square():sum()[{ t = 0 .. T }]:sum(0)
  options.outputs = { loss = loss, g = tempo.grad(loss, { w })[1] }
  return P:compile(options), { B = 3, T = 1500 }, {}
end

big["layers as a dim"] = function(options)
  local P = tempo.program { seed = 1 }
  local i = P:dim "i"
  local l, L = P:dim "l"
  local w = P:param("w",
    { domain = { l }, along = { i }, shape = { 32, 32 },
    init = normal({ 32, 32 }, "w", { l }) * 0.2 })
  local h = P:tensor { domain = { i, l }, shape = { 128, 32 } }
  h[{ l = 0 }] = normal({ 128, 32 }, "x", { i })
  h:otherwise(h[{ i, l - 1 }]:matmul(w):tanh() + h[{ i, l - 1 }])
  local loss = h[{ l = L - 1 }]:square():mean()
  tempo.optim.SGD({ w }, { lr = 0.1 }):step(loss)
  options.outputs = { loss = loss }
  return P:compile(options), { I = 3, L = 40 }, {}
end

big["layers written one by one"] = function(options)
  local P = tempo.program { seed = 1 }
  local i = P:dim "i"
  local h, all = normal({ 512, 32 }, "x", { i }) + P:constant(0), {}
  for k = 1, 10 do
    all[k] = P:param("w" .. k,
      { along = { i }, shape = { 32, 32 }, init = normal({ 32, 32 }, "w" .. k) * 0.2 })
    h = h:matmul(all[k]):tanh() + h
  end
  local loss = h:square():mean()
  tempo.optim.SGD(all, { lr = 0.1 }):step(loss)
  options.outputs = { loss = loss }
  return P:compile(options), { I = 3 }, {}
end

local function outcome(f, inputs, bounds)
  local all = {}
  for k, a in pairs(f(inputs, bounds)) do all[k] = a:totable() end
  for k, a in pairs(f:params()) do all["parameter " .. k] = a:totable() end
  return all
end

local function same(want, got, tol)
  for k, v in pairs(want) do
    local why = helper.differ(v, got[k], tol or 0, k)
    if why then error(why, 2) end
  end
end

local function refusal(fn, ...)
  local ok, e = pcall(fn, ...)
  assert.is_false(ok)
  return e
end

describe("a limit of memory", function()
  for name, make in pairs(big) do
    it("is kept with the same numbers, bit for bit: " .. name, function()
      local f, bounds, inputs = make {}
      local want, plain = outcome(f, inputs, bounds), f:memory(bounds)
      for _, part in ipairs { 2, 2.4 } do
        local limit = math.floor(plain / part)
        local g = make { memory = limit }
        local said = g:memory(bounds)
        assert.is_true(said <= limit, ("%d bytes of %d"):format(said, limit))
        -- sums of other blocks
        local got, tol = outcome(g, inputs, bounds),
          g:explain("memory", bounds):find "blocks have" and 1e-5
        same(want, got, tol)
        assert.equal(said, g:peak())
        same(got, outcome(g, inputs, bounds))                  -- the file is used again
      end
    end)

    it("that is not needed changes nothing: " .. name, function()
      local f, bounds = make {}
      local g = make { memory = f:memory(bounds) }
      assert.equal(f:memory(bounds), g:memory(bounds))
      assert.is_nil(g:explain("memory", bounds):find "in a file")
    end)

    it("that cannot be kept is refused before the first step: " .. name, function()
      local f, bounds, inputs = make { memory = 5000 }
      local e = refusal(f, inputs, bounds)
      assert.equal("memory", e.code)
      local need = tonumber(e.message:match "need (%d+) bytes")
      assert.equal(f:memory(bounds), need)
      assert.truthy(tostring(e):find "memory_spec.lua:%d+: memory: ")
      assert.truthy(tostring(e):find "%d+ of them for '[^']+' at [^\n]*memory_spec.lua:%d+")
      local exact = make { memory = need }
      exact(inputs, bounds)
      assert.equal(need, exact:peak())
    end)
  end

  it("names bounds that would do", function()
    local f, bounds,
      inputs = big["backpropagation through time, three iterations"] { memory = 50000 }
    local e = refusal(f, inputs, bounds)
    local T = tonumber(tostring(e):match "T = (%d+) would do in place of 600")
    bounds.T = T
    assert.is_true(f:memory(bounds) <= 50000)
    bounds.T = T + math.ceil(T / 16)
    assert.is_true(f:memory(bounds) > 50000)
  end)

  -- All points attend to all: a block of rows of T exponentials each is what is kept, so shorter
  -- blocks are less.
  local function attention(options)
    local P = tempo.program { seed = 1 }
    local t, T = P:dim "t"
    local x, w = P:input("x", { domain = { t }, shape = { 8 } }), {}
    for k = 1, 3 do
      w[k] = P:param("w" .. k, { shape = { 8, 8 }, init = normal({ 8, 8 }, "w" .. k) * 0.5 })
    end
    local q, k, v = x:matmul(w[1]), x:matmul(w[2]), x:matmul(w[3])
    options.outputs =
      { y = k[0 .. T]:matmul(q):softmax(0):unsqueeze(0):matmul(v[0 .. T]):squeeze(0) }
    return P:compile(options)
  end

  it("makes blocks shorter before it uses the file", function()
    local function given(n) return { x = tempo.array(sines(n * 8), "f32", { n, 8 }) }, { T = n } end
    local plain = attention {}
    local inputs, bounds = given(400)
    local all, want = plain:memory(bounds),
      outcome(attention { tier = "reference" }, inputs, bounds)
    for part, rows in pairs { [1.5] = "8 rows", [4] = "8 rows", [5.5] = "1 row" } do
      local f = attention { memory = math.floor(all / part) }
      assert.is_true(f:memory(bounds) <= all / part, f:explain("memory", bounds))
      assert.truthy(f:explain("memory", bounds):find("blocks have at most " .. rows .. ",", 1,
        true), f:explain("memory", bounds))
      assert.truthy(f:explain("storage", bounds):find("blocks have at most " .. rows, 1, true))
      assert.is_nil(f:explain("memory", bounds):find "file")
      local got = outcome(f, inputs, bounds)
      assert.equal(f:memory(bounds), f:peak())
      for n, v in pairs(want) do assert.is_nil(helper.differ(v, got[n], 1e-5, n)) end
      -- Bounds that need less have the blocks that they have without a limit, so do those after
      -- them, and parameters are the function's.
      local fewer, small = given(40)
      same(outcome(plain, fewer, small), outcome(f, fewer, small))
      assert.is_nil(f:explain("storage", small):find "at most")
      f:load_params { w1 = helper.array(helper.fill({ 8, 8 }, function() return 0 end), "f32",
        { 8, 8 }) }
      local even = outcome(f, inputs, bounds)
      assert.is_nil(helper.differ(even.y[399], even.y[7], 1e-6, "the mean, everywhere"))
    end
  end)

  it("uses the file with blocks as they are where shorter ones do not do either", function()
    local f, bounds = big["backpropagation through time, three iterations"] { memory = 300000 }
    assert.truthy(f:explain("memory", bounds):find "in a file")
    assert.is_nil(f:explain("memory", bounds):find "blocks have")
  end)

  it("is what the process keeps to, file and all", function()
    local out = helper.script([[
      local tempo = require "tempo"
      local function kib(word)
        for line in io.lines "/proc/self/status" do
          local n = line:match("^" .. word .. ":%s*(%d+)")
          if n then return tonumber(n) end
        end
      end
      if not io.open "/proc/self/status" then print "nothing to measure" return end
      local P = tempo.program { seed = 1 }
      local t, T = P:dim "t"
      local w = P:param("w", { shape = { 64, 64 }, init = tempo.normal({ 64, 64 }, { name = "w" }) * 0.1 })
      local h = P:tensor { domain = { t }, shape = { 64, 64 } }
      h[0] = tempo.ones { 64, 64 }
      h[t] = (h[t-1]:matmul(w) + t:value():sin()):tanh()
      local g = tempo.grad(h:square():mean(), { w })[1]
      local f = P:compile { outputs = { g = g }, memory = "8MiB" }
      local plain = P:compile { outputs = { g = g } }:memory { T = 2000 }
      f({}, { T = 2 })
      local before = kib "VmRSS"
      f({}, { T = 2000 })
      local grown, said = kib "VmHWM" - before, f:memory { T = 2000 } / 1024
      local kept = plain > 30 * 2^20 and said < 8 * 1024 and grown < said + 4096
      print(kept and "kept" or ("grew by %.0f KiB, %.0f were said, %.0f without"):format(grown, said, plain / 1024))
    ]])
    assert.truthy(out == "kept\n" or out == "nothing to measure\n", out)
  end)

  it("maps no more than is said, asked at each window", function()
    for _, spill in ipairs { "", "export TEMPO_SPILL=1; " } do
      local out = helper.script(header:gsub("outputs = outputs", "outputs = outputs, memory = 1e9")
        .. programs[6][2], nil, "export TEMPO_POISON=1; " .. spill)
      if spill == "" then assert.equal("same\nsame\nsame\nsame\n", out)
      else assert.is_nil(out:find "internal", out) end
    end
  end)

  it("leaves states as they are, which go on with and without one", function()
    local function make(memory)
      local P = tempo.program { seed = 1 }
      local t = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 2, 64 } })
      local w = P:param("w", { shape = { 64, 64 }, init = normal({ 64, 64 }, "w") * 0.1 })
      local h = P:tensor { domain = { t }, shape = { 2, 64 } }
      h[0] = x
      h[t] = (h[t - 1]:matmul(w) + x):tanh()
      return P:compile { outputs = { y = h:sum(), g = tempo.grad(h:square():mean(), { w })[1] },
        tick = t, memory = memory }
    end
    local function value(n)
      local a, b = {}, {}
      for k = 1, 64 do a[k], b[k] = math.sin(k + n), math.cos(k * n) end
      return { x = { a, b } }
    end
    local N = 400
    local function steps(f, from, to, seen)
      local done, out
      for n = from, to do
        done, out = f:step(value(n))
        seen[#seen + 1] = out.y:item()
      end
      if done then seen[#seen + 1] = out.g:totable() end
      return seen
    end
    local free = make()
    local limit = math.floor(free:memory { T = N } / 2.5)
    local limited = make(limit)
    assert.is_true(limited:memory { T = N } <= limit)
    free:start({}, { T = N })
    local want = steps(free, 0, N - 1, {})
    limited:start({}, { T = N })
    assert.same(want, steps(limited, 0, N - 1, {}))
    for _, pair in ipairs { { limited, free }, { free, limited }, { limited, make(limit) } } do
      pair[1]:start({}, { T = N })
      local seen = steps(pair[1], 0, 250, {})
      pair[2]:load_state(pair[1]:state())
      assert.same(want, steps(pair[2], 251, N - 1, seen))
    end
    assert.equal("memory", refusal(make(1000).start, make(1000), {}, { T = N }).code)
  end)

  it("is given as a number or a text of bytes", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local y = (t:value() * tempo.ones({ 256 }, { domain = { t } }))[T - 1 - t]
    for text, bytes in pairs { ["4KiB"] = 4096, ["4 KB"] = 4000, ["0.5MiB"] = 524288,
      ["2048"] = 2048, ["2048B"] = 2048, ["1.5KiB"] = 1536 } do
      local f = P:compile { outputs = { y = y }, memory = text }
      assert.truthy(f:explain "plan":find("limit " .. bytes .. "\n", 1, true))
    end
    assert.truthy(P:compile { outputs = { y = y },
      memory = 4096.5 }:explain "plan":find "limit 4096\n")
    for _, bad in ipairs { "", "GiB", "2 gigabytes", "-1", "1e9", "0", "2GB ", "0x10", 0, -5,
      math.huge, 0 / 0, true, {} } do
      local e = refusal(P.compile, P, { outputs = { y = y }, memory = bad })
      assert.equal("option", e.code)
      assert.truthy(e.message:find("memory", 1, true))
      assert.truthy(e.message:find "2GiB")
    end
  end)

  it("finds no place for its file: an error before the first step, and nothing is lost", function()
    local text = [[
      local tempo = require "tempo"
      local P = tempo.program { seed = 1 }
      local t, T = P:dim "t"
      local calls = 0
      local x = P:source(function() calls = calls + 1 return 1 end, { domain = { t } })
      local h = P:tensor { domain = { t }, shape = { 1024 } }
      h[0] = tempo.ones { 1024 }
      h[t] = h[t-1] * 0.5 + x
      local g = P:tensor { domain = { t }, shape = { 1024 } }
      g[T-1] = h
      g[t] = g[t+1] * 0.5 + h
      local f = P:compile { outputs = { y = g:sum() }, memory = "200KiB" }
      local ok, e = pcall(f, {}, { T = 1000 })
      print(ok, e.code, calls, e.message)
      print(#f({}, { T = 20 }).y, calls)
    ]]
    local function try(first, reason)
      local out = helper.script(text, nil, first)
      assert.truthy(
        out:find("^false\tfile\t0\tfile: the limit of memory leaves %d+ bytes to a file, for which there is no place in '[^']+': " .. reason), out)
      assert.truthy(out:find "\n20\t20\n$", out)
    end
    try("export TMPDIR=/nonexistent; ", "No such file or directory")
    try("export TMPDIR=/dev/null; ", "Not a directory")
    try("ulimit -f 100; ", "File too large")
  end)

  it("is shown: statements of the plan, and what lies in the file", function()
    local make = big["backpropagation through time, three iterations"]
    local f, bounds = make { memory = 300000 }
    local plan = f:explain "plan"
    assert.truthy(
      plan:find "\n +spill b%d+ by 1 rows t%d+ %- 1 for 2 up\n +fetch b%d+ by 1 rows t%d+ %- 1 for 2 up made\n")
    assert.truthy(plan:find "\n +fetch b%d+ by 1 rows [^\n]+ down\n")
    assert.is_nil(make {}:explain "plan":find "spill")
    local memory = f:explain("memory", bounds)
    assert.truthy(memory:find "bytes of arena and at most [%d,]+ of a file mapped")
    assert.truthy(memory:find "the limit is 300,000\n")
    assert.truthy(memory:find "614,400  state, row by row of t, at most [%d,]+ in memory")
    assert.truthy(make { memory = 1000 }:explain("memory",
      bounds):find "a call with these bounds is refused")
  end)

  it("is not kept by the reference tier, which plans nothing", function()
    local f, bounds, inputs = big["layers as a dim"] { memory = 1000, tier = "reference" }
    assert.equal(3, #f(inputs, bounds).loss)
    assert.truthy(f:explain():find("tier reference, %d+ operators, evaluated point by point"))
  end)
end)

describe("a call that takes more than the machine has", function()
  -- Calls, what they came to, and what the same function does afterwards, in a process of its own.
  local text = [[
    local tempo = require "tempo"
    local P = tempo.program { seed = 1 }
    local t, T = P:dim "t"
    local calls = 0
    local x = P:source(function() calls = calls + 1 return 1 end, { domain = { t } })
    local h = P:tensor { domain = { t }, shape = { 1024 } }
    h:name "state"
    h[0] = tempo.ones { 1024 }
    h[t] = h[t-1] * 0.5 + x
    local y = h[T-1-t]:sum()[0 .. T]:sum(0)
    local make = function() return P:compile { outputs = { y = y }, memory = MEMORY } end
    local made, f = pcall(make)
    if not made then print(f.code, f.message) return end
    local function try(f, ...)
      local ok, e = pcall(f, ...)
      print(ok, e.code, calls, tostring(e))
      return e
    end
    local e = try(f, {}, { T = 2 ^ 31 })
    try(function() f:start({}, { T = 2 ^ 31 }) end)
    local n = tonumber(tostring(e):match "T = (%d+) would do")
    if not n then return end
    print(n, not f:memory { T = n } or f:memory { T = n } < 2 ^ 26)
    print(f({}, { T = 20 }).y:item() > 0, calls)
  ]]
  local function run(first, memory)
    return helper.script((text:gsub("MEMORY", memory or "nil")), nil, first)
  end

  for _, tier in ipairs { "interpreter", "reference" } do
    it("is refused before its first step, with tensors and bounds that would do, on the " .. tier,
      function()
      local out = run("export TEMPO_MEMORY=64MiB TEMPO_TIER=" .. tier .. "; ")
      local refused =
        "false\tmemory\t0\t[^\n]+:%d+: memory: these bounds need %d+ bytes, more than the 67108864 that TEMPO_MEMORY allows\n" ..
        "  (%d+) of them for 'state' at [^\n]+:6\n"
      local bytes = tonumber(out:match("^" .. refused))
      assert.truthy(bytes and bytes >= 2 ^ 43 and bytes < 2 ^ 44, out)
      assert.truthy(
        out:find("\nmemory = \"none\" in P:compile, or TEMPO_MEMORY=none, starts it all the same\n"
        .. refused), out)
      assert.truthy(out:find "\n%d+\ttrue\ntrue\t20\n$", out)
    end)
  end

  it("is judged by the machine, and by what the process may have of it", function()
    assert.truthy(run(""):find "^false\tmemory\t0\t[^\n]+ bytes, more than the %d+ that ")
    if os.getenv "HARD" then return end                        -- the sanitizers' own memory counts
    assert.truthy(
      run("ulimit -v 3000000; "):find "more than the %d+ that RLIMIT_AS leaves to this process\n")
    assert.truthy(
      run("ulimit -d 3000000; "):find "more than the %d+ that RLIMIT_DATA leaves to this process\n")
  end)

  it("starts all the same where memory = \"none\" or the environment says so", function()
    local few = os.getenv "HARD" and "" or "ulimit -v 3000000; "
    for _, out in ipairs(few == "" and {}
      or { run(few, '"none"'), run("export TEMPO_MEMORY=none; " .. few) }) do
      assert.truthy(
        out:find "^false\tmemory\t0\t[^\n]+no memory for the 8796093%d+ bytes that these bounds need\n", out)
    end
    -- the environment wins
    assert.truthy(run("export TEMPO_MEMORY=1GiB; ", '"none"'):find "that TEMPO_MEMORY allows")
    assert.equal(
      "option\toption: TEMPO_MEMORY is 'much'; it may be a number of bytes, as \"16GiB\", or none\n", run("export TEMPO_MEMORY=much; " .. few))
  end)

  it("is no call whose bound is a capacity: a dim that ends by data counts one step", function()
    local out = helper.script([[
      local tempo = require "tempo"
      local P = tempo.program()
      local t, T = P:dim "t"
      local h = P:tensor { domain = { t }, shape = { 1024 } }
      h[0] = tempo.ones { 1024 }
      h[t] = h[t-1] * 0.5 + t:value()
      P:stop(t, h:select(0, 0):gt(20))
      local y = h[T-1-t]:sum()[0 .. T]:sum(0)
      local h, sum = 1, 1
      for k = 1, 11 do h = h * 0.5 + k; sum = sum + h end
      for _, tier in ipairs { "interpreter", "reference" } do
        local f = P:compile { outputs = { y = y }, tier = tier }
        print(math.abs(f({}, { T = 2 ^ 33 }).y:item() - 1024 * sum) < 1, (f:memory { T = 2 ^ 33 } or 2 ^ 45) > 2 ^ 44)
      end
    ]], nil, "export TEMPO_MEMORY=16MiB; ")
    assert.equal("true\ttrue\ntrue\ttrue\n", out)
  end)

  it("counts outputs, parameters and what `memory` keeps in a file", function()
    local out = helper.script([[
      local tempo = require "tempo"
      local P = tempo.program()
      local t, T = P:dim "t"
      local w = P:param("w", { along = { t }, shape = { 2 ^ 20 }, init = 1 })
      w:update(w * 2)
      local y = tempo.ones({ 2 ^ 10 }, { domain = { t } }) * t:value()
      local f = P:compile { outputs = { y = y }, memory = "1GiB", passes = { evolve = false } }
      local function try(n)
        local ok, e = pcall(f, {}, { T = n })
        print(n, ok, not ok and tostring(e):match "for (%l+ '%l')")
      end
      try(2000) try(4000) try(100)
      local g = P:compile { outputs = { last = w:select(0, 0) } }
      print(pcall(g, {}, { T = 3 }))
    ]], nil, "export TEMPO_MEMORY=14MiB; ")
    assert.truthy(out:find "^2000\tfalse\toutput 'y'\n4000\tfalse\toutput 'y'\n100\ttrue\tfalse\n",
      out)
  end)
end)

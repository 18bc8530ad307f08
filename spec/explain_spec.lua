-- f:explain: what was made of a program, in the script's names.
local tempo = require "tempo"
local helper = require "spec.helper"

local function bptt()
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 4 } })
  local w = P:param("w", { shape = { 4, 4 }, init = tempo.ones { 4, 4 } })
  local h = P:tensor { domain = { t }, shape = { 4 }, name = "h" }
  h[0] = x
  h[t] = (h[t-1]:matmul(w) + x):tanh()
  local g = tempo.grad(h:square():sum(), { w })[1]
  local window = x[tempo.max(0, t - 2) .. t + 1]:sum()
  return P:compile { outputs = { g = g, far = window:exp()[T - 1 - t] },
    passes = { incremental = false } }, T
end

describe("explain", function()
  local f = bptt()

  it("names things as the script does, else by operator and line", function()
    local text = f:explain "schedule"
    assert.truthy(text:find("h[0] = x[0]", 1, true), text)
    assert.truthy(text:find("h[t] = matmul add tanh(h[t - 1], w, x[t])", 1, true), text)
    assert.truthy(text:find("-- spec/explain_spec.lua:12\n", 1, true), text)
    assert.truthy(text:find("grad of h[t - 1] = ", 1, true), text)
    for name in text:gmatch "\n%s*(%a+%d+)%[" do error("a name of our own: " .. name) end
    for _, section in ipairs { "storage", "memory" } do
      assert.falsy(f:explain(section):find "accum%d")
    end
  end)

  it("tells loops: where they go, blocks, sums over windows", function()
    local text = f:explain "schedule"
    assert.truthy(text:find "\n  for t = 1 %.%. T {\n", text)
    assert.truthy(
      text:find "\nfor tb = [^\n]- down to 0 in blocks of 64 {.-\n  for t = [^\n]- down to [^\n]- {\n", text)
    assert.truthy(
      text:find "\n    for t2 = max%(0, t %- 2%) %.%. t %+ 1 {\n      sum@14#2%[t%] %+= to@14#2%[t2%]")
    assert.truthy(text:find "\n%s+g %+= matmul%(h%[[^\n]-%], [^\n]-%) over t = ", text)
  end)

  it("tells kind, formula and bytes of what is kept, and which read decided", function()
    local text = f:explain("storage", { T = 10 })
    assert.truthy(
      text:find "temp h %(t: T%); f32%[4%], 16%*T bytes = 160; t: dense, read of h%[t %- 1%] at spec/explain_spec.lua:12\n")
    assert.truthy(
      text:find "temp to@[^\n]- %(t: 3%); f64, 24 bytes; t: ring, read of [^\n]-%[t1%] at [^\n]-explain_spec.lua:14", text)
    assert.truthy(text:find "temp grad of h %(t: 1%); f32%[4%], 16 bytes; t: point\n")
    assert.truthy(text:find "temp grad mul@12[^\n]-; t: block, read of ")
    assert.truthy(text:find "input x %(t: T%); f32%[4%], 16%*T bytes = 160\n")
    assert.truthy(text:find "\nfused matmul@12 into h\n")
    assert.falsy(f:explain "storage":find "=")
  end)

  it("tells what the search for loops gave up, and only that", function()
    local generate = require "spec.fuzz.generate"
    local case = generate.load(generate.text(generate.generate(1400)))
    local said = "\n-- given up, as no loops were found with more: a read of one branch reads that branch's value\n"
    assert.truthy(case.P:compile { outputs = case.outputs } :explain "schedule":find(said, 1, true))
    assert.falsy(f:explain("schedule"):find "given up")
  end)

  it("begins with what takes most", function()
    local last = math.huge
    for line in f:explain("storage", { T = 1000 }):gmatch "temp [^\n]+" do
      local bytes = tonumber(line:match " bytes = (%d+)" or line:match " (%d+) bytes")
      assert.is_true(bytes <= last, line)
      last = bytes
    end
    assert.is_true(last < 100)
  end)

  it("counts what runs, by region and in all, and says it as formulas", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 3 } })
    local h = P:tensor { domain = { t }, shape = { 3 }, name = "h" }
    h[0] = x
    h[t] = (h[t-1] * 0.5 + x):tanh()
    local g = P:compile { outputs = { h = h, m = x:matmul(tempo.ones { 3, 5 }) },
      tier = "interpreter", passes = { tile = false, matmul_num = false } }
    local text = g:explain("work", { T = 100 })
    assert.truthy(text:find "\n%s+297%s+99  for t: tanh@%d+: constant, mul, add, tanh\n", text)
    assert.truthy(text:find "\n%s+1,485%s+99  for t: m: matmul\n", text)
    local all, runs,
      turns = text:match "^%s*([%d,]+)%s+([%d,]+)  elements, and runs of regions, in all; loops turn ([%d,]+) times\n"
    local sums = { 0, 0 }
    for elements, n in text:gmatch "\n%s+([%d,]+)%s+([%d,]+)  " do
      sums = { sums[1] + elements:gsub(",", ""), sums[2] + n:gsub(",", "") }
    end
    assert.same({ sums[1], sums[2] },
      { tonumber((all:gsub(",", ""))), tonumber((runs:gsub(",", ""))) })
    assert.equal("99", turns)
    assert.truthy(g:explain("work", { T = 0 }):find "^%s*0%s+0  elements")
    assert.truthy(
      g:explain "work":find "\n%(T %- 1%) %(3%) for t: tanh@%d+: constant, mul, add, tanh\n")
  end)

  it("draws memory over time, with what is largest at the peak", function()
    local text = f:explain("memory", { T = 1000 })
    local arena, most = text:match "^([%d,]+) bytes of arena; at most ([%d,]+) are in use at once\n"
    local function number(s) return tonumber((s:gsub(",", ""))) end
    assert.equal(f:memory { T = 1000 }, number(arena))
    assert.is_true(number(most) <= number(arena))
    local at, peaks = 0, 0
    for bytes, bar, rest in text:gmatch "\n%s*([%d,]+) |([# ]*)| ([^\n]*)" do
      at = at + 1
      assert.equal(40, #bar)
      assert.equal(math.ceil(number(bytes) * 40 / number(most)), #bar:gsub(" ", ""))
      if rest:find "<%- peak" then
        peaks = peaks + 1
        assert.equal(most, bytes)
      end
    end
    assert.is_true(at >= 3 and at <= 41)
    assert.equal(1, peaks)
    local sum = 0
    for bytes in text:match "at the peak:\n(.*)$":gmatch "%s*([%d,]+)  [^\n]*\n" do
      sum = sum + number(bytes) end
    assert.equal(number(most), sum)
    assert.truthy(text:find "16,000  h: 16%*T bytes  %-%- [^\n]-explain_spec.lua:10\n")
    assert.truthy(f:explain "memory":find "h: 16%*T bytes from region %d+ to %d+")
  end)

  it("sums up what runs where, what is kept and why, and what was not fused", function()
    local text = f:explain(nil, { T = 10 })
    assert.truthy(
      text:find "^tier auto %(interpreter%), %d+ operators, %d+ statements, %d+ fused into them, %d+ arrays\n", text)
    assert.truthy(text:find "\norder of loops proved with %d+ isl queries %(%d+ spaces%); ms: ")
    assert.truthy(
      text:find(("needs %d bytes besides inputs and outputs\n"):format(f:memory { T = 10 }), 1,
      true), text)
    assert.truthy(text:find "\n  once  +[^\n]*w", text)
    assert.truthy(text:find "\n  for t  +h, [^\n]*to@14#2, sum@14#2, exp@15\n", text)
    -- a sum over a range of t
    assert.truthy(text:find "\n  for t, t  +sum@14#2\n", text)
    assert.truthy(text:find "\n  for block of t, t  +far, [^\n]*grad mul@12#2")
    assert.truthy(
      text:find "keeps most of\n  h  +16%*T bytes = 160; dense of t, read of h%[t %- 1%] at spec/explain_spec.lua:12\n", text)
    assert.truthy(
      text:find "not fused into what reads it\n.*  to@14#2  +read at other points by sum@14#2\n",
      text)
    assert.falsy(text:find "isl had no answer")
    assert.truthy(f:explain():find "keeps most of\n  h  +16%*T bytes; dense of t")
  end)

  it("tells what passes did", function()
    local text = f:explain "passes"
    local before, after = text:match "\ncse  +on [^\n]-: (%d+) operators become (%d+)\n"
    if not before then
      before, after = text:match "^cse  +on [^\n]-: (%d+) operators become (%d+)\n"
    end
    assert.is_true(tonumber(before) > tonumber(after), text)
    assert.truthy(text:find "\nvectorize  +on [^\n]-: %d+ of %d+ statements\n")
    assert.truthy(text:find "\ntile  +on [^\n]-: 1 loops\n")
    local P = tempo.program()
    local t = P:dim "t"
    local off = P:compile { outputs = { y = P:input("x", { domain = { t } }) * 2 },
      passes = { cse = false } }
    assert.truthy(off:explain "passes":find "cse  +off [^\n:]-\n")
  end)

  it("asks for bounds as calls do", function()
    helper.fails(function() f:explain("memory", {}) end, "bound", "T")
    helper.fails(function() f:explain("memory", { T = 1, X = 2 }) end, "bound", "X")
    helper.fails(function() f:explain "memroy" end, "option", "memory")
  end)

  it("takes no parameter for the number that it begins with", function()
    local P = tempo.program()
    local w, b = P:param("w", { init = 1 }), P:param("b", { init = 0 })
    local g = P:compile { outputs = { y = P:input("x", { shape = {} }) * w + b },
      tier = "interpreter" }
    g:load_params { w = tempo.array(3), b = tempo.array(2) }
    assert.equal(14, g({ x = 4 }, {}).y:item())
  end)

  it("says which rules changed what, with the script's lines", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 4 } })
    local y = (x * 1 + x:exp()) - x:exp()
    local z = (x / 2)[0 .. t + 1]:max(0)
    local line = debug.getinfo(1, "l").currentline
    local o = { outputs = { y = y, z = z, w = x[0 .. T]:sum(0) }, tier = "interpreter" }
    local said = P:compile(o):explain "rules"
    local function has(text, at)
      assert.truthy(said:find(("explain_spec.lua:%d: %s"):format(at, text), 1, true), said)
    end
    has(("fold: mul@explain_spec.lua:%d: mul_one: (mul x 1) => x\n"):format(line - 2), line - 2)
    has(("cse: exp@explain_spec.lua:%d: equal => one\n"):format(line - 2), line - 2)
    has("incremental: z: a reduction over a range that moves => a recurrence\n", line - 1)
    has("sums: w: a reduction over a range of a dim => an accumulation\n", line + 1)
    o.passes = { mul_one = false }
    said = P:compile(o):explain "rules"
    assert.is_nil(said:find("mul_one", 1, true))
    has(("fold: div@explain_spec.lua:%d: div_power: "):format(line - 1), line - 1)
    o.passes = "none"
    said = P:compile(o):explain "rules"
    assert.is_nil(said:find("fold:", 1, true) or said:find("cse:", 1, true)
      or said:find("incremental:", 1, true))
  end)

  it("draws the graph for Graphviz", function()
    local dot = f:explain "dot"
    assert.truthy(dot:find "^digraph sdg {\n.*\n}\n$")
    assert.truthy(dot:find "matmul")
    local known = {}
    for id in dot:gmatch "\n  ([no]%d+) %[" do known[id] = true end
    local edges = 0
    for a, b in dot:gmatch "\n  (n%d+) %-> ([no]%d+)[^\n]*;" do
      assert.is_true(known[a] and known[b], a .. " -> " .. b)
      edges = edges + 1
    end
    assert.is_true(edges > 20)
  end)
end)

local sections = { "graph", "schedule", "storage", "memory", "plan", "code", "passes", "rules",
  "evolution", "dot" }

describe("every section of explain", function()
  local function all(f, bounds)
    local texts = { summary = f:explain(nil, bounds) }
    for _, name in ipairs(sections) do
      texts[name] = f:explain(name, bounds)
      assert.is_true(#texts[name] > 0, name)
    end
    return texts
  end

  it("keeps names on their lines, whatever is in them", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input('in"put\n\\n\1\195\169', { domain = { t } })
    local h = P:tensor { domain = { t }, name = 'h "quoted"\nnew' }
    h[0] = x
    h[t] = (h[t - 1] + x):name "sum\n"
    local texts =
      all(P:compile { outputs = { ['o\n"u'] = h[0 .. t + 1]:max(0) },
      passes = { incremental = false } }, { T = 3 })
    assert.truthy(
      texts.schedule:find(
      'h "quoted"\\nnew[t] = add(h "quoted"\\nnew[t - 1], in"put\\n\\n\\1\195\169[t])', 1, true),
      texts.schedule)
    assert.truthy(texts.schedule:find('o\\n"u[t] max= h "quoted"\\nnew[t2]', 1, true))
    assert.truthy(texts.storage:find('\ninput in"put\\n\\n\\1\195\169 (t: T); f32', 1, true),
      texts.storage)
    for line in texts.dot:gmatch "label=([^\n]*)" do           -- one line each, each quote closed
      local rest = line:gsub("\\\\", ""):gsub('\\"', "")
      assert.truthy(rest:find '^"[^"]*"%];$', line)
    end
  end)

  it("knows programs without work, without bounds, and the reference tier", function()
    local P = tempo.program()
    local t = P:dim "t"
    local y = P:input("x", { domain = { t } })
    local texts = all(P:compile { outputs = { y = P:constant(1) } }, {})
    assert.truthy(texts.summary:find "runs\n  once  +y\n")
    texts = all(P:compile { outputs = { y = y } }, { T = 0 })
    assert.equal("nothing runs with these bounds\n", texts.memory)
    texts = all(P:compile { outputs = { y = y[t - 1 + 1] * 2 }, tier = "reference" }, { T = 3 })
    assert.truthy(texts.summary:find "^tier reference, %d+ operators, evaluated point by point")
    assert.truthy(texts.graph:find('= input {str "x"} : (t) f32 []', 1, true), texts.graph)
    for _, name in ipairs { "schedule", "storage", "memory", "plan", "code" } do
      assert.truthy(texts[name]:find('tier = "interpreter"', 1, true), name)
    end
  end)

  it("knows ends by data", function()
    local P = tempo.program()
    local b = P:dim "b"
    local t, T = P:dim "t"
    local x = P:tensor { domain = { b, t }, name = "x" }
    x[{ t = 0 }] = b:value():to "f32"
    x:otherwise(x[{ t = t - 1 }] * 1.5 + 1)
    P:stop(t, x:gt(20))
    local texts = all(P:compile { outputs = { s = x[{ t = 0 .. T }]:sum(0), x = x } },
      { B = 2, T = 5 })
    assert.truthy(texts.schedule:find("for t = 1 .. min(T, T_end(*)) {", 1, true), texts.schedule)
    assert.truthy(texts.schedule:find("T[0 .. B] min= where(gt", 1, true), texts.schedule)
    assert.truthy(texts.memory:find "<%- peak")
  end)

  it("says what a tick does, what comes out of it, and what can wait", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local o = P:input("o", { domain = { i, t }, shape = { 3 } })
    local w = P:param("w", { along = { i }, shape = { 3 }, init = 0.1 })
    local a = (o * w):sum():name "a"
    local loss = (a - 1):square()[{ t = 0 .. T }]:mean(0)
    w[i + 1] = w - tempo.grad(loss, { w })[1] * 0.1
    P:sink({ loss }, function() end)
    for _, tier in ipairs { "interpreter", "reference" } do
      local shows = P:compile { outputs = { a = a, loss = loss }, tick = { i, t },
        tier = tier }:explain()
      assert.truthy(
        shows:find "\nsteps go through i, t; at each tick: a; with the last tick of each i: loss\n",
        shows)
      local f = P:compile { outputs = { a = a }, tick = { i, t }, tier = tier }
      local texts = all(f, { I = 2, T = 3 })
      assert.truthy(texts.summary:find "\nsteps go through i, t; at each tick: a\n", texts.summary)
      if tier == "interpreter" then
        assert.truthy(texts.summary:find "\n  for i, t  +o %(given%), a, [^\n]-a %(shown%)",
          texts.summary)
        assert.truthy(
          texts.summary:find "and, in a step with a budget, may leave for later steps\n  for i  +[^\n]*%(callback%)", texts.summary)
      end
      f:start({}, { I = 2, T = 3 })
      f:step { o = { 1, 2, 3 } }
      all(f, { I = 2, T = 3 })
    end
  end)

  it("lists what bounds must keep to", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local f = P:compile { outputs = { y = x[tempo.range(2, 9)]:sum(0) } }
    assert.truthy(f:explain():find "\nneeds T >= 9\n", f:explain())
  end)

  it("takes thousands of operators", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 4 } })
    local h, warn = x, tempo.warn
    tempo.warn = false
    for _ = 1, 1500 do h = (h * 0.5 + x):tanh() end
    local texts = all(P:compile { outputs = { h = h } }, { T = 10 })
    tempo.warn = warn
    local _, lines = texts.graph:gsub("\n", "\n")
    assert.is_true(lines > 4500 and #texts.summary < 4000)
  end)
end)

-- f:export: C99 that stands alone. Each program is exported, compiled with every warning an error,
-- and run on the same inputs; outputs and weights come back as bytes.
local tempo = require "tempo"
local helper = require "spec.helper"
local exported = require "spec.exported"

local shell, read, write = exported.shell, helper.read, exported.write

local folder
setup(function()
  folder = os.tmpname()
  os.remove(folder)
  shell("mkdir " .. folder)
end)
teardown(function() shell("rm -r " .. folder) end)

local function has(cc)
  return os.execute(cc .. " --version >/dev/null 2>&1") == true
    or os.execute(cc .. " --version >/dev/null 2>&1") == 0
end
local STRICT = "-std=c99 -Wall -Wextra -Werror -pedantic"
local ways = { "cc " .. STRICT .. " -O0", "cc " .. STRICT .. " -O2" }
if has "clang" then ways[3] = "clang " .. STRICT .. " -O1" end
-- `make test` builds the same file in two ways at most: unoptimised, and by the other compiler.
local all = os.getenv "TEST_SHORT" and { ways[1], ways[#ways] } or ways

-- Exports f, runs it one way, the next time another; check(read, printed).
local turn = 0
local function compiled(f, inputs, bounds, check, opts)
  opts = opts or {}
  turn = turn % #ways + 1
  exported.run(folder, f, inputs, bounds, opts.all and all or { ways[turn] }, opts, check)
end

local function bytes(a, dtype) return exported.bytes(folder, a, dtype) end

-- Outputs have the bits of f's, or of another function, as exporting takes parameters as they are;
-- those named in `near` are compared as numbers.
local function same(f, inputs, bounds, opts)
  opts = opts or {}
  local want = (opts.of or f)(inputs, bounds, { seed = opts.seed })
  compiled(f, inputs, bounds, function(out)
    for name, a in pairs(want) do
      local got = tempo.array(out(name), a:dtype(), a:shape())
      if opts.near and opts.near[name] then helper.same(a:totable(), got, opts.near[name])
      else assert.equal(bytes(a), out(name), name) end
    end
  end, opts)
  return want
end

local function program()
  local P = tempo.program()
  local t, T = P:dim "t"
  return P, t, T
end

local function rows(n, m, k)
  return helper.fill(m and { n, m } or { n }, function(i)
    return ((i * 37 + (k or 0)) % 23 - 11) / 8
  end)
end

local function compile(P, outputs, opts)
  opts = opts or {}
  opts.outputs, opts.tier = outputs, opts.tier or "interpreter"
  return P:compile(opts)
end

describe("export", function()
  it("writes a policy whose numbers are those of the program", function()
    local P, t = program()
    local x = P:input("x", { domain = { t }, shape = { 5 } })
    local net = tempo.nn.Sequential(P,
      { tempo.nn.Linear(P, 5, 16), tempo.nn.Tanh(P), tempo.nn.Linear(P, 16, 3) })
    local p = net(x):softmax(0)
    local f = compile(P, { p = p, a = p:argmax(0), best = p:max(0) })
    for _, T in ipairs { 0, 1, 7 } do
      same(f, { x = rows(T, 5) }, { T = T }, { all = T == 7, near = { p = 1e-6, best = 1e-6 } })
    end
  end)

  it("makes what is wider than its operands tile by tile", function()
    local P, t, T = program()
    local function given(...)
      return P:input(select(2, ...) and "W" or "scale",
        { shape = { ... }, dtype = select(2, ...) and "u8" })
    end
    local x = P:tensor { domain = { t }, shape = { 96 } }
    x[0] = tempo.ones { 96 }
    x[t + 1] = x:matmul((given(96, 96):to "f32" - 128) * given(96)):tanh()
    local f = compile(P, { y = x[T - 1] })
    local W = tempo.array(helper.fill({ 96, 96 }, function(i) return i * 37 % 251 end), "u8")
    same(f, { W = W, scale = helper.fill({ 96 }, function(i) return i / 65536 end) }, { T = 5 })
    assert.is_true(f:memory { T = 5 } < 96 * 96)
  end)

  it("keeps recurrences, rings and windows", function()
    local P, t, T = program()
    local x = P:input("x", { domain = { t }, shape = { 3 } })
    local h = P:tensor { domain = { t }, shape = { 3 } }
    h[0] = x * 2
    h[1] = x + h[0]
    h[t] = (h[t - 1] * 0.5 + h[t - 2] * 0.25 + x):tanh()
    local w = h[tempo.max(0, t - 4) .. t + 1]
    local f = compile(P, { h = h, mean = w:mean(0),
      soft = ((w * h:unsqueeze(0)):sum(1)):softmax(0):sum(0), last = h[T - 1],
        suffix = x[t .. T]:sum(0), cum = x[0 .. T]:cumsum(0) })
    for _, n in ipairs { 2, 3, 9 } do same(f, { x = rows(n, 3) }, { T = n }) end
  end)

  it("attends to a window and to all that was", function()
    local P, t = program()
    local x = P:input("x", { domain = { t }, shape = { 4 } })
    local q, k, v = x * 0.5, x + 1, x:exp()
    local function attend(lo)
      local s = k[lo .. t + 1]:matmul(q)
      return s:softmax(0):matmul(v[lo .. t + 1])
    end
    local f = compile(P, { near = attend(tempo.max(0, t - 2)), all = attend(0) })
    for _, n in ipairs { 1, 8 } do
      same(f, { x = rows(n, 4) }, { T = n }, { near = { near = 1e-6, all = 1e-6 } })
    end
  end)

  it("multiplies windows that cross the end of their ring", function()
    for _, dtype in ipairs { "f32", "f64", "i64", "f16" } do
      local P, t, T = program()
      local x = P:input("x", { domain = { t }, shape = { 2, 4 }, dtype = dtype })
      local h = P:tensor { domain = { t }, shape = { 2, 4 }, dtype = dtype }
      local last = h[tempo.max(0, t - 3) .. t + 1]
      local scores = tempo.einsum("bd,tbd->bt", x, last)
      h[0] = x
      h[t + 1] = (tempo.einsum("bt,tbd->bd", scores, last) + tempo.einsum("tbd,bt->db", last,
        scores):mT()):clamp(-3, 3) + x
      local near = dtype ~= "i64" and { y = dtype == "f16" and 1e-2 or 1e-5 } or nil
      local given = { x = tempo.array(helper.fill({ 9, 2, 4 }, function(i, j, k)
        return (i * 5 + j * 3 + k * 7) % 4 - 1
      end), dtype) }
      same(compile(P, { y = h[T - 1] }), given, { T = 9 }, { near = near })
    end
  end)

  it("draws the same bits, for the seed that it is given", function()
    local P, t = program()
    local out = {}
    for _, d in ipairs { "f32", "f64", "f16", "bf16" } do
      out["u" .. d] = tempo.uniform({ 5 }, { domain = { t }, name = "u" .. d, dtype = d })
      out["n" .. d] = tempo.normal({ 3, 2 }, { domain = { t }, name = "n" .. d, dtype = d })
    end
    out.b = tempo.bernoulli({ 9 }, 0.3, { domain = { t }, name = "b" })
    out.i = tempo.randint({ 7 }, -5, 1000, { domain = { t }, name = "i" })
    out.p = tempo.randperm({ 11 }, { domain = { t }, name = "p" })
    local k = P:tensor { domain = { t }, dtype = "i64" }
    k[0] = -3
    k[t] = tempo.randint({}, -9, 9, { key = k[t - 1], name = "k" })
    out.k, out.kn = k, tempo.normal({ 3 }, { key = k + t, name = "kn" })
    out.ku = tempo.uniform({ 2 }, { key = t * 3 - 7, name = "ku" }) + tempo.uniform({ 2 },
      { key = k[t], name = "kv" })
    local f = compile(P, out)
    same(f, {}, { T = 4 })
    same(f, {}, { T = 3 }, { seed = 12345, before = "a.seed = 12345; " })
  end)

  it("computes in each dtype as the program does", function()
    local P, t = program()
    local out = {}
    local inputs = {}
    for _, d in ipairs { "u8", "i32", "i64", "f16", "bf16", "f32", "f64" } do
      local x = P:input("x" .. d, { domain = { t }, shape = { 4 }, dtype = d })
      inputs["x" .. d] = tempo.array(helper.fill({ 3, 4 }, function(i) return (i * 7) % 5 + 1 end),
        d)
      out["a" .. d] = x * 3 + x // 2
      out["s" .. d] = x:sum(0)
      out["m" .. d] = x:max(0)
      out["c" .. d] = x:cumsum(0)
      out["p" .. d] = x:cumprod(0)
      out["g" .. d] = x:argmin(0)
      out["o" .. d] = x:sort(0, { descending = true })
      out["mm" .. d] = x:reshape { 2, 2 }:matmul(x:reshape { 2, 2 })
      out["cast" .. d] = x:to "f64" / 3
    end
    out.flags = P:input("xb", { domain = { t }, shape = { 4 }, dtype = "bool" }):any(0)
    inputs.xb = tempo.array({ { false, true, false, false }, { false, false, false, false },
      { true, true, true, true } }, "bool")
    same(compile(P, out), inputs, { T = 3 }, { all = true })
  end)

  it("picks by data", function()
    local P, t = program()
    local x = P:input("x", { domain = { t }, shape = { 6, 3 } })
    local k = P:input("k", { domain = { t }, shape = { 4 }, dtype = "i64" })
    local g = P:input("g", { domain = { t }, shape = { 2, 3 }, dtype = "i64" })
    local inputs = {
      x = helper.fill({ 5, 6, 3 }, function(i) return ((i * 31) % 17) / 7 end),
      k = helper.fill({ 5, 4 }, function(i) return (i * 5) % 6 end),
      g = helper.fill({ 5, 2, 3 }, function(i) return (i * 3) % 6 end),
    }
    local rowsum = x:index_select(0, k)
    local loss = (rowsum * rowsum):sum() + (x:gather(0, g):exp()):sum()
    local back = tempo.grad(loss, { x })[1]
    local past = x:select(1, 0)[0 .. t + 1]
    local age = P:input("age", { domain = { t }, dtype = "i64" })
    inputs.age = tempo.array({ 0, 0, 1, 3, 2 }, "i64")
    local w, own = P:input("w", { shape = { 6, 3, 2 } }),
      P:input("own", { domain = { t }, shape = { 6, 3, 2 } })
    inputs.w = helper.fill({ 6, 3, 2 }, function(i) return ((i * 13) % 11 - 5) / 8 end)
    inputs.own = helper.fill({ 5, 6, 3, 2 }, function(i) return ((i * 7) % 13 - 6) / 8 end)
    local f = compile(P, { rows = rowsum, at = x:gather(0, g), back = back,
      taken = x:slice(0, 0, 4):unsqueeze(1):matmul(w:index_select(0, k)),
      each = x:select(0, 0):matmul(own:index_select(0, k)), past = past:index_select(0, age),
      top = x:topk(2, 0), cat = tempo.cat({ x, x:flip(0) }, 0):roll(1, 0) })
    same(f, inputs, { T = 5 }, { near = { back = 1e-6 } })
  end)

  it("changes parts of a state where it lies", function()
    local P, t, T = program()
    local k = P:input("k", { domain = { t }, dtype = "i64" })
    local v = P:input("v", { domain = { t }, shape = { 3 }, dtype = "f32" })
    local outputs, dtypes = {}, { "f32", "f64", "i64", "bf16", "bool" }
    for _, dtype in ipairs(dtypes) do
      local h = P:tensor { domain = { t }, shape = { 6, 3 }, dtype = dtype }
      h[0] = tempo.zeros({ 6, 3 }, { dtype = dtype })
      local function put(x, i, y)
        return tempo.where(tempo.arange(6):eq(i):reshape { 6, 1 }, y, x)
      end
      local first = put(h[t - 1], k, v:to(dtype))
      local again = put(put(first, (k * 2) % 6, first:select(0, 5)), t % 6,
        h[t - 1]:select(0, t % 3))
      h[t] = tempo.where(tempo.arange(3):eq(k):land(k:gt(1)), v:select(0, 0):to(dtype), again)
      outputs["all_" .. dtype], outputs["last_" .. dtype] = h, h[T - 1]:to "f32":sum(0)
    end
    local f = compile(P, outputs)
    assert.is_true(select(2, f:explain "plan":gsub("op put", "")) >= #dtypes)
    local at = tempo.array({ 1, 3, 7, -2, 2, 5, 0 }, "i64")
    same(f, { k = at, v = helper.fill({ 7, 3 }, function(i)
      return (i * 7 % 11 - 5) / 4
    end) }, { T = 7 }, { all = true })
  end)

  it("convolves, and folds windows", function()
    local P, t, T = program()
    local x = P:input("x", { domain = { t }, shape = { 1, 2, 6, 5 } })
    local w = P:input("w", { shape = { 3, 2, 3, 2 } })
    local y = x:conv2d(w, { stride = 2, padding = 1 })
    local loss = (y * y):sum()
    local gx, gw = (table.unpack or unpack)(tempo.grad(loss[0 .. T]:sum(0), { x, w }))   -- luacheck: globals unpack
    local pool = x:max_pool2d(2)
    local inputs = { x = helper.fill({ 3, 1, 2, 6, 5 }, function(i)
      return ((i * 31) % 17 - 8) / 16
    end), w = helper.fill({ 3, 2, 3, 2 }, function(i) return ((i * 13) % 11 - 5) / 8 end) }
    same(compile(P, { y = y, gx = gx, gw = gw, pool = pool }), inputs, { T = 3 },
      { near = { y = 1e-5, gx = 1e-4, gw = 1e-4 } })
  end)

  it("goes on from parameters, trains, and gives them back", function()
    local P = tempo.program()
    local i = P:dim "i"
    local b, B = P:dim "b"
    local x = P:input("x", { domain = { b }, shape = { 3 } })
    local w = P:param("w",
      { along = { i }, shape = { 3, 2 }, init = tempo.normal({ 3, 2 }, { name = "w0" }) })
    local y = (x:matmul(w)):tanh()
    local loss = ((y - 0.5) * (y - 0.5)):sum()[{ b = tempo.range(0, B) }]:mean(0)
    tempo.optim.Adam({ w }, { lr = 0.05 }):step(loss)
    local f, g = compile(P, { loss = loss }), compile(P, { loss = loss })
    local inputs = { x = rows(4, 3) }
    local function check(n)
      local want = f(inputs, { I = n, B = 4 })
      local newest = f:params()
      return function(out, _, k)
        helper.same(want.loss:totable(), tempo.array(out "loss", "f32", { n }), 1e-5)
        local s = out "weights"
        assert.equal(#read(folder .. "/agent.weights"), #s)
        local flat = tempo.array(bytes(newest.w), "f32", { 6 }):totable()
        local found = false
        for at = 1, #s - 23, 4 do
          local v = tempo.array(s:sub(at, at + 23), "f32", { 6 }):totable()
          local near = true
          for q = 1, 6 do near = near and math.abs(v[q] - flat[q]) < 1e-5 end
          found = found or near
        end
        assert.truthy(found, "weights of way " .. k)
      end
    end
    compiled(g, inputs, { I = 5, B = 4 }, check(5))
    f:load_params(f:params())                     -- goes on where the last run ended
    g:load_params(f:params())
    compiled(g, inputs, { I = 3, B = 4 }, check(3))
  end)

  it("takes rows that end by data, and gives lengths", function()
    local P = tempo.program()
    local b = P:dim "b"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { b } })
    local s = P:tensor { domain = { b, t } }
    s[{ t = 0 }] = x
    s[{ t = t }] = s[{ t = t - 1 }] * 2
    P:stop(t, s:gt(10))
    local f = compile(P, { total = s[{ t = tempo.range(0, T) }]:sum(0), n = T:value() })
    same(f, { x = { 1, 7, 30, 0.1 } }, { B = 4, T = 6 })
  end)

  it("has leaves that do the same once", function()
    local sizes = {}
    for k, n in ipairs { 2, 12 } do
      local P, t, T = program()
      local b = P:dim "b"
      local x, out = P:input("x", { domain = { b }, shape = { 20 } }), {}
      for i = 1, n do
        local h = P:tensor { domain = { b, t }, shape = { 20 } }
        h[{ t = 0 }] = x * i
        h[t] = (h[t - 1] * 0.5 + i):abs():sqrt() * x
        out["h" .. i] = h[T - 1]:max(0)
      end
      local f = compile(P, out)
      for _, B in ipairs { 0, 9 } do
        same(f, { x = rows(B, 20) }, { T = 7, B = B }, { all = true })
        f:export(folder .. "/once", { T = 7, B = B })
        local file = assert(io.open(folder .. "/once.c"))
        sizes[k] = file:read "*a"
        file:close()
      end
      assert.truthy(sizes[k]:find "\nTP_ONCE int l%d+%(", sizes[k])
    end
    local function own(text) return #text:match "\nTP_ONCE int l%d+%(.*" end
    assert.is_true(own(sizes[2]) < 5 * own(sizes[1]), own(sizes[2]) .. " and " .. own(sizes[1]))
  end)

  it("steps through ticks", function()
    local P, t, T = program()
    local x = P:input("x", { domain = { t }, shape = { 3 } })
    local c = P:input("c", { shape = { 3 } })
    local h = P:tensor { domain = { t }, shape = { 3 } }
    h[0] = x
    h[t] = (h[t - 1] * 0.5 + x * c):tanh()
    local f = compile(P,
      { h = h, best = (h[tempo.max(0, t - 2) .. t + 1]:sum(1)):max(0), all = x[0 .. T]:sum(0) },
      { tick = t })
    local inputs = { x = rows(5, 3), c = { 1, -1, 0.5 } }
    local want = f(inputs, { T = 5 })
    compiled(f, inputs, { T = 5 }, function(out)
      for name, a in pairs(want) do assert.equal(bytes(a), out(name), name) end
    end, { body = function()
      write(folder .. "/x.in", bytes(inputs.x))
      return [[
  static float x[15], c[3], h[15], best[5], all[3];
  int done = 0;
  get("x.in", x, sizeof x); get("c.in", c, sizeof c);
  agent_inputs in = { c };
  agent_outputs out = { all };
  if (!agent_start(&a, &in, &out)) return 5;
  for (int k = 0; k < 5; k++) {
    agent_values v = { x + 3 * k };
    agent_shown s = { best + k, h + 3 * k };
    if (!agent_step(&a, &v, &s, &done) || done != (k == 4)) return 6;
  }
  put("h.out", h, sizeof h); put("best.out", best, sizeof best); put("all.out", all, sizeof all);]]
    end })
  end)

  it("goes on without an end, in steps", function()
    local P, t, T = program()
    local x = P:input("x", { domain = { t }, shape = { 3 } })
    local w = P:param("w", { along = { t }, shape = { 3 }, init = tempo.ones { 3 } })
    local loss = (w * x):square():sum()
    tempo.optim.Adam({ w }, { lr = 0.1 }):step(loss)
    local values = rows(40, 3)
    local want = compile(P, { loss = loss }, { tick = t })({ x = values }, { T = 40 })
    local f = compile(P, { loss = loss }, { tick = t })
    compiled(f, { x = values }, { T = math.huge }, function(out)
      assert.equal(bytes(want.loss), out "loss")
    end, { all = true, body = function()
      write(folder .. "/x.in", bytes(values))
      return [[
  static float x[120], loss[40];
  int done = 0;
  get("x.in", x, sizeof x);
  agent_inputs in = { 0 };
  agent_outputs out = { 0 };
  if (!agent_start(&a, &in, &out)) return 5;
  for (int k = 0; k < 40; k++) {
    agent_values v = { x + 3 * k };
    agent_shown s = { loss + k };
    if (!agent_step(&a, &v, &s, &done) || done) return 6;
  }
  put("loss.out", loss, sizeof loss);]]
    end })
    local function refused(outputs, what, opts)
      local g = compile(P, outputs, opts)
      helper.fails(function() g:export(folder .. "/agent", { T = math.huge }) end, "bound", what)
    end
    refused({ loss = loss }, "code without steps: compile{ tick = t }")
    refused({ y = x[t .. T]:sum(0) }, "output 'y' is whole only at the end", { tick = t })
  end)

  it("calls the host's functions, and says what failed and where", function()
    local P, t = program()
    local x = P:input("x", { domain = { t }, dtype = "i64" })
    local y = P:call(function(a, point)
      return a[1]:item() * 10 + point.t
    end, { x }, { { domain = { t }, dtype = "i64" } })
    local f = compile(P, { y = y, of = tempo.zeros({ 3 }):index_select(0, x), q = y // x })
    local function run(values, call, want)
      compiled(f, { x = tempo.array(values, "i64") }, { T = 3 }, function(out, printed)
        if type(want) == "string" then
          return assert.truthy(printed:find(want, 1, true), printed)
        end
        assert.same(want, tempo.array(out "y", "i64", { 3 }):totable())
      end, { before = call and "a.call = call; " or "", extra = [[
static int call(void *user, int which, const int64_t *point, const void *const *in, void *const *out) {
  (void)user;
  *(int64_t *)out[0] = *(const int64_t *)in[0] * 10 + point[0];
  return which == 0;
}
int (*used)(void *, int, const int64_t *, const void *const *, void *const *) = call;]] })
    end
    run({ 2, 1, 2 }, true, { 20, 11, 22 })
    run({ 2, 1, 2 }, false, "export_spec.lua:")
    run({ 2, 3, 1 }, true, "an index is outside")
    run({ 2, 0, 1 }, true, "integer division by zero")
  end)

  it("says at which of leaves that do the same a value is missing", function()
    local P, t = program()
    local a = P:input("a", { domain = { t }, shape = { 40 }, dtype = "i64" })
    local b = P:input("b", { domain = { t }, shape = { 40 }, dtype = "i64" })
    local q = tempo.floordiv(7, a)
    local r, second = tempo.floordiv(7, b), debug.getinfo(1, "l").currentline
    local f = compile(P, { q = q:name "of_a", r = r:name "of_b" })
    local function run(of, T)
      local given = { a = helper.fill({ T, 40 }, function() return 3 end),
        b = helper.fill({ T, 40 }, function() return 2 end) }
      given[of][T][39] = 0
      local inputs = { a = tempo.array(given.a, "i64"), b = tempo.array(given.b, "i64") }
      compiled(f, inputs, { T = T }, function(_, printed)
        assert.truthy(printed:find("export_spec.lua:" .. (of == "a" and second - 1 or second), 1,
          true), printed)
        assert.truthy(printed:find("integer division by zero", 1, true), printed)
      end)
    end
    f:export(folder .. "/two", { T = 3 })
    local file = assert(io.open(folder .. "/two.c"))
    assert.truthy(file:read "*a":find "\nTP_ONCE int l1%(")
    file:close()
    run("a", 3)
    run("b", 3)
  end)

  it("needs an environment whose source is known, and refuses a name that C does not take",
    function()
    local P, t = program()
    local f = compile(P, { y = t:value() })
    for _, name in ipairs { "", "1a", "a b", folder .. "/a-b", folder .. "/", "int", "class",
      "main", folder .. "/exp", "sinf", "memcpy" } do
      helper.fails(function() f:export(name, { T = 2 }) end, "option", "export")
    end
    helper.fails(function() f:export(folder .. "/agent", { T = -1 }) end, "bound")
    helper.fails(function() f:export(folder .. "/agent", { T = 1, K = 2 }) end, "bound", "'K'")
    local Q, u = program()
    local z = Q:input("z", { domain = { u } })
    helper.fails(function()
      compile(Q, { y = z[2] }):export(folder .. "/none", { T = 2 })
    end, "domain", "'z'")
    assert.is_nil(io.open(folder .. "/none.c"))
  end)

  it("takes names of inputs, bounds and chunks that C does not", function()
    local text = [==[local tempo = require "tempo" --[[ */ "q" \]]
      local P = tempo.program()
      local t, T = P:dim "t"
      local w, c = P:bound "WEIGHTS", P:bound "CALL_1"
      local x, y, z = P:input("int", { domain = { t } }), P:input("a b", { domain = { t } }), P:input("a_b", { domain = { t } })
      P:sink({ x }, function() end)
      return P:compile { outputs = { class = x + w:value(), ["a b"] = y + z * c:value(), ["a_b"] = z / 2, ["1"] = y }, tier = "interpreter" }]==]
    for _, name in ipairs { text, "@a */ \"b\\n\nc.lua" } do
      local f = assert(load(text, name))()
      f:export(folder .. "/odd", { T = 3, WEIGHTS = 2, CALL_1 = 3 })
      shell(("cd %s && cc %s -Wno-trigraphs -c -o odd.o odd.c"):format(folder, STRICT))
      if has "c++" then
        shell(("cd %s && echo '#include \"odd.h\"' | c++ -Wall -Werror -x c++ -c -o /dev/null -I. -"):format(folder))
      end
    end
  end)

  it("has all bits of a program that is reproducible, of products and convolutions too", function()
    local P, t, T = program()
    local i = P:dim "i"
    local x = P:input("x", { domain = { t }, shape = { 200 } })
    local net = tempo.nn.MLP(P, { 200, 17, 3 },
      { name = "net", activation = "tanh", along = { i } })
    local y = net(x)
    local ys, xs = y[{ t = 0 .. T }], x[{ t = 0 .. T }]
    local loss = (y ^ 2)[{ t = 0 .. T }]:sum() + ys:matmul(ys:transpose(0, 1)):sin():mean()
    tempo.optim.Adam(net:parameters(), { lr = 0.01 }):step(loss)
    local hs = xs:to "f16"
    local outputs = { loss = loss, y = xs:matmul(xs:transpose(0, 1)):matmul(ys),
      half = hs:matmul(hs:transpose(0, 1)) }
    for _, n in ipairs { 1, 9 } do
      local f, first = compile(P, outputs, { reproducible = true }),
        compile(P, outputs, { reproducible = true })
      same(f, { x = rows(n, 200) }, { T = n, I = 5 }, { all = n == 9, of = first })
    end

    local Q, b = program()
    local k = Q:dim "k"
    local shape = { 2, 20, 7, 8 }
    local img = Q:input("img", { domain = { b }, shape = shape })
    local w = Q:param("w",
      { along = { k }, shape = { 150, 20, 3, 3 }, init = tempo.normal { 150, 20, 3, 3 } })
    local z = img:conv2d(w, { padding = 1, stride = 2 }):tanh()
    local cost = z[{ t = tempo.range(0, 3) }]:sum()
    w:update(w * 0.9)
    local conv = { z = z, cost = cost, back = tempo.grad(cost, img) }
    local inputs = { img = helper.fill({ 3, 2, 20, 7, 8 }, function(...)
      local s = 0
      for _, v in ipairs { ... } do s = s * 7 + v end
      return math.sin(s)
    end) }
    same(compile(Q, conv, { reproducible = true }), inputs, { T = 3, K = 3 },
      { of = compile(Q, conv, { reproducible = true }) })
  end)

  it("replaces all of its files or none", function()
    local P, t, T = program()
    local x = P:tensor { domain = { t } }
    x[0] = 0
    x[t] = x[t - 1] + 1
    local f, where = compile(P, { x = x[T - 1] }), folder .. "/all"
    shell("mkdir -p " .. where)
    local function files()
      return (shell("cd " .. where .. " && ls -A && cat *.h *.c"):gsub("rc=0%s*$", ""))
    end
    f:export(where .. "/agent", { T = 3 })
    local before = files()
    local before_c = shell("cat " .. where .. "/agent.h " .. where .. "/agent.c")
    assert.truthy(before:find "agent.h")
    shell(("cd %s && rm agent_main.c && mkdir agent_main.c"):format(where))
    local ok, message = pcall(function() assert(f:export(where .. "/agent", { T = 4 })) end)
    assert.is_false(ok)
    assert.truthy(tostring(message):find("agent_main.c", 1, true), message)
    shell(("cd %s && rmdir agent_main.c"):format(where))
    local kept = files()
    for _, name in ipairs { "agent.h", "agent.c" } do assert.truthy(kept:find(name, 1, true)) end
    assert.falsy(kept:find("%.tmp"), kept)
    assert.equal(before_c, shell("cat " .. where .. "/agent.h " .. where .. "/agent.c"))
    f:export(where .. "/agent", { T = 3 })
    assert.equal(before, files())
    f:export(where .. "/agent", { T = 4 })
    assert.not_equal(before, files())
  end)

  it("trains in an environment of ours, with the same weights from every build", function()
    local P = tempo.program { seed = 3 }
    local i, I = P:dim "i"
    local b, B = P:dim "b"
    local t, T = P:dim "t"
    local env = tempo.rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t })
    local policy = tempo.nn.MLP(P, { 4, 8, 2 },
      { name = "policy", activation = "tanh", along = { i } })
    local pi = tempo.dist.Categorical { logits = policy(env.obs) }
    local action = pi:sample { name = "action", domain = { i, b, t } }
    env:step(action)
    local G = tempo.rl.monte_carlo(env, { gamma = 0.99 })
    local loss = -pi:log_prob(action) * G:detach() * (1 / (B * T):value():to "f32")
    tempo.optim.Adam(policy:parameters(), { lr = 0.02 }):step(loss)
    local sum = env.obs[{ b = tempo.range(0, B), t = tempo.range(0, T) }]:sum()
    local f = compile(P, { sum = sum, last = (I - 1):value() })
    local want, first = compile(P, { sum = sum })({}, { I = 6, B = 3, T = 20 }).sum:totable(), nil
    compiled(f, {}, { I = 6, B = 3, T = 20 }, function(out)
      helper.same(want, tempo.array(out "sum", "f32", { 6 }), 1e-3)
      first = first or out "weights"
      assert.equal(first, out "weights")
    end, { all = true })
  end)
end)

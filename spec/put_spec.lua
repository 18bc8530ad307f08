-- x:put(axis, k, v) is what `where` over the axis's indices says, on every tier, as numbers,
-- gradients and states; a row of a carried state costs a row.
local tempo = require "tempo"
local helper = require "spec.helper"

local tiers = { "reference", "interpreter", "native" }

-- The long form.
local function long(x, axis, k, v)
  local shape, ones = x:shape(), {}
  axis = axis % #shape
  for i = 1, #shape do ones[i] = i == axis + 1 and shape[i] or 1 end
  local here = tempo.arange({ shape[axis + 1] }, { dtype = "i64" }):eq(k):reshape(ones)
  if type(v) == "userdata" and v.shape and #v:shape() > 0 then v = v:unsqueeze(axis) end
  return tempo.where(here, v, x)
end
local function short(x, axis, k, v) return x:put(axis, k, v) end

local function plain(out)
  local y = {}
  for name, a in pairs(out) do y[name] = helper.plain(a) end
  return y
end

-- Compiles the program that make(put) records on each tier, and its long form for the interpreter,
-- and gives a function of inputs and bounds that compares what they give. make returns P, outputs.
local function compiled(make, tol, options)
  local function compile(put, tier)
    local P, outputs = make(put)
    local with = { outputs = outputs, tier = tier }
    for k, v in pairs(options or {}) do with[k] = v end
    return P:compile(with)
  end
  local expected, fs = compile(long, "interpreter"), {}
  for k, tier in ipairs(tiers) do fs[k] = compile(short, tier) end
  return function(inputs, bounds)
    local want = plain(expected(inputs, bounds))
    for _, f in ipairs(fs) do
      local got = plain(f(inputs, bounds))
      for name, v in pairs(want) do helper.same(v, got[name], tol or 0) end
    end
  end
end

-- The same of one call.
local function agree(make, inputs, bounds, tol) compiled(make, tol)(inputs, bounds) end

describe("put", function()
  local r = helper.rng(31)
  local function ints(n, below)
    local list = {}
    for i = 1, n do list[i] = r(below) end
    return tempo.array(list, "i64")
  end

  for _, dtype in ipairs { "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool" } do
    local axes = (dtype == "f32" or dtype == "f16") and { 1, 2, 3 } or { 2 }
    it("is the long form along each axis: " .. dtype, function()
      local function make(put)
        local P = tempo.program()
        local t, T = P:dim "t"
        local function input(name, shape)
          return P:input(name, { domain = { t }, shape = shape }):to(dtype)
        end
        local x, k, out = input("x", { 3, 4, 5 }), P:input("k", { domain = { t }, dtype = "i64" }),
          {}
        for _, axis in ipairs(axes) do
          local n = axis + 2
          local shape = { 3, 4, 5 }
          table.remove(shape, axis)
          local v = input("v" .. axis, shape)
          out["data" .. axis] = put(x, axis - 1, k, v)
          out["index" .. axis] = put(x, axis - 4, (2 * t) % n, v)
          out["number" .. axis] = put(x, axis - 1, n - 1, v)
          out["fill" .. axis] = put(x, axis - 1, k, dtype == "bool" or 7)
          out["read" .. axis] = put(put(x[T - 1], axis - 1, k, x:select(axis - 1, 1)), axis - 1,
            tempo.min(t, n - 1), v)
        end
        for name, y in pairs(out) do out[name] = y:to "f64" end
        return P, out
      end
      local function fill(...)
        return helper.fill({ 4, ... }, function() return r(20) - (dtype == "u8" and 0 or 9) end)
      end
      local given, v = { x = fill(3, 4, 5), k = ints(4, 3) }, { { 4, 5 }, { 3, 5 }, { 3, 4 } }
      for _, axis in ipairs(axes) do given["v" .. axis] = fill(v[axis][1], v[axis][2]) end
      agree(make, given, { T = 4 })
    end)
  end

  it("takes numbers, index expressions, arrays, other integers as an index, loose literals",
    function()
    local P = tempo.program()
    local t = P:dim "t"
    local x, k = P:input("x", { domain = { t }, shape = { 2, 2 } }),
      P:input("k", { domain = { t }, dtype = "u8" })
    local out = { number = x:put(0, 1, 0.5), index = x:put(1, t % 2, t + 1),
      array = x:put(0, k, { 8, 9 }), typed = x:put(0, 0, tempo.array { 8, 9 }),
                  literal = tempo.put(tempo.zeros { 2, 2 }, 1, k, x:select(0, 0)),
                    chosen = x:put(0, 0, tempo.where(k:eq(0), 1, 2)) }
    local got = helper.run(P, out,
      { x = { { { 1, 2 }, { 3, 4 } }, { { 5, 6 }, { 7, 8 } } }, k = tempo.array({ 1, 0 }, "u8") },
      { T = 2 })
    helper.same({ { { 1, 2 }, { 0.5, 0.5 } }, { { 5, 6 }, { 0.5, 0.5 } } }, got.number)
    helper.same({ { { 1, 2 }, { 1, 4 } }, { { 5, 2 }, { 7, 2 } } }, got.index)
    helper.same({ { { 1, 2 }, { 8, 9 } }, { { 8, 9 }, { 7, 8 } } }, got.array)
    helper.same({ { { 8, 9 }, { 3, 4 } }, { { 8, 9 }, { 7, 8 } } }, got.typed)
    helper.same({ { { 0, 1 }, { 0, 2 } }, { { 5, 0 }, { 6, 0 } } }, got.literal)
    helper.same({ { { 2, 2 }, { 3, 4 } }, { { 1, 1 }, { 7, 8 } } }, got.chosen)
  end)

  it("gives a table the dtype of x", function()
    for _, dtype in ipairs { "f64", "i64", "f16", "u8", "bool" } do
      local P = tempo.program()
      local row = dtype == "bool" and { true, false } or dtype == "f64" and { 0.1, 9 } or { 3, 9 }
      local x = P:input("x", { shape = { 2, 2 }, dtype = dtype })
      local index = P:constant(tempo.array({ { 1, 1 } }, "i64"))
      local out = { put = x:put(0, 1, row) }
      if dtype ~= "bool" then out.add = x:scatter_add(0, index, { row }) end
      local got = helper.run(P, out,
        { x = tempo.array(dtype == "bool" and { { true, true }, { true, true } }
        or { { 1, 2 }, { 0, 0 } }, dtype) })
      assert.same(row, got.put[2], dtype)
      if got.add then assert.same(row, got.add[2], dtype) end
    end
    local P = tempo.program()
    local x = P:input("x", { shape = { 2, 2 }, dtype = "i64" })
    helper.fails(function() x:put(0, 0, { 1.5, 2 }) end, "dtype", "1.5")
    helper.fails(function() x:put(0, 0, { 1, 2, 3 }) end, "shape", "i64 (3)")
    helper.fails(function() x:put(0, 0, tempo.array { 1, 2 }) end, "dtype", 'convert it, :to "i64"')
  end)

  it("goes along axes whose extent the call or the point says", function()
    local function make(put)
      local P = tempo.program()
      local t, T = P:dim "t"
      local N = P:bound "N"
      local x, v = P:input("x", { domain = { t }, shape = { N, 2 } }),
        P:input("v", { domain = { t }, shape = { N } })
      local k = P:input("k", { domain = { t }, dtype = "i64" })
      local past = x[0 .. t + 1]                                                   -- (t + 1, N, 2)
      return P, { bound = put(x, 0, N - 1, v:slice(0, 0, 2)), other = put(x, 1, 1, v),
        data = put(x, 0, k, v:slice(0, 1, 3)), past = put(past, 0, t:floordiv(2), x * 2):sum(0),
                  row = put(past, 0, k:minimum(t:value()), 1):sum(0),
                    all = put(x[0 .. T], 2, 0, v[0 .. T]) }
    end
    local function fill(...) return helper.fill({ ... }, function() return r(9) - 4 end) end
    local run = compiled(make)
    run({ x = fill(5, 4, 2), v = fill(5, 4), k = ints(5, 4) }, { T = 5, N = 4 })
    run({ x = fill(3, 3, 2), v = fill(3, 3), k = ints(3, 3) }, { T = 3, N = 3 })
  end)

  local function fails(...)
    local ok, e = pcall(...)
    assert.is_false(ok)
    return tostring(e)
  end
  it("asks the call whether an index expression stays inside, data at the point", function()
    for _, tier in ipairs(tiers) do
      local P = tempo.program()
      local t, T = P:dim "t"
      local x, k = P:input("x", { shape = { 3 } }), P:input("k", { domain = { t }, dtype = "i64" })
      local f = P:compile { outputs = { y = x:put(0, t, 9) }, tier = tier }
      helper.same({ { 9, 2, 3 }, { 1, 9, 3 }, { 1, 2, 9 } }, f({ x = { 1, 2, 3 } }, { T = 3 }).y)
      assert.truthy(fails(f, { x = { 1, 2, 3 } }, { T = 4 }):find "domain: .* it needs T <= 3")
      f = P:compile { outputs = { y = x:put(0, k, 9) }, tier = tier }
      for _, bad in ipairs { 3, -1 } do
        assert.truthy(fails(f, { x = { 1, 2, 3 }, k = { 0, 1, bad } },
          { T = 3 }):find("input: 'put' at t = 2: index " .. bad .. " is outside 0 .. 2", 1, true))
      end
      helper.same({ { 9, 2, 3 } }, f({ x = { 1, 2, 3 }, k = { 0 } }, { T = 1 }).y)
      -- where it is not needed, it is not asked
      f = P:compile { outputs = { y = x:put(0, k, 9)[tempo.min(t, 1)], T = x:put(0, T - 1, 1) },
        tier = tier }
      assert.has_no.errors(function() f({ x = { 1, 2, 3 }, k = { 0, 1, 7 } }, { T = 3 }) end)
    end
  end)
end)

-- ---- a state ----

-- h over t, perhaps over b too, of which each step puts rows; `each` says what.
local steps = {
  ["a row by data"] = function(put, h, k, v) return put(h, 0, k, v) end,
  ["a row by index"] = function(put, h, _, v, t) return put(h, 0, t % 6, v) end,
  ["a row by number"] = function(put, h, _, v) return put(h, 0, 2, v * 0.5 + h:select(0, 3)) end,
  ["an element of each row"] = function(put, h, k, _, t)
    return put(h, 1, (k * k) % 3, (h:select(1, 0) + t) * 0.5)
  end,
  ["several, with looks between"] = function(put, h, k, v, t)
    local a = put(h, 0, k, v)
    local b = put(a, 0, t % 6, a:select(0, 5) * 2)
    return put(b, 0, (k + 1) % 6, b:select(0, k) + v)
  end,
  ["two that change places"] = function(put, h, k, _, t)
    local a, b = h:select(0, k), h:select(0, t % 6)
    return put(put(h, 0, k, b), 0, t % 6, a)
  end,
  ["only sometimes"] = function(put, h, k, v) return tempo.where(k:gt(2), put(h, 0, k, v), h) end,
  ["a row or itself"] = function(put, h, k, v)
    return put(h, 0, k, tempo.where(k:gt(2), v, h:select(0, k)))
  end,
  ["after all was made less"] = function(put, h, k, v) return put(h * 0.5, 0, k, v) end,
}

describe("a state that goes on from a put", function()
  -- of steps that read no v
  setup(helper.quiet)
  teardown(helper.loud)
  local function carried(step, put, n, batch)
    local P = tempo.program()
    local b
    if batch then b = P:dim "b" end
    local t, T = P:dim "t"
    local k, v = P:input("k", { domain = { b or t, b and t }, dtype = "i64" }),
      P:input("v", { domain = { t }, shape = { 3 } })
    local h = P:tensor { domain = { b or t, b and t }, shape = { n or 6, 3 }, name = "h" }
    h[{ t = 0 }] = tempo.ones { n or 6, 3 }
    h[{ [t] = t + 1 }] = step(put, h, k, v, t)
    return P, h, t, T, k, v
  end
  local function inputs(T, B)
    local r = helper.rng(T)
    return { k = helper.fill(B and { B, T } or { T }, function() return r(6) end),
      v = helper.fill({ T, 3 }, function() return r(17) / 8 - 1 end) }
  end

  for name, step in pairs(steps) do
    it("is what the long form gives: " .. name, function()
      for _, batch in ipairs { false, 2 } do
        local function make(put)
          local P, h, _, T = carried(step, put, nil, batch)
          return P, { all = h, last = h[{ t = T - 1 }] }
        end
        local run = compiled(make)
        for _, T in ipairs { 1, 2, 7 } do run(inputs(T, batch), { T = T, B = batch or nil }) end
        local without = compiled(make, 0, { passes = { rows = false } })
        without(inputs(7, batch), { T = 7, B = batch or nil })
      end
    end)

    it("goes on from tick to tick and from a state: " .. name, function()
      local P, h, t = carried(step, short)
      local T, given = 7, inputs(7)
      local want = P:compile({ outputs = { h = h } })(given, { T = T }).h:totable()
      local function values(i) return { k = given.k[i + 1], v = given.v[i + 1] } end
      for _, tier in ipairs(tiers) do
        local f, g = P:compile { outputs = { h = h }, tick = t, tier = tier },
          P:compile { outputs = { h = h }, tick = t, tier = tier }
        f:start({}, { T = T })
        for i = 0, 3 do helper.same(want[i + 1], select(2, f:step(values(i))).h) end
        g:load_state(f:state())
        for i = 4, T - 1 do
          helper.same(want[i + 1], select(2, g:step(values(i))).h)
          helper.same(want[i + 1], select(2, f:step(values(i))).h)
        end
      end
    end)

    it("has the long form's gradients: " .. name, function()
      local function make(put)
        local P = tempo.program()
        local t, T = P:dim "t"
        local k, v = P:input("k", { domain = { t }, dtype = "i64" }),
          P:input("v", { domain = { t }, shape = { 3 } })
        local w = P:input("w", { shape = { 6, 3 } })
        local h = P:tensor { domain = { t }, shape = { 6, 3 } }
        h[0] = w
        h[t + 1] = step(put, h, k, v, t)
        local c = tempo.arange { 6 }:unsqueeze(1) + 1
        local loss = ((h[T - 1] * c):tanh()):sum() + (h:select(0, (t * t) % 6):sin():sum())[0
          .. T]:sum(0) + h:select(0, k):square():sum()[0 .. T]:sum(0)
        local g = tempo.grad(loss, { v, w })
        return P, { gv = g[1], gw = g[2],
          again = tempo.grad(g[1]:square():sum()[0 .. T]:sum(0) + g[2]:sin():sum(), { w })[1] }
      end
      local run = compiled(make, 2e-5)
      for _, T in ipairs { 1, 3, 6 } do
        local given = inputs(T)
        given.w = helper.fill({ 6, 3 }, function(i) return (i * 5 % 7 - 3) / 4 end)
        run(given, { T = T })
      end
    end)
  end

  it("has gradients that differences have", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local k, v = P:input("k", { domain = { t }, dtype = "i64" }),
      P:input("v", { domain = { t }, shape = { 3 }, dtype = "f64" })
    local w = P:input("w", { shape = { 4, 3 }, dtype = "f64" })
    local h = P:tensor { domain = { t }, shape = { 4, 3 }, dtype = "f64" }
    h[0] = w
    h[t + 1] = h[t]:put(0, k, v * h[t]:select(0, t % 4)):put(1, t % 3, h[t]:select(1, 0):sin())
    local loss = (h[T - 1]:sin()):sum() + (h:select(0, k):square():sum())[0 .. T]:sum(0)
    local g = tempo.grad(loss, { v, w })
    for _, tier in ipairs(tiers) do
      local f = P:compile { outputs = { loss = loss, v = g[1], w = g[2] }, tier = tier }
      local r = helper.rng(3)
      local given = { k = { 1, 3, 1, 0, 2 }, v = {}, w = {} }
      for i = 1, 5 do given.v[i] = { r(9) / 8, r(9) / 8 - 0.5, r(9) / 8 } end
      for i = 1, 4 do given.w[i] = { r(9) / 8 - 0.25, r(9) / 8, r(9) / 8 } end
      local out = f(given, { T = 5 })
      for _, name in ipairs { "v", "w" } do
        for i, row in ipairs(given[name]) do
          for j, x in ipairs(row) do
            local function at(y)
              row[j] = y
              local l = f(given, { T = 5 }).loss
              row[j] = x
              return helper.plain(l)
            end
            helper.same((at(x + 1e-5) - at(x - 1e-5)) / 2e-5, out[name]:get(i - 1, j - 1), 1e-7)
          end
        end
      end
    end
  end)

  it("may end by data", function()
    local function make(put)
      local P = tempo.program()
      local b = P:dim "b"
      local t, T = P:dim "t"
      local k = P:input("k", { domain = { b, t }, dtype = "i64" })
      local x = P:input("x", { domain = { b, t } })
      local h = P:tensor { domain = { b, t }, shape = { 4 }, name = "h" }
      h[{ t = 0 }] = tempo.zeros { 4 }
      h[{ [t] = t + 1 }] = put(put(h, 0, k, x + h:select(0, 0)), 0, t % 4, h:select(0, k) + 1)
      P:stop(t, h:sum():gt(3))
      local last = h[{ t = T - 1 }]
      local loss = last:square():sum()
      return P, { h = h, last = last, sum = h[{ t = 0 .. T }]:sum(0),
        g = tempo.grad(loss, { x })[1] }
    end
    local r = helper.rng(8)
    local k, x = helper.fill({ 3, 9 }, function() return r(4) end),
      helper.fill({ 3, 9 }, function() return r(9) / 8 end)
    agree(make, { k = k, x = x }, { B = 3, T = 9 }, 1e-6)
    -- beyond the row's end is no place to ask
    k[2][9] = 99
    local P, outputs = make(short)
    for _, tier in ipairs(tiers) do
      assert.has_no.errors(function()
        P:compile { outputs = outputs, tier = tier } ({ k = k, x = x }, { B = 3, T = 9 })
      end)
    end
  end)

  -- A state of n rows: what is kept, and what ten steps more cost.
  local function costs(make, n)
    local P, outputs = make(n)
    local f
    for _, tier in ipairs { "native", "interpreter" } do
      f = P:compile { outputs = outputs, tier = tier }
      f({ k = helper.fill({ 7 }, function(i) return i end),
        v = helper.fill({ 7, 3 }, function(i) return i end),
          w = outputs.gw and helper.fill({ n, 3 }, function() return 0 end) }, { T = 7 })
    end
    return f:memory { T = 7 }, helper.work(f, { T = 17 }) - helper.work(f, { T = 7 }), f
  end
  for name, step in pairs(steps) do
    if not (name:find "less" or name:find "sometimes") then
      it("lies there once, and a step costs what changes: " .. name, function()
        local function make(n)
          local P, h, _, T = carried(step, short, n)
          return P, { y = h[{ t = T - 1 }]:slice(0, 0, 1) }
        end
        local n = 10000
        local bytes, more, f = costs(make, n)
        assert.truthy(f:explain "storage":find("temp h (t: 1)", 1, true))
        local column = name:find "each row" and n or 0
        assert.is_true(bytes < 4 * (3 * n + column) * 1.1, bytes)
        assert.is_true(more < 10 * (60 + 2 * column), more)
      end)
    end
  end

  it("has a gradient that lies there once, and costs what changes", function()
    local function make(n)
      local P = tempo.program()
      local t, T = P:dim "t"
      local k, v = P:input("k", { domain = { t }, dtype = "i64" }),
        P:input("v", { domain = { t }, shape = { 3 } })
      local w = P:input("w", { shape = { n, 3 } })
      local h = P:tensor { domain = { t }, shape = { n, 3 }, name = "h" }
      h[0] = w
      h[t + 1] = h:put(0, k, v)
      local g = tempo.grad(h[T - 1]:square():sum(), { v, w })
      return P, { gv = g[1], gw = g[2]:slice(0, 0, 1) }
    end
    local n = 10000
    local bytes, more, f = costs(make, n)
    assert.truthy(f:explain "storage":find("temp grad of h (t: 1)", 1, true))
    assert.is_true(bytes < 4 * 3 * n * 4.1, bytes)
    assert.is_true(more < 10 * 60, more)
  end)
end)

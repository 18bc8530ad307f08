-- tempo.rows: separate arrays as one along the leading dim of an input. Against the same numbers in
-- one dense array.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails = helper.fails

local tiers = { "reference", "interpreter", "native" }
local D = 20              -- rows of 400 elements: long enough to be read where they lie

local function weights(n, seed, shape, dtype)
  local next, v = helper.rng(seed), {}
  for l = 1, n do v[l] = helper.random(next, shape or { D, D }, dtype or "f32") end
  return v
end

-- h[l] = tanh(h[l-1] w[l] + b[l]); short rows of b are copied.
local function net(options)
  local P = tempo.program()
  local l, L = P:dim "l"
  local x = P:input("x", { shape = { 3, D } })
  local w = P:input("w", { domain = { l }, shape = { D, D } })
  local b = P:input("b", { domain = { l }, shape = { D } })
  local h = P:tensor { domain = { l }, shape = { 3, D } }
  h[0] = (x:matmul(w[0]) + b[0]):tanh()
  h[l] = (h[l - 1]:matmul(w) + b):tanh()
  options.outputs = { y = h[L - 1] }
  return P:compile(options), helper.random(helper.rng(7), { 3, D }, "f32")
end

-- One layer at each tick, with an output of each.
local function steps(tier)
  local P = tempo.program()
  local t = P:dim "t"
  local l, L = P:dim "l"
  local x = P:input("x", { domain = { t }, shape = { 3, D } })
  local w = P:input("w", { domain = { l }, shape = { D, D } })
  local h = P:tensor { domain = { t, l }, shape = { 3, D } }
  h[{ l = 0 }] = x:matmul(w[0])
  h:otherwise(h[{ l = l - 1 }]:matmul(w):tanh())
  local y = h[{ l = L - 1 }]
  return P:compile { outputs = { y = y, all = y[0 .. t + 1]:sum(0) }, tick = t, tier = tier }
end

describe("rows", function()
  it("look like a list of arrays", function()
    local v = weights(3, 1)
    local r = tempo.rows(v)
    assert.are.equal(3, #r)
    assert.are.same({ 3, D, D }, r:shape())
    assert.are.equal("f32", r:dtype())
    assert.are.equal("tempo.Rows<3 arrays of f32>", tostring(r))
    assert.are.same(v[2]:totable(), r[1]:totable())
    r[1]:set(42, 0, 0)                                    -- the array itself
    assert.are.equal(42, v[2]:get(0, 0))
    assert.are.same(v[3]:totable(), tempo.array(r)[2]:totable())
    v[1]:free()
    assert.are.equal(D, #r[0])                            -- rows hold their arrays
    r:free()
    fails(function() return #r end, "option", "freed")
  end)

  it("are refused where they are no rows of one array", function()
    local a = tempo.array { 1, 2 }
    fails(function() tempo.rows {} end, "shape", "empty list")
    fails(function() tempo.rows(a) end, "option", "expected a list of arrays")
    fails(function() tempo.rows { a, 3 } end, "option", "number 2 of the list, got a number")
    fails(function() tempo.rows { a, tempo.array { 1, 2, 3 } } end, "shape", "another shape")
    fails(function() tempo.rows { a, tempo.array({ 1, 2 }, "i64") } end, "dtype", "array 2 is i64")
    fails(function() return tempo.rows { a }[1] end, "input", "row 1 is out of range")
    fails(function() return tempo.rows { a }:get(0) end, "option")
    a:free()
    fails(function() tempo.rows { a } end, "option", "freed")
  end)

  it("give what a dense array gives, in every tier", function()
    for _, n in ipairs { 1, 2, 5 } do
      local v = weights(n, n)
      v[n] = v[1]                                         -- one array twice
      local b = weights(n, 9, { D })
      for _, tier in ipairs(tiers) do
        local f, x = net { tier = tier }
        local function y(w, c) return f({ x = x, w = w, b = c }, { L = n }).y:totable() end
        local rows, short = tempo.rows(v), tempo.rows(b)
        local want = y(tempo.array(rows), tempo.array(short))
        assert.are.same(want, y(rows, short))
        assert.are.same(want, y(tempo.array(rows), short))
      end
    end
  end)

  it("are read where they lie, if rows are long", function()
    local plan = (net { tier = "interpreter" }):explain "plan"
    assert.is_truthy(plan:find '"w" %[L%]%[20, 20%] size 400%*L by rows')
    assert.is_truthy(plan:find '"b" %[L%]%[20%] size 20%*L @')
  end)

  it("may be views that overlap", function()
    local big = helper.random(helper.rng(3), { 4, D, D }, "f32")
    local f, x = net { tier = "native" }
    local b = tempo.array(0, "f32", { 3, D })
    local r = tempo.rows { big[2], big[0], big[2] }
    local got = f({ x = x, w = r, b = b }, { L = 3 }).y
    local dense = tempo.array { big[2]:totable(), big[0]:totable(), big[2]:totable() }
    assert.are.same(f({ x = x, w = dense, b = b }, { L = 3 }).y:totable(), got:totable())
  end)

  it("are checked against bounds and dtypes", function()
    local f, x = net { tier = "interpreter" }
    local b = tempo.array(0, "f32", { 2, D })
    local v = weights(2, 1)
    local function run(r) f({ x = x, w = tempo.rows(r), b = b }, { L = 2 }) end
    fails(function() run { v[1] } end, "shape", "'w'")
    fails(function() run(weights(2, 1, { D })) end, "shape", "'w'")
    fails(function() run(weights(2, 1, nil, "f64")) end, "dtype", "'w'")
  end)

  it("are copied where several rows are read at once", function()
    for _, tier in ipairs(tiers) do
      local P = tempo.program()
      local l, L = P:dim "l"
      local i, I = P:dim "i"
      local w = P:input("w", { domain = { l }, shape = { D, D } })
      local u = P:input("u", { domain = { l, i }, shape = { 300 } })
      local s = P:input("s", { shape = { 3, D } })
      local f = P:compile { tier = tier, outputs = { all = w[0 .. L]:sum(0), twice = w * 2,
        far = u[{ l = l, i = I - 1 - i }] + 1, last = w[L - 1], s = s * 3 } }
      local r = { w = tempo.rows(weights(3, 5)), u = tempo.rows(weights(3, 6, { 2, 300 })),
        s = tempo.rows(weights(3, 8, { D })) }
      local dense, bounds = {}, { L = 3, I = 2 }
      for name, v in pairs(r) do dense[name] = tempo.array(v) end
      local want, got = f(dense, bounds), f(r, bounds)
      for name, a in pairs(want) do assert.are.same(a:totable(), got[name]:totable()) end
    end
  end)

  it("stay in steps and states", function()
    for _, tier in ipairs(tiers) do
      local f, v = steps(tier), weights(3, 2)
      local xs = helper.random(helper.rng(4), { 4, 3, D }, "f32")
      local want = f({ x = xs, w = tempo.array(tempo.rows(v)) }, { T = 4, L = 3 })
      local x = tempo.rows { xs[0], xs[1], xs[2], xs[3] }
      local by_rows = f({ x = x, w = tempo.rows(v) }, { T = 4, L = 3 })
      assert.are.same(want.y:totable(), by_rows.y:totable())
      f:start({ w = tempo.rows(v) }, { T = 4, L = 3 })
      f:step { x = xs[0] }
      f:step { x = tempo.rows { xs[1][0], xs[1][1], xs[1][2] } }
      local state = f:state()
      local _, out = f:step { x = xs[2] }
      assert.are.same(want.y[2]:totable(), out.y:totable())
      for l = 1, 3 do v[l]:free() end
      f:load_state(state)                                 -- has its own copy
      f:step { x = xs[2] }
      local done, last = f:step { x = xs[3] }
      assert.is_true(done)
      assert.are.same(want.all[3]:totable(), last.all:totable())
      v = weights(3, 2)
      local rest = f({ x = xs, w = tempo.rows(v) }, { T = 4, L = 3 }, { state = state })
      assert.are.same(want.y:totable(), rest.y:totable())
    end
  end)

  it("go with threads, and within a limit of memory", function()
    for _, how in ipairs { { threads = 2 }, { memory = 1e8 } } do
      local f, x = net { tier = "native", threads = how.threads, memory = how.memory }
      local v, b = weights(4, 3), tempo.array(0.5, "f32", { 4, D })
      local want = f({ x = x, w = tempo.array(tempo.rows(v)), b = b }, { L = 4 }).y
      assert.are.same(want:totable(), f({ x = x, w = tempo.rows(v), b = b }, { L = 4 }).y:totable())
    end
  end)

  it("may be arrays of files, as constants may", function()
    local name = os.tmpname()
    local path = name .. ".safetensors"
    local v = weights(2, 6)
    tempo.save(path, { a = v[1], b = v[2] })
    local file = tempo.open(path)
    local f, x = net { tier = "native" }
    local b = tempo.array(0.5, "f32", { 2, D })
    local got = f({ x = x, w = tempo.rows { file.a, file.b }, b = b }, { L = 2 }).y
    assert.are.same(f({ x = x, w = tempo.rows(v), b = b }, { L = 2 }).y:totable(), got:totable())
    local P = tempo.program()
    local w, u = P:constant(file.a), P:param("u", { shape = { D, D }, init = file.b })
    local g = P:compile { outputs = { y = w:matmul(u) } }
    file, w, u = nil, nil, nil                           -- luacheck: ignore
    collectgarbage()
    local Q = tempo.program()
    local h = Q:compile { outputs = { y = Q:constant(v[1]):matmul(v[2]) } }
    assert.are.same(h({}, {}).y:totable(), g({}, {}).y:totable())
    os.remove(path)
    os.remove(name)
  end)

  it("are read by peek", function()
    local P = tempo.program()
    local l = P:dim "l"
    local w = P:input("w", { domain = { l }, shape = { 2 } })
    local r = tempo.rows { tempo.array { 1, 2 }, tempo.array { 3, 4 } }
    local two = (w * 2):peek { inputs = { w = r }, bounds = { L = 2 }, at = { l = 1 } }
    assert.are.same({ 6, 8 }, two:totable())
  end)
end)

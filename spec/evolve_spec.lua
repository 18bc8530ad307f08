-- The pass evolve: a recurrence of which few points are needed is a formula. Integers are held bit
-- for bit to the same program without the pass and to plain Lua, floats to plain Lua's doubles;
-- work is counted; what stays says why.
local tempo = require "tempo"

local helper = require "spec.helper"
local work = helper.work

-- Each tensor made of (P, t, T, declare, inputs); declare(dtype, shape) gives a tensor over t.
local function program(make, opts)
  local P = tempo.program()
  local t, T = P:dim "t"
  local function declare(dtype, shape)
    return P:tensor { domain = { t }, dtype = dtype or "f64", shape = shape or {} }
  end
  local o = { outputs = make(P, t, T, declare), tier = "interpreter" }
  for k, v in pairs(opts or {}) do o[k] = v end
  return P:compile(o)
end

local function values(out)
  local text = {}
  for name, a in pairs(out) do text[#text + 1] = name .. " " .. tostring(a) end
  table.sort(text)
  return table.concat(text, "\n")
end

-- ---- integers ----
local whole = {}
for _, dtype in ipairs { "u8", "i32", "i64" } do
  whole["sums of sums in " .. dtype] = function(_, t, T, declare)
    local x, y, z, u = declare(dtype), declare(dtype), declare(dtype), declare(dtype)
    x[0] = 5; x[t] = x[t - 1] + 3
    y[0] = 1; y[t] = y[t - 1] + x[t]
    z[0] = 7; z[t] = z[t - 1] + y[t - 1] * x[t]
    u[0] = 2; u[t] = u[t - 1] - z[t]
    return { x = x[T - 1], y = y[T - 1], z = z[T - 1], u = u[T - 1], early = z[0] }
  end
  whole["backwards in " .. dtype] = function(_, t, T, declare)
    local x, y, p = declare(dtype), declare(dtype), declare(dtype)
    x[T - 1] = 5; x[t] = x[t + 1] + 7
    y[T - 1] = 1; y[t] = y[t + 1] + x[t] * x[t + 1]
    p[T - 1] = 11; p[t] = 3 * p[t + 1]
    return { x = x[0], y = y[0], p = p[0] }
  end
  whole["powers in " .. dtype] = function(P, t, T, declare)
    local p, q = declare(dtype, { 3 }), declare(dtype)
    p[0] = P:constant({ 1, 2, 3 }):to(dtype); p[t] = p[t - 1] * P:constant({ 3, 2, 0 }):to(dtype)
    q[0] = 1; q[t] = q[t - 1] * 7
    return { p = p[T - 1], q = q[T - 1] }
  end
  whole["steps that know t in " .. dtype] = function(_, t, T, declare)
    local x, y = declare(dtype), declare "i64"
    y[0] = 3; y[t] = y[t - 1] + t * t * 2 - 5 * t + 1
    x[0] = 1; x[t] = x[t - 1] + y[t]:to(dtype)
    return { x = x[T - 1], y = y[T - 1] }
  end
  whole["moved, chosen and added up in " .. dtype] = function(P, t, T, declare)
    local x, y, z = declare(dtype, { 2, 3 }), declare(dtype, { 3 }), declare(dtype, { 2, 2 })
    local step = P:constant({ { 1, 2, 3 }, { 4, 5, 6 } }):to(dtype)
    x[0] = step * 2; x[t] = x[t - 1] + step
    y[0] = step:select(0, 0);
      y[t] = tempo.where(tempo.arange(3):lt(2), y[t - 1] + x[t]:select(0, 1), y[t - 1])
    z[0] = tempo.zeros({ 2, 2 }, { dtype = dtype });
      z[t] = z[t - 1] + x[t]:matmul(x[t - 1]:transpose(0, 1))
    return { x = x[T - 1]:sum(0), y = y[T - 1], z = z[T - 1] }
  end
end

-- By the digits of how many steps: a table of the same kind.
local stepping = {}
stepping["two that are made of each other"] = function(_, t, T, declare)
  local x, y = declare "i64", declare "i64"
  x[0] = 3; y[0] = 1
  x[t + 1] = 3 * x - 2 * y
  y[t + 1] = x * 5 + y - 7
  return { both = (x + y)[T - 1], x = x[T - 2] }
end
for _, dtype in ipairs { "u8", "i32", "i64" } do
  stepping["geometric series and their sums in " .. dtype] = function(_, t, T, declare)
    local x, y, z = declare(dtype), declare(dtype), declare(dtype)
    x[0] = 5; x[t] = 3 * x[t - 1] + 7
    y[0] = 1; y[t] = y[t - 1] + x[t]
    z[0] = 2; z[t] = 2 * z[t - 1] - y[t - 1] + 3
    return { x = x[T - 1], y = y[T - 1], z = z[T - 1], early = y[1] }
  end
  stepping["pairs in " .. dtype] = function(P, t, T, declare)
    local a, b = declare(dtype, { 2 }), declare(dtype, { 2 })
    a[0] = P:constant({ 0, 3 }):to(dtype); a[t] = b[t - 1]
    b[0] = P:constant({ 1, 2 }):to(dtype);
      b[t] = a[t - 1] * P:constant({ 1, 5 }):to(dtype) + b[t - 1] - 2
    return { a = a[T - 1], b = b[T - 1] }
  end
  stepping["backwards in " .. dtype] = function(_, t, T, declare)
    local x = declare "i64"
    x[T - 1] = 1; x[t] = 3 * x[t + 1] + t * 5 - 4
    return { x = x[0] }
  end
end
stepping["momentum"] = function(P, t, T, declare)
  local g, v, w = P:constant { 1, 2, 4 }, declare("f64", { 3 }), declare("f64", { 3 })
  v[0] = tempo.zeros({ 3 }, { dtype = "f64" }); v[t] = 0.5 * v[t - 1] + g
  w[0] = tempo.ones({ 3 }, { dtype = "f64" }); w[t] = w[t - 1] - 0.25 * v[t]
  return { w = (w[T - 1] * 4096):round() }
end

for _, dtype in ipairs { "i32", "i64" } do
  stepping["matrices in " .. dtype] = function(P, t, T, declare)
    local a, w = P:constant({ { 1, 1 }, { 1, 0 } }):to(dtype),
      P:constant({ { 1, 2, 3 }, { 0, 1, 1 }, { 2, 0, 1 } }):to(dtype)
    local x, y, z, u = declare(dtype, { 2 }), declare(dtype, { 3 }), declare(dtype, { 3, 2 }),
      declare(dtype, { 3 })
    x[0] = P:constant({ 1, 0 }):to(dtype); x[t] = a:matmul(x[t - 1])
    y[T - 1] = P:constant({ 1, 2, 3 }):to(dtype); y[t] = y[t + 1]:matmul(w) * 3 + 1
    z[0] = tempo.ones({ 3, 2 }, { dtype = dtype }); z[t] = w:matmul(w:matmul(z[t - 1]))
    u[0] = tempo.zeros({ 3 }, { dtype = dtype });
      u[t] = w:matmul(u[t - 1] - 4) + w:transpose(0, 1):select(0, 1)
    return { x = x[T - 1], y = y[0], z = z[T - 1], u = u[T - 1] }
  end
end

-- ---- floats: program, what plain Lua makes of it in doubles ----
local inputs = { x0 = 0.75, a = 0.875, b = -0.3125, up = 1.03125, same = 1, none = 0, minus = -1,
  still = 2 }
local made = setmetatable({}, { __mode = "k" })
local function given(P, name, dtype)
  made[P] = made[P] or {}
  made[P][name] = made[P][name] or P:input(name, { shape = {}, dtype = dtype })
  return made[P][name]
end
local function stepped(x, n, step)
  for i = 1, n do x = step(x, i) end
  return x
end
local floats = {
  { "x + b", function(x, P, d) return x + given(P, "b", d) end, function(x) return x - 0.3125 end },
  { "a x", function(x, P, d) return given(P, "a", d) * x end, function(x) return 0.875 * x end },
  { "a x + b", function(x, P, d)
    return given(P, "a", d) * x + given(P, "b", d)
  end, function(x) return 0.875 * x - 0.3125 end },
  { "up x + b", function(x, P, d)
    return given(P, "up", d) * x + given(P, "b", d)
  end, function(x) return 1.03125 * x - 0.3125 end },
  { "one x + b", function(x, P, d)
    return given(P, "same", d) * x + given(P, "b", d)
  end, function(x) return x - 0.3125 end },
  { "zero x + b", function(x, P, d)
    return given(P, "none", d) * x + given(P, "b", d)
  end, function() return -0.3125 end },
  { "b - x", function(x, P, d)
    return given(P, "b", d) + given(P, "minus", d) * x
  end, function(x) return -0.3125 - x end },
  { "2 x - x0 stays", function(x, P, d)
    return x * 2 - given(P, "x0", d)
  end, function(x) return x * 2 - 0.75 end },
  { "x / 2 - (x + b) / 4", function(x, P, d)
    return x / 2 - (x + given(P, "b", d)) / 4
  end, function(x) return x / 2 - (x - 0.3125) / 4 end },
  { "-0.5 x", function(x) return -(x * 0.5) end, function(x) return -0.5 * x end },
}

-- Relative to the largest number that is met.
local TOLERANCE = { f32 = 4e-7, f64 = 1e-14 }

describe("evolve", function()
  for name, make in pairs(whole) do
    it("gives the bits of the steps: " .. name, function()
      for _, opts in ipairs { { tier = "reference" }, { passes = { evolve = false } } } do
        local f, g = program(make), program(make, opts)
        for _, n in ipairs { 2, 3, 4, 7, 64, 261 } do
          assert.are.equal(values(g({}, { T = n })), values(f({}, { T = n })))
        end
      end
      local f = program(make)
      assert.are.equal(work(f, { T = 10 }), work(f, { T = 1000000000 }))
    end)
  end

  for name, make in pairs(stepping) do
    it("steps by digits: " .. name, function()
      local f = program(make)
      for _, opts in ipairs { { tier = "reference" }, { passes = { evolve = false } },
        { tier = "native" } } do
        local g = program(make, opts)
        for _, n in ipairs { 2, 3, 4, 7, 52, 56, 57, 60, 64, 65, 261 } do
          assert.are.equal(values(g({}, { T = n })), values(f({}, { T = n })))
        end
      end
      assert.is_true(work(f, { T = 1000000000 }) < 4 * work(f, { T = 1000 }))
      assert.is_nil(f:explain("evolution"):find("goes step by step", 1, true))
    end)
  end

  it("turns by an angle at each step", function()
    local f = program(function(P, t, T, declare)
      local turn = P:input("turn", { shape = { 4 }, dtype = "f64" })
      local x, y = declare("f64", { 4 }), declare("f64", { 4 })
      x[0] = tempo.ones({ 4 }, { dtype = "f64" }); y[0] = tempo.zeros({ 4 }, { dtype = "f64" })
      x[t + 1] = x * turn:cos() - y * turn:sin()
      y[t + 1] = x * turn:sin() + y * turn:cos()
      return { x = x[T - 1], y = y[T - 1], both = (x + y)[T - 1] }
    end)
    local turn = { 1, 0.1, 0.01, 0.001 }
    for _, n in ipairs { 2, 3, 100, 12346 } do
      local out = f({ turn = tempo.array(turn, "f64") }, { T = n })
      for k, angle in ipairs(turn) do
        local x, y = math.cos((n - 1) * angle), math.sin((n - 1) * angle)
        assert.is_true(math.abs(out.x:get(k - 1) - x) < 1e-11
          and math.abs(out.y:get(k - 1) - y) < 1e-11)
        assert.is_true(math.abs(out.both:get(k - 1) - x - y) < 1e-11)
      end
    end
    assert.is_true(work(f, { T = 1000000000 }) < 4 * work(f, { T = 1000 }))
  end)

  for _, row in ipairs(floats) do
    local name, step, plain = row[1], row[2], row[3]
    it("makes of " .. name .. " what doubles make", function()
      for dtype, most in pairs(TOLERANCE) do
        local f = program(function(P, t, T, declare)
          local x, y = declare(dtype), declare(dtype)
          x[0] = given(P, "x0", dtype); x[t] = step(x[t - 1], P, dtype)
          y[T - 1] = given(P, "x0", dtype); y[t] = step(y[t + 1], P, dtype)
          return { x = x[T - 1], y = y[0], z = x[1] }
        end)
        local used = {}
        for k, v in pairs(inputs) do
          if f:explain("graph"):find('str "' .. k .. '"', 1, true) then used[k] = v end
        end
        for _, n in ipairs { 2, 3, 8, 31 } do
          local want, got = stepped(0.75, n - 1, plain), f(used, { T = n })
          local scale = math.max(1, math.abs(want))
          assert.is_true(math.abs(got.x:item() - want) <= most * scale,
            ("%s at %d: %.17g, not %.17g"):format(dtype, n, got.x:item(), want))
          assert.are.equal(got.x:item(), got.y:item())
          assert.is_true(math.abs(got.z:item() - plain(0.75)) <= most)
        end
        assert.are.equal(work(f, { T = 10 }), work(f, { T = 1000000 }))
      end
    end)
  end

  it("keeps to what stays, and to what is gone, however many steps", function()
    local f = program(function(_, t, T, declare)
      local x, y, z = declare "f64", declare "f64", declare "f64"
      x[0] = 1; x[t] = 2 * x[t - 1] - 1
      y[0] = 0; y[t] = 3 * y[t - 1]
      z[0] = 1e6; z[t] = 0.5 * z[t - 1]
      return { x = x[T - 1], y = y[T - 1], z = z[T - 1] }
    end)
    local out = f({}, { T = 5001 })
    assert.are.equal(1, out.x:item())
    assert.are.equal(0, out.y:item())
    assert.are.equal(1e6 * 2 ^ -100, f({}, { T = 101 }).z:item())
  end)

  it("adds small numbers better than steps do", function()
    local f = program(function(_, t, T, declare)
      local x, y = declare "f32", declare "f32"
      x[0] = 0; x[t] = x[t - 1] + 0.1
      y[0] = 0; y[t] = y[t - 1] * 1.0000001 + 1
      return { x = x[T - 1], y = y[T - 1] }
    end)
    local out = f({}, { T = 1000001 })
    assert.is_true(math.abs(out.x:item() - 100000.0015) < 0.01)
    local a = 1.00000011920928955078125         -- 1.0000001 in f32
    assert.is_true(math.abs(out.y:item() / ((a ^ 1000000 - 1) / (a - 1)) - 1) < 1e-6)
  end)

  it("gives the loop of the paper: y + 15 x[1, :] + 15 (15 + 1) / 2 a[1, :]", function()
    local f = program(function(P, t, T, declare)
      local a, x, y = P:input("a", { shape = { 2, 3 } }), declare("f32", { 2, 3 }),
        declare("f32", { 3 })
      x[0] = P:input("x", { shape = { 2, 3 } }); x[t] = x[t - 1] + a
      y[0] = P:input("y", { shape = { 3 } }); y[t] = y[t - 1] + x[t]:select(0, 1)
      return { y = y[T - 1] }
    end)
    local out = f({ a = { { 1, 2, 3 }, { 4, 5, 6 } }, x = { { 0, 0, 0 }, { 7, 8, 9 } },
      y = { 1, 2, 3 } }, { T = 16 }).y
    for k = 0, 2 do assert.are.equal(k + 1 + 15 * (k + 7) + 120 * (k + 4), out:get(k)) end
    assert.are.equal(work(f, { T = 16 }), work(f, { T = 1000000 }))
  end)

  it("evolves a parameter, and its gradient's adjoint", function()
    local function make(P, _, T)
      local i, I = P:dim "i"
      local w = P:param("w", { along = { i }, init = 3, dtype = "f64" })
      w:update(w - 0.125 * tempo.grad((w - 1):square(), { w })[1])
      return { w = w[I - 1], T = T:value() }
    end
    local f, g = program(make), program(make, { tier = "reference" })
    for _, n in ipairs { 1, 2, 9, 40 } do
      local want = 1 + 2 * 0.75 ^ (n - 1)
      assert.is_true(math.abs(f({}, { T = 1, I = n }).w:item() - want) < 1e-14)
      assert.is_true(math.abs(g({}, { T = 1, I = n }).w:item() - want) < 1e-14)
    end
    assert.are.equal(work(f, { T = 1, I = 5 }), work(f, { T = 1, I = 500000 }))
  end)

  it("differentiates what evolves", function()
    local function derivatives(more)
      return program(function(P, t, T, declare)
        local x0, b, x = given(P, "x0", "f64"), given(P, "b", "f64"), declare "f64"
        x[0] = x0; x[t] = 0.5 * x[t - 1] + b
        local d = tempo.grad(x[T - 1] * x[T - 1], { x0, b })
        return { x0 = d[1], b = more and d[2] or nil }
      end)
    end
    local out = derivatives(true)({ x0 = 2, b = 0.25 }, { T = 6 })
    local x = 2 / 32 + 0.25 * (2 - 2 / 32)
    assert.is_true(math.abs(out.x0:item() - 2 * x / 32) < 1e-15)
    assert.is_true(math.abs(out.b:item() - 2 * x * (2 - 2 / 32)) < 1e-14)
    local f = derivatives(false)
    assert.is_true(work(f, { T = 1000000 }) < 4 * work(f, { T = 100 }))
  end)

  it("turns by a matrix as often as one likes", function()
    local f = program(function(P, t, T, declare)
      local x = declare("f64", { 2 })
      x[0] = P:constant({ 1, 0 }):to "f64"
      x[t] = (P:constant({ { 4, -3 }, { 3, 4 } }):to "f64" / 5):matmul(x[t - 1])
      return { x = x[T - 1] }
    end)
    local angle = 2 * math.atan(1 / 3)                    -- whose cosine is 0.8
    for _, n in ipairs { 10, 50, 56, 57, 100, 1000, 100000, 1000000 } do
      local x = f({}, { T = n + 1 }).x
      assert.is_true(math.abs(x:get(0) - math.cos(n * angle)) < 1e-15 * (n + 10), n)
      assert.is_true(math.abs(x:get(1) - math.sin(n * angle)) < 1e-15 * (n + 10), n)
    end
    assert.is_true(work(f, { T = 1000000000 }) < 4 * work(f, { T = 1000 }))
  end)

  it("goes through nests of recurrences", function()
    local function make(P, t, T)
      local i, I = P:dim "i"
      local x = P:tensor { domain = { i, t }, dtype = "i64", shape = {} }
      x[{ i = 0, t = 0 }] = 1
      x[{ t = 0 }] = 3 * x[{ i = i - 1, t = T - 1 }]
      x:otherwise(x[{ t = t - 1 }] + i)
      return { x = x[{ i = I - 1, t = T - 1 }] }
    end
    local f, g = program(make), program(make, { tier = "reference" })
    for _, n in ipairs { 1, 2, 5, 9 } do
      assert.are.equal(values(g({}, { T = n, I = 10 - n })), values(f({}, { T = n, I = 10 - n })))
    end
    assert.are.equal(work(f, { T = 10, I = 10 }), work(f, { T = 1000000, I = 10 }))
  end)

  it("makes all points of integers that grow by the same at each step without a loop", function()
    local f = program(function(_, t, _, declare)
      local x = declare "i64"
      x[0] = 4; x[t] = x[t - 1] + 3
      return { x = x }
    end)
    assert.are.equal("[ 4  7 10 13]", (tostring(f({}, { T = 4 }).x)))
    assert.is_nil(f:explain("schedule"):find "for ")
  end)

  it("goes step by step where a state begins with another of its recurrence", function()
    local function make(_, t, T, declare)
      local x, y, w = declare("i64"), declare("i64"), tempo.array({ { 1, 2 }, { 3, -1 } }, "i64")
      local u, v = declare("i64", { 1, 2 }), declare("i64", { 1, 2 })
      x[0] = 3; y[0] = x[0] * 2 + 1
      x[t] = x[t - 1] + y[t - 1]; y[t] = x[t - 1] - y[t - 1]
      u[0] = tempo.ones({ 1, 2 }, { dtype = "i64" }); v[0] = u[0] + 1
      u[t] = v[t - 1]:matmul(w); v[t] = u[t - 1] - v[t - 1]
      return { x = x[T - 1], y = y[T - 1], u = u[T - 1], v = v[T - 1] }
    end
    local f, g = program(make), program(make, { tier = "reference" })
    for _, n in ipairs { 1, 2, 3, 40 } do
      assert.are.equal(values(g({}, { T = n })), values(f({}, { T = n })))
    end
  end)

  it("two states that turn into each other are one system, whatever shares their reads", function()
    local f = program(function(_, t, T, declare)
      local x, y = declare "f64", declare "f64"
      local c, s = math.cos(0.1), math.sin(0.1)
      x[0] = 1; y[0] = 0
      x[t] = x[t - 1] * c - y[t - 1] * s
      y[t] = x[t - 1] * s + y[t - 1] * c
      return { x = x[T - 1] }
    end)
    for _, n in ipairs { 1, 2, 100, 1000001 } do
      assert.is_true(math.abs(math.cos(0.1 * (n - 1)) - f({}, { T = n }).x:item()) < 1e-8)
    end
    assert.is_true(work(f, { T = 1e9 }) < 3000)
  end)

  it("says why others go step by step", function()
    local reasons = {
      ["it multiplies what it steps from by itself"] = function(x, t)
        return 0.5 * x[t - 1] * x[t - 1]
      end,
      ["it takes up data at each step"] = function(x, t, P)
        return x[t - 1] + P:input("u", { domain = { t }, shape = {}, dtype = "f64" })
      end,
      ["the factor of what it steps from varies along the dim"] = function(x, t)
        return x[t - 1] * t:value()
      end,
      ["it is not linear in what varies"] = function(x, t) return x[t - 1]:tanh() end,
    }
    for why, step in pairs(reasons) do
      local f = program(function(P, t, T, declare)
        local x = declare()
        x[0] = 0.5; x[t] = step(x, t, P)
        return { x = x[T - 1] }
      end)
      local said = f:explain "evolution"
      assert.is_truthy(said:find("goes step by step: " .. why, 1, true), said)
      assert.is_true(work(f, { T = 1000 }) > 1000)
    end
  end)

  it("leaves alone what branches, what is wanted everywhere, what is precise", function()
    local function branching(opts, all)
      return program(function(_, t, T, declare)
        local x = declare "f32"
        x[0] = 1; x:when(t:eq(5), 7 * x[t - 1]) x[t] = x[t - 1] + 0.1
        local y = declare "f32"
        y[0] = 1; y[t] = y[t - 1] + 0.1
        return { x = x[T - 1], y = all and y or y[T - 1] }
      end, opts)
    end
    assert.is_truthy(branching({}, true):explain("evolution"):find("all its points are needed", 1,
      true))
    assert.is_truthy(branching({}):explain("evolution"):find("along t = {1,+,0.1}", 1, true))
    assert.is_nil(branching({ precise = true }):explain("evolution"):find("{", 1, true))
    assert.is_nil(branching({ check = "nan" }):explain("evolution"):find("{", 1, true))
    assert.is_nil(branching({ passes = { evolve = false } }):explain("evolution"):find("{", 1,
      true))
  end)
end)

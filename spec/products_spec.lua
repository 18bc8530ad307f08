-- Products whose weights lie in 16 bits: read as stored, in every tier; and an element of a product
-- has the same bits however many rows there are beside it.
local tempo = require "tempo"
local helper = require "spec.helper"
local unpack = table.unpack or unpack       -- luacheck: globals unpack

local K, N = 515, 37
-- Without AVX-512 a library multiplies f32: its order is its own.
local cpu = io.open "/proc/cpuinfo"
local ours = cpu and cpu:read "*a" or ""
ours = ours:find "avx512vl" and not os.getenv "TEMPO_ISA"

-- name => shape of the weights, and the product of x (m, K) with them
local ways = {
  ["(out, in)"] = { { N, K }, function(x, w) return x:matmul(w:mT()) end },
  ["(in, out)"] = { { K, N }, function(x, w) return x:matmul(w) end },
  ["on the left"] = { { N, K }, function(x, w) return w:matmul(x:mT()):mT() end },
  ["on the left, turned"] = { { K, N }, function(x, w) return w:mT():matmul(x:mT()):mT() end },
}

-- Rows are points of b: they are one product.
local function compile(way, dtype, xtype, opts)
  local P = tempo.program()
  local b = P:dim "b"
  local x = P:input("x", { domain = { b }, shape = { K }, dtype = xtype })
  local w = P:input("w", { shape = way[1], dtype = dtype })
  opts.outputs = { y = way[2](x:to "f32":unsqueeze(0), w:to "f32"):squeeze(0) }
  return P:compile(opts)
end

local function inputs(way, dtype, xtype, rows)
  local r = helper.rng(5)
  local function number() return r() / 4 end
  local x = helper.fill({ 70, K }, number)
  for i = 70, rows + 1, -1 do x[i] = nil end
  r = helper.rng(7)
  return { x = tempo.array(x, xtype), w = tempo.array(helper.fill(way[1], number), dtype) }
end

describe("a product with weights of 16 bits", function()
  for name, way in pairs(ways) do
    for _, dtype in ipairs { "bf16", "f16" } do
      for _, xtype in ipairs { "f32", "bf16" } do
        it(("reads %s %s by %s as stored"):format(dtype, name, xtype), function()
          for _, rows in ipairs { 1, 3, 40 } do
            local given = inputs(way, dtype, xtype, rows)
            local want = compile(way, dtype, xtype, { tier = "reference" }) (given, { B = rows }).y
            for _, tier in ipairs { "interpreter", "native" } do
              local f = compile(way, dtype, xtype, { tier = tier })
              helper.same(want:totable(), f(given, { B = rows }).y, 1e-5)
              assert.falsy(f:explain("plan"):find "cast")
            end
          end
        end)
      end
    end
  end

  it("is stored where others read the same in f32", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 1, K } })
    local w = P:input("w", { shape = { N, K }, dtype = "bf16" }):to "f32"
    local outputs = { y = x:matmul(w:mT()), z = (w * 0.5):sum(1), w = w }
    local given = inputs(ways["(out, in)"], "bf16", "f32", 1)
    helper.run(P, outputs, given, {}, { tol = 1e-5 })
  end)

  it("reads a table of which rows are taken too", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local k = P:input("k", { domain = { t }, shape = { 1 }, dtype = "i64" })
    local w = P:input("w", { shape = { N, K }, dtype = "bf16" }):to "f32"
    local h = P:tensor { domain = { t }, shape = { 1, K }, name = "h" }
    h[0] = w:index_select(0, k)
    h[t] = (w:index_select(0, k) + h[t - 1]):tanh()
    local outputs = { y = h:matmul(w:mT())[0 .. T] }
    local given = inputs(ways["(out, in)"], "bf16", "f32", 1)
    given.x, given.k = nil, tempo.array({ { 3 }, { 0 }, { 36 } }, "i64")
    helper.run(P, outputs, given, { T = 3 }, { tol = 1e-5 })
    assert.is_true(P:compile { outputs = outputs }:memory { T = 3 } < 8 * 4 * K)
  end)

  it("gives gradients", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 3, K } })
    local w = P:input("w", { shape = { N, K }, dtype = "bf16" })
    local y = (x:matmul(w:to "f32":mT()) * 0.1):tanh():sum()
    local g = tempo.grad(y, { x, w })
    helper.run(P, { y = y, x = g[1], w = g[2] }, inputs(ways["(out, in)"], "bf16", "f32", 3), {},
      { tol = 1e-2 })
  end)
end)

-- What bf16 is in f32, and the nearest of f32's numbers that are.
local function to_bf16(list)
  return tempo.array(tempo.array(list, "bf16"), "f32"):totable()
end

describe("a product of bf16 by bf16", function()
  local r = helper.rng(11)
  local function number() return r() / 4 end
  local x, w = helper.fill({ 40, K }, number), helper.fill({ N, K }, number)
  local a, b = to_bf16(x), to_bf16(w)
  local function near(y, i, tolerance)
    for j = 1, N do
      local sum, size = 0, 0
      for p = 1, K do
        sum, size = sum + a[i][p] * b[j][p], size + math.abs(a[i][p] * b[j][p])
      end
      assert.is_true(math.abs(sum - y[j]) <= tolerance * size)
    end
  end

  it("is what its numbers give, however it is written", function()
    local P = tempo.program()
    local u = P:input("x", { shape = { 40, K } })
    local v = P:input("w", { shape = { N, K }, dtype = "bf16" })
    local narrow = u:to "bf16"
    local outputs = { wide = narrow:to "f32":matmul(v:to "f32":mT()),
      narrow = narrow:matmul(v:mT()) }
    local given = { x = tempo.array(x), w = tempo.array(w, "bf16") }
    for _, tier in ipairs { "reference", "interpreter", "native" } do
      local got = P:compile { outputs = outputs, tier = tier } (given, {})
      assert.equal("bf16", got.narrow:dtype())
      local wide, rounded = got.wide:totable(), got.narrow:totable()
      for i = 1, 40, 3 do
        near(wide[i], i, 1e-6)
        near(rounded[i], i, 2 ^ -8)
      end
    end
  end)

  it("has the same bits for any number of rows", function()
    for _, opts in ipairs { { tier = "interpreter" }, { tier = "native", threads = 2 },
      { tier = "interpreter", reproducible = true } } do
      local way = ways["(out, in)"]
      local f = compile(way, "bf16", "bf16", opts)
      local all = f(inputs(way, "bf16", "bf16", 70), { B = 70 }).y:totable()
      for _, rows in ipairs { 1, 2, 3, 7, 16, 17, 33 } do
        local some = f(inputs(way, "bf16", "bf16", rows), { B = rows }).y:totable()
        for i = 1, rows do assert.same(all[i], some[i]) end
      end
    end
  end)

  -- The processor's own products add pairs of terms; all others widen.
  it("is as near without the processor's products of pairs", function()
    local script = helper.script([[
      local tempo = require "tempo"
      local k, m, n = 700, 20, 24
      local function made(rows, step)
        local v = tempo.arange({ rows * k }, { dtype = "i64" }) * step % 257
        return ((v:to "f32" - 128) / 64):to "bf16":reshape { rows, k }
      end
      local a, b = made(m, 7919), made(n, 104729)
      local outputs = { y = a:to "f32":matmul(b:to "f32":mT()),
        exact = a:to "f64":matmul(b:to "f64":mT()) }
      local out = tempo.program():compile { outputs = outputs, tier = "interpreter" } ({}, {})
      local y, exact, most, size = out.y:totable(), out.exact:totable(), 0, 0
      for i = 1, m do
        for j = 1, n do
          most = math.max(most, math.abs(y[i][j] - exact[i][j]))
          size = math.max(size, math.abs(exact[i][j]))
        end
      end
      print(most <= 1e-6 * size)
    ]], nil, "export TEMPO_ISA=avx512; ")
    assert.equal("true\n", script)
  end)
end)

describe("an element of a product", function()
  for name, way in pairs(ways) do
    for _, dtype in ipairs { "bf16", "f16", ours and "f32" or nil } do
      it(("has the same bits for any number of rows: %s %s"):format(dtype, name), function()
        for _, opts in ipairs { { tier = "interpreter" }, { tier = "native", threads = 2 },
          { tier = "interpreter", reproducible = true } } do
          local f = compile(way, dtype, "f32", opts)
          local all = f(inputs(way, dtype, "f32", 70), { B = 70 }).y:totable()
          for _, rows in ipairs { 1, 2, 5, 16, 33 } do
            local some = f(inputs(way, dtype, "f32", rows), { B = rows }).y:totable()
            for i = 1, rows do assert.same(all[i], some[i]) end
          end
        end
      end)
    end
  end

  it("has them where weights have more lines, and terms, than go together", function()
    local SIDE, r = 1100, helper.rng(9)
    local function number() return r() / 4 end
    local rows, w = helper.fill({ 16, 1, SIDE }, number), helper.fill({ SIDE, SIDE }, number)
    for _, dtype in ipairs { "bf16", ours and "f32" or nil } do
      local P = tempo.program()
      local x = P:input("x", { domain = { (P:dim "b") }, shape = { 1, SIDE } })
      local y = x:matmul(P:input("w", { shape = { SIDE, SIDE }, dtype = dtype }):to "f32":mT())
      local f = P:compile { outputs = { y = y }, tier = "interpreter" }
      local weights, want = tempo.array(w, dtype), {}
      for i = 1, 16 do want[i] = f({ x = { rows[i] }, w = weights }, { B = 1 }).y:totable()[1] end
      for _, n in ipairs { 7, 16 } do
        local some = f({ x = { unpack(rows, 1, n) }, w = weights }, { B = n }).y:totable()
        for i = 1, n do assert.same(want[i], some[i]) end
      end
    end
  end)
end)

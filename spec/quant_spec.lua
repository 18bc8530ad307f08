-- Weights in blocks (docs/language.md, section 4): formats against the numbers of `gguf` and the
-- bytes of ggml's reference (spec/fixtures/make_blocks.py); products that read them as they are
-- stored against products by their numbers, in every tier.
local tempo = require "tempo"
local helper = require "spec.helper"
local fixtures = dofile "spec/fixtures/blocks.lua"

local function bytes(hex)
  return (hex:gsub("..", function(x) return string.char(tonumber(x, 16)) end))
end

local seed
local function random()
  seed = (seed * 16807) % 2147483647
  return seed / 2147483647 - 0.5
end
local function draw(...)
  local shape, n = { ... }, 1
  for _, extent in ipairs(shape) do n = n * extent end
  local a = tempo.array(0, "f32", { n })
  for i = 0, n - 1 do a:set(random(), i) end
  return tempo.array(a, "f32", shape)
end

local function flat(v, out)
  out = out or {}
  if type(v) ~= "table" then out[#out + 1] = v else for _, x in ipairs(v) do flat(x, out) end end
  return out
end

-- The largest difference, and the largest number of the second.
local function apart(got, want)
  local most, size = 0, 0
  got, want = flat(got:totable()), flat(want:totable())
  assert.equal(#want, #got)
  for i, w in ipairs(want) do
    most, size = math.max(most, math.abs(got[i] - w)), math.max(size, math.abs(w))
  end
  return most, size
end

-- 8 bits an activation: half a step of 1 in 127 of the largest of 32, over the root of many terms.
local near = { [false] = 0.02, [true] = 2e-6 }
local function same_product(got, want, precise, what)
  local most, size = apart(got, want)
  assert(most <= near[precise] * size, ("%s: %g of %g"):format(what, most, size))
end

describe("a format of weights in blocks", function()
  before_each(function() seed = 42 end)

  for _, f in ipairs(fixtures) do
    it(f.name .. " has gguf's numbers and ggml's bytes", function()
      local blocks = tempo.array(bytes(f.blocks), "u8", { 2, f.bytes })
      local numbers = tempo.array(bytes(f.numbers), "f32", { 2, f.elements })
      local given = tempo.array(bytes(f.given), "f32", { 3, f.elements })
      local made = tempo.array(bytes(f.made), "u8", { 3, f.bytes })
      assert.same(numbers:totable(), tempo.dequantize(blocks, f.name):totable())
      assert.same(made:totable(), tempo.quantize(given, f.name):totable())
      for _, tier in ipairs { "reference", "interpreter", "native" } do
        local P = tempo.program()
        local x = P:input("x", { shape = { 2, f.bytes }, dtype = "u8" })
        local g = P:compile { outputs = { y = x:dequantize(f.name) }, tier = tier }
        assert.same(numbers:totable(), g({ x = blocks }, {}).y:totable())
      end
    end)
  end

  it("says what is wrong", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 2, 35 }, dtype = "u8" })
    local function fails(what, f, ...)
      local ok, e = pcall(f, ...)
      assert(not ok and tostring(e):find(what), tostring(e))
    end
    fails("shape: .*34 bytes of a block of q8_0", x.dequantize, x, "q8_0")
    fails("option: .*no format of blocks 'q8'", x.dequantize, x, "q8")
    fails("dtype: .*u8", function() return x:to("f32"):dequantize "q8_0" end)
    local a = draw(2, 33)
    fails("shape: quantize: .*32 numbers of a block of q4_0", a.quantize, a, "q4_0")
    fails("dtype: quantize", function() return tempo.array({ 1 }, "i64"):quantize "q4_0" end)
    fails("dtype: dequantize", a.dequantize, a, "q4_0")
    fails("option: .*expected an array", tempo.quantize, 1, "q8_0")
    local y = P:input("y", { shape = { 2, 64 } })
    local w = P:input("w", { shape = { 3, 34 }, dtype = "u8" })
    fails("shape: .*inner sizes", function()
      return y:matmul(w:dequantize("q8_0"):transpose(0, 1))
    end)
  end)
end)

describe("a product by weights in blocks", function()
  before_each(function() seed = 7 end)

  -- One region reads the bytes, and none has the numbers.
  local function reads_blocks(g)
    local plan = g:explain "plan"
    assert(plan:find "op matmul_blocks" and not plan:find "op dequantize", plan)
  end

  for _, f in ipairs(fixtures) do
    it("of " .. f.name .. " is that by its numbers, the same for any number of rows", function()
      local K, N = f.elements == 32 and 736 or 768, 37
      local w = draw(N, K):quantize(f.name)
      local numbers = w:dequantize(f.name)
      local x, first = draw(33, K), {}
      for _, rows in ipairs { 1, 2, 3, 16, 33 } do
        for _, precise in ipairs { false, true } do
          local P = tempo.program()
          local a = P:input("a", { shape = { rows, K } })
          local b = P:input("b", { shape = { N, #w[0] }, dtype = "u8" })
          local c = P:input("c", { shape = { N, K } })
          local given = { b = w, c = numbers }
          given.a = tempo.array(0, "f32", { rows, K })
          for i = 0, rows - 1 do given.a[i]:copy_from(x[i]:copy_to()) end
          local y = a:matmul(b:dequantize(f.name):transpose(0, 1))
          local want = P:compile { outputs = { y = a:matmul(c:transpose(0, 1)) },
            tier = "reference" }(given, {}).y
          local all = { "reference", "interpreter", "native" }
          for _, tier in ipairs(rows == 3 and all or { "interpreter" }) do
            local g = P:compile { outputs = { y = y }, tier = tier, precise = precise }
            local got = g(given, {}).y
            same_product(got, want, precise or tier == "reference", f.name .. " " .. tier)
            if tier ~= "reference" then
              reads_blocks(g)
              first[precise] = first[precise] or got[0]:totable()
              assert.same(first[precise], got[0]:totable())
            end
          end
        end
      end
    end)
  end

  it("has the same bits of 8 bits on every instruction set", function()
    -- the kernels are chosen once in a process
    local script = [[
      local tempo = require "tempo"
      local s = 3
      local function r() s = s * 16807 % 2147483647; return s / 2147483647 - 0.5 end
      for _, f in ipairs { "q8_0", "q4_0", "q4_1", "q5_0", "q4_k", "q5_k", "q6_k" } do
        local w, x = tempo.array(0, "f32", { 5, 512 }), tempo.array(0, "f32", { 2, 512 })
        for k = 0, 511 do for i = 0, 4 do w:set(r(), i, k) end; x:set(r(), 0, k); x:set(r(), 1, k) end
        local P = tempo.program()
        local y = P:constant(x):matmul(P:constant(w:quantize(f)):dequantize(f):transpose(0, 1))
        local out = P:compile { outputs = { y = y }, tier = "interpreter" }({}, {}).y
        for i = 0, 1 do for j = 0, 4 do io.write(("%.9g "):format(out:get(i, j))) end end
      end]]
    local function run(isa)
      return helper.script(script, nil, ("export TEMPO_ISA=%s; "):format(isa))
    end
    local base = run "base"
    assert.equal(70, select(2, base:gsub("%S+", "")), base)
    assert.equal(base, run "avx2")
    assert.equal(base, run "avx512")
  end)

  it("reads rows, parts and experts that are picked", function()
    local E, N, K = 3, 6, 64
    local w = draw(E, N, K):quantize "q4_0"
    local which = tempo.array({ 2, 0 }, "i64")
    local function made(tier, options)
      local P = tempo.program()
      local b = P:input("w", { shape = { E, N, 36 }, dtype = "u8" }):dequantize "q4_0"
      local k = P:input("k", { shape = { 2 }, dtype = "i64" })
      local x = P:input("x", { shape = { 2, 4, K } })
      local v = P:input("v", { shape = { K, 3 } })
      options = options or {}
      options.tier = tier
      options.outputs = { experts = x:matmul(b:index_select(0, k):mT()),
        left = b:select(0, 1):matmul(v),
        rows = b:select(0, 0):index_select(0, k),
          part = v:mT():matmul(b:select(0, 2):slice(0, 1, 4):mT()) }
      return P:compile(options)
    end
    local given = { w = w, k = which, x = draw(2, 4, K), v = draw(K, 3) }
    local want = made "reference"(given, {})
    for _, tier in ipairs { "interpreter", "native" } do
      for _, precise in ipairs { false, true } do
        local f = made(tier, { precise = precise })
        local got = f(given, {})
        for _, name in ipairs { "experts", "left", "part" } do
          same_product(got[name], want[name], precise, name)
        end
        assert.same(want.rows:totable(), got.rows:totable())
        assert.equal(3, select(2, f:explain "plan":gsub("op matmul_blocks", "")))
        assert.equal(1, select(2, f:explain "plan":gsub("op dequantize", "")))
      end
    end
  end)

  it("is not exported, and says so", function()
    local P = tempo.program()
    local b = P:input("w", { shape = { 4, 34 }, dtype = "u8" })
    local x = P:input("x", { shape = { 1, 32 } })
    local f = P:compile { outputs = { y = x:matmul(b:dequantize("q8_0"):mT()) } }
    local ok, e = pcall(f.export, f, os.tmpname(), {})
    assert(not ok and tostring(e):find "option: .*tempo.dequantize", tostring(e))
  end)

  it("lets the gradient of its other operand through", function()
    local P = tempo.program()
    local b = P:input("w", { shape = { 4, 34 }, dtype = "u8" }):dequantize "q8_0"
    local x = P:input("x", { shape = { 1, 32 } })
    local dx = tempo.grad(x:matmul(b:mT()):sum(), x)
    local f = P:compile { outputs = { dx = dx, want = b:sum(0) }, tier = "interpreter" }
    local out = f({ w = draw(4, 32):quantize "q8_0" }, {})
    local most, size = apart(tempo.array(out.dx, "f32", { 32 }), out.want)
    assert(most <= 1e-6 * size)
  end)

  it("goes over layers, steps and threads", function()
    local L, K, N, T = 3, 64, 64, 5
    local w = draw(L, N, K):quantize "q8_0"
    local function chain(numbers, options)
      local P = tempo.program()
      local l, t = P:dims "l t"
      local x = P:input("x", { domain = { t }, shape = { 1, K } })
      local b = P:input("w", numbers and { domain = { l }, shape = { N, K } }
        or { domain = { l }, shape = { N, #w[0][0] }, dtype = "u8" })
      local m = numbers and b or b:dequantize "q8_0"
      local h = P:tensor { domain = { l, t }, shape = { 1, K } }
      h[{ 0, t }] = x
      h[{ l, t }] = (h + h:matmul(m:transpose(0, 1)))[{ l - 1, t }]:tanh()
      options.outputs = { y = h[{ l:upper() - 1, t }] }
      return P:compile(options)
    end
    local given, bounds = { x = draw(T, 1, K), w = w }, { L = L, T = T }
    local exact = chain(true, { tier = "reference" })(
      { x = given.x, w = w:dequantize "q8_0" }, bounds).y
    local one = chain(false, { tier = "interpreter" })(given, bounds).y
    same_product(one, exact, false, "layers")
    local precise = chain(false, { tier = "native", precise = true })
    same_product(precise(given, bounds).y, exact, true, "exact")
    local shared = chain(false, { tier = "native", threads = 2 })
    assert.same(one:totable(), shared(given, bounds).y:totable())
    local none = { x = draw(0, 1, K), w = w }
    assert.equal(0, #shared(none, { L = L, T = 0 }).y)
  end)
end)

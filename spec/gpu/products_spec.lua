-- Products of matrices on the emulated device: large ones by its library, which checks layouts
-- (spec/gpu/libcublas.c), others by kernels.
local helper = require "spec.helper"

if not helper.cuda() then
  print "left out: products on the emulated device: make gpu-emulator builds it"
  return
end

-- Says of each output whether the device has the interpreter's numbers, then how many products the
-- library made, and what copied.
local function run(dtype, tolerance, build, shapes, more)
  return helper.script(([=[
    local tempo = require "tempo"
    local helper = require "spec.helper"
    local P = tempo.program { dtype = %q }
    local shapes, bounds = %s, {}
    local function input(name, domain)
      local shape = shapes[name]
      return P:input(name, { domain = domain, shape = { shape[#shape - 1], shape[#shape] } })
    end
    local outputs = (function() %s end)()
    local inputs, r = {}, helper.rng(7)
    for name, shape in pairs(shapes) do
      inputs[name] = helper.array(helper.numbers(shape, function() return r() end), %q, shape)
    end
    local cpu = P:compile { outputs = outputs, tier = "interpreter", %s }
    local device = P:compile { outputs = outputs, device = "cuda", %s }
    local want, got, names = cpu(inputs, bounds), device(inputs, bounds), {}
    for name in pairs(outputs) do names[#names + 1] = name end
    table.sort(names)
    for _, name in ipairs(names) do
      local d = helper.differ(helper.plain(want[name]), helper.plain(got[name]), %g, name)
      print(name, d or "ok")
    end
    local n = 0
    for k in device:explain "kernels":gmatch "(%%d+) products by the library" do n = n + k end
    print("library", n)
    print(device:explain "kernels":match "on the host[^\n]*" or "all on the device")
  ]=]):format(dtype, shapes, build, dtype, more or "", more or "", tolerance), nil,
    helper.cuda())
end

local plain = [[
  local a, b = input "a", input "b"
  return { ab = a:matmul(b), turned = b:mT():matmul(a:mT()),
    left = a:mT():matmul(a), right = b:matmul(b:mT()) }]]
local batches = [[
  local t, T = P:dim "t"
  bounds.T = 3
  local x, v, w = input("x", { t }), input("v", { t }), input "w"
  return { shared = x:matmul(w), each = x:matmul(v:mT()),
    sum = x:mT():matmul(v)[0 .. T]:sum(0), turned = w:mT():matmul(x:mT()) }]]

describe("products on the emulated device", function()
  for dtype, tolerance in pairs { f32 = 2e-4, f64 = 1e-11 } do
    it("of " .. dtype .. " by the library: transposes, batches, sums over a dim", function()
      assert.equal("ab\tok\nleft\tok\nright\tok\nturned\tok\nlibrary\t4\nall on the device\n",
        run(dtype, tolerance, plain, "{ a = { 130, 140 }, b = { 140, 150 } }"))
      local said = run(dtype, tolerance, batches,
        "{ x = { 3, 128, 130 }, v = { 3, 128, 130 }, w = { 130, 128 } }")
      assert.equal(
        "each\tok\nshared\tok\nsum\tok\nturned\tok\nlibrary\t4\nall on the device\n", said)
    end)
  end

  it("of f16 and bf16 by the library, sums in f32; a sum over a dim is rounded once", function()
    local halves = [[
      local t, T = P:dim "t"
      bounds.T = 2
      local a, b, x = input "a", input "b", input("x", { t })
      return { ab = a:matmul(b), wide = a:to "f32":matmul(b:to "f32"),
        sum = x:mT():matmul(x)[0 .. T]:sum(0) }]]
    for dtype, tolerance in pairs { f16 = 0.25, bf16 = 1 } do
      assert.equal("ab\tok\nsum\tok\nwide\tok\nlibrary\t2\nall on the device\n", run(dtype,
        tolerance, halves, "{ a = { 130, 140 }, b = { 140, 150 }, x = { 2, 128, 130 } }"))
    end
  end)

  it("of fewer terms by tiles: edges, batches, few rows, few columns, sums over a dim", function()
    local small = "{ a = { 70, 66 }, b = { 66, 90 } }"
    assert.equal("ab\tok\nleft\tok\nright\tok\nturned\tok\nlibrary\t0\nall on the device\n",
      run("f64", 0, plain, small))
    local few = [[
      local t, T = P:dim "t"
      bounds.T = 3
      local x, w, v = input("x", { t }), input "w", input("v", { t })
      local m = P:tensor { domain = { t }, shape = { 20, 70 } }
      m[0] = v:matmul(w)
      m:otherwise(m[t - 1] * 0.5 + v:matmul(w))
      return { row = x:matmul(w:mT()), column = w:matmul(x:mT()),
        all = m, sum = v:mT():matmul(v)[0 .. T]:sum(0) }]]
    for dtype, tolerance in pairs { f32 = 2e-6, f16 = 2e-2 } do        -- the interpreter has lanes
      local said = run(dtype, tolerance, few,
        "{ x = { 3, 2, 70 }, w = { 90, 70 }, v = { 3, 20, 90 } }")
      assert.equal("all\tok\ncolumn\tok\nrow\tok\nsum\tok\nlibrary\t0\n",
        said:match "^.-library\t%d+\n", said)
    end
  end)
end)

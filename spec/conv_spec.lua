-- Convolution and pooling inside programs: what the fixtures of torch_spec.lua cannot show.
local tempo = require "tempo"
local helper = require "spec.helper"
local same, fails = helper.same, helper.fails

local function wave(shape, k)
  local n = 0
  return helper.fill(shape, function() n = n + 1; return math.sin(n * k) end)
end

-- y[o][i][j] of one image by the definition: stride s, padding p.
local function direct(x, w, s, p)
  local kh, kw = #w[1][1], #w[1][1][1]
  local function places(n, k) return math.floor((n + 2 * p - k) / s) + 1 end
  return helper.fill({ #w, places(#x[1], kh), places(#x[1][1], kw) }, function(o, i, j)
    local sum = 0
    for c = 1, #x do
      for a = 1, kh do
        for b = 1, kw do
          local row = x[c][i * s + a - p]
          sum = sum + (row and row[j * s + b - p] or 0) * w[o + 1][c][a][b]
        end
      end
    end
    return sum
  end)
end

describe("conv2d", function()
  it("runs over temporal dims, before and behind the batch", function()
    local P = tempo.program()
    local t, T = P:dim("t", "T")
    local x = P:input("x", { domain = { t }, shape = { 2, 5, 6 } })
    local w = P:input("w", { shape = { 3, 2, 3, 3 } })
    local each = x:conv2d(w, { stride = 2, padding = 1 })              -- (C, H, W) at every point
    -- (T, C, H, W) at once
    local all = x[tempo.range(0, T)]:conv2d(w, { stride = 2, padding = 1 })
    -- a batch that grows
    local last = x[tempo.range(tempo.max(0, t - 1), t + 1)]:conv2d(w):sum(0)
    local g = tempo.grad(each:square():sum(), { x, w })
    local xs, ws = wave({ 3, 2, 5, 6 }, 1), wave({ 3, 2, 3, 3 }, 2)
    local out = helper.run(P, { each = each, all = all, last = last, gx = g[1], gw = g[2] },
      { x = xs, w = ws }, { T = 3 })
    local want = {}
    for k = 1, 3 do want[k] = direct(xs[k], ws, 2, 1) end
    same(want, out.each)
    same(want, out.all)
    same(direct(xs[1], ws, 1, 0), out.last[1])
    -- a difference quotient of the loss by one weight
    local h = 1e-3
    local function loss(d)
      local sum, old = 0, ws[2][1][3][2]
      ws[2][1][3][2] = old + d
      for k = 1, 3 do
        for _, plane in ipairs(direct(xs[k], ws, 2, 1)) do
          for _, row in ipairs(plane) do for _, v in ipairs(row) do sum = sum + v * v end end
        end
      end
      ws[2][1][3][2] = old
      return sum
    end
    same((loss(h) - loss(-h)) / (2 * h), out.gw[2][1][3][2], 1e-4)
  end)

  it("has weights that vary over a dim", function()
    local P = tempo.program()
    local b = P:dim("b", "B")
    local x = P:input("x", { domain = { b }, shape = { 2, 4, 4 } })
    local w = P:input("w", { domain = { b }, shape = { 1, 2, 3, 3 } })
    local xs, ws = wave({ 2, 2, 4, 4 }, 1), wave({ 2, 1, 2, 3, 3 }, 3)
    local y = helper.value(P, x:conv2d(w, { padding = 1 }), { x = xs, w = ws }, { B = 2 })
    same({ direct(xs[1], ws[1], 1, 1), direct(xs[2], ws[2], 1, 1) }, y)
  end)

  it("is a step of a recurrence", function()
    local P = tempo.program()
    local t = P:dim("t", "T")
    local w = P:input("w", { shape = { 1, 1, 3, 3 } })
    local h = P:tensor { domain = { t }, shape = { 1, 4, 4 } }
    h[0] = P:input("x", { shape = { 1, 4, 4 } })
    h[t] = h[t - 1]:conv2d(w, { padding = "same" }) * 0.5
    local g = tempo.grad(h:square():sum(), { w })
    local xs, ws = wave({ 1, 4, 4 }, 1), wave({ 1, 1, 3, 3 }, 2)
    local out = helper.run(P, { h = h, g = g[1] }, { x = xs, w = ws }, { T = 4 })
    local want = xs
    for k = 1, 4 do
      same(want, out.h[k])
      want = direct(want, ws, 1, 1)
      for _, row in ipairs(want[1]) do for j = 1, #row do row[j] = row[j] * 0.5 end end
    end
    assert.equal(3, #out.g[1][1])
  end)

  it("takes symbolic extents, and checks them at the call", function()
    local P = tempo.program()
    local N, H = P:bound "N", P:bound "H"
    local x = P:input("x", { shape = { N, 2, H, 6 } })
    local w = P:input("w", { shape = { 3, 2, 3, 2 } })
    local y = x:conv2d(w, { stride = 2 })
    assert.equal("(H + 1)//2 - 1", tostring(y:shape()[3]))
    local f = P:compile { outputs = { y = y } }
    local ws = wave({ 3, 2, 3, 2 }, 2)
    for _, h in ipairs { 3, 4, 7 } do
      local xs = wave({ 2, 2, h, 6 }, 1)
      same({ direct(xs[1], ws, 2, 0), direct(xs[2], ws, 2, 0) },
        f({ x = xs, w = ws }, { N = 2, H = h }).y)
    end
    assert.same({ 0, 3, 2, 3 },
      f({ x = tempo.array({}, "f32", { 0, 2, 5, 6 }), w = ws }, { N = 0, H = 5 }).y:shape())
    fails(function() f({ x = wave({ 1, 2, 2, 6 }, 1), w = ws }, { N = 1, H = 2 }) end, "shape:")
  end)

  it("computes 16-bit floats in f32 and rounds once", function()
    for _, d in ipairs { "f16", "bf16" } do
      local P = tempo.program()
      local x = P:input("x", { shape = { 2, 5, 5 }, dtype = d })
      local w, b = P:input("w", { shape = { 3, 2, 3, 3 }, dtype = d }),
        P:input("b", { shape = { 3 }, dtype = d })
      local y = x:conv2d(w, b)
      local wide = x:to "f32":conv2d(w:to "f32", b:to "f32"):to(d)
      assert.equal(d, y:dtype())
      local g = tempo.grad(y:to "f32":square():sum(), { w })[1]
      assert.equal(d, g:dtype())
      local out = helper.run(P, { y = y:to "f32", wide = wide:to "f32", g = g:to "f32" },
        { x = wave({ 2, 5, 5 }, 1), w = wave({ 3, 2, 3, 3 }, 2), b = { 1, 2, 3 } }, nil,
          { tol = 2e-2 })
      same(out.wide, out.y, 2e-2)
    end
  end)

  it("explains what does not fit", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 2, 3, 6, 6 } })
    local w = P:input("w", { shape = { 4, 3, 3, 3 } })
    fails(function()
      x:conv2d(P:input("v", { shape = { 4, 2, 3, 3 } }))
    end, "shape:", "x has 3 channels", "wants 2")
    fails(function() x:conv2d(w, { dilation = 3 }) end, "shape:", "reaches over 7", "axis 0 has 6")
    fails(function() x:conv2d(w, { padding = "sane" }) end, "option:", '"same" or "valid"')
    fails(function() x:conv2d(w, { padding = "same", stride = 2 }) end, "option:", "stride 1")
    fails(function() x:conv2d(w, { stride = 0 }) end, "option:", "stride is 0")
    fails(function() x:conv2d(w, { stride = { 1, 1, 1 } }) end, "option:", "a table of 2, not of 3")
    fails(function() x:conv2d(w, { groups = 2 }) end, "shape:", "groups = 2 wants 6")
    fails(function()
      x:conv2d(w, P:input("b", { shape = { 3 } }))
    end, "shape:", "bias must have shape (4)")
    fails(function() x:conv1d(w) end, "shape:", "weight has 4 axes, must have 3")
    fails(function()
      x:select(0, 0):select(0, 0):conv2d(w)
    end, "shape:", "x has 2 axes, must have 3")
    fails(function() x:conv2d(w, { strides = 2 }) end, "option:", "stride")
    fails(function() x:max_pool2d(2, { padding = 2 }) end, "option:", "at most half")
    fails(function() x:max_pool2d(9) end, "shape:", "reaches over 9")
    fails(function()
      x:conv_transpose2d(P:input("u", { shape = { 3, 1, 2, 2 } }), { output_padding = 1 })
    end, "option:", "less than the stride")
  end)
end)

describe("max_pool2d", function()
  it("gives ties to the first of a window, and padding never wins", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 1, 4, 4 } })
    local y = x:max_pool2d(3, { stride = 2, padding = 1 })
    local g = tempo.grad(y:sum(), { x })[1]
    local xs = { { { -1, -1, -1, -1 }, { -1, -1, -1, -1 }, { -1, -1, -3, -3 },
      { -1, -1, -3, -3 } } }
    local out = helper.run(P, { y = y, g = g }, { x = xs })
    same({ { { -1, -1 }, { -1, -1 } } }, out.y)
    same({ { { 1, 1, 0, 0 }, { 1, 1, 0, 0 }, { 0, 0, 0, 0 }, { 0, 0, 0, 0 } } }, out.g)
  end)

  it("pools integers", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 1, 3, 3 }, dtype = "i32" })
    same({ { { -5, -3 }, { -8, -6 } } },
      helper.value(P, x:max_pool2d(2, { stride = 2, padding = 1 }),
      { x = { { { -5, -4, -3 }, { -9, -8, -7 }, { -8, -8, -6 } } } }))
  end)

  it("pools over symbolic extents with ceil_mode", function()
    local P = tempo.program()
    local H = P:bound "H"
    local x = P:input("x", { shape = { 1, H, 4 } })
    local f = P:compile { outputs = { y = x:max_pool2d({ 3, 2 }, { ceil_mode = true }),
      a = x:avg_pool2d({ 3, 2 }, { ceil_mode = true }) } }
    for h, rows in pairs { [3] = 1, [4] = 2, [6] = 2, [7] = 3 } do
      local out = f({ x = wave({ 1, h, 4 }, 1) }, { H = h })
      assert.same({ 1, rows, 2 }, out.y:shape())
      local last = 0
      for i = (rows - 1) * 3 + 1, h do
        last = last + math.sin((i - 1) * 4 + 1) + math.sin((i - 1) * 4 + 2)
      end
      same(last / (2 * (h - (rows - 1) * 3)), out.a:totable()[1][rows][1])
    end
  end)
end)

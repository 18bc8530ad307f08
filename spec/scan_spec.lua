-- tempo.associative_scan: prefixes by plain Lua, along axes and dims, of one tensor and of several,
-- with gradients.
local tempo = require "tempo"
local helper = require "spec.helper"

local function prefixes(fn, x, reverse)
  local y, n = {}, #x
  for k = 1, n do
    local i = reverse and n + 1 - k or k
    y[i] = k == 1 and x[i] or fn(y[reverse and i + 1 or i - 1], x[i])
  end
  return y
end

local function add(a, b) return a + b end
local function compose(f, g) return { a = f.a * g.a, b = f.b * g.a + g.b } end

describe("an associative scan", function()
  local r = helper.rng(3)
  for _, n in ipairs { 1, 2, 3, 4, 5, 8, 13, 64, 100 } do
    for _, reverse in ipairs { false, true } do
      it(("of %d elements%s is the loop's"):format(n, reverse and " from the end" or ""), function()
        local x, a, both, linear = {}, {}, {}, {}
        for k = 1, n do
          x[k], a[k] = r(), r()
          both[k] = { a = a[k], b = x[k] }
        end
        for k, p in ipairs(prefixes(compose, both, reverse)) do linear[k] = p.b end
        local P = tempo.program()
        local t = P:dim "t"
        local function given(name)
          return P:input(name, { shape = { n }, dtype = "f64" }),
            P:input(name .. "t", { domain = { t }, dtype = "f64" })
        end
        local X, Xt = given "x"
        local A, At = given "a"
        local by_axis, by_dim = { reverse = reverse }, { reverse = reverse, dim = t }
        local y = helper.run(P, {
          sum = tempo.associative_scan(add, X, by_axis),
            sum_t = tempo.associative_scan(add, Xt, by_dim),
          linear = tempo.associative_scan(compose, { a = A, b = X }, by_axis).b,
          linear_t = tempo.associative_scan(compose, { a = At, b = Xt }, by_dim).b,
        }, { x = x, a = a, xt = x, at = a }, { T = n }, { tol = 1e-12 })
        local sums = prefixes(add, x, reverse)
        for _, name in ipairs { "sum", "sum_t" } do helper.same(sums, y[name], 1e-12) end
        for _, name in ipairs { "linear", "linear_t" } do helper.same(linear, y[name], 1e-12) end
      end)
    end
  end

  it("combines matrices, an axis among others, lists", function()
    local P = tempo.program()
    local m, n = helper.random(r, { 6, 2, 2 }, "f64"), helper.random(r, { 3, 7 }, "f64")
    local M, N = P:input("m", { shape = { 6, 2, 2 }, dtype = "f64" }),
      P:input("n", { shape = { 3, 7 }, dtype = "f64" })
    local largest = tempo.associative_scan(function(a, b)
      return { a[1]:maximum(b[1]), a[2] + b[2] }
    end, { N, N }, { axis = -1 })
    local y = helper.run(P,
      { m = tempo.associative_scan(function(a, b) return a:matmul(b) end, M), most = largest[1],
      sum = largest[2] - N:cumsum(1) }, { m = m, n = n }, {}, { tol = 1e-12 })
    local products = prefixes(function(a, b)
      local c = { {}, {} }
      for i = 1, 2 do
        for j = 1, 2 do c[i][j] = a[i][1] * b[1][j] + a[i][2] * b[2][j] end
      end
      return c
    end, helper.plain(m))
    helper.same(products, y.m, 1e-12)
    for k, row in ipairs(helper.plain(n)) do
      helper.same(prefixes(math.max, row), y.most[k], 1e-12)
    end
    for _, row in ipairs(y.sum) do
      for _, v in ipairs(row) do assert.is_true(math.abs(v) < 1e-12) end
    end
  end)

  it("is differentiated: along an axis and a dim alike", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local n = 9
    local x, a = helper.random(r, { n }, "f64"), helper.random(r, { n }, "f64")
    local function gradient(X, A, o, all)
      return tempo.grad(all(tempo.associative_scan(compose, { a = A, b = X }, o).b:square()),
        { X, A })
    end
    local by_axis = gradient(P:input("x", { shape = { n }, dtype = "f64" }),
      P:input("a", { shape = { n }, dtype = "f64" }), nil, function(y) return y:sum() end)
    local by_dim = gradient(P:input("xt", { domain = { t }, dtype = "f64" }),
      P:input("at", { domain = { t }, dtype = "f64" }), { dim = t },
      function(y) return y[tempo.range(0, T)]:sum(0) end)
    local y = helper.run(P, { x = by_axis[1], a = by_axis[2], xt = by_dim[1], at = by_dim[2] },
      { x = x, a = a, xt = x, at = a }, { T = n }, { tol = 1e-12 })
    helper.same(y.xt, y.x, 1e-12)
    helper.same(y.at, y.a, 1e-12)
    assert.is_true(math.abs(y.x[1]) > 1e-9)
  end)

  it("refuses what it cannot scan", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x, y = P:constant { 1, 2, 3 }, P:constant { 1, 2 }
    local over = P:input("x", { domain = { t } })
    local function fails(fn, what, o, ...)
      helper.fails(function() tempo.associative_scan(fn, what, o) end, ...)
    end
    fails(1, x, nil, "option", "expected a function first")
    fails(add, 1, nil, "option", "expected a tensor or a table of tensors")
    fails(add, {}, nil, "option", "without tensors")
    fails(add, { x, "y" }, nil, "option", "'2'", "got a string")
    fails(add, x, { axes = 0 }, "option", "did you mean 'axis'?")
    fails(add, x, { axis = 0, dim = t }, "option", "not both")
    fails(add, x, { axis = 1 }, "shape", "axis 1 of a tensor with 1 axes")
    fails(add, { x, y }, nil, "shape", "3 elements", "2")
    fails(add, over[tempo.range(0, T)], nil, "shape", "{ dim = t }")
    fails(add, x, { dim = t }, "domain", "varies with t")
    fails(function() return 1 end, x, nil, "option", "what the function gives")
    fails(function(a) return { a[1] } end, { x, x }, nil, "option", "gives 1 tensors of 2")
    fails(function(a, b)
      return { a = a.a, c = b.b }
    end, { a = x, b = x }, nil, "option", "gives 'c', which is none")
    for _, o in ipairs { { x }, { over, dim = t } } do
      fails(function(a) return a:unsqueeze(0) end, o[1], { dim = o.dim }, "shape",
        "what the function gives has the shape (1")
      fails(function(a) return a:to "f64" end, o[1], { dim = o.dim }, "dtype",
        "what the function gives is f64, what it takes f32")
    end
    fails(function(a)
      return { a = a.a, b = a.b:sum() }
    end, { a = x, b = x }, nil, "shape", "as 'b' has the shape ()")
  end)
end)

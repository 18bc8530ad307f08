-- Reductions and copies along each axis of matrices that lie in every way: plain, turned, with
-- steps, backwards, moved by a dim. Sizes lie about those of blocks (1024), squares (32) and lanes
-- (32). The expected results are counted here; all numbers are whole, so it is exact.
local tempo = require "tempo"
local helper = require "spec.helper"

-- Numbers of matrix `m` at row i, column j, both from 0; ties are many, and so few factors are not
-- 1 that products are exact.
local function entry(dtype, m, i, j)
  local h = (i * 7919 + j * 104729 + m * 31) % 1009
  if dtype == "bool" then return h % 5 ~= 0 end
  if dtype == "u8" then return h % 251 end
  return h % 41 - 20
end

local function factor(_, m, i, j)
  return ((i * 53 + j * 101 + m) % 37 == 0 and i < 20 and j < 20) and -2 or 1
end

local function truth(v) return v ~= 0 and v ~= false end

local function number(v) return v == true and 1 or v == false and 0 or v end

local function best(line, better)
  local at = 1
  for k = 2, #line do
    local v, x = number(line[k]), number(line[at])
    if x == x and (v ~= v or better(v, x)) then at = k end
  end
  return at
end

local function above(a, b) return a > b end
local function below(a, b) return a < b end

local folds = {
  sum = function(line) local s = 0 for _, v in ipairs(line) do s = s + number(v) end return s end,
  prod = function(line) local p = 1 for _, v in ipairs(line) do p = p * number(v) end return p end,
  max = function(line) return line[best(line, above)] end,
  min = function(line) return line[best(line, below)] end,
  argmax = function(line) return best(line, above) - 1 end,
  argmin = function(line) return best(line, below) - 1 end,
  any = function(line)
    for _, v in ipairs(line) do if truth(v) then return true end end return false
  end,
  all = function(line)
    for _, v in ipairs(line) do if not truth(v) then return false end end return true
  end,
}

-- Rows, columns and a function of both: a matrix that is not there.
local function matrix(rows, columns, at) return { rows = rows, columns = columns, at = at } end

local function line(m, axis, k)
  local l = {}
  for i = 0, (axis == 0 and m.rows or m.columns) - 1 do
    if axis == 0 then l[i + 1] = m.at(i, k) else l[i + 1] = m.at(k, i) end
  end
  return l
end

local function lines(m, axis)
  local t = {}
  for k = 0, (axis == 0 and m.columns or m.rows) - 1 do t[k + 1] = line(m, axis, k) end
  return t
end

local function folded(m, axis, f)
  local t = lines(m, axis)
  for k, l in ipairs(t) do t[k] = f(l) end
  return t
end

-- Ways to look at a matrix: of the tensor, and of its numbers.
local views = {
  { "plain", function(x) return x end, function(m) return m end },
  { "turned", function(x) return x:transpose(0, 1) end,
    function(m) return matrix(m.columns, m.rows, function(i, j) return m.at(j, i) end) end },
  { "backwards", function(x) return x:flip(1) end,
    function(m)
      return matrix(m.rows, m.columns, function(i, j) return m.at(i, m.columns - 1 - j) end)
    end },
  { "upside down and turned", function(x) return x:flip(0):transpose(0, 1) end,
    function(m)
      return matrix(m.columns, m.rows, function(i, j) return m.at(m.rows - 1 - j, i) end)
    end },
  { "every second row", function(x, rows) return x:slice(0, 0, rows, 2) end,
    function(m)
      return matrix(math.ceil(m.rows / 2), m.columns, function(i, j) return m.at(2 * i, j) end)
    end },
  { "every third column, turned", function(x, _, columns)
    return x:slice(1, 0, columns, 3):transpose(0, 1)
  end, function(m)
  return matrix(math.ceil(m.columns / 3), m.rows, function(i, j) return m.at(j, 3 * i) end) end },
}

local function names_of(dtype, of_factors)
  if of_factors then return { "prod" } end
  if dtype == "bool" then return { "sum", "any", "all", "max", "min", "argmax", "argmin" } end
  return { "sum", "max", "min", "argmax", "argmin", "any", "all" }
end

-- Every reduction over either axis of `view` of x, and a copy of it; what they must be, by the same
-- names.
local function ask(outputs, want, x, m, dtype, of_factors)
  for _, name in ipairs(names_of(dtype, of_factors)) do
    local of = x
    if (name == "any" or name == "all") and dtype ~= "bool" then of = x:ne(0) end
    for axis = 0, 1 do
      local key = name .. axis
      outputs[key] = of[name](of, axis)
      want[key] = folded(m, axis, folds[name])
    end
  end
  outputs.copy, want.copy = x, lines(m, 1)
  outputs.turned, want.turned = x:transpose(0, 1), lines(m, 0)
  outputs.ones, want.ones = x:transpose(0, 1):to "f64":eq(1), {}
  for k, l in ipairs(want.turned) do
    want.ones[k] = {}
    for i, v in ipairs(l) do want.ones[k][i] = number(v) == 1 end
  end
end

local function check(dtype, rows, columns, view, of_factors)
  local at = of_factors and factor or entry
  local m = matrix(rows, columns, function(i, j) return at(dtype, 0, i, j) end)
  local P, outputs, want = tempo.program(), {}, {}
  local x = P:input("x", { shape = { rows, columns }, dtype = dtype })
  ask(outputs, want, view[2](x, rows, columns), view[3](m), dtype, of_factors)
  local got = helper.run(P, outputs, { x = tempo.array(lines(m, 1), dtype) }, {}, { tol = 0 })
  for key, w in pairs(want) do
    local ok, why = pcall(helper.same, w, got[key], 0)
    if not ok then
      error(("%s of %s %dx%d, %s: %s"):format(key, dtype, rows, columns, view[1], why), 0)
    end
  end
end

describe("reductions and copies over each axis", function()
  for _, dtype in ipairs { "f32", "f64", "i64", "i32", "u8", "bool", "f16" } do
    it("of " .. dtype .. " in every way to look at a matrix", function()
      for _, view in ipairs(views) do
        check(dtype, 33, 67, view)
        if dtype ~= "u8" and dtype ~= "bool" then check(dtype, 65, 35, view, true) end
      end
    end)
  end

  it("of rows and columns about a block, a square and a lane", function()
    for _, size in ipairs { { 1, 1 }, { 1, 31 }, { 32, 1 }, { 2, 1025 }, { 1025, 2 }, { 31, 33 },
      { 64, 32 }, { 40, 1057 }, { 1057, 40 } } do
      for k = 1, 2 do
        check("f32", size[1], size[2], views[k])
        if size[1] * size[2] < 40000 then check("f64", size[1], size[2], views[k]) end
      end
    end
  end)

  it("finds a NaN, and the first one, wherever it lies", function()
    local nan = 0 / 0
    for _, size in ipairs { { 37, 70 }, { 70, 37 }, { 1, 97 } } do
      for _, view in ipairs(views) do
        local m = matrix(size[1], size[2], function(i, j)
          return (i * 29 + j * 17) % 83 == 5 and nan or entry("f32", 1, i, j)
        end)
        local P, outputs, want = tempo.program(), {}, {}
        local x = P:input("x", { shape = size })
        local seen, is = view[2](x, size[1], size[2]), view[3](m)
        for _, name in ipairs { "max", "min", "argmax", "argmin" } do
          for axis = 0, 1 do
            outputs[name .. axis], want[name .. axis] = seen[name](seen, axis),
              folded(is, axis, folds[name])
          end
        end
        local got = helper.run(P, outputs, { x = lines(m, 1) }, {}, { tol = 0 })
        for key, w in pairs(want) do helper.same(w, got[key], 0) end
      end
    end
  end)

  it("of views that a dim moves, and over that dim", function()
    local R, C, T = 9, 40, 33
    for _, dtype in ipairs { "f32", "f64", "i64" } do
      local P = tempo.program()
      local t, bound = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { R, C }, dtype = dtype })
      local w = P:input("w", { shape = { R, C }, dtype = dtype })
      local seen = {                                   -- by t: rows, columns and the number at each
        columns = { w:narrow(1, t, 7), function(k)
          return matrix(R, 7, function(i, j) return entry(dtype, 0, i, k + j) end)
        end },
        turned = { w:narrow(1, t, 7):transpose(0, 1), function(k)
          return matrix(7, R, function(i, j) return entry(dtype, 0, j, k + i) end)
        end },
        here = { x, function(k)
          return matrix(R, C, function(i, j) return entry(dtype, k, i, j) end)
        end },
        row = { x[0 .. bound]:select(1, tempo.mod(t, R)), function(k)
          return matrix(T, C, function(i, j) return entry(dtype, i, k % R, j) end) end },
        column = { x[0 .. bound]:select(2, t), function(k)
          return matrix(T, R, function(i, j) return entry(dtype, i, j, k) end)
        end },
      }
      local outputs, want, data = {}, {}, {}
      for key, v in pairs(seen) do
        for _, name in ipairs { "sum", "max", "argmin" } do
          for axis = 0, 1 do
            local w_ = {}
            for k = 0, T - 1 do w_[k + 1] = folded(v[2](k), axis, folds[name]) end
            outputs[key .. name .. axis], want[key .. name .. axis] = v[1][name](v[1], axis), w_
          end
        end
      end
      for k = 0, T - 1 do data[k + 1] = lines(seen.here[2](k), 1) end
      local inputs = { x = data, w = lines(matrix(R, C, function(i, j)
        return entry(dtype, 0, i, j)
      end), 1) }
      for _, passes in ipairs { "all", "none" } do
        local got = helper.run(P, outputs, inputs, { T = T },
          { tol = 0, compile = { passes = passes } })
        for key, is in pairs(want) do
          local ok, why = pcall(helper.same, is, got[key], 0)
          if not ok then error(("%s of %s: %s"):format(key, dtype, why), 0) end
        end
      end
    end
  end)

  -- One NaN a row, at each place in turn: in every lane, before and behind the seam of lanes, of
  -- parts, and in what is left over.
  it("has a NaN for the most and the least of what has one, wherever it stands", function()
    for _, tier in ipairs { "interpreter", "native" } do
      for _, n in ipairs { 1, 31, 33, 100, 1024 + 64 + 3 } do
        local P = tempo.program()
        local x = P:input("x", { shape = { n + 1, n } })
        local f = P:compile { outputs = { most = x:max(-1), least = x:min(-1), down = x:max(0) },
          tier = tier }
        local rows = {}
        for i = 1, n + 1 do
          rows[i] = {}
          for j = 1, n do
            rows[i][j] = i == j and 0 / 0 or i > n and math.huge or (i * 7 + j * 13) % 17 - 8
          end
        end
        local r = f { x = rows }
        local most, least, down = r.most:totable(), r.least:totable(), r.down:totable()
        for i = 1, n do
          assert(most[i] ~= most[i] and least[i] ~= least[i] and down[i] ~= down[i],
            tier .. " " .. n .. " " .. i)
        end
        assert.equal(math.huge, most[n + 1])
        assert.equal(math.huge, least[n + 1])
      end
    end
  end)
end)

-- Sums of a dim are kept in f64: one after the other down the columns; along a row in 32 lanes,
-- which are joined by halves after 1,024 numbers.
describe("sums of f32 over a dim", function()
  local rows, columns = 19, 2087
  local function value(i, j)
    return tempo.array({ ((i * 7919 + j * 104729) % 1009 - 300) / 7 }, "f32"):get(0)
  end
  local x = {}
  for i = 1, rows do
    x[i] = {}
    for j = 1, columns do x[i][j] = value(i, j) end
  end

  local function along(row)
    local sum, at = 0, 0
    while #row - at >= 32 do
      local part, last = {}, math.min(at + 1024, at + math.floor((#row - at) / 32) * 32)
      for k = 0, 31 do part[k] = 0 end
      for k = at, last - 1 do part[k % 32] = part[k % 32] + row[k + 1] end
      for _, half in ipairs { 16, 8, 4, 2, 1 } do
        for k = 0, half - 1 do part[k] = part[k] + part[k + half] end
      end
      sum, at = sum + part[0], last
    end
    for k = at + 1, #row do sum = sum + row[k] end
    return sum
  end

  local function down(j)
    local sum = 0
    for i = 1, rows do sum = sum + x[i][j] end
    return sum
  end

  it("have the bits of sums in f64", function()
    local P = tempo.program()
    local a, A = P:dim "a"
    local b, B = P:dim "b"
    local v = P:input("x", { domain = { a, b } })
    local f = P:compile { outputs = { down = v[{ a = 0 .. A }]:sum(0),
      along = v[{ b = 0 .. B }]:sum(0) }, tier = "interpreter" }
    local got = f({ x = tempo.array(x, "f32") }, { A = rows, B = columns })
    local want_down, want_along = {}, {}
    for j = 1, columns do want_down[j] = down(j) end
    for i = 1, rows do want_along[i] = along(x[i]) end
    assert.same(tempo.array(want_down, "f32"):totable(), got.down:totable())
    assert.same(tempo.array(want_along, "f32"):totable(), got.along:totable())
  end)
end)

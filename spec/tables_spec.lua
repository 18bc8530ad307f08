-- Tables that data changes, tables over two dims with their best cell, and rows of a few numbers:
-- what native code makes of them against counts in plain Lua, or against the reference.
local helper = require "spec.helper"
local tempo = require "tempo"

local tiers = { "interpreter", "native" }

local function each(P, outputs, inputs, bounds, look)
  for _, tier in ipairs(tiers) do
    look(P:compile { outputs = outputs, tier = tier }(inputs, bounds), tier)
  end
end

local function whole(rng, n, most)
  local t = {}
  for k = 1, n do t[k] = math.floor(math.abs(rng()) * most) end
  return t
end

describe("a table that is changed under another shape", function()
  it("is changed right as tensor and as parameter, in place as tensor", function()
    local T, rng = 40, helper.rng(3)
    local rows, columns = whole(rng, T * 6, 5), whole(rng, T * 6, 7)
    for _, kind in ipairs { "tensor", "parameter" } do
      local P = tempo.program()
      local t, last = P:dim "t"
      local i = P:input("i", { domain = { t }, shape = { 6 }, dtype = "i64" })
      local j = P:input("j", { domain = { t }, shape = { 6 }, dtype = "i64" })
      local q
      if kind == "tensor" then
        q = P:tensor { domain = { t }, shape = { 5, 7 } }
        q[0] = tempo.zeros { 5, 7 }
        q[t] = q[t - 1]:flatten():scatter_add(0, i * 7 + j, tempo.ones { 6 }):reshape { 5, 7 }
      else
        q = P:param("q", { along = { t }, shape = { 5, 7 }, init = tempo.zeros { 5, 7 } })
        q:update(q:flatten():scatter_add(0, i * 7 + j, tempo.ones { 6 }):reshape { 5, 7 })
      end
      local count, row = {}, {}
      for s = kind == "tensor" and 1 or 0, kind == "tensor" and T - 1 or T - 2 do
        for k = 1, 6 do
          local a, b = rows[s * 6 + k], columns[s * 6 + k]
          count[a * 7 + b] = (count[a * 7 + b] or 0) + 1
        end
      end
      for a = 0, 4 do
        row[a + 1] = 0
        for b = 0, 6 do row[a + 1] = row[a + 1] + (count[a * 7 + b] or 0) end
      end
      local outputs = { q = q[last - 1], y = q[last - 1]:sum(1), all = q[0 .. last]:sum(0):sum() }
      local inputs = { i = tempo.array(rows, "i64", { T, 6 }),
        j = tempo.array(columns, "i64", { T, 6 }) }
      each(P, outputs, inputs, { T = T }, function(out, tier)
        for a = 0, 4 do
          for b = 0, 6 do assert.equal(count[a * 7 + b] or 0, out.q:get(a, b), tier) end
        end
        assert.same(row, out.y:totable())
      end)
      helper.compile(P, outputs)(inputs, { T = T })
      local plan = P:compile { outputs = outputs, tier = "interpreter" }:explain "plan"
      local to, from = plan:match "op scatter_add out (b%d+){.- in (b%d+){"
      if kind == "tensor" then assert.equal(to, from) end
    end
  end)

  it("adds what goes to one place in order and once rounded, many hits or few", function()
    local rng = helper.rng(5)
    for _, n in ipairs { 3, 70, 600 } do
      for _, places in ipairs { 2, 150, 5000 } do
        local at, v = whole(rng, n, places), {}
        for k = 1, n do v[k] = k % 5 == 0 and 2 ^ 24 or rng() end
        for _, dtype in ipairs { "f32", "bf16" } do
          local P = tempo.program()
          local k = P:input("k", { shape = { n }, dtype = "i64" })
          local x = P:input("x", { shape = { n }, dtype = dtype })
          local base = tempo.ones({ places }, { dtype = dtype })
          local function wide(y, width) return y:unsqueeze(1):expand { -1, width } end
          helper.compile(P, { y = base:scatter_add(0, k, x),
            z = wide(base, 3):scatter_add(0, wide(k, 3), wide(x, 3)),
            w = wide(base, 4):scatter_add(0, wide(k, 4), wide(x, 4)) },
            { tol = 0 })({ k = tempo.array(at, "i64"), x = tempo.array(v, dtype) }, {})
        end
      end
    end
  end)

  it("keeps numbers that look like the marks of hits", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 6 } })
    local bytes = {}
    for k = 0, 5 do bytes[k + 1] = string.char(k % 2, 0, 0xa0, 0x7f) end      -- NaNs
    each(P, { y = x:scatter_add(0, P:constant(tempo.array({ 1, 1, 3 }, "i64")), tempo.ones { 3 }) },
      { x = tempo.array(table.concat(bytes), "f32", { 6 }) }, {}, function(out)
        for k = 0, 5 do assert.is_true(out.y:get(k) ~= out.y:get(k)) end
      end)
  end)
end)

describe("a table over two dims", function()
  it("gives its greatest and least cell, whatever its sizes and dtype", function()
    for k, dtype in ipairs { "f32", "i32", "f64", "f32" } do
      local P = tempo.program()
      local i, I = P:dim "i"
      local j, J = P:dim "j"
      local a, b = P:input("a", { domain = { i }, dtype = "i64" }),
        P:input("b", { domain = { j }, dtype = "i64" })
      local h = P:tensor { domain = { i, j }, dtype = dtype }
      local s = tempo.where(a:eq(b), 2, -1):to(dtype)
      h[k == 4 and { i = 0 } or { j = 0 }] = s
      h[k == 4 and { j = 0 } or { i = 0 }] = s
      h:otherwise((h[{ i = i - 1, j = j - 1 }] + s):maximum(h[{ i = i - 1 }] - 1)
        :maximum(h[{ j = j - 1 }] - 1):clamp(-3, 1e6))
      local outputs = { most = h[{ i = 0 .. I, j = 0 .. J }]:max(),
        least = (h * 2)[{ i = 0 .. I, j = 0 .. J }]:min() }
      local f = { P:compile { outputs = outputs, tier = "native" },
        P:compile { outputs = { most = outputs.most }, tier = "native" } }
      local rng = helper.rng(7)
      for _, size in ipairs { { 1, 1 }, { 2, 40 }, { 17, 16 }, { 34, 33 }, { 70, 21 },
        { 40, 5 } } do
        local n, m = size[1], size[2]
        local x, y, H, most, least = whole(rng, n, 3), whole(rng, m, 3), {}, -1 / 0, 1 / 0
        for p = 1, n do
          H[p] = {}
          for q = 1, m do
            local c = x[p] == y[q] and 2 or -1
            H[p][q] = (p == 1 or q == 1) and c or math.max(-3, H[p - 1][q - 1] + c,
              H[p - 1][q] - 1, H[p][q - 1] - 1)
            most, least = math.max(most, H[p][q]), math.min(least, H[p][q])
          end
        end
        for way = 1, 2 do
          local out = f[way]({ a = tempo.array(x, "i64"), b = tempo.array(y, "i64") },
            { I = n, J = m })
          assert.equal(most, out.most:item())
          if way == 1 then assert.equal(2 * least, out.least:item()) end
        end
      end
    end
  end)
end)

describe("rows of a few numbers", function()
  it("have greatest, least and sum, NaN and zeros of both signs among them", function()
    local rng, some = helper.rng(11), { 0 / 0, 0.0, -0.0, 1 / 0, -1 / 0 }
    for _, n in ipairs { 3, 4, 7, 8, 15, 16, 17 } do
      local t = {}
      for k = 1, 37 * n do t[k] = some[math.floor(math.abs(rng()) * 12) + 1] or rng() end
      local P = tempo.program()
      local x = P:input("x", { shape = { 37, n } })
      local outputs = { a = (x * 2):max(1), b = x:min(1), c = (x + 1):sum(1), d = x:softmax(1) }
      local f = {}
      for k, tier in ipairs(tiers) do f[k] = P:compile { outputs = outputs, tier = tier } end
      local input = { x = tempo.array(t, "f32", { 37, n }) }
      local one, two = f[1](input, {}), f[2](input, {})
      for name in pairs(outputs) do
        assert.is_nil(helper.differ_arrays(one[name], two[name], 0, name))
        helper.compile(P, { x = outputs[name] })(input, {})
      end
      for r = 0, 36 do
        assert.is_true(1 / one.b:get(r) == 1 / two.b:get(r) or one.b:get(r) ~= one.b:get(r))
      end
    end
  end)

  it("are added up and multiplied along", function()
    for _, dtype in ipairs { "f32", "f64", "i32", "bf16" } do
      local P = tempo.program()
      local t = P:dim "t"
      local x = P:input("x", { domain = { t }, shape = { 5, 6 }, dtype = dtype })
      local y = P:tensor { domain = { t }, shape = { 5, 6 }, dtype = dtype }
      y[0] = x
      y[t] = x + y[t - 1]:cumsum(1):to(dtype):clamp(-50, 50)
      local z = P:tensor { domain = { t }, shape = { 5, 6 }, dtype = dtype }
      z[0] = x
      z[t] = x + z[t - 1]:cumprod(1):to(dtype):clamp(-9, 9)
      local inputs = { x = helper.array(helper.fill({ 9, 5, 6 }, function(a, b, c)
        return (a * 7 + b * 5 + c * 3) % 5 - 2 end), dtype, { 9, 5, 6 }) }
      helper.compile(P, { y = y, z = z })(inputs, { T = 9 })
      local f, g = P:compile { outputs = { y = y, z = z }, tier = "interpreter" },
        P:compile { outputs = { y = y, z = z }, tier = "native" }
      local a, b = f(inputs, { T = 9 }), g(inputs, { T = 9 })
      for name in pairs(a) do assert.is_nil(helper.differ_arrays(a[name], b[name], 0, name)) end
    end
  end)
end)

describe("places along the last axis", function()
  it("are taken line by line, from all rows and from a window in time", function()
    local T, rng = 12, helper.rng(13)
    local t, at = {}, whole(rng, 9, 7)
    for k = 1, T * 3 * 7 do t[k] = rng() end
    local P = tempo.program()
    local d, last = P:dim "t"
    local x = P:input("x", { domain = { d }, shape = { 3, 7 } })
    local k = P:input("k", { shape = { 9 }, dtype = "i64" })
    local y = P:tensor { domain = { d }, shape = { 3, 7 } }
    y[0] = x
    y[d] = x + y[d - 1]:index_select(1, k):slice(1, 0, 7)
    helper.compile(P, { y = y, z = x:index_select(1, k), w = y[last - 1]:index_select(1, k) })(
      { x = tempo.array(t, "f32", { T, 3, 7 }), k = tempo.array(at, "i64") }, { T = T })
    each(P, { z = x:index_select(1, k) }, { x = tempo.array(t, "f32", { T, 3, 7 }),
      k = tempo.array(at, "i64") }, { T = T }, function(out)
        local given = tempo.array(t, "f32", { T, 3, 7 })
        for q = 0, 8 do
          assert.equal(given:get(5, 2, at[q + 1]), out.z:get(5, 2, q))
        end
      end)
  end)
end)

-- Places that data says, in numbers that decide how they are gone through: the first few of a long
-- line, the best of many short lines, many hits of few places, rows that share an index. The
-- expected results are counted here.
local tempo = require "tempo"
local unpack = table.unpack or unpack

local function next_number(s) return (s * 1103515245 + 12345) % 2147483648 end

-- n numbers with many ties; of floats some are NaN, infinite, or zeros of both signs.
local function numbers(n, seed, floats)
  local t, s = {}, seed
  for k = 1, n do
    s = next_number(s)
    local h = math.floor(s / 65536) % 400
    t[k] = floats and ({ [0] = 0 / 0, 1 / 0, -1 / 0, 0.0, -0.0 })[h] or h % 97 - 48
  end
  return t
end

local function run(P, outputs, inputs)
  local all = {}
  for _, tier in ipairs { "interpreter", "native" } do
    all[#all + 1] = P:compile { outputs = outputs, tier = tier }(inputs, {})
  end
  return all
end

local function same(want, got) return want == got or (want ~= want and got ~= got) end

-- The k first places of a line, stable, NaN last.
local function firsts(line, k, down)
  local at = {}
  for i = 1, #line do at[i] = i end
  table.sort(at, function(a, b)
    local v, w = line[a], line[b]
    if v ~= v or w ~= w then return (v == v and w ~= w) or ((v == v) == (w == w) and a < b) end
    if v == w then return a < b end
    if down then return v > w end
    return v < w
  end)
  return { unpack(at, 1, k) }
end


describe("places that data says", function()
  it("are the first few of a line, whatever its length and dtype", function()
    for _, dtype in ipairs { "f32", "f64", "i32", "f16" } do
      for _, n in ipairs { 12, 64, 65, 200, 1000 } do
        for _, down in ipairs { true, false } do
          local k, rows = 3, 4
          local t = numbers(rows * n, n, dtype:sub(1, 1) == "f")
          local P = tempo.program()
          local x = P:input("x", { shape = { rows, n }, dtype = dtype })
          local v, i = x:topk(k, 1, down)
          local w = x:mT():topk(k, 0, down)
          for _, out in ipairs(run(P, { v = v, i = i, w = w },
            { x = tempo.array(t, dtype, { rows, n }) })) do
            for r = 0, rows - 1 do
              local line = { unpack(t, r * n + 1, r * n + n) }
              for q, at in ipairs(firsts(line, k, down)) do
                local where = ("%s %d %s"):format(dtype, n, down)
                assert.equal(at - 1, out.i:get(r, q - 1), where)
                assert(same(line[at], out.v:get(r, q - 1)), where)
                assert(same(line[at], out.w:get(q - 1, r)), where)
              end
            end
          end
        end
      end
    end
  end)

  it("are those of the best of many short lines", function()
    for _, dtype in ipairs { "f32", "f64", "i32", "u8" } do
      for _, n in ipairs { 2, 10, 32, 33 } do
        local rows = 131
        local t = numbers(rows * n, n + 1, dtype:sub(1, 1) == "f")
        if dtype == "u8" then for k, v in ipairs(t) do t[k] = v % 200 end end
        local P = tempo.program()
        local x = P:input("x", { shape = { rows, 1, n }, dtype = dtype })
        for _, out in ipairs(run(P, { a = x:argmax(2), i = x:argmin(2, { keepdim = true }) },
          { x = tempo.array(t, dtype, { rows, 1, n }) })) do
          for r = 0, rows - 1 do
            local most, least = 1, 1
            for j = 2, n do
              local v, a, b = t[r * n + j], t[r * n + most], t[r * n + least]
              if a == a and (v ~= v or v > a) then most = j end
              if b == b and (v ~= v or v < b) then least = j end
            end
            assert.equal(most - 1, out.a:get(r, 0), dtype)
            assert.equal(least - 1, out.i:get(r, 0, 0), dtype)
          end
        end
      end
    end
  end)

  it("are hit many times, each sum being rounded once", function()
    for _, places in ipairs { 3, 50, 4000, 4001 } do
      local n, at, by, sum = 1000, {}, {}, {}
      local s = places
      for k = 1, n do
        s = next_number(s)
        at[k] = math.floor(s / 256) % places
        by[k] = (math.floor(s / 65536) % 1000 - 500) * 2 ^ (k % 20)
      end
      for k = 1, places do sum[k] = k / 4 end
      local first = { unpack(sum, 1, places) }
      for k = 1, n do sum[at[k] + 1] = sum[at[k] + 1] + by[k] end
      local P = tempo.program()
      local x, i, v = P:input("x", { shape = { places } }),
        P:input("i", { shape = { n }, dtype = "i64" }), P:input("v", { shape = { n } })
      for _, out in ipairs(run(P, { y = x:scatter_add(0, i, v) }, { x = tempo.array(first, "f32"),
        i = tempo.array(at, "i64"), v = tempo.array(by, "f32") })) do
        local want = tempo.array(sum, "f32")
        for k = 0, places - 1 do assert.equal(want:get(k), out.y:get(k)) end
      end
    end
  end)

  it("are rows: an index spread over them is one index for each", function()
    local n, places, width = 300, 40, 37
    local P = tempo.program()
    local i = P:input("i", { shape = { n }, dtype = "i64" })
    local v, x = P:input("v", { shape = { n, width } }), P:input("x", { shape = { places, 41 } })
    local spread = i:unsqueeze(1):expand { n, width }
    local turned = i:unsqueeze(0):expand { width, n }
    local at, first = {}, numbers(places * 41, 5)
    for k = 1, n do at[k] = k * k % 7 + (k % 9 == 0 and 30 or 0) end
    local by = numbers(n * width, 3)
    local outputs = { y = x:scatter_add(0, spread, v), z = x:mT():scatter_add(1, turned, v:mT()) }
    for _, out in ipairs(run(P, outputs, { i = tempo.array(at, "i64"),
      v = tempo.array(by, "f32", { n, width }),
      x = tempo.array(first, "f32", { places, 41 }) })) do
      local want = { unpack(first) }
      for k = 1, n do
        for j = 1, width do
          local q = at[k] * 41 + j
          want[q] = want[q] + by[(k - 1) * width + j]
        end
      end
      for r = 0, places - 1 do
        for j = 0, 40 do
          assert.equal(want[r * 41 + j + 1], out.y:get(r, j))
          assert.equal(want[r * 41 + j + 1], out.z:get(j, r))
        end
      end
    end
  end)
end)

-- LANGUAGE.md, section 8: host arrays.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same = helper.fails, helper.same

describe("an array", function()
  it("is made of numbers and nested tables", function()
    local a = tempo.array { { 1, 2, 3 }, { 4, 5, 6 } }
    assert.same({ 2, 3 }, a:shape())
    assert.equal("f32", a:dtype())
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, a:totable())
    assert.equal(2, #a)
    assert.equal(4, a:get(1, 0))
    assert.equal(7.5, tempo.array(7.5):item())
    assert.same({}, tempo.array(7.5):shape())
    assert.equal(7.5, tempo.array(7.5):totable())
    assert.same({ 3, 3 }, tempo.array(3, "i64", { 2 }):totable())
    assert.same({ { 1, 2 }, { 3, 4 } }, tempo.array({ 1, 2, 3, 4 }, "i32", { 2, 2 }):totable())
    assert.same({ 0 }, tempo.array({}):shape())
    assert.same({ 0, 3 }, tempo.array({}, "f32", { 0, 3 }):shape())
  end)

  it("keeps every dtype", function()
    assert.same({ true, false }, tempo.array({ true, false }):totable())
    assert.equal("bool", tempo.array({ true, false }):dtype())
    assert.same({ 1, 0 }, tempo.array({ true, false }, "u8"):totable())
    assert.same({ true, false }, tempo.array({ 2, 0 }, "bool"):totable())
    for _, d in ipairs { "f32", "f64", "i32", "i64", "u8" } do
      local a = tempo.array({ 1, 2, 3 }, d)
      assert.equal(d, a:dtype())
      assert.same({ 1, 2, 3 }, a:totable())
      assert.equal(2, a[1])
    end
    assert.equal(-1, tempo.array(-1.9, "i32"):item())
    assert.equal(0.1, tempo.array(0.1, "f64"):item())
    assert.truthy(math.abs(tempo.array(0.1):item() - 0.1) < 1e-8)
    fails(function() return (tempo.array({ 1 }, "f33")) end, "option", "f33", "f32")
  end)

  it("is made of bytes", function()
    local a = tempo.array("\1\0\0\0\2\0\0\0", "i32", { 2 })
    assert.same({ 1, 2 }, a:totable())
    assert.same({ 1, 2 }, tempo.array("\1\2", "u8"):totable())
    fails(function() return (tempo.array("\1\2\3", "i32", { 1 })) end, "shape", "3 bytes")
  end)

  it("is made of another array", function()
    local a = tempo.array({ 1.5, 2.5 }, "f64")
    assert.same({ 1, 2 }, tempo.array(a, "i64"):totable())
    local b = tempo.array(a)
    b:set(9, 0)
    assert.equal(1.5, a[0])
  end)

  it("refuses ragged tables and strange elements", function()
    fails(function() return (tempo.array { { 1, 2 }, { 3 } }) end, "shape", "ragged")
    fails(function() return (tempo.array { { 1 }, 2 }) end, "shape", "ragged")
    fails(function() return (tempo.array { 1, { 2 } }) end, "shape", "ragged")
    fails(function() return (tempo.array { 1, "2" }) end, "option", "string")
    fails(function() return (tempo.array { x = 1 }) end, "option", "x")
    fails(function() return (tempo.array(print)) end, "option", "function")
    fails(function() return (tempo.array({ 1, 2, 3 }, "f32", { 2 })) end, "shape", "3 elements")
  end)
end)

describe("rows", function()
  local a = tempo.array { { 1, 2 }, { 3, 4 }, { 5, 6 } }

  it("are views that count from 0", function()
    assert.same({ 3, 4 }, a[1]:totable())
    assert.equal(4, a[1][1])
    local b = a:clone()
    b[1]:set(9, 0)
    assert.equal(9, b:get(1, 0))
    assert.equal(3, a:get(1, 0))
  end)

  it("out of range are errors", function()
    fails(function() return a[3] end, "input", "count from 0")
    fails(function() return a[-1] end, "input")
    fails(function() return (a:get(0, 2)) end, "input", "extent 2")
    fails(function() return (a:get(0)) end, "shape", "2 axes")
    fails(function() return a[0.5] end, "option")
    fails(function() return tempo.array(1)[0] end, "shape", "item")
    fails(function() return #tempo.array(1) end, "shape", "item")
    fails(function() return (a:item()) end, "shape", "6 elements")
    fails(function() a[0] = 1 end, "option", "a:set(")
    fails(function() return (a:totabel()) end, "option", "totable")
  end)

  it("are iterated", function()
    local seen = {}
    for i, row in a:rows() do seen[i + 1] = row[0] end
    assert.same({ 1, 3, 5 }, seen)
    local n = 0
    for i, v in tempo.array({ 7, 8 }):rows() do n = n + i * v end
    assert.equal(8, n)
  end)

  it("outlive their array", function()
    local row = tempo.array({ { 1, 2 } })[0]
    collectgarbage()
    collectgarbage()
    assert.same({ 1, 2 }, row:totable())
  end)
end)

describe("lifetime", function()
  it("ends with free, any number of times", function()
    local a = tempo.array { 1, 2 }
    a:free()
    a:free()
    fails(function() return a[0] end, "option", "freed")
    assert.truthy(tostring(a))
  end)

  it("ends with close", function()
    if jit then return end
    local f = load [[
      local tempo = require "tempo"
      local kept
      do local a <close> = tempo.array { 1 }; kept = a end
      return kept ]]
    fails(function() return f()[0] end, "freed")
  end)

  it("is charged to the collector", function()
    local dead = setmetatable({}, { __mode = "v" })
    for k = 1, 200 do dead[k] = tempo.array(0, "f32", { 1024, 256 }) end     -- 200 MiB
    local n = 0
    for _ in pairs(dead) do n = n + 1 end
    assert.truthy(n < 150, n .. " of 200 dead arrays were kept")
  end)
end)

describe("i64", function()
  it("is exact, or says so", function()
    local a = tempo.array(("\255"):rep(7) .. "\127", "i64", { 1 })
    if jit then
      fails(function() return a[0] end, "dtype", "a:int64()")
      assert.equal("9223372036854775807LL", tostring(a:int64()[1]))
      assert.equal("9223372036854775807LL", tostring(tempo.array(("\255"):rep(7) .. "\127", "i64", {}):int64()))
    else
      assert.equal(9223372036854775807, a[0])
      assert.equal(9223372036854775807, tempo.array(9223372036854775807, "i64"):item())
      assert.same({ 9223372036854775807 }, a:int64())
    end
    fails(function() return (tempo.array({ 1 }):int64()) end, "dtype")
  end)
end)

describe("printing", function()
  local function array_of(dtype, shape, data)
    if type(data) == "string" then
      return tempo.array(data:gsub("%x%x", function(h) return string.char(tonumber(h, 16)) end), dtype, shape)
    end
    local t, n = {}, 1
    for _, e in ipairs(shape) do n = n * e end
    for k = 1, n do t[k] = data(k - 1) end
    return tempo.array(t, dtype, shape)
  end

  it("is NumPy's, for every shape and kind of number", function()
    local cases = require "spec.fixtures.printing"
    for k, case in ipairs(cases) do
      assert.equal(case[4], tostring(array_of(case[1], case[2], case[3])), "case " .. k)
    end
    assert.truthy(#cases > 350)
  end)

  it("of bf16 shows the digits that bf16 has", function()
    assert.equal("[ 1.    0.1   3.14 -2.5 ]", tostring(tempo.array({ 1, 0.1, 3.14, -2.5 }, "bf16")))
    assert.equal("[1.e+30 1.e+00 3.e-01]", tostring(tempo.array({ 1e30, 1, 0.301 }, "bf16")))
    assert.equal("0.3", tostring(tempo.array(0.3, "bf16")))
  end)
end)

describe("files", function()
  local path

  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  local function round_trip(a)
    assert.equal(true, a:save(path))
    local b = assert(tempo.load(path))
    assert.equal(a:dtype(), b:dtype())
    assert.same(a:shape(), b:shape())
    assert.same(a:totable(), b:totable())
  end

  it("keep dtype, shape and elements", function()
    for _, d in ipairs { "f32", "f64", "i32", "i64", "u8", "bool" } do
      round_trip(tempo.array({ { 1, 0, 1 }, { 0, 1, 1 } }, d))
      round_trip(tempo.array(1, d))
      round_trip(tempo.array({ 1 }, d))
      round_trip(tempo.array({}, d, { 0, 4 }))
    end
    round_trip(tempo.array(0.1, "f64"))
  end)

  local function write(text)
    local f = assert(io.open(path, "wb"))
    f:write(text)
    f:close()
  end

  local function npy(header, body, major)
    header = header .. "\n"
    return "\147NUMPY" .. string.char(major or 1, 0) .. string.char(#header % 256, math.floor(#header / 256))
      .. (major == 2 and "\0\0" or "") .. header .. (body or "")
  end

  it("of NumPy are read", function()
    write(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }",
      "\1\0\0\0\4\0\0\0\2\0\0\0\5\0\0\0\3\0\0\0\6\0\0\0"))
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, assert(tempo.load(path)):totable())
    write(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "abc", 2))
    assert.same({ 97, 98, 99 }, assert(tempo.load(path)):totable())
    write(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\0\1\7"))
    assert.same({ false, true, true }, assert(tempo.load(path)):totable())
    write(npy("{'shape': (), 'fortran_order': False, 'descr': '<f8'}", "\0\0\0\0\0\0\240\63"))
    assert.equal(1, assert(tempo.load(path)):item())
  end)

  it("that are wrong give nil and a message", function()
    local good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", ("\0"):rep(8))
    write(good)
    assert.same({ 0, 0 }, assert(tempo.load(path)):totable())
    for n = 0, #good - 1 do
      write(good:sub(1, n))
      local a, why = tempo.load(path)
      assert.is_nil(a)
      assert.truthy(why:find("file", 1, true))
    end
    for _, header in ipairs {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999999,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }",
      "{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }",
      "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
      "{'descr': '|V2', 'fortran_order': False, 'shape': (4,), }",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
      "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,), }",
      "{'descr': '<f4', 'shape': (2,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
      "{", "", "[]",
    } do
      write(npy(header, ("\0"):rep(8)))
      local a, why = tempo.load(path)
      assert.is_nil(a)
      assert.truthy(why:find("file", 1, true))
    end
    local a, why = tempo.load "/nonexistent/x.npy"
    assert.is_nil(a)
    assert.truthy(why:find "nonexistent")
    a, why = tempo.array({ 1 }):save "/nonexistent/x.npy"
    assert.is_nil(a)
    assert.truthy(why:find "nonexistent")
  end)
end)

describe("constants", function()
  it("are copies", function()
    local P = tempo.program()
    local a = tempo.array { 1, 2 }
    local c = P:constant(a)
    a:set(9, 0)
    same({ 1, 2 }, helper.value(P, c, {}, {}))
    local b = tempo.array { 1, 2 }
    local y = c + b
    b:set(9, 0)
    same({ 2, 4 }, helper.value(P, y, {}, {}))
    same({ 2, 4 }, helper.value(P, c + { 1, 2 }, {}, {}))
    same({ 2, 4 }, helper.value(P, b:clone():get(1) * c, {}, {}))
    assert.equal("f32", P:constant(3):dtype())
  end)
end)

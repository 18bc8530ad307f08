-- docs/language.md, section 8: host arrays.
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
    for _, d in ipairs { "f32", "f64", "f16", "bf16", "i32", "i64", "u8" } do
      local a = tempo.array({ 1, 2, 3 }, d)
      assert.equal(d, a:dtype())
      assert.same({ 1, 2, 3 }, a:totable())
      assert.equal(2, a[1])
    end
    assert.equal(-1, tempo.array(-1, "i32"):item())
    assert.equal(0.1, tempo.array(0.1, "f64"):item())
    assert.truthy(math.abs(tempo.array(0.1):item() - 0.1) < 1e-8)
    fails(function() return (tempo.array({ 1 }, "f33")) end, "option", "f33", "f32")
  end)

  it("is made of bytes", function()
    local a = tempo.array("\1\0\0\0\2\0\0\0", "i32", { 2 })
    assert.same({ 1, 2 }, a:totable())
    assert.same({ 1, 2 }, tempo.array("\1\2", "u8"):totable())
    assert.same({ 1, -2 }, tempo.array("\0\60\0\192", "f16"):totable())
    assert.same({ 1, -2 }, tempo.array("\128\63\0\192", "bf16"):totable())
    assert.same({ { 1 }, { -2 } }, tempo.array("\0\0\128\63\0\0\0\192", "f32", { 2, 1 }):totable())
    assert.same({ 1, 0, 1 }, tempo.array(tempo.array("\1\0\7", "bool"), "u8"):totable())
    local P = tempo.program()
    local f = P:compile { outputs = { n = P:input("x", { shape = { 3 }, dtype = "bool" }):sum() } }
    assert.equal(2, f({ x = tempo.array("\1\0\7", "bool") }).n:item())
    assert.same({}, tempo.array("", "i64"):totable())
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

describe("a table that is no array", function()
  it("is refused with the place", function()
    fails(function()
      return (tempo.array { { 1, 2 }, { 3, 4 }, { 5 } })
    end, "shape", "1 entries at [3], where the first row has 2")
    fails(function()
      return (tempo.array { { { 1 }, { 2 } }, { { 3 }, 4 } })
    end, "shape", "ragged", "a number at [2][2]")
    fails(function()
      return (tempo.array { { 1, 2 }, { 3, { 4 } } })
    end, "shape", "a table at [2][2]")
    fails(function()
      return (tempo.array { { 1, 2 }, { 3, "4" } })
    end, "option", "at [2][2], got a string")
    fails(function()
      return (tempo.array { { 1, 2 }, { 3, 4, x = 5 } })
    end, "option", "at [2], got a table with the key x beside its 2 entries")
    fails(function()
      return (tempo.array { 1, 2, x = 3 })
    end, "option", "the key x beside its 2 entries")
    fails(function() return (tempo.array { 1, 2, [2.5] = 3 }) end, "option", "2.5")
    fails(function() return (tempo.array { nil, 2, 3 }) end, "option")
    fails(function() return (tempo.array { 1, nil, 3 }) end, "option")
    fails(function() return (tempo.array { {}, { 1 } }) end, "shape", "at [2]")
    local deep = 1
    for _ = 1, 17 do deep = { deep } end
    fails(function() return (tempo.array(deep)) end, "shape", "16 deep")
  end)

  it("may have been filled backwards", function()
    local t = {}
    for i = 100, 1, -1 do t[i] = i end
    local a = tempo.array(t)
    for i = 1, 100 do assert.equal(i, a[i - 1]) end
  end)

  it("is an input error where an input was expected", function()
    local P = tempo.program()
    local t = P:dim "t"
    local f = P:compile { outputs = { y = P:input("x", { domain = { t } }) * 2 } }
    fails(function() f({ x = { 1, 2, x = 3 } }, { T = 2 }) end, "input 'x'", "the key x")
    fails(function() f({ x = { 1, { 2 } } }, { T = 2 }) end, "input 'x'", "ragged", "at [2]")
    fails(function() f({ x = { 1, "2" } }, { T = 2 }) end, "input 'x'", "a string", "at [2]")
    fails(function()
      f({ x = tempo.array({ 1, 2 }, "f64") }, { T = 2 })
    end, "input", "'x'", "f32", "f64", "tempo.array(a, \"f32\")")
    assert.same({ 2, 4 }, f({ x = { 1, 2 } }, { T = 2 }).y:totable())
    local y = P:source(function() return { 1, k = 2 } end, { shape = { 1 } })
    fails(function() P:compile { outputs = { y = y } }() end, "callback", "the key k")
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
    local b = tempo.array { { 1, 2 }, { 3, 4 } }
    row = b[1]
    b:free()
    assert.same({ 3, 4 }, row:totable())
    row:free()
    fails(function() return row[0] end, "freed")
  end)

  it("end with an array that is freed under them", function()
    local b = tempo.array { { 1 }, { 2 }, { 3 } }
    fails(function()
      for i in b:rows() do if i == 1 then b:free() end end
    end, "freed")
  end)

  it("count from 0, so that ipairs says so", function()
    fails(function()
      local n = 0
      for _, row in ipairs(a) do n = n + row[0] end
      return n
    end, jit and "table expected" or "count from 0")
  end)
end)

describe("lifetime", function()
  it("ends with free, any number of times", function()
    local a = tempo.array { 1, 2 }
    a:free()
    a:free()
    fails(function() return a[0] end, "option", "freed")
    for _, method in ipairs { "shape", "dtype", "totable", "item", "clone", "rows", "data",
      "int64" } do
      fails(function() return (a[method](a)) end, method, "freed")
    end
    fails(function() return (a:get(0)) end, "freed")
    fails(function() return (a:set(1, 0)) end, "freed")
    fails(function() return (a:save "x.npy") end, "freed")
    fails(function() return #a end, "freed")
    fails(function() return (tempo.array(a)) end, "freed")
    local P = tempo.program()
    fails(function() return (P:constant(a)) end, "freed")
    fails(function()
      P:compile { outputs = { y = P:input("x", { shape = { 2 } }) } }({ x = a })
    end, "x", "freed")
    assert.equal("tempo.Array (freed)", tostring(a))
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

  local function resident()                                    -- KiB
    local f = assert(io.open "/proc/self/statm")
    local pages = tonumber(f:read "*a":match "^%d+ (%d+)")
    f:close()
    return 4 * pages
  end

  it("does not grow the process", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 64 } })
    local f = P:compile { outputs = { y = x * 2, s = x[0 .. T]:sum(0) } }
    local a = tempo.array(1, "f32", { 16, 64 })
    local kinds = {
      calls = function() return f({ x = a }, { T = 16 }) end,
      arrays = function() return tempo.array(0, "f32", { 1024 }) end,
      scalars = function() return tempo.array(1) end,
      views = function() return a[3] end,
      clones = function() return a:clone() end,
    }
    for name, make in pairs(kinds) do
      for _ = 1, 5000 do make() end
      collectgarbage()
      local before, most = resident(), 0
      for _ = 1, 20 do
        for _ = 1, 5000 do make() end
        most = math.max(most, resident())
      end
      assert.truthy(most - before < 16384, ("100000 %s: %d KiB more"):format(name, most - before))
    end
  end)

  it("of what is too large ends in an error", function()
    fails(function() return (tempo.array(0, "f64", { 1e9, 1e6 })) end, "memory")
    fails(function() return (tempo.array(0, "f64", { 1e9, 1e9, 1e9 })) end, "memory")
    fails(function() return (tempo.array({ 1 }, "f32", { -1 })) end, "shape", "negative")
  end)
end)

describe("data", function()
  it("is the memory itself", function()
    local a = tempo.array { 1, 2, 3 }
    assert.equal("userdata", type(a:data()))
    assert.equal(a:data(), a:data())
    assert.are_not.equal(a:data(), a:clone():data())
    local b = tempo.array { { 1, 2 }, { 3, 4 } }
    assert.equal(b:data(), b[0]:data())
    if not jit then return end
    local ffi = require "ffi"
    local p = ffi.cast("float *", a:data())
    assert.equal(2, p[1])
    p[1] = 7
    assert.equal(7, a[1])
    a:set(9, 2)
    assert.equal(9, p[2])
    assert.equal(ffi.cast("char *", b:data()) + 8, ffi.cast("char *", b[1]:data()))
    local P = tempo.program()
    local f = P:compile { outputs = { y = P:input("x", { shape = { 3 } }) * 10 } }
    p[0] = 5
    assert.same({ 50, 70, 90 }, f({ x = a }).y:totable())
  end)
end)

describe("i64", function()
  it("is exact, or says so", function()
    local a = tempo.array(("\255"):rep(7) .. "\127", "i64", { 1 })
    if jit then
      fails(function() return a[0] end, "dtype", "a:int64()")
      fails(function() return (a:totable()) end, "dtype", "a:int64()")
      fails(function() return (a:item()) end, "dtype", "a:int64()")
      assert.equal(a:int64()[1], tempo.array(a:int64(), "i64"):int64()[1])
      assert.equal(a:int64()[1], tempo.array({ 0 }, "i64"):set(a:int64()[1], 0):int64()[1])
      assert.equal("9223372036854775807LL", tostring(a:int64()[1]))
      assert.equal("9223372036854775807LL",
        tostring(tempo.array(("\255"):rep(7) .. "\127", "i64", {}):int64()))
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
      return tempo.array(data:gsub("%x%x", function(h)
        return string.char(tonumber(h, 16))
      end), dtype, shape)
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
    for _, d in ipairs { "f32", "f64", "f16", "bf16", "i32", "i64", "u8", "bool" } do
      round_trip(tempo.array({ { 1, 0, 1 }, { 0, 1, 1 } }, d))
      round_trip(tempo.array(1, d))
      round_trip(tempo.array({ 1 }, d))
      round_trip(tempo.array({}, d, { 0, 4 }))
    end
    round_trip(tempo.array(0.1, "f64"))
  end)

  it("of bf16 are what ml_dtypes writes, two bytes of whatever", function()
    assert.equal(true, tempo.array({ 1, 2.5 }, "bf16"):save(path))
    local file = assert(io.open(path, "rb"))
    local text = file:read "*a"
    file:close()
    assert.is_truthy(text:find("{'descr': '<V2', 'fortran_order': False, 'shape': (2,), }", 1,
      true))
    assert.equal("\128\63\32\64", text:sub(-4))
  end)

  -- by spec/fixtures/make_npy.py: element k is 7 k % 100
  local function made_by_numpy(a, dtype)
    assert.equal(dtype, a:dtype())
    local k = -1
    local function check(v)
      if type(v) == "table" then
        for _, row in ipairs(v) do check(row) end
        return
      end
      k = k + 1
      local want = 7 * k % 100
      if dtype == "bool" then want = want ~= 0 end
      assert.equal(want, v)
    end
    check(a:totable())
    return a:shape()
  end

  it("that NumPy wrote are read, whatever their version, order and endianness", function()
    local folder = "spec/fixtures/npy/"
    for _, d in ipairs { "f32", "f64", "f16", "i32", "i64", "u8", "bool" } do
      assert.same({ 2, 3, 4 }, made_by_numpy(assert(tempo.load(folder .. d .. ".npy")), d))
    end
    for _, d in ipairs { "f32", "f64", "f16", "i64" } do
      assert.same({ 3, 4 }, made_by_numpy(assert(tempo.load(folder .. "big_" .. d .. ".npy")), d))
    end
    for v = 1, 3 do
      assert.same({ 3, 4 },
        made_by_numpy(assert(tempo.load(folder .. "version" .. v .. ".npy")), "f32"))
    end
    assert.same({ 2, 3, 4 }, made_by_numpy(assert(tempo.load(folder .. "fortran.npy")), "i32"))
    assert.equal(0.1, assert(tempo.load(folder .. "scalar.npy")):item())
    assert.same({ 0, 3 }, assert(tempo.load(folder .. "empty.npy")):shape())
    for _, name in ipairs { "complex", "structured", "string", "object" } do
      fails(function()
        return (tempo.load(folder .. "wrong_" .. name .. ".npy"))
      end, "file", name == "structured" and "structured" or "dtype")
    end
  end)

  it("of several arrays give a table by name", function()
    local folder = "spec/fixtures/npy/"
    for _, name in ipairs { "stored", "deflated", "zip64" } do
      local t = assert(tempo.load(folder .. name .. ".npz"))
      assert.same({ 2, 3 }, made_by_numpy(t.x, "f32"))
      assert.same({ 4 }, made_by_numpy(t["layer.0.weight"], "f64"))
      assert.equal(0, t.n:item())
      assert.same({ 0, 2 }, t.none:shape())
    end
    assert.same({ 2, 3 }, made_by_numpy(assert(tempo.load(folder .. "wide.npz")).x, "f32"))
    local long = assert(tempo.load(folder .. "long.npz"))
    assert.same({ 5000 }, made_by_numpy(long.steps, "i32"))
    assert.same({ 30000 }, long.zeros:shape())
    assert.same({ 9000 }, long.noise:shape())
    assert.same({}, assert(tempo.load(folder .. "nothing.npz")))
    for _, name in ipairs { "member", "method" } do
      fails(function() return (tempo.load(folder .. "wrong_" .. name .. ".npz")) end, "file", "'x'")
    end
  end)

  it("of several arrays are written", function()
    local a, b = tempo.array({ { 1, 2 }, { 3, 4 } }, "i64"), tempo.array(0.5, "f64")
    assert.equal(true, tempo.save(path, { a = a, ["b/c.d"] = b, row = a[1] }))
    local t = assert(tempo.load(path))
    assert.same({ { 1, 2 }, { 3, 4 } }, t.a:totable())
    assert.equal("i64", t.a:dtype())
    assert.equal(0.5, t["b/c.d"]:item())
    assert.same({ 3, 4 }, t.row:totable())
    local function bytes()
      local f = assert(io.open(path, "rb"))
      local s = f:read "*a"
      f:close()
      return s
    end
    local first = bytes()
    assert.equal(true, tempo.save(path, { row = a[1], ["b/c.d"] = b, a = a }))
    assert.equal(first, bytes())                               -- the same arrays, the same file
    assert.equal(true, tempo.save(path, {}))
    assert.same({}, assert(tempo.load(path)))
    assert.equal(true, tempo.save(path, a))
    assert.same({ { 1, 2 }, { 3, 4 } }, assert(tempo.load(path)):totable())
    fails(function() return (tempo.save(path, { a, b })) end, "option", "by name")
    fails(function() return (tempo.save(path, { x = 1 })) end, "option", "x")
    fails(function() return (tempo.save(path, 1)) end, "option")
    fails(function() return (tempo.save(1, a)) end, "option")
    fails(function() return (tempo.save(path, { ["a\0b"] = a })) end, "option", "zero byte")
    local first_code = first:sub(1, 4)
    assert.equal("PK\3\4", first_code)
    -- a byte of the first member's header, padding and elements
    for _, at in ipairs { 60, 100, 180 } do
      local f = assert(io.open(path, "wb"))
      f:write(first:sub(1, at - 1), string.char((first:byte(at) + 1) % 256), first:sub(at + 1))
      f:close()
      fails(function() return (tempo.load(path)) end, "file", "checksum")
    end
  end)

  it("are whole or as they were", function()
    assert.equal(true, tempo.array({ 1 }):save(path))
    fails(function() return (tempo.array({ 1 }):save "/dev/full") end, "file: /dev/full")
    fails(function()
      return (tempo.save("/dev/full", { a = tempo.array { 1 } }))
    end, "file: /dev/full")
    local said = helper.script(([[
      local tempo = require "tempo"
      print(pcall(function() return (tempo.array(2, "f32", { 1000000 }):save %q) end))
      print(tempo.load %q)
    ]]):format(path, path), "", "trap '' XFSZ; ulimit -f 64; ")   -- a full disk, as far as the script can tell
    assert.truthy(said:find("false\t[^\n]*file: [^\n]*too large"), said)
    assert.truthy(said:find("\n[1.]\n", 1, true), said)
    local left = io.popen("ls " .. path .. ".* 2>/dev/null")
    assert.equal("", left:read "*a")
    left:close()
  end)

  local function write(text)
    local f = assert(io.open(path, "wb"))
    f:write(text)
    f:close()
  end

  local function npy(header, body, major)
    header = header .. "\n"
    return "\147NUMPY" .. string.char(major or 1, 0)
      .. string.char(#header % 256, math.floor(#header / 256))
      .. (major == 2 and "\0\0" or "") .. header .. (body or "")
  end

  it("need not be NumPy's to the letter", function()
    write(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\0\1\7"))
    assert.same({ false, true, true }, assert(tempo.load(path)):totable())
    write(npy("{'shape': (), 'fortran_order': False, 'descr': '<f8'}", "\0\0\0\0\0\0\240\63"))
    assert.equal(1, assert(tempo.load(path)):item())
    write(npy("{'shape': (2L,), 'fortran_order': False, 'descr': '|u1'}", "\0\1"))
    assert.same({ 0, 1 }, assert(tempo.load(path)):totable())
  end)

  it("that are wrong are errors of class file", function()
    local good = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", ("\0"):rep(8))
    write(good)
    assert.same({ 0, 0 }, assert(tempo.load(path)):totable())
    for n = 0, #good - 1 do
      write(good:sub(1, n))
      fails(function() return (tempo.load(path)) end, "file", path)
    end
    for _, header in ipairs {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999999,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000,), }",
      "{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }",
      "{'descr': '|V3', 'fortran_order': False, 'shape': (2,), }",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
      "{'descr': '<f4', 'fortran_order': 1, 'shape': (2,), }",
      "{'descr': '<f4', 'shape': (2,), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
      "{", "", "[]",
    } do
      write(npy(header, ("\0"):rep(8)))
      fails(function() return (tempo.load(path)) end, "file", path)
    end
    fails(function() return (tempo.load "/nonexistent/x.npy") end, "file", "nonexistent")
    os.remove(path)
    assert(os.execute("mkfifo " .. path))       -- nothing writes into it: it is not waited for
    fails(function() return (tempo.load(path)) end, "file", "no regular file")
    os.remove(path)
    fails(function()
      return (tempo.array({ 1 }):save "/nonexistent/x.npy")
    end, "file", "nonexistent")
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

  it("are what the array holds where it is named, also if it comes again", function()
    local P = tempo.program()
    local t = P:dim "t"
    local a = tempo.array(1, "f32", { 40, 40 })
    local x = t:value():to "f32"
    local y, z = x + a, P:constant(a)
    a:set(3, 0, 1)
    local y2, z2, v = x + a, P:constant(a), P:constant(a[0])
    a:free()
    local out = helper.run(P, { y = y, z = z, y2 = y2, z2 = z2, v = v }, {}, { T = 1 })
    assert.same({ 1, 1, 1 }, { out.y[1][1][1], out.y[1][1][2], out.y[1][40][40] })
    assert.same({ 1, 1 }, { out.z[1][1], out.z[1][2] })
    assert.same({ 1, 3, 1 }, { out.y2[1][1][1], out.y2[1][1][2], out.y2[1][2][2] })
    assert.same({ 3, 3 }, { out.z2[1][2], out.v[2] })
  end)
end)

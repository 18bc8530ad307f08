-- Files of weights: what the packages safetensors and gguf wrote (spec/fixtures/make_weights.py),
-- there and back, and what is refused. TEMPO_KEEP=folder keeps ours for `make_weights.py folder`,
-- which reads them by those packages.
local tempo = require "tempo"
local helper = require "spec.helper"

local here = "spec/fixtures/weights/"
local keep = os.getenv "TEMPO_KEEP"
local paths = {}

local function scratch(ending)
  local path = os.tmpname()
  os.remove(path)
  paths[#paths + 1] = path .. ending
  return path .. ending
end

local function write(path, bytes)
  local f = assert(io.open(path, "wb"))
  f:write(bytes)
  f:close()
  return path
end

local function refused(code, what, fn, ...)
  local ok, e = pcall(fn, ...)
  assert.is_false(ok, what)
  assert.equal(code, e.code, e.text)
  assert.is_truthy(e.message:find(what, 1, true), e.message)
  return e
end

local function u64(n)
  local t = {}
  for k = 1, 8 do t[k], n = string.char(n % 256), math.floor(n / 256) end
  return table.concat(t)
end
local function u32(n) return u64(n):sub(1, 4) end
local function text(s) return u64(#s) .. s end

local function same(a, b)
  assert.same(a:shape(), b:shape())
  assert.same(a:totable(), b:totable())
end

describe("open", function()
  local want = tempo.load(here .. "want.npz")

  teardown(function()
    for _, path in ipairs(paths) do os.remove(path) end
  end)

  local function compare(f, prefix, names)
    for name in names:gmatch "%S+" do same(f[name], want[prefix .. name]) end
  end

  it("reads safetensors", function()
    local f = tempo.open(here .. "small.safetensors")
    compare(f, "safetensors.", "f32 f64 f16 bf16 i32 i64 u8 bool scalar empty")
    assert.equal("bf16", f.bf16:dtype())
    assert.same({ format = "pt", text = "h\195\169 \"x\"\n" }, f:meta())
    assert.equal("pt", f:meta "format")
    assert.is_nil(f:meta "other")
    assert.is_nil(f.other)
    refused("dtype", "'i8' of spec/fixtures/weights/small.safetensors is stored as i8",
      function() return f.i8 end)
    local a, format, shape = f:stored "i8"
    assert.same({ { 255, 2 }, "u8", "i8", { 2 } }, { a:totable(), a:dtype(), format, shape })
    assert.equal(11, #f:names())
    assert.is_truthy(tostring(f):find "11 arrays")
  end)

  it("reads a sharded model by its folder or its index", function()
    for _, path in ipairs { "sharded", "sharded/model.safetensors.index.json" } do
      local f = tempo.open(here .. path)
      compare(f, "safetensors.", "f32 i64 bf16 u8")
      local n = 0
      for name, a in pairs(f:arrays()) do
        same(a, want["safetensors." .. name])
        n = n + 1
      end
      assert.equal(4, n)
      same(f:arrays().f32, f.f32)
      assert.is_nil(f:arrays().none)
      assert.equal("pt", f:meta().format)
    end
  end)

  it("reads GGUF", function()
    for _, name in ipairs { "small.gguf", "version2.gguf" } do
      local f = tempo.open(here .. name)
      compare(f, "gguf.", "matrix half vector deep double whole bf16 q8_0 q4_0 q4_k q6_k")
      assert.equal("bf16", f.bf16:dtype())
      assert.equal("f32", f.q4_k:dtype())
      local a, format, shape = f:stored "q8_0"
      assert.same({ "q8_0", { 3, 64 }, { 3, 68 }, "u8" }, { format, shape, a:shape(), a:dtype() })
      refused("dtype", "'iq4_nl'", function() return f.iq4_nl end)
      assert.same({ 2, 18 }, f:stored("iq4_nl"):shape())
      local meta = f:meta()
      assert.same({ "a", "", "h\195\169" }, meta["tokenizer.ggml.tokens"])
      assert.same({ 0.5, -1.5 }, meta["tokenizer.ggml.scores"])
      assert.same({ 1, 2, 3 }, meta["tokenizer.ggml.token_type"])
      assert.same({ true, false }, meta.flags)
      assert.equal("llama", meta["general.architecture"])
      assert.is_true(meta.yes)
      for key, v in pairs { u8 = 200, i8 = -3, u16 = 65535, i16 = -300, u32 = 4000000000, i32 = -7,
        u64 = 2 ^ 40, i64 = -2 ^ 40, f64 = 0.1 } do
        assert.equal(v, meta["number." .. key])
        assert.equal(v, f:meta("number." .. key))
      end
      assert.equal(500000, meta["llama.rope.freq_base"])
    end
  end)

  it("reads NumPy's files", function()
    local f = tempo.open(here .. "want.npz")
    for name, a in pairs(want) do same(f[name], a) end
    for _, name in ipairs { "deflated", "stored", "zip64", "wide", "nothing" } do
      local path = "spec/fixtures/npy/" .. name .. ".npz"
      local n, from = 0, tempo.open(path)
      for key, a in pairs(tempo.load(path)) do
        same(from[key], a)
        n = n + 1
      end
      assert.equal(n, #from:names())
    end
    for _, name in ipairs { "f32", "fortran", "big_f64", "scalar", "bool", "version3", "empty" } do
      local path = "spec/fixtures/npy/" .. name .. ".npy"
      same(tempo.open(path)[name], tempo.load(path))
    end
    assert.same({}, f:meta())
    local path = scratch ".npz"
    tempo.save(path, { mine = tempo.array({ 1, 2 }, "u8") })
    local bytes = helper.read(path):gsub("|u1", "|i1")
    write(path, bytes)
    refused("file", "'mine'", tempo.open, path)
  end)

  it("gives arrays that are read only and outlive the collection", function()
    local f = tempo.open(here .. "small.safetensors")
    local a, row = f.f32, f.f32[1]
    for _, x in ipairs { a, row } do
      refused("option", "read only", x.set, x, 1, 0, 0)
      refused("option", "read only", x.copy_from, x, { 1 })
    end
    local copy = a:clone():set(7, 0, 0)
    assert.equal(7, copy:get(0, 0))
    f:close()
    f:close()
    refused("option", "closed", function() return f.f32 end)
    refused("option", "closed", f.meta, f)
    collectgarbage()
    same(a, want["safetensors.f32"])
    assert.is_truthy(tostring(f):find "closed")
    local P = tempo.program()
    local x = P:input("x", { shape = { 2, 3 } })
    local run = P:compile { outputs = { y = x * 2 + P:constant(a) } }
    assert.equal(3 * a:get(1, 2), run({ x = a }, {}).y:get(1, 2))
  end)

  it("takes methods before arrays of their names", function()
    local path = scratch ".safetensors"
    tempo.save(path, { meta = tempo.array { 1, 2 } })
    local f = tempo.open(path)
    assert.is_function(f.meta)
    assert.same({ 1, 2 }, f:arrays().meta:totable())
  end)

  local function ours(name)
    return keep and keep .. "/" .. name or scratch("." .. name:match "%a+$")
  end

  it("writes safetensors", function()
    local path, arrays = ours "ours.safetensors", {}
    for name, a in pairs(want) do
      local short = name:match "^safetensors%.(.*)"
      if short then arrays[short] = a end
    end
    arrays.bf16 = tempo.open(here .. "small.safetensors").bf16
    local meta = { a = "1", ["h\195\169"] = "\"x\"\n\1" }
    tempo.save(path, arrays, { meta = meta })
    local first, f = helper.read(path), tempo.open(path)
    compare(f, "safetensors.", "f32 f64 f16 bf16 i32 i64 u8 bool scalar empty")
    assert.same(meta, f:meta())
    tempo.save(path, arrays, { meta = meta })
    assert.is_true(first == helper.read(path))
    refused("option", "'n' is none", tempo.save, path, arrays, { meta = { n = 1 } })
    refused("option", "cannot hold 'f32' as q8_0", tempo.save, path,
      { f32 = tempo.full({ 1, 32 }, 1):peek() }, { format = "q8_0" })
    assert.is_true(first == helper.read(path))
    same(tempo.open(path).f64, want["safetensors.f64"])
  end)

  it("writes GGUF", function()
    local path, f = ours "ours.gguf", tempo.open(here .. "small.gguf")
    local arrays, formats = {}, { made = "q8_0" }
    for name in ("matrix half vector deep double whole bf16"):gmatch "%S+" do
      arrays[name] = f[name]
    end
    for name in ("q8_0 q4_0 q4_k q6_k"):gmatch "%S+" do
      arrays[name], formats[name] = f:stored(name), name
    end
    arrays.made = f.q4_0
    local meta = { ["general.architecture"] = "llama", ["llama.block_count"] = 2,
      rate = { f32 = 500000 }, negative = -7, list = { 1, 2, 3 }, tokens = { "a", "", "h\195\169" },
      yes = true, big = 2 ^ 40, none = {}, typed = { u8 = { 1, 255 } }, half = 0.5,
      mixed = { 1, 2.5 } }
    tempo.save(path, arrays, { meta = meta, formats = formats })
    local g = tempo.open(path)
    compare(g, "gguf.", "matrix half vector deep double whole bf16 q8_0 q4_0 q4_k q6_k")
    assert.equal("bf16", g.bf16:dtype())
    local got = g:meta()
    meta.rate, meta.typed = 500000, { 1, 255 }
    assert.same(meta, got)
    local _, format = g:stored "made"
    assert.equal("q8_0", format)
    local x, y = g.made:copy_to {}, f.q4_0:copy_to {}
    for k = 1, #x do assert.is_true(math.abs(x[k] - y[k]) < 0.02) end
    if not keep then
      tempo.save(path, { m = f.q4_0, v = f.vector }, { format = "q4_0" })
      g = tempo.open(path)
      assert.equal("q4_0", (select(2, g:stored "m")))
      assert.equal("f32", (select(2, g:stored "v")))
      same(tempo.open(path).m, f.q4_0)
      tempo.save(path, { m = f.matrix }, { format = "f16" })
      assert.equal("f16", tempo.open(path).m:dtype())
    end
  end)

  it("refuses what a file cannot hold", function()
    local path, a = scratch ".gguf", tempo.array { { 1, 2 } }
    refused("dtype", "GGUF has no bool", tempo.save, path, { a = tempo.array { true } })
    refused("option", "longer than 63", tempo.save, path, { [("n"):rep(64)] = a })
    refused("shape", "no whole blocks", tempo.save, path, { a = a }, { formats = { a = "q8_0" } })
    refused("shape", "at most 4", tempo.save, path,
      { a = tempo.array(1, "f32", { 1, 1, 1, 1, 1 }) })
    refused("option", "no array", tempo.save, path, { a = a }, { formats = { b = "q8_0" } })
    refused("option", "has no 'q8_1'", tempo.save, path, { a = a }, { format = "q8_1" })
    refused("option", "general.alignment", tempo.save, path, { a = a },
      { meta = { ["general.alignment"] = 3 } })
    refused("option", "'x'", tempo.save, path, { a = a }, { meta = { x = { 1, "a" } } })
    refused("option", "'x'", tempo.save, path, { a = a }, { meta = { x = { u8 = 256 } } })
    refused("option", "table of arrays", tempo.save, path, a)
    refused("option", "metta", tempo.save, path, { a = a }, { metta = {} })
    refused("option", "NumPy", tempo.save, scratch ".npz", { a = a }, { meta = {} })
    refused("option", "one array", tempo.save, scratch ".npy", { a = a })
    refused("option", "by name", tempo.save, scratch ".npz", a)
    refused("file", "tempo.open reads", tempo.load, here .. "small.gguf")
    assert.is_nil(io.open(path))
  end)

  it("refuses broken files, with path and place", function()
    local path = scratch ".safetensors"
    local function header(s, data) return write(path, u64(#s) .. s .. (data or "")) end
    local function bad(what, s, data) refused("file", what, tempo.open, header(s, data)) end
    refused("file", "No such file", tempo.open, "/nonexistent/x.gguf")
    refused("file", "begins as no file of weights", tempo.open, write(path, "hello there"))
    refused("file", "begins as no file of weights", tempo.open, write(path, ""))
    refused("file", "no regular file", tempo.open, "/dev/null")
    refused("file", path .. ": the header's length, 1000000, is beyond the file's at byte 0",
      tempo.open, write(path, u64(1000000) .. "{}"))
    bad("no JSON", '{"a": }')
    local one = '{"a": {"dtype":"U8","shape":[2],"data_offsets":[0,2]}, '
    bad("'a' twice", one .. '"a": {"dtype":"U8","shape":[1],"data_offsets":[2,3]}}', "abc")
    bad("its dtype is missing", '{"a": {"shape":[1],"data_offsets":[0,1]}}', "a")
    bad("its shape", '{"a": {"dtype":"U8","shape":[-1],"data_offsets":[0,1]}}', "a")
    bad("its data_offsets are not", '{"a": {"dtype":"U8","shape":[1],"data_offsets":[0,2]}}', "a")
    bad("its data_offsets are not", '{"a": {"dtype":"U8","shape":[1],"data_offsets":[1,0]}}', "a")
    bad("do not fit", '{"a": {"dtype":"F32","shape":[1],"data_offsets":[0,1]}}', "a")
    bad("do not fit", '{"a": {"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}')
    bad("overlaps", one .. '"b": {"dtype":"U8","shape":[2],"data_offsets":[1,3]}}', "abc")
    bad("a gap before 'a'", '{"a": {"dtype":"U8","shape":[1],"data_offsets":[1,2]}}', "ab")
    bad("bytes of no array", '{"a": {"dtype":"U8","shape":[1],"data_offsets":[0,1]}}', "ab")
    bad("__metadata__", '{"__metadata__": {"a": 1}}')
    refused("dtype", "stored as F4", function()
      return tempo.open(header('{"a": {"dtype":"F4","shape":[3],"data_offsets":[0,2]}}', "ab")).a
    end)
    local odd = header(one .. '"b": {"dtype":"F32","shape":[1],"data_offsets":[2,6]}}',
      "xy\0\0\128\63")
    same(tempo.open(odd).b, tempo.array { 1 })
  end)

  it("refuses broken GGUF files", function()
    local path = scratch ".gguf"
    local function bad(what, ...)
      refused("file", what, tempo.open, write(path, "GGUF" .. table.concat { ... }))
    end
    local function one(...) return u32(3) .. u64(1) .. u64(0) .. table.concat { ... } end
    bad("cut off at byte 4")
    bad("neither 2 nor 3 at byte 4", u32(1), u64(0), u64(0))
    bad("big-endian", "\0\0\0\3", u64(0), u64(0))
    bad("count or length is beyond what the file has at byte 8", u32(3), u64(2 ^ 40), u64(0))
    bad("count or length is beyond", u32(3), u64(0), u64(1), u64(2 ^ 50))
    bad("a type of values is unknown at byte 33", u32(3), u64(0), u64(1), text "a", u32(77),
      ("x"):rep(20))
    bad("count or length", u32(3), u64(0), u64(1), text "a", u32(9), u32(8), u64(1000))
    bad("'a' twice", u32(3), u64(0), u64(2), text "a", u32(0), "x", text "a", u32(0), "x",
      ("x"):rep(9))
    bad("alignment", u32(3), u64(0), u64(1), text "general.alignment", u32(4), u32(3))
    bad("more than 16 axes", one(text "a", u32(17), ("x"):rep(99)))
    bad("overflow", one(text "a", u32(2), u64(2 ^ 40), u64(2 ^ 40), u32(0), u64(0)))
    bad("no whole blocks", one(text "a", u32(1), u64(31), u32(8), u64(0)))
    bad("'a' ends beyond", one(text "a", u32(1), u64(13), u32(0), u64(0)), ("x"):rep(50))
    bad("not aligned", one(text "a", u32(1), u64(1), u32(0), u64(4)), ("x"):rep(64))
    bad("overlaps", u32(3) .. u64(2) .. u64(0), text "a", u32(1), u64(1), u32(0), u64(0),
      text "b", u32(1), u64(1), u32(0), u64(0), ("x"):rep(64))
    local deep = {}
    for _ = 1, 12 do deep[#deep + 1] = u32(9) .. u64(1) end
    bad("nested too deep", u32(3), u64(0), u64(1), text "a", u32(9), table.concat(deep),
      ("x"):rep(20))
    refused("dtype", "GGUF's type 99", function()
      local bytes = "GGUF" .. one(text "a", u32(1), u64(3), u32(99), u64(0)) .. ("x"):rep(64)
      return tempo.open(write(path, bytes)).a
    end)
  end)

  it("reads GGUF in parts", function()
    local path = scratch "-00001-of-00002.gguf"
    local second, meta = path:gsub("00001", "00002"), { ["split.count"] = 2, name = "x" }
    paths[#paths + 1] = second
    tempo.save(path, { a = tempo.array { 1 } }, { meta = meta })
    refused("file", "00002-of-00002.gguf: No such file", tempo.open, path)
    tempo.save(second, { b = tempo.array { 2 } }, { meta = meta })
    local f = tempo.open(path)
    assert.same({ 1, 2 }, { f.a:item(), f.b:item() })
    assert.same(meta, f:meta())
    refused("file", "open the first one", tempo.open, second)
    tempo.save(second, { a = tempo.array { 2 } }, { meta = meta })
    refused("file", "'a' twice", tempo.open, path)
  end)

  it("refuses indices that lead elsewhere", function()
    local path = scratch ".safetensors.index.json"
    local name = path:match "[^/]*$"
    for what, s in pairs {
      ["in no file of this folder"] = '{"weight_map": {"a": "../x.safetensors"}}',
      ["no weight_map"] = '{"metadata": {}}',
      ["No such file"] = '{"weight_map": {"a": "none.safetensors"}}',
      ["begins as no file"] = ('{"weight_map": {"a": "%s"}}'):format(name),
    } do refused("file", what, tempo.open, write(path, s)) end
    tempo.save(scratch ".safetensors", { a = tempo.array { 1 } })
    local index = ('{"weight_map": {"b": "%s"}}'):format(paths[#paths]:match "[^/]*$")
    refused("file", "'b' is not in", tempo.open, write(path, index))
    refused("file", "no file of weights", tempo.open, "spec/c")
    refused("file", "several files", tempo.open, here)
  end)

  it("tells that a file has changed", function()
    local path = scratch ".safetensors"
    tempo.save(path, { a = tempo.array { 1, 2, 3 } })
    local f = tempo.open(path)
    local a = f.a
    tempo.save(path, { a = tempo.array { 4 } }) -- another file of the same name
    same(f.a, a)
    assert.same({ 4 }, tempo.open(path).a:totable())
    f = tempo.open(path)
    local h = assert(io.open(path, "ab"))
    h:write "more"
    h:close()
    refused("file", "changed since", function() return f.a end)
  end)
end)

-- A host's work with include/tempo.h beside running: options, looking, callbacks, environments,
-- parameters, states, files, cancelling, and what every function says to a mistake. Skipped where
-- there is no FFI.
local capi = require "spec.capi"
if not capi then return end
local tempo = require "tempo"
local ffi, C, err = capi.ffi, capi.C, capi.err
local tiers = { "reference", "interpreter" }

-- x doubles u at each tick and adds it up; w counts ticks, by `rate`.
local text = [[
graph seed 11 nrand 0
dim b:B
dim t:T
%0 = input {str "x"} : (b t) f32 [2]
%1 = input {str "scale"} : () f32 []
%2 = mul %0, %1 : (b t) f32 [2] @ host.lua:3
%3 "h" = merge %2 if t == 0 @ host.lua:4, %5 @ host.lua:5 : (b t) f32 [2] @ host.lua:4
%4 = read %3 {at [b, t - 1]} : (b t) f32 [2]
%5 = add %4, %2 : (b t) f32 [2]
%6 = fill {f 1} : () f32 []
%7 "rate" = param %6 {str "net.rate"} : () f32 []
%8 = fill {f 10} : (b) f32 []
%9 = param %8, %10 {str "net.count", along (t)} : (b t) f32 [] @ host.lua:9
%10 = add %9, %7 : (b t) f32 []
output "h" %3
]]

local function whole(B, T)
  local list = {}
  for k = 1, B * T * 2 do list[k] = k end
  return capi.array("f32", { B, T, 2 }, list)
end

local function scalar(v) return capi.array("f32", {}, { v }) end

local function file_name(f)
  local path = os.tmpname()
  local ok, e = pcall(f, path)
  os.remove(path)
  if not ok then error(e, 0) end
end

-- A callback of C for as long as f runs.
local function with_callback(fn, f)
  local cb = ffi.cast("tempo_callback *", fn)
  local ok, e = pcall(f, cb)
  cb:free()
  if not ok then error(e, 0) end
end

describe("a compiled function", function()
  it("is made with options", function()
    assert.truthy(capi.compile(text))
    assert.truthy(
      capi.compile(text,
      { tier = "interpreter", passes = "none", precise = 1, threads = 2, memory = 2 ^ 20,
      device = "cpu" }))
    assert.truthy(capi.compile(text, { memory = -1, check = "nan" }))
    local f = capi.compile(text, { passes = "cse=false" })
    assert.truthy(capi.text(C.tempo_explain(f, "passes", err)):find "cse +off")
    local g = capi.compile(text, { async = 1 })
    assert.equal(0, C.tempo_ready(nil))
    while C.tempo_ready(g) == 0 do end
    assert.equal("h", ffi.string(C.tempo_function_output_name(g, 0)))
    g = capi.compile(
      "dim t:T\n%0 \"h\" = merge %1 : (t) f32 []\n%1 = read %0 {at [t + 1]} : (t) f32 []\noutput \"h\" %0\n", { async = 1 })
    for _ = 1, 2 do
      local code, message = capi.refused(C.tempo_param(g, "w", err))
      assert.equal(C.TEMPO_E_DOMAIN, code, message)
    end
    for wrong, want in pairs {
      [{ tier = "fast" }] = { C.TEMPO_E_OPTION, "option: unknown tier 'fast'" },
      [{ passes = "csee" }] = { C.TEMPO_E_OPTION, "did you mean 'cse'?" },
      [{ device = "gpu" }] = { C.TEMPO_E_DEVICE, "device 'gpu'" },
      [{ threads = -1 }] = { C.TEMPO_E_OPTION, "threads" },
      [{ memory = -2 }] = { C.TEMPO_E_OPTION, "memory: expected a number of bytes" },
      [{ check = "inf" }] = { C.TEMPO_E_OPTION, "check is 'inf'" },
      [{ tick = { "k" } }] = { C.TEMPO_E_OPTION, "no dim 'k'" },
      [{ tick = { "t", "t" } }] = { C.TEMPO_E_OPTION, "'t' is listed twice" },
    } do
      local code, message = capi.refused(capi.compile(text, wrong))
      assert.equal(want[1], code, message)
      assert.truthy(message:find(want[2], 1, true), message)
    end
    local p, o = capi.ok(C.tempo_program_parse(text, err)), ffi.new "tempo_options"
    local _, message = capi.refused(C.tempo_compile_with(p, o, err))
    assert.truthy(message:find("option: tempo_options: its size is 0", 1, true))
    o.size = ffi.sizeof "tempo_options" + 8
    capi.refused(C.tempo_compile_with(p, o, err))
    -- an older header's, which had nothing else
    o.size = ffi.sizeof "size_t"
    C.tempo_function_free(capi.ok(C.tempo_compile_with(p, o, err)))
    C.tempo_function_free(capi.ok(C.tempo_compile_with(p, nil, err)))
    C.tempo_program_free(p)
  end)

  it("says what it has", function()
    local f = capi.compile(text, { tick = { "t" } })
    assert.same({ "x", "scale" }, capi.names(f, C.TEMPO_INPUT))
    assert.same({ "x" }, capi.names(f, C.TEMPO_VALUE))
    assert.same({ "h" }, capi.names(f, C.TEMPO_OUTPUT))
    assert.same({ "net.rate", "net.count" }, capi.names(f, C.TEMPO_PARAM))
    assert.same({ "B", "T" }, capi.names(f, C.TEMPO_BOUND))
    assert.same({ "t" }, capi.names(f, C.TEMPO_TICK))
    assert.same({}, capi.names(f, C.TEMPO_CALLBACK))
    assert.same({}, capi.names(f, C.TEMPO_WARNING))
    assert.equal(1, C.tempo_function_find(f, C.TEMPO_PARAM, "net.count"))
    assert.equal(-1, C.tempo_function_find(f, C.TEMPO_PARAM, "count"))
    assert.is_true(C.tempo_function_name(f, C.TEMPO_INPUT, 2) == nil)
    assert.is_true(C.tempo_function_name(f, C.TEMPO_INPUT, -1) == nil)
    assert.equal("f32", ffi.string(C.tempo_function_dtype(f, C.TEMPO_PARAM, 0)))
    assert.is_true(C.tempo_function_dtype(f, C.TEMPO_BOUND, 0) == nil)
    assert.equal(11, tonumber(C.tempo_function_seed(f)))
    local shape = ffi.new "int64_t[16]"
    local function extents(kind, i, t)
      local n, names, v = capi.bounds(t)
      local rank = C.tempo_function_shape(f, kind, i, n, names, v, shape, err)
      local list = {}
      for k = 1, rank do list[k] = tonumber(shape[k - 1]) end
      return rank >= 0 and list or nil
    end
    assert.same({ 3, 5, 2 }, extents(C.TEMPO_INPUT, 0, { B = 3, T = 5 }))
    assert.same({ 3, 5, 2 }, extents(C.TEMPO_OUTPUT, 0, { B = 3, T = 5 }))
    assert.same({ 3, 2 }, extents(C.TEMPO_VALUE, 0, { B = 3 }))
    assert.same({}, extents(C.TEMPO_INPUT, 1, {}))
    assert.same({ 4 }, extents(C.TEMPO_PARAM, 1, { B = 4 }))
    assert.is_nil(extents(C.TEMPO_INPUT, 0, { B = 3 }))
    assert.truthy(ffi.string(err.message):find("bound 'T' is missing", 1, true))
    assert.is_nil(extents(C.TEMPO_INPUT, 2, {}))
    assert.truthy(ffi.string(err.message):find("no item 2", 1, true))
    local one = capi.compile "dim i:I\n%0 = input {str \"x\"} : (i) f32 []\noutput \"x\" %0\nwarning \"mind the gap\""
    assert.same({ "mind the gap" }, capi.names(one, C.TEMPO_WARNING))
  end)

  it("tells what it costs and what was made of it", function()
    local f, bytes = capi.compile(text), ffi.new "int64_t[1]"
    local n, names, v = capi.bounds { B = 2, T = 100 }
    assert.equal(1, C.tempo_memory(f, n, names, v, bytes, err))
    assert.is_true(bytes[0] > 0)
    assert.truthy(capi.run(f, { x = whole(2, 100), scale = scalar(1) }, { B = 2, T = 100 }))
    assert.equal(bytes[0], C.tempo_peak(f))
    assert.truthy(capi.text(C.tempo_explain_for(f, "memory", n, names, v, err)):find "at the peak:")
    assert.truthy(
      capi.text(C.tempo_explain_for(f, nil, n, names, v, err)):find(
      ("needs %d bytes"):format(tonumber(bytes[0])), 1, true))
    assert.truthy(#capi.text(C.tempo_profile(f, 3, err)) > 0)
    capi.refused(C.tempo_memory(f, 1, names, v, bytes, err))
    assert.truthy(ffi.string(err.message):find("bound 'T' is missing", 1, true))
    local _, message = capi.refused(C.tempo_explain(f, "memroy", err))
    assert.truthy(message:find("did you mean 'memory'", 1, true))
    capi.refused(C.tempo_profile(f, -1, err))
    local slow = capi.compile(text, { tier = "reference" })
    assert.equal(1, C.tempo_memory(slow, n, names, v, bytes, err))
    assert.equal(-1, tonumber(bytes[0]))
  end)

  it("wants what the program names, once, and nothing else", function()
    local f = capi.compile(text)
    local x, s = whole(1, 1), scalar(2)
    local function why(inputs, bounds)
      assert.is_nil(capi.run(f, inputs, bounds))
      return ffi.string(err.message), err.code
    end
    local message, code = why({ x = x }, { B = 1, T = 1 })
    assert.equal("input 'scale' is missing", message)
    assert.equal(C.TEMPO_E_INPUT, code)
    assert.equal("input: unknown input 'scal'; did you mean 'scale'?",
      (why({ x = x, scal = s }, { B = 1, T = 1 })))
    message, code = why({ x = x, scale = s }, { B = 1, T = 1, t = 1 })
    assert.equal("bound: unknown bound 't': it is a dim, whose bound is 'T'", message)
    assert.equal(C.TEMPO_E_BOUND, code)
    assert.equal("bound: unknown bound 'Q'; there is 'B' and 'T'",
      (why({ x = x, scale = s }, { B = 1, T = 1, Q = 1 })))
    assert.equal("bound 'T' is missing", (why({ x = x, scale = s }, { B = 1 })))
    assert.equal("bound 'T' is negative", (why({ x = x, scale = s }, { B = 1, T = -1 })))
    message = why({ x = s, scale = s }, { B = 1, T = 1 })
    assert.truthy(message:find("input 'x' has shape (), needs (B, T, 2) = (1, 1, 2)", 1, true),
      message)
    message = why({ x = capi.array("f64", { 1, 1, 2 }, {}), scale = s }, { B = 1, T = 1 })
    assert.truthy(message:find "^input 'x' has dtype f64, declared f32", message)
    local out = ffi.new("tempo_array *[1]", ffi.cast("tempo_array *", 1))
    local none = ffi.new "tempo_array *[2]"
    none[0] = x
    capi.refused(C.tempo_run(f, 2, capi.strings { "x", "scale" }, none, 2,
      capi.strings { "B", "T" }, ffi.new("int64_t[2]", 1, 1), 0, out, err))
    assert.truthy(ffi.string(err.message):find("'scale' is NULL", 1, true))
    assert.is_true(out[0] == nil)
    none[1] = x
    capi.refused(C.tempo_run(f, 2, capi.strings { "x", "x" }, none, 2, capi.strings { "B", "T" },
      ffi.new("int64_t[2]", 1, 1), 0, out, err))
    assert.truthy(ffi.string(err.message):find("'x' is given twice", 1, true))
    assert.same({ h = { 2, 4 } }, capi.run(f, { x = x, scale = s }, { B = 1, T = 1 }))
    local b = capi.compile "%0 = input {str \"b\"} : () bool [3]\n%1 = cast %0 : () f32 [3]\noutput \"y\" %1"
    local three = capi.array("bool", { 3 }, { 1, 0, 1 })
    assert.same({ y = { 1, 0, 1 } }, capi.run(b, { b = three }, {}))
    ffi.cast("uint8_t *", C.tempo_array_data(three))[1] = 7
    assert.is_nil(capi.run(b, { b = three }, {}))
    assert.truthy(ffi.string(err.message):find("its element 1 is neither 0 nor 1", 1, true))
  end)
end)

describe("arrays of C", function()
  it("convert, copy and are counted", function()
    local a = capi.array("f32", { 2, 3 }, { 1, 2, 3, 4, 5, 6.5 })
    assert.equal(2, C.tempo_array_rank(a))
    assert.equal(3, tonumber(C.tempo_array_extent(a, 1)))
    assert.equal(6.5, C.tempo_array_get(a, 5))
    local b, c = C.tempo_array_copy(a), C.tempo_array_ref(a)
    C.tempo_array_set(a, 0, 9)
    assert.equal(1, C.tempo_array_get(b, 0))
    assert.equal(9, C.tempo_array_get(c, 0))
    assert.is_true(C.tempo_array_data(c) == C.tempo_array_data(a))
    C.tempo_array_free(b)
    C.tempo_array_free(c)
    for dtype, want in pairs { i32 = 300, u8 = 255, bool = 1, i64 = 300, f64 = 300.7 } do
      assert.equal(want, capi.numbers(capi.array(dtype, { 1 }, { 300.7 }))[1], dtype)
    end
    local memory = ffi.new("double[2]", 3, 4)
    local w = C.tempo_array_wrap("f64", 1, ffi.new("int64_t[1]", 2), memory)
    C.tempo_array_set(w, 1, 5)
    assert.equal(5, memory[1])
    C.tempo_array_free(w)
  end)

  it("refuse what cannot be", function()
    local function refused(a) return a == nil and ffi.string(C.tempo_last_error().message) end
    local one = ffi.new("int64_t[1]", 1)
    assert.equal("dtype: tempo_array_new: unknown dtype 'f23'; did you mean 'f32'?",
      refused(C.tempo_array_new("f23", 1, one)))
    assert.equal("shape: tempo_array_new: the extent of axis 0 is -1",
      refused(C.tempo_array_new("f32", 1, ffi.new("int64_t[1]", -1))))
    assert.equal("shape: tempo_array_new: 17 axes; there may be 0 to 16",
      refused(C.tempo_array_new("f32", 17, one)))
    assert.equal("memory: no memory for an array",
      refused(C.tempo_array_new("f32", 1, ffi.new("int64_t[1]", 2 ^ 60))))
    assert.equal("option: tempo_array_wrap: data is NULL",
      refused(C.tempo_array_wrap("f32", 1, one, nil)))
    assert.equal("option: tempo_array_copy: the array is NULL", refused(C.tempo_array_copy(nil)))
    local a = capi.array("f32", { 2 }, { 1, 2 })
    local nan = C.tempo_array_get(a, 2)
    assert.is_true(nan ~= nan)
    assert.equal("shape: tempo_array_get: element 2 of 2", ffi.string(C.tempo_last_error().message))
    assert.equal(0, C.tempo_array_set(a, -1, 0))
    assert.equal(0, tonumber(C.tempo_array_extent(a, 1)))
    assert.equal(0, tonumber(C.tempo_array_count(nil)))
    C.tempo_array_free(nil)
  end)

  it("lie in NumPy's files, as Lua's do", function()
    file_name(function(path)
      local a = capi.array("f32", { 2, 2 }, { 1, 2, 3, 4 })
      assert.equal(1, C.tempo_array_save(a, path, err))
      assert.same({ { 1, 2 }, { 3, 4 } }, tempo.load(path):totable())
      tempo.array({ 5, 6 }, "i64"):save(path)
      local b = capi.ok(C.tempo_array_load(path, err))
      assert.equal("i64", ffi.string(C.tempo_array_dtype(b)))
      assert.same({ 5, 6 }, capi.numbers(b))
      C.tempo_array_free(b)
      local code, message = capi.refused(C.tempo_array_load("no such file", err))
      assert.equal(C.TEMPO_E_FILE, code)
      assert.truthy(message:find("no such file", 1, true))
      assert.equal(C.TEMPO_E_FILE,
        (capi.refused(C.tempo_array_save(a, "no such folder/x.npy", err))))
      tempo.save(path, { a = tempo.array { 1 } })
      assert.truthy(select(2, capi.refused(C.tempo_array_load(path, err))):find("several arrays", 1,
        true))
    end)
  end)
end)

describe("parameters", function()
  for _, tier in ipairs(tiers) do
    it("are given and taken by name, on the " .. tier, function()
      local f = capi.compile(text, { tier = tier })
      local inputs = { x = whole(2, 3), scale = scalar(1) }
      local function count()
        return capi.numbers(ffi.gc(capi.ok(C.tempo_param(f, "net.count", err)), C.tempo_array_free))
      end
      local _, message = capi.refused(C.tempo_param(f, "net.count", err))
      assert.truthy(message:find("has no value yet", 1, true))
      assert.truthy(
        select(2, capi.refused(C.tempo_param(f, "net.cuont", err))):find("did you mean 'net.count'",
        1, true))
      assert.truthy(capi.run(f, inputs, { B = 2, T = 3 }))
      assert.same({ 13, 13 }, count())
      local rate = scalar(99)
      assert.equal(1, C.tempo_load_param(f, "net.rate", rate, err))
      -- a constant is borrowed: it counts as it is when the program runs
      C.tempo_array_set(rate, 0, 0.5)
      assert.equal(1, C.tempo_load_param(f, "net.count", capi.array("f32", { 2 }, { 1, 2 }), err))
      assert.same({ 1, 2 }, count())
      assert.truthy(capi.run(f, inputs, { B = 2, T = 3 }))
      assert.same({ 2.5, 3.5 }, count())
      assert.equal(C.TEMPO_E_SHAPE,
        (capi.refused(C.tempo_load_param(f, "net.rate", capi.array("f32", { 1 }, {}), err))))
      assert.equal(C.TEMPO_E_DTYPE,
        (capi.refused(C.tempo_load_param(f, "net.rate", capi.array("f64", {}, {}), err))))
      assert.equal(C.TEMPO_E_OPTION, (capi.refused(C.tempo_load_param(f, "rate", rate, err))))
      -- only the call knows B
      assert.equal(1, C.tempo_load_param(f, "net.count", capi.array("f32", { 3 }, {}), err))
      assert.is_nil(capi.run(f, inputs, { B = 2, T = 3 }))
      assert.equal(C.TEMPO_E_SHAPE, err.code)
    end)
  end

  it("lie in a file that Lua reads and writes", function()
    file_name(function(path)
      local f, g = capi.compile(text), capi.compile(text)
      local inputs = { x = whole(2, 3), scale = scalar(1) }
      assert.truthy(
        select(2, capi.refused(C.tempo_save_params(f, path, err))):find("no parameter with a value",
        1, true))
      assert.truthy(capi.run(f, inputs, { B = 2, T = 3 }))
      assert.equal(1, C.tempo_save_params(f, path, err))
      local all = tempo.load(path)
      assert.same({ 13, 13 }, all["net.count"]:totable())
      assert.equal(1, all["net.rate"]:item())
      assert.equal(1, C.tempo_load_params(g, path, err))
      assert.truthy(capi.run(g, inputs, { B = 2, T = 3 }))
      assert.same({ 16, 16 },
        capi.numbers(ffi.gc(C.tempo_param(g, "net.count", err), C.tempo_array_free)))
      tempo.save(path, { ["net.rate"] = tempo.array(2), ["net.other"] = tempo.array(1) })
      assert.truthy(
        select(2, capi.refused(C.tempo_load_params(g, path, err))):find("no parameter 'net.other'",
        1, true))
      -- none was loaded
      assert.same({ 1 },
        capi.numbers(ffi.gc(C.tempo_param(g, "net.rate", err), C.tempo_array_free)))
      tempo.save(path, { ["net.rate"] = tempo.array(2) })
      assert.equal(1, C.tempo_load_params(g, path, err))
      assert.same({ 2 },
        capi.numbers(ffi.gc(C.tempo_param(g, "net.rate", err), C.tempo_array_free)))
      tempo.array(2):save(path)
      assert.equal(C.TEMPO_E_FILE, (capi.refused(C.tempo_load_params(g, path, err))))
    end)
  end)
end)

-- v is given by a source; what a sink gets is told.
local calling = [[
dim b:B
dim t:T
%0 "v" = call {fn 2} : (b t) f32 [2], bool [] @ host.lua:3
%1 "total" = sum %0 {axes 0} : (b t) f32 [] @ host.lua:4
%2 = call %1, %0.1 {fn 5, over (b)} : (b t) @ host.lua:5
output "total" %1
]]

describe("callbacks of C", function()
  for _, tier in ipairs(tiers) do
    it("are called in order with the point and the arrays, on the " .. tier, function()
      local f, told = capi.compile(calling, { tier = tier }), {}
      assert.same({ "v", "total" }, capi.names(f, C.TEMPO_CALLBACK))
      local function source(_, c)
        assert(c.ndim == 2 and ffi.string(c.dim[0]) == "b" and ffi.string(c.dim[1]) == "t"
          and c.narg == 0 and c.nresult == 2)
        assert(c.callback == 0 and ffi.string(c.name) == "v" and c["function"] == f)
        local b, t = tonumber(c.at[0]), tonumber(c.at[1])
        assert(C.tempo_array_get(c.result[0], 1) == 0)      -- zeroed
        C.tempo_array_set(c.result[0], 0, 10 * b)
        C.tempo_array_set(c.result[0], 1, t)
        C.tempo_array_set(c.result[1], 0, b == t and 1 or 0)
        return 1
      end
      local function sink(data, c)
        assert(ffi.cast("int *", data)[0] == 77 and c.ndim == 1 and c.narg == 2 and c.nresult == 0)
        told[#told + 1] = { tonumber(c.at[0]), capi.numbers(c.arg[0]), capi.numbers(c.arg[1]) }
        return 1
      end
      local data = ffi.new("int[1]", 77)
      with_callback(source, function(first)
        with_callback(sink, function(second)
          assert.is_nil(capi.run(f, {}, { B = 2, T = 3 }))
          assert.equal(C.TEMPO_E_CALLBACK, err.code)
          assert.equal(
            "host.lua:3: callback: 'v' is called, and tempo_set_callback has set no function for it", ffi.string(err.message))
          assert.equal(1, C.tempo_set_callback(f, 0, first, nil, err))
          assert.equal(1,
            C.tempo_set_callback(f, C.tempo_function_find(f, C.TEMPO_CALLBACK, "total"), second,
            data, err))
          assert.same({ total = { 0, 1, 2, 10, 11, 12 } }, capi.run(f, {}, { B = 2, T = 3 }))
          assert.same({ { 0, { 0, 10 }, { 1, 0 } }, { 1, { 1, 11 }, { 0, 1 } },
            { 2, { 2, 12 }, { 0, 0 } } }, told)
        end)
      end)
      assert.truthy(
        select(2, capi.refused(C.tempo_set_callback(f, 2, nil, nil, err))):find("no callback 2", 1,
        true))
    end)

    it("end a run with their own words, or ours, on the " .. tier, function()
      local f, how = capi.compile(calling, { tier = tier }), nil
      local function source(_, c, e)
        if how == "bool" then ffi.cast("uint8_t *", C.tempo_array_data(c.result[1]))[0] = 2 end
        if how == "words" and c.at[1] == 1 then
          e.code = 1234
          ffi.copy(e.message, "the server went away")
        end
        return (how == "words" or how == "none") and c.at[1] == 1 and 0 or 1
      end
      with_callback(source, function(cb)
        assert.equal(1, C.tempo_set_callback(f, 0, cb, nil, err))
        with_callback(function() return 1 end, function(sink)
          assert.equal(1, C.tempo_set_callback(f, 1, sink, nil, err))
          for kind, want in pairs { words = "the server went away",
            none = "host.lua:3: callback: 'v' ended the run",
              bool = "host.lua:3: callback: 'v': result 1 is bool, and its element 0 is neither 0 nor 1" } do
            how = kind
            assert.is_nil(capi.run(f, {}, { B = 1, T = 3 }))
            assert.equal(want, ffi.string(err.message))
            assert.equal(kind == "words" and 1234 or C.TEMPO_E_CALLBACK, err.code)
            capi.refused(0)
          end
          how = nil
          assert.same({ total = { 0, 0, 0 } }, capi.run(f, {}, { B = 1, T = 3 }))
        end)
      end)
    end)

    it("may run another function, but only cancel their own, on the " .. tier, function()
      local f, g, why, inner = capi.compile(calling, { tier = tier }),
        capi.compile(text, { tier = tier }), {}, nil
      local inputs = { x = whole(1, 1), scale = scalar(3) }
      local function source(_, c)
        inner = capi.run(g, inputs, { B = 1, T = 1 })
        capi.run(f, {}, { B = 1, T = 1 })
        why[1] = ffi.string(err.message)
        C.tempo_state(f, ffi.new "size_t[1]", err)
        why[2] = ffi.string(err.message)
        C.tempo_function_free(f)
        why[3] = ffi.string(C.tempo_last_error().message)
        if c.at[1] == 2 then assert(C.tempo_cancel(c["function"]) == 1) end
        return 1
      end
      assert.equal(0, C.tempo_cancel(f))
      with_callback(source, function(cb)
        C.tempo_set_callback(f, 0, cb, nil, err)
        with_callback(function() return 1 end, function(sink)
          C.tempo_set_callback(f, 1, sink, nil, err)
          local out = capi.run(f, {}, { B = 1, T = 5 })
          assert.same({}, out)                              -- not complete
          assert.equal(1, C.tempo_cancelled(f))
          assert.same({ h = { 3, 6 } }, inner)
          for _, message in ipairs(why) do
            assert.truthy(message:find("this function is running", 1, true), message)
          end
          assert.same({ total = { 0, 0 } }, capi.run(f, {}, { B = 1, T = 2 }))
          assert.equal(0, C.tempo_cancelled(f))
        end)
      end)
    end)
  end
end)

describe("steps and states of C", function()
  for _, tier in ipairs(tiers) do
    it("copy the values they are given, on the " .. tier, function()
      for _, budget in ipairs { -1, 0, 100 } do
        local f = capi.compile(text, { tier = tier, tick = { "t" } })
        local x, at = capi.array("f32", { 1, 2 }, { 0, 0 }), ffi.new "int64_t[1]"
        assert.equal(0, C.tempo_next_tick(f, at))
        assert.equal(1, capi.start(f, { scale = scalar(1) }, { B = 1, T = 4 }))
        local sum = 0
        for k = 1, 4 do
          assert.equal(1, C.tempo_next_tick(f, at))
          assert.equal(k - 1, tonumber(at[0]))
          C.tempo_array_set(x, 0, k)
          local out, done = capi.step(f, { x = x }, budget)
          C.tempo_array_set(x, 0, 1000)
          sum = sum + k
          assert.same({ h = { sum, 0 } }, out)
          assert.equal(k == 4, done)
        end
        assert.equal(0, C.tempo_next_tick(f, nil))
      end
    end)

    it("go on in C from a state of Lua's, and the other way round, on the " .. tier, function()
      local P = tempo.program { seed = 5 }
      local i, t = P:dim "i", (P:dim "t")
      local x = P:input("x", { domain = { i, t } })
      local w = P:param("w", { along = { i }, init = 1 })
      local y = (x * w + tempo.uniform({}, { domain = { i, t }, name = "u" })):name "y"
      w:update(w - 0.1 * tempo.grad((y - 1):square(), { w })[1])
      local f = P:compile { outputs = { y = y }, tier = tier, tick = { i, t } }
      local g = capi.compile(f:explain "graph", { tier = tier, tick = { "i", "t" } })
      local function go(from, to, step)
        local list = {}
        for k = from, to do list[#list + 1] = step(k) end
        return list
      end
      local function lua(k)
        local _, out = f:step { x = k }
        return out.y:item()
      end
      local function c(k) return capi.step(g, { x = scalar(k) }).y[1] end
      local function newest()
        return capi.numbers(ffi.gc(capi.ok(C.tempo_param(g, "w", err)), C.tempo_array_free))[1]
      end
      f:start({}, { I = 3, T = 4 }, { seed = 9 })
      assert.equal(1, capi.start(g, {}, { I = 3, T = 4 }, 9))
      local seen, want = {}, {}
      for k = 1, 12 do
        want[k] = lua(k)
        assert.equal(want[k], c(k))
        assert.equal(f:params().w:item(), newest())
        seen[newest()] = true
      end
      local values = 0
      for _ in pairs(seen) do values = values + 1 end
      assert.is_true(values >= 3)                           -- of the ticks, not only the last
      file_name(function(path)
        f:start({}, { I = 3, T = 4 }, { seed = 9 })
        go(1, 5, lua)
        f:save(path)
        assert.equal(1, C.tempo_load(g, path, err), ffi.string(err.message))
        local rest = go(6, 8, c)
        assert.same({ want[6], want[7], want[8] }, rest)
        assert.equal(1, C.tempo_save(g, path, err))
        f:load(path)
        assert.same({ want[9], want[10], want[11], want[12] }, go(9, 12, lua))
        -- what is left, at once, from the state in bytes
        assert.equal(1, C.tempo_load(g, path, err))
        local size = ffi.new "size_t[1]"
        local state = capi.ok(C.tempo_state(g, size, err))
        local out, all = ffi.new "tempo_array *[1]",
          capi.array("f32", { 3, 4 }, { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 })
        assert.equal(1,
          C.tempo_resume(g, state, size[0], 1, capi.strings { "x" },
          ffi.new("tempo_array *[1]", all), 2,
          capi.strings { "I", "T" }, ffi.new("int64_t[2]", 3, 4), out, err),
            ffi.string(err.message))
        assert.same(want, capi.numbers(out[0]))
        C.tempo_array_free(out[0])
        capi.refused(C.tempo_resume(g, state, size[0] - 1, 1, capi.strings { "x" },
          ffi.new("tempo_array *[1]", all), 2,
          capi.strings { "I", "T" }, ffi.new("int64_t[2]", 3, 4), out, err))
        assert.equal(C.TEMPO_E_FILE, err.code)
        C.tempo_bytes_free(state)
      end)
      assert.equal(C.TEMPO_E_FILE, (capi.refused(C.tempo_load(g, "no such file", err))))
      local other = capi.compile(text, { tier = tier, tick = { "t" } })
      assert.equal(C.TEMPO_E_OPTION, (capi.refused(C.tempo_save(other, "/tmp/x", err))))
    end)
  end

  it("refuse what is not theirs", function()
    local f = capi.compile(text, { tick = { "t" } })
    assert.is_nil(capi.step(f, {}))
    assert.equal(C.TEMPO_E_OPTION, err.code)
    assert.equal(0, capi.start(f, {}, { B = 1, T = 2 }))
    assert.equal("input 'scale' is missing", ffi.string(err.message))
    assert.equal(1, capi.start(f, { scale = scalar(1) }, { B = 1, T = 2 }))
    local x = capi.array("f32", { 1, 2 }, { 1, 1 })
    assert.is_nil(capi.step(f, { x = x, scale = scalar(1) }))
    assert.equal("input 'scale' does not have the tick dims: tempo_start takes it",
      ffi.string(err.message))
    assert.is_nil(capi.step(f, { x = x }, 0 / 0))
    assert.equal("option: tempo_step: budget_ms is nan", ffi.string(err.message))
    assert.is_nil(capi.step(f, {}))
    assert.equal("input 'x' is missing", ffi.string(err.message))
    assert.same({ h = { 1, 1 } }, (capi.step(f, { x = x })))       -- none of it ended the run
  end)
end)

-- A point on a line that is pushed; and a wide one whose observation is its state.
describe("environments of C", function()
  local kept = {}
  local function env(fields)
    local e = ffi.new "tempo_env"
    for name, v in pairs(fields) do
      if type(v) == "function" then
        v = ffi.cast("void (*)()", ffi.cast(ffi.typeof(e[name]), v))
        kept[#kept + 1] = v
      end
      e[name] = type(v) == "cdata" and ffi.cast(ffi.typeof(e[name]), v) or v
    end
    kept[#kept + 1] = e
    kept[#kept + 1] = fields
    return e
  end

  local function observe_n(n)
    return function(_, s, obs)
      for k = 0, n - 1 do obs[k] = s[k] end
    end
  end

  local push = { name = "capi-push", nstate = 2, shape = { 2, 0 }, nreset = 1, nact = 1,
    reset = function(_, u, s) s[0], s[1] = u[0], 0 end, observe = observe_n(2),
    step = function(data, s, action, _, next, reward, terminated)
      local force = ffi.cast("const float *", action)[0] * ffi.cast("double *", data)[0]
      local x, v = s[0] + s[1], s[1] + force
      next[0], next[1], reward[0], terminated[0] = x, v, -x, x > 3 and 1 or 0
    end }
  local wide = { name = "capi-wide", nstate = 100, shape = { 10, 10 }, nactions = 3,
    reset = function(_, _, s) for k = 0, 99 do s[k] = k end end, observe = observe_n(100),
    step = function(_, s, action, _, next, reward, _, truncated)
      for k = 0, 99 do next[k] = s[k] + tonumber(ffi.cast("const int64_t *", action)[0]) end
      reward[0], truncated[0] = next[99], next[0] >= 4 and 1 or 0
    end }
  local gain = ffi.new("double[1]", 0.5)
  push.data = gain

  setup(function()
    for _, e in ipairs { push, wide } do
      assert.equal(1, C.tempo_env_register(env(e), err), ffi.string(err.message))
    end
  end)

  local function program(name, nstate, nobs, nu, action)
    return ([[
dim t:T
%%0 = fill {f 0.25} : () f64 [NU]
%%1 = env_reset %%0 {str "NAME"} : () f64 [NS]
%%2 "s" = merge %%1 if t == 0, %%6 : (t) f64 [NS]
%%3 = env_obs %%2 {str "NAME"} : (t) f32 [NO]
%%4 = input {str "a"} : (t) ACTION
%%5 = env_step %%2, %%4, %%0 {str "NAME"} : (t) f64 [NS], f32 [NO], f32 [], bool [], bool []
%%6 = read %%5 {at [t - 1]} : (t) f64 [NS]
output "obs" %%3
output "next" %%5.1
output "reward" %%5.2
output "terminated" %%5.3
output "truncated" %%5.4
]]):gsub("%%%%", "%%"):gsub("NAME", name):gsub("NS", nstate):gsub("NO", nobs):gsub("NU", nu):gsub("ACTION", action)
  end

  for _, tier in ipairs(tiers) do
    it("take floats, and reset themselves, on the " .. tier, function()
      local f = capi.compile((program("capi-push", 2, 2, 1, "f32 [1]")), { tier = tier })
      local forces = { 2, 2, 0, -1, 2, 4, 4 }
      local out = capi.run(f, { a = capi.array("f32", { 7, 1 }, forces) }, { T = 7 })
      local x, v, obs, after, terminated = 0.25, 0, {}, {}, {}
      for t = 1, 7 do
        obs[2 * t - 1], obs[2 * t] = x, v
        local nx, nv = x + v, v + forces[t] / 2
        after[2 * t - 1], after[2 * t], terminated[t] = nx, nv, nx > 3 and 1 or 0
        if nx > 3 then x, v = 0.25, 0 else x, v = nx, nv end
      end
      assert.same(obs, out.obs)
      assert.same(after, out.next)
      assert.same(terminated, out.terminated)
      assert.truthy(table.concat(terminated):find "1")
    end)

    it("may be wide, without random numbers, with actions that are counted, on the " .. tier,
      function()
      local f = capi.compile((program("capi-wide", 100, 100, 0, "i64 []")), { tier = tier })
      local out = capi.run(f, { a = capi.array("i64", { 3 }, { 2, 1, 2 }) }, { T = 3 })
      assert.same({ 101, 102, 104 }, out.reward)
      assert.same({ 0, 0, 1 }, out.truncated)
      assert.equal(99 + 3, out.obs[300])
      assert.is_nil(capi.run(f, { a = capi.array("i64", { 3 }, { 2, 3, 2 }) }, { T = 3 }))
      assert.equal(C.TEMPO_E_INPUT, err.code)
      assert.truthy(ffi.string(err.message):find("action 3 of capi-wide is outside 0 .. 2", 1,
        true))
    end)
  end

  it("stand in tempo.rl.envs beside ours, whenever a host registers them", function()
    local module, found = ffi.load(assert(package.searchpath("tempo", package.cpath))), {}
    for id in pairs(tempo.rl.envs) do found[id] = true end
    assert.is_nil(found["capi-wide"])
    for _, e in ipairs { push, wide } do assert.equal(1, module.tempo_env_register(env(e), err)) end
    for id, e in pairs(tempo.rl.envs) do found[id] = e end
    assert.equal(2, found["CartPole-v1"].actions)
    assert.same({ uniforms = 0, reset_uniforms = 0, observation = { 10, 10 }, actions = 3 },
      found["capi-wide"])
    assert.same({ uniforms = 1, reset_uniforms = 1, observation = { 2 }, actions = { 1 } },
      found["capi-push"])
  end)

  it("are refused where they are none, or taken", function()
    local function why(change, value)
      local fields = {}
      for k, v in pairs(push) do fields[k] = v end
      fields.name = "capi-other"
      fields[change] = value
      return select(2, capi.refused(C.tempo_env_register(env(fields), err)))
    end
    assert.equal(
      "option: environment 'capi-other': nstate and shape[0] must be at least 1, other numbers not negative", why("nstate", 0))
    assert.equal(
      "option: environment 'capi-other': one of nactions and nact must be greater than 0, the other 0", why("nactions", 2))
    assert.equal(
      "option: environment 'capi-other': one of nactions and nact must be greater than 0, the other 0", why("nact", 0))
    assert.equal("option: environment '': it has no name", why("name", ""))
    assert.equal("option: environment 'capi-other': reset, observe and step must all be there",
      why("step", nil))
    assert.equal("option: there is an environment 'CartPole-v1' already",
      why("name", "CartPole-v1"))
    local _, message =
      capi.refused(C.tempo_program_parse((program("capi-pusch", 2, 2, 1, "f32 [1]")), err))
    assert.truthy(message:find("no environment 'capi-pusch'; did you mean 'capi-push'?", 1, true),
      message)
  end)
end)

describe("every function of C", function()
  it("says which of its arguments is NULL", function()
    local f, size, bytes = capi.compile(text), ffi.new "size_t[1]", ffi.new "int64_t[1]"
    local a, done = scalar(1), ffi.new "int[1]"
    local function with(...) return { n = select("#", ...), ... } end
    local calls = {
      tempo_program_parse = { with(nil, err) }, tempo_program_load = { with(nil, err) },
        tempo_compile = { with(nil, nil, err) },
      tempo_compile_with = { with(nil, nil, err) },
        tempo_compile_ticks = { with(nil, nil, 0, nil, err) },
      tempo_env_register = { with(nil, err) }, tempo_array_load = { with(nil, err) },
      tempo_array_save = { with(nil, "x", err), with(a, nil, err) },
      tempo_run = { with(nil, 0, nil, nil, 0, nil, nil, 0, nil, err),
        with(f, 0, nil, nil, 0, nil, nil, 0, nil, err) },
      tempo_resume = { with(nil, nil, 0, 0, nil, nil, 0, nil, nil, nil, err),
        with(f, nil, 0, 0, nil, nil, 0, nil, nil, nil, err) },
      tempo_start = { with(nil, 0, nil, nil, 0, nil, nil, 0, err) },
      tempo_step = { with(nil, 0, nil, nil, 0, done, nil, nil, err),
        with(f, 0, nil, nil, 0, done, nil, nil, err),
        with(f, 0, nil, nil, 0, nil, nil, ffi.new "tempo_array *[1]", err) },
      tempo_step_into = { with(nil, 0, nil, nil, 0, done, nil, nil, nil, err),
        with(f, 0, nil, nil, 0, done, nil, nil, nil, err) },
      tempo_state = { with(nil, size, err), with(f, nil, err) },
      tempo_load_state = { with(nil, "x", 1, err), with(f, nil, 1, err) },
      tempo_save = { with(nil, "x", err), with(f, nil, err) },
        tempo_load = { with(nil, "x", err), with(f, nil, err) },
      tempo_param = { with(nil, "x", err), with(f, nil, err) },
      tempo_load_param = { with(nil, "x", a, err), with(f, nil, a, err), with(f, "x", nil, err) },
      tempo_save_params = { with(nil, "x", err), with(f, nil, err) },
        tempo_load_params = { with(nil, "x", err), with(f, nil, err) },
      tempo_memory = { with(nil, 0, nil, nil, bytes, err), with(f, 0, nil, nil, nil, err) },
      tempo_explain = { with(nil, nil, err) },
        tempo_explain_for = { with(nil, nil, 0, nil, nil, err) },
      tempo_profile = { with(nil, 1, err) }, tempo_set_callback = { with(nil, 0, nil, nil, err) },
      tempo_function_shape = { with(nil, 0, 0, 0, nil, nil, ffi.new "int64_t[16]", err),
        with(f, 0, 0, 0, nil, nil, nil, err) },
    }
    for name, list in pairs(calls) do
      for k, args in ipairs(list) do
        local code, message = capi.refused(C[name](unpack(args, 1, args.n)))     -- luacheck: ignore
        assert.equal(C.TEMPO_E_OPTION, code, name .. k)
        assert.truthy(message:find "^option: tempo_[%a_]+: .* is NULL$", message)
      end
    end
    assert.equal(0, C.tempo_function_count(nil, C.TEMPO_INPUT))
    assert.is_true(C.tempo_function_name(nil, C.TEMPO_INPUT, 0) == nil)
    assert.is_true(C.tempo_function_dtype(nil, C.TEMPO_INPUT, 0) == nil)
    assert.equal(-1, C.tempo_function_find(nil, 0, "x"))
    assert.equal(0, C.tempo_cancel(nil))
    for _, name in ipairs { "tempo_program_free", "tempo_function_free", "tempo_array_free",
      "tempo_text_free", "tempo_bytes_free" } do C[name](nil) end
  end)

  it("works without a place for errors, and keeps the last", function()
    assert.is_true(C.tempo_program_parse("dim t:T\n%0 = nonsense", nil) == nil)
    assert.equal(C.TEMPO_E_FILE, C.tempo_last_error().code)
    assert.equal("file", ffi.string(C.tempo_status_word(C.TEMPO_E_FILE)))
    assert.truthy(ffi.string(C.tempo_last_error().message):find "^sdg:2: file: ")
    assert.equal("tempo " .. ffi.string(C.tempo_version()), tempo._VERSION)
  end)

  it("reads a program from a file", function()
    file_name(function(path)
      local file = io.open(path, "wb")
      file:write(text)
      file:close()
      C.tempo_program_free(capi.ok(C.tempo_program_load(path, err)))
      file = io.open(path, "wb")
      file:write(text, "\0 more")
      file:close()
      assert.equal(C.TEMPO_E_FILE, (capi.refused(C.tempo_program_load(path, err))))
      assert.equal(C.TEMPO_E_FILE, (capi.refused(C.tempo_program_load(path .. "/none", err))))
    end)
  end)
end)

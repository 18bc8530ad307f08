-- libtempo through LuaJIT's FFI: the generated declarations load, and a program in text form
-- compiles and runs. Skipped where there is no FFI.
local capi = require "spec.capi"
if not capi then return end
local ffi, C, strings = capi.ffi, capi.C, capi.strings

local text = [[
dim t:T
%0 = input {str "x"} : (t) f32 [2]
%1 = fill : () f32 [2]
%2 "h" = merge %1 if t == 0, %4 : (t) f32 [2]
%3 = read %2 {at [t - 1]} : (t) f32 [2]
%4 = add %3, %0 : (t) f32 [2]
output "h" %2
]]

-- x doubles until it is 20.
local ends = [[
dim t:T
%0 "x" = merge %1 if t == 0, %3 : (t) f32 []
%1 = fill {f 1} : () f32 []
%2 = read %0 {at [t - 1]} : (t) f32 []
%3 = add %2, %2 : (t) f32 []
%4 = fill {f 20} : () f32 []
%5 = ge %0, %4 : (t) bool []
stop t %5
output "x" %0
]]

describe("include/tempo.h", function()
  for _, tier in ipairs { "reference", "interpreter" } do
    it("runs a program in text form on the " .. tier, function()
      local err = ffi.new "tempo_error"
      local p = C.tempo_program_parse(text, err)
      assert(p ~= nil, ffi.string(err.message))
      local f = C.tempo_compile(p, tier, err)
      assert(f ~= nil, ffi.string(err.message))
      C.tempo_program_free(p)
      assert.equal(1, C.tempo_function_noutput(f))
      assert.equal("h", ffi.string(C.tempo_function_output_name(f, 0)))
      for T = 1, 4 do
        local x = C.tempo_array_new("f32", 2, ffi.new("int64_t[2]", T, 2))
        local px = ffi.cast("float *", C.tempo_array_data(x))
        for k = 0, 2 * T - 1 do px[k] = k end
        local out = ffi.new "tempo_array *[1]"
        local done = C.tempo_run(f, 1, strings { "x" }, ffi.new("tempo_array *[1]", x), 1,
          strings { "T" }, ffi.new("int64_t[1]", T), 0, out, err)
        assert.equal(1, done)
        local h = ffi.cast("float *", C.tempo_array_data(out[0]))
        local sum = 0
        for t = 1, T - 1 do sum = sum + 2 * t end
        assert.equal(sum, h[2 * (T - 1)])
        C.tempo_array_free(x)
        C.tempo_array_free(out[0])
      end
      C.tempo_function_free(f)
    end)
  end

  for _, tier in ipairs { "reference", "interpreter" } do
    it("ends a dim by data on the " .. tier .. ", and again from the text it explains", function()
      local err = ffi.new "tempo_error"
      local source = ends
      for _ = 1, 2 do
        local p = C.tempo_program_parse(source, err)
        assert(p ~= nil, ffi.string(err.message))
        local f = C.tempo_compile(p, tier, err)
        assert(f ~= nil, ffi.string(err.message))
        C.tempo_program_free(p)
        assert.equal(2, C.tempo_function_noutput(f))
        assert.equal("T", ffi.string(C.tempo_function_output_name(f, 1)))
        for T, reached in pairs { [0] = 0, [3] = 3, [100] = 6 } do
          local out = ffi.new "tempo_array *[2]"
          assert.equal(1,
            C.tempo_run(f, 0, nil, nil, 1, strings { "T" }, ffi.new("int64_t[1]", T), 0, out, err))
          assert.equal(reached, tonumber(C.tempo_array_extent(out[0], 0)))
          assert.equal(0, C.tempo_array_rank(out[1]))
          assert.equal(reached, tonumber(ffi.cast("int64_t *", C.tempo_array_data(out[1]))[0]))
          local x = ffi.cast("float *", C.tempo_array_data(out[0]))
          for k = 0, reached - 1 do assert.equal(2 ^ k, x[k]) end
          C.tempo_array_free(out[0])
          C.tempo_array_free(out[1])
        end
        local explained = C.tempo_explain(f, "graph", err)
        source = ffi.string(explained)
        C.tempo_text_free(explained)
        C.tempo_function_free(f)
      end
    end)
  end

  for _, tier in ipairs { "reference", "interpreter" } do
    it("steps, and goes on from a state, on the " .. tier, function()
      local err = ffi.new "tempo_error"
      local p = C.tempo_program_parse(text, err)
      local f = C.tempo_compile_ticks(p, tier, 1, strings { "t" }, err)
      assert(f ~= nil, ffi.string(err.message))
      assert.is_true(C.tempo_compile_ticks(p, tier, 1, strings { "k" }, err) == nil)
      assert.truthy(ffi.string(err.message):find "option.*'k'")
      C.tempo_program_free(p)
      local x = C.tempo_array_new("f32", 1, ffi.new("int64_t[1]", 2))
      local px = ffi.cast("float *", C.tempo_array_data(x))
      local out, done, late = ffi.new "tempo_array *[1]", ffi.new "int[1]", ffi.new "double[1]"
      local function step(v)
        px[0], px[1] = v, 2 * v
        if C.tempo_step(f, 1, strings { "x" }, ffi.new("tempo_array *[1]", x), 1000, done, late,
          out, err) == 0 then
          return nil, ffi.string(err.message)
        end
        local h = ffi.cast("float *", C.tempo_array_data(out[0]))
        local a, b = h[0], h[1]
        C.tempo_array_free(out[0])
        return a, b, done[0]
      end
      assert.is_nil((step(1)))
      assert.equal(1,
        C.tempo_start(f, 0, nil, nil, 1, strings { "T" }, ffi.new("int64_t[1]", 4), 0, err))
      assert.same({ 0, 0, 0 }, { step(9) })
      assert.same({ 1, 2, 0 }, { step(1) })
      local size = ffi.new "size_t[1]"
      local state = C.tempo_state(f, size, err)
      assert.is_true(state ~= nil)
      for _ = 1, 2 do
        assert.same({ 3, 6, 0 }, { step(2) })
        assert.same({ 6, 12, 1 }, { step(3) })
        assert.is_nil((step(4)))
        assert.equal(0, C.tempo_load_state(f, state, size[0] - 1, err))
        assert.truthy(ffi.string(err.message):find "file: ")
        assert.equal(1, C.tempo_load_state(f, state, size[0], err))
      end
      C.tempo_bytes_free(state)
      local most = ffi.new("int64_t[1]", loadstring "return 0x7fffffffffffffffLL" ()) -- luacheck: globals loadstring
      assert.equal(1, C.tempo_start(f, 0, nil, nil, 1, strings { "T" }, most, 0, err))
      for k = 0, 9 do assert.same({ k, 2 * k, 0 }, { step(k > 0 and 1 or 0) }) end
      C.tempo_array_free(x)
      C.tempo_function_free(f)
    end)
  end

  -- Parameters along two dims, one without, one that nothing reads; a gradient; ticks; an input
  -- that nothing needs.
  local function training(tick)
    local tempo = require "tempo"
    local P = tempo.program { seed = 3 }
    local i, k = P:dim "i", (P:dim "k")
    local x = P:input("x", { domain = { i }, shape = { 2 } })
    P:input("unneeded", { domain = { i } })
    local w = P:param("w", { along = { i, k }, shape = { 2 }, init = { 1, 2 } })
    local b = P:param("b", { init = 0.5 })
    P:param("unread", { along = { i }, init = 7 })
    local loss = ((w * x):sum() + b - 1):square():name "loss"
    w:update(w - 0.1 * tempo.grad(loss, { w })[1])
    return P:compile { outputs = { loss = loss }, tick = tick and { i, k } or nil }
  end

  for _, tier in ipairs { "reference", "interpreter" } do
    it("goes on with a program whose parameters are closed, on the " .. tier, function()
      local f, err = training(), ffi.new "tempo_error"
      local want = f({ x = { { 1, 0 }, { 2, -1 } } }, { I = 2, K = 3 }).loss:totable()
      for _, ticks in ipairs { false, true } do
        local source = training(ticks):explain "graph"
        assert.falsy(source:find("{fn", 1, true))
        local p = C.tempo_program_parse(source, err)
        assert(p ~= nil, ffi.string(err.message))
        local g = C.tempo_compile_ticks(p, tier, ticks and 2 or 0, strings { "i", "k" }, err)
        assert(g ~= nil, ffi.string(err.message))
        C.tempo_program_free(p)
        local told = C.tempo_explain(g, "graph", err)
        assert.equal(source, ffi.string(told))
        C.tempo_text_free(told)
        local x = C.tempo_array_new("f32", 2, ffi.new("int64_t[2]", 2, 2))
        local px = ffi.cast("float *", C.tempo_array_data(x))
        px[0], px[1], px[2], px[3] = 1, 0, 2, -1
        local out = ffi.new "tempo_array *[1]"
        local ran = C.tempo_run(g, 1, strings { "x" }, ffi.new("tempo_array *[1]", x), 2,
          strings { "I", "K" }, ffi.new("int64_t[2]", 2, 3), 0, out, err)
        assert(ran == 1, ffi.string(err.message))
        local loss = ffi.cast("float *", C.tempo_array_data(out[0]))
        for a = 1, 2 do
          for c = 1, 3 do assert.near(want[a][c], loss[(a - 1) * 3 + c - 1], 1e-6) end
        end
        C.tempo_array_free(out[0])
        C.tempo_array_free(x)
        C.tempo_function_free(g)
      end
    end)
  end

  it("takes the last values of parameters in the parameters' order only, by their names", function()
    local tempo = require "tempo"
    local P = tempo.program()
    local t = P:dim "t"
    local up = P:param("up", { along = { t }, init = 1 })
    local down = P:param("down", { along = { t }, init = 1 })
    up:update(up + 1)
    down:update(down - 1)
    local f = P:compile { outputs = { sum = up + down }, tier = "interpreter" }
    local written, lines = f:explain "graph", {}
    for line in written:gmatch "output [^\n]* hidden[^\n]*\n" do lines[#lines + 1] = line end
    assert.equal(2, #lines)
    local one, two = written:find(lines[1], 1, true), written:find(lines[2], 1, true)
    local between = written:sub(one + #lines[1], two - 1)
    local swapped = written:sub(1, one - 1) .. lines[2] .. between .. lines[1]
      .. written:sub(two + #lines[2])
    assert.not_equal(written, swapped)
    assert.equal(C.TEMPO_E_OPTION, (capi.refused(C.tempo_program_parse(swapped, capi.err))))
    for _, tier in ipairs { "reference", "interpreter" } do
      local g = capi.ok(capi.compile(written, { tier = tier }))
      assert.same({ 2, 2, 2 }, capi.run(g, {}, { T = 3 }).sum)
      for name, want in pairs { up = 4, down = -2 } do
        local a = capi.ok(C.tempo_param(g, name, capi.err))
        assert.same({ want }, capi.numbers(a))
        C.tempo_array_free(a)
      end
    end
    for _, line in ipairs(lines) do             -- without its line a last value would go nowhere
      local from, to = written:find(line, 1, true)
      assert.equal(C.TEMPO_E_OPTION,
        (capi.refused(C.tempo_program_parse(written:sub(1, from - 1) .. written:sub(to + 1),
        capi.err))))
    end
  end)

  it("reads back a bound whose dim nothing has, and what stops with another", function()
    local tempo = require "tempo"
    local P = tempo.program()
    local t = P:dim "t"
    local i, I = P:dim "i"
    local P_given = P:bound "T_given"            -- the name of a symbol of ours
    local x = P:tensor { domain = { t } }
    x[0] = P_given:value():to "f32"
    x[t] = x[t - 1] * 2
    P:stop(t, x:ge(20))
    local w = P:param("w", { along = { t }, init = 1 })
    w:update(w + x)
    local _, err = i, ffi.new "tempo_error"
    local f = P:compile { outputs = { n = I:value(), w = w } }
    local p = C.tempo_program_parse(f:explain "graph", err)
    assert(p ~= nil, ffi.string(err.message))
    local g = C.tempo_compile(p, nil, err)
    assert(g ~= nil, ffi.string(err.message))
    for _, section in ipairs { "graph", "plan" } do
      local told = C.tempo_explain(g, section, err)
      assert.equal(f:explain(section), ffi.string(told))
      C.tempo_text_free(told)
    end
    assert.equal(3, C.tempo_function_count(g, C.TEMPO_BOUND))
    C.tempo_function_free(g)
    C.tempo_program_free(p)
  end)

  it("reports what is wrong", function()
    local err = ffi.new "tempo_error"
    assert.is_true(C.tempo_program_parse("dim t:T\n%0 = nonsense", err) == nil)
    assert.truthy(ffi.string(err.message):find "file")
    local p = C.tempo_program_parse(text, err)
    local f = C.tempo_compile(p, nil, err)
    local out = ffi.new "tempo_array *[1]"
    assert.equal(0, C.tempo_run(f, 0, nil, nil, 0, nil, nil, 0, out, err))
    assert.truthy(ffi.string(err.message):find "bound")
    C.tempo_function_free(f)
    C.tempo_program_free(p)
  end)
end)

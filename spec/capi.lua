-- include/tempo.h through LuaJIT's FFI: the library, declared once, and what specs of it share.
-- false where there is no FFI.
local found, ffi = pcall(require, "ffi")
if not found then return false end

if not pcall(ffi.typeof, "tempo_error") then
  local file = assert(io.open "build/tempo.cdef")
  ffi.cdef(file:read "*a")
  file:close()
end

local C = ffi.load "build/libtempo.so"
local capi = { C = C, ffi = ffi, err = ffi.new "tempo_error" }

--- x, or the error that a C function left.
function capi.ok(x)
  if x == nil or x == 0 then error("C: " .. ffi.string(capi.err.message), 2) end
  return x
end

--- Tells the error of a refusal: its class's number and message, the same as tempo_last_error's.
function capi.refused(x)
  assert(x == nil or x == 0 or x == -1, "not refused")
  local last = C.tempo_last_error()
  assert(last.code == capi.err.code, "two codes")
  assert(ffi.string(last.message) == ffi.string(capi.err.message), "two messages")
  return capi.err.code, ffi.string(capi.err.message)
end

function capi.strings(list) return ffi.new("const char *[?]", #list + 1, list) end

-- { T = 3 } as a count and two lists, by name.
local function listed(t, values)
  local names = {}
  for name in pairs(t or {}) do names[#names + 1] = name end
  table.sort(names)
  local v = ffi.new(values, #names + 1)
  for k, name in ipairs(names) do v[k - 1] = t[name] end
  return #names, capi.strings(names), v
end

function capi.bounds(t) return listed(t, "int64_t[?]") end
function capi.inputs(t) return listed(t, "tempo_array *[?]") end

--- An array of these numbers, freed with what it returns.
function capi.array(dtype, shape, list)
  local a = C.tempo_array_new(dtype, #shape, ffi.new("int64_t[?]", #shape + 1, shape))
  assert(a ~= nil)
  for k, v in ipairs(list) do assert(C.tempo_array_set(a, k - 1, v) == 1) end
  return ffi.gc(a, C.tempo_array_free)
end

--- The elements of an array, in order.
function capi.numbers(a)
  if a == nil then return nil end
  local list = {}
  for k = 0, tonumber(C.tempo_array_count(a)) - 1 do list[k + 1] = C.tempo_array_get(a, k) end
  return list
end

--- A function from text; o: fields of tempo_options, with tick a list of names.
function capi.compile(text, o)
  o = o or {}
  local options, tick = ffi.new "tempo_options", capi.strings(o.tick or {})
  options.size, options.tier, options.passes, options.device = ffi.sizeof "tempo_options", o.tier,
    o.passes, o.device
  options.precise, options.threads, options.memory = o.precise or 0, o.threads or 0, o.memory or 0
  options.ntick, options.tick, options.check = #(o.tick or {}), tick, o.check
  options.async = o.async or 0
  local p = capi.ok(C.tempo_program_parse(text, capi.err))
  local f = C.tempo_compile_with(p, options, capi.err)
  C.tempo_program_free(p)
  return f ~= nil and ffi.gc(f, C.tempo_function_free) or nil
end

-- Output arrays by name, as lists of numbers; freed.
local function taken(f, out)
  local t = {}
  for i = 0, C.tempo_function_noutput(f) - 1 do
    t[ffi.string(C.tempo_function_output_name(f, i))] = capi.numbers(out[i])
    C.tempo_array_free(out[i])
  end
  return t
end

--- Outputs by name; nil after an error, which is in capi.err.
function capi.run(f, inputs, bounds, seed)
  local n, names, v = capi.inputs(inputs)
  local nb, bound_names, b = capi.bounds(bounds)
  local out = ffi.new("tempo_array *[?]", C.tempo_function_noutput(f) + 1)
  if C.tempo_run(f, n, names, v, nb, bound_names, b, seed or 0, out, capi.err) == 0 then
    return nil end
  return taken(f, out)
end

function capi.start(f, inputs, bounds, seed)
  local n, names, v = capi.inputs(inputs)
  local nb, bound_names, b = capi.bounds(bounds)
  return C.tempo_start(f, n, names, v, nb, bound_names, b, seed or 0, capi.err)
end

--- Outputs by name and whether that was the last; nil after an error.
function capi.step(f, values, budget)
  local n, names, v = capi.inputs(values)
  local out, done = ffi.new("tempo_array *[?]", C.tempo_function_noutput(f) + 1), ffi.new "int[1]"
  if C.tempo_step(f, n, names, v, budget or -1, done, nil, out, capi.err) == 0 then return nil end
  return taken(f, out), done[0] == 1
end

function capi.name(f, kind, i)
  local s = C.tempo_function_name(f, kind, i)
  return s ~= nil and ffi.string(s) or nil
end

function capi.names(f, kind)
  local list = {}
  for i = 0, C.tempo_function_count(f, kind) - 1 do list[i + 1] = capi.name(f, kind, i) end
  return list
end

function capi.text(s)
  local text = ffi.string(capi.ok(s))
  C.tempo_text_free(s)
  return text
end

-- A function that calls back into Lua is never compiled.
for _, f in pairs { capi.run, capi.start, capi.step, capi.compile } do jit.off(f, true) end

return capi

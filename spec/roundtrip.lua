-- luajit spec/roundtrip.lua FOLDER script.lua: runs a script, small, and each of its compiled
-- functions a second time from the text that it explains, through include/tempo.h, on the same tier
-- (TEMPO_TIER): the same outputs and parameters bit for bit, call by call and step by step. Each
-- callback returns what it returned to the script. Prints a line a function; FOLDER takes files.
local ffi = require "ffi"
local tempo = require "tempo"

local folder, script = arg[1], arg[2]
local small = { iterations = 2, steps = 8, batch = 3, envs = 2, walkers = 3, frames = 5,
  characters = 4, updates = 2, epochs = 2, episodes = 1 }
local tier = assert(os.getenv "TEMPO_TIER")

local header = assert(io.open "build/tempo.cdef")
ffi.cdef(header:read "*a")
header:close()
local C = ffi.load "build/libtempo.so"
local err = ffi.new "tempo_error"

local function ok(done)
  if done == nil or done == 0 then error("C: " .. ffi.string(err.message), 2) end
  return done
end

local function strings(list) return ffi.new("const char *[?]", #list + 1, list) end
local function name_of(f, kind, i) return ffi.string(C.tempo_function_name(f, kind, i)) end

-- ---- values -------------------------------------------------------------------------------------

local function flat(v, list)
  list = list or {}
  if type(v) == "userdata" then v = v:totable() end
  if type(v) ~= "table" then
    list[#list + 1] = v == true and 1 or v == false and 0 or v
  else
    for _, x in ipairs(v) do flat(x, list) end
  end
  return list
end

local function fill(array, list)
  assert(tonumber(C.tempo_array_count(array)) == #list, "numbers for an array")
  for k, v in ipairs(list) do C.tempo_array_set(array, k - 1, v) end
end

local function compare(what, array, want)
  local list = flat(want)
  if array == nil then error(what .. " is missing") end
  if tonumber(C.tempo_array_count(array)) ~= #list then error(what .. " has another shape") end
  for k, v in ipairs(list) do
    local got = C.tempo_array_get(array, k - 1)
    if got ~= v and (got == got or v == v) then
      error(("%s[%d] is %.9g, not %.9g"):format(what, k - 1, got, v))
    end
  end
  return #list
end

-- ---- the script's functions ---------------------------------------------------------------------

-- by function; by program: results by callback and point
local twins, called = {}, setmetatable({}, { __mode = "k" })

local function key(point)
  local names = {}
  for name in pairs(point) do names[#names + 1] = name end
  table.sort(names)
  for k, name in ipairs(names) do names[k] = name .. "=" .. point[name] end
  return table.concat(names, ",")
end

local function flat_all(list)
  local all = {}
  for k, v in ipairs(list) do all[k] = flat(v) end
  return all
end

-- point_at: which argument is the point; what is before it are the arrays.
local function keep(P, fn, point_at)
  local mine, calls = called[P] or {}, {}
  called[P] = mine
  mine[#mine + 1] = calls
  return function(...)
    local arrays, point = flat_all(point_at == 2 and ... or {}), select(point_at, ...)
    local list = { fn(...) }
    calls[key(point)] = { arrays = arrays, results = flat_all(list) }
    return unpack(list)                         -- luacheck: ignore
  end
end

local function answer(t, calls)
  return function(_, call)
    local point = {}
    for k = 0, call.ndim - 1 do point[ffi.string(call.dim[k])] = tonumber(call.at[k]) end
    local kept = assert(calls[key(point)], "a call that the script did not see")
    for k = 0, call.narg - 1 do
      t.numbers = t.numbers + compare("argument", call.arg[k], kept.arrays[k + 1])
    end
    for k = 0, call.nresult - 1 do fill(call.result[k], kept.results[k + 1]) end
    return 1
  end
end

local function passes_text(passes)
  if type(passes) ~= "table" then return passes end
  local list = {}
  for name, on in pairs(passes) do list[#list + 1] = name .. "=" .. tostring(on) end
  return table.concat(list, ",")
end

local function bytes_of(memory)
  if type(memory) ~= "string" then return memory or 0 end
  local n, unit = memory:match "^([%d.]+)%s*([KMG])iB$"
  return n * 1024 ^ ({ K = 1, M = 2, G = 3 })[unit]
end

-- Callbacks of C are numbered among those that the program still has, those of the script among
-- all: `{fn n}` says which.
local function hook(t, text, calls)
  local g, numbers = t.f, {}
  for line in text:gmatch "[^\n]+" do
    if line:find "^%%%d+ [^=]*= call" then
      numbers[tonumber(line:match "[{ ]fn (%d+)" or 0)] = true
    end
  end
  local list = {}
  for n in pairs(numbers) do list[#list + 1] = n end
  table.sort(list)
  assert(#list == C.tempo_function_count(g, C.TEMPO_CALLBACK), "callbacks")
  for k, n in ipairs(list) do
    t.callbacks[k] = ffi.cast("tempo_callback *", answer(t, calls[n + 1]))
    ok(C.tempo_set_callback(g, k - 1, t.callbacks[k], nil, err))
  end
end

local function twin(P, f, o)
  local text = f:explain "graph"
  local p = ok(C.tempo_program_parse(text, err))
  local tick, names = o.tick and (type(o.tick) == "table" and o.tick or { o.tick }) or {}, {}
  for k, d in ipairs(tick) do names[k] = d:name() end
  local options = ffi.new "tempo_options"
  local passes, list = passes_text(o.passes), strings(names)
  options.size, options.passes = ffi.sizeof "tempo_options", passes
  options.precise, options.memory, options.ntick, options.tick = o.precise and 1 or 0,
    bytes_of(o.memory), #names, list
  local g = ok(C.tempo_compile_with(p, options, err))
  C.tempo_program_free(p)
  local again = ok(C.tempo_explain(g, "graph", err))
  if ffi.string(again) ~= text then error "the text is another one when it has been read" end
  C.tempo_text_free(again)
  local t = { f = g, seed = P:seed(), callbacks = {}, calls = 0, numbers = 0 }
  hook(t, text, called[P] or {})
  return t
end

local function noutput(g) return C.tempo_function_noutput(g) end

-- Makes arrays of what is given; C says what is missing.
local function arrays_of(g, kind, values, nbound, names, bounds)
  local all = C.tempo_function_count(g, kind)
  local input, list, shape = ffi.new("tempo_array *[?]", all + 1), {}, ffi.new "int64_t[16]"
  for i = 0, all - 1 do
    local name = name_of(g, kind, i)
    if values[name] ~= nil then
      local rank = C.tempo_function_shape(g, kind, i, nbound, names, bounds, shape, err)
      if rank < 0 then ok(0) end
      input[#list] = C.tempo_array_new(C.tempo_function_dtype(g, kind, i), rank, shape)
      fill(input[#list], flat(values[name]))
      list[#list + 1] = name
    end
  end
  return #list, strings(list), input, list
end

local function bounds_of(t)
  local names = {}
  for name in pairs(t or {}) do names[#names + 1] = name end
  local v = ffi.new("int64_t[?]", #names + 1)
  for k, name in ipairs(names) do
    v[k - 1] = t[name] == math.huge and 0x7fffffffffffffffLL or t[name]
  end
  return #names, strings(names), v, names
end

local function free(n, list)
  for i = 0, n - 1 do C.tempo_array_free(list[i]) end
end

local function same_outputs(t, out, want)
  for i = 0, noutput(t.f) - 1 do
    local name = name_of(t.f, C.TEMPO_OUTPUT, i)
    if want[name] ~= nil or out[i] ~= nil then
      t.numbers = t.numbers + compare(name, out[i], want[name])
    end
  end
  free(noutput(t.f), out)
  t.calls = t.calls + 1
end

local function same_params(t, params)
  for name, want in pairs(params) do
    local a = ok(C.tempo_param(t.f, name, err))
    t.numbers = t.numbers + compare(name, a, want)
    C.tempo_array_free(a)
  end
end

local function run(t, f, seed, inputs, bounds, want)
  local nb, names, v, keep1 = bounds_of(bounds)
  local n, input_names, input, keep2 = arrays_of(t.f, C.TEMPO_INPUT, inputs or {}, nb, names, v)
  local out = ffi.new("tempo_array *[?]", noutput(t.f) + 1)
  ok(C.tempo_run(t.f, n, input_names, input, nb, names, v, seed, out, err))
  assert(keep1 and keep2)
  free(n, input)
  if not want.cancelled then same_outputs(t, out, want) end
  if not want.cancelled then same_params(t, f:params()) end
end

local function start(t, seed, inputs, bounds)
  local nb, names, v, keep1 = bounds_of(bounds)
  local n, input_names, input, keep2 = arrays_of(t.f, C.TEMPO_INPUT, inputs or {}, nb, names, v)
  ok(C.tempo_start(t.f, n, input_names, input, nb, names, v, seed, err))
  assert(keep1 and keep2)
  free(n, input)
  t.bounds = bounds
end

local function step(t, f, values, budget, done, want)
  local nb, names, v, keep1 = bounds_of(t.bounds)
  local n, value_names, value, keep2 = arrays_of(t.f, C.TEMPO_VALUE, values or {}, nb, names, v)
  local out, over = ffi.new("tempo_array *[?]", noutput(t.f) + 1), ffi.new "int[1]"
  ok(C.tempo_step(t.f, n, value_names, value, budget or -1, over, nil, out, err))
  assert(keep1 and keep2)
  free(n, value)
  assert((over[0] == 1) == done, "done")
  same_outputs(t, out, want)
  if done then same_params(t, f:params()) end
end

for _, f in pairs { run, start, step } do jit.off(f, true) end          -- they are called back

-- ---- the script's methods -----------------------------------------------------------------------

local function table_of(index)
  for k = 1, 4 do
    local _, v = debug.getupvalue(index, k)
    if type(v) == "table" then return v end
  end
end

local probe = tempo.program()
local meta = debug.getmetatable(probe:compile { outputs = { x = probe:constant(1) } })
local program, fn = table_of(debug.getmetatable(probe).__index), table_of(meta.__index)
local was = { call = program.call, source = program.source, sink = program.sink,
  compile = program.compile,
  run = meta.__call, start = fn.start, step = fn.step, load_params = fn.load_params }

function program.call(P, f, ...) return was.call(P, keep(P, f, 2), ...) end
function program.source(P, f, ...) return was.source(P, keep(P, f, 1), ...) end
function program.sink(P, list, f, ...) return was.sink(P, list, keep(P, f, 2), ...) end

function program.compile(P, o)
  local f = was.compile(P, o)
  twins[f] = twin(P, f, o)
  twins[#twins + 1] = twins[f]
  return f
end

function meta.__call(f, inputs, bounds, o)
  local out, t = was.run(f, inputs, bounds, o), twins[f]
  run(t, f, o and o.seed or t.seed, inputs, bounds, out)
  return out
end

-- The reference has to know an end.
function fn.start(f, inputs, bounds, o)
  local mine, t = {}, twins[f]
  for name, v in pairs(bounds or {}) do
    mine[name] = v == math.huge and tier == "reference" and 4 or v
  end
  was.start(f, inputs, mine, o)
  start(t, o and o.seed or t.seed, inputs, mine)
  return f
end

-- A budget makes the work a question of time: without one it is always the same.
function fn.step(f, values, o)
  local budget = o and o.budget_ms and 0
  local done, out = was.step(f, values, { budget_ms = budget })
  step(twins[f], f, values, budget, done, out)
  return done, out
end

local function load_param(g, name, array)
  local shape = array:shape()
  local extents = ffi.new("int64_t[?]", #shape + 1, shape)
  local a = C.tempo_array_new(array:dtype(), #shape, extents)
  fill(a, flat(array))
  ok(C.tempo_load_param(g, name, a, err))
  C.tempo_array_free(a)
end

function fn.load_params(f, params, o)
  local missing, over = was.load_params(f, params, o)
  for name, a in pairs(f:params()) do
    if params[name] ~= nil then load_param(twins[f].f, name, a) end
  end
  return missing, over
end

-- ---- the script ---------------------------------------------------------------------------------

local cli = require "tempo.cli"
package.loaded["tempo.cli"] = function(words, known)
  for name, v in pairs(small) do
    if type(known[name]) == "number" then known[name] = v end
  end
  if known.out then known.out = folder .. "/out" end
  if known.checkpoint then known.checkpoint = folder .. "/checkpoint" end
  return cli(words, known)
end

arg = { [0] = script }                          -- luacheck: ignore
dofile(script)
for k, t in ipairs(twins) do
  print(("function %d: %d calls, %d numbers are the same"):format(k, t.calls, t.numbers))
  C.tempo_function_free(t.f)
  for _, c in ipairs(t.callbacks) do c:free() end
end

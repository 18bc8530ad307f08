-- Shared by specs: every program runs in each way there is, and their numbers are compared before
-- they are given back.
local tempo = require "tempo"

local unpack = table.unpack or unpack       -- luacheck: globals unpack
local helper = { tiers = { "reference", "interpreter" } }

-- ---- numbers ------------------------------------------------------------------------------------

-- Park and Miller's generator: the same numbers under both Luas. next(n): an integer in 0 .. n-1;
-- next(): a number in (-1, 1).
function helper.rng(seed)
  local x = (seed * 7919 + 104729) % 2147483646 + 1
  local function step()
    x = (x * 16807) % 2147483647
    return x
  end
  for _ = 1, 3 do step() end
  return function(n)
    if n then return math.floor(step() / 2147483647 * n) end
    return 2 * step() / 2147483647 - 1
  end
end

function helper.tanh(x)                                  -- Lua 5.4 has none
  local e = math.exp(-2 * math.abs(x))
  return (x < 0 and -1 or 1) * (1 - e) / (1 + e)
end

-- A nested table of the shape, filled by f of 0-based indices.
function helper.fill(shape, f)
  local function level(k, ...)
    if k > #shape then return f(...) end
    local t = {}
    local n = select("#", ...)
    local at = { ... }
    for i = 0, shape[k] - 1 do
      at[n + 1] = i
      t[i + 1] = level(k + 1, unpack(at, 1, n + 1))
    end
    return t
  end
  return level(1)
end

-- The same with what next() gives, one after another.
function helper.numbers(shape, next)
  return helper.fill(shape, function() return next() end)
end

-- f of each number of a nested table, in a table of the same shape.
function helper.map(v, f)
  if type(v) ~= "table" then return f(v) end
  local t = {}
  for i = 1, #v do t[i] = helper.map(v[i], f) end
  return t
end

-- An array with the shape even where an extent is 0, of which nested tables know nothing.
function helper.array(v, dtype, shape)
  for _, n in ipairs(shape) do
    if n == 0 then return tempo.array({}, dtype, shape) end
  end
  return tempo.array(v, dtype)
end

-- An array of numbers that next() gives.
function helper.random(next, shape, dtype)
  return helper.array(helper.numbers(shape, next), dtype or "f64", shape)
end

-- Central differences of f(x), a number, in every element of the nested table x.
function helper.differences(f, x, eps)
  eps = eps or 1e-5
  local function walk(v)
    local g = {}
    for i = 1, #v do
      if type(v[i]) == "table" then
        g[i] = walk(v[i])
      else
        local old = v[i]
        v[i] = old + eps
        local hi = f(x)
        v[i] = old - eps
        local lo = f(x)
        v[i] = old
        g[i] = (hi - lo) / (2 * eps)
      end
    end
    return g
  end
  return walk(x)
end

-- ---- comparison ---------------------------------------------------------------------------------

-- The number or nested table that an array holds; what else there is stays as it is.
function helper.plain(x)
  if type(x) == "userdata" then return x:totable() end
  return x
end

local function close(a, b, tol)
  if type(a) ~= "number" or type(b) ~= "number" then return a == b end
  if a ~= a or b ~= b then return a ~= a and b ~= b end
  if a == b then return true end
  return math.abs(a - b) <= tol * math.max(1, math.abs(a), math.abs(b))
end

local function shown(x) return type(x) == "number" and ("%.17g"):format(x) or tostring(x) end

-- nil, or the first thing that differs. Numbers may differ by tol, and by tol times the larger one
-- where that is above 1.
function helper.differ(want, got, tol, where)
  if type(want) ~= "table" then
    if close(got, want, tol) then return nil end
    return ("%s is %s, not %s"):format(where, shown(got), shown(want))
  end
  if type(got) ~= "table" then return ("%s is %s, not a table"):format(where, shown(got)) end
  if #got ~= #want then return ("%s has %d entries, not %d"):format(where, #got, #want) end
  for k, v in pairs(want) do
    local d = helper.differ(v, got[k], tol, ("%s[%s]"):format(where, tostring(k)))
    if d then return d end
  end
end

-- Numbers or tables of them, entry by entry, within a tolerance; an array is what it holds.
function helper.same(want, got, tol, where)
  local d = helper.differ(helper.plain(want), helper.plain(got), tol or 1e-5, where or "value")
  if d then error(d, 2) end
end

local tolerance = { f64 = 1e-10, f32 = 1e-5, f16 = 2e-2, bf16 = 1e-1 }

-- The same of two arrays, of which dtype and shape are compared too; a dtype has its tolerance.
function helper.differ_arrays(want, got, tol, where)
  if got:dtype() ~= want:dtype() then
    return ("%s: dtype %s, not %s"):format(where, got:dtype(), want:dtype())
  end
  local a, b = table.concat(got:shape(), ","), table.concat(want:shape(), ",")
  if a ~= b then return ("%s: shape {%s}, not {%s}"):format(where, a, b) end
  return helper.differ(want:totable(), got:totable(), tol or tolerance[got:dtype()] or 0, where)
end

-- ---- running ------------------------------------------------------------------------------------

local ways = { { "reference", { tier = "reference" } }, { "interpreter", { tier = "interpreter" } },
               { "interpreter without passes", { tier = "interpreter", passes = "none" } } }

local function agree(way, out, ref, what, tol)
  for name in pairs(ref) do
    if out[name] == nil then error(("output '%s' is missing on %s"):format(name, way), 0) end
    local d = helper.differ_arrays(ref[name], out[name], tol,
      ("%s: '%s' on %s against reference"):format(what, name, way))
    if d then error(d, 0) end
  end
end

-- Compiles in every way. f(inputs, bounds[, options]) runs all, holds them to one another, and
-- gives the interpreter's arrays and the reference's. f.fn is the interpreter's function,
-- f.reference the evaluator's. opts: tol; compile: options of compile, where passes among them
-- leave the way without passes out.
function helper.compile(P, outputs, opts)
  local more, tol, fns = opts and opts.compile or {}, opts and opts.tol, {}
  for i = 1, more.passes and 2 or 3 do
    local o = { outputs = outputs }
    for _, given in ipairs { ways[i][2], more } do
      for k, v in pairs(given) do o[k] = v end
    end
    fns[i] = P:compile(o)
  end
  return setmetatable({ fn = fns[2], reference = fns[1] },
    { __call = function(_, inputs, bounds, options)
    local at = {}
    for k, v in pairs(bounds or {}) do at[#at + 1] = ("%s = %s"):format(k, tostring(v)) end
    table.sort(at)
    local what = "at " .. table.concat(at, ", ")
    local ref, out = fns[1](inputs, bounds, options), nil
    for i = 2, #fns do
      local o = fns[i](inputs, bounds, options)
      agree(ways[i][1], o, ref, what, tol)
      agree(ways[i][1], fns[i]:params(), fns[1]:params(), what .. ", parameters", tol)
      out = out or o
    end
    return out, ref
  end })
end

-- Shallow equality; nil is an empty table.
local function equal(a, b)
  a, b = a or {}, b or {}
  for k, v in pairs(a) do if b[k] ~= v then return false end end
  for k in pairs(b) do if a[k] == nil then return false end end
  return true
end

-- Functions by their table of outputs: a run at other bounds compiles nothing.
local compiled = setmetatable({}, { __mode = "k" })
local function compiled_once(P, outputs, opts)
  opts = opts or {}
  local known = compiled[outputs]
  if not (known and known.tol == opts.tol and equal(known.outputs, outputs)
    and equal(known.options, opts.compile)) then
    known = { tol = opts.tol, options = opts.compile, outputs = {},
      run = helper.compile(P, outputs, opts) }
    for name, x in pairs(outputs) do known.outputs[name] = x end
    compiled[outputs] = known
  end
  return known.run
end

-- The outputs of one run as plain tables and numbers. opts: as above; call: options of the call.
-- The program does not change between two runs of one table.
function helper.run(P, outputs, inputs, bounds, opts)
  local out, plain = compiled_once(P, outputs, opts)(inputs, bounds, opts and opts.call), {}
  for name, a in pairs(out) do plain[name] = a:totable() end
  return plain
end

-- One output.
local alone = setmetatable({}, { __mode = "k" })
function helper.value(P, x, inputs, bounds, opts)
  alone[x] = alone[x] or { x = x }
  return helper.run(P, alone[x], inputs, bounds, opts).x
end

-- f(tier) for each.
function helper.each(f)
  for _, tier in ipairs(helper.tiers) do f(tier) end
end

-- Points of elements that a run with these bounds makes, and turns of its loops.
function helper.work(f, bounds)
  local function number(text) return tonumber((text:gsub(",", ""))) end
  local elements,
    turns = f:explain("work",
    bounds):match "^%s*([%d,]+)%s+[%d,]+  elements[^;]*; loops turn ([%d,]+) times"
  return number(elements) + number(turns)
end

-- ---- what is said -------------------------------------------------------------------------------

-- The text of f's error, which begins with the place in a spec and contains every one of the texts.
function helper.fails(f, ...)
  local ok, e = pcall(f)
  if ok then error("expected an error", 2) end
  local message = tostring(e)
  if not message:find "^[^\n]*_spec%.lua:%d+: " then error("no place in: " .. message, 2) end
  for _, text in ipairs { ... } do
    if not message:find(text, 1, true) then error(("no %q in: %s"):format(text, message), 2) end
  end
  return message
end

function helper.line(message)
  return tonumber(message:match "_spec%.lua:(%d+): ")
end

-- For setup and teardown where programs are warned about for good reasons.
local warn = tempo.warn
function helper.quiet() tempo.warn = false end
function helper.loud() tempo.warn = warn end

-- The bytes of a file.
function helper.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

-- This interpreter in a process of its own: what it printed, stderr included. first: shell commands
-- that go before.
function helper.lua(arguments, environment, first)
  local paths = ("LUA_PATH='%s' LUA_PATH_5_4='%s' LUA_CPATH='%s' LUA_CPATH_5_4='%s'")
    :format(package.path, package.path, package.cpath, package.cpath)
  local pipe = io.popen(("%s%s %s %s %s 2>&1"):format(first or "", paths, environment or "",
    jit and "luajit" or "lua5.4", arguments))
  local out = pipe:read "*a"
  pipe:close()
  return out
end

-- The same running an example, which must end well.
function helper.example(name, arguments)
  local out = helper.lua(("examples/%s.lua %s 2>&1; echo \"status $?\""):format(name,
    arguments or ""))
  if not out:find "status 0%s*$" then error(name .. ":\n" .. out, 2) end
  return out
end

-- An agent of examples/rl: what it printed, and the columns of its metrics.csv.
function helper.agent(name, arguments)
  local folder = os.tmpname()
  os.remove(folder)
  local out = helper.example("rl/" .. name, ("--quiet --out %s %s"):format(folder, arguments))
  local columns = tempo.data.csv(folder .. "/metrics.csv")
  os.execute("rm -rf '" .. folder .. "'")
  return out, columns
end

-- The same running a script.
function helper.script(text, flags, first)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  local out = helper.lua((flags or "") .. " " .. path, nil, first)
  os.remove(path)
  return out
end

-- The device that specs of devices run on: pocl, or, on a machine with a card, "cuda".
helper.device = os.getenv "TEMPO_SPEC_DEVICE" or "opencl"

-- Why a spec of devices is left out: it cannot be used. It says so, once. nil: it can.
function helper.without_device(what)
  local why = ("no device '%s' is here"):format(helper.device)
  for _, d in ipairs(tempo.devices()) do
    if d.device == helper.device then why = d.missing end
  end
  if why then print("left out: " .. what .. ": " .. why) end
  return why
end

-- What lets a script use CUDA: the tests' own libcuda, or, where specs of devices run on CUDA, what
-- TEMPO_CUDA says or the system's. nil: there is neither.
function helper.cuda()
  if helper.device == "cuda" then return "" end
  local own = io.open "build/gpu/libcuda.so.1"
  return own and own:close() and "TEMPO_CUDA=$PWD/build/gpu/libcuda.so.1 "
end

-- By device, what a shell says before a script so that it runs there: the tests' own libcuda, and
-- OpenCL. It says once which spec is left out where none is here.
function helper.devices(what)
  local devices, cuda = {}, helper.cuda()
  if cuda then devices.cuda = "TEMPO_DEVICE=cuda " .. cuda end
  for _, d in ipairs(tempo.devices()) do
    if d.device == "opencl" and not d.missing then devices.opencl = "TEMPO_DEVICE=opencl " end
  end
  if not next(devices) then print("left out: " .. what .. ": no device is here") end
  return devices
end

return helper

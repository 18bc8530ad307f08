-- Holds one program on all tiers to one another. A case:
--   P         the program
--   outputs   by name
--   inputs    sequence of { name, bounds of its dims by name, shape, dtype, factor of its numbers }
--   bounds    sequence of tables of bounds to run with
--   cycles    true: a cycle would be no surprise; else that error is a finding
--   ends      by dim: its bound as a value, of dims that end by data
--   smooth    gradients may be compared with differences: { loss = name of an output, { input,
--   output with its gradient }, ... }
--   rows      true: inputs over dims are given row by row too
--   options   of the third tier, which is the interpreter again; where NATIVE is set there is a
--   fourth, native code, and where THREADS is
--             a number, another by as many, where DEVICE names one, that device: all are the second
--             bit for bit; where EXPORT is set, C that
--             stands alone (spec/fuzz/export.lua)
-- check(case) gives "ok", "illegal" (the same kind of error on every tier), or "finding" and what
-- differed. Schedules are gone through point by point too: order, and that no slot is given away
-- too early. check.counts adds up what was seen besides.
local tempo = require "tempo"
local helper = require "spec.helper"
local export = require "spec.fuzz.export"

local check = {}
local heard                                            -- what sinks were called with in this run

-- For generated programs: a sink and a call that remember and compute.
function check.hear(id, a, p)
  local at = {}
  for k, v in pairs(p) do at[#at + 1] = ("%s=%d"):format(k, v) end
  table.sort(at)
  heard[id] = heard[id] or {}
  table.insert(heard[id], { table.concat(at, " "), helper.plain(a[1]) })
end

function check.hear_anew() heard = {} end

function check.answer(a)
  return helper.map(helper.plain(a[1]), function(x) return math.sin(x) * 0.5 end)
end

check.counts = {}
function check.count(what, n) check.counts[what] = (check.counts[what] or 0) + (n or 1) end
local count = check.count

local function options_text(o)
  local t = {}
  for k, v in pairs(o) do
    t[#t + 1] = ("%s = %s"):format(k, type(v) == "table" and "{ " .. options_text(v) .. " }"
      or tostring(v))
  end
  table.sort(t)
  return table.concat(t, ", ")
end

-- Options of compile with these; tier: also the name of a device.
function check.options(outputs, tier, more)
  local device = tier == os.getenv "DEVICE"
  local o = { outputs = outputs, tier = device and "interpreter" or tier,
    device = device and tier or nil }
  for k, v in pairs(more) do o[k] = v end
  return o
end

local function tiers_of(case, quick)
  local list = { { "reference", { tier = "reference" } },
    { "interpreter", { tier = "interpreter" } } }
  local third = case.options or { passes = "none" }
  if not quick then
    list[3] = { "interpreter, " .. options_text(third), { tier = "interpreter" } }
  end
  for k, v in pairs(list[3] and third or {}) do list[3][2][k] = v end
  local native, threads = os.getenv "NATIVE", tonumber(os.getenv "THREADS")
  local device = os.getenv "DEVICE"
  if device then
    list[#list + 1] = { device, { tier = "interpreter", device = device }, bits = true }
  end
  if native then list[#list + 1] = { "native", { tier = "native" }, bits = true } end
  if threads then
    list[#list + 1] =
      { "threads", { tier = native and "native" or "interpreter", threads = threads }, bits = true }
  end
  return list
end

local function elements(name, dtype, factor)
  local seed = 17
  for k = 1, #name do seed = (seed * 31 + name:byte(k)) % 1000003 end
  local r = helper.rng(seed)
  return function()
    if dtype == "bool" then return r(2) == 1 end
    if dtype == "i64" or dtype == "i32" then return r(15) - 5 end
    return r() * (factor or 1)
  end
end

function check.inputs(case, bounds)
  local arrays = {}
  for _, x in ipairs(case.inputs) do
    local shape = {}
    for _, b in ipairs(x[2]) do shape[#shape + 1] = bounds[b] end
    for _, n in ipairs(x[3]) do shape[#shape + 1] = bounds[n] or n end
    local v = helper.numbers(shape, elements(x[1], x[4], x[5]))
    arrays[x[1]] = #shape == 0 and v or helper.array(v, x[4], shape)
  end
  return arrays
end

local words = { "callback", "input", "bound", "option", "dtype", "shape", "ragged", "affine",
  "cycle", "undefined", "domain", "device", "file", "memory", "nan" }
local function class(e)                                -- the word that leads the message
  local text = tostring(e):gsub("^[^\n]-:%d+: ", "")
  for _, w in ipairs(words) do
    if text:sub(1, #w) == w then return w end
  end
  for _, w in ipairs(words) do
    if text:find(w, 1, true) then return w end
  end
  return "?"
end

function check.text_of(bounds)
  local t = {}
  for k, v in pairs(bounds) do t[#t + 1] = ("%s = %d"):format(k, v) end
  table.sort(t)
  return "{" .. table.concat(t, ", ") .. "}"
end

local text_of = check.text_of

-- A tolerance of what was summed, whose parts may be as large as the largest number that is left.
local function of_largest(tol, v)
  local largest = 1
  helper.map(v, function(x)
    if type(x) == "number" and x == x and math.abs(x) < math.huge then
      largest = math.max(largest, math.abs(x))
    end
  end)
  return tol * largest
end

local function shape_of(a) return table.concat(a:shape(), ",") end

local function compare(run, ref, name, loose)
  if run.peak then
    count(run.peak == run.predicted and "memory as predicted" or "memory not all used")
  end
  if run.peak and run.peak > run.predicted then
    return ("%s: used %d bytes of memory, %d were predicted"):format(name, run.peak, run.predicted)
  end
  for k, want in pairs(ref.out) do
    local got = run.out[k]
    if not got then return ("%s: no output '%s'"):format(name, k) end
    if got:dtype() ~= want:dtype() or shape_of(got) ~= shape_of(want) then
      return ("%s: '%s' is %s {%s}, not %s {%s}"):format(name, k, got:dtype(), shape_of(got),
        want:dtype(), shape_of(want))
    end
    local tol = ({ f64 = 1e-8, f32 = 5e-4 })[want:dtype()] or 0
    if loose and tol > 0 then tol = 5e-3 end
    local plain = helper.plain(want)
    local d = helper.differ(plain, helper.plain(got), of_largest(tol, plain), "'" .. k .. "'")
    if d then return name .. ": " .. d end
  end
  for id, calls in pairs(ref.heard) do
    local mine = run.heard[id] or {}
    if #mine ~= #calls then
      return ("%s: sink %s was called %d times, not %d"):format(name, id, #mine, #calls)
    end
    for k, c in ipairs(calls) do
      if mine[k][1] ~= c[1] then
        return ("%s: call %d of sink %s is at %s, not %s"):format(name, k, id, mine[k][1], c[1])
      end
      local d = helper.differ(c[2], mine[k][2], of_largest(loose and 5e-3 or 5e-4, c[2]),
        "sink " .. id .. " at " .. c[1])
      if d then return name .. ": " .. d end
    end
  end
  for id in pairs(run.heard) do
    if not ref.heard[id] then return ("%s: sink %s was called"):format(name, id) end
  end
end

-- The same inputs, those over dims as rows of their own.
local function inputs_by_rows(case, bounds)
  local arrays = check.inputs(case, bounds)
  for _, x in ipairs(case.inputs) do
    local n = bounds[x[2][1]] or 0
    local size = 1
    for k = 1, #x[2] + #x[3] do size = size * arrays[x[1]]:shape()[k] end
    if n > 0 and size > 0 and #x[2] + #x[3] > 1 then
      local list = {}
      for k = 1, n do list[k] = tempo.array(arrays[x[1]][k - 1]:totable(), x[4]) end
      arrays[x[1]] = tempo.rows(list)
    end
  end
  return arrays
end

local function once(f, case, bounds, inputs)
  heard = {}
  local ok, out = pcall(f, (inputs or check.inputs)(case, bounds), bounds)
  local run = { ok = ok, heard = heard, out = ok and out, err = not ok and out }
  if ok then
    run.peak, run.predicted = f:peak(), f:memory(bounds)
    for k, a in pairs(f:params()) do out["parameter " .. k] = a end
  end
  return run
end

-- Native code is the interpreter again: every bit of what it gives, also the sign of a zero; a NaN
-- is a NaN.
local function bits(x)
  if type(x) ~= "number" then return tostring(x) end
  return x ~= x and "nan" or x == 0 and (1 / x < 0 and "-0" or "0") or ("%a"):format(x)
end

local function text_of_bits(v)
  if type(v) ~= "table" then return bits(v) end
  local list = {}
  for k, x in ipairs(v) do list[k] = text_of_bits(x) end
  return "{" .. table.concat(list, ",") .. "}"
end

-- The same run on another tier, or by more threads, which work in memory of their own.
local function same_bits(run, other, name)
  if run.ok ~= other.ok then
    return name .. " runs where the interpreter does not, or does not where it does"
  end
  if not run.ok then
    return tostring(run.err) ~= tostring(other.err)
      and ("%s: %s\ninterpreter: %s"):format(name, tostring(run.err), tostring(other.err))
  end
  -- a device has no file, but the host's memory
  local spills = os.getenv "TEMPO_SPILL" and name == os.getenv "DEVICE"
  if run.predicted ~= other.predicted and name ~= "threads" and not spills then
    return ("%s needs %s bytes, the interpreter %s"):format(name, run.predicted, other.predicted)
  end
  for k, want in pairs(other.out) do
    local a, b = text_of_bits(helper.plain(want)), text_of_bits(helper.plain(run.out[k]))
    if a ~= b then
      return ("%s: '%s' is %s, by the interpreter %s"):format(name, k, b:sub(1, 300), a:sub(1, 300))
    end
  end
end

local function flatten(v, out)
  out = out or {}
  if type(v) ~= "table" then out[#out + 1] = v
  else for k = 1, #v do flatten(v[k], out) end end
  return out
end

local function sum(v)
  local s = 0
  for _, x in ipairs(flatten(v)) do s = s + x end
  return s
end

-- Bounds at which schedules are gone through: of one dim 1 to 12, of several a few, long and short
-- ones.
local walks = { { 1, 1, 1 }, { 4, 3, 2 }, { 2, 3, 5 }, { 12, 2, 1 }, { 1, 12, 2 }, { 3, 1, 6 },
  { 7, 5, 1 } }

local function walk(f, case, name, quick)
  local dims = {}
  for k in pairs(case.bounds[1]) do
    if k ~= "w" then dims[#dims + 1] = k end
  end
  table.sort(dims)
  for n = 1, quick and 3 or #dims == 1 and 12 or #walks do
    local bounds = { w = n % 4 }
    for k, d in ipairs(dims) do bounds[d] = #dims == 1 and n or walks[n][k] end
    local ok, r = pcall(f.simulate, f, bounds)
    if not ok and tostring(r):find("simulation", 1, true) then
      return ("%s at %s: %s"):format(name, text_of(bounds), tostring(r))
    end
    if ok and r then
      count("schedules walked through")
      if n == 1 then
        count("arrays that lie in another",
          select(2, f:explain "storage":gsub("; lies in [^a]", "")))
      end
    end
  end
end

-- The derivative of the loss along a random direction of one input, from both sides: at a kink they
-- differ and nothing is said.
local function differences(f, case, bounds, out)
  for _, pair in ipairs(case.smooth) do
    local base = check.inputs(case, bounds)
    local r, dot, eps, step = helper.rng(99), 0, 1e-6, {}
    local grads = flatten(helper.plain(out[pair[2]]))
    for k = 1, #grads do
      step[k] = r()
      dot = dot + step[k] * grads[k]
    end
    local function at(scale)
      local inputs = {}
      for k, v in pairs(base) do inputs[k] = v end
      local x, k = base[pair[1]], 0
      local moved = helper.map(type(x) == "number" and x or x:totable(), function(e)
        k = k + 1
        return e + scale * step[k]
      end)
      inputs[pair[1]] = type(x) == "number" and moved or helper.array(moved, "f64", x:shape())
      heard = {}
      return sum(helper.plain(f(inputs, bounds)[case.smooth.loss]))
    end
    if #grads > 0 then
      local here, right, left = at(0), at(eps), at(-eps)
      local up, down = (right - here) / eps, (here - left) / eps
      local scale = math.max(1, math.abs(dot), math.abs(here))
      local near = math.abs((up + down) / 2 - dot) < 1e-4 * scale
      if math.abs(up - down) < 1e-4 * scale and not near then
        return ("gradient '%s' at %s: the loss changes by %.9g along a direction, by differences %.9g"):format(pair[2], text_of(bounds), dot,
          (up + down) / 2)
      end
    end
  end
end

-- Under a limit between nothing and all that it takes: refused, or the same numbers, with blocks as
-- short as they must be and a file.
local limits = { 0.9, 0.6, 0.3 }
local limited = 0
local function under_a_limit(case, bounds, second, ref)
  limited = limited + 1
  local limit = math.max(1, math.floor(second.predicted * limits[limited % #limits + 1]))
  local g = case.P:compile { outputs = case.outputs, tier = "interpreter", memory = limit }
  local run, said = once(g, case, bounds),
    ("at %s with a limit of %d bytes"):format(text_of(bounds), limit)
  if not run.ok and class(run.err) == "memory" then
    return count "limits of memory that are too small"
  end
  if not run.ok then return ("%s: %s"):format(said, tostring(run.err)) end
  count "with a limit of memory"
  if g:explain("storage", bounds):find("blocks have at most", 1, true) then
    count "with a limit of memory: shorter blocks"
  end
  if (run.peak or run.predicted) > limit then
    return ("%s: takes %d"):format(said, run.peak or run.predicted)
  end
  return compare(run, ref, said, case.loose)
end

local turn = 0
local function stands_alone(case, bounds)
  turn = turn + 1
  local function bits_of(a) return text_of_bits(helper.plain(a)) end
  return export.differs(case, bounds,
    { once = once, inputs = check.inputs, count = count, text_of = text_of, bits = bits_of,
    turn = turn })
end

-- Seconds that a compilation may take before that is a finding. The fuzzer sets them; a test asks
-- no time.
check.patience = math.huge

-- quick: without the third tier.
function check.check(case, quick)
  local fns, errs, bad = {}, {}, nil
  local tiers = tiers_of(case, quick)
  for k, tier in ipairs(tiers) do
    local o = { outputs = case.outputs }
    for n, v in pairs(tier[2]) do o[n] = v end
    local began = os.clock()
    local ok, f = pcall(case.P.compile, case.P, o)
    local took = os.clock() - began
    if took > 1 then count("compilations above a second") end
    if took > check.patience then bad = ("%s: compiling took %.0f s"):format(tier[1], took) end
    if ok then fns[k] = f else errs[k] = f end
  end
  for k, tier in ipairs(tiers) do
    if errs[k] and not errs[1] then
      return "finding",
        ("%s does not compile it, reference does: %s"):format(tier[1], tostring(errs[k]))
    end
    if errs[1] and not errs[k] then
      return "finding",
        ("reference does not compile it, %s does: %s"):format(tier[1], tostring(errs[1]))
    end
    if errs[1] and class(errs[1]) ~= class(errs[k]) then
      return "finding",
        ("%s: %s\nreference: %s"):format(tier[1], tostring(errs[k]), tostring(errs[1]))
    end
  end
  if errs[1] and class(errs[1]) == "cycle" and not case.cycles then
    return "finding", tostring(errs[1])
  end
  if bad then return "finding", bad end
  if errs[1] then return "illegal", tostring(errs[1]) end
  for k = 2, #tiers do
    bad = bad or walk(fns[k], case, tiers[k][1], k > 2 or quick)
  end
  if bad then return "finding", bad end
  for _, bounds in ipairs(case.bounds) do
    local ref, second = once(fns[1], case, bounds), nil
    for k = 2, #tiers do
      local run = once(fns[k], case, bounds)
      if tiers[k].bits then bad = bad or same_bits(run, second, tiers[k][1]) end
      if k == 2 then second = run end
      if k > 1 and run.ok and case.rows then
        local again = once(fns[k], case, bounds, inputs_by_rows)
        local name = ("by rows at %s, %s"):format(text_of(bounds), tiers[k][1])
        bad = bad or same_bits(again, run, name)
      end
      if run.ok ~= ref.ok then
        return "finding",
          ("at %s %s: %s, reference: %s"):format(text_of(bounds), tiers[k][1],
          run.ok and "runs" or tostring(run.err), ref.ok and "runs" or tostring(ref.err))
      end
      if ref.ok then
        bad = bad or compare(run, ref, ("at %s %s"):format(text_of(bounds), tiers[k][1]),
        case.loose)
      elseif class(run.err) ~= class(ref.err) then
        bad = bad or ("at %s %s: %s\nreference: %s"):format(text_of(bounds), tiers[k][1],
          tostring(run.err), tostring(ref.err))
      end
    end
    local limits_it = os.getenv "LIMIT" and not os.getenv "TEMPO_SPILL"
    if ref.ok and not quick and limits_it and second.predicted then
      bad = bad or under_a_limit(case, bounds, second, ref)
    end
    if ref.ok and not quick and os.getenv "EXPORT" then bad = bad or stands_alone(case, bounds) end
    if bad then return "finding", bad end
    if ref.ok and case.smooth and case.outputs[case.smooth.loss] then
      bad = differences(fns[1], case, bounds, ref.out)
      if bad then return "finding", bad end
    end
  end
  return "ok"
end

-- For scripts that the fuzzer prints: prints the outcome.
function check.report(case)
  local status, why
  if os.getenv "WIDE" then
    status, why = require "spec.fuzz.wide".check(assert(io.open(arg[0])):read "*a") else status,
    why = check.check(case) end
  if status == "ok" and os.getenv "TICKS" then
    status, why = require "spec.fuzz.ticks".check(case)
  end
  print(status .. (why and ": " .. why or ""))
  if os.getenv "COUNTS" then
    for k, v in pairs(check.counts) do print(k, v) end
  end
  return status
end

return check

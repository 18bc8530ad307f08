-- Runs one of these programs on a device or in the interpreter (`-`), with several bounds, and
-- prints its results, then how often it launched and copied. For whole_spec.
--   lua5.4 spec/gpu/whole.lua DEVICE PROGRAM
local tempo = require "tempo"
local helper = require "spec.helper"
local unpack = table.unpack or unpack                         -- luacheck: globals unpack
local device, program = arg[1], arg[2]
local on = device ~= "-" and device or nil

local function flat(v, to)
  if type(v) == "number" then to[#to + 1] = ("%a"):format(v)
  elseif type(v) ~= "table" then to[#to + 1] = tostring(v) end
  for _, y in ipairs(type(v) == "table" and v or {}) do flat(y, to) end
  return to
end

local function say(name, values)
  local names = {}
  for k in pairs(values) do
    if k ~= "late_ms" then names[#names + 1] = k end
  end
  table.sort(names)
  for _, k in ipairs(names) do
    local a = values[k]
    local list = flat(type(a) == "userdata" and a:totable() or a, {})
    local shape = type(a) == "userdata" and table.concat(a:shape(), "x") or ""
    print(name, k, shape, table.concat(list, " "))
  end
end

local function compile(P, outputs, more)
  local o = { outputs = outputs, tier = "interpreter", device = on }
  for k, v in pairs(more or {}) do o[k] = v end
  return P:compile(o)
end

local function call(f, name, inputs, bounds)
  local ok, got = pcall(f, inputs, bounds)
  if ok then say(name, got) else print(name, "error", (tostring(got):gsub("\n.*", ""))) end
end

local function counts(f)
  if not on then return end
  local text = f:explain "kernels"
  print("counts", text:match "(%d+) launches, (%d+) copies")
  print("kernels", (text:gsub("\n", "; ")))
end

local programs = {}

-- Walks of rows b, each of which ends by itself, with sums over them and returns from the last step
-- back, in iterations i, of which each begins where the one before came to.
local function walks(limit)
  local P = tempo.program { seed = 3 }
  local i = P:dim "i"
  local b, B = P:dim "b"
  local t, T = P:dim "t"
  local p = P:param("p", { along = { i }, shape = {}, init = tempo.ones {} })
  local x = P:tensor { domain = { i, b, t }, name = "x" }
  local u = tempo.uniform({}, { domain = { i, b, t }, name = "u" })
  x[{ t = 0 }] = p
  x:otherwise(x[t - 1] * (1 + u))
  P:stop(t, x:ge(limit))
  local s = x[0 .. T]:sum(0)
  local G = P:tensor { domain = { i, b, t }, name = "G" }
  G[{ t = T - 1 }] = x
  G:otherwise(x + 0.9 * G[t + 1])
  local back = G[{ t = 0 }]
  local m = back[0 .. B]:mean(0)
  p:update(p * 0.9 + m * 0.001)
  return P, { s = s, m = m, back = back, n = T:value():to "f32", last = x[T - 1], x = x }, i
end

function programs.walks()
  local P, out = walks(20)
  local f = compile(P, out)
  for _, at in ipairs { { 3, 4, 50 }, { 1, 1, 1 }, { 2, 3, 2 }, { 3, 4, 0 }, { 0, 4, 9 },
    { 2, 0, 9 } } do
    call(f, table.concat(at, " "), {}, { I = at[1], B = at[2], T = at[3] })
  end
  counts(f)
end

-- ends at the first point; never
function programs.once() programs.limit(0.5) end
function programs.never() programs.limit(1e30) end
function programs.limit(limit)
  local P, out = walks(limit)
  local f = compile(P, out)
  for _, at in ipairs { { 2, 3, 7 }, { 2, 3, 1 }, { 1, 1, 300 } } do
    call(f, table.concat(at, " "), {}, { I = at[1], B = at[2], T = at[3] })
  end
  counts(f)
end

-- The host looks at each iteration, and loads a first value.
function programs.looked()
  local P, out = walks(20)
  P:sink({ out.m }, function() end)
  local f = compile(P, { back = out.back })
  f:load_params { p = tempo.array(1.5, "f32") }
  call(f, "looked", {}, { I = tonumber(arg[3]), B = 8, T = 60 })
  say("parameters", f:params())
  counts(f)
end

-- an integer that cannot be divided, at a point that not all rows come to
function programs.fails()
  local P = tempo.program { seed = 3 }
  local b, t = P:dim "b", P:dim "t"
  local x = P:tensor { domain = { b, t }, dtype = "i64", name = "x" }
  local by = P:input("by", { domain = { b, t }, dtype = "i64" })
  x[{ t = 0 }] = b:value() + 3
  x:otherwise((x[t - 1] * 2):floordiv(by))
  P:stop(t, x:ge(40))
  local f = compile(P, { x = x })
  for _, zero in ipairs { 2, 9 } do
    local list = {}
    for r = 1, 3 do
      list[r] = {}
      for k = 1, 12 do list[r][k] = (r == 2 and k == zero) and 0 or 1 end
    end
    call(f, "zero " .. zero, { by = tempo.array(list, "i64") }, { B = 3, T = 12 })
  end
  counts(f)
end

-- Steps: a state goes from the device to the processor and back.
function programs.states()
  local P, out, i = walks(20)
  local f = compile(P, out, { tick = i })
  local g = P:compile { outputs = out, tier = "interpreter", tick = i }
  f:start({}, { I = 6, B = 3, T = 40 })
  for k = 0, 5 do
    local _, got = f:step({}, { budget_ms = k % 3 == 2 and 0 or nil })
    say("step " .. k, got)
    if k < 5 and k % 2 == 0 then
      g:load_state(f:state())
      f, g = g, f
    end
  end
end

-- Reproducible products of more than 128 terms: by tiles, by threads, added to in each step.
-- From its second value on a parameter is the same; all of its points leave theirs in one place.
function programs.held()
  local P = tempo.program { dtype = "f64" }
  local i, j = P:dims "i j"
  local x, y = P:input("x", { shape = { 3 } }), P:input("y", { domain = { j } })
  local z = P:tensor { domain = { j } }
  z[{ [j] = j - 1 }] = z:tanh()
  z:otherwise(y:tanh())
  local w = P:param("w", { along = { i }, shape = { 3 }, init = x:tanh() })
  local outputs = { now = w[i], before = w[{ i = tempo.max(i - 1, 0) }] }
  w:update(w[{ i = 0 }]:tanh())
  P:sink({ z + tempo.arange({ 3 }, { dtype = "f64" }) }, function() end, { over = { j } })
  local f = compile(P, outputs, { passes = { algebra = false } })
  for _, n in ipairs { 0, 1, 3, 200 } do
    call(f, "held", { x = tempo.array({ 1, 2, 3 }, "f64"), y = tempo.array({ 1, 2, 3, 4 }, "f64") },
      { I = n, J = 4 })
  end
end

function programs.products()
  for _, dtype in ipairs { "f32", "f64", "bf16" } do
    local P = tempo.program { dtype = dtype }
    local t, T = P:dim "t"
    local next, inputs = helper.rng(7), {}
    local function input(name, shape, domain)
      local all = { unpack(shape) }
      if domain then table.insert(all, 1, 2) end
      inputs[name] = helper.array(helper.numbers(all, function() return next() end), dtype, all)
      return P:input(name, { shape = shape, domain = domain })
    end
    local a, b = input("a", { 40, 300 }), input("b", { 300, 33 })
    local x, w = input("x", { 129, 20 }, { t }), input("w", { 129, 18 }, { t })
    local h = P:tensor { domain = { t }, shape = { 20, 18 } }
    h[0] = x:mT():matmul(w)
    h:otherwise(h[t - 1] * 0.5 + x:mT():matmul(w))
    local f = compile(P, { ab = a:matmul(b), aa = a:matmul(a:mT()), h = h,
      few = a:slice(0, 0, 3):matmul(a:mT()), row = a:slice(0, 0, 1):matmul(b),
      short = x:mT():slice(0, 0, 4):slice(1, 0, 100):matmul(x:slice(0, 0, 100)),
      dot = a:slice(0, 0, 1):matmul(b:slice(1, 0, 1)), sum = x:mT():matmul(w)[0 .. T]:sum(0) },
      { reproducible = true })
    call(f, dtype, inputs, { T = 2 })
    counts(f)
  end
end

-- NaN and infinity: of an elementwise operator, of a fold, of a sum over time, of a product, of a
-- parameter that is changed in place; far numbers in the input do none.
function programs.nan()
  local wrong = tonumber(arg[3])
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 3, 2 } })
  local p = P:param("p", { along = { t }, shape = { 2 }, init = tempo.ones { 2 } })
  p:update(p * ((wrong == 0 or wrong == 5) and 3e15 or 2))
  local y = wrong == 1 and (x - 2):log() or wrong == 2 and (x * 3e37):sum(0)
    or wrong == 3 and (x:to "f64" * 3e307):select(0, 0)[{ t = 0 .. T }]:sum(0)
    or wrong == 4 and (x * 1e19):matmul((x * 1e19):mT()) or wrong == 5 and x + p or x * x
  local f = compile(P, { y = y }, { check = "nan" })
  local function at(v) return v == 0 and -1 / 0 or 3 + v end
  for _, steps in ipairs { 1, 4 } do
    for _, first in ipairs { 0, 1 } do
      local list = {}
      for k = 1, steps do
        list[k] = { { at(first + k), 3 }, { 4, 3.5 }, { 3, k == 3 and first == 1 and 1.5 or 5 } }
      end
      if first == 0 then list[1][1][1] = 1 / 0 end
      call(f, steps .. " " .. first, { x = tempo.array(list, "f32") }, { T = steps })
    end
  end
  counts(f)
end

programs[program]()

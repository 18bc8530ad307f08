-- What the specs of programs share: a compilation on every tier whose results must agree, comparisons, numbers.
local tempo = require "tempo"

local S = {}

-- math ------------------------------------------------------------------------------------------------------------------

-- Park and Miller's generator: the same numbers under both Luas. next(n): an integer in 0 .. n-1; next(): a number in (-1, 1).
function S.rng(seed)
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

function S.tanh(x)                                       -- Lua 5.4 has none
  local e = math.exp(-2 * math.abs(x))
  return (x < 0 and -1 or 1) * (1 - e) / (1 + e)
end

-- A nested table of shape {n, m, ...} with f() at each place.
function S.fill(shape, f, level)
  level = level or 1
  if level > #shape then return f() end
  local t = {}
  for i = 1, shape[level] do t[i] = S.fill(shape, f, level + 1) end
  return t
end

function S.map(v, f)
  if type(v) ~= "table" then return f(v) end
  local t = {}
  for i = 1, #v do t[i] = S.map(v[i], f) end
  return t
end

-- An array with the shape even where an extent is 0, of which nested tables know nothing.
function S.array(v, dtype, shape)
  for _, n in ipairs(shape) do
    if n == 0 then return tempo.array({}, dtype, shape) end
  end
  return tempo.array(v, dtype)
end

function S.random(r, shape, dtype)
  return S.array(S.fill(shape, r), dtype or "f64", shape)
end

-- comparison --------------------------------------------------------------------------------------------------------------

local tolerance = { f64 = 1e-10, f32 = 2e-4, f16 = 2e-2, bf16 = 1e-1, i64 = 0, i32 = 0, u8 = 0, bool = 0 }

local function largest(v)
  if type(v) == "boolean" then return 0 end
  if type(v) == "number" then return (v ~= v or v == math.huge or v == -math.huge) and 0 or math.abs(v) end
  local m = 0
  for i = 1, #v do m = math.max(m, largest(v[i])) end
  return m
end

local function differ(got, want, tol, where)
  if type(want) == "table" then
    if type(got) ~= "table" then return ("%s: %s, not a table"):format(where, tostring(got)) end
    if #got ~= #want then return ("%s: %d rows, not %d"):format(where, #got, #want) end
    for i = 1, #want do
      local d = differ(got[i], want[i], tol, ("%s[%d]"):format(where, i - 1))
      if d then return d end
    end
    return nil
  end
  if got == want or (got ~= got and want ~= want) then return nil end
  local near = type(got) == "number" and type(want) == "number" and math.abs(got - want) <= tol      -- false for NaN
  if not near then
    local show = function(x) return type(x) == "number" and ("%.17g"):format(x) or tostring(x) end
    return ("%s: %s, not %s"):format(where, show(got), show(want))
  end
end

-- nil, or what is wrong. tol is relative to the largest number of either, at least to 1.
function S.differ(got, want, tol, where)
  tol = tol * math.max(1, largest(got), largest(want))
  return differ(got, want, tol, where or "value")
end

function S.same(got, want, tol, where)
  local d = S.differ(got, want, tol or 1e-9, where)
  if d then error(d, 2) end
end

function S.differ_arrays(a, b, tol, where)
  if a:dtype() ~= b:dtype() then return ("%s: dtype %s, not %s"):format(where, a:dtype(), b:dtype()) end
  local sa, sb = a:shape(), b:shape()
  if table.concat(sa, ",") ~= table.concat(sb, ",") then
    return ("%s: shape {%s}, not {%s}"):format(where, table.concat(sa, ","), table.concat(sb, ","))
  end
  return S.differ(a:totable(), b:totable(), tol or tolerance[a:dtype()], where)
end

local function agree(name, out, ref, what, tol)
  for k in pairs(ref) do
    if out[k] == nil then error(("output '%s' is missing on %s"):format(k, name), 0) end
    local d = S.differ_arrays(out[k], ref[k], tol, ("%s: '%s' on %s against reference"):format(what, k, name))
    if d then error(d, 0) end
  end
end

-- running -----------------------------------------------------------------------------------------------------------------

local tiers = { { "reference", { tier = "reference" } }, { "interpreter", { tier = "interpreter" } },
                { "interpreter without passes", { tier = "interpreter", passes = "none" } } }

-- Compiles on every tier. f(inputs, bounds[, options]) runs all, holds them to one another, and gives the interpreter's arrays.
-- f.fn is the interpreter's function, f.reference the evaluator's.
function S.compile(P, outputs, tol)
  local fns = {}
  for i, tier in ipairs(tiers) do
    local o = { outputs = outputs }
    for k, v in pairs(tier[2]) do o[k] = v end
    fns[i] = P:compile(o)
  end
  local self = { fn = fns[2], reference = fns[1] }
  return setmetatable(self, { __call = function(_, inputs, bounds, options)
    local what = {}
    for k, v in pairs(bounds or {}) do what[#what + 1] = ("%s = %d"):format(k, v) end
    table.sort(what)
    what = "at " .. table.concat(what, ", ")
    local ref = fns[1](inputs, bounds, options)
    local out
    for i = 2, #fns do
      local o = fns[i](inputs, bounds, options)
      agree(tiers[i][1], o, ref, what, tol)
      agree(tiers[i][1], fns[i]:params(), fns[1]:params(), what .. ", parameters", tol)
      out = out or o
    end
    return out, ref
  end })
end

-- As above for one run, as plain Lua tables and numbers.
function S.run(P, outputs, inputs, bounds, options)
  local out, t = S.compile(P, outputs)(inputs, bounds, options), {}
  for k, a in pairs(out) do t[k] = S.plain(a) end
  return t
end

-- Nested tables; a scalar is a number.
function S.plain(a)
  if #a:shape() == 0 then return a:item() end
  return a:totable()
end

-- f must raise an error that contains each of the words (plain text).
function S.fails(f, ...)
  local ok, e = pcall(f)
  if ok then error("no error, expected one with: " .. table.concat({ ... }, ", "), 2) end
  for _, word in ipairs { ... } do
    if not tostring(e):find(word, 1, true) then error(("expected '%s' in: %s"):format(word, tostring(e)), 2) end
  end
  return tostring(e)
end

-- Central differences of f(x), a number, in every element of the nested table x.
function S.differences(f, x, eps)
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

return S

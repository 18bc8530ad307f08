-- Times the optimiser on programs that are written as they read: each side in a process of its
-- own, pinned to the same one core, in turn.
--   incremental-slope   4.6 over the time at T = 65,536 against that at T = 16,384: the worst of a
--   prefix sum, a suffix
--                       sum, a sliding maximum, a running variance, a softmax-weighted sum of a
--                       prefix, attention
--                       of a query to 16 values a point, a discounted suffix, a derivative, a
--                       maximum and a sum
--                       over as many as the call says, the place of the largest so far
--   incremental-work    the same of what is counted: elements and turns of loops, 4 if work is
--   linear
--   prefix-vs-jax       a prefix sum of 65,536 numbers; jnp.cumsum
--   evolve-flat         recurrences of which the last point is needed: 1,000 steps over 10^9, the
--   worst
--   window-vs-jax       the maximum of each 64 of them; lax.reduce_window
--   lua5.4 bench/optimiser.lua [--rows incremental-slope,prefix-vs-jax] [--rounds 3]
-- Needs a python3 with JAX on the PATH for the rows against it; without it these are left out,
-- which fails. Times of what is compared with itself are the processor's, against JAX those of the
-- wall; the best of all, by native code unless TEMPO_TIER says otherwise.
local tempo = require "tempo"

-- ---- our programs -------------------------------------------------------------------------------
local made = {}

function made.prefix(x, t) return x[0 .. t + 1]:sum(0) end
function made.suffix(x, t, T) return x[t .. T]:sum(0) end
function made.window(x, t) return x[tempo.max(0, t - 63) .. t + 1]:max(0) end
function made.told_max(x, t, _, w) return x[tempo.max(0, t - w + 1) .. t + 1]:max(0) end
function made.told_sum(x, t, T, w) return x[t .. tempo.min(t + w, T)]:sum(0) end
function made.place(x, t) return x[0 .. t + 1]:argmax(0) end
function made.variance(x, t) return x[0 .. t + 1]:var(0, { correction = 0 }) end
function made.softmax(x, t)
  local past = x[0 .. t + 1]
  return (past:softmax(0) * past:square()):sum(0)
end
function made.attention(x, t)
  local value = (x:unsqueeze(-1) * tempo.arange(16)):cos()
  local past = (value * 0.3):sum(-1)[0 .. t + 1]:softmax(0)
  return (past:unsqueeze(-1) * value[0 .. t + 1]):sum(0):square():sum()
end
function made.discounted(x, t, T) return (x[t .. T] * 0.99 ^ tempo.arange(T - t)):sum(0) end
function made.derivative(x, t, T)
  return tempo.grad(x:detach() * x[t .. T]:square():mean(0), { x })[1]
end

local SLOPES = {
  "prefix", "suffix", "window", "told_max", "told_sum", "place", "variance", "softmax", "attention",
    "discounted",
  "derivative",
}

-- Recurrences, each read at its last point.
local evolving = {}

local function stepping(P, t, dtype, shape, first, step)
  local x = P:tensor { domain = { t }, dtype = dtype, shape = shape }
  x[0] = first
  x[t] = step(x[t - 1])
  return x
end

function evolving.cubic(P, t, T)
  local x = stepping(P, t, "i64", {}, 5, function(x) return x + 3 end)
  local y = stepping(P, t, "i64", {}, 1, function(y) return y + x[t] end)
  return stepping(P, t, "i64", {}, 1, function(z) return z + y[t] end)[T - 1]
end
function evolving.sum(P, t, T)
  return stepping(P, t, "f32", { 64 }, tempo.zeros { 64 }, function(x) return x + 0.1 end)[T - 1]
end
function evolving.power(P, t, T)
  return stepping(P, t, "i64", {}, 1, function(x) return x * 3 end)[T - 1]
end
function evolving.affine(P, t, T)
  return stepping(P, t, "f32", { 64 }, tempo.ones { 64 },
    function(x) return x * 0.99999 + 0.5 end)[T - 1]
end

local function compiled(row)
  local P = tempo.program()
  local t, T = P:dim "t"
  local tier = os.getenv "TEMPO_TIER" or "native"
  if evolving[row] then
    return P:compile { outputs = { y = evolving[row](P, t, T) }, tier = tier }
  end
  local y = made[row](P:input("x", { domain = { t } }), t, T, row:find "told" and P:bound "w")
  return P:compile { outputs = { y = y }, tier = tier }
end

local function bounds_of(row, n) return { T = n, w = row:find "told" and 100 or nil } end

local function numbers(n)
  local P = tempo.program()
  local x = (tempo.arange({ n }, 0, 1, { dtype = "f64" }) * 7.3):sin():to "f32"
  return P:compile { outputs = { x = P:constant(0) + x }, tier = "interpreter" } {}.x
end

-- Nanoseconds of a call by the processor and by the wall, the best of 20 times as many calls as
-- take 2 ms, and a number of its result.
if arg[1] == "--run" then
  local row, n = arg[2], tonumber(arg[3])
  local f, bounds = compiled(row), bounds_of(row, n)
  local given, wall, busy = evolving[row] and {} or { x = numbers(n) }, math.huge, math.huge
  local y = f(given, bounds).y
  local from = tempo.clock()
  f(given, bounds)
  local calls = math.ceil(2e-3 / (tempo.clock() - from))
  for _ = 1, 20 do
    local a, b = tempo.clock(), os.clock()
    for _ = 1, calls do f(given, bounds) end
    wall, busy = math.min(wall, (tempo.clock() - a) / calls),
      math.min(busy, (os.clock() - b) / calls)
  end
  print(("%.6g %.6g %.9g"):format(busy * 1e9, wall * 1e9, evolving[row] and 0 or y:get(n // 2)))
  os.exit()
end

-- ---- all of them --------------------------------------------------------------------------------
local sides = require "bench.common.sides"
local opt = require "tempo.cli"(arg, { rows = "", rounds = 3 }, "lua5.4 bench/optimiser.lua")
local wanted = sides.rows(opt.rows)

local function mine(row, n)
  return ("%s%s %s --run %s %d"):format(sides.PIN, arg[-1], arg[0], row, n)
end
local LONG, SHORT = 65536, 16384
local failed

if wanted "incremental-slope" then
  local worst = 0
  for _, row in ipairs(SLOPES) do
    local _, _, t = sides.turns(opt.rounds, { mine(row, LONG), mine(row, SHORT) })
    print(("%-12s %8.1f us at %d, %.1f at %d: %.2f"):format(row, t[1] / 1e3, LONG, t[2] / 1e3,
      SHORT, t[1] / t[2]))
    worst = math.max(worst, t[1] / t[2])
  end
  print(("RATIO incremental-slope %.3g (%.2f vs 4.6 times the time for 4 times the length)"):format(
    4.6 / worst, worst))
end

if wanted "incremental-work" then
  local worst = 0
  local function count(row, f, n)
    local elements,
      turns = f:explain("work", bounds_of(row, n)):match "^%s*([%d,]+).-turn ([%d,]+) times"
    return tonumber((elements:gsub(",", ""))) + tonumber((turns:gsub(",", "")))
  end
  for _, row in ipairs(SLOPES) do
    local f = compiled(row)
    worst = math.max(worst, count(row, f, LONG) / count(row, f, SHORT))
  end
  local said = "RATIO incremental-work %.3g (%.4g vs 4.01 times the work for 4 times the length)"
  print(said:format(4.01 / worst, worst))
end

if wanted "evolve-flat" then
  local worst, said = math.huge, nil
  for row in pairs(evolving) do
    local _, _, t = sides.turns(opt.rounds, { mine(row, 1000), mine(row, 1000000000) })
    print(("%-12s %8.2f us at 1e3, %.2f at 1e9"):format(row, t[1] / 1e3, t[2] / 1e3))
    if t[1] / t[2] < worst then
      worst, said = t[1] / t[2], ("%.2f vs %.2f us"):format(t[1] / 1e3, t[2] / 1e3)
    end
  end
  print(("RATIO evolve-flat %.3g (%s)"):format(worst, said))
end

local python = sides.python "jax, numpy"
for name, row in pairs { ["prefix-vs-jax"] = "prefix", ["window-vs-jax"] = "window" } do
  if wanted(name) and not python then
    failed = name .. " is left out: no python3 with JAX and NumPy is there; bench/setup makes one"
    print(failed)
  elseif wanted(name) then
    local peer = ("%s%s bench/peers/optimiser_peer.py %s %d 2>/dev/null"):format(sides.PIN, python,
      row, LONG)
    local t, said = sides.turns(opt.rounds, { mine(row, LONG), peer })
    assert(math.abs(said[1] - said[2]) < 1e-3, name .. ": the sides differ")
    print(("RATIO %s %.3g (%.1f vs %.1f us)"):format(name, t[2] / t[1], t[1] / 1e3, t[2] / 1e3))
  end
end
if failed then error(failed) end

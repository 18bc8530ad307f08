-- Times the plan against JAX, each side in a process of its own, pinned to the same one core,
-- in turn: softmax and layer norm, a chain of 20 elementwise operators with shared values, Adam on
-- 10 M parameters, a chain of where, clamp and relu; and the interpreter's nanoseconds an operator
-- and steps of REINFORCE a second.
--   lua5.4 bench/plan.lua [--rows softmax,chain] [--rounds 3] [--times 7] [--before DIR]
-- --before runs ours from another built tree (DIR/build, DIR/lua) in the same turns and prints that
-- against ours too. Needs a python3 with JAX and NumPy on the PATH; without it the rows against JAX
-- are left out, which fails. Times are the processor's, system time included, the best of all,
-- after some seconds in which both sides may compile; the wall's stand beside them.
local tempo = require "tempo"

-- ---- our programs: each gives a function that does the work once and gives its result; or n times, and n
local ours = {}

-- y of some inputs, called `times` times.
local function call(names, make)
  return function(load, rows, columns)
    local P, inputs, x = tempo.program(), {}, {}
    for k, name in ipairs(names) do
      inputs[name] = load(name)
      x[k] = P:input(name, { shape = columns and { rows, columns } or { rows } })
    end
    local f = P:compile { outputs = { y = make(table.unpack(x)) } }
    return function() return f(inputs).y end
  end
end

ours["softmax-last"] = call({ "x" }, function(x) return x:softmax(-1) end)
ours["softmax-first"] = call({ "x" }, function(x) return x:softmax(0) end)
ours.norm = call({ "x" }, function(x) return x:layer_norm { 1024 } end)
ours.chain = call({ "x", "y" }, function(x, y)
  local a = x * y + 0.5
  local b = a * a - x
  local c = (b - a) * 0.25 + y
  local d = c:maximum(a) * b
  local e = (d:abs() + 1):sqrt()
  local g = (d / e - c) * a
  return (g + e) * (g - e) + b * c
end)
ours.select = call({ "x", "y" }, function(x, y)
  local a = tempo.where(x:gt(0), x, y * 0.1)
  local b = tempo.where(a:lt(y), a + y, a - y):clamp(-1, 1)
  return tempo.where(b:gt(0.5), b * x, b):relu():clamp(0.125, 0.75)
end)

function ours.adam(load, n)
  local P = tempo.program()
  local i = P:dim "i"
  local w = P:param("w", { along = { i }, shape = { n }, init = load "x" })
  local g = P:input("g", { shape = { n } })
  tempo.optim.Adam({ w }, { lr = 1e-3 }):step((w * g):sum())
  local f, inputs = P:compile { outputs = { first = w:slice(0, 0, 1) } }, { g = load "y" }
  return function(steps)
    f(inputs, { I = steps })
    return f:params().w
  end, 20
end

-- ---- one side's process -------------------------------------------------------------------------
-- The sum of the squares: what both sides have computed.
local function squares(y)
  local P = tempo.program()
  local x = P:input("x", { shape = y:shape() })
  return P:compile { outputs = { s = x:to("f64"):square():sum() } } { x = y }.s:item()
end

-- As JAX's first call compiles, ours runs until its code has had time to come (tier auto).
local WARM = 4
local function warm(once, n)
  local from = tempo.clock()
  while tempo.clock() - from < WARM do once(n):free() end
end

-- The best times of the processor and of the wall in ms, and the last result.
local function least(times, once, n)
  local cpu, wall, y = math.huge, math.huge, nil
  for _ = 1, times do
    if y then y:free() end
    local w0, c0 = tempo.clock(), os.clock()
    y = once(n)
    cpu, wall = math.min(cpu, (os.clock() - c0) * 1e3), math.min(wall, (tempo.clock() - w0) * 1e3)
  end
  return cpu, wall, y
end

-- Prints both times and a number. If the work is done n times: those of one of these, without what
-- begins and ends a call.
local function run(name, times, folder, ...)
  local once, n = ours[name](function(x) return tempo.load(folder .. "/" .. x .. ".npy") end, ...)
  warm(once, n)
  local cpu, wall, y = least(times, once, n)
  if n then
    local cpu1, wall1 = least(times, once, 1)
    cpu, wall = (cpu - cpu1) / (n - 1), (wall - wall1) / (n - 1)
  end
  print(("%.6g %.6g %.9g"):format(cpu, wall, squares(y)))
end

-- Iterations of the CartPole example after the first two: their steps a second of the processor's
-- time.
local function reinforce(iterations, folder)
  local function seconds(n)
    local c0 = os.clock()
    rawset(_G, "arg", { "--iterations", tostring(n), "--out", folder, "--quiet" })
    dofile "examples/reinforce_cartpole.lua"
    return os.clock() - c0
  end
  local first = seconds(2)
  print(("%.9g"):format(iterations * 32 * 500 / (seconds(iterations + 2) - first)))
end

if arg[1] == "--run" then
  local name, times, folder = arg[2], tonumber(arg[3]), arg[4]
  local sizes = {}
  for k = 5, #arg do sizes[#sizes + 1] = tonumber(arg[k]) end
  if name == "reinforce" then
    reinforce(times, folder) else run(name, times, folder, table.unpack(sizes)) end
  os.exit()
end

-- ---- all of them --------------------------------------------------------------------------------
local opt = require "tempo.cli"(arg, { rows = "", rounds = 3, times = 7, before = "" },
  "lua5.4 bench/plan.lua")
-- the name of the ratio, what both sides call it, sizes
local rows = {
  { "softmax-vs-jax", "softmax-last", "4096 1024" },
    { "softmax-first-vs-jax", "softmax-first", "4096 1024" },
  { "norm-vs-jax", "norm", "4096 1024" }, { "chain-vs-jax", "chain", "16777216" },
  { "select-vs-jax", "select", "16777216" }, { "adam-vs-jax", "adam", "10000000" },
}

local common = require "bench.common.sides"
local output, with_folder, PIN = common.output, common.with_folder, common.PIN
local python, sides = common.python "jax, numpy", { { "ours", PIN .. arg[-1] .. " " } }
if opt.before ~= "" then
  local env = "LUA_PATH_5_4='@/lua/?.lua;@/lua/?/init.lua;;' LUA_CPATH_5_4='@/build/5.4/?.so;;' "
  sides[2] = { "before", env:gsub("@", (opt.before:gsub("%%", "%%%%"))) .. sides[1][2] }
end

local wanted = common.rows(opt.rows)

local function ratio(name, unit, mine, peer, value, format)
  print(("RATIO %s %.2f (" .. format .. " vs " .. format .. " %s)"):format(name, value, mine, peer,
    unit))
end

-- The best of each side, in turn: measure(side) gives a number, the less the better, and others of
-- the same run.
local function turns(those, measure)
  local best = {}
  for _ = 1, opt.rounds do
    for _, side in ipairs(those) do
      local m = { measure(side) }
      local b = best[side[1]] or m
      for k = 1, #m do b[k] = math.min(b[k], m[k]) end
      best[side[1]] = b
    end
  end
  return best
end

-- ours and before by a number of which `sign` says whether less (1) or more (-1) is better.
local function alone(name, unit, sign, measure)
  local best = turns(sides, function(side) return sign * measure(side[2]) end)
  local a, b = sign * best.ours[1], best.before and sign * best.before[1]
  print(("%-14s ours %.4g %s%s"):format(name, a, unit, b and (", before %.4g"):format(b) or ""))
  if b then ratio(name .. "-vs-before", unit, a, b, (b / a) ^ sign, "%.4g") end
end

local function against(row, peer, folder)
  local name, sizes, said = row[2], row[3], nil
  output(("%s bench/peers/plan_peer.py arrays %s %s"):format(python, folder, sizes))
  local those = { peer, table.unpack(sides) }
  local best = turns(those, function(side)
    local script = side == peer and "bench/peers/plan_peer.py" or "bench/plan.lua --run"
    local text = output(("%s%s %s %d %s %s"):format(side[2], script, name, opt.times, folder,
      sizes))
    local cpu, wall, number = text:match "(%S+) (%S+) (%S+)"
    assert(cpu, side[1] .. " did not run " .. name)
    said = said or tonumber(number)
    assert(math.abs(number - said) <= 1e-4 * math.abs(said),
      ("%s computes %s, JAX %g"):format(side[1], number, said))
    return tonumber(cpu), tonumber(wall)
  end)
  for _, side in ipairs(those) do
    local b = best[side[1]]
    print(("%-14s %-6s %8.2f ms, by the wall %8.2f"):format(name, side[1], b[1], b[2]))
  end
  ratio(row[1], "ms", best.ours[1], best.JAX[1], best.JAX[1] / best.ours[1], "%.2f")
  if best.before then
    ratio(name .. "-vs-before", "ms", best.ours[1], best.before[1], best.before[1] / best.ours[1],
      "%.2f")
  end
end

for _, row in ipairs(rows) do
  if python and wanted(row[2]) then
    with_folder(function(folder) against(row, { "JAX", PIN .. python .. " " }, folder) end)
  end
end
if wanted "operator" then
  alone("operator", "ns", 1, function(side)
    return tonumber(
      output(side .. "bench/interpreter.lua operators"):match "RATIO interpreter%-op%-ns %S+ %((%S+)")
  end)
end
if wanted "reinforce" then
  with_folder(function(folder)
    alone("reinforce", "steps/s", -1, function(side)
      return tonumber(
        output(side .. "bench/plan.lua --run reinforce 40 " .. folder):match "(%S+)%s*$")
    end)
  end)
end
if not python then error "no python3 with JAX and NumPy is there: its rows are left out" end

-- Holds a program in steps to the same program in one call: for each set of tick dims that its
-- outputs offer, on both tiers, with budgets, with states that are taken and loaded between steps,
-- also by what is compiled with a limit of memory, and with states that go on with a larger bound
-- of the first dim. ticks.check(case) gives what check.check does.
local tempo = require "tempo"
local helper = require "spec.helper"
local check = require "spec.fuzz.check"

local ticks = {}

-- The part of a nested table at `path`: an index from 0, or ":" for all of an axis.
local function part(v, path, k)
  k = k or 1
  if k > #path then return v end
  if path[k] ~= ":" then return part(v[path[k] + 1], path, k + 1) end
  local r = {}
  for q = 1, #v do r[q] = part(v[q], path, k + 1) end
  return r
end

local function dims_of(x)
  local list = {}
  for _, d in ipairs(x:domain()) do list[#list + 1] = tostring(d) end
  return list
end

local function includes(list, some)
  local has = {}
  for _, d in ipairs(list) do has[d] = true end
  for _, d in ipairs(some) do
    if not has[d] then return false end
  end
  return true
end

local function path_of(dims, at)
  local p = {}
  for k, d in ipairs(dims) do p[k] = at[d] or ":" end
  return p
end

-- The outermost dims of outputs, each set once.
local function tick_sets(case)
  local sets, seen = {}, {}
  for _, o in pairs(case.outputs) do
    local dom, names, set = o:domain(), {}, {}
    for n, d in ipairs(dom) do
      names[n], set[n] = tostring(d), d
      local key = table.concat(names, ",")
      if not seen[key] then
        seen[key] = true
        sets[#sets + 1] = { dims = helper.map(set, function(x) return x end),
          names = helper.map(names, function(x) return x end), text = key }
      end
    end
  end
  table.sort(sets, function(a, b) return a.text < b.text end)
  return sets
end

-- The values of this tick's inputs.
local function values_at(case, inputs, names, at)
  local values = {}
  for _, x in ipairs(case.inputs) do
    local dims = {}
    for k, b in ipairs(x[2]) do dims[k] = b:lower() end
    if includes(dims, names) then
      local v = part(inputs[x[1]]:totable(), path_of(dims, at))
      values[x[1]] = type(v) == "table" and tempo.array(v, x[4]) or v
    end
  end
  return values
end

-- The points of a box, in order.
local function points(names, bounds)
  local list, at = {}, {}
  local function go(k)
    if k > #names then
      local p = {}
      for _, d in ipairs(names) do p[d] = at[d] end
      list[#list + 1] = p
      return
    end
    for x = 0, bounds[names[k]:upper()] - 1 do
      at[names[k]] = x
      go(k + 1)
    end
  end
  go(1)
  return list
end

-- Ends by data: the dims over which they are, and what was reached there.
local function ends_of(case, want)
  local ends = {}
  for d, v in pairs(case.ends or {}) do
    ends[d] = { dims = dims_of(v), length = want[d:upper()] }
  end
  return ends
end

-- The greatest length of dim d over the rows at this point.
local function length_at(ends, d, at, bounds)
  local e, most, free = ends[d], 0, {}
  if not e then return bounds[d:upper()] end
  for _, x in ipairs(e.dims) do
    if not at[x] then free[#free + 1] = x end
  end
  for _, p in ipairs(points(free, bounds)) do
    local v, there = e.length, true
    local path = {}
    for k, x in ipairs(e.dims) do path[k] = at[x] or p[x] end
    for k, n in ipairs(v:shape()) do there = there and path[k] < n end
    if there then most = math.max(most, v:get((table.unpack or unpack)(path))) end      -- luacheck: globals unpack
  end
  return most
end

-- The ticks that there are: some row goes on.
local function ticks_of(names, ends, bounds)
  local list = {}
  for _, at in ipairs(points(names, bounds)) do
    local there = true
    for _, d in ipairs(names) do there = there and at[d] < length_at(ends, d, at, bounds) end
    if there then list[#list + 1] = at end
  end
  return list
end

-- How far the points of an output go that are there, by dim.
local function reached(dims, here, ends, bounds)
  local free, most = {}, {}
  for _, d in ipairs(dims) do
    if not here[d] then free[#free + 1], most[d] = d, 0 end
  end
  for _, p in ipairs(points(free, bounds)) do
    local there = true
    for d, x in pairs(here) do p[d] = x end
    for _, d in ipairs(dims) do there = there and p[d] < length_at(ends, d, p, bounds) end
    for _, d in ipairs(free) do most[d] = math.max(most[d], there and p[d] + 1 or 0) end
  end
  return most
end

-- Takes the part of an output with the outer n tick dims at a tick, as long as was reached there.
local function part_at(o, whole, names, n, at, ends, bounds)
  local here, path, dims = {}, {}, dims_of(o)
  for k = 1, n do here[names[k]] = at[names[k]] end
  for k, d in ipairs(dims) do path[k] = here[d] or ":" end
  local most = reached(dims, here, ends, bounds)
  local v = part(whole:totable(), path)
  local function cut(x, k)
    while k <= #dims and here[dims[k]] do k = k + 1 end
    if k > #dims then return x end
    local r = {}
    for q = 1, ends[dims[k]] and most[dims[k]] or #x do r[q] = cut(x[q], k + 1) end
    return r
  end
  return cut(v, 1)
end

-- How many of the tick dims it has, if these are the outer ones and no others; else 0.
local function outer(o, names)
  local has, n = {}, 0
  for _, d in ipairs(dims_of(o)) do has[d] = true end
  while n < #names and has[names[n + 1]] do n = n + 1 end
  for k = n + 1, #names do
    if has[names[k]] then return 0 end
  end
  return n
end

-- Is the tick after `at` at another point of the outer n?
local function leaves(names, n, at, following)
  for k = 1, n do
    if not following or following[names[k]] ~= at[names[k]] then return true end
  end
  return n == #names
end

local function text_of(bounds)
  local t = {}
  for k, v in pairs(bounds) do t[#t + 1] = ("%s = %d"):format(k, v) end
  table.sort(t)
  return table.concat(t, ", ")
end

local function budget_of(r)
  return r(2) == 0 and { budget_ms = r(2) == 0 and 0 or r(20) / 1000 } or nil
end

-- All steps of one run; an error says what differs. Every output comes once: at each of its ticks,
-- with the first tick, or with the last. Between steps f and g, which have the same program, take
-- over from one another.
local function steps(f, g, case, set, bounds, want, params, r)
  local inputs, names, given = check.inputs(case, bounds), set.names, {}
  local ends = ends_of(case, want)
  local all = ticks_of(names, ends, bounds)
  f:start(inputs, bounds)
  local step, out = 0, nil
  local function same(name, got, whole)
    local d = helper.differ(whole, helper.plain(got), 0, "'" .. name .. "' at step " .. step)
    if d then error(d, 0) end
  end
  for _, at in ipairs(all) do
    if step > 0 and r(4) == 0 then
      g:load_state(f:state())
      f, g = g, f
    end
    local options = budget_of(r) or {}
    if step % 3 > 0 then options.into = out end
    local done
    done, out = f:step(values_at(case, inputs, names, at), options)
    step = step + 1
    if done ~= (step == #all) then error(("done at step %d of %d"):format(step, #all), 0) end
    for name, o in pairs(case.outputs) do
      local n = outer(o, names)
      if out[name] and n > 0 and #out[name]:shape() < #want[name]:shape() then
        if not leaves(names, n, at, all[step + 1]) then
          error(("'%s' is shown too early, at step %d"):format(name, step), 0)
        end
        same(name, out[name], part_at(o, want[name], names, n, at, ends, bounds))
        given[name] = true
      elseif out[name] then
        if given[name] or step > 1 and step < #all then
          error(("'%s' is given again, or at step %d"):format(name, step), 0)
        end
        same(name, out[name], helper.plain(want[name]))
        given[name] = true
      end
      if done and not given[name] then error(name .. " is missing at the end", 0) end
    end
  end
  for n, w in pairs(f:params()) do same("parameter " .. n, w, helper.plain(params[n])) end
end

local function positive(bounds)
  for _, n in pairs(bounds) do
    if n == 0 then return false end
  end
  return true
end

-- The part of every input that smaller bounds leave.
local function corners(case, inputs, bounds)
  local small = {}
  for _, x in ipairs(case.inputs) do
    local function cut(v, k)
      if k > #x[2] then return v end
      local t = {}
      for q = 1, bounds[x[2][k]] do t[q] = cut(v[q], k + 1) end
      return t
    end
    local v = inputs[x[1]]
    small[x[1]] = #x[2] == 0 and v or tempo.array(cut(v:totable(), 1), x[4])
  end
  return small
end

local function larger(bounds, dim, r)
  local grown, k = {}, dim:upper()
  for name, n in pairs(bounds) do grown[name] = n end
  if grown[k] then grown[k] = grown[k] + 1 + r(3) end
  return grown[k] and grown
end

-- Twice the same without what adds up all bounds, so that not each of them is mentioned: one for
-- steps, whose parameters are those of the step.
local function unbound(case, set, tier)
  local outputs, pair = {}, {}
  for k, v in pairs(case.outputs) do outputs[k] = k ~= "bounds" and v or nil end
  for k = 1, 2 do
    local ok, f = pcall(case.P.compile, case.P, check.options(outputs, tier, { tick = set.dims }))
    if not ok then return nil end
    pair[k] = f
  end
  return pair
end

-- Bounds that f needs, of these.
local function run_with(f, inputs, bounds)
  while true do
    local ok, out = pcall(f, inputs, bounds)
    local unneeded = not ok and tostring(out):match "'(%w+)' is not needed"
    if not unneeded then return ok, out, bounds end
    local some = {}
    for k, n in pairs(bounds) do some[k] = k ~= unneeded and n or nil end
    bounds = some
  end
end

-- Some ticks, then the rest with larger bounds: what a run with these gives, or an error that says
-- why not.
local function grow(pair, case, set, bounds, r)
  local grown = larger(bounds, set.names[1], r)
  if not pair or not grown then return end
  local f, g = pair[1], pair[2]
  local inputs = check.inputs(case, grown)
  local small = corners(case, inputs, bounds)
  local fine, want, params
  fine, want, grown = run_with(f, inputs, grown)
  if fine then params = f:params() end
  local runs, before, less = run_with(g, small, bounds)
  if not runs then return check.count "smaller bounds that do not run" end
  local list = ticks_of(set.names, ends_of(case, before), bounds)
  g:start(small, less)
  for k = 1, r(#list) do g:step(values_at(case, small, set.names, list[k]), budget_of(r)) end
  local ok, out = pcall(f, inputs, grown, { state = g:state() })
  local why = ("then with %s"):format(text_of(grown))
  if not ok then
    local refused = tostring(out):match "cannot become [^:]*: ([^\n]*)"
      or tostring(out):match "cannot be larger than in the state"
      or tostring(out):match "a larger bound than the state's"
    if fine and not refused then error(("%s: %s"):format(why, tostring(out)), 0) end
    check.count(fine and "larger bounds refused: " .. refused or "larger bounds that do not run")
    return
  end
  if not fine then
    error(("%s it goes on, from the start it does not run: %s"):format(why, tostring(want)), 0)
  end
  check.count "larger bounds"
  for name, v in pairs(want) do
    local d = helper.differ(helper.plain(v), helper.plain(out[name]), 0,
      ("'%s' %s"):format(name, why))
    if d then error(d, 0) end
  end
  for n, v in pairs(f:params()) do
    local d = helper.differ(helper.plain(params[n]), helper.plain(v), 0,
      ("parameter %s %s"):format(n, why))
    if d then error(d, 0) end
  end
end

-- The same with a limit of memory, below which some of it lies in a file; NULL: it is refused. On a
-- device, every other time on the CPU.
local function limited(f, case, set, bounds, r, device)
  if device and r(2) == 0 then
    return case.P:compile(check.options(case.outputs, "interpreter", { tick = set.dims }))
  end
  local ok, need = pcall(f.memory, f, bounds)
  if not ok or r(3) > 0 then return f end
  local limit = math.max(1, math.floor(need * (r(8) + 3) / 10))
  local g = case.P:compile { outputs = case.outputs, tick = set.dims, tier = "interpreter",
    memory = limit }
  local fits, why = pcall(g.start, g, check.inputs(case, bounds), bounds)
  check.count(fits and "with a limit of memory" or "limits of memory that are too small")
  if not fits and not tostring(why):find("memory", 1, true) then
    error(("with a limit of %d bytes: %s"):format(limit, tostring(why)), 0)
  end
  return fits and g or f
end

local function one(case, set, tier, plain, r)
  local ok, f =
    pcall(case.P.compile, case.P, check.options(case.outputs, tier, { tick = set.dims }))
  if not ok then
    local allowed = tostring(f):find("forbidden", 1, true)
      or tostring(f):find("nothing that is computed", 1, true) or
      -- ticks come one after the other
      case.cycles and tostring(f):find("needs itself", 1, true)
    check.count(allowed and "ticks refused" or "ticks that do not compile")
    return not allowed and tostring(f) or nil
  end
  -- first of all: parameters are those of a run in steps as long as one goes on
  local pair, runs = r(3) == 0 and unbound(case, set, tier), {}
  for n, bounds in ipairs(case.bounds) do
    if positive(bounds) then
      check.hear_anew()
      local inputs = check.inputs(case, bounds)
      local fine, want = pcall(f, inputs, bounds)
      local without = pcall(plain, inputs, bounds)
      if fine ~= without then
        return ("at %s: with ticks %s, without %s"):format(text_of(bounds), tostring(want),
          without and "it runs" or "it does not")
      end
      runs[n] = fine and { want, f:params() }
    end
  end
  for n, bounds in ipairs(case.bounds) do
    if runs[n] then
      local fine, why = pcall(function()
        local device = tier == os.getenv "DEVICE"
        steps(f, (tier == "interpreter" or device) and limited(f, case, set, bounds, r, device)
          or f, case, set, bounds, runs[n][1], runs[n][2], r)
        grow(pair, case, set, bounds, r)
      end)
      if not fine then return ("at %s: %s"):format(text_of(bounds), tostring(why)) end
      check.count "runs in steps"
    end
  end
end

function ticks.check(case)
  local r = helper.rng(#case.inputs * 31 + #case.bounds)
  local ok, plain = pcall(case.P.compile, case.P, { outputs = case.outputs })
  if not ok then return "illegal", tostring(plain) end
  for _, set in ipairs(tick_sets(case)) do
    for _, tier in ipairs { "interpreter", "reference",
      os.getenv "NATIVE" and "native" or os.getenv "DEVICE" } do
      local why = one(case, set, tier, plain, r)
      if why then return "finding", ("ticks of %s on the %s: %s"):format(set.text, tier, why) end
    end
  end
  return "ok"
end

return ticks

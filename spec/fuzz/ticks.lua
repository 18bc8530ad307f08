-- Holds a program in steps to the same program in one call: for each set of tick dims that its outputs offer, on both tiers, with budgets and with states
-- that are taken and loaded between steps. ticks.check(case) gives what check.check does.
local tempo = require "tempo"
local S = require "spec.support"
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
        sets[#sets + 1] = { dims = S.map(set, function(x) return x end), names = S.map(names, function(x) return x end), text = key }
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
  for d, v in pairs(case.ends or {}) do ends[d] = { dims = dims_of(v), length = want[d:upper()] } end
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

-- Of an output with the outer n of the tick dims: its part at a tick, as long as was reached there.
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

-- All steps of one run; an error says what differs. Every output comes once: at each of its ticks, with the first tick, or with the last.
local function steps(f, case, set, bounds, want, params, r)
  local inputs, names, given = check.inputs(case, bounds), set.names, {}
  local ends = ends_of(case, want)
  local all = ticks_of(names, ends, bounds)
  f:start(inputs, bounds)
  local step = 0
  local function same(name, got, whole)
    local d = S.differ(S.plain(got), whole, 0, "'" .. name .. "' at step " .. step)
    if d then error(d, 0) end
  end
  for _, at in ipairs(all) do
    if step > 0 and r(4) == 0 then f:load_state(f:state()) end
    local budget = r(2) == 0 and { budget_ms = r(2) == 0 and 0 or r(20) / 1000 } or nil
    local done, out = f:step(values_at(case, inputs, names, at), budget)
    step = step + 1
    if done ~= (step == #all) then error(("done at step %d of %d"):format(step, #all), 0) end
    for name, o in pairs(case.outputs) do
      local n = outer(o, names)
      if out[name] and n > 0 and #out[name]:shape() < #want[name]:shape() then
        if not leaves(names, n, at, all[step + 1]) then error(("'%s' is shown too early, at step %d"):format(name, step), 0) end
        same(name, out[name], part_at(o, want[name], names, n, at, ends, bounds))
        given[name] = true
      elseif out[name] then
        if given[name] or step > 1 and step < #all then error(("'%s' is given again, or at step %d"):format(name, step), 0) end
        same(name, out[name], S.plain(want[name]))
        given[name] = true
      end
      if done and not given[name] then error(name .. " is missing at the end", 0) end
    end
  end
  for n, w in pairs(f:params()) do same("parameter " .. n, w, S.plain(params[n])) end
end

local function text_of(bounds)
  local t = {}
  for k, v in pairs(bounds) do t[#t + 1] = ("%s = %d"):format(k, v) end
  table.sort(t)
  return table.concat(t, ", ")
end

local function positive(bounds)
  for _, n in pairs(bounds) do
    if n == 0 then return false end
  end
  return true
end

local function one(case, set, tier, plain, r)
  local ok, f = pcall(case.P.compile, case.P, { outputs = case.outputs, tick = set.dims, tier = tier })
  if not ok then
    local allowed = tostring(f):find("forbidden", 1, true) or tostring(f):find("nothing that is computed", 1, true)
    check.count(allowed and "ticks refused" or "ticks that do not compile")
    return not allowed and tostring(f) or nil
  end
  for _, bounds in ipairs(case.bounds) do
    if positive(bounds) then
      check.hear_anew()
      local inputs = check.inputs(case, bounds)
      local runs, want = pcall(f, inputs, bounds)
      local other = pcall(plain, inputs, bounds)
      if runs ~= other then return ("at %s: with ticks %s, without %s"):format(text_of(bounds), tostring(want), other and "it runs" or "it does not") end
      if runs then
        local fine, why = pcall(steps, f, case, set, bounds, want, f:params(), r)
        if not fine then return ("at %s: %s"):format(text_of(bounds), tostring(why)) end
        check.count "runs in steps"
      end
    end
  end
end

function ticks.check(case)
  local r = S.rng(#case.inputs * 31 + #case.bounds)
  local ok, plain = pcall(case.P.compile, case.P, { outputs = case.outputs })
  if not ok then return "illegal", tostring(plain) end
  for _, set in ipairs(tick_sets(case)) do
    for _, tier in ipairs { "interpreter", "reference" } do
      local why = one(case, set, tier, plain, r)
      if why then return "finding", ("ticks of %s on the %s: %s"):format(set.text, tier, why) end
    end
  end
  return "ok"
end

return ticks

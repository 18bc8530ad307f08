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

local function advance(names, at, bounds)
  for k = #names, 1, -1 do
    local d = names[k]
    at[d] = at[d] + 1
    if at[d] < bounds[d:upper()] then return end
    at[d] = 0
  end
end

-- All steps of one run; an error says what differs.
local function steps(f, case, set, bounds, want, params, r)
  local inputs, names, at, total = check.inputs(case, bounds), set.names, {}, 1
  for _, d in ipairs(names) do at[d], total = 0, total * bounds[d:upper()] end
  f:start(inputs, bounds)
  local done, out
  local step = 0
  local function same(name, got, whole, path)
    local d = S.differ(S.plain(got), part(S.plain(whole), path or {}), 0, "'" .. name .. "' at step " .. step)
    if d then error(d, 0) end
  end
  repeat
    if step > 0 and r(4) == 0 then f:load_state(f:state()) end
    local budget = r(2) == 0 and { budget_ms = r(2) == 0 and 0 or r(20) / 1000 } or nil
    done, out = f:step(total > 0 and values_at(case, inputs, names, at) or {}, budget)
    step = step + 1
    for name, o in pairs(case.outputs) do
      local shown = includes(dims_of(o), names)
      if not out[name] then
        if done and not shown then error(name .. " is missing at the end", 0) end
      elseif shown and total > 0 and #out[name]:shape() < #want[name]:shape() then same(name, out[name], want[name], path_of(dims_of(o), at))
      else same(name, out[name], want[name]) end
    end
    advance(names, at, bounds)
  until done
  if step ~= math.max(total, 1) then error(("%d steps, not %d"):format(step, total), 0) end
  for n, w in pairs(f:params()) do same("parameter " .. n, w, params[n]) end
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

-- What specs share: every program runs in each tier, and the tiers' numbers are compared before they are given back.
local tempo = require "tempo"

local unpack = table.unpack or unpack       -- luacheck: globals unpack
local helper = { tiers = { "reference", "interpreter" }, tolerance = 1e-5 }

-- A plain number or nested table of what a function returned.
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

local function compare(got, want, tol, path)
  if type(want) ~= "table" then
    if close(got, want, tol) then return end
    error(("%s is %s, not %s"):format(path, tostring(got), tostring(want)), 0)
  end
  if type(got) ~= "table" then error(("%s is %s, not a table"):format(path, tostring(got)), 0) end
  if #got ~= #want then error(("%s has %d entries, not %d"):format(path, #got, #want), 0) end
  for i, v in ipairs(want) do compare(got[i], v, tol, path .. "[" .. i .. "]") end
end

-- Points of elements that a run with these bounds makes, and turns of its loops.
function helper.work(f, bounds)
  local function number(text) return tonumber((text:gsub(",", ""))) end
  local elements, turns = f:explain("work", bounds):match "^%s*([%d,]+)%s+[%d,]+  elements[^;]*; loops turn ([%d,]+) times"
  return number(elements) + number(turns)
end

-- f(tier) for each.
function helper.each(f)
  for _, tier in ipairs(helper.tiers) do f(tier) end
end

-- Numbers within a tolerance; tables entry by entry.
function helper.same(want, got, tol)
  local ok, why = pcall(compare, helper.plain(got), want, tol or helper.tolerance, "value")
  if not ok then error(why, 2) end
end

-- The outputs as plain tables, the same in every tier. opts: tol, options of compile, options of the call.
function helper.run(P, outputs, inputs, bounds, opts)
  opts = opts or {}
  local first
  for _, tier in ipairs(helper.tiers) do
    local with = { outputs = outputs, tier = tier }
    for k, v in pairs(opts.compile or {}) do with[k] = v end
    local out, plain = P:compile(with)(inputs, bounds, opts.call), {}
    for name, a in pairs(out) do plain[name] = a:totable() end
    if first then
      for name, v in pairs(plain) do
        local ok, why = pcall(compare, v, first[name], opts.tol or helper.tolerance, name .. " in tier " .. tier)
        if not ok then error(why, 2) end
      end
    end
    first = first or plain
  end
  return first
end

-- One output.
function helper.value(P, x, inputs, bounds, opts)
  return helper.run(P, { x = x }, inputs, bounds, opts).x
end

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

-- A table of the given shape filled by f of 0-based indices.
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

-- This interpreter in a process of its own: what it printed, stderr included. first: shell commands that go before.
function helper.lua(arguments, environment, first)
  local paths = ("LUA_PATH='%s' LUA_PATH_5_4='%s' LUA_CPATH='%s' LUA_CPATH_5_4='%s'")
    :format(package.path, package.path, package.cpath, package.cpath)
  local pipe = io.popen(("%s%s %s %s %s 2>&1"):format(first or "", paths, environment or "", jit and "luajit" or "lua5.4", arguments))
  local out = pipe:read "*a"
  pipe:close()
  return out
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

helper.tempo = tempo
return helper

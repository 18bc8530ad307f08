-- Measures what rewriting costs in f32. The reference runs a program of f32, in the order in which
-- it is written, and the interpreter, in the order that the passes choose, and again in f64; dims
-- are long, so that sums over them have many terms. The passes lose no more than FACTOR
-- times what the program loses as it is written, or UNITS of the last place of its largest number,
-- where that is more. check(text) gives "ok", "illegal" or "finding" and why. Programs that lose
-- more than LOST as they are written say nothing: a comparison fell the other way, or a difference
-- cancelled.
--
-- The interpreter's elementary functions of f32 have errors of up to 2.4 units, the reference's of
-- half a unit, and a sum of many that cancel shows it. So a program that loses too much is tried
-- once more with these functions computed in f64 and rounded.
local helper = require "spec.helper"
local generate = require "spec.fuzz.generate"
local check = require "spec.fuzz.check"

local FACTOR, UNITS, LOST = 16, 64, 1e-3
local EPSILON = 2 ^ -24

local wide = {}

-- Random numbers are the same ones.
function wide.text(text)
  local kept = {}
  text = text:gsub("tempo%.%l+%b()", function(draw)
    if not draw:find "^tempo%.uniform" and not draw:find "^tempo%.normal" then return nil end
    kept[#kept + 1] = "(" .. draw .. ':to "f64")'
    return ("\1%d\1"):format(#kept)
  end)
  text = text:gsub('"f32"', '"f64"')
  return (text:gsub("\1(%d+)\1", function(k) return kept[tonumber(k)] end))
end

local elementary = {}
for name in ("exp expm1 log log1p log2 sin cos tan tanh sigmoid erf"):gmatch "%a%w*" do
  elementary[name] = true end

local function rounded_once(text)
  return (text:gsub(":(%a%w*)%(%)", function(name)
    return elementary[name] and (':to "f64":%s():to "f32"'):format(name) or nil
  end))
end

local function inputs_of(case, bounds)
  local narrow, exact = check.inputs(case, bounds), {}
  for _, x in ipairs(case.inputs) do
    local v = narrow[x[1]]
    local long = x[4] == "f32"
    if type(v) == "number" then
      narrow[x[1]] = long and helper.array(v, "f32", {}):item() or v
      exact[x[1]] = narrow[x[1]]
    else
      exact[x[1]] = long and helper.array(v:totable(), "f64", v:shape()) or v
    end
  end
  return narrow, exact
end

-- The greatest difference, and the greatest number; nil where something is no number.
local function distance(a, b)
  if type(b) == "table" then
    local most, large = 0, 0
    for k = 1, #b do
      local d, l = distance(a[k], b[k])
      if not d then return nil end
      most, large = math.max(most, d), math.max(large, l)
    end
    return most, large
  end
  if type(b) ~= "number" then return a == b and 0 or nil, 1 end
  local d = math.abs(a - b)
  if d ~= d or d == math.huge then return nil end
  return d, math.abs(b)
end

-- One dim long, then the next.
local function bounds_of(case)
  local names, list = {}, {}
  for k in pairs(case.bounds[1]) do
    if k ~= "w" then names[#names + 1] = k end
  end
  table.sort(names)
  for k in ipairs(names) do
    local b = { w = 3 }
    for i, name in ipairs(names) do b[name] = i == k and (#names == 1 and 400 or 120) or 3 end
    list[#list + 1] = b
  end
  return list
end

local function compiled(case, options)
  options.outputs = case.outputs
  return pcall(case.P.compile, case.P, options)
end

local function look(text)
  local narrow, why = generate.load(text)
  local exact = narrow and generate.load(wide.text(text))
  if not exact then return "illegal", why end
  local ok, written = compiled(narrow, { tier = "reference" })
  local fine, good = compiled(exact, { tier = "reference" })
  local runs, passed = compiled(narrow, { tier = "interpreter" })
  if not (ok and fine and runs) then
    return "illegal", tostring(not ok and written or not fine and good or passed)
  end
  for _, bounds in ipairs(bounds_of(narrow)) do
    local few, many = inputs_of(narrow, bounds)
    check.hear_anew()
    local did, want = pcall(good, many, bounds)
    local ran, plain = pcall(written, few, bounds)
    local went, got = pcall(passed, few, bounds)
    if did and ran and went then
      for k, x in pairs(want) do
        local lost, large = distance(helper.plain(plain[k]), helper.plain(x))
        local more = distance(helper.plain(got[k]), helper.plain(x))
        if lost and more and lost <= LOST * math.max(1, large) then
          local unit = EPSILON * math.max(1, large)
          check.count "outputs held to f64"
          if more < lost then check.count "outputs nearer to f64 than as they are written" end
          if more > FACTOR * math.max(lost, UNITS / FACTOR * unit) then
            local said = "at %s: '%s' is %.3g from what f64 gives, as it is written %.3g (a unit is %.3g)"
            return "finding", said:format(check.text_of(bounds), k, more, lost, unit)
          end
        end
      end
    end
  end
  return "ok"
end

function wide.check(text)
  local status, why = look(text)
  if status ~= "finding" then return status, why end
  return look(rounded_once(text))
end

return wide

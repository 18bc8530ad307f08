-- Every operator against PyTorch's numbers (spec/fixtures/ops.py), on both tiers: alone, over a
-- batch, and with extents that are bounds.
local tempo = require "tempo"
local helper = require "spec.helper"
local rows = require "spec.rows"

local unpack = table.unpack or unpack           -- luacheck: globals unpack
local load_text = loadstring or load            -- luacheck: globals loadstring

-- the cases
-- ---------------------------------------------------------------------------------------------------------------

local numbers = tempo.load("spec/fixtures/ops.npy"):totable()
local names = { "a", "b", "c", "d" }

-- "f32:2,3; i64:" as { { dtype =, shape =, size = }, ... }
local function tensors(text)
  local list = {}
  for dtype, extents in text:gmatch "(%w+):([%d,]*)" do
    local shape, size = {}, 1
    for n in extents:gmatch "%d+" do
      shape[#shape + 1] = tonumber(n)
      size = size * tonumber(n)
    end
    list[#list + 1] = { dtype = dtype, shape = shape, size = size }
  end
  return list
end

local place = 0
local function draws(list)
  for draw = 1, 2 do
    for _, t in ipairs(list) do
      t[draw] = {}
      for i = 1, t.size do t[draw][i] = numbers[place + i] end
      place = place + t.size
    end
  end
end

local groups, order = {}, {}
for _, line in ipairs(dofile "spec/fixtures/ops.lua") do
  local row = line[1]
  local case = { row = row, text = line[2], ins = tensors(line[3]), outs = tensors(line[4]),
    scale = line[5] or 0 }
  case.name = ("%s of %s"):format(line[2], line[3])
  case.f = assert(load_text("local tempo, a, b, c, d = ...; return " .. line[2]))
  draws(case.ins)
  draws(case.outs)
  if not groups[row] then
    groups[row] = {}
    order[#order + 1] = row
  end
  table.insert(groups[row], case)
end
assert(place == #numbers)

-- comparison
-- --------------------------------------------------------------------------------------------------------------

local eps = { f64 = 2 ^ -52, f32 = 2 ^ -23, f16 = 2 ^ -10, bf16 = 2 ^ -7 }
local least = { f64 = 2 ^ -1074, f32 = 2 ^ -149, f16 = 2 ^ -24, bf16 = 2 ^ -133 }

local function flatten(v, into)
  if type(v) == "table" then
    for i = 1, #v do flatten(v[i], into) end
  else
    into[#into + 1] = type(v) == "boolean" and (v and 1 or 0) or tonumber(v)
  end
  return into
end

local function plain(a)
  if jit and a:dtype() == "i64" then return flatten(a:int64(), {}) end
  if #a:shape() == 0 then return flatten(a:item(), {}) end
  return flatten(a:totable(), {})
end

local function differ(case, out, want, got, at)
  local ulp = rows[case.row].ulp
  -- f32 rounded once
  if out.dtype == "f16" or out.dtype == "bf16" then ulp = math.min(ulp, 1) end
  local unit = eps[out.dtype]
  for i = 1, #want do
    local w, g = want[i], got[at + i]
    if g ~= w and not (g ~= g and w ~= w) then
      local tolerance = unit
        and ulp * math.max(unit * math.max(math.abs(w), case.scale), least[out.dtype]) or 0
      if g ~= g or w ~= w or math.abs(g - w) > tolerance or math.abs(w) == math.huge then
        return ("element %d is %.9g, not %.9g (%.3g ulp)"):format(i - 1, g, w,
          unit and math.abs(g - w) / math.max(unit * math.max(math.abs(w), case.scale),
            least[out.dtype]) or 0)
      end
    end
  end
end

-- one program for all cases of a row
-- ----------------------------------------------------------------------------------------

-- How inputs are declared (given a case's tensor), and how many draws one run takes.
local settings = {
  alone = { draws = 1, declare = function(_, t) return { dtype = t.dtype, shape = t.shape } end },
  ["over a batch"] = { draws = 2, declare = function(at, t)
    return { dtype = t.dtype, shape = t.shape, domain = { at.batch } }
  end },
  -- Equal extents are one bound: only a literal 1 broadcasts.
  ["with bounds as extents"] = { draws = 1, declare = function(at, t)
    local shape = {}
    for i, n in ipairs(t.shape) do shape[i] = n == 1 and 1 or at:extent(n) end
    return { dtype = t.dtype, shape = shape }
  end },
}

-- Rows whose arguments say extents, which no bound equals (or groups, which no bound is a multiple
-- of).
local literal = { reshape = true, expand = true, layer_norm = true, rms_norm = true, split = true,
  chunk = true, squeeze = true, conv1d = true, conv2d = true, conv_transpose2d = true }

local function given(t, setting)
  local flat, shape = {}, {}
  for draw = 1, setting.draws do
    for i = 1, t.size do flat[#flat + 1] = t[draw][i] end
  end
  if setting.draws > 1 then shape[1] = setting.draws end
  for _, n in ipairs(t.shape) do shape[#shape + 1] = n end
  return tempo.array(flat, t.dtype, shape)
end

local function record(cases, setting)
  local P = tempo.program()
  local at = { bounds = {} }
  local B
  if setting.draws > 1 then
    at.batch, B = P:dim "batch"
    at.bounds[B:name()] = setting.draws
  end
  function at:extent(n)
    local name = "N" .. n
    self[name] = self[name] or P:bound(name)
    self.bounds[name] = n
    return self[name]
  end
  local inputs, outputs = {}, {}
  for i, case in ipairs(cases) do
    local args = {}
    for k, t in ipairs(case.ins) do
      local name = ("%d%s"):format(i, names[k])
      args[k] = P:input(name, setting.declare(at, t))
      inputs[name] = given(t, setting)
    end
    local ok, results = pcall(function() return { case.f(tempo, unpack(args)) } end)
    if not ok then error(case.name .. ": " .. results, 0) end
    if type(results[1]) == "table" then results = results[1] end
    assert(#results == #case.outs, case.name)
    for k, y in ipairs(results) do outputs[("%d.%d"):format(i, k)] = y end
  end
  return P, inputs, outputs, at.bounds
end

local function check(cases, setting, out)
  local wrong = {}
  local function note(case, why) wrong[#wrong + 1] = ("%s: %s"):format(case.name, why) end
  for i, case in ipairs(cases) do
    for k, t in ipairs(case.outs) do
      local a = out[("%d.%d"):format(i, k)]
      local shape = a:shape()
      if setting.draws > 1 then table.remove(shape, 1) end
      if a:dtype() ~= t.dtype then
        note(case, ("dtype is %s, not %s"):format(a:dtype(), t.dtype))
      end
      if table.concat(shape, ",") ~= table.concat(t.shape, ",") then
        note(case, ("shape is {%s}, not {%s}"):format(table.concat(shape, ","),
          table.concat(t.shape, ",")))
      else
        local got = plain(a)
        for draw = 1, setting.draws do
          local why = differ(case, t, t[draw], got, (draw - 1) * t.size)
          if why then note(case, why) break end
        end
      end
    end
  end
  return wrong
end

describe("the numbers of", function()
  setup(helper.quiet)
  teardown(helper.loud)
  for _, row in ipairs(order) do
    for name, setting in pairs(settings) do
      local created = #groups[row][1].ins == 0
      if name == "alone" or not created
        and not (literal[row] and name == "with bounds as extents") then
        it(row .. " are PyTorch's, " .. name, function()
          local P, inputs, outputs, bounds = record(groups[row], setting)
          local wrong = {}
          for _, tier in ipairs { "reference", "interpreter" } do
            local out = P:compile { outputs = outputs, tier = tier }(inputs, bounds)
            for _, why in ipairs(check(groups[row], setting, out)) do
              wrong[#wrong + 1] = tier .. ": " .. why
            end
          end
          if #wrong > 0 then
            error(("%d wrong of %d cases\n%s"):format(#wrong, #groups[row],
              table.concat(wrong, "\n", 1, math.min(#wrong, 20))), 0)
          end
        end)
      end
    end
  end
end)

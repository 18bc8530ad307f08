-- docs/language.md, section 9, against PyTorch: results, dtypes, shapes, first and second
-- derivatives (spec/fixtures/make_torch.py), in every tier.
local tempo = require "tempo"
local helper = require "spec.helper"
local unpack = table.unpack or unpack       -- luacheck: globals unpack
local load = loadstring or load             -- luacheck: globals loadstring
local cases = dofile "spec/fixtures/torch.lua"

local TOGETHER = 12                          -- cases in one program

local function known(k, n)
  local v = {}
  for i = 0, n - 1 do v[i + 1] = ((i + 1) * 7919 + k * 104729) * 48271 % 65537 / 65537 end
  return v
end

local function count(shape)
  local n = 1
  for _, d in ipairs(shape) do n = n * d end
  return n
end

local function pole(v) return v < 0.2 and 0 / 0 or v < 0.4 and 1 / 0 or v < 0.6 and -1 / 0 or v end
local kinds = {
  f = { "f64", function(v) return 4 * v - 2 end },
    p = { "f64", function(v) return 0.1 + 1.9 * v end },
  u = { "f64", function(v) return v end }, t = { "f64", function(v)
    return math.floor(5 * v) - 2
  end },
  l = { "f64", function(v) return 40 * v - 20 end }, b = { "bool", function(v) return v < 0.5 end },
  x = { "f64", pole }, s = { "f32", function(v) return 4 * v - 2 end }, y = { "u8", function(v)
    return math.floor(256 * v)
  end },
  w = { "i32", function(v)
    return math.floor(20 * v - 10)
  end }, n = { "i64", function(v) return math.floor(20 * v - 10) end },
}

-- The array that a description such as "f:2,3" names; k: which input it is.
local function made(spec, k)
  local kind, below, dims = spec:match "^%-?(%l)(%d*):(.*)$"
  local shape, dtype, fn = {}, unpack(kinds[kind] or {})
  if kind == "i" then dtype, fn = "i64", function(v) return math.floor(tonumber(below) * v) end end
  for d in dims:gmatch "%d+" do shape[#shape + 1] = tonumber(d) end
  local v = known(k, count(shape))
  for i = 1, #v do v[i] = fn(v[i]) end
  return tempo.array(v, dtype, shape), dtype, shape
end

local function flat(v, out)
  if type(v) ~= "table" then out[#out + 1] = v == true and 1 or v == false and 0 or v
  else for _, e in ipairs(v) do flat(e, out) end end
  return out
end

local function projections(a)
  local v, out = flat(a:totable(), {}), {}
  for j = 1, 2 do
    local c, sum = known(89 + j, #v), 0
    for i = 1, #v do sum = sum + v[i] * (c[i] - 0.3) end
    out[j] = sum
  end
  return out
end

local function numbers(a)
  local v = flat(a:totable(), {})
  return #v <= 8 and v or projections(a)
end

-- The loss that make_torch.py takes of results.
local function loss_of(results)
  local loss
  for i, r in ipairs(results) do
    if r:dtype():find "^f" then
      local c = tempo.array(known(79 + i, count(r:shape())), "f64", r:shape())
      local l = (r * c):sum()
      loss = loss and loss + l or l
    end
  end
  return loss
end

-- Records case number n; its outputs go into `outputs`, its inputs into `inputs`.
local function record(P, case, n, outputs, inputs)
  local args, wrt = {}, {}
  for k, spec in ipairs(case[2]) do
    local a, dtype, shape = made(spec, k - 1)
    local name = "x" .. n .. "_" .. k
    args[k], inputs[name] = P:input(name, { dtype = dtype, shape = shape }), a
    if dtype == "f64" and spec:sub(1, 1) ~= "-" then wrt[#wrt + 1] = args[k] end
  end
  local fn = assert(load("local tempo, a, b, c, d = ...; return " .. case[1]))
  local results = { fn(tempo, unpack(args, 1, 4)) }
  if type(results[1]) == "table" then results = results[1] end
  for k, r in ipairs(results) do outputs["y" .. n .. "_" .. k] = r end
  local loss = case.g and loss_of(results)
  for _, order in ipairs { "g", "h" } do
    if not case[order] then break end
    local g = tempo.grad(loss, wrt)
    loss = nil
    for k, d in ipairs(g) do
      outputs[order .. n .. "_" .. k] = d
      loss = loss and loss + d:square():sum() or d:square():sum()
    end
  end
  return #results
end

local function check(case, n, nresult, out, tier)
  local function same(what, want, got, tol)
    local ok, why = pcall(helper.same, want, got, tol)
    if not ok then error(("%s, %s in tier %s: %s"):format(case[1], what, tier, why), 0) end
  end
  same("number of results", #case[3], nresult)
  for k, want in ipairs(case[3]) do
    local got = out["y" .. n .. "_" .. k]
    same("dtype", want[1], got:dtype())
    same("shape", want[2], got:shape())
    same("values", want[3], numbers(got), want[1] == "f32" and 1e-5 or 1e-8)
  end
  for _, order in ipairs { "g", "h" } do
    for k, want in ipairs(case[order] or {}) do
      same(order .. k, want, projections(out[order .. n .. "_" .. k]), 1e-7)
    end
  end
end

describe("PyTorch agrees with", function()
  setup(helper.quiet)
  teardown(helper.loud)
  for first = 1, #cases, TOGETHER do
    local last = math.min(first + TOGETHER - 1, #cases)
    it(("cases %d to %d, from %s"):format(first, last, cases[first][1]), function()
      local P, outputs, inputs, nresult = tempo.program(), {}, {}, {}
      for n = first, last do
        local ok, r = pcall(record, P, cases[n], n, outputs, inputs)
        if not ok then error(cases[n][1] .. ": " .. tostring(r), 0) end
        nresult[n] = r
      end
      for _, tier in ipairs(helper.tiers) do
        local out = P:compile { outputs = outputs, tier = tier }(inputs)
        for n = first, last do check(cases[n], n, nresult[n], out, tier) end
      end
    end)
  end
end)

-- A program's results on a device and on the processor, of several sizes, for spec/gpu/sizes_spec
-- .lua. arg: a program below, the device ("cuda", "opencl"), sizes. Says what differs, in bits,
-- then what ran on the host.
local tempo = require "tempo"
local helper = require "spec.helper"
local r = helper.rng(5)
local programs = {}

local function array(of, shape, dtype)
  return helper.array(helper.numbers(shape, of), dtype, shape)
end
-- NaN, both zeros, and numbers of which many are equal
local function number()
  local v = r(400) - 200
  if v == 7 then return 0 / 0 elseif v == 0 then return r(2) == 0 and -0.0 or 0.0 end
  return v / 4
end
local function share() return r() - 0.3 end

-- Sorts of T elements, and sums of these by index.
function programs.sorts(P)
  local t, T = P:dim "t"
  local x, y = P:input("x", { domain = { t } }), P:input("y", { domain = { t }, dtype = "i64" })
  local z = P:input("z", { domain = { t }, shape = { 3 } })
  local h = P:input("h", { domain = { t }, dtype = "f16" })
  local at = P:input("at", { domain = { t }, dtype = "i64" })[0 .. T]
  local base, out = P:input("base", { shape = { 70, 3 } }), {}
  out.up, out.up_at = x[0 .. T]:sort(0)
  out.down, out.down_at = y[0 .. T]:sort(0, true)
  out.rows, out.halves = z[0 .. T]:sort(0, true), h[0 .. T]:sort(0)
  out.sums = tempo.zeros { 70 }:scatter_add(0, at, x[0 .. T])
  out.half_sums = tempo.zeros({ 70 }, { dtype = "f16" }):scatter_add(0, at, h[0 .. T])
  out.whole_sums = tempo.zeros({ 70 }, { dtype = "i64" }):scatter_add(0, at, y[0 .. T])
  out.grad = tempo.grad((base:index_select(0, at) * z[0 .. T]):sum(), { base })[1]
  return out, {}, function(n)
    return { x = array(number, { n }, "f32"), y = array(function() return r(90) end, { n }, "i64"),
      z = array(number, { n, 3 }, "f32"), h = array(number, { n }, "f16"),
      base = tempo.array(0, "f32", { 70, 3 }),
      at = array(function() return math.max(0, r(90) - 20) end, { n }, "i64") }, { T = n }
  end
end

-- Products with weights in blocks, of B rows: `number` terms.
local every = { q8_0 = 32, q4_0 = 32, q4_1 = 32, q5_0 = 32, q4_k = 256, q5_k = 256, q6_k = 256 }
local function in_blocks(precise, blocks, formats)
  return function(P)
    local b, B = P:dim "b"
    local out, inputs = {}, {}
    for f, each in pairs(formats) do
      local k = each * blocks + (each == 32 and 32 or 0)
      local w = tempo.quantize(array(share, { 19, k }, "f32"), f)
      local one = P:input("w" .. f, { shape = w:shape(), dtype = "u8" })
      local x = P:input("x" .. f, { domain = { b }, shape = { k } })
      out[f] = x[0 .. B]:matmul(one:dequantize(f):transpose(-2, -1))
      out["numbers_" .. f] = one:select(0, 3):dequantize(f)
      inputs[f] = { w, k }
    end
    return out, { precise = precise or nil }, function(n)
      local values = {}
      for f, v in pairs(inputs) do
        values["w" .. f] = v[1]
        local function term() return n == 2 and r(300) == 0 and 1 / 0 or r() - 0.3 end
        values["x" .. f] = array(term, { n, v[2] }, "f32")
      end
      return values, { B = n }
    end
  end
end
programs.blocks, programs.exact = in_blocks(false, 2, every), in_blocks(true, 2, every)
-- more than a block's memory holds
programs.long_blocks = in_blocks(false, 17, { q5_k = 256, q6_k = 256 })

-- Products of B rows with K terms, both operands along the terms or columns side by side.
local function thin(dtype)
  return function(P, K)
    local b, B = P:dim "b"
    local x, z = P:input("x", { domain = { b }, shape = { K }, dtype = dtype }),
      P:input("z", { shape = { 3, 2, K }, dtype = dtype })
    local w, v = P:input("w", { shape = { 33, K }, dtype = dtype }),
      P:input("v", { shape = { K, 33 }, dtype = dtype })
    local ws, vs = P:input("ws", { shape = { 3, 19, K }, dtype = dtype }),
      P:input("vs", { shape = { 3, K, 19 }, dtype = dtype })
    local rows = x[0 .. B]
    return { dots = rows:matmul(w:mT()), columns = rows:matmul(v), heads = z:matmul(ws:mT()),
      values = z:matmul(vs), turned = w:matmul(rows:mT()) }, {}, function(n)
      return { x = array(share, { n, K }, dtype), z = array(share, { 3, 2, K }, dtype),
        w = array(share, { 33, K }, dtype), v = array(share, { K, 33 }, dtype),
        ws = array(share, { 3, 19, K }, dtype), vs = array(share, { 3, K, 19 }, dtype) }, { B = n }
    end
  end
end
for _, dtype in ipairs { "f32", "f64", "f16", "bf16" } do programs["thin_" .. dtype] = thin(dtype) end

local name, terms = arg[1]:match "^([%w_]-)_?(%d*)$"
if programs[arg[1]] then name = arg[1] end
local P = tempo.program()
local outputs, more, given = programs[name](P, tonumber(terms))
local function compiled(device)
  local o = { outputs = outputs, device = device, tier = device == "cpu" and "interpreter" or nil }
  for key, v in pairs(more) do o[key] = v end
  return P:compile(o)
end
local cpu, device = compiled "cpu", compiled(arg[2])
for k = 3, #arg do
  local inputs, bounds = given(tonumber(arg[k]))
  local want, got = cpu(inputs, bounds), device(inputs, bounds)
  for key in pairs(outputs) do
    local d = helper.differ(helper.plain(want[key]), helper.plain(got[key]), 0, key)
    if d then print(arg[k], d) end
  end
end
print(device:explain "kernels":match "on the host[^\n]*" or "all on the device")

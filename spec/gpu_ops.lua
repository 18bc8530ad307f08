-- Runs operators along axes, in dtypes, on a device or in the interpreter (`-`), and prints their
-- results, a line each. For gpu_ops_spec.
--   lua5.4 spec/gpu_ops.lua DEVICE GROUP DTYPE...
local tempo = require "tempo"
local helper = require "spec.helper"
local device, group, dtypes = arg[1], arg[2], { table.unpack(arg, 3) }

local next = helper.rng(5)
local P = tempo.program()
local t = P:dim "t"
local outputs, inputs = {}, {}

local function input(name, shape, dtype, f, domain)
  local all = { table.unpack(shape) }
  if domain then table.insert(all, 1, 3) end
  inputs[name] = tempo.array(helper.numbers(all, f or next), dtype, all)
  return P:input(name, { shape = shape, dtype = dtype, domain = domain })
end

local function whole() return next(7) - 3 end
local function some() return next(5) == 0 and 0 / 0 or next(4) / 2 - 0.5 end -- many are equal
local function values(dtype) return dtype:find "^i" and whole or next end
local groups = {}

function groups.scans()
  for _, d in ipairs(dtypes) do
    local function out(name, x) outputs[name .. "_" .. d] = x end
    local x = input("x" .. d, { 3, 5 }, d, values(d))
    local xt = input("t" .. d, { 2, 4 }, d, values(d), { t })
    out("sums", x:cumsum(1))
    out("sums_t", xt:cumsum(0))
    out("products", x:cumprod(0))
    if d:find "f" then
      out("discounted", x:discounted_cumsum(0.9, 1))
      out("back", tempo.grad((x:cumsum(1) * x):sum(), { x })[1])
      out("recur", tempo.grad((xt:cumprod(1) * xt):sum(), { xt })[1])
    end
  end
end

function groups.sorts()
  for _, d in ipairs(dtypes) do
    local function out(name, x) outputs[name .. "_" .. d] = x end
    local f = d:find "^f" and some or function() return next(6) end
    local x, xt = input("x" .. d, { 5, 9 }, d, f), input("t" .. d, { 40 }, d, f, { t })
    out("up", x:sort(1))
    out("at", x:argsort(1))
    out("down", x:sort(0, { descending = true }))
    local v, k = xt:topk(6, 0)
    out("most", v)
    out("most_at", k)
  end
end

function groups.sums()
  local k = input("k", { 6 }, "i64", function() return next(4) end)
  local kt = input("kt", { 6 }, "i64", function() return next(4) end, { t })
  local each = input("each", { 6, 3 }, "i64", function() return next(4) end)
  for _, d in ipairs(dtypes) do
    local function out(name, x) outputs[name .. "_" .. d] = x end
    local x, y = input("x" .. d, { 4, 3 }, d, values(d)), input("y" .. d, { 6, 3 }, d, values(d))
    local yt = input("t" .. d, { 6, 3 }, d, values(d), { t })
    out("each", x:scatter_add(0, each, y))
    out("rows", x:scatter_add(0, k:reshape { 6, 1 }:expand { 6, 3 }, y))
    out("points", (x * yt:select(0, 1)):scatter_add(0, each, yt))
    if d:find "f" then
      out("picked", tempo.grad((x:index_select(0, k) * y):sum(), { x })[1])
      out("picked_t", tempo.grad((x:index_select(0, kt) * yt):sum(), { x })[1])
    end
  end
end

function groups.faults()
  local k = input("k", { 6 }, "i64", function() return 9 end, { t })
  local x, y = input("x", { 4, 3 }, "f32"), input("y", { 6, 3 }, "f32")
  outputs.sums = x:scatter_add(0, k:reshape { 6, 1 }:expand { 6, 3 }, y)
end

function groups.moves()
  for _, d in ipairs(dtypes) do
    local function out(name, x) outputs[name .. "_" .. d] = x end
    local x, w = input("x" .. d, { 2, 4, 6, 5 }, d, nil, { t }), input("w" .. d, { 6, 2, 3, 2 }, d)
    local y = x:conv2d(w, { stride = 2, dilation = { 1, 2 }, padding = { 1, 2 }, groups = 2 })
    local g = tempo.grad((y * y):sum(), { x, w })
    out("conv", y)
    out("data", g[1])
    out("weight", g[2])
    local v = input("v" .. d, { 9 }, d)
    local u = v:reshape { 1, 3, 3 }:avg_pool2d(3, { stride = 2, padding = 1 })
    out("fold", tempo.grad((u * u):sum(), { v })[1])
  end
end

-- Rows of several parts of a fold (kernels/prelude/fold.h), folded by a block.
function groups.folds()
  for _, d in ipairs(dtypes) do
    local function out(name, x) outputs[name .. "_" .. d] = x end
    local x, y = input("x" .. d, { 4, 9001 }, d, values(d)),
      input("y" .. d, { 20011 }, d, values(d))
    out("sum", (x * x):sum())
    if d:find "f" then
      out("rows", x:exp():sum(1))
      out("most", y:max(0))
    end
  end
end

function groups.products()
  local k = input("k", { 7 }, "i64", function() return next(3) end)
  for _, d in ipairs(dtypes) do
    local function out(name, x) outputs[name .. "_" .. d] = x end
    local x, y = input("x" .. d, { 7, 5 }, d, values(d)), input("y" .. d, { 5, 6 }, d, values(d))
    local xt, w = input("t" .. d, { 4, 5 }, d, values(d), { t }),
      input("w" .. d, { 3, 5, 6 }, d, values(d))
    out("product", x:matmul(y))
    out("points", xt:matmul(y))
    if d:find "f" then out("sum", tempo.grad((xt:matmul(y) * xt:matmul(y)):sum(), { y })[1]) end
    if d == "f32" or d == "f64" then
      out("at", x:reshape { 7, 1, 5 }:matmul(w:index_select(0, k)))
    end
  end
end

groups[group]()
local f = P:compile { outputs = outputs, device = device ~= "-" and device or nil,
                      tier = device == "-" and "interpreter" or nil }
local got = f(inputs, group ~= "folds" and { T = 3 } or nil)
local names = {}
for name in pairs(outputs) do names[#names + 1] = name end
table.sort(names)

local function flat(v, to)
  if type(v) ~= "table" then to[#to + 1] = ("%.17g"):format(v):gsub("-nan", "nan")
  else for i = 1, #v do flat(v[i], to) end end
  return to
end
for _, name in ipairs(names) do
  print(name .. " " .. table.concat(flat(got[name]:totable(), {}), " "))
end
if device ~= "-" then print("kernels " .. f:explain("kernels"):gsub("\n", "; ")) end

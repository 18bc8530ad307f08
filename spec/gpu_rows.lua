-- Runs recurrences over a batch on a device or in the interpreter (`-`), and prints their results,
-- a line each. For gpu_rows_spec.
--   lua5.4 spec/gpu_rows.lua DEVICE PROGRAM B T [precise|- [K]]
local tempo = require "tempo"
local helper = require "spec.helper"
local device, program, rows, steps = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])

local P = tempo.program { seed = 3 }
local b, B = P:dim "b"
local t, T = P:dim "t"
local next, inputs = helper.rng(7), {}
local function input(name, shape, domain)
  local whole = {}
  for i, d in ipairs(domain) do whole[i] = d == b and rows or steps end
  for _, n in ipairs(shape) do whole[#whole + 1] = n end
  inputs[name] = tempo.array(helper.numbers(whole, next), "f32")
  return P:input(name, { domain = domain, shape = shape })
end
local x, w = input("x", { 3 }, { b, t }), input("w", { 3, 3 }, {})

-- the state of each row, forwards: two products and noise
local function state()
  local h = P:tensor { domain = { b, t }, shape = { 3 } }
  local u = (tempo.prev(h, t, 0):matmul(w) + x):tanh()
  h:otherwise((u * u):matmul(w) - u + tempo.normal({ 3 }, { domain = { b, t } }))
  return h
end

local programs = {}
function programs.forwards()
  local h = state()
  return { h = h, s = (h * 2):sum(-1) }
end
-- each row folds many elements in a step: all threads of its block, none of another
function programs.folds()
  local wide = tempo.arange({ 3000 }):to "f32"
  local h = P:tensor { domain = { b, t } }
  h:otherwise(((wide + tempo.prev(h, t, 0)) * 0.001):sin():sum(0) + x:sum(-1) + tempo.normal({},
    { domain = { b, t } }))
  return { h = h }
end
-- from the last step to the first
function programs.backwards()
  local g = P:tensor { domain = { b, t }, shape = { 3 } }
  g[{ t = T - 1 }] = x
  g:otherwise((g[{ t = t + 1 }]:matmul(w) + x):tanh())
  return { g = g }
end
-- each step needs all rows of the step before: no block may go ahead
function programs.together()
  local h = P:tensor { domain = { b, t } }
  local mean = P:tensor { domain = { t } }
  mean:otherwise(h[{ b = 0 .. B }]:mean())
  h:otherwise((tempo.prev(mean, t, 0) + x:sum(-1)):tanh())
  return { h = h, mean = mean }
end
-- sums over all rows, of each step and of all, forwards and (the gradient of a matrix) backwards
function programs.sums()
  local h = P:tensor { domain = { b, t }, shape = { 3 } }
  h:otherwise((tempo.prev(h, t, 0):matmul(w) + x):tanh())
  local up = (h:sum(-1):gt(0)):to "i64"
  local loss = (h * h):sum()[{ b = 0 .. B, t = 0 .. T }]:sum()
  return { up = up[{ b = 0 .. B, t = 0 .. T }]:sum(), loss = loss,
    grad = tempo.grad(loss, { w })[1] }
end
-- small leaves: two matrices and Adam, t counts iterations; the host looks at each
function programs.adam()
  local p, q = P:param("p",
    { along = { t }, shape = { 3, 40 }, init = tempo.ones({ 3, 40 }) * 0.1 }),
    P:param("q", { along = { t }, shape = { 40 }, init = tempo.ones { 40 } })
  local y = x[{ b = 0 .. B }]:matmul(p):tanh() * q
  local loss = (y - 0.5):square():mean()
  tempo.optim.Adam({ p, q }, { lr = 0.1 }):step(loss)
  P:sink({ loss }, function() end)
  return { loss = loss }
end
-- updates k of a matrix in each iteration t, which the host looks at: sums over many rows, a scale
-- by the gradient's norm, Adam
function programs.epochs()
  local k = P:dim "k"
  local p = P:param("p",
    { along = { t, k }, shape = { 3, 40 }, init = tempo.ones({ 3, 40 }) * 0.1 })
  local y = x[{ b = 0 .. B }]:matmul(p):tanh()
  local loss = (y - 0.5):square():mean()
  tempo.optim.Adam({ p }, { lr = 0.1, clip_norm = 0.01 }):step(loss)
  P:sink({ loss[{ k = 0 }] }, function() end)
  return { loss = loss }
end
-- a state of 384 elements, four to a thread of three warps: two leaves that go on at their own
-- elements, then one that reads its neighbours'
function programs.crossing()
  local h = P:tensor { domain = { b, t }, shape = { 384 } }
  local u = (tempo.prev(h, t, 0) * 0.5 + tempo.arange({ 384 }):to "f32"):tanh()
  h:otherwise(u + u:roll(1, 0) * 0.3)
  return { h = h + x:sum(-1) * 0 }
end
-- states of each dtype whose elements lie together, by fours; of 62 they do not
local function states(n)
  local v, all = input("v", { n }, { b, t }), {}
  for _, d in ipairs { "bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64" } do
    local h = P:tensor { domain = { b, t }, shape = { n }, dtype = d }
    h:otherwise((tempo.prev(h, t, 0):to "f32" * 0.5 + v * v * 3 + x:sum(-1) * 0):to(d))
    all["h" .. d] = h:to "f32"
  end
  all.sum = v[{ t = 0 .. T }]:sum(0)
  return all
end
function programs.fours() return states(64) end
function programs.odd() return states(62) end
-- which row may fail, and when, is data: an index
function programs.fails()
  local k = P:input("k", { domain = { b, t }, dtype = "i64" })
  local at = {}
  for i = 1, rows do
    at[i] = {}
    for j = 1, steps do at[i][j] = (i == 2 and j == 6 or i == 4 and j == 5) and 3 or (i + j) % 3 end
  end
  inputs.k = tempo.array(at, "i64")
  local h = P:tensor { domain = { b, t }, shape = { 3 }, name = "h" }
  local before = tempo.prev(h, t, 0)
  h:otherwise((before:index_select(0, k:unsqueeze(0)) + x):tanh())
  return { h = h }
end

local f = P:compile { tier = "interpreter", outputs = programs[program](),
  device = device ~= "-" and device or nil, precise = arg[5] == "precise" }
local ok, got = pcall(f, inputs,
  { B = rows, T = steps, K = program == "epochs" and tonumber(arg[6]) or nil })
if not ok then print("error " .. tostring(got):gsub("\n", " ")) os.exit(0) end
local function line(v, to)
  if type(v) ~= "table" then to[#to + 1] = ("%a"):format(v) end
  for _, y in ipairs(type(v) == "table" and v or {}) do line(y, to) end
  return to
end
for name, a in pairs(got) do print(name .. " " .. table.concat(line(a:totable(), {}), " ")) end
if device ~= "-" then print("kernels " .. f:explain "kernels":gsub("\n", "; ")) end

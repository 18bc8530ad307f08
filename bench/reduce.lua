-- Reductions and copies of a matrix along either axis: the last against the first, and against a
-- plain copy of as much memory in the same run.
--   lua5.4 bench/reduce.lua [--rows 4096] [--columns 1024] [--rounds 15]
-- Times are the processor's, the best of several rounds in turn.
local tempo = require "tempo"
local opt = require "tempo.cli"(arg, { rows = 4096, columns = 1024, rounds = 15 },
  "lua5.4 bench/reduce.lua")

local function reduction(name) return function(x, axis) return x[name](x, axis) end end
local kinds = { { "transpose", function(x, axis)
  return axis == 1 and x:transpose(0, 1) or x:neg()
end } }
for _, name in ipairs { "sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin",
  "var", "std", "norm", "logsumexp", "softmax", "log_softmax", "cumsum" } do
  kinds[#kinds + 1] = { name, reduction(name) }
end

local function program(make, axis)
  local P = tempo.program()
  local x = P:input("x", { shape = { opt.rows, opt.columns } })
  local f = P:compile { outputs = { y = make(x, axis) } }
  return function(data) return f { x = data } end
end

local function fill()                                  -- near 1, so that a product stays finite
  local row = {}
  for i = 1, opt.columns do row[i] = string.char(i * 37 % 256, i * 7 % 4, 128, 63) end
  return tempo.array(table.concat(row):rep(opt.rows), "f32", { opt.rows, opt.columns })
end

local runs = { program(function(x) return x:neg() end, 0) }
for _, k in ipairs(kinds) do
  for axis = 0, 1 do runs[#runs + 1] = program(k[2], axis) end
end

local data, best = fill(), {}
for _ = 1, opt.rounds do
  for i, run in ipairs(runs) do
    local t0 = os.clock()
    run(data)
    best[i] = math.min(best[i] or math.huge, (os.clock() - t0) * 1e3)
    collectgarbage()
  end
end

local function ratio(name, ours, peer)
  print(("RATIO %s %.2f (%.2f vs %.2f ms)"):format(name, peer / ours, ours, peer))
end

for i, k in ipairs(kinds) do
  local first, last = best[2 * i], best[2 * i + 1]
  ratio(("reduce-%s-last-vs-first"):format(k[1]), last, first)
  ratio(("reduce-%s-last-vs-copy"):format(k[1]), last, best[1])
end

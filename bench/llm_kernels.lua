-- One row, and few, by a matrix that no cache holds, as a step of a language model has: GB/s of
-- weights as they are stored, by dtype or format of blocks, each as a program of its own with a
-- product a step. Processor time, the best of several runs. bench/blocks.c has the kernels alone,
-- beside a loop that only reads.
--   taskset -c 1 lua5.4 bench/llm_kernels.lua [ROWS [OUT [IN]]]
local tempo = require "tempo"
local rows, out, inner = tonumber(arg[1] or 1), tonumber(arg[2] or 4096), tonumber(arg[3] or 8192)
local STEPS, RUNS = 6, 5

local sizes = { f32 = 4, bf16 = 2, f16 = 2, u8 = 1 }

-- Seconds of a product, and bytes of its weights.
local function measure(kind, precise)
  local P = tempo.program()
  local t, T = P:dim "t"
  local w = tempo.array(0.25, "f32", { out, sizes[kind] and 1 or inner })
  w = sizes[kind] and tempo.array(1, kind, { out, inner }) or w:quantize(kind)
  local width = w:shape()[2]
  local stored = P:input("w", { shape = { out, width }, dtype = w:dtype() })
  local m = sizes[kind] and stored:to "f32" or stored:dequantize(kind)
  local x = P:input("x", { domain = { t }, shape = { rows, inner } })
  -- a step needs the one before, so that rows of steps are no larger product
  local s = P:tensor { domain = { t } }
  s[0] = 0
  s[t] = (x + s[t - 1] * 1e-30):matmul(m:transpose(0, 1)):sum()
  local f = P:compile { outputs = { s = s[T - 1] }, tier = "interpreter", precise = precise }
  local given = { w = w, x = tempo.array(0.5, "f32", { STEPS, rows, inner }) }
  local best = math.huge
  for _ = 1, RUNS do
    local from = os.clock()
    f(given, { T = STEPS })
    best = math.min(best, os.clock() - from)
  end
  return best / STEPS, out * width * (sizes[kind] or 1)
end

print(("%d x %d by %d:   GB/s   us"):format(rows, inner, out))
for _, kind in ipairs { "f32", "bf16", "f16", "u8", "q8_0", "q4_0", "q4_1", "q5_0", "q4_k", "q5_k",
    "q6_k" } do
  local seconds, bytes = measure(kind)
  local exact = not sizes[kind] and ("   precise %.1f"):format(bytes / measure(kind, true) * 1e-9)
  print(("  %-5s %6.1f %8.0f%s"):format(kind, bytes / seconds * 1e-9, seconds * 1e6, exact or ""))
end

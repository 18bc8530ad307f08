-- Language models, with random weights of Llama 3.2 1B's shapes: each side in a process of its own, pinned to the same
-- one core, in turn; least processor time.
--   decode-f32, -bf16    a token of one text, against PyTorch's eager step with a static cache; besides, the share of
--                        what one core reads from memory (decode-f32-bandwidth ...)
--   decode-f32-compiled, -bf16-   against torch.compile
--   decode-q8, -q4       the same with weights in blocks, against that share alone
--   prefill-f32, -bf16   a prompt of 512 tokens, against PyTorch
--   llama-cpp-decode-f32, -bf16, -q8, -q4, llama-cpp-prefill-f32, -bf16, ..
--                        the same from a GGUF file that llama.cpp reads too, against its llama-bench; left out unless
--                        LLAMA_BENCH says where that program is
--   window-16, causal-16 a step of 16 texts at position 1,024, with a window of 1,024 or without,
--                        against JAX with a ring, and with a padded cache of 2,048
--   padded-16            the same against a cache padded to 16,384 (4 layers at most)
--   first                the first token of a prompt of one over a later one, and memory beside the weights
--   train-tiny           a small Llama learns bytes, against PyTorch eager; what rounding makes of the losses is shown
--   lua5.4 bench/llm.lua [--rows decode,train-tiny] [--layers 16] [--rounds 2]
local tempo = require "tempo"
local models = require "bench.common.llm"
local core = getmetatable(tempo)

local TEXT, FORMATS = "docs/tutorial.md", { q8 = "q8_0", q4 = "q4_0" }

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

-- ---- one side --------------------------------------------------------------------------------------------------
local ours = {}

local function ids(n)
  local list = {}
  for k = 1, n do list[k] = k * 7919 % 128256 end
  return list
end

-- A model with random weights of a dtype, or that of a file; the bytes of all weights.
local function opened(layers, dtype)
  if dtype:find "%.gguf$" then
    return tempo.llm.load(dtype, { dtype = dtype:find "/bf16%.gguf$" and "bf16" or nil }), 0
  end
  return models.random(models.settings(layers), dtype)
end

function ours.gguf(layers, path, dtype) models.gguf(path, layers, dtype) end

-- The least processor time between two tokens, and the bytes of all weights.
function ours.decode(layers, dtype)
  local m, bytes = opened(layers, dtype)
  local best, from = math.huge, nil
  m:generate(ids(16), { max_tokens = 18, logprobs = false, on_token = function()
    local now = os.clock()
    if from then best = math.min(best, now - from) end
    from = now
  end })
  print(("%.6g %d"):format(best * 1e3, bytes))
end

function ours.prefill(layers, dtype)
  local m, best = opened(layers, dtype), math.huge
  for _ = 1, 4 do
    local e = tempo.llm.engine(m, { chunk = 512 })
    e:submit { prompt = ids(512), max_tokens = 1 }
    local from = os.clock()
    e:step()
    best = math.min(best, os.clock() - from)
  end
  print(("%.6g 0"):format(best * 1e3))
end

-- 16 texts as if they had come to position 1,024: what lies before is zeros.
local function batch(layers, window)
  local m, best = models.random(models.settings(layers, window), "f32"), math.huge
  local e = tempo.llm.engine(m)
  for k = 1, 16 do e:submit { prompt = { k }, max_tokens = 100 } end
  for _ = 1, 16 do e:step() end
  if not window then e.places = 1088 end
  for _, r in ipairs(e.active) do
    r.k, r.v, r.done = core.llm_grow(r.k, e.places), core.llm_grow(r.v, e.places), 1024
  end
  for _ = 1, 8 do
    local from = os.clock()
    e:step()
    best = math.min(best, os.clock() - from)
  end
  print(("%.6g 0"):format(best * 1e3))
end
function ours.window(layers) return batch(layers, 1024) end
function ours.causal(layers) return batch(layers) end
function ours.padded(layers) return batch(layers) end

-- Megabytes of this process: VmRSS now, or VmHWM, the most since `forget`.
local function megabytes(what) return tonumber(read "/proc/self/status":match(what .. ":%s*(%d+)")) / 1024 end
local function forget()
  local file = assert(io.open("/proc/self/clear_refs", "w"))
  file:write "5"
  file:close()
end

-- Of a second text, when all is compiled: a later token, the first; what memory grew by, and weights.
function ours.first(layers, dtype)
  local m, bytes = models.random(models.settings(layers), dtype)
  collectgarbage()
  forget()
  local before, later, first = megabytes "VmRSS", math.huge, nil
  for _ = 1, 3 do
    local from = os.clock()
    first = nil
    m:generate({ 1 }, { max_tokens = 12, logprobs = false, on_token = function()
      local now = os.clock()
      if first then later = math.min(later, now - from) else first = now - from end
      from = now
    end })
  end
  print(("%.6g %.6g %.6g %.6g"):format(later * 1e3, first * 1e3, megabytes "VmHWM" - before, bytes / 2 ^ 20))
end

function ours.train(iterations)
  local text = read(TEXT)
  local run = models.trained { vocabulary = 257, width = 128, layers = 4, heads = 4, kv_heads = 2,
    ffn = 336, batch = 8, length = 64, tokens = #text, data = tempo.array(tempo.array(text, "u8"), "i64") }
  run(2)
  local from = os.clock()
  local losses = run(iterations)
  local seconds = os.clock() - from
  for k, v in ipairs(losses) do losses[k] = ("%.7f"):format(v) end
  print((table.concat(losses, " ")))
  print(("%.6g %s"):format(seconds / iterations * 1e3, losses[iterations]))
end

if arg[1] == "one" then return ours[arg[2]](tonumber(arg[3]), arg[4], arg[5]) end

-- ---- both ------------------------------------------------------------------------------------------------------
local sides = require "bench.common.sides"
local opt = require "tempo.cli"(arg, { rows = "", layers = 16, rounds = 2 }, "lua5.4 bench/llm.lua")
local wanted, failed = sides.rows(opt.rows), nil
local function mine(what, ...)
  return ("%senv TEMPO_TIER=native %s bench/llm.lua one %s %s"):format(sides.PIN, arg[-1], what,
    table.concat({ ... }, " "))
end
local function theirs(script, modules, ...)
  local python = sides.python(modules)
  if not python then
    failed = ("no python3 with %s is there; bench/setup makes one"):format(modules)
    return nil
  end
  return ("%s%s bench/peers/%s.py %s 2>/dev/null"):format(sides.PIN, python, script, table.concat({ ... }, " "))
end

local function ratio(name, ours_ms, peer, peer_name, unit)
  print(("RATIO %s %.3g (%.4g vs %.4g %s %s)"):format(name, peer / ours_ms, ours_ms, peer, peer_name, unit))
  io.stdout:flush()
end

local function against(name, command, peer, peer_name)
  if not (wanted(name) and peer) then return end
  local ms = sides.turns(opt.rounds, { command, peer })
  ratio(name, ms[1], ms[2], peer_name, "ms")
end

for _, dtype in ipairs { "f32", "bf16", "q8", "q4" } do
  local name = "decode-" .. dtype
  local reads = wanted(name) and theirs("llm_torch", "torch", "read")
  if reads then
    local commands = { mine("decode", opt.layers, dtype), reads }
    if not FORMATS[dtype] then commands[3] = theirs("llm_torch", "torch", "decode", dtype, opt.layers) end
    local best, said = sides.turns(opt.rounds, { commands[1], commands[3] })
    local speed = sides.turns(opt.rounds, { commands[2] }, true)[1]
    if commands[3] then ratio(name, best[1], best[2], "PyTorch", "ms a token") end
    local share = said[1] / best[1] / 1e6 / speed
    print(("RATIO %s-bandwidth %.3g (%.4g vs %.4g GB/s of one core that reads)")
      :format(name, share, said[1] / best[1] / 1e6, speed))
  end
end
for _, dtype in ipairs { "f32", "bf16" } do
  against("decode-" .. dtype .. "-compiled", mine("decode", opt.layers, dtype),
    theirs("llm_torch", "torch", "compiled", dtype, opt.layers), "PyTorch compiled")
  against("prefill-" .. dtype, mine("prefill", opt.layers, dtype),
    theirs("llm_torch", "torch", "prefill", dtype, opt.layers), "PyTorch")
end
local function beside_llama_cpp(bench, dtype)
  local function name(what) return ("llama-cpp-%s-%s"):format(what, dtype) end
  if not (wanted(name "decode") or wanted(name "prefill")) then return end
  sides.with_folder(function(folder)
    local file = ("%s/%s.gguf"):format(folder, dtype)
    sides.output(mine("gguf", opt.layers, file, dtype))
    for _, what in ipairs { "decode", "prefill" } do
      against(name(what), mine(what, opt.layers, file),
        ("%ssh bench/peers/llama_bench.sh '%s' %s %s"):format(sides.PIN, bench, what, file), "llama.cpp")
    end
  end)
end
local bench = os.getenv "LLAMA_BENCH"
if not bench and wanted "llama-cpp" then print "llama-cpp: left out, LLAMA_BENCH says no path of llama-bench" end
for _, dtype in ipairs(bench and { "f32", "bf16", "q8", "q4" } or {}) do beside_llama_cpp(bench, dtype) end
for _, kind in ipairs { "window", "causal" } do
  against(kind .. "-16", mine(kind, opt.layers), theirs("llm_jax", "jax", kind, opt.layers), "JAX")
end

against("padded-16", mine("padded", math.min(opt.layers, 4)),
  theirs("llm_jax", "jax", "padded", math.min(opt.layers, 4)), "JAX")
for _, dtype in ipairs { "f32", "bf16" } do
  if wanted("first-" .. dtype) then
    local said = {}
    for v in sides.output(mine("first", opt.layers, dtype)):gmatch "%S+" do table.insert(said, tonumber(v)) end
    local later, first, more, weights = table.unpack(said)
    print(("RATIO first-%s %.3g (%.4g vs %.4g ms, the first token and a later one)")
      :format(dtype, later / first, first, later))
    print(("RATIO memory-%s %.3g (%.3g MB beside %.4g MB of weights)"):format(dtype, weights / more, more, weights))
  end
end

if wanted "train-tiny" then
  local N, peer = 300, theirs("llm_train", "torch", 300, TEXT)
  if peer then
    local ms, said = sides.turns(opt.rounds, { mine("train", N), peer })
    local a, b, worst = sides.output(mine("train", N)), sides.output(peer), 0
    local want = b:gmatch "[%d.]+"
    for v in a:match "^[^\n]*":gmatch "[%d.]+" do worst = math.max(worst, math.abs(tonumber(v) - tonumber(want()))) end
    print(("train-tiny: the losses of %d iterations differ by at most %.1e"):format(N, worst))
    assert(math.abs(said[1] - said[2]) < 1e-2, "the losses differ")
    ratio("train-tiny", ms[1], ms[2], "PyTorch", "ms an iteration")
  end
end
if failed then error(failed) end

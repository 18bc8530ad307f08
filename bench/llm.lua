-- Language models: each side in a process of its own, pinned to the same one core, in turn;
-- processor time.
--   train-tiny   a small Llama learns bytes, against PyTorch eager; the losses are equal
--   lua5.4 bench/llm.lua [--rows train-tiny] [--layers 16] [--rounds 2]
local tempo = require "tempo"
local models = require "bench.common.llm"

local TEXT = "docs/tutorial.md"

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

-- ---- one side ----------------------------------------------------------------------------------
local ours = {}

function ours.train(iterations)
  local text = read(TEXT)
  local run = models.trained { vocabulary = 257, width = 128, layers = 4, heads = 4, kv_heads = 2, ffn = 336, batch = 8,
    length = 64, tokens = #text, data = tempo.array(tempo.array(text, "u8"), "i64") }
  run(2)
  local from = os.clock()
  local losses = run(iterations)
  print((table.concat(losses, " ")))
  print(("%.6g %.9g"):format((os.clock() - from) / iterations * 1e3, losses[iterations]))
end

if arg[1] == "one" then return ours[arg[2]](tonumber(arg[3])) end

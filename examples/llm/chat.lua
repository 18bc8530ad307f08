-- A conversation in the terminal, with a model that has a chat template. An empty line ends it.
--     lua5.4 examples/llm/chat.lua --model FOLDER [--system "You are brief."] [--tokens 256]
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { model = "", system = "", tokens = 256, temperature = 0.7,
  top_p = 0.9, seed = 0, quiet = false })

local m = tempo.llm.load(opt.model)
local engine = tempo.llm.engine(m, { slots = 1 })   -- keeps what it has read from turn to turn
local messages = {}
if opt.system ~= "" then messages[1] = { role = "system", content = opt.system } end

local function ask()
  if not opt.quiet then io.write "> " end
  io.flush()
  local line = io.read "*l"
  return line ~= "" and line or nil
end

for line in ask do
  messages[#messages + 1] = { role = "user", content = line }
  -- the template gives the begin of text and the assistant's header
  local prompt = m.tokenizer:encode(m.tokenizer:chat(messages), { special = true })
  local said = {}
  local request = engine:submit { prompt = prompt, max_tokens = opt.tokens, seed = opt.seed + #messages,
    temperature = opt.temperature, top_p = opt.top_p, on_token = function(_, text)
      said[#said + 1] = text
      io.write(text)
      io.flush()
    end }
  repeat until engine:step() == 0
  print(request.error or "")
  messages[#messages + 1] = { role = "assistant", content = table.concat(said) }
end

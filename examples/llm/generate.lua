-- Goes on with a text, and says how fast.
--     lua5.4 examples/llm/generate.lua --model FOLDER --prompt "Once upon a time" [--tokens 64]
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { model = "out/train_tiny", prompt = "The ", tokens = 64,
  temperature = 0, top_k = 0, top_p = 1, min_p = 0, seed = 0, dtype = "", quiet = false })

local began = tempo.clock()
local m = tempo.llm.load(opt.model, { dtype = opt.dtype ~= "" and opt.dtype or nil })
local loaded, first = tempo.clock(), nil
io.write(opt.prompt)
local _, info = m:generate(opt.prompt, {
  max_tokens = opt.tokens, temperature = opt.temperature, top_k = opt.top_k, top_p = opt.top_p,
  min_p = opt.min_p, seed = opt.seed,
  on_token = function(_, text)
    first = first or tempo.clock()
    io.write(text)
    io.flush()
  end,
})
print()
if not opt.quiet then
  local n, seconds = #info.ids - 1, tempo.clock() - (first or began)
  io.stderr:write(("%s: loaded in %.2f s, first token after %.2f s, then %.1f a second (%s)\n")
    :format(tostring(m), loaded - began, (first or loaded) - loaded, n / seconds, info.reason))
end

-- A prompt and the text that follows, greedily, as one program: a recurrence over position whose
-- attention reads k[0 .. t+1]. No line speaks of a cache: what is kept, and when, follows from what
-- is read.
--     lua5.4 examples/llm/one_program.lua --model FOLDER --prompt "Once upon a time" [--tokens 64]
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { model = "out/train_tiny", prompt = "The ", tokens = 64,
  explain = "" })
local m = tempo.llm.load(opt.model)

local P = tempo.program()
local t, p = P:dim("t", "T"), P:bound "p"              -- position; the prompt's length
local prompt = P:input("prompt", { domain = { t }, dtype = "i64" })
local id = P:tensor { domain = { t }, dtype = "i64", name = "id" }
local _, logits = m:record(P, id, t)
id:when(t:lt(p), prompt)
id[t] = logits:argmax(-1)[t - 1]

local over = P:constant(tempo.array(false))
for _, eos in ipairs(m.config.eos) do over = over:lor(id:eq(eos)) end
P:stop(t, over:land(t:ge(p)))

local ids = m.tokenizer:encode(opt.prompt, { bos = m.tokenizer.add_bos })
local n = #ids
for k = n + 1, n + opt.tokens do ids[k] = 0 end        -- nothing reads these
P:sink({ id }, function(arrays, point)
  local chosen = arrays[1]:item()
  if point.t >= n and not m.tokenizer:is_eos(chosen) then
    io.write(m.tokenizer:piece(chosen))
    io.flush()
  end
end)
local f = P:compile {}
io.write(opt.prompt)
f(m:inputs { prompt = ids }, { T = #ids, p = n, L = m.config.layers })
print()
if opt.explain ~= "" then print(f:explain(opt.explain)) end

-- Tokenizers: MB of text a second against Hugging Face's tokenizers (one thread, one core, each
-- side in a process of its own, in turn), and ids against llama.cpp's.
--
--   lua5.4 bench/tokenizers.lua [--rounds 3] [--vocabs FOLDER]
--   LUA bench/tokenizers.lua run FILE TEXT ROUNDS      our side: MB/s, how many ids
--
-- FOLDER is vendor/llama.cpp/models of llama-cpp-python's sdist (pip download --no-binary :all:
-- --no-deps llama-cpp-python): the speed is then that of Llama 3's vocabulary, and each
-- ggml-vocab-*.gguf is held to its pairs of .inp and .out. Without it the speed is that of the
-- small one of the specs.
-- Needs a python3 with tokenizers (and gguf, with a folder).
package.path = "bench/?.lua;" .. package.path
local tokenizer = require "tempo.llm.tokenizer"

local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read "*a"
  if file then file:close() end
  return text
end

if arg[1] == "run" then
  local t, text, best, ids = tokenizer.open(arg[2]), read(arg[3]), math.huge, nil
  for _ = 1, tonumber(arg[4]) do
    local began = os.clock()
    ids = t:encode(text)
    best = math.min(best, os.clock() - began)
  end
  print(("%.3f %d"):format(#text / best / 1e6, #ids))
  return
end

local sides = require "common.sides"
local rounds, vocabs = 3, nil
for k = 1, #arg - 1 do
  if arg[k] == "--rounds" then rounds = tonumber(arg[k + 1]) end
  if arg[k] == "--vocabs" then vocabs = arg[k + 1] end
end

-- Texts between separators, ids a line: how many texts, how many of them have other ids.
local function compared(t, path)
  local separator, at, k, wrong = "\n__ggml_vocab_test__\n", 1, 0, 0
  local texts, said = read(path .. ".inp"), read(path .. ".out")
  for line in said:gmatch "[^\n]*" do
    if at > #texts then break end
    local stop = texts:find(separator, at, true) or #texts + 1
    local want = {}
    for id in line:gmatch "%d+" do want[#want + 1] = id end
    local got = t:encode(texts:sub(at, stop - 1))
    if table.concat(got, " ") ~= table.concat(want, " ") then wrong = wrong + 1 end
    at, k = stop + #separator, k + 1
  end
  return k, wrong
end

local failed
if vocabs then
  for path in sides.output("ls " .. vocabs .. "/ggml-vocab-*.gguf"):gmatch "[^\n]+" do
    local name = path:match "ggml%-vocab%-(.*)%.gguf"
    local ok, t = pcall(tokenizer.open, path)
    local said = ok and "no pairs" or tostring(t):match "tokenizer.ggml[^\n]*"
    if ok and read(path .. ".inp") then
      local n, wrong = compared(t, path)
      said = ("%d of %d texts have llama.cpp's ids"):format(n - wrong, n)
      if wrong > 0 then failed = name .. " differs from llama.cpp" end
    end
    print(("%-18s %s"):format(name, said))
  end
end

local python = sides.python(vocabs and "tokenizers, gguf" or "tokenizers")
local file = vocabs and vocabs .. "/ggml-vocab-llama-bpe.gguf"
  or "spec/fixtures/tokenizers/llama3.json"
if python then
  sides.with_folder(function(folder)
    local text, out = {}, io.open(folder .. "/text", "w")
    for _, name in ipairs { "language", "architecture", "rl", "scheduling" } do
      text[#text + 1] = read("docs/" .. name .. ".md") or ""
    end
    out:write(table.concat(text):rep(4))
    out:close()
    local best, ids = sides.turns(rounds, {
      ours = ("%s%s bench/tokenizers.lua run %s %s/text 5")
        :format(sides.PIN, arg[-1], file, folder),
      peer = ("%s%s bench/peers/tokenizers_peer.py %s %s/text 3")
        :format(sides.PIN, python, file, folder),
    }, true)
    assert(ids.ours == ids.peer, "the sides give different ids")
    print(("RATIO tokenize %.1f (%.3g vs %.3g MB/s)")
      :format(best.ours / best.peer, best.ours, best.peer))
  end)
else
  failed = failed or "no python3 with tokenizers is there: its row is left out"
end
if failed then error(failed, 0) end

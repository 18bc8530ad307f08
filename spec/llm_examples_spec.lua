-- The programs of examples/llm and bin/tempo generate: from a text to a checkpoint to a text.
local helper = require "spec.helper"

describe("a small Llama", function()
  local folder = os.tmpname()
  os.remove(folder)
  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  it("is trained and saved, and writes the same in each program", function()
    local out = helper.example("llm/train_tiny", "--quiet --iterations 12 --width 32 --layers 2 "
      .. "--batch 4 --length 24 --tokens 8 --out " .. folder)
    local before, after = out:match "loss (%S+) to (%S+) in 12 iterations"
    assert.is_true(tonumber(after) < tonumber(before) - 0.1, out)
    local options = " --quiet --prompt 'The table' --tokens 6 --model " .. folder
    local text = helper.example("llm/generate", options)
    assert.equal("The table", text:sub(1, 9))
    assert.is_true(#text > 10)
    local one = helper.example("llm/one_program",
      "--prompt 'The table' --tokens 6 --model " .. folder)
    assert.equal(text, one)
    local said = helper.lua(("bin/tempo generate %s 'The table' --tokens 6"):format(folder))
    assert.equal(text:sub(10):match "^[^\n]*", said:match "^[^\n]*")
  end)
end)

-- Wrong programs: spec/errors/x.lua and the very message, x.err. The line that ends in "-- here" is
-- the one to be blamed. UPDATE=1 make spec SPEC=spec/wrong_spec.lua writes the .err files anew.
local helper = require "spec.helper"

local words = { "callback", "input", "bound", "option", "dtype", "shape", "ragged", "affine",
  "cycle", "undefined", "domain", "device", "file", "memory", "nan" }

-- LuaJIT calls __lt and __le only for two of a kind: there Lua itself refuses.
local function skipped(text) return jit and text:find("5.4 only", 1, true) end

local programs = {}
for path in io.popen("ls spec/errors/*.lua"):lines() do
  local text = helper.read(path)
  if text:find("-- here", 1, true) and not skipped(text) then
    programs[#programs + 1] = { path = path, text = text }
  end
end

-- path -> message. TEMPO_TIER wins over the script, so what is about tiers runs without it.
local function run(tier)
  local paths, out = {}, {}
  for _, p in ipairs(programs) do
    local own = p.text:find("tier =", 1, true) ~= nil
    if own == (tier == nil) then paths[#paths + 1] = p.path end
  end
  -- whatever this machine has
  local environment = "TEMPO_MEMORY=16GiB " .. (tier and "TEMPO_TIER=" .. tier or "")
  local text, at = helper.lua("spec/errors/run.lua " .. table.concat(paths, " "), environment), nil
  for line in text:gmatch "[^\n]+" do
    local path = line:match "^== (.+)$"
    at = path or at
    -- what it was asked for is an error of ours
    local sanitizer = line:find "^==%d+==WARNING: AddressSanitizer failed to allocate"
    if at and not sanitizer then out[at] = path and "" or out[at] .. line .. "\n" end
  end
  return out
end

-- The line of the text that ends in the mark.
local function blamed(text)
  local n = 0
  for line in text:gmatch "([^\n]*)\n" do
    n = n + 1
    if line:find "%-%- here" then return n end
  end
end

local function check(p, message)
  assert.truthy(message, p.path .. " did not run")
  local golden = p.path:gsub("%.lua$", ".err")
  if os.getenv "UPDATE" then
    local file = assert(io.open(golden, "wb"))
    file:write(message)
    file:close()
  end
  assert.equal(helper.read(golden), message)
  local file, line, word = message:match "^([^:\n]+):(%d+): (%l+)"
  assert.equal(p.path, file)
  assert.equal(blamed(p.text), tonumber(line))
  assert.equal(p.path:match "([^/_]+)_[^/]*$", word)
end

describe("a wrong program", function()
  local answers = { run "interpreter", run "reference", run() }

  for _, p in ipairs(programs) do
    it(p.path:match "([^/]+)%.lua$", function()
      local n = 0
      for _, out in pairs(answers) do
        if out[p.path] then
          n = n + 1
          check(p, out[p.path])
        end
      end
      assert.truthy(n > 0)
    end)
  end

  it("is there five times for each class of errors", function()
    for _, word in ipairs(words) do
      local n = 0
      for _, p in ipairs(programs) do
        if p.path:find("/" .. word .. "_", 1, true) then n = n + 1 end
      end
      assert.truthy(n >= 5, word .. ": " .. n)
    end
  end)
end)

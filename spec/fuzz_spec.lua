-- Random programs of fixed seeds on every tier; `make fuzz SECONDS=600` goes on from here.
local helper = require "spec.helper"
local generate = require "spec.fuzz.generate"
local check = require "spec.fuzz.check"
local deep = require "spec.fuzz.deep"
local picks = require "spec.fuzz.picks"
local wide = require "spec.fuzz.wide"

local found = { 126, 750 }                             -- seeds that showed bugs since

describe("random programs", function()
  setup(helper.quiet)
  teardown(helper.loud)
  local legal, all = 0, 0

  local function try(seed)
    local case, why = generate.load(generate.text(generate.generate(seed)))
    local status = "illegal"
    if case then status, why = check.check(case, seed % 4 > 0) end
    all = all + 1
    if status == "ok" then legal = legal + 1 end
    if status == "finding" then
      error(("seed %d: %s\nlua5.4 spec/fuzz/fuzz.lua --seed %d shrinks it"):format(seed, why, seed),
        0)
    end
  end

  for first = 1, 60, 15 do
    local tag = first > 30 and " #long" or ""
    it(("%d to %d are the same on every tier"):format(first, first + 14) .. tag, function()
      for seed = first, first + 14 do try(seed) end
      collectgarbage()
    end)
  end

  it("that once were not the same still are", function()
    for _, seed in ipairs(found) do try(seed) end
  end)

  local function same(kind, programs, from, to)
    for seed = from, to do
      local status, why = check.check(generate.load(generate.text(programs.generate(seed))), true)
      local again = ("lua5.4 spec/fuzz/fuzz.lua --%s yes --seed"):format(kind)
      assert(status == "ok", ("seed %d: %s\n%s %d shrinks it"):format(seed, why, again, seed))
    end
  end

  it("in which data picks among few places are the same on every tier", function()
    same("picks", picks, 1, 40)
  end)

  it("of layers over time are the same on every tier", function()
    same("deep", deep, 124, 129)
  end)

  it("of f32 lose little against f64 by being rewritten", function()
    for seed = 7000000001, 7000000010 do
      local status, why = wide.check(generate.text(generate.generate(seed, "no", "f32")))
      if status == "finding" then
        error(("seed %d: %s\nlua5.4 spec/fuzz/fuzz.lua --wide yes --seed %d shrinks it"):format(
          seed, why, seed), 0)
      end
    end
  end)

  for path in io.popen("ls spec/fuzz/found/*.lua"):lines() do          -- as the fuzzer prints them
    local name = path:match "([%w_]+)%.lua$"
    local settings, text = generate.found(name)
    local variables = settings:gsub("#long", "")
    it(name .. " once was not the same" .. (settings:find "#long" and " #long" or ""), function()
      local first = variables:find "%S" and "export " .. variables .. "; "
      local said = helper.script(text, nil, first):gsub("tempo: warning: [^\n]*\n", "")
      -- by all tiers
      local refused = text:find("cycles = true", 1, true) and said:find "^illegal: .-: cycle: "
      if not refused then assert.equal("ok\n", said) end
    end)
  end

  it("are legal, nearly all", function()
    assert.is_true(legal >= all * 0.9)
  end)
end)

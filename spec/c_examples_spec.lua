-- The hosts in C (examples/c), in processes of their own: what they learn, what they print, and
-- that the header stands alone.
local tempo = require "tempo"

local build = os.getenv "TEMPO_BUILD" or "build"

local function run(command)
  local pipe = io.popen(command .. " 2>&1; echo \"status $?\"")
  local out = pipe:read "*a"
  pipe:close()
  local text, status = out:match "^(.*)status (%d+)%s*$"
  return text, tonumber(status)
end

local function host(name, args)
  return run(("%s/examples/c/%s %s"):format(build, name, args or ""))
end

local function passes(name, args)
  local out, status = host(name, args)
  if status ~= 0 then error(name .. ":\n" .. out, 2) end
  return out
end

describe("a host in C", function()
  local texts = " --folder " .. build .. "/examples/c"

  it("trains CartPole, saves what it learnt, and plays it", function()
    local file = os.tmpname()
    local out = passes("cartpole", "--iterations 14 --envs 16 --steps 200 --seed 1 --save " .. file
      .. texts)
    local score = {}
    for k, v in out:gmatch "iteration +(%d+)  return +([%d.]+)  episodes" do
      assert.equal(#score, tonumber(k))
      score[#score + 1] = tonumber(v)
    end
    assert.equal(14, #score)
    assert.is_true(score[1] < 40 and score[14] > 60, out)
    assert.is_true(tonumber(out:match "episodes played ([%d.]+)") > 60, out)
    assert.truthy(out:find "\n  0 [.]*[<>][.]* pole")
    local params, n = tempo.load(file), 0
    os.remove(file)
    for name in pairs(params) do
      if name:find "^policy%.%d%.%a+$" or name:find "^critic%.%d%.%a+$" then n = n + 1 end
    end
    assert.equal(12, n)                         -- beside Adam's moments
    assert.same({ 64, 4 }, params["policy.0.weight"]:shape())
    local again = passes("cartpole", "--iterations 3 --envs 16 --steps 200 --seed 1" .. texts)
    assert.equal(score[1], tonumber(again:match "return +([%d.]+)"))
  end)

  it("says what is wrong, and ends", function()
    local out, status = host("cartpole", "--folder /none")
    assert.equal(1, status)
    assert.truthy(out:find("/none/cartpole_train.sdg", 1, true), out)
    out, status = host("cartpole", "--iterations -1" .. texts)
    assert.equal(1, status)
    assert.truthy(out:find("bound 'I' is negative", 1, true), out)
  end)

  it("has two Lua states in two threads, which learn in an environment of its own", function()
    local out = passes("two_states", "12")
    local n = 0
    for first, last in out:gmatch "state %d: 12 iterations, reward ([-%d.]+) at first, ([-%d.]+) at last\n" do
      n = n + 1
      assert.is_true(tonumber(last) > tonumber(first) / 2, out)
    end
    assert.equal(2, n)
    assert.equal(out, passes("two_states", "12 in-turn"))
  end)

  it("includes a header that needs no other", function()
    for _, as in ipairs { "-x c -std=c99", "-x c -std=c11", "-x c++" } do
      local compiler = as:find "++" and "c++" or "cc"
      if run("command -v " .. compiler) ~= "" then
        local out, status =
          run(("echo '#include <tempo.h>' | %s %s -pedantic-errors -Wall -Wextra -Werror -Iinclude -fsyntax-only -")
          :format(compiler, as))
        assert.equal(0, status, out)
      end
    end
  end)
end)

-- bin/tempo: train, play, explain, export and plot, each in a process of its own.
local tempo = require "tempo"
local lua = _VERSION == "Lua 5.4" and "lua5.4" or "luajit"
local folder = os.tmpname()
os.remove(folder)
teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

local function command(words)
  local cpath = package.cpath:gsub("'", "")
  local set = ("LUA_CPATH='%s' LUA_CPATH_5_4='%s' TEMPO_TIER=interpreter "):format(cpath, cpath)
  local pipe = io.popen(set .. lua .. " bin/tempo " .. words .. " 2>&1; echo status $?")
  local text = pipe:read "*a"
  pipe:close()
  return text:match "^(.-)status (%d+)\n$"
end

local script = [[
local tempo = require "tempo"
local opt = require "tempo.cli" (arg, { seed = 0, out = "" })
local P = tempo.program { seed = opt.seed }
local i, b, t = P:dims "i b t"
local env = tempo.rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
local net = tempo.nn.Linear(P, 4, 1, { along = { i }, name = "net", init = "zeros", bias = false })
net.weight:update(P:constant { { 0, 0, 1, 0.5 } })
local function act(e, policy) return policy(e.obs):squeeze(-1):gt(0):to "i64" end
env:step(act(env, net))
tempo.rl.train(P, env, { bounds = { I = 4, B = 2, T = 20 }, out = opt.out, quiet = true,
  keep = { net }, evaluate = { every = 2, episodes = 2, policy = act } })
]]

describe("bin/tempo", function()
  it("says what it cannot serve", function()
    local text, status = command "serve"
    assert.equal("2", status)
    assert.is_truthy(text:find "serve: which model%?")
    text, status = command "serve spec/fixtures/llm/llama --port 0"
    assert.equal("1", status)
    assert.is_truthy(text:find "the model has no tokenizer", text)
  end)

  it("trains, plays, exports, explains and plots", function()
    os.execute("mkdir -p '" .. folder .. "'")
    local path = folder .. "/agent.lua"
    local file = assert(io.open(path, "w"))
    file:write(script)
    file:close()
    local run = folder .. "/runs/0"
    local text, status = command("train " .. path .. " --seed 1 --out " .. run)
    assert.equal("0", status, text)
    text, status = command("train " .. path .. " --seed=2 --out " .. folder .. "/runs/1")
    assert.equal("0", status, text)
    assert.same({ { 0, 0, 1, 0.5 } }, tempo.load(run .. "/best.npz")["net.weight"]:totable())

    text, status = command("play " .. run .. " --every 60 --steps 80 --delay 0")
    assert.equal("0", status, text)
    assert.truthy(text:find("step 60  return 60\n", 1, true), text)
    assert.equal(2, select(2, text:gsub("_+=====_+\n", "")))
    assert.truthy(text:find("episode 1: return 80 after 80 steps", 1, true), text)

    text, status = command("export " .. run)
    assert.equal("0", status, text)
    for _, ext in ipairs { "c", "h", "weights" } do
      assert.truthy(io.open(run .. "/policy." .. ext), ext)
    end

    text, status = command("explain " .. path .. " --section graph")
    assert.equal("0", status, text)
    assert.truthy(text:find("net.weight", 1, true), text)

    text, status = command("plot " .. run .. " " .. folder .. "/runs/1 --to " .. folder .. "/c.svg")
    assert.equal("0", status, text)
    local svg = io.open(folder .. "/c.svg"):read "*a"
    assert.truthy(svg:find("<polygon", 1, true) and svg:find("runs (2 runs)", 1, true), svg)
  end)

  it("says what is wrong", function()
    local function fails(words, ...)
      local text, status = command(words)
      assert.is_true(status ~= "0", words)
      for _, part in ipairs { ... } do assert.truthy(text:find(part, 1, true), text) end
    end
    fails("trian x", "unknown command 'trian'; did you mean 'train'?", "usage:")
    fails("train CartPole-v0", "no environment; did you mean 'CartPole-v1'?")
    fails("play " .. folder, "it has no config.json")
    fails("plot --colum x", "unknown option --colum")
    fails("play " .. folder .. "/runs/0 --params other", "there is no")
  end)
end)

-- Runs in one folder are drawn together: the mean and one deviation, of the values that rows had
-- last.
describe("a plot of runs", function()
  it("has their mean and deviation", function()
    local files = { [0] = { { 10, 1 }, { 20, 3 } }, { { 10, 3 }, { 20, 5 } } }
    for k = 0, 1 do
      local log = tempo.logger.csv(("%s/m/%d/metrics.csv"):format(folder, k), { "steps", "return" })
      for _, row in ipairs(files[k]) do log:row(row) end
      log:close()
    end
    local seen
    local draw = tempo.viz.svg
    rawset(tempo.viz, "svg", function(curves) seen = curves return "" end)
    require "tempo.rl.plot".svg({ folder .. "/m/0/", folder .. "/m/1" }, {})
    rawset(tempo.viz, "svg", draw)
    local c = seen[1]
    assert.equal("m (2 runs)", c.name)
    assert.same({ 10, 2, 1, 3 }, { c.x[1], c.y[1], c.lo[1], c.hi[1] })
    assert.same({ 20, 4, 3, 5 }, { c.x[201], c.y[201], c.lo[201], c.hi[201] })
    assert.equal(2, c.y[200])
  end)
end)

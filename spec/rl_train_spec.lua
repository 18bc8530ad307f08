-- rl.train: rows against plain Lua, files, what ends a run and what goes on from it.
local tempo = require "tempo"
local rl = require "tempo.rl"
local helper = require "spec.helper"

local folder = os.tmpname()
os.remove(folder)
folder = folder .. ".d"
teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

local function read(name)
  local file = assert(io.open(folder .. "/" .. name, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

-- Random actions; a weight that counts updates.
local function program(carry)
  local P = tempo.program { seed = 3 }
  local i, b, t = P:dims "i b t"
  local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = carry and i
    or nil })
  env:step(tempo.randint({}, 0, 2, { domain = { i, b, t }, name = "action" }))
  local w = P:param("w", { along = { i }, init = 0 })
  w:update(w + env.reward:at { b = 0 .. b:upper(), t = 0 .. t:upper() }:sum())
  return P, env, w
end

-- The rows that the outputs of a whole run say.
local function wanted(done, iterations, B, T, carry)
  local rows, sums, score = {}, {}, 0 / 0
  for k = 1, iterations do
    local sum, count, rest = 0, 0, 0
    for e = 1, B do
      if not (carry and sums[e]) then sums[e] = 0 end
      for s = 1, T do
        sums[e] = sums[e] + 1
        if done[k][e][s] then
          sum, count, sums[e] = sum + sums[e], count + 1, s < T and 0 or sums[e]
        end
      end
      rest = rest + sums[e]
      if done[k][e][T] then sums[e] = 0 end
    end
    if count > 0 then score = sum / count elseif not carry then score = rest / B end
    rows[k] = { score, count, k * B * T }
  end
  return rows
end

describe("rl.train", function()
  it("gives rows with the whole returns of the episodes that ended", function()
    for _, carry in ipairs { true, false } do
      local P, env, w = program(carry)
      local bounds = { I = 7, B = 3, T = 9 }
      local done = P:compile { outputs = { done = env.done } }({}, bounds).done:totable()
      local f, history = rl.train(P, env, { bounds = bounds, quiet = true, tier = "interpreter",
        log = { w = w, inner = { both = env.reward * 2, number = 5 },
          host = function(k) return 10 * k end } })
      assert.equal(7, #history)
      for k, want in ipairs(wanted(done, 7, 3, 9, carry)) do
        local row = history[k]
        assert.equal(k - 1, row.iteration)
        helper.same(want[1], row["return"], 1e-12)
        assert.equal(want[2], row.episodes)
        assert.equal(want[3], row.steps)
        assert.equal(27 * (k - 1), row.w)
        assert.equal(2, row["inner.both"])
        assert.equal(5, row["inner.number"])
        assert.equal(10 * (k - 1), row.host)
      end
      assert.equal(7 * 27, f:params().w:item())
    end
  end)

  it("writes its rows in three kinds of files, its configuration and its curve", function()
    local P, env, w = program(true)
    local _, history = rl.train(P, env, { bounds = { I = 4, B = 2, T = 30 }, log = { w = w },
      out = folder,
      quiet = true, tier = "interpreter" })
    local lines = {}
    for line in read("metrics.csv"):gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.equal("iteration,return,episodes,steps,steps_per_second,seconds,w", lines[1])
    assert.equal(5, #lines)
    assert.equal(("%d,%.9g,%d"):format(3, history[4]["return"], history[4].episodes),
      lines[5]:match "^[^,]+,[^,]+,[^,]+")
    assert.truthy(read("metrics.jsonl"):find('"iteration":3,"return":', 1, true))
    assert.truthy(read("config.json"):find('"bounds":{"B":2,"I":4,"T":30}', 1, true))
    assert.truthy(read("curve.svg"):find("<polyline", 1, true))
    assert.truthy(read("events.out.tfevents.0.tempo"):find("brain.Event:2", 1, true))
  end)
end)

-- spec/fixtures/make_events.py
describe("TensorBoard's events", function()
  it("have the bytes that TensorBoard writes", function()
    local events = require "tempo.logger.events"
    local function hex(bytes)
      return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
    end
    assert.equal("1800000000000000a37f4b220900000040fc54d9411a0d627261696e2e4576656e743a32eced8f9d",
      hex(events.version(1700000000)))
    assert.equal("2a00000000000000ae8d91f50900000040fc54d94110ac022a1c0a0b0a046c6f737315"
      .. "cdcccc3d0a0d0a0672657475726e150080edc3f725c596", hex(events.scalars(1700000000,
        { "iteration", "loss", "return" },
        { 300, 0.1, -475 })))
  end)
end)

-- ---- ends ---------------------------------------------------------------------------------------

-- Runs `script` in another process: gives its status and what it printed.
local lua = _VERSION == "Lua 5.4" and "lua5.4" or "luajit"
local function child(script)
  local path = folder .. ".lua"
  local file = assert(io.open(path, "w"))
  file:write(("package.path, package.cpath = %q, %q\n"):format(package.path, package.cpath), script)
  file:close()
  local pipe = io.popen(lua .. " " .. path .. " 2>&1; echo status $?")
  local text = pipe:read "*a"
  pipe:close()
  os.remove(path)
  return text
end

-- A run whose sink does something at one point; DIR and DO stand for the folder and for what.
local killed = [[
local tempo = require "tempo"
local rl = tempo.rl
local P = tempo.program { seed = 3 }
local i, b, t = P:dims "i b t"
local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = i })
env:step(tempo.randint({}, 0, 2, { domain = { i, b, t }, name = "action" }))
local w = P:param("w", { along = { i }, init = 0 })
w:update(w * 0.5 + env.obs:at { b = 0 .. b:upper(), t = 0 .. t:upper() }:sum())
P:sink({ w }, function(_, point) if point.i == 11 then DO end end)
local f, history = rl.train(P, env, { bounds = { I = 20, B = 2, T = TIME }, log = { w = w },
  out = "DIR",
  checkpoint = 4, quiet = true, tier = "interpreter" })
print(#history, history.stopped, f:params().w:item())
]]
local function run(what, time)
  return child((killed:gsub("DIR", folder):gsub("DO", what):gsub("TIME", time or 5)))
end

-- metrics.jsonl without times.
local function rows()
  return (read("metrics.jsonl"):gsub('"steps_per_second":[^,]*,"seconds":[^,]*,', ""))
end

describe("a run that ends early", function()
  it("by kill -9 goes on from its checkpoint, with the numbers of one that was not killed",
    function()
    os.execute("rm -rf '" .. folder .. "'")
    local whole = run ""
    local want = rows()
    assert.truthy(whole:find("status 0", 1, true), whole)
    assert.is_nil(io.open(folder .. "/checkpoint.json"))    -- the run was over
    assert.truthy(run('os.execute "kill -9 $PPID"'):find("status 137", 1, true))
    assert.truthy(io.open(folder .. "/checkpoint.json"))
    assert.equal(whole, run "")
    assert.equal(want, rows())
  end)

  it("by Ctrl-C returns what there is", function()
    os.execute("rm -rf '" .. folder .. "'")
    local whole = run ""
    local want = rows()
    local text = run([[os.execute "(sleep 0.1; kill -INT $PPID) &"
      local c = os.clock() while os.clock() < c + 9 do end]])
    assert.equal("11\tinterrupted", text:match "^[^\t]*\t[^\t]*")
    assert.truthy(io.open(folder .. "/last.npz"))
    assert.equal(want:sub(1, #rows()), rows())
    assert.equal(whole, run "")
    assert.equal(want, rows())
  end)

  it("by Ctrl-C between callbacks saves where it is, at the end of an iteration", function()
    os.execute("rm -rf '" .. folder .. "'")
    local text = run('os.execute "(sleep 0.03; kill -INT $PPID) &"', 15000)
    local count = tonumber(text:match "^(%d+)\tinterrupted")
    assert.is_true(count and count >= 12, text)
    assert.truthy(read("checkpoint.json"):find('"iteration":' .. count .. ",", 1, true))
    local before = rows()
    local resumed = run("", 15000)
    local after = rows()
    assert.equal(before, after:sub(1, #before))
    os.execute("rm -rf '" .. folder .. "'")
    assert.equal(resumed, run("", 15000))
    assert.equal(after, rows())
  end)

  it("by an error of a callback raises it and leaves files and checkpoint", function()
    os.execute("rm -rf '" .. folder .. "'")
    local text = run "error 'no such wall'"
    assert.truthy(text:find("no such wall", 1, true) and text:find("status 1", 1, true), text)
    assert.equal(11, select(2, rows():gsub("\n", "")))
    for _, name in ipairs { "last.npz", "curve.svg", "checkpoint.json" } do
      assert.truthy(io.open(folder .. "/" .. name))
    end
  end)
end)

describe("rl.train", function()
  it("stops when the return is enough, and keeps what did best", function()
    local function train(o)
      local P = tempo.program { seed = 3 }
      local i, b, t = P:dims "i b t"
      local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t })
      local net = tempo.nn.Linear(P, 4, 1, { along = { i }, name = "net", init = "zeros" })
      net.bias:update(net.bias - 1)
      net.weight:update(net.weight + i:eq(3):value():to "f32" - i:eq(5):value():to "f32")
      env:step(net(env.obs):squeeze(-1):gt(0):to "i64" * 0 + env.obs:select(0,
        2):gt(-net(env.obs):sum()):to "i64")
      o.bounds, o.quiet, o.tier, o.keep = { I = 12, B = 4, T = 60 }, true, "interpreter", { net }
      return rl.train(P, env, o)
    end
    local _, history = train { stop = { at = -1, window = 4 } }
    assert.equal(4, #history)
    assert.equal("return reached -1", history.stopped)
    _, history = train { stop = { patience = 3, window = 1, of = "iteration" } }
    assert.equal(12, #history)
    _, history = train { stop = function(row) return row.iteration == 6 end }
    assert.equal(7, #history)
    local asked = {}
    _, history = train { out = folder, evaluate = { every = 2, score = function(f, row)
      asked[#asked + 1] = { row.iteration, f:params()["net.bias"]:item() }
      return -math.abs(row.iteration - 6)
    end } }
    assert.same({ { 1, -2 }, { 3, -4 }, { 5, -6 }, { 7, -8 }, { 9, -10 }, { 11, -12 } }, asked)
    assert.equal(5, history.best.iteration)
    assert.equal(-1, history.best.evaluation)
    assert.equal(-6, tempo.load(folder .. "/best.npz")["net.bias"]:item())
    assert.equal(-12, tempo.load(folder .. "/last.npz")["net.bias"]:item())
    assert.is_true(history[3].evaluation ~= history[3].evaluation)
  end)
end)

describe("rl.train", function()
  it("takes inputs with the iteration among their dims as arrays or functions", function()
    local P = tempo.program()
    local i, t = P:dims "i t"
    local env = rl.env(P, "CartPole-v1", { domain = { i, t }, time = t })
    local action = P:input("action", { domain = { i, t }, dtype = "i64" })
    local lr, scale = P:input("lr", { domain = { i } }), P:input "scale"
    env:step(action)
    local actions = { { 0, 1, 0 }, { 1, 1, 1 } }
    for _, given in ipairs { tempo.array(actions, "i64"), actions,
      function(k) return actions[k + 1] end } do
      local _, history = rl.train(P, env, { bounds = { I = 2, T = 3 }, quiet = true,
        tier = "interpreter",
        inputs = { action = given, lr = { 0.5, 0.25 }, scale = 4 },
          log = { x = action * lr * scale } })
      helper.same({ 2 / 3, 1 }, { history[1].x, history[2].x }, 1e-6)
    end
  end)

  it("evaluates whole episodes by a copy of the policy", function()
    local P = tempo.program { seed = 5 }
    local s, i, t = P:dims "s i t"
    local env = rl.env(P, "CartPole-v1", { domain = { s, i, t }, time = t })
    local net = tempo.nn.Linear(P, 4, 1, { along = { i }, domain = { s }, name = "net",
      init = "zeros", bias = false })
    -- member 1 pushes to where the pole leans and falls, from i = 2 on; member 0 always to the left
    local leans = P:constant { 0, 0, 1, 0.5 } * s:value():to "f32"
    net.weight:update(leans:unsqueeze(0) * i:ge(2):value():to "f32")
    local function act(net_, e) return net_(e.obs):squeeze(-1):gt(0):to "i64" end
    env:step(act(net, env))
    local seen
    local _, history = rl.train(P, env, { bounds = { S = 2, I = 6, T = 3 }, quiet = true,
      tier = "interpreter",
      keep = { net }, evaluate = { every = 2, episodes = 3, policy = function(e, copy)
        seen = { #e.domain, copy.program == P, copy.training }
        return act(copy, e)
      end } })
    assert.same({ 3, false, false }, seen)
    local left = history[2].evaluation
    assert.is_true(left >= 8 and left <= 10.5,
      tostring(left))      -- to the left: over after 8 to 10 steps
    assert.is_true(history[4].evaluation > (left + 100) / 2, tostring(history[4].evaluation))
    assert.equal(history.best.evaluation, math.max(history[4].evaluation, history[6].evaluation))
    assert.same({ 2, 1, 4 }, history.best.params["net.weight"]:shape())
  end)

  it("goes on where a file cannot be written, and says so", function()
    local P, env = program(true)
    local open, err = io.open, io.stderr
    local said = {}
    -- luacheck: push ignore 122
    io.stderr = { write = function(_, ...) said[#said + 1] = table.concat { ... } end }
    io.open = function(path, mode)
      local file, message = open(path, mode)
      if not file or not path:find "metrics%.csv" then return file, message end
      return { write = function(self, text)
        if text:find "^2," then return nil, "No space left on device" end
        file:write(text)
        return self
      end, flush = function() return file:flush() end, close = function() return file:close() end }
    end
    local ok, f, history = pcall(rl.train, P, env, { bounds = { I = 5, B = 2, T = 4 }, out = folder,
      quiet = true,
      tier = "interpreter" })
    io.open, io.stderr = open, err
    -- luacheck: pop
    assert.is_true(ok, tostring(f))
    assert.equal(5, #history)
    assert.truthy(history.failed:find("metrics.csv': No space left on device", 1, true),
      history.failed)
    assert.equal(1, #said)
    assert.equal(5, select(2, read("metrics.jsonl"):gsub("\n", "")))
  end)

  it("takes Ctrl-C in the midst of a checkpoint for Ctrl-C, and the checkpoint is there", function()
    os.execute("rm -rf '" .. folder .. "'")
    local P, env = program(true)
    local rename, once = os.rename, true
    os.rename = function(from, to)                          -- luacheck: ignore 122
      if once and to:find "checkpoint%.json$" then
        once = false
        error("script.lua:1: interrupted!", 0)
      end
      return rename(from, to)
    end
    local ok, f, history = pcall(rl.train, P, env, { bounds = { I = 9, B = 2, T = 4 }, out = folder,
      quiet = true, tier = "interpreter", checkpoint = 3 })
    os.rename = rename                                      -- luacheck: ignore 122
    assert.is_true(ok, tostring(f))
    assert.same({ 3, "interrupted" }, { #history, history.stopped })
    assert.is_nil(history.failed)
    assert.truthy(read("checkpoint.json"):find('"iteration":3,', 1, true))
  end)

  it("says what is wrong with what it is given", function()
    local P, env = program(true)
    local bounds = { I = 5, B = 2, T = 4 }
    local function fails(o, class, text)
      helper.fails(function() local _ = rl.train(P, env, o) end, class, text)
    end
    fails({}, "option", "bounds are missing")
    fails({ bounds = bounds, ot = "x" }, "option", "did you mean 'out'")
    fails({ bounds = bounds, checkpoint = 3 }, "option", "out = ")
    fails({ bounds = bounds, keep = { env } }, "option", "keep is a list of modules")
    fails({ bounds = bounds, evaluate = {} }, "option", "policy = function")
    fails({ bounds = bounds, out = "/proc/none/x" }, "file",
      "cannot make the folder '/proc/none/x'")
    fails({ bounds = { I = 5, B = 2 }, quiet = true }, "bound", "'T' is missing")
    helper.fails(function() local _ = rl.train(env, { bounds = bounds }) end, "option", "program")
    assert.equal(5, #select(2, rl.train(P, env, { bounds = bounds, quiet = true,
      tier = "interpreter" })))
  end)
end)

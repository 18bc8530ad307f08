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
  local env = rl.env(P, "CartPole-v1", { domain = { i, b, t }, time = t, carry = carry and i or nil })
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
        if done[k][e][s] then sum, count, sums[e] = sum + sums[e], count + 1, s < T and 0 or sums[e] end
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
        log = { w = w, inner = { both = env.reward * 2, number = 5 }, host = function(k) return 10 * k end } })
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
    local _, history = rl.train(P, env, { bounds = { I = 4, B = 2, T = 30 }, log = { w = w }, out = folder,
      quiet = true, tier = "interpreter" })
    local lines = {}
    for line in read("metrics.csv"):gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.equal("iteration,return,episodes,steps,steps_per_second,seconds,w", lines[1])
    assert.equal(5, #lines)
    assert.equal(("%d,%.9g,%d"):format(3, history[4]["return"], history[4].episodes), lines[5]:match "^[^,]+,[^,]+,[^,]+")
    assert.truthy(read("metrics.jsonl"):find('"iteration":3,"return":', 1, true))
    assert.truthy(read("config.json"):find('"bounds":{"B":2,"I":4,"T":30}', 1, true))
    assert.truthy(read("curve.svg"):find("<polyline", 1, true))
    assert.truthy(read("events.out.tfevents.0.tempo"):find("brain.Event:2", 1, true))
  end)
end)

-- Examples of algorithms that learn from their own steps: their length, and with #long the returns
-- of docs/algorithms on three seeds that nothing was tuned on.
local helper = require "spec.helper"
local run = helper.agent

-- The least mean return of the last 20 iterations.
local wanted = { reinforce = 475, a2c = 475, ppo = 475, ppo_recurrent = 475, ppo_continuous = -200,
  ppo_attention = 475 }

describe("an example of examples/rl", function()
  it("has at most 80 lines", function()
    for _, name in ipairs { "reinforce", "a2c", "ppo", "ppo_recurrent", "ppo_continuous",
      "ppo_attention", "population" } do
      local count = 0
      for _ in io.lines("examples/rl/" .. name .. ".lua") do count = count + 1 end
      assert.is_true(count <= 80, name)
    end
  end)

  for name, least in pairs(wanted) do
    for seed = 10, 12 do
      it(("#long learns: %s, seed %d"):format(name, seed), function()
        local _, rows = run(name, "--seed " .. seed)
        local returns, sum = rows["return"]:totable(), 0
        for k = #returns - 19, #returns do sum = sum + returns[k] / 20 end
        assert.is_true(sum >= least, ("%s: %.1f"):format(name, sum))
      end)
    end
  end

  it("#long trains a population with settings of its own", function()
    local out = run("population", "--seeds 3 --iterations 20")
    for k = 0, 2 do
      assert.truthy(out:find(("member %d  lr 0.%%d+  entropy 0.%%d+  return %%d"):format(k)))
    end
  end)
end)

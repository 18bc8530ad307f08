-- V-trace and Retrace against sums of the papers in NumPy; what a truncation is worth.
local tempo = require "tempo"
local helper = require "spec.helper"
local data = require "spec.fixtures.returns"
local rl, same = tempo.rl, helper.same

describe("returns of another policy's steps", function()
  local out
  setup(function()
    local P = tempo.program()
    local b, t = P:dim "b", (P:dim "t")
    local x = { time = t }
    for _, name in ipairs { "reward", "value", "next_value", "log_ratio" } do
      x[name] = P:input(name, { domain = { b, t } })
    end
    for _, name in ipairs { "terminated", "truncated" } do
      x[name] = P:input(name, { domain = { b, t }, dtype = "bool" })
    end
    local outputs = {}
    local function add(key, name, traj, more)
      local o = { gamma = data.gamma, value = x.value, next_value = x.next_value,
        log_ratio = x.log_ratio }
      for k, v in pairs(more) do o[k] = v end
      outputs[key .. ".advantage"], outputs[key .. ".target"] = rl[name](traj, o)
    end
    for k, case in ipairs(data.cases) do add(tostring(k), case[1], x, case[2]) end
    -- the mistake: a truncation as a termination
    local wrong = { time = t, reward = x.reward, terminated = x.terminated:lor(x.truncated) }
    for _, name in ipairs { "vtrace", "retrace" } do
      add(name, name, x, {})
      add(name .. ".wrong", name, wrong, {})
    end
    local given = {}
    for name in pairs(x) do
      if name ~= "time" then given[name] = data[name] end
    end
    out = helper.run(P, outputs, given, { B = data.B, T = data.T })
  end)

  for k, case in ipairs(data.cases) do
    it(("%s, case %d, is the paper's sum"):format(case[1], k), function()
      same(case[3], out[k .. ".advantage"])
      same(case[4], out[k .. ".target"])
    end)
  end

  it("are off by gamma V where a truncation is taken for a termination", function()
    local seen = 0
    for b, row in ipairs(data.truncated) do
      for t, truncated in ipairs(row) do
        if truncated then
          seen = seen + 1
          local off = data.gamma * data.next_value[b][t]
          local rho = math.min(1, math.exp(data.log_ratio[b][t]))
          for name, factor in pairs { vtrace = rho, retrace = 1 } do
            local right, wrong = out[name .. ".target"], out[name .. ".wrong.target"]
            same(factor * off, right[b][t] - wrong[b][t])
          end
        end
      end
    end
    assert.is_true(seen >= 3)
  end)

  it("on-policy, both are generalised advantages with lambda 1, and options are checked", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = t:value():to "f32"
    local traj = { time = t, reward = x, terminated = x:eq(3) }
    local o = { gamma = 0.5, value = x * 2, next_value = x * 2 + 2, log_ratio = 0 * x }
    local a, v = rl.vtrace(traj, o)
    local c, q = rl.retrace(traj, o)
    o.log_ratio, o.lambda = nil, 1
    local b, w = rl.gae(traj, o)
    local got = helper.run(P, { a = a, v = v, b = b, w = w, c = c, q = q }, {}, { T = 7 })
    same({ got.b, got.w }, { got.a, got.v })
    same({ got.b, got.w }, { got.c, got.q })
    for _, name in ipairs { "vtrace", "retrace" } do
      helper.fails(function() return (rl[name](traj, o)) end, "option", "log_ratio is missing")
      helper.fails(function()
        return (rl[name](traj, { log_ratios = x }))
      end, "option", "'log_ratio'")
    end
  end)
end)

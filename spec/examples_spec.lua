-- Every example runs, quickly, in a process of its own, and prints what it should.
local helper = require "spec.helper"

local run = helper.example

local function has(out, ...)
  for _, text in ipairs { ... } do
    if not out:find(text, 1, true) then error(("no %q in:\n%s"):format(text, out), 2) end
  end
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  return text
end

-- A folder of this spec's own, gone afterwards.
local function with_folder(f)
  local path = os.tmpname()
  os.remove(path)
  local ok, e = pcall(f, path)
  os.execute("rm -rf '" .. path .. "'")
  if not ok then error(e, 0) end
end

-- metrics.csv has these columns and so many rows.
local function has_metrics(folder, columns, rows)
  local text = read(folder .. "/metrics.csv")
  assert.equal(columns, text:match "^[^\n]*")
  assert.equal(rows, select(2, text:gsub("\n%d", "")))
end

describe("example", function()
  it("conv_shapes learns", function()
    local out = run("conv_shapes", "--quiet --iterations 120 --batch 48")
    local accuracy = tonumber(out:match "iterations (%d%.%d+)")
    assert.is_true(accuracy > 0.8, out)
  end)

  it("game_loop learns behind its actor", function()
    with_folder(function(path)
      local out = run("game_loop", "--quiet --iterations 60 --budget 0 --out " .. path)
      local first, last = out:match "light (%d%.%d+), after 60 windows (%d%.%d+)"
      assert.is_true(tonumber(last) < tonumber(first) / 2, out)
      local metrics = read(path .. "/metrics.csv")
      assert.truthy(metrics:find("iteration,distance,late_frames,behind\n0,", 1, true))
      -- always as far behind as the actor allows
      assert.equal("2", metrics:match "\n40,[^,]*,%d+,(%d+)\n")
    end)
  end)

  it("prefix_sums", function()
    has(run "prefix_sums", "prefix   \t3 4 8 9 14", "forward  \t3 4 8 9 14",
      "suffix   \t14 11 10 6 5", "backward \t14 11 10 6 5", "suffix   \t37 35 28 27 19 17 9 8")
  end)

  it("evolution", function()
    has(run("evolution", "--steps 15"), "[480. 600. 720.]",
      "z along t = {0,+,-11,+,-26,+,-22,+,-6}", "[987 610]",
      "elements made for 100000 steps: 13, one by one 900,012")
  end)

  it("fibonacci", function()
    has(run("fibonacci", "--steps 12"), "0 1 1 2 3 5 8 13 21 34 55 89\n", "190392490709135")
  end)

  it("edit_distance", function()
    local out = run "edit_distance"
    has(out, "6 6 5 4 3 3 2 3")
    assert.equal("3", out:match "kitten%s+sitting%s+(%d+)")
    assert.equal("3", out:match "saturday%s+sunday%s+(%d+)")
    assert.equal("0", out:match "tempo%s+tempo%s+(%d+)")
    assert.equal("3", out:match "abc%s+(%d+)")
  end)

  it("running_statistics: the same work a step however many steps", function()
    local out = run "running_statistics"
    has(out, "mean      \t3 2 2.667 2.25 2.8 3.833 3.571 3.875",
      "deviation \t0 1 1.247 1.299 1.6 2.734 2.611 2.571",
      "highest   \t3 3 4 4 5 9 9 9", "recent    \t3 3 4 4 5 9 9 9",
        "ahead     \t31 28 27 23 22 17 8 6")
    local steps = {}
    for with, without in out:gmatch "T = +%d+ +(%d+) +(%d+)\n" do
      steps[#steps + 1] = { tonumber(with), tonumber(without) }
    end
    assert.is_true(steps[3][1] <= steps[1][1] and steps[3][2] > 20 * steps[1][2], out)
  end)

  it("sliding_mean", function()
    has(run "sliding_mean", "w =   1:\t1 2 3 4 5 6 7 8 9 10", "w =   3:\t1 1.5 2 3 4 5 6 7 8 9",
      "w = 100:\t1 1.5 2 2.5 3 3.5 4 4.5 5 5.5")
  end)

  it("export_policy", function()
    has(run "export_policy", "frame 4: action",
      "5 frames, the same actions; logits are apart by less than 1e-6")
  end)

  it("causal_attention", function() has(run "causal_attention", "equal") end)

  it("forward_backward", function()         -- the numbers of Wikipedia's article on the algorithm
    local out = run "forward_backward"
    for day, want in ipairs { { "0.8182", "0.8673" }, { "0.8834", "0.8204" },
      { "0.1907", "0.3075" }, { "0.7308", "0.8204" }, { "0.8673", "0.8673" } } do
      local filtered, smoothed = out:match(("\n%%s*%d%%s+%%a+%%s+(%%S+)%%s+(%%S+)"):format(day))
      assert.equal(want[1], filtered)
      assert.equal(want[2], smoothed)
    end
  end)

  it("sgd_recurrence", function()
    local a, b, c = run "sgd_recurrence":match "w = (%S+) (%S+) (%S+) %(made"
    helper.same({ 2, -3, 0.5 }, { tonumber(a), tonumber(b), tonumber(c) }, 0.01)
  end)

  it("rnn_bptt", function()
    local first, last = run("rnn_bptt", "--iterations 120 --steps 10 --batch 16 --quiet")
      :match "loss (%S+) %-> (%S+)"
    assert.is_true(tonumber(first) > 0.2 and tonumber(last) < 0.1)
  end)

  it("state_space", function()
    local first, last = run("state_space", "--quiet"):match "loss (%S+) %-> (%S+)"
    assert.is_true(tonumber(first) > 0.2 and tonumber(last) < 0.02)
  end)

  it("long_sequence keeps to its limit, with the numbers of a run without one", function()
    local out = run("long_sequence", "--steps 3000 --memory 2MiB --iterations 3")
    local plain, taken = out:match "3000 steps: (%S+) MiB without a limit, (%S+) MiB of 2MiB"
    assert.is_true(tonumber(plain) > 4 and tonumber(taken) <= 2, out)
    has(out, "state, row by row of t, at most")
    local free = run("long_sequence", "--steps 3000 --memory 1GiB --iterations 3")
    assert.is_nil(free:find "in a file")
    assert.equal(free:match "iteration  2  loss (%S+)", out:match "iteration  2  loss (%S+)")
  end)

  it("bidirectional_rnn", function()
    local one, both = run("bidirectional_rnn",
      "--iterations 100 --quiet"):match "forwards only (%S+), both ways (%S+)"
    assert.is_true(tonumber(both) < 0.3 * tonumber(one))
  end)

  it("nested_training", function()
    local a, c = run("nested_training", "--quiet"):match "a = (%S+), c = (%S+)"
    helper.same({ 0.8, 0.5 }, { tonumber(a), tonumber(c) }, 0.02)
  end)

  it("going_on goes on: the state as one run, parameters with a seed of their own", function()
    with_folder(function(folder)
      local at = " --quiet --checkpoint " .. folder .. "/state --params " .. folder
        .. "/params.npz --out " .. folder .. "/"
      local function rows(name, args)
        run("going_on", args .. at .. name)
        return read(folder .. "/" .. name .. "/metrics.csv"):match "\n(.*)$"
      end
      -- the parameters saved by `part`, no state
      local function fresh(name, args)
        os.execute("cp " .. folder .. "/part.npz " .. folder .. "/params.npz; rm -f " .. folder
          .. "/state")
        return rows(name, args)
      end
      local whole = rows("whole", "--iterations 50")
      os.execute("rm -f " .. folder .. "/params.npz")
      for _, tier in ipairs { "interpreter", "reference" } do
        local first = rows("first" .. tier, "--iterations 40 --stop 20 --tier " .. tier)
        os.execute("cp " .. folder .. "/params.npz " .. folder .. "/part.npz")
        -- the bound was 40
        local rest = rows("rest" .. tier, "--iterations 50 --tier " .. tier)
        if tier == "interpreter" then assert.equal(whole, first .. rest) end
        local function column(text, k)
          local out = {}
          for line in text:gmatch "[^\n]+" do
            out[#out + 1] = tonumber((line:match(("[^,]*,"):rep(k - 1) .. "([^,]*)")))
          end
          return out
        end
        helper.same(column(whole, 2), column(first .. rest, 2), 1e-4)
        local again, anew = fresh("again", "--iterations 20 --tier " .. tier),
          fresh("anew", "--seed 1 --iterations 20 --tier " .. tier)
        -- the same batches once more, but learnt from
        assert.same(column(first, 3), column(again, 3))
        assert.is_true(column(again, 2)[1] < 0.2 * column(first, 2)[1])
        for k, drawn in ipairs(column(anew, 3)) do
          assert.are_not.equal(column(first, 3)[k], drawn)
        end
        assert.is_true(column(anew, 2)[1] < 0.2 * column(first, 2)[1])
        os.execute("rm -f " .. folder .. "/state " .. folder .. "/params.npz")
      end
    end)
  end)

  it("maml_sinusoid: five steps fit a new task", function()
    local out = run("maml_sinusoid", "--iterations 200")
    local before, after = out:match "iteration  199  loss before the steps (%S+), after them (%S+)"
    assert.is_true(tonumber(before) > 2.5 and tonumber(after) < 0.4 * tonumber(before), out)
  end)

  it("dqn_cartpole learns, and ends when it is solved", function()
    with_folder(function(folder)
      local out = run("dqn_cartpole", "--seed 4 --iterations 6 --quiet --out " .. folder)
      local score, iterations = out:match "mean return (%S+) after (%d+) iterations"
      assert.is_true(tonumber(score) > 150, out)
      assert.equal(tonumber(score) < 475 and "6" or iterations, iterations)
      has_metrics(folder, "iteration,return,episodes,seconds", tonumber(iterations))
      out = run("dqn_cartpole", "--solved 5 --iterations 6 --steps 200 --out " .. folder)
      has(out, "iteration   0  return", "after 1 iterations of 200 steps of 8 environments")
    end)
  end)

  it("episodes", function()
    with_folder(function(folder)
      local first, last, long,
        short = run("episodes", "--quiet --out "
        .. folder):match "home: (%d+) %% at first, (%d+) %% at last; (%S+) and (%S+) steps"
      assert.is_true(tonumber(first) < 40 and tonumber(last) > 90)
      assert.is_true(tonumber(short) < 0.5 * tonumber(long))
      assert.equal("iteration,score,home,length", read(folder .. "/metrics.csv"):match "^[^\n]*")
    end)
  end)

  it("those that train write metrics.csv where --out says", function()
    for name, columns in pairs { rnn_bptt = "iteration,loss", long_sequence = "iteration,loss",
      sgd_recurrence = "iteration,loss",
        bidirectional_rnn = "iteration,forwards,both",
          nested_training = "iteration,before,after,a,c",
        maml_sinusoid = "iteration,before,after" } do
      with_folder(function(folder)
        run(name, "--seed 1 --iterations 3 --quiet --out " .. folder)
        has_metrics(folder, columns, 3)
      end)
    end
  end)

  it("says at once when it cannot write", function()
    for _, option in ipairs { "--out", "--checkpoint" } do
      local ok, e = pcall(with_folder, function(folder)
        run("reinforce_cartpole", "--iterations 1 --out " .. folder .. " " .. option
          .. " /proc/none")
      end)
      assert.is_false(ok)
      has(e, "reinforce_cartpole.lua:", "file", "'/proc/none")
      assert.is_nil(e:find("iteration   0", 1, true))
    end
  end)

  it("ppo_cartpole learns", function()
    with_folder(function(folder)
      local out = run("ppo_cartpole", "--seed 1 --iterations 60 --quiet --out " .. folder)
      assert.is_true(tonumber(out:match "iterations ([%d.]+),") > 60, out)
      has_metrics(folder, "iteration,return,steps_per_second,seconds", 60)
    end)
  end)

  it("reinforce_cartpole saves what play_cartpole plays", function()
    with_folder(function(folder)
      local args = "--seed 1 --iterations 4 --envs 4 --steps 40 --hidden 8 --out " .. folder
      local out = run("reinforce_cartpole", args)
      has(out, "iteration   0  return", "iteration   3  return", "steps/s",
        "mean return of the last 4 of 4")
      local rows = {}
      for line in read(folder .. "/metrics.csv"):gmatch "[^\n]+" do rows[#rows + 1] = line end
      assert.equal("iteration,return,steps_per_second,seconds", rows[1])
      assert.equal(5, #rows)
      for k = 2, 5 do
        local i, score, speed, seconds = rows[k]:match "^(%d+),([^,]+),([^,]+),([^,]+)$"
        assert.equal(k - 2, tonumber(i))
        assert.is_true(tonumber(score) >= 8 and tonumber(score) <= 40)
        assert.is_true(tonumber(speed) > 0 and tonumber(seconds) >= 0)
      end
      out = run("play_cartpole", "--episodes 2 --show 10 --checkpoint " .. folder .. "/checkpoint")
      has(out, "episode 1: return", "episode 2: return", "mean return", "step   0")
    end)
  end)

  it("reinforce_cartpole gives the same numbers twice, and others with n-step returns", function()
    with_folder(function(folder)
      local function returns(args)
        run("reinforce_cartpole",
          "--seed 2 --iterations 3 --envs 2 --steps 60 --hidden 4 --quiet --out " .. folder .. args)
        local column = {}
        for score in read(folder .. "/metrics.csv"):gmatch "\n%d+,([^,]+)" do
          column[#column + 1] = score
        end
        assert.equal(3, #column)
        return column
      end
      local once = returns ""
      assert.same(once, returns "")
      -- the first iteration has learnt nothing yet
      assert.equal(once[1], returns(" --nstep 5")[1])
      assert.are_not.same(once, returns " --seed 3")
    end)
  end)

  it("reinforce_cartpole learns", function()
    with_folder(function(folder)
      run("reinforce_cartpole", "--seed 1 --iterations 14 --envs 16 --steps 200 --quiet --out "
        .. folder)
      local first, last
      for score in read(folder .. "/metrics.csv"):gmatch "\n%d+,([^,]+)" do
        first, last = first or tonumber(score), tonumber(score)
      end
      assert.is_true(first < 30 and last > 60, ("%s -> %s"):format(first, last))
    end)
  end)
end)

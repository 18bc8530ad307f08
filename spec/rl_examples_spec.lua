-- The examples of examples/rl: each runs and writes its metrics; the returns of three seeds on which
-- nothing was tuned are in the long tests.
local lua = jit and "luajit" or "lua5.4"
local paths = ("LUA_PATH='%s' LUA_PATH_5_4='%s' LUA_CPATH='%s' LUA_CPATH_5_4='%s'")
  :format(package.path, package.path, package.cpath, package.cpath)

-- What the example prints, and its metrics.csv as a list of rows without the first.
local function run(name, args)
  local out = os.tmpname()
  os.remove(out)
  local pipe = io.popen(("%s %s examples/rl/%s.lua --quiet --out %s %s 2>&1; echo \"status $?\"")
    :format(paths, lua, name, out, args))
  local text, rows = pipe:read "*a", {}
  pipe:close()
  if not text:find "status 0%s*$" then error(name .. ":\n" .. text, 2) end
  for line in io.lines(out .. "/metrics.csv") do
    local row = {}
    for cell in line:gmatch "[^,]+" do row[#row + 1] = tonumber(cell) end
    rows[#rows + 1] = row
  end
  table.remove(rows, 1)
  os.execute("rm -rf '" .. out .. "'")
  return text, rows
end

-- The mean return of the last n stretches.
local function mean(rows, n)
  local sum = 0
  for k = #rows - n + 1, #rows do sum = sum + rows[k][2] end
  return sum / n
end

describe("example", function()
  it("evolution_strategies learns", function()
    local _, rows = run("evolution_strategies", "--iterations 20")
    assert.equal(20, #rows)
    assert.is_true(mean(rows, 3) > 2 * rows[1][2], rows[1][2] .. ", " .. mean(rows, 3))
  end)

  it("population_pruning halves the members and their memory", function()
    local _, rows = run("population_pruning", "--iterations 4 --members 4 --envs 4 --steps 16")
    local members, bytes = {}, {}
    for k, row in ipairs(rows) do members[k], bytes[k] = row[2], row[3] end
    assert.same({ 4, 2, 1 }, members)
    assert.is_true(bytes[2] < 0.8 * bytes[1] and bytes[3] < 0.8 * bytes[2])
  end)

  local few = "--iterations 2 --hidden 8 --tier interpreter --envs 2 --steps "
  local small = { dqn = few .. "250 --warmup 20 --batch 16", sac = few .. "210 --warmup 20 --batch 8",
    td3 = few .. "210 --warmup 20 --batch 8", impala = few .. "10 --unroll 8",
    self_play = few .. "5 --unroll 40 --rivals 1 --every 3" }
  for name, args in pairs(small) do
    it(name .. " runs", function()
      local _, rows = run(name, args)
      assert.equal(2, #rows)
    end)
  end

  -- Returns that the papers and libraries reach: CartPole is solved at 475, Pendulum is swung up and
  -- held at about -150 on average.
  for _, seed in ipairs { 1, 2, 3 } do
    for _, name in ipairs { "dqn", "impala", "evolution_strategies" } do
      it(("%s solves CartPole, seed %d #long"):format(name, seed), function()
        local _, rows = run(name, "--seed " .. seed)
        assert.is_true(rows[#rows][2] >= 475, "" .. rows[#rows][2])
      end)
    end
    for _, name in ipairs { "sac", "td3" } do
      it(("%s holds the pendulum up, seed %d #long"):format(name, seed), function()
        local _, rows = run(name, "--seed " .. seed)
        assert.is_true(mean(rows, 4) > -200, "" .. mean(rows, 4))
      end)
    end
    it(("self_play beats a player who moves at random, seed %d #long"):format(seed), function()
      local _, rows = run("self_play", "--seed " .. seed)
      assert.is_true(rows[#rows][2] > 0.6, "" .. rows[#rows][2])
    end)
  end
end)

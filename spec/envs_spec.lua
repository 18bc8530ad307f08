-- Environments by name: each of ours on every tier, libraries that scripts load, Lua functions.
-- Steps of ours are judged by spec/c/env_test.c.
local tempo = require "tempo"
local helper = require "spec.helper"
local rl = tempo.rl
local unpack = table.unpack or unpack       -- luacheck: globals unpack

local function rollout(id, P, n)
  local b, t = P:dim("b", "B"), (P:dim("t", "T"))
  local env = rl.env(P, id, { domain = { b, t }, time = t })
  local actions = rl.envs[id] and rl.envs[id].actions or n
  local o = { domain = { b, t }, name = "action" }
  local action = type(actions) == "number" and tempo.randint({}, 0, actions, o)
    or tempo.normal(actions, o)
  env:step(action)
  return { obs = env.obs, next_obs = env.next_obs, reward = env.reward, terminated = env.terminated,
    truncated = env.truncated, state = env.state }, action
end

describe("environments of ours", function()
  -- that all tiers agree is what helper.run sees to
  local function agrees(id, T, n)
    local P = tempo.program { seed = 11 }
    local outputs = rollout(id, P, n)
    return helper.run(P, outputs, {}, { B = 2, T = T })
  end
  local shapes = { ["CartPole-v1"] = { 4 }, ["Pendulum-v1"] = { 3 }, ["Acrobot-v1"] = { 6 },
    ["MountainCar-v0"] = { 2 }, ["MountainCarContinuous-v0"] = { 2 }, ["Catch-v0"] = { 10, 5 },
    ["GridWorld-v0"] = { 8, 8, 2 }, ["TMaze-v0"] = { 3 }, ["Synthetic-v0"] = { 84, 84, 3 },
    ["MinAtar/Asterix-v0"] = { 10, 10, 4 }, ["MinAtar/Breakout-v0"] = { 10, 10, 4 },
    ["MinAtar/Freeway-v0"] = { 10, 10, 7 }, ["MinAtar/Seaquest-v0"] = { 10, 10, 10 },
    ["MinAtar/SpaceInvaders-v0"] = { 10, 10, 6 } }

  it("have their shapes, numbers of actions and limits", function()
    for id, shape in pairs(shapes) do
      assert.same(shape, rl.envs[id].observation, id)
      local P = tempo.program()
      local t = P:dim "t"
      assert.same(shape, rl.env(P, id, { domain = { t }, time = t }).obs:shape(), id)
    end
    assert.same({ observation = { 4 }, actions = 2, max_steps = 500, uniforms = 4,
      reset_uniforms = 4 },
      rl.envs["CartPole-v1"])
    assert.same({ 1 }, rl.envs["Pendulum-v1"].actions)
    for game, n in pairs { Asterix = 5, Breakout = 3, Freeway = 3, Seaquest = 6,
      SpaceInvaders = 4 } do
      assert.equal(6, rl.envs["MinAtar/" .. game .. "-v0"].actions)
      assert.equal(n, rl.envs["MinAtar/" .. game .. "-v1"].actions)
    end
  end)

  it("give the same on every tier", function()
    agrees("Pendulum-v1", 5)
    agrees("Synthetic-v0:3x2x5", 5, 2)
    agrees("MinAtar/Breakout-v1", 30)
  end)

  it("give the same on every tier, the others #long", function()
    for id in ("Acrobot-v1 MountainCar-v0 MountainCarContinuous-v0"):gmatch "%S+" do
      agrees(id, 14)
    end
    agrees("TMaze-v0:2", 14, 3)
    for game in ("Asterix Breakout Freeway Seaquest SpaceInvaders"):gmatch "%a+" do
      agrees("MinAtar/" .. game .. "-v1", 40)
    end
    agrees("Synthetic-v0", 3)
  end)

  -- Boards against their definitions, in plain Lua.
  it("catch, walk and remember by their rules", function()
    local out = agrees("Catch-v0:4x3", 20, 3)
    for b = 1, 2 do
      for t = 1, 20 do
        local ball, seen = out.state[b][t], out.obs[b][t]
        local want = {}
        for y = 1, 4 do
          want[y] = {}
          for x = 1, 3 do
            want[y][x] = (y == ball[2] + 1 and x == ball[1] + 1 or y == 4 and x == ball[3] + 1)
              and 1 or 0
          end
        end
        assert.same(want, seen)
        -- three rows are fallen through
        local ends = t % 3 == 0
        assert.equal(ends, out.terminated[b][t])
        assert.equal(ends and 1 or 0, math.abs(out.reward[b][t]))
      end
    end
    out = agrees("GridWorld-v0:2x3", 30, 4)
    for b = 1, 2 do
      for t = 1, 29 do
        local s, n = out.state[b][t], out.state[b][t + 1]
        assert.is_true(s[1] ~= s[2] and s[1] < 6 and s[2] < 6)
        local cut = out.truncated[b][t]
        if not out.terminated[b][t] and not cut then
          local dx, dy = n[1] % 3 - s[1] % 3, math.floor(n[1] / 3) - math.floor(s[1] / 3)
          assert.is_true(math.abs(dx) + math.abs(dy) <= 1)
          assert.same({ s[2], s[3] + 1 }, { n[2], n[3] })
        end
        assert.equal(out.terminated[b][t] and 1 or 0, out.reward[b][t])
        assert.equal(s[3] == 11, cut)
      end
    end
    local P = tempo.program()
    local t = P:dim("t", "T")
    local env = rl.env(P, "TMaze-v0:3", { domain = { t }, time = t })
    local way = P:input("way", { domain = { t }, dtype = "i64" })
    env:step(way)
    local cue = helper.value(P, env.obs, { way = { 0 } }, { T = 1 })[1][1]
    local right, wrong = cue == 1 and 1 or 2, cue == 1 and 2 or 1
    local f = helper.run(P, { obs = env.obs, reward = env.reward, done = env.terminated },
      { way = { 0, 2, 0, 0, 0, right } }, { T = 6 })
    assert.same({ { cue, 1, 0 }, { 0, 1, 0 }, { 0, 1, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 0, 0, 1 } },
      f.obs)
    helper.same({ 0, -0.1, 0, 0, -0.1, 1 }, f.reward)
    assert.same({ false, false, false, false, false, true }, f.done)
    helper.same(-1, helper.value(P, env.reward, { way = { 0, 0, 0, wrong } }, { T = 4 })[4])
  end)

  it("draw for a reset only where there is one: no draw is made before", function()
    local P = tempo.program()
    local outputs = rollout("CartPole-v1", P)
    local f = P:compile { outputs = outputs, tier = "native" }
    local code, plan = f:explain "code", f:explain "plan"
    assert.truthy(plan:find 'op env_step {str "CartPole%-v1", hash 0x')
    assert.truthy(code:find "if %(v%d%[0%] | v%d%[0%]%) {\n%s*double u%[4%]"
      or code:find "if %(v%d%[0%] | v%d%[0%]%) {\n%s*uint32_t shared")
    -- the numbers are those of the draw that was written, as without the pass
    for _, tier in ipairs { "interpreter", "native" } do
      local a = P:compile { outputs = outputs, tier = tier }({}, { B = 3, T = 60 })
      local b = P:compile { outputs = outputs, tier = tier, passes = { draws = false } }({},
        { B = 3, T = 60 })
      helper.same(b.state:totable(), a.state:totable(), 0)
    end
  end)

  it("are exported as C without a warning, whichever numbers they take #long", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir -p " .. folder))
    for id, n in pairs { ["MinAtar/SpaceInvaders-v1"] = 4, ["Catch-v0:4x3"] = 3 } do
      local P = tempo.program()
      local f = P:compile { outputs = rollout(id, P, n), tier = "native" }
      f:export(folder .. "/agent", { B = 2, T = 5 })
      local cc = "cc -std=c99 -Wall -Wextra -Werror -pedantic -O0 -c -o %s/agent.o %s/agent.c"
      assert.truthy(os.execute(cc:format(folder, folder)), id)
    end
    os.execute("rm -r " .. folder)
  end)

  it("refuse an id's numbers that they do not take", function()
    local P = tempo.program()
    local t = P:dim "t"
    for _, id in ipairs { "CartPole-v1:3", "Catch-v0:1", "Catch-v0:", "Synthetic-v0:4x5x6x7",
      "Catch-v0:4xx5" } do
      helper.fails(function() rl.env(P, id, { domain = { t }, time = t }) end, "option",
        "unknown environment '" .. id .. "'")
    end
  end)
end)

describe("libraries of environments", function()
  local folder = os.tmpname()
  os.remove(folder)
  folder = folder .. "_envs"

  local function build(name, source)
    local path = folder .. "/" .. name
    local cc = "mkdir -p %s && cc -shared -fPIC -O1 -Wall -Wextra -Werror -Iinclude %s -o %s"
    assert(os.execute(cc:format(folder, source, path)))
    return path
  end
  local function text(name, s)
    assert(os.execute("mkdir -p " .. folder))
    local f = assert(io.open(folder .. "/" .. name, "w"))
    f:write(s)
    f:close()
    return folder .. "/" .. name
  end
  teardown(function() os.execute("rm -rf " .. folder) end)

  it("are loaded by path, again too, and stepped like ours", function()
    local path = build("corridor.so", "examples/c/envs/corridor.c")
    assert.is_nil(rl.envs["Corridor-v0"])
    assert.same({ "Corridor-v0", "Drift-v0" }, rl.load_env(path))
    assert.same({ "Corridor-v0", "Drift-v0" }, rl.load_env(path))
    assert.same({ observation = { 1 }, actions = { 1 }, max_steps = 50, uniforms = 2,
      reset_uniforms = 1 },
      rl.envs["Drift-v0"])
    local P = tempo.program { seed = 4 }
    local b, t = P:dim("b", "B"), (P:dim("t", "T"))
    local env = rl.env(P, "Corridor-v0", { domain = { b, t }, time = t })
    local way = tempo.randint({}, 0, 2, { domain = { b, t }, name = "way" })
    env:step(way)
    local out = helper.run(P, { way = way, obs = env.obs, reward = env.reward,
      terminated = env.terminated,
      truncated = env.truncated }, {}, { B = 3, T = 25 })
    for row = 1, 3 do
      local x, n = 0, 0
      for k = 1, 25 do
        local seen = {}
        for j = 1, 7 do seen[j] = j - 4 == x and 1 or 0 end
        assert.same(seen, out.obs[row][k])
        x, n = x + (out.way[row][k] == 1 and 1 or -1), n + 1
        assert.same({ x >= 3 and 1 or 0, math.abs(x) >= 3, n >= 6 },
          { out.reward[row][k], out.terminated[row][k], out.truncated[row][k] })
        if math.abs(x) >= 3 or n >= 6 then x, n = 0, 0 end
      end
    end
    P = tempo.program { seed = 4 }
    local outputs, action = rollout("Drift-v0", P)
    outputs.action = action
    out = helper.run(P, outputs, {}, { B = 2, T = 30 })
    P = tempo.program { seed = 4 }
    b, t = P:dim("b", "B"), (P:dim("t", "T"))
    local u = tempo.uniform({ 2 }, { dtype = "f64", domain = { b, t }, name = "env.reset" })
    out.u = helper.value(P, u, {}, { B = 2, T = 30 })
    for k = 1, 29 do
      local s, a, v = out.state[2][k], out.action[2][k][1], out.u[2][k]
      local x, n = s[1] + a + 0.1 * (2 * v[1] - 1), s[2] + 1
      local over = math.abs(x) > 4
      assert.equal(over, out.terminated[2][k])
      helper.same(over and { 2 * v[2] - 1, 0 } or { x, n }, out.state[2][k + 1])
    end
  end)

  it("say which actions are legal", function()
    local path = build("tictactoe.so", "examples/c/envs/tictactoe.c")
    local id = rl.load_env(path)[1]
    assert.is_true(rl.envs[id].masked)
    assert.same({ 18 }, rl.envs[id].observation)
    local P = tempo.program { seed = 2 }
    local b, t = P:dim("b", "B"), (P:dim("t", "T"))
    local env = rl.env(P, id, { domain = { b, t }, time = t })
    local zero = tempo.zeros({ 9 }, { domain = { b, t } })
    local pick = tempo.dist.Categorical { logits = zero, mask = env.legal }
    local action = pick:sample { name = "cell" }
    env:step(action)
    local f = P:compile { outputs = { obs = env.obs, legal = env.legal, action = action,
      done = env.done, reward = env.reward, next_obs = env.next_obs, next_legal = env.next_legal },
      tier = "native" }
    local arrays, out = f({}, { B = 20, T = 30 }), {}
    for k, v in pairs(arrays) do out[k] = v:totable() end
    local games = 0
    for row = 1, 20 do
      for k = 1, 30 do
        for cell = 1, 9 do
          local function free(obs) return obs[row][k][cell] + obs[row][k][9 + cell] == 0 end
          assert.equal(free(out.obs), out.legal[row][k][cell])
          assert.equal(free(out.next_obs), out.next_legal[row][k][cell])
        end
        local a = out.action[row][k] + 1
        assert.is_true(out.legal[row][k][a])
        assert.equal(1, out.next_obs[row][k][a])
        games = games + (out.done[row][k] and 1 or 0)
      end
    end
    assert.is_true(games > 100)
    local none = text("uncounted.c", "#include <tempo_env.h>\nstatic const tempo_env e[] = { { .name = "
      .. '"None-v0", .nstate = 1, .shape = { 1 }, .nact = 1, .masked = 1 } };\n'
      .. "const tempo_env_list tempo_envs = { TEMPO_ENV_VERSION, 1, e };")
    helper.fails(function() rl.load_env(build("uncounted.so", none)) end, "option", "have a mask")
    local dir = folder .. "/masked"
    local said = helper.lua("examples/rl/ppo_masked.lua --iterations 40 --quiet --library " .. path
      .. " --out " .. dir)
    local last
    for line in io.lines(dir .. "/metrics.jsonl") do last = line end
    assert.is_true(tonumber(last:match '"return":(%-?[%d.]+)') > 0.6, said)
  end)

  it("are refused with the line of the script", function()
    local function refused(class, path, ...)
      helper.fails(function() rl.load_env(path) end, class, ...)
    end
    refused("file", folder .. "/none.so", "none.so")
    refused("file", text("words.so", "no library"), "words.so")
    local nothing = text("nothing.c", "int x;")
    refused("file", build("nothing.so", nothing), "has no 'tempo_envs'")
    local old = text("old.c",
      '#include <tempo_env.h>\nconst tempo_env_list tempo_envs = { 99, 0, 0 };')
    refused("file", build("old.so", old), "is of version 99 of tempo_env.h, needs 2")
    local empty = text("empty.c", [[#include <tempo_env.h>
      static const tempo_env e[] = { { .name = "Empty-v0" } };
      const tempo_env_list tempo_envs = { TEMPO_ENV_VERSION, 1, e };]])
    refused("option", build("empty.so", empty), "environment 'Empty-v0'")
    local lines = assert(io.open "examples/c/envs/corridor.c"):read "*a"
    lines = lines:gsub("Corridor%-v0", "Other-v0"):gsub("Drift%-v0", "CartPole-v1")
    local taken = text("taken.c", lines)
    refused("option", build("taken.so", taken), "there is an environment 'CartPole-v1' already")
    -- all of a library, or nothing
    assert.is_nil(rl.envs["Other-v0"])
    helper.fails(function() rl.load_env(3) end, "option", "path")
    assert.is_nil(rl.envs["Empty-v0"])
  end)
end)

describe("environments in Lua", function()
  -- A walk on a line with a drift that is drawn, over 3 and under -3 it ends; at base: lists begin
  -- at 1, pointers at 0.
  local function walk(base)
    return function(s, u) s[base], s[base + 1] = u[base] - 0.5, 0 end, function(s, a, u)
      s[base], s[base + 1] = s[base] + (a == 1 and 1 or -1) + u[base] - 0.5, s[base + 1] + a
      return s[base] / 4, s[base] > 3 or s[base] < -3, s[base + 1] > 4
    end
  end
  local function game(base, more)
    local reset, step = walk(base)
    local g = { state = 2, actions = 2, uniforms = 1, reset_uniforms = 1, max_steps = 7,
      reset = reset, step = step,
      observation = { 1, 3 },
      observe = function(s, obs) for k = 0, 2 do obs[base + k] = s[base] * k end end }
    for k, v in pairs(more or {}) do g[k] = v end
    return g
  end
  -- The same for n games at once.
  local function batch(base, more)
    local reset, step = walk(base)
    local function part(list, at) return setmetatable({}, {
      __index = function(_, k) return list[at + k] end,
      __newindex = function(_, k, v) list[at + k] = v end })
    end
    return game(base, {
      batch = true,
      reset = function(k, s, u) reset(part(s, k * 3), part(u, k * 2 + 1)) end,
      step = function(n, s, a, u, r, e, c)
        local function number(v)
          if base == 0 then return v and 1 or 0 end
          return v
        end
        for k = 0, n - 1 do
          local reward, over, cut = step(part(s, k * 3), tonumber(a[k + base]), part(u, k * 2))
          r[k + base], e[k + base], c[k + base] = reward, number(over), number(cut)
        end
      end,
      observe = function(n, s, obs)
        for k = 0, n - 1 do for j = 0, 2 do obs[k * 3 + j + base] = s[k * 3 + base] * j end end
      end,
      pointers = more and more.pointers })
  end

  local function played(id, carry)
    local P = tempo.program { seed = 4 }
    local i, b, t = P:dim("i", "I"), P:dim("b", "B"), (P:dim("t", "T"))
    local d = { i, b, t }
    local env = rl.env(P, id, { domain = d, time = t, name = "walk", carry = carry and i or nil })
    local action = tempo.randint({}, 0, 2, { domain = d, name = "action" })
    env:step(action)
    local out = helper.run(P, { obs = env.obs, next_obs = env.next_obs, reward = env.reward,
      state = env.state.numbers,
      done = env.done, truncated = env.truncated, action = action }, {}, { I = 2, B = 3, T = 20 })
    local Q = tempo.program { seed = 4 }
    i, b, t = Q:dim("i", "I"), Q:dim("b", "B"), (Q:dim("t", "T"))
    local o = { dtype = "f64", domain = { i, b, t }, name = "walk.reset" }
    out.u = helper.value(Q, tempo.uniform({ 2 }, o), {}, { I = 2, B = 3, T = 20 })
    return out
  end

  it("go by their functions, on lists and pointers, one by one and many at once", function()
    local first
    local kinds = { { "lists", game(1) }, { "batch", batch(1) } }
    if rawget(_G, "jit") then
      kinds[3] = { "pointers", game(0, { pointers = true }) }
      kinds[4] = { "batch of pointers", batch(0, { pointers = true }) }
    end
    for _, kind in ipairs(kinds) do
      assert.equal("walk " .. kind[1], rl.add_env("walk " .. kind[1], kind[2]))
      local out = played("walk " .. kind[1])
      if first then assert.same(first, out) end
      first = first or out
    end
    local _, step = walk(1)
    local ends = 0
    for i = 1, 2 do
      for b = 1, 3 do
        local s, n
        for t = 1, 20 do
          local function row(name) return first[name][i][b][t] end
          if not n then s, n = { row "state"[1], row "state"[2] }, 0 end
          assert.same({ s[1], s[2], n }, row "state")
          helper.same({ { 0, s[1], 2 * s[1] } }, row "obs")
          local r, over, cut = step(s, row "action", { row "u"[1] })
          n = n + 1
          helper.same(r, row "reward")
          helper.same({ { 0, s[1], 2 * s[1] } }, row "next_obs")
          assert.same({ over or cut or n >= 7, cut or n >= 7 }, { row "done", row "truncated" })
          if row "done" then s, n, ends = { row "u"[2] - 0.5, 0 }, 0, ends + 1 end
        end
      end
    end
    assert.is_true(ends > 10)
    local carried = played("walk lists", true)
    for b = 1, 3 do
      if not carried.done[1][b][20] then
        helper.same(carried.next_obs[1][b][20], carried.obs[2][b][1])
      end
    end
    assert.equal(7, rl.envs["walk lists"].max_steps)
  end)

  it("are the state itself without observe, take vectors, and need no dim but time", function()
    rl.add_env("glide", { state = 1, actions = { 2 }, reset = function(s) s[1] = 0 end,
      step = function(s, a) s[1] = s[1] + a[1] - a[2] return s[1], false end })
    local P = tempo.program()
    local t = P:dim("t", "T")
    local env = rl.env(P, "glide", { domain = { t }, time = t })
    env:step(P:input("a", { domain = { t }, shape = { 2 } }))
    local a = { { 3, 1 }, { 1, 0 }, { 0, 5 } }
    local out = helper.run(P, { r = env.reward, obs = env.obs }, { a = a }, { T = 3 })
    assert.same({ 2, 3, -2 }, out.r)
    assert.same({ { 0 }, { 2 }, { 3 } }, out.obs)
  end)

  it("are refused where something is missing, with the script's line", function()
    local function refused(more, ...)
      local words = { ... }
      helper.fails(function() rl.add_env("refused", game(1, more)) end, "option", unpack(words))
    end
    refused({ state = 0 }, "state is 0")
    refused({ reset = false }, "reset")
    refused({ actions = {} }, "actions has no extents")
    refused({ actions = { 0 } }, "actions: extent 0")
    refused({ steps = 3 }, "unknown option 'steps'")
    refused({ max_steps = 1.5 }, "max_steps is 1.5")
    helper.fails(function() rl.add_env("CartPole-v1", game(1)) end, "option",
      "there is an environment 'CartPole-v1' already")
    if not rawget(_G, "jit") then refused({ pointers = true }, "LuaJIT") end
    rl.add_env("raises", game(1, { step = function() error "no step" end }))
    local P = tempo.program()
    local t = P:dim("t", "T")
    local env = rl.env(P, "raises", { domain = { t }, time = t })
    env:step(tempo.zeros({}, { dtype = "i64" }))
    helper.fails(function() P:compile { outputs = { r = env.reward } }({}, { T = 2 }) end,
      "no step")
  end)

  it("are refused where a function gives what is no number, or more than there is room for",
    function()
    local n = 0
    local function refused(functions, word)
      n = n + 1
      local name = "refused " .. n
      local g = { state = 1, actions = 2, reset = function(s) s[1] = 0 end,
        step = function() return 1, false end }
      for key, v in pairs(functions) do g[key] = v end
      rl.add_env(name, g)
      local P = tempo.program()
      local t = P:dim("t", "T")
      local env = rl.env(P, name, { domain = { t }, time = t })
      env:step(0)
      local f = P:compile { outputs = { r = env.reward, o = env.obs } }
      helper.fails(function() f({}, { T = 2 }) end, "callback", name, word)
    end
    refused({ step = function() end }, "the reward, step's first result, is nil")
    refused({ step = function() return 1, "no" end }, "step's second result is string")
    refused({ reset = function(s) s[1] = "a" end }, "an element of the state is string")
    refused({ reset = function(s) s[1], s[2] = 0, 0 end }, "a state has 1 numbers")
    refused({ observation = { 2 }, observe = function(s, o) o[1] = s[1] end },
      "an element of the observation is nil")
    refused({ observation = { 1 }, observe = function(s, o) o[1], o[2] = s[1], 1 end },
      "an observation has 1 numbers")
  end)
end)

describe("arrays", function()
  it("move all elements at once between a list and an array, and show them by a pointer", function()
    for _, dtype in ipairs { "f32", "f64", "i64", "i32", "u8", "f16", "bf16" } do
      local a = tempo.array({ { 1, 2, 3 }, { 4, 5, 6 } }, dtype)
      local list = { 0, 0, 0, 0, 0, 0, "kept" }
      assert.equal(list, a:copy_to(list))
      assert.same({ 1, 2, 3, 4, 5, 6, "kept" }, list)
      list[2] = 9
      assert.same({ { 1, 9, 3 }, { 4, 5, 6 } }, a:copy_from(list):totable())
      assert.same({ 4, 5, 6 }, a[1]:copy_to())
      a[1]:copy_from { 7, 8, 0 }
      assert.same({ { 1, 9, 3 }, { 7, 8, 0 } }, a:totable())
      if rawget(_G, "jit") and not dtype:find "f16" then
        assert.equal(8, tonumber(a:pointer()[4]))
      end
    end
    local b = tempo.array({ true, false })
    assert.same({ true, false }, b:copy_to())
    assert.same({ false, false }, b:copy_from({ false, false }):totable())
    helper.fails(function() b:copy_from { true } end, "shape",
      "the list has 1 elements, the array 2")
    helper.fails(function() tempo.array { 1 }:copy_from { "x" } end, "copy_from")
    helper.fails(function() tempo.array { 1 }:copy_to(3) end, "option", "a list")
    if not rawget(_G, "jit") then helper.fails(function() b:pointer() end, "option", "LuaJIT") end
    local P = tempo.program()
    local x = P:input "x"
    local y = P:call(function(args) return args[1]:copy_from { 2 } end, { x }, { {} })
    helper.fails(function() P:compile { outputs = { y = y } }({ x = 1 }, {}) end, "callback",
      "read only")
  end)
end)

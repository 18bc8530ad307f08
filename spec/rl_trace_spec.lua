-- rl.trace: recorded games against the games themselves, played in plain Lua with the same draws.
local tempo = require "tempo"
local helper = require "spec.helper"
local rl = require "tempo.rl"

local unpack = table.unpack or unpack       -- luacheck: globals unpack
local names = { "pong", "shooter", "grid", "lander", "breakout" }

-- LuaJIT's compiled code does not see that a local variable of a game's file was changed from
-- outside.
if jit then jit.off() end

-- The cases that are not exact: sin, cos, exp, atan of the libraries differ in the last places.
local tolerance = { lander = 1e-12, functions = 1e-12, ["part 14"] = 1e-12 }

-- ---- the same game in plain Lua -----------------------------------------------------------------

-- math.random of numbers that were drawn already; `u` is a list, taken from `from` on.
local function dealer(u, from)
  return function(lo, hi)
    from = from + 1
    if lo == nil then return u[from] end
    if hi == nil then lo, hi = 1, lo end
    return math.floor(u[from] * (hi - lo + 1)) + lo
  end
end

-- f(...) with math.random as `random`, also where the game's file holds it in a local variable.
local real = math.random
local function dealing(game, random, f, ...)
  local was = {}
  for _, key in ipairs { "reset", "step", "observe" } do
    for k = 1, 60 do
      local name, v = debug.getupvalue(game[key], k)
      if not name then break end
      local inner = type(v) == "function" and debug.getinfo(v, "S").what == "Lua" and v or nil
      for _, at in ipairs { game[key], inner } do
        for j = 1, 60 do
          local n, w = debug.getupvalue(at, j)
          if not n then break end
          if w == real then
            was[#was + 1] = { at, j }
            debug.setupvalue(at, j, random)
          end
        end
      end
    end
  end
  math.random = random                      -- luacheck: ignore
  local out = { pcall(f, ...) }
  math.random = real                        -- luacheck: ignore
  for _, w in ipairs(was) do debug.setupvalue(w[1], w[2], real) end
  assert(out[1], out[2])
  return unpack(out, 2, 8)
end

local function observed(game, g)
  local list = { game.observe(g) }
  if type(list[1]) == "table" then list = list[1] end
  for k, v in ipairs(list) do
    if type(v) == "boolean" then list[k] = v and 1 or 0 end
  end
  return list
end

-- Fields of a state by their paths, "enemies.1.x".
local function flat(t, prefix, out)
  out = out or {}
  for k, v in pairs(t) do
    local path = prefix and prefix .. "." .. tostring(k) or tostring(k)
    if type(v) == "table" then flat(v, path, out) else out[path] = v end
  end
  return out
end

local function play(game, name, out, b, T, actions, tol, max_steps)
  local reset_draws = out.start_draws and out.start_draws[b] or {}
  local g, steps = {}, 0
  dealing(game, dealer(reset_draws, 0), game.reset, g)
  local ends = 0
  for t = 1, T do
    local u = out.draws and out.draws[b][t] or {}
    for path, v in pairs(flat(g)) do
      local got = out.state[path][b][t]
      local same = got == v or got ~= got and v ~= v
      if not same and (tol == 0 or helper.differ(v, got, tol, path)) then
        error(("%s: copy %d, step %d: %s is %s, not %s"):format(name, b, t, path, tostring(got),
          tostring(v)), 0)
      end
    end
    helper.same(observed(game, g), out.obs[b][t], 1e-6)
    local a = actions[b][t]
    local reward, terminated, truncated = dealing(game, dealer(u, 0), game.step, g,
      unpack(type(a) == "table" and a or { a }))
    steps = steps + 1
    truncated = truncated or steps == max_steps
    helper.same(reward, out.reward[b][t], 1e-6)
    assert.equal(terminated or false, out.terminated[b][t])
    assert.equal(truncated, out.truncated[b][t])
    helper.same(observed(game, g), out.next_obs[b][t], 1e-6)
    if terminated or truncated then
      ends, steps, g = ends + 1, 0, {}
      dealing(game, dealer(u, out.draws and #u - #reset_draws or 0), game.reset, g)
    end
  end
  return ends
end

-- B copies over T steps in this tier against plain Lua. Returns how many episodes ended.
local function compare(name, B, T, tier, given)
  local game = given or require("spec.games." .. name)
  local P = tempo.program { seed = 5 }
  local b, t = (P:dim("b", "B")), (P:dim("t", "T"))
  local env = rl.trace(P, game, { domain = { b, t }, time = t, actions = game.actions,
    max_steps = game.max_steps })
  local shape = type(game.actions) == "table" and game.actions or {}
  local action = P:input("action", { domain = { b, t }, shape = shape, dtype = #shape > 0
    and "f32" or "i64" })
  env:step(action)
  local outputs = { obs = env.obs, next_obs = env.next_obs, reward = env.reward,
    terminated = env.terminated, truncated = env.truncated, draws = env.draws,
    start_draws = env.start_draws }
  for key, x in pairs(env.state) do outputs["state " .. key] = x end
  local next, actions = helper.rng(3), {}
  for k = 1, B do
    actions[k] = {}
    for s = 1, T do
      actions[k][s] = #shape == 0 and next(game.actions) or { next(1000) / 512 - 0.5,
        next(1000) / 256 - 2 }
    end
  end
  local got = P:compile { outputs = outputs, tier = tier }({ action = actions }, { B = B, T = T })
  local out = { state = {} }
  for key, x in pairs(got) do
    local path = key:match "^state (.*)$"
    if path then out.state[path] = x:totable() else out[key] = x:totable() end
  end
  local ends = 0
  local tol = tolerance[name] or 0
  for k = 1, B do ends = ends + play(game, name, out, k, T, actions, tol, game.max_steps) end
  return ends
end

describe("a recorded game", function()
  for _, name in ipairs(names) do
    it(name .. " takes the steps that plain Lua takes", function()
      assert.is_true(compare(name, 2, 300, "interpreter") > 1)
      if name == "pong" then compare(name, 1, 20, "reference") end
    end)
    it(name .. " does so for 10,000 steps on every tier #long", function()
      for _, tier in ipairs { "native", "interpreter" } do
        assert.is_true(compare(name, 20, 500, tier) > 20)
      end
      compare(name, 4, 100, "reference")
    end)
  end
end)

-- ---- the language -------------------------------------------------------------------------------

-- Each returns what it makes of two numbers, which are small integers or fractions, and of a
-- state's boolean.
local parts = {
  function(x, y) return x == y and 1 or 2 end,
  function(x, y) return x ~= y and 1 or 2 end,
  function(x) return x == 1 and 10 or x == 2 and 20 or 30 end,
  function(x) return x ~= x and 1 or 0 end,                         -- a NaN?
  function(x) return 2.5 == x and 1 or 0 end,
  function(x) return (x == "1" or x == nil or x == false) and 1 or 0 end,
  function(x, y) local k = 2 return k == x and y or k end,
  function(x, _, flag) return flag == (x > 1) and 1 or 0 end,
  function(x, y, flag) if not flag then return x end return y end,
  function(_, _, flag) return flag and 1 or 0 end,
  function(x, y, flag)
    local both = flag and x < y
    return both == true and 3 or both == false and 4 or 5
  end,
  function(x, y) return x % (y + 0.5) end,
  function(x, y) return (x - 2) % 3 + math.floor((x - 2) / (y + 0.5)) end,
  function(x, y) return (x + 1) ^ 2 - y ^ 0.5 end,
  function(x, y) return math.max(x, y, 1) - math.min(2, x, y) end,
  function(x, y) return -x / (y + 1) end,
  function(x, y) return x / 0 - y end,                              -- infinity and NaN
  function(x, y)
    local n = 0
    for k = 1, 4 do
      if k == x then break end
      n = n + k * y
    end
    return n
  end,
  function(x, y)
    local t = { x, y, x + y }
    local s = #t
    for k, v in ipairs(t) do s = s + k * v end
    for _, v in pairs { a = x, b = y } do s = s + v end
    return s
  end,
  function(x, y)
    local n = 0
    local function add(v) if v > 1 then n = n + v end end
    add(x)
    add(y)
    return n
  end,
  function(x, y)
    local v = setmetatable({ x = x }, { __add = function(a, b) return a.x + b.x end,
      __index = { y = y } })
    return (v + v) * v.y
  end,
  function(x) return type(x) == "number" and tonumber(x) or 7 end,
  function(x, y) return select("#", x, y) + select(2, x, y) end,
  function(x, y) local ok, v = pcall(function() return x + y end) return ok and v or 0 end,
  function(x, y) assert(x >= 0, "never") return rawequal(x, y) and 1 or 0 end,
  function(x, y) return math.fmod(x - 2, y + 1) + math.abs(x - 2) + math.ceil(x / 3) end,
  function(x, y)
    local list = {}
    table.insert(list, x)
    table.insert(list, y)
    return table.remove(list) + #list
  end,
}

local language = { actions = 4, max_steps = 7 }
function language.reset(g) g.x, g.y, g.flag, g.kept, g.out = 0, 2, true, { name = "fixed" }, {} end
function language.step(g, action)
  g.x = action
  g.y = (g.y + action * 0.5) % 3
  g.flag = g.flag ~= (action == 3)
  for k, part in ipairs(parts) do g.out[k] = part(g.x, g.y, g.flag) end
  return #g.kept.name, g.x == 3 and g.y == 1
end
function language.observe(g) return g.x, g.y, g.flag end

-- One part at a time: all of them have too many paths together.
local function alone(part)
  local game = { actions = 4, max_steps = 7, observe = language.observe }
  function game.reset(g) g.x, g.y, g.flag, g.out = 0, 2, true, 0 end
  function game.step(g, action)
    g.x = action
    g.y = (g.y + action * 0.5) % 3
    g.flag = g.flag ~= (action == 3)
    g.out = part(g.x, g.y, g.flag)
    return 1, g.x == 3 and g.y == 1
  end
  return game
end

local functions = { actions = { 2 } }
function functions.reset(g) for k = 1, 20 do g[k] = 0 end end
local atan2 = math.atan2 or math.atan       -- luacheck: ignore
function functions.step(g, a, b)
  local m = math
  local list = { m.sin(a), m.cos(a), m.tan(a), m.exp(b), m.log(b + 3), m.sqrt(b + 3), m.atan(a),
    m.atan(4 * b), m.asin(a / 2),
    m.acos(a / 2), m.deg(a), m.rad(b), m.log(b + 3, 2), m.pi * a, m.modf(2 * b), select(2,
      m.modf(2 * b)), m.floor(3 * b),
    atan2(b, a), m.huge > a and 1 or 0, m.abs(b) }
  for k, v in ipairs(list) do g[k] = v end
  return 0, false
end
function functions.observe(g) return g[1] end

describe("recorded code", function()
  it("compares, chooses, loops and calls as Lua does", function()
    for k, part in ipairs(parts) do
      local ok, e = pcall(compare, "part " .. k, 1, 14, "reference", alone(part))
      if not ok then error(("part %d: %s"):format(k, tostring(e)), 0) end
    end
  end)

  it("has Lua's functions of numbers", function()
    compare("functions", 2, 60, "interpreter", functions)
  end)

  it("leaves the game and Lua as they were", function()
    local game = require "spec.games.shooter"
    local before = { reset = game.reset, step = game.step, random = math.random,
      floor = math.floor, type = type,
      pairs = pairs, pcall = pcall, print = print }
    local P = tempo.program()
    local t = P:dim "t"
    rl.trace(P, game, { domain = { t }, time = t, actions = 4 })
    helper.fails(function() rl.trace(P, { reset = game.reset, step = function(g) g.x = {} end,
      observe = game.observe },
      { domain = { t }, time = t, actions = 4 }) end, "option")
    assert.same(before, { reset = game.reset, step = game.step, random = math.random,
      floor = math.floor, type = type,
      pairs = pairs, pcall = pcall, print = print })
    assert.is_nil(debug.gethook())
    local g = {}
    game.reset(g)
    for k = 1, 200 do game.step(g, k % 4) end
    assert.equal("number", type(g.ship.x))
    for k = 1, 60 do
      local name, v = debug.getupvalue(game.step, k)
      if name == "random" then assert.equal(math.random, v) end
    end
  end)

  it("takes back what it wrote outside of the state", function()
    local count, list = 0, { 1 }
    local function trace(step)
      local P = tempo.program()
      local t = P:dim "t"
      return helper.fails(function()
        rl.trace(P, { reset = function(g) g.x = 0 end, step = step,
          observe = function(g) return g.x end },
          { domain = { t }, time = t, actions = 2 })
      end, "option", "outside" and "writes")
    end
    trace(function(g, a) count = count + 1 g.x = a return 0, false end)
    trace(function(g, a) list[1] = a g.x = a return 0, false end)
    trace(function(g, a) list.new = 3 g.x = a return 0, false end)
    trace(function(g, a) list[1] = nil g.x = a return 0, false end)
    assert.equal(0, count)
    assert.same({ 1 }, list)
  end)

  it("joins what its paths have in common", function()
    local game = { reset = function(g) g.x, g.y, g.z, g.w = 0, 0, 0, 0 end,
      observe = function(g) return g.w end }
    function game.step(g, a)
      for _, k in ipairs { "x", "y", "z" } do
        if g[k] > a then g[k] = g[k] - 1 elseif g[k] < -a then g[k] = g[k] + 1 end
      end
      g.w = math.abs(g.x - g.y) * (g.z + 1)
      return 0, g.w > 3
    end
    local recorder = require "tempo.rl.trace.recorder".new(10000)
    local g = recorder.graph
    local got = recorder:record(game, { g:leaf("action", "1", "number", 0, 3, true) })
    assert.equal(8, got.paths.step)              -- 54 ways, 7 questions
    local seen, n = {}, 0
    local function count(id)
      local node = g.nodes[id]
      if seen[id] or node[1] == "const" or type(node[2]) == "string" then return end
      seen[id], n = true, n + 1
      for k = 2, #node do count(node[k]) end
    end
    for _, id in ipairs(got.step) do count(id) end
    assert.is_true(n <= 25, n)
  end)
end)

describe("a traced environment", function()
  local walk = { actions = 2 }
  function walk.reset(g) g.x = math.random(1, 5) end
  function walk.step(g, a)
    g.x = g.x + (a == 1 and 1 or -1)
    return g.x, g.x == 0 or g.x == 9
  end
  function walk.observe(g) return g.x end

  local function outputs(o)
    local P = tempo.program { seed = 2 }
    local i, b, t = (P:dim("i", "I")), (P:dim("b", "B")), (P:dim("t", "T"))
    local env = rl.trace(P, walk, { domain = { i, b, t }, time = t, actions = 2,
      carry = o.carry and i or nil,
      max_steps = o.max_steps })
    local out = { begins = env.begins, obs = env.obs, done = env.done, reward = env.reward,
      truncated = env.truncated,
      next_obs = env.next_obs, terminated = env.terminated }
    env:step(tempo.randint({}, 0, 2, { domain = { i, b, t }, name = "action" }))
    return helper.run(P, out, {}, { I = 3, B = 2, T = 6 })
  end

  it("starts anew in each iteration, or goes on with carry", function()
    local fresh, on = outputs {}, outputs { carry = true }
    for i = 1, 3 do
      for b = 1, 2 do
        assert.is_true(fresh.begins[i][b][1])
        if i > 1 then
          local done = on.done[i - 1][b][6]
          assert.equal(done, on.begins[i][b][1])
          if not done then assert.equal(on.next_obs[i - 1][b][6][1], on.obs[i][b][1][1]) end
        end
        for t = 2, 6 do assert.equal(on.done[i][b][t - 1], on.begins[i][b][t]) end
      end
    end
  end)

  it("is ended by the clock, which is no termination", function()
    local out = outputs { max_steps = 3, carry = true }
    local ends = 0
    for i = 1, 3 do
      for b = 1, 2 do
        for t = 1, 6 do
          if out.truncated[i][b][t] and not out.terminated[i][b][t] then ends = ends + 1 end
        end
      end
    end
    assert.is_true(ends > 3)
  end)

  it("checks its options and its action", function()
    local P = tempo.program()
    local t, b = (P:dim "t"), (P:dim "b")
    local function trace(o)
      return function() return (rl.trace(P, walk, o)) end
    end
    helper.fails(trace { domain = { t }, time = t, actions = 0 }, "option", "actions", "got 0")
    helper.fails(trace { domain = { t }, time = t, actions = 2, path = 3 }, "option", "'path'",
      "'paths'")
    helper.fails(trace { domain = { t }, time = b, actions = 2 }, "domain", "'b' of time")
    helper.fails(trace { domain = { t }, time = t, actions = 2, max_steps = 0 }, "option",
      "max_steps")
    helper.fails(function() return (rl.trace(P, { reset = print }, { domain = { t }, time = t,
      actions = 2 })) end,
      "option", "no function 'step'")
    local env = rl.trace(P, walk, { domain = { t }, time = t, actions = 2 })
    helper.fails(function() env:step(1) end, "option", "a tensor")
    helper.fails(function() env:step(tempo.zeros({}, { domain = { t } })) end, "dtype", "i64")
  end)
end)

describe("an action that a game does not have", function()
  it("ends the run, with its point", function()
    local P = tempo.program()
    local b, t = (P:dim("b", "B")), (P:dim("t", "T"))
    local game = { reset = function(g) g.x = 0 end, observe = function(g) return g.x end,
      step = function(g, a) g.x = g.x + a return g.x, false end }
    local env = rl.trace(P, game, { domain = { b, t }, time = t, actions = 2 })
    env:step(P:input("chosen", { domain = { b, t }, dtype = "i64" }))
    for _, tier in ipairs { "reference", "interpreter", "native" } do
      local f = P:compile { outputs = { reward = env.reward }, tier = tier }
      helper.fails(function() return f({ chosen = { { 0, 1, 1 }, { 1, 2, 0 } } }, { B = 2, T = 3 })
      end, "input", "b = 1, t = 1", "2 is outside 0 .. 1")
    end
  end)
end)

describe("the example", function()
  it("learns Pong and plays it in plain Lua #long", function()
    local out = helper.lua("examples/rl/trace_pong.lua --quiet --out " .. os.tmpname() .. ".d")
    local won = out:match "in plain Lua (%d+) of 20 rallies won"
    assert.is_true(tonumber(won) >= 12, out)
  end)
end)

-- rl.trace: how many runs the ways through a game take, and random games against plain Lua.
local helper = require "spec.helper"

local load = rawget(_G, "loadstring") or load
local real = math.random

-- Lua's own value of a node. leaf(op, name) gives those of leaves.
local function evaluator(g, leaf)
  local known = {}
  local function value(id)
    local v = known[id]
    if v ~= nil then return v end
    local n = g.nodes[id]
    local op, a, b = n[1], n[2], n[3]
    if op == "const" then v = a
    elseif type(a) == "string" then v = leaf(op, a)
    elseif op == "where" then
      if value(a) then v = value(b) else v = value(n[4]) end
    elseif op == "lt" then v = value(a) < value(b)
    elseif op == "le" then v = value(a) <= value(b)
    elseif op == "eq" then v = value(a) == value(b)
    elseif op == "land" then v = value(a) and value(b)
    elseif op == "lor" then v = value(a) or value(b)
    elseif op == "lnot" then v = not value(a)
    elseif op == "add" then v = value(a) + value(b)
    elseif op == "sub" then v = value(a) - value(b)
    elseif op == "mul" then v = value(a) * value(b)
    elseif op == "unm" then v = -value(a)
    elseif op == "floor" then v = math.floor(value(a))
    else error("no " .. op) end
    known[id] = v
    return v
  end
  return value
end

local function record(game, limit)
  local r = require "tempo.rl.trace.recorder".new(limit or 10000)
  return r:record(game, { r.graph:leaf("action", "1", "number", 0, 3, true) })
end

-- Plays a recorded game of flat fields beside the game itself.
local function play(game, got, steps, seed)
  local next = helper.rng(seed)
  local u, at, asked
  local function deal(lo, hi)
    at = at + 1
    if not lo then return u[at] end
    return math.floor(u[at] * (hi - lo + 1)) + lo
  end
  local function as_lua(f, ...)
    u, at = {}, 0
    for k = 1, 300 do u[k] = next(1024) / 1024 end
    math.random = deal                          -- luacheck: ignore
    local out = { pcall(f, ...) }
    math.random = real                          -- luacheck: ignore
    assert(out[1], out[2])
    return out[2], out[3]
  end
  local g = {}
  as_lua(game.reset, g)
  for _ = 1, steps do
    local action, before = next(4), {}
    for _, path in ipairs(got.model.paths) do before[path] = g[path] end
    local reward, over = as_lua(game.step, g, action)
    local value = evaluator(got.graph, function(op, name)
      if op == "action" then return action end
      if op == "draw" then
        asked = tonumber(name:match "%d+$")
        assert(asked <= got.draws.step)
        return u[asked]
      end
      return before[name:match "^%d+ (.*)$"]
    end)
    for k, path in ipairs(got.model.paths) do
      if value(got.step[k]) ~= g[path] then
        error(("%s is %s, not %s"):format(path, tostring(value(got.step[k])), tostring(g[path])), 0)
      end
    end
    local n = #got.model.paths
    assert.equal(reward, value(got.step[n + 1]))
    assert.equal(over or false, value(got.step[n + 2]))
    assert.is_true(at <= (got.draws.step or 0))
  end
end

-- A game of these statements on x, y, z, w and the boolean on.
local function game_of(body)
  local head = "local game = {} function game.reset(g) g.x, g.y, g.z, g.w, g.on = 1, -2, 0.5, 3, "
    .. "false end function game.observe(g) return g.x end\n"
  local text = head .. body .. "\nreturn game"
  local made, why = load(text, "=game")
  if not made then error(why .. "\n" .. text) end
  return made(), text
end

describe("ways that meet", function()
  it("add up: n ifs are n + 1 runs", function()
    local game = { reset = function(g) for k = 1, 24 do g[k] = k % 5 - 2 end end,
      observe = function(g) return g[1] end }
    function game.step(g, a)
      for k = 1, 24 do
        if g[k] > a then g[k] = g[k] - 1 else g[k] = g[k] + k end
      end
      return g[3], false
    end
    local got = record(game, 100)
    assert.equal(25, got.paths.step)
    assert.is_true(#got.graph.nodes < 300)
  end)

  it("meet where values, locals, closures, results and draws differ", function()
    local cases = {
      { 5, "if g.x > a then g.x = 0 end if g.y > a then g.y = a end return g.x == 0 and 1 or 2, "
        .. "g.y == a" },
      { 3, "local function far(v) if v > 2 then return 2 end return v end "
        .. "g.x = far(g.x + a) g.y = far(g.y - a) return g.x, false" },
      { 3, "local n = 0 local function add(v) n = n + v end if g.x > a then add(1) end "
        .. "if g.y > a then add(g.x) end return n, false" },
      { 4, "local t = { 1, { a = 2 } } if g.x > a then t[1] = 3 t[2].a = g.x end "
        .. "if g.y > a then t[2] = { a = g.y } end g.z = t[1] + t[2].a "
        .. "if g.z > 2 then g.z = -g.z end return g.z, false" },
      { 3, "if g.x > a then g.x = math.random() * 8 - 4 end g.y = math.random() "
        .. "if a > 1 then g.z = math.random() + math.random() end g.w = math.random(1, 4) "
        .. "return 0, false" },
      { 4, "local n = 0 for k = 1, 3 do if k > g.x then break end n = n + k end "
        .. "g.x = a + n return n, false" },
    }
    for k, case in ipairs(cases) do
      local game = game_of("function game.step(g, a) " .. case[2] .. " end")
      local got = record(game)
      assert.equal(case[1], got.paths.step, "case " .. k)
      play(game, got, 60, k)
    end
  end)

  it("do not meet where Lua would not go on equally", function()
    local cases = {
      -- a number that is an index, a text that is a key
      "local k = 1 if g.x > a then k = 2 end g.x = ({ 5, -7 })[k] + a return k, false",
      "local s = 'x' if g.x > a then s = 'y' end g[s] = g[s] - a + 1 return 0, false",
      -- how often a loop runs
      "local n = 2 if a > 1 then n = 4 end for _ = 1, n do g.x = g.x + 1 end "
        .. "if g.x > 9 then g.x = -3 end return n, false",
      -- tables that are one on one path, lengths, absent fields
      "local p, q = { v = 1 }, { v = 2 } if g.x > a then q = p end q.v = 5 g.x = p.v - a "
        .. "return q.v, false",
      "local t = { 1 } if g.x > a then t[2] = 7 end g.x = #t - a return g.x, false",
      "local t = {} if g.x > a then t.k = 1 end g.x = t.k and a or -a return g.x, t.k == nil",
      -- closures over variables of their own
      "local f for k = 1, 2 do local v = k if g.x > a and not f then f = function() v = v + 1 "
        .. "return v end end v = v + 10 g.y = v end g.x = f and f() - a or a - 2 return g.y, false",
      "local function make(n) return function() n = n + 1 return n end end local f, h = make(1), "
        .. "make(5) local o = f if g.x > a then o = h end g.x = o() - f() + a return o(), false",
      -- a variable that a closure takes later
      "local n = 1 if g.x > a then n = 2 end local function f() n = n + a return n end "
        .. "g.x = 3 - f() return f(), false",
      -- an error that no path comes to
      "if g.x < 0 then g.x = 0 end if g.x < 0 then error 'below' end g.x = g.x + a - 2 "
        .. "return 0, false",
    }
    for k, body in ipairs(cases) do
      local game = game_of("function game.step(g, a) " .. body .. " end")
      local ok, why = pcall(function() play(game, record(game), 60, k) end)
      if not ok then error(("case %d: %s"):format(k, tostring(type(why) == "table" and why.text
        or why)), 0) end
    end
  end)
end)

-- ---- random games -------------------------------------------------------------------------------

-- Statements by chance: assignments to fields, locals, tables and upvalues, ifs in each other,
-- loops that are left, calls that return early, draws. Numbers stay small and binary, so that sums
-- and products have one value.
local function random_body(next)
  local depth, out = 0, {}
  local function roll(n) return 1 + next(n) end
  local function pick(list) return list[roll(#list)] end
  local function place()
    return pick { "g.x", "g.y", "g.z", "g.w", "l1", "l2", "t.a", "t[1]", "t.in_.b" }
  end
  local function atom()
    return pick { place(), place(), "a", tostring(roll(9) - 5), "far(" .. place() .. ")",
      "get()", "math.random(1, 4)" }
  end
  local function expression()
    local kind = roll(6)
    if kind == 1 then return atom() .. " + " .. atom() end
    if kind == 2 then return atom() .. " - " .. atom() end
    if kind == 3 then return "half(" .. atom() .. ")" end
    if kind == 4 then return ("(%s > %s and %s or %s)"):format(atom(), atom(), atom(), atom()) end
    return atom()
  end
  local function condition()
    return pick { atom() .. " > " .. atom(), atom() .. " <= " .. atom(), "g.on", "not g.on",
      atom() .. " == " .. atom(), "flag", atom() .. " < " .. atom() .. " and g.on" }
  end
  local block
  local function statement()
    local kind = roll(12)
    if kind <= 4 or depth > 2 then return place() .. " = " .. expression() end
    if kind == 5 then return pick { "g.on", "flag" } .. " = " .. condition() end
    if kind == 6 then return "set(" .. expression() .. ")" end
    if kind == 7 then return "t.in_ = { b = " .. atom() .. " }" end
    if kind == 8 then
      return ("for k = 1, 3 do if %s then break end %s end"):format(condition(), block(2))
    end
    if kind == 9 and depth > 0 then return "do return " .. atom() .. ", g.on end" end
    if kind == 10 then
      return ("if %s then %s else %s end"):format(condition(), block(2), block(2))
    end
    return ("if %s then %s end"):format(condition(), block(2))
  end
  function block(n)
    depth = depth + 1
    local list = {}
    for k = 1, roll(n) do
      list[k] = statement()
      if list[k]:find "^do return" then break end
    end
    depth = depth - 1
    return table.concat(list, " ")
  end
  for k = 1, 4 + roll(4) do out[k] = statement() end
  return ([[
local function far(v) if v > 3 then return 3 elseif v < -3 then return -3 end return v end
local function half(v) if v > 2 or v < -2 then v = v * 0.5 end return v end
function game.step(g, a)
  local l1, l2, flag, up = 0, a, false, g.w
  local t = { g.x, a = 1, in_ = { b = g.y } }
  local function get() return up end
  local function set(v) if v > 0 then up = v else up = up - 1 end end
  %s
  g.x, g.y, g.z, g.w = far(g.x + l1), far(g.y + l2), far(g.z + t.a), far(g.w + t.in_.b)
  return up, flag
end]]):format(table.concat(out, "\n  "))
end

describe("random games", function()
  local function try(from, to)
    local recorded = 0
    for seed = from, to do
      local game, text = game_of(random_body(helper.rng(seed)))
      local ok, got = pcall(record, game, 400)
      if ok then
        recorded = recorded + 1
        local same, why = pcall(play, game, got, 25, seed)
        if not same then
          error(("seed %d: %s\n%s"):format(seed, tostring(why), text), 0)
        end
      elseif not tostring(got):find "more than 400 paths" then
        error(("seed %d: %s\n%s"):format(seed, tostring(got), text), 0)
      end
    end
    assert.is_true(recorded > (to - from) * 0.9, recorded)
  end

  it("are what plain Lua plays", function() try(1, 30) end)
  it("are what plain Lua plays, many #long", function() try(1000, 1200) end)
end)

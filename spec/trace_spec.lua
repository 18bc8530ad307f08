-- f:profile(n, { trace = path }): what ran when, as JSON; what lies inside what, how often, how much.
local tempo = require "tempo"
local helper = require "spec.helper"

local JSON = {}                                          -- next(text, at): a value and what follows it

local function space(s, at) return s:find("[^ \n]", at) end

local function list(s, at, close, item)
  local out = {}
  at = space(s, at + 1)
  while s:sub(at, at) ~= close do
    at = space(s, item(out, at))
    if s:sub(at, at) == "," then at = space(s, at + 1) else assert(s:sub(at, at) == close, s:sub(at, at + 20)) end
  end
  return out, at + 1
end

local escapes = { ['"'] = '"', ["\\"] = "\\", n = "\n" }

function JSON.string(s, at)
  local out = {}
  at = at + 1
  while s:sub(at, at) ~= '"' do
    local plain = s:match('^[^"\\%c]+', at)
    if plain then
      out[#out + 1], at = plain, at + #plain
    elseif s:find("^\\u00%x%x", at) then
      out[#out + 1], at = string.char(tonumber(s:sub(at + 2, at + 5), 16)), at + 6
    else
      assert(s:sub(at, at) == "\\", "a byte that JSON does not have in a string")
      out[#out + 1], at = assert(escapes[s:sub(at + 1, at + 1)]), at + 2
    end
  end
  return table.concat(out), at + 1
end

function JSON.value(s, at)
  local c = s:sub(at, at)
  if c == '"' then return JSON.string(s, at) end
  if c == "[" then
    return list(s, at, "]", function(out, from) out[#out + 1], from = JSON.value(s, from); return from end)
  end
  if c == "{" then
    return list(s, at, "}", function(out, from)
      local key, after = JSON.string(s, from)
      assert(s:sub(after, after) == ":")
      out[key], after = JSON.value(s, after + 1)
      return after
    end)
  end
  local word = assert(s:match("^[%w.+-]+", at), s:sub(at, at + 20))
  if word == "true" or word == "false" then return word == "true", at + 4 + (word == "false" and 1 or 0) end
  return assert(tonumber(word), word), at + #word
end

-- Nanoseconds as integers, so that comparisons are exact.
local function events_of(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  os.remove(path)
  local trace, after = JSON.value(text, 1)
  assert.equal("\n", text:sub(after))
  local events, threads = {}, {}
  for _, e in ipairs(trace.traceEvents) do
    if e.ph == "M" then
      threads[e.tid] = e.args.name
    else
      assert.equal("X", e.ph)
      e.from = math.floor(e.ts * 1000 + 0.5)
      e.to = e.from + math.floor(e.dur * 1000 + 0.5)
      events[#events + 1] = e
    end
  end
  return events, threads, trace.otherData.cut
end

local function of_kind(events, kind)
  local out = {}
  for _, e in ipairs(events) do
    if e.cat == kind then out[#out + 1] = e end
  end
  return out
end

-- Of two events of one thread either one lies inside of the other, or they have no time in common: with a stack of those
-- that are open, the longest first. Each event gets the one around it.
local function nest(events)
  local by = {}
  for k, e in ipairs(events) do
    e.order = k
    by[e.tid] = by[e.tid] or {}
    table.insert(by[e.tid], e)
  end
  for _, track in pairs(by) do
    table.sort(track, function(a, b)
      if a.from ~= b.from then return a.from < b.from end
      if a.to ~= b.to then return a.to > b.to end
      return a.order > b.order                           -- what is inside has ended first
    end)
    local open = {}
    for _, e in ipairs(track) do
      while #open > 0 and open[#open].to <= e.from and (e.to > e.from or open[#open].to < e.from) do open[#open] = nil end
      e.around = open[#open]
      assert(not e.around or e.to <= e.around.to, ("%s ends after %s around it"):format(e.name, e.around and e.around.name))
      open[#open + 1] = e
    end
  end
end

local path = os.tmpname()

-- Squares of a matrix of 16 x 16, again and again, each divided by what it grows by.
local function powers(tier, options)
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:tensor { domain = { t }, shape = { 16, 16 } }
  x[0] = tempo.ones { 16, 16 }
  x[t] = (x[t - 1]:matmul(x[t - 1]) / 16):name 'p "q" \\ \1 \255 ü \237\160\128'
  options = options or {}
  options.outputs, options.tier = { y = x[T - 1]:sum() }, tier
  return P:compile(options)
end

describe("a trace", function()
  it("has each leaf, loop and iteration, one inside the other, with what they do", function()
    local f = powers "interpreter"
    assert.equal(256, f({}, { T = 7 }).y:item())
    assert.matches("GFLOP/s", f:profile(3, { trace = path }))
    local events, threads, cut = events_of(path)
    nest(events)
    assert.same({ [0] = "thread 0" }, threads)
    assert.is_false(cut)
    local loops, turns, products = of_kind(events, "loop"), of_kind(events, "iteration"), {}
    assert.equal(1, #loops)
    assert.equal(6, #turns)
    local time, flops, bytes = 0, 0, 0
    for _, e in ipairs(of_kind(events, "leaf")) do
      if e.name == "matmul" then products[#products + 1] = e end
      if e.around then
        assert.equal("iteration", e.around.cat)
        assert.matches("trace_spec.lua:%d+$", e.args.line)
        time, flops, bytes = time + e.to - e.from, flops + e.args.flops, bytes + e.args.bytes
      end
    end
    assert.equal(6, #products)
    for k, e in ipairs(products) do
      assert.equal(2 * 16 * 16 * 16, e.args.flops)
      assert.equal(3 * 16 * 16 * 4, e.args.bytes)
      assert.matches("^%w+ = " .. k .. "$", e.around.name)
      assert.equal(loops[1], e.around.around)
    end
    assert.equal(flops, loops[1].args.flops)
    assert.equal(bytes, loops[1].args.bytes)
    assert.is_true(time <= loops[1].to - loops[1].from)
  end)

  it("has names as JSON wants them", function()
    local f = powers "interpreter"
    f({}, { T = 3 })
    f:profile(0, { trace = path })
    local seen
    for _, e in ipairs(of_kind((events_of(path)), "leaf")) do
      seen = seen or e.args.tensor == 'p "q" \\ \1 ? ü ???'
    end
    assert.is_true(seen)
  end)

  it("has what ran since the one before, the begin of a long run without one, all of it from then on", function()
    local f = powers "interpreter"
    f({}, { T = 3000 })
    f:profile(0, { trace = path })
    local events, _, cut = events_of(path)
    nest(events)
    assert.is_true(cut)
    local leaves = of_kind(events, "leaf")
    assert.is_true(#events >= 2048 and #events < 2100)
    assert.equal("loop", leaves[#leaves].around.around.cat)
    f:profile(0, { trace = path })
    assert.same({}, (events_of(path)))
    f({}, { T = 3000 })
    f({}, { T = 11 })
    f:profile(0, { trace = path })
    events, _, cut = events_of(path)
    nest(events)
    assert.is_false(cut)
    assert.equal(2999 + 10, #of_kind(events, "iteration"))
    assert.equal(2, #of_kind(events, "loop"))
  end)

  it("has compiled parts, and in them what they call", function()
    local f = powers "native"
    f({}, { T = 4 })
    f:profile(0, { trace = path })
    local events = events_of(path)
    nest(events)
    local parts = of_kind(events, "part")
    assert.equal(1, #parts)
    assert.is_true(parts[1].args.flops >= 3 * 2 * 16 * 16 * 16)
    for _, e in ipairs(of_kind(events, "leaf")) do
      assert.is_true(e.from >= parts[1].to or e.to <= parts[1].from or e.around == parts[1])
    end
  end)

  -- A loop of long vectors, whose leaves are written out, beside one of numbers, which is one loop in C.
  local function mixed(options)
    local P = tempo.program()
    local t, T = P:dim "t"
    local b, B = P:dim "b"
    local s, S = P:dim "s"
    local x, a = P:tensor { domain = { b, t }, shape = { 300 } }, P:tensor { domain = { s }, dtype = "f64" }
    x[{ t = 0 }], a[0] = 1, 0.5
    x[t] = (x[t - 1] * 0.5 + 1):softmax(0):name "x"
    a[s] = 3.7 * a[s - 1] * (1 - a[s - 1])
    options.outputs = { x = x[{ t = T - 1 }], sum = x[{ t = T - 1, b = tempo.range(0, B) }]:sum(0), a = a[S - 1] }
    return P:compile(options)
  end

  for _, threads in ipairs { 1, 2 } do
    it("has what is inside of compiled parts from when that is asked for, threads: " .. threads, function()
      local bounds = { T = 60, B = 16, S = 900 }
      local f = mixed { tier = "native", threads = threads }
      local plain = f({}, bounds)
      local before = f:profile()
      f:profile(0, { trace = path, inside = true })
      assert.falsy(before:find("'x'", 1, true))
      local got = f({}, bounds)
      for name, array in pairs(plain) do assert.same(array:totable(), got[name]:totable()) end
      local said = f:profile(50, { trace = path, inside = false })
      local events = events_of(path)
      nest(events)
      local leaves, inside = 0, 0
      for _, e in ipairs(of_kind(events, "leaf")) do
        leaves = leaves + 1
        if e.around and (e.around.cat == "part" or e.around.cat == "team") then inside = inside + 1 end
      end
      assert.is_true(leaves > 0 and inside >= 59)
      local bytes, flops = said:match " ([%d.]+) +([%d.]+)  [^\n]*'x' div\n"
      assert.is_true(tonumber(bytes) > 0 and tonumber(flops) > 0, said)
      if threads == 1 then
        local loops = of_kind(events, "loop")
        assert.is_true(#loops > 0)
        assert.matches("loop over s%d*, leaves: 1\n", said)
        assert.equal(899 * 3, loops[#loops].args.flops)
      end
      f({}, bounds)
      f:profile(0, { trace = path })
      for _, e in ipairs(of_kind((events_of(path)), "leaf")) do assert.not_equal("x", e.args.tensor) end
    end)
  end

  it("has loops of a run in steps, each step by itself", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:tensor { domain = { t }, shape = { 4 } }
    x[0] = tempo.ones { 4 }
    x[t] = x[t - 1] * 2
    local seen = 0
    P:sink({ x }, function() seen = seen + 1 end)
    local f = P:compile { tick = { t }, tier = "interpreter" }
    f:start({}, { T = 5 })
    for _ = 1, 3 do f:step() end
    f:profile(0, { trace = path })
    local events = events_of(path)
    nest(events)
    local calls = {}
    for _, e in ipairs(of_kind(events, "leaf")) do
      if e.name == "call" then calls[#calls + 1] = e.around.name end
    end
    assert.equal(seen, #calls)
    for k, name in ipairs(calls) do assert.matches(" = " .. k - 1 .. "$", name) end
  end)

  it("is refused in words, and then what was noted is there still", function()
    local f = powers "interpreter"
    f({}, { T = 3 })
    local function refused(word, where, ...)
      local ok, e = pcall(f.profile, f, ...)
      assert.is_false(ok)
      assert.equal(word, e.code)
      assert.is_truthy(tostring(e):find(where, 1, true), tostring(e))
    end
    refused("file", "file: /nowhere/at/all.json: No such file or directory", 3, { trace = "/nowhere/at/all.json" })
    if io.open "/dev/full" then refused("file", "file: /dev/full: No space left", 3, { trace = "/dev/full" }) end
    refused("option", "trase", 3, { trase = path })
    refused("option", "trace", 3, { trace = 7 })
    refused("option", "inside of profile: expected true or false", 3, { inside = 7 })
    f:profile(0, { trace = path })
    assert.equal(2, #of_kind((events_of(path)), "iteration"))
    local g = powers "reference"
    g({}, { T = 3 })
    local ok, e = pcall(g.profile, g, 3, { trace = path })
    assert.is_false(ok)
    assert.is_truthy(tostring(e):find("the reference evaluator has no trace", 1, true))
  end)

  it("is not written by a callback", function()
    local P = tempo.program()
    local t = P:dim "t"
    local f, why
    P:sink({ t:value() * 2 }, function() why = select(2, pcall(f.profile, f, 3, { trace = path })) end)
    f = P:compile { tier = "interpreter" }
    f({}, { T = 2 })
    assert.is_truthy(tostring(why):find("a trace is written between runs, not by a callback", 1, true))
  end)

  -- A process of its own: what is worth sharing is a setting of it.
  it("has a track for each thread", function()
    local script = ([[
      local tempo = require "tempo"
      local P = tempo.program()
      local x = P:input("x", { shape = { 64, 256 } })
      local f = P:compile { outputs = { y = (x:exp() + 1):matmul(x:permute { 1, 0 }) }, tier = "interpreter", threads = 2 }
      f { x = tempo.program():compile { outputs = { u = tempo.uniform({ 64, 256 }, { name = "u" }) } } {}.u }
      f:profile(0, { trace = %q })
      print "written"]]):format(path)
    assert.equal("written\n", helper.script(script, nil, "export TEMPO_SHARE=0; "))
    local events, threads = events_of(path)
    nest(events)
    assert.same({ [0] = "thread 0", [1] = "thread 1" }, threads)
    for thread = 0, 1 do
      local shared = {}
      for _, e in ipairs(of_kind(events, "leaf")) do
        if e.tid == thread and e.around then
          assert.equal("team", e.around.cat)
          shared[#shared + 1] = e.name
        end
      end
      assert.is_true(#shared > 0)
    end
  end)
end)

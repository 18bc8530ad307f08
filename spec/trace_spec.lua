-- f:profile(n, { trace = path }): the profile as JSON, what lies inside what; f:profile(n, { inside
-- = true }).
local tempo = require "tempo"

-- next(text, at): a value and what follows it
local JSON = {}

local function space(s, at) return s:find("[^ \n]", at) end

local function list(s, at, close, item)
  local out = {}
  at = space(s, at + 1)
  while s:sub(at, at) ~= close do
    at = space(s, item(out, at))
    if s:sub(at, at) == "," then
      at = space(s, at + 1) else assert(s:sub(at, at) == close, s:sub(at, at + 20)) end
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
    return list(s, at, "]", function(out, from)
      out[#out + 1], from = JSON.value(s, from); return from
    end)
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
  if word == "true" or word == "false" then
    return word == "true", at + 4 + (word == "false" and 1 or 0)
  end
  return assert(tonumber(word), word), at + #word
end

-- Nanoseconds as integers, so that comparisons are exact. Each event gets the one around it.
local function events_of(path)
  local file = assert(io.open(path))
  local text = file:read "*a"
  file:close()
  os.remove(path)
  local events, after = JSON.value(text, 1)
  assert.equal("\n", text:sub(after))
  for k, e in ipairs(events) do
    assert.equal("X", e.ph)
    e.from = math.floor(e.ts * 1000 + 0.5)
    e.to, e.order = e.from + math.floor(e.dur * 1000 + 0.5), k
  end
  for k, e in ipairs(events) do                          -- what is inside comes first
    for j = k + 1, #events do
      local f = events[j]
      if not e.around and f.from <= e.from and e.to <= f.to and f.cat ~= "leaf" then
        e.around = f end
      assert(f.from >= e.to or f.from <= e.from and e.to <= f.to, "neither inside nor apart")
    end
  end
  return events
end

local function of_kind(events, kind)
  local out = {}
  for _, e in ipairs(events) do
    if e.cat == kind then out[#out + 1] = e end
  end
  return out
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
  it("has each leaf and loop, one inside the other, with what they do", function()
    local f = powers "interpreter"
    for _ = 1, 2 do assert.equal(256, f({}, { T = 7 }).y:item()) end
    assert.matches("GFLOP/s", f:profile(3, { trace = path }))
    local events = events_of(path)
    local loops, products = of_kind(events, "loop"), {}
    assert.equal(1, #loops)
    for _, e in ipairs(of_kind(events, "leaf")) do
      if e.name == "matmul" then products[#products + 1] = e end
      assert.matches("trace_spec.lua:%d+$", e.args.line)
    end
    assert.equal(1, #products)
    assert.equal(2 * 16 * 16 * 16, products[1].args.flops)
    assert.equal(3 * 16 * 16 * 4, products[1].args.bytes)
    assert.equal(2 * 6, products[1].args.calls)
    assert.equal(loops[1], products[1].around)
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

  it("has compiled parts, and in them what they call", function()
    local f = powers "native"
    f({}, { T = 4 })
    f:profile(0, { trace = path })
    local parts = of_kind(events_of(path), "part")
    assert.equal(1, #parts)
    assert.is_true(parts[1].to > parts[1].from)
  end)

  -- A loop of long vectors, whose leaves are written out, beside one of numbers, which is one loop
  -- in C.
  local function mixed(options)
    local P = tempo.program()
    local t, T = P:dim "t"
    local b, B = P:dim "b"
    local s, S = P:dim "s"
    local x, a = P:tensor { domain = { b, t }, shape = { 300 } },
      P:tensor { domain = { s }, dtype = "f64" }
    x[{ t = 0 }], a[0] = 1, 0.5
    x[t] = (x[t - 1] * 0.5 + 1):softmax(0):name "x"
    a[s] = 3.7 * a[s - 1] * (1 - a[s - 1])
    options.outputs = { x = x[{ t = T - 1 }], sum = x[{ t = T - 1, b = tempo.range(0, B) }]:sum(0),
      a = a[S - 1] }
    return P:compile(options)
  end

  for _, threads in ipairs { 1, 2 } do
    it("has what is inside of compiled parts from when that is asked for, threads: " .. threads,
      function()
      local bounds = { T = 60, B = 16, S = 900 }
      local f = mixed { tier = "native", threads = threads }
      local plain = f({}, bounds)
      local before = f:profile()
      f:profile(0, { trace = path, inside = true })
      assert.falsy(before:find("'x'", 1, true))
      local got = f({}, bounds)
      for name, array in pairs(plain) do assert.same(array:totable(), got[name]:totable()) end
      local said = f:profile(50, { trace = path, inside = false })
      local events, seen = events_of(path), nil
      for _, e in ipairs(of_kind(events, "leaf")) do
        if e.args.tensor == "x" and e.name == "div" then seen = e end
      end
      assert.equal(59, seen.args.calls)
      local around = seen.around
      while around.cat == "loop" do around = around.around end
      assert.equal("part", around.cat)
      local bytes, flops = said:match " ([%d.]+) +([%d.]+)  [^\n]*'x' div\n"
      assert.is_true(tonumber(bytes) > 0 and tonumber(flops) > 0, said)
      if threads == 1 then
        assert.matches("loop over s%d*, leaves: 1\n", said)
      end
      f({}, bounds)
      f:profile(0, { trace = path })
      for _, e in ipairs(of_kind((events_of(path)), "leaf")) do
        assert.is_true(e.args.tensor ~= "x" or e.name ~= "div" or e.args.calls == 59)
      end
    end)
  end

  it("is refused in words", function()
    local f = powers "interpreter"
    f({}, { T = 3 })
    local function refused(word, where, ...)
      local ok, e = pcall(f.profile, f, ...)
      assert.is_false(ok)
      assert.equal(word, e.code)
      assert.is_truthy(tostring(e):find(where, 1, true), tostring(e))
    end
    refused("file", "file: /nowhere/at/all.json: No such file or directory", 3,
      { trace = "/nowhere/at/all.json" })
    if io.open "/dev/full" then
      refused("file", "file: /dev/full: No space left", 3, { trace = "/dev/full" })
    end
    refused("option", "trase", 3, { trase = path })
    refused("option", "trace", 3, { trace = 7 })
    refused("option", "inside of profile: expected true or false", 3, { inside = 7 })
    local g = powers "reference"
    g({}, { T = 3 })
    local ok, e = pcall(g.profile, g, 3, { trace = path })
    assert.is_false(ok)
    assert.is_truthy(tostring(e):find("the reference evaluator has no trace", 1, true))
  end)
end)

-- Gradients of every differentiable row of methods.def, first and second, through every pattern of
-- the indexing table, against difference quotients. The quotients' program has a dim more: one
-- point for each perturbed input.
local tempo = require "tempo"
local helper = require "spec.helper"
local rows = require "spec.rows"
local recipes = require "spec.grad_rows"
local patterns = require "spec.patterns"

local unpack = table.unpack or unpack           -- luacheck: globals unpack
local load_text = loadstring or load            -- luacheck: globals loadstring
local f64 = { dtype = "f64" }
local eps = 1e-5

-- terms: what is differentiated
-- ----------------------------------------------------------------------------------------------- A
-- term is a function of the record's x, y, k, t, T, w (and b, B), which gives a tensor that depends
-- on t.

local function expression(text)
  local f = assert(load_text("local tempo, a, b, k = ...; return " .. text))
  return function(_, a, b, k) return f(tempo, a, b, k) end
end

local function read_then(e, p)
  return function(r)
    local a, b = p[2](r.x, r.t, r.T, r.w), p[2](r.y, r.t, r.T, r.w)
    if p[4] then a, b = (a * 0.5):sum(0), b:sum(0) end
    return e(r, a, b, r.k)
  end
end

local function range_then(e, p)
  return function(r) return e(r, p[2](r.x, r.t, r.T, r.w), p[2](r.y, r.t, r.T, r.w), r.k) end
end

local function then_read(e, p)
  return function(r) return p[2](r.proxy(e(r, r.x.value, r.y.value, r.k)), r.t, r.T, r.w) end
end

-- The row inside a recurrence of a declared tensor, and under a condition.
local function branch(e)
  return function(r)
    local t = r.t
    local v = e(r, r.x.value, r.y.value, r.k)
    local z = r.P:tensor { domain = { v, t }, shape = v:shape(), dtype = "f64" }
    z:when(t:eq(0), v)
    z:when((t % 3):eq(1), e(r, r.x[t - 1], r.y.value, r.k) * 2)
    z:otherwise(r.proxy(z)[t - 1] * 0.5 + e(r, r.x[t - 1], r.y[t - 1], r.k))
    return z
  end
end

-- weights and losses
-- ----------------------------------------------------------------------------------------------------------

-- A different weight for each place and time, whatever the shape.
local function weigh(v, t)
  local shape, phase = v:shape(), t:value():to "f64" * 0.7
  for i, n in ipairs(shape) do
    local line = tempo.arange({ n }, f64) * (0.4 + i) + i
    for _ = i + 1, #shape do line = line:unsqueeze(-1) end
    phase = phase + line
  end
  return (v * phase:sin()):sum()
end

-- dims: of x and y, without that of the perturbed inputs.
local function record(two, perturbed)
  local P = tempo.program()
  local r = { P = P }
  local domain = {}
  if perturbed then
    r.p = P:dim "p"
    domain[1] = r.p
  end
  if two then
    r.b, r.B = P:dim "b"
    domain[#domain + 1] = r.b
  end
  r.t, r.T = P:dim "t"
  domain[#domain + 1] = r.t
  r.w = P:bound "w"
  -- x[0] belongs to t and positions leave out p, whatever dims there are.
  function r.proxy(value)
    return setmetatable({ value = value }, { __index = function(_, at)
      if type(at) == "number" then return value[{ t = at }] end
      if perturbed and type(at) == "table" and at[1] then return value[{ r.p, unpack(at) }] end
      return value[at]
    end })
  end
  r.inputs = {}
  for _, name in ipairs { "x", "y" } do
    r.inputs[#r.inputs + 1] = P:input(name, { domain = domain, shape = { 2, 3 }, dtype = "f64" })
    r[name] = r.proxy(r.inputs[#r.inputs])
  end
  r.k = P:input("k", { shape = { 2, 3 }, dtype = "i64" })
  return r
end

-- The sum over all points but those of perturbed inputs.
local function total(r, loss)
  loss = loss[{ t = 0 .. r.T }]:sum(0)
  for _, d in ipairs(loss:domain()) do
    if r.b and d == r.b then loss = loss[{ b = 0 .. r.B }]:sum(0) end
  end
  return loss
end

local function slope(r, term, order)
  local v = term(r)
  if order == 1 then return weigh(v, r.t) end
  -- so that linear rows have a second derivative
  local g = tempo.grad(weigh(v * v, r.t), r.inputs)
  return weigh(g[1], r.t) + weigh(g[2], r.t) * 0.5
end

-- comparison
-- ------------------------------------------------------------------------------------------------------------------

local function flatten(v, into)
  if type(v) == "table" then
    for i = 1, #v do flatten(v[i], into) end
  else
    into[#into + 1] = v
  end
  return into
end

-- Both inputs in a line, and the arrays of all perturbations.
local function numbers(shape, seed)
  local r, size, line = helper.rng(seed), 1, {}
  for _, n in ipairs(shape) do size = size * n end
  for i = 1, 2 * size do line[i] = r() * 1.3 end
  local function array(lines, from, lead)
    local flat = {}
    for _, l in ipairs(lines) do
      for i = from + 1, from + size do flat[#flat + 1] = l[i] end
    end
    local extents = { lead }
    for _, n in ipairs(shape) do extents[#extents + 1] = n end
    return tempo.array(flat, "f64", extents)
  end
  local moved = {}
  for i = 1, 2 * size do
    for _, step in ipairs { eps, -eps } do
      local copy = {}
      for j = 1, 2 * size do copy[j] = line[j] end
      copy[i] = line[i] + step
      moved[#moved + 1] = copy
    end
  end
  return { x = array({ line }, 0), y = array({ line }, size), px = array(moved, 0, #moved),
    py = array(moved, size, #moved), count = #moved }
end

local k = tempo.array({ { 0, 1, 1 }, { 1, 0, 1 } }, "i64")

local function with(bounds, terms, count)
  local all = { P = count }
  for name, n in pairs(bounds) do all[name] = n end
  all.w = nil
  -- a bound that nothing mentions is refused
  for _, term in ipairs(terms) do all.w = all.w or (term.window and bounds.w) end
  return all
end

-- nil, or where got is not the quotient of the losses l: +1, -1 for each input.
local function differ(got, l, tolerance)
  local most, at = 0, nil
  for j = 1, #got do
    local want = (l[2 * j - 1] - l[2 * j]) / (2 * eps)
    local off = math.abs(got[j] - want) / math.max(1, math.abs(want))
    if off ~= off or off > most then most, at = off, j end
  end
  if most ~= most or most > tolerance then
    return ("element %d is %.9g, not %.9g"):format(at - 1, got[at],
      (l[2 * at - 1] - l[2 * at]) / (2 * eps))
  end
end

-- Each term's gradient is the quotient, on both tiers. order 2: that of a weighed gradient.
local function compare(wrong, terms, order, over_two, v, bounds)
  local exact, moved = record(over_two), record(over_two, true)
  local outputs, losses = {}, {}
  for i, term in ipairs(terms) do
    local g = tempo.grad(slope(exact, term.f, order), exact.inputs)
    outputs["x" .. i], outputs["y" .. i] = g[1], g[2]
    losses["l" .. i] = total(moved, slope(moved, term.f, order))
  end
  local l = moved.P:compile { outputs = losses }({ x = v.px, y = v.py, k = k },
    with(bounds, terms, v.count))
  for _, tier in ipairs { "reference", "interpreter" } do
    local out = exact.P:compile { outputs = outputs, tier = tier }({ x = v.x, y = v.y, k = k },
      with(bounds, terms))
    for i, term in ipairs(terms) do
      local got = flatten({ out["x" .. i]:totable(), out["y" .. i]:totable() }, {})
      local why = differ(got, l["l" .. i]:totable(), order == 1 and 1e-6 or 1e-5)
      if why then wrong[#wrong + 1] = ("%s, %s: %s"):format(term.name, tier, why) end
    end
  end
end

local together = 12                                -- terms in one program

local function check(name, terms, order, over_two, shape, bounds)
  local v, wrong = numbers(shape, #name + order), {}
  for from = 1, #terms, together do
    compare(wrong, { unpack(terms, from, math.min(from + together - 1, #terms)) }, order, over_two,
      v, bounds)
  end
  if #wrong > 0 then
    error(("%d wrong\n%s"):format(#wrong, table.concat(wrong, "\n", 1, math.min(#wrong, 20))), 0)
  end
end

-- which terms
-- ---------------------------------------------------------------------------------------------------------------------

local ranges, filled = {}, {}
local bounds = { T = 4, w = 2 }
for _, p in ipairs(patterns) do
  if p[4] then
    ranges[#ranges + 1] = p
    local empty = false
    for t = 0, bounds.T - 1 do
      empty = empty or p[4](t, bounds.T, bounds.w) <= p[3](t, bounds.T, bounds.w)
    end
    if not empty then filled[#filled + 1] = p end
  end
end

-- Over two dims. With two dims a pattern of one still says which it means.
local two = {
  { "x[{b = max(b-1, 0), t = max(t-1, 0)}]", function(x, t, _, _, b)
    return x[{ b = tempo.max(b - 1, 0), t = tempo.max(t - 1, 0) }]
  end },
  { "x[{b, min(t+1, T-1)}]", function(x, t, T, _, b) return x[{ b, tempo.min(t + 1, T - 1) }] end },
  { "x[{[b] = 0}]", function(x, _, _, _, b) return x[{ [b] = 0 }] end },
  { "x[{0, T-1}]", function(x, _, T) return x[{ 0, T - 1 }] end },
  { "x transposed", function(x, t, T, _, b, B)
    return x[{ tempo.min(t, B - 1), tempo.min(b, T - 1) }]
  end },
  { "x[{b = 0 .. B}]", function(x, _, _, _, _, B) return x[{ b = 0 .. B }]:sum(0) end },
  { "x[{0 .. b+1, t .. T}]", function(x, t, T, _, b)
    return x[{ 0 .. b + 1, t .. T }]:sum { 0, 1 }
  end },
  { "x[{b, max(0, t-w+1) .. t+1}]", function(x, t, _, w, b)
    return x[{ b, tempo.max(0, t - w + 1) .. t + 1 }]:sum(0)
  end, window = true },
  { "x[t//2]", function(x, t) return x[t:floordiv(2)] end },
}

-- each row with each pattern, not with some in turn: a quarter of an hour
local every = os.getenv "GRAD_ROWS" == "all"

-- `make test`: half of the patterns a row, in turn
local short = os.getenv "TEST_SHORT" and not every

local function some(list, n, turn)
  if every then return list end
  local got = {}
  for i = 1, math.min(n, #list) do got[i] = list[(turn * n + i) % #list + 1] end
  return got
end

local function one_dim(recipe, turn)
  local terms = {}
  local function add(f, p, ...)
    terms[#terms + 1] = { f = f, window = p.window, name = table.concat({ ... }, " ") }
  end
  for i, text in ipairs(recipe.list) do
    local e = expression(text)
    for _, p in ipairs(some(patterns, i == 1 and not short and 2 or 1, turn + i)) do
      add(read_then(e, p), p, text, "of", p[1])
    end
    for _, p in ipairs(some(patterns, i == 1 and (not short or turn % 2 == 0) and 1 or 0,
      3 * turn)) do
      add(then_read(e, p), p, p[1], "of", text)
    end
    if every or i == 1 and turn % (short and 4 or 2) == 0 then
      add(branch(e), {}, "branches with", text)
    end
    if i == 1 and recipe.first then
      for _, p in ipairs(some(recipe.filled and filled or ranges, 1, turn)) do
        add(range_then(e, p), p, text, "of the range", p[1])
      end
    end
  end
  return terms
end

local function two_dims(recipe, turn)
  local terms = {}
  for i, text in ipairs(recipe.list) do
    local e = expression(text)
    for _, p in ipairs(some(two, i == 1 and 1 or 0, turn)) do
      terms[#terms + 1] = { name = text .. " of " .. p[1], window = p.window, f = function(r)
        return e(r, p[2](r.x, r.t, r.T, r.w, r.b, r.B), p[2](r.y, r.t, r.T, r.w, r.b, r.B), r.k)
      end }
    end
  end
  return terms
end

local turn = 0
for _, row in ipairs(rows) do
  local recipe = recipes[row.name]
  if recipe then
    turn = turn + 1
    local here = turn
    describe("the gradient of " .. row.name .. " is the difference quotient's", function()
      setup(helper.quiet)
      teardown(helper.loud)
      it("through the patterns of the indexing table", function()
        check(row.name, one_dim(recipe, here), 1, false, { 4, 2, 3 }, bounds)
      end)

      local tag = here % 4 > 0 and " #long" or ""
      it("over two dims" .. tag, function()
        check(row.name, two_dims(recipe, here), 1, true, { 2, 3, 2, 3 }, { B = 2, T = 3, w = 2 })
      end)

      it("in its turn" .. tag, function()
        local terms = {}
        for i, text in ipairs(recipe.list) do
          local p = patterns[(here * 5 + i) % #patterns + 1]
          terms[#terms + 1] = { name = text .. " of " .. p[1], window = p.window,
            f = read_then(expression(text), p) }
        end
        check(row.name, terms, 2, false, { 4, 2, 3 }, bounds)
      end)
    end)
  end
end

describe("the gradient of dropout", function()
  setup(helper.quiet)
  teardown(helper.loud)
  it("is 0 where x is dropped and 1 / (1 - p) elsewhere", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { 5 }, dtype = "f64" })
    local y = x:dropout(0.3)
    local f = helper.compile(P, { y = y, g = tempo.grad(y, { x })[1] })
    local v = helper.numbers({ 9, 5 }, helper.rng(3))
    local out = f({ x = tempo.array(v, "f64") }, { T = 9 })
    local kept = 0
    for i, row in ipairs(out.y:totable()) do
      for j, value in ipairs(row) do
        if value ~= 0 then kept = kept + 1 end
        helper.same(value / v[i][j], out.g:get(i - 1, j - 1), 1e-12)
      end
    end
    assert.is_true(kept > 20 and kept < 45)
  end)
end)

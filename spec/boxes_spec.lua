-- Index sets that are no box: calls run over their boxes, over ranges that depend on a loop, and
-- over what lies before a recurrence.
local tempo = require "tempo"
local helper = require "spec.helper"

local D, V = 4, 7

-- A small transformer over (t, l). `tokens` makes the tokens and is told how to make more of them;
-- window: a number, a bound or nil.
local function transformer(window, tokens)
  local P = tempo.program()
  local t, T = P:dim "t"
  local l, L = P:dim "l"
  local function weight(name) return P:input(name, { domain = { l }, shape = { D, D } }) end
  local wq, wk, wv, emb = weight "wq", weight "wk", weight "wv",
    P:input("emb", { shape = { V, D } })
  if type(window) == "string" then window = P:bound(window) end
  local prompt = P:input("prompt", { domain = { t }, dtype = "i64" })
  local tok, more = tokens(P, t, prompt)
  local x = P:tensor { domain = { t, l }, shape = { D }, name = "x" }
  x[{ l = 0 }] = emb:index_select(0, tok:unsqueeze(0)):squeeze(0)
  local h = x * (x:square():mean(-1, { keepdim = true }) + 1e-5):rsqrt()
  local q, k, v = h:matmul(wq):name "q", h:matmul(wk):name "k", h:matmul(wv):name "v"
  local first = window and tempo.max(0, t - window + 1) or 0
  local ks, vs = k[{ t = first .. t + 1 }], v[{ t = first .. t + 1 }]
  local y = (x + (ks:matmul(q) * D ^ -0.5):softmax(0):matmul(vs)):tanh():name "y"
  x[{ t, l }] = y[{ l = l - 1 }]
  local logits = y[{ l = L - 1 }]:matmul(emb:mT()):name "logits"
  if more then more(logits) end
  return P, tok, logits, T
end

local function given(_, _, prompt) return prompt end

-- Tokens of a prompt of p, and then the best ones.
local function generated(P, t, prompt)
  local tok, p = P:tensor { domain = { t }, dtype = "i64", name = "tok" }, P:bound "p"
  return tok, function(logits)
    tok:when(t:lt(p), prompt)
    tok:otherwise(logits:argmax(0)[t - 1])
  end
end

local function inputs(b)
  local r = helper.rng(5)
  local function some(...) return helper.array(helper.numbers({ ... }, r), "f32", { ... }) end
  local prompt = helper.array(helper.fill({ b.T }, function() return r(V) end), "i64", { b.T })
  return { wq = some(b.L, D, D), wk = some(b.L, D, D), wv = some(b.L, D, D), emb = some(V, D),
    prompt = prompt }
end

-- The outputs are the reference's at all these bounds, on the interpreter and, if `native`, as
-- native code.
local function agree(P, outputs, bounds, native)
  local reference = P:compile { outputs = outputs, tier = "reference" }
  local f = P:compile { outputs = outputs, tier = "interpreter" }
  local g = native and P:compile { outputs = outputs, tier = "native" } or f
  for _, b in ipairs(bounds) do
    assert.is_true(f:simulate(b))
    local data = inputs(b)
    local want, got, also = reference(data, b), f(data, b), g(data, b)
    for name in pairs(outputs) do
      helper.same(want[name]:totable(), got[name], 1e-4)
      helper.same(want[name]:totable(), also[name], 1e-4)
    end
  end
  return f
end

local function work(f, b)
  local elements, regions = f:explain("work", b):match "^%s*([%d,]+)%s+([%d,]+)%s+elements"
  return tonumber((elements:gsub(",", ""))), tonumber((regions:gsub(",", "")))
end

local some_bounds = { { T = 1, L = 1 }, { T = 1, L = 3 }, { T = 5, L = 1 }, { T = 40, L = 3 },
  { T = 70, L = 2 } }

describe("the last position alone", function()
  for name, window in pairs { ["all before it"] = false, ["a window of 3"] = 3,
    ["a window of w"] = "w" } do
    it("costs less than all of them, with attention to " .. name, function()
      local P, _, logits, T = transformer(window or nil, given)
      local bounds = {}
      for i, b in ipairs(some_bounds) do
        bounds[i] = { T = b.T, L = b.L, w = window == "w" and 1 + i * 4 or nil }
      end
      local last = agree(P, { last = logits[T - 1] }, bounds, window == 3)
      local all = agree(P, { all = logits }, bounds)
      local b = bounds[4]
      local elements, regions = work(last, b)
      local elements_of_all, regions_of_all = work(all, b)
      assert.truthy(elements < elements_of_all, elements .. " elements, of all " .. elements_of_all)
      assert.truthy(regions < 1.2 * regions_of_all,
        regions .. " runs of regions, of all " .. regions_of_all)
    end)
  end

  it("is multiplied alone, all others of a layer at once", function()
    local P, _, logits, T = transformer(nil, given)
    local schedule = P:compile { outputs = { last = logits[T - 1] },
      tier = "interpreter" }:explain "schedule"
    assert.truthy(schedule:find("k[0 .. T, l] = matmul", 1, true), schedule)
    assert.truthy(schedule:find("q[0 .. T, l] = matmul", 1, true), schedule)
    assert.truthy(schedule:find("q[T - 1, L - 1] = matmul", 1, true), schedule)
  end)

  it("asks for a range of positions that depends on the layer", function()
    local P, _, logits, T = transformer(3, given)
    local schedule = P:compile { outputs = { last = logits[T - 1] },
      tier = "interpreter" }:explain "schedule"
    assert.truthy(schedule:find("q[max(0, T + 2*l - 2*L + 1) .. T, l] = matmul", 1, true), schedule)
  end)
end)

describe("a prompt inside the dim", function()
  local bounds = {}
  for _, b in ipairs { { 0, 1 }, { 1, 1 }, { 1, 2 }, { 2, 2 }, { 3, 1 }, { 9, 1 }, { 9, 5 },
    { 9, 9 }, { 70, 66 } } do
    for L = 1, 3, 2 do bounds[#bounds + 1] = { T = b[1], p = b[2], L = L } end
  end

  it("gives the same tokens as one position after the other", function()
    local P, tok = transformer(nil, generated)
    agree(P, { tok = tok }, bounds, true)
  end)

  it("does so with windows, and keeps the keys of the prompt or of the window", function()
    for _, window in ipairs { 3, "w" } do
      local P, tok = transformer(window, generated)
      local mine = {}
      for i, b in ipairs(bounds) do
        mine[i] = { T = b.T, p = b.p, L = b.L, w = window == "w" and 1 + i % 4 or nil }
      end
      local f = agree(P, { tok = tok }, mine, window == "w")
      local w = window == "w" and 3 or nil
      local function bytes(T, p) return f:memory { T = T, p = p, L = 3, w = w } end
      local function row(T) return (bytes(2 * T, 8) - bytes(T, 8)) / T end
      assert.truthy(row(1000) < 16, row(1000) .. " bytes a position")
    end
  end)

  it("may be all there is, or nothing", function()
    local P, tok, logits = transformer(nil, generated)
    agree(P, { tok = tok, best = logits:argmax(0) },
      { { T = 4, p = 4, L = 2 }, { T = 4, p = 7, L = 2 }, { T = 4, p = 1, L = 2 } })
    local f = P:compile { outputs = { tok = tok }, tier = "interpreter" }
    local ok, why = pcall(f, inputs { T = 4, L = 2 }, { T = 4, p = 0, L = 2 })
    assert.falsy(ok)
    assert.truthy(tostring(why):find "p", tostring(why))
  end)

  it("goes layer by layer as matrices", function()
    local P, tok = transformer(nil, generated)
    local f = P:compile { outputs = { tok = tok }, tier = "interpreter" }
    local schedule = f:explain "schedule"
    for _, line in ipairs { "q[0 .. p, l] = matmul", "k[0 .. p, l] = matmul",
      "q[p - 1, L - 1] = matmul", "q[t, l] = matmul" } do
      assert.truthy(schedule:find(line, 1, true), schedule)
    end
    local P2, _, logits, T = transformer(nil, given)
    local apart = P2:compile { outputs = { last = logits[T - 1] }, tier = "interpreter" }
    local inside, regions = work(f, { T = 65, p = 64, L = 4 })
    local outside, regions_apart = work(apart, { T = 64, L = 4 })
    assert.truthy(inside < 1.1 * outside + 1000, inside .. " elements, apart " .. outside)
    assert.truthy(regions < 1.1 * regions_apart + 64,
      regions .. " runs of regions, apart " .. regions_apart)
  end)

  it("keeps rows of the prompt while it is worked on, then one", function()
    local P, tok = transformer(nil, generated)
    local storage = P:compile { outputs = { tok = tok }, tier = "interpreter" }:explain "storage"
    assert.truthy(storage:find("temp y (t: min(T, max(1, p)), l: 1)", 1, true), storage)
    assert.truthy(storage:find("temp y (t: 1, l: 1)", 1, true), storage)
  end)
end)

-- The same of other shapes: what the recurrence reads is a plain state, a loop lies around, time
-- runs backwards.
describe("what lies before a recurrence", function()
  local function warm(backwards)
    local P = tempo.program()
    local t, T = P:dim "t"
    local p = P:bound "p"
    local x, w = P:input("x", { domain = { t }, shape = { 3 } }), P:input("w", { shape = { 3, 3 } })
    local s = P:tensor { domain = { t }, shape = { 3 }, name = "s" }
    local y = s:matmul(w):tanh():name "y"
    if backwards then
      s:when(t:ge(T - p), x)
      s:otherwise(y[t + 1] * 0.5 + x)
    else
      s:when(t:lt(p), x)
      s:otherwise(y[t - 1] * 0.5 + x)
    end
    return P, { y = y }
  end
  for _, backwards in ipairs { false, true } do
    it("is one product, " .. (backwards and "backwards" or "forwards"), function()
      local P, outputs = warm(backwards)
      local reference = P:compile { outputs = outputs, tier = "reference" }
      for _, tier in ipairs { "interpreter", "native" } do
        local f = P:compile { outputs = outputs, tier = tier }
        local schedule = f:explain "schedule"
        assert.truthy(schedule:find("y%[[^%]]+ %.%. [^%]]+%] = matmul"), schedule)
        for _, b in ipairs { { T = 0, p = 1 }, { T = 1, p = 1 }, { T = 5, p = 1 }, { T = 5, p = 4 },
          { T = 5, p = 9 }, { T = 50, p = 20 } } do
          local r = helper.rng(b.T)
          local data = { x = helper.array(helper.numbers({ b.T, 3 }, r), "f32", { b.T, 3 }),
            w = helper.numbers({ 3, 3 }, r) }
          helper.same(reference(data, b).y:totable(), f(data, b).y, 1e-5)
        end
      end
    end)
  end

  it("stays in the loop where something else recurs there, and where few rows lie before",
    function()
    local P = tempo.program()
    local t = P:dim "t"
    local p = P:bound "p"
    local w = P:input("w", { shape = { 3, 3 } })
    local s, e = P:tensor { domain = { t }, shape = { 3 } },
      P:tensor { domain = { t }, shape = { 3 } }
    local y = s:matmul(w):tanh():name "y"
    e[0] = 1
    e[t] = e[t - 1] * 0.9 + y[t - 1]
    s:when(t:lt(p), e)
    s:otherwise(y[t - 1] + e)
    local schedule = P:compile { outputs = { y = y }, tier = "interpreter" }:explain "schedule"
    assert.falsy(schedule:find "y%[0 %.%. p%]", schedule)
  end)
end)

describe("a loop with conditions on its variable", function()
  local function program(backwards)
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local h = P:tensor { domain = { t }, name = "h" }
    if backwards then
      h[T - 1] = x
      h[t] = h[t + 1] * 0.5 + x
    else
      h[0] = x
      h[t] = h[t - 1] * 0.5 + x
    end
    local outputs = { h = h }
    for k = 1, 6 do
      local y = P:tensor { domain = { t } }
      if k % 2 == 0 then y:when(t:ge(T - k), x) else y:when(t:lt(k), x) end
      y:otherwise(h * k + (k % 2 == 0 and h[t + k] or h[t - k]))
      outputs["y" .. k] = y
    end
    return P, outputs
  end

  for _, backwards in ipairs { false, true } do
    it("has a middle part without them, " .. (backwards and "backwards" or "forwards"), function()
      local P, outputs = program(backwards)
      local reference = P:compile { outputs = outputs, tier = "reference" }
      for _, tier in ipairs { "interpreter", "native" } do
        local f = P:compile { outputs = outputs, tier = tier }
        for _, T in ipairs { 0, 1, 2, 3, 5, 6, 7, 11, 30 } do
          local data = { x = helper.array(helper.numbers({ T }, helper.rng(T)), "f32", { T }) }
          local want, got = reference(data, { T = T }), f(data, { T = T })
          if tier == "interpreter" then assert.is_true(f:simulate { T = T }) end
          for name in pairs(outputs) do helper.same(want[name]:totable(), got[name], 1e-5) end
        end
      end
    end)
  end

  it("has no condition for each of many ends", function()
    local P, outputs = program(false)
    local schedule = P:compile { outputs = outputs, tier = "interpreter" }:explain "schedule"
    local free = false
    for body in schedule:gmatch "for t[^\n]*{\n(.-)\n}" do
      local _, statements = body:gsub("%] = ", "")
      free = free or (statements >= 4 and not body:find "if ")
    end
    assert.is_true(free, schedule)
  end)
end)

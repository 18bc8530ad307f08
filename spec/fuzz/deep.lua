-- Random programs of layers over time: a state over time and layers, attention over windows of all
-- kinds, what was given before a recurrence, parts put together under products, weights of 16 bits
-- and weights of long rows; few points are shown. generate(seed) gives a case as
-- spec/fuzz/generate.lua does.
local helper = require "spec.helper"
local generate = require "spec.fuzz.generate"
local M = {}

local NAMES, BOUNDS = { "i", "j", "k" }, { "I", "J", "K" }
local OPTIONS = { "passes = 'none'", "passes = { parts = false }", "passes = { vectorize = false }",
  "passes = { fuse = false }", "precise = true", "passes = { tile = false, rows = false }",
  "passes = { incremental = false }" }

local G = {}
G.__index = G

function G:chance(p) return self.r(1000) < p * 1000 end
function G:pick(list) return list[self.r(#list) + 1] end

-- One of the texts and functions of a list.
function G:one(list)
  local e = self:pick(list)
  return type(e) == "function" and e() or e
end

local function list_text(t) return "{" .. table.concat(t, ", ") .. "}" end

local function dom_text(dom)
  local t = {}
  for d = 1, 3 do t[#t + 1] = dom[d] and NAMES[d] or nil end
  return list_text(t)
end

-- A statement; it needs all names that occur in its code.
function G:emit(name, code, more)
  local s = { name = name, code = code, deps = {} }
  for k, v in pairs(more or {}) do s[k] = v end
  for word in code:gmatch "[%a_][%w_]*" do
    if self.known[word] and word ~= name and word ~= s.of then s.deps[#s.deps + 1] = word end
  end
  self.known[name] = true
  table.insert(self.case.stmts, s)
  return name
end

function G:fresh(letter)
  self.n = self.n + 1
  return letter .. self.n
end

function G:let(letter, expr, dom, shape)
  local name = self:fresh(letter)
  return self:emit(name, name .. " = " .. expr,
    { dom = dom, shape = shape, dtype = dom and self.float })
end

function G:input(dom, shape, dtype, factor)
  local name = self:fresh "x"
  return self:emit(name, ('%s = P:input("%s", { domain = %s, shape = %s, dtype = "%s" })'):format(
    name, name, dom_text(dom), list_text(shape), dtype or self.float),
    { leaf = true, dom = dom, shape = shape, dtype = dtype or self.float, factor = factor })
end

function G:some_dom()
  return self:pick { {}, {}, { [self.e] = true }, { [self.e] = true }, { [self.d] = true },
    { [self.d] = true, [self.e] = true }, self.b and { [self.b] = true } or {} }
end

-- A matrix of n rows and m columns, as text. Its numbers are small: no step may make an error
-- larger.
function G:weight(n, m)
  local turned = self:chance(0.5)
  local dtype = self:chance(0.35) and self:pick { "f16", "bf16" } or self.float
  local w = self:input(self:some_dom(), turned and { m, n } or { n, m }, dtype, 0.5 / n)
  local to = dtype ~= self.float and (':to "%s"'):format(self.float) or ""
  if not turned then return w .. to end
  return self:chance(0.5) and w .. ":mT()" .. to or w .. to .. ":mT()"
end

-- Chooses where attention at a point looks: text of a range, and whether it may be empty.
function G:window(any)
  local t, T, l = self.t, self.T, self.l
  local function past()
    return self:pick {
      "0 .. @ + 1", "0 .. @ + 1", "tempo.max(0, @ - 2) .. @ + 1", "tempo.max(0, @ - w) .. @ + 1",
      "tempo.max(0, @ - w + 1) .. @ + 1", "tempo.floordiv(@, 2) .. @ + 1",
      "tempo.max(0, @ - p) .. @ + 1", "tempo.floordiv(@, 3) * 3 .. @ + 1",
      "tempo.max(0, @ - $) .. @ + 1", "tempo.max(0, @ - 2 * $ - 1) .. @ + 1",
      "tempo.min(@, p) .. @ + 1", "0 .. tempo.floordiv(@, 2) + 1", "tempo.floordiv(@, 2) .. @",
      "0 .. @", "tempo.max(0, @ - 3) .. @ - 1", "0 .. tempo.min(@ + 1, p)",
      "tempo.max(0, @ - w) .. tempo.max(0, @ - 1) + 1",
    }
  end
  local function future()
    return self:pick {
      "@ .. #", "@ .. #", "@ .. tempo.min(@ + 3, #)", "@ .. tempo.min(@ + w + 1, #)",
      "@ .. tempo.min(@ + w, #)", "@ + 1 .. #", "@ .. tempo.min(@ + $ + 1, #)",
      "@ .. tempo.min(2 * @ + 1, #)",
    }
  end
  local text
  if any then
    text = self:one { past, past, past, future, "0 .. #", "0 .. tempo.min(p, #)",
      "tempo.max(0, @ - 1) .. tempo.min(@ + 2, #)", "0 .. tempo.min(@ + $ + 1, #)",
      "tempo.max(0, @ - $) .. tempo.min(@ + $ + 1, #)" }
  else
    text = self.forward and past() or future()
  end
  return (text:gsub("@", t):gsub("#", T):gsub("%$", l))
end

-- Makes the rows that attention sees of v of shape {D}.
function G:rows_of(v, range, given)
  local r = ("%s[{ %s = %s }]"):format(v, self.t, range)
  if not given then return r end
  local x = self:input(given.dom, given.shape)
  if given.after then return ("tempo.cat({ %s, %s }, 0)"):format(r, x) end
  return ("tempo.cat({ %s, %s }, 0)"):format(x, r)
end

function G:attention(x)
  local D, full = self.D, self.full
  local q = self:let("q", x .. ":matmul(" .. self:weight(D, D) .. ")", full, self.shape)
  local row = self.R and self:one { x .. ":select(0, 0)", x .. ":mean(0)" } or x
  local k = self:let("k", row .. ":matmul(" .. self:weight(D, D) .. ")", full, { D })
  local v = self:chance(0.3) and k
    or self:let("v", row .. ":matmul(" .. self:weight(D, D) .. "):sin()", full, { D })
  local range = self:window(self.plain)
  local given
  if self:chance(0.4) then
    given = { dom = self:some_dom(), shape = { self:one { "p", 1, 2, 5 }, D },
      after = self:chance(0.3) }
  end
  local ks, vs = self:rows_of(k, range, given), self:rows_of(v, range, given)
  if self:chance(0.5) then ks, vs = self:let("ks", ks), self:let("vs", vs) end
  if self.R then
    return self:one {
      ("(%s:matmul(%s:mT()) * 0.5):softmax(-1):matmul(%s)"):format(q, ks, vs),
      ("(%s:matmul(%s:mT()) * 0.5):softmax(-1):matmul(%s)"):format(q, ks, vs),
      ("%s:matmul(%s:mT()):sin():matmul(%s)"):format(q, ks, vs),
      ("(%s:matmul(%s:mT()) * 0.5):softmax(-1):matmul(%s)"):format(q, ks, ks),
    }
  end
  return self:one {
    ("(%s:matmul(%s) * 0.5):softmax(0):matmul(%s)"):format(ks, q, vs),
    ("(%s:matmul(%s) * 0.5):softmax(0):matmul(%s)"):format(ks, q, vs),
    ("(%s:matmul(%s:mT()) * 0.5):softmax(-1):matmul(%s)"):format(q, ks, vs),
    ("%s:matmul(%s):sin():matmul(%s)"):format(ks, q, vs),
    ("%s:mT():matmul(%s):matmul(%s)"):format(vs, ks, q),
    ("((%s * %s:unsqueeze(0)):sum(-1):softmax(0):unsqueeze(1) * %s):sum(0)"):format(ks, q, vs),
    ("(%s + %s):sin():sum(0)"):format(ks, q),
  }
end

-- Sums over rows of time and of layers.
function G:two_ranges(x)
  local l = self.l
  local layers = self.up
    and self:one { "0 .. @ + 1", "tempo.max(0, @ - 1) .. @ + 1", "tempo.floordiv(@, 2) .. @ + 1" }
    or self:one { "@ .. #", "@ .. tempo.min(@ + 2, #)" }
  layers = layers:gsub("@", l):gsub("#", self.L)
  local r = ("%s[{ %s = %s, %s = %s }]"):format(x, self.t, self:window(self.plain), l, layers)
  return self:one { r .. ":sum({0, 1})", r .. ":sin():sum({0, 1})", r .. ":sum(0):tanh():sum(0)",
    r .. ":sum(1):tanh():sum(0)" }
end

-- Makes a layer over x; returns its name.
function G:layer(x)
  local D, full = self.D, self.full
  local e = x
  for _ = 1, self:pick { 1, 1, 2 } do
    e = ("(%s + %s)"):format(e, self:one {
      function() return self:attention(x) end,
      function() return self:attention(x) end,
      function() return self:two_ranges(x) end,
      function() return x .. ":matmul(" .. self:weight(D, D) .. ")" end,
      function()
        local H = self:pick { 1, 2, 5, 16, 33 }
        return ("%s:matmul(%s):tanh():matmul(%s)"):format(x, self:weight(D, H), self:weight(H, D))
      end,
      function() return self:input(self:some_dom(), { D }) end,
    })
  end
  if self:chance(0.25) then                            -- a state along time in each layer
    local s, t = self:fresh "s", self.t
    self:emit(s, ('%s = P:tensor { domain = %s, shape = %s, dtype = "%s" }'):format(s,
      dom_text(full), list_text(self.shape), self.float),
      { dom = full, shape = self.shape, dtype = self.float })
    self:emit(s .. "#0", ("%s[{ %s = %s }] = %s"):format(s, t, self.start,
      self:input(self:chance(0.5) and { [self.e] = true } or {}, self.shape)), { of = s })
    self:emit(s .. "#1", ("%s:otherwise((%s[{ %s = %s }] * 0.5 + %s):tanh())"):format(s, s, t,
      self.before, e), { of = s })
    e = s .. " + " .. x
  end
  return self:let("y", ("(%s):tanh()"):format(e), full, self.shape)
end

-- Conditions under which what was given holds, in place of what was made before.
function G:conditions()
  local t = self.forward and self.t or ("(%s - 1 - %s)"):format(self.T, self.t)
  local first = self:pick { "@:lt(p)", "@:lt(p)", "@:lt(p)", "@:lt(1)", "@:lt(2)", "@:le(p)",
    "@:lt(tempo.max(1, p))", "@:lt(tempo.max(1, w))", "@:lt(p):lor(@:lt(w))", "@:lt(p - 1)" }
  local list = { first }
  if self:chance(0.3) then
    list[2] = self:pick { "@:lt(w)", "@:eq(p + 1)", "tempo.mod(@, 3):eq(0)", "@:lt(p + 2)",
      "@:ge(p + 4)", "@:eq(w)" }
  end
  if self:chance(0.2) then list[1], list[2] = list[2] or "@:lt(1)", list[1] end
  for k, c in ipairs(list) do list[k] = c:gsub("@", t) end
  return list
end

-- Begins at the first layer: with given values, or with some made of the last layer's.
function G:begin(x, y)
  local dom = { [self.d] = true, [self.b or self.d] = true }
  local first = ("%s[{ %s = %s }]"):format(x, self.l, self.bottom)
  if self.plain then
    self:emit(x .. "#0", ("%s = %s"):format(first, self:input(dom, self.shape)), { of = x })
    return self:emit(x .. "#1", ("%s:otherwise(%s[{ %s = %s }])"):format(x, y, self.l, self.below),
      { of = x })
  end
  local tok = self.tok
  local last = ("%s[{ %s = %s, %s = %s }]"):format(y, self.l, self.top, self.t, self.before)
  for n, c in ipairs(self:conditions()) do
    self:emit(tok .. "#" .. n, ("%s:when(%s, %s)"):format(tok, c, self:input(dom, self.shape)),
      { of = tok })
  end
  self:emit(tok .. "#", ("%s:otherwise((%s * 0.7 + %s):tanh())"):format(tok, last,
    self:input(self:chance(0.5) and dom or {}, {})), { of = tok })
  self:emit(x .. "#0", ("%s = %s"):format(first, tok), { of = x })
  self:emit(x .. "#1", ("%s:otherwise(%s[{ %s = %s }])"):format(x, y, self.l, self.below),
    { of = x })
end

function G:show(expr)
  local o = self:let("o", expr)
  table.insert(self.case.outputs, o)
  return o
end

-- Few points.
function G:outputs(y)
  local T, L, t, l = self.T, self.L, self.t, self.l
  local layer = self:pick { L .. " - 1", L .. " - 1", L .. " - 1", "0" }
  local function at(text) return ("%s[{ %s = %s, %s = %s }]"):format(y, t, text, l, layer) end
  for _ = 1, self:pick { 1, 1, 1, 2, 3 } do
    self:show(self:one {
      at(T .. " - 1"), at(T .. " - 1"), at(T .. " - 1"), at "0", at(T .. " - 2"),
      at(("tempo.min(p, %s - 1)"):format(T)), at "p - 1",
      at(("tempo.floordiv(%s, 2)"):format(t)), at(t),
      ("%s[{ %s = %s - 1 }]"):format(y, t, T), ("%s[{ %s = 0 }]"):format(y, t),
      at(("tempo.max(0, %s - 3) .. %s"):format(T, T)) .. ":sum(0)",
      at(T .. " - 1") .. ":matmul(" .. self:weight(self.D, self:pick { 1, 3, 40 }) .. ")",
      at(t) .. ":matmul(" .. self:weight(self.D, self:pick { 1, 3, 40 }) .. ")",
      self.tok or at(T .. " - 1"), y,
    })
  end
  if self:chance(0.25) then
    local inputs = {}
    for _, s in ipairs(self.case.stmts) do
      if s.leaf and s.dtype == self.float then inputs[#inputs + 1] = s.name end
    end
    local loss = self:show(self:pick { at(T .. " - 1"), at(t), y } .. ":square():sum()")
    for _ = 1, self:pick { 1, 2 } do
      self:show(("tempo.grad(%s, { %s })[1]"):format(loss, self:pick(inputs)))
    end
  end
end

function G:bounds()
  local function add(T, p)
    local b = { w = self.r(5), p = p }
    for d = 1, self.ndim do b[BOUNDS[d]] = self.r(4) + 1 end
    b[self.T] = T
    table.insert(self.case.bounds, b)
    return b
  end
  add(self.r(6) + 3, self.r(3) + 1)
  local T = self.r(7) + 1
  add(T, T)
  add(T, T + self.r(3) + 1)
  add(T, 0).w = 0
  add(1, self.r(2) + 1)
  add(0, self.r(3))
  for _ = 1, 4 do
    T = self.r(12) + 2
    add(T, self.r(T))
  end
  T = self.r(30) + 10
  add(T, self.r(T)).w = self:pick { 2, 4, 16, T, T + 3 }
end

function M.generate(seed)
  local self = setmetatable({ r = helper.rng(seed), n = 0,
    known = { p = true } }, G)
  for _ = 1, 5 do self.r(2) end
  self.ndim = self:pick { 2, 2, 2, 3 }
  self.d = self.r(self.ndim) + 1
  self.e = self.r(self.ndim - 1) + 1
  if self.e >= self.d then self.e = self.e + 1 end
  for d = 1, self.ndim do if d ~= self.d and d ~= self.e then self.b = d end end
  self.float = self:pick { "f32", "f64" }
  self.t, self.T, self.l, self.L = NAMES[self.d], BOUNDS[self.d], NAMES[self.e], BOUNDS[self.e]
  self.forward, self.up = self:chance(0.8), self:chance(0.8)
  self.plain = self:chance(0.4)
  self.start = self.forward and "0" or self.T .. " - 1"
  self.before = self.t .. (self.forward and " - 1" or " + 1")
  self.below = self.l .. (self.up and " - 1" or " + 1")
  self.bottom, self.top = "0", self.L .. " - 1"
  if not self.up then self.bottom, self.top = self.top, self.bottom end
  self.D = self:pick { 1, 2, 3, 4, 4, 8, 17 }
  self.R = self:chance(0.25) and self:pick { 1, 2, 5, 9 } or nil
  self.shape = self.R and { self.R, self.D } or { self.D }
  self.full = { [self.d] = true, [self.e] = true }
  if self.b then self.full[self.b] = true end
  self.case = { seed = seed, stmts = {}, outputs = {}, ndim = self.ndim, bounds = {}, rows = true,
    options = generate.options(seed, OPTIONS) }
  self:emit("p", 'p = P:bound "p"')
  self:show "p:value()"
  local function state(letter, dom)
    local name = self:fresh(letter)
    return self:emit(name, ('%s = P:tensor { domain = %s, shape = %s, dtype = "%s" }'):format(name,
      dom_text(dom), list_text(self.shape), self.float),
      { dom = dom, shape = self.shape, dtype = self.float })
  end
  if not self.plain then
    self.tok = state("h", { [self.d] = true, [self.b or self.d] = true })
  end
  local x = state("h", self.full)
  local y = self:layer(x)
  self:begin(x, y)
  self:outputs(y)
  self:bounds()
  return self.case
end

return M

-- Random programs in which data picks: few classes, so that many of the 64 to 300 points or
-- elements pick the same one. Picks, additions to what is picked, losses of picked logits, states
-- of which data says what changes; differentiated by what all points share. generate(seed) gives a
-- case as spec/fuzz/generate.lua does.
local helper = require "spec.helper"
local generate = require "spec.fuzz.generate"
local M = {}

local NAMES, BOUNDS = { "i", "j" }, { "I", "J" }
local OPTIONS = { "passes = 'none'", "passes = { fuse = false }", "passes = { vectorize = false }",
  "precise = true",
                  "passes = { rows = false, algebra = false }",
                    "passes = { tile = false, incremental = false }" }

local G = {}
G.__index = G

function G:chance(p) return self.r(1000) < p * 1000 end
function G:pick(list) return list[self.r(#list) + 1] end

local function list_text(t) return "{" .. table.concat(t, ", ") .. "}" end

local function dom_text(dom)
  local t = {}
  for d = 1, 2 do t[#t + 1] = dom[d] and NAMES[d] or nil end
  return list_text(t)
end

function G:dims(chance)
  local dom = {}
  for d = 1, self.ndim do dom[d] = self:chance(chance) or nil end
  return dom
end

function G:emit(letter, expr, more)
  self.n = self.n + 1
  local s = { name = letter .. self.n, deps = self.deps }
  for k, v in pairs(more or {}) do s[k] = v end
  s.code = s.code or ("%s = %s"):format(s.name, expr)
  table.insert(self.case.stmts, s)
  self.deps = { s.name, table.unpack(self.deps) }
  return s.name
end

function G:input(dom, shape, dtype)
  local name = "x" .. self.n + 1
  local text = ('P:input("%s", { domain = %s, shape = %s, dtype = "%s" })'):format(name,
    dom_text(dom), list_text(shape), dtype)
  return self:emit("x", text, { leaf = true, dom = dom, shape = shape, dtype = dtype })
end

-- How many places; along a long axis also a prime, of which squares pick one again after more than
-- 64 elements only.
function G:classes()
  return self.long > 7 and self:chance(0.4) and self:pick { 131, 139, 149, 157, 167 }
    or self.r(4) + 2
end

-- Places, one of `classes` each.
function G:index(shape, classes)
  local n = shape[#shape]
  if n and (classes > 5 or self:chance(0.15)) then
    local far = ("tempo.arange({ %d }, { dtype = 'i64' }):square()"):format(n)
    return ("((%s + %s) %% %d)"):format(far,
      self:input(self:dims(0.6), #shape > 1 and { shape[1], 1 } or {}, "i64"), classes)
  end
  if #shape == 0 and self:chance(0.2) then
    local d = self.r(self.ndim) + 1
    return ("((%s:value() * 3 + %d) // 2 %% %d)"):format(NAMES[d], self.r(4), classes)
  end
  return ("(%s %% %d)"):format(self:input(self:dims(0.8), shape, "i64"), classes)
end

function G:value(shape) return self:input(self:dims(0.6), shape, self.float) end

-- Makes a tensor that all points share, or those of few dims.
function G:shared(shape)
  local dom = self:chance(0.8) and {} or self:dims(0.4)
  if self:chance(0.5) then return self:input(dom, shape, self.float) end
  local init = self:input(dom, shape, self.float)
  local name = "w" .. self.n + 1
  return self:emit("w", ('P:param("%s", { domain = %s, shape = %s, dtype = "%s", init = %s })')
    :format(name, dom_text(dom), list_text(shape), self.float, init))
end

-- x with v at place k.
local function put(x, classes, k, v)
  return ("tempo.where(tempo.arange({ %d }, { dtype = 'i64' }):eq(%s), %s, %s)"):format(classes, k,
    v, x)
end

-- A loss at each point, of `th` of shape {classes}.
function G:loss_of_few(th, classes)
  local function k() return self:index({}, classes) end
  local function some() return self:index({ self:pick { 3, 9, 17, self.long } }, classes) end
  local x = self:pick { th, ("(%s * %s)"):format(th, self:value {}),
    ("(%s + %s)"):format(th, self:value { classes }) }
  return self:pick {
    function() return ("%s:cross_entropy(%s)"):format(x, k()) end,
    function() return ("tempo.dist.Categorical({ logits = %s }):log_prob(%s)"):format(x, k()) end,
    function() return ("%s:nll_loss(%s)"):format(x, k()) end,
    function() return ("%s:select(0, %s)"):format(x, k()) end,
    function() return ("%s:index_select(0, %s):sin()"):format(x, k()) end,
    function() return ("%s:index_select(0, %s):sum()"):format(x, some()) end,
    function() return ("%s:gather(0, %s):sin():sum()"):format(x, some()) end,
    function() return ("%s:gather(0, %s:reshape { 1 }):sum()"):format(x, k()) end,
    function()
      return ('(tempo.arange({ %d }, { dtype = "i64" }):eq(%s):to "%s" * %s):sum()'):format(classes,
        k(), self.float, x)
    end,
    function() return ("%s:tanh():sum()"):format(put(x, classes, k(), self:value {})) end,
  }()
end

-- The same of a matrix, of rows and columns.
function G:loss_of_rows(th, classes)
  local rows = { self:pick { 2, 8, self.long } }
  return self:pick {
    function() return ("%s:index_select(0, %s):sum()"):format(th, self:index({}, classes)) end,
    function()
      return ("%s:index_select(0, %s):sin():sum()"):format(th, self:index(rows, classes))
    end,
    function()
      return ("(%s:select(0, %s) * %s):sum()"):format(th, self:index({}, classes), self:value { 3 })
    end,
    function()
      return ("%s:gather(0, %s):sum()"):format(th, self:index({ rows[1], 3 }, classes))
    end,
    function()
      return ("%s:gather(1, %s):sin():sum()"):format(th, self:index({ classes, rows[1] }, 3))
    end,
  }()
end

function G:gradient()
  local classes = self:classes()
  local th, loss
  if self:chance(0.7) then
    th = self:shared { classes }
    loss = self:loss_of_few(th, classes)
  else
    th = self:shared { classes, 3 }
    loss = self:loss_of_rows(th, classes)
  end
  if self:chance(0.5) then loss = ("%s * %s"):format(loss, self:value {}) end
  return ("tempo.grad(%s, { %s })[1]"):format(loss, th)
end

-- Added up where data says, at each point; over points, mostly.
function G:hits()
  local classes, n = self:classes(), self:pick { 1, 4, 8, self.long, self.long }
  local base, k, v, axis
  if self:chance(0.6) then
    base, k, v, axis = { classes }, self:index({ n }, classes), self:value { n }, 0
  elseif self:chance(0.5) then
    base, k, v, axis = { classes, 3 }, self:index({ n, 3 }, classes), self:value { n, 3 }, 0
  else
    base, k, v, axis = { 2, classes }, self:index({ 2, n }, classes), self:value { 2, n }, 1
  end
  local from = self:chance(0.6)
    and ('tempo.zeros(%s, { dtype = "%s" })'):format(list_text(base), self.float)
    or self:value(base)
  local y = self:emit("y", ("%s:scatter_add(%d, %s, %s)"):format(from, axis, k, v))
  local sum = y
  for d = 1, self.ndim do
    local domain = ("%s + tempo.zeros({}, { dtype = '%s' }) * %s:value():to '%s'"):format(sum,
      self.float, NAMES[d], self.float)
    if self:chance(0.7) then
      sum = ("(%s)[{ %s = 0 .. %s }]:sum(0)"):format(domain, NAMES[d], BOUNDS[d])
    end
  end
  return sum
end

-- A state of which data says what changes.
function G:state()
  local classes = self.r(4) + 2
  local d, dom = self.r(self.ndim) + 1, self:dims(0.5)
  dom[d] = true
  local n = NAMES[d]
  local init = self:input({}, { classes }, self.float)
  local h = "h" .. self.n + 1
  self:emit("h",
    ('P:tensor { domain = %s, shape = {%d}, dtype = "%s" }'):format(dom_text(dom), classes,
    self.float))
  local last = ("%s[{ %s = %s - 1 }]"):format(h, n, n)
  local function k()
    if self:chance(0.3) then return ("%s:%s(0)"):format(last, self:pick { "argmax", "argmin" }) end
    local where = self:chance(0.7) and dom or {}        -- or the same place at each step
    return ("(%s %% %d)"):format(self:input(where, {}, "i64"), classes)
  end
  local v = self:input(dom, {}, self.float)
  local at = k()
  local step = self:pick {
    put(last, classes, at, v),
      put(last, classes, at, ("(%s:select(0, %s) * 0.9 + %s)"):format(last, at, v)),
    ("%s:scatter_add(0, %s:reshape { 1 }, %s:reshape { 1 })"):format(last, at, v),
    put(last, classes, at, ("%s * 0.5 + %s"):format(last, v)),
  }
  -- further rows of this step, often the same one: the last wins
  for _ = 1, self:pick { 0, 0, 1, 2 } do
    step = put(step, classes, self:chance(0.3) and at or k(), self:input(dom, {}, self.float))
  end
  self:emit("z", nil, { of = h, code = ("%s[{ %s = 0 }] = %s"):format(h, n, init) })
  self:emit("z", nil, { of = h, code = ("%s:otherwise(%s)"):format(h, step) })
  if self:chance(0.3) then
    return ("tempo.grad(%s[{ %s = %s - 1 }]:square():sum(), { %s })[1]"):format(h, n, BOUNDS[d],
      init)
  end
  return self:chance(0.5) and h or ("%s[{ %s = %s - 1 }]"):format(h, n, BOUNDS[d])
end

-- One dim long, then the other; long axes only where dims are short.
function G:bounds()
  local long = self.long == 7
  for k = 1, long and self.ndim or 2 do
    local b = { w = self.r(4) }
    for d = 1, self.ndim do b[BOUNDS[d]] = long and d == k and self.r(237) + 64 or self.r(4) + 1 end
    table.insert(self.case.bounds, b)
  end
end

function M.generate(seed)
  local self = setmetatable({ r = helper.rng(seed), n = 0, deps = {} }, G)
  for _ = 1, 5 do self.r(2) end
  self.ndim = self:pick { 1, 1, 2 }
  self.float = self:pick { "f32", "f32", "f32", "f64" }
  self.long = self:chance(0.7) and 7 or self.r(237) + 64
  self.case = { seed = seed, stmts = {}, outputs = {}, ndim = self.ndim, bounds = {},
    options = generate.options(seed, OPTIONS) }
  for _ = 1, self.r(2) + 1 do
    local form = self:pick { "gradient", "gradient", "gradient", "hits", "hits", "state" }
    table.insert(self.case.outputs, self:emit("o", self[form](self)))
  end
  self:bounds()
  return self.case
end

return M

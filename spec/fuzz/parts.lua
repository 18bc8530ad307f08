-- Random programs whose carried states change in part: rows and elements by `where`, `put`,
-- `scatter_add`, concatenations of parts, products; read at several offsets, whole and by ranges,
-- differentiated. generate(seed) gives a case as spec/fuzz/generate.lua does.
local helper = require "spec.helper"
local generate = require "spec.fuzz.generate"
local M = {}

local NAMES, BOUNDS = { "i", "j", "k" }, { "I", "J", "K" }
local OPTIONS = { "passes = { rows = false }", "passes = 'none'", "passes = { vectorize = false }",
  "passes = { fuse = false }", "passes = { algebra = false }",
                  "passes = { tile = false, rows = false }", "precise = true" }

local G = {}
G.__index = G

function G:chance(p) return self.r(1000) < p * 1000 end
function G:pick(list) return list[self.r(#list) + 1] end

function G:emit(name, code, more)
  local s = { name = name, code = code, deps = {} }
  for k, v in pairs(more or {}) do s[k] = v end
  table.insert(self.case.stmts, s)
  return s
end

function G:fresh(letter)
  self.n = self.n + 1
  return letter .. self.n
end

local function list_text(t) return "{" .. table.concat(t, ", ") .. "}" end

-- Some of the dims of the state; of all, that of the recurrence among them, for a state.
function G:dims(with)
  local dom = {}
  for d = 1, self.ndim do
    dom[d] = (d == with or (with or self.dom[d]) and self:chance(0.6)) or nil
  end
  return dom
end

local function dom_text(dom)
  local t = {}
  for d = 1, 3 do t[#t + 1] = dom[d] and NAMES[d] or nil end
  return list_text(t)
end

function G:input(dom, shape, dtype)
  local name = self:fresh "x"
  local code = ('%s = P:input("%s", { domain = %s, shape = %s, dtype = "%s" })'):format(name, name,
    dom_text(dom), list_text(shape), dtype)
  self:emit(name, code, { leaf = true, dom = dom, shape = shape, dtype = dtype })
  table.insert(self.deps, name)
  return name
end

-- Makes a value for a state of `shape`, or one that broadcasts: an input, a number of the
-- index, a value of the state itself.
function G:value(shape, dtype, p)
  local all = self:chance(0.5) and shape or {}
  return self:pick {
    function() return self:input(self:dims(), all, dtype) end,
    function() return ('(%s:value() %% 5):to "%s"'):format(NAMES[self.d], dtype) end,
    function() return self:pick { "0", "1" } end,
    function()
      return ('%s:max() * %s:to "%s"'):format(p, self:input(self:dims(), {}, "i64"), dtype)
    end,
    function() return dtype == "f64" and p .. " * 0.5" or ("(%s + 1) %% 7"):format(p) end,
    function() return ('%s:flip(0) * 1'):format(p) end,
  }()
end

-- A number of the axis, or one beside it; as data, by data or by an index.
function G:index(n)
  local dom = self:dims()
  return self:pick {
    function() return self:input(dom, {}, "i64") end,
    function() return self:input(dom, {}, "i64") .. ":abs() % " .. n end,
    function()
      return self:input(dom, {}, "i64") .. ':to "f32"' .. self:pick { "", " * 0.5", " + 0.25" }
    end,
    function() return ("(%s %% %d):value()"):format(NAMES[self.d], n) end,
    function() return ("%s:value()"):format(NAMES[self.d]) end,
    function() return tostring(self.r(n + 1)) end,
  }()
end

-- p where one index of an axis is k is something else.
function G:choice(p, shape, dtype)
  local a = self.r(#shape) + 1
  local index = ('tempo.arange({%d}%s)'):format(shape[a],
    self:pick { "", ', { dtype = "i64" }', ', { dtype = "i32" }' })
  local k = self:index(shape[a])
  if k:find "^%d" then index, k = index, 'tempo.full({}, ' .. k .. ', { dtype = "i64" })' end
  local ones = {}
  for i = 1, #shape do ones[i] = i == a and shape[a] or 1 end
  local no = self:chance(0.3)
  local c
  if self:chance(0.5) then c = ("%s:%s(%s)"):format(index, no and "ne" or "eq", k)
  else c = ("(%s):%s(%s)"):format(k, no and "ne" or "eq", index) end
  if #shape > 1 and a < #shape or self:chance(0.2) then
    c = ("%s:reshape %s"):format(c, list_text(ones))
  end
  if self:chance(0.2) then no, c = not no, ("%s:lnot()"):format(c) end
  if not no and self:chance(0.3) then
    c = ("%s:land(%s:gt(0))"):format(c, self:input(self:dims(), {}, "i64"))
  end
  local v = self:value(shape, dtype, p)
  return no and ("tempo.where(%s, %s, %s)"):format(c, p, v)
    or ("tempo.where(%s, %s, %s)"):format(c, v, p)
end

-- p with a few rows between others, in their places or not.
function G:parts(p, shape, dtype)
  local a = self.r(#shape)
  local n = shape[a + 1]
  local at = self:chance(0.5) and ("%s %% %d"):format(NAMES[self.d], n) or tostring(self.r(n))
  local inner = {}
  for i = 1, #shape do inner[i] = i == a + 1 and 1 or shape[i] end
  local row = self:pick {
    function() return self:input(self:dims(), inner, dtype) end,
    function()
      return ("%s:slice(%d, %s, (%s) + 1)"):format(p, a, at, at)
        .. (dtype == "f64" and " * 0.5" or " + 1")
    end,
    function() return ("%s:slice(%d, 0, 1)"):format(p, a) end,
    function() return ("%s:slice(%d, %d, %d):neg()"):format(p, a, n - 1, n) end,
  }()
  local head, tail = ("%s:slice(%d, 0, %s)"):format(p, a, at),
    ("%s:slice(%d, (%s) + 1, %d)"):format(p, a, at, n)
  if self:chance(0.2) then
    return ("tempo.cat({ %s:slice(%d, 1, %d), %s }, %d)"):format(p, a, n, row, a)
  end
  if self:chance(0.15) then return ("tempo.cat({ %s, %s, %s }, %d)"):format(tail, row, head, a) end
  if self:chance(0.15) then                            -- the first and the last change places
    local function one(lo) return ("%s:slice(%d, %d, %d)"):format(p, a, lo, lo + 1) end
    return ("tempo.cat({ %s, %s:slice(%d, 1, %d), %s }, %d)"):format(one(n - 1), p, a, n - 1,
      one(0), a)
  end
  return ("tempo.cat({ %s, %s, %s }, %d)"):format(head, row, tail, a)
end

function G:scatter(p, shape, dtype)
  local a, count = self.r(#shape), {}
  for i = 1, #shape do count[i] = i == a + 1 and self.r(3) + 1 or self.r(shape[i]) + 1 end
  local dom = self:dims()
  return ("%s:scatter_add(%d, %s:abs() %% %d, %s)"):format(p, a, self:input(dom, count, "i64"),
    shape[a + 1], self:input(self:dims(), count, dtype))
end

-- p with something else at an index of an axis, by put.
function G:put(p, shape, dtype)
  local a = self.r(#shape)
  local n, row = shape[a + 1], { table.unpack(shape) }
  table.remove(row, a + 1)
  local function index()
    return self:pick {
      function() return ("%s:abs() %% %d"):format(self:input(self:dims(), {}, "i64"), n) end,
      function() return ("%s %% %d"):format(NAMES[self.d], n) end,
      function() return tostring(self.r(n)) end,
    }()
  end
  local v = self:pick {
    function() return self:input(self:dims(), row, dtype) end,
    function() return self:input(self:dims(), {}, dtype) end,
    function() return self:pick { "1", NAMES[self.d] } end,
    function()
      return ("%s:select(%d, %s)"):format(p, a, index())
        .. self:pick { "", dtype == "i64" and " + 1" or " * 0.5" }
    end,
  }()
  return ("%s:put(%d, %s, %s)"):format(p, a, index(), v)
end

-- Two rows, by data or not, change places.
function G:swap(p, shape, dtype)
  local n = shape[1]
  local i, j = self:index(n), self:index(n)
  local function row(k)
    return ("%s:index_select(0, (%s):to('i64'):abs():reshape {1} %% %d)"):format(p, k, n)
  end
  local function put(x, k, v)
    local index =
      ('tempo.arange({%d}, { dtype = "i64" }):eq((%s):to("i64"):abs() %% %d):reshape {%d%s}'):format(n, k, n, n, (", 1"):rep(#shape - 1))
    return ("tempo.where(%s, %s, %s)"):format(index, v, x)
  end
  if i:find "^%d" then i = "tempo.full({}, " .. i .. ")" end
  if j:find "^%d" then j = "tempo.full({}, " .. j .. ")" end
  return put(put(p, i, row(j)), j, row(i)), dtype
end

-- Several changes one after the other, each with a name: what comes later may look at any of them.
function G:row(p, shape, dtype)
  local e = p
  for _ = 1, self.r(3) + 2 do
    local name = self:fresh "v"
    self:emit(name, ("%s = %s"):format(name, self:pick {
      function() return self:choice(e, shape, dtype) end,
      function() return self:scatter(e, shape, dtype) end,
      function() return self:parts(e, shape, dtype) end,
      function() return self:put(e, shape, dtype) end,
      function() return (self:swap(e, shape, dtype)) end,
      function() return ("%s * 0.5"):format(e) end,
    }()), { deps = self.deps })
    if not self:chance(0.7) then
      e = ("tempo.where(%s:max():gt(0), %s, %s)"):format(name, name, e) else e = name end
    self.deps = { name, table.unpack(self.deps) }
  end
  return e
end

-- One step of the state whose value before it is p.
function G:change(p, shape, dtype)
  return self:pick {
    function() return self:choice(p, shape, dtype) end,
    function() return self:choice(p, shape, dtype) end,
    function()
      return self:choice(self:chance(0.5) and self:choice(p, shape, dtype)
        or self:parts(p, shape, dtype), shape, dtype)
    end,
    function() return self:parts(p, shape, dtype) end,
    function() return self:parts(p, shape, dtype) end,
    function() return self:parts(self:parts(p, shape, dtype), shape, dtype) end,
    function() return self:scatter(p, shape, dtype) end,
    function()
      return ("tempo.where(%s:gt(0), %s, %s)"):format(self:input(self:dims(), {}, "i64"),
        self:change(p, shape, dtype), p)
    end,
    function()
      local c = self:input(self:dims(), {}, "i64")
      return ("tempo.where(%s:gt(0), %s, %s)"):format(c, self:change(p, shape, dtype),
        self:change(p, shape, dtype))
    end,
    function() return self:scatter(self:choice(p, shape, dtype), shape, dtype) end,
    function() return self:choice(("(%s * 0.5)"):format(p), shape, dtype) end,
    function() return self:put(p, shape, dtype) end,
    function() return self:put(self:choice(p, shape, dtype), shape, dtype) end,
    function() return self:swap(p, shape, dtype) end,
    function() return self:row(p, shape, dtype) end,
    function() return self:row(p, shape, dtype) end,
    function()
      return ("%s + %s"):format(self:choice(p, shape, dtype), self:input(self:dims(), shape, dtype))
    end,
  }()
end

function G:state()
  local dom, dtype = self:dims(self.d), self:pick { "f64", "f64", "i64", "f32" }
  local shape, d = {}, self.d
  self.dom = dom
  for _ = 1, self:pick { 1, 1, 2, 2, 3 } do shape[#shape + 1] = self.r(4) + 2 end
  local forward = self:chance(0.7)
  local h, n, N = self:fresh "h", NAMES[d], BOUNDS[d]
  self.deps = {}
  local rest = {}
  for e in pairs(dom) do rest[e] = e ~= d or nil end
  local zero = ('tempo.zeros(%s, { dtype = "%s" })'):format(list_text(shape), dtype)
  local first = self:chance(0.6) and self:input(rest, shape, dtype) or zero
  local before = ("%s[{ %s = %s %s 1 }]"):format(h, n, n, forward and "-" or "+")
  local older = forward and ("tempo.max(%s - 2, 0)"):format(n)
    or ("tempo.min(%s + 2, %s - 1)"):format(n, N)
  local extra = ("%s[{ %s = %s }]"):format(h, n, older)
  local code = ('%s = P:tensor { domain = %s, shape = %s, dtype = "%s" }'):format(h, dom_text(dom),
    list_text(shape), dtype)
  local value = { name = h, code = code, dom = dom, shape = shape, dtype = dtype, deps = {} }
  table.insert(self.case.stmts, value)
  self.deps = { h, table.unpack(self.deps) }
  local e = self:change(before, shape, dtype)
  if self:chance(0.2) then
    e = ("tempo.where(%s:gt(2), %s, %s)"):format(self:input(self:dims(), {}, "i64"), extra, e)
  end
  self:emit(h .. "#first",
    ("%s[{ %s = %s }] = %s"):format(h, n, forward and "0" or N .. " - 1", first),
    { of = h, deps = self.deps })
  self:emit(h .. "#rest", ("%s:otherwise(%s)"):format(h, e), { of = h, deps = self.deps })
  return value, before
end

-- Reads the state: the last one, all of them, one some steps before, a range.
function G:readers(h)
  local n, N = NAMES[self.d], BOUNDS[self.d]
  local last = self:chance(0.5)
  for _ = 1, last and 1 or self.r(3) + 1 do
    local y = self:fresh "y"
    local e = last and ("%s[{ %s = %s - 1 }]"):format(h.name, n, N) or self:pick {
      ("%s[{ %s = %s - 1 }]:sum()"):format(h.name, n, N), h.name, h.name .. ":sum()",
      ("%s[{ %s = tempo.max(%s - %d, 0) }] * 2"):format(h.name, n, n, self.r(3) + 1),
        ("%s[{ %s = 0 .. %s }]:sum(0)"):format(h.name, n, N),
      ("%s[{ %s = tempo.max(0, %s - w) .. %s + 1 }]:max(0)"):format(h.name, n, n, n),
        ("%s:select(0, 1) + 1"):format(h.name),
    }
    self:emit(y, ("%s = %s"):format(y, e), { deps = { h.name } })
    table.insert(self.case.outputs, y)
  end
  if h.dtype ~= "i64" and self:chance(0.3) then
    local loss, g = self:fresh "l", self:fresh "g"
    self:emit(loss,
      ("%s = (%s[{ %s = %s - 1 }] * %s[{ %s = 0 }]):sum()"):format(loss, h.name, n, N, h.name, n),
      { deps = { h.name } })
    self:emit(g, ("%s = tempo.grad(%s, { %s }, { leaf = %s })[1]"):format(g, loss, h.name, "false"),
      { deps = { loss } })
    table.insert(self.case.outputs, g)
  end
end

function M.generate(seed)
  local self = setmetatable({ r = helper.rng(seed), n = 0, deps = {} }, G)
  for _ = 1, 5 do self.r(2) end
  self.ndim = self:pick { 1, 1, 2, 2, 3 }
  self.d = self.r(self.ndim) + 1
  self.case = { seed = seed, stmts = {}, outputs = {}, ndim = self.ndim, bounds = {},
    cycles = true }
  self.case.options = generate.options(seed, OPTIONS)
  for _ = 1, self:pick { 1, 1, 2 } do self:readers(self:state()) end
  for k = 1, 4 do
    local b = { w = self.r(4) }
    for d = 1, self.ndim do b[BOUNDS[d]] = k == 2 and 1 or self.r(5) + 1 end
    table.insert(self.case.bounds, b)
  end
  return self.case
end

return M

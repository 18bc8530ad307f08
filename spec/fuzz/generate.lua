-- Random programs. generate(seed) gives a case as data: statements of Lua text in order, what each
-- needs, outputs, inputs and bounds, so that statements can be left out; text(case) is a script,
-- load(case) the case that check.lua takes.
--
-- Programs are mostly legal by construction: indices are clamped; a recurrence reads itself only
-- where it was made before (its body sees "open" tensors at such points only); floats are squashed.
-- A few reads are left to chance: compile errors must be the same everywhere.
local helper = require "spec.helper"
local off = require "spec.fuzz.off"

-- luacheck: read_globals setfenv loadstring
local M = {}

local NAMES = { "i", "j", "k" }
local BOUNDS = { "I", "J", "K" }

local OPTIONS = { "passes = 'none'", "precise = true", "passes = { vectorize = false }",
  "passes = { tile = false }", "passes = { cse = false, incremental = false }",
                  "passes = { fold = false, dce = false }", "passes = { algebra = false }" }

-- Options of the third tier: rules off at random, passes off at random, or one of `some`.
function M.options(seed, some)
  return seed % 5 == 4 and off.rules(seed) or seed % 5 == 2 and off.passes(seed)
    or some[seed % #some + 1]
end

local G = {}                                           -- a generator: r, case, pool of values
G.__index = G

local function copy(t)
  local c = {}
  for k, v in pairs(t) do c[k] = v end
  return c
end

-- The shape as data: names of bounds are texts.
local function extents_text(shape)
  local t = {}
  for k, n in ipairs(shape) do t[k] = type(n) == "string" and ('"%s"'):format(n) or n end
  return "{" .. table.concat(t, ", ") .. "}"
end

local function shape_text(shape)
  return "{" .. table.concat(shape, ", ") .. "}"
end

local function same_shape(a, b)
  return table.concat(a, ",") == table.concat(b, ",")
end

function G:chance(p) return self.r(1000) < p * 1000 end
function G:pick(list) return list[self.r(#list) + 1] end

-- One of { weight, value } pairs.
function G:weighted(list)
  local sum = 0
  for _, e in ipairs(list) do sum = sum + e[1] end
  local at = self.r(sum)
  for _, e in ipairs(list) do
    at = at - e[1]
    if at < 0 then return e[2] end
  end
end

local function dims_of(dom)                            -- in order
  local list = {}
  for d = 1, 3 do
    if dom[d] then list[#list + 1] = d end
  end
  return list
end

local function dom_text(dom)
  local list = {}
  for _, d in ipairs(dims_of(dom)) do list[#list + 1] = NAMES[d] end
  return "{" .. table.concat(list, ", ") .. "}"
end

local function union(a, b)
  local u = copy(a)
  for d in pairs(b) do u[d] = true end
  return u
end

local function inside(a, b)                            -- a is a subset of b
  for d in pairs(a) do
    if not b[d] then return false end
  end
  return true
end

-- A statement: name, deps by name, code, and for values dom, shape, dtype.
function G:emit(s)
  s.deps = s.deps or {}
  table.insert(self.case.stmts, s)
  return s
end

function G:fresh(letter)
  self.n = self.n + 1
  return (letter or "v") .. self.n
end

-- A new value that is an operation of others. from: values; expr: text with %1, %2 for their names.
function G:op(from, expr, shape, dtype, dom, more)
  local deps, d, open, restricted = {}, {}, nil, false
  for _, v in ipairs(from) do
    deps[#deps + 1] = v.name
    d = union(d, v.dom)
    open = open or v.open
    restricted = restricted or v.restricted
  end
  local v = { name = self:fresh(), deps = deps, shape = shape, dtype = dtype, dom = dom or d,
    open = open, restricted = restricted }
  v.code = v.name .. " = " .. expr:gsub("%%(%d)", function(k) return from[tonumber(k)].name end)
  for k, x in pairs(more or {}) do v[k] = x end
  self:emit(v)
  table.insert(self.pool, v)
  return v
end

-- ---- index expressions --------------------------------------------------------------------------

-- A point of dim d for a reader; dims that it brings in are added to dom. nil: the identity.
function G:point(d, dom)
  local n, N = NAMES[d], BOUNDS[d]
  local e = self.r(self.ndim) + 1
  local function own(text)
    dom[d] = true
    return text
  end
  return self:weighted {
    { 30, function() dom[d] = true return nil end },
    { 12, function() return own(("tempo.max(%s - %d, 0)"):format(n, self.r(3) + 1)) end },
    { 12, function() return own(("tempo.min(%s + %d, %s - 1)"):format(n, self.r(3) + 1, N)) end },
    { 6, function() return own(("tempo.floordiv(%s, 2)"):format(n)) end },
    { 4, function() return own(("tempo.min(%s * 2, %s - 1)"):format(n, N)) end },
    { 4, function() return own(("tempo.mod(%s, %d)"):format(n, self.r(2) + 2)) end },
    { 5, function() return own(("%s - 1 - %s"):format(N, n)) end },
    { 3, function()
      return own(("tempo.max(0, tempo.min(%s + %d - w, %s - 1))"):format(n, self.r(3), N))
    end },
    { 3, function() return own(("tempo.floordiv(%s, 3) * 3"):format(n)) end },
    { 5, function() return "0" end },
    { 5, function() return N .. " - 1" end },
    { 2, function() return ("tempo.min(1, %s - 1)"):format(N) end },
    { 4, function() dom[e] = true return ("tempo.min(%s, %s - 1)"):format(NAMES[e], N) end },
    { 3, function()
      dom[e], dom[d] = true, true return ("tempo.min(%s + %s, %s - 1)"):format(n, NAMES[e], N)
    end },
    { self.wild and 8 or 0, function()
      return own(("%s %s 1"):format(n, self:chance(0.5) and "+" or "-"))
    end },
    { self.wild and 4 or 0, function() return "1" end },
  }()
end

-- lo, hi and whether the range may be empty.
function G:range(d, dom)
  local n, N = NAMES[d], BOUNDS[d]
  local e = self.r(self.ndim) + 1
  local function own(lo, hi, empty)
    dom[d] = true
    return lo, hi, empty
  end
  return self:weighted {
    { 10, function() return own("0", n .. " + 1") end },
    { 4, function() return own("0", n, true) end },
    { 10, function() return own(n, N) end },
    { 4, function() return own(n .. " + 1", N, true) end },
    { 8, function() return own(("tempo.max(0, %s - %d)"):format(n, self.r(3)), n .. " + 1") end },
    { 5, function() return own(("tempo.max(0, %s - w + 1)"):format(n), n .. " + 1", true) end },
    { 3, function() return own(("tempo.max(0, %s - w)"):format(n), n .. " + 1") end },
    { 3, function() return own(n, ("tempo.min(%s + w, %s)"):format(n, N), true) end },
    { 5, function()
      return own(("tempo.max(0, %s - 1)"):format(n), ("tempo.min(%s + 2, %s)"):format(n, N))
    end },
    { 12, function() return "0", N, true end },
    { 4, function() return own(("tempo.floordiv(%s, 2)"):format(n), n .. " + 1") end },
    { 3, function()
      return own(("tempo.floordiv(%s, 2) * 2"):format(n),
        ("tempo.min(tempo.floordiv(%s, 2) * 2 + 2, %s)"):format(n, N))
    end },
    { 3, function()
      dom[e] = true return "0", ("tempo.min(%s + 1, %s)"):format(NAMES[e], N), true
    end },
    { 3, function() return "0", ("tempo.min(w, %s)"):format(N), true end },
    { self.wild and 3 or 0, function() return "1", "3" end },
  }()
end

-- Picks points of an open tensor along its order: strictly before (closed = false) or up to here.
function G:past(d, forward, strict, lag)
  local n, N = NAMES[d], BOUNDS[d]
  if forward then
    return self:weighted {
      { strict and 0 or 8, function() return nil end },
      { 12, function() return strict and n .. " - 1" or ("tempo.max(%s - 1, 0)"):format(n) end },
      { lag > 1 and 12 or 0, function() return ("%s - %d"):format(n, lag) end },
      { 2, function() return "0" end },
      { 2, function() return ("tempo.floordiv(%s, 2)"):format(n) end },
      { 4, function() return "0", n .. (strict and "" or " + 1") end },
      { 4, function()
        return ("tempo.max(0, %s - %d)"):format(n, self.r(2) + 2), n .. (strict and "" or " + 1")
      end },
      { 2, function()
        return ("tempo.max(0, %s - 1 - w)"):format(n), n .. (strict and "" or " + 1")
      end },
    }()
  end
  return self:weighted {
    { strict and 0 or 8, function() return nil end },
    { 12, function()
      return strict and n .. " + 1" or ("tempo.min(%s + 1, %s - 1)"):format(n, N)
    end },
    { lag > 1 and 12 or 0, function() return ("%s + %d"):format(n, lag) end },
    { 2, function() return N .. " - 1" end },
    { 4, function() return n .. (strict and " + 1" or ""), N end },
    { 4, function()
      return n .. (strict and " + 1" or ""), ("tempo.min(%s + %d, %s)"):format(n, self.r(2) + 2, N)
    end },
    { 2, function()
      return n .. (strict and " + 1" or ""), ("tempo.min(%s + 2 + w, %s)"):format(n, N)
    end },
  }()
end

-- ---- reads --------------------------------------------------------------------------------------

-- Reads value v: points and up to `ranges` ranges. Gives the text of the index, the resulting
-- domain, the number of ranges, maybe empty.
function G:read_text(v, ranges)
  local parts, dom, n, empty = {}, {}, 0, false
  local positional = self:chance(0.3)
  local single
  for _, d in ipairs(dims_of(v.dom)) do
    local lo, hi
    local range = ranges > n and (self:chance(0.6) or d == dims_of(v.dom)[#dims_of(v.dom)])
    if v.open and v.open.fixed and v.open.fixed[d] then
      dom[d] = true
    elseif v.open and v.open.d == d then
      local o = v.open
      -- it exists where its own reads do, and there only
      if v.derived and o.strict then lo, hi = nil, nil
      else lo, hi = self:past(d, o.forward, o.strict, o.lag) end
      if hi and ranges <= n then lo, hi = nil, nil end
      if not v.derived and o.strict and not lo then
        lo = NAMES[d] .. (o.forward and " - 1" or " + 1")
      end
      if not lo or (lo .. (hi or "")):find(NAMES[d], 1, true) then dom[d] = true end
    elseif v.open and v.open.outer == d then           -- what carries over from an outer point
      if self:chance(0.3) then lo = ("tempo.max(%s - 1, 0)"):format(NAMES[d]) end
      dom[d] = true
    elseif range then
      local e
      lo, hi, e = self:range(d, dom)
      empty = empty or e
    else
      lo = self:point(d, dom)
    end
    if hi then
      n = n + 1
      local text = lo:match "^%d+$" and hi:match "^%d+$" and ("tempo.range(%s, %s)"):format(lo, hi)
        or ("%s .. %s"):format(lo, hi)
      parts[#parts + 1] = positional and text or ("%s = %s"):format(NAMES[d], text)
      if v.open and v.open.d == d then empty = true end
      single = text
    elseif lo or positional then
      parts[#parts + 1] = positional and (lo or NAMES[d]) or ("%s = %s"):format(NAMES[d], lo)
      single = lo or NAMES[d]
    end
  end
  local text = "[{ " .. table.concat(parts, ", ") .. " }]"
  if #dims_of(v.dom) == 1 and single and not single:match "^%d+$"
    and not single:match "^tempo.range" and self:chance(0.5) then
    text = "[" .. single .. "]"
  end
  if #parts == 0 then text = "" end
  return text, dom, n, empty
end

local function is_float(v) return v.dtype == "f64" or v.dtype == "f32" end

-- Makes a value of a range read at once: `r` is its text, of shape {n, [m,] ...}.
function G:consume(v, text, dom, n, empty)
  local axes = n == 1 and "0" or "{0, 1}"
  local r = "%1" .. text
  local function make(expr, shape, dtype, from, more)
    return self:op(from or { v }, expr, shape or v.shape, dtype or v.dtype, dom, more)
  end
  if v.dtype == "bool" then
    local f = self:pick { "sum", "any", "all" }
    return make(("(%s):%s(%s)"):format(r, f, axes), nil, f == "sum" and "i64" or "bool")
  end
  if v.dtype == "i64" then
    if not empty and self:chance(0.4) then
      return make(("(%s):%s(%s)"):format(r, self:pick { "max", "min" }, axes))
    end
    if not empty and n == 1 and self:chance(0.3) then
      return make(("(%s):%s(0)"):format(r, self:pick { "argmax", "argmin" }))
    end
    return make(("((%s):sum(%s) %% 1000)"):format(r, axes))
  end
  local rough = { rough = true }
  local u = self:choose(function(x) return x.dtype == v.dtype and #x.shape == 0 and not x.open end)
  if u and not inside(u.dom, dom) and (v.open or self:chance(0.7)) then u = nil end
  return self:weighted {
    { 8, function() return make(("(%s):sum(%s) * 0.5"):format(r, axes)) end },
    { empty and 0 or 5, function() return make(("(%s):mean(%s)"):format(r, axes)) end },
    { empty and 0 or 3, function() return make(("(%s):logsumexp(%s)"):format(r, axes)) end },
    { empty and 0 or 4, function()
      return make(("(%s):%s(%s)"):format(r, self:pick { "max", "min" }, axes), nil, nil, nil, rough)
    end },
    { 2, function() return make(("((%s):tanh()):prod(%s)"):format(r, axes)) end },
    { 4, function() return make(("((%s) * (%s)):sin():sum(%s)"):format(r, r, axes)) end },
    { n == 1 and 5 or 0, function()
      return make(("((%s):softmax(0) * (%s)):sum(0)"):format(r, r))
    end },
    { n == 1 and 3 or 0, function()
      return make(("((%s):cumsum(0) * 0.3):sin():sum(0)"):format(r))
    end },
    { n == 1 and 2 or 0, function()
      return make(("(((%s):flip(0) * (%s)):tanh()):sum(0)"):format(r, r))
    end },
    { u and 4 or 0, function()
      dom = union(dom, u.dom)
      return make(("((%s) * %%2):tanh():sum(%s)"):format(r, axes), nil, nil, { v, u })
    end },
    -- attention: over the rows, to all rows
    { n == 1 and #v.shape == 1 and 5 or 0, function()
      return make(("(((%s):matmul(%%2)):softmax(0)):matmul(%s)"):format(r, r), nil, nil,
        { v, self:weight(v.shape, v.dtype) })
    end },
    { n == 1 and #v.shape == 1 and 4 or 0, function()
      return make(("((%s):matmul(%%2)):tanh():sum()"):format(r), {}, nil,
        { v, self:weight(v.shape, v.dtype) })
    end },
    { n == 1 and #v.shape == 1 and 3 or 0, function()
      return make(("((%s):mT():matmul(%s)):tanh()"):format(r, r), { v.shape[1], v.shape[1] })
    end },
    { n == 1 and #v.shape == 2 and 4 or 0, function()
      return make(("((%s):matmul(%%2)):sum(0):tanh()"):format(r), { v.shape[1], 2 }, nil,
        { v, self:weight({ v.shape[2], 2 }, v.dtype) })
    end },
    { empty and 0 or n == 1 and 3 or 0, function()
      local k = self:choose(function(x)
        return x.dtype == "i64" and #x.shape == 0 and not x.open and inside(x.dom, dom)
      end)
      if not k then return make(("(%s):sum(0)"):format(r)) end
      return make(("(%s):index_select(0, %%2 %% %d)"):format(r, 1), nil, nil, { v, k })
    end },
  }()
end

-- A weight without dims, an input or a constant.
function G:weight(shape, dtype)
  local found = self:choose(function(v)
    return v.weight and v.dtype == dtype and same_shape(v.shape, shape)
  end)
  if found and self:chance(0.7) then return found end
  return self:input({}, shape, dtype, true)
end

-- ---- values -------------------------------------------------------------------------------------

function G:input(dom, shape, dtype, weight)
  local v = { name = self:fresh "x", dom = dom, shape = shape, dtype = dtype, leaf = true,
    weight = weight }
  v.code = ('%s = P:input("%s", { domain = %s, shape = %s, dtype = "%s" })'):format(v.name, v.name,
    dom_text(dom), shape_text(shape), dtype)
  self:emit(v)
  table.insert(self.pool, v)
  return v
end

-- Values may be used now: not restricted ones outside their group, which has gone by then.
-- `raw`: also open tensors of which only the past may be used.
function G:choose(filter, raw)
  local list = {}
  for _, v in ipairs(self.pool) do
    local usable = raw or v.derived or not (v.open and v.open.strict)
    if usable and (not filter or filter(v)) then list[#list + 1] = v end
  end
  if #list == 0 then return nil end
  local at = math.max(self.r(#list), self.r(#list))    -- late ones more often
  return list[at + 1]
end

function G:random_dom()
  local dom = {}
  for d = 1, self.ndim do dom[d] = self:chance(0.6) or nil end
  if not next(dom) then dom[self.r(self.ndim) + 1] = true end
  return dom
end

function G:random_shape()
  return self:pick { {}, {}, {}, { 2 }, { 3 }, { 3 }, { 2, 3 } }
end

local function compatible(a, b)                        -- shapes that broadcast
  return same_shape(a, b) or #a == 0 or #b == 0 or (#a == 1 and #b == 2 and a[1] == b[2])
    or (#b == 1 and #a == 2 and b[1] == a[2])
end

local function wider(a, b) return #a >= #b and a or b end

local unary = { "%1:tanh()", "%1:sin()", "%1:cos()", "(-%1:abs()):exp()", "%1:sigmoid()",
  "(%1 * %1 * 0.1)", "-%1", "(%1 * 1.5 - 0.25)",
                "(%1 * %1 + 1):sqrt()", "(%1 * %1 + 0.5):log()", "(1 / (%1 * %1 + 1))",
                  "%1:detach()", "%1:square():expm1():log1p()" }

function G:unary(v)
  if v.dtype == "bool" then
    return self:chance(0.5) and self:op({ v }, "%1:lnot()", v.shape, "bool")
      or self:op({ v }, '%1:to "i64"', v.shape, "i64")
  end
  if v.dtype == "i64" then
    return self:weighted {
      { 3, function()
        return self:op({ v }, ("tempo.mod(%%1, %d)"):format(self.r(5) + 2), v.shape, "i64")
      end },
      { 3, function()
        return self:op({ v }, ("tempo.floordiv(%%1, %d)"):format(self.r(3) + 2), v.shape, "i64")
      end },
      { 2, function() return self:op({ v }, "(3 - %1)", v.shape, "i64") end },
      { 3, function()
        return self:op({ v },
          ("%%1:%s(%d)"):format(self:pick { "lt", "ge", "eq", "ne" }, self.r(5)), v.shape, "bool")
      end },
      { 4, function()
        return self:op({ v }, ('(%%1:to "%s" * 0.1)'):format(self.float), v.shape, self.float)
      end },
    }()
  end
  local e = self:pick(unary)
  return self:op({ v }, e, v.shape, v.dtype, nil, e:find "detach" and { rough = true } or nil)
end

function G:binary(a, b)
  local shape = wider(a.shape, b.shape)
  if a.dtype == "bool" or b.dtype == "bool" then
    if a.dtype == b.dtype then
      return self:op({ a, b }, self:pick { "%1:land(%2)", "%1:lor(%2)" }, shape, "bool")
    end
    if a.dtype == "bool" then a, b = b, a end
    return self:op({ a, b }, "tempo.where(%2, %1, 0)", shape, a.dtype)
  end
  if a.dtype == "i64" and b.dtype == "i64" then
    return self:op({ a, b },
      self:pick { "(%1 + %2)", "(%1 - %2)", "(%1 * %2 % 97)", "tempo.minimum(%1, %2)",
      "tempo.maximum(%1, %2)",
                                         "(%1 % (%2:abs() + 1))",
                                           "tempo.where(%1:lt(%2), %1, %2 + 1)" }, shape, "i64")
  end
  local dtype = (a.dtype == "f64" or b.dtype == "f64") and "f64" or "f32"
  -- a number with i64 would be f32
  if a.dtype ~= b.dtype and (a.dtype == "i64" or b.dtype == "i64") then
    if a.dtype == "i64" then a, b = b, a end
    return self:op({ a, b }, ('(%%1 + %%2:to "%s" * 0.1):tanh()'):format(dtype), shape, dtype)
  end
  local rough = self:chance(0.1)
  if rough then
    return self:op({ a, b }, self:pick { "tempo.maximum(%1, %2)", "tempo.minimum(%1, %2)" }, shape,
      dtype, nil, { rough = true })
  end
  return self:op({ a, b },
    self:pick { "(%1 + %2)", "(%1 - %2)", "(%1 * %2)", "(%1 / (%2 * %2 + 1))", "(%1 * %2 + %1)" },
    shape, dtype)
end

-- reductions, movement, products inside one point
function G:spatial(v)
  if v.dtype == "bool" then return self:unary(v) end
  local f = is_float(v)
  if #v.shape == 0 then
    local n = self.r(2) + 2
    return self:op({ v }, ("(%%1 + tempo.arange({%d}, { dtype = \"%s\" }))"):format(n, v.dtype),
      { n }, v.dtype)
  end
  local last, first = v.shape[#v.shape], v.shape[1]
  local rest = #v.shape == 2 and { last } or {}
  return self:weighted {
    { 4, function() return self:op({ v }, f and "%1:sum()" or "%1:sum() % 1000", {}, v.dtype) end },
    { f and 2 or 0, function() return self:op({ v }, "%1:mean(0)", rest, v.dtype) end },
    { 2, function() return self:op({ v }, "%1:sum(0)", rest, v.dtype) end },
    { 2, function() return self:op({ v }, "%1:max(0)", rest, v.dtype, nil, { rough = true }) end },
    { f and 2 or 0, function() return self:op({ v }, "%1:softmax(0)", v.shape, v.dtype) end },
    { 2, function() return self:op({ v }, "%1:flip(0)", v.shape, v.dtype) end },
    { 2, function() return self:op({ v }, "%1:cumsum(0)", v.shape, v.dtype) end },
    { 2, function()
      return self:op({ v }, ("%%1:select(0, %d)"):format(self.r(first)), rest, v.dtype)
    end },
    { 2, function()
      return self:op({ v }, "tempo.cat({ %1:slice(0, 1, " .. first .. "), %1:slice(0, 0, 1) }, 0)",
        v.shape, v.dtype)
    end },
    { 1, function()
      return self:op({ v }, "tempo.stack({ %1, %1:flip(0) }, 0):sum(0)", v.shape, v.dtype)
    end },
    { #v.shape == 2 and 3 or 0, function()
      return self:op({ v }, "%1:mT()", { last, first }, v.dtype)
    end },
    { #v.shape == 2 and 2 or 0, function()
      return self:op({ v }, ("%%1:reshape({%d})"):format(first * last), { first * last }, v.dtype)
    end },
    { f and 5 or 0, function()
      local m = self.r(2) + 2
      return self:op({ v, self:weight({ last, m }, v.dtype) }, "%1:matmul(%2)",
        #v.shape == 2 and { first, m } or { m }, v.dtype)
    end },
    { f and #v.shape == 1 and 2 or 0, function()
      return self:op({ v }, "%1:outer(%1)", { last, last }, v.dtype)
    end },
    { #v.shape == 1 and 2 or 0, function()
      local d = self.r(self.ndim) + 1
      local at = ({ "tempo.mod(%s, %d)", "tempo.min(%s, %d - 1)",
        "tempo.mod(%s * 2 + 1, %d)" })[self.n % 3 + 1]:format(NAMES[d], first)
      return self:op({ v }, ("%%1:select(0, %s)"):format(at), {}, v.dtype,
        union(v.dom, { [d] = true }))
    end },
    { #v.shape == 1 and not v.open and 2 or 0, function()
      local k = self:choose(function(x)
        return x.dtype == "i64" and #x.shape == 0 and not x.open
      end)
      if not k then return self:op({ v }, "%1:sum()", {}, v.dtype) end
      return self:op({ v, k }, ("%%1:index_select(0, tempo.mod(%%2, %d))"):format(first), {},
        v.dtype)
    end },
    { 2, function()
      local put = ("%%1:put(0, %d, %%1:select(0, %d))"):format(self.r(first), self.r(first))
      local k = not v.open and self:choose(function(x)
        return x.dtype == "i64" and #x.shape == 0 and not x.open
      end)
      if not k then return self:op({ v }, put, v.shape, v.dtype) end
      return self:op({ v, k }, put .. (":put(0, tempo.mod(%%2, %d), 1)"):format(first), v.shape,
        v.dtype)
    end },
  }()
end

function G:index_value()
  local d = self.r(self.ndim) + 1
  local text = self:weighted {
    { 4, NAMES[d] }, { 2, BOUNDS[d] .. " - " .. NAMES[d] },
      { 1, ("tempo.mod(%s * 3 + w, 5)"):format(NAMES[d]) },
    { 1, ("tempo.min(%s, w)"):format(NAMES[d]) },
  }
  return self:op({}, ("(%s):value()"):format(text), {}, "i64", { [d] = true })
end

-- Some draw under a key: an index expression, or an integer that the program makes, so also one
-- that a loop carries.
function G:random()
  local dom, shape = self:random_dom(), self:random_shape()
  local kind = self:weighted { { 3, "uniform" }, { 1, "normal" }, { 1, "randint" } }
  local name, from, key = self:fresh "u", {}, ""
  if self:chance(0.3) then
    local k = self:choose(function(x) return x.dtype == "i64" and #x.shape == 0 and not x.open end)
    local d = self.r(self.ndim) + 1
    if k and self:chance(0.7) then from, key, dom = { k }, ", key = %1", union(dom, k.dom)
    else key, dom = (", key = 3 * %s - 7"):format(NAMES[d]), union(dom, { [d] = true }) end
  end
  if kind == "randint" then
    return self:op(from,
      ('tempo.randint(%s, 0, 9, { domain = %s, name = "%s"%s })'):format(shape_text(shape),
      dom_text(dom), name, key), shape, "i64", dom)
  end
  return self:op(from,
    ('tempo.%s(%s, { domain = %s, name = "%s", dtype = "%s"%s })'):format(kind, shape_text(shape),
    dom_text(dom), name, self.float, key), shape, self.float, dom)
end

function G:over(v)                                     -- one call for some dims
  local dom = {}
  for _, d in ipairs(dims_of(v.dom)) do dom[d] = not self.ends[d] and self:chance(0.25) or nil end
  return next(dom) and (", { over = %s }"):format(dom_text(dom)) or ""
end

function G:call()
  local v = self:choose(function(x)
    return is_float(x) and not x.open and not x.restricted and next(x.dom)
  end)
  if not v then return nil end
  return self:op({ v },
    ("P:call(function(a) return ANSWER(a) end, { %%1 }, { { domain = %s, shape = %s, dtype = \"%s\" } }%s)")
    :format(dom_text(v.dom), shape_text(v.shape), v.dtype, self:over(v)), v.shape, v.dtype, v.dom,
      { rough = true })
end

-- One of the past's rows of value v, or `first`.
function G:prev(v)
  local d, first = self:pick(dims_of(v.dom)), v.dtype == "bool" and "false" or v.dtype == "i64"
    and "3" or "0.5"
  local u = self:choose(function(x)
    return x.dtype == v.dtype and same_shape(x.shape, v.shape) and not x.open and not x.restricted
  end)
  local from = u and self:chance(0.5) and { v, u } or { v }
  return self:op(from,
    ("tempo.prev(%%1, %s, %s%s)"):format(NAMES[d], from[2] and "%2" or first,
    self:pick { "", ", 2", ", 3" }), v.shape, v.dtype)
end

function G:read()
  local v = self:choose(function(x) return next(x.dom) end, true)
  if self.short and v and not v.open and self:chance(0.4) then return self:prev(v) end
  if not v then return self:index_value() end
  local ranges = self:weighted { { 4, 0 }, { 5, 1 }, { 1, 2 } }
  local text, dom, n, empty = self:read_text(v, ranges)
  if n == 0 then
    if text == "" then return self:unary(v) end
    return self:op({ v }, "%1" .. text, v.shape, v.dtype, dom)
  end
  return self:consume(v, text, dom, n, empty)
end

-- One more value.
function G:step()
  local before = #self.pool
  self:weighted {
    { 10, function() self:read() end },
    { 5, function()
      local v = self:choose()
      if v then self:unary(v) end
    end },
    { 7, function()
      local a = self:choose()
      local b = a and self:choose(function(x)
        return compatible(a.shape, x.shape) and not (a.open and x.open and a.open ~= x.open)
      end)
      if b then self:binary(a, b) end
    end },
    { 5, function()
      local v = self:choose()
      if v then self:spatial(v) end
    end },
    { 2, function()
      local c = self:choose(function(x) return x.dtype == "bool" end)
      local a = c and self:choose(function(x)
        return x.dtype ~= "bool" and compatible(c.shape, x.shape)
      end)
      local b = a and self:choose(function(x)
        return x.dtype == a.dtype and same_shape(x.shape, a.shape)
      end)
      if b then
        self:op({ c, a, b }, "tempo.where(%1, %2, %3)", wider(c.shape, a.shape), a.dtype, nil,
          { rough = true })
      end
    end },
    { 1, function() self:index_value() end },
    { 1, function() if not self.locals then self:random() end end },
    { 1, function() if not self.locals then self:call() end end },
  }()
  for k = before + 1, #self.pool do
    local v = self.pool[k]
    if v.open then v.derived = true end
  end
end

-- ---- declared tensors and parameters ------------------------------------------------------------

-- Text that is value v with dims inside dom, with dtype and shape; floats squashed. deps gets what
-- it needs.
function G:coerce(v, dom, shape, dtype)
  local x = v.name
  for _, d in ipairs(dims_of(v.dom)) do
    if not dom[d] then
      if v.dtype == "bool" then x = ("%s[{ %s = 0 .. %s }]:any(0)"):format(x, NAMES[d], BOUNDS[d])
      else x = ("%s[{ %s = 0 .. %s }]:sum(0)"):format(x, NAMES[d], BOUNDS[d]) end
    end
  end
  if v.dtype ~= dtype then
    if v.dtype == "f64" or v.dtype == "f32" then
      if dtype == "i64" then x = ("(%s):detach():gt(0)"):format(x) end
    end
    x = ('(%s):to "%s"'):format(x, dtype)
  end
  if not same_shape(v.shape, shape) then
    if #v.shape > 0 then x = ("(%s):sum()"):format(x) end
    if #shape > 0 then
      x = ('(%s + tempo.zeros(%s, { dtype = "%s" }))'):format(x, shape_text(shape), dtype)
    end
  end
  if dtype == "i64" then return ("(%s) %% 1000"):format(x) end
  return ("(%s):tanh()"):format(x)
end

function G:outside(dom)                                -- a value for a base: not open
  return self:choose(function(v)
    return not v.open and not v.restricted and (inside(v.dom, dom) or self:chance(0.2))
  end)
    or self:input(dom, {}, self.float)
end

-- first: its value where dim d is 0.
function G:declare(dom, shape, dtype, first, d)
  local z = { name = self:fresh "z", dom = dom, shape = shape, dtype = dtype, declared = true,
    first = first }
  local own = self.short and dtype == self.float and "" or ('dtype = "%s", '):format(dtype)
  local is = ("shape = %s, %s"):format(shape_text(shape), own)
  if first then
    is = ("first = %s, "):format(self:coerce(first, dom, shape, dtype))
      .. (#dims_of(dom) > 1 and ("along = %s, "):format(NAMES[d]) or "")
    z.deps = { first.name }
  end
  z.code = ('%s = P:tensor { domain = %s, %sname = "%s" }'):format(z.name, dom_text(dom), is,
    z.name)
  self:emit(z)
  table.insert(self.pool, z)
  return z
end

-- Puts its past, which is there at each point, into the place of an open tensor.
function G:hide(z, d)
  table.remove(self.pool)
  local x = self:outside(z.dom)
  local expr = ("tempo.prev(%%1, %s, %s)"):format(NAMES[d], self:coerce(x, z.dom, z.shape, z.dtype))
  z.hidden = true
  self:op({ z, x }, expr, z.shape, z.dtype, z.dom, { derived = true, past = true })
end

function G:define(z, left, v, expr)
  self:emit { name = z.name .. "#" .. #self.case.stmts, of = z.name, deps = { v and v.name },
    code = z.name .. left:gsub("@", function() return expr end) }
end

-- Locals of a group; the values they leave that depend on the open tensors.
function G:body(n)
  self.locals = true
  local before = #self.pool
  local tries = 0
  while #self.pool - before < n and tries < 4 * n do
    tries = tries + 1
    if self:chance(0.5) then                           -- make sure that open tensors are read
      local v = self:choose(function(x) return x.open and (not x.derived or x.past) end, true)
      local text, dom, ranges, empty = self:read_text(v, self:chance(0.4) and 1 or 0)
      local k = #self.pool
      if ranges == 0 then self:op({ v }, "%1" .. text, v.shape, v.dtype, dom)
      else self:consume(v, text, dom, ranges, empty) end
      for m = k + 1, #self.pool do
        if self.pool[m].open then self.pool[m].derived = true end
      end
    else
      self:step()
    end
  end
  self.locals = nil
end

-- Drops from the pool what the closed group leaves unusable; the rest is open no more.
function G:close(group, keep)
  local pool = {}
  for _, v in ipairs(self.pool) do
    if v.open == group and (v.declared or v.param or keep) then
      v.open, v.restricted = nil, nil
      pool[#pool + 1] = v
    elseif v.open ~= group then
      pool[#pool + 1] = v
    end
  end
  self.pool = pool
end

function G:group()
  local dom = self:random_dom()
  local list = dims_of(dom)
  local d = self:pick(list)
  local forward = self:chance(0.65)
  local n, N = NAMES[d], BOUNDS[d]
  local form = self:weighted { { 6, "branches" }, { 2, "shift" }, { #list > 1 and 2 or 0, "carry" },
    { 1, "plain" } }
  local count = form ~= "carry" and form ~= "plain" and self:chance(0.2) and 2 or 1
  local lag = form == "branches" and self:chance(0.3) and 2 or 1
  local group = { d = d, forward = forward, strict = form ~= "shift", lag = lag }
  if form == "carry" then group.outer = list[1] == d and list[2] or list[1] end
  local zs = {}
  local short = self.short and form == "branches" and forward and lag == 1
  for k = 1, count do
    local dtype = self:weighted { { 6, self.float }, { 2, "i64" } }
    local first = short and self:chance(0.5) and self:outside(dom) or nil
    zs[k] = self:declare(dom, self:random_shape(), dtype, first, d)
    if form ~= "plain" then zs[k].open = group end
    if short and not first then self:hide(zs[k], d) end
  end
  if form == "plain" then
    local z = zs[1]
    local conds = { ("%s:lt(2)"):format(n), ("tempo.mod(%s, 2):eq(1)"):format(n),
      ("%s:ge(w)"):format(n), ("%s:eq(%s - 1)"):format(n, N) }
    self.pool[#self.pool] = nil                        -- not before it is defined
    for _ = 1, self.r(2) + 1 do
      local v = self:outside(dom)
      local c = table.remove(conds, self.r(#conds) + 1)
      self:define(z, (":when(%s, @)"):format(c), v, self:coerce(v, dom, z.shape, z.dtype))
    end
    local v = self:outside(dom)
    self:define(z, ":otherwise(@)", v, self:coerce(v, dom, z.shape, z.dtype))
    table.insert(self.pool, z)
    return
  end
  self:body(self.r(4) + 1 + count)
  local function body_of()
    return self:choose(function(v) return v.open == group and v.derived and inside(v.dom, dom) end)
  end
  for _, z in ipairs(zs) do
    local function base(left, fixed)
      local v = self:outside(fixed or dom)
      self:define(z, left, v, self:coerce(v, fixed or dom, z.shape, z.dtype))
    end
    local rest = copy(dom)
    rest[d] = self:chance(0.5) or nil
    local v = body_of()
    if not v then                                      -- nothing read it: one that does
      local at = group.strict
        and ("%s[{ %s = %s }]"):format(z.name, n, forward and n .. " - 1" or n .. " + 1") or z.name
      v = { name = z.name, shape = z.shape, dtype = z.dtype, dom = z.dom }
      self:emit { name = z.name .. "#self", of = z.name, deps = {}, code = "local_ = " .. at }
      v = setmetatable({ name = at }, { __index = v })
    end
    local expr = self:coerce(v, dom, z.shape, z.dtype)
    local dep = v.code and v or nil
    if form == "shift" then
      local first = #list == 1 and (forward and "[0] = @" or ("[%s - 1] = @"):format(N)) or
        (forward and ("[{ %s = 0 }] = @"):format(n) or ("[{ %s = %s - 1 }] = @"):format(n, N))
      local given = self:chance(0.5)
      if given then base(first, rest) end
      self:define(z, ("[{ [%s] = %s %s 1 }] = @"):format(n, n, forward and "+" or "-"), dep, expr)
      if not given then base(":otherwise(@)") end
    elseif form == "carry" then
      local o = group.outer
      local on, ON = NAMES[o], BOUNDS[o]
      local start = forward and "0" or N .. " - 1"
      if self:chance(0.5) then
        base(("[{ %s = 0, %s = %s }] = @"):format(on, n, start)) else base(
        ("[{ %s = 0 }] = @"):format(on)) end
      local from = self:weighted {
        { 3, ("%s[{ %s = %s - 1, %s = %s - 1 }]"):format(z.name, on, on, n, N) },
                                   { 1, ("%s[{ %s = %s - 1, %s = 0 }]"):format(z.name, on, on, n) },
                                   { z.dtype ~= "i64" and 2 or 0,
                                     ("%s[{ %s = %s - 1, %s = 0 .. %s }]:mean(0)"):format(z.name,
                                     on, on, n, N) } }
      local last = ON and { name = from, shape = z.shape, dtype = z.dtype, dom = {} }
      self:define(z, ("[{ %s = %s }] = @"):format(n, start), nil,
        self:coerce(last, dom, z.shape, z.dtype))
      self:define(z, ":otherwise(@)", dep, expr)
    else
      for k = 0, (z.first or z.hidden) and -1 or lag - 1 do
        local at = forward and tostring(k) or ("%s - %d"):format(N, k + 1)
        if #list == 1 and self:chance(0.6) then
          base(("[%s] = @"):format(at), rest) else base(("[{ %s = %s }] = @"):format(n, at), rest)
          end
      end
      if self:chance(0.2) then
        local other = body_of()
        if other then
          self:define(z,
            (":when(%s, @)"):format(self:pick { ("tempo.mod(%s, 2):eq(0)"):format(n),
            ("%s:gt(w)"):format(n), ("%s:lt(%s - 2)"):format(n, N) }),
            other, self:coerce(other, dom, z.shape, z.dtype))
        end
      end
      self:define(z, ":otherwise(@)", dep, expr)
    end
  end
  for _, z in ipairs(zs) do
    if z.hidden then table.insert(self.pool, z) end
  end
  self:close(group, form == "shift")
end

function G:parameter()
  local dom = self:random_dom()
  local list = dims_of(dom)
  local d = list[1]
  local shape = self:random_shape()
  local group = { d = d, forward = true, strict = false, lag = 1, param = true }
  local along = { [d] = true }
  local rest = copy(dom)
  rest[d] = nil
  if list[2] and self:chance(0.4) then                 -- from point to point of two dims
    along[list[2]], rest[list[2]] = true, nil
    group.fixed, group.d = along, nil
  end
  local init = self:outside(rest)
  local w = { name = self:fresh "w", dom = dom, shape = shape, dtype = self.float, param = true,
    open = group, deps = { init.name } }
  w.code = ('%s = P:param("%s", { along = %s, domain = %s, shape = %s, dtype = "%s", init = %s })'):format(w.name, w.name, dom_text(along),
    dom_text(rest), shape_text(shape), w.dtype, self:coerce(init, rest, shape, w.dtype))
  self:emit(w)
  table.insert(self.pool, w)
  self:body(self.r(4) + 2)
  local v = self:choose(function(x) return x.open == group and x.derived and is_float(x) end)
  local function update(expr, dep)
    self:emit { name = w.name .. "#update", of = w.name, deps = { dep },
      code = ("%s:update(%s)"):format(w.name, expr) }
  end
  if v and self:chance(0.6) then
    local loss = ("(%s * %s):sum()"):format(v.name, v.name)
    update(("(%s - tempo.grad(%s, { %s })[1] * 0.1):tanh()"):format(w.name, loss, w.name), v.name)
    self.case.graded = true
  elseif v then
    local other = self:choose(function(x) return x.open == group and x.derived end)
    update(self:coerce(other, dom, shape, w.dtype), other.name)
  end
  self.has_param = true
  self:close(group, true)
  if self.short and v then self:op({ w }, "%1:next()", shape, w.dtype, nil, { rough = true }) end
end

-- ---- whole programs -----------------------------------------------------------------------------

function G:gradients()
  local function floats() return self:choose(function(v) return v.dtype == self.float end) end
  local loss = self:choose(function(v) return v.dtype == self.float and not v.leaf end)
  if not loss then return end
  local s = self:op({ loss }, self:pick { "%1:sum()", "(%1 * %1):sum()", "(%1:sin() + %1):sum()" },
    {}, loss.dtype)
  table.insert(self.case.outputs, s.name)
  local smooth = self.float == "f64" and not self.has_param and { loss = s.name } or nil
  for _ = 1, self.r(3) + 1 do
    local x = self:chance(0.6) and self:choose(function(v)
      return v.leaf and v.dtype == self.float
    end) or floats()
    local g = self:op({ s, x }, "tempo.grad(%1, { %2 }" .. self.leaf .. ")[1]", x.shape, x.dtype,
      x.dom, { rough = true })
    table.insert(self.case.outputs, g.name)
    if smooth and x.leaf then smooth[#smooth + 1] = { x.name, g.name } end
    if self:chance(0.15) then
      local y = self:choose(function(v) return v.leaf and v.dtype == self.float end)
      if y then
        local g2 = self:op({ g, y }, "tempo.grad((%1 * %1):sum(), { %2 }" .. self.leaf .. ")[1]",
          y.shape, y.dtype, y.dom)
        table.insert(self.case.outputs, g2.name)
      end
    end
  end
  self.case.smooth = smooth and #smooth > 0 and smooth or nil
end

function G:sink()
  local v = self:choose(function(x) return next(x.dom) end)
  if not v then return end
  local id = self:fresh "s"
  self:emit { name = id, deps = { v.name }, sink = true,
              code = ('P:sink({ %s }, function(a, p) HEAR("%s", a, p) end%s)'):format(v.name, id,
                self:over(v)) }
end

-- Dim d ends by data: at a value's sign, at a number of points, or never. Differences of losses
-- that jump with the end mean nothing.
function G:stop(d)
  local v = self:choose(function(x) return x.dom[d] and not x.open and is_float(x) end)
  local on_index = not v or self:chance(0.25)
  if self.ends[d] == "done" then return end
  self.ends[d] = "done"
  local done = on_index
    and self:pick { ("%s:ge(w)"):format(NAMES[d]), ("%s:eq(1)"):format(NAMES[d]) } or
    (#v.shape > 0 and "%s:sum()" or "%s"):format(v.name)
      .. self:pick { ":gt(0.2)", ":lt(-0.3)", ":gt(1)", ":lt(0)" }
  local code = ("P:stop(%s, %s)"):format(NAMES[d], done)
  self:emit { name = self:fresh "stop", deps = { not on_index and v.name or nil }, sink = true,
    stop = NAMES[d], code = code }
  self.stopped = true
end

function G:ending()
  local list = {}
  for d = 1, self.ndim do list[#list + 1] = self.ends[d] and d or nil end
  return self:pick(list)
end

-- Makes a statement that fails while running, if it is there at all.
function G:risky()
  local d = self.r(self.ndim) + 1
  local n = NAMES[d]
  return self:op({},
    self:pick { ('tempo.full({}, 12, { dtype = "i64" }):floordiv((w + 2 - %s):value())'):format(n),
                                 ('tempo.arange({4}):index_select(0, (%s + w - 1):value())'):format(
                                   n) }, {}, "i64", { [d] = true })
end

function G:bounds()
  local list = {}
  local function add(f)
    local b = { w = self.r(4) }
    for d = 1, self.ndim do b[BOUNDS[d]] = f(d) end
    list[#list + 1] = b
  end
  local zero = self.r(self.ndim) + 1
  add(function() return self.r(3) + 2 end)
  add(function() return 1 end)
  add(function() return self.r(5) + 1 end)
  add(function(d) return d == zero and 0 or self.r(3) + 1 end)
  add(function() return self.r(3) + 4 end)
  return list
end

local needed                                           -- below

-- Differences mean nothing where the loss has jumps, kinks, or goes through what has gradient 0 by
-- decree.
function G:forget_rough()
  local case = self.case
  if not case.smooth then return end
  for _, s in ipairs(needed { stmts = case.stmts, outputs = { case.smooth.loss },
    no_sinks = true }) do
    if s.rough then case.smooth = nil end
  end
end

-- float: its dtype of floats.
-- ends: "yes": dims end by data everywhere, several of them, before and after they are read; "no":
-- none does; nil: one in every fourth program.
function M.generate(seed, ends, float)
  local self = setmetatable({ r = helper.rng(seed), n = 0, pool = {} }, G)
  for _ = 1, 5 do self.r(2) end
  self.ndim = self:weighted { { 3, 1 }, { 5, 2 }, { 2, 3 } }
  self.float = self:chance(0.75) and "f64" or "f32"
  self.float = float or self.float
  self.wild = self:chance(0.15)
  self.case = { seed = seed, stmts = {}, outputs = {}, ndim = self.ndim,
    options = M.options(seed, OPTIONS) }
  self.short = seed % 4 == 1                           -- it is written with short forms
  self.case.dtype = self.short and self.float
  self.leaf = seed % 8 == 7 and ", { leaf = true }" or ""
  self.ends = {}
  if ends == "yes" then
    self.ends[self.r(self.ndim) + 1] = true
    for d = 1, self.ndim do self.ends[d] = self.ends[d] or self:chance(0.5) or nil end
  elseif seed % 4 == 0 and ends ~= "no" then
    self.ends[self.r(self.ndim) + 1] = true
  end
  for _ = 1, self.r(2) + 1 do self:input(self:random_dom(), self:random_shape(), self.float) end
  self:input(self:random_dom(), {}, "i64")
  for _ = 1, (self.r(4) + 2) * (self:chance(0.1) and 3 or 1) do
    self:weighted {
      { 6, function()
        for _ = 1, self.r(3) + 1 do self:step() end
      end },
      { 4, function() self:group() end },
      { 1, function() if not self.has_param then self:parameter() end end },
      { ends == "yes" and 2 or 0, function() self:stop(self:ending()) end },
      { ends == "yes" and 1 or 0, function() self:risky() end },
    }()
  end
  for d = 1, self.ndim do
    if self.ends[d] then self:stop(d) end
  end
  if self:chance(0.55) then self:gradients() end
  for _ = 1, self.r(4) + 1 do
    local v = self:choose()
    table.insert(self.case.outputs, v.name)
  end
  if self:chance(0.15) then self:sink() end
  self.case.bounds = self:bounds()
  self:forget_rough()
  if self.stopped then self.case.smooth = nil end
  return self.case
end

-- ---- as text and as a program -------------------------------------------------------------------

-- The statements that outputs and sinks need, in order.
function needed(case)
  local by, defs, want = {}, {}, {}
  for _, s in ipairs(case.stmts) do
    by[s.name] = s
    if s.of then
      defs[s.of] = defs[s.of] or {}
      table.insert(defs[s.of], s)
    end
  end
  local function need(name)
    if want[name] or not by[name] then return end
    want[name] = true
    for _, d in ipairs(by[name].deps) do need(d) end
    if not by[name].replaced then
      for _, s in ipairs(defs[name] or {}) do need(s.name) end
    end
  end
  for _, o in ipairs(case.outputs) do need(o) end
  for _, s in ipairs(case.stmts) do
    if s.sink and not s.dropped and not case.no_sinks then need(s.name) end
  end
  local list = {}
  for _, s in ipairs(case.stmts) do
    if want[s.name] then list[#list + 1] = s end
  end
  return list, want
end

local function input_code(s)
  return ('%s = P:input("%s", { domain = %s, shape = %s, dtype = "%s" })'):format(s.name, s.name,
    dom_text(s.dom), shape_text(s.shape), s.dtype)
end

local function header(case)
  local lines = {}
  if case.dtype then
    lines[1] = ('P = tempo.program { seed = 1, dtype = "%s" }'):format(case.dtype)
  end
  for d = 1, case.ndim do
    lines[#lines + 1] = ('%s, %s = P:dim "%s"'):format(NAMES[d], BOUNDS[d], NAMES[d])
  end
  lines[#lines + 1] = 'w = P:bound "w"'
  return lines
end

local function bounds_text(b)
  local t = {}
  for k, v in pairs(b) do t[#t + 1] = ("%s = %d"):format(k, v) end
  table.sort(t)
  return "{ " .. table.concat(t, ", ") .. " }"
end

-- The script that runs a program, which is its statements and the table `case`.
function M.script(program)
  return [[
tempo = require "tempo"
local check = require "spec.fuzz.check"
HEAR, ANSWER = check.hear, check.answer
P = tempo.program { seed = 1 }
local case
]] .. program .. [[
case.P = P
if ... == "case" then return case end
check.report(case)
]]
end

-- The program alone, as it lies in spec/fuzz/found below its settings.
function M.program(case)
  local lines, inputs = header(case), {}
  local list, want = needed(case)
  for _, s in ipairs(list) do
    if s.leaf or s.replaced then
      local bounds, name = {}, s.name
      for _, d in ipairs(dims_of(s.dom)) do bounds[#bounds + 1] = '"' .. BOUNDS[d] .. '"' end
      inputs[#inputs + 1] = ('{ "%s", { %s }, %s, "%s"%s }'):format(name,
        table.concat(bounds, ", "), extents_text(s.shape), s.dtype,
        s.factor and (", %.4g"):format(s.factor) or "")
    end
    lines[#lines + 1] = s.replaced and input_code(s) or s.code
  end
  -- a gradient over iterations may run through the update; what ends a dim may need the end
  local cycles
  for _, s in ipairs(list) do
    cycles = cycles or not s.replaced and (s.stop or s.code:find ":update%(.*tempo%.grad")
  end
  local outputs, all = {}, { "w:value()" }
  for d = 1, case.ndim do all[#all + 1] = BOUNDS[d] .. ":value()" end
  for _, o in ipairs(case.outputs) do outputs[#outputs + 1] = ("%s = %s"):format(o, o) end
  outputs[#outputs + 1] = "bounds = " .. table.concat(all, " + ")
  local runs = {}
  for _, b in ipairs(case.bounds) do runs[#runs + 1] = bounds_text(b) end
  lines[#lines + 1] = ("case = { outputs = { %s },"):format(table.concat(outputs, ", "))
  if cycles then lines[#lines + 1] = "  cycles = true," end
  if case.rows then lines[#lines + 1] = "  rows = true," end
  local ends = {}
  for _, s in ipairs(list) do
    if s.stop and not s.replaced then
      ends[#ends + 1] = ("%s = %s:value()"):format(s.stop, s.stop:upper())
    end
  end
  if #ends > 0 then lines[#lines + 1] = ("  ends = { %s },"):format(table.concat(ends, ", ")) end
  if case.options then lines[#lines + 1] = ("  options = { %s },"):format(case.options) end
  lines[#lines + 1] = ("  inputs = { %s },"):format(table.concat(inputs, ", "))
  lines[#lines + 1] = ("  bounds = { %s },"):format(table.concat(runs, ", "))
  if case.smooth and want[case.smooth.loss] then
    local pairs_text = {}
    for _, p in ipairs(case.smooth) do
      if want[p[1]] and want[p[2]] then
        pairs_text[#pairs_text + 1] = ('{ "%s", "%s" }'):format(p[1], p[2])
      end
    end
    if #pairs_text > 0 then
      lines[#lines + 1] = ('  smooth = { loss = "%s", %s },'):format(case.smooth.loss,
        table.concat(pairs_text, ", "))
    end
  end
  lines[#lines + 1] = "}"
  return table.concat(lines, "\n") .. "\n"
end

function M.text(case) return M.script(M.program(case)) end

-- A program of spec/fuzz/found: its settings, which may have the tag #long, and its script.
function M.found(name)
  local file = assert(io.open("spec/fuzz/found/" .. name .. ".lua"))
  local settings, program = file:read("*l"):match "^%-%- ?([%w_=%- #]*)$", file:read "*a"
  file:close()
  return assert(settings, name .. " begins with no line of settings"), M.script(program)
end

-- Runs the text up to its case. An error of recording is given back as nil, message.
function M.load(text)
  local env = setmetatable({}, { __index = _G })
  local f
  if setfenv then
    f = assert(loadstring(text, "=program"))
    setfenv(f, env)
  else
    f = assert(load(text, "=program", "t", env))
  end
  local ok, case = pcall(f, "case")
  if ok then return case end
  return nil, case
end

-- Smaller cases, most promising first: each a function that makes the change and gives one that
-- takes it back.
function M.shrinks(case)
  local list = {}
  if #case.bounds > 1 then
    for k in ipairs(case.bounds) do
      list[#list + 1] = function()
        local old = case.bounds
        case.bounds = { old[k] }
        return function() case.bounds = old end
      end
    end
  end
  if #case.outputs > 0 then
    for k in ipairs(case.outputs) do
      list[#list + 1] = function()
        local old = case.outputs
        case.outputs = {}
        for m, o in ipairs(old) do
          if m ~= k then table.insert(case.outputs, o) end
        end
        return function() case.outputs = old end
      end
    end
  end
  local stmts, kept = needed(case), {}
  for _, p in ipairs(case.smooth or {}) do
    kept[p[2]], kept[case.smooth.loss] = true, true
  end
  for k = #stmts, 1, -1 do
    local s = stmts[k]
    if s.sink then
      list[#list + 1] = function()
        s.dropped = true
        return function() s.dropped = nil end
      end
    elseif s.dom and not s.leaf and not s.replaced and not kept[s.name] then
      list[#list + 1] = function()
        local deps = s.deps
        s.replaced, s.deps = true, {}
        return function() s.replaced, s.deps = nil, deps end
      end
    end
  end
  for _, b in ipairs(case.bounds) do
    for k, v in pairs(b) do
      if v > 0 and #case.bounds == 1 then
        list[#list + 1] = function()
          b[k] = v - 1
          return function() b[k] = v end
        end
      end
    end
  end
  return list
end

return M

-- The graph of a recorded game: nodes of numbers and booleans, each there once, with what is known
-- of its value.
--
-- A node is { op, operands or what a leaf names }; ids are its places. Numbers are doubles, so
-- what is folded here has the bits that Lua's own floats have.
local graph = {}
graph.__index = graph

local floor, huge = math.floor, math.huge
local format, concat = string.format, table.concat
local type, tostring = type, tostring
local jit = rawget(_G, "jit")

-- Operators whose result is a boolean.
local logic = { lt = true, le = true, eq = true, land = true, lor = true, lnot = true }

--- An empty one. index: key -> id; chosen: the results of `where`; order: see met().
function graph.new()
  return setmetatable({ nodes = {}, index = {}, kinds = {}, ranges = {}, chosen = {}, order = {} },
    graph)
end

local function key_of(op, a, b, c)
  if op == "const" and type(a) == "number" then return format("const %.17g", a) end
  return concat({ op, tostring(a), b or "", c or "" }, " ")
end

-- The node, made unless there is an equal one. kind: "number" or "boolean".
local function node(self, kind, op, a, b, c)
  local key = key_of(op, a, b, c)
  local id = self.index[key]
  if not id then
    id = #self.nodes + 1
    self.nodes[id], self.index[key], self.kinds[id] = { op, a, b, c }, id, kind
  end
  return id
end

--- The node of a number or boolean of Lua's.
function graph:const(v)
  if type(v) == "boolean" then return node(self, "boolean", "const", v) end
  local id = node(self, "number", "const", v + 0.0)
  if v == v then self.ranges[id] = { lo = v, hi = v } end
  return id
end

--- The value of a constant node, else nil.
function graph:value(id)
  local n = self.nodes[id]
  if n[1] == "const" then return n[2] end
end

--- A named source: a field of the state, a component of the action, a draw. lo and hi, where
--- given, bound it and say that it is no NaN; `whole` says that it is an integer.
function graph:leaf(op, name, kind, lo, hi, whole)
  local id = node(self, kind, op, name)
  if lo then self.ranges[id] = { lo = lo, hi = hi, whole = whole } end
  return id
end

-- ---- numbers ------------------------------------------------------------------------------------

local function modulo(a, b)
  if jit then return a - floor(a / b) * b end
  return a % b
end

local fold = {
  add = function(a, b) return a + b end, sub = function(a, b) return a - b end,
  mul = function(a, b) return a * b end, div = function(a, b) return a / b end, mod = modulo,
  unm = function(a) return -a end, pow = function(a, b) return a ^ b end,
}
for _, name in ipairs { "floor", "ceil", "abs", "sqrt", "exp", "log", "sin", "cos", "tan", "asin",
    "acos", "atan", "sinh", "cosh", "tanh" } do
  fold[name] = math[name]
end

local rounds = { floor = true, ceil = true }

-- The range of an integer plus or minus a constant, which draws like random(2, 5) have.
local function moved(self, op, a, b)
  local x, y = self.ranges[a], self:value(b)
  if op == "add" and not y then x, y = self.ranges[b], self:value(a) end
  if not (x and x.whole and y) or y ~= floor(y) or x.lo == -huge or x.hi == huge then
    return nil
  end
  if op == "sub" then y = -y end
  return { lo = x.lo + y, hi = x.hi + y, whole = true }
end

--- An operator of numbers.
function graph:number(op, a, b)
  local x, y = self:value(a), b and self:value(b)
  if fold[op] and x and not b then return self:const(fold[op](x)) end
  if fold[op] and x and y then return self:const(fold[op](x, y)) end
  local n = self.nodes[a]
  if op == "unm" and n[1] == "unm" then return n[2] end
  if rounds[op] and (rounds[n[1]] or self.ranges[a] and self.ranges[a].whole) then return a end
  if (op == "mul" or op == "div") and y == 1 then return a end
  if op == "mul" and x == 1 then return b end
  if op == "pow" and y == 2 then return self:number("mul", a, a) end
  local id = node(self, "number", op, a, b)
  if (op == "add" or op == "sub") and not self.ranges[id] then
    self.ranges[id] = moved(self, op, a, b)
  end
  return id
end

-- ---- booleans -----------------------------------------------------------------------------------

--- `lt`, `le` or `eq` of two numbers; `eq` of two booleans.
function graph:compare(op, a, b)
  local x, y = self:value(a), self:value(b)
  if x ~= nil and y ~= nil then
    if op == "eq" then return self:const(x == y) end
    return self:const(op == "lt" and x < y or op == "le" and x <= y)
  end
  if op == "eq" and self.kinds[a] == "boolean" then
    if x ~= nil then a, b, y = b, a, x end
    if y ~= nil then return y and a or self:lnot(a) end
  end
  if a == b and (op == "lt" or self.kinds[a] == "boolean" or self.ranges[a]) then
    return self:const(op ~= "lt")                  -- but a NaN is not itself
  end
  if op == "eq" and b < a then a, b = b, a end
  return node(self, "boolean", op, a, b)
end

function graph:lnot(a)
  local v, n = self:value(a), self.nodes[a]
  if v ~= nil then return self:const(not v) end
  if n[1] == "lnot" then return n[2] end
  return node(self, "boolean", "lnot", a)
end

-- land and lor: `stop` is the value that decides alone.
local function both(self, op, stop, a, b)
  local x, y = self:value(a), self:value(b)
  if x == stop or y == stop then return self:const(stop) end
  if x ~= nil or a == b then return b end
  if y ~= nil then return a end
  if b < a then a, b = b, a end
  return node(self, "boolean", op, a, b)
end
function graph:land(a, b) return both(self, "land", false, a, b) end
function graph:lor(a, b) return both(self, "lor", true, a, b) end

-- land or lor of two that share an operand: where(c, p and q, p and r) => p and where(c, q, r).
local function zip_logic(self, c, op, p, q)
  for k = 2, 3 do
    for l = 2, 3 do
      if p[k] == q[l] then return self[op](self, p[k], self:where(c, p[5 - k], q[5 - l])) end
    end
  end
end

local compares = { lt = true, le = true, eq = true }

-- When a condition was met: a later one is never put around an earlier one, so that choices do not
-- turn for ever.
local function met(self, c) return self.order[c] or c end

-- where(c, where(d, ..), where(e, ..)) => where(where(c, d, e), where(c, ..), where(c, ..)), where
-- d and e are one condition of chosen operands, or equal. So the condition met last stands
-- outermost, as in the game.
local function zip_choice(self, c, p, q)
  local d, first = p[2], met(self, p[2])
  if d ~= q[2] then
    first = math.min(first, met(self, q[2]))
    if met(self, c) >= first then return nil end
    d = self:where(c, d, q[2])
    if self.nodes[d][1] == "where" then return nil end
    self.order[d] = math.min(first, met(self, d))
  elseif met(self, c) >= first and p[3] ~= q[3] and p[4] ~= q[4] then
    return nil
  end
  return self:where(d, self:where(c, p[3], q[3]), self:where(c, p[4], q[4]))
end

-- The same operator on both sides is made once, of operands that are chosen: where(c, f(x), f(y))
-- => f(where(c, x, y)). The bits are the same. A game goes on behind an `if` with the same code on
-- each path, so this finds what the paths have in common.
local function zip(self, c, a, b)
  local p, q = self.nodes[a], self.nodes[b]
  local op = p[1]
  if op ~= q[1] or op == "const" or type(p[2]) == "string" then return nil end
  if op == "where" then return zip_choice(self, c, p, q) end
  if op == "land" or op == "lor" then return zip_logic(self, c, op, p, q) end
  if op == "lnot" then return self:lnot(self:where(c, p[2], q[2])) end
  if self.kinds[p[2]] ~= self.kinds[q[2]] then return nil end
  local x, y = self:where(c, p[2], q[2]), p[3] and self:where(c, p[3], q[3])
  if y and p[2] ~= q[2] and p[3] ~= q[3] and self.nodes[x][1] == "where"
    and self.nodes[y][1] == "where" then
    return nil                                   -- two choices for one operator are no gain
  end
  if compares[op] then return self:compare(op, x, y) end
  return self:number(op, x, y)
end

-- Neighbouring choices with one result are a choice with a joined condition: where(c, where(d, x,
-- y), y) => where(c and d, x, y).
local function join(self, c, a, b)
  local p, q = self.nodes[a], self.nodes[b]
  if p[1] == "where" then
    if p[4] == b then return self:where(self:land(c, p[2]), p[3], b) end
    if p[3] == b then return self:where(self:land(c, self:lnot(p[2])), p[4], b) end
  end
  if q[1] == "where" then
    if q[3] == a then return self:where(self:lor(c, q[2]), a, q[4]) end
    if q[4] == a then return self:where(self:lor(c, self:lnot(q[2])), a, q[3]) end
  end
end

-- Choices between booleans of which one is known are logic.
local function logical(self, c, a, b)
  if self.kinds[a] ~= "boolean" then return nil end
  local x, y = self:value(a), self:value(b)
  if x ~= nil then return x and self:lor(c, b) or self:land(self:lnot(c), b) end
  if y ~= nil then return y and self:lor(self:lnot(c), a) or self:land(c, a) end
end

--- a where c holds, else b.
function graph:where(c, a, b)
  if a == b then return a end
  local v = self:value(c)
  if v ~= nil then return v and a or b end
  local n = self.nodes[c]
  if n[1] == "lnot" then return self:where(n[2], b, a) end
  local p, q = self.nodes[a], self.nodes[b]
  if p[1] == "where" and p[2] == c then return self:where(c, p[3], b) end
  if q[1] == "where" and q[2] == c then return self:where(c, a, q[4]) end
  local key = c .. " " .. a .. " " .. b
  local made = self.chosen[key]
  if not made then
    -- the answer for a question that comes back to itself
    self.chosen[key] = node(self, self.kinds[a], "where", c, a, b)
    made = logical(self, c, a, b) or zip(self, c, a, b) or join(self, c, a, b)
      or node(self, self.kinds[a], "where", c, a, b)
    self.chosen[key] = made
  end
  return made
end

--- Is the op's result a boolean?
function graph.is_logic(op) return logic[op] end

return graph

-- docs/language.md, section 4, said once more in plain Lua: the values of the eight dtypes and what
-- arithmetic makes of them. A value of a float dtype is a double, of an integer one a 64-bit
-- integer (Lua 5.4's own, LuaJIT's int64_t), of bool a boolean. Knows nothing of tempo.
local num = {}

num.order = { "bool", "u8", "i32", "i64", "f16", "bf16", "f32", "f64" }
local rank = {}
for i, d in ipairs(num.order) do rank[d] = i end

-- 64-bit integers
-- ---------------------------------------------------------------------------------------------------------

local compile = loadstring or load                       -- luacheck: globals loadstring
local I, quotient
if jit then
  local int64 = require("ffi").typeof "int64_t"
  I = function(n) return int64(n) end
  quotient = function(a, b)
    local q = a / b                                      -- towards zero
    return (q * b ~= a and (a < 0) ~= (b < 0)) and q - 1 or q
  end
else
  I = function(n) return math.tointeger(n) end
  quotient = compile "local a, b = ... return a // b"    -- LuaJIT cannot read //
end
num.I = I
-- the limits, without a literal that one of the Luas rounds
do
  local m = I(1)
  for _ = 1, 62 do m = m + m end
  num.max, num.min = m - 1 + m, -m - m
end

function num.floordiv(a, b) return b == I(-1) and I(0) - a or quotient(a, b) end
function num.mod(a, b) return a - num.floordiv(a, b) * b end

local function power(a, n)
  local p = I(1)
  for _ = 1, tonumber(n) do p = p * a end
  return p
end

-- Little-endian bytes: the one way in for numbers that a Lua double cannot hold.
function num.bytes(v)
  local s = {}
  for k = 1, 8 do
    s[k] = string.char(tonumber(num.mod(v, I(256))))
    v = num.floordiv(v, I(256))
  end
  return table.concat(s)
end

local function wrap(v, d)
  if d == "i64" then return v end
  local width = I(d == "u8" and 256 or 4294967296)
  v = num.mod(v, width)
  if d == "i32" and v >= I(2147483648) then v = v - width end
  return v
end

-- floats
-- --------------------------------------------------------------------------------------------------------------------

local format = { f16 = { 11, -14, 65504 }, bf16 = { 8, -126, 0x1.fep127 },
  f32 = { 24, -126, 0x1.fffffep127 } }

-- The nearest value of dtype d, even at ties.
function num.round(x, d)
  local f = format[d]
  if not f or x ~= x or x == 0 or x == math.huge or x == -math.huge then return x end
  x = x + 0.0
  local e, m = 0, math.abs(x)
  while m >= 2 do m, e = m / 2, e + 1 end
  while m < 1 and e > f[2] do m, e = m * 2, e - 1 end
  local unit = 1.0
  for _ = 1, math.abs(math.max(e, f[2]) - f[1] + 1) do unit = unit * 2 end
  local down = math.max(e, f[2]) < f[1] - 1
  local n = down and math.abs(x) * unit or math.abs(x) / unit
  local whole = math.floor(n) + 0.0
  local rest = n - whole
  if rest > 0.5 or (rest == 0.5 and whole % 2 == 1) then whole = whole + 1 end
  local y = down and whole / unit or whole * unit
  if y > f[3] then y = math.huge end
  return (x < 0 or 1 / x < 0) and -y or y
end

function num.is_float(d) return rank[d] >= rank.f16 end

-- rules
-- ---------------------------------------------------------------------------------------------------------------------

function num.promote(a, b)
  if (a == "f16" and b == "bf16") or (a == "bf16" and b == "f16") then return "f32" end
  return rank[a] >= rank[b] and a or b
end

local function saturate(x, lo, hi)
  if x ~= x then return I(0) end
  if x >= 2 ^ 63 then return hi end
  if x < -2 ^ 63 then return lo end
  local v = I(x < 0 and math.ceil(x) or math.floor(x))
  return v < lo and lo or v > hi and hi or v
end

function num.cast(v, from, to)
  if num.is_float(from) then
    if to == "bool" then return v ~= 0 end
    if to == "u8" then return saturate(v, I(0), I(255)) end
    if to == "i32" then return saturate(v, I(-2147483648), I(2147483647)) end
    if to == "i64" then return saturate(v, num.min, num.max) end
    return num.round(v, to)
  end
  local i = v
  if from == "bool" then i = v and I(1) or I(0) end
  if to == "bool" then return i ~= I(0) end
  if not num.is_float(to) then return wrap(i, to) end
  -- what i64 holds goes to a 16-bit float by way of f32
  local x = tonumber(i) + 0.0
  return num.round((to == "f16" or to == "bf16") and num.round(x, "f32") or x, to)
end

local function float_mod(x, y)
  if y == 0 or x ~= x or y ~= y or x == math.huge or x == -math.huge then return 0 / 0 end
  local m = (y == math.huge or y == -math.huge) and x or math.fmod(x, y)
  return (m ~= 0 and (m < 0) ~= (y < 0)) and m + y or m
end

-- floor(x / y), from the exact remainder
local function float_floordiv(x, y)
  if y == 0 then return x / y end
  local m = float_mod(x, y)
  if m ~= m then return m end
  if y == math.huge or y == -math.huge then return m == x and x / y or -1 end
  local rest = math.fmod(x, y)                           -- x - rest is exact but for its last place
  local q = (x - rest) / y
  local whole = math.abs(q) >= 2 ^ 52 and q or math.floor(q + 0.5) + 0.0
  if m ~= rest then whole = whole - 1 end
  if whole == 0 then return x / y * 0 end                -- a zero of the quotient's sign
  return whole
end

local float = {
  add = function(x, y) return x + y end, sub = function(x, y) return x - y end,
    mul = function(x, y) return x * y end,
  div = function(x, y) return x / y end, mod = float_mod, floordiv = float_floordiv,
    pow = function(x, y) return x ^ y end,
  minimum = function(x, y) if x ~= x or y ~= y then return 0 / 0 end return x <= y and x or y end,
  maximum = function(x, y) if x ~= x or y ~= y then return 0 / 0 end return x >= y and x or y end,
}
local integer = {
  add = function(x, y) return x + y end, sub = function(x, y) return x - y end,
    mul = function(x, y) return x * y end,
  mod = num.mod, floordiv = num.floordiv, pow = power,
  minimum = function(x, y) return x < y and x or y end,
    maximum = function(x, y) return x > y and x or y end,
}
local compare = {
  eq = function(x, y) return x == y end, ne = function(x, y) return x ~= y end,
    lt = function(x, y) return x < y end,
  le = function(x, y) return x <= y end, gt = function(x, y) return x > y end,
    ge = function(x, y) return x >= y end,
}
num.comparisons = compare

-- The dtype in which op computes, and that of its result.
function num.dtypes(op, a, b)
  local d = num.promote(a, b)
  if compare[op] then return d == "bool" and "u8" or d, "bool" end
  if op == "minimum" or op == "maximum" then return d, d end
  if op == "div" and not num.is_float(d) then return "f32", "f32" end
  if d == "bool" then d = "i64" end
  return d, d
end

-- op of one element of dtype a and one of dtype b.
function num.binary(op, x, a, y, b)
  local d, out = num.dtypes(op, a, b)
  x, y = num.cast(x, a, d), num.cast(y, b, d)
  if compare[op] then return compare[op](x, y), out end
  if d == "bool" then
    if op == "minimum" then return x and y, out end
    return x or y, out
  end
  if not num.is_float(d) then return wrap(integer[op](x, y), d), out end
  local v = float[op](x, y)
  return num.round((d == "f16" or d == "bf16") and num.round(v, "f32") or v, d), out
end

return num

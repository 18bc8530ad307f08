-- Philox 4x32-10 and the hash of an op's name, from docs/random.md alone, in arithmetic that both
-- Luas have: numbers are sequences of 16-bit limbs, lowest first.
local M = {}

local function limbs(x, n)                             -- of an integer 0 <= x < 2^53
  local v = {}
  for k = 1, n do
    v[k] = x % 65536
    x = math.floor(x / 65536)
  end
  return v
end

local function number(v)                               -- of two limbs
  return v[1] + v[2] * 65536
end

local function xor16(a, b)
  local r, bit = 0, 1
  for _ = 1, 16 do
    if a % 2 ~= b % 2 then r = r + bit end
    a, b, bit = math.floor(a / 2), math.floor(b / 2), bit * 2
  end
  return r
end

local function xor(a, b)
  local r = {}
  for k = 1, #a do r[k] = xor16(a[k], b[k]) end
  return r
end

local function add(a, b)
  local r, carry = {}, 0
  for k = 1, #a do
    local s = a[k] + b[k] + carry
    r[k], carry = s % 65536, math.floor(s / 65536)
  end
  return r
end

local function mul(a, b)                               -- all #a + #b limbs
  local r = {}
  for k = 1, #a + #b do r[k] = 0 end
  for i = 1, #a do
    local carry = 0
    for j = 1, #b do
      local s = r[i + j - 1] + a[i] * b[j] + carry
      r[i + j - 1], carry = s % 65536, math.floor(s / 65536)
    end
    r[i + #b] = r[i + #b] + carry
  end
  return r
end

local function low(v, n)
  local r = {}
  for k = 1, n do r[k] = v[k] end
  return r
end

local function right33(v)                              -- of four limbs
  local r = { 0, 0, 0, 0 }
  local hi = v[3] + v[4] * 65536                       -- v >> 32
  hi = math.floor(hi / 2)
  r[1], r[2] = hi % 65536, math.floor(hi / 65536)
  return r
end

local M0, M1 = limbs(0xD2511F53, 2), limbs(0xCD9E8D57, 2)
local W0, W1 = limbs(0x9E3779B9, 2), limbs(0xBB67AE85, 2)

-- Four words and two words, as pairs of limbs.
local function philox(c, k)
  for _ = 1, 10 do
    local p0, p1 = mul(M0, c[1]), mul(M1, c[3])
    c = {
      xor(xor({ p1[3], p1[4] }, c[2]), k[1]), { p1[1], p1[2] },
      xor(xor({ p0[3], p0[4] }, c[4]), k[2]), { p0[1], p0[2] },
    }
    k = { add(k[1], W0), add(k[2], W1) }
  end
  return c
end

function M.philox(counter, key)                        -- plain numbers below 2^32
  local c, k = {}, {}
  for i = 1, 4 do c[i] = limbs(counter[i], 2) end
  for i = 1, 2 do k[i] = limbs(key[i], 2) end
  local out = philox(c, k)
  for i = 1, 4 do out[i] = number(out[i]) end
  return out
end

local C1, C2 = { 0x8ccd, 0xed55, 0xafd7, 0xff51 }, { 0xec53, 0x1a85, 0xb9fe, 0xc4ce }
local GOLD = { 0x7c15, 0x7f4a, 0x79b9, 0x9e37 }
local function mix(h)
  h = low(mul(xor(h, right33(h)), C1), 4)
  h = low(mul(xor(h, right33(h)), C2), 4)
  return xor(h, right33(h))
end

-- The 64-bit hash of a string of bytes, as four limbs.
function M.hash(s)
  local h = mix(low(mul(limbs(#s, 4), GOLD), 4))
  local function word(from, to)
    local v = { 0, 0, 0, 0 }
    for k = from, to do
      local i = k - from
      local limb = math.floor(i / 2) + 1
      v[limb] = v[limb] + s:byte(k) * (i % 2 == 0 and 1 or 256)
    end
    return v
  end
  local at = 1
  while #s - at + 1 >= 8 do
    h = add(mix(xor(h, word(at, at + 7))), GOLD)
    at = at + 8
  end
  return mix(xor(h, word(at, #s)))
end

-- The stream of an op: `name` its name, or its ordinal among the program's unnamed random ops;
-- coords its point in domain order. Gives word(k), a number below 2^32.
function M.stream(seed, name, coords)
  if type(name) == "number" then
    local n, bytes = name, {}
    for k = 1, 8 do
      bytes[k] = string.char(n % 256)
      n = math.floor(n / 256)
    end
    name = table.concat(bytes)
  end
  local tag = limbs(0x74656d70, 2)
  local s, h = limbs(seed, 4), M.hash(name)
  local out = philox({ { h[1], h[2] }, { h[3], h[4] }, { 0, 0 }, tag },
    { { s[1], s[2] }, { s[3], s[4] } })
  for ordinal, c in ipairs(coords) do
    local v = limbs(c, 4)
    out = philox({ { v[1], v[2] }, { v[3], v[4] }, limbs(ordinal, 2), tag }, { out[1], out[2] })
  end
  local key = { out[1], out[2] }
  return function(k)
    local block = limbs(math.floor(k / 4), 4)
    return number(philox({ { block[1], block[2] }, { block[3], block[4] }, { 0, 0 }, { 0, 0 } },
      key)[k % 4 + 1])
  end
end

-- Numbers: element e of a stream
-- --------------------------------------------------------------------------------------------

function M.uniform(word, e) return math.floor(word(e) / 256) / 2 ^ 24 end

function M.uniform64(word, e)
  return (word(2 * e + 1) * 2 ^ 21 + math.floor(word(2 * e) / 2 ^ 11)) / 2 ^ 53
end

function M.randint(word, e, lo, hi)
  local n = hi - lo
  return lo + ((word(2 * e + 1) % n) * (2 ^ 32 % n) + word(2 * e) % n) % n
end

local function horner(z, ...)
  local p = 0
  for _, c in ipairs { ... } do p = p * z + c end
  return p
end

local function ln(k)
  local m, n = k / 2 ^ 24, 0
  while m < 0.7071067811865476 do m, n = m * 2, n - 1 end
  local f = m - 1
  local s = f / (2 + f)
  local z, h = s * s, 0.5 * f * f
  local p = horner(z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
    2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01,
    6.666666666666735130e-01)
  return n * 6.93147180369123816490e-01 - (
    (h - (s * (h + p * z) + n * 1.90821492927058770002e-10)) - f)
end

local function cosine(j)
  local q = math.floor((j + 2 ^ 21) / 2 ^ 22)
  local r = (j - q * 2 ^ 22) * (1.57079632679489661923 * 2 ^ -22)
  local z = r * r
  local a = horner(z, 1.58962301576546568060e-10, -2.50507477628578072866e-08,
    2.75573136213857245213e-06, -1.98412698295895385996e-04, 8.33333333332211858878e-03,
    -1.66666666666666307295e-01)
  local b = horner(z, -1.13585365213876817300e-11, 2.08757008419747316778e-09,
    -2.75573141792967388112e-07, 2.48015872888517045348e-05, -1.38888888888730564116e-03,
    4.16666666666665929218e-02)
  local sin, cos = a * z * r + r, b * (z * z) + (1 - 0.5 * z)
  return ({ cos, -sin, -cos, sin })[q % 4 + 1]
end

function M.normal(word, e)
  return math.sqrt(-2 * ln(math.floor(word(2 * e) / 256) + 1)) * cosine(
    math.floor(word(2 * e + 1) / 256))
end

return M

-- TensorBoard's event files: TFRecords of protocol buffers (tensorflow/core/util/event.proto,
-- framework/summary.proto).
--
--   record   u64 length, u32 masked crc of these 8 bytes, data, u32 masked crc of it; little endian
--   masked   (crc >> 15 | crc << 17) + 0xa282ead8, of CRC-32C (Castagnoli)
--   Event    1 wall_time: double, 2 step: int64, 3 file_version: string, 5 summary: Summary
--   Summary  1 value: repeated { 1 tag: string, 2 simple_value: float }
local events = {}

local there, bit = pcall(require, "bit")        -- LuaJIT has no operators on bits, 5.4 no module
local bxor = there and function(a, b) return bit.bxor(a, b) % 2 ^ 32 end
  or load "return function(a, b) return a ~ b end" ()
local pack = rawget(string, "pack")

-- ---- bytes --------------------------------------------------------------------------------------

local function little(v, n)
  local out = {}
  for k = 1, n do
    out[k] = string.char(v % 256)
    v = math.floor(v / 256)
  end
  return table.concat(out)
end

-- IEEE 754, of 4 or 8 bytes.
local function float(v, bytes)
  if pack then return pack(bytes == 8 and "<d" or "<f", v) end
  local ffi = require "ffi"
  return ffi.string(ffi.new(bytes == 8 and "double[1]" or "float[1]", v), bytes)
end

local function varint(n)
  local out = {}
  repeat
    local low = n % 128
    n = math.floor(n / 128)
    out[#out + 1] = string.char(n > 0 and low + 128 or low)
  until n == 0
  return table.concat(out)
end

-- Fields of a message: the key is 8 * number + kind (0 a varint, 1 eight bytes, 2 a length and so
-- many bytes, 5 four).
local function int(number, v) return varint(8 * number) .. varint(v) end
local function double(number, v) return varint(8 * number + 1) .. float(v, 8) end
local function bytes(number, s) return varint(8 * number + 2) .. varint(#s) .. s end
local function single(number, v) return varint(8 * number + 5) .. float(v, 4) end

-- ---- records ------------------------------------------------------------------------------------

local crcs = {}
for byte = 0, 255 do
  local crc = byte
  for _ = 1, 8 do
    local half = math.floor(crc / 2)
    crc = crc % 2 == 1 and bxor(half, 0x82f63b78) or half
  end
  crcs[byte] = crc
end

local function masked_crc(s)
  local crc = 0xffffffff
  for k = 1, #s do crc = bxor(crcs[bxor(crc % 256, s:byte(k))], math.floor(crc / 256)) end
  crc = bxor(crc, 0xffffffff)
  return (math.floor(crc / 2 ^ 15) + crc % 2 ^ 15 * 2 ^ 17 + 0xa282ead8) % 2 ^ 32
end

local function framed(data)
  local length = little(#data, 8)
  return length .. little(masked_crc(length), 4) .. data .. little(masked_crc(data), 4)
end

--- The record that a file begins with; time: seconds since 1970.
function events.version(time)
  return framed(double(1, time) .. bytes(3, "brain.Event:2"))
end

--- Makes a record with a value for each column but the first, the step. It leaves out values that
--- are no numbers.
function events.scalars(time, columns, values)
  local summary = {}
  for k = 2, #columns do
    if type(values[k]) == "number" then
      summary[#summary + 1] = bytes(1, bytes(1, columns[k]) .. single(2, values[k]))
    end
  end
  return framed(double(1, time) .. int(2, values[1]) .. bytes(5, table.concat(summary)))
end

return events

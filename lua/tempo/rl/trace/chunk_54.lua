-- Chunks of Lua 5.4 (ldump.c), read and written in one pass: what code.lua copies functions with.
local chunk = {}

local unpack = rawget(string, "unpack")
local byte, char, concat, floor = string.byte, string.char, table.concat, math.floor

--- Is it a chunk of this version?
function chunk.is_known(text) return text:sub(1, 6) == "\27Lua\x54\0" end

--- Names that a function mentions: rewrite has found them.
function chunk.names() end

local ops = { GETTABLE = 12, SETTABLE = 16, NOT = 51, JMP = 56, EQ = 57, EQK = 60, EQI = 61,
  TEST = 66, TESTSET = 67 }

local function reader(text)
  local at, r = 1, { out = {} }
  function r.copy(n)                             -- n bytes as they are
    r.out[#r.out + 1] = text:sub(at, at + n - 1)
    at = at + n
    return at - n
  end
  function r.skip(n) at = at + n end
  function r.tell() return at end
  function r.size()                              -- seven bits a byte, the last one is marked
    local x, from = 0, at
    repeat
      local c = byte(text, at)
      at = at + 1
      x = x * 128 + c % 128
    until c >= 128
    return x, text:sub(from, at - 1)
  end
  function r.copy_size()
    local x, bytes = r.size()
    r.out[#r.out + 1] = bytes
    return x
  end
  function r.copy_string()
    local n = r.copy_size()
    if n > 0 then return text:sub(r.copy(n - 1), at - 1) end
  end
  function r.string()
    local n = r.size()
    if n == 0 then return nil end
    at = at + n - 1
    return text:sub(at - n + 1, at - 1)
  end
  function r.write(s) r.out[#r.out + 1] = s end
  return r
end

local function size_bytes(x)
  local s = char(128 + x % 128)
  x = floor(x / 128)
  while x > 0 do
    s = char(x % 128) .. s
    x = floor(x / 128)
  end
  return s
end

-- Tells what is looked at in front of instruction pc of Lua 5.4.
local function watch54(text, at, pc, constants, watched, starts)
  local word = unpack("<I4", text, at + 4 * (pc - 1))
  local op, a, b, c = word % 128, floor(word / 128) % 256, floor(word / 65536) % 256,
    floor(word / 16777216)
  if op == ops.TEST then watched[pc] = { op = "test", a = a + 1 }
  elseif op == ops.TESTSET or op == ops.NOT then watched[pc] = { op = "test", a = b + 1 }
  elseif op == ops.GETTABLE then watched[pc] = { op = "index", a = c + 1 }
  elseif op == ops.SETTABLE then watched[pc] = { op = "index", a = b + 1 }
  elseif op == ops.EQ or op == ops.EQI or op == ops.EQK then
    local site = { op = "equal", a = a + 1 }
    if op == ops.EQ then site.b = b + 1
    elseif op == ops.EQI then site.constant = b - 127
    else site.constant = constants[b + 1] end
    watched[pc] = site
    local jump = unpack("<I4", text, at + 4 * pc)
    starts[pc + 2] = true
    if jump % 128 == ops.JMP then starts[pc + 2 + floor(jump / 128) - 0xffffff] = true end
  end
end

local function constants54(r, text)
  local list, n = {}, r.copy_size()
  for k = 1, n do
    local kind = byte(text, r.copy(1))
    if kind == 0x13 then list[k] = unpack("<d", text, r.copy(8))
    elseif kind == 0x03 then list[k] = unpack("<i8", text, r.copy(8))
    elseif kind == 0x04 or kind == 0x14 then list[k] = r.copy_string()
    elseif kind == 0x01 then list[k] = false
    elseif kind == 0x11 then list[k] = true end
  end
  return list, n
end

-- Lines of the script by instruction: differences, with some lines in full.
local function lines54(r, text, n, first)
  local count = r.size()
  local from = r.tell()
  r.skip(count)
  local full, lines, line = {}, {}, first
  for _ = 1, r.size() do
    local pc = r.size()
    full[pc + 1] = r.size()
  end
  for pc = 1, n do
    local d = byte(text, from + pc - 1) or 0
    if d == 128 then line = full[pc] else line = line + (d < 128 and d or d - 256) end
    lines[pc] = line
  end
  return lines
end

local function function54(r, text, parent, how)
  local source = r.string() or parent
  r.write(size_bytes(#how.mark + 1) .. how.mark)
  local first = r.size()
  local place = #r.out + 1
  r.write ""                                     -- the first line, known later
  r.copy_size()
  r.copy(3)
  local n = r.copy_size()
  local at = r.copy(4 * n)
  local constants, count = constants54(r, text)
  for k = 1, count do
    if type(constants[k]) == "string" then how.found.names[constants[k]] = true end
  end
  r.copy(3 * r.copy_size())
  local watched, starts = {}, {}
  for pc = 1, n do watch54(text, at, pc, constants, watched, starts) end
  for _ = 1, r.copy_size() do function54(r, text, source, how) end
  local base, of = how.number_lines(how.file_of(source), lines54(r, text, n, first), watched,
    starts)
  r.out[place] = size_bytes(base)
  r.write(size_bytes(n))
  for pc = 1, n do r.write(char(of[pc] - (of[pc - 1] or 0))) end
  r.write(size_bytes(0))
  for _ = 1, r.copy_size() do
    r.copy_string()
    r.copy_size()
    r.copy_size()
  end
  for _ = 1, r.copy_size() do r.copy_string() end
end

--- The chunk with lines of its own.
function chunk.rewrite(text, how)
  local r = reader(text)
  r.copy(31)                                     -- the header
  r.copy(1)                                      -- number of upvalues
  function54(r, text, "=?", how)
  return concat(r.out)
end

return chunk

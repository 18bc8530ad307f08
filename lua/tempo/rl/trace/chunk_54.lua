-- Chunks of Lua 5.4 (ldump.c), read and written in one pass: what code.lua copies functions with.
local span = require "tempo.rl.trace.flow".span

local chunk = {}

local unpack = rawget(string, "unpack")
local byte, char, concat, floor = string.byte, string.char, table.concat, math.floor

--- Is it a chunk of this version?
function chunk.is_known(text) return text:sub(1, 6) == "\27Lua\x54\0" end

--- Names that a function mentions: rewrite has found them.
function chunk.names() end

local ops = { FORPREP = 74, CLOSURE = 79, GETTABLE = 12, SETTABLE = 16,
  NOT = 51, JMP = 56, EQ = 57, EQK = 60, EQI = 61, TEST = 66, TESTSET = 67 }

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
local function watch54(text, at, pc, constants, watched)
  local word = unpack("<I4", text, at + 4 * (pc - 1))
  local op, a, b, c = word % 128, floor(word / 128) % 256, floor(word / 65536) % 256,
    floor(word / 16777216)
  if op == ops.TEST then watched[pc] = { op = "test", a = a + 1 }
  elseif op == ops.TESTSET or op == ops.NOT then watched[pc] = { op = "test", a = b + 1 }
  elseif op == ops.FORPREP then watched[pc] = { op = "bound", a = a + 1 }
  elseif op == ops.CLOSURE then watched[pc] = { op = "closure", a = a + 1 }
  elseif op == ops.GETTABLE then watched[pc] = { op = "index", a = c + 1 }
  elseif op == ops.SETTABLE then watched[pc] = { op = "index", a = b + 1 }
  elseif op == ops.EQ or op == ops.EQI or op == ops.EQK then
    local site = { op = "equal", a = a + 1 }
    if op == ops.EQ then site.b = b + 1
    elseif op == ops.EQI then site.constant = b - 127
    else site.constant = constants[b + 1] end
    watched[pc] = site
  end
end

-- How instructions use registers, as flow.lua wants it: letters name what is read, those in front
-- of `=` what is written. C is read where it is no constant.
local forms = {}
for form, list in pairs { ["A=B"] = { 0, 13, 14, 49, 50, 51, 52 }, ["A="] = { 1, 2, 3, 4, 5, 7, 9,
    11, 19 }, ["A=BC"] = { 12 }, A = { 10 }, AB = { 57, 58, 59 }, C = { 15 }, ABC = { 16 },
    AC = { 17, 18 } } do
  for _, op in ipairs(list) do forms[op] = form end
end
for op = 21, 33 do forms[op] = "A=B" end
for op = 34, 45 do forms[op] = "A=BC" end
for op = 60, 66 do forms[op] = "A" end

-- Instructions that name a number of registers, or jump.
local special = {
  [6] = function(pc, a) return { writes = { a }, to = { { pc + 2 } } } end,          -- LFALSESKIP
  [8] = function(_, a, b) return { writes = span(a, b + 1) } end,                    -- LOADNIL
  [20] = function(_, a, b, c, k)                                                     -- SELF
    return { reads = k and { b } or { b, c }, writes = { a, a + 1 } }
  end,
  [53] = function(_, a, b) return { reads = span(a, b), writes = { a } } end,        -- CONCAT
  [67] = function(pc, a, b)                                                          -- TESTSET
    return { reads = { b }, to = { { pc + 1, a }, { pc + 2 } } }
  end,
  [68] = function(_, a, b, c)                                                        -- CALL
    return { reads = span(a, b), above = b == 0 and a or nil, kills = a, call = true,
      open = c == 0 }
  end,
  [69] = function(_, a, b)                                                           -- TAILCALL
    return { reads = span(a, b), above = b == 0 and a or nil, to = {} }
  end,
  [70] = function(_, a, b)                                                           -- RETURN
    return { reads = span(a, b - 1), above = b == 0 and a or nil, to = {} }
  end,
  [71] = function() return { to = {} } end,
  [72] = function(_, a) return { reads = { a }, to = {} } end,
  [73] = function(pc, a, _, _, _, bx)                                                -- FORLOOP
    return { reads = span(a, 3), to = { { pc + 1 }, { pc + 1 - bx, a + 3 } } }
  end,
  [74] = function(pc, a, _, _, _, bx)                                                -- FORPREP
    return { reads = span(a, 3), to = { { pc + 1, a + 3 }, { pc + 2 + bx } } }
  end,
  [75] = function(pc, _, _, _, _, bx) return { to = { { pc + 1 + bx } } } end,       -- TFORPREP
  [76] = function(_, a)                                                              -- TFORCALL
    return { reads = span(a, 3), kills = a + 4, call = true }
  end,
  [77] = function(pc, a, _, _, _, bx)                                                -- TFORLOOP
    return { reads = { a + 4 }, to = { { pc + 1 }, { pc + 1 - bx, a + 2 } } }
  end,
  [78] = function(_, a, b)                                                           -- SETLIST
    return { reads = span(a, b + 1), above = b == 0 and a or nil }
  end,
  [79] = function(_, a) return { writes = { a }, call = true } end,                  -- CLOSURE
  [80] = function(_, a, _, c)                                                        -- VARARG
    return { writes = span(a, c - 1), kills = c == 0 and a or nil, open = c == 0 }
  end,
}

local function decode(text, at, pc)
  local word = unpack("<I4", text, at + 4 * (pc - 1))
  local op, a, rest = word % 128, floor(word / 128) % 256, floor(word / 32768)
  local k, b, c = rest % 2 == 1, floor(rest / 2) % 256, floor(rest / 512)
  if op == ops.JMP then return { to = { { pc + 1 + floor(word / 128) - 0xffffff } } } end
  if special[op] then return special[op](pc, a, b, c, k, rest) end
  local form, i = forms[op], { reads = {} }
  if not form then return i end
  if form:find "=" then i.writes = { a } end
  local of = { A = a, B = b, C = not (k and op < 20 and op > 14) and c or nil }
  for letter in form:gsub("^A=", ""):gmatch "." do i.reads[#i.reads + 1] = of[letter] end
  if form == "AB" or form == "A" and op >= 60 then i.to = { { pc + 1 }, { pc + 2 } } end
  return i
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

-- The set of the parent's registers that a function holds as upvalues.
local function upvalues54(r, text)
  local set = {}
  for _ = 1, r.copy_size() do
    local in_stack, reg = byte(text, r.copy(3), r.tell() - 1)
    if in_stack == 1 then set[reg] = true end
  end
  return set
end

local function function54(r, text, parent, how)
  local source = r.string() or parent
  r.write(size_bytes(#how.mark + 1) .. how.mark)
  local first = r.size()
  local place = #r.out + 1
  r.write ""                                     -- the first line, known later
  r.copy_size()
  local size = byte(text, r.copy(3) + 2)
  local n = r.copy_size()
  local at = r.copy(4 * n)
  local constants, count = constants54(r, text)
  for k = 1, count do
    if type(constants[k]) == "string" then how.found.names[constants[k]] = true end
  end
  local held, watched, code, captured = upvalues54(r, text), {}, {}, {}
  for pc = 1, n do
    watch54(text, at, pc, constants, watched)
    code[pc] = decode(text, at, pc)
  end
  for _ = 1, r.copy_size() do
    for reg in pairs(function54(r, text, source, how)) do captured[reg] = true end
  end
  local base, of = how.number_lines(how.file_of(source), lines54(r, text, n, first), watched, {
    code = code, captured = captured, size = size })
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
  return held
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

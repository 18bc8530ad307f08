-- Chunks of LuaJIT 2.1 (lj_bcwrite.c): prototypes one after the other, the outermost last.
local span = require "tempo.rl.trace.flow".span

local chunk = {}

local byte, char, concat, floor = string.byte, string.char, table.concat, math.floor

--- Is it a chunk of this version?
function chunk.is_known(text) return text:sub(1, 4) == "\27LJ\2" end

local ops = { ISTC = 12, ISFC = 13, IST = 14, ISF = 15, NOT = 19, FNEW = 51, TGETV = 56,
  TSETV = 60, FORI = 77 }

local function uleb(text, at)
  local x, scale = 0, 1
  while true do
    local c = byte(text, at)
    at = at + 1
    x, scale = x + c % 128 * scale, scale * 128
    if c < 128 then return x, at end
  end
end

local function uleb_bytes(x)
  local s = ""
  while x >= 128 do
    s = s .. char(128 + x % 128)
    x = floor(x / 128)
  end
  return s .. char(x)
end

local function bytes_of(x, n)
  local s = ""
  for _ = 1, n do
    s = s .. char(x % 256)
    x = floor(x / 256)
  end
  return s
end

local function number_at(text, at, n)
  local x = 0
  for k = n - 1, 0, -1 do x = x * 256 + byte(text, at + k) end
  return x
end

local function width(lines) return lines < 256 and 1 or lines < 65536 and 2 or 4 end

local function watch_jit(text, at, pc, watched)
  local op, c, b = byte(text, at), byte(text, at + 2), byte(text, at + 3)
  if op == ops.IST or op == ops.ISF or op == ops.ISTC or op == ops.ISFC or op == ops.NOT then
    watched[pc] = { op = "test", a = c + b * 256 + 1 }
  elseif op == ops.TGETV or op == ops.TSETV then
    watched[pc] = { op = "index", a = c + 1 }
  elseif op == ops.FORI then watched[pc] = { op = "bound", a = byte(text, at + 1) + 1 }
  elseif op == ops.FNEW then
    watched[pc] = { op = "closure", a = byte(text, at + 1) + 1 }
  end
end

-- How instructions use registers, as flow.lua wants it: letters name what is read, those in front
-- of `=` what is written, `?` a test in front of a jump.
local forms = {}
for form, list in pairs { ["AD?"] = { 0, 1, 2, 3, 4, 5 }, ["A?"] = { 6, 7, 8, 9, 10, 11 }, ["D?"] =
    { 14, 15 }, A = { 16, 17, 55 }, ["A=D"] = { 18, 19, 20, 21 }, ["A="] = { 39, 40, 41, 42, 43,
    45, 52, 53, 54 }, D = { 46 }, ["A=BC"] = { 56, 59 }, ["A=B"] = { 57, 58 }, ABC = { 60,
    64 }, AB = { 61, 62 } } do
  for _, op in ipairs(list) do forms[op] = form end
end
for op = 22, 31 do forms[op] = "A=B" end
for op = 32, 37 do forms[op] = "A=BC" end

-- The function, and its n arguments behind the words that a frame takes.
local frame = require("ffi").abi "gc64" and 2 or 1
local function called(a, n)
  local list = span(a + frame, n)
  list[#list + 1] = a
  return list
end

-- Instructions that name a number of registers, or jump.
local special = {
  [12] = function(pc, a, _, _, d) return { reads = { d }, to = { { pc + 1, a }, { pc + 2 } } } end,
  [38] = function(_, a, b, c) return { reads = span(b, c - b + 1), writes = { a } } end,      -- CAT
  [44] = function(_, a, _, _, d) return { writes = span(a, d - a + 1) } end,                 -- KNIL
  [50] = function(pc, _, _, _, d) return { to = { { pc + 1 + d - 0x8000 } } } end,           -- UCLO
  [51] = function(_, a) return { writes = { a }, call = true } end,                         -- FNEW
  [63] = function(_, a) return { reads = { a - 1 }, above = a } end,                        -- TSETM
  [65] = function(_, a, b) return { above = a, kills = a, call = true, open = b == 0 } end, -- CALLM
  [66] = function(_, a, b, c)                                                                -- CALL
    return { reads = called(a, c - 1), kills = a, call = true, open = b == 0 }
  end,
  [67] = function(_, a) return { above = a, to = {} } end,                                 -- CALLMT
  [68] = function(_, a, _, _, d) return { reads = called(a, d - 1), to = {} } end,          -- CALLT
  [69] = function(_, a) return { reads = span(a - 3, 3), kills = a, call = true } end,      -- ITERC
  [71] = function(_, a, b)                                                                   -- VARG
    return { writes = span(a, b - 1), kills = b == 0 and a or nil, open = b == 0 }
  end,
  [72] = function(pc, a, _, _, d)                                                          -- ISNEXT
    return { reads = span(a - 3, 3), to = { { pc + 1 + d - 0x8000 } } }
  end,
  [73] = function(_, a) return { above = a, to = {} } end,                                   -- RETM
  [74] = function(_, a, _, _, d) return { reads = span(a, d - 1), to = {} } end,              -- RET
  [75] = function() return { to = {} } end,
  [76] = function(_, a) return { reads = { a }, to = {} } end,
  [77] = function(pc, a, _, _, d)                                                            -- FORI
    return { reads = span(a, 3), to = { { pc + 1, a + 3 }, { pc + 1 + d - 0x8000 } } }
  end,
  [79] = function(pc, a, _, _, d)                                                            -- FORL
    return { reads = span(a, 3), to = { { pc + 1 }, { pc + 1 + d - 0x8000, a + 3 } } }
  end,
  [82] = function(pc, a, _, _, d)                                                           -- ITERL
    return { reads = { a }, to = { { pc + 1 }, { pc + 1 + d - 0x8000, a - 1 } } }
  end,
  [88] = function(pc, _, _, _, d) return { to = { { pc + 1 + d - 0x8000 } } } end,            -- JMP
}
special[13], special[70], special[78] = special[12], special[69], special[77]
special[80], special[81] = special[79], special[79]
special[83], special[84] = special[82], special[82]

local function decode(text, at, pc)
  local op, a, c, b = byte(text, at, at + 3)
  local d = c + b * 256
  if special[op] then return special[op](pc, a, b, c, d) end
  local form, i = forms[op], { reads = {} }
  if not form then return i end
  if form:find "=" then i.writes = { a } end
  if form:find "?" then i.to = { { pc + 1 }, { pc + 2 } } end
  local of = { A = a, B = b, C = c, D = d }
  for letter in form:gsub("^A=", ""):gmatch "%a" do i.reads[#i.reads + 1] = of[letter] end
  return i
end

-- The set of the parent's registers that a function of n upvalues holds; children come before
-- their parents, and each is made by one instruction.
local function held_by(text, at, n)
  local set = {}
  for k = 0, n - 1 do
    local reg, flags = byte(text, at + 2 * k, at + 2 * k + 1)
    if flags >= 128 then set[reg] = true end
  end
  return set
end

local function captured_by(code_text, at, n, children)
  local set = {}
  for pc = 1, n do
    if byte(code_text, at + 4 * (pc - 1)) == ops.FNEW then
      for reg in pairs(table.remove(children)) do set[reg] = true end
    end
  end
  return set
end

-- One prototype, between `at` and `stop`.
local function prototype_jit(text, at, stop, file, how, children)
  local head = text:sub(at, at + 3)
  local size, upvalues = byte(text, at + 2, at + 3)
  local from, n, debug_size, first, count = at + 4
  at = from
  for _ = 1, 2 do local _; _, at = uleb(text, at) end
  n, at = uleb(text, at)
  local sizes = text:sub(from, at - 1)
  debug_size, at = uleb(text, at)
  if debug_size > 0 then
    first, at = uleb(text, at)
    count, at = uleb(text, at)
  end
  local body, info = at, stop - debug_size + 1
  local captured = captured_by(text, body, n, children)
  children[#children + 1] = held_by(text, body + 4 * n, upvalues)
  if debug_size == 0 then return text:sub(from - 4, stop) end
  local watched, lines, instructions = {}, {}, {}
  for pc = 1, n do
    watch_jit(text, body + 4 * (pc - 1), pc, watched)
    instructions[pc] = decode(text, body + 4 * (pc - 1), pc)
    lines[pc] = first + number_at(text, info + width(count) * (pc - 1), width(count))
  end
  local base, of = how.number_lines(file, lines, watched, { code = instructions,
    captured = captured, size = size })
  local total = of[n] + 1
  local out = { text:sub(body, info - 1) }
  for pc = 1, n do out[#out + 1] = bytes_of(of[pc], width(total)) end
  out[#out + 1] = text:sub(info + width(count) * n, stop)
  local rest = concat(out)
  return head .. sizes .. uleb_bytes(debug_size + (width(total) - width(count)) * n)
    .. uleb_bytes(base)
    .. uleb_bytes(total) .. rest
end

--- The chunk with lines of its own.
function chunk.rewrite(text, how)
  local flags, at = uleb(text, 5)
  local n, source
  n, at = uleb(text, at)
  source, at = text:sub(at, at + n - 1), at + n
  local out, children = { text:sub(1, 4), uleb_bytes(flags), uleb_bytes(#how.mark), how.mark }, {}
  while true do
    n, at = uleb(text, at)
    if n == 0 then break end
    local p = prototype_jit(text, at, at + n - 1, how.file_of(source), how, children)
    out[#out + 1] = uleb_bytes(#p) .. p
    at = at + n
  end
  return concat(out) .. "\0"
end

--- Notes the names that a function and those inside it mention.
function chunk.names(f, names)
  local util = require "jit.util"
  local function visit(p)
    local k = -1
    while true do
      local c = util.funck(p, k)
      if c == nil then return end
      if type(c) == "string" then names[c] = true elseif type(c) == "proto" then visit(c) end
      k = k - 1
    end
  end
  visit(f)
end

return chunk

-- Chunks of LuaJIT 2.1 (lj_bcwrite.c): prototypes one after the other, the outermost last.
local chunk = {}

local byte, char, concat, floor = string.byte, string.char, table.concat, math.floor

--- Is it a chunk of this version?
function chunk.is_known(text) return text:sub(1, 4) == "\27LJ\2" end

local ops = { ISTC = 12, ISFC = 13, IST = 14, ISF = 15, NOT = 19, TGETV = 56, TSETV = 60 }

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
  end
end

-- One prototype, between `at` and `stop`.
local function prototype_jit(text, at, stop, file, how)
  local head = text:sub(at, at + 3)
  local from, n, debug_size, first, count = at + 4
  at = from
  for _ = 1, 2 do local _; _, at = uleb(text, at) end
  n, at = uleb(text, at)
  local sizes = text:sub(from, at - 1)
  debug_size, at = uleb(text, at)
  if debug_size == 0 then return text:sub(from - 4, stop) end
  first, at = uleb(text, at)
  count, at = uleb(text, at)
  local body, info = at, stop - debug_size + 1
  local watched, lines = {}, {}
  for pc = 1, n do
    watch_jit(text, body + 4 * (pc - 1), pc, watched)
    lines[pc] = first + number_at(text, info + width(count) * (pc - 1), width(count))
  end
  local base, of = how.number_lines(file, lines, watched, {})
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
  local out = { text:sub(1, 4), uleb_bytes(flags), uleb_bytes(#how.mark), how.mark }
  while true do
    n, at = uleb(text, at)
    if n == 0 then break end
    local p = prototype_jit(text, at, at + n - 1, how.file_of(source), how)
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

-- `lua ptx.lua FILE.ptx >FILE.c`: PTX as NVRTC writes it, in C over emu.h. A kernel becomes a
-- function that runs one thread. Registers are its locals. When threads meet (barriers, shuffles,
-- votes), what is live is saved, the function returns, and is entered there again. An instruction
-- becomes a statement or two, a branch a goto. An instruction that is not known ends the
-- translation with its line: nothing is guessed. So do those whose results are not rounded as IEEE
-- 754 says (.approx, .ftz): kernels promise the CPU's bits.

local CTYPE = {
  s8 = "int8_t", u8 = "uint8_t", b8 = "uint8_t", s16 = "int16_t", u16 = "uint16_t",
    b16 = "uint16_t",
  s32 = "int32_t", u32 = "uint32_t", b32 = "uint32_t", s64 = "int64_t", u64 = "uint64_t",
    b64 = "uint64_t",
  f32 = "float", f64 = "double", pred = "uint8_t",
}
local BYTES = {}
for t in pairs(CTYPE) do BYTES[t] = (tonumber(t:match "%d+$") or 8) // 8 end

local path = assert(arg[1], "usage: ptx.lua FILE.ptx")
local lines = {}
for line in io.lines(path) do lines[#lines + 1] = line:gsub("//.*", ""):match "^%s*(.-)%s*$" end
local lineno = 0

local function stop(fmt, ...)
  io.stderr:write(("ptx.lua: %s:%d: %s\n"):format(path, lineno, fmt:format(...)))
  os.exit(1)
end

-- ---- source lines: where a statement stands, and where the function that it was inlined from was
-- called
local locs, loc_of, parent = { "{0, 0, 0}" }, 0, {}

local function note_loc(line)
  local file, at, col, rest = line:match "^%.loc%s+(%d+)%s+(%d+)%s+(%d+)(.*)$"
  if not file then stop("no place in '%s'", line) end
  local by, by_col = rest:match "inlined_at%s+%d+%s+(%d+)%s+(%d+)"
  local key = at .. ":" .. col
  parent[key] = by and by .. ":" .. by_col or nil
  local outer, seen = key, 0
  while parent[outer] and seen < 64 do outer, seen = parent[outer], seen + 1 end
  if at == "0" then return end
  loc_of = { at, outer:match "^%d+" }
end

-- The number of the place of the statement that is being translated.
local function place()
  local at = loc_of == 0 and { "0", "0" } or loc_of
  locs[#locs + 1] = ("{%s, %s, %d}"):format(at[1], at[2], lineno)
  return #locs - 1
end

-- ---- the module ---------------------------------------------------------------------------------
local out = {}          -- what is written
local tables = {}       -- names of const and global arrays
local shared = {}       -- name -> { bytes, align }; arrays of the module
local kernels = {}
local functions = {}    -- name -> the function of the module
local F                 -- the function that is being read
local EMU_GAP = 128     -- bytes between arrays of shared memory
local depots = 0        -- bytes of local memory of all functions before

local function emit(fmt, ...) out[#out + 1] = select("#", ...) > 0 and fmt:format(...) or fmt end
local function align(n, a) return (n + a - 1) // a * a end
local function cname(name) return (name:gsub("[$.%%]", "_")) end

-- `.param` of a kernel or a function: its name, bytes and alignment.
local function param(text)
  local name, count = text:match "([%w_$]+)%[(%d+)%]%s*$"
  local a = tonumber(text:match "%.align (%d+)")
  if name then return { name = name, bytes = tonumber(count), align = a or 8 } end
  local t, n = text:match "%.(%a%d+)%s+([%w_$]+)%s*$"
  if not t then t, n = text:match "%.(%a%d+) .-([%w_$]+)%s*$" end
  if not t then stop("no parameter in '%s'", text) end
  return { name = n, bytes = BYTES[t], align = BYTES[t] }
end

local function params(text)
  local list = {}
  for one in text:gmatch "[^,]+" do
    if one:find "%S" then list[#list + 1] = param(one) end
  end
  return list
end

-- ---- operands -----------------------------------------------------------------------------------
local SPECIAL = {
  ["%tid.x"] = "t_->tid[0]", ["%tid.y"] = "t_->tid[1]", ["%tid.z"] = "t_->tid[2]",
  ["%ntid.x"] = "a_->ntid[0]", ["%ntid.y"] = "a_->ntid[1]", ["%ntid.z"] = "a_->ntid[2]",
  ["%ctaid.x"] = "a_->ctaid[0]", ["%ctaid.y"] = "a_->ctaid[1]", ["%ctaid.z"] = "a_->ctaid[2]",
  ["%nctaid.x"] = "a_->nctaid[0]", ["%nctaid.y"] = "a_->nctaid[1]", ["%nctaid.z"] = "a_->nctaid[2]",
  ["%laneid"] = "(t_->who & 31)", ["%warpid"] = "((t_->who & 1023) >> 5)",
  ["%dynamic_smem_size"] = "a_->dynamic", WARP_SZ = "32",
}

local function split(text)
  local list, depth, from = {}, 0, 1
  for i = 1, #text do
    local c = text:byte(i)
    if c == 123 or c == 91 then depth = depth + 1
    elseif c == 125 or c == 93 then depth = depth - 1
    elseif c == 44 and depth == 0 then
      list[#list + 1] = text:sub(from, i - 1):match "^%s*(.-)%s*$"
      from = i + 1
    end
  end
  local last = text:sub(from):match "^%s*(.-)%s*$"
  if last ~= "" then list[#list + 1] = last end
  return list
end

-- Registers of a statement: written and read, for liveness.
local defs, uses

local function reg(x)
  local name = x:sub(2)
  if not F.regs[name] then
    local kind = name:match "^(%a+)"
    local t = F.kinds[name] or F.kinds[kind]
    if not t then stop("what is the register %s?", x) end
    F.regs[name] = t == "f32" and "b32" or t == "f64" and "b64" or t -- a register is its bits
    F.order[#F.order + 1] = name
  end
  return name
end

-- An address that a name stands for; arrays of shared and local memory have offsets.
local function symbol(x)
  if F.locals[x] then return F.locals[x] .. "ull" end
  if F.shared[x] then return F.shared[x] .. "ull" end
  if shared[x] then
    local s = shared[x]
    if s.dynamic then
      F.dynamic = true
      return "(uint64_t)DYNAMIC_"
    end
    local at = align(F.nshared, math.max(s.align, 16))
    F.shared[x], F.nshared, F.taken = at, at + s.bytes + EMU_GAP, F.taken + s.bytes
    F.arrays[#F.arrays + 1] = ("{%d, %d}"):format(at, s.bytes)
    return at .. "ull"
  end
  if tables[x] then return ("(uint64_t)(uintptr_t)%s"):format(cname(x)) end
  if F.param_at[x] then return nil end
  stop("what is %s?", x)
end

local function literal(x)
  local hex = x:match "^0[fF](%x+)$"
  if hex then return "0x" .. hex .. "u", "f32" end
  hex = x:match "^0[dD](%x+)$"
  if hex then return "0x" .. hex .. "ull", "f64" end
  if x:match "^-?%d+U?$" or x:match "^-?0x%x+U?$" then
    x = x:gsub("U$", "")
    if x == "-9223372036854775808" then return "(-9223372036854775807ll - 1)" end
    return "(" .. x .. (x:sub(1, 1) == "-" and "ll)" or "ull)")
  end
end

-- The bits of an operand, as an integer of any width.
local function bits(x)
  if SPECIAL[x] then return SPECIAL[x] end
  if x:sub(1, 1) == "%" then
    local r = reg(x)
    uses[#uses + 1] = r
    return r
  end
  local n = literal(x)
  if n then return n end
  local name, off = x:match "^([%a_$][%w_$]*)%+?(%d*)$"
  if name then return ("(%s + %s)"):format(symbol(name), off == "" and "0" or off) end
  stop("what is the operand %s?", x)
end

-- Its value as a number of type t.
local function val(x, t)
  if t == "f32" then return ("F32((uint32_t)%s)"):format(bits(x)) end
  if t == "f64" then return ("F64(%s)"):format(bits(x)) end
  if t == "pred" then
    if x:sub(1, 1) == "!" then return "!" .. bits(x:sub(2)) end
    return "(" .. bits(x) .. " != 0)"
  end
  if not CTYPE[t] then stop("what is the type %s?", t) end
  return ("(%s)%s"):format(CTYPE[t], bits(x))
end

-- An expression of type t goes to a register.
local function put(x, t, e)
  if x == "_" then return "" end
  local r = reg(x)
  defs[#defs + 1] = r
  if t == "f32" then e = ("U32(%s)"):format(e) elseif t == "f64" then e = ("U64(%s)"):format(e) end
  return ("%s = (%s)(%s);"):format(r, CTYPE[F.regs[r]], e)
end

-- Reads what stands in [ ]: base and offset.
local function address(x)
  local inside = x:match "^%[(.*)%]$"
  if not inside then stop("what is the address %s?", x) end
  local base, off = inside:match "^%s*([%%%w_$.]+)%s*%+?%s*(-?%d*)%s*$"
  if not base then stop("what is the address %s?", x) end
  return base, off == "" and 0 or tonumber(off)
end

-- ---- instructions -------------------------------------------------------------------------------
local CMP = { eq = "==", ne = "!=", lt = "<", le = "<=", gt = ">", ge = ">=",
  lo = "<", ls = "<=", hi = ">", hs = ">=" }
local UNORDERED = { neu = "==", ltu = ">=", leu = ">", gtu = "<=", geu = "<" }
local function is_float(t) return t == "f32" or t == "f64" end
local function unsigned(t) return "uint" .. BYTES[t] * 8 .. "_t" end

-- Each is called with the parts of the opcode after the first, the operands, the last part (a
-- type), and a set of the parts. It gives a statement.
local OP = {}

-- Parts that change how a result is rounded, or what an instruction is.
local NEVER = { "approx", "ftz", "sat", "rz", "rm", "rp", "full", "cc", "noftz", "relu",
  "satfinite" }

local function arithmetic(c)
  return function(p, a, t)
    if is_float(t) then return put(a[1], t, ("%s %s %s"):format(val(a[2], t), c, val(a[3], t))) end
    local u = unsigned(t)
    return put(a[1], t,
      ("(%s)(%s)((%s)%s %s (%s)%s)"):format(CTYPE[t], u, u, bits(a[2]), c, u, bits(a[3])))
  end
end
OP.add, OP.sub = arithmetic "+", arithmetic "-"

local function product(p, a, t, has)
  if is_float(t) then
    if a[4] then
      return put(a[1], t,
        ("FMA_%s(%s, %s, %s)"):format(t, val(a[2], t), val(a[3], t), val(a[4], t)))
    end
    return put(a[1], t, ("%s * %s"):format(val(a[2], t), val(a[3], t)))
  end
  local u, more = unsigned(t), ""
  if has.wide then
    local w = t:sub(1, 1) .. BYTES[t] * 16
    if a[4] then more = (" + (%s)%s"):format(unsigned(w), bits(a[4])) end
    return put(a[1], w,
      ("(%s)((%s)%s * (%s)%s)%s"):format(unsigned(w), CTYPE[w], val(a[2], t), CTYPE[w],
      val(a[3], t), more))
  end
  if has.hi then
    if a[4] then more = (" + (%s)%s"):format(u, bits(a[4])) end
    local w = ({ u16 = "uint32_t", s16 = "int32_t", u32 = "uint64_t", s32 = "int64_t",
      u64 = "unsigned __int128", s64 = "__int128" })[t]
    return put(a[1], t,
      ("(%s)(((%s)%s * (%s)%s) >> %d)%s"):format(u, w, val(a[2], t), w, val(a[3], t),
      BYTES[t] * 8, more))
  end
  if a[4] then more = (" + (%s)%s"):format(u, bits(a[4])) end
  local wide = BYTES[t] == 2 and "uint32_t" or u
  return put(a[1], t,
    ("(%s)((%s)(%s)%s * (%s)%s%s)"):format(u, wide, u, bits(a[2]), u, bits(a[3]), more))
end
OP.mul, OP.mad, OP.fma = product, product, product

function OP.div(p, a, t)
  if is_float(t) then return put(a[1], t, ("%s / %s"):format(val(a[2], t), val(a[3], t))) end
  return put(a[1], t, ("DIV_(%s, %s, %s)"):format(CTYPE[t], val(a[2], t), val(a[3], t)))
end
function OP.rem(p, a, t)
  return put(a[1], t, ("REM_(%s, %s, %s)"):format(CTYPE[t], val(a[2], t), val(a[3], t)))
end
function OP.rcp(p, a, t) return put(a[1], t, "1 / " .. val(a[2], t)) end
function OP.sqrt(p, a, t) return put(a[1], t, ("SQRT_%s(%s)"):format(t, val(a[2], t))) end
function OP.neg(p, a, t)
  if is_float(t) then return put(a[1], t, "-" .. val(a[2], t)) end
  return put(a[1], t, ("(%s)(0 - (%s)%s)"):format(unsigned(t), unsigned(t), bits(a[2])))
end
function OP.abs(p, a, t)
  if is_float(t) then return put(a[1], t, ("FABS_%s(%s)"):format(t, val(a[2], t))) end
  return put(a[1], t,
    ("(%s < 0 ? 0 - (%s)%s : (%s)%s)"):format(val(a[2], t), unsigned(t), bits(a[2]), unsigned(t),
    bits(a[2])))
end
local function extreme(c, name)
  return function(p, a, t, has)
    if is_float(t) then
      local nan = has.NaN and "NAN" or ""
      return put(a[1], t, ("F%s%s(%s, %s)"):format(nan, name, val(a[2], t), val(a[3], t)))
    end
    return put(a[1], t,
      ("%s %s %s ? %s : %s"):format(val(a[2], t), c, val(a[3], t), val(a[2], t), val(a[3], t)))
  end
end
OP.min, OP.max = extreme("<", "MIN"), extreme(">", "MAX")
function OP.copysign(p, a, t)
  return put(a[1], t, ("COPYSIGN_%s(%s, %s)"):format(t, val(a[3], t), val(a[2], t)))
end

local function logic(c)
  return function(p, a, t)
    return put(a[1], t, ("%s %s %s"):format(val(a[2], t), c, val(a[3], t)))
  end
end
OP["and"], OP["or"], OP.xor = logic "&", logic "|", logic "^"
OP["not"] = function(p, a, t) return put(a[1], t, (t == "pred" and "!" or "~") .. val(a[2], t)) end
function OP.cnot(p, a, t) return put(a[1], t, val(a[2], t) .. " == 0") end
function OP.shl(p, a, t)
  local n = val(a[3], "u32")
  return put(a[1], t,
    ("%s < %d ? %s << %s : 0"):format(n, BYTES[t] * 8, val(a[2], "u" .. BYTES[t] * 8), n))
end
function OP.shr(p, a, t)
  local n, x, most = val(a[3], "u32"), val(a[2], t), BYTES[t] * 8
  if t:sub(1, 1) == "s" then
    return put(a[1], t, ("%s >> (%s < %d ? %s : %d)"):format(x, n, most, n, most - 1))
  end
  return put(a[1], t, ("%s < %d ? %s >> %s : 0"):format(n, most, x, n))
end
function OP.shf(p, a, t, has)
  if t ~= "b32" then stop "a funnel shift of another type" end
  local n = has.wrap and ("(%s & 31)"):format(val(a[4], "u32"))
    or ("MIN32_(%s)"):format(val(a[4], "u32"))
  local both = ("((uint64_t)%s << 32 | %s)"):format(val(a[3], "u32"), val(a[2], "u32"))
  return put(a[1], "b32",
    (has.l and "(uint32_t)(%s << %s >> 32)" or "(uint32_t)(%s >> %s)"):format(both, n))
end
function OP.lop3(p, a, t)
  return put(a[1], "b32",
    ("LOP3_(%s, %s, %s, %s)"):format(val(a[2], "u32"), val(a[3], "u32"), val(a[4], "u32"), a[5]))
end
function OP.prmt(p, a, t)
  if #p > 1 then stop "a permutation with a mode" end
  return put(a[1], "b32",
    ("PRMT_(%s, %s, %s)"):format(val(a[2], "u32"), val(a[3], "u32"), val(a[4], "u32")))
end
function OP.dp2a(p, a, t, has)
  if t ~= "u32" or p[#p - 1] ~= "u32" then stop "a product of two numbers with sign" end
  return put(a[1], t, ("DP2A_(%s, %s, %s)"):format(val(a[2], t),
    val(a[3], t) .. (has.hi and " >> 16" or ""), val(a[4], t)))
end
function OP.dp4a(p, a, t)
  if t ~= "s32" or p[1] ~= "s32" then stop "a product of four numbers without sign" end
  return put(a[1], t,
    ("DP4A_(%s, %s, %s)"):format(val(a[2], "u32"), val(a[3], "u32"), val(a[4], "s32")))
end
function OP.bfe(p, a, t)
  return put(a[1], t,
    ("BFE_%s(%s, %s, %s)"):format(t, val(a[2], t), val(a[3], "u32"), val(a[4], "u32")))
end
function OP.bfi(p, a, t)
  return put(a[1], t,
    ("BFI_%s(%s, %s, %s, %s)"):format(t, val(a[2], t), val(a[3], t), val(a[4], "u32"),
    val(a[5], "u32")))
end
function OP.popc(p, a, t)
  return put(a[1], "u32", ("__builtin_popcountll(%s)"):format(val(a[2], t)))
end
function OP.clz(p, a, t) return put(a[1], "u32", ("CLZ_%s(%s)"):format(t, val(a[2], t))) end
function OP.brev(p, a, t) return put(a[1], t, ("BREV_%s(%s)"):format(t, val(a[2], t))) end
function OP.bfind(p, a, t, has)
  local x = val(a[2], t)
  if t:sub(1, 1) == "s" then x = ("(%s < 0 ? ~%s : %s)"):format(x, x, x) end
  return put(a[1], "u32", ("BFIND_(%s, %d, %d)"):format(x, BYTES[t] * 8, has.shiftamt and 1 or 0))
end

local function compare(c, t, x, y)
  if is_float(t) then
    if c == "nan" then return ("(%s != %s || %s != %s)"):format(x, x, y, y) end
    if c == "num" then return ("(%s == %s && %s == %s)"):format(x, x, y, y) end
    if c == "equ" then return ("!(%s < %s || %s > %s)"):format(x, y, x, y) end
    if c == "ne" then return ("(%s < %s || %s > %s)"):format(x, y, x, y) end
    if c == "neu" then return ("!(%s == %s)"):format(x, y) end
    if UNORDERED[c] then return ("!(%s %s %s)"):format(x, UNORDERED[c], y) end
  end
  if not CMP[c] then stop("what is the comparison %s?", c) end
  return ("(%s %s %s)"):format(x, CMP[c], y)
end
local JOIN = { ["and"] = "&&", ["or"] = "||", xor = "!=" }
function OP.setp(p, a, t)
  local e = compare(p[1], t, val(a[2], t), val(a[3], t))
  local d, other = a[1]:match "^([^|]+)|(.+)$"
  local more, no = "", ""
  if #p == 3 then
    local c = val(a[4], "pred")
    if not JOIN[p[2]] then stop("what is %s?", p[2]) end
    more = (" %s %s"):format(JOIN[p[2]], c)
    no = put(other or "_", "pred", ("(!%s)%s"):format(e, more))
  elseif other then
    no = put(other, "pred", "!" .. e)
  end
  return ("{ const int y_ = %s; %s %s }"):format(e .. more, no, put(d or a[1], "pred", "y_"))
end
function OP.set(p, a, t)
  return put(a[1], p[2], ("%s ? %s : 0"):format(compare(p[1], t, val(a[2], t), val(a[3], t)),
    p[2] == "f32" and "1.0f" or "0xffffffffu"))
end
function OP.selp(p, a, t)
  return put(a[1], t, ("%s ? %s : %s"):format(val(a[4], "pred"), val(a[2], t), val(a[3], t)))
end
function OP.slct(p, a, t)
  return put(a[1], p[1],
    ("%s >= 0 ? %s : %s"):format(val(a[4], t), val(a[2], p[1]), val(a[3], p[1])))
end

local ROUND = { rzi = "TRUNC", rni = "RINT", rmi = "FLOOR", rpi = "CEIL" }
function OP.cvt(p, a, s, has)
  local d, x, way = p[#p - 1], val(a[2], s), nil
  for k, name in pairs(ROUND) do if has[k] then way = name end end
  if d == "f16" or s == "f16" or d == "bf16" or s == "bf16" then
    stop "halves are converted by their bits"
  end
  if is_float(s) and way then x = ("%s_%s(%s)"):format(way, s, x) end
  if is_float(s) and not is_float(d) then
    if not way then stop "a conversion to an integer that is not rounded" end
    return put(a[1], d, ("TO_%s((double)%s, %d)"):format(d, x, s == "f64" and 1 or 0))
  end
  return put(a[1], d, ("(%s)%s"):format(CTYPE[d], x))
end

function OP.mov(p, a, t)
  local parts = a[2]:match "^{(.*)}$"
  if parts then
    local list, e = split(parts), {}
    local w = BYTES[t] * 8 // #list
    for i, x in ipairs(list) do
      e[i] = ("(uint64_t)%s << %d"):format(val(x, "u" .. w), w * (i - 1))
    end
    return put(a[1], t, table.concat(e, " | "))
  end
  parts = a[1]:match "^{(.*)}$"
  if parts then
    local list = split(parts)
    local w, s = BYTES[t] * 8 // #list, {}
    for i, x in ipairs(list) do
      s[i] = put(x, "u" .. w, ("(uint%d_t)(u_ >> %d)"):format(w, w * (i - 1)))
    end
    return ("{ const uint64_t u_ = %s; %s }"):format(val(a[2], "b" .. BYTES[t] * 8),
      table.concat(s, " "))
  end
  if a[2]:find "^%%clock" or a[2]:find "^%%globaltimer" then return put(a[1], t, "E->clock()") end
  return put(a[1], t, val(a[2], t))
end

function OP.cvta(p, a, t, has)
  local to, space = has.to, has.shared and "a_->shared" or has["local"] and "t_->local"
  if not space then return put(a[1], "u64", val(a[2], "u64")) end
  return put(a[1], "u64",
    ("%s %s (uint64_t)(uintptr_t)%s"):format(val(a[2], "u64"), to and "-" or "+", space))
end

-- Tells where an address points to: (char *), and the name of the space for emu.h.
local function where(x, has)
  local base, off = address(x)
  local e = bits(base)
  if has.shared then return ("a_->shared + (uint32_t)(%s + %d)"):format(e, off), "shared" end
  if has["local"] then return ("t_->local + (uint32_t)(%s + %d)"):format(e, off), "local" end
  return ("(char *)(uintptr_t)(%s + %d)"):format(e, off), "global"
end
local function spaces(has)
  if has["shared::cta"] then has.shared = true end
  if has["shared::cluster"] then stop "memory of a cluster" end
  if has["param::entry"] or has["param::func"] then has.param = true end
end

local function param_place(x)
  local base, off = address(x)
  local at = F.param_at[base]
  if not at then stop("what is the parameter %s?", base) end
  return ("%s + %d"):format(at, off)
end

local function access(p, a, t, has, store)
  spaces(has)
  local n = has.v2 and 2 or has.v4 and 4 or has.v8 and 8 or 1
  local mem, regs = a[store and 1 or 2], a[store and 2 or 1]
  local list = n > 1 and split(regs:match "^{(.*)}$") or { regs }
  local s = {}
  if has.param then
    local at = param_place(mem)
    for i, x in ipairs(list) do
      if store then
        s[i] = ("{ %s v_ = %s; memcpy(%s + %d, &v_, sizeof v_); }"):format(CTYPE[t], val(x, t), at,
        BYTES[t] * (i - 1))
      else s[i] = ("{ %s v_; memcpy(&v_, %s + %d, sizeof v_); %s }"):format(CTYPE[t], at,
        BYTES[t] * (i - 1), put(x, t, "v_")) end
    end
    return table.concat(s, " ")
  end
  local ordered = has.volatile or has.relaxed or has.acquire or has.release or has.mmio
  local ptr, space = where(mem, has)
  if has.const then
    s[1] = ("{ const %s *q_ = (const %s *)(%s);"):format(CTYPE[t], CTYPE[t], ptr)
  else
    s[1] = ("{ %s *q_ = AT_%s_%s(%s, %d, %d, %d);"):format(CTYPE[t], space,
      (ordered and "sync_" or "") .. (store and "store" or "load"), ptr, BYTES[t], n, place())
  end
  for i, x in ipairs(list) do
    local at = ("q_[%d]"):format(i - 1)
    s[#s + 1] = store and ("%s = %s;"):format(at, val(x, t)) or put(x, t, at)
  end
  return table.concat(s, " ") .. " }"
end
function OP.ld(p, a, t, has) return access(p, a, t, has, false) end
function OP.ldu(p, a, t, has) return access(p, a, t, has, false) end
function OP.st(p, a, t, has) return access(p, a, t, has, true) end

local ATOMIC = {
  add = "w_ + v_", exch = "v_", ["and"] = "w_ & v_", ["or"] = "w_ | v_", xor = "w_ ^ v_",
    min = "w_ < v_ ? w_ : v_",
  max = "w_ > v_ ? w_ : v_", inc = "w_ >= v_ ? 0 : w_ + 1",
    dec = "w_ == 0 || w_ > v_ ? v_ : w_ - 1",
  cas = "w_ == v_ ? x_ : w_",
}
local function atomic(d, p, a, t, has)
  spaces(has)
  local e, third
  for k in pairs(ATOMIC) do
    if has[k] then e = ATOMIC[k] end
  end
  if not e or has.v2 or has.v4 then stop "what is this atomic operation?" end
  if t == "s32" or t == "s64" then
    if has.add then t = t:gsub("s", "u") end
  end
  if is_float(t) and not (has.add or has.exch) then stop "an atomic operation of floats" end
  third = has.cas and (" %s x_ = %s;"):format(CTYPE[t], val(a[3], t)) or ""
  local ptr, space = where(a[1], has)
  return ("{ %s *q_ = AT_%s_atomic(%s, %d, 1, %d), w_ = *q_; const %s v_ = %s;%s *q_ = %s; %s }"):format(CTYPE[t],
    space, ptr, BYTES[t], place(), CTYPE[t], val(a[2], t), third, e, d and put(d, t, "w_") or "")
end
function OP.atom(p, a, t, has) return atomic(table.remove(a, 1), p, a, t, has) end
function OP.red(p, a, t, has)
  if has.async then stop "an asynchronous reduction" end
  return atomic(nil, p, a, t, has)
end

local function nothing() return ";" end
OP.prefetch, OP.griddepcontrol = nothing, nothing
OP.prefetchu, OP.pmevent = nothing, nothing
function OP.trap() return ("E->trap(%d);"):format(place()) end

-- ---- where threads meet -------------------------------------------------------------------------
-- A stop: the thread says what it brings and returns; `after` takes what it got. It makes three
-- entries of the function's text, since what is live must be saved between them.
local function meet(kind, set, after)
  if not F.entry then
    stop "threads meet in a function that is called: make it one that is inlined"
  end
  F.stops = F.stops + 1
  return { stop = F.stops,
    before = ("t_->meet = EMU_%s; t_->place = %d; %s"):format(kind, place(), set), after = after }
end

-- Orders what a thread did with what it does next, for other blocks.
function OP.membar(p, a, t, has) return has.cta and ";" or "FENCE_();" end
OP.fence = OP.membar
function OP.nanosleep() return meet("SLEEP", "", "") end

function OP.bar(p, a, t, has)
  if has.warp then return meet("WARP", ("t_->mask = %s;"):format(val(a[1], "u32")), "") end
  if has.red then
    local how = has.popc and "COUNT" or has["and"] and "ALL" or has["or"] and "ANY"
    local x = val(a[#a], "pred")
    if a[2] ~= "0" or #a ~= 3 then stop "a barrier of some threads" end
    return meet("BLOCK_" .. how, ("t_->give = %s;"):format(x),
      put(a[1], has.popc and "u32" or "pred", "t_->got"))
  end
  if not has.sync or #a ~= 1 or a[1] ~= "0" then stop "a barrier of some threads" end
  return meet("BLOCK", "", "")
end
OP.barrier = OP.bar
function OP.shfl(p, a, t, has)
  local mode = has.up and "UP" or has.down and "DOWN" or has.bfly and "XOR" or has.idx and "INDEX"
  local d, ok = a[1]:match "^([^|]+)|(.+)$"
  return meet("SHUFFLE_" .. mode,
    ("t_->give = %s; t_->lane = %s; t_->clamp = %s; t_->mask = %s;"):format(
    val(a[2], "u32"), val(a[3], "u32"), val(a[4], "u32"), val(a[5], "u32")),
    put(d or a[1], "u32", "t_->got") .. (ok and put(ok, "pred", "t_->ok") or ""))
end
function OP.vote(p, a, t, has)
  local how = has.any and "ANY" or has.all and "ALL" or has.uni and "SAME" or has.ballot
    and "BALLOT"
  return meet("VOTE_" .. how,
    ("t_->give = %s; t_->mask = %s;"):format(val(a[2], "pred"), val(a[3], "u32")),
    put(a[1], has.ballot and "u32" or "pred", "t_->got"))
end

-- ---- functions: reading -------------------------------------------------------------------------
local function statement(text)
  defs, uses = {}, {}
  local guard
  local no, when, rest = text:match "^@(!?)(%%%S+)%s+(.*)$"
  if when then
    guard = ("if (%s%s) "):format(no, bits(when))
    text = rest
  end
  local op, operands = text:match "^([%w_.:]+)%s*(.*)$"
  if not op then stop("what is '%s'?", text) end
  local p, has = {}, {}
  for part in op:gmatch "[^.]+" do p[#p + 1] = part end
  local name = table.remove(p, 1)
  for _, part in ipairs(p) do has[part] = true end
  for _, part in ipairs(NEVER) do
    if has[part] then stop(".%s of '%s' is not rounded as on a CPU", part, text) end
  end
  local node = { line = lineno, defs = defs, uses = uses, guarded = guard ~= nil }
  if name == "bra" then
    local to = operands:match "^[%w_$]+"
    node.to, node.ends = { to }, not guard
    node.jump = { guard or "", to, place() }
  elseif name == "brx" then
    local index, list = operands:match "^(%%%S+),%s*([%w_$]+)"
    node.to, node.ends = F.targets[list], true
    node.text = { "switch (", bits(index), ") {", list }
  elseif name == "ret" or name == "exit" then
    node.ends = not guard
    node.code = (guard or "") .. (F.entry and "return 0;" or "return;")
  elseif name == "call" then
    local ret, callee, args = operands:match "^%(([%w_$]+)%)%s*,%s*([%w_$]+)%s*,?%s*%(?([^()]*)%)?"
    if not ret then callee, args = operands:match "^([%w_$]+)%s*,?%s*%(?([^()]*)%)?" end
    if not callee or not functions[callee] then stop("the call of %s", callee or operands) end
    local list = { "a_", "t_" }
    if functions[callee].ret then list[#list + 1] = ret end
    for x in args:gmatch "[%w_$]+" do list[#list + 1] = x end
    node.code = ("%s%s(%s);"):format(guard or "", cname(callee), table.concat(list, ", "))
  else
    local f = OP[name]
    if not f then stop("the instruction '%s' is not known", text) end
    local code = f(p, split(operands), p[#p], has)
    if type(code) == "table" then
      if guard then stop("threads meet under a condition: '%s'", text) end
      node.stop, node.before, node.after = code.stop, code.before, code.after
    else
      node.code = (guard or "") .. (guard and "{ " .. code .. " }" or code)
    end
  end
  F.nodes[#F.nodes + 1] = node
end

-- ---- liveness: of each register the stops that it is live at ------------------------------------
-- Blocks begin at labels and after stops. live: of each block, registers wanted at its begin.
local function liveness()
  local blocks, at_label, cur = {}, {}, nil
  local function new()
    cur = { uses = {}, kills = {}, preds = {}, live = {} }
    blocks[#blocks + 1] = cur
  end
  new()
  for _, n in ipairs(F.nodes) do
    if n.label then
      new()
      at_label[n.label] = cur
    end
    n.block = cur
    for _, r in ipairs(n.uses or {}) do
      if not cur.kills[r] then cur.uses[r] = true end
    end
    if n.stop then
      cur.falls = true
      new()
      n.next = cur
    end
    if not n.guarded then for _, r in ipairs(n.defs or {}) do cur.kills[r] = true end end
    if n.to then
      cur.to = n.to
      cur.falls = not n.ends
      new()
    elseif n.ends then
      cur.falls = false
      new()
    end
  end
  for i, b in ipairs(blocks) do
    if b.falls ~= false and blocks[i + 1] then table.insert(blocks[i + 1].preds, b) end
    for _, to in ipairs(b.to or {}) do
      if not at_label[to] then stop("no label %s", to) end
      table.insert(at_label[to].preds, b)
    end
  end
  for _, b in ipairs(blocks) do
    for r in pairs(b.uses) do
      local work = {}
      if not b.live[r] then b.live[r] = true; work[1] = b end
      while #work > 0 do
        local x = table.remove(work)
        for _, p in ipairs(x.preds) do
          if not p.live[r] and not p.kills[r] then
            p.live[r] = true
            work[#work + 1] = p
          end
        end
      end
    end
  end
  local most = 0
  for _, b in ipairs(blocks) do
    local n = 0
    for r in pairs(b.live) do
      n = n + (BYTES[F.regs[r]] == 8 and 2 or F.regs[r] == "pred" and 0 or 1)
    end
    most = math.max(most, n)
  end
  return most, blocks[1].live
end

-- ---- functions: writing -------------------------------------------------------------------------
local function write_body()
  local seen, saved = {}, 0
  for _, n in ipairs(F.nodes) do
    if n.label then
      emit(" %s:;", cname(n.label))
      seen[n.label] = true
    elseif n.jump then
      local guard, to, at = n.jump[1], n.jump[2], n.jump[3]
      local again = seen[to]
        and ("if (E->fuel-- <= 0) { E->stuck(%d); return%s; }"):format(at, F.entry and " -1" or "")
        or ""
      emit("  %s{ %s goto %s; }", guard, again, cname(to))
    elseif n.text then
      local cases = {}
      for i, to in ipairs(n.to) do cases[i] = ("case %d: goto %s;"):format(i - 1, cname(to)) end
      emit("  switch (%s) { %s }", n.text[2], table.concat(cases, " "))
    elseif n.stop then
      local save, load, k = {}, {}, 0
      for _, r in ipairs(F.order) do
        if n.next.live[r] then
          save[#save + 1] = ("s_[%d] = %s;"):format(k, r)
          load[#load + 1] = ("%s = (%s)s_[%d];"):format(r, CTYPE[F.regs[r]], k)
          k = k + 1
        end
      end
      saved = math.max(saved, k)
      emit("  %s %s return %d;", n.before, table.concat(save, " "), n.stop)
      emit(" AGAIN_%d: %s %s", n.stop, table.concat(load, " "), n.after)
    elseif n.code then
      emit("  %s", n.code)
    end
  end
  return saved
end

local function write_function()
  local registers, unset = liveness()
  if F.entry then
    emit("static int run_%s(const emu_block *a_, emu_thread *t_) {", cname(F.name))
    emit "  uint64_t *s_ = t_->saved;"
  else
    emit("static void %s(%s) {", cname(F.name), F.signature)
  end
  local by = {}
  for _, r in ipairs(F.order) do
    local t = CTYPE[F.regs[r]]
    by[t] = by[t] or {}
    table.insert(by[t], unset[r] and r .. " = (" .. t .. ")0xA5A5A5A5A5A5A5A5ull" or r)
  end
  for t, list in pairs(by) do emit("  %s %s;", t, table.concat(list, ", ")) end
  if F.entry then
    emit("  enum { DYNAMIC_ = %d };", align(F.nshared, 128))
    local again = {}
    for i = 1, F.stops do again[i] = ("case %d: goto AGAIN_%d;"):format(i, i) end
    emit("  switch (t_->at) { %s }", table.concat(again, " "))
  end
  local saved = write_body()
  emit(F.entry and "  return 0;\n}" or "}")
  return registers, saved
end

local function end_function()
  local registers, saved = write_function()
  if not F.entry then return end
  local name, offs = cname(F.name), {}
  for i, q in ipairs(F.params) do offs[i] = ("{%d, %d}"):format(q.at, q.bytes) end
  emit("static const emu_span params_%s[] = { %s };", name,
    #offs > 0 and table.concat(offs, ", ") or "{0, 0}")
  emit("static const emu_span arrays_%s[] = { %s };", name,
    #F.arrays > 0 and table.concat(F.arrays, ", ") or "{0, 0}")
  kernels[#kernels + 1] =
    ('{ "%s", run_%s, params_%s, %d, arrays_%s, %d, %d, %d, %d, LOCAL_, %d, %d, %d }'):format(
    F.name, name, name, #F.params, name, #F.arrays, align(F.nshared, 128), F.taken,
      F.dynamic and 1 or 0, saved,
    F.stops, F.threads)
  kernels[#kernels] = kernels[#kernels]:gsub(" }$", (", %d }"):format(registers))
end

local function begin(entry, name, list, ret)
  F = { entry = entry, name = name, params = list, ret = ret, regs = {}, order = {}, kinds = {},
    nodes = {}, locals = {},
    shared = {}, nshared = EMU_GAP, taken = 0, arrays = {}, param_at = {}, stops = 0, targets = {},
      threads = 1024,
    unnamed = 0 }
  local at, sig = 0, { "const emu_block *a_", "emu_thread *t_" }
  if ret then
    sig[#sig + 1] = ("char *%s"):format(ret.name)
    F.param_at[ret.name] = ret.name
  end
  for i, q in ipairs(list) do
    if entry then
      at = align(at, q.align)
      q.at = at
      F.param_at[q.name] = ("a_->params + %d"):format(at)
      at = at + q.bytes
    else
      sig[#sig + 1] = ("const char *p%d_"):format(i)
      F.param_at[q.name] = ("p%d_"):format(i)
    end
  end
  F.signature = table.concat(sig, ", ")
end

-- ---- lines --------------------------------------------------------------------------------------
local function joined(done)
  local text = lines[lineno]
  while not text:find(done) do
    lineno = lineno + 1
    if not lines[lineno] then stop "the file ends too early" end
    text = text .. " " .. lines[lineno]
  end
  return text
end

local function module_line(line)
  if line:find "^%.version" or line:find "^%.target" or line:find "^%.address_size"
    or line:find "^%.file" then return end
  if line:find "^%.section" then
    while lines[lineno] and not lines[lineno]:find "^}" do lineno = lineno + 1 end
    return
  end
  if line:find "%.entry%s" then
    local text = joined "{$"
    local name, list = text:match "%.entry%s+([%w_$]+)%s*%((.-)%)"
    begin(true, name, params(list))
    local x, y, z = text:match "%.maxntid%s+(%d+)%s*,?%s*(%d*)%s*,?%s*(%d*)"
    if not x then x, y, z = text:match "%.reqntid%s+(%d+)%s*,?%s*(%d*)%s*,?%s*(%d*)" end
    if x then F.threads = tonumber(x) * (tonumber(y) or 1) * (tonumber(z) or 1) end
    return
  end
  if line:find "%.func" then
    local text = joined "[{;]"
    local ret, name, list = text:match "%.func%s*%((.-)%)%s*([%w_$]+)%s*%((.-)%)"
    if not ret then name, list = text:match "%.func%s+([%w_$]+)%s*%((.-)%)" end
    if text:find ";%s*$" then
      if not functions[name] and not text:find "%.extern" then
        begin(false, name, params(list), ret and param(ret))
        functions[name] = { ret = ret }
        emit("static void %s(%s);", cname(name), F.signature)
        F = nil
      end
      return
    end
    begin(false, name, params(list), ret and param(ret))
    functions[name] = { ret = ret }
    return
  end
  if line:find "%.global%s" or line:find "%.const%s" or line:find "%.shared%s" then
    local text = joined ";$"
    local a, t, name, count = text:match "%.align%s+(%d+)%s+%.(%w+)%s+([%w_$]+)(%[?%d*%]?)"
    if not name then stop("what is '%s'?", text) end
    local n = tonumber(count:match "%d+") or 1
    if text:find "%.shared%s" then
      shared[name] = { bytes = n * BYTES[t], align = tonumber(a),
        dynamic = text:find "%.extern" ~= nil }
      return
    end
    local init = text:match "=%s*(.-)%s*;$"
    if init and not init:find "^{" then init = "{" .. init .. "}" end
    if init and init:find "[%a_$]" and not init:find "^[{}%s%d,%-xa-fA-FU]*$" then
      stop("the values of %s", name)
    end
    emit("static %s%s %s[%d] __attribute__((aligned(%d))) = %s;",
      text:find "%.const%s" and "const " or "", CTYPE[t],
      cname(name), n, math.max(8, tonumber(a)), init or "{0}")
    tables[name] = true
    tables[#tables + 1] = cname(name)
    return
  end
  if line ~= "" then stop("what is '%s'?", line) end
end

local function function_line(line)
  if line == "" then return end
  if line:find "^%.loc%s" then return note_loc(line) end
  if line:find "^%.pragma" then return end
  if line == "{" then                             -- a call's parameters
    F.calls = (F.calls or 0) + 1
    F.nodes[#F.nodes + 1] = { code = "{" }
    return
  end
  if line == "}" then
    if (F.calls or 0) > 0 then
      F.calls = F.calls - 1
      F.nodes[#F.nodes + 1] = { code = "}" }
      return
    end
    if not F.entry then emit("static void %s(%s);", cname(F.name), F.signature) end
    end_function()
    F = nil
    return
  end
  local t, kind = line:match "^%.reg%s+%.(%w+)%s+%%([%w_]+)<%d+>;"
  if t then F.kinds[kind] = t return end
  t, kind = line:match "^%.reg%s+%.(%w+)%s+%%([%w_]+);"
  if t then F.kinds[kind] = t return end
  if line:find "^%.reg%s" then return end         -- temp_param_reg
  local a, name, n = line:match "^%.local%s+%.align%s+(%d+)%s+%.b8%s+([%w_$]+)%[(%d+)%];"
  if a then
    local at = align(depots, math.max(16, tonumber(a)))
    F.locals[name] = at
    depots = at + tonumber(n)
    return
  end
  if line:find "^%.shared%s" then
    module_line(line)
    return
  end
  if line:find "^%.param%s" then
    local q = param(line:match "^(.-);$")
    F.param_at[q.name] = q.name
    F.nodes[#F.nodes + 1] =
      { code = ("char %s[%d] __attribute__((aligned(16)));"):format(q.name, math.max(q.bytes, 8)) }
    return
  end
  local label, rest = line:match "^([%w_$]+):%s*(.*)$"
  if label then
    if rest:find "^%.branchtargets" then
      lines[lineno] = rest
      local list = {}
      for to in joined ";$":gsub("^%.branchtargets", ""):gmatch "[%w_$]+" do
        list[#list + 1] = to end
      F.targets[label] = list
      return
    end
    F.nodes[#F.nodes + 1] = { label = label }
    if rest ~= "" then
      lines[lineno] = rest
      return function_line(rest)
    end
    return
  end
  local text = joined ";$"
  statement(text:match "^(.-)%s*;$")
end

emit '#include "emu.h"\n'
while lineno < #lines do
  lineno = lineno + 1
  local line = lines[lineno]
  if F then function_line(line) else module_line(line) end
end
emit("static const emu_kernel kernels_[] = { %s };", table.concat(kernels, ",\n  "))
emit("static const emu_place places_[] = { %s };", table.concat(locs, ", "))
local list = {}
for i, name in ipairs(tables) do list[i] = ("{ (char *)%s, sizeof %s }"):format(name, name) end
emit("static const emu_table tables_[] = { %s };",
  #list > 0 and table.concat(list, ", ") or "{ 0, 0 }")
emit("const emu_module emu_this = { kernels_, %d, places_, tables_, %d, &E };", #kernels, #list)
io.write("enum { LOCAL_ = ", align(depots, 64), " };\n", table.concat(out, "\n"), "\n")

-- Random programs, each on every tier:  lua5.4 spec/fuzz/fuzz.lua [--seconds 60] [--from 1] [--to
-- N] [--ticks yes] [--ends yes|no] [--native yes] [--device opencl|cuda] [--export yes] [--parts
-- yes] [--picks yes|no] [--deep yes] [--wide yes] [--seed N] [--script FILE]
--
-- Works in processes of its own, so that a crash or a hang is a finding like any other. Prints the
-- seed and a shrunk program for each finding and ends with 1 if there was one. --seed N prints
-- program N and its outcome.
local tempo = require "tempo"
local generate = require "spec.fuzz.generate"
local parts = require "spec.fuzz.parts"
local picks = require "spec.fuzz.picks"
local deep = require "spec.fuzz.deep"
local check = require "spec.fuzz.check"
local ticks = require "spec.fuzz.ticks"
local wide = require "spec.fuzz.wide"

check.patience = 10

-- Random programs have many a gradient that is 0; C that does not compile is a finding.
function tempo.warn(text)
  if text:find("no native code", 1, true) then error(text, 0) end
end

-- TEMPO_BLOCK and TEMPO_TILE go by the seed: every other twenty programs have blocks of 1 to 3
-- wherever there can be any, two of three tiles of
-- 1 to 5 elements; in four of nine matrices are turned before loops whatever their size, in three
-- of five copies are left out however small, in one of eight nothing changes in place, in three of
-- eleven each program runs under a limit of memory too. In one of four, two to four threads share
-- all that they may. Memory is poisoned in most others; --native yes adds native code as a tier, in
-- a third of the programs entered in the midst of a loop, and poisons none, as it would run nothing
-- then. It is compiled with -O0, -O1, -O2 or -O3, in one of three by clang, if there is one.
-- --device NAME adds that device, in two of three all loops or all leaves as kernels; on the tests'
-- own, reading what was never written is no finding, as plans read rows that they do not choose
-- then: memory is 0xA5, so a use shows in the numbers. --export yes writes each program as C too,
-- compiles and runs that.
local options = { seconds = 30, from = 1 }
do
  local k = 1
  while arg[k] do
    local name = arg[k]:match "^%-%-(%w+)$"
    if not name then error("unknown argument " .. arg[k]) end
    options[name] = tonumber(arg[k + 1]) or arg[k + 1] or true
    k = k + 2
  end
end

-- With --ticks N in steps, and not otherwise, every program; without, every tenth twenty of
-- programs also.
local function in_steps(seed) return math.floor(seed / 20) % 10 == 9 end

-- With --ends yes dims end by data in all of them, with --ends no in none; with --parts yes states
-- change in part, with --wide yes programs of f32 are held to f64 over long dims and not otherwise.
-- With --picks yes data picks among few places in all of them, over long dims and axes; without,
-- every fifth twenty of programs, unless others are asked for. With --deep yes programs are layers
-- over time of which few points are shown, and inputs are given by rows too.
local function picks_in(seed)
  if options.picks then return options.picks == "yes" end
  return math.floor(seed / 20) % 5 == 2 and not (options.ends or options.parts or options.wide
    or options.deep)
end

local function generated(seed)
  if picks_in(seed) then return picks.generate(seed) end
  if options.deep then return deep.generate(seed) end
  return options.parts and parts.generate(seed)
    or generate.generate(seed, options.ends, options.wide and "f32")
end

local function run(text, seed)
  if options.wide then return wide.check(text) end
  local case, why = generate.load(text)
  if not case then return "illegal", why end
  local status = "ok"
  if not options.ticks then
    status, why = check.check(case, options.deep and seed and seed % 4 > 0)
  end
  if status == "ok" and (options.ticks or seed and in_steps(seed)) then return ticks.check(case) end
  return status, why
end

if options.child then                                  -- a batch: a line before and after each
  for seed = options.from, options.from + options.count - 1 do
    io.write(("begin %d\n"):format(seed))
    io.flush()
    local ok, status, why = pcall(function() return run(generate.text(generated(seed)), seed) end)
    if not ok then status, why = "finding", "the fuzzer failed: " .. tostring(status) end
    io.write(("end %d %s %s\n"):format(seed, status,
      status == "ok" and "" or tostring(why):gsub("\n", "\\n")))
    io.flush()
    -- a device that was lost begins anew when all have closed it
    if seed % 20 == 0 or os.getenv "DEVICE" then collectgarbage() end
  end
  for k, v in pairs(check.counts) do io.write(("count %d %s\n"):format(v, k)) end
  os.exit(0)
end

local lua = arg[-1] or "lua5.4"

local function has(command)
  local ok = os.execute(command .. " --version >/dev/null 2>&1")
  return ok == true or ok == 0
end
local clang = options.native and has "clang"

local function settings(seed)
  local n = math.floor(seed / 20)
  local compiler = clang and math.floor(n / 4) % 3 == 1 and "CC=clang " or ""
  local level = ("NATIVE=1 TEMPO_CFLAGS=%s "):format(({ "-O3", "-O0", "-O2", "-O1" })[n % 4 + 1])
  local native = compiler .. level .. (n % 3 == 1 and ("TEMPO_LATE=%d "):format(n % 4 + 1) or "")
  local threads = n % 4 == 2 and ("THREADS=%d TEMPO_SHARE=0 "):format(n % 3 + 2) or ""
  return (options.export and "EXPORT=1 " or "") .. (options.wide and "WIDE=1 " or "") ..
    (options.device
      and ("DEVICE=%s TEMPO_EMU=fresh=0 %s"):format(options.device,
      ({ "TEMPO_KERNELS=all ", "TEMPO_KERNELS=leaves ", "" })[n % 3 + 1])
     or options.native and native or threads == "" and n % 5 > 0 and "TEMPO_POISON=1 " or "")
       .. threads ..
    (options.ends and n % 7 == 3 and "TEMPO_SPILL=1 " or "") ..
    ((options.ticks or in_steps(seed)) and "TICKS=1 " or "")
      .. (n % 2 == 1 and ("TEMPO_BLOCK=%d "):format(n % 3 + 1) or "")
    .. (n % 3 > 0 and ("TEMPO_TILE=%d "):format(n % 5 + 1) or "")
      .. (n % 7 < 4 and "TEMPO_AGAIN=1 " or "")
    .. (n % 9 < 4 and "TEMPO_TURN=1 " or "") .. (n % 5 < 3 and "TEMPO_FORWARD=0 " or "")
    .. (n % 8 == 5 and "TEMPO_APART=1 " or "") .. (n % 11 < 3 and "LIMIT=1 " or "")
end

local function child(seed, command, limit)              -- limit: seconds of processor time
  local pipe = io.popen(("(ulimit -t %d; %s %s) 2>&1; echo status $?"):format(limit, settings(seed),
    command))
  local text = pipe:read "*a"
  pipe:close()
  return text, tonumber(text:match "status (%d+)%s*$")
end

-- Status and reason of a program given as text, run apart.
local function apart(seed, text)
  local path = os.tmpname()
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
  local out, status = child(seed, ("%s %s"):format(lua, path), 30)
  os.remove(path)
  out = out:gsub("tempo: warning: [^\n]*\n", "")
  if status == 0 and out:find "^%l+" then
    local word, rest = out:match "^(%l+):?%s*(.-)%s*status 0%s*$"
    if word == "ok" or word == "illegal" or word == "finding" then return word, rest end
    return "illegal", out
  end
  -- an error of recording
  if status == 1 and not out:find "Assertion" then return "illegal", out end
  return "finding", ("ended with status %d: %s"):format(status or -1, out:sub(-400))
end

-- The same kind of finding: numbers, names and points left out.
local function kind(why)
  return (why:gsub("%b''", ""):gsub("[%d%.%-e]+", ""):gsub("%b[]", ""):sub(1, 60))
end

local function shrink(case, why)                       -- for a minute
  local changed, stop = true, os.time() + 60
  local want = why:find "^ended" and "^ended" or nil
  while changed and os.time() < stop do
    changed = false
    for _, change in ipairs(generate.shrinks(case)) do
      local undo = change()
      local status, w = apart(case.seed, generate.text(case))
      if status == "finding" and (not want or w:find(want)) then
        why, changed = w, true
        break
      end
      undo()
      if os.time() >= stop then break end
    end
  end
  return why
end

if options.script then
  local f = assert(io.open(options.script))
  print(run(generate.script(f:read "*a")))
  os.exit(0)
end

if options.seed then
  local case = generated(options.seed)
  print(generate.program(case))
  local status, why = apart(case.seed, generate.text(case))
  print("-- " .. status .. ": " .. tostring(why))
  if status == "finding" then
    why = shrink(case, why)
    print(("\n-- shrunk: %s\n-- %s\n%s"):format(why, settings(options.seed),
      generate.program(case)))
  end
  os.exit(status == "finding" and 1 or 0)
end

local stop = os.time() + options.seconds
local counts, findings, seen_besides = { ok = 0, illegal = 0, finding = 0 }, {}, {}
local seed, batch = options.from, options.batch or 20
local function found(at, why)
  findings[#findings + 1] = { at, why }
  io.stderr:write(("seed %d: %s\n"):format(at, why:match "[^\n]*"))
end
while os.time() < stop and seed < (options.to or math.huge) do
  local count = math.min(batch, 20 - seed % 20)
  local text = child(seed,
    ("%s %s --child yes%s%s --from %d --count %d"):format(lua, arg[0],
    options.ticks and " --ticks yes" or "",
    (options.ends and " --ends " .. options.ends or "") .. (options.parts and " --parts yes" or "")
    .. (options.deep and " --deep yes" or "") .. (options.picks and " --picks " .. options.picks or "")
      .. (options.wide and " --wide yes" or ""), seed, count), 600)
  local last, done = nil, {}
  for line in text:gmatch "[^\n]+" do
    local b = line:match "^begin (%d+)"
    local s, status, why = line:match "^end (%d+) (%l+) ?(.*)"
    local n, what = line:match "^count (%d+) (.*)"
    if b then last = tonumber(b) end
    if n then seen_besides[what] = (seen_besides[what] or 0) + tonumber(n) end
    if s then
      done[tonumber(s)] = true
      counts[status] = counts[status] + 1
      if status == "finding" then found(tonumber(s), (why:gsub("\\n", "\n"))) end
    end
  end
  if last and not done[last] then                      -- it died there
    counts.finding = counts.finding + 1
    found(last, "ended: " .. text:sub(-300))
    seed = last + 1
  elseif not last then
    io.write("no program ran:\n", text)
    os.exit(2)
  else
    seed = last + 1
  end
end

print(("%d programs from seed %d: %d agree, %d are illegal, %d findings"):format(
  counts.ok + counts.illegal + counts.finding, options.from, counts.ok,
  counts.illegal, counts.finding))
do
  local names = {}
  for k in pairs(seen_besides) do names[#names + 1] = k end
  table.sort(names)
  for _, k in ipairs(names) do print(("%12d %s"):format(seen_besides[k], k)) end
end
local seen = {}
for _, f in ipairs(findings) do
  local k = kind(f[2])
  seen[k] = (seen[k] or 0) + 1
  print(("\nseed %d: %s"):format(f[1], f[2]))
  if seen[k] <= (options.shrink or 2) then
    local case = generated(f[1])
    local _, why = apart(case.seed, generate.text(case))
    why = shrink(case, tostring(why))
    print(("-- shrunk: %s\n-- %s\n%s"):format(why, settings(f[1]), generate.program(case)))
  end
end
os.exit(#findings > 0 and 1 or 0)

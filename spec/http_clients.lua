-- `luajit spec/http_clients.lua PORT CASES OUT`: a client for each case, all at once, over sockets
-- of its own. CASES returns a list of { send = text, sleep = seconds before it, slow = bytes it
-- sends each 10 ms, deaf = seconds in which it reads nothing before it leaves, leave = it leaves
-- after so many bytes }. OUT returns what each read until the server closed, or false if that took
-- longer than a minute; in `first` and `last` the seconds to the first and last event of a stream.
local ffi, bit = require "ffi", require "bit"
ffi.cdef [[
typedef struct { uint16_t family, port; uint32_t address; char zero[8]; } tempo_address;
typedef struct { int fd; short events, revents; } tempo_poll;
typedef struct { long s, ns; } tempo_time;
int socket(int, int, int);
int connect(int, const tempo_address *, unsigned);
long send(int, const char *, size_t, int);
long recv(int, char *, size_t, int);
int close(int);
int poll(tempo_poll *, unsigned long, int);
int fcntl(int, int, ...);
int clock_gettime(int, tempo_time *);
]]
local C = ffi.C
local port, cases, out = tonumber(arg[1]), dofile(arg[2]), arg[3]
local NOSIGNAL, NONBLOCK, F_SETFL, IN, OUT, AGAIN = 0x4000, 0x800, 4, 1, 4, 11

local time = ffi.new "tempo_time"
local function now()
  C.clock_gettime(1, time)
  return tonumber(time.s) + tonumber(time.ns) * 1e-9
end

local function dial()
  local fd = C.socket(2, 1, 0)
  local a = ffi.new "tempo_address"
  a.family, a.port = 2, bit.bor(bit.lshift(bit.band(port, 255), 8), bit.rshift(port, 8))
  a.address = 0x0100007F
  assert(C.connect(fd, a, 16) == 0, "connect")
  C.fcntl(fd, F_SETFL, ffi.cast("int", NONBLOCK))
  return fd
end

local buffer = ffi.new("char[?]", 65536)
local start = now()
local clients = {}
for k, case in ipairs(cases) do
  clients[k] = { fd = dial(), case = case, at = 1, got = {}, n = 0,
    begins = start + (case.sleep or 0) }
end

local function leave(c)
  C.close(c.fd)
  c.over = true
end

local function say(c, t)
  if c.at > #c.case.send or (c.case.slow and t < (c.said or 0) + 0.01) then return end
  local part = c.case.send:sub(c.at, c.at + (c.case.slow or 65536) - 1)
  local n = tonumber(C.send(c.fd, part, #part, NOSIGNAL))
  if n > 0 then c.at, c.said = c.at + n, t end
end

local function hear(c, t)
  if c.case.deaf then
    if t > c.begins + c.case.deaf then leave(c) end
    return
  end
  local n = tonumber(C.recv(c.fd, buffer, 65536, 0))
  if n > 0 then
    local text = ffi.string(buffer, n)
    c.got[#c.got + 1], c.n = text, c.n + n
    if text:find("data: ", 1, true) then c.first, c.last = c.first or t - c.begins, t - c.begins end
    if c.case.leave and c.n >= c.case.leave then leave(c) end
  elseif n == 0 or ffi.errno() ~= AGAIN then
    leave(c)
  end
end

local polls = ffi.new("tempo_poll[?]", #clients)
local running
repeat
  running = 0
  local t = now()
  for _, c in ipairs(clients) do
    if not c.over and t >= c.begins then
      say(c, t)
      hear(c, t)
    end
    if not c.over then
      local p = polls[running]
      p.fd, p.events = c.fd, c.case.deaf and 0 or IN
      if c.at <= #c.case.send and not c.case.slow and t >= c.begins then p.events = IN + OUT end
      running = running + 1
    end
  end
  if running > 0 then C.poll(polls, running, 10) end
until running == 0 or now() > start + 60

local file = assert(io.open(out .. ".new", "wb"))
file:write "return {\n"
for _, c in ipairs(clients) do
  file:write(c.over and ("%q"):format(table.concat(c.got)) or "false", ",\n")
end
for _, name in ipairs { "first", "last" } do
  file:write(name, " = {")
  for _, c in ipairs(clients) do
    file:write(c[name] and ("%.6f"):format(c[name]) or "false", ", ")
  end
  file:write "},\n"
end
file:write "}\n"
file:close()
os.rename(out .. ".new", out)

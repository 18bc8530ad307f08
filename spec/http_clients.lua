-- `luajit spec/http_clients.lua PORT CASES OUT`: a client for each case, all at once, over sockets of
-- its own. CASES returns a list of { send = text, sleep = seconds before it, slow = bytes a step,
-- deaf = it reads nothing, leave = it closes after so many bytes, wait = seconds before it leaves }.
-- OUT returns what each read until the server closed, or false if that took longer than 20 seconds.
local ffi, bit = require "ffi", require "bit"
ffi.cdef [[
typedef struct { uint16_t family, port; uint32_t address; char zero[8]; } tempo_address;
typedef struct { int fd; short events, revents; } tempo_poll;
int socket(int, int, int);
int connect(int, const tempo_address *, unsigned);
long send(int, const char *, size_t, int);
long recv(int, char *, size_t, int);
int close(int);
int poll(tempo_poll *, unsigned long, int);
int fcntl(int, int, ...);
int usleep(unsigned);
]]
local C = ffi.C
local port, cases, out = tonumber(arg[1]), dofile(arg[2]), arg[3]
local NOSIGNAL, NONBLOCK, F_SETFL = 0x4000, 0x800, 4

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
local start = os.time()
local clients = {}
for k, case in ipairs(cases) do
  clients[k] = { fd = dial(), at = 1, got = {}, n = 0, begun = os.clock(), ticks = 0 }
  if case.sleep then clients[k].later = case.sleep * 100 end
end

local function ends(c, whole)
  C.close(c.fd)
  c.over, c.whole = true, whole
end

local function turn(c, case)
  c.ticks = c.ticks + 1
  if c.later and c.ticks < c.later then return end
  if c.at <= #case.send then
    local part = case.send:sub(c.at, c.at + (case.slow or 65536) - 1)
    local n = tonumber(C.send(c.fd, part, #part, NOSIGNAL))
    if n > 0 then c.at = c.at + n end
  end
  if case.deaf then
    if c.ticks > case.deaf * 100 then ends(c, true) end
    return
  end
  local n = tonumber(C.recv(c.fd, buffer, 65536, 0))
  if n > 0 then
    c.got[#c.got + 1] = ffi.string(buffer, n)
    c.n = c.n + n
  elseif n == 0 or ffi.errno() ~= 11 then
    return ends(c, true)
  end
  if case.leave and c.n >= case.leave and c.at > #case.send then ends(c, true) end
end

local running
repeat
  running = 0
  for k, case in ipairs(cases) do
    local c = clients[k]
    if not c.over then
      running = running + 1
      turn(c, case)
    end
  end
  C.usleep(10000)
until running == 0 or os.time() - start > 20

local file = assert(io.open(out .. ".new", "wb"))
file:write "return {\n"
for _, c in ipairs(clients) do
  file:write(c.over and ("%q"):format(table.concat(c.got)) or "false", ",\n")
end
file:write "}\n"
file:close()
os.rename(out .. ".new", out)

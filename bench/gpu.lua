-- Programs on a device, by counts that are exact on any: launches, copies and bytes of one
-- iteration more, and how many blocks of each kernel an H100 holds at once, by its limits and the
-- registers and shared memory that NVRTC gives them. Counts come from the tests' own libcuda where
-- there is NVRTC, else from pocl.
--   make bench-gpu ARGS="DEVICE ROW"      (cuda, opencl; one row of the table below)
-- In a process of its own, --child NAME N: a row of `programs` at size N, and what explain says.
local tempo = require "tempo"

local programs = {}

-- An example that trains, so many iterations of it.
local function example(name, more)
  return function(device, n)
    local file = assert(io.open("examples/" .. name .. ".lua"))
    local text = file:read "*a"
    file:close()
    text = text:gsub("P:compile {", ("P:compile { device = %q,"):format(device))
      :gsub("\nlog:close%(%)", '\nEXPLAINED = f:explain "kernels"\nlog:close()')
    local given = { [0] = name, "--iterations", tostring(n), "--quiet", "--out" }
    given[5] = os.tmpname() .. ".d"
    for word in more:gmatch "%S+" do given[#given + 1] = word end
    local env = setmetatable({ arg = given, print = function() end }, { __index = _G })
    assert(load(text, "@examples/" .. name .. ".lua", "t", env))()
    return env.EXPLAINED
  end
end
programs.reinforce = example("reinforce_cartpole", "--envs 4 --steps 10")
programs.ppo = example("ppo_cartpole", "--envs 4 --steps 10")

local function numbers(shape, at)
  if #shape < (at or 1) then return math.sin(math.random(1000)) * 0.1 end
  local a = {}
  for k = 1, shape[at or 1] do a[k] = numbers(shape, (at or 1) + 1) end
  return at and a or tempo.array(a, "f32")
end

-- A text goes on, a token after the other: attention over what came before, layers as a dim.
function programs.decoding(device, n)
  local P, D, V, L = tempo.program(), 16, 32, 2
  local t = P:dim "t"
  local l = P:dim "l"
  local function weights(name, ...) return P:input(name, { domain = { l }, shape = { ... } }) end
  local q, k, v, o = weights("q", D, D), weights("k", D, D), weights("v", D, D), weights("o", D, D)
  local words = P:input("words", { shape = { V, D } })
  local token = P:tensor { domain = { t }, dtype = "i64", name = "token" }
  local h = P:tensor { domain = { t, l }, shape = { D }, name = "h" }
  local function layer(x)
    local keys, values = x:matmul(k), x:matmul(v)
    local past, row = keys[{ t = 0 .. t + 1 }], values[{ t = 0 .. t + 1 }]
    local score = (past * x:matmul(q)):sum(1):softmax(0)
    return (x + (row * score:unsqueeze(1)):sum(0):matmul(o)):tanh()
  end
  local into = P:tensor { domain = { t, l }, shape = { D }, name = "into" }
  into[{ l = 0 }] = words:index_select(0, token:unsqueeze(0)):squeeze(0)
  into:otherwise(h[{ l = l - 1 }])
  h:otherwise(layer(into))
  token[0] = 1
  token:otherwise(words:matmul(h[{ t = t - 1, l = L - 1 }]):argmax(0))
  local f = P:compile { outputs = { token = token }, device = device }
  local inputs = { words = numbers { V, D } }
  for _, name in ipairs { "q", "k", "v", "o" } do inputs[name] = numbers { L, D, D } end
  f(inputs, { T = n, L = L })
  return f:explain "kernels"
end

local ROWS, WIDTH = 64, 256
local function rows(make)
  return function(device, n)
    local P = tempo.program()
    local x = P:input("x", { shape = { ROWS * n, WIDTH } })
    local f = P:compile { outputs = { y = make(x, P) }, device = device }
    f({ x = numbers { ROWS * n, WIDTH } }, {})
    return f:explain "kernels"
  end
end
programs.softmax = rows(function(x) return x:softmax(1) end)
programs.norm = rows(function(x)
  local d = x - x:mean(1, { keepdim = true })
  return d / ((d * d):mean(1, { keepdim = true }) + 1e-5):sqrt()
end)

function programs.adam(device, n)
  local P = tempo.program()
  local i = P:dim "i"
  local w = P:param("w", { along = { i }, shape = { ROWS, WIDTH }, init = 1 })
  local x = P:input("x", { domain = { i }, shape = { ROWS, WIDTH } })
  tempo.optim.Adam(w, { lr = 1e-3 }):step((w * x):sum())
  local f = P:compile { outputs = { loss = (w * x):sum() }, device = device }
  f({ x = numbers { n, ROWS, WIDTH } }, { I = n })
  return f:explain "kernels"
end

-- Calls with the same arrays, whose result the next call takes; the last one is looked at.
function programs.calls(device, n)
  local P = tempo.program()
  local x, w = P:input("x", { shape = { ROWS, WIDTH } }), P:input("w", { shape = { WIDTH, WIDTH } })
  local f = P:compile { outputs = { y = x:matmul(w) }, device = device }
  local y, weights = numbers { ROWS, WIDTH }, numbers { WIDTH, WIDTH }
  for _ = 1, n do y = f({ x = y, w = weights }, {}).y end
  y:get(0, 0)
  return f:explain "kernels"
end

-- A gradient through n steps of a state, for which the device has no room.
function programs.far(device, n)
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { shape = { ROWS, WIDTH } })
  local w = P:param("w", { shape = { WIDTH }, init = 1 })
  local h = P:tensor { domain = { t }, shape = { ROWS, WIDTH } }
  h[0] = x
  h:otherwise((h[t - 1] * w + x):tanh())
  local loss = (h * h):sum()[{ t = 0 .. T }]:sum()
  local f = P:compile { outputs = { g = tempo.grad(loss, { w })[1] }, device = device,
    memory = 8 * ROWS * WIDTH * 4 }
  f({ x = numbers { ROWS, WIDTH } }, { T = n })
  return f:explain "kernels"
end

if arg[1] == "--child" then
  io.write(programs[arg[2]](arg[4], tonumber(arg[3])))
  os.exit(0)
end

local device = arg[1] or "cuda"
local own = io.open "build/gpu/libcuda.so.1"
local function child(name, n)
  local out = os.tmpname()
  local ours = device == "cuda" and own and
    "TEMPO_CUDA=${TEMPO_CUDA:-build/gpu/libcuda.so.1} TEMPO_EMU=unwatched" or ""
  local command = "TEMPO_DUMP=kernels TEMPO_PIECE=1000000000 %s lua5.4 bench/gpu.lua " ..
    "--child %s %d %s 2>%s"
  local pipe = io.popen(command:format(ours, name, n, device, out))
  local said = pipe:read "*a"
  pipe:close()
  if not said:find "^device " then
    local file = io.open(out)
    print(("left out: %s on %s: %s"):format(name, device, file:read "*a":sub(-300)))
    said = nil
  end
  return said, out
end

local function counts(said)
  local launches, copies = said:match "(%d+) launches, (%d+) copies of"
  local bytes = 0
  for n in said:gmatch ", (%d+) bytes a call" do bytes = bytes + n end
  bytes = said:match "of which a call moves (%d+)" or bytes
  return { launches = tonumber(launches), copies = tonumber(copies), bytes = tonumber(bytes) }
end

-- Counts one iteration more.
local function one_more(name, n)
  local before, a = child(name, n)
  local after, b = child(name, n + 1)
  os.remove(a)
  if not (before and after) then return end
  local x, y = counts(before), counts(after)
  for k, v in pairs(y) do x[k] = v - x[k] end
  x.said, x.text = after, b
  return x
end

-- Tells what NVRTC gives the kernels of this text: by name, registers, shared bytes, spilled bytes.
-- It needs LuaJIT's FFI.
local function needs(path)
  local pipe, all = io.popen("luajit bench/gpu_needs.lua " .. path .. " 2>/dev/null"), {}
  for line in pipe:lines() do
    local name, registers, shared, spilled = line:match "^(%S+) (%d+) (%d+) (%d+)$"
    if name then
      all[name] = { registers = tonumber(registers), shared = tonumber(shared),
        spilled = tonumber(spilled) }
    end
  end
  pipe:close()
  return all
end

-- Blocks of 256 threads that an H100 has at once: 132 multiprocessors of 65,536 registers, 2,048
-- threads, 227 KB that blocks share.
local function at_once(need)
  local a_block = math.ceil(need.registers / 8) * 8 * 256
  return 132 * math.min(2048 // 256, 65536 // a_block, 232448 // (need.shared + 1024))
end

local function ratio(name, most, ours, what)
  local one = most < 100 and 1 or 0                    -- counts may be 0
  print(("RATIO %s %.2f (%d vs %d %s)"):format(name, (most + one) / (ours + one), ours, most, what))
end

-- Rows: a program, a size, the most launches of one more; the least bytes of one more (each array
-- once).
local ROW = ROWS * WIDTH * 4
for _, row in ipairs {
  { "reinforce", 4, launches = 8, copies = 0, rollout = true }, -- leaves that run twice are the host's
  { "ppo", 4, launches = 16, copies = 0 },
  { "decoding", 4, launches = 4 },
  { "softmax", 4, bytes = 2 * ROW },
  { "norm", 4, bytes = 2 * ROW },
  { "adam", 2, bytes = 8 * ROW },
  { "calls", 3, launches = 1, copies = 0 },
  { "far", 30, bytes = 2 * ROW }, -- over the bus
} do
  local name = row[1]
  local x = (not arg[2] or arg[2] == name) and one_more(name, row[2])
  if x then
    if row.launches then
      ratio("launches-" .. name, row.launches, x.launches, "launches of one more")
    end
    if row.copies then ratio("host-copies-" .. name, row.copies, x.copies, "copies of one more") end
    if row.bytes then ratio("bytes-" .. name, row.bytes, x.bytes, "bytes of one more") end
    local fit, spills, worst = math.huge, 0, nil
    -- PPO's would take as long as all the rest
    for kernel, need in pairs(name ~= "ppo" and needs(x.text) or {}) do
      local chosen = x.said:find("\n" .. kernel .. ":", 1, true)
      local loop = kernel:find "^loop" or kernel:find "^parts"
      if chosen then spills = spills + need.spilled end
      if chosen and (loop or not row.rollout) and at_once(need) < fit then
        fit, worst = at_once(need), kernel
      end
    end
    local environments = fit * 4                       -- 256 threads a block, 64 units a layer
    if worst and row.rollout then
      print(("RATIO at-once-%s %.2f (%d vs 512 environments in %s on an H100)"):format(name,
        environments / 512, environments, worst))
    elseif worst then
      print(("%s: %d blocks of %s at once on an H100"):format(name, fit, worst))
    end
    if worst then print(("%s: %d bytes of registers spilled"):format(name, spills)) end
    local host = x.said:match "on the host: ([^\n]*)" or "nothing"
    print(("%s: on the host: %s"):format(name, host:sub(1, 200)))
    os.remove(x.text)
  end
end

-- Compiles the kernels of examples for cards that need not be here, and prints, by example, what
-- they take of a card: registers, spills, shared memory, threads at once by the toolkit's formula,
-- widths of accesses to memory in machine code.
--   luajit .ci/gpu/static.lua [--write] [EXAMPLE ..]     (make gpu-static; --write: into docs/gpu.md)
-- It ends non-zero where a kernel spills more than `allowed`, fewer threads are at once than LEAST,
-- or fewer accesses than `wide` have 128 bits. It needs NVRTC; nvdisasm for widths ($NVDISASM,
-- PATH, PyPI's nvidia-cuda-nvdisasm).
local device = require "spec.gpu.device"
if not device.nvrtc then
  print("left out: what kernels take of a card: " .. device.why)
  os.exit(0)
end

local EXAMPLES = { "causal_attention", "sliding_mean", "running_statistics", "evolution",
  "rnn_bptt", "state_space", "conv_shapes", "dqn_cartpole", "reinforce_cartpole", "ppo_cartpole" }
local LEAST = 0.25                 -- of a multiprocessor's threads: two blocks
local THREADS = 256                -- of a block: TP_KERNEL_THREADS
-- Bytes that kernels of an example may spill on either card: ptxas keeps numbers of the run's
-- bounds in registers from the kernel's begin on.
local allowed = { state_space = 28, reinforce_cartpole = 24 }
-- How many accesses have 128 bits at least.
local wide = { rnn_bptt = 3, state_space = 24, conv_shapes = 12, dqn_cartpole = 48,
  reinforce_cartpole = 72, ppo_cartpole = 96 }
-- Of a multiprocessor: registers, threads, blocks, bytes that blocks share, of which each block
-- takes `own` more.
local CARDS = {
  sm_90 = { registers = 65536, threads = 2048, blocks = 32, shared = 233472, own = 1024 },
  sm_80 = { registers = 65536, threads = 2048, blocks = 32, shared = 167936, own = 1024 },
}

-- Blocks of THREADS at once on a multiprocessor: warps take registers in units of 256 from a
-- quarter of them, shared memory comes in units of 128 bytes.
local function at_once(card, registers, shared)
  local of_warp = math.ceil(registers * 32 / 256) * 256
  local warps = math.floor(card.registers / 4 / of_warp) * 4
  local by_shared = math.floor(card.shared / (math.ceil(shared / 128) * 128 + card.own))
  return math.min(card.blocks, card.threads / THREADS, math.floor(warps / (THREADS / 32)),
    by_shared)
end

local function output(command)
  local pipe = io.popen(command)
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local nvdisasm = output [[for f in "$NVDISASM" "$(command -v nvdisasm)" /usr/local/cuda/bin/nvdisasm \
  $(find ${VIRTUAL_ENV:-/nowhere} /usr/lib/python3* /usr/local/lib/python3* ~/.local/lib/python3* \
  -name nvdisasm -type f 2>/dev/null); do test -x "$f" && echo "$f" && break; done]]:match "%S+"
if not nvdisasm then print "widths of accesses are left out: nvdisasm is not here" end

-- The modules that the example's first function is made of: compilation ends where the emulated
-- device would build them.
local function modules(example)
  local path = os.tmpname()
  os.execute(("TEMPO_DUMP=kernels TEMPO_CACHE= TEMPO_DEVICE=cuda TEMPO_EMU_CC=false "
    .. "TEMPO_CUDA=build/gpu/libcuda.so.1 timeout 120 luajit examples/%s.lua >/dev/null 2>%s"):format(example,
    path))
  local all, begins, list = device.file(path), {}, {}
  os.remove(path)
  for at in all:gmatch "()/%* One text, two compilers" do begins[#begins + 1] = at end
  for k, from in ipairs(begins) do
    local text = all:sub(from, (begins[k + 1] or 0) - 1)
    list[k] = text:match "^(.*\n}\n)" or text           -- what else was said comes behind
  end
  return list
end

-- By kernel: how many accesses of memory of the device have so many bits.
local function widths(cubin)
  local all, path, kernel = {}, os.tmpname(), nil
  local f = assert(io.open(path, "wb"))
  f:write(cubin)
  f:close()
  for line in output(nvdisasm .. " -c " .. path .. " 2>/dev/null"):gmatch "[^\n]+" do
    kernel = line:match "^%.text%.([%w_]+):" or line:match "^%s*%.section%s+%.text%.([%w_]+)" or kernel
    local more = kernel and line:match "%f[%w]LDG%.([%w%.]+)" or line:match "%f[%w]STG%.([%w%.]+)"
    if kernel and more then
      local n = more:match "%.(128)" or more:match "%.(64)" or more:match "%.[US](%d+)" or "32"
      all[kernel] = all[kernel] or {}
      all[kernel][n] = (all[kernel][n] or 0) + 1
    end
  end
  os.remove(path)
  return all
end

local function measure(example)
  local row = { kernels = 0, bits = {} }
  for arch in pairs(CARDS) do
    row[arch] = { registers = 0, spilled = 0, shared = 0, threads = 1, worst = "" }
  end
  for _, text in ipairs(modules(example)) do
    for arch, card in pairs(CARDS) do
      local log, cubin = device.needs(text, arch)
      local of = row[arch]
      for name, rest in log:gmatch "Compiling entry function '([%w_]+)'(.-Used [^\n]*)" do
        local registers, shared = tonumber(rest:match "Used (%d+) registers"),
          tonumber(rest:match "(%d+) bytes smem" or 0)
        local fit = at_once(card, registers, shared) * THREADS / card.threads
        of.spilled = of.spilled + tonumber(rest:match "(%d+) bytes spill stores" or 0)
        of.shared = math.max(of.shared, shared)
        of.registers = math.max(of.registers, registers)
        if fit < of.threads then of.threads, of.worst = fit, name end
        if arch == "sm_90" then row.kernels = row.kernels + 1 end
      end
      if arch == "sm_90" and nvdisasm and cubin then
        for _, counts in pairs(widths(cubin)) do
          for n, times in pairs(counts) do row.bits[n] = (row.bits[n] or 0) + times end
        end
      end
    end
  end
  return row
end

local lines, bad = { "| example | kernels | registers, H100, A100 | spilled bytes | shared bytes | "
  .. "least threads at once, in which kernel | accesses of 128, 64, 32, fewer bits |",
  "| --- | --- | --- | --- | --- | --- | --- |" }, 0
local asked, write = {}, false
for _, a in ipairs(arg) do
  if a == "--write" then write = true else asked[#asked + 1] = a end
end
for _, example in ipairs(#asked > 0 and asked or EXAMPLES) do
  local row = measure(example)
  local h, a, b = row.sm_90, row.sm_80, row.bits
  lines[#lines + 1] = ("| `%s` | %d | %d, %d | %d, %d | %d | %.0f %%, %.0f %% `%s` | %s |"):format(
    example, row.kernels, h.registers, a.registers, h.spilled, a.spilled, h.shared,
    h.threads * 100, a.threads * 100, h.worst, nvdisasm and ("%d, %d, %d, %d"):format(b["128"] or 0,
    b["64"] or 0, b["32"] or 0, (b["16"] or 0) + (b["8"] or 0)) or "?")
  print(lines[#lines])
  io.stdout:flush()
  local worst = math.max(h.spilled, a.spilled)
  if row.kernels == 0 or worst > (allowed[example] or 0) or math.min(h.threads, a.threads) < LEAST
    or (nvdisasm and (b["128"] or 0) < (wide[example] or 0)) then
    bad = bad + 1
    print(example .. ": beyond the limits")
  end
end
if write then
  local text = device.file "docs/gpu.md"
  local from, to = text:find "<!%-%- static %-%->\n.-\n<!%-%- /static %-%->"
  local f = assert(from and io.open("docs/gpu.md", "w"), "docs/gpu.md has no place for the table")
  f:write(text:sub(1, from - 1), "<!-- static -->\n", table.concat(lines, "\n"), "\n<!-- /static -->",
    text:sub(to + 1))
  f:close()
end
os.exit(bad > 0 and 1 or 0)

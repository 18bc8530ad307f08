-- The tests' own libcuda: what is planted is found, with its line; work is as late as it may be.
local device = require "spec.gpu.device"
local ffi, cuda = device.ffi, device.cuda

if not device.nvrtc or not cuda then
  describe("the emulated device", function()
    it("are left out: " .. (device.cuda_why or device.why), function() end)
  end)
  print("left out: the emulated device: " .. (device.cuda_why or device.why))
  return
end

local function floats(n, f)
  local a = ffi.new("float[?]", n)
  for i = 0, n - 1 do a[i] = f and f(i) or i end
  return a
end

-- Runs a kernel of one text on arrays of floats (or numbers); gives the status and what was found.
local function run(text, arrays, opts)
  opts = opts or {}
  device.open(opts.words)
  local m = assert(device.module(device.ptx(text)))
  local args = {}
  for i, a in ipairs(arrays) do
    args[i] = type(a) == "number" and a or type(a) == "table" and assert(device.take(a[1]))
      or device.given(a)
  end
  local put = device.launch(device.kernel(m, opts.name or "k"), opts.blocks or 1,
    opts.threads or 64, args, nil, opts.together)
  if put ~= 0 then return put, device.found() end
  local status = cuda.cuCtxSynchronize()
  for i, a in ipairs(arrays) do
    if type(a) == "cdata" and status == 0 then
      assert(cuda.cuMemcpyDtoH_v2(a, args[i], ffi.sizeof(a)) == 0)
    end
  end
  return status, device.found()
end

local function planted(text, arrays, status, words, opts)
  local got, found = run(text, arrays, opts)
  assert.equal(status, got)
  for _, w in ipairs(words) do
    assert.truthy(found:find(w, 1, true), ("'%s' is not in: %s"):format(w, found))
  end
end

describe("the emulated device finds", function()
  it("nothing where nothing is wrong: a fold of a block, a shuffle, a switch, a function that is called", function()
    local y, x = floats(64), floats(64)
    local text = [[
TP_ONCE float twice(GLOBAL const float *p, float *q) { *q = p[0] * 2; return *q + 1; }
KERNEL_OF(64, k)(GLOBAL const float *x, GLOBAL float *y, int64_t n) {
  LOCAL float s[64];
  s[THREAD] = x[THREAD];
  BARRIER();
  for (int h = 32; h; h >>= 1) {
    if (THREAD < h) s[THREAD] = s[THREAD] + s[THREAD + h];
    BARRIER();
  }
  float v = x[THREAD], q;
  for (int h = 16; h; h >>= 1) v = v + SHUFFLE_DOWN(v, h);
  float t = twice(x + THREAD, &q);
  switch (THREAD & 7) { case 0: t = t + 100; break; case 1: t = t * q; break; case 2: t = t - 7; break; case 3: t = 1; break;
    case 4: t = tp_EXP_f32(t * 0.01f); break; case 5: t = -t; break; case 6: t = t * 3; break; default: t = t / 2; }
  y[THREAD] = THREAD == 0 ? s[0] : THREAD == 32 ? v : THREAD < n ? t : 0;
}]]
    for _, seed in ipairs { 0, 1, 6 } do
      local status, found = run(text, { x, y, 64 }, { words = "seed=" .. seed })
      assert.equal("", found)
      assert.equal(0, status)
      assert.equal(2016, y[0])
      assert.equal(1520, y[32])
      assert.equal((2 * 9 + 1) * 18, y[9])
      assert.equal(-(2 * 13 + 1), y[13])
      assert.equal((2 * 15 + 1) / 2, y[15])
    end
  end)

  it("a race in a block", function()
    planted([[
KERNEL_OF(64, k)(GLOBAL const float *x, GLOBAL float *y) {
  LOCAL float s[64];
  s[THREAD] = x[THREAD];
  BARRIER();
  y[THREAD] = s[63 - THREAD];
  s[THREAD] = 0;
}]], { floats(64), floats(64) }, 719, { "line 6", "race", "at line 5", "of shared memory" })
  end)

  it("a race of two writes in a block, and of bytes beside each other none", function()
    planted([[
KERNEL_OF(64, k)(GLOBAL float *y) {
  y[0] = 1;
}]], { floats(64) }, 719, { "line 2", "a second write", "byte 0 of an allocation of 256" })
    local status, found = run([[
KERNEL_OF(64, k)(GLOBAL uint8_t *y) {
  y[THREAD] = (uint8_t)THREAD;
}]], { floats(64) })
    assert.equal("", found)
    assert.equal(0, status)
  end)

  it("a race between blocks, also over a barrier", function()
    planted([[
KERNEL_OF(64, k)(GLOBAL float *x, GLOBAL float *y) {
  x[BLOCK * 64 + THREAD] = 1;
  BARRIER();
  y[BLOCK * 64 + THREAD] = x[(BLOCK * 64 + THREAD + 1) % 256];
}]], { floats(256), floats(256) }, 719, { "line 4", "a read beside the write of block", "at line 2" },
      { blocks = 4 })
  end)

  it("a read that another block writes later", function()
    planted([[
KERNEL_OF(64, k)(GLOBAL float *x, GLOBAL float *y) {
  y[BLOCK * 64 + THREAD] = x[0];
  if (BLOCK == BLOCKS - 1 && THREAD == 0) x[0] = 2;
}]], { floats(4), floats(256) }, 719, { "line 3", "a write beside the read of block", "at line 2" }, { blocks = 4 })
  end)

  it("no race of atomic sums, and one of such a sum and a plain read", function()
    local y = ffi.new "int32_t[2]"
    local status, found = run([[
KERNEL_OF(64, k)(GLOBAL int32_t *y) { ATOMIC_ADD_I32(y, THREAD); }]], { y }, { blocks = 4 })
    assert.equal("", found)
    assert.equal(0, status)
    assert.equal(4 * 2016, y[0])
    planted([[
KERNEL_OF(64, k)(GLOBAL int32_t *y) {
  ATOMIC_ADD_I32(y, 1);
  y[1 + BLOCK * 64 + THREAD] = y[0];
}]], { ffi.new "int32_t[257]" }, 719, { "line 3", "race" }, { blocks = 4 })
  end)

  it("reads and writes out of bounds", function()
    planted([[
KERNEL_OF(64, k)(GLOBAL const float *x, GLOBAL float *y) {
  y[THREAD] = x[THREAD + 1];
}]], { floats(64), floats(64) }, 700, { "line 2", "thread 63", "a read out of bounds of 4 bytes",
      "0 bytes behind an allocation of 256" })
    planted([[
KERNEL_OF(64, k)(GLOBAL float *y) {
  y[THREAD - 1] = 1;
}]], { floats(64) }, 700, { "line 2", "thread 0", "a write out of bounds" })
    planted([[
KERNEL_OF(64, k)(GLOBAL float *y) {
  LOCAL float s[32];
  s[THREAD] = 1;
  BARRIER();
  if (THREAD < 32) y[THREAD] = s[THREAD];
}]], { floats(64) }, 700, { "line 3", "out of bounds", "thread 3" })
  end)

  it("memory that was freed, and a misaligned access", function()
    device.open()
    local m = assert(device.module(device.ptx [[
KERNEL_OF(64, k)(GLOBAL float *y) {
  y[THREAD] = 1;
}]]))
    local f, y, mark = device.kernel(m, "k"), device.given(floats(64)), device.take(4)
    assert.equal(0, cuda.cuMemFree_v2(y))
    assert.equal(0, device.launch(f, 1, 64, { y }))
    assert.equal(700, cuda.cuCtxSynchronize())
    assert.truthy(device.found():find("line 2", 1, true))
    assert.truthy(device.found():find("of an allocation of 256 that was freed", 1, true))
    assert.equal(700, cuda.cuMemcpyHtoD_v2(mark, floats(1), 4)) -- it stays
    planted([[
KERNEL_OF(64, k)(GLOBAL uint8_t *y) {
  *(float *)(y + THREAD + 1) = 1;
}]], { floats(65) }, 716, { "line 2", "a misaligned write of 4 bytes" }, { threads = 1 })
  end)

  it("reads of what was never written, of the device, of shared memory, of a thread's own",
    function()
    planted([[
KERNEL_OF(64, k)(GLOBAL const float *x, GLOBAL float *y) {
  y[THREAD] = x[THREAD];
}]], { { 256 }, floats(64) }, 719, { "line 2", "a read of 4 bytes that were never written" })
    planted([[
KERNEL_OF(64, k)(GLOBAL float *y) {
  LOCAL float s[64];
  if (THREAD) s[THREAD] = 1;
  BARRIER();
  y[THREAD] = s[THREAD];
}]], { floats(64) }, 719, { "line 5", "never written", "byte 0 of shared memory" })
    planted([[
KERNEL_OF(64, k)(GLOBAL float *y, int64_t n) {
  float own[16];
  for (int i = 1; i < 16; i++) own[(i * n) & 15] = i;
  y[THREAD] = own[n - 1];
}]], { floats(64), 1 }, 719, { "line 4", "never written", "a thread's own memory" }, { words = "own" })
  end)

  it("a barrier under a condition, and one that some threads never reach", function()
    planted([[
KERNEL_OF(64, k)(GLOBAL float *y, int64_t n) {
  LOCAL float s[64];
  s[THREAD] = 1;
  if (THREAD < n) {
    BARRIER();
    y[THREAD] = s[63 - THREAD];
  } else {
    s[THREAD] = 3;
    BARRIER();
    y[THREAD] = s[THREAD] + 1;
  }
}]], { floats(64), 17 }, 719, { "a barrier of its own" })
    planted([[
KERNEL_OF(64, k)(GLOBAL float *y, int64_t n) {
  LOCAL float s[64];
  s[THREAD] = 1;
  if (THREAD >= n) return;
  BARRIER();
  y[THREAD] = s[63 - THREAD];
}]], { floats(64), 60 }, 719, { "line 5", "a barrier that this thread never reaches (4 of 64" })
  end)

  it("a loop that waits for another block, and threads of a warp that do not come", function()
    planted([[
KERNEL_OF(64, k)(GLOBAL float *y) {
  while (*(volatile float *)(y + 1) != BLOCK) { }
  y[2] = 1;
}]], { floats(64) }, 702, { "line 2", "a loop that does not end" }, { words = "fuel=100000", blocks = 3 })
    planted([[
KERNEL_OF(64, k)(GLOBAL float *y, int64_t n) {
  float v = y[THREAD];
  if (THREAD < n) v = v + SHUFFLE_DOWN(v, 1);
  y[THREAD] = v;
}]], { floats(64), 20 }, 719, { "line 3", "threads of a warp wait for others" })
  end)

  -- Each block adds what all others wrote in the round before; MEETING is what stands between.
  local function rounds(meeting, n)
    return ([[
TP_FN void meeting(uint32_t *count) { %s }
KERNEL_OF(64, k)(GLOBAL int64_t *x, GLOBAL uint32_t *count) {
  LOCAL int64_t s[64];
  for (int r = 0; r < %d; r++) {
    const int64_t *in = x + (r & 1) * 64 * BLOCKS;
    int64_t *out = x + (~r & 1) * 64 * BLOCKS, sum = 0;
    for (int b = 0; b < BLOCKS; b++) sum += in[b * 64 + (THREAD + b) %% 64];
    s[THREAD] = sum;
    BARRIER();
    out[BLOCK * 64 + THREAD] = s[63 - THREAD];
    meeting(count);
  }
}]]):format(meeting, n or 3)
  end
  local function numbers()
    local x, count = ffi.new "int64_t[640]", ffi.new "uint32_t[1]"
    for i = 0, 319 do x[i] = i * i % 97 end
    return { x, count }
  end
  local together = { blocks = 5, together = true }

  it("nothing where blocks that are there at once meet, and each sees what the others wrote",
    function()
    local want = {}
    for i = 0, 319 do want[i] = i * i % 97 end
    for _ = 1, 3 do
      local next = {}
      for t = 0, 63 do
        local sum = 0
        for b = 0, 4 do sum = sum + want[b * 64 + (t + b) % 64] end
        for b = 0, 4 do next[b * 64 + 63 - t] = sum end
      end
      want = next
    end
    for _, seed in ipairs { 0, 3 } do
      local given = numbers()
      local status, found = run(rounds "tp_grid_meet(count);", given,
        { blocks = 5, together = true, words = "seed=" .. seed })
      assert.equal("", found)
      assert.equal(0, status)
      for i = 0, 319 do assert.equal(want[i], tonumber(given[1][320 + i])) end
      assert.equal(0, given[2][0] % 2 ^ 31)
    end
  end)

  it("a meeting of blocks that one of its steps is missing from", function()
    local whole = [[__syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    const uint32_t was = atomicAdd(count, blockIdx.x ? 1u : 0x80000001u - gridDim.x);
    while (!((was ^ *(volatile uint32_t *)count) >> 31)) __nanosleep(32);
    __threadfence();
  }
  __syncthreads();]]
    local status, found = run(rounds(whole), numbers(), together)
    assert.equal("", found)
    assert.equal(0, status)
    local missing = 0
    for _, step in ipairs { "__syncthreads%(%);", "__threadfence%(%);" } do
      local first = whole:gsub(step, "", 1)
      local last = whole:reverse():gsub(step:gsub("%%", ""):reverse():gsub("[%(%)]", "%%%0"), "", 1)
        :reverse()
      for _, text in ipairs { first, last } do
        assert.is_true(#text < #whole)
        planted(rounds(text), numbers(), 719, { "race" }, together)
        missing = missing + 1
      end
    end
    assert.equal(4, missing)
    for n = 1, 2 do -- to the watch
      planted(rounds "tp_grid_meet(count);", numbers(), 719, { "race" },
        { blocks = 5, together = true, words = "apart=" .. n })
    end
  end)

  it("blocks that wait for one that is not there, and more than fit", function()
    planted(rounds "tp_grid_meet(count);", numbers(), 702, { "waits for what no block does" },
      { blocks = 5 })
    planted([[
KERNEL_OF(64, k)(GLOBAL int64_t *x, GLOBAL uint32_t *count) { if (BLOCK) tp_grid_meet(count); }]],
      numbers(), 702, { "waits for what no block does", "(5 of them)" }, together)
    planted(rounds "tp_grid_meet(count);", numbers(), 720, { "cannot be there at once, but 32" },
      { blocks = 33, together = true, words = "units=1" })
  end)

  it("more shared memory than there is, more threads than a kernel is for, text that is no PTX",
    function()
    device.open()
    local m, why = device.module(device.ptx [[
KERNEL_OF(64, k)(GLOBAL float *y, int64_t n) {
  LOCAL double s[8000];
  s[THREAD * n] = 1;
  BARRIER();
  y[THREAD] = (float)s[63 * n];
}]])
    assert.is_nil(m)
    assert.truthy(why:find("too much shared data", 1, true))
    m = assert(device.module(device.ptx "KERNEL_OF(64, k)(GLOBAL float *y) { y[THREAD] = 1; }"))
    assert.equal(1, device.launch(device.kernel(m, "k"), 1, 65, { device.take(1024) }))
    m, why = device.module "nonsense"
    assert.is_nil(m)
    assert.truthy(why:find("what is 'nonsense'", 1, true))
    m, why = device.module "\127ELF....."
    assert.is_nil(m)
    assert.truthy(why:find("takes PTX", 1, true))
  end)

  it("instructions whose results are not the CPU's bits", function()
    local m, why =
      device.module(
      device.ptx "KERNEL_OF(64, k)(GLOBAL float *y) { y[THREAD] = __expf(y[THREAD]); }")
    assert.is_nil(m)
    assert.truthy(why:find("is not rounded as on a CPU", 1, true))
  end)
end)

describe("work of the emulated device", function()
  local function ones(bytes)
    local a = ffi.new("uint8_t[?]", bytes)
    ffi.fill(a, bytes, 1)
    return a
  end
  local function stream()
    local s = ffi.new "void *[1]"
    assert(cuda.cuStreamCreate(s, 1) == 0)
    return s[0]
  end
  local function event()
    local e = ffi.new "void *[1]"
    assert(cuda.cuEventCreate(e, 2) == 0)
    return e[0]
  end

  it("is done as late as it may be: a buffer that is used again too early gives the later bytes",
    function()
    device.open()
    local s, p, h, back = stream(), device.take(64), ones(64), ffi.new "uint8_t[64]"
    cuda.cuMemcpyHtoDAsync_v2(p, h, 64, s)
    ffi.fill(h, 64, 2)
    cuda.cuMemcpyDtoHAsync_v2(back, p, 64, s)
    assert.equal(0, back[0])
    assert.equal(0, cuda.cuStreamSynchronize(s))
    assert.equal(2, back[0])
  end)

  it("waits for another queue only at an event", function()
    device.open()
    local s, r, e, p, q, back = stream(), stream(), event(), device.take(64), device.take(64),
      ffi.new "uint8_t[64]"
    cuda.cuMemcpyHtoDAsync_v2(p, ones(64), 64, s)
    cuda.cuEventRecord(e, s)
    cuda.cuMemcpyDtoDAsync_v2(q, p, 64, r)
    cuda.cuMemcpyDtoHAsync_v2(back, q, 64, r)
    assert.equal(0, cuda.cuStreamSynchronize(r))
    assert.equal(0xA5, back[0])                       -- no wait: fresh memory
    cuda.cuStreamWaitEvent(r, e, 0)
    cuda.cuMemcpyDtoDAsync_v2(q, p, 64, r)
    cuda.cuMemcpyDtoHAsync_v2(back, q, 64, r)
    assert.equal(600, cuda.cuEventQuery(e))
    assert.equal(0, cuda.cuStreamSynchronize(r))
    assert.equal(1, back[0])
    assert.equal(0, cuda.cuEventQuery(e))
  end)

  it("fails where it is told to, and is counted", function()
    local counts = os.tmpname()
    device.open("alloc=2,launch=2,counts=" .. counts)
    local m = assert(
      device.module(device.ptx "KERNEL_OF(64, k)(GLOBAL float *y) { y[THREAD] = 1; }"))
    local y = device.take(256)
    local none, e = device.take(256)
    assert.is_nil(none)
    assert.equal(2, e)
    assert.truthy(device.take(256))
    assert.equal(0, device.launch(device.kernel(m, "k"), 1, 64, { y }))
    assert.equal(0, cuda.cuCtxSynchronize())
    assert.truthy(device.file(counts):find("launches 1\n", 1, true))
    assert.equal(0, device.launch(device.kernel(m, "k"), 1, 64, { y }))
    assert.equal(719, cuda.cuCtxSynchronize())
    device.open()                                     -- a new context works
    assert.equal(0, cuda.cuCtxSynchronize())
    os.remove(counts)
  end)

  it("is refused beyond the memory that there is", function()
    device.open "memory=4096"
    assert.is_nil((device.take(5 * 2 ^ 30)))
  end)
end)

describe("products of the tests' own cuBLAS", function()
  local blas = ffi.load((os.getenv "TEMPO_BUILD" or "build") .. "/gpu/libcublas.so.13")
  local one, zero = ffi.new("float[1]", 1), ffi.new "float[1]"
  local function handle(stream)
    local h = ffi.new "void *[1]"
    assert.equal(0, blas.cublasCreate_v2(h))
    assert.equal(0, blas.cublasSetStream_v2(h[0], stream))
    return h[0]
  end
  -- c [2, 3] = a [2, 4] b [4, 3], row major: to cuBLAS the columns of c' = b' a'.
  local function product(h, a, b, c, opts)
    return blas.cublasGemmStridedBatchedEx(h, 0, opts.turned and 1 or 0, 3, 2, 4, one, b,
      0, opts.ldb or 3, 12, a, 0, opts.lda or (opts.turned and 2 or 4), 8, zero, c, 0, 3,
      opts.stride_c or 6, opts.batch or 1, opts.compute or 68, -1)
  end

  it("are right, late, of matrices that are turned, too", function()
    device.open()
    local a, b, c, out = device.given(floats(16)), device.given(floats(24)), device.take(48),
      ffi.new "float[12]"
    local h = handle(nil)
    for _, turned in ipairs { false, true } do
      assert.equal(0, product(h, a, b, c, { turned = turned, batch = 2 }))
      assert.equal(0, cuda.cuMemcpyDtoH_v2(out, c, 48))
      for g = 0, 1 do
        for i = 0, 1 do
          for j = 0, 2 do
            local sum = 0
            for k = 0, 3 do
              sum = sum + (8 * g + (turned and 2 * k + i or 4 * i + k)) * (12 * g + 3 * k + j)
            end
            assert.equal(sum, out[6 * g + 3 * i + j])
          end
        end
      end
    end
    assert.equal("", device.found())
  end)

  it("are refused with rows that overlap, results that overlap", function()
    device.open()
    local a, b, c = device.given(floats(16)), device.given(floats(24)), device.take(48)
    assert.equal(7, product(handle(nil), a, b, c, { lda = 3 }))
    assert.equal(7, product(handle(nil), a, b, c, { ldb = 2 }))
    assert.equal(7, product(handle(nil), a, b, c, { stride_c = 5, batch = 2 }))
    assert.equal(15, product(handle(nil), a, b, c, { compute = 64 }))   -- sums of f32 in f16
  end)

  it("leave no memory, and read none that was never written", function()
    device.open()
    local a, b, c = device.given(floats(16)), device.given(floats(24)), device.take(48)
    assert.equal(0, product(handle(nil), a, b, c, { batch = 3 }))
    assert.equal(700, cuda.cuCtxSynchronize())
    assert.truthy(device.found():find("cuBLAS's first operand leaves its memory", 1, true))
    device.open()
    a, b, c = device.take(64), device.given(floats(24)), device.take(48)
    assert.equal(0, product(handle(nil), a, b, c, {}))
    assert.equal(700, cuda.cuCtxSynchronize())
    assert.truthy(device.found():find("reads what was never written", 1, true))
  end)
end)

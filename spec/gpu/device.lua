-- Shared by specs of devices: NVRTC, the emulated CUDA device and an OpenCL device through
-- LuaJIT's FFI, and the text that stands before kernels. false, and why, where something is not
-- here.
local found, ffi = pcall(require, "ffi")
if not found then return { nvrtc = false, why = "no FFI" } end
local B = os.getenv "TEMPO_BUILD" or "build"
local C = ffi.C
local device = { ffi = ffi }

ffi.cdef [[
int setenv(const char *name, const char *value, int over);
int nvrtcVersion(int *, int *);
int nvrtcCreateProgram(void **, const char *, const char *, int, const char **, const char **);
int nvrtcCompileProgram(void *, int, const char **);
int nvrtcDestroyProgram(void **);
int nvrtcGetProgramLogSize(void *, size_t *);
int nvrtcGetProgramLog(void *, char *);
int nvrtcGetPTXSize(void *, size_t *);
int nvrtcGetPTX(void *, char *);
int nvrtcGetCUBINSize(void *, size_t *);
int nvrtcGetCUBIN(void *, char *);
int cuInit(unsigned);
int cuDeviceGetName(char *, int, int);
int cuDeviceGetAttribute(int *, int, int);
int cuCtxSetCurrent(void *);
int cuDevicePrimaryCtxRetain(void **, int);
int cuDevicePrimaryCtxReset_v2(int);
int cuMemAlloc_v2(uint64_t *, size_t);
int cuMemFree_v2(uint64_t);
int cuMemcpyHtoD_v2(uint64_t, const void *, size_t);
int cuMemcpyDtoH_v2(void *, uint64_t, size_t);
int cuMemcpyHtoDAsync_v2(uint64_t, const void *, size_t, void *);
int cuMemcpyDtoHAsync_v2(void *, uint64_t, size_t, void *);
int cuMemcpyDtoDAsync_v2(uint64_t, uint64_t, size_t, void *);
int cuMemsetD8Async(uint64_t, unsigned char, size_t, void *);
int cuModuleLoadDataEx(void **, const void *, unsigned, int *, void **);
int cuModuleUnload(void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuFuncGetAttribute(int *, int, void *);
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *, void *, int, size_t);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cuLaunchCooperativeKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **);
int cuCtxSynchronize(void);
int cuStreamCreate(void **, unsigned);
int cuStreamSynchronize(void *);
int cuStreamDestroy_v2(void *);
int cuStreamWaitEvent(void *, void *, unsigned);
int cuEventCreate(void **, unsigned);
int cuEventRecord(void *, void *);
int cuEventQuery(void *);
int cuEventSynchronize(void *);
int cuEventDestroy_v2(void *);
int cublasCreate_v2(void **);
int cublasDestroy_v2(void *);
int cublasSetStream_v2(void *, void *);
int cublasSetWorkspace_v2(void *, void *, size_t);
int cublasGemmStridedBatchedEx(void *, int, int, int, int, int, const void *, uint64_t, int, int,
  long long, uint64_t, int, int, long long, const void *, uint64_t, int, int, long long, int, int,
  int);
int clGetPlatformIDs(unsigned, void **, unsigned *);
int clGetDeviceIDs(void *, unsigned long, unsigned, void **, unsigned *);
void *clCreateContext(const intptr_t *, unsigned, void **, void *, void *, int *);
void *clCreateCommandQueue(void *, void *, unsigned long, int *);
void *clCreateProgramWithSource(void *, unsigned, const char **, const size_t *, int *);
int clBuildProgram(void *, unsigned, void **, const char *, void *, void *);
int clGetProgramBuildInfo(void *, void *, unsigned, size_t, void *, size_t *);
void *clCreateKernel(void *, const char *, int *);
void *clCreateBuffer(void *, unsigned long, size_t, void *, int *);
int clReleaseMemObject(void *);
int clSetKernelArg(void *, unsigned, size_t, const void *);
int clEnqueueNDRangeKernel(void *, void *, unsigned, const size_t *, const size_t *, const size_t *, unsigned, void *, void *);
int clEnqueueReadBuffer(void *, void *, unsigned, size_t, size_t, void *, unsigned, void *, void *);
int clEnqueueWriteBuffer(void *, void *, unsigned, size_t, size_t, const void *, unsigned, void *, void *);
int clFinish(void *);
]]

local function file(path)
  local f = io.open(path, "rb")
  if not f then return end
  local text = f:read "*a"
  f:close()
  return text
end
device.file = file

--- The text before kernels (tp_prelude_gpu), and how many lines it has; an environment's if it is
--- given.
function device.prelude()
  local lines = {}
  for line in io.lines(B .. "/gen/gpu.inc") do
    lines[#lines + 1] = line:match '^"(.*)\\n"$':gsub('\\(["\\])', "%1")
  end
  return table.concat(lines, "\n") .. "\n", #lines
end

-- ---- NVRTC ----
local places = { "libnvrtc.so.13", "libnvrtc.so.12", "/usr/local/cuda/lib64/libnvrtc.so.13",
  "/usr/local/cuda/lib64/libnvrtc.so.12" }
local named = os.getenv "TEMPO_NVRTC"
if named then table.insert(places, 1, named) end
local pipe = io.popen("ls -d /usr/lib/python3*/dist-packages /usr/local/lib/python3*/*-packages "
  .. "~/.local/lib/python3*/site-packages ${VIRTUAL_ENV:+$VIRTUAL_ENV/lib/python3*/site-packages} 2>/dev/null")
for folder in pipe:lines() do
  for _, sub in ipairs { "cu13/lib/libnvrtc.so.13", "cuda_nvrtc/lib/libnvrtc.so.12" } do
    places[#places + 1] = folder .. "/nvidia/" .. sub
  end
end
pipe:close()
for _, place in ipairs(places) do
  local ok, lib = pcall(ffi.load, place)
  if ok then
    device.nvrtc, device.nvrtc_at = lib, place
    break
  end
end
device.why = device.nvrtc and "" or "libnvrtc.so.13 is not here (pip install nvidia-cuda-nvrtc)"

local function log_of(program)
  local n = ffi.new "size_t[1]"
  device.nvrtc.nvrtcGetProgramLogSize(program, n)
  local s = ffi.new("char[?]", tonumber(n[0]) + 1)
  device.nvrtc.nvrtcGetProgramLog(program, s)
  return ffi.string(s)
end

--- Returns what ptxas says of the kernels of a whole text, and their cubin. arch: that of an H100.
function device.needs(text, arch)
  local lib, program, n = device.nvrtc, ffi.new "void *[1]", ffi.new "size_t[1]"
  assert(lib.nvrtcCreateProgram(program, text, "kernels.cu", 0, nil, nil) == 0)
  local options = { "--gpu-architecture=" .. (arch or "sm_90"), "--fmad=false",
    "--ptxas-options=-v" }
  local ok = lib.nvrtcCompileProgram(program[0], #options, ffi.new("const char *[3]", options)) == 0
  local log, cubin = log_of(program[0])
  if ok and lib.nvrtcGetCUBINSize(program[0], n) == 0 then
    local s = ffi.new("char[?]", tonumber(n[0]))
    if lib.nvrtcGetCUBIN(program[0], s) == 0 then cubin = ffi.string(s, n[0]) end
  end
  lib.nvrtcDestroyProgram(program)
  if not ok then error(log, 2) end
  return log, cubin
end

--- PTX of a text of kernels, whose lines are counted without the prelude's.
function device.ptx(text, arch, whole)
  local lib, program, n = device.nvrtc, ffi.new "void *[1]", ffi.new "size_t[1]"
  local all = whole and text or device.prelude() .. "#line 1 \"kernels.cu\"\n" .. text
  assert(lib.nvrtcCreateProgram(program, all, "kernels.cu", 0, nil, nil) == 0)
  local options = { "--gpu-architecture=" .. (arch or "compute_90"), "--fmad=false", "-lineinfo" }
  local ok = lib.nvrtcCompileProgram(program[0], #options, ffi.new("const char *[3]", options)) == 0
  local log = log_of(program[0])
  if not ok then error(log, 2) end
  local code = options[1]:find "sm_" and "CUBIN" or "PTX"
  assert(lib["nvrtcGet" .. code .. "Size"](program[0], n) == 0)
  local s = ffi.new("char[?]", tonumber(n[0]))
  assert(lib["nvrtcGet" .. code](program[0], s) == 0)
  lib.nvrtcDestroyProgram(program)
  return ffi.string(s, n[0]), log
end

-- ---- the emulated CUDA device, or, where specs of devices run on CUDA, the card ----
local card = os.getenv "TEMPO_SPEC_DEVICE" == "cuda"
local emulator = B .. "/gpu/libcuda.so.1"
device.emulator = emulator
local findings = os.tmpname()
if card then device.cuda = ffi.load(os.getenv "TEMPO_CUDA" or "libcuda.so.1")
elseif file(emulator) then device.cuda = ffi.load(emulator) else device.cuda_why = emulator
  .. " is not built" end
local cuda = device.cuda

--- A fresh context with these words of TEMPO_EMU.
function device.open(words)
  cuda.cuDevicePrimaryCtxReset_v2(0)                 -- an error that stays ends with the context
  io.open(findings, "w"):close()
  C.setenv("TEMPO_EMU", "log=" .. findings .. (words and "," .. words or ""), 1)
  local c = ffi.new "void *[1]"
  assert(cuda.cuInit(0) == 0)
  assert(cuda.cuDevicePrimaryCtxRetain(c, 0) == 0)
  assert(cuda.cuCtxSetCurrent(c[0]) == 0)
end

--- The architecture that device 0 takes code for; the emulator takes PTX.
function device.arch()
  local name, a, b = ffi.new "char[99]", ffi.new "int[1]", ffi.new "int[1]"
  assert(cuda.cuDeviceGetName(name, 99, 0) == 0)
  if ffi.string(name):find "emulator" then return "compute_90" end
  assert(cuda.cuDeviceGetAttribute(a, 75, 0) == 0 and cuda.cuDeviceGetAttribute(b, 76, 0) == 0)
  return ("sm_%d"):format(10 * a[0] + b[0])
end

--- Returns what the emulator found since open.
function device.found() return file(findings) end

function device.module(ptx)
  local m, log = ffi.new "void *[1]", ffi.new "char[4000]"
  local e = cuda.cuModuleLoadDataEx(m, ptx, 2, ffi.new("int[2]", 5, 6),
    ffi.new("void *[2]", ffi.cast("void *", log), ffi.cast("void *", 4000)))
  if e ~= 0 then return nil, ffi.string(log), e end
  return m[0]
end
function device.kernel(m, name)
  local f = ffi.new "void *[1]"
  assert(cuda.cuModuleGetFunction(f, m, name) == 0, name)
  return f[0]
end
function device.take(bytes)
  local p = ffi.new "uint64_t[1]"
  local e = cuda.cuMemAlloc_v2(p, bytes)
  if e ~= 0 then return nil, e end
  return p[0]
end
--- Memory with the bytes of an array of C.
function device.given(array, bytes)
  bytes = bytes or ffi.sizeof(array)
  local p = assert(device.take(bytes))
  assert(cuda.cuMemcpyHtoD_v2(p, array, bytes) == 0)
  return p
end
--- Arguments: pointers of the device, and Lua numbers for int64_t. together: all blocks are there
--- at once.
function device.launch(f, blocks, threads, args, stream, together)
  local value, at = ffi.new("int64_t[?]", #args + 1), ffi.new("void *[?]", #args + 1)
  for i, v in ipairs(args) do
    value[i - 1] = v
    at[i - 1] = value + (i - 1)
  end
  if together then
    return cuda.cuLaunchCooperativeKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream, at)
  end
  return cuda.cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, stream, at, nil)
end

-- ---- OpenCL ----
-- Opened when it is asked for: pocl brings an LLVM, which takes a while.
local cl
function device.open_cl()
  local ok, lib = pcall(ffi.load, "libOpenCL.so.1")
  if not ok then return false, lib end
  cl = lib
  local p, d, e = ffi.new "void *[1]", ffi.new "void *[1]", ffi.new "int[1]"
  if cl.clGetPlatformIDs(1, p, nil) == 0
    and cl.clGetDeviceIDs(p[0], 0xffffffff, 1, d, nil) == 0 then
    device.cl_device = d
    device.cl_context = cl.clCreateContext(nil, 1, d, nil, nil, e)
    device.cl_queue = cl.clCreateCommandQueue(device.cl_context, d[0], 0, e)
    return true
  end
  return false, "no OpenCL device is here (Debian: pocl-opencl-icd)"
end

function device.cl_program(text)
  local e, all = ffi.new "int[1]", device.prelude() .. "#line 1 \"kernels.cu\"\n" .. text
  local p = cl.clCreateProgramWithSource(device.cl_context, 1, ffi.new("const char *[1]", { all }),
    nil, e)
  if cl.clBuildProgram(p, 1, device.cl_device,
    "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt", nil, nil) ~= 0 then
    local log = ffi.new "char[20000]"
    cl.clGetProgramBuildInfo(p, device.cl_device[0], 0x1183, 20000, log, nil)
    error(ffi.string(log), 2)
  end
  return p
end
function device.cl_given(array, bytes)
  local e = ffi.new "int[1]"
  local b = cl.clCreateBuffer(device.cl_context, 1, bytes or ffi.sizeof(array), nil, e)
  assert(e[0] == 0)
  assert(cl.clEnqueueWriteBuffer(device.cl_queue, b, 1, 0, bytes or ffi.sizeof(array), array, 0,
    nil, nil) == 0)
  return b
end
function device.cl_drop(list)
  for _, b in ipairs(list) do cl.clReleaseMemObject(b) end
end
function device.cl_read(b, array, bytes)
  assert(cl.clEnqueueReadBuffer(device.cl_queue, b, 1, 0, bytes or ffi.sizeof(array), array, 0, nil,
    nil) == 0)
end
function device.cl_launch(p, name, blocks, threads, args)
  local e = ffi.new "int[1]"
  local k = cl.clCreateKernel(p, name, e)
  assert(e[0] == 0, name)
  for i, v in ipairs(args) do
    local one = type(v) == "number" and ffi.new("int64_t[1]", v) or ffi.new("void *[1]", v)
    assert(cl.clSetKernelArg(k, i - 1, 8, one) == 0)
  end
  assert(cl.clEnqueueNDRangeKernel(device.cl_queue, k, 1, nil,
    ffi.new("size_t[1]", blocks * threads), ffi.new("size_t[1]", threads), 0, nil, nil) == 0)
  assert(cl.clFinish(device.cl_queue) == 0)
end

return device

-- Memory of the emulated device that runs out at each request of a call, and a device that is lost
-- at each launch: an error that says so, after which all functions run as if nothing had been.
local helper = require "spec.helper"

if not io.open("build/gpu/libcuda.so.1") then
  print "left out: failures of the emulated device: make gpu-emulator builds it"
  return
end

local program = [=[
  local tempo = require "tempo"
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 3 } })
  local h = P:tensor { domain = { t }, shape = { 3 } }
  h[0] = x
  h:otherwise(h[t - 1] * 2 + x)
  local w = P:input("w", { shape = { 40, 40 } })
  local out = { last = h[T - 1], w = w:matmul(h[0]:sum() + w) }
  local f = P:compile { outputs = out, device = "cuda" }
  local inputs = { x = tempo.array(1, "f32", { 4, 3 }), w = tempo.array(1, "f32", { 40, 40 }) }
  for turn = 1, 2 do
    local ok, got = pcall(f, inputs, { T = 4 })
    local why = tostring(got):gsub("^.-: ", "", 1):gsub("%d+", "N")
    print(ok and got.last:totable()[1] == 15 and "right" or why)
  end
  f:free()
  collectgarbage()]=]
describe("an emulated device without memory", function()
  it("is an error at each request, once", function()
    local failed, n = 0, 0
    repeat
      n = n + 1
      local said = helper.script(program, nil, ("export TEMPO_KERNELS=all TEMPO_EMU=alloc=%d "
        .. "TEMPO_CUDA=$PWD/build/gpu/libcuda.so.1; "):format(n))
      local first, second = said:match "^([^\n]*)\n([^\n]*)\n$"
      assert.equal("right", second, said)
      if first ~= "right" then
        failed = failed + 1
        local want = "memory: tempo emulator, which has N bytes, has no room for N more"
        assert.equal(want, first, said)
      end
    until first == "right"
    assert.truthy(failed >= 4, failed)
  end)
end)

local losing = [=[
  local tempo = require "tempo"
  local function made()
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { shape = { 300 } })
    local h = P:tensor { domain = { t }, shape = { 300 } }
    h[0] = x
    h:otherwise(h[t - 1] * 2)
    return P:compile { outputs = { last = h[T - 1], sum = h:sum() }, device = "cuda", tick = t }
  end
  local x, f, g = tempo.array(1, "f32", { 300 }), made(), made()
  local function say(...)
    local ok, got = pcall(...)
    local right = ok and got.last and got.last:get(7) == 16
    io.write(right and "right" or ok and "stepped" or tostring(got):match "%a+: (.*)", "\n")
  end
  local function step() return select(2, g:step {}) end
  g:start({ x = x }, { T = 5 })
  say(step)
  say(f, { x = x }, { T = 5 })
  say(step)
  say(f, { x = x }, { T = 5 })
  say(made(), { x = x }, { T = 5 })
  say(g, { x = x }, { T = 5 })]=]

describe("an emulated device that is lost", function()
  it("ends the runs that are on it; all functions begin anew", function()
    for n = 1, 9, 2 do
      local said = helper.script(losing, nil, ("export TEMPO_KERNELS=all TEMPO_EMU=launch=%d "
        .. "TEMPO_CUDA=$PWD/build/gpu/libcuda.so.1; "):format(n))
      local lost, rest = 0, {}
      for line in said:gmatch "[^\n]+" do
        rest[#rest + 1] = line
        if line:find "^tempo emulator is lost: cu%a+: CUDA_ERROR_LAUNCH_FAILED" then
          lost = lost + 1
        end
      end
      assert.truthy(lost == 1 or lost == 2, said)
      for i = 4, 6 do assert.equal("right", rest[i], said) end
    end
  end)
end)

-- NVRTC that refuses every text.
local refusing = [=[
  #include <string.h>
  int nvrtcVersion(int *a, int *b) { return *a = 13, *b = 0; }
  int nvrtcGetNumSupportedArchs(int *n) { return *n = 1, 0; }
  int nvrtcGetSupportedArchs(int *v) { return *v = 90, 0; }
  int nvrtcCreateProgram(void **p) { return *p = "", 0; }
  int nvrtcCompileProgram(void *p) { return 6; }
  int nvrtcGetProgramLogSize(void *p, size_t *n) { return *n = 60, 0; }
  int nvrtcGetProgramLog(void *p, char *s) {
    return strcpy(s, "kernels.cu(12): error: not this\nand more\n"), 0;
  }
  int nvrtcGetPTXSize(void) { return 6; }
  int nvrtcGetPTX(void) { return 6; }
  int nvrtcGetCUBINSize(void) { return 6; }
  int nvrtcGetCUBIN(void) { return 6; }
  int nvrtcDestroyProgram(void **p) { return 0; }
  const char *nvrtcGetErrorString(int rc) { return ""; }
]=]

describe("a kernel that the compiler refuses", function()
  it("is an error with the log's first line and the plan's positions; others run", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert(os.execute(("mkdir %s && cat > %s/rtc.c << 'END'\n%s\nEND\n"):format(folder, folder,
      refusing)))
    assert(os.execute(("cc -w -shared -fPIC -o %s/libnvrtc.so.13 %s/rtc.c"):format(folder, folder)))
    local said = helper.script([=[
      local tempo = require "tempo"
      local P = tempo.program()
      local x = P:input("x", { shape = { 3 } })
      for _, device in ipairs { "cuda", "cpu" } do
        local f = P:compile { outputs = { y = x:exp():sum() }, device = device }
        local ok, got = pcall(f, { x = { 0, 0, 0 } }, {})
        print(ok and got.y:item() == 3 and "right" or got)
      end]=], nil, ("export TEMPO_KERNELS=all TEMPO_CACHE=%s TEMPO_CUDA_LIBS=%s "
      .. "TEMPO_CUDA=$PWD/build/gpu/libcuda.so.1; "):format(folder, folder))
    os.execute("rm -rf " .. folder)
    assert.truthy(said:find("device: NVRTC refuses a kernel for tempo emulator: kernels.cu(12): "
      .. "error: not this\nthe kernels are of positions 0..0 of the plan\nright\n", 1, true), said)
  end)
end)

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

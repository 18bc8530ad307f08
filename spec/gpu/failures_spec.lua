-- Memory of the emulated device that runs out at each request of a call: an error that says so,
-- after which the same function runs, and ends, as if nothing had been.
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

-- Buffers that lie in the host's memory, where `memory =` or the device has no room for them: the
-- bits are those of a run that has room. On the tests' own libcuda and on OpenCL.
local helper = require "spec.helper"

local devices = helper.devices "buffers in the host's memory"

-- A recurrence of T matrices h and the gradient of what is made of all: 64 KB a step.
local program = [=[
  local tempo = require "tempo"
  local P = tempo.program()
  local t, T = P:dim "t"
  local x, y = P:input("x", { shape = { 64, 256 } }), P:input("y", { domain = { t } })
  local w = P:param("w", { shape = { 256 }, init = 0.9 })
  local h = P:tensor { domain = { t }, shape = { 64, 256 }, name = "h" }
  h[0] = x
  h:otherwise((h[t - 1] * w + x * y):tanh())
  local loss = (h * h):sum()[{ t = 0 .. T }]:sum()
  local f = P:compile { outputs = { loss = loss, g = tempo.grad(loss, { w })[1] },
    memory = tonumber(arg[1]) }
  local a, b = {}, {}
  for k = 1, 64 * 256 do a[k] = math.sin(k) end
  local n = tonumber(arg[2])
  for k = 1, n do b[k] = math.cos(k) end
  local inputs = { x = tempo.array(a, "f32", { 64, 256 }), y = tempo.array(b, "f32") }
  local ok, got = pcall(f, inputs, { T = n })
  if not ok then print(got) os.exit(0) end
  print(("%a"):format(got.loss:item()))
  for k = 0, 255 do io.write(("%a "):format(got.g:get(k))) end
  print("\n" .. f:explain "kernels")]=]

local function on(words, memory, steps)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(program)
  file:close()
  local out = helper.lua(("%s %s %d"):format(path, memory, steps), nil,
    "export TEMPO_PIECE=1000000 TEMPO_KERNELS=all " .. words .. "; ")
  os.remove(path)
  return out:match "^([^\n]*\n[^\n]*)", out
end

for name, words in pairs(devices) do
  describe("buffers in the host's memory beside " .. name, function()
    it("change no bit, and are no more than must be", function()
      local want, all = on(words, "-", 12)
      assert.falsy(all:find("in the host's memory", 1, true))
      local bytes = {}
      for k, memory in ipairs { 700000, 300000 } do
        local got, said = on(words, memory, 12)
        assert.equal(want, got)
        bytes[k] = tonumber(said:match "(%d+) bytes of buffers in the host's memory")
      end
      assert.is_true(bytes[1] <= bytes[2], bytes[1] .. ", " .. bytes[2])
      assert.is_true(bytes[2] >= 12 * 65536)
    end)

    it("hold all that may lie there", function()
      for _, of in ipairs(name == "cuda" and { "sums", "adam", "epochs" } or { "sums" }) do
        local function run(more)
          local out = helper.lua(("spec/gpu_rows.lua %s %s 5 7 - 2"):format(name, of), more
            .. "TEMPO_PIECE=1000000 " .. words:gsub("TEMPO_DEVICE=%w+", "TEMPO_DEVICE="))
          local lines = {}
          for line in out:gmatch "%l+ %-?0x[^\n]*" do lines[#lines + 1] = line end
          table.sort(lines)
          return lines
        end
        assert.same(run "", run "TEMPO_SPILL=1 ")
      end
    end)
  end)
end

describe("a device that is too small", function()
  if not devices.cuda or helper.device == "cuda" then return end -- the emulator says how much
  local small = devices.cuda .. "TEMPO_EMU=unwatched,memory="

  it("leaves buffers to the host's memory", function()
    local want = on(devices.cuda, "-", 40)
    local got, said = on(small .. 2, "-", 40)
    assert.equal(want, got)
    assert.truthy(said:find("in the host's memory, of which a call moves", 1, true))
  end)

  it("refuses what cannot lie there", function()
    local text = on(small .. 0, "-", 3)
    assert.truthy(text:find("^[^\n]*memory: "), text)
    local limited = on(devices.cuda, 100, 3)
    assert.truthy(limited:find("^[^\n]*memory: these bounds need %d+ bytes on"), limited)
  end)
end)

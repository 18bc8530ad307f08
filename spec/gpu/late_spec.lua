-- Functions of the host beside a device, and its memory: what is called, in which order and with
-- which values is the interpreter's; a program that has no room says so. On the tests' own libcuda,
-- which does its work as late as it may, and on OpenCL.
local helper = require "spec.helper"

local devices = helper.devices "functions of the host beside a device"

local function on(words, text)
  return helper.script(text, nil, "export TEMPO_KERNELS=all " .. words .. "; ")
end

-- Rows of a weight that grows; MORE stands in the program, n iterations.
local function program(n, more, after)
  return ([=[
    local tempo = require "tempo"
    local P = tempo.program()
    local i = P:dim "i"
    local x = P:input("x", { shape = { 6 } })
    local w = P:param("w", { along = { i }, shape = { 6 }, init = 0 })
    local y = w + x
    local inputs = { x = tempo.array({ 1, 2, 3, 4, 5, 6 }, "f32") }
    w:update(y)
    %s
    local f = P:compile { outputs = { all = y } }
    local ok, got = pcall(f, inputs, { I = %d })
    print(ok and got.all:totable()[%d][6] or (got:gsub("^.-: ", "", 1):match "^[^\n]*"))
    %s]=]):format(more, n, n, after or "")
end

local sinks = [=[
    P:sink({ y }, function(v, at) print("y", at.i, v[1]:totable()[2]) end)
    P:sink({ (y * y):sum() }, function(v, at) print("s", at.i, v[1]:item()) end)]=]
local source = sinks .. [=[
    local z = P:source(function(at) print("z", at.i) return at.i end, { domain = { i } })
    P:sink({ z + y:sum() }, function(v, at) print("+", at.i, v[1]:item()) end)]=]

for name, words in pairs(devices) do
  describe("functions of the host beside " .. name, function()
    it("are called in the program's order, behind the device", function()
      for _, more in ipairs { sinks, source } do
        assert.equal(on("TEMPO_DEVICE=cpu", program(9, more)), on(words, program(9, more)))
      end
    end)

    it("cause no copy in an iteration", function()
      local function copies(n)
        local said = on(words, program(n, sinks, 'print(f:explain "kernels")'))
        assert.truthy(said:find(2 * n .. " calls behind the device", 1, true), said)
        return said:match "(%d+) copies of"
      end
      assert.equal(copies(9), copies(29))
    end)

    it("may fail; none that is behind is called then", function()
      local more = sinks .. [=[
        P:sink({ y:sum() }, function(v, at) assert(at.i < 3, "no more") end)]=]
      assert.equal(on("TEMPO_DEVICE=cpu", program(9, more)), on(words, program(9, more)))
    end)

    it("are not called after a fault, but all before it are", function()
      local more = sinks .. [=[
        local k = P:input("k", { domain = { i }, dtype = "i64" })
        P:sink({ (k * 0 + 7):floordiv(k) }, function(v, at) print("//", at.i, v[1]:item()) end)
        inputs.k = tempo.array({ 1, 2, 3, 4, 5, 0, 7, 8, 9 }, "i64")]=]
      assert.equal(on("TEMPO_DEVICE=cpu", program(9, more)), on(words, program(9, more)))
    end)

    it("take all of a window that goes backwards, or lies apart", function()
      local more = [=[
        P:sink({ y:flip(0), y:reshape { 2, 3 }:permute(1, 0) }, function(v, at)
          print(table.concat(v[1]:totable(), " "), table.concat(v[2]:totable()[3], " "))
        end)]=]
      assert.equal(on("TEMPO_DEVICE=cpu", program(5, more)), on(words, program(5, more)))
    end)
  end)
end

local large = [=[
  local tempo = require "tempo"
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { shape = { 256, 256 } })
  local h = P:tensor { domain = { t }, shape = { 256, 256 }, name = "h" }
  h[0] = x
  h:otherwise((h[t - 1] * 0.5 + x):tanh())
  local all = P:compile { outputs = { s = (h[0 .. T]:sum(0) * h[T - 1]):sum(), h = h } }
  local inputs = { x = tempo.array(1, "f32", { 256, 256 }) }
  for _, steps in ipairs { %s } do
    local ok, got = pcall(all, inputs, { T = steps })
    print(ok and "right" or got)
  end]=]
describe("a sink that cancels", function()
  it("ends the step that it belongs to, be it the last of a tick or behind the device", function()
    local want
    for _, words in pairs { "TEMPO_DEVICE=cpu ", devices.cuda, devices.opencl } do
      local got = on(words, [=[
        local tempo = require "tempo"
        local P = tempo.program()
        local i = P:dim "i"
        local x = P:input("x", { domain = { i } })
        local f
        P:sink({ x * 2 }, function(_, p) return p.i == 2 and f:cancel() end)
        f = P:compile { outputs = { y = x + 1 }, tick = i }
        f:start({}, { I = 6 })
        for k = 1, 4 do
          local ok, done, out = pcall(f.step, f, { x = k })
          print(ok, ok and done, ok and out.cancelled, ok and out.y and out.y:item())
        end]=])
      want = want or got
      assert.equal(want, got)
      assert.equal("true false nil 2\ntrue false nil 3\ntrue true true 4\nfalse false false false\n",
        (got:gsub("\t", " "):gsub("%.0", "")))
    end
  end)
end)

describe("a device without room for a program", function()
  if not devices.cuda or helper.device == "cuda" then return end -- the emulator says how much
  local function said(steps, memory)
    return on(devices.cuda .. "TEMPO_EMU=unwatched,memory=" .. memory, large:format(steps))
  end

  it("is an error before the first step, with what it takes, by name, and what would do", function()
    local text = said("100, 3", 8)
    local need, left = text:match
      "memory: these bounds need (%d+) bytes on tempo emulator, which has (%d+) left"
    assert.equal(8 * 2^20, tonumber(left), text)
    assert.truthy(tonumber(need) > 100 * 256 * 256 * 4, text)
    assert.truthy(text:find("26214400 of them for output 'h'", 1, true), text)
    assert.truthy(text:find("\nright\n$"), text)
    local most = tonumber(text:match "T = (%d+) would do in place of 100")
    assert.truthy(most and said(most, 8) == "right\n", text)
  end)

  it("counts what an earlier call has taken", function()
    assert.equal("right\nright\nright\n", said("20, 21, 20", 9))
  end)
end)

-- Folds of many rows by groups of a block's threads, a row each: the interpreter's bits, for rows
-- that end within a part or a group, on the tests' own libcuda, which finds threads that race, and
-- on OpenCL.
local helper = require "spec.helper"

local program = [=[
  local tempo = require "tempo"
  local helper = require "spec.helper"
  local all = { f32 = { { 70, 100 }, { 33, 2049 } }, i32 = { { 3, 4, 1100 } } }
  if os.getenv "ON" == "opencl" then all = { f32 = { { 20, 1100 } } } end    -- pocl compiles long
  for dtype, shapes in pairs(all) do
    for _, shape in ipairs(shapes) do
      local P, n = tempo.program(), #shape - 1
      local t, T = P:dim "t"
      local x = P:input("x", { shape = shape, dtype = dtype })
      local y = P:input("y", { domain = { t }, shape = { 20 }, dtype = dtype })
      local out = { sum = x:sum(n), most = x:max(n), twice = (x * x + x):sum(n) + x:sum(n),
        ways = y[0 .. T]:permute(1, 0):sum(1), both = (x * 2):sum({ 0, n }) }
      if dtype == "f32" then
        out.soft, out.product = x:softmax(n), x:prod(n)
        local kept = { keepdim = true }
        out.norm = (x - x:mean(n, kept)) / x:square():sum(n, kept):sqrt()
      end
      local r = helper.rng(3)
      local function number() return dtype == "i32" and r(9) - 4 or r() end
      local inputs = { x = helper.array(helper.numbers(shape, number), dtype, shape),
        y = helper.array(helper.numbers({ 130, 20 }, number), dtype, { 130, 20 }) }
      local got, want, text = {}, {}, nil
      for k, device in ipairs { "cpu", os.getenv "ON" } do
        local f = P:compile { outputs = out, device = device, tier = "interpreter" }
        got[k], text = f(inputs, { T = 130 }), f:explain "kernels"
      end
      for name in pairs(out) do
        local d = helper.differ(helper.plain(got[1][name]), helper.plain(got[2][name]), 0, name)
        if d then print("differs", dtype, shape[1], d) end
      end
      print(text:match "on the host: [^\n]*" or "all on the device")
    end
  end]=]

-- In a loop a thread has a row; it makes some lanes at once.
local loop = [=[
  local tempo = require "tempo"
  local helper = require "spec.helper"
  for _, n in ipairs(os.getenv "ON" == "opencl" and { 100 } or { 20, 64, 1100 }) do
    local P = tempo.program()
    local t, T = P:dim "t"
    local x = P:input("x", { shape = { 12, n } })
    local h = P:tensor { domain = { t }, shape = { 12 } }
    local u = x * tempo.prev(h, t, 1):unsqueeze(1)
    h:otherwise(u:sum(1) * 0.01 + (u * u + x):max(1) + (u + 1):prod(1) * 1e-3)
    local r = helper.rng(3)
    local numbers = helper.numbers({ 12, n }, function() return r() * 0.1 end)
    local a = helper.array(numbers, "f32", { 12, n })
    local got, text = {}, nil
    for k, device in ipairs { "cpu", os.getenv "ON" } do
      local f = P:compile { outputs = { h = h }, device = device, tier = "interpreter" }
      got[k], text = f({ x = a }, { T = 4 }), f:explain "kernels"
    end
    local d = helper.differ(helper.plain(got[1].h), helper.plain(got[2].h), 0, "h")
    print(d or text:match "loop %d+" and "same")
  end]=]

local devices = helper.devices "folds of many rows"
describe("folds of many rows", function()
  for name, words in pairs(devices) do
    it("have the interpreter's bits on " .. name, function()
      local said = helper.script(program, nil,
        ("export ON=%s TEMPO_DUMP=kernels TEMPO_KERNELS=leaves %s TEMPO_DEVICE=; ")
          :format(name, words))
      assert.truthy(said:find "TP_ROW_JOIN%(double, ADD")
      assert.falsy(said:find "differs", said:match "differs[^\n]*")
      local parts = name == "cuda" and 3 or 1
      assert.equal(parts, select(2, said:gsub("\nall on the device", "")))
    end)
    it("have them in a loop on " .. name, function()
      local said = helper.script(loop, nil,
        ("export ON=%s TEMPO_KERNELS=all %s TEMPO_DEVICE=; "):format(name, words))
      assert.equal(("same\n"):rep(name == "cuda" and 3 or 1),
        (said:gsub("1 warning generated.\n", "")))
    end)
  end
end)

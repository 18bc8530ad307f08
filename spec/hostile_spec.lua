-- Scripts that free, close, collect and record at the worst moment: out of callbacks, metamethods
-- and finalizers. Each gets an error in order, and everything stays usable.
local tempo = require "tempo"
local helper = require "spec.helper"

-- Makes an object that runs `handler` when the collector finds it.
local function finalized(handler)
  local proxy = rawget(_G, "newproxy")
  if not proxy then return setmetatable({}, { __gc = handler }) end
  local p = proxy(true)
  getmetatable(p).__gc = handler
  return p
end

local function doubled(callback, ticks)
  local P = tempo.program()
  local t = P:dim "t"
  local x = P:input("x", { domain = { t } })
  local y = callback and P:call(callback, { x }, { { domain = { t } } }) or x * 2
  return P:compile { outputs = { y = y }, tick = ticks and t or nil }, P, x, t
end

local function asked(handler) return setmetatable({}, { __index = handler }) end
local inputs, bounds = { x = { 1, 2, 3 } }, { T = 3 }

describe("a function", function()
  it("cannot be freed, closed or finalized by a callback of its own run", function()
    for _, key in ipairs { "free", "__close", "__gc" } do
      local f
      local function free() (key == "free" and f.free or getmetatable(f)[key])(f) end
      f = doubled(function() free() return 1 end)
      helper.fails(function() f(inputs, bounds) end, "option", key .. ": this function is running")
      f = doubled(function() return pcall(free) and 0 or 1 end)
      assert.same({ 1, 1, 1 }, f(inputs, bounds).y:totable())
      f = doubled(function() return coroutine.resume(coroutine.create(free)) and 0 or 1 end)
      assert.same({ 1, 1, 1 }, f(inputs, bounds).y:totable())
      free()
      free()
      assert.equal("tempo.Function (freed)", tostring(f))
    end
  end)

  it("cannot be freed or started while its arguments are read", function()
    for _, tick in ipairs { false, true } do
      local f = doubled(nil, tick)
      helper.fails(function()
        f(asked(function() f:free() end), bounds)
      end, "option", "free: this function is running")
      helper.fails(function()
        f(asked(function() f(inputs, bounds) end), bounds)
      end, "option", "already running")
      helper.fails(function()
        f:explain("work", asked(function() f:free() end))
      end, "bound", "'T' is missing")
      assert.same({ 2, 4, 6 }, f(inputs, bounds).y:totable())
    end
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t }, shape = { P:bound "N" } })
    local f = P:compile { outputs = { y = x * 2 }, tick = t }
    f:start({}, { T = 3, N = 2 })
    local function step(act)
      return function() f:step(asked(function() act() return { 1, 2 } end)) end
    end
    helper.fails(step(function() f:start({}, { T = 3, N = 1000 }) end), "option", "already running")
    helper.fails(step(function() f:step { x = { 1, 2 } } end), "option", "already running")
    helper.fails(step(function() f:free() end), "option", "free: this function is running")
    local _, out = f:step { x = { 1, 2 } }
    assert.same({ 2, 4 }, out.y:totable())
  end)

  it("gives its parameters whatever finalizers free meanwhile", function()
    local P = tempo.program()
    local t = P:dim "t"
    local w = P:param("w", { along = { t }, init = 1 })
    w:update(w * 2)
    for _ = 1, 20 do
      local f = P:compile { outputs = { w = w } }
      f({}, { T = 2 })
      finalized(function() pcall(f.free, f) end)
      pcall(function()
        for _ = 1, 300 do assert.equal(4, f:params().w:item()) end
      end)
    end
  end)
end)

describe("finalizers called by hand", function()
  it("look at what they are given", function()
    local f, P, x = doubled()
    for _, object in ipairs { f, tempo.array { 1 } } do
      local gc = getmetatable(object).__gc
      for _, other in ipairs { 3, "x", {}, io.stdout, x, print, P } do
        helper.fails(function() gc(other) end, "option", "expected tempo.")
      end
      helper.fails(function() gc() end, "option", "got nothing")
    end
  end)

  it("free no program that is in use", function()
    local f, P, x = doubled()
    assert.is_nil(getmetatable(P).__gc)
    assert.truthy(tostring(x):find "tempo.Tensor")
    assert.same({ 2, 4, 6 }, f(inputs, bounds).y:totable())
  end)

  it("free an array any number of times", function()
    local a = tempo.array { 1, 2 }
    getmetatable(a).__gc(a)
    a:free()
    helper.fails(function() a:totable() end, "option", "freed")
  end)
end)

describe("a finalizer", function()
  it("may free an array that is being read", function()
    for _ = 1, 20 do
      local a = tempo.array(1, "f64", { 100, 100 })
      finalized(function() a:free() end)
      local ok, rows = pcall(a.totable, a)
      if ok then assert.equal(1, rows[100][100]) end
      finalized(function() a:free() end)
      pcall(function()
        for k = 0, 99 do assert.equal(1, a[k]:get(99)) end
      end)
      pcall(function()
        for _ = 1, 100 do assert.same({ 100, 100 }, a:shape()) end
      end)
    end
  end)

  it("may use a program that dies with it, and is told that it is gone", function()
    local got = {}
    local function make()
      local f, P, x, t = doubled()
      finalized(function()
        local made = { pcall(function() return x + 1 end), pcall(f, inputs, bounds),
          pcall(function() return t + 5 end),
          pcall(function()
            return P:input("z", { domain = { t } })
          end), pcall(function() return x:program() end) }
        got[#got + 1] = made
      end)
    end
    for _ = 1, 5 do
      make()
      collectgarbage()
      collectgarbage()
    end
    assert.truthy(#got > 0)
  end)
end)

describe("a table", function()
  it("that holds itself, or is nested too deep, is refused", function()
    local s = {}
    s[1] = s
    for _, f in ipairs { tempo.cat, tempo.stack } do
      helper.fails(function() f(s, 0) end, "shape", "nested more than")
    end
    helper.fails(function() tempo.zeros(s) end, "shape", "nested more than")
    helper.fails(function() tempo.einsum("i->i", s) end, "shape", "nested more than")
    helper.fails(function() tempo.array(s) end, "shape", "nested more than")
    local deep = 1
    for _ = 1, 5000 do deep = { deep } end
    helper.fails(function() tempo.cat(deep, 0) end, "shape", "nested more than")
  end)

  it("of inputs may record while peek reads it, and is refused", function()
    local _, P, x, t = doubled()
    local n = 0
    local function more()
      for _ = 1, 100 do
        n = n + 1
        P:input("z" .. n, { domain = { t } })
        P:dim("d" .. n)
      end
      return { 1, 2, 3 }
    end
    helper.fails(function()
      x:peek { inputs = asked(more), bounds = bounds, at = { t = 1 } }
    end, "option", "peek")
    assert.equal(2, x:peek { inputs = inputs, bounds = bounds, at = { t = 1 } }:item())
  end)
end)

describe("the iterator of rows", function()
  it("stays inside of its array whatever it is given", function()
    local next_row, a = tempo.array({ { 1, 2 }, { 3, 4 } }):rows()
    assert.is_nil((next_row(a, -100)))
    assert.is_nil((next_row(tempo.array(1), -1)))
    assert.equal(1, (next_row(a, 0)))
  end)
end)

describe("a script that unrolls a loop", function()
  local text = [[
    local tempo = require "tempo"
    tempo.warn = function() end
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local y = x
    for _ = 1, N do y = y * 0.5 + 1 end
    local g = tempo.grad(y, { x })[1]
    local out = P:compile { outputs = { y = y, g = N < 2000 and g or nil }, tier = TIER } ({ x = { 2, 4 } }, { T = 2 })
    print(("%g"):format(out.y:totable()[2]))
  ]]
  local function run(n, tier, settings)
    return helper.script(text:gsub("%f[%w]N%f[%W]", n):gsub("%f[%w]TIER%f[%W]",
      ("%q"):format(tier)), nil, settings)
  end

  for _, tier in ipairs { "reference", "interpreter" } do
    it("10,000 times needs no stack for it, on the " .. tier, function()
      assert.equal("2\n", run(10000, tier, "ulimit -s 2048; "))            -- 200 bytes each
    end)
    it("1,000 times, gradients included, fits into a stack of 256 KiB, on the " .. tier, function()
      assert.equal("2\n", run(1000, tier, "ulimit -s 256; "))
    end)
  end
end)

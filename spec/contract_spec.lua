-- docs/language.md, sections 1 to 3, sentence by sentence where the other specs leave a gap.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails, same = helper.fails, helper.same

describe("sizes beyond 64 bits", function()
  local P, t, T

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
  end)

  it("leave the program usable", function()
    fails(function() return (t * 2 ^ 62) * 4 end, "affine", "64 bits")
    assert.equal("t + 1", tostring(t + 1))
    local x = P:input("x", { domain = { t } })
    same({ 1, 3 }, helper.value(P, x[0 .. t + 1]:sum(0), { x = { 1, 2 } }, { T = 2 }))
  end)

  it("are errors in shapes too", function()
    local x = P:input("x", { shape = { 2 ^ 40 * T, 2 ^ 40 } })
    fails(function() return (x:flatten()) end, "affine", "64 bits")
    assert.equal("t + 1", tostring(t + 1))
  end)

  it("in a plan say nothing about what is recorded next", function()
    for _, tier in ipairs(helper.tiers) do
      local f = P:compile { outputs = { y = tempo.zeros { 2 ^ 40, 2 ^ 40 } + T }, tier = tier }
      fails(function() f({}, { T = 1 }) end, "memory")
      assert.same({ 3 }, tempo.zeros({ 3 }, { domain = { t } }):shape())
    end
  end)
end)

describe("ranges", function()
  it("take no arithmetic, no comparison and no length", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local r = 0 .. t
    fails(function() return r % 2 end, "option", "range")
    fails(function() return r ^ 2 end, "option", "range")
    fails(function() return r < (0 .. T) end, "option", "range")
    fails(function() return r <= (0 .. T) end, "option", "range")
    if not jit then fails(function() return #r end, "option", "range") end
  end)

  it("of numbers are integral", function()
    fails(function() return (tempo.range(0, 2.5)) end, "affine", "t:value()")
    fails(function() return (tempo.min(0.5, 2)) end, "affine", "t:value()")
  end)
end)

describe("the largest of no integers", function()
  local P, t, T, x

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
    x = P:input("x", { domain = { t }, dtype = "i64" })
  end)

  local function each(y, f)
    for _, tier in ipairs(helper.tiers) do f(P:compile { outputs = { y = y }, tier = tier }) end
  end

  it("is an error in every tier", function()
    for _, name in ipairs { "max", "min", "argmax", "argmin" } do
      each(x[0 .. t][name](x[0 .. t], 0), function(f)
        fails(function() f({ x = { 3, 4 } }, { T = 2 }) end, "input", name, "empty range")
      end)
      each(x[0 .. T][name](x[0 .. T], 0), function(f)
        fails(function() f({ x = {} }, { T = 0 }) end, "input", name, "empty range")
        assert.equal(name:find "arg" and (name == "argmax" and 1 or 0)
          or (name == "max" and 4 or 3), f({ x = { 3, 4 } }, { T = 2 }).y:item())
      end)
    end
  end)

  it("is none where the range is never empty", function()
    same({ 3, 4 }, helper.value(P, x[0 .. t + 1]:max(0), { x = { 3, 4 } }, { T = 2 }))
    same({ 3, 3 },
      helper.value(P, x[tempo.max(t - 3, 0) .. t + 1]:min(0), { x = { 3, 4 } }, { T = 2 }))
  end)
end)

describe("bad inputs", function()
  it("are named as inputs", function()
    local P = tempo.program()
    local t = P:dim "t"
    local f = P:compile { outputs = { y = P:input("x", { domain = { t } }) * 2 } }
    fails(function() f({ x = { "a" } }, { T = 1 }) end, "input 'x'", "a string")
    fails(function() f({ x = { { 1, 2 }, { 3 } } }, { T = 2 }) end, "input 'x'", "ragged")
    same({ 2 }, f({ x = { 1 } }, { T = 1 }).y)
  end)
end)

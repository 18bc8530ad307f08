-- docs/language.md, section 1: dims, bounds, index expressions, conditions, ranges, and Lua's
-- traps.
local tempo = require "tempo"
local helper = require "spec.helper"
local fails = helper.fails

describe("dims and bounds", function()
  it("come in pairs", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local i, N = P:dim("i", "N")
    assert.equal("t", tostring(t))
    assert.equal("T", tostring(T))
    assert.equal("i", tostring(i))
    assert.equal("N", tostring(N))
    assert.equal(T, t:upper())
    assert.equal(N, i:upper())
    assert.equal("W", tostring(P:bound "W"))
  end)

  it("refuse a name that is taken", function()
    local P = tempo.program()
    P:dim "t"
    fails(function() P:dim "t" end, "option", "'t'")
    fails(function() P:bound "T" end, "option", "'T'")
    fails(function() P:dim "1t" end, "option", "1t")
    fails(function() P:dim() end, "option", "string")
  end)

  it("have an upper only if they are dims", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    fails(function() return (T:upper()) end, "option", "'T'")
    fails(function() return ((t + 1):upper()) end, "option")
  end)
end)

describe("index expressions", function()
  local P, t, T, i

  before_each(function()
    P = tempo.program()
    i = P:dim "i"
    t, T = P:dim "t"
  end)

  it("are made by + - * and unary minus", function()
    assert.equal("t + 1", tostring(t + 1))
    assert.equal("t + 1", tostring(1 + t))
    assert.equal("t - 1", tostring(t - 1))
    assert.equal("2*t + 3", tostring(t * 2 + 3))
    assert.equal("T - 1", tostring(T - 1))
    assert.equal("0", tostring(t - t))
    assert.equal(-t + 5, 5 - t)
  end)

  it("are the same object when they are equal", function()
    assert.equal(t + 1, 1 + t)
    assert.equal(2 * t, t + t)
    assert.equal(t, t + 3 - 3)
    assert.equal(tempo.min(t, T), tempo.min(T, t))
    assert.is_false(t + 1 == t + 2)
    assert.is_false(rawequal(t, i))
  end)

  it("have // and % by positive integers, as functions too", function()
    assert.equal(tempo.floordiv(t, 2), t:floordiv(2))
    assert.equal(tempo.mod(t, 2), t:mod(2))
    assert.equal(t % 3, t:mod(3))
    assert.equal("t//2", tostring(t:floordiv(2)))
    assert.equal(t + 1, (4 * t + 4):floordiv(4))
    assert.equal(t, t:floordiv(1))
    if not jit then
      local f = load "local t = ... return t // 2"
      assert.equal(t:floordiv(2), f(t))
    end
    assert.equal(3, tempo.floordiv(7, 2))
    assert.equal(-4, tempo.floordiv(-7, 2))
    assert.equal(1, tempo.mod(-7, 2))
    fails(function() return (t:floordiv(0)) end, "affine")
    fails(function() return t % -2 end, "affine")
    fails(function() return t % T end, "affine", "t:value()")
  end)

  it("have min and max", function()
    assert.equal("min(t + 10, T - 1)", tostring(tempo.min(t + 10, T - 1)))
    assert.equal(3, tempo.min(5, 3))
    assert.equal(5, tempo.max(5, 3, 4))
    assert.equal(t + 1, tempo.max(t, t + 1))
  end)

  it("count integral doubles as integers", function()
    assert.equal(t + 2, t + 2.0)
    assert.equal(t + 2, t + 4 / 2)
  end)

  it("allow products as sizes", function()
    assert.equal("i*t", tostring(t * i))
    assert.equal(t * T, T * t)
  end)

  it("do not mix programs", function()
    local u = tempo.program():dim "u"
    fails(function() return t + u end, "option", "two programs")
  end)

  it("have methods, and say which", function()
    fails(function() return (t:flordiv(2)) end, "option", "flordiv", "floordiv")
    fails(function() return t.x end, "option")
    fails(function() t.x = 1 end, "option")
  end)
end)

describe("conditions", function()
  local P, t, T

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
  end)

  it("come from methods", function()
    for name, text in pairs { eq = "t == T - 1", ne = "t != T - 1", lt = "t <= T - 2", le = "t < T",
      gt = "t >= T", ge = "t >= T - 1" } do
      assert.equal(t[name](t, 3), t[name](t, 3))
      assert.equal(text, tostring(t[name](t, T - 1)))
    end
    assert.equal(t:ge(1), t:gt(0))
    assert.equal(t:lt(3), t:ge(3):lnot())
    assert.equal("(t == 9 or (t <= 2 and t >= 1))", tostring(t:ge(1):land(t:lt(3)):lor(t:eq(9))))
  end)

  it("are no index expressions", function()
    local x = P:input("x", { domain = { t } })
    fails(function() return t:lt(3) + 1 end, "option", "condition")
    fails(function() return x[t:lt(3)] end, "option", "condition")
    fails(function() return (t:land(t:lt(3))) end, "option", "t:eq(k)")
  end)
end)

describe("values of index expressions", function()
  it("are i64 scalars", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    assert.equal("i64", t:value():dtype())
    assert.same({}, t:value():shape())
    assert.equal("bool", t:lt(3):value():dtype())
    assert.same({ 0, 1, 2 }, helper.value(P, t:value(), {}, { T = 3 }))
    assert.same({ 3, 4, 5 }, helper.value(P, t + T, {}, { T = 3 }))
    assert.same({ true, false, false }, helper.value(P, t:eq(0), {}, { T = 3 }))
    assert.equal(6, helper.value(P, (T * 2):value(), {}, { T = 3 }))
  end)

  it("are taken where a tensor is wanted", function()
    local P = tempo.program()
    local t = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local inputs, bounds = { x = { 1, 2, 4 } }, { T = 3 }
    helper.same({ 1, 3, 6 }, helper.value(P, x + t, inputs, bounds))
    helper.same({ 1, 3, 6 }, helper.value(P, t + x, inputs, bounds))
    helper.same({ 0, 0.5, 0.5 }, helper.value(P, t / x, inputs, bounds))
    helper.same({ 1, 1, 2 }, helper.value(P, tempo.where(t:lt(1), x, x:div(2)), inputs, bounds))
    assert.same({ true, true, true }, helper.value(P, t:lt(x), inputs, bounds))
    assert.equal("f32", (x + t):dtype())
  end)
end)

describe("ranges", function()
  it("are made by '..' with a symbolic end and by tempo.range", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    assert.equal("0 .. t + 1", tostring(0 .. t + 1))
    assert.equal("t .. T", tostring(t .. T))
    assert.equal("t .. 9", tostring(t .. 9))
    assert.equal("2 .. 5", tostring(tempo.range(2, 5)))
    assert.equal("t .. T", tostring(tempo.range(t, T)))
  end)

  it("have affine ends", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local _, N = P:dim "n"
    fails(function() return t .. N * T end, "affine")
    fails(function() return (tempo.range(0.5, t)) end, "affine", "t:value()")
  end)
end)

describe("Lua's traps", function()
  local P, t, T, x

  before_each(function()
    P = tempo.program()
    t, T = P:dim "t"
    x = P:input("x", { domain = { t } })
  end)

  it("2 .. 5 is a string", function()
    fails(function() return x[2 .. 5] end, "option", "did you mean tempo.range(2, 5)?")
    fails(function() return x[0 .. 10] end, "did you mean tempo.range(0, 10)?")
    fails(function() return x[{ t = 2 .. 5 }] end, "did you mean tempo.range(2, 5)?")
    fails(function() return x[{ 2 .. 5 }] end, "did you mean tempo.range(2, 5)?")
    local h = P:tensor { domain = { t } }
    fails(function() h[0 .. 3] = 1 end, "did you mean tempo.range(0, 3)?")
  end)

  it("comparisons give Lua booleans", function()
    fails(function() return t < T end, "option", "write t:lt(T)")
    fails(function() return t <= T end, "option", "write t:le(T)")
    if not jit then             -- LuaJIT itself refuses to compare a userdata and a number
      fails(function() return t < 3 end, "option", "write t:lt(3)")
      fails(function() return t <= 3 end, "option", "write t:le(3)")
      fails(function() return t > 3 end, "option", "write t:gt(3)")
      fails(function() return t >= 3 end, "option", "write t:ge(3)")
    end
    fails(function() return x < x end, "option", "a:lt(b)")
    fails(function() return x <= x end, "option", "a:le(b)")
    assert.is_false(t == 3)
  end)

  it("'..' with a string or a range", function()
    fails(function() return "t = " .. t end, "option", "tostring(t)")
    fails(function() return (t .. "") end, "option")
    fails(function() return (0 .. t) .. T end, "option", "range")
    fails(function() return 0 .. t .. T end, "option", "range")
    fails(function() return "x = " .. x end, "option", "tostring(x)")
    fails(function() return 0 .. x end, "option", "index_select")
  end)

  it("#t", function()
    fails(function() return #t end, "option")
    fails(function() return #x end, "option")
  end)

  it("/, ^ and fractions", function()
    fails(function() return t / 2 end, "affine", "t:value()")
    fails(function() return 2 / t end, "affine", "t:value()")
    fails(function() return t ^ 2 end, "affine", "t:value()")
    fails(function() return t + 0.5 end, "affine", "t:value()")
    fails(function() return t * 1e300 end, "affine")
  end)

  it("a product as an index", function()
    local i = P:dim "i"
    fails(function() return x[t * i] end, "affine", "not affine")
    fails(function() return x[0 .. t * i] end, "affine", "not affine")
    fails(function() return x[{ t = t * t }] end, "affine", "not affine")
  end)

  it("tensors in tempo.min", function()
    fails(function() return (tempo.min(x, 1)) end, "option", "tempo.minimum", "x:min()")
    fails(function() return (tempo.max(t, x)) end, "option", "tempo.maximum", "x:max()")
  end)

  it("a bound in a domain", function()
    fails(function()
      return (P:input("y", { domain = { P:dim "i" } }))
    end, "option", "'I' is a bound")
    fails(function() return (P:tensor { domain = { t + 1 } }) end, "option", "t + 1")
    fails(function() return (P:tensor { domain = t }) end, "option", "{t}")
  end)

  it("a tensor as an index", function()
    fails(function() return x[x] end, "affine", "index_select")
  end)
end)

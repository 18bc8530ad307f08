-- Random numbers are those of docs/random.md, whatever runs the program.
local tempo = require "tempo"
local S = require "spec.support"
local helper = require "spec.helper"
local num = require "spec.numbers"
local philox = require "spec.philox"

local uniform, uniform64, normal, randint = philox.uniform, philox.uniform64, philox.normal, philox.randint

describe("the specs' Philox", function()
  it("has Random123's known answers", function()
    assert.same({ 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 }, philox.philox({ 0, 0, 0, 0 }, { 0, 0 }))
    local f = 0xffffffff
    assert.same({ 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd }, philox.philox({ f, f, f, f }, { f, f }))
    assert.same({ 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 },
      philox.philox({ 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 }))
  end)
end)

describe("random numbers", function()
  it("are those of the documented layout", function()
    for _, seed in ipairs { 0, 1, 123456789012 } do
      local P = tempo.program { seed = seed }
      local b = P:dim "b"
      local t = P:dim "t"
      local u = tempo.uniform({ 2, 3 }, { domain = { b, t }, name = "noise" })
      local d = tempo.uniform({ 3 }, { domain = { t }, dtype = "f64", name = "a name longer than eight bytes" })
      local n = tempo.normal({ 5 }, { domain = { b }, name = "n" })
      local h = tempo.uniform({ 64 }, { dtype = "f16", name = "h" })
      local bf = tempo.uniform({ 64 }, { dtype = "bf16", name = "bf" })
      local k = tempo.randint({ 4 }, -3, 1000, { domain = { t }, name = "eightchr" })
      local f = S.compile(P, { u = u, d = d, n = n, k = k, h = h, bf = bf })
      local out = f({}, { B = 2, T = 3 })
      local want = { u = {}, d = {}, n = {}, k = {} }
      for i = 0, 1 do
        want.u[i + 1] = {}
        for j = 0, 2 do
          local word, e = philox.stream(seed, "noise", { i, j }), -1
          want.u[i + 1][j + 1] = S.fill({ 2, 3 }, function()
            e = e + 1
            return uniform(word, e)
          end)
        end
        local word, e = philox.stream(seed, "n", { i }), -1
        want.n[i + 1] = S.fill({ 5 }, function()
          e = e + 1
          return num.round(normal(word, e), "f32")
        end)
      end
      for j = 0, 2 do
        local wd, wk = philox.stream(seed, "a name longer than eight bytes", { j }), philox.stream(seed, "eightchr", { j })
        want.d[j + 1], want.k[j + 1] = {}, {}
        for e = 0, 2 do want.d[j + 1][e + 1] = uniform64(wd, e) end
        for e = 0, 3 do want.k[j + 1][e + 1] = randint(wk, e, -3, 1000) end
      end
      for name, bits in pairs { h = 11, bf = 8 } do              -- so many leading bits of a word, so that none rounds to 1
        local word, got = philox.stream(seed, name, {}), out[name]:totable()
        for e = 0, 63 do assert.equal(math.floor(word(e) / 2 ^ (32 - bits)) / 2 ^ bits, got[e + 1]) end
      end
      S.same(out.u:totable(), want.u, 0, "uniform")
      S.same(out.d:totable(), want.d, 0, "uniform f64")
      S.same(out.n:totable(), want.n, 0, "normal")
      S.same(out.k:totable(), want.k, 0, "randint")
    end
  end)

  it("of normal are the same bits on every tier, those of the formula, and near what libm says", function()
    local P = tempo.program { seed = 77 }
    local t = P:dim "t"
    local o = {}
    for _, d in ipairs { "f64", "f32", "f16", "bf16" } do o[d] = tempo.normal({ 37 }, { domain = { t }, dtype = d, name = "n" .. d }) end
    o.short = tempo.normal({ 3 }, { domain = { t }, dtype = "f64", name = "short" })
    local out = S.compile(P, o, 0)({}, { T = 20 })
    for d, a in pairs(out) do
      local rows = a:totable()
      for j = 1, 20, 6 do
        local row, word = rows[j], philox.stream(77, d == "short" and d or "n" .. d, { j - 1 })
        for e, got in ipairs(row) do
          local want = normal(word, e - 1)
          assert.equal(num.round(want, a:dtype()), got)
          local u1, u2 = (math.floor(word(2 * e - 2) / 256) + 1) / 2 ^ 24, math.floor(word(2 * e - 1) / 256) / 2 ^ 24
          S.same(want, math.sqrt(-2 * math.log(u1)) * math.cos(2 * math.pi * u2), 4e-15)
        end
      end
    end
  end)

  it("of unnamed ops go by their ordinal among the program's random ops", function()
    local P = tempo.program { seed = 3 }
    local t = P:dim "t"
    local a = tempo.uniform({}, { domain = { t } }) + 0
    local b = tempo.uniform({}, { domain = { t } }) * 1
    local out = S.run(P, { a = a, b = b }, {}, { T = 2 })
    for j = 0, 1 do
      S.same(out.a[j + 1], uniform(philox.stream(3, 0, { j }), 0), 0)
      S.same(out.b[j + 1], uniform(philox.stream(3, 1, { j }), 0), 0)
    end
  end)

  it("do not depend on what draws nothing, on other outputs, or on what is needed of them", function()
    local function program(more)
      local P = tempo.program { seed = 9 }
      local t, T = P:dim "t"
      local o = {}
      if more then o.extra = (t:value() * 3):to "f32" + tempo.ones {} end
      local u = tempo.uniform({ 2 }, { domain = { t } }) + 0
      local v = tempo.normal({}, { domain = { t } }) + 0
      if more then
        o.u, o.sum = u, u[0 .. t + 1]:sum(0)
        o.v = v
        return S.run(P, o, {}, { T = 5 })
      end
      o.last, o.v = u[T - 1], v
      return S.run(P, o, {}, { T = 5 })
    end
    local a, b = program(true), program(false)
    assert.same(a.v, b.v)
    assert.same(a.u[5], b.last)
  end)

  it("do not depend on which dims are loops and which are extents", function()
    local function run(recurrent)
      local P = tempo.program { seed = 4 }
      local b = P:dim "b"
      local t = P:dim "t"
      local u = tempo.uniform({ 3 }, { domain = { b, t }, name = "u" })
      local h = P:tensor { domain = { b, t }, shape = { 3 } }
      if recurrent then
        h[{ t = 0 }] = u
        h[{ b, t }] = h[{ t = t - 1 }] * 0 + u
      else
        h:otherwise(u)
      end
      return S.run(P, { h = h }, {}, { B = 3, T = 4 }).h
    end
    assert.same(run(false), run(true))
  end)

  it("change with the seed given at the call, and only with it", function()
    local P = tempo.program { seed = 4 }
    local t = P:dim "t"
    local u = tempo.uniform({ 2 }, { domain = { t }, name = "u" })
    local f = S.compile(P, { u = u })
    local a, b, c = f({}, { T = 3 }), f({}, { T = 3 }, { seed = 5 }), f({}, { T = 3 }, { seed = 4 })
    local longer = f({}, { T = 9 })
    assert.same(a.u:totable(), c.u:totable())
    assert.same(a.u:totable()[3], longer.u:totable()[3])
    S.same(b.u:get(1, 0), uniform(philox.stream(5, "u", { 1 }), 0), 0)
    assert.not_same(a.u:totable(), b.u:totable())
  end)

  it("of bernoulli are uniform numbers below p", function()
    local P = tempo.program { seed = 2 }
    local t = P:dim "t"
    local x = tempo.bernoulli({ 3 }, 0.3, { domain = { t }, name = "b" })
    local out = S.run(P, { x = x }, {}, { T = 20 }).x
    for j = 0, 19 do
      local word = philox.stream(2, "b", { j })
      for e = 0, 2 do
        local want, got = uniform(word, e) < 0.3, out[j + 1][e + 1]
        assert.equal(want, got == true or got == 1)
      end
    end
  end)

  it("of randperm are the order of uniform numbers", function()
    local P = tempo.program { seed = 7 }
    local t = P:dim "t"
    local x = tempo.randperm({ 9 }, { domain = { t }, name = "p" })
    assert.equal("i64", x:dtype())
    local out = S.run(P, { x = x }, {}, { T = 5 }).x
    for j = 0, 4 do
      local word, want = philox.stream(7, "p", { j }), {}
      for e = 0, 8 do want[e + 1] = e end
      table.sort(want, function(a, b) return uniform64(word, a) < uniform64(word, b) end)
      assert.same(want, out[j + 1])
    end
  end)

  it("of literals that meet their program as outputs go by the outputs' names, not by the order of a Lua table", function()
    local text = [[
      local tempo = require "tempo"
      local o = {}
      for k = 1, 12 do o["x" .. k] = tempo.uniform {} end
      local out = tempo.program():compile { outputs = o } ()
      local line = {}
      for k = 1, 12 do line[k] = out["x" .. k]:item() end
      print(table.concat(line, " "))]]
    local first = helper.script(text)
    assert.is_nil(first:find "error")
    for _ = 1, 3 do assert.equal(first, helper.script(text)) end
  end)

  it("of two ops of one name are an error", function()
    local P = tempo.program()
    local t = P:dim "t"
    S.fails(function()
      local a = tempo.uniform({}, { domain = { t }, name = "u" }) + 0
      local b = tempo.uniform({}, { domain = { t }, name = "u" }) + 1
      return P:compile { outputs = { a = a, b = b } }
    end, "random_spec.lua:", "u")
  end)

  it("are drawn once: every reader sees the same number", function()
    local P = tempo.program()
    local t, T = P:dim "t"
    local u = tempo.uniform({ 2 }, { domain = { t } })
    local v = u + 0
    local out = S.run(P, { zero = v - v[t], back = v[T - 1 - t], v = v }, {}, { T = 3 })
    assert.same({ { 0, 0 }, { 0, 0 }, { 0, 0 } }, S.map(out.zero, function(x) return x + 0 end))
    assert.same(out.v[1], out.back[3])
    assert.same(out.v[3], out.back[1])
  end)
end)

-- f:explain: what was made of a program, in the script's names.
local tempo = require "tempo"
local helper = require "spec.helper"

local function bptt()
  local P = tempo.program()
  local t, T = P:dim "t"
  local x = P:input("x", { domain = { t }, shape = { 4 } })
  local w = P:param("w", { shape = { 4, 4 }, init = tempo.ones { 4, 4 } })
  local h = P:tensor { domain = { t }, shape = { 4 }, name = "h" }
  h[0] = x
  h[t] = (h[t-1]:matmul(w) + x):tanh()
  local g = tempo.grad(h:square():sum(), { w })[1]
  local window = x[tempo.max(0, t - 2) .. t + 1]:sum()
  return P:compile { outputs = { g = g, far = window:exp()[T - 1 - t] } }, T
end

describe("explain", function()
  local f = bptt()

  it("names things as the script does, else by operator and line", function()
    local text = f:explain "schedule"
    assert.truthy(text:find("h[0] = x[0]", 1, true), text)
    assert.truthy(text:find("h[t] = matmul add tanh(h[t - 1], w, x[t])", 1, true), text)
    assert.truthy(text:find("-- spec/explain_spec.lua:12\n", 1, true), text)
    assert.truthy(text:find("grad of h[t - 1] = ", 1, true), text)
    for name in text:gmatch "\n%s*(%a+%d+)%[" do error("a name of our own: " .. name) end
    for _, section in ipairs { "storage", "memory" } do assert.falsy(f:explain(section):find "accum%d") end
  end)

  it("tells loops: where they go, blocks, sums over windows", function()
    local text = f:explain "schedule"
    assert.truthy(text:find "\n  for t = 1 %.%. T {\n", text)
    assert.truthy(text:find "\nfor tb = %(T %+ 63%)//64 %- 1 down to 0 in blocks of 64 {\n  for t = [^\n]- down to [^\n]- {\n", text)
    assert.truthy(text:find "\n    for t2 = max%(0, t %- 2%) %.%. t %+ 1 {\n      sum@14#2%[t%] %+= to@14#2%[t2%]")
    assert.truthy(text:find "\n%s+g %+= matmul%(h%[[^\n]-%], [^\n]-%) over t = ", text)
  end)

  it("tells kind, formula and bytes of what is kept, and which read decided", function()
    local text = f:explain("storage", { T = 10 })
    assert.truthy(text:find "temp h %(t: T%); f32%[4%], 16%*T bytes = 160; t: dense, g runs over all of it at spec/explain_spec.lua:12\n")
    assert.truthy(text:find "temp to@[^\n]- %(t: 3%); f64, 24 bytes; t: ring, read of [^\n]-%[t1%] at [^\n]-explain_spec.lua:14", text)
    assert.truthy(text:find "temp grad of h %(t: 1%); f32%[4%], 16 bytes; t: point\n")
    assert.truthy(text:find "temp grad mul@12[^\n]-; t: block, read of ")
    assert.truthy(text:find "input x %(t: T%); f32%[4%], 16%*T bytes = 160\n")
    assert.truthy(text:find "\nfused matmul@12 into h\n")
    assert.falsy(f:explain "storage":find "=")
  end)

  it("begins with what takes most", function()
    local last = math.huge
    for line in f:explain("storage", { T = 1000 }):gmatch "temp [^\n]+" do
      local bytes = tonumber(line:match " bytes = (%d+)" or line:match " (%d+) bytes")
      assert.is_true(bytes <= last, line)
      last = bytes
    end
    assert.is_true(last < 100)
  end)

  it("draws memory over time, with what is largest at the peak", function()
    local text = f:explain("memory", { T = 1000 })
    local arena, most = text:match "^([%d,]+) bytes of arena; at most ([%d,]+) are in use at once\n"
    local function number(s) return tonumber((s:gsub(",", ""))) end
    assert.equal(f:memory { T = 1000 }, number(arena))
    assert.is_true(number(most) <= number(arena))
    local at, peaks = 0, 0
    for bytes, bar, rest in text:gmatch "\n%s*([%d,]+) |([# ]*)| ([^\n]*)" do
      at = at + 1
      assert.equal(40, #bar)
      assert.equal(math.ceil(number(bytes) * 40 / number(most)), #bar:gsub(" ", ""))
      if rest:find "<%- peak" then
        peaks = peaks + 1
        assert.equal(most, bytes)
      end
    end
    assert.is_true(at >= 3 and at <= 41)
    assert.equal(1, peaks)
    local sum = 0
    for bytes in text:match "at the peak:\n(.*)$":gmatch "%s*([%d,]+)  [^\n]*\n" do sum = sum + number(bytes) end
    assert.equal(number(most), sum)
    assert.truthy(text:find "16,000  h: 16%*T bytes  %-%- [^\n]-explain_spec.lua:10\n")
    assert.truthy(f:explain "memory":find "h: 16%*T bytes from region %d+ to %d+")
  end)

  it("asks for bounds as calls do", function()
    helper.fails(function() f:explain("memory", {}) end, "bound", "T")
    helper.fails(function() f:explain("memory", { T = 1, X = 2 }) end, "bound", "X")
    helper.fails(function() f:explain "memroy" end, "option", "memory")
  end)

  it("draws the graph for Graphviz", function()
    local dot = f:explain "dot"
    assert.truthy(dot:find "^digraph")
    assert.truthy(dot:find "matmul")
  end)
end)

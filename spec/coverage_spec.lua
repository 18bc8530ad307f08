-- docs/language.md, section 9, and methods.def have the same names, and no row is left unsaid or
-- untested.
local tempo = require "tempo"
local rows = require "spec.rows"

-- Specs that hold a row to numbers of their own.
local elsewhere = { put = "put", normalized = "ppo", dequantize = "quant" }
for name in ("uniform normal bernoulli randint randperm"):gmatch "%S+" do
  elsewhere[name] = "random"
end

local function read(path)
  local f = assert(io.open(path))
  local text = f:read "*a"
  f:close()
  return text
end

-- Lists the names of the rows that fail.
local function failing(holds)
  local list = {}
  for _, row in ipairs(rows) do
    if not holds(row) then list[#list + 1] = row.name end
  end
  return list
end

-- Names in code of a text, without their arguments: `sum mT() tempo.where(c, a)` has sum, mT and
-- where.
local function names_in(text)
  local list = {}
  for code in text:gmatch "`([^`]+)`" do
    for name in code:gsub("%b()", ""):gsub("[%[{].-[%]}]", ""):gsub("tempo%.",
      ""):gmatch "%f[%w_]%a[%w_]*" do
      list[#list + 1], list[name] = name, true
    end
  end
  return list
end

-- Words in code of the section's tables that no row of methods.def is about.
local apart = { names = true, P = true, constant = true, x = true, t = true, k = true, T = true }

describe("the section of names", function()
  local section = read "docs/language.md":match "\n## 9%. Names\n(.-)\n## "

  it("has every row", function()
    local said = names_in(section)
    assert.same({}, failing(function(row) return row.kinds == "p" or said[row.name] end))
  end)

  it("is what scripts find: functions on tempo, methods of tensors", function()
    local P = tempo.program()
    local x, groups = P:input("x", { shape = { 3 } }), 0
    for group, text in section:gmatch "\n| ([%a, `]+) | ([^\n]+) |" do
      groups = groups + (group == "group" and 0 or 1)
      for _, name in ipairs(names_in(text)) do
        local found = group == "handles" and x[name] or rows[name] and tempo[name]
        if group == "scan" then found = tempo.associative_scan end
        if not apart[name] then assert.is_function(found, group .. ": " .. name) end
      end
    end
    assert.is_true(groups >= 11)
    for _, row in ipairs(rows) do
      assert.is_function(tempo[row.name], row.name)
      if row.kinds == "m" then assert.is_function(x[row.name], row.name) end
    end
  end)
end)

describe("every row", function()
  it("says its shape, dtype and what it does, in a sentence", function()
    assert.same({}, failing(function(row)
      return #row.shape > 0 and #row.dtype > 0 and row.doc:find "^%S.*[.?]$"
    end))
  end)

  it("has a gradient or is not differentiable, and a tolerance that fits", function()
    local exact = { bool = true, i64 = true }
    assert.same({}, failing(function(row)
      return (row.grad == "D" or row.grad == "N") and row.ulp >= 0
        and not (exact[row.dtype] and (row.grad == "D" or row.ulp > 0))
    end))
  end)

  it("is held to an oracle's numbers", function()
    local cases = {}
    for _, line in ipairs(dofile "spec/fixtures/ops.lua") do
      cases[line[1]] = (cases[line[1]] or 0) + 1
    end
    assert.same({}, failing(function(row)
      local own = elsewhere[row.name]
      return cases[row.name]
        or own and read("spec/" .. own .. "_spec.lua"):find("[.:]" .. row.name .. "[ ({]")
    end))
  end)

  it("that is differentiable is held to difference quotients", function()
    local recipes = require "spec.grad_rows"
    assert.same({}, failing(function(row)
      return (row.grad == "D") == (recipes[row.name] ~= nil)
    end))
  end)
end)

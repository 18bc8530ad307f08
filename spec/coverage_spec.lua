-- Nothing of the language's list of names is missing, and no row of methods.def is left unsaid or untested.
local tempo = require "tempo"
local names = require "spec.names"
local rows = require "spec.rows"

local handles = { handle = true, index = true }
local random = { uniform = true, normal = true, bernoulli = true, randint = true, randperm = true }

local function read(path)
  local f = assert(io.open(path))
  local text = f:read "*a"
  f:close()
  return text
end

-- Of each row that fails: its name.
local function failing(holds)
  local list = {}
  for _, row in ipairs(rows) do
    if not holds(row) then list[#list + 1] = row.name end
  end
  return list
end

describe("the list of names", function()
  it("has a row for every operator, and every row is in the list", function()
    local missing, listed = {}, {}
    for group, list in pairs(names) do
      for _, name in ipairs(handles[group] and {} or list) do
        listed[name] = true
        if not rows[name] then missing[#missing + 1] = name end
      end
    end
    assert.same({}, missing)
    assert.same({}, failing(function(row) return listed[row.name] end))
  end)

  it("is what scripts find", function()
    local P = tempo.program()
    local x = P:input("x", { shape = { 3 } })
    for _, row in ipairs(rows) do
      assert.is_function(tempo[row.name], row.name)
      if row.kinds == "m" then assert.is_function(x[row.name], row.name) end
    end
    for _, name in ipairs(names.handle) do assert.is_function(x[name], name) end
    for _, name in ipairs(names.index) do assert.is_function(tempo[name], name) end
  end)
end)

describe("every row", function()
  it("says its shape, dtype and what it does, in a sentence", function()
    assert.same({}, failing(function(row) return #row.shape > 0 and #row.dtype > 0 and row.doc:find "^%S.*[.?]$" end))
  end)

  it("has a gradient or is not differentiable, and a tolerance that fits", function()
    local exact = { bool = true, i64 = true }
    assert.same({}, failing(function(row)
      return (row.grad == "D" or row.grad == "N") and row.ulp >= 0 and not (exact[row.dtype] and (row.grad == "D" or row.ulp > 0))
    end))
  end)

  it("is held to an oracle's numbers", function()
    local cases, drawn = {}, read "spec/random_spec.lua"
    for _, line in ipairs(dofile "spec/fixtures/ops.lua") do cases[line[1]] = (cases[line[1]] or 0) + 1 end
    assert.same({}, failing(function(row)
      return cases[row.name] or random[row.name] and drawn:find("tempo%." .. row.name .. "[ ({]")
    end))
  end)

  it("that is differentiable is held to difference quotients", function()
    local recipes = require "spec.grad_rows"
    assert.same({}, failing(function(row) return (row.grad == "D") == (recipes[row.name] ~= nil) end))
  end)
end)

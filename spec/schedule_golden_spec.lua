-- Schedules and storage of programs that one knows how to write by hand: each program of
-- spec/schedules says what that is, its .want is what comes out. `UPDATE=1 make spec
-- SPEC=spec/schedule_golden_spec.lua` writes the .want files anew; then they are to be read.
local helper = require "spec.helper"

local folder = "spec/schedules/"

local function slurp(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local text = file:read "a"
  file:close()
  return text
end

local function programs()
  local list, names = assert(io.popen("ls " .. folder)), {}
  for line in list:lines() do names[#names + 1] = line:match "^(.*)%.lua$" end
  list:close()
  return names
end

-- P, outputs, and a function that makes inputs for bounds.
local function load(name) return dofile(folder .. name .. ".lua") end

-- Without positions: no lines, and what has its name from one (`eq@9#2`) is counted instead, so
-- that a program may move.
local function text_of(f)
  local text, place, n = f:explain "schedule" .. "\n" .. f:explain "storage", {}, 0
  text = text:gsub(" +%-%- [^\n]-%.lua:%d+", ""):gsub(" at [^\n ;]-%.lua:%d+", "")
  return (text:gsub("@(%d+)", function(line)
    if not place[line] then
      n = n + 1
      place[line] = "@" .. n
    end
    return place[line]
  end))
end

local bounds = {
  bidirectional = { { T = 1 }, { T = 6 }, { T = 0 } },
  bptt = { { I = 1, T = 1 }, { I = 3, T = 7 }, { I = 2, T = 70 }, { I = 0, T = 3 } },
  decode_causal = { { T = 5, p = 2, L = 3 }, { T = 4, p = 1, L = 1 }, { T = 1, p = 1, L = 2 } },
  decode_window = { { T = 9, p = 2, L = 3, w = 2 }, { T = 6, p = 4, L = 2, w = 1 },
    { T = 5, p = 5, L = 2, w = 8 }, { T = 9, p = 7, L = 3, w = 3 } },
  meta_learning = { { S = 2, I = 3, K = 2 }, { S = 1, I = 1, K = 1 }, { S = 3, I = 2, K = 4 } },
  reinforce_monte_carlo = { { I = 2, T = 5 }, { I = 1, T = 1 } },
  reinforce_n_step = { { I = 2, T = 6, n = 3 }, { I = 2, T = 3, n = 1 }, { I = 1, T = 4, n = 9 } },
}

describe("a schedule checked by hand:", function()
  for _, name in ipairs(programs()) do
    it(name .. " is what one would write", function()
      local P, outputs = load(name)
      local text = text_of(P:compile { outputs = outputs, tier = "interpreter" })
      if os.getenv "UPDATE" then
        local file = assert(io.open(folder .. name .. ".want", "wb"))
        file:write(text)
        file:close()
      end
      assert.equal(slurp(folder .. name .. ".want"), text)
    end)

    it(name .. " gives what the reference evaluator gives", function()
      local P, outputs, inputs = load(name)
      local f = helper.compile(P, outputs)
      for _, b in ipairs(assert(bounds[name], name)) do f(inputs and inputs(b) or {}, b) end
    end)

    it(name .. " goes through at small bounds: order, slots, parallel loops", function()
      local P, outputs = load(name)
      local f = P:compile { outputs = outputs, tier = "interpreter" }
      for _, b in ipairs(bounds[name]) do f:simulate(b) end
    end)
  end
end)

describe("a budget of isl operations", function()
  -- Each way: it compiles and computes what it does without a limit, or says what is not known.
  local script = [[
    local helper, name = require "spec.helper", arg[1]
    local P, outputs, inputs = dofile("spec/schedules/" .. name .. ".lua")
    local bounds = load("return " .. arg[2])()
    local ok, f = pcall(helper.compile, P, outputs)
    if ok then
      f(inputs and inputs(bounds) or {}, bounds)
      print("agrees", (f.fn:explain():match "(%d+) of %d+ questions" or "0"))
    else print(tostring(f)) end]]

  local function try(name, budget)
    local path = os.tmpname()
    local file = assert(io.open(path, "w"))
    file:write((jit and "local load = loadstring\n" or "") .. script)
    file:close()
    local b = {}
    for k, v in pairs(bounds[name][#bounds[name]]) do b[#b + 1] = k .. "=" .. v end
    local text = helper.lua(("%s %s '{%s}'"):format(path, name, table.concat(b, ",")),
      "TEMPO_ISL_BUDGET=" .. budget)
    os.remove(path)
    return text
  end

  it("that is tiny gives clear errors, one that is small the same numbers", function()
    local agreed, refused, over = 0, 0, 0
    for _, name in ipairs(programs()) do
      for _, budget in ipairs { 1, 100, 300, 1000 } do
        local text = try(name, budget)
        local questions = tonumber(text:match "^agrees%s+(%d+)")
        if questions then
          agreed = agreed + 1
          over = over + (questions > 0 and 1 or 0)
        else
          refused = refused + 1
          assert.truthy(text:find "^[^\n]*%.lua:%d+: %a+: "
            and (text:find "cycle: " or text:find "affine: "), text)
          assert.truthy(text:find(("not known within %d operations of isl: "):format(budget), 1,
            true), text)
        end
        assert.truthy(questions or budget < 1000, text)
      end
    end
    assert.is_true(agreed >= 10 and refused >= 7 and over >= 7,
      ("%d agreed, %d of them over budget, %d refused"):format(agreed, over, refused))
  end)
end)

-- The graph text that a program explains is the program: every example, read back from that text
-- through the C interface (spec/roundtrip.lua), makes the same calls and gives the same outputs and
-- parameters, on both tiers; random programs have the same text and plan again. Skipped where there
-- is no FFI.
local tempo = require "tempo"
local capi = require "spec.capi"
if not capi then return end
local generate = require "spec.fuzz.generate"

local paths = ("LUA_PATH='%s' LUA_CPATH='%s'"):format(package.path, package.cpath)

local function output(command)
  local pipe = io.popen(command .. " 2>&1; echo \"status $?\"")
  local out = pipe:read "*a"
  pipe:close()
  return out
end

-- The reference has no plan that could be exported.
local function examples(tier)
  local list = {}
  for path in output "ls examples/*.lua examples/tutorial/*.lua":gmatch "examples/[^\n]*%.lua" do
    if tier ~= "reference" or not path:find "export_" then list[#list + 1] = path end
  end
  table.sort(list, function(a, b)               -- what plays comes after what learns
    local x, y = a:find "play_" ~= nil, b:find "play_" ~= nil
    if x ~= y then return y end
    return a < b
  end)
  return list
end

for _, tier in ipairs { "reference", "interpreter" } do
  describe("the text of an example's graph, on the " .. tier .. ",", function()
    local folder = os.tmpname()
    setup(function() os.remove(folder) end)
    teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

    for _, path in ipairs(examples(tier)) do
      -- Texts that the reference runs: spec/c/oom_test.c.
      it("runs as " .. path .. (tier == "reference" and " #long" or ""), function()
        local out = output(("%s TEMPO_TIER=%s luajit spec/roundtrip.lua '%s' %s"):format(paths,
          tier, folder, path))
        assert.truthy(out:find "status 0%s*$", out)
        local calls, numbers = 0, 0
        for c, n in out:gmatch "function %d+: (%d+) calls, (%d+) numbers are the same\n" do
          calls, numbers = calls + c, numbers + n
        end
        assert.is_true(calls > 0 and numbers > 0, out)
      end)
    end
  end)
end

describe("the text of a random program's graph", function()
  for seed = 205, 216 do                        -- some with ends by data, gradients, several dims
    it("is that of the program it is read as, " .. seed, function()
      local case = generate.load(generate.text(generate.generate(seed)))
      local made, f = pcall(function() return case.P:compile { outputs = case.outputs } end)
      if not made then return end               -- illegal, and said so
      local text = f:explain "graph"
      local g = capi.compile(text)
      assert(g, capi.ffi.string(capi.err.message))
      assert.equal(text, capi.text(capi.C.tempo_explain(g, "graph", capi.err)))
      assert.equal(f:explain "plan", capi.text(capi.C.tempo_explain(g, "plan", capi.err)))
    end)
  end
end)

-- The text is what was recorded: gradients are built behind what makes ranges recurrences.
describe("the text of a program with gradients of ranges", function()
  it("is that of the program it is read as, and has its plan", function()
    local P = tempo.program()
    local i = P:dim "i"
    local t, T = P:dim "t"
    local x = P:input("x", { domain = { t } })
    local w = P:param("w", { along = { i }, init = 0.5 })
    local r = x[0 .. t + 1] * w
    local loss = (r:max(0) + r:var(0, { correction = 0 }))[{ t = 0 .. T }]:sum(0)
    w:update(w - 0.01 * tempo.grad(loss, w))
    local f = P:compile { outputs = { loss = loss }, tick = { i } }
    local text = f:explain "graph"
    local g = capi.compile(text, { tick = { "i" } })
    assert(g, capi.ffi.string(capi.err.message))
    assert.truthy(text:find(" = grad ", 1, true))
    assert.equal(text, capi.text(capi.C.tempo_explain(g, "graph", capi.err)))
    assert.equal(f:explain "plan", capi.text(capi.C.tempo_explain(g, "plan", capi.err)))
  end)
end)

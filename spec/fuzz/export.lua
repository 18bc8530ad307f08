-- Exported C as one more way: a program's C99, compiled and run, gives the bits of the program.
-- That is compiled with `reproducible`, as exported code adds up in one order only.
local tempo = require "tempo"
local exported = require "spec.exported"
local helper = require "spec.helper"

local export = {}
local ways = { "cc -std=c99 -w -O1", "cc -std=c99 -w -O3 -march=native", "cc -std=c99 -w -O0" }

-- May exporting refuse it, by the class or for a callback, which a user would have to write?
local function refused(said)
  return said:find("^[^:]*:?%d*:? ?device: export") or said:find("export: ", 1, true)
end

local function calls(text) return text:find "_CALL_%d+ =" end

--- Tells what differs, or nil. The interpreter runs f; `once` runs it; `count` counts.
function export.differs(case, bounds, tools)
  local ok, f =
    pcall(case.P.compile, case.P,
    { outputs = case.outputs, tier = "interpreter", reproducible = true })
  if not ok then return "with `reproducible` it does not compile: " .. tostring(f) end
  local folder, bad = os.tmpname(), nil
  os.remove(folder)
  exported.shell("mkdir " .. folder)
  local inputs = tools.inputs(case, bounds)
  -- before it runs: parameters are where they begin
  local went, why = pcall(f.export, f, folder .. "/agent", bounds)
  local run = tools.once(f, case, bounds)
  local text = went and helper.read(folder .. "/agent.h") or ""
  if not went then
    tools.count "exports refused"
    bad = not refused(tostring(why)) and "export fails: " .. tostring(why) or nil
  elseif not run.ok then tools.count "exports of what fails"
  elseif calls(text) then tools.count "exports with callbacks"
  else
    local near = helper.read(folder .. "/agent.c"):find("tpx_conv(2", 1, true)
    local done, said = pcall(exported.run, folder, nil, inputs, bounds,
      { ways[tools.turn % #ways + 1] }, {}, function(out, printed)
      for name in pairs(case.outputs) do
        local want = run.out[name]
        -- what lies beyond an end is 0 in a call, and anything in exported code
        local all = not next(case.ends or {})
        local a = all and tools.bits(want)
        local b = all and tools.bits(tempo.array(out(name), want:dtype(), want:shape()))
        if not bad and not near and a ~= b then
          bad = ("exported, at %s, '%s' is %s, by the interpreter %s %s"):format(
            tools.text_of(bounds), name, b:sub(1, 300), a:sub(1, 300), printed)
        end
      end
    end)
    tools.count "exports run"
    bad = bad or not done and "exported: " .. tostring(said) or nil
  end
  exported.shell("rm -r " .. folder)
  return bad
end

return export

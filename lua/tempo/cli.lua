--- tempo.cli: options of examples and benches. Each default tells the type; false is a switch.
---
---   local opt = require "tempo.cli" (arg, { seed = 0, out = "out/x", quiet = false }, "lua5.4
---   examples/x.lua")
---   --seed 3, --seed=3, --quiet, --no-quiet
local util = require "tempo.util"

local function usage(defaults, what)
  local names = {}
  for name in pairs(defaults) do names[#names + 1] = name end
  table.sort(names)
  local lines = { "usage: " .. (what or (arg and arg[0]) or "script") .. " [options]" }
  for _, name in ipairs(names) do
    local d = defaults[name]
    lines[#lines + 1] = type(d) == "boolean" and string.format("  --%s", name)
      or string.format("  --%-12s default %s", name, tostring(d))
  end
  return table.concat(lines, "\n")
end

--- Options by name, each with its default if the command line does not give it. `--help` prints the
--- usage and ends; a wrong option prints an error and ends with status 2.
---@param args string[]? the script's `arg`
---@param defaults table<string, string|number|boolean>
---@param what? string the command, for the usage
---@return table<string, any>
return function(args, defaults, what)
  local opt = {}
  for name, d in pairs(defaults) do opt[name] = d end
  local function fail(...)
    io.stderr:write(string.format(...), "\n", usage(defaults, what), "\n")
    os.exit(2)
  end
  local k = 1
  while args and args[k] do
    local name, value = args[k]:match "^%-%-([%w_-]+)=?(.*)$"
    if name == "help" or args[k] == "-h" then
      print(usage(defaults, what))
      os.exit(0)
    end
    if not name then fail("unexpected argument '%s'", args[k]) end
    local given = args[k]:find("=", 1, true)
    if name:sub(1, 3) == "no-" and type(defaults[name:sub(4)]) == "boolean" then
      opt[name:sub(4)] = false
    elseif defaults[name] == nil then
      local near = util.nearest(name, defaults)
      fail("unknown option --%s%s", name, near and "; did you mean --" .. near .. "?" or "")
    elseif type(defaults[name]) == "boolean" then
      if given then fail("--%s is a switch; write --%s or --no-%s", name, name, name) end
      opt[name] = true
    else
      if not given then
        k = k + 1
        value = args[k]
      end
      if type(defaults[name]) == "number" then value = tonumber(value) end
      if value == nil then fail("--%s needs a %s", name, type(defaults[name])) end
      opt[name] = value
    end
    k = k + 1
  end
  return opt
end

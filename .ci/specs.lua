-- Which specs run under which Lua: `lua5.4 .ci/specs.lua [hard] LUA...` prints a line
-- "LUA spec/x_spec.lua" for each run; with `hard` those that `make check-hard` runs. It ends
-- non-zero, and says why, where nothing runs or reads a file of spec/, or a spec that
-- is listed here does not exist.
--
-- Core specs ask what the C code computes, orders and keeps; whatever Lua has recorded the program, the code
-- is the same: they run under the first LUA only. All others run under each: what goes through a lua_State
-- (arrays, indices, calls, options, errors, callbacks, states, the language's sentences, docs) and what is
-- written in Lua (libraries, examples). A new spec is one of these until it is listed here.
local core = [[ again agents algebra auto block c_examples conv decode dtypes ends evolve
  export failures far folds fuse fuzz gpu gpu_ops gpu_rows grad grad_rows halves incremental late
  late_cycle lead leaf love memory moving native one_compile oracle ppo_agents products
  programs reduce reproducible ridge schedule schedule_golden shown sizes sorts stop storage tables
  threads torch whole ]]
-- These take ten seconds and more. They begin first, so that no processor waits for the last one.
local slow = " ends examples export fuzz grad_rows graph_text incremental native reproducible " ..
  "sizes storage whole "
-- Left out under the sanitizers: they go through C code that others go through too (grad_rows and
-- lead: grad; oracle and torch: sections, reduce; reproducible: native), or run examples, of which
-- .ci/test.sh runs three.
local soft = " examples grad_rows lead oracle reproducible torch "
local hard = arg[1] == "hard" and table.remove(arg, 1) ~= nil
-- They need LuaJIT's FFI.
local only = { capi = "luajit", capi_host = "luajit", graph_text = "luajit",
  emulator = "luajit", device_rows = "luajit", opencl_rows = "luajit", launches = "luajit",
  static = "luajit" }

-- Folders that a spec lists: what it reads of them, and which files stand beside each; where '' is one,
-- none need to.
local listed = {
  errors = { lua = "err" },
  schedules = { lua = "want" },
  graph = { sdg = "want err late" },
  opt = { sdg = "want" },
  plan = { sdg = "want ''" },
  passes = { plan = "want" },
  found = { lua = "''" },
  sharded = { safetensors = "''" },
}

local offences = 0
local function offend(...)
  offences = offences + 1
  io.stderr:write(string.format(...), "\n")
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

local files, text = {}, {}
local find = assert(io.popen "find spec -type f | sort")
for path in find:lines() do files[#files + 1], text[path] = path, read(path) end
find:close()
text.Makefile = read "Makefile"

local function is_test(path)
  return path:find "_spec%.lua$" or path:find "^spec/c/[%w_]+_test%.c$"
end

-- Somebody else names the file, as a module or by its path.
local function is_named(path)
  local name = path:match("([^/]+)%.%w+$")
  for other, words in pairs(text) do
    if other ~= path and words:find("%f[%w_]" .. name .. "%f[^%w_]") then return true end
  end
  return false
end

-- Is the other file of a golden pair there too?
local function has_partner(folder, stem, kind)
  for reads, beside in pairs(listed[folder]) do
    for other in beside:gmatch "%S+" do
      if kind == reads and (other == "''" or text[stem .. "." .. other]) then return true end
      if kind == other and text[stem .. "." .. reads] then return true end
    end
  end
end

for _, path in ipairs(files) do
  local folder, stem, kind = path:match "([^/]+)/[^/]+$", path:match "^(.*)%.(%w+)$"
  if listed[folder] then
    if not has_partner(folder, stem, kind) and not is_named(path) then
      offend("%s: nothing stands beside it", path)
    end
  elseif is_test(path) then                     -- luacheck: ignore 542
  elseif text[path]:find "\ndescribe%f[^%w_]" or text[path]:find "\nint main%(" then
    offend("%s: nobody runs it; tests are in *_spec.lua and spec/c/*_test.c", path)
  elseif not is_named(path) then
    offend("%s: nobody reads it", path)
  end
end

local function luas(name)
  if only[name] then return { only[name] } end
  return (" " .. core:gsub("%s+", " ")):find(" " .. name .. " ", 1, true) and { arg[1] } or arg
end

local there, runs = {}, {}
for _, path in ipairs(files) do
  local name = path:match "([%w_]+)_spec%.lua$"
  if name then there[name] = true end
  if name and not (hard and soft:find(" " .. name .. " ", 1, true)) then
    for _, lua in ipairs(luas(name)) do
      for _, given in ipairs(arg) do
        if given == lua then runs[#runs + 1] = { name = name, line = lua .. " " .. path } end
      end
    end
  end
end
for name in (core .. slow .. soft):gmatch "%S+" do
  if not there[name] then offend("spec/%s_spec.lua: listed in .ci/specs.lua, but not there", name) end
end

for _, first in ipairs { true, false } do
  for _, run in ipairs(runs) do
    if first == (slow:find(" " .. run.name .. " ", 1, true) ~= nil) then print(run.line) end
  end
end
os.exit(offences == 0)

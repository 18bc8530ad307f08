-- Folders of src have ranks and includes only point down, never across: os knows no other, lua all.
-- Outside headers have their place too. `lua5.4 .ci/layers.lua [root]` prints every offence and ends non-zero.
local root = arg[1] or "."

local rank = {}
for r, folders in ipairs {
  "os", "base", "index io http", "kern text", "graph", "grad opt ref", "poly", "plan", "emit run", "cpu",
  "interp", "gpu", "rt", "api lua",
} do
  for f in folders:gmatch "%S+" do rank[f] = r - 1 end
end

-- An outside header, by pattern, and the only places (patterns of paths) that may include it.
local outside = {
  { "^isl/", { "^src/poly/", "^src/index/isl[^/]*$" }, "isl" },
  { "^cuda", {}, "CUDA" },                        -- opened at run time
  { "^cublas", {}, "CUDA" },
  { "^nvrtc", {}, "CUDA" },
  { "^CL/", {}, "OpenCL" },
  { "^lua%.h$", { "^src/lua/" }, "Lua" },
  { "^lauxlib%.h$", { "^src/lua/" }, "Lua" },
  { "^lualib%.h$", { "^src/lua/" }, "Lua" },
  { "^luajit%.h$", { "^src/lua/" }, "Lua" },
  { "lua[^/]*/lua%.h$", { "^src/lua/" }, "Lua" },
  { "^sys/", { "^src/os/" }, "POSIX" },
  { "^unistd%.h$", { "^src/os/" }, "POSIX" },
  { "^fcntl%.h$", { "^src/os/" }, "POSIX" },
  { "^dlfcn%.h$", { "^src/os/" }, "POSIX" },
  { "^signal%.h$", { "^src/os/" }, "POSIX" },
  { "^spawn%.h$", { "^src/os/" }, "POSIX" },
  { "^time%.h$", { "^src/os/" }, "POSIX" },
  { "^cjson/", { "^src/io/json%.[ch]$" }, "cJSON" },
  { "^pcre2%.h$", { "^src/text/" }, "PCRE2" },
  { "^utf8proc%.h$", { "^src/text/" }, "utf8proc" },
  { "^microhttpd%.h$", { "^src/http/" }, "libmicrohttpd" },
  { "^windows%.h$", { "^src/os/" }, "Windows" },
}

local function exists(path)
  local f = io.open(root .. "/" .. path)
  if f then f:close() end
  return f ~= nil
end

-- "src/index/../base/x.h" -> "src/base/x.h"
local function normal(path)
  local parts = {}
  for p in path:gmatch "[^/]+" do
    if p == ".." then parts[#parts] = nil elseif p ~= "." then parts[#parts + 1] = p end
  end
  return table.concat(parts, "/")
end

-- Kernels and environments are files of the folder that calls them, the prelude of the one that says
-- what operators are.
local kernels = { env = "base", prelude = "kern", gpu = "kern", cpu = "cpu" }

-- The folder of src that a path belongs to; nil for a header outside.
local function folder_of(path) return path:match "^src/([^/]+)/" or kernels[path:match "^kernels/([^/]+)/"] end

local function target(file, quoted, name)
  local beside = normal(file:match "^(.*)/" .. "/" .. name)
  if quoted and exists(beside) then return folder_of(beside) end
  if name:find "^kernels/" then return folder_of(name) end
  local folder = normal(name):match "^([^/]+)/"
  if folder and (rank[folder] or exists("src/" .. normal(name))) then return folder end
end

local offences, files = 0, 0
local function offend(file, line, ...)
  offences = offences + 1
  io.stderr:write(("%s:%d: %s\n"):format(file, line, string.format(...)))
end

local function check_rank(file, line, from, to, name)
  if not rank[to] then
    offend(file, line, "includes \"%s\", but src/%s has no rank in .ci/layers.lua", name, to)
  elseif to ~= from and rank[to] >= rank[from] then
    offend(file, line, "src/%s (rank %d) includes \"%s\" of src/%s (rank %d): includes point down only",
      from, rank[from], name, to, rank[to])
  end
end

local function check_outside(file, line, from, name)
  for _, rule in ipairs(outside) do
    if name:find(rule[1]) then
      for _, place in ipairs(rule[2]) do
        if file:find(place) then return end
      end
      return offend(file, line, "<%s>: %s has its place elsewhere, not in src/%s", name, rule[3], from)
    end
  end
end

local find = assert(io.popen(("cd '%s' && find src kernels -type f \\( -name '*.[ch]' -o -name '*.def' \\) | sort")
  :format(root:gsub("'", "'\\''"))))
for file in find:lines() do
  files = files + 1
  local from = folder_of(file)
  if not rank[from or ""] then offend(file, 1, "src/%s has no rank in .ci/layers.lua", from or "") end
  local n = 0
  for text in io.lines(root .. "/" .. file) do
    n = n + 1
    local open, name = text:match '^%s*#%s*include%s*([<"])([^>"]+)[>"]'
    if name and rank[from or ""] then
      local to = target(file, open == '"', name)
      if to then check_rank(file, n, from, to, name) else check_outside(file, n, from, name) end
    end
  end
end
find:close()

if offences > 0 then
  io.stderr:write(("layers: %d of %d files' includes point the wrong way\n"):format(offences, files))
  os.exit(1)
end
print(("layers: %d files, every include points down"):format(files))

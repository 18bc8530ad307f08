-- `lua5.4 .ci/lint.lua [BUILD]`: the bounds that a machine holds: bytes of src, lines a file, columns, the format of
-- .clang-format, and circles of files that call each other. A ceiling only ever goes down, until it is the goal.
-- CIRCLES=1 prints every circle of more than two files.
local ceiling = {
  bytes = 3262400,          -- of src; devices, environments, files of weights, tokenizers, a server
  columns = 100,            -- of .c, .h and .def
  lines = 600,              -- of a file of src
  circle = 2,               -- files of one folder that call each other in a circle
  -- Lines of Lua wider than that, by folder. Generated annotations and fixtures do not count.
  wide = { lua = 40, spec = 270, ["docs/source"] = 125 },
}
local wrong = 0

local function say(...)
  wrong = wrong + 1
  io.stderr:write("lint: ", string.format(...), "\n")
end

local function each(command, visit)
  local pipe = assert(io.popen(command))
  for line in pipe:lines() do visit(line) end
  return pipe:close()
end

local sources, formatted = {}, {}
each("git ls-files '*.c' '*.h' '*.def'", function(path)
  sources[#sources + 1] = path
  if not path:find "%.def$" then formatted[#formatted + 1] = path end
end)

-- ---- bytes, lines, columns -----------------------------------------------------------------------------------------
local bytes, longest, longest_file = 0, 0, ""
for _, path in ipairs(sources) do
  local n, wide = 0, 0
  for line in io.lines(path) do
    n = n + 1
    if (utf8.len(line) or #line) > ceiling.columns then wide = wide + 1 end
  end
  if wide > 0 then say("%s: %d lines are wider than %d columns", path, wide, ceiling.columns) end
  if path:find "^src/" then
    local file = assert(io.open(path))
    bytes = bytes + file:seek "end"
    file:close()
    if n > ceiling.lines then say("%s: %d lines, at most %d", path, n, ceiling.lines) end
    if n > longest then longest, longest_file = n, path end
  end
end
if bytes > ceiling.bytes then say("src has %d bytes, at most %d", bytes, ceiling.bytes) end

for folder, most in pairs(ceiling.wide) do
  local wide = 0
  each("git ls-files '" .. folder .. "/*.lua'", function(path)
    if path:find "/meta/" or path:find "/fixtures/" then return end
    for line in io.lines(path) do
      if (utf8.len(line) or #line) > ceiling.columns then wide = wide + 1 end
    end
  end)
  if wide > most then
    say("%s: %d lines are wider than %d columns, at most %d", folder, wide, ceiling.columns, most)
  end
end

-- ---- format --------------------------------------------------------------------------------------------------------
if os.execute "command -v clang-format >/dev/null" then
  local odd, files = {}, 0
  each("clang-format --dry-run " .. table.concat(formatted, " ") .. " 2>&1", function(line)
    local path = line:match "^(.-):%d+:%d+: warning: code should be clang%-formatted"
    if path and not odd[path] then odd[path], files = true, files + 1 end
  end)
  for path in pairs(odd) do say("%s is not formatted: make format", path) end
else
  say "clang-format is missing (Debian: clang-format)"
end

-- ---- circles: strongly connected files of a folder, by the functions that their objects call ------------------------
local build = arg[1] or "build"
local defines, calls, folders = {}, {}, {}
each("cd " .. build .. "/obj/core/src && find . -name '*.o' -printf '%P\\n' | xargs nm -A -g", function(line)
  local object, kind, name = line:match "^([%w_/]+)%.o:%x*%s+(%a) ([%w_]+)"
  if not object then return end
  if kind == "U" then
    calls[object] = calls[object] or {}
    table.insert(calls[object], name)
  else
    defines[name] = object
  end
end)
for object in pairs(calls) do
  if io.open("src/" .. object .. ".c") then folders[object] = object:match "^[^/]+" end
end

local index, low, stack, on, counter, largest = {}, {}, {}, {}, 0, {}
local function visit(v)
  counter = counter + 1
  index[v], low[v] = counter, counter
  stack[#stack + 1], on[v] = v, true
  for _, name in ipairs(calls[v]) do
    local w = defines[name]
    if w and w ~= v and folders[w] == folders[v] then
      if not index[w] then
        visit(w)
        low[v] = math.min(low[v], low[w])
      elseif on[w] then
        low[v] = math.min(low[v], index[w])
      end
    end
  end
  if low[v] ~= index[v] then return end
  local circle = {}
  repeat
    local w = table.remove(stack)
    on[w] = nil
    circle[#circle + 1] = w
  until w == v
  table.sort(circle)
  if #circle > #largest then largest = circle end
  local text = ("%d files in a circle: %s"):format(#circle, table.concat(circle, " "))
  if #circle > ceiling.circle then say("%s; at most %d", text, ceiling.circle) end
  if os.getenv "CIRCLES" and #circle > 2 then print(text) end
end
for object in pairs(folders) do
  if not index[object] then visit(object) end
end

print(("lint: src %d bytes (at most %d); longest file %s, %d lines (%d); largest circle %d files (%d)"):format(bytes,
  ceiling.bytes, longest_file, longest, ceiling.lines, #largest, ceiling.circle))
os.exit(wrong == 0)

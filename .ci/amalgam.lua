-- `lua5.4 .ci/amalgam.lua FOLDER`: for each folder of src a file FOLDER/<folder>.c that includes all of its .c files,
-- so that a folder compiles as one unit: no static of two of its files has one name. Between folders statics may share
-- a name (`inside`, `fits`: 200 do, each plain in its own place); types, enumerators and macros may not, as they meet
-- in headers and in a reader's mind: every one is unique over all of src, but for macros that the file, or a .def that
-- it includes, undefines.
-- Kernels (kernels/cpu) are no part of it: they are built one by one from headers that their macros set.
local out = assert(arg[1], "amalgam.lua FOLDER")

local find = assert(io.popen "find src -type f -name '*.[ch]' | sort")
local units, seen, clashes, names = {}, {}, 0, 0

local function note(file, kind, name)
  if seen[name] == nil then names = names + 1 end
  if seen[name] and seen[name] ~= file then
    clashes = clashes + 1
    io.stderr:write(("%s: the %s %s is also in %s\n"):format(file, kind, name, seen[name]))
  end
  seen[name] = file
end

-- The .def files that a text includes.
local function rows(text)
  local all = {}
  for name in text:gmatch '#include "([%w_/]+%.def)"' do
    local f = io.open("src/" .. name)
    if f then all[#all + 1] = f:read "a" f:close() end
  end
  return table.concat(all)
end

-- Text without comments, strings and the bodies of macros; macros are noted.
local function plain(file, text)
  local included = rows(text)
  text = text:gsub("/%*.-%*/", " "):gsub("\\\n", " "):gsub('"[^"\n]*"', '""'):gsub("'[^'\n]*'", "0")
  for name in text:gmatch "#define%s+([%w_]+)" do
    if not (text .. included):find("#undef%s+" .. name .. "%f[^%w_]") then note(file, "macro", name) end
  end
  return (text:gsub("#[^\n]*", ""))
end

local function enumerators(file, list)
  for item in (list .. ","):gmatch "%s*(.-)%s*," do
    local name = item:match "^([%a_][%w_]*)"
    if name then note(file, "enumerator", name) end
  end
end

-- Notes a declaration outside functions: it goes up to a `;` outside braces, or to the `}` of a function.
local function declaration(file, text)
  for list in text:gmatch "%f[%w_]enum%s*[%w_]*%s*(%b{})" do enumerators(file, list:sub(2, -2):gsub("%b()", "")) end
  if not text:find "^%s*typedef" then
    local tag = text:match "^%s*struct%s+([%w_]+)%s*{" or text:match "^%s*union%s+([%w_]+)%s*{"
    if tag then note(file, "struct", tag) end
    return
  end
  local flat = text:gsub("%b{}", ""):gsub("typedef%s+const%s+", "typedef ")
  local tag, opaque = flat:match "^%s*typedef%s+struct%s+([%w_]+)%s+([%w_]+)%s*;"
  if tag and tag == opaque and not text:find "{" then return end
  local name = flat:match "%(%s*%*%s*([%w_]+)%s*%)%s*%(" or flat:match "([%w_]+)%s*%b()%s*;"
    or flat:match "([%w_]+)%s*;"
  if name and not flat:match "TP_VEC%b()%s*;" then note(file, "type", name) end
end

local function declarations(file, text)
  local from, depth = 1, 0
  for at, c in text:gmatch "()([{};])" do
    if c == "{" then depth = depth + 1
    elseif c == "}" then depth = depth - 1 end
    local outside = depth == 0 and c ~= "{"
    local function_ends = c == "}" and outside and text:sub(from, at):find "^[^{=]*%)[%s%w_]*{"
    if outside and (c == ";" or function_ends) then
      if not function_ends then declaration(file, text:sub(from, at)) end
      from = at + 1
    end
  end
end

for file in find:lines() do
  local folder, name = file:match "^src/([^/]+)/(.*)$"
  local f = assert(io.open(file))
  declarations(file, plain(file, f:read "a"))
  f:close()
  if name:find "%.c$" then
    units[folder] = (units[folder] or "") .. ('#include "%s/%s"\n'):format(folder, name)
  end
end
find:close()
for folder, text in pairs(units) do
  local path = out .. "/" .. folder .. ".c"
  local f = assert(io.open(path, "w"))
  f:write(text)
  f:close()
end
if clashes > 0 then
  io.stderr:write(("amalgam: %d names of types, enumerators and macros stand in two places\n"):format(clashes))
  os.exit(1)
end
print(("amalgam: %d types, enumerators and macros, each in one place"):format(names))

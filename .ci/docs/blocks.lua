-- Blocks of Lua and C in Markdown, run so that what a page shows is what the program prints.
--
--   <!-- run -->              the ```lua or ```c block that follows is run; the ``` block after it holds what it
--                             printed
--   <!-- run fails -->        it ends with an error, which is shown too; anywhere else an error is one of the page
--   <!-- run x.lua -->        the code is that of the file, taken in again each time
--   <!-- prelude -->          the ```lua block that follows goes before every later block of the page
--
-- Each block is a program of its own.
local blocks = {}

--- A file's text.
function blocks.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

-- The line of the script that is being run: of its outermost function.
local function line_of(name)
  local line = 1
  for level = 2, math.huge do
    local info = debug.getinfo(level, "Sl")
    if not info then return line end
    if info.source == "@" .. name then line = info.currentline end
  end
end

--- Runs `code`. `name` is what messages call the script. Returns what it prints, its error last, whether it failed,
-- and what each line printed.
function blocks.run(code, name, prelude)
  local out, lines = {}, {}
  local function write(...)
    local line = line_of(name)
    for k = 1, select("#", ...) do
      out[#out + 1] = tostring((select(k, ...)))
      lines[line] = (lines[line] or "") .. out[#out]
    end
  end
  local env = setmetatable({
    io = setmetatable({ write = write }, { __index = io }),
    print = function(...)
      for k = 1, select("#", ...) do write(k > 1 and "\t" or "", (select(k, ...))) end
      write "\n"
    end,
  }, { __index = _G })
  if prelude then
    assert(load(prelude, "@prelude.lua", "t", env))()
  end
  local chunk, message = load(code, "@" .. name, "t", env)
  if not chunk then
    return message .. "\n", true, { message .. "\n" }
  end
  local ok, e = pcall(chunk)
  if not ok then
    local last = select(2, code:gsub("\n", "\n")) + 1
    out[#out + 1] = tostring(e) .. "\n"
    lines[last] = (lines[last] or "") .. out[#out]
  end
  return table.concat(out), not ok, lines
end

--- The text of a run that must end as `fails` says, and what each line printed.
function blocks.output(code, name, prelude, fails)
  local text, failed, lines = blocks.run(code, name, prelude)
  if failed ~= fails then
    error(("%s %s:\n%s\n%s"):format(name, failed and "fails" or "does not fail", code, text), 0)
  end
  return text:gsub("[ \t]+\n", "\n"), lines
end

-- The code and what it prints, as two blocks.
local function fenced(code, out, language)
  return ("```%s\n%s\n```\n\n```\n%s\n```\n"):format(language or "lua", code:match "^(.-)%s*$", out:match "^(.-)%s*$")
end

--- The code of a run with what each line prints behind it: `show(x)  --> 1.0`, or in lines below.
function blocks.annotated(code, name, prelude, fails)
  local _, printed = blocks.output(code, name, prelude, fails)
  local list, k = {}, 0
  for line in (code .. "\n"):gmatch "(.-)\n" do
    k = k + 1
    local text = printed[k] and printed[k]:gsub("\t", "  "):gsub("%s+$", "")
    list[#list + 1] = line
    if text and not text:find "\n" and #line + #text < 92 then
      list[#list] = line:gsub("%s+$", "") .. "  --> " .. text
    elseif text then
      local indent = line:match "^%s*"
      for part in (text .. "\n"):gmatch "(.-)\n" do list[#list + 1] = (indent .. "--> " .. part):gsub("%s+$", "") end
    end
  end
  return table.concat(list, "\n")
end

--- A run as Markdown; `name` is what messages call the script.
function blocks.show(code, name, prelude, fails)
  return fenced(code, (blocks.output(code, name, prelude, fails)))
end

--- Returns the output of a program in C that includes tempo.h; warnings are failures (not the linker's).
function blocks.run_c(code, root)
  local build, path = os.getenv "TEMPO_BUILD" or root .. "build", os.tmpname()
  local file = assert(io.open(path .. ".c", "wb"))
  file:write(code)
  file:close()
  local pipe = io.popen(("(cc -std=c11 -Wall -Wextra -Wno-unused-parameter -Werror -c -I%sinclude %s.c -o %s.o && "
    .. "cc %s.o -o %s -L%s -ltempo -lm -Wl,-rpath,\"%s\" 2>/dev/null && %s) 2>&1; echo \"status $?\"")
    :format(root, path, path, path, path, build, build:find "^/" and build or "$PWD/" .. build, path))
  local out = pipe:read "*a"
  pipe:close()
  for _, ending in ipairs { "", ".c", ".o" } do os.remove(path .. ending) end
  local text, status = out:match "^(.*)status (%d+)%s*$"
  if status ~= "0" then error("a program in C fails:\n" .. code .. "\n" .. out, 0) end
  return text
end

--- The page with every block run anew.
function blocks.refresh(text, root)
  local out, at = {}, 1
  local prelude = text:match "<!%-%- prelude %-%->\n*```lua\n(.-)```\n"
  while true do
    local first, last, words = text:find("<!%-%- run ?([^\n]-) ?%-%->\n", at)
    if not first then break end
    local _, stop, language, code = text:find("^\n*```(%a+)\n(.-)```\n", last + 1)
    assert(language == "lua" or language == "c", "no ```lua or ```c block after " .. text:sub(first, last))
    local _, shown = text:find("^\n```\n.-```\n", stop + 1)
    local file, fails = words:match "[^ ]+%.lua", words:find "fails" ~= nil
    if file then code = blocks.read(root .. file) end
    out[#out + 1] = text:sub(at, last) .. "\n"
    out[#out + 1] = language == "c" and fenced(code, blocks.run_c(code, root), language)
      or blocks.show(code, file and file:match "[^/]*$" or "script.lua", prelude, fails)
    at = (shown or stop) + 1
  end
  return table.concat(out) .. text:sub(at)
end

-- ---- what is the same ----------------------------------------------------------------------------------------------
-- The last digits of a float depend on the processor's kernels, and Lua 5.4 writes 2.0 where LuaJIT writes 2.

local function numbers(text)
  local list = {}
  local rest = text:gsub("%-?%d+%.?%d*[eE]?[-+]?%d*", function(word)
    local v = tonumber(word)
    if not v then return end
    list[#list + 1] = v
    return "#"
  end)
  return list, (rest:gsub("%s+", " "):gsub(" ?([%[%]]) ?", "%1"))
end

local function alike(a, b)
  local x, left = numbers(a)
  local y, right = numbers(b)
  if left ~= right or #x ~= #y then return false end
  for k = 1, #x do
    local d = math.abs(x[k] - y[k])
    local whole = x[k] % 1 == 0 and y[k] % 1 == 0 and math.abs(x[k]) < 1e7
    if d > (whole and 0 or 1e-6 + 1e-5 * math.abs(x[k])) then return false end
  end
  return true
end

-- Text outside and inside of plain fences by turns; what stands behind `-->` in a block of Lua is inside too.
local function parts(text)
  local list, now, fence = {}, {}, nil
  local function turn()
    list[#list + 1] = table.concat(now, "\n")
    now = {}
  end
  for line in (text .. "\n"):gmatch "(.-)\n" do
    local word = line:match "^```(.*)"
    if word and not fence then
      fence = word
      if word == "" then turn() end
    elseif word and fence == "" then
      fence = nil
      turn()
    elseif word then
      fence = nil
    end
    local head, shown = line:match "^(.-)(%-%->.*)$"
    if fence == "lua" and head then
      now[#now + 1] = head
      turn()
      now[1] = shown
      turn()
    else
      now[#now + 1] = line
    end
  end
  turn()
  return list
end

--- nil when two pages say the same, else the first line that differs, of both.
function blocks.differ(old, new)
  if old == new then return nil end
  local a, b = parts(old), parts(new)
  for k = 1, math.max(#a, #b) do
    local x, y = a[k] or "", b[k] or ""
    if x ~= y and not (k % 2 == 0 and alike(x, y)) then
      local p, q = (x .. "\n"):gmatch "(.-)\n", (y .. "\n"):gmatch "(.-)\n"
      while true do
        local l, m = p(), q()
        if l ~= m or not l then return ("is  %s\nnow %s"):format(l or "(ends)", m or "(ends)") end
      end
    end
  end
end

return blocks

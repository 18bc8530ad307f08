-- Copies of Lua functions that can be watched where Lua asks no metamethod.
--
-- Traced values stand in registers. Arithmetic and `<` call their metamethods; some instructions
-- do not: tests of a boolean (`if g.alive`), `t[k]`, and under Lua 5.4 `==` with a number. A copy
-- (string.dump, load) has the very instructions of the function, but "lines" of its own: each
-- instruction that is to be watched is one, so that a line hook is called in front of it and knows
-- which it is. `sites` says for each such line where it is in the script and what is to be looked
-- at:
--   { file =, line =, op = "test" | "index" | "equal" | "bound" | "closure", a =, b =, constant =,
--     flow =, range = (where the ways out of here meet: flow.lua) }
-- a, b count registers as debug.getlocal does.
local code = {}

local jit = rawget(_G, "jit")
-- luacheck: globals setfenv getfenv
local setfenv, getfenv, upvaluejoin = setfenv, getfenv, rawget(debug, "upvaluejoin")
local load, pcall, assert = load, pcall, assert           -- they are replaced
local flow = require "tempo.rl.trace.flow"
local chunk = require("tempo.rl.trace." .. (jit and "chunk_luajit" or "chunk_54"))

--- The chunk's name of all copies.
code.mark = "=tempo.rl.trace"

local sites, last = {}, 2 ^ 20                  -- no script has as many lines
code.sites = sites

--- The script's file and line of a line of a copy.
function code.place(line)
  local site = sites[line]
  if site then return site.file, site.line end
end

-- Gives lines to the instructions of one function: `watched[pc]` is what to look at there, how what
-- flow.new takes, lines[pc] is the script's. Returns the first line and, for each pc, how many
-- lines later it is.
local function number_lines(file, lines, watched, how)
  local first, n, of, starts = last, 0, {}, {}
  flow.starts(how.code, starts)
  local ways = flow.new(how.code, of, first, how.captured, how.size)
  sites[first] = { file = file, line = lines[1] }          -- where LuaJIT enters a function
  for pc = 1, #lines do
    if pc == 1 or watched[pc] or starts[pc] or lines[pc] ~= lines[pc - 1] then
      n = n + 1
      local site = watched[pc] or {}
      site.file, site.line, site.flow, site.range = file, lines[pc], ways, n
      sites[first + n] = site
    end
    of[pc] = n
  end
  last = first + n + 1
  return first, of
end

local function file_of(source)
  local text = source:match "^[@=](.*)$"
  if text then return #text < 60 and text or "..." .. text:sub(-56) end
  return '[string "' .. source:match "^[^\n]*" .. '"]'
end

-- ---- copies -------------------------------------------------------------------------------------

--- A copy of the Lua function that shares its upvalues; then the set of names that it mentions.
--- nil: it cannot be copied. LuaJIT has compiled nothing of a copy, so that what is replaced in it
--- is seen.
function code.copy(f)
  local ok, text = pcall(string.dump, f)
  if not ok or not chunk.is_known(text) then return nil end
  local found = { names = {} }
  local made = chunk.rewrite(text, { mark = code.mark, file_of = file_of,
    number_lines = number_lines, found = found })
  chunk.names(f, found.names)
  local g = assert(load(made, code.mark, "b"))
  local k = 1
  while debug.getupvalue(f, k) do
    upvaluejoin(g, k, f, k)
    k = k + 1
  end
  if jit then setfenv(g, getfenv(f)) end
  return g, found.names
end

return code

-- Everything that is written from one source: `lua5.4 .ci/docs.lua` writes it, `lua5.4 .ci/docs.lua --check` only says
-- what is stale and ends non-zero. Sources, and what is made of them:
--
--   src/graph/methods/methods.def, docs/source/methods.lua      docs/reference/operators.md, lua/tempo/meta/tempo.lua
--   docs/source/api.lua                                 docs/reference/api.md, lua/tempo/meta/tempo.lua
--   comments in lua/tempo/*.lua, docs/source/libraries.lua
--                                                       docs/reference/libraries.md
--   src/base/{settings,errs,dtypes}.def, src/rt/passes.def, src/opt/rules/rules.def,
--   docs/source/errors.lua                              docs/reference/settings.md
--   blocks after <!-- run -->, examples/tutorial        what they print, in README.md and pages of docs
--   docs/source/pages.lua                               what stands at the head of each page
--
-- It runs the examples, so it needs the module (`make docs` builds it).
local here = (debug.getinfo(1, "S").source:match "^@(.*)docs%.lua$" or ".ci/")
package.path = here .. "?.lua;" .. package.path
local root = here:gsub("%.ci/$", "")

local blocks = require "docs.blocks"
local reference = require "docs.reference"
local annotations = require "docs.annotations"

local docs = { root = root }

function docs.source(name) return dofile(root .. "docs/source/" .. name .. ".lua") end

--- { path, text } of every file that is written.
function docs.files()
  local source = { overridden = {} }
  for name in ("methods api errors libraries pages"):gmatch "%S+" do source[name] = docs.source(name) end
  for _, e in ipairs(source.api.classes[1].entries) do source.overridden[e.name] = true end
  local list = { { "lua/tempo/meta/tempo.lua", annotations.file(root, source) } }
  for file, write in pairs { README = reference.index, operators = reference.operators, api = reference.api,
      libraries = reference.libraries, settings = reference.settings } do
    list[#list + 1] = { "docs/reference/" .. file .. ".md", write(root, source) }
  end
  for path in ("README.md docs/language.md docs/scheduling.md docs/tutorial.md docs/reading-explain.md "
    .. "docs/c.md docs/from-pytorch.md docs/games.md"):gmatch "%S+" do
    list[#list + 1] = { path, blocks.refresh(blocks.read(root .. path), root) }
  end
  table.sort(list, function(a, b) return a[1] < b[1] end)
  return list
end

--- nil where the file on disk says the same as `text`, else why not.
function docs.stale(path, text)
  local file = io.open(root .. path, "rb")
  if not file then return "is missing" end
  file:close()
  return blocks.differ(blocks.read(root .. path), text)
end

function docs.main(check)
  local failed = false
  for _, f in ipairs(docs.files()) do
    local why = docs.stale(f[1], f[2])
    if why and check then
      failed = true
      io.stderr:write(("%s is stale, run `make docs`:\n%s\n"):format(f[1], why))
    elseif why then
      local folder = f[1]:match "^(.*)/[^/]*$"
      if folder then os.execute(("mkdir -p '%s%s'"):format(root, folder)) end
      local file = assert(io.open(root .. f[1], "wb"))
      file:write(f[2])
      file:close()
      print("wrote " .. f[1])
    end
  end
  return failed and 1 or 0
end

if arg and arg[0] and arg[0]:find "docs%.lua$" then os.exit(docs.main(arg[1] == "--check")) end
return docs

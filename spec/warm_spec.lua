-- The cache keeps a compilation: a second process finds the plan, and gets the same of it.
local helper = require "spec.helper"

-- A recurrent net and Adam, over (i, t), with a callback and a random draw; a state goes from
-- process to process.
local source = [[
  local tempo = require "tempo"
  local P = tempo.program { seed = 3 }
  local i, t = P:dim "i", P:dim "t"
  local x = P:source(function(p) return p.i + p.t / 10 end, { domain = { i, t } })
  local w = P:param("w", { along = { i }, init = tempo.normal({ 4, 4 }, { name = "w" }) * 0.2, shape = { 4, 4 } })
  local layer = x
  for k = 1, 4 do
    local h, before = P:tensor { domain = { i, t }, shape = { 4 } }, layer
    h[{ t = 0 }] = tempo.normal({ 4 }, { domain = { i }, name = "h" .. k })
    h:otherwise((h[t - 1]:matmul(w) + before):tanh())
    layer = h
  end
  STOP
  local loss = (layer:sum() ^ 2)[{ t = 0 .. t:upper() }]:mean(0)
  tempo.optim.Adam({ w }, { lr = 0.01 }):step(loss)
  local f = P:compile { outputs = { loss = loss, y = layer:sum() }, OPTIONS }
  local hash = 0
  local function add(text) for k = 1, #text do hash = (hash * 31 + text:byte(k)) % 2^40 end end
  add(f:explain "plan")
  add(f:explain "work")
  if "TIER" == "native" then add(f:explain "code") end
  local out = f({}, { I = 5, T = 4 })
  for k = 0, 4 do io.write(("%.9g "):format(out.loss:get(k))) end
  local state = io.open("STATE", "rb")
  if state then
    state:close()
    f:load "STATE"
  else
    f:start({}, { I = 5, T = 4 })
    for _ = 1, 4 do f:step {} end
    f:save "STATE"
  end
  local done, step
  repeat done, step = f:step {} until done
  print(("%.9g"):format(step.loss:item()), hash)
  io.write(f:explain "passes")
  print((f:explain():gsub("%(%d+ spaces%); ms: schedule[^\n]*", "")))
  local made = io.popen("ls FOLDER | wc -l")
  io.stderr:write("files ", made:read "*n", "\n")
  made:close()
]]

describe("a program that is compiled again", function()
  for tier, options in pairs {
    interpreter = { "tick = { i, t }", "tick = { t, i }, check = 'none'",
      "tick = { i, t }, threads = 2", "tick = { i, t }, memory = 2^24, precise = true" },
    native = { "tick = { i, t }" },
  } do
    for _, option in ipairs(options) do
      it("is found by another process, " .. tier .. ", " .. option, function()
        local folder = os.tmpname()
        os.remove(folder)
        local text = source:gsub("%u%u%u%u+",
          { OPTIONS = option .. ", tier = '" .. tier .. "'", TIER = tier,
          STOP = option:find "t, i" and "P:stop(t, layer:sum():abs():gt(0.3))" or "",
          STATE = folder .. ".state", FOLDER = folder })
        local script = assert(io.open(folder .. ".lua", "w"))
        script:write(text)
        script:close()
        local function run()
          return helper.lua(folder .. ".lua", nil, ("export TEMPO_CACHE=%s; "):format(folder))
        end
        local first, second = run(), run()
        os.execute(("rm -rf %s %s.state %s.lua"):format(folder, folder, folder))
        assert.truthy(first:find("files " .. (tier == "native" and 3 or 1), 1, true), first)
        assert.equal(first, second)
      end)
    end
  end
end)

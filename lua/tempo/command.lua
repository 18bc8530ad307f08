-- bin/tempo: commands over scripts that call rl.train, over the folders of their runs, and over
-- language models.
local tempo = require "tempo"
local util = require "tempo.util"
local cli = require "tempo.cli"

local usage = [[
usage: tempo COMMAND ...

  train SCRIPT [options]                runs a script, which gets the options
  train ID [--algorithm ppo] [options]  runs examples/rl/ALGORITHM.lua on this environment
  play DIR [--episodes 1] [--seed 0] [--steps 0] [--every 1] [--delay 0.02] [--params best]
                                        draws episodes of the policy that a run has kept
  explain SCRIPT [--section schedule] [options]
                                        says what tempo makes of the script's program
  export DIR [--to DIR/policy] [--params best]
                                        writes the policy that a run has kept as C
  serve MODEL [--port 8080] [--host 127.0.0.1] [--slots 16] [--queue 128] [--name ..] [--key ..]
              [--dtype ..] [--max-length ..] [--threads ..]
                                        answers as OpenAI's server does, until Ctrl-C
  plot DIR... [--to curve.svg] [--column return] [--x steps] [--title ..]
                                        draws runs; of runs in one folder the mean, and a deviation
  generate MODEL "TEXT" [--tokens 64] [--temperature 0] [--top-k 0] [--top-p 1] [--min-p 0] [--seed 0]
        [--dtype bf16] [--stop TEXT]
                                        goes on with a text; MODEL is a folder of Hugging Face or a
                                        GGUF file

DIR is what `out =` of rl.train says. play and export want evaluate = { policy = .. } in the script.
]]

local commands = {}

local function fail(...)
  io.stderr:write("tempo: ", string.format(...), "\n")
  os.exit(2)
end

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

local function read(path)
  local text, message = util.read(path)
  if not text then fail("%s", message) end
  return text
end

-- Runs a script with these arguments, as the interpreter would.
local function run(script, args)
  local f, message = loadfile(script)
  if not f then fail("%s", message) end
  args[0] = script
  arg = args                                    -- luacheck: ignore 121
  local function traced(e)
    if type(e) == "string" then return debug.traceback(e, 2) end
    return tostring(e)
  end
  local ok, e = xpcall(function() f((table.unpack or rawget(_G, "unpack"))(args)) end, traced)
  if ok then return 0 end
  io.stderr:write("tempo: ", tostring(e), "\n")
  return 1
end

-- Takes `--name value` and `--name=value` out of the arguments for these names; the rest stays.
local function take(args, defaults)
  local opt, rest = {}, {}
  for name, v in pairs(defaults) do opt[name] = v end
  local k = 1
  while args[k] do
    local name, value = args[k]:match "^%-%-([%w_-]+)=?(.*)$"
    if name and defaults[name] ~= nil then
      if not args[k]:find("=", 1, true) then
        k = k + 1
        value = args[k] or fail("--%s needs a value", name)
      end
      opt[name] = value
    else
      rest[#rest + 1] = args[k]
    end
    k = k + 1
  end
  return opt, rest
end

-- ---- train, explain -----------------------------------------------------------------------------

-- The file of an algorithm: beside this program's tree, or where the library is installed.
local function algorithm(name, here)
  local near = here .. "/examples/rl/" .. name .. ".lua"
  if exists(near) then return near end
  local path = package.searchpath and package.searchpath("tempo.examples." .. name, package.path)
  return path or fail("there is no algorithm '%s': no file '%s'", name, near)
end

function commands.train(args, here)
  local what = table.remove(args, 1) or fail("train: which script or environment?\n\n%s", usage)
  if what:find "%.lua$" or exists(what) then return run(what, args) end
  local envs = tempo.rl.envs
  if not envs[what] then
    local near = util.nearest(what, envs)
    fail("train: '%s' is no script and no environment%s", what,
      near and "; did you mean '" .. near .. "'?" or "")
  end
  local opt, rest = take(args, { algorithm = "ppo" })
  local script = algorithm(opt.algorithm, here)
  local text = read(script)
  if text:find '[%s{]env = "' then
    rest[#rest + 1], rest[#rest + 2] = "--env", what
  elseif not text:find('"' .. what .. '"', 1, true) then
    fail("train: %s is written for another environment than %s", script, what)
  end
  return run(script, rest)
end

-- Calls f where the script compiles its first program, in the place of P:compile.
local function at_compile(f)
  local methods
  for k = 1, 9 do
    local _, v = debug.getupvalue(getmetatable(tempo.program()).__index, k)
    if type(v) == "table" and v.compile then methods = v end
  end
  local compile = methods.compile
  methods.compile = function(P, o)
    f(compile(P, o))
    os.exit(0, true)
  end
end

function commands.explain(args)
  local script = table.remove(args, 1) or fail("explain: which script?\n\n%s", usage)
  local opt, rest = take(args, { section = "" })
  package.loaded["tempo.rl.instead"] = function(P, env, o)          -- not the evaluation's program
    package.loaded["tempo.rl.instead"], o.evaluate = nil, nil
    return tempo.rl.train(P, env, o)
  end
  at_compile(function(f)
    print(f:explain(opt.section ~= "" and opt.section or nil))
  end)
  local status = run(script, rest)
  if status == 0 then fail("explain: %s compiled nothing", script) end
  return status
end

-- ---- serve --------------------------------------------------------------------------------------

-- nil for an option that was not given: 0 or "".
local function some(v)
  if v ~= 0 and v ~= "" then return v end
end

function commands.serve(args)
  local path = table.remove(args, 1) or fail("serve: which model?\n\n%s", usage)
  local o = cli(args, { port = 8080, host = "127.0.0.1", slots = 16, queue = 128, name = "",
    key = "", dtype = "", ["max-length"] = 0, threads = 0 }, "tempo serve MODEL")
  local m = tempo.llm.load(path, { dtype = some(o.dtype), max_length = some(o["max-length"]),
    threads = some(o.threads) })
  local name = some(o.name) or path:gsub("/+$", ""):match "[^/]*$"
  local server = tempo.llm.server(m, { port = o.port, host = o.host, slots = o.slots,
    queue = o.queue, name = name, key = some(o.key) })
  print(("tempo: %s answers at http://%s:%d/v1"):format(name, o.host, server:port()))
  io.stdout:flush()
  server:run()
  return 0
end

-- ---- play, export -------------------------------------------------------------------------------

-- The strings of the list "name":[..] in JSON that logger.json wrote.
local function list(text, name)
  local out = {}
  for s in (text:match('"' .. name .. '":(%b[])') or ""):gmatch '"(.-[^\\])"' do
    out[#out + 1] = s:gsub('\\(["\\])', "%1")
  end
  return out
end

-- Runs the script of a run again, where rl.train calls `instead` with the parameters that were
-- kept.
local function again(dir, params, instead)
  dir = dir:gsub("(.)/+$", "%1")
  if not exists(dir .. "/config.json") then
    fail("'%s' is no folder of a run: it has no config.json", dir)
  end
  local config = read(dir .. "/config.json")
  local words, folder = list(config, "command"), config:match '"folder":"(.-)"'
  local script = table.remove(words, 1) or fail("'%s/config.json' names no script", dir)
  if not exists(script) and folder then script = folder .. "/" .. script end
  local path = params:find "%.npz$" and params or dir .. "/" .. params .. ".npz"
  if not exists(path) and params == "best" then path = dir .. "/last.npz" end
  if not exists(path) then fail("there is no '%s': keep = { net } of rl.train leaves it", path) end
  package.loaded["tempo.rl.instead"] = function(P, env, o)
    if not (o.evaluate and o.keep) then
      fail("rl.train in %s lacks keep = { net } or evaluate = { policy = function(env, net) }",
        script)
    end
    instead(P, env, o, tempo.load(path), config)
    os.exit(0, true)
  end
  if run(script, words) == 0 then fail("%s did not call rl.train", script) end
  return 1
end

local function first(x, levels)
  for _ = 1, levels do x = x[1] end
  return x
end

local function show(config, obs, step, total, o)
  local lines = require "tempo.rl.draw".lines(config:match '"environment":"(.-)"', obs)
  print(("step %d  return %g"):format(step, total))
  print(table.concat(lines, "\n"))
  io.stdout:flush()
  local wake = tempo.clock() + o.delay
  while tempo.clock() < wake do end
end

function commands.play(args)
  local dir = table.remove(args, 1) or fail("play: which folder?\n\n%s", usage)
  local o = cli(args, { episodes = 1, seed = 0, steps = 0, every = 1, delay = 0.02,
    params = "best" },
    "tempo play DIR")
  return again(dir, o.params, function(P, env, given, params, config)
    local f, bounds = require "tempo.rl.evaluate".played(P, env, given.evaluate, given.keep,
      given.bounds)
    f:load_params(params, { strict = false })
    bounds.episodes = o.episodes
    if o.steps > 0 then bounds.steps = o.steps end
    local out = f({}, bounds, { seed = o.seed })
    local levels = #out.reward:shape() - 2
    local obs, reward, done = first(out.obs:totable(), levels), first(out.reward:totable(), levels),
      first(out.done:totable(), levels)
    for e = 1, o.episodes do
      local total = 0
      for s = 1, #reward[e] do
        if (s - 1) % math.max(o.every, 1) == 0 and o.every > 0 then
          show(config, obs[e][s], s - 1, total, o)
        end
        total = total + reward[e][s]
        if done[e][s] or s == #reward[e] then
          print(("episode %d: return %g after %d steps"):format(e, total, s))
          break
        end
      end
    end
  end)
end

function commands.export(args)
  local dir = table.remove(args, 1) or fail("export: which folder?\n\n%s", usage)
  local o = cli(args, { to = "", params = "best" }, "tempo export DIR")
  local to = o.to ~= "" and o.to or dir:gsub("/+$", "") .. "/policy"
  return again(dir, o.params, function(P, env, given, params)
    local f = require "tempo.rl.evaluate".acting(P, env, given.evaluate, given.keep)
    f:load_params(params, { strict = false })
    f:export(to)
    print(("wrote %s.c, .h, .weights and _main.c: obs in, action out"):format(to))
  end)
end

-- ---- plot ---------------------------------------------------------------------------------------

function commands.plot(args)
  local o, folders = take(args, { to = "curve.svg", column = "return", x = "steps", title = "" })
  if #folders == 0 then fail("plot: which folders?\n\n%s", usage) end
  for _, folder in ipairs(folders) do
    if folder:find "^%-%-" then fail("plot: unknown option %s", folder) end
  end
  o.title = o.title ~= "" and o.title or nil
  local svg = require "tempo.rl.plot".svg(folders, o)
  require "tempo.rl.record".write(o.to, svg)
  print("wrote " .. o.to)
  return 0
end

-- ---- language models --------------------------------------------------------------------------

function commands.generate(args)
  local path = table.remove(args, 1) or fail("generate: which model?\n\n%s", usage)
  local prompt = table.remove(args, 1) or fail("generate: which text?\n\n%s", usage)
  local o = cli(args, { tokens = 64, temperature = 0, ["top-k"] = 0, ["top-p"] = 1, ["min-p"] = 0,
    seed = 0, dtype = "", stop = "" }, 'tempo generate MODEL "TEXT"')
  local m = tempo.llm.load(path, { dtype = o.dtype ~= "" and o.dtype or nil })
  m:generate(prompt, { max_tokens = o.tokens, temperature = o.temperature, top_k = o["top-k"],
    top_p = o["top-p"], min_p = o["min-p"], seed = o.seed, stop = o.stop ~= "" and o.stop or nil,
    on_token = function(_, text)
      io.write(text)
      io.flush()
    end })
  print()
  return 0
end

--- Runs the command; returns the status to end with.
return function(args, here)
  local words = {}
  for k, word in ipairs(args) do words[k] = word end
  local name = table.remove(words, 1)
  if not name or name == "help" or name == "--help" or name == "-h" then
    io.write(usage)
    return name and 0 or 2
  end
  local command = commands[name]
  if not command then
    local near = util.nearest(name, commands)
    fail("unknown command '%s'%s\n\n%s", name, near and "; did you mean '" .. near .. "'?" or "",
      usage)
  end
  local ok, e = pcall(command, words, here)
  if ok then return e end
  io.stderr:write("tempo: ", tostring(e), "\n")
  return 1
end

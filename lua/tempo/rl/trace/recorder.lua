-- Records a game's functions. A function runs along the ways through it (paths.lua): a condition
-- that a run does not decide is answered "yes" and run again with "no", and what the two make is
-- joined by `where`.
local util = require "tempo.util"
local builtins = require "tempo.rl.trace.builtins"
local code = require "tempo.rl.trace.code"
local graph = require "tempo.rl.trace.graph"
local outside = require "tempo.rl.trace.outside"
local paths = require "tempo.rl.trace.paths"
local shape = require "tempo.rl.trace.shape"
local symbols = require "tempo.rl.trace.symbols"

local recorder = {}
recorder.__index = recorder

local jit = rawget(_G, "jit")
local getinfo, getlocal, setlocal = debug.getinfo, debug.getlocal, debug.setlocal
local unpack = table.unpack or unpack       -- luacheck: globals unpack
-- they are replaced
local pcall, rawequal, select = pcall, rawequal, select
local id_of, kind_of = symbols.id_of, symbols.kind_of

-- Limits of one run of a function. A hook costs what the stack is deep, so deep ones are refused.
-- Instructions are counted at hooks: each jump back has one. (Lua's own count goes on inside of the
-- hook, where no event is seen.)
local limits = { instructions = 1000000, depth = 2000 }

-- ---- errors -------------------------------------------------------------------------------------

local here = getinfo(1, "S").source:match "^(.*)trace[/\\]recorder%.lua$"

local function is_ours(f)
  return getinfo(f, "S").source:find(here, 1, true) == 1
end

-- Finds the place in the game: the innermost frame that is neither C nor a library of ours.
local function game_place()
  local level = 3
  while true do
    local info = getinfo(level, "Sl")
    if not info then return end
    if info.source == code.mark then return code.place(info.currentline) end
    if info.what ~= "C" and info.source:find(here, 1, true) ~= 1 then
      return info.short_src, info.currentline
    end
    level = level + 1
  end
end

-- Ends a recording: the reason stays in the recorder, so that a game's own pcall cannot hide it.
local function give_up(self, file, line, text)
  self.failure = self.failure or { file = file, line = line, text = text }
  error(self.failure, 0)
end

-- Lua's own message with a copy's line as the script's.
local function translated(message)
  local mark = code.mark:sub(2)
  local line, rest = message:match("^" .. mark:gsub("%p", "%%%0") .. ":(%d+): (.*)$")
  if line then
    local file, at = code.place(tonumber(line))
    return file, at, rest
  end
  local file, at, other = message:match "^(.-):(%d+): (.*)$"
  if file then return file, tonumber(at), other end
  return nil, nil, message
end

-- ---- the hook -----------------------------------------------------------------------------------

local look = {}

function look.test(self, site)
  local _, v = getlocal(3, site.a)
  local id = id_of(v)
  if id and self.graph.kinds[id] == "boolean" then setlocal(3, site.a, self.ask(id)) end
end

function look.index(self, site)
  local _, v = getlocal(3, site.a)
  if id_of(v) then self.refuse_value(v, symbols.index_text) end
end

function look.bound(self, site)
  for k = 0, 2 do
    local _, v = getlocal(3, site.a + k)
    if id_of(v) then
      self.refuse_value(v, "a traced %s as the bound of a `for`: loop up to a constant, and leave "
        .. "with `break` where the number is reached")
    end
  end
end

-- Closures are numbered in the order in which a run makes them.
function look.closure(self, site) self.closures, self.making = self.closures + 1, site.a end

-- Lua 5.4 compares a table with a number without asking. If they are equal the register holds
-- the other value while the instruction runs; where two traced ones differ, nothing.
function look.equal(self, site)
  local _, a = getlocal(3, site.a)
  local b = site.constant
  if site.b then _, b = getlocal(3, site.b) end
  if not (id_of(a) or id_of(b)) then return end
  local at, old, new = site.a, a, nil
  if symbols.equal(a, b) then
    if id_of(b) then at, old, new = site.b, b, a else new = b end
    if rawequal(a, b) then return end
  elseif not (id_of(a) and id_of(b)) then
    return
  end
  setlocal(3, at, new)
  self.borrowed = { at, old }
end

-- Is it a function that must not be called, because nothing is replaced in it?
local function check_call(self)
  self.calls = self.calls + 1
  if self.calls % limits.depth == 0 and getinfo(limits.depth, "l") then
    self.refuse("more than %d calls inside one another in '%s': a function that calls itself "
      .. "without an end", limits.depth, self.what)
  end
  local f = getinfo(3, "f").func
  if self.safe[f] then return end
  local info = getinfo(f, "S")
  if not (info.what == "C" or info.source == code.mark or self.outside:knows(f) or is_ours(f)) then
    self.refuse("the function at %s:%d cannot be watched while the game is recorded: call it by "
      .. "a local variable, a global, or a field of a table that these hold", info.short_src,
      info.linedefined)
  end
  self.safe[f] = true
end

-- Suspects the line before the one at which a change outside the state is seen.
local function suspect(self, level)
  local info = getinfo(level, "Sl")
  if info.source:find(here, 1, true) == 1 then return end
  if self.outside:changed() and not self.culprit then self.culprit = self.previous end
  local file, line = info.short_src, info.currentline
  if info.source == code.mark then file, line = code.place(line) end
  self.previous = { file, line }
end

local function hook(event, line)
  local self = symbols.recorder()
  if event == "line" then
    if code.sites[line] then self.count = self.count + 1 end
    if self.count > limits.instructions and not self.failure then
      self.refuse("more than %d instructions in one run of '%s': a loop that does not end, or "
        .. "whose end is not known while it is recorded; loop up to a constant, and leave with "
        .. "`break`", limits.instructions, self.what)
    end
    local site, lent = code.sites[line], self.borrowed
    if site and lent then
      self.borrowed = nil
      setlocal(2, lent[1], lent[2])
    end
    if self.making then
      self.ids[select(2, getlocal(2, self.making))], self.making = self.closures, nil
    end
    if site and site.flow then paths.arrive(self, line) end
    if site and site.op then look[site.op](self, site) end
    if self.previous then suspect(self, 3) end
  else
    check_call(self)
  end
end

-- ---- paths --------------------------------------------------------------------------------------

-- The line that most paths come from.
local function busiest(self)
  local best
  for _, p in pairs(self.places) do
    if not best or p.n > best.n or p.n == best.n and p.line < best.line then best = p end
  end
  return best
end

local function too_many(self)
  local p, doubt = busiest(self), self.doubt
  if doubt then give_up(self, doubt.file, doubt.line, doubt.text) end
  give_up(self, p.file, p.line,
    ("'%s' has more than %d paths, and most come from this line: compute with math.min, math.max "
      .. "and numbers 0 and 1 in place of an `if`, leave loops with `break`, or give paths = N")
      :format(self.what, self.limit))
end

--- A recorder. limit: paths of one function at most.
function recorder.new(limit)
  local safe = setmetatable({}, { __mode = "k" })
  local self = setmetatable({ graph = graph.new(), limit = limit, safe = safe, draws = {},
    paths = {} }, recorder)
  self.outside = outside.new(builtins.replacements(), is_ours)
  for name, lib in pairs(package.loaded) do
    if name == "tempo" or name:find "^tempo%." then self.outside.seen[lib] = true end
  end
  local function refuse(id, text)
    local file, line = game_place()
    if paths.excuse(self, { file = file, line = line, text = text }, id) then paths.leave(self) end
    give_up(self, file, line, text)
  end
  function self.refuse(text, ...) refuse(nil, text:format(...)) end
  --- A traced value where none can be: %s of the text is its kind.
  function self.refuse_value(v, text) refuse(id_of(v), text:format(kind_of(v))) end
  function self.noted()
    local file, line = game_place()
    local place = tostring(file) .. ":" .. tostring(line)
    self.places[place] = self.places[place] or { file = file, line = line, n = 0 }
    self.places[place].n = self.places[place].n + 1
  end
  function self.drew(n) self.draws[self.what] = math.max(self.draws[self.what] or 0, n) end
  function self.is_known(v) return self.outside:knows(v) or self.outside.seen[v] ~= nil end
  function self.ask(c) return paths.ask(self, c) end
  function self.too_many() too_many(self) end
  function self.watch() debug.sethook(hook, "cl") end
  function self.draw() return paths.draw(self) end
  return self
end

-- Calls fn under the hook, then finish(whether it ended well, its results or its error).
local function call(self, fn, given, finish)
  paths.start(self)
  self.given, self.borrowed, self.count, self.calls = given, nil, 0, 0
  self.watching = true
  self.watch()
  local function off(...)
    self.watching = false
    debug.sethook()
    return finish(...)
  end
  return off(pcall(fn, unpack(given, 1, given.n)))
end

-- The same run again, to find the line that changes what is outside the state.
local function blame(self, fn, arguments, changed)
  local info = getinfo(self.original, "S")
  self.previous = { info.short_src, info.linedefined }
  call(self, fn, arguments(), function() end)
  local at = self.culprit or self.previous
  self.outside:changed()
  give_up(self, at[1], at[2],
    ("'%s' writes %s: only the state that it is given may change; keep it there")
    :format(self.what, changed))
end

-- One run. Returns what `after` makes of the results; nil: it was left.
local function run(self, fn, arguments, after)
  local n = self.paths[self.what] + 1
  self.paths[self.what] = n
  if n > self.limit then self.too_many() end
  local given = arguments()
  local out = call(self, fn, given, function(ok, ...)
    if self.failure then error(self.failure, 0) end
    if self.stopped then return nil end
    if not ok then
      local file, line, text = translated(tostring((...)))
      text = ("'%s' raised an error while it was recorded: %s"):format(self.what, text)
      if paths.excuse(self, { file = file, line = line, text = text }) then return nil end
      give_up(self, file, line, text)
    end
    return after(given, ...)
  end)
  local changed = self.outside:changed()
  if changed and out then blame(self, fn, arguments, changed) end
  return out
end

local function all_paths(self, fn, arguments, after)
  return paths.explore(self, function() return run(self, fn, arguments, after) end)
end

-- ---- a game -------------------------------------------------------------------------------------

-- Says what is wrong with the function as a whole.
local function reject(self, text, ...)
  local info = getinfo(self.original, "S")
  give_up(self, info.short_src, info.linedefined, ("'%s' " .. text):format(self.what, ...))
end

-- The node of a result: what it must be, and what it is called in an error.
local function result(self, v, kind, what)
  if kind == "boolean" and v == nil then v = false end
  if kind_of(v) ~= kind then
    local got = v == nil and "nothing" or "a " .. kind_of(v)
    reject(self, "returns %s as %s: a %s is wanted", got, what, kind)
  end
  return id_of(v) or self.graph:const(v)
end

local function describe(self, state)
  return shape.of(state, kind_of, self.is_known, function(text, ...) reject(self, text, ...) end)
end

-- The nodes of a state that must be built as `model` is.
local function state_nodes(self, state, model)
  local now = describe(self, state)
  local want, got = shape.differ(model, now)
  if want then
    reject(self, "leaves a state of another build: %s, and on another path or after reset %s; set "
      .. "every field in reset, keep its kind, and mark what is gone by a boolean", got, want)
  end
  local ids = {}
  for k, v in ipairs(now.values) do ids[k] = id_of(v) or self.graph:const(v) end
  return ids
end

local function phase(self, what, f)
  self.what, self.original, self.paths[what] = what, f, 0
  return self.outside:watched(f)
end

local function record_reset(self, game)
  local model
  local function empty() return { {}, n = 1 } end
  local ids = all_paths(self, phase(self, "reset", game.reset), empty, function(given)
    model = model or describe(self, given[1])
    return state_nodes(self, given[1], model)
  end)
  return ids, model
end

local function leaves(self, model)
  local list = {}
  for k, path in ipairs(model.paths) do
    list[k] = self.graph:leaf("state", k .. " " .. path, model.kinds[k])
  end
  return list
end

local function record_step(self, game, model, fields, actions)
  local n = #fields
  return all_paths(self, phase(self, "step", game.step), function()
    local given = { shape.build(model, fields), n = 1 + #actions }
    for k, a in ipairs(actions) do given[k + 1] = a end
    return given
  end, function(given, reward, terminated, truncated)
    local ids = state_nodes(self, given[1], model)
    ids[n + 1] = result(self, reward, "number", "the reward")
    ids[n + 2] = result(self, terminated, "boolean", "terminated")
    ids[n + 3] = result(self, truncated, "boolean", "truncated")
    return ids
  end)
end

local function record_observe(self, game, model, fields)
  local count
  local ids = all_paths(self, phase(self, "observe", game.observe), function()
    return { shape.build(model, fields), n = 1 }
  end, function(given, ...)
    local out, list = state_nodes(self, given[1], model), { ... }
    for k, v in ipairs(out) do
      if v ~= id_of(fields[k]) then
        reject(self, "writes '%s': it may only look", model.paths[k])
      end
    end
    if select("#", ...) == 1 and kind_of(list[1]) == "table" then list = list[1] end
    count = count or #list
    if count == 0 then reject(self, "returns nothing") end
    if #list ~= count then
      reject(self, "returns %d numbers on one path and %d on another", count, #list)
    end
    local seen = {}
    for k = 1, count do
      local v = list[k]
      if kind_of(v) == "boolean" then
        local g = self.graph
        seen[k] = g:where(id_of(v) or g:const(v), g:const(1), g:const(0))
      else
        seen[k] = result(self, v, "number", "an observation")
      end
    end
    return seen
  end)
  if (self.draws.observe or 0) > 0 then
    reject(self, "draws: draw in step and keep the number in the state")
  end
  return ids
end

--- Records a game: `actions` are traced values that step gets. Returns { graph =, paths =, draws
--- =, model = (the state's build), reset =, fields =, step =, observe = (lists of nodes) }; step
--- ends in reward, terminated, truncated.
function recorder:record(game, action_nodes)
  local got = { graph = self.graph, paths = self.paths, draws = self.draws }
  local was = { debug.gethook() }
  local on = jit and jit.status()
  if on then jit.off() end
  symbols.use(self)
  local ok, e = pcall(function()
    for _, what in ipairs { "reset", "step", "observe" } do self.outside:watched(game[what]) end
    self.outside:remember()
    got.reset, got.model = record_reset(self, game)
    got.fields = leaves(self, got.model)
    local fields, actions = {}, {}
    for k, id in ipairs(got.fields) do fields[k] = symbols.wrap(id) end
    for k, id in ipairs(action_nodes) do actions[k] = symbols.wrap(id) end
    got.step = record_step(self, game, got.model, fields, actions)
    got.observe = record_observe(self, game, got.model, fields)
  end)
  debug.sethook(unpack(was))
  if self.outside.held then self.outside:changed() end
  self.outside:restore()
  symbols.use(nil)
  if on then jit.on() end
  if ok then return got end
  local f = self.failure
  if not f then error(e, 0) end
  local original = self.original and getinfo(self.original, "S")
  util.fail_at(f.file or original and original.short_src, f.line or original
    and original.linedefined, "option",
    "rl.trace: %s", f.text)
end

return recorder

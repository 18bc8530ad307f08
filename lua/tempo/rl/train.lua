-- Runs of learning: rl.train compiles a program, goes through its iterations, and keeps what is
-- worth keeping.
local tempo = require "tempo"
local util = require "tempo.util"
local logger = require "tempo.logger"
local record = require "tempo.rl.record"
local returns = require "tempo.rl.returns"
local evaluate = require "tempo.rl.evaluate"
local checkpoint = require "tempo.rl.checkpoint"

local rl = {}

-- ---- what a row is made of ----------------------------------------------------------------------

-- The sum of x over all its dims but i, those that may end by data first: `time`.
local function total(x, i, time)
  local function over(d)
    if util.dimset(x)[d] and d ~= i then x = x:at { [d] = tempo.range(0, d:upper()) }:sum(0) end
  end
  over(time)
  for _, d in ipairs(x:domain()) do over(d) end
  return x
end

-- The mean of a tensor over all its dims but i and over its axes; a number, an index expression.
local function mean(P, x, i, time)
  if not util.is_tensor(x) then return util.lift(P, x):to "f64" end
  local dims = 0
  for _, d in ipairs(x:domain()) do
    if d ~= i then dims = dims + 1 end
  end
  x = x:to "f64"
  if #x:shape() > 0 then x = x:mean() end
  if dims == 0 then return x end
  return total(x, i, time) / total(tempo.ones({}, { dtype = "f64", domain = { x } }), i, time)
end

-- Columns that a script asks for, in the order of their names; a table in it gives "name.key".
local function columns_of(log, prefix, out)
  local names = {}
  for name in pairs(log) do
    names[#names + 1] = util.expect("rl.train: log: a name", "string", name)
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local x, full = log[name], prefix .. name
    if type(x) == "table" and getmetatable(x) == nil then
      columns_of(x, full .. ".", out)
    else
      out[#out + 1] = { name = full, value = x }
    end
  end
  return out
end

local defaults = { "iteration", "return", "episodes", "steps", "steps_per_second", "seconds" }

-- The program's part of a row: numbers at each point of i, handed to `take` as a list: the sum of
-- the returns of episodes that ended, how many did, steps, the return so far where episodes begin
-- anew in each iteration, then each column.
local function record_row(P, env, i, columns, take)
  local t, score = env.time, returns.episode_return(env):to "f64"
  local done = env.done:to "f64"
  local ones = tempo.ones({}, { dtype = "f64", domain = { score } })
  local cut = t ~= i and not env.carry
  local values = { total(score * done, i, t), total(done, i, t), total(ones, i, t),
    cut and mean(P, score:at { [t] = t:upper() - 1 }, i, t) or tempo.zeros({}, { dtype = "f64" }) }
  for _, c in ipairs(columns) do
    if type(c.value) ~= "function" then
      values[#values + 1] = mean(P, c.value, i, t)
      c.at = #values
    end
  end
  P:sink({ tempo.stack(values, 0) + 0 * i:value() }, function(arrays) take(arrays[1]:totable()) end)
  return cut
end

-- ---- rows ---------------------------------------------------------------------------------------

-- Makes rows of what the program gives: over `every` iterations returns and steps add up, columns
-- are means.
local Rows = {}
Rows.__index = Rows

local function new_rows(columns, every)
  return setmetatable({ columns = columns, every = every, iteration = 0, steps = 0, seconds = 0,
    score = 0 / 0,
    count = 0, sums = {}, ready = {} }, Rows)
end

-- Gives what a checkpoint keeps of them; go_on takes it back.
function Rows:now()
  return { iteration = self.iteration, steps = self.steps, score = self.score, count = self.count,
    sums = self.count > 0 and self.sums or nil,
      seconds = self.seconds + logger.clock() - self.began }
end

function Rows:go_on(now)
  for _, key in ipairs { "iteration", "steps", "score", "count", "seconds" } do
    self[key] = now[key]
  end
  self.sums = now.sums or {}
end

function Rows:take(numbers)
  self.count, self.iteration = self.count + 1, self.iteration + 1
  for k, v in ipairs(numbers) do self.sums[k] = (self.sums[k] or 0) + v end
  if self.count == self.every then self:flush() end
end

-- Makes the row of what has come since the last one.
function Rows:flush()
  if self.count == 0 then return end
  local sums, count, seconds = self.sums, self.count, logger.clock() - self.began
  self.count, self.sums = 0, {}
  if sums[2] > 0 then
    self.score = sums[1] / sums[2]
  elseif self.cut then
    self.score = sums[4] / count
  end
  local row = { iteration = self.iteration - 1, ["return"] = self.score,
    episodes = math.floor(sums[2]),
    steps = math.floor(self.steps + sums[3]), steps_per_second = sums[3] / math.max(seconds, 1e-9),
    seconds = self.seconds + seconds }
  self.steps, self.seconds, self.began = row.steps, row.seconds, self.began + seconds
  for _, c in ipairs(self.columns) do
    if c.at then row[c.name] = sums[c.at] / count end
  end
  self.ready[#self.ready + 1] = row
end

-- ---- when to stop, what is best -----------------------------------------------------------------

-- The mean of the last n values of a column; nil before there are n, and where one is NaN.
local function recent(history, name, n)
  local sum, count, k = 0, 0, #history
  while k > 0 and count < n do
    local v = history[k][name]
    if v == v and v ~= nil then sum, count = sum + v, count + 1
    elseif name ~= "evaluation" then return nil end
    k = k - 1
  end
  return count == n and sum / n or nil
end

-- A function of the history that says why the run is to stop, or nil.
local function stopping(o, measure)
  if o == nil then return function() end end
  if type(o) == "function" then
    return function(history) return o(history[#history], history) and "stop" end
  end
  if type(o) == "number" then o = { at = o } end
  o = util.options("rl.train: stop", o, "at window patience of")
  util.expect_options("rl.train: stop", "count", o, "window patience")
  util.expect_options("rl.train: stop", "number", o, "at")
  local of, window = o.of or measure.of, o.window or measure.window
  local best, best_at = -math.huge, 0
  return function(history)
    local v = recent(history, of, window)
    if not v then return end
    if v > best then best, best_at = v, #history end
    if o.at and v >= o.at then return ("%s reached %g"):format(of, o.at) end
    if o.patience and #history - best_at >= o.patience then
      return ("%s no better for %d rows"):format(of, o.patience)
    end
  end
end

-- ---- the run ------------------------------------------------------------------------------------

local own = "bounds outputs inputs log out keep quiet evaluate checkpoint every iteration seed "
  .. "stop resume"
local compiling = "tier device threads memory passes precise reproducible check cflags"

-- The dim whose points are iterations: the one that is named, that environments are carried along,
-- that the modules kept evolve along first, or the outermost.
local function iteration_of(env, o)
  if o.iteration then return util.expect("rl.train: iteration", "dim", o.iteration) end
  if env.carry then return env.carry end
  local has = {}
  for _, d in ipairs(env.domain) do has[d] = true end
  for _, module in ipairs(o.keep or {}) do
    for _, w in ipairs(module:parameters()) do
      local first = w:along()[1]
      if first and has[first] then return first end
    end
  end
  return env.domain[1]
end

local function check(P, env, o)
  util.program("rl.train", P)
  if type(env) ~= "table" or not env.time or not env.domain then
    util.fail("option", "rl.train: expected an environment after the program, got a %s", type(env))
  end
  o = util.options("rl.train", o, own .. " " .. compiling)
  if type(o.bounds) ~= "table" then
    util.fail("option", "rl.train: bounds are missing; write bounds = { I = 100, B = 8, T = 32 }")
  end
  util.expect_options("rl.train", "table", o, "inputs outputs log keep")
  util.expect_options("rl.train", "boolean", o, "quiet resume")
  util.expect_options("rl.train", "count", o, "checkpoint every")
  if o.out then util.expect("rl.train: out", "string", o.out) end
  if o.out == "" then o.out = nil end
  if o.checkpoint and not o.out then
    util.fail("option", "rl.train: checkpoint wants a folder for its file: out = \"DIR\"")
  end
  if o.keep and o.keep.parameters then o.keep = { o.keep } end
  for _, module in ipairs(o.keep or {}) do
    if type(module) ~= "table" or not module.parameters then
      util.fail("option", "rl.train: keep is a list of modules, keep = { policy }, not of a %s",
        type(module))
    end
  end
  return o
end

local Run = {}
Run.__index = Run

-- Finds the inputs that f:step is given, which have i among their dims: arrays with a row for each
-- point of i, or functions.
function Run:feed()
  local feeds, fed, rest = getmetatable(tempo).feeds, {}, {}
  for name, v in pairs(self.o.inputs or {}) do
    if feeds(self.f, name) then fed[name] = v else rest[name] = v end
  end
  self.fed = fed
  return rest
end

function Run:values(k)
  local values = {}
  for name, v in pairs(self.fed) do
    if type(v) == "function" then values[name] = v(k)
    elseif type(v) == "table" then values[name] = v[k + 1]
    elseif type(v) == "userdata" then values[name] = v[k] else values[name] = v end
  end
  return values
end

-- Begins the run, or goes on from the checkpoint in its folder.
function Run:begin()
  local o, now = self.o, nil
  if o.checkpoint and o.resume ~= false then
    now, self.history = checkpoint.find(o.out, o.bounds)
  end
  self.history = self.history or {}
  local rest = self:feed()
  if now then
    self.f:load(o.out .. "/" .. now.state)
    self.rows:go_on(now)
    self.state, self.done = now.state, now.ticks
    self.evaluated = #self.history > 0 and self.history[#self.history].iteration + 1 or 0
    if now.best == now.best then
      local there, params = pcall(tempo.load, o.out .. "/best.npz")
      self.best, self.history.best = now.best, { iteration = now.best_at,
        [self.measure.of] = now.best, params = there and params or nil }
    end
    for k = 1, #self.history do                             -- as it was when the rows came
      local part = {}
      for j = 1, k do part[j] = self.history[j] end
      self.stop(part)
    end
  else
    self.f:start(rest, o.bounds, { seed = o.seed })
    self.done = 0
  end
  self.folder = record.folder(o.out or false, self.names, self.history)
  self.folder:write("config.json", record.configuration(self.configuration))
  if now and not o.quiet then
    print(("goes on from iteration %d, as '%s/checkpoint.json' says"):format(now.iteration, o.out))
  end
  self.rows.open, self.rows.began = true, logger.clock()
end

-- Completes the first row that is ready and shows it. Ctrl-C in an evaluation leaves it ready.
function Run:row(row)
  local evaluation = self.evaluation
  for _, c in ipairs(self.columns) do
    if type(c.value) == "function" then row[c.name] = c.value(row.iteration, row) end
  end
  if evaluation then
    local function turn(k) return math.floor(k / evaluation.every) end
    local due = turn(row.iteration + 1) > turn(self.evaluated)
    row.evaluation = due and evaluation:score(self.f, row) or 0 / 0
    self.evaluated = row.iteration + 1
  end
  self.history[#self.history + 1] = table.remove(self.rows.ready, 1)
  self.folder:row(row)
  self.progress:row(row)
end

-- Keeps the parameters if they are the best so far.
function Run:keep()
  local measure = self.measure
  local v = self.o.keep and recent(self.history, measure.of, measure.window)
  if not v or v <= self.best then return end
  local row = self.history[#self.history]
  if measure.of == "evaluation" and row.evaluation ~= row.evaluation then return end
  self.best = v
  local params = self.f:params { of = self.o.keep }
  self.history.best = { iteration = row.iteration, [measure.of] = v, params = params }
  self.folder:save("best.npz", params)
end

function Run:show()
  local ready = self.rows.ready
  while ready[1] do
    self:row(ready[1])
    self:keep()
    self.why = self.why or self.stop(self.history)
  end
end

function Run:save()
  local now = self.rows:now()
  now.best, now.ticks = self.best, self.done
  now.best_at = self.history.best and self.history.best.iteration
  self.folder:try(function()
    self.state = checkpoint.save(self.o.out, self.f, now, self.o.bounds, self.state)
  end)
end

-- Goes through the iterations. A step removes late_ms from the table it writes into: while there is
-- one, the function is inside an iteration and has no state.
function Run:go()
  local every, options = self.o.checkpoint, { into = self.out, whole = true }
  self:begin()
  local done
  repeat
    local values = self:values(self.done)
    self.out.late_ms, self.done = "a step is going on", self.done + 1
    done = self.f:step(values, options)
    if done then self.rows:flush() end
    self:show()
    if self.out.cancelled then self.why = "cancelled" end
    if every and self.done % every == 0 and not done and not self.why then self:save() end
  until done or self.why
end

-- Ctrl-C: saves where the run is, if that is between two iterations, and says whether it was over.
function Run:interrupt()
  self.why = "interrupted"
  if not self.folder or self.out.late_ms then return false end
  self:show()
  local over = self.done == self.o.bounds[self.bound]
  if self.o.checkpoint and not over then self:save() end
  return over
end

-- Leaves what there is in the folder, however the run ended.
function Run:finish(over)
  self.rows.open = false
  if not self.folder then return end
  if over and self.o.checkpoint then checkpoint.remove(self.o.out, self.state) end
  local ok, params = pcall(self.f.params, self.f)
  if ok then self.folder:save("last.npz", params) end
  self.folder:close(self.history)
  self.progress:close(self.why and "ended: " .. self.why)
  self.out.late_ms = nil
  self.history.stopped, self.history.failed = self.why, self.folder.failed
end

--- Compiles the program and runs it, iteration by iteration (the points of `iteration`), with a row
--- of numbers for each:
---   iteration, steps (so far), steps_per_second, seconds
---   return      the mean over the episodes that ended in it; where none did, the one before
---   episodes    how many did
---   the columns of log, and evaluation
--- Options:
---   bounds      by name, as for a call
---   outputs     as for P:compile
---   inputs      as for a call; for one that has the iteration among its dims also a function(i)
---   log         { name = x }: a tensor's mean over all but the iteration, a number, an index
---               expression, function(i, row); a table of these gives columns "name.key"
---   out         a folder for metrics.csv, metrics.jsonl, TensorBoard's events, config.json,
---               curve.svg, last.npz (all parameters and moments at the end)
---   keep        { modules }: their parameters where they did best go into best.npz, and into
---               history.best
---   evaluate    { every = 10, policy = function(env, net, ..) return action end, episodes = 10,
---               steps =, seed =, env = }: whole episodes in a copy of the environment, by copies
---               of the modules in keep; or { score = function(f, row) return number end }
---   stop        ends the run: the return that is enough (of the last 10 rows, or of one
---               evaluation), { at =, window =, patience = rows without a better one, of = its
---               column }, or function(row, history)
---   checkpoint  iterations between two checkpoints. A run that was killed goes on from the last
---               one, with the numbers of one that was not, when the script runs again;
---               resume = false begins anew
---   every       iterations of one row (1; 1000 where the iteration is the environment's time)
---   quiet       prints nothing
---   iteration   the dim (the one that environments are carried along, else the first along which
---               what is kept evolves, else the environment's outermost)
---   seed, and options of P:compile: tier device threads memory passes precise reproducible check
---               cflags
--- Ctrl-C ends the run early and returns what there is. A file that cannot be written is told on
--- stderr and the run goes on; history.failed says it.
---@param P tempo.Program
---@param env tempo.rl.Env
---@param o table
---@return tempo.Function the compiled function, with the newest parameters
---@return table[] the history: a row for each line of metrics.csv, by column; `best`, `stopped`
---@return table the outputs that the last iteration gave
function rl.train(P, env, o)
  o = check(P, env, o)
  local instead = package.loaded["tempo.rl.instead"]        -- bin/tempo play, explain, export
  if instead then return instead(P, env, o) end
  local i = iteration_of(env, o)
  local run = setmetatable({ o = o, columns = columns_of(o.log or {}, "", {}), names = {},
    best = -math.huge,
    evaluated = 0, out = {}, bound = i:upper():name() }, Run)
  local has = {}
  local function name(n)
    if not has[n] then run.names[#run.names + 1], has[n] = n, true end
  end
  for _, n in ipairs(defaults) do name(n) end
  for _, c in ipairs(run.columns) do name(c.name) end
  if o.evaluate then
    run.evaluation = evaluate.new(P, env, o.evaluate, o.keep, o.bounds, o)
    name "evaluation"
  end
  if o.out then logger.mkdir(o.out) end
  run.measure = o.evaluate and { of = "evaluation", window = 1 } or { of = "return", window = 10 }
  run.stop = stopping(o.stop, run.measure)
  run.rows = new_rows(run.columns, o.every or (i == env.time and 1000 or 1))
  run.rows.cut = record_row(P, env, i, run.columns, function(numbers)
    if run.rows.open then run.rows:take(numbers) end
  end)
  local options = { outputs = o.outputs, tick = i }
  for n in compiling:gmatch "%S+" do options[n] = o[n] end
  run.configuration = { bounds = o.bounds, seed = o.seed or P:seed(), iteration = i:name(),
    environment = env.id,
    every = run.rows.every, checkpoint = o.checkpoint, columns = run.names, device = o.device,
      tier = o.tier }
  run.progress = record.progress(o.bounds[run.bound] or math.huge, o.quiet)
  run.f = P:compile(options)
  local ok, e = pcall(run.go, run)
  local over = ok
  if not ok and record.is_interrupt(e) then ok, over = true, run:interrupt() end
  run:finish(over)
  if not ok then error(e, 0) end
  return run.f, run.history, run.out
end

return rl

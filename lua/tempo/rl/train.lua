-- Runs of learning: rl.train compiles a program, goes through its iterations, and keeps what is worth keeping.
local tempo = require "tempo"
local util = require "tempo.util"
local logger = require "tempo.logger"
local record = require "tempo.rl.record"
local returns = require "tempo.rl.returns"

local rl = {}

-- ---- what a row is made of ------------------------------------------------------------------------------------------

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
  for name in pairs(log) do names[#names + 1] = util.expect("rl.train: log: a name", "string", name) end
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

-- The program's part of a row: numbers at each point of i, handed to `take` as a list: the sum of the returns of episodes
-- that ended, how many did, steps, the return so far where episodes begin anew in each iteration, then each column.
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

-- ---- rows -----------------------------------------------------------------------------------------------------------

-- Makes rows of what the program gives: sums over `every` iterations, their means.
local Rows = {}
Rows.__index = Rows

local function new_rows(columns, every, start)
  return setmetatable({ columns = columns, every = every, iteration = start.iteration, steps = start.steps,
    score = start.score, seconds = start.seconds, began = logger.clock(), count = 0, sums = {}, ready = {} }, Rows)
end

function Rows:take(numbers)
  self.count, self.iteration = self.count + 1, self.iteration + 1
  for k, v in ipairs(numbers) do self.sums[k] = (self.sums[k] or 0) + v end
  if self.count == self.every then self:flush() end
end

-- The row of what has come since the last one.
function Rows:flush()
  if self.count == 0 then return end
  local sums, count, seconds = self.sums, self.count, logger.clock() - self.began
  self.count, self.sums = 0, {}
  if sums[2] > 0 then self.score = sums[1] / sums[2] elseif self.cut then self.score = sums[4] / count end
  local row = { iteration = self.iteration - 1, ["return"] = self.score, episodes = math.floor(sums[2]),
    steps = math.floor(self.steps + sums[3]), steps_per_second = sums[3] / math.max(seconds, 1e-9),
    seconds = self.seconds + seconds }
  self.steps, self.seconds, self.began = row.steps, row.seconds, self.began + seconds
  for _, c in ipairs(self.columns) do
    if c.at then row[c.name] = sums[c.at] / count end
  end
  for _, c in ipairs(self.columns) do
    if not c.at then row[c.name] = c.value(row.iteration, row) end
  end
  self.ready[#self.ready + 1] = row
end

-- ---- the run --------------------------------------------------------------------------------------------------------

local own = "bounds outputs inputs log out keep quiet evaluate checkpoint every iteration seed stop resume"
local compiling = "tier device threads memory passes precise reproducible check cflags"

-- The dim whose points are iterations: the one that is named, that environments are carried along, that the modules kept
-- evolve along first, or the outermost.
local function iteration_of(env, o)
  if o.iteration then return util.expect("rl.train: iteration", "dim", o.iteration) end
  if env.carry then return env.carry end
  local has = {}
  for _, d in ipairs(env.domain) do has[d] = true end
  for _, m in ipairs(o.keep or {}) do
    for _, w in ipairs(type(m) == "table" and m:parameters() or { m }) do
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
  if o.checkpoint and not o.out then util.fail("option", "rl.train: checkpoint wants a folder: write out = \"DIR\"") end
  return o
end

--- Compiles the program and runs it, iteration by iteration (the points of `iteration`: the dim that the environment is
--- carried along, or its outermost), with a row of numbers for each. A row has
---   iteration, return (the mean over the episodes that ended in it; where none did, the one before), episodes (how many
---   did), steps (so far), steps_per_second, seconds, and the columns of log
--- Options:
---   bounds      by name, of the call
---   outputs, inputs   as for P:compile and the call; those inputs that have the iteration among their dims are a
---               function(i) that gives a table of them
---   log         { name = tensor, number, index expression, function(i, row) or a table of these }: a tensor's mean over
---               all but the iteration
---   out         a folder for metrics.csv, metrics.jsonl, TensorBoard's events, config.json, curve.svg
---   every       iterations of one row (1; 1000 where the iteration is the environment's time)
---   quiet       prints nothing
---   iteration, seed, and the options of P:compile: tier device threads memory passes precise reproducible check cflags
---@param P tempo.Program
---@param env tempo.rl.Env
---@param o table
---@return tempo.Function the compiled function, with the newest parameters
---@return table[] the history: a row for each line of metrics.csv, by the names of its columns
---@return table the outputs that the last iteration gave
function rl.train(P, env, o)
  o = check(P, env, o)
  local i = iteration_of(env, o)
  local columns, names = columns_of(o.log or {}, "", {}), {}
  for k, name in ipairs(defaults) do names[k] = name end
  for _, c in ipairs(columns) do
    local there = false
    for _, name in ipairs(defaults) do there = there or name == c.name end
    if not there then names[#names + 1] = c.name end
  end
  local rows = new_rows(columns, o.every or (i == env.time and 1000 or 1),
    { iteration = 0, steps = 0, seconds = 0, score = 0 / 0 })
  rows.cut = record_row(P, env, i, columns, function(numbers)
    if rows.open then rows:take(numbers) end
  end)
  local options = { outputs = o.outputs, tick = i }
  for name in compiling:gmatch "%S+" do options[name] = o[name] end
  local f = P:compile(options)
  local history = {}
  local folder = record.folder(o.out or false, names, history)
  folder:write("config.json", record.configuration {
    bounds = o.bounds, seed = o.seed or P:seed(), iteration = i:name(), environment = env.id, every = rows.every,
  })
  local progress = record.progress(o.bounds[i:upper():name()] or math.huge, o.quiet)
  f:start(o.inputs or {}, o.bounds, { seed = o.seed })
  rows.open, rows.began = true, logger.clock()
  local done, out
  local function flush()
    for k, row in ipairs(rows.ready) do
      rows.ready[k] = nil
      history[#history + 1] = row
      folder:row(row)
      progress:row(row)
    end
  end
  repeat
    done, out = f:step({}, { into = out })
    flush()
  until done
  rows:flush()
  flush()
  rows.open = false
  folder:close(history)
  progress:close()
  return f, history, out
end

return rl

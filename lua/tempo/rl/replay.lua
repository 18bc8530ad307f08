-- Replay: random points of the past, uniformly or by priority.
--
-- The memory is one state for each tensor, in which a step changes one row:
--   h[t] = put(h[t-1], 0, (t-1) % window, x[t-1])
-- so it lies in one place of `window` rows, and a draw reads the drawn rows alone. Priorities are a
-- tree of sums, `fan` numbers to a sum, also states: a draw goes down the tree, an update changes
-- one number a level.
local tempo = require "tempo"
local util = require "tempo.util"

local unpack = table.unpack or unpack       -- luacheck: globals unpack
local rl = {}

---@class tempo.rl.Replay
local Replay = {}
Replay.__index = Replay

local fan, least = 64, 1e-6

--- A memory of the last `window` points before t. `over`: dims of which all are drawn from alike
--- (environments). n (1): steps of which `reward` is the sum, discounted by gamma (1). priority:
--- the exponent of prioritised replay (Schaul et al. 2016), none: all points alike; beta (0.4): the
--- exponent of its weights.
---@param t tempo.Index
---@param o { window: tempo.Number, batch: integer, over?: tempo.Dims, n?: integer, gamma?: tempo.Number, priority?: number, beta?: number|tempo.Tensor, name?: string }
---@return tempo.rl.Replay
function rl.replay(t, o)
  local what = "rl.replay"
  util.expect(what .. ": the dim", "dim", t)
  o = util.options(what, o, "window batch over n gamma priority beta name")
  for _, key in ipairs { "window", "batch" } do
    if o[key] == nil then util.fail("option", "%s: %s is missing", what, key) end
  end
  util.expect_options(what, "extent", o, "window")
  util.expect_options(what, "count", o, "batch n")
  util.expect_options(what, "string", o, "name")
  util.numbers(what, o, "gamma priority beta")
  local n = o.n or 1
  if type(o.window) == "number" then
    util.expect_options(what, "count", o, "window")
    if o.window < n then
      util.fail("option", "%s: a window of %d has no %d steps in a row", what, o.window, n)
    end
  elseif o.priority then
    util.fail("option", "%s: with priorities the window is a number", what)
  end
  local over, dims = {}, util.domain(what .. ": over", o.over)
  for _, d in ipairs(dims) do
    if d == t or util.is_tensor(d) then
      util.fail("option", "%s: over lists dims beside '%s'", what, t:name())
    end
    over[d] = true
  end
  return setmetatable({ time = t, window = o.window, batch = o.batch, n = n,
    over = over, dims = dims,
    gamma = o.gamma or 1, steps = o.n ~= nil or o.gamma ~= nil, priority = o.priority,
    beta = o.beta or 0.4, name = o.name }, Replay)
end

-- ---- the memory ---------------------------------------------------------------------------------

-- The dims of x but `over`, and the bounds of `over`, in the order of the domain.
local function places(self, x, name)
  local rest, bounds, has = {}, {}, {}
  for _, d in ipairs(x:domain()) do
    has[d] = true
    if self.over[d] then bounds[#bounds + 1] = d:upper() else rest[#rest + 1] = d end
  end
  for _, d in ipairs { self.time, unpack(self.dims) } do
    if not has[d] then
      util.fail("domain", "replay:draw: '%s' does not have the dim '%s'", name, d:name())
    end
  end
  return rest, bounds
end

-- The row of the memory in which the point at t - k lies.
local function row_of(self, k)
  local t, window = self.time, self.window
  if type(window) == "number" then return (t - k) % window end
  return (t - k):value() % window:value()
end

-- h, which is 0 at first, and h[t-1].
local function state(self, domain, shape, dtype, name)
  local t = self.time
  local h = self.program:tensor { domain = domain, shape = shape, dtype = dtype,
    name = self.name .. "." .. name }
  h[{ [t] = 0 }] = tempo.zeros(shape, { dtype = dtype })
  return h, h:at { [t] = t - 1 }
end

-- The rows of x at the last `window` points: an axis for time and `over` together, then x's.
local function remember(self, x, name)
  local t = self.time
  local domain, bounds = places(self, x, name)
  local rows, ranges = x:detach(), {}
  for _, d in ipairs(self.dims) do ranges[d] = tempo.range(0, d:upper()) end
  if #bounds > 0 then rows = rows:at(ranges) end
  local shape = { self.window, unpack(rows:shape()) }
  local h, before = state(self, domain, shape, x:dtype(), name)
  h:otherwise(before:put(0, row_of(self, 1), rows:at { [t] = t - 1 }))
  return h:reshape { self.window * self.width, unpack(shape, #bounds + 2) }
end

-- ---- priorities ---------------------------------------------------------------------------------

-- Numbers of each level, those below another level a multiple of fan.
local function sizes(window)
  local list = { window }
  while list[#list] > fan do
    local above = math.ceil(list[#list] / fan)
    list[#list], list[#list + 1] = above * fan, above
  end
  return list
end

-- The tree at t: level 0 has the priorities of all points, level 1 their sums over `over`, level
-- k + 1 the sums of each `fan` numbers of level k. First the numbers of the points drawn at t-1
-- change by `delta`, then the oldest row goes, then a row comes. The sums over a row that changed
-- are made anew, so errors of rounding do not add up.
local function plant(self, domain)
  local t, window, width = self.time, self.window, self.width
  local function before(x) return x:at { [t] = t - 1 } end
  local function declared(shape, dtype, name)
    return self.program:tensor { domain = domain, shape = shape, dtype = dtype,
      name = self.name .. "." .. name }
  end
  self.drawn = declared({ self.batch }, "i64", "drawn")
  self.delta = declared({ self.batch }, "f64", "delta")
  self.largest = declared({}, "f64", "largest")
  local greatest = declared({}, "f64", "greatest")
  greatest[{ [t] = 0 }] = 1
  greatest:otherwise(before(greatest):maximum(before(self.largest)))

  local comes = t:ge(self.n):value():to "f64" * greatest
  local changes = { { at = row_of(self, 1), value = comes } }
  if self.n > 1 then
    changes = { { at = row_of(self, 1), value = 0 * comes },
      { at = row_of(self, self.n), value = comes } }
  end
  local tree, point, delta = {}, before(self.drawn), before(self.delta)
  local h, was = state(self, domain, { window * width }, "f64", "priority")
  local new = was:scatter_add(0, point, delta)
  local row = tempo.arange({ width }, 0, 1, { dtype = "i64" })
  for _, c in ipairs(changes) do
    local old = new:narrow(0, c.at * width, width)
    new = new:scatter_add(0, (c.at * width):value() + row, c.value - old)
  end
  h:otherwise(new)
  tree[0] = h
  for k, size in ipairs(sizes(window)) do
    point = point:floordiv(k == 1 and width or fan)
    h, was = state(self, domain, { size }, "f64", "priority." .. k)
    new = was:scatter_add(0, point, delta)
    for _, c in ipairs(changes) do
      if k == 1 then
        c.value = c.value * self.points
      else
        local parent = tempo.floordiv(c.at, fan)
        c.at, c.value = parent, tree[k - 1]:narrow(0, parent * fan, fan):sum()
      end
      new = new:put(0, c.at, c.value)
    end
    h:otherwise(new)
    tree[k] = h
  end
  return tree
end

-- The place in each row of `values`, none of which is negative, up to which their sum passes the
-- fraction f of the whole, and the fraction of that place which is left.
local function descend(values, f)
  local sums = values:cumsum(-1)
  local u = f:unsqueeze(-1) * values:sum(-1, { keepdim = true })
  local k = sums:le(u):to("i64"):sum(-1, { keepdim = true })
  local value = values:gather(-1, k)
  local left = (u - (sums:gather(-1, k) - value)) / value
  return k:squeeze(-1), left:squeeze(-1):clamp(0, 1 - 2 ^ -40)
end

-- Zeros; where n steps have not been taken an error, which select gives.
local function nothing(self)
  local early = self.time:lt(self.n):value():to "i64"
  return tempo.zeros({ 1, self.batch }, { dtype = "i64" }):select(0, early)
    :name(self.name .. ", which has no point yet")
end

-- Points by their priorities, one from each of `batch` equal parts of the sum of all (Schaul et
-- al., appendix B.2.1); their priorities.
local function proportional(self, domain)
  local tree, width = plant(self, domain), self.width
  local u = tempo.uniform({ self.batch }, { dtype = "f64", domain = domain, name = self.name })
  local f = (tempo.arange({ self.batch }, 0, 1, { dtype = "f64" }) + u) / self.batch
  local level = sizes(self.window)
  local point = nothing(self)
  for k = #level, 1, -1 do
    local wide = k == #level and level[k] or fan
    local rows = tree[k]:reshape { level[k] / wide, wide }:index_select(0, point)
    local at, left = descend(rows, f)
    point, f = point * wide + at, left
  end
  local all = tree[0]
  if width ~= 1 then
    local at = descend(all:reshape { self.window, width }:index_select(0, point), f)
    point = point * self.points + at
  end
  return point, all:index_select(0, point)
end

-- Points, all alike.
local function uniform(self, domain)
  local t, n, window, points = self.time, self.n, self.window, self.points
  local count = (tempo.min(t, window) - (n - 1)):value() * points
  local k = nothing(self)
    + tempo.randint({ self.batch }, 0, count:maximum(1), { domain = domain, name = self.name })
  if n == 1 then return k end
  local first = tempo.max(0, t - window):value() * points      -- the oldest point
  local rows = type(window) == "number" and window or window:value()
  return (first + k) % (rows * points)
end

-- ---- drawing ------------------------------------------------------------------------------------

-- A batch has these of the last of n steps; the reward is that of all, the rest is of the first.
local of_last = { next_obs = true, terminated = true, truncated = true, done = true }

-- Adds the n steps from `point` to the batch: the sum of rewards up to an episode's end, and its
-- discount. Returns the last of these steps.
local function add_steps(self, rows, point, batch)
  local n, points = self.n, self.points
  local whole = rows.reward:shape()[1]                      -- steps lie `points` places apart
  whole = type(whole) == "number" and whole or whole:value()
  local line = (point:unsqueeze(1) + tempo.arange({ n }, 0, 1, { dtype = "i64" }) * points) % whole
  local function lines(x)
    return x:index_select(0, line:reshape { self.batch * n }):reshape { self.batch, n }
  end
  local ends = lines(rows.done or rows.terminated)
  if rows.truncated and not rows.done then ends = ends:lor(lines(rows.truncated)) end
  local on = (1 - ends:slice(1, 0, n - 1)):cumprod(1)       -- no end before the step k + 1
  local dtype = rows.reward:dtype()
  local weight = tempo.pow(self.gamma, tempo.arange({ n }, 0, 1, { dtype = dtype }))
  local alive = tempo.cat({ tempo.ones({ self.batch, 1 }, { dtype = dtype }), on:to(dtype) }, 1)
  batch.reward = (lines(rows.reward) * alive * weight):sum(1)
  batch.discount = tempo.pow(self.gamma, alive:sum(1))
  return (point + on:sum(1) * points) % whole
end

local function check_set(self, set)
  local names = {}
  for name, x in pairs(util.expect("replay:draw: the set", "table", set)) do
    names[#names + 1] = util.expect("replay:draw: a name of the set", "string", name)
    util.expect("replay:draw: " .. name, "tensor", x)
  end
  table.sort(names)
  if #names == 0 then
    util.fail("option", "replay:draw: the set is empty; write { obs = env.obs, ... }")
  end
  for _, key in ipairs { "reward", "terminated" } do
    if self.n > 1 and not set[key] then
      util.fail("option", "replay:draw: n = %d steps need %s in the set", self.n, key)
    end
  end
  for key, made in pairs { discount = self.steps, weight = self.priority } do
    if made and set[key] then
      util.fail("option", "replay:draw: '%s' is given by the batch; call the tensor another name",
        key)
    end
  end
  return names
end

--- Remembers the tensors of the set from here on and draws `batch` of their points before t: a
--- table of tensors of the same names with an axis of `batch` first. A draw at t < n is an error.
--- With n steps `reward` is their sum, up to an episode's end (`terminated`, or `truncated` or
--- `done` of the set), `next_obs`, `terminated`, `truncated`, `done` are those of the last and all
--- else is of the first. The batch has `discount` too, gamma to the number of steps, and `weight`,
--- (least probability of the batch / probability)^beta, 1 without priorities.
---@param set table<string, tempo.Tensor>
---@return table<string, tempo.Tensor>
function Replay:draw(set)
  local names = check_set(self, set)
  if self.program then util.fail("option", "replay:draw was called twice; make a second replay") end
  self.program = set[names[1]]:program()
  self.name = self.name and util.take(self.program, self.name) or util.fresh(self.program, "replay")
  self.width = 1
  for _, d in ipairs(self.dims) do self.width = d:upper() * self.width end
  self.points = type(self.width) == "number" and self.width or self.width:value()

  local rows, domain, has, batch = {}, {}, {}, {}
  for _, name in ipairs(names) do
    for _, d in ipairs((places(self, set[name], name))) do
      if not has[d] then domain[#domain + 1], has[d] = d, true end
    end
    rows[name] = remember(self, set[name], name)
  end
  local point, priority
  if self.priority then
    point, priority = proportional(self, domain)
    batch.weight = (priority / priority:min(0, { keepdim = true })):pow(-self.beta):to "f32"
  else
    point = uniform(self, domain)
    if not set.weight then batch.weight = tempo.ones({ self.batch }, { domain = domain }) end
  end
  local last = point
  if self.n > 1 then
    last = add_steps(self, rows, point, batch)
  elseif self.steps then
    batch.discount = self.gamma * tempo.ones({ self.batch }, { domain = domain })
  end
  for _, name in ipairs(names) do
    batch[name] = batch[name] or rows[name]:index_select(0, of_last[name] and last or point)
  end
  self.point, self.was = point, priority
  return batch
end

--- Says the errors of the points that were drawn: their priority becomes (|td| + 1e-6)^priority,
--- that of new points the greatest so far. With when = c, a condition on indices, only where c
--- holds; td is not needed elsewhere. Without priorities nothing changes.
---@param td tempo.Tensor of `batch`
---@param o? { when?: tempo.Index }
function Replay:update(td, o)
  o = util.options("replay:update", o, "when")
  util.expect("replay:update: td", "tensor", td)
  if not self.point then util.fail("option", "replay:update comes after replay:draw") end
  if #td:shape() ~= 1 then
    util.fail("shape", "replay:update: td has %d axes; it has one number for each of the %d points",
      #td:shape(), self.batch)
  end
  if not self.priority then return end
  if self.updated then util.fail("option", "replay:update was called twice") end
  self.updated = true
  local point = self.point
  local new = (td:detach():to "f64":abs() + least):pow(self.priority)
  -- of a point that was drawn several times the first counts: scatter_add would add all of them
  local again = point:unsqueeze(1):eq(point:unsqueeze(0)):to "i64":tril(-1):sum(1):gt(0)
  local c = self.time:ge(self.n)
  if o.when then c = c:land(o.when) end
  for _, given in ipairs { { self.drawn, point }, { self.largest, new:max() },
      { self.delta, tempo.where(again, 0, new - self.was) } } do
    given[1]:when(c, given[2])
    given[1]:otherwise(0)
  end
end

return rl

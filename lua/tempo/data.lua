--- tempo.data: data sets as tensors: minibatches in the language, columns of numbers from files.
local tempo = require "tempo"
local util = require "tempo.util"

---@class tempo.data
local data = {}

-- The set's tensors, and its names in their order (so that one script always records one graph).
local function set_of(P, set)
  local tensors, names = {}, {}
  for name in pairs(util.expect("data.batches: the set", "table", set)) do
    names[#names + 1] = util.expect("data.batches: a name of the set", "string", name)
  end
  if #names == 0 then
    util.fail("option", "data.batches: the set is empty; write { x = images, y = labels }")
  end
  table.sort(names)
  for _, name in ipairs(names) do
    tensors[name] = util.is_tensor(set[name]) and set[name] or P:constant(set[name])
  end
  return tensors, names
end

-- The extent of the first axis, the same in all.
local function rows_of(tensors, names)
  local n
  for _, name in ipairs(names) do
    local m = tensors[name]:shape()[1]
    if not m then
      util.fail("shape", "data.batches: '%s' is a scalar; a set has a row for each example", name)
    end
    n = n or m
    if m ~= n then
      util.fail("shape", "data.batches: '%s' has %s rows, '%s' has %s", names[1], tostring(n), name,
        tostring(m))
    end
  end
  return n
end

-- The points of the dims in `over` become the first axis of each tensor. Returns their number.
local function gathered(tensors, names, over)
  local ranges, n = {}, 1
  for _, d in ipairs(over) do
    ranges[d] = tempo.range(0, util.expect("data.batches: over", "dim", d):upper())
    n = n * d:upper()
  end
  for _, name in ipairs(names) do
    local x = tensors[name]
    local has = util.dimset(x)
    for _, d in ipairs(over) do
      if not has[d] then
        util.fail("domain", "data.batches: '%s' does not vary over '%s', of which points are drawn",
          name, d:name())
      end
    end
    x = x:at(ranges)
    tensors[name] = #over > 1 and x:flatten(0, #over - 1) or x
  end
  return n
end

-- The dims for whose points orders are drawn: those of epoch, and all that the set varies over
-- besides step and `whole`.
local function outer(tensors, names, o)
  local dims, seen = {}, { [o.step] = true }
  for _, d in ipairs(util.domain("data.batches: whole", o.whole)) do seen[d] = true end
  local function take(list)
    for _, d in ipairs(list) do
      if not seen[d] then dims[#dims + 1], seen[d] = d, true end
    end
  end
  for _, d in ipairs(util.domain("data.batches: epoch", o.epoch)) do
    take(util.is_tensor(d) and d:domain() or { d })
  end
  for _, name in ipairs(names) do take(tensors[name]:domain()) end
  return dims
end

-- Checks the options. Returns the dims in `over` (none: the first axis counts examples).
local function options_of(o)
  o = util.options("data.batches", o, "epoch step size shuffle name over count whole")
  if not o.step then
    util.fail("option", "data.batches: step is missing: the dim that counts an epoch's batches")
  end
  util.expect_options("data.batches", "dim", o, "step")
  util.expect_options("data.batches", "boolean", o, "shuffle")
  util.expect_options("data.batches", "string", o, "name")
  util.expect_options("data.batches", "count", o, "size count")
  local over = util.domain("data.batches: over", o.over)
  if (#over > 0) ~= (o.count ~= nil) or (#over == 0) ~= (o.size ~= nil) then
    util.fail("option", "data.batches: %s is missing or too much: write over = {b, t}, count = 4 "
      .. "for equal shares of points, size = 32 for rows of a set", #over > 0 and "count" or "size")
  end
  return o, over
end

-- The numbers of the rows of this step's batch, of n.
local function rows_at(o, n, order)
  if o.size then
    return order and order:narrow(0, o.step * o.size, o.size)
  end
  order = order or tempo.arange({ n }, { dtype = "i64" })
  return order:reshape({ o.count, tempo.floordiv(n, o.count) }):select(0, o.step)
end

--- Minibatches of a set, drawn anew at every point of the dims of `epoch` and of the set's tensors
--- (shuffle = false: as they are), within an epoch each example at most once. A set whose first
--- axis counts examples takes:
---   size    rows of a batch; the bound of step is at most rows // size, which the call checks
--- A set of tensors that vary over dims takes:
---   over    the dims whose points are examples: { b, t }
---   count   the batches in an epoch, equal shares: the call checks that they come out even
---   whole   dims that stay as they are, { t }: one order for all of their points, so that a batch
---           has whole rows, for a memory; tensors that lack them may be there (first states)
--- A batch has its examples as its first axis.
---@param P tempo.Program
---@param set table<string, tempo.Array|tempo.Tensor>
---@param o { step: tempo.Index, size?: integer, over?: tempo.Dims, count?: integer, whole?: tempo.Dims, epoch?: tempo.Dims, shuffle?: boolean, name?: string }
---@return table<string, tempo.Tensor>
function data.batches(P, set, o)
  util.program("data.batches", P)
  local batch, options, over = {}, options_of(o)
  o = options
  local tensors, names = set_of(P, set)
  local n = #over > 0 and gathered(tensors, names, over) or rows_of(tensors, names)
  local order = o.shuffle ~= false
    and tempo.randperm({ n }, { domain = outer(tensors, names, o), name = o.name })
  local rows = rows_at(o, n, order)
  for _, name in ipairs(names) do
    local x = tensors[name]
    batch[name] = rows and x:index_select(0, rows) or x:narrow(0, o.step * o.size, o.size)
  end
  return batch
end

local function split(line)
  local cells = {}
  for cell in (line:gsub("\r$", "") .. ","):gmatch "([^,]*)," do
    cells[#cells + 1] = cell:match "^%s*(.-)%s*$"
  end
  return cells
end

--- The columns of a file of numbers: a first line of names, then rows. A cell that is no number
--- (empty, "none") is NaN.
---@param path string
---@return table<string, tempo.Array> f64, by name
---@return string[] the names in the file's order
function data.csv(path)
  local file, why = io.open(util.expect("data.csv: the path", "string", path))
  if not file then util.fail("file", "cannot read %s", why) end
  local names, columns, arrays = split(file:read "*l" or ""), {}, {}
  for k = 1, #names do columns[k] = {} end
  for line in file:lines() do
    if line:find "%S" then
      for k, cell in ipairs(split(line)) do
        if columns[k] then columns[k][#columns[k] + 1] = tonumber(cell) or 0 / 0 end
      end
    end
  end
  file:close()
  for k, name in ipairs(names) do arrays[name] = tempo.array(columns[k], "f64") end
  return arrays, names
end

return util.library("data", data)

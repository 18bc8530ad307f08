--- tempo.data: data sets as tensors: minibatches in the language, columns of numbers from files.
local tempo = require "tempo"
local util = require "tempo.util"

---@class tempo.data
local data = {}

local function rows_of(name, x)
  local shape = x:shape()
  if #shape == 0 then util.fail("shape", "data.batches: '%s' is a scalar; a set has a row for each example", name) end
  return shape[1]
end

-- The set's tensors, its names in their order (so that one script always records one graph), and its rows.
local function set_of(P, set)
  local tensors, names = {}, {}
  for name in pairs(util.expect("data.batches: the set", "table", set)) do
    names[#names + 1] = util.expect("data.batches: a name of the set", "string", name)
  end
  if #names == 0 then util.fail("option", "data.batches: the set is empty; write { x = images, y = labels }") end
  table.sort(names)
  local n
  for _, name in ipairs(names) do
    local x = set[name]
    tensors[name] = util.is_tensor(x) and x or P:constant(x)
    local m = rows_of(name, tensors[name])
    n = n or m
    if m ~= n then
      util.fail("shape", "data.batches: '%s' has %s rows, '%s' has %s", names[1], tostring(n), name, tostring(m))
    end
  end
  return tensors, names, n
end

-- The dims for whose points orders are drawn: those of epoch, and all that the set varies over besides step.
local function outer(tensors, names, o)
  local dims, seen = {}, { [o.step] = true }
  local function take(list)
    for _, d in ipairs(list) do
      if not seen[d] then dims[#dims + 1], seen[d] = d, true end
    end
  end
  for _, d in ipairs(util.domain("data.batches: epoch", o.epoch)) do take(util.is_tensor(d) and d:domain() or { d }) end
  for _, name in ipairs(names) do take(tensors[name]:domain()) end
  return dims
end

--- Minibatches of a set whose first axis counts examples: at every point of (epoch, step) the rows step * size ..
--- (step + 1) * size of a permutation, drawn anew at every point of the dims of `epoch` and of the set's tensors
--- (shuffle = false: of the rows as they are). The bound of step is at most rows // size, which the call checks, so that
--- within an epoch no example comes twice.
---@param P tempo.Program
---@param set table<string, tempo.Array|tempo.Tensor>
---@param o { step: tempo.Index, size: integer, epoch?: tempo.Dims, shuffle?: boolean, name?: string }
---@return table<string, tempo.Tensor>
function data.batches(P, set, o)
  util.program("data.batches", P)
  o = util.options("data.batches", o, "epoch step size shuffle name")
  if not o.step then util.fail("option", "data.batches: step is missing: the dim that counts an epoch's batches") end
  if not o.size then util.fail("option", "data.batches: size is missing: the rows of a batch") end
  util.expect_options("data.batches", "dim", o, "step")
  util.expect_options("data.batches", "count", o, "size")
  util.expect_options("data.batches", "boolean", o, "shuffle")
  util.expect_options("data.batches", "string", o, "name")
  local tensors, names, n = set_of(P, set)
  local order = o.shuffle ~= false and tempo.randperm({ n }, { domain = outer(tensors, names, o), name = o.name })
  local rows = order and order:narrow(0, o.step * o.size, o.size)
  local batch = {}
  for _, name in ipairs(names) do
    local x = tensors[name]
    batch[name] = rows and x:index_select(0, rows) or x:narrow(0, o.step * o.size, o.size)
  end
  return batch
end

local function split(line)
  local cells = {}
  for cell in (line:gsub("\r$", "") .. ","):gmatch "([^,]*)," do cells[#cells + 1] = cell:match "^%s*(.-)%s*$" end
  return cells
end

--- The columns of a file of numbers: a first line of names, then rows. A cell that is no number (empty, "none") is NaN.
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

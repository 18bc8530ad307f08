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

local function set_of(P, set)
  local tensors, names = {}, {}
  if type(set) ~= "table" then
    util.fail("option", "data.batches: expected a table of arrays or tensors by name, got a %s", type(set))
  end
  for name, x in pairs(set) do
    names[#names + 1] = name
    tensors[name] = util.is_tensor(x) and x or P:constant(x)
  end
  if #names == 0 then util.fail("option", "data.batches: the set is empty; write { x = images, y = labels }") end
  table.sort(names)
  local n = rows_of(names[1], tensors[names[1]])
  for _, name in ipairs(names) do
    local m = rows_of(name, tensors[name])
    if m ~= n then
      util.fail("shape", "data.batches: '%s' has %s rows, '%s' has %s", names[1], tostring(n), name, tostring(m))
    end
  end
  return tensors, n
end

--- Minibatches of a set of examples, arrays or tensors whose first axis counts these: at every point of (epoch, step)
--- `size` rows, step * size .. (step + 1) * size of the epoch's order, a permutation drawn anew in each epoch. Within
--- an epoch no example comes twice; the bound of step is at most the number of rows // size, which the call checks.
--- Without `epoch` there is one order; `shuffle = false` leaves the rows as they are.
---@param P tempo.Program
---@param set table<string, tempo.Array|tempo.Tensor>
---@param o { step: tempo.Index, size: integer, epoch?: tempo.Index, shuffle?: boolean, name?: string }
---@return table<string, tempo.Tensor>
function data.batches(P, set, o)
  util.program("data.batches", P)
  o = util.options("data.batches", o, "epoch step size shuffle name")
  if not o.step then util.fail("option", "data.batches: step is missing: the dim that counts an epoch's batches") end
  if type(o.size) ~= "number" then util.fail("option", "data.batches: size is missing: the rows of a batch") end
  local tensors, n = set_of(P, set)
  local order = o.shuffle ~= false and tempo.randperm({ n }, { domain = util.list(o.epoch), name = o.name })
  local rows = order and order:narrow(0, o.step * o.size, o.size)
  local batch = {}
  for name, x in pairs(tensors) do
    batch[name] = rows and x:index_select(0, rows) or x:narrow(0, o.step * o.size, o.size)
  end
  return batch
end

local function split(line)
  local cells = {}
  for cell in (line:gsub("\r$", "") .. ","):gmatch "([^,]*)," do cells[#cells + 1] = cell:match "^%s*(.-)%s*$" end
  return cells
end

--- The columns of a file of numbers, such as `logger.csv` writes: a first line of names, then rows. What is no number
--- (an empty cell, "none") is NaN. Gives the columns by name, f64, and the names in the file's order.
---@param path string
---@return table<string, tempo.Array>
---@return string[] names
function data.csv(path)
  local file, why = io.open(path)
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

--- tempo.llm.weights: a model's arrays, found by the names that its file gives them, as inputs of a
--- program. Layers are rows of one input along l; nothing is copied, unless `dtype` asks for
--- another.
local tempo = require "tempo"
local util = require "tempo.util"

local weights = {}

-- The formats whose elements lie in blocks; all others are dtypes.
local dtypes = { f32 = true, f64 = true, f16 = true, bf16 = true }

-- A name in a pattern's place: "%d" is the layer, "%e" the expert.
local function named(pattern, layer, expert)
  local name = pattern:gsub("%%([de])", { d = layer, e = expert })
  return name
end

-- An array as it lies in the file (or as `dtype`), and its format.
local function fetch(from, name, dtype)
  local a, format = from:stored(name)
  if not a then                                     -- files of a model without its head
    name = name:gsub("^%w+%.", "", 1)
    a, format = from:stored(name)
  end
  if not a then return nil end
  format = format or a:dtype()
  if dtype and dtype ~= format then
    a, format = from[name], dtype
    if a:dtype() ~= dtype then a = tempo.array(a, dtype) end
  end
  return a, format
end

local function missing(name)
  util.fail("file", "the model has no array '%s'", name)
end

-- One dtype and format for all rows of a list: layers that a file keeps otherwise are widened.
local function alike(list, formats, from, names)
  for k = 2, #list do
    if formats[k] ~= formats[1] then
      for j, name in ipairs(names) do list[j] = tempo.array(from[name], "f32") end
      return "f32"
    end
  end
  return formats[1]
end

-- The arrays of all layers, and of all experts of each, as one with leading axes.
local function stacked(from, pattern, c, dtype, optional)
  local list, formats, names = {}, {}, {}
  local experts = pattern:find("%e", 1, true) and c.experts or 1
  for l = 0, c.layers - 1 do
    for e = 0, experts - 1 do
      local name = named(pattern, l, e)
      local a, format = fetch(from, name, dtype)
      if not a then
        if optional and l == 0 then return nil end
        missing(name)
      end
      list[#list + 1], formats[#list + 1], names[#list + 1] = a, format, name
    end
  end
  local format = alike(list, formats, from, names)
  if experts == 1 then return tempo.rows(list), format end
  local all = tempo.array(tempo.rows(list))
  local shape = list[1]:shape()
  table.insert(shape, 1, c.experts)
  table.insert(shape, 1, c.layers)
  return tempo.array(all, nil, shape), format
end

--- Reads the weights of a model. `from` is what tempo.open gives. Returns a list of { name, array,
--- format, by_layer, turned }.
function weights.read(from, c, o)
  local out = {}
  for _, rows in ipairs { c.model.weights, c.model.ffn_weights } do
    for _, row in ipairs(rows) do
      local name, mark = row[1]:match "^([%w_]+)(.?)$"
      local pattern = row[c.names]
      local by_layer = pattern:find("%d", 1, true) ~= nil
      local a, format
      if by_layer then a, format = stacked(from, pattern, c, o.dtype, mark == "?")
      else a, format = fetch(from, pattern, o.dtype) end
      if not a and mark ~= "?" then missing(pattern) end
      if a and not (name == "output" and c.tied) then
        out[#out + 1] = { name = name, array = a, format = format, by_layer = by_layer,
          turned = mark == "'" and c.names == 2 }
      end
    end
  end
  return out
end

--- Makes the weights inputs of the net's program.
function weights.declare(net, list)
  for _, w in ipairs(list) do
    local shape = w.array:shape()
    if w.by_layer then table.remove(shape, 1) end
    local stored = net.P:input("w_" .. w.name,
      { domain = w.by_layer and { net.l } or nil, shape = shape, dtype = w.array:dtype() })
    if w.turned then stored = stored:transpose(-2, -1) end
    net:weight(w.name, stored, not dtypes[w.format] and w.format or nil)
  end
end

--- The arrays as a call takes them.
function weights.inputs(list, inputs)
  for _, w in ipairs(list) do inputs["w_" .. w.name] = w.array end
  return inputs
end

return weights

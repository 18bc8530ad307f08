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

-- Layers by the formats in which a file keeps them (Q4_K_M has two): a list of { array, format,
-- here }. In the place of a layer in another format stands one that is there, which costs no
-- memory; from the second on `here` says which are meant.
local function by_format(list, formats)
  local groups, of = {}, {}
  for k, format in ipairs(formats) do
    if not of[format] then
      of[format] = { format = format, rows = {}, here = {}, stand_in = list[k] }
      groups[#groups + 1] = of[format]
    end
  end
  for n, g in ipairs(groups) do
    for k, a in ipairs(list) do
      g.here[k] = formats[k] == g.format
      g.rows[k] = g.here[k] and a or g.stand_in
    end
    groups[n] = { array = tempo.rows(g.rows), format = g.format, here = n > 1 and g.here or nil }
  end
  return groups
end

-- One dtype and format for all rows of a list: experts that a file keeps otherwise are widened.
local function alike(list, formats, from, names)
  for k = 2, #list do
    if formats[k] ~= formats[1] then
      for j, name in ipairs(names) do list[j] = tempo.array(from[name], "f32") end
      return "f32"
    end
  end
  return formats[1]
end

-- The arrays of all layers, and of all experts of each, as one with leading axes; one for each
-- format of layers.
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
  if experts == 1 then return by_format(list, formats) end
  local format = alike(list, formats, from, names)
  local all = tempo.array(tempo.rows(list))
  local shape = list[1]:shape()
  table.insert(shape, 1, c.experts)
  table.insert(shape, 1, c.layers)
  return { { array = tempo.array(all, nil, shape), format = format } }
end

--- Reads the weights of a model. `from` is what tempo.open gives. Returns a list of { name, input,
--- array, format, here, by_layer, turned }; a weight whose layers are in several formats is several
--- times in it.
function weights.read(from, c, o)
  local out = {}
  for _, rows in ipairs { c.model.weights, c.model.ffn_weights } do
    for _, row in ipairs(rows) do
      local name, mark = row[1]:match "^([%w_]+)(.?)$"
      local pattern, groups = row[c.names]
      local by_layer = pattern:find("%d", 1, true) ~= nil
      if by_layer then
        groups = stacked(from, pattern, c, o.dtype, mark == "?")
      else
        local a, format = fetch(from, pattern, o.dtype)
        groups = a and { { array = a, format = format } }
      end
      if not groups and mark ~= "?" then missing(pattern) end
      if name == "output" and c.tied then groups = nil end
      for k, w in ipairs(groups or {}) do
        w.name, w.input = name, "w_" .. name .. (k > 1 and "_" .. k or "")
        w.by_layer, w.turned = by_layer, mark == "'" and c.names == 2
        out[#out + 1] = w
      end
    end
  end
  return out
end

--- Makes the weights inputs of the net's program.
function weights.declare(net, list)
  for _, w in ipairs(list) do
    local domain, shape = w.by_layer and { net.l } or nil, w.array:shape()
    if w.by_layer then table.remove(shape, 1) end
    local stored = net.P:input(w.input,
      { domain = domain, shape = shape, dtype = w.array:dtype() })
    if w.turned then stored = stored:transpose(-2, -1) end
    net:weight(w.name, stored, not dtypes[w.format] and w.format or nil,
      w.here and net.P:input(w.input .. "_here", { domain = domain, dtype = "bool" }))
  end
end

--- The arrays as a call takes them.
function weights.inputs(list, inputs)
  for _, w in ipairs(list) do
    inputs[w.input] = w.array
    if w.here then inputs[w.input .. "_here"] = w.here end
  end
  return inputs
end

return weights

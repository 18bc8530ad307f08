-- Rows of the .def files: X-macros as data, and the signatures of methods.def in words.
local blocks = require "docs.blocks"

local rows = {}

-- The arguments of a macro from `at`, just after its parenthesis: strings without their quotes, the rest as it stands.
local function arguments(text, at)
  local list, now, depth = {}, "", 0
  while true do
    local c = text:sub(at, at)
    if c == '"' then
      local stop = at + 1
      while text:sub(stop, stop) ~= '"' do stop = stop + (text:sub(stop, stop) == "\\" and 2 or 1) end
      now = now .. text:sub(at + 1, stop - 1):gsub("\\(.)", "%1")
      at = stop
    elseif depth == 0 and (c == "," or c == ")") then
      list[#list + 1] = now
      now = ""
      if c == ")" then return list end
    elseif not c:find "%s" then
      if c == "(" then depth = depth + 1 elseif c == ")" then depth = depth - 1 end
      now = now .. c
    end
    at = at + 1
  end
end

-- The file's own shorthands for rows: { parameters, arguments of MACRO } by name. Parameters are words in capitals.
local function shorthands(text, macro)
  local short = {}
  for name, parameters, body in text:gsub("\\\n", ""):gmatch("#define (%u)%(([%u, ]+)%) +" .. macro .. "(%b())") do
    short[name] = { parameters = parameters, row = arguments(body, 2) }
  end
  return short
end

local function expand(short, given)
  local value, k, row = {}, 0, {}
  for word in short.parameters:gmatch "%u+" do k = k + 1; value[word] = given[k] end
  for i, text in ipairs(short.row) do row[i] = text:gsub("%f[%w]%u%u+%f[%W]", value) end
  return row
end

--- { group =, arguments ... } for each row MACRO(...) of a file; a group is a comment /* ---- words ---- */.
function rows.read(path, macro)
  local text, list, group = blocks.read(path), {}, nil
  local short = shorthands(text, macro)
  local at = 1
  while at <= #text do
    local line = text:match("^[^\n]*", at)
    group = line:match "^/%* %-%-%-%- (.-) %-%-%-%- %*/" or group
    local name = line:match "^(%u)%("
    if name and (name == macro or short[name]) then
      local row = arguments(text, at + 2)
      if name ~= macro then row = expand(short[name], row) end
      row.group = group
      list[#list + 1] = row
    end
    at = at + #line + 1
  end
  return list
end

-- ---- signatures: "x:T axis:A? | keepdim:B" -------------------------------------------------------------------------

--- Letters of signatures (graph/methods/methods.h): type for LuaCATS, words for the reference.
rows.letters = {
  T = { "tempo.Operand", "tensor" }, U = { "tempo.Operand", "tensor" },
  C = { "tempo.Operand", "condition or bool" },
  J = { "tempo.Operand", "tensor or table of indices" },
  R = { "tempo.Operand", "tensor, number or table in x's dtype" },
  I = { "integer", "integer" }, F = { "number", "number" },
  B = { "boolean", "boolean" }, N = { "string", "string" },
  X = { "integer|tempo.Index|tempo.Tensor", "integer, index or i64 scalar" },
  S = { "tempo.Extent|tempo.Extent[]", "extent or extents" },
  A = { "integer|integer[]", "axis or axes" },
  D = { "tempo.Dtype", "dtype" }, O = { "(tempo.Index|tempo.Tensor)[]", "dims or tensors" },
  W = { "number|integer[]|string", "number, integers or word" },
  E = { "tempo.Extent|tempo.Extent[]", "size or sizes" },
  L = { "tempo.Operand[]", "tensors" }, V = { "tempo.Operand", "tensors" },
}

--- Positional arguments and options of a signature: lists of { name =, letter =, optional = }.
function rows.signature(sig)
  local positional, options = {}, {}
  local now = positional
  for word in sig:gmatch "%S+" do
    if word == "|" then
      now = options
    else
      local name, letter, mark = word:match "^([%w_]+):(%u)(%??)$"
      assert(name and rows.letters[letter], "signature '" .. sig .. "'")
      now[#now + 1] = { name = name, letter = letter, optional = mark == "?" or now == options }
    end
  end
  return positional, options
end

--- Rows of methods.def that scripts may call, as tables.
function rows.methods(root)
  local list = {}
  for _, row in ipairs(rows.read(root .. "src/graph/methods/methods.def", "M")) do
    local positional, options = rows.signature(row[3])
    local method = { name = row[1], kinds = row[2], sig = row[3], shape = row[5], dtype = row[6],
      differentiable = row[7] == "D", ulp = tonumber(row[8]), doc = row[9], group = row.group,
      positional = positional, options = options }
    if method.kinds ~= "p" then list[#list + 1] = method end
  end
  return list
end

return rows

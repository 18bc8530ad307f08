-- einsum: sums of products by letters.
--
-- A running product is contracted with one operand after the other, each time by one matmul of
-- [batch, m, k] x [batch, k, n], or of matrices: letters of both that are needed later are the
-- batch, letters of both that are not are summed (k), the others are m and n. Letters that only one
-- side has and that nothing needs are summed before. An operand is { x = tensor, letters = "bij" },
-- a letter for each axis; those of an ellipsis are "0" to "?", which is its last axis. A literal 1
-- broadcasts: its letter is dropped. A letter that stands twice in an operand takes the diagonal.
local tempo = require "tempo"
local check = require "tempo.util".check

local equal = getmetatable(tempo).equal

local function extent(op, letter) return op.x:shape()[op.letters:find(letter, 1, true)] end
local function has(letters, letter) return letters:find(letter, 1, true) ~= nil end

-- The letters that are among the others, or that are not.
local function among(letters, others)
  return (letters:gsub(".", function(c) return has(others, c) and c or "" end))
end
local function without(letters, others)
  return (letters:gsub(".", function(c) return has(others, c) and "" or c end))
end

local function axes_of(op, letters)
  local axes = {}
  for c in letters:gmatch "." do axes[#axes + 1] = op.letters:find(c, 1, true) - 1 end
  return axes
end

local function sum_out(op, keep)
  local axes = axes_of(op, without(op.letters, keep))
  if #axes > 0 then op.x = op.x:sum(axes) end
  op.letters = among(op.letters, keep)
end

-- The operand with an axis for each group of letters.
local function folded(op, groups)
  local shape = {}
  for i, letters in ipairs(groups) do
    shape[i] = 1
    for c in letters:gmatch "." do shape[i] = shape[i] * extent(op, c) end
  end
  return op.x:permute(axes_of(op, table.concat(groups))):reshape(shape)
end

local function check_size(letter, a, b)
  check(equal(a, b), "shape", "'%s' is %s and %s", letter:find "%a" and letter or "...", a, b)
end

-- A vector times a stack of matrices: b's letters before those that are summed number the matrices,
-- which stay as they lie. Gives these letters ("": there is no such stack), the summed ones in b's
-- order, the other columns.
local function numbered(b, batch, rows, inner, columns)
  local n, k = 0, #inner
  while n < #columns and columns:sub(n + 1, n + 1) == b.letters:sub(n + 1, n + 1) do n = n + 1 end
  local next = b.letters:sub(n + 1, n + k)
  local stack = n > 0 and k > 0 and n + k < #b.letters and batch .. rows == ""
  if not stack or without(next, inner) ~= "" then return "", inner, columns end
  return columns:sub(1, n), next, columns:sub(n + 1)
end

-- The product of a and b, summed over the letters of both that `keep` lacks.
local function contracted(a, b, keep)
  for c in among(a.letters, b.letters):gmatch "." do check_size(c, extent(a, c), extent(b, c)) end
  sum_out(a, keep .. b.letters)
  sum_out(b, keep .. a.letters)
  local both = among(a.letters, b.letters)
  local batch, inner = among(both, keep), without(both, keep)
  local rows, columns = without(a.letters, b.letters), without(b.letters, a.letters)
  local front
  front, inner, columns = numbered(b, batch, rows, inner, columns)
  local left, right = { rows, inner }, { inner, columns }
  if front .. batch ~= "" then
    table.insert(left, 1, batch)
    table.insert(right, 1, front .. batch)               -- one of them is ""
  end
  local letters, shape = front .. batch .. rows .. columns, {}
  for c in letters:gmatch "." do shape[#shape + 1] = extent(has(a.letters, c) and a or b, c) end
  return { x = folded(a, left):matmul(folded(b, right)):reshape(shape), letters = letters }
end

-- Axis i and a later one with its letter become their diagonal, at i.
local function take_diagonal(op, i, j)
  local shape, letters = op.x:shape(), op.letters
  check_size(letters:sub(i, i), shape[i], shape[j])
  local same = tempo.eye({ shape[i], shape[j] }, { dtype = "bool" })
  for _ = i + 1, j - 1 do same = same:unsqueeze(1) end
  for _ = j + 1, #shape do same = same:unsqueeze(-1) end
  op.x = tempo.where(same, op.x, 0):sum(j - 1)
  op.letters = letters:sub(1, j - 1) .. letters:sub(j + 1)
end

local function take_diagonals(op)
  for i = 1, #op.letters do
    for j = #op.letters, i + 1, -1 do
      if op.letters:sub(i, i) == op.letters:sub(j, j) then take_diagonal(op, i, j) end
    end
  end
end

-- Axes of 1 whose letter is larger elsewhere are left out.
local function drop_ones(ops)
  local larger = ""
  for _, op in ipairs(ops) do
    for c in op.letters:gmatch "." do larger = extent(op, c) ~= 1 and larger .. c or larger end
  end
  for _, op in ipairs(ops) do
    for axis = #op.letters, 1, -1 do
      if op.x:shape()[axis] == 1 and has(larger, op.letters:sub(axis, axis)) then
        op.x = op.x:squeeze(axis - 1)
        op.letters = op.letters:sub(1, axis - 1) .. op.letters:sub(axis + 1)
      end
    end
  end
end

-- ---- the equation ----

-- The letters of a term; an ellipsis has `hidden` axes.
local function read_letters(term, hidden)
  local text = term:gsub(" ", ""):gsub("%.%.%.", "\n", 1)
  local bad = text:match "[^%a\n]"
  check(not bad, "option", "'%s' in an equation of letters such as \"bij,bjk->bik\"", bad)
  return (text:gsub("\n", ("0123456789:;<=>?"):sub(17 - hidden)))
end

local function read_operand(x, term, number)
  local rank, named = #x:shape(), select(2, term:gsub("%a", ""))
  local hidden = has(term, ".") and math.max(rank - named, 0) or 0
  local op = { x = x, letters = read_letters(term, hidden) }
  check(#op.letters == rank, "shape", "%d letters for operand %d, which has %d axes", #op.letters,
    number, rank)
  return op, hidden
end

-- Without "->" the result has the axes of the ellipsis and, in alphabetical order, the letters that
-- stand once.
local function usual_result(all)
  local letters, result = {}, ""
  for c in all:gmatch "." do letters[#letters + 1] = c end
  table.sort(letters)
  for i, c in ipairs(letters) do
    local once = c ~= letters[i - 1] and c ~= letters[i + 1]
    if once or c ~= letters[i - 1] and not c:find "%a" then result = result .. c end
  end
  return result
end

-- The operands and the letters of the result.
local function read(equation, tensors)
  local left, right = equation:match "^([^-]*)(.*)$"
  local ops, terms, all, widest = {}, {}, "", 0
  for term in (left .. ","):gmatch "([^,]*)," do terms[#terms + 1] = term end
  check(#tensors == #terms, "option", "%d operands for an equation with %s", #tensors,
    #terms < #tensors and "fewer" or "more")
  for i, term in ipairs(terms) do
    local hidden
    ops[i], hidden = read_operand(tensors[i], term, i)
    widest = math.max(widest, hidden)
    all = all .. ops[i].letters
    take_diagonals(ops[i])
  end
  local named, rest = right:match "^%->([^,-]*)(.*)$"
  local result = named and read_letters(named, widest) or usual_result(all)
  for i = 1, #result do
    local c = result:sub(i, i)
    check(has(all, c), "option", "'%s' of the result is in no operand", c)
    check(not has(result:sub(1, i - 1), c), "option", "'%s' twice in the result", c)
  end
  check((rest or right) == "", "option", 'cannot read the equation from "%s"', rest or right)
  return ops, result
end

local function einsum(equation, tensors)
  check(#tensors > 0, "option", "takes an equation and tensors")
  local ops, result = read(equation, tensors)
  drop_ones(ops)
  local product = ops[1]
  for i = 2, #ops do
    local keep = result
    for later = i + 1, #ops do keep = keep .. ops[later].letters end
    product = contracted(product, ops[i], keep)
  end
  sum_out(product, result)
  return product.x:permute(axes_of(product, result))
end

return { einsum = einsum }

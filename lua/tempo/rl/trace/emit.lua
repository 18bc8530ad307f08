-- Tensors of a recorded graph's nodes.
local tempo = require "tempo"

local emit = {}

local names = { add = "add", sub = "sub", mul = "mul", div = "div", mod = "mod", pow = "pow",
  lt = "lt", le = "le", eq = "eq", land = "land", lor = "lor" }

-- atan by Cephes: |x| above tan(3 pi / 8) and tan(pi / 8) is turned into what is near 0.
local P = { -8.750608600031904122785e-1, -1.615753718733365076637e1, -7.500855792314704667340e1,
  -1.228866684490136173410e2, -6.485021904942025371773e1 }
local Q = { 1, 2.485846490142306297962e1, 1.650270098316988542046e2, 4.328810604912902668951e2,
  4.853903996359136964868e2, 1.945506571482613964425e2 }

local function horner(z, list)
  local y = z * list[1] + list[2]
  for k = 3, #list do y = y * z + list[k] end
  return y
end

local function atan(x)
  local a = x:abs()
  local far, near = a:gt(2.41421356237309504880), a:gt(0.66)
  local y = tempo.where(far, -1 / a, tempo.where(near, (a - 1) / (a + 1), a))
  local z = y * y
  local r = z * horner(z, P) / horner(z, Q) * y + y
  r = r + tempo.where(far, math.pi / 2, tempo.where(near, math.pi / 4, 0.0))
  return tempo.where(x:lt(0), -r, r)
end

local unary = {
  unm = function(x) return -x end,
  atan = atan,
  asin = function(x) return atan(x / (1 - x * x):sqrt()) end,
  acos = function(x) return 2 * atan(((1 - x) / (1 + x)):sqrt()) end,
  sinh = function(x) return (x:exp() - (-x):exp()) / 2 end,
  cosh = function(x) return (x:exp() + (-x):exp()) / 2 end,
  lnot = function(x) return x:lnot() end,
}

-- a op b where a is a number: a tensor has to be asked.
local turned = { lt = "gt", le = "ge", eq = "eq" }

local binary = {
  sub = function(a, b) return a - b end, div = function(a, b) return a / b end,
  mod = function(a, b) return a % b end, pow = function(a, b) return a ^ b end,
}

local function operator(op, a, b)
  if b == nil then
    if unary[op] then return unary[op](a) end
    return a[op](a)
  end
  if type(a) ~= "number" then return a[names[op]](a, b) end
  if binary[op] then return binary[op](a, b) end
  return b[turned[op] or names[op]](b, a)
end

--- f(id): the tensor of a node, or a number. leaf(op, name) gives those of what a leaf names;
--- `constant(v)` a tensor of a boolean.
function emit.new(graph, leaf, constant)
  local made = {}
  local function tensor(id)
    if made[id] ~= nil then return made[id] end
    local n, v = graph.nodes[id]
    local op = n[1]
    if op == "const" then v = n[2]
      if type(v) == "boolean" then v = constant(v) end
    elseif op == "where" then
      local a, b = tensor(n[3]), tensor(n[4])
      if type(a) == "number" and type(b) == "number" then
        a = tempo.full({}, a, { dtype = "f64" })
      end
      v = tempo.where(tensor(n[2]), a, b)
    elseif type(n[2]) == "string" then v = leaf(op, n[2])
    else v = operator(op, tensor(n[2]), n[3] and tensor(n[3]))
    end
    made[id] = v
    return v
  end
  return tensor
end

return emit

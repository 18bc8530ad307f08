-- Dtypes and shapes of tensors, for bodies of methods.
local core = getmetatable(require "tempo")
local types = {}

local function rank_of(x) return #x:shape() end
local function extent_of(x, axis) return x:shape()[axis + 1] end
local function is_float(dtype) return dtype:find "f%d" ~= nil end
types.rank_of, types.extent_of, types.is_float = rank_of, extent_of, is_float

-- f16, bf16 and integers are computed in f32 and rounded once, at the end.
function types.wide(x) return x:to(x:dtype() == "f64" and "f64" or "f32") end
function types.float_of(x) return is_float(x:dtype()) and x:dtype() or "f32" end

function types.is_shaped(x, shape)
  for k, extent in ipairs(rank_of(x) == #shape and shape or {}) do
    if not core.equal(extent_of(x, k - 1), extent) then return false end
  end
  return rank_of(x) == #shape
end

function types.type_text(dtype, shape)                    -- "f32 (8, 10)"
  for k, extent in ipairs(shape) do shape[k] = tostring(extent) end
  return ("%s (%s)"):format(dtype, table.concat(shape, ", "))
end

return types

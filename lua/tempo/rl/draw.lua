-- Observations as text, for `tempo play`: CartPole as a cart with a pole, boards of cells as
-- characters, other numbers as bars.
local draw = {}

local function cartpole(o)
  local width, line = 49, {}
  for k = 1, width do line[k] = "_" end
  local function place(x) return math.max(1, math.min(width, math.floor(x + 0.5))) end
  local cart = place((o[1] + 2.4) / 4.8 * (width - 1) + 1)
  for k = math.max(cart - 2, 1), math.min(cart + 2, width) do line[k] = "=" end
  local out = {}
  for k, mark in ipairs { "o", "|" } do
    local x = place(cart + math.sin(o[3]) * (k == 1 and 20 or 10))
    out[k] = (" "):rep(x - 1) .. mark .. (" "):rep(width - x)
  end
  out[3] = table.concat(line)
  out[4] = ("x %+.2f  angle %+6.1f deg"):format(o[1], math.deg(o[3]))
  return out
end

-- A board: a sequence of rows of cells. A cell's character is its first channel that is not 0.
local function board(o)
  local marks, out = "#ox+*@%&=~", {}
  for r, row in ipairs(o) do
    local cells = {}
    for c, cell in ipairs(row) do
      local mark = "."
      for k, v in ipairs(type(cell) == "table" and cell or { cell }) do
        if v ~= 0 and v ~= false and mark == "." then mark = marks:sub((k - 1) % #marks + 1):sub(1,
          1) end
      end
      cells[c] = mark
    end
    out[r] = table.concat(cells, " ")
  end
  return out
end

local function bars(o)
  local out, width = {}, 20
  for k, v in ipairs(o) do
    v = v == true and 1 or v == false and 0 or v
    local size = math.floor(math.min(math.abs(v), 1) * width + 0.5)
    local left, right = v < 0 and size or 0, v > 0 and size or 0
    out[k] = ("%3d %+8.3f %s%s|%s%s"):format(k - 1, v, (" "):rep(width - left), ("#"):rep(left),
      ("#"):rep(right), (" "):rep(width - right))
  end
  return out
end

--- The lines that show an observation, nested tables of numbers, of the environment `id`.
function draw.lines(id, obs)
  if type(obs) ~= "table" then obs = { obs } end
  if id == "CartPole-v1" then return cartpole(obs) end
  return type(obs[1]) == "table" and board(obs) or bars(obs)
end

return draw

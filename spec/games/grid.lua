-- A walk on a grid with a key, a door and ice: booleans, comparisons of numbers by ==, integers,
-- truncation by the game.
local grid = { actions = 4 }

local W, H = 6, 5

function grid.reset(g)
  g.x, g.y, g.has_key, g.open, g.steps = 0, 0, false, false, 0
  g.kx, g.ky = math.random(1, W - 1), math.random(0, H - 1)
end

function grid.step(g, action)
  local x, y = g.x, g.y
  if action == 0 then x = x - 1 elseif action == 1 then x = x + 1
  elseif action == 2 then y = y - 1 elseif action == 3 then y = y + 1
  else error "no such action" end
  local wall = x < 0 or x >= W or y < 0 or y >= H
  local door = x == W - 1 and y == H - 1
  if not wall and not (door and not g.has_key) then g.x, g.y = x, y end
  if (g.x + g.y) % 3 == 0 and math.random() < 0.2 then g.x = 0 end
  local reward = -0.01
  if not g.has_key and g.x == g.kx and g.y == g.ky then
    g.has_key, reward = true, 1
  end
  g.open = g.has_key and g.x == W - 1 and g.y == H - 1
  g.steps = g.steps + 1
  return g.open and 5 or reward, g.open, g.steps == 60
end

function grid.observe(g)
  return { g.x / W, g.y / H, g.kx / W, g.ky / H, g.has_key and 1 or 0, g.open }
end

return grid

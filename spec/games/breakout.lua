-- Breakout with a table of bricks: a fixed loop that is left at the first brick that is hit.
local breakout = { actions = 3, max_steps = 400 }

local columns, rows = 3, 2

function breakout.reset(g)
  g.x, g.y, g.vx, g.vy, g.pad, g.lives = 0.5, 0.4, 0.015 + 0.01 * math.random(), -0.02, 0.5, 3
  if math.random(2) == 1 then g.vx = -g.vx end
  g.bricks = {}
  for k = 1, columns * rows do g.bricks[k] = true end
end

local function hit_brick(g)
  local column, row = math.floor(g.x * columns), math.floor((g.y - 0.6) * 8)
  for r = 0, rows - 1 do
    for c = 0, columns - 1 do
      if row == r and column == c then
        local k = r * columns + c + 1
        local was = g.bricks[k]
        g.bricks[k] = false
        return was
      end
    end
  end
  return false
end

function breakout.step(g, action)
  g.pad = math.max(0.1, math.min(0.9, g.pad + (action - 1) * 0.04))
  g.x, g.y = g.x + g.vx, g.y + g.vy
  if g.x < 0 or g.x > 1 then
    g.vx = -g.vx
    g.x = g.x < 0 and -g.x or 2 - g.x
  end
  if g.y > 1 then g.y, g.vy = 2 - g.y, -g.vy end
  local reward = 0
  if hit_brick(g) then reward, g.vy = 1, -g.vy end
  if g.y < 0 then
    if math.abs(g.x - g.pad) < 0.12 then
      g.y, g.vy = -g.y, -g.vy
      g.vx = g.vx + 0.05 * (g.x - g.pad)
    else
      g.lives = g.lives - 1
      g.x, g.y = 0.5, 0.4
    end
  end
  return reward, g.lives == 0
end

function breakout.observe(g)
  local seen = { g.x, g.y, g.vx * 10, g.vy * 10, g.pad, g.lives / 3 }
  for k, alive in ipairs(g.bricks) do seen[6 + k] = alive and 1 or 0 end
  return seen
end

return breakout

-- A ship, two enemies with life and a shot: tables in the state, methods, a loop over entities,
-- booleans, draws in step.
local shooter = { actions = 4, max_steps = 120 }

local random, abs = math.random, math.abs
local Enemy = {}
Enemy.__index = Enemy

local function new(x) return setmetatable({ x = x, y = 1, life = 2, alive = true }, Enemy) end

function Enemy:move(dx)
  if not self.alive then return end
  self.x = (self.x + dx) % 1
  self.y = self.y - 0.01
end

function Enemy:is_hit(shot)
  return self.alive and shot.flying and abs(self.x - shot.x) < 0.08 and abs(self.y - shot.y) < 0.06
end

function shooter.reset(g)
  g.ship, g.score = { x = 0.5 }, 0
  g.shot = { x = 0, y = 0, flying = false }
  g.enemies = { new(random()), new(random()) }
end

function shooter.step(g, action)
  local ship, shot, reward = g.ship, g.shot, 0
  if action == 0 then ship.x = ship.x - 0.03
  elseif action == 1 then ship.x = ship.x + 0.03
  elseif action == 2 and not shot.flying then
    shot.flying, shot.x, shot.y = true, ship.x, 0
  end
  ship.x = math.min(math.max(ship.x, 0), 1)
  if shot.flying then
    shot.y = shot.y + 0.05
    if shot.y > 1 then shot.flying = false end
  end
  local left = 0
  for _, enemy in ipairs(g.enemies) do
    enemy:move(random() < 0.5 and 0.02 or -0.01)
    if enemy:is_hit(shot) then
      shot.flying = false
      enemy.life = enemy.life - 1
      enemy.alive = enemy.life > 0
      reward = reward + 1
    end
    if enemy.alive then left = left + 1 end
  end
  g.score = g.score + reward
  local lost = false
  for k = 1, #g.enemies do
    if g.enemies[k].alive and g.enemies[k].y < 0 then lost = true end
  end
  return lost and -1 or reward, lost or left == 0
end

function shooter.observe(g)
  local a, b = g.enemies[1], g.enemies[2]
  return g.ship.x, g.shot.x, g.shot.y, g.shot.flying, a.x, a.y, a.alive, b.x, b.y, b.alive, g.score
end

return shooter

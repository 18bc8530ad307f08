-- A lander with two engines, continuous: an action of two components, sin, cos, atan, powers.
local lander = { actions = { 2 }, max_steps = 150 }

local gravity, dt = -1.6, 0.05
local home = { x = 0, width = 0.5 }

local function engine(v) return math.max(0, math.min(1, v)) end

function lander.reset(g)
  g.x, g.y = math.random() * 2 - 1, 2 + math.random()
  g.vx, g.vy, g.angle, g.spin, g.fuel = 0, 0, 0.2 * (math.random() - 0.5), 0, 10
end

function lander.step(g, main, side)
  local push, turn = engine(main), math.max(-1, math.min(1, side))
  if g.fuel <= 0 then push, turn = 0, 0 end
  g.fuel = g.fuel - 0.1 * push - 0.02 * math.abs(turn)
  g.spin = g.spin + dt * (0.8 * turn - 0.1 * g.spin)
  g.angle = g.angle + dt * g.spin
  local ax, ay = -math.sin(g.angle) * push * 4, math.cos(g.angle) * push * 4 + gravity
  g.vx, g.vy = g.vx + dt * ax, g.vy + dt * ay
  g.x, g.y = g.x + dt * g.vx, g.y + dt * g.vy
  local away = math.sqrt(g.x ^ 2 + g.y ^ 2)
  local reward = -0.01 * away - 0.002 * math.exp(math.abs(g.spin)) - 0.001 * math.atan(g.vx)
  if g.y > 0 then return reward, away > 8 end
  local soft = g.vy > -0.6 and math.abs(g.angle) < 0.3
  if soft and math.abs(g.x - home.x) < home.width then return 10 + g.fuel, true end
  return -10, true
end

function lander.observe(g) return g.x, g.y, g.vx, g.vy, g.angle, g.spin, g.fuel end

return lander

-- Pong as one writes it for a screen: numbers, `if`, math. An opponent follows the ball, the agent
-- has the right side.
local pong = { actions = 3, max_steps = 500 }

local paddle, speed, follow = 0.1, 0.03, 0.012

function pong.reset(g)
  g.x, g.y = 0.5, 0.5
  g.vx = math.random() < 0.5 and 0.02 or -0.02
  g.vy = (math.random() - 0.5) * 0.03
  g.left, g.right = 0.5, 0.5
end

local function clamp(v, lo, hi) return math.max(lo, math.min(hi, v)) end

function pong.step(g, action)                             -- 0: up, 1: stay, 2: down
  g.right = clamp(g.right + speed * (action - 1), paddle, 1 - paddle)
  if g.y > g.left + 0.02 then
    g.left = g.left + follow
  elseif g.y < g.left - 0.02 then
    g.left = g.left - follow
  end
  g.x, g.y = g.x + g.vx, g.y + g.vy
  if g.y < 0 then
    g.y, g.vy = -g.y, -g.vy
  elseif g.y > 1 then
    g.y, g.vy = 2 - g.y, -g.vy
  end
  if g.x > 1 then
    if math.abs(g.y - g.right) >= paddle then return -1, true end
    g.x, g.vx, g.vy = 2 - g.x, -g.vx * 1.02, g.vy + 0.1 * (g.y - g.right)
    return 0.1, false
  elseif g.x < 0 then
    if math.abs(g.y - g.left) >= paddle then return 1, true end
    g.x, g.vx = -g.x, -g.vx
  end
  return 0, false
end

function pong.observe(g) return g.x, g.y, g.vx * 30, g.vy * 30, g.left, g.right end

return pong

-- Pong for two as recurrences: one table at every point of `domain`. Each player moves a paddle
-- down, not at all or up (0, 1, 2); where it meets the ball says how steeply that flies back. An
-- episode is one point: 1 for the left player, -1 for the right one, 0 after 300 steps.
local tempo = require "tempo"
local where = tempo.where

return function(P, o)
  local t, i, domain = o.time, o.carry, o.domain
  local env = { program = P, domain = domain, time = t, carry = i }
  local function state(dtype) return P:tensor { domain = domain, dtype = dtype } end
  local x, y, vx, vy, left, right, steps =
    state(), state(), state(), state(), state(), state(), state "i64"
  local function draw(name) return tempo.uniform({}, { domain = domain, name = name }) end
  local function still(v, dtype) return tempo.full({}, v, { domain = domain, dtype = dtype }) end

  -- Each player sees the ball and both paddles, from its own side.
  env.obs = tempo.stack({ 1 - x, y, -20 * vx, 20 * vy, left, right }, -1)
  env.other = tempo.stack({ x, y, 20 * vx, 20 * vy, right, left }, -1)

  local function evolves(s, first, next)
    local after = where(env.done, first, next)
    s[{ [i] = 0, [t] = 0 }] = first:at { [i] = 0, [t] = 0 }
    s[{ [t] = 0 }] = after:at { [i] = i - 1, [t] = t:upper() - 1 }
    s:otherwise(after:at { [t] = t - 1 })
  end

  -- The left player's action and the right one's.
  function env:step(a, c)
    local function moved(paddle, action) return (paddle + 0.025 * (action - 1)):clamp(0, 1) end
    local l, r = moved(left, a), moved(right, c)
    local bx, by = x + vx, y + vy
    local wall = by:lt(0):lor(by:gt(1))
    by = by:clamp(0, 1)
    local at_left, at_right = bx:le(0), bx:ge(1)
    local off = by - where(at_left, l, r)
    local hit = at_left:lor(at_right):land(off:abs():lt(0.12))
    local lost, won = at_left:land(hit:lnot()), at_right:land(hit:lnot())
    self.reward = won:to "f32" - lost:to "f32"
    self.terminated, self.truncated = won:lor(lost), steps:ge(299):land(won:lor(lost):lnot())
    self.done = self.terminated:lor(self.truncated)
    -- before any new serve
    local ux, uy = where(hit, -vx, vx), where(hit, 0.35 * off, where(wall, -vy, vy))
    self.next_obs = tempo.stack({ 1 - bx, by, -20 * ux, 20 * uy, l, r }, -1)
    evolves(x, still(0.5), bx)
    evolves(y, draw "y", by)
    evolves(vx, where(draw "side":lt(0.5), 0.03, still(-0.03)), ux)
    evolves(vy, 0.06 * draw "slope" - 0.03, uy)
    evolves(left, still(0.5), l)
    evolves(right, still(0.5), r)
    evolves(steps, still(0, "i64"), steps + 1)
  end
  return env
end

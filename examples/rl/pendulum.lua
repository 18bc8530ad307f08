-- Gymnasium's Pendulum-v1 as recurrences: one pendulum at every point of `domain` but time, which
-- swings up if its torque, -2 .. 2, is chosen well. An episode is 200 steps, reset by itself.
local tempo = require "tempo"

return function(P, o)
  local t, domain = o.time, o.domain
  local env = { time = t, program = P }
  local function draw(name, most)
    return (tempo.uniform({}, { domain = domain, name = name }) * 2 - 1) * most
  end
  local angle = P:tensor { domain = domain, name = "angle" }
  local speed = P:tensor { domain = domain, name = "speed" }
  local steps = P:tensor { domain = domain, dtype = "i64", name = "steps" }
  local start_angle, start_speed = draw("start_angle", math.pi), draw("start_speed", 1)
  local function observe(th, v) return tempo.stack({ th:cos(), th:sin(), v }, -1) end
  env.obs = observe(angle, speed)

  -- Takes the torque at every point, a tensor of one element; gives what rl.env's step does.
  function env:step(torque)
    local u = torque:select(-1, 0):clamp(-2, 2)
    local off = (angle + math.pi) % (2 * math.pi) - math.pi
    self.reward = -(off:square() + 0.1 * speed:square() + 0.001 * u:square())
    local v = (speed + 0.05 * (15 * angle:sin() + 3 * u)):clamp(-8, 8)
    local th = angle + 0.05 * v
    self.truncated = steps:eq(199)
    self.terminated = self.truncated:land(steps:lt(0))                -- never
    self.done, self.next_obs = self.truncated, observe(th, v)
    local function evolves(x, first, next)
      x[{ [t] = 0 }] = first:at { [t] = 0 }
      x:otherwise(tempo.where(self.done, first, next):at { [t] = t - 1 })
    end
    evolves(angle, start_angle, th)
    evolves(speed, start_speed, v)
    evolves(steps, tempo.zeros({}, { dtype = "i64", domain = domain }), steps + 1)
    return self.reward, self.terminated, self.truncated, self.next_obs
  end
  return env
end

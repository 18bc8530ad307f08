-- A pole on a cart, in LÖVE: push it with the arrow keys while the game learns, 4 ms of each frame,
-- to hold it up. The curve shows the returns so far; what was learned is saved when the game ends.
--
--     love examples/love [--seed 0] [--budget 4] [--frames 0] [--out DIR] [--fast]
--
-- --frames n ends after so many, --out DIR saves a picture and counts there, --fast waits for no
-- screen.
local tempo = require "tempo"
local brain = require "brain"
local opt = { seed = 0, budget = 4, frames = 0, out = "", fast = false }
local cart, falls, best, steps = { 0, 0, 0.02, 0 }, 0, 0, 0
local frames = { count = 0, late = 0, worst = 0, times = {} }

local function options(args)
  local k = 1
  while args[k] do
    local name = args[k]:match "^%-%-(%w+)$"
    if opt[name] == false then
      opt[name] = true
    elseif opt[name] ~= nil then
      k = k + 1
      opt[name] = type(opt[name]) == "number" and tonumber(args[k]) or args[k]
    end
    k = k + 1
  end
end

-- Gymnasium's CartPole, a step of 0.02 s; push: a force from outside.
local function move(action, push)
  local x, v, angle, spin = cart[1], cart[2], cart[3], cart[4]
  local force = (action == 1 and 10 or -10) + push
  local c, s = math.cos(angle), math.sin(angle)
  local pulled = (force + 0.05 * spin * spin * s) / 1.1
  local turn = (9.8 * s - c * pulled) / (0.5 * (4 / 3 - 0.1 * c * c / 1.1))
  local drive = pulled - 0.05 * turn * c / 1.1
  cart[1], cart[2] = x + 0.02 * v, v + 0.02 * drive
  cart[3], cart[4] = angle + 0.02 * spin, spin + 0.02 * turn
  steps = steps + 1
  if math.abs(cart[1]) > 2.4 or math.abs(cart[3]) > 12 * math.pi / 180 then
    falls, best, steps = falls + 1, math.max(best, steps), 0
    cart[1], cart[2], cart[3], cart[4] = 0, 0, (love.math.random() - 0.5) * 0.1, 0
  end
end

function love.load(args)
  options(args)
  love.math.setRandomSeed(opt.seed + 1)
  local folder = opt.out ~= "" and opt.out or love.filesystem.getSaveDirectory()
  require "tempo.logger".mkdir(folder)
  brain.load(folder .. "/brain.npz", opt.seed)
  if opt.fast then love.window.setVSync(0) end
end

-- A frame takes an action of ours, then learns for what is left of the budget.
function love.update()
  local began, used = tempo.clock(), os.clock()
  local push = (love.keyboard.isDown "right" and 8 or 0) - (love.keyboard.isDown "left" and 8 or 0)
  move(brain.action(cart[1], cart[2], cart[3], cart[4]), push)
  brain.learn(math.max(opt.budget - (tempo.clock() - began) * 1e3, 0))
  local took = (os.clock() - used) * 1e3            -- processor time: what others take is not ours
  frames.count, frames.worst = frames.count + 1, math.max(frames.worst, took)
  frames.times[math.floor(took)] = (frames.times[math.floor(took)] or 0) + 1
  if took > opt.budget + 1 then frames.late = frames.late + 1 end
end

local function curve(left, top, width, height)
  local g, points, n = love.graphics, {}, #brain.returns
  g.setColor(0.3, 0.3, 0.35)
  g.rectangle("line", left, top, width, height)
  for k = 1, n do
    points[2 * k - 1] = left + (n > 1 and (k - 1) / (n - 1) or 0) * width
    points[2 * k] = top + height - brain.returns[k] / 500 * height
  end
  g.setColor(0.4, 0.8, 1)
  if n > 1 then g.line(points) end
  g.print(("iteration %d   return %.0f"):format(n, brain.returns[n] or 0), left + 8, top + 6)
end

function love.draw()
  local g = love.graphics
  local ground, x = 400, 400 + cart[1] * 150
  g.setColor(0.5, 0.5, 0.5)
  g.line(40, ground, 760, ground)
  g.setColor(0.9, 0.7, 0.3)
  g.rectangle("fill", x - 30, ground - 20, 60, 20)
  g.setColor(0.9, 0.3, 0.3)
  g.setLineWidth(6)
  g.line(x, ground - 20, x + math.sin(cart[3]) * 140, ground - 20 - math.cos(cart[3]) * 140)
  g.setLineWidth(1)
  curve(40, 20, 720, 140)
  g.setColor(1, 1, 1)
  g.print(("push: arrow keys   falls %d   held up %.1f s, at most %.1f s   learning %.1f ms at most")
    :format(falls, steps * 0.02, math.max(best, steps) * 0.02, frames.worst), 40, 440)
  if opt.frames == 0 or frames.count ~= opt.frames then return end
  if opt.out ~= "" then
    g.captureScreenshot(function(image)
      local file = assert(io.open(opt.out .. "/screen.png", "wb"))
      file:write(image:encode "png":getString())
      file:close()
    end)
  end
end

local function report()
  local lines = { ("frames %d, late %d, longest %.2f ms"):format(frames.count, frames.late,
    frames.worst), ("iterations %d, return %.1f"):format(#brain.returns,
      brain.returns[#brain.returns] or 0) }
  for ms = 0, math.floor(frames.worst) do
    if frames.times[ms] then lines[#lines + 1] = ("%3d ms  %d"):format(ms, frames.times[ms]) end
  end
  return table.concat(lines, "\n") .. "\n"
end

function love.run()
  love.load(love.arg.parseGameArguments(arg))
  return function()
    love.event.pump()
    for name, a, b, c in love.event.poll() do
      if name == "quit" then return a or 0 end
      love.handlers[name](a, b, c)
    end
    love.update()
    love.graphics.origin()
    love.graphics.clear(0.1, 0.1, 0.13)
    love.draw()
    love.graphics.present()
    if opt.frames > 0 and frames.count > opt.frames then
      brain.save()
      io.write(report())
      return 0
    end
    if not opt.fast then love.timer.sleep(0.001) end
  end
end

function love.quit() brain.save() end

-- An error costs no learning: what there is is saved, and the error told on the terminal.
function love.errorhandler(e)
  io.stderr:write(debug.traceback(tostring(e), 2), "\n")
  pcall(brain.save)
  return function() return 1 end
end

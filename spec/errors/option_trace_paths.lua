-- More paths than were allowed.
local tempo = require "tempo"
local game = {}
function game.reset(g) g.x = 0 end
function game.step(g, action)
  for _ = 1, 8 do
    if math.random() < 0.5 then g.x = g.x + 1 end -- here
  end
  return g.x, false
end
function game.observe() return 0 end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2, paths = 5 })

-- A loop whose end depends on a traced number.
local tempo = require "tempo"
local game = {}
function game.reset(g) g.x = 0 end
function game.step(g, action)
  while true do
    g.x = g.x + 1
    if g.x > 10 then break end -- here
  end
  return g.x, false
end
function game.observe() return 0 end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2 })

-- A game that plays on while it is looked at.
local tempo = require "tempo"
local game = {}
function game.reset(g) g.x = 0 end
function game.step(g, action) g.x = g.x + action return 0, false end
function game.observe(g) -- here
  g.x = 0
  return g.x
end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2 })

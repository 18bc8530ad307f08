-- A game that sorts what it plays with.
local tempo = require "tempo"
local game = {}
function game.reset(g) g.x, g.list = 0, { 2, 1 } end
function game.step(g, action)
  g.list[1] = g.list[1] + action
  table.sort(g.list) -- here
  return g.x, false
end
function game.observe() return 0 end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2 })

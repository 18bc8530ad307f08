-- A game that counts outside of its state.
local tempo = require "tempo"
local count = 0
local game = {}
function game.reset(g) g.x = 0 end
function game.step(g, action)
  g.x = g.x + 1
  count = count + 1 -- here
  return g.x, false
end
function game.observe() return 0 end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2 })

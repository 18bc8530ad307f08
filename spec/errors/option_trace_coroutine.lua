-- A game that rests inside a step.
local tempo = require "tempo"
local game = {}
function game.reset(g) g.x = 0 end
function game.step(g, action)
  local co = coroutine.wrap(function() g.x = g.x + action end) -- here
  co()
  return g.x, false
end
function game.observe() return 0 end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2 })

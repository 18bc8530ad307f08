-- An error that the game itself catches.
local tempo = require "tempo"
local game = {}
function game.reset(g) g.x = 0 end
function game.step(g, action)
  local ok = pcall(function() return #g.x + action end) -- here
  if not ok then g.x = 1 end
  return g.x, false
end
function game.observe() return 0 end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2 })

-- A field that is sometimes a number.
local tempo = require "tempo"
local game = {}
function game.reset(g) g.x = 0 end
function game.step(g, action) -- here
  if action > 0 then g.x = true end
  return 0, false
end
function game.observe() return 0 end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2 })

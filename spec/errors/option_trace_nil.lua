-- A field that goes away.
local tempo = require "tempo"
local game = {}
function game.reset(g) g.x, g.ball = 0, { x = 1 } end
function game.step(g, action) -- here
  if action > 0 then g.ball = nil end
  return 0, false
end
function game.observe() return 0 end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2 })

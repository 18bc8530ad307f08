-- An action of another shape than the game's.
local tempo = require "tempo"
local game = {}
function game.reset(g) g.x = 0 end
function game.step(g, a, b) g.x = g.x + a * b return 0, false end
function game.observe(g) return g.x end
local P = tempo.program()
local t = P:dim "t"
local env = tempo.rl.trace(P, game, { domain = { t }, time = t, actions = { 2 } })
env:step(tempo.zeros({}, { domain = { t } })) -- here

-- A function that calls itself without an end.
local tempo = require "tempo"
local game = {}
local function far(n) return 1 + far(n + 1) end -- here
function game.reset(g) g.x = 0 end
function game.step(g, action) g.x = far(action) return 0, false end
function game.observe(g) return g.x end
local P = tempo.program()
local t = P:dim "t"
tempo.rl.trace(P, game, { domain = { t }, time = t, actions = 2 })

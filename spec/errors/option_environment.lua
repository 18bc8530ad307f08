-- An environment that there is not.
local tempo = require "tempo"
local P = tempo.program()
local t = P:dim "t"
tempo.rl.env(P, "Atari", { domain = { t }, time = t }) -- here

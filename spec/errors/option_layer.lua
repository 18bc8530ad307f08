-- A layer without its program.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
tempo.nn.Linear(4, 2) -- here

-- An argument that an activation as a module does not take.
local tempo = require "tempo"
local P = tempo.program()
P:dim "i"
local act = tempo.nn.LeakyReLU(P, 0.1) -- here
print(act)

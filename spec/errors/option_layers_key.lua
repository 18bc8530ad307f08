-- An option among the sizes of layers.
local tempo = require "tempo"
local P = tempo.program()
P:dim "i"
local net = tempo.nn.MLP(P, { 4, 64, 2, activation = "relu" }) -- here
print(net)

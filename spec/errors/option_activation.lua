-- A misspelled activation.
local tempo = require "tempo"
local P = tempo.program()
P:dim "t"
local net = tempo.nn.MLP(P, { 2, 3, 1 }, { activation = "than" }) -- here
print(net)

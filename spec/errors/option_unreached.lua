-- An optimiser none of whose parameters the loss reaches.
local tempo = require "tempo"
local P = tempo.program()
local i = P:dim "i"
local net = tempo.nn.Linear(P, 3, 1, { along = { i }, name = "net" })
local x = P:input("x", { shape = { 3 } })
local opt = tempo.optim.Adam(net, { lr = 0.1 })
local loss = net(x):detach():square():sum()
opt:step(loss) -- here
P:compile { outputs = { loss = loss } }

-- A learning rate that is too large.
local tempo = require "tempo"
local P = tempo.program()
local i = P:dim "i"
local w = P:param("w", { along = { i }, shape = { 2 }, init = 1 })
local loss = w:square():sum() -- here
tempo.optim.SGD({ w }, { lr = 1e6 }):step(loss)
P:compile { outputs = { loss = loss }, check = "nan" } ({}, { I = 20 })
